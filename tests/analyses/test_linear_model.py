"""Linear models: names, inputs, outputs, other forms, sensitivities, charts and refusals."""

from __future__ import annotations

import pickle
import sys
import types

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analyses.linearization.spectrum import _strong_components
from dalembert.errors import DalembertError

G = 9.81


def two_masses(closed: bool) -> da.Model:
    """Two point masses on massless rods of one meter; closed: the upper one on a parallelogram, so it only shifts."""
    model = da.Model("hanging", gravity=(0, 0, -G))
    model.body("upper", mass=1, com=(0, 0, -1), inertia=(0, 0, 0))
    model.body("lower", mass=1, com=(0, 0, -2), inertia=(0, 0, 0))
    if closed:
        model.body("left", mass=0, com=(-1, 0, -0.5), inertia=(0, 0, 0))
        model.body("right", mass=0, com=(1, 0, -0.5), inertia=(0, 0, 0))
        model.revolute("A", model.ground, "left", point=(-1, 0, 0), axis="y")
        model.revolute("B", "left", "upper", point=(-1, 0, -1), axis="y")
        model.revolute("C", model.ground, "right", point=(1, 0, 0), axis="y")
        model.revolute("D", "right", "upper", point=(1, 0, -1), axis="y")
    else:
        model.revolute("A", model.ground, "upper", point=(0, 0, 0), axis="y")
    model.revolute("E", "upper", "lower", point=(0, 0, -1), axis="y")
    return model


@pytest.mark.parametrize("closed", [False, True])
def test_frequencies_and_shapes_of_two_hanging_masses(closed):
    linear = da.linearize(two_masses(closed), states=["A", "E"])
    assert linear.kind == "equilibrium"
    modes = sorted(linear.modes(), key=lambda mode: mode.frequency)
    squares = [abs(mode.eigenvalue) ** 2 for mode in modes]
    np.testing.assert_allclose(squares, [(2 - np.sqrt(2)) * G, (2 + np.sqrt(2)) * G], rtol=1e-13)
    assert all(mode.eigenvalue.real == 0 and mode.kind == "oscillates" for mode in modes)
    for mode, ratio in zip(modes, (np.sqrt(2), -np.sqrt(2)), strict=True):
        # E turns relative to the upper body, which turns only without the parallelogram.
        lower = mode.coordinates["E"] + (0 if closed else mode.coordinates["A"])
        assert lower / mode.coordinates["A"] == pytest.approx(ratio, rel=1e-12)
        # T of the lower mass and of the upper one: (1 + ratio)² and 1
        share = (1 + ratio) ** 2 / (1 + (1 + ratio) ** 2)
        assert mode.bodies["lower"] == pytest.approx(share, rel=1e-12)
    if closed:
        assert modes[0].coordinates["B"] == pytest.approx(-modes[0].coordinates["A"])


def test_frequencies_and_shapes_of_a_frame_of_two_stories():
    """Two floors of mass m on hinged columns of height h, held upright by springs κ in one hinge of each story:
    m ẍ = −k (story shifts), k = κ/h². ω² = (3 ∓ √5)/2 k/m, and floors move in the golden ratio."""
    m, h, spring = 3.0, 1.5, 40.0
    model = da.Model("frame", gravity=(0, 0, 0))
    below: str = model.ground
    for story in (1, 2):
        low, high, floor = (story - 1) * h, story * h, f"floor_{story}"
        model.body(floor, mass=m, com=(0, 0, high), inertia=(1, 1, 1))
        for side, x in (("left", -2), ("right", 2)):
            column = f"{side}_{story}"
            model.body(column, mass=0, com=(x, 0, low), inertia=(0, 0, 0))
            model.revolute(f"foot_{column}", below, column, point=(x, 0, low), axis="y")
            model.revolute(f"head_{column}", column, floor, point=(x, 0, high), axis="y")
        model.joint_force(f"spring {story}", f"foot_left_{story}", value=f"-{spring}*q(foot_left_{story})")
        below = floor
    linear = da.linearize(model, states=["foot_left_1", "foot_left_2"], outputs=["x(floor_1)", "x(floor_2)"])
    assert linear.kind == "equilibrium"
    golden, k = (1 + np.sqrt(5)) / 2, spring / h**2
    slow, fast = sorted(linear.modes(), key=lambda mode: mode.frequency)
    for mode, square, ratio in ((slow, (3 - np.sqrt(5)) / 2, golden), (fast, (3 + np.sqrt(5)) / 2, -1 / golden)):
        assert abs(mode.eigenvalue) ** 2 == pytest.approx(square * k / m, rel=1e-12)
        first, second = linear.C @ mode.vector
        assert second / first == pytest.approx(ratio, rel=1e-12)
        turned = mode.coordinates
        for story in (1, 2):
            assert turned[f"head_left_{story}"] == pytest.approx(-turned[f"foot_left_{story}"], rel=1e-10)
            assert turned[f"foot_right_{story}"] == pytest.approx(turned[f"foot_left_{story}"], rel=1e-10)
        assert mode.bodies["floor_2"] / mode.bodies["floor_1"] == pytest.approx(ratio**2, rel=1e-10)


