"""The Gibbs-Appell equations, from the energy of accelerations."""

from __future__ import annotations

from typing import ClassVar

from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.shared.analytical import Derived, QuasiVelocityFormulation
from dalembert.spatial.so3 import cross

__all__ = ["GibbsAppell"]


class GibbsAppell(QuasiVelocityFormulation):
    """The Gibbs function S, which is to accelerations what T is to velocities, differentiated by u̇:

        S = Σ ½ m a·a + ½ α·I α + α·(ω × I ω),      ∂S/∂u̇ = U

    Terms of S without u̇ are left out. U are the forces along u.

    Reference: J. W. Gibbs, "On the fundamental formulae of dynamics", Am. J. Math. 2 (1879) 49–64; P. Appell, "Sur les
    mouvements de roulement", C. R. Acad. Sci. 129 (1899) 317–320; R. M. M. Orsino, "Recursive modular modelling
    methodology for lumped-parameter dynamic systems", eqs. (3.97)–(3.113), appendix A.
    """

    name: ClassVar[str] = "gibbs-appell"
    title: ClassVar[str] = "Gibbs-Appell equations"

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al = mechanics, mechanics.al
        u, du = al.variables(m.velocity_names), al.variables(f"d/dt {name}" for name in m.velocity_names)
        moving = m.moving(m.rates(u))
        S = al.constant(0)
        for body in moving.bodies:
            a = al.jacobian(body.v, u) @ du + body.seen(body.v, moving.along(body.v))
            alpha = al.jacobian(body.omega, u) @ du + moving.along(body.omega)
            gyroscopic = cross(body.omega, body.angular_momentum)
            S = S + body.mass * (a @ a) / 2 + (alpha @ (body.inertia @ alpha)) / 2 + alpha @ gyroscopic
        K, h = m.affine(al.gradient(S, du), du)
        rotors, rest = moving.rotor_terms(u)
        forces = al.jacobian(moving.qd, u).T @ moving.active
        return self.in_quasi_velocities(m, u, moving.qd, K + rotors, forces - h - rest, {"S": S, "U": forces})
