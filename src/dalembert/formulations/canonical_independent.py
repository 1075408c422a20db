"""Canonical equations in independent momenta: as many as freedoms, and no multipliers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.coordinates import Coordinates
from dalembert.formulations.base import Form, Sizes, native_address
from dalembert.formulations.canonical import CanonicalFormulation, largest_mass, rates_at
from dalembert.formulations.independent import boolean_route
from dalembert.formulations.partition import check_room, follow, keep_or_choose, solution_basis, split
from dalembert.formulations.system import constraints_at, dot, onto_rows, product, reduced_mass
from dalembert.numerics.layout import N_OPTIONS, NO_MASS, NQ, NV, WORN_OUT, entries, finite, give_up, watch
from dalembert.numerics.linear import OK, cholesky, cholesky_substitute
from dalembert.numerics.native import RESTART, put

__all__ = ["CanonicalIndependent"]

# y = (q, Rᵀp/m in the places of the independent velocities, W − sᵀp, m with the choice), where  u = R ż + s.


@njit(cache=True, nogil=True)
def _motion(context, c, t, state, x):
    """u and W into x; returns the status, the split, Rᵀ, s and p = M u."""
    nq, nv = c[NQ], c[NV]
    put(x, 0, state, 0, nq)
    _, b, A, M = constraints_at(context, c, t, x)
    s = split(state[nq + nv + 1 :], A)
    if s.ratio <= 0.0:
        return give_up(c, WORN_OUT), s, A, b, b
    R, shift = solution_basis(s, A, b)
    watch(c, s.rank, s.ratio, 0.0)
    free, pushed = nv - s.rank, product(M, shift)
    H, z = np.empty((free, free)), np.empty(free)
    for k in range(free):
        z[k] = state[nq + nv + 1] * state[nq + s.columns[s.rank + k]] - dot(R[k], pushed)
        column = product(M, R[k])
        for i in range(free):
            H[i, k] = dot(R[i], column)
    if not cholesky(H):
        return give_up(c, NO_MASS), s, R, shift, b
    cholesky_substitute(H, z)
    u = onto_rows(R, z)
    for i in range(nv):
        u[i] += shift[i]
    p = product(M, u)
    put(x, nq, u, 0, nv)
    x[nq + nv] = state[nq + nv] + dot(shift, p)
    return OK, s, R, shift, p


def _decode(context, t, y, out):
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    status, _, _, _, _ = _motion(context, c, t, carray(y, n + N_OPTIONS), carray(out, n))
    return status


def _encode(context, t, x, y):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    n = nq + nv + 1
    given, state = carray(x, n), carray(y, n + N_OPTIONS)
    _, b, A, M = constraints_at(context, c, t, given)
    if state[n] == 0.0:
        state[n] = largest_mass(M)
    renewed = keep_or_choose(state[n:], A)
    s = split(state[n:], A)
    R, shift = solution_basis(s, A, b)
    p = product(M, given[nq : nq + nv])
    put(state, 0, given, 0, nq)
    for i in range(nv):
        state[nq + i] = 0.0
    for k in range(nv - s.rank):
        state[nq + s.columns[s.rank + k]] = dot(R[k], p) / state[n]
    state[nq + nv] = given[nq + nv] - dot(shift, p)
    return RESTART if renewed else OK


def _rhs(context, t, y, dy):
    # A Ṙ = −Ȧ R,  A ṡ = −Ȧ s − ḃ;  d/dt Rᵀp = Rᵀ(∂L/∂q + Q) + Ṙᵀp.
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    n = nq + nv + 1
    x, state, rate = np.empty(n), carray(y, n + N_OPTIONS), carray(dy, n + N_OPTIONS)
    status, s, R, shift, p = _motion(context, c, t, state, x)
    if status != OK:
        return status
    qdot, power, force, A_dot, b_dot = rates_at(context, c, t, x)
    put(rate, 0, qdot, 0, nq)
    for i in range(nq, n + N_OPTIONS):
        rate[i] = 0.0
    turn = np.zeros(nv)
    for k in range(nv - s.rank):
        follow(s, product(A_dot, R[k]), turn)
        rate[nq + s.columns[s.rank + k]] = (dot(R[k], force) + dot(turn, p)) / state[n]
    bent = product(A_dot, shift)
    for i in range(bent.shape[0]):
        bent[i] += b_dot[i]
    follow(s, bent, turn)
    rate[nq + nv] = power - dot(turn, p) - dot(shift, force)
    return finite(c, rate)


class CanonicalIndependent(CanonicalFormulation):
    """Momenta projected onto the directions of motion, u = R ż + s with R and s from the constraints:

        y = Rᵀ M u,      (Rᵀ M R) ż = y − Rᵀ M s,      ẏ = Rᵀ (∂L/∂q + Q) + Ṙᵀ M u

    ż are entries of u, found by complete pivoting and kept while the pivots are good; they are looked at after each
    step. Ṙ comes from A and Ȧ. The work of drives needs no λ: W − sᵀp has the rate
    (power of forces) − ṡᵀp − sᵀ(∂L/∂q + Q).

    Reference: D. S. Bae, Y. S. Won, "A Hamiltonian equation of motion for realtime vehicle simulation", ASME Adv. Des.
    Autom. 2 (1990) 151–157; J. García de Jalón, E. Bayo, sec. 5.4.2, algorithm 5-7, eqs. 5.104–5.112.
    """

    name: ClassVar[str] = "canonical-independent"
    title: ClassVar[str] = "Canonical equations in independent momenta"
    route = staticmethod(boolean_route)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)

    def states(self, sizes: Sizes, freedom: tuple[int, int]) -> int:
        return sizes.nq + freedom[1]

    def form(self, sizes: Sizes) -> Form:
        check_room(self.name, sizes.nv)
        n = sizes.nq + sizes.nv + 1
        rhs, decode, encode = (native_address(function) for function in (_rhs, _decode, _encode))
        return Form("independent momenta", n + N_OPTIONS, n, rhs, decode, encode)
