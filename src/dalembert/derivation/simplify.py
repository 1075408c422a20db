"""An affordable simplifier for the expressions of mechanics.

Polynomials in parameters, rates and sines and cosines of angles, and quotients of such, come to one canonical form
(see ``trigonometry``), then to the shortest of several ways to write it (see ``fourier`` and ``collect``). All steps
watch a budget: an expression that is too large stays as it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.polys.domains import QQ

from dalembert.derivation.collect import LONG_FRACTION, Collector, length
from dalembert.derivation.fourier import Atom, atom_expression, shortest
from dalembert.derivation.trigonometric_field import (
    FACTORS,
    Budget,
    Polynomial,
    TooLarge,
    TrigonometricField,
    polynomial_ring,
)

__all__ = ["Budget", "common_factor", "is_quotient", "is_zero", "simplify", "simplify_array"]


_FACTORED = 100  # terms of a denominator that is searched for repeated factors
_WAYS = ("terms", "strangers", "divided")

Moving = Iterable[sp.Expr] | Callable[[Any], bool]


def simplify(expression: sp.Expr, moving: Moving = (), budget: Budget | int | None = None) -> sp.Expr:
    """The expression in a short form; the same expression if that would cost too much.

    Args:
        moving: symbols that change in time, or a function that tells; what multiplies them is collected.
        budget: how much work (see ``Budget.work``), or limits in detail.
    """
    budget = Budget.of(budget)
    moving = _told(moving)
    try:
        field = TrigonometricField([expression], budget)
        n, d = field.cancel(*field.convert(expression))
        if not n:
            return sp.S.Zero
    except TooLarge:
        return expression
    candidates = [expression]
    writer = _Writer(field, moving, budget)
    try:
        candidates.append(writer.quotient(n, d))
        if len(d) > 1 or any(m[k] for m in d for k in field.trigonometric):
            rational = field.rationalized(n, d)
            if rational != (n, d):
                candidates.append(writer.quotient(*rational))
            candidates += [writer.split(*pair, how) for pair in dict.fromkeys([(n, d), rational]) for how in _WAYS]
        elif d != 1:
            candidates.append(writer.split(n, d, "terms"))
    except TooLarge:
        pass
    # The first of equal length: an expression that is short already is not turned over.
    best = min(candidates, key=length)
    return candidates[1] if len(candidates) > 1 and length(candidates[1]) == length(best) else best


def simplify_array(values: np.ndarray, moving: Moving = (), budget: Budget | int | None = None) -> np.ndarray:
    """All expressions of an array; equal ones once."""
    budget = Budget.of(budget)
    moving = _told(moving)
    known: dict[Any, sp.Expr] = {}

    def simple(value: Any) -> sp.Expr:
        if value not in known:
            known[value] = simplify(value, moving, budget.share(budget.work // 4))
        return known[value]

    return each_entry(simple, values)


def each_entry(function: Callable[[Any], Any], values: np.ndarray) -> np.ndarray:
    """A function of each expression of an array; numbers become expressions."""
    out = np.empty(np.shape(values), dtype=object)
    for index in np.ndindex(*out.shape):
        out[index] = function(sp.sympify(values[index], strict=True))
    return out


def _common_multiple(a: Polynomial, b: Polynomial) -> Polynomial:
    return a.lcm(b)


def common_factor(expressions: Sequence[Any], moving: Moving = (), budget: Budget | int | None = None) -> sp.Expr:
    """What divides all of some expressions and does not move: a number, parameters, sums of parameters."""
    budget = Budget.of(budget)
    moving = _told(moving)
    given = [e for e in expressions if e != 0]
    if not given:
        return sp.S.One
    try:
        field = TrigonometricField(given, budget)
        pairs = [field.cancel(*field.convert(e)) for e in given]
        pairs = [pair for pair in pairs if pair[0]]
        if not pairs:
            return sp.S.One
        if any(len(d) > 1 or not _is_fixed(field, d, moving) for _, d in pairs):
            pairs = [(n, field.ring.one) for n, _ in pairs]  # denominators stay:  r̈ − r φ̇² + μ/r² = 0
        below = functools.reduce(_common_multiple, (d for _, d in pairs))
        above = [field.times(n, below.exquo(d)) for n, d in pairs]
        common = functools.reduce(field.gcd, above)
        number = _scale({(k, i): v for k, n in enumerate(above) for i, v in enumerate(n.values())})
        number = abs(number) if number.denominator <= LONG_FRACTION else QQ(1)
        budget.check(len(common), cost=FACTORS)
        _, factors = common.factor_list()
        fixed = [(f, e) for f, e in factors if _is_fixed(field, f, moving)]
        writer = _Writer(field, moving, budget)
        product = sp.Mul(writer.number(number), *(writer.polynomial(f) ** e for f, e in fixed))
        return product / writer.polynomial(below)
    except TooLarge:
        return sp.S.One


def _is_fixed(field: TrigonometricField, f: Polynomial, moving: Callable[[Any], bool]) -> bool:
    """True for sums of products of parameters with positive signs, which no positive parameters make zero."""
    places = {k for m in f for k, e in enumerate(m) if e}
    return all(v > 0 for v in f.values()) and not any(
        k in field.trigonometric or any(map(moving, field.generators[k].free_symbols)) for k in places
    )


def _told(moving: Moving) -> Callable[[Any], bool]:
    return moving if callable(moving) else frozenset(moving).__contains__


def is_zero(expression: sp.Expr, budget: Budget | int | None = None) -> bool | None:
    """True by proof, False if not zero (roots count as independent); None if that would cost too much."""
    budget = Budget.of(budget)
    try:
        return TrigonometricField([expression], budget).is_zero(expression)
    except TooLarge:
        return None


def is_quotient(expression: sp.Expr, budget: Budget | int | None = None) -> bool:
    """True if symbols stay below the line in lowest terms, so that they do whatever ``simplify`` finds."""
    budget = Budget.of(budget)
    try:
        field = TrigonometricField([expression], budget)
        pair = field.cancel(*field.convert(expression))
        return pair[1] != 1 and field.rationalized(*pair)[1] != 1
    except TooLarge:
        return False


def _scale(powers: dict[tuple[int, ...], Any]) -> Any:
    """A number that leaves coprime integers, the first of them positive."""
    above = math.gcd(*(int(v.numerator) for v in powers.values()))
    below = math.lcm(*(int(v.denominator) for v in powers.values()))
    return QQ(above if next(iter(powers.values())) > 0 else -above, below)


class _Writer:
    """Numerators and denominators of a field as expressions."""

    def __init__(self, field: TrigonometricField, moving: Callable[[Any], bool], budget: Budget):
        self.field, self.moving, self.budget = field, moving, budget
        self._trigonometric = [place for angle in field.angles for place in (angle.s, angle.c)]
        self._plain = [k for k in range(len(field.generators)) if k not in field.trigonometric]
        self._polynomials: dict[Polynomial, sp.Expr] = {}
        self._denominators: dict[Polynomial, sp.Expr] = {}

    def number(self, value: Any) -> sp.Expr:
        """A coefficient; a long fraction that came from decimals becomes one again."""
        if self.field.has_floats and value.denominator > LONG_FRACTION:
            return sp.Float(float(value.numerator) / float(value.denominator))
        return sp.Rational(int(value.numerator), int(value.denominator))

    def quotient(self, n: Polynomial, d: Polynomial) -> sp.Expr:
        above = self.polynomial(n)
        if d == 1:
            return above
        if d not in self._denominators:
            self._denominators[d] = self._factored(d)
        return above / self._denominators[d]

    def _factored(self, d: Polynomial) -> sp.Expr:
        """A denominator by its repeated factors."""
        number, factors = QQ(1), [(d, 1)]
        if 1 < len(d) <= _FACTORED:
            self.budget.check(len(d), cost=FACTORS)
            number, factors = d.sqf_list()
        parts: list[Any] = []
        for f, e in factors:
            content, f = f.primitive()
            number *= content**e
            written: Any = self.polynomial(f)
            if written.is_Add and 2 * sum(term.could_extract_minus_sign() for term in written.args) > len(written.args):
                written, number = sp.Add(*(-term for term in written.args)), number * (-1) ** e
            parts.append(written**e)
        return sp.Mul(self.number(number), *parts)

    def polynomial(self, p: Polynomial) -> sp.Expr:
        """A polynomial with each trigonometric part in its shortest form, collected."""
        if p not in self._polynomials:
            self._polynomials[p] = self._collected(p)
        return self._polynomials[p]

    def _collected(self, p: Polynomial) -> sp.Expr:
        field = self.field
        parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for m, v in p.items():
            outer = tuple(m[k] for k in self._plain)
            parts.setdefault(outer, {})[tuple(m[k] for k in self._trigonometric)] = v
        known: dict[Any, Any] = {}
        terms: list[tuple[tuple[int, ...], Any, Any]] = []
        for outer, powers in parts.items():
            scale = _scale(powers)
            key = frozenset((m, v / scale) for m, v in powers.items())
            if key not in known:
                known[key] = shortest({m: v / scale for m, v in powers.items()}, len(field.angles), self.budget)
            terms += [(outer, term, v * scale) for term, v in known[key].items()]
        atoms: dict[Atom, int] = {}
        for _, term, _ in terms:
            for atom, _ in term:
                atoms.setdefault(atom, len(atoms))
        written = [atom_expression(atom, field.angles) for atom in atoms]
        generators = [field.generators[k] for k in self._plain] + written
        n_plain = len(self._plain)
        moving = frozenset(k for k, g in enumerate(generators) if k >= n_plain or any(map(self.moving, g.free_symbols)))
        target = polynomial_ring(len(generators))
        out: dict[tuple[int, ...], Any] = {}
        for outer, term, v in terms:
            monomial = [*outer, *[0] * len(atoms)] or [0]
            for atom, power in term:
                monomial[n_plain + atoms[atom]] += power
            key = tuple(monomial)
            out[key] = out.get(key, QQ(0)) + v
        polynomial = target.from_dict({m: v for m, v in out.items() if v})
        return Collector(generators or [sp.S.One], moving, self.number, self.budget).expression(polynomial)

    def split(self, n: Polynomial, d: Polynomial, how: str) -> sp.Expr:
        """A sum of quotients, each in lowest terms: terms of the numerator by what is left of the denominator.

        Args:
            how: ``terms`` takes each product of symbols on its own; ``strangers`` keeps terms together that differ only
                in what the denominator has too; ``divided`` first divides by factors of parameters,
                (a (b + c) + e)/(b + c) = a + e/(b + c).
        """
        field = self.field
        sums: dict[Polynomial, Polynomial] = {}
        inside = field.trigonometric
        if how == "strangers":
            inside = frozenset(k for m in d for k, e in enumerate(m) if e)
        for above, below in self._divided(n, d) if how == "divided" else [(n, d)]:
            parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
            for m, v in above.items():
                outer = tuple(0 if k in inside else e for k, e in enumerate(m))
                parts.setdefault(outer, {})[m] = v
            for inner in parts.values():
                a, b = field.cancel(field.ring.from_dict(inner), below)
                sums[b] = sums.get(b, field.ring.zero) + a
        quotients = [self.quotient(*field.cancel(a, b)) for b, a in sums.items() if a]
        return sp.Add(*quotients)

    def _divided(self, n: Polynomial, d: Polynomial) -> list[tuple[Polynomial, Polynomial]]:
        """n/d as a sum, divided with remainder by each factor of d that does not move."""
        if len(n) > _FACTORED or len(d) > _FACTORED:
            raise TooLarge
        self.budget.check(len(d), cost=FACTORS)
        pairs = [(n, d)]
        for f, _ in d.factor_list()[1]:
            if not _is_fixed(self.field, f, self.moving):
                continue
            self.budget.check(len(n) + len(d))
            divided: list[tuple[Polynomial, Polynomial]] = []
            for a, b in pairs:
                (whole,), rest = a.div([f])
                divided += [(whole, b.exquo(f))] if whole else []
                divided += [(rest, b)] if rest else []
            pairs = divided
        return pairs
