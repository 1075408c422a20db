"""What a run leaves open where things touch.

How deep rigid contacts were entered, whether they push only where they are closed, how far what sticks has moved, and
how far soft ones gave.
"""

from __future__ import annotations

import numpy as np

from dalembert.analyses.simulation.seen import Seen
from dalembert.dynamics import Dynamics
from dalembert.forces import OneSidedSpring
from dalembert.model.data import ContactEvent
from dalembert.trajectory import Check
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.recorded import Recorded

__all__ = ["CLOSER", "contact_checks", "contact_remarks"]

PENETRATION_LIMIT = 1e-8  # or the accuracy, if that is more (in even units: m or rad at everyday size)
CLOSER = "stabilization='projection', or a tighter rtol"


def contact_checks(seen: Seen, accuracy: float) -> list[Check]:
    """How far rigid contacts that are open were entered, closed ones gape or pull, and what sticks has moved."""
    dynamics, data, outcome = seen.dynamics, seen.data, seen.outcome
    flat, limit = dynamics.flat, max(PENETRATION_LIMIT, accuracy)
    if not flat.contacts and not flat.frictions:
        return []
    deepest, about = _deepest(seen), "deepest penetration where contacts and limits are open"
    if outcome.method is not None and outcome.method.jumps:
        # Steps with impulses enter by what moves in half of one: what that does to the motion is in its error.
        return [Check("penetration", deepest, None, "", about)]
    checks = [Check("penetration", deepest, limit, "", about, "a tighter rtol, or step=…")] if flat.contacts else []
    if dynamics.is_large:
        return checks
    if flat.contacts:
        product, pull = _complementarity(dynamics, seen.residuals["position"], seen.accelerations.multipliers)
        about = "|g n| over the largest n, of contacts and limits that are closed: gap and force exclude each other"
        checks.append(Check("complementarity", product, limit, "", about, CLOSER))
        about = "largest pull −n over the largest |n|: contacts can only push"
        checks.append(Check("pull", pull, limit, "", about, "a tighter rtol"))
    if flat.frictions:
        about = "how far sticking contacts and joints have moved in total (m or rad, at usual sizes)"
        drift = _drift(dynamics, data, outcome, seen.residuals["velocity"])
        checks.append(Check("drift while sticking", drift, limit, "", about, CLOSER))
    return checks


def _deepest(seen: Seen) -> float:
    """By how much contacts that are open were entered, in even units."""
    flat, worst = seen.dynamics.flat, 0.0
    unit = {name: value for (name, _), value in zip(flat.gap_names, seen.dynamics.even.gaps, strict=True)}
    for i, name in enumerate(flat.event_owners):
        event = flat.events[name][0]
        if isinstance(event, ContactEvent) and event.side >= 0:
            worst = max(worst, float(seen.events[:, i].max(initial=0.0) / unit[event.contact]))
    return worst


def _complementarity(dynamics: Dynamics, gaps: np.ndarray, multipliers: np.ndarray) -> tuple[float, float]:
    """Of what 0 ≤ g ⊥ n ≥ 0 asks for in contacts: |g n| and −n, each over the largest |n| of its contact."""
    product = pull = 0.0
    for name in dynamics.flat.contacts:
        for row in dynamics.rows.of([name]):
            g, n = np.abs(gaps[:, row]) * dynamics.even.rows[row], multipliers[:, row]
            size = max(float(np.abs(n).max(initial=0.0)), 1e-300)
            product = max(product, float(np.max(g * np.abs(n), initial=0.0)) / size)
            pull = max(pull, float(np.max(-n, initial=0.0)) / size)
    return product, pull


def _drift(dynamics: Dynamics, data: Recorded, outcome: Outcome, rates: np.ndarray) -> float:
    """The way ∫|v| dt of what sticks, or what coordinates of its joint tell if that is more."""
    flat, t, worst = dynamics.flat, data["time"], 0.0
    for name in flat.frictions:
        rows = list(dynamics.rows.of([name]))
        units = dynamics.even.rows[rows]
        speeds = np.linalg.norm(rates[:, rows] * units, axis=1)
        coordinate, moved = _coordinate(dynamics, data, name) * units[0], 0.0
        for at, parameters in pieces(outcome.segments, len(t)):
            if parameters.get(flat.switches[name]):
                way = float(np.sum(0.5 * (speeds[at][1:] + speeds[at][:-1]) * np.diff(t[at])))
                moved += max(way, float(np.ptp(coordinate[at])))
        worst = max(worst, moved)
    return worst


def _coordinate(dynamics: Dynamics, data: Recorded, name: str) -> np.ndarray:
    """The coordinate of the joint that a friction holds, if it has one; else zeros."""
    joint, labels = getattr(dynamics.flat.constraints[name][0], "joint", None), data.labels["joint_q"]
    return data["joint_coordinates"][:, labels.index(joint)] if joint in labels else np.zeros(len(data["time"]))


def contact_remarks(seen: Seen) -> list[str]:
    """How far contacts and stops gave."""
    dynamics = seen.dynamics
    names = {name: force for name, (force, _) in dynamics.flat.forces.items() if isinstance(force, OneSidedSpring)}
    if not names or not dynamics.kernels.n_branches or dynamics.is_large:
        return []
    values, said = seen.events, list[str]()
    for name, force in names.items():
        owners = [i for i, owner in enumerate(dynamics.kernels.event_owners) if owner.startswith(f"{name}.branch ")]
        depths = owners[len(owners) - force.n_switches :][:: force.n_switches // force.sides]
        said.append(f"{name!r}: largest compression {max(0.0, float(values[:, depths].max(initial=0.0))):.3g}")
    return said
