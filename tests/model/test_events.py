"""Events as data: names and scopes, values that rise through zero, constraints that can be switched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import io
from dalembert.algebra import NUMPY
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.coordinates import COORDINATES
from dalembert.equations import Equations
from dalembert.errors import ModelError
from dalembert.model import Flat, Model, flatten
from dalembert.model.validate import problems
from dalembert.topology import Graph

EXACT = 1e-12  # a few roundings of numbers of order one


def rotors(**clutch: Any) -> Model:
    """Two wheels on one line, and a clutch between them."""
    model = Model("clutch", gravity=(0, 0, 0))
    model.parameters(k=3.0)
    for name in "AB":
        body = model.body(f"wheel {name}", mass=1, inertia=(1, 1, 2))
        model.revolute(name, model.ground, body, point=(0, 0, 0), axis="z")
    model.constraint("clutch", "u(A) - u(B)", level="velocity", **clutch)
    model.initial("A", 0.3, rate=1.0)
    return model


def equations(
    flat: Flat, t: float = 0.0, q: Any = None, u: Any = None, kind: str = "relative", **p: float
) -> Equations:
    coordinates = COORDINATES[kind](flat)
    tree = coordinates.place(NUMPY, {**flat.parameters, **p})
    q = coordinates.neutral() if q is None else np.array(q, dtype=float)
    return Equations(tree, t, q, np.zeros(coordinates.nv) if u is None else np.array(u, dtype=float))


# Values


@pytest.mark.parametrize(
    ("direction", "values"), [("rising", [2.5]), ("falling", [-2.5]), ("any", [2.5, -2.5])]
)  # fmt: skip
def test_an_event_is_a_value_that_rises(direction: str, values: list[float]):
    model = rotors()
    model.event("mark", "t + k*q(A) - u(B)", direction=direction)
    found = equations(flatten(model), 1.0, [0.5, 0.0], [0.0, 0.0])
    assert found.flat.event_owners == ["mark"] * len(values)
    np.testing.assert_allclose(found.events(), values, atol=EXACT)


def test_new_values_come_in_the_order_in_which_they_were_given():
    model = rotors()
    model.parameters(c=1.0)
    model.event("record", "t")
    model.event("hit", "q(A)", set={"c": "c + t", "k": "2*k"}, rates={"B": "-u(A)", "A": 'vx("wheel A") + q(B)'})
    found = equations(flatten(model), 4.0, [0.5, 0.25], [1.0, 2.0]).event_values()
    assert list(found) == ["record", "hit"]
    assert [len(part) for part in found["record"]] == [0, 0]
    np.testing.assert_allclose(found["hit"][0], [5.0, 6.0], atol=EXACT)
    np.testing.assert_allclose(found["hit"][1], [-1.0, 0.25], atol=EXACT)


def test_models_without_events_have_none():
    flat = flatten(da.library.pendulum())
    assert (len(equations(flat).events()), equations(flat).event_values(), flat.switches) == (0, {}, {})
    assert list(flat.parameters) == ["length", "mass", "radius"]


@pytest.mark.parametrize(
    "event", [{"when": "q(D) - 7"}, {"when": "t", "set": {"k": "q(D)"}}, {"when": "t", "rates": {"A": "q(D)"}}, None]
)
def test_events_count_the_turns_of_cut_joints(event: dict[str, Any] | None):
    model = da.library.four_bar()
    model.parameters(k=1.0)
    model.outputs.clear()
    if event is not None:
        model.event("e", **event)
    windings = COORDINATES["absolute"](flatten(model)).windings
    assert [winding.joint for winding in windings] == (["D"] if event else [])


# Names and scopes


def wheel() -> Model:
    model = Model("wheel")
    model.parameters(e=0.5, r=1.0, s=2.0)
    body = model.body("rim", mass="r", inertia=(1, 1, 2))
    model.revolute("axle", model.ground, body, point=(0, 0, 0), axis="y")
    model.constraint("lock", "q(axle)", active=False)
    model.event("hit", "q(axle) - r", set={"e": "e/2", "s": "r"}, rates={"axle": "-e*u(axle)"}, switch={"lock": True})
    return model


def test_names_inside_a_sub_model_get_its_prefix():
    outer = Model("outer")
    outer.parameters(a=4.0, hardness=1.0)
    outer.add(wheel(), "left", parameters={"r": "2*a", "s": "hardness"})
    outer.event("start", "u(left.axle)", set={"left.e": 1}, rates={"left.axle": 0}, switch={"left.lock": False})
    assert problems(outer) == []
    flat = flatten(outer)
    hit, start = flat.events["left.hit"][0], flat.events["start"][0]
    assert list(hit.set) == ["left.e", "hardness"]  # s is bound to a parameter of the outer model, which is set instead
    assert str(hit.set["hardness"]) == "2*a"
    assert (hit.rate_targets, hit.switch) == ([("left.axle", 0)], {"left.lock": True})
    assert (list(start.set), start.switch) == (["left.e"], {"left.lock": False})
    assert flat.switches == {"left.lock": "left.lock.on"}
    assert list(flat.parameters) == ["a", "hardness", "left.e", "left.lock.on"]
    found = equations(flat, q=[3.0], u=[2.0])
    np.testing.assert_allclose(found.event_values()["left.hit"][1], [-1.0], atol=EXACT)
    np.testing.assert_allclose(found.events(), [2.0, -2.0, -5.0, 5.0], atol=EXACT)


def nested(inner: dict[str, str], middle: dict[str, str]) -> Model:
    """A wheel in a model in a model, with parameters bound on the way."""
    between, outer = Model("between"), Model("outer")
    between.parameters(m=1.0)
    between.add(wheel(), "wheel", parameters=inner)
    outer.parameters(a=1.0)
    outer.add(between, "mid", parameters=middle)
    return outer


@pytest.mark.parametrize(
    ("inner", "middle", "targets"),
    [
        ({}, {}, ["mid.wheel.e", "mid.wheel.s"]),
        ({"s": "m"}, {}, ["mid.wheel.e", "mid.m"]),
        ({"s": "m"}, {"m": "a"}, ["mid.wheel.e", "a"]),
    ],
)
def test_to_set_a_bound_parameter_sets_the_one_it_is_bound_to(inner: Any, middle: Any, targets: list[str]):
    model = nested(inner, middle)
    assert problems(model) == []
    assert list(flatten(model).events["mid.wheel.hit"][0].set) == targets


@pytest.mark.parametrize(
    ("inner", "middle", "words"),
    [
        ({"s": "2*m"}, {}, "'s' is bound to a formula"),
        ({"s": "m"}, {"m": "a + 1"}, "'s' is bound to a formula"),
        ({"s": "m", "e": "m"}, {}, "parameters 'e' and 's' are the same one"),
    ],
)
def test_what_is_bound_to_a_formula_cannot_be_set(inner: Any, middle: Any, words: str):
    (problem,) = problems(nested(inner, middle))
    assert problem.path == "submodels[0].model.submodels[0].model.events[0].set.s"
    assert words in problem.message


def test_elements_and_symbols_serve_as_names():
    model = rotors(active=False)
    c = model.parameters(c=1.0)
    joint, clutch = model.joints[0], model.constraints[0]
    event = model.event("e", joint.q - c, set={c: 2 * c}, rates={joint: -joint.u}, switch={clutch: True})
    assert (list(event.set), list(event.rates), list(event.switch)) == (["c"], ["A"], ["clutch"])
    assert problems(model) == []


def test_parameters_in_any_alphabet():
    model = rotors()
    model.parameters(λ=1.0)
    model.event("e", "t - 1", set={"λ": 2})
    assert io.loads(io.dumps(model)) == model


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"set": {"k": "oh no("}}, "set.k"),
        ({"set": {3: 1}}, "expected the name of a parameter"),
        ({"rates": {"A[1": 0}}, "expected a joint, or joint\\[i\\]"),
        ({"rates": {"A": "9**9**9"}}, "too large"),
        ({"switch": {"clutch": "perhaps"}}, "switch.clutch"),
        ({"direction": "up"}, "'rising', 'falling' or 'any'"),
        ({"stop": "perhaps"}, "stop"),
    ],
)
def test_what_no_event_can_be_is_refused_at_once(given: dict[str, Any], words: str):
    with pytest.raises(ModelError, match=words):
        rotors().event("e", "t", **given)


# Constraints that can be switched


@pytest.mark.parametrize(
    ("active", "switch", "value"), [(True, False, None), (True, True, 1.0), (False, False, 0.0), (False, True, 0.0)]
)
def test_only_switchable_constraints_have_a_switch(active: bool, switch: bool, value: float | None):
    model = rotors(active=active)
    model.event("e", "t - 1", switch={"clutch": True} if switch else None)
    flat = flatten(model)
    assert flat.parameters.get("clutch.on") == value
    assert flat.switches == ({} if value is None else {"clutch": "clutch.on"})
    assert flat.off() == ({"clutch"} if value == 0 else set())
    assert flat.off({"clutch.on": 1.0} if value is not None else None) == set()


@pytest.mark.parametrize("on", [0.0, 1.0])
@pytest.mark.parametrize("kind", list(COORDINATES))
def test_a_constraint_that_is_off_has_zero_rows(kind: str, on: float):
    model = rotors()
    model.gear("gear", "A", "B", ratio=2, active=False)
    model.coupler("coupler", {"A": 1, "B": 3}, offset=0.5, active=False)
    if kind != "generalized":  # which eliminate drives that cannot be off
        model.drive("A", "0.3 + t", active=False)
    flat = flatten(model)
    plain = flatten(_always(model))
    rng = np.random.default_rng(0)
    q, u = (rng.uniform(-1, 1, size) for size in (COORDINATES[kind](flat).nq, COORDINATES[kind](flat).nv))
    ours = equations(flat, 0.7, q, u, kind, **dict.fromkeys(flat.switches.values(), on))
    theirs = equations(plain, 0.7, q, u, kind)
    mine = [row.owner in flat.switches for row in ours.rows]
    factor = np.where(mine, on, 1.0)
    assert ours.rows == theirs.rows
    np.testing.assert_allclose(ours.jacobian, factor[:, None] * theirs.jacobian, atol=EXACT)
    np.testing.assert_allclose(ours.gamma, factor * theirs.gamma, atol=EXACT)
    np.testing.assert_allclose(ours.velocity_residual(), factor * theirs.velocity_residual(), atol=EXACT)


def _always(model: Model) -> Model:
    other = Model(model.name, gravity=model.gravity)
    other.parameter_values, other.bodies, other.joints = model.parameter_values, model.bodies, model.joints
    other.constraints = [constraint.model_copy(update={"active": True}) for constraint in model.constraints]
    return other


def test_switches_are_symbols_in_readable_equations():
    flat = flatten(rotors(active=False))
    coordinates = COORDINATES["relative"](flat)
    tree = coordinates.place(SYMPY, {name: sp.Symbol(name) for name in flat.parameters})
    q, u = (np.array(sp.symbols(f"{letter}:2")) for letter in "qu")
    (residual,) = Equations(tree, sp.Symbol("t"), q, u).velocity_residual()
    assert {str(symbol) for symbol in residual.free_symbols} == {"clutch.on", "u0", "u1"}


def test_a_switch_cannot_take_the_name_of_a_parameter():
    inner = Model("inner")
    inner.parameters(on=1.0)
    inner.body("b", mass="on", inertia=(1, 1, 1))
    model = rotors(active=False)
    model.add(inner, "clutch")
    (problem,) = problems(model)
    assert "a sub-model of this name has a parameter 'on'" in problem.message
    assert problem.path == "constraints[0].name"
    with pytest.raises(ModelError, match="taken"):
        flatten(model)
    model.submodels.clear()
    model.add(inner, "clutch", parameters={"on": 2})  # bound: no parameter is left
    assert problems(model) == []


@pytest.mark.parametrize(("on", "freedom", "gruebler", "equations"), [(0.0, 2, 2, 0), (1.0, 1, 1, 1)])
def test_inspection_leaves_out_what_is_off(on: float, freedom: int, gruebler: int, equations: int):
    model = rotors()
    model.constraints.clear()
    model.gear("gear", "A", "B", ratio=2, active=False)
    found = da.inspect(model, {"gear.on": on})
    assert (found.freedom, found.gruebler, found.equations) == (freedom, gruebler, equations)
    assert (found.off, found.redundant) == ([] if on else ["gear"], [])


def test_inspection_names_redundant_rows_rightly_behind_rows_that_are_off():
    model = rotors(active=False)
    model.gear("off", "A", "B", ratio=3, active=False)
    model.gear("first", "A", "B", ratio=2)
    model.coupler("second", {"A": 1, "B": 2})
    found = da.inspect(model)
    assert (found.redundant, found.off) == (["second[0]"], ["clutch", "off"])
    assert (found.equations, found.nonholonomic) == (2, 0)
    assert Graph(flatten(model)).gruebler() == 0


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_assembly_ignores_what_is_off(level: str):
    model = rotors(active=False)
    model.drive("B", "5 + 2*t", active=False)
    model.constraint("other", "q(A) + q(B) - 9" if level == "position" else "u(A) + u(B) - 9", level, active=False)
    state = da.assemble(model)
    np.testing.assert_allclose(np.concatenate([state.q, state.u]), [0.3, 0.0, 1.0, 0.0], atol=EXACT)
    state = da.assemble(model, parameters={"B drive.on": 1.0})
    np.testing.assert_allclose(np.concatenate([state.q, state.u]), [0.3, 5.0, 1.0, 2.0], atol=EXACT)


@pytest.mark.parametrize(("on", "speed"), [(0.0, [1.0, 0.0]), (1.0, [0.5, 0.5])])
def test_a_run_with_a_clutch_that_stays_as_it_is(on: float, speed: list[float]):
    model = rotors(active=False)
    model.initial_rates.clear()
    model.joint_force("motor", "A", 2.0)
    run = da.simulate(model, 1.0, parameters={"clutch.on": on})
    assert run.certificate.trusted
    assert not run.certificate.remarks  # an equation that is off is not redundant
    np.testing.assert_allclose(run.u.values[-1], speed, atol=1e-9)
    if not on:
        np.testing.assert_allclose(run.reaction("clutch"), 0.0, atol=EXACT)


def _pushed_cart(**events):
    model = da.Model("cart", gravity=(0, 0, 0))
    model.body("cart", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("rail", "ground", "cart", point=(0, 0, 0), axis="x")
    model.parameters(first=0.0, second=0.0)
    model.joint_force("push", "rail", "first + 10*second")
    for name, (when, what) in events.items():
        model.event(name, when, **what)
    return model


@pytest.mark.parametrize("when", ["t - 0.7", "3*(t - 0.7)", "t**2 - 0.49", "sin(pi*(t - 0.7))"])
def test_events_at_one_time_are_all_carried_out(when):
    """The first one slept the others: half of what happened was missing, and the run was trusted."""
    model = _pushed_cart(a=("t - 0.7", {"set": {"first": 1}}), b=(when, {"set": {"second": "2*first"}}))
    run = da.simulate(model, 1.7)
    assert run.certificate.trusted
    assert [event.name for event in run.events] == ["a", "b"]
    assert float(run.joint("rail").u[-1]) == pytest.approx(1 + 20)


def test_an_event_where_a_stop_is_hit_happens_with_the_impact():
    model = _pushed_cart(a=("q(rail) - 0.5", {"set": {"first": -1}}))
    model.limit("stop", "q(rail)", upper=0.5, restitution=1.0)
    model.initial("rail", rate=1.0)
    run = da.simulate(model, 1.0)
    assert run.certificate.trusted
    assert [event.name for event in run.events] == ["a", "stop hit above"]
    assert float(run.joint("rail").u[-1]) == pytest.approx(-1.5)


def test_a_run_goes_on_from_events_at_its_end():
    """Its last state was that before the event, which a run that went on from there did not see either."""
    what = {"set": {"first": 1}, "rates": {"rail": 3}}
    model = _pushed_cart(a=("t - 1", what))
    early = da.simulate(model, 1.0)
    later = da.simulate(model, 1.0, initial=early)
    assert early.certificate.trusted and later.certificate.trusted
    assert float(later.joint("rail").u[-1]) == pytest.approx(4.0)


@pytest.mark.parametrize("stop", [1.0, 0.7123])
def test_what_happens_as_a_run_is_stopped_is_handed_on(stop):
    what = {"set": {"first": 1}, "rates": {"rail": 3}}
    model = _pushed_cart(end=(f"t - {stop}", {"stop": True}), a=(f"t - {stop}", what))
    early = da.simulate(model, 2.0)
    later = da.simulate(model, 1.0, initial=early)
    assert early.certificate.trusted and [event.name for event in early.events] == ["a", "end"]
    assert later.values("time")[0] == pytest.approx(stop)
    assert float(later.joint("rail").u[-1]) == pytest.approx(4.0)
