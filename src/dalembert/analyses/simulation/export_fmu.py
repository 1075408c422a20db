"""``da.export_fmu``: a mechanism as a functional mock-up unit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from dalembert.analyses.simulation.make_device import Made, Quantity, make_device, quantities
from dalembert.analyses.simulation.options import Options, RunOptions, public_with
from dalembert.analyses.simulation.simulate import simulate
from dalembert.atomic import write_atomic
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.export import native_device, native_events, native_run, native_start
from dalembert.export.c_source import CProgram, arena_needed
from dalembert.export.fmu_archive import PLATFORMS, compile_for, platforms_asked, zip_fmu
from dalembert.export.fmu_description import Described, build_description, model_description
from dalembert.export.fmu_source import Ending, Variable, device_program, fmu_source
from dalembert.integrators import Status
from dalembert.model import Model, flatten
from dalembert.numerics.context import FAILURES
from dalembert.planar import Planar

__all__ = ["export_fmu"]

VERSIONS = (2, 3)
STEPS = 1000  # of the default experiment


@public_with(RunOptions)
def export_fmu(
    model: Model | Planar | Dynamics,
    path: str | Path,
    duration: float = 10.0,
    *,
    version: int = 3,
    platforms: str | Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    options: Options | None = None,
    **given: Unpack[RunOptions],
) -> Path:
    """Write a mechanism as a functional mock-up unit, for Model Exchange and for Co-Simulation.

    Args:
        model: the mechanism.
        path: the file, ``x.fmu``.
        duration: of the default experiment (s).
        version: of FMI, 3 or 2.
        platforms: for which shared libraries are compiled, such as ``"linux-x86-64"``; ``"all"``; by default this one,
            if there is a compiler. The source is always there.
        inputs: parameters that become inputs, in addition to those of the model (``model.input``); all others are
            tunable.
        options: a ``da.Options`` with some or all of the options below; those given by name go first.
        …: the options of the run; method and tolerance are those of Co-Simulation. See ``Options``.

    Returns:
        the path.

    Example:
        da.export_fmu(da.library.pendulum(), "pendulum.fmu", platforms=[])  # source only
    """
    if version not in VERSIONS:
        raise DalembertError(f"version: FMI 2 and 3 can be written, got {version!r}")
    path = Path(path)
    if path.suffix != ".fmu":
        raise DalembertError(f"the file of an FMU ends in .fmu, got {str(path)!r}.  Fix: {path.stem}.fmu")
    if isinstance(inputs, str):
        raise DalembertError(f"inputs: expected names of parameters, got {inputs!r}.  Fix: inputs=[{inputs!r}]")
    wanted = platforms_asked(platforms, version)
    if isinstance(model, Model):
        flatten(model).refuse_fmus()
    run: Any = simulate(model, duration, options=options, **{"output_step": duration / STEPS, **given})  # type: ignore[arg-type]
    if not hasattr(run, "live"):
        raise DalembertError("export_fmu takes a mechanism, not a subsystem.  Fix: a da.Model; or "
                             "equations().explicit(), whose formulas SymPy writes as C")  # fmt: skip
    program, variables, made = _program(run, inputs)
    source, described = _texts(program, variables, made, duration, version)
    name = described.identifier
    files = {"modelDescription.xml": model_description(described, variables, version)}
    if version == 3:
        files["sources/buildDescription.xml"] = build_description(name)
    files[f"sources/{name}.c"] = source.encode()
    for one in wanted:
        where = PLATFORMS[one].folder if version == 3 else PLATFORMS[one].old_folder
        files[f"binaries/{where}/{name}.{PLATFORMS[one].suffix}"] = compile_for(one, source, name)
    return write_atomic(path, zip_fmu(files), DalembertError)


def _program(run: Any, inputs: Sequence[str]) -> tuple[CProgram, list[Variable], Made]:
    """The device as C, and its variables with their addresses."""
    size = max(_needed(make_device(run)), _needed(make_device(run), exchange=True))
    made = make_device(run)
    program = device_program(made.device, size)
    return program, [_variable(program, one) for one in quantities(made, inputs)], made


def _needed(made: Made, exchange: bool = False) -> int:
    """Bytes of the arena that a device needs: it begins, and goes on a little."""
    device = made.device
    device.exchange = exchange
    size = 0
    requests = [native_device.BEGIN, native_device.OBSERVE]
    device.target = device.time + 1e-3
    requests += [native_device.COMPLETE, native_device.EVENTS] if exchange else [native_device.STEP]
    for what in requests:
        size = max(size, arena_needed(native_device.serve, device, what))
    return size


def _variable(program: CProgram, q: Quantity) -> Variable:
    masks = [program.address(mask) + 8 * row for mask, row in q.masks]
    masks += [program.field(record, name) for record, name in q.moved]
    address = program.address(q.array) + 8 * q.index
    return Variable(q.name, q.kind, address, q.value, q.about, q.unit, tuple(masks), q.of)


def _texts(
    program: CProgram, variables: list[Variable], made: Made, duration: float, version: int
) -> tuple[str, Described]:
    d, method = made.run.dynamics, made.living.method
    stem = re.sub(r"\W+", "_", d.model.name, flags=re.ASCII).strip("_") or "mechanism"
    stem = f"m_{stem}" if stem[0].isdigit() else stem
    # The token follows from the code: what is changed gets another one.
    without = fmu_source(program, variables, _endings(), version, made.exchange)
    token = hashlib.sha256(without.encode()).hexdigest()[:32]
    source = without.replace('#define FMU_TOKEN ""', f'#define FMU_TOKEN "{token}"')
    about = f"{d.formulation.name}, {d.coordinates.name} coordinates, {method.name}"
    tolerance = method.rtol if getattr(method, "adaptive", False) else 1e-6
    return source, Described(d.model.name, about, stem, token, duration, tolerance, duration / STEPS)


def _endings() -> list[Ending]:
    """What an FMU says where it cannot go on; the first that fits."""
    begin, acted = native_run.NO_START, native_run.ACTED
    found = [
        Ending(begin, native_start.OPEN, "with these values the mechanism cannot be assembled"),
        Ending(begin, native_start.TOO_FAR, "an angle of a loop at the start has too many whole turns"),
        Ending(begin, native_start.CONTRADICTION, "the velocities at the start contradict the constraints"),
        Ending(begin, native_run.NOT_A_NUMBER, "a formula has no value with these parameters"),
        Ending(acted, native_events.ENDLESS, "an event happens faster and faster: something bounces and comes to rest"),
        Ending(acted, native_events.NOT_CLOSED, "an event switches on a constraint that does not hold in this place"),
        Ending(acted, native_events.MASSLESS, "after an event a direction of motion has neither mass nor constraint"),
        Ending(acted, native_events.CONFLICTING, "the velocities that an event asks for contradict the constraints"),
        Ending(native_device.OTHER_FREEDOM, -1, "the mechanism has another number of freedoms here: constraints are "
               "singular, and Model Exchange cannot go on; take Co-Simulation"),
        Ending(int(Status.STEP_TOO_SMALL), -1, "the step became too small: the motion is near a singularity, or stiff"),
        Ending(int(Status.ILL_CONDITIONED), -1, "the velocities that the formulation chose come to depend on the "
               "constraints here; take formulation='lagrange-multipliers'"),
        Ending(int(Status.NO_CONVERGENCE), -1, "the equations of a step could not be solved"),
        Ending(int(Status.NO_HEADWAY), -1, "almost no progress: something switches back and forth"),
        Ending(int(Status.TOO_MANY_STEPS), -1, "all steps allowed between two communication points are used up"),
    ]  # fmt: skip
    return found + [Ending(int(Status.FAILED), code, text) for code, text in FAILURES.items()]
