"""A ball on a light rod, swinging in a vertical plane.

        ─┬─ pivot
          \\  length
           \\
            ● bob

For small swings  T = 2π √(J / (m g l)),  J = m l² + 2/5 m r²;  large swings take longer.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["pendulum"]


def pendulum(*, length: float = 1.0, mass: float = 1.0, radius: float = 0.08, angle: float = 1.0) -> Model:
    """A pendulum that is let go at rest.

    Args:
        length: from the pivot to the middle of the bob (m).
        mass: of the bob (kg); the rod has none.
        radius: of the bob (m).
        angle: from the vertical, at the start (rad).
    """
    model = Model("pendulum", gravity=(0, -9.81, 0), description="a ball on a light rod, swinging in a plane")
    l, m, r = model.parameters(length=length, mass=mass, radius=radius)

    bob = model.sphere("bob", (0, -l, 0), r, mass=m)
    model.shape(bob, "cylinder", radius=r / 6, length=l, axis="y", pose=(0, -l / 2, 0))
    model.shape(model.ground, "box", size=(4 * r, r / 2, 2 * r), pose=(0, r / 2, 0))
    pivot = model.revolute("pivot", model.ground, bob, point=(0, 0, 0), axis="z")

    model.initial(pivot, angle)
    model.output("speed", l * pivot.u, unit="m/s")
    return model
