"""Constants and tables of the mathematics library, computed with whole numbers when the module is imported.

A number is held as an integer of units 2⁻²⁴⁰ while it is computed; each table entry is then a sum of two doubles,
hi + lo, correct to about 2⁻⁸⁰ or better. Nothing depends on a C library, so the bits are the same on every machine.

    2^(j/64)        powers of 2^(1/64), six square roots of 2
    ln a/b          2 artanh((a − b)/(a + b))
    arctan j/32     sums of arctan 32/(1024 + i (i + 1)), i < j, the addition theorem of neighbors
    π               16 arctan 1/5 − 4 arctan 1/239 (Machin)
    erf j/16        Taylor's series from one node to the next
"""

from __future__ import annotations

import math

import numpy as np

BITS = 240
ONE = 1 << BITS

# Adding 3·2⁵¹ rounds to an integer, the difference of the bits is that integer.
ROUNDER = 6755399441055744.0
ROUNDER_BITS = 0x4338000000000000


def _double(value: int) -> float:
    """The nearest double (a quotient of integers is correctly rounded in Python)."""
    return value / ONE


def _split(value: int, bits: int) -> tuple[float, float]:
    """hi + lo with hi a multiple of 2^-bits."""
    unit = 1 << (BITS - bits)
    high = (value + unit // 2) // unit * unit
    return _double(high), _double(value - high)


def _pairs(values: list[int], bits: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [_split(value, bits) for value in values]
    return np.array([hi for hi, _ in pairs]), np.array([lo for _, lo in pairs])


def _odd_series(a: int, b: int, sign: int, one: int) -> int:
    """Σ signⁿ (a/b)^(2n+1)/(2n+1): artanh for sign 1, arctan for sign -1."""
    power, total, n = one * a // b, 0, 1
    while power:
        total += power // n if sign > 0 or n % 4 == 1 else -(power // n)
        power = power * a * a // (b * b)
        n += 2
    return total


def _logarithm(a: int, b: int) -> int:
    """ln a/b for positive integers."""
    if a < b:
        return -_logarithm(b, a)
    return 2 * _odd_series(a - b, a + b, 1, ONE)


# --- exp: ln 2/64 in parts (36 and 53 bits), 2^(j/64) with hi of 26 bits, so that products with hi are exact
_LN2 = _logarithm(2, 1)
STEP_HI, STEP_LO = _split(_LN2 >> 6, 42)
STEPS = 64 * ONE / _LN2


def _powers_of_two() -> list[int]:
    root = 2 * ONE
    for _ in range(6):
        root = math.isqrt(root << BITS)
    powers = [ONE]
    for _ in range(63):
        powers.append(powers[-1] * root >> BITS)
    return powers


POWER_HI, POWER_LO = _pairs(_powers_of_two(), 25)

# --- log: 128 intervals of m in [0.705, 1.41), the one around 1 centered on it; 1/c for a c near their middle, in
# multiples of 2⁻¹⁶, and −ln(1/c); hi in multiples of 2⁻⁴², so that k ln 2 + hi is exact.
LN2_HI, LN2_LO = _split(_LN2, 42)
_MIDDLE = 75
LOWEST = (1023 << 52) - _MIDDLE * (1 << 45) - (1 << 44)


def _reciprocals() -> list[int]:
    """1/c in units of 2⁻¹⁶."""
    values: list[int] = []
    for j in range(128):
        steps = j - _MIDDLE
        # The fraction of a double below 1 counts in halves.
        middle = 256 * 2 + (steps if steps < 0 else 2 * steps) * 2
        values.append(round(65536 * 512 / middle) if steps else 65536)
    return values


_INVERSES = _reciprocals()
INVERSE = np.array([n / 65536 for n in _INVERSES])
LOG_HI, LOG_LO = _pairs([_logarithm(65536, n) for n in _INVERSES], 42)

# --- atan: arctan j/32, and multiples of π
_ARCTANGENTS = [0]
for _i in range(32):
    _ARCTANGENTS.append(_ARCTANGENTS[-1] + _odd_series(32, 1024 + _i * (_i + 1), -1, ONE))
ATAN_HI, ATAN_LO = _pairs(_ARCTANGENTS, 53)
_LONG = 1400
_PI = 16 * _odd_series(1, 5, -1, 1 << _LONG) - 4 * _odd_series(1, 239, -1, 1 << _LONG)
PI_HI, PI_LO = _split(_PI >> (_LONG - BITS), 51)
HALF_PI_HI, HALF_PI_LO = 0.5 * PI_HI, 0.5 * PI_LO

# --- 2/π for large arguments, in digits of 28 bits; three digits of zeros in front.
_DIGITS = 46
_TWO_OVER_PI = (2 << (_LONG + 28 * _DIGITS)) // _PI
TWO_OVER_PI = np.array(
    [0, 0, 0] + [(_TWO_OVER_PI >> (28 * (_DIGITS - 1 - i))) & 0xFFFFFFF for i in range(_DIGITS)], dtype=np.int64
)


# --- erf: at c = j/16 the value, and the slope (2/√π) e^(−c²) with hi of at most 26 bits
def _error_function() -> tuple[list[int], list[int]]:
    """erf and erf' at j/16.

    With h = 1/16 and erf'(c + s) = Σ bₙ sⁿ, the equation erf'' = −2 x erf' gives for aₙ = bₙ hⁿ
    aₙ₊₁ = −2 (j aₙ + aₙ₋₁)/(256 (n + 1)), and erf(c + h) = erf(c) + h Σ aₙ/(n + 1).
    """
    value, slope = 0, 2 * ONE * ONE // math.isqrt(_PI >> (_LONG - BITS) << BITS)
    values, slopes = [value], [slope]
    for j in range(96):
        before, a, n, total = 0, slope, 0, 0
        slope = 0
        while a or before:
            total += a // (n + 1)
            slope += a
            before, a = a, -2 * (j * a + before) // (256 * (n + 1))
            n += 1
            if n > 100:
                break
        value += total >> 4
        values.append(value)
        slopes.append(slope)
    return values, slopes


_ERF, _SLOPE = _error_function()
ERF_HI, ERF_LO = _pairs(_ERF, 53)
SLOPE_HI, SLOPE_LO = _pairs(_SLOPE, 25)
