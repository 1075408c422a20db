"""A sleigh on a blade: Chaplygin's sleigh, and the knife edge on an incline.

         ┌──────────┐
         │     ×    │     × mass center, the distance a ahead of the blade
       ──┤━━        │
         └──────────┘     the blade ━ moves along itself and turns, never sideways

With the speed v of the blade and the rate of turn ω, on level ice,

    v̇ = a ω²,    (J + m a²) ω̇ = − m a v ω

so that a sleigh pushed blade first turns round and ends on a straight line with the mass center ahead, without any loss
of energy. For a = 0 it runs in a circle; on an incline it then drifts across the slope on a cycloid and never comes
down.

Reference: S. A. Chaplygin, "On the theory of motion of nonholonomic systems. Theorem on the reducing factor" (1911);
J. I. Neimark, N. A. Fufaev, "Dynamics of Nonholonomic Systems" (1972).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.model import Model

__all__ = ["knife_edge"]

STEEL = "#444c56"


def knife_edge(
    *,
    mass: float = 2.0,
    length: float = 0.6,
    width: float = 0.3,
    offset: float = 0.15,
    slope: float = 0.0,
    speed: float = -1.0,
    turn: float = 0.3,
) -> Model:
    """A sleigh that turns round until its mass center is ahead of its blade.

    Args:
        mass, length, width: of the sleigh, a plate (kg, m, m).
        offset: a of its center ahead of the blade (m).
        slope: of the plane (rad); down is +x.
        speed: along the blade at the start (m/s), negative if the blade goes first.
        turn: rate of turn at the start (rad/s).
    """
    model = Model("knife edge", description="sleigh on a blade that moves along itself and never sideways")
    m, l, b, a, alpha = model.parameters(mass=mass, length=length, width=width, offset=offset, slope=slope)
    v, w = model.parameters(speed=speed, turn=turn)

    # As drawn the sleigh looks down the slope; x, y and the angle of the joint are those of the blade in the plane.
    down, normal = (sp.cos(alpha), 0, -sp.sin(alpha)), (sp.sin(alpha), 0, sp.cos(alpha))
    pitch = {"rpy": (0, alpha, 0)}

    def place(x: float | sp.Expr, y: float | sp.Expr, z: float | sp.Expr) -> dict[str, Any]:
        return {
            "position": tuple(x * d + z * n + y * e for d, n, e in zip(down, normal, (0, 1, 0), strict=True)),
            **pitch,
        }

    plate = {"kind": "plate", "pose": (0, 0, 0), "size": (l, b)}
    drawn = {"kind": "box", "size": (l, b, l / 30), "pose": place(a, 0, l / 10)}
    sleigh = model.body("sleigh", mass=m, solid=plate, shapes=(drawn,), pose=place(a, 0, 0), frame="body")
    model.shape(sleigh, "box", size=(l / 4, l / 60, l / 10), pose=place(0, 0, l / 20), color=STEEL)
    model.shape(sleigh, "cylinder", radius=l / 30, length=l / 15, pose=place(a, 0, l / 8), color="#de8f05")
    model.shape(model.ground, "box", size=(5 * l, 5 * l, 0.01), pose=place(0, 0, -0.005), opacity=0.4)
    ice = model.planar("ice", model.ground, sleigh, point=(0, 0, 0), axis=normal)
    heading = model.q(ice, 2)
    model.constraint("blade", model.u(ice, 1) * sp.cos(heading) - model.u(ice, 0) * sp.sin(heading), level="velocity")

    model.initial(ice, (0, 0, 0), rate=(v, 0, w))
    model.output(
        "speed along the blade", model.u(ice, 0) * sp.cos(heading) + model.u(ice, 1) * sp.sin(heading), unit="m/s"
    )
    model.output("rate of turn", model.u(ice, 2), unit="rad/s")
    return model
