"""The heavy symmetric top of Lagrange: a spinning disc on a stem whose tip stands in a socket.

          ▁▁▁▁▁
          ▔▔│▔▔   disc, at height h on the stem
            │
            ∧     tip

Let go with spin n and no precession, it dips, catches itself and circles the vertical: fast nutation  ≈ C n/A
on a slow precession  ≈ m g h/(C n),  with C about the stem and A across it, about the tip.
"""

from __future__ import annotations

import sympy as sp

from dalembert.model import Model

__all__ = ["spinning_top"]


def spinning_top(
    *, mass: float = 0.5, radius: float = 0.1, thickness: float = 0.02, height: float = 0.15,
    tilt: float = 0.4, spin: float = 150.0, precession: float = 0.0,
) -> Model:  # fmt: skip
    """A fast top.

    Args:
        mass, radius, thickness: of the disc (kg, m, m); the stem has no mass.
        height: of the disc's middle above the tip (m).
        tilt: of the stem from the vertical, at the start (rad).
        spin: angular velocity about the stem, n (rad/s).
        precession: angular velocity about the vertical, at the start (rad/s), besides the spin.
    """
    model = Model("spinning top", description="heavy symmetric top: precession and nutation")
    m, r, t, h = model.parameters(mass=mass, radius=radius, thickness=thickness, height=height)
    theta, n, omega = model.parameters(tilt=tilt, spin=spin, precession=precession)

    top = model.disc("top", (0, 0, h), r, thickness=t, mass=m)
    model.shape(top, "cylinder", radius=r / 15, length=h * 1.2, axis="z", pose=(0, 0, 0.8 * h))
    model.shape(top, "cone", radius=r / 15, length=0.2 * h, axis=(0, 0, -1), pose=(0, 0, 0.1 * h))
    model.shape(top, "sphere", radius=r / 8, pose=(0.8 * r, 0, h + t / 2), color="#444c56")  # shows the spin
    model.shape(model.ground, "cylinder", radius=0.6 * r, length=0.1 * r, axis="z", pose=(0, 0, -0.05 * r))
    model.spherical("tip", model.ground, top, point=(0, 0, 0))

    # Leaning about x by θ; in axes of the top the vertical is (0, sin θ, cos θ).
    model.initial(
        "tip",
        (sp.cos(theta / 2), sp.sin(theta / 2), 0, 0),
        rate=(0, omega * sp.sin(theta), n + omega * sp.cos(theta)),
    )
    model.output("x", "x(top)", unit="m")
    model.output("y", "y(top)", unit="m")
    model.output("z", "z(top)", unit="m")
    return model
