"""Spatial algebra as a list of axioms, each on every algebra, seed, angle and length scale.

An axiom is a function of the algebra and of a sample that returns two things which must be equal.
"""

from __future__ import annotations

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from support.algebras import ALGEBRAS, flat, run, trace_casadi

from dalembert.algebra import NUMPY
from dalembert.spatial import ArticulatedInertia, Inertia, Pose, quaternion, se3, so3
from dalembert.spatial.pose import cross_force, cross_motion

# Angles: the identity, next to it, both sides of the switch between series and closed form (θ² = 0.05), large ones,
# next to π and π itself.
SWITCH = float(np.sqrt(0.05))
SMALL = (0.0, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3)
ANGLES = (*SMALL, SWITCH * (1 - 1e-12), SWITCH * (1 + 1e-12), 1.0, 2.5, np.pi - 1e-3, np.pi - 1e-9, np.pi)
LENGTHS = (1e-3, 1.0, 1e3)
SEEDS = (0, 1)

# An axiom multiplies a handful of 6×6 matrices: some hundred roundings of numbers whose size is that of the sample.
ROUND_OFF = 2e-13

AXIOMS = {}


def axiom(function):
    AXIOMS[function.__name__] = function
    return function


def unit(rng: np.random.Generator, n: int = 3) -> np.ndarray:
    v = rng.normal(size=n)
    return v / np.linalg.norm(v)


