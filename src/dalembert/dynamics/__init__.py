"""Dynamics: a model's equations of motion as machine code."""

from dalembert.dynamics.dynamics import Dynamics, compile
from dalembert.dynamics.kept import kept_dynamics
from dalembert.dynamics.kernels import KernelSet
from dalembert.dynamics.recipe import Recipe
from dalembert.numerics.context import Context

__all__ = ["Context", "Dynamics", "KernelSet", "Recipe", "compile", "kept_dynamics"]
