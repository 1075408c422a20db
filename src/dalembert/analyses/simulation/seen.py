"""What a certificate looks at along a run: each computed once, and only where something asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.evaluate import coupled_along
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.record import solve_states
from dalembert.trajectory.recorded import Recorded

__all__ = ["Accelerations", "Seen"]


class Accelerations(NamedTuple):
    """u̇ and λ at all outputs, or at some of them; and the largest |A u̇ + γ| there, NaN if it cannot be found."""

    du: np.ndarray
    multipliers: np.ndarray
    left: float


@dataclass(frozen=True)
class Seen:
    """A run and its quantities at the outputs."""

    dynamics: Dynamics
    outcome: Outcome
    data: Recorded

    @cached_property
    def residuals(self) -> list[Any]:
        """φ, A u + b and A at the outputs of each piece of the run."""
        t, q, u = (self.data[name] for name in ("time", "q", "u"))
        return [
            self.dynamics.residuals(t[at], q[at], u[at], parameters)
            for at, parameters in pieces(self.outcome.segments, len(t))
        ]

    def residual(self, level: str) -> np.ndarray:
        """``position`` or ``velocity`` of the residuals at all outputs, one column for each equation."""
        return np.concatenate([np.asarray(getattr(piece, level)) for piece in self.residuals])

    @cached_property
    def events(self) -> np.ndarray:
        """The values of all events at all outputs."""
        t, q, u = (self.data[name] for name in ("time", "q", "u"))
        kernel = self.dynamics.kernels.event_kernel
        parts = [
            np.asarray(kernel(t[at], q[at], u[at], self.dynamics.parameters(values))).reshape(len(t[at]), -1)
            for at, values in pieces(self.outcome.segments, len(t))
        ]
        return np.concatenate(parts)

    @cached_property
    def accelerations(self) -> Accelerations:
        """At all outputs where forces of contacts and cables are judged, else at some of them."""
        flat, owners = self.dynamics.flat, {row.owner for row in self.dynamics.rows}
        pulling = any(one.pulls for name, (one, _) in flat.constraints.items() if name in owners)
        times, states, segments = self.outcome.result.time, self.outcome.result.states, self.outcome.segments
        if not flat.contacts and not pulling:
            at = self.outcome.some
            at = at[at < len(times)]
            times, states = times[at], states[at]
            segments = [(int(np.searchsorted(at, first)), parameters) for first, parameters in segments]
        du, multipliers = solve_states(self.dynamics, times, states, segments)
        left = [0.0] if self.dynamics.is_large or not self.dynamics.rows else [
            self._left(times[at], states[at], du[at], parameters) for at, parameters in pieces(segments, len(du))
        ]  # fmt: skip
        return Accelerations(du, multipliers, float(np.max(left)))

    def _left(self, times: np.ndarray, states: np.ndarray, du: np.ndarray, parameters: dict[str, float]) -> float:
        """The largest |A u̇ + γ| at some outputs with the same parameters."""
        places, context = self.dynamics.dynamics_kernel.places, self.dynamics.evaluation(parameters)
        (jacobian, (rows, _)), (gamma, _) = places["jacobian"], places["gamma"]
        context.tau[:] = 0.0
        return coupled_along(context, times, states, du, jacobian, gamma, rows)
