"""Kinds of coordinates. A new kind is one file and one line in ``COORDINATES``."""

from dalembert.coordinates.absolute import Absolute
from dalembert.coordinates.base import Coordinates, Kinematics, TreeKinematics
from dalembert.coordinates.generalized import Generalized, GeneralizedCoordinates
from dalembert.coordinates.generalized_kinematics import GeneralizedKinematics
from dalembert.coordinates.generalized_maps import MappedKinematics
from dalembert.coordinates.natural import Natural, NaturalCoordinates
from dalembert.coordinates.natural_kinematics import NaturalKinematics
from dalembert.coordinates.relative import Relative

__all__ = [
    "COORDINATES", "Absolute", "CoordinateOptions", "Coordinates", "Generalized", "GeneralizedCoordinates",
    "GeneralizedKinematics", "Kinematics", "MappedKinematics", "Natural", "NaturalCoordinates", "NaturalKinematics",
    "Relative", "TreeKinematics",
]  # fmt: skip

# Options with which a kind of coordinates may be asked for.
CoordinateOptions = Generalized | Natural

COORDINATES: dict[str, type[Coordinates]] = {
    kind.name: kind for kind in (Relative, Absolute, NaturalCoordinates, GeneralizedCoordinates)
}
