"""The mathematics library of native code against mpmath, C's special values, and the kernels' sine and cosine."""

import ctypes
import math

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from support.minimax import minimax

from dalembert.codegen.helpers import helper_text
from dalembert.codegen.tape import BINARY, UNARY
from dalembert.expressions.parse import FUNCTIONS as OF_FORMULAS
from dalembert.native import mathematics_tables as tables
from dalembert.native import trigonometry
from dalembert.native.bits import bits_of, float_of
from dalembert.native.build import mathematics_address
from dalembert.native.jit import build_object, load_object
from dalembert.native.mathematics import FUNCTIONS

# Measured with a hundred times as many points (see mathematics.py), and a margin.
LARGEST_ERROR = dict.fromkeys(FUNCTIONS, 0.51) | {
    "exp": 0.52, "expm1": 0.55, "atan2": 0.55, "tan": 0.58, "hypot": 0.76, "erf": 0.85, "sin": 0.92, "cos": 0.92,
}  # fmt: skip
TRUTH = {name: getattr(mp, name) for name in FUNCTIONS if hasattr(mp, name)} | {"pow": mp.power}
EXACT = ("fmod", "remainder")
ODD = ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf")
# Multiplications, comparisons and intrinsics of LLVM
WITHOUT_CALL = {
    *("neg", "sqrt", "sq", "twice", "inv", "not", "floor", "ceil", "fabs", "sign", "add", "sub", "mul", "div"),
    *("constpow", "lt", "le", "eq", "ne", "and", "or", "copysign", "if_else_zero", "fmin", "fmax"),
}
POINTS = 400
SPECIAL = [0.0, 5e-324, 1e-310, 2.0**-1022, 1e-9, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 22.5, 1e5, 2.0**53, 1e19, 1e300]
SPECIAL += [math.inf]
SPECIAL = [sign * x for x in SPECIAL for sign in (1.0, -1.0)] + [math.nan, 1.7976931348623157e308]

finite = st.floats(allow_nan=False, allow_infinity=False)


def sizes(rng, low, high):
    """Numbers of all magnitudes from 2^low to 2^high, of both signs."""
    return 2.0 ** rng.uniform(low, high, POINTS) * rng.choice([-1.0, 1.0], POINTS)


def positive(rng, low, high):
    return np.abs(sizes(rng, low, high))


def multiples_of_half_pi(rng):
    """The doubles next to k π/2, and those that come nearest to a multiple among all doubles."""
    with mp.workdps(60):
        near = [float(mp.pi / 2 * int(k)) for k in (*range(1, 60), *rng.integers(60, 2**52, 200))]
    return np.array([*near, 6381956970095103.0 * 2.0**797, 5319372648326541.0 * 2.0**-45])


