"""Arguments of public calls: what has the wrong kind is refused in words, before anything is computed with it."""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import re
import reprlib
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, ParamSpec, SupportsFloat, TypeVar

from dalembert.errors import DalembertError, MissingError, did_you_mean
from dalembert.values import ARRAY, BOOLEAN, INTEGER, MAPPING, SEQUENCE, is_finite

__all__ = [
    "Answering", "Between", "Count", "Number", "Order", "Seed", "entry_of", "no_attribute", "public", "public_class",
    "public_methods",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type[Any])


class Between(NamedTuple):
    """Bounds of a number, in its annotation: ``Annotated[int, Between(0, 9)]``; without ``high`` there is no end."""

    low: float
    high: float | None = None

    def __contains__(self, value: Any) -> bool:
        return self.low <= value and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        return f"of at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"


Number = SupportsFloat | str  # whatever ``float`` may take, numbers of SymPy among them; the call makes it one
Order = Annotated[int, Between(0, 20)]  # of derivatives with respect to time: each makes formulas several times longer
Count = Annotated[int, Between(1, 1_000_000)]  # of equal parts
Seed = Annotated[int, Between(0)]  # of random numbers


class _Later:
    """A module that others do not import before they need it, in annotations."""

    def __getattr__(self, name: str) -> Any:
        return Any


LATER: dict[str, Any] = dict.fromkeys(("xr", "sp"), _Later())
OWN = ("self", "cls")
OF_CLASS: tuple[type[Any], ...] = (classmethod,)
ANYTHING = "**"  # there are options that annotations do not name
FUNCTIONS = (Callable,)
PATHS = (Path, os.PathLike)
WORDS: dict[Any, str] = {
    float: "a finite number",
    SupportsFloat: "a finite number",
    int: "a whole number",
    bool: "True or False",
    str: "a name",
    NoneType: "None",
    Any: "anything",
}
ORIGINS = {"State": "a State, as da.assemble returns it"}  # where objects of a class come from


def public_class(kind: T) -> T:
    """A class that users make objects of by calling it: its constructor is a public call, as its methods are."""
    setattr(kind, "__init__", public(vars(kind)["__init__"]))  # noqa: B010
    return public_methods(kind)


def public_methods(kind: T) -> T:
    """A class whose public methods are public calls, and indexing by its own ``__getitem__``."""
    for name, method in list(vars(kind).items()):
        if name.startswith("_") and name != "__getitem__":
            continue
        if inspect.isfunction(method):
            setattr(kind, name, public(method))
        elif isinstance(method, OF_CLASS):
            setattr(kind, name, classmethod(public(method.__func__)))
    return kind


def public(call: Callable[P, R]) -> Callable[P, R]:
    """A call that refuses what its annotations have no room for; what they do not tell, such as the names that a model
    knows, is left to the call."""
    parameters = list(inspect.signature(call).parameters.values())
    names = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    rest = [p.name for p in parameters if p.kind == p.VAR_POSITIONAL]

    @functools.wraps(call)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        kinds, plain = _kinds(call)
        for name, value in zip(names, given, strict=False):
            if (classes := plain[name]) is not None and type(value) not in classes:
                _check(call, given, name, value)
        if rest:
            for value in given[len(names) :]:
                _check(call, given, rest[0], value)
        for name, value in named.items():
            if name not in kinds and ANYTHING not in kinds:
                fix = did_you_mean(name, kinds, form=repr) or f"it has {', '.join(kinds)}"
                raise TypeError(f"{_title(call)}() got an unexpected keyword argument {name!r}; {fix}")
            classes = plain[name if name in kinds else ANYTHING]
            if classes is not None and type(value) not in classes:
                _check(call, given, name, value)
        return call(*given, **named)

    return checked


@functools.cache
def _kinds(call: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, set[Any] | None]]:
    """Types by argument, those of ``**options`` among them, and classes whose objects need no look; the call itself
    tells what models and options are."""
    spoken = set(re.findall(r"[A-Za-z_]\w*", " ".join(map(str, call.__annotations__.values()))))
    later = {name: Any for name in spoken - set(call.__globals__) if not hasattr(builtins, name)}
    kinds = typing.get_type_hints(call, localns=later | LATER, include_extras=True)
    kinds.pop("return", None)
    for p in inspect.signature(call).parameters.values():
        if p.kind == p.VAR_KEYWORD:
            kind = kinds.pop(p.name)
            named = typing.get_origin(kind) is typing.Unpack
            kinds |= typing.get_type_hints(typing.get_args(kind)[0]) if named else {ANYTHING: kind}
        elif p.name not in OWN:
            kinds.setdefault(p.name, Any)
    kinds |= {name: Any for name in ("model", "options") if name in kinds}
    return kinds, {name: _plain(kind) for name, kind in kinds.items()} | dict.fromkeys(OWN)


