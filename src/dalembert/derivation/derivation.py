"""Equations of motion as mathematics: ``da.derive``."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.arguments import public, public_methods
from dalembert.atomic import write_atomic
from dalembert.coordinates import Coordinates, Generalized, GeneralizedCoordinates
from dalembert.derivation.abbreviations import Abbreviations
from dalembert.derivation.build_equations import GRAVITY, Mathematics, Setup, build_symbolic
from dalembert.derivation.derivation_report import document, equation_pieces
from dalembert.derivation.export import RightHandSide, python_source
from dalembert.derivation.expression_graph import Definitions
from dalembert.derivation.roots import Roots
from dalembert.derivation.rows import Rows, opened
from dalembert.derivation.simplify import Budget, simplify_array
from dalembert.derivation.typeset_document import Document, aligned
from dalembert.derivation.typesetter import Typesetter
from dalembert.errors import DalembertError, check_known, unknown
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.model import Flat, Model, flatten, model_of

__all__ = ["Derivation", "derive"]

METHODS = ("auto", "symbolic", "graph")
SMALL = 1100  # instructions of a graph; what is longer is read as definitions
SMALL_TREE = 2000  # the same where nothing is constrained, if the equations then have at most so many
AS_KANE = ("boltzmann-hamel", "volterra")  # whose equations are his, from energies
MOST_OPERATIONS = 3000
WORK = 200_000  # for simplification in all (see ``Budget``)
PATIENCE = 130_000  # work after which a small system that does not come to an end is read as definitions, too


@public
def derive(
    model: Any,
    formulation: str | Formulation = "lagrange",
    *,
    coordinates: str | Generalized = "generalized",
    simplify: bool | str = "auto",
    method: str = "auto",
    symbols: dict[str, str] | None = None,
) -> Derivation:
    """The equations of motion as mathematics.

    Args:
        model: a model, a system of coordinates and particles, or a subsystem, whose equations are modular.
        formulation: name of a formalism, or one with options: ``lagrange``, ``hamilton``, ``routh``, ``maggi``,
            ``kane``, ``gibbs-appell``, ``boltzmann-hamel``, ``volterra``, ``volterra-reduced``, ``woronetz``.
        coordinates: ``generalized``, or :class:`Generalized` with options, such as the angles of balls.
        simplify: True, False, or ``auto``: small systems only.
        method: ``symbolic`` writes expressions out, ``graph`` names what is used more than once, as z₁, z₂, …;
            ``auto`` takes the first for small systems.
        symbols: LaTeX forms of names, e.g. ``{"upper_length": "l_1"}``.

    Raises:
        DalembertError: for a formulation that cannot be derived, or unknown options.

    Example:
        equations = da.derive(da.library.cart_pendulum(), "lagrange")
        print(equations.latex())
    """
    if hasattr(model, "equations_of_motion"):  # a subsystem derives its own
        return model.equations_of_motion()
    check_known("unknown method", method, METHODS)
    if simplify not in (True, False, "auto"):
        raise DalembertError(f"simplify must be True, False or 'auto', got {simplify!r}")
    chosen = _formulation(formulation)
    placed = _coordinates(model_of(model), coordinates)
    chosen.check(placed)
    setup = Setup(placed, chosen, symbols or {})
    length, small = _length(setup), SMALL if placed.has_constraints else SMALL_TREE
    if method == "graph" or (method == "auto" and length > small):
        return Derivation(setup, setup.graph.mathematics())
    if simplify is False:
        return Derivation(setup, build_symbolic(setup, None))
    try:
        found = Derivation(setup, _written_out(setup, PATIENCE if method == "auto" else math.inf))
    except _TooLong:
        return Derivation(setup, setup.graph.mathematics())
    if method == "auto" and length > SMALL and sum(map(cast(Any, sp).count_ops, found.equations)) > MOST_OPERATIONS:
        return Derivation(setup, setup.graph.mathematics())
    return found


def _length(setup: Setup) -> int:
    """Instructions of the graph of the equations. Energies and commutators in quasi-velocities make long graphs, whose
    equations become those of Kane when they are simplified: his graph tells how long they will be."""
    length = setup.graph.length
    if length > SMALL and setup.formulation.name in AS_KANE:
        return min(length, Setup(setup.coordinates, FORMULATIONS["kane"](), {}).graph.length)
    return length


class _TooLong(Exception):
    """Expressions grow faster than they can be simplified."""


def _written_out(setup: Setup, patience: float) -> Mathematics:
    """The equations as expressions in short forms."""
    budget = Budget(WORK)
    roots = Roots(setup.reference, setup.moving, budget)
    short = Abbreviations(setup, budget)

    def tidy(values: np.ndarray) -> np.ndarray:
        if budget.spent > patience:
            raise _TooLong
        return simplify_array(roots.array(short.settled(values)), setup.moving, budget)

    found = build_symbolic(setup, tidy, short)
    found.position = [None if value is None else roots.expression(value) for value in found.position]
    found.assumptions = roots.assumptions
    return _abbreviated(_simplified(found, setup, budget), short)


def derivable() -> list[str]:
    """Names of the formulations that can be derived."""
    return [name for name, kind in FORMULATIONS.items() if hasattr(kind, "derive")]


def _formulation(given: str | Formulation) -> Formulation:
    if isinstance(given, str):
        if given not in FORMULATIONS:
            raise unknown("unknown formulation", given, derivable(), "these can be derived:")
        given = FORMULATIONS[given]()
    if not hasattr(given, "derive"):
        raise DalembertError(
            f"formulation {given.name!r} is solved in numbers and has no equations to read; these have: "
            f"{', '.join(derivable())}"
        )
    return given


def _coordinates(model: Model, given: str | Generalized) -> Coordinates:
    """The mechanism in generalized coordinates; gravity in numbers gets the letter g."""
    if isinstance(given, str) and given not in ("generalized", "auto"):
        raise DalembertError(f"equations are derived in generalized coordinates, got {given!r}")
    if isinstance(given, Generalized) and given.rotations == "vectors":
        raise DalembertError(
            "derive: rotation vectors lead to series and roots that nobody can read.  "
            "Fix: da.Generalized(rotations='cayley'), whose equations are rational, or angles"
        )
    model.validate()
    flat = flatten(model)
    flat.refuse_feedback("derive", outputs=False)
    flat.refuse_fmus()
    _name_gravity(flat)
    return GeneralizedCoordinates(flat, given if isinstance(given, Generalized) else None)


def _name_gravity(flat: Flat) -> None:
    """(0, 0, −9.81) becomes (0, 0, −g), unless a parameter is called g already."""
    acting = [value for value in flat.gravity if value != 0]
    if len(acting) != 1 or not acting[0].is_number or GRAVITY in flat.parameters:
        return
    size = abs(float(acting[0]))
    g = sp.Symbol(GRAVITY, real=True)
    flat.gravity = tuple(sp.S.Zero if v == 0 else (g if float(v) > 0 else -g) for v in flat.gravity)
    flat.parameters[GRAVITY] = size


def _abbreviated(found: Mathematics, short: Abbreviations) -> Mathematics:
    """With the abbreviations that are in use, numbered anew."""
    used: set[Any] = set()
    for array in [*found.arrays().values(), *found.functions.values(), np.array(found.position, dtype=object)]:
        used |= set().union(*(value.free_symbols for value in array.reshape(-1) if value is not None))
    kept = [symbol for symbol in short.known if symbol in used]
    swap = dict(zip(kept, short.known, strict=False))

    def renamed(values: np.ndarray) -> np.ndarray:
        out = np.empty(values.shape, dtype=object)
        for index in np.ndindex(*values.shape):
            value: Any = values[index]
            out[index] = value.xreplace(swap)
        return out

    found.abbreviations = {swap[symbol]: short.known[symbol] for symbol in kept}
    if any(old != new for old, new in swap.items()):
        for name, array in found.arrays().items():
            setattr(found, name, renamed(array))
        found.functions = {name: renamed(value) for name, value in found.functions.items()}
        found.Q = found.functions["Q"] if found.Q is not None else None
        given: list[Any] = found.position
        found.position = [None if value is None else value.xreplace(swap) for value in given]
    return found


def _simplified(found: Mathematics, setup: Setup, budget: Budget) -> Mathematics:
    for name, array in found.arrays().items():
        setattr(found, name, simplify_array(array, setup.moving, budget))
    found.functions = {name: simplify_array(value, setup.moving, budget) for name, value in found.functions.items()}
    for name, value in found.functions.items():
        if value.ndim == 0:  # an energy is a sum of terms
            found.functions[name] = np.array(sp.Add(*opened(value.item(), setup.moving)), dtype=object)
    if found.Q is not None:
        found.Q = found.functions["Q"]
    position = [value for value in found.position if value is not None]
    values = iter(simplify_array(np.array(position, dtype=object), setup.moving, budget))
    found.position = [None if value is None else next(values) for value in found.position]
    return found


@public_methods
class Derivation:
    """Equations of motion by one formalism.

        q̇ = q̇(t, q, w),      K(t, q) ẇ = k(t, q, w) + Dᵀλ,      constraints

    w are rates, quasi-velocities or momenta, as the formalism has it. All expressions are SymPy's, in symbols that
    carry the names of the model. In a notebook the object shows itself typeset.

    Attributes:
        name: of the model.
        formulation, title: the formalism, and what it is called.
        setup: what was derived from: coordinates, symbols, parameters.
        time, coordinates, rates: symbols of t, q and q̇.
        velocities, accelerations: symbols of w, which is integrated together with q, and of ẇ.
        multipliers: symbols of λ, one for each constraint that the formalism keeps.

    Example:
        equations = da.derive(da.library.cart_pendulum(), "kane")
        equations.to_html("cart.html")
    """

    def __init__(self, setup: Setup, mathematics: Mathematics):
        self.setup, self._mathematics = setup, mathematics
        self.name, self.formulation, self.title = (
            setup.coordinates.flat.name,
            setup.formulation,
            setup.formulation.title,
        )
        self.time, self.coordinates, self.rates = setup.t, list(setup.q), list(setup.qd)
        self.velocities, self.accelerations = list(mathematics.w), list(mathematics.dw)
        self.multipliers = list(setup.multipliers[: len(mathematics.D)])

    def __repr__(self) -> str:
        m, rows = self._mathematics, len(self._mathematics.position)
        parts = [f"{len(self.coordinates)} coordinates", f"{len(m.w)} velocities", f"{rows} constraints"]
        if m.definitions is not None:
            parts.append(f"{len(m.definitions)} definitions")
        return f"<Derivation of {self.name!r}: {self.title}, {', '.join(parts)}>"

    # Symbols

    @property
    def parameters(self) -> dict[sp.Symbol, float]:
        """Symbols of the parameters and abbreviations, and their values."""
        values = {symbol: self.setup.values[name] for name, symbol in self.setup.parameters.items()}
        for symbol, expression in self._mathematics.abbreviations.items():
            values[symbol] = float(expression.subs(list(values.items())))
        return values

    def symbol(self, name: str) -> sp.Symbol:
        """A symbol by its name, e.g. ``theta`` or ``thetadot``."""
        for symbol in self.setup.book.latex:
            if symbol.name == name:
                return symbol
        raise unknown("no symbol is called", name, map(str, self.setup.book.latex))

    # Mathematics

    @property
    def mass_matrix(self) -> sp.Matrix:
        """K of  K ẇ = k + Dᵀλ."""
        return _matrix(self._mathematics.K)

    @property
    def forcing(self) -> sp.Matrix:
        """k of  K ẇ = k + Dᵀλ."""
        return _matrix(self._mathematics.k)

    @property
    def kinematics(self) -> list[sp.Eq]:
        """q̇ in terms of w; empty if w are all of q̇ themselves."""
        pairs = zip(self.setup.qd, self._mathematics.qdot, strict=True)
        return [_equation(rate, value) for rate, value in pairs if rate != value]

    @property
    def definitions_of_velocities(self) -> list[sp.Eq]:
        """w in terms of q̇; empty if w are rates themselves."""
        pairs = zip(self._mathematics.w, self._mathematics.given, strict=True)
        return [_equation(symbol, value) for symbol, value in pairs if symbol != value]

    @property
    def constants(self) -> list[sp.Eq]:
        """Momenta that stay as they are, in terms of q̇."""
        return [
            _equation(s, v) for s, v in zip(self._mathematics.G, self._mathematics.constant_definitions, strict=True)
        ]

    @property
    def constraints(self) -> list[sp.Eq]:
        """φ(t, q) = 0 of holonomic constraints, a q̇ + b = 0 of the others."""
        m, zero = self._mathematics, sp.S.Zero
        rows = zip(m.position, m.a, m.b, strict=True)
        values = (
            b + sum((x * v for x, v in zip(a, self.rates, strict=True)), zero) if phi is None else phi
            for phi, a, b in rows
        )
        return [_equation(value, zero) for value in values]

    @property
    def shown_constraints(self) -> list[sp.Eq]:
        """Those that the kinematics do not say already: with independent velocities, the holonomic ones."""
        m = self._mathematics
        if len(m.w) + len(m.G) == len(self.rates):
            return self.constraints
        return [equation for equation, phi in zip(self.constraints, m.position, strict=True) if phi is not None]

    @property
    def jacobian(self) -> sp.Matrix:
        """a of the constraints  a q̇ + b = 0."""
        return sp.Matrix(len(self._mathematics.a), len(self.rates), list(self._mathematics.a.reshape(-1)))

    @property
    def functions(self) -> dict[str, Any]:
        """What the formalism is built from: T, V, L, H, R, S as expressions, forces as matrices."""
        return {name: _function(value) for name, value in self._mathematics.functions.items()}

    @property
    def definitions(self) -> list[sp.Eq]:
        """z₁ = …, z₂ = …; empty if the equations are written out."""
        found = self._mathematics.definitions
        return [] if found is None else [_equation(s, f) for s, f in zip(found.symbols, found.formulas, strict=True)]

    @property
    def abbreviations(self) -> list[sp.Eq]:
        """Letters for long expressions of parameters."""
        return [_equation(symbol, value) for symbol, value in self._mathematics.abbreviations.items()]

    @property
    def free_symbols(self) -> set[Any]:
        """All symbols of the equations and of what defines them."""
        shown = [*self.equations, *self.kinematics, *self.constraints, *self.constants, *self.definitions]
        shown += [*self.abbreviations, *self.definitions_of_velocities, *self.functions.values()]
        return {symbol for part in shown for symbol in cast(Any, part).free_symbols}

    @property
    def assumptions(self) -> list[sp.Expr]:
        """What is assumed to be positive; otherwise the equations have another form."""
        return list(self._mathematics.assumptions)

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self._mathematics, self.setup)

    @property
    def equations(self) -> list[sp.Eq]:
        """The equations of motion as a textbook prints them; common factors are divided out."""
        return [_equation(left, right) for left, right in self._rows.sides]

    def expanded(self, expression: sp.Expr) -> sp.Expr:
        """An expression with all of z₁, z₂, … written out."""
        found = self._mathematics.definitions
        return expression if found is None else found.expanded(expression)

    def simplify(self, work: int = WORK) -> Derivation:
        """The same equations in shorter forms; what would take more work stays as it is (10 000 is about a second)."""
        found = self._mathematics
        if found.definitions is not None:
            return self
        copy = Mathematics(**{name: getattr(found, name) for name in found.__dataclass_fields__})
        return Derivation(self.setup, _simplified(copy, self.setup, Budget(work)))

    # To read

    @cached_property
    def _typesetter(self) -> Typesetter:
        s, m = self.setup, self._mathematics
        return Typesetter(
            {**s.book.latex, **_letters(m.definitions)}, s.q, [*m.w, *s.qd, *m.G], [*m.dw, *s.qdd, *s.multipliers]
        )

    def latex(self) -> str:
        """The equations of motion, with kinematics and constraints where there are such, as LaTeX."""
        shown = [*self.kinematics, *self.equations, *self.shown_constraints]
        rows = [aligned(equation_pieces(self._typesetter, e.lhs, e.rhs)) for e in shown]
        return "\\begin{gather}\n" + " \\\\\n".join(rows) + "\n\\end{gather}"

    def _document(self) -> Document:
        return document(self, self._mathematics, self.setup, self._typesetter)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """A page of Markdown with formulas between dollar signs; written to a file if a path is given."""
        return _written(self._document().to_markdown(), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """A page that shows all in any browser, without network; written to a file if a path is given."""
        return _written(self._document().to_html(), path)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$".replace("{gather}", "{gathered}")

    def _repr_markdown_(self) -> str:
        shown = [*self.kinematics, *self.equations, *self.shown_constraints]
        return "\n\n".join(f"$$\n{aligned(equation_pieces(self._typesetter, e.lhs, e.rhs))}\n$$" for e in shown)

    # To run

    def to_kernel(self) -> RightHandSide:
        """The equations in machine code: (t, q, w) → (q̇, ẇ)."""
        return RightHandSide(self.setup.graph)

    def to_python(self, path: str | Path | None = None) -> str:
        """A module of plain Python with a function ``right_hand_side(t, q, w, parameters)``."""
        return _written(python_source(self, self._mathematics, self.setup.graph), path)

    def to_c(self, path: str | Path) -> tuple[Path, Path]:
        """A C99 file and its header."""
        return self.to_kernel().kernel.export_c(path)


def _equation(left: Any, right: Any) -> sp.Eq:
    return cast(sp.Eq, sp.Eq(left, right, evaluate=False))


def _matrix(values: np.ndarray) -> sp.Matrix:
    rows = values.reshape(len(values), -1)
    return sp.Matrix(rows.shape[0], rows.shape[1], list(rows.reshape(-1)))


def _function(value: np.ndarray) -> Any:
    if value.ndim == 0:
        return value.item()
    return _matrix(value) if value.ndim <= 2 else sp.Array(value.tolist())


def _letters(definitions: Definitions | None) -> dict[sp.Symbol, str]:
    """z12 as z₁₂."""
    if definitions is None:
        return {}
    return {symbol: f"z_{{{k + 1}}}" for k, symbol in enumerate(definitions.symbols)}


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_atomic(path, text)
    return text
