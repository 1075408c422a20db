"""Arithmetic with sums of two doubles (hi + lo, about 106 bits), without fused multiply-add.

References:
    T. J. Dekker, *A floating-point technique for extending the available precision*, Numer. Math. 18 (1971) 224-242.
    D. E. Knuth, *The Art of Computer Programming*, vol. 2, §4.2.2, theorem B.
"""

from __future__ import annotations

import math

from dalembert.native.bits import bits_of, float_of

__all__ = ["fast_sum", "product", "quotient", "square_root", "two_sum", "upper"]


def upper(x: float) -> float:
    """x without the lower 27 bits of its fraction: 26 bits remain, the difference to x has 27."""
    return float_of(bits_of(x) & -134217728)


def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b rounded, and the rounding error (exact)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_sum(a: float, b: float) -> tuple[float, float]:
    """The same for |a| ≥ |b| or a = 0."""
    s = a + b
    return s, b - (s - a)


def product(a: float, b: float) -> tuple[float, float]:
    """a b rounded, and its rounding error (to 2⁻¹⁰⁵ a b)."""
    p = a * b
    ah = upper(a)
    bh = upper(b)
    al = a - ah
    bl = b - bh
    return p, (((ah * bh - p) + ah * bl) + al * bh) + al * bl


def quotient(a: float, al: float, b: float, bl: float) -> tuple[float, float]:
    """(a + al)/(b + bl) as hi + lo; al and bl at most a few units of the last place of a and b."""
    inverse = 1.0 / b
    q = a * inverse
    p, e = product(q, b)
    return q, (((a - p) - e) + (al - q * bl)) * inverse


def square_root(a: float, al: float) -> tuple[float, float]:
    """√(a + al) as hi + lo, for a > 0."""
    s = math.sqrt(a)
    p, e = product(s, s)
    return s, (((a - p) - e) + al) / (s + s)
