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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.algebra.linear import solve_spd
from dalembert.coordinates.base import Link, PlacedTree
from dalembert.errors import ModelError, Problem
from dalembert.joints import Free, Joint
from dalembert.joints.product import Product
from dalembert.joints.reversed import Reversed
from dalembert.spatial import Inertia, Pose, RigidInertia
from dalembert.spatial.pose import cross_motion
from dalembert.spatial.so3 import cross, hat

__all__ = ["LieGroupTree", "Motion", "ScrewBody", "ScrewMotion", "SubgroupMotion"]


class Motion(ABC):
    """One factor of the product of exponentials: a motion in a subgroup of SE(3).

    Attributes:
        q, u: where its coordinates and velocities stand.
        fixed_axes: False if the twist Q⁻¹Q̇ is ``screws @ u``; True if Q̇Q⁻¹ is, as for a ball joint met from
            its other side. For a single screw the two are the same.
    """

    q: slice
    u: slice
    fixed_axes: bool = False

    @property
    @abstractmethod
    def screws(self) -> np.ndarray:
        """6 × k, a basis of its twists."""

    @property
    @abstractmethod
    def brackets(self) -> np.ndarray:
        """k × k × k, structure constants γ of its fields:  [e_b, e_c] = Σ_d γ[d, b, c] e_d."""

    @abstractmethod
    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        """Q(q), the identity at neutral coordinates."""

    @abstractmethod
    def seen_from(self, X: Pose) -> Motion:
        """The same motion written in the frame at X."""


@dataclass(frozen=True)
class ScrewMotion(Motion):
    """exp(Y q) about one screw Y = (a, p × a + h a): rotation, translation or helix without asking which.

    Attributes:
        axis: a, a unit vector; zero for a translation.
        moment: p × a for a point p of the axis.
        advance: h a with the pitch h in m/rad, or the direction of a translation.
    """

    axis: np.ndarray
    moment: np.ndarray
    advance: np.ndarray
    q: slice
    u: slice

    @classmethod
    def about(cls, al: Algebra, axis: Any, point: Any, at: int, pitch: Any = 0) -> ScrewMotion:
        """A turn about a unit axis through a point (m) that advances by ``pitch`` (m/rad).

        Args:
            at: index of its coordinate in q and of its velocity in u.
        """
        a, p = al.array(axis), al.array(point)
        return cls(a, cross(p, a), pitch * a, slice(at, at + 1), slice(at, at + 1))

    @classmethod
    def along(cls, al: Algebra, direction: Any, at: int) -> ScrewMotion:
        """A translation along a unit direction."""
        return cls(al.zeros(3), al.zeros(3), al.array(direction), slice(at, at + 1), slice(at, at + 1))

    @property
    def screws(self) -> np.ndarray:
        """Y as a column."""
        return np.concatenate([self.axis, self.moment + self.advance])[:, None]

    @property
    def brackets(self) -> np.ndarray:
        return np.zeros((1, 1, 1))

    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        """R = 1 + sin q â + (1 − cos q) â²,   p = sin q m + (1 − cos q) a × m + q d;  moment m, advance d."""
        s, c = al.sin(q[0]), al.cos(q[0])
        a = hat(al, self.axis)
        R = al.eye(3) + s * a + (1 - c) * (a @ a)
        return Pose(R, s * self.moment + (1 - c) * cross(self.axis, self.moment) + q[0] * self.advance)

    def seen_from(self, X: Pose) -> ScrewMotion:
        a, p = X.R.T @ self.axis, -(X.R.T @ X.p)
        return replace(self, axis=a, moment=X.R.T @ self.moment + cross(p, a), advance=X.R.T @ self.advance)


