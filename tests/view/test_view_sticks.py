"""Mechanisms as lines in the strip above the plots of a run."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.view.run_plots import Instant, panels
from dalembert.view.sticks import Sticks


def plane(axis: str, gravity: tuple[float, float, float]) -> np.ndarray:
    model = da.Model("bar", gravity=gravity)
    model.body("bar", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.revolute("A", model.ground, "bar", point=(0, 0, 0), axis=axis)
    return Sticks(da.compile(model).coordinates).axes


def test_up_is_up_and_a_world_axis_points_to_the_right():
    """Mechanisms in the plane of x and z were drawn from behind, with x to the left."""
    down = (0, 0, -9.81)
    np.testing.assert_allclose(plane("y", down), [[1, 0, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(plane("x", down), [[0, 1, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(plane("z", (0, -9.81, 0)), [[1, 0, 0], [0, 1, 0]], atol=1e-12)


def lift() -> da.Trajectory:
    model = da.Model("flap", gravity=(0, 0, -9.81))
    model.body("flap", mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("A", model.ground, "flap", point=(0, 0, 0), axis="y")
    model.spring("coil", model.ground, "flap", at=((0.4, 0, 1), (0.4, 0, 0)), stiffness=10)
    model.strut("ram", model.ground, "flap", at=((0.8, 0, -1), (0.8, 0, 0)), push=5)
    model.state("p", rate="1 - p", unit="Pa")
    model.state("i", rate="-i", unit="A", initial=2)
    return da.simulate(model, 0.1)


def test_springs_and_struts_are_drawn_between_their_ends():
    run = lift()
    panel = Figure().subplots()
    Sticks(run.dynamics.coordinates).draw(panel, Instant(run, 0), labels=False)
    ends = [np.asarray(line.get_xydata())[[0, -1]].ravel().tolist() for line in panel.lines]
    assert [0.4, 1.0, 0.4, 0.0] in np.round(ends, 9).tolist()  # the coil
    assert any(np.allclose(end[:2], [0.8, -1.0]) for end in ends) and any(np.allclose(e[2:], [0.8, 0.0]) for e in ends)


def test_outlines_of_bodies_do_not_cross_themselves():
    model = da.Model("plate", gravity=(0, -9.81, 0))
    model.body("plate", mass=1, com=(0.5, 0.5, 0), inertia=(1, 1, 1))
    model.revolute("A", model.ground, "plate", point=(0, 0, 0), axis="z")
    for name, at in {"P": (1, 1, 0), "Q": (1, 0, 0), "R": (0, 1, 0)}.items():  # a bow tie in this order
        model.point(name, "plate", at)
    run = da.simulate(model, 0.1)
    panel = Figure().subplots()
    Sticks(run.dynamics.coordinates).draw(panel, Instant(run, 0), labels=False, joints=False)
    x, y = np.asarray(panel.lines[0].get_xydata()).T
    assert abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2 == 1.0  # the area of the square


def test_states_have_panels_by_their_units():
    plots = {f"{plot.title} {plot.ylabel}": plot for plot in panels(lift())}
    assert list(plots["States Pa"].series) == ["p"] and list(plots["States A"].series) == ["i"]
    np.testing.assert_allclose(plots["States A"].series["i"][[0, -1]], [2, 2 * np.exp(-0.1)], rtol=1e-6)


def test_formulas_of_a_run_may_name_states():
    run = lift()
    np.testing.assert_allclose(run.output("i"), run.state("i"))
    np.testing.assert_allclose(run.output("2*p - q(A)"), 2 * run.state("p") - run.joint("A").q)
    assert len(run.plot(quantities=["i"]).axes) == 1


def test_rods_reach_to_their_ends():
    """The arm of a wiper ended at its joint, though the rod was given as far as its tip."""
    model = da.Model("arm", gravity=(0, -9.81, 0))
    model.rod("arm", (0, 0, 0), (0, 2, 0), mass=1)
    model.revolute("A", model.ground, "arm", point=(0, 0, 0), axis="z")
    run = da.simulate(model, 0.1)
    panel = Figure().subplots()
    Sticks(run.dynamics.coordinates).draw(panel, Instant(run, 0), joints=False)
    assert np.asarray(panel.lines[0].get_xydata())[:, 1].max() == 2.0
