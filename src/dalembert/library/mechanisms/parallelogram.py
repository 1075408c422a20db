"""A swing on parallel cranks: a platform hangs on three rods of the same length.

    A1      A2      A3
  ──o───────o───────o──
     \\       \\       \\
      \\       \\       \\   cranks
       o═══════o═══════o
       B1      B2      B3   platform

Two rods would hold it; the third repeats what they say. With spatial hinges 7 equations are redundant, and by
Grübler's count nothing could move. The platform moves without turning, so that the whole is a pendulum:

    (k m/3 + M) l² φ̈ = −(k m/2 + M) g l sin φ,    k cranks of mass m, platform of mass M.
"""

from __future__ import annotations

from dalembert.errors import ModelError
from dalembert.library import parts
from dalembert.model import Model

__all__ = ["parallelogram"]


def parallelogram(
    *,
    cranks: int = 3,
    length: float = 1.0,
    distance: float = 0.8,
    crank_mass: float = 1.0,
    platform_mass: float = 4.0,
    angle: float = 1.0,
) -> Model:
    """A platform on parallel cranks that swings without friction.

    Args:
        cranks: how many, two or more.
        length: of a crank (m).
        distance: between two cranks (m).
        crank_mass, platform_mass: of slender bars (kg).
        angle: of the cranks from the vertical at the start (rad); at ±π/2 all lies in one line, which is singular.
    """
    if cranks < 2:
        raise ModelError(f"cranks must be 2 or more, got {cranks}")
    model = Model("parallelogram", gravity=(0, -9.81, 0), description="platform on three parallel cranks that swings")
    l, d = model.parameters(length=length, distance=distance)
    m, M = model.parameters(crank_mass=crank_mass, platform_mass=platform_mass)
    model.body("platform", **parts.bar(M, (0, -l, 0), ((cranks - 1) * d, -l, 0), width=0.08, level=1))
    for i in range(cranks):
        A, B = (i * d, 0, 0), (i * d, -l, 0)
        model.body(f"crank{i + 1}", **parts.bar(m, A, B, width=0.05))
        model.revolute(f"A{i + 1}", model.ground, f"crank{i + 1}", point=A, axis="z")
        model.revolute(f"B{i + 1}", f"crank{i + 1}", "platform", point=B, axis="z")
    model.shape(model.ground, "box", size=((cranks - 1) * d + 0.2, 0.05, 0.05), pose=((cranks - 1) * d / 2, 0.05, 0))
    model.initial("A1", angle)
    model.output("height of the platform", "y(platform)", unit="m")
    return model
