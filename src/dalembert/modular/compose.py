"""Equations of a system from those of its parts.

    R = (1⊕, S₁, S₂, …),    B = A⊕ R,    C ⟂ B,    S = R C                                       (theorem 2.10)
    f = (f⊕, f̄₁, f̄₂, …),    f̄ = Cᵀ f                                                            (case 2)

A leaf has R = 1, S = C (cases 1 and 1A). S is not multiplied out: a parent asks for the rows that its invariants name,
so what a subsystem costs does not depend on how many there are. One text for numbers, SymPy and CasADi.

Reference: R. M. M. Orsino, thesis (2016), theorem 2.10 and sec. 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from dalembert.algebra import Algebra
from dalembert.modular.complement import Choice
from dalembert.modular.labeled_matrix import ONE, LabeledMatrix, assemble
from dalembert.modular.labels import Label
from dalembert.modular.own_rows import OwnRows

__all__ = ["Child", "Composed", "compose"]

Tidy = Callable[[Any], Any]


class Child(Protocol):
    """What a parent asks of a part, in labels of the parent."""

    @property
    def columns(self) -> tuple[Label, ...]: ...

    @property
    def f_bar(self) -> LabeledMatrix: ...

    def S_rows(self, labels: Iterable[Label]) -> LabeledMatrix: ...


class Composed:
    """The matrices of one subsystem.

    Attributes:
        depth: length of the path of its own labels: 0 if seen from itself.
        B, C: the external invariants in variables that parts leave free, and their complement.
        definitions: names of long expressions.
        f, f_bar: forces on those variables, and on the independent ones.
    """

    def __init__(self, own: OwnRows, children: Mapping[str, Child], depth: int, tidy: Tidy | None = None):
        self.own, self.children, self.depth, self._tidy = own, children, depth, tidy
        self.definitions: dict[Any, Any] = {}
        self.al: Algebra = own.al
        self._known: dict[Label, dict[Label, Any]] = {}
        self.B = self.C = self.f = self.f_bar = LabeledMatrix.empty(own.al)
        self.choice: Choice | None = None

    @property
    def free(self) -> list[Label]:
        """The columns of B: variables of its own, and those that its parts leave free."""
        return [*self.own.labels, *(column for child in self.children.values() for column in child.columns)]

    @property
    def columns(self) -> tuple[Label, ...]:
        """Independent variables: the columns of S."""
        return self.C.columns

    def R_rows(self, labels: Iterable[Label]) -> LabeledMatrix:
        """Rows of R = (1⊕, S₁, S₂, …): unit rows for variables of its own, rows of the parts' S for theirs."""
        mine: list[Label] = []
        asked: dict[str, list[Label]] = {}
        for label in labels:
            if len(label.path) == self.depth:
                mine.append(label)
            else:
                asked.setdefault(label.path[self.depth], []).append(label)
        parts = (self.children[name].S_rows(rows) for name, rows in asked.items())
        return assemble(LabeledMatrix.identity(self.al, mine), *parts, al=self.al)

    def external(self) -> LabeledMatrix:
        """B = A⊕ R: its own invariants in variables that parts leave free."""
        A = self.own.A
        if not self.children:  # R = 1
            return LabeledMatrix.made(self.al, self.own.rows, self.own.labels, A.entries)
        touched = dict.fromkeys(column for values in A.entries.values() for column in values)
        return LabeledMatrix.made(self.al, self.own.rows, tuple(self.free), (A @ self.R_rows(touched)).entries)

    def S_rows(self, labels: Iterable[Label]) -> LabeledMatrix:
        """Rows of S = R C."""
        labels = list(labels)
        new = [label for label in labels if label not in self._known]
        if new:
            mine = [label for label in new if len(label.path) == self.depth]  # unit rows of R
            parts = [label for label in new if len(label.path) > self.depth]
            product = self.R_rows(parts) @ self.C if parts else LabeledMatrix.empty(self.al)
            entries = {**product.entries, **{label: self.C.entries.get(label, {}) for label in mine}}
            if self._tidy is not None:
                entries = LabeledMatrix.made(self.al, tuple(new), self.columns, entries).map(self._tidy).entries
            for label in new:
                self._known[label] = entries.get(label, {})
        known = {label: self._known[label] for label in labels}
        return LabeledMatrix.made(self.al, tuple(known), self.columns, known)


def compose(
    own: OwnRows,
    children: Mapping[str, Child],
    decide: Callable[[LabeledMatrix], Choice],
    *,
    depth: int = 0,
    short: Tidy | None = None,
    tidy: Tidy | None = None,
    rules: Tidy | None = None,
    forces: bool = True,
    B: LabeledMatrix | None = None,
) -> Composed:
    """The matrices of a subsystem from its own rows and its parts.

    Args:
        decide: what the complement of B is written by.
        short: gives long expressions names.
        tidy: how entries of matrices are to read;  rules: the same for forces.
        forces: whether f and f̄ are wanted.
        B: where it is known.
    """
    found = Composed(own, children, depth, tidy)
    found.B = found.external() if B is None else B
    if tidy is not None:
        found.B = found.B.map(tidy)
    found.choice = decide(found.B)
    found.C = found.choice.columns(found.B, short)
    if short is not None:
        found.C = found.C.map(short)
    if forces:
        _project(found, short, rules)
    return found


def _project(found: Composed, short: Tidy | None, rules: Tidy | None) -> None:
    """f and f̄."""
    own, children, depth, al = found.own, found.children, found.depth, found.al
    mine = [row for row in own.forces.rows if len(row.path) == depth]
    foreign = [row for row in own.forces.rows if len(row.path) > depth]
    parts = [own.forces.part(mine), *(child.f_bar for child in children.values())]
    if foreign:  # forces on variables of parts reach what these leave free
        parts.append(found.R_rows(foreign).T @ own.forces.part(foreign))
    total = assemble(*parts, al=al)  # a column of forces, or of their coefficients
    f = LabeledMatrix.made(al, tuple(found.free), total.columns or (ONE,), total.entries)
    found.f = f if rules is None else f.map(rules)
    f_bar = found.C.T @ found.f
    found.f_bar = f_bar if short is None else f_bar.map(short)
