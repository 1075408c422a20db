"""What a run leaves open where things touch: how deep rigid contacts were entered, and how far soft ones gave."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.forces import OneSidedSpring
from dalembert.model.data import ContactEvent
from dalembert.trajectory import Check
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.recorded import Recorded

__all__ = ["contact_checks", "contact_remarks"]

PENETRATION_LIMIT = 1e-8  # or the accuracy, if that is more (m or rad)


def contact_checks(dynamics: Dynamics, data: Recorded, outcome: Outcome, accuracy: float) -> list[Check]:
    """How far rigid contacts that are open were entered."""
    flat = dynamics.flat
    if not flat.contacts:
        return []
    owners = [flat.events[name][0] for name in flat.event_owners]
    gaps = [i for i, event in enumerate(owners) if isinstance(event, ContactEvent) and event.side >= 0]
    deepest = max(0.0, float(_events(dynamics, data, outcome)[:, gaps].max(initial=0.0)))
    limit, about = max(PENETRATION_LIMIT, accuracy), "deepest, of contacts and limits that are open"
    if outcome.method is not None and outcome.method.jumps:
        # Steps with impulses enter by what moves in half of one: what that does to the motion is in its error.
        return [Check("penetration", deepest, None, "", about)]
    return [Check("penetration", deepest, limit, "", about, "a tighter rtol, or step=…")]


def contact_remarks(dynamics: Dynamics, data: Recorded, outcome: Outcome) -> list[str]:
    """How far contacts and stops gave."""
    names = {name: force for name, (force, _) in dynamics.flat.forces.items() if isinstance(force, OneSidedSpring)}
    if not names or not dynamics.kernels.n_branches or dynamics.is_large:
        return []
    values, said = _events(dynamics, data, outcome), list[str]()
    for name, force in names.items():
        owners = [i for i, owner in enumerate(dynamics.kernels.event_owners) if owner.startswith(f"{name}.branch ")]
        depths = owners[len(owners) - force.n_switches :][:: force.n_switches // force.sides]
        said.append(f"{name!r} was pressed in by {max(0.0, float(values[:, depths].max(initial=0.0))):.3g} at most")
    return said


def _events(dynamics: Dynamics, data: Recorded, outcome: Outcome) -> np.ndarray:
    """The values of all events at all outputs."""
    t, q, u = data["time"], data["q"], data["u"]
    kernel = dynamics.kernels.event_kernel
    parts = [
        np.asarray(kernel(t[at], q[at], u[at], dynamics.parameters(values))).reshape(len(t[at]), -1)
        for at, values in pieces(outcome.segments, len(t))
    ]
    return np.concatenate(parts)
