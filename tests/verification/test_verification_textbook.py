"""Mechanisms of textbooks, written as at first try, against closed forms, virtual work and equations by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

G = 9.81


def hinge(model: da.Model, name: str, first: str, second: str, point: Any) -> None:
    model.revolute(name, first, second, point=tuple(point), axis="z")


def peaucellier(long: float, short: float) -> tuple[da.Model, np.ndarray]:
    """Peaucellier's inversor whose crank passes through the center of inversion; and the point that it draws."""
    model = da.Model("inversor", gravity=(0, -G, 0))
    P = np.array([2.0, 0, 0])
    x = (long**2 - short**2 + 4) / 4
    y = np.sqrt(long**2 - x**2)
    Q = np.array([2 * x - 2, 0, 0])
    model.rod("crank", (1, 0, 0), tuple(P), mass=1)
    hinge(model, "C", "ground", "crank", (1, 0, 0))
    for i, M in enumerate((np.array([x, y, 0]), np.array([x, -y, 0]))):
        model.rod(f"arm {i}", (0, 0, 0), tuple(M), mass=1)
        model.rod(f"in {i}", tuple(P), tuple(M), mass=1)
        model.rod(f"out {i}", tuple(Q), tuple(M), mass=1)
        hinge(model, f"O{i}", "ground", f"arm {i}", (0, 0, 0))
        hinge(model, f"P{i}", "crank", f"in {i}", P)
        hinge(model, f"in M{i}", f"arm {i}", f"in {i}", M)
        hinge(model, f"out M{i}", f"arm {i}", f"out {i}", M)
    hinge(model, "Q", "out 0", "out 1", Q)
    return model, Q


def test_peaucellier_draws_a_straight_line():
    model, Q = peaucellier(3.0, 1.5)
    motion = da.kinematics(model, 1.0, {"C": "0.8*sin(2*pi*t)"})
    assert motion.certificate.trusted
    path = motion.path("out 0", tuple(Q))
    np.testing.assert_allclose(path.sel(axis="x"), (3.0**2 - 1.5**2) / 2, atol=1e-13)
    # Inversion of a circle through the center: y = x tan(angle/2).
    np.testing.assert_allclose(path.sel(axis="y"), 3.375 * np.tan(motion.joint("C").position / 2), atol=1e-12)
    force = da.inverse_dynamics(model, {"C": "0.8*sin(2*pi*t)"}, 1.0)
    again = da.simulate(model, 0.2, initial={"C": 0.3})
    assert force.certificate.trusted and again.certificate.trusted


def cardan_shaft(bend: float) -> da.Model:
    """A shaft with two universal joints between parallel axes, its middle part bent off by an angle."""
    model = da.Model("cardan shaft", gravity=(0, 0, 0))
    along = np.array([np.cos(bend), np.sin(bend), 0])
    across, end = tuple(np.cross(along, (0, 0, 1))), 0.4 * along
    model.cylinder("input", (-0.3, 0, 0), (0, 0, 0), 0.02, mass=1)
    model.cylinder("middle", (0, 0, 0), tuple(end), 0.02, mass=1)
    model.cylinder("output", tuple(end), tuple(end + np.array([0.3, 0, 0])), 0.02, mass=1)
    model.revolute("in", "ground", "input", point=(-0.2, 0, 0), axis="x")
    model.universal("U1", "input", "middle", point=(0, 0, 0), axis="z", axis_2=across)
    model.universal("U2", "middle", "output", point=tuple(end), axis=across, axis_2="z")
    model.revolute("out", "ground", "output", point=tuple(end + np.array([0.2, 0, 0])), axis="x")
    model.output("speed", f"{along[0]}*wx(middle) + {along[1]}*wy(middle)")
    model.drive("in", "10*t")
    return model


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_two_universal_joints_make_the_speed_even_again(coordinates):
    bend = np.radians(30)
    run = da.simulate(cardan_shaft(bend), 1.0, coordinates=coordinates)
    assert run.certificate.trusted
    uneven = 10 * np.cos(bend) / (1 - np.sin(bend) ** 2 * np.sin(10 * run.time) ** 2)
    np.testing.assert_allclose(run.output("speed"), uneven, atol=1e-8)
    np.testing.assert_allclose(run.body("output").angular_velocity.sel(axis="x"), 10.0, atol=1e-8)


