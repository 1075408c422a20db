"""Machine code on disk: reused by other processes, rebuilt after an edit, safe against damage, races and bad places."""

import importlib.util
import json
import linecache
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from dalembert.native import build, checking, fingerprint, jit, translate
from dalembert.native.cache import write_object

MODULE = """
    import math
    import numpy as np
    import constants
    from constants import Kind
    from math import floor
    from typing import NamedTuple
    from dalembert.native import Int, Real, Record, Ref, Vector, native

    tools = math
    SCALE = 2.0
    TABLE = (np.arange(3.0), 1.5)

    class Pair(NamedTuple):
        a: float
        b: float

    class Part(Record):
        x = Real()
        y = Real()

    class Whole(Record):
        n = Int()
        part = Ref(Part)

    @native
    def helper(x):
        return x * SCALE

    @native
    def long(x):
        s = 0.0
        for i in range(len(x)):
            y = x[i] * x[i] + x[0]
            z = y + x[i] - x[1] + x[2]
            w = z * y - x[i] * x[1] * x[0]
            s += w * z + helper(y) - y / (1.0 + abs(w)) + TABLE[0][2] + constants.SHIFT + Kind.FIRST
        return s

    def scaling(factor):
        @native
        def scaled(x):
            return x * factor

        return scaled

    first, second = scaling(2.0), scaling(3.0)

    @native
    def parts(x, weights=np.array([1.0, 0.5])):
        # A whole number, unlike a float, has no negative zero.
        signs = math.copysign(1.0, floor(-0.0 * x)) + math.copysign(2.0, tools.floor(-0.0 * x))
        return first(x) * weights[0] - second(x) + signs

    @native
    def run(x):
        return long(x) + 1.0 + parts(x[0])

    @native
    def difference(p):
        return p.a - p.b

    @native
    def of_part(w):
        return w.part.x - w.part.y
"""
CONSTANTS = """
    class Kind:
        FIRST = 1.0

    SHIFT = 0.5
"""

PROGRAM = """
    import sys
    sys.path[:0] = {paths!r}
    import test_cache
    test_cache.report()
"""


def forget():
    """As if the process had just begun."""
    for known in (build._addresses, build._codes, build._results, translate._instances, fingerprint._known):
        known.clear()


def results():
    """What the module computes, and how many objects are compiled for it, in a process that knows nothing yet."""
    compiled = []

    def build_object(*args, **options):
        compiled.append(1)
        return jit.build_object(*args, **options)

    forget()
    for name in ("model", "constants"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    linecache.checkcache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "build_object", build_object)
        model = importlib.import_module("model")
        w = model.Whole(part=model.Part(x=5.0, y=3.0))
        values = [model.run(np.arange(1.0, 4.0)), model.difference(model.Pair(a=7.0, b=3.0)), model.of_part(w)]
    return [values, len(compiled)]


def report():
    print(json.dumps(results()))


