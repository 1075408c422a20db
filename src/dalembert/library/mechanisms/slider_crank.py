"""The slider-crank: piston engine, pump, press.

    B
    o___  connecting rod l
   /    ‾‾‾o▭  piston
A o   ───── C ────→ x
 crank a

  x(θ) = a cos θ + √(l² − a² sin² θ)
"""

from __future__ import annotations

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["slider_crank"]


def slider_crank(
    *,
    crank: float = 0.1,
    rod: float = 0.3,
    flywheel_mass: float = 2.0,
    rod_mass: float = 0.5,
    piston_mass: float = 0.8,
    speed: float = 20.0,
) -> Model:
    """A slider-crank with a flywheel that coasts.

    Args:
        crank: radius of the crank pin (m).
        rod: length of the connecting rod (m), longer than the crank.
        flywheel_mass: of the crank disc, balanced, of radius 1.3 times the crank (kg).
        rod_mass, piston_mass: of the slender rod and of the piston (kg).
        speed: of the crank at the start (rad/s).
    """
    model = Model("slider-crank", gravity=(0, -9.81, 0), description="piston, connecting rod and flywheel of an engine")
    a, l, mf, mr, mp = model.parameters(
        crank=crank, rod=rod, flywheel_mass=flywheel_mass, rod_mass=rod_mass, piston_mass=piston_mass
    )
    A, B, C = (0, 0, 0), (a, 0, 0), (a + l, 0, 0)  # drawn with the piston farthest out

    flywheel = model.disc("flywheel", A, 1.3 * a, thickness=0.3 * a, mass=mf)
    for point in (A, B):
        model.shape(flywheel, "cylinder", radius=0.12 * a, length=0.8 * a, axis="z", pose=point, color="#444c56")
    conrod = model.body("connecting_rod", **parts.bar(mr, B, C, width=0.3 * a, level=3))
    piston = model.box("piston", C, (0.8 * a, 0.7 * a, 0.7 * a), mass=mp)
    for y in (-0.45 * a, 0.45 * a):
        model.shape(model.ground, "box", size=(3 * a, 0.1 * a, 0.8 * a), pose=(l, y, 0), opacity=0.6)

    model.revolute("main_bearing", model.ground, flywheel, point=A, axis="z")
    model.revolute("crank_pin", flywheel, conrod, point=B, axis="z")
    model.revolute("wrist_pin", conrod, piston, point=C, axis="z")
    model.prismatic("cylinder", model.ground, piston, point=C, axis="x")

    model.initial("main_bearing", 0.5, rate=speed)
    model.output("piston position", "x(piston)", unit="m")
    model.output("piston speed", "vx(piston)", unit="m/s")
    return model
