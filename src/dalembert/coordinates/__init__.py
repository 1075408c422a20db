"""Kinds of coordinates. A new kind is one file and one line in ``COORDINATES``."""

from dalembert.coordinates.absolute import Absolute
from dalembert.coordinates.base import Coordinates, PlacedTree
from dalembert.coordinates.relative import Relative

__all__ = ["COORDINATES", "Absolute", "Coordinates", "PlacedTree", "Relative"]

COORDINATES: dict[str, type[Coordinates]] = {kind.name: kind for kind in (Relative, Absolute)}
