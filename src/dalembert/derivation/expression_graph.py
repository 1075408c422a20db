"""From an expression graph to mathematics without expanding it.

A CasADi function is a straight-line program. ``replay`` runs it over any scalars; ``define`` writes it the way Autolev
does: what is used more than once gets a name, and results are short formulas in these names,

    z₁ = sin θ₂,   z₂ = m l z₁,   …,   M₁₁ = z₇ + l² z₂.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import sx_symbol
from dalembert.algebra.sympy_algebra import readable_number
from dalembert.codegen.tape import Tape, trace
from dalembert.expressions import replaced, symbols_of

__all__ = ["Definitions", "Scalars", "SympyScalars", "define", "replay", "tape_of"]

_LONG_DECIMAL = 13  # digits; shorter decimals were written by a person
_LARGEST_DENOMINATOR = 20_000
_ULPS = 8  # what folding constants may have rounded
_LONGEST_FORMULA = 14  # operations in one definition; what is longer is broken by a name


Unary = dict[str, Callable[[Any], Any]]
Binary = dict[str, Callable[[Any, Any], Any]]


class Scalars:
    """What a program's operations mean; subclasses say it for one kind of scalar.

    ``operations`` maps each name of ``codegen.tape`` to a function; those of arithmetic are Python's own.
    """

    def __init__(self) -> None:
        unary: Unary = {
            "neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: 2 * x, "inv": lambda x: 1 / x,
        }  # fmt: skip
        binary: Binary = {
            "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        }  # fmt: skip
        self.operations: dict[str, Callable[..., Any]] = {**unary, **binary}

    def constant(self, value: float) -> Any:
        return value


class SympyScalars(Scalars):
    """SymPy expressions: exact fractions where numbers are such."""

    def __init__(self) -> None:
        super().__init__()
        names = ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh")
        self.operations |= {name: getattr(sp, name) for name in (*names, "acosh", "atanh", "floor", "sign", "erf")}
        unary: Unary = {
            "ceil": sp.ceiling, "fabs": sp.Abs, "not": sp.Not,
            "log1p": lambda x: sp.log(1 + x), "expm1": lambda x: sp.exp(x) - 1,
        }  # fmt: skip
        binary: Binary = {
            "atan2": sp.atan2, "fmin": sp.Min, "fmax": sp.Max, "pow": sp.Pow, "constpow": sp.Pow,
            "lt": sp.Lt, "le": sp.Le, "eq": sp.Eq, "ne": sp.Ne, "and": sp.And, "or": sp.Or,
            "hypot": lambda x, y: sp.sqrt(x**2 + y**2),
            "if_else_zero": lambda c, x: cast(Any, sp.Piecewise((x, c), (0, True))),
        }  # fmt: skip
        self.operations |= {**unary, **binary}

    def constant(self, value: float) -> Any:
        return _fraction(value)


def _fraction(value: float) -> Any:
    """A number to read: 0.1666… is 1/6, because nobody writes it otherwise; 0.083 stays."""
    number = readable_number(value)
    if number.is_Float and len(repr(float(value)).replace("-", "").lstrip("0.")) > _LONG_DECIMAL:
        fraction = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
        if abs(float(fraction) - value) <= _ULPS * math.ulp(value):
            return sp.Rational(fraction.numerator, fraction.denominator)
    return number


def tape_of(function: ca.Function) -> Tape:
    """The program of a CasADi function of SX: all inputs one after the other, all outputs likewise, row-major."""
    inputs = {f"i{k}": sx_symbol(f"i{k}", *function.size_in(k)) for k in range(function.n_in())}
    outputs = cast(Any, function).call(list(inputs.values()), True, False)
    return trace(function.name(), inputs, {f"o{k}": value for k, value in enumerate(outputs)})


def _tape_for(program: Tape | ca.Function, inputs: Sequence[Any]) -> Tape:
    tape = program if isinstance(program, Tape) else tape_of(program)
    if len(inputs) != tape.n_in:
        raise ValueError(f"the program takes {tape.n_in} numbers, got {len(inputs)}")
    return tape


def replay(program: Tape | ca.Function, scalars: Scalars, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a program for inputs that are scalars of any kind.

    With SymPy scalars the outputs share their parts, but whoever walks over them walks over a tree: long programs
    are better read through ``define``.
    """
    tape = _tape_for(program, inputs)
    constants = [scalars.constant(value) for value in tape.constants]
    operations = scalars.operations
    values: list[Any] = []
    for op, a, b in zip(tape.ops, tape.a, tape.b, strict=True):
        if op == "input":
            values.append(inputs[a])
        elif op == "const":
            values.append(constants[a])
        elif b < 0:
            values.append(operations[op](values[a]))
        else:
            values.append(operations[op](values[a], values[b]))
    return [values[k] for k in tape.results]


