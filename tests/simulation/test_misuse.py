"""Misuse of public calls gets one clear error; values given at run time are held to the model's rules."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sympy as sp
from support.misused import MADE, ODD, calls, methods_of, public_classes

import dalembert as da
from dalembert.dynamics import kernels
from dalembert.errors import DalembertError, InputError


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": "a"}, "start must be a finite number"),
        ({"start": float("nan")}, "start must be a finite number"),
        ({"initial": [1]}, "initial must be a dictionary"),
        ({"initial_rates": 3}, "initial_rates must be a dictionary"),
        ({"parameters": [1]}, "parameters must be a dictionary"),
        ({"parameters": {"crank": "a"}}, "'crank' must be a finite number"),
        ({"parameters": {"crank": float("nan")}}, "'crank' must be a finite number"),
        ({"parameters": {"density": -1.0}}, "with density = -1: body 'crank'"),
        ({"progress": 3}, "progress must be a function"),
        ({"checkpoint": 3}, "checkpoint must be the path"),
        ({"inputs": {"u": 1}}, "has no input 'u'"),
    ],
)
def test_wrong_options_of_a_run(options, words):
    with pytest.raises(da.DalembertError, match=words):
        da.simulate(da.library.four_bar(), 0.1, **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: da.simulate(None, 1.0),
        lambda: da.simulate("four-bar", 1.0),
        lambda: da.compile("four-bar"),
        lambda: da.assemble(3),
        lambda: da.read(None),
        lambda: da.write("m", "m.yaml"),
        lambda: da.write(da.library.four_bar(), None),
    ],
)
def test_wrong_kinds_of_arguments(call):
    with pytest.raises(da.DalembertError, match=r"expected|takes|must be"):
        call()


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural"])
def test_compiled_equations_are_immune_to_later_changes_of_the_model(coordinates, tmp_path):
    model = da.library.four_bar()
    dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates=coordinates)
    before = da.simulate(da.library.four_bar(), 0.2, formulation="lagrange-multipliers", coordinates=coordinates)
    density = model.parameter_values["density"]
    model.set_parameter("density", 7.0)
    model.set_parameter("crank", 0.9)
    model.gravity = (0, 0, -1)
    model.body("another", mass=1, inertia=(1, 1, 1))
    after = da.simulate(dynamics, 0.2)
    np.testing.assert_array_equal(after.values("q"), before.values("q"))
    kept = da.load(after.save(tmp_path / "run.nc")).dynamics.model
    assert kept.parameter_values["density"] == density
    assert "another" not in [body.name for body in kept.bodies]


def test_gravity_may_be_set_later():
    model = da.library.cart_pendulum()
    model.gravity = (0, 0, -1.62)
    assert da.simulate(model, 0.1).certificate.trusted
    with pytest.raises(da.ModelError, match="three numbers"):
        model.gravity = 9.81


def test_a_turned_tensor_of_inertia_is_symmetric_enough():
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    model = da.Model("top")
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=R @ np.diag([1.0, 2.0, 2.5]) @ R.T)
    model.free("f", "ground", body)
    assert da.simulate(model, 0.1).certificate.trusted
    with pytest.raises(da.ModelError, match="symmetric"):
        model.body("c", mass=1, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])


def test_a_run_goes_on_from_another():
    model = da.library.four_bar()
    whole = da.simulate(model, 1.0, output_step=0.1)
    first = da.simulate(model, 0.5, output_step=0.1)
    for coordinates in ("relative", "absolute"):
        second = da.simulate(model, 0.5, output_step=0.1, initial=first, coordinates=coordinates)
        np.testing.assert_allclose(second.body("coupler").position[-1], whole.body("coupler").position[-1], atol=1e-8)
    with pytest.raises(da.DalembertError, match="other joints"):
        da.simulate(da.library.slider_crank(), 0.1, initial=first)


@pytest.mark.parametrize("coordinates", ["relative", "absolute", "natural"])
def test_a_run_goes_on_with_all_turns(coordinates):
    """A spiral spring remembers how often its joint has turned, at whatever joint the loop is cut."""
    model = da.library.four_bar()
    model.torsional_spring("spiral", "A", stiffness=0.05)
    whole = da.simulate(model, 2.0, coordinates=coordinates)
    first = da.simulate(model, 1.6, coordinates=coordinates)
    assert first.joint("A").q[-1] > 4 * np.pi
    second = da.simulate(model, 0.4, coordinates=coordinates, initial=first)
    np.testing.assert_allclose(second.joint("A").q[-1], whole.joint("A").q[-1], atol=1e-7)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_the_state_of_a_run_at_any_time(coordinates):
    """It is where every analysis may begin."""
    model = da.library.four_bar()
    run = da.simulate(model, 2.0, coordinates=coordinates)
    state = run.at(1.6)
    assert state.time == 1.6
    assert state.joint("A")[0] == pytest.approx(run.joint("A").q.sel(time=1.6).item())
    np.testing.assert_allclose(state.body("coupler")[0].p, run.body("coupler").position.sel(time=1.6), atol=1e-12)
    between = run.at(1.23456)
    direct = da.simulate(model, 1.23456, coordinates=coordinates).at(1.23456)
    np.testing.assert_allclose(between.q, direct.q, atol=1e-7)
    on = da.simulate(model, 0.4, initial=state)
    np.testing.assert_allclose(on.body("coupler").position[-1], run.body("coupler").position[-1], atol=1e-7)
    modes = da.linearize(model, at=state, states="A").eigenvalues()
    chart = da.linearize(model, at=da.simulate(model, 2.0).resample([1.5, 1.6]), states="A")
    np.testing.assert_allclose(np.sort_complex(modes), np.sort_complex(chart[1].eigenvalues()), rtol=1e-6)
    with pytest.raises(da.DalembertError, match="known from 0 s to 2 s, not at t = 5 s"):
        run.at(5.0)


@pytest.mark.parametrize("step", [0.1, 0.07])
def test_the_state_at_an_event_is_what_it_leads_to(step):
    """A run that goes on from there would not meet the event again."""
    model = da.Model("cart", gravity=(0, 0, 0))
    model.body("cart", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, "cart", point=(0, 0, 0), axis="x")
    model.initial("rail", 0, rate=1)
    model.event("kick", "q(rail) - 0.5", rates={"rail": "3*u(rail)"})
    run = da.simulate(model, 1.0, output_step=step)
    here = run.at(run.events[0].time)
    assert here.joint("rail")[1] == pytest.approx(3.0) and here.time == pytest.approx(0.5)
    on = da.simulate(model, 0.5, initial=here)
    assert on.certificate.trusted and on.joint("rail").q.values[-1] == pytest.approx(2.0)


def test_a_run_goes_on_in_time_and_with_its_values():
    """Drives follow the time, and bodies keep the sizes that were given; a time and values of one's own go first."""
    model = da.library.four_bar()
    model.drive("A", "8*t")
    first = da.simulate(model, 1.0, parameters={"coupler": 1.1})
    whole = da.simulate(model, 1.5, parameters={"coupler": 1.1})
    for begin in (first, first.at(1.0)):
        on = da.simulate(model, 0.5, initial=begin)
        assert on.certificate.trusted
        assert on.time[0] == 1.0
        np.testing.assert_allclose(on.body("rocker").position[-1], whole.body("rocker").position[-1], atol=1e-9)
    own = da.simulate(da.library.four_bar(), 0.1, initial=first, start=7.0, parameters={"density": 3.0})
    assert own.time[0] == 7.0
    assert own.segments[0][1] == {"coupler": 1.1, "density": 3.0}


