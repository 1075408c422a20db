"""MJCF: geoms as inertia and as shapes.

Sizes follow MuJoCo: half edges of a box, radius and half length of a cylinder or capsule, semi-axes of an ellipsoid.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from dalembert.errors import ViewError
from dalembert.io.mesh_bodies import enclosed
from dalembert.io.mesh_files import MeshFiles
from dalembert.io.mjcf_settings import Settings, turned_to
from dalembert.io.robot import Inertial, snapped
from dalembert.io.urdf import paint
from dalembert.io.xml_data import Node, clip
from dalembert.spatial import Pose
from dalembert.view.meshes import read_mesh

__all__ = ["Geoms"]

DENSITY = 1000.0
DRAWN_GROUPS = (0, 1, 2)  # MuJoCo's own viewer hides the others at first
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
_WITHOUT_MASS = ("plane", "hfield")
_READ = (
    "name", "class", "type", "size", "fromto", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "mass",
    "density", "shellinertia", "group", "rgba", "material", "mesh", "hfield", "fitscale",
)  # fmt: skip
_CONTACT = (
    "contype", "conaffinity", "condim", "priority", "friction", "solmix", "solref", "solimp", "margin", "gap",
)  # fmt: skip


class Geoms:
    """Reads geoms of one file.

    Args:
        assets: the asset sections.
    """

    def __init__(self, settings: Settings, meshes: MeshFiles, assets: list[Node]):
        self.settings, self.report, self.files = settings, settings.report, meshes
        self.meshes: dict[str, Node] = {}
        self.materials: dict[str, Node] = {}
        for node in (child for asset in assets for child in asset.children):
            if node.tag == "mesh":
                full = settings.full(node)
                self.meshes[full.get("name") or Path(full.get("file")).stem] = full
            elif node.tag == "material":
                self.materials[node.get("name")] = settings.full(node)
            else:
                self.report.note("elements of asset not read", node.tag)
        groups = self.report.vector(settings.compiler, "inertiagrouprange", 2, (0, 5))
        self.groups = range(int(groups[0]), int(groups[1]) + 1)

    def read(self, node: Node, X_frame: Pose, owner: str, weigh: bool) -> tuple[Inertial, dict[str, Any] | None]:
        """Inertia in body axes, if the geom is to be weighed, and the shape, if it can be drawn."""
        report = self.report
        report.unread(node, (*_READ, *_CONTACT))
        report.note("contact between geoms is not part of the model")
        kind, label = node.get("type", "sphere"), node.get("name") or f"{node.get('type', 'sphere')} of {owner}"
        if kind not in (*_SIZES, *_WITHOUT_MASS, "mesh", "sdf"):
            report.problem(node, f"geom: unknown type {clip(kind)!r}", f"one of {', '.join(_SIZES)}, mesh, plane")
            return Inertial(), None
        size, X = self._size(node, kind)
        X = X_frame @ X
        if kind in _WITHOUT_MASS:
            report.note("geoms that are not drawn", label)
            return Inertial(), None
        if weigh and report.flag(node, "shellinertia", False):
            report.problem(node, f"geom {clip(label)!r}: shellinertia is not supported", "give the body an inertial")
        if kind in ("mesh", "sdf") or node.get("mesh"):
            solid, shape = self._mesh(node, kind, label, weigh)
        else:
            solid, shape = _solid(kind, size), _shape(kind, size)
        if shape is None and kind == "ellipsoid":
            report.note("geoms that are not drawn", label)
        group = int(report.number(node, "group", 0))
        inertial = Inertial()
        if weigh and group in self.groups:
            inertial = self._weighed(node, solid, label).seen_from(X)
        if shape is None or group not in DRAWN_GROUPS:
            return inertial, None
        return inertial, {**shape, "pose": X, **self._paint(node)}

    def _size(self, node: Node, kind: str) -> tuple[np.ndarray, Pose]:
        """Sizes, and the pose in the body's frame."""
        size = self.report.numbers(node, "size") or []
        if "fromto" in node.attributes and kind in _SIZES and kind != "sphere":
            ends = self.report.vector(node, "fromto", 6, (0, 0, 0, 0, 0, 1))
            line, count = ends[:3] - ends[3:], _SIZES[kind]
            if line.any() and size:
                sizes = [size[0]] * (count - 1) + [float(np.linalg.norm(line)) / 2]
                return np.array(sizes), Pose(snapped(turned_to(line)), (ends[:3] + ends[3:]) / 2)
            self.report.problem(node, f"{node.label}: fromto needs two different points and a size")
            return np.ones(count), self.settings.pose(node)
        count = _SIZES.get(kind, 0)
        if len(size) < count or (count and min(size[:count]) <= 0):
            if not node.get("mesh"):
                self.report.problem(node, f"{node.label}: size: expected {count} positive numbers, got {size}")
            size = [1.0] * count
        return np.array(size[:count]), self.settings.pose(node)

    def _weighed(self, node: Node, solid: tuple[float, np.ndarray, np.ndarray] | None, label: str) -> Inertial:
        """The solid (volume, center, inertia for unit density) with its mass."""
        mass, density = self.report.number(node, "mass"), self.report.number(node, "density", DENSITY)
        if (mass == 0) or (mass is None and density == 0):
            return Inertial()
        if solid is None:
            message = f"geom {clip(label)!r}: the mass of this mesh cannot be computed"
            self.report.problem(node, message, "give the body an inertial, or the geom mass 0")
            return Inertial()
        volume, com, central = solid
        if not 0 < volume < np.inf:
            self.report.problem(node, f"geom {clip(label)!r}: its volume is {volume:g}, not positive and finite")
            return Inertial()
        density = mass / volume if mass is not None else density
        if density < 0:
            self.report.problem(node, f"geom {clip(label)!r}: mass and density must not be negative")
        return Inertial(density * volume, com, density * central)

    def _paint(self, node: Node) -> dict[str, Any]:
        rgba = self.report.vector(node, "rgba", 4)
        if rgba is None and node.get("material") in self.materials:
            rgba = self.report.vector(self.materials[node.get("material")], "rgba", 4)
        return {} if rgba is None else paint(rgba)

    # Meshes

    def _mesh(self, node: Node, kind: str, label: str, weigh: bool) -> tuple[Any, dict[str, Any] | None]:
        asset = self.meshes.get(node.get("mesh"))
        if asset is None:
            self.report.problem(node, f"geom {clip(label)!r}: unknown mesh {clip(node.get('mesh'))!r}")
            return None, None
        if kind != "mesh" or "refpos" in asset.attributes or "refquat" in asset.attributes:
            self.report.note("geoms that are not drawn", label)
            return None, None
        scale = self.report.vector(asset, "scale", 3, (1, 1, 1))
        if asset.get("vertex"):
            points = self.report.numbers(asset, "vertex") or []
            corners = [int(i) for i in self.report.numbers(asset, "face") or []]
            self.report.note("geoms that are not drawn", label)
            vertices = np.array(points[: len(points) // 3 * 3]).reshape(-1, 3) * scale
            return _polyhedron(vertices, np.array(corners[: len(corners) // 3 * 3], int).reshape(-1, 3), asset), None
        compiler = self.settings.compiler
        name = asset.get("file")
        name = Path(name).name if self.report.flag(compiler, "strippath", False) else name
        file = self.files.find(node, name, compiler.get("meshdir") or compiler.get("assetdir"))
        if file is None:
            return None, None
        shape = {"kind": "mesh", "file": file, "scale": tuple(scale)}
        if not weigh:
            return None, shape
        try:
            vertices, faces = read_mesh(Path(file))
        except ViewError:
            return None, shape
        return _polyhedron(vertices * scale, faces, asset), shape


def _solid(kind: str, size: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, center and inertia about it for unit density."""
    if kind == "box":
        volume, squares = 8 * size.prod(), size**2 / 3
    elif kind == "ellipsoid":
        volume, squares = 4 / 3 * np.pi * size.prod(), size**2 / 5
    elif kind == "sphere":
        volume, squares = 4 / 3 * np.pi * size[0] ** 3, np.full(3, size[0] ** 2 / 5)
    else:
        r, h = size
        volume, squares = 2 * np.pi * r**2 * h, np.array([r**2 / 4, r**2 / 4, h**2 / 3])
        if kind == "capsule":
            # Two half spheres, whose mean squares of x and z are r²/5 and h² + ¾ r h + r²/5.
            ball = 4 / 3 * np.pi * r**3
            caps = np.array([r**2 / 5, r**2 / 5, h**2 + 0.75 * r * h + r**2 / 5])
            squares = (volume * squares + ball * caps) / (volume + ball)
            volume = volume + ball
    x, y, z = volume * squares
    return float(volume), np.zeros(3), np.diag([y + z, x + z, x + y])


def _shape(kind: str, size: np.ndarray) -> dict[str, Any] | None:
    if kind == "box":
        return {"kind": "box", "size": tuple(2 * size)}
    if kind == "ellipsoid":
        return None
    length = {} if kind == "sphere" else {"length": 2 * size[1]}
    return {"kind": kind, "radius": size[0], **length}


def _polyhedron(vertices: np.ndarray, faces: np.ndarray, asset: Node) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Volume, center and inertia of what the triangles enclose; None if there is no such thing.

    Without faces, or where the file asks for it, the convex hull is taken.
    """
    if asset.get("inertia") == "shell":
        return None
    if not len(faces) or asset.get("inertia") == "convex":
        try:
            hull = ConvexHull(vertices)
        except (QhullError, ValueError, IndexError):
            return None
        faces = hull.simplices
        outward = np.einsum("ij,ij->i", _normals(vertices, faces), hull.equations[:, :3]) > 0
        faces = np.where(outward[:, None], faces, faces[:, ::-1])
    return enclosed(vertices, faces)


def _normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.cross(b - a, c - a)
