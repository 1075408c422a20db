"""Where mechanisms rest and how they move steadily, against closed forms and other formulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import dalembert as da
from dalembert.analyses.assembly.rank import Positions
from dalembert.errors import DalembertError
from dalembert.fuzz.random_models import loop_model, tree_model
from dalembert.joints import JOINTS

EXACT = 1e-9  # rad, m, N: Newton's method ends at rounding
G = 9.81


def test_a_pendulum_rests_below_and_balances_above():
    found = da.equilibrium(da.library.pendulum(), starts=6)
    assert [one.kind for one in found] == ["stable", "unstable"] and found.stable.tolist() == [True, False]
    np.testing.assert_allclose([one.joint("pivot")[0] for one in found], [0, np.pi], atol=EXACT)
    omega = np.sqrt(G)  # a bob on a rod of 1 m without mass
    np.testing.assert_allclose(np.abs(found[0].eigenvalues.imag), omega, rtol=0.01)
    np.testing.assert_allclose(found[1].growth, np.abs(found[0].eigenvalues.imag).max(), rtol=1e-9)
    assert found[0].potential < found[1].potential
    text = str(found)
    assert "2 equilibria from 6 starts" in text and "unstable" in text
    assert len(found[:1]) == 1 and found.states[0] is found[0].state and len(found.eigenvalues) == 2


def test_from_any_guess_a_pendulum_goes_down():
    """Also from where the torque is largest and Newton's method has no direction."""
    for angle in (1.0, np.pi / 2, 3.0, -2.5):
        found = da.equilibrium(da.library.pendulum(), {"pivot": angle})
        assert found[0].stable and abs(np.sin(found[0].joint("pivot")[0])) < EXACT
    assert da.equilibrium(da.library.pendulum(), {"pivot": np.pi})[0].kind == "unstable"  # as it was asked


def test_a_double_pendulum_has_four_equilibria():
    found = da.equilibrium(da.library.double_pendulum(), starts=16)
    angles = [tuple(np.abs(np.round(np.cos(one.state.q), 9))) for one in found]
    assert len(found) == 4 and set(angles) == {(1.0, 1.0)}
    assert found.stable.tolist() == [True, False, False, False]
    growing = [int(np.sum(one.eigenvalues.real > 1e-6)) for one in found]
    assert sorted(growing) == [0, 1, 1, 2]


def chain(n: int, length: float, mass: float, span: float) -> da.Model:
    """Rods between two points at the same height, drawn as a V."""
    model = da.Model("chain", gravity=(0, 0, -G))
    fall = np.sqrt(length**2 - (span / n) ** 2)
    points = [(i * span / n, 0, -fall * min(i, n - i)) for i in range(n + 1)]
    before = model.ground
    for i in range(n):
        a, b = np.array(points[i]), np.array(points[i + 1])
        along = (b - a) / length
        inertia = mass * length**2 / 12 * (np.eye(3) - np.outer(along, along))
        rod = model.body(f"rod{i}", mass=mass, com=tuple((a + b) / 2), inertia=inertia)
        model.revolute(f"j{i}", before, rod, point=points[i], axis="y")
        before = rod
    model.revolute("end", before, model.ground, point=points[n], axis="y")
    return model


def test_a_chain_of_rods_hangs_as_its_closed_form_says():
    """The horizontal pull H is the same everywhere: tan θᵢ = (n/2 − i + 1/2) m g/H, and Σ l cos θᵢ is the span."""
    n, length, mass, span = 8, 0.25, 0.3, 1.1
    k = n / 2 - np.arange(n) - 0.5
    H = brentq(lambda h: np.sum(length / np.hypot(1, k * mass * G / h)) - span, 1e-3, 1e3, xtol=1e-14)
    model = chain(n, length, mass, span)
    one = da.equilibrium(model)[0]
    assert one.stable
    force = one.reaction("j0").sel(kind="force").values
    np.testing.assert_allclose(force, [-H, 0, n * mass * G / 2], atol=1e-8)
    drawn = np.arccos(span / (n * length)) * np.sign(k)
    turned = np.cumsum([one.joint(f"j{i}")[0] for i in range(n)])
    np.testing.assert_allclose(drawn + turned, np.arctan(k * mass * G / H), atol=1e-9)


