"""The mathematics library of native code: the same bits on every target.

Only additions, products, quotients and square roots of doubles, comparisons, and operations with 64-bit integers are
used, each rounded once, in a fixed order. Every function runs unchanged in plain Python; compiled by the translator it
must not be contracted to fused multiply-add. Domain errors give NaN, overflow infinity, as in C99.

``FUNCTIONS`` has what kernels may call (the operations of ``codegen/tape.py`` beyond arithmetic), which includes what
formulas may contain (``expressions/parse.py``). Largest errors in units of the last place, of millions of random
arguments of every size against 113-bit arithmetic (``tests/native/test_mathematics.py`` repeats it in the small):

    log, log1p, asin, acos, atan, asinh, acosh, atanh, cosh         0.501
    pow, tanh, sinh, exp, expm1, atan2, tan                         0.503, 0.504, 0.508, 0.514, 0.534, 0.535, 0.57
    hypot, erf                                                      0.501; 0.75, 0.84 where nearly subnormal
    sin, cos (the bits of the kernels)                              0.88, 0.91
    fmod, remainder                                                 exact
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dalembert.native.bits import bits_of, float_of
from dalembert.native.exponentials import acosh, asinh, atanh, cosh, exp, expm1, log, log1p, pow, sinh, tanh
from dalembert.native.mathematics_tables import ERF_HI, ERF_LO, ROUNDER, ROUNDER_BITS, SLOPE_HI, SLOPE_LO
from dalembert.native.pairs import fast_sum, product, square_root, upper
from dalembert.native.trigonometry import acos, asin, atan, atan2, cos, sin, tan

__all__ = [
    "FUNCTIONS", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf",
    "exp", "expm1", "fmod", "hypot", "log", "log1p", "pow", "remainder", "sin", "sinh", "tan", "tanh",
]  # fmt: skip


def hypot(x: float, y: float) -> float:
    """√(x² + y²) without overflow on the way; infinite if one side is, even if the other is NaN."""
    x = abs(x)
    y = abs(y)
    if x == math.inf or y == math.inf:
        return math.inf
    if x != x or y != y:
        return math.nan
    a = max(x, y)
    b = min(x, y)
    if b <= a * 2.0**-60:
        return a + b
    scale = 1.0
    if a > 2.0**500:
        scale = 2.0**600
    elif b < 2.0**-400:
        scale = 2.0**-600
    a = a * (1.0 / scale)
    b = b * (1.0 / scale)
    p, e = product(a, a)
    q, f = product(b, b)
    s, t = fast_sum(p, q)
    r, rl = square_root(s, t + (e + f))
    return (r + rl) * scale


def fmod(x: float, y: float) -> float:
    """x − n y with n = x/y rounded toward zero; exact; the sign of x.

    Long division of the integer fractions, ten bits at a time.
    """
    a = abs(x)
    b = abs(y)
    if not a < math.inf or b != b or b == 0.0:
        return math.nan
    if a < b:
        return x
    m = bits_of(a)
    n = bits_of(b)
    i = m >> 52
    j = n >> 52
    # A subnormal number has exponent 1 and no hidden bit.
    m = (m & 0xFFFFFFFFFFFFF) | 0x10000000000000 if i > 0 else m
    n = (n & 0xFFFFFFFFFFFFF) | 0x10000000000000 if j > 0 else n
    i = max(i, 1)
    j = max(j, 1)
    m = m % n
    while i > j and m > 0:
        step = min(i - j, 10)
        m = (m << step) % n
        i = i - step
    # m 2^(j − 1075), which is a double because m < n; the power may be subnormal.
    power = float_of((j - 52) << 52 if j > 52 else 1 << (j - 1))
    return math.copysign(float(m) * power, x)


def remainder(x: float, y: float) -> float:
    """x − n y with n = x/y rounded to nearest, ties to even (IEC 60559); exact."""
    b = abs(y)
    if x - x != 0.0 or b != b or b == 0.0:
        return math.nan
    if b == math.inf:
        return x
    a = abs(x)
    if b < 2.0**1023:
        a = fmod(a, b + b)
        if a + a > b:
            a = a - b
            if a + a >= b:
                a = a - b
    else:
        half = 0.5 * b
        if a > half:
            a = a - b
            if a >= half:
                a = a - b
    return a * math.copysign(1.0, x)


def erf(x: float) -> float:
    """The error function (2/√π) ∫₀ˣ e^(−s²) ds.

    Taylor's series about c = j/16 with h = x − c: the coefficients bₙ of erf' follow from erf'' = −2 x erf',
    (n + 1) bₙ₊₁ = −2 (c bₙ + bₙ₋₁), and erf x = erf c + b₀ h (1 + h (β₁/2 + h (β₂/3 + ...))), βₙ = bₙ/b₀.
    """
    a = abs(x)
    if a != a:
        return x
    if a >= 5.95:
        return math.copysign(1.0, x)
    if a < 2.0**-28:
        # 2/√π = 1 + 0.128...
        return x + x * 0.1283791670955126
    t = a * 16.0 + ROUNDER
    j = bits_of(t) - ROUNDER_BITS
    c = (t - ROUNDER) * 0.0625
    h = a - c
    b1 = -2.0 * c
    b2 = -(c * b1 + 1.0)
    b3 = -(c * b2 + b1) * (2.0 / 3.0)
    b4 = -(c * b3 + b2) * 0.5
    b5 = -(c * b4 + b3) * 0.4
    b6 = -(c * b5 + b4) * (1.0 / 3.0)
    b7 = -(c * b6 + b5) * (2.0 / 7.0)
    b8 = -(c * b7 + b6) * 0.25
    b9 = -(c * b8 + b7) * (2.0 / 9.0)
    high = b5 * (1.0 / 6.0) + h * (b6 * (1.0 / 7.0) + h * (b7 * 0.125 + h * (b8 * (1.0 / 9.0) + h * (b9 * 0.1))))
    bend = h * (b1 * 0.5 + h * (b2 * (1.0 / 3.0) + h * (b3 * 0.25 + h * (b4 * 0.2 + h * high))))
    slope = float(SLOPE_HI[j])
    rest = float(SLOPE_LO[j])
    hh = upper(h)
    s, e = fast_sum(float(ERF_HI[j]), slope * hh)
    low = slope * (h - hh) + (rest * h + (slope + rest) * h * bend)
    return math.copysign(s + (e + (float(ERF_LO[j]) + low)), x)


FUNCTIONS: dict[str, Callable[..., float]] = {
    function.__name__: function
    for function in (
        *(acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, erf, exp, expm1, fmod, hypot, log, log1p, pow),
        *(remainder, sin, sinh, tan, tanh),
    )
}
