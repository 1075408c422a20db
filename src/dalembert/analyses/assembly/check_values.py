"""Values of parameters given at run time are held to the same rules as the model's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, ModelError
from dalembert.model.validate import problems
from dalembert.values import MAPPING

__all__ = ["by_name", "check_values", "names_of"]


def by_name(what: str, given: Any, example: str) -> dict[Any, Any]:
    """A dictionary that was given, or an empty one for None.

    Args:
        what: the call and its argument, for the message.
        example: how it should look.
    """
    if given is not None and not isinstance(given, MAPPING):
        raise DalembertError(f"{what} must be a dictionary by name, got {given!r}.  Fix: e.g. {example}")
    return dict(given or {})


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
