"""URDF: links and joints of a robot, with the extensions that close loops.

Conventions converted from: link frames are the body frames; the zero of a joint is its zero; rpy turns about fixed
axes; axes are given in the frame of the joint, which is that of the child link at zero; inertia in the axes of the
inertial's origin.

Reference: http://wiki.ros.org/urdf/XML; ``loop_joint`` as in Isaac Sim; ``drake:`` elements as in Drake.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.constraints import Coupler
from dalembert.expressions import reference
from dalembert.forces import JointForce, TorsionalSpring
from dalembert.io.mesh_files import MeshFiles
from dalembert.io.report import Report
from dalembert.io.robot import Inertial, Joint, Link, Loop, Robot, along, pose_of
from dalembert.io.xml_data import Node, clip
from dalembert.model import Model
from dalembert.spatial import Pose

__all__ = ["read_urdf"]

# Kind of the catalog, number of velocities, and whether the axis places it.
JOINTS = {
    "revolute": ("revolute", 1, True), "continuous": ("revolute", 1, True), "prismatic": ("prismatic", 1, True),
    "fixed": ("fixed", 0, False), "floating": ("free", 6, False), "planar": ("planar", 3, True),
    "ball": ("spherical", 3, False), "spherical": ("spherical", 3, False), "universal": ("universal", 2, False),
    "screw": ("screw", 1, True),
}  # fmt: skip
_LINK_PARTS = ("inertial", "visual", "collision", "collision_checking", "contact")
_JOINT_PARTS = (
    "origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller",
    "drake:screw_thread_pitch",
)  # fmt: skip
_ROBOT_PARTS = (
    "link", "joint", "drake:joint", "loop_joint", "drake:ball_constraint", "transmission", "gazebo", "material",
)  # fmt: skip


def read_urdf(
    root: Node,
    *,
    base: str = "fixed",
    merge_fixed: bool = True,
    package_dirs: Any = (),
    repair_inertia: bool = False,
    limits: bool = False,
    friction: bool = False,
) -> Model:
    """The model of a URDF document.

    Args:
        base: "fixed": the root link is part of the ground; "free": it floats, by a joint called ``root_joint``.
        merge_fixed: put links on fixed joints into the link that carries them; their names stay on shapes.
        package_dirs: folders in which ``package://`` looks for packages, besides those around the file.
        repair_inertia: change inertias that no rigid body has, with a note, instead of a warning.
        limits: True: position limits of joints become rigid end stops (constraints of kind ``limit``).
        friction: True: friction of joints sticks and slips (constraints of kind ``friction``).

    Raises:
        ModelError: listing everything that is wrong with the document.
    """
    report = Report()
    if base not in ("fixed", "free"):
        report.problem(None, f"base must be 'fixed' or 'free', got {base!r}")
    robot = Robot(root.get("name"), report, merge_fixed, repair_inertia, limits, friction)
    return _Reader(root, report, MeshFiles(root.file, package_dirs, report), robot).read(base)


class _Reader:
    def __init__(self, root: Node, report: Report, meshes: MeshFiles, robot: Robot):
        self.root, self.report, self.meshes, self.robot = root, report, meshes, robot
        self.materials = {node.get("name"): node for node in root.all("material") if node.children}
        self.armatures = self._armatures()
        self.joint_nodes: dict[str, Node] = {}

    def read(self, base: str) -> Model:
        root, report = self.root, self.report
        for node in root.walk():
            if node.tag.startswith("xacro:"):
                report.problem(node, f"{node.tag}: this is xacro, not URDF", "run xacro on the file first")
                report.raise_if_any()
        links = self._links()
        parents = self._parents(links)
        if not report.problems:
            self._check_tree(links, parents)
        self._extensions()
        for name, node in links.items():
            self.robot.links[name] = self._link(name, node, parents.get(name), base)
        for node in root.all("loop_joint", "drake:ball_constraint"):
            self._loop(node, links)
        report.raise_if_any()
        if not self.robot.build().bodies:
            self.report.problem(self.root, "nothing in the robot can move", 'read it with base="free"')
        for name, node in self.joint_nodes.items():
            self._dynamics(name, node)
            self._limit(name, node)
            self._mimic(name, node)
        return self.robot.finish()

    # Structure

    def _links(self) -> dict[str, Node]:
        links: dict[str, Node] = {}
        for node in self.root.all("link"):
            name = self.report.text(node, "name")
            if name in links:
                self.report.problem(node, f"{node.label}: the name is used twice, first at {links[name].where}")
            links.setdefault(name, node)
        if not links:
            self.report.problem(self.root, "the robot has no links", '<link name="base"/>')
        return links

    def _parents(self, links: dict[str, Node]) -> dict[str, Node]:
        """The joint above each link that has one."""
        above: dict[str, Node] = {}
        for node in self.root.all("joint", "drake:joint"):
            name = self.report.text(node, "name")
            if name in self.joint_nodes:
                self.report.problem(node, f"{node.label}: the name is used twice")
                continue
            self.joint_nodes[name] = node
            ends: dict[str, str] = {}
            for key in ("parent", "child"):
                end = node.first(key)
                link = "" if end is None else end.get("link")
                if not link:
                    self.report.problem(node, f"{node.label}: {key} is missing", f'<{key} link="…"/>')
                elif link not in links:
                    self.report.problem(end, f"{node.label}: {key}: unknown link {clip(link)!r}")
                ends[key] = link
            if ends["child"] in above:
                other = above[ends["child"]].label
                message = f"{node.label}: link {clip(ends['child'])!r} is already the child of {other}"
                self.report.problem(node, message, "close loops with <loop_joint>")
            above.setdefault(ends["child"], node)
        return above

    def _check_tree(self, links: dict[str, Node], above: dict[str, Node]) -> None:
        """One root, and every link below it."""
        roots = [name for name in links if name not in above]
        if len(roots) > 1:
            names = ", ".join(clip(name) for name in roots[:8])
            self.report.problem(self.root, f"the robot has {len(roots)} roots: {names}", "join them to one link")
        reached: set[str] = set()
        sure = set(roots)
        for name in links:
            path = [name]
            while path[-1] not in sure and path[-1] not in reached:
                reached.add(path[-1])
                path.append(_parent(above[path[-1]]))
            if path[-1] in sure:
                sure.update(path)
                continue
            if path[-1] in path[:-1]:
                cycle = path[path.index(path[-1]) :]
                text = " → ".join(clip(link) for link in reversed(cycle[:8]))
                self.report.problem(above[cycle[0]], f"the links form a cycle: {text}", "close loops with <loop_joint>")

    # Links

    def _link(self, name: str, node: Node, joint: Node | None, base: str) -> Link:
        self.report.unread_children(node, _LINK_PARTS)
        if node.first("collision") is not None:
            self.report.note("collision geometry is not part of the model; links", name)
        inertial = self._inertial(node)
        shapes = [shape for visual in node.all("visual") if (shape := self._visual(visual, name))]
        identity = Pose.identity(NUMPY)
        if joint is None:
            free = base == "free"
            top = Joint("root_joint", "free" if free else "fixed", identity, identity, node)
            top.reference = (1, 0, 0, 0, 0, 0, 0) if free else None
            return Link(name, None, identity, top, node, inertial, shapes)
        X = self._origin(joint)
        if node.first("inertial") is None and joint.get("type") != "fixed":
            self.report.note("links without inertial, taken as massless", name)
        return Link(name, _parent(joint), X, self._joint(joint, X), node, inertial, shapes)

    def _origin(self, node: Node) -> Pose:
        origin = node.first("origin")
        return pose_of(self.report.vector(origin, "xyz", 3, (0, 0, 0)), self.report.vector(origin, "rpy", 3, (0, 0, 0)))

    def _inertial(self, link: Node) -> Inertial:
        node = link.first("inertial")
        if node is None:
            return Inertial()
        mass, inertia = node.first("mass"), node.first("inertia")
        if mass is None or "value" not in mass.attributes:
            self.report.problem(node, f"{link.label}: inertial: mass is missing", '<mass value="1"/>')
        if inertia is None:
            self.report.note("links with mass but without inertia, taken as points", link.get("name"))
        keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        xx, yy, zz, xy, xz, yz = (self.report.number(inertia, key, 0.0) for key in keys)
        X = self._origin(node)
        central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Inertial(self.report.number(mass, "value", 0.0), np.zeros(3), central).seen_from(X)

    def _visual(self, node: Node, link: str) -> dict[str, Any] | None:
        geometry = node.first("geometry")
        solid = geometry.children[0] if geometry is not None and geometry.children else None
        if solid is None:
            self.report.note("visuals without geometry", link)
            return None
        kind = solid.tag.removeprefix("drake:")
        shape: dict[str, Any] = {"kind": kind, "pose": self._origin(node), **self._paint(node.first("material"))}
        if kind == "box":
            shape["size"] = tuple(self.report.vector(solid, "size", 3, (0, 0, 0)))
        elif kind in ("cylinder", "capsule", "sphere"):
            for key in ("radius", "length")[: 1 if kind == "sphere" else 2]:
                shape[key] = self.report.number(solid, key, 0.0)
        elif kind == "mesh":
            file = self.meshes.find(solid, solid.get("filename"))
            if file is None:
                return None
            scale = self.report.vector(solid, "scale", 3)
            shape |= {"file": file, "scale": None if scale is None else tuple(scale)}
        else:
            self.report.note("visuals that cannot be drawn", f"{kind} of {link}")
            return None
        if any(value <= 0 for value in (*shape.get("size", ()), shape.get("radius", 1), shape.get("length", 1))):
            self.report.note("visuals without a size", f"{kind} of {link}")
            return None
        return shape

    def _paint(self, material: Node | None) -> dict[str, Any]:
        """Color and opacity of a material, given in place or by its name."""
        if material is not None and not material.children:
            material = self.materials.get(material.get("name"), material)
        if material is None:
            return {}
        if material.first("texture") is not None:
            self.report.note("textures are not drawn; materials", material.get("name"))
        rgba = self.report.vector(material.first("color"), "rgba", 4)
        return {} if rgba is None else paint(rgba)

    # Joints

    def _joint(self, node: Node, X: Pose) -> Joint:
        report, name = self.report, node.get("name")
        report.unread_children(node, _JOINT_PARTS)
        kind, _, placed = self._kind(node)
        frame = self._axis(node) if placed else Pose.identity(NUMPY)
        if node.first("limit") is not None:
            what = "velocity, effort" if self.robot.limits else "position, velocity, effort"
            report.note(f"joint limits ({what}) are not part of the model; joints", name)
        for part in node.all("safety_controller", "calibration"):
            report.note(f"{part.tag} is not part of the model; joints", name)
        joint = Joint(name, kind, X @ frame, frame, node, armature=self.armatures.get(name, 0.0))
        if kind == "screw":
            joint.more["pitch"] = self._pitch(node)
        return joint

    def _kind(self, node: Node) -> tuple[str, int, bool]:
        given = node.get("type")
        if given not in JOINTS:
            what = "unknown" if given else "missing"
            known = ", ".join(JOINTS)
            self.report.problem(node, f"{node.label}: type {clip(given)!r} is {what}", f"one of {known}")
        return JOINTS.get(given, ("fixed", 0, False))

    def _axis(self, node: Node) -> Pose:
        axis = self.report.vector(node.first("axis"), "xyz", 3, (1, 0, 0))
        if not axis.any():
            self.report.problem(node, f"{node.label}: axis must not be zero, got [0, 0, 0]", '<axis xyz="0 0 1"/>')
            axis = np.array([1.0, 0, 0])
        return along(axis)

    def _pitch(self, node: Node) -> float:
        pitch = self.report.number(node.first("drake:screw_thread_pitch"), "value")
        if not pitch:
            fix = '<drake:screw_thread_pitch value="0.01"/>, in meters per revolution'
            self.report.problem(node, f"{node.label}: a screw needs its pitch", fix)
        return pitch or 1.0

    def _limit(self, name: str, node: Node) -> None:
        """Position limits become end stops, if that is wanted."""
        limit = node.first("limit")
        if limit is None or not self.robot.limits or node.get("type") not in ("revolute", "prismatic"):
            return
        lower, upper = (self.report.number(limit, key, 0.0) for key in ("lower", "upper"))
        self.robot.limit(name, limit, lower, upper)

    def _dynamics(self, name: str, node: Node) -> None:
        """Damping becomes a force; friction sticks and slips, if that is wanted."""
        dynamics, count = node.first("dynamics"), JOINTS[node.get("type")][1]
        if dynamics is None:
            return
        self.report.unread(dynamics, ("damping", "friction"))
        constant = self.report.numbers(dynamics, "friction") or []
        if self.robot.friction and count == 1 and len(constant) == 1:
            self.robot.add_friction(name, dynamics, constant[0])
        elif any(constant):
            self.report.note("joint friction is not part of the model; joints", name)
        damping = self.report.numbers(dynamics, "damping") or [0.0]
        values = damping * count if len(damping) == 1 else damping
        if len(values) != count and any(values):
            self.report.problem(dynamics, f"{node.label}: damping: expected 1 or {count} numbers, got {len(values)}")
            return
        joint = self.robot.joints.get(name, "")
        for i, c in enumerate(values[:count]):
            label = f"{joint} damping" if count == 1 else f"{joint} damping {i}"
            if c and count == 1:
                self.robot.force(TorsionalSpring, label, dynamics, joint=joint, damping=c)
            elif c:
                value = -c * reference("u", joint, i)
                self.robot.force(JointForce, label, dynamics, joint=joint, index=i, value=value)

    def _mimic(self, name: str, node: Node) -> None:
        """q = multiplier · q_other + offset."""
        mimic = node.first("mimic")
        if mimic is None:
            return
        if node.get("type") == "fixed":
            self.report.note("mimic of a fixed joint has no effect; joints", name)
            return
        other = mimic.get("joint")
        for joint in (name, other):
            kind = "" if joint not in self.joint_nodes else self.joint_nodes[joint].get("type")
            if JOINTS.get(kind, ("", 0))[1] != 1:
                what = "unknown joint" if not kind else f"a {kind} joint has no single coordinate:"
                self.report.problem(mimic, f"{node.label}: mimic: {what} {clip(joint)!r}")
                return
        if name == other:
            self.report.problem(mimic, f"{node.label}: mimics itself", "name another joint")
            return
        multiplier, offset = (
            self.report.number(mimic, key, value) for key, value in (("multiplier", 1), ("offset", 0))
        )
        first, second = self.robot.joints[name], self.robot.joints[other]
        terms = {first: 1, second: -multiplier}
        self.robot.constraint(Coupler, f"{first} mimic", mimic, terms=terms, offset=offset)

    # Extensions

    def _extensions(self) -> None:
        self.report.unread_children(self.root, _ROBOT_PARTS)
        for node in self.root.all("drake:linear_bushing_rpy", "drake:linear_spring_damper", "drake:tendon_constraint"):
            fix = "remove it and add a bushing, spring or constraint in Python"
            self.report.problem(node, f"{node.tag} is not supported", fix)
        for node in self.root.all("gazebo"):
            for child in node.children:
                if child.tag == "joint":
                    fix = 'write it as <loop_joint>, with <link1 link="…" xyz="…"/> and <link2 …/>'
                    self.report.problem(child, f"gazebo {child.label}: closes a loop", fix)
                else:
                    self.report.note("elements of gazebo not read", child.tag)

    def _armatures(self) -> dict[str, float]:
        """Reflected rotor inertia  n² J  of each joint, from transmissions with Drake's elements."""
        found: dict[str, float] = {}
        for node in self.root.all("transmission"):
            joint, actuator = node.first("joint"), node.first("actuator")
            self.report.note("transmissions are not part of the model", node.get("name"))
            rotor = None if actuator is None else actuator.first("drake:rotor_inertia")
            if joint is None or actuator is None or rotor is None:
                continue
            ratio = self.report.number(actuator.first("drake:gear_ratio"), "value", 1.0)
            found[joint.get("name")] = ratio**2 * self.report.number(rotor, "value", 0.0)
        return found

    def _loop(self, node: Node, links: dict[str, Node]) -> None:
        """A joint that closes a loop, in one of two spellings."""
        if node.tag == "drake:ball_constraint":
            keys = ("drake:ball_constraint_body_A", "drake:ball_constraint_body_B")
            names = [part.get("name") if (part := node.first(key)) is not None else "" for key in keys]
            keys = ("drake:ball_constraint_p_AP", "drake:ball_constraint_p_BQ")
            points = [self.report.vector(node.first(key), "value", 3, (0, 0, 0)) for key in keys]
            kind, frames = "ball", [pose_of(point, (0, 0, 0)) for point in points]
        else:
            ends = [node.first("link1"), node.first("link2")]
            names = ["" if end is None else end.get("link") for end in ends]
            kind = node.get("type")
            frames = [
                pose_of(self.report.vector(end, "xyz", 3, (0, 0, 0)), self.report.vector(end, "rpy", 3, (0, 0, 0)))
                for end in ends
            ]
        for name in names:
            if name not in links:
                self.report.problem(node, f"{node.label}: unknown link {clip(name)!r}")
                return
        if kind not in JOINTS or JOINTS[kind][0] == "free":
            known = ", ".join(name for name in JOINTS if name != "floating")
            self.report.problem(node, f"{node.label}: type {clip(kind)!r} cannot close a loop", f"one of {known}")
            return
        frame = self._axis(node) if JOINTS[kind][2] else Pose.identity(NUMPY)
        more = {"pitch": self._pitch(node)} if kind == "screw" else {}
        name = node.get("name") or f"{names[0]} {names[1]} loop"
        first, second = (X @ frame for X in frames)
        self.robot.loops.append(Loop(name, JOINTS[kind][0], (names[0], names[1]), (first, second), node, more))


def _parent(joint: Node) -> str:
    end = joint.first("parent")
    return "" if end is None else end.get("link")


def paint(rgba: Any) -> dict[str, Any]:
    """Color and opacity of four numbers from 0 to 1."""
    r, g, b, a = (min(max(float(value), 0.0), 1.0) for value in rgba)
    return {"color": f"#{round(255 * r):02x}{round(255 * g):02x}{round(255 * b):02x}", "opacity": a}
