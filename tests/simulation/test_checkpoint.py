"""A run that is killed goes on from its checkpoint, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses import drive
from dalembert.analyses.checkpoint import Checkpoint
from dalembert.integrators import INTEGRATORS

# SciPy's integrators cannot be paused, and say so.
PAUSABLE = [name for name in INTEGRATORS if name != "scipy"]

SCRIPT = """
import sys
import dalembert as da
run = da.simulate(da.library.build(sys.argv[1]), float(sys.argv[2]), integrator=sys.argv[3], output_step=0.5,
                  checkpoint=sys.argv[4], checkpoint_interval=0.1, **eval(sys.argv[6]))
run.save(sys.argv[5])
"""


def _states(run):
    return np.column_stack([run.q.values, run.u.values, run.data.work.values])


@pytest.fixture
def many_pauses(monkeypatch):
    """Watch so often that even short runs are paused; returns when they were. The first pauses write files."""
    saved = []
    write = Checkpoint.save

    def save(self, run):
        saved.append(run.time)
        if len(saved) <= 3:
            write(self, run)

    monkeypatch.setattr(drive, "WATCH_PERIOD", 1e-3)
    monkeypatch.setattr(Checkpoint, "save", save)
    return saved


@pytest.mark.parametrize("name", PAUSABLE)
def test_pauses_change_no_bit(name, tmp_path, many_pauses):
    model = da.library.four_bar()
    options = {"integrator": name} if INTEGRATORS[name].adaptive else {"integrator": name, "step": 1e-4}
    duration = 20.0 if INTEGRATORS[name].adaptive else 2.0
    plain = da.simulate(model, duration, **options)
    paused = da.simulate(model, duration, checkpoint=tmp_path / "c.nc", checkpoint_interval=0.0, **options)
    assert len(many_pauses) > 2
    np.testing.assert_array_equal(_states(plain), _states(paused))
    assert plain.certificate.counts == paused.certificate.counts
    assert not (tmp_path / "c.nc").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("model", "duration", "name", "options"),
    [("four-bar", 400.0, "dopri8", {}), ("four-bar", 60.0, "generalized-alpha", {"step": 1e-4})],
)
def test_killed_run_resumes_bit_for_bit(model, duration, name, options, tmp_path):
    kept, result = tmp_path / "run.checkpoint", tmp_path / "run.nc"
    command = [sys.executable, "-c", SCRIPT, model, str(duration), name, str(kept), str(result), repr(options)]
    process = subprocess.Popen(command)
    _wait_for(kept, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not result.exists()
    assert kept.exists()
    subprocess.run(command, check=True)
    resumed = da.load(result)
    assert any("resumed" in remark for remark in resumed.certificate.remarks)
    plain = da.simulate(da.library.build(model), duration, integrator=name, output_step=0.5, **options)
    np.testing.assert_array_equal(_states(plain), _states(resumed))


def _wait_for(path, process):
    deadline = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, "the run ended before it wrote a checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_checkpoint_with_events(tmp_path, many_pauses):
    model = da.library.pendulum()
    model.event("wall", "q(pivot)", direction="falling", rates={"pivot": "-0.9*u(pivot)"})
    options = {"integrator": "rk4", "step": 2e-5}
    plain = da.simulate(model, 10.0, **options)
    kept = da.simulate(model, 10.0, checkpoint=tmp_path / "c.nc", checkpoint_interval=0.0, **options)
    assert len(many_pauses) > 2
    assert plain.events == kept.events
    np.testing.assert_array_equal(_states(plain), _states(kept))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "c.nc"
    _leave_checkpoint(path)
    with pytest.raises(da.DalembertError, match="belongs to another run"):
        da.simulate(da.library.crank_rocker(), 5.0, checkpoint=path)
    with pytest.raises(da.DalembertError, match=r'formulation there: {"name": "lagrange-multipliers".*"penalty"'):
        da.simulate(da.library.four_bar(), 300.0, checkpoint=path, formulation="penalty")
    # What auto chose may also be asked for.
    asked = {"formulation": "lagrange-multipliers", "coordinates": "relative"}
    assert "resumed" in str(da.simulate(da.library.four_bar(), 300.0, checkpoint=path, **asked).certificate)


def _leave_checkpoint(path):
    """A run that is stopped by its progress report leaves its file."""

    def stop(fraction):
        if path.exists():
            raise KeyboardInterrupt

    da.simulate(da.library.four_bar(), 300.0, checkpoint=path, checkpoint_interval=0.0, progress=stop)
    assert path.exists()


def test_a_stopped_run_keeps_its_checkpoint_and_goes_on(tmp_path):
    path = tmp_path / "c.nc"
    _leave_checkpoint(path)
    resumed = da.simulate(da.library.four_bar(), 300.0, checkpoint=path)
    plain = da.simulate(da.library.four_bar(), 300.0)
    np.testing.assert_array_equal(_states(plain), _states(resumed))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_a_file_that_is_no_checkpoint_is_refused(content, tmp_path):
    path = tmp_path / "c.nc"
    path.write_bytes(content)
    with pytest.raises(da.DalembertError, match="is not a checkpoint"):
        da.simulate(da.library.pendulum(), 5.0, checkpoint=path)
    assert path.read_bytes() == content
