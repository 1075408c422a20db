"""The contract of a formulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import cfunc  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.coordinates import Coordinates
from dalembert.formulations.equations import Equations
from dalembert.numerics.native import SIGNATURE

__all__ = ["BlockFormulation", "Form", "Formulation", "Sizes", "Support", "native_address"]


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

    @classmethod
    def everything(cls, *coordinates: str) -> Support:
        """All kinds of constraints, in these coordinates."""
        return cls(True, True, True, True, coordinates)


class Sizes(NamedTuple):
    """Lengths of q and u, constraint rows, holonomic ones among them, angles at the end of q that follow cut joints,
    and the coordinates that they belong to.
    """

    nq: int
    nv: int
    rows: int
    holonomic: int
    windings: int
    coordinates: Coordinates


@dataclass(frozen=True)
class Form:
    """Variables y that are integrated instead of x = (q, u, W), W the work.

    All functions are native, by address,  int64 f(int64 context, double t, double* in, double* out);  0 if they
    succeeded. All that a form must remember between two steps is in y.

    Attributes:
        what: the variables, in words.
        size: length of y.  varying: how many of its first entries vary within a step; the others are remembered.
        rhs: ẏ from y.
        decode: x from y. It may leave what ``encode`` needs in the multipliers of the context.
        encode: y from x, in place, so that it may keep what it remembers; RESTART if y means something else from now
            on.
        retract: y back onto its manifold, in place; 0 to decode, retract and encode.
        kernels: what it needs, of ``form`` (see ``Formulation.form_blocks``) and ``exponential``.
    """

    what: str
    size: int
    varying: int
    rhs: int
    decode: int
    encode: int
    retract: int = 0
    kernels: tuple[str, ...] = ("form",)


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
        b, position`` and what the formulation's own solver wants besides.
        """

    def check(self, coordinates: Coordinates) -> None:
        """Raise ModelError if the formulation cannot take this model."""
        return None

    def solver(self) -> int:
        """Address of the native function that finds u̇ and λ (see ``numerics.layout``); 0 takes the null space of A."""
        return 0

    def options(self) -> tuple[float, ...]:
        """Numbers for the solver."""
        return ()

    def form(self, sizes: Sizes) -> Form | None:
        """The variables that are integrated, if they are not q and u."""
        return None

    def form_blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        """What the form evaluates at (t, q, u), besides q̇ and the power of forces without potential."""
        return {}

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray | None:
        """The matrix that is factorised at each evaluation, one column for each unknown; None if there is no such one.

        For tables of sizes and conditions (``da.compare``); M and A in floats, in these coordinates. Default: that of
        u̇ and λ together.
        """
        return np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        """Number of variables that are integrated; the work, and places that stay zero, left out.

        Args:
            freedom: degrees of freedom of position and of velocity.
        """
        form = self.form(sizes)
        return sizes.nq + sizes.nv if form is None else form.varying - 1


def usual_blocks(
    equations: Equations, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray
) -> dict[str, np.ndarray]:
    """What routes read, in this order (see ``numerics.layout.blocks_of``)."""
    return {
        "mass_matrix": M,
        "forcing": f,
        "jacobian": A,
        "gamma": gamma,
        "b": equations.velocity_bias,
        "position": equations.position_residual(),
    }


class BlockFormulation(Formulation):
    """A formulation that solves the canonical equations by a route of its own: ``route`` is the native function

    int64 route(int64 context, double t, double* blocks, double* out).

    Blocks beyond the six usual ones come behind them.
    """

    explicit: ClassVar[bool] = False
    route: ClassVar[Callable[..., int]]

    @classmethod
    def supports(cls) -> Support:
        return Support.everything("relative", "absolute", "natural", "generalized")

    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        e = equations
        return usual_blocks(e, e.mass_matrix, e.forcing, e.jacobian, e.gamma)

    def solver(self) -> int:
        return native_address(type(self).route)


def native_address(function: Callable[..., int]) -> int:
    """The address of a function with the signature of all native functions, compiled at its first use."""
    return _native(function).address


@cache
def _native(function: Callable[..., int]) -> Any:
    return cfunc(SIGNATURE, cache=True)(function)
