"""Formulas that name points, orientations, distances and lengths of forces."""

from __future__ import annotations

import numpy as np
import pytest
from support.complaints import complaint

import dalembert as da
from dalembert.io import dumps, loads


def swing() -> da.Model:
    """A pendulum with a spring and a strut from its tip to the ground."""
    model = da.Model("swing")
    model.parameters(k=40.0)
    model.body("rod", mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08))
    model.revolute("A", "ground", "rod", point=(0, 0, 0), axis="y")
    model.point("tip", "rod", (1, 0, 0))
    model.point("hook", "ground", (1, 0, 1))
    for name, formula in {
        "x": "x(tip)", "z": "z(tip)", "vx": "vx(tip)", "vz": "vz(tip)", "w": "wy(tip)", "d": "distance(tip, hook)",
        "turn": "atan2(Rxz(rod), Rxx(rod))",
    }.items():  # fmt: skip
        model.output(name, formula)
    model.initial("A", 0.3, 1.0)
    return model


def test_points_orientation_and_distances_are_those_of_the_motion():
    run = da.simulate(swing(), 0.5)
    q, u = run.values("q")[:, 0], run.values("u")[:, 0]
    seen = {name: run.output(name).values for name in swing_outputs()}
    exact = {
        "x": np.cos(q), "z": -np.sin(q), "vx": -np.sin(q) * u, "vz": -np.cos(q) * u, "w": u,
        "d": np.hypot(np.cos(q) - 1, -np.sin(q) - 1), "turn": q,
    }  # fmt: skip
    for name, values in exact.items():
        assert seen[name] == pytest.approx(values, abs=1e-12), name


def swing_outputs() -> list[str]:
    return [output.name for output in swing().outputs]


@pytest.mark.parametrize("formulation", ["recursive", "lagrange-multipliers", "newton-euler", "hamilton"])
def test_a_strut_with_the_law_of_a_spring_is_a_spring(formulation: str):
    ends = {"at": ((1, 0, 0), (1, 0, 1))}
    one, other, third = swing(), swing(), swing()
    one.spring("s", "rod", "ground", **ends, stiffness="k", damping=2, length=0.4)
    other.strut("s", "rod", "ground", **ends, push="-k*(length - 0.4) - 2*rate")
    third.force("pull", "rod", ("k*(distance(tip, hook) - 0.4)*(x(hook) - x(tip))/distance(tip, hook)", 0,
                "k*(distance(tip, hook) - 0.4)*(z(hook) - z(tip))/distance(tip, hook)"), at=(1, 0, 0))  # fmt: skip
    third.spring("c", "rod", "ground", **ends, damping=2)
    runs = [da.simulate(m, 0.5, rtol=1e-10, atol=1e-10, formulation=formulation) for m in (one, other, third)]
    assert all(run.certificate.trusted for run in runs)
    for run in runs[1:]:
        assert run.values("u")[-1] == pytest.approx(runs[0].values("u")[-1], rel=1e-8)


def test_one_sided_laws_are_events_and_energy_balances():
    model = swing()
    model.strut("band", "rod", "ground", at=((1, 0, 0), (1, 0, 1)), push="-500*max(length - 1.2, 0)")
    model.output("stretch", "length(band) - 1.2")
    run = da.simulate(model, 1.0, rtol=1e-10, atol=1e-10)
    assert run.certificate.trusted
    assert "branch" in str(run.certificate)
    total = run.values("kinetic") + run.values("potential") + 250 * np.maximum(run.output("stretch").values, 0) ** 2
    assert np.abs(total - total[0]).max() < 1e-8 * run.values("kinetic").max()


def test_points_stand_in_constraints_and_potentials_with_exact_derivatives():
    model = da.Model("bead", gravity=(0, 0, -9.81))
    model.body("plate", mass=1, inertia=(0.1, 0.2, 0.15), com=(0, 0, 0))
    model.joint("free", "plate", "ground", "plate")
    model.point("corner", "plate", (0.3, 0, 0))
    model.constraint("slide", "z(corner) - 0.1*x(corner)**2 + 0.009")
    model.potential("pull", "3*distance(corner, ground)**2")
    run = da.simulate(model, 0.5, rtol=1e-10, atol=1e-10)
    assert run.certificate.trusted
    balance = run.values("balance")
    assert np.abs(balance - balance[0]).max() < 1e-8


def test_points_of_submodels_and_files():
    outer = da.Model("outer", gravity=(0, 0, 0))
    inner = swing()
    inner.spring("s", "rod", "ground", at=((1, 0, 0), (1, 0, 1)), stiffness="k")
    outer.add(inner, "left", pose=(0, 2, 0))
    outer.output("y", "y('left.tip') + length('left.s')")
    assert loads(dumps(outer)) == outer
    run = da.simulate(outer, 0.1)
    assert run.output("y").values == pytest.approx(2 + run.output("left.d").values, abs=1e-12)


