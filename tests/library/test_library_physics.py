"""The motion of each bundled mechanism against closed forms and hand-written equations of motion."""

from __future__ import annotations

import numpy as np
import pytest
from library_runs import run_of
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import dalembert as da

G = 9.81
CLOSE = 1e-8  # both sides are integrated with relative tolerances of 1e-11


def _solve(rhs, start, t):
    return solve_ivp(rhs, (t[0], t[-1]), start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=t).y


def test_pendulum_swings_as_the_elliptic_functions_say():
    run = run_of("pendulum")
    J = 1.0 + 0.4 * 0.08**2
    k, rate = np.sin(0.5), np.sqrt(G / J)
    quarter = ellipk(k**2)
    sn = ellipj(quarter - rate * run.time.values, k**2)[0]
    np.testing.assert_allclose(run.joint("pivot").q.values, 2 * np.arcsin(k * sn), atol=CLOSE)


def _chain(lengths, masses, angles, t):
    """Angles from the vertical of a chain of slender bars.

    Σⱼ aᵢⱼ (cos(θᵢ − θⱼ) θ̈ⱼ + sin(θᵢ − θⱼ) θ̇ⱼ²) + gᵢ sin θᵢ = 0
    """
    n = len(lengths)
    l, m = np.asarray(lengths), np.asarray(masses)
    below = np.array([m[i + 1 :].sum() for i in range(n)])
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            last = max(i, j)
            a[i, j] = l[i] * l[j] * (m[i] / 3 + below[i] if i == j else m[last] / 2 + below[last])
    g = G * l * (m / 2 + below)

    def rhs(_, y):
        theta, rate = y[:n], y[n:]
        d = theta[:, None] - theta[None, :]
        return np.concatenate([rate, -np.linalg.solve(a * np.cos(d), (a * np.sin(d)) @ rate**2 + g * np.sin(theta))])

    return _solve(rhs, np.concatenate([angles, np.zeros(n)]), t)[:n]


def test_double_pendulum_against_lagrange():
    run = run_of("double-pendulum")
    upper, lower = _chain([1.0, 0.8], [1.0, 0.8], [2.0, 2.5], run.time.values)
    np.testing.assert_allclose(run.joint("shoulder").q.values, upper, atol=CLOSE)
    np.testing.assert_allclose(run.joint("elbow").q.values, lower - upper, atol=CLOSE)
    np.testing.assert_allclose(run.output("lower angle from the vertical").values, lower, atol=CLOSE)


def test_chain_against_lagrange():
    run = run_of("n-pendulum")
    theta = _chain([0.4] * 5, [0.4] * 5, [np.pi / 2] * 5, run.time.values)
    mine = np.cumsum([run.joint(f"hinge_{i}").q.values for i in range(1, 6)], axis=0)
    np.testing.assert_allclose(mine, theta, atol=10 * CLOSE)


def test_cart_and_pole_against_lagrange():
    run = run_of("cart-pendulum")
    M, m, l = 2.0, 0.5, 1.0

    def rhs(_, y):
        _, theta, v, w = y
        s, c = np.sin(theta), np.cos(theta)
        mass = [[M + m, m * l / 2 * c], [m * l / 2 * c, m * l**2 / 3]]
        return [v, w, *np.linalg.solve(mass, [m * l / 2 * s * w**2, -m * G * l / 2 * s])]

    x, theta, _, _ = _solve(rhs, [0, 2.5, 0, 0], run.time.values)
    np.testing.assert_allclose(run.joint("rail").q.values, x, atol=CLOSE)
    np.testing.assert_allclose(run.joint("hinge").q.values, theta, atol=CLOSE)
    assert np.abs(run.output("momentum").values).max() < 1e-10


