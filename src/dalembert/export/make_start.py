"""The kernels of assembly, traced once over the parameters of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.export.native_start import Start
from dalembert.expressions import TIME, evaluate

__all__ = ["Limits", "Wanted", "make_start"]


@dataclass(frozen=True)
class Limits:
    """When loops count as closed, and how far Newton's method and its stages go (see ``analyses.assembly``)."""

    closed: float
    exact: float
    compatible: float
    largest_move: float
    steps: int
    most_stages: int
    most_lost: int


@dataclass(frozen=True)
class Wanted:
    """Joints whose coordinates or velocities can be wanted, and their rows.

    Attributes:
        joints: by name, with (first row of coordinates, their number, first row of velocities, their number).
    """

    joints: dict[str, tuple[int, int, int, int]]
    n_q: int
    n_v: int


def _rows(dynamics: Dynamics, names: list[str]) -> Wanted:
    joints: dict[str, tuple[int, int, int, int]] = {}
    at_q = at_v = 0
    for name in names:
        joint = dynamics.coordinates.nominal_joint(name).joint
        joints[name] = (at_q, joint.nq, at_v, joint.nv)
        at_q, at_v = at_q + joint.nq, at_v + joint.nv
    return Wanted(joints, at_q, at_v)


def make_start(
    dynamics: Dynamics,
    reference: Any,
    limits: Limits,
    time: float,
    values: np.ndarray,
    given: tuple[Mapping[str, Any], Mapping[str, Any]],
    more: list[str],
    seen: np.ndarray,
) -> tuple[Start, Wanted]:
    """The record of assembly of a model in relative coordinates.

    Args:
        reference: gives the coordinates as drawn in the algebra of a mechanism.
        time: of the start (s).
        values: the parameters, shared with whoever changes them.
        given: coordinates and velocities that the caller gave, by joint.
        more: further joints whose coordinates or velocities may be given later.
        seen: True for every velocity that a constraint on the position sees.
    """
    flat, kernels = dynamics.flat, dynamics.kernels
    driven = _driven(dynamics, dict(zip(dynamics.parameter_names, values.tolist(), strict=True)))
    names = [*flat.initial_values, *driven, *flat.initial_rates, *given[0], *given[1], *more]
    wanted = _rows(dynamics, list(dict.fromkeys(names)))
    tracer = _Tracer(dynamics, wanted, reference)
    windings, even = dynamics.coordinates.windings, dynamics.even
    start = Start(
        nq=dynamics.nq, nv=dynamics.nv, rows=len(dynamics.rows), holonomic=dynamics.holonomic,
        n_parameters=len(values), n_q=wanted.n_q, n_v=wanted.n_v, n_windings=len(windings), parameters=values,
        time=time, closed=limits.closed, exact=limits.exact, compatible=limits.compatible,
        largest_move=limits.largest_move, steps=limits.steps, moved=bool(given[0]),
        most_stages=limits.most_stages, most_lost=limits.most_lost, everyday=even.everyday,
        unit_q=even.coordinates, unit_u=even.velocities, unit_rows=even.rows[: len(dynamics.rows)],
        unseen=tracer.unseen(seen), turns=tracer.turns(),
        lengths=(dynamics.coordinates.velocity_units(2.0) > 1).astype(np.int64),
        place=tracer.places("q"), place_u=tracer.places("u"),
        winding=np.array([w.q for w in windings], dtype=np.int64),
        winding_row=np.array([tracer.row(w.joint, w.index) for w in windings], dtype=np.int64),
        drawn=tracer.drawn(driven),
    )  # fmt: skip
    if dynamics.rows:
        start.set(constraints=kernels.constraint_kernel, move=kernels.move_kernel)
    if (wanted.n_q and dynamics.rows) or windings:
        start.set(measured=tracer.measured())
    if wanted.n_q and dynamics.rows:
        start.set(moves=tracer.moves(), led=tracer.led(), targets=tracer.targets())
    unit = {name: _unit(dynamics, name, value) for name, value in given[0].items()}
    _masks(start, wanted, (flat.initial_values, flat.initial_rates), driven, (unit, given[1]))
    return start, wanted


def _unit(dynamics: Dynamics, name: str, value: Any) -> np.ndarray:
    """Given coordinates with quaternions of unit length."""
    return dynamics.coordinates.nominal_joint(name).joint.normalize(NUMPY, np.asarray(value, dtype=float))


