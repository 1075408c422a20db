"""States that hold independent velocities only, or independent coordinates and velocities.

mixed:        y = (q, ż, W, choice)
independent:  y = (δ, angles of cut joints, ż, W, choice of ż, choice of z, q₀)

ż are entries of u in their places, the others are zero, or ż = B u with a B that is kept (``numerics.bases``). z are
the same of δ, the exponential coordinates about q₀, q = q₀ ∘ exp(δ): for joints with one coordinate simply q − q₀. What
else δ says is a first guess for Newton's method and has no other influence on the motion. Where something rolls,
independent velocities are fewer than coordinates, so that both have a choice of their own.

Reference: R. A. Wehage, E. J. Haug, J. Mech. Des. 104 (1982) 247–255; B. Paul, "Analytical dynamics of mechanisms – a
computer oriented overview", Mech. Mach. Theory 10 (1975) 481–507; J. García de Jalón, E. Bayo, eqs. 5.55–5.58,
algorithms 5-4 and 5-5.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import check_known
from dalembert.formulations.base import Sizes, Variables
from dalembert.native import Function, Int, Matrix, Outputs, Vector, native
from dalembert.numerics.bases import basis_along, follow_basis, recall_basis, renew_basis
from dalembert.numerics.context import (
    NO_CONVERGENCE,
    NOT_FINITE,
    OK,
    RESTART,
    STALE_CHOICE,
    Closure,
    Context,
    finite,
    give_up,
)
from dalembert.numerics.integrated import Motion, VariablesRecord, constraints_at
from dalembert.numerics.partition import Choice, entries_along, follow_entries, recall_entries, renew_entries

__all__ = ["STATES", "check_state", "partitioned_size", "partitioned_variables"]

STATES = ("dependent", "mixed", "independent")

# Newton's method on dependent coordinates, as in the retraction of other states.
POSITION_TOLERANCE = 1e-14
NEWTON_STEPS = 12

# How far D(δ) may be from 1 before exponential coordinates begin anew.
TURNED = 0.5


class PartitionedVariables(VariablesRecord):
    """How ż is chosen and kept.

    Attributes:
        memory: how many numbers of a state are one choice.
        follow: (choice, A, b, ż, u): u with A u + b = 0 and these ż; not OK if they do not determine it.
        along: (choice, u, ż): ż of u.
        recall: (choice): the solver goes on with it, so that nothing depends on what was evaluated before.
        renew: (choice, A): one that is good here, in place; 1 if it is new.
    """

    memory = Int()
    follow = Function(Vector, Matrix, Vector, Vector, Vector)
    along = Function(Vector, Vector, Vector)
    recall = Function(Vector)
    renew = Function(Vector, Matrix)

    @classmethod
    def of(cls, variables: Variables, context: Context) -> VariablesRecord:
        record, solver = super().of(variables, context), context.solver.record
        functions = _ENTRIES if isinstance(solver, Choice) else _BASIS
        record.set(**{name: function.bind(solver) for name, function in functions.items()})
        return record


_ENTRIES = {"follow": follow_entries, "along": entries_along, "recall": recall_entries, "renew": renew_entries}
_BASIS = {"follow": follow_basis, "along": basis_along, "recall": recall_basis, "renew": renew_basis}


@native
def _rates(o: PartitionedVariables, t: float, choice: np.ndarray, x: np.ndarray, rate: np.ndarray) -> int:
    """Rates of x, found with the choice of this state."""
    o.recall(choice)
    return o.context.rhs(t, x, rate)


# mixed


class MixedState(Outputs):
    """y or ẏ."""

    q = Vector("context.nq")
    slots = Vector("context.nv")
    work = Vector(1)
    choice = Vector("memory")


@native
def _mixed_decode(o: PartitionedVariables, t: float, y: np.ndarray, x: np.ndarray) -> int:
    c, state, motion = o.context, MixedState.of(o, y), Motion.of(o.context, x)
    motion.q[:] = state.q
    motion.work[:] = state.work
    e = constraints_at(c, t, motion.q)
    if o.follow(state.choice, e.A, e.rate, state.slots, motion.u) != OK:
        return give_up(c, STALE_CHOICE)
    return OK


@native
def _mixed_encode(o: PartitionedVariables, t: float, x: np.ndarray, y: np.ndarray) -> int:
    motion, state = Motion.of(o.context, x), MixedState.of(o, y)
    changed = o.renew(state.choice, constraints_at(o.context, t, motion.q).A)
    state.q[:] = motion.q
    o.along(state.choice, motion.u, state.slots)
    state.work[:] = motion.work
    return RESTART if changed != 0 else OK


@native
def _mixed_rhs(o: PartitionedVariables, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    state, rate = MixedState.of(o, y), MixedState.of(o, dy)
    x, full = np.empty(o.varying), np.empty(o.varying)
    status = _mixed_decode(o, t, y, x)
    if status == OK:
        status = _rates(o, t, state.choice, x, full)
    if status != OK:
        return status
    found = Motion.of(o.context, full)
    rate.q[:] = found.q
    o.along(state.choice, found.u, rate.slots)
    rate.work[:] = found.work
    rate.choice[:] = 0.0
    return finite(o.context, dy)


# independent


class IndependentState(Outputs):
    """y or ẏ."""

    delta = Vector("context.nv")
    tail = Vector("context.n_tail")
    slots = Vector("context.nv")
    work = Vector(1)
    velocity_choice, position_choice = 2 * Vector("memory")
    origin = Vector("context.nq")


class Shifted(Outputs):
    """What the exponential gives: q ∘ exp(δ), D(δ) with u = D δ̇, and its inverse."""

    q = Vector("nq")
    D, inverse = 2 * Matrix("nv", "nv")


@native
def _moved(c: Context, t: float, state: IndependentState, delta: np.ndarray, x: np.ndarray):
    """The exponential, and the constraints at the position that it leads to, which goes into x."""
    tree, shifted = c.nq - c.n_tail, Shifted.of(c, c.exponential(state.origin, delta, c.parameters))
    x[:tree] = shifted.q[:tree]
    x[tree : c.nq] = state.tail
    return shifted, constraints_at(c, t, x[: c.nq])


@native
def _along_delta(e: Closure, D: np.ndarray) -> np.ndarray:
    """Derivatives of φ by δ:  A D  of the holonomic rows."""
    J = np.zeros((e.phi.shape[0], D.shape[1]))
    for i in range(J.shape[0]):
        for k in range(D.shape[0]):
            if e.A[i, k] != 0.0:
                J[i] += e.A[i, k] * D[k]
    return J


@native
def _closed(o: PartitionedVariables, t: float, y: np.ndarray, x: np.ndarray):
    """Dependent coordinates by Newton's method, then velocities; x from y.

    Returns the status, the exponential and the constraints there, and δ.
    """
    c, state, motion = o.context, IndependentState.of(o, y), Motion.of(o.context, x)
    delta, step, still, error = state.delta.copy(), np.zeros(c.nv), np.zeros(c.nv), 1e300
    shifted, e = _moved(c, t, state, delta, x)
    for turn in range(NEWTON_STEPS):
        last, error = error, 0.0
        for phi in e.phi:
            error = max(error, abs(phi))
        if not np.isfinite(error):
            return give_up(c, NOT_FINITE), shifted, e, delta
        if error <= POSITION_TOLERANCE or (error < 1e-9 and error > 0.5 * last):
            break
        if turn == NEWTON_STEPS - 1:
            return give_up(c, NO_CONVERGENCE), shifted, e, delta
        if o.follow(state.position_choice, _along_delta(e, shifted.D), e.phi, still, step) != OK:
            return give_up(c, STALE_CHOICE), shifted, e, delta
        delta += step
        shifted, e = _moved(c, t, state, delta, x)
    motion.work[:] = state.work
    if o.follow(state.velocity_choice, e.A, e.rate, state.slots, motion.u) != OK:
        return give_up(c, STALE_CHOICE), shifted, e, delta
    return OK, shifted, e, delta


@native
def _choose(o: PartitionedVariables, A: np.ndarray, state: IndependentState) -> bool:
    """Choices that are good here; True if there is a new one."""
    velocities = o.renew(state.velocity_choice, A)
    positions = o.renew(state.position_choice, A[: o.context.holonomic])
    return velocities + positions > 0


@native
def _open(o: PartitionedVariables, motion: Motion, state: IndependentState):
    """y from x about this position."""
    c = o.context
    state.origin[:] = motion.q
    state.tail[:] = motion.q[c.nq - c.n_tail :]
    state.delta[:] = 0.0
    o.along(state.velocity_choice, motion.u, state.slots)
    state.work[:] = motion.work


@native
def _independent_decode(o: PartitionedVariables, t: float, y: np.ndarray, x: np.ndarray) -> int:
    status, _, _, _ = _closed(o, t, y, x)
    return status


@native
def _independent_encode(o: PartitionedVariables, t: float, x: np.ndarray, y: np.ndarray) -> int:
    c, motion, state = o.context, Motion.of(o.context, x), IndependentState.of(o, y)
    _choose(o, constraints_at(c, t, motion.q).A, state)
    _open(o, motion, state)
    return RESTART


@native
def _independent_retract(o: PartitionedVariables, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    # The state is on its constraints as it is; only its coordinates may have to change.
    c, state, x = o.context, IndependentState.of(o, y), np.empty(o.context.nq + o.context.nv + 1)
    quality[0] = 1.0
    status, shifted, e, delta = _closed(o, t, y, x)
    if status != OK:
        return status
    turned = np.abs(shifted.D - np.eye(c.nv)).max()
    if not _choose(o, e.A, state) and turned < TURNED:
        state.delta[:] = delta
        return OK
    _open(o, Motion.of(c, x), state)
    return RESTART


@native
def _independent_rhs(o: PartitionedVariables, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    c, state, rate = o.context, IndependentState.of(o, y), IndependentState.of(o, dy)
    x, full = np.empty(c.nq + c.nv + 1), np.empty(c.nq + c.nv + 1)
    status, shifted, _, _ = _closed(o, t, y, x)
    if status == OK:
        status = _rates(o, t, state.velocity_choice, x, full)
    if status != OK:
        return status
    found = Motion.of(c, full)
    dy[:] = 0.0
    rate.delta[:] = shifted.inverse @ Motion.of(c, x).u
    rate.tail[:] = found.q[c.nq - c.n_tail :]
    o.along(state.velocity_choice, found.u, rate.slots)
    rate.work[:] = found.work
    return finite(c, dy)


def check_state(name: str, state: str) -> None:
    """An option that makes sense."""
    check_known(f"{name}: unknown state", state, STATES)


def partitioned_size(state: str, sizes: Sizes, freedom: tuple[int, int]) -> int:
    """How many variables of a state vary, given the degrees of freedom of position and of velocity."""
    if state == "independent":
        return freedom[0] + sizes.tail + freedom[1]
    return sizes.nq + (sizes.nv if state == "dependent" else freedom[1])


def partitioned_variables(state: str, sizes: Sizes, kept: bool = False) -> Variables | None:
    """The variables of a state by its name, with entries of u or with a basis that is kept; None for all coordinates
    and velocities."""
    if state == "dependent":
        return None
    memory = 1 + sizes.nv**2 if kept else sizes.nv
    options = {"memory": memory}
    if state == "mixed":
        n = sizes.nq + sizes.nv + 1
        return Variables(
            "coordinates and independent velocities", n + memory, n, _mixed_rhs, _mixed_decode, _mixed_encode,
            record=PartitionedVariables, options=options, kernels=(),
        )  # fmt: skip
    varying = 2 * sizes.nv + sizes.tail + 1
    return Variables(
        "independent coordinates and velocities", varying + 2 * memory + sizes.nq, varying, _independent_rhs,
        _independent_decode, _independent_encode, _independent_retract, record=PartitionedVariables, options=options,
        kernels=("exponential",),
    )  # fmt: skip
