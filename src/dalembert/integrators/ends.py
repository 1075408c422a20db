"""How the time loop, and a step of it, can end."""

from __future__ import annotations

__all__ = [
    "EVENT", "FAILED", "FINISHED", "GO_ON", "ILL_CONDITIONED", "NO_CONVERGENCE", "NO_HEADWAY", "PAUSED", "REJECTED",
    "RESTARTED", "STEP_TOO_SMALL", "STIFF", "STOPPED", "TOO_MANY_STEPS",
]  # fmt: skip

# How a loop can end.
FINISHED, STEP_TOO_SMALL, FAILED, TOO_MANY_STEPS, STOPPED, PAUSED, EVENT, STIFF, NO_CONVERGENCE, NO_HEADWAY = range(10)
ILL_CONDITIONED = 10  # the variables of the state are to be chosen anew
# What else a step can end with; RESTARTED: another branch of a formula is taken, and the method begins anew.
GO_ON, REJECTED, RESTARTED = -1, -2, -3
