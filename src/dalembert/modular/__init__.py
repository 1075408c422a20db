"""Recursive modular modeling: systems of any variables, composed of subsystems.

S = da.Subsystem("S"); S.include(part); S.invariant(…); S.equations()
"""

from dalembert.modular.complement import SVD, Choice, Given, LeastSquares, Pivoted, Strategy, Symbolic
from dalembert.modular.labeled_matrix import LabeledMatrix, assemble
from dalembert.modular.labels import Label
from dalembert.modular.modular_equations import ModularEquations
from dalembert.modular.subsystem import PartView, Subsystem

__all__ = [
    "SVD", "Choice", "Given", "Label", "LabeledMatrix", "LeastSquares", "ModularEquations", "PartView",
    "Pivoted", "Strategy", "Subsystem", "Symbolic", "assemble",
]  # fmt: skip
