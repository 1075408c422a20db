"""Volterra's equations with ignorable coordinates taken out: the fewest equations there can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations.ignorable_coordinates import reduced_choice
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.quasi_velocities import offered, plan_of
from dalembert.formulations.shared.analytical import Derived, IgnoringFormulation
from dalembert.formulations.volterra import volterra_terms
from dalembert.numerics.solver_steps import reduced_mass

__all__ = ["VolterraReduced"]


@dataclass(frozen=True)
class VolterraReduced(IgnoringFormulation):
    """Momenta of ignorable coordinates are constants G, and count as constraints ("dynamical constraints"); p − s
    quasi-velocities remain:

        M' q̇ + N' = G,   a q̇ + b = 0,   u = Y q̇ + Z      →      q̇ = W u + X
        d/dt ∂T/∂uⱼ − Σ [P · d/dt(∂v/∂uⱼ) + H · d/dt(∂ω/∂uⱼ)] = Uⱼ,      j = 1 … p − s

    Momenta and constraints hold to round-off, whatever the integrator does.

    Attributes:
        ignorable: names of coordinates; all that there are if not given.
        velocities: names of the p − s quasi-velocities; chosen if not given.

    Reference: M. H. Yoosefian Nooshabadi, H. Nejat Pishkenari, "Development of an efficient formulation for Volterra's
    equations of motion for multibody dynamical systems", eqs. (25), (41)–(67).
    """

    velocities: tuple[str, ...] | None = None

    name: ClassVar[str] = "volterra-reduced"
    title: ClassVar[str] = "Volterra's equations, reduced"
    what = "non-ignorable quasi-velocities"

    def count(self, coordinates: Coordinates) -> tuple[int, int]:
        n, s = super().count(coordinates)
        return n - len(plan_of(coordinates).rows), s

    def check(self, coordinates: Coordinates) -> None:
        super().check(coordinates)
        reduced_choice(coordinates, tuple(self.remembered(coordinates)), self.velocities)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, np.concatenate([A, M[self.remembered(coordinates)]]))

    def derive(self, mechanics: Mechanics) -> Derived:
        m, al = mechanics, mechanics.al
        coordinates = m.equations.tree.coordinates
        ignorable = self.remembered(coordinates)
        chosen = reduced_choice(coordinates, tuple(ignorable), self.velocities)
        names, Y, Z = offered(m.equations)
        names, Y, Z = [names[i] for i in chosen], Y[chosen], Z[chosen]
        momenta = al.gradient(m.T, m.qd)[ignorable]
        M, N = m.affine(momenta, m.qd)
        u, G = al.variables(names), al.variables(f"G_{m.names[i]}" for i in ignorable)
        qdot = m.rates_from(np.concatenate([Y, M, m.a]), al.concatenate([u - Z, G - N, -m.b]))
        moving = m.moving(qdot)
        K, k, functions = volterra_terms(moving, u)
        return Derived(
            names, u, Y @ m.qd + Z, qdot, K, k, al.zeros(0, len(u)), al.zeros(0),
            constant_names=[m.names[i] for i in ignorable], constants=G, constant_definitions=momenta,
            by_constants=al.jacobian(al.gradient(moving.T, u), G), functions=functions,
        )  # fmt: skip
