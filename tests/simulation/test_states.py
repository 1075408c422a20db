"""Formulations that integrate other variables than q and u: momenta, independent velocities and coordinates."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.cases import driven_four_bar, sprung_four_bar
from support.pauses import pause_every

import dalembert as da
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.simulation import drive
from dalembert.analyses.simulation.checkpoint import Checkpoint
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.dynamics.make_context import project_states
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.canonical_augmented import CanonicalAugmented
from dalembert.formulations.coordinate_partitioning import CoordinatePartitioning
from dalembert.formulations.independent import Independent
from dalembert.integrators import INTEGRATORS

# The states of both partitioned formulations are the same code: one of each.
STATES: dict[str, str | Formulation] = {
    **{name: name for name in FORMULATIONS if name.startswith("canonical")},
    "independent, mixed": Independent(state="mixed"),
    "partitioning, independent": CoordinatePartitioning(state="independent"),
    "kept basis, mixed": Independent(basis="qr", keep=True, state="mixed"),
    "kept basis, independent": Independent(basis="svd", keep=True, state="independent"),
}


RUNS = {
    "four-bar": da.library.four_bar,
    "slider-crank": da.library.slider_crank,
    "rolling disc": da.library.rolling_disc,
    "driven four-bar": driven_four_bar,
    "sprung at a cut joint": sprung_four_bar,
    "slider-crank in space": da.library.slider_crank_3d,
    "spinning top": da.library.spinning_top,
}


@cache
def _reference(name: str) -> da.Trajectory:
    return da.simulate(RUNS[name](), 1.0, formulation="lagrange-multipliers")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.slow
def test_the_motion_is_the_same(name, state):
    """Both kinds of coordinates; the work of drives too, for which these states have no multipliers."""
    expected = _reference(name)
    for coordinates in ("relative", "absolute"):
        run = da.simulate(RUNS[name](), 1.0, formulation=STATES[state], coordinates=coordinates)
        assert run.certificate.trusted, f"{coordinates}\n{run.certificate}"
        for body in run.data.body.values:
            np.testing.assert_allclose(run.body(body).position, expected.body(body).position, rtol=0, atol=1e-8)
        size = 1 + np.abs(expected.data.work).max()
        np.testing.assert_allclose(run.data.work, expected.data.work, rtol=0, atol=1e-8 * size)


# What is integrated


def test_state_counts():
    """Four-bar: 3 coordinates, 5 equations of which 2 are independent, 1 freedom."""
    model, lengths = da.library.four_bar(), {}
    for name, formulation in STATES.items():
        variables = da.compile(model, formulation=formulation).variables
        assert variables is not None
        lengths[name] = variables.varying
    everything = 3 + 3 + 1
    assert lengths["canonical"] == everything
    assert lengths["canonical-augmented"] == everything + 5  # integrals of the constraints
    dynamics = da.compile(model, formulation=Independent(state="mixed"))
    state = da.assemble(model)
    x = np.concatenate([*state.to(dynamics.coordinates), [0.0]])
    driver = drive.Driver(dynamics, Choice(INTEGRATORS["dopri8"]()), np.array([0.0, 1.0]), x, {})
    y = driver.memory.y
    rate = np.empty_like(y)
    moving = y.copy()
    moving[3:6] += 1.0  # of three places for velocities one counts
    assert driver.problem.rhs(0.0, moving, rate) == 0
    assert np.count_nonzero(rate[3:6]) == 1
    assert da.compile(model, formulation="independent").variables is None


@pytest.mark.parametrize("integrator", ["dopri8", "rk4"])
def test_momenta_drift_less_than_accelerations(integrator):
    """Constraints differentiated once instead of twice (Lankarani and Nikravesh): nothing leads back to them here."""
    options = {"rtol": 1e-8, "atol": 1e-10} if integrator == "dopri8" else {"step": 2e-3}
    position, velocity = [], []
    for formulation in ("lagrange-multipliers", "canonical"):
        run = da.simulate(
            da.library.four_bar(), 5.0, formulation=formulation, integrator=integrator, stabilization="none", **options
        )
        open_by = run.dynamics.residuals(run.time.values, run.q.values, run.u.values)
        position.append(np.abs(open_by.position).max())
        velocity.append(np.abs(open_by.velocity).max())
    assert position[1] < 0.2 * position[0]
    assert velocity[1] < 1e-12 < 1e-8 < velocity[0]


def test_momenta_of_rotors():
    """ṗ by its own recursion is f + Ṁ u, with armatures on tree joints and on the cut one."""
    for model in (da.library.four_bar(), da.library.slider_crank()):
        for i, joint in enumerate(model.joints):
            model.joints[i] = type(joint).model_validate({**dict(joint), "armature": 0.3 + 0.2 * i})
        dynamics = da.compile(model)
        e = dynamics.equations()
        both = np.stack([e.momentum_rate, e.forcing + e.along(e.mass_matrix) @ e.u])
        kernel = dynamics.kernels.compile("both", {"both": CASADI.array(both.tolist())})
        q, u = da.assemble(model, initial_rates={model.joints[0].name: 2.0}).to(dynamics.coordinates)
        a, b = np.asarray(kernel(0.0, q, u, dynamics.parameters()))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(b).max())
        run = da.simulate(model, 0.5, formulation="canonical")
        assert run.certificate.trusted, run.certificate


# Singular positions


def _equal_slider_crank() -> da.Model:
    """Crank and rod of one length: upright, the slider may stay where it is while both turn together."""
    model = da.Model("equal lengths", gravity=(0, 0, 0))
    model.body("crank", mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.body("rod", mass=1, com=(1.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.body("slider", mass=1, com=(2, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("A", model.ground, "crank", point=(0, 0, 0), axis="z")
    model.revolute("B", "crank", "rod", point=(1, 0, 0), axis="z")
    model.revolute("C", "rod", "slider", point=(2, 0, 0), axis="z")
    model.prismatic("D", model.ground, "slider", point=(2, 0, 0), axis="x")
    return model


def test_the_augmented_form_passes_a_singular_position():
    """At 90° the constraints of the slider-crank with equal lengths lose rank; nothing but penalties holds it there."""
    model = _equal_slider_crank()
    start = {"A": np.pi / 2 - 0.5, "B": -2 * (np.pi / 2 - 0.5)}
    run = da.simulate(
        model, 1.0, formulation="canonical-augmented", stabilization="none", initial=start,
        initial_rates={"A": 1.0, "B": -2.0},
    )  # fmt: skip
    assert run.time.values[-1] == 1.0
    assert run.joint("A").q.values[-1] > np.pi / 2 + 0.3
    assert np.abs(run.dynamics.residuals(run.time.values, run.q.values, run.u.values).position).max() < 1e-6


def test_violations_of_the_augmented_form_die_out():
    """φ̇ + 2Ωμ φ + Ω² ∫φ dt = 0:  a start off the constraints is forgotten."""
    dynamics = da.compile(da.library.four_bar(), formulation=CanonicalAugmented(omega=20.0))
    q, u = da.assemble(da.library.four_bar()).to(dynamics.coordinates)
    x = np.concatenate([q + 1e-3, u, [0.0]])

    def settle(context):
        project_states(context, None)

    choice = Choice(INTEGRATORS["dopri8"](), settle=settle)
    driver = drive.Driver(dynamics, choice, np.linspace(0, 1, 101), x, {})
    states = driver.run().result.states
    open_by = dynamics.residuals(np.linspace(0, 1, 101), states[:, :3], states[:, 3:6]).position
    assert np.abs(open_by[0]).max() > 5e-4
    assert np.abs(open_by[-1]).max() < 1e-8


# Time loops


def _run(monkeypatch, *args, **options):
    """A run and its driver."""
    seen = []
    run = drive.Driver.run

    def watched(self):
        seen.append(self)
        return run(self)

    monkeypatch.setattr(drive.Driver, "run", watched)
    return da.simulate(*args, **options), seen[0]


def _rope() -> da.Model:
    """A bob on a rope in Cartesian coordinates: one equation, and none of x, y, z depends on the others all the way."""
    model = da.Model("rope")
    model.body("bob", mass=1, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.translational("slide", model.ground, "bob")
    model.distance("rope", model.ground, "bob", point=(0, 0, 0), point_2=(1, 0, 0))
    model.initial("slide", rate=(0, 2, 0))
    return model


@pytest.mark.parametrize("state", [name for name in STATES if "independent" in name or "mixed" in name])
def test_multistep_methods_begin_anew_after_a_choice(state, monkeypatch):
    run, driver = _run(monkeypatch, _rope(), 2.0, formulation=STATES[state], integrator="bdf")
    assert run.certificate.finished
    assert driver.memory.restarts > 2
    expected = da.simulate(_rope(), 2.0)
    np.testing.assert_allclose(run.body("bob").position, expected.body("bob").position, rtol=0, atol=1e-4)
    tight = da.simulate(_rope(), 2.0, formulation=STATES[state])
    assert tight.certificate.trusted, tight.certificate
    np.testing.assert_allclose(tight.body("bob").position, expected.body("bob").position, rtol=0, atol=1e-8)


@pytest.mark.parametrize("state", STATES)
def test_implicit_methods_take_any_state(state):
    """Their Jacobian is found by differences."""
    run = da.simulate(da.library.four_bar(), 0.5, formulation=STATES[state], integrator="radau")
    assert run.certificate.trusted, run.certificate
    expected = da.simulate(da.library.four_bar(), 0.5)
    np.testing.assert_allclose(run.joint("A").q, expected.joint("A").q, rtol=0, atol=1e-6)


class _Killed(Exception):
    pass


@pytest.mark.parametrize("integrator", ["dopri8", "bdf"])
@pytest.mark.parametrize("state", [*STATES, "dependent"])
def test_a_killed_run_resumes_bit_for_bit(state, integrator, tmp_path, monkeypatch):
    formulation = STATES.get(state, "coordinate-partitioning")
    options = {"formulation": formulation, "integrator": integrator, "output_step": 0.01}
    model = da.library.four_bar()
    plain = da.simulate(model, 3.0, **options)
    write = Checkpoint.save

    def save(self, run):
        write(self, run)
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        pause_every(patch, 50)
        with pytest.raises(_Killed):
            da.simulate(model, 3.0, checkpoint=tmp_path / "c.nc", checkpoint_interval=1e9, **options)
    resumed = da.simulate(model, 3.0, checkpoint=tmp_path / "c.nc", checkpoint_interval=1e9, **options)
    assert any("resumed" in remark for remark in resumed.certificate.remarks)
    np.testing.assert_array_equal(plain.q.values, resumed.q.values)
    np.testing.assert_array_equal(plain.u.values, resumed.u.values)


@pytest.mark.parametrize("state", STATES)
def test_events_see_coordinates_and_velocities(state):
    """A crank that bounces, a spring that changes, and a step in between."""
    model = da.library.four_bar()
    model.event("wall", "q(A) - 2", direction="rising", rates={"A": "-0.8*u(A)"})
    expected = da.simulate(model, 1.0, formulation="lagrange-multipliers")
    assert expected.events
    for integrator in ({}, {"integrator": "rk4", "step": 1e-3}):
        run = da.simulate(model, 1.0, formulation=STATES[state], **integrator)
        error = 1e-8 if not integrator else 1e-5
        assert [event.name for event in run.events] == [event.name for event in expected.events]
        np.testing.assert_allclose(
            [event.time for event in run.events], [event.time for event in expected.events], rtol=0, atol=error
        )
        np.testing.assert_allclose(run.joint("A").q, expected.joint("A").q, rtol=0, atol=10 * error)


# What is refused


@pytest.mark.parametrize("integrator", ["munthe-kaas", "generalized-alpha", "variational"])
def test_integrators_that_move_coordinates_themselves_are_refused(integrator):
    with pytest.raises(da.ModelError, match=r"'canonical' integrates momenta.*dopri8"):
        da.simulate(da.library.four_bar(), 0.1, formulation="canonical", integrator=integrator)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(da.ModelError, match="integrates independent coordinates"):
        da.simulate(da.library.four_bar(), 0.1, formulation=Independent(state="independent"), stabilization="ggl")
    with pytest.raises(da.DalembertError, match="no Baumgarte"):
        da.simulate(da.library.four_bar(), 0.1, formulation="canonical", baumgarte=10.0)
    with pytest.raises(da.DalembertError, match="unknown state 'all'; expected one of dependent, mixed, independent"):
        CoordinatePartitioning(state="all")
    for options in ({"basis": "qr"}, {"basis": "given", "B": ((1.0, 0.0, 0.0),)}):
        with pytest.raises(
            da.DalembertError, match=r"a B that stays: basis='boolean', or 'qr' and 'svd' with keep=True"
        ):
            Independent(state="mixed", **options)
    with pytest.raises(da.DalembertError, match="alpha"):
        CanonicalAugmented(alpha=-1)
    with pytest.raises(da.DalembertError, match="iterations"):
        CanonicalAugmented(iterations=-1)
