"""Higher rates along a prescribed motion: jerks, what a unit of each drive moves, rates of joints, bodies and outputs.

The rows of ``prescribed`` at acceleration level are J(t,q) u̇ + c(t,q,u) = s̈. One more derivative gives

    J ü + d/dt (J u̇ + c)|_{ü = 0} = s⃛                                                                             (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel as Compiled
from dalembert.dynamics.prescribed import Target, prescribed_rows
from dalembert.native import native
from dalembert.numerics.linear import constrained_factors, constrained_solution

if TYPE_CHECKING:
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = ["jerk_kernel", "rates_kernel", "solve_along"]


def jerk_kernel(kernels: MechanismKernels, targets: Sequence[Target]) -> Compiled:
    """J and d/dt (J u̇ + c) for ü = 0, of (t, q, u, p, u̇)."""
    al, e, rows = CASADI, kernels.traced, prescribed_rows(kernels, targets)
    du = al.symbols("du", kernels.nv)
    accelerations = rows["jacobian"] @ du[1] + rows["bias"]
    change = _along(e, accelerations, [(e.u, du[1])])
    return kernels.compile("jerks", {"jacobian": rows["jacobian"], "bias": change}, du=du)


def rates_kernel(kernels: MechanismKernels) -> Compiled:
    """Velocities of joints and bodies with two rates, outputs with theirs, of (t, q, u, p, u̇, ü); and what unit
    velocities do to joints and outputs."""
    al, e = CASADI, kernels.traced
    du, ddu = al.symbols("du", kernels.nv), al.symbols("ddu", kernels.nv)
    joints = al.concatenate([e.joint_coordinates(name)[1] for name in kernels.measurable])
    twists: list[Any] = []
    for state in e.states:
        twists += [state.X_WB.R @ state.V[:3], state.X_WB.R @ state.V[3:]]
    bodies, outputs = al.concatenate(twists), e.outputs()

    def rate(values: np.ndarray) -> np.ndarray:
        return _along(e, values, [(e.u, du[1]), (du[1], ddu[1])])

    found = {"joints": joints, "bodies": bodies, "outputs": outputs}
    made: dict[str, Any] = {}
    for name, values in found.items():
        if len(values):
            first = rate(values)
            made |= {f"{name}_first": first, f"{name}_second": rate(first)}
    made["joint_map"] = al.jacobian(joints, e.u) if len(joints) else al.zeros(0, kernels.nv)
    if len(outputs):
        made["output_map"] = al.jacobian(made["outputs_first"], e.u)
    return kernels.compile("rates", made, du=du, ddu=ddu)


def _along(e: Any, values: np.ndarray, more: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The time derivative along q̇ and the given rates; windings follow their angles."""
    al = e.al
    names = [al.vector([e.t]), e.q, *(symbols for symbols, _ in more)]
    rates = [al.eye(1)[0], e.qdot(), *(rates for _, rates in more)]
    return al.rate(values, al.concatenate(names), al.concatenate(rates))


@native
def solve_along(J: np.ndarray, sides: np.ndarray, out: np.ndarray) -> None:
    """The shortest x with J x = −side for each of some sides, at many instants.

    Args:
        J: one matrix for each instant.
        sides, out: rows of sides, and of solutions, for each instant.
    """
    rows, n, count = J.shape[1], J.shape[2], sides.shape[1]
    unit, none, multipliers = np.eye(n), np.zeros(n), np.empty(rows)
    for i in range(J.shape[0]):
        _, _, _, Q, R, free = constrained_factors(unit, J[i].copy())
        for k in range(count):
            constrained_solution(unit, none, sides[i, k], Q, R, free, out[i, k], multipliers)
