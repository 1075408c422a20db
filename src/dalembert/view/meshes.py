"""Triangles of STL and OBJ files, for drawing. Nothing in a file is trusted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.errors import ViewError

__all__ = ["SUFFIXES", "read_mesh"]

SUFFIXES = (".stl", ".obj")
MAX_BYTES = 100_000_000
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of a mesh file.

    Raises:
        ViewError: there is no such file, or it is not a mesh that can be drawn.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ViewError(f"mesh {path.name!r}: only {' and '.join(SUFFIXES)} files are drawn")
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise ViewError(f"mesh {str(path)!r}: no such file, or one of more than {MAX_BYTES // 1_000_000} MB")
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ViewError(f"mesh {str(path)!r} cannot be read: {error}") from None
    try:
        vertices, faces = _obj(raw) if path.suffix.lower() == ".obj" else _stl(raw)
    except (IndexError, OverflowError, ValueError):
        raise ViewError(f"mesh {path.name!r} is damaged") from None
    if not len(faces) or not np.all(np.isfinite(vertices)):
        raise ViewError(f"mesh {path.name!r} has no triangles, or not all of them are finite")
    return vertices, faces


def _stl(raw: bytes) -> tuple[np.ndarray, np.ndarray]:
    # A binary file may begin with "solid" too, but only its length fits its count.
    count = int.from_bytes(raw[80:84], "little")
    if len(raw) >= 84 and len(raw) >= 84 + 50 * count and count:
        corners = np.frombuffer(raw, _RECORD, count, 84)["corners"].reshape(-1, 3)
    else:
        words = raw.split()
        at = [i for i, word in enumerate(words) if word == b"vertex"]
        corners = np.array([[float(word) for word in words[i + 1 : i + 4]] for i in at], dtype=float).reshape(-1, 3)
        corners = corners[: len(corners) // 3 * 3]
    vertices, faces = np.unique(corners.astype(float), axis=0, return_inverse=True)
    return vertices, faces.reshape(-1, 3)


def _obj(raw: bytes) -> tuple[np.ndarray, np.ndarray]:
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for line in raw.decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            # Counted from one, or backwards from the last vertex so far; "/" leads to textures and normals.
            corners = [int(word.split("/")[0]) for word in words[1:]]
            corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
            faces += [[corners[0], corners[i], corners[i + 1]] for i in range(1, len(corners) - 1)]
    points, triangles = np.array(vertices, dtype=float).reshape(-1, 3), np.array(faces, dtype=int).reshape(-1, 3)
    if len(triangles) and not (triangles.min() >= 0 and triangles.max() < len(points)):
        raise IndexError
    return points, triangles
