"""Runs of the bundled mechanisms, made once per process and shared by the tests."""

from __future__ import annotations

from functools import cache

import dalembert as da

# Tight enough that what remains in a comparison with a closed form is the formula, not the integrator.
RTOL, ATOL = 1e-11, 1e-13


@cache
def run_of(name: str, coordinates: str = "relative") -> da.Trajectory:
    """One second of a mechanism, with its default parameters."""
    return da.simulate(da.library.build(name), 1.0, coordinates=coordinates, rtol=RTOL, atol=ATOL, output_step=0.005)
