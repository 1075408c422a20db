"""da.System: mechanics with coordinates of one's own choice, as textbooks write it."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.coordinates import COORDINATES
from dalembert.io import dumps, loads
from dalembert.view.run_scene import scene

# Same motion by adaptive methods at rtol 1e-10.
MOTION = 1e-8
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
G = 9.81


def by_angles() -> da.System:
    s = da.System("two angles")
    m, l = s.parameters(m=1.3, l=0.9)
    theta, phi = s.coordinate("theta", reference=0.5), s.coordinate("phi")
    rho = l * sp.sin(theta.q)
    s.particle("bob", m, position=(rho * sp.cos(phi.q), rho * sp.sin(phi.q), -l * sp.cos(theta.q)))
    s.initial("theta", 0.9, 0.3)
    s.initial("phi", 0.2, 1.5)
    return s


def cartesian() -> da.System:
    """x, y, z with |r| = l."""
    s = da.System("Cartesian")
    m, _ = s.parameters(m=1.3, l=0.9)
    x, y, z = (s.coordinate(name, "length", at) for name, at in (("x", 0), ("y", 0), ("z", -0.9)))
    s.particle("bob", m, (x.q, y.q, z.q))
    s.constraint("rod", "q(x)**2 + q(y)**2 + q(z)**2 - l**2")
    return s


def by_two_lengths() -> da.System:
    """x, y with z eliminated."""
    s = da.System("x and y")
    m, _ = s.parameters(m=1.3, l=0.9)
    x, y = s.coordinate("x", "length"), s.coordinate("y", "length")
    s.particle("bob", m, (x.q, y.q, "-sqrt(l**2 - q(x)**2 - q(y)**2)"))
    return s


def bob(run: da.Trajectory) -> np.ndarray:
    return run.data.position.sel(body="bob").values


@pytest.fixture(scope="module")
def pendulum() -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of a spherical pendulum from the equations of a textbook."""
    l = 0.9

    def rates(_, y):
        theta, _, dtheta, dphi = y
        # Where the momentum about the vertical, m l² sin²θ φ̇, stays.
        ddtheta = np.sin(theta) * np.cos(theta) * dphi**2 - G / l * np.sin(theta)
        return [dtheta, dphi, ddtheta, -2 * dtheta * dphi * np.cos(theta) / np.sin(theta)]

    t = np.linspace(0, 2, 1001)
    theta, phi, dtheta, dphi = solve_ivp(rates, (0, 2), [0.9, 0.2, 0.3, 1.5], "DOP853", t, rtol=1e-12, atol=1e-13).y
    s, c, S, C = np.sin(theta), np.cos(theta), np.sin(phi), np.cos(phi)
    r = l * np.stack([s * C, s * S, -c], axis=1)
    v = l * np.stack([c * C * dtheta - s * S * dphi, c * S * dtheta + s * C * dphi, s * dtheta], axis=1)
    return r, v


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_two_angles(pendulum, coordinates):
    run = da.simulate(by_angles(), 2.0, coordinates=coordinates, **TIGHT)
    assert run.certificate.trusted
    np.testing.assert_allclose(bob(run), pendulum[0], atol=MOTION)
    if coordinates == "generalized":
        assert run.dynamics.q_names == ["theta", "phi"]
        assert not run.dynamics.rows


@pytest.mark.parametrize("coordinates", ["relative", "generalized"])
@pytest.mark.parametrize(("build", "freedom"), [(cartesian, 3), (by_two_lengths, 2)], ids=["x y z", "x y"])
def test_lengths(pendulum, build, freedom, coordinates):
    system, (r, v) = build(), pendulum
    names = "xyz"[:freedom]
    start = {"initial": dict(zip(names, r[0], strict=False)), "initial_rates": dict(zip(names, v[0], strict=False))}
    run = da.simulate(system, 2.0, coordinates=coordinates, **start, **TIGHT)
    assert run.certificate.trusted
    np.testing.assert_allclose(bob(run), r, atol=MOTION)
    if coordinates == "generalized":
        assert run.dynamics.q_names == list(names)
        assert len(run.dynamics.rows) == freedom - 2


