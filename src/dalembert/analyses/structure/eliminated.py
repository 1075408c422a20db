"""Recursive elimination, step by step: what all bodies beyond a joint do to the body before it.

    M̃ a = g̃ + Ψᵀλ        besides its own  M a = g + Φᵀλ

is what a body feels of those beyond it: their accumulated inertia M̃, load g̃ and constraint Jacobian Ψ, when the
accelerations of the joints between have been eliminated.

Reference: D. S. Bae, E. J. Haug, "A recursive formulation for constrained mechanical system dynamics: part II, closed
loop systems", Mech. Struct. & Mach. 15 (1987) 481–506.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.arguments import public
from dalembert.coordinates import TreeKinematics
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError
from dalembert.model import Model

__all__ = ["Eliminated", "Reduced", "eliminate"]

# Singular values of the equations for λ below this fraction of the largest belong to redundant rows.
REDUNDANT = 1e-10


@dataclass(frozen=True)
class Reduced:
    """What a body feels of all bodies beyond it, in its own link axes (see ``Link``), angular parts first.

    Attributes:
        inertia: M̃, 6 × 6.  load: g̃.  jacobian: Ψ, one row for each constraint equation.
        own_inertia, own_load, own_jacobian: M, g and Φ of the body itself.
    """

    inertia: np.ndarray
    load: np.ndarray
    jacobian: np.ndarray
    own_inertia: np.ndarray
    own_load: np.ndarray
    own_jacobian: np.ndarray


@dataclass(frozen=True)
class Eliminated:
    """A state after the pass inward, and the solution.

    Attributes:
        bodies: what each body feels of those beyond it, by name.
        matrix, gamma: K and γ̃ of  K λ + γ̃ = 0, which is left on the ground.
        multipliers: λ, of least norm.  acceleration: u̇.
    """

    bodies: dict[str, Reduced]
    matrix: np.ndarray
    gamma: np.ndarray
    multipliers: np.ndarray
    acceleration: np.ndarray


class _Pass:
    """Inward and outward over the links of a tree."""

    def __init__(self, e: Equations, tree: TreeKinematics):
        self.links, self.states, n = tree.links, e.states, len(tree.links)
        wrenches, self.tau = e.applied()
        J, gamma = e.acceleration_by_bodies()
        self.gamma: Any = gamma
        self.J, self.J_q = [J[:, 6 * k : 6 * k + 6] for k in range(n)], J[:, 6 * n :]
        self.K: Any = np.zeros((len(J), len(J)))
        self.own: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.shift: list[np.ndarray] = []
        for k, (link, s) in enumerate(zip(self.links, self.states, strict=True)):
            weight = np.concatenate([np.zeros(3), s.X_WL.R.T @ tree.mechanism.gravity])
            I = np.array([link.inertia.apply(axis) for axis in np.eye(6)]).T
            self.own.append((I, wrenches[k] + I @ weight - link.inertia.bias(s.V_L), self.J[k]))
            before = self.states[link.parent].A_L if link.parent >= 0 else np.zeros(6)
            self.shift.append(s.A_L - s.X_PL.motion_inverse(before))

    def inward(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        m = len(self.K)
        beyond = [(np.zeros((6, 6)), np.zeros(6), np.zeros((m, 6))) for _ in self.links]
        self.pivots: list[Any] = [None] * len(self.links)
        for k in reversed(range(len(self.links))):
            link, s, c = self.links[k], self.states[k], self.shift[k]
            M, g, Psi = (a + b for a, b in zip(self.own[k], beyond[k], strict=True))
            S, X = s.S, np.array([s.X_PL.motion_inverse(axis) for axis in np.eye(6)]).T
            D = S.T @ M @ S
            push = self.tau[link.u].copy()
            if link.armature is not None and s.rotor is not None:
                D, push = D + link.armature * np.eye(len(D)), push - s.rotor
            lead = Psi @ S + self.J_q[:, link.u]
            free = push - S.T @ (M @ c - g)
            gain = np.zeros((0, 7 + m))
            if len(D):
                gain = np.asarray(np.linalg.solve(D, np.column_stack([free, lead.T, S.T @ M])), dtype=float)
            self.pivots[k] = gain
            # q̈ = gain · (1, λ, −X a)
            self.K += lead @ gain[:, 1 : 1 + m]
            self.gamma = self.gamma + Psi @ c + lead @ gain[:, 0]
            if link.parent >= 0:
                Mp, gp, Pp = beyond[link.parent]
                carried = M @ S
                beyond[link.parent] = (
                    Mp + X.T @ (M - carried @ gain[:, 1 + m :]) @ X,
                    gp + X.T @ (g - M @ c - carried @ gain[:, 0]),
                    Pp + (Psi - gain[:, 1 : 1 + m].T @ carried.T) @ X,
                )
        return beyond

    def outward(self, multipliers: np.ndarray, nv: int) -> np.ndarray:
        du, a = np.zeros(nv), [np.zeros(6) for _ in self.links]
        for k, (link, s) in enumerate(zip(self.links, self.states, strict=True)):
            carried = s.X_PL.motion_inverse(a[link.parent]) if link.parent >= 0 else np.zeros(6)
            du[link.u] = self.pivots[k] @ np.concatenate([[1.0], multipliers, -carried])
            a[k] = carried + s.S @ du[link.u] + self.shift[k]
        return du


@public
def eliminate(
    model: Model | Dynamics, q: Sequence[float] | np.ndarray, u: Sequence[float] | np.ndarray, *, t: float = 0.0
) -> Eliminated:
    """Recursive elimination at one state in relative coordinates, with all that it accumulates.

    Args:
        model: a model, or its equations in relative coordinates.
        q, u: coordinates and velocities, as ``da.assemble(model).q`` and ``.u``.
        t: time (s), for formulas of it.

    Example:
        model = da.library.four_bar()
        state = da.assemble(model)
        found = da.eliminate(model, state.q, state.u)
        found.bodies["crank"].inertia  # what the crank feels of all bodies beyond it
    """
    dynamics = model.relative if isinstance(model, Dynamics) else Dynamics(model, "auto", "relative").relative
    tree = dynamics.coordinates.place(NUMPY, dict(dynamics.coordinates.flat.parameters))
    q, u = np.asarray(q, dtype=float), np.asarray(u, dtype=float)
    if q.shape != (dynamics.nq,) or u.shape != (dynamics.nv,):
        raise DalembertError(
            f"eliminate: expected q of length {dynamics.nq} and u of length {dynamics.nv}, got {q.shape} and {u.shape}"
        )
    e = Equations(tree, t, q, u)
    if not isinstance(tree, TreeKinematics) or e.cut_rotors.armatures:
        raise DalembertError("eliminate: armatures on joints that close loops are not eliminated joint by joint")
    work = _Pass(e, tree)
    beyond = work.inward()
    multipliers = -np.asarray(np.linalg.pinv(work.K, rcond=REDUNDANT, hermitian=True), dtype=float) @ work.gamma
    du = work.outward(multipliers, dynamics.nv)
    bodies = {link.body: Reduced(*there, *own) for link, there, own in zip(work.links, beyond, work.own, strict=True)}
    return Eliminated(bodies, work.K, work.gamma, multipliers, du)
