"""Recursive elimination: articulated bodies, cost linear in the number of bodies; cut joints by their multipliers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, mechanism_of
from dalembert.errors import ModelError
from dalembert.formulations.base import Formulation, Support
from dalembert.tree.recursions import articulated

__all__ = ["Recursive"]

# Pivots of the inertia that a joint moves, below this fraction of the largest: none.
LIGHT = 1e-12

# Bodies up to which that is looked at before the first run.
MOST_CHECKED = 300


def _pivots(D: np.ndarray) -> np.ndarray:
    """Pivots of a symmetric matrix scaled to a diagonal of 1."""
    size = np.sqrt(np.abs(np.diag(D).astype(float)))
    if not np.all(size > 0) or not np.all(np.isfinite(size)):
        return np.zeros(1)
    return np.linalg.eigvalsh(D.astype(float) / np.outer(size, size))


class Recursive(Formulation):
    """The joints of the tree are eliminated one after the other, from the tips to the ground; no mass matrix is formed.

    Without constraints that is all: one pass outward, one inward, one outward give u̇. Loops are cut and closed by
    multipliers; the same elimination answers what each of them moves:

        u̇ = u̇_free + Y λ,      Y = M⁻¹ Aᵀ,      (A Y) λ = −γ − A u̇_free

    The cost is linear in the number of bodies for a bounded number of constraint equations; large mechanisms with many
    loops use that a loop acts only on its neighbors (see ``dynamics.rolled_loops``). A Y may lack rank; λ is then
    the one of least norm. Every joint of the tree must move something that has inertia.

    Reference: D. S. Bae, E. J. Haug, "A recursive formulation for constrained mechanical system dynamics", parts I and
    II, Mech. Struct. Mach. 15 (1987); R. Featherstone, "Rigid Body Dynamics Algorithms", chs. 7 and 8.
    """

    name: ClassVar[str] = "recursive"
    title: ClassVar[str] = "Recursive elimination"
    explicit: ClassVar[bool] = True
    rolled: ClassVar[bool] = True

    @classmethod
    def supports(cls) -> Support:
        return Support.everything("relative", "absolute", "generalized")

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray | None:
        """A Y of the multipliers; the joints themselves are eliminated one by one."""
        return A @ np.linalg.solve(M, A.T) if len(A) else None

    def check(self, coordinates: Coordinates) -> None:
        """Every joint of the tree must move inertia in all its directions; looked at up to a size."""
        if coordinates.eliminated:
            names = ", ".join(sorted(coordinates.eliminated))
            raise ModelError(
                f"formulation 'recursive' eliminates joint by joint and cannot take joints that follow from others "
                f"({names}).  Fix: formulation='lagrange-multipliers', or coordinates='relative'"
            )
        if len(coordinates.slots) > MOST_CHECKED:
            return
        tree, still = coordinates.place(NUMPY, coordinates.flat.parameters), np.zeros(coordinates.nv)
        no_wrench = [np.zeros(6)] * len(tree.links)
        try:
            with np.errstate(all="ignore"):
                joints = articulated(tree, tree.states(coordinates.neutral(), still), still, no_wrench)
        except ZeroDivisionError:
            joints = []
        for i, link in enumerate(tree.links):
            pivots = _pivots(joints[i].D) if joints else np.zeros(1)
            if len(pivots) and not pivots.min() > LIGHT * pivots.max():
                slot = tree.coordinates.slots[i]
                what = f"body {link.body!r}" if slot.joint is None else f"joint {slot.joint!r} with body {link.body!r}"
                raise ModelError(
                    f"formulation 'recursive' eliminates joints by the inertia that they move, and "
                    f"{what if joints else 'some joint'} has none in some direction.  Fix: mass and inertia about all "
                    f"axes for bodies at the tips of the tree, or, if constraints hold them, "
                    f"formulation='lagrange-multipliers'"
                )

    def blocks(self, equations: BlockEquations) -> dict[str, np.ndarray]:
        """u̇ if nothing constrains the tree, else what ``dynamics.native`` closes the loops with."""
        e = mechanism_of(equations, self.name)
        free = e.free_acceleration()
        if not e.rows:
            return {"acceleration": free}
        B, beta, yielding = e.cut_rotors.rows()
        A = np.concatenate([e.jacobian, B])
        Y = e.responses(A)
        compliance = A @ Y
        for i, value in enumerate(yielding, start=len(e.rows)):
            compliance[i, i] = compliance[i, i] + value
        return {
            "b": e.velocity_bias,
            "position": e.position_residual(),
            "free": free,
            "jacobian": e.jacobian,
            "rotors": B,
            "gamma": e.gamma,
            "rotor_bias": beta,
            "response": Y,
            "compliance": compliance,
        }
