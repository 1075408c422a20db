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

from dalembert.errors import DalembertError
from dalembert.formulations.base import Sizes, Variables
from dalembert.native import Matrix, Outputs, Ref, Vector, native
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
from dalembert.numerics.partition import Choice, follow, pick, recalled, renewed, split

__all__ = ["STATES", "check_state", "partitioned_size", "partitioned_variables"]

STATES = ("dependent", "mixed", "independent")

# Newton's method on dependent coordinates, as in the retraction of other states.
POSITION_TOLERANCE = 1e-14
NEWTON_STEPS = 12

# How far D(δ) may be from 1 before exponential coordinates begin anew.
TURNED = 0.5


class PartitionedVariables(VariablesRecord):
    """``choice``: that of the formulation's solver."""

    choice = Ref(Choice)

    @classmethod
    def of(cls, variables: Variables, context: Context) -> VariablesRecord:
        record = super().of(variables, context)
        record.set(choice=context.solver.record)
        return record


@native
def _velocities(choice: np.ndarray, e: Closure, slots: np.ndarray, u: np.ndarray) -> bool:
    """u from its independent entries; False if they do not determine the others."""
    s, known = split(recalled(choice), e.A), e.rate.copy()
    if s.ratio <= 0.0:
        return False
    for free in s.columns[s.rank :]:
        u[free] = slots[free]
        known += e.A[:, free] * slots[free]
    follow(s, known, u)
    return True


@native
def _rates(o: PartitionedVariables, t: float, choice: np.ndarray, x: np.ndarray, rate: np.ndarray) -> int:
    """Rates of x, found with the choice of this state, so that nothing depends on what was evaluated before."""
    o.choice.choices = max(1, o.choice.choices)
    o.choice.independent[:] = recalled(choice)
    return o.context.rhs(t, x, rate)


# mixed


class MixedState(Outputs):
    """y or ẏ."""

    q = Vector("context.nq")
    slots = Vector("context.nv")
    work = Vector(1)
    choice = Vector("context.nv")


@native
def _mixed_decode(o: PartitionedVariables, t: float, y: np.ndarray, x: np.ndarray) -> int:
    c, state, motion = o.context, MixedState.of(o, y), Motion.of(o.context, x)
    motion.q[:] = state.q
    motion.work[:] = state.work
    if not _velocities(state.choice, constraints_at(c, t, motion.q), state.slots, motion.u):
        return give_up(c, STALE_CHOICE)
    return OK


@native
def _mixed_encode(o: PartitionedVariables, t: float, x: np.ndarray, y: np.ndarray) -> int:
    motion, state = Motion.of(o.context, x), MixedState.of(o, y)
    changed = renewed(state.choice, constraints_at(o.context, t, motion.q).A)
    state.q[:] = motion.q
    pick(state.choice, motion.u, state.slots)
    state.work[:] = motion.work
    return RESTART if changed else OK


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
    pick(state.choice, found.u, rate.slots)
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
    velocity_choice = Vector("context.nv")
    position_choice = Vector("context.nv")
    origin = Vector("context.nq")


class Shifted(Outputs):
    """What the exponential gives: q ∘ exp(δ), D(δ) with u = D δ̇, and its inverse."""

    q = Vector("nq")
    D = Matrix("nv", "nv")
    inverse = Matrix("nv", "nv")


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
    delta, step, position_choice, error = state.delta.copy(), np.zeros(c.nv), recalled(state.position_choice), 1e300
    shifted, e = _moved(c, t, state, delta, x)
    for turn in range(NEWTON_STEPS):
        last, error = error, 0.0
        for phi in e.phi:
            error = max(error, abs(phi))
        if not np.isfinite(error):
            return give_up(c, NOT_FINITE), shifted, e, delta
        s = split(position_choice, _along_delta(e, shifted.D))
        if s.ratio <= 0.0:
            return give_up(c, STALE_CHOICE), shifted, e, delta
        if error <= POSITION_TOLERANCE or (error < 1e-9 and error > 0.5 * last):
            break
        if turn == NEWTON_STEPS - 1:
            return give_up(c, NO_CONVERGENCE), shifted, e, delta
        follow(s, e.phi, step)
        for i in s.columns[: s.rank]:
            delta[i] += step[i]
        shifted, e = _moved(c, t, state, delta, x)
    motion.work[:] = state.work
    if not _velocities(state.velocity_choice, e, state.slots, motion.u):
        return give_up(c, STALE_CHOICE), shifted, e, delta
    return OK, shifted, e, delta


@native
def _choose(c: Context, A: np.ndarray, state: IndependentState) -> bool:
    """Choices that are good here; True if there is a new one."""
    velocities = renewed(state.velocity_choice, A)
    positions = renewed(state.position_choice, A[: c.holonomic])
    return velocities or positions


@native
def _open(c: Context, motion: Motion, state: IndependentState):
    """y from x about this position."""
    state.origin[:] = motion.q
    state.tail[:] = motion.q[c.nq - c.n_tail :]
    state.delta[:] = 0.0
    pick(state.velocity_choice, motion.u, state.slots)
    state.work[:] = motion.work


@native
def _independent_decode(o: PartitionedVariables, t: float, y: np.ndarray, x: np.ndarray) -> int:
    status, _, _, _ = _closed(o, t, y, x)
    return status


@native
def _independent_encode(o: PartitionedVariables, t: float, x: np.ndarray, y: np.ndarray) -> int:
    c, motion, state = o.context, Motion.of(o.context, x), IndependentState.of(o, y)
    _choose(c, constraints_at(c, t, motion.q).A, state)
    _open(c, motion, state)
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
    if not _choose(c, e.A, state) and turned < TURNED:
        state.delta[:] = delta
        return OK
    _open(c, Motion.of(c, x), state)
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
    pick(state.velocity_choice, found.u, rate.slots)
    rate.work[:] = found.work
    return finite(c, dy)


def check_state(name: str, state: str) -> None:
    """An option that makes sense."""
    if state not in STATES:
        raise DalembertError(f"{name}: unknown state {state!r}; expected one of {', '.join(STATES)}")


def partitioned_size(state: str, sizes: Sizes, freedom: tuple[int, int]) -> int:
    """How many variables of a state vary, given the degrees of freedom of position and of velocity."""
    if state == "independent":
        return freedom[0] + sizes.tail + freedom[1]
    return sizes.nq + (sizes.nv if state == "dependent" else freedom[1])


def partitioned_variables(state: str, sizes: Sizes) -> Variables | None:
    """The variables of a state by its name; None for all coordinates and velocities."""
    if state == "dependent":
        return None
    if state == "mixed":
        n = sizes.nq + sizes.nv + 1
        return Variables(
            "coordinates and independent velocities", n + sizes.nv, n, _mixed_rhs, _mixed_decode, _mixed_encode,
            record=PartitionedVariables, kernels=(),
        )  # fmt: skip
    varying = 2 * sizes.nv + sizes.tail + 1
    return Variables(
        "independent coordinates and velocities", varying + 2 * sizes.nv + sizes.nq, varying, _independent_rhs,
        _independent_decode, _independent_encode, _independent_retract, record=PartitionedVariables,
        kernels=("exponential",),
    )  # fmt: skip
