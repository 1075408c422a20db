"""Units of symbols: what a parameter is used for says what it is measured in.

A mass m is in kg, since it stands where a body has its mass; a density ρ of a mass ρ l is in kg/m once l is known to be
in m. What no element says stays without a unit; nothing is guessed from names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from dalembert.model import Flat
from dalembert.values import TUPLE

__all__ = ["parameter_units", "unit_text"]

Dimension = tuple[int, int, int]  # powers of kg, m, s

MASS: Dimension = (1, 0, 0)
LENGTH: Dimension = (0, 1, 0)
_FIELDS: dict[str, Dimension] = {
    "mass": MASS, "com": LENGTH, "inertia": (1, 2, 0), "position": LENGTH, "point": LENGTH, "point_2": LENGTH,
    "size": LENGTH, "radius": LENGTH, "length": LENGTH, "at": LENGTH,
}  # fmt: skip
_SPRING: dict[str, Dimension] = {"stiffness": (1, 0, -2), "damping": (1, 0, -1), "length": LENGTH, "at": LENGTH}
_PLAIN = 16  # a number with a longer numerator or denominator may carry a unit of its own


def parameter_units(flat: Flat) -> dict[str, str]:
    """Units of the parameters of a model that its elements tell."""
    known: dict[sp.Symbol, Dimension] = {}
    products: list[tuple[list[tuple[Any, int]], Dimension]] = []
    for formula, dimension in _given(flat):
        for term in sp.Add.make_args(formula):
            number, rest = term.as_coeff_Mul()
            factors = _factors(rest)
            if factors and _is_plain(number):
                products.append((factors, dimension))
    # Letters that stand alone first: a number in a product may hide a length.
    for factors, dimension in sorted(products, key=lambda pair: len(pair[0])):
        if len(factors) == 1 and factors[0][1] == 1:
            known.setdefault(factors[0][0], dimension)
    while True:
        found = dict(_solved(products, known))
        if not found:
            return {symbol.name: unit_text(dimension) for symbol, dimension in known.items()}
        known |= found


def unit_text(dimension: Dimension) -> str:
    """(1, 2, −2) as kg m²/s²."""
    names = ("kg", "m", "s")
    above, below = (
        " ".join(name + _power(sign * e) for name, e in zip(names, dimension, strict=True) if sign * e > 0)
        for sign in (1, -1)
    )
    if " " in below:
        below = f"({below})"
    return f"{above or '1'}/{below}" if below else above


def _power(e: int) -> str:
    return "" if e == 1 else str(e).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _given(flat: Flat) -> Iterator[tuple[sp.Expr, Dimension]]:
    """Formulas of elements, and what they are measured in."""
    bodies = [body for body, _ in flat.bodies.values()]
    shapes: list[Any] = [shape for body in bodies for shape in body.shapes]
    shapes += [shape for shape, *_ in flat.ground_shapes]
    placed = [shape.pose for shape in shapes if shape.pose is not None]
    for element in [*bodies, *(joint for joint, _ in flat.joints.values()), *shapes, *placed]:
        yield from _fields(element, _FIELDS)
    for force, _ in flat.forces.values():
        if hasattr(force, "length") and hasattr(force, "at"):  # between two points; what turns has other units
            yield from _fields(force, _SPRING)


def _fields(element: Any, fields: dict[str, Dimension]) -> Iterator[tuple[sp.Expr, Dimension]]:
    for name, dimension in fields.items():
        yield from ((formula, dimension) for formula in _flat(getattr(element, name, None)))


def _flat(value: Any) -> Iterator[sp.Expr]:
    if isinstance(value, TUPLE):
        for part in value:
            yield from _flat(part)
    elif isinstance(value, sp.Expr):
        yield value


def _factors(product: Any) -> list[tuple[Any, int]]:
    """Symbols and their powers; empty if there is anything else."""
    found = [factor.as_base_exp() for factor in sp.Mul.make_args(product)]
    if all(base.is_Symbol and power.is_Integer for base, power in found):
        return [(base, int(power)) for base, power in found]
    return []


def _is_plain(number: Any) -> bool:
    exact = Fraction(float(number)).limit_denominator(1000)
    return abs(exact.numerator) <= _PLAIN and exact.denominator <= _PLAIN


def _solved(
    products: Iterable[tuple[list[tuple[Any, int]], Dimension]], known: dict[sp.Symbol, Dimension]
) -> Iterator[tuple[sp.Symbol, Dimension]]:
    """Products of which all factors but one are known."""
    for factors, dimension in products:
        unknown = [(symbol, power) for symbol, power in factors if symbol not in known]
        if len(unknown) != 1:
            continue
        symbol, power = unknown[0]
        rest = list(dimension)
        for other, e in factors:
            if other is not symbol:
                rest = [r - e * d for r, d in zip(rest, known[other], strict=True)]
        if all(r % power == 0 for r in rest):
            yield symbol, (rest[0] // power, rest[1] // power, rest[2] // power)
