"""Numbers, variables, control and calls: what is compiled gives what Python gives, to the bit."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from support.native import ROUNDING, agree

from dalembert.native import native
from dalembert.native.bits import bits_of, float_of

N = 3
TOL = 1e-3
PAIR = (2, 0.5)

NAN, INF = math.nan, math.inf
X = np.array([3.0, -1.0, 2.5, 0.0, 7.0])
Y = np.array([1.0, 4.0, -2.0, 0.5, -0.25])
A = np.arange(12.0).reshape(3, 4) - 5.5


class Point(NamedTuple):
    x: float
    y: float = 2.0


# -- numbers -------------------------------------------------------------------------------------------------------


@native
def sums(a, b):
    return a + b, a - b, a * b, -a, +b


@native
def quotients(a, b):
    return a / b


# fmt: off
@native
def at_the_margin(
    x,
):
    """Begins here,
and goes on at the margin."""
    y = (2.0 * x
+ 4.0)
# a remark
    return y + 1.0
@native
def next_to_it(x):
    return x + 1.0
# fmt: on


@native
def whole_division(a, b):
    return a // b, a % b


@native
def by_constants(a):
    return a // 3, a % 3, a // -3, a % -3, a // -1, a % -1, 7 // -2, -7 % 3


@native
def bits(a, b):
    return a & b, a | b, a ^ b, a << 3, a >> 2


@native
def powers(a):
    return a**0, a**1, a**2, a**5, a**16


@native
def float_powers(a, b):
    return a**0.5, a**-1, a**b, a**17, math.pow(a, b)


@native
def comparisons(a, b):
    return a < b, a <= b, a > b, a >= b, a == b, a != b


@native
def chained(a, b, c):
    return a < b < c, a <= b == c, 0 < a != c


@native
def guarded_chain(x, i):
    # The last comparison is reached only if the first ones hold.
    return 0 <= i < len(x) != x[min(max(i, 0), len(x) - 1)]


@native
def logic(a, b):
    return a and b, a or b, not a, (a and not b) or b, a & b, a | b, a ^ b


@native
def short_circuit(x, i):
    if i < len(x) and x[i] > 0.0:
        return 1
    if i >= len(x) or x[i] == 0.0:
        return 2
    return 3


@native
def truth(n, x):
    s = 0
    if n:
        s += 1
    if x:
        s += 2
    if n and x:
        s += 4
    if not n or not x:
        s += 8
    return s, bool(n), bool(x), bool(n or x)


@native
def extremes(a, b, c):
    return min(a, b), max(a, b), min(a, b, c), max(a, b, c), abs(a)


@native
def conversions(n, x, f):
    return float(n), int(x), int(f), float(f), n + x, n * 0.5, f + n, bool(x), math.floor(x), math.ceil(x), np.floor(x)


@native
def functions(x):
    return math.sqrt(x), np.sqrt(x), math.fabs(-x), math.copysign(x, -0.0), abs(-x)


@native
def transcendental(x, y):
    a = math.sin(x), math.cos(x), math.tan(x), math.exp(x), math.log(abs(x) + 1.0), math.hypot(x, y), math.atan2(x, y)
    b = math.sinh(x), math.cosh(x), math.tanh(x), math.asin(x / 10.0), math.acos(x / 10.0), math.atan(x)
    return a, b


@native
def questions(x):
    return np.isfinite(x), math.isfinite(x), np.isnan(x), math.isnan(x)


@native
def constants():
    return N, TOL, math.pi, np.inf, PAIR[1], PAIR, True, 1_000_000_007, -0.0


@native
def bit_patterns(x, n):
    return bits_of(x), float_of(n)


@native
def complexes(a, b):
    return a + b, a - b, a * b, a / b, -a, a == b, a != b, a * 2, 1.0 - b, a.real, b.imag, abs(a)


@native
def made_complex(x, y):
    z = complex(x, y)
    z += 1.0
    z *= 2.0j
    return z


# -- variables and control -------------------------------------------------------------------------------------------


@native
def swapped(a, b):
    a, b = b, a
    (c, d), e = (a + 1.0, b), a
    return a, b, c, d, e


@native
def many_targets(x):
    a = b = x * 2.0
    b += 1.0
    c: float = a
    return a, b, c


@native
def branches(n):
    if n < 0:
        kind = -1
    elif n == 0:
        kind = 0
    elif n < 10:
        kind = 1
    else:
        kind = 2
    return kind


@native
def assigned_in_a_branch(flag, x):
    if flag:
        v = x[1:]
        n = 5
    else:
        v = x[:2]
        n = 7
    return v, n


@native
def nested_choice(a, b, x, y):
    return x if a else y if b else x + y


@native
def choice_of_views(flag, A):
    v = A[0] if flag else A[:, 0]
    return v.sum(), v.shape[0]


@native
def choice_of_numbers(flag, n, x):
    return n if flag else x


@native
def fixed_choice(x):
    if N == 3:
        return x
    return x / 0.0


@native
def loops(n):
    s = 0
    for i in range(n):
        s += i
    for i in range(2, n):
        s += 10 * i
    for i in range(n, 0, -2):
        s += 100 * i
    for i in range(n - 1, -1, -1):
        s = 3 * s - i
    return s


@native
def variable_after_loop(n):
    i = -1
    for i in range(n):  # noqa: B007
        pass
    return i


@native
def changed_inside(n):
    s = 0
    for i in range(n):
        i *= 2
        n -= 1
        s += i
    return s, n


@native
def jumps(n, m):
    s = 0
    for i in range(n):
        if i == 2:
            continue
        for j in range(m):
            if j > i:
                break
            if (i + j) % 3 == 0:
                continue
            s += i * 10 + j
        if s > 400:
            break
    return s


@native
def endless(x):
    n = 0
    while True:
        x = x / 2.0 if n % 2 == 0 else x - 1.0
        n += 1
        if x < 1.0:
            break
        if n > 50:
            return -1, x
    return n, x


@native
def collatz(n):
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


@native
def over_array(x):
    s = 0.0
    for v in x:
        s += v * v
    return s


@native
def over_changing_array(x):
    s = 0.0
    for v in x:
        s += v
        x[-1] = s
    return s


@native
def over_flat(A):
    s = 0.0
    for v in A.flat:
        s = 0.5 * s + v
    return s


@native
def over_tuple(a, b):
    s = 0.0
    for v in (a, b, 2.0):
        if v < 0.0:
            continue
        s += v
        a += 100.0
        b += 100.0
    return s


@native
def over_items(pair):
    s = 0.0
    for v in pair:
        s += v
    return s


@native
def early(x):
    for i in range(len(x)):
        for j in range(len(x)):
            if x[i] + x[j] == 0.0:
                return i, j
    return -1, -1


@native
def nothing(x):
    x[0] = 5.0


@native
def sometimes(x):
    if x[0] > 0.0:
        return
    x[0] = -x[0]


# -- functions --------------------------------------------------------------------------------------------------------


@native
def helper(a, b=2.0, c=1):
    return a * b + c


@native
def keywords_in_the_order_written(x):
    return helper(c=x[1], b=x[0], a=bump(x))


@native
def from_the_end(t, n):
    return t[-n], t[-n + 1], (n, 5, 7)[-n]


@native
def whole_parts(n):
    return math.floor(n), math.ceil(n)


@native
def powers_of_conditions(a):
    return a**0, a**1, a**2, +a, -a


@native
def calls(x):
    return helper(x), helper(x, 3.0), helper(x, c=5), helper(b=1.0, a=x), helper(*(x, 4.0), 2)


@native
def in_the_middle(x, out):
    # Returns an array of its own, changes another.
    y = x * 2.0
    out[0] += y[1]
    return y


@native
def uses_results(x):
    out = np.zeros(2)
    a = in_the_middle(x, out)
    b = in_the_middle(a, out)
    c = in_the_middle(b[1:], out)
    return a, b, c, out


@native
def bump(x):
    x[0] += 10.0
    return 1.0


@native
def order_of_evaluation(x):
    # The element is read before the other side changes it.
    x[0] += bump(x)
    a = x[0] + bump(x) * x[0]
    return a


@native
def points(p, q):
    r = Point(p.x + q.y, q[0])
    s = Point(y=1.0, x=r.x)
    t = Point(5.0)
    x, y = r
    return r, s, t.y, x - y, len(p), p


@native
def tuples(t, i):
    a, (b, c) = t
    u = (1.0, 2.0, 4.0)
    return a + b, c[1:], (a, t), u[i], u[-1]


BOOLS = [(a, b) for a in (False, True) for b in (False, True)]
CASES = [
    *[(sums, pair) for pair in [(2, 3), (2.5, -0.0), (2, 0.5), (True, 3), (-0.0, 0.0), (NAN, 1.0), (INF, -INF)]],
    *[(quotients, pair) for pair in [(1, 3), (-7.0, 2), (1.0, 3.0), (0.0, -5.0), (NAN, 1.0)]],
    *[(whole_division, (a, b)) for a in (-7, -6, 0, 7, 2**62) for b in (-3, 3, 1, -1)],
    *[(by_constants, (a,)) for a in (-7, -6, 0, 5, 6)],
    *[(bits, pair) for pair in [(12, 10), (-5, 3), (0, -1)]],
    *[(powers, (a,)) for a in (3, -2, 0)],
    *[(comparisons, pair) for pair in [(1, 2), (2.0, 2), (NAN, 1.0), (NAN, NAN), (INF, NAN), (-0.0, 0.0), (True, 1)]],
    *[(chained, three) for three in [(1, 2, 3), (1.0, 2.0, 2.0), (NAN, 1.0, 1.0), (2, 1, 0)]],
    *[(guarded_chain, (X, i)) for i in (-1, 0, 3, 5)],
    *[(logic, pair) for pair in BOOLS],
    *[(short_circuit, (X, i)) for i in (0, 1, 3, 5, 10**9)],
    *[(truth, pair) for pair in [(0, 0.0), (2, 0.0), (0, NAN), (-1, 0.5), (1, -0.0)]],
    *[(extremes, three) for three in [(1, 2, 3), (NAN, 1.0, 2.0), (1.0, NAN, 2.0), (1.0, 2.0, NAN), (-0.0, 0.0, -0.0)]],
    *[(conversions, three) for three in [(3, -2.7, True), (-1, 2.5, False), (0, -0.5, True)]],
    *[(functions, (x,)) for x in (2.0, 0.0, 1e-300, 7, INF)],
    *[(questions, (x,)) for x in (1.0, NAN, INF, -INF)],
    (constants, ()),
    *[(bit_patterns, pair) for pair in [(1.5, 4607182418800017408), (-0.0, -1 << 63), (INF, 1)]],
    *[(complexes, pair) for pair in [(1 + 2j, 3 - 1j), (1e200 + 1e200j, 2e200 - 1e-200j), (2j, -1 + 0j)]],
    (made_complex, (1.5, -2.0)),
    (swapped, (1.5, 2.5)), (many_targets, (1.5,)),
    *[(branches, (n,)) for n in (-5, 0, 3, 30)],
    *[(assigned_in_a_branch, (flag, X)) for flag in (False, True)],
    *[(nested_choice, (*pair, X, Y)) for pair in BOOLS],
    *[(choice_of_views, (flag, A)) for flag in (False, True)],
    (choice_of_numbers, (False, 2, 2.5)), (fixed_choice, (1.5,)),
    *[(loops, (n,)) for n in (0, 1, 2, 7)],
    *[(variable_after_loop, (n,)) for n in (0, 4)],
    (changed_inside, (5,)), (jumps, (9, 6)), (endless, (100.0,)), (endless, (1e300,)), (collatz, (27,)),
    (over_array, (X,)), (over_array, (A[:, 1],)), (over_changing_array, (X,)), (over_flat, (A,)), (over_flat, (A.T,)),
    (over_tuple, (1.0, -2.0)), (over_items, ((1.0, 2.0, 4.0),)), (early, (np.array([1.0, 2.0, -1.0]),)),
    (early, (np.array([1.0, 2.0]),)), (nothing, (X,)), (sometimes, (X,)), (sometimes, (-X,)),
    (keywords_in_the_order_written, (X,)),
    *[(from_the_end, ((1.5, 2.5, 4.0), n)) for n in (1, 2, 3)],
    *[(whole_parts, (n,)) for n in (2**53 + 1, -(2**62) - 1, True)],
    *[(powers_of_conditions, (flag,)) for flag in (False, True)],
    (calls, (1.5,)), (calls, (2,)), (uses_results, (X,)), (order_of_evaluation, (X,)),
    (points, (Point(1.0, 2.0), Point(3.0, 4.0))), (tuples, ((1.0, (2.0, X)), 1)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda item: getattr(item, "__name__", None))
def test_compiled_equals_python(function, args):
    agree(function, *args)


ROUNDED = [
    *[(transcendental, (x, y)) for x, y in [(0.5, 2.0), (-3.0, 0.25), (9.5, -1.0)]],
    *[(float_powers, (a, b)) for a, b in [(2.0, 0.5), (3.5, -2.5), (1e10, 3.0)]],
    *[(powers, (x,)) for x in (1.7, -0.3)],
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), ROUNDED, ids=lambda item: getattr(item, "__name__", None))
def test_compiled_equals_python_to_rounding(function, args):
    """Sines and powers."""
    agree(function, *args, rounding=4 * ROUNDING)


def test_a_comment_left_of_a_function(tmp_path):
    path, scope = tmp_path / "margin.py", {"native": native}
    path.write_text("class A:\n    @native\n    def f(x):\n        y = x + 1.0\n# margin\n        return y\n")
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert scope["A"].f(1.5) == 2.5


def test_division_by_zero_does_not_end_the_process():
    """What NumPy gives: zero for whole numbers, infinity and NaN for floats."""
    assert whole_division(7, 0) == (0, 0)
    assert whole_division(-(2**63), -1)[1] == 0
    assert quotients(1.0, 0.0) == INF
    assert math.isnan(quotients(0, 0))


def test_whole_parts_of_what_does_not_fit():
    """The same on every machine: the nearest number of 64 bits, zero for NaN."""
    assert [conversions(0, x, True)[1] for x in (1e300, -1e300, NAN)] == [2**63 - 1, -(2**63), 0]


def test_where_a_function_ends():
    """Lines at the margin that belong to it, and a neighbor that follows at once."""
    assert at_the_margin(3.0) == 11.0
    assert next_to_it(3.0) == 4.0
