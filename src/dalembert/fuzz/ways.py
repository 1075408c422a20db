"""All ways to the accelerations: formulations with the coordinates that mean something to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.coordinates import COORDINATES, Generalized
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.canonical_augmented import FORMS
from dalembert.formulations.independent import BASES
from dalembert.formulations.lagrange_multipliers import SOLVERS
from dalembert.formulations.modular import GROUPINGS
from dalembert.formulations.shared.analytical import AnalyticalFormulation
from dalembert.formulations.velocity_transformation import CLOSINGS, DEPENDENT
from dalembert.joints.rated import ROTATIONS
from dalembert.spatial import euler

__all__ = ["ANALYTICAL", "OPTIONS", "PAIRS", "coordinates_of", "draw_way"]

ANALYTICAL = [name for name, kind in FORMULATIONS.items() if issubclass(kind, AnalyticalFormulation)]
# To a formulation that solves the canonical equations, generalized coordinates are relative ones with other numbers.
IN_GENERALIZED = (*ANALYTICAL, "lagrange-multipliers", "recursive", "woronetz")


def coordinates_of(formulation: str) -> list[str]:
    """All that it takes; generalized ones for those to which they mean something."""
    taken = [kind for kind in COORDINATES if kind in FORMULATIONS[formulation].supports().coordinates]
    return [kind for kind in taken if kind != "generalized" or formulation in IN_GENERALIZED]


PAIRS = [(formulation, kind) for formulation in FORMULATIONS for kind in coordinates_of(formulation)]

# Options of formulations that change how accelerations are found, but not what they are; penalties stay as they are.
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "lagrange-multipliers": {"solve": tuple(SOLVERS)},
    "independent": {"basis": tuple(basis for basis in BASES if basis != "given")},
    "velocity-transformation": {
        "closing": tuple(closing for closing in CLOSINGS if closing != "penalty"), "dependent": DEPENDENT,
    },
    "modular": {"grouping": GROUPINGS, "merge": (True, False)},
    "canonical-augmented": {"form": FORMS},
}  # fmt: skip


def draw_way(
    rng: np.random.Generator, formulation: str, coordinates: str
) -> tuple[str, Formulation, str | Generalized]:
    """A pair with options, by half as they are by default; and what it is called."""
    chosen: dict[str, Any] = {}
    kind: str | Generalized = coordinates
    if rng.random() < 0.5:
        chosen = {name: values[rng.integers(len(values))] for name, values in OPTIONS.get(formulation, {}).items()}
        if coordinates == "generalized":
            rotations: Any = list(ROTATIONS)[rng.integers(len(ROTATIONS))]
            kind = Generalized(rotations=rotations, sequence=list(euler.SEQUENCES)[rng.integers(len(euler.SEQUENCES))])
    words = " ".join(f"{name}={value}" for name, value in chosen.items())
    return f"{formulation} {kind} {words}".strip(), FORMULATIONS[formulation](**chosen), kind
