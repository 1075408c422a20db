"""What is said where constraints with branches make motion jump."""

from __future__ import annotations

from dalembert.dynamics import Dynamics
from dalembert.integrators.base import Memory
from dalembert.modular.compiled_system import CompiledSystem

__all__ = ["jolt_noted", "jump_explained"]

JOLTS = (
    "velocities jump by {size:.3g} at t = {time:.6g} s, where {names} goes over to another branch{more}: an infinite "
    "force for no time.  Fix: formulas whose rates go over without a jump"
)
JUMPS = (
    "{names} goes over to another branch there, with a jump of {size:.3g} in position, which no motion can make.  Fix: "
    "formulas that go over without a jump"
)
FOLLOWS = (
    "velocities would have to jump by {size:.3g}, where {names} goes over to another branch; "
    "these variables have no impulse for that.  Fix: formulas whose rates go over without a jump, or {other}"
)


def jolt_noted(dynamics: Dynamics | CompiledSystem, memory: Memory) -> list[str]:
    """Jumps of velocities since the method began, in words."""
    if not memory.jolts:
        return []
    more = f" (the largest of {memory.jolts} such jumps)" if memory.jolts > 1 else ""
    names = _names(dynamics, memory.jolted_by)
    return [JOLTS.format(size=memory.jolt, time=memory.jolted_at, names=names, more=more)]


def jump_explained(dynamics: Dynamics | CompiledSystem, memory: Memory) -> str | None:
    """Why a run ended where another branch was taken, in words, if it did."""
    if not memory.jumped_by:
        return None
    names = _names(dynamics, memory.jumped_by)
    if memory.jump > 0:
        return JUMPS.format(names=names, size=memory.jump)
    if isinstance(dynamics, CompiledSystem):
        other = "an event before it that sets them"
    else:
        other = "coordinates='relative'" if dynamics.coordinates.eliminated else "formulation='lagrange-multipliers'"
    return FOLLOWS.format(names=names, size=-memory.jump, other=other)


def _names(dynamics: Dynamics | CompiledSystem, index: int) -> str:
    """The constraints behind a branch, by the number of its event from 1 on."""
    if isinstance(dynamics, CompiledSystem):
        found = dynamics.branching(index)
    else:
        branch = dynamics.kernels.event_owners[index - 1]
        found = [repr(name) for name, own in dynamics.flat.branching.items() if branch in own]
    return " or ".join(found) or "a constraint"
