"""Attributes that a part has and its whole passes on."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

__all__ = ["PassedOn"]

T = TypeVar("T")


class PassedOn(property, Generic[T]):
    """A property that is an attribute of a part: ``starts = PassedOn[int]("closures.starts", "How many …")``.

    Args:
        path: from the object to the attribute.
        text: the docstring.
    """

    def __init__(self, path: str, text: str):
        super().__init__(attrgetter(path))
        self.__doc__ = text

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type, /) -> Self: ...
        @overload
        def __get__(self, instance: Any, owner: type | None = None, /) -> T: ...
        def __get__(self, instance: Any, owner: type | None = None, /) -> Any: ...
