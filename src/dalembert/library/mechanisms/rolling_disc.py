"""A thin disc that rolls on a table without slipping: the coin, the hoop, the falling plate.

Two nonholonomic constraints: the lowest point of the disc is at rest. Coordinates of the joint: contact point
x, y, heading ψ, lean θ from upright, spin φ. An upright disc rolls stably above  v² = g r/3;  a leaning one
runs in circles.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["rolling_disc"]


def rolling_disc(
    *,
    mass: float = 1.0,
    radius: float = 0.3,
    lean: float = 0.3,
    spin: float = 6.0,
    turn: float = 0.5,
    fall: float = 0.0,
) -> Model:
    """A disc that rolls and wobbles.

    Args:
        mass, radius: of the disc (kg, m); it is thin: m r²/2 about its axis, m r²/4 across.
        lean: from upright, at the start (rad).
        spin: rate of the spin angle φ at the start; the contact point runs at radius · spin (rad/s).
        turn, fall: rates of heading and lean at the start (rad/s).
    """
    model = Model("rolling disc", description="thin disc that rolls on a table without slipping, and wobbles")
    m, r, theta, n = model.parameters(mass=mass, radius=radius, lean=lean, spin=spin)

    disc = model.body("disc", mass=m, com=(0, 0, r), inertia=(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4))
    model.shape(disc, "cylinder", radius=r, length=r / 20, axis="y", pose=(0, 0, r))
    for x, z in ((0.6, 0), (-0.6, 0), (0, 0.6), (0, -0.6)):  # studs show the spin
        model.shape(
            disc,
            "cylinder",
            radius=r / 8,
            length=r / 12,
            axis="y",
            pose=(x * r, 0, r + z * r),
            color="#444c56",
        )
    model.shape(model.ground, "box", size=(12 * r, 12 * r, 0.01), pose=(0, -4 * r, -0.005), opacity=0.4)
    model.rolling_disc("contact", model.ground, disc, point=(0, 0, r), axis="z", axis_2="y", radius=r)

    model.initial("contact", (0, 0, 0, theta, 0), rate=(r * n, 0, turn, fall, n))
    model.output("track x", model.q("contact", 0), unit="m")
    model.output("track y", model.q("contact", 1), unit="m")
    return model
