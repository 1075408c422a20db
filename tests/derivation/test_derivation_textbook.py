"""Small systems come out as a textbook prints them: as strings, and proved against equations written by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
import textbook
from sympy import cos, sin

import dalembert as da
from dalembert.derivation.simplify import is_zero

ZXZ = da.Generalized(sequence="zxz")


def symbols(derivation):
    """All symbols by name."""
    return {symbol.name: symbol for symbol in derivation.setup.book.latex}


def rows(derivation):
    """Lines of the LaTeX."""
    text = derivation.latex()
    return [
        line.removesuffix(" \\\\") for line in text.splitlines() if line not in ("\\begin{gather}", "\\end{gather}")
    ]


def prove(equations, expected):
    assert len(equations) == len(expected)
    for equation, by_hand in zip(equations, expected, strict=True):
        assert is_zero(equation.lhs - equation.rhs - by_hand) is True, f"{equation} is not {by_hand} = 0"


def test_pendulum():
    d = da.derive(textbook.pendulum())
    assert rows(d) == [r"l \ddot{\theta} + g \sin \theta = 0"]
    s = symbols(d)
    prove(d.equations, [s["l"] * s["thetaddot"] + s["g"] * sin(s["theta"])])
    assert str(d.functions["T"]) == "l**2*m*thetadot**2/2"
    assert str(d.functions["V"]) == "-g*l*m*cos(theta)"
    assert str(d.mass_matrix) == "Matrix([[l**2*m]])"
    assert str(d.forcing) == "Matrix([[-g*l*m*sin(theta)]])"
    assert d.kinematics == []
    assert d.constraints == []


def test_pendulum_by_hamilton():
    d = da.derive(textbook.pendulum(), "hamilton")
    assert rows(d) == [r"\dot{\theta} = \frac{p_{\theta}}{m l^{2}}", r"\dot{p}_{\theta} = -m g l \sin \theta"]
    assert str(d.functions["H"]) == "-g*l*m*cos(theta) + p_theta**2/(2*l**2*m)"
    assert [str(e.rhs) for e in d.definitions_of_velocities] == ["l**2*m*thetadot"]


def test_double_pendulum():
    d = da.derive(textbook.double_pendulum())
    assert rows(d)[-1] == (
        r"\left(l_{2} + l_{1} \cos \theta_{2}\right) \ddot{\theta}_{1} + l_{2} \ddot{\theta}_{2} "
        r"+ l_{1} \dot{\theta}_{1}^{2} \sin \theta_{2} + g \sin\left(\theta_{1} + \theta_{2}\right) = 0"
    )
    assert str(d.functions["V"]) == "-g*l_1*(m_1 + m_2)*cos(theta_1) - g*l_2*m_2*cos(theta_1 + theta_2)"
    s = symbols(d)
    m1, m2, l1, l2, g = (s[n] for n in ("m_1", "m_2", "l_1", "l_2", "g"))
    a, b, u, v, du, dv = (s[f"theta{dots}_{k}"] for dots in ("", "dot", "ddot") for k in (1, 2))
    first = (
        ((m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * cos(b)) * du
        + m2 * l2 * (l2 + l1 * cos(b)) * dv
        - m2 * l1 * l2 * (2 * u * v + v**2) * sin(b)
        + (m1 + m2) * g * l1 * sin(a)
        + m2 * g * l2 * sin(a + b)
    )
    second = (l2 + l1 * cos(b)) * du + l2 * dv + l1 * u**2 * sin(b) + g * sin(a + b)
    prove(d.equations, [first, second])


@pytest.mark.parametrize("formulation", ["lagrange", "kane"])
def test_double_pendulum_of_a_system(formulation):
    """Angles from the vertical: the equations of every book."""
    d = da.derive(textbook.double_pendulum_absolute(), formulation)
    assert rows(d) == [
        r"\left(m_{1} + m_{2}\right) l_{1} \ddot{\theta}_{1} "
        r"+ m_{2} l_{2} \ddot{\theta}_{2} \cos\left(\theta_{1} - \theta_{2}\right) "
        r"+ m_{2} l_{2} \dot{\theta}_{2}^{2} \sin\left(\theta_{1} - \theta_{2}\right) "
        r"+ \left(m_{1} + m_{2}\right) g \sin \theta_{1} = 0",
        r"l_{1} \ddot{\theta}_{1} \cos\left(\theta_{1} - \theta_{2}\right) + l_{2} \ddot{\theta}_{2} "
        r"- l_{1} \dot{\theta}_{1}^{2} \sin\left(\theta_{1} - \theta_{2}\right) + g \sin \theta_{2} = 0",
    ]


@pytest.mark.parametrize("formulation", ["lagrange", "kane", "gibbs-appell", "boltzmann-hamel", "volterra", "maggi"])
def test_cart_pendulum(formulation):
    d = da.derive(textbook.cart_pendulum(), formulation)
    assert rows(d) == [
        r"\left(M + m\right) \ddot{x} + m l \ddot{\theta} \cos \theta - m l \dot{\theta}^{2} \sin \theta = 0",
        r"\ddot{x} \cos \theta + l \ddot{\theta} + g \sin \theta = 0",
    ]


def test_forces_stand_on_the_right():
    d = da.derive(textbook.cart_pendulum(friction=True))
    assert rows(d)[0].endswith(r"\sin \theta = F - c \dot{x}")
    assert rows(d)[1] == r"\ddot{x} \cos \theta + l \ddot{\theta} + g \sin \theta = 0"


def test_top():
    d = da.derive(textbook.top(), coordinates=ZXZ)
    assert rows(d)[1:] == [
        r"\left(A + m l^{2}\right) \ddot{\theta} + C \dot{\psi} \dot{\phi} \sin \theta "
        r"- \left(A - C + m l^{2}\right) \dot{\psi}^{2} \sin \theta \cos \theta - m g l \sin \theta = 0",
        r"\ddot{\psi} \cos \theta + \ddot{\phi} - \dot{\psi} \dot{\theta} \sin \theta = 0",
    ]
    s = symbols(d)
    A, C, m, l, g = (s[n] for n in ("A", "C", "m", "l", "g"))
    q = [s[n] for n in ("psi", "theta", "phi")]
    u = [s[f"{n}dot"] for n in ("psi", "theta", "phi")]
    J = A + m * l**2
    T = J * (u[1] ** 2 + u[0] ** 2 * sin(q[1]) ** 2) / 2 + C * (u[2] + u[0] * cos(q[1])) ** 2 / 2
    assert is_zero(d.functions["T"] - T) is True
    assert (
        str(d.functions["T"])
        == "C*(phidot + psidot*cos(theta))**2/2 + (A + l**2*m)*(psidot**2*sin(theta)**2 + thetadot**2)/2"
    )
    L = T - m * g * l * cos(q[1])
    du = [s[f"{n}ddot"] for n in ("psi", "theta", "phi")]
    for equation, x, v in zip(d.equations, q, u, strict=True):
        p = sp.diff(L, v)
        by_hand = sum(sp.diff(p, q[k]) * u[k] + sp.diff(p, u[k]) * du[k] for k in range(3)) - sp.diff(L, x)
        ratio = sp.cancel(C if x == q[2] else 1)
        assert is_zero(by_hand - ratio * (equation.lhs - equation.rhs)) is True


def test_top_by_hamilton_and_routh():
    d = da.derive(textbook.top(), "hamilton", coordinates=ZXZ)
    s = symbols(d)
    A, C, m, l, g, theta = (s[n] for n in ("A", "C", "m", "l", "g", "theta"))
    p, w, r = s["p_psi"], s["p_theta"], s["p_phi"]
    J = A + m * l**2
    H = w**2 / (2 * J) + (p - r * cos(theta)) ** 2 / (2 * J * sin(theta) ** 2) + r**2 / (2 * C) + m * g * l * cos(theta)
    assert is_zero(d.functions["H"] - H) is True
    assert len(d.functions["H"].args) == 4
    assert [str(e) for e in d.equations[::2]] == ["Eq(pdot_psi, 0)", "Eq(pdot_phi, 0)"]
    reduced = da.derive(textbook.top(), "routh", coordinates=ZXZ)
    assert [v.name for v in reduced.velocities] == ["thetadot"]
    assert [e.lhs.name for e in reduced.constants] == ["G_psi", "G_phi"]


def test_hamilton_of_the_cart_is_reduced():
    """H is the kinetic energy in momenta over det M, and the potential apart; ṗ reads by the rates that stand above."""
    d = da.derive(da.library.cart_pendulum(), "hamilton")
    s = symbols(d)
    M, m, l, g, theta = (s[n] for n in ("cart_mass", "pole_mass", "length", "g", "theta"))
    p, w = s["p_s"], s["p_theta"]
    below = m * l**2 * (4 * M + m + 3 * m * sin(theta) ** 2)
    T = 2 * (m * l**2 * p**2 - 3 * m * l * p * w * cos(theta) + 3 * (M + m) * w**2) / below
    assert is_zero(d.functions["H"] - T + m * g * l * cos(theta) / 2) is True
    assert -m * g * l * cos(theta) / 2 in d.functions["H"].args
    assert rows(d)[2:] == [
        r"\dot{p}_{s} = 0",
        r"\dot{p}_{\theta} = -\frac{1}{2} m_{\mathrm{pole}} l \dot{s} \dot{\theta} \sin \theta "
        r"- \frac{1}{2} m_{\mathrm{pole}} g l \sin \theta",
    ]
    # The same in momenta: −∂H/∂θ
    assert is_zero(d.forcing[1] + sp.diff(d.functions["H"], theta)) is True


@pytest.mark.slow
@pytest.mark.parametrize(("name", "longest"), [("spinning_top", 700), ("rolling_disc", 700)])
def test_hamilton_of_top_and_disc_needs_no_abbreviations(name, longest):
    """They ended in 88 and 366 abbreviations. What is printed is checked against the machine code of the graph."""
    d = da.derive(getattr(da.library, name)(), "hamilton")
    assert not d.definitions and not d.abbreviations
    assert max(map(len, rows(d))) < longest
    rng = np.random.default_rng(4)
    q, w = rng.uniform(0.3, 0.9, len(d.coordinates)), rng.normal(size=len(d.velocities))
    values = dict(zip([*d.coordinates, *d.velocities], [*q, *w], strict=True)) | d.parameters
    blocks = d.to_kernel().kernel(0.0, q, w, np.zeros(0), np.array(list(d.setup.values.values())))
    qdot = [float(e.rhs.subs(values)) for e in d.kinematics]
    np.testing.assert_allclose(qdot, blocks.qdot, rtol=1e-10, atol=1e-12)
    if not d.multipliers:
        shown = [float(e.rhs.subs(values | dict(zip(d.rates, qdot, strict=True)))) for e in d.equations]
        np.testing.assert_allclose(shown, blocks.wdot, rtol=1e-10, atol=1e-10)
        return
    np.testing.assert_allclose([float(e.subs(values)) for e in d.forcing], blocks.k, rtol=1e-10, atol=1e-10)


def test_rolling_disc():
    """Kane's equations of a disc that rolls; the contact force does not appear."""
    d = da.derive(textbook.rolling_disc(), "kane")
    assert rows(d) == [
        r"\dot{x} = r \dot{\phi} \cos \psi",
        r"\dot{y} = r \dot{\phi} \sin \psi",
        r"\left(1 + 5 \sin^{2} \theta\right) \ddot{\psi} + 6 \ddot{\phi} \sin \theta "
        r"+ 2 \dot{\theta} \dot{\phi} \cos \theta + 10 \dot{\psi} \dot{\theta} \sin \theta \cos \theta = 0",
        r"5 r \ddot{\theta} - r \left(6 \dot{\phi} + 5 \dot{\psi} \sin \theta\right) \dot{\psi} \cos \theta "
        r"- 4 g \sin \theta = 0",
        r"3 \ddot{\psi} \sin \theta + 3 \ddot{\phi} + 5 \dot{\psi} \dot{\theta} \cos \theta = 0",
    ]
    assert [str(value) for value in d.assumptions] == ["cos(theta)"]


