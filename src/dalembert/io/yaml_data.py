"""YAML as plain data with line numbers, safe to read from untrusted files.

Events of ruamel.yaml are turned into dictionaries, lists and scalars by hand: no tag makes an object, nothing
is expanded, and depth and number of values are bounded while reading. Scalars follow the core schema of YAML
1.2 (``yes`` is a text).
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from dalembert.errors import ModelError, Problem
from dalembert.model.validate import printable
from dalembert.values import DICT, LIST

__all__ = ["MAX_DEPTH", "MAX_NODES", "Parsed", "decode", "parse_yaml", "scalar"]

MAX_BYTES = 2_000_000
MAX_DEPTH = 50
MAX_NODES = 200_000
MAX_DIGITS = 310  # of a whole number; no double is larger
_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {_TAG + name for name in ("str", "int", "float", "bool", "null")}
_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE, _FALSE = {"true", "True", "TRUE"}, {"false", "False", "FALSE"}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL, _HEX = re.compile(r"0o[0-7]+"), re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass
class Parsed:
    """Plain data, the line of every path, how many values there are, and what is wrong."""

    data: Any = None
    lines: dict[str, str] = field(default_factory=lambda: {})
    nodes: int = 0
    problems: list[Problem] = field(default_factory=lambda: [])


def decode(raw: bytes, name: str) -> str:
    """The text of a file, which must be UTF-8 and not too long."""
    if len(raw) > MAX_BYTES:
        raise ModelError(Problem(f"{name}: the file is too large; at most {MAX_BYTES // 1000} kB are read", where=name))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ModelError(
            Problem(f"{name}: the file is not UTF-8 text", "", "save it as UTF-8", f"{name}:{line}")
        ) from None


def scalar(text: str) -> Any:
    """The value of a plain scalar.

    Raises:
        ValueError: for infinities, not-a-number and numbers beyond a double.
    """
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text) or _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError("a number is too large")
        return int(text, 10 if _INT.fullmatch(text) else 0)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("a number is too large")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"expected a finite number, got {text}")
    return text


@dataclass
class _Open:
    """A list or mapping that is being read."""

    value: Any
    path: str
    key: str | None = None  # of the value that comes next
    waiting: bool = False  # True once the key is there
    skip: bool = False  # the value of a key that cannot be used


class _Builder:
    def __init__(self, name: str):
        self.name = name
        self.result = Parsed(lines={"": f"{name}:1"})
        self.stack: list[_Open] = []
        self.documents = 0

    def report(self, line: int, path: str, message: str, fix: str = "") -> None:
        self.result.problems.append(Problem(f"{message}.", path, fix, f"{self.name}:{line}"))

    def stop(self, line: int, message: str, fix: str = "") -> ModelError:
        self.report(line, self.stack[-1].path if self.stack else "", message, fix)
        return ModelError(self.result.problems)

    def take(self, event: Any) -> None:
        line: int = event.start_mark.line + 1
        if isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self.stack.pop()
        elif isinstance(event, DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.stop(line, "the file holds several documents; a model is one", "remove the line ---")
        elif isinstance(event, AliasEvent):
            raise self.stop(
                line, f"aliases such as *{str(cast(Any, event.anchor))[:60]} are not read", "write the value out"
            )
        elif isinstance(event, (ScalarEvent, MappingStartEvent, SequenceStartEvent)):
            self.node(event, line)

    def node(self, event: Any, line: int) -> None:
        self.result.nodes += 1
        if self.result.nodes > MAX_NODES:
            raise self.stop(line, f"more than {MAX_NODES} values in one file", "build large models in Python")
        parent = self.stack[-1] if self.stack else None
        if parent is not None and isinstance(parent.value, DICT) and not parent.waiting:
            self.take_key(parent, event, line)
            return
        path = self.path_of(parent)
        if isinstance(event, ScalarEvent):
            self.put(parent, self.scalar(event, line, path), path, line)
            return
        value: Any = {} if isinstance(event, MappingStartEvent) else []
        expected = _TAG + ("map" if isinstance(event, MappingStartEvent) else "seq")
        if event.tag not in (None, "!", expected):
            raise self.stop(line, f"the tag {_clip(event.tag)} is not read", "remove it; plain YAML is enough")
        if len(self.stack) >= MAX_DEPTH:
            raise self.stop(line, f"nested deeper than {MAX_DEPTH} levels")
        self.put(parent, value, path, line)
        self.stack.append(_Open(value, path))

    def take_key(self, parent: _Open, event: Any, line: int) -> None:
        parent.waiting, parent.skip = True, True
        parent.key = "?"
        if not isinstance(event, ScalarEvent):
            raise self.stop(line, "a key must be a text, got a list or mapping")
        key = self.scalar(event, line, parent.path)
        parent.key = key if isinstance(key, str) else str(cast(Any, event.value))[:60]
        path = self.path_of(parent)
        if not isinstance(key, str):
            self.report(line, path, f"the key {parent.key} must be a text", f'"{parent.key}":')
        elif key == "<<":
            raise self.stop(line, "merge keys << are not read", "write the fields out")
        elif key in parent.value:
            self.report(line, path, f"the key {_clip(key)!r} is given twice", "remove one of them")
        else:
            parent.skip = False
            self.result.lines[path] = f"{self.name}:{line}"

    def path_of(self, parent: _Open | None) -> str:
        if parent is None:
            return ""
        if isinstance(parent.value, LIST):
            return f"{parent.path}[{len(parent.value)}]"
        key = _clip(parent.key)
        return f"{parent.path}.{key}" if parent.path else key

    def put(self, parent: _Open | None, value: Any, path: str, line: int) -> None:
        if parent is None:
            self.result.data = value
            self.result.lines[""] = f"{self.name}:{line}"
        elif isinstance(parent.value, LIST):
            parent.value.append(value)
            self.result.lines[path] = f"{self.name}:{line}"
        else:
            if not parent.skip:
                parent.value[parent.key] = value
            parent.waiting = False

    def scalar(self, event: ScalarEvent, line: int, path: str) -> Any:
        text, tag = cast(str, event.value), cast(str | None, event.tag)
        if tag not in (None, "!") and tag not in _SCALAR_TAGS:
            raise self.stop(line, f"the tag {_clip(tag)} is not read", "remove it; plain YAML is enough")
        if not printable(text):
            self.report(line, path, "control characters are not allowed in texts", "remove them")
            return ""
        plain = event.style is None and tag is None
        if not plain and (tag in (None, "!") or tag == _TAG + "str"):
            return text
        try:
            return scalar(text)
        except ValueError as error:
            self.report(line, path, str(error), "give a finite number")
            return 0


def _clip(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def parse_yaml(text: str, name: str) -> Parsed:
    """Plain data from YAML; what can be read around is collected, what cannot raises ModelError."""
    builder = _Builder(name)
    yaml = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of future changes in ruamel.yaml, which are no concern of a model's author
            for event in yaml.parse(text):
                builder.take(event)
    except MarkedYAMLError as error:
        reported = cast(Any, error)  # of what ruamel.yaml says there are no types
        mark = reported.problem_mark or reported.context_mark
        line = 1 if mark is None else mark.line + 1
        reason = " ".join(str(part) for part in (reported.context, reported.problem) if part)
        raise builder.stop(
            line, f"this is not YAML: {_clip_long(reason)}", "check indentation, colons, quotes"
        ) from None
    except (
        YAMLError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # The scanner fails in ways of its own on bytes that no person wrote.
        raise builder.stop(1, f"this is not YAML: {_clip_long(str(error) or type(error).__name__)}") from None
    return builder.result


def _clip_long(text: str) -> str:
    text = " ".join(text.split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 200 else text[:197] + "..."
