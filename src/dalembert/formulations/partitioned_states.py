"""States that hold independent velocities only, or independent coordinates and velocities.

mixed:        y = (q, ż, W, choice)
independent:  y = (δ, angles of cut joints, ż, W, choice of ż, choice of z, q₀)

ż are entries of u in their places, the others are zero; z are entries of δ, the exponential coordinates about q₀,
q = q₀ ∘ exp(δ): for joints with one coordinate simply q − q₀. The other entries of δ are first guesses for Newton's
method and have no other influence on the motion. Where something rolls, independent velocities are fewer than
coordinates, so that both have a choice of their own.

Reference: R. A. Wehage, E. J. Haug, J. Mech. Des. 104 (1982) 247–255; B. Paul, "Analytical dynamics of mechanisms – a
computer oriented overview", Mech. Mach. Theory 10 (1975) 481–507; J. García de Jalón, E. Bayo, eqs. 5.55–5.58,
algorithms 5-4 and 5-5.
"""

from __future__ import annotations

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.errors import DalembertError
from dalembert.formulations.base import Form, Sizes, native_address
from dalembert.formulations.partition import check_room, follow, is_independent, keep_or_choose, split
from dalembert.formulations.system import constraints_at, product
from dalembert.numerics.layout import (
    HOLONOMIC,
    N_OPTIONS,
    N_WINDINGS,
    NO_CONVERGENCE,
    NOT_FINITE,
    NQ,
    NV,
    RHS,
    SHIFT,
    WORN_OUT,
    entries,
    finite,
    give_up,
    options,
)
from dalembert.numerics.linear import OK
from dalembert.numerics.native import RESTART, call_address, put

__all__ = ["STATES", "check_state", "partitioned_form", "partitioned_size"]

STATES = ("dependent", "mixed", "independent")

# Newton's method on dependent coordinates, as in the retraction of other states.
POSITION_TOLERANCE = 1e-14
NEWTON_STEPS = 12

# How far D(δ) may be from 1 before exponential coordinates begin anew.
TURNED = 0.5


@njit(cache=True, nogil=True)
def _velocities(choice, A, b, slots, u):
    """u from its independent entries; False if they do not determine the others."""
    s, known = split(choice, A), b.copy()
    if s.ratio <= 0.0:
        return False
    for k in range(s.rank, A.shape[1]):
        free = s.columns[k]
        u[free] = slots[free]
        for i in range(A.shape[0]):
            known[i] += A[i, free] * slots[free]
    follow(s, known, u)
    return True


@njit(cache=True, nogil=True)
def _pick(choice, values, out):
    """The independent entries in their places, zero elsewhere."""
    for i in range(out.shape[0]):
        out[i] = values[i] if is_independent(choice, i) else 0.0


@njit(cache=True, nogil=True)
def _length(c):
    """Of an independent state."""
    return 2 * c[NV] + c[N_WINDINGS] + 1 + 2 * N_OPTIONS + c[NQ]


@njit(cache=True, nogil=True)
def _rates(context, c, t, choice, x, rate):
    """Rates of x, found with the choice of this state, so that nothing depends on what was evaluated before."""
    put(options(c), 1, choice, 1, N_OPTIONS - 1)
    return call_address(c[RHS], context, t, x, rate)


# mixed


@njit(cache=True, nogil=True)
def _mixed_motion(context, c, t, state, x):
    """x from y."""
    nq, nv = c[NQ], c[NV]
    n = nq + nv + 1
    put(x, 0, state, 0, nq)
    x[n - 1] = state[n - 1]
    _, b, A, _ = constraints_at(context, c, t, x)
    if not _velocities(state[n:], A, b, state[nq : nq + nv], x[nq : nq + nv]):
        return give_up(c, WORN_OUT)
    return OK


def _mixed_decode(context, t, y, out):
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    return _mixed_motion(context, c, t, carray(y, n + N_OPTIONS), carray(out, n))


def _mixed_encode(context, t, x, y):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    n = nq + nv + 1
    given, state = carray(x, n), carray(y, n + N_OPTIONS)
    _, _, A, _ = constraints_at(context, c, t, given)
    renewed = keep_or_choose(state[n:], A)
    put(state, 0, given, 0, nq)
    _pick(state[n:], given[nq : nq + nv], state[nq : nq + nv])
    state[n - 1] = given[n - 1]
    return RESTART if renewed else OK


