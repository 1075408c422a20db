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
from dalembert.numerics.linear import RANK_TOLERANCE, ROUNDING, largest_entry, orthogonal_factors, pseudo_solve

__all__ = [
    "CHOICES", "MOST_VELOCITIES", "Split", "check_room", "chosen_partition", "follow", "is_independent",
    "keep_or_choose", "solution_basis", "split",
]  # fmt: skip

# Numbers of the formulation: its own option, how often a choice was made, then bits.
CHOICES, BITS = 1, 2
PER_NUMBER = 48
MOST_VELOCITIES = (N_OPTIONS - BITS) * PER_NUMBER

# Pivots are allowed to fall to this fraction of the largest, and dependent velocities to grow to its inverse of the
# independent ones, before these are chosen anew.
WORN = 0.05
# In states that hold only independent velocities, how far dependent ones may move with them.
FAR = 5.0


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
    """A remembered choice at one position: columns, the first ``rank`` dependent; the factors Q R of these columns of A
    (``orthogonal_factors``), and the ratio of their pivots, 0 if they depend on each other.

    Off the constraints redundant rows contradict each other a little. Dependent velocities then miss all rows least,
    which is smooth; to pick some of the rows would not be.
    """

    rank: int
    ratio: float
    columns: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    pivots: np.ndarray


@njit(cache=True, nogil=True)
def split(memory, A):
    """The remembered choice at this position."""
    m, n = A.shape
    columns = np.empty(n, dtype=np.int64)
    rank = _recall(memory, columns)
    dependent = np.empty((rank, m))
    for j in range(rank):
        for i in range(m):
            dependent[j, i] = A[i, columns[j]]
    found, ratio, Q, R, pivots = orthogonal_factors(dependent, RANK_TOLERANCE, ROUNDING)
    return Split(rank, ratio if found == rank else 0.0, columns, Q, R, pivots)


@njit(cache=True, nogil=True)
def follow(s, b, u):
    """Dependent entries of u from the others:  A_d u_d = −b,  b with the independent ones already in it."""
    x, rhs = np.empty(s.rank), np.empty(b.shape[0])
    for i in range(b.shape[0]):
        rhs[i] = -b[i]
    pseudo_solve(s.rank, s.Q, s.R, s.pivots, rhs, x)
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
def _is_worn(s, A):
    """True if pivots have become small, dependent velocities move far with independent ones, or equations are open."""
    if s.ratio <= WORN:
        return True
    R, _ = solution_basis(s, A, np.zeros(A.shape[0]))
    largest = largest_entry(A)
    for k in range(R.shape[0]):
        for i in range(A.shape[1]):
            if abs(R[k, i]) > FAR:
                return True
        for i in range(A.shape[0]):
            left = 0.0
            for j in range(A.shape[1]):
                left += A[i, j] * R[k, j]
            if abs(left) > RANK_TOLERANCE * largest:
                return True
    return False


@njit(cache=True, nogil=True)
def keep_or_choose(memory, A):
    """True if there is a new choice, because there was none or the old one is worn and there is a better one."""
    if memory[CHOICES] > 0.0 and not _is_worn(split(memory, A), A):
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
