"""The canonical block equations, whatever they are the equations of: what formulations and kernels rely on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np

__all__ = ["BlockEquations", "Level", "Row"]


class Level(IntEnum):
    """What a constraint equation holds: the position, φ = 0, or the velocity alone, A u + b = 0."""

    POSITION = 0
    VELOCITY = 1


@dataclass(frozen=True)
class Row:
    """One constraint equation: who imposes it, which of the owner's equations it is, and at what level.

    ``rigid`` marks equations between the coordinates of one body, which is then the owner.
    """

    owner: str
    index: int
    level: Level
    rigid: bool = False

    @property
    def holonomic(self) -> bool:
        """True at position level."""
        return self.level is Level.POSITION

    def __str__(self) -> str:
        return f"{self.owner}[{self.index}]"


class BlockEquations(Protocol):
    """Equations of motion at (t, q, u) in some algebra:

        q̇ = W u + X,   M u̇ + h = Q + Aᵀλ,   φ = 0,   A u + b = 0,   A u̇ + γ = 0.

    Those of a mechanism are ``Equations``; whatever else gives these blocks, such as a composite of modules, is
    formulated, compiled and integrated in the same way (``dynamics.KernelSet``).
    """

    u: np.ndarray

    @cached_property
    def rows(self) -> list[Row]:
        """Who imposes each constraint equation; holonomic ones come first."""
        ...

    def qdot(self) -> np.ndarray:
        """q̇ = W u + X."""
        ...

    # M u̇ + h = Q + Aᵀλ

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        """M(t, q)."""
        ...

    @cached_property
    def forcing(self) -> np.ndarray:
        """f = Q − h, the right-hand side of M u̇ = f + Aᵀλ."""
        ...

    @cached_property
    def momentum_rate(self) -> np.ndarray:
        """What changes the momenta p = M u besides constraints:  f + Ṁ u."""
        ...

    def inverse(self, du: np.ndarray) -> np.ndarray:
        """M u̇ − f."""
        ...

    def along(self, values: np.ndarray) -> np.ndarray:
        """The time derivative of functions of t and q along the motion."""
        ...

    # Constraints

    @cached_property
    def jacobian(self) -> np.ndarray:
        """A(t, q)."""
        ...

    @cached_property
    def gamma(self) -> np.ndarray:
        """γ(t, q, u)."""
        ...

    @cached_property
    def velocity_bias(self) -> np.ndarray:
        """b(t, q)."""
        ...

    def position_residual(self) -> np.ndarray:
        """φ(t, q)."""
        ...

    def velocity_residual(self) -> np.ndarray:
        """A u + b."""
        ...

    def acceleration_residual(self, du: np.ndarray) -> np.ndarray:
        """A u̇ + γ."""
        ...

    # Energy, and what is watched

    def kinetic_energy(self) -> Any:
        """T (J)."""
        ...

    def potential_energy(self) -> Any:
        """V (J)."""
        ...

    def power(self) -> Any:
        """Power of the forces that have no potential (W)."""
        ...

    def outputs(self) -> np.ndarray:
        """Quantities to record besides."""
        ...

    def events(self) -> np.ndarray:
        """Values that rise through zero where an event happens."""
        ...
