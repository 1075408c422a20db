"""A run that is killed goes on from its checkpoint, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.pauses import leave_checkpoint, pause_every

import dalembert as da
from dalembert.analyses.simulation.checkpoint import Checkpoint
from dalembert.integrators import INTEGRATORS, loop
from dalembert.integrators.base import Stepwise

# SciPy's integrators cannot be paused, and say so.
PAUSABLE = [name for name in INTEGRATORS if name != "scipy"]

SCRIPT = """
import signal
import sys
import pytest
import dalembert as da
from dalembert.analyses.simulation.checkpoint import Checkpoint
from support.pauses import pause_every

model, duration, name, kept, step = sys.argv[1:]
write = Checkpoint.save

def save(self, run):
    if self.path.exists():
        signal.pause()  # until it is killed
    write(self, run)

pause_every(pytest.MonkeyPatch(), 500)
Checkpoint.save = save
da.simulate(da.library.build(model), float(duration), integrator=name, output_step=0.5, checkpoint=kept,
            checkpoint_interval=1e9, step=float(step) or None)
"""
PAUSE, OFTEN = 100, 10  # steps between two pauses of methods with fixed and with own steps


def _states(run):
    return np.column_stack([run.q.values, run.u.values, run.data.work.values])


@pytest.fixture
def saved(monkeypatch):
    """When runs were paused; the first pauses write files."""
    saved = []
    write = Checkpoint.save

    def save(self, run):
        saved.append(run.time)
        if len(saved) <= 3:
            write(self, run)

    monkeypatch.setattr(Checkpoint, "save", save)
    return saved


@pytest.mark.parametrize("name", PAUSABLE)
def test_pauses_change_no_bit(name, tmp_path, saved, monkeypatch):
    model, adaptive = da.library.four_bar(), INTEGRATORS[name].adaptive
    options = {"integrator": name} if adaptive else {"integrator": name, "step": 1e-4}
    duration = 2.0 if adaptive else 0.2
    pause_every(monkeypatch, OFTEN if adaptive else PAUSE)
    plain = da.simulate(model, duration, **options)
    paused = da.simulate(model, duration, checkpoint=tmp_path / "c.nc", checkpoint_interval=1e9, **options)
    tried = plain.certificate.counts["steps"] + plain.certificate.counts["rejected"]
    assert len(saved) == (tried - 1) // (OFTEN if adaptive else PAUSE) > 2
    np.testing.assert_array_equal(_states(plain), _states(paused))
    assert plain.certificate.counts == paused.certificate.counts
    assert not (tmp_path / "c.nc").exists()


def test_a_pause_is_asked_for_when_a_checkpoint_is_due(tmp_path, saved, monkeypatch):
    """The clock says when; here it is always time, and the loop begins when it is told to pause."""
    advance = Stepwise.advance

    def wait(self, problem, memory, times, out, monitor):
        while not saved and monitor.request != loop.PAUSE:
            time.sleep(1e-3)
        return advance(self, problem, memory, times, out, monitor)

    monkeypatch.setattr(Stepwise, "advance", wait)
    run = da.simulate(da.library.pendulum(), 0.5, checkpoint=tmp_path / "c.nc", checkpoint_interval=0.0)
    assert saved[0] == 0.0 and run.certificate.finished


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("model", "duration", "name", "step"),
    [("four-bar", 20.0, "dopri8", 0.0), ("four-bar", 1.0, "generalized-alpha", 1e-4)],
)
def test_killed_run_resumes_bit_for_bit(model, duration, name, step, tmp_path):
    kept = tmp_path / "run.checkpoint"
    command = [sys.executable, "-c", SCRIPT, model, str(duration), name, str(kept), str(step)]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})
    _wait_for(kept, process)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert kept.exists()
    options = {"integrator": name, "output_step": 0.5, "step": step or None}
    resumed = da.simulate(da.library.build(model), duration, checkpoint=kept, **options)
    assert any("resumed" in remark for remark in resumed.certificate.remarks)
    assert not kept.exists()
    plain = da.simulate(da.library.build(model), duration, **options)
    np.testing.assert_array_equal(_states(plain), _states(resumed))


def _wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, "the run ended before it wrote a checkpoint"
        time.sleep(0.01)


def test_checkpoint_with_events(tmp_path, saved, monkeypatch):
    model = da.library.pendulum()
    model.event("wall", "q(pivot)", direction="falling", rates={"pivot": "-0.9*u(pivot)"})
    options = {"integrator": "rk4", "step": 1e-3}
    pause_every(monkeypatch, PAUSE)
    plain = da.simulate(model, 10.0, **options)
    kept = da.simulate(model, 10.0, checkpoint=tmp_path / "c.nc", checkpoint_interval=1e9, **options)
    assert len(saved) > 2
    assert len(plain.events) > 2 and plain.events == kept.events
    np.testing.assert_array_equal(_states(plain), _states(kept))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "c.nc"
    leave_checkpoint(da.library.four_bar(), 20.0, path)
    with pytest.raises(da.DalembertError, match="belongs to another run"):
        da.simulate(da.library.crank_rocker(), 5.0, checkpoint=path)
    with pytest.raises(da.DalembertError, match=r'formulation there: {"name": "lagrange-multipliers".*"penalty"'):
        da.simulate(da.library.four_bar(), 20.0, checkpoint=path, formulation="penalty")
    # What auto chose may also be asked for.
    asked = {"formulation": "lagrange-multipliers", "coordinates": "relative"}
    assert "resumed" in str(da.simulate(da.library.four_bar(), 20.0, checkpoint=path, **asked).certificate)


def test_a_stopped_run_keeps_its_checkpoint_and_goes_on(tmp_path):
    path = tmp_path / "c.nc"
    leave_checkpoint(da.library.four_bar(), 20.0, path)
    resumed = da.simulate(da.library.four_bar(), 20.0, checkpoint=path)
    plain = da.simulate(da.library.four_bar(), 20.0)
    np.testing.assert_array_equal(_states(plain), _states(resumed))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_a_file_that_is_no_checkpoint_is_refused(content, tmp_path):
    path = tmp_path / "c.nc"
    path.write_bytes(content)
    with pytest.raises(da.DalembertError, match="is not a checkpoint"):
        da.simulate(da.library.pendulum(), 5.0, checkpoint=path)
    assert path.read_bytes() == content


def test_friction_resumes_bit_for_bit(tmp_path):
    """Forces of friction, and how they answer, are where the next evaluation begins: they began at zero again."""
    model = da.Model("block on a spring")
    model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", "b", point=(0, 0, 0), axis="x")
    model.torsional_spring("spring", "P", stiffness=40.0)
    model.body("c", mass=0.5, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.revolute("A", "b", "c", point=(0, 0, 0), axis="y")
    model.friction("rubs", "P", coefficient=0.2, length=0.1)
    model.friction("pin", "A", coefficient=0.2, radius=0.03)
    model.initial("P", 0.5)
    model.initial("A", 1.0)
    whole = da.simulate(model, 2.0)
    for steps in (5, 12):
        leave_checkpoint(model, 2.0, tmp_path / "run.checkpoint", steps)
        again = da.simulate(model, 2.0, checkpoint=tmp_path / "run.checkpoint")
        np.testing.assert_array_equal(again.values("q"), whole.values("q"))
        np.testing.assert_array_equal(again.values("u"), whole.values("u"))
