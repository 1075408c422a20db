"""A satellite with a hinged boom on a plane orbit.

      boom ──o hub
                 \\
                  ·  planet

Hub and boom are attracted by the planet each on its own, so the boom swings in the gradient of gravity. Units are such
that a circular orbit has radius 1 and period 2π.
"""

from __future__ import annotations

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["satellite"]


def satellite(*, hub: float = 1.0, boom: float = 0.1, length: float = 0.3, swing: float = 0.3) -> Model:
    """Hub and boom on a nearly circular orbit; energy and angular momentum are conserved.

    Args:
        hub, boom: masses (kg).
        length: of the boom (m).
        swing: angle of the boom from the vertical, at the start (rad).
    """
    model = Model("satellite", gravity=(0, 0, 0), description="satellite with a hinged boom on a plane orbit")
    m_hub, m_boom, l, _ = model.parameters(hub=hub, boom=boom, length=length, mu=1.0)
    model.box("hub", (1, 0, 0), (0.1, 0.1, 0.1), mass=m_hub)
    model.body("boom", **parts.bar(m_boom, (1.05, 0, 0), (1.05 + l, 0, 0), width=0.03))
    model.planar("orbit", model.ground, "hub", point=(1, 0, 0), axis="z")
    model.revolute("hinge", "hub", "boom", point=(1.05, 0, 0), axis="z")
    for name, mass in (("hub", m_hub), ("boom", m_boom)):
        model.potential(f"gravity of the {name}", f"-mu*{mass}/sqrt(x({name})**2 + y({name})**2)")
    model.shape(model.ground, "sphere", radius=0.3)
    model.initial("orbit", rate=(0, 1.02, 1))
    model.initial("hinge", swing)
    model.output("swing", "q(hinge)", unit="rad")
    return model
