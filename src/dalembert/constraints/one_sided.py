"""One-sided constraints: a gap that may open but not close further, such as an end stop.

While it is closed, the gap is an equation like that of any constraint, and its multiplier is the force that pushes the
gap open. The run closes and opens it: an impact where the gap closes, and an end where the multiplier would pull.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import BodyName, Formula, FrameName, Motion, Site
from dalembert.elements.allowed import POSITIONS
from dalembert.elements.path_pairs import closes
from dalembert.elements.surface_data import is_path
from dalembert.elements.surfaces import Surface, check_pair, touching
from dalembert.elements.travel import Travel, check_travel, travel_sides

__all__ = ["Limit", "OneSided", "RigidContact"]


class OneSided(Constraint):
    """A constraint that only pushes.

    The contract: ``gaps`` returns one or two values that must not be negative, of which at most one is zero at a time.
    A run chooses which of them is the equation, by the parameter ``NAME.on``: 0 none, 1 the first, 2 the second.

    Attributes:
        sides: how many gaps there are.
    """

    active: bool = Field(False, description="no use here: the run finds out what is closed at its start")
    restitution: Formula = Field(
        0, validate_default=True, description="e, velocity after an impact over that before it: 0 … 1"
    )

    impact: Literal["newton", "poisson"] = Field(
        "newton", description="what restitution compares: velocities (newton) or impulses (poisson)"
    )

    @property
    def sides(self) -> int:
        return 1

    @property
    def runs_off(self) -> bool:
        """True if it may end while it is pressed, as that of a flank whose tooth leaves the mesh."""
        return False

    def presses(self) -> list[tuple[str, Any, str]]:
        """The point (body, point, frame) where its force on its second body is drawn, if there is one."""
        return []

    @abstractmethod
    def gaps(self, motion: Motion) -> list[Any]: ...

    def position(self, motion: Motion) -> list[Any]:
        return self.gaps(motion)

    def switched(self, residuals: list[Any], on: Any) -> list[Any]:
        """One equation: the gap that is closed."""
        if len(residuals) < 2:
            return [residual * on for residual in residuals]
        return [residuals[0] * (on * (2 - on)) + residuals[1] * (on * (on - 1) / 2)]

    def is_open(self, on: Any) -> Any:
        """1 if no gap is closed, else 0."""
        return 1 - on if self.sides < 2 else (1 - on) * (2 - on) / 2

    def check(self, site: Site) -> None:
        e = site.value(self.restitution)
        if e is not None and not 0 <= e <= 1:
            site.report("restitution", f"restitution must be from 0 to 1, got {e:g}", "restitution: 0.5")


class Limit(Travel, OneSided):
    """End stops of a coordinate, or of any formula of the position: rigid, with restitution.

    With both bounds on a difference of coordinates it is a clearance: play between teeth, slack in a pin.
    """

    positional: ClassVar[tuple[str, ...]] = ("name", "of")
    kind: Literal["limit"] = "limit"
    of: Annotated[Formula, POSITIONS] = Field(description="what is limited, e.g. q(knee); in Python also the joint")
    lower: Formula | None = Field(None, description="its smallest value (rad or m)")
    upper: Formula | None = Field(None, description="its largest value")

    def gaps(self, motion: Motion) -> list[Any]:
        return travel_sides(motion, self.of, self.lower, self.upper)

    def check(self, site: Site) -> None:
        super().check(site)
        check_travel(site, self.of, self.lower, self.upper)


class RigidContact(OneSided):
    """Two surfaces that touch and do not enter each other: impacts with restitution, rest, release.

    ``contact-friction`` lets it rub, in impacts too.
    """

    kind: Literal["rigid-contact"] = "rigid-contact"
    bodies: tuple[BodyName, BodyName] = Field(description="the two bodies")
    surfaces: tuple[Surface, Surface] = Field(description="a surface on each, see ``Surface``")
    frame: FrameName = Field("world", description="'world', 'body' (each surface in its own body), or a body's name")

    @property
    def runs_off(self) -> bool:
        return any(is_path(surface) and not closes(surface) for surface in self.surfaces)

    def gaps(self, motion: Motion) -> list[Any]:
        return [touching(motion, self.bodies, self.surfaces, self.frame).gap]

    def presses(self) -> list[tuple[str, Any, str]]:
        return [(self.bodies[1], self.surfaces[1].at, self.frame)]

    def gradient(self, motion: Motion) -> Any:
        """The force on the second body, world axes, per multiplier."""
        return touching(motion, self.bodies, self.surfaces, self.frame).gradient

    def normal_force(self, motion: Motion, multiplier: Any) -> Any:
        """The force (N) that its multiplier stands for."""
        return multiplier * motion.al.length(touching(motion, self.bodies, self.surfaces, self.frame).gradient)

    def check(self, site: Site) -> None:
        super().check(site)
        check_pair(site, self.bodies, self.surfaces)
