"""The canonical equations are consistent in themselves: M with energy, forces with power, A, b and γ with φ."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from support.algebras import run_symbolically
from support.cases import CASES, LOOPS, TREES, case
from support.states import body_motion, consistent_state, equations_at, reference_coordinates, transfer

from dalembert.algebra import NUMPY
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.formulations import FORMULATIONS
from dalembert.model import Model, flatten

TIME = 0.3
ROUND_OFF = 1e-11
# Five-point differences: truncation h⁴ f⁽⁵⁾/30 ≈ 3e-16 f⁽⁵⁾ with f⁽⁵⁾ up to 1e6 here (fast spins), round-off 1e-16 f/h.
STEP = 3e-4
DIFFERENCE_ERROR = 1e-8

SPECIAL = [name for name in CASES if name not in TREES and name not in LOOPS]
# Loops in natural coordinates are in the agreement of accelerations every day.
EVERY = [
    pytest.param(name, kind, marks=pytest.mark.slow if kind == "natural" and name in LOOPS else ())
    for name in CASES
    for kind in COORDINATES
]
every_case = pytest.mark.parametrize(("name", "coordinates"), EVERY, ids=lambda part: part)


@cache
def dynamics_of(name: str, coordinates: str) -> Dynamics:
    return Dynamics(case(name), "lagrange-multipliers", coordinates)


@cache
def setting(name: str, coordinates: str):
    """Equations at a random consistent state, with the tree they stand on."""
    relative = dynamics_of(name, "relative")
    q, u = consistent_state(relative, 2, t=TIME)
    target = COORDINATES[coordinates](flatten(case(name)))
    if coordinates != "relative":
        poses, twists = body_motion(relative.coordinates, q, u)
        known = equations_at(relative.coordinates, TIME, q, u)
        turns = {
            (joint, i): x for joint in relative.flat.joints for i, x in enumerate(known.joint_coordinates(joint)[0])
        }
        q, u = transfer(target, poses, twists, turns)
    return equations_at(target, TIME, q, u)


def along(e: Equations, du: np.ndarray, function):
    """d/dt of a function of the equations along the motion with rates u̇, by five points."""

    def at(h: float):
        moved = Equations(e.tree, e.t + h, e.tree.integrate(e.q, h * e.u), e.u + h * du)
        return np.asarray(function(moved), dtype=float)

    f = {k: at(k * STEP) for k in (-2, -1, 1, 2)}
    return (f[-2] - 8 * f[-1] + 8 * f[1] - f[2]) / (12 * STEP)


def close(got, expected, tolerance):
    expected = np.asarray(expected, dtype=float)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * (1.0 + np.abs(expected).max(initial=0.0)))


# Mass and energy


@every_case
def test_mass_matrix_is_the_hessian_of_the_kinetic_energy(name, coordinates):
    e = setting(name, coordinates)
    M, unit = e.mass_matrix, np.eye(e.nv)

    def energy(u):
        return float(Equations(e.tree, e.t, e.q, u).kinetic_energy())

    at_rest = energy(np.zeros(e.nv))

    def T(u):
        # T₂: in rheonomic coordinates there are terms linear in u, and one without.
        return (energy(u) + energy(-u)) / 2 - at_rest

    single = [T(x) for x in unit]
    if e.nv >= 14:
        np.testing.assert_allclose(2 * np.array(single), np.diag(M), rtol=ROUND_OFF, atol=ROUND_OFF)
        u = np.random.default_rng(0).normal(size=e.nv)
        assert T(u) == pytest.approx(u @ M @ u / 2, rel=ROUND_OFF)
    else:
        pairs = np.zeros_like(M)
        for i, j in itertools.combinations_with_replacement(range(e.nv), 2):
            pairs[i, j] = pairs[j, i] = T(unit[i] + unit[j]) - single[i] - single[j]
        close(pairs, M, ROUND_OFF)
    np.testing.assert_allclose(M, M.T, atol=ROUND_OFF)
    smallest = np.linalg.eigvalsh(M).min()
    massless = any(float(link.inertia.mass) == 0 for link in e.tree.links)
    assert smallest > (-1e-12 if massless else 1e-6)


def _carried(e: Equations) -> float:
    """T₁ + 2 T₀ by differences, exact for a quadratic function."""

    def T(u):
        return float(Equations(e.tree, e.t, e.q, u).kinetic_energy())

    return (T(e.u) - T(-e.u)) / 2 + 2 * T(0 * e.u)


@every_case
@pytest.mark.slow
def test_power_is_the_rate_of_energy(name, coordinates):
    """d(T + V)/dt = power of forces without potential − λᵀb."""
    e, dynamics = setting(name, coordinates), dynamics_of(name, coordinates)
    du, multipliers = dynamics.solve(e.q, e.u, t=TIME)
    rate = along(e, du, lambda x: x.kinetic_energy() + x.potential_energy())
    power = e.power() if not e.tree.coordinates.rheonomic else 0.0
    if e.tree.coordinates.rheonomic:
        # What changes T₂ − T₀ + V, by machine code; the rest is what drives put into T₁ + 2 T₀ = p · f_t.
        none = np.zeros(e.nv)
        kernel = dynamics.dynamics_kernel(t=TIME, q=e.q, u=e.u, p=dynamics.parameters(), tau=none)
        power = float(np.asarray(kernel.power).item()) + along(e, du, _carried)
    close(rate, power - multipliers @ e.velocity_bias, DIFFERENCE_ERROR)


@pytest.mark.parametrize("name", TREES)
def test_mass_rate_less_twice_coriolis_does_no_work(name):
    """uᵀ (Ṁ u − 2 h) = 0 without gravity and forces: h is quadratic in u and takes its part of dT/dt."""
    e = setting(name, "relative")
    model = case(name)
    flat = flatten(model)
    bare = Model("bare", gravity=(0, 0, 0))
    bare.parameter_values, bare.bodies, bare.joints = dict(model.parameter_values), model.bodies, model.joints
    coordinates = COORDINATES["relative"](flatten(bare))
    assert coordinates.nv == e.nv and flat.bodies.keys() == coordinates.flat.bodies.keys()
    b = equations_at(coordinates, TIME, e.q, e.u)
    Mdot = along(b, np.zeros(b.nv), lambda x: x.mass_matrix)
    assert b.u @ Mdot @ b.u == pytest.approx(-2 * b.u @ b.forcing, rel=DIFFERENCE_ERROR, abs=DIFFERENCE_ERROR)


# Constraints


@every_case
def test_jacobian_is_the_derivative_of_the_velocity_equations(name, coordinates):
    e = setting(name, coordinates)
    b = e.velocity_residual(np.zeros(e.nv))
    columns = np.stack([e.velocity_residual(x) - b for x in np.eye(e.nv)], axis=1)
    close(e.jacobian, columns, ROUND_OFF)
    close(e.velocity_residual(), e.jacobian @ e.u + b, ROUND_OFF)


@every_case
def test_velocity_equations_are_the_rate_of_the_position_equations(name, coordinates):
    e = setting(name, coordinates)
    rows = [row.holonomic for row in e.rows]
    rate = along(e, np.zeros(e.nv), lambda x: x.position_residual())
    close(e.velocity_residual()[rows], rate, DIFFERENCE_ERROR)
    # And for velocities that do not satisfy them, so that b is seen.
    off = Equations(e.tree, e.t, e.q, e.u + 1.0)
    close(off.velocity_residual()[rows], along(off, np.zeros(e.nv), lambda x: x.position_residual()), DIFFERENCE_ERROR)


@every_case
def test_gamma_is_what_the_rate_of_the_velocity_equations_lacks(name, coordinates):
    e = setting(name, coordinates)
    du = np.random.default_rng(1).normal(size=e.nv)
    rate = along(e, du, lambda x: x.velocity_residual())
    close(e.jacobian @ du + e.gamma, rate, DIFFERENCE_ERROR)
    close(e.acceleration_residual(du), rate, DIFFERENCE_ERROR)


@every_case
def test_qdot_is_the_rate_of_q(name, coordinates):
    """Of joint coordinates, and of the angles that windings follow."""
    e = setting(name, coordinates)
    n = len(e.q) - len(e.tree.coordinates.windings)
    rate = along(e, np.zeros(e.nv), lambda x: x.q)
    close(e.qdot()[:n], rate[:n], DIFFERENCE_ERROR)
    for w in e.tree.coordinates.windings:
        angle = along(e, np.zeros(e.nv), lambda x, w=w: x.joint_coordinates(w.joint)[0][w.index])
        close(e.qdot()[w.q], angle, DIFFERENCE_ERROR)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_reference_configuration_is_consistent(coordinates):
    """Joints drawn between bodies drawn in the world fit together, whatever the kind."""
    for name in (*TREES, *LOOPS):
        chosen = COORDINATES[coordinates](flatten(case(name)))
        e = equations_at(chosen, 0.0, reference_coordinates(chosen), np.zeros(chosen.nv))
        np.testing.assert_allclose(e.position_residual(), 0.0, atol=1e-12, err_msg=name)


# Momentum


@pytest.mark.parametrize("name", TREES)
def test_momentum_is_that_of_the_mass_center(name):
    e = setting(name, "relative")
    mass = sum(float(link.inertia.mass) for link in e.tree.links)
    velocity = along(e, np.zeros(e.nv), lambda x: x.mass_center())
    close(e.momentum()[3:], mass * velocity, DIFFERENCE_ERROR)


# Machine code


@pytest.mark.parametrize(
    ("name", "coordinates"),
    [(name, c) for name in (*SPECIAL, *TREES) for c in COORDINATES],
    ids=lambda part: part,
)
def test_machine_code_equals_the_oracle_in_numpy(name, coordinates):
    e, dynamics = setting(name, coordinates), dynamics_of(name, coordinates)
    tau = np.random.default_rng(4).normal(size=e.nv)
    got = dynamics.dynamics_kernel(t=TIME, q=e.q, u=e.u, p=dynamics.parameters(), tau=tau)
    power = {} if e.tree.coordinates.rheonomic else {"power": e.power() + tau @ e.u}
    for field, expected in {
        "qdot": e.qdot(), **power, "mass_matrix": e.mass_matrix, "forcing": e.forcing + tau,
        "jacobian": e.jacobian, "gamma": e.gamma, "b": e.velocity_bias,
    }.items():  # fmt: skip
        close(np.asarray(getattr(got, field)).reshape(np.shape(expected)), expected, ROUND_OFF)
    residuals = dynamics.residuals(TIME, e.q, e.u)
    close(residuals.position, e.position_residual(), ROUND_OFF)
    close(residuals.velocity, e.velocity_residual(), ROUND_OFF)
    close(residuals.jacobian.reshape(e.jacobian.shape), e.jacobian, ROUND_OFF)


@pytest.mark.parametrize("name", TREES)
def test_observer_equals_the_oracle_in_numpy_for_one_and_for_many(name):
    e, dynamics = setting(name, "relative"), dynamics_of(name, "relative")
    seen = dynamics.observe(TIME, e.q, e.u)
    poses = np.concatenate([[*s.X_WB.R.reshape(-1), *s.X_WB.p] for s in e.states])
    twists = np.concatenate([[*(s.X_WB.R @ s.V[:3]), *(s.X_WB.R @ s.V[3:])] for s in e.states])
    close(seen.pose.reshape(-1), poses, ROUND_OFF)
    close(seen.twist.reshape(-1), twists, ROUND_OFF)
    close(seen.kinetic, e.kinetic_energy(), ROUND_OFF)
    close(seen.potential, e.potential_energy(), ROUND_OFF)
    close(seen.momentum, e.momentum(), ROUND_OFF)
    # Five states at once are five times one state.
    u = np.array([k * e.u for k in range(5)])
    many = dynamics.observe(TIME, np.tile(e.q, (5, 1)), u)
    for k in range(5):
        one = dynamics.observe(TIME, e.q, u[k])
        for field in ("pose", "twist", "kinetic", "momentum"):
            close(getattr(many, field)[k], getattr(one, field), ROUND_OFF)


def test_parameters_reach_the_machine_code():
    """Other parameter values without a new compilation: the same as the oracle at those values."""
    name = TREES[0]
    e, dynamics = setting(name, "relative"), dynamics_of(name, "relative")
    values = {key: 1.1 * value for key, value in dynamics.flat.parameters.items()}
    other = Equations(e.tree.coordinates.place(NUMPY, values), TIME, e.q, e.u)
    got = dynamics.dynamics_kernel(t=TIME, q=e.q, u=e.u, p=dynamics.parameters(values), tau=np.zeros(e.nv))
    close(got.mass_matrix, other.mass_matrix, ROUND_OFF)
    close(got.forcing, other.forcing, ROUND_OFF)
    assert np.abs(other.forcing - e.forcing).max() > 1e-3


@pytest.mark.parametrize(
    "name",
    [
        "driven slider crank",
        pytest.param("welded and massless parts", marks=pytest.mark.slow),
        pytest.param("planar parallelogram with spatial hinges", marks=pytest.mark.slow),
    ],
)
def test_sympy_writes_the_same_equations(name):
    """The equations as a person reads them, traced over symbols."""
    e = setting(name, "relative")
    coordinates = e.tree.coordinates

    def function(al, t, q, u):
        traced = Equations(
            coordinates.place(al, {k: al.constant(v) for k, v in coordinates.flat.parameters.items()}), t, q, u
        )
        return [traced.mass_matrix, traced.forcing, traced.jacobian, traced.gamma, traced.position_residual()]

    got = run_symbolically(function, TIME, e.q, e.u)
    parts = (e.mass_matrix, e.forcing, e.jacobian, e.gamma, e.position_residual())
    close(got, np.concatenate([part.reshape(-1) for part in parts]), 1e-9)


@pytest.mark.parametrize("name", TREES)
def test_explicit_formulations_give_what_multipliers_give(name):
    """Formulations that return u̇ themselves, in NumPy: the same as M⁻¹ f."""
    e = setting(name, "relative")
    expected = np.linalg.solve(e.mass_matrix, e.forcing)
    for formulation in FORMULATIONS.values():
        if formulation.explicit:
            close(formulation().blocks(e)["acceleration"], expected, 1e-9)
