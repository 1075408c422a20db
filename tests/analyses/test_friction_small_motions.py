"""Small motions of mechanisms that rub: the force of what slips follows the motion, what sticks is a constraint."""

import numpy as np
import pytest

import dalembert as da

G = 9.81
ANGLE, MASS = 0.2, 2.0
SIN, COS = np.sin(ANGLE), np.cos(ANGLE)


def slope(stiffness=0.0, **friction):
    """A block on a slope, held by a spring from its start."""
    model = da.Model("block on a slope", gravity=(G * SIN, 0, -G * COS))
    block = model.body("block", mass=MASS, inertia=(1, 1, 1))
    model.prismatic("slide", model.ground, block, point=(0, 0, 0), axis="x")
    model.joint_force("spring", "slide", value=f"-{stiffness}*q(slide)")
    model.friction("rub", "slide", **friction)
    return model


@pytest.mark.parametrize("v", [0.25, -0.25])
def test_a_block_that_slips_is_damped_by_what_friction_falls_with_its_speed(v):
    k, mu, mu0, vs, c = 50.0, 0.3, 0.5, 0.4, 1.5
    model = slope(k, coefficient=mu, static=mu0, stribeck=vs, viscous=c)
    linear = da.linearize(model, {"slide": 0.1, "slide.d": v}, inputs=["slide"])
    falls = (mu0 - mu) * np.exp(-((v / vs) ** 2)) * 2 * abs(v) / vs**2 * G * COS
    assert np.allclose(linear.A, [[0, 1], [-k / MASS, falls - c / MASS]], rtol=1e-13)
    assert np.allclose(linear.B, [[0], [1 / MASS]], rtol=1e-13)
    rubs = (mu + (mu0 - mu) * np.exp(-((v / vs) ** 2))) * G * COS
    assert np.allclose(linear.rates, [v, G * SIN - np.sign(v) * rubs - c / MASS * v - k / MASS * 0.1], rtol=1e-13)


def test_a_block_pushed_at_a_slant_feels_friction_of_its_push():
    model = slope(coefficient=0.3)
    model.parameters(F=0.0)
    model.force("push", "block", value=("F*cos(0.4)", 0, "-F*sin(0.4)"), at=(0, 0, 0))
    linear = da.linearize(model, {"slide.d": 1.0}, inputs=["F"])
    assert np.allclose(linear.B[1], (np.cos(0.4) - 0.3 * np.sin(0.4)) / MASS, rtol=1e-13)


def test_a_block_that_sticks_has_no_motion_left():
    linear = da.linearize(slope(50.0, coefficient=0.3))
    assert linear.states == ("slide",) and linear.A == 0.0
    assert linear.kind == "equilibrium"


def test_friction_of_a_pin_follows_its_load():
    """I θ'' = −m g l sin θ − μ r N, with N the force of the pin."""
    model = da.Model("pendulum", gravity=(0, -G, 0))
    bob = model.body("bob", mass=1.5, com=(0, -0.8, 0), inertia=(0, 0, 0.1))
    model.revolute("pivot", model.ground, bob, point=(0, 0, 0), axis="z")
    model.friction("rub", "pivot", coefficient=0.3, radius=0.05)
    angle, speed, m, length = 0.3, 1.2, 1.5, 0.8
    inertia = 0.1 + m * length**2

    def acceleration(angle, speed):
        found = 0.0
        for _ in range(100):
            along = m * G * np.cos(angle) + m * length * speed**2
            across = m * G * np.sin(angle) + m * length * found
            found = (-m * G * length * np.sin(angle) - 0.3 * 0.05 * np.hypot(along, across)) / inertia
        return found

    h = 1e-5
    by_angle = (acceleration(angle + h, speed) - acceleration(angle - h, speed)) / (2 * h)
    by_speed = (acceleration(angle, speed + h) - acceleration(angle, speed - h)) / (2 * h)
    linear = da.linearize(model, {"pivot": angle, "pivot.d": speed})
    assert np.allclose(linear.A[1], [by_angle, by_speed], rtol=1e-8)
    assert np.isclose(linear.rates[1], acceleration(angle, speed), rtol=1e-12)


