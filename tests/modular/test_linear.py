"""Direct linearization of subsystems: worked cases with their numbers (acceptance checks 6–8, 17–20), and against
differences of the nonlinear system on the manifold of its invariants."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq
from sympy import cos, sin

import dalembert as da
from dalembert.bench import reference_data
from dalembert.errors import ModelError
from dalembert.modular import LeastSquares
from dalembert.modular.linear_rows import numbers_of, reference
from dalembert.modular.linear_tree import LinearSystem

G = 9.8
WHIPPLE = reference_data("whipple_bicycle")
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # central differences of order 8
STEP = 0.01


def slope(function: Any, step: float = STEP) -> Any:
    return sum(c * (function(i * step) - function(-i * step)) for i, c in STENCIL.items()) / step


# Systems


def pendulum(version: int, length: float = 2.0) -> da.Subsystem:
    """The spherical pendulum, x down; 4: with the square of speed in its acceleration, as example 4.6 writes it."""
    P = da.Subsystem("P")
    m, g, r = P.parameters(m=1, g=G, r=length)
    if version == 1:
        phi, theta = P.coordinates("phi theta")
        s, c = sin(theta), cos(theta)
        P.effective_forces({theta: -m * r**2 * (theta.dd - s * c * phi.d**2) - m * g * r * s,
                            phi: -m * r**2 * (s**2 * phi.dd + 2 * s * c * theta.d * phi.d)})  # fmt: skip
        return P
    x, y, z = P.coordinates("x y z")
    P.effective_forces({x: m * g - m * x.dd, y: -m * y.dd, z: -m * z.dd})
    if version == 2:
        P.invariant(x**2 + y**2 + z**2 - r**2)
        return P
    v = P.quasi_velocity("v")
    P.invariant(x**2 + y**2 + z**2 - r**2 if version == 3 else x * x.dd + y * y.dd + z * z.dd + v)
    P.invariant(x.d**2 + y.d**2 + z.d**2 - v)
    return P


def ring_and_disc(ratio: float = 8 / 67, xi: float = float(np.arcsin(0.8))) -> da.Subsystem:
    """A disc that rolls inside a ring that rolls down a slope (examples 4.2 and 4.7)."""
    S = da.Subsystem("S")
    for name, mass, radius, share in (("ring", 0.67, 1.0, 1.0), ("disc", 0.67 * ratio, 0.3, 0.5)):
        part = da.Subsystem(name)
        m, r, angle, g = part.parameters(m=mass, r=radius, xi=xi, g=G)
        u, v, omega = part.quasi_velocity("u v omega")
        part.effective_forces({u: m * (g * sin(angle) - u.d), v: m * (-g * cos(angle) - v.d),
                               omega: -share * m * r**2 * omega.d})  # fmt: skip
        if name == "ring":
            part.invariants(v, u + r * omega)
        S.include(part)
    theta, ring, disc = S.coordinates("theta"), S.ring, S.disc
    s, c, slip = sin(ring.xi - theta), cos(ring.xi - theta), ring.r * ring.omega - disc.r * disc.omega
    S.invariants(
        ring.u - disc.u + c * slip, ring.v - disc.v + s * slip, disc.u - ring.u + (ring.r - disc.r) * c * theta.d
    )
    return S


def two_masses(linear_leaf: bool = False) -> da.Subsystem:
    """Two equal point masses on rods of one length: planar, y down; the upper one perhaps already linear."""
    S = da.Subsystem("S")
    for name in ("a", "b"):
        part = da.Subsystem(name)
        m, g = part.parameters(m=1.5, g=G)
        x, y = part.coordinates("x y")
        part.effective_forces({x: -m * x.dd, y: m * g - m * y.dd})
        S.include(part)
    l = S.parameters(l=0.7)
    a, b = S.coordinates("alpha beta")
    sa, ca_, sb, cb = (a, 1 - a**2 / 2, b, 1 - b**2 / 2) if linear_leaf else (sin(a), cos(a), sin(b), cos(b))
    S.invariants(S.a.x - l * sa, S.a.y - l * ca_, S.b.x - l * (sa + sb), S.b.y - l * (ca_ + cb))
    S.independent(a.d, b.d)
    return S


def _turn(axis: str, angle: Any) -> sp.Matrix:
    c, s, i = cos(angle), sin(angle), "xyz".index(axis)
    R, (a, b) = sp.eye(3), ((i + 1) % 3, (i + 2) % 3)
    R[a, a], R[a, b], R[b, a], R[b, b] = c, -s, s, c
    return R


def wheel(name: str, radius: float, **values: float) -> da.Subsystem:
    """A disc with a knife edge that rolls on the ground; z down."""
    E = da.leaves.rigid_body(name, "zxy", gravity=0.0, inertia="cylindrical y", **values)
    r = E.parameters(r=radius)
    psi, phi, _ = E.a
    down = _turn("z", psi) * _turn("x", phi) * sp.Matrix([0, 0, r])
    slip = sp.Matrix(list(E.v)) + (da.leaves.rotation(E) * sp.Matrix(list(E.omega))).cross(down)
    E.invariant(E.p.z + r * cos(phi), "contact")
    E.invariants(slip[0], slip[1])
    return E


@functools.cache
def whipple() -> da.Subsystem:
    """The benchmark bicycle as the tree {A = {B, H}, R, F}: x ahead, y to the right, z down."""
    B = da.leaves.rigid_body("B", "zxy", 0.0, "xz plane", m=85, Ixx=9.2, Iyy=11.0, Izz=2.8, Ixz=2.4, g=9.81)
    H = da.leaves.rigid_body("H", "position", 0.0, "xz plane", m=4, Ixx=0.05892, Iyy=0.06, Izz=0.00708, Ixz=-0.00756,
                             g=9.81)  # fmt: skip
    A = da.Subsystem("A")
    A.include(B)
    A.include(H)
    w, c, lam, rR, rF = A.parameters(w=1.02, c=0.08, lam=float(np.pi / 10), rR=0.3, rF=0.35)
    q = x, y, z, psi, phi, theta, delta = A.coordinates("x y z psi phi theta delta")
    tilt, center = _turn("y", lam), sp.Matrix([x, y, z])  # the center of the rear wheel
    frame = _turn("z", psi) * _turn("x", phi) * _turn("y", theta)
    steer = tilt * _turn("z", delta) * tilt.T
    rear, head = sp.Matrix([0, 0, -rR]), sp.Matrix([w + c, 0, 0])

    def on_frame(*place: Any) -> sp.Matrix:
        return center + frame * (sp.Matrix(place) - rear)

    def on_fork(*place: Any) -> sp.Matrix:
        return on_frame(*head) + frame * steer * (sp.Matrix(place) - head)

    places = {"B": on_frame(0.3, 0, -0.9), "H": on_fork(0.9, 0, -0.7)}
    omega = steer.T * sp.Matrix(list(A.B.omega)) + tilt * sp.Matrix([0, 0, delta.d])
    for k in range(3):
        A.invariants(A.B.p[k] - places["B"][k], A.B.a[k] - (psi, phi, theta)[k])
        A.invariants(A.H.p[k] - places["H"][k], A.H.omega[k] - omega[k])
    A.independent(*(one.d for one in q))
    A.effective_forces({delta: A.input("steering")})
    T = da.Subsystem("T")
    T.include(A)
    T.include(wheel("R", 0.3, m=2, Ia=0.12, It=0.0603, g=9.81))
    T.include(wheel("F", 0.35, m=3, Ia=0.28, It=0.1405, g=9.81))
    T.parameters(v=5.0)
    seen = {one: getattr(T.A, one.name) for one in (*q, w, c, lam, rR, rF)}
    across = sp.Matrix([0, 1, 0])
    hubs = (("R", center, frame), ("F", on_fork(w, 0, -rF), frame * steer))
    for name, place, axes in hubs:
        part = getattr(T, name)
        turned = da.leaves.rotation(part) * across - (axes * across).xreplace(seen)
        for k in range(3):
            T.invariants(part.p[k] - place.xreplace(seen)[k], turned[k])
    T.independent(T.A.x.d, T.A.phi.d, T.A.delta.d)
    return T


# Worked cases


def test_pendulum_about_its_lowest_position():
    linear = da.linearize(pendulum(3), {"x": 2.0, "y": 0, "z": 0})
    assert linear.kind == "equilibrium" and linear.states == ("y", "z", "y.d", "z.d")
    np.testing.assert_allclose(linear.A[2:, :2], -G / 2 * np.eye(2), atol=1e-13)


def test_pendulum_where_it_does_not_rest():
    """Check 6: the invariants are linearized as they stand; all variables are states."""
    a = 2.0
    at = {"x": 0.8 * a, "y": 0.6 * a, "z": 0}
    linear = da.linearize(pendulum(4, a), at, states="all")
    assert linear.states == ("x", "y", "z", "x.d", "y.d", "z.d", "v") and "no equilibrium" in linear.kind
    rows = np.array([
        [-72 * G / 125 / a, 96 * G / 125 / a, 0, 0, 0, 0, -4 / 5 / a],
        [21 * G / 125 / a, -28 * G / 125 / a, 0, 0, 0, 0, -3 / 5 / a],
        [0, 0, -4 * G / 5 / a, 0, 0, 0, 0], [0, 0, 0, 18 * G / 25, -24 * G / 25, 0, 0],
    ])  # fmt: skip
    np.testing.assert_allclose(linear.A[3:], rows, atol=1e-12)
    w = 4 * G / 5 / a
    np.testing.assert_allclose(np.poly(linear.A), [1, 0, 2 * w, 0, w**2, 0, 0, 0], atol=1e-11)
    np.testing.assert_allclose(linear.rates[3:], [9 * G / 25, -12 * G / 25, 0, 0], atol=1e-12)


def test_ring_and_disc():
    """Check 7."""
    linear = da.linearize(ring_and_disc(), {"theta": float(np.arcsin(0.6))}, states="all")
    rates = dict(zip(linear.states, linear.rates, strict=True))
    assert rates["ring.u"] == pytest.approx(294 / 73, abs=1e-12)
    column = dict(zip(linear.states, linear.A[:, linear.states.index("theta")], strict=True))
    assert column["theta.d"] == pytest.approx(-125000 / 18031, abs=1e-10)
    expected = {
        "ring.u": -0.38822028728,
        "disc.u": 4.27042316011,
        "disc.v": 1.35877100549,
        "disc.omega": -14.8817776792,
    }
    for name, value in expected.items():
        assert column[name] == pytest.approx(value, abs=1e-10)
    values = linear.eigenvalues()
    assert np.sum(values == 0) == 6 and values.imag.max() == pytest.approx(2.63296508333, abs=1e-10)


@pytest.mark.parametrize(
    ("ratio", "degrees", "frequency"),
    [(1e-8, 35.542149, 2.54289658), (8 / 67, 36.869898, 2.632965083), (0.5, 40.030061, 2.906603855),
     (1.0, 42.700089, 3.237230396), (5.0, 49.173290, 5.207239466)],
)  # fmt: skip
def test_charts_of_ring_and_disc(ratio, degrees, frequency):
    """Check 8: where the disc stays, and how fast it swings about that."""
    system = ring_and_disc(ratio)

    def acceleration(theta: float) -> float:
        linear = da.linearize(system, {"theta": theta})
        return float(linear.rates[linear.states.index("theta.d")])

    theta = brentq(acceleration, 0.4, 0.92, xtol=1e-14)
    assert np.degrees(theta) == pytest.approx(degrees, abs=1e-6)
    found = da.linearize(system, {"theta": theta}).eigenvalues().imag.max()
    assert found == pytest.approx(frequency, abs=1e-7 if ratio < 1e-6 else 1e-8)  # nearly no mass: fewer digits


@pytest.mark.parametrize("already", [False, True])
def test_double_pendulum(already):
    """Check 17; the same from relations that are given to the order that matters."""
    values = da.linearize(two_masses(already), {"alpha": 0, "beta": 0}).eigenvalues()
    found = sorted(set(np.round(np.abs(values) ** 2 * 0.7 / G, 10)))
    np.testing.assert_allclose(found, [2 - np.sqrt(2), 2 + np.sqrt(2)], atol=1e-9)


def test_whipple_bicycle_as_a_tree():
    """Check 18: the published matrices, from linear parts."""
    linear = da.linearize(whipple(), {"A.x.d": "v", "A.z": -0.3})
    assert linear.kind == "steady motion" and not linear.residual
    assert linear.inputs == ("A.steering",)
    second = linear.second_order("v")
    assert second.coordinates == ("A.phi", "A.delta")
    published = {name: np.array(WHIPPLE["matrices"]["published"][name]) for name in ("M", "C1", "K0", "K2")}
    for name, factor in (("M", 1.0), ("C1", 1.0), ("K0", 9.81), ("K2", 1.0)):
        np.testing.assert_allclose(getattr(second, name), factor * published[name], rtol=0, atol=1e-10)
    # Steering torque: M⁻¹ e₂
    rates = [linear.states.index(name) for name in ("A.phi.d", "A.delta.d")]
    np.testing.assert_allclose(linear.B[rates, 0], np.linalg.inv(second.M)[:, 1], rtol=1e-10)


@pytest.mark.slow
def test_tricycle():
    """Check 19. The expected digits agree to 5e-6: they are those of differences of complements with some step, while
    ours are exact (see below). The printed data do not close, so heading matters, which it cannot: it is left out."""
    linear = da.linearize(da.library.tricycle(), {"x.d": "v"}, incompatible="least-squares")
    assert linear.kind == "steady motion"
    second = linear.without("A.psi").second_order("v", coordinates=["A.phi", "A.delta"])
    expected = {
        "M": [[92.617421, 1.993001], [1.993001, 0.288191]], "C1": [[31.913507, 39.342722], [-0.253183, 1.187140]],
        "K0": [[-89.541466, -2.388778], [-2.169376, -0.310602]], "K2": [[42.237957, 50.727282], [0.912616, 1.096044]],
    }  # fmt: skip
    for name, values in expected.items():
        found = getattr(second, name) / (9.81 if name == "K0" else 1)
        np.testing.assert_allclose(found, values, rtol=1e-5)
    values = linear.without("A.psi").eigenvalues(v=5.0)
    wanted = [-7.649195, -0.506272 - 5.767511j, -0.506272 + 5.767511j, -0.414527]
    np.testing.assert_allclose([v for v in values if v != 0], wanted, atol=1e-5)
    M, C1, K0, K2 = second

    def modes(v: float) -> tuple[np.ndarray, np.ndarray]:
        A = np.block(
            [[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K0 + v**2 * K2), -np.linalg.solve(M, v * C1)]]
        )
        return np.linalg.eig(A)

    def weave(v: float) -> float:
        found = modes(v)[0]
        return float(found[np.abs(found.imag) > 1e-9].real.max())

    assert brentq(weave, 3.0, 5.0) == pytest.approx(4.088875, abs=1e-4)

    def lean(v: float) -> float:
        """Lean over steer of the faster of the two growing modes of weave at low speed: zero where the ratio is not."""
        found, vectors = modes(v)
        growing = [k for k in range(4) if abs(found[k].imag) < 1e-9 and found[k].real > 0]
        assert len(growing) == 2
        k = max(growing, key=lambda k: found[k].real)
        return float((vectors[0, k] / vectors[1, k]).real)

    assert brentq(lean, 0.001, 0.04) == pytest.approx(0.02345, abs=1e-4)

    def steer(v: float) -> float:
        """Steer over lean of the slow real mode: its sign is the phase."""
        found, vectors = modes(v)
        real = [k for k in range(4) if abs(found[k].imag) < 1e-9 and found[k].real < 0]
        k = max(real, key=lambda k: found[k].real)
        return float((vectors[1, k] / vectors[0, k]).real)

    for low, high, speed in ((0.6, 1.0, 0.7972), (4.4, 5.0, 4.6957)):
        assert brentq(steer, low, high) == pytest.approx(speed, abs=1e-4)
    # Reported: which rows clash, and where the printed geometry is open.
    assert all(abs(linear.residual[name]) < 1e-12 for name in ("hub.W.x", "axis.FR.z"))
    assert linear.residual["ball.qR.y nearby"] > 0.04 and linear.residual["ball.qL.y nearby"] > 0.04
    assert any(name.startswith("ball.pR.x at order 0") for name in linear.residual)
    # Weights change the static stiffness only, and that decides about capsize: det(K0 + v² K2) = 0.
    other = da.linearize(da.library.tricycle(), {"x.d": "v"}, incompatible="least-squares", weights={"axis": 0.1})
    changed = other.without("A.psi").second_order("v", coordinates=["A.phi", "A.delta"])
    for name in ("M", "C1", "K2"):
        np.testing.assert_allclose(getattr(changed, name), getattr(second, name), rtol=1e-9, atol=1e-9)
    assert all(np.linalg.det(K0 + v**2 * K2) > 0 for v in np.linspace(0, 60, 121))
    speed = brentq(lambda v: np.linalg.det(changed.K0 + v**2 * changed.K2), 5, 12)
    assert speed == pytest.approx(8.41, abs=0.01)


def test_derivative_of_a_complement():
    """Check 20: B = [1 + x, −1] has C = (1, 1 + x), so C₁ = (0, 1)."""
    S = da.Subsystem("S")
    x = S.coordinates("x")
    a, b = S.quasi_velocity("a b")
    S.kinematics({x.d: a})
    S.invariant((1 + x) * a - b)
    S.independent(a)
    S.effective_forces({a: -a.d, b: -b.d})
    equations = S.equations()
    values, _ = reference(equations, {"x": 0.0}, {}, False)
    small = LinearSystem(equations, values, None).small[()]
    np.testing.assert_allclose(small.S[:, 0], [1, 1])
    np.testing.assert_allclose(small.S_by[:, 0, 0], [0, 1])


def contradicting() -> da.Subsystem:
    S = da.Subsystem("S")
    q = S.quasi_velocity("q1 q2 q3")
    S.invariant(2 * q[0] - q[1], "first")
    S.invariant(sp.Rational(11, 5) * q[0] - q[1], "second")
    S.invariant(3 * q[1] - q[2], "third")
    S.independent(q[0])
    S.effective_forces({one: -one.d - one for one in q})
    return S


@pytest.mark.parametrize(
    ("weights", "C"), [({}, (1, 2.1, 6.3)), ({"second": 2.0}, (1, 2.16, 6.48))], ids=["equal", "weighted"]
)
def test_contradicting_rows_by_least_squares(weights, C):
    """Check 20: the residual is reported by row."""
    linear = da.linearize(contradicting(), incompatible="least-squares", weights=weights)
    shape = linear.source.shape(np.ones(1))
    np.testing.assert_allclose([shape[name].real for name in ("q1", "q2", "q3")], C, rtol=1e-12)
    expected = (2 - C[1], 2.2 - C[1], 3 * C[1] - C[2])
    np.testing.assert_allclose([linear.residual[name] for name in ("first", "second", "third")], expected, atol=1e-12)


def test_contradicting_rows_are_refused_by_name():
    with pytest.raises(ModelError, match=r"contradict each other.*first.*second"):
        da.linearize(contradicting())


def test_rows_that_contradict_only_nearby_are_refused():
    """Two rods of different lengths hold one point: at the dead point both say the same of velocities, not of more."""
    S = da.Subsystem("S")
    x, y = S.coordinates("x y")
    S.effective_forces({x: -x.dd, y: -y.dd})
    S.invariant(x**2 + y**2 - 1, "short")
    S.invariant((x + 1) ** 2 + y**2 - 4, "long")
    with pytest.raises(ModelError, match="contradict others"):
        da.linearize(S, {"x": 1, "y": 0})


def test_the_derivative_of_least_squares_is_exact():
    """Against differences of order 8 of the complement itself, for rows that contradict each other."""
    S = da.Subsystem("S")
    x = S.coordinates("x")
    a, b, c = S.quasi_velocity("a b c")
    S.kinematics({x.d: a})
    rows = [
        sp.Matrix([[2 + sin(x), -1, x]]),
        sp.Matrix([[cos(x), -1 - x, 0.1]]),
        sp.Matrix([[0.3, 3 * cos(x), -1 + x]]),
    ]
    for k, row in enumerate(rows):
        S.invariant((row * sp.Matrix([a, b, c]))[0], f"row{k}")
    S.independent(a)
    S.effective_forces({one: -one.d for one in (a, b, c)})
    equations = S.equations(incompatible="least-squares", weights={"row1": 3.0})
    strategy = LeastSquares({"row1": 3.0})

    def complement(moved: float) -> np.ndarray:
        values, _ = reference(equations, {"x": 0.4 + moved, "a": 0.0, "b": 0.0, "c": 0.0}, {}, True)
        return LinearSystem(equations, values, strategy).small[()].S[:, 0]

    values, _ = reference(equations, {"x": 0.4, "a": 0.0, "b": 0.0, "c": 0.0}, {}, True)
    small = LinearSystem(equations, values, strategy).small[()]
    np.testing.assert_allclose(small.S_by[:, 0, 0], slope(complement), rtol=1e-9, atol=1e-9)


# Against the nonlinear system


def motor_and_load() -> da.Subsystem:
    S = da.Subsystem("S")
    S.include(da.leaves.dc_motor("motor"))
    load = da.Subsystem("load")
    J = load.parameters(J=0.02)
    angle = load.coordinates("angle")
    load.effective_forces({angle: -J * angle.dd - 0.4 * sin(angle)})
    S.include(load)
    S.invariant(S.motor.omega - 5 * S.load.angle.d)
    return S


def rolling_wheel() -> da.Subsystem:
    S = da.Subsystem("S")
    S.include(wheel("E", 0.3, m=2, Ia=0.12, It=0.0603, g=9.81))
    return S


def slider_crank() -> da.Subsystem:
    """A closed loop of two parts, held together by invariants of the whole; a spring and a damper at the slider."""
    crank, rod = (
        da.leaves.planar_body("crank", "newton-euler", "-y"),
        da.leaves.planar_body("rod", "newton-euler", "-y"),
    )
    S = da.Subsystem("S")
    r, l, k, c = S.parameters(r=0.3, l=1.0, k=40.0, c=3.0)
    A, B = S.include(crank), S.include(rod)
    x = S.coordinates("x")
    a, b = A.th, B.th
    S.invariants(A.p.x - r / 2 * cos(a), A.p.y - r / 2 * sin(a))
    S.invariants(B.p.x - r * cos(a) - l / 2 * cos(b), B.p.y - r * sin(a) - l / 2 * sin(b))
    S.invariants(r * cos(a) + l * cos(b) - x, r * sin(a) + l * sin(b))
    S.effective_forces({x: -2.0 * x.dd - k * (x - 1) - c * x.d})
    S.guess({"rod.th": -0.2, "x": 1.2})
    return S


SYSTEMS: dict[str, tuple[Any, dict[str, float]]] = {
    "slider-crank": (slider_crank, {"crank.th": 0.7, "crank.omega": 1.5}),
    "pendulum in angles": (lambda: pendulum(1), {"phi": 0.4, "theta": 0.7, "phi.d": -0.6, "theta.d": 1.1}),
    "pendulum in space": (lambda: pendulum(2), {"y": 0.9, "z": 0.5, "y.d": 0.3, "z.d": -0.7}),
    "pendulum with its square of speed": (lambda: pendulum(3), {"y": 0.9, "z": 0.5, "y.d": 0.3, "z.d": -0.7}),
    "ring and disc": (ring_and_disc, {"theta": 0.9, "theta.d": 0.8, "disc.omega": -2.0}),
    "two masses": (two_masses, {"alpha": 0.6, "beta": -0.3, "alpha.d": 1.0, "beta.d": 2.0}),
    "motor": (motor_and_load, {"load.angle": 0.7, "load.angle.d": 2.0, "motor.i": 0.3}),
    "rolling wheel": (rolling_wheel, {"E.a.a": 0.3, "E.a.b": 0.2, "E.a.c": 0.5, "E.p.x": 0.0, "E.p.y": 0.1,
                                      "E.omega.x": 0.4, "E.omega.y": -7.0, "E.omega.z": 0.6}),
    "cart": (lambda: da.leaves.model(da.library.cart_pendulum()), {}),
    "bicycle": (whipple, {"A.x.d": 4.0, "A.phi": 0.1, "A.delta": -0.05, "A.phi.d": 0.2, "A.delta.d": 0.3, "A.x": 0.0,
                          "A.y": 0.0, "A.psi": 0.1}),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n == "bicycle" else []) for n in SYSTEMS])
def test_linear_is_the_derivative_of_the_nonlinear_system_on_its_invariants(name):
    make, start = SYSTEMS[name]
    system = make()
    if name == "pendulum in space" or name.endswith("speed"):
        system.guess({"x": 1.7})
    linear = da.linearize(system, start)
    equations, states = system.equations(), linear.states
    numbers = numbers_of(equations)
    place = {key: i for i, key in enumerate(numbers.moving)}
    base = dict(linear.source.system.values)  # type: ignore[union-attr]

    def rates(moved: dict[str, float]) -> np.ndarray:
        """Rates of the states at a state nearby that meets all invariants."""
        values = base | {key: base[key] + change for key, change in moved.items()}
        for order in range(equations.order):
            rows = [i for i, label in enumerate(numbers.lower) if label.order == order]
            names = [str(label) for label in equations.state if label.order == order and str(label) not in states]
            for _ in range(30):
                at = numbers(values)
                if not rows or np.abs(at.lower[rows]).max() < 1e-15:
                    break
                J = at.lower_by[np.ix_(rows, [place[key] for key in names])]
                step = -np.linalg.lstsq(J, at.lower[rows], rcond=1e-10)[0]
                values |= {key: values[key] + float(d) for key, d in zip(names, step, strict=True)}
        given = {key: values[key] for key in map(str, equations.state)}
        found = equations.acceleration(given | {key: values[key] for key in equations.inputs})
        values |= {str(label): value for label, value in found.items()}
        all_rates = numbers(values).rates
        return np.array([all_rates[[str(label) for label in equations.state].index(key)] for key in states])

    expected = np.array([slope(lambda h, key=key: rates({key: h})) for key in states]).T
    scale = 1 + np.abs(expected).max(axis=1, keepdims=True)
    assert np.abs((linear.A - expected) / scale).max() < 1e-8


def test_invariants_of_higher_order_than_the_forces():
    """A particle on a spring under its weight w with |a| = A: f̄ = k x ÿ − w ẍ = 0, so a = −A (k x, w)/√(k²x² + w²)."""
    P = da.Subsystem("P")
    m, g, A, k = P.parameters(m=2.0, g=9.81, A=5.0, k=30.0)
    x, y = P.coordinates("x y")
    push = P.input("push")
    P.effective_forces({x: push - k * x - m * x.dd, y: -m * y.dd - m * g})
    P.invariant(x.dd**2 + y.dd**2 - A**2)
    assert P.equations().order == 3
    pull, w = 30.0 * 0.3, 2.0 * 9.81
    size = np.hypot(pull, w)
    linear = da.linearize(P, {"x": 0.3, "x.d": 0.2, "x.dd": -5 * pull / size, "y.dd": -5 * w / size})
    assert linear.states == ("x", "y", "x.d", "y.d") and linear.kind.startswith("no equilibrium: the reference accel")
    slope = np.array([-5 * w**2, 5 * pull * w]) / size**3  # by the force along x
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[1, 3] = 1
    expected[2:, 0] = 30.0 * slope
    np.testing.assert_allclose(linear.A, expected, atol=1e-13)
    np.testing.assert_allclose(linear.B[:, 0], [0, 0, *-slope], atol=1e-13)
