"""Branches of drives and constraints: smooth ones cost no accuracy, and what jumps is told with its size."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import dalembert as da

# 4 rad/s² for 0.5 s, 2 rad/s for 1 s, back to rest within 0.5 s.
TRAPEZOID = (
    "2*t**2 if t < 0.5 else (0.5 + 2*(t - 0.5) if t < 1.5 else "
    "(2.5 + 2*(t - 1.5) - 2*(t - 1.5)**2 if t < 2 else 3))"
)  # fmt: skip


def shaft(motion: str) -> da.Model:
    """A driven disc with a rotor on a shaft that twists: ω = 5 rad/s."""
    model = da.Model("shaft", gravity=(0, 0, 0))
    model.body("disc", mass=1, com=(0, 0, 0), inertia=(1, 1, 0.5))
    model.revolute("A", "ground", "disc", point=(0, 0, 0), axis="z")
    model.body("rotor", mass=1, com=(0, 0, 0), inertia=(1, 1, 2))
    model.revolute("B", "disc", "rotor", point=(0, 0, 0), axis="z")
    model.torsional_spring("shaft", "B", stiffness=50.0)
    model.drive("A", motion)
    return model


def twist(t: np.ndarray) -> np.ndarray:
    """φ̈ = −25 φ − a(t) with the steps of the acceleration a of the trapezoid."""
    steps = ((0.0, 4.0), (0.5, -4.0), (1.5, -4.0), (2.0, 4.0))
    return sum(-a / 25 * (1 - np.cos(5 * np.maximum(t - start, 0))) for start, a in steps)


def run(model: da.Model, **options):
    return da.simulate(model, 3.0, initial={"A": 0.0}, initial_rates={"A": 0.0}, **options)


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural", "generalized"])
@pytest.mark.parametrize("integrator", ["dopri8", "tsit5", "radau", "bdf"])
@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
def test_a_trapezoidal_speed_costs_no_step(coordinates, integrator, rtol):
    found = run(shaft(TRAPEZOID), coordinates=coordinates, integrator=integrator, rtol=rtol, atol=rtol / 100)
    error = np.abs(found.joint("B").q.values.squeeze() - twist(found.values("time"))).max()
    loose = {"bdf": 400, "radau": 5}.get(integrator, 2)
    assert error < loose * rtol
    assert found.certificate.trusted and found.certificate.counts["rejected"] <= 8


def test_a_drive_that_is_eliminated_needs_half_the_work(monkeypatch):
    options = {"coordinates": "generalized", "integrator": "dopri8", "rtol": 1e-9, "atol": 1e-11, "certify": False}
    frozen = run(shaft(TRAPEZOID), **options)
    monkeypatch.setattr(sys.modules["dalembert.model.flatten"], "MOST_BRANCHES", 0)
    written = run(shaft(TRAPEZOID), **options)
    errors = [np.abs(r.joint("B").q.values.squeeze() - twist(r.values("time"))).max() for r in (frozen, written)]
    assert errors[0] <= 1e-9 and errors[0] < errors[1]
    assert frozen.certificate.counts["rejected"] == 0 < written.certificate.counts["rejected"]
    assert frozen.certificate.counts["evaluations"] < 0.65 * written.certificate.counts["evaluations"]


@pytest.mark.parametrize("coordinates", ["relative", "generalized"])
def test_frozen_as_a_run_that_stops_at_the_switch(coordinates):
    """The same in one run, and in two that end and begin at 0.5 s, each with one smooth formula."""
    whole = run(shaft("max(t - 0.5, 0)**2"), coordinates=coordinates, rtol=1e-10, atol=1e-12)
    end = whole.values("time")[-1]
    later = da.simulate(
        shaft("(t - 0.5)**2"), start=0.5, duration=end - 0.5, coordinates=coordinates, rtol=1e-10, atol=1e-12,
        initial={"A": 0.0}, initial_rates={"A": 0.0},
    )  # fmt: skip
    assert later.joint("B").q.values[-1] == pytest.approx(whole.joint("B").q.values[-1], abs=1e-9)
    assert later.joint("B").u.values[-1] == pytest.approx(whole.joint("B").u.values[-1], abs=1e-9)


@pytest.mark.parametrize("coordinates", ["relative", "generalized"])
def test_a_drive_by_a_table_goes_from_knot_to_knot(coordinates):
    model = shaft("ramp(t)**2")
    model.table("ramp", [0.0, 0.5, 1.5, 4.0], [0.0, 0.0, 1.0, 3.5], kind="linear")
    found = run(model, coordinates=coordinates, rtol=1e-10, atol=1e-12)
    later = np.maximum(found.values("time") - 0.5, 0.0)
    np.testing.assert_allclose(found.joint("B").q.values.squeeze(), -2 / 25 * (1 - np.cos(5 * later)), atol=1e-9)
    assert found.certificate.trusted


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural"])
def test_a_jolt_is_an_impulse_and_is_told(coordinates):
    """The disc gets 2 rad/s at once: the rotor goes on as it was, so that φ̇ = −2 rad/s."""
    found = run(shaft("2*max(t - 0.5, 0)"), coordinates=coordinates, rtol=1e-9)
    later = np.maximum(found.values("time") - 0.5, 0.0)
    np.testing.assert_allclose(found.joint("B").q.values.squeeze(), -2 / 5 * np.sin(5 * later), atol=1e-7)
    assert not found.certificate.trusted
    told = [remark for remark in found.certificate.remarks if "velocities jump" in remark]
    assert len(told) == 1 and "by 2 at t = 0.5 s" in told[0] and "'A drive'" in told[0]
    assert not any("singular position" in remark for remark in found.certificate.remarks)


@pytest.mark.parametrize("integrator", ["generalized-alpha", "rk4", "bdf"])
def test_no_method_calls_a_jolt_trusted(integrator):
    step = {} if integrator == "bdf" else {"step": 1e-3}
    found = run(shaft("2*max(t - 0.5, 0)"), integrator=integrator, **step)
    assert found.joint("B").q.values[-1] == pytest.approx(-2 / 5 * np.sin(12.5), abs=1e-4)
    assert not found.certificate.trusted
    assert any(check.name == "jolts" and not check.passed for check in found.certificate.checks)


def test_knots_of_a_linear_table_are_jolts():
    model = shaft("way(t)")
    model.table("way", [0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 4.0, 5.0], kind="linear")
    found = da.simulate(model, 3.0, initial={"A": 0.0}, initial_rates={"A": 1.0})
    told = [remark for remark in found.certificate.remarks if "velocities jump" in remark]
    assert len(told) == 1 and "by 2.5 at t = 2 s" in told[0] and "2 such jumps" in told[0]
    assert not found.certificate.trusted


def test_a_jolt_without_an_impulse_ends_the_run():
    """In generalized coordinates a drive is no equation: nothing there could change the velocity of the rotor."""
    found = run(shaft("2*max(t - 0.5, 0)"), coordinates="generalized")
    assert not found.certificate.finished and found.values("time")[-1] == pytest.approx(0.5)
    message = found.certificate.message
    assert "'A drive'" in message and "jump by 2" in message and "coordinates='relative'" in message


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "generalized"])
@pytest.mark.parametrize("integrator", ["dopri8", "radau", "rk4"])
def test_a_jump_of_a_drive_ends_the_run(coordinates, integrator):
    step = {"step": 0.01} if integrator == "rk4" else {}
    found = run(shaft("0.1 if t > 0.5 else 0"), coordinates=coordinates, integrator=integrator, **step)
    assert not found.certificate.finished and not found.certificate.trusted
    assert found.values("time")[-1] == pytest.approx(0.5)
    assert "'A drive'" in found.certificate.message and "a jump of 0.1 in position" in found.certificate.message


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "generalized"])
def test_a_coordinate_that_follows_another_on_two_branches(coordinates):
    """A cam: B = −A until A = 1, then it bends. Energy 6 J at the start, all in rotation."""
    model = da.Model("cam", gravity=(0, 0, 0))
    for name, body in (("A", "a"), ("B", "b")):
        model.body(body, mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
        model.revolute(name, "ground", body, point=(0, 0, 0), axis="z")
    model.explicit("cam", "B", "-q(A) - max(q(A) - 1, 0)**2")
    model.initial("A", 0.0, rate=2.0)
    found = da.simulate(model, 1.0, coordinates=coordinates, rtol=1e-10, atol=1e-12)
    assert found.certificate.trusted, found.certificate
    assert any("another branch" in remark and "once" in remark for remark in found.certificate.remarks)
    q, u = (getattr(found.joint("A"), part).values.squeeze() for part in "qu")
    slope = 1 + 2 * np.maximum(q - 1, 0)
    np.testing.assert_allclose(u**2 * (1 + slope**2), 8.0, rtol=1e-8)  # twice the kinetic energy
    assert found.certificate.counts["rejected"] <= 2


def test_a_bent_track_gives_a_blow():
    """|x| as a track: the gradient jumps, and what is left of the velocity is its part along the new direction."""
    model = da.Model("track", gravity=(0, 0, 0))
    model.body("a", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.planar_translation("P", "ground", "a", point=(0, 0, 0), axis="z")
    model.constraint("track", "y(a) - abs(x(a) - 0.5)")
    model.initial("P", (0, 0.5), rate=(1, -1))
    found = da.simulate(model, 1.0, rtol=1e-9)
    told = [remark for remark in found.certificate.remarks if "velocities jump" in remark]
    assert len(told) == 1 and "'track'" in told[0] and not found.certificate.trusted
    np.testing.assert_allclose(found.body("a").position.values[-1], (0.5, 0.0, 0.0), atol=1e-9)


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "generalized"])
def test_an_egg_of_two_half_ellipsoids_keeps_its_energy(coordinates):
    """Its curvature jumps at the equator, which it passes again and again."""
    found = da.simulate(egg(), 3.0, coordinates=coordinates, rtol=1e-9, atol=1e-11)
    assert found.certificate.trusted, found.certificate
    assert any("another branch" in remark for remark in found.certificate.remarks)
    other = da.simulate(egg(), 3.0, coordinates="relative", rtol=1e-12, atol=1e-14)
    place, exact = (one.body("egg").position.values[-1] for one in (found, other))
    np.testing.assert_allclose(place, exact, atol=1e-7)


def egg() -> da.Model:
    model = da.Model("egg", gravity=(0, 0, -9.81))
    model.body("egg", mass=1.0, com=(0, 0, 0.1), inertia=(0.004, 0.004, 0.004))
    model.free("F", "ground", "egg")
    surface = "sqrt(0.1**2*x**2 + 0.1**2*y**2 + (0.15**2*z**2 if z > 0 else 0.1**2*z**2))"
    model.rolling_surface("roll", "ground", "egg", (0, 0, 0.1), surface)
    model.initial("F", rate=(9, 0, 0, 0, -0.9, 0))
    return model


def test_branches_that_are_not_frozen_are_told(monkeypatch):
    monkeypatch.setattr(sys.modules["dalembert.model.flatten"], "MOST_BRANCHES", 0)
    remarks = run(da.compile(shaft(TRAPEZOID))).certificate.remarks
    assert any("'A drive'" in one and "not located as events" in one for one in remarks), remarks
