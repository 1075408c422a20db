"""The record that native functions of one model share: sizes, parameters, kernels, functions, statistics.

A *solver* of a formulation is a native function  solver(record, t, e: System, out: Solution) -> int  of a record of its
own, which holds its options and may refer to the context. All functions return OK, or what FAILURES explains.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.errors import InputError
from dalembert.native import Flag, Function, Int, Integers, Kernel, Matrix, Outputs, Real, Record, Ref, Vector, native

__all__ = [
    "CHOOSE", "CONFLICT", "FAILED", "FAILURES", "ILL_CONDITIONED", "JAMMED", "NOT_FINITE", "NO_CONVERGENCE",
    "NO_IMPULSES", "NO_MASS", "OK", "RESTART", "STALE_CHOICE", "TOO_STIFF", "UNSETTLED", "Blocks", "Closure", "Context",
    "Solution", "Statistics", "System", "check_blocks", "check_outputs", "finite", "give_up", "residual_rates",
    "stabilized", "watch",
]  # fmt: skip

# What a native function returns. RESTART: it succeeded, and the state means something else from now on, which methods
# that remember former steps must know. CHOOSE: it succeeded, and the velocities of the state are ill-conditioned.
OK, FAILED, RESTART, CHOOSE = 0, 1, -1, -2

# Why it failed, in ``Statistics.failure``.
NO_MASS, NOT_FINITE, NO_CONVERGENCE, CONFLICT, STALE_CHOICE, ILL_CONDITIONED, TOO_STIFF, JAMMED = range(1, 9)
UNSETTLED, NO_IMPULSES = 9, 10
FAILURES = {
    NO_MASS: "some direction of motion has neither mass nor constraint: give every free body mass and inertia, or "
    "constrain it; a point that carries springs only is a massless_point",
    NOT_FINITE: "the accelerations are not finite: look for a division by zero or a root of a negative number in the "
    "formulas, or for a coordinate singularity",
    NO_CONVERGENCE: "the position constraints could not be satisfied: the mechanism came apart or reached a position "
    "where it locks",
    CONFLICT: "the velocity constraints contradict each other: no velocity satisfies them all",
    STALE_CHOICE: "the independent velocities do not determine the others any more, and a step does not get past that "
    "position",
    ILL_CONDITIONED: "the equations of this formulation are singular to rounding here, although mass and constraints "
    "determine the motion: take another formulation, such as 'lagrange-multipliers'",
    JAMMED: "friction jams: the harder it is pushed, the more it holds, and no force satisfies Coulomb's law "
    "(P. Painlevé, 1895); a smaller coefficient, or other directions of the forces",
    UNSETTLED: "a force depends on reactions or accelerations that it causes itself, and no value or more than one "
    "fits: weaken that dependence, or let it pass through a state, such as a filter",
    NO_IMPULSES: "the impulses of contacts did not settle: masses are too different, or the contacts contradict each "
    "other; a shorter step, or compliant contacts",
    TOO_STIFF: "the penalty is so large that rounding hides the masses: take a smaller alpha, or another formulation",
}


class Statistics(Record):
    """What native functions saw on the way: the worst pivot ratio, ranks, contradiction of redundant rows and velocity
    correction; how many projections; why one gave up; and det(1 − G) where reactions had no unique answer."""

    smallest_pivot, lowest_rank, highest_rank, largest_conflict, largest_correction, uniqueness = 6 * Real()
    projections, failure = 2 * Int()

    def reason(self) -> str:
        """Why the native code gave up, in words."""
        return FAILURES.get(self.failure, "the native code gave up without a reason")


class Blocks(Outputs):
    """What the dynamics kernel of a formulation with a solver gives; ``own``: blocks that the formulation adds."""

    qdot = Vector("nq")
    power = Real()
    M = Matrix("nv", "nv")
    f = Vector("nv")
    A = Matrix("rows", "nv")
    gamma, b = 2 * Vector("rows")
    phi = Vector("holonomic")
    own = Vector("*")


class System(Outputs):
    """What a solver gets: M u̇ = f + Aᵀλ, A u̇ + γ = 0 with Baumgarte's terms in γ; φ, the rates A u + b, u, and the
    blocks that its formulation adds."""

    M = Matrix("nv", "nv")
    f = Vector("nv")
    A = Matrix("rows", "nv")
    gamma = Vector("rows")
    phi = Vector("holonomic")
    rate = Vector("rows")
    u = Vector("nv")
    own = Vector("*")


class Solution(Outputs):
    """Where a solver puts u̇ and λ."""

    du = Vector("nv")
    multipliers = Vector("rows")


class Closure(Outputs):
    """What the constraint kernel gives: φ, A u + b, A and M."""

    phi = Vector("holonomic")
    rate = Vector("rows")
    A = Matrix("rows", "nv")
    M = Matrix("nv", "nv")


class Context(Record):
    """One model, one formulation, one run.

    Attributes:
        nq, nv, rows, holonomic: sizes; holonomic rows come first.
        yielding: further rows of the recursive formulation: armatures of cut joints.
        rank, holonomic_rank: of A, and of its holonomic rows, where it is known to be less than it looks off the
            constraints; else 0.
        n_events, n_branches: how many events there are, and how many of the last ones choose branches of formulas, by
            as many of the last parameters.
        n_tail, n_states: entries at the end of q that are no coordinates, and how many of the first of them are states.
        alpha, beta: Baumgarte's constants, zero if not wanted.
        drift: how far a state may be off the constraints before it is led back.
        tau: forces on all velocities, besides those of the model.
        multipliers: λ of the last evaluation.
        unread: nothing reads λ in this run; a solver that finds u̇ first may leave it out where the constraints are
            ``still`` (b = 0), so that λ has no power.
        contact_switch, contact_row, contact_event: of one-sided constraints: the parameter that is 0 where it is open,
            its row, and the event that opens it.
        friction_switch … friction_event: of friction: the parameter that is 1 where it sticks, its first row and
            how many it has, the parameters
            of the sign of its velocity and of its force, and the event by which it breaks loose.
        friction_size: the largest of what was assumed and found so far.
        uneven: 1 where equations that are not in even units are evened out by what they are made of.
        scaled: 1 where equations are solved in even units, ``unit`` of velocities, ``row_unit`` of rows (``scaling``).
        n_gaps, n_slips, friction_gap: of steps with impulses: how many gaps and directions of sliding there are, and
            the gap of each friction.
        asleep: events that such steps have no use for.
        slack: what is added to events: gaps of contacts that touch without load close a little later.
        active: independent rows that implicit methods keep, ``active_holonomic`` of them holonomic.
        dynamics … variables: kernels of (t, q, u, p, …); ``move`` and ``exponential`` of (q, δ, p).
        rhs: ẏ from (t, y), y = (q, u, W) with the work W; leaves λ in ``multipliers``.
        feedback_place, watched_place: parameters that hold accelerations and reactions on which forces depend, and
            those that only outputs and events name.
        n_assumed: forces of friction, then what is fed back: what an evaluation assumes and finds again.
        response, trusts_response: (1 − G)⁻¹ with G, how what is found depends on what is assumed; 0 if not known yet.
        frictionless: rhs with the forces of friction, and what is fed back, as they are among the parameters.
        inner, approach: rhs and way toward the constraints, for an rhs that goes there before it evaluates.
        retract: (t, y, quality): y back onto the constraints, in place; quality[0] ≤ 1 is small where they are nearly
            singular.
        projection: (positions, du, seen): the step du with A du = −residual of positions or velocities; seen[0] is the
            contradiction of redundant rows, seen[1] how close A is to losing rank. None: no way back.
        solver: u̇ and λ by the formulation.
    """

    nq, nv, rows, holonomic, yielding, n_parameters, rank, holonomic_rank = 8 * Int()
    n_events, n_branches, n_tail, n_states, n_feedback, n_assumed, n_watched = 7 * Int()
    n_active, active_holonomic, n_contacts, n_frictions, n_gaps, n_slips, n_asleep, n_slack = 8 * Int()
    scaled, uneven, trusts_response = 3 * Int()
    unread, still = 2 * Flag()
    alpha, beta, drift, friction_size = 4 * Real()
    parameters = Vector("n_parameters")
    tau, unit = 2 * Vector("nv")
    multipliers, row_unit = 2 * Vector("rows")
    active = Integers("n_active")
    asleep = Integers("n_asleep")
    contact_switch, contact_row, contact_event = 3 * Integers("n_contacts")
    friction_switch, friction_row, friction_rows, friction_gap = 4 * Integers("n_frictions")
    friction_slip, friction_force, friction_event = 3 * Integers("n_frictions")
    feedback_place = Integers("n_feedback")
    watched_place = Integers("n_watched")
    response = Matrix("n_assumed", "n_assumed")
    slack = Vector("n_slack")
    statistics = Ref(Statistics)
    dynamics, constraints, move, tangent, exponential, discrete, event, variables = 8 * Kernel()
    friction, friction_slopes, friction_push, friction_tangent, watched, touch, imposed = 7 * Kernel()
    rhs, inner, frictionless, retract = 4 * Function(float, Vector, Vector)
    approach = Function(float, Vector)
    projection = Function(bool, Vector, Vector)
    solver = Function(float, System, Solution)

    def keep_rows(self, active: np.ndarray) -> None:
        """The independent constraint rows that implicit methods keep, in rising order."""
        if active.ndim != 1 or active.dtype.kind not in "iu":
            raise InputError(f"active must hold numbers of rows, got {active.dtype} {active.shape}")
        self.n_active, self.active_holonomic = len(active), int(np.sum(active < self.holonomic))
        self.active = np.ascontiguousarray(active, dtype=np.int64)

    def read_by(self, needs: tuple[str, ...]) -> None:
        """What an integrator that calls these functions reads of an evaluation."""
        read = self.n_contacts + self.n_frictions + self.n_assumed + self.n_watched
        self.unread = not read and set(needs) <= {"rhs", "retract"}

    def failure(self) -> str:
        """Why the native code gave up, in words."""
        words = self.statistics.reason()
        if self.statistics.failure in (JAMMED, UNSETTLED):
            words += f" (det(1 − ∂found/∂assumed) = {self.statistics.uniqueness:.3g}; it must stay above zero)"
        return words


@native
def watch(c: Any, rank: int, ratio: float, conflict: float):
    """Remember the worst that a solver met, in a record with statistics."""
    s = c.statistics
    s.smallest_pivot = min(s.smallest_pivot, ratio)
    s.lowest_rank = min(s.lowest_rank, float(rank))
    s.highest_rank = max(s.highest_rank, float(rank))
    s.largest_conflict = max(s.largest_conflict, conflict)


@native
def give_up(c: Any, reason: int) -> int:
    """Why a native function failed, into a record with statistics; returns its status."""
    c.statistics.failure = reason
    return FAILED


@native
def finite(c: Any, rate: np.ndarray) -> int:
    """OK if all numbers are finite; a record with statistics learns if not."""
    for x in rate:
        if not np.isfinite(x):
            return give_up(c, NOT_FINITE)
    return OK


@native
def residual_rates(A: np.ndarray, b: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A u + b."""
    return A @ u + b


