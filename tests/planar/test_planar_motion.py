"""A planar mechanism moves the same by joint coordinates, by nodes, and whatever joint closes its loops."""

from __future__ import annotations

import numpy as np
import pytest
from planar_cases import CASES, four_bar, ring_and_disc, slider_crank

import dalembert as da
from dalembert.planar.planar_tree import PlanarTree
from dalembert.view.system_scene import system_scene

DURATION = 0.4
# The runs have tolerances of 1e-10.
SAME = 2e-9
TIGHT = {"rtol": 1e-10, "atol": 1e-11, "output_step": DURATION}


@pytest.mark.parametrize("name", CASES)
def test_no_redundant_rows_and_the_same_motion(name):
    """By joint coordinates, and by nodes: both compiled, from the same state."""
    w = CASES[name]()
    assert da.inspect(w).redundant == []
    run = da.simulate(w, DURATION, **TIGHT)
    assert run.certificate.trusted, run.certificate
    system, start = w.to_subsystem(), w.node_values(da.assemble(w))
    eq = system.equations()
    assert eq.redundant == ()
    assert eq.degrees_of_freedom == da.inspect(w).freedom
    found = da.simulate(system, DURATION, initial=start, **TIGHT)
    assert found.certificate.trusted, found.certificate
    for key, value in w.node_values(run).items():
        assert float(found[key][-1]) == pytest.approx(value, abs=SAME, rel=SAME), key


@pytest.mark.parametrize("order", ["BCDA", "CDAB", "DABC"])
def test_any_pin_may_close_the_loop(order):
    """Each order has its own spanning tree, some with joints reversed."""
    w = four_bar(order)
    run = da.simulate(w, DURATION, **TIGHT)
    place = [w.values(run, f"coupler.C.{axis}")[-1] for axis in "xy"]
    np.testing.assert_allclose(place, _reference("four-bar"), atol=SAME)


def _reference(name: str) -> list[float]:
    w = CASES[name]()
    run = da.simulate(w, DURATION, coordinates="absolute", **TIGHT)
    node = "coupler.C" if name == "four-bar" else "rod.C"
    return [w.values(run, f"{node}.{axis}")[-1] for axis in "xy"]


def test_forces_on_joints_that_close_a_loop():
    """An active pin and an active slide, in the tree or not: the torque acts on both bodies, the force on its line."""
    w = slider_crank()
    run = da.simulate(w, DURATION, **TIGHT)
    expected = [w.values(run, f"rod.C.{axis}")[-1] for axis in "xy"]
    w = slider_crank("B C guide A")
    w.initial("B", 0.0), w.initial("C", 0.0)  # draws these pins into the tree, so that A closes the loop
    assert [joint.name for joint in PlanarTree(w).cut] == ["A"]
    run = da.simulate(w, DURATION, **TIGHT)
    np.testing.assert_allclose([w.values(run, f"rod.C.{axis}")[-1] for axis in "xy"], expected, atol=SAME)


def test_a_slide_that_closes_a_loop():
    """Three slides in a ring: the last is closed by an equation of its own; angles are kept already."""
    w = da.Planar("wedges", gravity=(0, -9.81))
    low = w.body("low", P=(0, 0), mass=1, inertia=1)
    high = w.body("high", P=(0, 1), mass=2, inertia=1)
    w.prismatic("floor", "base", low, axis="x")
    w.prismatic("wall", "base", high, axis="y")
    w.prismatic("slope", low, high, axis=(1, 1), force="-1.5*slope.speed")
    assert [joint.name for joint in PlanarTree(w).cut] == ["slope"]
    assert da.inspect(w).redundant == []
    assert da.inspect(w).equations == 1
    run = da.simulate(w, 0.5, rtol=1e-10, atol=1e-12, output_step=0.5)
    # One freedom: y of the upper falls, x of the lower moves right by as much;  slope: s = √2 y.
    # (m₁ + m₂) ÿ = −m₂ g − 1.5 (√2)² ẏ
    y = w.values(run, "high.P.y")[-1] - 1
    rate, g = 1.5 * 2 / 3, 2 * 9.81 / 3
    assert y == pytest.approx(-g / rate * 0.5 + g / rate**2 * (1 - np.exp(-rate * 0.5)), abs=1e-9)
    assert w.values(run, "low.P.x")[-1] == pytest.approx(-y, abs=1e-9)
    assert w.equations().redundant == (), "no row for the angle"


