"""Dynamics: a model's equations of motion as machine code."""

from dalembert.dynamics.dynamics import Context, Dynamics, compile

__all__ = ["Context", "Dynamics", "compile"]
