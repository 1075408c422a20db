"""Joints described by plain numbers whose rates are the velocities: u = q̇.

A ball has no three or four numbers of which its angular velocity is the rate. Described by three angles it is a product
of three rotations; described by a quaternion it has four numbers, four rates, and the equation |Q|² = 1 between them.
The rotation vector r with R = exp(r̂), canonical coordinates of the first kind, and Cayley's (Rodrigues') parameters
c = tan(θ/2) r/θ are three numbers without an equation: singular at θ = 2π, and infinite at θ = π.

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems", secs.
2.3.2 and 3.1, eqs. (8), (20).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from dalembert.algebra import NUMPY, Algebra, Jets
from dalembert.joints.base import Joint
from dalembert.joints.free import Free
from dalembert.joints.product import Ball, Factor, Product, Rotation, Translation
from dalembert.spatial import Pose, euler, quaternion, so3

__all__ = ["ROTATIONS", "Cayley", "Quaternion", "Rated", "RotationVector"]

# How balls can be described: the names of their numbers.
ROTATIONS = {
    "angles": "psi theta phi", "quaternions": "e0 e1 e2 e3", "vectors": "rx ry rz", "cayley": "cx cy cz",
}  # fmt: skip

# Cayley's parameters of a half turn are infinite; in floats they are this large.
LARGE = 1e100


class Quaternion(Factor):
    """Any rotation by a unit quaternion whose four rates are the velocities:  (0, ω) = 2 Q* ∘ Q̇,  ω in moved axes.

    The bias vanishes here too, because Q̇* ∘ Q̇ has no vector part.
    """

    nq = 4
    nv = 4
    keeps = ("origin",)

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose(quaternion.to_matrix(al, q), al.zeros(3))

    def moved(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return np.concatenate([turning(al, q), al.zeros(3, 4)])


def turning(al: Algebra, Q: np.ndarray) -> np.ndarray:
    """2 G(Q), 3 × 4:  ω = 2 G(Q) Q̇."""
    w, x, y, z = Q
    return 2 * al.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])


class _ThreeNumbers(Factor):
    """Any rotation by three numbers that are no successive angles."""

    nq = 3
    nv = 3
    keeps = ("origin",)

    def moved(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return np.concatenate([self.omega(al, q), al.zeros(3, 3)])

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        jets = Jets(al)
        rate = jets.parts(self.omega(jets, jets.jets(q, u, al.zeros(3))))[1]
        return al.concatenate([rate @ u, al.zeros(3)])

    def omega(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """The matrix between the rates and the angular velocity in moved axes."""
        raise NotImplementedError

    def quaternion(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """The unit quaternion."""
        raise NotImplementedError

    def of_quaternion(self, al: Algebra, Q: np.ndarray) -> np.ndarray:
        """The inverse of ``quaternion``."""
        raise NotImplementedError

    def steepness(self, q: np.ndarray) -> np.ndarray:
        """How far the numbers (in the last axis) are from singular, 1 at rest."""
        raise NotImplementedError


class RotationVector(_ThreeNumbers):
    """R = exp(r̂), canonical coordinates of the first kind:  ω = dexp(r) ṙ,  singular at |r| = 2π."""

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return Pose(so3.exp(al, q), al.zeros(3))

    def omega(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return so3.dexp(al, q)

    def quaternion(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return quaternion.exp(al, q)

    def of_quaternion(self, al: Algebra, Q: np.ndarray) -> np.ndarray:
        return quaternion.log(al, quaternion.shortest(al, Q))

    def steepness(self, q: np.ndarray) -> np.ndarray:
        return np.abs(np.sinc(np.linalg.norm(q, axis=-1) / (2 * np.pi)))


class Cayley(_ThreeNumbers):
    """R = (1 + ĉ)(1 − ĉ)⁻¹, c = tan(θ/2) about the axis:  ω = 2 (1 − ĉ) ċ/(1 + c²),  infinite at θ = π."""

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        s = q @ q
        K = so3.hat(al, q)
        return Pose(al.eye(3) + 2 / (1 + s) * (K + K @ K), al.zeros(3))

    def omega(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return 2 / (1 + q @ q) * (al.eye(3) - so3.hat(al, q))

    def quaternion(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return al.concatenate([al.array([1]), q]) / al.sqrt(1 + q @ q)

    def of_quaternion(self, al: Algebra, Q: np.ndarray) -> np.ndarray:
        if al is NUMPY and abs(Q[0]) < 1 / LARGE:
            return LARGE * Q[1:]
        return Q[1:] / Q[0]

    def steepness(self, q: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.sum(q * q, axis=-1))


_NUMBERS: dict[str, _ThreeNumbers] = {"vectors": RotationVector(), "cayley": Cayley()}


class Rated(Product):
    """A joint with balls, or a free one, by numbers whose rates are its velocities.

    A free joint has its translation first, then its turns, and is the pose of S in P whichever body was drawn first.

    Args:
        joint: as the model gives it.
        rotations: how a ball is described, one of ROTATIONS.
        axes: of the three rotations that describe a ball by angles.

    Attributes:
        balls: where the numbers of each ball are in q.
        parts: each factor of the joint itself, and where it is in q, in the joint's own q and in its own u.
    """

    kind = "rated"

    def __init__(self, joint: Joint, rotations: str, axes: tuple[int, int, int]):
        self.joint, self.rotations, self.axes, self.unit = joint, rotations, axes, joint.unit
        self.numbers = _NUMBERS.get(rotations)
        self.by_quaternion = rotations == "quaternions"
        self.is_free = isinstance(joint, Free)
        free: tuple[Factor, ...] = (*(Translation(i) for i in range(3)), Ball())
        own: tuple[Factor, ...] = free if self.is_free else cast(Any, joint).factors
        turn: tuple[Factor, ...] = tuple(Rotation(axis) for axis in axes)
        if self.numbers is not None or self.by_quaternion:
            turn = (self.numbers or Quaternion(),)
        self.balls: list[slice] = []
        self.parts: list[tuple[Factor, slice, slice, slice]] = []
        factors: list[Factor] = []
        at = q = u = 0
        for factor in own:
            is_ball = isinstance(factor, Ball)
            size = sum(part.nq for part in turn) if is_ball else factor.nq
            factors += turn if is_ball else (factor,)
            here = slice(at, at + size)
            self.parts.append((factor, here, slice(q, q + factor.nq), slice(u, u + factor.nv)))
            if is_ball:
                self.balls.append(here)
            at, q, u = at + size, q + factor.nq, u + factor.nv
        self.factors = tuple(factors)
        super().__init__()
        self.nonholonomic = joint.nonholonomic

    def own(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of the joint as the model knows it."""
        positions: list[np.ndarray] = []
        rates: list[np.ndarray] = []
        for factor, here, _, _ in self.parts:
            is_ball = isinstance(factor, Ball)
            positions.append(self._quaternion(al, q[here]) if is_ball else q[here])
            rates.append(self.omega(al, q[here]) @ u[here] if is_ball else u[here])
        return al.concatenate(positions), al.concatenate(rates)

    def of_own(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse of ``own`` in floats; at singular angles the least rates."""
        positions, rates = np.zeros(self.nq), np.zeros(self.nv)
        for factor, here, at, rate in self.parts:
            if isinstance(factor, Ball):
                positions[here] = self._turned(NUMPY, quaternion.to_matrix(NUMPY, q[at]))
                rates[here] = np.linalg.lstsq(self.omega(NUMPY, positions[here]), u[rate], rcond=1e-12)[0]
            else:
                positions[here], rates[here] = q[at], u[rate]
        return positions, rates

    def omega(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """The matrix between the rates of one ball's numbers q and its angular velocity in moved axes."""
        if self.by_quaternion:
            return turning(al, q)
        if self.numbers is not None:
            return self.numbers.omega(al, q)
        columns: list[np.ndarray] = []
        for axis, angle in zip(self.axes, q, strict=True):
            rotation = Rotation(axis)
            R = rotation.transform(al, al.array([angle])).R
            columns = [R.T @ column for column in columns] + [rotation.subspace(al)[:3, 0]]
        return np.stack(columns, axis=1)

    def _quaternion(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """The quaternion of one ball; smooth in the angles."""
        if self.by_quaternion:
            return q
        if self.numbers is not None:
            return self.numbers.quaternion(al, q)
        turn = al.array([1, 0, 0, 0])
        for axis, angle in zip(self.axes, q, strict=True):
            part = al.zeros(4)
            part[0], part[1 + axis] = al.cos(angle / 2), al.sin(angle / 2)
            turn = quaternion.multiply(turn, part)
        return turn

    def _turned(self, al: Algebra, R: np.ndarray) -> np.ndarray:
        """The numbers of one ball with this rotation matrix."""
        if self.numbers is not None:
            return self.numbers.of_quaternion(al, quaternion.from_matrix(al, R))
        return quaternion.from_matrix(al, R) if self.by_quaternion else euler.angles(al, self.axes, R)

    def rates(self, al: Algebra, q: np.ndarray, V: np.ndarray) -> np.ndarray:
        if al is not NUMPY:
            return super().rates(al, q, V)
        units = np.array([1.0] * 3 + [1 / self.unit] * 3)
        return np.linalg.lstsq(units[:, None] * self.subspace(al, q), units * V, rcond=1e-12)[0]

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        return self.joint.position(al, X, q)

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        if self.is_free:
            return al.concatenate([X.p, self._turned(al, X.R)])
        own = self.joint.coordinates(al, X)
        parts: list[np.ndarray] = []
        for factor, _, at, _ in self.parts:
            is_ball = isinstance(factor, Ball)
            parts.append(self._turned(al, quaternion.to_matrix(al, own[at])) if is_ball else own[at])
        return al.concatenate(parts)

    def velocity(self, al: Algebra, X: Pose, V: np.ndarray) -> list[Any]:
        return self.joint.velocity(al, X, V)

    def steepness(self, q: np.ndarray) -> np.ndarray:
        """How far the numbers of one ball (in the last axis) are from singular; 1 for quaternions."""
        if self.numbers is not None:
            return self.numbers.steepness(q)
        return np.ones_like(q[..., 0]) if self.by_quaternion else euler.steepness(self.axes, q[..., 1])

    def norms(self, q: np.ndarray) -> list[Any]:
        """½ (|Q|² − 1) of its quaternions."""
        return [(q[at] @ q[at] - 1) / 2 for at in self.balls] if self.by_quaternion else []