@pytest.mark.parametrize("name", ["bouncing-ball", "stick-slip", "clutch"])
def test_a_run_goes_on_behind_its_events(name):
    """What events changed stays so; where contacts rest and friction sticks is found anew."""
    model, duration = da.library.build(name), {"bouncing-ball": 3.0, "stick-slip": 6.0, "clutch": 2.0}[name]
    whole, first = da.simulate(model, 1.5 * duration), da.simulate(model, duration)
    on = da.simulate(model, 0.5 * duration, initial=first)
    assert on.certificate.trusted
    assert len(whole.events) == len(first.events) + len(on.events)
    np.testing.assert_allclose(on.q[-1], whole.q[-1], atol=1e-8)


def test_analyses_begin_where_a_run_ended():
    model = da.library.four_bar()
    run = da.simulate(model, 0.5, coordinates="absolute")
    angle = float(run.joint("A").q[-1])
    assert da.redundancy(model, run).state.joint("A")[0] == pytest.approx(angle)
    assert da.equilibrium(model, guess=run).states[0].joint("A")[0] == pytest.approx(4.46472, abs=1e-5)
    motion = da.inverse_dynamics(model, {"A": f"{angle!r} + 0.1*t"}, 0.1, initial=run)
    np.testing.assert_allclose(motion.joint("C").q[0], run.joint("C").q[-1], atol=1e-9)
    with pytest.raises(da.DalembertError, match="other joints"):
        da.equilibrium(da.library.slider_crank(), guess=run)


