"""All data of a model as one value: two of them are equal exactly if nothing was changed in between."""

from __future__ import annotations

from typing import Any

from dalembert.elements.base import Record
from dalembert.model.model import SECTIONS, Model
from dalembert.values import DICT, SEQUENCE

__all__ = ["contents"]

_MORE = ("name", "gravity", "parameter_values", "ground_shapes", "initial_values", "initial_rates", "quasi_velocities")


def contents(model: Model) -> tuple[Any, ...]:
    """Elements, formulas and numbers of a model and of its sub-models, in tuples; nothing is written out as text."""
    return tuple(_frozen(getattr(model, key)) for key in (*_MORE, *SECTIONS))


def _frozen(value: Any) -> Any:
    if isinstance(value, Record):
        return type(value), *map(_frozen, value.__dict__.values())
    if isinstance(value, DICT):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, SEQUENCE):
        return tuple(map(_frozen, value))
    return contents(value) if isinstance(value, Model) else value
