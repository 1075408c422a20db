"""Three mechanisms with ignorable coordinates, in the coordinates of the paper (see ``tables.py``).

What the paper leaves open is assumed:

- Cart: it slides along x in a horizontal plane. The bars AB and BC have length l and no mass; a point
  mass m2 sits at B (the motor) and one at C (the wheel). θ1 and θ2 are the angles of the bars from the x axis. The
  torque τ is zero.
- Satellite with panels: the middle body is a cube of edge a. The panels are plates b × c, hinged to its faces ±y about
  axes parallel to x; at γ = 0 they lie in the plane z = 0. (Panels that turn about y would not move the center of mass,
  and the linear momentum would be no test.)
- Satellite with boom: the cube has edge l. The boom leaves the middle of its face +x; the mass is a point at the
  distance ρ from that face, and ρ starts at a.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from dalembert.formulations.volterra_reduced import VolterraReduced


def cart() -> da.Model:
    """Sec. 3.1. Both angles are absolute: BC is hinged to a hub that sits at B and does not turn."""
    model = da.Model("cart with two bars and a wheel", gravity=(0, 0, 0))
    m1, m2, l = model.parameters(m1=1, m2=0.5, l=0.2)
    model.body("cart", mass=m1, com=(0, 0, 0))
    model.body("AB", mass=m2, com=(l, 0, 0))
    model.body("hub", mass=0, com=(l, 0, 0))
    model.body("BC", mass=m2, com=(2 * l, 0, 0))
    model.revolute("theta1", "cart", "AB", point=(0, 0, 0), axis="z")
    model.revolute("B", "AB", "hub", point=(l, 0, 0), axis="z")
    model.revolute("theta2", "hub", "BC", point=(l, 0, 0), axis="z")
    model.prismatic("x", model.ground, "cart", point=(0, 0, 0), axis="x")
    model.explicit("the hub does not turn", "B", "-q(theta1)")
    model.constraint("wheel", "l*cos(q(theta1) - q(theta2))*u(theta1) + l*u(theta2)", level="velocity")  # (69)
    model.initial("theta1", np.pi / 2, rate=1)
    model.initial("theta2", np.pi / 2, rate=-1)
    model.initial("x", 4, rate=3)
    return model


def panels() -> da.Model:
    """Sec. 3.2."""
    model = da.Model("satellite with panels", gravity=(0, 0, 0))
    ms, mp, a, b, c = model.parameters(ms=100, mp=10, a=2, b=2, c=2)
    model.body("main", mass=ms, com=(0, 0, 0), inertia=(67, 67, 67, -5, -2, 0))
    model.free("pose", model.ground, "main")
    plate = (mp * b**2 / 12, mp * c**2 / 12, mp * (b**2 + c**2) / 12)
    for i, side in ((1, 1), (2, -1)):
        model.body(f"panel{i}", mass=mp, com=(0, side * (a + b) / 2, 0), inertia=plate)
        model.revolute(f"gamma{i}", "main", f"panel{i}", point=(0, side * a / 2, 0), axis="x")
    model.initial("pose", *start((np.pi / 10, np.pi / 6, 0.03), (3, 3, 9), (0.3, 0, -0.3), (0.1, -0.3, -0.4)))
    model.initial("gamma1", 0, rate=0)
    model.initial("gamma2", 0, rate=0.2)
    return model


def boom() -> da.Model:
    """Sec. 3.3."""
    model = da.Model("satellite with boom", gravity=(0, 0, 0))
    ms, m, l, a = model.parameters(ms=2000, m=1, l=2.5, a=0.5)
    model.body("main", mass=ms, com=(0, 0, 0), inertia=(1400, 900, 1100, -5, -8, -3))
    model.body("tip", mass=m, com=(l / 2 + a, 0, 0))
    model.free("pose", model.ground, "main")
    model.prismatic("rho", "main", "tip", point=(l / 2 + a, 0, 0), axis="x", reference=a)
    model.joint_force("F", "rho", "-0.018*sin(0.089*t) + 0.012*cos(0.0485*t)")  # (79)
    model.initial("pose", *start((np.pi / 8, np.pi / 12, 0.08), (0, 0, 0), (-0.1, 0.05, -0.05), (2, 1, 0)))
    model.initial("rho", 0.5, rate=0)
    return model


def start(angles: Any, position: Any, rates: Any, velocity: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Coordinates and velocities of a free joint, from angles ψ, θ, φ about z, y, x, each about the moved axis, their
    rates, and position and velocity in fixed axes.
    """
    (cz, sz), (cy, sy), (cx, sx) = ((np.cos(angle / 2), np.sin(angle / 2)) for angle in angles)
    w, x = cz * cy * cx + sz * sy * sx, cz * cy * sx - sz * sy * cx
    y, z = cz * sy * cx + sz * cy * sx, sz * cy * cx - cz * sy * sx
    (_, theta, phi), (psi_dot, theta_dot, phi_dot) = angles, rates
    omega = (
        phi_dot - psi_dot * np.sin(theta),
        theta_dot * np.cos(phi) + psi_dot * np.cos(theta) * np.sin(phi),
        psi_dot * np.cos(theta) * np.cos(phi) - theta_dot * np.sin(phi),
    )
    axis = np.array([x, y, z])
    moved = np.array(velocity) - 2 * w * np.cross(axis, velocity) + 2 * np.cross(axis, np.cross(axis, velocity))
    return (w, x, y, z, *position), (*omega, *moved)


