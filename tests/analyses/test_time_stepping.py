"""Time-stepping with impulses: first order, toward the event-driven run; many contacts; what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

FLOOR = {"kind": "plane", "axis": "z"}


def stepped(model, duration, step, **more):
    return da.simulate(model, duration, integrator="moreau-jean", step=step, output_step=duration / 50, **more)


@pytest.mark.parametrize(
    ("name", "duration", "joint", "expected"),
    [("rocking-block", 2.0, "plane", 1.0), ("cam-follower", 0.6, "guide", 2.0)],
)
def test_it_converges_to_the_event_driven_run(name, duration, joint, expected):
    """Impacts, sticking, a drive, a contact that opens: the error goes with the step, and where nothing hits with its
    square. Where in its step an impact falls is by chance, so the order is that of a line through several."""
    model, steps = da.library.build(name), 1e-3 / 2.0 ** np.arange(5)
    exact = da.simulate(model, duration, output_step=duration / 50, certify=False).joint(joint).q.values
    runs = [stepped(model, duration, step, certify=False) for step in steps]
    errors = [np.abs(run.joint(joint).q.values - exact).max() for run in runs]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(expected, abs=0.1)
    assert errors[-1] < 1e-3 * max(np.abs(exact).max(), 1.0)


def sliding_block(coefficient):
    """A block that slides on the floor at 3 m/s."""
    model = da.Model("block")
    block = model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.planar("plane", model.ground, block, point=(0, 0, 0), axis="y")
    model.constraint("upright", "q(plane, 2)")
    model.rigid_contact("foot", model.ground, block, surfaces=(FLOOR, {"kind": "point"}))
    model.contact_friction("friction", "foot", coefficient=coefficient, along="x")
    model.initial("plane", rate=(0, 3.0, 0))
    return model


def test_friction_slows_and_holds():
    """A block that slides, stops and stays; a loop does not matter to it."""
    model = sliding_block(0.25)
    run = stepped(model, 10.0, 1e-3, certify=False)
    way = run.joint("plane").q.values[:, 1]
    assert way[-1] == pytest.approx(3.0**2 / (2 * 0.25 * 9.81), rel=1e-3)
    assert np.ptp(way[-30:]) < 1e-12 and np.abs(run.joint("plane").u[-1]).max() < 1e-12
    assert np.ptp(run.energy.balance.values) < 0.01


@pytest.mark.slow
def test_friction_that_turns_around_converges_with_first_order():
    """A block on a spring: by events every half swing takes π/ω, as in the closed form; steps come near by the first
    order, since each turn falls anywhere within its step."""
    model = sliding_block(0.1)
    model.spring("spring", model.ground, "block", at=((-1, 0, 0), (0, 0, 0)), stiffness=50.0, length=1.0)
    exact = da.simulate(model, 2.0, output_step=0.04)
    turns = [event.time for event in exact.events]
    assert len(turns) == 5 and np.diff(turns) == pytest.approx(np.pi / np.sqrt(50), rel=1e-9)
    way, steps = exact.joint("plane").q.values[:, 1], 2e-3 / 2.0 ** np.arange(5)
    runs = [stepped(model, 2.0, step, certify=False).joint("plane").q.values[:, 1] for step in steps]
    errors = [np.abs(run - way).max() for run in runs]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.15)
    assert errors[-1] < 2e-4 * np.abs(way).max()


def test_a_column_of_balls_comes_to_rest():
    """Twelve contacts that close in one heap of impacts, which events would go through one by one."""
    model, n, radius = da.Model("column"), 12, 0.1
    for i in range(n):
        ball = model.sphere(f"b{i}", (0, 0, radius + 0.21 * i), radius, mass=1.0)
        model.prismatic(f"g{i}", model.ground, ball, point=(0, 0, 0), axis="z")
        skin = {"kind": "sphere", "at": (0, 0, radius + 0.21 * i), "radius": radius}
        below = {"kind": "sphere", "at": (0, 0, radius + 0.21 * (i - 1)), "radius": radius} if i else FLOOR
        other = f"b{i - 1}" if i else model.ground
        model.rigid_contact(f"c{i}", other, f"b{i}", surfaces=(below, skin), restitution=0.3)
    run = stepped(model, 1.5, 4e-4, certify=False)
    heights = np.array([float(run.joint(f"g{i}").q[-1]) for i in range(n)])
    assert np.allclose(heights, -0.01 * np.arange(n), atol=1e-3)  # each on the one below, but for what it entered
    assert max(abs(float(run.joint(f"g{i}").u[-1])) for i in range(n)) < 1e-9


def _dropped(height):
    model = da.Model("ball")
    ball = model.body("ball", mass=1.0, inertia=(1, 1, 1), com=(0, 0, height))
    model.prismatic("way", model.ground, ball, point=(0, 0, height), axis="z")
    point = {"kind": "point", "at": (0, 0, height)}
    model.rigid_contact("floor", model.ground, ball, surfaces=(FLOOR, point), restitution=0.8)
    return model


@pytest.mark.parametrize("height", 1.0 + 0.0073 * np.arange(12))
def test_the_estimate_covers_an_impact_anywhere_within_its_step(height):
    """Half a step may end in the same moment as a step: such companions found 0.67 of the error, and less. The motion
    is that of a fall and of the throw that follows."""
    step, g = 1e-3, 9.81
    run = da.simulate(_dropped(height), 0.9, integrator="moreau-jean", step=step, output_step=0.02)
    hit, t = np.sqrt(2 * height / g), run.values("time")
    late, speed = t - hit, 0.8 * g * hit
    q = np.where(late < 0, -g * t**2 / 2, -height + speed * late - g * late**2 / 2)
    u = np.where(late < 0, -g * t, speed - g * late)
    error = np.abs(run.values("q")[:, 0] - q).max() / np.abs(q).max()
    apart = np.abs(run.values("u")[:, 0] - u)[np.abs(late) > step]
    assert run.certificate.error >= max(error, apart.max() / np.abs(u).max())


def test_the_certificate_compares_with_a_quarter_of_the_step():
    good = stepped(da.library.bouncing_ball(), 1.0, 1e-4)
    assert good.certificate.trusted and "steps of 2.5e-05 s" in str(good.certificate)
    assert not stepped(da.library.bouncing_ball(), 1.0, 2e-2).certificate.trusted


def test_without_contacts_it_is_a_plain_method():
    """A loop alone: of second order then."""
    exact = da.simulate(da.library.four_bar(), 1.0, output_step=1 / 50, certify=False).joint("A").q.values
    runs = [stepped(da.library.four_bar(), 1.0, step, certify=False) for step in (1e-3, 5e-4)]
    errors = [np.abs(run.joint("A").q.values - exact).max() for run in runs]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2) and errors[1] < 1e-3


@pytest.mark.parametrize(
    ("name", "words"),
    [("stick-slip", "friction of rigid contacts, not of joints"), ("quarter-car", None), ("five-bar", "first order")],
)
def test_what_it_refuses(name, words):
    model = da.library.build(name)
    if words is None:
        assert stepped(model, 0.1, 1e-3, certify=False).certificate.message.startswith("finished")
        return
    with pytest.raises(da.ModelError, match=words):
        stepped(model, 0.1, 1e-3, certify=False)


def test_a_bowling_ball_slides_obliquely_and_then_rolls():
    """In space: it rolls with 5/7 of its speed along its way, from 2/7 v/(μ g) on."""
    model, v = da.Model("bowling"), np.array([1.0, 2.0])
    ball = model.sphere("ball", (0, 0, 0.1), radius=0.1, mass=2.0)
    surfaces = ({"kind": "plane", "axis": "z"}, {"kind": "sphere", "at": (0, 0, 0.1), "radius": 0.1})
    model.rigid_contact("floor", model.ground, ball, surfaces=surfaces)
    model.contact_friction("rub", "floor", coefficient=0.2)
    rates = {"ball": (0, 0, 0, *v, 0)}
    run = da.simulate(model, 1.0, integrator=da.integrators.MoreauJean(step=1e-3), initial_rates=rates)
    assert np.allclose(run.body("ball").velocity[-1], [*(5 / 7 * v), 0], atol=1e-5)
    slides = 2 / 7 * np.linalg.norm(v) / (0.2 * 9.81)
    way = v * slides - 0.1 * 9.81 * v / np.linalg.norm(v) * slides**2 + 5 / 7 * v * (1.0 - slides)
    assert np.allclose(run.body("ball").position[-1, :2], way, atol=1e-4)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_an_over_constrained_loop_moves(coordinates):
    """Beside the constraints, in the middle of a step, equations that depend on each other seem independent: Bennett's
    linkage stood still at constant velocity, and was trusted, as the run with smaller steps stood still too."""
    run, truth = (
        da.simulate(da.library.bennett(), 1.0, coordinates=coordinates, output_step=0.01, **options)
        for options in ({"integrator": "moreau-jean", "step": 1e-3}, {})
    )
    assert run.certificate.trusted and run.certificate.estimate.by.startswith("by dopri8")
    np.testing.assert_allclose(run.values("position"), truth.values("position"), atol=1e-5)
