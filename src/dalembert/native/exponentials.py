"""exp, log, pow and the hyperbolic functions with their inverses, in the native subset.

Two functions carry the rest, each with a result of about 65 bits as a sum hi + lo:

    exp x = 2^k 2^(j/64) exp r,         x = (64 k + j) ln 2/64 + r,   |r| ≤ ln 2/128,
    log x = k ln 2 − ln(1/c) + log(1 + r),   x = 2^k m,  r = m/c − 1,   |r| ≤ 2⁻⁸.

The intervals are so short that Taylor's polynomials of degree 6 and 8 do (remainders 2⁻⁶⁵ and 2⁻⁶⁷; minimax
polynomials of the same degrees would be no shorter); their coefficients are the reciprocals written below. 1/c has 17
bits, so that r is exact. Results that cancel (expm1, sinh, log1p, atanh ...) come from the pairs, so none needs a
polynomial of its own except next to zero.

References:
    P. T. P. Tang, *Table-driven implementation of the exponential function*, ACM TOMS 15 (1989) 144-157.
    P. T. P. Tang, *Table-driven implementation of the logarithm function*, ACM TOMS 16 (1990) 378-400.
    ISO/IEC 9899:1999, annex F.9 (special values).
"""

from __future__ import annotations

import math

from dalembert.native.bits import bits_of, float_of
from dalembert.native.mathematics_tables import (
    INVERSE,
    LN2_HI,
    LN2_LO,
    LOG_HI,
    LOG_LO,
    LOWEST,
    POWER_HI,
    POWER_LO,
    ROUNDER,
    ROUNDER_BITS,
    STEP_HI,
    STEP_LO,
    STEPS,
)
from dalembert.native.pairs import fast_sum, product, quotient, square_root, two_sum, upper

__all__ = ["acosh", "asinh", "atanh", "cosh", "exp", "expm1", "log", "log1p", "pow", "sinh", "tanh"]

_LARGEST_EXPONENT = 709.79  # exp overflows a little below
_SMALLEST_EXPONENT = -745.14  # exp is zero
_TINY = 2.0**-28  # f(x) = x + O(x³) is x
_LARGE = 2.0**28  # 1 is nothing against x²
_NORMAL = 2.0**-1022

_BROKEN, _EVEN, _ODD = 0, 1, 2

# Coefficients of (exp r − 1 − r)/r² and of (log(1 + r) − r + r²/2)/r³
_E3, _E4, _E5, _E6 = 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0
_L3, _L4, _L5, _L6, _L7, _L8 = 1.0 / 3.0, -0.25, 0.2, -1.0 / 6.0, 1.0 / 7.0, -0.125
# sinh x = x + x³ (...) and tanh x = x + x³ (...) for |x| < 1/64
_S5, _S7 = 1.0 / 120.0, 1.0 / 5040.0
_T3, _T5, _T7, _T9 = -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0


def exponential(x: float, tail: float) -> tuple[float, float, int]:
    """hi, lo, k with exp(x + tail) = (hi + lo) 2^k, hi from 0.99 to 2; for |x| < 2000 and |tail| < 2⁻²⁰."""
    t = x * STEPS + ROUNDER
    n = bits_of(t) - ROUNDER_BITS
    f = t - ROUNDER
    a = x - f * STEP_HI
    b = f * STEP_LO - tail
    r = a - b
    q = ((a - r) - b) + r * r * (0.5 + r * (_E3 + r * (_E4 + r * (_E5 + r * _E6))))
    p, pl = fast_sum(r, q)
    j = n & 63
    power = float(POWER_HI[j])
    rest = float(POWER_LO[j])
    ph = upper(p)
    hi, e = fast_sum(power, power * ph)
    return hi, e + (power * ((p - ph) + pl) + (rest + rest * p)), n >> 6


def scaled(hi: float, lo: float, k: int) -> float:
    """(hi + lo) 2^k with one rounding, also where the result is subnormal or overflows; hi is at most about 2."""
    if k > 1022:
        if k > 1100:
            return math.inf
        return (hi + lo) * 2.0**1022 * float_of((k + 1) << 52)
    if k > -1000:
        return (hi + lo) * float_of((k + 1023) << 52)
    if k < -1100:
        return 0.0
    unit = float_of((k + 2045) << 52)
    hi = hi * unit
    lo = lo * unit
    if hi + lo >= 1.0:
        return (hi + lo) * _NORMAL
    # Next to 1 the spacing of doubles is that of the subnormals next to the smallest normal number.
    s, e = fast_sum(1.0, hi)
    return ((s + (e + lo)) - 1.0) * _NORMAL


