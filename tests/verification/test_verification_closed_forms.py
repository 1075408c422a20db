"""Simulated motion against closed forms and published tables (see ``dalembert.bench`` for the sources)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipk
from support.cases import slider_crank
from support.states import consistent_state, equations_at, reference_coordinates

from dalembert.bench import reference_data
from dalembert.coordinates import COORDINATES, Generalized
from dalembert.dynamics import Dynamics
from dalembert.integrators import INTEGRATORS, Status
from dalembert.model import Model

DATA = reference_data("closed_forms")
G = 9.81
TOLERANCE = {"rtol": 1e-12, "atol": 1e-13}
# Ten seconds at a local tolerance of 1e-12: a few hundred steps, and the pendulum's phase error grows with time.
GLOBAL_ERROR = 1e-9
ADAPTIVE = [name for name, cls in INTEGRATORS.items() if cls.adaptive]


def simulate(dynamics: Dynamics, q, u, times, integrator: str = "dopri8", **options):
    """States at the given times (the first is the start), by the native loop."""
    y, times = np.concatenate([q, u, [0.0]]), np.asarray(times, dtype=float)
    method = INTEGRATORS[integrator](**(options or TOLERANCE))
    problem, context = dynamics.problem(None, method.needs, (times[0], y))
    result = method.run(problem, y, times)
    assert result.status == Status.FINISHED, context.failure()
    return result.states[:, : dynamics.nq], result.states[:, dynamics.nq : -1], result.states[:, -1]


# Simple pendulum


def point_pendulum() -> Model:
    """A01: 1 kg on a massless rod of 1 m, released from the horizontal, x to the left."""
    model = Model("A01", gravity=(0, -G, 0))
    model.body("mass", mass=1, com=(-1, 0, 0), inertia=(0, 0, 0))
    model.revolute("pivot", "ground", "mass", point=(0, 0, 0), axis="z")
    return model


def pendulum_angle(t: np.ndarray, start: float = np.pi / 2, length: float = 1.0) -> np.ndarray:
    """θ from the downward vertical, released at ``start``:  sin(θ/2) = k sn(K − ω t), k = sin(start/2)."""
    k = np.sin(start / 2)
    sn, _, _, _ = ellipj(ellipk(k * k) - np.sqrt(G / length) * t, k * k)
    return 2 * np.arcsin(k * sn)


def test_closed_form_agrees_with_the_published_table():
    for t, x, y, *_ in DATA["pendulum"]["table"]:
        angle = pendulum_angle(np.array(t))
        np.testing.assert_allclose([-np.sin(angle), -np.cos(angle)], [x, y], atol=1e-12)
    assert 4 * ellipk(0.5) / np.sqrt(G) == pytest.approx(float(DATA["pendulum"]["period_s"]), rel=1e-14)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_simple_pendulum(coordinates, integrator):
    """Ten seconds: position of the mass at every tabulated time, and the energy, which is zero."""
    dynamics = Dynamics(point_pendulum(), "lagrange-multipliers", coordinates)
    times = np.array([0.0, *(row[0] for row in DATA["pendulum"]["table"])])
    q, u, _ = simulate(dynamics, reference_coordinates(dynamics.coordinates), np.zeros(dynamics.nv), times, integrator)
    seen = dynamics.observe(times, q, u)
    expected = np.array([[row[1], row[2]] for row in DATA["pendulum"]["table"]])
    # Steps of order 5 and less are ten times as many, and so many more local errors add up.
    error = 10 * GLOBAL_ERROR if integrator == "bdf" else GLOBAL_ERROR
    np.testing.assert_allclose(seen.pose[1:, 9:11], expected, atol=error)
    np.testing.assert_allclose(seen.kinetic + seen.potential, 0.0, atol=error)


def test_physical_pendulum_keeps_time():
    """A rod with inertia: the reduced length (J + m l²)/(m l) takes the place of the length."""
    model = Model("rod", gravity=(0, -G, 0))
    model.body("rod", mass=3, com=(0.6, 0, 0), inertia=(0.1, 0.3, 0.36))
    model.revolute("pivot", "ground", "rod", point=(0, 0, 0), axis="z")
    dynamics = Dynamics(model)
    times = np.linspace(0, 5, 26)
    q, _, _ = simulate(dynamics, [0.0], [0.0], times)
    expected = pendulum_angle(times, length=(0.36 + 3 * 0.36) / (3 * 0.6)) - np.pi / 2
    np.testing.assert_allclose(q[:, 0], expected, atol=GLOBAL_ERROR)


# Free rigid body


def test_free_rigid_body_tumbles_as_euler_says():
    """Spin about the intermediate axis: ω(t) by elliptic functions, momentum fixed in space, unit quaternion."""
    data = DATA["free_rigid_body"]
    model = Model("wing nut", gravity=(0, 0, 0))
    model.body("nut", mass=1, inertia=tuple(data["definition"]["J"]))
    dynamics = Dynamics(model)
    times = np.array([0.0, *(row[0] for row in data["table"])])
    start = np.concatenate([data["definition"]["omega0_body"], np.zeros(3)])
    q, u, _ = simulate(dynamics, reference_coordinates(dynamics.coordinates), start, times)
    # Errors grow as exp(2.89 t) until the flip at 2.6 s: a factor of 2e3 per flip on 1e-12.
    np.testing.assert_allclose(u[1:, :3], [row[1:] for row in data["table"]], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1.0, atol=1e-14)
    momentum = dynamics.observe(times, q, u).momentum
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(times), 1)), atol=1e-9)
    np.testing.assert_allclose(momentum[0, :3], [0.01, 10, 0], atol=1e-12)


def test_symmetric_top_precesses_uniformly():
    """Torque-free with Jx = Jy: ω turns about the body's z axis at (1 − Jz/Jx) ω_z, by hand."""
    model = Model("top", gravity=(0, 0, 0))
    model.body("top", mass=1, inertia=(2, 2, 3))
    dynamics = Dynamics(model)
    times = np.linspace(0, 6, 13)
    _, u, _ = simulate(dynamics, reference_coordinates(dynamics.coordinates), [0.4, 0, 1.5, 0, 0, 0], times)
    phase = (3 - 2) / 2 * 1.5 * times
    expected = np.stack([0.4 * np.cos(phase), 0.4 * np.sin(phase), np.full_like(phase, 1.5)], axis=1)
    np.testing.assert_allclose(u[:, :3], expected, atol=1e-10)


