"""The flat model in an algebra: inertias, reference poses and joint frames as scalars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY, Algebra
from dalembert.errors import ExpressionError, ModelError
from dalembert.expressions import Reference, evaluate, to_text
from dalembert.expressions.symbols import parameters_of
from dalembert.joints import JOINTS, Joint, JointData
from dalembert.joints.base import Geometry
from dalembert.joints.joint_data import GEOMETRY
from dalembert.model.flatten import Flat, Scope
from dalembert.spatial import Inertia, Pose

__all__ = ["EVERYDAY", "Mechanism", "PlacedJoint", "unit_of_length"]

EVERYDAY = 1024.0  # m, and its inverse: between them meters are as good as any unit
_ROOT = Scope("", None, None)


@dataclass(frozen=True)
class PlacedJoint:
    """A joint with its two frames.

    Attributes:
        X_1P: pose of the predecessor frame in the first body.
        X_2S: pose of the successor frame in the second body.
    """

    name: str
    joint: Joint
    first: str
    second: str
    X_1P: Pose
    X_2S: Pose


def unit_of_length(usual: float | None) -> float:
    """1 m, or the power of two next to what is usual where that is not everyday."""
    usual = usual or 1.0
    return 1.0 if 1 / EVERYDAY <= usual <= EVERYDAY else 2.0 ** round(math.log2(usual))


class Mechanism:
    """Evaluates the data of a flat model in an algebra.

    Args:
        parameters: the scalar of each parameter, by full name.
    """

    def __init__(self, flat: Flat, al: Algebra, parameters: dict[str, Any]):
        self.flat, self.al, self.parameters = flat, al, parameters
        self._poses: dict[str, Pose] = {"ground": Pose.identity(al)}
        self._scopes: dict[str, Pose] = {"": Pose.identity(al)}
        self._joints: dict[str, PlacedJoint] = {}

    @classmethod
    def nominal(cls, flat: Flat, values: dict[str, float] | None = None) -> Mechanism:
        """In floats, at the parameters' values (one shared object for each flat model) or at some others."""
        if values:
            return cls(flat, NUMPY, {**flat.parameters, **values})
        if flat.nominal is None:
            flat.nominal = cls(flat, NUMPY, dict(flat.parameters))
        return flat.nominal

    def evaluate(self, formula: sp.Expr, al: Algebra | None = None, names: Mapping[str, Any] | None = None) -> Any:
        """A formula of parameters, and of some names besides, in this algebra or another over it (its jets)."""

        def lookup(atom: sp.Symbol | Reference) -> Any:
            if isinstance(atom, Reference):
                raise ExpressionError(f"{atom.quantity}({atom.element}) is not allowed here; only parameters are")
            if names is not None and atom.name in names:
                return names[atom.name]
            if atom.name not in self.parameters:
                raise ExpressionError(f"unknown parameter {atom.name!r}")
            return self.parameters[atom.name]

        try:
            return evaluate(al or self.al, formula, lookup)
        except (ArithmeticError, ValueError) as error:
            values = {symbol.name: self.parameters.get(symbol.name) for symbol in parameters_of(formula)}
            given = ", ".join(f"{name} = {value:g}" for name, value in sorted(values.items()) if value is not None)
            raise ModelError(
                f"{to_text(formula)} has no finite value ({error}) at {given or 'these numbers'}.  "
                "Fix: choose other values; with these the mechanism cannot be drawn"
            ) from None

    def vector(self, formulas: Any) -> np.ndarray:
        return self.al.array([self.evaluate(formula) for formula in formulas])

    @cached_property
    def chosen(self) -> dict[sp.Expr, Any]:
        """What chooses branches of formulas: the scalars of ``Flat.branches`` that are among the parameters."""
        if len(self.parameters) == len(self.flat.parameters):
            return {}
        return {x: self.parameters[name] for name, x in self.flat.branches.items() if name in self.parameters}

    @property
    def gravity(self) -> np.ndarray:
        return self.vector(self.flat.gravity)

    # Poses in the reference configuration

    def scope_pose(self, scope: Scope) -> Pose:
        """Pose of a scope's world in the outermost world."""
        if scope.prefix not in self._scopes:
            assert scope.parent is not None and scope.pose is not None
            self._scopes[scope.prefix] = self.scope_pose(scope.parent) @ scope.pose.pose(self.al, self.evaluate)
        return self._scopes[scope.prefix]

    def _own_pose(self, body: str) -> Pose:
        """Pose of a body in the scope it was drawn in."""
        if body not in self._poses:
            data, _ = self.flat.bodies[body]
            if data.pose is not None:
                self._poses[body] = data.pose.pose(self.al, self.evaluate)
            elif data.frame == "body":
                self._poses[body] = Pose.identity(self.al)
            else:
                self._poses[body] = Pose.translation(self.al, self.vector(data.com))
        return self._poses[body]

    def _scope_of(self, body: str) -> Scope:
        return _ROOT if body == "ground" else self.flat.bodies[body][1]

    def body_pose(self, body: str, scope: Scope = _ROOT) -> Pose:
        """Pose of a body as drawn, in the world of a scope."""
        own = self._scope_of(body)
        if own.prefix == scope.prefix:
            return self._own_pose(body)
        return self.scope_pose(scope).inverse() @ self.scope_pose(own) @ self._own_pose(body)

    def frame_pose(self, frame: str, body: str, scope: Scope) -> Pose:
        """Pose of the frame that a field names, in the world of a scope."""
        if frame == "world":
            return Pose.identity(self.al)
        return self.body_pose(body if frame == "body" else frame, scope)

    def local(self, body: str, X: Pose, frame: str, scope: Scope) -> Pose:
        """A pose given in ``frame``, in the frame of a body."""
        if frame == "body" or frame == body:
            return X
        return self.body_pose(body, scope).inverse() @ (self.frame_pose(frame, body, scope) @ X)

    # Inertia

    def inertia(self, body: str) -> Inertia:
        """Inertia of a body in its own frame."""
        data, _ = self.flat.bodies[body]
        al, I = self.al, self.vector(data.inertia)
        products = I[3:] if len(I) == 6 else al.zeros(3)
        central = al.array(
            [
                [I[0], products[0], products[1]],
                [products[0], I[1], products[2]],
                [products[1], products[2], I[2]],
            ]
        )
        mass, com = self.evaluate(data.mass), self.vector(data.com)
        if data.inertia_about == "origin":
            central = central - mass * ((com @ com) * al.eye(3) - np.outer(com, com))
        if data.frame == "body":
            return Inertia(mass, com, central)
        if data.pose is None:
            return Inertia(mass, al.zeros(3), central)
        return Inertia(mass, com, central).moved(self._own_pose(body).inverse())

    # Joints

    @cached_property
    def usual_arm(self) -> float | None:
        """What is usual for the distance of a joint from the origin of its body (m), if there is any; in floats."""
        arms: list[float] = []
        for name in self.flat.joints:
            placed = self.joint(name)
            ends = ((placed.first, placed.X_1P), (placed.second, placed.X_2S))
            arms += [float(np.linalg.norm(X.p)) for body, X in ends if body != "ground"]
        arms = [arm for arm in arms if 0.0 < arm < math.inf]
        return float(np.median(arms)) if arms else None

    @cached_property
    def _unit(self) -> float:
        """Of length, for joints that compare lengths with angles."""
        nominal = Mechanism.nominal(self.flat)
        if nominal is not self:
            return nominal._unit
        drawn = Mechanism(self.flat, NUMPY, dict(self.flat.parameters))
        drawn.__dict__["_unit"] = 1.0  # frames do not depend on it
        return unit_of_length(drawn.usual_arm)

    def joint(self, name: str) -> PlacedJoint:
        """A joint with its frames on both bodies."""
        if name not in self._joints:
            self._joints[name] = self._place(name)
        return self._joints[name]

    def armature(self, name: str) -> Any:
        """Rotor inertia on the velocities of a joint, or None."""
        data, _ = self.flat.joints[name]
        return None if data.armature is None or data.armature == 0 else self.evaluate(data.armature)

    def _place(self, name: str) -> PlacedJoint:
        data, scope = self.flat.joints[name]
        first, second = data.bodies
        drawn = self._geometry(data, scope)
        joint = JOINTS[data.kind].from_data(self.al, drawn, data, self.evaluate)
        if joint.mixes():
            joint.unit = self._unit
        if data.frame_1 is not None and data.frame_2 is not None:
            X_1P, X_2S = (frame.pose(self.al, self.evaluate) for frame in (data.frame_1, data.frame_2))
            return PlacedJoint(name, joint, first, second, X_1P, X_2S)
        X_P, X_S = joint.frames(self.al, drawn)
        X_1P = self.body_pose(first, scope).inverse() @ X_P
        X_2S = self.body_pose(second, scope).inverse() @ X_S
        return PlacedJoint(name, joint, first, second, X_1P, X_2S)

    def _geometry(self, data: JointData, scope: Scope) -> Geometry:
        X = self.frame_pose(data.frame, data.bodies[0], scope)
        numbers = Mechanism.nominal(self.flat)
        X_nominal = numbers.frame_pose(data.frame, data.bodies[0], scope)
        vectors: dict[str, np.ndarray | None] = {}
        nominal: dict[str, np.ndarray] = {}
        for key in GEOMETRY:
            value = getattr(data, key)
            vectors[key] = None
            if value is not None:
                place = _moved if key.startswith("point") else _turned
                vectors[key] = place(X, self.vector(value))
                nominal[key] = place(X_nominal, numbers.vector(value))
        reference = None if data.reference is None else self.vector(data.reference)
        return Geometry(**vectors, nominal=nominal, X_2=self.body_pose(data.bodies[1], scope), reference=reference)


def _moved(X: Pose, point: np.ndarray) -> np.ndarray:
    return X.apply(point)


def _turned(X: Pose, vector: np.ndarray) -> np.ndarray:
    return X.R @ vector
