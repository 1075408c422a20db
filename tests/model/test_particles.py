"""Point masses: as particles of three coordinates, and as bodies without inertia that can turn about themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

G = 9.81
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}


def spherical_pendulum(t: np.ndarray, length: float, x: Any, v: Any) -> np.ndarray:
    """Positions of a point mass on a rod about the origin:  r̈ = g − r (v² + g·r)/l²."""
    g = np.array([0, 0, -G])

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        r, v = y[:3], y[3:]
        return np.concatenate([v, g - r * (v @ v + g @ r) / length**2])

    return solve_ivp(rate, (0, t[-1]), [*x, *v], t_eval=t, rtol=1e-12, atol=1e-13, method="DOP853").y[:3].T


def on_a_ball() -> tuple[da.Model, dict[str, Any]]:
    model = da.Model("ball")
    model.body("bob", mass=0.7, com=(0.6, 0, -0.8))
    model.spherical("joint", model.ground, "bob", point=(0, 0, 0))
    return model, {"joint": (0.8, 0, 0.6)}  # ω × r = (0, 1, 0)


def on_a_rod() -> tuple[da.Model, dict[str, Any]]:
    model = da.Model("rod")
    model.particle("bob", 0.7, (0.6, 0, -0.8))
    model.distance("rod", model.ground, "bob", point=(0, 0, 0), point_2=(0.6, 0, -0.8))
    return model, {"bob": (0, 1, 0)}


@pytest.mark.parametrize("make", [on_a_ball, on_a_rod])
def test_point_mass_about_a_point(make: Any):
    model, rates = make()
    run = da.simulate(model, 2.0, initial_rates=rates, **TIGHT)
    assert run.certificate.trusted, str(run.certificate)
    expected = spherical_pendulum(run.values("time"), 1.0, (0.6, 0, -0.8), (0, 1, 0))
    np.testing.assert_allclose(run.body("bob").position.values, expected, atol=1e-9)


@pytest.mark.parametrize("formulation", ["recursive", "newton-euler", "kane", "penalty"])
def test_particles_are_for_every_formulation(formulation: str):
    model, rates = on_a_rod()
    run = da.simulate(model, 0.5, formulation=formulation, initial_rates=rates, **TIGHT)
    expected = spherical_pendulum(run.values("time"), 1.0, (0.6, 0, -0.8), (0, 1, 0))
    np.testing.assert_allclose(
        run.body("bob").position.values, expected, atol=1e-4 if formulation == "penalty" else 1e-9
    )


@pytest.mark.parametrize("particle", [False, True])
def test_point_mass_on_a_rod_that_is_a_tree_joint_and_free(particle: bool):
    model = da.Model("two")
    model.body("thrown", mass=2, com=(0, 0, 1))
    if particle:
        model.particle("other", 1, (1, 0, 0))
    else:
        model.body("other", mass=1, com=(1, 0, 0))
    model.distance("rod", model.ground, "other", point=(0, 0, 0), point_2=(1, 0, 0))
    run = da.simulate(model, 0.5, initial_rates={"thrown": (0, 0, 0, 1, 2, 3)}, **TIGHT)
    t = run.values("time")
    parabola = np.array([t, 2 * t, 1 + 3 * t - G * t**2 / 2]).T
    np.testing.assert_allclose(run.body("thrown").position.values, parabola, atol=1e-9)
    np.testing.assert_allclose(
        run.body("other").position.values, spherical_pendulum(t, 1.0, (1, 0, 0), (0, 0, 0)), atol=1e-9
    )
    assert run.certificate.trusted


def test_two_particles_on_a_spring():
    """Relative motion of a free pair: x = 1 + 0.2 cos(ω t) with ω² = k (1/m + 1/M)."""
    model = da.Model("pair", gravity=(0, 0, 0))
    model.particle("a", 1, (0, 0, 0))
    model.particle("b", 3, (1.2, 0, 0))
    model.spring("spring", "a", "b", at=((0, 0, 0), (1.2, 0, 0)), stiffness=12, length=1)
    run = da.simulate(model, 1.0, **TIGHT)
    gap = run.body("b").position.values[:, 0] - run.body("a").position.values[:, 0]
    np.testing.assert_allclose(gap, 1 + 0.2 * np.cos(4 * run.values("time")), atol=1e-9)


def test_a_moment_on_a_point_mass_is_refused():
    model, rates = on_a_ball()
    model.torque("twist", "bob", (0.06, 0, -0.08))  # about the rod
    run = da.simulate(model, 0.1, initial_rates=rates)
    assert not run.certificate.trusted
    assert "neither mass nor constraint" in str(run.certificate)


@pytest.mark.parametrize("direction", [(1, 0, 0), (0.3, 0.5, -0.7)])
def test_a_slender_rod_hangs_on_a_ball(direction: Any):
    """Nothing turns it about its own axis, whatever direction that has; it falls as a plane pendulum of 2 l/3."""
    model = da.Model("rod")
    model.rod("rod", (0, 0, 0), direction, mass=2)
    model.spherical("ball", "ground", "rod", point=(0, 0, 0))
    run = da.simulate(model, 1.0)
    assert run.certificate.trusted and run.attrs["formulation"] == "lagrange-multipliers"
    length, z = np.linalg.norm(direction), run.body("rod").position.values[:, 2]
    falling = run.energy.kinetic.values - 2 * 9.81 * (z[0] - z)
    np.testing.assert_allclose(falling, 0, atol=1e-8)
    v = run.body("rod").velocity.values
    np.testing.assert_allclose(run.energy.kinetic, 2 / 2 * (v**2).sum(1) * 4 / 3, atol=1e-9 * 9.81 * length)


# Inertia that no rigid body has


def test_published_inertia_that_breaks_the_triangle_inequality_warns():
    model = da.Model("robot")
    model.body("link", mass=1, inertia=(0.1, 0.1, 0.5))
    model.revolute("joint", model.ground, "link", point=(0, 0, 0), axis="z")
    with pytest.warns(da.ModelWarning, match="body 'link'.*exceeds the sum of the others"):
        model.validate()


def test_a_planar_bar_has_one_moment(recwarn: pytest.WarningsRecorder):
    model = da.Model("bar")
    model.body("bar", mass=1, com=(0, 0.5, 0), inertia=(0, 0, 0.1))
    model.revolute("joint", model.ground, "bar", point=(0, 0, 0), axis="z")
    model.validate()
    assert not [w for w in recwarn if issubclass(w.category, da.ModelWarning)]


# Several base bodies


def test_cut_joints_leave_base_bodies():
    """Without a tree joint left, a body is a base of its own: six coordinates, and the joint closes a loop."""

    def pendulum(cut: bool) -> da.Model:
        model = da.Model("double")
        for name, x in (("upper", 0.5), ("lower", 1.5)):
            model.body(name, mass=1, com=(x, 0, 0), inertia=(0.1, 0.1, 0.1))
        model.revolute("a", model.ground, "upper", point=(0, 0, 0), axis="y")
        model.revolute("b", "upper", "lower", point=(1, 0, 0), axis="y", cut=cut)
        return model

    two_bases, tree = (da.simulate(pendulum(cut), 0.5, **TIGHT) for cut in (True, False))
    assert two_bases.dynamics.nv == 7
    np.testing.assert_allclose(two_bases.values("position"), tree.values("position"), atol=1e-9)


# Inertia as CAD programs give it


def test_inertia_about_the_origin():
    """J = J_c + m (c² 1 − c cᵀ): the top of eq. (45), in world axes about the world origin."""
    rng = np.random.default_rng(3)
    points, m = rng.normal(size=(7, 3)) + np.array([0.4, -1.0, 2.0]), rng.uniform(0.5, 2.0, 7)
    mass, com = m.sum(), m @ points / m.sum()

    def tensor(about: np.ndarray) -> np.ndarray:
        r = points - about
        return sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(m, r, strict=True))

    made = []
    for about, inertia in (("com", tensor(com)), ("origin", tensor(np.zeros(3)))):
        model = da.Model("body")
        model.body("b", mass=mass, com=tuple(com), inertia=inertia, inertia_about=about)
        model.revolute("j", model.ground, "b", point=(1, 2, 3), axis=(1, 2, 2))
        made.append(model)
    M = [da.compile(model).mass_matrix([0.3])[0, 0] for model in made]
    axis, arm = np.array([1, 2, 2]) / 3, np.array([1, 2, 3])
    assert M[0] == pytest.approx(axis @ tensor(arm) @ axis, rel=1e-12)
    assert M[1] == pytest.approx(M[0], rel=1e-12)
    from dalembert.io import dumps, loads

    assert loads(dumps(made[1])) == made[1]
    model = da.Model("wrong")
    model.body("b", mass=1, com=(10, 0, 0), inertia=(1, 1, 1), inertia_about="origin")
    with pytest.raises(da.ModelError, match="negative in any direction"):
        model.validate()
    with pytest.raises(da.ModelError, match="inertia_about is for an inertia that is given"):
        da.Model("wrong").body("b", mass=1, inertia_about="origin")


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_a_joint_beside_a_particle_would_hold_it_and_is_refused(kind: str):
    model = da.Model("pendulum")
    model.particle("bob", 1.0, (1, 0, 0))
    axis = {"axis": "y"} if kind == "revolute" else {}
    model.joint(kind, "pin", "ground", "bob", point=(0, 0, 0), **axis)
    with pytest.raises(da.ModelError, match=r"'bob' is a particle, which cannot rotate(.|\n)*model\.body\('bob'"):
        da.simulate(model, 1.0)


def test_a_particle_on_a_crank_pin_is_a_mass_that_does_not_turn():
    model = da.Model("crank", gravity=(0, 0, 0))
    model.rod("crank", (0, 0, 0), (0.5, 0, 0), mass=3.0)
    model.particle("load", 2.0, (0.5, 0, 0))
    model.revolute("A", "ground", "crank", point=(0, 0, 0), axis="z")
    model.revolute("pin", "crank", "load", point=(0.5, 0, 0), axis="z")
    model.joint_force("motor", "A", 1.0)
    run = da.simulate(model, 1.0)
    np.testing.assert_allclose(run.joint("A").u[-1], 1.0 / (3 * 0.25 / 3 + 2 * 0.25), rtol=1e-9)