def test_matrices_of_a_pendulum():
    """m l² θ̈ = −m g l sin θ + τ: A, B, C, D, the response to a torque and the second-order form."""
    model = da.library.pendulum(length=2.0, mass=3.0)
    joint = model.joints[0].name
    rod = da.linearize(model, {joint: 0.0, f"{joint}.d": 0.0}, inputs=[joint], outputs=[joint, f"{joint}.d"])
    assert rod.states == (joint, f"{joint}.d") and rod.outputs == (joint, f"{joint}.d") and rod.inputs == (joint,)
    second = rod.second_order()
    assert second.K0[0, 0] / second.M[0, 0] == pytest.approx(-rod.A[1, 0])
    np.testing.assert_allclose(rod.B, [[0], [1 / second.M[0, 0]]])
    np.testing.assert_allclose(rod.C, np.eye(2))
    np.testing.assert_allclose(rod.D, 0)
    w0 = np.sqrt(-rod.A[1, 0])
    omega = np.array([0.5 * w0, 2 * w0])
    expected = rod.B[1, 0] / (w0**2 - omega**2)
    np.testing.assert_allclose(rod.frequency_response(omega, joint, joint), expected, rtol=1e-12)
    np.testing.assert_allclose(rod.to_scipy().A, rod.A)


@pytest.fixture(scope="module")
def bicycle() -> da.LinearModel:
    return da.linearize(da.library.bicycle(lean=0.0, speed=5.0), inputs=["steering"])


def test_a_bicycle_without_where_it_is(bicycle):
    assert bicycle.kind == "steady motion"
    small = bicycle.reduced("rear contact[3]", "steering", "rear contact[3].d", "steering.d")
    assert len(small.states) == 4
    np.testing.assert_allclose(small.eigenvalues(), [v for v in bicycle.eigenvalues() if v != 0], rtol=1e-12)
    assert np.sum(bicycle.eigenvalues() == 0) == 6
    assert not bicycle.stable and small.stable
    with pytest.raises(DalembertError, match="depends on"):
        bicycle.reduced("steering", "steering.d")
    # Steered to the right by a torque at the handlebar, it leans: the response of the part is that of the whole.
    whole = bicycle.frequency_response(3.0, "steering", "lean")
    assert small.frequency_response(3.0, "steering", "lean") == pytest.approx(whole, rel=1e-10)


@pytest.mark.parametrize("parameter", ["speed", "w", "c", "mB", "g"])
def test_sensitivities_are_those_of_the_eigenvalues(bicycle, parameter):
    """Against central differences of order 8; their error is below 1e-9 of the eigenvalues."""
    value = bicycle.source.parameters[parameter]
    step = 1e-3 * value
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    moved = {k: bicycle.again({parameter: value + k * step}).eigenvalues() for i in weights for k in (i, -i)}
    expected = sum(c * (moved[i] - moved[-i]) for i, c in weights.items()) / step
    found = bicycle.sensitivity(parameter)[parameter]
    at = bicycle.eigenvalues() != 0
    np.testing.assert_allclose(found[at], expected[at], rtol=1e-7, atol=1e-7 / value)


