"""Direct modular linearization: the linear model of a system from linear rows of its parts, never from the whole.

    LR = (1⊕, LS₁, LS₂, …),   LB = L(LA⊕ LR),   LC ⟂ LB,   LS = L(LR LC),   Lf̄ = L(LCᵀ Lf)              (4.16)–(4.23)

Every matrix has a value and derivatives by all variables, X = X₀ + Σ Xⱼ xⱼ; products are cut at first order. Invariants
are linearized as they stand. The complement is differentiated exactly: with pivot rows C⋆ⱼ = −B⋆₀⁻¹ Bⱼ C₀; by least
squares as the derivative of the normal equations. (Proposition 4.4 of the text takes differences, and its formula
(4.21) lacks a factor ½.)

Variables of each order follow from independent ones by the same recursion, order by order, so that the state of the
linear model is minimal.

Reference: R. M. M. Orsino, thesis (2016), sec. 4.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.errors import ModelError, Problem
from dalembert.modular.complement import LeastSquares, Pivoted, Strategy, choose
from dalembert.modular.labeled_matrix import LabeledMatrix
from dalembert.modular.labels import Label
from dalembert.modular.linear_rows import Evaluated, Numbers, numbers_of
from dalembert.modular.modular_equations import ModularEquations
from dalembert.modular.nodes import Node

__all__ = ["LinearSystem", "Small"]

NOTHING = 1e-8  # of a row that should follow from others, relative to its entries
PIVOT = 1e-9  # of rows of length one
HELD, NAMED = 1e-3, 0.05  # as pivots: variables that are independent at order σ, or that a part calls independent


@dataclass
class Complement:
    """What was decided at one node: independent and dependent columns, the rows they come from."""

    independent: list[Label]
    stars: list[Label]
    rows: list[Label]
    weights: np.ndarray | None


@dataclass
class Small:
    """LS and Lf̄ of one node.

    Attributes:
        variables: of order σ in the node and below it.  free: independent ones.
        S, S_by: LS and its derivatives.  f, f_by: Lf̄ and its derivatives.
        C: the complement at the reference.
        residual: of rows that contradict each other, B C.
        unused: rows that follow from others (by least squares: all), and the derivatives of B C in them.
    """

    variables: list[Label]
    free: list[Label]
    S: np.ndarray
    S_by: np.ndarray
    f: np.ndarray
    f_by: np.ndarray
    C: np.ndarray
    residual: dict[str, float]
    unused: tuple[list[Label], np.ndarray]


class LinearSystem:
    """A tree linearized at a reference.

    Args:
        values: numbers of all symbols; their imaginary parts are small changes (see ``Numbers``).
        least_squares: meet rows that contradict each other as well as can be; None refuses them.
        like: a linear system of the same tree whose independent variables are taken.
        numbers: the rows, where some are known.

    Attributes:
        small: LS and Lf̄ of every node, at the reference.
        free_of: independent variables of each order.
    """

    def __init__(
        self,
        equations: ModularEquations,
        values: Mapping[str, complex],
        least_squares: LeastSquares | None,
        like: LinearSystem | None = None,
        numbers: Numbers | None = None,
    ):
        self.equations, self.least_squares = equations, least_squares
        self.order, self.state, self.top = equations.order, equations.state, equations.top
        self.numbers = numbers or numbers_of(equations)
        self.values = dict(values)
        self.place = {name: i for i, name in enumerate(self.numbers.moving)}
        self._decided: dict[tuple[str, ...], Complement] = dict(like._decided) if like is not None else {}
        self.small: dict[tuple[str, ...], Small] = {}
        self.free_of: dict[int, list[Label]] = {}
        still = self.values | {str(label): 0.0 for label in self.top}
        at = self.numbers(still)
        root = self._small(at)
        self.residual = {name: value for small in self.small.values() for name, value in small.residual.items()}
        # f̄ and A z + b are affine in z = q⟨σ⟩.
        one = np.zeros((0, 1))
        E, P = self._order_of(at, self.order, {}, one, constant=at.top)
        K = root.f_by[:, self._columns(self.top)]
        z = E @ self._solve(K @ E, -(root.f[:, None] + K @ P)) + P
        self.values |= {str(label): value for label, value in zip(self.top, z[:, 0].tolist(), strict=True)}
        self.at = self.numbers(self.values)
        self.root = self._small(self.at)

    def _columns(self, labels: Sequence[Any]) -> list[int]:
        return [self.place[str(label)] for label in labels]

    def _labels(self, order: int) -> list[Label]:
        return [label for label in (*self.state, *self.top) if label.order == order]

    def _solve(self, K: np.ndarray, right: np.ndarray) -> np.ndarray:
        if K.size and np.linalg.cond(K) > 1e14:
            free = ", ".join(map(str, self.small[()].free))
            raise ModelError(
                Problem(
                    f"subsystem {self.equations.name!r}: nothing determines {free} here",
                    fix="a variable without kinematics or force, or a singular position?",
                )
            )
        return np.linalg.solve(K, right)

    # Leaves to root: LR, LB, LC, LS, Lf̄

    def _small(self, at: Evaluated) -> Small:
        """Go through the tree; the last is the root."""
        active = np.flatnonzero(np.any(at.entries_by != 0, axis=0))
        for node in self.equations.nodes:
            self.small[node.path] = self._node(node, at, active)
        return self.small[()]

    def _node(self, node: Node, at: Evaluated, active: np.ndarray) -> Small:
        total = len(self.numbers.moving)
        mine = [label for label in self.top if label.path == node.path]
        parts = [self.small[child.path] for child in node.children.values()]
        variables = mine + [label for part in parts for label in part.variables]
        free = mine + [label for part in parts for label in part.free]
        kind = at.entries.dtype
        R = np.zeros((len(variables), len(free)), dtype=kind)
        R_by = np.zeros((len(variables), len(free), len(active)), dtype=kind)
        R[: len(mine), : len(mine)] = np.eye(len(mine))
        i = j = len(mine)
        for part in parts:
            rows, columns = slice(i, i + len(part.variables)), slice(j, j + len(part.free))
            R[rows, columns], R_by[rows, columns] = part.S, part.S_by
            i, j = rows.stop, columns.stop
        B, B_by, labels = self._rows(node, at, active, variables, R, R_by)
        decided = self._decide(node, labels, free, B)
        C, C_by = _complement(decided, labels, free, B, B_by)
        f, f_by = np.zeros(len(free), dtype=kind), np.zeros((len(free), total), dtype=kind)
        j = len(mine)
        for part in parts:
            f[j : j + len(part.free)] += part.f
            f_by[j : j + len(part.free)] += part.f_by
            j += len(part.free)
        for k, (path, label) in enumerate(self.numbers.forces):
            if path == node.path:
                row = variables.index(label)
                f += R[row] * at.forces[k]
                f_by += np.outer(R[row], at.forces_by[k])
                f_by[:, active] += R_by[row] * at.forces[k]
        f_bar_by = C.T @ f_by
        f_bar_by[:, active] += np.einsum("fcj,f->cj", C_by, f)
        residual = {}
        rest = labels if decided.weights is not None else [row for row in labels if row not in decided.rows]
        at_rest = [labels.index(row) for row in rest]
        rest_by = np.einsum("rfj,fc->rcj", B_by[at_rest], C) + np.einsum("rf,fcj->rcj", B[at_rest], C_by)
        if decided.weights is not None:
            left = B @ C
            residual = {
                row.text: float(line[np.argmax(np.abs(line))])
                for row, line in zip(labels, np.real(left), strict=True)
                if line.size
            }
        S, S_by = R @ C, np.einsum("vfj,fc->vcj", R_by, C) + np.einsum("vf,fcj->vcj", R, C_by)
        return Small(variables, decided.independent, S, S_by, C.T @ f, f_bar_by, C, residual, (rest, rest_by))

    def _rows(
        self, node: Node, at: Evaluated, active: np.ndarray, variables: list[Label], R: np.ndarray, R_by: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[Label]]:
        """LB = L(LA⊕ LR), and the labels of its rows."""
        labels = [row for row in self.numbers.top if row.path == node.path]
        rows = {row: i for i, row in enumerate(labels)}
        columns = {label: i for i, label in enumerate(variables)}
        A = np.zeros((len(rows), len(variables)), dtype=at.entries.dtype)
        A_by = np.zeros((len(rows), len(variables), len(active)), dtype=at.entries.dtype)
        for k, (row, column) in enumerate(self.numbers.entries):
            if row.path == node.path:
                A[rows[row], columns[column]] = at.entries[k]
                A_by[rows[row], columns[column]] = at.entries_by[k, active]
        return A @ R, np.einsum("rvj,vf->rfj", A_by, R) + np.einsum("rv,vfj->rfj", A, R_by), labels

    def _decide(self, node: Node, rows: list[Label], free: list[Label], B: np.ndarray) -> Complement:
        """Independent columns of a node; decided once, at the reference."""
        if node.path in self._decided:
            return self._decided[node.path]
        d = node.description
        asked = [".".join((*node.path, variable)) for variable in d.independent]
        strategy: Strategy = d.strategy or self.least_squares or Pivoted()
        squares = isinstance(strategy, LeastSquares) and bool(asked or strategy.independent)
        if not isinstance(strategy, LeastSquares) or not squares:
            strategy = Pivoted()
        name = node.name or self.equations.name
        choice = choose(name, [LabeledMatrix.from_array(NUMPY, rows, free, B)], strategy, asked)
        stars = [column for _, column in choice.pivots]
        if isinstance(strategy, LeastSquares):
            weights = np.array([strategy.weight(row) for row in rows])
            found = Complement(list(choice.independent), stars, rows, weights)
        else:
            found = Complement(list(choice.independent), stars, [row for row, _ in choice.pivots], None)
        self._decided[node.path] = found
        return found

    # Order by order: all variables by independent ones

    def _order_of(
        self,
        at: Evaluated,
        order: int,
        known: Mapping[int, np.ndarray],
        inputs: np.ndarray,
        constant: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """E and P of  δq⟨k⟩ = E δq⟨k⟩# + P p  from the rows of order k, leaves to root.

        Args:
            known: δq⟨i⟩ of lower orders as functions of p.  inputs: the same of inputs.
            constant: instead: residuals of the rows where q⟨k⟩ is zero, for one column p = 1.
        """
        labels = self._labels(order)
        self.free_of[order] = list(labels)
        E, P = np.eye(len(labels)), np.zeros((len(labels), inputs.shape[1]))
        for node in self.equations.nodes:
            rows, values_by = self._rows_of(node, at, order)
            if not rows:
                continue
            J = values_by[:, self._columns(labels)]
            if constant is not None:
                at_rows = [self.numbers.top.index(row) for row in rows]
                right = constant[at_rows][:, None] + J @ P
            else:
                right = values_by[:, self._columns(self.equations.inputs)] @ inputs + J @ P
                for k, moved in known.items():
                    right = right + values_by[:, self._columns(self._labels(k))] @ moved
            E, P = self._eliminated(node, order, rows, J @ E, right, E, P)
        return E, P

    @cached_property
    def _named(self) -> set[str]:
        """Variables that the person called independent, at any node."""
        nodes = self.equations.nodes
        return {".".join((*node.path, variable)) for node in nodes for variable in node.description.independent}

    def _rows_of(self, node: Node, at: Evaluated, order: int) -> tuple[list[Label], np.ndarray]:
        """Invariants of a node at an order, and their derivatives."""
        if order == self.order:
            chosen = [i for i, row in enumerate(self.numbers.top) if row.path == node.path]
            return [self.numbers.top[i] for i in chosen], at.top_by[chosen]
        lower = self.numbers.lower
        chosen = [i for i, row in enumerate(lower) if row.path == node.path and row.order == order]
        return [lower[i] for i in chosen], at.lower_by[chosen]

    def _eliminated(
        self, node: Node, order: int, rows: list[Label], B: np.ndarray, right: np.ndarray, E: np.ndarray, P: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """E and P after the rows  B y + right = 0  of one node."""
        free, decided = self.free_of[order], self._decided[node.path]
        weights = None
        if order == self.order:
            stars = [free.index(column) for column in decided.stars]
            used = [rows.index(row) for row in decided.rows]
            weights = decided.weights
        else:
            keep, named = {label.text for label in decided.independent}, self._named
            given = decided.weights if decided.weights is not None else np.zeros(0)
            squares = decided.weights is not None
            held = 0.0 if squares else HELD
            wanted = [held if label.text in keep else NAMED if label.text in named else 1.0 for label in free]
            stars, used = _pivots(np.real(B), np.array(wanted))
            if squares:
                names = {row.text: float(w) for row, w in zip(decided.rows, given, strict=True)}
                used, weights = list(range(len(rows))), np.array([names.get(row.text, 1.0) for row in rows])
        others = [j for j in range(len(free)) if j not in stars]
        left, both = B[np.ix_(used, stars)], np.concatenate([B[np.ix_(used, others)], right[used]], axis=1)
        if weights is not None:
            X = -_least_squares(weights[:, None] * left, weights[:, None] * both)
        else:
            X = -np.linalg.solve(left, both)
        n = len(others)
        if weights is None:
            self._check(node, order, rows, B[:, others] + B[:, stars] @ X[:, :n], right + B[:, stars] @ X[:, n:], right)
        self.free_of[order] = [free[j] for j in others]
        return E[:, others] + E[:, stars] @ X[:, :n], P + E[:, stars] @ X[:, n:]

    def _check(
        self, node: Node, order: int, rows: list[Label], left: np.ndarray, rest: np.ndarray, right: np.ndarray
    ) -> None:
        """Rows that were not used must hold by themselves; else they contradict the others next to the reference."""
        scale = 1.0 + np.abs(right).max(initial=0.0)
        size = np.maximum(np.abs(left).max(axis=1, initial=0.0), np.abs(rest).max(axis=1, initial=0.0))
        self._refuse(node, order, [(r, value) for r, value in zip(rows, size, strict=True) if value > NOTHING * scale])

    def _check_complements(self, moving: np.ndarray) -> None:
        """Rows that were not used must have the same complement next to the reference, too."""
        active = np.flatnonzero(np.any(self.at.entries_by != 0, axis=0))
        for node in self.equations.nodes:
            rows, values_by = self.small[node.path].unused
            size = np.abs(values_by @ moving[active]).max(axis=(1, 2), initial=0.0) if rows else np.zeros(0)
            bad = [(row, float(value)) for row, value in zip(rows, size, strict=True) if value > NOTHING]
            if self._decided[node.path].weights is None:
                self._refuse(node, self.order, bad)
            self.residual |= {f"{row.text} nearby": value for row, value in bad}

    def _refuse(self, node: Node, order: int, bad: list[tuple[Label, float]]) -> None:
        if bad:
            name = node.name or self.equations.name
            shown = ", ".join(f"{row.text} ({value:.3g})" for row, value in bad[:8])
            raise ModelError(
                Problem(
                    f"subsystem {name!r}: next to the reference, at order {order}, rows contradict others: {shown}",
                    fix="remove them, or incompatible='least-squares' with independent(…)",
                )
            )

    # The linear model

    def model(self, full: bool) -> dict[str, Any]:
        """States, A, B and how all variables follow: maps from (inputs, states).

        Args:
            full: all variables of the state instead of independent ones.
        """
        nw = len(self.equations.inputs)
        known: dict[int, np.ndarray] = {}
        inputs = np.eye(nw)
        states: list[Label] = []
        for order in range(self.order):
            labels = self._labels(order)
            if full:
                E, P, free = np.eye(len(labels)), np.zeros((len(labels), inputs.shape[1])), labels
            else:
                E, P = self._order_of(self.at, order, known, inputs)
                free = self.free_of[order]
            n = E.shape[1]
            known = {k: np.pad(M, ((0, 0), (0, n))) for k, M in known.items()}
            known[order] = np.concatenate([P, E], axis=1)
            inputs = np.pad(inputs, ((0, 0), (0, n)))
            states += free
        E, P = self._order_of(self.at, self.order, known, inputs)
        s = self._stacked(known)
        f_by = self.root.f_by
        K = f_by[:, self._columns(self.top)]
        right = f_by[:, self._columns(self.state)] @ s + f_by[:, self._columns(self.equations.inputs)] @ inputs
        dz = E @ -self._solve(K @ E, right + K @ P) + P
        moving = np.concatenate([s, dz, inputs])
        if not full:
            self._check_complements(moving)
        at = [self.state.index(label) for label in states]
        return {
            "states": states, "rates": self.at.rates[at], "matrix": (self.at.rates_by @ moving)[at],
            "moving": moving, "mass": self._mass(-(K @ E), [] if full else states),
        }  # fmt: skip

    def _mass(self, M: np.ndarray, states: list[Label]) -> np.ndarray:
        """Mass matrix of the independent variables of order σ − 1, if they are those of order σ; else none."""
        rows, columns = [[label.text for label in part] for part in (self.root.free, self.free_of[self.order])]
        last = [label.text for label in states if label.order == self.order - 1]
        if sorted(last) != sorted(columns):
            return np.zeros((0, 0))
        return M[np.ix_([rows.index(name) for name in last], [columns.index(name) for name in last])]

    def _stacked(self, known: Mapping[int, np.ndarray]) -> np.ndarray:
        """Rows of all state variables, in their order."""
        columns = next(iter(known.values())).shape[1] if known else 0
        found = np.zeros((len(self.state), columns), dtype=np.result_type(float, *known.values()))
        for order, moved in known.items():
            for label, row in zip(self._labels(order), moved, strict=True):
                found[self.state.index(label)] = row
        return found


def _complement(
    decided: Complement, rows: list[Label], free: list[Label], B: np.ndarray, B_by: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C and its derivatives."""
    place = {label: i for i, label in enumerate(free)}
    sharp, stars = [place[c] for c in decided.independent], [place[c] for c in decided.stars]
    C = np.zeros((len(free), len(sharp)), dtype=B.dtype)
    C_by = np.zeros((len(free), len(sharp), B_by.shape[2]), dtype=B.dtype)
    C[sharp] = np.eye(len(sharp))
    if not stars:
        return C, C_by
    used = [rows.index(row) for row in decided.rows]
    left, right = B[np.ix_(used, stars)], B[np.ix_(used, sharp)]
    left_by, right_by = B_by[used][:, stars], B_by[used][:, sharp]
    if decided.weights is None:
        C[stars] = -np.linalg.solve(left, right)
        change = right_by + np.einsum("rsj,sc->rcj", left_by, C[stars])
    else:
        # Normal equations  G X = −h  with  G = B⋆ᵀW²B⋆,  h = B⋆ᵀW²B#
        weighted = (decided.weights**2)[:, None] * left
        C[stars] = -np.linalg.solve(weighted.T @ left, weighted.T @ right)
        square = (decided.weights**2)[:, None, None]
        residual = left @ C[stars] + right
        change = np.einsum("rs,rcj->scj", weighted, right_by + np.einsum("rsj,sc->rcj", left_by, C[stars]))
        change += np.einsum("rsj,rc->scj", square * left_by, residual)
        left = weighted.T @ left
    C_by[stars] = -np.linalg.solve(left, change.reshape(len(left), -1)).reshape(change.shape)
    return C, C_by


