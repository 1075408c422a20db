"""Which name each coordinate gets: the joint's own, or the letters that books use for joints with several."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dalembert.joints.rated import Rated
from dalembert.joints.reversed import Reversed

__all__ = ["coordinate_names"]

_LETTERS: dict[str, tuple[tuple[str, str], ...]] = {
    "planar": (("x", "first position of joint {}"), ("y", "second position of joint {}"), ("theta", "angle of joint {}")),
    "cylindrical": (("phi", "angle of joint {}"), ("z", "position of joint {}")),
    "universal": (("alpha", "first angle of joint {}"), ("beta", "second angle of joint {}")),
    "translational": (("x", "first position of joint {}"), ("y", "second position of joint {}"), ("z", "third position of joint {}")),
    "rolling-disc": (
        ("x", "contact point of joint {}"), ("y", "contact point of joint {}"), ("psi", "heading of joint {}"),
        ("theta", "lean of joint {}"), ("phi", "spin angle of joint {}"),
    ),
}  # fmt: skip
# Angles of a ball: precession, nutation and spin, or yaw, pitch and roll; the same axis twice makes the difference.
_TWICE = (("phi", "precession of joint {}"), ("theta", "nutation of joint {}"), ("psi", "spin angle of joint {}"))
_THREE = (("psi", "first angle of joint {}"), ("theta", "second angle of joint {}"), ("phi", "third angle of joint {}"))
_QUATERNION = tuple((f"e_{k}", "quaternion of joint {}") for k in range(4))
_PLACE = (("x", "position of joint {}"), ("y", "position of joint {}"), ("z", "position of joint {}"))


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
            found[slot.q.start] = (owner, f"joint {owner}", "")
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
