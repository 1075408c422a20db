"""What integrators take: the native functions of a model in one record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.codegen import Kernel
from dalembert.dynamics import implicit, project
from dalembert.dynamics.make_context import make_context
from dalembert.dynamics.mechanism_kernels import MechanismKernels
from dalembert.equations import Level
from dalembert.errors import ModelError
from dalembert.integrators.base import Problem
from dalembert.model.data import ContactEvent, Event, FrictionEvent
from dalembert.numerics.context import Context
from dalembert.numerics.linear import RANK_TOLERANCE, ROUNDING
from dalembert.numerics.reflections import independent_rows

if TYPE_CHECKING:
    from dalembert.dynamics.kernels import KernelSet
    from dalembert.formulations.base import Variables

__all__ = ["Asked", "find_straight", "make_problem"]

# Kernels behind the native functions. index-1 and ggl are the two forms of a differential-algebraic system.
_KERNELS = {
    "jacobian": "tangent", "multipliers": "tangent", "residual": "tangent",
    "index-1": "tangent", "ggl": "tangent", "exponential": "exponential", "discrete": "discrete",
    "impulses": "touch",
}  # fmt: skip


# The differential-algebraic form in variables other than (q, u).
MIXED = "index-2"


class Asked(NamedTuple):
    """What a run asks of a problem.

    Attributes:
        parameters: values instead of the model's.
        needs: functions that the integrator calls (``Integrator.needs``).
        start: t and y where the run begins.
        active: constraint rows to keep instead of those that are independent there.
    """

    parameters: dict[str, float] | None
    needs: tuple[str, ...]
    start: tuple[float, np.ndarray] | None
    active: np.ndarray | None


def make_problem(kernels: KernelSet, asked: Asked) -> tuple[Problem, Context]:
    """What an integrator takes, and the context behind it."""
    variables = kernels.variables
    if variables is not None:
        return _problem_in_variables(kernels, variables, asked)
    parameters, needs, start, active = asked
    if MIXED in needs:
        raise ModelError(
            f"stabilization={MIXED!r} is the form of canonical equations with multipliers; formulation "
            f"{kernels.formulation.name!r} has 'index-1' and 'ggl'. Fix: formulation='canonical'"
        )
    names = {_KERNELS[need] for need in needs if need in _KERNELS}
    _check_needs(kernels, names, needs)
    known = {"rhs", "retract", "jacobian", *(() if len(kernels.feedback[0]) else ("impulses",))}
    if kernels.assumes and set(needs) - known:
        what = "friction is" if len(kernels.frictions) else "what forces feel of reactions and accelerations is"
        raise ModelError(
            f"{what} solved for together with accelerations, and the integrator solves for them itself.  "
            "Fix: another integrator, such as 'dopri8' or 'radau'"
        )
    used = {name: getattr(kernels, f"{name}_kernel") for name in names}
    if kernels.assumes and "jacobian" in needs:
        used["friction_tangent"] = kernels.friction_tangent_kernel
    if "project" in needs:
        used["constraints"] = kernels.constraint_kernel
    jumps = "impulses" in needs
    if jumps:
        used["move"] = kernels.move_kernel
    context = make_context(kernels, parameters, {**used, **_event_kernel(kernels)})
    if jumps:
        _take_contacts(kernels, context)
        names = set[str]()
    if active is None and names and start is not None and kernels.rows:
        active = rows_to_keep(kernels, *start, context.parameters)
    if active is not None:
        context.keep_rows(active)
    n = kernels.nq + kernels.nv + 1
    n_events = context.n_events if context.n_events > context.n_asleep else 0
    problem = Problem(
        size=n, nq=kernels.nq, nv=kernels.nv, rows=context.n_active, rhs=context.rhs, retract=context.retract,
        n_events=n_events, events=project.events.bind(context) if n_events else None,
        **_branches(kernels, context), **_units(kernels),
        n_states=kernels.tail, first_state=kernels.nq - kernels.tail,
    )  # fmt: skip
    for need in needs:
        if need in implicit.DAE:
            F, jacobian, index = implicit.DAE[need]
            more = context.active_holonomic if need == "ggl" else 0
            problem.set(
                dae=F.bind(context), dae_jacobian=jacobian.bind(context), dae_start=implicit.dae_start.bind(context),
                dae_index=index, dae_size=n + kernels.nv + context.n_active + more,
            )  # fmt: skip
        elif need in implicit.FUNCTIONS:
            problem.set(**{need: implicit.FUNCTIONS[need].bind(context)})
    return problem, context


def _units(kernels: KernelSet) -> dict[str, Any]:
    """Units of events: those of gaps where the size of the mechanism is unusual."""
    if not isinstance(kernels, MechanismKernels) or not kernels.flat.contacts or kernels.even.everyday:
        return {}
    flat, units = kernels.flat, np.ones(len(kernels.event_owners))
    of = {name: unit for (name, _), unit in zip(flat.gap_names, kernels.even.gaps, strict=True)}
    for i, owner in enumerate(flat.event_owners):
        event = flat.events[owner][0]
        if isinstance(event, ContactEvent) and event.side >= 0:
            units[i] = of[event.contact]
    return {"n_units": len(units), "units": units}


def find_straight(kernels: KernelSet, context: Context) -> np.ndarray:
    """1 for each event that the state and t change along a straight line as long as these parameters hold, else 0.

    What native code adds is none: the force that opens a closed contact or tears what sticks, and feedback.
    """
    if context.n_feedback + context.n_watched or kernels.variables is not None or kernels.is_large:
        return np.zeros(context.n_events, dtype=np.int64)
    found = kernels.straight_events.copy()
    for switch, event in [*kernels.contacts[:, [0, 2]], *kernels.frictions[:, [0, 5]]]:
        found[event] &= context.parameters[switch] == 0.0
    return found


def _take_contacts(kernels: KernelSet, context: Context) -> None:
    """Contacts are the work of the method: their events sleep, and friction knows its gap."""
    assert isinstance(kernels, MechanismKernels)
    flat, gaps = kernels.flat, kernels.friction_gaps
    joints = [name for name, gap in zip(flat.frictions, gaps, strict=True) if gap is None]
    if joints:
        raise ModelError(
            f"steps with impulses handle friction of rigid contacts, not of joints ({', '.join(joints)}).  "
            f"Fix: another integrator, such as 'dopri8'"
        )
    two = [name for name in flat.frictions if flat.constraints[name][0].static is not None]
    if two:
        raise ModelError(
            f"steps with impulses have one coefficient of friction, not another that sticks (static of {two[0]!r}).  "
            f"Fix: static: null, or another integrator, such as 'dopri8'"
        )
    if kernels.coordinates.rheonomic:
        raise ModelError(
            "steps with impulses cannot take coordinates that are given functions of time.  "
            "Fix: coordinates='relative', or another integrator"
        )
    own = {*flat.contacts, *flat.frictions}
    asleep = [i for i, name in enumerate(flat.event_owners) if _acts_on(flat.events[name][0]) in own]
    context.set(
        n_gaps=len(kernels.flat.gap_names), n_slips=int(context.friction_rows.sum()) if gaps else 0,
        friction_gap=np.array(gaps, dtype=np.int64), n_asleep=len(asleep),
        asleep=np.array(asleep, dtype=np.int64),
    )  # fmt: skip


def _acts_on(event: Event) -> str | None:
    """The contact or friction whose event it is."""
    if isinstance(event, ContactEvent):
        return event.contact
    return event.friction if isinstance(event, FrictionEvent) else None


def _check_needs(kernels: KernelSet, used: set[str], needs: tuple[str, ...]) -> None:
    """Refuse integrators that need what a model cannot give."""
    if not all(hasattr(type(kernels), f"{name}_kernel") for name in used):
        raise ModelError(
            "the integrator moves along the joints of a mechanism, and these equations are of none.  "
            "Fix: another integrator, such as 'dopri8' or 'radau'"
        )
    if used and kernels.is_large:
        raise ModelError(
            f"the model has {kernels.nv} velocities and runs by rolled recursions without derivatives. "
            f"Fix: an explicit integrator such as 'dopri8', or fewer bodies"
        )
    if kernels.n_states and {"residual", "discrete", "impulses"} & set(needs):
        raise ModelError(
            f"the integrator moves positions and velocities by a rule of second order, which has no place for states "
            f"of first order ({', '.join(kernels.own_states)}).  Fix: another integrator, such as 'radau' or 'dopri8'"
        )
    if "discrete" in needs and kernels.rows.holonomic < len(kernels.rows):
        names = kernels.rows.owners(Level.VELOCITY)
        raise ModelError(
            f"a variational integrator cannot take nonholonomic constraints ({', '.join(names)}): they come from no "
            f"action. Fix: another integrator, such as 'generalized-alpha' or 'dopri8'"
        )


def _event_kernel(kernels: KernelSet) -> dict[str, Kernel]:
    """Kernels of events, and of what their branches impose."""
    found = {"event": kernels.event_kernel} if kernels.event_owners else {}
    return {**found, "imposed": kernels.imposed_kernel} if any(kernels.imposed) else found


def _branches(kernels: KernelSet, context: Context, by_speeds: bool = True) -> dict[str, Any]:
    """What a problem knows of branches of formulas.

    Args:
        by_speeds: False if velocities are no part of what is integrated, so that they cannot jump by themselves.
    """
    if not context.n_branches:
        return {}
    places, speeds, given = map(len, kernels.imposed)
    found = {
        "n_branches": context.n_branches, "n_rough": kernels.n_rough, "choose": project.choose.bind(context)
    }  # fmt: skip
    if places + speeds + given == 0:
        return found
    follow = given // 2 + (0 if by_speeds else speeds)
    return found | {
        "n_places": places + given // 2, "n_speeds": speeds + given // 2, "n_given": follow,
        "imposed": project.imposed.bind(context),
    }  # fmt: skip


def _problem_in_variables(kernels: KernelSet, variables: Variables, asked: Asked) -> tuple[Problem, Context]:
    """The problem in variables other than (q, u)."""
    parameters, needs, start, active = asked
    if kernels.assumes or len(kernels.feedback[1]):
        raise ModelError(
            f"formulation {kernels.formulation.name!r} integrates {variables.what} and has neither accelerations nor "
            f"reactions for the formulas that name them.  Fix: formulation='lagrange-multipliers', or 'recursive'"
        )
    mixed = variables.mixed if MIXED in needs else None
    if not set(needs) <= {"rhs", "retract", "jacobian", *([] if mixed is None else [MIXED])}:
        raise ModelError(
            f"formulation {kernels.formulation.name!r} integrates {variables.what}; the integrator moves coordinates "
            f"and velocities itself. Fix: another integrator, such as 'dopri8' or 'radau', or another formulation"
        )
    used = {name: getattr(kernels, f"{name}_kernel") for name in variables.kernels}
    used["constraints"] = kernels.constraint_kernel
    context = make_context(kernels, parameters, {**used, **_event_kernel(kernels)})
    if mixed is not None:
        variables = replace(variables, encode=mixed.encode)
        if active is None and start is not None and kernels.rows:
            active = rows_to_keep(kernels, *start, context.parameters)
        context.keep_rows(np.arange(len(kernels.rows)) if active is None else active)
    functions = variables.bind(context)
    problem = Problem(
        size=variables.size, varying=variables.varying, nq=kernels.nq, nv=kernels.nv, rows=len(kernels.rows),
        n_events=context.n_events, rhs=functions.rhs, retract=functions.retract, decode=functions.decode,
        encode=functions.encode,
        events=functions.events if context.n_events else None,
        **_branches(kernels, context, by_speeds=False), **_units(kernels),
        jacobian=functions.jacobian if "jacobian" in needs else None,
    )  # fmt: skip
    if mixed is not None:
        problem.set(**variables.bind_mixed(context))
    return problem, context


def rows_to_keep(kernels: KernelSet, t: float, y: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Constraint rows that are independent at a state, holonomic ones first."""
    q, u = y[: kernels.nq], y[kernels.nq : kernels.nq + kernels.nv]
    A = np.asarray(kernels.constraint_kernel(t, q, u, parameters).jacobian)
    rounding = ROUNDING * max(1.0, np.abs(A).max(initial=0.0))
    return np.array(independent_rows(A, A.shape[1], RANK_TOLERANCE, rounding), dtype=np.int64)
