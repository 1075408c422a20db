"""A generated family of mechanisms: random trees closed by joints of every kind, one to four loops, in the plane and in
space; redundant, driven, rolling, over-constrained. All are consistent as drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert import library
from dalembert.fuzz.random_mechanisms import closings
from dalembert.fuzz.random_mechanisms import planar_row as planar
from dalembert.fuzz.random_models import HOLONOMIC, loop_model
from dalembert.model import Model

__all__ = ["FAMILY", "driven", "planar", "rolling"]

FAMILY: dict[str, Callable[[], Model]] = {}
MOST_LOOPS = 4
TREE = ("spherical", "universal", "free", "cylindrical", "spherical", "revolute")


def driven(model: Model, joint: str) -> Model:
    """With one coordinate as a function of time that starts as drawn at t = 0.3."""
    model.drive(joint, "0.4*sin(2*(t - 0.3))")
    return model


def rolling(loops: int, seed: int) -> Model:
    """A rolling disc carries a tree with loops; a skate holds its last body."""
    rng = np.random.default_rng(seed)
    tree = ("rolling-disc", "spherical", "spherical", "universal")
    model = loop_model(seed, tree, ("distance", "point-on-plane", "point-on-line")[:loops], forces=False)
    last = model.bodies[-1].name
    angle = rng.uniform(0, 3)
    model.constraint(
        "skate", f"vx({last})*{float(np.sin(angle))!r} - vy({last})*{float(np.cos(angle))!r}", level="velocity"
    )
    return model


_rest = [kind for kind in HOLONOMIC if kind != "free"]
for _round in range(2):
    for _loops in range(1, MOST_LOOPS + 1):
        _tree = TREE[: 3 + (_loops > 1) + (_loops > 2)]
        _kinds = closings(_loops, _rest, _tree)
        FAMILY[f"{_loops} in space, closed by {', '.join(_kinds)}"] = (
            lambda tree=_tree, kinds=_kinds, seed=300 + 10 * _round + _loops: loop_model(
                seed, tree, kinds, forces=False
            )
        )
for _loops in range(1, MOST_LOOPS + 1):
    FAMILY[f"{_loops} in the plane"] = lambda loops=_loops: planar(loops, 400 + loops, slider=loops % 2 == 0)
FAMILY["2 in the plane, driven"] = lambda: driven(planar(2, 420), "foot0")
FAMILY["1 in space, driven"] = lambda: driven(
    loop_model(431, ("revolute", "spherical", "spherical", "universal"), ("distance",), forces=False), "j0"
)
FAMILY["1 rolling"] = lambda: rolling(1, 440)
FAMILY["3 rolling"] = lambda: rolling(3, 443)
for _name in ("parallelogram", "sarrus", "bennett", "bricard"):
    FAMILY[f"over-constrained {_name}"] = lambda name=_name: library.build(name)

_closed = {kind for name in FAMILY if "closed by" in name for kind in name.split("closed by ")[1].split(", ")}
assert _closed == set(HOLONOMIC) - {"free"}, f"joints that close no loop: {set(HOLONOMIC) - {'free'} - _closed}"