# Chains


def chain(n: int) -> Model:
    """n point masses on massless rods of 1 m, released horizontally along +x."""
    model = Model(f"{n}-pendulum", gravity=(0, -G, 0))
    for i in range(n):
        model.body(f"mass{i}", mass=1, com=(i + 1, 0, 0))
        model.revolute(f"joint{i}", f"mass{i - 1}" if i else "ground", f"mass{i}", point=(i, 0, 0), axis="z")
    return model


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("name", DATA["n_pendulum"]["cases"])
def test_n_pendulum_before_chaos(name, coordinates):
    case = DATA["n_pendulum"]["cases"][name]
    n = case["n"]
    if n > 5 and coordinates == "absolute":
        pytest.skip("the large dense system is timed elsewhere")
    dynamics = Dynamics(chain(n), "lagrange-multipliers", coordinates)
    times = np.array([0.0, *(row[0] for row in case["table"])])
    q, u, _ = simulate(dynamics, reference_coordinates(dynamics.coordinates), np.zeros(dynamics.nv), times)
    pose = dynamics.observe(times, q, u).pose.reshape(len(times), n, 12)
    tip = np.cumsum([[np.sin(row[1 : n + 1]), -np.cos(row[1 : n + 1])] for row in case["table"]], axis=2)
    # Neighboring motions part by about a hundred in two seconds for ten links.
    np.testing.assert_allclose(pose[1:, :, 9:11], np.transpose(tip, (0, 2, 1)), atol=1e-8)


