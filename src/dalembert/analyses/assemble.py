# pyright: basic
"""Assembly: a state that satisfies every constraint, from what the user gave.

Positions are found in relative coordinates by Newton's method, led along a path from the reference configuration to the
wanted coordinates so that loops stay in the branch in which they were drawn. Joints that were not named move as
little as the loops allow. Velocities are those of least norm that fit the given ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.coordinates import Coordinates, Relative
from dalembert.dynamics import Dynamics, kept_dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.expressions import TIME, evaluate
from dalembert.joints import Joint
from dalembert.model import Mechanism, Model
from dalembert.state import State
from dalembert.values import ARRAY

__all__ = ["assemble", "assemble_state", "reference"]

CLOSED = 1e-10  # residual (m or rad) of a closed loop, relative to the size of the mechanism
EXACT = 1e-14  # where Newton's method stops trying to do better
COMPATIBLE = 1e-9  # residual of compatible velocities
LARGEST_MOVE = 0.25  # how far (rad or m) a wanted coordinate is led in one stage
NEWTON_STEPS = 40
_RCOND = 1e-10
SOFTENING = 1e-9  # of sparse least squares, and turns that take it back
TURNS = 6


def assemble(
    model: Model,
    initial: dict[str, Any] | None = None,
    initial_rates: dict[str, Any] | None = None,
    *,
    parameters: dict[str, float] | None = None,
    time: float = 0.0,
) -> State:
    """A state of the model with the given joint coordinates and velocities, all loops closed.

    Args:
        initial: coordinates by joint name (rad, m; quaternions as four numbers).
        initial_rates: velocities by joint name.
        parameters: values to use instead of the model's.
        time: for drives.

    Raises:
        ModelError: naming the joints that stay open, or the values that contradict the constraints.
    """
    dynamics = kept_dynamics(model, "auto", "relative")
    return assemble_state(dynamics, initial, initial_rates, parameters, time)


def assemble_state(
    dynamics: Dynamics,
    initial: Mapping[str, Any] | None,
    initial_rates: Mapping[str, Any] | None,
    parameters: Mapping[str, float] | None,
    time: float,
) -> State:
    """As ``assemble``, with equations that are compiled already."""
    if dynamics.coordinates.name != "relative":
        raise DalembertError("assembly works in relative coordinates")
    return _Assembler(dynamics, dict(parameters or {}), time).run(dict(initial or {}), dict(initial_rates or {}))


def reference(coordinates: Coordinates, mechanism: Mechanism) -> np.ndarray:
    """Coordinates of the reference configuration, as drawn, in the algebra of the mechanism."""
    al = mechanism.al
    q = al.array(list(coordinates.neutral()))
    for slot in coordinates.slots:
        placed = mechanism.joint(slot.joint or "")
        data, _ = mechanism.flat.joints[slot.joint or ""]
        if placed.joint.measurable:
            X = (mechanism.body_pose(placed.first) @ placed.X_1P).inverse() @ (
                mechanism.body_pose(placed.second) @ placed.X_2S
            )
            q[slot.q] = placed.joint.coordinates(al, X)
        if data.reference is not None:
            q[slot.q] = placed.joint.normalize(al, mechanism.vector(data.reference))
    return q


def _stacked(matrices: list[Any]) -> Any:
    """Rows of all matrices; sparse if the constraints of a large model are."""
    if isinstance(matrices[0], ARRAY):
        return np.concatenate(matrices)
    from scipy.sparse import vstack

    return vstack(matrices, "csr")


def _least(A: Any, b: np.ndarray) -> np.ndarray:
    """The x of least norm that brings A x closest to b."""
    if isinstance(A, ARRAY):
        return np.linalg.lstsq(A, b, rcond=_RCOND)[0]
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    # x = Aᵀ (A Aᵀ + ε)⁻¹ b, refined until A x = b as far as it goes.
    factor = splu((A @ A.T + SOFTENING * eye_array(A.shape[0])).tocsc())
    x = np.zeros(A.shape[1])
    for _ in range(TURNS):
        x += A.T @ factor.solve(b - A @ x)
    return x


def _along_null_space(A: Any, wishes: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The step with A x = 0 that brings wishes·x closest to what is missing."""
    A = A if isinstance(A, ARRAY) else A.toarray()
    _, sizes, Vt = np.linalg.svd(A)
    rank = int(np.sum(sizes > _RCOND * max(sizes.max(initial=0.0), 1e-300)))
    N = Vt[rank:].T
    return N @ np.linalg.lstsq(wishes @ N, missing, rcond=_RCOND)[0]


