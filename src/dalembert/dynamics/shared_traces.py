"""What equal models share: traces and kernels, made once in each thread, however often a model is built."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

from dalembert.formulations import BlockFormulation, Formulation

__all__ = ["Made", "SharedTraces", "made_by_formulation", "made_for", "made_of_blocks", "made_once"]

MOST_SHARED = 32  # models with coordinates, in each thread; some MB each at most

# Threads may use the same equations; CasADi builds one graph at a time.
_making = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A process that is forked while another thread traces would wait for that thread, which it does not have.
    os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)

T = TypeVar("T")
Made_co = TypeVar("Made_co", covariant=True)
Made = dict[Any, Any]


class made_once(Generic[Made_co]):
    """A property that is kept in ``made`` of its object, which others may share.

    Args:
        make: the method that makes it.
        maker: whose work it is: others with an equal maker share it.
    """

    def __init__(self, make: Callable[[Any], Made_co], maker: Callable[[Any], Any] = lambda owner: None):
        self.make, self.maker, self.name, self.__doc__ = make, maker, make.__name__, make.__doc__

    @overload
    def __get__(self, owner: None, kind: Any = None) -> made_once[Made_co]: ...
    @overload
    def __get__(self, owner: object, kind: Any = None) -> Made_co: ...
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        value, cls = self._shared(owner), cast(Any, type(owner))
        if getattr(cls, self.name, None) is self:
            vars(owner)[self.name] = value  # found there from now on, without coming here
        return value

    def _shared(self, owner: Any) -> Any:
        maker, known = self.maker(owner), owner.made.setdefault(self.name, [])
        for one, value in known:
            if one == maker:
                return value
        with _making:
            for one, value in known:
                if one == maker:
                    return value  # another thread was quicker
            value = self.make(owner)
            known.append((maker, value))
            return value


def made_for(owner: Any, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """What is made once for a key, such as the name of a body, and kept in ``made`` likewise."""
    if key not in owner.made:
        with _making:
            if key not in owner.made:
                owner.made[key] = make()
    return owner.made[key]


def made_by_formulation(make: Callable[[Any], T]) -> made_once[T]:
    """Each formulation makes its own."""
    return made_once(make, lambda owner: owner.formulation)


def made_of_blocks(make: Callable[[Any], T]) -> made_once[T]:
    """Made of the formulation's blocks; those of the canonical equations are the same for all that take them."""
    return made_once(make, lambda owner: _whose_blocks(owner.formulation))


def _whose_blocks(formulation: Formulation) -> Any:
    usual = type(formulation).blocks is BlockFormulation.blocks
    return BlockFormulation if usual else formulation


class SharedTraces(threading.local):
    """The latest models of a thread, by all their data, and what was made of each in some coordinates."""

    def __init__(self) -> None:
        self.kept: list[tuple[tuple[Any, ...], Made]] = []

    def knows(self, contents: tuple[Any, ...]) -> bool:
        """Whether a model with these data is among them."""
        return any(asked[0] == contents for asked, _ in self.kept)

    def of(self, contents: tuple[Any, ...], *how: Any) -> Made:
        """What was made of an equal model, in the same way."""
        asked = (contents, how, os.environ.get("DALEMBERT_OPTIMIZE"))
        fresh: tuple[tuple[Any, ...], Made] = (asked, {})
        found = next((one for one in self.kept if one[0] == asked), fresh)
        # The last one used comes first.
        self.kept = [found, *(one for one in self.kept if one is not found)][:MOST_SHARED]
        return found[1]
