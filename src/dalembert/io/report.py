"""What a reader of robot files finds: problems that stop it, and notes on what the model does not hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.errors import ModelError, Problem
from dalembert.io.xml_data import Node, clip

__all__ = ["Names", "Report"]

LARGEST = 1e100  # no length, mass or angle is larger; sums of such numbers stay finite
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_ \-]*(\.[A-Za-z_][A-Za-z0-9_ \-]*)*")
_SPACE = re.compile(r"[\s,]+")


class Report:
    """Collects problems and notes, and reads attributes so that a bad one is reported and reading goes on."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._notes: dict[str, list[str]] = {}

    def problem(self, node: Node | None, message: str, fix: str = "") -> None:
        self.problems.append(Problem(f"{message}.", "", fix, "" if node is None else node.where))

    def raise_if_any(self) -> None:
        if self.problems:
            raise ModelError(list(dict.fromkeys(self.problems)))

    def note(self, what: str, name: str = "") -> None:
        """Something that is left out; notes on the same thing become one, with the names."""
        names = self._notes.setdefault(what, [])
        if name and name not in names:
            names.append(name)

    @property
    def notes(self) -> list[str]:
        """One line for each thing, with all names."""
        return [
            f"{what}: {', '.join(clip(name) for name in names)}" if names else what
            for what, names in self._notes.items()
        ]

    def unread(self, node: Node, known: Iterable[str], what: str = "attributes not read") -> None:
        """Note every attribute that is not in the list."""
        for key in node.attributes:
            if key not in known:
                self.note(f"{node.tag} {what}", key)

    def unread_children(self, node: Node, known: Iterable[str]) -> None:
        """Note every child element that is not in the list."""
        for child in node.children:
            if child.tag not in known:
                self.note(f"elements of {node.tag} not read", child.tag)

    # Attributes

    def numbers(self, node: Node, key: str) -> list[float] | None:
        """All numbers of an attribute, or None if there is none or it is wrong."""
        text = node.attributes.get(key)
        return None if text is None else self.numbers_of(node, f"{node.label}: {key}", text)

    def numbers_of(self, node: Node, title: str, text: str) -> list[float] | None:
        """All numbers of a text."""
        values: list[float] = []
        for part in _SPACE.split(text.strip()) if text.strip() else []:
            try:
                value = float(part) if "_" not in part else math.nan
            except ValueError:
                value = math.nan
            if not abs(value) < LARGEST:
                self.problem(node, f"{title}: expected finite numbers, got {clip(part)!r}")
                return None
            values.append(value)
        return values

    def vector(self, node: Node | None, key: str, size: int, default: Any = None) -> Any:
        """An array of ``size`` numbers; the default if it is missing or wrong."""
        values = None if node is None else self.numbers(node, key)
        if values is None:
            return None if default is None else np.array(default, dtype=float)
        if node is not None and len(values) != size:
            self.problem(node, f"{node.label}: {key}: expected {size} numbers, got {len(values)}")
            return None if default is None else np.array(default, dtype=float)
        return np.array(values)

    def number(self, node: Node | None, key: str, default: Any = None) -> Any:
        """One number; the default if it is missing or wrong."""
        values = self.vector(node, key, 1)
        return default if values is None else float(values[0])

    def text(self, node: Node, key: str) -> str:
        """A text that must be there."""
        value = node.get(key)
        if not value:
            self.problem(node, f"{node.label}: {key} is missing", f'{key}="…"')
        return value

    def flag(self, node: Node, key: str, default: bool) -> bool:
        """true or false."""
        value = node.get(key)
        if value not in ("", "true", "false"):
            self.problem(node, f"{node.label}: {key} must be true or false, got {clip(value)!r}")
        return default if not value else value == "true"


class Names:
    """Names of a file as names of a model: letters, digits, _, - and spaces, a letter first, each used once.

    Args:
        reserved: names that the model keeps for itself.
    """

    def __init__(self, report: Report, what: str, reserved: tuple[str, ...] = ()):
        self.report, self.what, self.reserved = report, what, reserved
        self.taken: set[str] = set(reserved)

    def new(self, given: str) -> str:
        """A free name, as close to the given one as may be; a change is noted."""
        name = given if _NAME.fullmatch(given) and len(given) <= 180 else _spelled(given)
        if name in self.reserved:
            name = f"{name}_link"
        free, i = name, 2
        while free in self.taken:
            free, i = f"{name}_{i}", i + 1
        self.taken.add(free)
        if free != given and given:
            self.report.note(f"{self.what} renamed", f"{clip(given)} → {free}")
        return free


def _spelled(given: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_ \-]", "_", given)[:180]
    return text if re.match(r"[A-Za-z_]", text) else f"_{text}"
