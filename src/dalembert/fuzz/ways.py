"""All ways to the accelerations: formulations with the coordinates that mean something to them."""

from __future__ import annotations

from dalembert.coordinates import COORDINATES
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.shared.analytical import AnalyticalFormulation

__all__ = ["ANALYTICAL", "PAIRS", "coordinates_of"]

ANALYTICAL = [name for name, kind in FORMULATIONS.items() if issubclass(kind, AnalyticalFormulation)]
# To a formulation that solves the canonical equations, generalized coordinates are relative ones with other numbers.
IN_GENERALIZED = (*ANALYTICAL, "lagrange-multipliers", "recursive", "woronetz")


def coordinates_of(formulation: str) -> list[str]:
    """All that it takes; generalized ones for those to which they mean something."""
    taken = [kind for kind in COORDINATES if kind in FORMULATIONS[formulation].supports().coordinates]
    return [kind for kind in taken if kind != "generalized" or formulation in IN_GENERALIZED]


PAIRS = [(formulation, kind) for formulation in FORMULATIONS for kind in coordinates_of(formulation)]