class Project:
    """A module on disk, run again and again with one cache, as if in a new process or in one."""

    def __init__(self, path, patch):
        self.path, self.cache, self._patch = path, path / "cache", patch
        self.text, self.constants = textwrap.dedent(MODULE), textwrap.dedent(CONSTANTS)

    def write(self):
        (self.path / "model.py").write_text(self.text)
        (self.path / "constants.py").write_text(self.constants)

    def run(self, checks=False):
        """Values, and how many objects were compiled."""
        self.write()
        self._patch.setenv("DALEMBERT_CACHE_DIR", str(self.cache))
        with checking(checks):
            return results()

    def start(self):
        self.write()
        program = textwrap.dedent(PROGRAM.format(paths=[str(self.path), str(Path(__file__).parent)]))
        settings = {**os.environ, "DALEMBERT_CACHE_DIR": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", program]
        return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        return json.loads(out.splitlines()[-1])

    def objects(self):
        return sorted(self.cache.glob("*.dao"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Project(tmp_path, monkeypatch)
    for name in ("model", "constants"):
        sys.modules.pop(name, None)


def test_the_second_process_compiles_nothing(project):
    values, compiled = project.finish(project.start())
    assert compiled >= 5
    assert values[1:] == [4.0, 2.0]
    assert project.finish(project.start()) == [values, 0]
    assert project.run() == [values, 0]


def test_a_result_whose_module_cannot_be_imported(tmp_path, monkeypatch):
    """As of a file that was loaded by its path: the second process finds the class all the same."""
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "loaded.py"
    path.write_text(
        "from typing import NamedTuple\nfrom dalembert.native import native\n"
        "class Pair(NamedTuple):\n    a: float\n    b: float\n"
        "@native\ndef pair(x):\n    return Pair(x, 2.0 * x)\n"
    )
    for _ in range(2):
        forget()
        spec = importlib.util.spec_from_file_location("nowhere_to_be_found", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert isinstance(module.pair(1.5), module.Pair) and module.pair(1.5) == (1.5, 3.0)


EDITS = [
    pytest.param("return long(x) + 1.0", "return long(x) + 2.0", id="the function"),
    pytest.param("s = 0.0", "s = 3.0", id="a function that it calls"),
    pytest.param("return x * SCALE", "return x * SCALE * 3.0", id="a function further down"),
    pytest.param("SCALE = 2.0", "SCALE = 4.0", id="a constant"),
    pytest.param("np.arange(3.0)", "np.arange(3.0) * 5.0", id="an array in a tuple"),
    pytest.param("np.array([1.0, 0.5])", "np.array([1.0 + 1e-12, 0.5])", id="a default"),
    pytest.param("scaling(2.0), scaling(3.0)", "scaling(3.0), scaling(2.0)", id="which function of a factory"),
    pytest.param("from math import floor", "from numpy import floor", id="where a function comes from"),
    pytest.param("tools = math", "tools = np", id="which module a name means"),
]


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_an_edit_rebuilds(project, old, new):
    before, _ = project.run()
    project.text = project.text.replace(old, new)
    after, compiled = project.run()
    assert after[0] != before[0] and compiled >= 1
    assert project.run() == [after, 0]
    # What it was before is still there.
    project.text = project.text.replace(new, old)
    assert project.run() == [before, 0]


@pytest.mark.parametrize("edit", [("SHIFT = 0.5", "SHIFT = 0.75"), ("FIRST = 1.0", "FIRST = 6.0")])
def test_a_constant_of_another_module_or_class_rebuilds(project, edit):
    before, _ = project.run()
    project.constants = project.constants.replace(*edit)
    after, compiled = project.run()
    assert after[0] != before[0] and compiled >= 1


def test_exchanged_fields_rebuild(project):
    """Of a named tuple, and of a record that only another record refers to."""
    assert project.run()[0][1:] == [4.0, 2.0]
    project.text = project.text.replace("    a: float\n    b: float\n", "    b: float\n    a: float\n")
    project.text = project.text.replace("    x = Real()\n    y = Real()\n", "    y = Real()\n    x = Real()\n")
    assert project.run()[0][1:] == [4.0, 2.0]


def test_a_moved_function_is_not_compiled_again(project):
    values, _ = project.run()
    project.text = project.text.replace("SCALE = 2.0", "\n\n# a comment\nSCALE = 2.0")
    assert project.run() == [values, 0]


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"half"])
def test_damaged_files_are_built_again(project, damage):
    values, compiled = project.run()
    for path in project.objects():
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage == b"half" else damage)
    assert project.run() == [values, compiled]
    assert project.run() == [values, 0]


def test_files_that_changed_places_are_built_again(project):
    values, compiled = project.run()
    paths = project.objects()
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    assert project.run() == [values, compiled]
    assert project.run() == [values, 0]


def test_a_plan_without_one_of_its_objects(project):
    """Whichever file is missing, the rest is used and the numbers are the same."""
    values, _ = project.run()
    for path in project.objects():
        path.unlink()
        found, compiled = project.run()
        assert found == values and compiled <= 1
        assert path.exists()


def test_a_place_that_is_no_directory(project):
    project.cache.write_text("a file")
    values, compiled = project.run()
    assert compiled >= 5 and project.cache.read_text() == "a file"
    assert project.run() == [values, compiled]


def test_a_directory_that_does_not_exist_yet(project):
    project.cache = project.path / "a" / "b" / "c"
    values, _ = project.run()
    assert project.objects() and project.run() == [values, 0]


def test_a_directory_that_everyone_can_write_to_is_not_trusted(project):
    project.cache.mkdir()
    project.cache.chmod(0o777)
    _, compiled = project.run()
    assert compiled >= 5 and project.objects() == []


def test_processes_at_the_same_time(project):
    processes = [project.start() for _ in range(4)]
    results = [project.finish(process)[0] for process in processes]
    assert all(values == results[0] for values in results)
    assert project.run() == [results[0], 0]
    assert not list(project.cache.glob(".*.part"))


def test_checks_are_kept_apart(project):
    values, _ = project.run()
    checked, compiled = project.run(checks=True)
    assert checked == values and compiled >= 3
    assert project.run() == [values, 0] and project.run(checks=True) == [values, 0]


def test_a_full_disk(tmp_path, monkeypatch):
    """A file that cannot be written whole is not written at all."""
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dalembert.native.cache.os.replace", full)
    assert write_object("key", np.arange(3.0).tobytes()) is False
    assert list((tmp_path / "cache").iterdir()) == []
