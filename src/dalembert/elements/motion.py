"""What a constraint or a force may ask about the moving mechanism, and how a force answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra
from dalembert.spatial import Pose, RigidInertia
from dalembert.spatial.so3 import cross

__all__ = ["Load", "Motion"]


class Motion(Protocol):
    """The mechanism at one instant, in some algebra (jets give time derivatives of whatever is asked)."""

    al: Algebra

    def evaluate(self, formula: sp.Expr) -> Any:
        """The value of a formula of time, parameters, joint and body motion."""
        ...

    @property
    def chosen(self) -> Mapping[sp.Expr, Any]:
        """What chooses branches of formulas, by the functions whose signs do otherwise."""
        ...

    def body(self, name: str) -> tuple[Pose, np.ndarray]:
        """World pose of a body and its twist in body axes."""
        ...

    def point(self, name: str) -> tuple[str, np.ndarray | None]:
        """Body and place, in its axes, of a named point; None for the origin of a body of this name."""
        ...

    def joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (unwound) and velocities of a joint, whether it is a tree joint or cut."""
        ...

    def lead(self, joint: str) -> Any:
        """How far a joint advances along its axis as it turns about it (m/rad)."""
        ...

    def inertia(self, body: str) -> RigidInertia:
        """Inertia of a body about its origin, in its axes."""
        ...

    def reference(self, body: str) -> Pose:
        """World pose of a body in the reference configuration."""
        ...

    def local_point(self, body: str, point: tuple[sp.Expr, ...], frame: str = "world") -> np.ndarray:
        """A point of the reference configuration, given in ``frame``, in the axes of a body."""
        ...

    def local_axes(self, body: str, frame: str = "world") -> np.ndarray:
        """The axes of ``frame`` in the reference configuration, as columns in the axes of a body."""
        ...


@dataclass
class Load:
    """What a force does: wrenches on bodies and forces on joint coordinates.

    Attributes:
        wrenches: (body, wrench in body axes about the body origin, conservative).
        joint_forces: (joint, force for each velocity, conservative).
    """

    wrenches: list[tuple[str, np.ndarray, bool]] = field(default_factory=lambda: [])
    joint_forces: list[tuple[str, np.ndarray, bool]] = field(default_factory=lambda: [])

    def force_at(self, body: str, X: Pose, point: np.ndarray, force: np.ndarray, conservative: bool) -> None:
        """A force in world axes at a point given in body axes."""
        f = X.R.T @ force
        self.wrenches.append((body, np.concatenate([cross(point, f), f]), conservative))

    def torque_on(self, body: str, X: Pose, torque: np.ndarray) -> None:
        """A torque in world axes, without potential."""
        n = X.R.T @ torque
        self.wrenches.append((body, np.concatenate([n, 0 * n]), False))
