"""``run.live("x.html")``: a page that makes the run again with other parameters and another start."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analyses.assembly.check_values import check_values
from dalembert.analyses.simulation import certify as words
from dalembert.analyses.simulation import companion, motion_sizes
from dalembert.analyses.simulation.account import ENDLESS, OVERLOOKED
from dalembert.analyses.simulation.live import Living, Runner, make_living, start_place
from dalembert.analyses.simulation.live_motions import DEGREE, PREFIX, TERMS, Typed, with_typed_motions
from dalembert.analyses.simulation.options import LIVE_METHODS
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, ModelError
from dalembert.export import native_events, native_run, native_start
from dalembert.export.geometry import geometry_kernel
from dalembert.export.live_page import LiveSlider, engine_data, field_address, live_html
from dalembert.export.module import Packed
from dalembert.export.native_watch import MEASURED
from dalembert.expressions import to_text
from dalembert.integrators import INTEGRATORS, Status
from dalembert.native import Real
from dalembert.notebook import Page
from dalembert.numerics.context import FAILURES
from dalembert.values import NUMBER, SEQUENCE
from dalembert.view.run_scene import scene as scene_of

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory
    from dalembert.trajectory.trajectory import Ranges

__all__ = ["parameter_ranges", "write_live"]

# How many sliders there are if nobody says which.
MOST_PARAMETERS, MOST_STARTS = 8, 4
MOST_LAWS = 4  # formulas that a page names among what it cannot change

NO_GRAB = "no coordinate at the start has a slider in this page; Python gives it one: run.live(…, initial=[joint])"
SPEEDY = "velocity residual"  # the check whose limit grows with the largest velocity

_STARTS = {
    str(native_start.OPEN): "with these values the mechanism cannot be assembled: {owner} is off by {off} (m or rad)",
    str(native_start.TOO_FAR): "{owner} would turn by {off} rad from where it begins, which is too far to be followed",
    str(native_start.CONTRADICTION): "the initial velocities contradict the constraints: {owner} is off by {off}",
    str(native_run.NOT_A_NUMBER): "a formula has no value with these parameters",
    "other": "the run cannot begin with these values",
}
_REACTIONS = {
    str(native_events.ENDED): "",
    str(native_events.ENDLESS): ENDLESS,
    str(native_events.NOT_CLOSED): "event {name}: a constraint that it switches on does not hold in this position",
    str(native_events.MASSLESS): "event {name}: some direction of motion has neither mass nor constraint",
    str(native_events.CONFLICTING): "event {name}: the velocities it asks for contradict the constraints",
}


def write_live(
    run: Trajectory,
    path: str | Path | None,
    parameters: Ranges,
    initial: Ranges,
    initial_rates: Ranges,
    integrators: Sequence[str],
    motions: Sequence[str],
) -> Path | Page:
    """Write the page, or return it (see ``Trajectory.live``)."""
    run, typed = with_typed_motions(run, motions)
    drawing = scene_of(run)
    kernel, places = geometry_kernel(run, drawing)
    numbers, starts = parameter_ranges(run, parameters), _starts(run, initial, initial_rates)
    named = list(dict.fromkeys(joint for joint, *_ in starts))
    living = make_living(run, named, kernel, others=_others(run, integrators))
    engine, packed = engine_data(living.live, [one for runner in living.runners[1:] for one in runner[1:]])
    sliders = _parameter_sliders(living, packed, numbers) + _start_sliders(living, packed, starts)
    methods = _methods(run, living, packed, [one.name for one in typed])
    live = {**_layout(living, places, drawing), **_words(living), **methods[0]["words"]}
    live |= {"methods": methods} if len(methods) > 1 else {}
    live |= {"motions": _motions(run, living, packed, typed)} if typed else {}
    page = Page(live_html(drawing, _sources(run, drawing), live, sliders, engine), run.dynamics.model.name)
    return page if path is None else page.save(path)


# Sliders


def _ranges(what: str, given: Ranges, known: Sequence[str], chosen: Sequence[str]) -> dict[str, Any]:
    """Names with their ranges, None where nothing is said; every problem in one message."""
    if given is None:
        return dict.fromkeys(chosen)
    if isinstance(given, str) or not isinstance(given, (Mapping, Sequence)):
        raise DalembertError(f"{what}: expected names, or ranges by name, got {given!r}")
    ranges: dict[str, Any] = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    unknown = [name for name in ranges if name not in known]
    if unknown:
        raise DalembertError(f"{what}: unknown {unknown}; there are {', '.join(known) or 'none'}")
    for name, ends in ranges.items():
        if ends is None:
            continue
        pair: list[Any] = list(ends) if isinstance(ends, SEQUENCE) else [ends]
        good = len(pair) == 2 and all(isinstance(end, NUMBER) and math.isfinite(end) for end in pair)
        if not good or not pair[0] < pair[1]:
            raise DalembertError(f"{what}: the range of {name!r} must be (low, high), got {ranges[name]!r}")
    return ranges


def parameter_ranges(run: Trajectory, given: Ranges) -> list[tuple[int, str, float, float]]:
    """(index, name, low, high) of every parameter that has a slider."""
    kernels, hidden = run.dynamics.kernels, set(run.dynamics.flat.switches.values())
    own = kernels.parameter_names[: len(kernels.parameter_names) - kernels.n_branches]
    names = [name for name in own if name not in hidden and not name.startswith(PREFIX)]
    values = run.dynamics.parameters(run.segments[0][1])
    found: list[tuple[int, str, float, float]] = []
    signals = [name for name in run.dynamics.flat.inputs if name in names]
    chosen = [*signals, *(name for name in names if name not in signals)][:MOST_PARAMETERS]
    for name, ends in _ranges("parameters", given, names, chosen).items():
        index = run.dynamics.parameter_names.index(name)
        low, high = _allowed(run, name, float(values[index]), given is not None, ends)
        found += [(index, name, low, high)] if low < high else []
    return found


def _parameter_sliders(living: Living, packed: Packed, numbers: Sequence[Any]) -> list[LiveSlider]:
    first, signals = packed.address(living.parameters), living.dynamics.flat.inputs
    sliders: list[LiveSlider] = []
    for index, name, low, high in numbers:
        what = ("input", "Inputs", signals[name][0].unit) if name in signals else ("parameter", "Parameters", "")
        sliders.append(LiveSlider(f"p:{name}", name, what[2], f"{what[0]} {name}", what[1], low, high,
                                  float(living.parameters[index]), None, first + 8 * index))  # fmt: skip
    return sliders


def _allowed(run: Trajectory, name: str, value: float, asked: bool, ends: Any) -> tuple[float, float]:
    """The range of a parameter within which the model is valid."""
    own = dict(run.segments[0][1])

    def valid(candidate: float) -> bool:
        try:
            check_values(run.dynamics, {**own, name: candidate})
        except ModelError:
            return False
        return True

    if ends is not None:
        for end in ends:
            check_values(run.dynamics, {**own, name: float(end)})
        return min(float(ends[0]), value), max(float(ends[1]), value)
    reach = abs(value) if value else 1.0
    found = [next((value + s * f * reach for f in (0.5, 0.25, 0.1, 0.0) if valid(value + s * f * reach)), value)
             for s in (-1, 1)]  # fmt: skip
    if asked and found[0] == found[1]:
        raise DalembertError(
            f"parameters: {name!r} = {value:g} has no room for a slider.  Fix: {{{name!r}: (low, high)}}"
        )
    return found[0], found[1]


def _starts(run: Trajectory, initial: Ranges, rates: Ranges) -> list[tuple[str, int, bool, Any]]:
    """(joint, index, velocity, range) of every coordinate and velocity of the start that has a slider."""
    d = run.dynamics
    flat, kind = d.flat, {name: d.coordinates.nominal_joint(name).joint for name in d.measurable}
    driven = {at[0] for constraint, _ in flat.constraints.values() for at in constraint.gives()}
    plain = [name for name, joint in kind.items() if joint.nq == joint.nv and joint.nv and name not in driven]
    moving = [name for name, joint in kind.items() if joint.nv and name not in driven]
    own = [name for name in flat.initial_values if name in plain and kind[name].nv == 1]
    speeds = [name for name in flat.initial_rates if name in moving and kind[name].nv == 1]
    found: list[tuple[str, int, bool, Any]] = []
    for name, ends in _ranges("initial", initial, plain, own[:MOST_STARTS]).items():
        found += [(name, i, False, ends) for i in range(kind[name].nq)]
    for name, ends in _ranges("initial_rates", rates, moving, speeds[:MOST_STARTS]).items():
        found += [(name, i, True, ends) for i in range(kind[name].nv)]
    return found


def _start_sliders(living: Living, packed: Packed, starts: Sequence[tuple[str, int, bool, Any]]) -> list[LiveSlider]:
    sliders: list[LiveSlider] = []
    for name, i, velocity, ends in starts:
        place = start_place(living, name, i, velocity)
        value, angle = place.value, place.unit.startswith("rad")
        reach = max(abs(value), 1.0) if velocity else math.pi if angle else max(abs(value), 0.5)
        masks = [packed.address(mask) + 8 * row for mask, row in place.masks]
        if not velocity:
            masks.append(field_address(packed, living.live.start, "moved"))
        low, high = (value - reach, value + reach) if ends is None else map(float, ends)
        label, letter = place.label, "u" if velocity else "q"
        group = "Velocities at the start" if velocity else "Coordinates at the start"
        about = f"{'velocity' if velocity else 'coordinate'} of joint {label} at the start"
        low, high, address = min(low, value), max(high, value), packed.address(place.array) + 8 * place.row
        sliders.append(LiveSlider(f"{letter}:{label}", label, place.unit, about, group, low, high, value,
                                  f"{letter}:{name}", address, tuple(masks)))  # fmt: skip
    return sliders


# What the page knows


def _layout(living: Living, places: list[int], drawing: Any) -> dict[str, Any]:
    """Where numbers stand among those that are recorded."""
    live, d = living.live, living.dynamics
    watch, bodies = live.watch, [str(body) for body in d.coordinates.bodies]
    layout = {
        "width": watch.n_observed, "pose": watch.at_pose, "kinetic": watch.at_kinetic,
        "potential": watch.at_potential, "bodies": watch.n_bodies, "states": live.nx, "drawn": places,
        "body": [bodies.index(str(body.name)) for body in drawing.bodies],
    }  # fmt: skip
    return {"layout": layout, "stateNames": [*(f"q {n}" for n in d.q_names), *(f"u {n}" for n in d.u_names)]}


def _sources(run: Trajectory, drawing: Any) -> dict[tuple[int, str], int | str]:
    """Where the curves of the plots come from."""
    d, at = run.dynamics, run.dynamics.kernels.observer.places
    joints: dict[str, int] = {}
    place, labels = at["joints"][0] if "joints" in at else 0, iter(str(label) for label in run.values("joint_q"))
    for name in d.measurable:
        joint = d.coordinates.nominal_joint(name).joint
        joints |= {next(labels): place + i for i in range(joint.nq)}
        place += joint.nq + joint.nv
    outputs = {name: at["outputs"][0] + i for i, name in enumerate(d.flat.outputs)}
    energy: dict[str, int | str] = {
        "kinetic": at["kinetic"][0], "potential": at["potential"][0], "total": "total", "work put in": "work"
    }  # fmt: skip
    tables: dict[str, Mapping[str, int | str]] = {
        "Outputs": outputs, "Angles": joints, "Displacements": joints, "Energy": energy,
        "Position": {axis: at["pose"][0] + 9 + k for k, axis in enumerate("xyz")},
        "States": {name: f"state {place}" for name, place in d.coordinates.own_states.items()},
    }  # fmt: skip
    return {
        (k, str(name)): tables[plot.title.split(" ")[0]][str(name)]
        for k, plot in enumerate(drawing.plots)
        for name in plot.series
    }


def _others(run: Trajectory, names: Sequence[str]) -> list[Any]:
    """The integrators that a page offers besides that of the run."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DalembertError(f"integrators: expected names, got {names!r}.  Fix: integrators=['radau']")
    unknown = [name for name in names if name not in LIVE_METHODS]
    if unknown:
        raise DalembertError(f"integrators: {unknown} do not run without Python; {', '.join(LIVE_METHODS)} do")
    own: Any = json.loads(run.attrs.get("options", "null"))
    used: Any = own and own["method"] and own["method"]["name"]
    return [INTEGRATORS[name]() for name in dict.fromkeys(names) if name != used]


