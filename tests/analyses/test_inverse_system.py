"""Inverse dynamics of subsystems: theorem 4.3, chosen constraint forces, Coulomb friction on them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.analyses.motions.friction import solve_sizes

LAW = "-(1 - gamma)*l2*(1 + 8*sin(2*pi*t)**2)/10"
UNKNOWNS = ["u1", "Y", "Z"]


@pytest.fixture(scope="module")
def slider():
    return da.library.slider_crank_3d_modular()


def test_slider_crank_with_friction(slider):
    """Numbers recomputed with Newton-Euler and every joint force (thesis, example 4.5)."""
    found = da.inverse_dynamics(slider, {"slider.s": LAW}, np.linspace(0.05, 0.3, 51), unknowns=UNKNOWNS)
    assert found.certificate.trusted, found.certificate
    expected = {
        0.05: {"u1": 27.4444894993, "Y": -5.80369660829, "Z": 17.3886955729},
        0.1: {
            "u1": 6.93901259489, "Y": -8.00520073871, "Z": 12.9257183299, "crank.chi": 1.40334490913,
            "crank.omega": 10.1079797535,
        },
        0.3: {"u1": -32.43321062, "Y": 63.3493837717, "Z": -28.3773302087},
    }  # fmt: skip
    for t, values in expected.items():
        at = int(np.argmin(np.abs(found.values("time") - t)))
        for name, value in values.items():
            assert found.values(name)[at] == pytest.approx(value, rel=2e-11), (t, name)
    (turn,) = found.events
    assert turn.time == pytest.approx(0.25, abs=1e-9) and turn.velocity == "slider.s.d"
    assert turn.before["u1"] == pytest.approx(-49.285, abs=5e-4) and turn.after["u1"] == pytest.approx(
        -58.418, abs=5e-4
    )


def test_power_is_the_rate_of_the_kinetic_energy(slider):
    """u₁ χ̇ + x* v = dT/dt, which is 55.086351334308 W at t = 0.1 s."""
    found = da.inverse_dynamics(slider, {"slider.s": LAW}, np.array([0.05, 0.1]), unknowns=UNKNOWNS)
    Y, Z, v = (found.values(name)[1] for name in ("Y", "Z", "slider.s.d"))
    friction = -0.5 * np.sign(v) * np.hypot(Y, Z)
    assert found.power.sel(unknown="u1").values[1] + friction * v == pytest.approx(55.086351334308, rel=1e-11)
    masses = {"crank.omega": 0.2, "rod.omega.y": 0.1, "rod.omega.z": 0.1} | {f"rod.v.{a}": 0.5 for a in "xyz"}
    energy = sum(m * found.values(n)[1] * found.values(f"{n}.d")[1] for n, m in masses.items())
    energy += 2.0 * v * found.values("slider.s.dd")[1]
    assert energy == pytest.approx(55.086351334308, rel=1e-11)


def test_slider_crank_without_friction():
    slider = da.library.slider_crank_3d_modular(friction=0.0)
    found = da.inverse_dynamics(slider, {"slider.s": LAW}, np.array([0.05, 0.1]), unknowns=UNKNOWNS)
    np.testing.assert_allclose(found.values("u1"), (26.0742585453, 5.44978845209), rtol=1e-11)


def test_too_much_friction_jams(slider):
    found = da.inverse_dynamics(
        slider, {"slider.s": LAW}, 0.5, unknowns=UNKNOWNS, parameters={"mu": 1.2}, output_step=0.01
    )
    jammed = found.friction >= 1.0
    assert jammed.any() and not jammed.all()
    np.testing.assert_array_equal(found.unique, ~jammed)
    np.testing.assert_array_equal(np.isnan(found.values("u1")), jammed)
    assert not found.certificate.trusted
    said = str(found.certificate)
    assert "no unique solution" in said and "μ|∂N/∂x| = " in said and "Painlevé" in said
    mild = da.inverse_dynamics(slider, {"slider.s": LAW}, 0.5, unknowns=UNKNOWNS, output_step=0.01)
    np.testing.assert_allclose(found.friction, 1.2 / 0.5 * mild.friction, rtol=1e-12)  # b depends on the position alone


# Node models of planar mechanisms


def test_whitworth_by_nodes():
    """Recomputed with Newton-Euler and every joint force (thesis 5.3.1)."""
    system = da.library.whitworth().to_subsystem()
    times, start = np.linspace(0, 2.3, 24), system.guesses()
    found = da.inverse_dynamics(system, {"crank.omega": "pi/2"}, times, initial=start)
    assert found.certificate.trusted, found.certificate
    expected = {
        "slider.P.x.d": (-0.255876324727, 0.705959798504),
        "rocker.omega": (0.461998919646, -1.09096826615),
        "u1": (0.036541853005, 0.952081805481),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found.values(name)[[0, -1]], values, rtol=2e-11, err_msg=name)


@pytest.mark.slow
def test_three_rrr_by_nodes():
    """Redundant length equations of the platform; numbers of the thesis's case 5.3.2, recomputed."""
    system = da.library.three_rrr().to_subsystem()
    angle = "atan2(platform.P1.y - platform.center.y, platform.P1.x - platform.center.x)"
    motion = {
        "platform.center.x": "-sin(pi*t/2)", "platform.center.y": "sin(pi*t/4)", angle: "(pi/6)*sin(pi*t/4)**4",
    }  # fmt: skip
    times = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.3])
    found = da.inverse_dynamics(system, motion, times, initial=system.guesses())
    assert found.certificate.trusted, found.certificate
    forces = np.stack([found.values(name) for name in ("u1", "u2", "u3")], axis=1)
    np.testing.assert_allclose(forces[0], (1.256327099, -0.7037541426, 1.228120405), atol=1e-9)
    np.testing.assert_allclose(forces[4], (7.174202351, 4.166600174, -0.6128158164), atol=1e-9)
    np.testing.assert_allclose(forces[-1], (-7.35321983, 10.17266901, 0.9511423473), atol=1e-8)


