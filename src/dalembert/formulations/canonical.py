"""Canonical equations with multipliers: momenta instead of velocities, constraints differentiated once only."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.formulations.base import BlockFormulation, Form, Sizes, native_address
from dalembert.formulations.equations import Equations
from dalembert.formulations.system import constraints_at, dot, onto_rows, product
from dalembert.numerics.layout import (
    MULTIPLIERS,
    N_FORM,
    NO_MASS,
    NQ,
    NV,
    RATES,
    ROWS,
    entries,
    finite,
    give_up,
    watch,
)
from dalembert.numerics.linear import OK, solve_constrained
from dalembert.numerics.native import RESTART, call_address, float_pointer, put

__all__ = ["Canonical", "CanonicalFormulation", "largest_mass", "momenta_from", "rates_at", "write_rates"]

# y = (q, p/m, W − bᵀσ, m).  m is the largest entry of M where the run began: tolerances then mean velocities.

# Aᵀσ may grow to so many times M u (or M times a velocity of one) before it is taken out of p.
TALL = 10.0


@njit(cache=True, nogil=True)
def rates_at(context, c, t, x):
    """q̇, the power of forces without potential, ∂L/∂q + Q, Ȧ and ḃ at (t, q, u)."""
    nq, nv, rows = c[NQ], c[NV], c[ROWS]
    values = np.empty(c[N_FORM])
    call_address(c[RATES], context, t, x, values)
    at = nq + 1 + nv
    A_dot, b_dot = values[at : at + rows * nv].reshape(rows, nv), values[at + rows * nv :]
    return values[:nq], values[nq], values[nq + 1 : at], A_dot, b_dot


@njit(cache=True, nogil=True)
def write_rates(context, c, t, x, sigma, m, rate):
    """q̇,  ṗ/m,  ṗ = ∂L/∂q + Q + Ȧᵀσ,  and the rate of W − bᵀσ."""
    nq, nv, rows = c[NQ], c[NV], c[ROWS]
    qdot, power, force, A_dot, b_dot = rates_at(context, c, t, x)
    put(rate, 0, qdot, 0, nq)
    put(rate, nq, force, 0, nv)
    for i in range(rows):
        power -= b_dot[i] * sigma[i]
        for j in range(nv):
            rate[nq + j] += A_dot[i, j] * sigma[i]
    for j in range(nv):
        rate[nq + j] /= m
    rate[nq + nv] = power


@njit(cache=True, nogil=True)
def largest_mass(M):
    """The largest entry of M in size, 1 if all are zero."""
    largest = 0.0
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            largest = max(largest, abs(M[i, j]))
    return largest if largest > 0.0 else 1.0


@njit(cache=True, nogil=True)
def momenta_from(c, x, b, A, M, sigma, m, state):
    """q, p/m of p = M u + Aᵀσ, and W − bᵀσ; σ = 0 and RESTART if Aᵀσ has grown tall."""
    nq, nv = c[NQ], c[NV]
    p, push, work, tall, scale = product(M, x[nq : nq + nv]), onto_rows(A, sigma), x[nq + nv], 0.0, largest_mass(M)
    for j in range(nv):
        tall, scale = max(tall, abs(push[j])), max(scale, abs(p[j]))
    status = RESTART if tall > TALL * scale else OK
    if status == OK:
        work -= dot(b, sigma)
        for j in range(nv):
            p[j] += push[j]
    put(state, 0, x, 0, nq)
    for j in range(nv):
        state[nq + j] = p[j] / m
    state[nq + nv] = work
    return status


@njit(cache=True, nogil=True)
def _velocities(context, c, t, state, x, sigma):
    """u and σ:  M u + Aᵀσ = p,  A u + b = 0;  then W."""
    nq, nv, rows = c[NQ], c[NV], c[ROWS]
    put(x, 0, state, 0, nq)
    _, b, A, M = constraints_at(context, c, t, x)
    p, u = np.empty(nv), np.empty(nv)
    for j in range(nv):
        p[j] = state[nq + nv + 1] * state[nq + j]
    status, rank, ratio, conflict = solve_constrained(M, p, A, b, u, sigma)
    if status != OK:
        return give_up(c, NO_MASS)
    watch(c, rank, ratio, conflict)
    put(x, nq, u, 0, nv)
    work = state[nq + nv]
    for i in range(rows):
        sigma[i] = -sigma[i]
        work += b[i] * sigma[i]
    x[nq + nv] = work
    return OK


def _decode(context, t, y, out):
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    sigma = carray(float_pointer(c[MULTIPLIERS]), c[ROWS])
    return _velocities(context, c, t, carray(y, n + 1), carray(out, n), sigma)


def _encode(context, t, x, y):
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    given, state = carray(x, n), carray(y, n + 1)
    _, b, A, M = constraints_at(context, c, t, given)
    if state[n] == 0.0:
        state[n] = largest_mass(M)
    return momenta_from(c, given, b, A, M, carray(float_pointer(c[MULTIPLIERS]), c[ROWS]), state[n], state)


def _rhs(context, t, y, dy):
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    x, sigma, state, rate = np.empty(n), np.empty(c[ROWS]), carray(y, n + 1), carray(dy, n + 1)
    status = _velocities(context, c, t, state, x, sigma)
    if status != OK:
        return status
    write_rates(context, c, t, x, sigma, state[n], rate)
    rate[n] = 0.0
    return finite(c, rate)


class CanonicalFormulation(BlockFormulation):
    """What formulations with momenta share.

    u̇ follows from  ṗ = ∂L/∂q + Q  by  M u̇ = ṗ − Ṁ u + Aᵀλ,  where Ṁ is the derivative of M along the motion.
    """

    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        forcing = equations.momentum_rate - equations.along(equations.mass_matrix) @ equations.u
        return {**super().blocks(equations), "forcing": forcing}

    def form_blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        return {
            "momentum_rate": equations.momentum_rate,
            "jacobian_rate": equations.along(equations.jacobian),
            "b_rate": equations.along(equations.velocity_bias),
        }


class Canonical(CanonicalFormulation):
    """Momenta with the constraints in them; velocities, which satisfy the constraints, follow from a linear system:

        p = M u + Aᵀσ,      ⎡ M  Aᵀ ⎤ ⎡ u ⎤   ⎡  p ⎤
                            ⎣ A  0  ⎦ ⎣ σ ⎦ = ⎣ −b ⎦,      ṗ = ∂L/∂q + Q + Ȧᵀσ

    ṗ is explicit. σ = −∫ λ dt is taken out of p when it has grown large, which changes nothing in the motion. The work
    of drives needs no λ either: W − bᵀσ has the rate  (power of forces) − ḃᵀσ.

    Reference: H. M. Lankarani, P. E. Nikravesh, "Application of the canonical equations of motion in problems of
    constrained multibody systems with intermittent motion", ASME Adv. Des. Autom. 14-1 (1988) 417–423; J. García de
    Jalón, E. Bayo, sec. 5.4.1, algorithm 5-6, eqs. 5.99–5.103.
    """

    name: ClassVar[str] = "canonical"
    title: ClassVar[str] = "Canonical equations with multipliers"

    def solver(self) -> int:
        return 0

    def form(self, sizes: Sizes) -> Form:
        n = sizes.nq + sizes.nv + 1
        rhs, decode, encode = (native_address(function) for function in (_rhs, _decode, _encode))
        return Form("momenta instead of velocities", n + 1, n, rhs, decode, encode)
