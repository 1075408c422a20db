"""Native functions of a system of subsystems: the highest derivatives, rates of the state, and the way back onto the
invariants.

With σ the order of the system, y = q⟨0⟩ … q⟨σ−1⟩ its state, and x = q⟨σ⟩,

    −M x = k + Aᵀλ,      A x + b = 0,      ẏ = r(t, y, x),      h(t, y) = 0

where f = M x + k are the effective forces and h the invariants at all orders below σ.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import Function, Int, Integers, Kernel, Matrix, Outputs, Record, Ref, Vector, native
from dalembert.numerics.context import CONFLICT, FAILED, NO_CONVERGENCE, NO_MASS, OK, Statistics, finite, give_up, watch
from dalembert.numerics.elimination_plan import Plan
from dalembert.numerics.linear import solve_constrained
from dalembert.numerics.reflections import largest_size
from dalembert.numerics.tree_elimination import solve_hierarchy

__all__ = [
    "SystemContext", "solve_tops", "system_choose", "system_events", "system_imposed", "system_jacobian",
    "system_retract", "system_rhs",
]  # fmt: skip

# Newton's method back onto the invariants of one order, close to rounding.
TOLERANCE, NEWTON_STEPS = 1e-14, 12
# How far redundant invariants may contradict each other, relative to the highest derivatives.
CONTRADICTION = 1e-6


class SystemBlocks(Outputs):
    """Blocks of the highest order: −M, k, A, b; of the matrices those entries that are not always zero."""

    M = Vector("n_M")
    k = Vector("n")
    A = Vector("n_A")
    b = Vector("rows")


class LowerInvariants(Outputs):
    """Invariants at all orders below the highest, lowest first, and their derivatives by the state, likewise."""

    h = Vector("lower")
    J = Vector("n_J")


class SystemTangent(Outputs):
    """Derivatives by the state of M x + k + Aᵀλ and of A x + b; of the rates by the state and by x."""

    G = Matrix("n", "size")
    H = Matrix("rows", "size")
    r_y = Matrix("size", "size")
    r_x = Matrix("size", "n")


class SystemContext(Record):
    """A compiled system in one run.

    Attributes:
        n, rows, size, lower: lengths of x, b, y and h;  orders: σ.
        n_branches, mode: how many of the last events choose branches of formulas, and the parameters that do.
        row_start, column_start: where in h, and in y, each order begins.
        M, A, J: −M, A and ∂h/∂y of the last evaluation. What is always zero is never written, so that many subsystems
            cost what their entries cost;  M_row, M_column, …: where the others belong;  unit: a unit matrix.
        x, multipliers: of the last evaluation.
        blocks, rates, invariants: kernels of (t, y, p), (t, y, x, p) and (t, y, p); tangent: of (t, y, x, λ, p).
        event: kernel of (t, y, p), its values rise through zero where something happens.
        plan: of the elimination from the leaves to the root;  places, speeds: the same of the invariants of order 0 and
            1, in the variables of these orders, if ``by_tree``.
        rhs, retract: as an integrator calls them;  inner: none.
    """

    n, rows, size, lower, orders, n_events, n_parameters = 7 * Int()
    parameters = Vector("n_parameters")
    n_branches = Int()
    mode = Integers("n_branches")
    x = Vector("n")
    multipliers = Vector("rows")
    n_M, n_A, n_J, wide = 4 * Int()
    M_row, M_column = 2 * Integers("n_M")
    A_row, A_column = 2 * Integers("n_A")
    J_row, J_column = 2 * Integers("n_J")
    M = Matrix("n", "n")
    A = Matrix("rows", "n")
    J = Matrix("lower", "size")
    unit = Matrix("wide", "wide")
    row_start, column_start = 2 * Integers("orders + 1")
    statistics = Ref(Statistics)
    by_tree = Int()
    plan, places, speeds = 3 * Ref(Plan)
    blocks, rates, invariants, tangent, event = 5 * Kernel()
    rhs, inner, retract = 3 * Function(float, Vector, Vector)

    def read_by(self, needs: tuple[str, ...]) -> None:
        """Multipliers are found in any case."""

    def failure(self) -> str:
        """Why the native code gave up, in words."""
        return self.statistics.reason()


@native
def _spread(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
    """Entries to their places."""
    for k in range(values.shape[0]):
        out[rows[k], columns[k]] = values[k]


@native
def _solve(c: SystemContext, t: float, y: np.ndarray) -> int:
    """x and λ at a state, into the context."""
    e = SystemBlocks.of(c, c.blocks(t, y, c.parameters))
    _spread(c.M_row, c.M_column, e.M, c.M)
    _spread(c.A_row, c.A_column, e.A, c.A)
    status, rank, ratio, conflict = solve_hierarchy(c.plan, c.M, e.k, c.A, e.b, c.x, c.multipliers)
    largest = 1.0
    for value in c.x:
        largest = max(largest, abs(value))
    watch(c, rank, ratio, conflict / largest)
    if status != OK:
        return give_up(c, NO_MASS)
    return finite(c, c.x)


@native
def system_rhs(c: SystemContext, t: float, y: np.ndarray, rate: np.ndarray) -> int:
    """ẏ."""
    if _solve(c, t, y) != OK:
        return FAILED
    rate[:] = c.rates(t, y, c.x, c.parameters)
    return finite(c, rate)


@native
def system_jacobian(c: SystemContext, t: float, y: np.ndarray, J: np.ndarray) -> int:
    """∂ẏ/∂y, exact: x follows from the derivatives of the equations that determine it."""
    if _solve(c, t, y) != OK:
        return FAILED
    d = SystemTangent.of(c, c.tangent(t, y, c.x, c.multipliers, c.parameters))
    dx, unused, g, gamma = np.empty(c.n), np.empty(c.rows), np.empty(c.n), np.empty(c.rows)
    for j in range(c.size):
        for i in range(c.n):
            g[i] = d.G[i, j]
        for i in range(c.rows):
            gamma[i] = d.H[i, j]
        status, _, _, _ = solve_hierarchy(c.plan, c.M, g, c.A, gamma, dx, unused)
        if status != OK:
            return give_up(c, NO_MASS)
        for i in range(c.size):
            s = d.r_y[i, j]
            for k in range(c.n):
                s += d.r_x[i, k] * dx[k]
            J[i, j] = s
    return OK


@native
def system_events(c: SystemContext, t: float, y: np.ndarray, g: np.ndarray) -> int:
    """The values of all events."""
    g[:] = c.event(t, y, c.parameters)
    return OK


@native
def system_choose(c: SystemContext, branches: np.ndarray) -> int:
    """Choose branches of formulas: entries for all events, the last of which are theirs."""
    first = c.n_events - c.n_branches
    for i in range(c.n_branches):
        c.parameters[c.mode[i]] = branches[first + i]
    return OK


@native
def system_imposed(c: SystemContext, t: float, y: np.ndarray, out: np.ndarray) -> int:
    """What invariants leave at all orders below the highest."""
    e = LowerInvariants.of(c, c.invariants(t, y, c.parameters))
    out[:] = e.h
    return OK


@native
def system_retract(c: SystemContext, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    """y back onto the invariants, the lowest order first, each by the shortest way in the variables of its order."""
    if c.lower == 0:
        return OK
    e = LowerInvariants.of(c, c.invariants(t, y, c.parameters))
    for order in range(c.orders):
        first, last = c.row_start[order], c.row_start[order + 1]
        begin, end = c.column_start[order], c.column_start[order + 1]
        if last == first:
            continue
        size = 1.0 + largest_size(y[begin:end])
        n, before = end - begin, np.inf
        zero, step, multipliers = np.zeros(n), np.empty(n), np.empty(last - first)
        for _ in range(NEWTON_STEPS):
            missed = largest_size(e.h[first:last])
            if not missed < before or missed <= TOLERANCE * size:
                break
            before = missed
            _spread(c.J_row, c.J_column, e.J, c.J)
            A, h = c.J[first:last, begin:end], e.h[first:last].copy()
            if c.by_tree == 1 and order == 0:
                status, _, _, _ = solve_hierarchy(c.places, c.unit, zero, A, h, step, multipliers)
            elif c.by_tree == 1 and order == 1:
                status, _, _, _ = solve_hierarchy(c.speeds, c.unit, zero, A, h, step, multipliers)
            else:
                status, _, _, _ = solve_constrained(np.eye(n), zero, A.copy(), h, step, np.empty(0))
            if status != OK:
                return give_up(c, NO_CONVERGENCE)
            for j in range(n):
                y[begin + j] += step[j]
            e = LowerInvariants.of(c, c.invariants(t, y, c.parameters))
        missed = largest_size(e.h[first:last])
        if not missed <= 1e-9 * size:
            return give_up(c, NO_CONVERGENCE if order == 0 else CONFLICT)
    c.statistics.projections += 1
    return OK


@native
def solve_tops(c: SystemContext, times: np.ndarray, states: np.ndarray, x: np.ndarray, residual: np.ndarray) -> int:
    """x at many states, and the largest |A x + b| there relative to the largest of x; NaN from where it fails."""
    for k in range(len(times)):
        if _solve(c, times[k], states[k]) != OK:
            return FAILED
        x[k] = c.x
        e = SystemBlocks.of(c, c.blocks.outputs)
        left = e.b.copy()
        for i in range(c.n_A):
            left[c.A_row[i]] += e.A[i] * c.x[c.A_column[i]]
        residual[k] = largest_size(left) / (1.0 + largest_size(c.x))
    return OK
