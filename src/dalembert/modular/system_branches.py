"""Formulas of subsystems with branches (if, abs, sign, min, max), which are evaluated as they are written."""

from __future__ import annotations

from typing import Any

from dalembert.expressions import TIME, switches_in
from dalembert.modular.description import Description
from dalembert.modular.modular_system import ModularSystem

__all__ = ["branches_as_written"]


def branches_as_written(system: ModularSystem) -> list[str]:
    """Forces, invariants and kinematics whose branch time or motion can change, by the names of their owners."""
    found: list[str] = []
    for node in system.nodes:
        d, path = node.description, ".".join(node.path)
        front = f"{path}." if path else ""
        formulas = [(f"the force on {front}{name}", value) for name, value in d.forces]
        formulas += [(f"invariant {front}{invariant.name}", invariant.value) for invariant in d.invariants]
        formulas += [(f"the kinematics of {front}{name}", value) for name, _, value in d.defined]
        found += [
            name for name, value in formulas if any(True for _ in switches_in(value, lambda s, d=d: _moves(d, s)))
        ]
    return found


def _moves(d: Description, switch: Any) -> bool:
    """Whether a formula has more in it than parameters and numbers."""
    for symbol in switch.free_symbols:
        place = None if symbol == TIME else d.locate(symbol.name)
        if place is None or place.kind != "parameter":
            return True
    return False
