"""Formulas: read from text without running it, printed exactly, evaluated in any algebra."""

from dalembert.expressions.branches import switches_in
from dalembert.expressions.curves import Curve, TableCall, tables_in
from dalembert.expressions.evaluation import evaluate, is_number, number, values_by_name
from dalembert.expressions.grids import Grid, GridCall
from dalembert.expressions.parse import parse
from dalembert.expressions.printing import to_text
from dalembert.expressions.symbols import (
    STATE,
    TIME,
    Reference,
    derivative,
    difference,
    expanded,
    parameter,
    reference,
    references,
    replaced,
    symbols_of,
)

__all__ = [
    "STATE", "TIME", "Curve", "Grid", "GridCall", "Reference", "TableCall", "derivative", "difference", "evaluate",
    "expanded", "is_number", "number", "parameter", "parse", "reference", "references", "replaced", "switches_in",
    "symbols_of", "tables_in", "to_text", "values_by_name",
]  # fmt: skip