ANY = (-1074, 1023.99)
TURNS = [
    lambda g: g.uniform(-0.8, 0.8, POINTS),
    lambda g: g.uniform(-(2.0**17), 2.0**17, POINTS),
    lambda g: g.uniform(2.0**17 - 2, 2.0**17 + 2, POINTS),
    lambda g: sizes(g, -30, 30),
    lambda g: sizes(g, *ANY),
    multiples_of_half_pi,
]
NEXT_TO_ONE = [lambda g: g.uniform(-1, 1, POINTS), lambda g: sizes(g, -1074, -0.01), lambda g: 1 - positive(g, -53, -1)]
RANGES = {
    "exp": [
        lambda g: g.uniform(-745.2, 709.7, POINTS),
        lambda g: sizes(g, -60, 9),
        lambda g: g.uniform(-746, -707, 99),
    ],
    "expm1": [
        lambda g: g.uniform(-45, 709.7, POINTS),
        lambda g: sizes(g, -1074, 5),
        lambda g: g.uniform(-0.02, 0.02, POINTS),
    ],
    "log": [lambda g: positive(g, *ANY), lambda g: 1 + sizes(g, -52, -1), lambda g: g.uniform(0.5, 2, POINTS)],
    "log1p": [lambda g: positive(g, *ANY), lambda g: sizes(g, -60, 0), lambda g: g.uniform(-1, 2, POINTS)],
    "sin": TURNS,
    "cos": TURNS,
    "tan": TURNS,
    "asin": NEXT_TO_ONE,
    "acos": [*NEXT_TO_ONE, lambda g: positive(g, -53, -1) - 1],
    "atan": [lambda g: sizes(g, *ANY), lambda g: sizes(g, -8, 8), lambda g: g.uniform(-1.1, 1.1, POINTS)],
    "sinh": [
        lambda g: g.uniform(-710.4, 710.4, POINTS),
        lambda g: sizes(g, -1074, 5),
        lambda g: g.uniform(-0.03, 0.03, POINTS),
    ],
    "cosh": [lambda g: g.uniform(-710.4, 710.4, POINTS), lambda g: sizes(g, -1074, 5)],
    "tanh": [
        lambda g: g.uniform(-23, 23, POINTS),
        lambda g: sizes(g, -1074, 5),
        lambda g: g.uniform(-0.03, 0.03, POINTS),
    ],
    "asinh": [lambda g: sizes(g, *ANY), lambda g: sizes(g, -30, 30), lambda g: g.uniform(-2, 2, POINTS)],
    "acosh": [lambda g: positive(g, 0, 1023.9), lambda g: 1 + positive(g, -52, 2), lambda g: positive(g, 0, 30)],
    "atanh": NEXT_TO_ONE,
    "erf": [lambda g: g.uniform(-6, 6, POINTS), lambda g: sizes(g, -1074, 2), lambda g: g.uniform(-0.1, 0.1, POINTS)],
}


def powers(rng):
    """x and y with results of every size."""
    x = positive(rng, *ANY)
    y = rng.uniform(-745, 709.7, POINTS) / np.log(x)
    near = 1 + sizes(rng, -45, -3)
    return np.concatenate([x, near]), np.concatenate([y, rng.uniform(-745, 709, POINTS) / np.log(near)])


PAIRS = {
    "pow": [powers, lambda g: (positive(g, -3, 3), g.integers(-20, 20, POINTS) / 4)],
    "atan2": [
        lambda g: (sizes(g, *ANY), sizes(g, *ANY)),
        lambda g: (sizes(g, -30, 30), sizes(g, -30, 30)),
        lambda g: (sizes(g, -1074, -1030), sizes(g, -1074, -1030)),
        lambda g: (sizes(g, 1010, 1023.9), sizes(g, 1010, 1023.9)),
    ],
    "hypot": [
        lambda g: (sizes(g, *ANY), sizes(g, *ANY)),
        lambda g: (sizes(g, -60, 0), g.uniform(0.5, 1, POINTS)),
        lambda g: (sizes(g, -1074, -960), sizes(g, -1040, -980)),
        lambda g: (sizes(g, 1000, 1023.4), sizes(g, 1000, 1023.4)),
    ],
}


def error(got, truth):
    """In units of the last place of the truth, which mpmath gives with 60 digits or more."""
    if abs(truth) > mp.mpf(1.7976931348623157e308):
        return 0.0 if math.isinf(got) else math.inf
    return float(abs(mp.mpf(got) - truth) / mp.mpf(math.ulp(float(truth))))


def worst(name, arguments):
    with mp.workdps(700 if name in ("acosh", "atanh", "acos") else 60):
        return max(
            (error(FUNCTIONS[name](*x), TRUTH[name](*map(mp.mpf, x))), x)
            for x in (tuple(map(float, x)) for x in arguments)
        )


@pytest.mark.parametrize("name", RANGES)
def test_accuracy(name):
    rng = np.random.default_rng(0)
    for values in RANGES[name]:
        largest, at = worst(name, values(rng)[:, None])
        assert largest < LARGEST_ERROR[name], f"{largest} ulp at {at}"


@pytest.mark.parametrize("name", PAIRS)
def test_accuracy_of_two_arguments(name):
    rng = np.random.default_rng(0)
    for values in PAIRS[name]:
        largest, at = worst(name, np.transpose(values(rng)))
        assert largest < LARGEST_ERROR[name], f"{largest} ulp at {at}"


