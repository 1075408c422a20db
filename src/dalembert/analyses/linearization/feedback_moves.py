"""Small motions with forces that follow from accelerations and reactions which follow from them.

What formulas name, and forces of friction that slips, x, are what the motion makes of them:  x = h(q, u, u̇, λ, x). At
the reference Newton's method finds them. Next to it, δx first counts as one more input, to which all else answers; then

    δx = h_q δq + h_u δu + h_a δu̇ + h_m δλ + h_x δx + h_w w  =  P (state, w) + G δx      so      δx = (1 − G)⁻¹ P
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.analyses.linearization.dual_matrix import join, solve
from dalembert.analyses.linearization.minimal_state import Disturbance, Moves, Partition, reference_motion, response
from dalembert.dynamics import Dynamics
from dalembert.dynamics.perturb import Point, feedback_names
from dalembert.errors import DalembertError

__all__ = ["close_feedback", "settle_feedback", "with_feedback"]

MOST_STEPS = 50
CLOSE = 1e-13  # of the largest value
FLAT = 1e-12  # a determinant that is zero


def settle_feedback(d: Dynamics, at: Point, partition: Partition, redundant: bool) -> Point:
    """The same instant with u̇, λ and what formulas name of them.

    Args:
        redundant: whether the constraints do not determine all reactions.
    """
    names, perturb = feedback_names(d.flat), d.kernels.perturbations
    t, q, u, p, _, *_ = (array.copy() for array in at.arrays)
    x = [d.parameter_names.index(name) for name in names]
    last = np.inf
    for _ in range(MOST_STEPS):
        T = perturb.tangent(Point(float(t[0]), q, u, p, np.zeros(d.nv), np.zeros(len(d.rows))))
        now = Point(float(t[0]), q, u, p, *reference_motion(T, partition))
        if not names:
            return now
        F = perturb.feedback((), now)
        if redundant and np.any(F["h_m"]):
            raise DalembertError(
                f"linearize: redundant constraints of {d.flat.name!r} leave reactions open, on which "
                f"{', '.join(names[:4])} depend{'s' * (len(names) == 1)}.  "
                f"Fix: remove the redundancy, da.redundancy(model) shows how"
            )
        missing = F["h"] - p[x]
        missed, size = float(np.abs(missing).max()), float(np.abs(np.append(F["h"], p[x])).max())
        if missed <= CLOSE * size or (missed >= 0.5 * last and missed <= 1e-9 * size):
            return now
        du, multipliers = response(T, partition, perturb.by_parameters(names, now)["r_p"])
        K = np.eye(len(x)) - F["h_x"] - F["h_a"] @ du - F["h_m"] @ multipliers
        determinant = float(np.linalg.det(K))
        if not determinant > FLAT:
            raise _not_unique(f"det(1 − G) = {determinant:.3g}", names)
        p[x] += np.linalg.solve(K, missing)
        last = missed
    raise _not_unique(f"{MOST_STEPS} steps of Newton's method found none", names)


def _not_unique(why: str, names: list[str]) -> DalembertError:
    return DalembertError(
        f"linearize: forces depend on {', '.join(names[:4])}, which they cause themselves, and no value or more than "
        f"one fits ({why}).  Fix: a weaker dependence, or mass where it acts"
    )


def with_feedback(added: Disturbance, by: dict[str, Any], own: list[int]) -> Disturbance:
    """Inputs, and what is fed back as further ones.

    Args:
        by: derivatives of the residuals by it (``Perturbations.by_parameters``).
        own: where the model's own states are in q.
    """
    return Disturbance(
        join(added.r, by["r_p"]), join(added.g, by["g_p"]), join(added.v, by["v_p"]), join(added.phi, by["phi_p"]),
        join(added.states, by["qdot_p"][own]),
    )  # fmt: skip


def close_feedback(m: Moves, F: dict[str, Any], by_inputs: np.ndarray) -> Moves:
    """Moves in which δx follows what it is made of; its own columns come last, and go.

    Args:
        F: what is fed back and its derivatives (``Perturbations.feedback``).
        by_inputs: its derivatives by the inputs.
    """
    k = int(F["h_x"].shape[0])
    n = int(m.rates.shape[1]) - k
    found = F["h_q"] @ m.q + F["h_u"] @ m.u + F["h_a"] @ m.du + F["h_m"] @ m.multipliers
    direct = join(np.zeros((k, n - by_inputs.shape[1])), by_inputs, F["h_x"])
    total = found + direct
    x = solve(np.eye(k) - total[:, n:], total[:, :n])
    parts = {field.name: getattr(m, field.name) for field in fields(m) if field.name != "feedback"}
    return replace(m, feedback=x, **{name: part[:, :n] + part[:, n:] @ x for name, part in parts.items()})
