"""How redundant constraints share what they carry: of all possible reactions those with the least Σ wᵢ |Fᵢ|².

Reactions that hold each other in balance (Aᵀ n = 0: a state of self-stress) can be added to any solution. Rigid bodies
do not tell how much of them there is; weights, which are compliances up to a factor, do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.numerics.linear import RANK_TOLERANCE, ROUNDING
from dalembert.trajectory.outcome import pieces

if TYPE_CHECKING:
    from dalembert.trajectory.trajectory import Trajectory

__all__ = ["Weights", "share", "shared_along", "weight_vector"]

Weights = Mapping[str, float | Sequence[float]]


def weight_vector(joints: Sequence[str], constraints: Sequence[str], weights: Weights) -> np.ndarray:
    """Weights of the components of all joints (torque, force; world axes), then of all equations of constraints.

    Args:
        constraints: the owner of each equation.
        weights: by joint or constraint; one number, or for a joint two: of torque and of force.
    """
    unknown = [name for name in weights if name not in joints and name not in constraints]
    if unknown:
        known = ", ".join([*joints, *dict.fromkeys(constraints)])
        raise DalembertError(f"weights: no reaction of {', '.join(map(repr, unknown))}; known: {known}")
    found: list[np.ndarray] = []
    for name in joints:
        value = np.asarray(weights.get(name, 1.0), dtype=float)
        if value.shape not in ((), (2,)) or not np.all(np.isfinite(value)) or not np.all(value > 0):
            raise DalembertError(
                f"weights: joint {name!r} takes one positive number, or two (torque, force), got {weights[name]!r}"
            )
        found.append(np.repeat(value * np.ones(2), 3))
    for name in constraints:
        value = np.asarray(weights.get(name, 1.0), dtype=float)
        if value.shape != () or not np.isfinite(value) or value <= 0:
            raise DalembertError(f"weights: constraint {name!r} takes one positive number, got {weights[name]!r}")
        found.append(value.reshape(1))
    return np.concatenate([np.zeros(0), *found])


def share(reactions: np.ndarray, stresses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Reactions plus the self-stresses (rows) that make Σ w F² least."""
    if not len(stresses):
        return reactions
    root = np.sqrt(weights)
    amounts = np.linalg.lstsq((stresses * root).T, -reactions * root, rcond=None)[0]
    return reactions + amounts @ stresses


def shared_along(
    run: Trajectory, du: np.ndarray, multipliers: np.ndarray, reactions: Mapping[str, Any], weights: Weights
) -> dict[str, np.ndarray]:
    """Reactions of all joints and constraints at every output, shared by weights."""
    dynamics = run.dynamics
    t, q, u = run.time.values, run.q.values, run.u.values
    joints = list(reactions)
    rows = dynamics.rows.of(dynamics.flat.constraints)
    owners = [dynamics.rows[i].owner for i in rows]
    plain = [reactions[name].values.reshape(len(t), 6) for name in joints]
    vectors = np.concatenate([*plain, multipliers[:, rows]], axis=1)
    w = weight_vector(joints, owners, weights)
    columns = [*range(6 * len(joints)), *(6 * len(joints) + i for i in rows)]
    for piece, values in pieces(run.segments, len(t)):
        at, stresses = _stresses(dynamics, t[piece], q[piece], u[piece], du[piece], values)
        for i in np.unique(at):
            vectors[piece.start + i] = share(vectors[piece.start + i], stresses[at == i][:, columns], w)
    found = {name: vectors[:, 6 * i : 6 * i + 6] for i, name in enumerate(joints)}
    for name in dict.fromkeys(owners):
        found[name] = vectors[:, [6 * len(joints) + i for i, owner in enumerate(owners) if owner == name]]
    return found


def _stresses(
    dynamics: Dynamics, t: np.ndarray, q: np.ndarray, u: np.ndarray, du: np.ndarray, parameters: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Self-stresses at each of n states: the state of each, and its reactions of joints and multipliers as rows."""
    A = np.asarray(dynamics.residuals(t, q, u, parameters).jacobian)
    norms = np.linalg.norm(A, axis=2)
    none = norms <= ROUNDING * np.maximum(1.0, norms.max(axis=1, initial=0.0))[:, None]
    scale = np.where(none, 1.0, norms)
    U, s, _ = np.linalg.svd(np.where(none[:, :, None], 0.0, A / scale[:, :, None]))
    rank = np.sum(s > RANK_TOLERANCE * np.maximum(s[:, :1], 1e-300), axis=1)
    at = np.repeat(np.arange(len(t)), A.shape[1] - rank)
    vectors = [U[i, :, r:].T / scale[i] for i, r in enumerate(rank)]
    n = np.concatenate([np.zeros((0, A.shape[1])), *vectors])
    if not len(n):
        return at, np.zeros((0, 0))
    values = dynamics.parameters(parameters)

    def wrenches(multipliers: np.ndarray) -> np.ndarray:
        found: Any = dynamics.kernels.reaction_kernel(t[at], q[at], u[at], values, du[at], multipliers)
        return np.asarray(found).reshape(len(at), -1)

    return at, np.concatenate([wrenches(n) - wrenches(np.zeros_like(n)), n], axis=1)
