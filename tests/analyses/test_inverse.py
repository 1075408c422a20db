"""Inverse dynamics of mechanisms: forward dynamics with the forces found gives the motion back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

import dalembert as da
from dalembert.analyses.motions.allocate import allocate

ROUND_TRIP = 1e-8  # of positions after forward integration with the forces found


def forward_error(inverse, end):
    """Positions after forward dynamics with the forces found, against the prescribed ones."""
    d, t = inverse.dynamics, inverse.time.values
    q, u = inverse.state
    names = [d.parameter_names[d.parameter_names.index(one.parameter)] for one in inverse._unknowns]
    forces = make_interp_spline(t, np.stack([inverse[name].values for name in inverse.names], axis=1), k=5)

    def rate(s, y):
        values = dict(zip(names, forces(s), strict=True))
        du = d.acceleration(y[: d.nq], y[d.nq :], t=float(s), parameters=values)
        seen = d.kernels.dynamics_kernel(float(s), y[: d.nq], y[d.nq :], d.parameters(values), np.zeros(d.nv))
        return np.concatenate([seen.qdot, du])

    at = int(np.searchsorted(t, end))
    run = solve_ivp(rate, (t[0], t[at]), np.concatenate([q[0], u[0]]), method="DOP853", rtol=1e-11, atol=1e-12)
    return np.abs(run.y[: d.nq, -1] - q[at]).max()


def three_rrr(more=()):
    """The planar platform of the thesis, 5.3.2."""
    model = da.Model("3-RRR", gravity=(0, 0, 0))
    platform = model.body("platform", mass=1.0, inertia=(0.125, 0.125, 0.25), com=(0, 0, 0))
    knees = [(2, math.sqrt(3), 0), (-2.5, math.sqrt(3) / 2, 0), (0.5, -1.5 * math.sqrt(3), 0)]
    for i, knee in enumerate(knees, 1):
        c, s = math.cos(2 * math.pi * (i - 1) / 3), math.sin(2 * math.pi * (i - 1) / 3)
        base, tip = (3 * c, 3 * s, 0), (c, s, 0)
        middle = tuple((a + b) / 2 for a, b in zip(tip, knee, strict=True))
        crank = model.body(f"crank_{i}", mass=0.5, com=base, inertia=(1 / 3, 1 / 3, 2 / 3))
        rod = model.body(f"rod_{i}", mass=0.5, com=middle, inertia=(1 / 12, 1 / 12, 1 / 6))
        model.revolute(f"A{i}", model.ground, crank, point=base, axis="z")
        model.revolute(f"B{i}", crank, rod, point=knee, axis="z")
        model.revolute(f"C{i}", rod, platform, point=tip, axis="z")
    return model


def five_bar():
    """Two cranks on the ground, two rods that meet."""
    model = da.Model("five-bar", gravity=(0, -9.81, 0))
    A, B, C, D, E = (0, 0, 0), (-0.2, 0.5, 0), (0.35, 0.9, 0), (0.9, 0.5, 0), (0.7, 0, 0)
    ends = {"left": (A, B), "rod_left": (B, C), "rod_right": (D, C), "right": (E, D)}
    for name, (start, end) in ends.items():
        model.body(name, **da.library.parts.bar(1.0, start, end, width=0.04))
    joints = [("A", "ground", "left", A), ("B", "left", "rod_left", B), ("C", "rod_left", "rod_right", C)]
    joints += [("D", "right", "rod_right", D), ("E", "ground", "right", E)]
    for name, first, second, point in joints:
        model.revolute(name, first, second, point=point, axis="z")
    return model


PLATFORM = {
    "x(platform)": "-sin(pi*t/2)",
    "y(platform)": "sin(pi*t/4)",
    "q(A1) + q(B1) + q(C1)": "(pi/6)*sin(pi*t/4)**4",
}

CASES = {
    "four-bar": (da.library.four_bar, {"A": "2*pi*t"}, None),
    "slider-crank-3d, crank": (da.library.slider_crank_3d, {"crank_bearing": "3*t + 0.5*sin(4*t)"}, None),
    "slider-crank-3d, slider": (
        da.library.slider_crank_3d, {"slider position": "0.2 + 0.02*sin(3*t)"}, ["crank_bearing"],
    ),
    "double pendulum": (da.library.double_pendulum, None, None),
    "3-RRR": (three_rrr, PLATFORM, ["A1", "A2", "A3"]),
    "five-bar": (
        five_bar, {("rod_left", (0.35, 0.9, 0)): ["0.35 + 0.1*sin(3*t)", "0.9 - 0.1*(1 - cos(4*t))", None]}, ["A", "E"],
    ),
    "whitworth": (da.library.whitworth, {"crank.angle": "pi/2*t"}, ["u1"]),
    "rolling disc": (
        da.library.rolling_disc,
        {"contact[2]": "0.5*t", "contact[3]": "0.3 + 0.1*sin(t)", "contact[4]": "6*t + 0.1*t**2"},
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_inverse_then_forward_returns_the_motion(name):
    build, motion, unknowns = CASES[name]
    model = build()
    if motion is None:
        motion = {joint.name: f"0.3*sin({k + 2}*t)" for k, joint in enumerate(model.joints)}
    inverse = da.inverse_dynamics(model, motion, 0.5, unknowns=unknowns)
    assert inverse.certificate.trusted, inverse.certificate
    assert inverse.unique.all()
    assert forward_error(inverse, 0.4) < ROUND_TRIP
    balance = inverse.energy.balance.values
    assert np.ptp(balance) < 1e-9 * (1.0 + np.abs(inverse.energy.kinetic.values).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stewart-platform", "delta-robot"])
def test_drives_of_parallel_robots(name):
    """The model's own drives are the motion; their joints the unknowns."""
    inverse = da.inverse_dynamics(da.library.build(name), None, 0.5)
    assert inverse.certificate.trusted, inverse.certificate
    assert forward_error(inverse, 0.3) < ROUND_TRIP


