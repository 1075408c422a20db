"""Ctrl-C ends a run where it is: what was computed is kept, and the certificate says so."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest
from support.pauses import pause_every

import dalembert as da
from dalembert.analyses.simulation.checkpoint import Checkpoint
from dalembert.analyses.simulation.drive import Driver
from dalembert.analyses.simulation.watched_loop import WatchedLoop
from dalembert.integrators import ends, loop
from dalembert.integrators.base import Monitor, Stepwise

STEPS = 200
ADVANCE = Stepwise.advance


def compare(run, plain):
    """The first outputs are those of an undisturbed run, to the bit; the last may lie between two outputs."""
    n = int(np.searchsorted(run.time, plain.time[-1] if run.time[-1] >= plain.time[-1] else run.time[-1]))
    assert 0 < n < len(plain.time)
    np.testing.assert_array_equal(run.q.values[:n], plain.q.values[:n])
    assert not run.certificate.finished and not run.certificate.trusted
    assert f"stopped by the user at t = {run.time[-1]:.6g} s" in str(run.certificate)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs pthread_kill")
def test_a_signal_while_the_loop_runs(monkeypatch):
    """The signal comes in the middle of native work, and the loop goes on for a while after it."""
    main = threading.main_thread().ident
    assert main is not None and threading.get_ident() == main

    def advance(self, problem, memory, times, out, monitor):
        ADVANCE(self, problem, memory, times, out, Monitor(pause_at=STEPS))
        signal.pthread_kill(main, signal.SIGINT)
        while monitor.request != loop.STOP:
            time.sleep(1e-3)
        ADVANCE(self, problem, memory, times, out, Monitor(pause_at=2 * STEPS))
        return ADVANCE(self, problem, memory, times, out, monitor)

    plain = da.simulate(da.library.four_bar(), 10.0)
    monkeypatch.setattr(Stepwise, "advance", advance)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which programs in the background lack
    try:
        run = da.simulate(da.library.four_bar(), 10.0)
    finally:
        signal.signal(signal.SIGINT, before)
    counts = run.certificate.counts
    assert counts["steps"] + counts["rejected"] == 2 * STEPS
    compare(run, plain)


def test_an_interrupt_before_the_thread_begins(monkeypatch):
    def start(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    run = da.simulate(da.library.pendulum(), 1.0)
    assert len(run.time) == 1
    assert "stopped by the user at t = 0 s" in str(run.certificate)


def test_a_run_that_is_stopped_writes_its_checkpoint(tmp_path, monkeypatch):
    """Also before the first one is due: there was nothing to go on from."""
    path, plain = tmp_path / "c.nc", da.simulate(da.library.four_bar(), 10.0)

    def advance(self, problem, memory, times, out, monitor):
        ADVANCE(self, problem, memory, times, out, Monitor(pause_at=STEPS))
        return loop.STOPPED

    with monkeypatch.context() as patch:
        patch.setattr(Stepwise, "advance", advance)
        compare(da.simulate(da.library.four_bar(), 10.0, checkpoint=path), plain)
    assert path.exists()
    resumed = da.simulate(da.library.four_bar(), 10.0, checkpoint=path)
    assert "resumed" in str(resumed.certificate)
    np.testing.assert_array_equal(resumed.q.values, plain.q.values)


def test_an_interrupt_while_a_checkpoint_is_written(tmp_path, monkeypatch):
    """The file before stays, and the run can go on from it."""
    path, write = tmp_path / "c.nc", Checkpoint.save

    def save(self, run):
        if path.exists():
            raise KeyboardInterrupt
        write(self, run)

    plain = da.simulate(da.library.four_bar(), 10.0)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        pause_every(patch, STEPS)
        compare(da.simulate(da.library.four_bar(), 10.0, checkpoint=path), plain)
    resumed = da.simulate(da.library.four_bar(), 10.0, checkpoint=path)
    np.testing.assert_array_equal(resumed.q.values, plain.q.values)


def bouncing():
    model = da.library.pendulum()
    model.parameters(swing=1.0)
    model.event("wall", "q(pivot)", direction="falling", rates={"pivot": "-0.9*u(pivot)"}, set={"swing": "2*swing"})
    return model


def test_an_interrupt_between_an_event_and_what_follows(monkeypatch):
    """The run ends at the event, as if nothing had been done about it yet."""
    plain = da.simulate(bouncing(), 10.0)
    begin = Driver.begin

    def interrupted(self, t, x, written, happened=0, active=None):
        if len(self.account.events) == 3:
            self.problem = self.context = None  # half done
            raise KeyboardInterrupt
        begin(self, t, x, written, happened, active)

    monkeypatch.setattr(Driver, "begin", interrupted)
    run = da.simulate(bouncing(), 10.0)
    assert run.events == plain.events[:3] and run.time[-1] == run.events[-1].time
    compare(run, plain)
    # The third bounce has not changed anything yet.
    assert np.sign(run.u.values[-1, 0]) == np.sign(run.u.values[-2, 0])


def test_an_interrupt_that_comes_with_an_event_or_a_pause_is_not_lost(monkeypatch):
    plain = da.simulate(bouncing(), 10.0)
    assert len(plain.events) > 3
    calls = []

    def progress(fraction):
        calls.append(fraction)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(WatchedLoop, "_watch", lambda self, done: (done.wait(), self.progress(0.0)))
    compare(da.simulate(bouncing(), 10.0, progress=progress), plain)
    assert len(calls) == 2


def test_another_error_of_the_caller_ends_the_loop_too(monkeypatch):
    ended = []

    def advance(self, problem, memory, times, out, monitor):
        while monitor.request != loop.STOP:
            time.sleep(1e-3)
        ended.append(ADVANCE(self, problem, memory, times, out, monitor))
        return ended[0]

    def progress(fraction):
        raise ZeroDivisionError("in the caller's own function")

    monkeypatch.setattr(Stepwise, "advance", advance)
    with pytest.raises(ZeroDivisionError, match="own function"):
        da.simulate(da.library.pendulum(), 1.0, progress=progress)
    assert ended == [ends.STOPPED]