# A block on a plane, pushed at an angle: closed forms


def block(alpha, mu):
    """m ẍ = F cos α − μ sign(ẋ) |N|,  N = m g + F sin α."""
    block = da.Subsystem("block")
    m, g, a, k = block.parameters(m=2.0, g=9.8, alpha=alpha, mu=mu)
    x, y = block.coordinates("x y")
    force = block.input("F")
    block.invariant(y, "floor")
    block.relax(floor="N")
    normal = sp.Symbol("N", real=True)
    push = {x: force * sp.cos(a) - m * x.dd, y: -force * sp.sin(a) - m * g - m * y.dd}
    block.effective_forces(push)
    block.effective_forces({x: -k * sp.sign(x.d) * sp.Abs(normal)})
    return block


def test_block_against_the_closed_form():
    alpha, mu, m, g = 0.4, 0.6, 2.0, 9.8
    found = da.inverse_dynamics(block(alpha, mu), {"x": "sin(t)"}, 3.0, unknowns=["F", "N"], output_step=0.07)
    t = found.values("time")
    a, sign = -np.sin(t), np.sign(np.cos(t))
    tan = np.tan(alpha)
    normal = m * (g + a * tan) / (1 - sign * mu * tan)
    np.testing.assert_allclose(found.values("N"), normal, rtol=1e-12)
    np.testing.assert_allclose(found.values("F"), (m * a + sign * mu * normal) / np.cos(alpha), rtol=1e-11)
    np.testing.assert_allclose(found.friction, mu * tan, rtol=1e-12)
    (turn,) = found.events
    assert turn.time == pytest.approx(np.pi / 2, abs=1e-10)
    before, after = (m * (g - tan) / (1 - s * mu * tan) for s in (1, -1))
    assert turn.before["N"] == pytest.approx(before) and turn.after["N"] == pytest.approx(after)


def test_block_jams_where_the_closed_form_has_no_solution():
    steep = block(1.1, 0.6)  # μ tan α = 1.18
    found = da.inverse_dynamics(steep, {"x": "sin(t)"}, 1.0, unknowns=["F", "N"], output_step=0.1)
    assert not found.unique.any() and np.isnan(found.values("F")).all()
    assert "has no solution there" in str(found.certificate)


