"""Limits, rigid contacts and friction in the analyses besides simulation: right, or refused in words."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

G = 9.81


def pendulum(**limits):
    model = da.library.pendulum(angle=1.0)
    if limits:
        model.limit("wall", "q(pivot)", **limits)
    return model


def ball():
    model = da.Model("ball")
    body = model.sphere("ball", (0, 0, 0.5), radius=0.1, mass=2.0)
    model.prismatic("guide", model.ground, body, point=(0, 0, 0), axis="z")
    touching = ({"kind": "plane", "axis": "z"}, {"kind": "sphere", "at": (0, 0, 0.5), "radius": 0.1})
    model.rigid_contact("floor", model.ground, body, surfaces=touching)
    return model


def rubbing(coefficient=0.3):
    model = pendulum()
    model.friction("rub", "pivot", coefficient=coefficient, radius=0.05)
    return model


# Equilibria


def test_a_pendulum_rests_on_its_stop_with_the_force_of_its_weight():
    found = da.equilibrium(pendulum(lower=0.2))
    (one,) = found
    assert one.state.q[0] == pytest.approx(0.2, abs=1e-12)
    assert one.contacts["wall"] == pytest.approx(G * np.sin(0.2), rel=1e-10)
    assert one.stable and "wall" in str(found)
    run = da.simulate(pendulum(lower=0.2), 1.0, initial={"pivot": 0.2})
    assert np.allclose(run.joint("pivot").q, 0.2, atol=1e-9)


def test_a_stop_that_nothing_presses_stays_open():
    (one,) = da.equilibrium(pendulum(lower=-0.5, upper=2.0))
    assert abs(one.state.q[0]) < 1e-9 and one.contacts == {}


def test_the_upper_stop_is_the_other_side():
    model = pendulum(lower=-2.0, upper=0.5)
    model.joint_force("push", "pivot", value=8.0)
    (one,) = da.equilibrium(model, {"pivot": 0.0})
    assert one.state.q[0] == pytest.approx(0.5, abs=1e-12)
    assert one.contacts["wall"] == pytest.approx(8.0 - G * np.sin(0.5), rel=1e-10)


def test_many_starts_find_what_rests_on_stops_and_what_balances_above():
    found = da.equilibrium(pendulum(lower=0.2, upper=3.5), starts=12)
    assert sorted((round(float(one.state.q[0]), 6), one.kind) for one in found) == [
        (0.2, "stable"), (round(np.pi, 6), "unstable"), (3.5, "stable"),
    ]  # fmt: skip


def test_a_ball_rests_on_the_floor():
    (one,) = da.equilibrium(ball())
    assert one.state.q[0] == pytest.approx(-0.4, abs=1e-12)
    assert one.contacts == {"floor": pytest.approx(2.0 * G)}


def test_a_stop_leaves_the_other_freedom_of_a_double_pendulum():
    """On its stop the upper rod stands; the lower one swings as a pendulum of its own."""
    model = da.library.double_pendulum()
    free = model.snapshot()
    first, second = (joint.name for joint in model.joints)
    model.limit("wall", f"q({first})", lower=0.3)
    free.constraint("held", f"q({first}) - 0.3")
    one, held = da.equilibrium(model)[0], da.equilibrium(free)[0]
    assert np.allclose(one.state.q, held.state.q, atol=1e-9)
    assert np.allclose(np.sort(np.abs(one.eigenvalues)), np.sort(np.abs(held.eigenvalues)), rtol=1e-9)
    assert one.stable and second in one.linear.states


def test_without_a_floor_below_nothing_rests():
    model = da.Model("falling")
    model.body("block", mass=1.0)
    model.prismatic("guide", model.ground, "block", point=(0, 0, 0), axis="z")
    model.limit("ceiling", "q(guide)", upper=1.0)
    with pytest.raises(da.DalembertError, match="nothing balances 'guide'"):
        da.equilibrium(model)


def test_two_feet_share_the_weight_by_the_law_of_the_lever():
    model = da.Model("block")
    block = model.body("block", mass=2.0, com=(0.1, 0, 0.5), inertia=(1, 1, 1))
    model.planar("plane", model.ground, block, point=(0, 0, 0), axis="y")
    for name, x in (("left", -0.5), ("right", 0.5)):
        foot = {"kind": "point", "at": (x, 0, 0)}
        model.rigid_contact(name, model.ground, block, surfaces=({"kind": "plane", "axis": "z"}, foot))
    (one,) = da.equilibrium(model, {"plane": (0.3, 0.0, 0.2)})
    assert one.contacts == {"left": pytest.approx(0.4 * 2 * G), "right": pytest.approx(0.6 * 2 * G)}
    assert one.neutral == (("plane[1]",),)  # it slides


def test_a_ball_in_a_groove_presses_on_both_sides():
    model, half = da.Model("groove"), np.sqrt(0.5)
    ball = model.sphere("ball", (0, 0, 0.5), radius=0.1, mass=1.0)
    model.planar("plane", model.ground, ball, point=(0, 0, 0.5), axis="y")
    model.constraint("upright", "q(plane, 2)")
    round_ = {"kind": "sphere", "at": (0, 0, 0.5), "radius": 0.1}
    for name, sign in (("left", 1), ("right", -1)):
        side = {"kind": "plane", "at": (0, 0, 0), "axis": (sign * half, 0, half)}
        model.rigid_contact(name, model.ground, ball, surfaces=(side, round_))
    (one,) = da.equilibrium(model)
    assert one.contacts == {"left": pytest.approx(G * half), "right": pytest.approx(G * half)}
    assert np.allclose(one.state.body("ball")[0].p, (0, 0, 0.1 / half), atol=1e-12) and one.stable


# Small motions


def test_small_motions_are_refused_where_motions_are_one_sided():
    with pytest.raises(da.DalembertError, match="'wall' touches there"):
        da.linearize(pendulum(lower=1.0))
    with pytest.raises(da.DalembertError, match=r"'wall' is 0\.5 .* beyond"):
        da.linearize(pendulum(lower=1.5))
    away = da.linearize(pendulum(lower=0.2)).A
    assert np.array_equal(away, da.linearize(pendulum()).A)


# Prescribed motion


def test_a_motion_through_a_stop_is_not_trusted():
    model = pendulum(lower=0.2)
    inverse = da.inverse_dynamics(model, {"pivot": "1 - 1.5*t"}, 1.0)
    assert not inverse.certificate.trusted and "beyond 'wall'" in str(inverse.certificate)
    driven = da.kinematics(model, 1.0, {"pivot": "1 - 1.5*t"})
    (event,) = driven.events
    assert event.kind == "beyond" and event.joint == "wall" and event.time == pytest.approx(0.8 / 1.5, abs=1e-9)
    assert not driven.certificate.trusted
    assert da.kinematics(model, 0.5, {"pivot": "1 - 1.5*t"}).certificate.trusted


def test_a_motion_that_leans_on_a_stop_says_so():
    inverse = da.inverse_dynamics(pendulum(lower=0.2), {"pivot": "0.2"}, 1.0)
    assert not inverse.certificate.trusted and "presses on 'wall'" in str(inverse.certificate)


def test_positions_beyond_a_stop_are_neither_assembled_nor_in_reach():
    model = pendulum(lower=0.2)
    with pytest.raises(da.DalembertError, match=r"'wall' is 0\.7 .* beyond"):
        da.assemble(model, {"pivot": -0.5})
    with pytest.raises(da.DalembertError, match="state 1: 'wall'"):
        da.assemble(model, {"pivot": [0.5, -0.5]})
    space = da.workspace(model, "bob", {"pivot": (-1.0, 1.0)})
    assert np.array_equal(space.reachable, space.values[:, 0] >= 0.2)
    with pytest.raises(da.DalembertError, match="point must be"):
        da.workspace(model, ("bob", (0, 0)), {"pivot": (-1.0, 1.0)})


def test_branches_beyond_a_stop_are_left_out():
    model = da.library.four_bar()
    both = da.assemble(model, {"A": 0.8}, branches="all")
    assert len(both) == 2
    angles = [float(state.joint("D")[0][0]) for state in both]
    model.limit("stop", "q(D)", **{"upper" if angles[0] < angles[1] else "lower": float(np.mean(angles))})
    (one,) = da.assemble(model, {"A": 0.8}, branches="all")
    assert np.allclose(one.q, both[0].q, atol=1e-9)


# Friction


def goes_forward(model, inverse, joint, every):
    """How far the motion is missed by a run with the torques that inverse dynamics found, every so many instants."""
    t, q, u = inverse.time.values, inverse.joint(joint).q.values, inverse.joint(joint).u.values
    model.table("given", x=t[::every], y=inverse[joint].values[::every])
    model.joint_force("motor", joint, value="given(t)")
    start = {"initial": {joint: float(q[0])}, "initial_rates": {joint: float(u[0])}}
    return np.abs(da.simulate(model, float(t[-1]), rtol=1e-10, **start).joint(joint).q.values - q).max()


def test_friction_of_a_pin_is_in_the_torque_and_forward_dynamics_gives_the_motion_back():
    law, model = "0.3*t + 0.2*sin(t)**2", rubbing()
    inverse = da.inverse_dynamics(model, {"pivot": law}, 1.0)
    assert inverse.certificate.trusted
    pin = np.linalg.norm(inverse.reaction("pivot").sel(kind="force"), axis=1)
    assert np.allclose(inverse.friction("rub"), -0.3 * 0.05 * pin, rtol=1e-12)
    without = da.inverse_dynamics(pendulum(), {"pivot": law}, 1.0)
    assert np.allclose(inverse["pivot"] - without["pivot"], 0.3 * 0.05 * pin, rtol=1e-12)
    assert np.ptp(inverse.energy.balance.values) < 1e-10
    assert goes_forward(model, inverse, "pivot", 10) < 1e-9


def test_friction_in_all_joints_of_a_loop_goes_forward_again():
    model = da.library.four_bar()
    for joint in "ABCD":
        model.friction(f"rub {joint}", joint, coefficient=0.2, radius=0.03)
    inverse = da.inverse_dynamics(model, {"A": "0.8 + 3*t + 0.5*sin(t)"}, 0.2)
    assert inverse.certificate.trusted and "stands still" not in str(inverse.certificate)
    for joint in "ABCD":
        pin = np.linalg.norm(inverse.reaction(joint).sel(kind="force"), axis=1)
        assert np.allclose(np.abs(inverse.friction(f"rub {joint}")), 0.2 * 0.03 * pin, rtol=1e-9)
    assert goes_forward(model, inverse, "A", 5) < 1e-8


def test_a_guide_that_jams_has_no_force():
    """A slider pushed at 45° against its guide: N = μ N + m g + … has no solution from μ tan 45° = 1 on."""
    for coefficient, jams in ((0.6, False), (1.2, True)):
        model = da.Model("block")
        block = model.body("block", mass=2.0, inertia=(1, 1, 1))
        slide = model.prismatic("slide", model.ground, block, point=(0, 0, 0), axis="x")
        push = model.parameters(F=0.0)
        model.force("push", block, value=(push, 0, -push), at=(0, 0, 0))
        model.friction("rub", slide, coefficient=coefficient)
        if jams:
            with pytest.raises(da.SimulationError, match=r"rub.* jams"):
                da.inverse_dynamics(model, {"slide": "t"}, 1.0, unknowns=["F"])
        else:
            found = da.inverse_dynamics(model, {"slide": "t"}, 1.0, unknowns=["F"])
            assert np.allclose(found["F"], coefficient * 2.0 * G / (1 - coefficient), rtol=1e-10)


def test_friction_is_refused_where_an_analysis_does_not_know_it():
    with pytest.raises(da.DalembertError, match=r"friction that sticks and slips \(rub\)"):
        da.equilibrium(rubbing())


@pytest.mark.parametrize("make", [lambda: pendulum(lower=0.2), rubbing, ball])
def test_samples_touch_and_rub_as_single_runs_do(make):
    model = make()
    name = model.joints[0].name
    batch = da.simulate_many(model, 2.0, initial={name: [0.5, 0.9]}, output_step=0.02)
    for i, start in enumerate((0.5, 0.9)):
        run = da.simulate(model, 2.0, initial={name: start}, output_step=0.02)
        assert np.allclose(batch.data.q.values[i], run.values("q"), atol=1e-12)
