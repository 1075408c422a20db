"""A functional mock-up unit as an element of a model: where it is, what it gets, what it gives. Pure data."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from dalembert.elements import MOTION, Element, Formula

__all__ = ["FMUElement"]

LONGEST = 1000  # characters of a path or of a variable's name
MOST_VARIABLES = 10_000


class FMUElement(Element):
    """A functional mock-up unit that runs beside the mechanism: Co-Simulation, FMI 2 or 3.

    It is machine code in a file. Reading a model never loads it; a run does, if its options say that the file can be
    trusted.
    """

    file: str = Field(description="path of the file, x.fmu; a relative one begins where Python runs")
    step: float = Field(gt=0, allow_inf_nan=False, description="time between two exchanges of values (s)")
    inputs: Annotated[dict[str, Formula], MOTION] = Field(
        default_factory=dict,
        description="its input variables, as formulas of t, states, inputs, q(), u(), x() … and parameters",
    )
    outputs: dict[str, str] = Field(
        default_factory=dict, description="inputs of the model, each with the output variable that it follows"
    )
    start: dict[str, float] = Field(
        default_factory=dict, description="values of its parameters and other variables at the start"
    )
    hold: bool = Field(
        False,
        description="True: outputs hold from one exchange to the next, as those of a sampled controller do; "
        "False: they are led on between",
    )

    @model_validator(mode="after")
    def _plain(self) -> FMUElement:
        if not self.file.lower().endswith(".fmu") or len(self.file) > LONGEST or not self.file.isprintable():
            raise ValueError(f"file: expected the path of an FMU, x.fmu, got {self.file[:80]!r}")
        names: list[Any] = [*self.inputs, *self.outputs, *self.outputs.values(), *self.start]
        if len(names) > MOST_VARIABLES:
            raise ValueError(f"expected at most {MOST_VARIABLES} variables, got {len(names)}")
        for name in names:
            if not name or len(name) > LONGEST or not name.isprintable():
                raise ValueError(f"expected names of variables, got {name[:80]!r}")
        return self
