"""A ladder that slides on a rough floor and a rough wall, against its own equation of motion in one angle."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.ladder import ladder

import dalembert as da

G, MASS, HALF, START = 9.81, 3.0, 1.0, 0.9


def pressed(angle, rate, acceleration, floor, wall):
    """The normal forces of wall and floor from the motion of the center at HALF (cos α, sin α)."""
    c, s = np.cos(angle), np.sin(angle)
    ax, az = -HALF * (c * rate**2 + s * acceleration), HALF * (c * acceleration - s * rate**2)
    return np.linalg.solve([[1, -floor], [wall, 1]], [MASS * ax, MASS * (az + G)])


def missing(angle, rate, acceleration, floor, wall):
    """The moment about the center that α̈ would need, less that of the forces; linear in α̈."""
    R, N = pressed(angle, rate, acceleration, floor, wall)
    c, s = HALF * np.cos(angle), HALF * np.sin(angle)
    return MASS * HALF**2 / 3 * acceleration + (c - floor * s) * N - (s + wall * c) * R


def acceleration(angle, rate, floor, wall):
    at_zero, at_one = (missing(angle, rate, a, floor, wall) for a in (0.0, 1.0))
    return -at_zero / (at_one - at_zero)


@pytest.mark.parametrize(("floor", "wall"), [(0.2, 0.15), (0.2, 0.0), (0.0, 0.0)])
def test_a_ladder_slides_until_the_wall_lets_it_go(floor, wall):
    def rates(_, y):
        return [y[1], acceleration(*y, floor, wall)]

    def leaves(_, y):
        return pressed(*y, acceleration(*y, floor, wall), floor, wall)[0]

    leaves.terminal = True
    known = solve_ivp(rates, (0, 1), [START, 0], events=leaves, rtol=1e-12, atol=1e-14, dense_output=True)
    run = da.simulate(ladder(START, floor, wall), 0.6, output_step=0.01)
    assert run.certificate.trusted
    assert run.events[0].name == "wall open"
    assert np.isclose(run.events[0].time, known.t_events[0][0], atol=1e-7)
    times = run.values("time")
    slides = times < run.events[0].time
    turned = np.asarray(run.joint("plane").q)[slides, 2]
    assert np.allclose(np.abs(turned), np.abs(known.sol(times[slides])[0] - START), atol=1e-7)
    if floor == wall == 0.0:
        # The classic: it leaves a smooth wall at two thirds of its height.
        assert np.isclose(np.sin(known.y_events[0][0][0]), 2 / 3 * np.sin(START), rtol=1e-9)