MESSAGES = [
    (lambda m: m.output("o", "x(nothing)"), "unknown body 'nothing'"),
    (lambda m: m.output("o", "length(nothing)"), "no spring or strut 'nothing'"),
    (lambda m: m.point("rod", "rod", (0, 0, 0)), "a body has the same name"),
    (lambda m: m.point("p", "nobody", (0, 0, 0)), "unknown body 'nobody'"),
    (lambda m: m.strut("s", "rod", "rod", at=((0, 0, 0), (1, 0, 0)), push=1), "two different bodies"),
    (lambda m: m.strut("s", "rod", "ground", at=((0, 0, 0), (1, 0, 0)), push="w*length"), "unknown parameter 'w'"),
]


@pytest.mark.parametrize(("change", "words"), MESSAGES, ids=[words for _, words in MESSAGES])
def test_messages(change, words: str):
    assert words in complaint(swing(), change)


def test_angles_between_features():
    """At the corner of three points, and between axes of bodies: the angle of a hinge."""
    model = swing()
    model.point("pin", "ground", (0, 0, 0))
    model.output("corner", "angle(tip, pin, hook)")
    model.output("axes", 'angle(rod, "x", ground, "x")')
    run = da.simulate(model, 0.5)
    q = run.joint("A").q.values
    assert run.output("axes").values == pytest.approx(np.abs(q), abs=1e-9)
    assert run.output("corner").values == pytest.approx(np.abs(q + np.pi / 4), abs=1e-9)
    for text in ("angle(tip, pin)", 'angle(rod, "x", ground, "w")'):
        with pytest.raises(da.DalembertError, match="three points"):
            model.output("other", text)


def wheels(law: bool) -> da.Model:
    """Two wheels on one axis with a coupling between them, as an element or on their joints."""
    model = da.Model("coupling", gravity=(0, 0, 0))
    for i, name in enumerate(("left", "right")):
        model.body(name, mass=1.0, com=(0, 0, i), inertia=(0.2, 0.2, 0.2 + 0.1 * i))
        model.revolute(name, "ground", name, point=(0, 0, i), axis="z")
    if law:
        model.torsion("coupling", "left", "right", axis="z", torque="-5*angle - 0.1*rate - 2*angle**3")
        model.output("turn", "angle(coupling)")
    else:
        q, u = "(q(right) - q(left))", "(u(right) - u(left))"
        for name, sign in (("right", "-"), ("left", "")):
            model.joint_force(f"on {name}", name, f"{sign}(5*{q} + 0.1*{u} + 2*{q}**3)")
    model.initial("right", 0.8, rate=1.0)
    model.initial("left", rate=20.0)
    return model


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_torque_by_the_angle_between_bodies(coordinates):
    model = wheels(True)
    run, same = da.simulate(model, 3.0, coordinates=coordinates), da.simulate(wheels(False), 3.0)
    assert run.certificate.trusted and loads(dumps(model)) == model
    assert np.allclose(run.joint("right").q, same.joint("right").q, atol=1e-8)
    assert np.allclose(run.output("turn"), run.joint("right").q - run.joint("left").q, atol=1e-8)


def test_a_bushing_by_formulas():
    """Its own stiffness as formulas of the deflection does the same; a bump stop is one with max."""

    def mount(**fields) -> da.Model:
        model = da.Model("mount", gravity=(0, 0, 0))
        model.body("block", mass=100, com=(0, 0, 0.2), inertia=(4, 5, 3))
        model.bushing("mount", "ground", "block", point=(0, 0, 0), **fields)
        model.initial("block", rate=(0.3, 0.5, 0, 0, 0.1, 0))
        return model

    plain = mount(stiffness=(1e5, 1e5, 2e5), damping=(50, 50, 80), angular_damping=(5, 5, 5))
    given = mount(force=("-1e5*x - 50*vx", "-1e5*y - 50*vy", "-2e5*z - 80*vz"), torque=("-5*wx", "-5*wy", "-5*wz"))
    assert loads(dumps(given)) == given
    runs = [da.simulate(model, 0.2) for model in (plain, given)]
    assert all(run.certificate.trusted for run in runs)
    assert np.allclose(*(run.body("block").position for run in runs), atol=1e-9)
    stiff = da.simulate(mount(force=(0, 0, "-1e6*max(z - 0.001, 0)"), stiffness=(1e5, 1e5, 1e4)), 0.2)
    assert stiff.certificate.trusted
