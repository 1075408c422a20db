"""Absolute coordinates: the pose of every body; all joints are constraints."""

from __future__ import annotations

from typing import Any

from dalembert.coordinates.base import Coordinates, Slot

__all__ = ["Absolute"]


class Absolute(Coordinates):
    """Quaternion and position of every body, twists in body axes. Large, sparse, with a block-diagonal mass matrix."""

    name = "absolute"

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        rows: list[Any] = [(body, "ground", None, False, 7, 6) for body in self.flat.bodies]
        cut = tuple(name for name in self.flat.joints if self.nominal_joint(name).joint.nv < 6)
        return self._slots(rows), cut
