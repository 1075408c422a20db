"""IFToMM A02: n four-bars in a row, through the position in which all bars lie in one line, 20 times in 10 s."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.bench import reference_data

REFERENCE = reference_data("windows")["by_windows"]
NINE_DIGITS = 5e-10


def error(n: int, **options) -> tuple[float, da.Trajectory]:
    """The largest error of the first tip at full seconds."""
    model = da.library.n_four_bar(n=n, angle=0.0, speed=1.0)
    how = {"rtol": 2e-12, "atol": 1e-13, "output_step": 1.0, "stabilization": "stages", "integrator": "dopri8"}
    run = da.simulate(model, 10.0, **how, **options)
    expected = np.array(REFERENCE[str(n)])
    np.testing.assert_allclose(run.time.values, expected[:, 0], atol=1e-12)
    mine = np.stack([run.output("x of B0").values, run.output("y of B0").values], axis=1)
    return float(np.abs(mine - expected[:, 1:]).max()), run


@pytest.mark.parametrize("n", [1, 2, 5])
def test_windows_pass_their_singular_position(n):
    off, run = error(n, formulation="lagrange-multipliers")
    assert off < NINE_DIGITS
    assert "singular" in str(run.certificate)
    assert run.certificate["energy balance"] < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 40])
def test_many_windows_pass_their_singular_position(n):
    off, run = error(n, formulation="recursive")
    assert off < NINE_DIGITS
    assert run.dynamics.is_large
    assert "singular" in str(run.certificate)


@pytest.mark.slow
def test_many_windows_swing_in_absolute_coordinates():
    """The sparse descriptor form, away from the singular position: a pendulum."""
    n = 10
    model = da.library.n_four_bar(n=n)
    run = da.simulate(model, 2.0, formulation="recursive", coordinates="absolute", rtol=1e-11, atol=1e-13)
    assert run.dynamics.is_large
    assert run.certificate.trusted, str(run.certificate)
    theta, speed = 2.4 - run.joint("A0").q.values, -run.joint("A0").u.values
    a = ((n + 1) / 2 + n) / ((n + 1) / 3 + n) * 9.81
    np.testing.assert_allclose(speed**2 / 2 + a * np.cos(theta), a * np.cos(2.4), atol=1e-8)


def test_without_help_the_singular_position_is_reported():
    run = da.simulate(da.library.n_four_bar(n=2, angle=0.0, speed=1.0), 10.0)
    assert not run.certificate.trusted
    assert "singular" in str(run.certificate)
