"""What the viewer draws: bodies that move, joints, springs, plots and a few facts, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PALETTE", "Plot", "Scene", "SceneArrow", "SceneBelt", "SceneBody", "SceneJoint", "SceneSpring", "Shape"]

# Color-blind-safe order (after Okabe and Ito), readable as thin lines on white and on near-black.
PALETTE = ("#0072b2", "#de8f05", "#009e73", "#d55e00", "#cc78bc", "#56b4e9", "#a6761d", "#7f7f7f")

Vector = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shape:
    """One solid fixed to a body (or to the ground). Lengths in meters.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere``, ``capsule``, ``cone``, ``torus``, ``line``, ``plane``,
            ``frame`` or ``mesh``.
        size: box (x, y, z); plane (x, y) in its local xy-plane.
        radius: cylinder, sphere, capsule, cone (base), torus (center line), line (default: thin).
        length: cylinder, cone, capsule (between the cap centers), along local z, centered; frame: arm length.
        tube: torus, radius of the tube around local z.
        points: line, (k, 3), k at least 2.
        vertices: mesh, (n, 3).
        faces: mesh, (m, 3) indices into ``vertices``, counter-clockwise seen from outside.
        position: origin of the shape in the body's frame.
        quaternion: orientation of the shape in the body's frame, scalar first (w, x, y, z).
        color: ``#rgb`` or ``#rrggbb``; None takes the body's palette color.
        opacity: 0 (invisible) to 1 (solid).
    """

    kind: str
    _: KW_ONLY
    size: Vector | None = None
    radius: float | None = None
    length: float | None = None
    tube: float | None = None
    points: ArrayLike | None = None
    vertices: ArrayLike | None = None
    faces: ArrayLike | None = None
    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Vector = (1.0, 0.0, 0.0, 0.0)
    color: str | None = None
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class SceneBody:
    """A rigid body and the pose of its frame in the world over time.

    Attributes:
        name: unique; ``ground`` is taken.
        shapes: what is drawn; a body without shapes is drawn as a small sphere.
        position: (T, 3), meters.
        quaternion: (T, 4), scalar first.
    """

    name: str
    shapes: Sequence[Shape]
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SceneJoint:
    """A small neutral marker that rides on a body.

    Attributes:
        name: shown as a label.
        kind: of the catalog of joints, which knows its mark; an unknown kind is drawn as an octahedron.
        body: name of a SceneBody, or ``ground``.
        position: in that body's frame, meters.
        axis: in that body's frame; its length does not matter.
    """

    name: str
    kind: str
    body: str
    position: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SceneSpring:
    """What stretches with the motion between two points. Points in the bodies' frames, meters.

    Attributes:
        look: a spring's ``coil``; a ``rod``, also a piece of cable; a ``cylinder`` from which a rod comes out.
    """

    name: str
    body_1: str
    point_1: Vector
    body_2: str
    point_2: Vector
    look: Literal["coil", "rod", "cylinder"] = "coil"


@dataclass(frozen=True, eq=False)
class SceneBelt:
    """A belt or a cable over wheels, that follows them as they move.

    Attributes:
        wheels: (body, center in its frame, signed radius) in its order; zero radii for points.
        body: whose frame the axis of the wheels is in.
        axis: about which positive radii run counterclockwise.
        closed: True for a belt.
    """

    name: str
    wheels: Sequence[tuple[str, Vector, float]]
    body: str
    axis: Vector
    closed: bool = False


@dataclass(frozen=True, eq=False)
class SceneArrow:
    """A force on a body over time.

    Attributes:
        name: whose force it is.
        body: name of a SceneBody, or ``ground``, on which it acts.
        point: in that body's frame, meters.
        force: (T, 3), world axes; its length is drawn against that of the largest one.
    """

    name: str
    body: str
    point: Vector
    force: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plot:
    """One panel of curves over the scene's time: ``series`` maps a legend entry to T values.

    Attributes:
        log: decades on the vertical axis of a still picture; for positive values.
    """

    title: str
    ylabel: str
    series: Mapping[str, NDArray[np.float64]]
    log: bool = False


@dataclass(frozen=True, eq=False)
class Scene:
    """A whole page: the moving mechanism, its plots and a short table of facts.

    Attributes:
        title: heading of the page.
        time: (T,), seconds, never decreasing.
        bodies: what moves.
        ground_shapes: what does not.
        joints: markers.
        springs: coils, rods and cylinders.
        belts: belts and cables over wheels.
        arrows: forces, which the page shows at the push of a button.
        plots: panels beside the animation, in order.
        up: ``x``, ``y``, ``z`` or three numbers: the world direction that points up on the screen.
        facts: short table, e.g. ``{"energy drift": "3e-12 J"}``.
        trace: (body name, point in the body's frame) pairs whose paths are drawn.
    """

    title: str
    time: NDArray[np.float64]
    bodies: Sequence[SceneBody] = ()
    ground_shapes: Sequence[Shape] = ()
    joints: Sequence[SceneJoint] = ()
    springs: Sequence[SceneSpring] = ()
    belts: Sequence[SceneBelt] = ()
    arrows: Sequence[SceneArrow] = ()
    plots: Sequence[Plot] = ()
    up: str | Vector = "z"
    facts: Mapping[str, str] = field(default_factory=lambda: {})
    trace: Sequence[tuple[str, Vector]] = ()
