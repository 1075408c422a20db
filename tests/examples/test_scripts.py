"""Scripts that fork from a process with packages imported are programs like those that a new interpreter runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import run_script

BOTH = pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "forked"])

ACCOUNT = """
import atexit, json, os, sys, threading
before = [name for name in sys.modules if name.split(".")[0] == "dalembert"]
import dalembert
atexit.register(print, "the end")
print(json.dumps({
    "before": before, "dalembert": dalembert.__file__, "folder": os.getcwd(), "arguments": sys.argv,
    "first": sys.path[0], "name": __name__, "file": __file__, "main": vars(sys.modules["__main__"]) is globals(),
    "variable": os.environ["VARIABLE"], "options": sys.warnoptions, "encoding": sys.stdout.encoding,
    "threads": threading.active_count(), "input": sys.stdin.read(), "annotations": "annotations" in globals(),
}))
print("ü", file=sys.stderr)
"""


def run(text: str, folder: Path, *, fresh: bool, timeout: float = 60, **variables: str) -> subprocess.CompletedProcess:
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    return run_script(script, folder, timeout=timeout, fresh=fresh, **variables)


def test_a_forked_script_finds_what_a_fresh_one_finds(tmp_path):
    done = [run(ACCOUNT, tmp_path, fresh=fresh, VARIABLE="here") for fresh in (True, False)]
    for one in done:
        assert (one.returncode, one.stderr) == (0, "ü\n")
        assert one.stdout.endswith("the end\n")
    fresh, forked = (json.loads(one.stdout.splitlines()[0]) for one in done)
    assert fresh == forked
    assert fresh["before"] == [] and fresh["folder"] == str(tmp_path) and fresh["main"]


@BOTH
def test_the_way_a_script_ends_is_reported(fresh, tmp_path):
    assert run("import sys; sys.exit(3)", tmp_path, fresh=fresh).returncode == 3
    died = run("import os; os.kill(os.getpid(), 9)", tmp_path, fresh=fresh)
    assert died.returncode == -9
    broken = run("print('before')\n\n1 / 0\n", tmp_path, fresh=fresh)
    assert broken.returncode == 1 and broken.stdout == "before\n"
    assert 'script.py", line 3' in broken.stderr and "ZeroDivisionError" in broken.stderr
    old = run("import warnings\nwarnings.warn('old', DeprecationWarning)\n", tmp_path, fresh=fresh)
    assert old.returncode == 1 and "DeprecationWarning: old" in old.stderr


@BOTH
def test_a_script_that_does_not_end_is_ended(fresh, tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        run("while True: pass", tmp_path, fresh=fresh, timeout=1)
    assert run("print(1)", tmp_path, fresh=fresh).stdout == "1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="scripts are forked on Linux only")
def test_scripts_do_not_see_each_other(tmp_path):
    leave = "import os, sys, numpy, dalembert; os.environ['LEFT'] = 'x'; numpy.LEFT = 1; sys.path.append('left')"
    assert run(leave, tmp_path, fresh=False).returncode == 0
    look = (
        "import os, sys, numpy\n"
        "print('LEFT' in os.environ, hasattr(numpy, 'LEFT'), 'left' in sys.path, 'dalembert' in sys.modules)"
    )
    assert run(look, tmp_path, fresh=False).stdout == "False False False False\n"


@pytest.mark.slow
def test_native_code_and_threads_work_in_a_fork(tmp_path):
    """BLAS, LLVM and threads of Python, all of which keep locks or threads of their own."""
    text = """
import numpy as np, dalembert as da
from concurrent.futures import ThreadPoolExecutor
A = np.random.default_rng(0).normal(size=(600, 600))
A @ A; np.linalg.svd(A[:200])
with ThreadPoolExecutor(3) as pool:
    ends = list(pool.map(lambda n: float(da.simulate(da.library.pendulum(), 0.1).joint("pivot").q[-1]), range(3)))
print(ends)
"""
    fresh, forked = (run(text, tmp_path, fresh=fresh) for fresh in (True, False))
    assert fresh.returncode == forked.returncode == 0, forked.stderr
    assert fresh.stdout == forked.stdout