@pytest.mark.parametrize("joint", ["A", "B"])
def test_a_closed_loop_follows_a_length(joint):
    """∂A/∂p with loops, against differences of order 8: the given joint stays, all others move with the crank."""
    model = da.library.four_bar()
    start = {joint: float(da.assemble(model, {"A": 0.4}).joint(joint)[0][0]), f"{joint}.d": 0.7}
    linear = da.linearize(model, start, parameters={"crank": 0.35})
    step, weights = 1e-3, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    moved = {k: linear.again({"crank": 0.35 + k * step}).A for i in weights for k in (i, -i)}
    expected = sum(c * (moved[i] - moved[-i]) for i, c in weights.items()) / step
    scale = np.abs(expected).max()
    np.testing.assert_allclose(linear.source.slope("crank"), expected, rtol=0, atol=1e-8 * scale)


def test_a_parameter_and_a_force_as_inputs():
    model = da.Model("cart", gravity=(0, 0, 0))
    model.parameters(k=50.0)
    model.body("block", mass=2.0, com=(1, 0, 0), inertia=(1, 1, 1))
    model.prismatic("slide", model.ground, "block", point=(0, 0, 0), axis="x")
    model.joint_force("motor", "slide", value="-k*q(slide) - 3*u(slide)")
    model.force("push", "block", value=(10, 0, 0))
    linear = da.linearize(
        model, {"slide": 0.2}, inputs=["push", "motor", "k"], outputs=["slide", "x(block)", "k*q(slide)"]
    )
    assert linear.inputs == ("push[0]", "push[1]", "push[2]", "motor", "k")
    np.testing.assert_allclose(linear.A, [[0, 1], [-25, -1.5]])
    np.testing.assert_allclose(linear.B, [[0] * 5, [0.5, 0, 0, 0.5, -0.1]], atol=1e-15)
    np.testing.assert_allclose(linear.C, [[1, 0], [1, 0], [50, 0]])
    np.testing.assert_allclose(linear.D[2], [0, 0, 0, 0, 0.2])
    assert linear.kind == "equilibrium"


def test_a_parameter_that_moves_dependent_joints():
    """∂(output)/∂p at held independent angle, against differences of assembled positions."""
    model = da.library.four_bar()
    name = da.linearize(model, {"A": 0.4}).states[0]
    angle = float(da.assemble(model, {"A": 0.4}).joint(name)[0][0])
    start = {name: angle, f"{name}.d": 0.7}
    linear = da.linearize(model, start, inputs=["crank"])
    step = 1e-3
    moved = {k: da.linearize(model, start, parameters={"crank": linear.source.parameters["crank"] + k * step},
                             states=[name]) for k in (-2, -1, 1, 2)}  # fmt: skip
    acceleration = {k: m.rates[1] for k, m in moved.items()}
    slope = (8 * (acceleration[1] - acceleration[-1]) - (acceleration[2] - acceleration[-2])) / (12 * step)
    assert linear.B[1, 0] == pytest.approx(slope, rel=1e-6)


def test_a_chart_finds_where_the_bicycle_is_stable(tmp_path):
    chart = da.linearize_over(da.library.bicycle(lean=0.0), "speed", np.linspace(0, 10, 21))
    weave, capsize = chart.crossings()
    # Published with 15 digits by Meijaard and others (2007). In doubles an eigenvalue next to zero is known to 1e-13,
    # and passes zero slowly.
    assert weave.value == pytest.approx(4.29238253634111, rel=0, abs=1e-12)
    assert capsize.value == pytest.approx(6.02426201538837, rel=0, abs=5e-12)
    assert weave.oscillates and weave.becomes == "stable"
    assert not capsize.oscillates and capsize.becomes == "unstable"
    assert chart.eigenvalues.shape == (21, 4)
    for name, draw in (("a", chart.plot), ("b", lambda p: chart.plot_ratio("steering", "rear contact[3]", p)),
                       ("c", chart[10].reduced().plot_modes)):  # fmt: skip
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_along_a_run():
    model = da.library.double_pendulum()
    run = da.simulate(model, 1.0)
    chart = da.linearize(model, run.resample([0.0, 0.31, 1.0]))
    alone = da.linearize(model, da.State(0.31, run.resample([0.31]).values("q")[0], run.resample([0.31]).values("u")[0],
                                         run.dynamics.coordinates, {}), states=chart[0].states)  # fmt: skip
    assert list(chart.values) == [0.0, 0.31, 1.0]
    np.testing.assert_allclose(chart[1].A, alone.A, rtol=1e-9, atol=1e-9)
    assert "no equilibrium" in chart[1].kind


