"""The group of poses SE(3): screws, exp, log and the derivative of exp.

Legend: ξ = (ρ, η) screw coordinates, angular first;  D = so3.dexp(ρ), T(ρ, η) its companion block.

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems", secs.
2-3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra
from dalembert.spatial import so3
from dalembert.spatial.pose import Pose
from dalembert.spatial.so3 import cross, hat

__all__ = ["ad", "dexp", "dexp_inverse", "exp", "log", "screw"]


def screw(al: Algebra, axis: np.ndarray, point: np.ndarray, pitch: Any = 0) -> np.ndarray:
    """Screw coordinates of a unit axis through a point:  (a, p × a + h a), pitch h in m/rad."""
    return al.concatenate([axis, cross(point, axis) + pitch * axis])


def ad(al: Algebra, V: np.ndarray) -> np.ndarray:
    """The 6×6 matrix of the Lie bracket:  ad(V) W = V × W."""
    w, v = hat(al, V[:3]), hat(al, V[3:])
    return np.block([[w, al.zeros(3, 3)], [v, w]])


def exp(al: Algebra, xi: np.ndarray) -> Pose:
    """The pose reached by the constant body twist ξ in unit time:  (exp ρ, Dᵀ(ρ) η)."""
    return Pose(so3.exp(al, xi[:3]), so3.dexp(al, xi[:3]).T @ xi[3:])


def log(al: Algebra, X: Pose) -> np.ndarray:
    """Screw coordinates of a pose, rotation angle in [0, π]; the inverse of ``exp``."""
    r = so3.log(al, X.R)
    return al.concatenate([r, so3.dexp_inverse(al, r).T @ X.p])


def dexp(al: Algebra, xi: np.ndarray) -> np.ndarray:
    """The 6×6 matrix with body twist V = dexp(ξ) ξ̇ when X = exp(ξ)."""
    D = so3.dexp(al, xi[:3])
    return np.block([[D, al.zeros(3, 3)], [_companion(al, xi), D]])


def dexp_inverse(al: Algebra, xi: np.ndarray) -> np.ndarray:
    """The inverse of ``dexp``."""
    D = so3.dexp_inverse(al, xi[:3])
    return np.block([[D, al.zeros(3, 3)], [-D @ _companion(al, xi) @ D, D]])


def _companion(al: Algebra, xi: np.ndarray) -> np.ndarray:
    """T: the derivative of D = 1 − β r̂ + γ r̂² along η.

    T = −β η̂ + γ (r̂ η̂ + η̂ r̂) + (r·η)(−β' r̂ + γ' r̂²), primes by (1/θ) d/dθ.
    """
    r, eta = xi[:3], xi[3:]
    _, beta, gamma = so3.coefficients(al, r)
    beta_rate, gamma_rate = _coefficient_rates(al, r)
    K, E = hat(al, r), hat(al, eta)
    return -beta * E + gamma * (K @ E + E @ K) + (r @ eta) * (gamma_rate * (K @ K) - beta_rate * K)


def _coefficient_rates(al: Algebra, r: np.ndarray) -> tuple[Any, Any]:
    """(1/θ) dβ/dθ = (α − 2β)/θ²  and  (1/θ) dγ/dθ = (β − 3γ)/θ²."""
    x = r @ r
    alpha, beta, gamma = so3.coefficients(al, r)
    small = al.less(x, 0.05)
    safe = al.where(small, 1, x)
    # Σ (−1)ᵏ⁺¹ 2(k+1) xᵏ / (2k + n)!  with n = 4 (β) and n = 5 (γ)
    series = []
    for n in (4, 5):
        total: Any = 0
        factorial = 1.0
        for i in range(1, n + 1):
            factorial *= i
        term: Any = -2 / factorial
        for k in range(8):
            total = total + term * (k + 1)
            term = -term * x / ((2 * k + n + 1) * (2 * k + n + 2))
        series.append(total)
    return (
        al.where(small, series[0], (alpha - 2 * beta) / safe),
        al.where(small, series[1], (beta - 3 * gamma) / safe),
    )