def c_value(name, *x):
    """What C gives, by way of NumPy and SciPy, which raise nothing."""
    if name == "remainder":
        try:
            return math.remainder(*x)
        except ValueError:
            return math.nan
    numpy_name = {"pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
    numpy_name |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    function = scipy.special.erf if name == "erf" else getattr(np, numpy_name.get(name, name))
    with np.errstate(all="ignore"):
        # Of arrays: for a single exponent NumPy takes short cuts that do not keep the sign of zero.
        return float(function(*(np.array([value]) for value in x))[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    """Zeros with their sign, infinities, NaN, domain errors, overflow and underflow are those of C99."""
    two = name in PAIRS or name in EXACT
    arguments = [(x, y) for x in SPECIAL for y in SPECIAL] if two else [(x,) for x in SPECIAL]
    for x in arguments:
        got, expected = FUNCTIONS[name](*x), c_value(name, *x)
        assert type(got) is float
        if math.isnan(expected) or math.isinf(expected) or expected == 0.0:
            assert repr(got) == repr(expected), x
        else:
            # C libraries have errors of their own.
            assert abs(got - expected) <= 4 * math.ulp(expected), x


# Where a function changes from one formula to another
BREAKPOINTS = {
    "exp": [0.5 * math.log(2) / 64, 709.0, -708.4, -745.0],
    "expm1": [2.0**-54, 0.005, -0.005, 700.0, -39.9],
    "log": [2.0**-1022, 1 - 2.0**-9, 1 + 2.0**-8, 1.0, 0.705078125, 1.41015625],
    "log1p": [2.0**-54, -(2.0**-54), 2.0**60, 2.0**-8],
    "sin": [2.0**-28],
    "tan": [2.0**-28, math.pi / 4],
    "asin": [2.0**-28, math.sqrt(0.5), 1 / 64],
    "atan": [2.0**-28, 1 / 64, 1.0, 2.0**60],
    "sinh": [2.0**-28, 1 / 64, 69.3],
    "tanh": [2.0**-28, 1 / 64, 19.0],
    "asinh": [2.0**-28, 2.0**28],
    "acosh": [2.0**28, 1.5],
    "atanh": [2.0**-28, 1 / 128],
    "erf": [2.0**-28, 1 / 32, 3 / 32, 5.9],
}


@pytest.mark.parametrize("name", BREAKPOINTS)
def test_increasing_at_breakpoints(name):
    for at in BREAKPOINTS[name]:
        bits = bits_of(at)
        values = [FUNCTIONS[name](float_of(bits + i)) for i in range(-60, 61)]
        assert values == sorted(values, reverse=at < 0), at


@given(finite)
def test_symmetries(x):
    for name in ODD:
        value = FUNCTIONS[name](x)
        assert repr(FUNCTIONS[name](-x)) == repr(value if math.isnan(value) else -value)
    for name in ("cos", "cosh"):
        assert FUNCTIONS[name](-x) == FUNCTIONS[name](x)


@given(finite, finite)
def test_exact_functions(x, y):
    expected = (math.fmod(x, y), math.remainder(x, y)) if y else (math.nan, math.nan)
    assert repr((FUNCTIONS["fmod"](x, y), FUNCTIONS["remainder"](x, y))) == repr(expected)
    assert FUNCTIONS["hypot"](x, y) == FUNCTIONS["hypot"](-y, x)


@given(st.integers(-(2**17), 2**17), st.integers(0, 3))
def test_exact_powers(x, n):
    assert FUNCTIONS["pow"](float(x), float(n)) == float(x**n)


@given(finite)
def test_bits(x):
    assert float_of(bits_of(x)) == x
    assert -(2**63) <= bits_of(x) < 2**63


def test_all_that_kernels_and_formulas_call():
    assert set(FUNCTIONS) == {*UNARY, *BINARY} - WITHOUT_CALL
    assert {*OF_FORMULAS} - {"sqrt", "abs", "sign", "min", "max"} <= set(FUNCTIONS)


def test_same_bits_as_the_kernels():
    """Sine and cosine of kernels, of one state at a time, up to where these call the library."""
    text = helper_text({"sincos"}, 1, inline_sincos=False)
    text += """
    define void @both(ptr %x, ptr %s, ptr %c) {
      %v = load double, ptr %x
      %r = call {double, double} @h.sincos(double %v)
      %a = extractvalue {double, double} %r, 0
      %b = extractvalue {double, double} %r, 1
      store double %a, ptr %s
      store double %b, ptr %c
      ret void
    }"""
    far = {f"dalembert_{name}": mathematics_address(name) for name in ("sin", "cos")}
    address, owner = load_object(build_object(text, 2), "both", far)
    pointer = ctypes.POINTER(ctypes.c_double)
    both = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(address)
    rng = np.random.default_rng(5)
    s, c = ctypes.c_double(), ctypes.c_double()
    for x in [*rng.uniform(-(2.0**17), 2.0**17, 2000), *rng.uniform(-1, 1, 1000), *sizes(rng, -1074, 10), 0.0, -0.0]:
        both(ctypes.c_double(x), s, c)
        assert repr((s.value, c.value)) == repr((FUNCTIONS["sin"](float(x)), FUNCTIONS["cos"](float(x)))), x
    assert owner


def test_coefficients_of_the_tangent_are_the_minimax_ones():
    t = trigonometry
    given = [t._D0, t._D1, t._D2, t._D3, t._D4, t._D5]
    with mp.workdps(50):
        found = minimax(
            lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1 + z / 6) / z**2,
            lambda z: z**2 * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
            len(given),
            (mp.pi / 4) ** 2 * (1 + mp.mpf(2) ** -20),
        )
    np.testing.assert_allclose(given, found, rtol=1e-4)
    np.testing.assert_allclose(given[:3], found[:3], rtol=1e-10)


def test_tables():
    """hi + lo of every entry, and the bits that make products with hi exact."""
    table = [
        (tables.POWER_HI, tables.POWER_LO, lambda j: mp.mpf(2) ** (mp.mpf(j) / 64), 2.0**-79),
        (tables.LOG_HI, tables.LOG_LO, lambda j: -mp.log(mp.mpf(float(tables.INVERSE[j]))), 2.0**-96),
        (tables.ATAN_HI, tables.ATAN_LO, lambda j: mp.atan(mp.mpf(j) / 32), 2.0**-105),
        (tables.ERF_HI, tables.ERF_LO, lambda j: mp.erf(mp.mpf(j) / 16), 2.0**-105),
        (tables.SLOPE_HI, tables.SLOPE_LO, lambda j: 2 / mp.sqrt(mp.pi) * mp.exp(-((mp.mpf(j) / 16) ** 2)), 2.0**-78),
        ([tables.PI_HI], [tables.PI_LO], lambda j: mp.pi, 2.0**-105),
        ([64 * tables.STEP_HI], [64 * tables.STEP_LO], lambda j: mp.log(2), 2.0**-90),
        ([tables.LN2_HI], [tables.LN2_LO], lambda j: mp.log(2), 2.0**-95),
    ]
    with mp.workdps(60):
        for hi, lo, truth, bound in table:
            for j in range(len(hi)):
                assert abs(mp.mpf(float(hi[j])) + mp.mpf(float(lo[j])) - truth(j)) <= bound
    for hi, bits in ((tables.POWER_HI, 25), (tables.SLOPE_HI, 25), (tables.LOG_HI, 42), (tables.INVERSE, 16)):
        assert all((np.asarray(hi) * 2.0**bits) % 1 == 0)
    with mp.workdps(400):
        digits = sum(mp.mpf(int(d)) * mp.mpf(2) ** (-28 * (i - 2)) for i, d in enumerate(tables.TWO_OVER_PI))
        assert 0 <= 2 / mp.pi - digits < mp.mpf(2) ** (-28 * 46)