def test_a_run_goes_on_with_what_its_events_set():
    model = da.Model("switch", gravity=(0, 0, 0))
    model.parameters(push=1.0)
    model.prismatic("P", "ground", model.body("b", mass=1.0), point=(0, 0, 0), axis="x")
    model.joint_force("F", "P", "push")
    model.event("past", "q(P) - 0.5", direction="rising", set={"push": -2.0})
    whole, first = da.simulate(model, 3.0), da.simulate(model, 2.0)
    on = da.simulate(model, 1.0, initial=first)
    np.testing.assert_allclose(on.q[-1], whole.q[-1], atol=1e-9)


def test_rates_of_the_model_give_way_to_positions_of_the_caller():
    state = da.assemble(da.library.bicycle(), {"steering": 0.1})
    assert state.joint("steering")[0] == pytest.approx([0.1])


def test_values_that_satisfy_all_constraints_are_taken_as_they_are():
    model = da.System("circle")
    for name in ("x", "y"):
        model.coordinate(name, kind="length")
    model.particle("p", mass=1, position=("q(x)", "q(y)", 0))
    model.constraint("c", "q(x)**2 + q(y)**2 - 1")
    state = da.assemble(model, {"x": 0.6, "y": 0.8})
    found = np.concatenate([state.joint(name)[0] for name in ("x", "y")])
    np.testing.assert_allclose(found, [0.6, 0.8], rtol=1e-15)


def test_rank_is_not_decided_where_gradients_vanish():
    # The gradient of the rod's constraint is zero where all coordinates are.
    ends = []
    for formulation in (
        "lagrange",
        "kane",
        "hamilton",
        "routh",
        "volterra",
        "maggi",
        "gibbs-appell",
        "boltzmann-hamel",
    ):
        model = da.System("rod", gravity=(0, -9.81, 0))
        for name in ("x1", "y1", "x2", "y2"):
            model.coordinate(name, kind="length")
        model.particle("a", mass=1, position=("q(x1)", "q(y1)", 0))
        model.particle("b", mass=1, position=("q(x2)", "q(y2)", 0))
        model.constraint("rod", "(q(x1)-q(x2))**2 + (q(y1)-q(y2))**2 - 1")
        model.initial("y1", 0, rate=-1)
        model.initial("x2", 1)
        model.initial("y2", 0, rate=1)
        run = da.simulate(model, 0.5, formulation=formulation, coordinates="generalized")
        assert run.certificate.trusted, formulation
        ends.append(run.values("q")[-1])
    np.testing.assert_allclose(ends, np.broadcast_to(ends[0], np.shape(ends)), atol=1e-11)


