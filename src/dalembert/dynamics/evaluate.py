"""The equations of motion as native functions of (context, t, y, dy), for any model and formulation.

The state is y = (q, u, W) with the work W of forces without potential and of drives. All leave λ in the context.
"""

from __future__ import annotations

import numpy as np

from dalembert.native import BatchKernel, Int, Matrix, Outputs, Real, Record, Vector, native, rare, vectorized
from dalembert.numerics.closing import close_loops
from dalembert.numerics.context import OK, Blocks, Context, Solution, System, finite, residual_rates, stabilized, watch
from dalembert.numerics.linear import hold_rank
from dalembert.numerics.scaling import even_matrix, even_rows, even_sides

__all__ = [
    "ConstraintLanes", "accelerations_along", "coupled_along", "eliminated_rhs", "explicit_rhs", "hold_blocks",
    "largest_coupled", "largest_open", "solved_rhs", "staged_rhs",
]  # fmt: skip


class Accelerations(Outputs):
    """What the dynamics kernel of an explicit formulation gives."""

    qdot = Vector("nq")
    power = Real()
    du = Vector("nv")


class Loops(Outputs):
    """What the dynamics kernel of ``formulations.recursive`` gives where there are constraints: rows of A beyond
    ``rows`` yield."""

    qdot = Vector("nq")
    power = Real()
    b = Vector("rows")
    phi = Vector("holonomic")
    du = Vector("nv")
    A = Matrix("rows + yielding", "nv")
    gamma = Vector("rows + yielding")
    Y = Matrix("nv", "rows + yielding")
    compliance = Matrix("rows + yielding", "rows + yielding")


@native
def explicit_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """u̇ straight from the kernel."""
    e = Accelerations.of(c, c.dynamics(t, y[: c.nq + c.nv], c.parameters, c.tau))
    dy[: c.nq] = e.qdot
    dy[c.nq : c.nq + c.nv] = e.du
    dy[c.nq + c.nv] = e.power
    return finite(c, dy)


@rare
def hold_blocks(c: Context, e: Blocks):
    """A, γ, b and φ of the known rank."""
    sides = np.zeros((c.rows, 3))
    sides[:, 0] = e.gamma
    sides[:, 1] = e.b
    sides[: c.holonomic, 2] = e.phi
    hold_rank(e.A, c.rank, sides)
    e.gamma[:] = sides[:, 0]
    e.b[:] = sides[:, 1]
    e.phi[:] = sides[: c.holonomic, 2]


@rare
def _even_blocks(c: Context, e: Blocks):
    """All blocks in even units."""
    even_matrix(c, e.M)
    even_rows(c, e.A)
    e.f *= c.unit
    even_sides(c, e.gamma)
    even_sides(c, e.b)
    even_sides(c, e.phi)


@rare
def _back(c: Context, du: np.ndarray, multipliers: np.ndarray):
    """u̇, and λ if it is known, in their own units."""
    du *= c.unit
    if not c.still:
        multipliers *= c.row_unit


@native
def solved_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """u̇ and λ by the solver of the formulation."""
    nq, nv, rows = c.nq, c.nv, c.rows
    e = Blocks.of(c, c.dynamics(t, y[: nq + nv], c.parameters, c.tau))
    u, power = y[nq : nq + nv].copy(), e.power
    if c.scaled != 0:
        _even_blocks(c, e)
        u /= c.unit
    if c.rank != 0:
        hold_blocks(c, e)
    rate = residual_rates(e.A, e.b, u)
    gamma = stabilized(c, e.gamma, e.phi, rate)
    out = Solution(dy[nq : nq + nv], c.multipliers)
    c.still = c.unread
    for x in e.b:
        c.still = c.still and x == 0.0
    status = c.solver(t, System(e.M, e.f, e.A, gamma, e.phi, rate, u, e.own), out)
    if status != OK:
        return status
    # Constraint forces have the power uᵀAᵀλ = −bᵀλ.
    if not c.still:
        for i in range(rows):
            power -= e.b[i] * c.multipliers[i]
    if c.scaled != 0:
        _back(c, out.du, c.multipliers)
    dy[:nq] = e.qdot
    dy[nq + nv] = power
    return finite(c, dy)


@rare
def _even_loops(c: Context, e: Loops, gamma: np.ndarray, du: np.ndarray):
    """All of them in even units; Y = M⁻¹Aᵀ becomes S⁻¹ Y R."""
    even_rows(c, e.A)
    even_sides(c, gamma)
    even_sides(c, e.b)
    even_sides(c, e.phi)
    du /= c.unit
    for i in range(c.nv):
        for j in range(e.Y.shape[1]):
            e.Y[i, j] *= (c.row_unit[j] if j < c.rows else 1.0) / c.unit[i]
    for i in range(c.rows):
        e.compliance[i, :] *= c.row_unit[i]
        e.compliance[:, i] *= c.row_unit[i]


@rare
def _hold_loops(c: Context, e: Loops, gamma: np.ndarray):
    """A of the known rank is E A; then γ, b and φ become E γ …, Y = M⁻¹Aᵀ becomes Y Eᵀ, the compliance E C Eᵀ."""
    rows, k = c.rows, e.A.shape[0]
    E = np.eye(k)
    hold_rank(e.A[:rows], c.rank, E[:rows])
    old = e.phi.copy()
    for i in range(c.holonomic):
        e.phi[i] = 0.0
        for j in range(c.holonomic):
            e.phi[i] += E[i, j] * old[j]
    e.b[:] = E[:rows, :rows] @ e.b
    gamma[:] = E @ gamma
    e.Y[:] = e.Y @ E.T
    e.compliance[:] = E @ (e.compliance @ E.T)


