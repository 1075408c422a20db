"""Names of a person as symbols: the same in SymPy, in LaTeX and in generated code.

    theta_1 → θ₁      l1 → l₁      upper_mass → m_upper      joint 'upper arm' → q_{upper arm}, with rate q̇_{upper arm}

A SymPy symbol keeps the name that was given, made an identifier; its LaTeX form is set like a textbook would.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from keyword import iskeyword

import sympy as sp

__all__ = ["Name", "NameBook", "is_letter", "typeset"]

_GREEK = frozenset(
    ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
     "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi",
     "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega", "varphi", "vartheta", "varepsilon"]
)  # fmt: skip
_RESERVED = frozenset(
    ["np", "math", "parameters", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp",
     "log", "sqrt", "matrix", "forcing", "qdot", "wdot"]
)  # fmt: skip
# Words for which every book has the same letter.
_LETTERS = {
    "mass": "m", "length": "l", "radius": "r", "height": "h", "width": "w", "inertia": "I", "gravity": "g",
    "stiffness": "k", "damping": "c", "density": r"\rho", "speed": "v", "spin": "n", "thickness": "b", "distance": "d",
    "offset": "e", "slope": r"\beta", "friction": r"\mu", "frequency": "f", "amplitude": "a", "torque": r"\tau",
    "force": "F", "restitution": r"\varepsilon",
}  # fmt: skip


@dataclass(frozen=True)
class Name:
    """A name in parts: base letter(s) and subscripts, as LaTeX."""

    base: str
    subscripts: tuple[str, ...] = ()

    def latex(self, dots: int = 0) -> str:
        base = {0: "{}", 1: r"\dot{{{}}}", 2: r"\ddot{{{}}}"}[dots].format(self.base)
        return base + (f"_{{{','.join(self.subscripts)}}}" if self.subscripts else "")


def typeset(text: str, letter: str | None = None) -> Name:
    """A name as LaTeX parts.

    Args:
        text: e.g. ``theta_1``, ``l1``, ``upper_mass``, ``left.hinge``, ``contact[2]``.
        letter: for names that are words (joints, bodies): the letter that carries them as subscript.
    """
    # Formulas in Python cannot say lambda; SymPy's spelling is known.
    words = [word.replace("lamda", "lambda") for word in re.split(r"[^0-9A-Za-z']+", text) if word]
    parts: list[str] = []
    for word in words:
        match = re.fullmatch(r"([A-Za-z]+)(\d+)", word)
        index = re.fullmatch(r"([a-zI])([A-Z])([xyz]*)", word)  # mB, IBxx
        if index:
            parts += [part for part in index.groups() if part]
        else:
            parts += [match[1], match[2]] if match and is_letter(match[1]) else [word]
    if not parts:
        return Name(letter or r"\mathrm{x}", (_roman(text),) if text else ())
    first, *rest = parts
    if is_letter(first):
        return Name(_greek(first), tuple(map(_roman, rest)))
    if letter is not None:
        return Name(letter, (_words(parts),))
    for word in (parts[-1], first):  # upper_mass, mass_2
        if word in _LETTERS:
            others = [part for part in parts if part != word]
            return Name(_LETTERS[word], (_words(others),) if others else ())
    head = [part for part in parts if not part.isdigit()]
    return Name(
        _words(head) if head else _words(parts), tuple(part for part in parts if part.isdigit()) if head else ()
    )


def _has_letter(name: str) -> bool:
    """True for words with a letter of their own, such as upper_mass."""
    words = re.split(r"[^0-9A-Za-z']+", name)
    return words[-1] in _LETTERS or words[0] in _LETTERS


def is_letter(word: str) -> bool:
    """True for one letter, Greek ones by their names."""
    return (len(word) == 1 and word.isalpha()) or word in _GREEK


def _greek(word: str) -> str:
    return "\\" + word if word in _GREEK else word


def _roman(word: str) -> str:
    if word.isdigit() or is_letter(word) or (len(word) <= 2 and set(word) <= set("xyz")):
        return _greek(word)
    return rf"\mathrm{{{word}}}"


def _words(parts: list[str]) -> str:
    """Words upright, with thin spaces between."""
    return r"\,".join(_roman(part) for part in parts)


class NameBook:
    """Gives each name one symbol; no two share a symbol or a LaTeX form.

    Attributes:
        latex: LaTeX form of each symbol.
        meaning: what each symbol stands for, in words.
    """

    def __init__(self, own: dict[str, str] | None = None) -> None:
        self.latex: dict[sp.Symbol, str] = {}
        self.meaning: dict[sp.Symbol, str] = {}
        self._own = own or {}
        self._taken: set[str] = set()
        self._forms: set[str] = set()
        self._names: dict[str, Name] = {}
        self.time = self._symbol("t", "t", "time")

    def parameter(self, name: str, meaning: str = "", positive: bool = False, letter: str | None = None) -> sp.Symbol:
        """The symbol of a parameter; the first to come keeps its name.

        Args:
            letter: that carries a name that is a word for which there is no letter.
        """
        form = self._own.get(name) or typeset(name, None if _has_letter(name) else letter).latex()
        return self._symbol(_identifier(name), form, meaning, literal=name, positive=positive)

    def coordinate(self, name: str, meaning: str = "", letter: str = "q") -> tuple[sp.Symbol, sp.Symbol, sp.Symbol]:
        """A coordinate with its first and second rate.

        Args:
            letter: that carries a name that is a word.
        """
        parts = (
            typeset(self._own.get(name, name), letter) if "\\" not in self._own.get(name, "") else Name(self._own[name])
        )
        plain = _identifier(name)
        if self._is_taken(plain) or parts.latex() in self._forms or not is_letter(re.split(r"[^A-Za-z]", name)[0]):
            plain = f"{letter}_{plain}"
        if parts.latex() in self._forms:
            parts = Name(letter, (parts.latex(),))
        head, _, tail = plain.partition("_")
        match = re.fullmatch(r"([A-Za-z]+)(\d+)", head)
        if match and not tail:
            head, tail = match[1], match[2]
        symbols: list[sp.Symbol] = []
        for dots, mark in enumerate(("", "dot", "ddot")):
            text = plain if not dots else head + mark + (f"_{tail}" if tail else "")
            words = ("{}", "rate of {}", "second rate of {}")[dots].format(meaning or name)
            symbols.append(self._symbol(text, parts.latex(dots), words))
        self._names[plain] = parts
        return symbols[0], symbols[1], symbols[2]

    def velocity(self, name: str, meaning: str = "", letter: str = "u") -> tuple[sp.Symbol, sp.Symbol]:
        """A quasi-velocity with its rate."""
        first, second, _ = self.coordinate(name, meaning, letter)
        return first, second

    def momentum(self, coordinate: sp.Symbol, meaning: str = "", letter: str = "p") -> tuple[sp.Symbol, sp.Symbol]:
        """p_θ of a coordinate θ, with its rate."""
        subscript = self.momentum_subscript(coordinate)
        words = meaning or f"momentum of {coordinate}"
        p = self._symbol(f"{letter}_{coordinate}", f"{letter}_{{{subscript}}}", words)
        rate = self._symbol(f"{letter}dot_{coordinate}", rf"\dot{{{letter}}}_{{{subscript}}}", f"rate of {p}")
        return p, rate

    def momentum_subscript(self, coordinate: sp.Symbol) -> str:
        """θ of θ, and hinge of q_hinge."""
        parts = self._names.get(coordinate.name)
        if parts is not None and parts.base == "q" and parts.subscripts and coordinate.name.startswith("q_"):
            return ",".join(parts.subscripts)
        return self.latex[coordinate]

    def other(self, name: str, form: str, meaning: str = "") -> sp.Symbol:
        """Any other symbol, such as a multiplier."""
        return self._symbol(name, form, meaning)

    def _is_taken(self, text: str) -> bool:
        return text in self._taken

    def _symbol(self, text: str, form: str, meaning: str, literal: str = "", positive: bool = False) -> sp.Symbol:
        while text in self._taken:
            text += "_"
        if form in self._forms:
            form = rf"\mathrm{{{_escape(literal or text)}}}"
        while form in self._forms:
            form += "'"
        self._taken.add(text)
        self._forms.add(form)
        symbol = sp.Symbol(text, positive=True) if positive else sp.Symbol(text, real=True)
        self.latex[symbol], self.meaning[symbol] = form, meaning
        return symbol


def _identifier(name: str) -> str:
    """A name as an identifier of Python and C."""
    text = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "x"
    return f"_{text}" if text[0].isdigit() else f"{text}_" if iskeyword(text) or text in _RESERVED else text


def _escape(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", r"\\,", text)