def _motions(run: Trajectory, living: Living, packed: Packed, typed: Sequence[Typed]) -> dict[str, Any]:
    """Motions that can be typed anew: where their numbers stand, and the parameters that formulas may name."""
    names, first = list(run.dynamics.parameter_names), packed.address(living.parameters)
    values = dict(zip(names, living.parameters.tolist(), strict=True))
    own = {name: values[name] for name in run.dynamics.model.parameter_values if not name.startswith(PREFIX)}
    rows = [{"name": one.name, "text": one.text, "address": first + 8 * names.index(one.parameters[0])}
            for one in typed]  # fmt: skip
    return {"list": rows, "values": own, "terms": TERMS, "degree": DEGREE}


def _methods(run: Trajectory, living: Living, packed: Packed, typed: Sequence[str]) -> list[dict[str, Any]]:
    """The integrators of a page: what puts each into the run, and what is to be said of it."""
    live, found = living.live, list[dict[str, Any]]()
    asked = json.loads(run.attrs["options"])["accuracy"]
    for k, runner in enumerate(living.runners):
        writes = [(field_address(packed, live, name), "i", packed.address(getattr(runner, name)))
                  for name in Runner._fields[1:]]  # fmt: skip
        writes.append((field_address(packed, live, "stiff"), "i", 0))
        accuracy = motion_sizes.accuracy_of(runner.method, asked)
        words = _method_words(run, living, runner, accuracy, typed)
        words["companion"] = _companion(run, living, packed, runner, accuracy)
        found.append({"name": runner.method.name, "writes": writes if k else [], "words": words})
    return found


