"""Where a formula has branches: the functions whose signs choose one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.expressions.curves import Curve, TableCall
from dalembert.expressions.symbols import TIME

__all__ = ["margin_of", "switches_in", "switches_of"]

_BRANCHING = (sp.Abs, sp.sign, sp.Min, sp.Max, sp.Piecewise, TableCall)


def switches_of(node: Any) -> list[Any]:
    """The functions whose signs choose the branch of one ``abs``, ``sign``, ``min``, ``max`` or ``if``, or of a table.

    Those of ``min`` and ``max`` compare each entry with the least, or largest, before it; those of ``if`` are positive
    where its comparison holds; a table has one for each kink.
    """
    entries = cast("tuple[Any, ...]", node.args)
    if isinstance(node, (sp.Abs, sp.sign)):
        return [entries[0]]
    if isinstance(node, (sp.Min, sp.Max)):
        return [entries[k] - node.func(*entries[:k]) for k in range(1, len(entries))]
    if isinstance(node, sp.Piecewise):
        conditions: list[Any] = [entry[1] for entry in entries]
        return [margin_of(c) for c in conditions if isinstance(c, (sp.Lt, sp.Le, sp.Gt, sp.Ge))]
    if isinstance(node, TableCall) and isinstance(entries[0], Curve):
        return [entries[1] - sp.Float(kink) for kink in entries[0].kinks]
    return []


def margin_of(comparison: Any) -> Any:
    """The larger side of a comparison minus the smaller one, if it holds."""
    return comparison.gts - comparison.lts


def switches_in(formula: sp.Expr, moves: Callable[[Any], bool] | None = None) -> Iterator[sp.Expr]:
    """All of a formula that time or motion can change, those within others first.

    Args:
        moves: tells whether they can; by default what refers to the motion of a model, or to time, does.
    """
    moves = moves or _moves
    if not formula.has(*_BRANCHING):
        return
    seen: set[sp.Expr] = set()
    for node in cast(Any, sp).postorder_traversal(formula):
        for switch in switches_of(node):
            if switch not in seen and moves(switch):
                seen.add(switch)
                yield switch


def _moves(switch: Any) -> bool:
    return bool(switch.atoms(AppliedUndef)) or TIME in switch.free_symbols
