"""Exact linearization of a mechanism, with loops, redundant equations and rolling, on its minimal state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.check_values import names_of
from dalembert.analyses.assembly.rank import Positions, ranks
from dalembert.analyses.linearization.dual_matrix import Dual, value_of
from dalembert.analyses.linearization.feedback_moves import close_feedback, settle_feedback, with_feedback
from dalembert.analyses.linearization.friction_moves import settled_friction
from dalembert.analyses.linearization.linear_chart import LinearChart
from dalembert.analyses.linearization.linear_model import LinearModel
from dalembert.analyses.linearization.linear_ports import Port, find_inputs
from dalembert.analyses.linearization.linear_subsystem import AT_REST, SubsystemStart, kind_of
from dalembert.analyses.linearization.minimal_state import Disturbance, Moves, Partition, divide, moves
from dalembert.analyses.linearization.mode_motion import ModeMotion
from dalembert.arguments import public
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.dynamics.gaps import check_gaps, open_gaps
from dalembert.dynamics.outputs import find_outputs
from dalembert.dynamics.perturb import Point, feedback_names
from dalembert.errors import DalembertError, unknown
from dalembert.expressions import evaluate
from dalembert.expressions.symbols import parameter as symbol_of
from dalembert.model import Model
from dalembert.modular import Subsystem
from dalembert.planar import Planar
from dalembert.state import HasState, State, state_of
from dalembert.trajectory import Trajectory
from dalembert.trajectory.system_trajectory import SystemTrajectory

__all__ = ["linearize", "linearize_over"]

ON_CONSTRAINTS = 1e-7  # residual (m, rad, or per second) of a state that satisfies them


@public
def linearize(
    model: Model | Planar | Dynamics | Subsystem,
    at: State | HasState | Mapping[str, Any] | Trajectory | SystemTrajectory | None = None,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    parameters: Mapping[str, float] | None = None,
    states: Sequence[str] | str = (),
    release: Sequence[str] = (),
    incompatible: str = "refuse",
    weights: Mapping[str, float] | None = None,
    known: Mapping[str, LinearModel] | None = None,
) -> Any:
    """Small motions next to a state, a steady motion or a run:  ẋ = A x + B w,  y = C x + D w.

    Derivatives are exact, by automatic differentiation. The state consists of independent coordinates and velocities,
    chosen by pivoting.

    A ``Subsystem`` is linearized leaves to root, from linear rows of its parts (see ``modular.linear_tree``).

    Args:
        model: the mechanism (a planar one as ``to_model`` makes it), its compiled equations, or a subsystem.
        at: a state or an equilibrium; joint coordinates by name and velocities with ``.d`` behind it, completed by
            assembly; a run, at all its outputs (see ``run.resample``); default: the model's own start. Of a subsystem:
            variables by name, numbers or formulas of parameters; the others are zero, or meet the invariants; or a run.
        inputs: joints (their forces or torques), forces with a ``value``, parameters, released constraints.
            ``A[1]`` names one component; the prefixes ``joint:``, ``force:``, ``parameter:`` distinguish equal names.
        outputs: outputs of the model, joints (coordinates), ``A.d`` (velocities), or formulas such as ``2*x(rod)``;
            default: the outputs of the model, or the independent coordinates if it has none.
        parameters: values to use instead of the model's.
        states: coordinates that are to be independent; ``"all"`` of a subsystem: all variables, minimal or not.
        release: constraints and drives that are released; as inputs they are forces along themselves.
        incompatible: of a subsystem: ``least-squares`` meets invariants that contradict each other as well as can be,
            where ``independent`` says how many freedoms there shall be; ``refuse`` names them.
        weights: of invariants by name, for least squares.
        known: of a subsystem: linear models of parts by path, from ``linearize`` of the part at the same reference.
            They enter as numbers; the equations of these parts are not asked for.

    Returns:
        a ``LinearModel``; for a run a ``LinearChart`` over time.

    Example:
        linear = da.linearize(da.library.cart_pendulum(), {"hinge": 0.0})
        print(linear.eigenvalues())
    """
    at = at if isinstance(at, Trajectory) else state_of(at)
    if not isinstance(at, (State, Trajectory, SystemTrajectory)):
        at = dict(at) if at else None
    if isinstance(model, Planar):
        model = model.to_model()
    if isinstance(model, Subsystem):
        if release or isinstance(at, (State, Trajectory)):
            raise DalembertError("linearize: a subsystem takes neither release nor a State.  Fix: at={variable: value}")
        given = {} if isinstance(at, SystemTrajectory) else dict(at or {})
        start = SubsystemStart(
            model, given, names_of(inputs), _tuple(outputs), states == "all", incompatible, dict(weights or {}),
            dict(known or {}),
        )  # fmt: skip
        if isinstance(at, SystemTrajectory):
            models = start.along(at, dict(parameters or {}))
            return LinearChart("time", np.asarray(at.values("time"), dtype=float), models)
        return start.linear(dict(parameters or {}))
    if isinstance(at, SystemTrajectory):
        raise DalembertError("linearize: a run of a subsystem is linearized with that subsystem, not with a model")
    if incompatible != "refuse" or weights or states == "all" or known:
        raise DalembertError("linearize: incompatible, weights, known and states='all' are for subsystems")
    request = _Request(names_of(inputs), _tuple(outputs), names_of(states), names_of(release))
    if isinstance(at, Trajectory):
        return _along(at, request)
    dynamics = model if isinstance(model, Dynamics) else cached_dynamics(model, "auto", "relative")
    return _Start(dynamics, at, request).linear(dict(parameters or {}))


@public
def linearize_over(
    model: Model | Planar | Dynamics | Subsystem,
    parameter: str,
    values: Iterable[float],
    at: Any = None,
    **options: Any,
) -> LinearChart:
    """Linear models over a parameter, e.g. the speed, with modes followed from value to value.

    Args:
        model: as of ``linearize``.
        parameter: its name.
        values: in increasing order.
        at, options: as of ``linearize``.

    Example:
        chart = da.linearize_over(da.library.cart_pendulum(), "length", [0.5, 1.0, 2.0], at={"hinge": 0.0})
        print(chart.eigenvalues)
    """
    if isinstance(model, Planar):
        model = model.to_model()
    numbers = [float(value) for value in values]
    if not numbers:
        raise DalembertError(f"linearize_over: no values of {parameter!r}.  Fix: values=np.linspace(0, 10, 101)")
    first, *rest = numbers
    given = dict(options.pop("parameters", None) or {})
    start = linearize(model, at, parameters={**given, parameter: first}, **options)
    # The states of the first one serve for all.
    chosen: dict[str, Any] = options if isinstance(model, Subsystem) else {**options, "states": tuple(start.states)}
    models = [start, *(linearize(model, at, parameters={**given, parameter: v}, **chosen) for v in rest)]
    return LinearChart(parameter, np.array([first, *rest]), models)


def _tuple(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else names_of(names)


@dataclass(frozen=True)
class _Request:
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] | None
    states: tuple[str, ...]
    release: tuple[str, ...]


@dataclass(frozen=True)
class _Start:
    """Where a linearization is asked for, as the caller said it."""

    dynamics: Dynamics
    at: State | Mapping[str, Any] | None
    request: _Request

    def linear(self, parameters: dict[str, float]) -> LinearModel:
        return _Linearization(self, *self._state(parameters), parameters).model()

    def _state(self, parameters: dict[str, float]) -> tuple[float, np.ndarray, np.ndarray]:
        d, at = self.dynamics, self.at
        if isinstance(at, State):
            state = State(at.time, at.q, at.u, at.coordinates, {**at.parameters, **parameters})
            parameters.update({**at.parameters, **parameters})
        else:
            given = dict(at or {})
            rates = {name.removesuffix(".d"): given.pop(name) for name in list(given) if name.endswith(".d")}
            state = assemble_state(d.relative, given, rates, parameters, 0.0)
        return (state.time, *(state.to(d.coordinates) if d.coordinates.name != "relative" else (state.q, state.u)))

    def follows(self, parameters: dict[str, float], name: str) -> dict[str, np.ndarray]:
        """How given coordinates and, with ``.d``, velocities change with a parameter, by joint.

        Those of the caller stay; those of the model's own start follow their formulas, where the caller gives none.
        """
        found: dict[str, np.ndarray] = {}
        flat = self.dynamics.flat
        if isinstance(self.at, State):
            return found
        values, given = {**flat.parameters, **parameters}, self.at or {}
        for suffix, section in (("", flat.initial_values), (".d", flat.initial_rates)):
            mine = {key: np.zeros(np.size(given[key])) for key in given if key.endswith(".d") == bool(suffix)}
            if mine:
                found |= mine
                continue
            for joint, formulas in section.items():
                slopes: list[Any] = [sp.diff(formula, symbol_of(name)) for formula in formulas]
                found[joint + suffix] = np.array([evaluate(NUMPY, s, lambda atom: values[str(atom)]) for s in slopes])
        return found


class _Linearization:
    """All small motions next to one state."""

    def __init__(self, start: _Start, t: float, q: np.ndarray, u: np.ndarray, parameters: dict[str, float]):
        self.start, self.dynamics = start, start.dynamics
        self.given = settled_friction(start.dynamics, t, q, u, parameters)
        self.settled = self.given.keys() - parameters.keys()
        parameters = self.given
        self.parameters = {**self.dynamics.flat.parameters, **parameters}
        d = self.dynamics
        self.t, self.q, self.u, self.p = t, q, u, d.parameters(parameters)
        self.perturb = d.kernels.perturbations
        at_rest = Point(t, q, u, self.p, np.zeros(d.nv), np.zeros(len(d.rows)))
        T = self.perturb.tangent(at_rest)
        self.acting = self._acting()
        self._check_residuals(T)
        self._check_contacts()
        self.partition = self._divided(T["A"])
        self.feedback = feedback_names(d.flat)
        redundant = len(self.partition.rows) < len(self.acting)
        self.point = settle_feedback(d, at_rest, self.partition, redundant)
        *_, self.p, _, self.du, self.multipliers = self.point.arrays
        self.T = self.perturb.tangent(self.point)

    def __reduce__(self) -> Any:
        return _Linearization, (self.start, self.t, self.q, self.u, self.given)

    # The reference

    def _acting(self) -> list[int]:
        d, release = self.dynamics, self.start.request.release
        unknown = [name for name in release if name not in d.rows.owners()]
        if unknown:
            known = ", ".join(d.rows.owners()) or "none"
            raise DalembertError(f"release: no constraint {unknown[0]!r}; the model has {known}")
        off = d.flat.off(self.given) | set(release)
        return [i for i, row in enumerate(d.rows) if row.owner not in off]

    def _check_residuals(self, T: dict[str, np.ndarray]) -> None:
        d = self.dynamics
        holonomic = [i for i in self.acting if i < d.holonomic]
        for values, rows, what in ((T["phi"], holonomic, "position"), (T["v"], self.acting, "velocity")):
            if not rows:
                continue
            worst = rows[int(np.argmax(np.abs(values[rows])))]
            if not abs(values[worst]) <= ON_CONSTRAINTS * (1 + np.abs(self.q).max() + np.abs(self.u).max()):
                raise DalembertError(
                    f"linearize: the state violates {d.rows[worst].owner!r} by {abs(values[worst]):.3g} at {what} "
                    f"level.  Fix: a state from da.assemble, or at={{joint: value}}"
                )

    def _check_contacts(self) -> None:
        """Small motions are linear where nothing touches, and where what touches stays closed."""
        d, state = self.dynamics, self._reference()
        check_gaps("linearize", d, state)
        touching = [gap.owner for gap in open_gaps(d, state) if gap.touches]
        if touching:
            raise DalembertError(
                f"linearize: {touching[0]!r} touches there, so motions to one side differ from those to the other.  "
                f"Fix: at=da.equilibrium(model)[0].state, which knows what is closed; or parameters="
                f"{{{d.flat.switches[touching[0]]!r}: 1}} to keep it closed"
            )

    def _divided(self, A: np.ndarray) -> Partition:
        d, names = self.dynamics, self.start.request.states
        holonomic = [i for i in self.acting if i < d.holonomic]
        others = [i for i in self.acting if i >= d.holonomic]
        names = tuple(name for name in names if name not in d.flat.states)
        unknown = [name for name in names if name.removesuffix(".d") not in d.u_names]
        if unknown:
            raise DalembertError(f"states: unknown coordinate {unknown[0]!r}; there are {', '.join(d.u_names)}")
        places = [d.u_names.index(name) for name in names if not name.endswith(".d")]
        rates = [d.u_names.index(name.removesuffix(".d")) for name in names if name.endswith(".d")]
        found = divide(A, holonomic, others, (places, rates or places))
        self._check_rank(found)
        bad = [d.u_names[i] for i in places if i not in found.positions]
        bad += [f"{d.u_names[i]}.d" for i in rates if i not in found.velocities]
        if bad:
            raise DalembertError(f"states: {', '.join(bad)} cannot be independent together with the others")
        return found

    def _check_rank(self, found: Partition) -> None:
        """Fewer independent rows than rows: redundant everywhere is fine, singular here is not."""
        d = self.dynamics
        if len(found.rows) == len(self.acting) or d.coordinates.name != "relative" or self.start.request.release:
            return
        positions = Positions(d, State(self.t, self.q, self.u, d.coordinates, self.given))
        seen = ranks(positions, self.q)
        if seen.nearby_rank != len(found.rows):
            raise DalembertError(
                f"linearize: {d.flat.name!r} is in a singular position: its constraints have rank {len(found.rows)} "
                f"here and {seen.nearby_rank} nearby, so small motions are not linear.  Fix: another position"
            )

    # Matrices

    @cached_property
    def ports(self) -> list[Port]:
        return find_inputs(self.dynamics, self.start.request.inputs, self.start.request.release)

    @cached_property
    def outputs(self) -> dict[str, sp.Expr]:
        return find_outputs(
            self.dynamics, self.start.request.outputs, [self._names[i] for i in self.partition.positions]
        )

    @property
    def _names(self) -> list[str]:
        return self.dynamics.u_names

    def _disturbance(self, parameters: Sequence[str] | None = None) -> Disturbance:
        """What the inputs, or some parameters, add to the residuals."""
        d = self.dynamics
        if parameters is not None:
            by = self.perturb.by_parameters(parameters, self.point)
            return Disturbance(by["r_p"], by["g_p"], by["v_p"], by["phi_p"], by["qdot_p"][self._own])
        columns = [port.column(self.perturb, self.point, self.T) for port in self.ports]
        shapes = (d.nv, len(d.rows), len(d.rows), d.holonomic, d.nq)
        parts = [
            np.stack([column[k] for column in columns], axis=1) if columns else np.zeros((size, 0))
            for k, size in enumerate(shapes)
        ]
        r, g, v, phi, qdot = parts
        return Disturbance(r, g, v, phi, qdot[self._own])

    @property
    def _own(self) -> list[int]:
        """Where the model's own states are in q."""
        return list(self.dynamics.coordinates.own_states.values())

    def _moves(self, parameters: Sequence[str] | None = None, along: Point | None = None) -> Moves:
        """Small motions by the inputs, or by some parameters; with their slopes in a direction."""

        def sloped(found: dict[str, Any]) -> dict[str, Any]:
            return found if along is None else {name: Dual(*pair) for name, pair in found.items()}

        T = self.T if along is None else sloped(self.perturb.tangent(self.point, along))
        added, tail = self._disturbance(parameters), self.dynamics.coordinates.tail
        if not self.feedback:
            return moves(T, self.partition, added, tail)
        by = sloped(self.perturb.by_parameters(self.feedback, self.point, along))
        F = sloped(self.perturb.feedback(parameters or (), self.point, along))
        m = moves(T, self.partition, with_feedback(added, by, self._own), tail)
        return close_feedback(m, F, self._feedback_by_inputs() if parameters is None else value_of(F["h_p"]))

    def _feedback_by_inputs(self) -> np.ndarray:
        columns = [port.feedback(self.perturb, self.point) for port in self.ports]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.feedback), 0))

    @cached_property
    def moves(self) -> Moves:
        return self._moves()

    def model(self) -> LinearModel:
        """The matrices with names."""
        partition, names, m = self.partition, self._names, self.moves
        states = [names[i] for i in partition.positions] + [f"{names[i]}.d" for i in partition.velocities]
        states += self.dynamics.coordinates.own_states
        n = len(states)
        wanted = [port.name for port in self.ports if port.parameter]
        seen = self.perturb.formulas(self.outputs, [*wanted, *self.feedback], self.point)
        outputs = seen["y_q"] @ m.q + seen["y_u"] @ m.u
        if self.feedback:
            outputs += seen["y_p"][:, len(wanted) :] @ m.feedback
        for k, port in enumerate(self.ports):
            if port.parameter:
                outputs[:, n + k] += seen["y_p"][:, wanted.index(port.name)]
        own = self.T["qdot"][self._own]
        rates = np.concatenate([self.u[partition.positions], self.du[partition.velocities], own])
        N = partition.basis(self.T["A"])
        A = m.rates[:, :n]
        return LinearModel(
            self.dynamics.flat.name, tuple(states), tuple(port.label for port in self.ports), tuple(self.outputs),
            A, m.rates[:, n:], outputs[:, :n], outputs[:, n:], rates,
            kind_of(A, rates, states, len(partition.positions), self.u),
            N.T @ self.T["M"] @ N, self._reference(), source=self,
        )  # fmt: skip

    def _reference(self) -> State:
        d = self.dynamics
        return State(self.t, self.q, self.u, d.coordinates, self.given)

    # What else a linear model asks for

    def again(self, parameters: dict[str, float]) -> LinearModel:
        """With other parameters, and the same states."""
        names = [self._names[i] for i in self.partition.positions]
        names += [f"{self._names[i]}.d" for i in self.partition.velocities]
        start = replace(self.start, request=replace(self.start.request, states=tuple(names)))
        own = self.dynamics.flat.parameters
        changed = {k: v for k, v in parameters.items() if own.get(k) != v}
        return start.linear({k: v for k, v in changed.items() if k not in self.settled})

    def slope(self, parameter: str) -> np.ndarray:
        """∂A/∂p, the reference following the parameter."""
        d = self.dynamics
        if parameter not in d.parameter_names:
            raise unknown("unknown parameter", parameter, d.parameter_names, "the model has")
        m = self._moves([parameter])
        change = np.append(self._followed(m, parameter), 1.0)
        unit = np.zeros(len(self.p))
        unit[d.parameter_names.index(parameter)] = 1.0
        if self.feedback:
            unit[[d.parameter_names.index(name) for name in self.feedback]] = m.feedback @ change
        along = Point(0.0, m.q @ change, m.u @ change, unit, m.du @ change, m.multipliers @ change)
        return self._moves((), along).rates.slope

    def _followed(self, m: Moves, parameter: str) -> np.ndarray:
        """How the state of the reference follows a parameter, so that given coordinates and velocities stay or follow
        their formulas; least changes where they leave it open."""
        d, rows, right = self.dynamics, list[np.ndarray](), list[np.ndarray]()
        for joint, slopes in self.start.follows(self.given, parameter).items():
            slot = d.coordinates.slot_of_joint.get(joint.removesuffix(".d"))
            if slot is None or slot.q.stop - slot.q.start != slot.u.stop - slot.u.start:
                continue
            part = (m.u if joint.endswith(".d") else m.xi)[slot.u]
            rows.append(part[:, :-1])
            right.append(slopes - part[:, -1])
        if not rows:
            return np.zeros(int(m.rates.shape[1]) - 1)
        found: np.ndarray = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0]
        return found

    def shape(self, vector: np.ndarray) -> dict[str, complex]:
        """All coordinates along the tangent, for a vector of states."""
        return dict(zip(self._names, value_of(self.moves.xi)[:, : len(vector)] @ vector, strict=True))

    def motion(self, vector: np.ndarray, eigenvalue: complex) -> ModeMotion:
        """The mechanism along a mode."""
        shape = self.moves.xi[:, : len(vector)] @ vector
        return ModeMotion(self.dynamics, self._reference(), shape, eigenvalue, self.start.request.release)

    def bodies(self, vector: np.ndarray) -> dict[str, float]:
        """Share of each body in the kinetic energy."""
        u = self.moves.u[:, : len(vector)] @ vector
        if np.abs(u).max(initial=0.0) <= AT_REST * np.abs(vector).max(initial=0.0):
            return {}
        energies = self.perturb.energies(self.point, u.real) + self.perturb.energies(self.point, u.imag)
        total = energies.sum()
        shares = energies / total if total > 0 else energies
        return dict(zip(self.dynamics.coordinates.bodies, map(float, shares), strict=True))


def _along(run: Trajectory, request: _Request) -> LinearChart:
    """Linear models along a run."""
    d, t = run.dynamics, run.values("time")
    states = zip(t, run.values("q"), run.values("u"), strict=True)
    held = dict(run.segments[0][1])
    if len(run.segments) > 1:
        raise DalembertError("linearize: events change parameters during this run.  Fix: linearize at single states")
    models: list[LinearModel] = []
    for time, q, u in states:
        chosen = request if not models else replace(request, states=models[0].states)
        models.append(_Linearization(_Start(d, None, chosen), float(time), q, u, dict(held)).model())
    return LinearChart("time", np.asarray(t, dtype=float), models)
