"""Ready-made leaves: ``da.leaves.rigid_body("B")`` and the like are subsystems to include.

| leaf | variables |
|---|---|
| ``rigid_body`` | ``v`` of the center of mass in world axes, ``omega`` in body axes, a position as asked |
| ``planar_body`` | ``v.x v.y omega`` and position, or nodes ``n1.x n1.y n2.x …`` |
| ``particle`` | ``x y z`` |
| ``dc_motor`` | ``omega``, ``i``; input ``voltage`` |
| ``kinetic_energy``, ``gibbs_appell`` | coordinates of your own, and one function |
| ``equations`` | equations that are known, with or without multipliers |
| ``linear`` | linear equations, given as matrices |
| ``model`` | a ``da.Model``, by any formalism that can be derived |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import numpy as np
import sympy as sp

from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.arguments import Between, public
from dalembert.errors import ModelError, Problem
from dalembert.modular.from_model import model
from dalembert.modular.given_equations import equations
from dalembert.modular.linear_leaf import linear
from dalembert.modular.subsystem import PartView, Subsystem
from dalembert.spatial import euler, quaternion
from dalembert.spatial.so3 import cross
from dalembert.values import SEQUENCE, is_finite

__all__ = [
    "dc_motor", "equations", "gibbs_appell", "kinetic_energy", "linear", "model", "particle", "planar_body", "point",
    "point_velocity", "rigid_body", "rotation",
]  # fmt: skip

AXES = {"x": 0, "y": 1, "z": 2}
Nodes = Annotated[int, Between(2, 100)]  # of a planar body; each adds equations with those of all others
_INERTIAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # kind: names of parameters; entries xx, yy, zz, xy, xz, yz
    "central": (("Ixx", "Iyy", "Izz"), ("Ixx", "Iyy", "Izz", "", "", "")),
    "spherical": (("I",), ("I", "I", "I", "", "", "")),
    "cylindrical x": (("Ia", "It"), ("Ia", "It", "It", "", "", "")),
    "cylindrical y": (("Ia", "It"), ("It", "Ia", "It", "", "", "")),
    "cylindrical z": (("Ia", "It"), ("It", "It", "Ia", "", "", "")),
    "xy plane": (("Ixx", "Iyy", "Izz", "Ixy"), ("Ixx", "Iyy", "Izz", "Ixy", "", "")),
    "xz plane": (("Ixx", "Iyy", "Izz", "Ixz"), ("Ixx", "Iyy", "Izz", "", "Ixz", "")),
    "yz plane": (("Ixx", "Iyy", "Izz", "Iyz"), ("Ixx", "Iyy", "Izz", "", "", "Iyz")),
    "general": (("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"), ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")),
}


@public
def rigid_body(
    name: str, coordinates: str | None = "position", gravity: Any = None, inertia: str = "central", **values: float
) -> Subsystem:
    """A free rigid body: ``v`` of its center of mass in world axes, ``omega`` in body axes (Newton-Euler).

        f_v = m g − m v̇,        f_ω = −(I ω̇ + ω × I ω)

    Args:
        coordinates: None; ``position`` (``p``); ``quaternion`` (``p``, ``q.w q.x q.y q.z`` with |q| = 1); a sequence of
            axes such as ``zxz`` (``p`` and angles ``a.a a.b a.c``, each about the moved axis); with ``redundant``
            after it the rates of the angles stay variables besides ``omega``.
        gravity: None; an axis such as ``-z``; components (three numbers or formulas, m/s²); or a number ξ (rad):
            g (sin ξ x + cos ξ z).
        inertia: ``central`` (principal axes), ``spherical``, ``cylindrical x``, ``xy plane`` (a plane of symmetry),
            ``general``; about the center of mass, in body axes.
        values: of the parameters ``m``, ``g`` and of the inertia (``Ixx``, ``Iyy`` …); products of inertia are entries
            of the matrix: Ixy = −∫ x y dm.
    """
    if inertia not in _INERTIAS:
        raise ModelError(Problem(f"leaf {name!r}: unknown inertia {inertia!r}; expected {', '.join(_INERTIAS)}"))
    names, entries = _INERTIAS[inertia]
    known: dict[str, float | None] = {"m": 1.0}
    known |= {key: 1.0 if len(set(key[1:])) < 2 else 0.0 for key in names}
    body = Subsystem(name)
    known |= _gravity_parameters(name, gravity)
    for key, value in _given(name, known, values).items():
        body.parameters(**{key: value})
    m = body.m
    xx, yy, zz, xy, xz, yz = (getattr(body, key) if key else sp.S.Zero for key in entries)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    v = np.array(body.quasi_velocity("v.x v.y v.z"), dtype=object)
    omega = np.array(body.quasi_velocity("omega.x omega.y omega.z"), dtype=object)
    rates = np.array([one.d for one in omega], dtype=object)
    momentum = matrix @ omega
    torque = -(matrix @ rates) - cross(omega, momentum)
    weight = _gravity(body, gravity)
    body.effective_forces({one: m * w - m * one.d for one, w in zip(v, weight, strict=True)})
    body.effective_forces(dict(zip(omega, torque, strict=True)))
    _place(body, coordinates, v, omega)
    body.up = _up(gravity)
    if coordinates is not None:
        turned = coordinates != "position"
        box = (
            _box([body.parameter_values().get(key) for key in ("m", "Ixx", "Iyy", "Izz")])
            if inertia == "central"
            else None
        )
        shape = {"kind": "box", "size": box} if turned and box is not None else None
        body.draw("body", at=list(body.p), rotation=rotation(body) if turned else None, shape=shape)
    return body


def _box(known: list[float | None]) -> Any:
    """Edges of the box that has these principal moments of inertia; None where none has."""
    if any(value is None for value in known):
        return None
    m, xx, yy, zz = (float(value) for value in known if value is not None)
    squares = [6 * (yy + zz - xx) / m, 6 * (zz + xx - yy) / m, 6 * (xx + yy - zz) / m] if m > 0 else []
    return tuple(math.sqrt(square) for square in squares) if squares and min(squares) > 0 else None


def _up(gravity: Any) -> tuple[float, float, float] | None:
    """Against gravity, where it is along an axis."""
    if not isinstance(gravity, str):
        return None
    up = [0.0, 0.0, 0.0]
    up[AXES[gravity.lstrip("+-")]] = 1.0 if gravity.startswith("-") else -1.0
    return (up[0], up[1], up[2])


def _place(body: Subsystem, coordinates: str | None, v: np.ndarray, omega: np.ndarray) -> None:
    """Coordinates of a body and their kinematics."""
    if coordinates is None:
        return
    sequence, _, extra = coordinates.partition(" ")
    if coordinates not in ("position", "quaternion") and (
        sequence not in euler.SEQUENCES or extra not in ("", "redundant")
    ):
        raise ModelError(
            Problem(
                f"leaf {body.name!r}: unknown coordinates {coordinates!r}",
                fix="None, 'position', 'quaternion', a sequence such as 'zxz', or 'zxz redundant'",
            )
        )
    p = body.coordinates("p.x p.y p.z")
    body.kinematics({x.d: u for x, u in zip(p, v, strict=True)})
    if coordinates == "quaternion":
        q = np.array(body.coordinates("q.w q.x q.y q.z"), dtype=object)
        body.kinematics({x.d: u for x, u in zip(q, quaternion.rate(SYMPY, q, omega), strict=True)})
        body.invariant(sum(x**2 for x in q) - 1, "norm")
        body.guess({q[0]: 0.9, q[1]: 0.2, q[2]: -0.3, q[3]: 0.25})
    elif coordinates != "position":
        angles = body.coordinates("a.a a.b a.c")
        body._sequence = sequence  # pyright: ignore[reportPrivateUsage]
        needed = _angular_velocity(sequence, angles)
        relations = [w - e for w, e in zip(omega, needed, strict=True)]
        if extra:
            for axis, relation in zip("xyz", relations, strict=True):
                body.invariant(relation, f"rate_{axis}")
        else:
            body.kinematics(*relations)


def _turn(axis: str, angle: Any) -> Any:
    c, s, i = sp.cos(angle), sp.sin(angle), AXES[axis]
    R = cast(Any, sp).eye(3)
    a, b = (i + 1) % 3, (i + 2) % 3
    R[a, a], R[a, b], R[b, a], R[b, b] = c, -s, s, c
    return R


def _angular_velocity(sequence: str, angles: Sequence[Any]) -> list[Any]:
    """ω in body axes of three turns, each about the moved axis."""
    omega = cast(Any, sp).zeros(3, 1)
    for axis, angle in zip(sequence, angles, strict=True):
        omega = _turn(axis, angle).T * omega
        omega[AXES[axis]] += angle.d
    return list(omega)


@public
def rotation(body: Subsystem | PartView) -> sp.Matrix:
    """The rotation matrix of a rigid body with orientation: body axes to world axes."""
    part: Any = body._part if isinstance(body, PartView) else body  # pyright: ignore[reportPrivateUsage]
    if "q.w" in part._orders:
        return sp.Matrix(quaternion.to_matrix(SYMPY, np.array(list(body.q), dtype=object)))
    if part._sequence is None:
        raise ModelError(
            Problem(
                f"leaf {part.name!r} has no orientation", fix="coordinates='quaternion' or a sequence such as 'zxz'"
            )
        )
    R = cast(Any, sp).eye(3)
    for axis, angle in zip(part._sequence, body.a, strict=True):
        R = R * _turn(axis, angle)
    return R


@public
def point(body: Subsystem | PartView, place: Sequence[Any] = (0, 0, 0)) -> sp.Matrix:
    """World position of a point of a rigid body, given from its center of mass in body axes (m)."""
    p = _column(body.p)
    return p + cast(Any, rotation(body)) * _column(place) if any(place) else p


@public
def point_velocity(body: Subsystem | PartView, place: Sequence[Any] = (0, 0, 0)) -> sp.Matrix:
    """World velocity of a point of a rigid body, given from its center of mass in body axes (m)."""
    v = _column(body.v)
    return v + cast(Any, rotation(body)) * _column(body.omega).cross(_column(place)) if any(place) else v


def _column(values: Sequence[Any]) -> Any:
    return sp.Matrix(list(values))


@public
def planar_body(
    name: str,
    coordinates: str | Nodes | None = "position",
    gravity: Any = None,
    center: tuple[int, int] = (1, 2),
    lengths: Mapping[tuple[int, int], float] | None = None,
    **values: float,
) -> Subsystem:
    """A rigid body in the plane: ``v.x v.y`` of its center of mass, ``omega``.

    Args:
        coordinates: None; ``position`` (``p.x p.y``); ``newton-euler`` (``p.x p.y th``); or a number n ≥ 2 of nodes
            (``n1.x n1.y n2.x …``), points of the body that others refer to.
        gravity: None; ``-y`` and the like; or two components (m/s²).
        center: nodes i and j by which the center of mass is given: from node i γ of the way to j, and ρ times that
            distance to the left of it (parameters ``gamma`` and ``rho``).
        lengths: distances of nodes to be kept (m); without, only velocities keep them.
        values: of the parameters ``m``, ``I``, ``g``, ``gamma``, ``rho``.
    """
    body = Subsystem(name)
    known: dict[str, float | None] = {"m": 1.0, "I": 1.0} | _gravity_parameters(name, gravity)
    nodes = coordinates if isinstance(coordinates, int) else 0
    if nodes:
        known |= {"gamma": 0.5, "rho": 0.0}
    for key, value in _given(name, known, values).items():
        body.parameters(**{key: value})
    vx, vy = body.quasi_velocity("v.x v.y")
    omega = body.quasi_velocity("omega")
    wx, wy = _gravity(body, gravity, 2)
    m, inertia = body.m, body.I
    body.effective_forces({vx: m * wx - m * vx.d, vy: m * wy - m * vy.d, omega: -inertia * omega.d})
    body.up = _up(gravity)
    if nodes:
        _nodes(body, nodes, center, lengths or {})
        corners = [(getattr(body, f"n{k}").x, getattr(body, f"n{k}").y) for k in range(1, nodes + 1)]
        body.draw("body", line=[*corners, corners[0]] if nodes > 2 else corners)
    elif coordinates in ("position", "newton-euler"):
        x, y = body.coordinates("p.x p.y")
        body.kinematics({x.d: vx, y.d: vy})
        turn = None
        if coordinates == "newton-euler":
            body.kinematics({body.coordinates("th").d: omega})
            turn = _turn("z", body.th)
        body.draw("body", at=(x, y), rotation=turn)
    elif coordinates is not None:
        raise ModelError(
            Problem(
                f"leaf {name!r}: unknown coordinates {coordinates!r}",
                fix="None, 'position', 'newton-euler' or a number",
            )
        )
    return body


def _nodes(body: Subsystem, n: int, center: tuple[int, int], lengths: Mapping[tuple[int, int], float]) -> None:
    """Nodes of a planar body: v_k = v + ω (ρ r_ij − γ ẑ × r_ij + ẑ × r_ik)."""
    i, j = center
    if n < 2 or not (1 <= i <= n and 1 <= j <= n and i != j):
        raise ModelError(
            Problem(f"leaf {body.name!r}: two different nodes of 1…{n} give the center of mass, got {center}")
        )
    place = {k: body.coordinates(f"n{k}.x n{k}.y") for k in range(1, n + 1)}
    (xi, yi), (xj, yj) = place[i], place[j]
    vx, vy, w, gamma, rho = body.v.x, body.v.y, body.omega, body.gamma, body.rho
    for k, (x, y) in place.items():
        body.invariant(x.d - vx - w * (rho * (xj - xi) + gamma * (yj - yi) - (y - yi)), f"v{k}x")
        body.invariant(y.d - vy - w * (rho * (yj - yi) - gamma * (xj - xi) + (x - xi)), f"v{k}y")
    for (a, b), value in lengths.items():
        length = body.parameters(**{f"l{a}{b}": value})
        (xa, ya), (xb, yb) = place[a], place[b]
        body.invariant((xa - xb) ** 2 + (ya - yb) ** 2 - length**2, f"length{a}{b}")
    body.independent(vx, vy, w)


@public
def particle(name: str, gravity: Any = None, *, axes: str = "xyz", **values: float) -> Subsystem:
    """A mass point with coordinates ``x y z`` (or fewer: ``axes="xy"``).

    Args:
        gravity: None, ``-z`` and the like, or components (m/s²).
        values: of the parameters ``m`` and ``g``.
    """
    body = Subsystem(name)
    for key, value in _given(name, {"m": 1.0} | _gravity_parameters(name, gravity), values).items():
        body.parameters(**{key: value})
    place = [body.coordinates(axis) for axis in axes]
    pull = _gravity(body, gravity, len(axes), axes)
    body.effective_forces({x: body.m * w - body.m * x.dd for x, w in zip(place, pull, strict=True)})
    known = dict(zip(axes, place, strict=True))
    body.up = _up(gravity)
    body.draw("mass", at=[known.get(axis, 0) for axis in "xyz"])
    return body


@public
def dc_motor(name: str = "motor", **values: float) -> Subsystem:
    """A direct-current motor: speed ``omega`` of the rotor, current ``i``, input ``voltage``.

        f_ω = k i − I ω̇ − b ω,        f_i = u − λ di/dt − ρ i − κ ω

    Args:
        values: of ``k`` (torque constant), ``I`` (inertia), ``b`` (damping), ``inductance``, ``resistance``, ``kappa``
            (constant of the back electromotive force).
    """
    motor = Subsystem(name)
    known: dict[str, float | None] = {
        "k": 0.1, "I": 1e-4, "b": 1e-4, "inductance": 1e-3, "resistance": 1.0, "kappa": 0.1,
    }  # fmt: skip
    k, inertia, damping, inductance, resistance, kappa = motor.parameters(**_given(name, known, values))
    omega, current = motor.quasi_velocity("omega i")
    voltage = motor.input("voltage")
    motor.effective_forces(
        {
            omega: k * current - inertia * omega.d - damping * omega,
            current: voltage - inductance * current.d - resistance * current - kappa * omega,
        }
    )
    return motor


@public
def kinetic_energy(
    name: str,
    coordinates: str,
    energy: Any,
    forces: Mapping[str, Any] | None = None,
    **values: float,
) -> Subsystem:
    """A leaf from its kinetic energy as a formula of coordinates and rates, e.g. ``"m*(x.d**2 + y.d**2)/2"``.

    Args:
        forces: active forces by coordinate.
        values: of parameters.
    """
    body = _moving(name, coordinates, forces, values)
    body.kinetic_energy(energy)
    return body


@public
def gibbs_appell(
    name: str, coordinates: str, function: Any, forces: Mapping[str, Any] | None = None, **values: float
) -> Subsystem:
    """A leaf from its Gibbs-Appell function, e.g. ``"m*(x.dd**2 + y.dd**2)/2"``; arguments as of ``kinetic_energy``."""
    body = _moving(name, coordinates, forces, values)
    body.gibbs_appell(function)
    return body


def _moving(name: str, coordinates: str, forces: Mapping[str, Any] | None, values: Mapping[str, float]) -> Subsystem:
    """A leaf with coordinates and active forces, still without inertia."""
    body = Subsystem(name)
    body.parameters(**values)
    body.coordinates(coordinates)
    body.effective_forces(forces or {})
    return body


def _gravity_parameters(name: str, gravity: Any) -> dict[str, float | None]:
    if gravity is None or isinstance(gravity, SEQUENCE):
        return {}
    if is_finite(gravity):
        return {"g": 9.80665, "xi": float(gravity)}
    if not isinstance(gravity, str) or gravity.lstrip("+-") not in AXES:
        raise ModelError(
            Problem(f"leaf {name!r}: gravity {gravity!r}", fix="None, '-z', components, or an angle (rad)")
        )
    return {"g": 9.80665}


def _gravity(body: Subsystem, gravity: Any, n: int = 3, axes: str = "xyz") -> list[Any]:
    """Components of the acceleration of gravity."""
    if gravity is None:
        return [sp.S.Zero] * n
    if isinstance(gravity, SEQUENCE):
        if len(gravity) != n:
            raise ModelError(Problem(f"leaf {body.name!r}: gravity needs {n} components, got {len(gravity)}"))
        return [body._formula(value) for value in gravity]  # pyright: ignore[reportPrivateUsage]
    if isinstance(gravity, (int, float)):
        return [body.g * sp.sin(body.xi), sp.S.Zero, body.g * sp.cos(body.xi)][:n]
    axis, sign = gravity.lstrip("+-"), -1 if gravity.startswith("-") else 1
    if axis not in axes[:n]:
        raise ModelError(Problem(f"leaf {body.name!r}: gravity along {axis!r}, but it has only {axes[:n]}"))
    return [sign * body.g if letter == axis else sp.S.Zero for letter in axes[:n]]


def _given(name: str, known: dict[str, float | None], values: Mapping[str, float]) -> dict[str, float | None]:
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ModelError(Problem(f"leaf {name!r}: unknown parameters {', '.join(unknown)}; it has {', '.join(known)}"))
    return {**known, **values}