def test_rolling_disc_with_multipliers():
    d = da.derive(textbook.rolling_disc(), "lagrange")
    assert [str(symbol) for symbol in d.multipliers] == ["lambda_1", "lambda_2"]
    assert rows(d)[4] == (
        r"m r \ddot{\psi} \sin \theta + m r \ddot{\phi} + m r \dot{\psi} \dot{\theta} \cos \theta "
        r"= -2 \lambda_{1} \cos \psi - 2 \lambda_{2} \sin \psi"
    )


def test_spherical_pendulum_in_three_descriptions():
    """R. M. M. Orsino, "Recursive modular modelling methodology for lumped-parameter dynamic systems", example 4.1:
    eq. (e) in angles and eq. (l) in positions."""
    d = da.derive(textbook.spherical_by_angles())
    assert rows(d) == [
        r"\ddot{\phi} \sin^{2} \theta + 2 \dot{\phi} \dot{\theta} \sin \theta \cos \theta = 0",
        r"r \ddot{\theta} - r \dot{\phi}^{2} \sin \theta \cos \theta + g \sin \theta = 0",
    ]
    by_position = da.derive(textbook.spherical_by_positions())
    assert rows(by_position) == [
        r"m \ddot{x} = x \lambda_{1}",
        r"m \ddot{y} = y \lambda_{1}",
        r"m \ddot{z} + m g = \left(z - r\right) \lambda_{1}",
        r"\frac{1}{2} \left(x^{2} + y^{2} + z^{2}\right) - r z = 0",
    ]
    by_height = da.derive(textbook.spherical_by_height())
    assert not by_height.constraints and len(by_height.equations) == 2
    # All three give the same acceleration of the bob.
    r, theta, phi, thetadot, phidot = 0.7, 0.6, 0.4, 0.9, -1.1
    t = sp.Symbol("t")
    q, w = np.array([phi, theta]), np.array([phidot, thetadot])
    # The arm turns the bob about +y, which leads it to −x.
    _, dw = d.to_kernel()(0.0, q, w)
    a, b = phi + phidot * t + dw[0] * t**2 / 2, theta + thetadot * t + dw[1] * t**2 / 2
    path = sp.Matrix([-r * sin(b) * cos(a), -r * sin(b) * sin(a), -r * cos(b)])
    at, velocity, acceleration = (np.array(path.diff(t, k).subs(t, 0), dtype=float).ravel() for k in range(3))
    _, dw = by_height.to_kernel()(0.0, at[:2], velocity[:2])
    np.testing.assert_allclose(dw, acceleration[:2], rtol=1e-12)
    _, dw = by_position.to_kernel()(0.0, at + np.array([0, 0, r]), velocity)
    np.testing.assert_allclose(dw, acceleration, rtol=1e-12)
    # (l):  ẍ = −(x/r²)(g·… + v²)
    g = 9.81
    expected = -at / r**2 * (-g * at[2] + velocity @ velocity) - np.array([0, 0, g])
    np.testing.assert_allclose(acceleration, expected, rtol=1e-12)


