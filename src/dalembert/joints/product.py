"""Joints as products of elementary motions, by which most of the catalog is three lines.

    X_PS(q) = X₁(q₁) X₂(q₂) … X_k(q_k)        (canonical coordinates of the second kind)

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems", eq. (6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.joints.base import Joint
from dalembert.spatial import Pose, quaternion, so3
from dalembert.spatial.pose import cross_motion

__all__ = ["Ball", "Factor", "Helix", "Offset", "Product", "Rotation", "Translation"]

_ROTATIONS = (so3.rotation_x, so3.rotation_y, so3.rotation_z)


class Factor:
    """An elementary motion, whose subspace is mostly constant in its own moved frame, so that its bias vanishes.

    ``keeps`` names what of the frame (origin, x, y, z) it does not move.
    """

    nq = 1
    nv = 1
    angle = False
    keeps: tuple[str, ...] = ()

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        raise NotImplementedError

    def subspace(self, al: Algebra) -> np.ndarray:
        raise NotImplementedError

    def moved(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """The subspace at q."""
        return self.subspace(al)

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray | None:
        """Ṡ(q, u) u of the subspace at q; None where it vanishes."""
        return None


class Rotation(Factor):
    """Rotation about axis 0, 1 or 2 (x, y, z)."""

    angle = True

    def __init__(self, axis: int):
        self.axis = axis
        self.keeps = ("origin", "xyz"[axis])

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose(_ROTATIONS[self.axis](al, q[0]), al.zeros(3))

    def subspace(self, al: Algebra) -> np.ndarray:
        return al.eye(6)[:, self.axis : self.axis + 1]


class Translation(Factor):
    """Translation along axis 0, 1 or 2 (x, y, z)."""

    keeps = ("x", "y", "z")

    def __init__(self, axis: int):
        self.axis = axis

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        p = al.zeros(3)
        p[self.axis] = q[0]
        return Pose.translation(al, p)

    def subspace(self, al: Algebra) -> np.ndarray:
        return al.eye(6)[:, 3 + self.axis : 4 + self.axis]


class Helix(Factor):
    """Rotation about z that advances along z by ``pitch`` (m) per revolution."""

    angle = True
    keeps = ("z",)

    def __init__(self, pitch: Any):
        self.advance = pitch / (2 * np.pi)

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose(so3.rotation_z(al, q[0]), al.array([0, 0, self.advance * q[0]]))

    def subspace(self, al: Algebra) -> np.ndarray:
        return al.array([[0], [0], [1], [0], [0], [self.advance]])


class Ball(Factor):
    """Any rotation: a unit quaternion, with the angular velocity in moved axes."""

    nq = 4
    nv = 3
    keeps = ("origin",)

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose(quaternion.to_matrix(al, q), al.zeros(3))

    def subspace(self, al: Algebra) -> np.ndarray:
        return al.eye(6)[:, :3]


class Offset(Factor):
    """A fixed shift along z."""

    nq = 0
    nv = 0
    keeps = ("x", "y", "z")

    def __init__(self, length: Any):
        self.length = length

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose.translation(al, al.array([0, 0, self.length]))

    def subspace(self, al: Algebra) -> np.ndarray:
        return al.zeros(6, 0)


class Product(Joint):
    """A joint given by its ``factors``; subclasses add the constraint side."""

    factors: tuple[Factor, ...] = ()

    def __init__(self) -> None:
        self.nq = sum(factor.nq for factor in self.factors)
        self.nv = sum(factor.nv for factor in self.factors)
        self._slices: list[tuple[Factor, slice, slice]] = []
        q = v = 0
        angles: list[int] = []
        for factor in self.factors:
            self._slices.append((factor, slice(q, q + factor.nq), slice(v, v + factor.nv)))
            if factor.angle:
                angles.append(q)
            q, v = q + factor.nq, v + factor.nv
        self.angles = tuple(angles)
        self.quaternions = tuple(at.start for factor, at, _ in self._slices if factor.nq != factor.nv)
        self.common = tuple(
            part for part in ("origin", "x", "y", "z") if all(part in factor.keeps for factor in self.factors)
        )

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        X = Pose.identity(al)
        for factor, at, _ in self._slices:
            X = X @ factor.transform(al, q[at])
        return X

    def subspace(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        columns: list[np.ndarray] = []
        for factor, at, _ in self._slices:
            X = factor.transform(al, q[at])
            columns = [X.motion_inverse(column) for column in columns]
            columns += list(factor.moved(al, q[at]).T)
        return np.stack(columns, axis=1) if columns else al.zeros(6, 0)

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        # V ← X⁻¹V + S u,   c ← X⁻¹c + V × S u
        V, c = al.zeros(6), al.zeros(6)
        for factor, at, rate in self._slices:
            X = factor.transform(al, q[at])
            own = factor.moved(al, q[at]) @ u[rate] if factor.nv else al.zeros(6)
            V = X.motion_inverse(V) + own
            c = X.motion_inverse(c) + cross_motion(V, own)
            bias = factor.bias(al, q[at], u[rate])
            c = c if bias is None else c + bias
        return c

    def subspace_rate(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        jets = Jets(al)
        return jets.parts(self.subspace(jets, jets.jets(q, self.qdot(al, q, u), al.zeros(self.nq))))[1]

    def qdot(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        def rated(factor: Factor, at: slice, rate: slice) -> np.ndarray:
            return u[rate] if factor.nq == factor.nv else quaternion.rate(al, q[at], u[rate])

        return self._each(al, rated)

    def integrate(self, al: Algebra, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        def move(factor: Factor, at: slice, rate: slice) -> np.ndarray:
            if factor.nq == factor.nv:
                return q[at] + du[rate]
            return quaternion.multiply(q[at], quaternion.exp(al, du[rate]))

        return self._each(al, move)

    def dexp(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        return self._blocks(al, du, so3.dexp)

    def dexp_inverse(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        return self._blocks(al, du, so3.dexp_inverse)

    def _blocks(self, al: Algebra, du: np.ndarray, of_rotation: Any) -> np.ndarray:
        D = al.eye(self.nv)
        for factor, _, rate in self._slices:
            if factor.nq != factor.nv:
                D[rate, rate] = of_rotation(al, du[rate])
        return D

    def normalize(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        def scaled(factor: Factor, at: slice, rate: slice) -> np.ndarray:
            return q[at] if factor.nq == factor.nv else quaternion.normalize(al, q[at])

        return self._each(al, scaled)

    def difference(self, al: Algebra, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        def between(factor: Factor, at: slice, rate: slice) -> np.ndarray:
            if factor.nq == factor.nv:
                return q1[at] - q0[at]
            turn = quaternion.multiply(quaternion.conjugate(al, q0[at]), q1[at])
            return quaternion.log(al, quaternion.shortest(al, turn))

        return self._each(al, between)

    def neutral(self) -> np.ndarray:
        return np.concatenate(
            [np.eye(4)[0] if factor.nq == 4 else np.zeros(factor.nq) for factor in self.factors] or [np.zeros(0)]
        )

    def random(self, rng: np.random.Generator) -> np.ndarray:
        q = rng.uniform(-1.0, 1.0, self.nq)
        for factor, at, _ in self._slices:
            if factor.nq == 4:
                q[at] = rng.normal(size=4)
                q[at] /= np.linalg.norm(q[at])
        return q

    def _each(self, al: Algebra, function: Callable[[Factor, slice, slice], np.ndarray]) -> np.ndarray:
        return al.concatenate([function(factor, at, rate) for factor, at, rate in self._slices])
