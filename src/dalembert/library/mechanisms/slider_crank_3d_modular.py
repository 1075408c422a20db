"""The spatial slider-crank as a tree of subsystems, with Coulomb friction in the guide of its slider.

    crank B1   turns about x̂ by χ, driven by the torque u1
    rod B2     between the ball joints p₁ = (0, −l₁ cos χ, −l₁ sin χ) and p₂ = (l₂ + s, −l₁, 0)
    slider B3  slides along x̂ by s; its guide holds y = z = 0 and pushes it with Y and Z across

The rod does not spin about its own line: its angular velocity has two components. The constraint forces Y and Z are
chosen unknowns (relaxed invariants), so that friction x* = −μ sign(v) √(Y² + Z²) can name them.

Reference: R. M. M. Orsino, thesis (2016), example 4.5.
"""

from __future__ import annotations

import math
from typing import Any, cast

import sympy as sp

from dalembert.modular import Subsystem

__all__ = ["slider_crank_3d_modular"]


def slider_crank_3d_modular(*, friction: float = 0.5) -> Subsystem:
    """A spatial slider-crank whose crank is driven by the input ``u1``.

    Args:
        friction: μ of the guide.
    """
    whole = Subsystem("M")
    l1, l2, gamma, mu = whole.parameters(l1=0.5, l2=math.sqrt(2), gamma=math.sqrt(0.5), mu=friction)
    crank, rod, slider = whole.include(_crank()), whole.include(_rod()), whole.include(_slider())
    u1 = whole.input("u1")
    whole.effective_forces({crank.omega: u1})
    c, s = sp.cos(crank.chi), sp.sin(crank.chi)
    E: Any = _attitude(rod)
    whole.invariant(l2 * (1 - E[0, 0]) + slider.s, "px")
    whole.invariant(l1 * (1 - c) + l2 * E[1, 0] - slider.y, "py")
    whole.invariant(l1 * s - l2 * E[2, 0] + slider.z, "pz")
    # The center of the rod between the velocities of its ends.
    pin = sp.Matrix([0, l1 * s * crank.omega, -l1 * c * crank.omega])
    end = sp.Matrix([slider.s.d, slider.y.d, slider.z.d])
    center = cast(Any, sp.Matrix(list(rod.v)) - pin - gamma * (end - pin))
    for axis, row in zip("xyz", center, strict=True):
        whole.invariant(row, f"center_{axis}")
    whole.relax("slider", across_y="Y", across_z="Z")
    normal = sp.sqrt(sp.Symbol("Y", real=True) ** 2 + sp.Symbol("Z", real=True) ** 2)
    whole.effective_forces({slider.s: -mu * sp.sign(slider.s.d) * normal})
    whole.guess({crank.chi: 1.2, slider.s: -0.1, rod.psi: -0.2, rod.phi: -0.3, rod.theta: 0.0})
    return whole


def _crank() -> Subsystem:
    crank = Subsystem("crank")
    inertia = crank.parameters(inertia=0.2)
    chi, omega = crank.coordinates("chi"), crank.quasi_velocity("omega")
    crank.kinematics({chi.d: omega})
    crank.effective_forces({omega: -inertia * omega.d})
    return crank


def _rod() -> Subsystem:
    rod = Subsystem("rod")
    inertia, m = rod.parameters(inertia=0.1, m=0.5)
    psi, phi, theta = rod.coordinates("psi phi theta")
    wy, wz = rod.quasi_velocity("omega.y omega.z")
    vx, vy, vz = rod.quasi_velocity("v.x v.y v.z")
    # ω = (θ̇ − ψ̇ sin φ, …) with no spin about x̂₂.
    turn = (sp.sin(theta) * wy + sp.cos(theta) * wz) / sp.cos(phi)
    rod.kinematics({psi.d: turn, phi.d: sp.cos(theta) * wy - sp.sin(theta) * wz, theta.d: turn * sp.sin(phi)})
    rod.effective_forces({v: -m * v.d for v in (vx, vy, vz)})
    rod.effective_forces({w: -inertia * w.d for w in (wy, wz)})
    return rod


def _slider() -> Subsystem:
    slider = Subsystem("slider")
    m = slider.parameters(m=2.0)
    s, y, z = slider.coordinates("s y z")
    slider.invariant(y, "across_y")
    slider.invariant(z, "across_z")
    slider.effective_forces({s: -m * s.dd})
    return slider


def _attitude(rod: Any) -> Any:
    """Axes of the rod in world axes, by zyx angles ψ, φ, θ."""
    return cast(Any, sp.rot_ccw_axis3(rod.psi) * sp.rot_ccw_axis2(rod.phi) * sp.rot_ccw_axis1(rod.theta))
