"""A planar mechanism as a model in joint coordinates.

Joints of a spanning tree become joints of the model. What closes a loop becomes equations in the plane only, so that no
row is redundant out of plane: a pin becomes a point on the line through it (two equations), a pin in a slot a point on
a plane across the slot (one), a slide two equations of its own. Bodies that no joint holds are free in the plane.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.expressions.symbols import references
from dalembert.model import Model
from dalembert.planar.planar_data import BASE, ContactOnDisc, ContactOnLine, PinInSlot, PrismaticJoint, RevoluteJoint
from dalembert.planar.planar_geometry import Pair, across, dot, ends, minus
from dalembert.planar.planar_shapes import ground_shapes, shapes_of
from dalembert.planar.planar_tree import PlanarTree, plane_joint

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["build_model"]

_HIDDEN = {"kind": "sphere", "radius": 1e-9, "opacity": 0.0}  # of a body that only carries a coordinate


def build_model(planar: Planar, unknowns: Collection[str] = (), quantities: Collection[str] = ()) -> Model:
    """The model of a mechanism that is valid.

    Args:
        unknowns: inputs that become parameters whatever their laws; those whose law is a number always do.
        quantities: of the motion, recorded as outputs of that name.
    """
    model = _Builder(planar, unknowns).build()
    tree = PlanarTree(planar, unknowns)
    known = {output.name for output in model.outputs}
    for name in quantities:
        if name not in known:
            model.output(name, tree.quantity(name))
    return model


def _space(place: Any) -> tuple[Any, Any, Any]:
    return (place[0], place[1], 0)


class _Builder:
    def __init__(self, planar: Planar, unknowns: Collection[str]):
        self.planar, self.tree = planar, PlanarTree(planar, unknowns)
        self.drawn = self.tree.drawn
        self.tree.check_starts()
        g = planar.gravity
        self.model = Model(planar.name, gravity=_space(g), description=planar.description)

    def build(self) -> Model:
        planar, model = self.planar, self.model
        for name, value in planar.parameter_values.items():
            model.define_parameter(name, value)
        for name, law in planar.input_laws.items():
            if name not in self.tree.laws:
                model.define_parameter(name, float(law) if law.is_number else 0.0)
        for level, body in enumerate(planar.bodies):
            shapes = shapes_of(self.drawn, body, level)
            fields: dict[str, Any] = {"mass": body.mass, "com": _space(self.drawn.com(body)), "color": body.color}
            inertia = (body.inertia / 2, body.inertia / 2, body.inertia)
            model.body(body.name, inertia=inertia, shapes=shapes, **fields)
        for fields in ground_shapes(self.drawn):
            model.shape(model.ground, **fields)
        for joint in planar.joints:
            self.joint(joint)
        for name in self.tree.free:
            com = _space(self.drawn.com(self.drawn.body[name]))
            model.planar(plane_joint(name), model.ground, name, point=com, axis="z")
        for contact in planar.contacts:
            self.contact(contact)
        self.extras()
        self.loads()
        for constraint in planar.constraints:
            model.constraint(constraint.name, self.tree.formula(constraint.formula), level=constraint.level)
        for output in planar.outputs:
            model.output(output.name, self.tree.formula(output.formula), unit=output.unit)
        for target, given in (
            (model.initial_values, planar.initial_values), (model.initial_rates, planar.initial_rates)
        ):  # fmt: skip
            for name, values in given.items():
                target[name] = tuple(map(sp.Float, values))
        return model

    def body_name(self, name: str) -> str:
        return self.model.ground if name == BASE else name

    # Joints

    def joint(self, joint: Any) -> None:
        model, cut = self.model, joint in self.tree.cut
        first, second = (self.body_name(body) for body in ends(joint))
        point = _space(self.tree.joint_place(joint))
        if isinstance(joint, RevoluteJoint):
            add = model.point_on_line if cut else model.revolute
            add(joint.name, first, second, point=point, axis="z", cut=cut)
        elif isinstance(joint, PinInSlot):
            if cut:
                normal = _space(across(self.drawn.axis(joint)))
                model.point_on_plane(joint.name, first, second, point=point, axis=normal, cut=True)
            else:
                self.pin_in_slot(joint, first, second)
        elif not cut:
            model.prismatic(joint.name, first, second, point=point, axis=_space(self.drawn.axis(joint)))
        else:
            self.closed_slide(joint)
        if getattr(joint, "torque", None) is not None:
            self.torque(joint, first, second, cut)
        if getattr(joint, "force", None) is not None:
            self.push(joint, first, second, cut)

    def pin_in_slot(self, joint: PinInSlot, first: str, second: str) -> None:
        """A joint of two coordinates: along x of a frame in the slot, about z."""
        e = self.drawn.axis(joint)
        turn = (0, 0, sp.atan2(e[1], e[0]))
        frames = {}
        for key, name in (("frame_1", ends(joint)[0]), ("frame_2", ends(joint)[1])):
            place = self.tree.joint_place(joint)
            if name != BASE:
                place = minus(place, self.drawn.com(self.drawn.body[name]))
            frames[key] = {"position": _space(place), "rpy": turn}
        motion = {
            "coordinates": 2, "position": ("q0", 0, 0), "rpy": (0, 0, "q1"), "equations": ("y", "z", "Rxz", "Ryz"),
            "measure": ("x", "atan2(Ryx, Rxx)"),
        }  # fmt: skip
        self.model.joint("custom", joint.name, first, second, **frames, **motion)

    def closed_slide(self, joint: PrismaticJoint) -> None:
        first, second = ends(joint)
        shift = minus(self.tree.node(self.drawn.slider(joint)), self._point(first, joint))
        normal = self.tree.direction(first, across(self.drawn.axis(joint)))
        turn = self.tree.angle(second) - self.tree.angle(first)
        if turn != 0:  # a loop of slides alone keeps its angles
            self.model.constraint(f"{joint.name} angle", turn)
        self.model.constraint(f"{joint.name} offset", dot(normal, shift))

    def _point(self, body: str, joint: Any) -> Pair:
        return self.tree.placed[body].point(self.tree.joint_place(joint))

    def torque(self, joint: Any, first: str, second: str, cut: bool) -> None:
        value, name = self.tree.formula(joint.torque), f"{joint.name} torque"
        if not cut:
            self.model.joint_force(name, joint.name, value, index=int(isinstance(joint, PinInSlot)))
        elif second == self.model.ground:
            self.model.torque(name, first, (0, 0, -value))
        else:
            reaction = None if first == self.model.ground else first
            self.model.torque(name, second, (0, 0, value), reaction_on=reaction)

    def push(self, joint: Any, first: str, second: str, cut: bool) -> None:
        """Along the line; on the first body it acts anywhere on the line."""
        value, name = self.tree.formula(joint.force), f"{joint.name} force"
        if not cut:
            self.model.joint_force(name, joint.name, value)
            return
        e, place = self.tree.direction(ends(joint)[0], self.drawn.axis(joint)), _space(self.tree.joint_place(joint))
        for body, sign, word in ((second, 1, ""), (first, -1, " reaction")):
            if body != self.model.ground:
                self.model.force(f"{name}{word}", body, (sign * value * e[0], sign * value * e[1], 0), at=place)

    # Rolling

    def contact(self, contact: Any) -> None:
        if isinstance(contact, ContactOnLine):
            self.on_line(contact)
        else:
            self.on_disc(contact)

    def on_line(self, contact: ContactOnLine) -> None:
        """The center stays above the line;  s + r (θ − θ_line) = 0  with the displacement s along the line."""
        e, disc = self.drawn.unit(contact.axis), contact.center.partition(".")[0]
        place = self.tree.placed[contact.line].point(self.drawn.place(contact.center))
        shift = minus(self.tree.node(contact.center), place)
        along, normal = (self.tree.direction(contact.line, v) for v in (e, across(e)))
        turn = self.tree.angle(disc) - self.tree.angle(contact.line)
        self.model.constraint(f"{contact.name} distance", dot(normal, shift))
        self.model.constraint(f"{contact.name} rolling", dot(along, shift) + contact.radius * turn)

    def on_disc(self, contact: ContactOnDisc) -> None:
        """|d| = D;  d × ḋ = D (r₁ ω₁ ± r₂ ω₂)  with the centers' distance d,  D = r₁ ± r₂."""
        first, second = contact.centers
        r1, r2 = contact.radii[0], -contact.radii[1] if contact.inside else contact.radii[1]
        D, d = r1 + r2, minus(self.tree.node(second), self.tree.node(first))
        v = (self.tree.rate(d[0]), self.tree.rate(d[1]))
        w1, w2 = (self.tree.rate(self.tree.angle(node.partition(".")[0])) for node in (first, second))
        self.model.constraint(f"{contact.name} distance", (dot(d, d) - D**2) / (2 * D))
        rolling = dot(across(d), v) / D - (r1 * w1 + r2 * w2)
        self.model.constraint(f"{contact.name} rolling", rolling, level="velocity")

    # Forces, coordinates and velocities of one's own

    def loads(self) -> None:
        model, tree = self.model, self.tree
        for body in self.planar.bodies:
            if body.force is not None:
                model.force(f"{body.name} force", body.name, _space([tree.formula(part) for part in body.force]))
            if body.torque is not None:
                model.torque(f"{body.name} torque", body.name, (0, 0, tree.formula(body.torque)))
        for force in self.planar.forces:
            body = force.node.partition(".")[0]
            if body != BASE:
                place = _space(self.drawn.place(force.node))
                model.force(force.name, body, _space([tree.formula(part) for part in force.value]), at=place)
        for spring in self.planar.springs:
            bodies = [self.body_name(node.partition(".")[0]) for node in spring.nodes]
            places = tuple(_space(self.drawn.place(node)) for node in spring.nodes)
            fields = {"stiffness": spring.stiffness, "damping": spring.damping, "length": spring.length}
            model.spring(spring.name, *bodies, at=places, **fields)

    def extras(self) -> None:
        model, tree = self.model, self.tree
        for coordinate in self.planar.coordinates:
            self.carrier(coordinate.name, 0, coordinate.start)
            rate = tree.formula(sp.Symbol(f"{coordinate.name}.rate", real=True) - coordinate.rate)
            model.constraint(f"{coordinate.name} rate", rate, level="velocity")
        for velocity in self.planar.quasi_velocities:
            formula = tree.formula(velocity.formula)
            if velocity.inertia != 0:
                self.carrier(velocity.name, velocity.inertia, 0.0)
                own = sp.Function("u", real=True)(sp.Symbol(velocity.name, real=True))
                model.constraint(f"{velocity.name} rate", own - formula, level="velocity")
            if velocity.force is not None:
                self.generalized_force(velocity.name, tree.formula(velocity.force), formula)

    def carrier(self, name: str, inertia: Any, start: float) -> None:
        """A body that turns with a coordinate and is not drawn."""
        model = self.model
        model.body(name, inertia=(inertia / 2, inertia / 2, inertia), frame="body", shapes=(_HIDDEN,))
        model.revolute(name, model.ground, name, frame_1=(0, 0, 0), frame_2=(0, 0, 0))
        if start:
            model.initial_values[name] = (sp.Float(start),)

    def generalized_force(self, name: str, force: sp.Expr, formula: sp.Expr) -> None:
        """The joint forces f ∂p/∂u, whose power is f p."""
        for ref in sorted(references(formula), key=lambda ref: (ref.element, ref.index)):
            if ref.quantity == "u":
                u = sp.Function("u", real=True)(sp.Symbol(ref.element, real=True), *([ref.index] if ref.index else []))
                dummy = sp.Dummy()
                slope = cast("sp.Expr", sp.diff(formula.xreplace({u: dummy}), dummy))
                title = f"{name} force {ref.element}{f' {ref.index}' if ref.index else ''}"
                self.model.joint_force(title, ref.element, force * slope, index=ref.index)
