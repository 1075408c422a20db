"""sin, cos, tan and their inverses, in the native subset.

**Sine and cosine** do the operations of the kernels' (``codegen/helpers.py`` describes them) in the same order, so
without contraction the bits are the same: r = x − k π/2 in three parts for |x| ≤ 2¹⁷, then polynomials. Beyond, x 2/π
mod 4 comes from a product of the integer fraction of x with that part of the digits of 2/π that matters (Payne and
Hanek); seven digits of 28 bits leave at least 130 bits behind the point, and no double comes nearer to a multiple of
π/2 than 2⁻⁶¹.

**Tangent**: sin and cos of r as pairs and their quotient. The sine needs more bits for it, so −r³/6 is a pair, and the
rest has coefficients of its own (Remez exchange for (sin r − r + r³/6)/r⁵ on [0, (π/4)²], relative error of the sine
2e-19; ``tests/native/test_mathematics.py`` derives them again).

**Arctangent** of y/x with 0 ≤ y ≤ x, both pairs: with c = j/32 next to y/x and t = (y − c x)/(x + c y),
|t| ≤ 1/64, arctan y/x = arctan c + arctan t, where arctan t needs Taylor's polynomial of degree 11 (remainder 2⁻⁷⁵).
All inverse functions are arctangents: of √(1 − x²) and x for asin and acos.

References:
    W. J. Cody, W. Waite, *Software Manual for the Elementary Functions*, 1980 (reduction in parts).
    M. Payne, R. Hanek, *Radian reduction for trigonometric functions*, SIGNUM Newsletter 18 (1983) 19-24.
    P. T. P. Tang, *Table-lookup algorithms for elementary functions and their error analysis*, ARITH 10 (1991).
"""

from __future__ import annotations

import math

from dalembert.native.bits import bits_of
from dalembert.native.mathematics_tables import (
    ATAN_HI,
    ATAN_LO,
    HALF_PI_HI,
    HALF_PI_LO,
    PI_HI,
    PI_LO,
    ROUNDER,
    ROUNDER_BITS,
    TWO_OVER_PI,
)
from dalembert.native.pairs import fast_sum, product, quotient, square_root, two_sum, upper

__all__ = ["COSINE", "REDUCTION", "SINE", "acos", "asin", "atan", "atan2", "cos", "sin", "tan"]

# S(z) and C(z), and π/2 in parts of 36, 36 and 53 bits; kernels compute with the same numbers.
SINE = (
    -0.1666666666666663, 0.008333333333322118, -0.00019841269829589512,
    2.755731362137571e-06, -2.5050747761154367e-08, 1.5896230052152724e-10,
)  # fmt: skip
COSINE = (
    0.041666666666666595, -0.0013888888888873056, 2.480158728885166e-05,
    -2.755731417928491e-07, 2.0875700840481446e-09, -1.1358536448360632e-11,
)  # fmt: skip
REDUCTION = tuple(map(float.fromhex, ("0x1.921fb54440000p+0", "0x1.68c234c4c0000p-39", "0x1.98a2e03707345p-77")))
_S0, _S1, _S2, _S3, _S4, _S5 = SINE
_C0, _C1, _C2, _C3, _C4, _C5 = COSINE
_P1, _P2, _P3 = REDUCTION
_QUADRANTS = 0.6366197723675814
_NEAR = 131072.0

# (sin r − r + r³/6)/r⁵ for the tangent
_D0, _D1, _D2 = 0.00833333333333333, -0.00019841269841260967, 2.755731921675228e-06
_D3, _D4, _D5 = -2.5052105488198684e-08, 1.6058431557208943e-10, -7.581591418266417e-13

_TINY = 2.0**-28
_SIXTH = 1.0 / 6.0
_SIXTH_LO = 2.0**-54 / 6.0  # 1/6 - _SIXTH
_A3, _A5, _A7, _A9, _A11 = 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0


def reduced(x: float) -> tuple[float, float, int]:
    """r, c, n with r − c = x − n π/2 for n mod 4, |r| ≤ π/4; x finite."""
    if abs(x) > _NEAR:
        return _reduced_far(x)
    t = x * _QUADRANTS + ROUNDER
    k = t - ROUNDER
    k2 = k * _P2
    y = x - k * _P1
    r = y - k2
    return r, ((r - y) + k2) + k * _P3, bits_of(t) & 3


