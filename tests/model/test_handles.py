"""What bodies and joints give for use in formulas."""

from __future__ import annotations

import numpy as np

import dalembert as da


def test_body_and_joint_quantities_in_outputs():
    model = da.Model("m")
    rod = model.body("rod", mass=1, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    hinge = model.revolute("hinge", model.ground, rod, point=(0, 0, 0), axis="y")
    x, _, z = rod.position
    model.output("radius", (x**2 + z**2) ** 0.5)
    model.output("speed", (rod.velocity[0] ** 2 + rod.velocity[2] ** 2) ** 0.5)
    model.output("turning", rod.angular_velocity[1] - hinge.u)
    model.output("height", z)
    run = da.simulate(model, 0.5, initial_rates={"hinge": 3.0})
    np.testing.assert_allclose(run.output("radius"), 0.5, rtol=1e-12)
    np.testing.assert_allclose(run.output("speed"), 0.5 * np.abs(run.joint("hinge").u), rtol=1e-9)
    np.testing.assert_allclose(run.output("turning"), 0, atol=1e-12)
    np.testing.assert_allclose(run.output("height"), run.body("rod").position.sel(axis="z"), atol=1e-14)


def test_angles_count_turns_in_any_coordinates():
    model = da.library.crank_rocker()
    relative, absolute = (da.simulate(model, 2.0, coordinates=kind) for kind in ("relative", "absolute"))
    for joint in "ABCD":
        np.testing.assert_allclose(absolute.joint(joint).q, relative.joint(joint).q, atol=1e-6)
    assert np.ptp(relative.joint("A").q.values) > 2 * np.pi


def test_quaternions_keep_their_sign_in_any_coordinates():
    model = da.library.spinning_top()
    relative, absolute = (da.simulate(model, 0.5, coordinates=kind) for kind in ("relative", "absolute"))
    name = next(iter(relative.dynamics.flat.joints))
    np.testing.assert_allclose(absolute.joint(name).q, relative.joint(name).q, atol=1e-6)
