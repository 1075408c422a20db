"""Sweeps: designs, what is kept, failures, other executors, and going on after a kill."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dalembert as da
from dalembert.errors import DalembertError

sys.path.insert(0, str(Path(__file__).parent))
import sweep_work

sweep_module: Any = importlib.import_module("dalembert.analyses.sweeps.sweep")

OPTIONS: dict[str, Any] = {"rtol": 1e-6, "output_step": 0.05, "certify": False}
WANTED = {"peak": "max: A.d", "x": "x(coupler)", "energy": sweep_work.peak}


@pytest.fixture(scope="module")
def four_bar() -> da.Dynamics:
    return da.compile(da.library.four_bar())


# Designs


def test_a_grid_has_every_combination_and_lists_go_together():
    grid = da.Design.grid({"a": [1, 2, 3], "b": [10, 20], "c": 7})
    assert len(grid) == 6 and grid.values(3) == {"a": 2.0, "b": 20.0, "c": 7.0}
    lists = da.Design.lists({"a": [1, 2, 3], "b": 5})
    assert [lists.values(i)["a"] for i in range(3)] == [1, 2, 3] and lists.values(2)["b"] == 5
    assert "3 samples of a, b (lists)" in repr(lists)


def test_a_latin_hypercube_takes_each_interval_once():
    n = 50
    design = da.Design.latin({"u": (2, 4), "n": ("normal", 1.0, 0.5), "s": stats.expon(scale=3)}, n, seed=4)
    strata = np.sort(np.floor((design.table[:, 0] - 2) / 2 * n))
    np.testing.assert_array_equal(strata, np.arange(n))
    np.testing.assert_array_equal(np.sort(np.floor(stats.norm(1, 0.5).cdf(design.table[:, 1]) * n)), np.arange(n))
    np.testing.assert_array_equal(np.sort(np.floor(stats.expon(scale=3).cdf(design.table[:, 2]) * n)), np.arange(n))
    assert np.array_equal(design.table, da.Design.latin({"u": (2, 4), "n": ("normal", 1.0, 0.5),
                                                         "s": stats.expon(scale=3)}, n, seed=4).table)  # fmt: skip


@pytest.mark.parametrize(
    ("law", "same"),
    [
        ((1, 3), stats.uniform(1, 2)),
        (("normal", 2, 0.3), stats.norm(2, 0.3)),
        (("lognormal", 2, 0.3), stats.lognorm(0.3, scale=2)),
        (("triangular", 0, 1, 4), stats.triang(0.25, 0, 4)),
    ],
)
def test_random_numbers_follow_their_law(law: Any, same: Any):
    values = da.Design.random({"x": law}, 400, seed=1).table[:, 0]
    assert stats.kstest(values, same.cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Design.grid({}), "varies something"),
        (lambda: da.Design.grid({3: [1]}), "by name"),
        (lambda: da.Design.grid({"a": []}), "one or more finite"),
        (lambda: da.Design.grid({"a": ["x", 1]}), "distribution, which a grid"),
        (lambda: da.Design.grid({"a": [[1, 2], [3, 4]]}), "one or more finite"),
        (lambda: da.Design.grid({"a": [np.inf]}), "one or more finite"),
        (lambda: da.Design.grid({"a": {}}), "expected numbers"),
        (lambda: da.Design.lists({"a": [1, 2], "b": [1, 2, 3]}), "different lengths: a: 2, b: 3"),
        (lambda: da.Design.latin({"a": (1, 2)}, 0), "samples must be"),
        (lambda: da.Design.random({"a": ("normal", 1)}, 5), "is not a distribution"),
        (lambda: da.Design.random({"a": ("uniform", 2, 1)}, 5), "is not a distribution"),
        (lambda: da.Design.random({"a": stats.cauchy(np.nan)}, 5), "not finite"),
    ],
)
def test_wrong_designs_are_explained(make: Any, message: str):
    with pytest.raises(DalembertError, match=message):
        make()


# What is computed


def test_a_grid_gives_what_single_runs_give(four_bar: da.Dynamics):
    """Samples are assembled all at once, so a start may differ in its last bit from that of a single run. Loose steps
    make more of it: their error estimates are rounding at first, and decide about the next step. Tight ones do not."""
    seen: list[float] = []
    options = OPTIONS | {"rtol": 1e-12}
    data = da.sweep(four_bar, {"crank": [0.35, 0.4], "A.d": [7.0, 9.0]}, 0.4, outputs=WANTED, progress=seen.append,
                    **options)  # fmt: skip
    assert data.peak.dims == ("crank", "A.d") and data.x.dims == ("crank", "A.d", "time")
    run = da.simulate(four_bar, 0.4, parameters={"crank": 0.35}, initial_rates={"A": 9.0}, **options)
    one = data.sel({"crank": 0.35, "A.d": 9.0})
    np.testing.assert_allclose(one.peak, run.joint("A").u.max(), rtol=1e-11)
    np.testing.assert_allclose(one.x, run.body("coupler").position[:, 0], atol=1e-11)
    np.testing.assert_allclose(one.energy, sweep_work.peak(run), rtol=1e-11)
    assert seen[-1] == 1.0 and all(a <= b for a, b in pairwise(seen))
    assert data.attrs["failed"] == 0 and float(data.drift.max()) < 1e-4 and (data.end == 0.4).all()


def test_words_reduce_a_series(four_bar: da.Dynamics):
    words = ("first", "final", "max", "min", "mean", "rms", "range")
    outputs = {word: f"{word}: A.d" for word in words} | {"all": "A.d"}
    data = da.sweep(four_bar, {"crank": [0.4]}, 0.5, outputs=outputs, **OPTIONS).isel(crank=0)
    y = data["all"].values
    wanted = y[0], y[-1], y.max(), y.min(), y.mean(), np.sqrt(np.mean(y**2)), np.ptp(y)
    np.testing.assert_allclose([float(data[word]) for word in words], wanted, rtol=1e-12)


def test_angles_of_cut_joints_count_their_turns(four_bar: da.Dynamics):
    cut = next(name for name in "ABCD" if name not in four_bar.coordinates.slot_of_joint)
    tight = {**OPTIONS, "rtol": 1e-10}
    data = da.sweep(four_bar, {"crank": [0.4]}, 2.0, outputs=[cut], initial_rates={"A": 12.0}, **tight)
    run = da.simulate(four_bar, 2.0, parameters={"crank": 0.4}, initial_rates={"A": 12.0}, **tight)
    np.testing.assert_allclose(data[cut].values[0], run.joint(cut).q.values, atol=1e-7)


def test_by_default_the_outputs_of_the_model_are_kept():
    data = da.sweep(da.library.four_bar(), {"crank": [0.4]}, 0.1, **OPTIONS)
    assert "x of the coupler" in data and data["x of the coupler"].dims == ("crank", "time")
    data = da.sweep(da.library.planar_pendulum(), da.Design.lists({"length": [0.9, 1.1]}), 0.1, **OPTIONS)
    assert data.sizes["sample"] == 2 and data.length.dims == ("sample",)


def test_a_failed_sample_keeps_its_reason_and_loses_nobody(four_bar: da.Dynamics):
    def sometimes(run: Any) -> float:
        if abs(float(run.q[0, 0])) > 0.5:
            raise ZeroDivisionError("too far")
        return 1.0

    over = da.Design.lists({"coupler": [1.0, 9.0, -1.0, 0.9], "A": [0.0, 0.0, 0.0, 0.7]})
    data = da.sweep(four_bar, over, 0.1, outputs={"one": sometimes, "D": "final: D"}, **OPTIONS)
    reasons = data.failure.values.tolist()
    assert reasons[0] == "" and "has no finite value" in reasons[1] and "coupler = -1" in reasons[2]
    assert reasons[3] == "one: ZeroDivisionError: too far"
    np.testing.assert_array_equal(np.isfinite(data.one.values), [True, False, False, False])
    np.testing.assert_array_equal(np.isfinite(data.D.values), [True, False, False, True])
    assert data.attrs["failed"] == 3


def test_any_analysis_can_be_swept():
    data = da.sweep("anything", {"x": [0.0, 1.0, 2.0]}, analysis=sweep_work.square)
    np.testing.assert_array_equal(data.square, [0, np.nan, 4])
    assert data.powers.shape == (3, 3) and data.failure.values[1] == "ValueError: 1 is odd"
    lengths = [0.5, 1.0, 2.0]
    found = da.sweep(
        da.library.pendulum(), {"length": lengths}, analysis=lambda d, v: da.equilibrium(d, parameters=v)[0].eigenvalues
    )
    np.testing.assert_allclose(np.abs(found.value.values[:, 0]), np.sqrt(9.81 / np.array(lengths)), rtol=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"over": {"x": [1.0]}}, "cannot vary 'x'.*crank"),
        ({"duration": None}, "how long is a run"),
        ({"duration": -1.0}, "duration must be"),
        ({"outputs": ["A", "nonsense("]}, "nonsense"),
        ({"outputs": {"a": 3}}, "'a' must be a formula or a function"),
        ({"outputs": {}}, "outputs must be a list"),
        ({"outputs": ["largest: A"]}, "'largest' is none of first, final"),
        ({"analysis": 3, "duration": None, "outputs": None}, "analysis must be a function"),
        ({"analysis": sweep_work.square}, "not both"),
        ({"executor": 3}, "executor must be one of concurrent.futures"),
        ({"threads": 0}, "threads must be a positive"),
        ({"progress": 3}, "progress must be a function"),
        ({"model": 3}, "sweep takes a model"),
    ],
)
def test_mistakes_are_explained(four_bar: da.Dynamics, change: dict[str, Any], message: str):
    given = {"model": four_bar, "over": {"crank": [0.4]}, "duration": 0.1, "outputs": ["A"]} | change
    with pytest.raises(DalembertError, match=message):
        da.sweep(given.pop("model"), given.pop("over"), given.pop("duration"), **given)


def test_joints_with_several_coordinates_and_equal_names_are_explained():
    disc = da.compile(da.library.rolling_disc())
    with pytest.raises(DalembertError, match="joint 'contact' has 5 values"):
        da.sweep(disc, {"contact": [1.0]}, 0.1)
    model = da.library.four_bar()
    model.parameters(A=1.0)
    with pytest.raises(DalembertError, match="'parameter:A' or 'joint:A'"):
        da.sweep(model, {"A": [0.1]}, 0.1)
    assert da.sweep(model, {"joint:A": [0.1]}, 0.1, outputs=["first: A"])["first: A"].item() == pytest.approx(0.1)


# Elsewhere, and after a kill


class Rejected(Executor):
    """Workers that die with the second block."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.count += 1
        if self.count > 1:
            from concurrent.futures import BrokenExecutor

            future.set_exception(BrokenExecutor("dead"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_threads_and_dead_workers_give_the_same_numbers(four_bar: da.Dynamics):
    design = da.Design.random({"crank": (0.35, 0.42)}, 9)
    here = da.sweep(four_bar, design, 0.2, outputs=WANTED, **OPTIONS)
    with ThreadPoolExecutor(2) as pool:
        there = da.sweep(four_bar, design, 0.2, outputs=WANTED, executor=pool, **OPTIONS)
    assert here.identical(there)
    with pytest.warns(UserWarning, match="workers died; 8 samples were computed in this process"):
        dead = da.sweep(four_bar, design, 0.2, outputs=WANTED, executor=Rejected(), **OPTIONS)
    xr.testing.assert_equal(dead, here)
    assert "workers died" in dead.attrs["notes"]


def test_a_job_that_was_sent_uses_equations_again(four_bar: da.Dynamics, monkeypatch: pytest.MonkeyPatch):
    import pickle

    from dalembert.analyses.sweeps import sweep_job

    design = da.Design.lists({"crank": [0.4]})
    job, _ = sweep_module._job(four_bar, design, 0.1, da.Options(rtol=1e-6), {"D": "final: D"}, None)
    monkeypatch.setattr(sweep_job, "_known", {})
    first, second = (pickle.loads(pickle.dumps(job)) for _ in range(2))
    assert first.dynamics is second.dynamics is not four_bar
    one, other = job.compute(design.table, 1), first.compute(design.table, 1)
    np.testing.assert_array_equal(one.arrays["D"], other.arrays["D"])


def test_a_store_goes_on_and_refuses_others(tmp_path: Path, four_bar: da.Dynamics, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "kept"
    design = da.Design.lists({"crank": [0.4, 0.39, 0.38, 9.0]})
    first = da.sweep(four_bar, design, 0.1, outputs=WANTED, store=folder, **OPTIONS)
    files = sorted(path.name for path in folder.iterdir())
    assert files[-1] == "sweep.json" and len(files) == 5 and not list(folder.glob(".dalembert*"))
    (folder / files[1]).write_bytes(b"half a file")  # not by us: files are whole or not there
    changed = bytearray((folder / files[2]).read_bytes())
    changed[len(changed) // 2] ^= 1
    (folder / files[2]).write_bytes(changed)  # what was changed is computed again
    computed: list[int] = []
    compute = sweep_module.Simulation.compute

    def watched(self: Any, table: np.ndarray, *rest: Any) -> Any:
        computed.append(len(table))
        return compute(self, table, *rest)

    monkeypatch.setattr(sweep_module.Simulation, "compute", watched)
    again = da.sweep(four_bar, design, 0.1, outputs=WANTED, store=folder, **OPTIONS)
    assert sum(computed) == 2 and again.identical(first)
    with pytest.raises(DalembertError, match="keeps another sweep"):
        da.sweep(four_bar, design, 0.2, outputs=WANTED, store=folder, **OPTIONS)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").touch()
    with pytest.raises(DalembertError, match="not empty"):
        da.sweep(four_bar, design, 0.1, outputs=WANTED, store=other, **OPTIONS)
    with pytest.raises(DalembertError, match="cannot make the folder"):
        da.sweep(four_bar, design, 0.1, outputs=WANTED, store=other / "mine" / "x", **OPTIONS)


@pytest.mark.slow
def test_a_sweep_goes_on_after_kill_9(tmp_path: Path):
    """A process is killed on its way; the same call in another one computes only what is missing."""
    marks = tmp_path / "marks"
    marks.mkdir()
    script = textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
        import numpy as np, dalembert as da, sweep_work
        over = {{"x": np.arange(60.0)}}
        data = da.sweep({str(marks)!r}, over, analysis=sweep_work.slow, store={str(tmp_path / "s")!r})
        assert (data.value == np.arange(60.0) + 1).all()
    """)
    process = subprocess.Popen([sys.executable, "-c", script])
    calls = marks / "calls"
    while not calls.exists() or calls.read_text().count("\n") < 20:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = len(list((tmp_path / "s").glob("samples-*.nc")))
    before = calls.read_text().count("\n")
    assert 0 < kept < 60
    subprocess.run([sys.executable, "-c", script], check=True)
    assert calls.read_text().count("\n") - before == 60 - kept


@pytest.mark.slow
def test_processes_give_the_same_numbers_and_a_killed_worker_loses_nothing(tmp_path: Path, four_bar: da.Dynamics):
    context = multiprocessing.get_context("spawn")
    design = da.Design.random({"crank": (0.35, 0.42)}, 12)
    here = da.sweep(four_bar, design, 0.2, outputs=WANTED, **OPTIONS)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert da.sweep(four_bar, design, 0.2, outputs=WANTED, executor=pool, **OPTIONS).identical(here)
        with pytest.raises(DalembertError, match=r"cannot be sent to the workers.*Fix: "):
            da.sweep(four_bar, design, 0.2, outputs={"a": lambda run: 1.0}, executor=pool, **OPTIONS)
    with ProcessPoolExecutor(2, mp_context=context) as pool, pytest.warns(UserWarning, match="workers died"):
        found = da.sweep(str(tmp_path), {"x": np.arange(20.0)}, analysis=sweep_work.deadly, executor=pool)
    np.testing.assert_array_equal(found.value, 2 * np.arange(20.0))


@pytest.mark.slow
def test_dask_workers_give_the_same_numbers_and_a_killed_one_loses_nothing(tmp_path: Path, four_bar: da.Dynamics):
    distributed = pytest.importorskip("distributed")
    design = da.Design.random({"crank": (0.35, 0.42)}, 12)
    here = da.sweep(four_bar, design, 0.2, outputs=WANTED, **OPTIONS)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(lambda path=str(Path(__file__).parent): sys.path.insert(0, path))
        assert da.sweep(four_bar, design, 0.2, outputs=WANTED, executor=client, **OPTIONS).identical(here)
        found = da.sweep(str(tmp_path), {"x": np.arange(20.0)}, analysis=sweep_work.deadly, executor=client)
    np.testing.assert_array_equal(found.value, 2 * np.arange(20.0))
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
def test_memory_stays_flat(four_bar: da.Dynamics):
    """A thousand samples more do not take more memory than their results."""
    import tracemalloc

    over = da.Design.random({"crank": (0.38, 0.42)}, 1200)
    da.sweep(four_bar, da.Design.random({"crank": (0.38, 0.42)}, 60), 0.02, outputs=["max: A.d"], rtol=1e-6)
    tracemalloc.start()
    da.sweep(four_bar, over, 0.02, outputs=["max: A.d"], rtol=1e-6)
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6 and current < 3e6