def test_equals_the_reactions_of_a_driven_run():
    model = da.library.four_bar()
    inverse = da.inverse_dynamics(model, {"A": "2*pi*t"}, 1.0)
    driven = da.library.four_bar()
    driven.drive("A", "2*pi*t")
    run = da.simulate(driven, 1.0)
    np.testing.assert_allclose(inverse["A"].values, run.reaction("A drive").values, atol=1e-9)
    for joint in "ABCD":
        np.testing.assert_allclose(inverse.reaction(joint).values, run.reaction(joint).values, atol=1e-9)
    np.testing.assert_allclose(inverse.joint("C").q.values, run.joint("C").q.values, atol=1e-9)
    own = da.inverse_dynamics(driven, None, 1.0, unknowns=["A drive"])
    np.testing.assert_allclose(own["A drive"].values, inverse["A"].values, atol=1e-12)


def test_platform_of_the_thesis():
    """Numbers recomputed with Newton-Euler and every joint force (thesis 5.3.2)."""
    inverse = da.inverse_dynamics(
        three_rrr(), PLATFORM, np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.3]), unknowns=["A1", "A2", "A3"]
    )
    forces = np.stack([inverse[name].values for name in inverse.names], axis=1)
    np.testing.assert_allclose(forces[0], (1.256327099, -0.7037541426, 1.228120405), atol=2e-9)
    np.testing.assert_allclose(forces[2], (7.174202351, 4.166600174, -0.6128158164), atol=2e-9)
    np.testing.assert_allclose(forces[5], (-7.35321983, 10.17266901, 0.9511423473), atol=2e-8)


