"""What the certificate says of contacts and friction, and energy through impacts, friction and a motor together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses.simulation import seen

LINES = ("penetration", "complementarity", "pull", "drift while sticking")


def bowl(friction=2.0):
    """A ball that rolls to and fro in a round trough of radius 1, pressed on it all the time."""
    model, radius = da.Model("bowl"), 0.1
    ball = model.body("ball", mass=1.0, com=(0, 0, radius), inertia=(0.004,) * 3)
    model.planar("plane", model.ground, ball, point=(0, 0, radius), axis="y")
    trough = {"kind": "cylinder", "at": (0, 0, 1.0), "axis": "y", "radius": 1.0, "inside": True}
    skin = {"kind": "sphere", "at": (0, 0, radius), "radius": radius}
    model.rigid_contact("floor", model.ground, ball, surfaces=(trough, skin))
    model.contact_friction("rub", "floor", coefficient=friction, along="x")
    model.initial("plane", rate=(0, 1.0, 10.0))
    return model


def failed(run):
    return {check.name for check in run.certificate.checks if not check.passed}


def test_contacts_that_hold_say_so():
    run = da.simulate(bowl(), 2.0)
    assert run.certificate.trusted
    assert all(run.certificate[line] <= 1e-12 for line in LINES)


def test_what_drifts_off_and_along_its_contact_is_caught():
    """Coarse steps, accelerations alone held: the gap opens while it pushes, and the ball slips while it sticks."""
    steps = {"integrator": "rk4", "step": 0.1, "output_step": 0.1, "accuracy": 1e-6}
    loose = da.simulate(bowl(), 2.0, stabilization="none", **steps)
    assert {"complementarity", "drift while sticking"} <= failed(loose)
    z, x, angle = loose.joint("plane").q.values.T
    gap, slip = 0.9 - np.hypot(x, 0.9 - z), 0.9 * np.arctan2(x, 0.9 - z) - 0.1 * angle
    assert loose.certificate["complementarity"] == pytest.approx(np.abs(gap).max(), rel=0.2)  # n hardly changes
    assert 0.1 * np.ptp(slip) < loose.certificate["drift while sticking"] < np.ptp(slip)  # positions err, too
    held = da.simulate(bowl(), 2.0, **steps)
    assert not {"complementarity", "drift while sticking"} & failed(held)


def test_what_pulls_is_caught(monkeypatch):
    solve = seen.solve_states
    monkeypatch.setattr(seen, "solve_states", lambda *given: tuple(-part for part in solve(*given)))
    assert "pull" in failed(da.simulate(bowl(), 0.1))


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_accelerations_that_are_no_numbers_are_caught(coordinates, monkeypatch):
    """A force that depends on what it causes has no value at an output, though the steps around it went well."""
    model = da.library.pendulum(angle=0.5)
    model.friction("rub", model.joints[0].name, coefficient=0.2, radius=0.05)
    assert da.simulate(model, 0.1, coordinates=coordinates).certificate.trusted
    solve = seen.solve_states

    def solve_but_one(*given):
        found = solve(*given)
        found[0][1] = np.nan
        return found

    monkeypatch.setattr(seen, "solve_states", solve_but_one)
    assert "accelerations" in failed(da.simulate(model, 0.1, coordinates=coordinates))


def test_a_joint_that_creeps_while_it_sticks_is_caught():
    """Its coordinate tells, whatever velocities say."""
    model = da.library.pendulum(angle=0.1)
    model.friction("rub", model.joints[0].name, constant=100.0)
    run = da.simulate(model, 1.0)
    assert run.certificate.trusted and run.certificate["drift while sticking"] == 0.0
    assert run.resample(step=0.5).certificate["drift while sticking"] == 0.0


def chain():
    """A motor turns a crank; its rod pushes a slider that rubs in its guide against a ball, which a wall sends back."""
    model = da.Model("chain", gravity=(0, 0, -9.81))
    crank = model.rod("crank", (0, 0, 0), (0, 0.1, 0), mass=0.5)
    rod = model.rod("rod", (0, 0.1, 0), (0.4, 0, 0), mass=0.4)
    slider = model.body("slider", mass=1.0, com=(0.4, 0, 0), inertia=(0.01,) * 3)
    ball = model.body("ball", mass=0.3, com=(0.6, 0, 0), inertia=(0.01,) * 3)
    model.revolute("A", model.ground, crank, point=(0, 0, 0), axis="z")
    model.revolute("B", crank, rod, point=(0, 0.1, 0), axis="z")
    model.revolute("C", rod, slider, point=(0.4, 0, 0), axis="z")
    model.prismatic("D", model.ground, slider, point=(0.4, 0, 0), axis="x")
    model.prismatic("E", model.ground, ball, point=(0.6, 0, 0), axis="x")
    model.friction("bearing", "A", coefficient=0.1, radius=0.01)
    model.friction("guide", "D", coefficient=0.2, static=0.3)
    model.friction("track", "E", coefficient=0.1, static=0.2)
    model.limit("push", "q(E) - q(D)", lower=-0.05, restitution=0.7)
    model.limit("wall", "q(E)", upper=0.1, restitution=0.5)
    model.input("v", "12*cos(3*t)")
    motor = {"resistance": 1.0, "inductance": 2e-3, "constant": 0.05, "gear": 5.0, "inertia": 1e-4, "damping": 1e-4}
    da.parts.dc_motor(model, "motor", "A", voltage="v", **motor)
    return model


def test_energy_closes_over_impacts_friction_and_a_motor():
    """T + V − W, relative to the energy that moves, over all impacts, halts and reversals of a run."""
    run = da.simulate(chain(), 2.0)
    assert run.certificate.trusted
    names = [event.name for event in run.events]
    for kind in (" hit", " hit above", " stops", " slips"):
        assert any(name.endswith(kind) for name in names), kind
    assert run.certificate["energy balance"] < 1e-8


@pytest.mark.parametrize("rtol", [1e-10, 1e-7, 1e-5, 1e-4])
def test_what_opens_is_not_hit_by_its_own_rounding(rtol):
    """A contact opens without speed, so that at first rounding alone moves its gap; that is no hit. With the same
    events at all tolerances a loose companion is enough."""
    run = da.simulate(da.library.woodpecker(), 1.0, rtol=rtol, atol=rtol / 100)
    names = [event.name for event in run.events]
    assert len(names) == 59 and names.count("lower hit") == 9
    for before, after in pairwise(run.events):
        assert not (before.name.endswith(" open") and after.time - before.time < 1e-7)
    assert run.certificate.trusted == (rtol <= 1e-5)
    if rtol <= 1e-7:
        assert run.certificate.estimate.evaluations < 0.5 * run.certificate.counts["evaluations"]
