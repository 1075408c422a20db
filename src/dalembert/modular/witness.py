"""Consistent states: where rank, pivots and redundancy are looked at.

States are found by Gauss-Newton from a guess, onto all invariants of all orders below σ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import casadi as ca
import numpy as np

from dalembert.expressions import symbols_of
from dalembert.modular.description import Description
from dalembert.modular.labels import Label
from dalembert.modular.nodes import Node
from dalembert.modular.variables import generic_value

__all__ = ["Bound", "Numbers", "Residual", "bound_together", "consistent", "spread", "worst"]

CLOSE = 1e-11
STEPS = 60
DENSE = 120  # unknowns; more are solved sparsely
SMALL = 100_000  # products in J Jᵀ; more would wake BLAS's threads, which wait for each other
INDEPENDENT = 1e-3  # of the pivots of J Jᵀ's root: rows whose normal equations lose no more than a few digits


def consistent(
    residual: Callable[..., Any],
    start: np.ndarray,
    fixed: np.ndarray,
    free: np.ndarray,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state near a guess that meets all invariants, and what is left of them.

    Args:
        residual: (state, other symbols) → residuals and their Jacobian by the state.
        free: marks of the entries that may be changed.
        groups: numbers of the groups of entries that have no invariant in common: each has its own length of step, so
            that what is found for one does not depend on the others.
    """
    x = np.array(start, dtype=float)
    best, least, patience = x, np.inf, 0
    kept: np.ndarray | None = None
    for _ in range(STEPS):
        value, jacobian = residual(x, fixed)
        left = np.asarray(value).reshape(-1)
        size = float(np.abs(left).max(initial=0.0))
        if not np.isfinite(size):
            x = best + 0.1 * (start - best)
            patience += 1
            if patience > 3:
                break
            continue
        if size < least:
            best, kept, least, patience = x, left, size, 0
        else:
            patience += 1
        if size < CLOSE or patience > 12:
            break
        step = _least_change(jacobian, left, free)
        x = x - step / _longest(np.abs(step), groups)
    return best, np.asarray(residual(best, fixed)[0]).reshape(-1) if kept is None else kept


def _longest(sizes: np.ndarray, groups: np.ndarray | None) -> Any:
    """The largest entry of all, or of the group of each; 1 at least."""
    if groups is None:
        return max(1.0, float(sizes.max(initial=0.0)))
    longest = np.ones(groups.max() + 1)
    np.maximum.at(longest, groups, sizes)
    return longest[groups]


class Bound:
    """Subsystems whose variables hang together by invariants.

    Attributes:
        rest: what their consistent states rest on.
    """

    def __init__(self, nodes: Sequence[Node], order: int, known: Mapping[str, float]):
        self.nodes, self.order = nodes, order
        states = [label for node in nodes for labels in node.layout(order)[:-1] for label in labels]
        names = (*map(str, states), *(name for node in nodes for name in node.others))
        self.rest: Any = (
            [(node.path, node.given_at_root, node.description.kinematics) for node in nodes],
            {name: known.get(name) for name in names},
        )

    def before(self, salt: str) -> dict[str, float] | None:
        """The state that was found before for the same, or None."""
        for node in self.nodes:  # a part that did not change remembers it
            rest, state = node.description.memo.get(("consistent", node.path, self.order, salt), (None, None))
            if rest is not None:
                return state if rest == self.rest else None
        return None

    def keep(self, salt: str, state: dict[str, float]) -> None:
        for node in self.nodes:
            node.description.memo["consistent", node.path, self.order, salt] = self.rest, state


def bound_together(nodes: Sequence[Node], root: Description) -> list[list[Node]]:
    """Groups of subsystems, in the order of the tree, none of which has an invariant in common with another."""
    parent = {node.path: node.path for node in nodes}

    def find(path: tuple[str, ...]) -> tuple[str, ...]:
        while parent[path] != path:
            parent[path] = path = parent[parent[path]]
        return path

    for node in nodes:
        paths, others = node.description.bound
        top = find(node.path)
        for path in paths:
            parent[find(node.path + path)] = top
        for name in others if node.given else ():  # variables in what owners give
            for symbol in symbols_of(node.at_root(name)):
                label = root.label(symbol.name)
                if label is not None:
                    parent[find(label.path)] = top
    groups: dict[tuple[str, ...], list[Node]] = {}
    bound = {find(node.path) for node in nodes if node.description.invariants}
    for node in nodes:
        if (top := find(node.path)) in bound:
            groups.setdefault(top, []).append(node)
    return list(groups.values())


