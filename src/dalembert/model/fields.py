"""Elements from the arguments of a call, and what to say of a field that an element does not have."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dalembert.elements import Element
from dalembert.errors import ModelError, Problem
from dalembert.joints import JOINTS, JointData

__all__ = ["caller", "checked", "nearest", "refused"]

_PACKAGE = str(Path(__file__).parents[1])


def nearest(given: Any, known: Iterable[str]) -> str:
    """A fix for an unknown word: the nearest known one, and all there are."""
    known = list(known)
    near = difflib.get_close_matches(str(given), known, n=1)
    return (f"did you mean {near[0]}? " if near else "") + f"one of {', '.join(known)}"


def refused(element: type[Element], title: str, key: Any, kind: Any) -> tuple[str, str]:
    """Message and fix; a quantity that only other kinds of joints have is too much, not unknown."""
    if issubclass(element, JointData) and any(key in joint.Data.model_fields for joint in JOINTS.values()):
        return f"{title}: {key} is too much; a {kind} joint has none", f"leave {key} out"
    text = str(key) if len(str(key)) <= 60 else str(key)[:57] + "..."
    return f"{title}: unknown field {text!r}", nearest(key, element.model_fields)


def checked(kind: Any, what: str, /, **fields: Any) -> Any:
    """Make an element; what pydantic refuses becomes a ModelError at the caller's line."""
    try:
        return kind(**fields)
    except ValidationError as error:
        given = fields.get("kind")
        raise ModelError([_problem(what, kind, part, given, caller()) for part in error.errors()]) from None


def _problem(what: str, kind: type[Element], part: Any, given: Any, where: str) -> Problem:
    if part["type"] == "extra_forbidden" and len(part["loc"]) == 1:
        message, fix = refused(kind, what, part["loc"][0], given)
        return Problem(message, "", fix, where)
    field = ".".join(str(step) for step in part["loc"])
    message = part["msg"].removeprefix("Value error, ")
    fix = ""
    if part["type"] == "extra_forbidden":
        message = "unknown field"
        fix = f"one of {', '.join(kind.model_fields)}"
    elif part["type"] == "missing":
        message = "is missing"
    return Problem(f"{what}: {field}: {message}" if field else f"{what}: {message}", "", fix, where)


def caller() -> str:
    """File and line of the first frame outside this package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else "?"