def test_the_desk_lamp_rests_where_its_springs_balance_it():
    """l = l₀/(1 − W/(k a b)) for each arm (see the library), from its own start far away."""
    found = da.equilibrium(da.library.desk_lamp())
    one = found[0]
    assert len(found) == 1 and one.stable and not one.neutral
    loads = {"lower spring": (1150.0, 0.06, 0.04, 0.975), "upper spring": (836.0, 0.05, 0.06, 0.625)}
    angles = {"lower spring": ("shoulder", np.pi / 6, 1.0), "upper spring": ("elbow high", 5 * np.pi / 12, -1.0)}
    for name, (k, a, free, mass) in loads.items():
        b, W = 0.12, mass * G * 0.4
        length = free / (1 - W / (k * a * b))
        theta = np.arccos((a**2 + b**2 - length**2) / (2 * a * b))
        joint, drawn, sign = angles[name]
        turned = one.joint(joint)[0] + (one.joint("elbow low")[0] + one.joint("shoulder")[0]) * (name[0] == "u")
        np.testing.assert_allclose(turned, sign * (theta - drawn), atol=EXACT)
        np.testing.assert_allclose(one.preload(name), k * (length - free), rtol=1e-9)
    assert one.preloads()["friction 1"] == 0.0


def test_which_spring_holds_the_lamp_here():
    found = da.equilibrium(
        da.library.desk_lamp(), {"shoulder": 0.2, "elbow high": -0.3}, hold=["shoulder", "elbow high"],
        unknowns=["stiffness_1", "stiffness_2"],
    )  # fmt: skip
    one = found[0]
    np.testing.assert_allclose([one.joint("shoulder")[0], one.joint("elbow high")[0]], [0.2, -0.3], atol=1e-12)
    theta, a, b, free = np.pi / 6 + 0.2, 0.06, 0.12, 0.04
    length = np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(theta))
    k = 0.975 * G * 0.4 / (a * b * (1 - free / length))
    np.testing.assert_allclose(one.parameters["stiffness_1"], k, rtol=1e-9)
    # With what was found, the lamp rests there by itself.
    again = da.equilibrium(da.library.desk_lamp(), {"shoulder": 0.1}, parameters=one.parameters)[0]
    np.testing.assert_allclose(again.joint("shoulder"), 0.2, atol=1e-8)


def sprung_four_bar(stiffness: float) -> da.Model:
    model = da.library.four_bar()
    model.spring("k", model.ground, "rocker", at=((0.2, 1.2, 0), (1.0, 0.4, 0)), stiffness=stiffness, length=0.3)
    return model


@pytest.mark.parametrize("stiffness", [pytest.param(0.0, marks=pytest.mark.slow), 60.0])
def test_a_four_bar_rests_where_its_energy_is_stationary(stiffness: float):
    """The oracle scans the energy over the crank's angle on the branch in which it is drawn."""
    model = sprung_four_bar(stiffness)
    dynamics = da.compile(model)

    def potential(angle: float) -> float:
        state = da.assemble(model, {"A": angle})
        return float(dynamics.energy(state.q, state.u)[1])

    def slope(angle: float) -> float:
        return (potential(angle + 1e-5) - potential(angle - 1e-5)) / 2e-5

    scan = np.linspace(-np.pi, np.pi, 25)
    slopes = [slope(angle) for angle in scan]
    roots = [
        (brentq(slope, a, b, xtol=1e-9), fa < 0)
        for a, b, fa, fb in zip(scan, scan[1:], slopes, slopes[1:], strict=False)
        if fa * fb < 0
    ]
    found = da.equilibrium(model, starts=12)
    on_branch = {}
    for one in found:
        angle = one.joint("A")[0]
        same = da.assemble(model, {"A": angle})
        if np.allclose(same.body("rocker")[0].R, one.state.body("rocker")[0].R, atol=1e-6):
            on_branch[float((angle + np.pi) % (2 * np.pi) - np.pi)] = one.stable
    assert len(on_branch) == len(roots) >= 2
    for root, stable in roots:
        near = min(on_branch, key=lambda angle: abs(angle - root))
        assert abs(near - root) < 1e-6 and on_branch[near] == stable


