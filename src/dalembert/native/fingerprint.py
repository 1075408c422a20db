"""What machine code depends on: the code of a function, of all it calls, and the constants they use.

Made from compiled Python code, so that nothing is read or parsed where the machine code is already in the cache.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import sys
import types as python_types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.native.library import is_own, own
from dalembert.native.types import Array, Closure, Pointer, Tuple, Type
from dalembert.values import ARRAY, TUPLE

__all__ = ["fingerprint", "kind_text", "plain_constants", "translator_version"]

_known: dict[Any, str] = {}
_PLAIN: tuple[type[Any], ...] = (bool, int, float, complex, str, np.generic)


@functools.cache
def translator_version() -> str:
    """Changes with the translator itself and with the version of Python."""
    digest = hashlib.sha256(f"{sys.version_info[:3]} {sys.implementation.cache_tag}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(function: Any, places: bool = False) -> str:
    """A digest of a native function, of what it calls, and of the constants in them; ``places``: and of their lines."""
    return _digest(function.python, places, ())


def _digest(python: Any, places: bool, callers: tuple[Any, ...]) -> str:
    found = _known.get((python, places))
    if found is None:
        text = "|".join(_parts(python, places, (*callers, python)))
        found = _known[python, places] = hashlib.sha256(text.encode()).hexdigest()
    return found


def _parts(python: Any, places: bool, callers: tuple[Any, ...]) -> Iterator[str]:
    code = python.__code__
    yield from (str(python.__module__), python.__qualname__, code.co_code.hex(), repr(plain_constants(code)))
    yield from (repr(code.co_names), repr(code.co_varnames), repr(python.__annotations__))
    if places:
        yield f"{code.co_filename}:{code.co_firstlineno}:{code.co_linetable.hex()}"
    used = _Used(code.co_names, places, callers)
    yield _describe(python.__defaults__, used)
    scope = dict(zip(code.co_freevars, (cell.cell_contents for cell in python.__closure__ or ()), strict=True))
    for name in (*code.co_names, *code.co_freevars):
        value = scope.get(name, python.__globals__.get(name, getattr(builtins, name, None)))
        yield f"{name}={_describe(value, used)}"


class _Used(NamedTuple):
    """Where a value is used: names that the code has, whether places count, the function and those that call it."""

    names: tuple[str, ...]
    places: bool
    callers: tuple[Any, ...]


def _describe(value: Any, used: _Used) -> str:
    """A constant's value; of functions and modules what is used of them."""
    if is_own(value):
        value = own(value)
    if hasattr(value, "python") and hasattr(value, "key"):
        python = value.python
        digest = "itself" if python in used.callers else _digest(python, used.places, used.callers)
        return f"{value.key} {digest} {getattr(value, 'manner', '')}"
    if isinstance(value, ARRAY):
        return f"{value.dtype}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, TUPLE):
        return f"({', '.join(_describe(item, used) for item in value)})"
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, type) and hasattr(value, "fields"):
        return class_text(value)
    home = getattr(value, "__name__" if isinstance(value, python_types.ModuleType) else "__module__", None) or ""
    # math.floor and np.floor share a name; functions of old NumPy have no other.
    text = f"{home} {type(value).__name__} {getattr(value, '__qualname__', getattr(value, '__name__', ''))}"
    if isinstance(value, type | python_types.ModuleType) and home.partition(".")[0] not in (
        "builtins",
        "numpy",
        "math",
    ):
        for name in used.names:
            if hasattr(value, name):
                others = tuple(other for other in used.names if other != name)
                text += f",{name}={_describe(getattr(value, name), used._replace(names=others))}"
        text += repr(getattr(value, "_fields", ())) + _describe_defaults(value, used)
    return text


def _describe_defaults(value: Any, used: _Used) -> str:
    """What a named tuple is filled up with."""
    return _describe(tuple(getattr(value, "_field_defaults", {}).items()), used._replace(names=()))


def plain_constants(code: python_types.CodeType) -> tuple[Any, ...]:
    """The constants of a code, with a text in place of other codes."""
    return tuple(c.co_code.hex() if isinstance(c, python_types.CodeType) else c for c in code.co_consts)


def class_text(cls: Any) -> str:
    """A class of records or outputs, with its fields and those of all records that it refers to."""
    seen: dict[Any, str] = {}
    waiting = [cls]
    while waiting:
        found = waiting.pop()
        if found in seen:
            continue
        slots = getattr(found, "slot_of", {})
        items = "; ".join(f"{slots.get(name, '')} {item}" for name, item in found.fields.items())
        seen[found] = f"{found.__module__}.{found.__qualname__}({items})"
        for item in found.fields.values():
            kinds = (item.kind, *item.kind.arguments) if isinstance(item.kind, Closure) else (item.kind,)
            waiting += [kind.cls for kind in kinds if isinstance(kind, Pointer | Tuple) and hasattr(kind.cls, "fields")]
    return " ".join(seen.values())


def kind_text(kind: Type) -> str:
    """A type, with all that machine code depends on."""
    match kind:
        case Pointer():
            return class_text(kind.cls)
        case Tuple():
            name = f"{kind.cls.__module__}.{kind.cls.__qualname__}{kind.names}" if kind.cls is not None else ""
            return f"{name}({', '.join(kind_text(item) for item in kind.items)})"
        case Array() | Closure():
            return repr(kind) if isinstance(kind, Array) else f"{kind.arguments!s} -> {kind.result}"
    return str(kind)