def test_long_intervals_are_divided_and_stay_on_the_branch():
    """Six instants over a whole turn and a half: angles count turns, the rocker does not jump."""
    model = da.library.four_bar()
    few = da.inverse_dynamics(model, {"A": "2*pi*t"}, np.linspace(0, 1.5, 7))
    many = da.inverse_dynamics(model, {"A": "2*pi*t"}, 1.5, output_step=0.25 / 50)
    np.testing.assert_allclose(few.state[0], many.state[0][::50], atol=1e-10)
    np.testing.assert_allclose(few["A"].values, many["A"].values[::50], atol=1e-8)


def test_branch_follows_the_initial_guess():
    model = da.library.slider_crank_3d()
    motion = {"x(slider)": 0.2}
    up = da.inverse_dynamics(model, motion, 0.1, unknowns=["crank_bearing"], initial={"crank_bearing": 1.0})
    down = da.inverse_dynamics(model, motion, 0.1, unknowns=["crank_bearing"], initial={"crank_bearing": -2.0})
    angles = up.joint("crank_bearing").q.values[0], down.joint("crank_bearing").q.values[0]
    assert abs(angles[0] - angles[1]) > 0.1
    for found in (up, down):
        np.testing.assert_allclose(found["x(slider)"].values, 0.2, atol=1e-12)


# More unknowns than freedoms


def optimality(E, e, weights, limits, tau):
    """KKT:  W τ = Eᵀν + μ,  μ ≥ 0 at a lower limit, ≤ 0 at an upper one, 0 between; E τ = e. Largest violation."""
    low, high = limits.T
    at_low, at_high = tau <= low + 1e-9, tau >= high - 1e-9
    bound = at_low | at_high
    columns = np.concatenate([E.T, np.eye(len(tau))[:, bound]], axis=1)
    found, *_ = np.linalg.lstsq(columns, weights * tau, rcond=1e-10)
    signs = np.where(at_low[bound], 1.0, -1.0)
    multipliers = found[E.shape[0] :]
    violations = [
        np.abs(columns @ found - weights * tau).max(),
        np.maximum(-signs * multipliers, 0.0).max(initial=0.0),
        np.abs(E @ tau - e).max(),
        np.maximum(low - tau, 0).max(),
        np.maximum(tau - high, 0).max(),
    ]
    return max(violations)


def test_fourth_motor_least_norm_and_weighted():
    names = ["A1", "A2", "A3", "B1"]
    model = three_rrr()
    for weights in (None, {"A1": 4.0, "B1": 0.3}):
        inverse = da.inverse_dynamics(model, PLATFORM, 4.0, unknowns=names, weights=weights, output_step=0.05)
        assert inverse.certificate.trusted and not inverse.unique.any()
        w = np.array([(weights or {}).get(name, 1.0) for name in names])
        free = np.tile([-np.inf, np.inf], (4, 1))
        (E, e), tau = inverse.balance, inverse.data.force.values
        assert max(optimality(E[i], e[i], w, free, tau[i]) for i in range(len(tau))) < 1e-9
    assert forward_error(inverse, 0.4) < 1e-5  # forces from 81 samples


def test_fourth_motor_within_limits():
    limits = {"A1": 2.0, "A2": None, "A3": None, "B1": None}
    model = three_rrr()
    free = da.inverse_dynamics(model, PLATFORM, 4.0, unknowns=list(limits), output_step=0.05)
    bound = da.inverse_dynamics(model, PLATFORM, 4.0, unknowns=limits, output_step=0.05)
    assert np.abs(free["A1"].values).max() > 2.0 >= np.abs(bound["A1"].values).max()
    (E, e), tau = bound.balance, bound.data.force.values
    box = np.array([(-2.0, 2.0), *[(-np.inf, np.inf)] * 3])
    assert bound.limited.any() and bound.certificate.trusted, bound.certificate
    assert max(optimality(E[i], e[i], np.ones(4), box, tau[i]) for i in range(len(tau))) < 1e-8