class _Assembler:
    def __init__(self, dynamics: Dynamics, parameters: dict[str, float], time: float):
        self.dynamics, self.flat, self.time = dynamics, dynamics.flat, float(time)
        self.coordinates: Relative = dynamics.coordinates  # type: ignore[assignment]
        self.parameters = parameters
        dynamics.parameters(parameters)
        self.values = {**self.flat.parameters, **parameters}
        self.tree = self.coordinates.place(NUMPY, self.values)
        self.mechanism: Mechanism = self.tree.mechanism

    def run(self, initial: dict[str, Any], rates: dict[str, Any]) -> State:
        """First the model's own start and its drives; from there, led along a path, what the caller wants.

        What the model wants gives way to drives and to the caller.
        """
        own = self._wanted({}, self.flat.initial_values, "initial", lambda joint: joint.nq) | self._driven
        given = self._wanted(initial, {}, "initial", lambda joint: joint.nq)
        own_rates = self._wanted({}, self.flat.initial_rates, "initial_rates", lambda joint: joint.nv)
        given_rates = self._wanted(rates, {}, "initial_rates", lambda joint: joint.nv)
        if not self.dynamics.rows:
            state = self._free_state(own | given, own_rates | given_rates)
            return State(self.time, *state, self.coordinates, self.parameters)
        q = self._closed(own, given)
        u = self._velocities(q, own_rates, given_rates, bool(given))
        return State(self.time, q, u, self.coordinates, self.parameters)

    def _free_state(self, wanted: dict[str, np.ndarray], rates: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """In a tree without constraints nothing stands in the way."""
        q, u = self._reference(), np.zeros(self.dynamics.nv)
        for name, value in wanted.items():
            q[self.coordinates.slot_of_joint[name].q] = value
        for name, value in rates.items():
            u[self.coordinates.slot_of_joint[name].u] = value
        return q, u

    def _closed(self, own: dict[str, np.ndarray], given: dict[str, np.ndarray]) -> np.ndarray:
        """Coordinates led from the reference to the model's own start, and from there to what the caller wants.

        Where that way does not exist, as from a reference in which gradients vanish, the values themselves are tried.
        """
        try:
            q = self._positions(self._reference(), own)
            return self._positions(q, given) if given else q
        except ModelError:
            wanted, q = own | given, self._reference()
            for name, value in wanted.items():
                slot = self.coordinates.slot_of_joint.get(name)
                if slot is not None:
                    q[slot.q] = value
            q = self._with_windings(q) if self.coordinates.windings else q
            q, left = self._newton(q, wanted)
            if left is not None:
                raise
            return q

    # What is wanted

    def _joint(self, name: str) -> Joint:
        return self.mechanism.joint(name).joint

    def _wanted(self, given: dict[str, Any], of_model: dict[str, Any], what: str, length: Any) -> dict[str, np.ndarray]:
        merged = {name: np.array([self._number(v) for v in values]) for name, values in of_model.items()}
        for name, value in given.items():
            if name not in self.flat.joints:
                known = ", ".join(self.flat.joints)
                raise ModelError(Problem(f"{what}: unknown joint {name!r}", what, f"one of {known}"))
            try:
                merged[name] = np.atleast_1d(np.asarray(value, dtype=float))
            except (TypeError, ValueError):
                raise ModelError(Problem(f"{what} of joint {name!r}: expected numbers, got {value!r}", what)) from None
        for name, value in merged.items():
            joint = self._joint(name)
            if value.shape != (length(joint),) or not np.all(np.isfinite(value)):
                raise ModelError(
                    Problem(
                        f"{what} of joint {name!r}: expected {length(joint)} finite numbers ({joint.kind}: {joint.nq} "
                        f"coordinates, {joint.nv} velocities), got {value.tolist()}",
                        what,
                    )
                )
            if what == "initial":
                merged[name] = joint.normalize(NUMPY, value)
        return merged

    def _number(self, formula: Any, t: float | None = None) -> float:
        lookup = {**self.values, **({} if t is None else {TIME.name: t})}
        return float(evaluate(NUMPY, formula, lambda atom: lookup[atom.name]))  # type: ignore[union-attr]

    @cached_property
    def _driven(self) -> dict[str, np.ndarray]:
        """Coordinates of driven joints that have one coordinate, at the time of assembly; drives may be off."""
        found: dict[str, np.ndarray] = {}
        off = self.flat.off(self.parameters)
        for name, (constraint, _) in self.flat.constraints.items():
            for joint, _, formula in () if name in off or constraint.eliminates else constraint.gives():
                if self._joint(joint).nq == 1:
                    found[joint] = np.array([self._number(formula, self.time)])
        return found

    # Positions

    def _reference(self) -> np.ndarray:
        return self._with_windings(reference(self.coordinates, self.mechanism))

    def _with_windings(self, q: np.ndarray) -> np.ndarray:
        """Winding coordinates set to the angles that the poses show."""
        equations = Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv))
        for winding in self.coordinates.windings:
            q[winding.q] = equations.joint_coordinates(winding.joint)[0][winding.index]
        return q

    def _measure(self, q: np.ndarray, name: str) -> np.ndarray:
        slot = self.coordinates.slot_of_joint.get(name)
        if slot is not None:
            return q[slot.q]
        return Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv)).joint_coordinates(name)[0]

    def _positions(self, q: np.ndarray, wanted: dict[str, np.ndarray]) -> np.ndarray:
        start = {name: self._measure(q, name).copy() for name in wanted}
        moves = {name: self._joint(name).difference(NUMPY, start[name], value) for name, value in wanted.items()}
        largest = max((np.abs(move).max(initial=0.0) for move in moves.values()), default=0.0)
        stages = int(np.ceil(largest / LARGEST_MOVE)) or 1
        for stage in range(1, stages + 1):
            targets = {
                name: self._joint(name).integrate(NUMPY, start[name], stage / stages * move)
                for name, move in moves.items()
            }
            q, residual = self._newton(q, targets)
            if residual is not None and stage == stages:
                self._explain(q, residual, wanted)
        for winding in self.coordinates.windings:
            if winding.joint in wanted:
                q[winding.q] = wanted[winding.joint][winding.index]
        for name in wanted:
            slot = self.coordinates.slot_of_joint.get(name)
            if slot is not None and slot.q.stop - slot.q.start == len(self.coordinates.joint_at(slot).neutral()):
                # The path counts turns; the last digits are the user's own.
                q[slot.q] = np.where(np.abs(q[slot.q] - wanted[name]) < 1e-9, wanted[name], q[slot.q])
        return q

    def _newton(self, q: np.ndarray, targets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
        """Closest q that closes the loops and meets the targets; the residual if there is none."""
        size = 1.0 + np.abs(q).max(initial=0.0)
        residual, error = np.zeros(0), np.inf
        for _ in range(NEWTON_STEPS):
            residual, jacobian = self._system(q, targets)
            if not np.all(np.isfinite(residual)):
                return q, residual
            previous, error = error, np.abs(residual).max(initial=0.0)
            if error <= EXACT * size or (error <= CLOSED * size and error > 0.1 * previous):
                return q, None
            du = -_least(jacobian, residual)
            longest = np.abs(du).max()
            q = self.tree.normalize(
                self.tree.integrate(q, du * min(1.0, 2 * LARGEST_MOVE / longest) if longest else du)
            )
            q = self._with_windings(q) if self.coordinates.windings else q
        return q, residual

    def _system(self, q: np.ndarray, targets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        d = self.dynamics
        values = d.residuals(self.time, q, np.zeros(d.nv), self.parameters)
        rows, jacobian = [values.position], [values.jacobian[: d.holonomic]]
        for name, target in targets.items():
            residual, J = self._target(q, name, target)
            rows.append(residual)
            jacobian.append(J)
        return np.concatenate(rows), _stacked(jacobian)

    def _target(self, q: np.ndarray, name: str, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """difference(target, q of the joint), and its rate for each velocity (to first order at the target)."""
        joint, slot = self._joint(name), self.coordinates.slot_of_joint.get(name)
        residual = joint.difference(NUMPY, target, self._measure(q, name))
        if slot is None and joint.nq == joint.nv:
            # Poses know angles only up to whole turns.
            for index in joint.angles:
                residual[index] = np.angle(np.exp(1j * residual[index]))
        if slot is not None:
            J = np.zeros((joint.nv, self.dynamics.nv))
            J[:, slot.u] = np.eye(joint.nv)
            return residual, J
        return residual, self._rates_matrix(q, name)

    def _rates_matrix(self, q: np.ndarray, name: str) -> np.ndarray:
        """Velocities of a joint as a linear map of u."""
        slot = self.coordinates.slot_of_joint.get(name)
        if slot is not None:
            return np.eye(self.dynamics.nv)[slot.u]

        def rates(u: np.ndarray) -> np.ndarray:
            return Equations(self.tree, self.time, q, u).joint_coordinates(name)[1]

        return NUMPY.columns(rates, self.dynamics.nv)

    def _explain(self, q: np.ndarray, residual: np.ndarray, wanted: dict[str, np.ndarray]) -> None:
        d = self.dynamics
        open_by: dict[str, float] = {}
        for row, value in zip(d.rows[: d.holonomic], residual, strict=False):
            open_by[row.owner] = max(open_by.get(row.owner, 0.0), abs(value))
        at = d.holonomic
        for name in wanted:
            nv = self._joint(name).nv
            off = np.abs(residual[at : at + nv]).max(initial=0.0)
            if off > CLOSED:
                open_by[f"{name} (wanted {wanted[name].tolist()})"] = off
            at += nv
        parts = [f"{name} is off by {value:.3g}" for name, value in open_by.items() if value > 1e-8]
        raise ModelError(
            Problem(
                f"{self.flat.name!r} cannot be assembled: {'; '.join(parts) or 'Newton did not converge'} (m or rad)",
                "initial" if wanted else "joints",
                "check lengths and points of the loop"
                + (", and whether the wanted coordinates can be reached" if wanted else ""),
            )
        )

    # Velocities

    def _velocities(
        self, q: np.ndarray, own: dict[str, np.ndarray], given: dict[str, np.ndarray], moved: bool
    ) -> np.ndarray:
        """Velocities of least norm that fit the constraints, the given ones, and the model's own where they can.

        Args:
            moved: the caller gave positions of his own, to which the model's rates need not fit.
        """
        driven = self._driven
        own = {name: value for name, value in own.items() if name not in given and name not in driven}
        u, problem = self._least_velocities(q, own | given)
        if problem is not None and own and (given or moved):
            u, problem = self._least_velocities(q, given, own)
        if problem is not None:
            raise ModelError(problem)
        return u

    def _least_velocities(
        self, q: np.ndarray, wanted: dict[str, np.ndarray], wished: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, Problem | None]:
        """Velocities that fit the constraints and what is wanted, as close as possible to what is wished."""
        d = self.dynamics
        values = d.residuals(self.time, q, np.zeros(d.nv), self.parameters)
        matrices, rhs = [values.jacobian], [-values.velocity]
        for name, value in wanted.items():
            matrices.append(self._rates_matrix(q, name))
            rhs.append(value)
        A, b = _stacked(matrices), np.concatenate(rhs)
        if not len(b):
            return np.zeros(d.nv), None
        u = _least(A, b)
        if wished:
            wishes = _stacked([self._rates_matrix(q, name) for name in wished])
            missing = np.concatenate(list(wished.values())) - wishes @ u
            u = u + _along_null_space(A, wishes, missing)
        off = A @ u - b
        if np.abs(off).max(initial=0.0) <= COMPATIBLE * (1.0 + np.abs(b).max(initial=0.0)):
            return u, None
        worst = int(np.argmax(np.abs(off)))
        names = [str(row) for row in d.rows]
        for name, value in wanted.items():
            names += [f"initial rate of {name}"] * len(value)
        return u, Problem(
            f"the initial rates contradict the constraints: {names[worst]} is off by {abs(off[worst]):.3g}",
            "initial_rates",
            "give fewer rates; the others follow from the constraints",
        )
