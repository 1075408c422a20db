"""Rare functions: compiled when native code calls them for the first time, from what an earlier process wrote down."""

import linecache
import threading
import time

import numpy as np
import pytest

from dalembert.errors import CompileError
from dalembert.native import build, checking, fingerprint, jit, native, plain, rare, translate, whole


@native
def _below(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


@rare
def _deeper(x, n: int):
    out = np.empty(n)
    for i in range(n):
        out[i] = _below(x) + i
    return out


@rare
def _seldom(x, n: int) -> tuple[float, int]:
    s = 0.0
    for value in _deeper(x, n):
        s += value
    return s, n


@rare
def _silent(x) -> None:
    x[0] = 7.0


@native
def outer(x, n: int) -> float:
    if n > 0:
        s, m = _seldom(x, n)
        return s + m
    if n < 0:
        _silent(x)
    return x[0]


@whole
def all_in_one(x, n: int) -> float:
    return outer(x, n)


KNOWN = (
    build._addresses, build._codes, build._results, build._rare, translate._instances, fingerprint._known,
)  # fmt: skip


def forget():
    """As if the process had just begun."""
    for known in KNOWN:
        known.clear()
    for function in (_below, _deeper, _seldom, _silent, outer, all_in_one):
        function._entries.clear()


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """IR of what is compiled, in a process that knows nothing, with an empty cache."""
    texts = []

    def build_object(text, *args, **options):
        texts.append(text)
        return jit.build_object(text, *args, **options)

    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(build, "build_object", build_object)
    before = [dict(known) for known in KNOWN]
    forget()
    yield texts
    forget()
    for known, content in zip(KNOWN, before, strict=True):
        known.update(content)  # native code of other tests is still there, and may come to its rare functions yet


@pytest.mark.parametrize("function", [outer, all_in_one])
@pytest.mark.parametrize("checks", [False, True])
def test_compiled_at_the_first_call(compiled, function, checks):
    x = np.array([3.0, 4.0])
    with checking(checks):
        assert function(x, 0) == 3.0
        before = len(compiled)
        assert function(x, 3) == 3 * 25.0 + 0 + 1 + 2 + 3
        first = len(compiled)
        assert first > before
        assert function(x, 2) == 53.0 and function(x, 0) == 3.0
        assert len(compiled) == first
        assert function(x, -1) == 7.0
        assert len(compiled) > first
    with plain():
        assert function(np.array([3.0, 4.0]), 3) == 81.0


def test_a_later_process_translates_nothing(compiled, monkeypatch):
    """Not even for a rare function that no process has called yet."""
    x = np.array([3.0, 4.0])
    assert outer(x, 0) == 3.0
    forget()
    before = len(compiled)

    def translated(*args):
        raise AssertionError("translated again")

    with monkeypatch.context() as patch:
        patch.setattr(build, "instance_of", translated)
        assert outer(x, 0) == 3.0 and len(compiled) == before
        assert outer(x, 3) == 81.0 and len(compiled) > before
        forget()
        before = len(compiled)
        assert outer(x, 3) == 81.0 and len(compiled) == before


def test_from_python_it_is_a_function_like_others(compiled):
    assert _seldom(np.array([1.0]), 1) == (1.0, 1)
    assert outer(np.array([1.0]), 1) == 2.0


def test_an_interrupt_waits_until_native_code_is_left(compiled, monkeypatch):
    found, calls = build._load_rare, []

    def interrupted(symbol):
        calls.append(symbol)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return found(symbol)

    monkeypatch.setattr(build, "_load_rare", interrupted)
    run, results = outer.prepare(np.array([3.0, 4.0]), 3), []

    def run_and_wait():
        results.append(run())
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        run_and_wait()
    # The interrupt may come again while the second function is compiled, which is then asked for once more.
    assert results == [81.0] and calls[0] == calls[1] and len(set(calls)) == 2 and run() == 81.0


def test_many_threads_ask_at_once(compiled):
    x, results = np.array([3.0, 4.0]), []
    threads = [threading.Thread(target=lambda: results.append(outer(x, 3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [81.0] * 8


def test_what_is_wrong_in_a_rare_function_is_said_when_its_caller_is_compiled(compiled):
    scope = {"rare": rare, "native": native}
    source = "\n@rare\ndef wrong(x):\n    return [x]\n@native\ndef caller(x):\n    return wrong(x) if x > 0.0 else x\n"
    linecache.cache["<rare>"] = (len(source), None, source.splitlines(True), "<rare>")
    exec(compile(source, "<rare>", "exec"), scope)
    with pytest.raises(CompileError, match="wrong"):
        scope["caller"](-1.0)


def test_units_for_other_targets_hold_them(compiled):
    """Pages, FMUs and C have no Python that could compile."""
    from dalembert.native.types import FLOAT, INT, Array

    root = translate.instance_of(outer, (Array(FLOAT, 1, True), INT), False)
    seldom, silent = (translate.symbol_of(f, k, False) for f, k in ((_seldom, root.kinds), (_silent, root.kinds[:1])))
    assert {seldom, silent} <= set(build.units(root))
    text = translate.unit_text(root)
    assert "dalembert_find" not in text and "dalembert_find" in translate.unit_text(root, lazily=True)
