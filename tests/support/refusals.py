"""Equations for tests that go through all formulations."""

from __future__ import annotations

import pytest

from dalembert.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.formulations import BlockFormulation
from dalembert.model import Model

__all__ = ["compiled", "share_kernels"]


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


def share_kernels(dynamics: Dynamics, other: Dynamics) -> Dynamics:
    """Formulations that take the same blocks of the same model share the kernels: they are traced once."""
    if all(type(each.formulation).blocks is BlockFormulation.blocks for each in (dynamics, other)):
        assert (dynamics.nq, dynamics.nv, [*dynamics.rows]) == (other.nq, other.nv, [*other.rows])
        for name in ("dynamics_kernel", "constraint_kernel", "move_kernel"):
            dynamics.kernels.__dict__[name] = getattr(other.kernels, name)
    return dynamics
