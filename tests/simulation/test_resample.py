"""A trajectory at other times: as a run with those outputs would have given it."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def _bouncing():
    model = da.library.pendulum(angle=0.5)
    model.parameters(restitution=0.8)
    model.event("hit", "q(pivot)", direction="falling", rates={"pivot": "-restitution*u(pivot)"})
    model.event("wear", "t - 2.013", set={"restitution": 0.5})
    return model


@pytest.fixture(scope="module")
def bouncing():
    return da.simulate(_bouncing(), 3.0, output_step=0.05)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_as_a_run_with_these_outputs(coordinates):
    model = da.compile(da.library.four_bar(), coordinates=coordinates)
    run, fine = (da.simulate(model, 1.0, output_step=step) for step in (0.004, 0.001))
    again = run.resample(fine.time.values[37:901])
    exact = fine.data.isel(time=slice(37, 901))
    # A quintic leaves h⁶/46080 of the sixth derivative; the crank turns at up to 19 rad/s, its harmonics faster.
    for name, tolerance in (("joint_coordinates", 1e-8), ("joint_velocities", 1e-5), ("orientation", 1e-8)):
        np.testing.assert_allclose(again.data[name], exact[name], atol=tolerance)
    assert again.certificate["position residual"] < 1e-11
    assert again.certificate["velocity residual"] < 1e-11
    assert again.certificate["velocity correction"] == run.certificate["velocity correction"]
    assert any("resampled: 864 times from 251 outputs" in remark for remark in again.certificate.remarks)
    assert again.data.attrs["reason"] == run.data.attrs["reason"]


def test_outputs_stay_as_they_are(bouncing):
    again = bouncing.resample(bouncing.time.values)
    for name in ("q", "u", "work", "joint_coordinates"):
        np.testing.assert_array_equal(again.data[name], bouncing.data[name])
    assert again.segments == bouncing.segments
    assert again.events == bouncing.events
    assert again.certificate.checks == bouncing.certificate.checks


def test_order_six():
    model = da.compile(da.library.pendulum(angle=2.0))
    exact = da.simulate(model, 3.2, output_step=0.01)
    errors = [
        np.abs(da.simulate(model, 3.2, output_step=step).resample(exact.time.values).u.values - exact.u.values).max()
        for step in (0.16, 0.08)
    ]
    assert np.log2(errors[0] / errors[1]) > 5.5


def test_no_interpolation_across_events(bouncing):
    fine = da.simulate(_bouncing(), 3.0, output_step=0.001)
    again = bouncing.resample(step=0.001)
    assert len(bouncing.events) == 4
    np.testing.assert_allclose(again.u, fine.u, atol=1e-7)
    np.testing.assert_allclose(again.work, fine.work, atol=1e-7)
    assert again.segments == fine.segments
    assert again.certificate.trusted
    # From the first change of parameters on, only what holds there.
    late = bouncing.resample([2.5, 2.6])
    assert late.segments == [(0, bouncing.segments[-1][1])]
    assert [event.name for event in late.events] == ["hit"]


def test_between_two_events_within_one_gap_the_motion_is_unknown():
    model = da.library.pendulum(angle=0.5)
    model.parameters(a=1.0)
    model.event("first", "t - 0.41", set={"a": 2})
    model.event("second", "t - 0.47", set={"a": 3})
    run = da.simulate(model, 1.0, output_step=0.1)
    run.resample([0.405, 0.475])
    with pytest.raises(da.SimulationError, match="shorter output_step"):
        run.resample([0.44])


def test_too_coarse_outputs_are_told():
    run = da.simulate(da.library.four_bar(), 1.0, output_step=0.05)
    again = run.resample(step=0.01)
    assert run.certificate.trusted
    assert not again.certificate.trusted
    assert "too far apart" in str(again.certificate)


def test_turns_are_counted_by_the_run():
    model = da.library.slider_crank(speed=40.0)
    run = da.simulate(model, 2.0, output_step=0.005)
    names = [str(name) for name in run.data.joint_q.values]
    again = run.resample([0.0, 1.0, 2.0])  # many turns between
    for name in names:
        expected = run.joint(name).q.sel(time=[0, 1, 2], method="nearest")
        np.testing.assert_allclose(again.joint(name).q, expected, atol=1e-12)


def test_an_untrusted_run_gains_no_trust():
    run = da.simulate(da.library.pendulum(), 1.0, integrator="euler", step=0.1)
    again = run.resample([0.0])
    assert not again.certificate.trusted
    assert again.certificate["energy balance"] == run.certificate["energy balance"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([3.5],), "known from 0 s to 3 s, not at t = 3.5 s"),
        (([-1.0, 1.0, 4.0, 5.0],), "t = -1 s and 2 more"),
        (([1.0, 1.0],), "larger than the one before"),
        (([],), "larger than the one before"),
        (([np.nan],), "finite"),
        (("soon",), "must be numbers"),
        ((), "either times or step"),
    ],
)
def test_bad_times_are_refused(arguments, words, bouncing):
    with pytest.raises(da.DalembertError, match=words):
        bouncing.resample(*arguments)


@pytest.mark.parametrize("step", [0.0, -1.0, np.inf, 1e-9, "1"])
def test_bad_steps_are_refused(step, bouncing):
    with pytest.raises(da.DalembertError):
        bouncing.resample(step=step)
