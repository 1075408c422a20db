"""Velocity transformations: free bodies, and the velocities of a spanning tree that move them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, Equations, mechanism_of
from dalembert.errors import check_known
from dalembert.formulations.base import BlockFormulation, Support, usual_blocks
from dalembert.formulations.jourdain import jourdain_solver
from dalembert.formulations.penalty import DIAGONALS, PenaltyOptions, check_penalty, penalized_matrix, penalty_solver
from dalembert.native import Native, Record
from dalembert.numerics.context import Context
from dalembert.numerics.solver_steps import null_space, reduced_mass
from dalembert.spatial.so3 import hat

__all__ = ["CLOSINGS", "DEPENDENT", "VelocityTransformation", "natural_transformation", "transformation"]

# M, f, A and γ are those of eq. 5.92: projected by R¹ already.
_SOLVERS = {"multipliers": null_space, "independent": jourdain_solver, "penalty": penalty_solver}
CLOSINGS = tuple(_SOLVERS)
DEPENDENT = ("twists", "natural")


@dataclass(frozen=True)
class VelocityTransformation(BlockFormulation):
    """Twists V of all bodies as if they were free, moved by the velocities ż of the joints of a spanning tree:

        V = R¹ ż,   V̇ = R¹ z̈ + S¹c¹

        ⎡ R¹ᵀ M R¹     (Φ² R¹)ᵀ ⎤ ⎡ z̈  ⎤   ⎡ R¹ᵀ (Q − M S¹c¹) ⎤
        ⎣ Φ² R¹           0     ⎦ ⎣ −λ ⎦ = ⎣ c² − Φ² S¹c¹     ⎦

    M has one 6×6 block for each body. Column i of R¹ holds the twists of all bodies beyond joint i for unit speed
    there; it is written down joint by joint, nothing is factorized. S¹c¹ are the accelerations for z̈ = 0. The closure
    of loops and all other constraints Φ² are written for free bodies and then projected.

    Args:
        dependent: the velocities of free bodies: their ``twists``, or those of ``natural`` coordinates, an origin and
            three unit vectors for each body, whose M is constant and whose inertia forces have no part in velocities.
        closing: how the projected constraints are met: ``multipliers`` (also with Baumgarte's stabilization),
            ``independent`` velocities by an elimination of Φ² R¹, or a ``penalty``, which is not exact.
        alpha, omega, mu: of ``closing="penalty"``: the penalty as a multiple of the largest entry of M, frequency (1/s)
            and damping ratio with which violations die out.

    Reference: J. García de Jalón, E. Bayo, sec. 5.3, eqs. 5.71–5.92; W. Jerkovsky, "The structure of multibody dynamics
    equations", J. Guidance and Control 1 (1978) 173–182.
    """

    name: ClassVar[str] = "velocity-transformation"
    title: ClassVar[str] = "Velocity transformations"

    closing: str = "multipliers"
    dependent: str = "twists"
    alpha: float = 1e7
    omega: float = 10.0
    mu: float = 1.0

    def __post_init__(self) -> None:
        check_known(f"{self.name}: unknown closing", self.closing, CLOSINGS)
        check_known(f"{self.name}: unknown dependent velocities", self.dependent, DEPENDENT)
        check_penalty(self.name, self.alpha, self.omega, self.mu)

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), coordinates=("relative",))

    @property
    def exact(self) -> bool:
        return self.closing != "penalty"

    def chosen_solver(self) -> Native:
        return _SOLVERS[self.closing]

    def record(self, context: Context) -> Record:
        if self.closing != "penalty":
            return context
        values = {name: np.full(context.rows, getattr(self, name)) for name in DIAGONALS}
        return PenaltyOptions(context=context, **values)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray | None:
        if self.closing == "multipliers":
            return super().matrix(M, A, coordinates)
        if self.closing == "independent":
            return reduced_mass(M, A)
        return penalized_matrix(self.alpha, M, A)

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        e = mechanism_of(equations, self.name)
        R = transformation(e)
        dynamics = _projected_dynamics if self.dependent == "twists" else _projected_natural
        return usual_blocks(e, *dynamics(e, R), *_projected_constraints(e, R))


def transformation(equations: Equations) -> list[dict[int, np.ndarray]]:
    """R¹: for every body the twist (link axes) that each velocity of a joint before it gives it at unit speed."""
    R: list[dict[int, np.ndarray]] = []
    for link, state in zip(equations.tree.links, equations.states, strict=True):
        parent: int = link.parent
        carried = R[parent] if parent >= 0 else dict[int, np.ndarray]()
        moved = {a: state.X_PL.motion_inverse(column) for a, column in carried.items()}
        R.append(moved | {link.u.start + j: column for j, column in enumerate(state.S.T)})
    return R


def natural_transformation(equations: Equations) -> list[dict[int, np.ndarray]]:
    """R¹ of natural coordinates: for every body the velocities (ṙ, u̇₁, u̇₂, u̇₃) in world axes, as columns, of its origin
    and its three unit vectors that each velocity of a joint before it gives them at unit speed (eqs. 5.73–5.88).
    """
    found: list[dict[int, np.ndarray]] = []
    for state, columns in zip(equations.states, transformation(equations), strict=True):
        found.append({a: _moved(equations, state.X_WL.R, column) for a, column in columns.items()})
    return found


def _moved(e: Equations, R: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """(ṙ, u̇₁, u̇₂, u̇₃) of a body that turns by R and has a twist in its own axes:  R (v, ω × 1)."""
    return R @ np.hstack([twist[3:, None], hat(e.al, twist[:3])])


def _projected_dynamics(e: Equations, R: list[dict[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """R¹ᵀ M R¹  and  R¹ᵀ (Q − M S¹c¹), of twists."""
    al, g = e.al, e.tree.mechanism.gravity
    wrenches, tau = e.applied()
    loads: list[np.ndarray] = []
    momenta: list[dict[int, np.ndarray]] = []
    for link, state, wrench, columns in zip(e.tree.links, e.states, wrenches, R, strict=True):
        I, weight = link.inertia, al.concatenate([al.zeros(3), state.X_WL.R.T @ g])
        loads.append(wrench + I.apply(weight - state.A_L) - I.bias(state.V_L))
        momenta.append({a: I.apply(column) for a, column in columns.items()})
    return _summed(e, R, momenta, loads, tau)


def _projected_natural(e: Equations, R: list[dict[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """R¹ᵀ M R¹  and  R¹ᵀ (Q − M S¹c¹), of natural coordinates:  M = P ⊗ 1 for each body, P = [m, hᵀ; h, ∫x xᵀ dm]."""
    al, g = e.al, e.tree.mechanism.gravity
    wrenches, tau = e.applied()
    natural = natural_transformation(e)
    loads: list[np.ndarray] = []
    momenta: list[dict[int, np.ndarray]] = []
    for link, state, wrench, columns in zip(e.tree.links, e.states, wrenches, natural, strict=True):
        I, X, V = link.inertia, state.X_WL, state.V_L
        spread = (I.A[0, 0] + I.A[1, 1] + I.A[2, 2]) / 2 * al.eye(3) - I.A
        first = al.concatenate([al.vector([I.mass]), I.h])
        P = np.vstack([first, np.hstack([I.h[:, None], spread])])
        turn = hat(al, V[:3])
        # S¹c¹: unit vectors and the velocity of the origin also turn, ω × (ω × 1) and ω × v.
        still = _moved(e, X.R, state.A_L) + X.R @ np.hstack([(turn @ V[3:])[:, None], turn @ turn])
        # A wrench (n, f) does the work of f on the origin and of n̂/2 on the vectors.
        force = X.R @ np.hstack([wrench[3:, None], hat(al, wrench[:3]) / 2])
        loads.append((force + np.outer(g, first) - still @ P).reshape(12))
        momenta.append({a: (column @ P).reshape(12) for a, column in columns.items()})
    flat = [{a: column.reshape(12) for a, column in columns.items()} for columns in natural]
    return _summed(e, flat, momenta, loads, tau)


def _summed(
    e: Equations, R: list[dict[int, np.ndarray]], MR: list[dict[int, np.ndarray]], loads: list[np.ndarray], f: Any
) -> tuple[np.ndarray, np.ndarray]:
    """R¹ᵀ (M R¹)  and  R¹ᵀ loads + f.  Armatures are masses on the velocities of the joints themselves."""
    al = e.al
    M = al.zeros(e.nv, e.nv)
    for link, state, load, columns, momenta in zip(e.tree.links, e.states, loads, R, MR, strict=True):
        for a, column in columns.items():
            f[a] = f[a] + column @ load
            for b in columns:
                if b >= a:
                    M[a, b] = M[b, a] = M[a, b] + column @ momenta[b]
        if link.armature is not None and state.rotor is not None:
            f[link.u] = f[link.u] - state.rotor
            M[link.u, link.u] = M[link.u, link.u] + link.armature * al.eye(state.S.shape[1])
    return e.cut_rotors.added_to(M), f - e.cut_rotors.forces(None)


def _projected_constraints(e: Equations, R: list[dict[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Φ² R¹  and  γ = Φ² S¹c¹ − c².  Joint coordinates that an equation names stand beside the bodies."""
    J, gamma = e.acceleration_by_bodies()
    n = 6 * len(R)
    A: Any = J[:, n:].copy()
    for k, (state, columns) in enumerate(zip(e.states, R, strict=True)):
        of_body = J[:, 6 * k : 6 * k + 6]
        for a, column in columns.items():
            A[:, a] = A[:, a] + of_body @ column
        gamma = gamma + of_body @ state.A_L
    return A, gamma
