"""The contract of a formulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numba import cfunc  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.formulations.equations import Equations
from dalembert.numerics.native import SIGNATURE

__all__ = ["BlockFormulation", "Formulation", "Support"]


@dataclass(frozen=True)
class Support:
    """What a formulation can take; the feature matrix in the docs is made from it.

    ``exact`` is False if the accelerations satisfy the constraints only approximately.
    """

    closed_loops: bool
    redundant_constraints: bool
    nonholonomic: bool
    rheonomic: bool
    coordinates: tuple[str, ...]
    exact: bool = True


@dataclass(frozen=True)
class Formulation(ABC):
    """How the constrained equations of motion are formed and solved.

    It starts from the canonical block equations (see :class:`Equations`),

        q̇ = W u + X,   M u̇ + h = Q + Aᵀλ,   φ = 0,   A u + b = 0,   A u̇ + γ = 0,

    and says which of their blocks the native code needs. ``explicit`` formulations give u̇ themselves; for the others
    a native solver finds u̇ and λ at run time. Options are fields of a frozen dataclass; all have defaults.
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
        b, position``.
        """

    def solver(self) -> int:
        """Address of the native function that finds u̇ and λ (see ``numerics.layout``); 0 takes the null space of A."""
        return 0

    def options(self) -> tuple[float, ...]:
        """Numbers for the solver."""
        return ()

    def matrix(self, M: np.ndarray, A: np.ndarray) -> np.ndarray | None:
        """The matrix that is factorised at each evaluation, one column for each unknown; None if there is no such one.

        For tables of sizes and conditions (``da.compare``); M and A in floats. Default: that of u̇ and λ together.
        """
        return np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])

    def states(self, nq: int, nv: int) -> int:
        """Number of variables that are integrated, the work left out."""
        return nq + nv


class BlockFormulation(Formulation):
    """A formulation that solves the canonical equations by a route of its own: ``route`` is the native function

    int64 route(int64 context, double t, double* blocks, double* out).
    """

    explicit: ClassVar[bool] = False
    route: ClassVar[Callable[..., int]]

    @classmethod
    def supports(cls) -> Support:
        return Support(
            closed_loops=True,
            redundant_constraints=True,
            nonholonomic=True,
            rheonomic=True,
            coordinates=("relative", "absolute", "natural"),
        )

    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        return {
            "mass_matrix": equations.mass_matrix,
            "forcing": equations.forcing,
            "jacobian": equations.jacobian,
            "gamma": equations.gamma,
            "b": equations.velocity_bias,
            "position": equations.position_residual(),
        }

    def solver(self) -> int:
        return _native(type(self).route).address


@cache
def _native(function: Callable[..., int]) -> Any:
    return cfunc(SIGNATURE, cache=True)(function)
