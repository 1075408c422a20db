"""A tadpole tricycle that leans, as a tree of subsystems: T = {A = {B, H, P, Q}, W, FR, FL, SR, SL, KR, KL}.

    W   rear wheel                        A   rider and frame with what is hinged to it:
    FR  FL  front wheels                      B  rider and frame      H  handlebar
    SR  SL  steering bars                     P  Q  upper and lower transverse rods of the suspension
    KR  KL  knuckles

x ahead, y to the right, z down. Wheels are discs with a knife edge that roll without slip. The knuckles hang on both
rods, the steering bars lead from the handlebar to the knuckles, all by balls; wheels turn in revolute joints. At the
top there are 41 velocities and 44 rows: more than there should be for three freedoms, speed, lean and steer. The rows
contradict each other apart from the reference, as the clearances of the real tricycle show, so it is linearized by

    da.linearize(da.library.tricycle(), at={"x.d": "v"}, incompatible="least-squares")

The data are those that are printed; they do not close (the wheel centers are 55 mm off). Only offsets matter for the
linear model, but the heading A.psi seems to matter, too: leave it out by ``.without("A.psi")``. Weights mix meters and
radians: they decide the static stiffness, and so whether and where capsize becomes unstable.

Reference: R. M. M. Orsino, thesis (2016), sec. 5.2, table 5.1.
"""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from dalembert.modular import Subsystem, leaves

__all__ = ["tricycle"]

_GRAVITY = 9.81
_DATA = {
    "w": 1.075, "c": 0.08, "lam": math.radians(15.25), "rW": 0.253, "rF": 0.255,
    "lamP": math.radians(-2.5), "lamQ": math.radians(-2.5),
    "xB": 0.375, "zB": -0.950, "xH": 0.020, "zH": -0.820, "xh": -0.120, "yh": 0.015, "zh": -0.165,
    "xpo": 1.040, "zpo": -0.310, "xqo": 1.070, "zqo": -0.209, "yp": 0.195, "zp": -0.040, "yq": 0.220, "zq": -0.040,
    "xP": 0.0, "zP": -0.015, "xQ": 0.0, "zQ": -0.015,
}  # fmt: skip
# Points of the right knuckle from its center of mass; those of the left one are mirrored.
_KNUCKLE = {
    "p": (0.030, 0.025, -0.060),
    "q": (0.050, 0.0, 0.041),
    "s": (-0.080, -0.015, 0.012),
    "f": (0.040, 0.060, -0.020),
}
_BAR_LENGTH, _BAR_CENTER, _BAR_ANGLE = 0.220, 0.50, math.radians(70.0)


def _turn(axis: str, angle: Any) -> Any:
    """Coordinate axes turned about x, y or z."""
    c, s, i = sp.cos(angle), sp.sin(angle), "xyz".index(axis)
    R: Any = sp.Matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    a, b = (i + 1) % 3, (i + 2) % 3
    R[a, a], R[a, b], R[b, a], R[b, b] = c, -s, s, c
    return R


def tricycle(*, speed: float = 5.0) -> Subsystem:
    """The tricycle of the reference, with the parameter ``v`` for its speed.

    Args:
        speed: value of ``v`` (m/s).
    """
    T = Subsystem("T")
    T.parameters(v=speed)
    T.include(_assembly())
    for name, radius, mass, axial, radial in (
        ("W", 0.253, 2.5, 0.180, 0.094), ("FR", 0.255, 2.0, 0.140, 0.075), ("FL", 0.255, 2.0, 0.140, 0.075),
    ):  # fmt: skip
        T.include(_wheel(name, radius, m=mass, Ia=axial, It=radial))
    for side, sign in (("R", 1), ("L", -1)):
        T.include(_bar(f"S{side}", sign))
        T.include(_knuckle(f"K{side}", sign))
    _connect(T)
    T.independent(T.A.x.d, T.A.delta.d, T.A.phi.d)
    return T


def _wheel(name: str, radius: float, **values: float) -> Subsystem:
    """A disc with a knife edge that rolls on the ground; (5.8)."""
    wheel = leaves.rigid_body(name, "zxy", gravity=0.0, inertia="cylindrical y", g=_GRAVITY, **values)
    r = wheel.parameters(r=radius)
    psi, phi, _ = wheel.a
    down: Any = _turn("z", psi) * _turn("x", phi) * sp.Matrix([0, 0, r])
    axes: Any = leaves.rotation(wheel)
    slip = sp.Matrix(list(wheel.v)) + (axes * sp.Matrix(list(wheel.omega))).cross(down)
    wheel.invariant(wheel.p.z + r * sp.cos(phi), "contact")
    wheel.invariant(slip[0], "slip.x")
    wheel.invariant(slip[1], "slip.y")
    wheel.independent(*wheel.omega)
    return wheel


def _bar(name: str, sign: int) -> Subsystem:
    """A steering bar: thin, along its own x axis."""
    bar = leaves.rigid_body(name, "zyx", gravity=0.0, inertia="cylindrical x", g=_GRAVITY, m=0.30, Ia=0.0, It=0.001)
    bar.guess({bar.a[0]: sign * _BAR_ANGLE})
    return bar


def _knuckle(name: str, sign: int) -> Subsystem:
    """A knuckle; the left one is the mirror image of the right one."""
    inertia = {"Ixx": 0.002, "Iyy": 0.001, "Izz": 0.003, "Ixy": sign * 0.0003, "Ixz": -0.0005, "Iyz": 0.0}
    return leaves.rigid_body(name, "zxy", gravity=0.0, inertia="general", g=_GRAVITY, m=0.50, **inertia)