def _companion(run: Trajectory, living: Living, packed: Packed, runner: Runner, accuracy: float) -> dict[str, Any]:
    """A run that tells the error of another one: what it changes, how much of the error its difference shows, and the
    sizes that errors refer to."""
    d, method = living.dynamics, runner.method
    nq = d.nq
    unit = [False] * (nq + d.nv)
    for slot in d.coordinates.slots:
        joint = d.coordinates.joint_at(slot)
        for first in joint.quaternions if joint.nq > joint.nv else ():
            unit[slot.q.start + first : slot.q.start + first + 4] = [True] * 4
    if method.adaptive:
        tighter = companion.TIGHTER if method.rtol / companion.TIGHTER >= companion.FINEST else 1 / companion.TIGHTER
        other: Any = replace(method, rtol=method.rtol / tighter, atol=method.atol / tighter)
        scale = companion.MARGIN / companion.SHOWN if tighter > 1 else 1.0
        by, floor = (
            f"by a run at rtol {other.rtol:.0e}",
            min(max(method.atol / method.rtol, 1e-9), motion_sizes.LEAST_SIZE),
        )
    else:
        other, by, floor = replace(method, step=method.step / 2), "by a run with half the step", motion_sizes.LEAST_SIZE
        scale = companion.MARGIN * 2**method.order / (2**method.order - 1)
    states, times = np.concatenate([run.values("q"), run.values("u")], axis=1), run.values("time")
    units = motion_sizes.motion_units(d, states, float(times[-1] - times[0]))
    problem, memory = runner.problem, runner.memory
    writes = _differences(packed, method.stepper(problem, memory).current, runner.stepper.current,
                          other.stepper(problem, memory).current)  # fmt: skip
    return {"writes": writes, "by": by, "scale": scale, "accuracy": accuracy, "floor": floor,
            "share": motion_sizes.LEAST_SHARE, "unit": unit, "units": units.tolist(), "nq": nq}  # fmt: skip


