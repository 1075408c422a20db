"""Which coordinates and which formulation: by name, or by the look of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.coordinates import COORDINATES, CoordinateOptions, Coordinates
from dalembert.dynamics.recipe import Recipe
from dalembert.errors import DalembertError, ModelError
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.recursive import LIGHT, MOST_CHECKED, Recursive
from dalembert.model import Flat, Mechanism
from dalembert.spatial.inertia import Inertia

__all__ = ["choose", "is_rolled"]

# From this number of bodies on, models run by rolled recursions; up to it, unrolled code is as fast and batches better.
TREES_ROLLED_FROM = 100
LOOPS_ROLLED_FROM = 20
ROLLED = ("relative", "absolute")


def choose(
    flat: Flat, formulation: str | Formulation, coordinates: str | CoordinateOptions
) -> tuple[Coordinates, Recipe]:
    """The coordinates of a model, and the recipe: by name, or with options; ``auto`` looks at the topology."""
    if not isinstance(coordinates, CoordinateOptions):
        _known("coordinates", coordinates, COORDINATES)
    if not isinstance(formulation, Formulation):
        _known("formulation", formulation, FORMULATIONS)
    if coordinates == "auto":
        coordinates = first_coordinates(formulation)
    if isinstance(coordinates, CoordinateOptions):
        kind: Any = COORDINATES[coordinates.name]
        chosen: Coordinates = kind(flat, coordinates)
    else:
        chosen = COORDINATES[coordinates](flat)
    why = "as asked"
    if formulation == "auto":
        formulation, why = _first_formulation(chosen)
    if not isinstance(formulation, Formulation):
        formulation = FORMULATIONS[formulation]()
    return chosen, Recipe(chosen.options or chosen.name, formulation, why)


def _first_formulation(chosen: Coordinates) -> tuple[str, str]:
    """What suits the topology, and why."""
    if chosen.cut and is_rolled(chosen):
        return "recursive", "many bodies in loops: elimination that follows the loops"
    if chosen.has_constraints or chosen.name != "relative":
        n = len(chosen.cut)
        why = f"{n} closed joint{'s' * (n > 1)}" if n else "constraints between joints"
        return "lagrange-multipliers", f"{why}: all constraints are solved for together"
    if _has_light_turns(chosen):
        return "lagrange-multipliers", "a point mass or a slender rod can turn about itself: what has no inertia stays"
    return "recursive", "a tree without constraints: elimination in linear time"


def _has_light_turns(chosen: Coordinates) -> bool:
    """True if some joint can move something that has no inertia in that direction, such as a slender rod in a ball."""
    bodies, mechanism = chosen.flat.bodies, Mechanism.nominal(chosen.flat)
    if len(bodies) > MOST_CHECKED or not any(_is_slender(mechanism.inertia(body)) for body in bodies):
        return False
    try:
        Recursive().check(chosen)
    except ModelError:
        return True
    return False


def _is_slender(inertia: Inertia) -> bool:
    """True if a body has no inertia about some axis through its center: a rod without a radius, a point mass."""
    principal = np.linalg.eigvalsh(np.asarray(inertia.central, dtype=float))
    return bool(principal[0] <= LIGHT * principal[-1])


def first_coordinates(formulation: str | Formulation) -> str:
    """Relative coordinates, unless the formulation does not take them."""
    if formulation == "auto":
        return "relative"
    kind = FORMULATIONS[formulation] if isinstance(formulation, str) else formulation
    supported = kind.supports().coordinates
    return "relative" if "relative" in supported else supported[0]


def is_rolled(coordinates: Coordinates) -> bool:
    """True if the model is large and plain enough for rolled recursions: joints of the catalog; any forces, but none
    at cut joints; no constraints but cut joints that need no turns counted, and no armatures on those.
    """
    flat, cut = coordinates.flat, set(coordinates.cut)
    if coordinates.name not in ROLLED:
        return False
    if len(flat.bodies) < (LOOPS_ROLLED_FROM if cut else TREES_ROLLED_FROM):
        return False
    joints = {name: coordinates.nominal_joint(name).joint for name in flat.joints}
    if any(not joint.uniform or joint.nonholonomic for joint in joints.values()):
        return False
    if flat.constraints or coordinates.tail or flat.measures or flat.watched:
        return False
    if any(force.joints_read() & cut for force, _ in flat.forces.values()):
        return False
    return not any(data.armature is not None for name, (data, _) in flat.joints.items() if name in cut)


def _known(what: str, name: str, registry: dict[str, Any]) -> None:
    if name != "auto" and name not in registry:
        raise DalembertError(f"unknown {what} {name!r}; expected 'auto' or one of {', '.join(sorted(registry))}")
