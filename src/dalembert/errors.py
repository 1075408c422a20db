"""The errors a person sees: what is wrong, where, what was expected, and how to fix it."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

__all__ = [
    "CompileError", "DalembertError", "ExpressionError", "InputError", "MissingError", "ModelError", "ModelWarning",
    "Problem", "ReadWarning", "SimulationError", "ViewError", "caller", "check_known", "did_you_mean", "index_of",
    "unknown", "warn",
]  # fmt: skip

_PACKAGE = str(Path(__file__).parent)
MOST_LISTED = 20  # problems of a model that the message tells; all of them are in ``problems``

# What other programs and books call things; of several words those count that there are.
SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("hinge", "pin", "pivot", "rotational"), ("revolute",)),
    **dict.fromkeys(("slider", "slide", "translation"), ("prismatic",)),
    **dict.fromkeys(("ball", "ball-joint"), ("spherical",)), **dict.fromkeys(("cardan", "hooke"), ("universal",)),
    "weld": ("fixed",), "rod": ("distance",), "floating": ("free",), "6dof": ("free",),
    **dict.fromkeys(("motor", "actuator"), ("drive", "joint_force")), "motors": ("unknowns",),
    "actuators": ("unknowns",), "damper": ("spring",), "dashpot": ("spring",), "cylinder": ("strut",),
    **dict.fromkeys(("tsda", "linear-spring", "translational-spring", "spring-damper", "coilover"), ("spring",)),
    **dict.fromkeys(("rsda", "rotational-spring", "torsion-spring"), ("torsional_spring",)),
    **dict.fromkeys(("marker", "site"), ("point",)),
    "cam": ("rolling_surface", "coupler"), "rope": ("cable",), "pulley": ("cable",),
    **dict.fromkeys(("initial-conditions", "initial-state", "x0", "q0", "state0", "ic"), ("initial",)),
    **dict.fromkeys(("initial-velocities", "initial-velocity", "v0", "u0", "qd0"), ("initial_rates",)),
    "params": ("parameters",), "links": ("bodies",),
    **dict.fromkeys(("center-of-mass", "centre-of-mass", "cog"), ("com",)),
    **dict.fromkeys(("position", "pos", "location", "origin", "anchor", "place"), ("point", "at", "com", "center")),
    **dict.fromkeys(("direction", "normal"), ("axis",)), **dict.fromkeys(("angular-velocity", "omega"), ("rotation",)),
    "k": ("stiffness",), "c": ("damping",), "d": ("damping",),
    **dict.fromkeys(("rest-length", "free-length", "natural-length", "l0"), ("length",)),
    **dict.fromkeys(("speed", "law", "function"), ("motion", "value", "torque", "push")),
    **dict.fromkeys(("parent", "body-1", "body1"), ("first",)),
    **dict.fromkeys(("child", "body-2", "body2"), ("second",)),
    **dict.fromkeys(("t-end", "tend", "t-final", "tf", "tmax", "t-max", "t-span", "tspan", "time", "t"), ("duration",)),
    **dict.fromkeys(("dt", "timestep", "time-step", "step-size", "h"), ("step", "output_step")),
    **dict.fromkeys(("method", "solver"), ("integrator", "formulation")),
    **dict.fromkeys(("tol", "tolerance", "reltol"), ("rtol",)), "abstol": ("atol",),
}  # fmt: skip


def did_you_mean(given: object, known: Iterable[str], most: int = 1, form: Callable[[str], str] = str) -> str:
    """A question about what other programs call so, or the nearest known names; of several, one may be less near.
    Nothing where none is near."""
    known = list(known)
    meant = [word for word in SYNONYMS.get(str(given).lower().replace("_", "-"), ()) if word in known]
    near = meant or difflib.get_close_matches(str(given), known, most, 0.6 if most == 1 else 0.5)
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


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that asked for it."""
    warnings.warn(message, kind, stacklevel=_outside()[1])


def caller() -> str:
    """File and line of the first frame outside this package."""
    frame, _ = _outside()
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else "?"


def _outside() -> tuple[FrameType | None, int]:
    """The first frame outside this package, and how many calls it is above this one."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return frame, level
