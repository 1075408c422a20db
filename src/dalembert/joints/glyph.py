"""The small marks by which joints are drawn, of solids whose lengths are in units of the mark's radius."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BALL", "BLOCK", "CROSS", "DIAMOND", "DISC", "GUIDE", "HINGE", "NOTHING", "SLEEVE", "SLIDER", "THREAD", "Glyph",
    "Solid",
]  # fmt: skip

_ACROSS = (0.5**0.5, 0.5**0.5, 0.0, 0.0)  # z turned to −y


@dataclass(frozen=True)
class Solid:
    """A box, cylinder, sphere, torus or octahedron, as the viewer knows them: its z is the axis of revolution."""

    kind: str
    radius: float | None = None
    length: float | None = None
    tube: float | None = None
    size: tuple[float, float, float] | None = None
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Glyph:
    """What is drawn where a joint is.

    Attributes:
        solids: of the mark; none draws nothing.
        axis: which axis of the joint's frame, 0, 1 or 2, the mark has as its z.
        on_first: True if the mark rides on the first body; on the second otherwise.
    """

    solids: tuple[Solid, ...]
    axis: int = 2
    on_first: bool = False


NOTHING = Glyph(())
DIAMOND = Glyph((Solid("octahedron", radius=1.4),))
HINGE = Glyph((Solid("cylinder", radius=1, length=3.2),))
SLEEVE = Glyph((Solid("cylinder", radius=1, length=5),))
THREAD = Glyph(
    (
        Solid("cylinder", radius=0.75, length=5),
        *(Solid("torus", radius=0.8, tube=0.25, position=(0, 0, z)) for z in (-1.2, 0, 1.2)),
    )
)
SLIDER = Glyph((Solid("box", size=(1.9, 1.9, 4)),))
GUIDE = Glyph(SLIDER.solids, on_first=True)
BALL = Glyph((Solid("sphere", radius=1.25),))
CROSS = Glyph(
    (Solid("cylinder", radius=0.7, length=4), Solid("cylinder", radius=0.7, length=4, quaternion=_ACROSS)), axis=0
)
DISC = Glyph((Solid("cylinder", radius=2, length=0.5),))
BLOCK = Glyph((Solid("box", size=(1.8, 1.8, 1.8)),))
