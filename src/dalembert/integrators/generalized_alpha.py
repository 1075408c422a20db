"""The generalized-α method on Lie groups, for index-3 equations of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.integrators.base import Memory, Problem, Stepper, Stepwise
from dalembert.integrators.ends import FAILED, GO_ON, NO_CONVERGENCE
from dalembert.integrators.loop import land, wind
from dalembert.integrators.problem import NewtonStep
from dalembert.native import Flag, Int, Real, Ref, Vector, native
from dalembert.numerics.linear import lu_factor, lu_solve

__all__ = ["GeneralizedAlpha"]

NEWTON_STEPS = 20
CONVERGED = 1e-11  # correction of the velocities, relative
STAGNATED = 1e-6  # below this a correction that stops shrinking is rounding
NUDGE = 1e-3  # of a step, for the rate of the first acceleration


class AlphaMemory(Memory):
    """What the loop remembers: velocities v, their rates dv, the method's own a, multipliers λ, and the power;
    ``begun`` once they are known."""

    nv, rows = 2 * Int()
    power = Real()
    begun = Flag()
    v, dv, a = 3 * Vector("nv")
    multipliers = Vector("rows")


class AlphaStep(NewtonStep):
    """A step, the method's constants, and working space: z = (q, u, u̇, λ) and the residual there, (q, δ), ẏ at the
    end of the step."""

    alpha_m, alpha_f, beta, gamma = 4 * Real()
    memory = Ref(AlphaMemory)
    z = Vector("nq + 2 * nv + rows")
    balance = Vector("nv + rows + (3 * (nv + rows) + rows) * nv")
    given = Vector("nq + nv")
    rate = Vector("size")


@native
def _start(s: AlphaStep) -> int:
    """Accelerations, multipliers and power at the start.

    The method's a stands for v̇ a little later, at t + (α_m − α_f) h; so begun, the multipliers keep order 2.
    """
    p, m, h, nq, nv, shift = s.problem, s.memory, s.h, s.nq, s.nv, s.alpha_m - s.alpha_f
    y, t, rate, both, later = m.y, m.t, s.rate, np.empty(s.nv + s.rows), np.empty(s.nv + s.rows)
    if p.multipliers(t, y, both) != 0 or p.rhs(t, y, rate) != 0:
        return FAILED
    tiny = NUDGE * h
    moved = y + tiny * rate
    if p.retract(t + tiny, moved, s.scratch) > 0 or p.multipliers(t + tiny, moved, later) != 0:
        return FAILED
    m.v[:] = y[nq : nq + nv]
    m.dv[:] = both[:nv]
    for j in range(nv):
        m.a[j] = both[j] + shift * h * (later[j] - both[j]) / tiny
    m.multipliers[:] = both[nv:]
    m.power = rate[nq + nv]
    return GO_ON


@native
def _predict(s: AlphaStep):
    """δ, u, u̇ and λ with v̇ as before."""
    m, h, nq, nv, z, given = s.memory, s.h, s.nq, s.nv, s.z, s.given
    v, dv, a = m.v, m.dv, m.a
    alpha_m, alpha_f, beta, gamma = s.alpha_m, s.alpha_f, s.beta, s.gamma
    given[:nq] = m.y[:nq]
    for j in range(nv):
        a_new = ((1.0 - alpha_f) * dv[j] + alpha_f * dv[j] - alpha_m * a[j]) / (1.0 - alpha_m)
        given[nq + j] = h * v[j] + h * h * ((0.5 - beta) * a[j] + beta * a_new)
        z[nq + j] = v[j] + h * ((1.0 - gamma) * a[j] + gamma * a_new)
        z[nq + nv + j] = dv[j]
    z[nq + 2 * nv :] = m.multipliers


@native
def _matrix(s: AlphaStep, gamma_h: float, beta_h: float):
    """The matrix of Newton's method for (δ, λ/β'), rows of the equations of motion divided by β'."""
    nq, nv, m, S = s.nq, s.nv, s.rows, s.S
    D = s.moved[nq : nq + nv * nv].reshape(nv, nv)
    size = nv + m
    total = s.balance[size:].reshape(3 * size + m, nv)
    for i in range(size):
        scale = 1.0 / beta_h if i < nv else 1.0
        for j in range(nv):
            x = gamma_h * total[size + i, j] + beta_h * total[2 * size + i, j]
            for k in range(nv):
                x += total[i, k] * D[k, j]
            S[i, j] = scale * x
        for k in range(m):
            S[i, nv + k] = -total[3 * size + k, i] if i < nv else 0.0


@native
def _correct(s: AlphaStep, gamma_h: float, beta_h: float) -> tuple[float, float]:
    """Add a correction in ``balance``; returns that of the velocities and their size."""
    nq, nv, z, r, given = s.nq, s.nv, s.z, s.balance, s.given
    change, largest = 0.0, 0.0
    for j in range(nv):
        given[nq + j] += r[j]
        z[nq + j] += gamma_h * r[j]
        z[nq + nv + j] += beta_h * r[j]
        change = max(change, abs(gamma_h * r[j]))
        largest = max(largest, abs(z[nq + j]))
    for k in range(s.rows):
        z[nq + 2 * nv + k] += beta_h * r[nv + k]
    return change, largest