@native
def stabilized(c: Context, gamma: np.ndarray, phi: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """γ with Baumgarte's terms:  γ + 2 α φ̇ + β² φ  (nonholonomic rows:  γ + 2 α ψ)."""
    if c.alpha == 0.0 and c.beta == 0.0:
        return gamma
    out = np.empty_like(gamma)
    for i in range(gamma.shape[0]):
        out[i] = gamma[i] + 2.0 * c.alpha * rate[i]
        if i < phi.shape[0]:
            out[i] += c.beta * c.beta * phi[i]
    return out


def check_outputs(kernel: Any, declared: type[Outputs], record: Record) -> None:
    """Raise if a kernel does not give what native code takes it apart into, by name, size and order, with lengths from
    the record."""
    _compare(kernel, [*declared.sizes(record).items()], 0)


def check_blocks(kernel: Any, own: type[Outputs] | None, context: Context) -> None:
    """As ``check_outputs`` for the usual blocks, whatever their names, and those that a formulation adds."""
    names, usual = [*kernel.outputs], [*Blocks.sizes(context).values()][:-1]
    wanted = [*zip(names, usual, strict=False), *(own.sizes(context).items() if own is not None else ())]
    _compare(kernel, wanted, len(usual))


def _compare(kernel: Any, wanted: list[tuple[str, int]], usual: int) -> None:
    given = [(name, math.prod(shape)) for name, shape in kernel.outputs.items()]
    if given != wanted or len(given) < usual:
        listed = [", ".join(f"{name}[{size}]" for name, size in sizes) for sizes in (given, wanted)]
        raise TypeError(f"kernel '{kernel.name}' gives {listed[0]}, and native code takes it for {listed[1]}")
