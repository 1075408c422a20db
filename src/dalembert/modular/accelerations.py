"""Accelerations of a system at a state, in numbers: the oracle of compiled dynamics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.arguments import Number
from dalembert.errors import ModelError, Problem
from dalembert.modular.complement import Choice, LeastSquares, Pivoted, choose
from dalembert.modular.compose import Composed, compose
from dalembert.modular.labeled_matrix import ONE, LabeledMatrix, assemble
from dalembert.modular.labels import Label
from dalembert.modular.modular_system import ModularSystem
from dalembert.modular.nodes import Node
from dalembert.modular.own_rows import OwnRows

__all__ = ["acceleration"]

ROUNDING = 1e-12  # rows of A with no larger entry say nothing


def acceleration(eq: ModularSystem, values: Mapping[Any, Number] | None = None) -> dict[Label, float]:
    """All variables of order σ at a state: the solution of  f̄ = 0,  A q⟨σ⟩ + b = 0.

    The complements are chosen at this very state. Velocities and inputs that are not given are zero.

    Raises:
        ModelError: where the equations do not determine all variables, naming those that are not.
    """
    still = {str(label): 0.0 for label in eq.state if label.order > 0} | dict.fromkeys(eq.inputs, 0.0)
    given = {getattr(key, "name", None) or str(key): value for key, value in (values or {}).items()}
    known, traced = eq.values(still | given), eq.casadi
    state = np.array([known[str(label)] for label in eq.state])
    others = np.array([known[name] for name in traced.others])
    function, pattern = traced.rows_function
    numbers = np.asarray(function(state, others)).reshape(-1)
    parts: list[dict[str, dict[Label, dict[Label, Any]]]] = [{"A": {}, "b": {}, "M": {}, "k": {}} for _ in eq.nodes]
    for (index, letter, row, column), value in zip(pattern, numbers, strict=True):
        if value != 0.0:
            parts[index][letter].setdefault(row, {})[column] = float(value)
    found: dict[tuple[str, ...], Composed] = {}
    As: list[LabeledMatrix] = []
    bs: list[LabeledMatrix] = []
    for node, made, part in zip(eq.nodes, traced.nodes, parts, strict=True):
        A = LabeledMatrix(NUMPY, made.A.rows, made.A.columns, part["A"])
        b = LabeledMatrix(NUMPY, made.b.rows, made.b.columns, part["b"])
        M = LabeledMatrix(NUMPY, made.M.rows, made.M.columns, part["M"])
        forces = assemble(M, LabeledMatrix(NUMPY, made.k.rows, (ONE,), part["k"]), al=NUMPY)
        own = OwnRows(NUMPY, eq.order, made.variables, made.rows, A, b, (), forces, ())
        children = {name: found[child.path] for name, child in node.children.items()}
        found[node.path] = compose(own, children, lambda B, n=node: _decide(eq, n, B), depth=len(node.path))
        As.append(A)
        bs.append(b)
    f_bar, A, b = found[()].f_bar, assemble(*As, al=NUMPY), assemble(*bs, al=NUMPY)
    if eq.order > max(eq.force_order, 0):
        choices = {path: one.choice for path, one in found.items() if one.choice is not None}
        K, k = (np.asarray(part) for part in traced.prolonged_function(choices)(state, others))
    else:
        K, k = f_bar.part(None, eq.top).to_array(), f_bar.part(None, (ONE,)).to_array()
    return _solved(eq, np.asarray(K, dtype=float), np.asarray(k, dtype=float).reshape(-1), A, b)


def _decide(eq: ModularSystem, node: Node, B: LabeledMatrix) -> Choice:
    """The choice at a state: as asked, else by pivoting."""
    fixed = eq.choice(node)
    if fixed.residual or isinstance(fixed.strategy, LeastSquares) or not fixed.pivots:
        return fixed
    return choose(node.name or eq.name, [B], Pivoted())


def _solved(eq: ModularSystem, K: np.ndarray, k: np.ndarray, A: LabeledMatrix, b: LabeledMatrix) -> dict[Label, float]:
    left = np.concatenate([K.reshape(-1, len(eq.top)), A.part(None, eq.top).to_array().reshape(-1, len(eq.top))])
    right = -np.concatenate([k, LabeledMatrix(NUMPY, A.rows, (ONE,), b.entries).to_array().reshape(-1)])
    size = np.abs(left).max(axis=1, keepdims=True, initial=0.0)
    size[len(k) :][size[len(k) :] <= ROUNDING] = 0.0  # an identity once differentiated, as |q| = 1 is with ω
    scale = np.where(size > 0, size, 1.0)
    x, _, rank, _ = np.linalg.lstsq(left / scale, right / scale[:, 0], rcond=1e-12)
    if rank < len(eq.top):
        free = np.linalg.svd(left / scale)[2][rank:]
        names = [str(label) for label, column in zip(eq.top, free.T, strict=True) if np.abs(column).max() > 1e-6]
        raise ModelError(
            Problem(
                f"subsystem {eq.name!r}: nothing determines {', '.join(names)} at this state",
                fix="a variable without kinematics or force, or a singular position?",
            )
        )
    return dict(zip(eq.top, map(float, x), strict=True))
