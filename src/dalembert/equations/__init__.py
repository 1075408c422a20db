"""Equations of motion in any algebra: canonical blocks, those of a mechanism, reactions, and their analytical view."""

from dalembert.equations.block_equations import BlockEquations, Level, Row
from dalembert.equations.mechanism_equations import Equations, mechanism_of, not_a_mechanism

__all__ = ["BlockEquations", "Equations", "Level", "Row", "mechanism_of", "not_a_mechanism"]
