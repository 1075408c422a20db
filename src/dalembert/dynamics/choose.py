"""Which coordinates and which formulation: by name, or by the look of the model."""

from __future__ import annotations

from typing import Any

from dalembert.coordinates import COORDINATES, Coordinates
from dalembert.errors import DalembertError
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.model import Flat

__all__ = ["choose", "is_constrained"]


def choose(flat: Flat, formulation: str, coordinates: str) -> tuple[Coordinates, Formulation, str]:
    """Coordinates and formulation by name; ``auto`` looks at the topology."""
    _known("coordinates", coordinates, COORDINATES)
    _known("formulation", formulation, FORMULATIONS)
    chosen = COORDINATES["relative" if coordinates == "auto" else coordinates](flat)
    if formulation != "auto":
        return chosen, FORMULATIONS[formulation](), "as asked"
    if is_constrained(chosen) or chosen.name != "relative":
        n = len(chosen.cut)
        why = f"{n} closed joint{'s' * (n > 1)}" if n else "constraints between joints"
        return chosen, FORMULATIONS["lagrange-multipliers"](), f"{why}: all constraints are solved for together"
    return chosen, FORMULATIONS["recursive"](), "a tree without constraints: elimination in linear time"


def is_constrained(coordinates: Coordinates) -> bool:
    """True if some joint is cut, some constraint is given, or some joint is nonholonomic."""
    flat = coordinates.flat
    return bool(coordinates.cut or flat.constraints) or any(
        coordinates.nominal_joint(name).joint.nonholonomic for name in flat.joints
    )


def _known(what: str, name: str, registry: dict[str, Any]) -> None:
    if name != "auto" and name not in registry:
        raise DalembertError(f"unknown {what} {name!r}; expected 'auto' or one of {', '.join(sorted(registry))}")