def _least_squares(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x of least |left x − right|; with changes in imaginary parts by the normal equations, without conjugates."""
    if np.iscomplexobj(left) or np.iscomplexobj(right):
        return np.linalg.solve(left.T @ left, left.T @ right)
    return np.linalg.lstsq(left, right, rcond=None)[0]


def _pivots(B: np.ndarray, weight: np.ndarray) -> tuple[list[int], list[int]]:
    """Dependent columns and the rows that determine them, by complete pivoting; columns of weight zero stay."""
    size = np.abs(B).max(axis=1, keepdims=True, initial=0.0)
    T = B / np.where(size > 1e-12, size, np.inf)
    columns: list[int] = []
    rows: list[int] = []
    left = np.ones(B.shape[1], dtype=bool)
    remaining = list(range(len(B)))
    while remaining and left.any():
        block = np.abs(T[remaining]) * left * (weight > 0)
        if block.max() <= PIVOT * max(B.shape):
            break
        i, j = np.unravel_index(np.argmax(np.where(block > 1e-4 * block.max(), block * weight, 0.0)), block.shape)
        row, column = remaining.pop(int(i)), int(j)
        T[remaining] = T[remaining] - np.outer(T[remaining, column] / T[row, column], T[row])
        left[column] = False
        rows.append(row)
        columns.append(column)
    return columns, rows