TREES = [("revolute", "prismatic", "universal"), ("spherical", "revolute", "cylindrical"), ("revolute",) * 4]


@pytest.mark.parametrize("kinds", [TREES[0], *(pytest.param(kinds, marks=pytest.mark.slow) for kinds in TREES[1:])])
def test_random_trees_rest_in_every_formulation(kinds: tuple[str, ...]):
    """Nothing accelerates in absolute coordinates by another formulation, and the energy is stationary."""
    model = tree_model(5, kinds, forces=False)
    hold_by_springs(model, 60.0)
    check_rest(model)


@pytest.mark.slow
def test_random_loops_rest_in_every_formulation():
    model = loop_model(3, ("revolute", "universal", "revolute", "spherical"), ("spherical",), forces=False)
    hold_by_springs(model, 80.0)
    check_rest(model)


def hold_by_springs(model: da.Model, stiffness: float) -> None:
    for joint in list(model.joints):
        sizes = JOINTS[joint.kind].sizes()
        assert sizes is not None
        for index in range(0 if joint.kind == "spherical" else sizes.nv):
            model.torsional_spring(f"k {joint.name} {index}", joint.name, index=index, stiffness=stiffness, damping=1.0)


def check_rest(model: da.Model) -> None:
    one = da.equilibrium(model)[0]
    assert one.kind in ("stable", "neutral")
    dynamics = da.compile(model, formulation="newton-euler", coordinates="absolute")
    du = dynamics.acceleration(*one.state.to(dynamics.coordinates))
    np.testing.assert_allclose(du, 0, atol=1e-6)
    own = da.compile(model)
    seen = own.residuals(0.0, one.state.q, one.state.u)
    A = np.asarray(seen.jacobian)
    free = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, tol=1e-8) :] if len(A) else np.eye(own.nv)
    p = own.parameters()
    for direction in free:
        near = [own.kernels.move_kernel(one.state.q, s * 1e-4 * direction, p) for s in (-1.0, 1.0)]
        if len(A):
            positions = Positions(own, one.state)
            near = [positions.settle(np.asarray(q)) for q in near]
        low, high = (float(own.energy(q, one.state.u)[1]) for q in near)
        assert abs(high - low) / 2e-4 < 1e-6 * (1 + abs(one.potential))


def test_redundant_loops_rest_and_carry_their_weight():
    """Sarrus stands on its spring; Bennett's loop has rows that depend on others only where it is closed."""
    one = da.equilibrium(da.library.sarrus())[0]
    assert one.stable
    feet = [one.reaction(name).sel(kind="force", axis="z").item() for name in ("foot_x", "foot_y")]
    assert feet[0] == pytest.approx(feet[1], abs=1e-6)
    bennett = da.equilibrium(da.library.bennett())[0]
    assert bennett.stable
    run = da.simulate(da.library.bennett(), 0.5, initial=bennett.state, output_step=0.1)
    np.testing.assert_allclose(run.values("q"), np.tile(bennett.state.q, (6, 1)), atol=1e-5)


# Steady motions


def test_a_top_precesses_slowly_and_fast():
    """C (n + Ω cos θ) Ω − A Ω² cos θ = m g h."""
    m, r, t, h, theta, n = 0.5, 0.1, 0.02, 0.15, 0.4, 150.0
    C, A = m * r**2 / 2, m * (3 * r**2 + t**2) / 12 + m * h**2
    wanted = np.sort(np.roots([(C - A) * np.cos(theta), C * n, -m * G * h]).real)
    found = da.equilibrium(
        da.library.spinning_top(), steady={"tip.psi": None, "tip.phi": n}, hold=["tip.theta"],
        coordinates=da.Generalized(sequence="zxz"), starts=10,
    )  # fmt: skip
    np.testing.assert_allclose([one.state.u[0] for one in found], wanted, rtol=1e-9)
    assert all(one.stable and one.linear is not None and one.linear.kind == "steady motion" for one in found)