@dataclass(frozen=True)
class Case:
    """One case study.

    Attributes:
        coordinates: with the quasi-velocities of the paper, where they are not the natural ones.
        kept: the non-ignorable quasi-velocities.
        step: of the integration (s).
        published: of each method: state variables, equations, norms of the errors of energy, constraint, momentum.
    """

    model: da.Model
    coordinates: str | da.Generalized
    kept: tuple[str, ...]
    step: float
    published: dict[str, tuple[int, int, float, float | None, float]]

    @property
    def methods(self) -> dict[str, Any]:
        reduced = VolterraReduced(velocities=self.kept)
        return {"lagrange": "lagrange", "maggi": "maggi", "gibbs-appell": "gibbs-appell", "volterra-reduced": reduced}


CASES = {
    "cart with a 2-DOF pendulum (table 3)": Case(
        cart(),
        da.Generalized(velocities={"w": "u(theta1) - u(theta2)", "v": "u(x)"}),  # (71)
        ("w",),
        0.01,
        {
            "lagrange": (6, 3, 6.05e-4, 7.51e-5, 3.83e-6),
            "maggi": (6, 3, 6.05e-4, 7.52e-5, 3.93e-6),
            "gibbs-appell": (5, 2, 9.77e-5, 6.54e-15, 3.96e-5),
            "volterra-reduced": (4, 1, 3.55e-6, 0.0, 2.41e-15),
        },
    ),
    "three connected bodies (table 6)": Case(
        panels(),
        "generalized",  # (74): ω of the main body and plain rates are the natural ones
        ("omega_x", "omega_y", "omega_z", "d/dt gamma1", "d/dt gamma2"),
        0.1,
        {
            "lagrange": (16, 8, 2.96e-7, None, 1.55e-6),
            "maggi": (16, 8, 2.96e-7, None, 1.55e-6),
            "gibbs-appell": (16, 8, 9.10e-9, None, 3.75e-8),
            "volterra-reduced": (13, 5, 6.36e-9, None, 0.0),
        },
    ),
    "satellite with a boom (table 9)": Case(
        boom(),
        "generalized",  # (78)
        ("omega_x", "omega_y", "omega_z", "d/dt rho"),
        0.1,
        {
            "lagrange": (15, 7, 6.31e-14, None, 3.23e-14),
            "maggi": (15, 7, 6.18e-14, None, 3.75e-14),
            "gibbs-appell": (15, 7, 5.01e-14, None, 3.74e-14),
            "volterra-reduced": (12, 4, 7.91e-15, None, 0.0),
        },
    ),
}
