"""The constrained equations of motion in native code against NumPy's singular values, for any rank and pattern."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.numerics.alignment import partition_step
from dalembert.numerics.linear import (
    FAILED,
    OK,
    RANK_TOLERANCE,
    constrained_factors,
    constrained_solution,
    hold_rank,
    least_norm_multipliers,
    orthogonal_factors,
    pseudo_solve,
    ranked_factors,
    rounding_of,
    solve_constrained,
)

# Rounding of one solution with matrices of condition 1e4 or so.
CLOSE = 1e-10
SEEDS = range(6)


def _sparse(rng, shape, density):
    return rng.normal(size=shape) * (rng.uniform(size=shape) < density)


def _positive(rng, n):
    root = rng.normal(size=(n, n))
    return root @ root.T / n + 0.1 * np.eye(n)


def _full(rng):
    n = rng.integers(1, 14)
    return _positive(rng, n), rng.normal(size=(rng.integers(0, n + 1), n))


def _sparse_rows(rng):
    n = rng.integers(2, 40)
    return _positive(rng, n), _sparse(rng, (rng.integers(1, n + 1), n), 0.15)


def _bodies(rng):
    """M in blocks, one of them without mass along one direction that a constraint holds; rows of one or two bodies."""
    k = int(rng.integers(2, 7))
    n = 6 * k
    M, A = np.zeros((n, n)), np.zeros((5 * k, n))
    for i in range(k):
        M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = _positive(rng, 6)
        A[5 * i : 5 * i + 5, 6 * i : 6 * i + 6] = _sparse(rng, (5, 6), 0.5)
        if i:
            A[5 * i : 5 * i + 5, 6 * i - 6 : 6 * i] = _sparse(rng, (5, 6), 0.5)
    M[2], M[:, 2] = 0.0, 0.0
    held = np.zeros((1, n))
    held[0, 2] = 2.0
    return M, np.vstack([A, held])


def _redundant(rng):
    """Rows that are sums of others, rows said twice, and rows that say nothing."""
    n = int(rng.integers(3, 30))
    A = _sparse(rng, (rng.integers(1, n), n), 0.3)
    sums = rng.integers(-2, 3, size=(rng.integers(1, 9), len(A))).astype(float)
    A = np.vstack([A, np.zeros((2, n)), sums @ A, A[:2]])
    return _positive(rng, n), A[rng.permutation(len(A))]


def _many_rows(rng):
    """Many more rows than their rank."""
    n = int(rng.integers(4, 12))
    return _positive(rng, n), rng.normal(size=(30, 3)) @ _sparse(rng, (3, n), 0.7)


def _scaled(rng):
    """Rows from 1e-3 to 1e3, masses from 1e-4 to 1e4."""
    n = int(rng.integers(4, 20))
    d = 10.0 ** rng.uniform(-2, 2, size=n)
    A = _sparse(rng, (n // 2, n), 0.5) * 10.0 ** rng.uniform(-3, 3, size=(n // 2, 1))
    return _positive(rng, n) * np.outer(d, d), A


FAMILIES = [_full, _sparse_rows, _bodies, _redundant, _many_rows, _scaled]


def _case(family, seed):
    rng = np.random.default_rng([FAMILIES.index(family), seed])
    M, A = family(rng)
    f, wanted = rng.normal(size=len(M)), rng.normal(size=len(M))
    return np.ascontiguousarray(M), f, np.ascontiguousarray(A), -A @ wanted


def _rank(A):
    sizes = np.linalg.svd(A, compute_uv=False) if A.size else np.zeros(0)
    return int(np.sum(sizes > 1e-9 * max(1e-300, *sizes, 0.0)))


def _oracle(M, f, A, gamma):
    """u̇ and the shortest λ by singular values, equations scaled to rows of length 1 first."""
    n, size = len(M), np.linalg.norm(A, axis=1)
    size[size == 0.0] = 1.0
    B, b = A / size[:, None], gamma / size
    _, sizes, V = np.linalg.svd(B) if len(A) else (None, np.zeros(0), np.eye(n))
    rank = int(np.sum(sizes > 1e-9))
    N = V[rank:].T
    p = -np.linalg.pinv(B, rcond=1e-9) @ b if len(A) else np.zeros(n)
    du = p + N @ np.linalg.solve(N.T @ M @ N, N.T @ (f - M @ p))
    reach = np.linalg.lstsq(A.T, M @ du - f, rcond=1e-12)[0] if len(A) else np.zeros(0)
    return du, reach


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_accelerations_and_shortest_multipliers(family, seed):
    M, f, A, gamma = _case(family, seed)
    du, multipliers = np.full(len(M), np.nan), np.full(len(A), np.nan)
    status, rank, ratio, conflict = solve_constrained(M, f, A, gamma, du, multipliers)
    expected, shortest = _oracle(M, f, A, gamma)
    assert status == OK
    assert rank == _rank(A)
    assert 0.0 < ratio <= 1.0
    scale = 1.0 + np.abs(A).max(initial=0.0) * np.abs(expected).max()
    assert conflict <= CLOSE * scale
    np.testing.assert_allclose(du, expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())
    np.testing.assert_allclose(A @ du, -gamma, rtol=0, atol=CLOSE * scale)
    force = M @ du - f
    np.testing.assert_allclose(A.T @ multipliers, force, rtol=0, atol=CLOSE * np.abs(force).max(initial=1.0))
    if family is not _scaled:
        np.testing.assert_allclose(multipliers, shortest, rtol=CLOSE, atol=CLOSE * np.abs(shortest).max(initial=1.0))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_factors_serve_many_right_hand_sides(family, seed):
    """The same as solving at once, bit for bit; least_norm_multipliers finds the same λ."""
    M, f, A, gamma = _case(family, seed)
    status, _, _, Q, R, H = constrained_factors(M, A)
    assert status == OK
    for sign in (1.0, -2.0):
        du, multipliers, other, same = (np.empty(k) for k in (len(M), len(A), len(M), len(A)))
        conflict = constrained_solution(M, sign * f, sign * gamma, Q, R, H, du, multipliers)
        result = solve_constrained(M, sign * f, A, sign * gamma, other, same)
        assert result[3] == conflict
        assert np.array_equal(du, other)
        assert np.array_equal(multipliers, same)
        least_norm_multipliers(M, sign * f, A, du, same)
        np.testing.assert_allclose(same, multipliers, rtol=CLOSE, atol=CLOSE * np.abs(multipliers).max(initial=1.0))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_orthogonal_factors_and_pseudoinverse(family, seed):
    """Bᵀ P = Q R with Q orthogonal and R triangular; x = (Bᵀ)⁺ b."""
    _, f, B, _ = _case(family, seed)
    rank, _, Q, R, pivots = orthogonal_factors(B, RANK_TOLERANCE, 0.0)
    size = np.abs(B).max(initial=1.0)
    np.testing.assert_allclose(Q @ Q.T, np.eye(Q.shape[0]), rtol=0, atol=1e-14 * Q.shape[0])
    np.testing.assert_allclose(R @ Q, B[pivots], rtol=0, atol=1e-14 * Q.shape[0] * size)
    assert rank == _rank(B)
    assert sorted(pivots) == list(range(len(B)))
    assert not np.triu(R[:rank], 1).any()
    assert np.abs(R[rank:, rank:]).max(initial=0.0) <= RANK_TOLERANCE * size
    x = np.full(len(B), np.nan)
    pseudo_solve(rank, Q, R, pivots, f, x)
    expected = np.linalg.pinv(B.T, rcond=1e-9) @ f if len(B) else np.zeros(0)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max(initial=1e-6))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_rows_that_are_rounding_are_no_constraints(size):
    """A row counts from 1e-11 on, against a largest entry of at least 1."""
    rows = size * np.eye(3)
    assert rounding_of(rows) == pytest.approx(1e-11 * max(1.0, size))
    assert ranked_factors(np.vstack([rows, rows[:1]]))[0] == 3
    assert [ranked_factors(np.array([[entry, 0.0]]))[0] for entry in (5e-12, 2e-11)] == [0, 1]


@pytest.mark.parametrize("density", [0.2, 1.0])
@pytest.mark.parametrize("gap", [1e-6, 1e-7, 1e-9, 1e-11])
def test_rank_is_decided_by_the_tolerance(gap, density):
    """A row that leaves the others by a fraction counts if the fraction is above the tolerance; the ratio shows it."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        A = _sparse(rng, (6, 12), density)
        A[np.arange(6), np.arange(6)] += 2.0
        off = rng.normal(size=12)
        off -= np.linalg.pinv(A) @ (A @ off)
        off /= np.linalg.norm(off)
        size = np.linalg.norm(A, axis=1).max()
        last = rng.normal(size=6) @ A
        last *= size / np.linalg.norm(last)
        A = np.vstack([A, last + gap * size * off])
        du, multipliers = np.empty(12), np.empty(7)
        status, rank, ratio, _ = solve_constrained(np.eye(12), np.zeros(12), A, np.zeros(7), du, multipliers)
        assert status == OK
        assert rank == (7 if gap > RANK_TOLERANCE else 6)
        # A pivot is never below the least singular value, nor far above it.
        least = np.linalg.svd(A, compute_uv=False)[rank - 1] / size
        assert 0.1 * least <= ratio <= 100 * least