def sample(seed: int, angle: float, length: float) -> dict[str, np.ndarray]:
    """Numbers of one experiment."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(3, 3))
    return {
        "r": angle * unit(rng),
        "xi": np.concatenate([angle * unit(rng), length * unit(rng)]),
        "eta": np.concatenate([unit(rng), length * unit(rng)]),
        "zeta": np.concatenate([0.7 * unit(rng), length * unit(rng)]),
        "V": np.concatenate([unit(rng), length * unit(rng)]),
        "W": np.concatenate([unit(rng), length * unit(rng)]),
        "F": np.concatenate([length * unit(rng), unit(rng)]),
        "c": length * unit(rng),
        "J": length**2 * (L @ L.T + np.eye(3)),
        "v": unit(rng),
    }


# Rotations


@axiom
def exp_is_a_rotation(al, s):
    R = so3.exp(al, s.r)
    det = R[0] @ so3.cross(R[1], R[2])
    return [R @ R.T, det], [al.eye(3), 1.0]


@axiom
def exp_of_minus_is_the_inverse(al, s):
    return so3.exp(al, -s.r), so3.exp(al, s.r).T


@axiom
def exp_leaves_its_axis(al, s):
    return so3.exp(al, s.r) @ s.r, s.r


@axiom
def exp_turns_by_the_right_hand(al, s):
    """R v = v + sin θ a×v + (1 − cos θ) a×(a×v), by the definition of α and β."""
    theta = al.sqrt(s.r @ s.r + 1e-300)
    a = s.r / theta
    turned = s.v + al.sin(theta) * so3.cross(a, s.v) + 2 * al.sin(theta / 2) ** 2 * so3.cross(a, so3.cross(a, s.v))
    return so3.exp(al, s.r) @ s.v, turned


def exp_of_log(group, al, x):
    X = group.exp(al, x)
    return group.exp(al, group.log(al, X)), X


@axiom
def exp_of_log_is_the_rotation(al, s):
    return exp_of_log(so3, al, s.r)


@axiom
def dexp_times_its_inverse(al, s):
    rotation = so3.dexp(al, s.r) @ so3.dexp_inverse(al, s.r)
    pose = se3.dexp(al, s.xi) @ se3.dexp_inverse(al, s.xi)
    return [rotation, pose], [al.eye(3), al.eye(6)]


@axiom
def dexp_satisfies_its_equation(al, s):
    """dexp(−r) = exp(r) dexp(r), and dexp(r) leaves r."""
    D = so3.dexp(al, s.r)
    return [so3.exp(al, s.r) @ D, D @ s.r], [so3.dexp(al, -s.r), s.r]


@axiom
def hat_and_vee(al, s):
    return [so3.hat(al, s.r) @ s.v, so3.vee(al, so3.hat(al, s.r))], [so3.cross(s.r, s.v), s.r]


@axiom
def rotations_about_axes_are_exponentials(al, s):
    angle = s.xi[3] / (1 + s.xi[3] * s.xi[3])
    e = al.eye(3)
    return (
        [so3.rotation_x(al, angle), so3.rotation_y(al, angle), so3.rotation_z(al, angle)],
        [so3.exp(al, angle * e[0]), so3.exp(al, angle * e[1]), so3.exp(al, angle * e[2])],
    )


# Quaternions


@axiom
def quaternion_of_a_rotation_vector(al, s):
    Q = quaternion.exp(al, s.r)
    return [Q @ Q, quaternion.to_matrix(al, Q)], [1.0, so3.exp(al, s.r)]


@axiom
def quaternion_from_matrix_and_back(al, s):
    R = so3.exp(al, s.r)
    Q = quaternion.from_matrix(al, R)
    return [quaternion.to_matrix(al, Q), Q @ Q], [R, 1.0]


@axiom
def quaternion_product_is_the_product_of_rotations(al, s):
    A, B = quaternion.exp(al, s.r), quaternion.exp(al, s.zeta[:3])
    C = quaternion.multiply(A, B)
    return (
        [quaternion.to_matrix(al, C), quaternion.multiply(C, quaternion.conjugate(al, B))],
        [so3.exp(al, s.r) @ so3.exp(al, s.zeta[:3]), A],
    )


@axiom
def quaternion_log_undoes_exp(al, s):
    return quaternion.log(al, quaternion.exp(al, s.r)), s.r


@axiom
def quaternion_and_its_negative_turn_alike(al, s):
    Q = quaternion.exp(al, s.r)
    return quaternion.to_matrix(al, quaternion.shortest(al, -Q)), quaternion.to_matrix(al, Q)


@axiom
def normalize_has_length_one_and_keeps_the_direction(al, s):
    Q = quaternion.exp(al, s.r)
    return quaternion.normalize(al, 3 * Q), Q


# Poses


@axiom
def poses_form_a_group(al, s):
    X, Y, Z = (se3.exp(al, x) for x in (s.xi, s.eta, s.zeta))
    e = Pose.identity(al)
    return [(X @ Y) @ Z, X @ X.inverse(), X @ e, e @ X], [X @ (Y @ Z), e, X, X]


@axiom
def apply_is_composition(al, s):
    X, Y = se3.exp(al, s.xi), se3.exp(al, s.zeta)
    return [X.apply(Y.apply(s.c)), X.inverse().apply(X.apply(s.c))], [(X @ Y).apply(s.c), s.c]


@axiom
def pose_exp_of_log(al, s):
    return exp_of_log(se3, al, s.xi)


@axiom
def pose_exp_of_minus_is_the_inverse(al, s):
    return se3.exp(al, -s.xi), se3.exp(al, s.xi).inverse()


@axiom
def pose_exp_of_half_squared(al, s):
    H = se3.exp(al, s.xi / 2)
    return H @ H, se3.exp(al, s.xi)


@axiom
def a_screw_leaves_its_axis(al, s):
    """Turning about an axis through c leaves c; the pitch advances along it."""
    a = s.v
    xi = se3.screw(al, a, s.c, 0.25)
    return se3.exp(al, 1.3 * xi).apply(s.c), s.c + 1.3 * 0.25 * a


@axiom
def pose_dexp_satisfies_its_equation(al, s):
    """Ad(exp ξ) dexp(ξ) = dexp(−ξ), and dexp(ξ) leaves ξ."""
    D = se3.dexp(al, s.xi)
    return [se3.exp(al, s.xi).adjoint(al) @ D, D @ s.xi], [se3.dexp(al, -s.xi), s.xi]


@axiom
def adjoint_of_a_product(al, s):
    X, Y = se3.exp(al, s.xi), se3.exp(al, s.zeta)
    return [(X @ Y).adjoint(al), X.inverse().adjoint(al) @ X.adjoint(al)], [X.adjoint(al) @ Y.adjoint(al), al.eye(6)]


@axiom
def motion_is_the_adjoint(al, s):
    X = se3.exp(al, s.xi)
    return (
        [X.motion(s.V), X.motion_inverse(X.motion(s.V)), X.motion_inverse(s.V)],
        [X.adjoint(al) @ s.V, s.V, X.inverse().motion(s.V)],
    )


@axiom
def force_is_the_transposed_inverse_adjoint(al, s):
    X = se3.exp(al, s.xi)
    return (
        [X.force(s.F), X.force_inverse(X.force(s.F)), X.force_inverse(s.F)],
        [X.inverse().adjoint(al).T @ s.F, s.F, X.inverse().force(s.F)],
    )


@axiom
def power_does_not_depend_on_the_frame(al, s):
    X = se3.exp(al, s.xi)
    return X.motion(s.V) @ X.force(s.F), s.V @ s.F


@axiom
def bracket_is_ad(al, s):
    return (
        [cross_motion(s.V, s.W), cross_motion(s.V, s.V), cross_motion(s.V, s.W)],
        [se3.ad(al, s.V) @ s.W, al.zeros(6), -cross_motion(s.W, s.V)],
    )


@axiom
def cross_force_is_dual_to_the_bracket(al, s):
    return [cross_force(s.V, s.F), cross_force(s.V, s.F) @ s.W], [
        -se3.ad(al, s.V).T @ s.F,
        -(s.F @ cross_motion(s.V, s.W)),
    ]


@axiom
def bracket_moves_with_the_frame(al, s):
    X = se3.exp(al, s.xi)
    return X.motion(cross_motion(s.V, s.W)), cross_motion(X.motion(s.V), X.motion(s.W))


@axiom
def jacobi_identity(al, s):
    a, b, c = s.V, s.W, s.eta
    total = (
        cross_motion(a, cross_motion(b, c)) + cross_motion(b, cross_motion(c, a)) + cross_motion(c, cross_motion(a, b))
    )
    return total, al.zeros(6)


# Inertia


@axiom
def inertia_applied_is_its_matrix(al, s):
    I = Inertia(1.7, s.c, s.J)
    return [I.apply(s.V), I.matrix(al), I.energy(s.V)], [I.matrix(al) @ s.V, I.matrix(al).T, s.V @ I.apply(s.V) / 2]


@axiom
def inertia_moves_with_the_frame(al, s):
    X, I = se3.exp(al, s.xi), Inertia(1.7, s.c, s.J)
    A = X.inverse().adjoint(al)
    return [I.moved(X).matrix(al), I.moved(X).apply(X.motion(s.V))], [A.T @ I.matrix(al) @ A, X.force(I.apply(s.V))]


@axiom
def kinetic_energy_does_not_depend_on_the_frame(al, s):
    X, I = se3.exp(al, s.xi), Inertia(1.7, s.c, s.J)
    center = s.V[3:] + so3.cross(s.V[:3], s.c)
    koenig = 1.7 * (center @ center) / 2 + s.V[:3] @ (s.J @ s.V[:3]) / 2
    return [I.moved(X).energy(X.motion(s.V)), I.energy(s.V)], [I.energy(s.V), koenig]


@axiom
def inertia_about_the_origin_is_the_same_inertia(al, s):
    X, I = se3.exp(al, s.xi), Inertia(1.7, s.c, s.J)
    R = I.about_origin(al)
    return (
        [R.apply(s.V), R.energy(s.V), R.bias(s.V), R.moved(al, X).apply(s.V)],
        [I.apply(s.V), I.energy(s.V), I.bias(s.V), I.moved(X).apply(s.V)],
    )


@axiom
def inertias_add_up(al, s):
    I, K = Inertia(1.7, s.c, s.J).about_origin(al), Inertia(0.4, -s.c / 2, 2 * s.J).about_origin(al)
    both = ArticulatedInertia.from_rigid(al, I) + ArticulatedInertia.from_rigid(al, K)
    expected = I.apply(s.V) + K.apply(s.V)
    return [(I + K).apply(s.V), both.apply(s.V)], [expected, expected]


@axiom
def articulated_inertia_moves_with_the_frame(al, s):
    """I' = X* I X⁻¹, also for an inertia that is no rigid body's: with one direction taken out."""
    X, I = se3.exp(al, s.xi), ArticulatedInertia.from_rigid(al, Inertia(1.7, s.c, s.J).about_origin(al))
    U = I.apply(s.W)
    W = U / (s.W @ U)
    cut = I.without(U.reshape(6, 1), W.reshape(1, 6))
    return (
        [cut.apply(s.V), cut.apply(s.W), cut.moved(al, X).apply(X.motion(s.V))],
        [I.apply(s.V) - U * (W @ s.V), al.zeros(6), X.force(cut.apply(s.V))],
    )


@axiom
def gyroscopic_wrench_has_no_power(al, s):
    I = Inertia(1.7, s.c, s.J)
    return I.bias(s.V) @ s.V, 0.0


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("name", AXIOMS)
def test_axiom(name, algebra):
    # SymPy is slow; its path is the same text, so fewer experiments do.
    grid = [(s, a, l) for s in SEEDS for a in ANGLES for l in LENGTHS]
    if algebra == "sympy":
        grid = [(0, a, 1.0) for a in ANGLES]
    keys = tuple(sample(0, 0.0, 1.0))

    def both(al, *arrays):
        left, right = (flat(side) for side in AXIOMS[name](al, SimpleNamespace(**dict(zip(keys, arrays, strict=True)))))
        assert len(left) == len(right)
        return [left, right]

    traced = trace_casadi(both, *sample(0, 0.0, 1.0).values()) if algebra == "casadi" else None
    for seed, angle, length in grid:
        values = sample(seed, angle, length).values()
        result = traced(*values) if traced else run(algebra, both, *values)
        left, right = np.split(result, 2)
        # Numbers as large as length × the result cancel on the way.
        scale = np.maximum(np.abs(left), np.abs(right)).max(initial=1.0) * max(1.0, length)
        np.testing.assert_allclose(
            left,
            right,
            rtol=0,
            atol=ROUND_OFF * scale,
            err_msg=f"{name} on {algebra}: seed {seed}, angle {angle}, length {length}",
        )


# Log of exp, where it is unique


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("angle", ANGLES)
def test_log_undoes_exp_below_half_a_turn(algebra, angle):
    values = sample(3, angle, 1.0)
    got = run(
        algebra,
        lambda al, r, xi: [so3.log(al, so3.exp(al, r)), se3.log(al, se3.exp(al, xi))],
        values["r"],
        values["xi"],
    )
    expected = np.concatenate([values["r"], values["xi"]])
    if angle == np.pi:
        # Half a turn about a and about −a are the same rotation.
        assert abs(np.linalg.norm(got[:3]) - np.pi) < 1e-14 * 10
        np.testing.assert_allclose(np.abs(got[:3] @ values["r"]), np.pi**2, rtol=1e-14)
        return
    # Next to the identity the error of a matrix with entries near one is absolute.
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-6, 1e-3])
def test_small_rotations_keep_their_digits(algebra, angle):
    """log(exp(r)) is relative to r, not to one: the off-diagonal entries of R carry all digits."""
    r = angle * unit(np.random.default_rng(5))
    got = run(algebra, lambda al, r: so3.log(al, so3.exp(al, r)), r)
    np.testing.assert_allclose(got, r, rtol=1e-14 * 10, atol=0)


# Derivatives


STEP = 1e-3  # of the five-point difference
# The five-point difference has the error h⁴ f⁽⁵⁾/30 ≈ 3e-14·f⁽⁵⁾ and the round-off 1e-16/h.
DIFFERENCE_ERROR = 2e-11


def slope(function, n: int = 1):
    """Derivative at 0 by five points."""
    f = {k: function(k * STEP) for k in (-2, -1, 1, 2)}
    return (f[-2] - 8 * f[-1] + 8 * f[1] - f[2]) / (12 * STEP)


@pytest.mark.parametrize("angle", [a for a in ANGLES if a < np.pi - 0.01] + [3.5, 5.0])
def test_dexp_is_the_derivative_of_exp(angle):
    """ω̂ = Rᵀ Ṙ with ω = dexp(r) ṙ, and V̂ = X⁻¹ Ẋ with V = dexp(ξ) ξ̇."""
    values = sample(7, angle, 1.0)
    r, xi, dr, dxi = values["r"], values["xi"], values["v"], values["V"]
    R = so3.exp(NUMPY, r)
    W = R.T @ slope(lambda h: so3.exp(NUMPY, r + h * dr))
    np.testing.assert_allclose(so3.vee(NUMPY, W), so3.dexp(NUMPY, r) @ dr, atol=DIFFERENCE_ERROR)
    X = se3.exp(NUMPY, xi)
    W = X.R.T @ slope(lambda h: se3.exp(NUMPY, xi + h * dxi).R)
    v = X.R.T @ slope(lambda h: se3.exp(NUMPY, xi + h * dxi).p)
    V = np.concatenate([so3.vee(NUMPY, W), v])
    np.testing.assert_allclose(V, se3.dexp(NUMPY, xi) @ dxi, atol=DIFFERENCE_ERROR)


@pytest.mark.parametrize("angle", ANGLES)
def test_dexp_is_its_series(angle):
    """dexp(ξ) = Σ (−1)ᵏ adᵏ/(k+1)!, summed until it stops changing."""
    xi = sample(11, angle, 1.0)["xi"]
    ad, term, total = se3.ad(NUMPY, xi), np.eye(6), np.eye(6)
    for k in range(1, 60):
        term = -term @ ad / (k + 1)
        total = total + term
    np.testing.assert_allclose(se3.dexp(NUMPY, xi), total, atol=1e-12)
    np.testing.assert_allclose(so3.dexp(NUMPY, xi[:3]), total[:3, :3], atol=1e-12)


@pytest.mark.parametrize(
    "angle", [1e-9, 1e-4, 0.05, 0.15, *(SWITCH * x for x in (0.9, 1 - 1e-12, 1 + 1e-12, 1.1)), 1.0, 3.0]
)
def test_coefficients_keep_their_digits(angle):
    """α, β, γ, δ and the rates of β and γ by definition with fifty digits, on both sides of the switch to series."""
    with mpmath.workdps(50):
        x = mpmath.mpf(angle)
        a, b = mpmath.sin(x) / x, (1 - mpmath.cos(x)) / x**2
        c, d = (x - mpmath.sin(x)) / x**3, (1 - x / 2 * mpmath.cot(x / 2)) / x**2
        expected = [float(v) for v in (a, b, c, d, (a - 2 * b) / x**2, (b - 3 * c) / x**2)]
    r = np.array([angle, 0.0, 0.0])
    got = [*so3.coefficients(NUMPY, r), so3.inverse_coefficient(NUMPY, angle**2), *se3._coefficient_rates(NUMPY, r)]
    # Above the switch the closed forms of γ and δ keep 1/200 of what they subtract, those of the rates 1/200 of that.
    np.testing.assert_allclose(got[:4], expected[:4], rtol=200 * 5e-16)
    np.testing.assert_allclose(got[4:], expected[4:], rtol=1e-12)


def test_quaternion_rate_is_the_derivative():
    values = sample(13, 1.0, 1.0)
    Q, w = quaternion.exp(NUMPY, values["r"]), values["v"]
    got = slope(lambda h: quaternion.multiply(Q, quaternion.exp(NUMPY, h * w)))
    np.testing.assert_allclose(got, quaternion.rate(NUMPY, Q, w), atol=DIFFERENCE_ERROR)


def test_casadi_derivatives_are_finite_at_the_identity():
    """Both branches of every choice stay finite, or automatic differentiation gives nan."""
    import casadi as ca

    from dalembert.algebra.casadi_algebra import CASADI

    symbol, xi = CASADI.symbols("xi", 6)
    X = se3.exp(CASADI, xi)
    for result in (
        flat(X), flat(se3.dexp(CASADI, xi)), flat(se3.dexp_inverse(CASADI, xi)), flat(so3.log(CASADI, X.R)),
        flat(quaternion.exp(CASADI, xi[:3])), flat(se3.log(CASADI, X)),
    ):  # fmt: skip
        J = ca.Function("J", [symbol], [ca.jacobian(CASADI.to_sx(np.array(result, dtype=object)), symbol)])
        for point in (np.zeros(6), 1e-9 * np.ones(6), np.array([1.0, 0.5, 0.2, 1, 2, 3])):
            assert np.isfinite(np.array(J(point))).all()
    J = ca.Function("J", [symbol], [ca.jacobian(CASADI.to_sx(se3.log(CASADI, X)), symbol)])
    np.testing.assert_allclose(np.array(J(np.zeros(6))), np.eye(6), atol=1e-12)


# The four branches of quaternion.from_matrix


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("largest", range(4))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_quaternion_of_a_matrix_in_each_branch(algebra, largest, sign):
    Q = np.array([0.2, -0.3, 0.25, 0.15])
    Q[largest] = sign * 0.9
    Q /= np.linalg.norm(Q)
    got = run(algebra, lambda al, Q: quaternion.from_matrix(al, quaternion.to_matrix(al, Q)), Q)
    assert got[0] >= 0
    np.testing.assert_allclose(got, Q if Q[0] > 0 else -Q, atol=1e-15 * 10)


@pytest.mark.parametrize("algebra", ALGEBRAS)
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (0, -0.6, 0.8), (0.6, 0, -0.8)])
def test_half_a_turn(algebra, axis):
    """Where w = 0 the other branches carry the quaternion."""
    a = np.array(axis, dtype=float)
    R = 2 * np.outer(a, a) - np.eye(3)
    Q = run(algebra, lambda al, R: quaternion.from_matrix(al, R), R)
    np.testing.assert_allclose(np.abs(Q @ [0, *a]), 1.0, atol=1e-15 * 10)
    r = run(algebra, lambda al, R: so3.log(al, R), R)
    np.testing.assert_allclose(np.outer(r, r), np.pi**2 * np.outer(a, a), atol=1e-13)
