"""What a model is made of: named, frozen, validated data, and the motion that elements may ask about."""

from dalembert.elements.base import BodyName, Element, Formula, FrameName, Inertia3, JointName, Name, Record, Vector
from dalembert.elements.motion import Load, Motion
from dalembert.elements.placement import Placement

__all__ = [
    "BodyName",
    "Element",
    "Formula",
    "FrameName",
    "Inertia3",
    "JointName",
    "Load",
    "Motion",
    "Name",
    "Placement",
    "Record",
    "Vector",
]
