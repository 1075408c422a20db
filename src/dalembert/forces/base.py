"""The contract of a force."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import sympy as sp

from dalembert.elements import Element, Load, Motion

__all__ = ["End", "Force"]

# A body, a point of it in the reference configuration (None: its origin), and the frame in which the point is given.
End = tuple[str, tuple[sp.Expr, sp.Expr, sp.Expr] | None, str]


class Force(Element):
    """Something that does work on the mechanism.

    The contract:
      1. ``loads`` appends to the load; parts that come from ``energy`` are marked conservative, all others are not.
      2. ``energy`` is the potential energy (J); the conservative loads are exactly its negative gradient.
      3. Both are written over ``motion.al``; they never ask for coordinates or formulation.
      4. Fields that name bodies, joints and frames have the types ``BodyName``, ``JointName``, ``FrameName``; formulas
         that may name the motion are marked ``MOTION``. What else is wrong, ``check`` reports.

    Attributes:
        balanced: True if every action has its reaction on another of the bodies (or joints) that it names, so that it
            changes no momentum of the whole.
        by_mass: True if it goes with the mass of the body, so that one without mass does not feel it.
        turns: True if it acts by the angle between its two bodies, which ``turned`` tells.
    """

    kind: Any  # a Literal of its own in each class of the catalog
    balanced: ClassVar[bool] = False
    by_mass: ClassVar[bool] = False
    turns: ClassVar[bool] = False

    @property
    def n_switches(self) -> int:
        """How many ``switches`` it has."""
        return 0

    def switches(self, motion: Motion) -> list[Any]:
        """What passes through zero where its law has a kink: steps end there, as where a branch of a formula ends."""
        return []

    @abstractmethod
    def loads(self, motion: Motion, load: Load) -> None: ...

    def energy(self, motion: Motion) -> Any:
        return motion.al.constant(0)

    def in_full(self) -> Force:
        """The same with names of its own, such as its length, written as every formula may write them."""
        return self

    def spread(self, bodies: Sequence[str]) -> list[Force]:
        """The forces that stand for it, given the bodies of the model that it was drawn in."""
        return [self]

    def turned(self, motion: Motion) -> tuple[Any, Any]:
        """The angle between its two bodies, and its rate."""
        raise NotImplementedError

    def ends(self) -> tuple[End, End] | None:
        """The two points between which it is drawn; None draws nothing."""
        return None

    def telescopes(self) -> bool:
        """Whether a cylinder with its rod is drawn between the ends, instead of a coil."""
        return False
