"""A tree at one state, taken apart into elementary motions: all that derivatives of its dynamics are made of.

Everything stands in one inertial frame E for each tree on the ground: the one that coincides, at this instant, with the
link frame of the tree's first moving body. So composite bodies add up without transformations, the screws of the first
joint are unit vectors, and no digits are lost far away from the world's origin.

Legend (axes and origin of E):
    S        screws of an elementary motion            v, a     twist and its rate; a with gravity
    B        v_P × S, so that Ṡ u = B u                Z        v_P × S + v × S
    Y1, Y2   what a tangent of the motion adds to twists and accelerations beyond it (Ψ̇ and Ψ̈ of the reference)
    m, h, J  Σ m, Σ m r, Σ m r rᵀ over particles       l, P     Σ m ṙ, Σ m ṙ rᵀ          f     Σ (r × m r̈, m r̈)

Reference: S. Singh, R. P. Russell, P. M. Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics using
Spatial Vector Algebra", IEEE RA-L 7 (2022). Equations: docs/theory/derivatives.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.spatial import Pose, RigidInertia
from dalembert.spatial.inertia import congruent, symmetric
from dalembert.spatial.pose import cross_force, cross_motion
from dalembert.spatial.so3 import cross, hat
from dalembert.tree.derivative_motions import Drift, elementary_motions
from dalembert.tree.link import Link, Tree

__all__ = ["Composite", "Screws", "Term", "TreeInMotion"]


@dataclass(frozen=True)
class Composite:
    """Mass and momentum of a set of bodies, as sums over their particles; they add up.

    With these the matrix of the reference that couples a turning frame with moving particles,
    2 𝓑 = (v ×*) I − I (v ×) + (I v) ×̄*, needs twelve numbers:  2 𝓑 (ω; v) = 2 ((tr P − P) ω; ω × l).
    """

    m: Any
    h: np.ndarray
    J: np.ndarray
    l: np.ndarray
    P: np.ndarray

    @classmethod
    def zero(cls, al: Algebra) -> Composite:
        return cls(al.constant(0), al.zeros(3), al.zeros(3, 3), al.zeros(3), al.zeros(3, 3))

    @classmethod
    def of(cls, al: Algebra, inertia: RigidInertia, X: Pose, v: np.ndarray) -> Composite:
        """One body with its inertia in a frame at X and the twist v."""
        J = _second_moment(al, inertia.A)
        turned = X.R @ inertia.h
        h = turned + inertia.mass * X.p
        # Σ m r rᵀ after a turn and a shift by p:  R J Rᵀ + p (R h)ᵀ + h' pᵀ
        J = symmetric(congruent(X.R, J) + np.outer(X.p, turned) + np.outer(h, X.p))
        l = inertia.mass * v[3:] + cross(v[:3], h)
        return cls(inertia.mass, h, J, l, hat(al, v[:3]) @ J + np.outer(v[3:], h))

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.m + other.m, self.h + other.h, symmetric(self.J + other.J), self.l + other.l, self.P + other.P
        )

    def apply(self, x: np.ndarray) -> np.ndarray:
        """I x, with the rotational inertia  tr J − J."""
        w, v = x[:3], x[3:]
        return np.concatenate([_without_trace(self.J, w) + cross(self.h, v), self.m * v - cross(self.h, w)])

    def couple(self, x: np.ndarray) -> np.ndarray:
        """2 𝓑 x."""
        w = x[:3]
        return 2 * np.concatenate([_without_trace(self.P, w), cross(w, self.l)])

    def couple_back(self, x: np.ndarray) -> np.ndarray:
        """The upper half of (2 𝓑)ᵀ x; the lower half vanishes."""
        return 2 * (_without_trace(self.P.T, x[:3]) + cross(self.l, x[3:]))

    def rate(self, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """f = I a + v ×* I v of one body, by the acceleration c = v̇ + ω × v of its point at the origin."""
        w, alpha = v[:3], a[:3]
        c = a[3:] + cross(w, v[3:])
        moment = _without_trace(self.J, alpha) + cross(self.h, c) + cross(self.J @ w, w)
        return np.concatenate([moment, self.m * c + cross(alpha, self.h) + cross(w, cross(w, self.h))])


def _without_trace(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """((tr A) 1 − A) x."""
    out = np.empty(3, dtype=np.result_type(A, x))
    for i in range(3):
        j, k = i - 2, i - 1
        out[i] = (A[j, j] + A[k, k]) * x[i] - A[i, j] * x[j] - A[i, k] * x[k]
    return out


def _second_moment(al: Algebra, A: np.ndarray) -> np.ndarray:
    """Σ m r rᵀ = (tr A)/2 − A from the rotational inertia A."""
    return (A[0, 0] + A[1, 1] + A[2, 2]) / 2 * al.eye(3) - A


@dataclass(frozen=True)
class Screws:
    """An elementary motion of the tree, in E.

    Attributes:
        parent: the motion before it, −1 for the ground.
        u: its velocities.
        w: its own twist S u.
        ground: acceleration of the ground in this E.
    """

    parent: int
    u: list[int]
    S: list[np.ndarray]
    fixed: bool
    drift: Drift | None
    w: np.ndarray
    v: np.ndarray
    B: list[np.ndarray]
    Z: list[np.ndarray]
    ground: np.ndarray


@dataclass(frozen=True)
class Term:
    """What one velocity k gives to the derivatives: with i beyond or at j,

    ∂τ_i/∂q_j = t_i · Y1_j + F_i · Y2_j,     ∂τ_i/∂u_j = t_i · S_j + F_i · Z_j     (t: angular parts only)
    ∂τ_j/∂q_i = S_j · up_q_i,                ∂τ_j/∂u_i = S_j · up_u_i              (j before i)
    """

    k: int
    S: np.ndarray
    Z: np.ndarray
    Y1: np.ndarray
    Y2: np.ndarray
    F: np.ndarray
    t: np.ndarray
    up_q: np.ndarray
    up_u: np.ndarray


class TreeInMotion:
    """A tree taken apart into elementary motions, in E, at one state; accelerations come later, as often as needed."""

    def __init__(self, tree: Tree, q: np.ndarray, u: np.ndarray, base: np.ndarray):
        self.tree, self.al, self.u, self.base = tree, tree.al, u, base
        self.motions: list[Screws] = []
        self.tip: list[int] = []  # last motion before each link, -1 for a link at rest
        poses: list[Pose] = []  # of links in their E, of links at rest in the world
        self.bodies: list[tuple[int, Composite]] = []  # of links that move, by their last motion
        for link in tree.links:
            poses.append(self._place(link, poses, q[link.q]))
            tip = self.tip[-1]
            if tip >= 0:
                self.bodies.append((tip, Composite.of(self.al, link.inertia, poses[-1], self.motions[tip].v)))
        self.composites = self._composites()

    # Outward: poses, screws and twists

    def _place(self, link: Link, poses: list[Pose], q: np.ndarray) -> Pose:
        """Append the motions of a link, and return its pose."""
        parts = elementary_motions(self.al, link.joint, q, self.u[link.u])
        parent = self.tip[link.parent] if link.parent >= 0 else -1
        start = poses[link.parent] @ link.X_PJ if link.parent >= 0 else link.X_PJ
        ends, ground = [start], self.base
        for part in parts:
            ends.append(ends[-1] @ part.X)
        if parent < 0 and any(part.screws for part in parts):
            # The first motions of a tree: E is where they end, so the frames between are found from there.
            ground = ends[-1].motion_inverse(self.base)
            ends = [Pose.identity(self.al)]
            for part in reversed(parts):
                ends.insert(0, ends[0] @ part.X.inverse())
        for part, before, after in zip(parts, ends[:-1], ends[1:], strict=True):
            if part.screws:
                S = [(before if part.fixed else after).motion(s) for s in part.screws]
                drift = None if part.drift is None else _moved(part.drift, after)
                u = [link.u.start + k for k in part.u]
                self.motions.append(self._screws(parent, u, S, part.fixed, drift, ground))
                parent = len(self.motions) - 1
        self.tip.append(parent)
        return ends[-1]

    def _screws(
        self, parent: int, u: list[int], S: list[np.ndarray], fixed: bool, drift: Drift | None, ground: np.ndarray
    ) -> Screws:
        v_P = self.motions[parent].v if parent >= 0 else self.al.zeros(6)
        w = sum((s * self.u[k] for s, k in zip(S, u, strict=True)), self.al.zeros(6))
        B = [cross_motion(v_P, s) for s in S]
        # v × S = B + w × S, and a single screw does not move itself
        Z = [2 * b if len(S) == 1 else 2 * b + cross_motion(w, s) for b, s in zip(B, S, strict=True)]
        if drift is not None:
            Z = [z + c for z, c in zip(Z, drift.c_u, strict=True)]
        return Screws(parent, u, S, fixed, drift, w, v_P + w, B, Z, ground)

    def _composites(self) -> list[Composite]:
        """For each motion, all that moves with it."""
        total = [Composite.zero(self.al) for _ in self.motions]
        for tip, body in self.bodies:
            total[tip] = total[tip] + body
        for i in reversed(range(len(total))):
            if self.motions[i].parent >= 0:
                total[self.motions[i].parent] = total[self.motions[i].parent] + total[i]
        return total

    # With accelerations

    def _accelerations(self, du: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Acceleration before and after each motion:  a = a_P + S u̇ + B u."""
        before: list[np.ndarray] = []
        after: list[np.ndarray] = []
        for motion in self.motions:
            a = after[motion.parent] if motion.parent >= 0 else motion.ground
            before.append(a)
            for s, b, k in zip(motion.S, motion.B, motion.u, strict=True):
                a = a + s * du[k] + b * self.u[k]
            after.append(a if motion.drift is None else a + motion.drift.c)
        return before, after

    def _wrenches(self, after: list[np.ndarray]) -> list[np.ndarray]:
        """For each motion the wrench that moves all beyond it:  f = Σ (I a + v ×* I v)."""
        f = [self.al.zeros(6) for _ in self.motions]
        for tip, body in self.bodies:
            f[tip] = f[tip] + body.rate(self.motions[tip].v, after[tip])
        for i in reversed(range(len(f))):
            if self.motions[i].parent >= 0:
                f[self.motions[i].parent] = f[self.motions[i].parent] + f[i]
        return f

    def forces(self, du: np.ndarray) -> np.ndarray:
        """τ = M u̇ + h."""
        _, after = self._accelerations(du)
        tau = self.al.zeros(len(self.u))
        for motion, f in zip(self.motions, self._wrenches(after), strict=True):
            for k, s in zip(motion.u, motion.S, strict=True):
                tau[k] = s @ f
        for link in self.tree.links:
            if link.armature is not None:
                rotor = link.joint.rotor_rate(self.al, self.u[link.u], du[link.u])
                tau[link.u] = tau[link.u] + link.armature * rotor
        return tau

    def mass_matrix(self) -> np.ndarray:
        """M by composite bodies:  M_ij = (I S_i)ᵀ S_j."""
        n = len(self.u)
        M = self.al.zeros(n, n)
        for i, (motion, composite) in enumerate(zip(self.motions, self.composites, strict=True)):
            for k, s in zip(motion.u, motion.S, strict=True):
                F = composite.apply(s)
                for j in (i, *self.ancestors(i)):
                    for m, t in zip(self.motions[j].u, self.motions[j].S, strict=True):
                        if j != i or m <= k:
                            M[k, m] = M[m, k] = F @ t
        for link in self.tree.links:
            if link.armature is not None:
                for k in range(link.u.start, link.u.stop):
                    M[k, k] = M[k, k] + link.armature
        return M

    def ancestors(self, i: int) -> list[int]:
        """The motions before a motion, nearest first."""
        found: list[int] = []
        while (i := self.motions[i].parent) >= 0:
            found.append(i)
        return found

    # With tangents

    def terms(self, du: np.ndarray) -> tuple[list[list[Term]], np.ndarray, np.ndarray]:
        """The terms of each motion, and what joints add to the derivatives of their own forces (∂/∂q, ∂/∂u)."""
        n = len(self.u)
        own_q, own_u = self.al.zeros(n, n), self.al.zeros(n, n)
        before, after = self._accelerations(du)
        found: list[list[Term]] = []
        for i, (motion, c, f) in enumerate(zip(self.motions, self.composites, self._wrenches(after), strict=True)):
            tangents = self._tangent(motion, before[i], after[i], du)
            terms: list[Term] = []
            for k, S, Z, (Y1, Y2) in zip(motion.u, motion.S, motion.Z, tangents, strict=True):
                up_q = c.couple(Y1) + c.apply(Y2) + cross_force(S, f)
                up_u = c.couple(S) + c.apply(Z)
                terms.append(Term(k, S, Z, Y1, Y2, c.apply(S), c.couple_back(S), up_q, up_u))
            found.append(terms)
            self._turned_screws(motion, f, own_q)
        self._rotors(own_u)
        return found, own_q, own_u

    def _tangent(
        self, motion: Screws, a_P: np.ndarray, a: np.ndarray, du: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Y1 = v_R × S and Y2 = a_R × S + v_R × Y1 of each screw; R is the side on which the screw is not constant."""
        v_P = self.motions[motion.parent].v if motion.parent >= 0 else self.al.zeros(6)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for k, (s, b) in enumerate(zip(motion.S, motion.B, strict=True)):
            if motion.fixed:
                y1 = b + cross_motion(motion.w, s)
                found.append((y1, cross_motion(a, s) + cross_motion(motion.v, y1)))
            elif motion.drift is None:
                found.append((b, cross_motion(a_P, s) + cross_motion(v_P, b)))
            else:
                G = motion.drift.G[k]
                g = sum((x * self.u[m] for x, m in zip(G, motion.u, strict=True)), self.al.zeros(6))
                more = sum((x * du[m] for x, m in zip(G, motion.u, strict=True)), motion.drift.c_q[k])
                y1 = b + g
                y2 = cross_motion(a_P, s) + cross_motion(v_P, y1) + cross_motion(motion.v, g) + more
                found.append((y1, y2))
        return found

    def _turned_screws(self, motion: Screws, f: np.ndarray, own_q: np.ndarray) -> None:
        """Screws that change, seen from their second frame, change what they take from the same wrench:  G_kᵀ f."""
        for k, (at, s) in enumerate(zip(motion.u, motion.S, strict=True)):
            for m, (row, t) in enumerate(zip(motion.u, motion.S, strict=True)):
                if motion.fixed:
                    own_q[row, at] = -(cross_motion(s, t) @ f)
                elif motion.drift is not None:
                    own_q[row, at] = motion.drift.G[k][m] @ f

    def _rotors(self, own_u: np.ndarray) -> None:
        """Gyroscopic forces of armatures, which are quadratic in u:  ∂r/∂u_k = r(u + e_k) − r(u) − r(e_k)."""
        for link in self.tree.links:
            if link.armature is None:
                continue
            own = self.u[link.u]
            still = self.al.zeros(len(own))

            def force(u: np.ndarray, link: Link = link, still: np.ndarray = still) -> np.ndarray:
                return link.armature * link.joint.rotor_rate(self.al, u, still)

            for k, e in enumerate(self.al.eye(len(own))):
                own_u[link.u, link.u.start + k] = force(own + e) - force(own) - force(e)


def _moved(drift: Drift, X: Pose) -> Drift:
    """The same drift in another frame."""
    return Drift(
        [[X.motion(x) for x in row] for row in drift.G],
        X.motion(drift.c),
        [X.motion(x) for x in drift.c_q],
        [X.motion(x) for x in drift.c_u],
    )
