"""Values of parameters given at run time are held to the same rules as the model's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalembert.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.model.validate import problems

__all__ = ["check_values", "names_of"]


def check_values(dynamics: Dynamics, values: Mapping[str, float]) -> None:
    """Raise unless a model with these values of its parameters would be valid.

    Raises:
        ModelError: e.g. for a negative mass, naming the body.
    """
    dynamics.parameters(dict(values))
    model = dynamics.model
    own = {name: value for name, value in values.items() if name in model.parameter_values}
    if all(model.parameter_values[name] == value for name, value in own.items()):
        return
    other = model.snapshot()
    other.parameter_values.update(own)
    found = problems(other)
    if found:
        given = ", ".join(f"{name} = {value:g}" for name, value in own.items())
        raise ModelError([replace(one, message=f"with {given}: {one.message}") for one in found])


def names_of(given: Any) -> tuple[Any, ...]:
    """Names in the order in which they were given; one name may stand for itself."""
    return (given,) if isinstance(given, str) else tuple(given)
