"""A run that can be made again and again without Python: its native records, for pages that simulate and for C."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.close_loops import (
    CLOSED,
    COMPATIBLE,
    EXACT,
    MOST_LOST,
    NEWTON_STEPS,
    Loops,
    reference,
)
from dalembert.analyses.assembly.long_ways import LARGEST_MOVE, MOST_STAGES, seen_by_constraints
from dalembert.analyses.contacts.impact import SWITCH_TOLERANCE
from dalembert.analyses.simulation.account import MOST_EVENTS, QUICK_AMONG, QUICK_EVENTS, QUICK_TIME
from dalembert.analyses.simulation.certify import NEARLY_SINGULAR
from dalembert.analyses.simulation.choose_integrator import Choice, choose_integrator
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.event_handlers import CHOSE_ANEW
from dalembert.analyses.simulation.motion_sizes import accuracy_of
from dalembert.analyses.simulation.options import DEFAULT_OUTPUTS, LIVE_METHODS, Options
from dalembert.codegen import Kernel
from dalembert.dynamics import Context, Dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError
from dalembert.export.make_start import Limits, Wanted, make_start
from dalembert.export.native_events import Events
from dalembert.export.native_run import Live, react_to_all
from dalembert.export.native_watch import MEASURED, Watch
from dalembert.export.portable import refuse_what_needs_python
from dalembert.integrators import INTEGRATORS
from dalembert.integrators.problem import Memory, Problem, Stepper
from dalembert.state import State
from dalembert.trajectory import Trajectory
from dalembert.trajectory.certificate import ERROR

__all__ = [
    "KEPT_EVENTS", "Living", "Place", "RunMaker", "Runner", "make_living", "start_place",
]  # fmt: skip

KEPT_EVENTS = 100  # that a page lists
MOST_OUTPUTS = 20_000


class Runner(NamedTuple):
    """A method, and the records that it works on at the beginning of a run: the fields of ``Live`` with these names."""

    method: Any
    context: Context
    problem: Problem
    memory: Memory
    stepper: Stepper


@dataclass(frozen=True)
class Living:
    """A run as native code, and where its numbers stand.

    Attributes:
        live: the record that ``run_live`` takes.
        wanted: joints whose start can be given, and their rows in ``live.start``.
        parameters: all parameters, which every part of the run shares.
        fallback: what takes over where the problem turns out stiff.
        runners: the integrator, and others that can take its place.
        start: the state that the run begins with.
        accuracy: that the run is held to, relative to the size of the motion.
    """

    live: Live
    wanted: Wanted
    parameters: np.ndarray
    fallback: Any
    runners: tuple[Runner, ...]
    dynamics: Dynamics
    start: State
    accuracy: float

    @property
    def method(self) -> Any:
        """The integrator of the run."""
        return self.runners[0].method


def _method(data: dict[str, Any] | None) -> Any:
    if data is None or data.get("name") not in INTEGRATORS:
        return None
    kind: Any = INTEGRATORS[data["name"]]
    return kind(**{field.name: data[field.name] for field in fields(kind) if field.name in data})


def make_living(
    run: Trajectory,
    more: list[str],
    geometry: Kernel | None = None,
    stepwise: bool = False,
    others: Sequence[Any] = (),
) -> Living:
    """The run as native code.

    Args:
        more: joints whose coordinates or velocities may be given later, besides those of the run.
        geometry: a kernel of the parameters with the numbers of what is drawn.
        stepwise: there is room for two outputs only, the beginning and the end of a step that others ask for.
        others: integrators that can take the place of that of the run.
    """
    dynamics, how = run.dynamics, json.loads(run.attrs.get("options", "null"))
    _refuse(run, how)
    times = Options(start=how["start"], output_step=how["output_step"]).times(how["duration"], DEFAULT_OUTPUTS)
    if stepwise:
        times = times[[0, -1]]
    if len(times) > MOST_OUTPUTS:
        raise DalembertError(f"{len(times)} outputs are too many to keep in a page, at most {MOST_OUTPUTS}.  "
                             "Fix: a longer output_step")  # fmt: skip
    method = _method(how["method"])
    choice = choose_integrator(dynamics, method, {}, how["stabilization"], how["baumgarte"], how.get("drift"))
    used = _method(how["fallback"])
    if used is not None and run.attrs["integrator"] == used.name != method.name:
        choice = replace(choice, fallback=used)
    given = dict(run.segments[0][1])
    values = dynamics.parameters(given).copy()
    limits = Limits(CLOSED, EXACT, COMPATIBLE, LARGEST_MOVE, NEWTON_STEPS, MOST_STAGES, MOST_LOST)
    start, wanted = make_start(
        dynamics.relative, reference, limits, float(times[0]), values,
        (how["initial"], how["initial_rates"]), more, _seen(dynamics.relative, float(times[0]), given),
    )  # fmt: skip
    begun = assemble_state(dynamics.relative, how["initial"], how["initial_rates"], given, float(times[0]))
    maker = RunMaker(dynamics, choice, times, values, begun)
    watch, first = maker.watch(), maker.driver(choice.method)
    runners = [maker.runner(first), *(maker.runner(maker.driver(other), first.context) for other in others)]
    live = Live(
        n_times=len(maker.times), nx=maker.nx, nq=start.nq, nv=start.nv, times=maker.times, states=watch.states,
        start=start, watch=watch, changed=math.nan, n_drawn=0 if geometry is None else geometry.n_out,
        monitor=first.monitor, **{name: getattr(runners[0], name) for name in Runner._fields[1:]},
    )  # fmt: skip
    if choice.fallback is not None:
        slow = maker.runner(maker.driver(choice.fallback), first.context)
        live.stiff = True
        live.set(**{f"slow_{name}": getattr(slow, name) for name in Runner._fields[1:]})
    if geometry is not None:
        live.set(geometry=geometry)
    if dynamics.flat.events:
        live.set(events=maker.events(live.context), react=react_to_all.bind(live))
    if dynamics.coordinates is not dynamics.relative.coordinates:
        live.set(converts=True, converted=_converted(dynamics))
        watch.counted = True
    return Living(live, wanted, values, choice.fallback, tuple(runners), dynamics, maker.start,
                  accuracy_of(choice.method, how["accuracy"]))  # fmt: skip


def _seen(dynamics: Dynamics, time: float, parameters: dict[str, float]) -> np.ndarray:
    """True for every velocity that a constraint on the position sees."""
    if not dynamics.rows:
        return np.zeros(dynamics.nv, dtype=bool)
    loops = Loops(dynamics, parameters, time, {})
    return seen_by_constraints(dynamics, loops.tree, time, loops.reference(), parameters)


def _refuse(run: Trajectory, how: Any) -> None:
    dynamics, name = run.dynamics, run.dynamics.model.name
    if how is None:
        raise DalembertError(f"this run of {name!r} has no record of how it was made.  Fix: use a run of da.simulate")
    if how["method"] is None:
        raise DalembertError(
            f"integrator: only {', '.join(LIVE_METHODS)} run without Python.  Fix: integrator='dopri8'"
        )
    if how["initial"] is None:
        raise DalembertError("the run began at a given state; a run without Python assembles its start.  "
                             "Fix: da.simulate(…, initial={joint: value})")  # fmt: skip
    if dynamics.rows and not dynamics.formulation.exact:
        raise DalembertError(f"formulation {dynamics.formulation.name!r} satisfies the constraints approximately, and "
                             "only Python can measure the error.  Fix: formulation='augmented-lagrangian'")  # fmt: skip
    refuse_what_needs_python(dynamics.flat)
    _refuse_choices(run)
    if dynamics.is_large:
        raise DalembertError(f"{name!r} has {dynamics.nv} velocities and runs by rolled recursions, whose parameters "
                             "are set by Python.  Fix: fewer than 100 bodies")  # fmt: skip
    known = (*MEASURED, ERROR)
    strange = [check.name for check in run.certificate.checks if check.name not in known]
    if strange:
        raise DalembertError(f"only Python can measure the {' and the '.join(strange)}.  Fix: coordinates='relative'")


def _refuse_choices(run: Trajectory) -> None:
    """Raise if equations would have to be made for other velocities or constraint rows on the way."""
    d = run.dynamics
    switching = [name for name, (event, _) in d.flat.events.items() if event.switch]
    why = ""
    if switching and d.formulation.kept(d.coordinates) is not None:
        why = f"event {switching[0]!r} switches constraints, among which"
    elif any(CHOSE_ANEW in remark for remark in run.certificate.remarks):
        why = "the independent velocities that it chose are no longer independent in this run, and new ones"
    if why:
        raise DalembertError(f"formulation {d.formulation.name!r} needs Python here: {why} Python chooses.  "
                             "Fix: formulation='lagrange-multipliers'")  # fmt: skip


class Place(NamedTuple):
    """A number of the start: its row among coordinates or velocities, its value, its unit, and a name for it.

    Attributes:
        array: field of ``Start`` that holds it when it is given; masks: fields with the row that becomes 1 then.
    """

    array: np.ndarray
    row: int
    masks: tuple[tuple[np.ndarray, int], ...]
    value: float
    unit: str
    label: str


def start_place(living: Living, name: str, i: int, velocity: bool) -> Place:
    """Where coordinate or velocity i of a joint is given at the start."""
    start = living.live.start
    at_q, _, at_v, _ = living.wanted.joints[name]
    joint = living.dynamics.coordinates.nominal_joint(name).joint
    angle = i in joint.angles or (velocity and (joint.nq != joint.nv and i < 3))
    label = name if (joint.nv if velocity else joint.nq) == 1 else f"{name}[{i}]"
    value, unit = float(living.start.joint(name)[velocity][i]), ("rad" if angle else "m") + ("/s" if velocity else "")
    if velocity:
        return Place(start.rates, at_v + i, ((start.given_rates, at_v + i),), value, unit, label)
    masks = ((start.given_q, at_q + i), (start.given, at_v + i))
    return Place(start.coordinates, at_q + i, masks, value, unit, label)


class RunMaker:
    """Makes the parts of a run that depend on how it is made."""

    def __init__(self, dynamics: Dynamics, choice: Choice, times: np.ndarray, values: np.ndarray, start: State):
        self.dynamics, self.choice, self.times, self.values, self.start = dynamics, choice, times, values, start
        self.given = start.parameters
        self.nx = dynamics.nq + dynamics.nv + 1

    def driver(self, method: Any) -> Any:
        """Problem, context and memory of a method, as a run has them at its beginning."""
        x = np.zeros(self.nx)
        x[: self.dynamics.nq], x[self.dynamics.nq : -1] = self.start.to(self.dynamics.coordinates)
        driver = Driver(self.dynamics, replace(self.choice, method=method), self.times, x, self.given)
        driver.context.parameters = self.values
        return driver

    def runner(self, driver: Any, first: Context | None = None) -> Runner:
        """What a driver has made; with the context of the first one, whose statistics all of them share."""
        if first is not None:
            driver.context.statistics = first.statistics
        stepper = driver.method.stepper(driver.problem, driver.memory)
        return Runner(driver.method, driver.context, driver.problem, driver.memory, stepper)

    def watch(self) -> Watch:
        d, kernels = self.dynamics, self.dynamics.kernels
        context: Context = d.context(self.given)
        context.parameters = self.values
        observed, coupled = kernels.observer.places, kernels.dynamics_kernel.places
        if d.rows:
            context.set(constraints=kernels.constraint_kernel)
        n, down = len(self.times) + 1, d.coordinates.nominal.gravity
        angles, balls = _open_angles(d, observed["joints"][0] if "joints" in observed else 0)
        jacobian = coupled.get("jacobian", (0, (0, d.nv)))
        heavy = bool(down.any())
        return Watch(
            n_rows=n, nq=d.nq, nv=d.nv, rows=len(d.rows), holonomic=d.holonomic, n_observed=kernels.observer.n_out,
            n_bodies=len(d.coordinates.bodies), n_coupled=jacobian[1][0] if d.rows else 0,
            at_kinetic=observed["kinetic"][0], at_potential=observed["potential"][0],
            at_carried=observed["carried"][0] if "carried" in observed else -1, at_pose=observed["pose"][0],
            at_momentum=observed["momentum"][0], at_coupled=jacobian[0], at_gamma=coupled.get("gamma", (0, ()))[0],
            n_angles=len(angles), n_balls=len(balls), nearly=NEARLY_SINGULAR, heavy=heavy,
            turning=kernels.has_quaternions and context.move is not None,
            down=down / np.linalg.norm(down) if heavy else np.zeros(3),
            angle=np.array([at for at, _ in angles], dtype=np.int64),
            angle_rate=np.array([at for _, at in angles], dtype=np.int64), ball=np.array(balls, dtype=np.int64),
            observer=kernels.observer, context=context, time=np.append(self.times, 0.0),
        )  # fmt: skip

    def events(self, context: Context) -> Events:
        d = self.dynamics
        events = [event for event, _ in d.flat.events.values()]
        names, place = list(d.flat.events), {name: i for i, name in enumerate(d.parameter_names)}
        sets = [place[name] for event in events for name in event.set]
        switches = [(place[d.flat.switches[c]], float(on)) for event in events for c, on in event.switch.items()]
        counts = [[len(part) for part in (e.set, e.rate_targets, e.switch)] for e in events]
        firsts = np.vstack([np.zeros((1, 3), dtype=np.int64), np.cumsum(counts, axis=0)])
        kernel, at_rates, at_rows = _event_kernel(d)
        if context.constraints is None:
            context.set(constraints=d.kernels.constraint_kernel)
        owners = [names.index(name) for name in d.flat.event_owners]
        return Events(
            n_events=len(events), n_owners=len(owners), n_values=len(sets), n_targets=int(firsts[-1, 1]),
            n_switches=len(switches), n_kept=KEPT_EVENTS, at_rates=at_rates, at_rows=at_rows,
            quick=QUICK_EVENTS, n_last=QUICK_AMONG, most=MOST_EVENTS, quick_time=QUICK_TIME,
            tolerance=SWITCH_TOLERANCE, owner=np.array(owners, dtype=np.int64),
            ends=np.array([bool(event.stop) for event in events], dtype=np.int64),
            first_value=np.ascontiguousarray(firsts[:, 0]), first_target=np.ascontiguousarray(firsts[:, 1]),
            first_switch=np.ascontiguousarray(firsts[:, 2]), parameter=np.array(sets, dtype=np.int64),
            switch=np.array([at for at, _ in switches], dtype=np.int64),
            switch_to=np.array([on for _, on in switches], dtype=float), context=context, formulas=kernel,
            energies=_energies(d),
        )  # fmt: skip


def _open_angles(d: Dynamics, at: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Angles of joints that are known from poses only, with their velocities, and quaternions; by entry."""
    angles: list[tuple[int, int]] = []
    balls: list[int] = []
    for name in d.measurable:
        joint = d.coordinates.nominal_joint(name).joint
        if name not in d.coordinates.slot_of_joint:
            angles += [(at + i, at + joint.nq + i) for i in joint.angles if joint.nq == joint.nv]
            balls += [at + i for i in joint.quaternions]
        at += joint.nq + joint.nv
    return angles, balls