def test_disc_rolls_down_a_slope():
    """a = ⅔ g sin α for a solid disc."""
    w, slope = da.Planar("disc", gravity=(0, -9.81)), 0.3
    disc = w.body("disc", c=(0, 0.5), mass=2, inertia=2 * 0.25 / 2)
    w.rolling_on_line("roll", disc.c, 0.5, axis=(np.cos(slope), -np.sin(slope)))
    run = da.simulate(w, 1.0, output_step=1.0)
    s = 9.81 * np.sin(slope) / 3
    assert w.values(run, "disc.c.x")[-1] == pytest.approx(s * np.cos(slope), abs=1e-7)
    assert w.values(run, "disc.angle")[-1] == pytest.approx(-s / 0.5, abs=1e-7)


def test_ring_and_disc_on_a_slope():
    """Examples 4.2 and 5.1 of the thesis: a disc rolls inside a ring that rolls down a plane; run of a published case.

    The angle of the line of centers against the vertical from asin 3/5 + π/6 at rest; sin ξ = 4/5.
    """
    slope, start = np.arcsin(0.8), np.arcsin(0.6) + np.pi / 6
    w = ring_and_disc(slope - start, gravity=(9.8 * 0.8, -9.8 * 0.6))
    run = da.simulate(w, 5.0, rtol=1e-10, atol=1e-11, output_step=1.0)
    assert run.certificate.trusted
    d = [w.values(run, f"disc.c.{axis}") - w.values(run, f"ring.c.{axis}") for axis in "xy"]
    theta = slope - np.arctan2(d[0], -d[1])
    np.testing.assert_allclose(theta[[1, 2, 5]], [0.228205738, 0.883812829, 1.143760851], atol=2e-9)


def test_ring_and_disc_in_steady_motion():
    """The line of centers keeps its angle asin 3/5; the ring then accelerates with 294/73 m/s²."""
    slope = np.arcsin(0.8)
    w = ring_and_disc(slope - np.arcsin(0.6), gravity=(9.8 * 0.8, -9.8 * 0.6))
    eq = w.equations()
    found = {str(label): value for label, value in eq.acceleration(w.node_values()).items()}
    assert found["ring.c.x.dd"] == pytest.approx(294 / 73, abs=1e-12)
    assert found["disc.c.x.dd"] == pytest.approx(294 / 73, abs=1e-12)
    assert found["disc.c.y.dd"] == pytest.approx(0.0, abs=1e-12)


def test_values_of_the_node_model():
    w = da.library.whitworth()
    drawn = w.node_values()
    assert drawn["crank.pin.x"] == 0.1 and drawn["crank.pin.x.d"] == 0.0
    turning = w.node_values(da.assemble(w, initial_rates={"A": 2.0}))
    assert (turning["crank.pin.x.d"], turning["A.omega"]) == pytest.approx((-0.2, 2.0))
    run = da.simulate(w, 0.1, initial_rates={"A": 2.0})
    assert w.node_values(run, 0.05)["crank.omega"] == pytest.approx(w.values(run.resample([0.05]), "crank.omega")[0])
    with pytest.raises(da.DalembertError, match="the run lasts from 0 to"):
        w.node_values(run, 3.0)


def test_inputs_have_laws_or_are_parameters():
    w = da.library.planar_pendulum()
    hold = da.simulate(w, 0.5, inputs={"u1": "9.8*bar.tip.x"})
    assert w.values(hold, "bar.omega")[-1] == pytest.approx(0.0, abs=1e-12)
    assert w.input_laws["u1"] == 0
    with pytest.raises(da.ModelError, match=r"has no input 'u2'"):
        da.simulate(w, 0.5, inputs={"u2": 1})
    assert w.inputs == ("u1",)
    # Against gravity: m g a cos of the angle from the horizontal.
    hold = da.simulate(w, 0.5, parameters={"u1": 9.8 * 0.8})
    assert w.values(hold, "bar.omega")[-1] == pytest.approx(0.0, abs=1e-10)
    w.input("u1", "9.8*bar.tip.x - 3*bar.omega")
    hold = da.simulate(w, 0.5, initial_rates={"O": 1.0})
    assert w.values(hold, "bar.angle")[-1] == pytest.approx((1 - np.exp(-3 * 0.5)) / 3, abs=1e-7)


def test_a_planar_mechanism_is_a_part_of_a_model():
    model = da.Model("two pendulums", gravity=(0, -9.8, 0))
    for name, x in (("left", 0), ("right", 3)):
        model.add(da.library.planar_pendulum(), name, pose=(x, 0, 0))
    assert da.inspect(model).freedom == 2
    assert da.simulate(model, 0.2).certificate.trusted


