"""A reader of printed equations: LaTeX and MathML of our own pages, evaluated as a person would read them.

Nothing of the printer is used. Symbols are known by how they are written; everything else follows the rules of a
textbook: juxtaposition multiplies, a power binds closest, sin 2 θ is the sine of the product.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["Reader", "equations_of_latex", "formulas_of_markdown", "formulas_of_page", "linear"]

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "cot": lambda x: 1 / math.tan(x), "exp": math.exp,
    "log": math.log, "tanh": math.tanh, "atan": math.atan, "sign": lambda x: math.copysign(1.0, x),
}  # fmt: skip
SPACES = re.compile(r"\\(?:,|;|!|quad\b|left\b|right\b|bigl\b|bigr\b)|\s|&")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
COMMAND = re.compile(r"\\(?:operatorname\{(\w+)\}|([A-Za-z]+))")


class Reader:
    """Reads one side of an equation into a number, or an array where matrices are printed.

    Args:
        values: of symbols, by how they are written.
    """

    def __init__(self, text: str, values: Mapping[str, float]):
        self.text, self.at, self.values, self.within_bars = text, 0, values, False
        self.names = sorted(values, key=len, reverse=True)

    def read(self) -> Any:
        value = self._sum()
        self._space()
        if self.at != len(self.text):
            raise ValueError(f"cannot read on at {self.text[self.at : self.at + 40]!r}")
        return value

    # Tokens

    def _space(self) -> None:
        while found := SPACES.match(self.text, self.at):
            if self.text.startswith("&", self.at) and self.cells:
                return
            self.at = found.end()

    cells = 0  # how deep in matrices: there & separates

    def _next(self, *tokens: str) -> str | None:
        self._space()
        for token in tokens:
            if self.text.startswith(token, self.at):
                self.at += len(token)
                return token
        return None

    def _expect(self, token: str) -> None:
        if self._next(token) is None:
            raise ValueError(f"expected {token!r} at {self.text[self.at : self.at + 40]!r}")

    def _symbol(self) -> float | None:
        self._space()
        for name in self.names:
            if self.text.startswith(name, self.at):
                end = self.at + len(name)
                if name[0] == "\\" and name[-1].isalpha() and self.text[end : end + 1].isalpha():
                    continue
                self.at = end
                return self.values[name]
        return None

    # Grammar

    def _sum(self) -> Any:
        sign = -1 if self._next("-") else 1
        self._next("+") if sign > 0 else None
        value = sign * self._product()
        while operator := self._next("+", "-"):
            value = value + (1 if operator == "+" else -1) * self._product()
        return value

    def _product(self) -> Any:
        value = self._factor()
        if value is None:
            raise ValueError(f"expected a factor at {self.text[self.at : self.at + 40]!r}")
        while True:
            if self._next("/"):
                value = value / self._factor()
                continue
            if (factor := self._factor()) is None:
                break
            both = isinstance(value, np.ndarray) and isinstance(factor, np.ndarray)
            value = value @ factor if both else value * factor
        return value

    def _factor(self) -> Any:
        if self._next("\\cdot"):
            return self._factor()
        base = self._base()
        return None if base is None else self._powered(base)

    def _powered(self, base: Any) -> Any:
        return base ** self._group() if self._next("^") else base

    def _group(self) -> Any:
        self._expect("{")
        value = self._sum()
        self._expect("}")
        return value

    def _base(self) -> Any:
        symbol = self._symbol()
        if symbol is not None:
            return symbol
        if found := NUMBER.match(self.text, self.at):
            self.at = found.end()
            return float(found[0])
        if self._next("("):
            value = self._sum()
            self._expect(")")
            return value
        if not self.within_bars and self._next("|"):
            self.within_bars = True
            value = self._sum()
            self.within_bars = False
            self._expect("|")
            return abs(value)
        if self.text.startswith("{", self.at):
            return self._group()
        if found := COMMAND.match(self.text, self.at):
            return self._command(found)
        return None

    def _command(self, found: re.Match[str]) -> Any:
        name = found[1] or found[2]
        if name in ("end",):
            return None
        self.at = found.end()
        if name == "frac":
            return self._group() / self._group()
        if name == "sqrt":
            return math.sqrt(self._group())
        if name == "pi":
            return math.pi
        if name == "begin":
            return self._matrix()
        if name in ("max", "min"):
            return (max if name == "max" else min)(self._several())
        if name in FUNCTIONS:
            power = self._group() if self._next("^") else 1
            return FUNCTIONS[name](self._argument()) ** power
        raise ValueError(f"unknown command {found[0]!r}")

    def _several(self) -> list[float]:
        """Arguments in parentheses."""
        self._expect("(")
        values = [self._sum()]
        while self._next(","):
            values.append(self._sum())
        self._expect(")")
        return values

    def _argument(self) -> float:
        """In parentheses or braces, or numbers and symbols side by side: functions end a product."""
        self._space()
        if self.text.startswith("{", self.at):
            return self._group()
        if self._next("("):
            value = self._sum()
            self._expect(")")
            return value
        self._space()
        value, count = 1.0, 0
        while True:
            factor = self._symbol()
            if factor is None:
                number = NUMBER.match(self.text, self.at)
                if number is None:
                    break
                factor, self.at = float(number[0]), number.end()
            value, count = value * self._powered(factor), count + 1
        if not count:
            raise ValueError(f"a function of nothing at {self.text[self.at : self.at + 40]!r}")
        return value

    def _matrix(self) -> np.ndarray:
        self._expect("{bmatrix}")
        self.cells += 1
        rows = [[self._sum()]]
        while not self._next("\\end{bmatrix}"):
            if self._next("\\\\"):
                rows.append([self._sum()])
            else:
                self._expect("&")
                rows[-1].append(self._sum())
        self.cells -= 1
        return np.array(rows)


# Documents


def equations_of_latex(text: str) -> list[str]:
    """Each equation of a ``gather`` environment on one line."""
    inner = text.removeprefix("\\begin{gather}").removesuffix("\\end{gather}")
    inner = re.sub(r"\\begin\{aligned\}(.*?)\\end\{aligned\}", lambda m: m[1].replace("\\\\", " "), inner, flags=re.S)
    return [row.strip() for row in inner.split("\\\\\n")]


def formulas_of_markdown(text: str) -> list[str]:
    """Formulas between double dollars, without tags and line breaks."""
    found = re.findall(r"\$\$\n(.*?)\n\$\$", text, flags=re.S)
    found = [re.sub(r" \\tag\{\d+\}", "", formula) for formula in found]
    return [
        formula.replace("\\begin{aligned}", "").replace("\\end{aligned}", "").replace(" \\\\\n& \\quad", " ")
        for formula in found
    ]


def formulas_of_page(page: str) -> list[str]:
    """Formulas of a page, MathML written in a line."""
    return [
        " ".join(linear(ET.fromstring(part)) for part in re.findall(r"<math.*?</math>", flow, flags=re.S))
        for flow in re.findall(r'<div class="flow">(.*?)</div>', page, flags=re.S)
    ]


DASHES = {"[": "", "]": "", "−": "-", "\u2061": "", "⋅": "\\cdot ", "·": "\\cdot ", "∣": "|", "\u200b": "", "\xa0": " "}


def linear(node: ET.Element) -> str:
    """MathML in a line of LaTeX-like text; groups in braces, so that structure is kept."""
    parts, tag, text = list(node), node.tag, (node.text or "").strip()
    if tag in ("mi", "mtext"):
        if text == "π":
            return "\\pi "
        return f"\\{text} " if text in FUNCTIONS else f"⟨{text}⟩"
    if tag == "mo":
        return DASHES.get(text, text)
    if tag == "mn":
        return f"{text} "
    if tag == "mspace":
        return " "
    if tag in ("math", "mrow", "mstyle", "mpadded"):
        return "".join(map(linear, parts))
    if tag == "mtable":
        rows = " \\\\ ".join(" & ".join(linear(cell) for cell in row) for row in parts)
        return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"
    if tag == "mtd":
        return "".join(map(linear, parts))
    inner = [linear(part) for part in parts]
    if tag == "msup":
        return f"{inner[0]}^{{{inner[1]}}}" if not inner[0].startswith("\\") else f"{inner[0]}^{{{inner[1]}}} "
    if tag == "msub":
        return f"{inner[0]}_<{inner[1]}>"
    if tag == "msubsup":
        return f"{inner[0]}_<{inner[1]}>^{{{inner[2]}}}"
    if tag == "mover":
        return f"over<{inner[0]}|{inner[1]}>"
    if tag == "mfrac":
        return rf"\frac{{{inner[0]}}}{{{inner[1]}}}"
    if tag == "msqrt":
        return rf"\sqrt{{{''.join(inner)}}}"
    raise ValueError(f"unknown element {tag!r}")


def sides(formula: str) -> Iterator[str]:
    """Left and right of an equation."""
    left, right = re.split(r"(?<![<>])=", formula, maxsplit=1)
    yield left
    yield right
