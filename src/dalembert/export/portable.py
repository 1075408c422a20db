"""What runs without Python: elements, their fields, and quantities in formulas, each declared here.

Whatever is not declared is refused by name. So an element, a field or a quantity that is new to models is refused by
pages, C and FMUs until somebody has shown that their native code knows it, and lists it here; the tests of this table
run every kind of element that it lists, and see all others refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from dalembert import constraints, forces
from dalembert.elements import Placement, Record
from dalembert.elements.base import formulas_in, records_in
from dalembert.elements.surfaces import Surface
from dalembert.errors import DalembertError
from dalembert.expressions import STATE, references
from dalembert.joints import JointData
from dalembert.joints.custom import CustomData, CustomMotion
from dalembert.joints.point import DistanceData
from dalembert.joints.rolling import RollingData
from dalembert.joints.screw import ScrewData
from dalembert.model import Flat
from dalembert.model.data import Body, Event, Output, Point
from dalembert.model.signals_data import InputSignal, StateVariable, Table

__all__ = ["PORTABLE", "PORTABLE_JOINTS", "PORTABLE_QUANTITIES", "needs_python", "refuse_what_needs_python"]

_JOINT = "bodies point axis axis_2 point_2 frame frame_1 frame_2 reference armature cut"
_TOUCH = "exponent dissipation stiffness"

# Fields by class of element, and of the records in its fields: the class itself, not what is derived from it.
PORTABLE: dict[type[Record], frozenset[str]] = {
    kind: frozenset(["name", "kind", *fields.split()])
    for kind, fields in {
        Body: "mass com inertia inertia_about pose frame shapes color solid",
        Point: "body at frame",
        JointData: _JOINT,
        ScrewData: f"{_JOINT} pitch",
        DistanceData: f"{_JOINT} length",
        RollingData: f"{_JOINT} radius",
        CustomData: f"{_JOINT} custom",
        CustomMotion: "coordinates position rpy equations measure",
        Placement: "position rpy quaternion rotation",
        Surface: "at axis start radius inside",
        constraints.Coupler: "active terms offset",
        constraints.Gear: "active joints ratio offset",
        constraints.Rack: "active pinion rack radius offset",
        constraints.Equation: "active formula level",
        constraints.Drive: "active joint motion index",
        constraints.Explicit: "active joint formulas",
        constraints.Cable: "active bodies at radii axis feed frame",
        constraints.Belt: "active joints radii",
        constraints.RollingSurface: "active bodies center surface axis slips",
        forces.Spring: "bodies at stiffness damping length frame",
        forces.Strut: "bodies at push frame",
        forces.TorsionalSpring: "joint index stiffness damping angle",
        forces.Bushing: "bodies point stiffness damping angular_stiffness angular_damping frame",
        forces.PointForce: "body value at axes frame",
        forces.Torque: "body value reaction_on axes",
        forces.JointForce: "joint value index",
        forces.Potential: "formula",
        forces.MovingFrame: "rotation acceleration body",
        forces.Stop: f"{_TOUCH} of lower upper",
        forces.Contact: f"{_TOUCH} bodies surfaces young poisson friction slip frame",
        StateVariable: "rate initial unit",
        InputSignal: "default unit",
        Table: "x y outside",
        Output: "formula unit",
        Event: "when direction stop set rates switch",
    }.items()
}

PORTABLE_JOINTS = frozenset(
    {
        "revolute", "prismatic", "cylindrical", "screw", "universal", "spherical", "planar", "translational",
        "planar-translation", "schoenflies", "fixed", "free", "point-on-line", "point-on-plane", "distance",
        "rolling-disc", "rolling-sphere", "custom",
    }
)  # fmt: skip
PORTABLE_SURFACES = frozenset({"point", "sphere", "plane", "disc", "curve"})
# Fields that say how a body is drawn, and what its mass follows from: they end where equations begin.
DRAWN = frozenset({"solid", "shapes", "color"})

_MATRIX = tuple(f"R{i}{j}" for i in "xyz" for j in "xyz")
PORTABLE_QUANTITIES = frozenset(
    {"q", "u", "x", "y", "z", "vx", "vy", "vz", "wx", "wy", "wz", *_MATRIX, "length", "rate", "switch", STATE}
)

SECTIONS = (
    "bodies", "points", "joints", "constraints", "forces", "states", "inputs", "tables", "outputs", "events", "fmus",
)  # fmt: skip
FIXES = {
    "limit": "stop instead of limit", "rigid-contact": "contact instead of rigid-contact",
    "friction": "a smooth law instead of friction", "contact-friction": "a contact with friction=…",
}  # fmt: skip


def needs_python(flat: Flat) -> list[str]:
    """What of a model is not declared to run without Python, in words."""
    return list(dict.fromkeys(text for text, _ in _undeclared(flat)))


def refuse_what_needs_python(flat: Flat) -> None:
    """Raise if a model has anything that is not declared to run without Python; all of it is named."""
    found = needs_python(flat)
    if not found:
        return
    fixes = list(dict.fromkeys(FIXES[kind] for _, kind in _undeclared(flat) if kind in FIXES))
    shown = "; ".join(found[:6]) + (f"; and {len(found) - 6} more" if len(found) > 6 else "")
    raise DalembertError(f"{flat.name!r} cannot run without Python, which is needed for {shown}.  "
                         f"Fix: {', '.join(fixes) or 'leave it out, or run it by da.simulate'}")  # fmt: skip


def _undeclared(flat: Flat) -> Iterator[tuple[str, str]]:
    """Words for what is not declared, and its kind."""
    made = {*flat.contacts, *flat.frictions}  # their events are named with them
    for section in SECTIONS:
        for name, (element, _) in getattr(flat, section).items():
            owner = getattr(element, "contact", None) or getattr(element, "friction", None)
            if section == "events" and owner in made:
                continue
            kind = str(getattr(element, "kind", type(element).__name__.lower()))
            if type(element) not in PORTABLE or (section == "joints" and kind not in PORTABLE_JOINTS):
                yield f"{kind} {name!r}", kind
                continue
            for what in _unknown_within(element):
                yield f"{what} of {kind} {name!r}", kind
            for path, *_, formula in formulas_in(element):
                for one in sorted({ref.quantity for ref in references(formula)} - PORTABLE_QUANTITIES):
                    yield f"{one}() in {path!r} of {kind} {name!r}", kind


def _unknown_within(record: Record, at: str = "") -> Iterator[str]:
    """Fields that are not declared and not as they are by default, and records in fields whose class is not."""
    kind = type(record)
    for name, field in kind.model_fields.items():
        usual = field.get_default(call_default_factory=True)
        if name not in PORTABLE[kind] and getattr(record, name) != usual:
            yield repr(f"{at}{name}")
    for path, inner in records_in(record):
        if path.partition("[")[0] in DRAWN:
            continue
        if type(inner) not in PORTABLE:
            yield f"the {type(inner).__name__.lower()} {at + path!r}"
        elif isinstance(inner, Surface) and inner.kind not in PORTABLE_SURFACES:
            yield f"the {inner.kind} {at + path!r}"
        else:
            yield from _unknown_within(inner, f"{at}{path}.")
