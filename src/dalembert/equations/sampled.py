"""Functions of a mechanism at symbols, and as numbers at several positions: to tell what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.coordinates import Coordinates
from dalembert.equations.mechanism_equations import Equations
from dalembert.errors import ModelError

__all__ = ["Sampled", "symbolic"]

SAMPLES = 48
NEAR, NEWTON_STEPS, CLOSED = 6, 25, 1e-9  # how many closed states are looked for, and how
SPREAD = 0.3  # of sampled positions about the drawn one, where position constraints keep the mechanism close to it


def symbolic(coordinates: Coordinates, al: Algebra, symbol: Any = None) -> tuple[Equations, dict[str, Any]]:
    """The equations at symbols t, q, q̇ and parameters, in an algebra with symbols; and the parameters by name.

    Args:
        symbol: makes a symbol from its kind (``time``, ``q``, ``rate``, ``parameter``) and its name.
    """

    def plain(kind: str, name: str) -> Any:
        return al.symbol(f"d/dt {name}" if kind == "rate" else name)

    make: Callable[[str, str], Any] = symbol or plain
    names, rates = coordinates.labels()
    parameters = {name: make("parameter", name) for name in coordinates.flat.parameters}
    t, q = make("time", "t"), al.vector(make("q", name) for name in names)
    qd = al.vector(make("rate", name) for name in rates)
    return Equations(coordinates.place(al, parameters), t, q, qd), parameters


class Sampled:
    """Functions of a mechanism as numbers at sampled positions.

    Args:
        parameters: values instead of the model's.
    """

    def __init__(self, coordinates: Coordinates, seed: int = 0, parameters: Mapping[str, float] | None = None):
        self.equations, self.parameters = symbolic(coordinates, CASADI)
        self.given = {**coordinates.flat.parameters, **(parameters or {})}
        self.coordinates = coordinates
        self.rng = np.random.default_rng(seed)

    @cached_property
    def center(self) -> np.ndarray:
        """The neutral position; the drawn one where constraints are not defined there, as of ends of a cable that
        coincide when all coordinates are zero."""
        e, q = self.equations, self.coordinates.neutral()
        here = [(0.0, q, np.zeros(e.nv))]
        defined = all(
            np.isfinite(self.values(part, here, vary=False)).all() for part in (e.position_residual(), e.jacobian)
        )
        return q if defined else self.coordinates.drawn()

    def positions(self, close: bool) -> list[np.ndarray]:
        """The central position, then others around it; close to it, or anywhere."""
        q0 = self.center
        others = (
            self.rng.normal(0, SPREAD, (SAMPLES, len(q0))) if close else self.rng.uniform(-3, 3, (SAMPLES, len(q0)))
        )
        return [q0, *(q0 + other for other in others)]

    def at_rest(self) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """States (t, q, q̇) without motion: close to the drawn position if constraints hold the mechanism there."""
        e = self.equations
        holonomic = any(row.holonomic and not row.rigid for row in e.rows)
        return [(0.0, q, np.zeros(e.nv)) for q in self.positions(holonomic)]

    def defined(self, *functions: np.ndarray) -> list[np.ndarray]:
        """Functions at rest, at those of the sampled positions where all of them are finite.

        Raises:
            ModelError: there is none.
        """
        still = self.at_rest()
        seen = [self.values(function, still, vary=False) for function in functions]
        finite = np.all([np.isfinite(part).reshape(len(still), -1).all(axis=1) for part in seen], axis=0)
        if not finite.any():
            raise ModelError(
                "the constraints have no finite derivatives at any position near the drawn one.  Fix: look for a "
                "division by zero or a root of a negative number in them, such as points at no distance"
            )
        return [part[finite] for part in seen]

    def closed(self, several: bool = False) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """States (t, q, q̇) without motion in which position constraints hold: the drawn one, if they do there.

        Else some near it, each led there by the shortest way, which may be in other branches; if none is found, the
        drawn one as it is. ``several``: those near it in any case.
        """
        e = self.equations
        held = [i for i, row in enumerate(e.rows) if row.holonomic]
        # Neutral joints are not as drawn, where the frames of a joint are turned: their neighborhood may lie in another
        # branch, in which other rows are redundant.
        first = 0.0, self.coordinates.drawn(), np.zeros(e.nv)
        others = self.at_rest()
        found: list[tuple[float, np.ndarray, np.ndarray]] = []
        for t, q, u in (first, *others[:NEAR]):
            phi = np.full(len(held), np.inf)
            for _ in range(NEWTON_STEPS):
                phi, A = (self.values(part, [(t, q, u)], vary=False)[0] for part in (e.position_residual(), e.jacobian))
                if not np.all(np.isfinite(phi)) or np.abs(phi).max(initial=0.0) < CLOSED:
                    break
                if not np.all(np.isfinite(A)):
                    phi = np.full(len(held), np.inf)
                    break
                q = q.copy()  # windings at its end follow the others
                q[: e.nv] -= np.linalg.lstsq(A[: len(held)], phi, rcond=1e-9)[0]
            if np.abs(phi).max(initial=0.0) < CLOSED:
                found.append((t, q, u))
            if found and q is first[1] and not several:
                break
        return found or [first]

    def values(self, function: np.ndarray, states: Sequence[tuple[float, np.ndarray, np.ndarray]], vary: bool) -> Any:
        """A vector of functions at (t, q, q̇), nominal parameters or, if they ``vary``, others."""
        al, e = CASADI, self.equations
        inputs = [al.to_sx(part) for part in (e.t, e.q, e.u, al.vector(self.parameters.values()))]
        f = ca.Function("f", inputs, [al.to_sx(function)])
        given = np.array([self.given[name] for name in self.parameters], dtype=float)
        out: list[np.ndarray] = []
        for t, q, u in states:
            p = given * self.rng.uniform(0.7, 1.4, len(given)) + 0.1 * (given == 0) if vary else given
            out.append(np.asarray(f(t, q, u, p)).reshape(np.shape(function)))
        return np.array(out)
