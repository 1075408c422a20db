"""Random systems of subsystems, as plain data: leaves of all sorts, what binds and pulls them, and how they are nested.

Their mechanics is known apart from them: a kinetic energy, forces, and rows that vanish, over the plain coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

import dalembert.modular.leaves as leaves
from dalembert.modular.subsystem import Subsystem

__all__ = ["Mechanics", "build_system", "mechanics_of", "random_system"]

KINDS = ("particle", "planar", "energy", "linear", "quasi")
MOST_LEAVES, MOST_FORCES = 5, 3
System = dict[str, Any]


def _number(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 3)


def random_system(seed: int) -> System:
    """Leaves with their numbers and states, forces, rows, and groups that are nested at random."""
    rng = np.random.default_rng([seed, 8])
    system: System = {"leaves": [], "forces": [], "rows": []}
    for k in range(int(rng.integers(2, MOST_LEAVES + 1))):
        numbers = [_number(rng, 0.5, 2.0) for _ in range(4)]
        leaf = {"kind": str(rng.choice(KINDS)), "name": f"L{k}", "numbers": numbers}
        n = len(_names(leaf))
        leaf["q"] = [_number(rng, -1, 1) for _ in range(n)]
        leaf["u"] = [_number(rng, -1, 1) for _ in range(n)]
        leaf["group"] = str(rng.choice(["", "A", "B", "A.C", "A.C.D"]))
        system["leaves"].append(leaf)
    known = [f"{leaf['name']}.{name}" for leaf in system["leaves"] for name in _names(leaf)]
    for _ in range(int(rng.integers(0, MOST_FORCES + 1))):
        a, b = (str(one) for one in rng.choice(known, 2, replace=False))
        system["forces"].append({"between": [a, b], "stiffness": _number(rng, 1, 20), "damping": _number(rng, 0, 1)})
    for _ in range(int(rng.integers(0, max(1, len(known) // 2)))):
        some = [str(one) for one in rng.choice(known, min(3, len(known)), replace=False)]
        kind = str(rng.choice(["position", "position", "velocity", "square"]))
        system["rows"].append({"kind": kind, "of": some, "numbers": [_number(rng, 0.5, 2) for _ in some]})
    _keep_positions(system)
    return system


def _keep_positions(system: System) -> None:
    """Velocities without those that rows of positions forbid, in place."""
    m = mechanics_of(system)
    if not m.positions:
        return
    A = np.array(sp.Matrix(m.positions).jacobian(list(m.q.values())).subs(m.values), dtype=float)
    u = np.array([m.values[symbol] for symbol in m.u.values()])
    left = (u - np.linalg.lstsq(A, A @ u, rcond=1e-9)[0]).tolist()
    for leaf in system["leaves"]:
        leaf["u"], left = left[: len(leaf["u"])], left[len(leaf["u"]) :]


def _names(leaf: Mapping[str, Any]) -> list[str]:
    """Coordinates of a leaf."""
    return {"particle": ["x", "y"], "planar": ["p.x", "p.y", "th"], "quasi": ["x"]}.get(leaf["kind"], ["a", "b"])


# Apart from subsystems: energies, forces and rows over plain symbols


@dataclass
class Mechanics:
    """Coordinates, rates, their values at the state; T, forces, rows of positions and of velocities.

    Attributes:
        q, u: symbols by name of the coordinate.
    """

    q: dict[str, sp.Symbol] = field(default_factory=lambda: dict[str, sp.Symbol]())
    u: dict[str, sp.Symbol] = field(default_factory=lambda: dict[str, sp.Symbol]())
    values: dict[sp.Symbol, float] = field(default_factory=lambda: dict[sp.Symbol, float]())
    kinetic: Any = sp.S.Zero
    forces: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())
    positions: list[Any] = field(default_factory=lambda: list[Any]())
    velocities: list[Any] = field(default_factory=lambda: list[Any]())


def mechanics_of(system: System) -> Mechanics:
    """What a system says, without subsystems."""
    m = Mechanics()
    for leaf in system["leaves"]:
        for name, q, u in zip(_names(leaf), leaf["q"], leaf["u"], strict=True):
            full = f"{leaf['name']}.{name}"
            m.q[full], m.u[full] = sp.Symbol(f"q {full}", real=True), sp.Symbol(f"u {full}", real=True)
            m.values |= {m.q[full]: q, m.u[full]: u}
            m.forces[full] = sp.S.Zero
        _leaf_mechanics(m, leaf)
    for force in system["forces"]:
        for name, value in _pull(force, m.q, m.u).items():
            m.forces[name] += value
    start = {name: m.values[symbol] for name, symbol in m.q.items()}
    for row in system["rows"]:
        if row["kind"] in ("position",):
            m.positions.append(_row(row, m.q, start))
        else:
            rates = {name: m.values[symbol] for name, symbol in m.u.items()}
            m.velocities.append(_rate_row(row, m.q, m.u, start, rates))
    return m


def _leaf_mechanics(m: Mechanics, leaf: Mapping[str, Any]) -> None:
    name, (a, b, c, d) = leaf["name"], leaf["numbers"]
    names = [f"{name}.{one}" for one in _names(leaf)]
    q, u = [m.q[one] for one in names], [m.u[one] for one in names]
    if leaf["kind"] in ("particle", "planar"):
        m.kinetic += a * (u[0] ** 2 + u[1] ** 2) / 2
        m.forces[names[1]] -= a * 9.81
        if leaf["kind"] == "planar":
            m.kinetic += b * u[2] ** 2 / 2
    elif leaf["kind"] == "energy":
        m.kinetic += _metric(q, u, leaf["numbers"])
    elif leaf["kind"] == "linear":
        m.kinetic += (a * u[0] ** 2 + 2 * 0.3 * u[0] * u[1] + b * u[1] ** 2) / 2
        m.forces[names[0]] -= c * q[0] + 0.2 * d * u[0]
        m.forces[names[1]] -= d * q[1]
    else:
        m.kinetic += a * (u[0] / _rate(q[0], b)) ** 2 / 2


def _metric(q: Sequence[Any], u: Sequence[Any], numbers: Sequence[float]) -> Any:
    a, b, c, _ = numbers
    return (a * (1 + sp.sin(q[1]) ** 2) * u[0] ** 2 + b * u[1] ** 2 + c * 0.3 * sp.cos(q[0]) * u[0] * u[1]) / 2


def _rate(x: Any, b: float) -> Any:
    """ẋ = k(x) w of a quasi-velocity."""
    return 2 + b * sp.sin(x) / 2


def _pull(force: Mapping[str, Any], q: Mapping[str, Any], u: Mapping[str, Any]) -> dict[str, Any]:
    """A spring and damper between two coordinates."""
    a, b = force["between"]
    value = force["stiffness"] * (q[b] - q[a]) + force["damping"] * (u[b] - u[a])
    return {a: value, b: -value}


def _row(row: Mapping[str, Any], q: Mapping[str, Any], start: Mapping[str, float]) -> Any:
    """A row of positions that holds at the start."""

    def formula(at: Mapping[str, Any], sine: Any) -> Any:
        parts = [n * at[name] + sine(n * at[name]) / 3 for n, name in zip(row["numbers"], row["of"], strict=True)]
        return sum(parts) + parts[0] * parts[-1] / 5

    return formula(q, sp.sin) - float(formula(start, np.sin))


def _rate_row(
    row: Mapping[str, Any], q: Mapping[str, Any], u: Mapping[str, Any], start: Mapping[str, float],
    rates: Mapping[str, float],
) -> Any:  # fmt: skip
    """A row of velocities that holds at the start, linear or not."""

    def formula(at: Mapping[str, Any], of: Mapping[str, Any], sine: Any) -> Any:
        parts = [(n + sine(at[name])) * of[name] for n, name in zip(row["numbers"], row["of"], strict=True)]
        return sum(part**2 for part in parts) if row["kind"] == "square" else sum(parts)

    return formula(q, u, sp.sin) - float(formula(start, rates, np.sin))


# The same by subsystems


def build_system(system: System, nested: bool = True) -> tuple[Subsystem, dict[str, str]]:
    """The system, its leaves in their groups or all at once; and where each coordinate is found."""
    root = Subsystem("system")
    groups = sorted({leaf["group"] for leaf in system["leaves"]} if nested else {""})
    paths = {part for group in groups for part in _upward(group)}
    made: dict[str, Subsystem] = {"": root} | {path: Subsystem(path.replace(".", "_")) for path in sorted(paths)}
    places: dict[str, str] = {}
    for leaf in system["leaves"]:
        group = leaf["group"] if nested else ""
        made[group].include(_leaf(leaf), leaf["name"])
        head = f"{group}." if group else ""
        places |= {f"{leaf['name']}.{name}": f"{head}{leaf['name']}.{name}" for name in _names(leaf)}
    for path in sorted(paths, key=len, reverse=True):
        owner, _, last = path.rpartition(".")
        made[owner].include(made[path], last)
    kinds = {leaf["name"]: leaf for leaf in system["leaves"]}
    q = {name: _found(root, place) for name, place in places.items()}
    u: dict[str, Any] = {name: symbol.d for name, symbol in q.items()}
    for force in system["forces"]:
        for name, value in _pull(force, q, u).items():
            leaf = kinds[name.partition(".")[0]]
            velocity = _velocity(root, places[name], leaf)
            share = _rate(q[name], leaf["numbers"][1]) if leaf["kind"] == "quasi" else 1
            root.effective_forces({velocity: value * share})
    m = mechanics_of(system)
    swap = {m.q[name]: q[name] for name in q} | {m.u[name]: u[name] for name in q}
    for row in (*m.positions, *m.velocities):
        root.invariant(row.xreplace(swap))
    return root, places


def _upward(group: str) -> list[str]:
    parts = group.split(".") if group else []
    return [".".join(parts[: k + 1]) for k in range(len(parts))]


def _found(root: Any, place: str) -> Any:
    for part in place.split("."):
        root = getattr(root, part)
    return root


def _velocity(root: Subsystem, place: str, leaf: Mapping[str, Any]) -> Any:
    """The variable on which forces on a coordinate act."""
    head, _, last = place.rpartition(".")
    if leaf["kind"] == "quasi":
        return _found(root, f"{head}.w")
    if leaf["kind"] == "planar":
        return _found(root, f"{head}.omega" if last == "th" else f"{head.rpartition('.')[0]}.v.{last}")
    return _found(root, place)


def _leaf(leaf: Mapping[str, Any]) -> Subsystem:
    name, (a, b, c, d) = leaf["name"], leaf["numbers"]
    if leaf["kind"] == "particle":
        return leaves.particle(name, "-y", axes="xy", m=a, g=9.81)
    if leaf["kind"] == "planar":
        return leaves.planar_body(name, "newton-euler", "-y", m=a, I=b, g=9.81)
    if leaf["kind"] == "linear":
        mass, damping, stiffness = [[a, 0.3], [0.3, b]], [[0.2 * d, 0], [0, 0]], [[c, 0], [0, d]]
        return leaves.linear(name, "a b", mass, damping, stiffness)
    part = Subsystem(name)
    if leaf["kind"] == "energy":
        q = part.coordinates("a b")
        part.kinetic_energy(_metric(q, [one.d for one in q], leaf["numbers"]))
        return part
    x, w = part.coordinates("x"), part.quasi_velocity("w")
    part.kinematics({x.d: _rate(x, b) * w})
    part.effective_forces({w: -a * w.d})
    return part
