"""A ball that rolls on a plane without slipping and may pivot; a bead inside makes it wobble.

      ╭─────╮
      │  ·  │    ball of mass m and radius r, with a bead of mass b
      │   • │    at the distance d from its middle
    ──┴─────┴──

Without the bead a ball gains speed down an incline at  5/7 g sin α,  however it was pushed. With it the ball is Routh's
sphere: energy and Jellett's integral  L · s  are conserved, L the angular momentum about the mass center, s the way
from there to the contact.

Reference: E. J. Routh, "Dynamics of a System of Rigid Bodies", advanced part (1884).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.model import Model

__all__ = ["rolling_sphere"]


def rolling_sphere(
    *,
    mass: float = 1.0,
    radius: float = 0.1,
    bead: float = 0.5,
    distance: float = 0.06,
    slope: float = 0.0,
    tilt: float = 1.2,
    speed: float = 0.5,
    spin: float = 8.0,
) -> Model:
    """An unbalanced ball that wobbles along.

    Args:
        mass, radius: of the uniform ball (kg, m).
        bead, distance: mass of a bead inside and its distance from the middle (kg, m).
        slope: of the plane (rad); down is +x.
        tilt: of the bead from its highest place, at the start (rad).
        speed: of the middle at the start (m/s), down the slope.
        spin: rate about the normal of the plane at the start (rad/s).
    """
    model = Model("rolling sphere", description="unbalanced ball that rolls on a table without slipping")
    m, r, b, d = model.parameters(mass=mass, radius=radius, bead=bead, distance=distance)
    alpha, theta, v, w = model.parameters(slope=slope, tilt=tilt, speed=speed, spin=spin)

    # As drawn the bead is above the middle, along the normal n of the plane, which is the ball's axis.
    s, c = sp.sin(alpha), sp.cos(alpha)
    normal, pitch = (s, 0, c), {"rpy": (0, alpha, 0)}
    e = b * d / (m + b)  # mass center above the middle
    axial = 2 * m * r**2 / 5
    across = axial + m * e**2 + b * (d - e) ** 2

    def place(height: float | sp.Expr) -> dict[str, Any]:
        return {"position": (height * s, 0, height * c), **pitch}

    ball = model.body("ball", mass=m + b, com=(0, 0, e), inertia=(across, across, axial), pose=place(r), frame="body")
    model.shape(ball, "sphere", radius=r, pose=place(r), opacity=0.5)
    model.shape(ball, "sphere", radius=r / 5, pose=place(r + d), color="#de8f05")
    model.shape(ball, "torus", radius=r, tube=r / 40, pose=place(r), color="#444c56")
    model.shape(model.ground, "box", size=(16 * r, 16 * r, 0.01), pose=place(-0.005), opacity=0.4)
    contact = model.rolling_sphere("contact", model.ground, ball, point=place(r)["position"], axis=normal, radius=r)

    # Tilted by θ about x of the plane; ω = (0, v/r, w) there, in axes of the ball Rx(θ)ᵀ ω.
    roll = v / r
    model.initial(
        contact,
        (0, 0, sp.cos(theta / 2), sp.sin(theta / 2), 0, 0),
        rate=(v, 0, 0, sp.cos(theta) * roll + sp.sin(theta) * w, sp.cos(theta) * w - sp.sin(theta) * roll),
    )
    model.output("track x", model.q(contact, 0), unit="m")
    model.output("track y", model.q(contact, 1), unit="m")
    return model