def _four_bar(theta, a, b, c, d):
    """Angles of coupler and rocker from the x-axis, and their rates for θ̇ = 1 (elbow up)."""
    B = np.stack([a * np.cos(theta), a * np.sin(theta)])
    s = np.array([[d], [0]]) - B
    distance = np.hypot(*s)
    coupler = np.arctan2(s[1], s[0]) + np.arccos((distance**2 + b**2 - c**2) / (2 * b * distance))
    C = B + b * np.stack([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(C[1], C[0] - d)
    rate_coupler = a * np.sin(rocker - theta) / (b * np.sin(coupler - rocker))
    rate_rocker = a * np.sin(coupler - theta) / (c * np.sin(coupler - rocker))
    return coupler, rocker, rate_coupler, rate_rocker


def test_four_bar_against_one_degree_of_freedom():
    """½ J(θ) θ̇² + V(θ) = E, with J and V by hand."""
    run = run_of("four-bar")
    a, b, c, d, density = 0.4, 1.0, 0.8, 1.0, 2.0
    theta, speed = run.joint("A").q.values, run.joint("A").u.values
    assert theta[-1] > 2 * np.pi, "the crank turns all the way round"
    coupler, rocker, kb, kc = _four_bar(theta, a, b, c, d)
    drawn = _four_bar(np.zeros(1), a, b, c, d)
    np.testing.assert_allclose(run.joint("D").q.values, rocker - drawn[1], atol=CLOSE)
    np.testing.assert_allclose(run.joint("D").u.values, kc * speed, atol=1e-7)

    # Velocity of the middle of the coupler:  a e'(θ) + b/2 e'(β) k
    vx = -a * np.sin(theta) - b / 2 * np.sin(coupler) * kb
    vy = a * np.cos(theta) + b / 2 * np.cos(coupler) * kb
    J = density * (a**3 / 3 + c**3 / 3 * kc**2 + b * (vx**2 + vy**2) + b**3 / 12 * kb**2)
    V = (
        density
        * G
        * (a**2 / 2 * np.sin(theta) + b * (a * np.sin(theta) + b / 2 * np.sin(coupler)) + c**2 / 2 * np.sin(rocker))
    )
    E = J[0] * 8.0**2 / 2 + V[0]
    np.testing.assert_allclose(speed, np.sqrt(2 * (E - V) / J), atol=1e-7)


def test_windows_are_a_pendulum():
    """((n + 1)/3 + n) l θ̈ = ((n + 1)/2 + n) g sin θ,  θ from the upward vertical."""
    run = run_of("n-four-bar")
    rate, n = (2.0 + 3) / (4 / 3 + 3), 3
    theta, _ = _solve(lambda _, y: [y[1], rate * G * np.sin(y[0])], [2.4, 0.0], run.time.values)
    for i in range(n + 1):
        np.testing.assert_allclose(2.4 - run.joint(f"A{i}").q.values, theta, atol=CLOSE)
    np.testing.assert_allclose(run.output("y of B0").values, np.cos(theta), atol=CLOSE)


def test_crank_rocker_is_driven_and_swings_between_its_limits():
    run = run_of("crank-rocker")
    a, b, c, d = 0.3, 0.9, 0.7, 0.9
    t = run.time.values
    np.testing.assert_allclose(run.joint("A").q.values, 2 * np.pi * t, atol=1e-10)
    _, rocker, _, kc = _four_bar(2 * np.pi * t, a, b, c, d)
    np.testing.assert_allclose(run.joint("D").q.values, rocker - rocker[0], atol=CLOSE)
    np.testing.assert_allclose(run.joint("D").u.values, 2 * np.pi * kc, atol=1e-7)
    # Dead centers, crank and coupler in line:  cos = (c² + d² − (b ± a)²)/(2 c d)
    limits = [np.arccos((c**2 + d**2 - (b + s * a) ** 2) / (2 * c * d)) for s in (-1, 1)]
    assert np.ptp(rocker) == pytest.approx(limits[1] - limits[0], abs=1e-3)


def test_motor_of_the_crank_rocker_supplies_the_energy():
    run = da.simulate(da.library.crank_rocker(), 1.0, rtol=1e-11, atol=1e-13, output_step=1e-3)
    power = 2 * np.pi * run.reaction("motor").values
    energy = (run.energy.kinetic + run.energy.potential).values
    work = cumulative_simpson(power, x=run.time.values, initial=0)
    np.testing.assert_allclose(work, energy - energy[0], atol=1e-6)
    np.testing.assert_allclose(run.energy.work.values, energy - energy[0], atol=1e-8)


def test_slider_crank_against_one_degree_of_freedom():
    run = run_of("slider-crank")
    a, l, mf, mr, mp = 0.1, 0.3, 2.0, 0.5, 0.8
    theta, speed = run.joint("main_bearing").q.values, run.joint("main_bearing").u.values
    s, c = np.sin(theta), np.cos(theta)
    w = np.sqrt(l**2 - a**2 * s**2)
    np.testing.assert_allclose(run.output("piston position").values, a * c + w, atol=CLOSE)
    kx = -a * s - a**2 * s * c / w
    np.testing.assert_allclose(run.output("piston speed").values, kx * speed, atol=1e-7)
    # Rod from (a cos θ, a sin θ) to the piston: center half-way, rate of its angle −a cos θ/w.
    vx, vy, turn = (-a * s + kx) / 2, a * c / 2, -a * c / w
    J = mf * (1.3 * a) ** 2 / 2 + mr * (vx**2 + vy**2) + mr * l**2 / 12 * turn**2 + mp * kx**2
    V = mr * G * a * s / 2
    E = J[0] * 20.0**2 / 2 + V[0]
    np.testing.assert_allclose(speed, np.sqrt(2 * (E - V) / J), atol=1e-7)


def test_slider_crank_3d_geometry():
    run = run_of("slider-crank-3d")
    a, l, y, h = 0.08, 0.3, 0.1, 0.12
    theta, speed = run.joint("crank_bearing").q.values, run.joint("crank_bearing").u.values
    assert speed[0] == pytest.approx(6.0)
    pin_y, pin_z = y - a * np.sin(theta), h + a * np.cos(theta)
    x = np.sqrt(l**2 - pin_y**2 - pin_z**2)
    assert x[0] == pytest.approx(0.2, abs=1e-12)  # as in the book
    np.testing.assert_allclose(run.output("slider position").values, x, atol=CLOSE)
    rate = -(-pin_y * a * np.cos(theta) - pin_z * a * np.sin(theta)) / x
    np.testing.assert_allclose(run.output("slider speed").values, rate * speed, atol=1e-7)
    # Slender rod: velocity of its middle, and rate of its direction from the velocity of C against B.
    vx, vy, vz = rate / 2, -a * np.cos(theta) / 2, -a * np.sin(theta) / 2
    ends = np.stack([rate, a * np.cos(theta), a * np.sin(theta)])
    turn = np.sum(ends**2, axis=0) / l**2
    J = 0.12 * a**2 / 3 + 0.5 * (vx**2 + vy**2 + vz**2) + 0.5 * l**2 / 12 * turn + 2.0 * rate**2
    V = G * (0.12 * (pin_z + h) / 2 + 0.5 * pin_z / 2)
    E = J[0] * 6.0**2 / 2 + V[0]
    np.testing.assert_allclose(speed, np.sqrt(2 * (E - V) / J), atol=1e-7)


def test_spinning_top_against_euler():
    """A ω̇₁ + (C − A) ω₂ω₃ = m g h (R ẑ)₂ … in axes of the top, about the tip."""
    run = run_of("spinning-top")
    m, r, t, h, tilt, spin = 0.5, 0.1, 0.02, 0.15, 0.4, 150.0
    C, A = m * r**2 / 2, m * (3 * r**2 + t**2) / 12 + m * h**2
    inertia = np.array([A, A, C])

    def rhs(_, y):
        Q, w = y[:4] / np.linalg.norm(y[:4]), y[4:]
        vertical = Rotation.from_quat(Q, scalar_first=True).as_matrix()[2]
        torque = m * G * h * np.array([vertical[1], -vertical[0], 0])  # h e₃ × (−m g ẑ)
        scalar, v = Q[0], Q[1:]
        dQ = np.concatenate([[-v @ w], scalar * w + np.cross(v, w)]) / 2
        return np.concatenate([dQ, (torque - np.cross(w, inertia * w)) / inertia])

    y = _solve(rhs, [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0, 0, 0, spin], run.time.values)
    axis = Rotation.from_quat(y[:4].T, scalar_first=True).as_matrix()[:, :, 2]
    np.testing.assert_allclose(run.body("top").position.values, h * axis, atol=CLOSE)
    omega = run.body("top").angular_velocity.values
    own = np.sum(omega * axis, axis=1)
    np.testing.assert_allclose(own, spin, rtol=1e-10)
    vertical = A * omega[:, 2] + (C - A) * own * axis[:, 2]
    np.testing.assert_allclose(vertical, C * spin * np.cos(tilt), rtol=1e-9)


def test_rolling_disc_against_hand_written_equations():
    """Axes: e₁ along the track, e₂ the disc's axis, e₃ from the contact to the center.

    With ω₁ = θ̇, ω₃ = ψ̇ cos θ, ω₂ = φ̇ + ψ̇ sin θ and Ω₂ = ψ̇ sin θ, Newton and Euler without the contact force:

        (A + m r²) ω̇₁ = (C + m r²) ω₂ω₃ − A Ω₂ω₃ + m g r sin θ
        (C + m r²) ω̇₂ = −m r² ω₁ω₃
                A ω̇₃ = A Ω₂ω₁ − C ω₁ω₂
    """
    run = run_of("rolling-disc")
    m, r, lean, spin, turn = 1.0, 0.3, 0.3, 6.0, 0.5
    A, C, D = m * r**2 / 4, m * r**2 / 2, m * r**2

    def rhs(_, y):
        _, _, psi, theta, _, w1, w2, w3 = y
        W2 = w3 * np.tan(theta)
        roll = r * (w2 - W2)
        return [
            roll * np.cos(psi),
            roll * np.sin(psi),
            w3 / np.cos(theta),
            w1,
            w2 - W2,
            ((C + D) * w2 * w3 - A * W2 * w3 + m * G * r * np.sin(theta)) / (A + D),
            -D * w1 * w3 / (C + D),
            (A * W2 * w1 - C * w1 * w2) / A,
        ]

    start = [0, 0, 0, lean, 0, 0, spin + turn * np.sin(lean), turn * np.cos(lean)]
    y = _solve(rhs, start, run.time.values)
    np.testing.assert_allclose(run.joint("contact").q.values, y[:5].T, atol=CLOSE)
    x, height = run.body("disc").position.values[:, 0], run.body("disc").position.values[:, 2]
    np.testing.assert_allclose(height, r * np.cos(y[3]), atol=CLOSE)
    np.testing.assert_allclose(x, y[0] + r * np.sin(y[2]) * np.sin(y[3]), atol=CLOSE)


def _feet_and_heads():
    """Joints of the Stewart platform's legs, on the base and on the platform."""
    base, platform = [], []
    for i in range(6):
        side = 1 if i % 2 else -1
        below = np.radians(120 * ((i + 1) // 2) - side * 12)
        above = np.radians(120 * (i // 2) + 60 + side * 12)
        base.append([np.cos(below), np.sin(below), 0])
        platform.append([0.6 * np.cos(above), 0.6 * np.sin(above), 0])
    return np.array(base), np.array(platform)


def test_stewart_platform_follows_its_path():
    run = run_of("stewart-platform")
    w, s, tilt, t = np.pi, 0.15, 0.15, run.time.values
    path = np.stack([s * np.sin(w * t), s * (1 - np.cos(w * t)), 1.2 + s / 2 * np.sin(2 * w * t)], axis=1)
    angles = tilt * np.stack([np.sin(w * t), np.cos(w * t) - 1, np.sin(w * t)], axis=1)
    attitude = Rotation.from_euler("XYZ", angles).as_matrix()
    motion = run.body("platform")
    np.testing.assert_allclose(motion.position.values, path, atol=1e-9)
    R = Rotation.from_quat(motion.quaternion.values, scalar_first=True).as_matrix()
    np.testing.assert_allclose(R, attitude, atol=1e-9)


def test_stewart_platform_leg_lengths_by_inverse_kinematics():
    run = run_of("stewart-platform")
    base, platform = _feet_and_heads()
    motion = run.body("platform")
    R = Rotation.from_quat(motion.quaternion.values, scalar_first=True).as_matrix()
    heads = motion.position.values[:, None] + np.einsum("tij,kj->tki", R, platform)
    lengths = np.linalg.norm(heads - base, axis=2)
    strokes = np.stack([run.joint(f"leg_{i}").q.values for i in range(1, 7)], axis=1)
    np.testing.assert_allclose(strokes, lengths - lengths[0], atol=1e-9)
    assert np.ptp(strokes, axis=0).min() > 0.1, "every leg works"


def test_stewart_platform_at_rest_carries_its_weight():
    still = da.simulate(da.library.stewart_platform(), 0.01, parameters={"travel": 0.0, "turn": 0.0})
    feet = np.array([still.reaction(f"foot_{i}").sel(kind="force").values[-1] for i in range(1, 7)])
    weight = G * (50 + 6 * 5)
    np.testing.assert_allclose(feet.sum(axis=0), [0, 0, weight], atol=1e-8)
    np.testing.assert_allclose(feet[:, 2], weight / 6, atol=1e-8)
    # Virtual work of a heave, ż = 1: the actuators lift the platform, the pistons and the cylinders.
    base, platform = _feet_and_heads()
    length = np.linalg.norm(platform[0] + [0, 0, 1.2] - base[0])
    push = np.array([float(still.reaction(f"actuator_{i}")[-1]) for i in range(1, 7)])
    unit = (platform[0] + [0, 0, 1.2] - base[0]) / length
    rate = unit[2]  # l̇ for ż = 1
    swing = (np.array([0, 0, 1.0]) - rate * unit) / length  # rate of the leg's direction
    piston = rate * unit[2] + 0.65 * length * swing[2]
    cylinder = 0.25 * length * swing[2]
    expected = G * (50 / 6 + 2.5 * piston + 2.5 * cylinder) / rate
    np.testing.assert_allclose(push, expected, rtol=1e-9)
