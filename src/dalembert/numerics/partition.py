"""Independent velocities that are kept from one evaluation to the next as long as they are good.

A choice is one flag per velocity, set where it is independent. Solvers keep it in a record, integrated variables
in their state, as numbers 0 or 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.native import Flags, Int, Record, Ref, native
from dalembert.numerics.context import Context
from dalembert.numerics.elimination import echelon, echelon_along, echelon_basis
from dalembert.numerics.linear import RANK_TOLERANCE, ROUNDING, largest_entry, orthogonal_factors, pseudo_solve

__all__ = [
    "Choice", "Split", "chosen_partition", "entries_along", "follow", "follow_entries", "keep_or_choose",
    "recall_entries", "recalled", "renew_entries", "renewed", "solution_basis", "split", "strays",
]  # fmt: skip

# Pivots are allowed to fall to this fraction of the largest, and dependent velocities to grow to its inverse of the
# independent ones, before these are chosen anew.
STALE = 0.05
# In states that hold only independent velocities, how far dependent ones may move with them: a point on a circle has a
# dead point in each of its coordinates, and fixed steps suffer long before it.
FAR = 1.5


class Choice(Record):
    """The velocities that a solver takes as independent, and how often it has chosen."""

    context = Ref(Context)
    choices = Int()
    independent = Flags("context.nv")


@native
def _in_order(independent: np.ndarray, columns: np.ndarray) -> int:
    """Dependent velocities first, then independent ones; returns the number of the former."""
    rank, last = 0, columns.shape[0] - 1
    for i in range(columns.shape[0]):
        if independent[i]:
            columns[last] = i
            last -= 1
        else:
            columns[rank] = i
            rank += 1
    return rank


@native
def _remember(independent: np.ndarray, columns: np.ndarray, rank: int):
    independent[:] = False
    for i in columns[rank:]:
        independent[i] = True


@native
def _reach(T: np.ndarray, rank: int, columns: np.ndarray) -> float:
    """The largest entry of R: how far a dependent velocity moves with an independent one."""
    R, _ = echelon_basis(T, rank, columns)
    largest = 0.0
    for x in R.flat:
        largest = max(largest, abs(x))
    return largest


@native
def chosen_partition(o: Choice, A: np.ndarray, gamma: np.ndarray):
    """As ``echelon``, along the columns of last time while their pivots are good, else with a new choice."""
    if o.choices > 0:
        columns = np.empty(A.shape[1], dtype=np.int64)
        rank = _in_order(o.independent, columns)
        if rank <= A.shape[0]:
            ratio, T, rows = echelon_along(A, gamma, columns, rank)
            if ratio > STALE and _reach(T, rank, columns) * STALE < 1.0:
                return rank, ratio, T, rows, columns
    rank, ratio, T, rows, columns = echelon(A, gamma)
    o.choices += 1
    _remember(o.independent, columns, rank)
    return rank, ratio, T, rows, columns


# States that hold independent variables only.


@native
def recalled(numbers: np.ndarray) -> np.ndarray:
    """The choice that a state remembers."""
    independent = np.empty(numbers.shape[0], dtype=np.bool_)
    for i in range(numbers.shape[0]):
        independent[i] = numbers[i] != 0.0
    return independent


@native
def renewed(numbers: np.ndarray, A: np.ndarray) -> bool:
    """Choose anew in a state, if that is better; True if there is another choice."""
    independent = recalled(numbers)
    changed = keep_or_choose(independent, A)
    numbers[:] = independent
    return changed


class Split(NamedTuple):
    """A choice at one position: columns, the first ``rank`` dependent; the factors Q R of these columns of A
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


@native
def split(independent: np.ndarray, A: np.ndarray) -> Split:
    """A choice at this position."""
    m, n = A.shape
    columns = np.empty(n, dtype=np.int64)
    rank = _in_order(independent, columns)
    dependent = np.empty((rank, m))
    for j in range(rank):
        for i in range(m):
            dependent[j, i] = A[i, columns[j]]
    found, ratio, Q, R, pivots = orthogonal_factors(dependent, RANK_TOLERANCE, ROUNDING)
    return Split(rank, ratio if found == rank else 0.0, columns, Q, R, pivots)


@native
def follow(s: Split, b: np.ndarray, u: np.ndarray):
    """Dependent entries of u from the others:  A_d u_d = −b,  b with the independent ones already in it."""
    x = np.empty(s.rank)
    pseudo_solve(s.rank, s.Q, s.R, s.pivots, -b, x)
    for i in range(s.rank):
        u[s.columns[i]] = x[i]


@native
def solution_basis(s: Split, A: np.ndarray, b: np.ndarray):
    """Rᵀ and r with  u = R ż + r,  ż the independent entries of u:  A R = 0,  A r + b = 0."""
    n = A.shape[1]
    R, shift = np.zeros((n - s.rank, n)), np.zeros(n)
    follow(s, b, shift)
    for k in range(n - s.rank):
        free = s.columns[s.rank + k]
        R[k, free] = 1.0
        follow(s, A[:, free], R[k])
    return R, shift


@native
def strays(A: np.ndarray, R: np.ndarray) -> bool:
    """True if velocities move far with independent ones, or equations are open; Rᵀ as rows."""
    far, left = 0.0, 0.0
    for x in R.flat:
        far = max(far, abs(x))
    for x in (A @ R.T).flat:
        left = max(left, abs(x))
    return far > FAR or left > RANK_TOLERANCE * largest_entry(A)


@native
def _is_worn(s: Split, A: np.ndarray) -> bool:
    """True if pivots have become small, dependent velocities move far with independent ones, or equations are open."""
    if s.ratio <= STALE:
        return True
    R, _ = solution_basis(s, A, np.zeros(A.shape[0]))
    return strays(A, R)


@native
def keep_or_choose(independent: np.ndarray, A: np.ndarray) -> bool:
    """True if there is another choice now, because the old one is stale and there is a better one.

    No velocity is independent where none was chosen yet; that is stale wherever something can move.
    """
    if not _is_worn(split(independent, A), A):
        return False
    rank, _, _, _, columns = echelon(A, np.zeros(A.shape[0]))
    before = independent.copy()
    _remember(independent, columns, rank)
    changed = False
    for i in range(before.shape[0]):
        changed = changed or independent[i] != before[i]
    return changed


# The same as ``numerics.bases`` says it: ż in their own places of z.


@native
def follow_entries(o: Choice, memory: np.ndarray, A: np.ndarray, b: np.ndarray, z: np.ndarray, u: np.ndarray) -> int:
    """u with A u + b = 0 and the independent entries of z; 1 if they do not determine it."""
    s, known = split(recalled(memory), A), b.copy()
    if s.ratio <= 0.0:
        return 1
    for free in s.columns[s.rank :]:
        u[free] = z[free]
        known += A[:, free] * z[free]
    follow(s, known, u)
    return 0


@native
def entries_along(o: Choice, memory: np.ndarray, u: np.ndarray, z: np.ndarray) -> int:
    """The independent entries of u in their places, zero elsewhere."""
    for i in range(z.shape[0]):
        z[i] = u[i] if memory[i] != 0.0 else 0.0
    return 0


@native
def recall_entries(o: Choice, memory: np.ndarray) -> int:
    """The solver goes on with the choice of a state."""
    o.choices = max(1, o.choices)
    o.independent[:] = recalled(memory)
    return 0


@native
def renew_entries(o: Choice, memory: np.ndarray, A: np.ndarray) -> int:
    """A choice that is good here; 1 if it is a new one."""
    return 1 if renewed(memory, A) else 0
