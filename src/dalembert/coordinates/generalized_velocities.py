"""Quasi-velocities: independent combinations of the rates,  u = Y(t, q) q̇ + Z(t, q).

Reference: M. H. Yoosefian Nooshabadi, H. Nejat Pishkenari, "Development of an efficient formulation for Volterra's
equations of motion for multibody dynamical systems", eq. (3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.coordinates.moving import still
from dalembert.errors import ModelError, Problem
from dalembert.expressions import references, to_text
from dalembert.expressions.symbols import JOINT_QUANTITIES, parameters_of

if TYPE_CHECKING:
    from dalembert.coordinates.base import Kinematics
    from dalembert.coordinates.generalized import GeneralizedCoordinates

__all__ = ["check_velocities", "quasi_velocities"]

TRIALS = 3  # of linearity; a nonlinear formula passes one with probability zero
LINEAR = 1e-9  # relative; round-off of a formula is about 1e-15


def quasi_velocities(
    coordinates: GeneralizedCoordinates, tree: Kinematics, t: Any, q: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, Y and Z:  those that were asked for, else the natural ones, which have one row for each velocity that the
    coordinates can have: rates of joints and positions, and of every ball the angular velocity ω in moved axes.
    """
    if not coordinates.velocities:
        return _natural(coordinates, tree, q)
    tree, formulas = tree.at(t), coordinates.velocities

    def values(u: np.ndarray) -> np.ndarray:
        motion = still(tree, t, q, u, tree.states(q, u))
        return tree.al.array([motion.evaluate(formula) for formula in formulas.values()])

    Z = values(tree.al.zeros(coordinates.nv))
    return list(formulas), tree.al.columns(lambda u: values(u) - Z, coordinates.nv), Z


def _natural(
    coordinates: GeneralizedCoordinates, tree: Kinematics, q: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    al, n = tree.al, coordinates.nv
    turns = {turn.at.start: turn for turn in coordinates.turns}
    names: list[str] = []
    rows: list[np.ndarray] = []
    k = 0
    while k < n:
        turn = turns.get(k)
        if turn is None:
            names.append(f"d/dt {coordinates.labels()[1][k]}")
            rows.append(al.eye(n)[k])
            k += 1
            continue
        of = f"_{turn.joint}" if len(turns) > 1 else ""
        for axis, omega in zip("xyz", turn.described.omega(al, q[turn.at]), strict=True):
            row = al.zeros(n)
            row[turn.at] = omega
            names.append(f"omega_{axis}{of}")
            rows.append(row)
        k = turn.at.stop
    return names, np.stack(rows) if rows else al.zeros(0, n), al.zeros(len(rows))


def check_velocities(coordinates: GeneralizedCoordinates) -> None:
    """Raise ModelError, naming all that is wrong: unknown names, and formulas that are not linear in the rates."""
    formulas = coordinates.velocities
    found = [problem for name, formula in formulas.items() for problem in _unknown(coordinates, name, formula)]
    if not found and formulas:
        found = _nonlinear(coordinates)
    if found:
        raise ModelError(found)


def _unknown(coordinates: GeneralizedCoordinates, name: str, formula: sp.Expr) -> list[Problem]:
    flat = coordinates.flat
    found: list[str] = []
    for symbol in sorted(parameters_of(formula), key=str):
        if symbol.name not in flat.parameters:
            found.append(f"unknown parameter {symbol.name!r}")
    for ref in sorted(references(formula), key=str):
        if ref.quantity not in JOINT_QUANTITIES:
            if ref.element != "ground" and ref.element not in flat.bodies:
                found.append(f"unknown body {ref.element!r}")
        elif ref.element not in flat.joints:
            found.append(f"unknown joint {ref.element!r}")
        else:
            joint = coordinates.nominal_joint(ref.element).joint
            if ref.index >= (joint.nq if ref.quantity == "q" else joint.nv):
                found.append(f"{ref.quantity}({ref.element}, {ref.index}) has no such index")
    where = f"velocities.{name}"
    return [Problem(f"velocity {name!r}: {what} in {to_text(formula)!r}", where) for what in found]


def _nonlinear(coordinates: GeneralizedCoordinates) -> list[Problem]:
    """f((a + b)/2) = (f(a) + f(b))/2 for rates a, b at random."""
    rng = np.random.default_rng(0)
    bad: set[str] = set()
    flat = coordinates.flat
    tree = coordinates.place(NUMPY, dict(flat.parameters)).at(rng.uniform(0.5, 1.0))
    for _ in range(TRIALS):
        q = rng.uniform(0.2, 1.0, coordinates.nq)
        a, b = rng.normal(size=(2, coordinates.nv))
        for name, formula in coordinates.velocities.items():
            try:
                x, y, z = (
                    float(still(tree, 0.7, q, u, tree.states(q, u)).evaluate(formula)) for u in (a, b, (a + b) / 2)
                )
            except (ArithmeticError, ValueError):
                continue  # outside the domain of, say, a root
            if abs(x + y - 2 * z) > LINEAR * (abs(x) + abs(y) + abs(z) + 1e-300):
                bad.add(name)
    return [
        Problem(
            f"velocity {name!r}: must be linear in the rates, but {to_text(coordinates.velocities[name])!r} is not",
            f"velocities.{name}",
            "write it as a sum of (formula of positions) * u(joint)",
        )
        for name in coordinates.velocities
        if name in bad
    ]
