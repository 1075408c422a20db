"""The node model: coordinates of nodes with their rates, angular velocities, invariants and forces, as formulas.

Legend (thesis, section 5.3):  p node,  d = p₂ − p₁ between the first two nodes of a body,  a = |d|,  ω angular
velocity,  γ, ρ weights of the center of mass,  e unit direction of a guide,  s displacement along it.

    |d|² = a²                        length                     (holonomic)
    d × ḋ = a² ω                     angular velocity           (order 1)
    p_k = p₁ + γ_k d + ρ_k ẑ × d     each further node          (holonomic)
    p = p₀ + s e                     guides and slots, (5.31)   (holonomic)
    q_R = ω₂ − ω₁                    active pins, (5.28)        (order 1)

The thesis has both components of ḋ = ω ẑ × d beside the length, which makes one of three rows redundant; these two are
independent in every position. Pinned nodes are one node, (5.27); bodies that slide against each other turn as one,
(5.30). Directions fixed to a body are γ d + ρ ẑ × d, so that no angle is needed and all invariants are polynomials.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.expressions.symbols import parameter
from dalembert.planar.planar_data import BASE, ContactOnLine, PlanarBody, PrismaticJoint, RevoluteJoint
from dalembert.planar.planar_geometry import Drawn, Pair, across, body_of, dot, ends, minus, plus, turned
from dalembert.planar.planar_names import symbols_of

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["NodeModel"]

ZERO = sp.Integer(0)


class NodeModel:
    """Variables, invariants and forces of a planar mechanism by its nodes.

    Args:
        quantities: of the motion, which shall be variables too: angles are, only if asked for.

    Attributes:
        coordinates: names of order 0, each with its value as drawn.
        velocities: names of order 1 that are no rates of coordinates.
        kinematics: rates of coordinates that are given by velocities.
        invariants: what is zero, by name.
        active, inertia: forces by variable.
        inputs: the variable that each input acts on alone.
    """

    def __init__(self, planar: Planar, quantities: Iterable[str] = ()):
        planar.validate()
        self.planar, self.drawn = planar, Drawn(planar)
        self.coordinates: dict[str, Any] = {}
        self.velocities: list[str] = []
        self.kinematics: dict[str, sp.Expr] = {}
        self.invariants: dict[str, sp.Expr] = {}
        self.active: dict[str, sp.Expr] = {}
        self.inertia: dict[str, sp.Expr] = {}
        self.inputs: dict[str, str] = {}
        self._frame = self._frames()
        self._node = self._shared()
        for body in planar.bodies:
            self._body(body)
        for joint in planar.joints:
            self._joint(joint)
        for contact in planar.contacts:
            self._contact(contact)
        self._extras()
        self._loads()
        for constraint in planar.constraints:
            self._hold(constraint.name, self.formula(constraint.formula))
        for name in quantities:
            self.quantity(name)

    # Shared nodes and frames

    def _shared(self) -> dict[str, str]:
        """The node that stands for each: pins identify nodes, those of the base and of earlier bodies stay."""
        names = [f"{BASE}.{node}" for node in self.planar.base_nodes]
        names += [f"{body.name}.{node}" for body in self.planar.bodies for node in body.nodes]
        pairs = [joint.nodes for joint in self.planar.joints if isinstance(joint, RevoluteJoint)]
        return _merged(names, pairs)

    def _frames(self) -> dict[str, str]:
        """The body by whose direction each body is turned: slides identify bodies, the base and those with two nodes
        stay."""
        bodies = sorted(self.planar.bodies, key=lambda body: len(body.nodes) < 2)
        names = [BASE, *(body.name for body in bodies)]
        return _merged(names, [ends(joint) for joint in self.planar.joints if isinstance(joint, PrismaticJoint)])

    # Symbols

    def _coordinate(self, name: str, drawn: Any) -> sp.Symbol:
        self.coordinates.setdefault(name, drawn)
        return parameter(name)

    def _velocity(self, name: str) -> sp.Symbol:
        if name not in self.velocities:
            self.velocities.append(name)
        return parameter(name)

    def node(self, node: str) -> Pair:
        """Where a node is."""
        name = self._node[node]
        place = self.drawn.place(name)
        if body_of(name) == BASE:
            return place
        return (self._coordinate(f"{name}.x", place[0]), self._coordinate(f"{name}.y", place[1]))

    def node_rate(self, node: str) -> Pair:
        """Velocity of a node."""
        return _rate(self.node(node)) if body_of(self._node[node]) != BASE else (ZERO, ZERO)

    def omega(self, body: str) -> Any:
        """Angular velocity of a body."""
        frame = self._frame[body]
        return ZERO if frame == BASE else self._velocity(f"{frame}.omega")

    def angle(self, body: str) -> Any:
        """Rotation since drawn: a coordinate of its own, made when it is asked for."""
        frame = self._frame[body]
        if frame == BASE:
            return ZERO
        name, nodes = f"{frame}.angle", list(self.drawn.nodes(frame))[:2]
        if name not in self.coordinates:
            angle = self._coordinate(name, ZERO)
            if len(nodes) < 2:
                self.kinematics[name] = self.omega(frame)
                return angle
            # As drawn turned by the angle:  (R e) × d = 0
            first, second = (f"{frame}.{node}" for node in nodes)
            e = minus(self.drawn.place(second), self.drawn.place(first))
            self._hold(name, dot(across(turned(angle, e)), minus(self.node(second), self.node(first))))
        return parameter(name)

    def direction(self, body: str, e: Any) -> Pair:
        """Where a vector points that is fixed to a body and was drawn as e."""
        frame = self._frame[body]
        if frame == BASE:
            return e
        nodes = list(self.drawn.nodes(frame))[:2]
        if len(nodes) < 2:
            return turned(self.angle(frame), e)
        first, second = (self.node(f"{frame}.{name}") for name in nodes)
        gamma, rho = self.drawn.along(frame, e)
        d = minus(second, first)
        return (gamma * d[0] - rho * d[1], gamma * d[1] + rho * d[0])

    def fixed(self, body: str, place: Any) -> Pair:
        """Where a point is that is fixed to a body and was drawn at a place."""
        if body == BASE:
            return place
        first = self.drawn.first_node(body)
        return plus(self.node(first), self.direction(body, minus(place, self.drawn.place(first))))

    def fixed_rate(self, body: str, point: Any) -> Pair:
        """Velocity of the point of a body that is now at a place."""
        if body == BASE:
            return (ZERO, ZERO)
        first = self.drawn.first_node(body)
        return plus(self.node_rate(first), across(minus(point, self.node(first))), self.omega(body))

    # Invariants

    def _hold(self, name: str, formula: Any) -> None:
        """What is identically zero says nothing."""
        formula = cast("sp.Expr", sp.sympify(formula, strict=True))
        if formula != 0 and symbols_of(formula):
            self.invariants[name] = formula

    def _body(self, body: PlanarBody) -> None:
        nodes = list(body.nodes)
        for name in nodes:
            self.node(f"{body.name}.{name}")
        omega = self.omega(body.name)
        if len(nodes) < 2:
            return
        first = f"{body.name}.{nodes[0]}"
        start = 1
        if self._frame[body.name] == body.name:
            second, start = f"{body.name}.{nodes[1]}", 2
            drawn = minus(self.drawn.place(second), self.drawn.place(first))
            d, v = minus(self.node(second), self.node(first)), minus(self.node_rate(second), self.node_rate(first))
            square = dot(drawn, drawn)
            self._hold(f"{body.name}.length", dot(d, d) - square)
            self._hold(f"{body.name}.turning", dot(across(d), v) - square * omega)
        for name in nodes[start:]:
            place = self.drawn.place(f"{body.name}.{name}")
            off = minus(self.node(f"{body.name}.{name}"), self.fixed(body.name, place))
            self._pair(f"{body.name}.{name}", off)

    def _pair(self, name: str, off: Any) -> None:
        self._hold(f"{name}.along_x", off[0])
        self._hold(f"{name}.along_y", off[1])

    def _joint(self, joint: Any) -> None:
        first, second = ends(joint)
        if joint.slides:
            slider = self.drawn.slider(joint)
            s = self._coordinate(f"{joint.name}.slide", ZERO)
            place = plus(self.fixed(first, self.drawn.place(slider)), self.direction(first, self.drawn.axis(joint)), s)
            self._pair(joint.name, minus(self.node(slider), place))
            self._act(f"{joint.name}.slide", joint.force)
        if joint.turns and joint.torque is not None:
            rate = self._velocity(f"{joint.name}.omega")
            self._hold(f"{joint.name}.turning", rate - (self.omega(second) - self.omega(first)))
            self._act(f"{joint.name}.omega", joint.torque)

    def _contact(self, contact: Any) -> None:
        if isinstance(contact, ContactOnLine):
            e = self.drawn.unit(contact.axis)
            along, normal = (self.direction(contact.line, v) for v in (e, across(e)))
            center, rate = self.node(contact.center), self.node_rate(contact.center)
            base = self.fixed(contact.line, self.drawn.place(contact.center))
            touch = plus(center, normal, -contact.radius)
            disc = plus(rate, across(normal), -contact.radius * self.omega(body_of(contact.center)))
            slip = minus(disc, self.fixed_rate(contact.line, touch))
            self._hold(f"{contact.name}.distance", dot(normal, minus(center, base)))
            self._hold(f"{contact.name}.rolling", dot(along, slip))
            return
        first, second = contact.centers
        r1, r2 = contact.radii[0], -contact.radii[1] if contact.inside else contact.radii[1]
        D = r1 + r2
        d, v = minus(self.node(second), self.node(first)), minus(self.node_rate(second), self.node_rate(first))
        w1, w2 = self.omega(body_of(first)), self.omega(body_of(second))
        self._hold(f"{contact.name}.distance", dot(d, d) - D**2)
        self._hold(f"{contact.name}.rolling", dot(across(d), v) - D * (r1 * w1 + r2 * w2))

    # Forces

    def _add(self, table: dict[str, sp.Expr], variable: Any, value: Any) -> None:
        if isinstance(variable, sp.Symbol) and value != 0:
            name = variable.name.removesuffix(".d")
            table[name] = table.get(name, ZERO) + value

    def _act(self, variable: str, force: sp.Expr | None) -> None:
        """A force on a variable; an input alone is known by it."""
        if force is None:
            return
        if isinstance(force, sp.Symbol) and force.name in self.planar.input_laws:
            self.inputs.setdefault(force.name, variable)
        self._add(self.active, parameter(variable), self.formula(force))

    def _push(self, node: str, force: Any) -> None:
        for rate, component in zip(self.node_rate(node), force, strict=True):
            self._add(self.active, rate, component)

    def _loads(self) -> None:
        for body in self.planar.bodies:
            self._weigh(body)
        for force in self.planar.forces:
            self._push(force.node, [self.formula(part) for part in force.value])
        for spring in self.planar.springs:
            first, second = spring.nodes
            d, v = minus(self.node(second), self.node(first)), minus(self.node_rate(second), self.node_rate(first))
            drawn = minus(self.drawn.place(second), self.drawn.place(first))
            length = sp.sqrt(dot(d, d))
            free = sp.sqrt(dot(drawn, drawn)) if spring.length is None else spring.length
            tension = spring.stiffness * (length - free) + spring.damping * dot(d, v) / length
            pull = (tension * d[0] / length, tension * d[1] / length)
            self._push(first, pull)
            self._push(second, (-pull[0], -pull[1]))

    def _weigh(self, body: PlanarBody) -> None:
        """Weight, forces and inertia on the rates of the first two nodes and on ω:  Vᵀ f,  −Vᵀ m V q̈,  −I ω̇.

        With v* = V (v₁, v₂): equations (5.25) and (5.26), with accelerations in the latter.
        """
        given = [ZERO, ZERO] if body.force is None else [self.formula(part) for part in body.force]
        weight = [body.mass * g + f for g, f in zip(self.planar.gravity, given, strict=True)]
        gamma, rho = self.drawn.weights(body)
        names = [f"{body.name}.{name}" for name in body.nodes][: 1 if gamma == rho == 0 else 2]
        rows = [[1 - gamma, rho, gamma, -rho], [-rho, 1 - gamma, rho, gamma]] if len(names) == 2 else [[1, 0], [0, 1]]
        V = cast("Any", sp.Matrix(rows))
        rates = [rate for name in names for rate in self.node_rate(name)]
        accelerations = sp.Matrix([parameter(f"{r.name[:-2]}.dd") if isinstance(r, sp.Symbol) else 0 for r in rates])
        inertia = -body.mass * V.T * V * accelerations
        for table, force in ((self.active, V.T * sp.Matrix(weight)), (self.inertia, inertia)):
            for rate, value in zip(rates, force, strict=True):
                self._add(table, rate, value)
        omega = self.omega(body.name)
        if isinstance(omega, sp.Symbol):
            self._add(self.inertia, omega, -body.inertia * parameter(f"{omega.name}.d"))
            if body.torque is not None:
                self._act(omega.name, body.torque)

    def _extras(self) -> None:
        for coordinate in self.planar.coordinates:
            self._coordinate(coordinate.name, sp.Float(coordinate.start))
            self.kinematics[coordinate.name] = self.formula(coordinate.rate)
        for velocity in self.planar.quasi_velocities:
            p = self._velocity(velocity.name)
            self._hold(f"{velocity.name}.rate", p - self.formula(velocity.formula))
            self._act(velocity.name, velocity.force)
            self._add(self.inertia, p, -velocity.inertia * parameter(f"{velocity.name}.d"))

    # Formulas

    def formula(self, formula: sp.Expr) -> sp.Expr:
        """A formula of the mechanism in the variables of the node model; inputs and parameters stay."""
        known = {*self.planar.parameter_values, *self.planar.input_laws}
        swap = {s: self.quantity(s.name) for s in symbols_of(formula) if s.name not in known}
        return cast("sp.Expr", formula.xreplace(swap))

    def quantity(self, name: str) -> Any:
        """A quantity of the motion in the variables of the node model."""
        owner, _, key = name.rpartition(".")
        if not owner:
            return parameter(name)
        if key == "rate":
            return self.kinematics.get(owner) if owner in self.kinematics else parameter(f"{owner}.d")
        if key in ("x", "y"):
            return self.node(owner)["xy".index(key)]
        if key in ("vx", "vy"):
            return self.node_rate(owner)["xy".index(key[1])]
        if owner in self.drawn.body:
            return self.angle(owner) if key == "angle" else self.omega(owner)
        joint = next(joint for joint in self.planar.joints if joint.name == owner)
        if key in ("slide", "speed"):
            return parameter(f"{owner}.slide" if key == "slide" else f"{owner}.slide.d")
        first, second = ends(joint)
        rate = self.omega(second) - self.omega(first)
        if key == "omega":
            return parameter(name) if name in self.velocities else rate
        if name not in self.coordinates:
            self._hold(name, self._coordinate(name, ZERO) - (self.angle(second) - self.angle(first)))
        return parameter(name)


def _rate(pair: Any) -> Pair:
    return (parameter(f"{pair[0].name}.d"), parameter(f"{pair[1].name}.d"))


def _merged(names: list[str], pairs: Any) -> dict[str, str]:
    """Names that are one by pairs: of each group the first stands for all."""
    parent = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    order = {name: i for i, name in enumerate(names)}
    for a, b in pairs:
        first, second = sorted((root(a), root(b)), key=order.__getitem__)
        parent[second] = first
    return {name: root(name) for name in names}
