"""Variables, parameters and inputs of subsystems as SymPy symbols.

What a person writes formulas with are :class:`Quantity` symbols: they know whose they are, so ``left.x`` and
``right.x`` differ. Inside a subsystem every formula is kept in plain symbols with dotted names (``x``, ``x.d``,
``arm.theta.dd``), as a formula given as text has them: a subsystem that is used twice, or written down twice, has equal
formulas and is derived once.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.errors import ModelError, Problem
from dalembert.modular.labels import with_rate

if TYPE_CHECKING:
    from dalembert.modular.declarations import Declarations

__all__ = ["Family", "Group", "Quantity", "check_name", "generic_value", "local"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*\Z")
_RESERVED = {"t", "pi"}


@dataclass(frozen=True)
class Family:
    """A variable together with all its derivatives.

    Attributes:
        order: of the variable itself: 0 for a coordinate, 1 for a quasi-velocity, 2 for a quasi-acceleration …
    """

    name: str
    order: int


@functools.lru_cache(maxsize=65536)
def local(name: str, level: int = 0) -> sp.Symbol:
    """The plain symbol of a name, or of a derivative of it."""
    return sp.Symbol(with_rate(name, level), real=True)


def check_name(owner: str, name: str) -> str:
    """The name, if it is one.

    Raises:
        ModelError: naming the subsystem.
    """
    segments = name.split(".") if isinstance(name, str) else []
    if not segments or not _NAME.match(name) or name in _RESERVED:
        raise ModelError(
            Problem(
                f"subsystem {owner!r}: {name!r} is not a name", fix="letters, digits and _, a letter first; not t, pi"
            )
        )
    if any(set(segment) == {"d"} for segment in segments):
        raise ModelError(
            Problem(f"subsystem {owner!r}: {name!r} would read as a derivative", fix="names such as d and dd are taken")
        )
    return name


@functools.lru_cache(maxsize=65536)
def generic_value(name: str) -> float:
    """A number between 0.4 and 1.3 that follows from a name, the same in every process."""
    digest = hashlib.sha256(name.encode()).digest()
    return 0.4 + 0.9 * int.from_bytes(digest[:6], "big") / 2**48


class Quantity(sp.Symbol):
    """A symbol of a subsystem: a variable at some derivative, a parameter or an input.

    ``x.d``, ``x.dd`` are rates; ``x.rate(n)`` the n-th.
    """

    __slots__ = ("base", "level", "owner", "path")

    owner: Declarations
    path: str
    level: int
    base: int

    def __new__(cls, owner: Declarations, path: str, level: int = 0, base: int = 0) -> Quantity:
        self = cast(Any, sp.Symbol).__xnew__(cls, with_rate(path, level), real=True)
        self.owner, self.path, self.level, self.base = owner, path, level, base
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        return (id(self.owner), *super()._hashable_content())

    def __getnewargs_ex__(self) -> Any:
        return ((self.owner, self.path, self.level, self.base), {})

    def rate(self, times: int = 1) -> Quantity:
        """The derivative with respect to time."""
        if self.base < 0:
            raise ModelError(
                Problem(
                    f"subsystem {self.owner.name!r}: {self.path!r} is a parameter and has no rate",
                    fix="declare it with coordinates(…) or variable(…)",
                )
            )
        return Quantity(self.owner, self.path, self.level + times, self.base)

    @property
    def d(self) -> Quantity:
        return self.rate(1)

    @property
    def dd(self) -> Quantity:
        return self.rate(2)

    @property
    def ddd(self) -> Quantity:
        return self.rate(3)

    @property
    def order(self) -> int:
        return self.base + self.level

    @property
    def plain(self) -> sp.Symbol:
        """The symbol inside the formulas of the owner."""
        return local(self.path, self.level)


class Group:
    """Several quantities with a common first name: ``p.x, p.y, p.z`` is ``p``, which can be unpacked."""

    def __init__(self, name: str, members: dict[str, Any]):
        self._name, self._members = name, members

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._members:
            return self._members[name]
        if set(name) == {"d"}:
            return Group(f"{self._name}.{name}", {key: getattr(one, name) for key, one in self._members.items()})
        raise AttributeError(f"{self._name!r} has no {name!r}; it has {', '.join(self._members)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._members]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members.values())

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, index: int) -> Any:
        return list(self._members.values())[index]

    def __repr__(self) -> str:
        return f"<{self._name}: {', '.join(self._members)}>"
