"""What a subsystem is, frozen: variables, kinematics, invariants, forces, parts. Equal descriptions are one object.

Formulas stand in plain symbols with dotted names, seen from the subsystem (see ``variables``). ``live`` writes a symbol
in variables that are not defined by kinematics, ``rate`` differentiates along the kinematics,

    d/dt h(t, q⟪α⟫) = ∂h/∂t + Σ ∂h/∂q q̇,      q̇⟨β⟩ = q̇⟨β⟩(t, q⟪β+1⟫)                                        (2.7)

Everything that is derived from a description is kept in its ``memo``: it lives as long as the description does, so a
part that is included twice is derived once, and a change of a part makes new descriptions of its owners only.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME, derivative, replaced, symbols_of
from dalembert.modular.labels import Label, split_rate
from dalembert.modular.variables import Family, local

__all__ = ["Description", "Invariant", "Part", "Place", "interned"]


@dataclass(frozen=True)
class Invariant:
    """An expression that is zero.

    Attributes:
        source: ``given``, or ``kinematics`` for a relation that was not solved for rates.
    """

    name: str
    value: sp.Expr
    source: str = "given"


@dataclass(frozen=True)
class Part:
    """A subsystem inside another.

    Attributes:
        given: expressions of the owner in the place of parameters and inputs of the part.
    """

    name: str
    description: Description
    given: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a symbol belongs: the parts on the way, the owner, its name there, and the number of derivatives."""

    path: tuple[str, ...]
    owner: Description
    name: str
    level: int
    kind: str

    def label(self, order: int | None = None) -> Label:
        """The label of a variable, at its own order or at another."""
        base = self.owner.orders.get(self.name, 0)
        return Label(self.path, self.name, base + self.level if order is None else order, base)


