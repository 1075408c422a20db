"""Kane's equations: inertia forces and active forces along partial velocities."""

from __future__ import annotations

from typing import ClassVar

from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.shared.analytical import Derived, QuasiVelocityFormulation
from dalembert.spatial.so3 import cross

__all__ = ["Kane"]


class Kane(QuasiVelocityFormulation):
    """Forces and inertia forces of all bodies, each times how its point moves with one quasi-velocity:

        Σ ∂v/∂uᵣ · (F − m a) + ∂ω/∂uᵣ · (M − I α − ω × I ω) = 0,      r = 1 … p

    Neither energies nor multipliers appear; v and ω are differentiated by u, and once by time.

    Reference: T. R. Kane, D. A. Levinson, "Dynamics: theory and applications" (1985); R. M. M. Orsino, "Recursive
    modular modelling methodology for lumped-parameter dynamic systems", eqs. (3.128)–(3.135).
    """

    name: ClassVar[str] = "kane"
    title: ClassVar[str] = "Kane's equations"

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al = mechanics, mechanics.al
        u = al.variables(m.velocity_names)
        moving = m.moving(m.rates(u))
        K, h = moving.rotor_terms(u)
        for body in moving.bodies:
            v, w = al.jacobian(body.v, u), al.jacobian(body.omega, u)  # partial velocities
            a = body.seen(body.v, moving.along(body.v))
            alpha = moving.along(body.omega)
            K = K + body.mass * (v.T @ v) + w.T @ body.inertia @ w
            torque = body.inertia @ alpha + cross(body.omega, body.angular_momentum)
            h = h + v.T @ (body.mass * a) + w.T @ torque
        forces = al.jacobian(moving.qd, u).T @ moving.active
        return self.in_quasi_velocities(m, u, moving.qd, K, forces - h, {"F": forces})
