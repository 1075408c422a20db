"""Natural coordinates in an algebra: poses linear in q, a constant mass matrix, forces on points and vectors.

Legend (c a cluster, features of its basis: point o, directions d₁ d₂ d₃, of which d₃ may be z × d₂):
    D = [d₁ d₂ d₃]   in the world;   B the same in the frame of c      o_c  the point in the frame of c
    R = D B⁻¹, p = o − R o_c         pose of c                         m, h, J  mass, ∫x dm, ∫x xᵀ dm of a body
    F_R (3×3), F_p (3)               forces on the entries of R and p: power = tr(F_Rᵀ Ṙ) + F_pᵀ ṗ

Reference: docs/theory/natural-coordinates.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import Algebra, Jets
from dalembert.coordinates.base import PlainKinematics
from dalembert.joints.base import axis_frame
from dalembert.model import Mechanism
from dalembert.spatial import Pose, RigidInertia
from dalembert.spatial.so3 import cross, hat
from dalembert.tree import InverseDerivatives
from dalembert.tree.recursions import gravity_base

if TYPE_CHECKING:
    from dalembert.coordinates.natural import NaturalCoordinates

__all__ = ["NaturalKinematics", "NaturalState"]


@dataclass(frozen=True)
class NaturalLink:
    """One body: inertia about its own origin and its moment ∫x xᵀ dm, and its pose X_CB in its cluster."""

    body: str
    cluster: int
    X_CB: Pose
    inertia: RigidInertia
    J: np.ndarray
    X_LB: Pose
    armature: None = None


@dataclass(frozen=True)
class NaturalState:
    """A body in motion: R and p with their first and second derivatives, all linear in q, u, u̇.

    On the constraints R is a rotation. Off them everything here is still smooth, and rates are exact derivatives.
    """

    al: Algebra
    R: np.ndarray
    p: np.ndarray
    R1: np.ndarray
    p1: np.ndarray
    R2: np.ndarray
    p2: np.ndarray

    @property
    def X_WB(self) -> Pose:
        return Pose(self.R, self.p)

    @property
    def X_WL(self) -> Pose:
        return Pose(self.R, self.p)

    @property
    def V(self) -> np.ndarray:
        """ω̂ = skew part of RᵀṘ,  v = Rᵀṗ."""
        return self.al.concatenate([self._turning(self.R1), self.R.T @ self.p1])

    @property
    def A(self) -> np.ndarray:
        """ω̇̂ = skew part of RᵀR̈,  v̇ = Ṙᵀṗ + Rᵀp̈."""
        return self.al.concatenate([self._turning(self.R2), self.R1.T @ self.p1 + self.R.T @ self.p2])

    V_L, A_L = V, A

    def _turning(self, rate: np.ndarray) -> np.ndarray:
        x, y, z = self.R.T
        a, b, c = rate.T
        return self.al.array([z @ b - y @ c, x @ c - z @ a, y @ a - x @ b]) / 2

    def jets(self, jets: Jets) -> tuple[Pose, np.ndarray]:
        pose = Pose(jets.jets(self.R, self.R1, self.R2), jets.jets(self.p, self.p1, self.p2))
        return pose, jets.jets(self.V, self.A, self.al.zeros(6))


class NaturalKinematics(PlainKinematics):
    """Points and vectors in an algebra."""

    coordinates: NaturalCoordinates
    links: list[NaturalLink]

    def __init__(self, coordinates: NaturalCoordinates, mechanism: Mechanism):
        super().__init__(coordinates, mechanism)
        al = self.al
        self.clusters, self.features = coordinates.clusters, coordinates.features
        frames = coordinates.frames(mechanism)
        index = {body: i for i, cluster in enumerate(self.clusters) for body in cluster.bodies}
        self.links, self.index = [], {"ground": -1}
        for body in coordinates.bodies:
            inertia = mechanism.inertia(body).about_origin(al)
            J = np.trace(inertia.A) / 2 * al.eye(3) - inertia.A
            link = NaturalLink(body, index[body], frames[body], inertia, J, Pose.identity(al))
            self.index[body] = len(self.links)
            self.links.append(link)
        self.local = coordinates.placed_features(mechanism)
        # Of the ground, cluster 0, there is neither.
        directions = [self._directions(i) for i in range(1, len(self.clusters))]
        self._B: list[Any] = [None, *directions]
        self._inverse: list[Any] = [None, *(_inverse(B) for B in directions)]

    def _directions(self, i: int) -> np.ndarray:
        """B: the directions of the basis in the frame of a cluster."""
        origin, *others = self.clusters[i].basis
        points = [self.features[k].is_point for k in others]
        parts = [
            self.local[k][i] - self.local[origin][i] if is_point else self.local[k][i]
            for k, is_point in zip(others, points, strict=True)
        ]
        turn = self.clusters[i].turn
        return np.stack(parts if turn is None else [*parts, cross(parts[turn[0]], parts[turn[1]])], axis=1)

    # Poses

    def _value(
        self, k: int, x: np.ndarray, poses: list[tuple[np.ndarray, np.ndarray]], rates: bool = False
    ) -> np.ndarray:
        """A feature in the world."""
        feature = self.features[k]
        if feature.at is not None and feature.level is None:
            return x[feature.at]
        if feature.at is not None:
            value = np.empty(3, dtype=x.dtype)
            value[feature.axes] = x[feature.at]
            value[feature.level] = 0 * x[feature.at.start] + (0 if rates else self._heights[k])
            return value
        assert feature.home is not None
        R, p = poses[feature.home]
        value = R @ self.local[k][feature.home]
        return value + p if feature.is_point else value

    def _world(
        self, al: Algebra, x: np.ndarray, rates: bool = False
    ) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[list[np.ndarray]]]:
        """Poses (R, p) of all clusters, linear in x, and their directions; for rates the ground stands still."""
        poses = [(al.zeros(3, 3) if rates else al.eye(3), al.zeros(3))]
        directions: list[list[np.ndarray]] = [[]]
        for i in range(1, len(self.clusters)):
            origin, *others = self.clusters[i].basis
            o = self._value(origin, x, poses, rates)
            d = [self._value(k, x, poses, rates) for k in others]
            d = [v - o if self.features[k].is_point else v for k, v in zip(others, d, strict=True)]
            turn = self.clusters[i].turn
            if turn is not None:
                d.append(-cross(d[turn[1]], self.local[others[turn[0]]][0]))
            R = np.stack(d, axis=1) @ self._inverse[i]
            poses.append((R, o - R @ self.local[origin][i]))
            directions.append(d)
        return poses, directions

    def states(self, q: np.ndarray, u: np.ndarray, du: np.ndarray | None = None, base: Any = None) -> list[Any]:
        al, nv = self.al, self.coordinates.nv
        place, rate = self._world(al, q[:nv])[0], self._world(al, u, rates=True)[0]
        acceleration = self._world(al, al.zeros(nv) if du is None else du, rates=True)[0]
        return [self._state(link, place, rate, acceleration, base) for link in self.links]

    def _state(self, link: NaturalLink, place: Any, rate: Any, acceleration: Any, base: Any = None) -> NaturalState:
        parts: list[np.ndarray] = []
        for R, p in (place[link.cluster], rate[link.cluster], acceleration[link.cluster]):
            parts += [R @ link.X_CB.R, p + R @ link.X_CB.p]
        if base is not None:
            parts[5] = parts[5] + base[3:]
        return NaturalState(self.al, *parts)

    def accelerated(self, states: list[NaturalState], x: np.ndarray) -> list[NaturalState]:
        """The same motion with other accelerations of the clusters: twelve numbers R̈, p̈ for each."""
        parts = [(part[:9].reshape(3, 3), part[9:]) for part in x.reshape(-1, 12)]
        found: list[NaturalState] = []
        for link, s in zip(self.links, states, strict=True):
            R, p = parts[link.cluster]
            found.append(NaturalState(self.al, s.R, s.p, s.R1, s.p1, R @ link.X_CB.R, p + R @ link.X_CB.p))
        return found

    def fill(self, q: np.ndarray, u: np.ndarray, body: Callable[[str], Any], joint: Callable[[str], Any]) -> None:
        for k, feature in enumerate(self.features):
            if feature.at is None:
                continue
            i = next(iter(feature.on))
            X, V = body(self.clusters[i].bodies[0])
            place = self.local[k][i]
            q[feature.at] = (X.R @ place + X.p * feature.is_point)[feature.axes]
            u[feature.at] = (X.R @ (cross(V[:3], place) + V[3:] * feature.is_point))[feature.axes]

    # What keeps bodies rigid

    def rigid(self, al: Algebra, q: np.ndarray) -> list[tuple[str, list[Any]]]:
        """Lengths and angles of each basis, and features that have their place on a cluster beside it:

        (d_i · d_j − b_i · b_j)/s = 0,      x − (R x_c + p) = 0  (points),      (R a) · v = 0  (vectors, a ⟂ v_c)
        """
        poses, directions = self._world(al, q)
        found: list[tuple[str, list[Any]]] = []
        for i, cluster in enumerate(self.clusters[1:], start=1):
            R, p = poses[i]
            d, B = directions[i], self._B[i]
            values: list[Any] = [(d[m] @ d[n] - B[:, m] @ B[:, n]) / self._scale(i, m, n) for m, n in cluster.pairs]
            for k in cluster.fits:
                x = self._value(k, q, poses)
                if self.features[k].is_point:
                    missed = x - R @ self.local[k][i] - p
                    level = cluster.level if self.coordinates.fits_level(i, k) else None
                    values += [missed[axis] for axis in range(3) if axis != level]
                else:
                    values += [(R @ a) @ x for a in self._across[k, i]]
            if values:
                found.append((cluster.bodies[0], values))
        return found

    @cached_property
    def _heights(self) -> dict[int, Any]:
        """The entries of features that are constants and no unknowns."""
        heights = self.coordinates.height
        return {k: heights(k, f.level, self.local) for k, f in enumerate(self.features) if f.level is not None}

    def _scale(self, i: int, m: int, n: int) -> float:
        """With it gradients are about 1 and residuals lengths (of vectors: angles)."""
        lengths = self.clusters[i].lengths
        return 2 * lengths[m] if m == n else max(lengths[m], lengths[n])

    @cached_property
    def _across(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
        """Two directions across each vector that has to fit a cluster, in the frame of the cluster."""
        nominal = self.coordinates.nominal_features
        found: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        for i, cluster in enumerate(self.clusters):
            for k in cluster.fits:
                if not self.features[k].is_point:
                    frame = axis_frame(self.al, self.local[k][i], nominal[k][i])
                    found[k, i] = (frame[:, 0], frame[:, 1])
        return found

    # Dynamics

    def _needed(self, states: list[NaturalState], wrenches: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Forces on (R, p) of the clusters that accelerations need, less what wrenches give:

        F_p = m p̈ + R̈ h − R f,      F_R = p̈ hᵀ + R̈ J − ½ R n̂
        """
        forces = [(self.al.zeros(3, 3), self.al.zeros(3)) for _ in self.clusters]
        for link, s, wrench in zip(self.links, states, wrenches, strict=True):
            I, f = link.inertia, s.R @ wrench[3:]
            F_p = I.mass * s.p2 + s.R2 @ I.h - f
            F_R = np.outer(s.p2, I.h) + s.R2 @ link.J - s.R @ hat(self.al, wrench[:3]) / 2
            R, p = forces[link.cluster]
            forces[link.cluster] = (R + F_R @ link.X_CB.R.T + np.outer(F_p, link.X_CB.p), p + F_p)
        return forces

    def _onto_features(
        self,
        forces: list[tuple[np.ndarray, np.ndarray]],
        on_features: dict[tuple[int, int], np.ndarray] | None = None,
        directions: list[list[np.ndarray]] | None = None,
    ) -> np.ndarray:
        """Forces on (R, p) of the clusters as forces on the coordinates, from the last cluster to the first.

        Args:
            on_features: forces that features feel from some clusters beforehand; completed on the way.
            directions: in the world, if forces on the ground are wanted too.
        """
        forces, on_features = list(forces), {} if on_features is None else on_features
        Q = self.al.zeros(self.coordinates.nv)
        for i in reversed(range(1, len(self.clusters))):
            origin, *others = self.clusters[i].basis
            F_R, F_p = forces[i]
            H = list(((F_R - np.outer(F_p, self.local[origin][i])) @ self._inverse[i].T).T)
            turn = self.clusters[i].turn
            if turn is not None:
                # The power of F on a × d is that of F × a on d and of d × F on a.
                F = H.pop()
                H[turn[1]] = H[turn[1]] + cross(F, self.local[others[turn[0]]][0])
                if directions is not None:
                    H[turn[0]] = H[turn[0]] + cross(directions[i][turn[1]], F)
            for k, force in zip(others, H, strict=True):
                _add(on_features, (i, k), force)
                if self.features[k].is_point:
                    F_p = F_p - force
            _add(on_features, (i, origin), F_p)
            for k in [*self.clusters[i].basis, *self.clusters[i].fits]:
                feature = self.features[k]
                force, home = on_features.get((i, k)), feature.home
                assert home is not None
                if force is None:
                    continue
                if feature.at is not None:
                    Q[feature.at] = Q[feature.at] + force[feature.axes]
                else:
                    R, p = forces[home]
                    forces[home] = (R + np.outer(force, self.local[k][home]), p + force if feature.is_point else p)
        return Q

    @cached_property
    def _mass_matrix(self) -> np.ndarray:
        still, none = self.al.zeros(self.coordinates.nv), [self.al.zeros(6) for _ in self.links]
        at = self.al.zeros(self.coordinates.nq)
        return self.al.columns(lambda du: self.inverse_dynamics(self.states(at, still, du), none), len(still))

    def mass_matrix(self, states: list[Any]) -> np.ndarray:
        return self._mass_matrix

    def inverse_dynamics(self, states: list[Any], wrenches: list[np.ndarray]) -> np.ndarray:
        return self._onto_features(self._needed(states, wrenches))

    def momentum_rates(self, states: list[Any], q: np.ndarray, u: np.ndarray, wrenches: list[np.ndarray]) -> np.ndarray:
        # M is constant: momenta change by forces alone.
        return -self.inverse_dynamics(self.states(q, u, base=gravity_base(self.al, self.mechanism.gravity)), wrenches)

    def generalized_forces(self, states: list[Any], wrenches: list[np.ndarray]) -> np.ndarray:
        at_rest = [NaturalState(self.al, s.R, s.p, s.R1, s.p1, 0 * s.R2, 0 * s.p2) for s in states]
        return -self._onto_features(self._needed(at_rest, wrenches))

    def inverse_derivatives(self, q: np.ndarray, u: np.ndarray, du: np.ndarray, base: Any) -> InverseDerivatives:
        """Only u̇ has inertia:  τ = M u̇ + constants."""
        none = self.al.zeros(self.coordinates.nv, self.coordinates.nv)
        return InverseDerivatives(none, none, self._mass_matrix)

    def kinetic_energy(self, states: list[Any], u: np.ndarray) -> Any:
        """Σ ½ m ṗᵀṗ + ṗᵀṘ h + ½ tr(Ṙ J Ṙᵀ)."""
        energy = self.al.constant(0)
        for link, s in zip(self.links, states, strict=True):
            I = link.inertia
            energy = energy + I.mass * (s.p1 @ s.p1) / 2 + s.p1 @ (s.R1 @ I.h)
            energy = energy + np.sum(s.R1 * (s.R1 @ link.J)) / 2
        return energy

    # What passes through joints

    def passed(
        self, states: list[Any], wrenches: list[np.ndarray], forces: np.ndarray, multipliers: list[Any], q: np.ndarray
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Torque and force on the second body of each joint, about its point, through the features that it shares.

        Args:
            states: with accelerations, gravity included.
            forces: what other equations do to (R, p) of the clusters, twelve numbers each.
            multipliers: of the equations of ``rigid``.
        """
        poses, directions = self._world(self.al, q[: self.coordinates.nv])
        needed = self._needed(states, wrenches)
        given = [(part[:9].reshape(3, 3), part[9:]) for part in forces.reshape(-1, 12)]
        needed = [(R - G, p - g) for (R, p), (G, g) in zip(needed, given, strict=True)]
        on_features: dict[tuple[int, int], np.ndarray] = {}
        rest = iter(multipliers)
        for i, cluster in enumerate(self.clusters):
            for m, n in cluster.pairs:
                weight, d = next(rest) / self._scale(i, m, n), directions[i]
                for k, force in ((cluster.basis[1 + m], -weight * d[n]), (cluster.basis[1 + n], -weight * d[m])):
                    _add(on_features, (i, k), force)
                    if self.features[k].is_point:
                        _add(on_features, (i, cluster.basis[0]), -force)
            for k in cluster.fits:
                R, p = needed[i]
                if self.features[k].is_point:
                    force = self.al.array([next(rest) for _ in range(3)])
                    _add(on_features, (i, k), -force)
                    needed[i] = (R + np.outer(force, self.local[k][i]), p + force)
                else:
                    a = sum((next(rest) * a for a in self._across[k, i]), self.al.zeros(3))
                    _add(on_features, (i, k), -(poses[i][0] @ a))
                    needed[i] = (R - np.outer(self._value(k, q, poses), a), p)
        self._onto_features(needed, on_features, directions)
        return self._through_joints(on_features, q, poses)

    def _through_joints(
        self, on_features: dict[tuple[int, int], np.ndarray], q: np.ndarray, poses: Any
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Forces on a feature, split among the joints that share it: unique unless they form a loop, then the least."""
        found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for k, feature in enumerate(self.features):
            if not feature.joints:
                continue
            nodes = [i for i in feature.on if i != feature.home]
            share = self.coordinates.shares(feature)
            x = self._value(k, q, poses)
            for name, weights in zip(feature.joints, share, strict=True):
                terms = (
                    w * on_features[i, k] for w, i in zip(weights, nodes, strict=True) if w and (i, k) in on_features
                )
                force = sum(terms, self.al.zeros(3))
                n, f = found.get(name, (self.al.zeros(3), self.al.zeros(3)))
                found[name] = (n, f + force) if feature.is_point else (n + cross(x, force), f)
        return found


def _add(forces: dict[tuple[int, int], np.ndarray], key: tuple[int, int], force: np.ndarray) -> None:
    forces[key] = forces[key] + force if key in forces else force


def _inverse(B: np.ndarray) -> np.ndarray:
    """B⁻¹ of three directions b₁ b₂ b₃: rows b₂×b₃, b₃×b₁, b₁×b₂ over their volume."""
    a, b, c = B.T
    rows = np.stack([cross(b, c), cross(c, a), cross(a, b)])
    return rows / (a @ rows[0])
