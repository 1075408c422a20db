"""Wrong input gets one message that names the subsystem, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import ModelError


def particle() -> da.Subsystem:
    return da.leaves.particle("P", "-y", axes="xy")


def unknown_name(S: da.Subsystem) -> None:
    S.invariant("x + nothing")


def foreign_symbol(S: da.Subsystem) -> None:
    S.invariant(da.leaves.particle("other").x)


def included_twice(S: da.Subsystem) -> None:
    part = da.leaves.particle("part")
    S.include(part, "a")
    S.include(part, "b")
    S.invariant(part.x)


def itself(S: da.Subsystem) -> None:
    S.include(S, "again")


def taken(S: da.Subsystem) -> None:
    S.coordinates("x")


def method_name(S: da.Subsystem) -> None:
    S.coordinates("equations")


def derivative_name(S: da.Subsystem) -> None:
    S.coordinates("dd")


def no_name(S: da.Subsystem) -> None:
    S.coordinates("2x")


def force_on_parameter(S: da.Subsystem) -> None:
    S.effective_forces({"m": 1})


def rate_of_parameter(S: da.Subsystem) -> None:
    S.m.d  # noqa: B018


def code_in_text(S: da.Subsystem) -> None:
    S.invariant("__import__('os').system('true')")


def not_a_formula(S: da.Subsystem) -> None:
    S.invariant([1, 2])


def bad_value(S: da.Subsystem) -> None:
    S.set_parameter("m", float("nan"))


def unknown_parameter(S: da.Subsystem) -> None:
    S.set_parameter("q", 1)


def unknown_parameter_of_a_part(S: da.Subsystem) -> None:
    S.include(da.leaves.particle("part"), parameters={"mass": 2})


def two_invariants(S: da.Subsystem) -> None:
    S.invariant("x", "one")
    S.invariant("y", "one")


def relax_nothing(S: da.Subsystem) -> None:
    S.relax(guide="N")


def relax_no_part(S: da.Subsystem) -> None:
    S.relax("slider", guide="N")


def kinematics_of_nothing(S: da.Subsystem) -> None:
    S.kinematics({"x": "y"})


def kinematics_twice(S: da.Subsystem) -> None:
    S.kinematics({"x.d": "y"})
    S.kinematics({"x.d": "2*y"})


def low_order(S: da.Subsystem) -> None:
    S.equations(order=1)


def force_on_defined(S: da.Subsystem) -> None:
    S.quasi_velocity("v")
    S.kinematics({"x.d": "v"})
    S.equations().f_bar  # noqa: B018


def not_affine(S: da.Subsystem) -> None:
    S.effective_forces({"x": "x.dd**2"})
    S.equations().acceleration()


def few_relations(S: da.Subsystem) -> None:
    S.quasi_velocity("v")
    S.kinematics("x.d + y.d - v")
    S.equations()


CASES: list[tuple[Callable[[da.Subsystem], Any], str]] = [
    (unknown_name, r"subsystem 'P': unknown name 'nothing'; it has x, y, m, g"),
    (foreign_symbol, r"subsystem 'P': 'x' belongs to 'other', which is no part of it"),
    (included_twice, r"'x' belongs to 'part', which is a part more than once \(a, b\)"),
    (itself, r"subsystem 'P' cannot be a part of itself"),
    (taken, r"subsystem 'P': the name 'x' is taken"),
    (method_name, r"the name 'equations' is taken"),
    (derivative_name, r"'dd' would read as a derivative"),
    (no_name, r"'2x' is not a name"),
    (force_on_parameter, r"subsystem 'P': expected a variable, got m"),
    (rate_of_parameter, r"subsystem 'P': 'm' is a parameter and has no rate"),
    (code_in_text, r"subsystem 'P': formula .* is not allowed"),
    (not_a_formula, r"subsystem 'P': expected a formula, got list"),
    (bad_value, r"subsystem 'P': 'm' must be a finite number, got nan"),
    (unknown_parameter, r"subsystem 'P' has no parameter 'q'; it has m, g"),
    (unknown_parameter_of_a_part, r"subsystem 'part' has no parameter 'mass'"),
    (two_invariants, r"subsystem 'P': two invariants are called 'one'"),
    (relax_nothing, r"subsystem 'P' has no invariant 'guide'"),
    (relax_no_part, r"subsystem 'P' has no part 'slider'"),
    (kinematics_of_nothing, r"kinematics are given for rates of its own variables"),
    (kinematics_twice, r"the kinematics of 'x' are given twice"),
    (low_order, r"subsystem 'P' needs an order of at least 2, got 1"),
    (force_on_defined, r"a force is given for 'x', whose rate is defined by kinematics"),
    (not_affine, r"subsystem 'P': its effective forces are not affine"),
    (few_relations, r"subsystem 'P': 1 kinematic relations for 2 rates \(x\.d, y\.d\)"),
]


@pytest.mark.parametrize(("act", "message"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_message(act: Callable[[da.Subsystem], Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        act(particle())


def test_a_variable_without_equation_is_named() -> None:
    S = da.Subsystem("S")
    x, _ = S.coordinates("x lonely")
    S.effective_forces({x: -x.dd})
    with pytest.raises(ModelError, match=r"subsystem 'S': no equation determines lonely\.dd"):
        S.equations().explicit()
    with pytest.raises(ModelError, match=r"subsystem 'S': nothing determines lonely\.dd"):
        S.equations().acceleration()


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="subsystem 'P' has no 'z'; it has x, y, m, g"):
        particle().z  # noqa: B018
    S = da.Subsystem("S")
    S.include(particle())
    with pytest.raises(AttributeError, match="subsystem 'P' has no 'z'"):
        S.P.z  # noqa: B018
    with pytest.raises(ModelError, match=r"subsystem 'S' has no 'P\.z'"):
        S.equations().values({"P.z": 1})


def test_leaves_say_what_they_know() -> None:
    with pytest.raises(ModelError, match="leaf 'B': unknown coordinates 'polar'"):
        da.leaves.rigid_body("B", "polar")
    with pytest.raises(ModelError, match="leaf 'B': unknown inertia 'round'; expected central"):
        da.leaves.rigid_body("B", inertia="round")
    with pytest.raises(ModelError, match="leaf 'B': unknown parameters mass; it has m"):
        da.leaves.rigid_body("B", mass=2)
    with pytest.raises(ModelError, match="leaf 'B': gravity 'down'"):
        da.leaves.rigid_body("B", gravity="down")
    with pytest.raises(ModelError, match="two different nodes"):
        da.leaves.planar_body("B", 2, center=(1, 1))


def test_multipliers_must_act_along_the_invariants() -> None:
    rows = {"x": "-m*x.dd + 2*x*lam", "y": "-m*y.dd - m*g + 2*y*lam"}
    good = da.leaves.equations(
        "P", {"x": 0, "y": 0}, rows, invariants=["x**2 + y**2 - 1"], multipliers="lam", parameters={"m": 2, "g": 9.8}
    )
    assert sp.Symbol("lam", real=True) not in good.equations().f_bar[good.equations().independent[0]].free_symbols
    found = good.equations().acceleration({"x": 0.6, "y": -0.8, "x.d": 0, "y.d": 0})
    eq = good.equations()
    assert found[eq.label("x")] == pytest.approx(-9.8 * 0.6 * 0.8)
    with pytest.raises(ModelError, match="leaf 'P': the multiplier lam does not act along the invariants"):
        da.leaves.equations(
            "P", {"x": 0, "y": 0}, rows, invariants=["x + y - 1"], multipliers="lam", parameters={"m": 2, "g": 9.8}
        )


def test_a_state_that_is_singular_for_the_chosen_variables_is_named() -> None:
    S = da.Subsystem("S")
    x, y = S.coordinates("x y")
    S.effective_forces({x: -x.dd, y: -y.dd})
    S.invariant(x**2 + y**2 - 1, "circle")
    S.independent(x)
    equations = S.equations()
    with pytest.raises(da.DalembertError, match=r"'S': this state is singular for the independent variables x"):
        equations.at({"x": 1.0, "y": 0.0})
    assert abs(float(equations.at({"x": 1.0, "y": 0.0}, da.modular.Pivoted()).C["x", "y"])) < 1e-12


def test_names_are_offered_where_they_are_attributes() -> None:
    """What a notebook completes: variables, groups, inputs and parts; nodes of planar bodies."""
    S = da.Subsystem("S")
    part = S.include(da.leaves.planar_body("B", "newton-euler", "-y"), "b")
    assert {"p", "v", "th", "omega", "m"} <= set(dir(part)) and {"x", "y"} <= set(dir(part.p))
    assert {"b", "include", "equations"} <= set(dir(S))
    w = da.Planar("w")
    assert {"O"} <= set(dir(w.base(O=(0, 0)))) and {"A", "B", "mass"} <= set(dir(w.body("bar", A=(0, 0), B=(1, 0))))


def test_what_only_mechanisms_have_is_said(tmp_path) -> None:
    S = da.Subsystem("S")
    x = S.coordinates("x")
    S.effective_forces({x: -x.dd - x})
    with pytest.raises(da.ModelError, match=r"got Subsystem[\s\S]*derive and compare take subsystems"):
        da.compile(S)
    with pytest.raises(da.DalembertError, match=r"not a subsystem.*explicit\(\)"):
        da.export_c(S, tmp_path, 0.1)
    run = da.simulate(S, 0.1, initial={"x": 1.0})
    with pytest.raises(AttributeError, match="a run of a subsystem has no 'live'; it has values"):
        run.live(tmp_path / "x.html")


def test_a_coordinate_with_kinematics_is_no_independent_variable() -> None:
    S = da.Subsystem("S")
    part = S.include(da.leaves.planar_body("B", "newton-euler", "-y"), "b")
    S.invariant(part.p.x)
    S.independent(part.th, part.v.y)
    with pytest.raises(da.ModelError, match=r"'b.th'; there are .*b.omega.d[\s\S]*go by velocities"):
        print(S.equations().degrees_of_freedom)
