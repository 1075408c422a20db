"""MJCF: the models of MuJoCo.

Conventions converted from: body frames are the bodies' own; a hinge or slide coordinate is qpos, whose value as drawn
is ``ref``; a free joint's qpos is (position, quaternion) and its velocities (v in world axes, ω in body axes), ours are
(quaternion, position) and (ω, v) in body axes; equality constraints hold exactly.

Reference: https://mujoco.readthedocs.io/en/stable/XMLreference.html.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.elements import Placement
from dalembert.expressions import reference
from dalembert.forces import JointForce, PointForce, TorsionalSpring
from dalembert.io.mesh_files import MeshFiles
from dalembert.io.mjcf_extras import Extras
from dalembert.io.mjcf_geoms import Geoms
from dalembert.io.mjcf_settings import Settings, expand
from dalembert.io.report import Report
from dalembert.io.robot import FRAME_LENGTH, Inertial, Joint, Link, Robot, along
from dalembert.io.xml_data import Node, clip
from dalembert.model import Model
from dalembert.spatial import Pose, quaternion, so3

__all__ = ["read_mjcf"]

KINDS = {"hinge": ("revolute", 1), "slide": ("prismatic", 1), "ball": ("spherical", 3), "free": ("free", 6)}
_ROOT_PARTS = ("compiler", "option", "default", "asset", "worldbody", "equality", "actuator", "keyframe")
_UNBUILDABLE = ("composite", "flexcomp", "attach", "replicate")
_JOINT = (
    "name", "class", "type", "pos", "axis", "ref", "stiffness", "springref", "damping", "armature", "frictionloss",
    "range", "limited", "actuatorfrcrange", "actuatorfrclimited", "solreflimit", "solimplimit", "solreffriction",
    "solimpfriction", "margin", "group", "user", "align",
)  # fmt: skip


def read_mjcf(
    root: Node,
    *,
    merge_fixed: bool = True,
    package_dirs: Any = (),
    repair_inertia: bool = False,
    keyframe: str | int = 0,
    limits: bool = False,
    friction: bool = False,
) -> Model:
    """The model of an MJCF document.

    Args:
        merge_fixed: put bodies without joints into the body that carries them; their names stay on shapes.
        package_dirs: folders in which ``package://`` looks for packages.
        repair_inertia: change inertias that no rigid body has, with a note, instead of a warning.
        keyframe: which key gives the initial state, by name or number.
        limits: True: ranges of hinges and slides become rigid end stops (constraints of kind ``limit``).
        friction: True: ``frictionloss`` of hinges and slides sticks and slips (constraints of kind ``friction``).

    Raises:
        ModelError: listing everything that is wrong with the document.
    """
    report = Report()
    root = expand(root, report)
    report.raise_if_any()
    robot = Robot(root.get("model"), report, merge_fixed, repair_inertia, limits, friction)
    return _Reader(root, report, robot, package_dirs).read(keyframe)


class _Reader:
    def __init__(self, root: Node, report: Report, robot: Robot, package_dirs: Any):
        self.root, self.report, self.robot = root, report, robot
        self.settings = Settings.of(root, report)
        self.geoms = Geoms(self.settings, MeshFiles(root.file, package_dirs, report), root.all("asset"))
        self.extras = Extras(self.settings, robot)
        self.gravity = self._gravity()
        self.joint_nodes: list[tuple[str, Node]] = []
        self.floating_on_air: list[tuple[str, Node, float]] = []

    def read(self, keyframe: str | int) -> Model:
        report, root, robot = self.report, self.root, self.robot
        report.unread_children(root, _ROOT_PARTS)
        for node in root.all("worldbody"):
            self._world(node)
        self._bounds()
        self.extras.close_loops(root)
        report.raise_if_any()
        robot.model.gravity = Placement.model_validate(tuple(self.gravity)).position
        if not robot.build().bodies:
            report.problem(root, "nothing in the model can move", "give a body a joint")
            report.raise_if_any()
        for name, node in self.joint_nodes:
            self._forces(name, node)
        for body, node, share in self.floating_on_air:
            self._compensate(body, node, share)
        self.extras.couple(root)
        self.extras.actuate(root)
        self.extras.start(root, keyframe)
        return robot.finish()

    def _gravity(self) -> np.ndarray:
        gravity = np.array([0, 0, -9.81])
        for node in self.root.all("option"):
            gravity = self.report.vector(node, "gravity", 3, gravity)
            self.report.unread(node, ("gravity",))
            for flag in node.all("flag"):
                if flag.get("gravity") == "disable":
                    gravity = np.zeros(3)
                self.report.unread(flag, ("gravity",))
        return gravity

    # Bodies

    def _world(self, node: Node) -> None:
        ground = Link("world", None, Pose.identity(NUMPY), _weld("world", Pose.identity(NUMPY)), node)
        _, _, bodies = self._contents(node, ground, Pose.identity(NUMPY), node.get("childclass"), weigh=False)
        self.robot.ground_shapes += ground.shapes
        for child, X, childclass in bodies:
            self._body(child, ground, X, childclass)

    def _contents(
        self, node: Node, link: Link, X: Pose, childclass: str, weigh: bool
    ) -> tuple[Inertial, list[Any], list[Any]]:
        """Geoms and sites of a body and of the frames inside it, put on the link.

        Args:
            X: pose of the frame that is open, in the body.
            weigh: whether the geoms give the body its inertia.

        Returns:
            The inertia of the geoms; joints with the pose of their frame; bodies with that pose and their class.
        """
        joints: list[Any] = []
        bodies: list[Any] = []
        settings, total = self.settings, Inertial()
        for child in node.children:
            if child.tag == "geom":
                inertial, shape = self.geoms.read(settings.full(child, childclass), X, link.name, weigh)
                total = total + inertial
                link.shapes += [] if shape is None else [shape]
            elif child.tag == "site":
                self._site(settings.full(child, childclass), link, X)
            elif child.tag in ("joint", "freejoint"):
                joints.append((child if child.tag == "freejoint" else settings.full(child, childclass), X))
            elif child.tag == "frame":
                inner = child.get("childclass") or childclass
                found = self._contents(child, link, X @ settings.pose(child), inner, weigh)
                total, joints, bodies = total + found[0], joints + found[1], bodies + found[2]
            elif child.tag == "body":
                bodies.append((child, X, childclass))
            elif child.tag in _UNBUILDABLE:
                self.report.problem(child, f"{child.label}: {child.tag} is not supported", "write the bodies out")
            elif child.tag != "inertial":
                self.report.note("elements of bodies not read", child.tag)
        return total, joints, bodies

    def _body(self, node: Node, parent: Link, X_frame: Pose, childclass: str) -> None:
        self.report.unread(
            node, ("name", "childclass", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "gravcomp", "mocap")
        )
        given = node.get("name") or self._free_name()
        if given in self.extras.world or given == "world":
            self.report.problem(node, f"{node.label}: the name is used twice")
            return
        X = X_frame @ self.settings.pose(node)
        on_ground = parent.name == "world"
        link = Link(given, None if on_ground else parent.name, X, _weld(given, X), node)
        self.extras.world[given] = (Pose.identity(NUMPY) if on_ground else self.extras.world[parent.name]) @ X
        if self.report.flag(node, "mocap", False):
            self.report.note("mocap bodies are taken as fixed", given)
        own = node.get("childclass") or childclass
        rule = self.settings.compiler.get("inertiafromgeom", "auto")
        weigh = rule == "true" or (rule == "auto" and node.first("inertial") is None)
        inside, joints, bodies = self._contents(node, link, Pose.identity(NUMPY), own, weigh)
        if weigh and joints and not inside.mass:
            self.report.note("bodies without mass", given)
        link.inertial = inside if weigh else self._inertial(node)
        if joints:
            self._hang(link, joints, on_ground)
        else:
            self.robot.links[given] = link
        share = self.report.number(node, "gravcomp", 0.0)
        if share:
            self.floating_on_air.append((given, node, share))
        for child, X_child, inner in bodies:
            self._body(child, link, X_child, inner)

    def _free_name(self) -> str:
        count = len(self.extras.world) + 1
        while f"body {count}" in self.extras.world:
            count += 1
        return f"body {count}"

    def _inertial(self, node: Node) -> Inertial:
        given = node.first("inertial")
        if given is None:
            self.report.problem(node, f"{node.label}: inertial is missing", "and inertiafromgeom is false")
            return Inertial()
        for key in ("pos", "mass"):
            self.report.text(given, key)
        full = self.report.vector(given, "fullinertia", 6)
        X, central = self.settings.pose(given), np.diag(self.report.vector(given, "diaginertia", 3, (0, 0, 0)))
        if full is not None:
            xx, yy, zz, xy, xz, yz = full
            central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Inertial(self.report.number(given, "mass", 0.0), np.zeros(3), central).seen_from(X)

    def _bounds(self) -> None:
        """What the compiler does to all masses: lower bounds, balance, a given total."""
        compiler, links = self.settings.compiler, [link for link in self.robot.links.values() if link.node is not None]
        least, least_inertia, total = (
            self.report.number(compiler, key, 0.0) for key in ("boundmass", "boundinertia", "settotalmass")
        )
        balance = self.report.flag(compiler, "balanceinertia", False)
        real = [link for link in links if link.name in self.extras.world]
        for link in real:
            inertial = link.inertial
            inertial.mass = max(inertial.mass, least)
            if (balance or least_inertia) and np.all(np.isfinite(inertial.central)):
                moments, axes = np.linalg.eigh(inertial.central)
                if balance and moments[0] + moments[1] < moments[2]:
                    moments = np.full(3, moments.mean())
                inertial.central = axes @ np.diag(np.maximum(moments, least_inertia)) @ axes.T
        mass = sum(link.inertial.mass for link in real)
        if total > 0 and mass > 0:
            for link in real:
                link.inertial.mass *= total / mass
                link.inertial.central = link.inertial.central * (total / mass)

    def _site(self, node: Node, link: Link, X: Pose) -> None:
        name, X = node.get("name"), X @ self.settings.pose(node)
        if name:
            self.extras.sites[name] = (None if link.name == "world" else link.name, X)
            fields = {"name": name[:200], "kind": "frame", "length": FRAME_LENGTH, "opacity": 0.0, "pose": X}
            link.shapes.append(fields)

    # Joints

    def _hang(self, link: Link, joints: list[tuple[Node, Pose]], on_ground: bool) -> None:
        """Several joints in one body become a chain of massless bodies."""
        made: list[Joint] = []
        for i, (node, X) in enumerate(joints):
            name = node.get("name") or (link.name if len(joints) == 1 else f"{link.name} joint {i + 1}")
            made.append(self._joint(node, X, name, link, alone=len(joints) == 1 and on_ground))
            self.joint_nodes.append((name, node))
        names = [f"{link.name} {joint.name}" for joint in made[:-1]] + [link.name]
        parent, X_PL = link.parent, link.X_PL
        for name, joint in zip(names, made, strict=True):
            joint.X_1P = X_PL @ joint.X_1P if joint.kind != "free" else joint.X_1P
            own = link if name == link.name else Link(name, parent, X_PL, joint, joint.node)
            own.parent, own.X_PL, own.joint = parent, X_PL, joint
            self.robot.links[name] = own
            parent, X_PL = name, Pose.identity(NUMPY)

    def _joint(self, node: Node, X: Pose, name: str, link: Link, alone: bool) -> Joint:
        report = self.report
        report.unread(node, _JOINT)
        kind = "free" if node.tag == "freejoint" else node.get("type", "hinge")
        if any(joint == name for joint, _ in self.joint_nodes):
            report.problem(node, f"{node.label}: the name is used twice")
        if kind not in KINDS:
            report.problem(node, f"{node.label}: unknown type {clip(kind)!r}", f"one of {', '.join(KINDS)}")
            kind = "hinge"
        armature = report.number(node, "armature", 0.0)
        for key, what in (("range", "joint limits are"), ("frictionloss", "joint friction (frictionloss) is")):
            read = (
                self._is_limited(node, kind) if key == "range" else self.robot.friction and kind in ("hinge", "slide")
            )
            if any(report.numbers(node, key) or ()) and not read:
                report.note(f"{what} not part of the model; joints", name)
        identity = Pose.identity(NUMPY)
        if kind == "free":
            if not alone:
                report.problem(node, f"{node.label}: a free joint must be alone in a body of the world")
            start = (*quaternion.from_matrix(NUMPY, link.X_PL.R), *link.X_PL.p)
            self.extras.joints[name] = (kind, 0.0)
            return Joint(name, "free", identity, identity, node, tuple(float(x) for x in start), armature)
        point = X.apply(report.vector(node, "pos", 3, (0, 0, 0)))
        if kind == "ball":
            self.extras.joints[name] = (kind, 0.0)
            frame = Pose(np.eye(3), point)
            return Joint(name, "spherical", frame, frame, node, (1.0, 0.0, 0.0, 0.0), armature)
        axis = X.R @ report.vector(node, "axis", 3, (0, 0, 1))
        if not axis.any():
            report.problem(node, f"{node.label}: axis must not be zero, got [0, 0, 0]", 'axis="0 0 1"')
            axis = np.array([0.0, 0, 1])
        frame, ref = along(axis, point), self._angle(node, kind, "ref")
        back = identity
        if ref:
            back = (
                Pose(so3.rotation_z(NUMPY, -ref), np.zeros(3))
                if kind == "hinge"
                else Pose(np.eye(3), np.array([0, 0, -ref]))
            )
        self.extras.joints[name] = (kind, ref)
        return Joint(name, KINDS[kind][0], frame @ back, frame, node, (ref,), armature)

    def _is_limited(self, node: Node, kind: str) -> bool:
        """Whether the range of a joint is read as end stops."""
        return self.robot.limits and kind in ("hinge", "slide") and node.get("limited", "auto") != "false"

    def _angle(self, node: Node, kind: str, key: str) -> float:
        return self.report.number(node, key, 0.0) * (self.settings.radians if kind == "hinge" else 1.0)

    def _forces(self, name: str, node: Node) -> None:
        """Springs and dampers of a joint."""
        kind = "free" if node.tag == "freejoint" else node.get("type", "hinge")
        count, joint = KINDS[kind][1], self.robot.joints[name]
        ends = self.report.numbers(node, "range") or ()
        if any(ends) and len(ends) == 2 and self._is_limited(node, kind):
            unit = self.settings.radians if kind == "hinge" else 1.0
            self.robot.limit(name, node, ends[0] * unit, ends[1] * unit)
        if self.robot.friction and count == 1:
            self.robot.add_friction(name, node, (self.report.numbers(node, "frictionloss") or [0.0])[0])
        values: dict[str, float] = {}
        for key in ("stiffness", "damping"):
            numbers = self.report.numbers(node, key) or [0.0]
            values[key] = numbers[0]
            if any(numbers[1:]):
                self.report.note(f"polynomial {key} is not part of the model; joints", name)
        if count == 1 and any(values.values()):
            rest = self._angle(node, kind, "springref")
            self.robot.force(TorsionalSpring, f"{joint} spring", node, joint=joint, angle=rest, **values)
            return
        if values["stiffness"]:
            self.report.note("stiffness of ball and free joints is not part of the model; joints", name)
        for i in range(count if values["damping"] else 0):
            value = -values["damping"] * reference("u", joint, i)
            self.robot.force(JointForce, f"{joint} damping {i}", node, joint=joint, index=i, value=value)

    def _compensate(self, link: str, node: Node, share: float) -> None:
        """Gravity compensation: a force against the weight, at the center of mass."""
        (body, X), inertial = self.robot.locate(link), self.robot.links[link].inertial
        if body != "ground":
            lift = tuple(-share * inertial.mass * self.gravity)
            at = tuple(X.apply(inertial.com))
            self.robot.force(PointForce, f"{body} gravcomp", node, body=body, value=lift, at=at, frame="body")


def _weld(name: str, X: Pose) -> Joint:
    return Joint(f"{name} weld", "fixed", X, Pose.identity(NUMPY))
