"""A variational (symplectic) integrator: for long runs, on which energy must not drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.integrators.base import EqualSteps, Memory, Problem, Stepper
from dalembert.integrators.ends import FAILED, GO_ON, NO_CONVERGENCE
from dalembert.integrators.loop import land, wind
from dalembert.integrators.problem import NewtonStep
from dalembert.native import Int, Matrix, Outputs, Real, Ref, Vector, native
from dalembert.numerics.linear import cholesky, cholesky_substitute, lu_factor, lu_solve

__all__ = ["Variational"]

NEWTON_STEPS = 30
# Newton's method squares the error: after a correction of so much, relative and absolute (m, rad), what is left is
# rounding. A correction that is small and stops shrinking is rounding, too.
RELATIVE, ABSOLUTE = 1e-8, 1e-9
SMALL = 1e3


class VariationalMemory(Memory):
    """What the loop remembers: the momenta at the state."""

    nv = Int()
    momentum = Vector("nv")


class Momenta(Outputs):
    """What ``Problem.discrete`` gives: momenta before and after a step, its work, and ∂(before)/∂δ."""

    before, after = 2 * Vector("nv")
    work = Real()
    slope = Matrix("nv", "nv")


class Projection(Outputs):
    """What ``Problem.project`` gives: φ, A and M."""

    phi = Vector("rows")
    A = Matrix("rows", "nv")
    M = Matrix("nv", "nv")


class VariationalStep(NewtonStep):
    """A step and its working space: (q, δ, h), momenta, constraints at both ends, impulses of the constraints, the
    right-hand side of Newton's method."""

    memory = Ref(VariationalMemory)
    given = Vector("nq + nv + 1")
    momenta = Vector("2 * nv + 1 + nv * nv")
    here, there = 2 * Vector("rows + rows * nv + nv * nv")
    impulse = Vector("rows")
    r = Vector("nv + rows")


@native
def _balance(s: VariationalStep) -> int:
    """Newton's matrix and right-hand side at δ: momenta, and constraints at the end of the step."""
    p, t, h, nq, nv, rows, S, r = s.problem, s.memory.t, s.h, s.nq, s.nv, s.rows, s.S, s.r
    if p.discrete(t, s.given, s.momenta) != 0:
        return FAILED
    seen, here, target, impulse = Momenta.of(p, s.momenta), Projection.of(p, s.here), s.memory.momentum, s.impulse
    for i in range(nv):
        x = seen.before[i] - target[i]
        for k in range(rows):
            x -= here.A[k, i] * impulse[k]
        r[i] = -h * x
        for j in range(nv):
            S[i, j] = h * seen.slope[i, j]
        for k in range(rows):
            S[i, nv + k] = -here.A[k, i]
    if rows == 0:
        return GO_ON
    p.exponential(t, s.given, s.moved)
    if p.project(t + h, s.moved, s.there) != 0:
        return FAILED
    there, D = Projection.of(p, s.there), s.moved[nq : nq + nv * nv].reshape(nv, nv)
    for k in range(rows):
        r[nv + k] = -there.phi[k]
        for j in range(nv):
            x = 0.0
            for i in range(nv):
                x += there.A[k, i] * D[i, j]
            S[nv + k, j] = x
        S[nv + k, nv:] = 0.0
    return GO_ON


@native
def _solve_step(s: VariationalStep) -> bool:
    """Newton's method for δ (in ``given``) and the impulses of the constraints; True if it converged."""
    nq, nv, h, r, given, impulse, previous = s.nq, s.nv, s.h, s.r, s.given, s.impulse, 1e300
    impulse[:] = 0.0
    for _ in range(NEWTON_STEPS):
        if _balance(s) != GO_ON or not lu_factor(s.S, s.pivots):
            return False
        lu_solve(s.S, s.pivots, r)
        change = 0.0
        for j in range(nv):
            change = max(change, abs(r[j]) / (RELATIVE * abs(given[nq + j]) + ABSOLUTE))
            given[nq + j] += r[j]
        for k in range(s.rows):
            impulse[k] += r[nv + k] / h
        if not np.isfinite(change):
            return False
        if change <= 1.0 or (change <= SMALL and change > 0.25 * previous):
            return True
        previous = change
    return False


@native
def _finish(s: VariationalStep) -> int:
    """The end of the step from δ: position, velocity of the momentum there, work; led back onto the constraints."""
    p, m, nq, nv, y, new = s.problem, s.memory, s.nq, s.nv, s.memory.y, s.new
    p.discrete(m.t, s.given, s.momenta)
    p.exponential(m.t, s.given, s.moved)
    new[:nq] = s.moved[:nq]
    new[nq:] = y[nq:]
    if p.project(s.t_new, new, s.there) != 0:
        return FAILED
    seen, M = Momenta.of(p, s.momenta), Projection.of(p, s.there).M
    L, u = M.copy(), seen.after.copy()
    if not cholesky(L):
        return FAILED
    cholesky_substitute(L, u)
    new[nq : nq + nv] = u
    new[nq + nv] = y[nq + nv] + seen.work
    if land(s) != GO_ON or wind(s, m.t, m.y) != GO_ON:
        return FAILED
    # Without constraints the momentum goes on as it is; with them, as the projected velocity has it.
    if s.rows == 0:
        m.momentum[:] = seen.after
    else:
        m.momentum[:] = M @ new[nq : nq + nv]
    m.evaluations += 1
    return GO_ON


@native
def _begin(s: VariationalStep) -> int:
    """The momenta at the start."""
    p, m = s.problem, s.memory
    if p.project(m.t, m.y, s.here) != 0:
        return FAILED
    m.momentum[:] = Projection.of(p, s.here).M @ m.y[s.nq : s.nq + s.nv]
    return GO_ON


@native
def _step(s: VariationalStep) -> int:
    """One step."""
    m, y, given, nq, nv = s.memory, s.memory.y, s.given, s.nq, s.nv
    if s.problem.project(m.t, y, s.here) != 0:
        return FAILED
    given[:nq] = y[:nq]
    given[nq : nq + nv] = s.h * y[nq : nq + nv]
    given[nq + nv] = s.h
    return _finish(s) if _solve_step(s) else NO_CONVERGENCE


@dataclass(frozen=True)
class Variational(EqualSteps):
    """The midpoint discrete Lagrangian on the Lie group of the joints, with constraints as in RATTLE. Order 2; energy
    oscillates with the step but does not drift, momenta of symmetries are kept to rounding.

    Args:
        step: longest step (s).
        max_steps: most steps before the run is given up.

    References: J. E. Marsden, M. West, "Discrete mechanics and variational integrators", Acta Numerica 10 (2001);
    H. C. Andersen, "RATTLE", J. Comput. Phys. 52 (1983) 24-34.
    """

    name: ClassVar[str] = "variational"
    order: ClassVar[int] = 2
    projects: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "exponential", "discrete", "project")

    def memory(self, problem: Problem) -> VariationalMemory:
        return VariationalMemory(size=problem.size, n_events=problem.n_events, nv=problem.nv)

    def stepper(self, problem: Problem, memory: VariationalMemory) -> Stepper:
        step = VariationalStep(
            size=problem.size, fixed=self.step, max_steps=self.max_steps, problem=problem, memory=memory,
            nq=problem.nq, nv=problem.nv, rows=problem.rows,
        )  # fmt: skip
        return Stepper.of(step, begin=_begin, step=_step)