def _reduced_far(x: float) -> tuple[float, float, int]:
    """The same for any large x = ± m 2^e."""
    bits = bits_of(abs(x))
    m = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    m1 = m >> 28
    m0 = m & 0xFFFFFFF
    # Digits from bit e − 2 of 2/π on: those before contribute multiples of 4. (84 zeros stand in front.)
    start = (bits >> 52) - 1075 - 2 + 84
    first = start // 28
    left = start % 28
    carry = 0
    before = 0
    low = 0.0
    q3 = 0
    q4 = 0
    q5 = 0
    q6 = 0
    for i in range(7):
        at = first + 6 - i
        digit = ((int(TWO_OVER_PI[at]) << left) | (int(TWO_OVER_PI[at + 1]) >> (28 - left))) & 0xFFFFFFF
        column = carry + m0 * digit + m1 * before
        before = digit
        carry = column >> 28
        q3 = q4
        q4 = q5
        q5 = q6
        q6 = column & 0xFFFFFFF
        if i == 2:
            low = float(q6) * 2.0**-138
    # x 2/π mod 4 = n + f, 2 bits and 26 + 28 + 28 + ... bits; q4 and a2 signed, so that nothing cancels
    n = q6 >> 26
    top = q6 & 0x3FFFFFF
    if top >= 0x2000000:
        top = top - 0x4000000
        n = n + 1
    top = (top << 28) + q5
    if q4 >= 0x8000000:
        q4 = q4 - 0x10000000
        top = top + 1
    u, v = two_sum(float(q4) * 2.0**-82, float(q3) * 2.0**-110 + low)
    f, e = fast_sum(float(top) * 2.0**-54, u)
    f, e = fast_sum(f, e + v)
    p, pl = product(f, HALF_PI_HI)
    r, rl = fast_sum(p, pl + (f * HALF_PI_LO + e * HALF_PI_HI))
    if x < 0.0:
        return -r, rl, -n & 3
    return r, -rl, n & 3


def _sine(r: float, c: float) -> float:
    """sin(r − c) for |r| ≤ π/4."""
    z = r * r
    s = (r * z) * (_S0 + z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * _S5)))))
    return r - (c - s)


def _cosine(r: float, c: float) -> tuple[float, float]:
    """cos(r − c) for |r| ≤ π/4 as a pair."""
    z = r * r
    half = z * 0.5
    w = 1.0 - half
    tail = (z * z) * (_C0 + z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * _C5)))))
    return w, ((1.0 - w) - half) + (tail + c * r)


def _in_quadrant(r: float, c: float, n: int) -> float:
    """The sine of r + c and n right angles."""
    if n & 1:
        w, tail = _cosine(r, c)
        value = w + tail
    else:
        value = _sine(r, c)
    return -value if n & 2 else value


def sin(x: float) -> float:
    """The sine of x in radians."""
    if x - x != 0.0:
        return math.nan
    r, c, n = reduced(x)
    return _in_quadrant(r, c, n)


def cos(x: float) -> float:
    """The cosine of x in radians."""
    if x - x != 0.0:
        return math.nan
    r, c, n = reduced(x)
    return _in_quadrant(r, c, n + 1)


def tan(x: float) -> float:
    """The tangent of x in radians."""
    if x - x != 0.0:
        return math.nan
    if abs(x) < _TINY:
        return x
    r, c, n = reduced(x)
    r, c = fast_sum(r, -c)
    z, zl = product(r, r)
    u, ul = product(r, z)
    v, vl = product(u, _SIXTH)
    vl = vl + (u * _SIXTH_LO + (ul + r * zl) * _SIXTH)
    fifth = (u * z) * (_D0 + z * (_D1 + z * (_D2 + z * (_D3 + z * (_D4 + z * _D5)))))
    s, e = fast_sum(r, -v)
    s, e = fast_sum(s, e + (fifth - vl))
    w, wl = _cosine(r, 0.0)
    w, wl = fast_sum(w, wl - 0.5 * zl)
    # x is c more than n π/2 + r; the derivatives of tan and −cot are 1 + tan² and 1 + cot².
    if n & 1:
        q, ql = quotient(w, wl, s, e)
        return -(q + (ql - c * (1.0 + q * q)))
    q, ql = quotient(s, e, w, wl)
    return q + (ql + c * (1.0 + q * q))


