"""Events of subsystems: stops, jumps, parameters that change, events of parts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def ball(**values: float) -> da.Subsystem:
    S = da.Subsystem("ball")
    m, g = S.parameters(m=1.0, g=9.81, **values)[:2] if values else S.parameters(m=1.0, g=9.81)
    y = S.coordinates("y")
    S.effective_forces({y: -m * y.dd - m * g})
    return S


def test_a_run_stops() -> None:
    S = ball()
    S.event("floor", S.y, direction="falling", stop=True)
    run = da.simulate(S, 5.0, initial={"y": 2.0})
    assert [event.name for event in run.events] == ["floor"]
    assert run.events[0].time == pytest.approx(np.sqrt(4 / 9.81), abs=1e-9)
    assert run.certificate.trusted and "floor" in run.certificate.message


def test_a_ball_bounces() -> None:
    S = ball()
    S.event("floor", S.y, direction="falling", set={S.y.d: -0.8 * S.y.d})
    run = da.simulate(S, 1.5, initial={"y": 1.0})
    first = np.sqrt(2 / 9.81)
    times = [event.time for event in run.events]
    np.testing.assert_allclose(times[:2], [first, first * (1 + 1.6)], atol=1e-8)
    t = float(run.values("time")[-1]) - times[-1]
    k = len(times)
    speed = 0.8**k * 9.81 * first
    assert run.values("y")[-1] == pytest.approx(speed * t - 9.81 * t * t / 2, abs=1e-8)
    assert run.certificate.trusted


def test_events_of_parts_and_jumps_on_invariants() -> None:
    """A bead on a circle is stopped sideways: the other velocity follows from the invariant."""
    bead = da.leaves.particle("bead", "-y", axes="xy", m=1.0, g=9.81)
    bead.event("middle", bead.x, set={bead.x.d: 0.5 * bead.x.d})
    S = da.Subsystem("S")
    b = S.include(bead)
    S.invariant(b.x**2 + b.y**2 - 1)
    S.guess({b.x: 0.6, b.y: -0.8})
    run = da.simulate(S, 1.0, initial={"bead.x": 0.6})
    assert run.events[0].name == "bead.middle" and run.certificate.trusted
    height = run.values("bead.y") + 1
    energy = (run.values("bead.x.d") ** 2 + run.values("bead.y.d") ** 2) / 2 + 9.81 * height
    times = run.values("time")
    first = run.events[0].time
    assert np.ptp(energy[times < first]) < 1e-8
    second = run.events[1].time if len(run.events) > 1 else 2.0
    later = energy[(times > first) & (times < second)]
    np.testing.assert_allclose(later, energy[0] / 4, rtol=1e-8)  # half the speed at the lowest point


def test_parameters_change() -> None:
    S = ball(late=1.0)
    S.event("later", da.Subsystem("clock")._formula("t") - 0.5, direction="rising", set={S.g: 0.0})
    run = da.simulate(S, 1.0)
    assert run.values("y.d")[-1] == pytest.approx(-9.81 * 0.5, abs=1e-9)
    np.testing.assert_allclose(run.values("y.dd")[[0, -1]], [-9.81, 0.0], atol=1e-12)


def test_what_is_refused() -> None:
    S = ball()
    with pytest.raises(da.DalembertError, match="does nothing"):
        S.event("idle", S.y)
    with pytest.raises(da.DalembertError, match="unknown direction 'up'"):
        S.event("up", S.y, direction="up", stop=True)
    S.event("late", S.y.dd, stop=True)
    with pytest.raises(da.DalembertError, match=r"'y\.dd' is not a variable below the highest order"):
        da.simulate(S, 1.0)
    other = ball()
    other.event("twice", other.y, stop=True)
    with pytest.raises(da.DalembertError, match="two events are called 'twice'"):
        other.event("twice", other.y, stop=True)


def test_a_jump_that_invariants_forbid_ends_the_run() -> None:
    S = da.leaves.particle("S", "-y", axes="xy", m=1.0)
    S.invariant(S.x - 0.5 * S.y)
    S.event("both", S.y + 0.5, direction="falling", set={S.x.d: 1.0, S.y.d: 1.0})
    run = da.simulate(S, 2.0)
    assert not run.certificate.trusted and "no state with these invariants" in run.certificate.message
