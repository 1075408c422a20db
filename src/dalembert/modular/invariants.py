"""Invariants: their order, their kind, and the constraint order of a system.

    holonomic                  h(t, q⟨0⟩) = 0, or the rate of one;  rheonomic with t in it
    simple nonholonomic        a(t, q⟨0⟩) q⟨1⟩ + c(t, q⟨0⟩) = 0
    nonholonomic               of order 1 and not affine in q⟨1⟩, or of higher order (programmed constraints)

The constraint order ν° of a system is the least σ for which all invariants are affine in q⟨σ⟩ and no variable is
declared above σ (def. 2.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import casadi as ca
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.expressions import TIME, derivative, expanded, replaced, symbols_of
from dalembert.modular.description import Description, Invariant
from dalembert.modular.labels import Label
from dalembert.modular.scope import Scope
from dalembert.modular.variables import local

__all__ = [
    "Classified", "classify", "constraint_order", "constraint_order_of", "force_order", "top_places", "working_order",
]  # fmt: skip


@dataclass(frozen=True)
class Classified:
    """An invariant and what it is.

    Attributes:
        label: its place in the tree and name.
        order: of the highest variable in it, as given.
        kind: ``holonomic``, ``simple nonholonomic`` or ``nonholonomic``.
        rheonomic: True if time or an input occurs.
        state: ``used``, ``redundant`` (follows from others), ``degenerate`` (an identity once differentiated), or
            ``least-squares`` (contradicts others and is met as well as can be).
    """

    label: Label
    expression: sp.Expr
    order: int
    kind: Literal["holonomic", "simple nonholonomic", "nonholonomic"]
    rheonomic: bool
    state: str = "used"

    def __str__(self) -> str:
        when = "rheonomic " if self.rheonomic else ""
        return f"{self.label.text}: {when}{self.kind}, order {self.order}, {self.state}"


def _top_symbols(d: Description, expression: sp.Expr, order: int) -> list[Any]:
    """Variables of an order in a formula, and whether all of them go on to every higher order."""
    found: list[Any] = []
    for symbol in symbols_of(expression):
        place = None if symbol == TIME else d.locate(symbol.name)
        if place is not None and place.kind == "variable" and place.label().order == order:
            found.append((symbol, place))
    return found


def top_places(d: Description, expression: sp.Expr) -> list[Any]:
    """Variables of the highest order in a formula: (symbol, place)."""
    return sorted(_top_symbols(d, expression, d.order_of(expression)), key=lambda pair: pair[0].name)


def constraint_order_of(d: Description, invariant: Invariant) -> int:
    """The least order at which an invariant is affine in variables that have no kinematics of their own."""
    key = ("affine", invariant.name)
    if key not in d.memo:
        expression = d.lively(invariant.value)
        order, names = max(d.order_of(expression), 0), d.names(expression)
        tops = _tops(d, names, order)
        if not any(place.name in place.owner.definitions for _, place in tops):
            affine = degree(expression, {local(name) for name, _ in tops}) < 2
        else:
            scope = Scope(CASADI, d)
            value = scope.value(expression)
            while any(place.name in place.owner.definitions for _, place in tops):
                value, names = scope.rate(value, names)
                order += 1
                tops = _tops(d, names, order)
            affine = _looks_affine(scope, value, [name for name, _ in tops])
        d.memo[key] = order if affine or _is_affine(d, expression, order) else order + 1
    return d.memo[key]


def degree(expression: Any, symbols: set[Any]) -> int:
    """0 without the symbols, 1 if affine in them as it stands, else 2."""
    if expression.is_Symbol:
        return int(expression in symbols)
    if not expression.args:
        return 0
    found = [degree(one, symbols) for one in expression.args]
    if expression.is_Add:
        return max(found)
    return min(sum(found), 2) if expression.is_Mul else 2 * int(any(found))


def _tops(d: Description, names: Iterable[str], order: int) -> list[Any]:
    """Variables of an order among names."""
    places = [(name, d.locate(name)) for name in names if name != TIME.name]
    return [(n, p) for n, p in places if p is not None and p.kind == "variable" and p.label().order == order]


def _looks_affine(scope: Scope, value: Any, names: list[str]) -> bool:
    """True if a scalar has no products, squares or other functions of some symbols as it stands; found fast."""
    if not names or type(value) is float:
        return True
    symbols = CASADI.to_sx(CASADI.vector([scope[name] for name in names]))
    return not any(ca.which_depends(CASADI.to_sx(CASADI.vector([value])), symbols, 2, False))


def _is_affine(d: Description, expression: Any, order: int) -> bool:
    """The same by mathematics: where products cancel."""
    for _ in range(max(d.order_of(expression), 0), order):
        expression = d.rate(expression)
    symbols = {symbol for symbol, _ in _top_symbols(d, expression, order)}
    return all(not (derivative(expression, symbol).free_symbols & symbols) for symbol in symbols)


def constraint_order(d: Description) -> int:
    """ν° of a description with all its parts."""
    key = "constraint order"
    if key not in d.memo:
        own = [constraint_order_of(d, invariant) for invariant in d.invariants]
        declared = [family.order for family in d.families]
        defined = [d.order_of(d.lively(value)) for _, _, value in d.defined]
        d.memo[key] = max([0, *own, *declared, *defined, *(constraint_order(part.description) for part in d.parts)])
    return d.memo[key]


def force_order(d: Description) -> int:
    """The highest order among the variables that forces name, in a description and its parts; −1 without forces."""
    key = "force order"
    if key not in d.memo:
        own = [d.order_of(d.lively(value)) for _, value in d.forces]
        d.memo[key] = max([-1, *own, *(force_order(part.description) for part in d.parts)])
    return d.memo[key]


def working_order(d: Description) -> int:
    """σ: the least order that serves invariants and forces."""
    return max(constraint_order(d), force_order(d))


def classify(d: Description, invariant: Invariant, label: Label, state: str = "used") -> Classified:
    """What an invariant is."""
    expression = d.lively(invariant.value)
    order = max(d.order_of(expression), 0)
    if order == 0:
        kind = "holonomic"
    elif order == 1 and constraint_order_of(d, invariant) == 1:
        kind = "holonomic" if _integrable(d, expression) else "simple nonholonomic"
    else:
        kind = "nonholonomic"
    known = {s for s in expression.free_symbols if s == TIME or _is_input(d, s)}
    return Classified(label, invariant.value, order, kind, bool(known), state)


def _is_input(d: Description, symbol: Any) -> bool:
    place = d.locate(symbol.name)
    return place is not None and place.kind == "input"


def _integrable(d: Description, expression: sp.Expr) -> bool:
    """True for a Σ aᵢ q̇ᵢ with exact coefficients of trivial rates: the rate of a function of coordinates.

    An answer about one invariant alone; several may be integrable together though none is alone.
    """
    terms: dict[Any, Any] = {symbol: sp.S.Zero for symbol, _ in _top_symbols(d, expression, 0)}
    for symbol, place in _top_symbols(d, expression, 1):
        if place.owner.orders[place.name] != 0:
            return False
        coordinate = sp.Symbol(symbol.name[: -len(".d")], real=True)
        terms[coordinate] = derivative(expression, symbol)
    names = list(terms)
    rest = replaced(expression, {sp.Symbol(f"{c.name}.d", real=True): sp.S.Zero for c in names})
    left: list[Any] = [
        derivative(terms[a], b) - derivative(terms[b], a) for i, a in enumerate(names) for b in names[:i]
    ]
    left += [derivative(terms[a], TIME) - derivative(rest, a) for a in names]
    return not any(expanded(one) != 0 for one in left)
