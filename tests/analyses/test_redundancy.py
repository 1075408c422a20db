"""Redundant equations, unique reactions, remedies and singular positions of mechanisms that are known by hand."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

import dalembert as da

G = 9.81


def door() -> da.Model:
    model = da.Model("door")
    leaf = model.body("leaf", mass=2, com=(0.5, 0, 1), inertia=(0.1, 0.1, 0.2))
    model.revolute("low", model.ground, leaf, point=(0, 0, 0), axis="z")
    model.revolute("high", model.ground, leaf, point=(0, 0, 2), axis="z")
    return model


def isostatic_slider_crank() -> da.Model:
    """R-S-C-P: 6 · 3 − (5 + 3 + 4 + 5) = 1, as the mechanism in the plane has."""
    model = da.Model("slider-crank", gravity=(0, -9.81, 0))
    model.body("crank", mass=1, com=(0.25, 0, 0), inertia=(0.001, 0.02, 0.02))
    model.body("rod", mass=0.8, com=(1, 0.3, 0), inertia=(0.001, 0.08, 0.08))
    model.body("slider", mass=1.5, com=(1.5, 0.6, 0), inertia=(0.01, 0.01, 0.01))
    model.revolute("A", "ground", "crank", point=(0, 0, 0), axis="z")
    model.spherical("B", "crank", "rod", point=(0.5, 0, 0))
    model.cylindrical("C", "rod", "slider", point=(1.5, 0.6, 0), axis="z")
    model.prismatic("D", "ground", "slider", point=(1.5, 0.6, 0), axis="x")
    return model


def changed(model: da.Model, remedy) -> da.Model:
    """The model with the changes of a remedy, as drawn."""
    new = deepcopy(model)
    new.initial_values.clear()
    new.initial_rates.clear()
    for change in remedy.changes:
        index = next(i for i, joint in enumerate(new.joints) if joint.name == change.name)
        old = new.joints.pop(index)
        axes = {key: value for key in ("axis", "axis_2") if (value := getattr(change, key)) is not None}
        new.joint(change.kind, change.name, *old.bodies, point=old.point, **axes)
    return new


# By hand: equations of all joints, redundant ones, degrees of freedom by counting, self-stresses.
KNOWN = {
    "four-bar": (da.library.four_bar, 20, 3, -2, {"force along z", "torque about x", "torque about y"}),
    "door": (
        door, 10, 5, -4,
        {"force along x", "force along y", "force along z", "torque about x", "torque about y"},
    ),
    "two cranks": (
        lambda: da.library.parallelogram(cranks=2, angle=0), 20, 3, -2,
        {"force along z", "torque about x", "torque about y"},
    ),
    "three cranks": (
        lambda: da.library.parallelogram(angle=0), 30, 7, -6,
        {"force along z", "torque about x", "torque about y", "force along y in B2"},
    ),
    "sarrus": (da.library.sarrus, 30, 1, 0, {"torque about z"}),
    "bennett": (da.library.bennett, 20, 3, -2, {"force along x", "force along y", "force along z"}),
    "bricard": (da.library.bricard, 30, 1, 0, {"force along (0.577, 0.577, 0.577)"}),
    "R-S-C-P": (isostatic_slider_crank, 17, 0, 1, set()),
    "spatial slider-crank": (da.library.slider_crank_3d, 17, 0, 1, set()),
    "pendulum": (da.library.pendulum, 5, 0, 1, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_redundant(name):
    build, equations, redundant, gruebler, words = KNOWN[name]
    found = da.redundancy(build())
    assert (found.equations, found.redundant, found.gruebler) == (equations, redundant, gruebler)
    assert found.freedom == found.mobility == 1 == gruebler + redundant
    assert not found.singular and not found.singular_stresses
    assert len(found.stresses) == redundant == len(found.rows)
    assert {stress.words for stress in found.stresses} == words
    assert found.is_unique == (redundant == 0)
    said = (
        "no constraint equation is redundant" if not redundant else f"{redundant} of {equations} constraint equations"
    )
    assert said in str(found)


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name][2]])
def test_remedies_keep_the_freedom_and_leave_nothing_redundant(name):
    """The changed mechanism is built and looked at anew."""
    model = KNOWN[name][0]()
    found = da.redundancy(model)
    assert found.remedies
    for remedy in found.remedies:
        after = da.redundancy(changed(model, remedy))
        assert (after.redundant, after.mobility, after.freedom) == (0, 1, 1), str(remedy)
        assert after.is_unique


def test_a_self_stress_stays_in_balance():
    """Nothing acts but the wrenches of a self-stress: on every body they add up to nothing, about the origin."""
    found = da.redundancy(da.library.parallelogram(angle=0))
    point = {f"{row}{i + 1}": np.array([0.8 * i, y, 0]) for i in range(3) for row, y in (("A", 0), ("B", -1))}
    bodies = {"platform": {f"B{i}": 1 for i in (1, 2, 3)}} | {f"crank{i}": {f"A{i}": 1, f"B{i}": -1} for i in (1, 2, 3)}
    for stress in found.stresses:
        for body, signs in bodies.items():
            total = np.zeros(6)
            for joint, sign in signs.items():
                torque, force = np.split(stress.wrenches.get(joint, np.zeros(6)), 2)
                total += sign * np.concatenate([torque + np.cross(point[joint], force), force])
            np.testing.assert_allclose(total, 0, atol=1e-9, err_msg=body)
        assert max(np.abs(wrench).max() for wrench in stress.wrenches.values()) >= 1


# Which reactions are unique


def test_components_of_a_planar_mechanism():
    """In the plane the loop is determined; out of it, it is not. Guides of a slider also hold it about z."""
    found = da.redundancy(da.library.slider_crank())
    for joint in ("main_bearing", "crank_pin", "wrist_pin"):
        np.testing.assert_array_equal(found.unique[joint], [False, False, True, True, True, False])
        np.testing.assert_array_equal(found.carried[joint], [True, True, False, True, True, True])
    np.testing.assert_array_equal(found.unique["cylinder"], [False, False, True, True, True, False])
    np.testing.assert_array_equal(found.carried["cylinder"], [True, True, True, False, True, True])


def test_a_joint_outside_the_loop_is_unique():
    model = da.library.four_bar()
    model.body("flag", mass=0.1, com=(0.7, 1.2, 0), inertia=(0.01, 0.01, 0.01))
    model.revolute("pole", "coupler", "flag", point=(0.7, 1.0, 0), axis="x")
    found = da.redundancy(model)
    assert found.redundant == 3
    assert found.unique["pole"].all() and not found.unique["A"].all()
    assert all("pole" not in stress.owners for stress in found.stresses)


def test_two_loops_are_told_apart():
    found = da.redundancy(da.library.andrews())
    assert found.redundant == 9
    assert [len(words) for _, words in found.groups()] == [3, 3, 3]
    assert all(len(owners) <= 5 for owners, _ in found.groups())


def test_constraints_that_repeat_each_other():
    model = da.Model("gears")
    for name, x in (("one", 0), ("two", 1)):
        model.body(name, mass=1, com=(x, 0, 0), inertia=(0.1, 0.1, 0.2))
        model.revolute(f"axle {name}", "ground", name, point=(x, 0, 0), axis="z")
    model.gear("front", "axle one", "axle two", ratio=2)
    model.gear("back", "axle one", "axle two", ratio=2)
    found = da.redundancy(model)
    assert (found.redundant, found.mobility) == (1, 1)
    assert found.groups() == [(("front", "back"), ["the equations of front, back"])]
    assert not found.unique["front"].any() and found.unique["axle one"].all()
    assert str(found.remedies[0]) in ("front is left out", "back is left out")


def test_a_switched_off_constraint_is_no_equation():
    model = da.library.four_bar()
    model.constraint("stop", "q(A) - 0.3", active=False)
    assert da.redundancy(model).redundant == 3


# Singular positions


def test_a_singular_position_is_not_redundancy():
    """The parallelogram lies flat: two freedoms of velocity, one of motion; nearby it is what it was."""
    model = da.library.parallelogram(cranks=2)
    flat = da.redundancy(model, da.assemble(model, {"A1": np.pi / 2}))
    assert flat.singular
    assert (flat.freedom, flat.mobility, flat.redundant) == (2, 1, 3)
    assert [stress.words for stress in flat.singular_stresses] == ["force along x"]
    assert "this position is singular" in str(flat)
    upright = da.redundancy(model, da.assemble(model, {"A1": 0.3}))
    assert not upright.singular and upright.freedom == 1


def test_what_shakes_but_does_not_move():
    """Two equal rods in one line between fixed hinges: a velocity across is allowed, no motion is."""
    model = da.Model("toggle", gravity=(0, 0, 0))
    for i, x in enumerate((0.5, 1.5)):
        model.body(f"rod{i}", mass=1, com=(x, 0, 0), inertia=(0.01, 0.1, 0.1))
    model.revolute("A", "ground", "rod0", point=(0, 0, 0), axis="z")
    model.revolute("B", "rod0", "rod1", point=(1, 0, 0), axis="z")
    model.revolute("C", "ground", "rod1", point=(2, 0, 0), axis="z")
    found = da.redundancy(model)
    assert (found.freedom, found.mobility, found.redundant) == (1, 0, 3)
    assert "shake" in str(found)
    assert not found.unique["A"][3]


# Reactions


def test_reactions_of_a_door():
    """Two equal hinges share the weight in halves; the couple that holds the leaf upright is shared by levers."""
    found = da.redundancy(door())
    plain = found.reactions()
    for hinge in ("low", "high"):
        assert float(plain[hinge].sel(kind="force", axis="z")) == pytest.approx(G)
    # A weight of three makes the lower hinge take a quarter of what both carry along z: w₁F₁ = w₂F₂.
    stiff = found.reactions({"low": 3})
    assert float(stiff["low"].sel(kind="force", axis="z")) == pytest.approx(2 * G / 4)
    assert float(stiff["high"].sel(kind="force", axis="z")) == pytest.approx(2 * G * 3 / 4)
    # Without torques the couple m g a stands on the distance of the hinges alone.
    forces = found.reactions({"low": (1e9, 1), "high": (1e9, 1)})
    assert float(forces["low"].sel(kind="force", axis="x")) == pytest.approx(2 * G * 0.5 / 2, rel=1e-6)
    for shares in (plain, stiff, forces):
        total = sum(shares[hinge].sel(kind="force").values for hinge in ("low", "high"))
        np.testing.assert_allclose(total, [0, 0, 2 * G], atol=1e-9)


def test_unique_reactions_do_not_depend_on_weights():
    model = da.library.slider_crank()
    found = da.redundancy(model, weights={"crank_pin": 50})
    run = da.simulate(model, 0.01)
    for name, unique in found.unique.items():
        sides = [found.reactions(), found.reactions({}), {name: run.reaction(name).isel(time=0)}]
        values = [side[name].values.reshape(-1)[unique] for side in sides]
        np.testing.assert_allclose(values[0], values[1], atol=1e-8)
        np.testing.assert_allclose(values[0], values[2], atol=1e-6)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_weights_along_a_run(coordinates):
    """The same shares in all coordinates, those of the doctor at the start, and bodies in balance."""
    model = da.library.bennett()
    weights = {"B": 4.0, "D": (0.5, 2.0)}
    run = da.simulate(model, 0.2, coordinates=coordinates, output_step=0.05, rtol=1e-11, atol=1e-12)
    shared = run.reactions(weights)
    expected = da.redundancy(model).reactions(weights)
    for name in ("A", "B", "C", "D"):
        np.testing.assert_allclose(shared[name].isel(time=0), expected[name], atol=1e-7)
    plain = run.reactions()
    np.testing.assert_array_equal(plain["B"], run.reaction("B"))
    # A and D hold the three rods, also where they share differently.
    for axis in "xyz":
        totals = [r["A"].sel(kind="force", axis=axis) - r["D"].sel(kind="force", axis=axis) for r in (plain, shared)]
        np.testing.assert_allclose(totals[0], totals[1], atol=1e-7)
    cost = [sum(_weighed(r[n], weights.get(n, 1.0)) for n in "ABCD") for r in (plain, shared)]
    assert np.all(cost[1] <= cost[0] * (1 + 1e-9)) and np.any(cost[1] < 0.999 * cost[0])


def _weighed(wrench, weight):
    torque, force = (np.sum(wrench.sel(kind=kind).values ** 2, axis=-1) for kind in ("torque", "force"))
    w = np.broadcast_to(weight, 2)
    return w[0] * torque + w[1] * force


def test_wrong_input_is_reported_in_words():
    model = da.library.four_bar()
    with pytest.raises(da.DalembertError, match="no reaction of 'Z'; known: A, B, C, D"):
        da.redundancy(model, weights={"Z": 1})
    with pytest.raises(da.DalembertError, match="takes one positive number, or two"):
        da.redundancy(model).reactions({"A": -1})
    with pytest.raises(da.DalembertError, match="belongs to 'door'"):
        da.redundancy(model, da.assemble(door()))
    with pytest.raises(da.DalembertError, match=r"state must be a State, as da\.assemble returns it"):
        da.redundancy(model, {"A": 0.1})  # type: ignore[arg-type]
    state = da.assemble(model)
    with pytest.raises(da.DalembertError, match=r"give parameters to da\.assemble"):
        da.redundancy(model, state, parameters={"crank": 0.3})
    open_state = da.State(0.0, state.q + 0.1, state.u, state.coordinates, {})
    with pytest.raises(da.DalembertError, match="open by"):
        da.redundancy(model, open_state)
