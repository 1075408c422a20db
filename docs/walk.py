"""The walk of ``da.simulate`` from a model to a trajectory, measured: which of our modules are entered, step by step.

    python docs/walk.py            write it into contributing/architecture.md
    python docs/walk.py --print    only show it

A step is a function that ``simulate`` calls itself; behind it stand the modules that are entered below it for the first
time, in that order. Native code is not seen: it is entered where ``integrators`` and ``dynamics`` are.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

PAGE = Path(__file__).parent / "contributing" / "architecture.md"
BEGIN, END = "<!-- measured: walk -->\n", "<!-- end -->"


class Walk:
    """A profiler that notes our modules below one function."""

    def __init__(self, module: str, function: str):
        self.top = (module, function)
        self.depth = 0  # of our frames below the function; 0 outside of it
        self.steps: list[tuple[str, list[str]]] = []
        self.known: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__") or ""
        if event not in ("call", "return") or not module.startswith("dalembert."):
            return
        here = (module, frame.f_code.co_name) == self.top
        if event == "return":
            self.depth -= self.depth > 0
        elif self.depth or here:
            self.depth += 1
            if self.depth == 2:
                name = frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name
                self.steps.append((f"{module.removeprefix('dalembert.')}.{name}", []))
            if self.depth > 1 and module not in self.known:
                self.known.add(module)
                self.steps[-1][1].append(module.removeprefix("dalembert."))


def walked(subject: Any) -> Walk:
    """What simulating a model, or compiled equations, calls."""
    import dalembert as da

    seen = Walk("dalembert.analyses.simulation.simulate", "simulate")
    sys.setprofile(seen)
    try:
        da.simulate(subject, 0.1)
    finally:
        sys.setprofile(None)
    return seen


def walk() -> str:
    """A Markdown table of the steps that enter something new, and how many modules there are, at first and again."""
    import dalembert as da

    # What another process has compiled is there already.
    subprocess.run(
        [sys.executable, "-c", "import dalembert as da; da.simulate(da.library.four_bar(), 0.1)"], check=True
    )
    model = da.library.four_bar()
    seen, equations = walked(model), da.compile(model)
    _, again = walked(equations), walked(equations)
    lines = ["| step | modules entered for the first time |", "|---|---|"]
    for name, modules in seen.steps:
        if modules and "<" not in name:
            lines.append(f"| `{name}` | {_by_room(modules)} |")
    count = (
        f"These are {len(seen.known)} modules, native code from the cache; compiled equations, simulated again, enter "
    )
    count += f"{len(again.known)}."
    return "\n".join([*lines, "", count]) + "\n"


def _by_room(modules: list[str]) -> str:
    rooms: dict[str, list[str]] = {}
    for module in modules:
        room, _, file = module.rpartition(".")
        rooms.setdefault(room, []).append(file)
    return "; ".join(
        f"**{room}** {', '.join(files)}" if room else "; ".join(f"**{file}**" for file in files)
        for room, files in rooms.items()
    )


def main() -> None:
    """Measure, then write or show."""
    table = walk()
    if "--print" in sys.argv:
        print(table)
        return
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