def _differences(packed: Packed, mine: Any, there: Any, other: Any) -> list[tuple[int, str, float]]:
    """What to write into a step and the record of its method so that it becomes another one."""
    found: list[tuple[int, str, float]] = []
    for name, item in mine.fields.items():
        if isinstance(item, Real) and getattr(mine, name) != getattr(other, name):
            found.append((field_address(packed, there, name), "f", float(getattr(other, name))))
    if hasattr(mine, "pair"):
        found += _differences(packed, mine.pair, there.pair, other.pair)
    return found


def _fixed(d: Dynamics, more: bool, typed: Sequence[str]) -> str:
    """What cannot be changed in a page, in words."""
    laws = [f"{name}: {to_text(formula)}" for name, (constraint, _) in d.flat.constraints.items()
            for *_, formula in constraint.gives() if name not in typed]  # fmt: skip
    laws += [f"{name}: {to_text(given.default)}" for name, (given, _) in d.flat.inputs.items()
             if not given.default.is_number and name not in typed]  # fmt: skip
    known = f" ({', '.join(laws[:MOST_LAWS])}{', …' if len(laws) > MOST_LAWS else ''})" if laws else ""
    methods = "methods that are not in the menu" if more else "other methods"
    return f"other bodies, joints and formulas{known}, {methods}, longer runs"


