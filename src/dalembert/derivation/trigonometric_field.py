"""Quotients of polynomials in symbols and in the sines and cosines of angles.

The expressions of mechanics live in the field  K(x)[s, c] / (s² + c² − 1):  x are parameters, rates and lengths, and
(s, c) the sine and cosine of one angle. With s² always replaced by 1 − c² a numerator has one form only, so an
expression is zero if and only if its numerator is: this is a proof, not a guess from numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import sympy as sp
from sympy.polys import rings
from sympy.polys.domains import QQ

__all__ = [
    "DIVISOR", "FACTORS", "GROUPING", "WAVES", "Angle", "Budget", "Polynomial", "TooLarge", "TrigonometricField",
    "exact", "polynomial_ring",
]  # fmt: skip

Polynomial = Any  # an element of a ring of SymPy, which has no types for them

_LARGEST_MULTIPLE = 16  # of an angle; sin(100 x) stays as it is
_LARGEST_POWER = 32
_LONGEST_ANGLE = 24  # terms of a linear combination
_LARGEST_GCD = 400  # terms of two polynomials whose common divisor is looked for


@functools.cache
def polynomial_ring(n: int) -> Any:
    """The ring of polynomials in n symbols (at least one) with rational coefficients; what they stand for, its users
    know. To make one takes milliseconds."""
    return cast(Any, rings).ring([sp.Dummy() for _ in range(max(1, n))], QQ)[0]


class TooLarge(Exception):
    """A step would cost more than the budget."""


@dataclass
class Budget:
    """What simplification may cost, counted in steps and not in time: the same input has the same form everywhere.

    Attributes:
        work: in all; a unit is a product of two short polynomials, a ten-thousandth of a second or so.
        terms: of one polynomial.
        products: of terms, in one multiplication.
        spent: work done so far.
    """

    work: int = 100_000
    terms: int = 4000
    products: int = 100_000
    spent: int = field(default=0, repr=False)
    _whole: Budget | None = field(default=None, repr=False)

    @classmethod
    def of(cls, given: Budget | int | None) -> Budget:
        """A budget as it is, from an amount of work, or the usual one."""
        if isinstance(given, Budget):
            return given
        return cls() if given is None else cls(given)

    def check(self, terms: int = 0, products: int = 0, cost: int = 1) -> None:
        """Pay for the next step.

        Args:
            cost: of the step, besides what its terms cost; the constants below are measured.
        """
        if terms > self.terms or products > self.products:
            raise TooLarge
        self._spend(cost + (terms + products) // 10)

    def _spend(self, amount: int) -> None:
        self.spent += amount
        if self._whole is not None:
            self._whole._spend(amount)
        if self.spent > self.work:
            raise TooLarge

    def share(self, work: int) -> Budget:
        """A part of it, for one step; what the step costs is taken from the whole."""
        return Budget(work, self.terms, self.products, _whole=self)


# Cost of steps of which each is a good deal of work, in units of ``Budget.work``.
DIVISOR, FACTORS, GROUPING, WAVES = 25, 60, 30, 8


@dataclass(frozen=True)
class Angle:
    """A base angle: the places of its sine and cosine among the generators."""

    angle: sp.Expr
    s: int
    c: int


def exact(value: Any) -> Any:
    """A number as a rational: a float is the decimal that a person wrote (9.81 is 981/100)."""
    if value.is_Rational:
        return QQ(value.p, value.q)
    fraction = Fraction(repr(float(value)))
    return QQ(fraction.numerator, fraction.denominator)


class TrigonometricField:
    """Numerators and denominators over one set of generators, which are found in the expressions.

    Attributes:
        generators: what each place of a monomial stands for.
        angles: base angles; all others are their multiples and sums.
        has_floats: True if some number was not exact; then results are given in decimals where fractions are long.
    """

    def __init__(self, expressions: Iterable[Any], budget: Budget | None = None):
        self.budget = budget or Budget()
        self.has_floats = False
        self._linear: dict[Any, dict[Any, Any] | None] = {}
        plain: dict[Any, None] = {}
        scales: dict[Any, int] = {}
        for node in _nodes(expressions):
            self.budget.check()
            self._register(node, plain, scales)
        symbols = [*plain, *(f(term / scale) for term, scale in scales.items() for f in (_Sin, _Cos))]
        self.ring = polynomial_ring(len(symbols))
        self.generators: list[Any] = list(symbols)
        self._place = {symbol: k for k, symbol in enumerate(symbols)}
        n = len(plain)
        self._scales = scales
        self.angles = [Angle(term / scales[term], n + 2 * k, n + 2 * k + 1) for k, term in enumerate(scales)]
        self._angle_of = dict(zip(scales, self.angles, strict=True))
        self.trigonometric = frozenset(place for angle in self.angles for place in (angle.s, angle.c))
        self._values: dict[int, Any] = {}  # generators that are not what they are made from
        self._squares: list[tuple[int, int, Polynomial]] = [
            (a.s, 2, self.ring.one - self.ring.gens[a.c] ** 2) for a in self.angles
        ]
        self._roots: dict[tuple[Polynomial, Polynomial, int], int] = {}
        self._known: dict[Any, tuple[Polynomial, Polynomial]] = {}

    # Generators

    def _register(self, node: Any, plain: dict[Any, None], scales: dict[Any, int]) -> None:
        if node.is_Symbol or node.is_NumberSymbol:
            plain[node] = None
        elif node.is_Float:
            self.has_floats = True
        elif isinstance(node, (sp.sin, sp.cos, sp.tan, sp.cot)):
            parts = self._linear_parts(node.args[0])
            if parts is None:
                plain[node] = None
                return
            for term, coefficient in parts.items():
                if term is not sp.S.One:
                    scales[term] = int(sp.ilcm(scales.get(term, 1), coefficient.q))
            for value in self._constants(parts):
                for inner in _nodes([value]):
                    self._register(inner, plain, scales)
        elif node.is_Pow:
            if not (node.exp.is_Rational and abs(node.exp.p) <= _LARGEST_POWER):
                plain[node] = None
            elif node.exp.q != 1:
                plain[sp.Pow(node.base, sp.Rational(1, node.exp.q))] = None
        elif not (node.is_Add or node.is_Mul or node.is_Number):
            plain[node] = None

    def _linear_parts(self, argument: Any) -> dict[Any, Any] | None:
        """An angle as a sum of rational multiples; what is not a multiple of another is a base angle."""
        if argument not in self._linear:
            terms = sp.Add.make_args(argument if argument.is_Symbol else cast(Any, sp.expand(argument)))
            parts: dict[Any, Any] | None = {}
            for term in terms if len(terms) <= _LONGEST_ANGLE else ():
                split: Any = term.as_coeff_Mul()
                coefficient, rest = split
                if rest is sp.S.One or not coefficient.is_Rational:  # a number: its own angle
                    coefficient, rest = sp.S.One, term
                if rest is sp.pi:
                    coefficient, rest = sp.S.One, term
                if max(abs(coefficient.p), coefficient.q) > _LARGEST_MULTIPLE:
                    parts = None
                    break
                parts[rest] = parts.get(rest, sp.S.Zero) + coefficient
            self._linear[argument] = parts or None
        return self._linear[argument]

    @staticmethod
    def _constants(parts: dict[Any, Any]) -> list[Any]:
        """Sines and cosines of multiples of π that SymPy knows, e.g. √3/2."""
        found: list[Any] = []
        for term in parts:
            if term.has(sp.pi) and not term.free_symbols:
                found += [v for v in (sp.sin(term), sp.cos(term)) if not v.has(sp.sin, sp.cos)]
        return found

    # Arithmetic

    def convert(self, expression: Any) -> tuple[Polynomial, Polynomial]:
        """Numerator and denominator; each node of the graph is visited once."""
        known = self._known
        for node in _nodes([expression]):
            if node not in known:
                known[node] = self._value(node)
        return known[expression]

    def is_zero(self, expression: Any) -> bool:
        """True if the expression is zero for all values of its symbols."""
        return not self.convert(expression)[0]

    def _value(self, node: Any) -> tuple[Polynomial, Polynomial]:
        one = self.ring.one
        if node.is_Number:
            if not node.is_finite:
                raise TooLarge
            return self.ring.ground_new(exact(node)), one
        if node in self._place:
            return self._generator(node)
        if node.is_Add:
            return self._sum([self._known[a] for a in node.args])
        if node.is_Mul:
            n, d = one, one
            for argument in node.args:
                b, e = self._known[argument]
                n, d = self.times(n, b), self.times(d, e)
                n, d = self.cancel_monomials(n, d)
            return n, d
        if node.is_Pow:
            return self._power(node)
        s, c = self._sine_cosine(self._linear_parts(node.args[0]) or {})
        if isinstance(node, (sp.sin, sp.cos)):
            return (s if isinstance(node, sp.sin) else c), one
        return (s, c) if isinstance(node, sp.tan) else (c, s)

    def _generator(self, node: Any) -> tuple[Polynomial, Polynomial]:
        """A symbol; a root brings its equation, e.g. √2² = 2, and roots of the same are the same.

        The generator of √(n/d) is  g = d √(n/d),  with  g² = n d.
        """
        place, below = self._place[node], self.ring.one
        if node.is_Pow and node.exp.is_Rational and node.exp.p == 1:
            n, below = self.cancel(*self.convert(node.base))
            key = (n, below, int(node.exp.q))
            if key not in self._roots:
                self._roots[key] = place
                self._squares.append((place, key[2], self.times(n, self.power(below, key[2] - 1))))
                if below != 1:
                    self._values[place] = self.plain(below) * node
            place = self._roots[key]
        return self.ring.gens[place], below

    def _power(self, node: Any) -> tuple[Polynomial, Polynomial]:
        p, q = int(node.exp.p), int(node.exp.q)
        n, d = self._known[node.base]
        whole, rest = divmod(p, q)
        if whole < 0:
            n, d, whole = d, n, -whole
        if not d:
            raise TooLarge  # a division by zero is left for the user to see
        n, d = self.power(n, whole), self.power(d, whole)
        if rest:
            root, below = self._generator(sp.Pow(node.base, sp.Rational(1, q)))
            n, d = self.times(n, self.power(root, rest)), self.times(d, self.power(below, rest))
        return n, d

    def _sine_cosine(self, parts: dict[Any, Any]) -> tuple[Polynomial, Polynomial]:
        """sin and cos of Σ k θ by the addition theorems."""
        s, c = self.ring.zero, self.ring.one
        for term, coefficient in parts.items():
            angle = self._angle_of[term]
            si, ci = self._constant_pair(term) or (self.ring.gens[angle.s], self.ring.gens[angle.c])
            k = int(coefficient * self._scales[term])
            if k < 0:
                si, k = -si, -k
            for _ in range(k):
                s, c = self.times(s, ci) + self.times(c, si), self.times(c, ci) - self.times(s, si)
        return s, c

    def _constant_pair(self, term: Any) -> tuple[Polynomial, Polynomial] | None:
        values = self._constants({term: 1})
        if len(values) != 2 or self._scales[term] != 1:
            return None
        (s, d), (c, e) = self.convert(values[0]), self.convert(values[1])
        return (s, c) if d == e == self.ring.one else None

    def _sum(self, parts: list[tuple[Polynomial, Polynomial]]) -> tuple[Polynomial, Polynomial]:
        by_denominator: dict[Polynomial, Polynomial] = {}
        for n, d in parts:
            by_denominator[d] = by_denominator[d] + n if d in by_denominator else n
        (d, n), *others = by_denominator.items()
        self.budget.check(len(n))
        for e, b in others:
            self.budget.check(len(b))
            g = self.gcd(d, e)
            more = _quotient(e, g)
            n, d = self.times(n, more) + self.times(b, _quotient(d, g)), self.times(d, more)
        return n, d

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if a == 1:
            return b
        if b == 1:
            return a
        self.budget.check(products=len(a) * len(b))
        return self.reduce(a * b)

    def power(self, a: Polynomial, n: int) -> Polynomial:
        result = self.ring.one
        for _ in range(n):
            result = self.times(result, a)
        return result

    def reduce(self, a: Polynomial) -> Polynomial:
        """s² → 1 − c², and roots likewise: those first whose radicands contain others."""
        for place, degree, value in reversed(self._squares):
            high = {m: v for m, v in a.items() if m[place] >= degree}
            while high:
                rest = self.ring.from_dict({m: v for m, v in a.items() if m[place] < degree})
                lowered = {_with(m, place, m[place] - degree): v for m, v in high.items()}
                a = rest + self.ring.from_dict(lowered) * value
                self.budget.check(len(a))
                high = {m: v for m, v in a.items() if m[place] >= degree}
        return a

    def gcd(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """A common divisor; the greatest one if the polynomials are not too long."""
        if a == b:
            return a
        if len(a) == 1 or len(b) == 1 or len(a) + len(b) > _LARGEST_GCD:
            low = [min(k) for k in zip(*a.keys(), *b.keys(), strict=True)]
            return self.ring.from_dict({tuple(low): QQ(1)})
        self.budget.check(len(a) + len(b), cost=DIVISOR)
        return a.gcd(b)

    def plain(self, a: Polynomial) -> sp.Expr:
        """A polynomial written out."""
        values = dict(enumerate(self.generators)) | self._values
        for angle in self.angles:
            values[angle.s], values[angle.c] = sp.sin(angle.angle), sp.cos(angle.angle)
        terms = (
            sp.Mul(sp.Rational(int(v.numerator), int(v.denominator)), *(values[k] ** e for k, e in enumerate(m) if e))
            for m, v in a.items()
        )
        return sp.Add(*terms)

    def cancel_monomials(self, n: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
        if not n:
            return n, self.ring.one
        if d == 1:
            return n, d
        low = tuple(min(k) for k in zip(*n.keys(), *d.keys(), strict=True))
        if any(low):
            n, d = _divided(n, low), _divided(d, low)
        return n, d

    def cancel(self, n: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
        """A quotient in lowest terms, the denominator with coprime integers, most of them positive."""
        n, d = self.cancel_monomials(n, d)
        if len(d) > 1:
            g = self.gcd(n, d)
            n, d = _quotient(n, g), _quotient(d, g)
        content, d = d.primitive()
        if 2 * sum(1 for v in d.values() if v < 0) > len(d):
            content, d = -content, -d
        return n.mul_ground(1 / content), d

    def rationalized(self, n: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
        """A quotient in lowest terms with no sines in the denominator: (A + B s)(A − B s) = A² − B² (1 − c²)."""
        if not any(m[angle.s] for angle in self.angles for m in d):
            return n, d
        for angle in self.angles:
            if any(m[angle.s] for m in d):
                conjugate = self.ring.from_dict({m: -v if m[angle.s] % 2 else v for m, v in d.items()})
                n, d = self.times(n, conjugate), self.times(d, conjugate)
        return self.cancel(n, d)


class _Sin(sp.Function):  # placeholders for the generators of a base angle
    pass


class _Cos(sp.Function):
    pass


def _with(monomial: tuple[int, ...], place: int, power: int) -> tuple[int, ...]:
    return (*monomial[:place], power, *monomial[place + 1 :])


def _divided(a: Polynomial, low: tuple[int, ...]) -> Polynomial:
    return a.ring.from_dict({tuple(x - y for x, y in zip(m, low, strict=True)): v for m, v in a.items()})


def _quotient(a: Polynomial, divisor: Polynomial) -> Polynomial:
    """a by one of its divisors."""
    return a if divisor == 1 else a.exquo(divisor)


def _nodes(expressions: Iterable[Any]) -> list[Any]:
    """All nodes of the graph, arguments first, each once; angles and opaque functions are leaves."""
    order: list[Any] = []
    seen: set[Any] = set()
    stack = [(e, False) for e in expressions]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        if node.is_Add or node.is_Mul:
            stack += [(argument, False) for argument in node.args]
        elif node.is_Pow and node.exp.is_Rational:
            stack.append((node.base, False))
    return order
