"""Equations in even units, as native functions: with u = S w and rows of A times R,

    (S M S) ẇ = S f + (R A S)ᵀ μ,    (R A S) ẇ + R γ = 0,    u̇ = S ẇ,    λ = R μ

S is a unit of length where bodies only slide, and R such that rows are of one size: meters and radians, of a watch or
of a bridge, are then as large as each other to what looks for ranks and pivots. Units are powers of two, so nothing is
rounded.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import native
from dalembert.numerics.context import Context

__all__ = ["even_matrix", "even_rows", "even_sides"]


@native
def even_matrix(c: Context, M: np.ndarray):
    """M ← S M S."""
    for i in range(c.nv):
        for j in range(c.nv):
            M[i, j] *= c.unit[i] * c.unit[j]


@native
def even_rows(c: Context, A: np.ndarray):
    """A ← R A S; rows beyond those of constraints keep their size."""
    for i in range(A.shape[0]):
        size = c.row_unit[i] if i < c.rows else 1.0
        for j in range(c.nv):
            A[i, j] *= size * c.unit[j]


@native
def even_sides(c: Context, sides: np.ndarray):
    """A side of the constraint equations: γ ← R γ."""
    for i in range(min(sides.shape[0], c.rows)):
        sides[i] *= c.row_unit[i]
