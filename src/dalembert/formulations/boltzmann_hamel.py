"""The Boltzmann-Hamel equations: Lagrange's in quasi-velocities, with structure coefficients."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.shared.analytical import Derived, QuasiVelocityFormulation

__all__ = ["BoltzmannHamel", "structure_coefficients"]


def structure_coefficients(
    mechanics: Mechanics, forms: np.ndarray, bias: np.ndarray, W: np.ndarray, X: np.ndarray
) -> np.ndarray:
    """γ[k, i, j] of quasi-velocities  u = forms q̇ + bias,  whose inverse is  q̇ = W u + X:

        γᵏᵢⱼ = Σ (∂Yₖᵣ/∂qₛ − ∂Yₖₛ/∂qᵣ) Wᵣᵢ Wₛⱼ.

    They vanish if u are rates of coordinates. The last j stands for time:
    (∂Yₖᵣ/∂t − ∂Zₖ/∂qᵣ + Σ (∂Yₖᵣ/∂qₛ − ∂Yₖₛ/∂qᵣ) Xₛ) Wᵣᵢ.
    """
    al, q = mechanics.al, mechanics.q[: mechanics.m]
    time = al.vector([mechanics.t])
    found = al.zeros(len(forms), W.shape[1], W.shape[1] + 1)
    for k, row in enumerate(forms):
        J = al.jacobian(row, q)
        found[k, :, :-1] = W.T @ (J - J.T) @ W
        moved = al.jacobian(row, time)[:, 0] - al.gradient(bias[k], q)
        found[k, :, -1] = W.T @ (moved + (J - J.T) @ X)
    return found


class BoltzmannHamel(QuasiVelocityFormulation):
    """T in quasi-velocities, those that the constraints forbid among them, differentiated as if they were rates; that
    they are not is given by the structure coefficients γ:

        d/dt ∂T/∂uᵢ − Σᵣ Wᵣᵢ ∂T/∂qᵣ + Σₖⱼ γᵏᵢⱼ uⱼ ∂T/∂uₖ = Uᵢ,      i = 1 … p

    k runs over all m quasi-velocities; the forbidden ones,  a q̇ + b,  are set to zero after differentiation.

    Reference: L. Boltzmann (1902); G. Hamel, "Die Lagrange-Eulerschen Gleichungen der Mechanik", Z. Math. Phys. 50
    (1904) 1–57; R. M. M. Orsino, "Recursive modular modelling methodology for lumped-parameter dynamic systems",
    eq. (3.126). Its eq. (3.127) sums over the p allowed ones only, which loses the terms of the others: −m a ω² and
    m a u ω of Chaplygin's sleigh.
    """

    name: ClassVar[str] = "boltzmann-hamel"
    title: ClassVar[str] = "Boltzmann-Hamel equations"

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al, p = mechanics, mechanics.al, mechanics.p
        forms, bias = np.concatenate([m.Y, m.a]), al.concatenate([m.Z, m.b])
        every = al.variables([*m.velocity_names, *(f"forbidden {i}" for i in range(m.r))])
        u, forbidden = every[:p], every[p:]
        free = m.moving(m.rates_from(forms, every - bias))
        momenta = al.gradient(free.T, every)
        W, X = m.affine(free.qd, every)
        gamma = structure_coefficients(m, forms, bias, W, X)
        # Velocities in the terms below: those along the constraints.
        qdot = al.substitute(free.qd, forbidden, al.zeros(m.r))
        moving = m.moving(qdot)
        forces = W[:, :p].T @ (moving.Q - m.by_q(m.V))
        turned = al.zeros(p)
        for k in range(m.m):
            turned = turned + momenta[k] * (gamma[k, :p, :p] @ u + gamma[k, :p, -1])
        inertia = turned - W[:, :p].T @ free.by_q(free.T)
        inertia, momenta = (al.substitute(part, forbidden, al.zeros(m.r)) for part in (inertia, momenta[:p]))
        K = al.jacobian(momenta, u)
        k = forces - inertia - moving.along(momenta)
        return self.in_quasi_velocities(m, u, qdot, K, k, {"T": free.T, "gamma": gamma, "U": forces})
