"""MJCF: included files, compiler settings, default classes and orientations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.io.report import Report
from dalembert.io.robot import snapped
from dalembert.io.xml_data import MAX_BYTES, Node, clip, parse_xml, read_bytes
from dalembert.spatial import Pose, quaternion, so3

__all__ = ["Settings", "expand"]

MAX_INCLUDES = 200
MAIN = "main"
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_TURNS = {"x": so3.rotation_x, "y": so3.rotation_y, "z": so3.rotation_z}
_COMPILER = (
    "angle", "eulerseq", "coordinate", "inertiafromgeom", "boundmass", "boundinertia", "settotalmass", "balanceinertia",
    "inertiagrouprange", "meshdir", "assetdir", "strippath",
    # Without a bearing on what is read: limits, drawing, and how MuJoCo stores the result.
    "autolimits", "texturedir", "discardvisual", "usethread", "fusestatic", "convexhull", "fitaabb", "saveinertial",
    "exactmeshinertia", "alignfree", "conflict",
)  # fmt: skip


def expand(root: Node, report: Report) -> Node:
    """The document with every ``include`` replaced by what the file holds; only files next to the model are read."""
    folder = None if root.file is None else root.file.resolve().parent
    state = {"count": 0, "bytes": 0}

    def inside(node: Node, line: tuple[Path, ...]) -> Node:
        children: list[Node] = []
        for child in node.children:
            if child.tag != "include":
                children.append(inside(child, line))
                continue
            path = _included(child, folder, line, report)
            if path is None:
                continue
            raw = read_bytes(path)
            state["count"], state["bytes"] = state["count"] + 1, state["bytes"] + len(raw)
            if state["count"] > MAX_INCLUDES or state["bytes"] > MAX_BYTES:
                limit = f"{MAX_INCLUDES} files or {MAX_BYTES // 1_000_000} MB"
                report.problem(child, f"include: more than {limit} in all included files")
                report.raise_if_any()
            children += inside(parse_xml(raw, path.name, root.file), (*line, path)).children
        return replace(node, children=children)

    return inside(root, () if root.file is None else (root.file.resolve(),))


def _included(node: Node, folder: Path | None, line: tuple[Path, ...], report: Report) -> Path | None:
    name = report.text(node, "file")
    if not name:
        return None
    if folder is None:
        report.problem(node, "include cannot be used in a text that has no folder")
        return None
    try:
        path = (folder / name).resolve()
        allowed, exists = path.is_relative_to(folder), path.is_file()
    except (OSError, RuntimeError, ValueError):
        allowed, exists, path = True, False, folder
    if not allowed:
        report.problem(node, f"include {clip(name)!r} lies outside the folder of the model", "put it next to the model")
    elif not exists:
        report.problem(node, f"include: there is no file {clip(name)!r} next to the model")
    elif path in line:
        report.problem(node, f"include {clip(name)!r}: the file includes itself")
    else:
        return path
    return None


@dataclass
class Settings:
    """What holds for the whole file.

    Attributes:
        compiler: attributes of the compiler elements, later ones on top.
        classes: for each default class, the attributes of each element, inheritance resolved.
    """

    report: Report
    compiler: Node
    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {})

    @classmethod
    def of(cls, root: Node, report: Report) -> Settings:
        compilers = root.all("compiler")
        merged = {key: value for node in compilers for key, value in node.attributes.items()}
        settings = cls(report, Node("compiler", merged, compilers[0].where if compilers else root.where))
        report.unread(settings.compiler, _COMPILER)
        for node in compilers:
            report.unread_children(node, ())
        if settings.compiler.get("coordinate", "local") != "local":
            report.problem(settings.compiler, "compiler: global coordinates are not supported", 'coordinate="local"')
        for key, words in (("angle", ("degree", "radian")), ("inertiafromgeom", ("auto", "true", "false"))):
            if settings.compiler.get(key, words[0]) not in words:
                report.problem(settings.compiler, f"compiler: {key} must be one of {', '.join(words)}")
        settings.classes[MAIN] = {}
        for node in root.all("default"):
            if node.get("class", MAIN) != MAIN:
                report.problem(node, f"default: the outermost class is {MAIN!r} and cannot be renamed")
            settings._read_class(node, MAIN, {})
        return settings

    def _read_class(self, node: Node, name: str, parent: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(attributes) for tag, attributes in parent.items()}
        for tag, attributes in self.classes.get(name, {}).items():
            own.setdefault(tag, {}).update(attributes)
        for child in node.children:
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.attributes)
        self.classes[name] = own
        for child in node.all("default"):
            inner = child.get("class")
            if not inner:
                self.report.problem(child, "default: class is missing", 'class="…"')
            else:
                self._read_class(child, inner, own)

    def full(self, node: Node, childclass: str = "", tags: tuple[str, ...] = ()) -> Node:
        """The element with the defaults of its class; ``tags`` whose defaults hold, its own by default."""
        name = node.get("class") or childclass or MAIN
        if name not in self.classes:
            self.report.problem(node, f"{node.label}: unknown default class {clip(name)!r}")
            return node
        attributes: dict[str, str] = {}
        for tag in tags or (node.tag,):
            attributes |= self.classes[name].get(tag, {})
        return replace(node, attributes={**attributes, **node.attributes})

    # Angles and orientations

    @property
    def radians(self) -> float:
        """What an angle of the file must be multiplied by."""
        return 1.0 if self.compiler.get("angle", "degree") == "radian" else np.pi / 180

    def pose(self, node: Node) -> Pose:
        """Position and orientation of an element."""
        return Pose(self.rotation(node), self.report.vector(node, "pos", 3, (0, 0, 0)))

    def rotation(self, node: Node) -> np.ndarray:
        """The orientation, in whichever of the five ways it is given."""
        given = [key for key in ORIENTATIONS if key in node.attributes]
        if not given:
            return np.eye(3)
        if len(given) > 1:
            self.report.problem(node, f"{node.label}: give one of {', '.join(given)}, not several")
            return np.eye(3)
        sizes = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}
        values = self.report.vector(node, given[0], sizes[given[0]])
        if values is None:
            return np.eye(3)
        R = getattr(self, f"_{given[0]}")(values)
        if R is None:
            self.report.problem(node, f"{node.label}: {given[0]} has no direction, got {values.tolist()}")
            return np.eye(3)
        return snapped(R)

    def _quat(self, values: np.ndarray) -> np.ndarray | None:
        return quaternion.to_matrix(NUMPY, values / np.linalg.norm(values)) if values.any() else None

    def _axisangle(self, values: np.ndarray) -> np.ndarray | None:
        axis, angle = values[:3], values[3] * self.radians
        return so3.exp(NUMPY, axis / np.linalg.norm(axis) * angle) if axis.any() else None

    def _xyaxes(self, values: np.ndarray) -> np.ndarray | None:
        x, y = values[:3], values[3:]
        if not x.any():
            return None
        x = x / np.linalg.norm(x)
        y = y - (x @ y) * x
        return np.stack([x, y := y / np.linalg.norm(y), np.cross(x, y)], axis=1) if y.any() else None

    def _zaxis(self, values: np.ndarray) -> np.ndarray | None:
        return turned_to(values) if values.any() else None

    def _euler(self, values: np.ndarray) -> np.ndarray | None:
        """Small letters turn about moved axes, capital ones about fixed axes."""
        sequence = self.compiler.get("eulerseq", "xyz")
        if len(sequence) != 3 or not set(sequence.lower()) <= set(_TURNS):
            message = f"compiler: eulerseq must be three of xyz or XYZ, got {clip(sequence)!r}"
            self.report.problem(self.compiler, message)
            return np.eye(3)
        R = np.eye(3)
        for letter, angle in zip(sequence, values * self.radians, strict=True):
            turn = _TURNS[letter.lower()](NUMPY, angle)
            R = R @ turn if letter.islower() else turn @ R
        return R


def turned_to(z: np.ndarray) -> np.ndarray:
    """The shortest rotation that takes the z-axis to a direction."""
    z = z / np.linalg.norm(z)
    axis = np.cross([0.0, 0.0, 1.0], z)
    sine = np.linalg.norm(axis)
    axis = axis / sine if sine > 1e-10 else np.array([1.0, 0.0, 0.0])
    return so3.exp(NUMPY, axis * np.arctan2(sine, z[2]))
