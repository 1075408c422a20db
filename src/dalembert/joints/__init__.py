"""The joint catalog. A new joint is one file and one line in ``JOINTS``."""

from typing import Any

from dalembert.joints.base import Joint
from dalembert.joints.custom import Custom, CustomMotion
from dalembert.joints.cylindrical import Cylindrical
from dalembert.joints.fixed import Fixed
from dalembert.joints.free import Free
from dalembert.joints.joint_data import JointData
from dalembert.joints.planar import Planar
from dalembert.joints.planar_translation import PlanarTranslation
from dalembert.joints.point import Distance, PointOnLine, PointOnPlane
from dalembert.joints.prismatic import Prismatic
from dalembert.joints.revolute import Revolute
from dalembert.joints.rolling import RollingDisc, RollingSphere
from dalembert.joints.schoenflies import Schoenflies
from dalembert.joints.screw import Screw
from dalembert.joints.spherical import Spherical
from dalembert.joints.translational import Translational
from dalembert.joints.universal import Universal

__all__ = ["JOINTS", "Custom", "CustomMotion", "Free", "Joint", "JointData", "data_of"]

JOINTS: dict[str, type[Joint]] = {
    joint.kind: joint
    for joint in (
        Revolute, Prismatic, Cylindrical, Screw, Universal, Spherical, Planar, Translational, PlanarTranslation,
        Schoenflies, Fixed, Free, PointOnLine, PointOnPlane, Distance, RollingDisc, RollingSphere, Custom,
    )
}  # fmt: skip


def data_of(kind: Any) -> type[JointData]:
    """The class of the data of a kind of joint; an unknown kind has the fields of every joint."""
    joint = JOINTS.get(kind) if isinstance(kind, str) else None
    return JointData if joint is None else joint.Data
