"""A ``da.Model`` as a leaf: its equations by any formalism that can be derived (case 1A)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.derivation import Derivation, derive
from dalembert.errors import ModelError, Problem
from dalembert.modular.subsystem import Subsystem

__all__ = ["model"]


def model(model: Any, name: str | None = None, formulation: Any = "lagrange", **options: Any) -> Subsystem:
    """A model as a subsystem: its coordinates, velocities, constraints and equations.

    Variables carry the names of ``da.derive(model, formulation)``; rates of coordinates are ``q.d``. Multipliers are
    removed by the complement of the constraints.

    Args:
        formulation: e.g. ``lagrange``, ``kane``, ``gibbs-appell``, ``hamilton``, or any other that can be derived.
        options: of ``da.derive``.
    """
    found = derive(model, formulation, **{"simplify": False, "method": "symbolic", **options})
    return leaf_of(found, name)


def leaf_of(found: Derivation, name: str | None = None) -> Subsystem:
    """A derivation as a subsystem."""
    m = found._mathematics
    if len(m.G):
        raise ModelError(
            Problem(
                f"{found.title} hides coordinates behind constant momenta, on which a system may act",
                fix="another formalism, e.g. formulation='lagrange'",
            )
        )
    leaf = Subsystem(name or _word(found.name))
    swap: dict[Any, Any] = {found.time: sp.Symbol("t", real=True)}
    for symbol, value in found.parameters.items():
        if symbol not in m.abbreviations:
            swap[symbol] = leaf.parameters(**{_word(symbol.name): value})
    rates = {}
    for q, qd in zip(found.coordinates, found.rates, strict=False):
        swap[q] = leaf.coordinates(_word(q.name))
        rates[qd] = swap[q].d
    for w, dw in zip(m.w, m.dw, strict=True):
        if w in rates:
            swap[w], swap[dw] = rates[w], rates[w].d
        else:
            swap[w] = leaf.quasi_velocity(_word(w.name))
            swap[dw] = swap[w].d
    swap |= {qd: value for qd, value in rates.items() if qd not in swap}
    for symbol, value in m.abbreviations.items():
        swap[symbol] = value.xreplace(swap)
    for qd, value in zip(found.rates, m.qdot, strict=True):
        if qd not in set(m.w):
            leaf.kinematics({rates[qd]: value.xreplace(swap)})
    for k, equation in enumerate(found.constraints):
        value = sp.S.Zero if equation == sp.true else equation.lhs - equation.rhs
        if value != 0:
            leaf.invariant(value.xreplace(swap), f"constraint{k + 1}")
    forces = m.k - m.K @ np.array(m.dw, dtype=object)
    if len(m.A) and any(a != d for a, d in zip(m.A.reshape(-1), m.D.reshape(-1), strict=True)):
        # Multipliers act along D, the constraints read A = D ∂q̇/∂w: so must the forces.
        forces = SYMPY.jacobian(m.qdot, np.array(m.w, dtype=object)).T @ forces
    leaf.effective_forces({swap[w]: value.xreplace(swap) for w, value in zip(m.w, forces, strict=True)})
    return leaf


def _word(text: str) -> str:
    """A name that can stand in formulas."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "model"
    return word if word[0].isalpha() and word not in ("t", "pi", "d", "dd") else f"m_{word}"