def _mixed_rhs(context, t, y, dy):
    c = entries(context)
    nq, nv = c[NQ], c[NV]
    n = nq + nv + 1
    x, full, state, rate = np.empty(n), np.empty(n), carray(y, n + N_OPTIONS), carray(dy, n + N_OPTIONS)
    status = _mixed_motion(context, c, t, state, x)
    if status == OK:
        status = _rates(context, c, t, state[n:], x, full)
    if status != OK:
        return status
    put(rate, 0, full, 0, n)
    _pick(state[n:], full[nq : nq + nv], rate[nq : nq + nv])
    for i in range(N_OPTIONS):
        rate[n + i] = 0.0
    return finite(c, rate)


# independent


@njit(cache=True, nogil=True)
def _parts(c, state):
    """δ, angles of cut joints, ż, choice of ż, choice of z, q₀; W comes behind ż."""
    nq, nv, windings = c[NQ], c[NV], c[N_WINDINGS]
    at = nv + windings
    slots = state[at : at + nv]
    at += nv + 1
    choices, at = state[at : at + 2 * N_OPTIONS], at + 2 * N_OPTIONS
    return state[:nv], state[nv : nv + windings], slots, choices[:N_OPTIONS], choices[N_OPTIONS:], state[at : at + nq]


@njit(cache=True, nogil=True)
def _along_delta(c, A, D):
    """Derivatives of φ by δ:  A D  of the holonomic rows."""
    J = np.zeros((c[HOLONOMIC], c[NV]))
    for i in range(c[HOLONOMIC]):
        for k in range(c[NV]):
            if A[i, k] != 0.0:
                for j in range(c[NV]):
                    J[i, j] += A[i, k] * D[k, j]
    return J


@njit(cache=True, nogil=True)
def _closed(context, c, t, state, x):
    """Dependent coordinates by Newton's method, then velocities; x from y.

    Returns the status, A, D(δ) and its inverse, and δ.
    """
    nq, nv = c[NQ], c[NV]
    tree = nq - c[N_WINDINGS]
    guess, windings, slots, velocity_choice, position_choice, origin = _parts(c, state)
    given, moved, delta, step = np.empty(nq + nv), np.empty(nq + 2 * nv * nv), guess.copy(), np.zeros(nv)
    D, inverse = moved[nq : nq + nv * nv].reshape(nv, nv), moved[nq + nv * nv :].reshape(nv, nv)
    put(given, 0, origin, 0, nq)
    put(x, tree, windings, 0, nq - tree)
    error, last = 1e300, 1e300
    _, b, A, _ = constraints_at(context, c, t, x)
    for turn in range(NEWTON_STEPS + 1):
        if turn == NEWTON_STEPS:
            return give_up(c, NO_CONVERGENCE), A, D, inverse, delta
        put(given, nq, delta, 0, nv)
        call_address(c[SHIFT], context, t, given, moved)
        put(x, 0, moved, 0, tree)
        phi, b, A, _ = constraints_at(context, c, t, x)
        last, error = error, 0.0
        for i in range(phi.shape[0]):
            error = max(error, abs(phi[i]))
        if not np.isfinite(error):
            return give_up(c, NOT_FINITE), A, D, inverse, delta
        s = split(position_choice, _along_delta(c, A, D))
        if s.ratio <= 0.0:
            return give_up(c, WORN_OUT), A, D, inverse, delta
        if error <= POSITION_TOLERANCE or (error < 1e-9 and error > 0.5 * last):
            break
        follow(s, phi, step)
        for i in range(s.rank):
            delta[s.columns[i]] += step[s.columns[i]]
    x[nq + nv] = state[2 * nv + nq - tree]
    if not _velocities(velocity_choice, A, b, slots, x[nq : nq + nv]):
        return give_up(c, WORN_OUT), A, D, inverse, delta
    return OK, A, D, inverse, delta


def _independent_decode(context, t, y, out):
    c = entries(context)
    n = c[NQ] + c[NV] + 1
    status, _, _, _, _ = _closed(context, c, t, carray(y, _length(c)), carray(out, n))
    return status


