"""XML as plain nodes with line numbers, safe to read from untrusted files.

Document types and entities are refused before anything is expanded, nothing is fetched, and size, depth and number of
elements are bounded. Prefixes such as ``drake:`` stay part of the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from dalembert.errors import ModelError, Problem

__all__ = ["MAX_BYTES", "Node", "parse_xml", "read_bytes"]

MAX_BYTES = 20_000_000
MAX_DEPTH = 200
MAX_NODES = 500_000
_UNQUOTED = 60  # characters of an untrusted text that an error repeats


@dataclass
class Node:
    """One element.

    Attributes:
        where: file and line, e.g. ``robot.urdf:41``.
        file: the file it stands in, for what lies beside it; None for a text.
    """

    tag: str
    attributes: dict[str, str]
    where: str
    file: Path | None = None
    children: list[Node] = field(default_factory=lambda: [])
    text: str = ""

    def all(self, *tags: str) -> list[Node]:
        """Children with one of these tags."""
        return [child for child in self.children if child.tag in tags]

    def first(self, *tags: str) -> Node | None:
        """The first child with one of these tags."""
        return next((child for child in self.children if child.tag in tags), None)

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))

    def get(self, key: str, default: str = "") -> str:
        """An attribute without the spaces around it."""
        return self.attributes.get(key, default).strip()

    @property
    def label(self) -> str:
        """What a person calls it, e.g. ``joint 'knee'``."""
        name = self.get("name")
        return f"{self.tag} {clip(name)!r}" if name else self.tag


def clip(text: str) -> str:
    """What an untrusted file says, short enough to repeat."""
    return text if len(text) <= _UNQUOTED else text[: _UNQUOTED - 3] + "..."


def read_bytes(path: Path) -> bytes:
    """A file, or as much of it as tells that it is too large."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(Problem(f"cannot read {str(path)!r}: {error.strerror or error}")) from None
    if len(raw) > MAX_BYTES:
        message = f"{path.name}: the file is too large; at most {MAX_BYTES // 1_000_000} MB are read"
        raise ModelError(Problem(message, where=path.name))
    return raw


def parse_xml(raw: bytes, name: str, file: Path | None = None) -> Node:
    """The root element of a document.

    Args:
        name: of the file, for errors.
        file: where it lies, if it is a file.

    Raises:
        ModelError: not XML, or XML that a robot file has no use for.
    """
    return _Builder(name, file).parse(raw)


class _Builder:
    """Collects nodes from the events of expat."""

    def __init__(self, name: str, file: Path | None):
        self.name, self.file = name, file
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.root: Node | None = None
        self.open: list[Node] = []
        self.texts: list[list[str]] = []
        self.count = 0
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refusal("a document type (DOCTYPE) is not allowed")
        self.parser.EntityDeclHandler = self._refusal("an ENTITY is not allowed")
        self.parser.ExternalEntityRefHandler = self._refusal("an external entity is not allowed")
        self.parser.SkippedEntityHandler = self._refusal("an entity is not allowed")

    def _refusal(self, message: str) -> Callable[..., NoReturn]:
        """A handler that refuses."""

        def refuse(*_: Any) -> NoReturn:
            self._refuse(message)

        return refuse

    def parse(self, raw: bytes) -> Node:
        try:
            self.parser.Parse(raw, True)
        except expat.ExpatError as error:
            where = f"{self.name}:{error.lineno}"
            reason = expat.errors.messages.get(error.code, "not well formed")
            raise ModelError(Problem(f"{self.name}: cannot be read as XML: {reason}", where=where)) from None
        except (LookupError, UnicodeError, ValueError) as error:
            raise ModelError(Problem(f"{self.name}: cannot be read as XML: {error}", where=self.name)) from None
        if self.root is None:
            raise ModelError(Problem(f"{self.name}: cannot be read as XML: there is no element", where=self.name))
        return self.root

    def _where(self) -> str:
        return f"{self.name}:{self.parser.CurrentLineNumber}"

    def _refuse(self, reason: str) -> NoReturn:
        raise ModelError(Problem(f"{self.name}: {reason} in a robot file", "", "remove it", self._where()))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            self._refuse(f"more than {MAX_NODES} elements are not allowed")
        if len(self.open) >= MAX_DEPTH:
            self._refuse(f"elements nested deeper than {MAX_DEPTH} levels are not allowed")
        node = Node(tag, attributes, self._where(), self.file)
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)
        self.texts.append([])

    def _end(self, tag: str) -> None:
        self.open.pop().text = "".join(self.texts.pop())

    def _text(self, data: str) -> None:
        self.texts[-1].append(data)
