"""Which name each coordinate gets: the joint's own, or the letters that books use for joints with several."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dalembert.joints.rated import Rated
from dalembert.joints.reversed import Reversed

__all__ = ["coordinate_names"]

_LETTERS: dict[str, tuple[tuple[str, str], ...]] = {
    "planar": (("x", "first position of {}"), ("y", "second position of {}"), ("theta", "angle of {}")),
    "cylindrical": (("phi", "angle of {}"), ("z", "position of {}")),
    "universal": (("alpha", "first angle of {}"), ("beta", "second angle of {}")),
    "translational": (("x", "first position of {}"), ("y", "second position of {}"), ("z", "third position of {}")),
    "rolling-disc": (
        ("x", "contact point of {}"), ("y", "contact point of {}"), ("psi", "heading of {}"),
        ("theta", "lean of {}"), ("phi", "spin angle of {}"),
    ),
}  # fmt: skip
# Angles of a ball: precession, nutation and spin, or yaw, pitch and roll; the same axis twice makes the difference.
_TWICE = (("phi", "precession of {}"), ("theta", "nutation of {}"), ("psi", "spin angle of {}"))
_THREE = (("psi", "first angle of {}"), ("theta", "second angle of {}"), ("phi", "third angle of {}"))
_QUATERNION = tuple((f"e_{k}", "quaternion of {}") for k in range(4))
_PLACE = (("x", "position of {}"), ("y", "position of {}"), ("z", "position of {}"))


def coordinate_names(coordinates: Any, taken: set[str]) -> list[tuple[str, str]]:
    """Name and meaning of each entry of q.

    Args:
        taken: names of parameters.
    """
    labels = coordinates.labels()[0]
    found: list[tuple[str, str, str]] = [(label, f"coordinate {label}", "") for label in labels]
    for slot in getattr(coordinates, "slots", ()):
        size = slot.q.stop - slot.q.start
        owner = slot.joint or slot.body
        if size == 1:
            found[slot.q.start] = (owner, f"coordinate of joint {owner}", "")
            continue
        letters = _letters(coordinates.joint_at(slot))
        if letters is not None and len(letters) == size:
            for k, (letter, meaning) in enumerate(letters):
                found[slot.q.start + k] = (letter, meaning.format(owner), owner)
    count = Counter(name for name, _, _ in found)
    out = []
    for name, meaning, owner in found:
        alone = count[name] == 1 and name not in taken
        out.append((name if alone or not owner else f"{name}_{owner}", meaning))
    return out


def _letters(joint: Any) -> tuple[tuple[str, str], ...] | None:
    joint = joint.joint if isinstance(joint, Reversed) else joint
    if not isinstance(joint, Rated):
        return _LETTERS.get(joint.kind)
    if joint.axes is None:
        ball = _QUATERNION
    else:
        ball = _TWICE if joint.axes[0] == joint.axes[2] else _THREE
    if joint.is_free:
        return (*_PLACE, *ball)
    return ball if len(joint.factors) == (1 if joint.axes is None else 3) else None