def test_a_disc_rolls_in_circles():
    """Thin disc, lean θ, spin φ', turning ψ':  the moment about the contact point balances.

    With ω₃ = φ' + ψ' sin θ about the axis,  A = m r²/4, C = m r²/2:
    (C + m r²) ω₃ ψ' cos θ − A ψ'² sin θ cos θ = −m g r sin θ.
    """
    m, r, theta, spin = 1.0, 0.3, 0.3, 6.0
    A, C = m * r**2 / 4, m * r**2 / 2
    s, c = np.sin(theta), np.cos(theta)
    wanted = np.sort(np.roots([(C + m * r**2) * s * c - A * s * c, (C + m * r**2) * spin * c, m * G * r * s]).real)
    disc = da.library.rolling_disc()
    steady: dict[str, float | None] = {"contact[2]": None, "contact[4]": spin}
    found = da.equilibrium(disc, {"contact[3]": theta}, steady=steady, hold=["contact[3]"], starts=10)
    np.testing.assert_allclose([one.state.u[2] for one in found], wanted, rtol=1e-9)
    # It really goes on so: lean and rates stay for a whole circle.
    one = found[1]
    run = da.simulate(disc, 2 * np.pi / abs(one.state.u[2]), initial=one.state, rtol=1e-10, output_step=0.5)
    np.testing.assert_allclose(run.values("q")[:, 3], theta, atol=1e-7)
    np.testing.assert_allclose(run.values("q")[-1, :2], 0, atol=1e-6)


def test_a_disc_finds_its_lean_for_given_rates():
    disc = da.library.rolling_disc()
    found = da.equilibrium(disc, steady={"contact[2]": -1.2, "contact[4]": 6.0})
    theta, r, turn, spin = found[0].state.q[3], 0.3, -1.2, 6.0
    s, c = np.sin(theta), np.cos(theta)
    assert abs(1.5 * r**2 * (spin + turn * s) * turn * c - r**2 / 4 * turn**2 * s * c + G * r * s) < 1e-9


@pytest.mark.parametrize(
    ("speed", "kind"), [pytest.param(3.0, "unstable", marks=pytest.mark.slow), (5.0, "stable"), (8.0, "unstable")]
)
def test_a_bicycle_runs_straight(speed: float, kind: str):
    """Between 4.292 and 6.024 m/s it is stable; the eigenvalues are those of the linearization."""
    model = da.library.bicycle(lean=0.0)
    one = da.equilibrium(model, steady={"rear contact[4]": speed / 0.3})[0]
    np.testing.assert_allclose(one.state.u[0], speed, atol=1e-9)
    np.testing.assert_allclose(one.state.q[[3, 6]], 0, atol=1e-9)
    assert one.kind == kind
    linear = da.linearize(da.library.bicycle(lean=0.0, speed=speed)).eigenvalues()
    for value in linear[np.abs(linear) > 1e-3]:
        assert np.abs(one.eigenvalues - value).min() < 1e-6
    assert any("rear contact[2]" in names for names in one.neutral)  # it may head anywhere


