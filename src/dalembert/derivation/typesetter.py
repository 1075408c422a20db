"""Expressions as a textbook prints them.

Products read  number, parameters (m g l), sums, rates, functions;  sums begin with what is accelerated and end with
what does not move. Long expressions come in pieces, between which a line may break.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

from dalembert.expressions import symbols_of

__all__ = ["Typesetter", "lines", "width"]

_FUNCTIONS = {sp.sin: r"\sin", sp.cos: r"\cos", sp.tan: r"\tan", sp.cot: r"\cot"}
_COMMAND = re.compile(r"\\(mathrm|dot|ddot|left|right|bigl|bigr|frac|,|!|;|text)|[{}^_ ]")


class Typesetter(LatexPrinter):
    """LaTeX with the order of a textbook.

    Args:
        names: LaTeX form of symbols.
        rates: symbols of first rates (and of other velocities).  accelerations: of second rates.
        coordinates: symbols of coordinates.
    """

    def __init__(
        self,
        names: Mapping[sp.Symbol, str],
        coordinates: Sequence[sp.Symbol] = (),
        rates: Sequence[sp.Symbol] = (),
        accelerations: Sequence[sp.Symbol] = (),
    ):
        super().__init__({"symbol_names": dict(names), "fold_func_brackets": True, "order": "none"})
        self._rank = {s: (0, i) for i, s in enumerate(accelerations)}
        self._rank |= {s: (1, i) for i, s in enumerate(rates) if s not in self._rank}
        self._rank |= {s: (2, i) for i, s in enumerate(coordinates) if s not in self._rank}

    def text(self, expression: Any) -> str:
        return self.doprint(expression)

    # Sums

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        text = ""
        for k, term in enumerate(self.terms(expr)):
            sign, positive = _sign(term)
            part = self._bracketed(positive) if sign < 0 else self._print(positive)
            text += (("-" if sign < 0 else "") if k == 0 else " - " if sign < 0 else " + ") + part
        return text

    def terms(self, expr: sp.Expr) -> list[sp.Expr]:
        """Terms of a sum in order."""
        terms = sorted(sp.Add.make_args(expr), key=self._term_key)
        # A sum that begins with a minus begins with another term of its kind if there is one.
        if terms and _sign(terms[0])[0] < 0:
            for k, term in enumerate(terms):
                if _sign(term)[0] > 0 and self._degree(term)[0] == self._degree(terms[0])[0]:
                    terms.insert(0, terms.pop(k))
                    break
        return terms

    def _degree(self, term: sp.Expr) -> tuple[int, int]:
        """Degrees in accelerations and in rates."""
        degrees = [0, 0]
        for symbol in symbols_of(term):
            kind: int = self._rank.get(symbol, (3, 0))[0]
            if kind < 2:
                degrees[kind] = max(degrees[kind], 1)
        return degrees[0], degrees[1]

    def _term_key(self, term: sp.Expr) -> Any:
        accelerations, rates = self._degree(term)
        moved = sorted(self._rank[s] for s in symbols_of(term) if s in self._rank)
        functions = len(term.atoms(sp.sin, sp.cos, sp.tan))
        return (-accelerations, -rates, moved if accelerations else [], functions, moved, _parameters(term))

    # Products

    def _print_Mul(self, expr: Any) -> str:
        sign, expr = _sign(expr)
        above, below = _fraction(expr)
        number, above = _split_number(above)
        over, below = _split_number(below)
        ratio: Any = sp.Rational(number, over) if number.is_Rational and over.is_Rational else number / over
        front = "-" if sign < 0 else ""
        if below:
            over, under = (ratio.p, ratio.q) if ratio.is_Rational else (ratio, 1)
            top = self._product([*([] if over == 1 and above else [sp.sympify(over, strict=True)]), *above])
            bottom = self._product([*([] if under == 1 else [sp.Integer(under)]), *below])
            return f"{front}\\frac{{{top}}}{{{bottom}}}"
        if ratio == 1 and above:
            return front + (self._bracketed(above[0]) if front and len(above) == 1 else self._product(above))
        text = self._print(ratio)
        return front + (f"{text} {self._product([*above, sp.S.One])}" if above else text)

    def _product(self, factors: list[sp.Expr]) -> str:
        if not factors:
            return "1"
        return self._print(factors[0]) if len(factors) == 1 else self._factors(factors)

    def _factors(self, factors: list[sp.Expr]) -> str:
        """A product that others multiply: sums in parentheses, a single one too."""
        ordered = sorted((factor for factor in factors if factor != 1), key=self._factor_key)
        return " ".join(self._bracketed(factor) for factor in ordered)

    def _bracketed(self, factor: Any) -> str:
        text = self._print(factor)
        if factor.is_Add or (factor.is_Number and factor < 0) or isinstance(factor, sp.Piecewise):
            return rf"\left({text}\right)"
        return text

    def _factor_key(self, factor: Any) -> Any:
        base = factor.base if factor.is_Pow else factor
        if factor.is_Number:
            return (0, "")
        if base.is_Symbol and base not in self._rank:
            return (2, *_letter_rank(self._settings["symbol_names"].get(base, base.name)))
        if base.is_Add:
            moving = bool(base.free_symbols & set(self._rank))
            return (3 if moving else 1, 0, str(base))
        if base.is_Symbol:
            kind, i = self._rank[base]
            return (4, 2 - kind, f"{i:06d}")
        first = min((self._rank.get(s, (3, 0)) for s in base.free_symbols), default=(3, 0))
        return (5, _function_rank(base), f"{first[1]:06d}{factor}")

    # Functions and powers

    def _print_Pow(self, expr: Any) -> str:
        base, exponent = expr.base, expr.exp
        if exponent.is_Rational and exponent < 0:
            return self._print_Mul(sp.Mul(sp.S.One, expr, evaluate=False))
        if type(base) in _FUNCTIONS and exponent.is_Integer:
            return self._function(base, rf"^{{{exponent}}}")
        if base.is_Symbol and exponent.is_Integer:
            return f"{self._print(base)}^{{{exponent}}}"
        if exponent == sp.Rational(1, 2):
            return rf"\sqrt{{{self._print(base)}}}"
        if base.is_Add:
            if exponent.is_even and _sign(min(base.args, key=self._term_key))[0] < 0:
                base = sp.Add(*(-a for a in base.args))
            return rf"\left({self._print(base)}\right)^{{{self._print(exponent)}}}"
        return super()._print_Pow(expr)

    def _function(self, expr: Any, power: str = "") -> str:
        argument = expr.args[0]
        text = self._print(argument)
        if argument.is_Symbol or argument.is_Number:
            return f"{_FUNCTIONS[type(expr)]}{power} {text}"
        if argument.is_Mul and all(a.is_Symbol or a.is_Integer for a in argument.args) and len(argument.args) == 2:
            return f"{_FUNCTIONS[type(expr)]}{power} {text}"
        return rf"{_FUNCTIONS[type(expr)]}{power}\left({text}\right)"

    def _print_sin(self, expr: Any, exp: Any = None) -> str:
        return self._function(expr)

    _print_cos = _print_tan = _print_cot = _print_sin

    def _print_Float(self, expr: Any) -> str:
        text = f"{float(expr):.6g}"
        if "e" in text:
            mantissa, _, power = text.partition("e")
            return rf"{mantissa} \cdot 10^{{{int(power)}}}"
        return text

    # Pieces

    def pieces(self, expr: sp.Expr, limit: int = 44) -> list[str]:
        """An expression in parts between which a line may break; each part is complete LaTeX."""
        out: list[str] = []
        for k, term in enumerate(self.terms(expr)):
            sign, positive = _sign(term)
            front = ("-" if sign < 0 else "") if k == 0 else "- " if sign < 0 else "+ "
            out += self._term_pieces(front, positive, limit)
        return out

    def _term_pieces(self, front: str, term: Any, limit: int) -> list[str]:
        text = self._bracketed(term) if front.startswith("-") else self._print(term)
        if width(text) <= limit:
            return [front + text]
        above, below = _fraction(term)
        long = [f for f in above if (f.base if f.is_Pow else f).is_Add and width(self._print(f)) > limit // 2]
        if not long or below:
            return [front + text]
        inner = max(long, key=lambda f: width(self._print(f)))
        base, power = (inner.base, inner.exp) if inner.is_Pow else (inner, sp.S.One)
        rest = list(above)
        rest.remove(inner)
        number, others = _split_number(rest)
        before = [f for f in others if self._factor_key(f) <= self._factor_key(inner)]
        after = [f for f in others if f not in before]
        head = self._factors([*([] if number == 1 else [number]), *before])
        tail = "" if power == 1 else f"^{{{power}}}"
        parts = self.pieces(base, limit)
        parts[0] = f"{front}{head}{' ' if head else ''}\\bigl({parts[0]}"
        parts[-1] = f"{parts[-1]}\\bigr){tail}{' ' + self._factors(after) if after else ''}"
        return parts


def _sign(term: Any) -> tuple[int, Any]:
    """Sign of a term and the term without it."""
    number = term.as_coeff_Mul()[0] if term.is_Mul else term
    if not number.is_Number or number >= 0:
        return 1, term
    if term.is_Mul and term.args[0] is number:
        rest = list(term.args[1:])
        if number != -1:
            return -1, sp.Mul(-number, *rest, evaluate=False)
        return -1, sp.Mul(*rest, evaluate=False) if len(rest) > 1 else rest[0]
    return -1, -term


def _fraction(expr: Any) -> tuple[list[Any], list[Any]]:
    """Factors above and below the line."""
    above: list[Any] = []
    below: list[Any] = []
    factors: Any = sp.Mul.make_args(expr)
    for factor in factors:
        if factor.is_Mul:
            a, b = _fraction(factor)
            above, below = above + a, below + b
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            below.append(sp.Pow(factor.base, -factor.exp))
        elif factor.is_Rational and not factor.is_Integer:
            above += [sp.Integer(factor.p)] if factor.p != 1 else []
            below.append(sp.Integer(factor.q))
        elif factor != 1:
            above.append(factor)
    return above, below


def _split_number(factors: list[Any]) -> tuple[Any, list[Any]]:
    number = sp.S.One
    rest: list[Any] = []
    for factor in factors:
        if factor.is_Number:
            number *= factor
        else:
            rest.append(factor)
    return number, rest


def _letter_rank(name: str) -> tuple[int, str]:
    """Order of parameters in a product: masses and inertias, then g, then the others by alphabet:  m g l."""
    return (0 if name[:1] in "mMIJABC" else 1 if name == "g" else 2), name.lower() + name


def _parameters(term: sp.Expr) -> str:
    return " ".join(sorted(str(s) for s in term.free_symbols))


def width(text: str) -> int:
    """About how many characters wide a formula is."""
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: max(m[1], m[2], key=len), text)
    text = _COMMAND.sub("", text)
    return len(re.sub(r"\\[A-Za-z]+", "x", text))


def lines(pieces: Sequence[str], longest: int = 80) -> list[str]:
    """Pieces joined to lines of about equal length."""
    out: list[str] = []
    for piece in pieces:
        if out and width(out[-1]) + width(piece) <= longest:
            out[-1] += " " + piece
        else:
            out.append(piece)
    return out


def _function_rank(value: Any) -> int:
    """Sines come before cosines, both before other functions."""
    return 0 if type(value) is sp.sin else 1 if type(value) is sp.cos else 2
