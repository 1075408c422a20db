"""Assembly: a state that satisfies every constraint, from what the user gave.

Positions are found in relative coordinates by Newton's method, led along a path from the reference configuration to the
wanted coordinates so that loops stay in the branch in which they were drawn. Joints that were not named move as
little as the loops allow. Where that way ends, or a guess is far off, closed positions are looked for from many starts
(``assemble_search``). Velocities are those of least norm that fit the given ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble_given import (
    Desired,
    joint_rows,
    pose_quantity,
    read_desired,
    read_joint,
    split_states,
    undefined_rates,
)
from dalembert.analyses.assembly.assemble_search import Search, points_and_balances, strides
from dalembert.analyses.assembly.least_moves import along_null_space, least, scaled, stacked
from dalembert.coordinates import Coordinates, Relative
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.expressions import TIME, number
from dalembert.joints import Joint
from dalembert.model import Mechanism
from dalembert.state import State
from dalembert.values import NUMBER

__all__ = ["Assembler", "Start", "assemble_state", "reference"]

# Lengths, angles and residuals are in even units (see ``dynamics.even_units``).
CLOSED = 1e-10  # residual of a closed loop, relative to the size of the mechanism
EXACT = 1e-14  # where Newton's method stops trying to do better
COMPATIBLE = 1e-9  # residual of compatible velocities
SHOWN = 1e-8  # residual that is reported
LARGEST_MOVE = 0.25  # how far a wanted coordinate is led in one stage
NEWTON_STEPS = 40
_ENTRY = re.compile(r"(.+)\[(\d+)\]")


@dataclass(frozen=True)
class Start:
    """What the caller says about a state.

    Attributes:
        initial, rates: coordinates and velocities that are wanted as they are; also of bodies, points, formulas.
        guess: where to begin, if not at the drawing: coordinates by joint, or a state.
        locked: joints and bodies that stay where they are at the beginning.
        weights: how much it costs to move a joint; 1 where nothing is said.
        native: by machine code of its own, which pays where more than one state is asked for.
    """

    initial: Mapping[Any, Any] = field(default_factory=lambda: {})
    rates: Mapping[Any, Any] = field(default_factory=lambda: {})
    guess: Mapping[str, Any] | State | None = None
    locked: Sequence[str] = ()
    weights: Mapping[str, float] = field(default_factory=lambda: {})
    native: bool = False


def assemble_state(
    dynamics: Dynamics,
    initial: Mapping[str, Any] | None,
    initial_rates: Mapping[str, Any] | None,
    parameters: Mapping[str, float] | None,
    time: float,
) -> State:
    """A state with the given joint coordinates and velocities, all loops closed, of equations that are compiled."""
    start = Start(dict(initial or {}), dict(initial_rates or {}))
    return Assembler(dynamics, dict(parameters or {}), time, start).run()


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
    for entry in coordinates.own_states:
        q[entry.q] = mechanism.evaluate(mechanism.flat.states[entry.name][0].initial)
    return q


class Assembler:
    """One mechanism at one time, and what is known about its state."""

    def __init__(self, dynamics: Dynamics, parameters: dict[str, float], time: float, start: Start):
        coordinates = dynamics.coordinates
        if not isinstance(coordinates, Relative) or coordinates.name != "relative":
            raise DalembertError("assembly works in relative coordinates")
        self.dynamics, self.flat, self.time, self.start = dynamics, dynamics.flat, float(time), start
        self.coordinates, self.even = coordinates, dynamics.even
        self.parameters = parameters
        dynamics.parameters(parameters)
        self.values = {**self.flat.parameters, **parameters}
        self.tree = self.coordinates.place(NUMPY, self.values)
        self.mechanism: Mechanism = self.tree.mechanism
        self.own_states, motion = split_states(self.flat, start.initial)
        self.given = read_desired(self.coordinates, motion, "initial")
        self._check_weights()

    def run(self) -> State:
        """First the model's own start and its drives; from there, led along a path, what the caller wants.

        What the model wants gives way to drives and to the caller.
        """
        plain = self.start.guess is None and not self.start.locked and not self.given.quantities
        if not self.dynamics.rows and plain:
            q, u = self._free_state(self._own | self.given.joints, self._own_rates | self._rates)
        else:
            q = self._path() if plain else self._searched()
            u = self.velocities(q)
        for entry in self.coordinates.own_states:
            q[entry.q] = self.own_states.get(entry.name, q[entry.q])
        return State(self.time, q, u, self.coordinates, self.parameters)

    def velocities(self, q: np.ndarray) -> np.ndarray:
        """Velocities at a closed position, as small as what is given allows."""
        return self._velocities(q, self._own_rates, self._rates, bool(self.desired))

    @cached_property
    def _own_rates(self) -> dict[str, np.ndarray]:
        return self._of_model(self.flat.initial_rates)

    @cached_property
    def _rates(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        given = {getattr(name, "name", name): value for name, value in self.start.rates.items()}
        for name, value in given.items():
            entry = _ENTRY.fullmatch(name) if isinstance(name, str) and name not in self.flat.joints else None
            if entry is None or entry[1] not in self.flat.joints:
                found[name] = self._rate(name, value)
                continue
            joint, index, count = entry[1], int(entry[2]), self._joint(entry[1]).nv
            if index >= count or joint in given:
                why = "is given as a whole too" if joint in given else f"has {count} velocities"
                raise ModelError(Problem(f"initial_rates: {name!r}: joint {joint!r} {why}", "initial_rates"))
            if not isinstance(value, NUMBER) or not np.isfinite(value):
                message = f"initial_rates of {name!r}: expected a finite number, got {value!r}"
                raise ModelError(Problem(message, "initial_rates"))
            found.setdefault(joint, np.full(count, np.nan))[index] = value
        return found

    def _free_state(self, wanted: dict[str, np.ndarray], rates: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """In a tree without constraints nothing stands in the way."""
        q, u = self._reference(), np.zeros(self.dynamics.nv)
        for name, value in wanted.items():
            self._put(q, name, value)
        for name, value in rates.items():
            u[self.coordinates.slot_of_joint[name].u] = np.where(np.isfinite(value), value, 0.0)
        return q, u

    def _put(self, q: np.ndarray, name: str, value: np.ndarray) -> None:
        """Given coordinates of a joint of the tree, in place."""
        slot = self.coordinates.slot_of_joint.get(name)
        if slot is not None:
            q[slot.q] = np.where(np.isfinite(value), value, q[slot.q])

    def _path(self) -> np.ndarray:
        """Coordinates led from the reference to the model's own start, and from there to what the caller wants.

        Where that way does not exist, as from a reference in which gradients vanish, the values themselves are tried,
        then other starts.
        """
        own, given = self._own, self.given.joints
        try:
            q = self._positions(self._reference(), own)
            return self._led(q) if given and self._leads else self._positions(q, given) if given else q
        except ModelError:
            wanted, q = own | given, self._reference()
            for name, value in wanted.items():
                self._put(q, name, value)
            q = self._with_windings(q) if self.coordinates.windings else q
            q, left = self._newton(q, wanted)
            if left is None:
                return q
            if self.dynamics.is_large:
                raise
            return self._near(self._reference(), Desired(given, (), {}))

    # From a guess, with locked joints, with quantities that are no joints

    def _searched(self) -> np.ndarray:
        if self.dynamics.is_large:
            raise ModelError(
                Problem(
                    f"{self.flat.name!r} has {len(self.flat.bodies)} bodies: guess, locked and quantities that are no "
                    f"joints are for small models",
                    "initial",
                    "give coordinates of joints",
                )
            )
        q, desired = self.beginning(), self.desired
        try:
            return self._led(q) if self.start.guess is None and not self._is_open(q) else self._near(q, desired)
        except ModelError:
            return self._near(q, desired)

    @property
    def _leads(self) -> bool:
        """True if native code leads joints along the path."""
        return self.start.native and not self.dynamics.is_large and not self.coordinates.windings

    def _led(self, q: np.ndarray) -> np.ndarray:
        """A closed position led along a path to the given values, so that loops keep their branch."""
        desired = self.desired
        base = Search(self.dynamics, self.now(q, desired), self.parameters, self.time, self.start.weights)
        found, errors = base.lead(q, self.placed(q, desired)[None], self.quantity_values[None])
        if not errors[0] <= CLOSED * self.even.size(found[0]):
            raise ModelError(f"{self.flat.name!r} does not stay closed on its way")
        return found[0]

    def _is_open(self, q: np.ndarray) -> bool:
        """True if a position is not closed, so that no path begins there."""
        return bool(np.abs(self._system(q, {})[0]).max(initial=0.0) > CLOSED * self.even.size(q))

    @property
    def quantity_values(self) -> np.ndarray:
        """Values of what no joint of the tree has, in the order of a search."""
        cut = [
            value[np.isfinite(value)]
            for name, value in self.desired.joints.items()
            if name not in self.coordinates.slot_of_joint
        ]
        return np.concatenate([np.zeros(0), *cut, *(self.desired.values[one.name] for one in self.desired.quantities)])

    def placed(self, q: np.ndarray, desired: Desired) -> np.ndarray:
        """q with the given coordinates of the tree's joints."""
        q = q.copy()
        for name, value in desired.joints.items():
            self._put(q, name, value)
        return q

    def now(self, q: np.ndarray, desired: Desired) -> Desired:
        """The same quantities with the values that they have at a position."""
        joints: dict[str, np.ndarray] = {}
        for name, value in desired.joints.items():
            rows = np.isfinite(value)
            joints[name] = np.where(rows, self._measure(q, name), np.nan)
        values: dict[str, np.ndarray] = {}
        if desired.quantities:
            motion = Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv)).motion
            values = {one.name: np.asarray(one.measure(motion), dtype=float) for one in desired.quantities}
        return Desired(joints, desired.quantities, values)

    def beginning(self) -> np.ndarray:
        """Where to begin: the guess, else the model's own start, else the drawing."""
        guess = self.start.guess
        if isinstance(guess, State):
            if set(guess.coordinates.flat.joints) != set(self.flat.joints):
                raise DalembertError("guess: the state is of a model with other joints.  Fix: guess={…} by joint")
            return guess.to(self.coordinates)[0]
        if guess is None:
            try:
                return self._positions(self._reference(), self._own)
            except ModelError:
                return self.placed(self._reference(), Desired(self._own, (), {}))
        desired = read_desired(self.coordinates, guess, "guess")
        own = {name: value for name, value in self._own.items() if name not in desired.joints}
        q = self.placed(self.placed(self._reference(), Desired(own, (), {})), desired)
        others = [name for name in desired.joints if name not in self.coordinates.slot_of_joint]
        if others or desired.quantities:
            # What no joint of the tree has is approached as far as the others allow.
            q, _ = Search(self.dynamics, desired, self.parameters, self.time, self.start.weights).settled(q)
        return q

    @cached_property
    def desired(self) -> Desired:
        """What the caller gave, with locked joints and bodies where they are at the beginning."""
        joints, quantities, values = dict(self.given.joints), list(self.given.quantities), dict(self.given.values)
        if not self.start.locked:
            return self.given
        if isinstance(self.start.locked, str) or not all(isinstance(name, str) for name in self.start.locked):
            raise DalembertError(f"locked: expected a list of joints and bodies, got {self.start.locked!r}")
        q = self.beginning()
        motion = Equations(self.tree, self.time, q, np.zeros(self.dynamics.nv)).motion
        for name in self.start.locked:
            if name in self.flat.joints:
                joints.setdefault(name, self._measure(q, name).copy())
            elif name in self.flat.bodies:
                one = pose_quantity(name)
                if name not in values:
                    quantities.append(one)
                    values[name] = np.asarray(one.measure(motion), dtype=float)
            elif name in self.flat.outputs:
                (one,) = read_desired(self.coordinates, {name: 0.0}, "locked").quantities
                quantities.append(one)
                values[name] = np.asarray(one.measure(motion), dtype=float)
            else:
                known = ", ".join([*self.flat.joints, *self.flat.bodies])
                raise ModelError(Problem(f"locked: unknown joint or body {name!r}", "locked", f"one of {known}"))
        return Desired(joints, tuple(quantities), values)

    def _near(self, q: np.ndarray, desired: Desired) -> np.ndarray:
        """A closed position with what is wanted, near a start; what keeps it open is said by name."""
        search = Search(self.dynamics, desired, self.parameters, self.time, self.start.weights)
        found, best, _ = search.nearest(self.placed(q, desired))
        if found is None:
            from dalembert.analyses.assembly.assemble_gap import explain

            raise explain(search, q, best)
        return found

    # What is wanted

    def _joint(self, name: str) -> Joint:
        return self.mechanism.joint(name).joint

    def _of_model(self, formulas: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return {name: np.array([self._number(v) for v in values]) for name, values in formulas.items()}

    @property
    def _own(self) -> dict[str, np.ndarray]:
        """What the model itself says: its start, and its drives at this time."""
        return self.own_start | self._driven

    @cached_property
    def own_start(self) -> dict[str, np.ndarray]:
        """Coordinates with which the model begins, by joint."""
        found = self._of_model(self.flat.initial_values)
        for name, value in found.items():
            joint = self._joint(name)
            found[name] = joint.normalize(NUMPY, read_joint(joint, name, value, "initial", joint.nq))
        return found

    def _rate(self, name: Any, value: Any) -> np.ndarray:
        name = getattr(name, "name", name)
        if name not in self.flat.joints:
            known = ", ".join(self.flat.joints)
            raise ModelError(Problem(f"initial_rates: unknown joint {name!r}", "initial_rates", f"one of {known}"))
        joint = self._joint(name)
        return read_joint(joint, name, value, "initial_rates", joint.nv)

    def _check_weights(self) -> None:
        slots = self.coordinates.slot_of_joint
        for name, weight in self.start.weights.items():
            if name not in slots:
                what = "closes a loop here" if name in self.flat.joints else "is not known"
                raise ModelError(
                    Problem(f"weights: joint {name!r} {what}", "weights", f"weigh some of {', '.join(slots)}")
                )
            if not (isinstance(weight, NUMBER) and np.isfinite(weight) and weight > 0):
                raise ModelError(Problem(f"weights: {name!r} must have a positive number, got {weight!r}", "weights"))

    @cached_property
    def _stride(self) -> np.ndarray:
        """1/√weight of each velocity in its unit."""
        return self.even.velocities * strides(self.dynamics, self.start.weights)

    def _number(self, formula: Any, t: float | None = None) -> float:
        values = {**self.values, **({} if t is None else {TIME.name: t})}
        return number(formula, values)

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
        sizes = [np.nan_to_num(np.abs(move)) * self._units_of(q, name) for name, move in moves.items()]
        largest = max((size.max(initial=0.0) for size in sizes), default=0.0)
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
            if winding.joint in wanted and np.isfinite(wanted[winding.joint][winding.index]):
                q[winding.q] = wanted[winding.joint][winding.index]
        for name in wanted:
            slot = self.coordinates.slot_of_joint.get(name)
            if slot is not None and slot.q.stop - slot.q.start == len(self.coordinates.joint_at(slot).neutral()):
                # The path counts turns; the last digits are the user's own.
                near = np.abs(q[slot.q] - wanted[name]) < 1e-9 * self.even.coordinates[slot.q]
                q[slot.q] = np.where(near, wanted[name], q[slot.q])
        return q

    def _newton(self, q: np.ndarray, targets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
        """Closest q that closes the loops and meets the targets; the residual if there is none."""
        size, alone = self.even.size(q), bool(self._points[0].any())
        residual, error = np.zeros(0), np.inf
        for _ in range(NEWTON_STEPS):
            residual, jacobian = self._system(q, targets)
            if not np.all(np.isfinite(residual)):
                return q, residual
            previous, error = error, np.abs(residual).max(initial=0.0)
            if error <= EXACT * size or (error <= CLOSED * size and error > 0.1 * previous):
                return q, None
            # Where all else is closed, massless points find their balance alone, as long as that helps.
            alone = alone and error < previous
            du = -self._shortest(jacobian, residual, alone and self._is_closed_elsewhere(residual, size))
            longest = np.abs(du / self.even.velocities).max()
            q = self.tree.normalize(
                self.tree.integrate(q, du * min(1.0, 2 * LARGEST_MOVE / longest) if longest else du)
            )
            q = self._with_windings(q) if self.coordinates.windings else q
        return q, residual

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        return points_and_balances(self.dynamics)

    def _is_closed_elsewhere(self, residual: np.ndarray, size: float) -> bool:
        """True if all but the balance of massless points is closed."""
        rest = residual.copy()
        rest[: self.dynamics.holonomic][self._points[1]] = 0.0
        return bool(np.abs(rest).max(initial=0.0) <= EXACT * size)

    def _shortest(self, A: Any, b: np.ndarray, points: bool = False) -> np.ndarray:
        """The x with the least Σ w x² that brings A x closest to b; of massless points alone, if asked."""
        if np.all(self._stride == 1.0):
            return least(A, b)
        stride = self._stride * self._points[0] if points else self._stride
        return stride * least(scaled(A, stride), b)

    def _system(self, q: np.ndarray, targets: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
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
        joint, slot = self._joint(name), self.coordinates.slot_of_joint.get(name)
        residual, rows = joint.difference(NUMPY, target, self._measure(q, name)), joint_rows(joint, target)
        if slot is None and joint.nq == joint.nv:
            # Poses know angles only up to whole turns.
            for index in joint.angles:
                residual[index] = np.angle(np.exp(1j * residual[index]))
        J = self._rates_matrix(q, name)[rows]
        units = self.even.row_units(J)
        return units * residual[rows], self._even(J, units)

    def _units_of(self, q: np.ndarray, name: str) -> np.ndarray:
        """What moves of a joint are multiplied by."""
        joint = self._joint(name)
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
            rows = joint_rows(self._joint(name), wanted[name])
            units = self._units_of(q, name)[rows]
            label = f"{name} (wanted {wanted[name].tolist()})"
            shown += [(label, value, unit) for value, unit in zip(residual[at : at + len(units)], units, strict=True)]
            at += len(units)
        for name, value, unit in shown:
            if abs(value) > SHOWN:
                open_by[name] = max(open_by.get(name, 0.0), abs(value) / unit)
        parts = [f"{name} is off by {value:.3g}" for name, value in open_by.items()]
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
