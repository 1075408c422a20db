"""States of a model's own and inputs: against closed forms, over formulations and integrators, through files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from support.complaints import complaint

import dalembert as da
from dalembert.formulations import FORMULATIONS
from dalembert.integrators import INTEGRATORS
from dalembert.io import dumps, loads

R, L, K, J = 1.2, 2e-3, 0.05, 1e-4


def motor() -> da.Model:
    """A DC motor that turns a wheel:  L i̇ = v − R i − k ω,  J ω̇ = k i."""
    model = da.Model("DC motor", gravity=(0, 0, 0))
    model.parameters(R=R, L=L, k=K)
    model.body("rotor", mass=0.1, inertia=(J, J, J))
    model.revolute("shaft", "ground", "rotor", point=(0, 0, 0), axis="z")
    model.input("v", 6)
    model.state("i", rate="(v - R*i - k*u(shaft))/L", unit="A")
    model.joint_force("torque", "shaft", value="k*i")
    return model


def closed_form(times: np.ndarray, v: float = 6.0) -> np.ndarray:
    """i and ω of the motor from rest."""
    A = np.array([[-R / L, -K / L], [K / J, 0.0]])
    rest = np.array([0.0, v / K])
    return np.array([rest + expm(A * t) @ -rest for t in times])


def arms(seed: int) -> da.Model:
    """Two arms or a four-bar with random electrics: two states, each acting on the motion and on the other."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        model = da.library.four_bar()
        driven, seen = "A", "q(D)"
    else:
        model = da.Model("arms")
        model.body("a", mass=1, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
        model.body("b", mass=1, com=(0.6, 0, 0), inertia=(0.01, 0.02, 0.02))
        model.revolute("A", "ground", "a", point=(0, 0, 0), axis="y")
        model.revolute("B", "a", "b", point=(0.4, 0, 0), axis="y")
        driven, seen = "B", "x(b)"
    a, b, c, d = rng.uniform(0.5, 2.0, 4)
    model.input("v", f"{3 * a}*sin({2 * b}*t)")
    model.state("i", rate=f"(v - {c}*i - 0.5*u({driven}) + 0.1*f)/0.03", initial=0.1 * d)
    model.state("f", rate=f"({seen} - f)/0.05 + {0.1 * d}*i*f", initial=0.2)
    model.joint_force("torque", driven, value=f"0.5*i - 0.2*f*u({driven})")
    model.output("both", "i + 10*f")
    return model


def test_step_response_of_a_motor_is_the_closed_form():
    run = da.simulate(motor(), 0.2, rtol=1e-12, atol=1e-12)
    assert run.certificate.trusted
    exact = closed_form(run.values("time"))
    assert np.abs(run.state("i").values - exact[:, 0]).max() < 1e-10 * np.abs(exact[:, 0]).max()
    assert np.abs(run.values("u")[:, 0] - exact[:, 1]).max() < 1e-10 * np.abs(exact[:, 1]).max()
    balance = run.values("balance")
    assert np.abs(balance - balance[0]).max() < 1e-8 * run.values("kinetic").max()
    # The input's work, less what the resistance takes, is what the wheel and the coil have.
    t, i = run.values("time"), run.state("i").values
    supplied = np.trapezoid(6 * i - R * i * i, t)
    assert supplied == pytest.approx(run.values("kinetic")[-1] + L * i[-1] ** 2 / 2, rel=1e-4)


QUICK = ("radau", "generalized-alpha", "variational")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in INTEGRATORS])
def test_integrators_take_states_or_refuse_them_by_name(name: str):
    method = INTEGRATORS[name]
    how = {"rtol": 1e-9, "atol": 1e-9} if method.adaptive else {"step": 2e-5 if name == "euler" else 2e-4}
    if name in ("generalized-alpha", "variational", "moreau-jean"):
        with pytest.raises(da.ModelError, match=r"states of first order \(i\)"):
            da.simulate(motor(), 0.05, integrator=name, certify=False, **how)
        return
    run = da.simulate(motor(), 0.05, integrator=name, certify=False, **how)
    exact = closed_form(run.values("time"))[-1]
    assert run.state("i").values[-1] == pytest.approx(exact[0], rel=2e-2 if name == "euler" else 1e-6)
    assert run.values("u")[-1, 0] == pytest.approx(exact[1], rel=2e-2 if name == "euler" else 1e-6)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("formulation", ["recursive", "lagrange-multipliers", "canonical", "hamilton", "modular"])
