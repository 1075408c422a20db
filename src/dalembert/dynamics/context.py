"""What native code reads and writes while it works on one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics import native

if TYPE_CHECKING:
    from dalembert.dynamics.dynamics import Dynamics

__all__ = ["Context"]


class Context:
    """The block of numbers that native functions read: addresses, sizes, parameters, scratch space, statistics.

    Attributes:
        values: parameters.
        tau: forces on all velocities, besides those of the model.
        statistics: what was seen on the way (``native.STATISTICS``).
    """

    def __init__(self, dynamics: Dynamics, parameters: dict[str, float] | None = None):
        self.values = dynamics.parameters(parameters).copy()
        self.tau = np.zeros(dynamics.nv)
        self.statistics = np.array([1.0, np.inf, 0.0, 0.0, 0.0, 0.0, 0.0])
        self._block = np.zeros(native.CONTEXT_SIZE, dtype=np.int64)
        rolled = dynamics.rolled(parameters)
        kernels = {} if rolled is not None else {native.DYNAMICS: dynamics.dynamics_kernel}
        if dynamics.rows:
            kernels[native.CONSTRAINTS] = dynamics.constraint_kernel
        if dynamics.rows or dynamics.has_quaternions:
            kernels[native.MOVE] = dynamics.move_kernel
        n_in, n_out = (max((getattr(k, size) for k in kernels.values()), default=0) for size in ("n_in", "n_out"))
        n_work = max([1, *(k.n_work for k in kernels.values()), len(rolled.work) if rolled is not None else 0])
        self._work = np.zeros(n_in + n_out + n_work)
        entries: dict[int, Any] = {
            native.NQ: dynamics.nq, native.NV: dynamics.nv, native.ROWS: len(dynamics.rows),
            native.HOLONOMIC: dynamics.holonomic, native.NP: len(self.values),
            native.MODE: native.EXPLICIT if dynamics.formulation.explicit else native.SOLVED,
            native.PARAMETERS: self.values.ctypes.data, native.TAU: self.tau.ctypes.data,
            native.STATS: self.statistics.ctypes.data, native.WORK: self._work.ctypes.data,
            native.N_INPUT: n_in, native.N_OUTPUT: n_out, native.N_WORK: n_work,
        }  # fmt: skip
        entries |= {index: kernel.address for index, kernel in kernels.items()}
        if rolled is not None:
            entries |= {
                native.MODE: native.ROLLED, native.LAYOUT: rolled.layout.ctypes.data,
                native.N_KINDS: len(rolled.layout), native.LINKS: rolled.links.ctypes.data,
                native.N_LINKS: len(rolled.links),
                native.RECORD: rolled.record.ctypes.data, native.N_RECORD: len(rolled.record),
                native.BASE: rolled.base.ctypes.data,
            }  # fmt: skip
        for index, value in entries.items():
            self._block[index] = value
        self._owner = (kernels, rolled)

    @property
    def address(self) -> int:
        return self._block.ctypes.data

    def failure(self) -> str:
        """Why the native code gave up, in words."""
        return {
            native.NO_MASS: "some direction of motion has neither mass nor constraint: give every free body mass and "
            "inertia, or constrain it",
            native.NOT_FINITE: "the accelerations are not finite: look for a division by zero or a root of a negative "
            "number in the formulas, or for a coordinate singularity",
            native.NO_CONVERGENCE: "the position constraints could not be satisfied: the mechanism came apart or "
            "reached a position where it locks",
            native.CONFLICT: "the velocity constraints contradict each other: no velocity satisfies them all",
        }.get(int(self.statistics[native.FAILURE]), "the native code gave up without a reason")
