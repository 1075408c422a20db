"""What integrators take: the native functions of a model in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from dalembert.dynamics import forms, implicit, native
from dalembert.dynamics.context import Context
from dalembert.errors import ModelError
from dalembert.integrators.base import Problem
from dalembert.numerics.linear import RANK_TOLERANCE, ROUNDING

if TYPE_CHECKING:
    from dalembert.dynamics.dynamics import Dynamics
    from dalembert.formulations.base import Form

__all__ = ["make_problem"]

# Kernels behind the native functions. index-1 and ggl are the two forms of a differential-algebraic system.
_KERNELS = {
    "jacobian": "tangent", "multipliers": "tangent", "residual": "tangent",
    "index-1": "tangent", "ggl": "tangent", "exponential": "exponential", "discrete": "discrete",
}  # fmt: skip
_OF_THE_FORM = {"index-1": 1, "ggl": 2}


def make_problem(
    dynamics: Dynamics,
    parameters: dict[str, float] | None,
    needs: tuple[str, ...],
    start: tuple[float, np.ndarray] | None,
    active: np.ndarray | None,
) -> tuple[Problem, Context]:
    """The table of a model for an integrator that needs these functions, and the context behind it."""
    form = dynamics.form
    if form is not None:
        return _problem_of_form(dynamics, form, parameters, needs)
    names = {_KERNELS[need] for need in needs if need in _KERNELS}
    if names and dynamics.is_large:
        raise ModelError(
            f"the model has {len(dynamics.flat.bodies)} bodies and runs by rolled recursions without derivatives. "
            f"Fix: an explicit integrator such as 'dopri8', or fewer bodies"
        )
    if "discrete" in needs and dynamics.holonomic < len(dynamics.rows):
        names = sorted({row.owner for row in dynamics.rows if not row.holonomic})
        raise ModelError(
            f"a variational integrator cannot take nonholonomic constraints ({', '.join(names)}): they come from no "
            f"action. Fix: another integrator, such as 'generalized-alpha' or 'dopri8'"
        )
    kernels = {name: getattr(dynamics, f"{name}_kernel") for name in names}
    n_events = len(dynamics.flat.event_owners)
    if "project" in needs:
        kernels["constraints"] = dynamics.constraint_kernel
    if n_events:
        kernels["event"] = dynamics.event_kernel
    context = Context(dynamics, parameters, kernels)
    entries = {
        "context": context.address, "rhs": context.rhs, "retract": context.retract, "nq": dynamics.nq,
        "nv": dynamics.nv, "n_events": n_events,
        "events": native.function_address("events") if n_events else 0,
    }  # fmt: skip
    context.set(n_events=n_events)
    if active is None and names and start is not None and dynamics.rows:
        active = independent_rows(dynamics, *start, context.values)
    if active is not None:
        context.keep_rows(active, int(np.sum(active < dynamics.holonomic)))
    rows, holonomic = len(context.active), context.active_holonomic
    entries["rows"] = rows
    n = dynamics.nq + dynamics.nv + 1
    for need in needs:
        if need in _OF_THE_FORM:
            size = n + dynamics.nv + rows + (holonomic if need == "ggl" else 0)
            entries |= {
                "dae": implicit.function_address(need), "dae_index": _OF_THE_FORM[need], "dae_size": size,
                "dae_jacobian": implicit.function_address(f"{need} jacobian"),
                "dae_start": implicit.function_address("dae_start"),
            }  # fmt: skip
        elif need in _KERNELS or need == "project":
            entries[need] = implicit.function_address(need)
    return Problem.of(n, (context, dynamics), **entries), context


def _problem_of_form(
    dynamics: Dynamics, form: Form, parameters: dict[str, float] | None, needs: tuple[str, ...]
) -> tuple[Problem, Context]:
    """The table for variables other than (q, u)."""
    if not set(needs) <= {"rhs", "retract", "jacobian"}:
        raise ModelError(
            f"formulation {dynamics.formulation.name!r} integrates {form.what}; the integrator moves coordinates and "
            f"velocities itself. Fix: another integrator, such as 'dopri8' or 'radau', or another formulation"
        )
    n_events = len(dynamics.flat.event_owners)
    kernels = {name: getattr(dynamics, f"{name}_kernel") for name in form.kernels}
    kernels["constraints"] = dynamics.constraint_kernel
    if n_events:
        kernels["event"] = dynamics.event_kernel
    context = Context(dynamics, parameters, kernels)
    context.set(
        n_events=n_events, retract=context.retract, form_rhs=form.rhs, encode=form.encode, decode=form.decode,
        n_state=form.size, varying=form.varying, n_form=kernels["form"].n_out if "form" in kernels else 0,
        n_windings=len(dynamics.coordinates.windings), closure=forms.function_address("closure"),
        rates=forms.function_address("rates"), shift=implicit.function_address("exponential"),
    )  # fmt: skip
    entries = {
        "context": context.address, "nq": dynamics.nq, "nv": dynamics.nv, "rows": len(dynamics.rows),
        "rhs": form.rhs, "retract": form.retract or forms.function_address("retract"), "decode": form.decode,
        "n_events": n_events, "events": forms.function_address("events") if n_events else 0,
        "jacobian": forms.function_address("jacobian") if "jacobian" in needs else 0,
    }  # fmt: skip
    return Problem.of(form.size, (context, dynamics), **entries), context


def independent_rows(dynamics: Dynamics, t: float, y: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Constraint rows that are independent at a state, holonomic ones first."""
    q, u = y[: dynamics.nq], y[dynamics.nq : dynamics.nq + dynamics.nv]
    A = np.asarray(dynamics.constraint_kernel(t, q, u, parameters).jacobian)
    if not A.any():
        return np.empty(0, dtype=np.int64)
    _, R, order = qr(A.T, mode="economic", pivoting=True)  # pyright: ignore[reportAssignmentType]
    sizes = np.abs(np.diag(R))
    rank = int(np.sum(sizes > max(RANK_TOLERANCE * sizes[0], ROUNDING * max(1.0, np.abs(A).max()))))
    return np.sort(order[:rank]).astype(np.int64)
