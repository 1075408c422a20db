"""The rotation group SO(3): hat, exp, log and the derivative of exp.

Legend: r rotation vector (axis · angle, rad), R rotation matrix, θ = |r|, ω angular velocity in body axes.

The functions of θ that appear are even in θ, so they are written as functions of θ²; near zero a Taylor series takes
over, and both branches of the choice stay finite, so that derivatives by AD are finite too.

Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems", secs.
2-3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import Algebra

__all__ = ["cross", "dexp", "dexp_inverse", "exp", "hat", "log", "rotation_x", "rotation_y", "rotation_z", "vee"]

# Below this θ² the series of _SERIES_TERMS terms are exact to double precision.
_SMALL = 0.05
_SERIES_TERMS = 8


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b, for any scalars."""
    out = np.empty(3, dtype=np.result_type(a, b))
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def hat(al: Algebra, a: np.ndarray) -> np.ndarray:
    """The skew matrix â with â b = a × b."""
    return al.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def vee(al: Algebra, A: np.ndarray) -> np.ndarray:
    """The vector of the skew part of A; the inverse of ``hat``."""
    return al.array([(A[2, 1] - A[1, 2]) / 2, (A[0, 2] - A[2, 0]) / 2, (A[1, 0] - A[0, 1]) / 2])


def rotation_x(al: Algebra, angle: Any) -> np.ndarray:
    """Rotation by ``angle`` (rad) about x."""
    c, s = al.cos(angle), al.sin(angle)
    return al.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_y(al: Algebra, angle: Any) -> np.ndarray:
    """Rotation by ``angle`` (rad) about y."""
    c, s = al.cos(angle), al.sin(angle)
    return al.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rotation_z(al: Algebra, angle: Any) -> np.ndarray:
    """Rotation by ``angle`` (rad) about z."""
    c, s = al.cos(angle), al.sin(angle)
    return al.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def exp(al: Algebra, r: np.ndarray) -> np.ndarray:
    """Rotation matrix of a rotation vector (Rodrigues):  R = 1 + α r̂ + β r̂²."""
    alpha, beta, _ = coefficients(al, r)
    K = hat(al, r)
    return al.eye(3) + alpha * K + beta * (K @ K)


def log(al: Algebra, R: np.ndarray) -> np.ndarray:
    """Rotation vector of a rotation matrix, θ in [0, π]; well conditioned everywhere, next to π too."""
    from dalembert.spatial import quaternion

    return quaternion.log(al, quaternion.from_matrix(al, R))


def dexp(al: Algebra, r: np.ndarray) -> np.ndarray:
    """The matrix D(r) with body angular velocity ω = D(r) ṙ when R = exp(r):  D = 1 − β r̂ + γ r̂²."""
    _, beta, gamma = coefficients(al, r)
    K = hat(al, r)
    return al.eye(3) - beta * K + gamma * (K @ K)


def dexp_inverse(al: Algebra, r: np.ndarray) -> np.ndarray:
    """The inverse of ``dexp``:  D⁻¹ = 1 + r̂/2 + δ r̂²,  δ = (1 − α/(2β))/θ².  Singular at θ = 2π."""
    K = hat(al, r)
    return al.eye(3) + K / 2 + inverse_coefficient(al, r @ r) * (K @ K)


def coefficients(al: Algebra, r: np.ndarray) -> tuple[Any, Any, Any]:
    """α = sin θ/θ,  β = (1 − cos θ)/θ²,  γ = (θ − sin θ)/θ³."""
    x = r @ r
    small = al.less(x, _SMALL)
    safe = al.where(small, 1, x)
    theta = al.sqrt(safe)
    # 1 − cos θ = 2 sin²(θ/2) keeps its digits.
    half = al.sin(theta / 2)
    alpha = al.sin(theta) / theta
    beta = 2 * half * half / safe
    gamma = (1 - alpha) / safe
    return (
        al.where(small, _series(x, 1), alpha),
        al.where(small, _series(x, 2), beta),
        al.where(small, _series(x, 3), gamma),
    )


def inverse_coefficient(al: Algebra, x: Any) -> Any:
    """δ(θ²) = (1 − (θ/2) cot(θ/2))/θ²."""
    small = al.less(x, _SMALL)
    half = al.sqrt(al.where(small, 1, x)) / 2
    closed = (1 - half * al.cos(half) / al.sin(half)) / al.where(small, 1, x)
    # Taylor: δ = Σ |B₂ₖ| θ^(2k−2) / (2k)!
    bernoulli = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600)
    series: Any = 0
    for coefficient in reversed(bernoulli):
        series = series * x + coefficient
    return al.where(small, series, closed)


def _series(x: Any, n: int) -> Any:
    """Σ (−x)ᵏ / (2k + n)!, the even Taylor series of α (n=1), β (n=2), γ (n=3) in x = θ²."""
    total: Any = 0
    for k in reversed(range(_SERIES_TERMS)):
        total = 1 - x * total / ((2 * k + n + 1) * (2 * k + n + 2))
    return total / (1, 1, 2, 6)[n]
