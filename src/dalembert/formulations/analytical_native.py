"""Native code of analytical formalisms: their own velocities w, constants G, and accelerations from them.

y = (q, w, W, G, known), where known = 1 once G has been found: from then on it stays.
"""

from __future__ import annotations

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.formulations.system import product, received
from dalembert.numerics.layout import (
    EXTRA,
    HOLONOMIC,
    N_FORM,
    N_STATE,
    NO_MASS,
    NQ,
    NV,
    RATES,
    ROWS,
    VARYING,
    entries,
    finite,
    give_up,
    watch,
)
from dalembert.numerics.linear import (
    OK,
    cholesky,
    cholesky_substitute,
    least_norm_multipliers,
    lu_factor,
    lu_solve,
    solve_constrained,
)
from dalembert.numerics.native import call_address, put

__all__ = ["decode", "encode", "lagrange_route", "maggi_route", "rhs", "route"]


@njit(cache=True, nogil=True)
def _form(context, c, t, state):
    """n, s, rows and what the form kernel gives at y."""
    nq, nv = c[NQ], c[NV]
    n, s = c[VARYING] - nq - 1, c[N_STATE] - c[VARYING] - 1
    x, values = np.zeros(nq + nv + 1), np.empty(c[N_FORM])
    put(x, 0, state, 0, nq + n)
    put(x, nq + n, state, nq + n + 1, s)
    call_address(c[RATES], context, t, x, values)
    rows = (c[N_FORM] - nq - 2 - n * n - 2 * n - (n + s) * (nv + 1)) // (n + 1)
    return n, s, rows, values


def rhs(context, t, y, dy):
    c = entries(context)
    nq = c[NQ]
    state, rate = carray(y, c[N_STATE]), carray(dy, c[N_STATE])
    n, s, rows, values = _form(context, c, t, state)
    for i in range(c[VARYING], c[N_STATE]):
        rate[i] = 0.0
    put(rate, 0, values, 0, nq)
    at = nq + 1
    K, k = values[at : at + n * n].reshape(n, n), values[at + n * n : at + n * n + n]
    at += n * n + n
    w = rate[nq : nq + n]
    if rows == 0:
        put(rate, nq, k, 0, n)
        if not cholesky(K):
            return give_up(c, NO_MASS)
        cholesky_substitute(K, w)
        # |Y| |W| is n for n quasi-velocities that are rates, and infinite where they do not determine the rates.
        spread = values[at + n]
        if spread > 0.0 and (c[ROWS] > 0 or s > 0):
            watch(c, c[NV] - n - s, n / np.sqrt(spread), 0.0)
    else:
        A, gamma = values[at : at + rows * n].reshape(rows, n), values[at + rows * n : at + rows * n + rows]
        status, rank, ratio, conflict = solve_constrained(K, k, A, gamma, w, np.empty(rows))
        watch(c, rank, ratio, conflict)
        if status != OK:
            return give_up(c, NO_MASS)
    at += rows * n + rows
    power = values[nq]
    for i in range(n):
        power += values[at + i] * w[i]
    rate[nq + n] = power
    return finite(c, rate)


def decode(context, t, y, out):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    state, x = carray(y, c[N_STATE]), carray(out, nq + nv + 1)
    n, _, _, values = _form(context, c, t, state)
    put(x, 0, state, 0, nq)
    put(x, nq, values, 0, nv)
    x[nq + nv] = state[nq + n]
    return finite(c, x)


def encode(context, t, x, y):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    given, state = carray(x, nq + nv + 1), carray(y, c[N_STATE])
    put(state, 0, given, 0, nq)
    n, s, _, values = _form(context, c, t, state)
    at = c[N_FORM] - (n + s) * (nv + 1)
    own = product(values[at : at + (n + s) * nv].reshape(n + s, nv), given[nq : nq + nv])
    at += (n + s) * nv
    for i in range(n):
        state[nq + i] = own[i] + values[at + i]
    state[nq + n] = given[nq + nv]
    if state[c[N_STATE] - 1] == 0.0:
        for i in range(s):
            state[nq + n + 1 + i] = own[n + i] + values[at + n + i]
        state[c[N_STATE] - 1] = 1.0
    return finite(c, state)


@njit(cache=True, nogil=True)
def _own(c, blocks):
    """What formalisms add behind the usual blocks."""
    nv, rows = c[NV], c[ROWS]
    at = nv * nv + nv + rows * nv + 2 * rows + c[HOLONOMIC]
    return carray(blocks, at + c[EXTRA])[at:]


def route(context, t, blocks, out):
    # K ẇ = k + Aᵀλ,  A ẇ + γ = 0;  q̈ = W ẇ + bend; then λ of all rows.
    c, M, f, A, gamma, _, _, du, multipliers = received(context, blocks, out)
    nv, rows, own = c[NV], c[ROWS], _own(c, blocks)
    K, k, at = own[: nv * nv].reshape(nv, nv), own[nv * nv : nv * nv + nv], nv * nv + nv
    B, beta, at = own[at : at + rows * nv].reshape(rows, nv), own[at + rows * nv :], at + rows * nv + rows
    W, bend = own[at : at + nv * nv].reshape(nv, nv), own[at + nv * nv :]
    dw, forces = np.empty(nv), np.empty(rows)
    status, _, _, _ = solve_constrained(K, k, B, beta[:rows], dw, forces)
    if status != OK:
        return status
    moved = product(W, dw)
    for i in range(nv):
        du[i] = moved[i] + bend[i]
    least_norm_multipliers(M, f, A, du, multipliers)
    _watch_rows(c, A, gamma, du)
    return OK


@njit(cache=True, nogil=True)
def _watch_rows(c, A, gamma, du):
    """How much the constraint rows contradict the accelerations."""
    left, conflict = product(A, du), 0.0
    for i in range(A.shape[0]):
        conflict = max(conflict, abs(left[i] + gamma[i]))
    watch(c, A.shape[0], 1.0, conflict)


def lagrange_route(context, t, blocks, out):
    # M q̈ = f + Aᵀλ with the formalism's M and f. A force at a cut joint that has a potential may differ from its
    # gradient across the constraints; λ are those that belong to the force.
    c, M, f, A, gamma, _, _, du, multipliers = received(context, blocks, out)
    nv, own = c[NV], _own(c, blocks)
    K, k = own[: nv * nv].reshape(nv, nv), own[nv * nv : nv * nv + nv]
    status, rank, ratio, conflict = solve_constrained(K, k, A, gamma, du, multipliers)
    watch(c, rank, ratio, conflict)
    if status == OK and c[ROWS] > 0:
        least_norm_multipliers(M, f, A, du, multipliers)
    return status


def maggi_route(context, t, blocks, out):
    # [Wᵀ M; a] q̈ = [Wᵀ f; −γ],  γ of the rows that are kept, with Baumgarte's terms
    c, M, f, A, gamma, _, _, du, multipliers = received(context, blocks, out)
    nv, rows, own = c[NV], c[ROWS], _own(c, blocks)
    C, pivots = own[: nv * nv].reshape(nv, nv), np.empty(nv, dtype=np.int64)
    put(du, 0, own, nv * nv, nv)
    kept = 0
    for i in range(rows):
        if own[nv * nv + nv + i] >= 0.0:
            kept += 1
    for i in range(kept):
        du[nv - kept + i] = -gamma[int(own[nv * nv + nv + i])]
    if not lu_factor(C, pivots):
        return give_up(c, NO_MASS)
    lu_solve(C, pivots, du)
    least_norm_multipliers(M, f, A, du, multipliers)
    _watch_rows(c, A, gamma, du)
    return OK
