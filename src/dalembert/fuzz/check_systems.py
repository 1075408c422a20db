"""Systems of subsystems at one state: nested, flat and as machine code, against a solution without subsystems."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.analyses.simulation.simulate import simulate
from dalembert.errors import DalembertError
from dalembert.fuzz.check_models import AGREEMENT, WORST_CONDITION, Finding, Judged
from dalembert.fuzz.random_systems import Mechanics, System, build_system, mechanics_of

__all__ = ["check_system"]

SHORT = 1e-3  # s, of a run from the state on
MOVED = 1e-8  # of its size


def check_system(system: System) -> Judged:
    """Compare accelerations of a system at its state."""
    judged, mechanics = Judged(), mechanics_of(system)
    expected, condition = _solve(mechanics)
    if not condition < WORST_CONDITION:
        judged.skipped = "ill-conditioned state"
        return judged
    for nested in (True, False):
        _compare(judged, system, mechanics, expected, nested)
    return judged


def _solve(m: Mechanics) -> tuple[dict[str, float], float]:
    """M q̈ + c = F + Aᵀ λ,  A q̈ + γ = 0  with A = ∂ψ/∂q̇ of every row ψ; and the condition."""
    q, u, at = list(m.q.values()), list(m.u.values()), m.values
    kinetic: Any = sp.Matrix([m.kinetic])
    momenta: Any = kinetic.jacobian(u)
    mass = np.array(momenta.jacobian(u).subs(at), dtype=float)
    bias: Any = momenta.jacobian(q) * sp.Matrix(u) - kinetic.jacobian(q).T
    force = np.array((sp.Matrix(list(m.forces.values())) - bias).subs(at), dtype=float).ravel()
    positions: Any = sp.Matrix(m.positions)
    holonomic: Any = list(positions.jacobian(q) * sp.Matrix(u)) if m.positions else []
    rows: Any = sp.Matrix([*holonomic, *m.velocities])
    if not len(rows):
        return dict(zip(m.q, np.linalg.solve(mass, force).tolist(), strict=True)), float(np.linalg.cond(mass))
    A = np.array(rows.jacobian(u).subs(at), dtype=float)
    gamma = np.array((rows.jacobian(q) * sp.Matrix(u)).subs(at), dtype=float).ravel()
    n = len(A)
    K = np.block([[mass, -A.T], [A, np.zeros((n, n))]])
    found = np.linalg.lstsq(K, np.concatenate([force, -gamma]), rcond=None)[0]
    return dict(zip(m.q, found[: len(q)].tolist(), strict=True)), float(np.linalg.cond(K))


def _compare(judged: Judged, system: System, mechanics: Mechanics, expected: dict[str, float], nested: bool) -> None:
    name = "nested" if nested else "flat"
    try:
        root, places = build_system(system, nested)
        values = _start(system, mechanics, places)
        equations = root.equations()
        found = {str(label): float(value) for label, value in equations.acceleration(values).items()}
    except DalembertError as error:
        judged.findings.append(Finding(name, f"refused: {error}"))
        return
    size = max(1.0, *map(abs, expected.values()))
    kinds = {leaf["name"]: leaf for leaf in system["leaves"]}
    off = 0.0
    for key, value in expected.items():
        label, wanted = _label(kinds[key.partition(".")[0]], key, places[key], value, mechanics)
        off = max(off, abs(found[label] - wanted) / size)
    judged.comparisons += 1
    judged.worst = max(judged.worst, off)
    if not off <= AGREEMENT:
        judged.findings.append(Finding(name, f"disagreement {off:.1e} of {AGREEMENT:.0e} allowed"))
    if nested and not judged.findings:
        _native(judged, root, places, values, expected, system, mechanics)


def _label(leaf: Any, key: str, place: str, value: float, m: Mechanics) -> tuple[str, float]:
    """The variable of the highest order of a coordinate, and its value for a second rate."""
    head, _, last = place.rpartition(".")
    if leaf["kind"] == "planar":
        return (f"{head}.omega.d" if last == "th" else f"{head.rpartition('.')[0]}.v.{last}.d"), value
    if leaf["kind"] == "quasi":
        x, u, b = m.q[key], m.u[key], leaf["numbers"][1]
        # ẍ = k ẇ + k′ ẋ w
        k, slope = 2 + b * np.sin(m.values[x]) / 2, b * np.cos(m.values[x]) / 2
        return f"{head}.w.d", (value - slope * m.values[u] ** 2 / k) / k
    return f"{place}.dd", value


def _start(system: System, m: Mechanics, places: dict[str, str]) -> dict[str, float]:
    """Values of all variables at the state."""
    kinds, values = {leaf["name"]: leaf for leaf in system["leaves"]}, dict[str, float]()
    for key, place in places.items():
        leaf, (head, _, last) = kinds[key.partition(".")[0]], place.rpartition(".")
        q, u = m.values[m.q[key]], m.values[m.u[key]]
        values[place] = q
        if leaf["kind"] == "planar":
            values[f"{head}.omega" if last == "th" else f"{head.rpartition('.')[0]}.v.{last}"] = u
        elif leaf["kind"] == "quasi":
            values[f"{head}.w"] = u / (2 + leaf["numbers"][1] * np.sin(q) / 2)
        else:
            values[f"{place}.d"] = u
    return values


def _native(
    judged: Judged, root: Any, places: dict[str, str], values: dict[str, float], expected: dict[str, float],
    system: System, m: Mechanics,
) -> None:  # fmt: skip
    """A short run, by machine code, goes where the accelerations lead."""
    try:
        run = simulate(root, SHORT, initial=values, output_step=SHORT, rtol=1e-12, atol=1e-14, certify=False)
    except DalembertError as error:
        judged.findings.append(Finding("native code", f"refused: {error}"))
        return
    judged.comparisons += 1
    size = max(1.0, *map(abs, expected.values()))
    for key, place in places.items():
        q, u, a = m.values[m.q[key]], m.values[m.u[key]], expected[key]
        off = abs(float(run[place][-1]) - q - SHORT * u - SHORT**2 / 2 * a) / size
        if not off <= MOVED * max(1.0, size):
            judged.findings.append(Finding("native code", f"{place} is off by {off:.1e} after {SHORT:g} s"))
            return