def test_what_slips_in_a_plane_turns_its_friction_with_its_velocity():
    """Along v the force is constant; across, it is −μ N/v of the velocity across."""
    model = da.Model("puck", gravity=(0, 0, -G))
    puck = model.body("puck", mass=MASS, inertia=(1, 1, 1))
    model.planar("plane", model.ground, puck, point=(0, 0, 0), axis="z")
    model.friction("rub", "plane", coefficient=0.25)
    speed = 1.6
    linear = da.linearize(model, {"plane.d": (0.0, speed, 0.0)})
    names = [name for name in linear.states if name.endswith(".d")]
    block = linear.A[len(linear.states) - len(names) :, len(linear.states) - len(names) :]
    assert np.allclose(np.sort(np.diag(block)), [-0.25 * G / speed, 0, 0], atol=1e-12)
    assert np.allclose(block - np.diag(np.diag(block)), 0, atol=1e-12)


def test_one_of_two_sleds_sticks_and_the_other_swings():
    """Sleds on one rail, joined by a spring: the light one sticks, the free one swings with √(k/m)."""
    model = da.Model("sleds", gravity=(0, 0, -G))
    for name, x in (("first", 0.0), ("second", 1.0)):
        sled = model.body(name, mass=MASS, com=(x, 0, 0), inertia=(1, 1, 1))
        model.prismatic(f"rail {name}", model.ground, sled, point=(x, 0, 0), axis="x")
    model.spring("k", "first", "second", at=((0, 0, 0), (1, 0, 0)), stiffness=80.0, length=1.0)
    model.friction("rub", "rail first", coefficient=0.3)
    linear = da.linearize(model)
    assert len(linear.states) == 3  # where the first one sticks, and the motion of the second
    assert np.allclose(np.sort(np.abs(linear.eigenvalues())), [0, np.sqrt(80 / MASS), np.sqrt(80 / MASS)], atol=1e-12)


@pytest.mark.parametrize(
    ("coefficient", "words"), [(np.tan(ANGLE), "is about to slip"), (0.9 * np.tan(ANGLE), "begins to slip there")]
)
def test_where_it_begins_to_slip_motions_are_one_sided(coefficient, words):
    with pytest.raises(da.DalembertError, match=words):
        da.linearize(slope(coefficient=coefficient))


def test_how_modes_follow_a_coefficient_of_friction():
    """With Stribeck friction the real part of the mode is half of what friction falls with the speed, per mass."""
    vs, v, model = 0.4, 0.25, slope(50.0, coefficient="mu", static=0.5, stribeck=0.4)
    model.parameters(mu=0.3)
    chart = da.linearize_over(model, "mu", [0.3, 0.35, 0.4], {"slide.d": v})
    for mu, linear in zip([0.3, 0.35, 0.4], chart.models, strict=True):
        falls = (0.5 - mu) * np.exp(-((v / vs) ** 2)) * 2 * v / vs**2 * G * COS
        assert np.allclose(linear.eigenvalues().real, falls / 2, rtol=1e-12)


def test_what_sticks_may_slip_with_other_parameters():
    model = slope(50.0, coefficient="mu")
    model.parameters(mu=0.3)
    linear = da.linearize(model)
    assert len(linear.again({"mu": 0.4}).states) == 1
    with pytest.raises(da.DalembertError, match="begins to slip"):
        linear.again({"mu": 0.1})


def test_reactions_that_redundant_rows_leave_open_have_no_friction():
    model = da.library.four_bar()
    model.friction("rub", "C", coefficient=0.1, radius=0.02)
    with pytest.raises(da.DalembertError, match=r"redundant constraints .* on which rub.force depends"):
        da.linearize(model, {"A": 0.4, "A.d": 1.0})
