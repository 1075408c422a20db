"""Many samples at once move as each of them does alone."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dalembert as da
from dalembert.analyses.simulation import many
from dalembert.analyses.simulation.options import Options
from dalembert.analyses.simulation.samples import read_samples
from dalembert.errors import DalembertError, ModelError
from dalembert.numerics.context import NOT_FINITE

SAME = 1e-12  # the same operations in the same order, up to rounding in the lanes
END, STEP, OUTPUT = 0.4, 0.01, 0.05

RNG = np.random.default_rng(0)


def top_and_ball() -> da.Model:
    """A top on a free body: two quaternions."""
    model = da.Model("satellite", gravity=(0, 0, 0))
    m, l = model.parameters(m=1.0, l=0.3)
    base = model.body("base", mass=2 * m, com=(0, 0, 0), inertia=(0.2, 0.3, 0.4))
    arm = model.body("arm", mass=m, com=(l, 0, 0), inertia=(0.01, 0.02, 0.02))
    model.spherical("shoulder", base, arm, point=(0.1, 0, 0))
    return model


def forced() -> da.Model:
    """A pendulum that depends on time, loses energy, and starts at a formula of its parameters."""
    model = da.Model("forced", gravity=(0, -9.81, 0))
    l, _ = model.parameters(l=0.7, w=3.0)
    rod = model.body("rod", mass=1.0, com=(l / 2, 0, 0), inertia=(0.01, l**2 / 12, l**2 / 12))
    model.revolute("A", model.ground, rod, point=(0, 0, 0), axis="z")
    model.joint_force("motor", "A", "sin(w*t) - 0.3*u(A)")
    model.initial("A", l / 2, rate="w/5")
    return model


CASES: dict[str, tuple[da.Model, dict[str, Any]]] = {
    "double pendulum": (da.library.double_pendulum(), {"initial": {"elbow": RNG.normal(size=11)}}),
    "parameters": (
        forced(),
        {"parameters": {"l": RNG.uniform(0.4, 1, 9), "w": RNG.uniform(1, 4, 9)}, "initial_rates": {"A": 0.7}},
    ),
    "formulas at the start": (forced(), {"parameters": {"l": RNG.uniform(0.4, 1, 9), "w": 2.0}}),
    "quaternions": (
        top_and_ball(),
        {
            "initial": {"shoulder": RNG.normal(size=(6, 4))},
            "initial_rates": {"base": RNG.normal(size=(6, 6)), "shoulder": (1.0, -2.0, 0.5)},
            "parameters": {"m": RNG.uniform(1, 2, 6)},
        },
    ),
}


def single(given: dict[str, Any], i: int) -> dict[str, Any]:
    """What one sample takes from arrays for all; the sizes of the cases make clear which arrays are for all."""
    n = len(next(v for part in given.values() for v in part.values() if np.ndim(v) and len(v) != 3))
    return {
        key: {name: v[i] if np.ndim(v) and len(v) == n else v for name, v in part.items()}
        for key, part in given.items()
    }


def count(given: dict[str, Any]) -> int:
    return max(len(v) for part in given.values() for v in part.values() if np.ndim(v))


def compare(model: Any, batch: da.Batch, given: dict[str, Any], samples: Any, **options: Any) -> None:
    for i in samples:
        run = da.simulate(model, END, output_step=OUTPUT, **single(given, i), **options)
        for name in ("q", "u", "work"):
            np.testing.assert_allclose(batch.data[name].values[i], run.data[name].values, rtol=SAME, atol=SAME)
        np.testing.assert_allclose(batch.energy.balance.values[i], run.data.balance.values, rtol=1e-10, atol=1e-10)
        full = batch.trajectory(i)
        assert full.certificate.trusted == run.certificate.trusted
        assert full.certificate.counts == run.certificate.counts
        assert abs(float(batch.drift[i]) - full.certificate["energy balance"]) < 1e-13


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("integrator", ["rk4", "euler", "dopri8"])
def test_every_sample_of_a_tree_moves_as_it_does_alone(case: str, integrator: str):
    model, given = CASES[case]
    dynamics = da.compile(model)
    options = {"integrator": integrator} | ({} if integrator == "dopri8" else {"step": STEP})
    batch = da.simulate_many(dynamics, END, output_step=OUTPUT, **given, **options)
    assert len(batch) == count(given) and not batch.failed
    assert batch.q.dims == ("sample", "time", "coordinate")
    compare(dynamics, batch, given, (0, 3, len(batch) - 1), **options)


@pytest.mark.parametrize("samples", [1, 2, 7, 8, 9, 1025])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_samples_fills_lanes_and_blocks(samples: int, threads: int):
    angles = np.linspace(-3, 3, samples)
    dynamics = da.compile(da.library.pendulum())
    name = dynamics.model.joints[0].name
    batch = da.simulate_many(dynamics, 0.1, initial={name: angles}, integrator="rk4", step=STEP, threads=threads)
    np.testing.assert_array_equal(batch.q.values[:, 0, 0], angles)
    last = da.simulate(dynamics, 0.1, initial={name: angles[-1]}, integrator="rk4", step=STEP, output_step=0.001)
    np.testing.assert_allclose(batch.q.values[-1], last.q.values, rtol=SAME, atol=SAME)
    if samples > 2:
        # A pendulum is odd: mirrored starts give mirrored motions, wherever they lie in the batch.
        np.testing.assert_allclose(batch.q.values, -batch.q.values[::-1], atol=SAME)


def test_fixed_steps_of_trees_run_in_lanes(monkeypatch: pytest.MonkeyPatch):
    """Without the crew that drives runs one by one; more of them than a vector register has lanes."""
    monkeypatch.setattr(many, "_DriverCrew", None)
    starts = [0.1, 0.2, 0.3]
    batch = da.simulate_many(da.library.double_pendulum(), 0.1, initial={"elbow": starts}, integrator="rk4", step=STEP)
    assert batch.q.shape[0] == len(starts) and np.all(np.isfinite(batch.q.values))
    np.testing.assert_array_equal(batch.q.values[:, 0, 1], starts)


@pytest.mark.parametrize("integrator", ["dopri8", "rk4", "auto"])
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_closed_loops_are_assembled_for_each_sample(integrator: str, coordinates: str):
    given = {"initial": {"A": np.linspace(0, 7, 4)}, "parameters": {"coupler": np.linspace(0.9, 1.1, 4)}}
    dynamics = da.compile(da.library.four_bar(), coordinates=coordinates)
    options = {"integrator": integrator} | ({"step": STEP} if integrator == "rk4" else {})
    batch = da.simulate_many(dynamics, END, output_step=OUTPUT, **given, **options)
    compare(dynamics, batch, given, range(4), **options)
    # All samples are assembled at once, which rounds differently; from the same start a run alone has the same bits.
    values = single(given, 3)["parameters"]
    first = batch.data.isel(sample=3, time=0)
    start = da.State(0.0, first.q.values, first.u.values, dynamics.coordinates, values)
    alone = da.simulate(dynamics, END, output_step=OUTPUT, initial=start, parameters=values, **options)
    together = batch.trajectory(3).data
    for name in ("q", "u", "work", "potential"):
        if coordinates == "relative":
            np.testing.assert_array_equal(together[name].values, alone.data[name].values)
        else:  # a run alone is told the rank of redundant rows; a sample finds it at every evaluation
            np.testing.assert_allclose(together[name].values, alone.data[name].values, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (
            da.library.four_bar(),
            {"parameters": {"coupler": np.linspace(0.9, 1.1, 5)}, "initial": {"A": [0, 1, 2, 3, 4]}},
        ),
        (da.library.bicycle(), {"parameters": {"speed": np.linspace(1, 5, 4), "lean": np.linspace(0.0, 0.2, 4)}}),
        (da.library.crank_rocker(), {"parameters": {"crank": np.linspace(0.2, 0.3, 4)}}),
        (da.library.desk_lamp(), {"initial": {"shoulder": np.linspace(-0.3, 0.3, 4)}}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_assembly_of_all_samples_at_once_is_that_of_each(model: da.Model, given: dict[str, Any], monkeypatch: Any):
    """The same states as one after the other, and without asking for a single assembly."""
    dynamics, n = da.compile(model), count(given)
    wanted = [da.assemble(model, part.get("initial"), parameters=part.get("parameters"))
              for part in (single(given, i) for i in range(n))]  # fmt: skip
    monkeypatch.setattr("dalembert.analyses.simulation.samples.assemble_state", None)
    found = read_samples(dynamics, Options(**given), None, None)
    np.testing.assert_allclose(found.start, [np.concatenate([s.q, s.u]) for s in wanted], rtol=0, atol=1e-12)


def test_samples_that_cannot_be_assembled_say_why_beside_those_that_can():
    batch = da.simulate_many(da.library.four_bar(), 0.1, parameters={"coupler": [1.0, 9.0, 0.9]})
    assert list(batch.failed) == [1] and "cannot be drawn" in batch.failed[1]
    assert np.isfinite(batch.q.values[[0, 2]]).all()


def test_an_over_constrained_loop_moves_in_a_batch_as_alone():
    model = da.library.bennett()
    name = next(iter(da.compile(model).parameter_names))
    value = da.compile(model).flat.parameters[name]
    batch = da.simulate_many(model, 0.2, output_step=0.1, parameters={name: [value, value]})
    alone = da.simulate(model, 0.2, output_step=0.1)
    np.testing.assert_allclose(batch.q.values[1], alone.values("q"), atol=1e-9)


def test_states_can_be_given_directly():
    dynamics = da.compile(top_and_ball())
    q = np.tile(dynamics.coordinates.neutral(), (5, 1))
    u = RNG.normal(size=(5, dynamics.nv))
    batch = da.simulate_many(dynamics, 0.1, q=2 * q, u=u, integrator="rk4", step=STEP)
    rates = {"base": u[:, :6], "shoulder": u[:, 6:]}
    other = da.simulate_many(dynamics, 0.1, initial_rates=rates, integrator="rk4", step=STEP)
    moved = batch.u.values - other.u.values
    np.testing.assert_allclose(moved, 0, atol=SAME)  # quaternions of any length are made unit ones


def test_events_act_in_every_sample():
    model = da.Model("bouncing", gravity=(0, -9.81, 0))
    model.parameters(e=0.5)
    ball = model.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.prismatic("height", model.ground, ball, point=(0, 0, 0), axis="y")
    model.event("hit", "q(height)", direction="falling", rates={"height": "-e*u(height)"})
    model.event("late", "t - 0.9", stop=True)
    batch = da.simulate_many(model, 1.0, initial={"height": [0.5, 1.0, 2.0]}, parameters={"e": [0.5, 0.8, 1.0]})
    assert not batch.failed and set(batch.data.status.values) == {"event"}
    np.testing.assert_allclose(batch.data.end, 0.9)
    assert np.isnan(batch.q.values[:, -1]).all() and np.isfinite(batch.q.values[:, :90]).all()
    run = da.simulate(model, 1.0, initial={"height": 1.0}, parameters={"e": 0.8}, output_step=0.01)
    np.testing.assert_allclose(batch.q.values[1, :90], run.q.values[:90], atol=SAME)
    assert [event.name for event in batch.trajectory(1).events] == [event.name for event in run.events]
    assert batch.drift.values.max() < 1e-9


# Failure


def root() -> da.Model:
    """A slide whose force has no value left of zero."""
    model = da.Model("root", gravity=(0, 0, 0))
    block = model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.prismatic("slide", model.ground, block, point=(0, 0, 0), axis="x")
    model.joint_force("pull", "slide", "-sqrt(q(slide))")
    return model


@pytest.mark.parametrize("integrator", ["rk4", "dopri8"])
def test_samples_that_fail_keep_what_they_have(integrator: str):
    options = {"step": STEP} if integrator == "rk4" else {}
    speeds = [1.0, -1.0, 2.0, -2.0, 0.0]
    batch = da.simulate_many(
        root(), 1.0, initial={"slide": 1.0}, initial_rates={"slide": speeds}, integrator=integrator, **options
    )
    assert list(batch.failed) == [1, 3]
    for i in batch.failed:
        alone = da.simulate(
            root(), 1.0, initial={"slide": 1.0}, initial_rates={"slide": speeds[i]}, integrator=integrator,
            output_step=0.01, **options,
        )  # fmt: skip
        kept = np.isfinite(batch.q.values[i, :, 0])
        n = int(kept.sum())
        assert 0 < n < 101 and kept[:n].all()
        np.testing.assert_allclose(batch.q.values[i, :n], alone.q.values[:n], atol=SAME)
        assert not batch.trajectory(i).certificate.finished
        assert "stopped at" in batch.failed[i]
    assert np.isfinite(batch.q.values[[0, 2, 4]]).all()
    assert np.isfinite(batch.drift.values).all()
    assert "2 FAILED" in repr(batch)


def test_samples_that_cannot_be_assembled_are_named():
    batch = da.simulate_many(da.library.four_bar(), 0.1, parameters={"coupler": [1.0, 5.0]})
    assert list(batch.failed) == [1] and batch.data.status.values.tolist() == ["finished", "not assembled"]
    assert np.isnan(batch.q.values[1]).all() and np.isnan(batch.drift.values[1])
    with pytest.raises(DalembertError, match="sample 1 has no motion"):
        batch.trajectory(1)
    with pytest.raises(DalembertError, match="from 0 to 1"):
        batch.trajectory(2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"initial": {"elbow": [0.1, 0.2], "shoulder": [1, 2, 3]}}, "different numbers of samples"),
        ({"initial": {"elbow": [0.1], "knee": [0.2]}}, "unknown joint 'knee'"),
        ({"initial": {"elbow": [0.1, np.nan, np.inf]}}, "in sample 1 and 1 more"),
        ({"initial": {"elbow": "half"}}, "expected numbers"),
        ({"initial": {"elbow": np.zeros((2, 2))}}, "expected a number, or"),
        ({"initial": {"elbow": 0.1}}, "no samples"),
        ({"initial": {"elbow": []}}, "no samples"),
        ({"parameters": {"mass": [1.0, 2.0]}}, "unknown parameter 'mass'"),
        ({"q": np.zeros((3, 3))}, r"q: expected \(2,\), or \(n, 2\)"),
        ({"u": np.zeros((3, 2))}, "u is given without q"),
        ({"q": np.zeros((3, 2)), "initial": {"elbow": 0.0}}, "exclude each other"),
        ({"initial": {"elbow": [0.1]}, "threads": 0}, "threads must be"),
        ({"initial": {"elbow": [0.1]}, "integrator": "rk5"}, "unknown integrator"),
    ],
)
def test_what_cannot_be_is_refused_at_once(given: dict[str, Any], words: str):
    with pytest.raises(DalembertError, match=words):
        da.simulate_many(da.library.double_pendulum(), 1.0, **given)


def test_everything_that_is_wrong_is_reported_at_once():
    with pytest.raises(ModelError) as caught:
        da.simulate_many(
            da.library.double_pendulum(), 1.0, initial={"knee": [1.0], "elbow": [np.nan]}, parameters={"x": 1}
        )
    assert len(caught.value.problems) == 3


def test_given_states_must_satisfy_the_constraints():
    with pytest.raises(DalembertError, match=r"violate the constraints, e\.g\. sample 0"):
        da.simulate_many(da.library.four_bar(), 1.0, q=np.ones((2, 3)))


# Watching


@pytest.mark.parametrize("integrator", ["rk4", "dopri8"])
def test_a_run_can_be_watched_and_stopped(integrator: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(many, "WATCH_PERIOD", 1e-3)
    seen: list[float] = []

    def watch(fraction: float) -> None:
        seen.append(fraction)
        if len(seen) > 3 and fraction > 0:  # under way
            raise KeyboardInterrupt

    options = {"step": 1e-4} if integrator == "rk4" else {"rtol": 1e-12}
    batch = da.simulate_many(
        da.library.double_pendulum(), 500.0, initial={"elbow": np.linspace(0, 1, 64)}, integrator=integrator,
        progress=watch, **options,
    )  # fmt: skip
    assert len(seen) > 3 and all(0 <= a <= b < 1 for a, b in pairwise(seen))
    assert len(batch.failed) > 0 and all("stopped by the user" in reason for reason in batch.failed.values())
    assert np.isfinite(batch.q.values[:, 0]).all()


def test_progress_reaches_one():
    seen: list[float] = []
    da.simulate_many(da.library.pendulum(), 0.1, parameters={"length": [1, 2]}, progress=seen.append)
    assert seen[-1] == 1.0


def test_a_batch_is_saved(tmp_path):
    batch = da.simulate_many(root(), 1.0, initial={"slide": [1.0, -1.0]}, integrator="rk4", step=STEP)
    path = batch.save(tmp_path / "batch.nc")
    data = xr.load_dataset(path, engine="h5netcdf")
    np.testing.assert_array_equal(data.q, batch.q)
    assert data.failure.values[0] == "" and "not finite" in data.failure.values[1]
    assert "name: root" in data.attrs["model_file"]


def test_a_sample_that_fails_at_once_keeps_its_start():
    batch = da.simulate_many(root(), 1.0, initial={"slide": [1.0, -1.0]}, integrator="rk4", step=STEP)
    assert np.isfinite(batch.q.values[1, 0]).all() and np.isnan(batch.q.values[1, 1:]).all()
    assert batch._look(1).statistics["failure"] == NOT_FINITE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not batch.trajectory(1).certificate.finished
