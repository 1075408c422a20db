"""A particle whose velocities on offer wear out as it moves."""

from __future__ import annotations

import dalembert as da


def turning_line() -> da.System:
    """A particle on a line that turns: r̈ = r. Its rate along x is no velocity where the line is upright."""
    model = da.System("turning line")
    model.coordinate("x", kind="length")
    model.coordinate("y", kind="length")
    model.particle("p", mass=1, position=("q(x)", "q(y)", 0))
    model.constraint("line", "sin(t)*q(x) - cos(t)*q(y)")
    model.initial("x", 1.0, rate=0.3)
    model.initial("y", 0.0, rate=1.0)
    return model