def test_random_boxes_fulfill_the_conditions_of_optimality():
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(60):
        freedoms, m = rng.integers(1, 4), rng.integers(4, 7)
        E, inside = rng.normal(size=(1, freedoms, m)), rng.uniform(-1, 1, m)
        e, weights = np.einsum("tij,j->ti", E, inside), rng.uniform(0.2, 3, m)
        limits = np.stack([-rng.uniform(1.0, 1.1, m), rng.uniform(1.0, 1.1, m)], axis=1) * np.abs(inside)[:, None]
        found = allocate(np.zeros((1, 0, freedoms)), e, E, weights, limits)
        seen += int(found.limited[0])
        assert optimality(E[0], e[0], weights, limits, found.tau[0]) < 1e-7
    assert seen > 20


def test_under_actuation_reports_what_is_left():
    """A cart-pendulum whose pendulum shall move as it likes: the cart's motor alone cannot do it."""
    model = da.library.double_pendulum()
    first, second = (joint.name for joint in model.joints)
    motion = {first: "0.2*sin(2*t)", second: "0.1*cos(3*t)"}
    both = da.inverse_dynamics(model, motion, 1.0)
    one = da.inverse_dynamics(model, motion, 1.0, unknowns=[first])
    assert both.certificate.trusted and not one.certificate.trusted
    assert "cannot produce" in one.certificate.message
    np.testing.assert_allclose(one.residual.sel(velocity=second).values, both[second].values, atol=1e-12)
    np.testing.assert_allclose(one[first].values, both[first].values, atol=1e-12)


def test_limits_that_are_too_tight_leave_a_residual():
    found = da.inverse_dynamics(da.library.four_bar(), {"A": "2*pi*t"}, 1.0, unknowns={"A": 5.0})
    assert np.abs(found["A"].values).max() <= 5.0
    assert not found.certificate.trusted and found.certificate["feasibility residual"] > 0.1


# Unknown forces and parameters


def test_unknown_forces_and_parameters():
    model = da.library.four_bar()
    model.joint_force("motor", "A", "3*cos(t)")
    (k,) = [model.parameters(pull=0.0)]
    model.force("push", "rocker", (k, 0, 0))
    motion = {"A": "2*pi*t"}
    drive = da.inverse_dynamics(model, motion, 1.0)
    force = da.inverse_dynamics(model, motion, 1.0, unknowns=["motor"])
    np.testing.assert_allclose(force["motor"].values, drive["A"].values + 3 * np.cos(force.time.values), atol=1e-10)
    parameter = da.inverse_dynamics(model, motion, np.linspace(0.05, 0.2, 31), unknowns=["pull"])
    assert parameter.certificate.trusted
    rate = parameter.body("rocker").velocity.sel(axis="x").values
    np.testing.assert_allclose(parameter.speeds.values[:, 0], rate, atol=1e-10)
    component = da.inverse_dynamics(model, motion, np.linspace(0.05, 0.2, 31), unknowns=["push[0]"])
    np.testing.assert_allclose(component["push[0]"].values, parameter["pull"].values, rtol=1e-9)


def test_friction_of_the_model_is_included():
    model = da.library.four_bar()
    plain = da.inverse_dynamics(model, {"A": "2*t"}, 1.0)
    rough = da.library.four_bar()
    rough.joint_force("friction", "A", "-0.7*sign(u(A))")
    found = da.inverse_dynamics(rough, {"A": "2*t"}, 1.0)
    np.testing.assert_allclose(found["A"].values, plain["A"].values + 0.7, atol=1e-10)


# Motion


