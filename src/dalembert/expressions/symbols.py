"""What a formula may name: time, parameters, and the motion of joints and bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import sympy as sp
from sympy.core.function import AppliedUndef

__all__ = [
    "BEND_QUANTITY", "BODY_QUANTITIES", "COMPONENTS", "DEFLECTION_QUANTITY", "FEEDBACK_QUANTITIES", "JOINT_QUANTITIES",
    "LINE_QUANTITIES", "QUANTITIES", "REACTION", "ROTATION_QUANTITIES", "STATE", "TIME", "TURN_QUANTITIES", "Reference",
    "derivative", "difference", "expanded", "parameter", "reference", "references", "replaced", "symbols_of",
]  # fmt: skip

TIME = sp.Symbol("t", real=True)

# q(joint), q(joint, i): coordinate; u(joint), u(joint, i): velocity.
JOINT_QUANTITIES = ("q", "u")
# Entries of the rotation matrix of a body: Rxy is the component along x of its axis y.
ROTATION_QUANTITIES = tuple(f"R{i}{j}" for i in "xyz" for j in "xyz")
# Distance of the two ends of a spring or strut, and its rate.
LINE_QUANTITIES = ("length", "rate")
# Angle between the two bodies of a torsion element, and its rate.
TURN_QUANTITIES = ("angle", "rate")
# What formulas of a bushing name of its deflection: deflection(name, i) once models are written out.
DEFLECTION_QUANTITY = "deflection"
# What chooses branches of a constraint's formulas in terms of its own: bend(name, i).
BEND_QUANTITY = "bend"
# A state of the model's own is written by its name; once models are written out it is the reference state(name).
STATE = "state"
# World position and velocity of a body's origin, and its angular velocity in world axes.
BODY_QUANTITIES = ("x", "y", "z", "vx", "vy", "vz", "wx", "wy", "wz")
# What is known once the equations of motion are solved: acceleration of a body's origin or a point and angular
# acceleration of a body, in world axes; u̇ of a joint; a component of a joint's reaction; a constraint's multiplier.
ACCELERATION_QUANTITIES = ("ax", "ay", "az", "alphax", "alphay", "alphaz")
JOINT_ACCELERATION, REACTION, TORQUE = "du", "reaction", "torque"
FEEDBACK_QUANTITIES = (*ACCELERATION_QUANTITIES, JOINT_ACCELERATION, REACTION, TORQUE)
# Of a reaction: across the joint's axis, along it, in world axes, its size; then of its moment, last across the axis.
COMPONENTS = ("normal", "axial", "x", "y", "z", "force", "tx", "ty", "tz", "torque", "bending")


# All that a text may call with the name of an element.
QUANTITIES = (
    *JOINT_QUANTITIES,
    *BODY_QUANTITIES,
    *ROTATION_QUANTITIES,
    *LINE_QUANTITIES,
    "angle",
    *FEEDBACK_QUANTITIES,
)


@dataclass(frozen=True)
class Reference:
    """A quantity of the motion that a formula names, e.g. ``u(knee)`` or ``x(tip)``."""

    quantity: str
    element: str
    index: int = 0

    @property
    def text(self) -> str:
        """As a formula writes it; also the name of the parameter that holds what is fed back."""
        if self.quantity == REACTION:
            return f"{self.quantity}({self.element}, {COMPONENTS[self.index]})"
        return f"{self.quantity}({self.element}, {self.index})" if self.index else f"{self.quantity}({self.element})"


def parameter(name: str) -> sp.Symbol:
    """The symbol of a parameter."""
    return sp.Symbol(name, real=True)


def reference(quantity: str, element: str, index: int = 0) -> sp.Expr:
    """The SymPy form of a reference: an unevaluated function such as q(knee) or q(wrist, 2)."""
    function = sp.Function(quantity, real=True)
    arguments = [sp.Symbol(element, real=True)] + ([sp.Integer(index)] if index else [])
    return function(*arguments)


def as_reference(atom: AppliedUndef) -> Reference:
    """The reference that an applied function stands for."""
    name, *index = cast(tuple[Any, ...], atom.args)
    return Reference(type(atom).__name__, name.name, int(str(index[0])) if index else 0)


def references(expression: sp.Expr) -> set[Reference]:
    """All references inside a formula."""
    return {as_reference(atom) for atom in expression.atoms(AppliedUndef)}


def parameters_of(expression: sp.Expr) -> set[sp.Symbol]:
    """The parameter symbols of a formula: not time, not the names inside references."""
    names = {argument for atom in expression.atoms(AppliedUndef) for argument in atom.args}  # TableCall hides its own
    return {symbol for symbol in symbols_of(expression) if symbol not in names and symbol != TIME}


def symbols_of(expression: sp.Basic) -> set[sp.Symbol]:
    """All symbols of an expression; SymPy's own type does not say that they are symbols."""
    return cast(set[sp.Symbol], expression.free_symbols)


def replaced(expression: sp.Expr, swap: Mapping[Any, Any]) -> sp.Expr:
    """An expression with symbols and parts of it replaced, which is an expression again."""
    return cast(sp.Expr, expression.xreplace(swap))


def difference(equation: sp.Equality) -> sp.Expr:
    """Left side minus right side."""
    return cast(sp.Expr, equation.lhs) - cast(sp.Expr, equation.rhs)


def derivative(expression: sp.Expr, *by: Any) -> sp.Expr:
    """A derivative by symbols, each perhaps followed by how often."""
    return cast(Any, sp).diff(expression, *by)


def expanded(expression: sp.Expr) -> sp.Expr:
    """Products and powers of sums multiplied out."""
    return cast(Any, sp).expand(expression)