def logarithm(x: float, tail: float, more: int) -> tuple[float, float]:
    """hi, lo with log((x + tail) 2^more) = hi + lo; x positive and normal, |tail| ≤ 2⁻⁵² x, or x = 1."""
    bits = bits_of(x)
    shifted = bits - LOWEST
    k = shifted >> 52
    j = (shifted >> 45) & 127
    m = float_of(bits - (k << 52))
    inverse = float(INVERSE[j])
    mh = upper(m)
    a = mh * inverse - 1.0
    r, rl = fast_sum(a, (m - mh) * inverse)
    if tail != 0.0:
        rl = rl + tail * float_of((1023 - k) << 52) * inverse
        r, rl = fast_sum(r, rl)
    f = float(k + more)
    # log(1 + r + rl) = r − rh²/2 + (rl − r rl − (r + rh)(r − rh)/2 + r³ (...)), rh the upper half of r
    s, e = fast_sum(f * LN2_HI + float(LOG_HI[j]), r)
    rh = upper(r)
    hi, e2 = fast_sum(s, -0.5 * rh * rh)
    cubic = r * r * r * (_L3 + r * (_L4 + r * (_L5 + r * (_L6 + r * (_L7 + r * _L8)))))
    small = (rl - r * rl) - 0.5 * (r + rh) * (r - rh)
    return hi, ((e + e2) + (f * LN2_LO + float(LOG_LO[j]))) + (small + cubic)


def exp(x: float) -> float:
    """e^x."""
    if x != x:
        return x
    if x > _LARGEST_EXPONENT:
        return math.inf
    if x < _SMALLEST_EXPONENT:
        return 0.0
    t = x * STEPS + ROUNDER
    n = bits_of(t) - ROUNDER_BITS
    f = t - ROUNDER
    r = (x - f * STEP_HI) - f * STEP_LO
    p = r + r * r * (0.5 + r * (_E3 + r * (_E4 + r * (_E5 + r * _E6))))
    j = n & 63
    k = n >> 6
    power = float(POWER_HI[j])
    rest = float(POWER_LO[j])
    lo = rest + (power + rest) * p
    if -1000 < k < 1023:
        return (power + lo) * float_of((k + 1023) << 52)
    return scaled(power, lo, k)


def expm1(x: float) -> float:
    """e^x − 1."""
    if x != x:
        return x
    if x > _LARGEST_EXPONENT:
        return math.inf
    if x < -40.0:
        return -1.0
    if -0.005 < x < 0.005:
        if -(2.0**-54) < x < 2.0**-54:
            return x
        return x + x * x * (0.5 + x * (_E3 + x * (_E4 + x * (_E5 + x * _E6))))
    hi, lo, k = exponential(x, 0.0)
    if k > 100:
        return scaled(hi, lo, k)
    scale = float_of((k + 1023) << 52)
    s, e = two_sum(hi * scale, -1.0)
    return s + (e + lo * scale)


def log(x: float) -> float:
    """The natural logarithm; −inf at ±0, NaN below."""
    if x != x or x == math.inf:
        return x
    if x <= 0.0:
        return -math.inf if x == 0.0 else math.nan
    if x < _NORMAL:
        hi, lo = logarithm(x * 2.0**54, 0.0, -54)
    else:
        hi, lo = logarithm(x, 0.0, 0)
    return hi + lo


def log1p(x: float) -> float:
    """log(1 + x)."""
    if x != x or x == math.inf or -(2.0**-54) < x < 2.0**-54:
        return x
    if x <= -1.0:
        return -math.inf if x == -1.0 else math.nan
    s = x
    e = 0.0
    if x < 2.0**60:
        s, e = two_sum(1.0, x)
    hi, lo = logarithm(s, e, 0)
    return hi + lo


def _parity(b: float) -> int:
    """Whether a positive number (or infinity, which is even) is whole, and odd."""
    bits = bits_of(b)
    exponent = (bits >> 52) - 1023
    if exponent < 0:
        return _BROKEN
    if exponent > 52:
        return _EVEN
    unit = 1 << (52 - exponent)
    fraction = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    if fraction & (unit - 1) != 0:
        return _BROKEN
    return _ODD if fraction & unit != 0 else _EVEN


