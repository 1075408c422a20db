"""Routh's equations: ignorable coordinates leave the Lagrangian, their momenta stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.algebra.dense_solve import solve_spd
from dalembert.coordinates import Coordinates
from dalembert.equations.mechanics import Mechanics
from dalembert.formulations.shared.analytical import Derived, IgnoringFormulation

__all__ = ["Routh"]


@dataclass(frozen=True)
class Routh(IgnoringFormulation):
    """Lagrange's equations of the Routhian, for the m − s coordinates that are not ignorable:

        R(t, q, q̇; G) = L − G·q̇_I,      G = ∂L/∂q̇_I constant,      d/dt ∂R/∂q̇ − ∂R/∂q = Q + aᵀλ

    The rates of the ignorable coordinates follow from G.

    Attributes:
        ignorable: names of coordinates; all that there are if not given.

    Reference: E. J. Routh, "A treatise on the stability of a given state of motion" (1877).
    """

    name: ClassVar[str] = "routh"
    title: ClassVar[str] = "Routh's equations"
    what = "rates of coordinates that are not ignorable"

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        ignored = self.remembered(coordinates)
        kept = [i for i in range(len(M)) if i not in ignored]
        across = M[np.ix_(ignored, kept)]
        return M[np.ix_(kept, kept)] - across.T @ np.linalg.solve(M[np.ix_(ignored, ignored)], across)

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al = mechanics, mechanics.al
        ignored = self.remembered(m.equations.tree.coordinates)
        kept = [i for i in range(m.m) if i not in ignored]
        momenta = al.gradient(m.L, m.qd)[ignored]
        M, N = m.affine(momenta, m.qd)
        w, G = m.qd[kept], al.variables(f"G_{m.names[i]}" for i in ignored)
        rates = m.qd.copy()
        rates[ignored] = m.tidy(solve_spd(al, M[:, ignored], G - N - M[:, kept] @ w))
        moving = m.moving(rates)
        R = m.tidy(al.vector([moving.L - G @ rates[ignored]]))[0]
        p = al.gradient(R, w)
        k = m.by_q(R)[kept] + moving.Q[kept] - moving.along(p)
        return Derived(
            [m.rate_names[i] for i in kept], w, w, rates, al.jacobian(p, w), k, m.a[:, kept], moving.gamma,
            constant_names=[m.names[i] for i in ignored], constants=G, constant_definitions=momenta,
            by_constants=al.jacobian(p, G),
            functions={"R": R, "L": m.L},
        )  # fmt: skip
