"""The fuzz suite itself: its cases are the same for the same seed, it finds what is wrong, and makes it small."""

from __future__ import annotations

import json
import os
from dataclasses import fields

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dalembert as da
from dalembert.analyses.assembly.assemble_given import undefined_rates
from dalembert.analyses.simulation import drive
from dalembert.analyses.simulation.checkpoint import Checkpoint
from dalembert.analyses.simulation.choose_integrator import STABILIZATIONS
from dalembert.cli.app import app
from dalembert.constraints import CONSTRAINTS
from dalembert.coordinates import COORDINATES
from dalembert.expressions import parse, to_text
from dalembert.forces import FORCES
from dalembert.formulations import FORMULATIONS
from dalembert.fuzz import KINDS, check_models, fuzz, fuzzing, replay
from dalembert.fuzz.case import draw_case, smaller_cases, try_case
from dalembert.fuzz.check_models import Finding, Judged, check_model
from dalembert.fuzz.check_runs import check_run, random_options
from dalembert.fuzz.hostile_files import FORMATS, _changed_attribute, _changed_data
from dalembert.fuzz.random_mechanisms import draw_size, random_model
from dalembert.fuzz.random_models import Size, loop_model
from dalembert.fuzz.random_scenes import random_scene
from dalembert.fuzz.ways import ANALYTICAL, OPTIONS, PAIRS, draw_way
from dalembert.integrators import INTEGRATORS
from dalembert.joints import JOINTS
from dalembert.model import flatten
from dalembert.model.document import from_document


def test_random_models_hold_everything_there_is():
    """All joints, forces, constraints and signals, loops, sub-models and events within a hundred seeds."""
    seen: set[str] = set()
    for seed in range(100):
        model = random_model(seed, draw_size(np.random.default_rng(seed)))
        flat = flatten(model)
        for section in (flat.joints, flat.forces, flat.constraints):
            seen |= {element.kind for element, _ in section.values()}
        seen |= {f"{sum(joint.cut for joint, _ in flat.joints.values())} loops"}
        seen |= {"sub-models"} if model.submodels else set()
        seen |= {"events"} if flat.events else set()
        seen |= {"branches"} if flat.branches else set()
        seen |= {name for name in ("states", "inputs", "tables") if getattr(flat, name)}
    wanted = {*JOINTS, *FORCES, *CONSTRAINTS}
    wanted |= {f"{n} loops" for n in range(5)} | {"sub-models", "events", "branches", "states", "inputs", "tables"}
    assert not wanted - seen, "a new element needs a generator"


def test_random_scenes_hold_what_runs_may_pass_over():
    """All that they are made of within a hundred seeds, in any units; each is a model."""
    seen: set[str] = set()
    for seed in range(100):
        model, rates = random_scene(seed, draw_size(np.random.default_rng(seed)))
        flat = flatten(model)
        model.validate()
        assert set(rates) <= set(flat.joints)
        for section in (flat.forces, flat.constraints, flat.events, flat.states, flat.tables):
            seen |= set(section)
    assert {
        "limit", "gives", "touch", "rub", "press", "rubs", "by table", "law", "kink", "control", "integral", "toggle",
        "kick", "pulse", "window",
    } < seen  # fmt: skip


@pytest.mark.parametrize("size", [Size(), Size(1e-3, 1e2, 1e-2)], ids=str)
def test_a_run_of_a_scene_is_judged(size):
    options = {"integrator": "dopri8", "rtol": 1e-7, "duration": 1.0, "outputs": 50}
    for seed in (3, 5):
        model, rates = random_scene(seed, size)
        judged = check_run(model, {**options, "initial_rates": rates}, size)
        assert judged.comparisons >= 2 and not judged.findings


