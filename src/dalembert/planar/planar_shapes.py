"""How the bodies of a planar mechanism look in space: flat bars between nodes, blocks that slide, discs that roll."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import sympy as sp

from dalembert.planar.planar_data import BASE, PinInSlot, PlanarBody, PrismaticJoint
from dalembert.planar.planar_geometry import Drawn, dot, ends, minus, radii_of

__all__ = ["ground_shapes", "shapes_of"]

WIDTH = 0.028  # of bars, in parts of the drawing's extent
RAIL = 0.75  # half length of a drawn guide, in parts of the extent
_GRAY = "#8a949e"


def _bar(start: Any, end: Any, width: float, z: float) -> list[dict[str, Any]]:
    d = minus(end, start)
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, z)
    pose = {"position": middle, "rpy": (0, 0, sp.atan2(d[1], d[0]))}
    return [{"kind": "box", "size": (sp.sqrt(dot(d, d)), width, width / 3), "pose": pose}]


def _eye(place: Any, width: float, z: float, color: str | None = None) -> dict[str, Any]:
    pose = {"position": (*place, z)}
    shape = {"kind": "cylinder", "radius": 0.7 * width, "length": width / 3, "axis": "z", "pose": pose}
    return {**shape, "color": color} if color else shape


def shapes_of(drawn: Drawn, body: PlanarBody, level: int) -> tuple[dict[str, Any], ...]:
    """The shapes of a body; bodies lie in layers so that they pass each other."""
    width = WIDTH * drawn.extent
    z = (level % 4 + 1) * 0.4 * width
    shapes: list[dict[str, Any]] = []
    nodes = [(f"{body.name}.{name}", place) for name, place in body.nodes.items()]
    radii = {node: radius for contact in drawn.planar.contacts for node, radius in radii_of(contact).items()}
    rings = {contact.centers[0] for contact in drawn.planar.contacts if getattr(contact, "inside", False)}
    for node, place in nodes:
        if node in rings:
            pose = {"position": (*place, z)}
            shapes.append({"kind": "torus", "radius": radii[node] + width / 4, "tube": width / 4, "pose": pose})
        elif node in radii:
            # A spoke shows how it turns.
            pose = {"position": (*place, z)}
            disc = {"kind": "cylinder", "radius": radii[node], "length": width / 3, "axis": "z", "pose": pose}
            shapes.append({**disc, "opacity": 0.6})
            shapes += _bar(place, (place[0] + radii[node], place[1]), width / 2, z + 0.2 * width)
    places = [place for _, place in nodes]
    pairs = list(pairwise(places))
    if len(places) > 2:
        pairs.append((places[-1], places[0]))
    slotted = any(isinstance(j, PinInSlot) and j.slot == body.name and j.axis is None for j in drawn.planar.joints)
    for i, (start, end) in enumerate(pairs):
        if slotted and i == 0:  # two rails, with the pin between
            d = drawn.unit(minus(end, start))
            for side in (-0.75 * width, 0.75 * width):
                rail = [(p[0] - side * d[1], p[1] + side * d[0]) for p in (start, end)]
                shapes += _bar(rail[0], rail[1], 0.45 * width, z)
        else:
            shapes += _bar(start, end, width, z)
    if len(places) > 1:
        shapes += [_eye(place, width, z) for place in places]
    elif not shapes:
        shapes.append({"kind": "box", "size": (3 * width, 2 * width, width), "pose": {"position": (*places[0], z)}})
    return tuple(shapes)


def ground_shapes(drawn: Drawn) -> list[dict[str, Any]]:
    """Pins and guides of the base."""
    width = WIDTH * drawn.extent
    shapes = [_eye(place, 1.3 * width, 0.0, _GRAY) for place in drawn.planar.base_nodes.values()]
    for joint in drawn.planar.joints:
        if isinstance(joint, PrismaticJoint) and ends(joint)[0] == BASE:
            place = joint.point or drawn.place(drawn.slider(joint))
            e = drawn.axis(joint)
            half = RAIL * drawn.extent
            start, end = ((place[0] + s * half * e[0], place[1] + s * half * e[1]) for s in (-1, 1))
            shapes += [{**shape, "color": _GRAY} for shape in _bar(start, end, width / 2, 0.0)]
    return shapes
