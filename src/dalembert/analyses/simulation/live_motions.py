"""Motions that can be typed anew in a page that simulates: a family of functions of time, chosen by parameters.

    f(t) = (1 − s) f₀(t) + s Σₖ exp(bₖ t) (Pₖ(t) cos wₖ t + Qₖ(t) sin wₖ t)

f₀ is the formula of the model, s is 0 until somebody types another one, Pₖ and Qₖ are polynomials. Sums, products and
powers of t, and of exp, sin and cos of a t + b, are members of the family: the page reads a formula and finds the
numbers (``export/assets/motions.js``). Derivatives follow as those of any formula of time. Whatever else is typed is
refused there, in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.rank import hold_rank
from dalembert.dynamics import cached_dynamics
from dalembert.errors import DalembertError
from dalembert.expressions import TIME, to_text
from dalembert.expressions.symbols import parameter
from dalembert.model import Model
from dalembert.model.given_inputs import depends_on_motion

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["DEGREE", "PREFIX", "TERMS", "Typed", "with_typed_motions"]

TERMS, DEGREE = 4, 5
NUMBERS = 1 + TERMS * (2 + 2 * (DEGREE + 1))
PREFIX = "typed_motion_"


class Typed(NamedTuple):
    """A motion that can be typed anew: its name, its formula now, and the parameters of the family, s first, then
    b, w, P and Q of each term."""

    name: str
    text: str
    parameters: list[str]


def with_typed_motions(run: Trajectory, names: Sequence[str]) -> tuple[Trajectory, list[Typed]]:
    """The run with equations in which some motions are members of the family, and these motions; s is 0 in all."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DalembertError(f"motions: expected names, got {names!r}.  Fix: motions=[name of a drive]")
    if not names:
        return run, []
    other, typed = run.dynamics.model.snapshot(), list[Typed]()
    other.derived, laws = [], _laws(other)
    unknown = [name for name in names if name not in laws]
    if unknown:
        raise DalembertError(f"motions: unknown {unknown}; drives and inputs that are formulas of time: "
                             f"{', '.join(laws) or 'none'}")  # fmt: skip
    for k, name in enumerate(dict.fromkeys(names)):
        own = [f"{PREFIX}{k}_{i}" for i in range(NUMBERS)]
        other.parameter_values |= dict.fromkeys(own, 0.0)
        elements, place, field = laws[name]
        formula = getattr(elements[place], field)
        typed.append(Typed(name, to_text(formula), own))
        family = _family(formula, [parameter(one) for one in own])
        elements[place] = elements[place].model_copy(update={field: family})
    recipe, made = run.dynamics.recipe, copy(run)
    made.dynamics = cached_dynamics(other, recipe.formulation, recipe.coordinates)
    given = dict(run.segments[0][1])
    state = assemble_state(made.dynamics.relative, None, None, given, float(run.values("time")[0]))
    hold_rank(made.dynamics, state)
    return made, typed


def _laws(model: Model) -> dict[str, tuple[list[Any], int, str]]:
    """Where the formulas are, as (elements, which, field): those of drives, and of inputs that are formulas of time
    alone. Those of sub-models are theirs."""
    found = {
        one.name: (model.inputs, k, "default")
        for k, one in enumerate(model.inputs)
        if not one.default.is_number and not depends_on_motion(model, one.default)
    }
    drives = ((k, one) for k, one in enumerate(model.constraints) if "motion" in type(one).model_fields)
    return found | {one.name: (model.constraints, k, "motion") for k, one in drives}


def _family(own: sp.Expr, p: list[sp.Symbol]) -> sp.Expr:
    """The formula with the parameters of the family."""
    total, size = sp.Integer(0), 2 + 2 * (DEGREE + 1)
    for k in range(TERMS):
        b, w, *rest = p[1 + k * size : 1 + (k + 1) * size]
        P, Q = (_horner(rest[at : at + DEGREE + 1]) for at in (0, DEGREE + 1))
        total += sp.exp(b * TIME) * (P * sp.cos(w * TIME) + Q * sp.sin(w * TIME))
    return (1 - p[0]) * own + p[0] * total


def _horner(coefficients: list[sp.Symbol]) -> sp.Expr:
    value: sp.Expr = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = c + TIME * value
    return value