@pytest.mark.parametrize("name", ["four-bar", "double-pendulum"])
def test_arrays_that_do_not_fit_are_refused(name):
    """Truncated results and dropped imaginary parts were silent once."""
    dynamics = da.compile(da.library.build(name))
    q, u = np.zeros(dynamics.nq), np.zeros(dynamics.nv)
    for given in ((q + 1j, u), (["a"] * dynamics.nq, u), (q[:-1], u)):
        with pytest.raises(InputError):
            dynamics.acceleration(*given)
    with pytest.raises(InputError, match=r"must hold doubles|array of doubles"):
        dynamics.acceleration(q, u, out=np.zeros(dynamics.nv, dtype=int))
    out = np.empty(dynamics.nv)
    assert dynamics.acceleration(q, u, out=out) is out


def test_analyses_that_take_dictionaries_say_so():
    model = da.library.four_bar()
    with pytest.raises(DalembertError, match=r"linearize: at must be a dictionary by name or .*, got 3"):
        da.linearize(model, at=3)
    with pytest.raises(DalembertError, match="inverse_dynamics: motion must be a dictionary by name, got 3"):
        da.inverse_dynamics(model, 3, 1.0)


def test_inspecting_a_tree_compiles_nothing(monkeypatch):
    """Its cost is that of reading it: a chain of two hundred links once took half a minute."""
    model, before = da.Model("chain"), "ground"
    for i in range(300):
        body = model.body(f"b{i}", mass=1, com=(i + 0.5, 0, 0), inertia=(1, 1, 1))
        model.revolute(f"j{i}", before, body, point=(i, 0, 0), axis="y")
        before = body
    monkeypatch.setattr(kernels, "compile_function", None)
    found = da.inspect(model)
    assert found.freedom == found.gruebler == 300 and found.redundant == []


CALLS = {
    "assemble": (), "compare": (0.1,), "compile": (), "derive": (), "eliminate": ([0.0], [0.0]), "equilibrium": (),
    "export_c": ("folder", 0.1), "export_fmu": ("a.fmu", 0.1), "ignorable": (), "inspect": (), "integrable": ("pivot",),
    "inverse_dynamics": ({"pivot": "t"}, 0.1), "kinematics": (0.1, {"pivot": "t"}), "linearize": (),
    "linearize_over": ("length", [1.0]), "redundancy": (), "simulate": (0.1,), "simulate_many": (0.1,),
    "sweep": ({"length": [1.0]}, 0.1), "workspace": ("rod", {"pivot": (0, 1)}), "write": ("a.yaml",),
}  # fmt: skip


