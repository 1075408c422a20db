"""The object cache: hits, corruption, concurrent writers, directories that cannot be used."""

import os
import subprocess
import sys
import threading

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import compile_function
from dalembert.codegen.kernel_build import Build
from dalembert.codegen.tape import trace
from dalembert.native import cache
from dalembert.native.cache import cache_directory, read_object, write_object


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def kernel(number=1.5, **options):
    x = ca.SX.sym("x", 3)
    return compile_function("f", {"x": x}, {"y": ca.sin(x) * number}, **options)


X = np.array([0.1, 0.2, 0.3])


def test_second_run_takes_the_object_from_disk(directory):
    first = kernel()
    y = first(X)
    assert not first._code(False).from_cache
    del first
    second = kernel()
    np.testing.assert_array_equal(second(X), y)
    assert second._code(False).from_cache


def test_identical_kernels_share_their_code(directory):
    a, b = kernel(cache=False), kernel(cache=False)
    assert a.address == b.address
    assert not directory.exists()
    assert kernel(2.5).address != a.address


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage"])
def test_damaged_file_is_rebuilt(directory, damage):
    kernel(9.5)(X)  # what all kernels share is built with the first one of a process
    before = set(directory.glob("*.dao"))
    y = kernel()(X)
    (path,) = set(directory.glob("*.dao")) - before
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content[-10] ^= 1
    elif damage == "empty":
        content = bytearray()
    else:
        content = bytearray(os.urandom(500))
    path.write_bytes(content)
    again = kernel()
    np.testing.assert_array_equal(again(X), y)
    assert not again._code(False).from_cache
    del again
    kernel()(X)
    last = kernel()
    assert last(X) is not None
    assert read_object(path.stem) is not None


def test_key_depends_on_all_that_matters():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    tapes = [trace("f", {"x": x, "y": y}, {"z": z}) for z in (x + y, x - y, y - x, x + 1, x + 2, y + 1, x * y)]
    builds = [Build(tape, batch) for tape in tapes for batch in (False, True)]
    builds += [Build(tapes[0], False, level) for level in (0, 2, 3)] + [Build(tapes[0], False, None, 5)]
    keys = [build.key() for build in builds]
    assert len(set(keys)) == len(keys)
    assert Build(trace("g", {"u": x, "v": y}, {"w": x + y}), False).key() == keys[0]


def test_a_file_in_place_of_the_directory(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(blocked))
    assert not write_object("key", b"data")
    np.testing.assert_allclose(kernel(3.5)(X), 3.5 * np.sin(X), rtol=1e-15)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_directory_that_others_can_write_to_is_not_used(directory):
    assert write_object("key", b"data")
    directory.chmod(0o777)
    assert read_object("key") is None
    assert not write_object("other", b"data")
    directory.chmod(0o700)
    assert read_object("key") == b"data"


def test_threads_that_write_the_same_key(directory):
    data = os.urandom(200_000)
    seen = []

    def work():
        for _ in range(20):
            write_object("key", data)
            seen.append(read_object("key"))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(content == data for content in seen)
    assert [path.name for path in directory.iterdir()] == ["key.dao"]


def test_processes_that_write_the_same_key(directory):
    script = (
        "import casadi as ca, numpy as np\n"
        "from dalembert.codegen import compile_function\n"
        "x = ca.SX.sym('x', 3)\n"
        "k = compile_function('f', {'x': x}, {'y': ca.cos(x) + 4})\n"
        "assert np.allclose(k(np.zeros((5, 3))), 5)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    # The kernel, the loop that runs it over many states, and the cosine of large arguments: each once.
    alone = directory.parent / "alone"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "DALEMBERT_CACHE_DIR": str(alone)})
    assert {path.name for path in directory.glob("*.dao")} == {path.name for path in alone.glob("*.dao")}
    assert not list(directory.glob("*.tmp"))


def test_old_files_are_dropped_when_the_cache_is_large(directory, monkeypatch):
    monkeypatch.setattr(cache, "_LARGEST", 1000)
    monkeypatch.setattr(cache, "_pruned", [True])
    for i in range(5):
        write_object(f"old{i}", bytes(300))
        os.utime(directory / f"old{i}.dao", (i, i))
    monkeypatch.setattr(cache, "_pruned", [False])
    write_object("new", bytes(100))
    assert read_object("new") is not None
    assert read_object("old0") is None


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "dalembert"),
        ("win32", "LOCALAPPDATA", os.path.join("dalembert", "Cache")),
    ],
)
def test_platform_directories(tmp_path, monkeypatch, platform, variable, expected):
    monkeypatch.delenv("DALEMBERT_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert cache_directory() == tmp_path / expected
