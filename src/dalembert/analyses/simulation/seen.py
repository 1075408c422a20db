"""What a certificate looks at along a run: each computed once, and only where something asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.evaluate import coupled_along, largest_open
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.record import solve_states
from dalembert.trajectory.recorded import Recorded

__all__ = ["Accelerations", "Seen", "largest"]

LEVELS = "position", "velocity"


class Accelerations(NamedTuple):
    """u̇ and λ at all outputs, or at some of them; and the largest |A u̇ + γ| there, NaN if it cannot be found."""

    du: np.ndarray
    multipliers: np.ndarray
    left: float


@dataclass(frozen=True)
class Seen:
    """A run and its quantities at the outputs.

    Attributes:
        away: the motion keeps away from singular positions, so A is not asked for.
    """

    dynamics: Dynamics
    outcome: Outcome
    data: Recorded
    away: bool = False

    @cached_property
    def left_open(self) -> tuple[float, float]:
        """The largest |φ| and |A u + b| at all outputs; without the arrays where nobody else looks at them."""
        dynamics = self.dynamics
        looked_at = dynamics.is_large or dynamics.flat.contacts or not self.away
        lanes = None if looked_at else dynamics.constraint_lanes
        if lanes is None:
            parts = [tuple(largest(self.residuals[level]) for level in LEVELS)]
        else:
            times, states = self.data["time"], self.outcome.result.states
            parts = [
                largest_open(lanes, times[at], states[at], dynamics.parameters(values))
                for at, values in pieces(self.outcome.segments, len(times))
            ]
        position, velocity = map(_worst, zip(*parts, strict=True))
        return position, velocity

    @cached_property
    def residuals(self) -> dict[str, np.ndarray]:
        """φ (``position``) and A u + b (``velocity``) at all outputs, one column for each equation."""
        parts = self._constraints
        if len(parts) == 1:
            return dict(zip(LEVELS, parts[0], strict=False))
        return {level: np.concatenate([part[k] for part in parts]) for k, level in enumerate(LEVELS)}

    @cached_property
    def jacobians(self) -> list[np.ndarray]:
        """A at the outputs of each piece of the run; none where nobody looks at it."""
        return [part[len(LEVELS)] for part in self._constraints if len(part) > len(LEVELS)]

    @cached_property
    def _constraints(self) -> list[list[np.ndarray]]:
        dynamics, names = self.dynamics, LEVELS if self.away else (*LEVELS, "jacobian")
        if dynamics.is_large:
            return [
                [np.asarray(getattr(found, level)) for level in LEVELS] for found in self._along(dynamics.residuals)
            ]

        def found(t: np.ndarray, q: np.ndarray, u: np.ndarray, values: dict[str, float]) -> list[np.ndarray]:
            return dynamics.constraint_kernel.some(names, t, q, u, dynamics.parameters(values))

        return self._along(found)

    def _along(self, evaluate: Callable[..., Any]) -> list[Any]:
        """What is found at the outputs of each piece of the run."""
        t, q, u = (self.data[name] for name in ("time", "q", "u"))
        return [evaluate(t[at], q[at], u[at], values) for at, values in pieces(self.outcome.segments, len(t))]

    @cached_property
    def events(self) -> np.ndarray:
        """The values of all events at all outputs."""
        dynamics, kernel = self.dynamics, self.dynamics.kernels.event_kernel

        def found(t: np.ndarray, q: np.ndarray, u: np.ndarray, values: dict[str, float]) -> np.ndarray:
            return np.asarray(kernel(t, q, u, dynamics.parameters(values))).reshape(len(t), -1)

        return np.concatenate(self._along(found))

    @cached_property
    def accelerations(self) -> Accelerations:
        """At all outputs where forces of contacts and cables are judged, at some of them where they may have no value,
        else at few."""
        flat, owners = self.dynamics.flat, {row.owner for row in self.dynamics.rows}
        pulling = any(one.pulls for name, (one, _) in flat.constraints.items() if name in owners)
        times, states, segments = self.outcome.result.time, self.outcome.result.states, self.outcome.segments
        if not flat.contacts and not pulling:
            at = self.outcome.some if self.dynamics.kernels.assumes else self.outcome.fewest
            at = at if at[-1] < len(times) else at[at < len(times)]
            times, states = times[at], states[at]
            if len(segments) > 1:
                segments = [(int(np.searchsorted(at, first)), parameters) for first, parameters in segments]
        du, multipliers = solve_states(self.dynamics, times, states, segments)
        left = [0.0] if self.dynamics.is_large or not self.dynamics.rows else [
            self._left(times[at], states[at], du[at], parameters) for at, parameters in pieces(segments, len(du))
        ]  # fmt: skip
        return Accelerations(du, multipliers, _worst(left))

    def _left(self, times: np.ndarray, states: np.ndarray, du: np.ndarray, parameters: dict[str, float]) -> float:
        """The largest |A u̇ + γ| at some outputs with the same parameters."""
        places, context = self.dynamics.dynamics_kernel.places, self.dynamics.evaluation(parameters)
        (jacobian, (rows, _)), (gamma, _) = places["jacobian"], places["gamma"]
        context.tau[:] = 0.0
        return coupled_along(context, times, states, du, jacobian, gamma, rows)


def _worst(values: Iterable[float]) -> float:
    """The largest, NaN if one is."""
    return max(values, key=lambda value: (value != value, value))


def largest(values: Any) -> float:
    """In size; 0 of nothing."""
    return float(np.abs(np.asarray(values)).max(initial=0.0))
