"""What formulas of a planar mechanism may name.

| name | is |
|---|---|
| ``t``, a parameter, an input | time, a number, a force that is chosen from outside |
| ``crank.angle``, ``crank.omega`` | rotation of a body since it was drawn (rad), angular velocity (rad/s) |
| ``crank.pin.x``, ``.y``, ``.vx``, ``.vy`` | a node's place (m) and velocity (m/s) |
| ``A.angle``, ``A.omega`` | rotation of the second body of a joint against the first |
| ``guide.slide``, ``guide.speed`` | displacement of the second body along the joint's axis |
| ``phi``, ``phi.rate`` | a coordinate of one's own |
| ``p`` | a quasi-velocity of one's own |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.expressions import TIME
from dalembert.model.fields import nearest
from dalembert.planar.planar_data import BASE, OF_BODY, OF_NODE

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["POSITION", "VELOCITY", "bare_name", "near_quantities", "quantities", "symbols_of"]

POSITION, VELOCITY = "position", "velocity"
_LEVELS = {
    "angle": POSITION, "x": POSITION, "y": POSITION, "slide": POSITION,
    "omega": VELOCITY, "vx": VELOCITY, "vy": VELOCITY, "speed": VELOCITY, "rate": VELOCITY,
}  # fmt: skip


def quantities(planar: Planar) -> dict[str, str]:
    """Every quantity of the motion, with its level."""
    found: list[str] = []
    for body in planar.bodies:
        found += [f"{body.name}.{key}" for key in OF_BODY]
        found += [f"{body.name}.{node}.{key}" for node in body.nodes for key in OF_NODE]
    found += [f"{BASE}.{node}.{key}" for node in planar.base_nodes for key in OF_NODE]
    found += [f"{joint.name}.{key}" for joint in planar.joints for key in joint.quantities()]
    levels = {name: _LEVELS[name.rsplit(".", 1)[1]] for name in found}
    for coordinate in planar.coordinates:
        levels |= {coordinate.name: POSITION, f"{coordinate.name}.rate": VELOCITY}
    return levels | {velocity.name: VELOCITY for velocity in planar.quasi_velocities}


def near_quantities(name: Any, known: Iterable[str]) -> str:
    """A fix for an unknown quantity: those of the same owner first."""
    known, owner = list(known), str(name).partition(".")[0]
    return nearest(name, ([one for one in known if one.partition(".")[0] == owner] or known)[:20])


def symbols_of(formula: sp.Expr) -> set[sp.Symbol]:
    """The names in a formula, time excepted."""
    return {symbol for symbol in formula.free_symbols if isinstance(symbol, sp.Symbol) and symbol != TIME}


def bare_name(value: Any) -> str | None:
    """The name, if a formula is nothing but a name without dots."""
    plain = isinstance(value, sp.Symbol) and value != TIME and "." not in value.name
    return value.name if plain else None


def has_references(formula: sp.Expr) -> bool:
    """True if it is written as for a model, with q(), u(), x() …"""
    return bool(formula.atoms(AppliedUndef))