# Constraints and work along a run


def test_driven_crank_work_balances_energy():
    """T + V − W stays what it was: the state carries the work of the drive and of the damper."""
    model = slider_crank()
    model.drive("A", "sin(2*t)/2")
    model.force("drag", "slider", ("-4*vx(slider)", 0, 0))
    dynamics = Dynamics(model)
    q0, u0 = consistent_state(dynamics, 0, t=0.0)
    times = np.linspace(0, 3, 31)
    q, u, work = simulate(dynamics, q0, u0, times)
    seen = dynamics.observe(times, q, u)
    energy = seen.kinetic + seen.potential - work
    np.testing.assert_allclose(energy, energy[0], atol=1e-9)
    assert np.ptp(work) > 0.1
    angle = q[:, dynamics.coordinates.slot_of_joint["A"].q.start]
    np.testing.assert_allclose(angle, np.sin(2 * times) / 2, atol=1e-11)
    for t, q_i, u_i in zip(times, q, u, strict=True):
        e = equations_at(dynamics.coordinates, t, q_i, u_i)
        assert np.abs(e.position_residual()).max() < 1e-11
        assert np.abs(e.velocity_residual()).max() < 1e-9


def test_sphere_rolls_down_a_slope():
    """A solid ball on a plane tilted by α rolls with 5/7 g sin α, and without slipping its spin is v/r."""
    alpha, radius = 0.3, 0.2
    model = Model("ball", gravity=(G * np.sin(alpha), 0, -G * np.cos(alpha)))
    J = 2 / 5 * 1.5 * radius**2
    model.body("ball", mass=1.5, com=(0, 0, radius), inertia=(J, J, J))
    model.rolling_sphere("roll", "ground", "ball", point=(0, 0, radius), axis="z", radius=radius)
    # Angles of a ball that rolls over come to their singular position; quaternions do not.
    kinds = [Generalized("quaternions") if kind == "generalized" else kind for kind in COORDINATES]
    for coordinates in kinds:
        dynamics = Dynamics(model, "lagrange-multipliers", coordinates)
        times = np.linspace(0, 2, 5)
        q, u, _ = simulate(dynamics, reference_coordinates(dynamics.coordinates), np.zeros(dynamics.nv), times)
        seen = dynamics.observe(times, q, u)
        a = 5 / 7 * G * np.sin(alpha)
        np.testing.assert_allclose(seen.pose[:, 9], a * times**2 / 2, atol=1e-9)
        np.testing.assert_allclose(seen.twist[:, 1], a * times / radius, atol=1e-9)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_screw_counts_its_turns(coordinates):
    """A nut driven by a constant torque: (J + m h²) θ̈ = τ, and every turn advances by the pitch, also the fourth."""
    pitch, torque = 0.3, 2.0
    model = Model("screw", gravity=(0, 0, 0))
    model.body("nut", mass=1.5, inertia=(0.1, 0.1, 0.15))
    model.screw("thread", "ground", "nut", point=(0, 0, 0), axis="z", pitch=pitch)
    model.joint_force("motor", "thread", torque)
    dynamics = Dynamics(model, "lagrange-multipliers", coordinates)
    times = np.linspace(0, 2, 9)
    q, u, _ = simulate(dynamics, reference_coordinates(dynamics.coordinates), np.zeros(dynamics.nv), times)
    angle = torque / (0.15 + 1.5 * (pitch / (2 * np.pi)) ** 2) * times**2 / 2
    assert angle[-1] > 8 * np.pi / 2
    seen = dynamics.observe(times, q, u)
    np.testing.assert_allclose(seen.pose[:, 11], pitch / (2 * np.pi) * angle, atol=GLOBAL_ERROR)
    np.testing.assert_allclose(seen.joints.reshape(len(times), -1)[:, 0], angle, atol=1e-8)
