"""The contract of a force."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from dalembert.elements import Element, Load, Motion

__all__ = ["Force"]


class Force(Element):
    """Something that does work on the mechanism.

    The contract:
      1. ``loads`` appends to the load; parts that come from ``energy`` are marked conservative, all others are not.
      2. ``energy`` is the potential energy (J); the conservative loads are exactly its negative gradient.
      3. Both are written over ``motion.al``; they never ask for coordinates or formulation.
    """

    kind: str

    @abstractmethod
    def loads(self, motion: Motion, load: Load) -> None: ...

    def energy(self, motion: Motion) -> Any:
        return motion.al.constant(0)
