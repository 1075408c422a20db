"""What native code reads and writes while it works on one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.codegen import Kernel
from dalembert.dynamics import native
from dalembert.dynamics.rolled_closing import memory_of
from dalembert.numerics import layout

if TYPE_CHECKING:
    from dalembert.dynamics.dynamics import Dynamics

__all__ = ["Context"]


class Context:
    """The block of numbers that native functions read: addresses, sizes, parameters, scratch space, statistics.

    Args:
        kernels: kernels besides those of the accelerations, by their names in ``layout.CONTEXT``.

    Attributes:
        values: parameters.
        tau: forces on all velocities, besides those of the model.
        statistics: what was seen on the way (``layout.STATISTICS``).
        multipliers: λ of the last evaluation.
        options: numbers of the formulation, which may keep choices there.
        rhs, retract: addresses of the native functions for this model.
    """

    def __init__(
        self, dynamics: Dynamics, parameters: dict[str, float] | None = None, kernels: dict[str, Kernel] | None = None
    ):
        self.values = dynamics.parameters(parameters).copy()
        self.tau = np.zeros(dynamics.nv)
        self.statistics = np.array([1.0, np.inf, 0.0, 0.0, 0.0, 0.0, 0.0])
        self.multipliers = np.zeros(len(dynamics.rows))
        self.stabilisation = np.zeros(2)
        self.options = np.zeros(layout.N_OPTIONS)
        given = dynamics.formulation.options()
        self.options[: len(given)] = given
        self._block = np.zeros(layout.CONTEXT_SIZE, dtype=np.int64)
        rolled = dynamics.rolled(parameters)
        loops = rolled.loops if rolled is not None else None
        way = dynamics.way if rolled is None else "rolled" if loops is None else "closed"
        self.rhs = native.function_address(way)
        back = "normalise" if not dynamics.rows else "retract" if loops is None else "closed retract"
        self.retract = native.function_address(back)
        self._approach = "approach" if loops is None else "closed approach"
        used = dict(kernels or {})
        if rolled is None:
            used["dynamics"] = dynamics.dynamics_kernel
        if dynamics.rows and loops is None:
            used["constraints"] = dynamics.constraint_kernel
        if loops is None and (dynamics.rows or dynamics.has_quaternions):
            used["move"] = dynamics.move_kernel
        n_in, n_out = (max((getattr(k, size) for k in used.values()), default=0) for size in ("n_in", "n_out"))
        n_out += dynamics.nv  # solvers find u behind the blocks
        n_work = max([1, *(k.n_work for k in used.values()), rolled.n_work if rolled is not None else 0])
        self._work = np.zeros(n_in + n_out + n_work)
        self.keep_rows(np.empty(0, dtype=np.int64), 0)
        self.set(
            nq=dynamics.nq, nv=dynamics.nv, rows=len(dynamics.rows), holonomic=dynamics.holonomic,
            yielding=dynamics.yielding,
            n_parameters=len(self.values), rhs=self.rhs, multipliers=self.multipliers.ctypes.data,
            parameters=self.values.ctypes.data, tau=self.tau.ctypes.data, statistics=self.statistics.ctypes.data,
            stabilisation=self.stabilisation.ctypes.data,
            options=self.options.ctypes.data, solver=dynamics.formulation.solver(), work=self._work.ctypes.data,
            n_input=n_in, n_output=n_out, n_work=n_work, extra=dynamics.extra,
            **{name: kernel.address for name, kernel in used.items()},
        )  # fmt: skip
        if dynamics.rows:
            self.project("projection")
            rank, holonomic_rank = dynamics.held_ranks.get(self.values.tobytes(), (0, 0))
            self.set(rank=rank, holonomic_rank=holonomic_rank)
        if rolled is not None:
            record = rolled.lend(self)
            self.set(
                program=rolled.addresses.ctypes.data, record=record.ctypes.data,
                n_record=len(record), base=rolled.base.ctypes.data,
            )  # fmt: skip
        if loops is not None:
            self._loops = memory_of(loops)
            self._places = np.array([(part.ctypes.data, len(part)) for part in self._loops], dtype=np.int64)
            self.set(loops=loops.addresses.ctypes.data, loop_memory=self._places.ctypes.data)
        self._owner = [used, rolled]

    def keep_rows(self, active: np.ndarray, holonomic: int) -> None:
        """The independent constraint rows that implicit methods keep, ``holonomic`` of them holonomic."""
        self.active, self.active_holonomic = np.ascontiguousarray(active, dtype=np.int64), holonomic
        self.set(active=self.active.ctypes.data, n_active=len(active), active_holonomic=holonomic)

    def project(self, how: str | None) -> None:
        """How states go back onto the constraints: ``projection``, ``partition`` (see ``native``), or not at all."""
        self.set(projection=0 if how is None else native.function_address(how))

    def project_stages(self) -> None:
        """Go towards the constraints before every evaluation, besides back onto them after steps."""
        self.set(inner=self.rhs, approach=native.function_address(self._approach))
        self.rhs = native.function_address("staged")
        self.set(rhs=self.rhs)

    def set(self, **entries: int) -> None:
        """Entries by their names in ``layout.CONTEXT``."""
        for name, value in entries.items():
            self._block[layout.CONTEXT.index(name)] = value

    @property
    def address(self) -> int:
        return self._block.ctypes.data

    def failure(self) -> str:
        """Why the native code gave up, in words."""
        return {
            layout.NO_MASS: "some direction of motion has neither mass nor constraint: give every free body mass and "
            "inertia, or constrain it",
            layout.NOT_FINITE: "the accelerations are not finite: look for a division by zero or a root of a negative "
            "number in the formulas, or for a coordinate singularity",
            layout.NO_CONVERGENCE: "the position constraints could not be satisfied: the mechanism came apart or "
            "reached a position where it locks",
            layout.WORN_OUT: "the independent velocities do not determine the others any more, and a step does not get "
            "past that position",
            layout.CONFLICT: "the velocity constraints contradict each other: no velocity satisfies them all",
        }.get(int(self.statistics[layout.FAILURE]), "the native code gave up without a reason")
