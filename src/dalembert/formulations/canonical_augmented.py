"""Canonical equations with penalties and corrected multipliers: momenta that pass singular positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.formulations.augmented_lagrangian import Augmented
from dalembert.formulations.base import Form, Sizes, native_address
from dalembert.formulations.canonical import CanonicalFormulation, largest_mass, momenta_from, write_rates
from dalembert.formulations.system import constraints_at, dot, onto_rows, product
from dalembert.numerics.layout import (
    HOLONOMIC,
    MULTIPLIERS,
    NO_MASS,
    NQ,
    NV,
    PROJECTION,
    ROWS,
    entries,
    finite,
    give_up,
    options,
)
from dalembert.numerics.linear import OK, cholesky, cholesky_substitute
from dalembert.numerics.native import float_pointer, put

__all__ = ["CanonicalAugmented"]

# y = (q, p/m, W − bᵀσ, ∫φ dt of holonomic rows, ∫ψ dt of the others, m).


@njit(cache=True, nogil=True)
def _velocities(context, c, t, state, x, sigma, residual):
    """u, σ and W by turns; ``residual`` becomes φ and ψ, the rates of the integrals."""
    nq, nv, rows, holonomic, given = c[NQ], c[NV], c[ROWS], c[HOLONOMIC], options(c)
    n, omega, mu = nq + nv + 1, given[1], given[2]
    put(x, 0, state, 0, nq)
    phi, b, A, M = constraints_at(context, c, t, x)
    p, integral, g = state[nq : nq + nv].copy(), state[n:], b.copy()
    for i in range(nv):
        p[i] *= state[n + rows]
    for i in range(rows):
        if i < holonomic:
            g[i] += 2.0 * omega * mu * phi[i] + omega * omega * integral[i]
        else:
            g[i] += 2.0 * omega * mu * integral[i]
    alpha, K = given[0] * largest_mass(M), M.copy()
    for k in range(rows):
        for i in range(nv):
            for j in range(nv):
                K[i, j] += alpha * A[k, i] * A[k, j]
    if not cholesky(K):
        return give_up(c, NO_MASS)
    u, wanted = np.zeros(nv), np.empty(rows)
    sigma[:] = 0.0
    # K uᵢ₊₁ = p − Aᵀσᵢ − α Aᵀ g, written for uᵢ₊₁ − uᵢ, so that rounding in K is mended as well.
    for _ in range(1 + int(given[3])):
        velocity = product(A, u)
        for i in range(rows):
            wanted[i] = sigma[i] + alpha * (velocity[i] + g[i])
        step, carried, pushed = p.copy(), product(M, u), onto_rows(A, wanted)
        for i in range(nv):
            step[i] -= carried[i] + pushed[i]
        cholesky_substitute(K, step)
        change, size = 0.0, 0.0
        for i in range(nv):
            u[i] += step[i]
            change, size = max(change, abs(step[i])), max(size, abs(u[i]))
        velocity = product(A, u)
        for i in range(rows):
            sigma[i] += alpha * (velocity[i] + g[i])
        if change <= given[4] * size:
            break
    put(x, nq, u, 0, nv)
    x[nq + nv] = state[nq + nv] + dot(b, sigma)
    velocity = product(A, u)
    for i in range(rows):
        residual[i] = phi[i] if i < holonomic else velocity[i] + b[i]
    return OK


def _decode(context, t, y, out):
    c = entries(context)
    n, rows = c[NQ] + c[NV] + 1, c[ROWS]
    sigma = carray(float_pointer(c[MULTIPLIERS]), rows)
    return _velocities(context, c, t, carray(y, n + rows + 1), carray(out, n), sigma, np.empty(rows))


def _encode(context, t, x, y):
    c = entries(context)
    n, rows = c[NQ] + c[NV] + 1, c[ROWS]
    given, state = carray(x, n), carray(y, n + rows + 1)
    _, b, A, M = constraints_at(context, c, t, given)
    # A motion that is led back onto its constraints has nothing to make up for.
    if c[PROJECTION] != 0:
        state[n : n + rows] = 0.0
    if state[n + rows] == 0.0:
        state[n + rows] = largest_mass(M)
    return momenta_from(c, given, b, A, M, carray(float_pointer(c[MULTIPLIERS]), rows), state[n + rows], state)


def _rhs(context, t, y, dy):
    c = entries(context)
    n, rows = c[NQ] + c[NV] + 1, c[ROWS]
    x, sigma, state, rate = np.empty(n), np.empty(rows), carray(y, n + rows + 1), carray(dy, n + rows + 1)
    status = _velocities(context, c, t, state, x, sigma, rate[n:])
    if status != OK:
        return status
    write_rates(context, c, t, x, sigma, state[n + rows], rate)
    rate[n + rows] = 0.0
    return finite(c, rate)


@dataclass(frozen=True)
class CanonicalAugmented(Augmented, CanonicalFormulation):
    """Momenta with penalties on the velocity of the constraints, on φ and on its integral; the force impulse that they
    need is the multiplier of the next turn:

        p = M u + Aᵀσ,      (M + Aᵀ α A) uᵢ₊₁ = p − Aᵀ σᵢ − Aᵀ α g,      σᵢ₊₁ = σᵢ + α (A uᵢ₊₁ + g)
        g = b + 2Ωμ φ + Ω² ∫φ dt,      ṗ = ∂L/∂q + Q + Ȧᵀσ

    Rows without φ (nonholonomic ψ = A u + b) have g = b + 2Ωμ ∫ψ dt. The rank of A does not matter. The integrals are
    part of the state; they start anew where the motion is led back onto its constraints.

    Options: see :class:`Augmented`.

    Reference: E. Bayo, A. Avello, "Singularity-free augmented Lagrangian algorithms for constrained multibody
    dynamics", Nonlinear Dynamics 5 (1994) 209–231; J. García de Jalón, E. Bayo, sec. 5.4.3, algorithm 5-8, eqs.
    5.118–5.126.
    """

    name: ClassVar[str] = "canonical-augmented"
    title: ClassVar[str] = "Augmented Lagrangian in canonical form"

    def form(self, sizes: Sizes) -> Form:
        n = sizes.nq + sizes.nv + 1 + sizes.rows
        rhs, decode, encode = (native_address(function) for function in (_rhs, _decode, _encode))
        return Form("momenta instead of velocities", n + 1, n, rhs, decode, encode)
