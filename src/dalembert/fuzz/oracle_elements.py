"""Laws of what transmits and touches, from plain geometry, for the independent solution.

A constraint is a number g of the poses. Along constant world twists V poses move by exponentials, and A = 0 there:

    g̈ = row · A + bias,    row · V = dg/ds along V,    bias = d²g/ds² along V now

both by central differences of eighth order, so that no derivative of ours is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import scipy.linalg
import sympy as sp
from scipy.interpolate import CubicSpline

from dalembert.expressions import TIME, parameter
from dalembert.expressions.curves import TableCall
from dalembert.expressions.symbols import reference

__all__ = ["FORCE_LAWS", "GEOMETRY", "Gap", "derivatives", "gap_of", "rolling_slip", "with_tables"]

FIRST = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
SECOND = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
CENTER = -205 / 72
STEP = 0.02  # of the time in which a body turns by a radian
SHORTER, ROUNDED = 3, 1e-12  # how often steps are halved, and a relative change at which that is enough

Poses = dict[str, tuple[np.ndarray, np.ndarray]]  # (R, p) of bodies by name
Gap = tuple[float, np.ndarray, np.ndarray]  # apart by, where, gradient for a motion of the second body


def with_tables(formula: Any, tables: dict[str, tuple[Any, Any]]) -> Any:
    """A formula with the values of the tables that it calls at numbers."""
    while calls := [c for c in formula.atoms(TableCall) if not c.args[1].atoms(TableCall)]:
        formula = formula.xreplace({c: sp.Float(_table(tables[c.table][0], float(c.args[1]), c.order)) for c in calls})
    return formula


def _table(given: Any, x: float, order: int) -> float:
    knots, y = np.array(given.x), np.array(given.y)
    if given.kind == "periodic":
        curve = CubicSpline(knots, [*y[:-1], y[0]], bc_type="periodic")
        return float(curve(knots[0] + (x - knots[0]) % (knots[-1] - knots[0]), order))
    inside = min(max(x, knots[0]), knots[-1])
    if given.kind == "cubic" and len(knots) > 2:
        curve = CubicSpline(knots, y)
        value, slope = float(curve(inside)), float(curve(inside, 1))
        if x == inside and order:
            return float(curve(x, order))
    else:
        i = min(max(int(np.searchsorted(knots, inside, side="right")) - 1, 0), len(knots) - 2)
        slope = float((y[i + 1] - y[i]) / (knots[i + 1] - knots[i]))
        value = float(y[i] + slope * (inside - knots[i]))
    slope = 0.0 if x != inside and given.outside == "hold" else slope
    return value + slope * (x - inside) if order == 0 else slope if order == 1 else 0.0


def _moved(poses: Poses, twists: dict[str, np.ndarray], s: float, length: float) -> Poses:
    """After a time s along constant world twists about the world origin; exponentials want numbers about 1."""
    found = dict(poses)
    for name, V in twists.items():
        w, v = s * V[:3], s / length * V[3:]
        screw = np.array([[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0.0] * 4])
        E = np.asarray(scipy.linalg.expm(screw), dtype=float)
        R, p = poses[name]
        found[name] = (E[:3, :3] @ R, E[:3, :3] @ p + length * E[:3, 3])
    return found


def derivatives(
    g: Callable[[float, Poses], float], t: float, poses: Poses, twists: dict[str, np.ndarray], units: Any
) -> tuple[float, float]:
    """dg/ds and d²g/ds² along twists, for units of length and time."""
    fastest = max([0.0, *(np.abs(V[:3]).max() for V in twists.values())])
    for name, V in twists.items():
        v = V[3:] + np.cross(V[:3], poses[name][1])
        fastest = max(fastest, float(np.abs(v).max()) / units.length)
    rate = max(1 / units.time, fastest)
    h, closest = STEP / rate, np.inf
    found = _differences(g, t, poses, twists, h, units.length)
    # Points far from their body, or surfaces that are small, want shorter steps, until rounding has its say.
    for _ in range(SHORTER):
        h /= 2
        finer = _differences(g, t, poses, twists, h, units.length)
        change = rate * abs(finer[0] - found[0]) + abs(finer[1] - found[1])
        if change >= closest:
            break
        found, closest = finer, change
        if change <= ROUNDED * (rate * abs(found[0]) + abs(found[1])):
            break
    return found


def _differences(
    g: Callable[[float, Poses], float], t: float, poses: Poses, twists: dict[str, np.ndarray], h: float, length: float
) -> tuple[float, float]:
    """dg/ds and d²g/ds² along twists, of order eight."""
    at = {k: g(t + k * h, _moved(poses, twists, k * h, length)) for k in (-4, -3, -2, -1, 0, 1, 2, 3, 4)}
    first = sum(w * (at[k] - at[-k]) for k, w in enumerate(FIRST, 1)) / h
    second = (CENTER * at[0] + sum(w * (at[k] + at[-k]) for k, w in enumerate(SECOND, 1))) / h**2
    return first, second


# Constraints: what each must keep at zero, as functions of (t, poses); `rolling` ones of velocities, see Oracle.


def _drawn_points(oracle: Any, bodies: Sequence[str], at: Sequence[Any]) -> list[tuple[str, np.ndarray]]:
    """Points of bodies in their own axes, given in the drawing."""
    found: list[tuple[str, np.ndarray]] = []
    for body, point in zip(bodies, at, strict=True):
        X = oracle.mechanism.body_pose(body, oracle.scope)
        found.append((body, X.R.T @ (np.array([oracle.number(x) for x in point]) - X.p)))
    return found


def _drawn_axis(oracle: Any, body: str, axis: Any) -> np.ndarray:
    """A direction of the drawing in the axes of a body, of length one."""
    a = oracle.mechanism.body_pose(body, oracle.scope).R.T @ np.array([oracle.number(x) for x in axis])
    return a / np.linalg.norm(a)


def _now(poses: Poses, point: tuple[str, np.ndarray]) -> np.ndarray:
    R, p = poses[point[0]]
    return R @ point[1] + p


def _cable(oracle: Any, cable: Any) -> Callable[[float, Poses], float]:
    points = _drawn_points(oracle, cable.bodies, cable.at)
    radii = [oracle.number(r) for r in cable.radii] or [0.0] * len(points)
    wheel = next((i for i, r in enumerate(radii) if r), 0)
    axis = _drawn_axis(oracle, cable.bodies[wheel], cable.axis)
    drawn = {name: _drawn_pose(oracle, name) for name in {"ground", *cable.bodies}}

    def path(poses: Poses) -> tuple[float, list[float]]:
        """Length of the straight parts, and angles of the wheels about which it lies, seen along the axis."""
        n = poses[cable.bodies[wheel]][0] @ axis
        x = np.cross(np.eye(3)[np.argmin(np.abs(n))], n)
        x /= np.linalg.norm(x)
        y = np.cross(n, x)
        straight, directions = 0.0, list[float]()
        for (a, r_a), (b, r_b) in pairwise(zip([_now(poses, point) for point in points], radii, strict=True)):
            apart, turn = float(np.linalg.norm(b - a)), r_b - r_a
            straight += float(np.sqrt(apart**2 - turn**2))
            directions.append(float(np.arctan2((b - a) @ y, (b - a) @ x) - np.arcsin(turn / apart)))
        return straight, [after - before for before, after in pairwise(directions)]

    before, angles = path(drawn)

    def g(t: float, poses: Poses) -> float:
        now, turned = path(poses)
        rest = oracle.number(cable.feed.xreplace({TIME: sp.Float(t)})) + before - now
        for r, old, new in zip(radii[1:-1], angles, turned, strict=True):
            rest -= r * float(np.angle(np.exp(1j * (new - old))))
        return rest

    return g


def _drawn_pose(oracle: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    X = oracle.mechanism.body_pose(name)
    return X.R, X.p


def _ellipsoid(oracle: Any, rolling: Any) -> tuple[Any, Callable[[Poses], tuple[float, np.ndarray, np.ndarray]]]:
    """Squares of the half axes; and the height above the plane, the lowest point and the normal."""
    x, y, z = (parameter(name) for name in "xyz")
    square: Any = cast(Any, sp).expand(rolling.surface**2)
    squares = np.array([float(square.coeff(d, 2)) for d in (x, y, z)])
    under, egg = rolling.bodies
    (_, center), (_, foot) = _drawn_points(oracle, (egg, under), (rolling.center, rolling.center))
    X_1, X_2 = (oracle.mechanism.body_pose(name, oracle.scope) for name in (under, egg))
    n_1 = _drawn_axis(oracle, under, rolling.axis)
    drawn_n = X_1.R @ n_1
    down = float(np.sqrt(drawn_n @ (squares * drawn_n)))

    def contact(poses: Poses) -> tuple[float, np.ndarray, np.ndarray]:
        n = poses[under][0] @ n_1
        R = poses[egg][0] @ X_2.R.T
        B = R @ np.diag(squares) @ R.T
        lowest = _now(poses, (egg, center)) - B @ n / np.sqrt(n @ B @ n)
        return float(n @ (lowest - _now(poses, (under, foot)))) + down, lowest, n

    return squares, contact


def _rolling(oracle: Any, rolling: Any) -> Callable[[float, Poses], float]:
    _, contact = _ellipsoid(oracle, rolling)
    return lambda t, poses: contact(poses)[0]


def rolling_slip(oracle: Any, rolling: Any) -> Callable[[Poses, dict[str, np.ndarray]], np.ndarray]:
    """Velocity of the surface against the plane at the contact, along two tangents of the plane."""
    _, contact = _ellipsoid(oracle, rolling)
    under, egg = rolling.bodies
    n = _drawn_axis(oracle, under, rolling.axis)
    tangents = np.linalg.svd(n[None, :])[2][1:]

    def slip(poses: Poses, twists: dict[str, np.ndarray]) -> np.ndarray:
        _, c, _ = contact(poses)
        v = [twists[name][3:] + np.cross(twists[name][:3], c) for name in (under, egg)]
        return (tangents @ poses[under][0].T) @ (v[1] - v[0])

    return slip


def gap_of(oracle: Any, contact: Any) -> Callable[[Poses], Gap]:
    """Two surfaces that touch."""
    (first, second), surfaces = contact.bodies, contact.surfaces
    places = _drawn_points(oracle, contact.bodies, [surface.at for surface in surfaces])
    axes = [
        None if s.axis is None else _drawn_axis(oracle, b, s.axis)
        for b, s in zip(contact.bodies, surfaces, strict=True)
    ]
    kinds = tuple("sphere" if surface.kind == "point" else surface.kind for surface in surfaces)

    def gap(poses: Poses) -> Gap:
        a, b = (_now(poses, place) for place in places)
        d = b - a
        if kinds == ("sphere", "sphere"):
            r_a, r_b = (oracle.number(surface.radius) for surface in surfaces)
            apart = float(np.linalg.norm(d))
            n = d / apart
            if surfaces[0].inside:
                return r_a - apart - r_b, b + r_b * n, -n
            return apart - r_a - r_b, a + r_a * n, n
        n = poses[first][0] @ axes[0]
        if kinds == ("plane", "sphere"):
            r = oracle.number(surfaces[1].radius)
            return float(n @ d) - r, b - r * n, n
        if kinds == ("plane", "disc"):
            axis, r = poses[second][0] @ axes[1], oracle.number(surfaces[1].radius)
            down = -n + (n @ axis) * axis
            lowest = b + r * down / np.linalg.norm(down)
            return float(n @ (lowest - a)), lowest, n
        start = poses[first][0] @ _drawn_axis(oracle, first, surfaces[0].start)
        side = np.cross(n, start)
        x, y = float(d @ start), float(d @ side)
        rho, angle = float(np.hypot(x, y)), float(np.arctan2(y, x))
        law = surfaces[0].radius
        at = {parameter("angle"): sp.Float(angle)}
        r, slope = (oracle.number(f.xreplace(at)) for f in (law, law.diff(parameter("angle"))))
        out, around = (x * start + y * side) / rho, (x * side - y * start) / rho
        return rho - r, b, out - slope / rho * around

    return gap


def _touch(oracle: Any, contact: Any) -> Callable[[float, Poses], float]:
    gap = gap_of(oracle, contact)
    return lambda t, poses: gap(poses)[0]


def _balance(oracle: Any, balance: Any) -> Callable[[float, Poses], float]:
    """Undamped springs: the force along the line, by the sum of stiffnesses."""
    along = _drawn_axis(oracle, balance.body, balance.axis)
    ends, total = list[Any](), 0.0
    for spring, _ in balance.springs:
        points = _drawn_points(oracle, spring.bodies, spring.at)
        own, other = points if spring.bodies[0] == balance.body else points[::-1]
        k = oracle.number(spring.stiffness)
        ends.append((own, other, k, oracle.number(spring.length)))
        total += k

    def g(t: float, poses: Poses) -> float:
        pull = np.zeros(3)
        for own, other, k, rest in ends:
            d = _now(poses, other) - _now(poses, own)
            length = float(np.linalg.norm(d))
            pull = pull + k * (length - rest) / length * d
        return float((poses[balance.body][0] @ along) @ pull) / total

    return g


GEOMETRY: dict[str, Callable[[Any, Any], Callable[[float, Poses], float]]] = {
    "cable": _cable, "rolling-surface": _rolling, "rigid-contact": _touch, "balance": _balance,
}  # fmt: skip


# Forces


def _strut(oracle: Any, force: Any, act: Any) -> None:
    (p, v), (q, w) = (oracle.point(body, at) for body, at in zip(force.bodies, force.at, strict=True))
    length = float(np.linalg.norm(q - p))
    e = (q - p) / length
    own = {"length": length, "rate": float(e @ (w - v))}
    push = _with_own(oracle, force, force.push, own)
    act(force.bodies[0], p, -push * e)
    act(force.bodies[1], q, push * e)


def _torsion(oracle: Any, force: Any, act: Any) -> None:
    first, second = force.bodies
    n = oracle.poses[first].R @ _drawn_axis(oracle, first, force.axis)
    turned = [oracle.poses[b].R @ oracle.mechanism.body_pose(b).R.T for b in force.bodies]
    D = turned[1] @ turned[0].T
    axial = np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
    own = {"angle": float(np.arctan2(n @ axial, np.trace(D) - n @ D @ n)),
           "rate": float(n @ (oracle.V[second][:3] - oracle.V[first][:3]))}  # fmt: skip
    torque = _with_own(oracle, force, force.torque, own) * n
    for body, sign in zip(force.bodies, (-1, 1), strict=True):
        oracle.pulls(body, np.concatenate([sign * torque, np.zeros(3)]))


def _with_own(oracle: Any, force: Any, formula: Any, own: dict[str, float]) -> float:
    """A formula that names quantities of its own force."""
    swap = {reference(key, force.name): sp.Float(x) for key, x in own.items()}
    return oracle.value(formula.xreplace(swap | {parameter(key): sp.Float(x) for key, x in own.items()}))


def _moving_frame(oracle: Any, force: Any, act: Any) -> None:
    """On six points that have the mass, center and inertia of the body: −m (a + Ω̇ × r + Ω × (Ω × r) + 2 Ω × v)."""
    omega, rate, a = (
        np.array([oracle.value(x) for x in vector])
        for vector in (force.rotation, [x.diff(TIME) for x in force.rotation], force.acceleration)
    )
    inertia, X, V = oracle.mechanism.inertia(force.body), oracle.poses[force.body], oracle.V[force.body]
    if inertia.mass == 0 and not np.any(inertia.central):
        return
    second = np.trace(inertia.central) / 2 * np.eye(3) - inertia.central  # Σ m x xᵀ
    moments, axes = np.linalg.eigh(second)
    for moment, axis in zip(moments, axes.T, strict=True):
        reach = np.sqrt(max(3 * moment, 0.0) / inertia.mass)
        for side in (-1, 1):
            r = X.R @ (inertia.com + side * reach * axis) + X.p
            v = V[3:] + np.cross(V[:3], r)
            acceleration = a + np.cross(rate, r) + np.cross(omega, np.cross(omega, r)) + 2 * np.cross(omega, v)
            act(force.body, r, -inertia.mass / 6 * acceleration)


def _one_sided(oracle: Any, force: Any, k: float, depth: float, rate: float) -> float:
    if depth <= 0:
        return 0.0
    n, d = oracle.value(force.exponent), oracle.value(force.dissipation)
    return max(0.0, k * depth**n * (1 + d * rate))


def _stop(oracle: Any, force: Any, act: Any) -> None:
    at, k = oracle.value(force.of), oracle.value(force.stiffness)
    slopes = {atom: oracle.value(force.of.diff(atom)) for atom in oracle.named(force.of)}
    rate = sum(slope * oracle.quantity(atom)[1] for atom, slope in slopes.items())
    push = 0.0
    if force.lower is not None:
        push += _one_sided(oracle, force, k, oracle.value(force.lower) - at, -rate)
    if force.upper is not None:
        push -= _one_sided(oracle, force, k, at - oracle.value(force.upper), rate)
    for atom, slope in slopes.items():
        oracle.pull(atom, push * slope)


def _contact(oracle: Any, force: Any, act: Any) -> None:
    first, second = force.bodies
    distance, point, g = gap_of(oracle, force)({name: (X.R, X.p) for name, X in oracle.poses.items()})
    v = [oracle.V[name][3:] + np.cross(oracle.V[name][:3], point) for name in force.bodies]
    slip = v[1] - v[0]
    push = _one_sided(oracle, force, oracle.value(force.stiffness), -distance, -float(g @ slip))
    total = push * g
    if force.friction != 0 and push:
        along = slip - g * (g @ slip) / (g @ g)
        limit = oracle.value(force.slip)
        speed = float(np.sqrt(along @ along + 1e-6 * limit**2))
        total = total - oracle.value(force.friction) * push * np.linalg.norm(g) * np.tanh(speed / limit) / speed * along
    act(second, point, total)
    act(first, point, -total)


# A law is given the oracle, the force and act(body, point, force); a stop pulls at coordinates through the oracle.
FORCE_LAWS: dict[str, Callable[[Any, Any, Any], None]] = {
    "strut": _strut, "torsion": _torsion, "moving-frame": _moving_frame, "stop": _stop, "contact": _contact,
}  # fmt: skip
