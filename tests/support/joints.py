"""An example of every joint of the catalog, forwards and reversed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.joints import JOINTS, Custom, Joint
from dalembert.joints.reversed import Reversed
from dalembert.spatial import Pose, so3

# The quantities of joints that have some; a new joint's own get VALUE until they are listed here.
QUANTITIES = {"pitch": 0.3, "radius": 0.4, "length": 0.7}
VALUE = 0.5

EXAMPLES = [(kind, turned) for kind in JOINTS for turned in (False, True)]
IDS = [kind + (" reversed" if turned else "") for kind, turned in EXAMPLES]


def cam() -> Custom:
    """A slide along the curve y = sin x, z = x²/2 that turns about z and then x as it goes."""

    def pose(al: Algebra, q: np.ndarray) -> Pose:
        R = so3.rotation_z(al, q[0]) @ so3.rotation_x(al, q[0] * q[0])
        return Pose(R, al.array([q[0], al.sin(q[0]), q[0] * q[0] / 2]))

    def equations(al: Algebra, X: Pose) -> list[Any]:
        E = pose(al, X.p[:1]).R.T @ X.R
        return [X.p[1] - al.sin(X.p[0]), X.p[2] - X.p[0] * X.p[0] / 2, E[0, 1], E[1, 2], E[2, 0]]

    return Custom(1, pose, equations, lambda al, X: X.p[:1])


def example(kind: str, reversed: bool = False) -> Joint:
    """A joint of this kind."""
    cls = JOINTS[kind]
    if kind == "custom":
        joint: Joint = cam()
    else:
        joint = cls(**{name.strip("[]"): QUANTITIES.get(name.strip("[]"), VALUE) for name in cls.parameters})
    return Reversed(joint) if reversed else joint


def quaternions(joint: Joint) -> list[slice]:
    """Where the quaternions of a joint stand in q."""
    joint = getattr(joint, "joint", joint)
    if joint.kind == "free":
        return [slice(0, 4)]
    return [at for factor, at, _ in getattr(joint, "_slices", []) if factor.nq == 4]
