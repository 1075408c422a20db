"""What the formalisms of analytical mechanics share: the equations as they leave them, and how these are run.

Each formalism says in ``derive`` how its equations come about; that is read as mathematics over SymPy and compiled over
CasADi.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra.dense_solve import solve_spd
from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, Equations, mechanism_of
from dalembert.equations.ignorable_coordinates import check_momenta, named_ignorable
from dalembert.equations.mechanics import Mechanics
from dalembert.equations.quasi_velocities import Plan, mechanics_of, named_plan, plan_at, plan_of
from dalembert.formulations.base import Formulation, Sizes, Support, Variables, usual_blocks
from dalembert.formulations.shared import analytical_native as native
from dalembert.numerics.solver_steps import reduced_mass

__all__ = ["AnalyticalFormulation", "Derived", "QuasiVelocityFormulation", "ReducedFormulation"]


@dataclass(frozen=True)
class Derived:
    """Equations of motion in velocities w: rates, quasi-velocities or momenta.

        q̇ = q̇(t, q, w, G),      K ẇ + C Ġ = k + Dᵀλ,      A ẇ + γ = 0

    Attributes:
        names, w: velocities, and their symbols.
        definition: w as a function of (t, q, q̇), affine in q̇.
        qdot: the inverse.
        matrix, forcing: K and k.
        jacobian, gamma: A and γ of the constraints that remain; there may be none.
        metric: S with  A = D S,  where it is not the identity.
        constants, constant_names: symbols G of momenta that stay as they are, unless somebody pushes.
        constant_definitions: G as functions of (t, q, q̇).
        by_constants: C.
        forcing_by_rates: k as a function of (t, q, q̇), where the formalism knows it; to read, not to run.
        functions: what the formalism is built from, by name.
    """

    names: list[str]
    w: np.ndarray
    definition: np.ndarray
    qdot: np.ndarray
    matrix: np.ndarray
    forcing: np.ndarray
    jacobian: np.ndarray
    gamma: np.ndarray
    metric: np.ndarray | None = None
    constant_names: list[str] = field(default_factory=lambda: [])
    constants: np.ndarray = field(default_factory=lambda: np.zeros(0))
    constant_definitions: np.ndarray = field(default_factory=lambda: np.zeros(0))
    by_constants: np.ndarray | None = None
    forcing_by_rates: np.ndarray | None = None
    functions: dict[str, Any] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class AnalyticalFormulation(Formulation):
    """A formalism in generalized coordinates, whose equations are derived by differentiation."""

    explicit: ClassVar[bool] = False
    follows_switches: ClassVar[bool] = False

    @classmethod
    def supports(cls) -> Support:
        return Support.everything("generalized")

    @abstractmethod
    def derive(self, mechanics: Mechanics) -> Derived:
        """The equations of motion, by this formalism's own functions and derivatives."""

    def mechanics(self, equations: Equations, tidy: Any = None) -> Mechanics:
        """A mechanism with the rows and quasi-velocities that this formalism works with."""
        return mechanics_of(equations, self.choice(equations.tree.coordinates), tidy)

    def choice(self, coordinates: Coordinates) -> Plan:
        """Constraint rows and quasi-velocities that this formalism works with."""
        return plan_of(coordinates)

    def kept(self, coordinates: Coordinates) -> tuple[int, ...] | None:
        return None if self.follows_switches else self.choice(coordinates).rows

    def check(self, coordinates: Coordinates) -> None:
        self.choice(coordinates)


class ReducedFormulation(AnalyticalFormulation):
    """A formalism that integrates fewer or other velocities w than q̇, and remembers constants G."""

    what: ClassVar[str]
    choosing: ClassVar[bool] = False  # velocities are chosen, and chosen again where they become ill-conditioned
    solver = native.reduced_solver
    own = native.ReducedBlocks

    def count(self, coordinates: Coordinates) -> tuple[int, int]:
        """Numbers of velocities w and of constants G."""
        plan = plan_of(coordinates)
        return coordinates.nv - len(plan.rows), 0

    def variables(self, sizes: Sizes) -> Variables:
        n, s = self.count(sizes.of_mechanism(self.name))
        varying = sizes.nq + n + 1
        return Variables(
            self.what, varying + s + 1, varying, native.rhs, native.decode, native.encode,
            record=native.ReducedVariables, options={"n": n, "s": s, "choosing": self.choosing},
            blocks=native.ReducedRates,
        )  # fmt: skip

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        e = mechanism_of(equations, self.name)
        # At (q, q̇): the usual blocks, which give λ, and the formalism's own, filled up to m velocities.
        al, m = e.al, e.nv
        mechanics = self.mechanics(e)
        derived = self.derive(mechanics)
        n, motion = len(derived.w), _Motion(e, derived)
        G_dot = e.tau[self.remembered(e.tree.coordinates)]
        K, W, A = al.eye(m), al.zeros(m, m), al.zeros(len(e.rows), m)
        k, gamma = al.zeros(m), al.zeros(len(e.rows))
        K[:n, :n], k[:n], W[:, :n] = motion.K, motion.k, motion.W
        if derived.by_constants is not None:
            k[:n] = k[:n] - derived.by_constants @ G_dot
        A[: len(derived.gamma), :n], gamma[: len(derived.gamma)] = motion.A, derived.gamma
        Y = al.jacobian(derived.definition, e.u)
        quality = n**2 / (motion.condition(Y) * _crowding(mechanics)) if n else al.vector([1])
        own = {
            "K": K, "k": k, "B": A, "beta": gamma, "W": W, "bend": motion.bend + motion.by_constants @ G_dot,
            "quality": quality,
        }  # fmt: skip
        # All at once: they share most of what they are computed from.
        swapped = al.substitute(
            al.concatenate([np.asarray(part).reshape(-1) for part in own.values()]),
            al.concatenate([derived.w, derived.constants]),
            al.concatenate([derived.definition, derived.constant_definitions]),
        )
        ends = np.cumsum([np.size(part) for part in own.values()])
        parts = [
            part.reshape(np.shape(old)) for part, old in zip(np.split(swapped, ends[:-1]), own.values(), strict=True)
        ]
        blocks = usual_blocks(e, e.mass_matrix, e.forcing, e.jacobian, e.gamma)
        return blocks | dict(zip(own, parts, strict=True))

    def remembered(self, coordinates: Coordinates) -> list[int]:
        """Coordinates whose momenta are the constants."""
        return []

    def variables_blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        mechanism = mechanism_of(equations, self.name)
        # At (q, w, G): u holds w and G.
        al = mechanism.al
        mechanics = self.mechanics(mechanism)
        derived = self.derive(mechanics)
        n, motion = len(derived.w), _Motion(mechanism, derived)
        E, e = mechanics.affine(al.concatenate([derived.definition, derived.constant_definitions]), mechanism.u)
        moved = mechanics.moving(derived.qdot)
        power, carried = moved.equations.power(), al.zeros(n)
        if any(al.value(value) != 0 for value in mechanics.b):
            # Constraints that move do the work  x · (M q̈ − f)  with any x that satisfies  a x + b = 0.
            x, M = mechanics.rates(mechanics.Z), moved.equations.mass_matrix
            power = power + x @ (M @ motion.bend - moved.equations.forcing)
            carried = x @ M @ motion.W
        parts = {
            "qdot": moved.equations.qdot(), "power": al.vector([power]), "K": motion.K, "k": motion.k,
            "A": motion.A, "gamma": derived.gamma, "carried": carried,
            "condition": motion.condition(E[:n]) * _crowding(mechanics),
            "E": E, "e": e,
        }  # fmt: skip
        given = mechanism.u[: n + len(derived.constants)]
        symbols = al.concatenate([derived.w, derived.constants])
        return {name: al.substitute(np.asarray(part), symbols, given) for name, part in parts.items()}

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return sizes.nq + self.count(sizes.of_mechanism(self.name))[0]


