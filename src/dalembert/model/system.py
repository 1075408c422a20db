"""A mechanism as textbooks write it: own coordinates, and positions as formulas of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import sympy as sp

from dalembert.arguments import public_methods
from dalembert.constraints import Equation
from dalembert.elements import Placement
from dalembert.errors import ModelError, Problem, caller
from dalembert.expressions import TIME, references, replaced
from dalembert.expressions.symbols import parameters_of
from dalembert.expressions.symbols import reference as reference_to
from dalembert.forces import JointForce
from dalembert.joints import JointData
from dalembert.model.data import Body
from dalembert.model.fields import checked
from dalembert.model.model import Model

__all__ = ["System"]

# Turns that bring z along an axis.
_ALONG: dict[str, Any] = {
    "x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
    "y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


@public_methods
class System(Model):
    """A model with coordinates of your own choice: particles and bodies whose positions are formulas of them.

    It is a :class:`Model` in every way. A coordinate is a joint of a massless body; a position is given by joints whose
    coordinates follow from it (``Model.explicit``), so that in generalized coordinates only your own are left.

    Example:
        s = da.System("pendulum", gravity=(0, 0, -9.81))
        theta = s.coordinate("theta", reference=0.5)
        m, l = s.parameters(m=1.0, l=0.5)
        s.particle("bob", m, ("l*sin(q(theta))", 0, "-l*cos(q(theta))"))
        print(da.derive(s, "lagrange").latex())
    """

    def coordinate(self, name: str, kind: Literal["angle", "length"] = "angle", reference: Any = 0) -> JointData:
        """A coordinate; ``.q`` and ``.u`` name it and its rate in formulas.

        Args:
            kind: ``angle`` (rad) or ``length`` (m).
            reference: its value where the run starts unless given otherwise.
        """
        if kind not in ("angle", "length"):
            raise ModelError(Problem(f"coordinate {name!r}: expected 'angle' or 'length', got {kind!r}", "joints"))
        super().body(name, frame="body")
        joint = "revolute" if kind == "angle" else "prismatic"
        return self.joint(joint, name, self.ground, name, frame_1=(0, 0, 0), frame_2=(0, 0, 0), reference=reference)

    def particle(self, name: str, mass: Any, position: Any, **fields: Any) -> Body:
        """A mass at a point (x, y, z), formulas of coordinates, parameters and t (m)."""
        return self.body(name, mass, position=position, **fields)

    def body(  # type: ignore[override]
        self,
        name: str,
        mass: Any = 0,
        inertia: Any = (0, 0, 0),
        *,
        position: Any = None,
        rotation: Sequence[tuple[str, Any]] = (),
        **fields: Any,
    ) -> Body:
        """A rigid body whose center of mass and rotation are formulas of coordinates, parameters and t.

        Args:
            mass: (kg).
            inertia: about the center of mass, in body axes (kg m²).
            position: of the center of mass (m); without it and without a rotation a body as ``Model.body`` makes it.
            rotation: turns one after the other, each about the moved axis, e.g. ``[("z", psi.q), ("x", theta.q)]``;
                without turns the axes of body and world are the same.
        """
        if position is None and not rotation:
            return super().body(name, mass=mass, inertia=inertia, **fields)
        place = checked(Placement, f"body {name!r}", position=(0, 0, 0) if position is None else position).position
        turns = [(axis, self._formula(f"body {name!r}", angle)) for axis, angle in rotation]
        self._no_bare_coordinates(name, [*place, *(angle for _, angle in turns)])
        for axis, _ in turns:
            if axis not in _ALONG:
                raise ModelError(Problem(f"body {name!r}: expected an axis x, y or z, got {axis!r}", "bodies"))
        still = bool(turns) and not any(references(f) or TIME in f.free_symbols for f in place)
        carriers = [f"{name}_{i + 1}" for i in range(len(turns) - still)]
        for carrier in carriers:
            super().body(carrier, frame="body")
        body = super().body(name, mass=mass, inertia=inertia, frame="body", **fields)
        chain = [self.ground, *carriers, name]
        if not still:
            self._given("translational", f"{name}_position", chain[0], chain[1], (0, 0, 0), _ALONG["z"], place)
            chain.pop(0)
        for i, (axis, angle) in enumerate(turns):
            point = place if still and i == 0 else (0, 0, 0)
            self._given("revolute", f"{name}_turn_{i + 1}", chain[i], chain[i + 1], point, _ALONG[axis], (angle,))
        return body

    def _no_bare_coordinates(self, body: str, formulas: list[sp.Expr]) -> None:
        """Refuse what names a coordinate as parameters are named."""
        named = {symbol.name for formula in formulas for symbol in parameters_of(formula)} - set(self.parameter_values)
        bare = sorted(named & {joint.name for joint in self.joints})
        if bare:
            message = f"body {body!r}: {', '.join(bare)} {'are coordinates' if bare[1:] else 'is a coordinate'}"
            fix = f"q({bare[0]}) in a text, or .q of what model.coordinate({bare[0]!r}) returns"
            raise ModelError(Problem(message, "", fix, caller()))

    def _given(
        self, kind: str, name: str, first: str, second: str, point: Any, turn: Any, formulas: tuple[sp.Expr, ...]
    ) -> None:
        """A joint whose coordinates are formulas."""
        frames = {"frame_1": {"position": point, "rotation": turn}, "frame_2": {"rotation": turn}}
        if turn is _ALONG["z"]:
            frames = {"frame_1": {"position": point}, "frame_2": (0, 0, 0)}
        start = tuple(self._at_reference(formula) for formula in formulas)
        self.joint(kind, name, first, second, reference=start, **frames)
        self.explicit(name, name, formulas)

    def _at_reference(self, formula: sp.Expr) -> sp.Expr:
        """A formula with all coordinates at their references, at t = 0."""
        given = {joint.name: joint.reference for joint in self.joints}
        swap: dict[Any, Any] = {TIME: sp.Integer(0)}
        for ref in references(formula):
            values = given.get(ref.element)
            if ref.quantity == "q" and values is not None and ref.index < len(values):
                swap[reference_to("q", ref.element, ref.index)] = values[ref.index]
            else:
                swap[reference_to(ref.quantity, ref.element, ref.index)] = sp.Integer(0)
        return replaced(formula, swap)

    def _formula(self, what: str, value: Any) -> sp.Expr:
        return checked(Equation, what, name="formula", formula=value).formula

    def generalized_force(self, coordinate: Any, value: Any, name: str | None = None) -> JointForce:
        """A force on a coordinate: its power is value · q̇."""
        joint = getattr(coordinate, "name", coordinate)
        count = sum(isinstance(force, JointForce) and force.joint == joint for force in self.forces)
        return self.joint_force(name or f"{joint} force{f' {count + 1}' if count else ''}", joint, value)

    def nonholonomic(self, name: str, formula: Any) -> Equation:
        """A formula, linear in rates, that must vanish: a condition on velocities."""
        return self.constraint(name, formula, level="velocity")