def pow(x: float, y: float) -> float:
    """x^y, with the special values of C99 (F.9.4.4)."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return math.nan
    a = abs(x)
    b = abs(y)
    parity = _parity(b)
    sign = math.copysign(1.0, x) if parity == _ODD else 1.0
    if a == 0.0 or a == math.inf:
        return sign * math.inf if (a > 1.0) == (y > 0.0) else sign * 0.0
    if x < 0.0 and parity == _BROKEN:
        return math.nan
    if a == 1.0:
        return sign
    if b > 2.0**65:
        return math.inf if (a > 1.0) == (y > 0.0) else 0.0
    if a < _NORMAL:
        hi, lo = logarithm(a * 2.0**54, 0.0, -54)
    else:
        hi, lo = logarithm(a, 0.0, 0)
    p, e = product(hi, y)
    if p > 710.0:
        return sign * math.inf
    if p < -746.0:
        return sign * 0.0
    hi, lo, k = exponential(p, e + lo * y)
    return sign * scaled(hi, lo, k)


def _both(a: float) -> tuple[float, float, float, float, int]:
    """h, l, g, m, k: e^a = (h + l) 2^k, e^−a = (g + m) 2^k, for 0 ≤ a < 711."""
    h, l, k = exponential(a, 0.0)
    g, m, i = exponential(-a, 0.0)
    if i - k < -200:
        return h, l, 0.0, 0.0, k
    scale = float_of((i - k + 1023) << 52)
    return h, l, g * scale, m * scale, k


def sinh(x: float) -> float:
    """The hyperbolic sine, (e^x − e^−x)/2."""
    a = abs(x)
    if not a < math.inf or a < _TINY:
        return x
    if a < 0.015625:
        z = x * x
        return x + x * z * (_E3 + z * (_S5 + z * _S7))
    if a > 711.0:
        return math.copysign(math.inf, x)
    h, l, g, m, k = _both(a)
    s, e = fast_sum(h, -g)
    return math.copysign(scaled(s, e + (l - m), k - 1), x)


def cosh(x: float) -> float:
    """The hyperbolic cosine, (e^x + e^−x)/2."""
    a = abs(x)
    if a != a:
        return x
    if a > 711.0:
        return math.inf
    h, l, g, m, k = _both(a)
    s, e = fast_sum(h, g)
    return scaled(s, e + (l + m), k - 1)


def tanh(x: float) -> float:
    """The hyperbolic tangent, (e^2x − 1)/(e^2x + 1)."""
    a = abs(x)
    if a != a or a < _TINY:
        return x
    if a < 0.015625:
        z = x * x
        return x + x * z * (_T3 + z * (_T5 + z * (_T7 + z * _T9)))
    if a > 22.0:
        return math.copysign(1.0, x)
    h, l, k = exponential(2.0 * a, 0.0)
    scale = float_of((k + 1023) << 52)
    h = h * scale
    l = l * scale
    n, e = fast_sum(h, -1.0)
    n, nl = fast_sum(n, e + l)
    d, e = fast_sum(h, 1.0)
    d, dl = fast_sum(d, e + l)
    q, ql = quotient(n, nl, d, dl)
    return math.copysign(q + ql, x)


def asinh(x: float) -> float:
    """The inverse of sinh, log(x + √(x² + 1))."""
    a = abs(x)
    if not a < math.inf or a < _TINY:
        return x
    if a > _LARGE:
        hi, lo = logarithm(a, 0.0, 1)
    else:
        p, e = product(a, a)
        s, f = two_sum(1.0, p)
        r, rl = square_root(s, f + e)
        u, v = two_sum(r, a)
        u, v = fast_sum(u, v + rl)
        hi, lo = logarithm(u, v, 0)
    return math.copysign(hi + lo, x)


def acosh(x: float) -> float:
    """The inverse of cosh from 1 on, log(x + √(x² − 1)); NaN below."""
    if x != x or x == math.inf:
        return x
    if x <= 1.0:
        return 0.0 if x == 1.0 else math.nan
    if x > _LARGE:
        hi, lo = logarithm(x, 0.0, 1)
        return hi + lo
    s, e = fast_sum(x, 1.0)
    p, f = product(x - 1.0, s)
    r, rl = square_root(p, f + (x - 1.0) * e)
    u, v = fast_sum(x, r)
    u, v = fast_sum(u, v + rl)
    hi, lo = logarithm(u, v, 0)
    return hi + lo


def atanh(x: float) -> float:
    """The inverse of tanh, log((1 + x)/(1 − x))/2; ±inf at ±1, NaN beyond."""
    a = abs(x)
    if a != a or a < _TINY:
        return x
    if a >= 1.0:
        return math.copysign(math.inf, x) if a == 1.0 else math.nan
    s, e = fast_sum(1.0, a)
    hi, lo = logarithm(s, e, 0)
    s, e = fast_sum(1.0, -a)
    h2, l2 = logarithm(s, e, 0)
    s, e = two_sum(hi, -h2)
    return math.copysign(0.5 * (s + (e + (lo - l2))), x)
