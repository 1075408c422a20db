"""Compiled derivatives of inverse and forward dynamics.

The tree's own dynamics is differentiated in closed form (``coordinates.derivatives``); only the forces that a model's
springs, bushings and formulas exert are left to automatic differentiation.

Reference: docs/theory/derivatives.md.
"""

from __future__ import annotations

from typing import Any, Literal

import casadi as ca
import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel
from dalembert.coordinates.derivatives import Load, forward_dynamics_derivatives, inverse_dynamics_derivatives
from dalembert.dynamics.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.formulations import Equations

__all__ = ["derivative_kernel"]


def derivative_kernel(dynamics: Dynamics, which: Literal["forward", "inverse"] = "forward") -> Kernel:
    """Derivatives as machine code, for one state or a batch.

    ``inverse``:  (t, q, u, p, du) -> dtau_dq, dtau_du, dtau_ddu  of  τ = M u̇ + h − Q  (``Dynamics.inverse``).
    ``forward``:  (t, q, u, p, tau) -> du, ddu_dq, ddu_du, ddu_dtau  of  M u̇ + h = Q + τ,  for trees without constraints.

    All matrices are nv × nv; derivatives with respect to q are along the tangent (see ``coordinates.derivatives``).
    """
    equations, al = dynamics._equations(), CASADI
    tree, q, u, base = equations.tree, equations.q, equations.u, equations.gravity
    if which == "inverse":
        du = al.symbols("du", dynamics.nv)
        dq, dv, M = inverse_dynamics_derivatives(tree, q, u, du[1], base)
        more = _load(dynamics, equations, du[1])
        if more is not None:
            dq, dv, M = dq - more[0].Q_q, dv - more[0].Q_u, M - more[1]
        return dynamics._compile("inverse_derivatives", {"dtau_dq": dq, "dtau_du": dv, "dtau_ddu": M}, du=du)
    if which != "forward":
        raise ValueError(f"which must be 'forward' or 'inverse', got {which!r}")
    if dynamics.rows:
        owners = ", ".join(dict.fromkeys(row.owner for row in dynamics.rows))
        raise ModelError(
            f"forward derivatives are for trees without constraints; this model is constrained by {owners}.  "
            f"Fix: which='inverse', and solve the linearised constraints with it"
        )
    tau = al.symbols("tau", dynamics.nv)
    more = _load(dynamics, equations, al.zeros(dynamics.nv))
    out = forward_dynamics_derivatives(tree, q, u, tau[1], base, None if more is None else more[0])
    return dynamics._compile("forward_derivatives", out._asdict(), tau=tau)


def _load(dynamics: Dynamics, equations: Equations, du: np.ndarray) -> tuple[Load, np.ndarray] | None:
    """Q(t, q, u, u̇) on all velocities with its derivatives, the last with respect to u̇; None without forces.

    Armatures of cut joints count as forces here, the only ones that know u̇.
    """
    if not dynamics.flat.forces and not equations._cut_rotors:
        return None
    al, nv = CASADI, dynamics.nv
    wrenches, Q = equations._applied()
    for i in reversed(range(len(wrenches))):
        link, state = equations.tree.links[i], equations.states[i]
        if state.S.shape[1]:
            Q[link.u] = Q[link.u] + state.S.T @ wrenches[i]
        if link.parent >= 0:
            wrenches[link.parent] = wrenches[link.parent] + state.X_PL.force(wrenches[i])
    Q = Q - equations._cut_rotor_forces(du)
    column = al.to_sx(Q)

    def jacobian(symbols: ca.SX) -> ca.SX:
        return ca.jacobian(column, symbols)

    q, u = dynamics._symbols["q"][0], dynamics._symbols["u"][0]
    # q̇ = W u: the tangent of q, windings of cut joints included
    W = al.columns(lambda v: Equations(equations.tree, equations.t, equations.q, v).qdot(), nv)
    Q_q = jacobian(q) @ ca.sparsify(al.to_sx(W).reshape((nv, dynamics.nq))).T
    Q_du = al.zeros(nv, nv) if not _traced(du) else _array(jacobian(al.to_sx(du)))
    return Load(Q, _array(Q_q), _array(jacobian(u))), Q_du


def _traced(values: np.ndarray) -> bool:
    return bool(CASADI.to_sx(values).is_symbolic()) and len(values) > 0


def _array(matrix: ca.SX) -> Any:
    """A CasADi matrix as an array; structural zeros stay zeros."""
    out = CASADI.zeros(*matrix.shape)
    for i, j in zip(*matrix.sparsity().get_triplet(), strict=True):
        out[i, j] = CASADI.from_sx(matrix[i, j], 1)[0]
    return out
