"""Our sine and cosine against mpmath: polynomials, argument reduction, and the way over libm."""

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from support.minimax import minimax

from dalembert.codegen import compile_function
from dalembert.codegen.helpers import COSINE, REDUCTION, SINE

# Measured 0.81 ulp; a correctly rounded function has 0.5.
LARGEST_ERROR = 1.0


@pytest.fixture(scope="module")
def kernels():
    x = ca.SX.sym("x")
    both = compile_function("both", {"x": x}, {"sin": ca.sin(x), "cos": ca.cos(x)})
    sine = compile_function("sine", {"x": x}, {"sin": ca.sin(x)})
    cosine = compile_function("cosine", {"x": x}, {"cos": ca.cos(x)})
    return both, sine, cosine


def ulps(got, x, function):
    """Largest error in units of the last place; mpmath with 60 digits is the truth."""
    worst = 0.0
    with mp.workdps(60):
        for g, v in zip(got, x, strict=True):
            truth = function(mp.mpf(float(v)))
            worst = max(worst, float(abs(mp.mpf(float(g)) - truth) / mp.mpf(np.spacing(abs(float(truth))))))
    return worst


def multiples_of_half_pi():
    rng = np.random.default_rng(1)
    k = np.concatenate([np.arange(1, 200), rng.integers(1, 83_000, 300)])
    with mp.workdps(40):
        x = np.array([float(mp.pi / 2 * int(i)) for i in k])
    return np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf), -x])


RANGES = {
    "quarter": lambda rng: rng.uniform(-np.pi / 4, np.pi / 4, 3000),
    "turns": lambda rng: rng.uniform(-20, 20, 3000),
    "large": lambda rng: rng.uniform(-131072, 131072, 3000),
    "next to multiples of π/2": lambda rng: multiples_of_half_pi(),
    "next to odd multiples of π/4": lambda rng: np.pi / 4 * (2 * rng.integers(-500, 500, 1000) + 1.0),
    "tiny": lambda rng: 10.0 ** rng.uniform(-300, -3, 1000) * rng.choice([-1, 1], 1000),
    "huge": lambda rng: 10.0 ** rng.uniform(5, 300, 1000) * rng.choice([-1, 1], 1000),
    "around the limit": lambda rng: 131072 + rng.uniform(-2, 2, 1000),
}


@pytest.mark.parametrize("name", RANGES)
def test_accuracy(kernels, name):
    both, sine, cosine = kernels
    x = RANGES[name](np.random.default_rng(0))
    s, c = both(x[:, None])
    assert ulps(s[:, 0], x, mp.sin) < LARGEST_ERROR
    assert ulps(c[:, 0], x, mp.cos) < LARGEST_ERROR
    # Separate functions give the same bits; single states are rounded at every operation, and may differ in one.
    np.testing.assert_array_equal(sine(x[:, None]), s)
    np.testing.assert_array_equal(cosine(x[:, None]), c)
    single = np.array([both(v) for v in x[:50]])
    assert ulps(single[:, 0, 0], x[:50], mp.sin) < LARGEST_ERROR
    assert ulps(single[:, 1, 0], x[:50], mp.cos) < LARGEST_ERROR


def test_special_values(kernels):
    both = kernels[0]
    s, c = both(np.array([0.0, -0.0, np.inf, -np.inf, np.nan])[:, None])
    np.testing.assert_array_equal(s[:, 0], [0, 0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(np.signbit(s[:2, 0]), [False, True])
    np.testing.assert_array_equal(c[:, 0], [1, 1, np.nan, np.nan, np.nan])


def test_result_does_not_depend_on_neighbors(kernels):
    """A far argument sends a group the slow way; the near ones in the group keep their bits."""
    both = kernels[0]
    near = np.random.default_rng(3).uniform(-100, 100, 64)
    mixed = near.copy()
    mixed[::3] = 1e9
    mixed[1::9] = np.nan
    keep = mixed == near
    for alone, together in zip(both(near[:, None]), both(mixed[:, None]), strict=True):
        np.testing.assert_array_equal(alone[keep], together[keep])


def test_polynomials_are_as_good_as_documented():
    with mp.workdps(40):
        sine_error = cosine_error = mp.mpf(0)
        for r in mp.linspace(mp.mpf(10) ** -4, mp.pi / 4, 400):
            z = r * r
            s = r + r * z * mp.polyval([mp.mpf(c) for c in SINE[::-1]], z)
            c = 1 - z / 2 + z * z * mp.polyval([mp.mpf(c) for c in COSINE[::-1]], z)
            sine_error = max(sine_error, abs(s / mp.sin(r) - 1))
            cosine_error = max(cosine_error, abs(c / mp.cos(r) - 1))
        # Minimax 3.6e-18 and 5.6e-20, plus z/2 ulp(1/6) = 9e-18 and z²/2 ulp(1/24)/cos r = 2e-18 from
        # rounding the coefficients to doubles; half an ulp of the result is 5e-17 or more.
        assert sine_error < 1.4e-17
        assert cosine_error < 3e-18


def test_coefficients_are_the_minimax_ones():
    with mp.workdps(50):
        # The interval is a little longer than (π/4)², because k is found with rounding errors.
        largest = (mp.pi / 4) ** 2 * (1 + mp.mpf(2) ** -20)
        sine = minimax(
            lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
            lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
            len(SINE),
            largest,
        )
        cosine = minimax(
            lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
            lambda z: z * z / mp.cos(mp.sqrt(z)),
            len(COSINE),
            largest,
        )
    # The grid decides on the last digits of the last coefficients, which matter least.
    np.testing.assert_allclose(sine, SINE, rtol=1e-5)
    np.testing.assert_allclose(cosine, COSINE, rtol=1e-5)
    np.testing.assert_allclose([sine[0], cosine[0]], [SINE[0], COSINE[0]], rtol=1e-15)


def test_parts_of_half_pi():
    with mp.workdps(60):
        assert abs(sum(mp.mpf(part) for part in REDUCTION) - mp.pi / 2) < mp.mpf(10) ** -38
    for part in REDUCTION[:2]:
        # 36 bits and a k of up to 17 bits: the product is exact.
        mantissa = int(np.frexp(part)[0] * 2**36)
        assert mantissa == np.frexp(part)[0] * 2**36
