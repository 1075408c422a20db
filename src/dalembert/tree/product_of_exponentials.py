"""Lie-group closed forms of the tree dynamics: products of exponentials of joint screws.

A second road to M, C and h that shares with the recursions only the data of the model. All joint screws are
written in one frame, the world in the reference configuration, where every coordinate is neutral; derivatives
are Lie brackets of the Jacobian's own columns. Equation numbers are those of ``docs/theory/lie-group.md``.

Legend (k a body, a, b, c velocities):
    Y    joint screws in the world frame, reference configuration      m_k  pose of body k there
    Q_i  motion of the i-th factor on the way from the ground to k     C_k  pose of body k = Q_1 … Q_n m_k
    K_a  screw of velocity a in axes of body k, V = Σ K_a u_a          J    inertia of k about its own origin
    W_a  what the factors after a add to the twist V                   S    Binet's tensor Σ m x xᵀ of k

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody
systems", Strojarstvo 51 (2009) 597-612, secs. 2-4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.dense_solve import solve_spd
from dalembert.spatial import Inertia, Pose, RigidInertia
from dalembert.spatial.pose import cross_motion
from dalembert.spatial.so3 import cross
from dalembert.tree.link import Tree
from dalembert.tree.screws import CurvedMotion, Motion, ScrewMotion, SubgroupMotion, joint_motions

__all__ = ["CurvedMotion", "LieGroupTree", "Motion", "ScrewBody", "ScrewMotion", "SubgroupMotion"]


@dataclass(frozen=True)
class ScrewBody:
    """One body of the tree as a drawing gives it.

    Attributes:
        parent: index of the parent body, −1 for the ground.
        motions: factors of its joint, parent's side first, in the world frame of the reference configuration.
        reference: m_k, the pose of the body's frame there; the identity if no body frame was drawn.
        inertia: in the body's frame; with m_k = 1 that is: in world axes, as drawn.
    """

    name: str
    parent: int
    motions: tuple[Motion, ...]
    reference: Pose
    inertia: Inertia


@dataclass(frozen=True)
class _Node:
    """A body prepared for evaluation: everything in the body's own frame.

    Attributes:
        X_PB: pose in the parent's frame, reference configuration.
        binet: S = Σ m x xᵀ = ½ tr(A) 1 − A.
    """

    parent: int
    X_PB: Pose
    motions: tuple[Motion, ...]
    inertia: RigidInertia
    binet: np.ndarray


@dataclass(frozen=True)
class _Step:
    """The columns of one factor, in the axes of the body at the end of the path.

    Attributes:
        changes: [b][a], how column a changes with the factor's own coordinate b; None in a subgroup.
    """

    u: slice
    fixed_axes: bool
    columns: tuple[np.ndarray, ...]
    changes: tuple[tuple[np.ndarray, ...], ...] | None = None

    @classmethod
    def of(cls, al: Algebra, motion: Motion, q: np.ndarray) -> _Step:
        changes = motion.changes(al, q)
        if changes is not None:
            changes = tuple(tuple(along.T) for along in np.moveaxis(changes, 2, 0))
        return cls(motion.u, motion.fixed_axes, tuple(motion.columns(al, q).T), changes)

    def carried(self, X: Pose) -> _Step:
        """The same screws beyond a motion X:  K ← Ad(X⁻¹) K."""
        columns = tuple(X.motion_inverse(column) for column in self.columns)
        if self.changes is None:
            return replace(self, columns=columns)
        changes = tuple(tuple(X.motion_inverse(change) for change in along) for along in self.changes)
        return replace(self, columns=columns, changes=changes)

    def own_rates(self, u: np.ndarray) -> list[Any] | None:
        """Σ_b ∂_b K_a u_b over the factor's own coordinates, for each column; None in a subgroup."""
        if self.changes is None:
            return None
        k = range(len(self.columns))
        return [sum(self.changes[b][a] * u[self.u.start + b] for b in k) for a in k]


