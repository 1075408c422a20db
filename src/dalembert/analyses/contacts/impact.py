"""Events that act: parameters that change, constraints that are switched, velocities that jump in an impact.

An impact changes velocities alone. With the rates v that joints are given, J Δu = v − J u, and all constraints
afterwards, A (u + Δu) + b = 0, Gauss's principle gives M Δu = Aᵀ Λ + Jᵀ Π: the smallest change in the metric of M.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.numerics.context import OK
from dalembert.numerics.linear import solve_constrained

__all__ = ["carry_out"]

# How far positions may be open when a constraint is switched on (m, rad).
SWITCH_TOLERANCE = 1e-6


def carry_out(
    dynamics: Dynamics, name: str, t: float, x: np.ndarray, parameters: dict[str, float]
) -> tuple[dict[str, float], str | None]:
    """Let an event act on the state x = (q, u, W), which is changed in place.

    Returns:
        the parameters afterwards, and in words why the event cannot act, if so.
    """
    event, _ = dynamics.flat.events[name]
    before = _energy(dynamics, t, x, parameters)
    q, u = x[: dynamics.nq], x[dynamics.nq : dynamics.nq + dynamics.nv]
    known = dict(zip(dynamics.parameter_names, map(float, dynamics.found(t, q, u, parameters)), strict=True))
    values, rates = _equations(dynamics, t, x, known).event_values()[name]
    switches = dynamics.flat.switches
    after = parameters | dict(zip(event.set, map(float, values), strict=True))
    after |= {switches[constraint]: float(on) for constraint, on in event.switch.items()}
    trouble = _impact(dynamics, t, x, after, event, rates)
    if trouble:
        return after, f"event {name!r}: {trouble}"
    # The energy that an event takes or gives counts as work.
    x[-1] += _energy(dynamics, t, x, after) - before
    return after, None


def _impact(
    d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], event: Any, rates: np.ndarray
) -> str | None:
    """New velocities by an impact on the joints named; all constraints hold afterwards. Words if that fails."""
    if not event.acts:
        return None
    equations, q, u = _equations(d, t, x, parameters), x[: d.nq], x[d.nq : d.nq + d.nv]
    A, rate = np.zeros((0, d.nv)), np.zeros(0)
    M = d.mass_matrix(q, t=t, parameters=parameters)
    if d.rows:
        seen = d.residuals(t, q, u, parameters)
        A, rate, open_by = np.asarray(seen.jacobian), np.asarray(seen.velocity), np.asarray(seen.position)
        if len(open_by) and np.abs(open_by).max() > SWITCH_TOLERANCE:
            row = d.rows[int(np.argmax(np.abs(open_by)))]
            return (
                f"{row} does not hold in this position (open by {np.abs(open_by).max():.2g}); a constraint at "
                f"position level can be switched on only where it holds.  Fix: level='velocity', or another event"
            )
    for (joint, i), wanted in zip(event.rate_targets, rates, strict=True):
        row, bias = _rate_row(equations, joint, i, d.nv)
        A, rate = np.vstack([A, row]), np.append(rate, row @ u + bias - wanted)
    du = np.zeros(d.nv)
    status, *_, conflict = solve_constrained(M, np.zeros(d.nv), A, rate, du, np.zeros(len(A)))
    if status != OK:
        return "some direction of motion has neither mass nor constraint"
    if conflict > 1e-6 * (1.0 + np.abs(rate).max(initial=0.0)):
        return "the velocities it asks for contradict the constraints"
    u += du
    return None


def _equations(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> Equations:
    tree = d.coordinates.place(NUMPY, {**d.flat.parameters, **parameters})
    return Equations(tree, t, x[: d.nq], x[d.nq : d.nq + d.nv])


def _energy(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> float:
    kinetic, potential = d.energy(x[: d.nq], x[d.nq : d.nq + d.nv], t=t, parameters=parameters)
    return float(np.sum(kinetic) + np.sum(potential))


def _rate_row(equations: Equations, joint: str, index: int, nv: int) -> tuple[np.ndarray, float]:
    """How a velocity of a joint depends on all velocities, and what it is without them: v = J u + b."""

    def rate(u: np.ndarray) -> float:
        return float(Equations(equations.tree, equations.t, equations.q, u).joint_coordinates(joint)[1][index])

    bias = rate(np.zeros(nv))
    return np.array([rate(column) - bias for column in np.eye(nv)]), bias
