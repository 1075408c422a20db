"""``da.export_c``: a mechanism as stand-alone C99."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from dalembert.analyses.simulation.live import make_living
from dalembert.analyses.simulation.options import Options, RunOptions, public_with
from dalembert.analyses.simulation.simulate import simulate
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.export.c_source import Shown, arena_needed, run_program, write_c_program
from dalembert.export.microcontroller import check_processors, write_objects
from dalembert.export.native_run import run_live
from dalembert.model import Model, flatten
from dalembert.planar import Planar

__all__ = ["export_c"]


@public_with(RunOptions)
def export_c(
    model: Model | Planar | Dynamics,
    folder: str | Path,
    duration: float = 1.0,
    *,
    name: str | None = None,
    processors: str | Sequence[str] = (),
    options: Options | None = None,
    **given: Unpack[RunOptions],
) -> list[Path]:
    """Write a mechanism as stand-alone C99: equations, solver, time loop, assembly and events, without allocation.

    Args:
        model: the mechanism.
        folder: gets ``name.h``, ``name.c`` and ``main.c``, which makes a stored run again and compares.
        duration: of that run (s).
        name: prefix of files and functions, a C identifier; by default made of the model's name.
        processors: micro-controllers, such as ``"cortex-m4"``, that get an object file with machine code,
            ``name.cortex-m4.o``, and a report of its memory and instructions; ``name_object.c`` holds their memory.
        options: a ``da.Options`` with some or all of the options below; those given by name go first.
        …: the options of the run, see ``Options``.

    Returns:
        the files.

    Example:
        files = da.export_c(da.library.pendulum(), "pendulum-c", integrator="rk4", step=1e-3)
    """
    wanted = check_processors(processors)
    if isinstance(model, Model):
        flatten(model).refuse_fmus()
    run: Any = simulate(model, duration, options=options, **given)
    if not hasattr(run, "live"):
        raise DalembertError("export_c takes a mechanism, not a subsystem.  Fix: a da.Model; or "
                             "equations().explicit(), whose formulas SymPy writes as C")  # fmt: skip
    living = make_living(run, [])
    size = arena_needed(run_live, living.live)
    fresh, d = make_living(run, []), run.dynamics
    fresh.live.status = living.live.status
    program = run_program(fresh.live, size)
    reference = np.asarray(living.live.states[: living.live.written])
    stem = re.sub(r"\W+", "_", d.model.name, flags=re.ASCII).strip("_").lower() or "mechanism"
    stem = f"m_{stem}" if stem[0].isdigit() else stem
    how = f"{d.formulation.name}, {d.coordinates.name} coordinates, {living.method.name}"
    states = [*(f"q {one}" for one in d.q_names), *(f"u {one}" for one in d.u_names), "work"]
    shown = Shown(d.model.name, list(d.parameter_names), states, how)
    stem = stem if name is None else name
    files = write_c_program(Path(folder), stem, program, reference, shown)
    return [*files, *write_objects(Path(folder), stem, program, shown, wanted)]
