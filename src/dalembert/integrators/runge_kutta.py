"""Explicit Runge-Kutta methods: embedded pairs with adaptive steps, and simple methods with fixed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dalembert.integrators import tables
from dalembert.integrators.base import AdaptiveSteps, EqualSteps, Memory, Problem, Step, Stepper, Stepwise
from dalembert.integrators.ends import FAILED, GO_ON, REJECTED
from dalembert.integrators.loop import hermite, land
from dalembert.native import Int, Matrix, Real, Record, Ref, Vector, native, rare

__all__ = ["DormandPrince8", "Euler", "FixedStep", "RungeKutta4", "Tsitouras5", "first_step"]

# Steps that stability limits settle a little below the limit: the error grows there before the motion does.
AT_LIMIT = 0.8

# A step should not end close to a singular position, where little of what constraints say stands out from rounding: it
# is cut by a factor, so many times, if the quality of its end is poor and much worse than at its start.
# Nor should much be bent back at its end: at most so many times the error allowed, or this relative error.
ACROSS, FINEST = 20.0, 1e-11
POOR, WORSE, POOR_CUT, POOR_STEPS = 0.005, 0.2, 0.9, 10

# There rounding itself may be larger than a tight tolerance allows: up to so many times, seen in so many tries.
NOISE, NOISY_TRIES, LONGER = 10.0, 3, 6.0

# A first try of a step is at least this share of t, some hundred times what rounding of t hides.
LEAST_ADVANCE = 1e-13

# By how many tolerances the solution within a step may miss the equations; smooth motion stays below a hundred or two.
GUARD = 1e3


class Pair(Record):
    """An embedded pair (see ``tables.Table``) with its options; ``limit``: of stability. ``dense`` has a row for
    each power."""

    stages, powers, main, error_order = 4 * Int()
    limit, rtol, atol, max_step = 4 * Real()
    A = Matrix("stages", "stages")
    c, e, e_low = 3 * Vector("stages")
    dense = Matrix("powers", "stages")


class PairMemory(Memory):
    """What an embedded pair remembers: its last error, rejections in a row and the error of the last of them, quality
    of the state, and the stages, the first of which is ẏ."""

    stages, rejections = 2 * Int()
    error, tried, quality = 3 * Real()
    k = Matrix("stages", "size")


class PairStep(Step):
    """A step of an embedded pair, its error, and time and state of its last stage."""

    pair = Ref(Pair)
    memory = Ref(PairMemory)
    error, t_stage = 2 * Real()
    stage = Vector("size")


@native
def _weigh(weights: np.ndarray, count: int, k: np.ndarray, out: np.ndarray):
    """out ← Σ w_i k_i over the first ``count`` stages, four entries side by side; the last four may overlap others."""
    n = out.shape[0]
    few = 0 if n >= 4 else n
    for begin in range(0, n - few, 4):
        j = min(begin, n - 4)
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(count):
            w = weights[i]
            if w != 0.0:
                s0 += w * k[i, j]
                s1 += w * k[i, j + 1]
                s2 += w * k[i, j + 2]
                s3 += w * k[i, j + 3]
        out[j], out[j + 1], out[j + 2], out[j + 3] = s0, s1, s2, s3
    for j in range(few):
        s0 = 0.0
        for i in range(count):
            if weights[i] != 0.0:
                s0 += weights[i] * k[i, j]
        out[j] = s0


@native
def _moved(weights: np.ndarray, count: int, k: np.ndarray, y: np.ndarray, h: float, out: np.ndarray):
    """out ← y + h Σ w_i k_i over the first ``count`` stages."""
    _weigh(weights, count, k, out)
    for j in range(len(y)):
        out[j] = y[j] + h * out[j]


@native
def _error(s: PairStep) -> float:
    """Scaled norm of the error estimate; with two estimates their combination after Hairer."""
    high, low = _estimate(s, s.pair.e), _estimate(s, s.pair.e_low)
    return 0.0 if high == 0.0 else high / math.sqrt((high + 0.01 * low) * s.size)


@native
def _estimate(s: PairStep, e: np.ndarray) -> float:
    """Sum of squares of one scaled estimate; of its part along the manifold if only that matters."""
    p, y, k, new, h, rtol, atol = s.problem, s.memory.y, s.memory.k, s.new, s.h, s.pair.rtol, s.pair.atol
    n, total = len(y), 0.0
    estimate = np.empty(n)
    _weigh(e, len(e), k, estimate)
    for j in range(n):
        estimate[j] *= h
    if p.staged:
        other, scratch = new - estimate, np.empty(n)
        if p.retract(s.t_new, other, scratch) > 0:
            return math.inf
        estimate[:] = new - other
    for j in range(n):
        total += (estimate[j] / (atol + rtol * max(abs(y[j]), abs(new[j])))) ** 2
    return total


@rare
def _bent(s: PairStep) -> tuple[float, float]:
    """Lead the end of a step back onto the manifold; returns the scaled length of the way and the quality there."""
    y, new, pair, total = s.memory.y, s.new, s.pair, 0.0
    before = new.copy()
    if land(s) != GO_ON:
        return math.inf, 1.0
    for j in range(len(y)):
        scale = pair.atol + max(pair.rtol, FINEST) * max(abs(y[j]), abs(new[j]))
        total += ((new[j] - before[j]) / scale) ** 2
    return math.sqrt(total / len(y)), s.scratch[0]


@native
def first_step(r: Any, t: float, y: np.ndarray, f: np.ndarray, order: int, rtol: float, atol: float) -> float:
    """A first step from the size of y, ẏ = f and ÿ by ``r.rhs`` (Hairer, Nørsett, Wanner, II.4)."""
    d0, d1, n = 0.0, 0.0, len(y)
    for j in range(n):
        scale = atol + rtol * abs(y[j])
        d0 += (y[j] / scale) ** 2
        d1 += (f[j] / scale) ** 2
    d0, d1 = math.sqrt(d0 / n), math.sqrt(d1 / n)
    # Where y is rounding, its size says nothing: the step must still advance t.
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else max(0.01 * d0 / d1, LEAST_ADVANCE * abs(t))
    k = np.empty(n)
    if r.rhs(t + h0, y + h0 * f, k) != 0:
        return h0
    d2 = 0.0
    for j in range(n):
        d2 += ((k[j] - f[j]) / (atol + rtol * abs(y[j]))) ** 2
    d2 = math.sqrt(d2 / n) / h0
    h1 = max(1e-6, h0 * 1e-3) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1.0 / (order + 1))
    return min(100.0 * h0, h1)


@native
def _is_stiff(k: np.ndarray, last: int, y_last: np.ndarray, y_new: np.ndarray, h: float, limit: float) -> bool:
    """True if h times the largest eigenvalue, as two stages at the same time show it, is at the limit of stability."""
    change, distance = 0.0, 0.0
    for j in range(len(y_new)):
        change += (k[last + 1, j] - k[last, j]) ** 2
        distance += (y_new[j] - y_last[j]) ** 2
    return distance > 0.0 and h * math.sqrt(change / distance) > AT_LIMIT * limit


@native
def _begin_pair(s: PairStep) -> int:
    """ẏ at the start, and a first step."""
    p, m, pair = s.problem, s.memory, s.pair
    f = m.k[0]
    if p.rhs(m.t, m.y, f) != 0:
        return FAILED
    m.evaluations += 2
    m.h = min(first_step(p, m.t, m.y, f, pair.error_order, pair.rtol, pair.atol), pair.max_step)
    m.error, m.quality, m.tried, m.rejections = 1e-4, 1.0, 0.0, 0
    return GO_ON


@native
def _try(s: PairStep) -> tuple[float, float, float]:
    """A step to ``new``: its error, infinite if it failed, how far it was bent back, the quality of its end."""
    p, m, pair, h = s.problem, s.memory, s.pair, s.h
    t, y, k, A, c, bent, quality = m.t, m.y, m.k, pair.A, pair.c, 0.0, 1.0
    for i in range(1, pair.main + 1):
        stage = s.new if i == pair.main else s.scratch
        _moved(A[i], i, k, y, h, stage)
        m.evaluations += 1
        if p.rhs(t + c[i] * h, stage, k[i]) != 0:
            return math.inf, 0.0, 1.0
    s.t_stage = t + c[pair.main] * h
    s.stage[:] = s.new
    if p.staged:
        # What comes next depends on the state on the manifold only.
        bent, quality = _bent(s)
    return _error(s), bent, quality


@native
def _is_rounding(m: PairMemory, error: float) -> bool:
    """True if an error beyond the tolerance does not fall with the step: then shorter steps are of no use."""
    before, m.tried = m.tried, error
    return m.rejections >= NOISY_TRIES and error <= NOISE and error > 0.5 * before


@native
def _cut(s: PairStep, error: float, bent: float, quality: float) -> float:
    """By what a step must be shortened and tried again; 1 if it is good."""
    m = s.memory
    if not error <= 1.0 and not (s.problem.staged and _is_rounding(m, error)):
        return max(0.2, 0.9 * error ** (-1.0 / (s.pair.error_order + 1))) if np.isfinite(error) else 0.25
    poor = bent > ACROSS or quality < min(POOR, WORSE * m.quality)
    return POOR_CUT if poor and not s.last and m.rejections < POOR_STEPS else 1.0


@native
def _step_pair(s: PairStep) -> int:
    """One try of a step."""
    m, pair = s.memory, s.pair
    error, bent, quality = _try(s)
    cut = _cut(s, error, bent, quality)
    if cut < 1.0:
        m.rejections += 1
        m.h = s.h * cut
        return REJECTED
    s.error, m.quality = error, quality
    # In a stiff problem the step is limited by stability again and again.
    s.limited = s.watch and not s.landed and _is_stiff(m.k, pair.main - 1, s.scratch, s.new, s.h, pair.limit)
    return GO_ON


@native
def _interpolate_pair(s: PairStep) -> int:
    """The solution within the step, after some more stages."""
    m, pair, D, h = s.memory, s.pair, s.D, s.h
    y, k, A, c = m.y, m.k, pair.A, pair.c
    for i in range(pair.main + 1, pair.stages):
        _moved(A[i], i, k, y, h, s.scratch)
        m.evaluations += 1
        if s.problem.rhs(m.t + c[i] * h, s.scratch, k[i]) != 0:
            return FAILED
    D[0] = y
    for p in range(pair.powers):
        row = D[p + 1]
        _weigh(pair.dense[p], pair.stages, k, row)
        for j in range(len(y)):
            row[j] *= h
    return GO_ON


@native
def _next_step(m: PairMemory, pair: Pair, h: float, error: float) -> float:
    """The step after a good one, from this error and the one before."""
    exponent = 1.0 / (pair.error_order + 1)
    if error > 1.0:
        # Rounding, which shorter steps do not escape (see ``_is_rounding``): longer ones do.
        m.error, m.rejections = 1.0, 0
        return min(LONGER * h, pair.max_step)
    error = max(error, 1e-10)
    factor = 0.9 * error ** (-exponent * 0.8) * m.error ** (exponent * 0.3)
    factor = min(1.0 if m.rejections != 0 else 6.0, max(0.2, factor))
    m.error, m.rejections = error, 0
    return min(h * factor, pair.max_step)


@native
def _ends_at_stage(s: PairStep) -> bool:
    """Whether the last stage gave ẏ at the end of the step: nothing has moved the state since, and formulas have no
    branches that may be others there."""
    m = s.memory
    there = s.problem.n_events == 0 and s.t_stage == m.t
    for j in range(len(m.y)):
        there = there and s.stage[j] == m.y[j]
    return there


@native
def _go_on_pair(s: PairStep) -> int:
    """ẏ at the end of a step, and the next one."""
    m = s.memory
    if _ends_at_stage(s):
        m.k[0] = m.k[s.pair.main]
    else:
        if s.problem.rhs(m.t, m.y, m.k[0]) != 0:
            return FAILED
        m.evaluations += 1
    m.h = _next_step(m, s.pair, s.h, s.error)
    return GO_ON


class Stages(Record):
    """Explicit stages with fixed steps: k_i = f(t + c_i h, y + h Σ a_ij k_j), y₁ = y + h Σ b_i k_i."""

    stages = Int()
    A = Matrix("stages", "stages")
    b = Vector("stages")


class StagesMemory(Memory):
    """What a method with fixed steps remembers: ẏ at the state."""

    f = Vector("size")


class StagesStep(Step):
    """A fixed step and its stages."""

    stages = Int()
    method = Ref(Stages)
    memory = Ref(StagesMemory)
    k = Matrix("stages", "size")


@native
def _begin_stages(s: StagesStep) -> int:
    """ẏ at the start."""
    m = s.memory
    m.evaluations += 1
    return FAILED if s.problem.rhs(m.t, m.y, m.f) != 0 else GO_ON


@native
def _sum_stages(s: StagesStep, out: np.ndarray):
    """y₁ from all stages."""
    b = s.method.b
    _moved(b, len(b), s.k, s.memory.y, s.h, out)


@native
def _step_stages(s: StagesStep) -> int:
    """One step, and ẏ at its end."""
    p, m, A, k, h, stage = s.problem, s.memory, s.method.A, s.k, s.h, s.scratch
    k[0] = m.f
    for i in range(1, s.stages):
        _moved(A[i], i, k, m.y, h, stage)
        c = 0.0
        for j in range(i):
            c += A[i, j]
        if p.rhs(m.t + c * h, stage, k[i]) != 0:
            return FAILED
    _sum_stages(s, s.new)
    m.evaluations += s.stages
    return FAILED if land(s) != GO_ON or p.rhs(s.t_new, s.new, m.f) != 0 else GO_ON


@native
def _interpolate_stages(s: StagesStep) -> int:
    """The cubic to the end of the step as it was before it landed."""
    m, end, rate = s.memory, np.empty(s.size), np.empty(s.size)
    _sum_stages(s, end)
    if s.problem.rhs(s.t_new, end, rate) != 0:
        return FAILED
    m.evaluations += 1
    hermite(s.D, s.h, m.y, s.k[0], end, rate)
    return GO_ON


@dataclass(frozen=True)
class _Embedded(AdaptiveSteps, Stepwise):
    """An embedded pair with adaptive steps.

    Args:
        rtol, atol: local error allowed, relative and absolute.
        watch_stiffness: stop when stability limits the step.
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    watch_stiffness: bool = False

    table: ClassVar[tables.Table]

    def memory(self, problem: Problem) -> PairMemory:
        return PairMemory(size=problem.size, n_events=problem.n_events, stages=len(self.table.A))

    def stepper(self, problem: Problem, memory: PairMemory) -> Stepper:
        pair = _pair(self, problem.share)
        step = PairStep(
            size=problem.size, more_powers=pair.powers - 3, max_steps=self.max_steps, watch=self.watch_stiffness,
            problem=problem, memory=memory, pair=pair, guard=GUARD, rtol=pair.rtol, atol=pair.atol,
        )  # fmt: skip
        return Stepper.of(step, begin=_begin_pair, step=_step_pair, interpolate=_interpolate_pair, go_on=_go_on_pair)


