"""A robot as the file formats describe it: links in a tree, each with one joint to its parent; and the model of it.

Legend: X_PL pose of a link in its parent, both at the zero of the file; frames and inertias in link axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from dalembert.algebra import NUMPY
from dalembert.constraints import Friction, Limit
from dalembert.elements import Element, Placement
from dalembert.errors import ModelError
from dalembert.expressions import reference
from dalembert.io.report import Names, Report
from dalembert.io.xml_data import Node
from dalembert.joints import data_of
from dalembert.joints.base import axis_frame
from dalembert.model import Body, Model, Shape
from dalembert.model.validate import problems
from dalembert.spatial import Pose, so3
from dalembert.spatial.so3 import hat

__all__ = ["Inertial", "Joint", "Link", "Loop", "Robot", "along", "pose_of", "snapped"]

_ROUND_OFF = 4e-16  # an entry of a rotation that is this close to 0 or ±1 was meant to be it
FRAME_LENGTH = 0.05  # arrows of a named frame (m)


@dataclass
class Inertial:
    """Mass (kg), center of mass (m) and inertia about it (kg m², 3×3), in link axes."""

    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    central: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def seen_from(self, X: Pose) -> Inertial:
        """The same inertia from the frame in which the link has pose X."""
        return Inertial(self.mass, X.apply(self.com), X.R @ self.central @ X.R.T)

    def __add__(self, other: Inertial) -> Inertial:
        mass = self.mass + other.mass
        # Without any mass there is no center; moments of inertia still add up.
        com = (self.mass * self.com + other.mass * other.com) / mass if mass else np.zeros(3)
        central = np.zeros((3, 3))
        for part in (self, other):
            d = hat(NUMPY, part.com - com)
            central = central + part.central - part.mass * (d @ d)
        return Inertial(mass, com, central)


@dataclass
class Joint:
    """How a link hangs on its parent.

    Attributes:
        X_1P, X_2S: joint frames on parent and child, as the catalog's joints take them (axis along z).
        reference: coordinates at which the file draws it.
        more: further fields of the model's joint.
    """

    name: str
    kind: str
    X_1P: Pose
    X_2S: Pose
    node: Node | None = None
    reference: tuple[float, ...] | None = None
    armature: float = 0.0
    more: dict[str, Any] = field(default_factory=lambda: {})


@dataclass
class Link:
    """A link, its joint to the parent and what is drawn on it; ``parent`` None: hangs on the ground."""

    name: str
    parent: str | None
    X_PL: Pose
    joint: Joint
    node: Node | None = None
    inertial: Inertial = field(default_factory=Inertial)
    shapes: list[dict[str, Any]] = field(default_factory=lambda: [])


@dataclass
class Loop:
    """A joint that closes a loop between two links; a link None is the ground."""

    name: str
    kind: str
    links: tuple[str | None, str | None]
    frames: tuple[Pose, Pose]
    node: Node
    more: dict[str, Any] = field(default_factory=lambda: {})


def pose_of(xyz: Any, rpy: Any) -> Pose:
    """A pose from a position and roll, pitch, yaw about fixed axes."""
    R = so3.rotation_z(NUMPY, rpy[2]) @ so3.rotation_y(NUMPY, rpy[1]) @ so3.rotation_x(NUMPY, rpy[0])
    return Pose(snapped(R), np.array(xyz, dtype=float))


def snapped(R: np.ndarray) -> np.ndarray:
    """A rotation with the round-off of quarter turns removed, so that compiled code can leave zeros out."""
    near = np.round(R)
    return np.where(np.abs(R - near) < _ROUND_OFF, near, R) + 0.0


def along(axis: np.ndarray, point: Any = (0, 0, 0)) -> Pose:
    """A frame at a point whose z-axis lies along an axis."""
    return Pose(snapped(axis_frame(NUMPY, axis, axis)), np.array(point, dtype=float))


def placement(X: Pose) -> Placement:
    """A pose as data."""
    if np.array_equal(X.R, np.eye(3)):
        return Placement.model_validate(tuple(X.p))
    return Placement.model_validate({"position": tuple(X.p), "rotation": tuple(tuple(row) for row in X.R)})


class Robot:
    """Links, loops and extras of a file, on their way to a model.

    Args:
        merge_fixed: put links that cannot move against their parent into it.
        repair_inertia: change inertias that no rigid body has, instead of a warning.
        limits: make limits of joint coordinates part of the model.
        friction: make friction of joints with one coordinate part of the model.
    """

    def __init__(
        self,
        name: str,
        report: Report,
        merge_fixed: bool = True,
        repair_inertia: bool = False,
        limits: bool = False,
        friction: bool = False,
    ):
        self.report, self.merge_fixed, self.repair_inertia = report, merge_fixed, repair_inertia
        self.limits, self.friction = limits, friction
        self.links: dict[str, Link] = {}
        self.loops: list[Loop] = []
        self.ground_shapes: list[dict[str, Any]] = []
        self.model = Model(name if name and name.isprintable() and len(name) <= 200 else "robot")
        self.bodies: dict[str, str] = {}
        self.joints: dict[str, str] = {}
        self._carriers: dict[str, tuple[str, Pose]] = {}
        self._force_names = Names(report, "forces")
        self._constraint_names = Names(report, "constraints")
        self._joint_names = Names(report, "joints", ("ground",))

    def ordered(self) -> list[Link]:
        """Links with parents before children; a link that the ground does not carry is left out."""
        children: dict[str | None, list[Link]] = {}
        for link in self.links.values():
            children.setdefault(link.parent, []).append(link)
        order: list[Link] = []
        todo = list(reversed(children.get(None, [])))
        while todo:
            link = todo.pop()
            order.append(link)
            todo.extend(reversed(children.get(link.name, [])))
        return order

    # Bodies and joints

    def build(self) -> Model:
        """Bodies and joints; forces and constraints come after, when names and carriers are known."""
        body_names = Names(self.report, "links", ("ground", "world", "body"))
        inertials: dict[str, Inertial] = {}
        shapes: dict[str, list[Shape]] = {"ground": []}
        poses: dict[str, Pose] = {"ground": Pose.identity(NUMPY)}
        heads: list[Link] = []
        for link in self.ordered():
            host, X_H = self.locate(link.parent)
            X = X_H @ link.X_PL
            if link.joint.kind == "fixed" and self.merge_fixed:
                self._carriers[link.name] = (host, X)
                if host != "ground":
                    inertials[host] = inertials[host] + link.inertial.seen_from(X)
                shapes[host] += self._shapes(link, X)
                continue
            body = self.bodies[link.name] = body_names.new(link.name)
            self._carriers[link.name] = (body, Pose.identity(NUMPY))
            inertials[body], poses[body] = link.inertial, poses[host] @ X
            shapes[body] = self._shapes(link, Pose.identity(NUMPY))
            heads.append(link)
        self.model.ground_shapes += [*_drawn("ground", self.ground_shapes, Pose.identity(NUMPY)), *shapes["ground"]]
        for link in heads:
            body = self.bodies[link.name]
            self._body(body, inertials[body], poses[body], shapes[body], link.node)
            self._joint(link)
        for loop in self.loops:
            self._loop(loop)
        return self.model

    def locate(self, link: str | None) -> tuple[str, Pose]:
        """The body that carries a link, and the link's pose in it."""
        return ("ground", Pose.identity(NUMPY)) if link is None else self._carriers[link]

    def _shapes(self, link: Link, X: Pose) -> list[Shape]:
        """Shapes of a link; one that is merged without any leaves its frame, which is not drawn."""
        merged = link.joint.kind == "fixed" and self.merge_fixed
        drawn = list(link.shapes)
        if merged:
            drawn.append({"kind": "frame", "length": FRAME_LENGTH, "opacity": 0.0, "pose": Pose.identity(NUMPY)})
        return _drawn(link.name, drawn, X)

    def _add(self, section: str, kind: type[Element], node: Node | None, fields: dict[str, Any]) -> None:
        """An element from what the file says; what the schema refuses is a problem of the file."""
        try:
            self.model.append(section, kind.model_validate(fields), _where(node))
        except ValidationError as error:
            title = f"{kind.__name__.removesuffix('Data').lower()} {fields['name']!r}"
            for part in error.errors():
                field = ".".join(str(step) for step in part["loc"])
                self.report.problem(node, f"{title}: {field}: {part['msg'].removeprefix('Value error, ')}")

    def _body(self, name: str, inertial: Inertial, X: Pose, shapes: list[Shape], node: Node | None) -> None:
        I = self._possible(name, inertial)
        entries = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        fields = {"mass": inertial.mass, "com": tuple(inertial.com), "pose": placement(X), "shapes": tuple(shapes)}
        inertia = entries[:3] if not any(entries[3:]) else entries
        self._add("bodies", Body, node, {"name": name, "inertia": inertia, "frame": "body", **fields})

    def _possible(self, name: str, inertial: Inertial) -> np.ndarray:
        """The inertia without the round-off of moving it about and, if asked for, made possible."""
        I = inertial.central
        dust = 1e-14 * (np.abs(I).max() + inertial.mass * (inertial.com @ inertial.com))
        I = np.where(np.abs(I) < dust, 0.0, I)
        if not self.repair_inertia or not np.all(np.isfinite(I)):
            return I
        (a, b, c), axes = np.linalg.eigh(I)
        a, b = max(a, 0.0), max(b, 0.0)
        if np.allclose((a, b, min(c, a + b)), np.linalg.eigvalsh(I), rtol=1e-9, atol=dust):
            return I
        self.report.note("impossible inertia repaired (largest moment reduced to the sum of the others); bodies", name)
        repaired = axes @ np.diag([a, b, min(c, a + b)]) @ axes.T
        return (repaired + repaired.T) / 2

    def _joint(self, link: Link) -> None:
        host, X = self.locate(link.parent)
        joint = link.joint
        name = self.joints[joint.name] = self._joint_names.new(joint.name)
        fields = {
            "frame_1": placement(X @ joint.X_1P),
            "frame_2": placement(joint.X_2S),
            "reference": joint.reference,
            "armature": joint.armature or None,
            **joint.more,
        }
        bodies = (host, self.bodies[link.name])
        fields |= {"name": name, "kind": joint.kind, "bodies": bodies}
        self._add("joints", data_of(joint.kind), joint.node or link.node, fields)

    def _loop(self, loop: Loop) -> None:
        (first, X_1), (second, X_2) = (self.locate(link) for link in loop.links)
        if first == second:
            message = f"{loop.node.label}: closes a loop between two links that are one rigid body"
            self.report.problem(loop.node, message, "remove it, or read the file with merge_fixed=False")
            return
        name = self.joints[loop.name] = self._joint_names.new(loop.name)
        frames = {"frame_1": placement(X_1 @ loop.frames[0]), "frame_2": placement(X_2 @ loop.frames[1])}
        fields = {"name": name, "kind": loop.kind, "bodies": (first, second), "cut": True}
        self._add("joints", data_of(loop.kind), loop.node, {**fields, **frames, **loop.more})

    # Extras

    def force(self, kind: type[Element], name: str, node: Node | None, **fields: Any) -> None:
        """Add a force of the catalog."""
        self._add("forces", kind, node, {"name": self._force_names.new(name), **fields})

    def constraint(self, kind: type[Element], name: str, node: Node, **fields: Any) -> None:
        """Add a constraint of the catalog."""
        self._add("constraints", kind, node, {"name": self._constraint_names.new(name), **fields})

    def limit(self, joint: str, node: Node, lower: float | None, upper: float | None) -> None:
        """Add end stops of a joint with one coordinate."""
        of = reference("q", self.joints[joint])
        self.constraint(Limit, f"{self.joints[joint]} limit", node, of=of, lower=lower, upper=upper)

    def add_friction(self, joint: str, node: Node, constant: float) -> None:
        """Add friction without load to a joint with one coordinate."""
        if constant:
            name = self.joints[joint]
            self.constraint(Friction, f"{name} friction", node, joint=name, constant=constant)

    def finish(self) -> Model:
        """The model, valid, with its notes.

        Raises:
            ModelError: listing everything that is wrong.
        """
        self.report.raise_if_any()
        found = problems(self.model)
        if any(problem.path.endswith(".inertia") for problem in found):
            fix = "fix the file, or read it with repair_inertia=True"
            found = [replace(part, fix=fix) if part.path.endswith(".inertia") else part for part in found]
        if found:
            raise ModelError(found)
        self.model.notes = self.report.notes
        return self.model


def _where(node: Node | None) -> str:
    return "" if node is None else node.where


def _drawn(name: str, shapes: list[dict[str, Any]], X: Pose) -> list[Shape]:
    """Shapes of a link that has pose X in the body that carries it."""
    made: list[Shape] = []
    for fields in shapes:
        own: dict[str, Any] = {"name": name[:200], **fields, "pose": placement(X @ fields["pose"]), "frame": "body"}
        made.append(Shape(**own))
    return made
