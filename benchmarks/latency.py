"""How long a first use takes: processor seconds of fresh processes, with cold and with warm caches.

    python benchmarks/latency.py [--quick] [--against PYTHON]

Cold is a process with empty folders for compiled code, warm is the same again. "First use" of a formulation or of an
integrator is the call of ``simulate`` (four-bar, 0.1 s) in a process that has simulated the default before; the default
is compiled already, all else is not. "Of it native code" is what the same run spends in translating, compiling, reading
and linking native functions and kernels; it is asked of the functions that this version has for it. Python's bytecode
is written beside the sources first, as ``pip install`` does.
``--against`` takes the interpreter of another environment, say one with a previous version, measures both in turn and
shows its times over ours: above 1, ours is quicker.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHORT = 0.1  # s that a first use simulates
REPEATS = 30  # of the second simulation
QUICK = ("recursive", "independent", "hamilton", "tsit5", "radau", "generalized-alpha")
FORMS = ("index-1", "ggl", "stages", "partition")  # of radau; of projections
WIDTH = 42

Times = tuple[float | None, float | None]  # cold and warm; None where nothing was measured


# In the processes that are measured; nothing but the public interface of the package


def about() -> dict[str, Any]:
    """Where the package is, and what there is to use for the first time."""
    import dalembert
    from dalembert.formulations import FORMULATIONS
    from dalembert.integrators import INTEGRATORS

    uses = {f"formulation {name}": {"formulation": name} for name in FORMULATIONS}
    uses |= {f"integrator {name}": {"integrator": name} for name in INTEGRATORS}
    uses |= {f"stabilization {name}": {"stabilization": name} for name in FORMS}
    return {"file": dalembert.__file__, "version": dalembert.__version__, "uses": uses}


def first_use(options: dict[str, Any] | None = None) -> float | str:
    """Seconds of the first simulation with these options after one with the defaults, or why it is refused."""
    import dalembert as da

    model = da.library.four_bar()
    da.simulate(model, SHORT)
    began = time.process_time()
    try:
        da.simulate(model, SHORT, **(options or {}))
    except da.DalembertError as error:
        return str(error)
    return time.process_time() - began


def second_simulation() -> list[float]:
    """Seconds of a compiled four-bar simulated again, 10 s with 1000 outputs and the certificate: the median and the
    least; and the least of what is not integration, by a run of a millisecond with as many outputs."""
    import dalembert as da

    dynamics = da.compile(da.library.four_bar())
    samples: dict[float, list[float]] = {10.0: [], 1e-3: []}
    for _ in range(REPEATS + 1):
        for duration, found in samples.items():
            began = time.process_time()
            run = da.simulate(dynamics, duration)
            found.append(time.process_time() - began)
            assert run.certificate.finished
    whole, around = (found[1:] for found in samples.values())
    return [statistics.median(whole), min(whole), min(around)]


def native_seconds() -> float | None:
    """Seconds that ``dalembert run four-bar`` spends on native code; None in a version that is built differently."""
    from dalembert.cli import app
    from dalembert.codegen import kernel_build
    from dalembert.native import build, function

    spent, depth = 0.0, 0

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **named: Any) -> Any:
            nonlocal spent, depth
            began, depth = time.process_time(), depth + 1
            try:
                return call(*args, **named)
            finally:
                depth -= 1
                spent += 0.0 if depth else time.process_time() - began

        return timed

    ways = [(function, "entry"), (function, "code_address"), (getattr(kernel_build, "Build", None), "load")]
    if not all(hasattr(owner, name) for owner, name in ways):
        return None
    ways += [(build, "_load_rare")] * hasattr(build, "_load_rare")  # what native code asks for on its way
    for owner, name in ways:
        setattr(owner, name, watched(getattr(owner, name)))
    sys.argv = ["dalembert", "run", "four-bar"]
    with contextlib.suppress(SystemExit):
        app.main()
    return spent


# In the process that measures


@dataclass(frozen=True)
class Version:
    """An interpreter that has the package, and a folder for all that its processes leave behind."""

    python: str
    folder: Path
    variables: dict[str, str]

    def run(self, caches: str, *arguments: str) -> tuple[float, str]:
        """Processor seconds of a process, children included, and what it printed; its caches have a name."""
        place = self.folder / caches
        for part in ("dalembert", "numba", "results"):
            (place / part).mkdir(parents=True, exist_ok=True)
        places = {"DALEMBERT_CACHE_DIR": str(place / "dalembert"), "NUMBA_CACHE_DIR": str(place / "numba")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [self.python, *arguments],
            env=self.variables | places,
            cwd=place / "results",
            capture_output=True,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise SystemExit(f"{self.python} {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout

    def call(self, caches: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of this file returns in a process of its own."""
        _, printed = self.run(caches, __file__, "--call", function.__name__, json.dumps(arguments))
        return json.loads(printed.splitlines()[-1])

    def copy(self, caches: str, name: str) -> str:
        """Caches under another name, to be filled further."""
        shutil.copytree(self.folder / caches, self.folder / name)
        return name


