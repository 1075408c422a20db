"""Hamilton's canonical equations, from the Hamiltonian."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.algebra.dense_solve import solve_spd
from dalembert.coordinates import Coordinates
from dalembert.equations.ignorable_coordinates import massless
from dalembert.equations.mechanics import Mechanics
from dalembert.errors import ModelError
from dalembert.formulations.shared.analytical import Derived, ReducedFormulation

__all__ = ["Hamilton"]


class Hamilton(ReducedFormulation):
    """2m equations of first order, in coordinates and momenta:

        p = ∂L/∂q̇,      H(t, q, p) = p·q̇ − L,      q̇ = ∂H/∂p,      ṗ = −∂H/∂q + Q + aᵀλ

    Reference: W. R. Hamilton, "Second essay on a general method in dynamics", Phil. Trans. R. Soc. 125 (1835) 95–144;
    R. M. M. Orsino, "Recursive modular modelling methodology for lumped-parameter dynamic systems", eqs. (3.80)–(3.94).
    """

    name: ClassVar[str] = "hamilton"
    title: ClassVar[str] = "Hamilton's equations"
    what = "momenta"

    def count(self, coordinates: Coordinates) -> tuple[int, int]:
        return coordinates.nv, 0

    def check(self, coordinates: Coordinates) -> None:
        super().check(coordinates)
        if massless(coordinates):
            raise ModelError(
                f"Hamilton's equations need momenta that determine all rates, but some change of "
                f"{', '.join(massless(coordinates))} moves no mass: ∂²L/∂q̇² has no inverse. Fix: mass for every "
                f"freedom, angles instead of quaternions (da.Generalized(rotations='angles')), or 'lagrange'"
            )

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return M

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al = mechanics, mechanics.al
        momenta = al.gradient(m.L, m.qd)
        M, N = m.affine(momenta, m.qd)
        names = [f"p_{name}" for name in m.names]
        p = al.variables(names)
        moving = m.moving(solve_spd(al, m.tidy(M), m.tidy(p - N), m.tidy))
        H = m.tidy(al.vector([p @ moving.qd - moving.T]))[0] + m.V
        qdot = m.tidy(al.gradient(H, p))
        k = moving.Q - m.by_q(H)
        by_rates = m.Q + m.by_q(m.L)  # −∂H/∂q with p held is ∂L/∂q with q̇ held
        functions = {"H": H, "L": m.L}
        if not m.r:
            none = al.zeros(0, m.m), al.zeros(0)
            return Derived(
                names, p, momenta, qdot, al.eye(m.m), k, *none, forcing_by_rates=by_rates, functions=functions
            )
        # a q̈ + ȧ q̇ + ḃ = 0  with  q̈ = ∂²H/∂p² ṗ + …
        S = al.jacobian(qdot, p)
        along = m.moving(qdot)
        gamma = m.a @ along.along(qdot) + along.gamma
        return Derived(
            names, p, momenta, qdot, al.eye(m.m), k, m.a @ S, gamma, S, forcing_by_rates=by_rates, functions=functions
        )