@lru_cache(maxsize=100)
def _pair(method: _Embedded, share: float) -> Pair:
    """Table and options of a method, which many runs share."""
    table = method.table
    return Pair(
        stages=len(table.A), powers=table.dense.shape[1], main=table.main, error_order=table.error_order,
        limit=table.stability, rtol=method.rtol * share, atol=method.atol * share, max_step=method.max_step,
        A=table.A, c=table.c, e=table.e, e_low=table.e_low, dense=np.ascontiguousarray(table.dense.T),
    )  # fmt: skip


@dataclass(frozen=True)
class DormandPrince8(_Embedded):
    """Dormand-Prince 8(5,3): twelve stages, order 8, dense output of order 7. The default for smooth problems."""

    name: ClassVar[str] = "dopri8"
    order: ClassVar[int] = 8
    table: ClassVar[tables.Table] = tables.DP8


@dataclass(frozen=True)
class Tsitouras5(_Embedded):
    """Tsitouras 5(4): six stages, order 5, dense output of order 4. For loose tolerances."""

    name: ClassVar[str] = "tsit5"
    order: ClassVar[int] = 5
    table: ClassVar[tables.Table] = tables.TSIT5


@dataclass(frozen=True)
class FixedStep(EqualSteps):
    """Explicit stages with fixed steps, for study.

    Args:
        step: longest step (s).
        max_steps: most steps before the run is given up.
    """

    stages: ClassVar[np.ndarray]
    weights: ClassVar[np.ndarray]

    def memory(self, problem: Problem) -> StagesMemory:
        return StagesMemory(size=problem.size, n_events=problem.n_events)

    def stepper(self, problem: Problem, memory: StagesMemory) -> Stepper:
        count = len(self.weights)
        step = StagesStep(
            size=problem.size, fixed=self.step, max_steps=self.max_steps, problem=problem, memory=memory,
            stages=count, method=Stages(stages=count, A=self.stages, b=self.weights),
        )  # fmt: skip
        return Stepper.of(step, begin=_begin_stages, step=_step_stages, interpolate=_interpolate_stages)


@dataclass(frozen=True)
class RungeKutta4(FixedStep):
    """The classical Runge-Kutta method of order 4 with fixed steps."""

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    stages: ClassVar[np.ndarray] = np.diag([0.5, 0.5, 1.0], -1)
    weights: ClassVar[np.ndarray] = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0


@dataclass(frozen=True)
class Euler(FixedStep):
    """Euler's explicit method with fixed steps: order 1, to see what errors do."""

    name: ClassVar[str] = "euler"
    order: ClassVar[int] = 1
    stages: ClassVar[np.ndarray] = np.zeros((1, 1))
    weights: ClassVar[np.ndarray] = np.ones(1)
