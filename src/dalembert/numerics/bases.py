"""Independent velocities ż = B u, the rows of B an orthonormal basis of the null space of A at a former position.

B is kept while A and B determine all velocities well. A solver keeps it in a record, integrated variables in their
state:

    u = Bᵀ ż + w,      A (1 − Bᵀ B) w = −(A Bᵀ ż + b),      B w = 0

With b = 0 the rows of Bᵀ + w are R of [A; B] R = [0; 1]. They are the longer, the nearer B is to the rows of A; where
B was taken they are B itself.

Reference: J. García de Jalón, E. Bayo, sec. 5.2.3, eqs. 5.54, 5.60, 5.61.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import Int, Matrix, Outputs, Record, Ref, Vector, native
from dalembert.numerics.context import Context
from dalembert.numerics.elimination import jacobi_svd
from dalembert.numerics.linear import RANK_TOLERANCE, orthogonal_factors, pseudo_solve, ranked_factors, rounding_of
from dalembert.numerics.partition import strays

__all__ = [
    "KeptBasis", "basis_along", "basis_at", "basis_by_qr", "basis_by_svd", "follow_basis", "recall_basis",
    "renew_basis",
]  # fmt: skip


class KeptBasis(Record):
    """B of a former position: its first p rows; how often it was taken anew, and whether by singular values."""

    context = Ref(Context)
    choices = Int()
    p = Int()
    singular = Int()
    B = Matrix("context.nv", "context.nv")


@native
def basis_by_qr(A: np.ndarray, gamma: np.ndarray):
    """B = Q₂ᵀ of Aᵀ P = Q R, taken at this very position."""
    p = np.zeros(A.shape[1])
    rank, ratio, Q, _, _ = ranked_factors(A)
    same, _, Qa, Ra, pivots = ranked_factors(A.T.copy())
    pseudo_solve(same, Qa, Ra, pivots, -gamma, p)
    return rank, ratio, Q[rank:].T.copy(), p


@native
def basis_by_svd(A: np.ndarray, gamma: np.ndarray):
    """B = rows of Vᵀ with singular value zero, A = U Σ Vᵀ, taken at this very position."""
    m, n = A.shape
    US, V, sizes = jacobi_svd(A)
    along = US.T.copy() @ gamma
    order = np.argsort(-sizes)
    rank, ratio, p = 0, 1.0, np.zeros(n)
    for j in order[: min(m, n)]:
        if not sizes[j] > max(RANK_TOLERANCE * sizes[order[0]], rounding_of(A)):
            break
        rank, ratio = rank + 1, sizes[j] / sizes[order[0]]
        p -= V[:, j] * along[j] / sizes[j] ** 2
    R = np.empty((n, n - rank))
    for k in range(n - rank):
        R[:, k] = V[:, order[rank + k]]
    return rank, ratio, R, p


@native
def basis_at(o: KeptBasis, A: np.ndarray, gamma: np.ndarray):
    """By singular values or by orthogonal factors, as the record asks."""
    if o.singular > 0:
        rank, ratio, R, p = basis_by_svd(A, gamma)
    else:
        rank, ratio, R, p = basis_by_qr(A, gamma)
    return rank, ratio, R, p


# States that hold ż only.


class RememberedBasis(Outputs):
    """In a state: the number of rows of B, and B."""

    p = Vector(1)
    B = Matrix("context.nv", "context.nv")


@native
def _across(A: np.ndarray, B: np.ndarray):
    """Factors of A (1 − BᵀB); its rank is that of all velocities less that of B, if both determine them."""
    return orthogonal_factors((A - (A @ B.T) @ B).T.copy(), RANK_TOLERANCE, rounding_of(A))


@native
def follow_basis(o: KeptBasis, memory: np.ndarray, A: np.ndarray, b: np.ndarray, z: np.ndarray, u: np.ndarray) -> int:
    """u with A u + b = 0 and B u = ż, ż in the first places of z; 1 if they do not determine it."""
    kept = RememberedBasis.of(o, memory)
    p = int(kept.p[0])
    B, along = kept.B[:p], z[:p] @ kept.B[:p]
    rank, _, Q, R, pivots = _across(A, B)
    if rank < A.shape[1] - p:
        return 1
    pseudo_solve(rank, Q, R, pivots, -(A @ along + b), u)
    u += along
    return 0


@native
def basis_along(o: KeptBasis, memory: np.ndarray, u: np.ndarray, z: np.ndarray) -> int:
    """ż = B u in the first places of z, zero behind them."""
    kept = RememberedBasis.of(o, memory)
    p = int(kept.p[0])
    z[:] = 0.0
    z[:p] = kept.B[:p] @ u
    return 0


@native
def recall_basis(o: KeptBasis, memory: np.ndarray) -> int:
    """The solver goes on with the basis of a state."""
    kept = RememberedBasis.of(o, memory)
    o.choices = max(1, o.choices)
    o.p = int(kept.p[0])
    o.B[: o.p] = kept.B[: o.p]
    return 0


@native
def _is_worn(A: np.ndarray, B: np.ndarray) -> bool:
    """True if B does not determine all velocities any more, or dependent ones move far with ż."""
    n, p, w = A.shape[1], B.shape[0], np.empty(A.shape[1])
    rank, _, Q, L, pivots = _across(A, B)
    if rank < n - p:
        return True
    R = B.copy()
    for k in range(p):
        pseudo_solve(rank, Q, L, pivots, -(A @ B[k]), w)
        R[k] += w
    return strays(A, R)


@native
def renew_basis(o: KeptBasis, memory: np.ndarray, A: np.ndarray) -> int:
    """A basis that is good here; 1 if it is a new one. None was chosen yet where p = 0 and something can move."""
    kept = RememberedBasis.of(o, memory)
    if not _is_worn(A, kept.B[: int(kept.p[0])]):
        return 0
    rank, _, R, _ = basis_at(o, A, np.zeros(A.shape[0]))
    p = A.shape[1] - rank
    kept.p[0] = p
    kept.B[:p] = R.T
    return 1
