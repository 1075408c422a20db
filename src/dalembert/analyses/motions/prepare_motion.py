"""What all analyses of prescribed motion share: instants, the working model, what follows the motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from dalembert.analyses.assembly.prescribe import Given, Unknown, add_turns, given_motion, working_model
from dalembert.analyses.motions.follow import MotionFollower
from dalembert.analyses.motions.motion_contacts import MotionContacts
from dalembert.analyses.motions.signals import Signals, signal_of
from dalembert.analyses.simulation.give_inputs import refuse_states
from dalembert.analyses.simulation.options import DEFAULT_OUTPUTS, Options
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.model import Model, flatten
from dalembert.state import HasState, State, state_of
from dalembert.values import TUPLE

__all__ = ["MotionOptions", "PreparedMotion", "beginning", "instants", "key_of"]


class MotionOptions(TypedDict, total=False):
    """Options of all analyses of prescribed motion, as keyword arguments."""

    initial: Mapping[str, Any] | State | HasState | None
    parameters: Mapping[str, float] | None
    output_step: float | None


def key_of(name: Any) -> Any:
    """A quantity as a key: names of elements, points as tuples."""
    key = getattr(name, "name", name)
    return (key[0], tuple(key[1])) if isinstance(key, TUPLE) and len(key) == 2 else key


def beginning(initial: Any) -> Any:
    """Where a motion begins: a state, joint coordinates by name, or None."""
    initial = state_of(initial)
    return initial if initial is None or isinstance(initial, State) else dict(initial)


def instants(duration: Any, output_step: float | None) -> np.ndarray:
    """When the motion is looked at: over a duration (s), or at the instants themselves."""
    if np.ndim(duration) == 0:
        if duration is None:
            raise DalembertError("how long?  Fix: duration=2.0 (s), or an array of instants")
        return Options(output_step=output_step).times(duration, DEFAULT_OUTPUTS)
    times = np.ascontiguousarray(duration, dtype=float)
    if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0):
        raise DalembertError("duration: expected seconds, or one row of instants, each later than the one before")
    return times


class PreparedMotion:
    """All that does not depend on values: the equations without drives, and what follows the motion.

    Attributes:
        model, flat: as given.
        dynamics: the equations without drives, unknown forces as parameters.
        follower: finds the states.
        contacts: limits, rigid contacts and friction on the way.
    """

    def __init__(self, model: Model, motion: Mapping[Any, Any], unknowns: Any = None):
        model.validate()
        self.model, self.flat = model, flatten(model)
        refuse_states("a prescribed motion", self.flat, "give what the states act on as an input or a parameter")
        self.check_feedback()
        given = given_motion(self.flat, motion)
        working = working_model(model, given, self.find_unknowns(given, unknowns))
        add_turns(working, given, COORDINATES["relative"](flatten(working)).cut)
        self.dynamics = Dynamics(working, "auto", "relative")
        self.follower = MotionFollower(self.dynamics, given, self.flat.parameters)
        self.contacts = MotionContacts(self.dynamics)
        self._signals: dict[Any, Signals] = {}

    def check_feedback(self) -> None:
        """Without forces nothing is known of reactions that formulas name."""
        self.flat.refuse_feedback("a prescribed motion")

    def find_unknowns(self, given: list[Given], unknowns: Any) -> list[Unknown]:
        """Forces that are looked for; none, unless an analysis has some."""
        return []

    def signals(self, given: list[Given], span: tuple[float, float]) -> Signals:
        """The prescribed values; formulas are compiled once."""
        parts = [signal_of(one.name, one.value, span) for one in given]
        key = tuple(part if not hasattr(part, "spline") else id(part) for part in parts)
        if any(hasattr(part, "spline") for part in parts):
            return Signals(parts, tuple(self.flat.parameters))
        if key not in self._signals:
            self._signals = {key: Signals(parts, tuple(self.flat.parameters))}
        return self._signals[key]