@dataclass(frozen=True, eq=False)
class Description:
    """A subsystem as data.

    Attributes:
        families: variables, with the order of each.
        defined: (name, level, expression): the derivative of a variable that kinematics give.
        invariants: expressions that are zero.
        forces: (variable, expression): effective forces; the variable may be one of a part.
        independent: variables by which the complement is written, or none.
        identities: (symbol, expression): how symbols read in results; they hold where the invariants do.
        strategy: of the complement, or None.
        relaxed: (variable, input): fictitious variables and the constraint forces they stand for.
        branches: (mode, function): parameters that choose branches of formulas, see ``system_branches``.
    """

    families: tuple[Family, ...] = ()
    defined: tuple[tuple[str, int, sp.Expr], ...] = ()
    invariants: tuple[Invariant, ...] = ()
    forces: tuple[tuple[str, sp.Expr], ...] = ()
    independent: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    identities: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    strategy: Any = None
    relaxed: tuple[tuple[str, str], ...] = ()
    branches: tuple[tuple[str, sp.Expr], ...] = ()
    memo: dict[Any, Any] = field(default_factory=lambda: {}, repr=False)

    @property
    def orders(self) -> dict[str, int]:
        """Orders of the variables declared here."""
        return self._once("orders", lambda: {family.name: family.order for family in self.families})

    @property
    def part(self) -> dict[str, Part]:
        """Parts by name."""
        return self._once("part", lambda: {part.name: part for part in self.parts})

    @property
    def kinematics(self) -> Kinematics:
        """What its motions are bound by, here and in its parts: all but forces, and what is chosen or only printed."""
        return self._once("kinematics", self._kinematics)

    def _kinematics(self) -> Kinematics:
        parts = tuple((part.name, part.description.kinematics, part.given) for part in self.parts)
        key = self.families, self.defined, self.invariants, parts
        return _KINEMATICS.setdefault(key, Kinematics(parts))

    @property
    def bound(self) -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
        """Paths of the subsystems whose variables invariants name here, and the other names in them."""
        return self._once("bound", self._bound)

    def _bound(self) -> tuple[frozenset[tuple[str, ...]], frozenset[str]]:
        names = {name for invariant in self.invariants for name in self.names(self.lively(invariant.value))}
        labels = {name: self.label(name) for name in names}
        paths = frozenset(label.path for label in labels.values() if label is not None)
        return paths, frozenset(name for name, label in labels.items() if label is None)

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]

    # Symbols

    def locate(self, name: str) -> Place | None:
        """Where the symbol of this name belongs, or None."""
        return self._once(("place", name), lambda: self._locate(name))

    def _locate(self, name: str) -> Place | None:
        kinds = self._once("kinds", self._kinds)
        head, level = split_rate(name)
        if head in kinds and (level == 0 or kinds[head] != "parameter"):
            return Place((), self, head, level, kinds[head])
        first, _, rest = name.partition(".")
        if rest and first in self.part:
            inner = self.part[first].description.locate(rest)
            if inner is not None:
                return Place((first, *inner.path), inner.owner, inner.name, inner.level, inner.kind)
        return None

    def _kinds(self) -> dict[str, str]:
        kinds = dict.fromkeys(self.orders, "variable")
        return kinds | dict.fromkeys(self.parameters, "parameter") | dict.fromkeys(self.inputs, "input")

    def seen(self, part: Part, expression: sp.Expr) -> sp.Expr:
        """A formula of a part, in symbols of this subsystem."""
        swap: dict[Any, Any] = {}
        for symbol in symbols_of(expression):
            if symbol != TIME:
                swap[symbol] = self.seen_symbol(part, symbol)
        return replaced(expression, swap)

    def seen_symbol(self, part: Part, symbol: sp.Symbol) -> sp.Expr:
        """A symbol of a part, in symbols of this subsystem."""
        given = self._once(("given", part.name), lambda: dict(part.given))
        if given:
            if symbol in given:
                return given[symbol]
            head, level = split_rate(symbol.name)
            if level and local(head) in given:  # the rate of an input that the owner gives
                value = given[local(head)]
                for _ in range(level):
                    value = self.rate(value)
                return value
        return local(f"{part.name}.{symbol.name}")

    def live(self, symbol: sp.Symbol) -> sp.Expr:
        """A symbol in symbols that kinematics do not define; most are their own."""
        return self._once(("live", symbol), lambda: self._live(symbol))

    def _live(self, symbol: sp.Symbol) -> sp.Expr:
        place = self._known(symbol.name)
        if place is None:
            return symbol
        if place.path:
            part = self.part[place.path[0]]
            inside = local(symbol.name.partition(".")[2])
            return self.seen(part, part.description.live(inside))
        if place.kind != "variable":
            return symbol
        start = self.definitions.get(place.name)
        if start is None or place.level < start[0]:
            return symbol
        if place.level == start[0]:
            return start[1]
        return self.rate(self.live(local(place.name, place.level - 1)))

    @property
    def definitions(self) -> dict[str, tuple[int, sp.Expr]]:
        """For variables whose derivative is given by kinematics: which derivative, and its value."""
        return self._once("definitions", lambda: {name: (level, value) for name, level, value in self.defined})

    def lively(self, expression: sp.Expr) -> sp.Expr:
        """A formula in symbols that kinematics do not define."""
        return self._once(("lively", expression), lambda: self._lively(expression))

    def _lively(self, expression: sp.Expr) -> sp.Expr:
        if not self.has_kinematics:
            for name in self.names(expression):
                self._known(name)
            return expression
        swap: dict[Any, Any] = {}
        for name in self.names(expression):
            symbol = local(name)
            value = self.live(symbol)
            if value is not symbol:
                swap[symbol] = value
        return replaced(expression, swap) if swap else expression

    @property
    def has_kinematics(self) -> bool:
        """Whether a derivative is defined by kinematics, or given by an owner, here or in a part."""
        return self._once(
            "has kinematics",
            lambda: bool(self.defined) or any(p.given or p.description.has_kinematics for p in self.parts),
        )

    def _known(self, name: str) -> Place | None:
        """Where a symbol belongs; None for time.

        Raises:
            ModelError: if it belongs nowhere.
        """
        if name == TIME.name:
            return None
        place = self.locate(name)
        if place is None:
            raise ModelError(f"{name!r} is not a variable, parameter or input here")
        return place

    def names(self, expression: sp.Expr) -> frozenset[str]:
        """Names of the symbols in a formula."""
        key = ("names", expression)
        if key not in self.memo:
            found: set[str] = set()
            waiting: list[Any] = [expression]
            while waiting:  # formulas bind no symbols; SymPy looks for such at every node
                node = waiting.pop()
                if node.is_Symbol:
                    found.add(node.name)
                else:
                    waiting.extend(node.args)
            self.memo[key] = frozenset(found)
        return self.memo[key]

    def label(self, name: str) -> Label | None:
        """The label of the variable, or of the derivative of one, that has this name; None for other symbols."""
        key = ("label", name)
        if key not in self.memo:
            place = None if name == TIME.name else self.locate(name)
            self.memo[key] = place.label() if place is not None and place.kind == "variable" else None
        return self.memo[key]

    def next(self, symbol: sp.Symbol) -> sp.Expr:
        """The rate of a live symbol."""
        place = self._known(symbol.name)
        if place is None:
            return sp.S.One
        if place.kind == "parameter":
            return sp.S.Zero
        head, level = split_rate(symbol.name)
        rate = local(head, level + 1)
        return self.live(rate) if self.has_kinematics else rate

    def rate(self, expression: sp.Expr) -> sp.Expr:
        """The total time derivative of a formula in live symbols."""
        terms: list[Any] = []
        for symbol in sorted(symbols_of(expression), key=lambda s: s.name):
            speed = self.next(symbol)
            if speed != 0:
                terms.append(derivative(expression, symbol) * speed)
        return sp.Add(*terms)

    def order_of(self, expression: sp.Expr) -> int:
        """The highest order among the variables of a formula; −1 without variables."""
        labels = map(self.label, self.names(expression))
        return max((label.order for label in labels if label is not None), default=-1)

    # Variables

    def own_labels(self, order: int) -> list[Label]:
        """Variables declared here, at an order: those that exist there and are not defined by kinematics."""
        found: list[Label] = []
        for family in self.families:
            level = order - family.order
            start = self.definitions.get(family.name)
            if level >= 0 and (start is None or level < start[0]):
                found.append(Label((), family.name, order, family.order))
        return found

    def is_live(self, place: Place, order: int) -> bool:
        """True if a variable exists at an order and is not defined by kinematics there."""
        level = order - place.owner.orders[place.name]
        start = place.owner.definitions.get(place.name)
        return level >= 0 and (start is None or level < start[0])

    def problem(self, message: str, fix: str = "") -> ModelError:
        return ModelError(Problem(message, fix=fix))

    def text(self, symbol: sp.Symbol) -> str:
        return symbol.name


class Kinematics:
    """What motions are bound by: one object for all that are equal, so that comparing two costs nothing."""

    def __init__(self, parts: tuple[Any, ...]):
        self.parts = parts  # kept as long as the whole is


_KINEMATICS: weakref.WeakValueDictionary[Any, Kinematics] = weakref.WeakValueDictionary()
_KNOWN: weakref.WeakValueDictionary[Any, Description] = weakref.WeakValueDictionary()


def interned(description: Description) -> Description:
    """The one description with this content."""
    key = tuple(
        tuple((p.name, id(p.description), p.given) for p in value) if name == "parts" else value
        for name, value in vars(description).items()
        if name != "memo"
    )
    return _KNOWN.setdefault(key, description)
