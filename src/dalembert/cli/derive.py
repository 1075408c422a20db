"""``dalembert derive``: equations of motion to read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.cli.progress import messages, tell_written, working
from dalembert.cli.run import get_model

if TYPE_CHECKING:
    import sympy as sp

__all__ = ["derive_model"]

MOST_SHOWN = 12  # definitions
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
DOTS = {"ddot": "\N{COMBINING DIAERESIS}", "dot": "\N{COMBINING DOT ABOVE}"}  # rates, longest ending first
LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "lamda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Omega": "Ω", "Theta": "Θ", "Phi": "Φ", "Psi": "Ψ",
    "Delta": "Δ",
}  # fmt: skip


def derive_model(
    name: str,
    *,
    formulation: str,
    options: dict[str, Any],
    sequence: str | None,
    latex: bool,
    files: dict[str, Path | None],
) -> None:
    """Derive, print, write files."""
    from dalembert.coordinates import Generalized
    from dalembert.derivation import derive

    console = Console(highlight=False, soft_wrap=True)
    coordinates = "generalized" if sequence is None else Generalized(sequence=sequence)
    with working(f"deriving {escape(name)}", messages()):
        found = derive(get_model(name), formulation, coordinates=coordinates, **options)
        shown = found.latex() if latex else _table(found)  # equations are put in order when they are first asked for
    if latex:
        console.print(shown, markup=False)
    else:
        _show(console, found, shown)
    written: list[Path] = []
    for kind, path in files.items():
        if path is not None:
            with working(f"writing {escape(str(path))}", messages()):
                made = getattr(found, f"to_{kind}")(path)
            written += list(made) if kind == "c" else [path]
    tell_written(console, written)


def _show(console: Console, found: Any, table: Any) -> None:
    """Name, where the equations hold, and the equations."""
    console.print(f"[bold]{found.name}[/]  {found.title}", markup=True)
    for value in found.assumptions:
        console.print(f"  valid where {value} > 0", style="yellow", markup=False)
    console.print(table)


def _table(found: Any) -> Table:
    """Equations in the letters that a terminal has."""
    velocities = [equation for equation in found.definitions_of_velocities if equation.rhs not in found.rates]
    sections = [("abbreviations", found.abbreviations), ("velocities", velocities), ("kinematics", found.kinematics)]
    sections += [("constants", found.constants), ("equations", found.equations), ("constraints", found.constraints)]
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column()
    table.add_column(overflow="fold")
    for title, equations in sections:
        for k, equation in enumerate(equations):
            table.add_row(title if k == 0 else "", _line(equation))
    if found.definitions:
        for k, equation in enumerate(found.definitions[:MOST_SHOWN]):
            table.add_row("where" if k == 0 else "", _line(equation))
        if len(found.definitions) > MOST_SHOWN:
            table.add_row("", f"… {len(found.definitions)} definitions; all are in --html, --markdown and --python")
    return table


def _line(equation: sp.Eq) -> str:
    import sympy as sp

    return _typeset(f"{sp.sstr(equation.lhs)} = {sp.sstr(equation.rhs)}").replace("[", "\\[")


def _typeset(text: str) -> str:
    """Formulas of SymPy as a terminal can set them: θ̈_elbow for thetaddot_elbow, x² for x**2, a dot between factors."""
    text = re.sub(r"\*\*(\d+)", lambda found: found[1].translate(RAISED), text)
    return re.sub(r"[A-Za-z]+", lambda found: _symbol(found[0]), text).replace("**", "^").replace("*", "·")


def _symbol(word: str) -> str:
    for end, mark in DOTS.items():
        if word.endswith(end) and word != end:
            return LETTERS.get(word.removesuffix(end), word.removesuffix(end)) + mark
    return LETTERS.get(word, word)
