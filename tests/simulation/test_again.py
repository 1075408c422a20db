"""What is done once and used again: traces, placements, compiled equations; and when it must not be."""

from __future__ import annotations

import copy
import importlib
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.rank import hold_rank
from dalembert.equations import Equations
from dalembert.formulations import FORMULATIONS
from dalembert.model.model import contents
from dalembert.trajectory.record import quaternions


@pytest.fixture
def traces(monkeypatch):
    """The equations that are made over CasADi symbols."""
    made = []
    plain = Equations.__init__

    def init(self, tree, *rest, **more):
        plain(self, tree, *rest, **more)
        if tree.al is CASADI:
            made.append(self)

    monkeypatch.setattr(Equations, "__init__", init)
    return made


@pytest.mark.parametrize("name", ["four-bar", "pendulum", "rolling-disc"])
def test_one_trace_serves_all_kernels_of_a_run(name, traces):
    model = own(name, "of one run")
    dynamics = da.compile(model)
    da.simulate(dynamics, 0.01)
    assert traces == [dynamics.traced]
    da.simulate(dynamics, 0.01)
    assert len(traces) == 1


def own(name, title):
    """A bundled mechanism that equals no other one in this process."""
    model = da.library.build(name)
    model.name = f"{name} {title}"
    return model


def test_equal_models_share_what_is_traced_and_compiled(traces):
    first, second = (da.compile(own("four-bar", "twice")) for _ in range(2))
    da.simulate(first, 0.01)
    da.simulate(second, 0.01)
    assert first.traced is second.traced and traces == [first.traced]
    assert first.constraint_kernel is second.constraint_kernel and first.dynamics_kernel is second.dynamics_kernel
    # What one has seen of its mechanism is not what the other has seen.
    assert first.rows.held is not second.rows.held
    # Formulations with blocks of their own have kernels of their own, of the same trace.
    others = [da.compile(own("four-bar", "twice"), formulation=name) for name in ("independent", "recursive")]
    assert others[0].dynamics_kernel is first.dynamics_kernel is not others[1].dynamics_kernel
    assert others[1].constraint_kernel is first.constraint_kernel
    changed = own("four-bar", "twice")
    changed.parameter_values["crank"] = 0.35
    assert da.compile(changed).constraint_kernel is not first.constraint_kernel
    assert da.compile(own("four-bar", "twice"), coordinates="absolute").traced is not first.traced


def test_models_that_are_not_valid_are_refused_each_time():
    for _ in range(2):
        model = own("four-bar", "broken")
        model.parameter_values.pop("crank")
        with pytest.raises(da.ModelError, match="crank"):
            da.compile(model)


def test_shared_equations_stay_as_they_are():
    """No formulation may write into what the other kernels read."""
    model = da.library.four_bar()
    for name in FORMULATIONS:
        if "relative" not in FORMULATIONS[name].supports().coordinates:
            continue
        dynamics = da.compile(model, formulation=name, coordinates="relative")
        before = [np.array(part, copy=True) for part in (dynamics.traced.jacobian, dynamics.traced.mass_matrix)]
        assert dynamics.dynamics_kernel.n_out
        for old, new in zip(before, (dynamics.traced.jacobian, dynamics.traced.mass_matrix), strict=True):
            assert all(a is b for a, b in zip(old.flat, new.flat, strict=True)), name


def test_placements_in_floats_are_kept_for_the_last_parameters():
    coordinates = da.compile(da.library.four_bar()).coordinates
    values = dict(coordinates.flat.parameters)
    first = coordinates.place(NUMPY, values)
    assert coordinates.place(NUMPY, dict(values)) is first
    (name, value), *_ = values.items()
    other = coordinates.place(NUMPY, {**values, name: 1.1 * value})
    assert other is not first and other.mechanism.parameters[name] == 1.1 * value
    # A caller may change its own dictionary afterwards.
    mine = {**values, name: 1.2 * value}
    kept = coordinates.place(NUMPY, mine)
    mine[name] = value
    assert coordinates.place(NUMPY, mine) is not kept


def test_a_model_that_stays_as_it_is_is_compiled_once():
    model = da.library.four_bar()
    first = da.simulate(model, 0.1)
    again = da.simulate(model, 0.1)
    assert again.dynamics is first.dynamics
    np.testing.assert_array_equal(again.values("q"), first.values("q"))
    np.testing.assert_array_equal(da.simulate(da.library.four_bar(), 0.1).values("q"), first.values("q"))
    other = da.simulate(model, 0.1, formulation="recursive")
    assert other.dynamics is not first.dynamics and other.dynamics.formulation.name == "recursive"
    assert da.simulate(model, 0.1).dynamics is first.dynamics


def _changes():
    def parameter(model):
        name = next(iter(model.parameter_values))
        model.set_parameter(name, 1.01 * model.parameter_values[name])

    def element(model):
        model.output("more", "x(coupler)")

    def initial(model):
        model.initial_rates["A"] = (da.Model.t * 0 + 3,)

    def inside(model):
        model.submodels[0].model.set_parameter("length", 0.7)

    def formula(model):
        model.submodels[0].parameters["mass"] = da.Model.t * 0 + 5

    return [parameter, element, initial, inside, formula]


