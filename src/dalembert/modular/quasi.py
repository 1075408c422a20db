"""Kinematics c̄⟨β+1⟩(t, q⟪β+1⟫, q̇⟨β⟩) = 0, explicit or implicit, solved for the rates q̇⟨β⟩.

Relations that are affine in the rates are solved as a linear system. There may be more relations than rates (more
quasi-velocities than coordinates): the others restrict the quasi-velocities and become invariants. Relations that are
not affine in the rates, or many, are not solved: the rates stay variables of their own and the relations become
invariants, which are affine once they are differentiated; where they are integrated, they are solved as numbers at each
evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.dense_solve import MOST_BY_MINORS, solve
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.errors import ModelError, Problem
from dalembert.expressions import symbols_of
from dalembert.modular.labels import split_rate

__all__ = ["Definition", "solve_kinematics"]

Definition = tuple[str, int, sp.Expr]

MOST = 8  # rates that are solved for with symbols; systems of more are solved as numbers


def solve_kinematics(
    owner: str, relations: list[tuple[str, sp.Expr]], orders: dict[str, int], numbers: Callable[[sp.Expr], float]
) -> tuple[list[Definition], list[tuple[str, sp.Expr]]]:
    """Rates from relations (each zero).

    Args:
        owner: name of the subsystem, for messages.
        relations: with the name of each.
        orders: of the variables that the subsystem declares.
        numbers: the value of an expression at a generic point, to see which relations are independent.

    Returns:
        definitions, and the relations that are left as invariants.
    """
    unknown = _rates([value for _, value in relations], orders)
    if not unknown:
        raise ModelError(
            Problem(
                f"subsystem {owner!r}: kinematics without a rate", fix="write x.d for the rate of x, or use invariant()"
            )
        )
    J = SYMPY.jacobian(np.array([value for _, value in relations], dtype=object), np.array(unknown, dtype=object))
    if any(entry.free_symbols & set(unknown) for entry in J.reshape(-1)):
        return [], relations
    if len(relations) < len(unknown):
        names = ", ".join(symbol.name for symbol in unknown)
        raise ModelError(
            Problem(
                f"subsystem {owner!r}: {len(relations)} kinematic relations for {len(unknown)} rates ({names})",
                fix="give as many relations as rates, or write the relation as an invariant of order 1",
            )
        )
    taken = _independent_rows(owner, J, unknown, numbers)
    still = dict.fromkeys(unknown, sp.S.Zero)
    constant: list[Any] = [relations[i][1].xreplace(still) for i in taken]
    rest = -np.array(constant, dtype=object)
    if len(unknown) > MOST:
        return [], relations
    rates = dict(zip(unknown, _solved(J[taken], rest), strict=True))
    definitions = [(*split_rate(symbol.name), value) for symbol, value in rates.items()]
    left: list[Any] = [(name, value.xreplace(rates)) for i, (name, value) in enumerate(relations) if i not in taken]
    return definitions, left


def _solved(J: np.ndarray, rest: np.ndarray) -> list[sp.Expr]:
    """J⁻¹ r in short forms: by minors, or over the field of rational functions of all that occurs."""
    if len(J) <= MOST_BY_MINORS:
        return list(solve(SYMPY, J, rest))
    table = sp.Matrix(len(J), len(J) + 1, [*np.column_stack([J, rest]).reshape(-1)]).to_DM(field=True)
    n = len(J)
    left, right = table.extract(list(range(n)), list(range(n))), table.extract(list(range(n)), [n])
    found: Any = left.lu_solve(right).to_Matrix()
    return [sp.factor_terms(value) for value in found]


def _rates(values: list[sp.Expr], orders: dict[str, int]) -> list[sp.Symbol]:
    """Derivatives of own variables, in the order of the variables."""
    found = {symbol for value in values for symbol in symbols_of(value)}
    place = {name: k for k, name in enumerate(orders)}
    rates = [s for s in found if split_rate(s.name)[1] > 0 and split_rate(s.name)[0] in place]
    return sorted(rates, key=lambda s: (place[split_rate(s.name)[0]], s.name))


def _independent_rows(owner: str, J: np.ndarray, unknown: list[Any], numbers: Callable[[sp.Expr], float]) -> list[int]:
    """Rows that determine all rates, the first ones first."""
    values = np.array([[numbers(entry) for entry in row] for row in J])
    taken: list[int] = []
    for i in range(len(values)):
        if np.linalg.matrix_rank(values[[*taken, i]]) > len(taken):
            taken.append(i)
        if len(taken) == len(unknown):
            return taken
    names = ", ".join(symbol.name for symbol in unknown)
    raise ModelError(
        Problem(
            f"subsystem {owner!r}: the kinematic relations do not determine the rates {names} (rank {len(taken)})",
            fix="add the missing relations",
        )
    )
