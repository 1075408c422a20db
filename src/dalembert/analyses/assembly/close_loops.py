"""Loops closed at one time: positions by Newton's method, velocities by least squares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble_given import joint_rows, undefined_rates
from dalembert.analyses.assembly.assemble_search import points_and_balances, strides
from dalembert.analyses.assembly.long_ways import LARGEST_MOVE, MOST_STAGES, refuse_turns, seen_by_constraints
from dalembert.coordinates import Coordinates
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import ModelError, Problem
from dalembert.joints import Joint
from dalembert.model import Mechanism
from dalembert.values import ARRAY

__all__ = ["CLOSED", "COMPATIBLE", "EXACT", "MOST_LOST", "NEWTON_STEPS", "Loops", "reference"]

# Lengths, angles and residuals are in even units (see ``dynamics.even_units``).
CLOSED = 1e-10  # residual of a closed loop, relative to the size of the mechanism
EXACT = 1e-14  # where Newton's method stops trying to do better
COMPATIBLE = 1e-9  # residual of compatible velocities
SHOWN = 1e-8  # residual that is reported
NEWTON_STEPS = 40
MOST_LOST = 1000  # stages at which loops may stay open, of a path that finds back

_RCOND = 1e-10
SOFTENING = 1e-9  # of sparse least squares, and turns that take it back
TURNS = 6


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
    for name, place in coordinates.own_states.items():
        q[place] = mechanism.evaluate(mechanism.flat.states[name][0].initial)
    return q


class Loops:
    """One mechanism in relative coordinates at one time, its loops to be closed.

    Args:
        weights: how much it costs to move a joint; 1 where nothing is said.
    """

    def __init__(self, dynamics: Dynamics, parameters: dict[str, float], time: float, weights: Mapping[str, float]):
        self.dynamics, self.parameters, self.time, self.weights = dynamics, parameters, time, weights
        self.coordinates, self.even = dynamics.coordinates, dynamics.even
        self.tree = dynamics.coordinates.place(NUMPY, {**dynamics.flat.parameters, **parameters})

    def joint(self, name: str) -> Joint:
        return self.tree.mechanism.joint(name).joint

    def reference(self) -> np.ndarray:
        return self.with_windings(reference(self.coordinates, self.tree.mechanism))

    def with_windings(self, q: np.ndarray) -> np.ndarray:
        """Winding coordinates set to the angles that the poses show."""
        equations = Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv))
        for winding in self.coordinates.windings:
            q[winding.q] = equations.joint_coordinates(winding.joint)[0][winding.index]
        return q

    def measure(self, q: np.ndarray, name: str) -> np.ndarray:
        slot = self.coordinates.slot_of_joint.get(name)
        if slot is not None:
            return q[slot.q]
        return Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv)).joint_coordinates(name)[0]

    def lead(self, q: np.ndarray, wanted: dict[str, np.ndarray]) -> np.ndarray:
        """Closed coordinates, led along a path from these to what is wanted."""
        start, moves, largest = self._way(q, wanted)
        if largest > MOST_STAGES * LARGEST_MOVE:
            q = self._put_unseen(q, wanted)
            start, moves, largest = self._way(q, wanted)
            refuse_turns(self.dynamics, {name: (self.joint(name), move) for name, move in moves.items()})
        stages = min(int(np.ceil(largest / LARGEST_MOVE)), MOST_STAGES) or 1
        reach, lost = max(LARGEST_MOVE, largest / stages), 0
        for stage in range(1, stages + 1):
            targets = {
                name: self.joint(name).integrate(NUMPY, start[name], stage / stages * move)
                for name, move in moves.items()
            }
            q, residual = self.newton(q, targets, reach)
            lost += residual is not None
            if residual is not None and (stage == stages or lost > MOST_LOST):
                self._explain(q, residual, wanted)
        for winding in self.coordinates.windings:
            if winding.joint in wanted and np.isfinite(wanted[winding.joint][winding.index]):
                q[winding.q] = wanted[winding.joint][winding.index]
        for name in wanted:
            slot = self.coordinates.slot_of_joint.get(name)
            if slot is not None and slot.q.stop - slot.q.start == len(self.coordinates.joint_at(slot).neutral()):
                # The path counts turns; the last digits are the user's own.
                near = np.abs(q[slot.q] - wanted[name]) < 1e-9 * self.even.coordinates[slot.q]
                q[slot.q] = np.where(near, wanted[name], q[slot.q])
        return q

    def _way(
        self, q: np.ndarray, wanted: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], float]:
        """Where a path to wanted coordinates begins, the moves along it, and the largest of them in even units."""
        start = {name: self.measure(q, name).copy() for name in wanted}
        moves = {name: self.joint(name).difference(NUMPY, start[name], value) for name, value in wanted.items()}
        sizes = [np.nan_to_num(np.abs(move)) * self._units_of(q, name) for name, move in moves.items()]
        return start, moves, float(max((size.max(initial=0.0) for size in sizes), default=0.0))

    def _put_unseen(self, q: np.ndarray, wanted: dict[str, np.ndarray]) -> np.ndarray:
        """q with wanted coordinates of joints that no constraint sees: they have no branch to keep."""
        seen, q = seen_by_constraints(self.dynamics, self.tree, self.time, q, self.parameters), q.copy()
        for name, value in wanted.items():
            slot = self.coordinates.slot_of_joint.get(name)
            if slot is not None and not seen[slot.u].any():
                q[slot.q] = np.where(np.isfinite(value), value, q[slot.q])
        return self.with_windings(q) if self.coordinates.windings else q

    def newton(
        self, q: np.ndarray, targets: dict[str, np.ndarray], reach: float = LARGEST_MOVE
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Closest q that closes the loops and meets the targets; the residual if there is none.

        Args:
            reach: how far targets may be off; lengths go up to twice as far in one step, angles no more than usual.
        """
        size, alone = self.even.size(q), bool(self._points[0].any())
        longest_step = self.even.velocities
        if reach > LARGEST_MOVE:
            longest_step = longest_step * np.where(self.coordinates.velocity_units(2.0) > 1, reach / LARGEST_MOVE, 1.0)
        residual, error = np.zeros(0), np.inf
        for _ in range(NEWTON_STEPS):
            residual, jacobian = self.system(q, targets)
            if not np.all(np.isfinite(residual)):
                return q, residual
            previous, error = error, np.abs(residual).max(initial=0.0)
            if error <= EXACT * size or (error <= CLOSED * size and error > 0.1 * previous):
                return q, None
            # Where all else is closed, massless points find their balance alone, as long as that helps.
            alone = alone and error < previous
            du = -self._shortest(jacobian, residual, alone and self._is_closed_elsewhere(residual, size))
            longest = np.abs(du / longest_step).max()
            q = self.tree.normalize(
                self.tree.integrate(q, du * min(1.0, 2 * LARGEST_MOVE / longest) if longest else du)
            )
            q = self.with_windings(q) if self.coordinates.windings else q
        return q, residual

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        return points_and_balances(self.dynamics)

    def _is_closed_elsewhere(self, residual: np.ndarray, size: float) -> bool:
        """True if all but the balance of massless points is closed."""
        rest = residual.copy()
        rest[: self.dynamics.holonomic][self._points[1]] = 0.0
        return bool(np.abs(rest).max(initial=0.0) <= EXACT * size)

    @cached_property
    def _stride(self) -> np.ndarray:
        """1/√weight of each velocity in its unit."""
        return self.even.velocities * strides(self.dynamics, self.weights)

    def _shortest(self, A: Any, b: np.ndarray, points: bool = False) -> np.ndarray:
        """The x with the least Σ w x² that brings A x closest to b; of massless points alone, if asked."""
        if np.all(self._stride == 1.0):
            return least(A, b)
        stride = self._stride * self._points[0] if points else self._stride
        return stride * least(scaled(A, stride), b)

    def system(self, q: np.ndarray, targets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        d = self.dynamics
        values = d.residuals(self.time, q, np.zeros(d.nv), self.parameters)
        units = self.even.rows[: d.holonomic]
        rows, jacobian = [units * values.position], [self._even(values.jacobian[: d.holonomic], units)]
        for name, target in targets.items():
            residual, J = self._target(q, name, target)
            rows.append(residual)
            jacobian.append(J)
        return np.concatenate(rows), stacked(jacobian)

    def _target(self, q: np.ndarray, name: str, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """difference(target, q of the joint), and its rate for each velocity (to first order at the target), in even
        units."""
        joint, slot = self.joint(name), self.coordinates.slot_of_joint.get(name)
        residual, rows = joint.difference(NUMPY, target, self.measure(q, name)), joint_rows(joint, target)
        if slot is None and joint.nq == joint.nv:
            # Poses know angles only up to whole turns.
            for index in joint.angles:
                residual[index] = np.angle(np.exp(1j * residual[index]))
        J = self._rates_matrix(q, name)[rows]
        units = self.even.row_units(J)
        return units * residual[rows], self._even(J, units)

    def _units_of(self, q: np.ndarray, name: str) -> np.ndarray:
        """What moves of a joint are multiplied by."""
        joint = self.joint(name)
        return np.ones(joint.nv) if self.even.everyday else self.even.row_units(self._rates_matrix(q, name))

    def _even(self, A: Any, units: np.ndarray) -> Any:
        """A with its rows multiplied; sparse ones are of everyday size."""
        return A if self.even.everyday else units[:, None] * A

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
        shown = [
            (row.owner, value, unit)
            for row, value, unit in zip(d.rows, residual[: d.holonomic], self.even.rows, strict=False)
        ]
        at = d.holonomic
        for name in wanted:
            rows = joint_rows(self.joint(name), wanted[name])
            units = self._units_of(q, name)[rows]
            label = f"{name} (wanted {wanted[name].tolist()})"
            shown += [(label, value, unit) for value, unit in zip(residual[at : at + len(units)], units, strict=True)]
            at += len(units)
        for name, value, unit in shown:
            if abs(value) > SHOWN:
                open_by[name] = max(open_by.get(name, 0.0), abs(value) / unit)
        parts = [f"{name} is off by {value:.3g}" for name, value in open_by.items()]
        why = "; ".join(parts) or "Newton did not converge"
        raise ModelError(
            Problem(
                f"{d.flat.name!r} cannot be assembled: {why} (m or rad)",
                "initial" if wanted else "joints",
                "check lengths and points of the loop"
                + (", and whether the wanted coordinates can be reached" if wanted else ""),
            )
        )

    def least_velocities(
        self, q: np.ndarray, wanted: dict[str, np.ndarray], desired: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, Problem | None]:
        """Velocities that fit the constraints and what is wanted, as close as possible to what is desired."""
        d = self.dynamics
        values = d.residuals(self.time, q, np.zeros(d.nv), self.parameters)
        even, names = self.even, [str(row) for row in d.rows]
        matrices, rhs = [self._even(values.jacobian, even.rows)], [-(even.rows * values.velocity)]
        wanted = {name: value for name, value in wanted.items() if np.isfinite(value).any()}
        for name, value in wanted.items():
            rows = np.isfinite(value)
            J = self._rates_matrix(q, name)[rows]
            units = even.row_units(J)
            matrices.append(self._even(J, units))
            rhs.append(units * value[rows])
            names += [f"initial rate of {name}"] * int(rows.sum())
        A, b = stacked(matrices), np.concatenate(rhs)
        problem = undefined_rates(names, A, b)
        if not len(b) or problem is not None:
            return np.zeros(d.nv), problem
        u = self._shortest(A, b)
        if desired:
            J = stacked([self._rates_matrix(q, name) for name in desired])
            units = even.row_units(J)
            missing = units * (np.concatenate(list(desired.values())) - J @ u)
            J = scaled(self._even(J, units), even.velocities)
            u = u + even.velocities * along_null_space(scaled(A, even.velocities), J, missing)
        off = A @ u - b
        if np.abs(off).max(initial=0.0) <= COMPATIBLE * (1.0 + np.abs(b).max(initial=0.0)):
            return u, None
        worst = int(np.argmax(np.abs(off)))
        if not wanted:
            return u, Problem(
                f"the constraints contradict each other in their velocities: {names[worst]} is off by "
                f"{abs(off[worst]):.3g}",
                "constraints",
                "look for two drives, or a drive and a constraint, that move the same freedom, and take one away",
            )
        return u, Problem(
            f"the initial rates contradict the constraints: {names[worst]} is off by {abs(off[worst]):.3g}",
            "initial_rates",
            "give fewer rates, None for one of several that is free; the others follow from the constraints",
        )


# Least moves that meet equations, dense ones and the sparse ones of large models


def stacked(matrices: list[Any]) -> Any:
    """Rows of all matrices; sparse if the constraints of a large model are."""
    if isinstance(matrices[0], ARRAY):
        return np.concatenate(matrices)
    from scipy import sparse

    library: Any = sparse
    return library.vstack(matrices, "csr")


def scaled(A: Any, columns: np.ndarray) -> Any:
    """A with its columns multiplied."""
    return A * columns if isinstance(A, ARRAY) else A.multiply(columns[None]).tocsr()


def least(A: Any, b: np.ndarray) -> np.ndarray:
    """The x of least norm that brings A x closest to b."""
    if isinstance(A, ARRAY):
        return np.linalg.lstsq(cast(np.ndarray, A), b, rcond=_RCOND)[0]
    from scipy import sparse
    from scipy.sparse import linalg

    library: Any = sparse
    solvers: Any = linalg

    # x = Aᵀ (A Aᵀ + ε)⁻¹ b, refined until A x = b as far as it goes.
    factor: Any = solvers.splu((A @ A.T + SOFTENING * library.eye_array(A.shape[0])).tocsc())
    x = np.zeros(A.shape[1])
    for _ in range(TURNS):
        x += A.T @ factor.solve(b - A @ x)
    return x


def along_null_space(A: Any, J: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The step with A x = 0 that brings J x closest to what is missing."""
    A = A if isinstance(A, ARRAY) else A.toarray()
    _, sizes, Vt = np.linalg.svd(A)
    rank = int(np.sum(sizes > _RCOND * max(sizes.max(initial=0.0), 1e-300)))
    N = Vt[rank:].T
    return N @ np.linalg.lstsq(J @ N, missing, rcond=_RCOND)[0]
