"""A stiff problem in one's own coordinates: the flyball governor (in the manner of the IFToMM problem A05).

Two arms with balls on a shaft that turns, held to a sleeve by springs of 8e5 N/m with dampers of 4e4 N s/m: a motion of
about 1 Hz with rates of decay of 10⁴/s. Explicit methods take steps that stability allows, radau those of the motion.
"""

from __future__ import annotations

import numpy as np

import dalembert as da

STIFFNESS, DAMPING, TILT = 8e5, 4e4, np.pi / 6


def governor() -> da.Model:
    model = da.Model("flyball governor")
    model.body("shaft", mass=10, com=(0, 0, 0.5), inertia=(1, 1, 0.1))
    model.revolute("spin", model.ground, "shaft", point=(0, 0, 0), axis="z")
    reach, drop = float(np.sin(TILT)), float(np.cos(TILT))
    model.body("sleeve", mass=1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.01))
    model.prismatic("slide", "shaft", "sleeve", point=(0, 0, 0.5), axis="z")
    for name, side in (("left", 1), ("right", -1)):
        end = (side * reach, 0, 1 - drop)
        model.rod(name, (0, 0, 1), end, mass=0.3, radius=0.005)
        model.revolute(f"{name} hinge", "shaft", name, point=(0, 0, 1), axis="y")
        model.body(f"{name} ball", mass=5, com=end, inertia=(0.01, 0.01, 0.01))
        model.fixed(f"{name} weld", name, f"{name} ball", point=end)
        middle = (side * reach / 2, 0, 1 - drop / 2)
        model.spring(
            f"{name} spring", name, "sleeve", stiffness=STIFFNESS, damping=DAMPING, length=0.5, at=(middle, (0, 0, 0.5))
        )
    model.initial("spin", rate=2 * np.pi)
    return model


def test_auto_goes_to_radau_where_the_problem_is_stiff():
    model = governor()
    auto = da.simulate(model, 1.0, output_step=0.1)
    assert auto.certificate.trusted, str(auto.certificate)
    assert "radau" in str(auto.data.attrs["integrator"])
    # What stability asks of dopri8 over a fifth of the second is more.
    explicit = da.simulate(model, 0.2, integrator="dopri8", output_step=0.1, certify=False)
    assert explicit.certificate.counts["steps"] > auto.certificate.counts["steps"]
    stiff = da.simulate(model, 1.0, integrator="radau", output_step=0.1)
    found, expected = (run.body("left ball").position.values for run in (auto, stiff))
    np.testing.assert_allclose(found, expected, atol=1e-6)
