"""A block that rocks from one edge of its foot to the other.

      ┌────┐
      │    │ 2h        α = atan(b/h)
      │    │
    ──┴────┴──         it turns about one edge until the other one hits the floor
        2b

About an edge,  ω̇ = −p² sin(α − θ)  with  p² = 3 g/(4 R), R² = b² + h².  In an impact the block goes over to the other
edge and keeps  1 − 3/2 sin²α  of its angular velocity (G. W. Housner, "The behavior of inverted pendulum structures
during earthquakes", Bull. Seismol. Soc. Am. 53 (1963) 403-417): the law without restitution, if friction holds the
edge.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["rocking_block"]


def rocking_block(
    *,
    width: float = 0.2,
    height: float = 0.6,
    mass: float = 10.0,
    tilt: float = 0.2,
    friction: float = 0.8,
    restitution: float = 0.0,
) -> Model:
    """A block on a rigid floor, tilted about one edge and let go.

    Args:
        width, height: of the block (m).
        mass: (kg).
        tilt: at the start (rad).
        friction: coefficient between the edges and the floor.
        restitution: of the edges.
    """
    model = Model("rocking block", description="a block that rocks on a floor until it stands still")
    w, h, m, angle = model.parameters(width=width, height=height, mass=mass, tilt=tilt)
    mu, e = model.parameters(friction=friction, restitution=restitution)
    block = model.box("block", (w / 2, 0, h / 2), (w, w, h), mass=m, color="#8064a2")
    model.shape(model.ground, "box", size=(1.0, 0.4, 0.02), pose=(0.1, 0, -0.01))
    model.planar("plane", model.ground, block, point=(0, 0, 0), axis="y")
    floor = {"kind": "plane", "axis": "z"}
    for name, x in (("left", 0), ("right", w)):
        edge = {"kind": "point", "at": (x, 0, 0)}
        model.rigid_contact(name, model.ground, block, surfaces=(floor, edge), restitution=e)
        model.contact_friction(f"{name} rub", name, coefficient=mu, along="x")
    model.initial("plane", value=(0, 0, -angle))
    model.output("tilt", "-q(plane, 2)", unit="rad")
    return model