@native
def _newton(s: AlphaStep) -> int:
    """Solve for the end of the step: GO_ON, FAILED or NO_CONVERGENCE."""
    p, h, nq, nv, beta = s.problem, s.h, s.nq, s.nv, s.beta
    gamma_h, beta_h = s.gamma / (h * beta), (1.0 - s.alpha_m) / (h * h * beta * (1.0 - s.alpha_f))
    r, previous = s.balance[: nv + s.rows], 1e300
    for _ in range(NEWTON_STEPS):
        p.exponential(s.t_new, s.given, s.moved)
        s.z[:nq] = s.moved[:nq]
        if p.residual(s.t_new, s.z, s.balance) != 0:
            return FAILED
        s.memory.evaluations += 1
        _matrix(s, gamma_h, beta_h)
        for i in range(len(r)):
            r[i] = -r[i] / beta_h if i < nv else -r[i]
        if not lu_factor(s.S, s.pivots):
            return NO_CONVERGENCE
        lu_solve(s.S, s.pivots, r)
        change, largest = _correct(s, gamma_h, beta_h)
        if not np.isfinite(change):
            return NO_CONVERGENCE
        small = change <= STAGNATED * (1.0 + largest) and change > 0.5 * previous
        if change <= CONVERGED * (1.0 + largest) or small:
            return GO_ON
        previous = change
    return NO_CONVERGENCE


@native
def _finish(s: AlphaStep) -> int:
    """The end of the step: what the method remembers, and what is shown."""
    p, m, nq, nv, z, new, work = s.problem, s.memory, s.nq, s.nv, s.z, s.new, s.memory.y[s.nq + s.nv]
    p.exponential(s.t_new, s.given, s.moved)
    new[:nq] = s.moved[:nq]
    new[nq : nq + nv] = z[nq : nq + nv]
    new[nq + nv] = work
    for j in range(nv):
        da = (1.0 - s.alpha_f) * z[nq + nv + j] + s.alpha_f * m.dv[j] - s.alpha_m * m.a[j]
        m.a[j] = da / (1.0 - s.alpha_m)
        m.v[j], m.dv[j] = z[nq + j], z[nq + nv + j]
    m.multipliers[:] = z[nq + 2 * nv :]
    # The velocities of the method obey the constraints to its own order; what is shown obeys them exactly.
    if land(s) != GO_ON or wind(s, m.t, m.y) != GO_ON or p.rhs(s.t_new, new, s.rate) != 0:
        return FAILED
    new[nq + nv] = work + 0.5 * s.h * (m.power + s.rate[nq + nv])
    m.power = s.rate[nq + nv]
    return GO_ON


@native
def _begin(s: AlphaStep) -> int:
    """What the method remembers is found when the first step is known."""
    s.memory.begun = False
    return GO_ON


@native
def _step(s: AlphaStep) -> int:
    """One step."""
    if not s.memory.begun and _start(s) != GO_ON:
        return FAILED
    s.memory.begun = True
    _predict(s)
    status = _newton(s)
    return _finish(s) if status == GO_ON else status


@dataclass(frozen=True)
class GeneralizedAlpha(Stepwise):
    """Generalized-α of order 2 for the index-3 equations themselves: no constraint is differentiated. High
    frequencies are damped as the spectral radius says; good for stiff systems at a fixed step.

    Args:
        step: longest step (s).
        spectral_radius: at infinite frequency, from 0 (all damping) to 1 (none).
        max_steps: most steps before the run is given up.

    Reference: O. Brüls, A. Cardona, M. Arnold, "Lie group generalized-α time integration of constrained flexible
    multibody systems", Mech. Mach. Theory 48 (2012) 121-137.
    """

    step: float = 1e-3
    spectral_radius: float = 0.8
    max_steps: int = 1_000_000_000

    name: ClassVar[str] = "generalized-alpha"
    order: ClassVar[int] = 2
    adaptive: ClassVar[bool] = False
    projects: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rhs", "retract", "exponential", "residual", "multipliers")

    def memory(self, problem: Problem) -> AlphaMemory:
        sizes = {"nv": problem.nv, "rows": problem.rows}
        return AlphaMemory(size=problem.size, n_events=problem.n_events, **sizes)

    def stepper(self, problem: Problem, memory: AlphaMemory) -> Stepper:
        rho = self.spectral_radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        beta = 0.25 * ((gamma + 0.5) * (gamma + 0.5))
        step = AlphaStep(
            size=problem.size, fixed=self.step, max_steps=self.max_steps, problem=problem, memory=memory,
            nq=problem.nq, nv=problem.nv, rows=problem.rows, alpha_m=alpha_m, alpha_f=alpha_f, beta=beta, gamma=gamma,
        )  # fmt: skip
        return Stepper.of(step, begin=_begin, step=_step)
