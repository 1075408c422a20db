"""States of one's own, inputs and tables: what formulas may name besides parameters and the motion."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import sympy as sp
from pydantic import BeforeValidator, Field, model_validator

from dalembert.elements import MOTION, Element, Formula
from dalembert.elements.base import formula_of
from dalembert.expressions import parameter
from dalembert.expressions.curves import MOST_POINTS, Curve, call
from dalembert.expressions.grids import Grid, call_grid
from dalembert.values import SEQUENCE

__all__ = ["InputSignal", "StateVariable", "Table"]


class StateVariable(Element):
    """A first-order state besides the motion: a current, a pressure, what a filter or a controller remembers.

    Formulas of forces, outputs, events and rates name it as they name a parameter. It is integrated together with the
    motion, to the same tolerance.
    """

    rate: Annotated[Formula, MOTION] = Field(
        description="its time derivative, a formula of t, states, inputs, tables, q(), u(), x() … and parameters"
    )
    initial: Formula = Field(0, validate_default=True, description="its value at the start")
    unit: str = Field("", description="for labels")


class InputSignal(Element):
    """A signal from outside: a voltage, a command, a disturbance.

    A run says what it is: ``da.simulate(model, 1, inputs={"u": "sin(t)"})``. An input that is a number can be set like
    a parameter and by events.
    """

    default: Annotated[Formula, MOTION] = Field(
        0,
        validate_default=True,
        description="default value, unless a run gives another: a number, or a formula of t, states, other inputs, the "
        "motion and parameters",
    )
    unit: str = Field("", description="for labels")


def _numbers(value: Any) -> Any:
    """Plain floats; arrays too."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, SEQUENCE) or any(isinstance(v, SEQUENCE) for v in value):
        raise ValueError(f"expected a list of numbers, got {type(value).__name__}")
    if len(value) > MOST_POINTS:
        raise ValueError(f"expected at most {MOST_POINTS} points, got {len(value)}; take fewer, e.g. every tenth")
    return tuple(value)


Numbers = Annotated[tuple[float, ...], BeforeValidator(_numbers)]


def _rows(value: Any) -> Any:
    """Rows of plain floats; arrays too."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, SEQUENCE) or any(not isinstance(row, SEQUENCE) for row in value):
        raise ValueError(f"expected rows of numbers, got {type(value).__name__}")
    rows: list[tuple[Any, ...]] = [tuple(row) for row in value]
    if (count := sum(map(len, rows))) > MOST_POINTS:
        raise ValueError(f"expected at most {MOST_POINTS} numbers, got {count}; take fewer lines")
    return tuple(rows)


Rows = Annotated[tuple[tuple[float, ...], ...], BeforeValidator(_rows)]


class Table(Element):
    """A function of one or two variables given by points: a road, a cam, a motor's characteristic, a terrain.

    Formulas call it by its name: ``road(x(wheel))``, ``hill(x, y)``.
    """

    x: Numbers = Field(description="where it is given, rising")
    y: Numbers = Field(description="its values there; with z: its second variable, rising")
    z: Rows = Field((), description="of two variables: its values, a row for each x with a number for each y")
    kind: Literal["cubic", "linear", "periodic"] = Field(
        "cubic",
        description="'cubic': a spline with continuous second derivative; 'linear': straight lines; 'periodic': a "
        "cubic spline that repeats, first and last value equal",
    )
    outside: Literal["hold", "error", "extrapolate"] = Field(
        "hold",
        description="beyond the ends: 'hold' the last value, 'extrapolate' along a straight line, or 'error': the run "
        "stops",
    )

    @model_validator(mode="after")
    def _make(self) -> Table:
        self.curve()
        return self

    def curve(self, name: str = "") -> Curve | Grid:
        """The function itself."""
        if self.z:
            return Grid.of(name or self.name, self.x, self.y, self.z, self.kind, self.outside)
        return Curve.of(name or self.name, self.x, self.y, self.kind, self.outside)

    def __call__(self, x: Any, y: Any = None) -> sp.Expr:
        """Its value at a formula, or at two, for use in formulas."""
        if y is None:
            return call(parameter(self.name), formula_of(x))
        return call_grid(parameter(self.name), formula_of(x), formula_of(y))
