"""Branches of formulas of subsystems (if, abs, sign, min, max): equations in which modes choose them.

A mode is one more parameter of a subsystem: 1 or −1 takes the branch of a positive or negative function, 0 that of its
value. A run changes modes where these functions pass through zero (see ``integrators.switching``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from dalembert.expressions import TIME, replaced, switches_in, symbols_of
from dalembert.modular.description import Description, interned
from dalembert.modular.modular_equations import ModularEquations
from dalembert.modular.nodes import Node

__all__ = ["branch_names", "branches_as_written", "with_modes"]

MOST_BRANCHES = 100  # that a run can choose; a system with more is evaluated as it is written
KEY, INPUT = "with modes", "input"


def with_modes(equations: ModularEquations, inputs: Mapping[str, sp.Expr]) -> ModularEquations:
    """The same equations with modes that choose branches; those themselves if there is nothing to choose.

    Args:
        inputs: formulas of time, which may have branches too.
    """
    eq, laws = equations, tuple(sorted(inputs.items()))
    key = (KEY, eq.name, eq.order, tuple(eq.parameters.items()), tuple(eq.guesses.items()), eq.strategy, laws)
    memo = eq.description.memo
    if key not in memo:
        memo[key] = _made(eq, inputs)
    return memo[key] or eq


def _made(eq: ModularEquations, inputs: Mapping[str, sp.Expr]) -> ModularEquations | None:
    description = _with_modes(eq.description)
    found = {
        _name(node, mode): _at_root(node, switch)
        for node in Node(description).post_order()
        for mode, switch in node.description.branches
    }
    for name, law in inputs.items():
        found |= {f"{INPUT} {name}.branch {k + 1}": x for k, x in enumerate(switches_in(law))}
    # What the highest order chooses is known after an evaluation only.
    tops = set(map(str, eq.top))
    branches = {mode: x for mode, x in found.items() if not {symbol.name for symbol in symbols_of(x)} & tops}
    if not 0 < len(branches) <= MOST_BRANCHES:
        return None
    values = {**eq.parameters, **dict.fromkeys(found, 0.0)}
    made = ModularEquations(eq.name, description, values, eq.guesses, eq.order, eq.strategy)
    made.modes, made.branches = tuple(found), branches
    return made


def _with_modes(d: Description) -> Description:
    """A description, and its parts, with a mode for each function that chooses branches."""
    if KEY not in d.memo:
        parts = tuple(replace(part, description=_with_modes(part.description)) for part in d.parts)
        found = list(dict.fromkeys(x for *_, formula in _formulas(d) for x in _moving(d, d.lively(formula))))
        branches = tuple((f"branch {k + 1}", x) for k, x in enumerate(found))
        same = not branches and all(a.description is b.description for a, b in zip(parts, d.parts, strict=True))
        modes = tuple(name for name, _ in branches)
        made = replace(d, parts=parts, branches=branches, parameters=(*d.parameters, *modes), memo={})
        d.memo[KEY] = d if same else interned(made)
    return d.memo[KEY]


def _formulas(d: Description) -> Iterator[tuple[str, str, sp.Expr]]:
    """All formulas of a description: what each is, and of what."""
    for name, value in d.forces:
        yield "the force on", name, value
    for invariant in d.invariants:
        yield "invariant", invariant.name, invariant.value
    for name, _, value in d.defined:
        yield "the kinematics of", name, value
    for part in d.parts:
        for symbol, value in part.given:
            yield "what is given for", f"{part.name}.{symbol.name}", value


def _moving(d: Description, formula: sp.Expr) -> Iterator[sp.Expr]:
    """Functions that choose branches of a formula and have more in them than parameters and numbers."""

    def moves(switch: Any) -> bool:
        places = [None if symbol == TIME else d.locate(symbol.name) for symbol in switch.free_symbols]
        return any(place is None or place.kind != "parameter" for place in places)

    return switches_in(formula, moves)


def _at_root(node: Node, switch: sp.Expr) -> sp.Expr:
    """A formula of a subsystem as the root sees it."""
    return replaced(switch, {symbol: node.at_root(symbol.name) for symbol in symbols_of(switch) if symbol != TIME})


def branch_names(equations: ModularEquations, mode: str) -> list[str]:
    """Invariants behind a mode, by name; other formulas if there are none."""
    if mode.startswith(INPUT):
        return [mode.rpartition(".")[0]]
    found = [what for what, modes in _chosen_by(equations) if mode in modes]
    return [what for what in found if what.startswith("invariant")] or found


def branches_as_written(equations: ModularEquations) -> list[str]:
    """Formulas whose branch time or motion can change, and that no mode chooses, by the names of their owners."""
    return [what for what, modes in _chosen_by(equations) if not modes <= equations.branches.keys()]


def _chosen_by(equations: ModularEquations) -> Iterator[tuple[str, set[str]]]:
    """All formulas with branches: what each is, and the modes that choose them, or would if there were any."""
    for node in equations.nodes:
        d = node.description
        names = {switch: _name(node, mode) for mode, switch in d.branches}
        for what, name, formula in _formulas(d):
            found = {names.get(switch, "") for switch in _moving(d, d.lively(formula))}
            if found:
                yield f"{what} {_name(node, name)}", found


def _name(node: Node, name: str) -> str:
    return ".".join((*node.path, name))
