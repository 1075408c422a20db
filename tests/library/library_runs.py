"""Runs of the bundled mechanisms, made once per process and shared by the tests."""

from __future__ import annotations

from functools import cache

import dalembert as da

# Tight enough that what remains in a comparison with a closed form is the formula, not the integrator.
RTOL, ATOL = 1e-11, 1e-13


@cache
def run_of(name: str, coordinates: str = "relative") -> da.Trajectory:
    """One second of a mechanism, with its default parameters; a twentieth of one that runs at thousands of rad/s."""
    duration = 0.05 if name == "andrews" else 1.0
    options = {"rtol": RTOL, "atol": ATOL, "output_step": duration / 200}
    return da.simulate(da.library.build(name), duration, coordinates=coordinates, **options)
