"""A scene as the JSON text that the page's script reads: names as text, numbers as base64 arrays."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.joints import JOINTS
from dalembert.joints.glyph import DIAMOND
from dalembert.view.colors import series_colors
from dalembert.view.plane import motion_plane, up_vector
from dalembert.view.scene import PALETTE, Plot, Scene, SceneBody, Shape

__all__ = ["encode_array", "json_text", "payload"]

FORMAT = 1


def payload(scene: Scene) -> dict[str, Any]:
    """The checked ``scene`` as a tree of lists, texts, numbers and base64 arrays.

    Poses are little-endian float32; time and plots float64, so that a drift of 1e-12 can still be read.
    """
    plane = motion_plane(scene)
    body_colors = {str(body.name): PALETTE[k % len(PALETTE)] for k, body in enumerate(scene.bodies)}
    curve_colors = series_colors(scene.plots, body_colors)
    return {
        "format": FORMAT,
        "title": str(scene.title),
        "up": up_vector(scene).tolist(),
        "plane": None if plane is None else plane.tolist(),
        "time": encode_array(scene.time, "<f8"),
        "bodies": [_body(body, body_colors[str(body.name)]) for body in scene.bodies],
        "ground": [_shape(shape) for shape in scene.ground_shapes],
        "joints": [
            {
                "name": str(joint.name),
                "solids": _glyph(joint.kind),
                "body": str(joint.body),
                "position": _numbers(joint.position),
                "axis": _numbers(joint.axis),
            }
            for joint in scene.joints
        ],
        "springs": [
            {
                "name": str(spring.name),
                "look": str(spring.look),
                "ends": [
                    {"body": str(spring.body_1), "point": _numbers(spring.point_1)},
                    {"body": str(spring.body_2), "point": _numbers(spring.point_2)},
                ],
            }
            for spring in scene.springs
        ],
        "belts": [
            {
                "name": str(belt.name),
                "wheels": [
                    {"body": str(body), "point": _numbers(point), "radius": float(radius)}
                    for body, point, radius in belt.wheels
                ],
                "body": str(belt.body),
                "axis": _numbers(belt.axis),
                "closed": bool(belt.closed),
            }
            for belt in scene.belts
        ],
        "arrows": [
            {
                "name": str(arrow.name),
                "body": str(arrow.body),
                "point": _numbers(arrow.point),
                "force": encode_array(arrow.force, "<f4"),
            }
            for arrow in scene.arrows
        ],
        "plots": [_plot(plot, colors) for plot, colors in zip(scene.plots, curve_colors, strict=True)],
        "facts": [[str(key), str(value)] for key, value in scene.facts.items()],
        "trace": [{"body": str(body), "point": _numbers(point)} for body, point in scene.trace],
    }


def json_text(tree: object) -> str:
    """JSON in pure ASCII that cannot end the script element it stands in, whatever the names say."""
    text = json.dumps(tree, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def encode_array(values: ArrayLike, dtype: str) -> str:
    """Row-major bytes of ``values`` as base64 text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.dtype(dtype)).tobytes()).decode("ascii")


def _body(body: SceneBody, color: str) -> dict[str, Any]:
    quaternion = np.asarray(body.quaternion, dtype=float)
    return {
        "name": str(body.name),
        "color": color,
        "shapes": [_shape(shape) for shape in body.shapes],
        "position": encode_array(body.position, "<f4"),
        "quaternion": encode_array(quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True), "<f4"),
    }


def _glyph(kind: str) -> list[dict[str, Any]]:
    """The solids by which a kind of joint is drawn, in units of the mark's radius."""
    solids = (JOINTS[kind].glyph if kind in JOINTS else DIAMOND).solids
    return [{key: value for key, value in asdict(solid).items() if value is not None} for solid in solids]


def _shape(shape: Shape) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "kind": shape.kind,
        "position": _numbers(shape.position),
        "quaternion": _numbers(np.asarray(shape.quaternion) / np.linalg.norm(np.asarray(shape.quaternion))),
        "color": shape.color,
        "opacity": float(shape.opacity),
    }
    if shape.size is not None:
        tree["size"] = _numbers(shape.size)
    for name in ("radius", "length", "tube"):
        value = getattr(shape, name)
        if value is not None:
            tree[name] = float(value)
    if shape.kind == "line" and shape.points is not None:
        tree["points"] = encode_array(shape.points, "<f4")
    if shape.kind == "mesh" and shape.vertices is not None and shape.faces is not None:
        tree["vertices"] = encode_array(shape.vertices, "<f4")
        tree["faces"] = encode_array(shape.faces, "<u4")
    return tree


def _plot(plot: Plot, colors: dict[str, str]) -> dict[str, Any]:
    return {
        "title": str(plot.title),
        "ylabel": str(plot.ylabel),
        "series": [
            {"name": str(name), "color": colors[name], "values": encode_array(values, "<f8")}
            for name, values in plot.series.items()
        ],
    }


def _numbers(values: ArrayLike) -> list[float]:
    return np.asarray(values, dtype=float).ravel().tolist()