def _plain(kind: Any) -> set[Any] | None:
    """Classes all of whose objects fit a kind; None if whatever there is fits."""
    origin, inner = _parts(kind)
    if origin in (typing.Union, UnionType):
        parts = [_plain(one) for one in _meant(inner)]
        return None if None in parts else {one for part in parts for one in part or ()}
    if origin is Any or not (isinstance(origin, type) or origin in (Literal, *FUNCTIONS, Annotated)):
        return None
    if origin is Literal:
        return {str}
    if origin is SupportsFloat:
        return {float, int}
    if inner or origin in (float, Annotated, *PATHS, *FUNCTIONS):
        return set()
    return {origin}


def entry_of(what: str, entries: Any, at: int | slice) -> Any:
    """An entry of a sequence by its number, or a slice of it."""
    try:
        return entries[at]
    except IndexError:
        raise MissingError(f"there are {len(entries)} {what}, from 0 on, got number {at}") from None


def no_attribute(what: str, name: str, known: Iterable[str], words: Mapping[str, str] = {}) -> AttributeError:
    """What to raise where something is asked for that is not there, with the nearest names that are.

    Args:
        words: what it may be called elsewhere, and what it is here.
    """
    public = [] if name.startswith("_") else [one for one in known if not one.startswith("_")]
    question = f"did you mean {words[name]}?" if name in words else did_you_mean(name, public, 3)
    return AttributeError(f"{what} has no attribute {name!r}; {question}".removesuffix("; "))


class Answering:
    """A class that answers for what it does not have: words of other programs get ours, others the nearest name."""

    _words: ClassVar[Mapping[str, str]] = {}
    _known_as: ClassVar[str] = ""  # in messages; its name otherwise

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if name in dir(kind):
                return object.__getattribute__(self, name)  # raises what its property raised
            raise no_attribute(kind._known_as or kind.__name__, name, dir(kind), kind._words)


def _title(call: Callable[..., Any]) -> str:
    """What messages call a call."""
    return call.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__").removesuffix(".__getitem__")


def _check(call: Callable[..., Any], given: Any, name: str, value: Any) -> None:
    """Refuse a value that does not fit; a class may say by which error."""
    kinds = _kinds(call)[0]
    kind = kinds[name if name in kinds else ANYTHING]
    if not _names(value, kind):
        what, value, kind = _culprit(name, value, kind)
        own = given and next(iter(inspect.signature(call).parameters), "") in OWN
        error = getattr(given[0], "_error", DalembertError) if own else DalembertError
        raise error(f"{_title(call)}: {what} must be {' or '.join(_words(kind))}, got {_shown(value)}")


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value may be of a kind."""
    origin, inner = _parts(kind)
    if origin in (typing.Union, UnionType):
        return any(_fits(value, one) for one in _meant(inner))
    if origin is Annotated:
        return _fits(value, inner[0]) and all(value in bounds for bounds in inner[1:])
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
        return isinstance(value, (str, os.PathLike)) and "\0" not in f"{value}"
    if issubclass(origin, Mapping):
        return isinstance(value, MAPPING) and (
            not inner or all(_names(key, inner[0]) and _fits(one, inner[1]) for key, one in value.items())
        )
    if issubclass(origin, tuple) and inner and inner[-1] is not Ellipsis:
        values = value.tolist() if isinstance(value, ARRAY) else value
        return (
            isinstance(values, SEQUENCE)
            and len(values) == len(inner)
            and all(_names(one, kind) for one, kind in zip(values, inner, strict=True))
        )
    if issubclass(origin, Iterable) and inner:
        return _are(value, inner[0])
    return isinstance(value, origin)


def _meant(inner: tuple[Any, ...]) -> list[Any]:
    """Kinds of a union; beside a path text is one, too."""
    paths = any(_parts(one)[0] in PATHS for one in inner)
    return [one for one in inner if not (paths and one is str)]


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
    try:
        text = reprlib.repr(value)
    except ValueError:  # Python does not write whole numbers of thousands of digits
        text = "<"
    return f"a {type(value).__name__}" if text.startswith("<") else text


def _words(kind: Any) -> list[str]:
    """A kind in words, one for each of a union."""
    origin, inner = _parts(kind)
    if origin in (typing.Union, UnionType):
        hidden = {NoneType, *([str] if any(_parts(one)[0] in (*PATHS, SupportsFloat) for one in inner) else [])}
        words = [
            word
            for one in inner
            if one not in hidden and (one in WORDS or not getattr(one, "_is_protocol", False))
            for word in _words(one)
        ]
        nothing = ["None"] if NoneType in inner and all(one in WORDS for one in inner) else []
        return sorted(words, key=lambda word: "dictionary" not in word) + nothing
    if origin is Annotated:
        return [" ".join([*_words(inner[0]), *map(str, inner[1:])])]
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
    if issubclass(origin, tuple) and inner and inner[-1] is not Ellipsis:
        return [f"({', '.join(_words(one)[0] for one in inner)})"]
    if issubclass(origin, Iterable) and inner:
        return ["names" if inner[0] is str else "numbers" if inner[0] is float else "a list"]
    return [ORIGINS.get(origin.__name__, f"a {origin.__name__}")]


def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A kind without its brackets, and what is in them: ``Mapping``, and ``str`` and ``float``."""
    return typing.get_origin(kind) or kind, typing.get_args(kind)