@pytest.mark.parametrize("value", [10**400, 1j, b"x", object(), np.ones((2, 3))], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("call", CALLS)
def test_every_argument_of_every_call_is_checked_first(call, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, given = getattr(da, call), (da.library.pendulum(), *CALLS[call])
    for at, (name, argument) in enumerate(inspect.signature(function).parameters.items()):
        if argument.kind == argument.VAR_KEYWORD or name in ("executor", "seed", "repeats", "threads"):
            continue
        arguments = [*given[:at], value, *given[at + 1 :]] if at < len(given) else given
        named = {} if at < len(given) else {name: value}
        with pytest.raises(DalembertError):
            function(*arguments, **named)


@pytest.mark.parametrize(
    "call",
    [
        lambda: da.assemble(da.library.four_bar(), {"A": 10**400}),
        lambda: da.assemble(da.library.four_bar(), initial_rates={"A": 10**400}),
        lambda: da.workspace(da.library.pendulum(), "rod", {"pivot": (0, 10**400)}),
        lambda: da.simulate(da.library.pendulum(), 0.01).resample([0.0, 10**400]),
        lambda: da.inverse_dynamics(da.library.pendulum(), {"pivot": "t"}, 0.1, unknowns={"pivot": 10**400}),
    ],
)
def test_integers_beyond_all_floats_are_no_numbers(call):
    with pytest.raises(DalembertError):
        call()


def test_a_misspelled_argument_is_named():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'weight'; did you mean 'weights'"):
        da.assemble(da.library.four_bar(), weight={"A": 2.0})
    with pytest.raises(DalembertError, match=r"steady\['pivot'\] must be a finite number or None, got 'x'"):
        da.equilibrium(da.library.pendulum(), steady={"pivot": "x"})
    with pytest.raises(DalembertError, match=r"load: path must be the path of a file, got None"):
        da.load(None)


def test_rates_of_a_body_that_rolls_may_be_left_open():
    model = da.Model("ball")
    model.sphere("ball", (0, 0, 0.1), radius=0.1, mass=1.0)
    model.rolling_surface("floor", "ground", "ball", center=(0, 0, 0.1), surface="0.1*sqrt(x**2 + y**2 + z**2)")
    with pytest.raises(da.ModelError, match="None for one of several that is free"):
        da.assemble(model, initial_rates={"ball": (0.5, 0, 3.0, 0, 0, 0)})
    state = da.assemble(model, initial_rates={"ball": (0.5, 0, 3.0, None, None, None)})
    np.testing.assert_allclose(state.joint("ball")[1], (0.5, 0, 3.0, 0, -0.05, 0), atol=1e-12)


def test_names_that_are_not_there_are_refused_with_those_that_are():
    model = da.library.four_bar()
    with pytest.raises(da.ModelError, match=r"unknown parameter 'crnk'(.|\n)*did you mean crank"):
        model.set_parameter("crnk", 0.3)
    with pytest.raises(DalembertError, match="unknown body 'bar'; the model has crank, coupler, rocker"):
        da.assemble(model).body("bar")
    with pytest.raises(DalembertError, match=r"no array 'energy'; it has .*kinetic"):
        da.simulate(model, 0.01).values("energy")


def test_every_public_class_is_misused_below():
    """A class that is new gets an object in ``support/misused.py``."""
    assert public_classes() <= {name.split(",")[0] for name in MADE}


@pytest.mark.parametrize("name", MADE)
def test_methods_refuse_odd_values_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for method, signature in methods_of(name):
        for argument, call in calls(name, method, signature):
            for value in ODD.values():
                if value is None and method.startswith(("plot", "draw", "animate", "live")):
                    continue  # pictures are right, and slow
                try:
                    call(value)
                except DalembertError:
                    pass
                except Exception as error:
                    pytest.fail(f"{name}.{method}({argument}={value!r:.60}): {type(error).__name__}: {error}")


def test_a_method_names_its_argument():
    run = da.simulate(da.library.pendulum(), 0.01)
    with pytest.raises(DalembertError, match=r"Trajectory.body: name must be a name, got \[\]"):
        run.body([])
    with pytest.raises(DalembertError, match=r"Trajectory.save: path must be the path of a file, got 3"):
        run.save(3)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'quantity'; did you mean 'quantities'"):
        run.plot(quantity="energy")


def test_models_and_subsystems_refuse_by_their_own_error():
    with pytest.raises(da.ModelError, match=r"Model.event: set must be a dictionary by name, got \[1\]"):
        da.library.four_bar().event("e", "t", set=[1])
    with pytest.raises(da.ModelError, match=r"q: expected an element or its name, got 3"):
        da.library.four_bar().q(3)
    with pytest.raises(da.ModelError, match=r"Subsystem.guess: values must be a dictionary by name, got 3"):
        da.Subsystem("S").guess(3)
    with pytest.raises(da.ModelError, match=r"placement: position: .*three"):
        da.Placement(position=3)


@pytest.mark.parametrize("order", [-1, 21, 10**400])
def test_orders_have_bounds(order):
    """Derivatives of order 10⁴⁰⁰ never ended."""
    made = da.Subsystem("S")
    x = made.coordinates("x")
    made.effective_forces({x: -x.dd})
    for call in (
        lambda: made.equations(order=order),
        lambda: made.rate(x, order),
        lambda: made.kinetic_energy(x.d**2, nielsen=order),
        lambda: made.variable("y", order),
    ):
        with pytest.raises(da.ModelError, match="must be a whole number from 0 to 20"):
            call()
    assert made.equations(order=4).order == 4


def test_numbers_of_any_kind_are_numbers_of_models():
    model = da.library.four_bar()
    for value in (2, 2.0, np.float32(2), sp.Rational(2), "2.0", np.array(2.0)):
        model.set_parameter("density", value)
        assert model.parameter_values["density"] == 2.0


def test_what_is_not_there_is_missing_in_words():
    """Loops by number end as they do for lists."""
    found = da.equilibrium(da.library.pendulum(), starts=4)
    with pytest.raises(DalembertError, match=rf"there are {len(found)} equilibria, from 0 on, got number 9"):
        found[9]
    with pytest.raises(IndexError):
        found[9]
    chart = da.linearize_over(da.library.pendulum(), "length", [1.0, 2.0])
    assert len(list(chart)) == 2
    run = da.simulate(da.library.pendulum(), 0.01)
    with pytest.raises(KeyError, match=r"^no check 'x'; there are error"):
        run.certificate["x"]


def test_arrays_of_equations_that_do_not_go_together():
    dynamics = da.compile(da.library.four_bar())
    q, u = np.full(dynamics.nq, 0.5), np.zeros(dynamics.nv)
    with pytest.raises(InputError, match=r"as many states"):
        dynamics.solve(np.tile(q, (3, 1)), np.tile(u, (2, 1)))
    with pytest.raises(InputError, match="t must hold real numbers"):
        dynamics.solve(q, u, t="now")
    with pytest.raises(DalembertError, match="parameters must be a dictionary"):
        dynamics.acceleration(q, u, parameters=[])
    with pytest.raises(InputError, match="out must hold 1 arrays"):
        dynamics.mass_matrix(q, out=3)


def test_an_infinite_response_is_said():
    model = da.Model("slider")
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("x", "ground", body, point=(0, 0, 0), axis="x")
    linear = da.linearize(model, inputs=["x"])
    with pytest.raises(DalembertError, match="infinite"):
        linear.frequency_response([0.0])
    with pytest.raises(DalembertError, match="omega must be angular frequencies"):
        linear.frequency_response("fast")


CYLINDER = {"first": "ground", "second": "coupler", "at": ((0, 0, 0), (1, 1, 0)), "valve": 0, "areas": (1, 1)}
PARTS = {"dc_motor": {"joint": "A", "voltage": 1, "resistance": 1, "inductance": 1, "constant": 1},
         "pid": {"error": "q(A)", "kp": 1}, "lag": {"command": "q(A)", "time_constant": 1},
         "cylinder": CYLINDER, "sampled": {"period": 0.1, "values": {"v": "q(A)"}}}  # fmt: skip
LEAVES = {
    "equations": {"variables": {"x": 2}, "residuals": {"x": "-x.dd"}},
    "linear": {"coordinates": "x", "mass": [[1.0]]}, "kinetic_energy": {"coordinates": "x", "energy": "x.d**2/2"},
    "gibbs_appell": {"coordinates": "x", "function": "x.dd**2/2"}, "model": {"model": da.library.pendulum()},
}  # fmt: skip


def _module_calls():
    """Every function of ``da.parts``, ``da.leaves`` and ``da.library``, with right arguments for what it needs."""
    for name in sorted(da.parts.__all__):
        yield f"parts.{name}", getattr(da.parts, name), {"name": "new", **PARTS[name]}
    for name in sorted(set(da.leaves.__all__) - {"rotation", "point", "point_velocity"}):
        yield f"leaves.{name}", getattr(da.leaves, name), {"name": "new", **LEAVES.get(name, {})}
    for name in ("four_bar", "n_pendulum", "spinning_top"):
        yield f"library.{name}", getattr(da.library, name), {}


MODULE_CALLS = {name: (call, given) for name, call, given in _module_calls()}


@pytest.mark.parametrize("name", MODULE_CALLS)
def test_functions_of_modules_refuse_odd_values_in_words(name):
    call, given = MODULE_CALLS[name]
    for argument, parameter in inspect.signature(call).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or argument == "model":
            continue
        for value in ODD.values():
            named = {key: one for key, one in given.items() if key in inspect.signature(call).parameters}
            if name.startswith("parts."):
                named["model"] = da.library.four_bar()
            try:
                call(**named | {argument: value})
            except DalembertError:
                pass
            except Exception as error:
                pytest.fail(f"{name}({argument}={value!r:.60}): {type(error).__name__}: {error}")


def _without_outputs():
    model = da.library.pendulum()
    model.outputs.clear()
    return model


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: da.library.fourbar, "did you mean four_bar"),
        (lambda: da.library.four_bar(cranck=0.3), "did you mean 'crank'"),
        (lambda: da.simulation, "did you mean simulate"),
        (lambda: da.simulate(da.library.pendulum(), 0.01, integrator="rk5"), "'rk5'; did you mean rk4"),
        (lambda: da.assemble(da.library.four_bar()).body("coupla"), r"did you mean coupler\? the model has crank"),
        (lambda: da.library.four_bar().simulate(1.0), r"it is da\.simulate\(model, …\)"),
        (lambda: da.simulate(da.library.pendulum(), 0.01).reaktion, "the trajectory has no .* did you mean reaction"),
        (lambda: da.simulate(da.library.pendulum(), "1s"), "simulate: duration must be a finite number, got '1s'"),
        (lambda: da.Options(rtol="small"), "Options: rtol must be a finite number or None, got 'small'"),
        (lambda: da.simulate(_without_outputs(), 0.01).output("x"), "unknown output 'x'; the trajectory has none"),
        (lambda: da.Model("m", gravity=-9.81), "model: gravity: expected three numbers, such as .* got -9.81"),
        (lambda: da.Model("m").table("r", [0, 1], [0, 1], kind="spline"), "expected 'cubic', .* got 'spline'"),
        (lambda: da.Model("m").body("b", color="red"), "expected a color as #rrggbb, got 'red'"),
        (lambda: da.Model("m").body("b", mass="1 kg"), "a number alone, in SI units"),
        (
            lambda: da.Model("m").joint_force("f", "A", "q(A)^2"),
            r"operator \^ is not allowed\.  Fix: powers are written",
        ),
        (lambda: da.Model("m").spring("s", "a", "b", (0, 0, 0), stiffness=1), "at: expected 2 entries, got 3"),
    ],
)
def test_typical_mistakes_get_one_line(call, words):
    with pytest.raises((DalembertError, AttributeError, TypeError), match=words):
        call()