def arctangent(y: float, yl: float, x: float, xl: float) -> tuple[float, float]:
    """arctan((y + yl)/(x + xl)) as a pair, for 0 ≤ y ≤ x and neither near overflow nor underflow."""
    ratio = y / x
    if ratio < _TINY:
        return ratio, 0.0
    q = ratio * 32.0 + ROUNDER
    j = bits_of(q) - ROUNDER_BITS
    c = (q - ROUNDER) * 0.03125
    xh = upper(x)
    yh = upper(y)
    n, e = two_sum(y, -(c * xh))
    n, nl = two_sum(n, e + (yl - c * ((x - xh) + xl)))
    d, e = fast_sum(x, c * yh)
    d, dl = fast_sum(d, e + (xl + c * ((y - yh) + yl)))
    t, tl = quotient(n, nl, d, dl)
    z = t * t
    cubic = t * z * (_A3 - z * (_A5 - z * (_A7 - z * (_A9 - z * _A11))))
    hi, e = fast_sum(float(ATAN_HI[j]), t)
    return hi, e + (float(ATAN_LO[j]) + (tl - cubic))


def _sum(hi: float, lo: float, a: float, al: float) -> float:
    """(hi + lo) + (a + al), |hi| ≥ |a|."""
    s, e = fast_sum(hi, a)
    return s + (e + (lo + al))


def atan(x: float) -> float:
    """The arctangent, from −π/2 to π/2."""
    a = abs(x)
    if a != a or a < _TINY:
        return x
    if a > 2.0**60:
        return math.copysign(HALF_PI_HI, x)
    if a <= 1.0:
        h, l = arctangent(a, 0.0, 1.0, 0.0)
        return math.copysign(h + l, x)
    h, l = arctangent(1.0, 0.0, a, 0.0)
    return math.copysign(_sum(HALF_PI_HI, HALF_PI_LO, -h, -l), x)


def atan2(y: float, x: float) -> float:
    """The angle of the point (x, y), from −π to π; special values as in C99 (F.9.1.4)."""
    if x != x or y != y:
        return math.nan
    a = abs(x)
    b = abs(y)
    if b == math.inf:
        if a == math.inf:
            return math.copysign(0.5 * HALF_PI_HI if x > 0.0 else 1.5 * HALF_PI_HI, y)
        return math.copysign(HALF_PI_HI, y)
    if b == 0.0 or a == math.inf:
        return math.copysign(0.0 if math.copysign(1.0, x) > 0.0 else PI_HI, y)
    largest = max(a, b)
    if largest > 2.0**1000 or largest < 2.0**-600:
        scale = 2.0**-100 if largest > 1.0 else 2.0**450
        if b < largest * 2.0**-100 and x > 0.0:
            # The quotient, which may be subnormal
            return y / x
        a = a * scale
        b = b * scale
    if b <= a:
        h, l = arctangent(b, 0.0, a, 0.0)
        if x > 0.0:
            return math.copysign(h + l, y)
        return math.copysign(_sum(PI_HI, PI_LO, -h, -l), y)
    h, l = arctangent(a, 0.0, b, 0.0)
    if x > 0.0:
        h = -h
        l = -l
    return math.copysign(_sum(HALF_PI_HI, HALF_PI_LO, h, l), y)


def _complement(a: float) -> tuple[float, float]:
    """√(1 − a²) as a pair, 0 ≤ a < 1."""
    p, e = product(a, a)
    s, f = fast_sum(1.0, -p)
    s, f = fast_sum(s, f - e)
    return square_root(s, f)


def asin(x: float) -> float:
    """The arcsine, from −π/2 to π/2; NaN outside [−1, 1]."""
    a = abs(x)
    if a != a or a < _TINY:
        return x
    if a >= 1.0:
        return math.copysign(HALF_PI_HI, x) if a == 1.0 else math.nan
    s, sl = _complement(a)
    if a <= s:
        h, l = arctangent(a, 0.0, s, sl)
        return math.copysign(h + l, x)
    h, l = arctangent(s, sl, a, 0.0)
    return math.copysign(_sum(HALF_PI_HI, HALF_PI_LO, -h, -l), x)


def acos(x: float) -> float:
    """The arccosine, from 0 to π; NaN outside [−1, 1]."""
    a = abs(x)
    if a != a:
        return x
    if a >= 1.0:
        if a > 1.0:
            return math.nan
        return 0.0 if x > 0.0 else PI_HI
    s, sl = _complement(a)
    if a <= s:
        h, l = arctangent(a, 0.0, s, sl)
        if x > 0.0:
            h = -h
            l = -l
        return _sum(HALF_PI_HI, HALF_PI_LO, h, l)
    h, l = arctangent(s, sl, a, 0.0)
    if x > 0.0:
        return h + l
    return _sum(PI_HI, PI_LO, -h, -l)
