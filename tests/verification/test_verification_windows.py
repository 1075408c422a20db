"""IFToMM A02: n four-bars in a row, through the position in which all bars lie in one line, 20 times in 10 s."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

REFERENCE = json.loads((Path(__file__).parent / "data" / "windows.json").read_text())["by_windows"]
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
@pytest.mark.parametrize(("n", "coordinates"), [(10, "relative"), (40, "relative"), (10, "absolute")])
def test_many_windows_pass_their_singular_position(n, coordinates):
    off, run = error(n, formulation="recursive", coordinates=coordinates)
    assert off < NINE_DIGITS
    assert run.dynamics.is_large
    assert "singular" in str(run.certificate)


def test_without_help_the_singular_position_is_told():
    run = da.simulate(da.library.n_four_bar(n=2, angle=0.0, speed=1.0), 10.0)
    assert not run.certificate.trusted
    assert "singular" in str(run.certificate)
