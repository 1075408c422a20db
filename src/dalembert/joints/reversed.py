"""A joint seen from its other side, for spanning trees that meet a joint's second body first."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.base import Joint
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion

__all__ = ["Reversed"]


class Reversed(Joint):
    """The same joint with the same coordinates, frames exchanged:  X_SP = X_PS⁻¹.

    The twist of P against S in P axes is  −Ad(X_PS) S u;  its rate for u̇ = 0 is  −Ad(X_PS) Ṡ u.
    """

    kind = "reversed"

    def __init__(self, joint: Joint):
        self.joint, self.unit = joint, joint.unit
        self.nq, self.nv, self.angles = joint.nq, joint.nv, joint.angles
        self.measured, self.nonholonomic = joint.measured, joint.nonholonomic
        self.quaternions, self.closes, self.measurable = joint.quaternions, joint.closes, joint.measurable

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return self.joint.transform(al, q).inverse()

    def subspace(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        X = self.joint.transform(al, q)
        columns = [-X.motion(column) for column in self.joint.subspace(al, q).T]
        return np.stack(columns, axis=1) if columns else al.zeros(6, 0)

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -self.joint.transform(al, q).motion(self.joint.bias(al, q, u))

    def subspace_rate(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        # d/dt (Ad(X) s) = Ad(X) (ṡ + V × s)
        X, S = self.joint.transform(al, q), self.joint.subspace(al, q)
        rates, V = self.joint.subspace_rate(al, q, u), S @ u
        columns = [-X.motion(rate + cross_motion(V, s)) for rate, s in zip(rates.T, S.T, strict=True)]
        return np.stack(columns, axis=1) if columns else al.zeros(6, 0)

    def qdot(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.joint.qdot(al, q, u)

    def integrate(self, al: Algebra, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return self.joint.integrate(al, q, du)

    def dexp(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        return self.joint.dexp(al, du)

    def dexp_inverse(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        return self.joint.dexp_inverse(al, du)

    def normalize(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return self.joint.normalize(al, q)

    def difference(self, al: Algebra, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return self.joint.difference(al, q0, q1)

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return self.joint.position(al, X.inverse(), q)

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return self.joint.coordinates(al, X.inverse())

    def velocity(self, al: Algebra, X: Pose, V: np.ndarray) -> list[Any]:
        return self.joint.velocity(al, X.inverse(), -X.motion(V))

    def rotor_rate(self, al: Algebra, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        return self.joint.rotor_rate(al, u, du)

    def wrench(self, al: Algebra, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The reaction to the joint's own wrench, on P in P axes."""
        return -self.joint.transform(al, q).force(self.joint.wrench(al, q, tau))

    def neutral(self) -> np.ndarray:
        return self.joint.neutral()

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return self.joint.random(rng)
