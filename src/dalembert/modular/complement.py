"""Orthogonal complements: C of full rank with  B C = 0.

    C = [1; −B⋆⁻¹ B#]                                                                                    (2.26)–(2.29)

for independent columns #, given or chosen. Which columns depend on the others, which rows say nothing new and which
contradict others is decided on numbers, at consistent states (``choose``); then C is written in any algebra for that
choice (``Choice.columns``). A numeric C may also be an orthonormal basis, or meet contradicting rows as well as can be.

| strategy | numbers | symbols |
|---|---|---|
| ``Given("x", "y")`` | yes | yes |
| ``Pivoted()`` | yes, by complete pivoting | yes, with the pivots of a consistent state |
| ``SVD()`` | yes, orthonormal | no |
| ``LeastSquares(weights, independent)`` | yes | yes, by normal equations |
| ``Symbolic()`` | as Pivoted | SymPy: without fractions inside; keeps the determinants, whose zeros are singularities |
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY, Algebra
from dalembert.algebra.dense_solve import solve
from dalembert.errors import DalembertError, ModelError, Problem
from dalembert.modular.labeled_matrix import LabeledMatrix
from dalembert.modular.labels import Label, match
from dalembert.modular.sparse_solve import dependent_rows

__all__ = ["STRATEGIES", "SVD", "Choice", "Given", "LeastSquares", "Pivoted", "Strategy", "Symbolic", "choose"]

RANK_TOLERANCE = 1e-9  # of the largest singular value; consistent states are found to 1e-12
LARGE = 40  # rows; more are eliminated sparsely
THRESHOLD = 0.03  # of the largest entry left: smaller ones are no pivots, however pleasant they are


@dataclass(frozen=True)
class Strategy:
    """How a complement is found."""

    name = "pivoted"

    def given(self) -> tuple[Any, ...]:
        """Independent variables that the strategy names."""
        return ()


@dataclass(frozen=True)
class Pivoted(Strategy):
    """Independent columns are those that complete pivoting leaves."""


@dataclass(frozen=True)
class Symbolic(Strategy):
    """As pivoted; over SymPy the determinants of the blocks that are solved are kept."""

    name = "symbolic"


@dataclass(frozen=True)
class SVD(Strategy):
    """An orthonormal basis of the null space, for numbers."""

    name = "svd"


@dataclass(frozen=True, init=False)
class Given(Strategy):
    """The independent columns by name."""

    variables: tuple[Any, ...]
    name = "given"

    def __init__(self, *variables: Any):
        object.__setattr__(self, "variables", variables)

    def given(self) -> tuple[Any, ...]:
        return self.variables


@dataclass(frozen=True, init=False)
class LeastSquares(Strategy):
    """Columns that meet all rows as well as can be: min ‖W B C‖ with C# = 1. Rows may contradict each other.

    Args:
        weights: by row; 1 without.
        independent: the independent columns, as many as the mechanism is meant to have freedoms.
    """

    weights: tuple[tuple[str, float], ...]
    independent: tuple[Any, ...]
    name = "least-squares"

    def __init__(self, weights: Mapping[str, float] | None = None, independent: Sequence[Any] = ()):
        items = tuple((str(key), float(value)) for key, value in (weights or {}).items())
        if any(not value > 0 for _, value in items):
            raise ModelError(Problem(f"weights of invariants must be positive, got {dict(items)}"))
        object.__setattr__(self, "weights", items)
        object.__setattr__(self, "independent", tuple(independent))

    def given(self) -> tuple[Any, ...]:
        return self.independent

    def weight(self, row: Label) -> float:
        """Of the row, or of the first part of its dotted name: ``axis`` is for ``axis.x``, too."""
        known = dict(self.weights)
        names = [row.text, row.name, *(row.name.rsplit(".", k)[0] for k in range(1, row.name.count(".") + 1))]
        return next((known[name] for name in names if name in known), 1.0)


STRATEGIES: dict[str, type[Strategy]] = {kind.name: kind for kind in (Pivoted, SVD, Symbolic, LeastSquares)}


@dataclass(frozen=True)
class Choice:
    """What was decided about one matrix B.

    Attributes:
        independent: columns #.
        pivots: (row, column): columns ⋆ and the rows that determine them.
        redundant: rows that follow from the others;  degenerate: rows without entries.
        residual: what is left of each row of B C, where rows contradict each other.
    """

    strategy: Strategy
    independent: tuple[Label, ...]
    pivots: tuple[tuple[Label, Label], ...]
    redundant: tuple[Label, ...] = ()
    degenerate: tuple[Label, ...] = ()
    residual: Mapping[Label, float] = field(default_factory=lambda: {})

    def columns(self, B: LabeledMatrix, short: Callable[[Any], Any] | None = None) -> LabeledMatrix:
        """C over the algebra of B.

        Args:
            short: gives long expressions names; over SymPy.
        """
        al = B.al
        if isinstance(self.strategy, SVD):
            return _svd(B, len(self.independent))
        if not self.pivots:
            return LabeledMatrix.identity(al, self.independent)
        one = LabeledMatrix.identity(al, self.independent)
        if al is not NUMPY and not self.residual:
            found = dependent_rows(B, self.pivots, self.independent, short)
            return LabeledMatrix(al, B.columns, self.independent, {**found, **one.entries})
        stars = [column for _, column in self.pivots]
        rows = B.rows if self.residual else [row for row, _ in self.pivots]
        if al is NUMPY and not self.residual:
            X = -np.linalg.solve(B.numbers(rows, stars), B.numbers(rows, self.independent))
            return LabeledMatrix(
                al, B.columns, self.independent, {**_rows(al, stars, self.independent, X), **one.entries}
            )
        left, right = B.part(rows, stars).to_array(), B.part(rows, self.independent).to_array()
        if self.residual and isinstance(self.strategy, LeastSquares):
            weights = [al.constant(self.strategy.weight(row) ** 2) for row in rows]
            weighted = np.array([weight * line for weight, line in zip(weights, left, strict=True)], dtype=object)
            left, right = weighted.T @ left, weighted.T @ right
        X = -_solved(al, left, right)
        return LabeledMatrix(al, B.columns, self.independent, {**_rows(al, stars, self.independent, X), **one.entries})


def _rows(al: Algebra, rows: Sequence[Label], columns: Sequence[Label], X: np.ndarray) -> dict[Label, dict[Label, Any]]:
    return LabeledMatrix.from_array(al, rows, columns, X).entries


def _solved(al: Algebra, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if al is NUMPY:
        return np.linalg.solve(np.asarray(left, dtype=float), np.asarray(right, dtype=float))
    return solve(al, left, right) if right.shape[1] else al.zeros(len(left), 0)


def _svd(B: LabeledMatrix, freedom: int) -> LabeledMatrix:
    if B.al is not NUMPY:
        raise DalembertError("the SVD complement is made of numbers; use Pivoted() or Given() for symbols")
    basis = np.linalg.svd(B.to_array())[2][len(B.columns) - freedom :].T
    return LabeledMatrix.from_array(NUMPY, B.columns, [Label((), f"z{j + 1}", 0) for j in range(freedom)], basis)


def choose(
    owner: str,
    samples: Sequence[LabeledMatrix],
    strategy: Strategy,
    independent: Sequence[Any] = (),
    pleasant: Callable[[Label, Label], tuple[int, ...]] | None = None,
) -> Choice:
    """Decide on independent columns, pivots and redundant rows.

    Args:
        owner: name of the subsystem, for messages.
        samples: B in numbers, at one or more consistent states.
        independent: columns that were asked for.
        pleasant: how much one wants an entry as a pivot, the least first.

    Raises:
        ModelError: for a choice that cannot be, or contradicting rows.
    """
    B = samples[0]
    dense = [_dense(sample.numbers(B.rows, B.columns)) for sample in samples]
    asked = [match(B.columns, key, f"independent variable of {owner!r}") for key in (strategy.given() or independent)]
    says = np.any([d.any(axis=1) for d in dense], axis=0)
    degenerate = [row for row, any_entry in zip(B.rows, says, strict=True) if not any_entry]
    rows = [row for row in B.rows if row not in degenerate]
    large = len(rows) > LARGE
    number = {row: i for i, row in enumerate(B.rows)}

    def of(sample: int) -> np.ndarray:
        return dense[sample][[number[row] for row in rows]] if rows else np.zeros((0, len(B.columns)))

    if asked:
        return _asked(owner, strategy, B, rows, of(_best(dense, rows)), asked, degenerate, pleasant)
    find = _sparse_pivots if large else _pivots
    pivots = find(of(0), rows, B.columns, list(B.columns), pleasant)
    if len(pivots) < len(rows) and (best := _best(dense, rows)):  # fewer than there could be
        pivots = find(of(best), rows, B.columns, list(B.columns), pleasant)
    taken = {column for _, column in pivots}
    used = {row for row, _ in pivots}
    free = tuple(column for column in B.columns if column not in taken)
    redundant = tuple(row for row in rows if row not in used)
    return Choice(strategy, free, tuple(pivots), redundant, tuple(degenerate))


def _best(dense: Sequence[np.ndarray], rows: Sequence[Label]) -> int:
    """The sample of the highest rank, the first of them."""
    return 0 if len(rows) > LARGE or len(rows) < 2 else int(np.argmax([_rank(d) for d in dense]))


def _dense(values: np.ndarray) -> np.ndarray:
    """Rows of like size, so that meters and radians do not decide."""
    size = np.abs(values).max(axis=1, keepdims=True) if values.size else np.ones((len(values), 1))
    return values / np.where(size > 1e-12, size, np.inf)


def _rank(values: np.ndarray) -> int:
    if not values.size:
        return 0
    sizes = np.linalg.svd(values, compute_uv=False)
    return int(np.count_nonzero(sizes > RANK_TOLERANCE * max(values.shape)))


def _pivots(
    values: np.ndarray, rows: Sequence[Label], columns: Sequence[Label], allowed: Sequence[Label], pleasant: Any
) -> list[tuple[Label, Label]]:
    """Pivots of an elimination: safe ones, and of these the most pleasant."""
    T: list[list[float]] = values.tolist()
    place = {column: j for j, column in enumerate(columns)}
    left_rows, left_columns = list(range(len(rows))), [place[column] for column in allowed]
    found: list[tuple[Label, Label]] = []
    while left_rows and left_columns:
        block = {i: [(abs(T[i][j]), j) for j in left_columns if T[i][j]] for i in left_rows}
        most = {i: max(line)[0] for i, line in block.items() if line}
        largest = max(most.values(), default=0.0)
        if not largest > RANK_TOLERANCE * max(values.shape):
            break
        candidates: list[tuple[tuple[float, ...], int, int]] = []
        for i, size in most.items():
            fill = sum(value > 1e-14 for value, _ in block[i])
            least = max(THRESHOLD * size, 1e-3 * largest)
            for value, j in block[i]:
                if value >= least:
                    rank = pleasant(rows[i], columns[j]) if pleasant else ()
                    candidates.append(((*rank, fill, -value), i, j))
        if not candidates:  # no numbers
            break
        _, i, j = min(candidates)
        found.append((rows[i], columns[j]))
        left_rows.remove(i)
        left_columns.remove(j)
        pivot = T[i]
        for k in left_rows:
            if T[k][j]:
                factor = T[k][j] / pivot[j]
                T[k] = [a - factor * b for a, b in zip(T[k], pivot, strict=True)]
                T[k][j] = 0.0
    return found


def _sparse_pivots(
    values: np.ndarray, rows: Sequence[Label], columns: Sequence[Label], allowed: Sequence[Label], pleasant: Any
) -> list[tuple[Label, Label]]:
    """The same for many rows: always the row with the fewest entries left, in it a large entry."""
    may = {j for j, column in enumerate(columns) if column in set(allowed)}
    left = {i: {int(j): float(line[j]) for j in np.flatnonzero(line) if int(j) in may} for i, line in enumerate(values)}
    users: dict[int, set[int]] = {}
    for i, line in left.items():
        for j in line:
            users.setdefault(j, set()).add(i)
    heap = [(len(line), i) for i, line in left.items()]
    heapq.heapify(heap)
    found: list[tuple[Label, Label]] = []
    while heap:
        count, i = heapq.heappop(heap)
        if i not in left or count != len(left[i]):
            continue
        line = left.pop(i)
        for j in line:
            users[j].discard(i)
        largest = max(map(abs, line.values()), default=0.0)
        if largest <= RANK_TOLERANCE * len(rows):
            continue  # says nothing new
        good = [j for j, value in line.items() if abs(value) >= THRESHOLD * largest]
        j = min(good, key=lambda j: (*pleasant(rows[i], columns[j]), len(users[j])) if pleasant else (-abs(line[j]),))
        found.append((rows[i], columns[j]))
        for k in list(users[j]):
            other = left[k]
            factor = other.pop(j) / line[j]
            users[j].discard(k)
            for m, value in line.items():
                if m == j:
                    continue
                new = other.get(m, 0.0) - factor * value
                if abs(new) > 1e-15:
                    other[m] = new
                    users[m].add(k)
                elif other.pop(m, None) is not None:
                    users[m].discard(k)
            heapq.heappush(heap, (len(other), k))
    return found


def _asked(
    owner: str,
    strategy: Strategy,
    B: LabeledMatrix,
    rows: list[Label],
    values: np.ndarray,
    asked: list[Label],
    degenerate: list[Label],
    pleasant: Any,
) -> Choice:
    """The choice with the independent columns that were asked for."""
    stars = [column for column in B.columns if column not in asked]
    large = len(rows) > LARGE
    pivots = (_sparse_pivots if large else _pivots)(values, rows, B.columns, stars, pleasant)
    rank = len(pivots) if len(pivots) == len(rows) else _rank(values)
    if len(pivots) < len(stars):
        names = ", ".join(map(str, asked))
        if rank == len(pivots):
            held = {column for _, column in pivots}
            free = ", ".join(str(column) for column in stars if column not in held)
            message = (
                f"subsystem {owner!r} has {len(B.columns) - rank} degrees of freedom at its level, "
                f"{len(asked)} independent variables were chosen ({names})"
            )
            raise ModelError(Problem(message, fix=f"choose {free} as independent, too, or add invariants"))
        message = f"subsystem {owner!r}: the chosen independent variables depend on each other ({names})"
        raise ModelError(Problem(message, fix="choose others, or leave the choice out"))
    used = {row for row, _ in pivots}
    redundant = tuple(row for row in rows if row not in used)
    if rank == len(stars):
        return Choice(strategy, tuple(asked), tuple(pivots), redundant, tuple(degenerate))
    residual = _residual(strategy, B, rows, stars, asked)
    if not isinstance(strategy, LeastSquares):
        clash = [f"{row.text} ({value:+.3g})" for row, value in residual.items() if abs(value) > 1e-9]
        message = (
            f"subsystem {owner!r}: {rank} independent invariants for {len(stars)} dependent variables; "
            f"rows that contradict each other (residual of least squares): {', '.join(clash)}"
        )
        raise ModelError(
            Problem(
                message,
                fix=f"choose {len(B.columns) - rank} independent variables instead of {len(asked)}, remove "
                "an invariant, or complement(LeastSquares(…)) to meet all as well as can be",
            )
        )
    return Choice(strategy, tuple(asked), tuple(pivots), (), tuple(degenerate), residual)


def _residual(
    strategy: Strategy, B: LabeledMatrix, rows: list[Label], stars: list[Label], asked: list[Label]
) -> dict[Label, float]:
    """Per row, the largest entry of B C of the least-squares C."""
    w = np.array([strategy.weight(row) if isinstance(strategy, LeastSquares) else 1.0 for row in rows])[:, None]
    left, right = B.numbers(rows, stars), B.numbers(rows, asked)
    X = np.linalg.lstsq(w * left, -w * right, rcond=None)[0]
    left_over = left @ X + right
    return {
        row: float(line[np.argmax(np.abs(line))]) if line.size else 0.0
        for row, line in zip(rows, left_over, strict=True)
    }
