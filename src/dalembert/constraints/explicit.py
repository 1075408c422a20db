"""Joint coordinates as functions of others."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import sympy as sp
from pydantic import Field

from dalembert.constraints.base import Constraint
from dalembert.elements import Formula, JointName, Motion, Site
from dalembert.elements.allowed import COORDINATES
from dalembert.expressions import references
from dalembert.values import SEQUENCE

__all__ = ["Explicit"]


class Explicit(Constraint):
    """The coordinates of a joint as formulas of those of other joints:  q_J = f(t, q).

    In generalized coordinates these are eliminated: q_J is no unknown and no equation is left. In all other coordinates
    q_J − f(t, q) = 0 is a constraint as any other.
    """

    eliminates: ClassVar[bool] = True
    kind: Literal["explicit"] = "explicit"
    joint: JointName = Field(description="the joint whose coordinates follow from others")
    formulas: Annotated[tuple[Formula, ...], COORDINATES] = Field(
        min_length=1, description="each of its coordinates (rad or m) as a formula of t, parameters and q(joint)"
    )

    @classmethod
    def from_call(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """One formula without its list will do, e.g. ``model.explicit("c", "B", "-q(A)")``."""
        formulas = fields.get("formulas", ())
        return {**fields, "formulas": formulas if isinstance(formulas, SEQUENCE) else (formulas,)}

    def check(self, site: Site) -> None:
        sizes = site.sizes(self.joint)
        if not site.check_coordinate("joint", self.joint) or sizes is None:
            return
        if sizes.quaternions:
            message = f"joint {self.joint!r} rotates freely in space, which angles or lengths cannot prescribe"
            site.report("joint", message, "build it of joints with angles and lengths")
        elif len(self.formulas) != sizes.nq:
            message = f"expected {sizes.nq} formulas for joint {self.joint!r}, got {len(self.formulas)}"
            site.report("formulas", message, "one for each coordinate")
        for i, formula in enumerate(self.formulas):
            for ref in references(formula):
                if ref.element == self.joint:
                    message = f"a coordinate of joint {self.joint!r} cannot follow from its own coordinates"
                    site.report(f"formulas[{i}]", message, "name other joints")
                elif ref.quantity == "q" and site.is_joint(ref.element):
                    site.check_coordinate(f"formulas[{i}]", ref.element, ref.index)

    def gives(self) -> list[tuple[str, int, sp.Expr]]:
        return [(self.joint, i, formula) for i, formula in enumerate(self.formulas)]

    def position(self, motion: Motion) -> list[Any]:
        q = motion.joint(self.joint)[0]
        return [value - motion.evaluate(formula) for value, formula in zip(q, self.formulas, strict=True)]
