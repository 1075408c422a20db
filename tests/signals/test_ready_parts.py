"""Motors, controllers, actuators, cylinders and sampled blocks: against closed forms and balances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.io import dumps, loads

J = 0.5


def arm() -> da.Model:
    model = da.Model("arm", gravity=(0, 0, 0))
    model.body("arm", mass=1, inertia=(1, 1, J))
    model.revolute("A", "ground", "arm", point=(0, 0, 0), axis="z")
    return model


def test_a_motor_with_a_gear_is_the_closed_form():
    model, n, k, R, L, rotor, d = arm(), 20.0, 0.05, 1.0, 2e-3, 1e-4, 1e-3
    model.input("v", 12)
    motor = {"resistance": R, "inductance": L, "constant": k, "gear": n, "inertia": rotor, "damping": d}
    current = da.parts.dc_motor(model, "motor", "A", voltage="v", **motor)
    assert loads(dumps(model)) == model
    run = da.simulate(model, 0.3, rtol=1e-11, atol=1e-11)
    assert run.certificate.trusted
    A = np.array([[-R / L, -k * n / L], [n * k / (J + n * n * rotor), -n * n * d / (J + n * n * rotor)]])
    rest = -np.linalg.solve(A, [12 / L, 0])
    exact = np.array([rest - expm(A * t) @ rest for t in run.values("time")])
    assert run.state(current.name).values == pytest.approx(exact[:, 0], abs=1e-8)
    assert run.values("u")[:, 0] == pytest.approx(exact[:, 1], abs=1e-8)


def test_a_controller_reaches_its_aim_and_does_not_wind_up():
    overshoot = []
    for limits in (None, 2.0):
        model = arm()
        torque = da.parts.pid(model, "c", "1 - q(A)", kp=8, ki=4, kd=4, limits=limits)
        model.joint_force("motor", "A", torque)
        model.output("torque", torque)
        run = da.simulate(model, 15.0)
        assert run.certificate.trusted
        assert run.values("q")[-1, 0] == pytest.approx(1, abs=1e-3)
        assert limits is None or np.abs(run.output("torque").values).max() <= limits * (1 + 1e-9)
        overshoot.append(run.values("q")[:, 0].max() - 1)
    assert overshoot[1] < 2 * overshoot[0]


def test_an_actuator_with_limits():
    model = arm()
    da.parts.lag(model, "y", "3*t", 0.1, limits=1, speed=2)
    run = da.simulate(model, 2.0, rtol=1e-10, atol=1e-10)
    y, t = run.state("y").values, run.values("time")
    # A ramp that is limited at t = 1/3; its rate 3 (1 − e^(−t/T)) passes the largest speed at t = T ln 3.
    late = 0.1 * np.log(3)
    early = t < late
    exact = 3 * (t[early] - 0.1 * (1 - np.exp(-t[early] / 0.1)))
    assert y[early] == pytest.approx(exact, abs=1e-8)
    start = 3 * (late - 0.1 * (1 - 1 / 3))
    assert np.interp(0.3, t, y) == pytest.approx(start + 2 * (0.3 - late), abs=1e-6)
    assert y[-1] == pytest.approx(1, abs=1e-5)


def test_a_sampled_controller_holds_in_between():
    model, T = arm(), 0.1
    da.parts.sampled(model, "control", T, {"tau": "4*(1 - q(A)) - 2*u(A) + s", "s": "s + 0.1*(1 - q(A))"})
    model.joint_force("motor", "A", "tau")
    run = da.simulate(model, 2.0, output_step=T)
    q, u, s = 0.0, 0.0, 0.0
    for _ in range(20):
        tau, s = 4 * (1 - q) - 2 * u + s, s + 0.1 * (1 - q)
        q, u = q + T * u + T * T / 2 * tau / J, u + T * tau / J
    assert run.values("q")[-1, 0] == pytest.approx(q, abs=1e-7)
    assert run.values("u")[-1, 0] == pytest.approx(u, abs=1e-7)
    assert len(run.events) == 20


def test_a_cylinder_moves_as_its_flow_says():
    model = da.Model("press", gravity=(0, 0, 0))
    model.body("plate", mass=20, inertia=(1, 1, 1), com=(0, 0, 1))
    model.prismatic("slide", "ground", "plate", point=(0, 0, 1), axis="z")
    area, flow = 1e-3, 2e-7
    points = ((0, 0, 0), (0, 0, 1))
    given = {"areas": (area, area), "flow": flow, "supply": 1e7, "tank": 0, "start": 5e6}
    da.parts.cylinder(model, "ram", "ground", "plate", at=points, valve=0.5, **given)
    run = da.simulate(model, 0.5, integrator="radau")
    assert run.certificate.trusted
    # Without a load both drops of pressure are half of the supply:  v A = c s √(p/2).
    assert run.values("u")[-1, 0] == pytest.approx(flow * 0.5 * np.sqrt(5e6) / area, rel=1e-5)
    balance = run.values("balance")
    assert np.abs(balance - balance[0]).max() < 1e-8 * max(1.0, run.values("kinetic").max())


def test_messages():
    with pytest.raises(da.ModelError, match="the period must be positive"):
        da.parts.sampled(arm(), "c", 0, {"u": "1"})
    with pytest.raises(da.ModelError, match="unknown joint 'B'"):
        da.parts.dc_motor(arm(), "m", "B", voltage=1, resistance=1, inductance=1, constant=1, inertia=1)
    with pytest.raises(da.ModelError, match="the least value must be below the largest"):
        da.parts.lag(arm(), "y", 1, 0.1, limits=(2, 1))
    with pytest.raises(TypeError, match="unexpected arguments gears"):
        da.parts.dc_motor(arm(), "m", "A", voltage=1, resistance=1, inductance=1, constant=1, gears=2)
    model = arm()
    model.joint_force("f", "A", da.parts.pid(model, "c", "1 - q(A) + w", kp=1, ki=1))
    with pytest.raises(da.ModelError, match="unknown parameter 'w'"):
        model.validate()
