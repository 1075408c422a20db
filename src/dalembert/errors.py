"""The errors a person sees: what is wrong, where, what was expected, and how to fix it."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "CompileError", "DalembertError", "ExpressionError", "InputError", "MissingError", "ModelError", "ModelWarning",
    "Problem", "ReadWarning", "SimulationError", "ViewError", "warn",
]  # fmt: skip


_PACKAGE = str(Path(__file__).parent)
MOST_LISTED = 20  # problems of a model that the message tells; all of them are in ``problems``


class DalembertError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(DalembertError, ValueError):
    """An array given to a compiled function does not fit."""


class MissingError(DalembertError, IndexError, KeyError):
    """What was asked for by number or by name is not there; as an IndexError it ends loops over numbers."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotation marks


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


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that asked for it."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)
