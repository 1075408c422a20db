"""The contract of a formulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, not_a_mechanism
from dalembert.native import Bound, Native, Outputs, Record
from dalembert.numerics.context import Context, check_blocks
from dalembert.numerics.integrated import Variables
from dalembert.numerics.solver_steps import null_space

__all__ = ["BlockFormulation", "Formulation", "Sizes", "Support", "Variables", "usual_blocks"]


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
    and the coordinates of the mechanism, if it is one.
    """

    nq: int
    nv: int
    rows: int
    holonomic: int
    tail: int
    coordinates: Coordinates | None = None

    def of_mechanism(self, formulation: str) -> Coordinates:
        """The coordinates, for a formulation that looks at bodies and joints."""
        if self.coordinates is None:
            raise not_a_mechanism(formulation)
        return self.coordinates


@dataclass(frozen=True)
class Formulation(ABC):
    """How the constrained equations of motion are formed and solved.

    It starts from the canonical block equations (see :class:`BlockEquations`),

        q̇ = W u + X,   M u̇ + h = Q + Aᵀλ,   φ = 0,   A u + b = 0,   A u̇ + γ = 0,

    and says which of their blocks the native code needs. ``explicit`` formulations give u̇ themselves; for the others
    a native function finds u̇ and λ at run time, the ``solver``:

        def solver(o: Context, t: float, e: System, out: Solution) -> int

    Options are fields of a frozen dataclass; all have defaults. A solver that needs them has a record of its own
    instead of the context. Blocks beyond the six usual ones come behind them; ``own`` names them.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    explicit: ClassVar[bool]
    solver: ClassVar[Native] = null_space
    own: ClassVar[type[Outputs] | None] = None
    rolled: ClassVar[bool] = False  # large models run by rolled recursions
    follows_switches: ClassVar[bool] = True  # it knows constraints that close during a run

    @classmethod
    @abstractmethod
    def supports(cls) -> Support: ...

    @property
    def exact(self) -> bool:
        """Whether accelerations satisfy the constraints exactly, with these options."""
        return self.supports().exact

    @abstractmethod
    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        """What the native code evaluates, in order: ``acceleration``, or ``mass_matrix, forcing, jacobian, gamma,
        b, position`` and what the formulation's own solver wants besides.
        """

    def check(self, coordinates: Coordinates) -> None:
        """Raise ModelError if the formulation cannot take this model."""
        return None

    def chosen_solver(self) -> Native:
        """The solver, where options decide between several."""
        return self.solver

    def record(self, context: Context) -> Record:
        """What the solver takes first: the context, or a record with options that refers to it."""
        return context

    def plan(self, equations: BlockEquations) -> Record | None:
        """What the solver knows in advance from the structure of the equations; None if it wants to know nothing."""
        return None

    def planned(self, context: Context, plan: Record | None) -> Record:
        """What the solver takes first, with the plan in it where there is one."""
        return self.record(context)

    def bind(self, context: Context, plan: Record | None = None) -> Bound | None:
        """The function that finds u̇ and λ for a context whose kernels are set; None if the blocks give u̇ themselves."""
        if self.explicit:
            return None
        if context.dynamics is not None:
            check_blocks(context.dynamics.kernel, self.own, context)
        return self.chosen_solver().bind(self.planned(context, plan))

    def variables(self, sizes: Sizes) -> Variables | None:
        """The variables that are integrated, if they are not q and u."""
        return None

    def variables_blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        """What integrated variables need at (t, q, u), besides q̇ and the power of forces without potential."""
        return {}

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray | None:
        """The matrix that is factorized at each evaluation, one column for each unknown; None if there is no such one.

        For tables of sizes and conditions (``da.compare``); M and A in floats, in these coordinates. Default: that of
        u̇ and λ together.
        """
        return np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])

    def anew(
        self, coordinates: Coordinates, t: float, q: np.ndarray, parameters: Mapping[str, float]
    ) -> Formulation | None:
        """This formulation with a choice of velocities that is good at a position; None if it has nothing to choose."""
        return None

    def kept(self, coordinates: Coordinates) -> tuple[int, ...] | None:
        """Numbers of the constraint rows that it chose before a run; None if it takes whatever acts."""
        return None

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        """Number of variables that are integrated; the work, and places that stay zero, left out.

        Args:
            freedom: degrees of freedom of position and of velocity.
        """
        variables = self.variables(sizes)
        return sizes.nq + sizes.nv if variables is None else variables.varying - 1


def usual_blocks(
    equations: BlockEquations, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray
) -> dict[str, np.ndarray]:
    """What solvers read, in this order (see ``numerics.context.Blocks``)."""
    return {
        "mass_matrix": M,
        "forcing": f,
        "jacobian": A,
        "gamma": gamma,
        "b": equations.velocity_bias,
        "position": equations.position_residual(),
    }


class BlockFormulation(Formulation):
    """A formulation that solves the canonical equations by its own solver, the null space of A if it names none."""

    explicit: ClassVar[bool] = False

    @classmethod
    def supports(cls) -> Support:
        return Support.everything("relative", "absolute", "natural", "generalized")

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        e = equations
        return usual_blocks(e, e.mass_matrix, e.forcing, e.jacobian, e.gamma)
