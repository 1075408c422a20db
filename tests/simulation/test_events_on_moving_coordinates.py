"""Events that set velocities, where coordinates are given functions of time: the same motion by all coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

KINDS = ("relative", "generalized", "absolute")


def chain() -> da.Model:
    """Three bars; the middle joint is driven, and the mass that a blow on the last one moves changes with time."""
    model = da.Model("chain", gravity=(0, 0, 0))
    for name, x in (("a", 0.3), ("b", 0.9), ("c", 1.5)):
        model.body(name, mass=1, com=(x, 0, 0), inertia=(0.1, 0.1, 0.1))
    for name, first, second, x in (("p", "ground", "a", 0.0), ("q", "a", "b", 0.6), ("r", "b", "c", 1.2)):
        model.revolute(name, first, second, point=(x, 0, 0), axis="z")
    model.drive("q", "0.8*sin(3*t)")
    model.initial("p", rate=1.0)
    model.initial("r", rate=-0.6)
    model.event("kick", "t - 0.5", rates={"r": "-0.5*u(r)"})
    return model


def five_bar() -> da.Model:
    """The crank is driven, the event sets the rate of the pin that closes the loop: it moves with the crank, too."""
    model = da.Model("five-bar", gravity=(0, 0, 0))
    places = [(0, 0, 0), (0.4, 0.9, 0), (1.5, 1.3, 0), (2.4, 1, 0), (2, 0, 0)]
    for i in range(4):
        com = tuple(np.add(places[i], places[i + 1]) / 2)
        model.body(f"b{i}", mass=1 + 0.3 * i, com=com, inertia=(0.1, 0.1, 0.08))
    model.revolute("j0", "ground", "b0", point=places[0], axis="z")
    for i in (1, 2, 3):
        model.revolute(f"j{i}", f"b{i - 1}", f"b{i}", point=places[i], axis="z")
    model.revolute("j4", "b3", "ground", point=places[4], axis="z", cut=True)
    model.drive("j0", "0.3*sin(4*t)")
    model.initial("j4", rate=0.3)
    model.event("kick", "t - 0.5", rates={"j4": "-0.5*u(j4)"})
    return model


@pytest.mark.parametrize("make", [chain, five_bar])
def test_a_blow_is_the_same_in_all_coordinates(make):
    """The masses were those of t = 0, and what the drive makes of a rate was counted with every velocity."""
    runs = [da.simulate(make(), 1.0, coordinates=kind, output_step=0.5) for kind in KINDS]
    assert all(run.certificate.trusted for run in runs)
    for run in runs[1:]:
        np.testing.assert_allclose(run.values("position")[-1], runs[0].values("position")[-1], atol=1e-6)


def test_the_mass_matrix_of_given_coordinates_knows_the_time():
    dynamics = da.compile(chain(), coordinates="generalized")
    q, t = np.array([0.1, -0.2]), 0.4
    kinetic = [dynamics.energy(q, u, t=t)[0] for u in ([1, 0], [0, 1], [1, 1], [0, 0])]
    mixed = float(kinetic[2] - kinetic[0] - kinetic[1] + kinetic[3])
    assert dynamics.mass_matrix(q, t=t)[0, 1] == pytest.approx(mixed)
    assert dynamics.mass_matrix(q)[0, 1] != pytest.approx(mixed)
