"""Kinematics: closed forms, derivatives against each other, dead points, singular positions, transmission."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import make_interp_spline
from support.family import driven, planar

import dalembert as da
from dalembert.library import parts

FOUR_BAR = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8, "base": 1.0}


def rates_by_spline(t, values):
    """First rates of smooth samples, away from the ends."""
    return make_interp_spline(t, values, k=7).derivative()(t)


def assert_rates(parts, t, tolerance=1e-7):
    """Each quantity is the rate of the one before."""
    for value, rate in pairwise(parts):
        found, size = rates_by_spline(t, value.values), 1.0 + np.abs(rate.values).max()
        assert np.abs(found - rate.values)[10:-10].max() < tolerance * size


# Closed forms


def test_the_slider_crank_follows_its_closed_form():
    """x = r cos θ + √(l² − r² sin² θ) and its derivatives, with constant θ̇."""
    model = da.library.slider_crank()
    r, l = 0.1, 0.3
    w = 2 * math.pi
    k = da.kinematics(model, 1.0, {"main_bearing": "2*pi*t"})
    t = k.time.values
    s = sp.Symbol("s")
    x = r * sp.cos(w * s) + sp.sqrt(l**2 - r**2 * sp.sin(w * s) ** 2)
    found = k.joint("cylinder")
    offset = found.position.values[0] - (r + l)
    for order, part in enumerate(found):
        expected = sp.lambdify(s, sp.diff(x, s, order) + (offset if order == 0 else 0), "numpy")(t)
        assert np.abs(part.values - expected).max() < 1e-10 * (1 + np.abs(expected).max()), order


def test_the_four_bar_obeys_freudenstein():
    """K₁ cos ψ − K₂ cos θ + K₃ = cos(θ − ψ), with the angles of crank and rocker against the base."""
    a, b, c, d = FOUR_BAR.values()
    k = da.kinematics(da.library.four_bar(), 2.0, {"A": "0.2 + 3*t"})
    x = ((d - a) ** 2 + b**2 - c**2) / (2 * (d - a))
    drawn = math.atan2(math.sqrt(b**2 - x**2), a + x - d)
    theta, psi = k.joint("A").position.values, k.joint("D").position.values + drawn
    K = d / a, d / c, (a**2 - b**2 + c**2 + d**2) / (2 * a * c)
    assert np.abs(K[0] * np.cos(psi) - K[1] * np.cos(theta) + K[2] - np.cos(theta - psi)).max() < 1e-12
    # The same equation, differentiated: the velocity ratio dψ/dθ.
    ratio = (K[1] * np.sin(theta) + np.sin(theta - psi)) / (K[0] * np.sin(psi) + np.sin(theta - psi))
    assert np.allclose(k.velocity_ratio("D").values, ratio, rtol=1e-9, atol=1e-10)
    assert np.allclose(k.joint("D").velocity.values, 3 * ratio, rtol=1e-9, atol=1e-9)
    with np.errstate(divide="ignore"):
        assert np.allclose(k.force_ratio("D").values * ratio, 1.0)
    # The transmission angle by the cosine rule in the triangle BCD.
    BD = np.sqrt(a**2 + d**2 - 2 * a * d * np.cos(theta))
    mu = np.arccos((b**2 + c**2 - BD**2) / (2 * b * c))
    assert np.allclose(k.transmission_angle().values, np.minimum(mu, np.pi - mu), atol=1e-9)
    assert np.allclose(k.transmission_angle("C").values, k.transmission_angle().values)


def test_the_transmission_angle_of_a_slider_crank():
    k = da.kinematics(da.library.slider_crank(), 1.0, {"main_bearing": "2*pi*t"})
    theta = k.joint("main_bearing").position.values
    assert np.allclose(k.transmission_angle().values, np.pi / 2 - np.arcsin(np.abs(np.sin(theta)) / 3), atol=1e-9)


# Derivatives


@pytest.mark.parametrize(("loops", "slider", "seed"), [(1, False, 0), (2, False, 1), (1, True, 2)])
def test_rates_of_random_closed_mechanisms_are_derivatives_of_each_other(loops, slider, seed):
    model = driven(planar(loops, seed, slider), "foot0")
    model.output("reach", f"x(coupler{loops - 1})")
    model.point("tip", f"coupler{loops - 1}", (0.7, 1.1, 0.2))
    k = da.kinematics(model, np.linspace(0.3, 1.3, 401))
    assert k.certificate.trusted
    t = k.time.values
    for name in [joint.name for joint in model.joints]:
        assert_rates(k.joint(name), t)
    for i in range(3):
        tip = k.point(f"coupler{loops - 1}", (0.7, 1.1, 0.2))
        assert_rates([part[:, i] for part in tip], t)
    named = k.point("tip").position
    np.testing.assert_allclose(named, tip.position, atol=1e-14)
    np.testing.assert_allclose(named.sel(axis="y"), k.motion.output("y(tip)"), atol=1e-14)
    assert_rates([part[:, 2] for part in k.turning("crank1")], t)
    assert_rates(list(k.output("reach")), t)


@pytest.mark.slow
def test_rates_in_space_with_balls_and_moving_drives():
    k = da.kinematics(da.library.stewart_platform(), np.linspace(0.1, 0.5, 161))
    t = k.time.values
    assert_rates(list(k.joint("leg_3")), t)
    assert_rates(list(k.joint("head_2[1]"))[1:], t)
    for i in range(3):
        assert_rates([part[:, i] for part in k.point("platform", (0.2, 0.1, 1.3))], t)
        assert_rates([part[:, i] for part in k.turning("platform")], t)
    with pytest.raises(da.DalembertError, match="which drive"):
        k.velocity_ratio("foot_1[0]")
    assert np.allclose(k.velocity_ratio("leg_2", "actuator_2").values, 1.0)
    assert np.allclose(k.velocity_ratio("leg_2", "actuator_1").values, 0.0, atol=1e-9)


def test_samples_have_jerks():
    t = np.linspace(0, 1, 201)
    k = da.kinematics(da.library.four_bar(), t, {"A": (t, 0.5 + np.sin(2 * t))})
    assert np.allclose(k.joint("A").jerk.values[20:-20], -8 * np.cos(2 * t)[20:-20], atol=1e-3)


# What is remarkable


def test_dead_points_of_the_slider_crank_are_at_the_exact_angle():
    k = da.kinematics(da.library.slider_crank(), 2.0, {"main_bearing": "0.3 + 3*t + 0.2*sin(t)"})
    found = [event for event in k.dead_points if event.joint == "cylinder"]
    assert len(found) == 2  # 0.3 … 6.48 rad
    for event, angle in zip(found, (math.pi, 2 * math.pi), strict=True):
        assert 0.3 + 3 * event.time + 0.2 * math.sin(event.time) == pytest.approx(angle, abs=1e-11)
    stroke = max(e.value for e in found) - min(e.value for e in found)
    assert stroke == pytest.approx(0.2, abs=1e-12)


def test_the_quick_return_has_its_ratio():
    """The slider of the Whitworth mechanism turns back where the slotted rocker is tangent to the circle of the pin."""
    k = da.kinematics(da.library.whitworth(), 4.0, {"crank.angle": "pi/2*t"})
    back = [event.time for event in k.dead_points if event.joint == "guide"]
    half = math.acos(math.hypot(0.1, 0.1) / 0.3)  # crank angle between the tangents, halved
    assert back[1] - back[0] == pytest.approx(2 * half / (math.pi / 2), abs=1e-9)
    assert np.allclose(k.path("rocker.tip").values[0], (0.15, 0.6, 0))
    assert np.allclose(np.linalg.norm(k.path("rocker.tip").values, axis=1), math.hypot(0.15, 0.6))


def test_drives_that_lead_out_of_reach_end_at_the_exact_limit():
    model = da.library.four_bar(crank=0.9, coupler=0.8, rocker=0.8, base=1.0)
    k = da.kinematics(model, 3.0, {"A": "t"})
    limit = math.acos((0.81 + 1 - 1.6**2) / 1.8)
    assert not k.certificate.trusted and k.events[-1].kind == "limit"
    assert k.events[-1].time == pytest.approx(limit, abs=1e-8) and k.time.values[-1] == k.events[-1].time
    assert "cannot be reached" in str(k.certificate)


def test_a_change_of_branch_is_reported_with_time_and_joint():
    """A parallelogram becomes flat at crank angles 0 and π, where it may turn into its crossed twin."""
    model = da.Model("flat", gravity=(0, 0, 0))
    A, B, C, D = (0, 0, 0), (0.3, 0.4, 0), (1.3, 0.4, 0), (1, 0, 0)
    for name, ends in {"left": (A, B), "top": (B, C), "right": (D, C)}.items():
        model.body(name, **parts.bar(1.0, *ends, width=0.04))
    for name, pair, at in (("A", ("ground", "left"), A), ("B", ("left", "top"), B), ("C", ("top", "right"), C),
                           ("D", ("ground", "right"), D)):  # fmt: skip
        model.revolute(name, *pair, point=at, axis="z")
    start = math.atan2(0.4, 0.3)
    k = da.kinematics(model, 1.0, {"A": "3*t"}, output_step=0.0101)
    found = k.singular_positions
    assert [event.kind for event in found] == ["change of branch"]
    assert found[0].time == pytest.approx((math.pi - start) / 3, abs=1e-6)
    assert any(name in found[0].joint for name in "BCD")
    assert "change of branch" in str(k.certificate)


# Paths and workspace


def test_coupler_curves_lie_where_the_bars_put_them():
    k = da.kinematics(da.library.four_bar(), 2.0, {"A": "3*t"})
    a, b, c, d = FOUR_BAR.values()
    x = ((d - a) ** 2 + b**2 - c**2) / (2 * (d - a))
    C = (a + x, math.sqrt(b**2 - x**2), 0.0)
    track = k.path("coupler", C).values
    assert np.allclose(np.linalg.norm(track - [d, 0, 0], axis=1), c, atol=1e-12)
    assert np.allclose(np.linalg.norm(track - k.path("crank", (a, 0, 0)).values, axis=1), b, atol=1e-12)


def test_the_workspace_of_a_five_bar_is_bounded_by_its_reach():
    model = da.Model("five-bar", gravity=(0, 0, 0))
    A, B, C, D, E = (0, 0, 0), (-0.2, 0.5, 0), (0.35, 0.9, 0), (0.9, 0.5, 0), (0.7, 0, 0)
    ends = {"left": (A, B), "rod_left": (B, C), "rod_right": (D, C), "right": (E, D)}
    for name, (start, end) in ends.items():
        model.body(name, **parts.bar(1.0, start, end, width=0.04))
    joints = [("A", "ground", "left", A), ("B", "left", "rod_left", B), ("C", "rod_left", "rod_right", C),
              ("D", "right", "rod_right", D), ("E", "ground", "right", E)]  # fmt: skip
    for name, first, second, at in joints:
        model.revolute(name, first, second, point=at, axis="z")
    found = da.workspace(model, ("rod_left", C), {"A": (-1.2, 1.2), "E": (-1.2, 1.2)}, samples=21)
    r1, r2 = math.hypot(0.2, 0.5), math.hypot(0.55, 0.4)
    places = found.points[found.reachable]
    # The elbows' circles must meet, and no point is farther than both bars reach.
    elbow = [np.array([o]) + r1 * np.stack([np.cos(phi + v), np.sin(phi + v), 0 * v], axis=1)
             for o, phi, v in ((A, math.atan2(0.5, -0.2), found.values[:, 0]),)]  # fmt: skip
    assert np.allclose(np.linalg.norm(found.points - elbow[0], axis=1)[found.reachable], r2, atol=1e-9)
    assert 0.3 < found.reachable.mean() < 1.0 and np.linalg.norm(places, axis=1).max() <= r1 + r2 + 1e-9
    assert np.all(found.quality[found.reachable] > 0) and np.isnan(found.points[~found.reachable]).all()


# Files, pictures, words


def test_results_are_read_printed_drawn_and_saved(tmp_path):
    model = da.library.crank_rocker()
    k = da.kinematics(model, 1.0, output_step=0.02)
    data = k.data
    assert data.joint_jerks.shape == data.joint_accelerations.shape == (51, 4)
    assert float(data.velocity_ratio.sel(joint_u="A", drive="motor").mean()) == pytest.approx(1.0)
    assert "dead point" in str(k) and "driven by motor" in repr(k)
    table = k.to_csv().splitlines()
    assert table[0].startswith("time,q(A),u(A),a(A),j(A)") and len(table) == 52
    for name in ("a.nc", "a.csv"):
        assert k.save(tmp_path / name).stat().st_size > 1000
    k.plot(tmp_path / "rates.png")
    k.draw(tmp_path / "path.png", paths=[("coupler", (0.9, 0.9, 0)), "rocker"])
    k.animate(tmp_path / "a.html")
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("rates.png", "path.png", "a.html"))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: da.kinematics(da.library.four_bar(), 1.0), "'four-bar' is not driven: A, D, B can move"),
        (lambda: da.kinematics(da.library.three_rrr(), 1.0, {"A1": "t"}), "it has 3 degrees of freedom, given are A1"),
        (lambda: da.kinematics(da.library.four_bar(), 1.0, {"A": "t", "D": "t"}), "over-determines"),
        (lambda: da.kinematics(da.library.four_bar(), None, {"A": "t"}), "how long?"),
        (lambda: da.kinematics(da.library.four_bar(), 1.0, {"Q": "t"}), "unknown 'Q'"),
        (lambda: da.kinematics("four-bar", 1.0), "expected a model, got str"),
        (lambda: driven_run().joint("Z"), "unknown joint 'Z'; there are A"),
        (lambda: driven_run().path("Z"), "unknown body 'Z'"),
        (lambda: driven_run().path("crank", (1, 2)), "expected three numbers"),
        (lambda: driven_run().output("Z"), "unknown output 'Z'"),
        (lambda: driven_run().velocity_ratio("Z"), "unknown joint or output 'Z'"),
        (lambda: driven_run().velocity_ratio("D", "Z"), "unknown drive 'Z'"),
        (lambda: driven_run().transmission_angle("Z"), "is not a pin of a loop"),
        (lambda: da.workspace(da.library.three_rrr(), "platform", {"A1": (-1, 1)}), "2 more freedoms"),
        (lambda: da.workspace(da.library.three_rrr(), "Z", {"A1": (-1, 1)}), "unknown body 'Z'"),
        (lambda: da.workspace(da.library.four_bar(), "crank", {"A": (1, -1)}), "must be (least, largest)"),
        (lambda: da.workspace(da.library.four_bar(), "crank", {"Z": (1, 2)}), "not a joint that can be driven"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, expected):
    with pytest.raises(da.DalembertError, match=re.escape(expected)):
        call()


@cache
def driven_run():
    return da.kinematics(da.library.four_bar(), 0.1, {"A": "t"}, output_step=0.05)
