"""Arguments of public calls: what has the wrong kind is refused in words, before anything is computed with it."""

from __future__ import annotations

import builtins
import difflib
import functools
import inspect
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from dalembert.errors import DalembertError
from dalembert.values import ARRAY, BOOLEAN, INTEGER, MAPPING, SEQUENCE, is_finite

__all__ = ["public", "public_methods"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type[Any])

# Modules that others do not import before they need them, with the names that annotations use.
LATER = {"xr": SimpleNamespace(Dataset=Any, DataArray=Any), "sp": SimpleNamespace(Expr=Any, Symbol=Any, Matrix=Any)}
OWN = ("self", "cls")
ANYTHING = "**"  # there are options that annotations do not name
FUNCTIONS = (Callable,)
PATHS = (Path, os.PathLike)
WORDS: dict[Any, str] = {
    float: "a finite number",
    int: "a whole number",
    bool: "True or False",
    str: "a name",
    NoneType: "None",
}
ORIGINS = {"State": "a State, as da.assemble returns it"}  # where objects of a class come from


def public_methods(kind: T) -> T:
    """A class whose public methods are public calls, and indexing by its own ``__getitem__``; the constructor is one if
    it says so itself."""
    for name, method in list(vars(kind).items()):
        if (not name.startswith("_") or name == "__getitem__") and inspect.isfunction(method):
            setattr(kind, name, public(method))
    return kind


def public(call: Callable[P, R]) -> Callable[P, R]:
    """A call that refuses what its annotations have no room for; what they do not tell, such as the names that a model
    knows, is left to the call."""
    parameters = list(inspect.signature(call).parameters.values())
    names = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    rest = [p.name for p in parameters if p.kind == p.VAR_POSITIONAL]
    title = call.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__").removesuffix(".__getitem__")

    @functools.wraps(call)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        kinds = _kinds(call)
        more = zip(rest * (len(given) - len(names)), given[len(names) :], strict=False)
        for name, value in (*zip(names, given, strict=False), *more, *named.items()):
            if name in OWN:
                continue
            if name not in kinds and ANYTHING not in kinds:
                near = difflib.get_close_matches(name, kinds, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(kinds)}"
                raise TypeError(f"{title}() got an unexpected keyword argument {name!r}{hint}")
            kind = kinds[name] if name in kinds else kinds[ANYTHING]
            if not _names(value, kind):
                what, value, kind = _culprit(name, value, kind)
                raise DalembertError(f"{title}: {what} must be {' or '.join(_words(kind))}, got {_shown(value)}")
        return call(*given, **named)

    return checked


@functools.cache
def _kinds(call: Callable[..., Any]) -> dict[str, Any]:
    """Types by argument, those of ``**options`` among them; the call itself tells what models and options are."""
    spoken = set(re.findall(r"[A-Za-z_]\w*", " ".join(map(str, call.__annotations__.values()))))
    later = {name: Any for name in spoken - set(call.__globals__) if not hasattr(builtins, name)}
    kinds = get_type_hints(call, localns=later | LATER) | {"model": Any, "options": Any}
    kinds.pop("return", None)
    for p in inspect.signature(call).parameters.values():
        if p.kind == p.VAR_KEYWORD:
            kind = kinds.pop(p.name)
            kinds |= get_type_hints(get_args(kind)[0]) if get_origin(kind) is Unpack else {ANYTHING: kind}
        elif p.name not in OWN:
            kinds.setdefault(p.name, Any)
    return kinds


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value may be of a kind."""
    origin, inner = _parts(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin in (Literal, str):
        return isinstance(value, str)
    if origin is float:
        return is_finite(value.item() if isinstance(value, ARRAY) and value.size == 1 else value)
    if origin is int:
        return isinstance(value, INTEGER) and not isinstance(value, BOOLEAN)
    if origin is bool:
        return isinstance(value, BOOLEAN)
    if origin in FUNCTIONS:
        return callable(value)
    if origin is Any or not isinstance(origin, type):
        return True
    if origin in PATHS:
        return isinstance(value, (str, os.PathLike))
    if issubclass(origin, Mapping):
        return isinstance(value, MAPPING) and (
            not inner or all(_names(key, inner[0]) and _fits(one, inner[1]) for key, one in value.items())
        )
    if issubclass(origin, Iterable) and inner:
        return _are(value, inner[0])
    return isinstance(value, origin)


def _are(value: Any, kind: Any) -> bool:
    """Whether a value may be several of a kind; one name may stand for itself."""
    if isinstance(value, (str, bytes, *MAPPING)):
        return isinstance(value, str) and kind is str
    if isinstance(value, ARRAY):
        return value.ndim == 1 and all(_fits(one, kind) for one in value[:1].tolist())
    if not isinstance(value, SEQUENCE):
        return isinstance(value, Iterable)
    return all(_names(one, kind) for one in value)


def _names(value: Any, kind: Any) -> bool:
    """Whether a value may be of a kind; a named object may stand for its name."""
    return _fits(value, kind) or (kind is str and hasattr(value, "name"))


def _culprit(name: str, value: Any, kind: Any) -> tuple[str, Any, Any]:
    """What does not fit: the argument, or one entry of a dictionary whose names are right."""
    for origin, inner in map(_parts, (kind, *_parts(kind)[1])):
        if isinstance(origin, type) and issubclass(origin, Mapping) and inner and isinstance(value, MAPPING):
            for key, one in value.items():
                if _names(key, inner[0]) and not _fits(one, inner[1]):
                    return f"{name}[{key!r}]", one, inner[1]
    return name, value, kind


def _shown(value: Any) -> str:
    """A value, not longer than a message can bear; of an object its class."""
    text = reprlib.repr(value)
    return f"a {type(value).__name__}" if text.startswith("<") else text


def _words(kind: Any) -> list[str]:
    """A kind in words, one for each of a union."""
    origin, inner = _parts(kind)
    if origin in (Union, UnionType):
        hidden = {NoneType, *([str] if any(_parts(one)[0] in PATHS for one in inner) else [])}
        words = [
            word
            for one in inner
            if one not in hidden and not getattr(one, "_is_protocol", False)
            for word in _words(one)
        ]
        nothing = ["None"] if NoneType in inner and all(one in WORDS for one in inner) else []
        return sorted(words, key=lambda word: "dictionary" not in word) + nothing
    if origin in WORDS or origin is Literal:
        return [repr(inner[0]) if origin is Literal else WORDS[origin]]
    if origin in FUNCTIONS:
        return ["a function"]
    if origin in PATHS:
        return ["the path of a file"]
    if not isinstance(origin, type):
        return ["something else"]
    if issubclass(origin, Mapping):
        return ["a dictionary by name"]
    if issubclass(origin, Iterable) and inner:
        return ["names" if inner[0] is str else "numbers" if inner[0] is float else "a list"]
    return [ORIGINS.get(origin.__name__, f"a {origin.__name__}")]


def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A kind without its brackets, and what is in them: ``Mapping``, and ``str`` and ``float``."""
    return get_origin(kind) or kind, get_args(kind)
