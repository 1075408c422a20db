"""Independent velocities that are kept from one evaluation to the next as long as they are good.

The choice is remembered as bits in the formulation's numbers of the native context: one per velocity, set where it is
independent.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dalembert.numerics.elimination import echelon, echelon_along
from dalembert.numerics.layout import N_OPTIONS, options

__all__ = ["CHOICES", "chosen_partition"]

# Numbers of the formulation: its own option, how often a choice was made, then bits.
CHOICES, BITS = 1, 2
PER_NUMBER = 48

# Pivots are allowed to fall to this fraction of the largest before the independent velocities are chosen anew.
WORN = 0.05


@njit(cache=True, nogil=True)
def _recall(memory, columns):
    """Dependent velocities first, then independent ones; returns the number of the former."""
    n, rank, last = columns.shape[0], 0, columns.shape[0] - 1
    for i in range(n):
        if (int(memory[BITS + i // PER_NUMBER]) >> (i % PER_NUMBER)) & 1:
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
def chosen_partition(c, A, gamma):
    """As ``echelon``, along the columns of last time while their pivots are good, else with a new choice.

    More velocities than the memory has bits are chosen anew each time.
    """
    memory, m, n = options(c), A.shape[0], A.shape[1]
    room = n <= (N_OPTIONS - BITS) * PER_NUMBER
    if room and memory[CHOICES] > 0.0:
        columns = np.empty(n, dtype=np.int64)
        rank = _recall(memory, columns)
        if rank <= m:
            ratio, T, rows = echelon_along(A, gamma, columns, rank)
            if ratio > WORN:
                return rank, ratio, T, rows, columns
    rank, ratio, T, rows, columns = echelon(A, gamma)
    if room:
        _remember(memory, columns, rank)
    return rank, ratio, T, rows, columns
