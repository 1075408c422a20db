"""What implicit, Lie-group and variational integrators call, as native functions of (context, t, state, out).

Constraint equations that depend on others are left out: ``active`` lists rows that are independent at the start.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray, cfunc, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.codegen import call_kernel
from dalembert.dynamics.native import evaluate, workspace
from dalembert.numerics.layout import (
    ACTIVE,
    ACTIVE_HOLONOMIC,
    CONSTRAINTS,
    DISCRETE,
    EXPONENTIAL,
    FAILURE,
    HOLONOMIC,
    MULTIPLIERS,
    N_ACTIVE,
    NO_MASS,
    NP,
    NQ,
    NV,
    PARAMETERS,
    RHS,
    ROWS,
    TANGENT,
    TAU,
    entries,
    statistics,
)  # fmt: skip
from dalembert.numerics.linear import OK, constrained_factors, constrained_solution, solve_constrained
from dalembert.numerics.native import SIGNATURE, call_address, float_pointer, integer_pointer, put

__all__ = ["function_address"]


class Tangent(NamedTuple):
    """What the tangent kernel gives (see ``traces.tangent_kernel``), all as matrices."""

    r: np.ndarray
    v: np.ndarray
    g: np.ndarray
    phi: np.ndarray
    qdot: np.ndarray
    r_q: np.ndarray
    r_u: np.ndarray
    M: np.ndarray
    A: np.ndarray
    v_q: np.ndarray
    g_q: np.ndarray
    g_u: np.ndarray
    phi_q: np.ndarray
    qdot_q: np.ndarray
    W: np.ndarray
    power_q: np.ndarray
    power_u: np.ndarray


@njit(cache=True, nogil=True)
def _active(c):
    return carray(integer_pointer(c[ACTIVE]), c[N_ACTIVE])


@njit(cache=True, nogil=True)
def _picked(active, full):
    """The active entries or rows of an array."""
    out = np.empty((active.shape[0], full.shape[1]))
    for i in range(active.shape[0]):
        out[i] = full[active[i]]
    return out


@njit(cache=True, nogil=True)
def _matrix(out, at, rows, columns):
    return out[at : at + rows * columns].reshape(rows, columns), at + rows * columns


@njit(cache=True, nogil=True)
def _tangent(c, t, y, du, multipliers):
    """The tangent kernel at (t, q, u, u̇, λ): r, v, g, φ, q̇ as columns, then the matrices; all rows of constraints."""
    nq, nv, rows, holonomic = c[NQ], c[NV], c[ROWS], c[HOLONOMIC]
    inp, out, work = workspace(c)
    at = 1 + nq + nv + c[NP]
    inp[at : at + nv] = carray(float_pointer(c[TAU]), nv)
    inp[at + nv : at + 2 * nv] = du
    inp[at + 2 * nv : at + 2 * nv + rows] = multipliers
    evaluate(c, c[TANGENT], t, y, inp, out, work)
    r, at = _matrix(out, 0, nv, 1)
    v, at = _matrix(out, at, rows, 1)
    g, at = _matrix(out, at, rows, 1)
    phi, at = _matrix(out, at, holonomic, 1)
    qdot, at = _matrix(out, at, nq, 1)
    r_q, at = _matrix(out, at, nv, nq)
    r_u, at = _matrix(out, at, nv, nv)
    M, at = _matrix(out, at, nv, nv)
    A, at = _matrix(out, at, rows, nv)
    v_q, at = _matrix(out, at, rows, nq)
    g_q, at = _matrix(out, at, rows, nq)
    g_u, at = _matrix(out, at, rows, nv)
    phi_q, at = _matrix(out, at, holonomic, nq)
    qdot_q, at = _matrix(out, at, nq, nq)
    W, at = _matrix(out, at, nq, nv)
    power_q, at = _matrix(out, at, 1, nq)
    power_u, at = _matrix(out, at, 1, nv)
    return Tangent(r, v, g, phi, qdot, r_q, r_u, M, A, v_q, g_q, g_u, phi_q, qdot_q, W, power_q, power_u)


@njit(cache=True, nogil=True)
def _rates(c, T, J):
    """Rows of q̇ and of the work in a Jacobian, all others zero; the power of constraints that move is left out."""
    nq, nv = c[NQ], c[NV]
    J[:] = 0.0
    J[:nq, :nq] = T.qdot_q
    J[:nq, nq : nq + nv] = T.W
    J[nq + nv, :nq] = T.power_q[0]
    J[nq + nv, nq : nq + nv] = T.power_u[0]


@njit(cache=True, nogil=True)
def _equations_of_motion(c, T, J):
    """Rows of a differential-algebraic system that both forms share: q̇, u̇ = a, the work, 0 = −r by (q, u, a)."""
    nq, nv = c[NQ], c[NV]
    n = nq + nv + 1
    _rates(c, T, J)
    for i in range(nv):
        J[nq + i, n + i] = 1.0
    J[n : n + nv, :nq] = -T.r_q
    J[n : n + nv, nq : nq + nv] = -T.r_u
    J[n : n + nv, n : n + nv] = -T.M


@njit(cache=True, nogil=True)
def _jacobian(context, t, y, out):
    """∂ẏ/∂y of y = (q, u, W)."""
    c = entries(context)
    nq, nv, rows = c[NQ], c[NV], c[ROWS]
    n = nq + nv + 1
    state = carray(y, n)
    J = carray(out, (n, n))
    rate, multipliers = np.empty(n), np.empty(rows)
    status = call_address(c[RHS], context, t, state, rate)
    if status != OK:
        return status
    du = rate[nq : nq + nv]
    multipliers[:] = carray(float_pointer(c[MULTIPLIERS]), rows)
    T = _tangent(c, t, state, du, multipliers)
    status, rank, _, Q, R, pivots, H = constrained_factors(T.M, T.A)
    if status != OK:
        statistics(c)[FAILURE] = NO_MASS
        return status
    _rates(c, T, J)
    column, force, bend = np.empty(nv), np.empty(nv), np.empty(rows)
    for j in range(nq + nv):
        for i in range(nv):
            force[i] = -T.r_q[i, j] if j < nq else -T.r_u[i, j - nq]
        for i in range(rows):
            bend[i] = T.g_q[i, j] if j < nq else T.g_u[i, j - nq]
        constrained_solution(T.M, force, bend, rank, Q, R, pivots, H, column, multipliers)
        for i in range(nv):
            J[nq + i, j] = column[i]
    return OK


@njit(cache=True, nogil=True)
def _spread(c, short):
    """Multipliers of the active rows among all rows."""
    full, active = np.zeros(c[ROWS]), _active(c)
    for i in range(active.shape[0]):
        full[active[i]] = short[i]
    return full


@njit(cache=True, nogil=True)
def _solved(context, t, y, both):
    """u̇ and λ of the active rows."""
    c = entries(context)
    nv, active = c[NV], _active(c)
    zero, none = np.zeros(nv), np.zeros(c[ROWS])
    T = _tangent(c, t, y, zero, none)
    force, bend = -T.r[:, 0], _picked(active, T.g)[:, 0].copy()
    status, _, _, _ = solve_constrained(T.M, force, _picked(active, T.A), bend, both[:nv], both[nv:])
    if status != OK:
        statistics(c)[FAILURE] = NO_MASS
    return status


@njit(cache=True, nogil=True)
def _multipliers(context, t, y, out):
    c = entries(context)
    return _solved(context, t, carray(y, c[NQ] + c[NV] + 1), carray(out, c[NV] + c[N_ACTIVE]))


@njit(cache=True, nogil=True)
def _dae_start(context, t, z, unused):
    """The algebraic variables a and λ that fit y."""
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    given = carray(z, n + c[NV] + c[N_ACTIVE])
    return _solved(context, t, given, given[n:])


@njit(cache=True, nogil=True)
def _residual(context, t, z, out):
    """From (q, u, u̇, λ): r and the constraints φ (holonomic) or A u + b (nonholonomic) of the active rows; then their
    derivatives along the tangent of q, by u and by u̇, (nv + m) × nv each; then A, m × nv."""
    c = entries(context)
    nq, nv, m, hol = c[NQ], c[NV], c[N_ACTIVE], c[ACTIVE_HOLONOMIC]
    given = carray(z, nq + 2 * nv + m)
    T = _tangent(c, t, given, given[nq + nv : nq + 2 * nv], _spread(c, given[nq + 2 * nv :]))
    size, active = nv + m, _active(c)
    values = carray(out, size + (3 * size + m) * nv)
    put(values, 0, T.r[:, 0], 0, nv)
    for i in range(m):
        values[nv + i] = T.phi[active[i], 0] if i < hol else T.v[active[i], 0]
    total = values[size:].reshape(3 * size + m, nv)
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


@njit(cache=True, nogil=True)
def _exponential(context, t, z, out):
    """q ∘ exp(δ), D(δ) and its inverse, from (q, δ)."""
    c = entries(context)
    nq, nv, parameters = c[NQ], c[NV], c[NP]
    inp, result, work = workspace(c)
    inp[: nq + nv] = carray(z, nq + nv)
    inp[nq + nv : nq + nv + parameters] = carray(float_pointer(c[PARAMETERS]), parameters)
    call_kernel(c[EXPONENTIAL], inp, result, work)
    size = nq + 2 * nv * nv
    carray(out, size)[:] = result[:size]
    return OK


@njit(cache=True, nogil=True)
def _discrete(context, t, z, out):
    """Momenta before and after a step, work, and the derivative of the momentum before, from (q, δ, h)."""
    c = entries(context)
    nq, nv, parameters = c[NQ], c[NV], c[NP]
    given = carray(z, nq + nv + 1)
    inp, result, work = workspace(c)
    at = 1 + nq + nv + parameters
    inp[at : at + nv] = carray(float_pointer(c[TAU]), nv)
    inp[at + nv] = given[nq + nv]
    evaluate(c, c[DISCRETE], t, given, inp, result, work)
    size = 2 * nv + 1 + nv * nv
    carray(out, size)[:] = result[:size]
    return OK


@njit(cache=True, nogil=True)
def _project(context, t, y, out):
    """φ and A of the active rows, and M, at (t, q)."""
    c = entries(context)
    nq, nv, rows, holonomic, m = c[NQ], c[NV], c[ROWS], c[HOLONOMIC], c[N_ACTIVE]
    inp, values, work = workspace(c)
    evaluate(c, c[CONSTRAINTS], t, carray(y, nq + nv + 1), inp, values, work)
    result, active = carray(out, m + m * nv + nv * nv), _active(c)
    at = holonomic + rows
    for i in range(m):
        result[i] = values[active[i]]
        result[m + i * nv : m + (i + 1) * nv] = values[at + active[i] * nv : at + (active[i] + 1) * nv]
    result[m + m * nv :] = values[at + rows * nv : at + rows * nv + nv * nv]
    return OK


@njit(cache=True, nogil=True)
def _index_1(context, t, z, out):
    """F of  B ż = F  with z = (q, u, W, a, λ):  q̇, a, power;  −r(a, λ), −(A a + γ)."""
    c = entries(context)
    nq, nv, m = c[NQ], c[NV], c[N_ACTIVE]
    n = nq + nv + 1
    given, F, active = carray(z, n + nv + m), carray(out, n + nv + m), _active(c)
    a, multipliers = given[n : n + nv], _spread(c, given[n + nv :])
    T = _tangent(c, t, given, a, multipliers)
    F[:nq] = T.qdot[:, 0]
    F[nq : nq + nv] = a
    F[nq + nv] = 0.0
    F[n : n + nv] = -T.r[:, 0]
    for i in range(m):
        F[n + nv + i] = -T.g[active[i], 0]
    return _power(c, context, t, given, F, nq + nv)


@njit(cache=True, nogil=True)
def _index_1_jacobian(context, t, z, out):
    c = entries(context)
    nq, nv, m = c[NQ], c[NV], c[N_ACTIVE]
    n = nq + nv + 1
    size = n + nv + m
    given, J, active = carray(z, size), carray(out, (size, size)), _active(c)
    T = _tangent(c, t, given, given[n : n + nv], _spread(c, given[n + nv :]))
    _equations_of_motion(c, T, J)
    for i in range(m):
        row = n + nv + i
        J[row, :nq] = -T.g_q[active[i]]
        J[row, nq : nq + nv] = -T.g_u[active[i]]
        J[row, n : n + nv] = -T.A[active[i]]
        J[n : n + nv, row] = T.A[active[i]]
    return OK


@njit(cache=True, nogil=True)
def _ggl(context, t, z, out):
    """F of  B ż = F  after Gear, Gupta, Leimkuhler, z = (q, u, W, a, λ, μ):

    q̇ = W (u + Aᵀμ),  u̇ = a,  power;  0 = −r(a, λ),  0 = A u + b,  0 = φ.
    """
    c = entries(context)
    nq, nv, m, hol = c[NQ], c[NV], c[N_ACTIVE], c[ACTIVE_HOLONOMIC]
    n = nq + nv + 1
    size = n + nv + m + hol
    given, F, active = carray(z, size), carray(out, size), _active(c)
    a, mu = given[n : n + nv], given[n + nv + m :]
    T = _tangent(c, t, given, a, _spread(c, given[n + nv : n + nv + m]))
    F[:nq] = T.qdot[:, 0] + T.W @ _pushed(active, hol, T.A, mu)
    F[nq : nq + nv] = a
    F[nq + nv] = 0.0
    F[n : n + nv] = -T.r[:, 0]
    for i in range(m):
        F[n + nv + i] = T.v[active[i], 0]
    for i in range(hol):
        F[n + nv + m + i] = T.phi[active[i], 0]
    return _power(c, context, t, given, F, nq + nv)


@njit(cache=True, nogil=True)
def _ggl_jacobian(context, t, z, out):
    """∂F/∂z; terms with μ, which is zero but for errors, are left out."""
    c = entries(context)
    nq, nv, m, hol = c[NQ], c[NV], c[N_ACTIVE], c[ACTIVE_HOLONOMIC]
    n = nq + nv + 1
    size = n + nv + m + hol
    given, J, active = carray(z, size), carray(out, (size, size)), _active(c)
    T = _tangent(c, t, given, given[n : n + nv], _spread(c, given[n + nv : n + nv + m]))
    _equations_of_motion(c, T, J)
    for i in range(m):
        row = n + nv + i
        J[n : n + nv, row] = T.A[active[i]]
        J[row, :nq] = T.v_q[active[i]]
        J[row, nq : nq + nv] = T.A[active[i]]
    for i in range(hol):
        row = n + nv + m + i
        J[:nq, row] = T.W @ T.A[active[i]]
        J[row, :nq] = T.phi_q[active[i]]
    return OK


@njit(cache=True, nogil=True)
def _pushed(active, hol, A, mu):
    """Aᵀμ of the holonomic active rows."""
    out = np.zeros(A.shape[1])
    for i in range(hol):
        for j in range(A.shape[1]):
            out[j] += A[active[i], j] * mu[i]
    return out


@njit(cache=True, nogil=True)
def _power(c, context, t, given, F, at):
    """The power at (t, q, u), by the equations of motion themselves."""
    rate = np.empty(at + 1)
    status = call_address(c[RHS], context, t, given, rate)
    F[at] = rate[at]
    return status


_FUNCTIONS = {
    "jacobian": _jacobian,
    "multipliers": _multipliers,
    "residual": _residual,
    "exponential": _exponential,
    "discrete": _discrete,
    "project": _project,
    "index-1": _index_1,
    "index-1 jacobian": _index_1_jacobian,
    "ggl": _ggl,
    "ggl jacobian": _ggl_jacobian,
    "dae_start": _dae_start,
}


@lru_cache
def _native(name: str) -> Any:
    return cfunc(SIGNATURE, cache=True)(_FUNCTIONS[name].py_func)


def function_address(name: str) -> int:
    """The address of one of the functions, compiled at its first use."""
    return _native(name).address