@njit(cache=True, nogil=True)
def _choose(c, A, state):
    """Choices that are good here; True if there is a new one."""
    _, _, _, velocity_choice, position_choice, _ = _parts(c, state)
    renewed = keep_or_choose(velocity_choice, A)
    return keep_or_choose(position_choice, A[: c[HOLONOMIC]]) or renewed


@njit(cache=True, nogil=True)
def _open(c, given, state):
    """y from x about this position."""
    nq, nv = c[NQ], c[NV]
    delta, windings, slots, velocity_choice, _, origin = _parts(c, state)
    put(origin, 0, given, 0, nq)
    put(windings, 0, given, nq - c[N_WINDINGS], c[N_WINDINGS])
    for i in range(nv):
        delta[i] = 0.0
    _pick(velocity_choice, given[nq : nq + nv], slots)
    state[2 * nv + c[N_WINDINGS]] = given[nq + nv]


def _independent_encode(context, t, x, y):
    c = entries(context)
    given, state = carray(x, c[NQ] + c[NV] + 1), carray(y, _length(c))
    _, _, A, _ = constraints_at(context, c, t, given)
    _choose(c, A, state)
    _open(c, given, state)
    return RESTART


def _independent_retract(context, t, y, quality):
    # The state is on its constraints as it is; only its coordinates may have to change.
    c = entries(context)
    quality[0] = 1.0
    nv, state, x = c[NV], carray(y, _length(c)), np.empty(c[NQ] + c[NV] + 1)
    status, A, D, _, delta = _closed(context, c, t, state, x)
    if status != OK:
        return status
    turned = 0.0
    for i in range(nv):
        for j in range(nv):
            turned = max(turned, abs(D[i, j] - (1.0 if i == j else 0.0)))
    if not _choose(c, A, state) and turned < TURNED:
        put(state, 0, delta, 0, nv)
        return OK
    _open(c, x, state)
    return RESTART


def _independent_rhs(context, t, y, dy):
    c = entries(context)
    nq, nv, windings = c[NQ], c[NV], c[N_WINDINGS]
    n = nq + nv + 1
    x, full, state, rate = np.empty(n), np.empty(n), carray(y, _length(c)), carray(dy, _length(c))
    status, _, _, inverse, _ = _closed(context, c, t, state, x)
    _, _, _, velocity_choice, _, _ = _parts(c, state)
    if status == OK:
        status = _rates(context, c, t, velocity_choice, x, full)
    if status != OK:
        return status
    for i in range(rate.shape[0]):
        rate[i] = 0.0
    put(rate, 0, product(inverse, x[nq : nq + nv]), 0, nv)
    put(rate, nv, full, nq - windings, windings)
    _pick(velocity_choice, full[nq : nq + nv], rate[nv + windings : 2 * nv + windings])
    rate[2 * nv + windings] = full[nq + nv]
    return finite(c, rate)


def check_state(name: str, state: str) -> None:
    """An option that makes sense."""
    if state not in STATES:
        raise DalembertError(f"{name}: unknown state {state!r}; expected one of {', '.join(STATES)}")


def partitioned_size(state: str, sizes: Sizes, freedom: tuple[int, int]) -> int:
    """How many variables of a state vary, given the degrees of freedom of position and of velocity."""
    if state == "independent":
        return freedom[0] + sizes.windings + freedom[1]
    return sizes.nq + (sizes.nv if state == "dependent" else freedom[1])


def partitioned_form(name: str, state: str, sizes: Sizes) -> Form | None:
    """The form of a state by its name; None for all coordinates and velocities."""
    if state == "dependent":
        return None
    check_room(name, sizes.nv)
    if state == "mixed":
        n = sizes.nq + sizes.nv + 1
        addresses = (native_address(function) for function in (_mixed_rhs, _mixed_decode, _mixed_encode))
        return Form("coordinates and independent velocities", n + N_OPTIONS, n, *addresses, kernels=())
    varying = 2 * sizes.nv + sizes.windings + 1
    functions = (_independent_rhs, _independent_decode, _independent_encode, _independent_retract)
    return Form(
        "independent coordinates and velocities", varying + 2 * N_OPTIONS + sizes.nq, varying,
        *(native_address(function) for function in functions), kernels=("exponential",),
    )  # fmt: skip
