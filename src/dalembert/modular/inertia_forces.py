"""Inertia forces of a subsystem from one function: kinetic energy or the Gibbs-Appell function.

    f = −∂S/∂q̇⟨1⟩                                                                                               (A.1)
    f = −(∂q̇/∂q⟨1⟩)ᵀ (d/dt ∂T•/∂q̇ − ∂T•/∂q)                                                                    (A.2)
    f = N₀₀ ∂T/∂q + N₀₁ ∂T/∂q⟨1⟩ + N₁₁ d/dt ∂T/∂q⟨1⟩                                                     (A.6), (A.7)
    f = (1 + 1/ρ) N₀₀ ∂T/∂q + N₀₁ ∂T/∂q⟨1⟩ + (1/ρ) N₁₁ ∂T⁽ᵖ⁾/∂q⟨ρ|1⟩                                    (A.10), (A.11)

with  N₀₀ = (∂q̇/∂q⟨1⟩)ᵀ,  N₀₁ = ((∂q⟨1⟩/∂q − d/dt ∂q⟨1⟩/∂q̇) ∂q̇/∂q⟨1⟩)ᵀ,  N₁₁ = −(∂q⟨1⟩/∂q̇ ∂q̇/∂q⟨1⟩)ᵀ.  There may be
more quasi-velocities than coordinates. The last line is Nielsen's form (ρ = 1) and those of Mangeron and Deleanu.

Reference: R. M. M. Orsino, thesis (2016), appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.dense_solve import solve
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME, derivative, expanded, replaced
from dalembert.modular.description import Description
from dalembert.modular.variables import local

__all__ = ["appell_forces", "energy_forces", "nielsen_forces"]


class _Velocities:
    """Coordinates and quasi-velocities of a description, and how they are related."""

    def __init__(self, owner: str, d: Description, definitions: Mapping[Any, sp.Expr]):
        self.d = d
        self.coordinates = [family.name for family in d.families if family.order == 0]
        self.q = _vector([local(name) for name in self.coordinates])
        self.qd = _vector([local(name, 1) for name in self.coordinates])
        labels = d.own_labels(1)
        self.names = [label.name for label in labels]
        self.q1 = _vector([label.symbol for label in labels])
        self.rates = _vector([d.live(symbol) for symbol in self.qd])
        self.W = SYMPY.jacobian(self.rates, self.q1)  # ∂q̇/∂q⟨1⟩
        self.given = self._definitions(owner, definitions)

    def _definitions(self, owner: str, definitions: Mapping[Any, sp.Expr]) -> dict[Any, Any]:
        """q⟨1⟩ as functions of (t, q, q̇)."""
        given = {symbol: symbol for symbol in self.q1 if symbol in set(self.qd)}
        given |= dict(definitions)
        missing = [symbol for symbol in self.q1 if symbol not in given]
        if not missing:
            return given
        if len(self.q) != len(self.q1):
            names = ", ".join(symbol.name for symbol in missing)
            raise ModelError(
                Problem(
                    f"subsystem {owner!r}: {names} must be given in terms of rates",
                    fix="kinetic_energy(T, definitions={v: expression of x.d})",
                )
            )
        rest = self.rates - self.W @ self.q1
        return dict(zip(self.q1, solve(SYMPY, self.W, self.qd - np.array([expanded(r) for r in rest])), strict=True))

    def rate(self, values: np.ndarray) -> np.ndarray:
        """d/dt of functions of (t, q, q̇), in q̈ as it is."""
        out: list[Any] = []
        for value in values.reshape(-1):
            terms: list[Any] = [derivative(value, TIME)]
            for name in self.coordinates:
                terms += [derivative(value, local(name, k)) * local(name, k + 1) for k in (0, 1, 2)]
            out.append(sp.Add(*terms))
        return np.array(out, dtype=object).reshape(values.shape)

    def live(self, values: np.ndarray) -> np.ndarray:
        flat = [self.d.lively(value) for value in values.reshape(-1)]
        return np.array(flat, dtype=object).reshape(values.shape)


def _vector(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def energy_forces(owner: str, d: Description, T: sp.Expr, definitions: Mapping[Any, sp.Expr]) -> dict[str, sp.Expr]:
    """Inertia forces by (A.2): T as a function of rates, quasi-velocities replaced by their definitions (A.3)."""
    v = _Velocities(owner, d, definitions)
    own = replaced(T, {symbol: value for symbol, value in v.given.items() if symbol != value})
    momenta = SYMPY.gradient(own, v.qd)
    lagrange = v.live(v.rate(momenta) - SYMPY.gradient(own, v.q))
    forces = -(v.W.T @ lagrange) if len(v.q) else SYMPY.zeros(len(v.q1))
    return dict(zip(v.names, forces, strict=True))


def nielsen_forces(
    owner: str, d: Description, T: sp.Expr, definitions: Mapping[Any, sp.Expr], rho: int = 0
) -> dict[str, sp.Expr]:
    """Inertia forces by (A.7) (ρ = 0) or (A.11): T as a function of coordinates and quasi-velocities."""
    v = _Velocities(owner, d, definitions)
    forces: Any
    own, given = d.lively(T), _vector([v.given[symbol] for symbol in v.q1])
    by_rates, by_place = SYMPY.jacobian(given, v.qd), SYMPY.jacobian(given, v.q)
    turning = v.live(by_place - v.rate(by_rates))
    N00, N01, N11 = v.W.T, (turning @ v.W).T, -(v.live(by_rates) @ v.W).T
    T0, T1 = SYMPY.gradient(own, v.q), SYMPY.gradient(own, v.q1)
    if rho == 0:
        forces = N00 @ T0 + N01 @ T1 + N11 @ _vector([d.rate(value) for value in T1])
    else:
        raised = own
        for _ in range(rho):
            raised = d.rate(raised)
        tops = _vector([local(*_raised(symbol.name, rho - 1)) for symbol in v.q1])
        factor = sp.Rational(1, rho)
        forces = (1 + factor) * (N00 @ T0) + N01 @ T1 + factor * (N11 @ SYMPY.gradient(raised, tops))
    return dict(zip(v.names, forces, strict=True))


def _raised(name: str, times: int) -> tuple[str, int]:
    from dalembert.modular.labels import split_rate

    head, level = split_rate(name)
    return head, level + times


def appell_forces(d: Description, S: sp.Expr) -> dict[str, sp.Expr]:
    """Inertia forces by (A.1): S as a function of accelerations."""
    own = d.lively(S)
    return {label.name: -derivative(own, label.symbol) for label in d.own_labels(2)}