def test_two_drives_of_one_joint_are_named():
    """No rates were given, so none are to blame."""
    model = da.library.pendulum()
    for name, motion in (("one", "t"), ("two", "2*t")):
        model.drive("pivot", motion, name=name)
    with pytest.raises(da.ModelError, match=r"constraints contradict each other in their velocities: (one|two)"):
        da.simulate(model, 0.1)


def test_what_has_no_inertia_is_named():
    model = da.Model("light")
    model.body("disc", mass=1)
    model.revolute("axle", "ground", "disc", point=(0, 0, 0), axis="z")
    model.joint_force("motor", "axle", 1)
    assert "neither mass nor constraint" in da.simulate(model, 0.1).certificate.message
    assert "It is mostly 'axle'" in da.simulate(model, 0.1).certificate.message


def _nested(depth: int, copies: int = 1) -> da.Model:
    model = da.library.pendulum()
    for _ in range(depth):
        outer = da.Model("outer")
        for k in range(copies):
            outer.add(model, f"part{k}")
        model = outer
    return model


def _in_itself() -> da.Model:
    inner, outer = da.Model("inner"), da.Model("outer")
    inner.add(outer, "out")
    outer.add(inner, "in")
    return outer


WALKS = [
    lambda model: da.simulate(model, 0.1), da.compile, da.inspect, da.assemble, da.equilibrium, da.linearize, da.derive,
    lambda model: da.write(model, "m.yaml"), lambda model: da.sweep(model, {"a": [1]}, 0.1), da.Model.snapshot,
    lambda model: da.kinematics(model, 0.1), da.redundancy, lambda model: da.compare(model, 0.1), da.Model.to_data,
    da.ignorable, lambda model: da.simulate_many(model, 0.1),
]  # fmt: skip