def test_samples_and_points_and_velocities():
    model = da.library.four_bar()
    t = np.linspace(0, 1, 201)
    exact = da.inverse_dynamics(model, {"A": "sin(3*t)"}, 1.0)
    for value in (np.sin(3 * t), (t, np.sin(3 * t)), da.Samples(t, np.sin(3 * t))):
        found = da.inverse_dynamics(model, {"A": value}, 1.0)
        np.testing.assert_allclose(found["A"].values, exact["A"].values, atol=1e-6)
    rng = np.random.default_rng(1)
    noisy = da.Samples(t, np.sin(3 * t) + 1e-5 * rng.normal(size=len(t)), smoothing=1e-5)
    smooth = da.inverse_dynamics(model, {"A": noisy}, 1.0)
    rough = da.inverse_dynamics(model, {"A": da.Samples(t, noisy.values)}, 1.0)
    wrong = [np.sqrt(np.mean((found["A"].values - exact["A"].values) ** 2)) for found in (smooth, rough)]
    assert wrong[0] < 0.2 * wrong[1]
    speed = da.inverse_dynamics(model, {"u(A)": "3*cos(3*t)"}, 1.0, unknowns=["A"])
    np.testing.assert_allclose(speed["A"].values, exact["A"].values, atol=1e-8)
    point = {("crank", (0.4, 0, 0)): [None, "0.4*sin(sin(3*t))", None]}
    tip = da.inverse_dynamics(model, point, 0.5, unknowns=["A"])
    np.testing.assert_allclose(tip["A"].values[::2], exact["A"].values[:501], atol=1e-9)


def test_redundant_but_compatible_motion_is_taken():
    model = da.library.parallelogram()
    joints = [joint.name for joint in model.joints]
    angle = da.inverse_dynamics(model, {joints[0]: "2 + 0.3*sin(t)"}, 1.0)
    assert angle.certificate.trusted, angle.certificate


def test_sub_models_keep_their_drives():
    arm = da.library.four_bar()
    speed = arm.parameters(speed=2 * math.pi)
    arm.drive("A", speed * arm.t)
    whole = da.Model("pair", gravity=(0, -9.81, 0))
    whole.parameters(first=1.0)
    whole.add(arm, "left")
    whole.add(arm, "right", pose=(3, 0, 0))
    found = da.inverse_dynamics(whole, None, 0.5)
    single = da.inverse_dynamics(arm, None, 0.5)
    assert found.names == ["left.A", "right.A"]
    for name in found.names:
        np.testing.assert_allclose(found[name].values, single["A"].values, atol=1e-10)
    slower = da.inverse_dynamics(whole, None, 0.5, parameters={"left.speed": 2.0})
    slow = da.inverse_dynamics(arm, None, 0.5, parameters={"speed": 2.0})
    np.testing.assert_allclose(slower["left.A"].values, slow["A"].values, atol=1e-10)
    np.testing.assert_allclose(slower["right.A"].values, single["A"].values, atol=1e-10)


# What is refused


@pytest.mark.parametrize(
    ("motion", "unknowns", "words"),
    [
        ({"x(platform)": "t"}, ["A1"], "does not determine the mechanism: it has 3 degrees of freedom"),
        ({**PLATFORM, "A2": "0.1*t"}, ["A1"], "over-determines"),
        ({**PLATFORM, "x(platform)": "5*t"}, ["A1"], "cannot be reached: .* near a dead point of"),
        ({"knee": "t"}, ["A1"], "unknown 'knee'; there are A1"),
        (PLATFORM, None, "which joints drive the mechanism"),
        (PLATFORM, ["A9"], "unknown 'A9'"),
        (PLATFORM, {"A1": (2, 1)}, "limits must be"),
        ({"A1": "w*t"}, None, "unknown w"),
        ({"A1": "sqrt(t)"}, None, "no finite velocity at t = 0"),
        ({"A1": ["t", "t"]}, None, "expected a formula"),
        ({"u(A1)**2": "1"}, ["A1"], "not linear in velocities"),
        ({"A1": "q(A2)"}, None, "expected a formula of t and parameters"),
        (None, None, "no motion is given"),
    ],
)
def test_refused(motion, unknowns, words):
    with pytest.raises(da.DalembertError, match=words):
        da.inverse_dynamics(three_rrr(), motion, 2.0, unknowns=unknowns)


