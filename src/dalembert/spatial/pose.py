"""Poses of frames, and how twists and wrenches change with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import Algebra
from dalembert.spatial.so3 import cross, hat

__all__ = ["Pose", "cross_force", "cross_motion"]


@dataclass(frozen=True)
class Pose:
    """X_AB: frame B seen from frame A.

    Attributes:
        R: rotation matrix R_AB, columns are the axes of B in A.
        p: position of the origin of B in A (m).
    """

    R: np.ndarray
    p: np.ndarray

    @classmethod
    def identity(cls, al: Algebra) -> Pose:
        return cls(al.eye(3), al.zeros(3))

    @classmethod
    def translation(cls, al: Algebra, p: np.ndarray) -> Pose:
        return cls(al.eye(3), p)

    def __matmul__(self, other: Pose) -> Pose:
        """X_AC = X_AB @ X_BC."""
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        """X_BA."""
        return Pose(self.R.T, -(self.R.T @ self.p))

    def apply(self, point: np.ndarray) -> np.ndarray:
        """A point given in B, in A."""
        return self.R @ point + self.p

    def motion(self, V_B: np.ndarray) -> np.ndarray:
        """A twist given in B (axes and origin), in A:  (R ω, R v + p × R ω)."""
        w = self.R @ V_B[:3]
        return np.concatenate([w, self.R @ V_B[3:] + cross(self.p, w)])

    def motion_inverse(self, V_A: np.ndarray) -> np.ndarray:
        """A twist given in A, in B:  (Rᵀ ω, Rᵀ(v − p × ω))."""
        w = V_A[:3]
        return np.concatenate([self.R.T @ w, self.R.T @ (V_A[3:] - cross(self.p, w))])

    def force(self, F_B: np.ndarray) -> np.ndarray:
        """A wrench given in B, in A:  (R n + p × R f, R f).  Dual to ``motion_inverse``."""
        f = self.R @ F_B[3:]
        return np.concatenate([self.R @ F_B[:3] + cross(self.p, f), f])

    def force_inverse(self, F_A: np.ndarray) -> np.ndarray:
        """A wrench given in A, in B:  (Rᵀ(n − p × f), Rᵀ f)."""
        f = F_A[3:]
        return np.concatenate([self.R.T @ (F_A[:3] - cross(self.p, f)), self.R.T @ f])

    def adjoint(self, al: Algebra) -> np.ndarray:
        """Ad(X_AB), the 6×6 matrix of ``motion``."""
        return np.block([[self.R, al.zeros(3, 3)], [hat(al, self.p) @ self.R, self.R]])


def cross_motion(V: np.ndarray, W: np.ndarray) -> np.ndarray:
    """V × W of two twists (the Lie bracket):  (ω × ω', ω × v' + v × ω')."""
    return np.concatenate([cross(V[:3], W[:3]), cross(V[:3], W[3:]) + cross(V[3:], W[:3])])


def cross_force(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    """V ×* F of a twist and a wrench:  (ω × n + v × f, ω × f)."""
    return np.concatenate([cross(V[:3], F[:3]) + cross(V[3:], F[3:]), cross(V[:3], F[3:])])