@pytest.mark.parametrize("walk", WALKS)
def test_models_that_contain_themselves_or_too_much_are_refused_first(walk, tmp_path, monkeypatch):
    """Python's own limit of recursion ended some of these walks, others did not end."""
    monkeypatch.chdir(tmp_path)
    for model, words in (
        (_in_itself(), "contains itself"),
        (_nested(40), "deeper than 20"),
        (_nested(18, 4), "more than"),
    ):
        with pytest.raises(da.ModelError, match=words):
            walk(model)


def test_paths_that_no_system_has():
    model = da.library.pendulum()
    run = da.simulate(model, 0.1)

    def keep(path: str) -> None:
        da.simulate(model, 0.1, checkpoint=path)

    calls = [da.load, da.read, run.save, run.live, keep, lambda path: da.write(model, path)]
    for call in calls:
        with pytest.raises(da.DalembertError, match="the path of a file"):
            call("a\0b.yaml")


def test_a_drive_without_a_value_is_said():
    model = da.library.pendulum()
    model.parameters(a=1.0)
    model.drive("pivot", "sqrt(a - 1.5 - t)")
    with pytest.raises(da.DalembertError, match=r"sqrt\(.*\) has no finite value"):
        da.simulate(model, 0.1)
    with pytest.raises(da.ModelError, match="append: expected an element of bodies, got 3"):
        model.append("bodies", 3)
    with pytest.raises(da.ModelError, match="a number of thousands of digits"):
        model.output("large", "9" * 5000)