def governor(speed: float) -> da.Model:
    """A bob on an arm that hangs from a turning shaft: it rises where cos θ = g/(ω² l)."""
    model = da.Model("governor", gravity=(0, 0, -G))
    shaft = model.body("shaft", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    arm = model.body("arm", mass=2.0, com=(0, 0, -0.5), inertia=(0, 0, 0))
    model.revolute("spindle", model.ground, shaft, point=(0, 0, 0), axis="z")
    model.revolute("hinge", shaft, arm, point=(0, 0, 0), axis="y")
    model.drive("spindle", f"{speed}*t")
    return model


def test_a_driven_governor_lifts_its_bob():
    speed = 6.0
    with pytest.raises(DalembertError, match="moves by 6 per second, so nothing rests"):
        da.equilibrium(governor(speed))
    found = da.equilibrium(governor(speed), {"hinge": 0.5}, steady={"spindle": None}, starts=8)
    heights = {round(float(np.cos(one.joint("hinge")[0])), 9): one.kind for one in found}
    assert heights[round(G / (speed**2 * 0.5), 9)] == "stable"
    assert heights[1.0] == "unstable" == heights[-1.0]


# What is said


def test_neutral_directions_are_named():
    found = da.equilibrium(da.library.cart_pendulum(), starts=4)
    assert found[0].kind == "neutral" and found[0].neutral == (("rail",),) and not found[0].stable
    assert "neutral" in str(found[0]) and "rail" in str(found)
    whitworth = da.equilibrium(da.library.whitworth())
    assert whitworth[0].kind == "neutral" and len(whitworth[0].neutral) == 1


def free_body() -> da.Model:
    model = da.Model("lift", gravity=(0, 0, -G))
    body = model.body("cabin", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, body, point=(0, 0, 0), axis="z")
    return model


def test_what_nothing_balances_is_said_with_its_force():
    with pytest.raises(DalembertError, match=r"(?s)no equilibrium of 'lift'.*'rail' by -19\.62 N\..*Fix: "):
        da.equilibrium(free_body())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"starts": 0}, "starts must be a number from 1"),
        ({"steady": {"x": 1.0}}, "steady: no coordinate 'x'.*one of A, D, B"),
        ({"steady": {"C": 1.0}}, "'C'; it is closed by the others"),
        ({"steady": {"A": float("nan")}}, "must be a finite number or None"),
        ({"steady": {"A": 2.0}}, "no steady motion of 'four-bar' found"),
        ({"hold": ["x"]}, "hold: no coordinate 'x'"),
        ({"unknowns": ["x"]}, "unknowns: no parameter 'x'; the model has crank"),
        ({"guess": 3}, "guess must be a dictionary by name or a State"),
        ({"guess": {"x": 1.0}}, "unknown joint 'x'"),
        ({"parameters": {"x": 1.0}}, "unknown parameters"),
        ({"coordinates": "natural"}, "coordinates must be 'relative' or"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], message: str):
    with pytest.raises(DalembertError, match=message):
        da.equilibrium(da.library.four_bar(), **options)


def test_other_things_are_refused():
    with pytest.raises(DalembertError, match=r"takes a model.*got a int"):
        da.equilibrium(3)  # type: ignore[arg-type]
    with pytest.raises(DalembertError, match="a model with other joints"):
        da.equilibrium(da.library.four_bar(), da.assemble(da.library.pendulum()))
    one = da.equilibrium(da.library.pendulum())[0]
    with pytest.raises(DalembertError, match="no force 'x'; the model has none"):
        one.preload("x")


def test_states_dynamics_and_planar_mechanisms_are_taken(tmp_path):
    model = da.library.four_bar()
    dynamics = da.compile(model, coordinates="absolute")
    start = da.assemble(model, {"A": -1.0})
    found = da.equilibrium(dynamics, start)
    np.testing.assert_allclose(found[0].joint("A"), da.equilibrium(model, {"A": -1.0})[0].joint("A"), atol=1e-9)
    assert set(found[0].reactions()) >= {"A", "B", "C", "D"}
    found.plot(tmp_path / "rest.png")
    assert (tmp_path / "rest.png").stat().st_size > 5000
    # It stays where it is let go.
    run = da.simulate(model, 1.0, initial=found[0].state, output_step=0.5)
    np.testing.assert_allclose(run.values("q"), np.tile(found[0].state.q, (3, 1)), atol=1e-7)


def sphere() -> da.Subsystem:
    """A point mass on a sphere, gravity along x."""
    system = da.Subsystem("sphere")
    m, g, r = system.parameters(m=1.5, g=9.8, r=1.3)
    x, y, z = system.coordinates("x y z")
    system.effective_forces({x: m * g - m * x.dd, y: -m * y.dd, z: -m * z.dd})
    system.invariant(x**2 + y**2 + z**2 - r**2, name="on_the_sphere")
    return system


def test_a_subsystem_rests_where_its_invariants_and_forces_allow():
    found = da.equilibrium(sphere(), {"x": 1.0, "y": 0.4}, starts=8, parameters={"r": 2.0})
    assert [one.kind for one in found] == ["stable", "unstable"]
    for one, sign in zip(found, (1, -1), strict=True):
        assert [one[name] for name in "xyz"] == pytest.approx([2.0 * sign, 0, 0], abs=EXACT)
        # m g + 2 x λ = 0
        assert one.multipliers["on_the_sphere"] == pytest.approx(-1.5 * 9.8 / (2 * one["x"]))
        np.testing.assert_allclose(one.eigenvalues**2, [-sign * 9.8 / 2.0] * 4, rtol=1e-9)