@dataclass(frozen=True)
class Definitions:
    """A program as named formulas.

    Attributes:
        symbols: z₁, z₂, … in order.
        formulas: what each is, in inputs and earlier symbols.
        results: the outputs, in inputs and symbols.
    """

    symbols: list[sp.Symbol]
    formulas: list[sp.Expr]
    results: list[sp.Expr]

    def __len__(self) -> int:
        return len(self.symbols)

    def needed(self, results: Sequence[sp.Expr]) -> Definitions:
        """Only what some of the results need."""
        place = {symbol: k for k, symbol in enumerate(self.symbols)}
        wanted: set[int] = set()
        stack = [place[s] for r in results for s in symbols_of(r) if s in place]
        while stack:
            k = stack.pop()
            if k not in wanted:
                wanted.add(k)
                stack += [place[s] for s in symbols_of(self.formulas[k]) if s in place]
        kept = sorted(wanted)
        return Definitions([self.symbols[k] for k in kept], [self.formulas[k] for k in kept], list(results))

    def expanded(self, expression: sp.Expr) -> sp.Expr:
        """One expression with all names written out; long where the graph is deep."""
        known: dict[sp.Basic, sp.Expr] = {}
        part = self.needed([expression])
        for symbol, formula in zip(part.symbols, part.formulas, strict=True):
            known[symbol] = replaced(formula, known)
        return replaced(expression, known)


def define(program: Tape | ca.Function, inputs: Sequence[sp.Expr]) -> Definitions:
    """The program as definitions: one for each value that is used more than once or would become too long.

    Args:
        inputs: symbols of the inputs, all in one row.
    """
    tape = _tape_for(program, inputs)
    scalars = SympyScalars()
    operations = scalars.operations
    constants = [scalars.constant(value) for value in tape.constants]
    uses = _uses(tape)
    taken = {str(symbol) for symbol in inputs}
    letter = "z_" if any(f"z{k}" in taken for k in range(1, len(tape.ops) + 1)) else "z"
    values: list[Any] = []
    sizes: list[int] = []
    symbols: list[sp.Symbol] = []
    formulas: list[sp.Expr] = []
    for k, (op, a, b) in enumerate(zip(tape.ops, tape.a, tape.b, strict=True)):
        size = 0
        if op == "input":
            value = inputs[a]
        elif op == "const":
            value = constants[a]
        else:
            size = 1 + sizes[a] + (sizes[b] if b >= 0 else 0)
            value = _gathered(op, values[a], values[b] if b >= 0 else None)
            if value is None:
                given = (_made(values[a]),) if b < 0 else (_made(values[a]), _made(values[b]))
                value = operations[op](*given)
            if uses[k] > 1 or (size > _LONGEST_FORMULA and uses[k]):
                value = _made(value)
                if isinstance(value, sp.Expr) and not _is_short(value):
                    symbol = sp.Symbol(f"{letter}{len(symbols) + 1}", real=True)
                    symbols.append(symbol)
                    formulas.append(value)
                    value, size = symbol, 0
        values.append(value)
        sizes.append(size)
    return Definitions(symbols, formulas, [_made(values[k]) for k in tape.results])


