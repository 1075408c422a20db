"""The errors a person sees: what is wrong, where, what was expected, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

__all__ = [
    "CompileError", "DalembertError", "ExpressionError", "InputError", "MissingError", "ModelError", "ModelWarning",
    "Problem", "ReadWarning", "SimulationError", "ViewError", "check_known", "did_you_mean",
    "index_of", "unknown",
]  # fmt: skip


MOST_LISTED = 20  # problems of a model that the message tells; all of them are in ``problems``


def did_you_mean(given: object, known: Iterable[str], most: int = 1, form: Callable[[str], str] = str) -> str:
    """A question about the nearest known names, or nothing where none is near; of several, one may be less near."""
    near = difflib.get_close_matches(str(given), list(known), most, 0.6 if most == 1 else 0.5)
    return f"did you mean {' or '.join(map(form, near))}?" if near else ""


class DalembertError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(DalembertError, ValueError):
    """An array given to a compiled function does not fit."""


class MissingError(DalembertError, IndexError, KeyError):
    """What was asked for by number or by name is not there; as an IndexError it ends loops over numbers."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotation marks


def unknown(what: str, name: object, known: Iterable[str], has: str = "there are") -> DalembertError:
    """What to raise where a name is not among those that are known: the nearest, and all."""
    names = list(known)
    question = did_you_mean(name, names)
    return DalembertError(f"{what} {name!r}; {question}{' ' * bool(question)}{has} {', '.join(names) or 'none'}")


def check_known(what: str, name: object, known: Collection[str], has: str = "expected one of") -> None:
    """Raise if a name is not among those that are known."""
    if name not in known:
        raise unknown(what, name, known, has)


def index_of(what: str, name: object, known: Iterable[str], has: str = "there are") -> int:
    """The place of a name among those that are known.

    Raises:
        DalembertError: it is none of them.
    """
    names = list(known)
    check_known(what, name, names, has)
    return names.index(str(name))


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a model.

    Attributes:
        message: what is wrong, with the value that was given and the one expected.
        path: the place inside the model, e.g. ``joints[3].axis``.
        fix: one line that would fix it.
        where: the line of the file or script that made the element, e.g. ``robot.yaml:41``.
    """

    message: str
    path: str = ""
    fix: str = ""
    where: str = ""

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.where, self.path) if part)
        text = self.message
        if place:
            text += f"\n    at {place}"
        if self.fix:
            text += f"\n    Fix: {self.fix}"
        return text


class ModelError(DalembertError):
    """The model is wrong. ``problems`` holds every problem found, the message the first ones."""

    def __init__(self, problems: str | Problem | list[Problem]):
        if isinstance(problems, str):
            problems = Problem(problems)
        if isinstance(problems, Problem):
            problems = [problems]
        self.problems = problems
        head = "" if len(problems) == 1 else f"{len(problems)} problems\n"
        rest = len(problems) - MOST_LISTED
        tail = f"\n… and {rest} more" if rest > 0 else ""
        super().__init__(head + "\n".join(str(problem) for problem in problems[:MOST_LISTED]) + tail)


class ExpressionError(DalembertError):
    """A formula given as text cannot be read, or is not allowed."""


class CompileError(DalembertError):
    """An expression graph cannot be turned into machine code."""


class ModelWarning(UserWarning):
    """A model can be computed with, and something in it is unlikely to be meant."""


class ReadWarning(UserWarning):
    """A file says more than the model can hold; lists everything that was left out (also in ``model.notes``)."""


class SimulationError(DalembertError):
    """A simulation cannot start, or ``strict=True`` met a certificate that failed."""


class ViewError(DalembertError):
    """A page or picture cannot be made or written."""