@pytest.mark.parametrize("change", _changes(), ids=lambda change: change.__name__)
def test_whatever_changes_in_a_model_is_seen(change):
    model = da.library.four_bar()
    inner = da.Model("inner")
    length, mass = inner.parameters(length=0.5, mass=1.0)
    rod = inner.body("rod", mass=mass, com=(length, 0, 0), inertia=(0.1, 0.1, 0.1))
    inner.revolute("hinge", inner.ground, rod, point=(0, 0, 0), axis="z")
    model.add(inner, "side", parameters={"mass": 2.0})
    first = da.simulate(model, 0.05)
    assert da.simulate(model, 0.05).dynamics is first.dynamics
    before = contents(model)
    change(model)
    assert contents(model) != before
    assert da.simulate(model, 0.05).dynamics is not first.dynamics


def test_copies_and_files_of_a_model_carry_no_equations():
    model = da.library.pendulum()
    da.simulate(model, 0.1)
    assert model.derived
    for other in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert not other.derived and other == model
    assert model.derived


def test_a_model_keeps_few_equations():
    model = da.library.pendulum()
    for name in ("recursive", "lagrange-multipliers", "newton-euler", "gauss", "jourdain", "penalty"):
        da.simulate(model, 0.01, formulation=name)
    assert len(model.derived) == 4
    model.set_parameter(next(iter(model.parameter_values)), 2.0)
    da.simulate(model, 0.01)
    assert len(model.derived) == 1, "equations of what the model was are of no use any more"


def test_threads_do_not_share_the_equations_of_a_model():
    model, found = da.library.pendulum(), []
    threads = [threading.Thread(target=lambda: found.append(da.simulate(model, 0.1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0].dynamics is not found[1].dynamics
    np.testing.assert_array_equal(found[0].values("q"), found[1].values("q"))


def test_the_rank_that_is_held_belongs_to_one_start():
    """What one run needed must not stay for the next, which begins elsewhere."""
    dynamics = da.compile(da.library.bennett())
    state = assemble_state(dynamics.relative, None, None, {}, 0.0)
    hold_rank(dynamics, state)
    key = dynamics.parameters().tobytes()
    held = dynamics.held_ranks[key]
    hold_rank(dynamics, state)
    assert dynamics.held_ranks == {key: held}
    planar = da.compile(da.library.four_bar())
    planar.held_ranks[planar.parameters().tobytes()] = held
    hold_rank(planar, assemble_state(planar, None, None, {}, 0.0))
    assert not planar.held_ranks


def test_quaternions_of_rotations():
    R = Rotation.random(500, random_state=3).as_matrix()
    special = [np.eye(3), *(np.diag(d).astype(float) for d in ((1, -1, -1), (-1, 1, -1), (-1, -1, 1)))]
    for M in (R, np.array(special)):
        expected = Rotation.from_matrix(M).as_quat(scalar_first=True)
        found = np.array([quaternions(matrix[None])[0] for matrix in M])
        np.testing.assert_array_equal(found, expected)
    # Bent axes, as natural coordinates leave them that nobody leads back, give the nearest rotation.
    bent = R + 1e-6 * np.random.default_rng(0).normal(size=R.shape)
    expected = Rotation.from_matrix(bent).as_quat(scalar_first=True)
    found = np.array([quaternions(matrix[None])[0] for matrix in bent])
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=1)), 1.0, rtol=0, atol=1e-15)
    assert np.isnan(quaternions(np.full((2, 3, 3), np.nan))).all()
    # Along a motion the sign does not jump.
    turn = Rotation.from_rotvec(np.outer(np.linspace(0, 20, 400), [0.0, 0.6, 0.8])).as_matrix()
    assert (np.sum(quaternions(turn)[1:] * quaternions(turn)[:-1], axis=1) > 0.99).all()


def test_a_start_that_was_assembled_before_is_taken_again(monkeypatch):
    """Only for the same numbers; and nobody can change what is kept."""
    dynamics, calls = da.compile(da.library.four_bar()), []
    module = importlib.import_module("dalembert.analyses.simulation.options")
    monkeypatch.setattr(module, "assemble_state", lambda *given: calls.append(given) or assemble_state(*given))

    def begun(**options):
        return module.Options(**options).state(dynamics)

    first = begun(initial={"A": 0.7})
    expected = first.q.copy()
    first.q[:] = np.nan
    assert np.array_equal(begun(initial={"A": 0.7}).q, expected) and len(calls) == 1
    assert not np.array_equal(begun(initial={"A": 0.8}).q, expected) and len(calls) == 2
    assert begun(initial={"A": 0.8}, start=1.0).time == 1.0 and len(calls) == 3
    assert begun(initial={"A": 0.8}, parameters={"crank": 0.35}).parameters == {"crank": 0.35} and len(calls) == 4
    begun(initial={"A": [0.8]})
    begun(initial={"A": [0.8]})
    assert len(calls) == 6  # what is not plain numbers is assembled each time


def test_threads_that_share_equations_trace_them_once(traces):
    dynamics = da.compile(own("four-bar", "of threads"))
    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(lambda _: dynamics.dynamics_kernel, range(4)))
    assert all(kernel is kernels[0] for kernel in kernels) and traces == [dynamics.traced]
