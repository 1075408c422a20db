"""One mechanism as analytical mechanics sees it: energies, constraints and quasi-velocities as functions to be
differentiated.

    T(t, q, q̇),  V(t, q),  Q(t, q, q̇)         energies, and generalized forces without potential
    a(t, q) q̇ + b(t, q) = 0                    r independent constraints
    u = Y(t, q) q̇ + Z(t, q)                    p = m − r quasi-velocities
    q̇ = W(t, q) u + X(t, q)                    from both together

Coordinates are ``generalized``: their velocities are the rates q̇ of m numbers q. The letters are those of
M. H. Yoosefian Nooshabadi, H. Nejat Pishkenari, "Development of an efficient formulation for Volterra's equations of
motion for multibody dynamical systems", sec. 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra.dense_solve import solve
from dalembert.equations.mechanism_equations import Equations
from dalembert.spatial.so3 import cross, hat

__all__ = ["Body", "Mechanics"]


@dataclass(frozen=True)
class Body:
    """A body that has mass: velocity v of its mass center and angular velocity ω, in axes that turn with it.

    Attributes:
        inertia: about the mass center, 3×3.
    """

    name: str
    mass: Any
    inertia: np.ndarray
    v: np.ndarray
    omega: np.ndarray

    @property
    def momentum(self) -> np.ndarray:
        """P = m v."""
        return self.mass * self.v

    @property
    def angular_momentum(self) -> np.ndarray:
        """H = I ω."""
        return self.inertia @ self.omega

    def seen(self, vector: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The rate of a vector, or of columns of them, seen from the ground: change of its components, and ω × it."""
        turned = np.empty_like(vector)
        for column in np.ndindex(vector.shape[1:]):
            turned[:, *column] = cross(self.omega, vector[:, *column])
        return change + turned


class Mechanics:
    """Functions of (t, q, q̇) of one mechanism, over an algebra with symbols.

    Args:
        equations: at symbols t, q and rates, which may be functions of other velocities.
        rows: the independent ones of its constraint rows.
        velocities: names, Y and Z of the quasi-velocities.
        tidy: what is done to each function before it is differentiated; to read, not to run.

    Attributes:
        m, r, p: numbers of coordinates, of constraints, of quasi-velocities.
    """

    def __init__(
        self,
        equations: Equations,
        rows: Sequence[int],
        velocities: tuple[list[str], np.ndarray, np.ndarray],
        tidy: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.equations, self.al = equations, equations.al
        self.t, self.q, self.qd = equations.t, equations.q, equations.u
        self.m, self.r = equations.nv, len(rows)
        self.p = self.m - self.r
        self.rows = list(rows)
        self.velocity_names, self.Y, self.Z = velocities
        self.tidy: Callable[[np.ndarray], np.ndarray] = tidy or _as_it_is

    def moving(self, rates: np.ndarray) -> Mechanics:
        """The same mechanism with other rates: functions of quasi-velocities, of momenta …"""
        e = self.equations
        other = Equations(e.tree, e.t, e.q, rates, e.tau)
        mechanics = Mechanics(other, self.rows, (self.velocity_names, self.Y, self.Z), self.tidy)
        # These know nothing of rates; where other rates are long expressions, they would be sought among them.
        mechanics.__dict__.update({"a": self.a, "b": self.b, "V": self.V})
        return mechanics

    @property
    def names(self) -> list[str]:
        """Of the coordinates."""
        return self.equations.tree.coordinates.labels()[1]

    @property
    def rate_names(self) -> list[str]:
        return [f"d/dt {name}" for name in self.names]

    # Energies and forces

    def _scalar(self, value: Any) -> Any:
        return self.tidy(self.al.vector([value]))[0]

    @cached_property
    def T(self) -> Any:
        """Kinetic energy."""
        return self._scalar(self.equations.kinetic_energy())

    @cached_property
    def V(self) -> Any:
        """Potential energy."""
        return self._scalar(self.equations.potential_energy())

    @cached_property
    def L(self) -> Any:
        """T − V."""
        return self.T - self.V

    @cached_property
    def Q(self) -> np.ndarray:
        """Generalized forces without potential, on all q̇."""
        return self.tidy(self.equations.work_forces())

    @cached_property
    def active(self) -> np.ndarray:
        """All generalized forces on q̇, those with potential among them."""
        return self.tidy(self.equations.active_forces())

    # Constraints and quasi-velocities

    @cached_property
    def a(self) -> np.ndarray:
        return self.tidy(self.equations.jacobian[self.rows])

    @cached_property
    def b(self) -> np.ndarray:
        return self.tidy(self.equations.velocity_bias[self.rows])

    @cached_property
    def gamma(self) -> np.ndarray:
        """ȧ q̇ + ḃ."""
        return self.along(self.a) @ self.qd + self.along(self.b)

    def rates_from(self, rows: np.ndarray, right: np.ndarray) -> np.ndarray:
        """q̇ from m linear equations, such as  [Y; a] q̇ = [u − Z; −b]."""
        return self.tidy(solve(self.al, rows, right))

    def rates(self, u: np.ndarray) -> np.ndarray:
        """q̇ = W u + X."""
        stacked = np.concatenate([self.Y, self.a])
        return self.rates_from(stacked, self.al.concatenate([u - self.Z, -self.b]))

    # Bodies

    @cached_property
    def bodies(self) -> list[Body]:
        """All bodies that have mass or inertia."""
        found: list[Body] = []
        al = self.al
        for link, state in zip(self.equations.tree.links, self.equations.states, strict=True):
            inertia, (w, v) = link.inertia, (state.V_L[:3], state.V_L[3:])
            if al.value(inertia.mass) == 0:
                if all(al.value(entry) == 0 for entry in inertia.A.reshape(-1)):
                    continue
                center, central = al.zeros(3), inertia.A
            else:
                center = inertia.h / inertia.mass
                arm = hat(al, center)
                central = inertia.A + inertia.mass * (arm @ arm)
            parts = (central, v + cross(w, center), w)
            found.append(Body(link.body, inertia.mass, *(self.tidy(part) for part in parts)))
        return found

    def rotor_terms(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What armatures add to  K u̇ + h:  for speeds s(t, q, u),  a (∂s/∂u)ᵀ ṡ."""
        al, n = self.al, len(u)
        K, h = al.zeros(n, n), al.zeros(n)
        for joint, a, speed in self.equations.rotors():
            partial = al.jacobian(speed, u)
            K = K + a * (partial.T @ partial)
            h = h + a * (partial.T @ joint.rotor_rate(al, speed, self.along(speed)))
        return K, h

    # Derivatives

    def along(self, values: np.ndarray) -> np.ndarray:
        """The rate of functions of (t, q), and of velocities that are held, along the motion."""
        return self.equations.along(values)

    def by_q(self, value: Any) -> np.ndarray:
        """∂/∂q."""
        return self.al.gradient(value, self.q[: self.m])

    def affine(self, values: np.ndarray, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J and c of functions  J x + c  of symbols x."""
        zeros = self.al.zeros(len(symbols))
        return self.al.jacobian(values, symbols), self.al.substitute(values, symbols, zeros)


def _as_it_is(values: np.ndarray) -> np.ndarray:
    return values
