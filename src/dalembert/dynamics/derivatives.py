"""Compiled derivatives of inverse and forward dynamics.

The tree's own dynamics is differentiated in closed form (``tree.tree_derivatives``); only the forces that a model's
springs, bushings and formulas exert are left to automatic differentiation.

M⁻¹ = G Gᵀ, where G has the pattern of the tree; so to apply it takes two products of sparse matrices, which kernels of
large trees compute in loops (``codegen.products``). Measured as CPU time of one thread, AVX2, 512 states into given
arrays, times as fast as Pinocchio's ``computeABADerivatives``: 8 to 14 up to 20 velocities, 6.2 to 6.7 at 30, 5.0 to
5.8 for humanoids of 35 and 38, 6.6 to 7.5 at 60; less on a machine that is busy with other work. Of the 5.5 µs for each
state at 30 joints the straight-line code takes about 2.8, the products 1.9, and the way of the results to plain arrays
the rest. New arrays of 40 MB cost two thirds as much again; ``out`` avoids that.

Reference: docs/theory/derivatives.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import casadi as ca
import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates import TreeKinematics
from dalembert.equations import Equations
from dalembert.errors import DalembertError, ModelError
from dalembert.tree.tree_derivatives import Load, forward_dynamics_derivatives, forward_parts

if TYPE_CHECKING:
    from dalembert.dynamics.dynamics import Dynamics
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = ["Evaluated", "constrained_derivatives", "derivative_kernel", "make_derivatives", "parameter_derivatives"]

# Velocities up to which M⁻¹ is applied by straight-line code. Measured, written out and in loops: 3.7 and 4.1 µs at 26
# joints, 5.5 and 5.6 at 30, 11.1 and 9.5 at 38; from 30 on loops also take half the time to compile.
WRITTEN_OUT = 28

# Short pieces keep long-lived matrix entries out of registers that the arithmetic needs: at 30 joints a third faster.
PIECE = 250

# Singular values of [M −Aᵀ; A 0] in scaled variables, relative to the largest, that belong to redundant equations.
REDUNDANT = 1e-10


class AccelerationDerivatives(NamedTuple):
    """u̇ and its derivatives along the tangent of q, by u, by τ and, one column each, by parameters p."""

    du: np.ndarray
    ddu_dq: np.ndarray
    ddu_du: np.ndarray
    ddu_dtau: np.ndarray
    ddu_dp: np.ndarray | None = None


class Evaluated(NamedTuple):
    """Where derivatives are taken: t, q, u, parameters and τ, of one state or a batch."""

    t: Any
    q: Any
    u: Any
    p: Any
    tau: Any


def derivative_kernel(dynamics: Dynamics, which: Literal["forward", "inverse"] = "forward") -> Kernel:
    """Derivatives as machine code, for one state or a batch (see ``make_derivatives``)."""
    return dynamics.kernels.derivative_kernel(which)


def make_derivatives(kernels: MechanismKernels, which: Literal["forward", "inverse"] = "forward") -> Kernel:
    """Derivatives as machine code, for one state or a batch.

    ``inverse``:  (t, q, u, p, du) -> dtau_dq, dtau_du, dtau_ddu  of  τ = M u̇ + h − Q  (``Dynamics.inverse``).
    ``forward``:  (t, q, u, p, tau) -> du, ddu_dq, ddu_du, ddu_dtau  of  M u̇ + h = Q + τ,  for free trees.

    All matrices are nv × nv; derivatives with respect to q are along the tangent (see ``tree.tree_derivatives``).
    """
    if which not in ("forward", "inverse"):
        raise DalembertError(f"which must be 'forward' or 'inverse', got {which!r}")
    equations = kernels.equations()
    return _inverse(kernels, equations) if which == "inverse" else _forward(kernels, equations)


def constrained_derivatives(
    kernels: MechanismKernels, at: Evaluated, solved: tuple[np.ndarray, np.ndarray], by: tuple[str, ...] = ()
) -> AccelerationDerivatives:
    """Derivatives of u̇ where there are constraints: those of M u̇ + h = Q + τ + Aᵀλ,  A u̇ + γ = 0, solved for ∂u̇.

    Args:
        solved: u̇ and λ there.
        by: parameters to differentiate by as well.
    """
    du, multipliers = solved
    T = kernels.tangent_kernel(_column(at.t), *at[1:], du, multipliers)
    nq, nv, m = kernels.nq, kernels.nv, len(kernels.rows)
    shape = T.M.shape[:-1]
    M, A, W = T.M.reshape(*shape, nv, nv), T.A.reshape(*shape, m, nv), T.W.reshape(*shape, nq, nv)
    right = np.zeros((*shape, nv + m, 3 * nv + len(by)))
    right[..., :nv, :nv], right[..., nv:, :nv] = -T.r_q.reshape(*shape, nv, nq) @ W, -T.g_q.reshape(*shape, m, nq) @ W
    right[..., :nv, nv : 2 * nv] = -T.r_u.reshape(*shape, nv, nv)
    right[..., nv:, nv : 2 * nv] = -T.g_u.reshape(*shape, m, nv)
    right[..., :nv, 2 * nv : 3 * nv] = np.eye(nv)
    if by:
        right[..., 3 * nv :] = -_by_parameters(kernels, at, solved, by)
    found = _accelerations(M, A, right)
    parts = (found[..., :nv], found[..., nv : 2 * nv], found[..., 2 * nv : 3 * nv])
    return AccelerationDerivatives(du, *parts, found[..., 3 * nv :] if by else None)


def parameter_derivatives(
    kernels: MechanismKernels, at: Evaluated, found: AccelerationDerivatives, by: tuple[str, ...]
) -> AccelerationDerivatives:
    """The derivatives of a tree, with those by parameters:  M ∂u̇/∂p = −∂r/∂p,  r = M u̇ + h − Q − τ."""
    r_p = _by_parameters(kernels, at, (found.du, np.zeros(0)), by)
    return AccelerationDerivatives(*found[:4], -found.ddu_dtau @ r_p)


def _accelerations(M: np.ndarray, A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """X of  M X − Aᵀ Λ = R₁,  A X = R₂;  redundant rows share Λ.

    Velocities are scaled by √M_ii and rows by their length, so that what is redundant does not depend on units.
    """
    nv, m = M.shape[-1], A.shape[-2]
    mass = np.einsum("...ii->...i", M)
    heavy = np.sqrt(np.where(mass > 0, mass, 1.0))
    A = A / heavy[..., None, :]
    length = np.linalg.norm(A, axis=-1)
    length = np.where(length > 0, length, 1.0)
    scale = np.concatenate([heavy, length], axis=-1)[..., None]
    A = A / length[..., None]
    system = np.zeros((*M.shape[:-2], nv + m, nv + m))
    system[..., :nv, :nv], system[..., nv:, :nv] = M / heavy[..., None, :] / heavy[..., :, None], A
    system[..., :nv, nv:] = -np.swapaxes(A, -1, -2)
    return (np.linalg.pinv(system, rcond=REDUNDANT) @ (right / scale))[..., :nv, :] / heavy[..., None]


def _by_parameters(
    kernels: MechanismKernels, at: Evaluated, solved: tuple[np.ndarray, np.ndarray], by: tuple[str, ...]
) -> np.ndarray:
    """∂r/∂p above ∂g/∂p at u̇ and λ."""
    found = kernels.parameter_kernel(by)(_column(at.t), *at[1:], *solved)
    return found.reshape(*found.shape[:-1], kernels.nv + len(kernels.rows), len(by))


def _column(t: Any) -> np.ndarray:
    return np.reshape(t, (*np.shape(t), 1))


def _inverse(kernels: MechanismKernels, equations: Equations) -> Kernel:
    symbol, du = CASADI.symbols("du", kernels.nv)
    found = equations.tree.inverse_derivatives(equations.q, equations.u, du, equations.gravity)
    dq, dv, M = found
    if _has_forces(kernels, equations):
        Q, load = _load(kernels, equations, du)
        dq, dv, M = dq - load.Q_q, dv - load.Q_u, M - _array(ca.jacobian(Q, symbol))
    outputs = dict(zip(found._fields, (dq, dv, M), strict=True))
    return kernels.compile("inverse_derivatives", outputs, PIECE, du=(symbol, du))


def _forward(kernels: MechanismKernels, equations: Equations) -> Kernel:
    if kernels.rows:
        owners = ", ".join(kernels.rows.owners())
        raise ModelError(
            f"forward derivatives are for trees without constraints; model {kernels.flat.name!r} is constrained by "
            f"{owners}.  Fix: Dynamics.acceleration_derivatives, which takes constraints"
        )
    tree = equations.tree
    if not isinstance(tree, TreeKinematics):
        raise ModelError(
            f"forward derivatives are for trees of joints, not for {kernels.coordinates.name} coordinates.  "
            f"Fix: coordinates='relative'"
        )
    tau = CASADI.symbols("tau", kernels.nv)
    load = None
    if _has_forces(kernels, equations):
        _, load = _load(kernels, equations, CASADI.zeros(kernels.nv))
    given = (tree, equations.q, equations.u, tau[1], equations.gravity, load)
    if kernels.nv <= WRITTEN_OUT:
        return kernels.compile("forward_derivatives", forward_dynamics_derivatives(*given)._asdict(), PIECE, tau=tau)
    factors, du, dq, dv = forward_parts(*given)
    # M⁻¹ = G Gᵀ
    G = _matrix(factors.inverse_root())
    products = {"ddu_dq": (-G, G.T, _matrix(dq)), "ddu_du": (-G, G.T, _matrix(dv)), "ddu_dtau": (-G, -G.T)}
    inputs = {key: symbol for key, (symbol, _) in {**kernels.symbols, "tau": tau}.items()}
    outputs = {"du": CASADI.to_sx(du)}
    return compile_function("forward_derivatives", inputs, outputs, shapes={"t": ()}, piece=PIECE, products=products)


def _has_forces(kernels: MechanismKernels, equations: Equations) -> bool:
    return bool(kernels.flat.forces or equations.cut_rotors.armatures)


def _load(kernels: MechanismKernels, equations: Equations, du: np.ndarray) -> tuple[ca.SX, Load]:
    """Forces Q on all velocities, as a CasADi column and with their derivatives.

    Armatures of cut joints count as forces here, the only ones that know u̇.
    """
    al, tree = CASADI, equations.tree
    wrenches, Q = equations.applied()
    Q = Q + tree.generalized_forces(equations.states, wrenches)
    column = al.to_sx(Q - equations.cut_rotors.forces(du))
    # q̇ = W u: the tangent of q, with the windings of cut joints
    W = al.columns(lambda u: Equations(tree, equations.t, equations.q, u).tangent(), kernels.nv)
    symbols = kernels.symbols
    Q_q = ca.jacobian(column, symbols["q"][0]) @ _matrix(W)
    return column, Load(al.from_sx(column, kernels.nv), _array(Q_q), _array(ca.jacobian(column, symbols["u"][0])))


def _matrix(values: np.ndarray) -> ca.SX:
    """An array as a CasADi matrix without its zeros."""
    rows, columns = values.shape
    return ca.sparsify(ca.reshape(CASADI.to_sx(values.T), rows, columns))


def _array(matrix: ca.SX) -> np.ndarray:
    """A CasADi matrix as an array; structural zeros stay zeros."""
    out = CASADI.zeros(*matrix.shape)
    for i, j in zip(*matrix.sparsity().get_triplet(), strict=True):
        out[i, j] = CASADI.from_sx(matrix[i, j], 1)[0]
    return out
