"""What validation knows while it walks a model: names in reach, nominal values, and where to report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from dalembert.elements import Sizes
from dalembert.errors import ExpressionError, Problem, did_you_mean
from dalembert.expressions import number, tables_in
from dalembert.joints import JOINTS, Free, JointData
from dalembert.model.data import SubModel
from dalembert.model.model import Model

__all__ = ["Draft", "Place", "hint", "sizes_of", "where_of"]

MAX_LISTED = 20


@dataclass
class Draft:
    """What a reader could not build, so that validation keeps the file's numbering and blames nothing twice.

    Attributes:
        positions: for each section, the place in the file of every element that was built.
        missing: for each section, the names of elements that were not.
        unsure: sections in which not even the names are known.
    """

    positions: dict[str, list[int]] = field(default_factory=lambda: {})
    missing: dict[str, set[str]] = field(default_factory=lambda: {})
    unsure: set[str] = field(default_factory=lambda: set())


def sizes_of(joint: JointData) -> Sizes | None:
    """The sizes of a joint, or None if its kind is unknown or its data leave it open."""
    return JOINTS[joint.kind].sizes(joint) if joint.kind in JOINTS else None


def hint(name: str, known: Iterable[str]) -> str:
    """A fix for an unknown name: the nearest known one, and what there is."""
    names = sorted(known)
    if not names:
        return "there are none yet"
    question = did_you_mean(name, names, form=repr) if len(names) < 5000 else ""
    listed = ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
    return f"{question} known: {listed}".strip()


def where_of(sources: dict[str, str], path: str) -> str:
    """File and line of the nearest enclosing thing that has one."""
    while path:
        if path in sources:
            return sources[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return ""


class Place:
    """A model at its place in the tree of sub-models.

    Attributes:
        path: of problems, e.g. ``submodels[0].model.``.
        prefix: of full names, e.g. ``left.``.
        values: nominal values of the parameters, as bound by the enclosing model.
        bound: the formulas of the enclosing model that some of them are bound to.
        bodies: names of bodies in reach, those of sub-models included.
        joints: joints in reach; None stands for one that could not be built.
        constraints: names of constraints in reach.
        floating: full names of bodies that get a free joint of their own name.
        unsure: 'bodies', 'joints' or 'constraints' where names in reach are not all known.
    """

    def __init__(self, model: Model, draft: Draft | None, parent: Place | None, path: str, prefix: str):
        self.model, self.draft, self.parent = model, draft or Draft(), parent
        self.path, self.prefix = path, prefix
        self.children: list[tuple[int, SubModel, Place]] = []
        self.values: dict[str, float] = dict(model.parameter_values)
        self.bound: dict[str, sp.Expr] = {}
        self.found: list[Problem] = [] if parent is None else parent.found
        self.bodies: set[str] = set()
        self.joints: dict[str, JointData | None] = {}
        self.constraints: set[str] = set()
        self.floating: set[str] = set() if parent is None else parent.floating
        self.unsure: set[str] = set(self.draft.unsure)
        for given in model.inputs:
            if given.default.is_number:
                self.values.setdefault(given.name, float(given.default))

    def report(self, path: str, message: str, fix: str = "") -> None:
        self.found.append(Problem(f"{message}.", self.path + path, fix, where_of(self.model.sources, path)))

    def elements(self, section: str) -> Iterator[tuple[str, Any]]:
        """Each element with its path, numbered as in the file it came from."""
        positions = self.draft.positions.get(section)
        for i, element in enumerate(getattr(self.model, section)):
            yield f"{section}[{positions[i] if positions else i}]", element

    def walk(self) -> Iterator[Place]:
        yield self
        for _, _, child in self.children:
            yield from child.walk()

    def value(self, formula: Any) -> float | None:
        """A formula of parameters at their nominal values, or None where it has no finite one."""
        try:
            result = float(formula) if formula.is_Number else number(self.with_curves(formula), self.values)
        except (ArithmeticError, AttributeError, ExpressionError, RecursionError, TypeError, ValueError):
            return None  # reported by the pass over formulas
        return result if math.isfinite(result) else None

    def along(self, formula: Any, name: str, points: Iterable[float]) -> list[float] | None:
        """A formula that names something besides parameters, at several values of that; None if any is not finite."""
        try:
            written = self.with_curves(formula)
            found = [number(written, {**self.values, name: point}) for point in points]
        except (ArithmeticError, AttributeError, ExpressionError, RecursionError, TypeError, ValueError):
            return None  # reported by the pass over formulas
        return found if all(map(math.isfinite, found)) else None

    def vector(self, formulas: Iterable[sp.Expr]) -> list[float] | None:
        """Several formulas, or None if any has no finite value."""
        given = list(formulas)
        found = [value for value in map(self.value, given) if value is not None]
        return found if len(found) == len(given) else None

    @cached_property
    def signals(self) -> dict[str, str]:
        """What formulas may name or call besides parameters: 'state', 'input' or 'table' by name."""
        found: dict[str, str] = {}
        for place in self.walk() if self.parent is None else [self]:
            prefix = place.prefix if place is not self else ""
            for section in ("states", "inputs", "tables"):
                listed = {e.name for e in getattr(place.model, section)} | place.draft.missing.get(section, set())
                found |= dict.fromkeys((prefix + name for name in listed), section[:-1])
        return found

    def with_curves(self, formula: Any) -> Any:
        """A formula in which the tables of this model are their curves."""
        calls = tables_in(formula) if self.model.tables else ()
        tables = {table.name: table for table in self.model.tables}
        swap = {call.args[0]: tables[call.table].curve() for call in calls if call.table in tables}
        return formula.xreplace(swap) if swap else formula

    @cached_property
    def known_parameters(self) -> set[str]:
        """Parameters a formula may name; the outermost model may also reach into its sub-models."""
        names = set(self.values) | self.draft.missing.get("parameters", set())
        if self.parent is None:
            for place in self.walk():
                names |= {place.prefix + name for name in place.model.parameter_values}
        return names

    @cached_property
    def free_parameters(self) -> set[str]:
        """Parameters, here and in sub-models, that no enclosing model binds; seen from the outermost model."""
        return {place.prefix + name for place in self.walk() for name in place.values.keys() - place.bound.keys()}

    def is_joint(self, name: str) -> bool:
        return name in self.joints or self.prefix + name in self.floating

    def sizes(self, name: str) -> Sizes | None:
        """Sizes of a joint in reach, or None where they are not known."""
        if name not in self.joints and self.prefix + name in self.floating:
            return Free.sizes()
        joint = self.joints.get(name)
        return None if joint is None else sizes_of(joint)

    def check_body(self, path: str, title: str, name: str) -> None:
        if name != "ground" and name not in self.bodies and "bodies" not in self.unsure:
            self.report(path, f"{title}: unknown body {name!r}", hint(name, {"ground", *self.bodies}))

    def named_in(self, section: str) -> dict[str, Any]:
        """Elements of a section that formulas of this model reach, by name: those of sub-models too."""
        own = {element.name: element for element in getattr(self.model, section)}
        for _, sub, child in self.children:
            own |= {f"{sub.name}.{name}": element for name, element in child.named_in(section).items()}
        return own

    def check_joint(self, path: str, title: str, name: str) -> bool:
        if self.is_joint(name):
            return True
        if "joints" in self.unsure:
            return False
        self.report(path, f"{title}: unknown joint {name!r}", hint(name, self.joints))
        return False
