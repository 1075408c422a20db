"""The symbols of mechanism drawings as outlines: links, pins, grounds, guides, slots, springs, hatching."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "annulus", "block", "capsule", "circle", "hatching", "hull", "lighter", "rounded", "triangle", "turn_arrow",
    "zigzag",
]  # fmt: skip

Points = NDArray[np.float64]
_ARC = 60  # points of a half turn
TURNS = 7  # of a coil
ARROW = -0.6, 3.6  # where an arrow that turns begins and ends (rad)


def circle(center: Points, radius: float) -> Points:
    """Points of a circle."""
    return _arc(center, radius, 0.0, 2 * np.pi)


def _arc(center: Points, radius: float, start: float, end: float) -> Points:
    count = max(2, int(np.ceil(_ARC * abs(end - start) / np.pi)))
    angles = np.linspace(start, end, count + 1)
    return center + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def hull(points: Points) -> Points:
    """Convex hull, counter-clockwise (monotone chain)."""
    ordered: list[tuple[float, ...]] = sorted((float(x), float(y)) for x, y in points)
    ordered = [point for i, point in enumerate(ordered) if i == 0 or point != ordered[i - 1]]
    if len(ordered) < 3:
        return np.array(ordered)

    def half(sequence: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for p in sequence:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def rounded(points: Points, radius: float) -> Points:
    """The outline at a distance around the convex hull of some points: a disc, a bar with round ends, a plate."""
    corners = hull(points)
    if len(corners) == 1:
        return circle(corners[0], radius)
    pieces: list[Points] = []
    for i, corner in enumerate(corners):
        before, after = corner - corners[i - 1], corners[(i + 1) % len(corners)] - corner
        start, end = (np.arctan2(-d[0], d[1]) for d in (before, after))
        pieces.append(_arc(corner, radius, start, start + (end - start) % (2 * np.pi)))
    return np.concatenate(pieces)


def capsule(start: Points, end: Points, radius: float) -> Points:
    """A bar with round ends."""
    return rounded(np.array([start, end]), radius)


def block(center: Points, along: Points, length: float, width: float) -> Points:
    """A rectangle whose long side lies along a unit direction."""
    across = np.array([-along[1], along[0]])
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return np.array([center + a * length / 2 * along + b * width / 2 * across for a, b in corners])


def triangle(top: Points, size: float) -> Points:
    """The stand of a fixed pin."""
    return top + size * np.array([(0.0, 0.0), (-0.85, -1.35), (0.85, -1.35)])


def hatching(start: Points, end: Points, depth: float, spacing: float) -> list[Points]:
    """Strokes below the line from start to end, on its right side: what is fixed."""
    d = end - start
    length = float(np.hypot(*d))
    along = d / length
    below = np.array([along[1], -along[0]])
    count = max(2, round(length / spacing))
    feet = (np.arange(count) + 0.75) * length / count
    return [np.array([start + foot * along, start + (foot - 0.75 * depth) * along + depth * below]) for foot in feet]


def annulus(center: Points, inner: float, outer: float) -> tuple[Points, Points]:
    """Outer outline and inner one, the other way round."""
    return circle(center, outer), circle(center, inner)[::-1]


def zigzag(start: Points, end: Points, width: float) -> Points:
    """A coil between two points."""
    d = end - start
    length = float(np.hypot(*d))
    if length == 0:
        return np.array([start, end])
    along = d / length
    across = np.array([-along[1], along[0]])
    lead = min(0.18 * length, 2 * width)
    points = [start, start + lead * along]
    pitch = (length - 2 * lead) / (2 * TURNS)
    for k in range(2 * TURNS - 1):
        points.append(start + (lead + (k + 1) * pitch) * along + (width if k % 2 == 0 else -width) * across)
    return np.array([*points, end - lead * along, end])


def turn_arrow(center: Points, radius: float) -> tuple[Points, Points]:
    """An arc counter-clockwise about a point, and the corners of its head."""
    arc = _arc(center, radius, *ARROW)
    tip, head, end = arc[-1], 0.42 * radius, ARROW[1]
    tangent = np.array([-np.sin(end), np.cos(end)])
    outward = np.array([np.cos(end), np.sin(end)])
    point = tip + head * tangent
    return arc, np.array([point, tip + 0.5 * head * outward, tip - 0.5 * head * outward])


def lighter(color: str, part: float) -> tuple[float, float, float]:
    """A color mixed with white."""
    rgb = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (1 - part * (1 - value) for value in rgb)
    return r, g, b
