"""Limits, stops and contacts, rigid and compliant, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses.contacts.touch import hit

G = 9.81
FLOOR = {"kind": "plane", "axis": "z"}


def falling(height=1.0, mass=1.0):
    """A ball of radius 0.1 on a vertical guide; q = 0 where it touches the floor z = 0."""
    model = da.Model("ball")
    ball = model.sphere("ball", (0, 0, 0.1), radius=0.1, mass=mass)
    guide = model.prismatic("guide", model.ground, ball, point=(0, 0, 0), axis="z")
    model.initial(guide, value=height)
    return model, guide, ball


def sphere(z=0.1, radius=0.1):
    return {"kind": "sphere", "at": (0, 0, z), "radius": radius}


@pytest.mark.parametrize(
    ("how", "integrator"),
    [("limit", "auto"), ("contact", "auto"), ("limit", "tsit5"), ("limit", "radau"), ("limit", "bdf")],
)
def test_bounces_accumulate_and_end_in_rest(how, integrator):
    model, guide, ball = falling()
    if how == "limit":
        model.limit("floor", guide, lower=0, restitution=0.5)
    else:
        model.rigid_contact("floor", model.ground, ball, surfaces=(FLOOR, sphere()), restitution=0.5)
    run = da.simulate(model, 10_000.0, output_step=100.0, integrator=integrator)
    fall = np.sqrt(2 / G)
    assert run.certificate.trusted
    hits = [event.time for event in run.events if event.name == "floor hit"]
    assert np.allclose(hits[:4], fall * np.array([1, 2, 2.5, 2.75]), rtol=1e-10)
    assert run.events[-1].name == "floor rest"
    assert run.events[-1].time == pytest.approx(fall * 3, rel=1e-9)  # (1 + e)/(1 − e)
    assert abs(float(run.joint("guide").q[-1])) < 1e-15  # 10⁴ s later
    assert float(run.energy.work[-1]) == pytest.approx(-G, rel=1e-9)
    assert np.ptp(run.energy.balance.values) < 1e-8


@pytest.mark.parametrize("integrator", ["tsit5", "radau", "bdf"])
@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_a_bar_bounces_off_its_stop_until_it_rests(integrator, rtol):
    """A bar on a hinge falls on a stop; its flights, ever shorter, are no parabolas."""
    model = da.library.pendulum(angle=1.5)
    model.limit("stop", f"q({model.joints[0].name})", lower=0.5, restitution=0.4)
    exact = da.simulate(model, 3.0, integrator="dopri8", rtol=1e-13, atol=1e-15)
    run = da.simulate(model, 3.0, integrator=integrator, rtol=rtol, atol=rtol / 10)
    assert run.certificate.trusted and exact.certificate.trusted
    assert abs(len(run.events) - len(exact.events)) <= 1  # the last bounces are as small as the tolerance
    for which in (*range(10), -1):
        mine, other = run.events[which], exact.events[which]
        assert mine.name == other.name == ("stop rest" if which < 0 else "stop hit")
        assert mine.time == pytest.approx(other.time, abs=300 * rtol)


def test_a_flight_too_short_to_see_ends_in_rest_also_without_loss():
    """Its time is that of the flight; with restitution 1 that of all flights to come is infinite."""
    model, guide, _ = falling()
    model.limit("floor", guide, lower=0, restitution=1)
    x = np.array([0.0, -1e-7, 0.0])
    found = hit(da.compile(model), 0.0, x, {})
    assert x[1] == 0 and found.rest == (("floor", pytest.approx(2e-7 / G, rel=1e-9)),)


@pytest.mark.parametrize(("length", "time"), [(1e-6, 1.0), (1e-6, 1e6), (1.0, 1e6)])
def test_what_is_slow_bounces_like_what_is_fast(length, time):
    """Velocities below 1e-9 m/s were none: what falls a micrometer in seconds came to rest too soon, or at once."""
    model, guide, _ = falling(height=length)
    model.gravity = (0, 0, -length / time**2)
    model.limit("floor", guide, lower=0, restitution=0.5)
    run = da.simulate(model, 10 * time)
    assert run.certificate.trusted
    assert run.events[-1].name == "floor rest"
    assert run.events[-1].time == pytest.approx(3 * np.sqrt(2) * time, rel=1e-9)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_what_moves_together_without_load_touches_in_peace(restitution):
    """Rounding of a closed gap was one impact after the other; and what presses it later went through it."""
    model, n = da.Model("balls in a row", gravity=(0, 0, 0)), 3
    for i in range(n):
        ball = model.sphere(f"ball{i}", (0.2 * i, 0, 0), radius=0.1, mass=1.0)
        model.prismatic(f"guide{i}", model.ground, ball, point=(0, 0, 0), axis="x")
    for i in range(n - 1):
        surfaces = [{"kind": "sphere", "at": (0.2 * j, 0, 0), "radius": 0.1} for j in (i, i + 1)]
        model.rigid_contact(f"pair{i}", f"ball{i}", f"ball{i + 1}", surfaces=surfaces, restitution=restitution)
    model.initial("guide0", -0.5, rate=1.0)
    run = da.simulate(model, 2.0)
    assert run.certificate.trusted and len(run.events) == 1
    speeds = [float(run.joint(f"guide{i}").u[-1]) for i in range(n)]
    # Newton's law for both pairs at once: u₁ − u₀ = e, u₂ = u₁.
    assert speeds == pytest.approx(np.array([1 - 2 * restitution, 1 + restitution, 1 + restitution]) / 3, abs=1e-12)

    if restitution < 1.0:
        model.joint_force("push", "guide2", "-3*max(t - 1, 0)")
        pressed = da.simulate(model, 2.0)
        assert pressed.certificate.trusted
        deepest = [float((pressed.joint(f"guide{i + 1}").q - pressed.joint(f"guide{i}").q).min()) for i in range(n - 1)]
        assert min(deepest) > -1e-9  # as drawn, all balls touch


def test_two_stops_take_what_restitution_says():
    model = da.Model("slider", gravity=(0, 0, 0))
    body = model.body("block", mass=2.0)
    slide = model.prismatic("slide", model.ground, body, point=(0, 0, 0), axis="x")
    model.initial(slide, value=0.0, rate=1.0)
    model.limit("ends", slide, lower=-1, upper=1, restitution=0.5)
    run = da.simulate(model, 20.0)
    assert [event.name for event in run.events] == ["ends hit above", "ends hit", "ends hit above"]
    assert np.allclose([event.time for event in run.events], [1, 1 + 4, 1 + 4 + 8], rtol=1e-12)
    assert float(run.joint("slide").u[-1]) == pytest.approx(-1 / 8, rel=1e-12)


def test_a_table_that_falls_faster_than_gravity_lets_go():
    model = da.Model("shaken", gravity=(0, 0, -G))
    amplitude, omega = 0.1, 14.0
    table = model.body("table", mass=1.0)
    block = model.body("block", mass=1.0)
    lift = model.prismatic("lift", model.ground, table, point=(0, 0, 0), axis="z")
    model.prismatic("guide", model.ground, block, point=(0, 0, 0), axis="z")
    model.drive(lift, f"{amplitude}*sin({omega}*t)")
    model.limit("seat", "q(guide) - q(lift)", lower=0)
    model.initial("guide", value=0.0, rate=amplitude * omega)
    run = da.simulate(model, 0.4)
    first = run.events[0]
    assert first.name == "seat open"
    assert first.time == pytest.approx(np.arcsin(G / (amplitude * omega**2)) / omega, rel=1e-9)
    assert run.certificate.trusted and "seat hit" in [event.name for event in run.events]


def test_balls_in_a_row_pass_the_momentum_on():
    model = da.Model("row", gravity=(0, 0, 0))
    for i, mass in enumerate((1.0, 3.0)):
        ball = model.sphere(f"b{i}", (i, 0, 0), radius=0.1, mass=mass)
        model.prismatic(f"g{i}", model.ground, ball, point=(0, 0, 0), axis="x")
    surfaces = [{"kind": "sphere", "at": (i, 0, 0), "radius": 0.1} for i in range(2)]
    model.rigid_contact("pair", "b0", "b1", surfaces=surfaces, restitution=0.25)
    model.initial("g0", rate=2.0)
    run = da.simulate(model, 1.0)
    u = [float(run.joint(name).u[-1]) for name in ("g0", "g1")]
    assert run.events[0].time == pytest.approx(0.4, rel=1e-12)
    assert u[0] + 3 * u[1] == pytest.approx(2.0, rel=1e-12) and u[1] - u[0] == pytest.approx(0.5, rel=1e-12)


def test_a_stop_gets_rigid_as_it_gets_stiff():
    def end(**how):
        model, guide, _ = falling(0.5)
        if how:
            model.stop("floor", guide, lower=0, **how)
        else:
            model.limit("floor", guide, lower=0, restitution=1)
        run = da.simulate(model, 0.6)
        assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8 * G
        return float(run.joint("guide").q[-1])

    rigid = end()
    errors = [abs(end(stiffness=k) - rigid) for k in (1e6, 1e8)]
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.05)  # time of contact π √(m/k)


def test_hertz_contact_time_and_dissipation():
    young, nu, speed = 2e9, 0.3, 1.0
    model, guide, ball = falling(0.001)
    model.gravity = (0, 0, 0)
    model.initial(guide, value=0.001, rate=-speed)
    d = 0.05
    model.contact(
        "floor", model.ground, ball, surfaces=(FLOOR, sphere()), young=(young, young), poisson=(nu, nu), dissipation=d
    )
    run = da.simulate(model, 0.01)
    assert run.certificate.trusted
    assert float(run.joint("guide").u[-1]) / speed == pytest.approx(1 - 2 / 3 * d * speed, abs=(d * speed) ** 2)
    k = 4 / 3 * young / (2 * (1 - nu**2)) * np.sqrt(0.1)
    deepest = (1.25 * speed**2 / k) ** 0.4  # without dissipation
    said = next(remark for remark in run.certificate.remarks if "largest compression" in remark)
    assert float(said.split("compression ")[1]) == pytest.approx(deepest, rel=0.05)


@pytest.mark.parametrize("rigid", [True, False])
def test_a_follower_rides_on_its_cam(rigid):
    """A knife edge above an eccentric cam: its height is the polar radius at the angle that is up."""
    model = da.Model("cam")
    cam, rod = model.body("cam", mass=1.0, inertia=(1, 1, 1)), model.body("rod", mass=0.2, inertia=(1, 1, 1))
    shaft = model.revolute("shaft", model.ground, cam, point=(0, 0, 0), axis="y")
    model.prismatic("guide", model.ground, rod, point=(0, 0, 0.04), axis="z")
    model.drive(shaft, "5*t")
    curve = {"kind": "curve", "axis": "y", "start": "z", "radius": "0.03 + 0.01*cos(angle)"}
    tip = {"kind": "point", "at": (0, 0, 0.04)}
    if rigid:
        model.rigid_contact("tip", cam, rod, surfaces=(curve, tip))
    else:
        model.contact("tip", cam, rod, surfaces=(curve, tip), stiffness=1e8, exponent=1, dissipation=1)
    run = da.simulate(model, 2.0)
    assert run.certificate.trusted
    wanted = 0.01 * np.cos(5 * run.time) - 0.01
    assert np.abs(run.joint("guide").q - wanted).max() < (1e-9 if rigid else 1e-6)


def test_a_disc_stands_on_the_lowest_point_of_its_rim():
    model = da.Model("coin")
    tilt = 0.3
    disc = model.body("disc", mass=1.0, inertia=(1, 1, 1))
    guide = model.prismatic("guide", model.ground, disc, point=(0, 0, 0), axis="z")
    rim = {"kind": "disc", "axis": (np.sin(tilt), 0, np.cos(tilt)), "radius": 0.2}
    model.rigid_contact("rim", disc, model.ground, surfaces=(rim, FLOOR))
    model.initial(guide, value=0.5)
    run = da.simulate(model, 1.0)
    assert float(run.joint("guide").q[-1]) == pytest.approx(0.2 * np.sin(tilt), rel=1e-12)


@pytest.mark.parametrize("slots", [4, 6])
def test_a_geneva_wheel_indexes(slots):
    """While the pin is in a slot the wheel is at β = atan2(sin θ, c/r − cos θ); between, it rests."""
    speed, distance = 2 * np.pi, 0.1
    run = da.simulate(da.library.geneva_drive(slots=slots, speed=speed, distance=distance), 3.0)
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    step, ratio = 2 * np.pi / slots, 1 / np.sin(np.pi / slots)
    turns = speed * run.time.values / (2 * np.pi)
    theta = 2 * np.pi * (turns - np.floor(turns)) - np.pi
    within = np.abs(theta) < np.pi / 2 - np.pi / slots
    beta = np.where(within, np.arctan2(np.sin(theta), ratio - np.cos(theta)), np.sign(theta) * step / 2)
    wanted = -(np.floor(turns) * step + beta + step / 2)
    assert np.abs(run.joint("turn").q.values.ravel() - wanted)[:-1].max() < 1e-8
    assert [event.name for event in run.events] == ["in", "out"] * 3


def make(**changes):
    """A model with one contact, or one limit, that is wrong."""
    model, guide, ball = falling()
    kind = changes.pop("kind", "limit")
    if kind == "limit":
        model.limit("L", guide, **{"lower": 0, **changes})
    else:
        given = {"surfaces": (FLOOR, sphere()), **changes}
        getattr(model, kind)("C", model.ground, ball, **given)
    return model


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lower": 1, "upper": -1}, "limits are swapped"),
        ({"lower": None}, "neither lower nor upper"),
        ({"restitution": 1.5}, "from 0 to 1"),
        ({"of": "3"}, "does not move"),
        ({"kind": "contact", "stiffness": 1e5, "friction": -0.1}, "friction must not be negative"),
        ({"kind": "contact"}, "either stiffness or young"),
        ({"kind": "contact", "stiffness": -1}, "stiffness must be positive"),
        ({"kind": "rigid_contact", "surfaces": ({"kind": "mesh"}, {"kind": "mesh"})}, "a mesh touches nothing"),
        ({"kind": "rigid_contact", "surfaces": (FLOOR, FLOOR)}, "not a pair that can touch"),
        (
            {
                "kind": "rigid_contact",
                "surfaces": (
                    {"kind": "curve", "axis": "y", "start": "x", "radius": "0.01 + 0.03*cos(angle)"},
                    {"kind": "point"},
                ),
            },
            "crosses itself",
        ),
    ],
)
def test_what_is_wrong_is_said(changes, words):
    if "of" in changes:
        model, _, _ = falling()
        model.limit("L", changes["of"], lower=0)
    else:
        model = make(**changes)
    with pytest.raises(da.ModelError, match=words):
        model.validate()


def test_a_start_beyond_a_limit_is_refused():
    model, guide, _ = falling(-0.2)
    model.limit("floor", guide, lower=0)
    with pytest.raises(da.SimulationError, match=r"'floor' is 0\.2 beyond its limit"):
        da.simulate(model, 1.0)


def test_in_files():
    from dalembert.io import dumps, loads

    model = make(kind="contact", young=(2e9, 2e9))
    model.limit("top", "q(guide)", upper=2, restitution=0.3)
    assert loads(dumps(model)) == model


def test_a_run_that_chatters_says_so(monkeypatch):
    """A ball between a wall and another one that comes nearer: more and more bounces, without end."""
    from dalembert.analyses.simulation import event_handlers

    monkeypatch.setattr(event_handlers, "CHATTER_EVENTS", 8)
    monkeypatch.setattr(event_handlers, "CHATTER_SHARE", 0.1)
    model = da.Model("squeeze", gravity=(0, 0, 0))
    for name, x in (("ball", 0.0), ("wall", 1.0)):
        model.prismatic(f"{name} guide", model.ground, model.body(name, mass=1.0), point=(x, 0, 0), axis="x")
    model.drive("wall guide", "-t")
    model.limit("left", model.q("ball guide"), lower=0, restitution=1)
    model.limit("right", 1 + model.q("wall guide") - model.q("ball guide"), lower=0, restitution=1)
    model.initial("ball guide", value=0.3, rate=0.5)
    run = da.simulate(model, 1.5, certify=False)
    assert "chatters: 8 impacts" in run.certificate.message and run.time[-1] < 1


@pytest.mark.parametrize("formulation", ["maggi", "kane", "hamilton", "canonical"])
def test_formulations_that_choose_beforehand_refuse_what_closes_later(formulation):
    """Silently they would fall through it."""
    model = da.library.pendulum()
    model.limit("stop", "q(pivot)", lower=-0.1)
    with pytest.raises(da.ModelError, match="that close or stick"):
        da.simulate(model, 1.0, formulation=formulation)
    d = da.compile(model, formulation=formulation)
    state = da.assemble(d, {})
    with pytest.raises(da.ModelError, match="that close or stick"):
        d.solve(state.q, state.u, parameters={"stop.on": 1.0})