def _masks(start: Start, wanted: Wanted, own: Any, driven: Mapping[str, Any], given: Any) -> None:
    for name, (at_q, n_q, at_v, n_v) in wanted.joints.items():
        rows_q, rows_v = slice(at_q, at_q + n_q), slice(at_v, at_v + n_v)
        if name in own[0] or name in driven:
            start.own[rows_v] = start.own_q[rows_q] = 1
        if name in own[1] and name not in driven:
            start.own_rates[rows_v] = 1
        if name in given[0]:
            start.given[rows_v] = start.given_q[rows_q] = 1
            start.coordinates[rows_q] = given[0][name]
        if name in given[1]:
            start.given_rates[rows_v] = 1
            start.rates[rows_v] = given[1][name]


def _driven(dynamics: Dynamics, parameters: dict[str, float]) -> dict[str, Any]:
    """Formulas of driven joints that have one coordinate; drives may be off."""
    found: dict[str, Any] = {}
    off = dynamics.flat.off(parameters)
    for name, (constraint, _) in dynamics.flat.constraints.items():
        for joint, _, formula in () if name in off or constraint.eliminates else constraint.gives():
            if dynamics.coordinates.nominal_joint(joint).joint.nq == 1:
                found[joint] = formula
    return found


def _name_of(atom: Any) -> str:
    return atom.name


