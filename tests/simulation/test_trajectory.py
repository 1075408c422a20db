"""What users ask a trajectory for: momenta, pictures, files."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


@pytest.fixture(scope="module")
def loop():
    return da.simulate(da.library.four_bar(), 1.0)


@pytest.fixture(scope="module")
def bouncing():
    model = da.library.pendulum(angle=0.5)
    model.parameters(restitution=0.8)
    model.event(
        "hit", "q(pivot)", direction="falling", rates={"pivot": "-restitution*u(pivot)"}, set={"restitution": 0.5}
    )
    return da.simulate(model, 3.0)


def _panels(figure):
    """Those with curves over time; pictures of the mechanism have no axes."""
    return [panel for panel in figure.axes if panel.axison]


def _titles(figure):
    return [panel.get_title(loc="left") for panel in _panels(figure)]


def test_momenta_and_work(loop, bouncing):
    # A ball of 1 kg and 0.08 m radius on a massless rod of 1 m.
    speed = bouncing.joint("pivot").u.values
    np.testing.assert_allclose(bouncing.momentum.angular.sel(axis="z"), speed * (1 + 0.4 * 0.08**2), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(bouncing.momentum.linear, axis=1), np.abs(speed), atol=1e-12)
    assert bouncing.momentum.angular.units == "N m s"
    assert bouncing.work.equals(bouncing.energy.work)
    assert float(bouncing.work[-1]) < 0


def test_files_keep_events_segments_and_the_reason(bouncing, tmp_path):
    again = da.load(bouncing.save(tmp_path / "run.nc"))
    assert len(again.events) == 3
    assert again.events == bouncing.events
    assert len(again.segments) == 4
    assert again.segments == bouncing.segments
    assert again.data.attrs["reason"] == bouncing.data.attrs["reason"] != ""
    assert again.certificate == bouncing.certificate
    np.testing.assert_array_equal(again.resample([1.23456]).u, bouncing.resample([1.23456]).u)


def test_the_default_picture(loop, tmp_path):
    figure = loop.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").exists()
    assert _titles(figure) == [
        "Outputs", "Angles that turn", "Angles", "Energy", "Energy error", "Constraint residuals",
    ]  # fmt: skip
    residuals = _panels(figure)[-1]
    assert len(residuals.lines) == 2
    assert residuals.get_yscale() == "log"


def test_quantities_are_chosen_by_name(loop):
    figure = loop.plot(quantities=["A", "crank", "energy", "residuals", "reactions:D", "x of the coupler"])
    titles = _titles(figure)
    for title in ("A", "Velocity of A", "Position of crank", "Energy", "Constraint residuals", "Force of D"):
        assert title in titles
    assert [panel.get_ylabel() for panel in figure.axes[:2]] == ["rad", "rad/s"]
    assert _titles(loop.plot(quantities="momentum")) == ["Angular momentum", "Linear momentum"]
    assert _titles(loop.plot(quantities=["joint:A"])) == ["A", "Velocity of A"]


@pytest.mark.parametrize("wrong", ["nothing", "reactions:nothing", "D drive", "body:A"])
def test_unknown_quantities_are_told_what_there_is(wrong, loop):
    with pytest.raises(da.DalembertError) as raised:
        loop.plot(quantities=[wrong])
    for part in (wrong, "x of the coupler", "A, B, C, D", "crank", "energy", "residuals", "reactions:A"):
        assert part in str(raised.value)


def test_orientations_and_multipliers_have_pictures():
    run = da.simulate(da.library.rolling_disc(), 0.2)
    free = next(name for name in run.dynamics.measurable)
    figure = run.plot(quantities=[f"joint:{free}"])
    assert all(panel.lines for panel in figure.axes)
    driven = da.library.slider_crank()
    joint = driven.joints[0].name
    driven.drive(joint, "2*t")
    run = da.simulate(driven, 0.2, initial={joint: 0}, initial_rates={joint: 2})
    assert _titles(run.plot(quantities=[f"reactions:{joint} drive"])) == [f"Multipliers of {joint} drive"]


def test_events_are_marked(bouncing):
    figure = bouncing.plot()
    assert all(len(panel.collections[0].get_segments()) == 3 for panel in _panels(figure))
    assert "hit" in _panels(figure)[-1].get_xlabel()


def test_times_are_compared_with_arrays(loop):
    times = np.asarray(loop.time)
    assert bool((loop.time == times).all())
    assert int((loop.time < np.full(len(times), times[5])).sum()) == 5


def test_long_and_short_times_are_readable():
    for duration, last in ((0.1, "0.10"), (1e6, "1\u2009000\u2009000")):
        figure = da.simulate(da.library.pendulum(), duration, integrator="rk4", step=duration / 1000).plot()
        figure.canvas.draw()
        labels = [label.get_text() for label in _panels(figure)[-1].get_xticklabels()]
        assert last in labels
        assert len(labels) < 12


def test_phase_pictures(loop, bouncing, tmp_path):
    figure = bouncing.plot_phase("pivot", path=tmp_path / "phase.png")
    assert (tmp_path / "phase.png").exists()
    (panel,) = figure.axes
    assert panel.get_xlabel() == "pivot (rad)"
    assert panel.get_ylabel() == "velocity of pivot (rad/s)"
    assert np.isnan(panel.lines[0].get_ydata()).sum() == 3  # no line across an event
    (panel,) = loop.plot_phase("A", "B").axes
    np.testing.assert_array_equal(panel.lines[0].get_ydata(), loop.joint("B").q)
    (panel,) = loop.plot_phase("x(coupler)", "y(coupler)").axes
    assert panel.get_aspect() == 1.0
    (panel,) = loop.plot_phase("u(A)", "x of the coupler").axes
    assert panel.get_xlabel() == "velocity of A (rad/s)"


@pytest.mark.parametrize("wrong", [("nothing",), ("A", "nothing"), ("A", "x(nothing)"), ("A", "u(nothing)")])
def test_phase_pictures_of_unknown_things(wrong, loop):
    with pytest.raises(da.DalembertError, match=r"unknown .*nothing"):
        loop.plot_phase(*wrong)


@pytest.mark.parametrize("name", ["four-bar", "rolling-disc", "no outputs"])
def test_files_are_the_same_with_and_without_labels(name, tmp_path):
    """Arrays go to the file directly; the labeled data, once made, by xarray."""
    import xarray as xr

    if name == "no outputs":
        model = da.Model("free")
        model.body("stone", mass=1, com=(0, 0, 0), inertia=(1, 2, 3))
    else:
        model = da.library.build(name)
    run = da.simulate(model, 0.1)
    plain = da.load(run.save(tmp_path / "plain.nc"))
    data = run.data
    labeled = da.load(run.save(tmp_path / "labeled.nc"))
    xr.testing.assert_identical(plain.data, labeled.data)
    assert list(plain.data.variables) == list(labeled.data.variables)
    # "seconds" and all others are numbers and texts as before.
    assert plain.attrs == labeled.attrs and plain.certificate == labeled.certificate == run.certificate
    np.testing.assert_array_equal(plain.data.position, data.position)


def test_arrays_and_labels_are_the_same_before_and_after_labeling():
    run = da.simulate(da.library.four_bar(), 0.1)
    names = ("time", "q", "position", "outputs", "body", "joint_q", "axis")
    before, attrs, text = {name: run.values(name) for name in names}, dict(run.attrs), repr(run)
    assert run.data is run.data
    for name in names:
        np.testing.assert_array_equal(run.values(name), before[name])
        np.testing.assert_array_equal(run.data[name], before[name])
    assert run.attrs == attrs and repr(run) == text
    run.data.attrs["note"] = "mine"
    assert run.attrs["note"] == "mine"


def test_residuals_of_a_run_are_those_of_its_states():
    run = da.simulate(da.library.four_bar(), 0.5, output_step=0.1)
    found = run.residuals
    seen = run.dynamics.residuals(run.time.values, run.q.values, run.u.values)
    assert set(found) == {"position", "velocity"}
    for level, values in found.items():
        np.testing.assert_array_equal(values, np.abs(getattr(seen, level)).max(axis=1))
    assert set(da.simulate(da.library.knife_edge(), 0.1).residuals) == {"velocity"}
    assert da.simulate(da.library.pendulum(), 0.1).residuals == {}


def test_any_formula_of_the_motion_can_be_asked_of_a_run(loop, bouncing, tmp_path):
    body = loop.body("coupler")
    np.testing.assert_allclose(loop.output("x(coupler)"), body.position.sel(axis="x"), atol=1e-14)
    formula = "base*sin(q(A)) + t*vy(coupler)"
    expected = np.sin(loop.joint("A").q) + loop.time * body.velocity.sel(axis="y")  # the base is 1 m long
    for run in (loop, da.load(loop.save(tmp_path / "run.nc"))):
        np.testing.assert_allclose(run.output(formula), expected, atol=1e-13)
    changed = bouncing.output("restitution + u(pivot)") - bouncing.joint("pivot").u  # parameters are those of the time
    np.testing.assert_array_equal(np.unique(changed.round(12)), [0.5, 0.8])
    with pytest.raises(da.DalembertError, match="unknown 'nobody'"):
        loop.output("x(nobody)")
    panels = _panels(loop.plot(quantities=[formula, "A"]))
    assert formula in [panel.get_title(loc="left") or panel.get_title() for panel in panels]
    assert loop.plot_phase("x(coupler) - 1", formula).axes[0].get_xlabel() == "x(coupler) - 1"
