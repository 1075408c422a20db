"""One body of a tree, and what the algorithms of this folder ask of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints import Joint
from dalembert.model import Mechanism
from dalembert.spatial import Pose, RigidInertia

__all__ = ["InverseDerivatives", "Link", "Tree"]


@dataclass(frozen=True)
class Link:
    """One body of the tree in an algebra.

    The link frame L is the moved joint frame: there the joint's motion is simplest, and one constant pose leads from
    link to link.

    Attributes:
        parent: index of the parent link, −1 for the ground.
        X_PJ: joint frame on the parent, in the parent's link frame.
        X_LB: body frame in the link frame.
        inertia: about the origin of the link frame.
        armature: rotor inertia on each of the joint's velocities, or None.
    """

    body: str
    parent: int
    joint: Joint
    X_PJ: Pose
    X_LB: Pose
    inertia: RigidInertia
    q: slice
    u: slice
    armature: Any = None


class Tree(Protocol):
    """Links in an algebra, parents first; ``nv`` velocities in all."""

    al: Algebra
    nv: int
    mechanism: Mechanism

    @property
    def links(self) -> Sequence[Link]: ...


class InverseDerivatives(NamedTuple):
    """∂τ/∂q (tangent), ∂τ/∂u and ∂τ/∂u̇ = M, each nv × nv: row, who feels it; column, who moves."""

    dtau_dq: np.ndarray
    dtau_du: np.ndarray
    dtau_ddu: np.ndarray
