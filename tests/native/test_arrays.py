"""Arrays: what is compiled gives what NumPy gives, to the bit."""

import numpy as np
import pytest
from support.native import ROUNDING, agree

import dalembert as da
from dalembert.native import native

TABLE = np.array([[1.5, -2.0, 0.0], [4.0, 5.0, -6.5]])
PLACES = np.array([2, 0, 1])
MASK = np.array([True, False, True])
PHASES = np.array([1.0 + 2.0j, -3.0j])

NAN = np.nan
X = np.array([3.0, -1.0, 2.5, 0.0, 7.0])
Y = np.array([1.0, 4.0, -2.0, 0.5, -0.25])
K = np.array([4, -3, 0, 7, 2])
A = np.arange(12.0).reshape(3, 4) - 5.5
B = np.sin(np.arange(12.0)).reshape(4, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)
FLAGS = np.array([True, False, False, True, True])
Z = np.array([1.0 + 2.0j, -0.5 + 0.25j, 3.0 - 1.0j])


# -- arrays ----------------------------------------------------------------------------------------------------------


@native
def elements(x, A, i):
    x[i] = A[i, 1] + A[-1, -2] + x[-1]
    x[-2] += 2.0
    A[i, i] *= 3.0
    x[-i - 1] -= 0.5
    return x[i], A[i][0], A[1:][0, i], len(A), A.shape, A.size, A.shape[1]


@native
def slices(x, i, j):
    return x[i:j], x[:i], x[j:], x[:], x[1:-1], x[-3:], x[:-2], x[-100:], x[:100], x[100:], x[3:1], x[-i:], x[:-j]


@native
def blocks(A, i):
    return A[i], A[i:], A[:, i], A[1:, :2], A[:-1, -2:], A[i, 1:], A[:, 1:][1], A.T, A.T[0], A[i].copy(), A[1:3, i:3]


@native
def blocks_of_three(C, i):
    return (
        C[i],
        C[i, 1],
        C[:, 1],
        C[:, :, 2],
        C[i, 1, 2],
        C[0, 1:, 2:],
        C.shape,
        C.size,
        C.T,
        C.T[1],
        C[:, 1:, 1:].copy(),
    )


@native
def written_blocks(A, C, i):
    A[i] = 1.0
    A[:, 0] = A[:, 1]
    A[1:, 2:] *= 2.0
    A[0, 1:3] += A[2, 1:3]
    C[i, 1] = C[0, 0]
    C[:, :, 0] -= 1.0
    C[0, :, 1:3] /= 3.0


@native
def made_arrays(n):
    return (
        np.zeros(n),
        np.ones((n, 2)),
        np.full(n, 2.5),
        np.full((2, n), 7),
        np.eye(n),
        np.arange(n),
        np.zeros((2, n, 3)),
    )


@native
def made_kinds(n):
    a, b = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
    c, d = np.full(n, 1, dtype=np.float64), np.zeros(n, np.complex128)
    e = np.full(n, True)
    a[0], b[1], d[-1] = 3, False, 1.0j
    return a, b, c, d, e


@native
def made_like(x, k):
    a, b = np.zeros_like(x), np.empty_like(x)
    b[:] = x
    c, d = np.zeros_like(k, shape=2), np.zeros_like(x, dtype=np.int64)
    c[0] = k[1]
    return a, b, c, d


@native
def arithmetic(x, y, k):
    return (
        x + y,
        x * 2.0,
        1 - x,
        x / y,
        -x,
        x + k,
        k * 2,
        k // 2,
        k % 3,
        x**2,
        abs(x),
        np.sqrt(abs(x)),
        2.0 * (x - y) / 4.0,
    )


@native
def broadcast(A, x):
    return A + x, x - A, A * 2.0, A[0] + A[1]


@native
def products(A, B, x, y):
    return A @ B, A @ x, y @ A, x @ x, A.T @ y, (A @ B)[0], B.T @ x


@native
def in_place(x, y, A):
    x += y
    x[1:3] *= 2.0
    x -= 1
    x[:2] /= y[2:4]
    A += x[:4]
    A[0] -= A[1]


@native
def sum_and_largest(x, k, A):
    return x.sum(), k.sum(), x.max(), k.max(), A.max()


@native
def kept_shape(A, x):
    return A.reshape(2, 6), A.reshape(-1), A.reshape((4, -1)), x.reshape(5, 1), A.reshape(A.shape), A[1:].reshape(-1)


@native
def reshape_of_gaps(A):
    # A copy, in NumPy too, so A stays as it is.
    v = A[:, 1:3].reshape(-1)
    v[0] = 99.0
    w = A.reshape(-1)
    w[1] = 77.0
    return v


