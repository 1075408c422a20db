"""Equations of a subsystem to read: kinematics, invariants, dynamic equations, names of long expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import sympy as sp

from dalembert.modular.labels import Label, split_rate

__all__ = ["Explicit", "latex_of", "symbol_names"]


COMPONENTS = ("x", "y", "z", "w", "a", "b", "c")  # of groups, such as p.x


@dataclass(frozen=True)
class Explicit:
    """Equations of motion as SymPy equations.

    kinematics:  q̇⟨β⟩ = …;    invariants:  A q⟨σ⟩ + b = 0;    dynamics:  f̄ = 0;    definitions:  z₁ = …, z₂ = …
    """

    name: str
    kinematics: tuple[sp.Eq, ...]
    invariants: tuple[sp.Eq, ...]
    dynamics: tuple[sp.Eq, ...]
    definitions: tuple[sp.Eq, ...]

    def __iter__(self) -> Any:
        return iter((*self.kinematics, *self.invariants, *self.dynamics))

    def __len__(self) -> int:
        return len(self.kinematics) + len(self.invariants) + len(self.dynamics)

    def latex(self) -> str:
        """All equations, aligned, under their headings."""
        groups = (
            ("kinematics", self.kinematics), ("invariants", self.invariants), ("dynamics", self.dynamics),
            ("with", self.definitions),
        )  # fmt: skip
        parts: list[str] = []
        for title, equations in groups:
            if equations:
                lines = [rf"{latex_of(one.lhs)} &= {latex_of(one.rhs)}" for one in equations]
                body = " \\\\\n".join([rf"&\text{{{title}}}", *lines])
                parts.append(body)
        return "\\begin{aligned}\n" + " \\\\[1ex]\n".join(parts) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def symbol_names(symbols: Iterable[Any]) -> dict[Any, str]:
    """LaTeX of dotted names: dots above for derivatives, the path as an index."""
    found: dict[Any, str] = {}
    for symbol in symbols:
        head, level = split_rate(symbol.name)
        *path, last = head.split(".")
        if path and last in COMPONENTS:
            last = f"{path.pop()}.{last}"
        found[symbol] = Label(tuple(path), last, level).latex()
    return found


def latex_of(value: Any) -> str:
    """An expression in LaTeX, with names as they are written in mechanics."""
    return cast(Any, sp).latex(value, symbol_names=symbol_names(value.free_symbols))
