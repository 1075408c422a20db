"""Dynamics: a model's equations of motion as machine code."""

from dalembert.dynamics.context import Context
from dalembert.dynamics.dynamics import Dynamics, compile

__all__ = ["Context", "Dynamics", "compile"]
