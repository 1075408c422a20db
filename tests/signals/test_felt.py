"""Formulas that name reactions and accelerations: outputs, events, states, forces that depend on what they cause."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dalembert as da
from dalembert.expressions import parse, to_text
from dalembert.io import dumps, loads

G = 9.81


def sled(brake='-0.3*reaction(slide, "normal")', lift="-4*vx(sled)"):
    """A sled that a force presses on its guide the more the faster it is; N = m g + 4 v, so m v̇ = −0.3 (m g + 4 v)."""
    model = da.Model("sled")
    model.body("sled", mass=2.0, inertia=(1, 1, 1))
    model.prismatic("slide", "ground", "sled", point=(0, 0, 0), axis="x")
    model.force("brake", "sled", value=(brake, 0, 0))
    model.force("lift", "sled", value=(0, 0, lift))
    model.output("N", 'reaction(slide, "normal")')
    model.output("a", "ax(sled)")
    model.initial("slide", rate=3.0)
    return model


WAYS = [
    ("lagrange-multipliers", "relative", "dopri8"),
    ("recursive", "relative", "dopri8"),
    ("lagrange-multipliers", "absolute", "radau"),
    ("augmented-lagrangian", "absolute", "dopri8"),
    ("lagrange-multipliers", "natural", "bdf"),
]


@pytest.mark.parametrize(("formulation", "coordinates", "integrator"), WAYS)
def test_a_brake_by_its_normal_force(formulation, coordinates, integrator):
    run = da.simulate(sled(), 1.0, formulation=formulation, coordinates=coordinates, integrator=integrator)
    assert run.certificate.trusted
    v = (3 + G / 2) * np.exp(-0.6 * run.time.values) - G / 2
    assert np.allclose(run.joint("slide").u, v, atol=1e-9 if integrator == "dopri8" else 1e-6)
    found = run.joint("slide").u.values
    assert np.allclose(run.output("N"), 2 * G + 4 * found, rtol=1e-12)
    assert np.allclose(run.output("a"), -0.3 * (G + 2 * found), rtol=1e-12)
    assert np.allclose(run.reaction("slide").sel(kind="force", axis="z"), 2 * G + 4 * found, rtol=1e-12)


def test_added_mass():
    """A force −c a is mass that is not in the mass matrix, however heavy it is: far outside of any fixed point."""
    model = da.library.pendulum(angle=1.0)
    body, joint = model.bodies[0].name, model.joints[0].name
    model.joint_force("flywheel", joint, f"-25*du({joint})")
    run = da.simulate(model, 2.0)
    heavy = da.library.pendulum(angle=1.0)
    heavy.torque("same", body, value=(0, 0, 0))
    inertia = float(da.compile(heavy).mass_matrix(np.zeros(1))[0, 0])
    slow = da.simulate(
        heavy, 2.0 * np.sqrt(inertia / (inertia + 25)), output_step=2.0 * np.sqrt(inertia / (inertia + 25))
    )
    assert run.certificate.trusted
    assert float(run.joint(joint).q[-1]) == pytest.approx(float(slow.joint(joint).q[-1]), rel=1e-8)


def test_derivatives_are_exact():
    """∂ẏ/∂y of forces and states that feel reactions and accelerations, against differences."""
    model = sled('-0.3*reaction(slide, "normal")*tanh(vx(sled)/0.1)', "-4*vx(sled) - 100*x(sled)**2")
    model.state("filter", rate='-10*(filter - reaction(slide, "normal")**2/100)', initial=1)
    model.state("memory", rate="ax(sled) - memory")
    d = da.compile(model)
    problem, _ = d.problem(None, ("rhs", "retract", "jacobian"), (0.0, np.zeros(d.nq + d.nv + 1)))
    y, n = np.array([0.3, 1.2, 0.4, 0.05, 0.0]), 5
    J, differences = np.zeros((n, n)), np.zeros((n, n))
    assert problem.jacobian(0.1, y, J) == 0
    for j in range(n):
        sides = []
        for step in (1e-6, -1e-6):
            rate, moved = np.zeros(n), y.copy()
            moved[j] += step
            assert problem.rhs(0.1, moved, rate) == 0
            sides.append(rate)
        differences[:, j] = (sides[0] - sides[1]) / 2e-6
    assert np.allclose(J, differences, rtol=1e-6, atol=1e-6)


def test_events_and_drives():
    """A rope breaks at a tension; the torque of a drive is what its reaction is."""
    model = da.Model("crane")
    model.body("load", mass=10.0)
    model.prismatic("rope", "ground", "load", point=(0, 0, 0), axis="z")
    model.drive("rope", "t**3/6", name="winch")
    model.output("pull", "torque(winch)")
    model.event("breaks", "torque(winch) - 120", switch={"winch": False})
    run = da.simulate(model, 4.0)
    assert run.events[0].time == pytest.approx(12.0 - G, rel=1e-9)
    before = run.time.values < run.events[0].time
    assert np.allclose(run.output("pull").values[before], 10 * (G + run.time.values[before]), rtol=1e-10)
    assert float(run.output("pull")[-1]) == 0.0


def test_what_has_no_unique_answer_is_said():
    """F = c a with c beyond the mass: pushed harder, it would go the other way."""
    assert da.simulate(sled("1.9*ax(sled) - 1"), 0.1).certificate.trusted
    failed = da.simulate(sled("2.1*ax(sled) - 1"), 0.1).certificate
    assert not failed.trusted
    assert re.search(r"no value or more than one fits.*det.* = -0\.05", str(failed).replace("\n", " "))


@pytest.mark.parametrize("mass", [1.0, 2.0])
def test_any_value_that_fits_is_none(mass):
    """m a = c a: with c = m all accelerations fit, the one assumed first among them; with c > m rest does, barely."""
    model = da.Model("cart")
    model.body("cart", mass=1.0, inertia=(1, 1, 1))
    model.prismatic("slide", "ground", "cart", point=(0, 0, 0), axis="x")
    model.joint_force("odd", "slide", f"{mass}*ax(cart)")
    failed = da.simulate(model, 0.1).certificate
    assert not failed.trusted and "no value or more than one fits" in str(failed)


def test_what_cannot_be_named_where():
    for formula, words in (
        ('reaction(slide, "up")', "takes a joint and one of normal"),
        ("reaction(slide)", "takes a joint and one of normal"),
        ("torque(motor)", "no constraint 'motor'"),
        ("ax(sledge)", "sledge"),
    ):
        with pytest.raises(da.DalembertError, match=words):
            _with_output(formula)
    for level in ("position", "velocity"):
        model = sled()
        model.constraint("odd", "ax(sled)", level=level)
        with pytest.raises(da.ModelError, match="accelerations"):
            model.validate()
    for analysis in (da.equilibrium, lambda m: da.derive(m, "lagrange")):
        with pytest.raises(da.DalembertError, match="formulas name reaction"):
            analysis(sled())
    with pytest.raises(da.ModelError, match="has neither accelerations nor reactions"):
        da.simulate(sled(), 0.1, formulation="canonical")


def _with_output(formula):
    model = sled()
    model.output("other", formula)
    model.validate()


def test_in_files():
    model = sled()
    assert loads(dumps(model)) == model
    text = 'reaction("left.A", "torque") + du(B, 2)*alphaz(wheel)'
    assert parse(to_text(parse(text))) == parse(text)