def test_a_size_counted_twice_and_signs_without_sizes():
    """Constant friction by a sign alone needs no size; its reversal is an event, too."""
    cart = da.Subsystem("cart")
    m, c = cart.parameters(m=1.5, c=0.4)
    x, force = cart.coordinates("x"), cart.input("F")
    cart.effective_forces({x: force - m * x.dd - c * sp.sign(x.d)})
    found = da.inverse_dynamics(cart, {"x": "sin(2*t)"}, 1.0)
    t = found.values("time")
    np.testing.assert_allclose(found.values("F"), -6 * np.sin(2 * t) + 0.4 * np.sign(np.cos(2 * t)), atol=1e-12)
    assert found.friction is None and found.events[0].time == pytest.approx(np.pi / 4, abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_several_sizes_meet_their_equations(seed):
    rng = np.random.default_rng(seed)
    T, m, sizes = 20, 4, 3
    u0, U = rng.normal(size=(T, m)), 0.1 * rng.normal(size=(T, m, sizes))
    roots = rng.normal(size=(T, sizes, 2, m))
    H = 2 * np.einsum("tika,tikb->tiab", roots, roots)
    shift = rng.normal(size=(T, sizes, 2))
    p0, g = np.einsum("tik,tik->ti", shift, shift), 2 * np.einsum("tik,tika->tia", shift, roots)
    found = solve_sizes(u0, U, p0, g, H)
    good = found.number < 1.0
    assert good.any() and np.isnan(found.sizes[~good]).all()
    u = u0 + np.einsum("taj,tj->ta", U, found.sizes)
    norms = np.linalg.norm(shift + np.einsum("tika,ta->tik", roots, u), axis=2)
    np.testing.assert_allclose(found.sizes[good], norms[good], rtol=1e-9)


# Chosen constraint forces


def test_relaxed_invariant_gives_the_tension_of_a_pendulum():
    pendulum = da.Subsystem("pendulum")
    m, g, r = pendulum.parameters(m=1.2, g=9.8, r=0.7)
    x, y, theta = pendulum.coordinates("x y theta")
    torque = pendulum.input("u")
    pendulum.effective_forces({x: -m * x.dd, y: -m * g - m * y.dd, theta: torque})
    pendulum.invariant(x - r * sp.sin(theta), "px")
    pendulum.invariant(y + r * sp.cos(theta), "py")
    plain = da.inverse_dynamics(pendulum, {"theta": "0.8*sin(3*t)"}, 1.0)
    t = plain.values("time")
    angle, rate, acceleration = 0.8 * np.sin(3 * t), 2.4 * np.cos(3 * t), -7.2 * np.sin(3 * t)
    np.testing.assert_allclose(
        plain.values("u"), 1.2 * 0.7**2 * acceleration + 1.2 * 9.8 * 0.7 * np.sin(angle), rtol=1e-11, atol=1e-12
    )
    pendulum.relax(px="X", py="Y")
    found = da.inverse_dynamics(pendulum, {"theta": "0.8*sin(3*t)"}, 1.0, unknowns=["u", "X", "Y"])
    ax = 0.7 * (acceleration * np.cos(angle) - rate**2 * np.sin(angle))
    ay = 0.7 * (acceleration * np.sin(angle) + rate**2 * np.cos(angle))
    np.testing.assert_allclose(found.values("X"), 1.2 * ax, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(found.values("Y"), 1.2 * (ay + 9.8), rtol=1e-10)
    np.testing.assert_allclose(found.values("u"), plain.values("u"), atol=1e-11)


def test_the_law_as_mathematics():
    """u = −Cᵀ f* over SymPy: the formula of the pendulum, and the numbers of a system of parts."""
    pendulum = da.Subsystem("pendulum")
    m, g, r = pendulum.parameters(m=1.0, g=9.8, r=1.0)
    theta, torque = pendulum.coordinates("theta"), pendulum.input("u")
    pendulum.effective_forces({theta: torque - m * r**2 * theta.dd - m * g * r * sp.sin(theta)})
    law = pendulum.equations().inverse("u")["u"]
    M, G, R = (sp.Symbol(name, real=True) for name in ("m", "g", "r"))
    angle, acceleration = (sp.Symbol(name, real=True) for name in ("theta", "theta.dd"))
    assert sp.simplify(law - (M * R**2 * acceleration + M * G * R * sp.sin(angle))) == 0
    slider = da.library.slider_crank_3d_modular(friction=0.0)
    slider.set_parameter("mu", 0.0)
    with pytest.raises(da.ModelError, match="has 3 degrees of freedom, 1 inputs are asked for"):
        slider.equations().inverse("u1")


def test_motion_at_another_place_than_the_input():
    """The tip of the pendulum is prescribed, the torque is found; the branch follows the guess."""
    pendulum = da.Subsystem("pendulum")
    m, g, r = pendulum.parameters(m=1.0, g=9.8, r=1.0)
    theta, torque = pendulum.coordinates("theta"), pendulum.input("u")
    pendulum.effective_forces({theta: torque - m * r**2 * theta.dd - m * g * r * sp.sin(theta)})
    motion = {r * sp.sin(theta): "0.3 + 0.1*sin(t)"}
    down = da.inverse_dynamics(pendulum, motion, 1.0, initial={"theta": 0.3})
    up = da.inverse_dynamics(pendulum, motion, 1.0, initial={"theta": 2.8})
    np.testing.assert_allclose(down.values("theta"), np.pi - up.values("theta"), atol=1e-10)
    np.testing.assert_allclose(np.sin(down.values("theta")), 0.3 + 0.1 * np.sin(down.values("time")), atol=1e-12)
    assert down.certificate.trusted and up.certificate.trusted


def test_more_and_fewer_inputs_than_freedoms():
    pair = da.Subsystem("pair")
    m = pair.parameters(m=1.0)
    x, y = pair.coordinates("x y")
    a, b, c = pair.input("a b c")
    pair.effective_forces({x: a + c - m * x.dd, y: b + c - m * y.dd})
    motion = {"x": "sin(t)", "y": "cos(2*t)"}
    more = da.inverse_dynamics(pair, motion, 1.0)
    needed = np.stack([more.values("x.dd"), more.values("y.dd")], axis=1)
    B = np.array([[1.0, 0, 1], [0, 1, 1]])
    np.testing.assert_allclose(
        np.stack([more.values(n) for n in "abc"], axis=1), needed @ np.linalg.pinv(B).T, atol=1e-12
    )
    assert not more.unique.any()
    fewer = da.inverse_dynamics(pair, motion, 1.0, unknowns=["a"])
    assert not fewer.certificate.trusted
    np.testing.assert_allclose(fewer.residual[:, 1], needed[:, 1], atol=1e-12)
    tight = da.inverse_dynamics(pair, motion, 1.0, unknowns={"a": None, "b": None, "c": 0.2})
    assert np.abs(tight.values("c")).max() <= 0.2 and tight.certificate.trusted


def test_known_inputs_and_velocities_that_are_integrated():
    sled = da.Subsystem("sled")
    m, inertia = sled.parameters(m=2.0, inertia=0.3)
    x, y, heading = sled.coordinates("x y heading")
    v, w = sled.quasi_velocity("v w")
    push, turn, wind = sled.input("push turn wind")
    sled.kinematics({x.d: v * sp.cos(heading), y.d: v * sp.sin(heading), heading.d: w})
    sled.effective_forces({v: push + wind - m * v.d, w: turn - inertia * w.d})
    motion = {"v": "1 + 0.5*t", "heading": "0.4*t", "wind": "0.2*sin(t)"}
    start = {"x": 0.0, "y": 0.0}
    found = da.inverse_dynamics(sled, motion, 1.0, unknowns=["push", "turn"], initial=start)
    t = found.values("time")
    np.testing.assert_allclose(found.values("push"), 1.0 - 0.2 * np.sin(t), atol=1e-12)
    np.testing.assert_allclose(found.values("turn"), 0.0, atol=1e-12)
    s, c = np.sin(0.4 * t), np.cos(0.4 * t)
    expected = (1 + 0.5 * t) * s / 0.4 + 0.5 * (c - 1) / 0.16
    np.testing.assert_allclose(found.values("x"), expected, atol=1e-10)


def lever_with_motor() -> da.Subsystem:
    motor = da.leaves.dc_motor("motor", k=0.2, kappa=0.3, resistance=3.0, inductance=0.05, I=0.01, b=0.02)
    lever = da.Subsystem("lever")
    weight, push = lever.parameters(weight=1.7), lever.input("push")
    theta = lever.coordinates("theta")
    lever.include(motor)
    lever.invariant(theta.d - motor.omega)
    lever.effective_forces({theta: push - weight * sp.sin(theta)})
    return lever


@pytest.mark.parametrize("sampled", [False, True])
def test_a_voltage_through_the_current_that_it_drives(sampled):
    """k i = I α + b ω + W sin θ,  u = λ di/dt + ρ i + κ ω: the voltage follows the jerk of the motion."""
    times = np.linspace(0, 1, 401)
    law = np.sin(3 * times) * 0.4 if sampled else "0.4*sin(3*t)"
    found = da.inverse_dynamics(lever_with_motor(), {"theta": law}, times, unknowns=["motor.voltage"])
    assert found.certificate.trusted and found.unique.all()
    angle, w, a, j = (0.4 * 3**n * np.sin(3 * times + n * np.pi / 2) for n in range(4))
    i = (0.01 * a + 0.02 * w + 1.7 * np.sin(angle)) / 0.2
    rate = (0.01 * j + 0.02 * a + 1.7 * np.cos(angle) * w) / 0.2
    tolerance = 1e-4 if sampled else 1e-11  # the third rate of a spline of degree 5
    np.testing.assert_allclose(found.values("motor.i"), i, atol=tolerance)
    np.testing.assert_allclose(found.values("motor.voltage"), 0.05 * rate + 3 * i + 0.3 * w, atol=tolerance)
    assert found.names == da.inverse_dynamics(lever_with_motor(), {"theta": law, "motor.i": 0.0}, 1.0,
                                              unknowns=["motor.voltage", "push"]).names  # fmt: skip


def test_a_current_that_nothing_determines_is_named():
    with pytest.raises(
        da.DalembertError, match=r"determine motor.i; forces might, but there is 0 instead of 1 balance"
    ):
        da.inverse_dynamics(lever_with_motor(), {"theta": "t"}, 1.0, unknowns=["push"])


@pytest.mark.parametrize(
    ("motion", "unknowns", "words"),
    [
        ({"slider.s": LAW}, ["u9"], "unknown 'u9' is not an input; there are .*u1"),
        ({"slider.q": LAW}, UNKNOWNS, "unknown name 'slider.q'"),
        ({}, UNKNOWNS, "no motion is given"),
        ({"slider.s": "-0.05 - 5*t"}, UNKNOWNS, r"at t = 0\.\d+ s the prescribed motion cannot be reached: "),
        ({"slider.s": "2"}, UNKNOWNS, r"cannot begin: .*motion of slider\.s"),
        ({"slider.s": "w*t"}, UNKNOWNS, "unknown w"),
        ({"slider.y": "0"}, UNKNOWNS, "does not determine"),
    ],
)
def test_refused(slider, motion, unknowns, words):
    with pytest.raises(da.DalembertError, match=words):
        da.inverse_dynamics(slider, motion, 1.0, unknowns=unknowns)


def test_files_and_pictures(slider, tmp_path):
    found = da.inverse_dynamics(slider, {"slider.s": LAW}, 0.5, unknowns=UNKNOWNS, output_step=0.01)
    found.plot(tmp_path / "a.png")
    saved = da.load(found.save(tmp_path / "a.nc"))
    np.testing.assert_array_equal(saved.values("u1"), found.values("u1"))
    assert "u1 up to" in repr(found)


def test_inverse_dynamics_is_saved_and_read_back(tmp_path):
    S = da.Subsystem("cart")
    m, k = S.parameters(m=2.0, k=3.0)
    x = S.coordinates("x")
    u = S.input("u")
    S.effective_forces({x: u - m * x.dd - k * x})
    found = da.inverse_dynamics(S, {"x": "sin(t)"}, 1.0)
    again = da.load(found.save(tmp_path / "cart.nc"))
    assert type(again) is type(found) and again.unknowns == ("u",) and again.equations is None
    assert again.certificate == found.certificate and again.events == found.events
    for name in ("unique", "residual", "multipliers"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    np.testing.assert_array_equal(again.values("u"), found.values("u"))
    np.testing.assert_array_equal(again.power.values, found.power.values)
