"""Impacts with friction: the velocities after one, by Newton's or Poisson's restitution and Coulomb's law.

With the rates v = (ġ, s) of what touches and W = [J; S] M⁻¹ [J; S]ᵀ over all that the other constraints allow, impulses
Λ = (n, p) give v⁺ = v⁻ + W Λ. Coulomb's law holds between impulses and velocities after the impact.

    Newton     0 ≤ ġ⁺ + e ġ⁻  ⊥  n ≥ 0                                      (J. J. Moreau's form)
    Poisson    0 ≤ ġ′ ⊥ n′ ≥ 0  in compression,  0 ≤ ġ⁺ ⊥ n″ − e n′ ≥ 0  in expansion

What touches takes the energy  −½ (v⁺ + v⁻)ᵀ Λ.  With e = 0 that is never negative; with friction, or with different e
in one impact, either law may give energy. Then all e of the impact are lowered, by one factor, to where it takes none.

Reference: F. Pfeiffer, C. Glocker, "Multibody Dynamics with Unilateral Contacts" (1996), chapters 8, 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.analyses.contacts.coulomb import Rubs
from dalembert.analyses.contacts.instant import Instant

__all__ = ["Collided", "Collision"]

GAIN = 1e-14  # of the energies involved: less is rounding
HALVINGS = 50
NEARLY = 10.0  # times the velocity of what is halted: what moves no faster halts with it


@dataclass(frozen=True)
class Collided:
    """What an impact did.

    Attributes:
        change: of all velocities.
        taken: energy (J).
        kept: factor of all restitution, 1 unless that would have given energy.
    """

    change: np.ndarray
    taken: float
    kept: float = 1.0


class Collision:
    """An impact of those gaps that close or rest closed."""

    def __init__(self, c: Instant, at: np.ndarray):
        rubs, s = c.rubs_at(at), c.seen
        slips = c.slips_of(rubs)
        rows = np.vstack([s.gap_jacobian[at], s.slip_jacobian[slips]])
        self.moved = c.responses(rows)
        self.W, self.n = self.moved @ rows.T, len(at)
        self.before = np.concatenate([c.rate[at], c.slip[slips]])
        self.coming = c.rate[at] * np.where(c.still[at], 0.0, 1.0)
        self.law = Rubs.of([(gap, s.grip[i, 0], len(c.parts[i])) for i, gap in rubs])
        laws = {c.d.flat.constraints[c.names[k][0]][0].impact for k in at}
        self.poisson = "poisson" in laws
        self.halted = np.zeros(self.n, dtype=bool)

    def halt(self, gaps: np.ndarray) -> None:
        """Let these gaps stay closed whatever the law says: they would open for a moment that is too short to see, as
        those on either side of a block that rocks ever faster."""
        self.halted |= gaps

    def _stopped(self, impulse: np.ndarray) -> np.ndarray:
        """More impulses, so that what is halted, and what stood or stuck with it, does not move."""
        v, slow = self.before + self.W @ impulse, np.zeros(len(self.before), dtype=bool)
        slow[: self.n] = self.halted
        fast = float(np.abs(v[: self.n][self.halted]).max())
        slow |= np.abs(v) <= NEARLY * fast
        at = np.flatnonzero(slow)
        more = np.zeros(len(v))
        more[at] = np.linalg.lstsq(self.W[np.ix_(at, at)], -v[at], rcond=1e-12)[0]
        return impulse + more

    def solve(self, e: np.ndarray) -> Collided | None:
        """With this restitution of each gap; None if there is no solution."""
        found = self._by(e)
        if found is None:
            return None
        if found[1] >= 0.0:
            return Collided(self.moved.T @ found[0], found[1])
        low, high = 0.0, 1.0
        best = self._by(0.0 * e)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            tried = self._by(middle * e)
            if tried is not None and tried[1] >= 0.0:
                low, best = middle, tried
            else:
                high = middle
        return None if best is None else Collided(self.moved.T @ best[0], best[1], low)

    def _by(self, e: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Impulses and the energy taken."""
        impulse = self._poisson(e) if self.poisson else self._newton(e)
        if impulse is None:
            return None
        if self.halted.any():
            impulse = self._stopped(impulse)
        mean = 0.5 * (2.0 * self.before + self.W @ impulse)
        taken, size = -float(mean @ impulse), float(np.abs(self.before) @ np.abs(impulse))
        return impulse, taken if abs(taken) > GAIN * size else 0.0

    def _newton(self, e: np.ndarray) -> np.ndarray | None:
        rates = self.before.copy()
        rates[: self.n] += e * self.coming
        return self.law.solve(self.W, rates)

    def _poisson(self, e: np.ndarray) -> np.ndarray | None:
        pressed = self.law.solve(self.W, self.before)
        if pressed is None:
            return None
        released = self.law.solve(self.W, self.before + self.W @ pressed, e * pressed[: self.n])
        return None if released is None else pressed + released
