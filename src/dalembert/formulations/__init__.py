"""Formulations. A new one is one file and one line in ``FORMULATIONS``."""

from dalembert.formulations.base import Formulation, Support
from dalembert.formulations.equations import Equations
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.formulations.recursive import Recursive

__all__ = ["FORMULATIONS", "Equations", "Formulation", "Support"]

FORMULATIONS: dict[str, type[Formulation]] = {
    formulation.name: formulation for formulation in (LagrangeMultipliers, Recursive)
}