def environment(other: bool) -> dict[str, str]:
    """Variables of all processes: one thread, bytecode kept; PYTHONPATH leads to ours, not to another version."""
    dropped = {"PYTHONDONTWRITEBYTECODE", *(("PYTHONPATH",) if other else ())}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {key: value for key, value in os.environ.items() if key not in dropped} | threads


def prepared(python: str, folder: Path, other: bool) -> tuple[Version, dict[str, Any]]:
    """A version with bytecode, and with the default simulation in the caches named "default"."""
    version = Version(python, folder, environment(other))
    known = version.call("about", about)
    version.run("about", "-m", "compileall", "-q", str(Path(known["file"]).parent))
    version.call("default", first_use)
    print(f"dalembert {known['version']} in {Path(known['file']).parent}, {python}", flush=True)
    return version, known


_names = (f"caches {i}" for i in itertools.count())


def process(*arguments: str) -> Callable[[Version], Times]:
    """A process, cold and warm."""

    def measure(version: Version) -> Times:
        name = next(_names)
        return version.run(name, *arguments)[0], version.run(name, *arguments)[0]

    return measure


def use(options: dict[str, Any]) -> Callable[[Version], Times]:
    """A first use, cold and warm, where the default is compiled."""

    def measure(version: Version) -> Times:
        name = version.copy("default", next(_names))
        cold, warm = (version.call(name, first_use, options) for _ in range(2))
        shutil.rmtree(version.folder / name)
        if isinstance(cold, str):
            print(f"{version.python}: {options}: {cold}")
            return None, None
        return cold, warm

    return measure


def native_part(version: Version) -> Times:
    name = next(_names)
    return version.call(name, native_seconds), version.call(name, native_seconds)


def again(version: Version) -> Times:
    usual, least, around = version.call("default", second_simulation)
    print(f"  second simulation: least {1e3 * least:.1f} ms, {1e3 * around:.1f} ms of it around the integration")
    return None, usual


def rows(uses: dict[str, Any], quick: bool) -> Iterator[tuple[str, Callable[[Version], Times]]]:
    yield "python, nothing else", process("-c", "")
    yield "import dalembert", process("-c", "import dalembert")
    yield "from dalembert import simulate", process("-c", "from dalembert import simulate")
    yield "dalembert run four-bar", process("-m", "dalembert", "run", "four-bar")
    yield "  of it native code", native_part
    yield "dalembert run four-bar --no-files", process("-m", "dalembert", "run", "four-bar", "--no-files")
    yield "second simulation of a four-bar", again
    for name, options in uses.items():
        if not quick or name.split()[-1] in QUICK:
            yield name, use(options)


def cell(value: float | None) -> str:
    return f"{'–' if value is None else f'{value:.3f}':>10}"


def line(name: str, times: list[Times]) -> str:
    cells = "".join(cell(value) for pair in times for value in pair)
    if len(times) == 2:
        for ours, theirs in zip(*times, strict=True):
            cells += f"{'–' if ours is None or theirs is None else f'{theirs / ours:.2f}':>8}"
    return f"  {name:<{WIDTH}}{cells}"


def report(versions: list[Version], uses: dict[str, Any], quick: bool) -> None:
    titles = ("cold", "warm", *(("other cold", "warm", "ratio", "warm") if len(versions) == 2 else ()))
    heads = "".join(f"{title:>{width}}" for title, width in zip(titles, (10, 10, 11, 9, 8, 8), strict=False))
    print(f"\n{'processor seconds':<{WIDTH + 2}}{heads}")
    worst: dict[str, tuple[float, str]] = {}
    for name, measure in rows(uses, quick):
        times = [measure(version) for version in versions]
        print(line(name, times), flush=True)
        kind, cold = name.split()[0], times[0][0]
        if name in uses and cold is not None:
            worst[kind] = max(worst.get(kind, (0.0, "")), (cold, name))
    for seconds, name in worst.values():
        print(f"longest first use: {name}, {seconds:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="some formulations and integrators only")
    parser.add_argument("--against", metavar="PYTHON", help="interpreter of an environment with another version")
    parser.add_argument("--call", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call:
        function, arguments = globals()[options.call[0]], json.loads(options.call[1])
        print(json.dumps(function(*arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        versions, uses = [], {}
        for python in [sys.executable, *([options.against] if options.against else [])]:
            version, known = prepared(python, Path(folder) / str(len(versions)), bool(versions))
            versions.append(version)
            uses = uses or known["uses"]
        report(versions, uses, options.quick)


if __name__ == "__main__":
    main()