def test_random_models_agree_over_formulations(seed: int, formulation: str):
    model = arms(seed)
    reference = da.simulate(model, 0.1, rtol=1e-10, atol=1e-10, certify=False, formulation="projection")
    run = da.simulate(model, 0.1, rtol=1e-10, atol=1e-10, certify=False, formulation=formulation)
    assert run.output("both").values[-1] == pytest.approx(reference.output("both").values[-1], rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("formulation", sorted(FORMULATIONS))
def test_random_models_agree_over_all_formulations_and_coordinates(seed: int, formulation: str):
    model = arms(seed)
    reference = da.simulate(model, 0.1, rtol=1e-10, atol=1e-10, certify=False).output("both").values[-1]
    for kind in FORMULATIONS[formulation].supports().coordinates:
        if (formulation, kind, seed % 2) == ("recursive", "absolute", 1):
            continue  # bodies without inertia about some axes
        how = {"formulation": formulation, "coordinates": kind}
        run = da.simulate(model, 0.1, rtol=1e-10, atol=1e-10, certify=False, **how)
        tolerance = 1e-5 if formulation == "penalty" else 1e-7
        assert run.output("both").values[-1] == pytest.approx(reference, rel=tolerance), kind


def test_jacobian_of_implicit_integrators_is_exact():
    dynamics = da.compile(arms(0), formulation="lagrange-multipliers")
    y = np.array([0.3, -0.2, 0.4, 0.1, 1.0, -2.0, 0.0])
    problem, _ = dynamics.problem(needs=("rhs", "retract", "jacobian"), start=(0.1, y))
    exact, step = np.empty((7, 7)), 1e-6
    assert problem.jacobian(0.1, y, exact) == 0
    for j in range(6):
        ends = []
        for sign in (1, -1):
            moved, rate = y.copy(), np.empty(7)
            moved[j] += sign * step
            assert problem.rhs(0.1, moved, rate) == 0
            ends.append(rate)
        assert exact[:, j] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-6)


def test_states_join_the_minimal_state_of_a_linear_model():
    linear = da.linearize(motor(), inputs=["v"], outputs=["i", "shaft.d"])
    assert linear.states == ("shaft", "shaft.d", "i")
    assert pytest.approx(np.array([[0, 1, 0], [0, 0, K / J], [0, -K / L, -R / L]])) == linear.A
    assert linear.B[:, 0] == pytest.approx([0, 0, 1 / L])
    assert pytest.approx(np.array([[0, 0, 1], [0, 1, 0]])) == linear.C


def test_linear_model_of_a_loop_is_that_of_small_disturbances():
    model = arms(1)
    state = da.assemble(model)
    linear = da.linearize(model, state)
    ends = []
    for sign in (1, -1):
        start = {"i": state.value("i") + sign * 1e-5}
        run = da.simulate(model, 1e-4, initial=start, rtol=1e-12, atol=1e-14, certify=False)
        ends.append(np.array([run.state("i").values[-1], run.state("f").values[-1]]))
    moved = expm(linear.A * 1e-4)[-2:, -2]
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(moved, rel=1e-2)


def test_slope_of_a_linear_model_by_a_parameter():
    linear, step = da.linearize(motor()), 1e-7
    ends = [da.linearize(motor(), parameters={"k": K + sign * step}).A for sign in (1, -1)]
    assert linear.source.slope("k") == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-4)


def test_inputs_are_numbers_formulas_feedback_samples_and_tables():
    model = motor()
    assert da.simulate(model, 0.1, inputs={"v": 3}).values("u")[-1, 0] == pytest.approx(
        closed_form(np.array([0.1]), 3)[0, 1], rel=1e-7
    )
    wave = da.simulate(model, 0.1, inputs={"v": "12*t"}).state("i").values[-1]
    ramp = da.simulate(model, 0.1, inputs={"v": ([0, 0.1], [0, 1.2])}).state("i").values[-1]
    table = da.Model("t").table("anything", x=[0, 0.05, 0.1], y=[0, 0.6, 1.2], kind="linear")
    assert ramp == pytest.approx(wave, rel=1e-9)
    assert da.simulate(model, 0.1, inputs={"v": table}).state("i").values[-1] == pytest.approx(wave, rel=1e-9)
    # Feedback of the speed is a larger k in the equation of the current.
    fed = da.simulate(model, 0.1, inputs={"v": "6 - 0.1*u(shaft)"}).values("u")[-1, 0]
    other = motor()
    other.states.clear()
    other.state("i", rate="(6 - R*i - (k + 0.1)*u(shaft))/L")
    assert fed == pytest.approx(da.simulate(other, 0.1).values("u")[-1, 0], rel=1e-8)
    assert model == motor()