def test_dead_point_is_named_with_its_time():
    with pytest.raises(da.SimulationError, match=r"at t = 0 s .* singular position: there .*A.* can move"):
        da.inverse_dynamics(
            da.library.four_bar(), {("coupler", (0.4, 0, 0)): ["0.4*cos(t)", None, None]}, 1.0, unknowns=["A"]
        )
    with pytest.raises(da.SimulationError, match=r"at t = 0\.46\d+ s .* near a dead point of"):
        da.inverse_dynamics(da.library.four_bar(), {"D": "2*t"}, 3.0, unknowns=["A"])


def test_parameters_that_are_no_forces_are_refused():
    with pytest.raises(da.DalembertError, match="'crank' is a length"):
        da.inverse_dynamics(da.library.four_bar(), {"A": "t"}, 1.0, unknowns=["crank"])


def test_inverse_of_a_state_refuses_constraints():
    dynamics = da.compile(da.library.four_bar())
    zero = np.zeros(dynamics.nv)
    with pytest.raises(da.DalembertError, match=r"has constraints .* da\.inverse_dynamics"):
        dynamics.inverse(zero, zero, zero)


# Results


def test_sizing_files_and_pictures(tmp_path):
    found = da.inverse_dynamics(da.library.four_bar(), {"A": "2*pi*t"}, 1.0)
    sizing = found.sizing()
    motor = sizing.motors[0]
    assert motor.peak == pytest.approx(np.abs(found["A"].values).max())
    assert motor.speed == pytest.approx(2 * np.pi)
    assert motor.mean_power == pytest.approx(0.0, abs=1e-9)  # a closed cycle without friction
    assert motor.effective < motor.peak and motor.unit == "N m"
    weight = 2.0 * (0.4 + 1.0 + 0.8) * 9.81
    load = found.reaction("A").sel(kind="force") + found.reaction("D").sel(kind="force")
    momentum = found.motion.momentum.linear.sel(axis="y").values
    rate = make_interp_spline(found.time.values, momentum, k=5).derivative()(found.time.values)
    np.testing.assert_allclose(load.sel(axis="y").values - weight, rate, atol=1e-5)
    assert str(sizing).splitlines()[1].split()[:2] == ["A", f"{motor.peak:.4g}"]
    for name in ("a.nc", "a.csv"):
        assert found.save(tmp_path / name).stat().st_size > 1000
    import xarray as xr

    saved = xr.load_dataset(tmp_path / "a.nc")
    np.testing.assert_array_equal(saved.force.sel(unknown="A").values, found["A"].values)
    table = np.genfromtxt(tmp_path / "a.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["A"], found["A"].values)
    found.plot(tmp_path / "a.png")
    found.plot(tmp_path / "b.png", quantities=["A", "B"])
    sizing.plot(tmp_path / "c.png")
    sizing.save(tmp_path / "sizing.csv")
    page = found.animate(tmp_path / "a.html")
    assert "Torques" in page.read_text(encoding="utf-8")
    with pytest.raises(da.DalembertError, match="unknown quantity 'Q'"):
        found["Q"]


def test_values_without_labels():
    """What the sizing report reads is what the labeled quantities hold."""
    inverse = da.inverse_dynamics(da.library.four_bar(), {"A": "2*pi*t"}, 0.5)
    np.testing.assert_array_equal(inverse.values("time"), inverse.time.values)
    np.testing.assert_array_equal(inverse.values("force")[:, 0], inverse[inverse.names[0]].values)
    np.testing.assert_array_equal(inverse.values("power"), inverse.power.values)
    for name, wrench in inverse.wrenches().items():
        np.testing.assert_array_equal(wrench, inverse.reaction(name).values)
    with pytest.raises(da.DalembertError, match="no values 'torque'; there are time, force, speed, power"):
        inverse.values("torque")