class _Tracer:
    """Traces what assembly asks of the joints."""

    def __init__(self, dynamics: Dynamics, wanted: Wanted, reference: Any):
        self.dynamics, self.wanted, self.reference = dynamics, wanted, reference
        self.coordinates, self.kernels = dynamics.coordinates, dynamics.kernels
        self.symbols: dict[str, Any] = self.kernels.symbols
        self.tree: Any = self.kernels.tree
        self.slots: dict[str, Any] = dict(self.coordinates.slot_of_joint)

    def _joint(self, name: str) -> Any:
        return self.tree.mechanism.joint(name).joint

    def row(self, name: str, index: int) -> int:
        return self.wanted.joints[name][0] + index if name in self.wanted.joints else -1

    def places(self, which: Literal["q", "u"]) -> np.ndarray:
        """Where coordinates or velocities of the joints stand among those of the tree, −1 for others."""
        first, count, size = (0, 1, self.wanted.n_q) if which == "q" else (2, 3, self.wanted.n_v)
        found = np.full(size, -1, dtype=np.int64)
        for name, span in self.wanted.joints.items():
            if name in self.slots:
                at, n, start = span[first], span[count], getattr(self.slots[name], which).start
                found[at : at + n] = np.arange(start, start + n)
        return found

    def unseen(self, seen: np.ndarray) -> np.ndarray:
        """1 for rows of coordinates of joints of the tree that no constraint sees."""
        found = np.zeros(self.wanted.n_q, dtype=np.int64)
        for name, (at, n, _, _) in self.wanted.joints.items():
            found[at : at + n] = name in self.slots and not seen[self.slots[name].u].any()
        return found

    def turns(self) -> np.ndarray:
        """1 for rows of velocities that are angles of joints without quaternions."""
        found = np.zeros(self.wanted.n_v, dtype=np.int64)
        for name, (_, _, at, _) in self.wanted.joints.items():
            joint = self._joint(name)
            found[[at + i for i in joint.angles if joint.nq == joint.nv]] = 1
        return found

    def _compile(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> Kernel:
        columns = {key: CASADI.to_sx(value) for key, value in outputs.items() if np.size(value)}
        return compile_function(name, {key: symbol for key, (symbol, _) in inputs.items()}, columns)

    def drawn(self, driven: Mapping[str, Any]) -> Kernel:
        """(t, p): coordinates as drawn; wanted coordinates and velocities, as formulas say."""
        flat, mechanism, al = self.dynamics.flat, self.tree.mechanism, CASADI
        q: list[Any] = []
        u: list[Any] = []
        t = self.symbols["t"][1][0]
        for name, (_, n_q, _, n_v) in self.wanted.joints.items():
            if name in driven:
                values = dict(mechanism.parameters) | {TIME.name: t}
                q.append(al.array([evaluate(al, driven[name], lambda atom, at=values: at[_name_of(atom)])]))
            elif name in flat.initial_values:
                q.append(self._joint(name).normalize(al, mechanism.vector(flat.initial_values[name])))
            else:
                q.append(al.zeros(n_q))
            known = name in flat.initial_rates
            u.append(mechanism.vector(flat.initial_rates[name]) if known else al.zeros(n_v))
        drawn = self.reference(self.coordinates, mechanism)
        parts: dict[str, Any] = {
            "q": drawn,
            "wanted": al.concatenate(q) if q else [],
            "rates": al.concatenate(u) if u else [],
        }
        return self._compile("drawn", {"t": self.symbols["t"], "p": self.symbols["p"]}, parts)

    def _seen(self, u: np.ndarray | None = None) -> Equations:
        t, q = self.symbols["t"][1][0], self.symbols["q"][1]
        return Equations(self.tree, t, q, CASADI.zeros(self.dynamics.nv) if u is None else u)

    def _coordinates(self) -> list[Any]:
        seen, q = self._seen(), self.symbols["q"][1]
        return [
            q[self.slots[name].q] if name in self.slots else seen.joint_coordinates(name)[0]
            for name in self.wanted.joints
        ]

    def measured(self) -> Kernel:
        """(t, q, p): coordinates of the joints, then the angles that windings follow."""
        seen = self._seen()
        turns = [seen.joint_coordinates(w.joint)[0][w.index] for w in self.coordinates.windings]
        found = CASADI.concatenate([*self._coordinates(), CASADI.array(turns)])
        return self._compile("measured", {name: self.symbols[name] for name in "tqp"}, {"measured": found})

    def moves(self) -> Kernel:
        """(q₀, q₁, p): the way of each joint from one to the other."""
        first, second = CASADI.symbols("q0", self.wanted.n_q), CASADI.symbols("q1", self.wanted.n_q)

        def move(joint: Any, q: slice, _: slice) -> np.ndarray:
            return joint.difference(CASADI, first[1][q], second[1][q])

        return self._of_each("moves", {"q0": first, "q1": second}, move)

    def led(self) -> Kernel:
        """(q₀, way, p): where the way leads."""
        first, way = CASADI.symbols("q0", self.wanted.n_q), CASADI.symbols("way", self.wanted.n_v)

        def lead(joint: Any, q: slice, v: slice) -> np.ndarray:
            return joint.integrate(CASADI, first[1][q], way[1][v])

        return self._of_each("led", {"q0": first, "way": way}, lead)

    def _of_each(self, name: str, inputs: dict[str, Any], value: Callable[[Any, slice, slice], np.ndarray]) -> Kernel:
        """A value of every joint, which knows where its coordinates and its velocities are."""
        spans = self.wanted.joints.items()
        parts = [value(self._joint(joint), slice(q, q + n), slice(v, v + n_v)) for joint, (q, n, v, n_v) in spans]
        return self._compile(name, {**inputs, "p": self.symbols["p"]}, {name: CASADI.concatenate(parts)})

    def targets(self) -> Kernel:
        """(t, q, p, target): how far joints are from their targets, and their velocities as rows of a map of u."""
        target, al = CASADI.symbols("target", self.wanted.n_q), CASADI
        residuals: list[Any] = []
        rows: list[Any] = []
        for (name, (at, n, _, _)), found in zip(self.wanted.joints.items(), self._coordinates(), strict=True):
            joint = self._joint(name)
            residual = joint.difference(al, target[1][at : at + n], found)
            if name in self.slots:
                J = al.zeros(joint.nv, self.dynamics.nv)
                J[:, self.slots[name].u] = al.eye(joint.nv)
            else:
                if joint.nq == joint.nv:
                    for index in joint.angles:  # poses know angles only up to whole turns
                        residual[index] = al.atan2(al.sin(residual[index]), al.cos(residual[index]))
                J = al.columns(lambda u, of=name: self._seen(u).joint_coordinates(of)[1], self.dynamics.nv)
            residuals.append(residual)
            rows.append(J)
        outputs = {"residual": al.concatenate(residuals), "rows": np.concatenate(rows, axis=0)}
        inputs = {**{name: self.symbols[name] for name in "tqp"}, "target": target}
        return self._compile("targets", inputs, outputs)
