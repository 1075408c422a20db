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
    pose_quantity,
    read_desired,
    read_joint,
    split_states,
)
from dalembert.analyses.assembly.assemble_search import Search
from dalembert.analyses.assembly.close_loops import CLOSED, Loops
from dalembert.coordinates import Relative
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.expressions import TIME, number
from dalembert.state import State
from dalembert.values import NUMBER

__all__ = ["Assembler", "Start", "assemble_state"]

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
        self.loops = Loops(dynamics, parameters, self.time, start.weights)
        self.tree = self.loops.tree
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
        for name, place in self.coordinates.own_states.items():
            q[place] = self.own_states.get(name, q[place])
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
            joint, index, count = entry[1], int(entry[2]), self.loops.joint(entry[1]).nv
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
        q, u = self.loops.reference(), np.zeros(self.dynamics.nv)
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
            q = self.loops.lead(self.loops.reference(), own)
            return self._led(q) if given and self._leads else self.loops.lead(q, given) if given else q
        except ModelError:
            wanted, q = own | given, self.loops.reference()
            for name, value in wanted.items():
                self._put(q, name, value)
            q = self.loops.with_windings(q) if self.coordinates.windings else q
            q, left = self.loops.newton(q, wanted)
            if left is None:
                return q
            if self.dynamics.is_large:
                raise
            return self._near(self.loops.reference(), Desired(given, (), {}))

    # From a guess, with locked joints, with quantities that are no joints

    def _searched(self) -> np.ndarray:
        if self.dynamics.is_large:
            raise ModelError(
                Problem(
                    f"{self.flat.name!r} has {len(self.flat.bodies)} bodies: guess, locked and quantities other than "
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
            raise ModelError(f"{self.flat.name!r} cannot be kept closed on the way to these values")
        return found[0]

    def _is_open(self, q: np.ndarray) -> bool:
        """True if a position is not closed, so that no path begins there."""
        return bool(np.abs(self.loops.system(q, {})[0]).max(initial=0.0) > CLOSED * self.even.size(q))

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
            joints[name] = np.where(rows, self.loops.measure(q, name), np.nan)
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
                return self.loops.lead(self.loops.reference(), self._own)
            except ModelError:
                return self.placed(self.loops.reference(), Desired(self._own, (), {}))
        desired = read_desired(self.coordinates, guess, "guess")
        own = {name: value for name, value in self._own.items() if name not in desired.joints}
        q = self.placed(self.placed(self.loops.reference(), Desired(own, (), {})), desired)
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
                joints.setdefault(name, self.loops.measure(q, name).copy())
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
            joint = self.loops.joint(name)
            found[name] = joint.normalize(NUMPY, read_joint(joint, name, value, "initial", joint.nq))
        return found

    def _rate(self, name: Any, value: Any) -> np.ndarray:
        name = getattr(name, "name", name)
        if name not in self.flat.joints:
            known = ", ".join(self.flat.joints)
            raise ModelError(Problem(f"initial_rates: unknown joint {name!r}", "initial_rates", f"one of {known}"))
        joint = self.loops.joint(name)
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
                if self.loops.joint(joint).nq == 1:
                    found[joint] = np.array([self._number(formula, self.time)])
        return found

    # Positions

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
        u, problem = self.loops.least_velocities(q, own | given)
        if problem is not None and own and (given or moved):
            u, problem = self.loops.least_velocities(q, given, own)
        if problem is not None:
            raise ModelError(problem)
        return u
