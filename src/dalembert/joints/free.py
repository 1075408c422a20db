"""Free joint: six degrees of freedom, the joint of a floating body and of absolute coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints.base import Geometry, Joint
from dalembert.joints.glyph import NOTHING
from dalembert.spatial import Pose, quaternion, se3, so3
from dalembert.spatial.so3 import cross

__all__ = ["Free"]


class Free(Joint):
    """No constraint. Coordinates: quaternion (w, x, y, z), position (m); velocities: twist (ω, v) in body axes."""

    kind = "free"
    nq = 7
    nv = 6
    quaternions = (0,)
    geometry = ()
    glyph = NOTHING

    def frames(self, al: Algebra, drawn: Geometry) -> tuple[Pose, Pose]:
        """P is the world frame as drawn, S the second body's own, so that q is the body's pose."""
        if drawn.reference is None:
            return Pose.identity(al), drawn.X_2
        q = self.normalize(al, drawn.reference)
        return drawn.X_2 @ self.transform(al, q).inverse(), drawn.X_2

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose(quaternion.to_matrix(al, q[:4]), q[4:])

    def subspace(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return al.eye(6)

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return al.zeros(6)

    def subspace_rate(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return al.zeros(6, 6)

    def rotor_rate(self, al: Algebra, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        # The momentum a v turns with the body's axes.
        return al.concatenate([du[:3], du[3:] + cross(u[:3], u[3:])])

    def qdot(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return al.concatenate([quaternion.rate(al, q[:4], u[:3]), quaternion.to_matrix(al, q[:4]) @ u[3:]])

    def integrate(self, al: Algebra, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        turned = quaternion.multiply(q[:4], quaternion.exp(al, du[:3]))
        shift = so3.dexp(al, du[:3]).T @ du[3:]
        return al.concatenate([turned, q[4:] + quaternion.to_matrix(al, q[:4]) @ shift])

    def dexp(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        return se3.dexp(al, du)

    def dexp_inverse(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        return se3.dexp_inverse(al, du)

    def normalize(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return al.concatenate([quaternion.normalize(al, q[:4]), q[4:]])

    def difference(self, al: Algebra, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        turn = quaternion.multiply(quaternion.conjugate(al, q0[:4]), q1[:4])
        r = quaternion.log(al, quaternion.shortest(al, turn))
        moved = quaternion.to_matrix(al, q0[:4]).T @ (q1[4:] - q0[4:])
        return al.concatenate([r, so3.dexp_inverse(al, r).T @ moved])

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return []

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        return al.concatenate([quaternion.from_matrix(al, X.R), X.p])

    def neutral(self) -> np.ndarray:
        return np.eye(7)[0]

    def random(self, rng: np.random.Generator) -> np.ndarray:
        q = rng.normal(size=7)
        q[:4] /= np.linalg.norm(q[:4])
        return q
