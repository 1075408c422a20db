"""Rows reduced to triangular form by reflections that leave zeros alone: native code for matrices with few entries.

    A = L Qᵀ,   Q = H₀ H₁ … ,   Hₖ = 1 − τ v vᵀ,  τ = 2 / |v|²   (Hₖ = 1 where the row has one entry only)

Each step takes a row and reflects what is left of it onto one of its coordinates, which is done then. The entries of a
row at coordinates that are done are its row of L. Constraints of a mechanism concern few coordinates each: of the rows
that are long enough the one with the fewest entries is taken, so reflections are short and few rows feel them. Among
equally full rows it is the longest, which is the pivoting by length of dense matrices.

Reference: G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed., sec. 5.4 (QR with column pivoting);
T. A. Davis, "Direct Methods for Sparse Linear Systems", ch. 5 and sec. 6.3 (threshold pivoting).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.native import native

__all__ = [
    "Reflections", "Triangle", "basis", "dot", "dot_along", "independent_rows", "largest_size", "reduce_rows",
    "reflect",
]  # fmt: skip

# Squares of lengths. A row is long enough if its rest is a tenth of the longest.
LONG_ENOUGH = 1e-2
# What is left of a row is measured anew when so much of it is gone that the difference of squares is uncertain.
UNCERTAIN = 1e-6
# An entry or a change below a rounding error of its row is none.
DUST = 1e-32


class Triangle(NamedTuple):
    """The reduced rows.

    Attributes:
        L: in their old places: L[rows[j], columns[k]] is entry (j, k) of the triangle; its diagonal has the inverses of
            the pivots.
        rows: in the order taken, then those that depend on them, at last those without entries.
        columns: coordinates in the order done, then those that are free.
        used: number of rows with entries.
    """

    L: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    used: int


class Lengths(NamedTuple):
    """What is left of each row beyond the coordinates that are done.

    Attributes:
        rest: squares of lengths.
        size: the same when they were last measured.
        fill: numbers of entries, or more.
    """

    rest: np.ndarray
    size: np.ndarray
    fill: np.ndarray


class Reflections(NamedTuple):
    """Q: entries of the vectors v one after the other, their coordinates, where each v begins, and the factors τ."""

    values: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    tau: np.ndarray


@native
def largest_size(x: np.ndarray) -> float:
    """The largest entry of x in size."""
    largest = 0.0
    for value in x:
        largest = max(largest, abs(value))
    return largest


@native
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """aᵀb in four sums, which the processor adds side by side."""
    n = a.shape[0]
    whole = n - n % 4
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@native
def dot_along(values: np.ndarray, places: np.ndarray, begin: int, end: int, x: np.ndarray) -> float:
    """vᵀx of a vector with few entries."""
    s = 0.0
    for i in range(begin, end):
        s += values[i] * x[places[i]]
    return s


@native
def reflect(Q: Reflections, first: int, count: int, step: int, X: np.ndarray) -> None:
    """Each row x of X ← H x by ``count`` reflections from ``first`` on: step 1 for Qᵀx, −1 (from the last) for Q x."""
    k = first
    for _ in range(count):
        begin, end, tau = Q.starts[k], Q.starts[k + 1], Q.tau[k]
        if begin < end:
            half = (end - begin) // 2
            middle = begin + half
            for j in range(X.shape[0]):
                s, other = 0.0, 0.0
                for i in range(begin, middle):
                    s += Q.values[i] * X[j, Q.places[i]]
                    other += Q.values[i + half] * X[j, Q.places[i + half]]
                if middle + half < end:
                    s += Q.values[end - 1] * X[j, Q.places[end - 1]]
                s = (s + other) * tau
                for i in range(begin, end):
                    X[j, Q.places[i]] -= s * Q.values[i]
        k += step


@native
def basis(Q: Reflections, columns: np.ndarray, rank: int, first: int, X: np.ndarray) -> None:
    """Rows of X ← basis vectors from the ``first`` on; those beyond the rank span the null space of A."""
    X[:] = 0.0
    for j in range(X.shape[0]):
        X[j, columns[first + j]] = 1.0
    reflect(Q, rank - 1, rank, -1, X)


@native
def _copied(A: np.ndarray, L: np.ndarray, rows: np.ndarray, left: Lengths) -> tuple[int, float]:
    """A to L; squares of lengths and numbers of entries of its rows; rows with entries first. Returns their number and
    the largest square."""
    m, n = A.shape
    used, empty, longest = 0, m, 0.0
    for j in range(m):
        square, count = 0.0, 0
        for i in range(n):
            x = A[j, i]
            L[j, i] = x
            if x != 0.0:
                square += x * x
                count += 1
        left.rest[j], left.size[j], left.fill[j] = square, square, count
        longest = max(longest, square)
        if count == 0:
            empty -= 1
            rows[empty] = j
        else:
            rows[used] = j
            used += 1
    return used, longest


@native
def _sparsest(rows: np.ndarray, begin: int, end: int, left: Lengths, least: float) -> int:
    """The place of the row with the fewest entries among those longer than ``least``, −1 if there is none."""
    best, fewest, longest = -1, 0, 0.0
    for k in range(begin, end):
        j = rows[k]
        rest, fill = left.rest[j], left.fill[j]
        if rest > least and (best < 0 or fill < fewest or (fill == fewest and rest > longest)):
            best, fewest, longest = k, fill, rest
    return best


@native
def _eliminate(T: Triangle, Q: Reflections, k: int, left: Lengths, least: float) -> tuple[float, int]:
    """Reflect row k onto its largest coordinate, which takes place k of the columns, and the rows after it likewise.
    Returns what is left of the row there, in size, and the place of the sparsest row to come."""
    L, rows, columns = T.L, T.rows, T.columns
    rest, size, fill = left.rest, left.size, left.fill
    n, row, begin, dust = L.shape[1], rows[k], Q.starts[k], DUST * rest[rows[k]]
    end, square, largest, place, entry = begin, 0.0, 0.0, k, begin
    for i in range(k, n):
        x = L[row, columns[i]]
        if x != 0.0:
            L[row, columns[i]] = 0.0
            if x * x > dust:
                if abs(x) > largest:
                    largest, place, entry = abs(x), i, end
                Q.values[end], Q.places[end] = x, columns[i]
                square += x * x
                end += 1
    c, x, tau = columns[place], Q.values[entry], 0.0
    columns[place], columns[k] = columns[k], c
    if end == begin + 1:
        L[row, c], end = 1.0 / x, begin
    else:
        norm = math.sqrt(square)
        both = norm + largest
        tau = 1.0 / (norm * both)
        L[row, c] = -both * tau if x >= 0.0 else both * tau
        Q.values[entry] = x + norm if x >= 0.0 else x - norm
        largest = norm
    Q.starts[k + 1], Q.tau[k] = end, tau
    best, fewest, longest = -1, n + 1, 0.0
    for at in range(k + 1, T.used):
        j = rows[at]
        if begin < end:
            s = dot_along(Q.values, Q.places, begin, end, L[j])
            if tau * s * s > DUST * size[j]:
                s *= tau
                for i in range(begin, end):
                    L[j, Q.places[i]] -= s * Q.values[i]
                fill[j] = max(fill[j], end - begin)
        x = L[j, c]
        if x != 0.0:
            fill[j] -= 1
            rest[j] -= x * x
            if rest[j] < UNCERTAIN * size[j]:
                rest[j] = _square(L[j], columns, k + 1)
                size[j] = rest[j]
        if rest[j] > least and (fill[j] < fewest or (fill[j] == fewest and rest[j] > longest)):
            best, fewest, longest = at, fill[j], rest[j]
    return float(largest), best


@native
def _square(row: np.ndarray, columns: np.ndarray, begin: int) -> float:
    """The square of the length of what is left of a row."""
    s = 0.0
    for i in range(begin, columns.shape[0]):
        s += row[columns[i]] * row[columns[i]]
    return float(s)


@native
def reduce_rows(A: np.ndarray, tolerance: float, rounding: float) -> tuple[int, float, Triangle, Reflections]:
    """Reflections that reduce the rows of A.

    Rows of which at most ``tolerance`` times the longest row is left, or at most ``rounding``, depend on those taken.

    Returns:
        rank, ratio of the smallest pivot to the longest row, the triangle, the reflections.
    """
    m, n = A.shape
    most = min(m, n)
    room = (2 * n - most + 1) * most // 2
    values, places = np.empty(room), np.empty(room, dtype=np.int64)
    starts, tau = np.empty(most + 1, dtype=np.int64), np.empty(most)
    L, rows, columns = np.empty((m, n)), np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    left = Lengths(np.empty(m), np.empty(m), np.empty(m, dtype=np.int64))
    Q = Reflections(values, places, starts, tau)
    used, longest = _copied(A, L, rows, left)
    T = Triangle(L, rows, columns, used)
    for i in range(n):
        columns[i] = i
    starts[0] = 0
    first, limit = math.sqrt(longest), max(tolerance * tolerance * longest, rounding * rounding)
    rank, smallest = 0, first
    least = max(LONG_ENOUGH * longest, limit)
    best = _sparsest(rows, 0, used, left, least)
    while rank < used and rank < n:
        if best < 0:
            # Lengths only shrink: the longest row of a former step did until now.
            longest = 0.0
            for k in range(rank, used):
                longest = max(longest, left.rest[rows[k]])
            least = max(LONG_ENOUGH * longest, limit)
            best = _sparsest(rows, rank, used, left, least)
            if best < 0:
                break
        rows[rank], rows[best] = rows[best], rows[rank]
        pivot, best = _eliminate(T, Q, rank, left, least)
        smallest = min(smallest, pivot)
        rank += 1
    return rank, (smallest / first if rank > 0 else 1.0), T, Q


def independent_rows(A: np.ndarray, most: int, tolerance: float = 0.0, rounding: float = 0.0) -> list[int]:
    """At most this many rows of A, the most independent ones, for those who ask once: always the row of which most is
    left, until that is at most ``tolerance`` times the longest row or ``rounding``."""
    rest, chosen = A.astype(float), list[int]()
    limit = max(tolerance * float(np.linalg.norm(A, axis=1).max(initial=0.0)), rounding)
    for _ in range(min(most, len(A))):
        lengths = np.linalg.norm(rest, axis=1)
        best = int(np.argmax(lengths))
        if tolerance and lengths[best] <= limit:
            break
        chosen.append(best)
        along = rest[best] / max(float(lengths[best]), 1e-300)
        rest -= np.outer(rest @ along, along)
        rest[best] = 0.0
    return sorted(chosen)
