"""The inertia of rigid bodies, and of trees of bodies as their root feels them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.spatial.pose import Pose, cross_force
from dalembert.spatial.so3 import cross, hat

__all__ = ["ArticulatedInertia", "Inertia", "RigidInertia"]


class _Operator:
    """What every inertia can do once it can be applied to a twist."""

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Momentum I V."""
        raise NotImplementedError

    def bias(self, V: np.ndarray) -> np.ndarray:
        """Gyroscopic wrench  V ×* I V."""
        return cross_force(V, self.apply(V))

    def energy(self, V: np.ndarray) -> Any:
        """Kinetic energy  ½ Vᵀ I V  (J)."""
        return (V @ self.apply(V)) / 2


@dataclass(frozen=True)
class Inertia(_Operator):
    """Rigid-body inertia as people give it.

    Attributes:
        mass: m (kg).
        com: center of mass c in the frame (m).
        central: rotational inertia about the center of mass, in the frame's axes (kg m²), 3×3.
    """

    mass: Any
    com: np.ndarray
    central: np.ndarray

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Momentum  I V = (I_c ω + c × p, p)  with  p = m (v + ω × c)."""
        p = self.mass * (V[3:] + cross(V[:3], self.com))
        return np.concatenate([self.central @ V[:3] + cross(self.com, p), p])

    def matrix(self, al: Algebra) -> np.ndarray:
        """[[I_c − m ĉ ĉ, m ĉ], [−m ĉ, m 1]]."""
        c = hat(al, self.com)
        m = self.mass
        return np.block([[self.central - m * (c @ c), m * c], [-m * c, m * al.eye(3)]])

    def moved(self, X_AB: Pose) -> Inertia:
        """The same inertia, given in B, seen from A."""
        return Inertia(self.mass, X_AB.apply(self.com), X_AB.R @ self.central @ X_AB.R.T)

    def about_origin(self, al: Algebra) -> RigidInertia:
        """The same inertia about the origin of its frame."""
        c = hat(al, self.com)
        return RigidInertia(self.mass, self.mass * self.com, self.central - self.mass * (c @ c))


@dataclass(frozen=True)
class RigidInertia(_Operator):
    """Rigid-body inertia about the origin of its frame, which adds up:  [[A, ĥ], [−ĥ, m 1]].

    Attributes:
        mass: m (kg).
        h: first moment m c (kg m).
        A: rotational inertia about the origin (kg m²), 3×3.
    """

    mass: Any
    h: np.ndarray
    A: np.ndarray

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Momentum  I V = (A ω + h × v, m v − h × ω)."""
        w, v = V[:3], V[3:]
        return np.concatenate([self.A @ w + cross(self.h, v), self.mass * v - cross(self.h, w)])

    def bias(self, V: np.ndarray) -> np.ndarray:
        """V ×* I V = (ω × A ω + h × a, m a + ω × (ω × h)),  a = ω × v.

        Written out, v × m v does not appear: it vanishes, but its rounding, m v² ε, would drown the torques of a
        small body that flies fast.
        """
        w, a = V[:3], cross(V[:3], V[3:])
        return np.concatenate([cross(w, self.A @ w) + cross(self.h, a), self.mass * a + cross(w, cross(w, self.h))])

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, self.h + other.h, self.A + other.A)

    def moved(self, al: Algebra, X_AB: Pose) -> RigidInertia:
        """The same inertia, given in B, seen from A:  h' = R h + m p,  A' = R A Rᵀ − p̂ (R h)^ − ĥ' p̂."""
        turned = X_AB.R @ self.h
        h = turned + self.mass * X_AB.p
        A = congruent(X_AB.R, self.A)
        p, t, new = hat(al, X_AB.p), hat(al, turned), hat(al, h)
        return RigidInertia(self.mass, h, symmetric(A - p @ t - new @ p))


@dataclass(frozen=True)
class ArticulatedInertia(_Operator):
    """The inertia of a body with other bodies hinged to it:  [[A, B], [Bᵀ, C]], A and C symmetric."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray

    @classmethod
    def from_rigid(cls, al: Algebra, inertia: RigidInertia) -> ArticulatedInertia:
        return cls(inertia.A, hat(al, inertia.h), inertia.mass * al.eye(3))

    def apply(self, V: np.ndarray) -> np.ndarray:
        """I V."""
        w, v = V[:3], V[3:]
        return np.concatenate([self.A @ w + self.B @ v, self.B.T @ w + self.C @ v])

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.A + other.A, self.B + other.B, self.C + other.C)

    def without(self, U: np.ndarray, W: np.ndarray) -> ArticulatedInertia:
        """I − U W, where U W is symmetric (6×k times k×6)."""
        top, bottom = U[:3], U[3:]
        return ArticulatedInertia(
            self.A - symmetric_product(top, W[:, :3]),
            self.B - top @ W[:, 3:],
            self.C - symmetric_product(bottom, W[:, 3:]),
        )

    def moved(self, al: Algebra, X_AB: Pose) -> ArticulatedInertia:
        """The same inertia, given in B, seen from A: turn, then shift by p:

        C' = R C Rᵀ,   B' = R B Rᵀ + p̂ C',   A' = R A Rᵀ − (R B Rᵀ) p̂ + p̂ B'ᵀ
        """
        R = X_AB.R
        C = congruent(R, self.C)
        turned = R @ self.B @ R.T
        p = hat(al, X_AB.p)
        B = turned + p @ C
        return ArticulatedInertia(symmetric(congruent(R, self.A) - turned @ p + p @ B.T), B, C)


def symmetric(A: np.ndarray) -> np.ndarray:
    """A symmetric matrix with its lower half copied from the upper, so that it is computed once."""
    out = A.copy()
    for i in range(len(A)):
        for j in range(i):
            out[i, j] = A[j, i]
    return out


def symmetric_product(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """P Q where the product is known to be symmetric: only the upper half is computed."""
    n = len(P)
    out = np.empty((n, n), dtype=np.result_type(P, Q))
    for i in range(n):
        for j in range(i, n):
            out[i, j] = out[j, i] = P[i] @ Q[:, j]
    return out


def congruent(R: np.ndarray, S: np.ndarray) -> np.ndarray:
    """R S Rᵀ of a symmetric S."""
    return symmetric_product(R @ S, R.T)
