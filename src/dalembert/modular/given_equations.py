"""Leaves whose equations are known: given rows, with or without multipliers (case 1A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.arguments import public
from dalembert.errors import ModelError, Problem
from dalembert.expressions import derivative, replaced, symbols_of
from dalembert.modular.own_rows import own_rows
from dalembert.modular.subsystem import Subsystem

__all__ = ["equations"]


@public
def equations(
    name: str,
    variables: Mapping[str, int],
    residuals: Mapping[str, Any],
    *,
    invariants: Sequence[Any] = (),
    kinematics: Mapping[str, Any] | None = None,
    multipliers: str = "",
    parameters: Mapping[str, float] | None = None,
) -> Subsystem:
    """A leaf from its equations of motion, one row for each variable of the highest order.

    Rows may hold multipliers of the invariants, linearly; they are premultiplied by the complement, which removes the
    multipliers, so they are left out here after it was checked that it does.

    Args:
        variables: names and orders, e.g. ``{"x": 0, "y": 0, "i": 1}``.
        residuals: rows that are zero, as forces: active minus inertia, e.g. ``{"x": "-m*x.dd + 2*x*lam"}``.
        kinematics: rates of coordinates by quasi-velocities.
        multipliers: names of the multipliers.

    Raises:
        ModelError: if the multipliers do not act along the invariants.
    """
    leaf = Subsystem(name)
    for key, value in (parameters or {}).items():
        leaf.parameters(**{key: value})
    for key, order in variables.items():
        leaf.variable(key, order)
    names = multipliers.replace(",", " ").split()
    if names:
        leaf.input(" ".join(names))
    if kinematics:
        leaf.kinematics(kinematics)
    for expression in invariants:
        leaf.invariant(expression)
    rows = {leaf._variable(key): leaf._formula(value) for key, value in residuals.items()}  # pyright: ignore[reportPrivateUsage]
    if names:
        symbols = [sp.Symbol(key, real=True) for key in names]
        _check(leaf, rows, symbols)
        rows = {key: replaced(value, dict.fromkeys(symbols, sp.S.Zero)) for key, value in rows.items()}
        for key in names:
            leaf._inputs.remove(key)  # pyright: ignore[reportPrivateUsage]
    leaf.effective_forces({sp.Symbol(key, real=True): value for key, value in rows.items()})
    return leaf


def _check(leaf: Subsystem, rows: dict[str, sp.Expr], symbols: list[sp.Symbol]) -> None:
    """Raise unless the coefficients of the multipliers are combinations of rows of A, at consistent states."""
    trial = leaf.equations(order=2)
    own = own_rows(trial.A.al, leaf.description(), 2)
    for values in trial.witnesses:
        A = own.A.map(lambda v, w=values: float(v.subs({s: w[s.name] for s in v.free_symbols})), NUMPY).to_array()
        for symbol in symbols:
            column = np.zeros(len(own.A.columns))
            for j, label in enumerate(own.A.columns):
                entry = derivative(rows.get(label.name, sp.S.Zero), symbol)
                if symbol in symbols_of(entry):
                    raise ModelError(Problem(f"leaf {leaf.name!r}: the multiplier {symbol} must occur linearly"))
                column[j] = float(cast(Any, entry).subs({s: values[s.name] for s in symbols_of(entry)}))
            coefficients = np.linalg.lstsq(A.T, column, rcond=None)[0]
            if np.abs(A.T @ coefficients - column).max(initial=0.0) > 1e-8 * max(1.0, np.abs(column).max()):
                raise ModelError(
                    Problem(
                        f"leaf {leaf.name!r}: the multiplier {symbol} does not act along the invariants",
                        fix="rows hold Aᵀλ; give all invariants to which the multipliers belong",
                    )
                )