def test_a_run_that_misses_a_pulse_is_found(monkeypatch):
    """The truth looks closer than a run does."""
    monkeypatch.setattr(drive, "MOST_SAMPLES", 2)
    monkeypatch.setattr(drive, "LEAST_SAMPLES", 2)
    model = da.Model("pulse", gravity=(0, 0, 0))
    model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", "b", point=(0, 0, 0), axis="x")
    model.force("F", "b", ("100 if exp(-((t - 0.52)/0.005)**2) > 0.5 else 0", 0, 0))
    (finding,) = check_run(model, {"integrator": "dopri8", "rtol": 1e-6}).findings
    assert finding.check == "verdict" and "trusted with an error of 9.9e-01" in finding.words


def test_the_same_seed_gives_the_same_case():
    for kind in KINDS:
        assert draw_case(kind, 7) == draw_case(kind, 7) != draw_case(kind, 8)


# Up to 10 km, as the generator draws: at 1000 km reactions and analytical formulations agree to seven digits only.
SIZES = [Size(), *(pytest.param(Size(*given), marks=pytest.mark.slow) for given in ((1e-6, 1e6), (1e4, 1e-6)))]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_one_model_by_many_ways(size):
    judged = check_model(random_model(42, size), 42, size=size, ways=1)
    assert not judged.findings and judged.comparisons >= 7 and not judged.skipped


def test_a_cable_over_a_wheel_turns_with_its_sub_model():
    """The axis of the wheel is drawn in the world of the sub-model, which may be turned in that of the model."""
    inner = da.Model("hoist", gravity=(0, -9.81, 0))
    for name, x in (("b", 0.3), ("c", -0.3)):
        inner.body(name, mass=1 + x, com=(x, -1, 0), inertia=(0.1, 0.1, 0.1))
        inner.planar(f"plane {name}", "ground", name, point=(x, -1, 0), axis="z")
    ends = ((0.3, -1, 0), (0, 0, 0), (-0.3, -1, 0))
    inner.cable("cable", ("b", "ground", "c"), ends, radii=(0, 0.3, 0), axis="z")
    outer = da.Model("turned hoist", gravity=(0, -9.81, 0))
    outer.add(inner, "part", pose={"position": (1, 2, 3), "quaternion": (1, 0.5, 0.2, -0.3)})
    judged = check_model(outer, 3, ways=0)
    assert not judged.findings and not judged.skipped


def test_a_massless_point_on_moving_ground():
    """The oracle spread the mass of a body over six points, and divided by it."""
    model = loop_model(3, ("revolute",), ())
    tip = model.massless_point("tip", (0.5, 0.0, 0.2), axis=(1.0, 0.0, 0.0))
    model.spring("tie", tip, "b0", at=((0.5, 0.0, 0.2), (0.1, 0.3, 0.0)), stiffness=10.0, length=0.1)
    model.moving_frame("turning", rotation=(0.3, "sin(t)", 0.1), acceleration=(1.0, "t", 0))
    judged = check_model(model, 3, ways=2)
    assert judged.comparisons and not judged.findings


def test_maggi_next_to_a_dead_point_of_its_velocities():
    """The velocities that were chosen for a loop do not determine the others here: multipliers take over."""
    at = check_models._Instant(loop_model(37, ("universal", "revolute", "spherical"), ("planar",), forces=False), 37)
    assert check_models._way(at, "maggi", "generalized") < 1e-9


@pytest.mark.parametrize("length", [1e-6, 1e6])
def test_meters_and_radians_are_of_one_size(length):
    """In absolute coordinates rows mix both; joints of a watch or of a moon are as independent as those of an arm."""
    model = loop_model(5, ("revolute", "universal", "spherical"), ("point-on-plane",), size=Size(length))
    at = check_models._Instant(model, 5, Size(length))
    assert at.off(at.reference, at.q, at.u, at.solved[0]) < 1e-11 and check_models._balance(at) < 1e-9
    assert check_models._way(at, "newton-euler", "absolute") < 1e-11
    assert check_models._way(at, "independent", "natural") < 1e-11


