"""A cart on a straight rail with a pendulum under it: the crane, or, upside down, the broomstick on a hand.

        ┌───────┐
     ───┴o──┬──o┴───  rail
             \\  pole
              \\

No friction: the horizontal momentum of cart and pole together is conserved.
"""

from __future__ import annotations

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["cart_pendulum"]


def cart_pendulum(
    *,
    cart_mass: float = 2.0,
    pole_mass: float = 0.5,
    length: float = 1.0,
    angle: float = 2.5,
    speed: float = 0.0,
) -> Model:
    """A pole that falls beside the rail, and a cart that gives way.

    Args:
        cart_mass: of the cart (kg); its wheels are only drawn.
        pole_mass, length: of the slender pole (kg, m).
        angle: of the pole from hanging straight down, at the start (rad).
        speed: of the cart at the start (m/s).
    """
    model = Model("cart with pendulum", gravity=(0, -9.81, 0), description="a cart on a rail with a swinging pole")
    M, m, l = model.parameters(cart_mass=cart_mass, pole_mass=pole_mass, length=length)

    cart = model.box("cart", (0, 0, 0), (0.5, 0.16, 0.2), mass=M)
    for x in (-0.16, 0.16):
        for z in (-0.13, 0.13):
            model.shape(cart, "cylinder", radius=0.07, length=0.04, axis="z", pose=(x, -0.08, z), color="#444c56")
    pole = model.body("pole", **parts.bar(m, (0, 0, 0), (0, -l, 0), width=0.05))
    for z in (-0.13, 0.13):
        model.shape(model.ground, "box", size=(3, 0.02, 0.05), pose=(0, -0.16, z))
    rail = model.prismatic("rail", model.ground, cart, point=(0, 0, 0), axis="x")
    hinge = model.revolute("hinge", cart, pole, point=(0, 0, 0), axis="z")

    model.initial(rail, 0, rate=speed)
    model.initial(hinge, angle)
    model.output("momentum", "cart_mass*vx(cart) + pole_mass*vx(pole)", unit="kg m/s")
    return model
