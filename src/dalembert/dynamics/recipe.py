"""What equations are made from besides the model, as data that a file can keep."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

import sympy as sp
from pydantic import TypeAdapter, ValidationError

from dalembert.coordinates import COORDINATES, CoordinateOptions, Generalized, Natural
from dalembert.errors import DalembertError
from dalembert.expressions import to_text
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.values import DICT, SEQUENCE

__all__ = ["Recipe"]

# Coordinates that have options, and the class of those.
_WITH_OPTIONS: dict[str, type] = {"generalized": Generalized, "natural": Natural}


@dataclass(frozen=True)
class Recipe:
    """Coordinates and formulation with all their options: with these and a model, equations are made again.

    Attributes:
        coordinates: a name, or the options of those that have some.
        formulation: with its options.
        reason: why these.

    Example:
        recipe = da.compile(da.library.four_bar(), formulation="jourdain").recipe
        dynamics = da.Dynamics.from_recipe(da.library.four_bar(), da.Recipe.from_json(recipe.to_json()))
    """

    coordinates: str | CoordinateOptions
    formulation: Formulation
    reason: str = field(default="as asked", compare=False)

    def __post_init__(self) -> None:
        kind = self.coordinates
        if isinstance(kind, str) and kind in _WITH_OPTIONS:
            object.__setattr__(self, "coordinates", _WITH_OPTIONS[kind]())

    def to_data(self) -> dict[str, Any]:
        """Dictionaries, lists, numbers and texts, which JSON can hold."""
        kind, formulation = self.coordinates, self.formulation
        name, options = (kind, {}) if isinstance(kind, str) else (kind.name, _options(kind))
        return {
            "coordinates": {"name": name, "options": options},
            "formulation": {"name": _name(formulation), "options": _options(formulation)},
            "reason": self.reason,
        }

    @classmethod
    def from_data(cls, data: Any) -> Recipe:
        """Read what ``to_data`` gave; options that are left out have their defaults.

        Raises:
            DalembertError: for unknown names, fields and options, and for values of the wrong type.
        """
        _check_fields("recipe", data, {"coordinates", "formulation"}, {"reason"})
        kind, options = _named("coordinates", data["coordinates"], COORDINATES)
        coordinates = _made(f"coordinates {kind!r}", _WITH_OPTIONS.get(kind), options) or kind
        name, options = _named("formulation", data["formulation"], FORMULATIONS)
        formulation = _made(f"formulation {name!r}", FORMULATIONS[name], options)
        reason = data.get("reason", "as asked")
        if not isinstance(reason, str):
            raise DalembertError(f"recipe: reason must be a text, got {reason!r}")
        return cls(coordinates, formulation, reason)

    def to_json(self) -> str:
        """``to_data`` as text."""
        return json.dumps(self.to_data(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """The way back."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError) as error:
            raise DalembertError(f"recipe: not JSON: {error}") from None
        return cls.from_data(data)


def _name(formulation: Formulation) -> str:
    """As the registry knows it; that of its class otherwise, so that nothing else is taken for it."""
    kind = type(formulation)
    return formulation.name if FORMULATIONS.get(formulation.name) is kind else f"{kind.__module__}.{kind.__qualname__}"


def _options(made: Any) -> dict[str, Any]:
    return {entry.name: _plain(getattr(made, entry.name)) for entry in fields(made)}


def _plain(value: Any) -> Any:
    if isinstance(value, sp.Expr):
        return to_text(value)
    if isinstance(value, SEQUENCE):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _check_fields(what: str, data: Any, required: set[str], optional: set[str]) -> None:
    """Raise unless data is a dictionary with the required fields and none but the optional ones besides."""
    known = ", ".join(sorted(required | optional)) or "none"
    if not isinstance(data, DICT):
        raise DalembertError(f"{what}: expected a dictionary with the fields {known}, got {data!r}")
    unknown, missing = sorted(map(str, data.keys() - required - optional)), sorted(required - data.keys())
    if unknown:
        raise DalembertError(f"{what}: unknown field {unknown[0]!r}; expected: {known}")
    if missing:
        raise DalembertError(f"{what}: {missing[0]!r} is missing; expected: {known}")


def _named(what: str, data: Any, registry: dict[str, Any]) -> tuple[str, Any]:
    """Name and options of an entry of a registry."""
    _check_fields(f"recipe: {what}", data, {"name"}, {"options"})
    name = data["name"]
    if not isinstance(name, str) or name not in registry:
        raise DalembertError(f"recipe: unknown {what} {name!r}; expected one of {', '.join(sorted(registry))}")
    return name, data.get("options", {})


def _made(what: str, kind: type | None, options: Any) -> Any:
    """An object with these options, each of the type that its class declares; None if there is no class."""
    if kind is None:
        _check_fields(f"recipe: options of {what}", options, set(), set())
        return None
    _check_fields(f"recipe: options of {what}", options, set(), {entry.name for entry in fields(kind)})
    types, values = get_type_hints(kind), {}
    for name, value in options.items():
        try:
            values[name] = TypeAdapter(types[name]).validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise DalembertError(f"recipe: {what}: {name}: {said}, got {value!r}") from None
    try:
        return kind(**values)
    except DalembertError as error:
        raise DalembertError(f"recipe: {what}: {error}") from None
