"""A block on a belt, tied to a wall by a spring: it sticks, slips back, and sticks again.

    ▌   k
    ▌/\\/\\/\\ ▭  block
    ▌ ─────────────→ belt

It sticks until the spring pulls with μ₀ m g, and slips along an arc about the place where it pulls with μ m g.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["stick_slip"]


def stick_slip(
    *, speed: float = 0.1, friction: float = 0.2, static: float = 0.4, stiffness: float = 10.0, mass: float = 1.0
) -> Model:
    """A block that a belt carries along.

    Args:
        speed: of the belt (m/s).
        friction, static: coefficients while the block slips, and at which it breaks loose.
        stiffness: of the spring (N/m).
        mass: of the block (kg).
    """
    model = Model("stick-slip", description="a block on a belt, tied by a spring: it sticks and slips")
    v, mu, limit, k, m = model.parameters(speed=speed, friction=friction, static=static, stiffness=stiffness, mass=mass)
    belt = model.body("belt", mass=1.0, inertia=(0.01, 0.01, 0.01))
    for i in range(30):
        model.shape(belt, "box", size=(0.2, 0.3, 0.01), pose=(0.25 * i - 6.5, 0, -0.055))
    block = model.box("block", (0, 0, 0), (0.1, 0.1, 0.1), mass=m, color="#c0504d")
    model.shape(model.ground, "box", size=(0.02, 0.3, 0.2), pose=(-1.01, 0, 0))
    model.prismatic("drum", model.ground, belt, point=(0, 0, 0), axis="x")
    slide = model.prismatic("slide", belt, block, point=(0, 0, 0), axis="x")
    model.drive("drum", v * model.t)
    model.spring("spring", model.ground, block, at=((-1, 0, 0), (0, 0, 0)), stiffness=k, length=1.0)
    model.friction("rub", slide, coefficient=mu, static=limit)
    model.output("stretch", "x(block)", unit="m")
    return model
