"""Native code of analytical formalisms: their own velocities w, constants G, and accelerations from them."""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import Int, Matrix, Outputs, Real, Vector, native
from dalembert.numerics.context import (
    CHOOSE,
    ILL_CONDITIONED,
    NO_MASS,
    OK,
    STALE_CHOICE,
    Context,
    Solution,
    System,
    finite,
    give_up,
    watch,
)
from dalembert.numerics.integrated import Motion, Variables, VariablesRecord
from dalembert.numerics.linear import (
    RANK_TOLERANCE,
    cholesky,
    cholesky_substitute,
    least_norm_multipliers,
    lu_factor,
    lu_solve,
    solve_constrained,
)
from dalembert.numerics.solver_steps import multipliers_after, undetermined

__all__ = [
    "LagrangeBlocks", "MaggiBlocks", "ReducedBlocks", "ReducedRates", "ReducedVariables", "decode", "encode",
    "lagrange_solver", "maggi_solver", "reduced_solver", "rhs",
]  # fmt: skip

# Quasi-velocities are chosen anew where they determine the rates less well than where they were chosen, by this.
LEAST_SHARE = 0.1

# Below this quality of the quasi-velocities single evaluations take the equations with multipliers instead.
POOR = 1e-4

# Single evaluations take them too where a row of constraints is missed by more than this share of what it adds up.
# In a run, stages do not quite hold redundant rows: the larger share is for formulations that are run so.
MISSED, MISSED_IN_STAGES = 1e-11, 1e-6

# What is integrated.


class ReducedVariables(VariablesRecord):
    """n velocities w, s constants G, and rows of constraints that are kept with multipliers; whether the velocities are
    to be chosen again when they become ill-conditioned."""

    n, s, kept, choosing = 4 * Int()

    @classmethod
    def of(cls, variables: Variables, context: Context) -> VariablesRecord:
        record = super().of(variables, context)
        record.set(kept=math.prod(context.variables.kernel.outputs["gamma"]))
        return record


class ReducedState(Outputs):
    """y or ẏ; known > 0 once G has been found: from then on it stays. The velocities w are ill-conditioned where they
    determine the rates less well than ``known``."""

    q = Vector("context.nq")
    w = Vector("n")
    work = Vector(1)
    G = Vector("s")
    known = Vector(1)


class ReducedRates(Outputs):
    """What is evaluated at (t, q, w, G), see ``ReducedFormulation.variables_blocks``:

    K ẇ = k + Aᵀλ,  A ẇ + γ = 0;  the power of constraints that move is carried · ẇ more;  (w, G) = E q̇ + e.
    """

    qdot = Vector("context.nq")
    power = Real()
    K = Matrix("n", "n")
    k = Vector("n")
    A = Matrix("kept", "n")
    gamma = Vector("kept")
    carried = Vector("n")
    condition = Real()
    E = Matrix("n + s", "context.nv")
    e = Vector("n + s")


@native
def _rates_at(o: ReducedVariables, t: float, state: ReducedState) -> ReducedRates:
    c, u = o.context, np.zeros(o.context.nv)
    u[: o.n] = state.w
    u[o.n : o.n + o.s] = state.G
    return ReducedRates.of(o, c.variables(t, state.q, u, c.parameters, c.tau))


@native
def _quality(o: ReducedVariables, r: ReducedRates) -> float:
    """n/(|Y| |W|): 1 for n quasi-velocities that are rates, 0 where they do not determine the rates."""
    return o.n / math.sqrt(r.condition) if r.condition > 0.0 else 1.0


