"""What an element may ask while it is checked, and how it reports what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import sympy as sp

__all__ = ["Site", "Sizes", "check_two_bodies"]


@dataclass(frozen=True)
class Sizes:
    """Number of coordinates and velocities of a joint, and where its quaternions begin."""

    nq: int
    nv: int
    quaternions: tuple[int, ...] = ()

    def in_quaternion(self, index: int) -> bool:
        return any(start <= index < start + 4 for start in self.quaternions)


class Site(Protocol):
    """An element at its place in the model: other elements in reach, and values at nominal parameters.

    Fields are named as in a file: ``bodies[0]``, ``custom.measure``. A check that takes a field reports there.
    """

    def report(self, field: str, message: str, fix: str = "") -> None:
        """Say what is wrong with a field, e.g. ``report("ratio", "ratio must not be zero, got 0", "e.g. 2")``."""
        ...

    def value(self, formula: sp.Expr | None) -> float | None:
        """A formula of parameters at their nominal values, or None where it has no finite one."""
        ...

    def along(self, formula: sp.Expr, name: str, points: Iterable[float]) -> list[float] | None:
        """A formula that names something besides parameters, at several values of that; None if any is not finite."""
        ...

    def vector(self, formulas: Iterable[sp.Expr] | None) -> list[float] | None:
        """Several formulas, or None if any has no finite value."""
        ...

    def is_joint(self, name: str) -> bool: ...

    def sizes(self, joint: str) -> Sizes | None:
        """Sizes of a joint in reach, or None where they are not known."""
        ...

    def bearing(self, joint: str) -> Any:
        """How a joint in reach rubs (see ``elements.bearing``); empty if it does not, None where it is not known."""
        ...

    def check_coordinate(self, field: str, joint: str, index: int = 0) -> bool:
        """The coordinate of a joint must be an angle or a displacement; False if there is none."""
        ...

    def check_index(self, field: str, joint: str, index: int, what: Literal["coordinates", "velocities"]) -> None:
        """The joint must have so many coordinates or velocities."""
        ...


def check_two_bodies(site: Site, bodies: tuple[str, str], what: str = "act between") -> None:
    """Report an element that names one body twice."""
    if bodies[0] == bodies[1]:
        message = f"must {what} two different bodies, got {bodies[0]!r} twice"
        site.report("bodies", message, "name another body, or ground")
