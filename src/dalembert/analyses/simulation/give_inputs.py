"""Inputs that a caller gives a model for one run, and analyses that know no states of first order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalembert.analyses.simulation.options import Options
from dalembert.dynamics import Dynamics
from dalembert.dynamics.cached import cached_for
from dalembert.errors import DalembertError
from dalembert.model import Flat, Model
from dalembert.model.given_inputs import with_inputs

__all__ = ["give_inputs", "refuse_states"]


def give_inputs(
    model: Model | Dynamics, inputs: Mapping[str, Any], options: Options
) -> tuple[Model | Dynamics, Options]:
    """The model with its inputs as given, and the options with those that are numbers: these need no new equations."""
    given = model.model if isinstance(model, Dynamics) else model
    made, numbers = with_inputs(given, inputs)
    if numbers:
        options = replace(options, parameters={**(options.parameters or {}), **numbers})
    if len(numbers) == len(inputs):
        return model, options
    if isinstance(model, Dynamics):
        formulas = ", ".join(str(name) for name in inputs if name not in numbers)
        raise DalembertError(
            f"inputs: {formulas} change over time, and compiled equations have the laws of their inputs already.  "
            f"Fix: give the model itself, or compile one whose inputs have these laws"
        )
    # The same formulas again give the same model, which carries its equations.
    return cached_for(given, ("inputs", repr(sorted(_shown(made)))), lambda: made), options


def _shown(model: Model) -> list[str]:
    own = [f"{given.name}={given.default}" for given in model.inputs] + [repr(table) for table in model.tables]
    return own + [f"{sub.name}.{text}" for sub in model.submodels for text in _shown(sub.model)]


def refuse_states(what: str, flat: Flat, fix: str) -> None:
    """Raise if a model has states of its own, which an analysis does not know."""
    if flat.states:
        listed = ", ".join(flat.states)
        raise DalembertError(
            f"{what}: the model has states of first order ({listed}), which it leaves out.  Fix: {fix}"
        )
