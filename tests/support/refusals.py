"""Equations for tests that go through all formulations."""

from __future__ import annotations

import pytest

from dalembert.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.model import Model

__all__ = ["compiled"]


def compiled(model: Model, formulation: str, coordinates: str) -> Dynamics:
    """The equations; the test is skipped where recursive elimination says that a joint moves no inertia."""
    try:
        return Dynamics(model, formulation, coordinates)
    except ModelError as error:
        if formulation == "recursive" and "has none in some direction" in str(error):
            pytest.skip(str(error))
        raise
