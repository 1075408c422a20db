"""Small motions where formulas name reactions and accelerations: against exact derivatives and differences."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da

G = 9.81
# Weights of central differences of eighth order, at 1 … 4 steps.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def sled():
    """Pressed on its guide by its speed and its place, braked by the normal force N; two states feel it, too."""
    model = da.Model("sled")
    model.parameters(k=1.0, mu=0.3)
    model.body("sled", mass=2.0, inertia=(1, 1, 1))
    model.prismatic("slide", "ground", "sled", point=(0, 0, 0), axis="x")
    model.force("brake", "sled", value=('-mu*reaction(slide, "normal")*tanh(vx(sled))', 0, 0))
    model.force("lift", "sled", value=(0, 0, "-4*vx(sled) - 100*x(sled)**2"))
    model.state("filter", rate='-10*k*(filter - reaction(slide, "normal")**2/100)', initial=1)
    model.state("memory", rate="ax(sled) - memory")
    model.output("N", 'reaction(slide, "normal")')
    model.output("a", "ax(sled)**2 + x(sled)")
    return model


def test_the_sled_is_its_closed_form():
    """N = 2 g + 4 v + 100 x², 2 v̇ = f − μ N tanh v; derivatives by SymPy, those of A by parameters among them."""
    x, v, filtered, memory, f, lift, k, mu = sp.symbols("x v filtered memory f lift k mu")
    N = 2 * G + 4 * v + 100 * x**2 - lift
    a = (f - mu * N * sp.tanh(v)) / 2
    rates, seen = sp.Matrix([v, a, -10 * k * (filtered - N**2 / 100), a - memory]), sp.Matrix([N, a**2 + x])
    states, inputs = (x, v, filtered, memory), (f, lift, k)
    at = {x: 0.3, v: 1.2, filtered: 1, memory: 0, f: 0, lift: 0, k: 1, mu: 0.3}

    def exact(matrix):
        return np.array(matrix.subs(at), dtype=float)

    given = {"slide": 0.3, "slide.d": 1.2}
    found = da.linearize(sled(), given, inputs=["slide", "lift[2]", "k"])
    assert found.states == ("slide", "slide.d", "filter", "memory")
    for matrix, of, by in (("A", rates, states), ("B", rates, inputs), ("C", seen, states), ("D", seen, inputs)):
        assert np.allclose(getattr(found, matrix), exact(of.jacobian(by)), rtol=1e-12, atol=1e-12), matrix
    for name, symbol in (("k", k), ("mu", mu)):
        assert np.allclose(found.source.slope(name), exact(sp.diff(rates.jacobian(states), symbol)), rtol=1e-11)


def slider_crank():
    """A loop in space whose slider is braked by its guide, and whose crank feels its own acceleration."""
    model, tip, end = da.Model("slider-crank"), np.array([0, -0.5, 0]), np.array([1.4, -0.5, 0])
    crank = model.body("crank", mass=1.0, inertia=(0.2, 0.2, 0.2))
    rod = model.body("rod", mass=0.5, com=(tip + end) / 2, inertia=(0.01, 0.1, 0.1))
    slider = model.body("slider", mass=2.0, com=end, inertia=(1, 1, 1))
    model.revolute("chi", model.ground, crank, point=(0, 0, 0), axis="x")
    model.prismatic("guide", model.ground, slider, point=end, axis="x")
    model.spherical("ball", crank, rod, point=tip)
    model.universal("cross", rod, slider, point=end, axis="y", axis_2="z")
    model.joint_force("brake", "guide", '-0.3*reaction(guide, "normal")*tanh(u(guide)/0.5)')
    model.joint_force("flywheel", "chi", "-0.1*du(chi)")
    model.output("load", 'reaction(ball, "force")')
    model.output("N", 'reaction(guide, "normal")')
    return model


def test_a_loop_by_differences():
    d = da.compile(slider_crank(), formulation="lagrange-multipliers", coordinates="relative")
    reference = da.assemble(slider_crank(), {"chi": 0.7}, initial_rates={"chi": 2.0})
    found = da.linearize(d, reference, inputs=["chi", "brake"], states=("chi",))
    # What forces do at once does not depend on coordinates.
    other = da.compile(slider_crank(), formulation="lagrange-multipliers", coordinates="absolute")
    assert np.allclose(da.linearize(other, reference, inputs=["chi", "brake"]).D, found.D, rtol=1e-10)

    def seen(angle, rate):
        state = da.assemble(slider_crank(), {"chi": angle}, initial_rates={"chi": rate}, guess=reference)
        du = d.solve(state.q, state.u)[0][d.u_names.index("chi")]
        return np.array([du, *d.observe(0.0, state.q, state.u).outputs])

    step = 0.01
    for column, way in enumerate(((step, 0.0), (0.0, step))):
        sides = [
            seen(0.7 + n * way[0], 2.0 + n * way[1]) - seen(0.7 - n * way[0], 2.0 - n * way[1]) for n in range(1, 5)
        ]
        slope = sum(w * side for w, side in zip(WEIGHTS, sides, strict=True)) / step
        assert np.append(found.A[1, column], found.C[:, column]) == pytest.approx(slope, rel=1e-8)


def test_along_a_run():
    run = da.simulate(sled(), 0.5, output_step=0.1)
    chart = da.linearize(sled(), run)
    alone = da.linearize(sled(), {"slide": float(run.joint("slide").q[3]), "slide.d": float(run.joint("slide").u[3])})
    assert np.allclose(chart.models[3].A[:2, :2], alone.A[:2, :2], rtol=1e-12)


def test_what_is_not_determined_is_said():
    model = da.library.four_bar()
    joint = model.joints[0].name
    model.joint_force("brake", joint, f'-0.01*reaction({joint}, "normal")')
    with pytest.raises(da.DalembertError, match=r"redundant constraints .* leave reactions open"):
        da.linearize(model)
    pushed = da.library.pendulum()
    pivot = pushed.joints[0].name
    inertia = float(da.compile(pushed).mass_matrix(np.zeros(1))[0, 0])
    pushed.joint_force("feeds itself", pivot, f"{1.1 * inertia}*du({pivot})")
    with pytest.raises(da.DalembertError, match=r"no value or more than one fits \(det\(1 − G\) = -0.1"):
        da.linearize(pushed)
    with pytest.raises(da.DalembertError, match=r"no formula of the model names .* Fix: model\.output"):
        da.linearize(da.library.pendulum(), outputs=[f'reaction({pivot}, "normal")'])


def test_inverse_dynamics_of_the_sled():
    """The force behind x = 0.3 sin 2t:  2 a + μ N tanh v,  N = 2 g + 4 v + 100 x²."""
    model = sled()
    model.remove("filter")
    model.remove("memory")
    found = da.inverse_dynamics(model, {"slide": "0.3*sin(2*t)"}, 3.0)
    t = found.time.values
    x, v, a = 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)
    N = 2 * G + 4 * v + 100 * x**2
    assert found.certificate.trusted and found.certificate["forward dynamics"] < 1e-12
    assert found["slide"].values == pytest.approx(2 * a + 0.3 * N * np.tanh(v), rel=1e-12, abs=1e-12)
    assert found.output("N").values == pytest.approx(N, rel=1e-12)
    assert found.output("a").values == pytest.approx(a**2 + x, rel=1e-12, abs=1e-12)


def test_inverse_dynamics_of_a_loop_that_also_rubs():
    """Forward dynamics, which finds reactions and friction on its own, gives the motion back; energy closes."""
    model = slider_crank()
    model.friction("rub", "chi", coefficient=0.1, radius=0.05)
    found = da.inverse_dynamics(model, {"chi": "0.7 + 0.5*sin(3*t)"}, 2.0)
    assert found.certificate.trusted and found.certificate["forward dynamics"] < 1e-10
    force = found.reaction("guide").sel(kind="force").values
    assert found.output("N").values == pytest.approx(np.hypot(force[:, 1], force[:, 2]), rel=1e-10)
    # Friction kinks the power where the motion turns; what is integrated there errs.
    before = found.time.values < 0.5
    balance = found.energy.balance.values[before]
    assert np.ptp(balance) < 1e-6 * np.ptp(found.energy.kinetic.values)


def test_inverse_dynamics_without_a_unique_answer():
    """The unknown presses on the guide whose reaction brakes it: by 1.2 N per N it would have to pull to push."""
    model = da.Model("wedge")
    model.parameters(F=0.0)
    model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.prismatic("slide", "ground", "block", point=(0, 0, 0), axis="x")
    model.force("push", "block", value=("F", 0, "-F"))
    model.force("brake", "block", value=('-1.2*reaction(slide, "z")', 0, 0))
    with pytest.raises(da.DalembertError, match="no value or more than one fits"):
        da.inverse_dynamics(model, {"slide": "t"}, 1.0, unknowns=["F"])
