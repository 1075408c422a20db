"""Equations of a model that are used again while the model stays as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from dalembert.coordinates import CoordinateOptions
from dalembert.dynamics.dynamics import Dynamics
from dalembert.formulations import Formulation
from dalembert.model import Model, model_of
from dalembert.model.model import contents

__all__ = ["cached_dynamics", "cached_for"]

MOST_CACHED = 4  # of one model

T = TypeVar("T")


class Cached(NamedTuple):
    """What was asked for, by which thread, all data that the model had then, and what was made: equations, mostly."""

    asked: tuple[Any, ...]
    contents: tuple[Any, ...]
    made: Any


def cached_dynamics(
    model: Model, formulation: str | Formulation = "auto", coordinates: str | CoordinateOptions = "auto"
) -> Dynamics:
    """The equations of a model: those made before for the same question, if nothing of the model has changed since.

    The model itself carries them, so they live as long as it does. Each thread has its own: equations remember what was
    seen of a mechanism, such as the rank of its constraints, and runs side by side must not meet there.
    """
    model = model_of(model)
    return cached_for(model, (formulation, coordinates), lambda: Dynamics(model, formulation, coordinates))


def cached_for(model: Model, asked: tuple[Any, ...], make: Callable[[], T]) -> T:
    """What was made of a model before for the same question in this thread, if nothing of the model has changed since;
    else it is made now."""
    asked, now = (*asked, threading.get_ident()), contents(model)
    cached: list[Cached] = [one for one in model.derived if one.contents == now]
    found = next((one for one in cached if one.asked == asked), None)
    if found is None:
        found = Cached(asked, now, make())
    # The last one used comes first.
    model.derived = [found, *(one for one in cached if one is not found)][:MOST_CACHED]
    return found.made