class Numbers(dict[str, float]):
    """A number for every name: what is known; what is not known is nothing special."""

    def __init__(self, known: Mapping[str, float], salt: str = ""):
        super().__init__(known)
        self._salt = salt

    def __missing__(self, name: str) -> float:
        self[name] = found = generic_value(self._salt + name)
        return found


class Residual:
    """A CasADi function of two columns, for residuals and their Jacobian by the first: called without copies of copies.

    Not for two threads at a time.
    """

    def __init__(self, function: ca.Function):
        self._arguments = [np.empty(function.size1_in(i)) for i in range(2)]
        self._places: list[Any] = [np.array(function.sparsity_out(i).get_triplet(), dtype=int) for i in range(2)]
        self._found = [np.empty(place.shape[-1]) for place in self._places]
        self._shapes = [function.size_out(i) for i in range(2)]
        buffer: Any
        buffer, self._evaluate = function.buffer()
        self._buffer = buffer
        for i in range(2):
            buffer.set_arg(i, memoryview(cast(Any, self._arguments[i])))
            buffer.set_res(i, memoryview(cast(Any, self._found[i])))

    def __call__(self, state: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, Any]:
        self._arguments[0][:], self._arguments[1][:] = state, others
        self._evaluate()
        value = np.zeros(self._shapes[0][0])
        value[self._places[0][0]] = self._found[0]
        rows, columns = self._places[1]
        return value, spread(rows, columns, self._found[1], self._shapes[1])


def spread(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> Any:
    """A matrix from its entries: dense if it is small, else sparse."""
    if max(shape) <= DENSE:
        dense = np.zeros(shape)
        dense[rows, columns] = values
        return dense
    from scipy import sparse

    return sparse.csc_matrix((values.copy(), (rows, columns)), shape=shape)


def _least_change(jacobian: Any, left: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The smallest step that removes the residuals to first order."""
    if max(jacobian.shape) <= DENSE:
        dense = np.asarray(jacobian) * free
        m, n = dense.shape
        import scipy.linalg  # slow to import, for those who need it

        lapack: Any = scipy.linalg.lapack
        if m * m * n <= SMALL:
            turned = dense.T.copy()
            factor, failed = lapack.dpotrf(dense @ turned)
            diagonal = factor.diagonal()
            if not failed and diagonal.min() > INDEPENDENT * diagonal.max():
                return turned @ lapack.dpotrs(factor, left)[0]
        right = np.zeros((max(m, n), 1))
        right[:m, 0] = left
        # LAPACK's least squares by complete orthogonal factors, with its workspace: 4 (m + n) entries do.
        found = lapack.dgelsy(dense, right, np.zeros((n, 1), dtype=np.int32), 1e-10, 4 * (m + n) + 64)
        return found[1][:n, 0]
    from scipy import sparse
    from scipy.sparse import linalg

    J: Any = jacobian if sparse.issparse(jacobian) else sparse.csc_matrix(np.asarray(jacobian))
    J = J @ cast(Any, sparse).diags(free.astype(float))
    gram: Any = (J @ J.T + 1e-12 * cast(Any, sparse).identity(J.shape[0])).tocsc()
    return J.T @ cast(Any, linalg).spsolve(gram, left)


def worst(left: np.ndarray, labels: Sequence[Label]) -> str:
    """The largest residuals with the invariants that they belong to, in words."""
    order = [i for i in np.argsort(-np.abs(left))[:6] if abs(left[i]) > 1e-8]
    return ", ".join(f"{labels[i].text} at order {labels[i].order} ({left[i]:.3g})" for i in order)