def _converted(dynamics: Dynamics) -> Kernel:
    """(t, q, u, p) in relative coordinates: q and u of the coordinates in which the equations are written."""
    kernels = dynamics.relative.kernels
    seen: Any = kernels.equations()
    values = dict(zip(kernels.parameter_names, kernels.symbols["p"][1], strict=True))
    try:
        placed = dynamics.coordinates.place(CASADI, values)
        q, u = placed.state(seen.motion.body, seen.joint_coordinates)
    except (TypeError, AttributeError, NotImplementedError) as error:
        raise DalembertError(f"{dynamics.coordinates.name} coordinates need Python to begin a run.  "
                             "Fix: coordinates='relative'") from error  # fmt: skip
    for name, place in dynamics.coordinates.own_states.items():
        q[place] = kernels.symbols["q"][1][dynamics.relative.coordinates.own_states[name]]
    angles: list[Any] = []
    balls: list[Any] = []
    for name in dynamics.measurable:
        joint = dynamics.coordinates.nominal_joint(name).joint
        if name not in dynamics.coordinates.slot_of_joint:
            values = seen.joint_coordinates(name)[0]
            angles += [values[i] for i in joint.angles if joint.nq == joint.nv]
            balls += [values[i + k] for i in joint.quaternions for k in range(4)]
    more = {"more": CASADI.array([*angles, *balls])} if angles or balls else {}
    return kernels.compile("converted", {"there_q": q, "there_u": u, **more})


