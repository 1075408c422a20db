"""The report of a derivation: idea, symbols, functions, equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import sympy as sp

from dalembert.derivation.build_equations import Mathematics, Setup
from dalembert.derivation.formalisms import IDEAS
from dalembert.derivation.names import NameBook
from dalembert.derivation.typeset_document import Document, Folded, Formula, Heading, Table, Text
from dalembert.derivation.typesetter import Typesetter, width

if TYPE_CHECKING:
    from dalembert.derivation.derivation import Derivation

__all__ = ["document", "equation_pieces"]

_MOST_DEFINITIONS = 2000  # that are shown
_WIDEST_MATRIX = 110  # characters
_FUNCTIONS = {
    "T": "kinetic energy", "V": "potential energy", "L": "Lagrangian", "H": "Hamiltonian", "R": "Routhian",
    "S": "energy of accelerations",
}  # fmt: skip


def equation_pieces(typesetter: Typesetter, left: Any, right: Any) -> list[str]:
    """Both sides in pieces, between which a line may break."""
    first, *others = typesetter.pieces(right)
    return [*typesetter.pieces(left), f"= {first}", *others]


def document(derivation: Derivation, m: Mathematics, setup: Setup, typesetter: Typesetter) -> Document:
    """A page about the equations.

    Args:
        m: the mathematics of the derivation.
        setup: how its symbols are written, what they mean and what they are measured in.
    """
    book = setup.book
    d = derivation
    idea = IDEAS.get(d.formulation.name)
    page = Document(f"Equations of motion: {d.name}", f"{d.title}. {_sizes(d)}")
    if idea is not None:
        page.blocks += [Text(idea.sentence), Formula(idea.equation, numbered=False)]
    if d.definitions:
        page.blocks.append(
            Text(f"{len(d.definitions)} definitions $z_{{i}}$ at the end stand for what is used more than once.")
        )
    if d.assumptions:
        where = ", ".join(f"${typesetter.text(value)} > 0$" for value in d.assumptions)
        page.blocks.append(Text(f"Valid where {where}."))
    page.blocks += [Heading("Symbols"), _symbols(d, m, setup)]
    functions = [(name, value) for name, value in d.functions.items() if name in _FUNCTIONS]
    if functions:
        page.blocks.append(Heading("Functions"))
        for name, value in functions:
            page.blocks += [Text(f"{_FUNCTIONS[name].capitalize()}:"), _equals(typesetter, name, value)]
    for title, equations in (
        ("Abbreviations", d.abbreviations),
        ("Velocities", [e for e in d.definitions_of_velocities if e.rhs not in d.rates]),
        ("Kinematics", d.kinematics),
        ("Constant momenta", d.constants),
        ("Equations of motion", d.equations),
        ("Constraints", d.shown_constraints),
    ):
        if equations:
            page.blocks.append(Heading(title))
            page.blocks += [Formula(equation_pieces(typesetter, e.lhs, e.rhs)) for e in equations]
    page.blocks += _matrices(d, m, book, typesetter)
    page.blocks += _definitions(d, typesetter)
    return page


def _sizes(d: Derivation) -> str:
    n = {"coordinate": len(d.coordinates), "velocity": len(d.velocities), "constraint": len(d.constraints)}
    words = {"velocity": "velocities"}
    parts = [f"{count} {name if count == 1 else words.get(name, name + 's')}" for name, count in n.items() if count]
    return ", ".join(parts) + "."


def _symbols(d: Derivation, m: Mathematics, setup: Setup) -> Table:
    """All symbols that appear somewhere; abbreviations are listed where they are defined."""
    rows: list[list[str]] = []
    seen, book = d.free_symbols, setup.book
    for symbol in [*d.coordinates, *(s for s in d.velocities if s not in d.rates), *m.G]:
        rows.append([f"${book.latex[symbol]}$", "", setup.units.get(symbol, ""), book.meaning[symbol]])
    if d.multipliers:
        rows.append([", ".join(f"${book.latex[s]}$" for s in d.multipliers), "", "", "multipliers of the constraints"])
    for symbol, value in d.parameters.items():
        if symbol in seen and symbol not in m.abbreviations:
            rows.append([f"${book.latex[symbol]}$", f"{value:g}", setup.units.get(symbol, ""), book.meaning[symbol]])
    return Table(["symbol", "value", "unit", "meaning"], rows)


def _equals(typesetter: Typesetter, name: str, value: Any) -> Formula:
    first, *others = typesetter.pieces(value)
    return Formula([f"{name} = {first}", *others])


def _matrices(d: Derivation, m: Mathematics, book: NameBook, typesetter: Typesetter) -> list[Any]:
    """K and k, if they fit on a page."""
    K, k = d.mass_matrix, d.forcing
    entries = [[typesetter.text(K[i, j]) for j in range(K.cols)] for i in range(K.rows)]
    forces = [typesetter.text(value) for value in cast(Any, k)]
    if not entries or m.definitions is not None or sp.eye(K.rows) == K:
        return []
    wide = sum(max(width(row[j]) for row in entries) for j in range(len(entries[0])))
    if max(wide, *map(width, forces)) > _WIDEST_MATRIX:
        return []
    velocity = _vector([book.latex[s] for s in d.accelerations])
    rows = r" \\ ".join(" & ".join(row) for row in entries)
    pieces = [rf"\begin{{bmatrix}} {rows} \end{{bmatrix}} {velocity}", f"= {_vector(forces)}"]
    if d.multipliers:
        A = m.D.T
        columns = r" \\ ".join(" & ".join(typesetter.text(value) for value in row) for row in A)
        names = _vector([book.latex[s] for s in d.multipliers])
        pieces.append(rf"+ \begin{{bmatrix}} {columns} \end{{bmatrix}} {names}")
    return [Heading("Matrix form"), Formula(pieces)]


def _vector(entries: list[str]) -> str:
    return rf"\begin{{bmatrix}} {(r' ' + chr(92) * 2 + ' ').join(entries)} \end{{bmatrix}}"


def _definitions(d: Derivation, typesetter: Typesetter) -> list[Any]:
    found = d.definitions
    if not found:
        return []
    shown = [Formula(equation_pieces(typesetter, e.lhs, e.rhs), numbered=False) for e in found[:_MOST_DEFINITIONS]]
    more = len(found) - len(shown)
    rest = [Text(f"{more} more are left out here; to_python() and definitions have them all.")] if more > 0 else []
    return [Heading("Definitions"), Folded(f"{len(found)} definitions", [*shown, *rest])]
