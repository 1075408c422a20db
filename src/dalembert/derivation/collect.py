"""A polynomial as a person would write it: common factors in front, sums of parameters in brackets.

m₁ l² + m₂ l²   is  (m₁ + m₂) l²
I ψ̇² + 2 I ψ̇ φ̇ cos θ + I φ̇² cos² θ   is  I (ψ̇ + φ̇ cos θ)²
k s − m l θ̇² − m s θ̇²   is  k s − m (l + s) θ̇²
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ

from dalembert.derivation.trigonometric_field import FACTORS, GROUPING, Budget, Polynomial, polynomial_ring

__all__ = ["Collector", "length"]

LONG_FRACTION = 64  # denominators above are decimals
_FACTOR_TERMS = 30
_FACTOR_SYMBOLS = 9
_FACTOR_DEGREE = 6
_SHORT = 12  # terms; of sums up to here more groupings are compared
_LONGEST = 400  # terms; longer sums are only grouped, not compared

Monomial = tuple[int, ...]


class Collector:
    """Polynomials of one ring to expressions.

    Args:
        generators: what each place of a monomial stands for.
        moving: places of what changes in time; the others are parameters.
        number: a rational coefficient as an expression.
    """

    def __init__(
        self, generators: list[sp.Expr], moving: frozenset[int], number: Callable[[Any], sp.Expr], budget: Budget
    ):
        self.generators, self.moving, self.number, self.budget = generators, moving, number, budget

    def expression(self, p: Polynomial) -> sp.Expr:
        """The polynomial, collected."""
        if not p:
            return sp.S.Zero
        coefficient, front, rest = self._front(p)
        factors = self._factors(rest)
        if factors is None and front == 1 and len(rest) > 1 and coefficient.denominator != 1:
            return self._sum(p)  # ½ a + ½ b, not (a + b)/2
        if factors is None:
            return self._joined(coefficient, [front, self._sum(rest)])
        number, parts = factors
        return self._joined(coefficient * number, [front, *(self._sum(f) ** e for f, e in parts)])

    def _joined(self, coefficient: Any, factors: list[sp.Expr]) -> sp.Expr:
        """A product; a number is not multiplied into a sum:  2 (a + b)."""
        product: Any = sp.Mul(*factors)
        if coefficient == 1:
            return product
        if coefficient == -1 and product.is_Add:
            return sp.Add(*(-a for a in product.args))
        if product.is_Add:
            return sp.Mul(self.number(coefficient), product, evaluate=False)
        return self.number(coefficient) * product

    @staticmethod
    def _times(monomial: sp.Expr, rest: Any) -> sp.Expr:
        """A monomial times a collected factor, whose number comes to the front."""
        if rest.is_Mul and rest.args[0].is_Number:
            number, *others = rest.args
            product = sp.Mul(monomial, *others)
            return sp.Mul(number, product, evaluate=False) if product.is_Add else number * product
        return monomial * rest

    def _front(self, p: Polynomial) -> tuple[Any, sp.Expr, Polynomial]:
        """Number, monomial and polynomial without common factors, with a positive sign if all signs are equal."""
        content = _content(p)
        if all(v < 0 for v in p.values()):
            content = -content
        p = p.mul_ground(1 / content)
        low = tuple(min(k) for k in zip(*p.keys(), strict=True))
        if any(low):
            p = p.ring.from_dict({_minus(m, low): v for m, v in p.items()})
        return content, self._monomial(low), p

    def _monomial(self, m: Monomial) -> sp.Expr:
        return sp.Mul(*(g**e for g, e in zip(self.generators, m, strict=True) if e))

    def _factors(self, p: Polynomial) -> tuple[Any, list[tuple[Polynomial, int]]] | None:
        """Factors of a short polynomial, or None."""
        used = [k for k in range(len(self.generators)) if any(m[k] for m in p)]
        degree = max((sum(m) for m in p), default=0)
        if not 1 < len(p) <= _FACTOR_TERMS or len(used) > _FACTOR_SYMBOLS or degree > _FACTOR_DEGREE or degree < 2:
            return None
        if _is_prime(p, used):
            return None
        self.budget.check(cost=FACTORS)
        small = polynomial_ring(len(used)).from_dict({tuple(m[k] for k in used): v for m, v in p.items()})
        number, factors = small.factor_list()
        if len(factors) == 1 and factors[0][1] == 1:
            return None
        back: list[tuple[Polynomial, int]] = []
        for f, e in factors:
            wide: dict[Monomial, Any] = {}
            for m, v in f.items():
                full = [0] * len(self.generators)
                for k, x in zip(used, m, strict=True):
                    full[k] = x
                wide[tuple(full)] = v
            f = p.ring.from_dict(wide)
            if sum(1 for v in f.values() if v < 0) * 2 > len(f):
                f, number = -f, number * (-1) ** e
            back.append((f, e))
        return number, back

    def _sum(self, p: Polynomial) -> sp.Expr:
        """A sum in its shortest grouping: by what moves, by parameters, or by a square such as θ̇² or l²."""
        if len(p) <= 2:
            return sp.Add(*(self.number(v) * self._monomial(m) for m, v in p.items()))
        self.budget.check(len(p), cost=GROUPING)
        by_motion = self._grouped(p, self._moving_part)
        if len(p) > _LONGEST:
            return by_motion
        found = [by_motion, self._grouped(p, self._fixed_part)]
        if len(p) <= _SHORT:
            symbols = [k for k, g in enumerate(self.generators) if g.is_Symbol and sum(m[k] > 1 for m in p) > 1]
            found += [self._grouped(p, functools.partial(_square, k)) for k in symbols]
        return min(found, key=length)

    def _moving_part(self, m: Monomial) -> Monomial:
        return tuple(e if k in self.moving else 0 for k, e in enumerate(m))

    def _fixed_part(self, m: Monomial) -> Monomial:
        return tuple(0 if k in self.moving else e for k, e in enumerate(m))

    def _grouped(self, p: Polynomial, key: Callable[[Monomial], Monomial]) -> sp.Expr:
        """Σ key · coefficient, with keys of equal coefficients (up to a number) together."""
        groups: dict[Monomial, dict[Monomial, Any]] = {}
        for m, v in p.items():
            outer = key(m)
            groups.setdefault(outer, {})[_minus(m, outer)] = v
        merged: dict[Polynomial, dict[Monomial, Any]] = {}
        for outer, inner in groups.items():
            content, primitive = p.ring.from_dict(inner).primitive()
            if primitive.LC < 0:
                content, primitive = -content, -primitive
            merged.setdefault(primitive, {})[outer] = content
        terms: list[Any] = []
        for primitive, outers in merged.items():
            outer_sum = p.ring.from_dict(outers)
            if len(outers) == 1:
                ((m, v),) = outers.items()
                terms.append(self._times(self._monomial(m), self._inner(primitive.mul_ground(v), p)))
                continue
            content, front, rest = self._front(outer_sum)
            terms.append(self._joined(content, [front, self._inner(rest, p), self._inner(primitive, p)]))
        return sp.Add(*terms)

    def _inner(self, p: Polynomial, whole: Polynomial) -> sp.Expr:
        """A coefficient; a polynomial that did not become shorter is written out."""
        if len(p) == len(whole):
            return sp.Add(*(self.number(v) * self._monomial(m) for m, v in p.items()))
        return self.expression(p)


def _is_prime(p: Polynomial, used: list[int]) -> bool:
    """True if p = a x + b for some symbol x, and a or b is one term: they share a monomial at most, and it is out."""
    for k in used:
        powers = [m[k] for m in p]
        if max(powers) == 1 and sum(powers) in (1, len(powers) - 1):
            return True
    return False


def _square(k: int, m: Monomial) -> Monomial:
    """A square that is there, such as θ̇²."""
    return tuple(e if i == k and e > 1 else 0 for i, e in enumerate(m))


def _minus(a: Monomial, b: Monomial) -> Monomial:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def length(expression: sp.Expr) -> int:
    """How long an expression is to read: its symbols, with a price for powers, fractions and functions."""
    total, stack = 0, [expression]
    while stack:
        node: Any = stack.pop()
        if node.is_Integer:
            total += 0 if abs(node.p) == 1 else 1
        elif node.is_Rational:
            total += 2
        elif node.is_Pow and node.exp.is_Integer:
            total += 0 if node.exp == -1 else 1
            stack.append(node.base)
        else:
            total += 1
            stack.extend(node.args)
    return total


def _content(p: Polynomial) -> Any:
    """A number to take out: what all numerators share, and the denominator if it is the same in all terms."""
    values = list(p.values())
    below = {v.denominator for v in values}
    if max(below) > LONG_FRACTION:
        return QQ(1)  # decimals that a person gave
    above = functools.reduce(math.gcd, (int(v.numerator) for v in values))
    return QQ(above, int(below.pop()) if len(below) == 1 else 1)
