"""The state of a mechanism: what every analysis takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.arguments import public_methods
from dalembert.coordinates import Coordinates
from dalembert.equations import Equations
from dalembert.errors import DalembertError, check_known, unknown
from dalembert.model.flatten import Flat
from dalembert.spatial import Pose

T = TypeVar("T")

__all__ = ["HasState", "State", "check_joints", "state_of"]


@public_methods
@dataclass(frozen=True)
class State:
    """A physical state: the same for all coordinates and formulations.

    Attributes:
        time: t (s).
        q, u: relative coordinates and velocities, as ``coordinates`` lays them out.
        parameters: values that differ from the model's.

    Example:
        state = da.assemble(da.library.four_bar(), {"A": 1.0})
        run = da.simulate(da.library.four_bar(), 1.0, initial=state, coordinates="absolute")
    """

    time: float
    q: np.ndarray
    u: np.ndarray
    coordinates: Coordinates
    parameters: dict[str, float]

    def __repr__(self) -> str:
        """Every coordinate by name, with its rate where joint coordinates have one each."""
        names, rates = self.coordinates.labels()
        moving = dict(zip(rates, self.u, strict=True))
        entries = [
            f"{name} {value:.6g}" + (f" (rate {moving[name]:.6g})" if names == rates and moving[name] else "")
            for name, value in zip(names, self.q, strict=True)
        ]
        return f"<State of {self.coordinates.flat.name!r} at t = {self.time:g} s: {', '.join(entries)}>"

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @cached_property
    def _equations(self) -> Equations:
        flat = self.coordinates.flat
        tree = self.coordinates.place(NUMPY, {**flat.parameters, **self.parameters})
        return Equations(tree, self.time, self.q, self.u)

    def joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a joint."""
        check_known("unknown joint", name, self.coordinates.flat.joints, "the model has")
        return self._equations.joint_coordinates(name)

    def body(self, name: str) -> tuple[Pose, np.ndarray]:
        """World pose of a body and its twist in body axes."""
        if name not in ("ground", *self.coordinates.flat.bodies):
            raise unknown("unknown body", name, self.coordinates.flat.bodies, "the model has")
        return self._equations.motion.body(name)

    def to(
        self, coordinates: Coordinates, joint: Callable[[str], tuple[np.ndarray, np.ndarray]] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same state in other coordinates.

        Args:
            joint: coordinates and velocities of a joint by name, where more is known than poses tell, such as turns.
        """
        if coordinates is self.coordinates:
            return self.q.copy(), self.u.copy()
        placed = coordinates.place(NUMPY, {**coordinates.flat.parameters, **self.parameters})
        q, u = placed.state(self.body, joint or self.joint)
        for name, place in coordinates.own_states.items():
            q[place] = self.q[self.coordinates.own_states[name]]
        return q, u

    def value(self, state: str) -> float:
        """The value of one of the model's own states."""
        own = self.coordinates.own_states
        if state in own:
            return float(self.q[own[state]])
        known = ", ".join(own) or "none"
        raise DalembertError(f"unknown state {state!r}; the model has {known}")


@runtime_checkable
class HasState(Protocol):
    """A result that stands at a state, such as an equilibrium."""

    @property
    def state(self) -> State: ...


def state_of(given: T | HasState) -> T | State:
    """What was given where a state may stand; for a result that has one its state, for a run that at its end."""
    own = getattr(given, "state", None)
    if callable(own):  # a run has states of the model's own besides
        own = getattr(given, "end", None)
    return own if isinstance(own, State) else cast("T", given)


def check_joints(what: str, state: State, flat: Flat) -> None:
    """Refuse the state of another model."""
    if set(state.coordinates.flat.joints) != set(flat.joints):
        raise DalembertError(f"{what}: the state is of a model with other joints.  Fix: {what}={{joint: value}}")
