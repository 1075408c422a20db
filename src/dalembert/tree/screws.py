"""Joints as motions about screws: the factors of a product of exponentials.

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
Strojarstvo 51 (2009) 597-612, sec. 2.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints import Free, Joint
from dalembert.joints.product import Product
from dalembert.joints.reversed import Reversed
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion
from dalembert.spatial.so3 import cross, hat
from dalembert.tree.link import Link

__all__ = ["CurvedMotion", "Motion", "ScrewMotion", "SubgroupMotion", "joint_motions"]


class Motion(ABC):
    """One factor of the product of exponentials: a motion in a subgroup of SE(3).

    Attributes:
        q, u: where its coordinates and velocities stand.
        fixed_axes: False if the twist Q⁻¹Q̇ is ``screws @ u``; True if Q̇Q⁻¹ is, as for a ball joint met from
            its other side. For a single screw the two are the same.
    """

    q: slice
    u: slice
    fixed_axes: bool = False

    @property
    @abstractmethod
    def screws(self) -> np.ndarray:
        """6 × k, a basis of its twists."""

    @property
    @abstractmethod
    def brackets(self) -> np.ndarray:
        """k × k × k, structure constants γ of its fields:  [e_b, e_c] = Σ_d γ[d, b, c] e_d."""

    @abstractmethod
    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        """Q(q), the identity at neutral coordinates."""

    def columns(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """6 × k: what gives the twist at q. Constant in a subgroup."""
        return self.screws

    def changes(self, al: Algebra, q: np.ndarray) -> np.ndarray | None:
        """6 × k × k, last index the direction: how ``columns`` change with q; None in a subgroup."""
        return None

    @abstractmethod
    def seen_from(self, X: Pose) -> Motion:
        """The same motion written in the frame at X."""


@dataclass(frozen=True)
class ScrewMotion(Motion):
    """exp(Y q) about one screw Y = (a, p × a + h a): rotation, translation or helix without asking which.

    Attributes:
        axis: a, a unit vector; zero for a translation.
        moment: p × a for a point p of the axis.
        advance: h a with the pitch h in m/rad, or the direction of a translation.
    """

    axis: np.ndarray
    moment: np.ndarray
    advance: np.ndarray
    q: slice
    u: slice

    @classmethod
    def about(cls, al: Algebra, axis: Any, point: Any, at: int, pitch: Any = 0) -> ScrewMotion:
        """A turn about a unit axis through a point (m) that advances by ``pitch`` (m/rad).

        Args:
            at: index of its coordinate in q and of its velocity in u.
        """
        a, p = al.array(axis), al.array(point)
        return cls(a, cross(p, a), pitch * a, slice(at, at + 1), slice(at, at + 1))

    @classmethod
    def along(cls, al: Algebra, direction: Any, at: int) -> ScrewMotion:
        """A translation along a unit direction."""
        return cls(al.zeros(3), al.zeros(3), al.array(direction), slice(at, at + 1), slice(at, at + 1))

    @property
    def screws(self) -> np.ndarray:
        """Y as a column."""
        return np.concatenate([self.axis, self.moment + self.advance])[:, None]

    @property
    def brackets(self) -> np.ndarray:
        return np.zeros((1, 1, 1))

    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        """R = 1 + sin q â + (1 − cos q) â²,   p = sin q m + (1 − cos q) a × m + q d;  moment m, advance d."""
        s, c = al.sin(q[0]), al.cos(q[0])
        a = hat(al, self.axis)
        R = al.eye(3) + s * a + (1 - c) * (a @ a)
        return Pose(R, s * self.moment + (1 - c) * cross(self.axis, self.moment) + q[0] * self.advance)

    def seen_from(self, X: Pose) -> ScrewMotion:
        a, p = X.R.T @ self.axis, -(X.R.T @ X.p)
        return replace(self, axis=a, moment=X.R.T @ self.moment + cross(p, a), advance=X.R.T @ self.advance)


@dataclass(frozen=True)
class SubgroupMotion(Motion):
    """Q = F N(q) F⁻¹ with N in a subgroup of several freedoms: all rotations about a point, or all of SE(3).

    Attributes:
        frame: F, the frame in which the motion was given.
        basis: 6 × k, orthonormal; twists N⁻¹Ṅ = basis · u.
        relative: N(q).
        fixed_axes: True if the motion is N(q)⁻¹ instead, with the same coordinates.
    """

    frame: Pose
    basis: np.ndarray
    relative: Callable[[Algebra, np.ndarray], Pose]
    q: slice
    u: slice
    fixed_axes: bool = False

    @property
    def screws(self) -> np.ndarray:
        """Ad(F) basis; minus that for the inverted motion, whose twist is −Ad(N) N⁻¹Ṅ."""
        sign = -1 if self.fixed_axes else 1
        return np.stack([sign * self.frame.motion(column) for column in self.basis.T], axis=1)

    @property
    def brackets(self) -> np.ndarray:
        """The fields of N are left invariant, so their brackets are those of the algebra."""
        Z = np.array(self.basis, dtype=float)
        return np.array([[[d @ cross_motion(b, c) for c in Z.T] for b in Z.T] for d in Z.T])

    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        N = self.relative(al, q)
        return self.frame @ (N.inverse() if self.fixed_axes else N) @ self.frame.inverse()

    def seen_from(self, X: Pose) -> SubgroupMotion:
        return replace(self, frame=X.inverse() @ self.frame)


@dataclass(frozen=True)
class CurvedMotion(Motion):
    """Q = F N(0)⁻¹ N(q) F⁻¹ with N in no subgroup, such as a slide along a curve; u = q̇.

    Its columns H change with q. Their derivatives follow from Ḣ u, which every joint knows, and from the equation of
    Maurer and Cartan:  ∂_b H_c + ∂_c H_b  is the bilinear form of Ḣ u,  ∂_b H_c − ∂_c H_b = [H_c, H_b].

    Attributes:
        frame: F, where the joint's moved frame stands at neutral coordinates.
        joint: the joint, as the tree meets it.
        neutral: its columns at neutral coordinates.
    """

    frame: Pose
    joint: Joint
    neutral: np.ndarray
    q: slice
    u: slice

    @property
    def screws(self) -> np.ndarray:
        """The columns at neutral coordinates."""
        return self._seen(self.neutral)

    @property
    def brackets(self) -> np.ndarray:
        return np.zeros((self.joint.nv, self.joint.nv, self.joint.nv))

    def _seen(self, S: np.ndarray) -> np.ndarray:
        return np.stack([self.frame.motion(column) for column in S.T], axis=1)

    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        N0, N = self.joint.transform(al, al.array(self.joint.neutral())), self.joint.transform(al, q)
        return self.frame @ N0.inverse() @ N @ self.frame.inverse()

    def columns(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return self._seen(self.joint.subspace(al, q))

    def changes(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        unit, k = al.eye(self.joint.nv), self.joint.nv
        own = [self.joint.bias(al, q, e) for e in unit]
        H, out = self.columns(al, q), al.zeros(6, k, k)
        for b in range(k):
            for c in range(k):
                pair = 2 * own[b] if b == c else self.joint.bias(al, q, unit[b] + unit[c]) - own[b] - own[c]
                out[:, c, b] = (self.frame.motion(pair) + cross_motion(H[:, c], H[:, b])) / 2
        return out

    def seen_from(self, X: Pose) -> CurvedMotion:
        return replace(self, frame=X.inverse() @ self.frame)


# From joints to screws


def _factors(al: Algebra, joint: Joint) -> list[tuple[int, int, Callable[[Algebra, np.ndarray], Pose], np.ndarray]]:
    """Elementary motions of a joint: nq, nv, N(q), and the constant basis of its twists N⁻¹Ṅ."""
    if isinstance(joint, Free):
        return [(joint.nq, joint.nv, joint.transform, al.eye(6))]
    assert isinstance(joint, Product)
    return [(factor.nq, factor.nv, factor.transform, factor.subspace(al)) for factor in joint.factors]


def joint_motions(al: Algebra, link: Link, X: Pose) -> tuple[tuple[Motion, ...], Pose]:
    """Factors of a joint whose first frame stands at X in the world, and where its last frame stands.

    From its other side a joint is  X_SP = X_k⁻¹ … X_1⁻¹: factors in reverse order, each inverted.
    """
    turned = isinstance(link.joint, Reversed)
    if not isinstance(link.joint.joint if isinstance(link.joint, Reversed) else link.joint, (Product, Free)):
        neutral = al.array(link.joint.neutral())
        X = X @ link.joint.transform(al, neutral)
        return (CurvedMotion(X, link.joint, link.joint.subspace(al, neutral), link.q, link.u),), X
    joint = link.joint.joint if isinstance(link.joint, Reversed) else link.joint
    placed: list[tuple[Callable[[Algebra, np.ndarray], Pose], np.ndarray, slice, slice]] = []
    q, u = link.q.start, link.u.start
    for nq, nv, transform, Z in _factors(al, joint):
        placed.append((transform, Z, slice(q, q + nq), slice(u, u + nv)))
        q, u = q + nq, u + nv
    motions: list[Motion] = []
    for transform, Z, at, rate in reversed(placed) if turned else placed:
        if Z.shape[1] == 0:
            N = transform(al, al.zeros(0))
            X = X @ (N.inverse() if turned else N)
        elif Z.shape[1] == 1:
            # The screw of a factor passes through its origin with v along ω, or ω = 0.
            z = -Z[:, 0] if turned else Z[:, 0]
            axis = X.R @ z[:3]
            motions.append(ScrewMotion(axis, cross(X.p, axis), X.R @ z[3:], at, rate))
        else:
            motions.append(SubgroupMotion(X, Z, transform, at, rate, turned))
    return tuple(motions), X
