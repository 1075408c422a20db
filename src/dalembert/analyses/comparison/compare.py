"""One mechanism in every formulation and in all coordinates: what each takes, and what it leaves open."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from dalembert.analyses.comparison.compare_latex import latex_table
from dalembert.analyses.comparison.compare_system import SystemMeasure, measure_system
from dalembert.analyses.simulation.options import MethodOptions, Options, public_with
from dalembert.analyses.simulation.simulate import DEFAULT_OUTPUTS, simulate
from dalembert.arguments import public_methods
from dalembert.atomic import write_atomic
from dalembert.coordinates import COORDINATES, CoordinateOptions
from dalembert.dynamics import Dynamics, Recipe
from dalembert.errors import DalembertError, MissingError, ModelError
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.model import Model
from dalembert.modular import Subsystem
from dalembert.trajectory import Trajectory

__all__ = ["Comparison", "Entry", "compare"]

# Tolerances of the reference, tried in this order until a run can be trusted: as close to rounding as steps get.
REFERENCE_TOLERANCES = (1e-13, 1e-12, 1e-11)
ABSOLUTE = 1e-2  # absolute over relative tolerance of the reference
MATRICES = 25  # states along a run at which the condition is measured
ZERO = 1e-14  # singular values below this fraction of the largest belong to redundant rows
RANK = 1e-9  # singular values of the constraints below this fraction of the largest entry count as zero
SAME_TIME = 1e-9  # of the duration


@dataclass(frozen=True)
class Entry:
    """One formulation in one kind of coordinates. What was not measured is None.

    Attributes:
        formulation: its name, with the options that differ from the defaults.
        status: ``trusted``, ``not trusted``, ``refused`` (the formulation does not take the model) or ``error``.
        reason: how the run ended, or why there is none.
        unknowns: of the linear system of one evaluation.
        states: variables that are integrated.
        constraints: number of constraint equations.
        seconds, compile_seconds: wall time of the time loop, and of tracing and compiling before it.
        energy: drift of the energy balance, relative to the energy that moves.
        position, velocity, acceleration: largest residuals of the constraints; |A u̇ + γ| relative to |u̇|.
        pose_difference, twist_difference: largest distance from the reference of any body at any output (m or rad, m/s
            or rad/s).
        condition: largest condition of the factorized matrix along the run, redundant rows left out.
        recipe: coordinates and formulation with all options.
    """

    formulation: str
    coordinates: str
    status: str
    reason: str
    unknowns: int | None = None
    states: int | None = None
    constraints: int | None = None
    seconds: float | None = None
    compile_seconds: float | None = None
    steps: int | None = None
    evaluations: int | None = None
    energy: float | None = None
    position: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    pose_difference: float | None = None
    twist_difference: float | None = None
    condition: float | None = None
    recipe: Recipe | None = None

    @property
    def ran(self) -> bool:
        """True if there is a trajectory, trusted or not."""
        return self.status in ("trusted", "not trusted")


@public_methods
@dataclass(frozen=True)
class Comparison:
    """The result of ``compare``.

    Attributes:
        model, duration: the mechanism and how long it moved (s).
        method: integrator, tolerances and stabilization of all runs.
        reference: which run the others are measured against.
        data: one entry for each pair, in the order of the registries.

    Example:
        table = da.compare(da.library.pendulum(), 1.0, formulations="recursive")
        table.to_csv("table.csv")
    """

    model: str
    duration: float
    method: str
    reference: str
    data: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, pair: tuple[str, str]) -> Entry:
        """The entry of (formulation, coordinates)."""
        for entry in self.data:
            if (entry.formulation, entry.coordinates) == tuple(pair):
                return entry
        known = ", ".join(f"({e.formulation!r}, {e.coordinates!r})" for e in self.data)
        raise MissingError(f"no entry {pair!r}; there are {known}")

    def table(self) -> Any:
        """A ``rich`` table: one line for each run, then what was refused and why."""
        from rich.table import Table
        from rich.text import Text

        title = f"{self.model}, {self.duration:g} s, {self.method}"
        table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
        table.caption, table.caption_justify, table.caption_style = self._caption(), "left", "dim"
        for head in ("formulation", "coordinates"):
            table.add_column(head, no_wrap=True)
        for head, _, _ in _COLUMNS:
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column("certificate", no_wrap=True)
        for entry in self.data:
            if entry.ran:
                cells = [_cell(getattr(entry, field), form) for _, field, form in _COLUMNS]
                status = Text(entry.status, style="green" if entry.status == "trusted" else "yellow")
                table.add_row(Text(entry.formulation), Text(entry.coordinates), *cells, status)
        return table

    def _caption(self) -> str:
        from rich.markup import escape

        lines = [f"Δ: largest distance of any body from {self.reference}"]
        for entry in self.data:
            if entry.status != "trusted":
                lines.append(f"{entry.formulation}, {entry.coordinates}: {entry.status}: {entry.reason}")
        return escape("\n".join(lines))

    def __str__(self) -> str:
        from rich.console import Console

        page = io.StringIO()
        Console(file=page, width=240, highlight=False, color_system=None).print(self.table())
        return "\n".join(line.rstrip() for line in page.getvalue().splitlines())

    __repr__ = __str__

    def to_csv(self, path: str | Path) -> Path:
        """All numbers, one line for each entry; a field that was not measured is empty."""
        page = io.StringIO()
        names = [field.name for field in fields(Entry)]
        writer = csv.writer(page, lineterminator="\n")
        writer.writerow(names)
        for entry in self.data:
            writer.writerow([_written(getattr(entry, name)) for name in names])
        return write_atomic(path, page.getvalue())

    def to_latex(self, path: str | Path) -> Path:
        """The table of those that ran, as a LaTeX ``tabular`` for a paper."""
        heads = ["formulation", "coordinates", *(head for head, _, _ in _COLUMNS)]
        rows = [
            [entry.formulation, entry.coordinates, *(_cell(getattr(entry, field), form) for _, field, form in _COLUMNS)]
            for entry in self.data
            if entry.ran
        ]
        caption = f"{self.model}, {self.duration:g} s, {self.method}; distances from {self.reference}"
        return write_atomic(path, latex_table(heads, rows, caption))

    def plot(self, path: str | Path | None = None) -> Any:
        """Time, distance from the reference, drift, residuals and condition side by side, the quickest run on top.

        Returns:
            a matplotlib figure, written to ``path`` (PNG, SVG or PDF) if given.
        """
        from dalembert.view import plot_dots, with_file

        ran = sorted((entry for entry in self.data if entry.ran), key=lambda entry: entry.seconds or 0.0)
        if not ran:
            raise DalembertError("nothing to plot: no formulation ran this model")
        panels: dict[str, dict[str, list[float | None]]] = {
            title: {label: [getattr(entry, field) for entry in ran] for field, label in series.items()}
            for title, series in _PANELS.items()
        }
        panels = {title: series for title, series in panels.items() if any(v for row in series.values() for v in row)}
        dots = plot_dots(
            [entry.formulation if entry.status == "trusted" else f"{entry.formulation} (not trusted)" for entry in ran],
            [entry.coordinates for entry in ran],
            panels,
            title=f"{self.model}, {self.duration:g} s, {self.method}",
            note=f"Δ: from {self.reference}",
        )
        return with_file(dots, path)


# Heading, field, format.
_COLUMNS = (
    ("unknowns", "unknowns", "d"), ("states", "states", "d"), ("time (s)", "seconds", "time"),
    ("compile (s)", "compile_seconds", ".1f"), ("steps", "steps", "d"), ("evaluations", "evaluations", "d"),
    ("energy", "energy", ".0e"), ("|φ|", "position", ".0e"), ("|φ̇|", "velocity", ".0e"),
    ("|φ̈|", "acceleration", ".0e"), ("Δ pose", "pose_difference", ".0e"), ("Δ twist", "twist_difference", ".0e"),
    ("condition", "condition", ".0e"),
)  # fmt: skip
_PANELS = {
    "wall time (s)": {"seconds": ""},
    "Δ to the reference": {"pose_difference": "pose (m, rad)", "twist_difference": "twist (m/s, rad/s)"},
    "energy drift": {"energy": ""},
    "residuals": {"position": "position", "velocity": "velocity", "acceleration": "acceleration"},
    "condition": {"condition": ""},
}


def _written(value: Any) -> Any:
    """A field of an entry in a CSV file."""
    if isinstance(value, Recipe):
        return value.to_json()
    return "" if value is None else value


def _cell(value: float | None, form: str) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if form == "time" else format(value, form)


@public_with(MethodOptions)
def compare(
    model: Model | Subsystem,
    duration: float,
    *,
    formulations: str | Formulation | Sequence[str | Formulation] = "all",
    coordinates: str | CoordinateOptions | Sequence[str | CoordinateOptions] = "all",
    options: Options | None = None,
    reference: Trajectory | None = None,
    repeats: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    **given: Unpack[MethodOptions],
) -> Comparison:
    """Run a mechanism in every pair of formulation and coordinates, from the same state with the same method.

    A pair that refuses the model, or fails, is reported in words and does not stop the others.

    Args:
        model: the mechanism; or a subsystem, which is solved from its parts to the whole and all at once.
        duration: how long (s).
        formulations: ``all``, or names, or objects with their options such as ``Penalty(alpha=1e6)``.
        coordinates: ``all``, or names, or ``da.Generalized`` with options. A formulation is run in those that it takes.
        options: a ``da.Options`` for all runs, but for formulation and coordinates; those given by name go first.
        reference: what the runs are measured against; default: a run of the formulation that ``auto`` takes, at a
            tolerance close to rounding.
        repeats: timed runs of each pair; the shortest time counts.
        progress: called before each run with (number done, number of all, what comes).
        …: the options of all runs, see ``Options``. The state is assembled once.

    Example:
        table = da.compare(da.library.pendulum(), 1.0, formulations=["recursive", "lagrange"])
        print(table)
    """
    options = replace(Options.of(options, given, MethodOptions), formulation="auto", coordinates="auto")
    times = options.times(duration, DEFAULT_OUTPUTS)
    if repeats < 1:
        raise DalembertError(f"repeats must be a positive whole number, got {repeats!r}")
    if isinstance(model, Subsystem):
        if formulations != "all" or coordinates != "all" or reference is not None:
            raise DalembertError(
                f"subsystem {model.name!r} has its own variables and equations; leave out formulations, coordinates "
                f"and reference"
            )
        against, measured = measure_system(model, times, options, repeats, progress)
        return Comparison(model.name, float(duration), str(options), against, tuple(map(_system_entry, measured)))
    pairs = _pairs(formulations, coordinates)
    best = Dynamics(model)
    options.choice(best)  # bad options fail before anything runs
    options = replace(options, initial=options.state(best), initial_rates=None)
    if reference is not None and list(reference.dynamics.flat.bodies) != list(best.flat.bodies):
        raise DalembertError(f"the reference is a run of a mechanism with other bodies: {reference!r}")
    total = len(pairs) + (reference is None)
    if reference is None:
        if progress is not None:
            progress(0, total, "reference")
        reference = _reference(best, duration, options)
    elif reference.time.values[0] > times[0] or reference.time.values[-1] < times[-1] - SAME_TIME * duration:
        wanted = f"{times[0]:g} … {times[-1]:g} s"
        raise DalembertError(f"the reference must cover the whole run, {wanted}; it is {reference!r}")
    else:
        reference = _at_outputs(reference, times, duration)
    entries: list[Entry] = []
    for formulation, kind in pairs:
        if progress is not None:
            progress(total - len(pairs) + len(entries), total, f"{label(formulation)}, {kind}")
        entries.append(_entry(model, formulation, kind, duration, options, reference, repeats))
    return Comparison(model.name, float(duration), str(options), _described(reference), tuple(entries))


def _system_entry(one: SystemMeasure) -> Entry:
    """A way to solve a subsystem as an entry of the table."""
    if one.run is None:
        return Entry(one.way, "own", "error", one.reason)
    certificate, residual = one.run.certificate, one.residual
    return Entry(
        one.way, "own", "trusted" if certificate.trusted else "not trusted", one.reason, one.unknowns, one.states,
        one.constraints, one.seconds, one.compile_seconds, certificate.counts["steps"],
        certificate.counts["evaluations"], None, residual("invariants of order 0"), residual("invariants of order 1"),
        residual("invariants, highest order"), *one.differences, residual("conditioning"),
    )  # fmt: skip


def label(formulation: Formulation) -> str:
    """The name, and options that are not the defaults."""
    default = type(formulation)()
    shown = [
        f"{field.name}={_short(getattr(formulation, field.name))}"
        for field in fields(formulation)
        if getattr(formulation, field.name) != getattr(default, field.name)
    ]
    return f"{formulation.name}({', '.join(shown)})" if shown else formulation.name


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pairs(formulations: Any, coordinates: Any) -> list[tuple[Formulation, str | CoordinateOptions]]:
    """Formulations with each kind of coordinates that they take; if they take none of those asked for, with all."""
    if isinstance(formulations, str) and formulations == "all":
        formulations = list(FORMULATIONS)
    elif isinstance(formulations, (str, Formulation)):
        formulations = [formulations]
    if isinstance(coordinates, str) and coordinates == "all":
        coordinates = list(COORDINATES)
    kinds = [coordinates] if isinstance(coordinates, (str, CoordinateOptions)) else coordinates
    for what, names, registry in (("formulation", formulations, FORMULATIONS), ("coordinates", kinds, COORDINATES)):
        for name in names:
            if not isinstance(name, (Formulation, CoordinateOptions)) and name not in registry:
                raise DalembertError(f"unknown {what} {name!r}; expected 'all' or some of {', '.join(registry)}")
    pairs: list[tuple[Formulation, str | CoordinateOptions]] = []
    for given in formulations:
        formulation = given if isinstance(given, Formulation) else FORMULATIONS[given]()
        taken = [kind for kind in kinds if getattr(kind, "name", kind) in formulation.supports().coordinates]
        pairs += [(formulation, kind) for kind in taken or kinds]
    if not pairs:
        raise DalembertError("nothing to compare: no formulation or no coordinates given")
    return pairs


def _reference(best: Dynamics, duration: float, options: Options) -> Trajectory:
    """The tightest run that can be trusted; the last one tried if none can."""
    alike: dict[str, Any] = {"initial": options.initial, "parameters": options.parameters, "start": options.start}
    run = None
    for rtol in REFERENCE_TOLERANCES:
        how = Options(**alike, output_step=options.output_step, rtol=rtol, atol=ABSOLUTE * rtol)
        run = simulate(best, duration, options=how)
        run.data.attrs["rtol"] = rtol
        if run.certificate.trusted:
            break
    assert run is not None
    return run


def _at_outputs(reference: Trajectory, times: np.ndarray, duration: float) -> Trajectory:
    """A given trajectory at the output times of the runs."""
    own = reference.time.values
    if len(own) == len(times) and np.abs(own - times).max() <= SAME_TIME * duration:
        return reference
    return reference.resample(times)


def _described(reference: Trajectory) -> str:
    attrs = reference.data.attrs
    rtol = f" at rtol {attrs['rtol']:g}" if "rtol" in attrs else ""
    doubt = "" if reference.certificate.trusted else f", NOT TRUSTED ({reference.certificate.message})"
    return f"{attrs['formulation']}, {attrs['coordinate_kind']} coordinates, {attrs['integrator']}{rtol}{doubt}"


def _entry(
    model: Model,
    formulation: Formulation,
    kind: str | CoordinateOptions,
    duration: float,
    options: Options,
    reference: Trajectory,
    repeats: int,
) -> Entry:
    """Compile, run and measure one pair; whatever goes wrong is reported in the entry."""
    recipe = Recipe(kind, formulation)
    entry = Entry(label(formulation), str(kind), "error", "", recipe=recipe)
    try:
        began = time.perf_counter()
        dynamics = Dynamics.from_recipe(model, recipe)
        # A run to the first output compiles everything that is needed, and loads it.
        first = float(reference.time.values[1] - reference.time.values[0])
        ahead = simulate(dynamics, first, options=options, output_step=first)
        compiled = time.perf_counter() - began
        runs = [simulate(dynamics, duration, options=options) for _ in range(repeats)]
        if runs[0].data.attrs["integrator"] != ahead.data.attrs["integrator"] and repeats == 1:
            # The method changed on the way, so that the loop of the other one was loaded within the time taken.
            runs.append(simulate(dynamics, duration, options=options))
        seconds = min(run.data.attrs["seconds"] for run in runs)
        return replace(entry, **_measured(runs[-1], reference), seconds=seconds, compile_seconds=compiled)
    except ModelError as error:
        return replace(entry, status="refused", reason=str(error))
    except DalembertError as error:
        return replace(entry, reason=str(error))
    except Exception as error:  # the others go on; the entry says what happened
        return replace(entry, reason=f"{type(error).__name__}: {error}")


def _measured(run: Trajectory, reference: Trajectory) -> dict[str, Any]:
    """Everything but times."""
    certificate, dynamics = run.certificate, run.dynamics
    checks = {check.name: check.value for check in certificate.checks}
    failed = [f"{c.name} {c.value:.1e} instead of {c.limit:.0e}" for c in certificate.checks if not c.passed]
    pose, twist = _differences(run, reference)
    unknowns, condition = _conditioning(run)
    return {
        "status": "trusted" if certificate.trusted else "not trusted",
        "reason": "; ".join([certificate.message, *failed]),
        "unknowns": unknowns,
        "states": _states(run),
        "constraints": len(dynamics.rows),
        "steps": certificate.counts["steps"],
        "evaluations": certificate.counts["evaluations"],
        "energy": checks.get("energy balance"),
        "position": checks.get("position residual"),
        "velocity": checks.get("velocity residual"),
        "acceleration": checks.get("acceleration residual"),
        "pose_difference": pose,
        "twist_difference": twist,
        "condition": condition,
    }


def _differences(run: Trajectory, reference: Trajectory) -> tuple[float | None, float | None]:
    """Largest distance of poses and of twists of all bodies, at the outputs that both have."""
    t, other = run.time.values, reference.time.values
    n = min(len(t), len(other))
    same = np.abs(t[:n] - other[:n]) <= SAME_TIME * max(other[-1] - other[0], 1e-300)
    n = int(np.argmin(same)) if not same.all() else n
    a, b = (x.data.isel(time=slice(0, n)).sel(body=run.data.body.values) for x in (run, reference))

    def largest(values: np.ndarray) -> float:
        return float(np.linalg.norm(values, axis=-1).max(initial=0.0))

    pose = max(largest(a.position.values - b.position.values), _angle(a.orientation.values, b.orientation.values))
    twist = max(largest(a[name].values - b[name].values) for name in ("linear_velocity", "angular_velocity"))
    return (pose, twist) if math.isfinite(pose + twist) else (math.inf, math.inf)


def _angle(P: np.ndarray, Q: np.ndarray) -> float:
    """Largest angle between orientations, unit quaternions in the last axis: exact also where it is small."""
    Q = np.where(np.sum(P * Q, axis=-1, keepdims=True) < 0, -Q, Q)
    chord = np.linalg.norm(P - Q, axis=-1)
    return float((4 * np.arcsin(np.minimum(chord / 2, 1.0))).max(initial=0.0))


def _states(run: Trajectory) -> int:
    """Variables that are integrated, with the freedom that the mechanism has at its start."""
    d = run.dynamics
    freedom = (d.nv, d.nv)
    if d.rows and not d.is_large:
        seen = d.residuals(run.time.values[0], run.q.values[0], run.u.values[0], run.segments[0][1])
        A = np.asarray(seen.jacobian).reshape(len(d.rows), d.nv)
        ranks = (int(np.linalg.matrix_rank(part, RANK * np.abs(A).max())) for part in (A[: d.holonomic], A))
        freedom = (d.nv - next(ranks), d.nv - next(ranks))
    return d.formulation.states(d.kernels.sizes, freedom)


def _conditioning(run: Trajectory) -> tuple[int, float | None]:
    """Unknowns of the linear system, and the largest condition of its matrix at some states of the run."""
    dynamics = run.dynamics
    if dynamics.is_large or (dynamics.formulation.explicit and not dynamics.rows):
        return dynamics.nv, None
    worst, unknowns = 0.0, dynamics.nv
    t, q, u = run.time.values, run.q.values, run.u.values
    starts = [start for start, _ in run.segments]
    chosen: list[int] = np.unique(np.linspace(0, len(t) - 1, MATRICES).round().astype(int)).tolist()
    for i in chosen:
        values = run.segments[int(np.searchsorted(starts, i, side="right")) - 1][1]
        seen = dynamics.residuals(t[i], q[i], u[i], values)
        M = np.asarray(seen.mass_matrix).reshape(dynamics.nv, dynamics.nv)
        A = np.asarray(seen.jacobian).reshape(len(dynamics.rows), dynamics.nv)
        K = dynamics.formulation.matrix(M, A, dynamics.coordinates)
        if K is None or not np.all(np.isfinite(K)):
            return unknowns, None if K is None else math.inf
        unknowns = K.shape[1]
        sizes = np.linalg.svd(K, compute_uv=False)
        sizes = sizes[sizes > ZERO * sizes.max(initial=0.0)]
        worst = max(worst, float(sizes[0] / sizes[-1])) if len(sizes) else worst
    return unknowns, worst or None
