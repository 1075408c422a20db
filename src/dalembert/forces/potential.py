"""Forces that come from a potential given as a formula: gravity of a planet, a magnet, a nonlinear spring."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from dalembert.elements import Formula, Load, Motion, Site
from dalembert.elements.allowed import POTENTIAL
from dalembert.elements.travel import slope
from dalembert.expressions import references
from dalembert.forces.base import Force

__all__ = ["Potential"]


class Potential(Force):
    """A potential energy V; bodies and joints feel its negative gradient."""

    kind: Literal["potential"] = "potential"
    formula: Annotated[Formula, POTENTIAL] = Field(
        description="V (J), a formula of q(joint), x(body), y(body), z(body) and parameters"
    )

    def check(self, site: Site) -> None:
        for ref in references(self.formula):
            if ref.quantity == "q" and site.is_joint(ref.element):
                site.check_coordinate("formula", ref.element, ref.index)

    def loads(self, motion: Motion, load: Load) -> None:
        al = motion.al
        for ref in sorted(references(self.formula), key=repr):
            value = -motion.evaluate(slope(self.formula, ref))
            if ref.quantity == "q":
                force = al.zeros(len(motion.joint(ref.element)[1]))
                force[ref.index] = value
                load.joint_forces.append((ref.element, force, True))
            else:
                force = al.zeros(3)
                force["xyz".index(ref.quantity)] = value
                body, point = motion.point(ref.element)
                load.force_at(body, motion.body(body)[0], al.zeros(3) if point is None else point, force, True)

    def energy(self, motion: Motion) -> Any:
        return motion.evaluate(self.formula)