@native
def rhs(o: ReducedVariables, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    c, rate, r = o.context, ReducedState.of(o, dy), _rates_at(o, t, ReducedState.of(o, y))
    dy[o.varying :] = 0.0
    rate.q[:] = r.qdot
    if o.kept == 0:
        ratio = _quality(o, r)
        L = r.K.copy()
        if not cholesky(L):
            return undetermined(c, r.K, r.A, NO_MASS) if ratio > RANK_TOLERANCE else give_up(c, STALE_CHOICE)
        rate.w[:] = r.k
        cholesky_substitute(L, rate.w)
        if r.condition > 0.0 and (c.rows > 0 or o.s > 0):
            watch(c, c.nv - o.n - o.s, ratio, 0.0)
    else:
        status, rank, ratio, conflict = solve_evenly(c, r.K, r.k, r.A, r.gamma, rate.w, np.empty(0))
        watch(c, rank, ratio, conflict)
        if status != OK:
            return undetermined(c, r.K, r.A, NO_MASS)
    rate.work[0] = r.power
    for i in range(o.n):
        rate.work[0] += r.carried[i] * rate.w[i]
    return finite(c, dy)


@native
def decode(o: ReducedVariables, t: float, y: np.ndarray, x: np.ndarray) -> int:
    c, state, motion = o.context, ReducedState.of(o, y), Motion.of(o.context, x)
    motion.q[:] = state.q
    motion.u[:] = _rates_at(o, t, state).qdot[: c.nv]
    motion.work[:] = state.work
    return finite(c, x)


@native
def encode(o: ReducedVariables, t: float, x: np.ndarray, y: np.ndarray) -> int:
    motion, state = Motion.of(o.context, x), ReducedState.of(o, y)
    state.q[:] = motion.q
    r = _rates_at(o, t, state)
    own = r.E @ motion.u + r.e
    state.w[:] = own[: o.n]
    state.work[:] = motion.work
    quality = _quality(o, r)
    if state.known[0] == 0.0:
        state.G[:] = own[o.n :]
        state.known[0] = max(LEAST_SHARE * quality, RANK_TOLERANCE)
    status = finite(o.context, y)
    return CHOOSE if status == OK and o.choosing > 0 and quality < state.known[0] else status


# Accelerations at (q, q̇).


@native
def solve_evenly(
    c: Context, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, du: np.ndarray, multipliers: np.ndarray
):
    """``solve_constrained``; of a large or small mechanism with velocities in what a unit of kinetic energy gives them,
    and with rows of one size."""
    if c.uneven == 0:
        return solve_constrained(M, f, A, gamma, du, multipliers)
    n, rows = M.shape[0], A.shape[0]
    unit, row_unit = np.ones(n), np.ones(rows)
    for j in range(n):
        longest = 0.0
        for i in range(rows):
            longest = max(longest, abs(A[i, j]))
        if M[j, j] > 0.0:
            unit[j] = 1.0 / math.sqrt(M[j, j])
        elif longest > 0.0:
            unit[j] = 1.0 / longest
    for i in range(rows):
        longest = 0.0
        for j in range(n):
            longest = max(longest, abs(A[i, j] * unit[j]))
        if longest > 0.0:
            row_unit[i] = 1.0 / longest
    K, B = M.copy(), A.copy()
    for j in range(n):
        for i in range(n):
            K[i, j] *= unit[i] * unit[j]
        for i in range(rows):
            B[i, j] *= row_unit[i] * unit[j]
    status, rank, ratio, conflict = solve_constrained(K, f * unit, B, gamma * row_unit, du, multipliers)
    du *= unit
    if multipliers.shape[0] > 0:
        multipliers *= row_unit
    return status, rank, ratio, conflict


class ReducedBlocks(Outputs):
    """What ``ReducedFormulation.blocks`` adds, filled up to nv velocities:  K ẇ = k + Bᵀλ,  B ẇ + β = 0,
    q̈ = W ẇ + bend.  quality = n²/(|Y| |W|)², see ``_quality``."""

    K = Matrix("nv", "nv")
    k = Vector("nv")
    B = Matrix("rows", "nv")
    beta = Vector("rows")
    W = Matrix("nv", "nv")
    bend = Vector("nv")
    quality = Real()


@native
def _obeys(A: np.ndarray, gamma: np.ndarray, du: np.ndarray, missed: float) -> bool:
    """Whether A u̇ + γ = 0 but for a small share. Where the rows that are kept all but depend on each other, or others
    act by now, those that were left out do not follow from them."""
    for i in range(A.shape[0]):
        total, size = gamma[i], abs(gamma[i])
        for j in range(A.shape[1]):
            total += A[i, j] * du[j]
            size += abs(A[i, j] * du[j])
        if not abs(total) <= missed * size:
            return False
    return True


@native
def _by_multipliers(c: Context, e: System, out: Solution) -> int:
    """q̈ and λ of the equations with multipliers."""
    status, rank, ratio, conflict = solve_evenly(c, e.M, e.f, e.A, e.gamma, out.du, out.multipliers)
    watch(c, rank, ratio, conflict)
    return OK if status == OK else undetermined(c, e.M, e.A, NO_MASS)


@native
def reduced_solver(c: Context, t: float, e: System, out: Solution) -> int:
    """ẇ by the formalism, q̈ from it, then λ of all rows. Next to a dead point of the quasi-velocities, which runs
    avoid by choosing others, or of the rows that are kept, q̈ and λ of the equations with multipliers."""
    own, dw = ReducedBlocks.of(c, e.own), np.empty(c.nv)
    if own.quality > POOR * POOR:
        status, _, _, _ = solve_evenly(c, own.K, own.k, own.B, own.beta, dw, np.empty(0))
        if status != OK:
            return undetermined(c, own.K, own.B, NO_MASS)
        out.du[:] = own.W @ dw + own.bend
        if _obeys(e.A, e.gamma, out.du, MISSED):
            return multipliers_after(c, e, out, c.rows, 1.0)
    return _by_multipliers(c, e, out)


class LagrangeBlocks(Outputs):
    """What ``Lagrange.blocks`` adds: the formalism's M and f."""

    K = Matrix("nv", "nv")
    k = Vector("nv")


@native
def lagrange_solver(c: Context, t: float, e: System, out: Solution) -> int:
    """M q̈ = f + Aᵀλ with the formalism's M and f. A force at a cut joint that has a potential may differ from its
    gradient across the constraints; λ are those that belong to the force."""
    own = LagrangeBlocks.of(c, e.own)
    status, rank, ratio, conflict = solve_evenly(c, own.K, own.k, e.A, e.gamma, out.du, out.multipliers)
    watch(c, rank, ratio, conflict)
    if status != OK:
        return undetermined(c, own.K, e.A, NO_MASS)
    if c.rows > 0:
        least_norm_multipliers(e.M, e.f, e.A, out.du, out.multipliers)
    return OK


class MaggiBlocks(Outputs):
    """What ``Maggi.blocks`` adds: the matrix and the right-hand side of all equations, and the numbers of the rows that
    are kept, then −1."""

    C = Matrix("nv", "nv")
    d = Vector("nv")
    which = Vector("rows")


@native
def maggi_solver(c: Context, t: float, e: System, out: Solution) -> int:
    # [Wᵀ M; a] q̈ = [Wᵀ f; −γ],  γ of the rows that are kept, with Baumgarte's terms
    own, pivots, kept = MaggiBlocks.of(c, e.own), np.empty(c.nv, dtype=np.int64), 0
    out.du[:] = own.d
    for row in own.which:
        if row >= 0.0:
            kept += 1
    for i in range(kept):
        out.du[c.nv - kept + i] = -e.gamma[int(own.which[i])]
    for i in range(c.nv):
        size = 0.0
        for x in own.C[i]:
            size = max(size, abs(x))
        if size > 0.0:
            out.du[i] /= size
            own.C[i] /= size
    if not lu_factor(own.C, pivots):
        return undetermined(c, e.M, e.A, ILL_CONDITIONED)
    smallest, largest = np.inf, 0.0
    for i in range(c.nv):
        smallest, largest = min(smallest, abs(own.C[i, i])), max(largest, abs(own.C[i, i]))
    if not smallest > POOR * largest:
        # Next to a dead point of the quasi-velocities behind W: the equations with multipliers, as ``reduced_solver``.
        return _by_multipliers(c, e, out)
    lu_solve(own.C, pivots, out.du)
    if not _obeys(e.A, e.gamma, out.du, MISSED_IN_STAGES):
        return _by_multipliers(c, e, out)
    return multipliers_after(c, e, out, c.rows, 1.0)
