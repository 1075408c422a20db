"""Contacts in a run: what is closed at the start, impacts where gaps close, rest where impacts accumulate, release.

With the gaps g that are closed, J = ∂ġ/∂u and W = J M⁻¹ Jᵀ over all velocities that the other constraints allow:

    impact     by Newton's or Poisson's restitution, with friction (see ``collide``)
    rest       g̈ = a + W λ,      0 ≤ g̈  ⊥  λ ≥ 0,  with friction (see ``Instant.pressed``)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.analyses.contacts.collide import Collision
from dalembert.analyses.contacts.complementarity import lighten
from dalembert.analyses.contacts.instant import STILL, Instant
from dalembert.analyses.contacts.stick import settle_friction
from dalembert.dynamics import Dynamics

__all__ = ["REST", "Hit", "begin_contacts", "hit", "settle"]

LEAST_PUSH = 1e-12  # of what is closed, against forces of inertia
# What bounces comes to rest when all its flights to come take less than this (s, and relative to t); a single flight
# must be longer than the time that events look ahead.
REST, SHORTEST = 2e-7, 4e-8
LOWEST = 1e-14  # a flight (in the unit of its gap) that rounding of the gap hides; what bounces no higher rests
LEVEL = 1e-9  # an acceleration (against what it is made of) that neither opens nor presses what touches
# What just hit has bounced if it leaves faster than this, of the rate at which it came.
BOUNCED = 1e-6
NO_SOLUTION = "what touches neither moves apart nor pushes: the contacts contradict the other constraints"


@dataclass(frozen=True)
class Hit:
    """What an impact did.

    Attributes:
        parameters: afterwards.
        lost: kinetic energy that went (J), also by drives.
        taken: energy that the contacts took (J).
        kept: factor of restitution; less than 1 where friction would have given energy.
        rest: of contacts that came to rest, how long (s) their bounces would have gone on.
        gentle: no velocity changed.
        idle: contacts that touch and do not push: what moves together without load, and those that would share a load
            which others carry and may run off their ends.
        trouble: why there is no solution, if so.
    """

    parameters: dict[str, float]
    lost: float = 0.0
    taken: float = 0.0
    kept: float = 1.0
    rest: tuple[tuple[str, float], ...] = ()
    gentle: bool = False
    idle: tuple[str, ...] = ()
    trouble: str | None = None


def settle(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], without: str | None = None) -> Hit:
    """Every contact closed that stays so: at rest, and pushed together.

    Args:
        without: a contact that just opened.
    """
    c = Instant(d, t, x, _rubbing(d, t, x, parameters))
    at = np.flatnonzero(c.near & c.still & np.array([name != without for name, _ in c.names]))
    closed = [bool(parameters.get(d.flat.switches[name])) for name, _ in c.names]
    found = _closed(c, at, _pressed(c, at) if len(at) else None, np.array(closed))
    return replace(found, parameters=_switched(d, parameters, found.parameters))


def _rubbing(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> dict[str, float]:
    """Parameters with what sticks and slips in joints at these velocities, and its forces: they press contacts too."""
    joints = [name for name in d.flat.frictions if d.flat.constraints[name][0].touches is None]
    if not joints:
        return parameters
    values, trouble = settle_friction(d, t, x, parameters)
    if trouble is not None:
        return parameters  # the run says so next
    found = d.found(t, x[: d.nq], x[d.nq : d.nq + d.nv], values)
    return values | {f"{name}.force": float(found[d.kernels.places[f"{name}.force"]]) for name in joints}


def _switched(d: Dynamics, parameters: dict[str, float], found: dict[str, float]) -> dict[str, float]:
    """Parameters with the contacts that were found closed or open."""
    return parameters | {d.flat.switches[name]: found[d.flat.switches[name]] for name in d.flat.contacts}


def _closed(c: Instant, at: np.ndarray, found: tuple[np.ndarray, np.ndarray] | None, late: np.ndarray) -> Hit:
    """Those gaps closed that are pushed together; of those that run off where others carry their load, ``late`` ones
    rather than others."""
    if found is None or not len(at):
        return Hit(c.on(()))
    least = LEAST_PUSH * c.size()
    pushed = found[0] > least
    ends = np.array([c.d.flat.constraints[c.names[k][0]][0].runs_off for k in at])
    idle = np.zeros(len(at), dtype=bool)
    if np.count_nonzero(pushed) > 1 and np.any(pushed & ends) and not c.rubs_at(at):
        rows = c.seen.gap_jacobian[at]
        spare = sorted(np.flatnonzero(pushed & ends).tolist(), key=lambda i: bool(late[at[i]]))
        idle = pushed & (lighten(c.responses(rows) @ rows.T, np.where(pushed, found[0], 0.0), spare) <= least)
    level = LEVEL * (np.abs(c.seen.gap_jacobian[at]) @ np.abs(c.free()) + np.abs(c.seen.gap_bias[at]))
    left_out: list[int] = at[idle | (~pushed & (np.abs(found[1][at]) <= level))].tolist()
    return Hit(c.on(at[pushed & ~idle].tolist()), idle=tuple(c.names[k][0] for k in left_out))


def _pressed(c: Instant, at: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """λ and g̈; where friction has no answer, those without it: what sticks and slips is found next, and says so. What
    sticks in a joint may have to give way."""
    found = c.pressed(at)
    if found is None:
        found = c.pressed(at, friction=False)
    return c.loosened().pressed(at, friction=False) if found is None else found


def hit(
    d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], closing: tuple[str, int] | None = None
) -> Hit:
    """The impact of all gaps that close, on the velocities in x; then what comes to rest.

    Args:
        closing: constraint and side of the gap that is known to close: what a loose tolerance leaves between the place
            where its event was found and the constraints may be more than gaps may have that are closed.
    """
    c = Instant(d, t, x, parameters, impact=True)
    known = np.array([name == closing for name in c.names])
    c.near |= known
    fresh = np.array([not parameters.get(d.flat.switches[name]) for name, _ in c.names])
    c.still &= ~(known & fresh & (c.rate < 0))  # however slowly it closes: all may be as slow
    at = np.flatnonzero(c.near & ((c.rate < 0) | c.still))
    start, e = c.u.copy(), c.seen.restitution[at]
    collision = Collision(c, at)
    rest, bounces = np.zeros(len(at), dtype=bool), np.zeros(len(at))
    while True:
        done = collision.solve(np.where(rest, 0.0, e))
        if done is None:
            return Hit(parameters, trouble=NO_SOLUTION)
        c.u[:] = start + done.change
        again = Instant(d, t, x, _rubbing(d, t, x, parameters))
        bounces_on = (known & fresh)[at] & (collision.coming < 0) & (np.where(rest, 0.0, e) > 0)
        again.still[at] &= ~(bounces_on & (again.rate[at] > -BOUNCED * collision.coming))
        held = np.flatnonzero((again.near | known) & again.still)
        found = _pressed(again, held)
        if found is None:
            return Hit(parameters, trouble=NO_SOLUTION)
        after = _closed(again, held, found, fresh)
        single, left, height = _flights(again.rate[at], found[1][at], e)
        short = (left < REST * (1.0 + abs(t))) | (single < SHORTEST * (1.0 + abs(t)))
        short |= height < LOWEST * d.even.gaps[at]
        new = short & ~rest & ~again.still[at]
        if not new.any():
            break
        rest |= new
        bounces[new] = np.where(np.isfinite(left), left, single)[new]  # what loses nothing in impacts is halted, too
        collision.halt(new & (e * collision.coming == 0.0))
    stopped = tuple(
        (c.names[k][0], float(bounces[i]))
        for i, k in enumerate(at)
        if after.parameters[d.flat.switches[c.names[k][0]]] and collision.coming[i] < 0
    )
    c.u[:], end = start, c.u.copy()
    lost = -c.kinetic_change(end - start)
    c.u[:] = end
    values = _switched(d, parameters, after.parameters)
    gentle = bool(np.abs((end - start) / d.even.velocities).max(initial=0.0) <= STILL * c.speed)
    # What touched without load was hit a little late: it may come back before its gap is zero.
    late = [c.names[k][0] for k in at if c.gap[k] < -0.25 * c.closed[k] and not values[d.flat.switches[c.names[k][0]]]]
    idle = tuple(dict.fromkeys((*after.idle, *late)))
    return replace(
        after, parameters=values, idle=idle, lost=lost, taken=done.taken, kept=done.kept, rest=stopped, gentle=gentle
    )


def _flights(rate: np.ndarray, acceleration: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How long the next flight takes, and all flights to come together, and how high the next one is; infinite where
    nothing pulls back."""
    back = (acceleration < 0) & (rate > 0)
    first = np.where(back, 2.0 * rate / np.where(back, -acceleration, 1.0), np.inf)
    height = np.where(back, 0.25 * rate * np.where(back, first, 0.0), np.inf)
    return first, np.where(e < 1, first / np.where(e < 1, 1.0 - e, 1.0), np.inf), height


def begin_contacts(d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float]) -> Hit:
    """What is closed at the start; gaps that close there are hit at once."""
    c = Instant(d, t, x, parameters)
    worst = int(np.argmin(c.gap / c.closed))
    if c.gap[worst] < -c.closed[worst]:
        return Hit(
            parameters,
            trouble=f"{c.names[worst][0]!r} is {-c.gap[worst]:.3g} beyond its limit at the start.  Fix: another "
            f"initial position, e.g. model.initial(joint, value)",
        )
    if np.any(c.near & (c.rate < 0) & ~c.still):
        return hit(d, t, x, parameters)
    return settle(d, t, x, parameters)
