"""Eigenvalues and eigenvectors of a state matrix, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

__all__ = ["Spectrum", "spectrum"]

ROUNDING = 1e-12  # of an entry, relative to the largest of its row: no coupling
NOTHING = 1e-14  # the same, relative to the largest of all
EQUAL = 1e-7  # relative distance of eigenvalues that count as one


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues by increasing real parts, conjugate pairs together, of the matrix A without rounding."""

    A: np.ndarray
    values: np.ndarray

    def _clusters(self) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Equal eigenvalues, with bases of their right and left eigenvectors."""
        left = list(range(len(self.values)))
        scale = np.abs(self.values).max(initial=0.0)
        while left:
            value = self.values[left[0]]
            near = max(EQUAL * abs(value), 1e-14 * scale)
            mine = [i for i in left if abs(self.values[i] - value) <= near]
            left = [i for i in left if i not in mine]
            mean = self.values[mine].mean()
            if abs(mean.imag) <= 1e-14 * scale:
                mean = mean.real
            U, s, Vh = np.linalg.svd(self.A - mean * np.eye(len(self.A)))
            # As many eigenvectors as there are; a defective eigenvalue has fewer than its multiplicity.
            count = max(1, min(len(mine), int(np.sum(s <= 1e-6 * max(1e-300, s[0])))))
            yield mine, Vh[-count:].conj().T, U[:, -count:]

    def modes(self) -> list[tuple[complex, np.ndarray, np.ndarray]]:
        """λ with Im λ ≥ 0, its right and its left eigenvector, by increasing real parts."""
        found: list[tuple[complex, np.ndarray, np.ndarray]] = []
        for mine, right, left in self._clusters():
            value = complex(self.values[mine[0]])
            if value.imag < 0:
                continue
            gram = left.conj().T @ right
            if np.linalg.cond(gram) < 1e8:
                left = left @ np.linalg.inv(gram).conj().T
            found += [(value, right[:, k], left[:, k]) for k in range(right.shape[1])]
        return sorted(found, key=lambda mode: (mode[0].real, mode[0].imag))

    def slopes(self, slope: np.ndarray) -> np.ndarray:
        """∂λ/∂p from ∂A/∂p; NaN for defective eigenvalues."""
        found = np.full(len(self.values), np.nan + 0j)
        for mine, right, left in self._clusters():
            gram = left.conj().T @ right
            if right.shape[1] == len(mine) and np.linalg.cond(gram) < 1e8:
                found[mine] = np.linalg.eigvals(np.linalg.solve(gram, left.conj().T @ slope @ right))
        return found


def spectrum(A: np.ndarray) -> Spectrum:
    """Eigenvalues of the blocks along the diagonal, states that depend on each other being one block.

    So zeros of coordinates that nothing depends on are exact, and do not spoil the digits of the others; nor do those
    of motions that nothing holds back, which may be combinations of coordinates (see ``_eigenvalues``).
    """
    n = len(A)
    size = np.abs(A)
    least = np.maximum(ROUNDING * size.max(axis=1, initial=0.0, keepdims=True), NOTHING * size.max(initial=0.0))
    clean = np.where(size > least, A, 0.0)
    label = _strong_components(clean != 0)
    values = [_rounded(_eigenvalues(clean[np.ix_(label == k, label == k)])) for k in np.unique(label)]
    found = np.concatenate(values) if n else np.zeros(0, dtype=complex)
    order = np.lexsort((np.imag(found), np.round(np.real(found), 12)))
    return Spectrum(clean, found[order])


def _eigenvalues(block: np.ndarray) -> np.ndarray:
    """The eigenvalues of a matrix, those that are zero exactly so, however defective they are.

    A zero of a chain of k vectors comes out of rounding ε as a ring of size ε^(1/k), half of which would grow. So null
    spaces are taken out one after the other: in the basis of one and what is orthogonal to it, A is [0 ·; 0 A′].
    """
    if not len(block) or not np.isfinite(block).all():
        return np.linalg.eigvals(block)
    from scipy import linalg  # slow to import, for those who need it

    rest: np.ndarray = cast(Any, linalg).matrix_balance(block, permute=False)[0]
    least = NOTHING * np.linalg.norm(rest, 2)
    while len(rest):
        _, sizes, basis = np.linalg.svd(rest)
        rank = int(np.count_nonzero(sizes > least))
        if rank == len(rest):
            break
        rest = basis[:rank] @ rest @ basis[:rank].T
    if len(rest) == len(block):
        return np.linalg.eigvals(block)
    return np.concatenate([np.zeros(len(block) - len(rest)), np.linalg.eigvals(rest)])


def _strong_components(edges: np.ndarray) -> np.ndarray:
    """For each node the first of those that it reaches and that reach it; squares of the graph double the paths."""
    reached = (edges | np.eye(len(edges), dtype=bool)).astype(float)
    while True:
        further = np.minimum(reached @ reached, 1.0)
        if np.array_equal(further, reached):
            return np.argmax((reached > 0) & (reached.T > 0), axis=1) if len(edges) else np.zeros(0, dtype=int)
        reached = further


def _rounded(values: np.ndarray) -> np.ndarray:
    """Real and imaginary parts that are rounding are zero."""
    least = NOTHING * np.abs(values).max(initial=0.0)
    real, imaginary = (np.where(np.abs(part) > least, part, 0.0) for part in (np.real(values), np.imag(values)))
    return real + 1j * imaginary
