"""What implicit, Lie-group and variational integrators call, as native functions of (context, t, state, out).

Constraint equations that depend on others are left out: ``active`` lists rows that are independent at the start.
"""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.impulses import impulses
from dalembert.dynamics.rub import feed_back
from dalembert.native import Matrix, Outputs, Vector, native
from dalembert.numerics.context import NO_MASS, OK, Closure, Context, give_up
from dalembert.numerics.linear import constrained_factors, constrained_solution, solve_constrained

__all__ = ["DAE", "FUNCTIONS", "Tangent"]


class Tangent(Outputs):
    """What the tangent kernel gives (see ``traces.tangent_kernel``)."""

    r = Vector("nv")
    v, g = 2 * Vector("rows")
    phi = Vector("holonomic")
    qdot = Vector("nq")
    r_q = Matrix("nv", "nq")
    r_u, M = 2 * Matrix("nv", "nv")
    A = Matrix("rows", "nv")
    v_q, g_q = 2 * Matrix("rows", "nq")
    g_u = Matrix("rows", "nv")
    phi_q = Matrix("holonomic", "nq")
    qdot_q = Matrix("nq", "nq")
    W = Matrix("nq", "nv")
    power_q = Vector("nq")
    power_u = Vector("nv")
    states_u = Matrix("n_states", "nv")


@native
def tangent(c: Context, t: float, y: np.ndarray, du: np.ndarray, multipliers: np.ndarray) -> Tangent:
    """The tangent kernel at (t, q, u, u̇, λ), all rows of constraints."""
    return Tangent.of(c, c.tangent(t, y[: c.nq + c.nv], c.parameters, c.tau, du, multipliers))


@native
def _picked(active: np.ndarray, full: np.ndarray) -> np.ndarray:
    """The active rows of a matrix."""
    out = np.empty((active.shape[0], full.shape[1]))
    for i in range(active.shape[0]):
        out[i] = full[active[i]]
    return out


@native
def _rates(c: Context, T: Tangent, J: np.ndarray):
    """Rows of q̇ and of the work in a Jacobian, all others zero; the power of constraints that move is left out."""
    nq, nv = c.nq, c.nv
    J[:] = 0.0
    J[:nq, :nq] = T.qdot_q
    J[:nq, nq : nq + nv] = T.W
    first = nq - c.n_tail
    J[first : first + c.n_states, nq : nq + nv] = T.states_u
    J[nq + nv, :nq] = T.power_q
    J[nq + nv, nq : nq + nv] = T.power_u


@native
def _equations_of_motion(c: Context, T: Tangent, J: np.ndarray):
    """Rows of a differential-algebraic system that both forms share: q̇, u̇ = a, the work, 0 = −r by (q, u, a)."""
    nq, nv = c.nq, c.nv
    n = nq + nv + 1
    _rates(c, T, J)
    for i in range(nv):
        J[nq + i, n + i] = 1.0
    J[n : n + nv, :nq] = -T.r_q
    J[n : n + nv, nq : nq + nv] = -T.r_u
    J[n : n + nv, n : n + nv] = -T.M


@native
def jacobian(c: Context, t: float, y: np.ndarray, J: np.ndarray) -> int:
    """∂ẏ/∂y of y = (q, u, W)."""
    nq, nv, rows = c.nq, c.nv, c.rows
    rate = np.empty(nq + nv + 1)
    status = c.rhs(t, y, rate)
    if status != OK:
        return status
    T = tangent(c, t, y, rate[nq : nq + nv], c.multipliers)
    status, _, _, Q, R, H = constrained_factors(T.M, T.A)
    if status != OK:
        return give_up(c, NO_MASS)
    _rates(c, T, J)
    column, force, bend, multipliers = np.empty(nv), np.empty(nv), np.empty(rows), np.empty(rows)
    by_state = np.empty((rows, nq + nv))
    for j in range(nq + nv):
        for i in range(nv):
            force[i] = -T.r_q[i, j] if j < nq else -T.r_u[i, j - nq]
        for i in range(rows):
            bend[i] = T.g_q[i, j] if j < nq else T.g_u[i, j - nq]
        constrained_solution(T.M, force, bend, Q, R, H, column, multipliers)
        J[nq : nq + nv, j] = column
        by_state[:, j] = multipliers
    return OK if c.n_assumed == 0 else feed_back(c, t, y, rate[nq : nq + nv], J, by_state)


