"""Recursive elimination on a tree: articulated bodies, cost linear in the number of bodies."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.errors import ModelError
from dalembert.formulations.base import Formulation, Support
from dalembert.formulations.equations import Equations

__all__ = ["Recursive"]


class Recursive(Formulation):
    """u̇ by one pass outward, one inward and one outward over the tree; no mass matrix is formed.

    Reference: D. S. Bae, E. J. Haug, parts I and II; R. Featherstone, "Rigid Body Dynamics Algorithms", ch. 7.
    """

    name: ClassVar[str] = "recursive"
    title: ClassVar[str] = "Recursive elimination"
    explicit: ClassVar[bool] = True

    @classmethod
    def supports(cls) -> Support:
        return Support(
            closed_loops=False,
            redundant_constraints=False,
            nonholonomic=False,
            rheonomic=False,
            coordinates=("relative",),
        )

    def matrix(self, M: np.ndarray, A: np.ndarray) -> None:
        """Joints are eliminated one by one."""
        return None

    def blocks(self, equations: Equations) -> dict[str, np.ndarray]:
        try:
            return {"acceleration": equations.free_acceleration()}
        except ZeroDivisionError:
            raise ModelError(
                "some joint moves nothing that has mass or inertia, so its acceleration is undetermined.  "
                "Fix: give the bodies at the tips of the tree mass and inertia"
            ) from None