@dataclass(frozen=True)
class _Placed:
    """A body in its configuration: world pose, pose in the parent, and the factors on the way to it."""

    X_WB: Pose
    X_PB: Pose
    path: tuple[_Step, ...]
    own: int

    def screws(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """(index of the factor, velocity a, K_a) along the path."""
        for i, step in enumerate(self.path):
            for j, column in enumerate(step.columns):
                yield i, step.u.start + j, column

    def moves(self, i: int, j: int) -> bool:
        """Whether the factor j of the path turns the screws of factor i."""
        return i < j or (i == j and self.path[i].fixed_axes)

    def derivatives(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """(a, b, ∂_b K_a) where it does not vanish:  [K_a, K_b] if b moves a, and the changes of curved motions."""
        for i, a, K_a in self.screws():
            for j, b, K_b in self.screws():
                if self.moves(i, j):
                    yield a, b, cross_motion(K_a, K_b)
                elif i == j and (changes := self.path[i].changes) is not None:
                    yield a, b, changes[b - self.path[i].u.start][a - self.path[i].u.start]

    def twist(self, al: Algebra, u: np.ndarray) -> np.ndarray:
        """V = Σ K_a u_a."""
        return sum((column * u[a] for _, a, column in self.screws()), al.zeros(6))

    def beyond(self, al: Algebra, u: np.ndarray) -> list[tuple[_Step, np.ndarray, np.ndarray]]:
        """For each factor: its own twist Σ K_a u_a, and W, the twist of all factors that turn its screws."""
        W = al.zeros(6)
        found: list[tuple[_Step, np.ndarray, np.ndarray]] = []
        for step in reversed(self.path):
            own = sum((column * u[step.u.start + j] for j, column in enumerate(step.columns)), al.zeros(6))
            found.append((step, own, W + own if step.fixed_axes else W))
            W = W + own
        return found[::-1]

    def turning(self, al: Algebra, u: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray, Any]]:
        """(a, K_a, W_a, D_a), so that  K̇_a = [K_a, W_a] + D_a;  D_a is None in a subgroup."""
        for step, _, W in self.beyond(al, u):
            rates = step.own_rates(u)
            for j, column in enumerate(step.columns):
                yield step.u.start + j, column, W, None if rates is None else rates[j]

    def acceleration(self, al: Algebra, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V and K̇ u."""
        V, A = al.zeros(6), al.zeros(6)
        for step, own, W in self.beyond(al, u):
            V, A = V + own, A + cross_motion(own, W)
            for j, rate in enumerate(step.own_rates(u) or ()):
                A = A + rate * u[step.u.start + j]
        return V, A


def _rate(K: np.ndarray, W: np.ndarray, D: Any) -> np.ndarray:
    """K̇ = [K, W] + D."""
    return cross_motion(K, W) if D is None else cross_motion(K, W) + D


class LieGroupTree:
    """The dynamics of a tree from its joint screws alone, in closed form.

        M(q) u̇ + C(q, u) u + g(q) = Q,      h = C u + g

    Twists and Jacobians are in body axes about the body's origin, bodies as in ``names``. Velocities may
    be quasi-velocities (spherical and free joints): ∂_b is then the derivative along the motion u = e_b,
    and the Christoffel symbols are those of the frame of fields e_a, with its structure coefficients.

    Args:
        bodies: parents first.
        gravity: in the world frame (m/s²).
    """

    def __init__(self, al: Algebra, bodies: Sequence[ScrewBody], gravity: np.ndarray):
        self.al, self.bodies, self.gravity = al, tuple(bodies), gravity
        self.names = [body.name for body in bodies]
        self.nv = max((motion.u.stop for body in bodies for motion in body.motions), default=0)
        self._nodes = [self._prepare(body) for body in bodies]

    @classmethod
    def from_tree(cls, tree: Tree) -> LieGroupTree:
        """The screws of a model. Its reference configuration is where all coordinates are neutral.

        That is the drawing, unless a joint was drawn with ``reference`` coordinates or floats.
        """
        al = tree.al
        link_poses: list[Pose] = []
        bodies: list[ScrewBody] = []
        for link in tree.links:
            X_WP = Pose.identity(al) if link.parent < 0 else link_poses[link.parent]
            motions, X_WL = joint_motions(al, link, X_WP @ link.X_PJ)
            link_poses.append(X_WL)
            inertia = tree.mechanism.inertia(link.body)
            bodies.append(ScrewBody(link.body, link.parent, motions, X_WL @ link.X_LB, inertia))
        return cls(al, bodies, tree.mechanism.gravity)

    def _prepare(self, body: ScrewBody) -> _Node:
        al = self.al
        m = body.reference
        X_PB = m if body.parent < 0 else self.bodies[body.parent].reference.inverse() @ m
        inertia = body.inertia.about_origin(al)
        A = inertia.A
        binet = (A[0, 0] + A[1, 1] + A[2, 2]) / 2 * al.eye(3) - A
        return _Node(body.parent, X_PB, tuple(motion.seen_from(m) for motion in body.motions), inertia, binet)

    # Geometry

    @property
    def screws(self) -> np.ndarray:
        """Y, 6 × nv: all joint screws in the world frame, reference configuration (13.1)."""
        Y = self.al.zeros(6, self.nv)
        for body in self.bodies:
            for motion in body.motions:
                Y[:, motion.u] = motion.screws
        return Y

    @property
    def structure_coefficients(self) -> np.ndarray:
        """γ[d, b, c] of  [e_b, e_c] = Σ_d γ[d, b, c] e_d, constant; zero where u = q̇  (13.12)."""
        gamma = np.zeros((self.nv, self.nv, self.nv))
        for body in self.bodies:
            for motion in body.motions:
                gamma[motion.u, motion.u, motion.u] = motion.brackets
        return gamma

    def poses(self, q: np.ndarray) -> list[Pose]:
        """World poses of the bodies:  C_k = Q_1 Q_2 … Q_n m_k  (13.2)."""
        return [placed.X_WB for placed in self._place(q)]

    def _place(self, q: np.ndarray) -> list[_Placed]:
        """Poses and columns:  K_a = Ad(Q_{a+1} … Q_n m_k)⁻¹ Y_a, carried from parent to child (13.4)."""
        al = self.al
        placed: list[_Placed] = []
        for node in self._nodes:
            # In the body's frame the product reads  C_k = C_p (m_p⁻¹ m_k) Q_1 … Q_n.
            X = Pose.identity(al)
            own: list[_Step] = []
            for motion in node.motions:
                Q = motion.pose(al, q[motion.q])
                new = _Step.of(al, motion, q[motion.q])
                own = [*(step.carried(Q) for step in own), new.carried(Q) if motion.fixed_axes else new]
                X = X @ Q
            X_PB = node.X_PB @ X
            if node.parent < 0:
                X_WB, before = X_PB, ()
            else:
                parent = placed[node.parent]
                X_WB, before = parent.X_WB @ X_PB, tuple(step.carried(X_PB) for step in parent.path)
            placed.append(_Placed(X_WB, X_PB, (*before, *own), len(own)))
        return placed

    # Jacobians

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """K, 6n × nv: twists of all bodies, V = K u.

        Equivalent to: ``transfer_matrix(q) @ joint_screws(q)``.
        """
        K = self.al.zeros(6 * len(self._nodes), self.nv)
        for k, placed in enumerate(self._place(q)):
            for _, a, column in placed.screws():
                K[6 * k : 6 * k + 6, a] = column
        return K

    def transfer_matrix(self, q: np.ndarray) -> np.ndarray:
        """A, 6n × 6n, with blocks Ad(C_k⁻¹ C_m) for every m on the way to k (13.5)."""
        al, n = self.al, len(self._nodes)
        A = al.zeros(6 * n, 6 * n)
        for k, (node, placed) in enumerate(zip(self._nodes, self._place(q), strict=True)):
            rows = slice(6 * k, 6 * k + 6)
            if node.parent >= 0:
                A[rows] = placed.X_PB.inverse().adjoint(al) @ A[6 * node.parent : 6 * node.parent + 6]
            A[rows, rows] = al.eye(6)
        return A

    def joint_screws(self, q: np.ndarray) -> np.ndarray:
        """H, 6n × nv, block-diagonal: each joint's screws in the axes of its own body."""
        H = self.al.zeros(6 * len(self._nodes), self.nv)
        for k, placed in enumerate(self._place(q)):
            for step in placed.path[len(placed.path) - placed.own :]:
                H[6 * k : 6 * k + 6, step.u] = np.stack(step.columns, axis=1)
        return H

    def jacobian_derivative(self, q: np.ndarray) -> np.ndarray:
        """∂K, 6n × nv × nv, last index the direction:  ∂_b K_a = [K_a, K_b] if b moves a, else 0
        (13.6), but for curved motions."""
        out = self.al.zeros(6 * len(self._nodes), self.nv, self.nv)
        for k, placed in enumerate(self._place(q)):
            for a, b, change in placed.derivatives():
                out[6 * k : 6 * k + 6, a, b] = change
        return out

    def jacobian_rate(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """K̇, 6n × nv:  K̇_a = [K_a, W_a]  (13.7)."""
        out = self.al.zeros(6 * len(self._nodes), self.nv)
        for k, placed in enumerate(self._place(q)):
            for a, K, W, D in placed.turning(self.al, u):
                out[6 * k : 6 * k + 6, a] = _rate(K, W, D)
        return out

    def point_jacobian(self, q: np.ndarray, body: str, point: np.ndarray) -> np.ndarray:
        """3 × nv: world velocity  R (v + ω × x)  of a point of a body, x given in the body's frame (m)."""
        placed = self._place(q)[self.names.index(body)]
        out = self.al.zeros(3, self.nv)
        for _, a, K in placed.screws():
            out[:, a] = placed.X_WB.R @ _at(K, point)
        return out

    def point_jacobian_rate(self, q: np.ndarray, u: np.ndarray, body: str, point: np.ndarray) -> np.ndarray:
        """The rate of ``point_jacobian``:  R (ω × K_x + K̇_x), where x marks the point's velocity."""
        al = self.al
        placed = self._place(q)[self.names.index(body)]
        w = placed.twist(al, u)[:3]
        out = al.zeros(3, self.nv)
        for a, K, W, D in placed.turning(al, u):
            out[:, a] = placed.X_WB.R @ (cross(w, _at(K, point)) + _at(_rate(K, W, D), point))
        return out

    # Dynamics

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M = Kᵀ J K  (13.8).

        Equivalent to: ``recursions.mass_matrix`` (test_mass_matrix_is_that_of_composite_bodies).
        """
        return self._mass_matrix(self._place(q))

    def _mass_matrix(self, bodies: list[_Placed]) -> np.ndarray:
        M = self.al.zeros(self.nv, self.nv)
        for node, placed in zip(self._nodes, bodies, strict=True):
            screws = [(a, K, node.inertia.apply(K)) for _, a, K in placed.screws()]
            for i, (a, K, _) in enumerate(screws):
                for b, _, momentum in screws[i:]:
                    M[a, b] = M[b, a] = M[a, b] + K @ momentum
        return M

    def mass_matrix_derivative(self, q: np.ndarray) -> np.ndarray:
        """∂M, nv × nv × nv, last index the direction:  ∂_c M = ∂_c Kᵀ J K + Kᵀ J ∂_c K."""
        al = self.al
        out = al.zeros(self.nv, self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            momenta = [(b, node.inertia.apply(K)) for _, b, K in placed.screws()]
            for a, c, turned in placed.derivatives():
                for b, momentum in momenta:
                    change = turned @ momentum
                    out[a, b, c] = out[a, b, c] + change
                    out[b, a, c] = out[b, a, c] + change
        return out

    def mass_matrix_rate(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ṁ = K̇ᵀ J K + Kᵀ J K̇."""
        half = self.al.zeros(self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            for a, K_a, W, D in placed.turning(self.al, u):
                momentum = node.inertia.apply(_rate(K_a, W, D))
                for _, b, K in placed.screws():
                    half[a, b] = half[a, b] + K @ momentum
        return half + half.T

    def christoffel(self, q: np.ndarray) -> np.ndarray:
        """Christoffel symbols of the first kind, nv × nv × nv, in closed form:

            Γ[a, b, c] = Σ_k K_aᵀ F(K_s, K_r),    (s, r) = (c, b) if b moves c, else (b, c)       (13.11)

        and K_aᵀ J ∂_b K_c more where b and c belong to one curved motion,

        so that (h − g)_a = Γ_abc u_b u_c. Where u = q̇, Γ_abc = Γ_acb = ½(∂_b M_ac + ∂_c M_ab − ∂_a M_bc);
        for quasi-velocities Γ_abc − Γ_acb = M_ad γ_dbc  (13.12).
        """
        out = self.al.zeros(self.nv, self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            screws = list(placed.screws())
            for j, b, K_b in screws:
                for l, c, K_c in screws:
                    F = _product_wrench(node, *((K_c, K_b) if placed.moves(l, j) else (K_b, K_c)))
                    if j == l and (changes := placed.path[j].changes) is not None:
                        first: int = placed.path[j].u.start
                        F = F + node.inertia.apply(changes[b - first][c - first])
                    for _, a, K_a in screws:
                        out[a, b, c] = out[a, b, c] + K_a @ F
        return out

    def coriolis(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """C_ac = Γ_abc u_b:  columns Σ_k Kᵀ (F(K_c, W_c) + F(V − W_c, K_c)).  Ṁ − 2C is skew (13.13)."""
        al = self.al
        C = al.zeros(self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            V = placed.twist(al, u)
            for c, K_c, W, D in placed.turning(al, u):
                F = _product_wrench(node, K_c, W) + _product_wrench(node, V - W, K_c)
                F = F if D is None else F + node.inertia.apply(D)
                _project(C[:, c], placed, F)
        return C

    def gravity_forces(self, q: np.ndarray) -> np.ndarray:
        """g(q) = −Σ_k Kᵀ J (0, Rᵀ g): what holds the tree at rest."""
        out = self.al.zeros(self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            _project(out, placed, -node.inertia.apply(self._fall(placed)))
        return out

    def bias(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """h = C u + g without forming C:  Σ_k Kᵀ (J (K̇ u − (0, Rᵀ g)) + F(V, V))  (13.14).

        Equivalent to: ``recursions.inverse_dynamics`` (test_bias_is_that_of_newton_euler).
        """
        return self._bias(self._place(q), u)

    def _bias(self, bodies: list[_Placed], u: np.ndarray) -> np.ndarray:
        al = self.al
        h = al.zeros(self.nv)
        for node, placed in zip(self._nodes, bodies, strict=True):
            V, A = placed.acceleration(al, u)
            _project(h, placed, node.inertia.apply(A - self._fall(placed)) + _product_wrench(node, V, V))
        return h

    def _fall(self, placed: _Placed) -> np.ndarray:
        """Free fall in body axes, (0, Rᵀ g)."""
        return self.al.concatenate([self.al.zeros(3), placed.X_WB.R.T @ self.gravity])

    def generalized_forces(self, q: np.ndarray, wrenches: Sequence[np.ndarray]) -> np.ndarray:
        """Q = Σ_k Kᵀ F_k of wrenches (n, f) on the bodies, in body axes about the body's origin."""
        Q = self.al.zeros(self.nv)
        for placed, wrench in zip(self._place(q), wrenches, strict=True):
            _project(Q, placed, wrench)
        return Q

    def acceleration(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """u̇ = M⁻¹ (τ − h).

        Equivalent to: ``recursions.forward_dynamics`` (test_acceleration_is_that_of_articulated_bodies).
        """
        bodies = self._place(q)
        return solve_spd(self.al, self._mass_matrix(bodies), tau - self._bias(bodies, u))


def _product_wrench(node: _Node, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """F(X, Y) = Σ m (x × a, a) with a = X̂ Ŷ x, what the points of a body feel under a product of two screws:

        F = (S ω_X × ω_Y + h × (ω_X × v_Y),  ω_X × (m v_Y + ω_Y × h))                             (13.9)

    S is Binet's tensor, h the first moment.  F(X, Y) − F(Y, X) = J [X, Y],  Yᵀ F(X, Y) = 0  (13.10).
    """
    w = X[:3]
    I = node.inertia
    moment = cross(node.binet @ w, Y[:3]) + cross(I.h, cross(w, Y[3:]))
    return np.concatenate([moment, cross(w, I.mass * Y[3:] + cross(Y[:3], I.h))])


def _project(out: np.ndarray, placed: _Placed, wrench: np.ndarray) -> None:
    """out += Kᵀ F."""
    for _, a, K in placed.screws():
        out[a] = out[a] + K @ wrench


def _at(K: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Velocity v + ω × x of a point x under a twist."""
    return K[3:] + cross(K[:3], point)
