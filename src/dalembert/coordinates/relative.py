"""Relative coordinates: those of the joints of a spanning tree; the other joints are cut."""

from __future__ import annotations

from dalembert.coordinates.base import Coordinates, Slot
from dalembert.topology import Graph

__all__ = ["Relative"]


class Relative(Coordinates):
    """Joint coordinates. Small systems: a tree has no constraints at all, a loop those of one cut joint."""

    name = "relative"

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        tree = Graph(self.flat).spanning_tree()
        rows: list[tuple[str, str, str | None, bool, int, int]] = []
        for branch in tree.branches:
            joint = self.nominal_joint(branch.joint).joint
            rows.append((branch.body, branch.parent, branch.joint, branch.reversed, joint.nq, joint.nv))
        return self._slots(rows), tree.cut
