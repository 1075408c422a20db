"""Impacts with friction, against closed forms: stick, slip and reversal, several contacts at once, energy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as da
from dalembert.analyses.contacts.complementarity import lemke, lighten, solve_complementarity
from dalembert.analyses.contacts.coulomb import Rubs
from dalembert.analyses.contacts.touch import hit

G = 9.81
FLOOR = {"kind": "plane", "axis": "z"}


def spinning(mu, e, impact="newton", share=0.4):
    """A ball of radius 0.1 over the floor, in a plane; u = (ż, ẋ, ω)."""
    model, radius = da.Model("ball"), 0.1
    ball = model.body("ball", mass=2.0, com=(0, 0, radius), inertia=(2.0 * share * radius**2,) * 3)
    model.planar("plane", model.ground, ball, point=(0, 0, radius), axis="y")
    skin = {"kind": "sphere", "at": (0, 0, radius), "radius": radius}
    model.rigid_contact("floor", model.ground, ball, surfaces=(FLOOR, skin), restitution=e, impact=impact)
    model.contact_friction("rub", "floor", coefficient=mu, along="x")
    return model


def after(model, q, u):
    """Velocities after an impact, and what it did."""
    d = da.compile(model)
    x = np.concatenate([q, u, [0.0]])
    found = hit(d, 0.0, x, {})
    assert found.trouble is None
    return x[d.nq : d.nq + d.nv], found


@pytest.mark.parametrize("impact", ["newton", "poisson"])
@pytest.mark.parametrize(("mu", "slips"), [(0.1, True), (0.5, False)])
@pytest.mark.parametrize("spin", [0.0, -5.0])
def test_a_ball_grips_or_slips(impact, mu, slips, spin):
    """Central impact: n = (1 + e) m v; it slips if μ n is less than m s/(1 + 1/κ), which makes it roll."""
    e, fall, speed, share = 0.6, 1.0, 2.0, 0.4
    u, found = after(spinning(mu, e, impact), np.zeros(3), np.array([-fall, speed, spin]))
    slip = speed - 0.1 * spin
    push = min(mu * (1 + e) * fall, slip / (1 + 1 / share))
    assert (push < slip / (1 + 1 / share)) == slips
    assert u == pytest.approx([e * fall, speed - push, spin + push / (share * 0.1)], rel=1e-12)
    if not slips:
        assert u[1] == pytest.approx(0.1 * u[2], rel=1e-12)
    energy = 0.5 * 2.0 * (fall**2 * (1 - e**2) + speed**2 - u[1] ** 2 + share * 0.01 * (spin**2 - u[2] ** 2))
    assert found.taken == pytest.approx(energy, rel=1e-12) and found.lost == pytest.approx(energy, rel=1e-12)


def rod(mu, e, angle, impact):
    """A slender rod of length 1 whose lower end is at the origin, leaning."""
    model = da.Model("rod")
    center = (np.cos(angle) / 2, 0, np.sin(angle) / 2)
    body = model.body("rod", mass=1.0, com=center, inertia=(1 / 12, 1 / 12, 1 / 12))
    model.planar("plane", model.ground, body, point=(0, 0, 0), axis="y")
    model.rigid_contact("tip", model.ground, body, surfaces=(FLOOR, {"kind": "point"}), restitution=e, impact=impact)
    model.contact_friction("rub", "tip", coefficient=mu, along="x")
    return model


@pytest.mark.parametrize("impact", ["newton", "poisson"])
def test_no_impact_gives_energy(impact):
    """A rod that leans: where a law of restitution would give energy it is softened, and never gives any."""
    rng, softened = np.random.default_rng(1), 0
    for angle in (0.4, 0.9, 1.3):
        d = da.compile(rod(rng.uniform(0.2, 1.2), rng.uniform(0.5, 1.0), angle, impact))
        for _ in range(30):
            u = rng.normal(size=3)
            u[0] = -abs(u[0]) * rng.choice([0.05, 1.0])
            x = np.concatenate([np.zeros(3), u, [0.0]])
            kinetic = [float(d.energy(x[:3], x[3:6])[0])]
            found = hit(d, 0.0, x, {})
            kinetic.append(float(d.energy(x[:3], x[3:6])[0]))
            assert found.trouble is None and x[3] >= -1e-12
            assert kinetic[0] - kinetic[1] == pytest.approx(found.lost, abs=1e-12)
            assert found.lost >= -1e-12 * kinetic[0]
            softened += found.kept < 1.0
    assert (softened > 0) == (impact == "newton")


def test_softened_impacts_are_reported():
    """A rod whose tip comes down slowly and stops sliding: with e = 1 alone it would get energy."""
    model = rod(0.8, 1.0, 0.9, "newton")
    model.initial("plane", value=(1e-3, 0, 0), rate=(-0.38, 0.19, 0.53))
    run = da.simulate(model, 0.01)
    assert run.certificate.trusted and [event.name for event in run.events] == ["tip hit"]
    assert any("restitution given would have added energy" in remark for remark in run.certificate.remarks)
    kinetic = run.energy.kinetic.values + run.energy.potential.values
    assert kinetic[-1] <= kinetic[0] * (1 + 1e-12)


def test_complementarity_with_friction_holds():
    """Random systems of contacts that share bodies, more than velocities among them."""
    rng = np.random.default_rng(0)
    for n, nv in ((1, 3), (2, 3), (4, 3), (4, 9)):
        for _ in range(20):
            rows = rng.normal(size=(2 * n, nv))
            W, q, mu = rows @ rows.T, rows @ rng.normal(size=nv), rng.uniform(0, 1, n)
            z = Rubs(list(range(n)), list(mu)).solve(W, q)
            assert z is not None
            w, size = W @ z + q, np.abs(z).max()
            push, pull = z[:n], z[n:]
            assert w[:n].min() > -1e-8 and push.min() > -1e-8 and np.abs(w[:n] * push).max() < 1e-7 * (1 + size)
            assert np.all(np.abs(pull) <= mu * push + 1e-8 * (1 + size))
            sliding = np.abs(w[n:]) > 1e-7
            assert np.allclose(pull[sliding], (-np.sign(w[n:]) * mu * push)[sliding], atol=1e-7 * (1 + size))


def test_of_contacts_that_depend_on_each_other_one_may_open():
    """Two that push the same way; the second would enter faster, so it alone pushes."""
    W, q = np.ones((2, 2)), np.array([-1.0, -2.0])
    z = solve_complementarity(W, q)
    assert z == pytest.approx([0.0, 2.0]) and W @ z + q == pytest.approx([1.0, 0.0])


def test_loads_that_several_share_go_to_few():
    rng = np.random.default_rng(3)
    J = rng.normal(size=(3, 5))
    J = np.vstack([J, J[0] + J[1], J[2]])
    W, z = J @ J.T, np.array([1.0, 2.0, 3.0, 0.5, 1.0])
    less = lighten(W, z, [4, 3])
    assert W @ less == pytest.approx(W @ z) and less == pytest.approx([1.5, 2.5, 4.0, 0.0, 0.0])
    assert lighten(W, z, []) == pytest.approx(z)


def test_lemke_says_when_there_is_no_solution():
    assert lemke(np.array([[-1.0]]), np.array([-1.0])) is None
    assert lemke(np.array([[2.0]]), np.array([-1.0])) == pytest.approx([0.5])


def test_a_block_rocks_as_housner_says():
    width, height, tilt = 0.2, 0.6, 0.2
    run = da.simulate(da.library.rocking_block(width=width, height=height, tilt=tilt), 4.0)
    assert run.certificate.trusted and np.ptp(run.energy.balance.values) < 1e-8
    alpha, radius = np.arctan2(width, height), np.hypot(width, height) / 2
    p2, keep = 3 * G / (4 * radius), 1 - 1.5 * np.sin(alpha) ** 2

    def swing(tilt):
        """Time from rest at a tilt to the floor, and ω there:  ω² = 2 p² (cos(α − θ₀) − cos(α − θ))."""

        def speed(theta):
            return np.sqrt(2 * p2 * (np.cos(alpha - tilt) - np.cos(alpha - theta)))

        # θ = θ₀ − s² removes the root at rest
        time, _ = quad(lambda s: 2 * s / speed(tilt - s * s), 0, np.sqrt(tilt), epsabs=1e-12, epsrel=1e-12)
        return time, speed(0.0)

    hits = [event.time for event in run.events if event.name.endswith(" hit")]
    time, omega = swing(tilt)
    assert hits[0] == pytest.approx(time, rel=1e-8)
    for before, now in list(pairwise(hits))[:4]:
        omega *= keep
        tilt = alpha - np.arccos(np.cos(alpha) + omega**2 / (2 * p2))
        assert now - before == pytest.approx(2 * swing(tilt)[0], rel=1e-7)
    assert run.events[-1].name.endswith(" rest")  # impacts accumulate
    assert np.abs(run.joint("plane").u[-1]).max() == 0.0
    assert np.abs(run.joint("plane").q[-1]).max() < 1e-10  # edges stuck all the time


def test_a_plank_falls_flat():
    """Both edges at once, e = 0: it stays; where it slides, friction of the impulse m v slows it by μ v."""
    wide = da.library.rocking_block(width=2.0, height=0.1, friction=0.3)
    u, found = after(wide, np.zeros(3), np.array([-1.0, 2.0, 0.0]))
    assert u == pytest.approx([0, 2.0 - 0.3, 0], abs=1e-12)
    assert found.taken == pytest.approx(0.5 * 10 * (1 + 4 - 1.7**2), rel=1e-12)


def published_woodpecker():
    """The equations of C. Glocker, "Dynamik von Starrkörpersystemen mit Reibung und Stößen" (1995), linear in the two
    angles, which are lengths here: one kilogram and one meter for a unit of inertia and a radian."""
    r0, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    model = da.Model("woodpecker, linear")
    for name, mass, axis in (("y", 3e-4, "z"), ("M", 5e-9, "x"), ("S", 7e-7, "x"), ("bird", 4.5e-3, "z")):
        model.prismatic(name, model.ground, model.body(f"{name} body", mass=mass), point=(0, 0, 0), axis=axis)
    model.constraint("bird height", f"q(bird) - q(y) - {lM}*q(M) - {lG}*q(S)")
    model.joint_force("wire M", "M", "-0.0056*(q(M) - q(S))")
    model.joint_force("wire S", "S", "-0.0056*(q(S) - q(M))")
    contacts = (
        ("beak", f"{lM + lG - lS - r0} - {hS}*q(S)", f"q(y) + {lM}*q(M) + {lG - lS}*q(S)", 0.5),
        ("lower", f"{rM - r0} + {hM}*q(M)", f"q(y) + {rM}*q(M)", 0),
        ("upper", f"{rM - r0} - {hM}*q(M)", f"q(y) + {rM}*q(M)", 0),
    )
    for name, gap, height, e in contacts:
        cart, tip = model.body(f"{name} cart", mass=0), model.body(f"{name} tip", mass=0)
        model.prismatic(f"{name}_x", model.ground, cart, point=(0, 0, 0), axis="x")
        model.prismatic(f"{name}_z", cart, tip, point=(0, 0, 0), axis="z")
        model.constraint(f"{name} gap", f"q({name}_x) - ({gap})")
        model.constraint(f"{name} height", f"q({name}_z) - ({height})")
        wall = {"kind": "plane", "axis": "x"}
        surfaces = (wall, {"kind": "point"})
        model.rigid_contact(name, model.ground, tip, surfaces=surfaces, restitution=e, impact="poisson")
        model.contact_friction(f"{name} rub", name, coefficient=0.3, along="z")
    model.initial("y", 0, rate=-0.3411)
    model.initial("M", -0.1034, rate=0)
    model.initial("S", -0.2788, rate=-7.4583)
    return model


@pytest.mark.slow
def test_the_published_woodpecker_pecks_in_its_limit_cycle():
    """Its published state lies on the limit cycle. Period and fall of one are those of an independent time-stepping
    (Moreau's scheme, written down from the published matrices, steps of 20 µs): 0.1460 s, 19.45 mm."""
    run = da.simulate(published_woodpecker(), 2.0)
    assert np.ptp(run.energy.balance.values) < 1e-8 * np.ptp(run.energy.work.values) + 1e-11
    pecks = np.array([event.time for event in run.events if event.name == "beak hit"])
    falls = np.diff(np.interp(pecks, run.time, run.joint("y").q.values.ravel()))
    assert np.abs(np.diff(pecks) - 0.14598).max() < 2e-4
    assert falls[-6:].mean() == pytest.approx(-0.01945, abs=2e-5)
    order = [event.name for event in run.events]
    begun, ended = [i for i, name in enumerate(order) if name == "beak hit"][-2:]
    assert order[begun:ended] == [
        "beak hit", "upper hit", "upper rest", "upper open", "lower hit", "lower hit", "lower rest", "lower rub stops",
        "lower rub slips", "lower open", "upper hit",
    ]  # fmt: skip


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_a_ball_in_space_grips_or_slips_along_its_slip(mu):
    """Friction in any direction is that of plane motion along the slip, whatever the axes."""
    model, radius, share, e = da.Model("ball"), 0.1, 0.4, 0.6
    ball = model.body("ball", mass=2.0, com=(0, 0, radius), inertia=(2.0 * share * radius**2,) * 3)
    skin = {"kind": "sphere", "at": (0, 0, radius), "radius": radius}
    model.rigid_contact("floor", model.ground, ball, surfaces=(FLOOR, skin), restitution=e)
    model.contact_friction("rub", "floor", coefficient=mu)
    d = da.compile(model)
    spin, velocity = np.array([3.0, -1.0, 2.0]), np.array([0.7, 1.1, -1.0])
    state = da.assemble(d, {}, initial_rates={"ball": (*spin, *velocity)})
    u, _ = after(model, state.q, state.u)
    slip = velocity[:2] + np.cross(spin, [0, 0, -radius])[:2]
    speed = np.linalg.norm(slip)
    push = -min(mu * (1 + e) * 1.0, speed / (1 + 1 / share)) * slip / speed
    turned = spin + np.cross([0, 0, -radius], [*push, 0.0]) / (share * radius**2)
    assert u == pytest.approx([*turned, *(velocity[:2] + push), e], rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_coulombs_law_holds_in_all_directions(seed):
    """Two contacts that slide in planes: forces within the circle, against the slip where they slide."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(6, 9))
    W, q, mu = J @ J.T, np.concatenate([-rng.uniform(0.2, 2, 2), 3 * rng.normal(size=4)]), (0.3, 0.6)
    z = Rubs.of([(0, mu[0], 2), (1, mu[1], 2)]).solve(W, q)
    assert z is not None
    w = W @ z + q
    assert np.all(z[:2] >= -1e-9) and np.all(w[:2] >= -1e-9) and abs(z[:2] @ w[:2]) < 1e-9
    for k in range(2):
        p, s, limit = z[2 + 2 * k : 4 + 2 * k], w[2 + 2 * k : 4 + 2 * k], mu[k] * z[k]
        assert np.linalg.norm(p) <= limit + 1e-9
        if np.linalg.norm(s) > 1e-9:
            assert p == pytest.approx(-limit * s / np.linalg.norm(s), abs=1e-9)


def test_a_gap_closes_where_joints_are_closed():
    """Leading the state of an event back onto its joints moved it by more than a closed gap may be open: nothing was
    hit, the arm went on through its stop, and some of it was trusted."""
    model = da.Model("arms", gravity=(0, -9.81, 0))
    for name, x in (("a", 0.5), ("b", 1.5)):
        model.body(name, mass=1, com=(x, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("A", "ground", "a", point=(0, 0, 0), axis="z")
    model.revolute("B", "a", "b", point=(1, 0, 0), axis="z")
    model.limit("stop", "q(B)", lower=-0.3, upper=0.3, restitution=0.8, impact="poisson")
    for rtol in (1e-3, 1e-5):
        options = {"rtol": rtol, "atol": rtol / 100, "initial_rates": {"A": 5.0, "B": -10.0}}
        run, other = (
            da.simulate(model, 1.0, integrator="dopri8", coordinates=kind, **options)
            for kind in ("absolute", "relative")
        )
        assert np.abs(run.joint("B").q).max() < 0.3 + 1e-9
        assert [event.time for event in run.events] == pytest.approx([e.time for e in other.events], abs=10 * rtol)


@pytest.mark.parametrize("rtol", [1e-3, 2.6e-4, 1e-5])
def test_loose_tolerances_let_no_contact_pass(rtol):
    """Led back onto the edge that it stands on, a block was beyond what counts as closed when the other edge came down,
    and fell through the floor."""
    run = da.simulate(da.library.rocking_block(), 1.6, rtol=rtol, atol=rtol / 100)
    assert [event.name for event in run.events if event.name.endswith("hit")] == ["right hit", "left hit"] * 2
    assert run.certificate.trusted and run.certificate["penetration"] < 1e-8