def test_terms_are_collected_by_squares_of_rates_and_of_lengths():
    d = da.derive(textbook.spring_pendulum())
    assert rows(d)[1] == (r"m \ddot{s} - m \left(l + s\right) \dot{\theta}^{2} + k s - m g \cos \theta = 0")
    d = da.derive(textbook.atwood(), "kane")
    assert rows(d)[2] == (
        r"\left(J + \left(m_{1} + m_{2}\right) r^{2}\right) \ddot{\theta} + \left(m_{1} - m_{2}\right) g r = 0"
    )


def test_denominators_that_move_stay():
    d = da.derive(textbook.kepler())
    assert rows(d)[0] == r"\ddot{r} - r \dot{\phi}^{2} + \frac{\mu}{r^{2}} = 0"
    assert rows(da.derive(textbook.kepler(), "routh"))[1] == (
        r"m \ddot{r} - \frac{G_{\phi}^{2}}{m r^{3}} + \frac{m \mu}{r^{2}} = 0"
    )


@pytest.mark.parametrize(
    "name", ["pendulum", "double_pendulum", "cart_pendulum", "rolling_disc", "spherical_by_angles"]
)
def test_numbers_look_like_a_textbook(name):
    text = da.derive(getattr(textbook, name)()).latex()
    assert "0.5" not in text and "1.0" not in text and "9.81" not in text
