"""Belt drive, hopping leg and wheelset against closed forms and equations written by hand."""

from __future__ import annotations

import numpy as np
import sympy as sp
from library_runs import run_of
from scipy.integrate import solve_ivp

import dalembert as da

G = 9.81


def test_a_belt_drive_comes_up_to_speed_exponentially():
    run = run_of("belt-drive")
    r, R, idler, M, d = 0.05, 0.15, 0.03, 0.5, 0.05
    i = r / R
    J = 0.6 * r**2 / 2 + 4.0 * R**2 / 2 * i**2 + 0.1 * idler**2 / 2 * (r / idler) ** 2
    t = run.time.values
    speed = M / (d * i**2) * -np.expm1(-t * d * i**2 / J)
    np.testing.assert_allclose(run.joint("motor shaft").u.values, speed, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.joint("idler shaft").u.values, -speed * r / idler, rtol=1e-9, atol=1e-9)
    # What the belt does to the load: it speeds that up, against the drag.
    pull = np.asarray(run.reaction("belt").values)[:, 1] * R
    rate = i * M / J * np.exp(-t * d * i**2 / J)
    np.testing.assert_allclose(pull, 4.0 * R**2 / 2 * rate + d * i * speed, rtol=1e-8)


def test_a_hopping_leg_follows_its_map_from_hop_to_hop():
    run = da.simulate(da.library.hopping_leg(), 3.0, rtol=1e-10, atol=1e-12)
    M, m, k, p, push = 10.0, 1.0, 4000.0, 0.005, 0.03
    V, tops = np.sqrt(2 * G * 0.1), []
    for _ in range(4):
        x = (M * G - k * p + np.sqrt((M * G - k * p) ** 2 + k * M * V**2)) / k
        V = M / (M + m) * np.sqrt(V**2 + 2 * k * push * x / M)
        tops.append(0.5 + V**2 / (2 * G))
    times = [event.time for event in run.events if event.name == "top"]
    assert run.certificate.trusted and len(times) >= 4
    heights = run.output("height of the trunk").interp(time=times[:4], method="cubic").values
    np.testing.assert_allclose(heights, tops, atol=1e-6)  # the outputs are 3 ms apart
    assert np.ptp(tops) > 0.05


def _wheelset(t, V=20.0, slope=0.1, kappa=150.0, mu=0.3, k=2e5, k_yaw=1e5, W=4e4, y0=0.005):
    """Lagrange's equations in y, z, φ, ψ with the normal forces as unknowns, on which the creep forces depend."""
    b, r0, m, J, J_spin = 0.75, 0.45, 1200.0, 700.0, 90.0
    q, dq, N = sp.symbols("y z phi psi"), sp.symbols("dy dz dphi dpsi"), sp.symbols("N_left N_right")
    (y, z, f, p), (dy, dz, df, dp) = q, dq
    turning = J * ((df * sp.cos(p)) ** 2 + dp**2) / 2 + J_spin * (V / r0 - df * sp.sin(p)) ** 2 / 2
    T = m * (dy**2 + dz**2) / 2 + turning
    U = k * y**2 / 2 + k_yaw * p**2 / 2 + (m * G + W) * z
    tilt = sp.Matrix([[1, 0, 0], [0, sp.cos(f), -sp.sin(f)], [0, sp.sin(f), sp.cos(f)]])
    turn = sp.Matrix([[sp.cos(p), -sp.sin(p), 0], [sp.sin(p), sp.cos(p), 0], [0, 0, 1]])
    forces, rows = sp.zeros(4, 1), []
    for n, s in zip(N, (1, -1), strict=True):
        rows.append(z + s * (b * sp.sin(f) - slope * y))
        rim = V / r0 * (r0 + s * slope * y)
        slip = sp.Matrix([V - (s * b * dp + rim) * sp.cos(p), dy + r0 * df - (s * b * dp + rim) * sp.sin(p)])
        creep = -mu * n / sp.sqrt(slip.dot(slip) + (mu * V / kappa) ** 2) * slip
        P = sp.Matrix([0, y, z]) + tilt * turn * sp.Matrix([0, s * b, -r0])
        forces += sp.Matrix([rows[-1]]).jacobian(q).T * n + P[:2, :].jacobian(q).T * creep
    A = sp.Matrix(rows).jacobian(q)
    momenta = sp.Matrix([T]).jacobian(dq)
    v = sp.Matrix(dq)
    bias = momenta.jacobian(q) * v - sp.Matrix([T - U]).jacobian(q).T
    system = sp.Matrix.vstack(
        sp.Matrix.hstack(momenta.jacobian(dq), -forces.jacobian(N)), sp.Matrix.hstack(A, sp.zeros(2, 2))
    )
    evaluate = sp.lambdify([*q, *dq], [system, -sp.Matrix.vstack(bias, (A * v).jacobian(q) * v)], "numpy")

    def rhs(_, state):
        shift, yaw, rate, yaw_rate = state
        roll = np.arcsin(slope * shift / b)
        left, right = evaluate(shift, 0.0, roll, yaw, rate, 0.0, slope * rate / b / np.cos(roll), yaw_rate)
        found = np.linalg.solve(np.array(left, float), np.array(right, float)).ravel()
        return [rate, yaw_rate, found[0], found[3]]

    return solve_ivp(rhs, (t[0], t[-1]), [y0, 0, 0, 0], method="DOP853", rtol=1e-11, atol=1e-13, t_eval=t).y


def test_a_wheelset_against_lagrange_with_creep_forces_from_normal_forces():
    run = run_of("wheelset")
    wanted = _wheelset(run.time.values)
    np.testing.assert_allclose(run.joint("place").q.values[:, 0], wanted[0], atol=1e-10)
    np.testing.assert_allclose(run.joint("yaw").q.values.ravel(), wanted[1], atol=1e-10)
