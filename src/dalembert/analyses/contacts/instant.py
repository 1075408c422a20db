"""What touches at one instant: gaps and slips, and how impulses and forces there change their rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analyses.contacts.coulomb import Rubs
from dalembert.dynamics import Dynamics
from dalembert.dynamics.gaps import closed_gaps
from dalembert.dynamics.impulses import impulse_responses
from dalembert.errors import SimulationError
from dalembert.numerics.linear import solve_constrained

__all__ = ["STILL", "Instant"]

# A closed gap stays so if its rate (in its unit per second, against the fastest velocity) is not larger than this.
STILL = 1e-9


class Instant:
    """All gaps at one state, with every contact open and nothing rubbing in contacts.

    Args:
        x: (q, u, …); later changes of u are seen after ``look``.
        impact: friction in joints that sticks does not hold either: it gives forces, no impulses.

    Attributes:
        gap, rate: of each of the ``names`` (constraint, side).
        near, still: which of them are closed, and which do not move; ``closed``: how small gaps are that are closed.
        slip: velocities of all friction, in each of its directions: ``parts``.
    """

    _free: np.ndarray | None

    def __init__(self, d: Dynamics, t: float, x: np.ndarray, parameters: dict[str, float], impact: bool = False):
        self.d, self.t, self.q, self.u, self.x = d, t, x[: d.nq], x[d.nq : d.nq + d.nv], x
        flat = d.flat
        self.parameters = {**parameters, **{flat.switches[name]: 0.0 for name in flat.contacts}}
        rubs = [(name, flat.constraints[name][0].touches) for name in flat.frictions]
        self.rubs = [(i, touched) for i, (_, touched) in enumerate(rubs) if touched is not None]
        for name, touched in rubs:
            if touched is not None or impact:
                friction, _ = flat.constraints[name]
                self.parameters |= {flat.switches[name]: 0.0, **dict.fromkeys(friction.parameters(), 0.0)}
        self.parts: list[np.ndarray] = [np.arange(at.start, at.stop) for at in flat.slip_parts]
        self.names = flat.gap_names
        self.look()

    def look(self) -> None:
        """Evaluate everything at the present velocities."""
        d, self._free = self.d, None
        self.seen: Any = d.kernels.touch_kernel(self.t, self.q, self.u, d.parameters(self.parameters), np.zeros(d.nv))
        lost = ~np.isfinite(self.seen.gap + self.seen.gap_rate + self.seen.gap_jacobian.sum(axis=1))
        if lost.any():
            name = self.names[int(np.argmax(lost))][0]
            raise SimulationError(
                f"the gap of {name!r} has no finite value or slope at t = {self.t:.6g} s: the surfaces are concentric "
                f"there, or a formula has none.  Fix: another initial position, or look at the formula of its surface"
            )
        self.gap, self.rate, self.slip = self.seen.gap, self.seen.gap_rate, self.seen.slip
        self.speed = 1.0 + np.abs(self.u / d.even.velocities).max(initial=0.0)
        self.closed = closed_gaps(d)
        self.near = np.abs(self.gap) <= self.closed
        self.still = np.abs(self.rate) <= STILL * self.speed * d.even.gaps

    def loosened(self) -> Instant:
        """The same with nothing that rubs."""
        return Instant(self.d, self.t, self.x, self.parameters, impact=True)

    def on(self, closed: Any) -> dict[str, float]:
        """Parameters with some of the gaps closed."""
        switches = self.d.flat.switches
        return {**self.parameters, **{switches[self.names[k][0]]: self.names[k][1] + 1.0 for k in closed}}

    def kinetic_change(self, du: np.ndarray) -> float:
        """By which the kinetic energy would grow if velocities jumped by this."""
        if self.d.coordinates.rheonomic:
            before, after = (
                float(np.sum(self.d.energy(self.q, u, t=self.t, parameters=self.parameters)[0]))
                for u in (self.u, self.u + du)
            )
            return after - before
        return float((self.u + 0.5 * du) @ self.seen.mass_matrix @ du)

    def responses(self, rows: np.ndarray) -> np.ndarray:
        """M⁻¹ rowsᵀ along what the other constraints allow, one row for each."""
        found = np.zeros((len(rows), self.d.nv))
        impulse_responses(self.seen.mass_matrix, self.seen.jacobian, np.ascontiguousarray(rows), found)
        return found

    def free(self) -> np.ndarray:
        """u̇ with every contact open."""
        if self._free is None:
            s, self._free = self.seen, np.zeros(self.d.nv)
            solve_constrained(s.mass_matrix, s.forcing, s.jacobian, s.gamma, self._free, np.zeros(len(s.jacobian)))
        return self._free

    def rubs_at(self, at: np.ndarray) -> list[tuple[int, int]]:
        """Friction of those gaps: its number, and the place of its gap among them."""
        place = {self.names[int(k)][0]: i for i, k in enumerate(at.tolist())}
        return [(i, place[contact]) for i, contact in self.rubs if contact in place]

    def slips_of(self, rubs: list[tuple[int, int]]) -> np.ndarray:
        """Rows of all their directions."""
        return np.concatenate([np.zeros(0, dtype=int), *(self.parts[i] for i, _ in rubs)])

    def pressed(self, at: np.ndarray, friction: bool = True) -> tuple[np.ndarray, np.ndarray] | None:
        """λ and g̈ of those gaps that are closed; None if there is no solution. The other gaps stay open.

        Coulomb's law holds in them: what slips does so against μ λ, what does not sticks if μ₀ λ is enough.
        """
        s, free = self.seen, self.free()
        a = s.gap_jacobian @ free + s.gap_bias
        if not len(at):
            return np.zeros(0), a
        rubs = self.rubs_at(at) if friction else []
        slips = self.slips_of(rubs)
        rows = np.vstack([s.gap_jacobian[at], s.slip_jacobian[slips]])
        moved = self.responses(rows)
        W, n = moved @ rows.T, len(at)
        b = s.slip_jacobian[slips] @ free + s.slip_bias[slips]
        # The force of what slips follows that of its gap, and is there without load, too.
        follows, unloaded, keep, sticking = np.eye(len(rows)), np.zeros(len(rows)), list(range(n)), list[Any]()
        place = n
        for i, gap in rubs:
            v, own = self.slip[self.parts[i]], slice(place, place + len(self.parts[i]))
            place = own.stop
            speed = float(np.linalg.norm(v))
            if speed > STILL * self.speed * self.d.even.length:
                follows[own, gap] = -v / speed * s.grip[i, 0]
                unloaded[own] = -v / speed * s.rest[i]
            else:
                sticking.append((gap, s.grip[i, 1], len(v)))
                keep.extend(range(own.start, own.stop))
        follows = follows[:, keep]
        rates = (np.concatenate([a[at], b]) + W @ unloaded)[keep]
        force = Rubs.of(sticking).solve((W @ follows)[keep], rates)
        if force is None:
            return None
        return force[:n], a + s.gap_jacobian @ (moved.T @ (follows @ force + unloaded))

    def size(self) -> float:
        """Of forces of inertia, to which others are compared."""
        return 1e-300 + float(np.abs(self.seen.mass_matrix @ self.free()).max(initial=0.0))
