"""A railway wheelset that runs along a track: two conical wheels on one axle, and creep forces from normal forces.

      z ↑        axle, spins at V/r₀
     ◢█▏━━━━━┿━━━━━▕█◣   y →, yaw ψ about z
    ──╹───────────╹──    rails at ±b

Seen by one who rides along at the speed V. Shifted by y, the wheels run on the radii r = r₀ ± λ y, and the axle rolls:
z ± b sin φ = ±λ y, two constraints whose multipliers are the normal forces N. With the velocity v at which a wheel
slips over its rail, the rail acts on it with

    F = −μ N v/√(v² + (μ V/κ)²):    −κ N v/V while it creeps, μ N where it slides.

These forces steer the wheels to the middle of the track at low speed and make them hunt at high speed. Without them,
wheels that roll follow Klingel's sine of the length 2π √(r₀ b/λ). J. J. Kalker, "Three-Dimensional Elastic Bodies in
Rolling Contact" (1990); A. H. Wickens, "Fundamentals of Rail Vehicle Dynamics" (2003), ch. 2.
"""

from __future__ import annotations

import sympy as sp

from dalembert.expressions import reference
from dalembert.model import Model

__all__ = ["wheelset"]


def wheelset(
    *,
    speed: float = 20.0,
    conicity: float = 0.1,
    creep: float = 150.0,
    friction: float = 0.3,
    stiffness: float = 2e5,
    yaw_stiffness: float = 1e5,
    load: float = 4e4,
    start: float = 0.005,
) -> Model:
    """A wheelset on straight rails, held by springs, let go beside the middle of the track.

    Args:
        speed: V along the track (m/s).
        conicity: λ, slope of the treads.
        creep: κ, creep coefficient over normal force.
        friction: μ between wheels and rails.
        stiffness, yaw_stiffness: of the suspension, across the track and about the vertical (N/m, N m/rad).
        load: weight of the vehicle on the axle (N).
        start: y at the start (m).
    """
    model = Model("wheelset", description="conical wheels on rails: creep forces that follow the normal forces")
    V, slope, kappa, mu = model.parameters(speed=speed, conicity=conicity, creep=creep, friction=friction)
    k, k_yaw, W, y0 = model.parameters(stiffness=stiffness, yaw_stiffness=yaw_stiffness, load=load, start=start)
    b, r0, m, J, J_spin = 0.75, 0.45, 1200.0, 700.0, 90.0  # half the gauge, radius, mass, inertia across and along
    for side in (-b, b):
        model.shape(model.ground, "box", size=(3.0, 0.07, 0.1), pose=(0, side, -0.05))
    for name in ("rolled", "turned"):  # massless: they carry coordinates
        model.body(name, mass=0.0, com=(0, 0, r0))
    model.shape("rolled", "box", size=(0.3, 1.0, 0.06), pose=(0, 0, 2.4 * r0), color="#9bbb59")
    for side in (-b - 0.2, b + 0.2):
        model.shape("turned", "box", size=(0.25, 0.15, 0.25), pose=(0, side, r0), color="#9bbb59")
    axle = model.body("axle", mass=m, com=(0, 0, r0), inertia=(J, J_spin, J))
    model.shape(axle, "cylinder", radius=0.08, length=2 * b, axis="y", pose=(0, 0, r0), color="#777777")
    for side in (-b, b):
        model.shape(axle, "cylinder", radius=r0, length=0.1, axis="y", pose=(0, side, r0), color="#4f81bd")
        model.shape(axle, "box", size=(0.08, 0.12, 2 * r0 - 0.1), pose=(0, side, r0), color="#c0504d")
    place = model.planar("place", model.ground, "rolled", point=(0, 0, r0), axis="x")
    yaw = model.revolute("yaw", "rolled", "turned", point=(0, 0, r0), axis="z")
    spin = model.revolute("spin", "turned", axle, point=(0, 0, r0), axis="y")
    model.drive(spin, V / r0 * model.t)
    y, z, roll = (model.q(place, i) for i in range(3))
    dy, droll = model.u(place, 0), model.u(place, 2)
    model.joint_force("suspension", place, -k * y, index=0)
    model.torsional_spring("yaw suspension", yaw, stiffness=k_yaw)
    model.force("vehicle", "rolled", value=(0, 0, -W), at=(0, 0, r0))
    for name, sign in (("left", 1), ("right", -1)):
        model.constraint(name, z + sign * (b * sp.sin(roll) - slope * y))
        rim = V / r0 * (r0 + sign * slope * y)
        along = V - sign * b * yaw.u * sp.cos(yaw.q) - rim * sp.cos(yaw.q)
        across = dy + r0 * droll - sign * b * yaw.u * sp.sin(yaw.q) - rim * sp.sin(yaw.q)
        slip = sp.sqrt(along**2 + across**2 + (mu * V / kappa) ** 2)
        grip = -mu * reference("torque", name) / slip
        model.force(f"{name} creep", "turned", value=(grip * along, grip * across, 0), at=(0, sign * b, 0))
    model.initial(place, value=(y0, 0, sp.asin(slope * y0 / b)))
    model.output("shift", y, unit="m")
    return model
