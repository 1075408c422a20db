"""Inputs of a model: what a run says about them, and what they depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.elements.base import formula_of
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.expressions.symbols import parameters_of
from dalembert.model.fields import checked, nearest
from dalembert.model.model import Model
from dalembert.model.signals_data import InputSignal, Table
from dalembert.values import SEQUENCE

__all__ = ["depends_on_motion", "input_loop", "with_inputs"]

_EXPECTED = "a number, a formula, a pair (times, values), or a table"


def input_loop(model: Model, name: str) -> list[str]:
    """The chain of inputs by which an input needs its own value; empty if it does not."""
    laws = {given.name: given.default for given in model.inputs}

    def follow(chain: list[str]) -> list[str]:
        for symbol in sorted(parameters_of(laws[chain[-1]]), key=str):
            if symbol.name == name:
                return [*chain, name]
            if symbol.name in laws and symbol.name not in chain:
                found = follow([*chain, symbol.name])
                if found:
                    return found
        return []

    return follow([name])


def depends_on_motion(model: Model, formula: sp.Expr) -> bool:
    """True if a formula names the motion or a state, itself or through inputs."""
    laws = {given.name: given.default for given in model.inputs}
    states = {state.name for state in model.states}
    seen: set[str] = set()
    left = [formula]
    while left:
        one = left.pop()
        names = {symbol.name for symbol in parameters_of(one)}
        if one.atoms(AppliedUndef) or names & states:
            return True
        left += [laws[name] for name in names & laws.keys() - seen]
        seen |= names
    return False


def with_inputs(model: Model, inputs: Mapping[Any, Any]) -> tuple[Model, dict[str, float]]:
    """A model whose inputs are what a run says, and those of them that are numbers, as values of parameters.

    Args:
        inputs: numbers, formulas, pairs (times, values) or tables, by name; ``left.u`` is that of a sub-model.
    """
    numbers: dict[str, float] = {}
    made = model.snapshot()
    for key, value in inputs.items():
        _give(made, made, str(getattr(key, "name", key)), str(getattr(key, "name", key)), value, numbers)
    return made, numbers


def _give(root: Model, model: Model, full: str, name: str, value: Any, numbers: dict[str, float]) -> None:
    """Put one input into the model, or into the sub-model that has it."""
    known = [given.name for given in model.inputs]
    if name not in known:
        for i, sub in enumerate(model.submodels):
            if name.startswith(f"{sub.name}.") and name.removeprefix(f"{sub.name}.") not in sub.inputs:
                inner = sub.model.snapshot()
                model.submodels[i] = sub.model_copy(update={"model": inner})
                return _give(root, inner, full, name.removeprefix(f"{sub.name}."), value, numbers)
        fix = nearest(name, known) if known else "the model has none; add one: model.input(…)"
        raise ModelError(Problem(f"inputs: {model.name!r} has no input {full!r}", "inputs", fix))
    at = known.index(name)
    law = _law(model, full, name, value)
    if law.is_number and model.inputs[at].default.is_number:
        numbers[full] = float(law)
        return None
    data = {**{key: getattr(model.inputs[at], key) for key in ("name", "unit")}, "default": law}
    model.inputs[at] = checked(InputSignal, f"input {name!r}", **data)
    return None


def _law(model: Model, full: str, name: str, value: Any) -> sp.Expr:
    """What an input is, as a formula; samples become a table of time."""
    if isinstance(value, Table):
        table = value.model_copy(update={"name": _free_name(model, f"{name}_given")})
    elif isinstance(value, (np.ndarray, *SEQUENCE)):
        if len(value) != 2 or any(np.ndim(part) != 1 for part in value):
            raise ModelError(Problem(f"inputs of {full!r}: expected {_EXPECTED}, got {value!r:.80}", "inputs"))
        points = {"name": _free_name(model, f"{name}_given"), "x": value[0], "y": value[1], "kind": "linear"}
        table = checked(Table, f"inputs of {full!r}", **points)
    else:
        try:
            return formula_of(value)
        except ValueError as error:
            raise ModelError(Problem(f"inputs of {full!r}: {error}", "inputs", f"{_EXPECTED}")) from None
    model.tables.append(table)
    return table(TIME)


def _free_name(model: Model, name: str) -> str:
    """A name that nothing in the model has."""
    taken = {*model.parameter_values, *(e.name for s in (model.states, model.inputs, model.tables) for e in s)}
    while name in taken:
        name += "_"
    return name
