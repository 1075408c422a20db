"""Equations for tests that go through all formulations."""

from __future__ import annotations

import pytest

from dalembert.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.model import Model

__all__ = ["compiled"]


def compiled(model: Model, formulation: str, coordinates: str) -> Dynamics:
    """The equations; the test is skipped where recursive elimination says that a joint moves no inertia, or that it
    cannot take joints that follow from others."""
    try:
        return Dynamics(model, formulation, coordinates)
    except ModelError as error:
        refused = ("has none in some direction", "cannot take joints that follow from others")
        if formulation == "recursive" and any(words in str(error) for words in refused):
            pytest.skip(str(error))
        raise