def test_a_planetary_gear_with_a_held_ring():
    sun, planet, torque = 0.1, 0.05, 2.0
    ring, carrier = sun + 2 * planet, sun + planet
    model = da.Model("planetary gear", gravity=(0, 0, 0))
    model.disc("sun", (0, 0, 0), sun, mass=1)
    model.ring("ring", (0, 0, 0), ring, mass=2)
    model.disc("carrier", (0, 0, 0.02), carrier, mass=1.5)
    for name, body in (("S", "sun"), ("R", "ring"), ("C", "carrier")):
        hinge(model, name, "ground", body, (0, 0, 0))
    for i, angle in enumerate(2 * np.pi / 3 * np.arange(3)):
        center = (carrier * np.cos(angle), carrier * np.sin(angle), 0)
        model.disc(f"planet {i}", center, planet, mass=0.2)
        hinge(model, f"P{i}", "carrier", f"planet {i}", center)
        model.coupler(f"inner {i}", {"S": sun, "C": -sun, f"P{i}": planet})
        model.coupler(f"outer {i}", {"R": ring, "C": -ring, f"P{i}": -planet})
    model.drive("R", "0", name="brake")
    model.joint_force("motor", "S", torque)
    run = da.simulate(model, 1.0)
    assert run.certificate.trusted and da.inspect(model).redundant
    ratio = 1 + ring / sun
    spin = 1 - (ratio - 1) * sun / planet  # of a planet, per turn of the carrier
    inertia = 0.5 * sun**2 * ratio**2 + 0.75 * carrier**2 + 3 * 0.2 * (carrier**2 + planet**2 / 2 * spin**2)
    np.testing.assert_allclose(run.joint("C").u[-1], torque * ratio / inertia, rtol=1e-9)


def test_a_pendulum_stands_upside_down_on_a_shaken_support():
    a, w = 0.05, 150.0
    model = da.Model("Kapitza", gravity=(0, -G, 0))
    model.body("support", mass=0.1)
    model.body("bob", mass=1.0, com=(0, 1, 0))
    model.prismatic("shake", "ground", "support", point=(0, 0, 0), axis="y")
    hinge(model, "A", "support", "bob", (0, 0, 0))
    model.drive("shake", f"{a}*cos({w}*t)")
    run = da.simulate(model, 2.0, initial={"A": 0.2})

    def rate(t: float, y: np.ndarray) -> list[float]:
        return [y[1], (G - a * w**2 * np.cos(w * t)) * np.sin(y[0])]

    ways: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "method": "DOP853", "t_eval": run.values("time")}
    expected = solve_ivp(rate, (0, 2), [0.2, 0.0], **ways).y[0]
    assert run.certificate.trusted and np.abs(expected).max() < 0.21
    for formulation in ("auto", "kane", "recursive", "newton-euler"):
        run = da.simulate(model, 2.0, initial={"A": 0.2}, formulation=formulation)
        np.testing.assert_allclose(run.joint("A").q, expected, atol=1e-9)


def test_a_scissor_lift_by_virtual_work():
    stages, angle, load = 3, 0.4, 10.0
    w, h = np.cos(angle), np.sin(angle)
    model = da.Model("scissor lift", gravity=(0, -G, 0))
    model.parameters(push=-100.0)
    for i in range(stages):
        model.rod(f"up {i}", (0, i * h, 0), (w, (i + 1) * h, 0), mass=2)
        model.rod(f"down {i}", (w, i * h, 0), (0, (i + 1) * h, 0), mass=2)
        hinge(model, f"middle {i}", f"up {i}", f"down {i}", (w / 2, (i + 0.5) * h, 0))
        if i:
            hinge(model, f"left {i}", f"down {i - 1}", f"up {i}", (0, i * h, 0))
            hinge(model, f"right {i}", f"up {i - 1}", f"down {i}", (w, i * h, 0))
    model.box("table", (w / 2, stages * h, 0), (w, 0.04, 0.4), mass=load)
    hinge(model, "base", "ground", "up 0", (0, 0, 0))
    hinge(model, "top", f"down {stages - 1}", "table", (0, stages * h, 0))
    model.point_on_line("foot", "ground", "down 0", point=(w, 0, 0), axis="x")
    model.point_on_line("roller", "table", f"up {stages - 1}", point=(w, stages * h, 0), axis="x")
    model.strut("jack", "ground", "down 0", at=((0, 0, 0), (w, 0, 0)), push="push")
    found = da.equilibrium(model, hold=["base"], unknowns=["push"])
    weight = G * (sum(4 * (i + 0.5) for i in range(stages)) + load * stages)
    assert found[0].parameters["push"] == pytest.approx(-weight / np.tan(angle), rel=1e-9)
    assert "push -1113.74" in str(found)


def test_a_balance_at_rest_is_trusted():
    """Roberval's scales: weights balance wherever they lie; what moves by rounding only has no energy to judge by."""
    model = da.Model("scales", gravity=(0, -G, 0))
    for name, y in (("upper", 0.2), ("lower", 0.0)):
        model.rod(name, (-0.3, y, 0), (0.3, y, 0), mass=0.5)
        hinge(model, name[0], "ground", name, (0, y, 0))
    for name, x, lies in (("left", -0.3, -0.7), ("right", 0.3, 0.35)):
        model.rod(name, (x, 0, 0), (x, 0.2, 0), mass=0.2)
        hinge(model, f"{name} upper", "upper", name, (x, 0.2, 0))
        hinge(model, f"{name} lower", "lower", name, (x, 0, 0))
        model.force(f"weight {name}", name, (0, -G, 0), at=(lies, 0.3, 0))
    run = da.simulate(model, 1.0)
    assert run.certificate.trusted, str(run.certificate)
    assert float(abs(run.joint("u").q).max()) < 1e-14
    assert da.equilibrium(model)[0].kind == "neutral"


