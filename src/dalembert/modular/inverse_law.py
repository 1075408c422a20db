"""The open-loop law of a system, as mathematics: its inputs from its motion.

    u = −Cᵀ f*,    C.u = 1                                                                    (theorem 4.3, (4.15))

With another complement C the same is  u = −(∂f̄/∂u)⁻¹ f̄(u = 0),  which needs no choice of independent variables.

Reference: R. M. M. Orsino, thesis (2016), sec. 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.algebra.dense_solve import solve
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.errors import ModelError, Problem
from dalembert.modular.labeled_matrix import ONE
from dalembert.modular.variables import local

if TYPE_CHECKING:
    from dalembert.modular.modular_equations import ModularEquations

__all__ = ["inverse_law"]


def inverse_law(equations: ModularEquations, inputs: Sequence[Any] | None = None) -> dict[str, sp.Expr]:
    """Inputs as formulas of the variables, up to those of the highest order; see ``ModularEquations.definitions`` for
    names of long expressions.

    Args:
        inputs: names of the inputs to find, as many as degrees of freedom; all by default.

    Raises:
        ModelError: if their number does not fit, or they do not enter linearly and independently.
    """
    names = [str(getattr(name, "name", name)) for name in (equations.inputs if inputs is None else inputs)]
    unknown = [name for name in names if name not in equations.inputs]
    if unknown:
        known = ", ".join(equations.inputs) or "none"
        raise ModelError(Problem(f"subsystem {equations.name!r} has no input {unknown[0]!r}; it has {known}"))
    f_bar = equations.f_bar
    if len(names) != len(f_bar.rows):
        raise ModelError(
            Problem(
                f"subsystem {equations.name!r} has {len(f_bar.rows)} degrees of freedom, {len(names)} inputs are asked "
                f"for ({', '.join(names)})",
                fix="name as many inputs; da.inverse_dynamics takes more or fewer, too",
            )
        )
    symbols = [local(name) for name in names]
    hidden = {symbol for value in equations.definitions.values() for symbol in value.free_symbols}
    f = np.array([f_bar.get(row, ONE) for row in f_bar.rows], dtype=object)
    D = np.array([[sp.diff(value, symbol) for symbol in symbols] for value in f], dtype=object).reshape(len(f), -1)
    if hidden & {*symbols} or any(entry.free_symbols & {*symbols} for entry in D.flat):
        raise ModelError(
            Problem(f"subsystem {equations.name!r}: {', '.join(names)} do not enter the forces linearly"),
        )
    rest = np.array([[value.xreplace(dict.fromkeys(symbols, sp.S.Zero))] for value in f], dtype=object)
    if sp.Matrix(D).det(method="berkowitz") == 0:
        raise ModelError(
            Problem(f"subsystem {equations.name!r}: {', '.join(names)} do not act independently of each other")
        )
    return {name: -value for name, value in zip(names, solve(SYMPY, D, rest)[:, 0], strict=True)}
