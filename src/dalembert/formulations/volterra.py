"""Volterra's equations: kinetic energy in quasi-velocities, momenta times rates of partial velocities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.shared.analytical import Derived, QuasiVelocityFormulation

__all__ = ["Volterra", "volterra_terms"]


def volterra_terms(moving: Mechanics, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """K and k of Volterra's equations for velocities q̇(t, q, u), and the functions in them."""
    al = moving.al
    T = al.constant(0)
    for body in moving.bodies:
        T = T + (body.v @ body.momentum + body.omega @ body.angular_momentum) / 2
    dT = al.gradient(T, u)
    forces = al.jacobian(moving.qd, u).T @ moving.active
    rotors, rest = moving.rotor_terms(u)
    k = forces - rest - moving.along(dT)
    for body in moving.bodies:
        for vector, momentum in ((body.v, body.momentum), (body.omega, body.angular_momentum)):
            partial = al.jacobian(vector, u)
            k = k + body.seen(partial, moving.along(partial)).T @ momentum
    return al.jacobian(dT, u) + rotors, k, {"T": T, "U": forces}


class Volterra(QuasiVelocityFormulation):
    """As many equations as freedoms, from velocities alone; no acceleration is formed:

        d/dt ∂T/∂uⱼ − Σ [P · d/dt(∂v/∂uⱼ) + H · d/dt(∂ω/∂uⱼ)] = Uⱼ,      j = 1 … p

    P and H are the linear momentum and the angular momentum about the mass center of each body.

    Reference: V. Volterra, "Sopra una classe di equazioni dinamiche", Atti Accad. Sci. Torino 33 (1898) 451–475; M. H.
    Yoosefian Nooshabadi, H. Nejat Pishkenari, "Development of an efficient formulation for Volterra's equations of
    motion for multibody dynamical systems", eq. (2).
    """

    name: ClassVar[str] = "volterra"
    title: ClassVar[str] = "Volterra's equations"

    def derive(self, mechanics: Mechanics) -> Derived:
        m = mechanics
        u = m.al.variables(m.velocity_names)
        moving = m.moving(m.rates(u))
        K, k, functions = volterra_terms(moving, u)
        return self.in_quasi_velocities(m, u, moving.qd, K, k, functions)
