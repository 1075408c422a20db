"""The inertia of a rigid body as one 6×6 operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.spatial.pose import Pose, cross_force
from dalembert.spatial.so3 import cross, hat

__all__ = ["Inertia"]


@dataclass(frozen=True)
class Inertia:
    """Rigid-body inertia in a body frame.

    Attributes:
        mass: m (kg).
        com: centre of mass c in the frame (m).
        central: rotational inertia about the centre of mass, in the frame's axes (kg m²), 3×3.
    """

    mass: Any
    com: np.ndarray
    central: np.ndarray

    def apply(self, V: np.ndarray) -> np.ndarray:
        """Momentum  I V = (I_c ω + c × p, p)  with  p = m (v + ω × c)."""
        p = self.mass * (V[3:] + cross(V[:3], self.com))
        return np.concatenate([self.central @ V[:3] + cross(self.com, p), p])

    def bias(self, V: np.ndarray) -> np.ndarray:
        """Gyroscopic wrench  V ×* I V."""
        return cross_force(V, self.apply(V))

    def energy(self, V: np.ndarray) -> Any:
        """Kinetic energy  ½ Vᵀ I V  (J)."""
        return (V @ self.apply(V)) / 2

    def matrix(self, al: Algebra) -> np.ndarray:
        """[[I_c − m ĉ ĉ, m ĉ], [−m ĉ, m 1]]."""
        c = hat(al, self.com)
        m = self.mass
        return np.block([[self.central - m * (c @ c), m * c], [-m * c, m * al.eye(3)]])

    def moved(self, X_AB: Pose) -> Inertia:
        """The same inertia, given in B, seen from A."""
        return Inertia(self.mass, X_AB.apply(self.com), X_AB.R @ self.central @ X_AB.R.T)
