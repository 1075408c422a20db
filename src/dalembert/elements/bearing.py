"""How joints rub: which of their velocities slide, and what presses their surfaces together.

A new joint that rubs names one of these as its ``bearing``. Wrenches are (n, f) about the joint's point in the axes of
its first frame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sympy as sp

from dalembert.algebra import Algebra

__all__ = ["FLANK", "PAD", "PIN", "SLIDE", "SOCKET", "Bearing", "Sizes"]


class Sizes(NamedTuple):
    """Of the surfaces that rub, as far as they are given (m); ``lead`` is the advance of a thread (m/rad)."""

    radius: Any = None
    length: Any = None
    lead: Any = 0.0


class Bearing(ABC):
    """One way to rub.

    Attributes:
        name: in words.
        ways: number of directions in which it slides, before it gets a radius that it may have.
        needs: sizes that must be given; the others of ``takes`` may be.
    """

    name: ClassVar[str]
    ways: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ()

    def slip(self, al: Algebra, u: np.ndarray, sizes: Sizes) -> np.ndarray:
        """What slides, of the joint's velocities: friction acts against it, and on the joint by ``push``."""
        return u[:1]

    def push(self, al: Algebra, force: np.ndarray, sizes: Sizes) -> np.ndarray:
        """The joint's forces from those along ``slip``."""
        return force

    def formula(self, load: Callable[[str], sp.Expr], radius: Any, length: Any) -> sp.Expr | None:
        """The same as a formula of components of the joint's reaction; None if that is none."""
        return None

    @abstractmethod
    def load(self, al: Algebra, wrench: np.ndarray, sizes: Sizes, friction: Any) -> Any:
        """What the coefficient of friction multiplies, from the joint's reaction and from friction along one slip."""


class _Slide(Bearing):
    """A slider in a guide: the force across it, and with the length of the guide the two forces of the moment."""

    name, takes = "prismatic", ("length",)

    def load(self, al: Algebra, wrench: np.ndarray, sizes: Sizes, friction: Any) -> Any:
        force = al.length(wrench[3:5])
        return force if sizes.length is None else force + 2 * al.length(wrench[:2]) / sizes.length

    def formula(self, load: Callable[[str], sp.Expr], radius: Any, length: Any) -> sp.Expr:
        return load("normal") if length is None else load("normal") + 2 * load("bending") / length


class _Pin(Bearing):
    """A pin in its bearing: a torque by its radius."""

    name, needs = "revolute", ("radius",)

    def load(self, al: Algebra, wrench: np.ndarray, sizes: Sizes, friction: Any) -> Any:
        return sizes.radius * al.length(wrench[3:5])

    def formula(self, load: Callable[[str], sp.Expr], radius: Any, length: Any) -> sp.Expr:
        return radius * load("normal")


class _Thread(Bearing):
    """A nut on a square thread of mean radius r and lead h = r tan α, which slides along the helix.

    With the force F and the torque T in the thread, friction among them, the flank is pressed by
    N = F cos α − T/r sin α,  and friction μ N has the torque μ N r/cos α. It locks itself from μ = tan α on.
    """

    name, needs = "screw", ("radius",)

    def load(self, al: Algebra, wrench: np.ndarray, sizes: Sizes, friction: Any) -> Any:
        r, h = sizes.radius, sizes.lead
        # A joint force is a torque: see Screw.wrench.
        F, T = wrench[5], wrench[2] + friction
        lever = al.sqrt(r * r + h * h)  # r/cos α
        return lever * al.length(al.array([(F * r - T * h / r) / lever]))


class _Ball(Bearing):
    """A ball in its socket: a torque against the angular velocity."""

    name, ways, needs = "spherical", 3, ("radius",)

    def slip(self, al: Algebra, u: np.ndarray, sizes: Sizes) -> np.ndarray:
        return u

    def load(self, al: Algebra, wrench: np.ndarray, sizes: Sizes, friction: Any) -> Any:
        return sizes.radius * al.length(wrench[3:])


class _Pad(Bearing):
    """A pad on a plane: a force against its velocity; with a radius r also a torque against its turning, such that
    forces and torque/r together are μ N."""

    name, ways, takes = "planar", 2, ("radius",)

    def slip(self, al: Algebra, u: np.ndarray, sizes: Sizes) -> np.ndarray:
        return u[:2] if sizes.radius is None else al.array([u[0], u[1], sizes.radius * u[2]])

    def push(self, al: Algebra, force: np.ndarray, sizes: Sizes) -> np.ndarray:
        turn = 0 if sizes.radius is None else sizes.radius * force[2]
        return al.array([force[0], force[1], turn])

    def load(self, al: Algebra, wrench: np.ndarray, sizes: Sizes, friction: Any) -> Any:
        return al.length(wrench[5:])


SLIDE, PIN, FLANK, SOCKET, PAD = _Slide(), _Pin(), _Thread(), _Ball(), _Pad()
