"""Equations of Müller and Terze as they are printed: (20), (47), (48), (52), worked here from their definitions alone.

"Differential-geometric modelling and dynamic simulation of multibody systems", Strojarstvo 51 (2009) 597-612. The chain
is written with matrix exponentials and NumPy; nothing of dalembert takes part, except where its own form is compared.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da


def hat(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def wedge(X: np.ndarray) -> np.ndarray:
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = hat(X[:3]), X[3:]
    return out


def Ad(C: np.ndarray) -> np.ndarray:
    R, p = C[:3, :3], C[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [hat(p) @ R, R]])


def ad(X: np.ndarray) -> np.ndarray:
    return np.block([[hat(X[:3]), np.zeros((3, 3))], [hat(X[3:]), hat(X[:3])]])


class Chain:
    """Three hinges, world screws Y, inertia J about the world origin as drawn: CAD data, no frames of bodies."""

    def __init__(self, at_origin: bool):
        rng = np.random.default_rng(3)
        self.axes, self.points = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)) * (not at_origin)
        self.axes /= np.linalg.norm(self.axes, axis=1)[:, None]
        self.Y = [np.concatenate([w, np.cross(p, w)]) for w, p in zip(self.axes, self.points, strict=True)]
        self.masses, self.com = rng.uniform(1, 2, 3), rng.normal(size=(3, 3)) * (not at_origin)
        self.central = [np.diag(d) for d in ((0.5, 0.6, 0.7), (0.3, 0.4, 0.5), (0.8, 0.9, 1.0))]
        self.J = []
        for m, c, I in zip(self.masses, self.com, self.central, strict=True):
            self.J.append(np.block([[I - m * hat(c) @ hat(c), m * hat(c)], [-m * hat(c), m * np.eye(3)]]))

    def K(self, q: np.ndarray) -> list[np.ndarray]:
        """Of each body, in its own frame: K_a = Ad(C_k⁻¹) of the screw where it is now."""
        C, moved, out = np.eye(4), [], []
        for k in range(3):
            moved.append(Ad(C) @ self.Y[k])
            C = C @ expm(wedge(self.Y[k]) * q[k])
            back = np.linalg.inv(Ad(C))
            out.append(np.array([back @ s for s in moved] + [np.zeros(6)] * (2 - k)).T)
        return out

    def mass(self, q: np.ndarray) -> np.ndarray:
        return sum(K.T @ J @ K for K, J in zip(self.K(q), self.J, strict=True))

    def christoffel(self, q: np.ndarray) -> np.ndarray:
        """(46) by differences of the mass matrix."""
        h, dM = 1e-4, []
        for e in np.eye(3):
            near, far = (self.mass(q + s * h * e) - self.mass(q - s * h * e) for s in (1, 2))
            dM.append((8 * near - far) / (12 * h))
        d = np.array(dM)  # d[c, a, b] = ∂_c g_ab
        return (np.einsum("bac->abc", d) + np.einsum("cab->abc", d) - d) / 2


Q = np.array([0.4, -0.8, 1.1])
ALLOWED = [(a, b, c) for a in range(3) for b in range(3) for c in range(3) if a < b <= c or b <= a < c]


def symbol(chain: Chain, a: int, b: int, c: int, printed: bool) -> float:
    """(47), as printed, s and r of a and b; or with the smaller and the larger of b and c."""
    s, r = (min(a, b), max(a, b)) if printed else (min(b, c), max(b, c))
    total = 0.0
    for K, J in zip(chain.K(Q), chain.J, strict=True):
        Ka, Kb, Kc, Ks, Kr = (K[:, i] for i in (a, b, c, s, r))
        total += (Kc @ J @ ad(Ka) @ Kb + Kb @ J @ ad(Ka) @ Kc + Ka @ J @ ad(Ks) @ Kr) / 2
    return total


def test_47_holds_with_indices_of_b_and_c_only():
    chain = Chain(False)
    truth = chain.christoffel(Q)
    for a, b, c in ALLOWED:
        if a < b:
            assert symbol(chain, a, b, c, printed=False) == pytest.approx(truth[a, b, c], abs=1e-9)
    assert max(abs(symbol(chain, *i, printed=True) - truth[i]) for i in ALLOWED) > 0.1


def binet(chain: Chain, a: int, b: int, c: int) -> float:
    """(48): Binet's tensor ½ tr(Θ) − Θ at the mass center, and m, moved to the body's frame; ad of the angular part."""
    total = 0.0
    for K, m, com, I in zip(chain.K(Q), chain.masses, chain.com, chain.central, strict=True):
        back = np.linalg.inv(Ad(np.block([[np.eye(3), com[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])))
        tensor = back.T @ np.block(
            [[np.trace(I) / 2 * np.eye(3) - I, np.zeros((3, 3))], [np.zeros((3, 3)), m * np.eye(3)]]
        )
        w = np.concatenate([K[:3, c], np.zeros(3)])
        total += K[:, b] @ tensor @ back @ ad(w) @ K[:, a]
    return total


def test_48_holds_for_rotations_about_one_point_only():
    """All axes through one point, which is the mass center of all: then nothing moves but angles."""
    for at_origin in (True, False):
        chain = Chain(at_origin)
        truth = chain.christoffel(Q)
        worst = max(abs(abs(binet(chain, *i)) - abs(truth[i])) for i in ALLOWED if i[0] < i[1])
        assert (worst < 1e-9) == at_origin, worst


def test_52_needs_minus_b():
    """C u = Kᵀ(J K̇ − bᵀ J K) u gives the forces of the Christoffel symbols; with + they are others."""
    chain, u, h = Chain(False), np.array([0.7, -1.2, 0.5]), 1e-4
    forces = np.einsum("abc,b,c->a", chain.christoffel(Q), u, u)
    at = [chain.K(Q + n * h * u) for n in (-2, -1, 1, 2)]
    rate = [(8 * (p - m) - (pp - mm)) / (12 * h) for mm, m, p, pp in zip(*at, strict=True)]
    found = {}
    for sign in (-1, 1):
        parts = zip(chain.K(Q), rate, chain.J, strict=True)
        found[sign] = sum(K.T @ (J @ dK @ u + sign * ad(K @ u).T @ J @ K @ u) for K, dK, J in parts)
    np.testing.assert_allclose(found[-1], forces, atol=1e-8)
    assert abs(found[1] - forces).max() > 0.1


def test_20_holds_for_joints_that_run_with_the_tree():
    """N = exp(Y): N⁻¹ ∂N = dexp(Y) X; the second line, ∂N N⁻¹ = −dexp(Y) X, should read dexp(−Y) X."""
    rng, h = np.random.default_rng(5), 1e-5
    Y, X = rng.normal(size=6), rng.normal(size=6)
    dN = (expm(wedge(Y + h * X)) - expm(wedge(Y - h * X))) / (2 * h)
    left, right = np.linalg.inv(expm(wedge(Y))) @ dN, dN @ np.linalg.inv(expm(wedge(Y)))

    def dexp(Z: np.ndarray) -> np.ndarray:
        """Σ (−ad Z)ᵏ/(k + 1)!."""
        term, total = X.copy(), X.copy()
        for k in range(1, 40):
            term = -ad(Z) @ term / (k + 1)
            total = total + term
        return total

    np.testing.assert_allclose(left, wedge(dexp(Y)), atol=1e-8)
    np.testing.assert_allclose(right, wedge(dexp(-Y)), atol=1e-8)
    assert abs(right + wedge(dexp(Y))).max() > 0.1


def test_our_mass_matrix_and_forces_are_those_of_the_definitions():
    chain, u = Chain(False), np.array([0.7, -1.2, 0.5])
    model, before = da.Model("chain", gravity=(0, 0, 0)), "ground"
    for k, name in enumerate("abc"):
        model.body(name, mass=chain.masses[k], com=chain.com[k], inertia=chain.central[k])
        model.revolute(f"j{name}", before, name, point=chain.points[k], axis=chain.axes[k])
        before = name
    dynamics = da.compile(model, formulation="lie-group")
    np.testing.assert_allclose(dynamics.mass_matrix(Q), chain.mass(Q), atol=1e-12)
    forces = np.einsum("abc,b,c->a", chain.christoffel(Q), u, u)
    np.testing.assert_allclose(-dynamics.mass_matrix(Q) @ dynamics.acceleration(Q, u), forces, atol=1e-8)
