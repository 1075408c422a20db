"""What models and planar mechanisms have in common: elements in sections, which are checked and written as data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from dalembert.arguments import public_methods
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.model.fields import put

__all__ = ["Described"]


@public_methods
class Described(ABC):
    """A mechanism as lists of elements, each in its section."""

    t = TIME
    _error = ModelError  # of public calls
    _sections: ClassVar[tuple[str, ...]]

    def append(self, section: str, element: Any, source: str | None = None) -> Any:
        """Add an element made elsewhere, as the file readers do."""
        return put(self, self._sections, section, element, source)

    def validate(self) -> None:
        """Raise one ModelError that lists everything that is wrong."""
        found = self._problems()
        if found:
            raise ModelError(found)

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """The mechanism as plain dictionaries, lists, numbers and texts."""

    @abstractmethod
    def _problems(self) -> list[Problem]: ...