def test_a_wrong_equation_is_found(monkeypatch):
    """What is compared can differ: forces that are off by a millionth are seen by several checks."""
    from dalembert.fuzz.oracle import Oracle

    applied = Oracle.applied
    monkeypatch.setattr(Oracle, "applied", lambda self: (1 + 1e-6) * applied(self))
    found = {finding.check for finding in check_model(random_model(3), 3, ways=0).findings}
    assert {"native code", "plain NumPy", "Newton-Euler"} <= found


@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=pytest.mark.slow if form in ("result", "checkpoint") else ()) for form in FORMATS]
)
def test_hostile_files_get_words(form):
    for i in range(4):
        seed = len(FORMATS) * (40 + i) + list(FORMATS).index(form)
        case = draw_case("files", seed)
        assert case["format"] == form
        assert not try_case(case).findings


def test_an_attribute_that_became_empty_is_changed_again():
    assert all(_changed_attribute("", np.random.default_rng(seed)) is not None for seed in range(5))


def test_a_failing_case_is_made_smaller_kept_and_replayed(tmp_path, monkeypatch):
    """A model 'fails' while it has a spring: everything else is left out."""

    class Here:
        def run(self, asked):
            case = draw_case(*asked) if isinstance(asked, tuple) else asked
            springs = [force for force in case["model"].get("forces", []) if force["kind"] == "spring"]
            return case, Judged([Finding("spring", "one is there")] if springs else [])

        def close(self):
            pass

    monkeypatch.setattr(fuzzing, "Worker", Here)
    found = fuzz(seed=0, kinds=["models"], cases={"models": 12}, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    assert found.findings[0][1] == path and "dalembert bench --replay" in str(found)
    case = json.loads(path.read_text())["case"]
    assert len(case["model"]["forces"]) == 1 and len(case["model"]["bodies"]) <= 2
    from_document(case["model"]).validate()
    assert [finding.check for finding in replay(path).findings] == ["spring"]


def test_files_are_made_smaller_too():
    case = {**draw_case("files", 0), "content": "YWJjZA=="}
    assert {one["content"] for one in smaller_cases(case)} >= {"Y2Q=", "YWI=", "YmNk"}


@pytest.mark.slow
@pytest.mark.parametrize(("action", "words"), [("exit", "crash"), ("loop", "hang"), ("raise", "traceback: KeyError")])
def test_the_process_sees_crashes_and_hangs(action, words, monkeypatch):
    from dalembert.fuzz import fuzz_worker

    monkeypatch.setenv("FUZZ_TEST", action)
    monkeypatch.setattr(fuzz_worker, "_work", _broken)
    worker = fuzz_worker.Worker()
    try:
        _, judged = worker.run({"kind": "files", "seed": 0})
        assert words in judged.findings[0].check
    finally:
        worker.close()


def _broken(pipe):
    """What the process does instead of its work."""
    from dalembert.fuzz import fuzz_worker

    pipe.send("ready")
    case = pipe.recv()
    pipe.send(case)
    if os.environ["FUZZ_TEST"] == "exit":
        os._exit(3)
    if os.environ["FUZZ_TEST"] == "loop":
        fuzz_worker._limit_time(0.2)
        while True:
            pass
    pipe.send(try_case({"kind": "files", "format": "x", "content": "", "number": 1}))


def test_commands(tmp_path):
    def said(*words: str) -> str:
        return str(CliRunner().invoke(app, ["bench", *words]).exception)

    (tmp_path / "no.json").write_text("{}")
    assert "is no case of" in said("--replay", str(tmp_path / "no.json"))
    assert "cannot be read" in said("--replay", str(tmp_path / "none.json"))
    assert "models, runs, files" in said("--fuzz", "1", "--only", "cats")
    with pytest.raises(da.DalembertError, match="positive number of seconds"):
        fuzz(0.0)


@pytest.mark.slow
def test_a_short_session(tmp_path):
    found = fuzz(seed=5, cases={"models": 1, "runs": 1, "files": 24}, folder=tmp_path)
    assert not found.findings, str(found)
    assert found.cases == {"models": 1, "runs": 1, "files": 24}


def test_texts_stay_texts_where_results_are_damaged_twice():
    """Numbers that became texts are no integers any more."""
    data = xr.Dataset({"q": ("time", np.array(["0.0", "1.0"]))})
    for seed in range(40):
        changed = _changed_data(data.copy(), np.random.default_rng(seed))
        assert all(values.dtype.kind in "UO" for values in changed.data_vars.values())


def test_velocities_that_are_no_numbers_get_words():
    """Places far beyond what can be squared: least squares had nothing to say but a traceback."""
    names, A = ["rope", "initial rate of crank"], np.array([[np.inf, 1.0], [0.0, 1.0]])
    problem = undefined_rates(names, A, np.zeros(2))
    assert problem is not None and "rope" in str(problem) and "not finite" in str(problem)
    assert undefined_rates(names, np.eye(2), np.zeros(2)) is None


def test_an_absolute_value_of_one_is_written_and_read_again():
    formula = parse("sin(abs(abs(b)*sin(1)))")
    assert parse(to_text(formula)) == formula == parse("sin(abs(b)*sin(1))")


def test_runs_are_drawn_with_everything_there_is():
    """All integrators, coordinates, formulations that are not written out, ways to stay on constraints, starts."""
    drawn = [random_options(np.random.default_rng(seed)) for seed in range(1500)]
    seen = {name: {options.get(name) for options in drawn} - {None} for name in set().union(*drawn)}
    assert seen["integrator"] == {"auto", *INTEGRATORS} and seen["coordinates"] == set(COORDINATES)
    assert seen["formulation"] == {*FORMULATIONS} - {*ANALYTICAL}
    assert seen["stabilization"] == set(STABILIZATIONS) and min(seen["start"]) < 0 < max(seen["start"])


def test_ways_are_drawn_with_their_options():
    """Each formulation in each of its coordinates; options that are words or flags, unless named here."""
    assert {name for name, _ in PAIRS} == set(FORMULATIONS) and {kind for _, kind in PAIRS} == set(COORDINATES)
    seen: set[str] = set()
    for seed in range(600):
        rng = np.random.default_rng(seed)
        seen |= set(draw_way(rng, *PAIRS[seed % len(PAIRS)])[0].split())
    for name, options in OPTIONS.items():
        assert {f"{option}={value}" for option, values in options.items() for value in values} < seen, name
    # What is integrated is the work of runs, and a basis that is kept is one that was taken.
    left_out = {("independent", "state"), ("independent", "keep"), ("coordinate-partitioning", "state")}
    for name, kind in FORMULATIONS.items():
        for field in fields(kind):  # pyright: ignore[reportArgumentType]
            if field.type in ("str", "bool"):
                assert (name, field.name) in left_out or field.name in OPTIONS.get(name, {}), (
                    "a new option is not drawn"
                )


def test_all_files_that_are_read_are_attacked():
    from dalembert.io import files

    of_suffix = {".yaml": "yaml", ".yml": "yaml", ".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}
    assert {of_suffix.get(suffix) for suffix in files.READERS} <= set(FORMATS), "a new format needs damaged files"


def test_a_run_that_resumes_elsewhere_is_found(monkeypatch):
    model, rates = random_scene(5)
    options = {"integrator": "dopri8", "rtol": 1e-7, "duration": 1.0, "outputs": 50, "initial_rates": rates}
    assert check_run(model, options).comparisons == 4
    bring = getattr(Checkpoint, "_bring")  # noqa: B009

    def elsewhere(checkpoint, run, *given):
        bring(checkpoint, run, *given)
        run.memory.y[0] += 1e-9

    monkeypatch.setattr(Checkpoint, "_bring", elsewhere)
    assert [finding.check for finding in check_run(model, options).findings] == ["resumed"]
