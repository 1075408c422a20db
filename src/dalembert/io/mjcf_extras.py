"""MJCF: equality constraints, actuators and keyframes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra import NUMPY
from dalembert.constraints import Coupler, Equation
from dalembert.coordinates import Relative
from dalembert.equations import Equations
from dalembert.expressions import parameter, reference
from dalembert.forces import JointForce
from dalembert.io.mjcf_settings import Settings
from dalembert.io.robot import Loop, Robot
from dalembert.io.xml_data import Node, clip
from dalembert.model import flatten
from dalembert.spatial import Pose, quaternion

__all__ = ["Extras"]

CLOSED = 1e-8  # residual (m or rad) at which a keyframe satisfies the equality constraints
WORLD = "world"
_SERVOS = ("motor", "position", "velocity", "general")
_TRANSMISSIONS = ("joint", "jointinparent")
# Limits, drawing and what a pure gain has no use for; noted if it is given.
_ACTUATOR = (
    "name", "class", "gear", "kp", "kv", "gainprm", "biasprm", "gaintype", "biastype", "dyntype", *_TRANSMISSIONS,
)  # fmt: skip
_EQUALITY = (
    "name", "class", "active", "body1", "body2", "site1", "site2", "anchor", "relpose", "torquescale",
    "joint1", "joint2", "polycoef", "solref", "solimp",
)  # fmt: skip


@dataclass(frozen=True)
class Servo:
    """Force of an actuator:  gear (gain · ctrl + b₀ + b₁ · gear q + b₂ · gear u)."""

    gain: float
    bias: tuple[float, float, float]


class Extras:
    """What is added to the tree of bodies.

    Attributes:
        world: pose of each body in the world, as drawn.
        sites: body (None for the world) and pose in it of each site.
        joints: kind and ``ref`` of each joint, in the order of qpos.
    """

    def __init__(self, settings: Settings, robot: Robot):
        self.settings, self.report, self.robot = settings, settings.report, robot
        self.world: dict[str, Pose] = {}
        self.sites: dict[str, tuple[str | None, Pose]] = {}
        self.joints: dict[str, tuple[str, float]] = {}

    def _equalities(self, root: Node, *tags: str) -> list[Node]:
        found: list[Node] = []
        for node in (child for section in root.all("equality") for child in section.children):
            full = self.settings.full(node, tags=("equality", node.tag))
            if node.tag not in ("connect", "weld", "joint"):
                self.report.note("equality constraints not read", node.label)
            elif node.tag in tags and self.report.flag(full, "active", True):
                self.report.unread(full, _EQUALITY)
                self.report.note("equality constraints hold exactly here; their solref and solimp are not read")
                found.append(full)
            elif node.tag in tags:
                self.report.note("equality constraints that are not active are left out", node.label)
        return found

    # Loops

    def close_loops(self, root: Node) -> None:
        """connect and weld become joints that close a loop."""
        for i, node in enumerate(self._equalities(root, "connect", "weld")):
            ends = self._ends(node)
            if ends is not None:
                name = node.get("name") or f"{node.tag} {i + 1}"
                kind = "spherical" if node.tag == "connect" else "fixed"
                (first, X_1), (second, X_2) = ends
                self.robot.loops.append(Loop(name, kind, (first, second), (X_1, X_2), node))

    def _ends(self, node: Node) -> list[tuple[str | None, Pose]] | None:
        """The two bodies and the frames on them that stay together."""
        if node.get("site1") or node.get("site2"):
            unknown = [name for key in ("site1", "site2") if (name := node.get(key)) not in self.sites]
            for name in unknown:
                self.report.problem(node, f"{node.label}: unknown site {clip(name)!r}")
            return None if unknown else [self.sites[node.get(key)] for key in ("site1", "site2")]
        names = [self.report.text(node, "body1"), node.get("body2", WORLD)]
        for name in names:
            if name != WORLD and name not in self.world:
                self.report.problem(node, f"{node.label}: unknown body {clip(name)!r}")
                return None
        X_W1, X_W2 = (self.world.get(name, Pose.identity(NUMPY)) for name in names)
        X_12 = X_W1.inverse() @ X_W2
        if node.tag == "connect":
            anchor = Pose(np.eye(3), self.report.vector(node, "anchor", 3, (0, 0, 0)))
            if "anchor" not in node.attributes:
                self.report.problem(node, f"{node.label}: anchor is missing", 'anchor="0 0 0"')
            frames = [anchor, X_12.inverse() @ anchor]
        else:
            relpose = self.report.vector(node, "relpose", 7, (0, 0, 0, 0, 0, 0, 0))
            turn = relpose[3:]
            if turn.any():
                X_12 = Pose(quaternion.to_matrix(NUMPY, turn / np.linalg.norm(turn)), relpose[:3])
            frames = [X_12, Pose.identity(NUMPY)]
        return [(None if name == WORLD else name, X) for name, X in zip(names, frames, strict=True)]

    def couple(self, root: Node) -> None:
        """Equality of joints:  q₁ − ref₁ = Σ cₖ (q₂ − ref₂)ᵏ."""
        for i, node in enumerate(self._equalities(root, "joint")):
            names = [name for key in ("joint1", "joint2") if (name := node.get(key))]
            bad = [name for name in names if self.joints.get(name, ("", 0))[0] not in ("hinge", "slide")]
            if bad or not node.get("joint1"):
                what = clip(bad[0]) if bad else ""
                self.report.problem(node, f"{node.label}: {what!r} is not a hinge or slide")
                continue
            numbers = self.report.numbers(node, "polycoef")
            c = [*(numbers if numbers is not None else [0.0, 1.0]), 0, 0, 0, 0, 0][:5]
            name = node.get("name") or f"joint equality {i + 1}"
            first, ref_1 = self.robot.joints[names[0]], self.joints[names[0]][1]
            if len(names) == 1:
                self.robot.constraint(Coupler, name, node, terms={first: 1}, offset=ref_1 + c[0])
                continue
            second, ref_2 = self.robot.joints[names[1]], self.joints[names[1]][1]
            if not any(c[2:]):
                offset = ref_1 + c[0] - c[1] * ref_2
                self.robot.constraint(Coupler, name, node, terms={first: 1, second: -c[1]}, offset=offset)
                continue
            away = reference("q", second) - sp.Float(ref_2) if ref_2 else reference("q", second)
            start = sp.Float(ref_1) if ref_1 else sp.Integer(0)
            right = sum((sp.Float(value) * away**k for k, value in enumerate(c) if value), start)
            self.robot.constraint(Equation, name, node, formula=reference("q", first) - right)

    # Actuators

    def actuate(self, root: Node) -> None:
        """Motors and linear servos become forces of a control, a parameter that is zero at first."""
        for i, node in enumerate(child for section in root.all("actuator") for child in section.children):
            label = node.get("name") or f"{node.tag} {i + 1}"
            if node.tag not in _SERVOS:
                self.report.note("actuators not read", label)
                continue
            tags = _SERVOS if node.tag == "general" else ("general", node.tag)
            full = self.settings.full(node, tags=tags)
            name = next((full.get(key) for key in _TRANSMISSIONS if full.get(key)), "")
            servo = self._servo(full)
            kind = self.joints.get(name, ("", 0.0))[0]
            if servo is None or kind not in ("hinge", "slide", "ball") or (kind == "ball" and any(servo.bias)):
                self.report.note("actuators not read", label)
                continue
            self.report.unread(full, _ACTUATOR)
            self._force(label, full, self.robot.joints[name], kind, servo)

    def _servo(self, node: Node) -> Servo | None:
        """Gain and bias; None for what is no linear law without memory."""
        report = self.report
        if node.get("dyntype", "none") != "none" or node.get("gaintype", "fixed") != "fixed":
            return None
        if any(key in node.attributes for key in ("dampratio", "timeconst", "inheritrange", "damping", "armature")):
            return None
        kp, kv = report.number(node, "kp"), report.number(node, "kv")
        if node.tag == "motor":
            return Servo(1.0, (0.0, 0.0, 0.0))
        if node.tag == "position" or (node.tag == "general" and kp is not None):
            kp = 1.0 if kp is None else kp
            law, servo = "affine", Servo(kp, (0.0, -kp, -(kv or 0.0)))
        elif node.tag == "velocity" or (node.tag == "general" and kv is not None):
            kv = 1.0 if kv is None else kv
            law, servo = "affine", Servo(kv, (0.0, 0.0, -kv))
        else:
            law, servo = "none", Servo(1.0, (0.0, 0.0, 0.0))
        if node.tag != "general":
            return servo
        # A general actuator starts from the class's servo, if there is one, and overrides its numbers.
        law = node.get("biastype", law)
        if law not in ("none", "affine"):
            return None
        given = report.numbers(node, "biasprm")
        b = servo.bias if given is None else [*given, 0.0, 0.0, 0.0]
        gain = (report.numbers(node, "gainprm") or [servo.gain])[0]
        return Servo(gain, (b[0], b[1], b[2]) if law == "affine" else (0.0, 0.0, 0.0))

    def _force(self, label: str, node: Node, joint: str, kind: str, servo: Servo) -> None:
        name = "ctrl_" + re.sub(r"\W", "_", label, flags=re.ASCII)[:150]
        while name in self.robot.model.parameter_values:
            name += "_"
        control = self.robot.model.parameters(**{name: 0.0})
        gears = [*(self.report.numbers(node, "gear") or [1.0]), 0.0, 0.0][:3]
        for i, gear in enumerate(gears if kind == "ball" else gears[:1]):
            length, speed = gear * reference("q", joint), gear * reference("u", joint)
            value: Any = servo.gain * parameter(control.name)
            value += servo.bias[0] + servo.bias[1] * length + servo.bias[2] * speed if any(servo.bias) else 0
            if gear:
                title = label if kind != "ball" else f"{label} {i}"
                self.robot.force(JointForce, title, node, joint=joint, index=i, value=sp.expand(gear * value))

    # Initial state

    def start(self, root: Node, keyframe: str | int) -> None:
        """The initial state from a keyframe."""
        keys = [key for section in root.all("keyframe") for key in section.all("key")]
        chosen = [key for i, key in enumerate(keys) if keyframe in (i, key.get("name"))]
        if not chosen:
            if keyframe != 0:
                self.report.problem(root, f"there is no keyframe {keyframe!r}")
            return
        for key in keys:
            if key is not chosen[0]:
                self.report.note("keyframes not used", key.get("name") or key.where)
        self.report.unread(chosen[0], ("name", "qpos", "qvel"))
        self._state(chosen[0])

    def _state(self, node: Node) -> None:
        widths = {"hinge": (1, 1), "slide": (1, 1), "ball": (4, 3), "free": (7, 6)}
        sizes = [sum(widths[kind][i] for kind, _ in self.joints.values()) for i in (0, 1)]
        qpos = self.report.vector(node, "qpos", sizes[0])
        qvel = self.report.vector(node, "qvel", sizes[1])
        model, at, rate = self.robot.model, 0, 0
        for name, (kind, _) in self.joints.items():
            nq, nv = widths[kind]
            q = None if qpos is None else qpos[at : at + nq]
            u = None if qvel is None else qvel[rate : rate + nv]
            at, rate = at + nq, rate + nv
            if kind == "free":
                turn = np.array([1.0, 0, 0, 0]) if q is None else q[3:]
                R = quaternion.to_matrix(NUMPY, turn / np.linalg.norm(turn)) if turn.any() else np.eye(3)
                q = None if q is None else np.concatenate([q[3:], q[:3]])
                u = None if u is None else np.concatenate([u[3:], R.T @ u[:3]])
            model.initial(self.robot.joints[name], None if q is None else q.tolist(), None if u is None else u.tolist())
        self._check_start(node)

    def _check_start(self, node: Node) -> None:
        """A keyframe that does not satisfy the constraints cannot be started from; MuJoCo's are soft."""
        model = self.robot.model
        if self.report.problems or not (self.robot.loops or model.constraints) or not model.initial_values:
            return
        coordinates = Relative(flatten(model))
        q = coordinates.neutral()
        for slot in coordinates.slots:
            if slot.joint in model.initial_values:
                q[slot.q] = [float(value) for value in model.initial_values[slot.joint]]
        tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
        off = Equations(tree, 0.0, tree.normalize(q), np.zeros(coordinates.nv)).position_residual()
        if np.abs(off).max(initial=0.0) > CLOSED:
            largest = f"{np.abs(off).max():.2g}"
            what = f"keyframe not used: it is off the equality constraints by {largest} (m or rad)"
            self.report.note(what, node.get("name"))
            model.initial_values.clear()
            model.initial_rates.clear()
