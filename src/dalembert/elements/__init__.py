"""What a model is made of: named, frozen, validated data, and the motion that elements may ask about."""

from dalembert.elements.allowed import LINEAR, MOTION, Allowed
from dalembert.elements.base import (
    BodyName,
    ConstraintName,
    Element,
    Formula,
    FrameName,
    Gravity,
    Inertia3,
    JointName,
    Name,
    ParameterName,
    PlainFormula,
    RateName,
    Record,
    Vector,
)
from dalembert.elements.motion import Load, Motion
from dalembert.elements.placement import Placement
from dalembert.elements.shape import Shape
from dalembert.elements.site import Site, Sizes, check_two_bodies

__all__ = [
    "LINEAR", "MOTION", "Allowed", "BodyName", "ConstraintName", "Element", "Formula", "FrameName", "Gravity",
    "Inertia3", "JointName", "Load", "Motion", "Name", "ParameterName", "Placement", "PlainFormula", "RateName",
    "Record", "Shape", "Site", "Sizes", "Vector", "check_two_bodies",
]  # fmt: skip
