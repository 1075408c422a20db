"""Elements from the arguments of a call, and what to say of a field that an element does not have."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import ValidationError

from dalembert.elements import Element, Record
from dalembert.errors import ModelError, Problem, caller, did_you_mean
from dalembert.joints import JOINTS, JointData
from dalembert.solids import SOLIDS, Solid
from dalembert.values import DICT, LIST

__all__ = [
    "checked", "clip", "in_words", "kind_of", "name_of", "nearest", "put", "refused", "steps_of",
    "unknown_kind",
]  # fmt: skip


def nearest(given: Any, known: Iterable[str]) -> str:
    """A fix for an unknown word: the nearest known one, and all there are."""
    known = list(known)
    return f"{did_you_mean(given, known)} one of {', '.join(known)}".strip()


def refused(element: type[Record], title: str, key: Any, kind: Any) -> tuple[str, str]:
    """Message and fix; a quantity that only other kinds of joints have is too much, not unknown."""
    if issubclass(element, JointData) and any(key in joint.Data.model_fields for joint in JOINTS.values()):
        return f"{title}: {key} is too much; a {kind} joint has none", f"leave {key} out"
    text = str(key) if len(str(key)) <= 60 else str(key)[:57] + "..."
    return f"{title}: unknown field {text!r}", nearest(key, element.model_fields)


def checked(kind: Any, what: str, /, **fields: Any) -> Any:
    """Make an element; what pydantic refuses becomes a ModelError at the caller's line."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        given = fields.get("kind")
        raise ModelError([_problem(what, kind, part, given, caller()) for part in error.errors()]) from None


def name_of(what: str, given: Any) -> str:
    """The name of an element, given as it is or by the element."""
    name = getattr(given, "name", given)
    if not isinstance(name, str):
        raise ModelError(Problem(f"{what}: expected an element or its name, got {given!r}", "", 'e.g. "A"'))
    return name


def put(model: Any, known: Iterable[str], section: str, element: Any, source: str | None) -> Any:
    """Add an element to one of the sections of a model; it came from ``source``, or from the caller's line."""
    if section not in known:
        raise ModelError(Problem(f"unknown section {section!r}", "", nearest(section, known)))
    if not isinstance(element, Record):
        message = f"append: expected an element of {section}, got {reprlib.repr(element)}"
        raise ModelError(Problem(message, section, "e.g. model.body('rod', mass=1)"))
    elements = getattr(model, section)
    model.sources[f"{section}[{len(elements)}]"] = source if source is not None else caller()
    elements.append(element)
    return element


def steps_of(part: Any) -> tuple[list[Any], type[Solid] | None]:
    """Where pydantic found something wrong, and in which solid: it names the kind that it chose, a reader does not."""
    steps = list(part["loc"])
    if steps[:1] == ["solid"] and len(steps) > 1 and steps[1] in SOLIDS:
        return [steps[0], *steps[2:]], SOLIDS[steps[1]]
    return steps, None


def inside(kind: type[Any] | None, steps: list[Any]) -> dict[str, Any]:
    """Fields of the record in which a step ends: those of a surface for ``surfaces``, 0, ``normal``."""
    known: dict[str, Any] = {} if kind is None else kind.model_fields
    for step in [step for step in steps[:-1] if step in known]:
        records = [one for one in _within(known[step].annotation) if hasattr(one, "model_fields")]
        known = records[0].model_fields if records else {}
    return known


def _within(annotation: Any) -> list[Any]:
    """An annotation and all that its brackets hold."""
    return [annotation, *(one for part in get_args(annotation) for one in _within(part))]


def unknown_kind(part: Any) -> tuple[str, str]:
    """Message and fix for a solid whose kind is unknown, or not given."""
    given = part["ctx"].get("tag")
    message = "kind is missing" if given is None else f"unknown kind {str(given)[:60]!r}"
    return message, nearest(given, SOLIDS)


def clip(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def kind_of(value: Any) -> str:
    """What a person would call a piece of plain data."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, DICT):
        return "a mapping"
    if isinstance(value, LIST):
        return f"a list of {len(value)}"
    return clip(repr(value) if isinstance(value, str) else value)


def in_words(part: Any) -> str:
    """One complaint of pydantic as ours are: what was expected, and what was given."""
    kind, bounds = part["type"], part.get("ctx", {})
    if kind == "value_error":
        return str(part["msg"]).removeprefix("Value error, ")
    if kind == "literal_error":
        return f"expected {bounds['expected']}, got {kind_of(part['input'])}"
    if kind in ("too_long", "too_short"):
        count = bounds["max_length" if kind == "too_long" else "min_length"]
        return f"expected {count} entries, got {bounds['actual_length']}"
    if kind == "string_pattern_mismatch":
        return f"expected a color as #rrggbb, got {kind_of(part['input'])}"  # the only texts that have a pattern
    if kind == "tuple_type":
        return f"expected a list, got {kind_of(part['input'])}"
    said = str(part["msg"]).replace("Input should", "should")
    return f"{said[0].lower()}{said[1:]}, got {kind_of(part['input'])}"


def _problem(what: str, kind: type[Element], part: Any, given: Any, where: str) -> Problem:
    if part["type"] == "extra_forbidden" and len(part["loc"]) == 1:
        message, fix = refused(kind, what, part["loc"][0], given)
        return Problem(message, "", fix, where)
    steps, solid = steps_of(part)
    # The methods of solids take sizes as arguments of their own.
    field = ".".join(str(step) for step in (steps if solid is None else steps[1:]))
    message, fix = in_words(part), ""
    if part["type"] == "extra_forbidden":
        message = "unknown field"
        known = inside(kind, steps) if solid is None else {**solid.model_fields, "mass": None, "color": None}
        fix = nearest(steps[-1], [key for key in known if key != "kind"])
    elif part["type"] == "missing":
        message = "is missing"
    elif part["type"].startswith("union_tag"):
        message, fix = unknown_kind(part)
    return Problem(f"{what}: {field}: {message}" if field else f"{what}: {message}", "", fix, where)