def test_conflict_is_what_redundant_rows_miss():
    A = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    du, multipliers = np.empty(3), np.empty(3)
    # The longer row is taken: x + y = −γ₂/2.
    for gamma, conflict in ([1.0, 2.0, 0.0], 0.0), ([1.0, 2.5, 0.0], 0.25), ([0.0, 0.0, 3.0], 3.0):
        found = solve_constrained(np.eye(3), np.zeros(3), A, np.array(gamma), du, multipliers)
        assert found[3] == pytest.approx(conflict, rel=1e-14, abs=1e-14)


def test_no_mass_and_no_constraint_fails():
    M, A = np.diag([1.0, 0.0, 2.0]), np.array([[1.0, 0.0, 1.0]])
    assert solve_constrained(M, np.ones(3), A, np.zeros(1), np.empty(3), np.empty(1))[0] == FAILED
    assert partition_step(M, A, np.zeros(1), np.empty(3))[0] == FAILED


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_end(bad):
    """No endless loop, and nothing finite is claimed."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 6))
    A[1, 2] = bad
    du, multipliers = np.empty(6), np.empty(4)
    status, rank, _, _ = solve_constrained(np.eye(6), np.ones(6), A, np.zeros(4), du, multipliers)
    assert status != OK or rank < 4 or not np.isfinite(du).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_held_rank_keeps_what_the_strongest_rows_say(seed):
    """Rows that depend on others but for a little become dependent, with their right-hand sides; none else changes."""
    rng = np.random.default_rng(seed)
    A = _sparse(rng, (6, 15), 0.4)
    A[np.arange(6), np.arange(6)] += 3.0
    sums = rng.normal(size=(4, 6))
    exact = np.vstack([A, sums @ A])
    off = exact + 1e-6 * rng.normal(size=exact.shape)
    sides = off @ rng.normal(size=(15, 2))
    held, right = off.copy(), sides.copy()
    hold_rank(held, 6, right)
    assert _rank(held) == 6
    assert _rank(np.hstack([held, right])) == 6
    np.testing.assert_allclose(held, off, rtol=0, atol=1e-4)
    assert np.count_nonzero(np.any(held != off, axis=1)) == 4


@pytest.mark.parametrize("function", [solve_constrained, orthogonal_factors])
def test_plain_python_agrees(function):
    """The native functions are ordinary Python, too."""
    plain = getattr(function, "py_func", function)
    M, f, A, gamma = _case(_redundant, 1)
    if function is orthogonal_factors:
        results = [call(A, RANK_TOLERANCE, 0.0) for call in (function, plain)]
    else:
        results = []
        for call in (function, plain):
            du, multipliers = np.empty(len(M)), np.empty(len(A))
            results.append((*call(M, f, A, gamma, du, multipliers), du, multipliers))
    for native, python in zip(*results, strict=True):
        np.testing.assert_allclose(native, python, rtol=1e-12, atol=1e-12)
