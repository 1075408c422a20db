"""The pendulum of the manual of Mo2DPack: a mass at the end of a light bar, let go at rest."""

from __future__ import annotations

from dalembert.planar import Planar

__all__ = ["planar_pendulum"]


def planar_pendulum(*, length: float = 1.0, mass: float = 1.0, gravity: float = 9.8) -> Planar:
    """A pendulum in a vertical plane, drawn at (0.8, −0.6) of its length, with a torque u1 at its pivot.

    Args:
        length: of the bar (m).
        mass: at its end (kg).
        gravity: (m/s²), downward.
    """
    w = Planar("planar-pendulum", gravity=(0, -gravity), description="a mass on a light bar, by its two nodes")
    a, m = w.parameters(length=length, mass=mass)
    w.base(O=(0, 0))
    bar = w.body("bar", O=(0, 0), tip=(0.8 * a, -0.6 * a), com="tip", mass=m)
    w.revolute("O", "base.O", bar.O, torque="u1")
    return w
