"""One step of a mechanism with contacts, at the level of velocities and impulses, as native code.

With q at the middle of the step, M, f, A, b there, and the gaps that are closed there (rates at both ends of the step
from those at its middle, ġ = J u ∓ h/2 J̇ u: velocities may be measured along axes that turn):

    M (u⁺ − u) = h f + Aᵀν + Jᵀn + Sᵀp,    A (u + u⁺)/2 + b = 0,    0 ≤ ġ⁺ + e ġ  ⊥  n ≥ 0,    −p ∈ (μ n + h r) s⁺/|s⁺|

r is friction without load. Impulses of contacts are found one after the other, again and again (projected
Gauss-Seidel).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.native import Matrix, Outputs, Vector, native
from dalembert.numerics.context import NO_IMPULSES, NO_MASS, OK, Context, finite, give_up, watch
from dalembert.numerics.linear import constrained_factors, constrained_solution, hold_rank

__all__ = ["impulse_responses", "impulses"]

TURNS = 3  # forces know the velocity that impulses leave
MOST_SWEEPS = 20_000
SETTLED = 1e-11  # of the fastest velocity where things touch


class Rows(NamedTuple):
    """What touches, gaps first: rows of all directions and their rates; of each its gap among them (−1 for a gap), μ,
    friction without load, and how many directions begin with it; e ġ of the gaps."""

    rows: np.ndarray
    rates: np.ndarray
    owner: np.ndarray
    grip: np.ndarray
    rest: np.ndarray
    wide: np.ndarray
    bounce: np.ndarray


class Touch(Outputs):
    """What the touch kernel gives (see ``equations.touches``)."""

    gap, rate, bias = 3 * Vector("n_gaps")
    J = Matrix("n_gaps", "nv")
    slip, slip_bias = 2 * Vector("n_slips")
    S = Matrix("n_slips", "nv")
    restitution = Vector("n_gaps")
    grip = Matrix("n_frictions", "2")
    rest = Vector("n_frictions")
    M = Matrix("nv", "nv")
    f = Vector("nv")
    A = Matrix("rows", "nv")
    gamma, b = 2 * Vector("rows")


@native
def _active(c: Context, e: Touch, h: float) -> Rows:
    """The gaps that are closed, then what rubs there; rates are those of u at the end of the step."""
    n, place = 0, np.full(c.n_gaps, -1, dtype=np.int64)
    for i in range(c.n_gaps):
        if e.gap[i] <= 0.0:
            place[i] = n
            n += 1
    k = n
    for i in range(c.n_frictions):
        if place[c.friction_gap[i]] >= 0:
            k += c.friction_rows[i]
    rows, rates, grip, rest, bounce = np.zeros((k, c.nv)), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k)
    owner, wide = np.full(k, -1, dtype=np.int64), np.zeros(k, dtype=np.int64)
    for i in range(c.n_gaps):
        if place[i] >= 0:
            rows[place[i]] = e.J[i]
            rates[place[i]] = e.rate[i] + 0.5 * h * e.bias[i]
            bounce[place[i]] = e.restitution[i] * min(e.rate[i] - 0.5 * h * e.bias[i], 0.0)
    at, slip = n, 0
    for i in range(c.n_frictions):
        if place[c.friction_gap[i]] >= 0:
            wide[at] = c.friction_rows[i]
            for j in range(c.friction_rows[i]):
                rows[at] = e.S[slip + j]
                rates[at] = e.slip[slip + j] + 0.5 * h * e.slip_bias[slip + j]
                owner[at] = place[c.friction_gap[i]]
                grip[at] = e.grip[i, 0]
                rest[at] = e.rest[i]
                at += 1
        slip += c.friction_rows[i]
    return Rows(rows, rates, owner, grip, rest, wide, bounce)


@native
def _give(W: np.ndarray, v: np.ndarray, P: np.ndarray, i: int, new: float) -> float:
    """Set an impulse, and the rates that it leaves; returns the change of its own."""
    change = new - P[i]
    if change != 0.0:
        P[i] = new
        for j in range(P.shape[0]):
            v[j] += W[j, i] * change
    return abs(change) * W[i, i]


@native
def _sweep(W: np.ndarray, v: np.ndarray, P: np.ndarray, r: Rows, h: float) -> float:
    """Correct each impulse once, with the rates v that all of them leave; returns the largest change of a rate."""
    largest = 0.0
    for i in range(P.shape[0]):
        n = r.wide[i]
        if r.owner[i] < 0:
            if W[i, i] > 0.0:
                largest = max(largest, _give(W, v, P, i, max(P[i] - (v[i] + r.bounce[i]) / W[i, i], 0.0)))
        elif n > 0:
            # All its directions at once, by what is usual for them, cut to the length that Coulomb's law allows.
            trace, size = 0.0, 0.0
            for j in range(i, i + n):
                trace += W[j, j]
            if trace > 0.0:
                way = np.empty(n)
                for j in range(n):
                    way[j] = P[i + j] - n * v[i + j] / trace
                    size += way[j] * way[j]
                size, limit = np.sqrt(size), r.grip[i] * P[r.owner[i]] + h * r.rest[i]
                share = limit / size if size > limit else 1.0
                for j in range(n):
                    largest = max(largest, _give(W, v, P, i + j, share * way[j]))
    return largest


@native
def _settle(W: np.ndarray, v: np.ndarray, P: np.ndarray, r: Rows, h: float) -> bool:
    """Sweep until nothing changes; v are the rates without impulses."""
    size = 1e-300
    for i in range(P.shape[0]):
        size = max(size, abs(v[i]))
    sweeps = 0
    while sweeps < MOST_SWEEPS and _sweep(W, v, P, r, h) > SETTLED * size:
        sweeps += 1
    return sweeps < MOST_SWEEPS


@native
def _free(c: Context, e: Touch, u: np.ndarray, h: float, du: np.ndarray, nu: np.ndarray):
    """u⁺ − u and ν without contacts, A (u + u⁺)/2 + b = 0; with the factors that any other impulse takes."""
    rate = e.b.copy()
    for i in range(c.rows):
        for j in range(c.nv):
            rate[i] += e.A[i, j] * u[j]
    status, rank, ratio, Q, R, free = constrained_factors(e.M, e.A)
    if status == OK:
        watch(c, rank, ratio, 0.0)
        constrained_solution(e.M, h * e.f, 2.0 * rate, Q, R, free, du, nu)
    return status, Q, R, free


@native
def _turn(c: Context, t: float, x: np.ndarray, u: np.ndarray, h: float, du: np.ndarray, work: np.ndarray) -> int:
    """u⁺ − u and the work of all impulses, with forces at the mean velocity that the last turn tells."""
    nq, nv, nu = c.nq, c.nv, np.zeros(c.rows)
    x[nq:] = u + 0.5 * du
    e = Touch.of(c, c.touch(t + 0.5 * h, x, c.parameters, c.tau))
    if c.rank != 0:
        # The middle of a step lies beside the constraints.
        sides = np.empty((c.rows, 1))
        sides[:, 0] = e.b
        hold_rank(e.A, c.rank, sides)
        e.b[:] = sides[:, 0]
    for i in range(c.n_gaps):
        for j in range(nv):
            e.rate[i] -= 0.5 * e.J[i, j] * du[j]
    for i in range(c.n_slips):
        for j in range(nv):
            e.slip[i] -= 0.5 * e.S[i, j] * du[j]
    status, Q, R, free = _free(c, e, u, h, du, nu)
    if status != OK:
        return give_up(c, NO_MASS)
    work[0] = 0.0
    for i in range(c.rows):
        work[0] -= e.b[i] * nu[i]
    r = _active(c, e, h)
    rows, k = r.rows, r.rows.shape[0]
    if k > 0:
        Y, nothing, none = np.zeros((k, nv)), np.zeros(c.rows), np.zeros(0)
        for i in range(k):
            constrained_solution(e.M, rows[i], nothing, Q, R, free, Y[i], none)
        P = np.zeros(k)
        if not _settle(rows @ Y.T, r.rates + rows @ du, P, r, h):
            return give_up(c, NO_IMPULSES)
        push, response = np.zeros(nv), np.zeros(nv)
        for i in range(k):
            push += P[i] * rows[i]
        constrained_solution(e.M, push, nothing, Q, R, free, response, nu)
        du += response
        for i in range(c.rows):
            work[0] -= e.b[i] * nu[i]
        for j in range(nv):
            work[0] += push[j] * (u[j] + 0.5 * du[j])
    return OK


@native
def impulses(c: Context, t: float, given: np.ndarray, out: np.ndarray) -> int:
    """(q, u, W) at the end of a step from ``given`` = (q, u, W, h)."""
    nq, nv, h = c.nq, c.nv, given[c.nq + c.nv + 1]
    x = given[: nq + nv].copy()
    u, du, work = given[nq : nq + nv].copy(), np.zeros(nv), np.zeros(1)
    x[:nq] = c.move(x[:nq], 0.5 * h * u, c.parameters)[:nq]
    for _ in range(TURNS):
        status = _turn(c, t, x, u, h, du, work)
        if status != OK:
            return status
    x[nq:] = u + 0.5 * du
    # q̇, then the power, at the middle of the step.
    rate = c.dynamics(t + 0.5 * h, x, c.parameters, c.tau)[: nq + 1].copy()
    out[nq + nv] = given[nq + nv] + work[0] + h * rate[nq]
    out[:nq] = c.move(x[:nq], 0.5 * h * (u + du), c.parameters)[:nq]
    # Turns of cut joints are moved by no velocity of the tree.
    for j in range(nq - c.n_tail, nq):
        out[j] = given[j] + h * rate[j]
    out[nq : nq + nv] = u + du
    return finite(c, out)


@native
def impulse_responses(M: np.ndarray, A: np.ndarray, rows: np.ndarray, found: np.ndarray):
    """By what velocities jump along A u = 0, for each row of impulses; 0 if some have neither mass nor constraint."""
    found[:] = 0.0
    status, _, _, Q, R, free = constrained_factors(M, A)
    if status == OK:
        du, none, multipliers = np.empty(A.shape[1]), np.zeros(A.shape[0]), np.empty(A.shape[0])
        for i in range(rows.shape[0]):
            constrained_solution(M, rows[i], none, Q, R, free, du, multipliers)
            found[i] = du