def test_what_cannot_move_says_so():
    model = da.Model("truss", gravity=(0, -G, 0))
    A, B, C = (0, 0, 0), (1, 0, 0), (0.5, 1, 0)
    for name, start, end in (("ab", A, B), ("bc", B, C), ("ca", C, A)):
        model.rod(name, start, end, mass=1)
    for name, first, second, point in (
        ("A", "ground", "ab", A), ("B", "ab", "bc", B), ("C", "bc", "ca", C), ("D", "ca", "ground", A),
    ):  # fmt: skip
        hinge(model, name, first, second, point)
    free = da.simulate(model, 0.1)
    assert not any("no freedom" in remark for remark in free.certificate.remarks)
    model.point_on_line("roller", "ground", "ab", point=B, axis="x")
    run = da.simulate(model, 0.1)
    assert any("no freedom: nothing can move" in remark for remark in run.certificate.remarks)
    np.testing.assert_allclose(run.reaction("roller").sel(kind="force", axis="y"), 1.5 * G, rtol=1e-12)


def test_nutation_of_a_gyroscope_in_gimbals():
    model = da.Model("gyroscope", gravity=(0, 0, 0))
    model.ring("outer", (0, 0, 0), 0.3, mass=0.5, axis="x")
    model.ring("inner", (0, 0, 0), 0.25, mass=0.4, axis="y")
    model.disc("rotor", (0, 0, 0), 0.2, mass=3, axis="y")
    for name, first, second, axis in (
        ("yaw", "ground", "outer", "z"), ("pitch", "outer", "inner", "x"), ("spin", "inner", "rotor", "y"),
    ):  # fmt: skip
        model.revolute(name, first, second, point=(0, 0, 0), axis=axis)
    spin, about, across = 100.0, 3 * 0.04 / 2, 3 * 0.04 / 4 + 0.4 * 0.0625 / 2
    nutation = about * spin / np.sqrt(across * (across + 0.5 * 0.09 / 2))
    found = da.linearize(model, {"spin.d": spin}).eigenvalues()
    np.testing.assert_allclose(np.abs(found.imag).max(), nutation, rtol=1e-10)


def test_a_car_on_four_wheels_runs_on_a_circle():
    """Ackermann's steering: eight rolling conditions, three of them redundant, one freedom is left."""
    turn, r = 5.0, 0.3
    model = da.Model("car")
    model.box("chassis", (0, 0, 0.5), (2.4, 1.2, 0.3), mass=800)
    for name, x, y in (("rear left", -1, 0.7), ("rear right", -1, -0.7), ("left", 1, 0.7), ("right", 1, -0.7)):
        holder = "chassis"
        model.disc(name, (x, y, r), r, mass=15, axis="y", thickness=0.15)
        if x > 0:
            holder = f"{name} kingpin"
            model.body(holder, mass=3, com=(x, y, r), inertia=(0.05, 0.05, 0.05))
            model.revolute(f"{name} steer", "chassis", holder, point=(x, y, r), axis="z")
            model.drive(f"{name} steer", np.arctan2(2, turn - y))
        model.revolute(f"{name} axle", holder, name, point=(x, y, r), axis="y")
        model.rolling_disc(
            f"{name} road", "ground", name, point=(x, y, r), axis="z", axis_2="y", radius=r, cut=True
        )  # fmt: skip
    model.joint_force("motor", "rear left axle", 60.0)
    assert da.inspect(model).freedom == 1
    run = da.simulate(model, 4.0)
    assert run.certificate.trusted
    position, omega = run.body("chassis").position, run.body("chassis").angular_velocity.sel(axis="z")
    speed = np.hypot(*run.body("chassis").velocity.values[:, :2].T)
    np.testing.assert_allclose(speed, np.hypot(1, turn) * omega, atol=1e-9)
    x, y = position.values[:, 0] + 1, position.values[:, 1] - turn
    np.testing.assert_allclose(np.hypot(x, y), np.hypot(1, turn), atol=1e-8)
    assert float(omega[-1]) > 0.1


def test_soft_beside_stiff_is_not_neutral():
    """An inverted pendulum of some grams beside a spring of a truck: it falls, slowly, and is not neutral."""
    model = da.Model("soft and stiff")
    model.body("truck", mass=1e4, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("bounce", "ground", "truck", point=(0, 0, 0), axis="z")
    model.spring("tires", "ground", "truck", at=((0, 0, -1), (0, 0, 0)), stiffness=5e7, length=1 + 1e4 * G / 5e7)
    model.body("needle", mass=1e-3, com=(0, 0, 0.01), inertia=(1e-3, 1e-3, 1e-3))
    model.revolute("A", "truck", "needle", point=(0, 0, 0), axis="y")
    found = da.equilibrium(model)[0]
    assert (found.kind, found.neutral) == ("unstable", ())
    np.testing.assert_allclose(found.growth, np.sqrt(1e-5 * G / (1e-3 + 1e-7)), rtol=1e-6)