@native
def picked(x, k, places):
    y = x[places]
    x[places] = x[:3]
    return y, k[PLACES], TABLE[1][places], places[places]


@native
def scattered_into_itself(x, k, places):
    # What is read must not be what was just written.
    x[places] = x
    k[k] = places
    places[places] = places


@native
def picked_from_the_end(x, places):
    y = x[-places]
    x[-places - 1] = y
    return y


@native
def powers_of_whole_numbers(k):
    return k**0, k**1, k**2, k**3


@native
def plus(x, k):
    # A new array.
    y, j = +x, +k
    y[0], j[0] = 99.0, 99
    return y, j


@native
def sorted_places(x):
    return np.argsort(x), x[np.argsort(x)]


@native
def lower(A):
    return np.tril(A)


@native
def filled(x, A):
    x.fill(2.0)
    A[1].fill(-1.0)


@native
def tables(i, j):
    return TABLE[i, j], TABLE[i].copy(), PLACES[j], MASK[j], PHASES[i], TABLE.shape, TABLE.T[j, i]


@native
def flags(f, x):
    n = 0
    g = np.zeros(len(f), dtype=np.bool_)
    for i in range(len(f)):
        if f[i]:
            n += 1
        g[i] = x[i] > 0.0 and not f[i]
    f[0] = False
    f[1:3] = True
    return n, g, f[3], n + f[0], f.sum(), g.copy()


@native
def complex_arrays(z, x):
    w = np.zeros(len(z), dtype=np.complex128)
    for i in range(len(z)):
        w[i] = z[i] * z[i] + x[i]
    w += 1.0j
    z[1:] *= 2.0
    return w, z[0] / w[0], (z * 2.0 - w), w.sum(), w[0].real, abs(w)


@native
def transposed_products(A):
    return A.T @ A, A @ A.T


@native
def empty(x, A):
    s = 0.0
    for v in x:
        s += v
    y = x * 2.0
    x[:] = 3.0
    return s, y, x.sum(), A @ x, A.T @ (A @ x), x[1:], np.zeros(0), np.eye(0), len(x)


# -- overlapping views ------------------------------------------------------------------------------------------------


@native
def shifted_up(x):
    x[1:] = x[:-1]


@native
def shifted_down(x):
    x[:-1] = x[1:]


@native
def shifted_by_name(x):
    tail, head = x[1:], x[:-1]
    tail[:] = head


@native
def shifted_in_a_tuple(x):
    x[1:], a = x[:-1], 1.0
    return a


@native
def accumulated(x):
    x[1:] += x[:-1]


@native
def accumulated_down(x):
    x[:-1] += x[1:]


@native
def onto_itself(x):
    x += x
    x[1:] *= x[1:]


@native
def rows_moved(A):
    A[1:] = A[:-1]


@native
def columns_moved(A):
    A[:, 1:] = A[:, :-1]


@native
def columns_back(A):
    A[:, :-1] = A[:, 1:]


@native
def turned(S):
    S[:] = S.T


@native
def turned_in_place(S):
    S += S.T


@native
def column_on_rows(S):
    S[:] = S[:, 0]


@native
def row_on_rows(S):
    S[:] += S[1]


@native
def row_on_column(S):
    S[:, 1] = S[1]


@native
def between(a, b):
    a[:] = b


@native
def rows_exchanged(A):
    row = A[0].copy()
    A[0] = A[1]
    A[1] = row
    A[0, 0], A[1, 1] = A[1, 1], A[0, 0]


@native
def cube_moved(C):
    C[1] = C[0]
    C[:, 1:] = C[:, :-1]
    C[:, :, :-1] += C[:, :, 1:]


