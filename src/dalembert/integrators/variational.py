"""A variational (symplectic) integrator: for long runs, on which energy must not drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from dalembert.integrators.base import Integrator, Problem, Status
from dalembert.integrators.loop import (
    CONTEXT,
    DISCRETE,
    EVALUATIONS,
    EXPONENTIAL,
    FAILED,
    GO_ON,
    NO_CONVERGENCE,
    NQ,
    NV,
    PROJECT,
    RETRACT,
    ROWS,
    STARTED,
    T,
    begin,
    close_fixed,
    fixed_step,
    own,
    state,
    wish,
)  # fmt: skip
from dalembert.numerics.linear import cholesky, cholesky_substitute, lu_factor, lu_solve
from dalembert.numerics.native import call_address

__all__ = ["Variational"]

NEWTON_STEPS = 30
# Newton's method squares the error: after a correction of so much, relative and absolute (m, rad), what is left is
# rounding. A correction that is small and stops shrinking is rounding, too.
RELATIVE, ABSOLUTE = 1e-8, 1e-9
SMALL = 1e3


@njit(cache=True, nogil=True)
def _solve_step(table, t, h, y, given, moved, momenta, here, there, target):
    """Newton's method for δ (in ``given``) and the impulses of the constraints; True if it converged."""
    context, nq, nv, m = table[CONTEXT], table[NQ], table[NV], table[ROWS]
    size = nv + m
    S, r, pivots = np.empty((size, size)), np.empty(size), np.empty(size, dtype=np.int64)
    impulse, previous = np.zeros(m), 1e300
    for _ in range(NEWTON_STEPS):
        if call_address(table[DISCRETE], context, t, given, momenta) != 0:
            return False
        slope = momenta[2 * nv + 1 :].reshape(nv, nv)
        for i in range(nv):
            s = momenta[i] - target[i]
            for k in range(m):
                s -= here[m + k * nv + i] * impulse[k]
            r[i] = -h * s
            for j in range(nv):
                S[i, j] = h * slope[i, j]
            for k in range(m):
                S[i, nv + k] = -here[m + k * nv + i]
        if m > 0:
            call_address(table[EXPONENTIAL], context, t, given, moved)
            if call_address(table[PROJECT], context, t + h, moved, there) != 0:
                return False
            D = moved[nq : nq + nv * nv].reshape(nv, nv)
            for k in range(m):
                r[nv + k] = -there[k]
                for j in range(nv):
                    s = 0.0
                    for i in range(nv):
                        s += there[m + k * nv + i] * D[i, j]
                    S[nv + k, j] = s
                S[nv + k, nv:] = 0.0
        if not lu_factor(S, pivots):
            return False
        lu_solve(S, pivots, r)
        change = 0.0
        for j in range(nv):
            change = max(change, abs(r[j]) / (RELATIVE * abs(given[nq + j]) + ABSOLUTE))
            given[nq + j] += r[j]
        for k in range(m):
            impulse[k] += r[nv + k] / h
        if not np.isfinite(change):
            return False
        if change <= 1.0 or (change <= SMALL and change > 0.25 * previous):
            return True
        previous = change
    return False


@njit(cache=True, nogil=True)
def _loop(table, memory, times, out, step, most, monitor):
    """Own memory: momenta at the state."""
    context, nq, nv, m = table[CONTEXT], table[NQ], table[NV], table[ROWS]
    y, momentum = state(table, memory), own(table, memory)
    n = y.shape[0]
    given, moved = np.empty(nq + nv + 1), np.zeros(max(n, nq + 2 * nv * nv))
    momenta = np.empty(2 * nv + 1 + nv * nv)
    here, there = np.empty(m + m * nv + nv * nv), np.empty(m + m * nv + nv * nv)
    new, scratch, u = np.empty(n), np.empty(n), np.empty(nv)
    if memory[STARTED] == 0.0:
        if begin(table, memory) != GO_ON or call_address(table[PROJECT], context, memory[T], y, here) != 0:
            return FAILED
        momentum[:] = here[m + m * nv :].reshape(nv, nv) @ y[nq : nq + nv]
    while True:
        status = wish(memory, monitor, most)
        if status != GO_ON:
            return status
        t = memory[T]
        h, t_new = fixed_step(memory, times, step)
        if call_address(table[PROJECT], context, t, y, here) != 0:
            return FAILED
        given[:nq] = y[:nq]
        given[nq : nq + nv] = h * y[nq : nq + nv]
        given[nq + nv] = h
        if not _solve_step(table, t, h, y, given, moved, momenta, here, there, momentum):
            return NO_CONVERGENCE
        call_address(table[DISCRETE], context, t, given, momenta)
        call_address(table[EXPONENTIAL], context, t, given, moved)
        new[:nq] = moved[:nq]
        new[nq:] = y[nq:]
        if call_address(table[PROJECT], context, t_new, new, there) != 0:
            return FAILED
        M = there[m + m * nv :].reshape(nv, nv)
        L = M.copy()
        if not cholesky(L):
            return FAILED
        u[:] = momenta[nv : 2 * nv]
        cholesky_substitute(L, u)
        new[nq : nq + nv] = u
        new[nq + nv] = y[nq + nv] + momenta[2 * nv]
        if call_address(table[RETRACT], context, t_new, new, scratch) > 0:
            return FAILED
        # Without constraints the momentum goes on as it is; with them, as the projected velocity has it.
        momentum[:] = momenta[nv : 2 * nv] if m == 0 else M @ new[nq : nq + nv]
        memory[EVALUATIONS] += 1
        status = close_fixed(table, memory, t_new, new, times, out)
        if status != GO_ON:
            return status


@dataclass(frozen=True)
class Variational(Integrator):
    """The midpoint discrete Lagrangian on the Lie group of the joints, with constraints as in RATTLE. Order 2; energy
    oscillates with the step but does not drift, momenta of symmetries are kept to rounding.

    Args:
        step: longest step (s).
        max_steps: gives up after so many.

    References: J. E. Marsden, M. West, "Discrete mechanics and variational integrators", Acta Numerica 10 (2001);
    H. C. Andersen, "RATTLE", J. Comput. Phys. 52 (1983) 24-34.
    """

    step: float = 1e-3
    max_steps: int = 1_000_000_000

    name: ClassVar[str] = "variational"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False
    projects: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "exponential", "discrete", "project")

    def memory_size(self, problem: Problem) -> int:
        return problem["nv"]

    def advance(
        self, problem: Problem, memory: np.ndarray, times: np.ndarray, out: np.ndarray, monitor: np.ndarray
    ) -> Status:
        return Status(_loop(problem.table, memory, times, out, self.step, self.max_steps, monitor))
