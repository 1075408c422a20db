"""Dynamics: a model's equations of motion as machine code."""

from dalembert.dynamics.cached import cached_dynamics
from dalembert.dynamics.dynamics import Dynamics, compile
from dalembert.dynamics.kernels import KernelSet
from dalembert.dynamics.recipe import Recipe
from dalembert.numerics.context import Context

__all__ = ["Context", "Dynamics", "KernelSet", "Recipe", "cached_dynamics", "compile"]