@native
def eliminated_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """The loops of ``formulations.recursive``."""
    nq, nv, rows = c.nq, c.nv, c.rows
    e = Loops.of(c, c.dynamics(t, y[: nq + nv], c.parameters, c.tau))
    dy[:nq] = e.qdot
    dy[nq : nq + nv] = e.du
    gamma, power, u = e.gamma.copy(), e.power, y[nq : nq + nv].copy()
    if c.scaled != 0:
        _even_loops(c, e, gamma, dy[nq : nq + nv])
        u /= c.unit
    if c.rank != 0:
        _hold_loops(c, e, gamma)
    rate = residual_rates(e.A[:rows], e.b, u)
    gamma[:rows] = stabilized(c, gamma[:rows], e.phi, rate)
    rank, ratio, conflict = close_loops(e.A, gamma, e.Y, e.compliance, dy[nq : nq + nv], c.multipliers)
    watch(c, rank, ratio, conflict)
    for i in range(rows):
        power -= e.b[i] * c.multipliers[i]
    if c.scaled != 0:
        _back(c, dy[nq : nq + nv], c.multipliers)
    dy[nq + nv] = power
    return finite(c, dy)


@native
def staged_rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """ẏ at a state that is led toward the constraints first: what is off them has little say, so the equations stay
    smooth near singular positions. There the direction that degenerates is left alone: the way back is as long as it
    is uncertain.
    """
    near = y.copy()
    c.approach(t, near)
    return c.inner(t, near, dy)


@native
def accelerations_along(
    c: Context, times: np.ndarray, states: np.ndarray, forces: np.ndarray, du: np.ndarray, multipliers: np.ndarray
) -> int:
    """u̇ and λ at many states; returns the number of states done before one failed."""
    nq, nv = c.nq, c.nv
    rate = np.empty(nq + nv + 1)
    for i in range(times.shape[0]):
        c.tau[:] = forces[i]
        if c.rhs(times[i], states[i], rate) != OK:
            return i
        du[i] = rate[nq : nq + nv]
        multipliers[i] = c.multipliers
    return times.shape[0]


@native
def largest_coupled(e: np.ndarray, du: np.ndarray, jacobian: int, gamma: int, rows: int) -> float:
    """The largest |A u̇ + γ|, where A and γ begin there among the outputs of a dynamics kernel; NaN if one is."""
    largest = 0.0
    for r in range(rows):
        left, at = e[gamma + r], jacobian + r * du.shape[0]
        for k in range(du.shape[0]):
            left += e[at + k] * du[k]
        if not abs(left) <= largest:
            largest = abs(left)
        if largest != largest:
            break
    return largest


@native
def coupled_along(
    c: Context, times: np.ndarray, states: np.ndarray, du: np.ndarray, jacobian: int, gamma: int, rows: int
) -> float:
    """The largest |A u̇ + γ| at many states (q, u, W), see ``largest_coupled``."""
    largest = 0.0
    for i in range(times.shape[0]):
        e = c.dynamics(times[i], states[i, : c.nq + c.nv], c.parameters, c.tau)
        left = largest_coupled(e, du[i], jacobian, gamma, rows)
        if left != left:
            return left
        largest = max(largest, left)
    return largest


class ConstraintLanes(Record):
    """The constraint equations at ``width`` states at a time.

    Attributes:
        n_in, n_out: numbers of a state that the kernel reads, t, (q, u) and parameters, and gives, φ and A u + b first.
        n_state, holonomic, rows: lengths of (q, u), φ and A u + b.
        worst: the largest of each of these in size so far.
    """

    width, n_in, n_out, n_state, holonomic, rows = 6 * Int()
    kernel = BatchKernel()
    inp = Matrix(1, "n_in * width")
    out = Matrix(1, "n_out * width")
    worst = Vector("(holonomic + rows) * width")


@vectorized
def largest_open(
    c: ConstraintLanes, times: np.ndarray, states: np.ndarray, parameters: np.ndarray
) -> tuple[float, float]:
    """The largest |φ| and |A u + b| at many states (q, u, W), NaN where one is."""
    width, n, inp, out, worst = c.width, times.shape[0], c.inp, c.out, c.worst
    worst[:] = 0.0
    for k in range(parameters.shape[0]):
        at = (1 + c.n_state + k) * width
        inp[0, at : at + width] = parameters[k]
    for group in range((n + width - 1) // width):
        for lane in range(width):
            row = min(group * width + lane, n - 1)  # spare lanes repeat the last state
            inp[0, lane] = times[row]
            for i in range(c.n_state):
                inp[0, (1 + i) * width + lane] = states[row, i]
        c.kernel(inp, out, 1)
        for k in range(worst.shape[0]):
            size = abs(out[0, k])
            worst[k] = size if size > worst[k] or size != size else worst[k]
    position, velocity = 0.0, 0.0
    for k in range(worst.shape[0]):
        size = worst[k]
        if k < c.holonomic * width:
            position = size if size > position or size != size else position
        else:
            velocity = size if size > velocity or size != size else velocity
    return position, velocity
