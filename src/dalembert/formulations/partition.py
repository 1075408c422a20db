"""Independent velocities that are kept from one evaluation to the next as long as they are good.

The choice is remembered as bits in N_OPTIONS numbers: one per velocity, set where it is independent. They are the
formulation's numbers of the native context, or part of the state that is integrated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dalembert.errors import ModelError
from dalembert.numerics.elimination import echelon, echelon_along, echelon_basis
from dalembert.numerics.layout import N_OPTIONS, options
from dalembert.numerics.linear import lu_factor, lu_solve

__all__ = [
    "CHOICES", "MOST_VELOCITIES", "WORN", "Split", "check_room", "chosen_partition", "follow", "is_independent",
    "keep_or_choose", "solution_basis", "split",
]  # fmt: skip

# Numbers of the formulation: its own option, how often a choice was made, then bits.
CHOICES, BITS = 1, 2
PER_NUMBER = 48
MOST_VELOCITIES = (N_OPTIONS - BITS) * PER_NUMBER

# Pivots are allowed to fall to this fraction of the largest, and dependent velocities to grow to its inverse of the
# independent ones, before these are chosen anew.
WORN = 0.05


@njit(cache=True, nogil=True)
def is_independent(memory, i):
    """True if velocity i was chosen."""
    return (int(memory[BITS + i // PER_NUMBER]) >> (i % PER_NUMBER)) & 1 == 1


@njit(cache=True, nogil=True)
def _recall(memory, columns):
    """Dependent velocities first, then independent ones; returns the number of the former."""
    n, rank, last = columns.shape[0], 0, columns.shape[0] - 1
    for i in range(n):
        if is_independent(memory, i):
            columns[last] = i
            last -= 1
        else:
            columns[rank] = i
            rank += 1
    return rank


@njit(cache=True, nogil=True)
def _remember(memory, columns, rank):
    memory[CHOICES] += 1.0
    memory[BITS:] = 0.0
    for i in columns[rank:]:
        memory[BITS + i // PER_NUMBER] += 2.0 ** (i % PER_NUMBER)


@njit(cache=True, nogil=True)
def _reach(T, rank, columns):
    """The largest entry of R: how far a dependent velocity moves with an independent one."""
    R, _ = echelon_basis(T, rank, columns)
    largest = 0.0
    for i in range(R.shape[0]):
        for j in range(R.shape[1]):
            largest = max(largest, abs(R[i, j]))
    return largest


@njit(cache=True, nogil=True)
def chosen_partition(c, A, gamma):
    """As ``echelon``, along the columns of last time while their pivots are good, else with a new choice.

    More velocities than the memory has bits are chosen anew each time.
    """
    memory, m, n = options(c), A.shape[0], A.shape[1]
    room = n <= MOST_VELOCITIES
    if room and memory[CHOICES] > 0.0:
        columns = np.empty(n, dtype=np.int64)
        rank = _recall(memory, columns)
        if rank <= m:
            ratio, T, rows = echelon_along(A, gamma, columns, rank)
            if ratio > WORN and _reach(T, rank, columns) * WORN < 1.0:
                return rank, ratio, T, rows, columns
    rank, ratio, T, rows, columns = echelon(A, gamma)
    if room:
        _remember(memory, columns, rank)
    return rank, ratio, T, rows, columns


# States that hold independent variables only.


class Split(NamedTuple):
    """A remembered choice at one position: columns and rows, the first ``rank`` dependent and independent equations;
    the factors of that block of A, the ratio of its pivots (0 if it does not carry all equations), and what falls below
    WORN when a new choice is due."""

    rank: int
    ratio: float
    quality: float
    rows: np.ndarray
    columns: np.ndarray
    factors: np.ndarray
    pivots: np.ndarray


@njit(cache=True, nogil=True)
def split(memory, A):
    """The remembered choice at this position."""
    m, n = A.shape
    columns = np.empty(n, dtype=np.int64)
    rank = _recall(memory, columns)
    if rank > m:
        return Split(rank, 0.0, 0.0, columns, columns, np.empty((0, 0)), columns)
    ratio, T, rows = echelon_along(A, np.zeros(m), columns, rank)
    factors, pivots = np.empty((rank, rank)), np.empty(rank, dtype=np.int64)
    for i in range(rank):
        for j in range(rank):
            factors[i, j] = A[rows[i], columns[j]]
    if ratio > 0.0 and not lu_factor(factors, pivots):
        ratio = 0.0
    quality = min(ratio, 1.0 / max(1.0, _reach(T, rank, columns))) if ratio > 0.0 else 0.0
    return Split(rank, ratio, quality, rows, columns, factors, pivots)


@njit(cache=True, nogil=True)
def follow(s, b, u):
    """Dependent entries of u from the others:  A_d u_d = −b,  b with the independent ones already in it."""
    x = np.empty(s.rank)
    for i in range(s.rank):
        x[i] = -b[s.rows[i]]
    lu_solve(s.factors, s.pivots, x)
    for i in range(s.rank):
        u[s.columns[i]] = x[i]


@njit(cache=True, nogil=True)
def solution_basis(s, A, b):
    """Rᵀ and r with  u = R ż + r,  ż the independent entries of u:  A R = 0,  A r + b = 0."""
    n = A.shape[1]
    R, shift, column = np.zeros((n - s.rank, n)), np.zeros(n), np.empty(A.shape[0])
    follow(s, b, shift)
    for k in range(n - s.rank):
        free = s.columns[s.rank + k]
        for i in range(A.shape[0]):
            column[i] = A[i, free]
        R[k, free] = 1.0
        follow(s, column, R[k])
    return R, shift


@njit(cache=True, nogil=True)
def keep_or_choose(memory, A):
    """True if there is a new choice, because there was none or the old one is worn and there is a better one."""
    if memory[CHOICES] > 0.0 and split(memory, A).quality > WORN:
        return False
    before = memory.copy()
    rank, _, _, _, columns = echelon(A, np.zeros(A.shape[0]))
    _remember(memory, columns, rank)
    for i in range(BITS, memory.shape[0]):
        if memory[i] != before[i]:
            return True
    return before[CHOICES] == 0.0


def check_room(name: str, nv: int) -> None:
    """A choice must fit into its numbers."""
    if nv > MOST_VELOCITIES:
        raise ModelError(
            f"formulation {name!r} remembers independent ones among {MOST_VELOCITIES} velocities at most, the model "
            f"has {nv}. Fix: relative coordinates, or another formulation"
        )
