"""The record that native code of a model works on, filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.codegen import Kernel
from dalembert.dynamics import evaluate, project, rub
from dalembert.dynamics.rolled import rolled_rhs
from dalembert.dynamics.rolled_closing import closed_approach, closed_retract, closed_rhs
from dalembert.native import Bound
from dalembert.numerics.context import Context, Statistics
from dalembert.numerics.solver_steps import null_space

if TYPE_CHECKING:
    from dalembert.dynamics.kernels import KernelSet

__all__ = ["make_context", "project_stages", "project_states", "renew_context"]

_EVALUATIONS = {
    "explicit": evaluate.explicit_rhs, "eliminated": evaluate.eliminated_rhs, "solved": evaluate.solved_rhs,
}  # fmt: skip


def make_context(
    kernels: KernelSet, parameters: dict[str, float] | None = None, more: dict[str, Kernel] | None = None
) -> Context:
    """A context for one run of a model.

    Args:
        more: kernels besides those of the accelerations, by the names of their fields.
    """
    values, rows = kernels.parameters(parameters).copy(), kernels.rows
    context = Context(
        nq=kernels.nq, nv=kernels.nv, rows=len(rows), holonomic=rows.holonomic,
        yielding=kernels.yielding, n_parameters=len(values), parameters=values,
        n_events=len(kernels.event_owners), n_branches=kernels.n_branches, n_tail=kernels.tail,
        n_states=kernels.n_states,
        statistics=Statistics(smallest_pivot=1.0, lowest_rank=np.inf),
    )  # fmt: skip
    if len(kernels.contacts):
        switch, row, event = (np.ascontiguousarray(part) for part in kernels.contacts.T)
        context.set(n_contacts=len(switch), contact_switch=switch, contact_row=row, contact_event=event)
    if len(kernels.frictions):
        names = ("switch", "row", "rows", "slip", "force", "event")
        columns = {
            f"friction_{name}": np.ascontiguousarray(column)
            for name, column in zip(names, kernels.frictions.T, strict=True)
        }
        context.set(n_frictions=len(kernels.frictions), **columns)
    used = {**(more or {}), **_feel(kernels, context)}
    units = kernels.units
    if units is not None:
        context.set(scaled=1, unit=units[0].copy(), row_unit=units[1].copy())
    context.uneven = int(kernels.uneven)
    context.rank, context.holonomic_rank = rows.held.get(values.tobytes(), (0, 0))
    rolled = kernels.rolled(parameters)
    if rolled is None:
        used["dynamics"] = kernels.dynamics_kernel
        if rows:
            used["constraints"] = kernels.constraint_kernel
        if rows or kernels.has_quaternions:
            used["move"] = kernels.move_kernel
    context.set(**used)
    if rows:
        project_states(context, "projection")
    if rolled is not None:
        own = rolled.bind(context)
        closed = rolled.loops is not None
        context.rhs = (closed_rhs if closed else rolled_rhs).bind(own)
        context.retract = closed_retract.bind(own) if closed else project.normalize.bind(context)
        return context
    if kernels.evaluation == "solved":
        context.solver = kernels.formulation.bind(context, kernels.plan)
    context.rhs = _EVALUATIONS[kernels.evaluation].bind(context)
    if kernels.assumes:
        rubbing = rub.factored_rhs if "friction_push" in used else rub.rubbing_rhs
        context.frictionless, context.rhs = context.rhs, rubbing.bind(context)
    context.retract = (project.retract if rows else project.normalize).bind(context)
    return context


def renew_context(kernels: KernelSet, context: Context, values: np.ndarray) -> bool:
    """Give a context other parameters, if these are all that it would not have in common with a new one."""
    remembers = context.solver is not None and context.solver.record is not context
    if kernels.is_large or remembers or context.n_active:
        return False
    context.parameters[:] = values
    context.rank, context.holonomic_rank = kernels.rows.held.get(values.tobytes(), (0, 0))
    return True


def _feel(kernels: KernelSet, context: Context) -> dict[str, Kernel]:
    """Where accelerations and reactions that formulas name are kept, and the kernels that find them."""
    used: dict[str, Kernel] = {}
    feedback, watched = kernels.feedback
    if kernels.assumes:
        n = len(kernels.frictions) + len(feedback)
        context.set(n_feedback=len(feedback), n_assumed=n, feedback_place=feedback, response=np.eye(n))
        used = {"friction": kernels.friction_kernel, "friction_slopes": kernels.friction_slopes_kernel}
        shared = kernels.evaluation == "solved" and kernels.formulation.chosen_solver() is null_space
        if shared and not len(feedback) and kernels.units is None:
            used["friction_push"] = kernels.friction_push_kernel
    if len(watched):
        context.set(n_watched=len(watched), watched_place=watched)
        used["watched"] = kernels.watched_kernel
    return used


def project_states(context: Context, how: str | None) -> None:
    """How states go back onto the constraints: ``projection``, ``partition``, or not at all."""
    context.projection = None if how is None else project.PROJECTIONS[how].bind(context)


def project_stages(context: Context) -> None:
    """Go toward the constraints before every evaluation, besides back onto them after steps."""
    inner: Bound = context.rhs
    rolled = inner.record is not context
    context.inner = inner
    context.approach = closed_approach.bind(inner.record) if rolled else project.approach.bind(context)
    context.rhs = evaluate.staged_rhs.bind(context)
