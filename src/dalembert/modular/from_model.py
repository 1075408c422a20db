"""A ``da.Model`` as a leaf: its equations by any formalism that can be derived (case 1A)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.arguments import public
from dalembert.coordinates.moving import still
from dalembert.derivation import Derivation, derive
from dalembert.derivation.expression_graph import Definitions
from dalembert.errors import ModelError, Problem
from dalembert.expressions import difference
from dalembert.model import Mechanism
from dalembert.modular.drawings import Drawing
from dalembert.modular.subsystem import Subsystem

__all__ = ["leaf_of", "model"]

LONGEST = 60_000  # parts of one expression


@public
def model(model: Any, name: str | None = None, formulation: Any = "lagrange", **options: Any) -> Subsystem:
    """A model as a subsystem: its coordinates, velocities, constraints and equations.

    Variables carry the names of ``da.derive(model, formulation)``; rates of coordinates are ``q.d``. Multipliers are
    removed by the complement of the constraints.

    Args:
        formulation: e.g. ``lagrange``, ``kane``, ``gibbs-appell``, ``hamilton``, or any other that can be derived.
        options: of ``da.derive``.
    """
    given: dict[str, Any] = {"method": "graph", **options}
    return leaf_of(derive(model, formulation, **given), name)


def leaf_of(found: Derivation, name: str | None = None) -> Subsystem:
    """A derivation as a subsystem."""
    m = found._mathematics  # pyright: ignore[reportPrivateUsage]
    written = _written(found, m.definitions)
    if len(m.G):
        raise ModelError(
            Problem(
                f"{found.title} hides coordinates behind constant momenta, on which a system may act",
                fix="another formalism, e.g. formulation='lagrange'",
            )
        )
    if found.constraints and not len(m.D) and len(m.w) == len(found.rates):
        raise ModelError(
            Problem(
                f"{found.title} hold constraints and projected equations in one matrix; a system needs them apart",
                fix="another formalism, e.g. formulation='lagrange' or 'kane'",
            )
        )
    leaf = Subsystem(name or _word(found.name))
    swap: dict[Any, Any] = {found.time: sp.Symbol("t", real=True)}
    for symbol, value in found.parameters.items():
        if symbol not in m.abbreviations:
            swap[symbol] = leaf.parameters(**{_word(symbol.name): value})
    rates: dict[Any, Any] = {}
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
            leaf.kinematics({rates[qd]: written(value).xreplace(swap)})
    for k, equation in enumerate(found.constraints):
        value = difference(equation) if isinstance(equation, sp.Equality) else sp.S.Zero
        if value != 0:
            leaf.invariant(written(value).xreplace(swap), f"constraint{k + 1}")
    K, k, qdot = (_all(written, part) for part in (m.K, m.k, m.qdot))
    forces = k - K @ np.array(m.dw, dtype=object)
    if len(m.D):
        # Multipliers act along D, the constraints read D ∂q̇/∂w: so must the forces.
        forces = SYMPY.jacobian(qdot, np.array(m.w, dtype=object)).T @ forces
    leaf.effective_forces({swap[w]: value.xreplace(swap) for w, value in zip(m.w, forces, strict=True)})
    _draw(leaf, found, swap)
    return leaf


def _draw(leaf: Subsystem, found: Derivation, swap: dict[Any, Any]) -> None:
    """Bodies of the model, where its coordinates say."""
    setup = found.setup
    flat = setup.coordinates.flat
    tree = setup.coordinates.place(SYMPY, setup.parameters)
    q, u = np.array(setup.q, dtype=object), SYMPY.zeros(setup.coordinates.nv)
    poses = still(tree, setup.t, q, u, tree.states(q, u)).poses
    gravity = np.array([float(value) for value in Mechanism.nominal(flat, {}).gravity])
    up = tuple(-gravity / np.linalg.norm(gravity)) if gravity.any() else (0.0, 0.0, 1.0)
    for name in setup.coordinates.bodies:
        X = poses[name]
        formulas: Any = [sp.sympify(value, strict=True).xreplace(swap) for value in (*X.p, *X.R.reshape(-1))]
        leaf.add_drawing(Drawing(name, (tuple(formulas[:3]),), tuple(formulas[3:]), source=(flat, name), up=up))


def _written(found: Derivation, definitions: Definitions | None) -> Callable[[Any], Any]:
    """Writes expressions out that name others, unless that makes them too long to work with."""
    if definitions is None:
        return lambda value: value
    sizes: dict[Any, int] = {}

    def size(value: Any) -> int:
        return 1 + sum(sizes.get(node, 1) for node in sp.preorder_traversal(value))

    known: dict[Any, Any] = {}
    for symbol, formula in zip(definitions.symbols, definitions.formulas, strict=True):
        sizes[symbol] = size(formula)
        if sizes[symbol] <= LONGEST:
            known[symbol] = formula.xreplace(known)

    def written(value: Any) -> Any:
        if size(value) > LONGEST:
            raise ModelError(
                Problem(
                    f"the equations of {found.name!r} by {found.title} are too long to be written out",
                    fix="simulate the model with formulation='modular', or divide it into smaller ones",
                )
            )
        return value.xreplace(known)

    return written


def _all(change: Callable[[Any], Any], values: np.ndarray) -> np.ndarray:
    out = np.empty(values.shape, dtype=object)
    for index in np.ndindex(*values.shape):
        out[index] = change(values[index])
    return out


def _word(text: str) -> str:
    """A name that can stand in formulas."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "model"
    return word if word[0].isalpha() and word not in ("t", "pi", "d", "dd") else f"m_{word}"