@native
def _spread(c: Context, short: np.ndarray) -> np.ndarray:
    """Multipliers of the active rows among all rows."""
    full = np.zeros(c.rows)
    for i in range(c.n_active):
        full[c.active[i]] = short[i]
    return full


@native
def _solved(c: Context, t: float, y: np.ndarray, both: np.ndarray) -> int:
    """u̇ and λ of the active rows."""
    nv = c.nv
    T = tangent(c, t, y, np.zeros(nv), np.zeros(c.rows))
    A, bend = _picked(c.active, T.A), T.g[c.active]
    status, _, _, _ = solve_constrained(T.M, -T.r, A, bend, both[:nv], both[nv : nv + c.n_active])
    return status if status == OK else give_up(c, NO_MASS)


@native
def multipliers(c: Context, t: float, y: np.ndarray, out: np.ndarray) -> int:
    """u̇ and λ of the active rows."""
    return _solved(c, t, y, out)


@native
def dae_start(c: Context, t: float, z: np.ndarray) -> int:
    """The algebraic variables a and λ that fit y."""
    return _solved(c, t, z, z[c.nq + c.nv + 1 :])


@native
def residual(c: Context, t: float, z: np.ndarray, out: np.ndarray) -> int:
    """From (q, u, u̇, λ): r and the constraints φ (holonomic) or A u + b (nonholonomic) of the active rows; then their
    derivatives along the tangent of q, by u and by u̇, (nv + m) × nv each; then A, m × nv."""
    nq, nv, m, hol, active = c.nq, c.nv, c.n_active, c.active_holonomic, c.active
    T = tangent(c, t, z, z[nq + nv : nq + 2 * nv], _spread(c, z[nq + 2 * nv :]))
    size = nv + m
    out[:nv] = T.r
    for i in range(m):
        out[nv + i] = T.phi[active[i]] if i < hol else T.v[active[i]]
    total = out[size : size + (3 * size + m) * nv].reshape(3 * size + m, nv)
    by_q, by_u, by_a = total[:size], total[size : 2 * size], total[2 * size : 3 * size]
    by_q[:nv] = T.r_q @ T.W
    by_u[:nv] = T.r_u
    by_a[:nv] = T.M
    by_a[nv:] = 0.0
    for i in range(m):
        row = active[i]
        for j in range(nv):
            if i < hol:
                by_q[nv + i, j], by_u[nv + i, j] = T.A[row, j], 0.0
            else:
                s = 0.0
                for k in range(nq):
                    s += T.v_q[row, k] * T.W[k, j]
                by_q[nv + i, j], by_u[nv + i, j] = s, T.A[row, j]
            total[3 * size + i, j] = T.A[row, j]
    return OK


@native
def exponential(c: Context, t: float, z: np.ndarray, out: np.ndarray) -> int:
    """q ∘ exp(δ), D(δ) and its inverse, from (q, δ)."""
    out[:] = c.exponential(z[: c.nq + c.nv], c.parameters)
    return OK


@native
def discrete(c: Context, t: float, z: np.ndarray, out: np.ndarray) -> int:
    """Momenta before and after a step, work, and the derivative of the momentum before, from (q, δ, h)."""
    n = c.nq + c.nv
    out[:] = c.discrete(t, z[:n], c.parameters, c.tau, z[n])
    return OK


@native
def project(c: Context, t: float, y: np.ndarray, out: np.ndarray) -> int:
    """φ and A of the active rows, and M, at (t, q)."""
    nv, m = c.nv, c.n_active
    e = Closure.of(c, c.constraints(t, y[: c.nq + nv], c.parameters))
    for i in range(m):
        out[i] = e.phi[c.active[i]]
    out[m : m + m * nv].reshape(m, nv)[:] = _picked(c.active, e.A)
    out[m + m * nv : m + m * nv + nv * nv].reshape(nv, nv)[:] = e.M
    return OK


