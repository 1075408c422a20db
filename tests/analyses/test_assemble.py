"""Assembly: guesses, given values, all branches, what cannot close, several states at once."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from support.family import planar

import dalembert as da
from dalembert.analyses.assembly.assemble_given import read_desired
from dalembert.analyses.assembly.assemble_search import Search

CLOSED = 1e-9


def residual(model, state, parameters=None):
    """The largest open gap of a state."""
    d = da.compile(model, coordinates="relative")
    q, u = state.to(d.coordinates)
    seen = d.residuals(state.time, q, u, parameters)
    return max(np.abs(seen.position).max(initial=0.0), np.abs(seen.velocity).max(initial=0.0))


def place(state, joint):
    """Where a joint is in the world."""
    placed = state.coordinates.nominal_joint(joint)
    X = placed.X_1P if placed.first == "ground" else state.body(placed.first)[0] @ placed.X_1P
    return np.asarray(X.p, dtype=float)[:2]


def circles(a, r, b, s):
    """Where two circles meet."""
    d = b - a
    length = np.hypot(*d)
    along = (r**2 - s**2 + length**2) / (2 * length)
    if r**2 < along**2:
        return []
    across = math.sqrt(r**2 - along**2) * np.array([-d[1], d[0]]) / length
    return [a + along * d / length + sign * across for sign in (1, -1)]


def same_points(found, expected):
    """Two sets of points are one."""
    found, expected = [sorted(map(tuple, np.round(part, 7))) for part in (found, expected)]
    return len(found) == len(expected) and np.allclose(found, expected, atol=1e-6)


# Given values


def test_given_values_are_kept_to_the_last_bit():
    model = da.library.four_bar()
    for value in (0.1, 1 / 3, -2.7, 7.123456789):
        state = da.assemble(model, {"A": value}, {"A": 1 / 7})
        assert state.joint("A")[0][0] == value and residual(model, state) < CLOSED
        assert np.isclose(state.joint("A")[1][0], 1 / 7, rtol=1e-12)


def test_a_bad_guess_closes_and_decides_about_the_branch():
    model = da.library.four_bar()
    both = da.assemble(model, {"A": 1.0}, branches="all")
    for name in both.names:
        wanted = both[name]
        guess = {j: float(wanted.joint(j)[0][0]) + 0.6 for j in ("B", "D")}
        state = da.assemble(model, {"A": 1.0}, guess=guess)
        assert residual(model, state) < CLOSED
        assert np.allclose(place(state, "C"), place(wanted, "C"), atol=1e-9)
    # A joint that closes the loop may be guessed, too; and a state.
    crossed = da.assemble(model, {"A": 1.0}, guess={"C": float(both["crossed"].joint("C")[0][0])})
    assert np.allclose(place(crossed, "C"), place(both["crossed"], "C"), atol=1e-9)
    again = da.assemble(model, {"A": 1.1}, guess=both["crossed"])
    assert np.hypot(*(place(again, "C") - place(both["crossed"], "C"))) < 0.2


@pytest.mark.slow
def test_the_stewart_platform_closes_from_a_guess_wrong_by_60_degrees_and_half_a_leg():
    model, rng = da.library.stewart_platform(), np.random.default_rng(3)
    length = 1.35  # of a leg as drawn, about
    for _ in range(3):
        guess = {}
        for i in range(1, 7):
            guess[f"foot_{i}"] = tuple(math.pi / 3 * rng.choice([-1.0, 1.0], 2))
            guess[f"leg_{i}"] = length / 2 * rng.choice([-1.0, 1.0])
        axis = rng.normal(size=3)
        guess["head_1"] = (math.cos(math.pi / 6), *(math.sin(math.pi / 6) * axis / np.linalg.norm(axis)))
        assert residual(model, da.assemble(model, guess=guess)) < CLOSED


def test_locked_joints_and_bodies_stay():
    model = da.library.four_bar()
    drawn = da.assemble(model)
    state = da.assemble(model, locked=["D"])
    assert state.joint("D")[0][0] == drawn.joint("D")[0][0]
    w = da.library.three_rrr()
    state = da.assemble(w, {"A1": 0.2}, locked=["A2", "A3"])
    assert [float(state.joint(j)[0][0]) for j in ("A1", "A2", "A3")] == pytest.approx([0.2, 0.0, 0.0], abs=1e-14)
    # A pin that closes a loop of a planar mechanism has no coordinate of its own; its angle is locked.
    state = da.assemble(w, {"A1": 0.2}, locked=["B2", "A3"])
    X = {body: state.body(body)[0].R for body in ("platform", "coupler2")}
    assert np.allclose(X["platform"], X["coupler2"], atol=1e-9)


def test_heavy_joints_move_less():
    w = da.library.three_rrr()
    moved = {name: abs(da.assemble(w, {"A1": 0.4}, weights={name: 1e6}).joint(name)[0][0]) for name in ("A2", "K3")}
    free = da.assemble(w, {"A1": 0.4})
    assert all(value < 1e-3 for value in moved.values())
    assert all(abs(free.joint(name)[0][0]) > 1e-2 for name in moved)


def test_poses_points_outputs_and_formulas_may_be_given():
    model = da.library.four_bar()
    x = da.assemble(model, {"A": 0.7}).body("coupler")[0].p[0]
    for wanted in ({"x(coupler)": x}, {"x of the coupler": x}, {("coupler", (0.7, 0.4, 0)): [None, 0.55, None]}):
        state = da.assemble(model, wanted)
        assert residual(model, state) < CLOSED
    assert da.assemble(model, {"x(coupler)": x}).body("coupler")[0].p[0] == pytest.approx(x, abs=1e-12)
    free = da.assemble(model, {"A": 0.7})
    Q, p = free.body("crank")[0], free.body("crank")[0].p
    half = math.atan2(Q.R[1, 0], Q.R[0, 0]) / 2
    state = da.assemble(model, {"crank": (math.cos(half), 0, 0, math.sin(half), *p)})
    assert state.joint("A")[0][0] == pytest.approx(0.7, abs=1e-9)
    undriven = da.Model("leg", gravity=(0, 0, 0))
    body = undriven.body("bar", mass=1, inertia=(1, 1, 1), com=(0, 0, 1))
    undriven.universal("foot", undriven.ground, body, point=(0, 0, 0), axis=(1, 0, 0), axis_2=(0, 1, 0))
    assert da.assemble(undriven, {"foot": (0.3, None)}).q.tolist() == [0.3, 0.0]
    assert da.assemble(undriven, {"foot[1]": 0.4}).q.tolist() == [0.0, 0.4]


def test_compiled_equations_planar_mechanisms_and_subsystems_are_taken():
    model = da.library.four_bar()
    one = da.assemble(da.compile(model, coordinates="absolute"), {"A": 1.0})
    assert np.allclose(one.q, da.assemble(model, {"A": 1.0}).q)
    w = da.library.whitworth()
    assert da.assemble(w, {"crank.angle": 0.4}).joint("A")[0][0] == pytest.approx(0.4, abs=1e-12)
    pendulum = da.Subsystem("pendulum")
    x, y = pendulum.coordinates("x y")
    pendulum.invariants(x**2 + y**2 - 1)
    pendulum.guess({"y": -1.0})
    pendulum.effective_forces({x: -x.dd, y: -9.81 - y.dd})
    found = da.assemble(pendulum, {"x": 0.6}, {"x": 1.0})
    assert found["x"] == 0.6 and found["y"] == pytest.approx(-0.8) and found["y.d"] == pytest.approx(0.75)
    with pytest.raises(da.DalembertError, match="variables, not joints"):
        da.assemble(pendulum, branches="all")


# Branches


@pytest.mark.parametrize("seed", range(12))
def test_both_branches_of_random_four_bars_are_where_the_circles_meet(seed):
    rng = np.random.default_rng(seed)
    model = FOUR_BAR
    while True:
        lengths = dict(zip(("crank", "coupler", "rocker", "base"), rng.uniform(0.3, 1.2, 4), strict=True))
        angle = rng.uniform(-3, 3)
        s = lengths["base"] - lengths["crank"]
        drawable = abs(s) > 0.05 and lengths["coupler"] > abs(
            (s**2 + lengths["coupler"] ** 2 - lengths["rocker"] ** 2) / (2 * s)
        )
        B, D = lengths["crank"] * np.array([math.cos(angle), math.sin(angle)]), np.array([lengths["base"], 0.0])
        expected = circles(B, lengths["coupler"], D, lengths["rocker"])
        if drawable and expected and np.hypot(*(expected[0] - expected[1])) > 1e-2:
            break
    found = da.assemble(model, {"A": angle}, parameters=lengths, branches="all")
    spots = []
    for state in found:
        assert residual(model, state, lengths) < CLOSED and state.joint("A")[0][0] == angle
        D_angle = float(state.joint("D")[0][0])
        drawn = math.atan2(*reversed(circle_drawn(lengths)))
        spots.append(D + lengths["rocker"] * np.array([math.cos(D_angle + drawn), math.sin(D_angle + drawn)]))
    assert same_points(spots, expected)
    # open: A and C on different sides of BD
    for name, C in zip(found.names, spots, strict=True):
        sides = [(D - B)[0] * (P - B)[1] - (D - B)[1] * (P - B)[0] for P in (np.zeros(2), C)]
        assert name == ("open" if sides[0] * sides[1] < 0 else "crossed")


FOUR_BAR = da.library.four_bar()


def circle_drawn(p):
    """D to C as drawn, with the crank toward D."""
    s = p["base"] - p["crank"]
    x = (s**2 + p["coupler"] ** 2 - p["rocker"] ** 2) / (2 * s)
    return p["crank"] + x - p["base"], math.sqrt(p["coupler"] ** 2 - x**2)


@pytest.mark.parametrize(("loops", "seed"), [(1, 0), (1, 1), (2, 2), (2, 3), (3, 4)])
def test_branches_of_rows_of_four_bars_are_all_those_of_their_dyads(loops, seed):
    """Given the first crank, every further crank is where two circles meet: closed forms, so nothing may be missing."""
    model = planar(loops, seed)
    drawn = da.assemble(model)
    feet = [place(drawn, f"foot{i}") for i in range(loops + 1)]
    heads = [place(drawn, f"left{i}") for i in range(loops)] + [place(drawn, f"right{loops - 1}")]
    angle = 0.15
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    ways = [[feet[0] + turn @ (heads[0] - feet[0])]]
    for i in range(loops):
        r, s = np.hypot(*(heads[i + 1] - heads[i])), np.hypot(*(heads[i + 1] - feet[i + 1]))
        ways = [[*way, end] for way in ways for end in circles(way[-1], r, feet[i + 1], s)]
    found = da.assemble(model, {"foot0": angle}, branches="all")
    spots = [
        np.concatenate([*(place(state, f"left{i}") for i in range(loops)), place(state, f"right{loops - 1}")])
        for state in found
    ]
    assert same_points(spots, [np.concatenate(way) for way in ways])
    assert all(residual(model, state) < CLOSED for state in found)
    assert len(set(found.names)) == len(found) and found.unexplored < 1e-3


def test_all_eight_branches_of_a_3_rrr_at_a_pose_with_their_names():
    w = da.library.three_rrr()
    pose = {"platform.center.x": 0.3, "platform.center.y": -0.2, "platform.angle": 0.2}
    for found in (da.assemble(w, pose, branches="all"), da.assemble(w, locked=["platform"], branches="all")):
        assert len(found) == 8
        signs = {tuple(re.findall(r"K(\d)([+−])", name)) for name in found.names}
        assert len(signs) == 8 and all(len(one) == 3 for one in signs)
        knees = np.array([[place(state, f"K{i}") for i in (1, 2, 3)] for state in found])
        assert all(len(np.unique(np.round(knees[:, i], 7), axis=0)) == 2 for i in range(3))
    # The drawing is symmetric, so its knees all bend to the same side, and it comes first.
    assert len(set(re.findall(r"[+−]", found.names[0]))) == 1


def test_branches_of_other_mechanisms():
    slider = da.assemble(da.library.slider_crank(), {"main_bearing": 0.5}, branches="all")
    assert len(slider) == 2 and all(residual(da.library.slider_crank(), state) < CLOSED for state in slider)
    rocker = da.assemble(da.library.crank_rocker(), branches="all", time=0.1)  # its motor gives the crank
    assert sorted(rocker.names) == ["crossed", "open"]
    alone = da.assemble(da.library.pendulum(), locked=[da.library.pendulum().joints[0].name], branches="all")
    assert alone.names == ("only",)


@pytest.mark.slow
def test_the_stewart_platform_has_eight_poses_and_legs_that_turn_over():
    found = da.assemble(da.library.stewart_platform(), branches="all")
    assert len(found) == 8 * 2**6  # every leg may be turned by half a turn about itself
    assert len(found.distinct("platform")) == 8


def test_branches_read_print_and_draw(tmp_path):
    found = da.assemble(FOUR_BAR, {"A": 1.0}, {"A": 2.0}, branches="all")
    assert found[0] is found[found.names[0]] and list(found) == list(found.states)
    assert all(state.joint("A")[1][0] == pytest.approx(2.0) for state in found)
    assert "by statistics, not by proof" in str(found) and "2 branches of 'four-bar'" in repr(found)
    found.draw(tmp_path / "branches.png")
    assert (tmp_path / "branches.png").stat().st_size > 5000
    with pytest.raises(da.DalembertError, match="unknown branch 'closed'; there are"):
        _ = found["closed"]
    with pytest.raises(da.DalembertError, match="distinct: expected bodies"):
        found.distinct("nobody")


# What cannot be


def test_an_impossible_loop_is_named_with_its_gap():
    angle, other = 1.0, 0.1
    with pytest.raises(da.ModelError) as caught:
        da.assemble(FOUR_BAR, {"A": angle, "D": other})
    text = str(caught.value)
    B = 0.4 * np.array([math.cos(angle), math.sin(angle)])
    x, y = circle_drawn({"crank": 0.4, "coupler": 1.0, "rocker": 0.8, "base": 1.0})
    turn = math.atan2(y, x) + other
    C = np.array([1.0, 0.0]) + 0.8 * np.array([math.cos(turn), math.sin(turn)])
    gap = abs(np.hypot(*(C - B)) - 1.0)
    assert f"joint C stays open, {gap:.3g} m apart (loop C–B–A–D)" in text
    assert "without 'D' it closes, with D = -0.1328" in text


def test_a_loop_that_is_too_long_says_how_far_it_reaches():
    model = da.library.four_bar(crank=0.9, coupler=0.8, rocker=0.8, base=1.0)
    limit = math.acos((0.81 + 1 - 1.6**2) / 1.8)
    with pytest.raises(da.ModelError, match=f"closes up to A = {limit:.4g}"):
        da.assemble(model, {"A": 3.0})
    with pytest.raises(da.ModelError, match="cannot be assembled"):
        da.assemble(model, {"A": 3.0}, branches="all")
    with pytest.raises(da.ModelError, match=r"platform.center.x \(wanted 9\) is off by"):
        da.assemble(da.library.three_rrr(), {"platform.center.x": 9.0})


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda m: da.assemble(m, {"Z": 1.0}), "initial: unknown joint 'Z'"),
        (lambda m: da.assemble(m, {"A": "x"}), "expected numbers, got 'x'"),
        (lambda m: da.assemble(m, {"A": float("nan")}), "expected 1 finite numbers"),
        (lambda m: da.assemble(m, {"A[3]": 1.0}), "has 1 coordinates"),
        (lambda m: da.assemble(m, {"crank": (1, 2)}), "expected seven numbers"),
        (lambda m: da.assemble(m, {"vx(crank)": 1.0}), "is a velocity"),
        (lambda m: da.assemble(m, {"x(crank)": "t"}), "expected a finite number"),
        (lambda m: da.assemble(m, {"A": 1.0}, {"Z": 1.0}), "initial_rates: unknown joint 'Z'"),
        (lambda m: da.assemble(m, {"A": 1.0}, {"A": 1.0, "D": 9.0}), "contradict the constraints"),
        (lambda m: da.assemble(m, locked=["Z"]), "locked: unknown joint or body 'Z'"),
        (lambda m: da.assemble(m, locked="A"), "locked: expected a list"),
        (lambda m: da.assemble(m, weights={"C": 2.0}), "joint 'C' closes a loop here"),
        (lambda m: da.assemble(m, weights={"A": -1.0}), "must have a positive number"),
        (lambda m: da.assemble(m, guess=3), "guess must be a dictionary"),
        (lambda m: da.assemble(m, guess=da.assemble(da.library.pendulum())), "model with other joints"),
        (lambda m: da.assemble(m, 3), "initial must be a dictionary"),
        (lambda m: da.assemble(m, branches="some"), "branches must be 'all'"),
        (lambda m: da.assemble(m, {"A": [0.1, 0.2]}, {"A": [1, 2, 3]}), "different numbers of states"),
        (lambda m: da.assemble(m, {"A": [0.1, 0.2]}, branches="all"), "takes one set of values"),
        (lambda m: da.assemble(m, {"A": [0.1, 0.2], "D": [-0.05, 1.0]}), "2 of 2 states cannot be assembled; state 0"),
        (lambda m: da.assemble(da.library.three_rrr(), branches="all"), "3 degrees of freedom are left open"),
        (lambda m: da.assemble("four-bar"), "expected a model, got str"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, expected):
    with pytest.raises(da.DalembertError, match=re.escape(expected)):
        call(FOUR_BAR)


# Several at once


def test_several_states_are_those_found_one_by_one():
    angles = np.linspace(-1, 4, 23)
    states = da.assemble(FOUR_BAR, {"A": angles}, {"A": 2.0})
    assert len(states) == 23 and np.array_equal(states.joint("A")[0][:, 0], angles)
    for i in (0, 7, 22):
        one = da.assemble(FOUR_BAR, {"A": angles[i]}, {"A": 2.0})
        assert np.allclose(states[i].q, one.q, atol=1e-12) and np.allclose(states[i].u, one.u, atol=1e-10)
    assert np.allclose(states.joint("C")[0][:, 0], [s.joint("C")[0][0] for s in states])
    assert len(states[3:5]) == 2 and "23 states of 'four-bar'" in repr(states)
    mixed = da.assemble(FOUR_BAR, [{"A": 0.3}, {"D": -0.1}, {"A": 0.5}])
    assert [float(mixed[0].q[0]), float(mixed[2].q[0])] == [0.3, 0.5] and mixed[1].joint("D")[0][0] == -0.1
    longer = da.assemble(FOUR_BAR, {"A": 0.4}, parameters={"coupler": np.array([1.0, 1.05])})
    assert longer[0].joint("D")[0][0] != longer[1].joint("D")[0][0]
    assert longer[1].parameters == {"coupler": 1.05}


# The search itself


def test_upside_down_joints_are_not_taken_for_closed():
    """The equations of a hinge hold with its axis turned over, too; such positions are no branches."""
    dynamics = da.compile(FOUR_BAR, coordinates="relative")
    search = Search(dynamics, read_desired(dynamics.coordinates, {"A": 1.0}, "initial"), {}, 0.0)
    closed = search.all(np.zeros(dynamics.nq))
    assert len(closed.q) == 2 and not any(search.flipped(q) for q in closed.q)
    assert closed.hits.sum() == closed.closed <= closed.starts


# Ways that are too long for small stages


def two_slides(size):
    """Slides that no constraint holds but a limit, far from where they are drawn."""
    model = da.Model("slides", gravity=(0, 0, 0))
    for name, axis in (("up", "z"), ("along", "x")):
        model.body(name, mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
        model.prismatic(f"{name} rail", model.ground, name, point=(0, 0, 0), axis=axis)
        model.initial(f"{name} rail", size, rate=2 * size)
    model.limit("floor", "q('up rail')", lower=0)
    return model


@pytest.mark.parametrize("size", [1.0, 1e6, 1e12])
def test_what_no_constraint_sees_needs_no_path(size):
    model = two_slides(size)
    state = da.assemble(model)
    assert state.q.tolist() == [size, size] and state.u.tolist() == [2 * size, 2 * size]
    state = da.assemble(model, {"along rail": -3 * size}, {"along rail": size})
    assert state.q.tolist() == [size, -3 * size] and state.u.tolist() == [2 * size, size]
    many = da.assemble(model, {"along rail": np.array([-size, size / 3])})
    assert [float(state.joint("along rail")[0][0]) for state in many] == [-size, size / 3]


def test_loops_as_large_as_their_way_is_long_close():
    for size in (1e3, 1e6):
        model = two_slides(0.0)
        model.constraint("rod", f"(q('up rail')**2 + q('along rail')**2)/{size!r} - {size!r}")
        model.initial("up rail", 0.6 * size)
        model.initial("along rail", -0.8 * size)
        assert da.assemble(model).q == pytest.approx([0.6 * size, -0.8 * size], rel=1e-12)


def test_loops_are_not_turned_for_ever():
    model = da.library.four_bar()
    state = da.assemble(model, {"A": 2000 * math.pi + 1})
    assert np.allclose(place(state, "C"), place(da.assemble(model, {"A": 1.0}), "C"), atol=1e-9)
    with pytest.raises(da.DalembertError, match=r"'A' would turn by 1e\+12 rad .* fewer whole turns"):
        da.assemble(model, {"A": 1e12})
    model.initial("A", 1e12)
    with pytest.raises(da.DalembertError, match="fewer whole turns"):
        da.assemble(model)