@pytest.mark.parametrize("coordinates", ["absolute", "natural"])
def test_eigenvalues_do_not_depend_on_coordinates(coordinates):
    """At a resting position, where they mean something."""
    model = two_masses(True)
    for name in ("left", "right"):
        model.bodies[[body.name for body in model.bodies].index(name)] = next(
            body.model_copy(update={"mass": sp.Float(0.1)}) for body in model.bodies if body.name == name
        )
    expected = da.linearize(model).eigenvalues()
    found = da.linearize(da.compile(model, coordinates=coordinates)).eigenvalues()
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_stewart_platform_released_from_its_drives():
    legs = [f"actuator_{i}" for i in range(1, 7)]
    model = da.library.stewart_platform()
    driven = da.linearize(model)
    assert driven.states == () and driven.eigenvalues().shape == (0,)
    free = da.linearize(model, release=legs, inputs=legs)
    assert len(free.states) == 12 and free.inputs == tuple(legs)
    # With the forces that the drives exert, taken as constant, the reference does not accelerate against them:
    # B times those forces takes away what the free platform would do.
    dynamics = da.compile(model)
    reference = driven.reference
    du, multipliers = dynamics.solve(reference.q, reference.u)
    forces = [float(multipliers[dynamics.rows.of([leg])[0]]) for leg in legs]
    places = [dynamics.u_names.index(name[:-2]) for name in free.states[6:]]
    np.testing.assert_allclose(free.rates[6:] + free.B[6:] @ forces, du[places], rtol=1e-8, atol=1e-8)


def test_acceleration_derivatives_with_loops():
    model = da.library.four_bar()
    dynamics, state = da.compile(model), da.assemble(model, {"A": 1.0}, {"A": 2.0})
    found = dynamics.acceleration_derivatives(state.q, state.u)
    weights, step = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}, 1e-3
    for matrix, k in ((found.ddu_dq, 0), (found.ddu_du, 1), (found.ddu_dtau, 2)):
        for j, unit in enumerate(np.eye(dynamics.nv)):

            def at(i: int, unit: np.ndarray = unit, k: int = k) -> np.ndarray:
                moved = [state.q, state.u, np.zeros(dynamics.nv)]
                moved[k] = moved[k] + i * step * unit
                return dynamics.acceleration(*moved)

            expected = sum(c * (at(i) - at(-i)) for i, c in weights.items()) / step
            np.testing.assert_allclose(matrix[:, j], expected, rtol=1e-8, atol=1e-8)
    batch = dynamics.acceleration_derivatives(np.stack([state.q] * 3), state.u)
    np.testing.assert_allclose(batch.ddu_dq[2], found.ddu_dq, rtol=1e-9, atol=1e-9)


def test_python_control_gets_the_names(monkeypatch, bicycle):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(DalembertError, match=r"dalembert\[control\]"):
        bicycle.to_control()
    seen: dict = {}
    fake = types.ModuleType("control")
    fake.ss = lambda *matrices, **names: seen.update(names, A=matrices[0])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "control", fake)
    bicycle.to_control()
    assert seen["inputs"] == ["steering"] and seen["states"] == list(bicycle.states)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": ["motor"]}, "unknown 'motor'; the model has joints A, B, C, D"),
        ({"inputs": ["A[1]"]}, "has 1 components"),
        ({"outputs": ["q(Z)"]}, "unknown 'Z'"),
        ({"outputs": ["2*crank"]}, "names no motion"),
        ({"outputs": ["import os"]}, "not an output, joint or formula"),
        ({"states": ["A", "B"]}, "cannot be independent"),
        ({"states": ["x"]}, "unknown coordinate 'x'"),
        ({"release": ["E"]}, "no constraint 'E'"),
        ({"parameters": {"v": 1.0}}, "unknown parameters"),
        ({"weights": {"C": 2.0}}, "are for subsystems"),
    ],
)
def test_wrong_requests_are_explained(options, words):
    with pytest.raises(DalembertError) as error:
        da.linearize(da.library.four_bar(), **options)
    assert words in str(error.value)


