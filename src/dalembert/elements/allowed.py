"""What the formulas of a field may name besides parameters; fields are marked with it.

value: Annotated[Vector, MOTION]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dalembert.expressions import symbols

__all__ = [
    "COORDINATES", "DEFLECTION", "LAW", "LINEAR", "MOTION", "PARAMETERS", "PASSING", "POSE", "POSITIONS", "POTENTIAL",
    "SIGNALS", "TIMES", "TURN",
    "Allowed",
]  # fmt: skip

OF_POSITION = frozenset({"q", "x", "y", "z", "length", "angle", *symbols.ROTATION_QUANTITIES})
OF_FORCES = frozenset(symbols.FEEDBACK_QUANTITIES)
OF_VELOCITY = frozenset({*symbols.QUANTITIES} - OF_POSITION - OF_FORCES)


@dataclass(frozen=True)
class Allowed:
    """What a formula may name besides parameters, and what it must be.

    Attributes:
        words: what it may name, for the reference of model files.
        rule: what a message says where it names something else.
        time: it may name t.
        quantities: of joints and bodies that it may name.
        local: names of its own, such as the coordinates of a custom joint.
        linear: it must be linear in velocities.
        moving: it must name t or the motion.
    """

    words: str
    rule: str = ""
    time: bool = False
    quantities: frozenset[str] = frozenset()
    local: tuple[str, ...] = ()
    linear: bool = False
    moving: bool = False


_ALL = OF_POSITION | OF_VELOCITY
_LEVEL = "an equation at velocity level may not name accelerations and reactions, which follow from it"
PARAMETERS = Allowed("nothing", "only parameters are allowed here")
TIMES = Allowed("`t` and inputs", "a drive may name t, inputs and parameters only", time=True)
MOTION = Allowed("`t`, states, inputs and all references", time=True, quantities=_ALL | OF_FORCES | {symbols.STATE})
SIGNALS = Allowed(
    "`t`, states, inputs, positions and velocities",
    "it may not name accelerations and reactions, which depend on it",
    True,
    _ALL | {symbols.STATE},
)
LAW = Allowed(
    "`length`, `rate`, `t`, states, inputs and all references",
    time=True,
    quantities=_ALL | OF_FORCES | {symbols.STATE},
    local=symbols.LINE_QUANTITIES,
)
TURN = replace(LAW, words=LAW.words.replace("length", "angle"), local=symbols.TURN_QUANTITIES)
_DEFLECTIONS = tuple(f"{kind}{axis}" for kind in ("", "r", "v", "w") for axis in "xyz")
DEFLECTION = replace(
    LAW, words=f"`{'`, `'.join(_DEFLECTIONS)}`, `t`, states, inputs and all references", local=_DEFLECTIONS
)
LINEAR = Allowed("`t`, positions and velocities; linear in velocities", _LEVEL, time=True, quantities=_ALL, linear=True)
PASSING = Allowed(
    "`t`, states, inputs and all references", time=True, quantities=_ALL | OF_FORCES | {symbols.STATE}, moving=True
)
POSITIONS = Allowed(
    "`t`, `q`, `x`, `y`, `z`, `R…`, `length`",
    "an equation at position level may not name velocities",
    True,
    OF_POSITION,
)
COORDINATES = Allowed(
    "`t`, `q` of other joints",
    "an explicit constraint may name t, parameters and joint coordinates",
    True,
    frozenset({"q"}),
)
POTENTIAL = Allowed(
    "`q`, `x`, `y`, `z`",
    "a potential may name joint coordinates and positions only",
    False,
    frozenset({"q", "x", "y", "z"}),
)
_POSE_NAMES = ("x", "y", "z", *(f"R{i}{j}" for i in "xyz" for j in "xyz"))
POSE = Allowed(
    "the relative pose `x`, `y`, `z`, `Rxx` … `Rzz`",
    f"expected parameters and {', '.join(_POSE_NAMES)}",
    local=_POSE_NAMES,
)
