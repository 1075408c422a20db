"""Kernels for implicit, Lie-group and variational integrators, traced over CasADi."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.equations import Equations
from dalembert.equations.feedback import feedback_values
from dalembert.equations.touches import friction_sizes

if TYPE_CHECKING:
    from dalembert.dynamics.kernels import KernelSet
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = [
    "assumed", "discrete_kernel", "exponential_kernel", "friction_forces", "friction_kernel", "friction_push_kernel",
    "friction_slopes_kernel", "friction_tangent_kernel", "parameter_kernel", "tangent_kernel", "tangent_outputs",
    "watched_kernel",
]  # fmt: skip


def tangent_kernel(kernels: KernelSet) -> Kernel:
    """The residuals of the equations of motion and their derivatives (see ``tangent_outputs``)."""
    du, multipliers = CASADI.symbols("du", kernels.nv), CASADI.symbols("multipliers", len(kernels.rows))
    outputs = tangent_outputs(kernels, du, multipliers)
    return _compile(kernels, "tangent", outputs, tau=kernels.tau, du=du, multipliers=multipliers)


def parameter_kernel(kernels: KernelSet, names: tuple[str, ...]) -> Kernel:
    """Derivatives of r and g by some parameters, r above g, row by row (see ``tangent_outputs``)."""
    du, multipliers = CASADI.symbols("du", kernels.nv), CASADI.symbols("multipliers", len(kernels.rows))
    p: Any = kernels.symbols["p"][0]
    chosen: Any = p[[kernels.parameter_names.index(name) for name in names]]
    residuals = ca.vertcat(*_residuals(kernels, du, multipliers))
    return _compile(kernels, "by_parameters", {"by_parameters": ca.jacobian(residuals, chosen)}, tau=kernels.tau, du=du,
                    multipliers=multipliers)  # fmt: skip


def tangent_outputs(kernels: KernelSet, du: tuple[Any, Any], multipliers: tuple[Any, Any]) -> dict[str, ca.SX]:
    """Expressions of the residuals of the equations of motion and of their derivatives.

    r = M u̇ − f − Aᵀλ,  v = A u + b,  g = A u̇ + γ,  φ,  q̇, with derivatives by the coordinates q and by u; W = ∂q̇/∂u
    leads from the coordinates to the tangent space, along which states stay; ``states_u`` has their rows. The power of
    forces without potential gives its derivatives only.
    """
    al, symbols = CASADI, kernels.symbols
    equations = kernels.traced
    q, u = symbols["q"][0], symbols["u"][0]
    qdot, A = al.to_sx(equations.qdot()), al.to_sx(equations.jacobian)
    A = ca.reshape(A, kernels.nv, len(kernels.rows)).T
    r, g = _residuals(kernels, du, multipliers)
    v = al.to_sx(equations.velocity_residual())
    phi, power = al.to_sx(equations.position_residual()), al.to_sx(np.array([equations.power()]))
    W, slopes = _split(kernels, ca.jacobian(qdot, u))
    return {
        "r": r, "v": v, "g": g, "phi": phi, "qdot": qdot,
        "r_q": ca.jacobian(r, q), "r_u": ca.jacobian(r, u), "M": ca.jacobian(r, du[0]), "A": A,
        "v_q": ca.jacobian(v, q), "g_q": ca.jacobian(g, q), "g_u": ca.jacobian(g, u),
        "phi_q": ca.jacobian(phi, q), "qdot_q": ca.jacobian(qdot, q), "W": W,
        "power_q": ca.jacobian(power, q), "power_u": ca.jacobian(power, u), "states_u": slopes,
    }  # fmt: skip


def _residuals(kernels: KernelSet, du: tuple[Any, Any], multipliers: tuple[Any, Any]) -> tuple[ca.SX, ca.SX]:
    """r = M u̇ − f − Aᵀλ  and  g = A u̇ + γ."""
    equations, rows = kernels.traced, len(kernels.rows)
    A = ca.reshape(CASADI.to_sx(equations.jacobian), kernels.nv, rows)
    r = CASADI.to_sx(equations.inverse(du[1])) - A @ multipliers[0]
    return r, CASADI.to_sx(equations.acceleration_residual(du[1]))


def _split(kernels: KernelSet, slopes: ca.SX) -> tuple[ca.SX, ca.SX]:
    """∂q̇/∂u without the rows of the model's own states, and those rows."""
    n, first = kernels.n_states, kernels.nq - kernels.tail
    if not n:
        return slopes, ca.SX(0, kernels.nv)
    rows = slopes[first : first + n, :]
    return ca.vertcat(slopes[:first, :], ca.SX(n, kernels.nv), slopes[first + n :, :]), rows


