"""What is wrong with a planar mechanism: everything, each with its place and a fix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.errors import Problem
from dalembert.model.fields import nearest
from dalembert.planar.planar_data import BASE, PinInSlot, PlanarBody, PrismaticJoint, RevoluteJoint
from dalembert.planar.planar_geometry import Drawn, across, dot, ends, minus, radii_of
from dalembert.planar.planar_names import VELOCITY, has_references, quantities, symbols_of

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["problems"]

TOGETHER = 1e-7  # of the extent: how far apart two nodes of a pin, or a pin and its slot, may be drawn
TAKEN = (BASE, "ground", "t", "pi")
TITLES = {
    "bodies": "body", "joints": "joint", "contacts": "contact", "springs": "spring", "forces": "force",
    "coordinates": "coordinate", "quasi_velocities": "quasi-velocity", "constraints": "constraint",
    "outputs": "output",
}  # fmt: skip


def problems(planar: Planar) -> list[Problem]:
    """All problems; empty if the mechanism can be used."""
    return _Check(planar).run()


class _Check:
    def __init__(self, planar: Planar):
        self.planar, self.drawn = planar, Drawn(planar)
        self.found: list[Problem] = []
        self.levels = quantities(planar)

    def report(self, path: str, message: str, fix: str = "") -> None:
        sources = self.planar.sources
        keys = [path[:i] for i in range(len(path), 0, -1) if i == len(path) or path[i] in ".["]
        where = next((sources[key] for key in keys if key in sources), sources.get("", ""))
        self.found.append(Problem(f"{message}.", path, fix, where))

    def run(self) -> list[Problem]:
        self.names()
        if not self.planar.bodies:
            self.report("bodies", f"mechanism {self.planar.name!r} has no bodies", 'w.body("crank", A=(0, 0), …)')
        for i, body in enumerate(self.planar.bodies):
            self.body(body, f"bodies[{i}]")
        self.base()
        reachable = self.references()
        self.formulas()
        self.starts()
        if reachable and not self.found:
            self.geometry()
        return self.found

    # Names

    def elements(self) -> Iterator[tuple[str, str, Any]]:
        """Path, title and element of everything that has a name."""
        for section, title in TITLES.items():
            for i, element in enumerate(getattr(self.planar, section)):
                yield f"{section}[{i}]", f"{title} {element.name!r}", element

    def names(self) -> None:
        """One namespace for what formulas may name; outputs apart."""
        seen = dict.fromkeys(self.planar.parameter_values, "a parameter")
        for name in self.planar.input_laws:
            if name in seen:
                self.report(f"inputs.{name}", f"input {name!r}: there is a parameter of that name", "choose another")
            seen[name] = "an input"
        for name in (name for name in seen if name in TAKEN):
            self.report("parameters", f"{seen[name]} cannot be called {name!r}; the name is taken", "choose another")
        outputs: set[str] = set()
        for path, title, element in self.elements():
            if path.startswith("outputs"):
                if element.name in outputs:
                    self.report(path, f"{title} is defined twice", "choose another name")
                outputs.add(element.name)
            elif element.name in TAKEN:
                self.report(f"{path}.name", f"{title}: the name is taken", "choose another name")
            elif element.name in seen:
                message = f"{title}: the name is used twice, {seen[element.name]} has it"
                self.report(f"{path}.name", message, "choose another name")
            else:
                seen[element.name] = f"a {title.split()[0]}"

    def base(self) -> None:
        for name, place in self.planar.base_nodes.items():
            self.constant(f"base.{name}", f"base: node {name!r}", place)

    def body(self, body: PlanarBody, path: str) -> None:
        title = f"body {body.name!r}"
        for name, place in body.nodes.items():
            self.constant(f"{path}.nodes.{name}", f"{title}: node {name!r}", place)
        for key in ("mass", "inertia"):
            value = self.constant(f"{path}.{key}", f"{title}: {key}", (getattr(body, key),))[0]
            if value < 0:
                self.report(f"{path}.{key}", f"{title}: {key} must not be negative, got {value:g}", f"{key}: 1.0")
        if isinstance(body.com, str) and body.com not in body.nodes:
            self.report(f"{path}.com", f"{title}: com: unknown node {body.com!r}", nearest(body.com, body.nodes))
        if isinstance(body.com, tuple):
            self.constant(f"{path}.com", f"{title}: com", body.com)
            if len(body.nodes) < 2:
                message = f"{title}: com as (γ, ρ) needs two nodes, there is one"
                self.report(f"{path}.com", message, "name the node, or add another")
        if self.drawn.body[body.name] is not body:
            return  # another one has its name, which is reported
        places = [self.drawn.point(f"{body.name}.{name}") for name in list(body.nodes)[:2]]
        if len(places) == 2 and math.dist(*places) <= 1e-12 * self.drawn.extent:
            first, second = list(body.nodes)[:2]
            message = f"{title}: its first two nodes {first!r} and {second!r} are drawn at the same place"
            self.report(f"{path}.nodes", message, "list two nodes that are apart first")

    def constant(self, path: str, title: str, formulas: Any) -> list[float]:
        """Values of formulas of parameters; NaN where there is none, which is reported."""
        values: list[float] = []
        for formula in formulas:
            unknown = sorted(s.name for s in symbols_of(formula) if s.name not in self.planar.parameter_values)
            value = math.nan if unknown or formula.has(self.planar.t) else self.drawn.value(formula)
            if unknown or formula.has(self.planar.t) or has_references(formula):
                names = ", ".join(unknown) or "the motion"
                known = self.planar.parameter_values
                fix = nearest(unknown[0], known) if unknown and known else "give a number, or define the parameter"
                self.report(path, f"{title} may name parameters only, it names {names}", fix)
            elif not math.isfinite(value):
                self.report(path, f"{title} has no finite value", "give a number")
            values.append(value)
        return values

    # What elements refer to

    def references(self) -> bool:
        """Bodies and nodes that are named must exist; True if all do."""
        before = len(self.found)
        for i, joint in enumerate(self.planar.joints):
            path, title = f"joints[{i}]", f"joint {joint.name!r}"
            if isinstance(joint, RevoluteJoint):
                known = [self.node(f"{path}.nodes[{k}]", title, node) for k, node in enumerate(joint.nodes)]
            elif isinstance(joint, PinInSlot):
                known = [self.body_name(f"{path}.slot", title, joint.slot), self.node(f"{path}.pin", title, joint.pin)]
            else:
                assert isinstance(joint, PrismaticJoint)
                first, second = joint.bodies
                check = self.node if "." in second else self.body_name
                known = [
                    self.body_name(f"{path}.bodies[0]", title, first),
                    check(f"{path}.bodies[1]", title, second),
                ]
            if all(known) and ends(joint)[0] == ends(joint)[1]:
                message = f"{title} must connect two different bodies, got {ends(joint)[0]!r} twice"
                self.report(path, message, "name another body, or base")
            elif all(known) and isinstance(joint, PrismaticJoint) and ends(joint)[1] == BASE:
                self.report(f"{path}.bodies[1]", f"{title}: the base cannot slide", "name the base first")
        for i, contact in enumerate(self.planar.contacts):
            path, title = f"contacts[{i}]", f"contact {contact.name!r}"
            for node, radius in radii_of(contact).items():
                self.node(path, title, node)
                value = self.constant(path, f"{title}: radius", (radius,))[0]
                if value <= 0:
                    self.report(path, f"{title}: a radius must be positive, got {value:g}", "e.g. 0.1")
            if hasattr(contact, "line"):
                self.body_name(f"{path}.line", title, contact.line)
        for section in ("springs", "forces"):
            for i, element in enumerate(getattr(self.planar, section)):
                title = f"{TITLES[section]} {element.name!r}"
                nodes = getattr(element, "nodes", None) or (element.node,)
                known = [self.node(f"{section}[{i}]", title, node) for node in nodes]
                owners = [node.partition(".")[0] for node in nodes]
                if all(known) and len(owners) == 2 and owners[0] == owners[1]:
                    message = f"{title} must connect two different bodies, got {owners[0]!r} twice"
                    self.report(f"{section}[{i}]", message, "a node of another body, or of the base")
        return len(self.found) == before

    def body_name(self, path: str, title: str, name: str) -> bool:
        known = [BASE, *self.drawn.body]
        if name not in known:
            self.report(path, f"{title}: unknown body {name!r}", nearest(name, known))
        return name in known

    def node(self, path: str, title: str, name: str) -> bool:
        body, _, node = name.partition(".")
        if not self.body_name(path, title, body):
            return False
        known = self.drawn.nodes(body)
        if node not in known:
            owner = "the base" if body == BASE else f"body {body!r}"
            fix = nearest(node, known) if known else f"w.base({node}=(0, 0))"
            self.report(path, f"{title}: {owner} has no node {node!r}", fix)
        return node in known

    # Formulas

    def formulas(self) -> None:
        planar = self.planar
        for name, law in planar.input_laws.items():
            self.formula(f"inputs.{name}", f"input {name!r}", law, inputs=False)
        for path, title, element in self.elements():
            for key in ("force", "torque", "value", "stiffness", "damping", "length"):
                value: Any = getattr(element, key, None)
                parts = cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))
                for part in parts:
                    if part is not None:
                        self.formula(f"{path}.{key}", f"{title}: {key}", part)
        for i, coordinate in enumerate(planar.coordinates):
            path, title = f"coordinates[{i}].rate", f"coordinate {coordinate.name!r}: rate"
            self.linear(path, title, coordinate.rate, own=f"{coordinate.name}.rate")
        for i, velocity in enumerate(planar.quasi_velocities):
            path, title = f"quasi_velocities[{i}].formula", f"quasi-velocity {velocity.name!r}"
            self.linear(path, title, velocity.formula, own=velocity.name)
            inertia = self.constant(f"quasi_velocities[{i}].inertia", f"{title}: inertia", (velocity.inertia,))[0]
            if inertia < 0:
                message = f"{title}: inertia must not be negative, got {inertia:g}"
                self.report(f"quasi_velocities[{i}].inertia", message, "e.g. 0.01")
        for i, constraint in enumerate(planar.constraints):
            path, title = f"constraints[{i}].formula", f"constraint {constraint.name!r}"
            if constraint.level == "velocity":
                self.linear(path, title, constraint.formula)
            elif self.formula(path, title, constraint.formula, inputs=False):
                fast = [s.name for s in symbols_of(constraint.formula) if self.levels.get(s.name) == VELOCITY]
                if fast:
                    message = f"{title}: at position level it may not name the velocity {fast[0]!r}"
                    self.report(path, message, 'level="velocity"')
        for i, output in enumerate(planar.outputs):
            self.formula(f"outputs[{i}].formula", f"output {output.name!r}", output.formula)

    def formula(self, path: str, title: str, formula: sp.Expr, inputs: bool = True) -> bool:
        """Every name in a formula must be known."""
        if has_references(formula):
            message = f"{title}: q(), u(), x() … belong to models; here motion is named as crank.angle, crank.pin.x"
            self.report(path, message, "see the names that formulas may use")
            return False
        known = {*self.planar.parameter_values, *self.levels, *(self.planar.input_laws if inputs else ())}
        unknown = sorted(symbol.name for symbol in symbols_of(formula) if symbol.name not in known)
        for name in unknown:
            shown = sorted(known, key=lambda word: (word.partition(".")[0] != name.partition(".")[0], word))[:20]
            self.report(
                path, f"{title}: unknown name {name!r}", nearest(name, shown) + (" …" if len(known) > 20 else "")
            )
        return not unknown

    def linear(self, path: str, title: str, formula: sp.Expr, own: str = "") -> None:
        """A formula of velocities must be linear in them."""
        if not self.formula(path, title, formula, inputs=False):
            return
        fast = [symbol for symbol in symbols_of(formula) if self.levels.get(symbol.name) == VELOCITY]
        if own and any(symbol.name == own for symbol in fast):
            self.report(path, f"{title} names itself", "name other velocities")
        slopes: list[Any] = [sp.diff(formula, symbol) for symbol in fast]
        if any(slope.has(*fast) for slope in slopes if fast):
            self.report(path, f"{title} must be linear in velocities", "no products or powers of velocities")

    # Geometry

    def starts(self) -> None:
        joints = {joint.name: joint for joint in self.planar.joints}
        for key in ("initial_values", "initial_rates"):
            for name, values in getattr(self.planar, key).items():
                joint = joints.get(name)
                if joint is None:
                    self.report("initial", f"initial: unknown joint {name!r}", nearest(name, joints))
                    continue
                count = int(joint.turns) + int(joint.slides)
                if len(values) != count:
                    message = f"initial of joint {name!r}: expected {count} values, got {len(values)}"
                    self.report(f"initial.{name}", message, f"give {count}")

    def geometry(self) -> None:
        """What fits together as drawn."""
        near = TOGETHER * self.drawn.extent
        for i, joint in enumerate(self.planar.joints):
            path, title = f"joints[{i}]", f"joint {joint.name!r}"
            if isinstance(joint, RevoluteJoint):
                places = [self.drawn.point(node) for node in joint.nodes]
                if math.dist(*places) > near:
                    words = " and ".join(
                        f"{n} at ({p[0]:g}, {p[1]:g})" for n, p in zip(joint.nodes, places, strict=True)
                    )
                    self.report(path, f"{title}: its nodes must be drawn at one place, got {words}", "move one of them")
                continue
            assert isinstance(joint, (PrismaticJoint, PinInSlot))
            if joint.axis is not None:
                values = self.constant(f"{path}.axis", f"{title}: axis", joint.axis)
                if math.hypot(*values) == 0:
                    self.report(f"{path}.axis", f"{title}: axis must not be zero", "e.g. axis: x")
            elif len(self.drawn.nodes(ends(joint)[0])) < 2:
                message = f"{title}: {ends(joint)[0]!r} has one node, which gives the slot no direction"
                self.report(path, message, "give axis, e.g. axis: x")
            else:
                self.on_slot(path, title, joint, near)
        pins = [set(joint.nodes) for joint in self.planar.joints if isinstance(joint, RevoluteJoint)]
        for i, spring in enumerate(self.planar.springs):
            if set(spring.nodes) in pins:
                message = f"spring {spring.name!r}: its nodes are pinned together, so that it has no direction"
                self.report(f"springs[{i}]", message, "name nodes that can move apart, or give the pin a torque")
        for i, contact in enumerate(self.planar.contacts):
            if hasattr(contact, "centers"):
                self.touching(f"contacts[{i}]", f"contact {contact.name!r}", contact, near)
            else:
                values = self.constant(f"contacts[{i}].axis", f"contact {contact.name!r}: axis", contact.axis)
                if math.hypot(*values) == 0:
                    self.report(f"contacts[{i}].axis", f"contact {contact.name!r}: axis must not be zero", "axis: x")

    def on_slot(self, path: str, title: str, joint: Any, near: float) -> None:
        first, second = [self.drawn.point(f"{joint.slot}.{name}") for name in list(self.drawn.nodes(joint.slot))[:2]]
        e, pin = minus(second, first), self.drawn.point(joint.pin)
        off = dot(across(e), minus(pin, first)) / math.hypot(*e)
        if abs(off) > near:
            names = " and ".join(repr(name) for name in list(self.drawn.nodes(joint.slot))[:2])
            message = f"{title}: the pin {joint.pin} is drawn {abs(off):g} m beside the line of {names}"
            self.report(path, message, "move it onto the line, or give axis for a slot through the pin")

    def touching(self, path: str, title: str, contact: Any, near: float) -> None:
        first, second = (self.drawn.point(node) for node in contact.centers)
        r1, r2 = (self.drawn.value(radius) for radius in contact.radii)
        wanted = r1 - r2 if contact.inside else r1 + r2
        if wanted <= 0:
            self.report(path, f"{title}: the disc inside must be smaller than the ring", "the ring comes first")
        elif abs(math.dist(first, second) - wanted) > near:
            message = f"{title}: the centers are drawn {math.dist(first, second):g} m apart, contact needs {wanted:g} m"
            self.report(path, message, "move one of them")
