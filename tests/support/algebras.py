"""One function, evaluated in every algebra on the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY, get_algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.spatial import Pose

ALGEBRAS = ("numpy", "sympy", "casadi")

# Round-off of one evaluation of a few dozen operations on numbers of size one.
ROUND_OFF = 1e-13
# SymPy gets its numbers with this many digits, so it is also the more precise reference.
DIGITS = 30


def flat(result: Any) -> list[Any]:
    """All scalars of nested arrays, lists and poses, in order."""
    if isinstance(result, Pose):
        return flat(result.R) + flat(result.p)
    if isinstance(result, np.ndarray):
        return list(result.reshape(-1))
    if isinstance(result, (list, tuple)):
        return [element for part in result for element in flat(part)]
    return [result]


def run(algebra: str, function: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """``flat(function(al, *arrays))`` in floats, computed in the algebra of this name."""
    arrays = tuple(np.asarray(array, dtype=float) for array in arrays)
    if algebra == "numpy":
        return np.array([float(value) for value in flat(function(NUMPY, *arrays))])
    if algebra == "sympy":
        return _run_sympy(function, arrays)
    return _run_casadi(function, arrays)


def _run_sympy(function: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    al = get_algebra("sympy")
    given = []
    for array in arrays:
        values = np.empty(array.shape, dtype=object)
        for index in np.ndindex(*array.shape):
            values[index] = sp.Float(array[index], DIGITS)
        given.append(values if array.shape else values.item())
    return np.array([float(value) for value in flat(function(al, *given))])


def _run_casadi(function: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    return trace_casadi(function, *arrays)(*arrays)


def trace_casadi(function: Callable[..., Any], *arrays: np.ndarray) -> Callable[..., np.ndarray]:
    """The function over CasADi symbols of these shapes, to be called with numbers many times."""
    symbols, given = [], []
    for i, array in enumerate(arrays):
        symbol, values = CASADI.symbols(f"x{i}", *(array.shape or (1,)))
        symbols.append(symbol)
        given.append(values if array.shape else values[0])
    traced = ca.Function("f", symbols, [CASADI.to_sx(np.array([*flat(function(CASADI, *given)), 0.0], dtype=object))])
    return lambda *numbers: np.array(traced(*(np.reshape(array, -1) for array in numbers))).reshape(-1)[:-1]


def run_symbolically(function: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """As ``run("sympy", …)``, but traced over symbols first and filled in with numbers afterwards."""
    al = get_algebra("sympy")
    values: dict[sp.Symbol, float] = {}
    given = []
    for i, array in enumerate(np.asarray(a, dtype=float) for a in arrays):
        symbols = np.empty(array.shape, dtype=object)
        for index in np.ndindex(*array.shape):
            symbol = sp.Symbol("x" + "_".join(map(str, (i, *index))), real=True)
            symbols[index], values[symbol] = symbol, array[index]
        given.append(symbols if array.shape else symbols.item())
    names = list(values)
    evaluate = sp.lambdify(names, [sp.sympify(value) for value in flat(function(al, *given))], "numpy")
    return np.array(evaluate(*values.values()), dtype=float)