def test_a_motor_holds_a_lever_by_its_current():
    """k i = m g l sin θ and u = ρ i at rest: the current is not zero, and the voltage is what is asked for."""
    motor = da.leaves.dc_motor("motor", k=0.2, resistance=3.0)
    lever = da.Subsystem("lever")
    weight = lever.parameters(weight=1.7)
    theta = lever.coordinates("theta")
    lever.include(motor)
    lever.invariant(theta.d - motor.omega)
    lever.effective_forces({theta: -weight * sp.sin(theta)})
    held = da.equilibrium(lever, {"theta": 0.4}, hold=["theta"], unknowns=["motor.voltage"])[0]
    assert held["theta"] == 0.4 and held["motor.i"] == pytest.approx(1.7 * np.sin(0.4) / 0.2, rel=1e-12)
    assert held["motor.voltage"] == pytest.approx(3.0 * held["motor.i"], rel=1e-12) and held.stable
    both = da.equilibrium(lever, {"theta": 0.3, "motor.voltage": held["motor.voltage"]}, starts=6)
    angles = sorted(one["theta"] % (2 * np.pi) for one in both)
    assert angles == pytest.approx([0.4, np.pi - 0.4], abs=1e-8)
    assert sorted(one.kind for one in both) == ["stable", "unstable"]
    with pytest.raises(DalembertError, match=r"(?s)no equilibrium of subsystem 'lever'.*left: force on theta"):
        da.equilibrium(lever, {"motor.voltage": 100.0})


def test_mistakes_with_subsystems_are_explained(tmp_path):
    with pytest.raises(DalembertError, match=r"'x' is not a velocity; there are x\.d"):
        da.equilibrium(sphere(), {"x": 1.0}, steady={"x": 1.0})
    with pytest.raises(DalembertError, match="a subsystem takes no State"):
        da.equilibrium(sphere(), da.assemble(da.library.pendulum()))
    with pytest.raises(DalembertError, match="'u' is not an input; subsystem 'sphere' has none"):
        da.equilibrium(sphere(), {"x": 1.0}, unknowns=["u"])
    with pytest.raises(DalembertError, match="'w' is not a variable; there are x, y, z"):
        da.equilibrium(sphere(), {"w": 1.0})
    with pytest.raises(DalembertError, match="no bodies to draw"):
        da.equilibrium(sphere(), {"x": 1.0}).plot(tmp_path / "a.png")


def test_an_equilibrium_stands_where_a_state_may():
    """Its own linear model again, a run that stays, and the same place from every analysis that begins at a state."""
    lamp = da.library.desk_lamp()
    rest = da.equilibrium(lamp)[0]
    assert rest.linear is not None
    np.testing.assert_allclose(
        np.sort_complex(da.linearize(lamp, at=rest).eigenvalues()),
        np.sort_complex(rest.linear.eigenvalues()),
        rtol=1e-9,
        atol=1e-9,
    )
    run = da.simulate(lamp, 0.1, initial=rest)
    for name in rest.state.coordinates.flat.joints:
        np.testing.assert_allclose(run.joint(name).q[-1].values, rest.joint(name), atol=1e-8)
    again = da.equilibrium(lamp, guess=rest)[0]
    np.testing.assert_allclose(again.state.q, rest.state.q, atol=1e-9)
    np.testing.assert_allclose(da.assemble(lamp, guess=rest).q, rest.state.q, atol=1e-9)
    assert da.redundancy(lamp, rest).freedom == da.inspect(lamp).freedom


def test_what_is_held_without_a_force_is_said():
    model = da.library.pendulum()
    with pytest.raises(da.DalembertError, match=r"'pivot' by .*\n.*what is held needs a force"):
        da.equilibrium(model, {"pivot": 0.5}, hold=["pivot"])