@dataclass(frozen=True)
class SubgroupMotion(Motion):
    """Q = F N(q) F⁻¹ with N in a subgroup of several freedoms: all rotations about a point, or all of SE(3).

    Attributes:
        frame: F, the frame in which the motion was given.
        basis: 6 × k, orthonormal; twists N⁻¹Ṅ = basis · u.
        relative: N(q).
        fixed_axes: True if the motion is N(q)⁻¹ instead, with the same coordinates.
    """

    frame: Pose
    basis: np.ndarray
    relative: Callable[[Algebra, np.ndarray], Pose]
    q: slice
    u: slice
    fixed_axes: bool = False

    @property
    def screws(self) -> np.ndarray:
        """Ad(F) basis; minus that for the inverted motion, whose twist is −Ad(N) N⁻¹Ṅ."""
        sign = -1 if self.fixed_axes else 1
        return np.stack([sign * self.frame.motion(column) for column in self.basis.T], axis=1)

    @property
    def brackets(self) -> np.ndarray:
        """The fields of N are left invariant, so their brackets are those of the algebra."""
        Z = np.array(self.basis, dtype=float)
        return np.array([[[d @ cross_motion(b, c) for c in Z.T] for b in Z.T] for d in Z.T])

    def pose(self, al: Algebra, q: np.ndarray) -> Pose:
        N = self.relative(al, q)
        return self.frame @ (N.inverse() if self.fixed_axes else N) @ self.frame.inverse()

    def seen_from(self, X: Pose) -> SubgroupMotion:
        return replace(self, frame=X.inverse() @ self.frame)


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
    """The columns of one factor, in the axes of the body at the end of the path."""

    u: slice
    fixed_axes: bool
    columns: tuple[np.ndarray, ...]

    def carried(self, X: Pose) -> _Step:
        """The same screws beyond a motion X:  K ← Ad(X⁻¹) K."""
        return replace(self, columns=tuple(X.motion_inverse(column) for column in self.columns))


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

    def twist(self, al: Algebra, u: np.ndarray) -> np.ndarray:
        """V = Σ K_a u_a."""
        return sum((column * u[a] for _, a, column in self.screws()), al.zeros(6))

    def beyond(self, al: Algebra, u: np.ndarray) -> list[tuple[_Step, np.ndarray, np.ndarray]]:
        """For each factor: its own twist Σ K_a u_a, and W, the twist of all factors that turn its screws."""
        W, found = al.zeros(6), []
        for step in reversed(self.path):
            own = sum((column * u[step.u.start + j] for j, column in enumerate(step.columns)), al.zeros(6))
            found.append((step, own, W + own if step.fixed_axes else W))
            W = W + own
        return found[::-1]

    def turning(self, al: Algebra, u: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """(a, K_a, W_a), so that  K̇_a = [K_a, W_a]."""
        for step, _, W in self.beyond(al, u):
            for j, column in enumerate(step.columns):
                yield step.u.start + j, column, W


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
    def from_tree(cls, tree: PlacedTree) -> LieGroupTree:
        """The screws of a model. Its reference configuration is where all coordinates are neutral.

        That is the drawing, unless a joint was drawn with ``reference`` coordinates or floats.

        Raises:
            ModelError: names the joints that are no products of motions in subgroups of SE(3).
        """
        al = tree.al
        link_poses: list[Pose] = []
        bodies, problems = [], []
        for link, slot in zip(tree.links, tree.coordinates.slots, strict=True):
            X_WP = Pose.identity(al) if link.parent < 0 else link_poses[link.parent]
            try:
                motions, X_WL = _joint_motions(al, link, X_WP @ link.X_PJ)
            except NotImplementedError as reason:
                message = f"joint {slot.joint!r}: a {reason} joint is no product of motions in subgroups of SE(3)"
                problems.append(Problem(message, fix="cut it, or use the recursions (formulation 'recursive')"))
                motions, X_WL = (), X_WP @ link.X_PJ
            link_poses.append(X_WL)
            inertia = tree.mechanism.inertia(link.body)
            bodies.append(ScrewBody(link.body, link.parent, motions, X_WL @ link.X_LB, inertia))
        if problems:
            raise ModelError(problems)
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
            X, own = Pose.identity(al), []
            for motion in node.motions:
                Q = motion.pose(al, q[motion.q])
                new = _Step(motion.u, motion.fixed_axes, tuple(motion.screws.T))
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
        """∂K, 6n × nv × nv, last index the direction:  ∂_b K_a = [K_a, K_b] if b moves a, else 0  (13.6)."""
        out = self.al.zeros(6 * len(self._nodes), self.nv, self.nv)
        for k, placed in enumerate(self._place(q)):
            for i, a, K_a in placed.screws():
                for j, b, K_b in placed.screws():
                    if placed.moves(i, j):
                        out[6 * k : 6 * k + 6, a, b] = cross_motion(K_a, K_b)
        return out

    def jacobian_rate(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """K̇, 6n × nv:  K̇_a = [K_a, W_a]  (13.7)."""
        out = self.al.zeros(6 * len(self._nodes), self.nv)
        for k, placed in enumerate(self._place(q)):
            for a, K, W in placed.turning(self.al, u):
                out[6 * k : 6 * k + 6, a] = cross_motion(K, W)
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
        for a, K, W in placed.turning(al, u):
            out[:, a] = placed.X_WB.R @ (cross(w, _at(K, point)) + _at(cross_motion(K, W), point))
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
            screws = [(i, a, K, node.inertia.apply(K)) for i, a, K in placed.screws()]
            for i, a, K_a, _ in screws:
                for l, c, K_c, _ in screws:
                    if placed.moves(i, l):
                        turned = cross_motion(K_a, K_c)
                        for _, b, _, momentum in screws:
                            change = turned @ momentum
                            out[a, b, c] = out[a, b, c] + change
                            out[b, a, c] = out[b, a, c] + change
        return out

    def mass_matrix_rate(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ṁ = K̇ᵀ J K + Kᵀ J K̇."""
        half = self.al.zeros(self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            for a, K_a, W in placed.turning(self.al, u):
                momentum = node.inertia.apply(cross_motion(K_a, W))
                for _, b, K in placed.screws():
                    half[a, b] = half[a, b] + K @ momentum
        return half + half.T

    def christoffel(self, q: np.ndarray) -> np.ndarray:
        """Christoffel symbols of the first kind, nv × nv × nv, in closed form:

            Γ[a, b, c] = Σ_k K_aᵀ F(K_s, K_r),    (s, r) = (c, b) if b moves c, else (b, c)       (13.11)

        so that (h − g)_a = Γ_abc u_b u_c. Where u = q̇, Γ_abc = Γ_acb = ½(∂_b M_ac + ∂_c M_ab − ∂_a M_bc);
        for quasi-velocities Γ_abc − Γ_acb = M_ad γ_dbc  (13.12).
        """
        out = self.al.zeros(self.nv, self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            screws = list(placed.screws())
            for j, b, K_b in screws:
                for l, c, K_c in screws:
                    F = _product_wrench(node, *((K_c, K_b) if placed.moves(l, j) else (K_b, K_c)))
                    for _, a, K_a in screws:
                        out[a, b, c] = out[a, b, c] + K_a @ F
        return out

    def coriolis(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """C_ac = Γ_abc u_b:  columns Σ_k Kᵀ (F(K_c, W_c) + F(V − W_c, K_c)).  Ṁ − 2C is skew (13.13)."""
        al = self.al
        C = al.zeros(self.nv, self.nv)
        for node, placed in zip(self._nodes, self._place(q), strict=True):
            V = placed.twist(al, u)
            for c, K_c, W in placed.turning(al, u):
                F = _product_wrench(node, K_c, W) + _product_wrench(node, V - W, K_c)
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
            V, A = al.zeros(6), -self._fall(placed)
            for _, own, W in placed.beyond(al, u):
                V, A = V + own, A + cross_motion(own, W)
            _project(h, placed, node.inertia.apply(A) + _product_wrench(node, V, V))
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


# From joints to screws


def _factors(al: Algebra, joint: Joint) -> list[tuple[int, int, Callable[[Algebra, np.ndarray], Pose], np.ndarray]]:
    """Elementary motions of a joint: nq, nv, N(q), and the constant basis of its twists N⁻¹Ṅ."""
    if isinstance(joint, Product):
        return [(factor.nq, factor.nv, factor.transform, factor.subspace(al)) for factor in joint.factors]
    if isinstance(joint, Free):
        return [(joint.nq, joint.nv, joint.transform, al.eye(6))]
    raise NotImplementedError(joint.kind)


def _joint_motions(al: Algebra, link: Link, X: Pose) -> tuple[tuple[Motion, ...], Pose]:
    """Factors of a joint whose first frame stands at X in the world, and where its last frame stands.

    From its other side a joint is  X_SP = X_k⁻¹ … X_1⁻¹: factors in reverse order, each inverted.
    """
    turned = isinstance(link.joint, Reversed)
    joint = link.joint.joint if isinstance(link.joint, Reversed) else link.joint
    placed, q, u = [], link.q.start, link.u.start
    for nq, nv, transform, Z in _factors(al, joint):
        placed.append((transform, Z, slice(q, q + nq), slice(u, u + nv)))
        q, u = q + nq, u + nv
    motions: list[Motion] = []
    for transform, Z, at, rate in reversed(placed) if turned else placed:
        if Z.shape[1] == 0:
            N = transform(al, al.zeros(0))
            X = X @ (N.inverse() if turned else N)
        elif Z.shape[1] == 1:
            # The screw of a factor passes through its origin with v along ω, or ω = 0.
            z = -Z[:, 0] if turned else Z[:, 0]
            axis = X.R @ z[:3]
            motions.append(ScrewMotion(axis, cross(X.p, axis), X.R @ z[3:], at, rate))
        else:
            motions.append(SubgroupMotion(X, Z, transform, at, rate, turned))
    return tuple(motions), X
