"""Poses, twists and accelerations of all bodies: the outward pass.

Legend (in link axes, about the link origin, unless said otherwise):
    X_PL  pose of the link in its parent link    X_WL  pose in the world
    S     joint subspace, own twist S u          V     twist
    A     rate of V (time derivative of its components)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion
from dalembert.spatial.so3 import hat
from dalembert.tree.link import Link, Tree

__all__ = ["BodyState", "LinkState", "outward", "pose_jets", "step_outward"]


@dataclass(frozen=True)
class BodyState:
    """A body in motion: world pose, twist and its rate in body axes."""

    X_WB: Pose
    V: np.ndarray
    A: np.ndarray

    def jets(self, jets: Jets) -> tuple[Pose, np.ndarray]:
        """Pose and twist with their time derivatives."""
        return pose_jets(jets, self.X_WB, self.V, self.A), jets.jets(self.V, self.A, jets.base.zeros(6))


@dataclass(frozen=True)
class LinkState:
    """One link in motion, and its body; ``rotor`` is the joint force that its armature takes. Both None without one."""

    X_LB: Pose
    X_PL: Pose
    X_WL: Pose
    S: np.ndarray
    c: np.ndarray
    V_L: np.ndarray
    A_L: np.ndarray
    armature: Any = None
    rotor: np.ndarray | None = None

    @property
    def X_WB(self) -> Pose:
        """World pose of the body."""
        return self.X_WL @ self.X_LB

    def at_rest(self, al: Algebra) -> LinkState:
        """The same position without velocity."""
        return replace(self, c=al.zeros(6), V_L=al.zeros(6), A_L=al.zeros(6), rotor=None, armature=None)

    @property
    def V(self) -> np.ndarray:
        """Twist of the body in body axes."""
        return self.X_LB.motion_inverse(self.V_L)

    @property
    def A(self) -> np.ndarray:
        """Rate of the twist of the body in body axes."""
        return self.X_LB.motion_inverse(self.A_L)

    def jets(self, jets: Jets) -> tuple[Pose, np.ndarray]:
        """Pose and twist of the body with their time derivatives."""
        return BodyState(self.X_WB, self.V, self.A).jets(jets)


def outward(
    tree: Tree, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, base: Any = None
) -> list[LinkState]:
    """From the ground to the tips:

        X_WL = X_WP X_PL,   V = X_LP V_P + S u,   c = Ṡ u + V × S u,   A = X_LP A_P + S u̇ + c

    Args:
        du: velocities' rates; None for u̇ = 0.
        base: acceleration of the ground; (0, −g) lets bodies feel gravity.
    """
    al = tree.al
    still = al.zeros(6)
    states: list[LinkState] = []
    for link in tree.links:
        if link.parent < 0:
            X_WP, V_P, A_P = Pose.identity(al), still, still if base is None else base
        else:
            parent = states[link.parent]
            X_WP, V_P, A_P = parent.X_WL, parent.V_L, parent.A_L
        states.append(step_outward(al, link, X_WP, V_P, A_P, q[link.q], u[link.u], None if du is None else du[link.u]))
    return states


def step_outward(al: Algebra, link: Link, X_WP: Pose, V_P: Any, A_P: Any, q: Any, u: Any, du: Any = None) -> LinkState:
    """One link from its parent's pose, twist and acceleration."""
    X_PL = link.X_PJ @ link.joint.transform(al, q)
    S = link.joint.subspace(al, q)
    own = S @ u if len(u) else al.zeros(6)
    V = X_PL.motion_inverse(V_P) + own
    c = link.joint.bias(al, q, u) + cross_motion(V, own)
    A = X_PL.motion_inverse(A_P) + c
    if du is not None and len(u):
        A = A + S @ du
    rotor = None
    if link.armature is not None:
        rotor = link.armature * link.joint.rotor_rate(al, u, al.zeros(len(u)) if du is None else du)
    return LinkState(link.X_LB, X_PL, X_WP @ X_PL, S, c, V, A, link.armature, rotor)


def pose_jets(jets: Jets, X: Pose, V: np.ndarray, A: np.ndarray) -> Pose:
    """The pose with its time derivatives:  Ṙ = R ω̂,  R̈ = R (ω̂² + ω̇̂),  ṗ = R v,  p̈ = R (v̇ + ω × v)."""
    al = jets.base
    W, W1 = hat(al, V[:3]), hat(al, A[:3])
    R1, R2 = X.R @ W, X.R @ (W @ W + W1)
    return Pose(jets.jets(X.R, R1, R2), jets.jets(X.p, X.R @ V[3:], X.R @ (A[3:] + W @ V[3:])))
