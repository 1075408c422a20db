"""The contract of a constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import sympy as sp
from pydantic import Field

from dalembert.elements import Element, Motion

__all__ = ["Constraint"]


class Constraint(Element):
    """Equations between coordinates that no joint imposes.

    The contract:
      1. ``position`` returns holonomic residuals φ, ``velocity`` nonholonomic residuals ψ, linear in velocities.
      2. Both are written over ``motion.al``; their time derivatives come from jets.
      3. Whether it acts is not its own business: the equations of one that is off are multiplied by zero.
      4. Fields that name joints have the type ``JointName``; formulas that may name more than parameters are marked
         with what they may name (``dalembert.elements.allowed``). What else is wrong, ``check`` reports.

    Attributes:
        eliminates: True if the coordinates that it ``gives`` are no unknowns of generalized coordinates.
        pulls: its multiplier is a tension: where that is negative, what is real lets go.
    """

    kind: Any  # a Literal of its own in each class of the catalog
    eliminates: ClassVar[bool] = False
    pulls: ClassVar[bool] = False
    active: bool = Field(True, description="acts from the start; events can switch it")

    def gives(self) -> list[tuple[str, int, sp.Expr]]:
        """Coordinates (joint, index) that it gives as formulas of time and of other coordinates."""
        return []

    @property
    def places(self) -> str | None:
        """A massless body that is where it says, if it says so."""
        return None

    @property
    def wheels(self) -> list[int]:
        """Which of its points are centers of wheels, which must stay in one plane with what is next to them."""
        return []

    @property
    def n_switches(self) -> int:
        """How many ``switches`` it has."""
        return 0

    def switches(self, motion: Motion) -> list[Any]:
        """What chooses branches of formulas in terms of its own, which no formula of the model can write."""
        return []

    def position(self, motion: Motion) -> list[Any]:
        return []

    def velocity(self, motion: Motion) -> list[Any]:
        return []

    def normal_force(self, motion: Motion, multiplier: Any) -> Any:
        """The force (N, N m) that the multiplier of its first equation stands for."""
        return multiplier

    def path(self) -> list[tuple[str, Any, str]]:
        """Points (body, point, frame) between which it is drawn: straight, or over the wheels that it ``wraps``."""
        return []

    def wraps(self) -> tuple[Sequence[sp.Expr], Sequence[sp.Expr]] | None:
        """Signed radii of wheels at the points of its path, and their axis; None if there are none."""
        return None

    def loop(self) -> list[tuple[str, sp.Expr]]:
        """Joints of the wheels, with signed radii, around which it is drawn as a closed belt."""
        return []

    def switched(self, residuals: list[Any], on: Any) -> list[Any]:
        """Its residuals where it can be off; ``on`` is 1 or 0."""
        return [residual * on for residual in residuals]
