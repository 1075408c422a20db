"""The contract of a formulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.formulations.equations import Equations

__all__ = ["Formulation", "Support"]


@dataclass(frozen=True)
class Support:
    """What a formulation can take; the feature matrix in the docs is made from it."""

    closed_loops: bool
    redundant_constraints: bool
    nonholonomic: bool
    rheonomic: bool
    coordinates: tuple[str, ...]


class Formulation(ABC):
    """How the constrained equations of motion are formed and solved.

    It starts from the canonical block equations (see :class:`Equations`),

        q̇ = W u + X,   M u̇ + h = Q + Aᵀλ,   φ = 0,   A u + b = 0,   A u̇ + γ = 0,

    and says which of their blocks the native code needs. ``explicit`` formulations give u̇ themselves; for the others
    the native code solves for u̇ and λ.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    explicit: ClassVar[bool]

    @classmethod
    @abstractmethod
    def supports(cls) -> Support: ...

    @abstractmethod
    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        """What the native code evaluates, in order: ``acceleration``, or ``mass_matrix, forcing, jacobian, gamma,
        b``.
        """