def test_inputs_of_submodels_are_formulas_of_the_model():
    outer = da.Model("two", gravity=(0, 0, 0))
    outer.add(motor(), "left")
    outer.add(motor(), "right", inputs={"v": "6 - 0.05*(u('right.shaft') - u('left.shaft'))"})
    outer.output("sum", "left.i + right.i")
    run = da.simulate(outer, 0.1, inputs={"left.v": 6})
    assert run.state("right.i").values == pytest.approx(run.state("left.i").values, abs=1e-9)
    assert run.output("sum").values == pytest.approx(2 * run.state("left.i").values, abs=1e-9)


def test_states_go_through_files_checkpoints_batches_and_restarts(tmp_path: Path):
    model = arms(0)
    assert loads(dumps(model)) == model
    run = da.simulate(model, 0.1)
    again = da.load(run.save(tmp_path / "run.nc"))
    assert again.state("f").values == pytest.approx(run.state("f").values, abs=0)
    kept = da.simulate(model, 0.1, checkpoint=tmp_path / "kept.nc")
    assert kept.values("q")[-1] == pytest.approx(run.values("q")[-1], abs=0)
    on = da.simulate(model, 0.1, initial=run, start=0.1)
    assert on.values("q")[0] == pytest.approx(run.values("q")[-1], abs=0)
    assert da.simulate(model, 0.1, initial={"i": 0.7}).state("i").values[0] == 0.7
    batch = da.simulate_many(model, 0.1, initial={"A": [0.0, 0.1]})
    assert np.asarray(batch.q)[0, -1] == pytest.approx(run.values("q")[-1], abs=1e-7)
    with pytest.raises(da.ModelError, match="'i' is a state, not a joint"):
        da.simulate_many(model, 0.1, initial={"i": [0.0, 0.1]})


def test_branches_in_rates_are_events():
    model = motor()
    model.state("charge", rate="max(i - 1, 0)")
    run = da.simulate(model, 0.1, rtol=1e-11, atol=1e-11)
    assert run.certificate.trusted
    fine = np.linspace(0, 0.1, 400_001)
    exact = np.trapezoid(np.maximum(closed_form_of_current(fine) - 1, 0), fine)
    assert run.state("charge").values[-1] == pytest.approx(exact, rel=1e-8)


def closed_form_of_current(times: np.ndarray) -> np.ndarray:
    """i = v/(L (s₁ − s₂)) (e^{s₁ t} − e^{s₂ t}),  s the roots of  L J s² + R J s + k² = 0."""
    s = np.roots([L * J, R * J, K * K])
    return 6 / (L * (s[0] - s[1])) * (np.exp(s[0] * times) - np.exp(s[1] * times))


MESSAGES = [
    (lambda m: m.state("z", rate="1 + unknown"), "unknown parameter 'unknown'"),
    (lambda m: m.state("k", rate="1"), "a parameter has the same name"),
    (lambda m: m.state("v", rate="1"), "a state or an input has the same name"),
    (lambda m: m.state("t", rate="1"), "the name is taken"),
    (lambda m: m.state("a b", rate="1"), "cannot be used in formulas"),
    (lambda m: m.body("b", mass="v"), "names the input 'v'"),
    (lambda m: m.body("b", mass="i"), "names the state 'i'"),
    (lambda m: m.drive("shaft", "i*t"), "names the state 'i'; a drive may name"),
    (lambda m: m.input("w", "1 + w"), "depends on itself: w → w"),
    (lambda m: (m.input("w", "q(shaft)"), m.drive("shaft", "w")), "depends on the motion and is used in"),
    (lambda m: m.output("o", "sinn(t)"), "unknown function 'sinn'"),
]


@pytest.mark.parametrize(("change", "words"), MESSAGES, ids=[words for _, words in MESSAGES])
def test_messages_say_what_is_wrong(change, words: str):
    assert words in complaint(motor(), change)


def test_analyses_without_states_say_so():
    with pytest.raises(da.DalembertError, match=r"equilibrium: the model has states of first order \(i\)"):
        da.equilibrium(motor())
    with pytest.raises(da.DalembertError, match=r"states of first order \(i\)"):
        da.inverse_dynamics(motor(), {"shaft": "sin(t)"}, 1.0)
    with pytest.raises(da.ModelError, match="has no input 'w'"):
        da.simulate(motor(), 0.1, inputs={"w": 1})


def test_an_input_is_an_unknown_of_inverse_dynamics():
    model = da.Model("arm", gravity=(0, 0, 0))
    model.body("arm", mass=1, inertia=(1, 1, 2))
    model.revolute("A", "ground", "arm", point=(0, 0, 0), axis="z")
    model.input("torque")
    model.joint_force("motor", "A", value="3*torque")
    found = da.inverse_dynamics(model, {"A": "t**3"}, 1.0, unknowns=["torque"])
    assert found["torque"].values[-1] == pytest.approx(2 * 6 / 3, rel=1e-9)