_name = operator.attrgetter("name")
# SymPy's own order of the parts of sums and products, and its way to make them without evaluation.
_order: Any = functools.cmp_to_key(cast(Any, sp.Basic).compare)
_make_product: Any = cast(Any, sp.Mul)._from_args
_make_sum: Any = cast(Any, sp.Add)._from_args


class _Gathered:
    """A sum or a product whose parts are still apart: SymPy orders all of them at once."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: Any, parts: list[Any]):
        self.kind, self.parts = kind, parts


def _made(value: Any) -> Any:
    """The expression, as SymPy would make it; what needs no evaluation is only put in SymPy's order."""
    if type(value) is not _Gathered:
        return value
    parts = [_made(part) for part in value.parts]
    made = _product(parts) if value.kind is sp.Mul else _sum(parts)
    return value.kind(*parts) if made is None else made


def _product(parts: list[Any]) -> Any:
    """A product of different symbols, functions and sums with a number, or None."""
    number: Any = sp.S.One
    factors: list[Any] = []
    for part in parts:
        for factor in part.args if part.is_Mul else (part,):
            if factor.is_Number:
                number = number * factor
            elif factor.is_Pow:
                return None
            else:
                factors.append(factor)
    if not factors or not number.is_Rational or number is sp.S.Zero or len(set(factors)) < len(factors):
        return None
    if len(factors) == 1 and factors[0].is_Add and number is not sp.S.One:
        return None  # SymPy multiplies a number into a sum
    if all(factor.is_Symbol for factor in factors):
        factors.sort(key=_name)  # SymPy's own order of symbols
    else:
        factors.sort(key=_order)
    if number is not sp.S.One:
        return _make_product([number, *factors], is_commutative=True)
    return factors[0] if len(factors) == 1 else _make_product(factors, is_commutative=True)


def _sum(parts: list[Any]) -> Any:
    """A sum of different products, or None."""
    if not all(part.is_Symbol or part.is_Mul for part in parts):
        return None
    if len(parts) < 2 or _repeats(parts):
        return None
    parts.sort(key=_order)
    return _make_sum(parts, is_commutative=True)


def _repeats(parts: list[Any]) -> bool:
    """True if two terms differ in their numbers only."""
    rests = [(part,) if part.is_Symbol else part.args[1:] if part.args[0].is_Number else part.args for part in parts]
    return len(set(rests)) < len(rests)


def _parts(kind: Any, value: Any) -> list[Any]:
    return value.parts if type(value) is _Gathered and value.kind is kind else [value]


def _gathered(op: str, a: Any, b: Any) -> _Gathered | None:
    """Sums and products of values that are used once."""
    if op == "add":
        return _Gathered(sp.Add, _parts(sp.Add, a) + _parts(sp.Add, b))
    if op == "sub":
        return _Gathered(sp.Add, [*_parts(sp.Add, a), _Gathered(sp.Mul, [sp.S.NegativeOne, *_parts(sp.Mul, b)])])
    if op == "mul":
        return _Gathered(sp.Mul, _parts(sp.Mul, a) + _parts(sp.Mul, b))
    if op == "neg":
        return _Gathered(sp.Mul, [sp.S.NegativeOne, *_parts(sp.Mul, a)])
    return None


def _is_short(value: Any) -> bool:
    """A symbol, a number, or a symbol with a sign or a number needs no name of its own."""
    if value.is_Atom:
        return True
    return value.is_Mul and len(value.args) == 2 and value.args[0].is_Number and value.args[1].is_Symbol


def _uses(tape: Tape) -> np.ndarray:
    """How often each value is used by operations."""
    used = np.zeros(len(tape.ops), dtype=int)
    for op, a, b in zip(tape.ops, tape.a, tape.b, strict=True):
        if op not in ("input", "const"):
            used[a] += 1
            if b >= 0:
                used[b] += 1
    return used
