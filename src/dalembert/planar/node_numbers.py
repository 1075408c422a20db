"""The node model in numbers: invariants, forces and accelerations at a state, by machine code.

Legend:  q coordinates,  w velocities (rates of coordinates, then quasi-velocities),  φ invariants of positions,
ψ = A w + b all invariants at velocity level,  M ẇ = f + …  on the variables of w.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.expressions import TIME, evaluate
from dalembert.planar.node_model import NodeModel
from dalembert.planar.planar_names import symbols_of

__all__ = ["NodeNumbers", "rate_name"]


def rate_name(name: str) -> str:
    """The name of the rate of a variable: ``x`` → ``x.d`` → ``x.dd``."""
    head, dot, tail = name.rpartition(".")
    return f"{name}d" if dot and head and set(tail) == {"d"} else f"{name}.d"


class NodeNumbers:
    """Kernels of a node model.

    Args:
        unknowns: inputs that are zero here.
        more: further invariants by name, after those of the model.

    Attributes:
        q_names, w_names: coordinates and velocities;  rows: names of all invariants.
    """

    def __init__(self, model: NodeModel, unknowns: Collection[str] = (), more: Mapping[str, sp.Expr] | None = None):
        self.model, self.unknowns = model, set(unknowns)
        self.invariants = {**model.invariants, **(more or {})}
        self.rows = list(self.invariants)
        self.q_names = list(model.coordinates)
        self.variables = [*(n for n in self.q_names if n not in model.kinematics), *model.velocities]
        self.w_names = [rate_name(n) if n in model.coordinates else n for n in self.variables]
        self.parameters = np.array(list(model.planar.parameter_values.values()))

    @property
    def drawn(self) -> np.ndarray:
        """Coordinates as drawn."""
        return np.array([self.model.drawn.value(value) for value in self.model.coordinates.values()])

    def is_fast(self, formula: sp.Expr) -> bool:
        """True if a formula names velocities."""
        return any(symbol.name in self.w_names for symbol in symbols_of(formula))

    @cached_property
    def kernel(self) -> Kernel:
        """φ (zero for rows of velocities), ∂φ/∂q, ψ, A, Ȧ w + ḃ, q̇, active forces, M."""
        import casadi as ca

        al, model = CASADI, self.model
        t, p = al.symbols("t", 1), al.symbols("p", len(self.parameters))
        q, w = al.symbols("q", len(self.q_names)), al.symbols("w", len(self.w_names))
        dw = al.symbols("dw", len(self.w_names))
        names = {TIME.name: t[1][0]}
        for keys, values in (
            (self.q_names, q[1]), (self.w_names, w[1]), (model.planar.parameter_values, p[1]),
            (map(rate_name, self.w_names), dw[1]),
        ):  # fmt: skip
            names |= dict(zip(keys, values, strict=True))
        laws = {sp.Symbol(k, real=True): model.formula(v) for k, v in model.planar.input_laws.items()}
        laws |= {sp.Symbol(k, real=True): sp.Integer(0) for k in self.unknowns}

        def value(formula: Any) -> Any:
            plain = sp.sympify(formula, strict=True).xreplace(laws)
            return evaluate(al, plain, lambda atom: names[atom.name])  # type: ignore[union-attr]

        rates = al.array(
            [value(model.kinematics[n]) if n in model.kinematics else names[f"{n}.d"] for n in self.q_names]
        )
        moving, along = np.concatenate([t[1], q[1]]), al.concatenate([al.array([al.constant(1)]), rates])
        held = [(value(e), self.is_fast(e)) for e in self.invariants.values()]
        position = al.array([al.constant(0) if fast else e for e, fast in held])
        velocity = al.array([e if fast else al.rate(al.array([e]), moving, along)[0] for e, fast in held])
        forces = [
            al.array([value(table.get(name, 0)) for name in self.variables]) for table in (model.active, model.inertia)
        ]
        outputs = {
            "position": position, "J": al.jacobian(position, q[1]), "velocity": velocity,
            "A": al.jacobian(velocity, w[1]), "bias": al.rate(velocity, moving, along), "rates": rates,
            "active": forces[0], "M": -al.jacobian(forces[1], dw[1]),
        }  # fmt: skip
        dense = {key: ca.densify(al.to_sx(array)) for key, array in outputs.items()}
        shapes = {"t": (), **{key: array.shape for key, array in outputs.items()}}
        columns = {"t": t[0], "q": q[0], "w": w[0], "p": p[0]}
        return compile_function("node_model", columns, dense, batch=False, shapes=shapes)

    def __call__(self, t: float, q: np.ndarray, w: np.ndarray | None = None) -> Any:
        """All outputs of the kernel at a state."""
        return self.kernel(t, q, np.zeros(len(self.w_names)) if w is None else w, self.parameters)

    def accelerations(self, t: float, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """ẇ of a free motion:  Cᵀ (M ẇ − f) = 0,  A ẇ + (Ȧ w + ḃ) = 0."""
        seen = self(t, q, w)
        A, M = np.asarray(seen.A), np.asarray(seen.M)
        C = null_space(A)
        left = np.concatenate([C.T @ M, A])
        right = np.concatenate([C.T @ np.asarray(seen.active), -np.asarray(seen.bias)])
        return np.linalg.lstsq(left, right, rcond=None)[0]


def null_space(A: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """An orthonormal basis of what A maps to zero."""
    if not A.size:
        return np.eye(A.shape[1])
    _, sizes, right = np.linalg.svd(A)
    return right[int(np.sum(sizes > tolerance * sizes[0])) :].T
