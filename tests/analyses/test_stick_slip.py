"""Coulomb friction by events: halts, breaking loose, reactions that depend on friction, jams."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.io import dumps, loads, loads_robot

G = 9.81


def incline(angle, mu, rate=0.0, **more):
    """A block on a slope that falls along x; friction by the reaction of its guide."""
    model = da.Model("incline", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    block = model.body("block", mass=2.0, inertia=(1, 1, 1))
    slide = model.prismatic("slide", model.ground, block, point=(0, 0, 0), axis="x")
    model.friction("rub", slide, coefficient=mu, **more)
    model.initial(slide, rate=rate)
    return model


def test_up_the_slope_and_down_again():
    angle, mu, speed = 0.5, 0.3, 2.0
    run = da.simulate(incline(angle, mu, -speed), 2.0)
    up, down = G * (np.sin(angle) + mu * np.cos(angle)), G * (np.sin(angle) - mu * np.cos(angle))
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    (turn,) = run.events
    assert turn.name == "rub stops" and turn.time == pytest.approx(speed / up, rel=1e-11)
    left = 2.0 - speed / up
    assert float(run.joint("slide").q[-1]) == pytest.approx(-(speed**2) / 2 / up + down * left**2 / 2, rel=1e-9)


def test_rest_does_not_creep():
    run = da.simulate(incline(0.25, 0.3), 1e4)
    assert run.certificate.trusted and np.abs(run.joint("slide").q).max() == 0.0
    assert float(run.reaction("rub")[-1]) == pytest.approx(-2 * G * np.sin(0.25), rel=1e-12)  # less than μ N


def test_stick_slip_on_a_belt():
    """A block on a belt, tied by a spring: it sticks to μ₀ m g/k, and slips in an arc around μ m g/k."""
    mu, static, k, speed = 0.2, 0.4, 10.0, 0.1
    model = da.Model("belt")
    belt, block = (model.body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("belt", "block"))
    drum = model.prismatic("drum", model.ground, belt, point=(0, 0, 0), axis="x")
    model.drive(drum, f"{speed}*t")
    model.prismatic("slide", belt, block, point=(0, 0, 0), axis="x")
    model.spring("spring", model.ground, block, at=((-1, 0, 0), (0, 0, 0)), stiffness=k, length=1.0)
    model.friction("rub", "slide", coefficient=mu, static=static)
    run = da.simulate(model, 20.0)
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    omega, reach = np.sqrt(k), (static - mu) * G / k
    slip = (np.pi + 2 * np.arctan2(speed / omega, reach)) / omega
    stick = 2 * reach / speed
    first = static * G / k / speed
    wanted = [first, first + slip, first + slip + stick, first + 2 * slip + stick]
    assert np.allclose([event.time for event in run.events[:4]], wanted, rtol=1e-9)
    assert [event.name for event in run.events[:3]] == ["rub slips", "rub stops", "rub slips"]


def test_a_pin_that_rubs_stops_a_wheel():
    """Torque μ r m g: the wheel stops after I ω/(μ r m g)."""
    model = da.Model("wheel")
    wheel = model.body("wheel", mass=3.0, inertia=(0.2, 0.2, 0.2))
    pin = model.revolute("pin", model.ground, wheel, point=(0, 0, 0), axis="x")
    model.friction("rub", pin, coefficient=0.1, radius=0.02)
    model.initial(pin, rate=2.0)
    run = da.simulate(model, 10.0)
    assert run.events[0].time == pytest.approx(0.2 * 2.0 / (0.1 * 0.02 * 3.0 * G), rel=1e-10)
    assert float(run.joint("pin").u[-1]) == 0.0


def test_the_spatial_slider_crank_with_friction():
    """Numbers of the thesis, example 4.5, as in the inverse dynamics of its subsystems."""
    l1, l2, share = 0.5, float(np.sqrt(2)), float(np.sqrt(0.5))
    model = da.Model("slider-crank", gravity=(0, 0, 0))
    p1, p2 = np.array([0, -l1, 0]), np.array([l2, -l1, 0])
    crank = model.body("crank", mass=1.0, com=(0, 0, 0), inertia=(0.2, 0.2, 0.2))
    rod = model.body("rod", mass=0.5, com=p1 + share * (p2 - p1), inertia=(0, 0.1, 0.1))
    slider = model.body("slider", mass=2.0, com=p2, inertia=(1, 1, 1))
    chi = model.revolute("chi", model.ground, crank, point=(0, 0, 0), axis="x")
    model.prismatic("guide", model.ground, slider, point=p2, axis="x")
    model.spherical("ball", crank, rod, point=p1)
    model.universal("cross", rod, slider, point=p2, axis="y", axis_2="z")
    s = f"(-{(1 - share) * l2!r}*(1 + 8*sin(2*pi*t)**2)/10)"
    model.drive(chi, f"acos(1 - (2 - ({l2!r} + {s})**2)/{2 * l1**2!r})", name="motor")
    model.friction("rub", "guide", coefficient=0.5)
    model.initial("guide", -0.04)
    run = da.simulate(model, 0.3, output_step=0.05, rtol=1e-11, atol=1e-12)
    torque = run.reaction("motor").values
    assert torque[[1, 2, 6]] == pytest.approx([27.4444894993, 6.93901259489, -32.43321062], rel=1e-8)
    assert run.events[-1].time == pytest.approx(0.25, abs=1e-9)
    assert torque[5] == pytest.approx(-49.285, abs=5e-4)  # just before the turn


def painleve(mu, direction):
    """A rod at the steepest angle, tan θ = 2, whose lower end slides on the floor."""
    model, angle = da.Model("rod"), np.arctan(2.0)
    center = (np.cos(angle) / 2, 0, np.sin(angle) / 2)
    rod = model.body("rod", mass=1.0, com=center, inertia=(1 / 12, 1 / 12, 1 / 12))
    model.planar("plane", model.ground, rod, point=center, axis="y")
    floor, tip = {"kind": "plane", "axis": "z"}, {"kind": "point"}
    model.rigid_contact("tip", model.ground, rod, surfaces=(floor, tip))
    model.contact_friction("rub", "tip", coefficient=mu, along="x")
    model.initial("plane", rate=(0, direction, 0))
    return model


def test_painleves_rod():
    """Friction jams from μ = (1 + 3 cos²θ)/(3 sin θ cos θ) = 4/3 on, where the rod is pushed before its tip."""
    for mu, direction in ((1.32, 1.0), (1.32, -1.0), (1.34, 1.0)):
        assert da.simulate(painleve(mu, direction), 1e-4).certificate.trusted
    with pytest.raises(da.SimulationError, match="Painlevé"):
        da.simulate(painleve(1.34, -1.0), 1e-4)


def pushed(law):
    """A ram with a given motion before a block that sticks in its guide, 0.05 m away."""
    model = da.Model("pusher")
    for name, joint in (("ram", "drive"), ("block", "slide")):
        model.body(name, mass=2.0, inertia=(1, 1, 1))
        model.prismatic(joint, "ground", name, point=(0, 0, 0), axis="x")
    model.drive("drive", law)
    model.friction("rub", "slide", coefficient=0.3)
    model.limit("touch", "q(slide) - q(drive)", lower=0)
    model.initial("slide", 0.05)
    return model


def test_what_sticks_is_hit_and_pushed_along():
    """The block gives way to the ram, which friction presses it against: with μ m g, and m a."""
    run = da.simulate(pushed("0.2*t"), 2.0)
    assert run.certificate.trusted
    touches = run.time.values > run.events[0].time
    assert run.joint("slide").q.values[touches] == pytest.approx(0.2 * run.time.values[touches], abs=1e-12)
    assert run.reaction("touch").values[touches] == pytest.approx(0.3 * 2 * G, rel=1e-12)


def test_what_was_pushed_stays_where_the_ram_turns_back():
    run = da.simulate(pushed("0.1*(1 - cos(2*t))"), 2.0)
    assert run.certificate.trusted
    hit, rest, stops = run.events
    assert (hit.name, rest.name, stops.name) == ("touch hit", "touch rest", "rub stops")
    assert hit.time == pytest.approx(np.pi / 6, rel=1e-9) and stops.time == pytest.approx(np.pi / 2, rel=1e-9)
    t, force = run.time.values, run.reaction("touch").values
    touches = (t > hit.time) & (t < stops.time)
    pressed = 2.0 * (0.3 * G + 0.4 * np.cos(2 * t[touches]))
    assert force[touches] == pytest.approx(pressed, rel=1e-6) and np.all(force[t > stops.time] == 0.0)
    assert float(run.joint("slide").q[-1]) == pytest.approx(0.2, abs=1e-10)


def test_a_block_slides_off_a_ramp_and_stops_on_the_floor():
    """Contact with friction: energy m g h goes into μ m g d."""
    model = da.Model("block")
    block = model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.planar("plane", model.ground, block, point=(0, 0, 0), axis="y")
    model.constraint("upright", "q(plane, 2)")
    floor = {"kind": "plane", "axis": "z"}
    model.rigid_contact("foot", model.ground, block, surfaces=(floor, {"kind": "point"}))
    model.contact_friction("rub", "foot", coefficient=0.25, along="x")
    model.initial("plane", rate=(0, 3.0, 0))
    run = da.simulate(model, 3.0)
    assert run.certificate.trusted
    assert [event.name for event in run.events] == ["rub stops"]
    assert run.events[0].time == pytest.approx(3.0 / (0.25 * G), rel=1e-10)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mu": -0.1}, "friction must not be negative"),
        ({"static": 0.1}, "must hold more than what slips"),
        ({"length": 0}, "length must be positive"),
    ],
)
def test_what_is_wrong_is_said(more, words):
    with pytest.raises(da.ModelError, match=words):
        incline(0.5, **{"mu": 0.3, **more}).validate()


@pytest.mark.parametrize(
    ("contact", "along", "words"),
    [
        ("foot", "z", "along must lie in the plane of 'foot'; 1 of it is along the normal"),
        ("foot", (1, 0, 1), r"0\.707 of it is along the normal"),
        ("boot", "x", "unknown constraint 'boot'"),
        ("stop", "x", "'stop' is not a rigid contact"),
    ],
)
def test_friction_of_no_contact_or_along_its_normal_is_refused(contact, along, words):
    model = da.Model("block")
    block = model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.planar("plane", model.ground, block, point=(0, 0, 0), axis="y")
    model.rigid_contact("foot", model.ground, block, surfaces=({"kind": "plane", "axis": "z"}, {"kind": "point"}))
    model.limit("stop", "q(plane, 2)", lower=-1)
    model.contact_friction("rub", contact, coefficient=0.25, along=along)
    with pytest.raises(da.ModelError, match=words) as error:
        da.simulate(model, 0.1)
    assert "rub" not in str(error.value).partition("Fix:")[2]  # it is no remedy for itself


def test_integrators_that_solve_for_accelerations_are_refused():
    with pytest.raises(da.ModelError, match="friction is solved for together with accelerations"):
        da.simulate(incline(0.5, 0.3), 0.1, integrator="generalized-alpha", step=1e-3)


def test_friction_and_limits_of_robot_files():
    text = """<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
      <limit lower="-0.5" upper="0.7" effort="1" velocity="1"/><dynamics friction="0.3"/></joint></robot>"""
    with pytest.warns(da.ReadWarning, match=r"velocity, effort"):
        model = loads_robot(text, limits=True, friction=True)
    assert [constraint.kind for constraint in model.constraints] == ["friction", "limit"]
    assert loads(dumps(model)) == model
    run = da.simulate(model, 10.0, initial={"hinge": 0.5}, initial_rates={"hinge": 3.0})
    assert run.certificate.trusted and run.events[0].name == "hinge limit hit above"
    assert float(run.joint("hinge").u[-1]) == 0.0 and run.joint("hinge").q.max() <= 0.7 + 1e-12
