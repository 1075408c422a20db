"""The contract of a joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.algebra.linear import solve_spd
from dalembert.spatial import Pose

__all__ = ["Joint", "twist_of_jets"]


class Joint(ABC):
    """How two frames may move against each other.

    The predecessor frame P sits on the first body, the successor frame S on the second; at neutral coordinates they
    coincide (joints with a length excepted). Canonical axes: a joint with one axis has it along z.

    The contract:
      1. ``transform(q)`` is X_PS.
      2. ``subspace(q) @ u`` is the twist of S against P in S axes; ``bias(q, u)`` is its rate for u̇ = 0.
      3. ``qdot(q, u)`` is the rate of q;  len(q) = nq, len(u) = nv, never mixed.
      4. ``integrate(q, du)`` moves along the tangent du;  ``difference`` undoes it:
         difference(q, integrate(q, du)) = du, up to whole turns.
      5. ``position(X)`` has 6 − nv entries, independent, all zero exactly where X is reached by the joint (locally).
      6. ``coordinates(X)`` returns q with transform(q) = X, angles in (−π, π]; entries in ``angles`` wind.
      7. ``velocity(X, V)`` are the nonholonomic equations, linear in the twist V, in tree and in constraint form alike.

    Attributes:
        kind: the name in model files.
        nq, nv: number of coordinates and of velocities.
        angles: indices of coordinates that are angles, known from a pose only up to whole turns.
        measured: True if ``position`` needs the (unwound) coordinates, as a screw does.
        nonholonomic: number of velocity equations.
    """

    kind: ClassVar[str]
    nq: int
    nv: int
    angles: tuple[int, ...] = ()
    measured: bool = False
    nonholonomic: int = 0

    @abstractmethod
    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        """X_PS(q)."""

    @abstractmethod
    def subspace(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """S(q), 6 × nv."""

    @abstractmethod
    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ṡ(q, u) u, six-vector."""

    @abstractmethod
    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        """φ(X): what must vanish when the joint closes a loop or coordinates are absolute."""

    @abstractmethod
    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        """q with transform(q) = X."""

    def velocity(self, al: Algebra, X: Pose, V: np.ndarray) -> list[Any]:
        """Nonholonomic equations ψ(X, V) = 0."""
        return []

    def qdot(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u

    def integrate(self, al: Algebra, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return q + du

    def difference(self, al: Algebra, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return q1 - q0

    def neutral(self) -> np.ndarray:
        """Coordinates at which the frames coincide."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Coordinates away from singularities."""
        return rng.uniform(-1.0, 1.0, self.nq)

    def rates(self, al: Algebra, q: np.ndarray, V: np.ndarray) -> np.ndarray:
        """u from the twist of S against P:  u = (SᵀS)⁻¹ Sᵀ V."""
        S = self.subspace(al, q)
        return solve_spd(al, S.T @ S, S.T @ V)

    def wrench(self, al: Algebra, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """A wrench on S (S axes) that does the work of the joint forces τ:  F = S (SᵀS)⁻¹ τ,  Sᵀ F = τ."""
        S = self.subspace(al, q)
        return S @ solve_spd(al, S.T @ S, tau)


def twist_of_jets(jets: Jets, X: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Twist and its rate, in body axes, of a pose given as jets:  ω̂ = RᵀṘ,  v = Rᵀṗ."""
    R, R1, R2 = jets.parts(X.R)
    _, p1, p2 = jets.parts(X.p)
    W, W1 = R.T @ R1, R1.T @ R1 + R.T @ R2
    v, v1 = R.T @ p1, R1.T @ p1 + R.T @ p2
    al = jets.base
    twist = al.concatenate([al.array([W[2, 1], W[0, 2], W[1, 0]]), v])
    rate = al.concatenate([al.array([W1[2, 1], W1[0, 2], W1[1, 0]]), v1])
    return twist, rate
