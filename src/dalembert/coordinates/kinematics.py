"""Poses, twists and accelerations of all bodies: the outward pass.

Legend (all in body axes, about the body origin):
    X_PB  pose of the body in its parent       X_WB  pose in the world
    S     joint subspace, V = S u              V     twist
    A     rate of V (time derivative of its components)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.coordinates.base import Link, PlacedTree
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion
from dalembert.spatial.so3 import hat

__all__ = ["BodyState", "outward", "pose_jets"]


@dataclass(frozen=True)
class BodyState:
    """One body in motion."""

    X_PB: Pose
    X_WB: Pose
    S: np.ndarray
    V: np.ndarray
    A: np.ndarray


def outward(tree: PlacedTree, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, base: Any = None) -> list[BodyState]:
    """From the ground to the tips:

        X_WB = X_WP X_PB,   V = X_BP V_P + S u,   A = X_BP A_P + S u̇ + Ṡ u + V × S u

    Args:
        du: velocities' rates; None for u̇ = 0.
        base: acceleration of the ground; (0, −g) lets bodies feel gravity.
    """
    al = tree.al
    states: list[BodyState] = []
    ground = BodyState(Pose.identity(al), Pose.identity(al), al.zeros(6, 0), al.zeros(6), al.zeros(6))
    root_acceleration = ground.A if base is None else base
    for link in tree.links:
        parent = ground if link.parent < 0 else states[link.parent]
        A_P = root_acceleration if link.parent < 0 else parent.A
        states.append(_step(al, link, parent, A_P, q[link.q], u[link.u], None if du is None else du[link.u]))
    return states


def _step(al: Algebra, link: Link, parent: BodyState, A_P: Any, q: Any, u: Any, du: Any) -> BodyState:
    X_PB = link.X_PJ @ link.joint.transform(al, q) @ link.X_JB
    columns = [link.X_JB.motion_inverse(column) for column in link.joint.subspace(al, q).T]
    S = np.stack(columns, axis=1) if columns else al.zeros(6, 0)
    own = S @ u if len(u) else al.zeros(6)
    V = X_PB.motion_inverse(parent.V) + own
    A = X_PB.motion_inverse(A_P) + link.X_JB.motion_inverse(link.joint.bias(al, q, u)) + cross_motion(V, own)
    if du is not None and len(u):
        A = A + S @ du
    return BodyState(X_PB, parent.X_WB @ X_PB, S, V, A)


def pose_jets(jets: Jets, X: Pose, V: np.ndarray, A: np.ndarray) -> Pose:
    """The pose with its time derivatives:  Ṙ = R ω̂,  R̈ = R (ω̂² + ω̇̂),  ṗ = R v,  p̈ = R (v̇ + ω × v)."""
    al = jets.base
    W, W1 = hat(al, V[:3]), hat(al, A[:3])
    R1, R2 = X.R @ W, X.R @ (W @ W + W1)
    return Pose(jets.jets(X.R, R1, R2), jets.jets(X.p, X.R @ V[3:], X.R @ (A[3:] + W @ V[3:])))
