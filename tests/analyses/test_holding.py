"""Whether friction holds a mechanism where it is, against closed forms."""

import numpy as np
import pytest
from support.ladder import ladder

import dalembert as da

G = 9.81


def slope(angle, **friction):
    model = da.Model("block on a slope", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    block = model.body("block", mass=2.0, inertia=(1, 1, 1))
    model.prismatic("slide", model.ground, block, point=(0, 0, 0), axis="x")
    model.friction("rub", "slide", **friction)
    return model


@pytest.mark.parametrize("angle", [0.0, 0.1, 0.3, 0.45, 0.5, 0.8])
def test_a_block_holds_up_to_the_angle_of_friction(angle):
    mu0 = 0.5
    found = da.holding(slope(angle, coefficient=0.3, static=mu0))
    assert found.holds == (np.tan(angle) <= mu0)
    assert np.isclose(found.forces["rub"], 2.0 * G * np.sin(angle), atol=1e-12)
    assert np.isclose(found.most["rub"], mu0 * 2.0 * G * np.cos(angle), rtol=1e-12)
    assert np.isclose(found.margin, 1 - np.tan(angle) / mu0, atol=1e-12)


def test_its_words_say_how_much_is_left():
    assert str(da.holding(slope(0.2, coefficient=0.5))) == "holds; rub 3.89789 of 9.61445, margin 0.595"
    assert str(da.holding(slope(0.6, coefficient=0.5))).startswith("slips; rub 11.0")


@pytest.mark.parametrize("angle", [0.05, 0.11, 0.13, -0.2])
def test_a_pendulum_rests_in_a_range_about_its_lowest_position(angle):
    """A pin of radius r holds m g l sin θ ≤ μ r m g."""
    mu, r, length = 0.3, 0.3, 0.8
    model = da.Model("pendulum", gravity=(0, -G, 0))
    bob = model.body("bob", mass=1.5, com=(0, -length, 0), inertia=(0, 0, 0.1))
    model.revolute("pivot", model.ground, bob, point=(0, 0, 0), axis="z")
    model.friction("rub", "pivot", coefficient=mu, radius=r)
    found = da.holding(model, {"pivot": angle})
    needed, most = length * abs(np.sin(angle)), mu * r
    assert found.holds == (needed <= most)
    assert np.isclose(found.margin, 1 - needed / most, rtol=1e-10)


def test_a_screw_locks_itself():
    for mu, locks in ((0.5 * 0.01 / (2 * np.pi * 0.005), False), (1.5 * 0.01 / (2 * np.pi * 0.005), True)):
        model = da.Model("jack", gravity=(0, 0, -G))
        nut = model.body("nut", mass=5.0, inertia=(0.1, 0.1, 0.1))
        model.screw("thread", model.ground, nut, point=(0, 0, 0), axis="z", pitch=0.01)
        model.friction("rub", "thread", coefficient=mu, radius=0.005)
        assert da.holding(model).holds == locks


@pytest.mark.parametrize("slack", [-0.02, 0.02])
@pytest.mark.parametrize(("floor", "wall"), [(0.4, 0.0), (0.4, 0.3), (0.6, 0.5)])
def test_a_ladder_slides_below_its_closed_form(floor, wall, slack):
    """It holds from tan α = (1 − μ μ_w)/(2 μ) on."""
    angle = np.arctan((1 - floor * wall) / (2 * floor)) + slack
    assert da.holding(ladder(angle, floor, wall)).holds == (slack > 0)


def test_a_wheel_on_a_slope_rolls_though_it_does_not_slip():
    """It takes m g sin α/3 of friction."""
    model = da.Model("wheel", gravity=(G * np.sin(0.4), 0, -G * np.cos(0.4)))
    wheel = model.disc("wheel", (0, 0, 0.1), 0.1, thickness=0.02, mass=2.0, axis="y")
    model.planar("plane", model.ground, wheel, point=(0, 0, 0.1), axis="y")
    surfaces = ({"kind": "plane", "axis": "z"}, {"kind": "disc", "at": (0, 0, 0.1), "axis": "y", "radius": 0.1})
    model.rigid_contact("floor", model.ground, wheel, surfaces=surfaces)
    model.contact_friction("rub", "floor", coefficient=0.3, along="x")
    found = da.holding(model)
    assert not found.holds and str(found).startswith("moves, though nothing slips")
    assert np.isclose(found.forces["rub"], 2.0 * G * np.sin(0.4) / 3, rtol=1e-12)


def test_what_a_run_came_to_rest_in_holds():
    """A sled on a spring stops where the spring is weaker than friction, and a block on the floor where it slid to."""
    model = da.Model("sled", gravity=(0, 0, -G))
    sled = model.body("sled", mass=1.0, inertia=(1, 1, 1))
    model.prismatic("slide", model.ground, sled, point=(0, 0, 0), axis="x")
    model.joint_force("spring", "slide", value="-100*q(slide)")
    model.friction("rub", "slide", coefficient=0.2)
    run = da.simulate(model, 2.0, initial={"slide": 0.1})
    found = da.holding(model, run)
    assert found.holds
    assert np.isclose(found.forces["rub"], 100 * abs(float(run.joint("slide").q[-1])), rtol=1e-9)
    assert not da.holding(model, {"slide": 0.1}).holds

    model = da.Model("block", gravity=(0, 0, -G))
    block = model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.planar("plane", model.ground, block, point=(0, 0, 0), axis="y")
    surfaces = ({"kind": "plane", "axis": "z"}, {"kind": "point"})
    model.constraint("upright", "q(plane, 2)")
    model.rigid_contact("foot", model.ground, block, surfaces=surfaces)
    model.contact_friction("rub", "foot", coefficient=0.25, along="x")
    run = da.simulate(model, 2.0, initial_rates={"plane": (3.0, 0, 0)})
    found = da.holding(model, run)
    assert found.holds and np.isclose(found.most["rub"], 0.25 * G)


def test_another_model_has_no_say():
    with pytest.raises(da.DalembertError, match="a model with other joints"):
        da.holding(slope(0.1, coefficient=0.2), da.simulate(da.library.pendulum(), 0.1))


def test_what_has_no_answer_is_refused():
    model = da.library.pendulum()
    with pytest.raises(da.DalembertError, match="no friction that sticks"):
        da.holding(model)
    model.friction("rub", "pivot", coefficient=0.1, radius=0.1)
    model.drive("pivot", "0.3*t")
    with pytest.raises(da.DalembertError, match=r"pivot.* moves, so nothing rests"):
        da.holding(model)
