"""The snakeboard: two boards on wheels, a coupler between them and a rotor for the rider's body.

        ┃  A                 ┃  C
        ┣━━━━━━━━━(D)━━━━━━━━┫ ──▶      plan view: coupler from the rear board A to the front board C,
        ┃         coupler B  ┃          rotor D in the middle; no wheel slips sideways

Four bodies in the plane: 6 degrees of freedom, of which the two pairs of wheels leave 4 in velocity. The scenario is
that of Müller and Terze: a force of constant size along the coupler, and controllers that turn the boards by ± 0.5 rad
at 1 Hz,

    τ = P (β(t) − q) + D (β̇(t) − u),    P = 10 N m,  D = 0.1 N m s.

Their text leaves masses, lengths, the force and the phase of the boards open. Here the boards turn against each other,
as under a rider, and have their mass centers over the wheels, so that the force acts on the mass center of all.

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
Strojarstvo 51 (2009), sec. 5.4.2.
"""

from __future__ import annotations

from typing import cast

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["snakeboard"]

ORANGE, BLUE, STEEL, DARK = "#de8f05", "#0072b2", "#b8bec7", "#444c56"


def snakeboard(
    *,
    length: float = 0.8,
    board: float = 0.3,
    coupler_mass: float = 2.0,
    board_mass: float = 0.8,
    rotor_mass: float = 4.0,
    rotor_radius: float = 0.25,
    force: float = 4.0,
    amplitude: float = 0.5,
    frequency: float = 1.0,
    proportional: float = 10.0,
    derivative: float = 0.1,
) -> Model:
    """A snakeboard that is pushed along its coupler while its boards swing.

    Args:
        length: between the pins of the boards (m).
        board: length of a board, across the direction of its wheels (m).
        coupler_mass, board_mass: of the coupler and of each board, slender bars (kg).
        rotor_mass, rotor_radius: of the rotor, a disc (kg, m).
        force: along the coupler, toward the front (N).
        amplitude, frequency: of the wanted swing of the boards (rad, Hz).
        proportional, derivative: gains of their controllers (N m/rad, N m s/rad).
    """
    model = Model("snakeboard", description="board on two swiveling wheel sets that is pushed along its middle")
    l, b, mB, mA, mD, rD = model.parameters(
        length=length, board=board, coupler_mass=coupler_mass, board_mass=board_mass, rotor_mass=rotor_mass,
        rotor_radius=rotor_radius,
    )  # fmt: skip
    F, beta, f, P, D = model.parameters(
        force=force, amplitude=amplitude, frequency=frequency, proportional=proportional, derivative=derivative
    )
    coupler = model.body("coupler", color=STEEL, **parts.bar(mB, (-l / 2, 0, 0), (l / 2, 0, 0), width=0.06))
    rotor = model.disc("rotor", (0, 0, 0), rD, thickness=0.02, mass=mD, color=BLUE)
    model.shape(rotor, "box", size=(1.6 * rD, 0.04, 0.03), pose=(0, 0, 0.015), color=DARK)  # shows the turn
    plane = model.planar("plane", model.ground, coupler, point=(0, 0, 0), axis="z")
    model.revolute("spine", coupler, rotor, point=(0, 0, 0), axis="z")
    model.force("push", coupler, (F, 0, 0), axes="body")
    for name, side in (("rear", -1), ("front", 1)):
        pin = (side * l / 2, 0, 0)
        plate = parts.bar(mA, (pin[0], -b / 2, 0), (pin[0], b / 2, 0), width=0.1, level=-1)
        feet = model.body(f"{name} board", color=ORANGE, **plate)
        for y in (-0.3 * b, 0.3 * b):
            model.shape(feet, "cylinder", radius=0.03, length=0.02, axis="y", pose=(pin[0], y, -0.05), color=DARK)
        swivel = model.revolute(f"{name} pin", coupler, feet, point=pin, axis="z")
        # Opposite phases; the sideways speed of the wheels, which are below the pin, vanishes.
        wanted = side * beta * sp.sin(cast(sp.Expr, 2 * sp.pi * f * model.t))
        torque = P * (wanted - swivel.q) + D * (cast(sp.Expr, sp.diff(wanted, model.t)) - swivel.u)
        model.joint_force(f"{name} controller", swivel, torque)
        angle = model.q(plane, 2) + swivel.q
        vx, vy, _ = feet.velocity
        model.constraint(f"{name} wheels", vy * sp.cos(angle) - vx * sp.sin(angle), level="velocity")
    model.shape(model.ground, "box", size=(4 * l, 3 * l, 0.01), pose=(1.5 * l, 0, -0.085), opacity=0.4)

    # The boards start as the controllers want them, at rest where a ride begins.
    model.initial(plane, (0, 0, 0), rate=(0, 0, 0))
    for name, side in (("rear", -1), ("front", 1)):
        model.initial(f"{name} pin", 0, rate=side * 2 * sp.pi * f * beta)
    model.output("x", "x(coupler)", unit="m")
    model.output("y", "y(coupler)", unit="m")
    model.output("front board", model.q("front pin"), unit="rad")
    return model
