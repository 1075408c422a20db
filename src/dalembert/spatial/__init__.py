"""Rotations, poses, screws and inertia, written once over the algebra.

Monogram notation: ``X_AB`` is the pose of frame B in frame A; adjacent letters cancel in ``X_AB @ X_BC``.
Six-vectors are angular first: twist (ω, v), wrench (n, f). Quaternions are scalar first (w, x, y, z).
"""

from dalembert.spatial import euler, quaternion, se3, so3
from dalembert.spatial.inertia import ArticulatedInertia, Inertia, RigidInertia
from dalembert.spatial.pose import Pose

__all__ = ["ArticulatedInertia", "Inertia", "Pose", "RigidInertia", "euler", "quaternion", "se3", "so3"]
