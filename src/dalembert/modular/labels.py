"""Names of rows and columns: a variable or an invariant, where in the tree it lives, and its order."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any, cast

import sympy as sp

from dalembert.errors import ModelError, Problem

__all__ = ["Label", "match", "split_rate", "with_rate"]

ROOT: tuple[str, ...] = ()

_KNOWN: weakref.WeakValueDictionary[tuple[tuple[str, ...], str, int, int], Label] = weakref.WeakValueDictionary()
_LOCK = threading.Lock()


class Label:
    """The name of a row or a column; never changed once it is made.

    Attributes:
        path: names of the parts from the system to the owner, e.g. ``("L", "B")``.
        name: of the variable or invariant inside its owner, e.g. ``p.x``.
        order: order of the variable: x has 0, ẋ and the quasi-velocity v have 1, ẍ and v̇ have 2.
        base: order at which the variable was declared; how it is printed.
    """

    __slots__ = ("__weakref__", "_printed", "base", "name", "order", "path")

    path: tuple[str, ...]
    name: str
    order: int
    base: int
    _printed: str

    def __new__(cls, path: tuple[str, ...], name: str, order: int, base: int = 0) -> Label:
        # Labels are keys everywhere: equal ones are one object, so that dictionaries need not ask us.
        key = (path, name, order, base)
        found = _KNOWN.get(key)
        if found is None:
            with _LOCK:
                found = _KNOWN.get(key)
                if found is None:
                    found = _KNOWN[key] = super().__new__(cls)
                    found.path, found.name, found.order, found.base = path, name, order, base
                    found._printed = with_rate(".".join((*path, name)), order - base)
        return found

    def __reduce__(self) -> tuple[type[Label], tuple[tuple[str, ...], str, int, int]]:
        return Label, (self.path, self.name, self.order, self.base)

    def __str__(self) -> str:
        return self._printed

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def text(self) -> str:
        """Path and name, without the order."""
        return ".".join((*self.path, self.name))

    @property
    def symbol(self) -> sp.Symbol:
        """The SymPy symbol of this variable."""
        return sp.Symbol(str(self), real=True)

    def at(self, order: int) -> Label:
        """The same variable at another order."""
        return Label(self.path, self.name, order, self.base)

    def inside(self, part: str) -> Label:
        """The same label seen from the owner of a part."""
        return Label((part, *self.path), self.name, self.order, self.base)

    def latex(self) -> str:
        """In LaTeX: dots for derivatives; path and components as an index."""
        head, *components = self.name.split(".")
        letter, _, index = str(cast(Any, sp).latex(sp.Symbol(head))).partition("_")
        level = self.order - self.base
        dots = {1: "dot", 2: "ddot", 3: "dddot", 4: "ddddot"}
        text = letter if level == 0 else rf"\{dots[level]}{{{letter}}}" if level in dots else rf"{letter}^{{({level})}}"
        indices = [rf"\mathrm{{{step}}}".replace("_", r"\_") for step in self.path]
        indices += [index.strip("{}")] * bool(index) + components
        return rf"{text}_{{{','.join(indices)}}}" if indices else text


def with_rate(text: str, level: int) -> str:
    """``x``, ``x.d``, ``x.dd`` …: the name of a derivative, as it is written in formulas."""
    return f"{text}.{'d' * level}" if level > 0 else text


def split_rate(text: str) -> tuple[str, int]:
    """The variable and the number of derivatives in a name such as ``arm.theta.dd``."""
    head, _, tail = text.rpartition(".")
    return (head, len(tail)) if head and tail and set(tail) == {"d"} else (text, 0)


def match(labels: Iterable[Label], key: Any, what: str = "label") -> Label:
    """The label that a person means by a label, a variable or a name; derivatives of a variable are one label.

    Raises:
        ModelError: if no label is meant, or more than one.
    """
    known = list(labels)
    if isinstance(key, Label):
        if key in known:
            return key
        text = key.text
    else:
        text = split_rate(getattr(key, "name", None) or str(key))[0]
    found = [label for label in known if label.text == text]
    if not found:  # a short name, where only one label ends so
        found = [label for label in known if label.text.endswith(f".{text}")]
    if len(found) == 1:
        return found[0]
    names = ", ".join(map(str, found or known[:12])) + ("" if found or len(known) <= 12 else ", …")
    said = f"{text!r} may be any of" if found else f"no {what} is called {text!r}; there are"
    fix = (
        "give the full path, e.g. 'L.B.theta'"
        if found
        else "one of these; coordinates with kinematics go by velocities"
    )
    raise ModelError(Problem(f"{said} {names or 'none'}", fix=fix))
