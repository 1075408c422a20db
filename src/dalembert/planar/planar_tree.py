"""Joint coordinates of a planar mechanism: which joints span the tree, and every quantity as a formula of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME
from dalembert.expressions.symbols import reference
from dalembert.planar.planar_data import BASE, PinInSlot, PlanarJoint, PrismaticJoint, RevoluteJoint
from dalembert.planar.planar_geometry import Drawn, Pair, dot, ends, minus, plus, turned
from dalembert.planar.planar_names import symbols_of

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["PlanarTree", "plane_joint"]


def plane_joint(body: str) -> str:
    """The joint that leaves a body free in the plane; no joint of a user has a space in its name."""
    return f"{body} plane"


class _Placed:
    """A body that moves: its angle, and where a point drawn at X₀ is."""

    def __init__(self, angle: Any, origin: Pair, drawn: Pair):
        self.angle, self.origin, self.drawn = angle, origin, drawn

    def point(self, place: Any) -> Pair:
        return plus(self.origin, turned(self.angle, minus(place, self.drawn)))


class PlanarTree:
    """A spanning tree of the joints, and what formulas name in its coordinates q(joint), u(joint).

    Sliding joints come first into the tree, since closing one takes an equation of angles; then those with initial
    values and with forces; pins in slots come last, since closing one takes a single equation.

    Args:
        unknowns: inputs whose laws are not used: they stay in formulas.
    """

    def __init__(self, planar: Planar, unknowns: Collection[str] = ()):
        self.planar, self.drawn = planar, Drawn(planar)
        self.laws = {n: law for n, law in planar.input_laws.items() if n not in unknowns and not law.is_number}
        self.tree, self.cut = self._span()
        self.free: list[str] = []
        self.placed = self._place()

    def _rank(self, joint: PlanarJoint) -> int:
        if isinstance(joint, PrismaticJoint):
            return 0
        if joint.name in self.planar.initial_values or joint.name in self.planar.initial_rates:
            return 1
        if getattr(joint, "torque", None) is not None:
            return 2
        return 4 if isinstance(joint, PinInSlot) else 3

    def _span(self) -> tuple[list[PlanarJoint], list[PlanarJoint]]:
        group = {name: name for name in (BASE, *self.drawn.body)}

        def root(name: str) -> str:
            while group[name] != name:
                name = group[name]
            return name

        tree: list[PlanarJoint] = []
        cut: list[PlanarJoint] = []
        for joint in sorted(self.planar.joints, key=self._rank):
            first, second = (root(body) for body in ends(joint))
            if first == second:
                cut.append(joint)
                continue
            keep, join = (second, first) if second == BASE else (first, second)
            group[join] = keep
            tree.append(joint)
        order = {joint.name: i for i, joint in enumerate(self.planar.joints)}
        return sorted(tree, key=lambda j: order[j.name]), sorted(cut, key=lambda j: order[j.name])

    def _place(self) -> dict[str, _Placed]:
        zero = sp.Integer(0)
        placed = {BASE: _Placed(zero, (zero, zero), (zero, zero))}
        rest = list(self.tree)
        while len(placed) <= len(self.drawn.body):
            ready = [joint for joint in rest if any(body in placed for body in ends(joint))]
            if not ready:
                # Nothing holds the next body: it is free in the plane.
                name = next(name for name in self.drawn.body if name not in placed)
                com, joint = self.drawn.com(self.drawn.body[name]), plane_joint(name)
                x, y, angle = (reference("q", joint, i) for i in range(3))
                placed[name] = _Placed(angle, plus(com, (x, y)), com)
                self.free.append(name)
                continue
            for joint in ready:
                rest.remove(joint)
                first, second = ends(joint)
                if first in placed:
                    placed[second] = self._after(joint, placed[first])
                else:
                    placed[first] = self._before(joint, placed[second])
        return placed

    def own(self, joint: PlanarJoint) -> tuple[Any, Any]:
        """Displacement and angle of a joint in the tree."""
        q = reference("q", joint.name)
        if isinstance(joint, RevoluteJoint):
            return sp.Integer(0), q
        return q, reference("q", joint.name, 1) if isinstance(joint, PinInSlot) else sp.Integer(0)

    def _after(self, joint: PlanarJoint, first: _Placed) -> _Placed:
        """The second body, given the first."""
        slide, angle = self.own(joint)
        place = self.joint_place(joint)
        if isinstance(joint, RevoluteJoint):
            return _Placed(first.angle + angle, first.point(place), self.drawn.place(joint.nodes[1]))
        assert isinstance(joint, (PrismaticJoint, PinInSlot))
        return _Placed(first.angle + angle, first.point(plus(place, self.drawn.axis(joint), slide)), place)

    def _before(self, joint: PlanarJoint, second: _Placed) -> _Placed:
        """The first body, given the second."""
        slide, angle = self.own(joint)
        place = self.joint_place(joint)
        if isinstance(joint, RevoluteJoint):
            return _Placed(second.angle - angle, second.point(self.drawn.place(joint.nodes[1])), place)
        assert isinstance(joint, (PrismaticJoint, PinInSlot))
        return _Placed(second.angle - angle, second.point(place), plus(place, self.drawn.axis(joint), slide))

    def joint_place(self, joint: PlanarJoint) -> Pair:
        """Where a joint is drawn, on its first body."""
        if isinstance(joint, RevoluteJoint):
            return self.drawn.place(joint.nodes[0])
        assert isinstance(joint, (PrismaticJoint, PinInSlot))
        return self.drawn.place(self.drawn.slider(joint))

    # Quantities

    def angle(self, body: str) -> Any:
        return self.placed[body].angle

    def node(self, node: str) -> Pair:
        """Where a node is."""
        return self.placed[node.partition(".")[0]].point(self.drawn.place(node))

    def direction(self, body: str, e: Any) -> Pair:
        """Where a direction, drawn as e and fixed to a body, points."""
        return turned(self.angle(body), e)

    def relative(self, joint: PlanarJoint) -> tuple[Any, Any]:
        """Displacement and angle of any joint."""
        if joint in self.tree:
            return self.own(joint)
        first, second = ends(joint)
        angle = self.angle(second) - self.angle(first)
        if isinstance(joint, RevoluteJoint):
            return sp.Integer(0), angle
        assert isinstance(joint, (PrismaticJoint, PinInSlot))
        shift = minus(self.node(self.drawn.slider(joint)), self.placed[first].point(self.joint_place(joint)))
        slide = dot(self.direction(first, self.drawn.axis(joint)), shift)
        return slide, angle if isinstance(joint, PinInSlot) else sp.Integer(0)

    @cached_property
    def _rates(self) -> dict[Any, Any]:
        """q(joint, i) and its rate u(joint, i); all joints here have u = q̇."""
        sizes = {joint.name: 2 if isinstance(joint, PinInSlot) else 1 for joint in self.tree}
        sizes |= {plane_joint(name): 3 for name in self.free}
        sizes |= {coordinate.name: 1 for coordinate in self.planar.coordinates}
        return {reference("q", n, i): reference("u", n, i) for n, size in sizes.items() for i in range(size)}

    def rate(self, formula: Any) -> sp.Expr:
        """Time derivative of a formula of coordinates and t."""
        found = [atom for atom in formula.atoms(sp.core.function.AppliedUndef) if atom in self._rates]
        dummies = {atom: sp.Dummy() for atom in found}
        plain = formula.xreplace(dummies)
        terms: list[Any] = [
            cast("sp.Expr", sp.diff(plain, dummy)) * self._rates[atom] for atom, dummy in dummies.items()
        ]
        back = {dummy: atom for atom, dummy in dummies.items()}
        return cast("sp.Expr", sp.Add(cast("sp.Expr", sp.diff(plain, TIME)), *terms).xreplace(back))

    def formula(self, formula: sp.Expr) -> sp.Expr:
        """A formula of the mechanism in the coordinates of the tree; inputs without a law stay."""
        swap = {}
        for symbol in symbols_of(formula):
            if symbol.name in self.laws:
                swap[symbol] = self.formula(self.laws[symbol.name])
            elif symbol.name not in (*self.planar.parameter_values, *self.planar.input_laws):
                swap[symbol] = self.quantity(symbol.name)
        return cast("sp.Expr", formula.xreplace(swap))

    def quantity(self, name: str) -> sp.Expr:
        """A quantity of the motion in the coordinates of the tree."""
        owner, _, key = name.rpartition(".")
        velocity = {v.name: v for v in self.planar.quasi_velocities}.get(name)
        if velocity is not None:
            return self.formula(velocity.formula)
        if not owner:
            return reference("q", name)
        if key == "rate":
            return reference("u", owner)
        if key in ("omega", "speed", "vx", "vy"):
            level = {"omega": "angle", "speed": "slide", "vx": "x", "vy": "y"}[key]
            return self.rate(self.quantity(f"{owner}.{level}"))
        if key in ("x", "y"):
            return sp.sympify(self.node(owner)["xy".index(key)], strict=True)
        if owner in self.drawn.body:
            return self.angle(owner)
        joint = next(joint for joint in self.planar.joints if joint.name == owner)
        return self.relative(joint)[0 if key == "slide" else 1]

    def check_starts(self) -> None:
        """Initial values belong to joints in the tree."""
        tree = [joint.name for joint in self.tree]
        for name in {**self.planar.initial_values, **self.planar.initial_rates}:
            if name not in tree:
                message = f"initial of joint {name!r}: too many joints of one loop have initial values"
                raise ModelError(Problem(message, "initial", f"leave this one out; the loop gives {name!r}"))
