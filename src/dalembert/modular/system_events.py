"""Events of subsystems: something that happens where a formula passes through zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME, evaluate

__all__ = ["SIGNS", "SystemEvent", "check_event", "new_values"]

SIGNS = {"rising": (1.0,), "falling": (-1.0,), "any": (1.0, -1.0)}


@dataclass(frozen=True)
class SystemEvent:
    """Something that happens where a formula passes through zero.

    Attributes:
        name: with the path of its owner.
        when: the formula, in symbols of the system, without variables of the highest order.
        direction: ``rising``, ``falling`` or ``any``.
        stop: whether the run ends.
        set: (name of a variable or a parameter, its new value).
    """

    name: str
    when: sp.Expr
    direction: str
    stop: bool
    set: tuple[tuple[str, sp.Expr], ...]

    @property
    def signs(self) -> tuple[float, ...]:
        """The formula times each of these rises through zero."""
        return SIGNS[self.direction]


def check_event(owner: str, event: SystemEvent, state: list[str], parameters: Mapping[str, Any], inputs: Any) -> None:
    """Refuse what a run cannot tell.

    Raises:
        ModelError: naming the event and the symbol.
    """
    readable = {TIME.name, *state, *parameters, *inputs}
    for formula in (event.when, *(value for _, value in event.set)):
        strange = sorted(set(map(str, formula.free_symbols)) - readable)
        if strange:
            raise ModelError(
                Problem(
                    f"subsystem {owner!r}, event {event.name!r}: {strange[0]!r} is not a variable below the highest "
                    f"order, a parameter or an input",
                    fix="e.g. positions and velocities; accelerations are known after a step only",
                )
            )
    for name, _ in event.set:
        if name not in state and name not in parameters:
            raise ModelError(
                Problem(
                    f"subsystem {owner!r}, event {event.name!r} sets {name!r}, which is neither a variable "
                    "below the highest "
                    f"order nor a parameter of its own",
                    fix=f"one of {', '.join(state[:6])}, …",
                )
            )


def new_values(event: SystemEvent, known: Mapping[str, float]) -> dict[str, float]:
    """What an event sets, from values of all symbols before it."""

    def lookup(symbol: Any) -> float:
        return known[symbol.name]

    return {name: float(np.float64(evaluate(NUMPY, value, lookup))) for name, value in event.set}
