"""A joint taken apart into elementary motions, whose screws are constant in one of their two frames.

A joint that is a product of motions becomes a chain of massless links; so derivatives need no more than the textbook's
formulas for constant screws, whatever the joint is. Reversed, the chain runs backwards: the inverse of a motion has the
negative screws, now constant in its first frame instead of its second.

Reference: docs/theory/derivatives.md, eqs. (14.5)-(14.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.joints import Free, Joint
from dalembert.joints.product import Product
from dalembert.joints.rated import Quaternion
from dalembert.joints.reversed import Reversed
from dalembert.spatial import Pose

__all__ = ["Drift", "Motion", "elementary_motions"]


@dataclass(frozen=True)
class Drift:
    """How the screws of a motion change in its own moved frame, for joints that are not products.

    Attributes:
        G: G[k][m] is the derivative of screw m along tangent k (six-vector).
        c: bias Ṡ u;  c_q[k], c_u[k] its derivatives along tangent k and with respect to velocity k.
    """

    G: list[list[np.ndarray]]
    c: np.ndarray
    c_q: list[np.ndarray]
    c_u: list[np.ndarray]


@dataclass(frozen=True)
class Motion:
    """One elementary motion.

    Attributes:
        X: pose of its second frame in its first.
        screws: columns of its subspace.
        u: which of the joint's velocities they belong to.
        fixed: the screws are constant in the first frame and given in it, otherwise in the second.
        drift: None where the screws are constant.
    """

    X: Pose
    screws: list[np.ndarray]
    u: tuple[int, ...]
    fixed: bool = False
    drift: Drift | None = None

    def inverse(self) -> Motion:
        """The same motion with its frames exchanged.

        One screw is left in place by its own motion, so it is constant in both frames; the second is cheaper.
        """
        fixed = not self.fixed and len(self.screws) > 1
        return Motion(self.X.inverse(), [-s for s in self.screws], self.u, fixed)


def elementary_motions(al: Algebra, joint: Joint, q: np.ndarray, u: np.ndarray) -> list[Motion]:
    """The motions of which a joint is the product, from its first body to its second.

    Args:
        q, u: the joint's coordinates and velocities.
    """
    if _is_product(joint):
        return _factors(al, joint, q)
    if isinstance(joint, Free):
        return [Motion(joint.transform(al, q), list(al.eye(6)), tuple(range(6)))]
    if isinstance(joint, Reversed) and (_is_product(joint.joint) or isinstance(joint.joint, Free)):
        return [motion.inverse() for motion in reversed(elementary_motions(al, joint.joint, q, u))]
    S = joint.subspace(al, q)
    return [Motion(joint.transform(al, q), list(S.T), tuple(range(joint.nv)), drift=_drift(al, joint, q, u))]


def _is_product(joint: Joint) -> TypeGuard[Product]:
    """True if all its factors have constant screws, which rates of quaternions have not."""
    return isinstance(joint, Product) and not any(isinstance(factor, Quaternion) for factor in joint.factors)


def _factors(al: Algebra, joint: Product, q: np.ndarray) -> list[Motion]:
    motions: list[Motion] = []
    at, rate = 0, 0
    for factor in joint.factors:
        X = factor.transform(al, q[at : at + factor.nq])
        motions.append(Motion(X, list(factor.subspace(al).T), tuple(range(rate, rate + factor.nv))))
        at, rate = at + factor.nq, rate + factor.nv
    return motions


def _drift(al: Algebra, joint: Joint, q: np.ndarray, u: np.ndarray) -> Drift:
    """Derivatives of subspace and bias by jets along q̇(e_k) and along e_k."""
    jets, unit = Jets(al), al.eye(joint.nv)

    def along(x: np.ndarray, direction: np.ndarray | None = None) -> np.ndarray:
        still = al.zeros(len(x))
        return jets.jets(x, still if direction is None else direction, still)

    def rate(values: Any) -> np.ndarray:
        return jets.parts(values)[1]

    moved = [along(q, joint.qdot(al, q, e)) for e in unit]
    return Drift(
        G=[list(rate(joint.subspace(jets, path)).T) for path in moved],
        c=joint.bias(al, q, u),
        c_q=[rate(joint.bias(jets, path, along(u))) for path in moved],
        c_u=[rate(joint.bias(jets, along(q), along(u, e))) for e in unit],
    )