@native
def index_1(c: Context, t: float, z: np.ndarray, F: np.ndarray) -> int:
    """F of  B ż = F  with z = (q, u, W, a, λ):  q̇, a, power;  −r(a, λ), −(A a + γ)."""
    nq, nv = c.nq, c.nv
    n = nq + nv + 1
    a = z[n : n + nv]
    T = tangent(c, t, z, a, _spread(c, z[n + nv :]))
    F[:nq] = T.qdot
    F[nq : nq + nv] = a
    F[n : n + nv] = -T.r
    F[n + nv :] = -T.g[c.active]
    return _power(c, t, z, F)


@native
def index_1_jacobian(c: Context, t: float, z: np.ndarray, J: np.ndarray) -> int:
    nq, nv, active = c.nq, c.nv, c.active
    n = nq + nv + 1
    T = tangent(c, t, z, z[n : n + nv], _spread(c, z[n + nv :]))
    _equations_of_motion(c, T, J)
    for i in range(c.n_active):
        row = n + nv + i
        J[row, :nq] = -T.g_q[active[i]]
        J[row, nq : nq + nv] = -T.g_u[active[i]]
        J[row, n : n + nv] = -T.A[active[i]]
        J[n : n + nv, row] = T.A[active[i]]
    return OK


@native
def ggl(c: Context, t: float, z: np.ndarray, F: np.ndarray) -> int:
    """F of  B ż = F  after Gear, Gupta, Leimkuhler, z = (q, u, W, a, λ, μ):

    q̇ = W (u + Aᵀμ),  u̇ = a,  power;  0 = −r(a, λ),  0 = A u + b,  0 = φ.
    """
    nq, nv, m, hol = c.nq, c.nv, c.n_active, c.active_holonomic
    n = nq + nv + 1
    a, mu = z[n : n + nv], z[n + nv + m :]
    T = tangent(c, t, z, a, _spread(c, z[n + nv : n + nv + m]))
    F[:nq] = T.qdot + T.W @ _pushed(c, T.A, mu)
    F[nq : nq + nv] = a
    F[n : n + nv] = -T.r
    F[n + nv : n + nv + m] = T.v[c.active]
    for i in range(hol):
        F[n + nv + m + i] = T.phi[c.active[i]]
    return _power(c, t, z, F)


@native
def ggl_jacobian(c: Context, t: float, z: np.ndarray, J: np.ndarray) -> int:
    """∂F/∂z; terms with μ, which is zero but for errors, are left out."""
    nq, nv, m, active = c.nq, c.nv, c.n_active, c.active
    n = nq + nv + 1
    T = tangent(c, t, z, z[n : n + nv], _spread(c, z[n + nv : n + nv + m]))
    _equations_of_motion(c, T, J)
    for i in range(m):
        row = n + nv + i
        J[n : n + nv, row] = T.A[active[i]]
        J[row, :nq] = T.v_q[active[i]]
        J[row, nq : nq + nv] = T.A[active[i]]
    for i in range(c.active_holonomic):
        row = n + nv + m + i
        J[:nq, row] = T.W @ T.A[active[i]]
        J[row, :nq] = T.phi_q[active[i]]
    return OK


@native
def _pushed(c: Context, A: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Aᵀμ of the holonomic active rows."""
    out = np.zeros(A.shape[1])
    for i in range(c.active_holonomic):
        for j in range(A.shape[1]):
            out[j] += A[c.active[i], j] * mu[i]
    return out


@native
def _power(c: Context, t: float, z: np.ndarray, F: np.ndarray) -> int:
    """The power at (t, q, u), by the equations of motion themselves."""
    at = c.nq + c.nv
    rate = np.empty(at + 1)
    status = c.rhs(t, z[: at + 1], rate)
    F[at] = rate[at]
    return status


# What integrators need, by the names of the fields of their problem.
FUNCTIONS = {
    "jacobian": jacobian, "multipliers": multipliers, "residual": residual, "exponential": exponential,
    "discrete": discrete, "project": project, "impulses": impulses,
}  # fmt: skip

# The two forms of a differential-algebraic system: F, its Jacobian, and the index of its algebraic variables.
DAE = {"index-1": (index_1, index_1_jacobian, 1), "ggl": (ggl, ggl_jacobian, 2)}
