"""Friction in balls, screws, pads and contacts that slip any way; Stribeck's and viscous terms; bristles."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad
from scipy.optimize import brentq

import dalembert as da
from dalembert.expressions import reference
from dalembert.io import dumps, loads
from dalembert.model.flatten import flatten

G = 9.81


def pad(speed, slope=0.0, **more):
    """A pad on a plane that falls along x."""
    model = da.Model("pad", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    model.body("pad", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.planar("plane", "ground", "pad", point=(0, 0, 0), axis="z")
    model.friction("rub", "plane", coefficient=0.3, **more)
    model.initial("plane", rate=speed)
    return model


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_pad_stops_straight(coordinates):
    run = da.simulate(pad((2.0, 1.0, 0.0)), 2.0, coordinates=coordinates)
    speed = np.hypot(2.0, 1.0)
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    assert run.events[0].time == pytest.approx(speed / (0.3 * G), abs=1e-9)
    assert run.joint("plane").q.values[-1] == pytest.approx([*np.array([2, 1]) * speed / (0.6 * G), 0], abs=1e-8)


def test_a_pad_on_a_slope():
    """Thrown across the slope it turns downhill and halts; at rest it does not creep; a steeper slope lets it go."""
    run = da.simulate(pad((0.0, 3.0, 0.0), slope=0.1), 3.0)
    assert run.certificate.trusted and [event.name for event in run.events] == ["rub stops"]
    down, across = run.joint("plane").u.values[:, :2].T
    moving = run.time.values < run.events[0].time - 1e-3
    power = 2 * G * np.sin(0.1) * down - 0.6 * G * np.cos(0.1) * np.hypot(down, across)
    energy = down**2 + across**2
    slope = np.gradient(energy[moving], run.time.values[moving])[2:-2]
    assert slope == pytest.approx(power[moving][2:-2], rel=1e-3, abs=1e-3)
    assert np.abs(da.simulate(pad((0.0, 0.0, 0.0), slope=0.1), 1e4).joint("plane").q).max() == 0.0
    slides = da.simulate(pad((0.0, 0.0, 0.0), slope=0.3), 1.0)
    assert float(slides.joint("plane").q[-1, 0]) == pytest.approx(G * (np.sin(0.3) - 0.3 * np.cos(0.3)) / 2, rel=1e-8)


def test_a_pad_breaks_loose_along_the_pull():
    model = pad((0.0, 0.0, 0.0))
    model.force("pull", "pad", value=("2*t", "1*t", 0))
    run = da.simulate(model, 4.0)
    assert run.events[0].name == "rub slips"
    assert run.events[0].time == pytest.approx(0.3 * 2 * G / np.sqrt(5), rel=1e-10)
    end = run.joint("plane").q.values[-1]
    assert end[0] == pytest.approx(2 * end[1], rel=1e-9) and end[0] > 0.1
    left = 4.0 - run.events[0].time
    assert end[1] == pytest.approx(left**3 / 12, rel=1e-7)


def test_turning_and_sliding_share_the_load():
    """With a radius, force and torque/r together are μ N, so a pad that slides and spins stops both at once."""
    run = da.simulate(pad((1.0, 0.0, 8.0), radius=0.1), 2.0)
    assert run.certificate.trusted and len(run.events) == 1
    at = run.time.values < run.events[0].time
    du = run.accelerations.values[at]
    assert np.hypot(2 * du[:, 0], 0.1 * du[:, 2] / 0.1) == pytest.approx(0.6 * G, rel=1e-9)
    assert np.abs(run.joint("plane").u.values[-1]).max() < 1e-12


def test_a_ball_that_rubs():
    """Torque μ r m g against ω: a sphere stops after I |ω|/(μ r m g)."""
    model = da.Model("ball")
    model.body("ball", mass=3.0, inertia=(0.2, 0.2, 0.2))
    model.spherical("socket", "ground", "ball", point=(0, 0, 0))
    model.friction("rub", "socket", coefficient=0.1, radius=0.05)
    model.initial("socket", rate=(1.0, 2.0, 2.0))
    run = da.simulate(model, 5.0)
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    assert run.events[0].time == pytest.approx(0.2 * 3 / (0.1 * 0.05 * 3 * G), abs=1e-8)


def screw(mu):
    model = da.Model("screw")
    model.body("nut", mass=2.0, inertia=(1e-3, 1e-3, 1e-3))
    model.screw("thread", "ground", "nut", point=(0, 0, 0), axis="z", pitch=0.05)
    model.friction("rub", "thread", coefficient=mu, radius=0.02)
    return model


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_screw_locks_itself(coordinates):
    """From μ = tan α on. Below, as a block on a wedge:  m h α̈ = N cos + f sin − m g,  I α̈ = r (f cos − N sin)."""
    lead, r = 0.05 / (2 * np.pi), 0.02
    steep = np.arctan(lead / r)
    assert float(da.simulate(screw(1.001 * lead / r), 0.2, coordinates=coordinates).joint("thread").u[-1]) == 0.0
    assert float(da.simulate(screw(0.999 * lead / r), 0.2, coordinates=coordinates).joint("thread").u[-1]) < 0.0
    mu, c, s = 0.2, np.cos(steep), np.sin(steep)
    _, wanted = np.linalg.solve([[c + mu * s, -2.0 * lead], [r * (mu * c - s), -1e-3]], [2.0 * G, 0.0])
    run = da.simulate(screw(mu), 0.2, coordinates=coordinates)
    assert run.accelerations.values[-1, -1 if coordinates == "relative" else 2] == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_a_screw_is_driven_by_a_torque(coordinates, unit):
    """A motor that lifts a nut: its power is τ φ̇, the thread carries the weight, and no unit of length matters."""
    lead, mass, torque = 0.05 / (2 * np.pi), 2.0, 0.3
    model = da.Model("jack", gravity=(0, 0, -G * unit))
    model.body("nut", mass=mass, inertia=np.full(3, 1e-3 * unit**2))
    model.screw("thread", "ground", "nut", point=(0, 0, 0), axis="z", pitch=0.05 * unit)
    model.joint_force("motor", "thread", torque * unit**2)
    model.friction("rub", "thread", coefficient=0.1, radius=0.02 * unit)
    run = da.simulate(model, 0.3, coordinates=coordinates)
    # As a block on a wedge that the motor pushes:  m h α̈ = N c − f s − m g,  I α̈ = τ − r (f c + N s),  f = μ N
    r, steep = 0.02, np.arctan(lead / 0.02)
    c, s, mu = np.cos(steep), np.sin(steep), 0.1
    pressed = [[c - mu * s, -mass * lead], [-r * (mu * c + s), -1e-3]]
    N, spin = np.linalg.solve(pressed, [mass * G, -torque])
    assert run.joint("thread").u.values[-1] == pytest.approx(0.3 * spin, rel=1e-9)
    wrench = run.reaction("thread").isel(time=-1).values
    assert wrench[1, 2] / unit == pytest.approx(mass * (G + lead * spin), rel=1e-9)
    assert wrench[1, 2] / unit == pytest.approx(N * (c - mu * s), rel=1e-9)
    assert wrench[0, 2] / unit**2 == pytest.approx(-lead * mass * (G + lead * spin), rel=1e-9)  # all but friction
    assert np.ptp(run.energy.balance.values) < 1e-8 * unit**2
    work = torque * float(run.joint("thread").q[-1]) - mu * N * np.hypot(r, lead) * float(run.joint("thread").q[-1])
    assert run.energy.work.values[-1] / unit**2 == pytest.approx(work, rel=1e-8)


def test_a_bowling_ball_slides_and_then_rolls():
    """Slip in any direction: it ends after 2/7 |slip|/(μ g), with v less 2/7 of the slip."""
    model = da.Model("bowling")
    ball = model.sphere("ball", (0, 0, 0.1), radius=0.1, mass=2.0)
    surfaces = ({"kind": "plane", "axis": "z"}, {"kind": "sphere", "at": (0, 0, 0.1), "radius": 0.1})
    model.rigid_contact("floor", model.ground, ball, surfaces=surfaces)
    model.contact_friction("rub", "floor", coefficient=0.2)
    assert loads(dumps(model)) == model
    run = da.simulate(model, 1.0, initial_rates={"ball": (10.0, 0, 0, 3.0, 0, 0)})
    slip = np.array([3.0, 1.0])
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    assert run.events[0].time == pytest.approx(2 / 7 * np.linalg.norm(slip) / (0.2 * G), abs=1e-9)
    assert run.body("ball").velocity.values[-1] == pytest.approx([*(np.array([3.0, 0.0]) - 2 / 7 * slip), 0], abs=1e-9)


def block(rate=0.0, angle=0.0, **more):
    model = da.Model("block", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    model.body("block", mass=2.0, inertia=(1, 1, 1))
    model.prismatic("slide", "ground", "block", point=(0, 0, 0), axis="x")
    model.friction("rub", "slide", **more)
    model.initial("slide", rate=rate)
    return model


def test_stribeck_and_viscous():
    law = {"coefficient": 0.2, "static": 0.5, "stribeck": 0.5, "viscous": 0.4}
    run = da.simulate(block(2.0, **law), 2.0)
    brake = lambda v: G * (0.2 + 0.3 * np.exp(-((v / 0.5) ** 2))) + 0.2 * v  # noqa: E731
    assert run.events[0].time == pytest.approx(quad(lambda v: 1 / brake(v), 0, 2, epsabs=1e-13)[0], rel=1e-8)


def test_bristles_do_not_creep():
    model = block(angle=0.2, coefficient=0.4, law="bristle", stiffness=1e6, damping=2e3)
    assert loads(dumps(model)) == model
    run = da.simulate(model, 1e4, integrator="bdf")
    x, late = run.joint("slide").q.values, run.time.values > 10
    assert run.certificate.trusted and x[-1] == pytest.approx(2 * G * np.sin(0.2) / 1e6, rel=1e-12)
    assert np.abs(x[late] - x[-1]).max() < 1e-18


def test_bristles_become_rigid():
    """Up a slope and down again, by bristles ever stiffer: the way differs by k^(−1/2)."""
    given = {"rate": -2.0, "angle": 0.5, "coefficient": 0.3}
    exact = float(da.simulate(block(**given), 2.0).joint("slide").q[-1])
    errors = []
    for k in (1e4, 1e6):
        more = {"law": "bristle", "stiffness": k, "damping": 2 * np.sqrt(2 * k)}
        run = da.simulate(block(**given, **more), 2.0, integrator="radau")
        assert run.certificate.trusted
        errors.append(abs(float(run.joint("slide").q[-1]) - exact))
    assert errors[1] < 5e-3 and 8 < errors[0] / errors[1] < 12


def pin(rate=1.0, **more):
    """A pendulum of 2 kg, let go level, that rubs on its pin."""
    model = da.Model("pin", gravity=(0, -G, 0))
    model.body("arm", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("pin", "ground", "arm", point=(0, 0, 0), axis="z")
    model.friction("rub", "pin", radius=0.02, **more)
    model.output("load", 'reaction(pin, "normal")')
    model.initial("pin", rate=rate)
    return model


@pytest.mark.parametrize("seed", range(8))
def test_bristles_are_passive_bounded_and_unique(seed):
    """|F| ≤ g, F v ≥ d/dt σ₀ z²/2 and |∂F/∂N| ≤ μ, whatever the stiffness, the damping and the state."""
    rng = np.random.default_rng(seed)
    mu, k, d = rng.uniform(0.05, 1.0), 10 ** rng.uniform(1, 9), 10 ** rng.uniform(-3, 6)
    falls = {"static": 1.5 * mu, "stribeck": 0.2} if seed % 2 else {}
    flat = flatten(block(coefficient=mu, law="bristle", stiffness=k, damping=d, **falls))
    names = [reference("state", "rub.bristle"), reference("u", "slide"), reference("reaction", "slide")]
    state = sp.symbols("z v N", real=True)
    formulas = (flat.forces["rub"][0].value, flat.states["rub.bristle"][0].rate)
    law = sp.lambdify(state, [f.xreplace(dict(zip(names, state, strict=True))) for f in formulas])
    most = lambda v: mu + (0.5 * mu * np.exp(-((v / 0.2) ** 2)) if falls else 0)  # noqa: E731
    seen = set()
    for _ in range(3000):
        N = 10 ** rng.uniform(-3, 5)
        v = rng.choice([-1, 1]) * 10 ** rng.uniform(-9, 1)
        z = rng.uniform(-2, 2) * most(v) * N / k  # more than it can hold, too: where the load falls
        force, rate = law(z, v, N)
        slips = abs(force) > 0.989 * most(v) * N
        assert abs(force) <= most(v) * N * (1 + 1e-12) + 2e-12 and (slips or rate == v)
        size = abs(k * z) + d * abs(v) + abs(force)
        assert -force == pytest.approx(k * z + d * rate, abs=1e-13 * size)
        assert -force * v - k * z * rate >= -1e-13 * size * (abs(v) + abs(rate))
        other = N * rng.uniform(0.5, 2)
        assert abs(law(z, v, other)[0] - force) <= most(v) * abs(other - N) * (1 + 1e-12) + 1e-13 * size
        seen.add(int(np.sign(force)) * bool(slips))
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize(("stiffness", "damping"), [(1e3, 2.0), (1e3, None), (1e2, 0.1), (1e5, 1e4), (1e7, 1e3)])
@pytest.mark.parametrize("coefficient", [0.1, 0.26, 0.4])
def test_bristles_in_a_pin(coefficient, stiffness, damping):
    """Runs end, also where σ₁ v is many times what slips: friction stays within μ r N, and takes energy."""
    given = {"law": "bristle", "stiffness": stiffness} | ({} if damping is None else {"damping": damping})
    run = da.simulate(pin(coefficient=coefficient, **given), 1.0, integrator="radau")
    assert run.certificate.trusted and len(run.events) == 0
    bend, q = run.state("rub.bristle").values, run.joint("pin").q.values
    most = coefficient * 0.02 * run.output("load").values
    force = (0.1 + 2 * 0.3**2) * run.accelerations.values[:, 0] + 2 * G * 0.3 * np.cos(q)
    assert np.all(np.abs(force) <= most * (1 + 1e-9)) and np.isclose(force, most).any()
    work = run.energy.work.values
    assert np.all(work + stiffness * bend**2 / 2 < 1e-8) and work[-1] < -0.02 * coefficient
    exact = da.simulate(pin(coefficient=coefficient), 1.0).energy.work.values
    assert work[-1] == pytest.approx(exact[-1], rel=0.02 if stiffness > 1e2 else 0.1)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("seed", range(6))
def test_bristles_of_random_carriages(seed, coordinates):
    """A carriage in a guide of some length, on a slope, with an arm on a pin; both rub, by any bristles."""
    rng = np.random.default_rng(seed)
    slope, L, size = rng.uniform(0, 0.5), rng.uniform(0.2, 1.0), 10 ** rng.uniform(-1, 2)
    model = da.Model("carriage", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    model.body("carriage", mass=size, com=(0, 0, 0.1 * L), inertia=(size * L**2 / 10,) * 3)
    model.body("arm", mass=size * rng.uniform(0.2, 2), com=(0, 0, -L), inertia=(size * L**2 / 10,) * 3)
    model.prismatic("slide", "ground", "carriage", point=(0, 0, 0), axis="x")
    model.revolute("pin", "carriage", "arm", point=(0, 0, 0), axis="y")
    radius = rng.uniform(0.01, 0.1) * L
    for name, more, arm in (("slide", {"length": rng.uniform(3, 6) * L}, 1.0), ("pin", {"radius": radius}, radius)):
        k = size * 10 ** rng.uniform(2, 7)
        d = 2 * np.sqrt(k * size) * 10 ** rng.uniform(-1.5, 2)
        more |= {"stiffness": k * arm**2, "damping": d * arm**2, "coefficient": rng.uniform(0.05, 0.4)}
        model.friction(f"rub {name}", name, law="bristle", **more)
        model.initial(name, rate=rng.uniform(-2, 2))
    run = da.simulate(model, 1.0, integrator="radau", coordinates=coordinates)
    assert run.certificate.trusted and np.isfinite(run.accelerations.values).all()
    assert run.energy.work.values[-1] < 0


def test_bristles_slide_to_a_halt():
    """Braked by μ g with z = (μ N/σ₀)(1 − exp(−σ₀ t/σ₁)), until σ₁ v is what the bristles lack; then they swing out."""
    mu, k, d, v0 = 0.3, 1e5, 400.0, 2.0
    holds = mu * 2 * G
    run = da.simulate(block(v0, coefficient=mu, law="bristle", stiffness=k, damping=d), 2.0, integrator="radau")
    bent = lambda t: holds / k * (1 - np.exp(-k * t / d))  # noqa: E731
    sticks = brentq(lambda t: k * bent(t) + d * (v0 - mu * G * t) - holds, 0.1, 1.0, xtol=1e-15)
    slide, z, t = run.joint("slide"), run.state("rub.bristle").values, run.time.values
    slips = t < sticks
    assert run.certificate.trusted
    assert slide.u.values[slips] == pytest.approx(v0 - mu * G * t[slips], abs=1e-9)
    assert z[slips] == pytest.approx(bent(t[slips]), abs=1e-4 * holds / k)
    way = v0 * sticks - mu * G * sticks**2 / 2 - bent(sticks)
    rounded = 0.01 * holds / k  # the law, from 0.99 of what it can hold on
    assert slide.q.values[~slips] - z[~slips] == pytest.approx(way, abs=rounded)
    assert slide.q.values[-1] == pytest.approx(way, abs=rounded) and abs(slide.u.values[-1]) < 1e-9


@pytest.mark.parametrize("integrator", ["auto", "bdf", "radau"])
def test_bristles_rest_on_a_stop(integrator):
    """Stopped by a limit while they slip, bristles keep nearly all that they can hold, and no branch flickers."""
    model = block(-1.0, angle=0.6, coefficient=0.3, law="bristle", stiffness=2e4, damping=20.0)
    model.limit("stop", "q(slide)", upper=0.2)
    run = da.simulate(model, 5.0, integrator=integrator)
    assert run.certificate.trusted and float(run.joint("slide").q[-1]) == pytest.approx(0.2, abs=1e-9)
    share = float(run.state("rub.bristle")[-1]) * 2e4 / (0.3 * 2 * G * np.cos(0.6))
    assert 0.99 < share < 0.995


@pytest.mark.parametrize(("damping", "slips"), [(4e3, True), (1e4, False)])
@pytest.mark.parametrize("integrator", ["bdf", "radau"])
def test_bristles_hold_nearly_all_without_creep(damping, slips, integrator):
    """At 97 % of what it can hold for 1e4 s; weakly damped it slips a little first, as it swings beyond."""
    mu = float(np.tan(0.3) / 0.97)
    model = block(angle=0.3, coefficient=mu, law="bristle", stiffness=1e6, damping=damping)
    run = da.simulate(model, 1e4, integrator=integrator)
    x, z, late = run.joint("slide").q.values, run.state("rub.bristle").values, run.time.values > 10
    assert run.certificate.trusted and np.ptp(x[late]) < 1e-17
    assert z[-1] == pytest.approx(2 * G * np.sin(0.3) / 1e6, rel=1e-12)
    assert x[-1] > 1.5 * z[-1] if slips else x[-1] == pytest.approx(z[-1], rel=1e-12)


def test_bristles_in_a_pin_become_rigid():
    exact = float(da.simulate(pin(coefficient=0.4), 2.0).joint("pin").q[-1])
    errors = []
    for k in (1e2, 1e4, 1e6):
        given = {"law": "bristle", "stiffness": k, "damping": 2 * np.sqrt(0.28 * k)}
        run = da.simulate(pin(coefficient=0.4, **given), 2.0, integrator="radau")
        assert run.certificate.trusted
        errors.append(abs(float(run.joint("pin").q[-1]) - exact))
    assert errors[2] < 1e-5 and errors[1] < errors[0] / 8 and errors[2] < errors[1] / 8


@pytest.mark.parametrize(
    ("joint", "more", "words"),
    [
        ("revolute", {}, "needs its radius"),
        ("prismatic", {"radius": 0.1}, "has no radius"),
        ("cylindrical", {}, "of a kind without friction"),
        ("prismatic", {"law": "bristle"}, "bristles need a stiffness"),
        ("prismatic", {"stiffness": 1e5}, "those of bristles"),
        ("prismatic", {"law": "bristle", "stiffness": 1e5, "damping": 0}, "bristles in joint 'joint' need a damping"),
        ("prismatic", {"law": "bristle", "stiffness": 1e5, "static": 0.4}, "bristles go from static to coefficient"),
        ("planar", {"law": "bristle", "stiffness": 1e5}, "bristles are for revolute and prismatic"),
        ("prismatic", {"stribeck": 0}, "stribeck must be positive"),
    ],
)
def test_what_is_wrong_is_said(joint, more, words):
    model = da.Model("wrong")
    model.body("part", mass=1.0, inertia=(1, 1, 1))
    getattr(model, joint)("joint", "ground", "part", point=(0, 0, 0), axis="z")
    model.friction("rub", "joint", coefficient=0.3, **more)
    with pytest.raises(da.ModelError, match=words):
        model.validate()


def test_a_clutch_engages():
    """With a constant torque T of the discs:  Δω = ((T − M)/J₁ + T/J₂) t; then both turn as one."""
    model = da.library.clutch(press=1500.0)
    run = da.simulate(model, 1.0, parameters={"drag": 0.0})
    first, second, T = 10 * 0.08**2 / 2, 60 * 0.12**2 / 2, 2 * 0.1 * 0.3 * 1500
    assert run.events[0].time == pytest.approx(150 / ((T - 80) / first + T / second), rel=1e-10)
    assert run.output("engine speed").values[-1] == pytest.approx(run.output("load speed").values[-1], abs=1e-12)
    assert run.accelerations.values[-1, 0] == pytest.approx(80 / (first + second), rel=1e-10)
    held = da.simulate(model, 0.5, parameters={"drag": 0.0}, inputs={"press": "3000*t"})
    assert np.ptp(held.energy.balance.values) < 1e-8 * 1e3 and held.certificate.trusted
