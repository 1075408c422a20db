"""A whole run as one native function: the numbers of da.simulate, its certificate, its events; also as WebAssembly."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.turning_line import turning_line

import dalembert as da
from dalembert import library
from dalembert.analyses.simulation.live import make_living
from dalembert.analyses.simulation.live_file import parameter_ranges
from dalembert.export.module import pack
from dalembert.export.native_events import ENDLESS
from dalembert.export.native_run import ACTED, NO_START, run_live
from dalembert.export.native_start import CONTRADICTION, OPEN, TOO_FAR
from dalembert.export.native_watch import MEASURED


def bouncing_ball(stop: bool = False) -> da.Model:
    """A ball that bounces off a table, until it is held or the run ends."""
    model = da.Model("ball")
    model.parameters(e=0.8)
    ball = model.body("ball", mass=1, com=(0, 0, 1), inertia=(0.1, 0.1, 0.1))
    model.prismatic("drop", model.ground, ball, point=(0, 0, 1), axis="z")
    model.event("bounce", when="q(drop) + 0.9", direction="falling", rates={"drop": "-e*u(drop)"}, set={"e": "0.9*e"})
    if stop:
        model.event("end", when="t - 1", stop=True)
    return model


def clutch() -> da.Model:
    """Two wheels that an event couples."""
    model = da.Model("clutch", gravity=(0, 0, 0))
    for k, name in enumerate("AB"):
        body = model.body(f"wheel {name}", mass=1, inertia=(1, 1, 2 - k))
        model.revolute(name, model.ground, body, point=(0, 0, k), axis="z")
    model.constraint("clutch", "u(A) - u(B)", level="velocity", active=False)
    model.event("engage", "t - 1", switch={"clutch": True})
    model.initial("A", rate=9.0)
    return model


def motor() -> da.Model:
    """A wheel that a current turns, which is there from the start."""
    model = da.Model("motor", gravity=(0, 0, 0))
    model.body("wheel", mass=1, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("shaft", model.ground, "wheel", point=(0, 0, 0), axis="z")
    model.state("i", rate="5 - 3*i - u(shaft)", initial=1.5)
    model.joint_force("torque", "shaft", "0.2*i")
    return model


def two_at_once() -> da.Model:
    """A motor and a brake that one switch changes."""
    model = da.Model("cart", gravity=(0, 0, 0))
    model.parameters(motor=0.0, brake=0.0)
    model.body("cart", mass=1, inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, "cart", point=(0, 0, 0), axis="x")
    model.joint_force("push", "rail", "motor - brake*u(rail)")
    model.event("on", "t - 0.705", set={"motor": 3})
    model.event("off", "2*t - 1.41", set={"brake": "motor/2"})
    return model


CASES = {
    "tree": (lambda: library.build("pendulum"), {}),
    "given start and parameters": (
        library.four_bar, {"initial": {"A": 0.7}, "initial_rates": {"A": 3.0}, "parameters": {"crank": 0.35}},
    ),
    "start of a joint that closes the loop": (library.four_bar, {"initial": {"C": 0.3}}),
    "absolute coordinates": (library.four_bar, {"coordinates": "absolute"}),
    "natural coordinates": (library.four_bar, {"coordinates": "natural"}),
    "states in absolute coordinates": (motor, {"coordinates": "absolute"}),
    "other variables": (library.four_bar, {"formulation": "hamilton"}),
    "fixed steps": (library.four_bar, {"integrator": "rk4", "step": 2e-3}),
    "implicit": (library.four_bar, {"integrator": "radau"}),
    "quaternions": (lambda: library.build("spinning-top"), {}),
    "velocity constraints": (lambda: library.build("snakeboard"), {}),
    "over-constrained": (lambda: library.build("bennett"), {}),
    "events": (bouncing_ball, {}),
    "events at one time": (two_at_once, {}),
    "an event that ends the run": (lambda: bouncing_ball(True), {}),
    "an event that switches": (clutch, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_run_of_simulate(case):
    build, options = CASES[case]
    run = da.simulate(build(), 1.5 if "event" in case else 0.6, output_step=0.01, **options)
    live = make_living(run, []).live
    run_live(live)
    n = len(run.values("time"))
    assert live.written == n and np.array_equal(live.watch.time[:n], run.values("time"))
    states = np.hstack([run.values("q"), run.values("u")])
    assert np.abs(live.states[:n, :-1] - states).max() < 1e-9 * max(1.0, np.abs(states).max())
    assert np.abs(live.watch.work[:n] - run.values("work")).max() < 1e-8
    assert (live.events.count if run.dynamics.flat.events else 0) == len(run.events)
    for check in run.certificate.checks:
        if check.name not in MEASURED:  # the error, which companion runs tell
            continue
        found, limit = float(live.watch.measured[MEASURED.index(check.name)]), check.limit or 1e-6
        assert abs(found - check.value) <= 0.05 * abs(check.value) + 1e-2 * limit, check.name
        assert check.limit is None or (found <= check.limit) == check.passed
    counts = {"steps": live.steps, "rejected": live.rejected}
    assert {name: run.certificate.counts[name] for name in counts} == counts


def test_what_is_recorded_is_what_python_records():
    run = da.simulate(library.build("four-bar"), 2.0, output_step=0.02)
    live = make_living(run, []).live
    run_live(live)
    n, watch = len(run.values("time")), live.watch
    poses = watch.observed[:n, watch.at_pose : watch.at_pose + 36].reshape(n, 3, 12)
    assert np.abs(poses[..., 9:] - run.values("position")).max() < 1e-10
    turns = np.asarray(watch.orientation)[: 12 * n].reshape(n, 3, 4)
    assert np.abs(turns - run.values("orientation")).max() < 1e-9
    # C closes the loop: its angle is known from poses, and its turns are counted.
    assert "C" not in run.dynamics.coordinates.slot_of_joint
    at = run.dynamics.kernels.observer.places["joints"][0] + 2 * list(run.dynamics.measurable).index("C")
    assert np.abs(watch.observed[:n, at] - run.joint("C").q.values).max() < 1e-9


def test_outputs_with_branches_are_what_their_formulas_say():
    """The time loop holds one branch of a formula at a time; outputs of former times lie on others."""
    model = da.Model("valve")
    model.parameters(stiffness=3.0)
    body = model.body("slide", mass=1, inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, body, point=(0, 0, 0), axis="x")
    model.joint_force("spring", "rail", "-stiffness*abs(q(rail))*sign(q(rail)) - 2*max(u(rail), 0)")
    model.output("size", "abs(q(rail))")
    model.output("ahead", "max(q(rail), 0)")
    model.initial("rail", 1.0)
    run = da.simulate(model, 5.0, output_step=0.05, certify=False)
    assert run.values("q").min() < -0.1 < 0.1 < run.values("q")[5:].max()
    live = make_living(run, []).live
    run_live(live)
    first = run.dynamics.kernels.observer.places["outputs"][0]
    found = live.watch.observed[: live.written, first : first + 2]
    q = run.values("q")[:, 0]
    assert np.abs(found - np.stack([np.abs(q), np.maximum(q, 0.0)], axis=1)).max() < 1e-12
    # What chooses branches stands among the parameters, and is none that a page could offer.
    assert [slider[1] for slider in parameter_ranges(run, None)] == ["stiffness"]


def test_a_passed_singular_position_is_seen():
    """A parallelogram that is flat at the start of its outputs loses rank on the way."""
    run = da.simulate(library.build("parallelogram"), 3.0)
    live = make_living(run, []).live
    run_live(live)
    assert (live.watch.measured[MEASURED.index("conditioning")] == np.inf) == (
        run.certificate["conditioning"] == np.inf
    )


def test_a_start_that_does_not_exist():
    run = da.simulate(library.four_bar(), 0.1)
    living = make_living(run, ["A"])
    names = list(run.dynamics.parameter_names)
    living.parameters[names.index("base")] = 1.45
    living.parameters[names.index("crank")] = 0.5
    start, (row_q, _, row_v, _) = living.live.start, living.wanted.joints["A"]
    start.coordinates[row_q], start.given_q[row_q], start.given[row_v], start.moved = 3.1, 1, 1, True
    assert run_live(living.live) == NO_START and living.live.reaction == OPEN and start.off_by > 1e-3
    living = make_living(run, ["A", "D"])
    for name, value in (("A", 1.0), ("D", 5.0)):
        row = living.wanted.joints[name][2]
        living.live.start.rates[row], living.live.start.given_rates[row] = value, 1
    assert run_live(living.live) == NO_START and living.live.reaction == CONTRADICTION


def test_a_start_with_too_many_turns_is_refused():
    """It took a stage for every quarter of a radian."""
    run = da.simulate(library.four_bar(), 0.1)
    living = make_living(run, ["A"])
    start, (row_q, _, row_v, _) = living.live.start, living.wanted.joints["A"]
    start.coordinates[row_q], start.given_q[row_q], start.given[row_v], start.moved = 1e8, 1, 1, True
    assert run_live(living.live) == NO_START and living.live.reaction == TOO_FAR
    assert start.off_by == pytest.approx(1e8) and start.off_row == len(run.dynamics.rows)


def slider_crank(length: float) -> da.Model:
    model = da.Model("slider crank", gravity=(0, 0, -9.81))
    pivot, pin, end = ((x * length, 0, z * length) for x, z in ((0, 0), (0, 0.3), (0.9, 0)))
    for name, com in (("crank", pin), ("rod", pin), ("slider", end)):
        model.body(name, mass=1, com=com, inertia=(length**2 / 10,) * 3)
    model.revolute("A", model.ground, "crank", point=pivot, axis="y")
    model.revolute("B", "crank", "rod", point=pin, axis="y")
    model.revolute("C", "rod", "slider", point=end, axis="y")
    model.prismatic("S", "slider", model.ground, point=end, axis="x", cut=True)
    return model


@pytest.mark.parametrize("length", [1e-6, 1e5])
def test_a_start_of_any_size(length):
    """Stages, residuals and least moves are in units of the mechanism, as in Python."""
    model = slider_crank(length)
    rail = model.body("cart", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, rail, point=(0, 0, 0), axis="y")
    time = np.sqrt(length)
    run = da.simulate(model, 0.1 * time, initial={"S": 0.2 * length, "rail": 1e8 * length}, certify=False,
                      initial_rates={"S": 0.1 * length / time}, output_step=0.05 * time)  # fmt: skip
    live = make_living(run, []).live
    run_live(live)
    np.testing.assert_allclose(live.states[:3, :4], run.values("q"), rtol=1e-12)
    np.testing.assert_allclose(live.states[:3, 4:8], run.values("u"), rtol=1e-12, atol=1e-14 * length / time)


def test_what_bounces_ever_faster_ends_both_runs_alike():
    """Other events come in between: where the ball turns."""
    model = da.Model("ball")
    ball = model.body("ball", mass=1, com=(0, 0, 1), inertia=(0.1, 0.1, 0.1))
    model.prismatic("drop", model.ground, ball, point=(0, 0, 1), axis="z")
    model.event("floor", "q(drop) + 1", direction="falling", rates={"drop": "-0.5*u(drop)"})
    model.event("top", "u(drop)", direction="falling")
    run = da.simulate(model, 5.0, certify=False)
    live = make_living(run, []).live
    assert run_live(live) == ACTED and live.reaction == ENDLESS
    assert "faster and faster" in run.certificate.message
    assert live.events.count == len(run.events) and live.end == run.values("time")[-1]


def test_velocities_and_rows_that_only_python_chooses():
    """The page went on with those of the start."""
    run = da.simulate(turning_line(), 3.0, formulation="kane", coordinates="generalized")
    with pytest.raises(da.DalembertError, match=r"'kane' needs Python here.*new ones.*lagrange-multipliers"):
        make_living(run, [])
    short = da.simulate(turning_line(), 1.0, formulation="kane", coordinates="generalized")
    assert run_live(make_living(short, []).live) == 0
    run = da.simulate(library.build("geneva-drive"), 0.1, formulation="kane", certify=False)
    with pytest.raises(da.DalembertError, match="'kane' needs Python here: event 'in' switches"):
        make_living(run, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameter", "values", "options"),
    [
        ("pendulum", "length", (1.0, 0.7, 1.0), {}),
        ("four-bar", "crank", (0.4, 0.45), {}),
        ("four-bar", "crank", (0.4, 0.45), {"integrator": "radau"}),
        ("spinning-top", "tilt", (0.4, 0.5), {}),
        ("snakeboard", "length", (0.6, 0.7), {}),
        ("quarter-car", "k", (20e3, 16e3), {}),  # max and min
    ],
)
def test_a_module_with_its_memory(name, parameter, values, options):
    """As a page runs it: the memory is copied, the entry is called, again and again; the same bits as here."""
    wasmtime = pytest.importorskip("wasmtime", reason="wasmtime is not installed: pip install wasmtime")
    run = da.simulate(library.build(name), 1.0, output_step=0.05, certify=False, **options)
    there = make_living(run, [])
    packed = pack(run_live, there.live)
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    exports = wasmtime.Instance(store, wasmtime.Module(engine, packed.wasm), []).exports(store)
    assert exports["dalembert_malloc"](store, packed.room) == packed.base
    length = list(run.dynamics.parameter_names).index(parameter)
    for value in values:
        exports["memory"].write(store, packed.memory, packed.base)
        at = packed.address(there.parameters) + 8 * length
        exports["memory"].write(store, np.float64(value).tobytes(), at)
        exports["run"](store, packed.io)
        begin = packed.address(there.live.states)
        found = bytes(exports["memory"].read(store, begin, begin + 8 * there.live.states.size))
        again = make_living(run, [])
        again.parameters[length] = value
        assert run_live(again.live) == 0
        assert found == np.asarray(again.live.states).tobytes()


@pytest.mark.parametrize(
    ("options", "sliders", "message"),
    [
        ({}, {"parameters": ["mass", "nothing"]}, r"parameters: unknown \['nothing'\]; there are"),
        ({}, {"initial": ["joint"]}, r"initial: unknown \['joint'\]"),
        ({}, {"parameters": {"length": (2, 1)}}, r"range of 'length' must be \(low, high\)"),
        ({}, {"parameters": {"mass": (-2, 1)}}, "mass must not be negative"),
        ({}, {"parameters": "mass"}, "expected names"),
        ({"integrator": "bdf"}, {}, "run without Python"),
        ({}, {"integrators": ["radau", "bdf"]}, r"integrators: \['bdf'\] do not run without Python; dopri8, tsit5"),
        ({}, {"integrators": "radau"}, "integrators: expected names"),
        (
            {},
            {"motions": ["pivot"]},
            r"motions: unknown \['pivot'\]; drives and inputs that are formulas",
        ),
        ({}, {"motions": "pivot"}, "motions: expected names"),
    ],
)
def test_what_cannot_be_done_is_said(options, sliders, message, tmp_path):
    run = da.simulate(library.build("pendulum"), 0.1, **options)
    with pytest.raises(da.DalembertError, match=message):
        run.live(tmp_path / "live.html", **sliders)
    assert not list(tmp_path.iterdir())


def test_a_motion_that_was_not_simulated_and_one_that_was_saved(tmp_path):
    run = da.simulate(library.build("pendulum"), 0.1, initial={"pivot": 0.3})
    with pytest.raises(da.DalembertError, match=r"was not made by da\.simulate"):
        run.resample(step=0.05).live(tmp_path / "live.html")
    with pytest.raises(da.DalembertError, match="began at a given state"):
        da.simulate(library.build("pendulum"), 0.1, initial=run).live(tmp_path / "live.html")
    assert json.loads(da.load(run.save(tmp_path / "run.nc")).attrs["options"])["initial"] == {"pivot": [0.3]}


def test_states_of_a_model_have_their_curves_in_the_page():
    run = da.simulate(motor(), 1.0)
    assert f"state {run.dynamics.coordinates.own_states['i']}" in run.live().html