def _assembly() -> Subsystem:
    """Rider and frame with handlebar and transverse rods; (5.2)–(5.6)."""
    A = Subsystem("A")
    A.parameters(**_DATA)
    inertias = {
        "B": {"m": 85.0, "Ixx": 9.70, "Iyy": 11.0, "Izz": 3.10, "Ixz": 2.70},
        "H": {"m": 3.0, "Ixx": 0.097, "Iyy": 0.1, "Izz": 0.015, "Ixz": -0.009},
        "P": {"m": 0.75, "Ixx": 0.010, "Iyy": 0.001, "Izz": 0.009, "Ixz": 0.0},
        "Q": {"m": 0.75, "Ixx": 0.012, "Iyy": 0.001, "Izz": 0.011, "Ixz": 0.0},
    }
    for name, values in inertias.items():
        A.include(leaves.rigid_body(name, "position", gravity=0.0, inertia="xz plane", g=_GRAVITY, **values))
    x, y, psi, phi, theta, delta, chi_p, chi_q = A.coordinates("x y psi phi theta delta chiP chiQ")
    points = _geometry(A)[1]
    centers = {"B": "b", "H": "h", "P": "p", "Q": "q"}
    frame: Any = sp.Matrix([phi.d * sp.cos(theta) - psi.d * sp.cos(phi) * sp.sin(theta), theta.d + psi.d * sp.sin(phi),
                       phi.d * sp.sin(theta) + psi.d * sp.cos(phi) * sp.cos(theta)])  # fmt: skip
    hinges: dict[str, Any] = {"B": None, "H": ("z", delta, A.lam), "P": ("x", chi_p, A.lamP), "Q": ("x", chi_q, A.lamQ)}
    for name, letter in centers.items():
        part, place = getattr(A, name), points[letter]
        omega: Any = frame
        if hinges[name] is not None:
            axis, angle, tilt = hinges[name]
            rates: list[Any] = [angle.d if one == axis else 0 for one in "xyz"]
            spin = sp.Matrix(rates)
            omega = _turn(axis, angle).T * _turn("y", tilt).T * frame + spin
        for k, letter_of in enumerate("xyz"):
            A.invariant(part.p[k] - place[k], f"place{name}.{letter_of}")
            A.invariant(part.omega[k] - omega[k], f"spin{name}.{letter_of}")
    steer, lean = A.input("u_delta u_phi")
    A.effective_forces({delta: steer, phi: lean})
    A.independent(*(q.d for q in (x, y, psi, phi, theta, delta, chi_p, chi_q)))
    return A


def _geometry(A: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Axes of the four bodies, and points, in the symbols of the assembly or of who includes it; (5.4), (5.5)."""
    frame: Any = _turn("z", A.psi) * _turn("x", A.phi) * _turn("y", A.theta)
    axes: dict[str, Any] = {
        "B": frame, "H": frame * _turn("y", A.lam) * _turn("z", A.delta),
        "P": frame * _turn("y", A.lamP) * _turn("x", A.chiP), "Q": frame * _turn("y", A.lamQ) * _turn("x", A.chiQ),
    }  # fmt: skip
    origin: dict[str, Any] = {"B": sp.Matrix([A.x, A.y, 0])}
    for name, place in (("H", (A.w + A.c, 0, 0)), ("P", (A.xpo, 0, A.zpo)), ("Q", (A.xqo, 0, A.zqo))):
        origin[name] = origin["B"] + frame * sp.Matrix(place)

    def point(body: str, *place: Any) -> Any:
        return origin[body] + axes[body] * sp.Matrix(place)

    points = {
        "w": point("B", 0, 0, -A.rW), "b": point("B", A.xB, 0, A.zB), "h": point("H", A.xH, 0, A.zH),
        "p": point("P", A.xP, 0, A.zP), "q": point("Q", A.xQ, 0, A.zQ),
    }  # fmt: skip
    for side, sign in (("R", 1), ("L", -1)):
        points[f"h{side}"] = point("H", A.xh, sign * A.yh, A.zh)
        points[f"p{side}"] = point("P", 0, sign * A.yp, A.zp)
        points[f"q{side}"] = point("Q", 0, sign * A.yq, A.zq)
    return axes, points


def _connect(T: Subsystem) -> None:
    """The 44 rows between the parts: balls, hubs, axes, and bars that do not spin; (5.17), (5.18)."""
    axes, points = _geometry(T.A)
    across = sp.Matrix([0, 1, 0])

    def same(name: str, first: Any, second: Any) -> None:
        for axis, value in zip("xyz", first - second, strict=True):
            T.invariant(value, f"{name}.{axis}")

    same("hub.W", sp.Matrix(list(T.W.p)), points["w"])
    same("axis.W", leaves.rotation(T.W) * across, axes["B"] * across)
    for side, sign in (("R", 1), ("L", -1)):
        bar, knuckle, wheel = (getattr(T, f"{kind}{side}") for kind in "SKF")
        place = {key: leaves.point(knuckle, (x, sign * y, z)) for key, (x, y, z) in _KNUCKLE.items()}
        same(f"ball.h{side}", leaves.point(bar, (-_BAR_CENTER * _BAR_LENGTH, 0, 0)), points[f"h{side}"])
        same(f"ball.s{side}", leaves.point(bar, ((1 - _BAR_CENTER) * _BAR_LENGTH, 0, 0)), place["s"])
        same(f"ball.p{side}", place["p"], points[f"p{side}"])
        same(f"ball.q{side}", place["q"], points[f"q{side}"])
        same(f"hub.F{side}", sp.Matrix(list(wheel.p)), place["f"])
        same(f"axis.F{side}", leaves.rotation(wheel) * across, leaves.rotation(knuckle) * across)
        T.invariant(bar.a[2], f"spin.{side}")