SHIFTS = (
    shifted_up, shifted_down, shifted_by_name, shifted_in_a_tuple, accumulated, accumulated_down, onto_itself,
)  # fmt: skip
CASES = [
    *[(elements, (X, A, i)) for i in (0, 1, 2)],
    *[(slices, (X, i, j)) for i, j in [(1, 4), (0, 5), (2, 2), (4, 1)] if i and j],
    *[(blocks, (M, i)) for M in (A, B, A.T, A[:, ::2]) for i in (0, 2) if M.shape[1] > i],
    *[(blocks_of_three, (CUBE, i)) for i in (0, 1)], (blocks_of_three, (CUBE.T.copy().T, 1)),
    (written_blocks, (A, CUBE, 1)), (written_blocks, (A.T[:, ::-1].T, CUBE[:, ::-1], 0)),
    *[(made_arrays, (n,)) for n in (0, 1, 4)], (made_kinds, (3,)), (made_like, (X, K)), (made_like, (A, K)),
    (arithmetic, (X, Y, K)), (arithmetic, (X[::2], Y[::-2], K[:3])), (broadcast, (A, X[:4])),
    (in_place, (X, Y, A)), (in_place, (X[::-1], Y, A[:, ::-1])),
    (sum_and_largest, (X, K, A)), (sum_and_largest, (np.array([1.0, NAN, 2.0]), K, A)),
    (sum_and_largest, (np.array([NAN, 1.0, 2.0]), K, np.array([[1.0, 3.0], [NAN, 2.0]]))),
    (kept_shape, (A, X)), (reshape_of_gaps, (A,)), (picked, (X, K, PLACES)),
    (sorted_places, (X,)), (sorted_places, (K,)), (sorted_places, (np.array([3.0, NAN, 1.0, NAN, 0.5]),)),
    (scattered_into_itself, (X[:3], PLACES, PLACES)), (picked_from_the_end, (X, PLACES)),
    (powers_of_whole_numbers, (K,)), (plus, (X, K)), (plus, (X[::2], K[::-1])),
    (lower, (B @ A,)), (filled, (X, A)), (filled, (X[::2], A[:, ::2])), (tables, (1, 2)), (flags, (FLAGS, X)),
    (empty, (np.zeros(0), np.zeros((2, 0)))), (empty, (np.zeros(0), np.zeros((0, 0)))),
    *[
        (shift, (array,))
        for shift in SHIFTS
        for array in (X, X[::2], X[::-1], X[:1], X[:0])
    ],
    *[
        (move, (M,))
        for move in (rows_moved, columns_moved, columns_back)
        for M in (A, A.T, A[:, ::-1], A[:1], A[:, :1])
    ],
    *[
        (turn, (S,))
        for turn in (turned, turned_in_place, column_on_rows, row_on_rows, row_on_column)
        for S in (A[:, :3], A[:, :3].T, A[:2, 2:])
    ],
    (rows_exchanged, (A,)), (cube_moved, (CUBE,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda item: getattr(item, "__name__", None))
def test_compiled_equals_python(function, args):
    agree(function, *args)


ROUNDED = [
    (products, (A, B, X[:4], Y[:3])), (products, (A[:, ::-1], B[::-1], X[:4], Y[:3])), (transposed_products, (A,)),
    (complex_arrays, (Z, X[:3])),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), ROUNDED, ids=lambda item: getattr(item, "__name__", None))
def test_compiled_equals_python_to_rounding(function, args):
    """Products of matrices, which NumPy sums in another order, and roots of squares."""
    agree(function, *args, rounding=4 * ROUNDING)


def test_aliased_arguments():
    """Two views of one array."""
    for part, other in [(slice(1, 5), slice(0, 4)), (slice(0, 4), slice(1, 5)), (slice(0, 4), slice(0, 4))]:
        x, y = X.copy(), X.copy()
        between(x[part], x[other])
        y[part] = y[other]
        assert np.array_equal(x, y)
    for one, other in [((slice(None), 1), (1, slice(None))), ((1, slice(None)), (slice(None), 1))]:
        S, T = A[:, :3].copy(), A[:, :3].copy()
        between(S[one], S[other])
        T[one] = T[other]
        assert np.array_equal(S, T)


def test_negative_lengths_are_empty():
    assert all(array.size == 0 for array in made_arrays(-3)[:2])


@native
def complex_quotients(z, w, out):
    for i in range(len(z)):
        out[i] = z[i] / w[i]


def test_elements_of_complex_arrays_are_divided_to_the_bit():
    z, w = (np.random.default_rng(0).normal(size=(2, 1000, 2)) @ [1.0, 1.0j]).astype(complex)
    out = np.empty_like(z)
    complex_quotients(z, w, out)
    assert np.array_equal(out, [a / b for a, b in zip(z, w, strict=True)])


def test_arrays_without_entries_have_no_gaps():
    """NumPy gives some of them strides of zero; functions in fields of records take arrays without gaps only."""
    dynamics = da.compile(da.library.four_bar())
    du, multipliers = dynamics.solve(np.zeros((0, 3)), np.ones(3))
    assert du.shape == (0, 3) and multipliers.shape == (0, 5)
    found = dynamics.acceleration_derivatives(np.zeros((0, 3)), np.ones(3), by=["crank"])
    assert found.ddu_dq.shape == (0, 3, 3) and found.ddu_dp.shape == (0, 3, 1)
