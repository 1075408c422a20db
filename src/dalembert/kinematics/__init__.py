"""Kinds of coordinates. A new kind is one file and one line in ``COORDINATES``."""

from dalembert.kinematics.absolute import Absolute
from dalembert.kinematics.base import Coordinates, Kinematics, TreeKinematics
from dalembert.kinematics.generalized import Generalized, GeneralizedCoordinates
from dalembert.kinematics.generalized_kinematics import GeneralizedKinematics
from dalembert.kinematics.generalized_maps import MappedKinematics
from dalembert.kinematics.natural import Natural
from dalembert.kinematics.natural_kinematics import NaturalKinematics
from dalembert.kinematics.relative import Relative

__all__ = [
    "COORDINATES",
    "Absolute",
    "Coordinates",
    "Generalized",
    "GeneralizedCoordinates",
    "GeneralizedKinematics",
    "Kinematics",
    "MappedKinematics",
    "Natural",
    "NaturalKinematics",
    "Relative",
    "TreeKinematics",
]

COORDINATES: dict[str, type[Coordinates]] = {
    kind.name: kind for kind in (Relative, Absolute, Natural, GeneralizedCoordinates)
}