def test_a_support_that_moves():
    """l θ̈ = −g sin θ − ẍ cos θ  with the support at x = a cos ωt; rheonomic."""
    s = da.System("moving support")
    m, l, a, w = s.parameters(m=1.0, l=0.8, a=0.1, w=3.0)
    theta = s.coordinate("theta")
    s.particle("bob", m, (a * sp.cos(w * s.t) + l * sp.sin(theta.q), 0, -l * sp.cos(theta.q)))
    s.generalized_force(theta, "-0.2*u(theta)")

    def rates(t, y):
        return [y[1], (-G * np.sin(y[0]) + 0.9 * np.cos(3 * t) * np.cos(y[0]) - 0.2 * y[1] / 0.8) / 0.8]

    expected = solve_ivp(rates, (0, 3), [0.5, 0.0], "DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    for formulation in ("lagrange-multipliers", "lagrange"):
        run = da.simulate(s, 3.0, formulation=formulation, coordinates="generalized", initial={"theta": 0.5}, **TIGHT)
        assert run.certificate.trusted
        assert run.dynamics.nv == 1
        assert float(run.q.values[-1, 0]) == pytest.approx(expected, abs=MOTION)


def rolling_disc() -> da.System:
    s = da.System("rolling disc")
    m, r = s.parameters(m=2.0, r=0.5)
    x, y = s.coordinate("x", "length"), s.coordinate("y", "length")
    psi, theta, phi = s.coordinate("psi"), s.coordinate("theta", reference=0.3), s.coordinate("phi")
    J = m * r**2 / 4
    lean = r * sp.sin(theta.q)
    s.body(
        "disc", m, (J, J, 2 * J),
        position=(x.q + lean * sp.sin(psi.q), y.q - lean * sp.cos(psi.q), r * sp.cos(theta.q)),
        rotation=[("z", psi.q), ("x", theta.q + sp.pi / 2), ("z", phi.q)],
    )  # fmt: skip
    s.nonholonomic("along", "u(x) + r*u(phi)*cos(q(psi))")
    s.nonholonomic("across", "u(y) + r*u(phi)*sin(q(psi))")
    s.velocities(turn="u(psi)", lean="u(theta)", spin="u(phi)")
    s.initial("theta", 0.3, 0.1)
    s.initial("psi", 0, 0.4)
    s.initial("phi", 0, -3.0)
    return s


def test_rolling_disc_is_that_of_the_catalog():
    """The joint ``rolling-disc`` says the same: contact, heading about z, lean about x, spin about y = −(axis here)."""
    run = da.simulate(rolling_disc(), 1.5, coordinates="generalized", **TIGHT)
    assert run.certificate.trusted
    model = da.Model("disc")
    model.body("disc", mass=2, com=(0, 0, 0.5), inertia=(0.125, 0.25, 0.125))
    model.rolling_disc("roll", "ground", "disc", point=(0, 0, 0.5), axis="z", axis_2="y", radius=0.5)
    start = {"initial": {"roll": (0, 0, 0, 0.3, 0)}, "initial_rates": {"roll": (1.5, 0, 0.4, 0.1, 3.0)}}
    same = da.simulate(model, 1.5, **start, **TIGHT)
    here, there = (r.data.position.sel(body="disc").values for r in (run, same))
    np.testing.assert_allclose(here, there, atol=2 * MOTION)


def test_systems_are_models():
    s = rolling_disc()
    again = loads(dumps(s))
    assert again == s
    assert again.quasi_velocities == s.quasi_velocities
    dynamics = da.compile(again, coordinates="generalized")
    assert list(dynamics.coordinates.velocities) == ["turn", "lean", "spin"]
    asked = da.compile(s, coordinates=da.Generalized(velocities={"v": "u(x)"}))
    assert list(asked.coordinates.velocities) == ["v"]


def test_massless_signs_are_not_drawn():
    run = da.simulate(rolling_disc(), 0.01)
    picture = scene(run)
    assert [body.name for body in picture.bodies] == ["disc"]
    assert not picture.joints


def test_model_bodies_still_work():
    s = da.System("mixed")
    s.body("rod", 1, (0.01, 0.1, 0.1), com=(0.5, 0, 0))
    s.revolute("A", "ground", "rod", point=(0, 0, 0), axis="y")
    assert da.simulate(s, 0.1).certificate.trusted


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda s: s.coordinate("a", "volt"), "expected 'angle' or 'length'"),
        (lambda s: s.body("b", 1, position=(0, 0, 0), rotation=[("w", 0)]), "expected an axis x, y or z"),
        (lambda s: s.particle("p", 1, (0, 0)), "expected three numbers"),
        (lambda s: (s.particle("p", 1, ("q(nothing)", 0, 0)), s.validate()), "unknown joint 'nothing'"),
        (lambda s: (s.particle("p", 1, (0, 0, 0)), s.velocities(a="u(p_position)**2"), s.validate()), "linear"),
        (lambda s: (s.coordinate("r"), s.particle("p", 1, ("r", 0, 0))), r"'p': r is a coordinate(.|\n)*Fix: q\(r\)"),
    ],
)
def test_mistakes_are_told(build, said):
    with pytest.raises(da.ModelError, match=said):
        build(da.System("wrong"))