def test_a_reference_of_another_mechanism_is_refused():
    other = da.simulate(da.library.cart_pendulum(), 0.1)
    with pytest.raises(da.DalembertError, match="other bodies"):
        da.compare(da.library.pendulum(), 0.1, formulations="recursive", reference=other)


def test_pages_have_the_ending_of_pages(tmp_path):
    with pytest.raises(da.DalembertError, match="pages are written as HTML, not csv"):
        da.simulate(da.library.pendulum(), 0.1).live(tmp_path / "run.csv")


def _mass() -> da.Subsystem:
    mass = da.Subsystem("mass")
    x, u = mass.coordinates("x"), mass.input("u")
    mass.effective_forces({x: u - x.dd})
    return mass


@pytest.mark.parametrize("value", ["log(t)", "1/t", "sqrt(t - 0.5)", "exp(1000 + t)", float("nan")])
def test_inputs_without_a_value_are_said(value):
    with pytest.raises(da.DalembertError, match="input 'u' has no finite value at t = 0"):
        da.simulate(_mass(), 1.0, inputs={"u": value})
    with pytest.raises(da.DalembertError, match="has no variables"):
        da.simulate(da.Subsystem("empty"), 1.0)


def test_a_branch_that_is_not_taken_needs_no_value():
    """All branches were evaluated over floats, and a root of a negative number ended the run."""
    run = da.simulate(_mass(), 2.0, inputs={"u": "sqrt(1 - t) if t < 1 else 0"}, rtol=1e-9)
    assert run.certificate.trusted and float(run["x"][-1]) == pytest.approx(16 / 15, abs=1e-7)
    assert float(run["u"][-1]) == 0.0
    model = da.Model("slide", gravity=(0, 0, 0))
    model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", "b", point=(0, 0, 0), axis="x")
    model.drive("P", "0 if t < 1 else (t - 1)**3.5")
    assert da.assemble(model).joint("P")[0] == 0.0


def test_what_never_ends_is_no_file(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.nc")
    with pytest.raises(da.DalembertError, match="not a plain file"):
        da.load(tmp_path / "pipe.nc")


def test_steps_that_would_never_end_are_refused():
    for integrator in ("rk4", "euler", "munthe-kaas", "moreau-jean"):
        with pytest.raises(da.DalembertError, match=r"1e\+12 steps of 1e-12 s asked for, at most 1000000000"):
            da.simulate(da.library.pendulum(), 1.0, integrator=integrator, step=1e-12)
