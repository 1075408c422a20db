"""Equations of motion of a mechanism in any algebra: canonical blocks, reactions, and their analytical view."""

from dalembert.equations.mechanism_equations import Equations, Level, Row

__all__ = ["Equations", "Level", "Row"]
