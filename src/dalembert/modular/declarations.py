"""Names of a subsystem, and formulas in them: declared, looked up, read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.arguments import Number, Order, public_class
from dalembert.errors import ExpressionError, ModelError, Problem
from dalembert.expressions import TIME, difference, parse, replaced
from dalembert.modular.labels import split_rate, with_rate
from dalembert.modular.variables import Group, Quantity, check_name, local
from dalembert.values import finite_number

__all__ = ["Declarations", "Included", "PartView"]


@public_class
class Declarations:
    """What a subsystem calls by name: variables, parameters, inputs and parts."""

    _error = ModelError  # of public calls

    def __init__(self, name: str):
        self._name = check_name("Subsystem", name)
        self._orders: dict[str, int] = {}
        self._values: dict[str, float | None] = {}
        self._inputs: list[str] = []
        self._parts: dict[str, Included] = {}
        self._relaxed: dict[tuple[str, ...], dict[str, str]] = {}
        self._version = 0

    @property
    def name(self) -> str:
        return self._name

    # Declaring

    def _declare(self, name: str) -> str:
        check_name(self.name, name)
        taken = {*self._orders, *self._values, *self._inputs, *self._parts}
        clash = [
            other for other in taken if other == name or other.startswith(f"{name}.") or name.startswith(f"{other}.")
        ]
        if clash or hasattr(type(self), name.split(".")[0]):
            raise ModelError(Problem(f"subsystem {self.name!r}: the name {name!r} is taken", fix="choose another name"))
        self._version += 1
        return name

    def parameters(self, **values: Number | None) -> Any:
        """Declare parameters with their values (None: given later); returns their symbols."""
        symbols: list[Quantity] = []
        for name, value in values.items():
            self._declare(name)
            self._values[name] = None if value is None else self._number(name, value)
            symbols.append(Quantity(self, name, base=-1))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    def set_parameter(self, name: str, value: Number) -> None:
        """Give a parameter another value; nothing is derived again."""
        if name not in self._values:
            raise ModelError(
                Problem(f"subsystem {self.name!r} has no parameter {name!r}; it has {', '.join(self._values)}")
            )
        self._values[name] = self._number(name, value)

    def _number(self, name: str, value: Any) -> float:
        number = finite_number(value)
        if number is None:
            raise ModelError(
                Problem(f"subsystem {self.name!r}: {name!r} must be a finite number, got {value!r}", fix=f"{name}=1.0")
            )
        return number

    def variable(self, names: str, order: Order = 0) -> Any:
        """Declare variables of an order; returns their symbols (one symbol for one name).

        ``"p.x p.y"`` makes a group: ``S.p`` can be unpacked, ``S.p.x`` is one of it.
        """

        def add(name: str) -> Quantity:
            self._orders[name] = order
            return Quantity(self, name, base=order)

        return self._each(names, add)

    def coordinates(self, names: str) -> Any:
        """Declare coordinates (order 0); ``x.d`` and ``x.dd`` are their rates."""
        return self.variable(names, 0)

    def quasi_velocity(self, names: str) -> Any:
        """Declare variables of order 1 that are not rates of coordinates."""
        return self.variable(names, 1)

    def input(self, names: str) -> Any:
        """Declare inputs: known functions of time, or unknown forces."""

        def add(name: str) -> Quantity:
            self._inputs.append(name)
            return Quantity(self, name)

        return self._each(names, add)

    def _each(self, names: str, add: Callable[[str], Quantity]) -> Any:
        """One symbol for one name in a text, several for several."""
        symbols = [add(self._declare(name)) for name in names.replace(",", " ").split()]
        if not symbols:
            raise ModelError(Problem(f"subsystem {self.name!r}: no names given", fix='coordinates("x y z")'))
        return symbols[0] if len(symbols) == 1 else tuple(symbols)

    # Reading formulas

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._member(self, "", name)

    def __dir__(self) -> list[str]:
        """With the first names of variables, parameters, inputs and parts, which are attributes."""
        known = (*self._orders, *self._values, *self._inputs, *self._parts)
        return [*super().__dir__(), *(name.partition(".")[0] for name in known)]

    def _member(self, root: Declarations, path: str, name: str) -> Any:
        """A variable, parameter, input, group or part by name, as a system calls it that holds this one at a path."""
        before = f"{path}." if path else ""
        if name in self._orders:
            return Quantity(root, before + name, base=self._orders[name])
        if name in self._values:
            return Quantity(root, before + name, base=-1)
        if name in self._inputs:
            return Quantity(root, before + name)
        if name in self._parts:
            return PartView(root, before + name, self._parts[name].part)
        members: dict[str, Quantity] = {}
        for known in (*self._orders, *self._values, *self._inputs):
            if known.startswith(f"{name}."):
                base = self._orders.get(known, -1 if known in self._values else 0)
                members[known.removeprefix(f"{name}.")] = Quantity(root, before + known, base=base)
        if members:
            return Group(name, members)
        known = [*self._orders, *self._values, *self._inputs, *self._parts]
        raise AttributeError(f"subsystem {self.name!r} has no {name!r}; it has {', '.join(known) or 'no names yet'}")

    def _variable(self, given: Any) -> str:
        """The name of a variable here or in a part, without derivatives."""
        symbol = self._formula(given)
        if not isinstance(symbol, sp.Symbol) or self._kind(symbol.name) != "variable":
            raise ModelError(Problem(f"subsystem {self.name!r}: expected a variable, got {given}"))
        return split_rate(symbol.name)[0]

    def _kind(self, name: str) -> str | None:
        """What a name is, here or in a part: variable, parameter or input; None if it is unknown."""
        head = split_rate(name)[0]
        if head in self._orders:
            return "variable"
        if head in self._inputs or any(head in rows.values() for rows in self._relaxed.values()):
            return "input"
        if name in self._values:
            return "parameter"
        first, _, rest = name.partition(".")
        return self._parts[first].part._kind(rest) if rest and first in self._parts else None

    def _formula(self, given: Any) -> sp.Expr:
        """A formula in plain symbols of this subsystem.

        Raises:
            ModelError: for symbols of subsystems that are no parts, or names that do not exist.
        """
        if isinstance(given, str):
            try:
                given = parse(given)
            except ExpressionError as error:
                raise ModelError(Problem(f"subsystem {self.name!r}: {error}")) from None
        if isinstance(given, sp.Equality):
            given = difference(given)
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            given = (
                sp.Float(given)
                if isinstance(given, float) and not float(given).is_integer()
                else sp.Integer(int(given))
            )
        if not isinstance(given, sp.Expr):
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: expected a formula, got {type(given).__name__}", fix="e.g. x**2 - r**2"
                )
            )
        if given.atoms(AppliedUndef):
            raise ModelError(Problem(f"subsystem {self.name!r}: {given} names joints or bodies; name variables"))
        swap = {symbol: self._plain(symbol) for symbol in given.free_symbols}
        return replaced(given, swap)

    def _plain(self, symbol: Any) -> sp.Symbol:
        if isinstance(symbol, Quantity):
            name = with_rate(symbol.path, symbol.level)
            if symbol.owner is not self:
                paths = self._paths(symbol.owner)
                if len(paths) != 1:
                    said = f"is a part more than once ({', '.join(paths)})" if paths else "is no part of it"
                    raise ModelError(
                        Problem(
                            f"subsystem {self.name!r}: {name!r} belongs to {symbol.owner.name!r}, which {said}",
                            fix=f"write {self.name}.{paths[0] if paths else symbol.owner.name}.{name}"
                            + ("" if paths else f" after {self.name}.include({symbol.owner.name})"),
                        )
                    )
                name = f"{paths[0]}.{name}"
            return local(name)
        plain = local(symbol.name)
        if plain != TIME and self._kind(plain.name) is None:
            known = [*self._orders, *self._values, *self._inputs, *(f"{part}.…" for part in self._parts)]
            raise ModelError(
                Problem(
                    f"subsystem {self.name!r}: unknown name {symbol.name!r}; it has {', '.join(known) or 'none yet'}",
                    fix="declare it, or correct the name",
                )
            )
        return plain

    def _paths(self, owner: Declarations) -> list[str]:
        """Under which names another subsystem is inside this one."""
        found: list[str] = []
        for name, included in self._parts.items():
            if included.part is owner:
                found.append(name)
            found += [f"{name}.{inner}" for inner in included.part._paths(owner)]
        return found


class Included:
    """A part with what its owner gives it."""

    def __init__(self, part: Declarations):
        self.part: Any = part  # a Subsystem
        self.values: dict[str, float] = {}
        self.given: dict[sp.Symbol, sp.Expr] = {}


class PartView:
    """A part seen from a system: its names are attributes, and mean this part even where others are equal to it."""

    def __init__(self, root: Declarations, path: str, part: Declarations):
        self._root, self._path, self._part = root, path, part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._part._member(self._root, self._path, name)  # pyright: ignore[reportPrivateUsage]

    def __dir__(self) -> list[str]:
        part = self._part
        return [*super().__dir__(), *(set(part.__dir__()) - set(object.__dir__(part)))]

    def __repr__(self) -> str:
        return f"<part {self._path!r} of {self._root.name!r}: {self._part!r}>"
