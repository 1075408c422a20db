"""Formulas: read from text without running it, printed exactly, evaluated in any algebra."""

from dalembert.expressions.branches import switches_in
from dalembert.expressions.curves import Curve, TableCall, tables_in
from dalembert.expressions.evaluation import evaluate, is_number, number
from dalembert.expressions.grids import Grid, GridCall
from dalembert.expressions.parse import parse
from dalembert.expressions.printing import to_text
from dalembert.expressions.symbols import STATE, TIME, Reference, parameter, reference, references

__all__ = [
    "STATE",
    "TIME",
    "Curve",
    "Grid",
    "GridCall",
    "Reference",
    "TableCall",
    "evaluate",
    "is_number",
    "number",
    "parameter",
    "parse",
    "reference",
    "references",
    "switches_in",
    "tables_in",
    "to_text",
]
