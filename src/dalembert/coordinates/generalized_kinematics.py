"""The tree of joints in generalized coordinates, in an algebra."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import NUMPY, Algebra
from dalembert.coordinates.base import Slot, TreeKinematics
from dalembert.errors import ModelError
from dalembert.joints import Joint
from dalembert.joints.rated import Rated
from dalembert.joints.reversed import Reversed
from dalembert.model import Mechanism
from dalembert.spatial import Pose

if TYPE_CHECKING:
    from dalembert.coordinates.generalized import GeneralizedCoordinates

__all__ = ["GeneralizedKinematics", "is_free", "rated"]

# Nearer to a singularity than this (cos or sin of the middle angle) half of the digits of the rates are lost.
SINGULAR = 1e-8


def rated(joint: Joint) -> Rated | None:
    """The joint if it is described in another way than the model does, whichever way it is traversed."""
    joint = joint.joint if isinstance(joint, Reversed) else joint
    return joint if isinstance(joint, Rated) else None


def is_free(joint: Joint) -> bool:
    """True for the pose of the second body in the first by plain numbers."""
    return isinstance(joint, Rated) and joint.is_free


class GeneralizedKinematics(TreeKinematics):
    """The tree of joints, each by numbers whose rates are its velocities.

    Args:
        own: joints whose own coordinates are entries of q; by default those that the coordinates name so.
    """

    coordinates: GeneralizedCoordinates
    derives = True

    def __init__(self, coordinates: GeneralizedCoordinates, mechanism: Mechanism, own: Container[str] | None = None):
        self._own = coordinates.slot_of_joint if own is None else own
        super().__init__(coordinates, mechanism)

    def _armature(self, slot: Slot) -> Any:
        """Rotors of joints whose own velocities are among the rates; others act along them from outside."""
        return super()._armature(slot) if (slot.joint or "") in self._own else None

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

    def _rated(self) -> list[tuple[Slot, Rated]]:
        joints = ((slot, rated(link.joint)) for slot, link in zip(self.coordinates.slots, self.links, strict=True))
        return [(slot, joint) for slot, joint in joints if joint is not None]

    def derived(self, al: Algebra, t: Any, q: np.ndarray, u: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for slot, joint in self._rated():
            if not joint.is_free:
                assert slot.joint is not None
                found[slot.joint] = joint.own(al, q[slot.q], u[slot.u])
        return found

    def rigid(self, al: Algebra, q: np.ndarray) -> list[tuple[str, list[Any]]]:
        """|Q|² = 1 of every quaternion."""
        norms = [(slot.body, joint.norms(q[slot.q])) for slot, joint in self._rated()]
        return [(body, values) for body, values in norms if values]

    def quasi_velocities(self, t: Any, q: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Names, Y and Z of  u = Y(t, q) q̇ + Z(t, q)."""
        from dalembert.coordinates.generalized_velocities import quasi_velocities

        return quasi_velocities(self.coordinates, self, t, q)

    def fill(self, q: np.ndarray, u: np.ndarray, body: Callable[[str], Any], joint: Callable[[str], Any]) -> None:
        described = {slot.body: found for slot, found in self._rated()}
        for slot in self.coordinates.slots:
            assert slot.joint is not None
            how = described.get(slot.body)
            if how is None:
                q[slot.q], u[slot.u] = joint(slot.joint)
                continue
            q[slot.q], u[slot.u] = _pose(how, slot, body) if how.is_free else how.of_own(*joint(slot.joint))
            for at in how.balls:
                self._refuse_singular(slot, how, q[slot.q][at])

    def _refuse_singular(self, slot: Slot, joint: Rated, q: np.ndarray) -> None:
        if joint.steepness(q) < SINGULAR:
            if joint.rotations != "angles":
                raise ModelError(
                    f"joint {slot.joint!r}: rotations={joint.rotations!r} is singular where body {slot.body!r} starts. "
                    f" Fix: coordinates=da.Generalized(rotations='quaternions')"
                )
            sequence = "".join("xyz"[axis] for axis in joint.axes)
            raise ModelError(
                f"joint {slot.joint!r}: the angles {sequence} are singular where body {slot.body!r} starts (the second "
                f"is {q[1]:.6g} rad): their rates are not known there.  Fix: coordinates=da.Generalized(sequence="
                f"'{'zxz' if sequence[0] != sequence[2] else 'zyx'}'), or rotations='quaternions'"
            )


def _pose(joint: Rated, slot: Slot, body: Callable[[str], Any]) -> tuple[np.ndarray, np.ndarray]:
    """Pose and motion of a body in its parent."""
    X_WP, V_P = (Pose.identity(NUMPY), np.zeros(6)) if slot.parent == "ground" else body(slot.parent)
    X_WB, V_B = body(slot.body)
    X = X_WP.inverse() @ X_WB
    q = joint.coordinates(NUMPY, X)
    return q, joint.rates(NUMPY, q, V_B - X.motion_inverse(V_P))