def _after(kernels: MechanismKernels) -> tuple[dict[str, Any], Equations]:
    """Symbols of u̇ and λ, and the equations in which they are known."""
    more = {"du": CASADI.symbols("du", kernels.nv), "multipliers": CASADI.symbols("multipliers", len(kernels.rows))}
    return more, kernels.equations()


def friction_kernel(kernels: MechanismKernels) -> Kernel:
    """How large each friction is while it slips, and may be while it sticks; then what formulas of forces name of
    accelerations and reactions."""
    more, equations = _after(kernels)
    after = (more["du"][1], more["multipliers"][1])
    outputs = {
        "sizes": friction_sizes(equations, *after),
        "feedback": feedback_values(equations, kernels.flat.feedback, *after),
    }
    return kernels.compile("friction", outputs, **more)


def watched_kernel(kernels: MechanismKernels) -> Kernel:
    """Accelerations and reactions that only outputs and events name."""
    more, equations = _after(kernels)
    found = feedback_values(equations, kernels.flat.watched, more["du"][1], more["multipliers"][1])
    return kernels.compile("watched", {"feedback": found}, **more)


def friction_slopes_kernel(kernels: MechanismKernels) -> Kernel:
    """How what is found, h, depends on what is assumed, x: see ``rub.Slopes``."""
    more, equations = _after(kernels)
    x, h = assumed(kernels, equations, more["du"], more["multipliers"])
    f, A = (
        CASADI.to_sx(equations.forcing),
        ca.reshape(CASADI.to_sx(equations.jacobian), kernels.nv, len(kernels.rows)).T,
    )
    outputs = {
        "h_x": ca.jacobian(h, x), "h_a": ca.jacobian(h, more["du"][0]), "h_m": ca.jacobian(h, more["multipliers"][0]),
        "f_x": ca.jacobian(f, x), "M": _matrix(kernels, equations.mass_matrix), "A": A,
    }  # fmt: skip
    return _compile(kernels, "friction_slopes", outputs, **more)


def friction_push_kernel(kernels: MechanismKernels) -> Kernel:
    """How the forces f depend on those of friction."""
    p: Any = kernels.symbols["p"][0]
    f = CASADI.to_sx(kernels.traced.forcing)
    slopes = ca.jacobian(f, p[[int(force) for *_, force, _ in kernels.frictions]])
    return _compile(kernels, "friction_push", {"f_x": slopes})


def friction_tangent_kernel(kernels: MechanismKernels) -> Kernel:
    """Further derivatives of what is found, and those of q̇ and the power by what is assumed: see ``rub.Feedback``."""
    more, equations = _after(kernels)
    x, h = assumed(kernels, equations, more["du"], more["multipliers"])
    by = {
        "h_q": kernels.symbols["q"][0],
        "h_u": kernels.symbols["u"][0],
        "h_a": more["du"][0],
        "h_m": more["multipliers"][0],
    }
    outputs = {name: ca.jacobian(h, symbol) for name, symbol in by.items()}
    outputs["qdot_x"] = ca.jacobian(CASADI.to_sx(equations.qdot()), x)
    outputs["power_x"] = ca.jacobian(CASADI.to_sx(np.array([equations.power()])), x)
    return _compile(kernels, "friction_tangent", outputs, **more)


def friction_forces(kernels: MechanismKernels, equations: Equations, du: Any, multipliers: Any) -> ca.SX:
    """The forces of friction that u̇ and λ (arrays) make: −slip μ N, zero where it sticks."""
    p: Any = kernels.symbols["p"][0]
    sizes = CASADI.to_sx(friction_sizes(equations, du, multipliers))
    parts: list[ca.SX] = [
        -p[slip] * (1 - p[switch]) * sizes[2 * i] for i, (switch, _, _, slip, *_) in enumerate(kernels.frictions)
    ]
    casadi: Any = ca
    return casadi.vertcat(*parts) if parts else ca.SX(0, 1)


def assumed(kernels: MechanismKernels, equations: Equations, du: Any, multipliers: Any) -> tuple[ca.SX, ca.SX]:
    """x, the parameters that hold forces of friction and what is fed back; and h, what u̇ and λ make of them."""
    p: Any = kernels.symbols["p"][0]
    after = (du[1], multipliers[1])
    found = CASADI.to_sx(feedback_values(equations, kernels.flat.feedback, *after))
    places = [*(int(force) for *_, force, _ in kernels.frictions), *map(int, kernels.feedback[0])]
    return p[places], ca.vertcat(friction_forces(kernels, equations, *after), found)


