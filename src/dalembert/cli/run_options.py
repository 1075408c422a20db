"""The options of a run on the command line: written once, for every command that makes runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dalembert.errors import DalembertError

__all__ = ["InitialOption", "ParameterOption", "Several", "pairs", "repeated", "run_options"]

Several = list[str] | None


def repeated(text: str, *flags: str) -> Any:
    """An option that may be given several times."""
    return typer.Option(*flags, help=f"{text}; repeat for more.")


ParameterOption = Annotated[Several, repeated("Value of a parameter, as name=number", "--set")]
InitialOption = Annotated[Several, repeated("Initial coordinate of a joint, as joint=number")]

# Fields of ``dalembert.analyses.Options`` that are numbers or names: type and default.
_FIELDS: dict[str, tuple[Any, Any]] = {
    name: (Annotated[kind, typer.Option(help=text)], default)
    for name, kind, default, text in (
        ("formulation", str, "auto", "Formulation by name (see 'list'), or 'auto'."),
        ("coordinates", str, "auto", "Coordinates by name (see 'list'), or 'auto'."),
        ("integrator", str, "auto", "Integrator by name (see 'list'), or 'auto'."),
        (
            "stabilization", str, "auto",
            "How the motion stays on the constraints: projection, stages, partition, baumgarte, none; with radau also "
            "index-1, ggl or index-2.",
        ),
        ("baumgarte", float | None, None, "Rate α = β of Baumgarte's stabilization (1/s); default 10."),
        ("drift", float | None, None, "Correct the state only where constraints are violated by more than this."),
        ("rtol", float | None, None, "Relative tolerance of adaptive integrators; default: that of the integrator."),
        ("atol", float | None, None, "Absolute tolerance of adaptive integrators; default: that of the integrator."),
        ("step", float | None, None, "Step of fixed-step integrators, longest step of the others (s)."),
        ("output_step", float | None, None, "Output interval (s); default: a thousandth of the duration."),
        ("accuracy", float | None, None, "Largest error, relative to the size of the motion, of a trusted result."),
        ("certify", bool, True, "Estimate the error by companion runs and judge the result."),
    )
}  # fmt: skip

# Fields that map names to numbers: the parameter of the command, its option, its type.
_PAIRS: dict[str, tuple[str, str, Any]] = {
    "parameters": ("set_", "--set", ParameterOption),
    "initial": ("initial", "--initial", InitialOption),
    "initial_rates": (
        "rate", "--rate", Annotated[Several, repeated("Initial velocity of a joint, as joint=number")],
    ),
}  # fmt: skip

_CHOICES = ("formulation", "coordinates")


def run_options(*choices: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a run; it gets them as the dictionary ``options``.

    Args:
        choices: which of formulation and coordinates there are.
    """
    fields = {name: field for name, field in _FIELDS.items() if name in choices or name not in _CHOICES}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [one for name, one in signature.parameters.items() if name != "options"]
        added = [_parameter(name, kind, default) for name, (kind, default) in fields.items()]
        added += [_parameter(name, kind, None) for name, _, kind in _PAIRS.values()]

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            options = {name: given.pop(name) for name in fields}
            options |= {field: pairs(option, given.pop(name)) for field, (name, option, _) in _PAIRS.items()}
            command(**given, options=options)

        parameters = [*own[:2], *added, *own[2:]]  # the model and the duration first
        wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
        del wrapped.__wrapped__  # type: ignore[attr-defined]
        return wrapped

    return decorate


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


def pairs(option: str, given: list[str] | None) -> dict[str, float]:
    """``name=number`` options as a dictionary."""
    values: dict[str, float] = {}
    for text in given or []:
        name, equals, number = text.partition("=")
        try:
            values[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise DalembertError(f"{option} {text!r}: expected name=number, e.g. {option} length=1.5")
    return values