def _event_kernel(d: Dynamics) -> tuple[Kernel, int, int]:
    """New parameters and velocities of all events, then rows: how those velocities depend on all, and what they are
    without them."""
    kernels, nv = d.kernels, d.nv
    e: Any = kernels.traced
    found = e.event_values()
    values = [value for parameters, _ in found.values() for value in parameters]
    rates = [rate for _, parts in found.values() for rate in parts]
    rows: list[Any] = []
    for event, _ in d.flat.events.values():
        for joint, index in event.rate_targets:

            def velocity(u: np.ndarray, joint: str = joint, index: int = index) -> Any:
                seen = Equations(kernels.tree, e.t, e.q, u).joint_coordinates(joint)[1]
                return seen[index : index + 1]

            bias = velocity(CASADI.zeros(nv))
            rows += [CASADI.columns(lambda u, at=velocity, b=bias: at(u) - b, nv).reshape(-1), bias]
    parts = CASADI.concatenate([CASADI.array([*values, *rates, 0.0]), *rows])
    return kernels.compile("event_values", {"values": parts}), len(values), len(values) + len(rates) + 1


def _energies(d: Dynamics) -> Kernel:
    e: Any = d.kernels.traced
    return d.kernels.compile("energies", {"kinetic": e.kinetic_energy(), "potential": e.potential_energy()})