def _matrix(kernels: KernelSet, values: np.ndarray) -> ca.SX:
    return ca.reshape(CASADI.to_sx(values), kernels.nv, kernels.nv).T


def exponential_kernel(kernels: MechanismKernels) -> Kernel:
    """q ∘ exp(δ), D(δ) and its inverse."""
    q, delta = kernels.symbols["q"], CASADI.symbols("delta", kernels.nv)
    inputs = {"q": q[0], "delta": delta[0], "p": kernels.symbols["p"][0]}
    outputs = {
        "q": CASADI.to_sx(kernels.moved(q[1], delta[1])),
        "D": _rows(_blocks(kernels, delta[1], "dexp")),
        "inverse": _rows(_blocks(kernels, delta[1], "dexp_inverse")),
    }
    return compile_function("exponential", inputs, outputs)


def discrete_kernel(kernels: MechanismKernels) -> Kernel:
    """A step of the discrete Lagrangian  L_d(q, δ) = h L(q ∘ exp(δ/2), δ/h)  with forces at the middle.

    Varying the ends of the step gives the momenta before and after it,

        p⁻ = D(−δ)⁻ᵀ ∂L_d/∂δ − ∂L_d/∂q − f⁻,      p⁺ = D(δ)⁻ᵀ ∂L_d/∂δ + f⁺,

    with the forces Q of the middle carried to the ends:
    f⁻ = h (D(δ/2) (D(−δ/2)⁻¹ − ½ D(−δ)⁻¹))ᵀ Q,  f⁺ = ½ h (D(δ/2) D(δ)⁻¹)ᵀ Q.

    Inputs t, q, δ (in the place of u), parameters, τ, h. Outputs p⁻, p⁺, the work of the forces, ∂p⁻/∂δ.

    Reference: J. E. Marsden, M. West, "Discrete mechanics and variational integrators", Acta Numerica 10 (2001).
    """
    al, symbols, nv = CASADI, kernels.symbols, kernels.nv
    q, delta, h = symbols["q"], symbols["u"], al.symbols("h", 1)
    step, tree, time = h[1][0], kernels.tree, symbols["t"][1][0]
    middle = tree.integrate(q[1], delta[1] / 2)
    at_middle = Equations(tree, time + step / 2, middle, delta[1] / step, kernels.tau[1])
    lagrangian = step * (at_middle.kinetic_energy() - at_middle.potential_energy())
    L = al.to_sx(np.array([lagrangian]))
    W, _ = _split(kernels, ca.jacobian(al.to_sx(kernels.traced.qdot()), symbols["u"][0]))
    by_delta, by_q = ca.jacobian(L, delta[0]).T, W.T @ ca.jacobian(L, q[0]).T
    force = al.to_sx(at_middle.work_forces())

    def D(values: np.ndarray, name: str = "dexp") -> ca.SX:
        return _blocks(kernels, values, name)

    half, inverse, inverse_back = D(delta[1] / 2), D(delta[1], "dexp_inverse"), D(-delta[1], "dexp_inverse")
    back = D(-delta[1] / 2, "dexp_inverse")
    f_before = h[0] * (half @ (back - inverse_back / 2)).T @ force
    f_after = h[0] / 2 * (half @ inverse).T @ force
    before = inverse_back.T @ by_delta - by_q - f_before
    outputs = {
        "before": before, "after": inverse.T @ by_delta + f_after,
        "work": al.to_sx(np.array([step * at_middle.power()])),
        "slope": ca.jacobian(before, delta[0]),
    }  # fmt: skip
    assert before.shape == (nv, 1)
    return _compile(kernels, "discrete", outputs, tau=kernels.tau, h=h)


def _compile(kernels: KernelSet, name: str, outputs: dict[str, ca.SX], **more: tuple[Any, Any]) -> Kernel:
    inputs = {key: symbol for key, (symbol, _) in {**kernels.symbols, **more}.items()}
    return compile_function(name, inputs, {key: _rows(value) for key, value in outputs.items()})


def _blocks(kernels: MechanismKernels, delta: np.ndarray, name: str) -> ca.SX:
    """dexp, or its inverse, of all tree joints along the diagonal."""
    blocks = kernels.tree.dexp(delta, inverse=name == "dexp_inverse")
    return ca.diagcat(*[ca.reshape(CASADI.to_sx(block.T), *block.shape) for block in blocks if block.size])


def _rows(matrix: ca.SX) -> ca.SX:
    """A dense column with the entries row by row."""
    return ca.densify(ca.vec(matrix.T))