def test_a_state_off_the_constraints_is_refused():
    model = da.library.four_bar()
    state = da.assemble(model)
    broken = da.State(0.0, state.q + 0.1, state.u, state.coordinates, {})
    with pytest.raises(DalembertError, match="violates 'C' by"):
        da.linearize(model, broken)


def test_a_singular_position_is_refused():
    model = da.library.parallelogram()
    with pytest.raises(DalembertError, match="singular position"):
        da.linearize(model, {"A1": np.pi / 2})


def test_a_mode_is_shown_with_its_loops_closed(tmp_path):
    linear = da.linearize(da.library.four_bar(), {"A": 0.4, "A.d": 0.0})
    mode = linear.modes()[0]
    motion = linear.source.motion(mode.vector, mode.eigenvalue)
    coupler, rocker = (list(motion.values("body")).index(name) for name in ("coupler", "rocker"))
    place = motion.values("position")
    assert np.ptp(place[:, coupler], axis=0).max() > 0.01
    path = linear.animate(0, tmp_path / "mode.html")
    assert path.stat().st_size > 50_000 and "oscillates" in path.read_text()
    assert np.isfinite(place[:, rocker]).all()
    with pytest.raises(DalembertError, match="modes 0 to"):
        linear.animate(7, tmp_path / "mode.html")
    legs = [f"actuator_{i}" for i in range(1, 7)]
    platform = da.linearize(da.library.stewart_platform(), release=legs)
    mode = next(m for m in platform.modes() if m.eigenvalue)
    shown = platform.source.motion(mode.vector, mode.eigenvalue)
    assert np.ptp(shown.values("position"), axis=0).max() > 0.01


def test_planar_mechanisms_are_linearized_as_models():
    planar = da.library.planar_pendulum()
    np.testing.assert_allclose(da.linearize(planar).A, da.linearize(planar.to_model()).A)


def test_linear_models_and_equilibria_are_pickled():
    model = da.library.four_bar()
    linear = da.linearize(model, {"A": 0.8}, inputs=["A"])
    again = pickle.loads(pickle.dumps(linear))
    assert np.array_equal(again.A, linear.A) and again.states == linear.states
    assert np.allclose(again.sensitivity("density")["density"], linear.sensitivity("density")["density"], rtol=1e-12)
    found = da.equilibrium(model)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    part = pickle.loads(pickle.dumps(da.linearize(da.library.bicycle(lean=0.0)).without("rear contact[0]")))
    assert len(part.states) > 0


def test_one_name_stands_for_a_list_and_nothing_to_do_is_said():
    model = da.library.four_bar()
    assert np.array_equal(da.linearize(model, inputs="A").B, da.linearize(model, inputs=["A"]).B)
    with pytest.raises(da.DalembertError, match="no values of 'density'"):
        da.linearize_over(model, "density", [])
    with pytest.raises(da.DalembertError, match="unknowns must be a dictionary by name or names"):
        da.inverse_dynamics(model, {"A": "t"}, 0.1, unknowns=3)
    with pytest.raises(da.DalembertError, match="expected a model"):
        da.workspace(3, "coupler", {"A": (0, 1)})
    with pytest.raises(da.DalembertError, match="samples must be"):
        da.workspace(model, "coupler", {"A": (0, 1)}, samples=0)
    assert len(da.workspace(da.compile(model), "coupler", {"A": (0, 1)}, samples=3).values) == 3


@pytest.mark.parametrize("n", [0, 1, 2, 7, 30])
def test_blocks_of_states_are_those_of_scipy(n):
    """States that depend on each other, against SciPy's strong components."""
    import scipy.sparse.csgraph

    rng = np.random.default_rng(n)
    for density in (0.02, 0.1, 0.4):
        edges = rng.random((n, n)) < density
        mine = _strong_components(edges)
        count, label = scipy.sparse.csgraph.connected_components(edges, connection="strong") if n else (0, mine)
        assert len(set(mine)) == count
        assert all((mine[i] == mine[j]) == (label[i] == label[j]) for i in range(n) for j in range(n))
