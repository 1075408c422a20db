"""The nonholonomic mechanisms of the library against closed forms and hand-written equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from library_runs import run_of
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.spatial.transform import Rotation

import dalembert as da

G = 9.81
CLOSE = 1e-8  # both sides are integrated with relative tolerances of 1e-11
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13}


# Knife edge


def test_chaplygin_sleigh_turns_round():
    """v = V tanh τ,  ω = V/k sech τ,  θ = θ₀ + (k/a) gd τ,  τ = a V (t − t₀)/k²,  k² = J/m + a²."""
    run = da.simulate(da.library.knife_edge(), 6.0, output_step=0.01, **TIGHT)
    a, k, v0, w0 = 0.15, np.sqrt((0.6**2 + 0.3**2) / 12 + 0.15**2), -1.0, 0.3
    V = np.hypot(v0, k * w0)
    tau = np.arctanh(v0 / V) + a * V * run.time.values / k**2

    def gudermann(x):
        return 2 * np.arctan(np.tanh(x / 2))

    theta = k / a * (gudermann(tau) - gudermann(tau[0]))
    x, y, angle = run.joint("ice").q.values.T
    np.testing.assert_allclose(run.output("speed along the blade"), V * np.tanh(tau), atol=CLOSE)
    np.testing.assert_allclose(run.output("rate of turn"), V / k / np.cosh(tau), atol=CLOSE)
    np.testing.assert_allclose(angle, theta, atol=CLOSE)
    for track, direction in ((x, np.cos(theta)), (y, np.sin(theta))):
        path = cumulative_simpson(V * np.tanh(tau) * direction, x=run.time.values, initial=0)
        np.testing.assert_allclose(track, path, atol=1e-6)  # Simpson's rule at steps of 0.01 s
    # In the end it runs straight, mass center ahead, with all its energy in its speed.
    assert run.output("rate of turn").values[-1] < 1e-3
    assert run.output("speed along the blade").values[-1] == pytest.approx(V, abs=1e-6)


def test_blade_under_the_mass_center_runs_in_a_circle():
    run = da.simulate(da.library.knife_edge(offset=0.0, speed=1.5, turn=2.0), np.pi, **TIGHT)
    x, y, angle = run.joint("ice").q.values.T
    t = run.time.values
    np.testing.assert_allclose(angle, 2 * t, atol=CLOSE)
    np.testing.assert_allclose(np.hypot(x, y - 0.75), 0.75, atol=CLOSE)
    # The side force is m v ω all the way.
    np.testing.assert_allclose(run.reaction("blade"), 2.0 * 1.5 * 2.0, atol=1e-6)


def test_knife_edge_on_an_incline_drifts_on_a_cycloid():
    """x = R sin²ωt,  y = R (ωt − ½ sin 2ωt),  R = g sin α/(2 ω²): it never comes down."""
    alpha, w = 0.3, 1.7
    run = da.simulate(da.library.knife_edge(offset=0.0, slope=alpha, speed=0.0, turn=w), 5.0, **TIGHT)
    x, y, _ = run.joint("ice").q.values.T
    t, R = run.time.values, G * np.sin(alpha) / (2 * w**2)
    np.testing.assert_allclose(x, R * np.sin(w * t) ** 2, atol=CLOSE)
    np.testing.assert_allclose(y, R * (w * t - np.sin(2 * w * t) / 2), atol=CLOSE)
    # x of the joint is down the slope.
    np.testing.assert_allclose(run.body("sleigh").position.sel(axis="z"), -np.sin(alpha) * x, atol=CLOSE)


# Ball


def test_uniform_ball_runs_down_an_incline():
    alpha, v = 0.2, 0.7
    model = da.library.rolling_sphere(bead=0.0, slope=alpha, speed=v)
    run = da.simulate(model, 2.0, **TIGHT)
    t = run.time.values
    np.testing.assert_allclose(
        run.output("track x"), v * t + 5 / 7 * G * np.sin(alpha) * t**2 / 2, rtol=1e-10, atol=CLOSE
    )
    np.testing.assert_allclose(run.output("track y"), 0, atol=CLOSE)
    # On the ball: friction up the slope, 2/7 of the weight along it, and the normal force.
    down, normal = [np.cos(alpha), 0, -np.sin(alpha)], [np.sin(alpha), 0, np.cos(alpha)]
    force = run.reaction("contact").values[:, 3:]
    np.testing.assert_allclose(force @ down, -2 / 7 * G * np.sin(alpha), atol=CLOSE)
    np.testing.assert_allclose(force @ normal, G * np.cos(alpha), atol=CLOSE)


def test_uniform_ball_on_a_turntable_runs_in_circles():
    """v̇ = 2/7 Ω z × v: seven turns of the table for two of the ball, wherever it was put."""
    omega, r = 3.0, 0.1
    model = da.Model("turntable")
    model.body("table", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.body("ball", mass=1, com=(0.5, 0, r), inertia=(0.4 * r**2,) * 3)
    model.revolute("axle", model.ground, "table", point=(0, 0, 0), axis="z")
    model.rolling_sphere("contact", "table", "ball", point=(0.5, 0, r), axis="z", radius=r)
    model.drive("axle", omega * model.t)
    rates = {"contact": (0.2, 0.3, -0.3 / r, 0.2 / r, 0)}  # it rolls on the table
    run = da.simulate(model, 2 * np.pi / (2 / 7 * omega), initial_rates=rates, **TIGHT)
    assert run.certificate.trusted
    p, v = run.body("ball").position.values[:, :2], run.body("ball").velocity.values[:, :2]
    rate = 2 / 7 * omega
    angle = rate * run.time.values
    s, c = np.sin(angle), np.cos(angle)
    turned = np.stack([c * v[0, 0] - s * v[0, 1], s * v[0, 0] + c * v[0, 1]])
    np.testing.assert_allclose(v.T, turned, atol=CLOSE)
    center = p[0] + np.array([-v[0, 1], v[0, 0]]) / rate
    np.testing.assert_allclose(np.hypot(*(p - center).T), np.hypot(*v[0]) / rate, atol=CLOSE)
    np.testing.assert_allclose(p[-1], p[0], atol=CLOSE)


def test_unbalanced_ball_rolls_and_keeps_jelletts_integral():
    """L · s is conserved, L about the mass center, s from there to the contact; and the contact is at rest."""
    run = run_of("rolling-sphere")
    m, r, b, d = 1.0, 0.1, 0.5, 0.06
    e = b * d / (m + b)
    C = 0.4 * m * r**2
    A = C + m * e**2 + b * (d - e) ** 2
    ball = run.body("ball")
    axis = Rotation.from_quat(ball.quaternion.values, scalar_first=True).apply([0, 0, 1])
    omega, velocity = ball.angular_velocity.values, ball.velocity.values
    L = A * omega + (C - A) * np.sum(omega * axis, axis=1)[:, None] * axis
    s = -r * np.array([0, 0, 1]) - e * axis
    jellett = np.sum(L * s, axis=1)
    assert np.ptp(axis[:, 2]) > 0.2, "the ball wobbles"
    np.testing.assert_allclose(jellett, jellett[0], rtol=1e-9)
    np.testing.assert_allclose(velocity + np.cross(omega, [0, 0, -r]), 0, atol=1e-9)  # the body's origin is the middle


# Snakeboard


def test_snakeboard_against_twelve_planar_coordinates():
    """(x, y, θ) of rear board, coupler, front board and rotor: six equations of pins, two of wheels, by hand."""
    run = run_of("snakeboard")
    l, b, mB, mA, mD, rD, F = 0.8, 0.3, 2.0, 0.8, 4.0, 0.25, 4.0
    M = np.diag([mA, mA, mA * b**2 / 12, mB, mB, mB * l**2 / 12, mA, mA, mA * b**2 / 12, mD, mD, mD * rD**2 / 2])

    def rhs(t, y):
        q, u = y[:12], y[12:]
        A, gamma, f = np.zeros((8, 12)), np.zeros(8), np.zeros(12)
        s, c, w = np.sin(q[5]), np.cos(q[5]), u[5]
        # Boards at ∓ l/2 and the rotor at 0 along the coupler:  p + d (c, s) − p' = 0
        for i, (body, d) in enumerate(((0, -l / 2), (6, l / 2), (9, 0.0))):
            for k, (slope, bend) in enumerate(((-s, -c), (c, -s))):
                A[2 * i + k, 3 + k], A[2 * i + k, 5], A[2 * i + k, body + k] = 1, d * slope, -1
                gamma[2 * i + k] = d * bend * w**2
        # − ẋ sin θ + ẏ cos θ = 0
        for row, body in ((6, 0), (7, 6)):
            sine, cosine, rate = np.sin(q[body + 2]), np.cos(q[body + 2]), u[body + 2]
            A[row, body : body + 2] = -sine, cosine
            gamma[row] = -(u[body] * cosine + u[body + 1] * sine) * rate
        f[3:5] = F * c, F * s
        for body, side in ((2, -1), (8, 1)):
            wanted, speed = side * 0.5 * np.sin(2 * np.pi * t), side * np.pi * np.cos(2 * np.pi * t)
            torque = 10 * (wanted - (q[body] - q[5])) + 0.1 * (speed - (u[body] - u[5]))
            f[body] += torque
            f[5] -= torque
        full = np.block([[M, -A.T], [A, np.zeros((8, 8))]])
        return np.concatenate([u, np.linalg.solve(full, np.concatenate([f, -gamma]))[:12]])

    start = np.zeros(24)
    start[[0, 6]] = -l / 2, l / 2
    start[[14, 20]] = -np.pi, np.pi  # the boards turn at their wanted rate
    expected = solve_ivp(
        rhs, (0, 1), start, method="DOP853", rtol=1e-11, atol=1e-12, t_eval=run.time.values
    ).y  # fmt: skip
    for body, at in (("rear board", 0), ("coupler", 3), ("front board", 6), ("rotor", 9)):
        np.testing.assert_allclose(run.body(body).position.values[:, :2].T, expected[at : at + 2], atol=CLOSE)
    np.testing.assert_allclose(run.joint("plane").q.values[:, 2], expected[5], atol=CLOSE)
    np.testing.assert_allclose(run.joint("spine").q.values, expected[11] - expected[5], atol=CLOSE)


def test_snakeboard_counts():
    """As published: 6 degrees of freedom in position, 2 nonholonomic equations."""
    found = da.inspect(da.library.snakeboard())
    assert (found.nonholonomic, found.freedom) == (2, 4)


# Bicycle


def test_bicycle_weaves_back_upright():
    run = da.simulate(da.library.bicycle(), 8.0, output_step=0.01)
    assert run.certificate.trusted
    lean, steer = run.output("lean").values, run.output("steer").values
    assert lean.max() > lean[0] == pytest.approx(0.1), "it falls on first"
    assert np.corrcoef(lean, steer)[0, 1] > 0.5, "and steers into the fall"
    late = run.time.values > 6
    assert np.abs(lean[late]).max() < 0.02 > np.abs(steer[late]).max()
    # The height that it gains upright is lost as speed:  energy is conserved.
    energy = (run.energy.kinetic + run.energy.potential).values
    assert np.ptp(energy) < 1e-8 * energy[0]


@pytest.mark.parametrize(("speed", "falls"), [(1.0, True), (3.5, True), (5.0, False)])
def test_bicycle_needs_speed(speed, falls):
    model = da.library.bicycle(speed=speed, lean=1e-4)
    if falls:
        model.event("fallen", model.q("rear contact", 3) ** 2 - 0.25, stop=True)
    run = da.simulate(model, 10.0)
    assert (np.abs(run.output("lean").values).max() > 0.1) == falls
