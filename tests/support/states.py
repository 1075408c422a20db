"""Physical states, as the fuzz suite makes them; and comparisons of blocks."""

from __future__ import annotations

import numpy as np

from dalembert.equations import Equations
from dalembert.formulations import Formulation
from dalembert.fuzz.physical_states import (
    accelerations_in_world,
    body_motion,
    consistent_state,
    equations_at,
    reference_coordinates,
    transfer,
)

__all__ = [
    "accelerations_in_world", "assert_blocks", "body_motion", "consistent_state", "equations_at",
    "reference_coordinates", "transfer",
]  # fmt: skip


def assert_blocks(formulation: Formulation, e: Equations, tolerance: float) -> None:
    """M, f, A and γ of a formulation are those of the equations."""
    blocks = formulation.blocks(e)
    for field in ("mass_matrix", "forcing", "jacobian", "gamma"):
        expected = getattr(e, field)
        size = 1.0 + np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(blocks[field], expected, rtol=0, atol=tolerance * size, err_msg=field)
