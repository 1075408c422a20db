"""Generalized coordinates: plain numbers q whose rates are the velocities, u = q̇.

The tree of joints is that of relative coordinates. Where a joint's velocities are no rates, as the angular velocity of a
ball, the tree describes it in another way (see ``joints.rated``): by three angles, or by a quaternion and its rates. All
that formulas ask of such a joint, q(joint) and u(joint), stays what it is in all other coordinates.

Reference: docs/theory/generalized-coordinates.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY, Algebra
from dalembert.coordinates.base import PlacedTree, Slot
from dalembert.coordinates.relative import Relative
from dalembert.joints import Joint
from dalembert.joints.rated import Rated
from dalembert.joints.reversed import Reversed
from dalembert.model import Flat
from dalembert.spatial import Pose, euler

__all__ = ["Generalized", "GeneralizedCoordinates", "PlacedGeneralized"]


@dataclass(frozen=True)
class Generalized:
    """Options of generalized coordinates; given wherever the name of coordinates can be.

    Attributes:
        sequence: axes of the three angles of a ball, each about the moved axis, e.g. ``zyx`` or ``zxz``.
    """

    sequence: str = "zyx"


class GeneralizedCoordinates(Relative):
    """Numbers whose rates are the velocities: joint coordinates, positions, angles (or quaternions)."""

    name = "generalized"

    def __init__(self, flat: Flat, options: Generalized | None = None):
        self.options = options or Generalized()
        self.axes = euler.axes_of(self.options.sequence)
        super().__init__(flat)
        self.slot_of_joint = {name: slot for name, slot in self.slot_of_joint.items() if not self._is_rated(slot)}

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        slots, cut = super()._layout()
        return self._slots(
            [(s.body, s.parent, s.joint, s.reversed, joint.nq, joint.nv) for s in slots for joint in [self.joint_at(s)]]
        ), cut

    def described(self, joint: Joint) -> Joint:
        """A joint of the model by numbers whose rates are its velocities."""
        return joint if joint.nq == joint.nv else Rated(joint, self.axes)

    def joint_at(self, slot: Slot) -> Joint:
        assert slot.joint is not None
        joint = self.described(self.nominal_joint(slot.joint).joint)
        return Reversed(joint) if slot.reversed and not is_free(joint) else joint

    def _is_rated(self, slot: Slot) -> bool:
        joint = self.joint_at(slot)
        return isinstance(joint.joint if isinstance(joint, Reversed) else joint, Rated)

    def place(self, al: Algebra, parameters: dict[str, Any]) -> PlacedGeneralized:
        return PlacedGeneralized(self, self._mechanism(al, parameters))


def is_free(joint: Joint) -> bool:
    """True for six numbers (seven with a quaternion) that are the pose of the second body in the first."""
    return isinstance(joint, Rated) and joint.is_free


class PlacedGeneralized(PlacedTree):
    """The tree of joints in an algebra, each by numbers whose rates are its velocities."""

    coordinates: GeneralizedCoordinates
    derives = True

    def _frames(self, slot: Slot) -> tuple[Joint, Pose, Pose]:
        """As in any tree; free joints lead from the parent's own frame to the body's own."""
        assert slot.joint is not None
        placed = self.mechanism.joint(slot.joint)
        joint = self.coordinates.described(placed.joint)
        if is_free(joint):
            return joint, Pose.identity(self.al), Pose.identity(self.al)
        if slot.reversed:
            return Reversed(joint), placed.X_2S, placed.X_1P.inverse()
        return joint, placed.X_1P, placed.X_2S.inverse()

    def derived(self, al: Algebra, t: Any, q: np.ndarray, u: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        found = {}
        for slot, joint in self._rated():
            if not joint.is_free:
                assert slot.joint is not None
                found[slot.joint] = joint.own(al, q[slot.q], u[slot.u])
        return found

    def _rated(self) -> list[tuple[Slot, Rated]]:
        """Joints that are described in another way than the model does."""
        found = []
        for slot, link in zip(self.coordinates.slots, self.links, strict=True):
            joint = link.joint.joint if isinstance(link.joint, Reversed) else link.joint
            if isinstance(joint, Rated):
                found.append((slot, joint))
        return found

    def rigid(self, al: Algebra, q: np.ndarray) -> list[tuple[str, list[Any]]]:
        """|Q|² = 1 of every quaternion."""
        norms = [(slot.body, joint.norms(q[slot.q])) for slot, joint in self._rated()]
        return [(body, values) for body, values in norms if values]

    def _fill(self, q: np.ndarray, u: np.ndarray, body: Callable[[str], Any], joint: Callable[[str], Any]) -> None:
        rated = {slot.body: described for slot, described in self._rated()}
        for slot in self.coordinates.slots:
            described = rated.get(slot.body)
            if described is None:
                q[slot.q], u[slot.u] = joint(slot.joint)  # type: ignore[arg-type]
            elif described.is_free:
                q[slot.q], u[slot.u] = self._free(described, slot, body)
            else:
                q[slot.q], u[slot.u] = described.of_own(*joint(slot.joint))  # type: ignore[arg-type]

    def _free(self, described: Rated, slot: Slot, body: Callable[[str], Any]) -> tuple[np.ndarray, np.ndarray]:
        """Pose and motion of a body in its parent."""
        X_WP, V_P = (Pose.identity(NUMPY), np.zeros(6)) if slot.parent == "ground" else body(slot.parent)
        X_WB, V_B = body(slot.body)
        X = X_WP.inverse() @ X_WB
        q = described.coordinates(NUMPY, X)
        return q, described.rates(NUMPY, q, V_B - X.motion_inverse(V_P))
