"""Bodies from mesh files: mass, center of mass and inertia of what the triangles enclose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.arguments import public
from dalembert.elements import Placement
from dalembert.errors import ModelError, Problem
from dalembert.spatial import Pose
from dalembert.values import BOOLEAN, NO_NUMBER, NUMBER
from dalembert.view.meshes import read_mesh

__all__ = ["enclosed", "mesh_body"]

CLOSED = 1e-6  # the sum of all area vectors, relative to the area: zero for a closed surface


@public
def mesh_body(
    file: str | Path, *, mass: float | None = None, density: float | None = None, scale: Any = 1.0, pose: Any = None
) -> dict[str, Any]:
    """Fields of a body from an STL or OBJ file: mass, center of mass, inertia and shapes.

        model.body("bracket", **da.mesh_body("bracket.stl", density=2700, scale=0.001))

    Args:
        file: a surface that is closed, STL or OBJ.
        mass, density: one of them (kg, kg/m³).
        scale: of the file's coordinates, e.g. 0.001 for millimeters; one number, or three along its axes.
        pose: of the file's axes in the reference configuration; default: those of the world.

    Raises:
        ModelError: the surface is not closed, or encloses nothing.
        ViewError: the file cannot be read.
    """
    if (mass is None) == (density is None):
        raise ModelError(Problem("mesh_body: give mass or density, one of them", fix="density=7850"))
    given: Any = mass if density is None else density
    if isinstance(given, BOOLEAN) or not isinstance(given, NUMBER) or not 0 < given < np.inf:
        word = "mass" if density is None else "density"
        raise ModelError(Problem(f"mesh_body: {word} must be a positive number, got {given!r}", fix=f"{word}=1.0"))
    try:
        factors = np.broadcast_to(np.asarray(scale, dtype=float), (3,))
    except NO_NUMBER:
        factors = np.zeros(3)
    if not np.all(np.isfinite(factors)) or not np.all(factors > 0):
        message = f"mesh_body: scale must be positive, one number or three, got {scale!r}"
        raise ModelError(Problem(message, fix="scale=0.001"))
    path = Path(file)
    vertices, faces = read_mesh(path)
    vertices = vertices * factors
    _check_closed(path, vertices, faces)
    solid = enclosed(vertices, faces) or enclosed(vertices, faces[:, ::-1])
    if solid is None:
        raise ModelError(Problem(f"mesh {path.name!r} encloses no volume", fix="give mass, com and inertia by hand"))
    volume, com, inertia = solid
    unit: float = given / volume if density is None else given
    placement = Placement.model_validate({} if pose is None else pose)
    X: Pose = placement.pose(NUMPY, float)
    shape = {"kind": "mesh", "file": str(path), "scale": tuple(factors.tolist()), "pose": placement}
    return {
        "mass": unit * volume,
        "com": X.apply(com),
        "inertia": X.R @ (unit * inertia) @ X.R.T,
        "shapes": (shape,),
    }


def _check_closed(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    areas = np.cross(b - a, c - a)
    open_by = np.linalg.norm(areas.sum(axis=0)) / max(np.linalg.norm(areas, axis=1).sum(), 1e-300)
    if not open_by <= CLOSED:
        message = f"mesh {path.name!r} is not a closed surface: {open_by:.2g} of its area faces nothing"
        raise ModelError(Problem(message, fix="close it in the program that made it, or give mass, com and inertia"))


def enclosed(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Volume, center and inertia for unit density, by tetrahedra to the middle; None if they enclose nothing."""
    if faces.min() < 0 or faces.max() >= len(vertices):
        return None
    center = vertices.mean(axis=0)
    a, b, c = (vertices[faces[:, i]] - center for i in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    if volume <= 0:
        return None
    corners = a + b + c
    com = np.einsum("i,ij->j", volumes, corners) / (4 * volume)
    second = sum(np.einsum("i,ij,ik->jk", volumes, part, part) for part in (a, b, c, corners)) / 20
    second = second - volume * np.outer(com, com)
    return volume, center + com, np.trace(second) * np.eye(3) - second
