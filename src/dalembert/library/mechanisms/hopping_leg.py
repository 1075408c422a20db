"""A leg that hops on the spot: a body on a spring, a foot that hits the floor, and a thrust at every bottom.

      ▛▀▀▜  body M
      ▙▄▄▟
       ⌇    spring k, longer by Δ from the bottom of a hop to its top
       ●    foot m
    ─────── floor

The leg can get no longer than l: there a stop ends its stroke, and pulls the foot off the floor without restitution,
so that both fly with M/(M + m) of the body's velocity. From a landing with the velocity V the spring gives way by x,

    k x²/2 + (k p − M g) x = M V²/2,

with p, by which it is compressed at the stop. The thrust adds k x Δ, so from hop to hop

    V⁺ = M/(M + m) √(V² + 2 k Δ x(V)/M) .

This settles where the thrust makes good what the foot loses. M. H. Raibert, "Legged Robots That Balance" (1986), ch. 2.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["hopping_leg"]


def hopping_leg(
    *,
    mass: float = 10.0,
    foot_mass: float = 1.0,
    length: float = 0.5,
    stiffness: float = 4000.0,
    preload: float = 0.005,
    thrust: float = 0.03,
    height: float = 0.1,
) -> Model:
    """A body on a springy leg, dropped from some height.

    Args:
        mass, foot_mass: of the body and the foot (kg).
        length: of the leg at its stop (m).
        stiffness: of its spring (N/m).
        preload: by which the spring is compressed at the stop (m).
        thrust: by which the spring becomes longer at every bottom (m).
        height: of the foot above the floor at the start (m).
    """
    model = Model("hopping leg", description="a leg with a spring and a thrust that hops on the spot")
    M, m, l = model.parameters(mass=mass, foot_mass=foot_mass, length=length)
    k, p, push, up = model.parameters(stiffness=stiffness, preload=preload, thrust=thrust, height=height)
    longer = model.parameters(longer=0.0)
    model.shape(model.ground, "box", size=(0.6, 0.4, 0.02), pose=(0, 0, -0.01))
    body = model.box("trunk", (0, 0, l), (0.25, 0.2, 0.12), mass=M, color="#4f81bd")
    foot = model.sphere("foot", (0, 0, 0.03), 0.03, mass=m, color="#c0504d")
    guide = model.prismatic("guide", model.ground, body, point=(0, 0, l), axis="z")
    leg = model.prismatic("leg", body, foot, point=(0, 0, 0.03), axis="z")
    ends = ((0, 0, l), (0, 0, 0.03))
    model.spring("spring", body, foot, at=ends, stiffness=k, length=l - 0.03 + p + longer)
    model.limit("stop", leg, lower=0)
    ball = {"kind": "sphere", "at": (0, 0, 0.03), "radius": 0.03}
    model.rigid_contact("floor", model.ground, foot, surfaces=({"kind": "plane", "axis": "z"}, ball))
    model.event("bottom", guide.u, direction="rising", set={"longer": push})
    model.event("top", guide.u, direction="falling", set={"longer": 0})
    model.initial(guide, value=up)
    model.output("height of the trunk", "z(trunk)", unit="m")
    return model
