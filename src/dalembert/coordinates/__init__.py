"""Kinds of coordinates. A new kind is one file and one line in ``COORDINATES``."""

from dalembert.coordinates.absolute import Absolute
from dalembert.coordinates.base import Coordinates, Placed, PlacedTree
from dalembert.coordinates.generalized import Generalized, GeneralizedCoordinates
from dalembert.coordinates.generalized_maps import PlacedMapped
from dalembert.coordinates.generalized_tree import PlacedGeneralized
from dalembert.coordinates.natural import Natural
from dalembert.coordinates.natural_tree import PlacedNatural
from dalembert.coordinates.relative import Relative

__all__ = [
    "COORDINATES",
    "Absolute",
    "Coordinates",
    "Generalized",
    "GeneralizedCoordinates",
    "Natural",
    "Placed",
    "PlacedGeneralized",
    "PlacedMapped",
    "PlacedNatural",
    "PlacedTree",
    "Relative",
]

COORDINATES: dict[str, type[Coordinates]] = {
    kind.name: kind for kind in (Relative, Absolute, Natural, GeneralizedCoordinates)
}
