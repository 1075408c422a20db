"""Scripts in processes of their own, without paying for the imports of other people's packages each time.

On Linux one parent per test worker has imported the packages that dalembert stands on and nothing of dalembert; it
forks for each script. A child has its own folder, environment, arguments, output and ``__main__``, imports dalembert
itself in the order in which the script does, and ends as any program ends. Elsewhere, and where ``fresh`` is asked for,
a new interpreter is started.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

__all__ = ["run_script"]

ROOT = Path(__file__).parents[2]
# As a program sees them that is started by: python -W error::DeprecationWarning:__main__ script.py
FLAGS = ("-W", "error::DeprecationWarning:__main__")
PACKAGES = (
    "numpy", "scipy.integrate", "scipy.linalg", "scipy.sparse.linalg", "scipy.spatial", "scipy.special",
    "sympy.combinatorics",
    "sympy.sets.setexpr",
    "sympy.tensor.tensor", "casadi", "llvmlite.binding", "xarray", "h5netcdf", "h5py", "matplotlib.figure",
    "matplotlib.backends.backend_agg", "pydantic.main",
    "pydantic.type_adapter", "rich.console", "rich.progress", "ruamel.yaml", "typer",
    "latex2mathml.converter",
)  # fmt: skip


def run_script(
    script: Path, folder: Path, *, timeout: float, fresh: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder, with further environment variables, to its end or its time limit."""
    environment = {**_environment(), **variables}
    if fresh or sys.platform != "linux":
        command = [sys.executable, *FLAGS, str(script)]
        return subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=False,
        )  # fmt: skip
    return _parent().run(script, folder, timeout, environment)


def _environment() -> dict[str, str]:
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    fixed = {"PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"}
    return {**os.environ, **fixed}


@cache
def _parent() -> _Parent:
    """One for all scripts of this process."""
    return _Parent()


class _Parent:
    """The side of the tests: asks the process that forks."""

    def __init__(self) -> None:
        self._bytecode = tempfile.TemporaryDirectory()
        command = [sys.executable, *FLAGS, __file__, self._bytecode.name]
        self._process = subprocess.Popen(
            command, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        atexit.register(self._end)

    def _end(self) -> None:
        self._process.communicate()
        self._bytecode.cleanup()

    def run(self, script: Path, folder: Path, timeout: float, environment: dict[str, str]):
        with tempfile.TemporaryDirectory() as outputs:
            files = [os.path.join(outputs, name) for name in ("stdout", "stderr")]
            request = {"script": str(script), "folder": str(folder), "files": files, "timeout": timeout}
            print(json.dumps({**request, "environment": environment}), file=self._process.stdin, flush=True)
            code, late = json.loads(self._process.stdout.readline())
            texts = [Path(file).read_text(encoding="utf-8", errors="replace") for file in files]
        if late:
            raise subprocess.TimeoutExpired(str(script), timeout, *texts)
        return subprocess.CompletedProcess([str(script)], code, *texts)


def _serve(bytecode: str) -> None:
    """The side of the parent: fork for each line that comes in. A child leaves this function and runs its script."""
    for name in PACKAGES:
        import_module(name)
    # dalembert is imported by the children; only its compiled source is kept.
    sys.pycache_prefix, sys.dont_write_bytecode = bytecode, False
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            return _become(request)
        late: list[bool] = []
        signal.signal(signal.SIGALRM, lambda *_, late=late, child=child: (late.append(True), os.kill(child, 9)))
        signal.setitimer(signal.ITIMER_REAL, request["timeout"])
        _, status = os.waitpid(child, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), bool(late)]), flush=True)
    sys.exit()


def _become(request: dict) -> None:
    """Make this process what ``python script.py`` would be, up to the first line of the script."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number, (file, mode) in enumerate(
        [(os.devnull, os.O_RDONLY), *((file, os.O_WRONLY | os.O_CREAT) for file in request["files"])]
    ):
        opened = os.open(file, mode, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv[:] = [request["script"]]
    sys.path[0] = os.path.dirname(request["script"])


def _main() -> None:
    _serve(sys.argv[1])
    path = sys.argv[0]
    module = type(sys)("__main__")
    module.__file__ = path
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), module.__dict__)


if __name__ == "__main__":
    _main()