def test_changes_are_seen():
    w = da.library.planar_pendulum()
    first = w.to_model()
    assert w.to_model() is first
    w.body("weight", c=(0, -2), mass=1)
    assert w.to_model() is not first
    assert da.inspect(w).freedom == 4


def test_elliptic_trammel():
    """Two slides on the base, a bar between them; energy against the closed form."""
    w = da.Planar("elliptic trammel", gravity=(0, -9.81))
    left = w.body("left", P=(0.6, 0), end=(0.7, 0.1), com="P", mass=1, inertia=0.01)
    right = w.body("right", P=(0, 0.8), mass=1)
    bar = w.body("bar", P=(0.6, 0), Q=(0, 0.8), mass=1, inertia=1 / 12)
    w.revolute("P", left.P, bar.P)
    w.revolute("Q", right.P, bar.Q)
    w.prismatic("across", "base", left, axis="x")
    w.prismatic("up", "base", right, axis="y")
    # Slides come first into the tree: a pin closes the loop.
    assert [joint.name for joint in PlanarTree(w).cut] == ["Q"]
    run = da.simulate(w, 0.3, rtol=1e-10, atol=1e-12, output_step=0.3)
    x, y = w.values(run, "bar.P.x")[-1], w.values(run, "bar.Q.y")[-1]
    assert x**2 + y**2 == pytest.approx(1.0, abs=1e-10)
    # Energy: all three masses on the bar's ends and middle.
    vx, vy, omega = (w.values(run, name)[-1] for name in ("bar.P.vx", "bar.Q.vy", "bar.omega"))
    kinetic = (vx**2 + vy**2) / 2 + ((vx / 2) ** 2 + (vy / 2) ** 2) / 2 + omega**2 / 24
    assert kinetic == pytest.approx(9.81 * 1.5 * (0.8 - y), abs=1e-8)


def test_whatever_takes_a_model_takes_a_planar_mechanism():
    w = da.library.planar_pendulum()
    assert "ddot" in da.derive(w, "lagrange").latex()
    assert {entry.status for entry in da.compare(w, 0.1, formulations=["kane"])} == {"trusted"}
    assert da.compile(w).nv == 1
    assert len(da.simulate_many(w, 0.1, parameters={"u1": np.array([0.0, 1.0])}, output_step=0.1)) == 2
    with pytest.raises(da.ModelError, match="expected a model, got int"):
        da.inspect(3)  # type: ignore[arg-type]


def test_inverse_dynamics_of_rolling():
    """A disc that is turned along the floor:  torque = −(m r + J/r) ẍ."""
    w = da.Planar("disc", gravity=(0, -9.8))
    disc = w.body("disc", c=(0, 0.5), mass=2, inertia=0.25, torque="u")
    w.rolling_on_line("floor", disc.c, 0.5)
    for motion in ({"disc.c.x": "t**2"}, {"disc.angle": "-2*t**2"}):
        found = da.inverse_dynamics(w, motion, 1.0, output_step=0.5)
        np.testing.assert_allclose(found["u"].values, -(2 * 0.5 + 0.25 / 0.5) * 2, atol=1e-12)
        nodes = da.inverse_dynamics(w.to_subsystem(quantities=motion), motion, 1.0, output_step=0.1)
        np.testing.assert_allclose(nodes["u"].values, -3.0, atol=1e-9)


def test_bars_of_the_node_model_are_drawn():
    p = da.library.planar_pendulum()
    run = da.simulate(p.to_subsystem(), 0.2, output_step=0.1, initial=p.node_values(da.assemble(p)))
    scene = system_scene(run)
    tip = next(body for body in scene.bodies if body.name == "bar[2]")
    assert np.array_equal(tip.position[:, 0], run["bar.tip.x"].values) and len(scene.springs) == 1


def test_groups_have_values_to_start_from():
    """A pin between groups is a node of both; they move as the whole."""
    w = four_bar()
    groups = {"left": ["crank", "coupler"], "right": ["rocker"]}
    state = da.assemble(w, initial_rates={"A": 2.0})
    start = w.node_values(state, groups=groups)
    assert start["left.coupler.C.x"] == pytest.approx(start["right.rocker.C.x"])
    assert w.node_values(groups=groups)["right.rocker.C.x"] == pytest.approx(0.9)
    run = da.simulate(w.to_subsystem(groups=groups), DURATION, initial=start, **TIGHT)
    flat = da.simulate(w.to_subsystem(), DURATION, initial=w.node_values(state), **TIGHT)
    assert float(run["left.crank.B.x"][-1]) == pytest.approx(float(flat["crank.B.x"][-1]), abs=SAME)
