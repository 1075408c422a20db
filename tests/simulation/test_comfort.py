"""Small comforts: elements taken out, indices by name, velocities by entry, assembly of compiled equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.expressions import parse


def test_elements_can_be_removed():
    model = da.library.four_bar()
    whole = model.to_data()
    model.body("more", mass=1, inertia=(1, 1, 1))
    model.revolute("extra", model.ground, "more", point=(0, 0, 0), axis="z")
    model.initial("extra", 0.3)
    for name in ("more", "extra"):
        model.remove(name)
    assert model.to_data() == whole
    with pytest.raises(da.ModelError, match="nothing is called 'nobody'"):
        model.remove("nobody")


def test_errors_point_to_the_right_line_after_a_removal():
    model = da.Model("m")
    model.body("a", mass=1, inertia=(1, 1, 1))
    model.body("b", mass=-1, inertia=(1, 1, 1))
    line = model.sources["bodies[1]"]
    model.remove("a")
    assert model.sources == {"bodies[0]": line}
    with pytest.raises(da.ModelError, match="mass must not be negative"):
        model.validate()


def test_velocities_have_an_index():
    dynamics = da.compile(da.library.bicycle())
    for k, name in enumerate(dynamics.u_names):
        assert dynamics.index(name) == k
    assert dynamics.index("steering") == dynamics.u_names.index("steering")
    with pytest.raises(da.DalembertError, match="no velocity is called 'steer'"):
        dynamics.index("steer")


def test_rates_by_entry():
    model = da.library.rolling_disc()
    state = da.assemble(model, initial_rates={"contact[3]": 0.2, "contact[4]": 3.0})
    rates = state.joint("contact")[1]
    np.testing.assert_allclose(rates[3:], (0.2, 3.0), atol=1e-12)
    assert abs(rates[0]) > 0.1  # it rolls
    for given, message in (
        ({"contact[5]": 1.0}, "has 5 velocities"),
        ({"contact[3]": np.nan}, "expected a finite number"),
        ({"contact[3]": 1.0, "contact": (0, 0, 0, 0, 1)}, "given as a whole too"),
    ):
        with pytest.raises(da.ModelError, match=message):
            da.assemble(model, initial_rates=given)


def test_rates_by_entry_of_a_tree():
    model = da.Model("free")
    model.body("stone", mass=1, inertia=(1, 1, 1))
    assert da.assemble(model, initial_rates={"stone[4]": 2.0}).u.tolist() == [0, 0, 0, 0, 2.0, 0]


def test_compiled_equations_can_be_assembled():
    model = da.library.four_bar()
    crank = next(iter(model.joints)).name
    for coordinates in ("relative", "natural"):
        dynamics = da.compile(model, coordinates=coordinates)
        state, other = da.assemble(dynamics, {crank: 0.3}), da.assemble(model, {crank: 0.3})
        np.testing.assert_allclose(state.q, other.q)


def test_the_package_shows_its_own_names_only():
    assert set(dir(da)) == {*da.__all__, "__version__"}


# Words of others


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("90°", "90*pi/180"), ("17 deg", "17*pi/180"), ("sin(30 degrees)", "30*pi/180"), ("0,5", "0.5"),
        ("-1,25*x", "1.25"), ("2*(x > 4)", "a if condition else b"),
    ],
)  # fmt: skip
def test_other_notations_get_a_hint(text: str, fix: str):
    with pytest.raises(da.ExpressionError) as error:
        parse(text)
    assert fix in str(error.value)
    with pytest.raises(da.ExpressionError) as error:
        parse("2 +* x")
    assert "Fix" not in str(error.value)


def test_a_dot_is_meant_as_a_quantity():
    model = da.library.pendulum()
    body = model.bodies[0].name
    model.output("height", f"{body}.z")
    with pytest.raises(da.ModelError, match=rf"did you mean z\({body}\)"):
        model.validate()


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        ("joints:\n  - {name: j, kind: hinge, bodies: [ground, a], axis: z}", "revolute"),
        ("constraints:\n  - {kind: motor, joint: j}", "drive"),
        ("initial_conditions: {a: 1}", "initial"),
    ],
)
def test_words_of_other_programs_get_a_hint(data: str, fix: str):
    from dalembert.io import loads

    with pytest.raises(da.ModelError, match=f"did you mean {fix}"):
        loads(f"name: m\nbodies:\n  - {{name: a, mass: 1}}\n{data}\n")


def test_bundled_models_know_how_long_they_are_worth_watching():
    assert da.library.duration("andrews") == 0.03
    assert da.library.duration("four_bar") == da.library.duration("model.yaml") == 10.0


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda m: da.simulate(m, t_end=1.0), "did you mean 'duration'"),
        (lambda m: da.simulate(m, 1.0, dt=0.1), "did you mean 'step'"),
        (lambda m: da.simulate(m, 1.0, solver="rk4"), "did you mean 'integrator'"),
        (lambda m: m.revolute("j", "ground", "bar", anchor=(0, 0, 0), axis="z"), "did you mean point"),
        (lambda m: m.spring("s", "ground", "bar", k=1), "did you mean stiffness"),
        (lambda m: m.drive("pivot", speed=3), "did you mean motion"),
        (lambda m: m.belt("belt", "p", "q"), "joints: expected a list, got 'p'"),
        (lambda m: m.cable("rope", "bar", "hook", at=()), "two values for 'at'; in their order they are name, "),
        (lambda m: m.add_body("a"), "did you mean body"),
        (lambda m: m.actuator("a"), r"it is model\.drive\(joint, .* model\.joint_force\(name, joint, formula\)"),
        (lambda m: m.save("a.yaml"), "da.write"),
        (lambda m: da.simulate(m, 0.1).view("a.html"), "did you mean animate"),
        (lambda m: da.simulate(m, 0.1).force("pivot"), "did you mean reaction"),
    ],
)
def test_calls_of_other_programs_get_a_hint(call: Any, fix: str):
    with pytest.raises((da.ModelError, TypeError, AttributeError), match=fix):
        call(da.library.pendulum())


def test_warnings_point_to_the_caller(tmp_path: Path):
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "a.urdf").write_text(f'<robot name="a"><link name="b">{inertia}</link><transmission name="c"/></robot>')
    model = da.Model("m")
    model.body("b", mass=1, inertia=(1, 1, 9))
    with pytest.warns(da.ReadWarning) as caught:
        da.read(tmp_path / "a.urdf", base="free")
    with pytest.warns(da.ModelWarning) as more:
        da.simulate(model, 0.1)
    assert {one.filename for one in [*caught, *more]} == {__file__}


@pytest.mark.parametrize("gravity", ["-y", -9.81])
def test_gravity_is_given_whole(gravity: Any):
    from dalembert.io import loads

    with pytest.raises(da.ModelError, match=r"gravity: expected three numbers, such as \(0, 0, -9.81\)"):
        da.Model("m", gravity=gravity)
    with pytest.raises(da.ModelError, match="gravity: expected three numbers, such as"):
        loads(f"name: m\ngravity: {gravity}\n")


def test_the_only_equilibrium_stands_for_its_state():
    found = da.equilibrium(da.library.pendulum())
    assert abs(da.simulate(da.library.pendulum(), 0.1, initial=found).joint("pivot").u).max() < 1e-9
    both = da.equilibrium(da.library.pendulum(), starts=20)
    assert len(both) == 2
    with pytest.raises(da.DalembertError, match=r"2 equilibria.*found\[0\]"):
        da.linearize(da.library.pendulum(), both)