@dataclass(frozen=True)
class IgnoringFormulation(ReducedFormulation):
    """A formalism that takes ignorable coordinates out.

    Attributes:
        ignorable: names of coordinates; all that there are if not given.
    """

    ignorable: tuple[str, ...] | None = None

    def remembered(self, coordinates: Coordinates) -> list[int]:
        return list(named_ignorable(coordinates, self.ignorable))

    def count(self, coordinates: Coordinates) -> tuple[int, int]:
        s = len(self.remembered(coordinates))
        return coordinates.nv - s, s

    def check(self, coordinates: Coordinates) -> None:
        check_momenta(coordinates, self.remembered(coordinates))


@dataclass(frozen=True)
class QuasiVelocityFormulation(ReducedFormulation):
    """A formalism in p quasi-velocities.

    Attributes:
        velocities: names of the p quasi-velocities to begin with, of those on offer; chosen if not given. Where they
            come to depend on the constraints, a run goes on with others.
        rows: numbers of the independent constraint rows to begin with; chosen if not given.
    """

    velocities: tuple[str, ...] | None = None
    rows: tuple[int, ...] | None = None

    what = "quasi-velocities"
    choosing = True

    def choice(self, coordinates: Coordinates) -> Plan:
        return named_plan(coordinates, self.velocities, self.rows)

    def anew(self, coordinates: Coordinates, t: float, q: np.ndarray, parameters: Mapping[str, float]) -> Formulation:
        velocities, rows = plan_at(coordinates, t, q, parameters)
        return self if coordinates.velocities else replace(self, velocities=velocities, rows=rows)

    def in_quasi_velocities(
        self, m: Mechanics, u: np.ndarray, qdot: np.ndarray, K: np.ndarray, k: np.ndarray, functions: dict[str, Any]
    ) -> Derived:
        """K u̇ = k,  without constraints."""
        none = m.al.zeros(0, len(u)), m.al.zeros(0)
        return Derived(m.velocity_names, u, m.Y @ m.qd + m.Z, qdot, K, k, *none, functions=functions)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)


def _crowding(m: Mechanics) -> Any:
    """Of the rows that are kept where others depend on them, at length 1: the mean of 1/σ² of their singular values σ.

    1 where they are at right angles; it grows without bound where they come to depend on each other, and others would
    do better. Rates that quasi-velocities give may stay finite there.
    """
    al = m.al
    if not 0 < m.r < len(m.equations.rows):
        return 1
    rows = m.a / np.array([al.sqrt(row @ row) for row in m.a], dtype=object)[:, None]
    return np.trace(solve_spd(al, rows @ rows.T, al.eye(m.r))) / m.r


class _Motion:
    """Equations as native code solves them, and  q̈ = W ẇ + bend + (∂q̇/∂G) Ġ."""

    def __init__(self, equations: Equations, derived: Derived):
        al, e = equations.al, equations
        self.W = al.jacobian(derived.qdot, derived.w)
        moved = Equations(e.tree, e.t, e.q, derived.qdot, e.tau)
        self.bend = moved.along(derived.qdot)
        self.by_constants = al.jacobian(derived.qdot, derived.constants)
        S = derived.metric
        self.K = derived.matrix if S is None else S @ derived.matrix
        self.k = derived.forcing if S is None else S @ derived.forcing
        self.A = derived.jacobian

    def condition(self, Y: np.ndarray) -> np.ndarray:
        """|Y|² |W|²: grows without bound where quasi-velocities  Y q̇ + Z  cease to determine the rates."""
        return np.array([np.sum(Y * Y) * np.sum(self.W * self.W)], dtype=object)