def _method_words(
    run: Trajectory, living: Living, runner: Runner, accuracy: float, typed: Sequence[str]
) -> dict[str, Any]:
    """Checks with their limits, and what is to be said of one integrator."""
    name, own = runner.method.name, runner is living.runners[0]
    checks = [
        {"name": c.name, "limit": accuracy if c.name == SPEEDY else c.limit, "index": MEASURED.index(c.name),
         "speedy": c.name == SPEEDY}
        for c in run.certificate.checks if c.name in MEASURED
    ]  # fmt: skip
    other = living.fallback.name if own and living.fallback is not None else None
    stiff = f"{name} found the problem stiff at t = {{t}} s; "
    stiff += f"{other} went on from there" if other else f"{name} went on with short steps"
    how = f"{run.attrs['formulation']}, {run.attrs['coordinate_kind']} coordinates"
    more = len(living.runners) > 1
    facts = [["formulation", how], ["integrator", name], ["needs Python", _fixed(living.dynamics, more, typed)]]
    return {"checks": checks, "facts": facts, "stiff": stiff}


def _words(living: Living) -> dict[str, Any]:
    """Everything that the page may have to say, whatever the integrator is."""
    live, d = living.live, living.dynamics
    rows, switched = words.acting_rows(d, live.context)
    held = "the rank of the constraints is held at that of the values the page was made with"
    return {
        "rows": rows if d.rows else 0, "switched": switched, "notes": [held] if live.context.rank else [],
        "limits": {"conflict": words.CONFLICTING, "nearly": words.NEARLY_SINGULAR},
        "statuses": {"finished": int(Status.FINISHED), "noStart": native_run.NO_START, "acted": native_run.ACTED},
        "reactions": {"ended": native_events.ENDED}, "reactionWords": _REACTIONS, "starts": _STARTS,
        "endings": {str(int(status)): text for status, text in words.ENDINGS.items()},
        "failures": {str(code): text for code, text in FAILURES.items()}, "remarks": words.REMARKS,
        "overlooked": OVERLOOKED.replace("{spacing}", f"{live.problem.spacing:.2g}"),
        "rowOwners": [str(row) for row in d.relative.rows], "eventNames": list(d.flat.events), "noGrab": NO_GRAB,
    }  # fmt: skip
