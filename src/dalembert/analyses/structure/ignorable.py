"""Which coordinates of a mechanism are ignorable."""

from __future__ import annotations

from dalembert.arguments import public
from dalembert.coordinates import Generalized
from dalembert.dynamics import Dynamics
from dalembert.equations.ignorable_coordinates import Ignorable, ignorable_of
from dalembert.model import Model

__all__ = ["ignorable"]


@public
def ignorable(model: Model, coordinates: str | Generalized = "generalized") -> Ignorable:
    """Coordinates whose momenta are constant: in no energy, bound by no constraint, pushed by no force.

    Returns:
        their ``names``, and ``reasons`` why the others are not; for all values of the parameters.

    Args:
        model: the mechanism.
        coordinates: ``generalized``, or ``da.Generalized`` with options.

    Example:
        assert da.ignorable(da.library.cart_pendulum()).names == ["rail"]
    """
    return ignorable_of(Dynamics(model, "lagrange", coordinates).coordinates)
