"""Custom joint: the user's own motion, given by functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.errors import ModelError
from dalembert.joints.base import Joint, twist_of_jets
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion

__all__ = ["Custom"]


class Custom(Joint):
    """A joint whose pose is any smooth function of its coordinates, such as a cam or a guide along a curve.

    Subspace and bias follow from the pose by jets. The constraint side is given by ``equations`` of the relative pose
    and needs ``measure`` (coordinates from a pose) only where coordinates are asked for.
    """

    kind = "custom"

    def __init__(
        self,
        n: int,
        pose: Callable[[Algebra, np.ndarray], Pose],
        equations: Callable[[Algebra, Pose], list[Any]] | None = None,
        measure: Callable[[Algebra, Pose], np.ndarray] | None = None,
        name: str = "custom",
    ):
        self.nq = self.nv = n
        self._pose, self._equations, self._measure, self._name = pose, equations, measure, name

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return self._pose(al, q)

    def _moving(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        jets = Jets(al)
        return twist_of_jets(jets, self._pose(jets, jets.jets(q, u, al.zeros(self.nq))))

    def subspace(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        return al.columns(lambda u: self._moving(al, q, u)[0], self.nv)

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self._moving(al, q, u)[1]

    def subspace_rate(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        # Ṡ(u) w + Ṡ(w) u by the accelerations along u + w, u and w;  Ṡ(u) w − Ṡ(w) u = −(S u) × (S w).
        S, c = self.subspace(al, q), self.bias(al, q, u)
        V, columns = S @ u, []
        for w, s in zip(al.eye(self.nv), S.T, strict=True):
            both = self.bias(al, q, u + w) - c - self.bias(al, q, w)
            columns.append((both - cross_motion(V, s)) / 2)
        return np.stack(columns, axis=1)

    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        if self._equations is None:
            raise ModelError(
                f"joint {self._name!r}: a custom joint without 'equations' cannot close a loop and cannot be used in "
                f"absolute or natural coordinates. Fix: give its {6 - self.nv} equations of the relative pose."
            )
        return self._equations(al, X)

    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        if self._measure is None:
            raise ModelError(
                f"joint {self._name!r}: the coordinates of a custom joint cannot be measured from a pose. "
                f"Fix: give 'measure', {self.nq} formulas of the relative pose."
            )
        return self._measure(al, X)
