"""Custom joint: the user's own motion, given by functions or by formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import Field

from dalembert.algebra import Algebra
from dalembert.elements import Allowed, Formula, Record, Site, Sizes, Vector
from dalembert.elements.allowed import POSE
from dalembert.errors import ModelError
from dalembert.joints.base import Evaluate, Geometry, Joint
from dalembert.joints.joint_data import JointData
from dalembert.spatial import Pose, so3

__all__ = ["Custom", "CustomMotion"]


class CustomMotion(Record):
    """The motion of a custom joint, as formulas of its coordinates q0, q1, …

    ``equations`` and ``measure`` are formulas of the relative pose: x, y, z and the rotation matrix Rxx … Rzz.
    """

    coordinates: int = Field(1, ge=1, le=5, description="number of coordinates")
    position: Vector = Field(
        (0, 0, 0), validate_default=True, description="origin of the second frame in the first (m)"
    )
    rpy: Vector = Field((0, 0, 0), validate_default=True, description="roll, pitch, yaw of the second frame (rad)")
    equations: tuple[Formula, ...] | None = Field(None, description="6 − coordinates formulas that vanish")
    measure: tuple[Formula, ...] | None = Field(None, description="the coordinates from the relative pose")

    def may_name(self, field: str) -> Allowed:
        if field in ("equations", "measure"):
            return POSE
        names = tuple(f"q{i}" for i in range(self.coordinates))
        return Allowed("its coordinates `q0`, `q1`, …", f"expected parameters and {', '.join(names)}", local=names)


class CustomData(JointData):
    """With its motion."""

    custom: CustomMotion | None = Field(
        None,
        description="motion of a custom joint",
        examples=[{"coordinates": 1, "position": ["q0", 0, 0]}],
    )


class Custom(Joint):
    """A joint whose pose is any smooth function of its coordinates, such as a cam or a guide along a curve.

    Subspace and bias follow from the pose by jets. The constraint side is given by ``equations`` of the relative pose
    and needs ``measure`` (coordinates from a pose) only where coordinates are asked for.
    """

    kind = "custom"
    parameters = ("custom",)
    Data = CustomData
    uniform = False

    def __init__(
        self,
        n: int,
        pose: Callable[[Algebra, np.ndarray], Pose],
        equations: Callable[[Algebra, Pose], list[Any]] | None = None,
        measure: Callable[[Algebra, Pose], np.ndarray] | None = None,
        name: str = "custom",
    ):
        self.nq = self.nv = n
        self.closes, self.measurable = equations is not None, measure is not None
        self._pose, self._equations, self._measure, self._name = pose, equations, measure, name

    @classmethod
    def keywords(cls) -> list[str]:
        return [*cls.geometry, *CustomMotion.model_fields]

    @classmethod
    def mixes(cls) -> bool:
        return True

    @classmethod
    def from_call(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """What no joint has is of its motion; its axis is z unless it is drawn otherwise."""
        fields = super().from_call(fields)
        given = {key: value for key, value in fields.items() if key in CustomData.model_fields}
        motion = {key: value for key, value in fields.items() if key not in given}
        axis = {} if "frame_1" in given else {"axis": "z"}
        return {**axis, **given, **({"custom": motion} if motion else {})}

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        if data.custom is None:
            return
        n = data.custom.coordinates
        for key, count, rule in (
            ("equations", 6 - n, f"6 − {n} coordinates"),
            ("measure", n, "one for each coordinate"),
        ):
            given = getattr(data.custom, key)
            if given is not None and len(given) != count:
                message = f"custom.{key}: expected {count} formulas ({rule}), got {len(given)}"
                site.report(f"custom.{key}", message, f"give {count} formulas")

    @classmethod
    def sizes(cls, data: JointData | None = None) -> Sizes | None:
        motion = getattr(data, "custom", None)
        return None if motion is None else Sizes(motion.coordinates, motion.coordinates)

    @classmethod
    def from_data(cls, al: Algebra, drawn: Geometry, data: Any, evaluate: Evaluate) -> Custom:
        """Its functions evaluate the formulas, over ``al`` or jets over it."""
        motion: CustomMotion = data.custom

        def pose(al: Algebra, q: np.ndarray) -> Pose:
            names = {f"q{i}": value for i, value in enumerate(q)}
            roll, pitch, yaw = (evaluate(formula, al, names) for formula in motion.rpy)
            R = so3.rotation_z(al, yaw) @ so3.rotation_y(al, pitch) @ so3.rotation_x(al, roll)
            return Pose(R, al.array([evaluate(formula, al, names) for formula in motion.position]))

        def of_pose(formulas: tuple[Any, ...], al: Algebra, X: Pose) -> list[Any]:
            names = dict(zip(POSE.local, [*X.p, *X.R.reshape(-1)], strict=True))
            return [evaluate(formula, al, names) for formula in formulas]

        equations, measure = motion.equations, motion.measure
        return cls(
            motion.coordinates,
            pose,
            None if equations is None else lambda al, X: of_pose(equations, al, X),
            None if measure is None else lambda al, X: al.array(of_pose(measure, al, X)),
            data.name,
        )

    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        return self._pose(al, q)

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
