"""Sub-models by themselves and then together: accelerations and multipliers as all at once, however grouped."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.cases import CASES, case, parallelogram
from support.states import accelerations_in_world, body_motion, consistent_state, equations_at, transfer
from test_agreement_motion import TIME, dynamics_of, state_in

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.formulations.modular import Modular
from dalembert.fuzz.random_models import HOLONOMIC, NONHOLONOMIC, add_joint, draw_body, unit
from dalembert.library import LIBRARY
from dalembert.model import Model, flatten
from dalembert.numerics.elimination_plan import Plan
from dalembert.topology import Graph
from dalembert.topology.grouping import grouped

# As all formulations agree; multipliers have the condition of A besides.
AGREEMENT = 1e-9
MULTIPLIERS = 1e-8

# The whole hierarchy, whether its nodes are worth it or not.
EVERY_NODE = (Modular(merge=False), Modular(grouping="bodies", merge=False))
KINDS = ("relative", "absolute")
OFTEN = ("three loops", "a rolling disc in a loop", "welded and massless parts")


def _assert_same(name: str, flat: Dynamics, modular: Dynamics, q: np.ndarray, u: np.ndarray) -> None:
    du, multipliers = flat.solve(q, u, t=TIME)
    same, forces = modular.solve(q, u, t=TIME)
    np.testing.assert_allclose(same, du, rtol=0, atol=AGREEMENT * np.abs(du).max(initial=1.0), err_msg=name)
    size = np.abs(multipliers).max(initial=1.0)
    np.testing.assert_allclose(forces, multipliers, rtol=0, atol=MULTIPLIERS * size, err_msg=name)


def _nodes(dynamics: Dynamics) -> int:
    plan = dynamics.kernels.plan
    assert isinstance(plan, Plan)
    return plan.nodes


@pytest.mark.parametrize(
    ("name", "coordinates"),
    [(name, coordinates) for name in OFTEN for coordinates in KINDS]
    + [pytest.param(name, "absolute", marks=pytest.mark.slow) for name in CASES if name not in OFTEN],
)
def test_every_node_of_a_mechanism_without_sub_models(name, coordinates):
    flat = dynamics_of(name, "lagrange-multipliers", coordinates)
    q, u = state_in(name, 0, flat.coordinates)
    modular = Dynamics(case(name), EVERY_NODE[1], coordinates)
    _assert_same(name, flat, modular, q, u)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_every_node_of_the_library(name):
    """At the start of each bundled mechanism, in absolute coordinates, where every joint is a row."""
    model = getattr(da.library, name.replace("-", "_"))()
    flat = Dynamics(model, "lagrange-multipliers", "absolute")
    modular = Dynamics(model, EVERY_NODE[0], "absolute")
    _assert_same(name, flat, modular, *da.assemble(model).to(flat.coordinates))


def test_a_checkpoint_keeps_the_options(tmp_path):
    model, names = _chain(((0, 1), (2,)))
    options = {"formulation": EVERY_NODE[1], "coordinates": "absolute"}
    run = da.simulate(model, 0.1, checkpoint=tmp_path / "run.checkpoint", **options)
    again = da.simulate(model, 0.1, checkpoint=tmp_path / "run.checkpoint", **options)
    assert again.dynamics.formulation == EVERY_NODE[1]
    np.testing.assert_array_equal(again.body(names[-1]).position, run.body(names[-1]).position)


# Random hierarchies


def _again(model: Model, joint: Any, name: str) -> None:
    """The same joint once more, cut: all its equations are redundant."""
    model.joints.append(joint.model_copy(update={"name": name, "cut": True}))


def hierarchy(seed: int, depth: int, kinds: tuple[str, ...]) -> Model:
    """Modules in modules, a body in each; every module hangs on its parent by joints of these kinds in turn, one of
    them drawn twice, and a loop closes between the two modules of the first."""
    rng, turn = np.random.default_rng(seed), iter(range(1000))

    def module(level: int) -> Model:
        model = Model(f"module {level}", gravity=tuple(5 * rng.normal(size=3)))
        draw_body(model, rng, "b", unit(rng))
        inner = () if level == depth else ("left", "right")[: 2 if level == 1 else 1]
        for name in inner:
            model.add(module(level + 1), name, pose={"position": tuple(unit(rng)), "rpy": tuple(rng.normal(size=3))})
            kind = kinds[next(turn) % len(kinds)]
            joint = add_joint(model, rng, kind, f"to_{name}", "b", f"{name}.b", unit(rng))
        if inner:
            _again(model, joint, "again")
        if len(inner) == 2:
            closing = add_joint(model, rng, "distance", "across", "left.b", "right.b", unit(rng))
            model.joints[-1] = closing.model_copy(update={"cut": True})
        return model

    model = module(1)
    add_joint(model, rng, "spherical", "base", "ground", "b", unit(rng))
    model.spring("spring", "ground", "left.b" if depth > 1 else "b", at=((0, 0, 1), (1, 0, 0)), stiffness=9, damping=1)
    model.force("push", "b", ("3*sin(2*t) + 0.5*x(b)", 1.5, "-vz(b)"), at=(0, 0.2, 0.1))
    return model


CONNECTIONS = tuple(kind for kind in HOLONOMIC if kind != "free")
HIERARCHIES = {
    **{f"depth {depth}": (depth, depth, ("revolute", "universal", "cylindrical")) for depth in (1, 2, 3, 4)},
    **{f"connected by {kind}": (30 + i, 2, (kind,)) for i, kind in enumerate(CONNECTIONS)},
    "depth 4, other connections": (50, 4, CONNECTIONS[3:]),
}
SOME = ("depth 1", "depth 2")


@cache
def _hierarchy(name: str) -> Model:
    return hierarchy(*HIERARCHIES[name])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SOME else pytest.mark.slow) for name in HIERARCHIES]
)
def test_random_hierarchies_move_as_all_at_once(name):
    model, depth = _hierarchy(name), HIERARCHIES[name][1]
    assert max(module.name.count(".") for module in flatten(model).modules) == max(depth - 2, 0)
    relative = Dynamics(model, "lagrange-multipliers", "relative")
    q, u = consistent_state(relative, 0, t=TIME)
    poses, twists = body_motion(relative.coordinates, q, u)
    joints = equations_at(relative.coordinates, TIME, q, u)
    turns = {(w, i): x for w in relative.flat.joints for i, x in enumerate(joints.joint_coordinates(w)[0])}
    expected = accelerations_in_world(relative.coordinates, q, u, relative.solve(q, u, t=TIME)[0], TIME)
    for coordinates in KINDS:
        flat = relative if coordinates == "relative" else Dynamics(model, "lagrange-multipliers", "absolute")
        q, u = transfer(flat.coordinates, poses, twists, turns)
        A = flat.residuals(TIME, q, u).jacobian
        assert depth == 1 or np.linalg.matrix_rank(A, tol=1e-8) < len(A)
        for formulation in (*EVERY_NODE, Modular()):
            modular = Dynamics(model, formulation, coordinates)
            assert _nodes(modular) >= (1 if formulation.merge else depth)
            _assert_same(f"{coordinates}, {formulation}", flat, modular, q, u)
            got = accelerations_in_world(flat.coordinates, q, u, modular.solve(q, u, t=TIME)[0], TIME)
            np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max(initial=1.0))


def test_nonholonomic_joints_in_sub_models():
    rng = np.random.default_rng(8)
    whole = Model("two that roll", gravity=(0, 0, -9.81))
    for name, kind in zip(("first", "second"), NONHOLONOMIC, strict=False):
        roller = Model(name)
        draw_body(roller, rng, "b0", np.zeros(3))
        add_joint(roller, rng, kind, "roll", "ground", "b0", np.zeros(3))
        whole.add(roller, name, pose=(2.0 if name == "second" else 0.0, 0, 0))
    add_joint(whole, rng, "distance", "rod", "first.b0", "second.b0", np.ones(3))
    for coordinates in KINDS:
        flat = Dynamics(whole, "lagrange-multipliers", coordinates)
        q, u = consistent_state(flat, 0, t=TIME)
        for formulation in EVERY_NODE:
            modular = Dynamics(whole, formulation, coordinates)
            _assert_same(coordinates, flat, modular, q, u)


# Groups


def _link(name: str, x: float) -> Model:
    link = Model(name)
    link.body("rod", mass=1 + x, com=(x + 0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    return link


def _chain(groups: tuple[tuple[int, ...], ...]) -> tuple[Model, list[str]]:
    """A chain of rods, those of one group in one sub-model; full names of the rods."""
    model, names = Model("chain", gravity=(0, 0, -9.81)), []
    for g, members in enumerate(groups):
        if len(members) == 1:
            model.add(_link("link", members[0]), f"part{g}")
            names.append(f"part{g}.rod")
            continue
        part = Model("part")
        for k in members:
            part.add(_link("link", k), f"link{k}")
            names.append(f"part{g}.link{k}.rod")
        for a, b in pairwise(members):
            part.revolute(f"hinge{b}", f"link{a}.rod", f"link{b}.rod", point=(b, 0, 0), axis=(0, 1, 0.2 * b))
        model.add(part, f"part{g}")
    model.revolute("base", "ground", names[0], point=(0, 0, 0), axis="y")
    for g in range(1, len(groups)):
        k = groups[g][0]
        model.revolute(f"hinge{k}", names[k - 1], names[k], point=(k, 0, 0), axis=(0, 1, 0.2 * k))
    model.spring("spring", "ground", names[-1], at=((0, 0, 3), (len(names), 0, 0)), stiffness=5, damping=0.1)
    return model, names


@pytest.mark.parametrize("coordinates", KINDS)
def test_any_grouping_of_the_same_parts_moves_the_same(coordinates):
    ends = []
    for groups in (((0,), (1,), (2,), (3,)), ((0, 1), (2, 3)), ((0, 1, 2), (3,)), ((0, 1, 2, 3),)):
        model, names = _chain(groups)
        run = da.simulate(model, 0.3, formulation=EVERY_NODE[0], coordinates=coordinates, rtol=1e-11, atol=1e-11)
        assert run.certificate.trusted, run.certificate
        ends.append([run.body(name).position.isel(time=-1).values for name in names])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 3, rtol=0, atol=AGREEMENT)


def test_the_flat_model_keeps_the_tree_of_sub_models():
    model, _ = _chain(((0, 1), (2,)))
    model.drive("base", "sin(t)", name="turn")
    modules = flatten(model).modules
    assert [module.name for module in modules] == ["", "part0", "part0.link0", "part0.link1", "part1"]
    assert [module.parent for module in modules] == [-1, 0, 1, 1, 0]
    assert modules[0].joints == ["base", "hinge2"] and modules[1].joints == ["part0.hinge1"]
    assert [module.bodies for module in modules[2:]] == [["part0.link0.rod"], ["part0.link1.rod"], ["part1.rod"]]
    assert modules[0].constraints == ["turn"] and modules[0].forces == ["spring"]


def test_groups_follow_sub_models_and_branches():
    """Bodies of a sub-model are in a group that has no others; a body carries what hangs on it."""
    model, names = _chain(((0, 1), (2,), (3,)))
    flat = flatten(model)
    parents = {branch.body: branch.parent for branch in Graph(flat).spanning_tree().branches}
    groups = grouped(flat.modules, parents)
    held: list[set[str]] = [set(group.bodies) for group in groups]
    for k, group in enumerate(groups):
        if group.parent >= 0:
            assert group.parent > k
            held[group.parent] |= held[k]
    assert held[-1] == set(names)
    assert set(names[:2]) in held and {names[2], names[3]} in held


# Options, files


@pytest.mark.parametrize("coordinates", KINDS)
def test_an_over_constrained_mechanism_moves(coordinates):
    run = da.simulate(parallelogram(0.0, 2.0, 1.0), 0.5, formulation=EVERY_NODE[0], coordinates=coordinates)
    assert run.certificate.trusted, run.certificate


def test_options_pickles_and_refusals():
    model, _ = _chain(((0, 1), (2, 3)))
    dynamics = Dynamics(model, Modular(grouping="bodies", merge=False), "absolute")
    again = pickle.loads(pickle.dumps(dynamics))
    assert again.recipe == dynamics.recipe and _nodes(again) == _nodes(dynamics) > 1
    q, u = consistent_state(dynamics, 0)
    np.testing.assert_array_equal(again.acceleration(q, u), dynamics.acceleration(q, u))
    with pytest.raises(DalembertError, match="modular: unknown grouping 'teams'; expected one of sub-models, bodies"):
        Modular(grouping="teams")
    with pytest.raises(DalembertError, match="cannot take natural coordinates"):
        Dynamics(model, "modular", "natural")
    with pytest.raises(DalembertError, match="formulation 'modular' is solved in numbers"):
        da.derive(model, "modular")


def test_what_has_no_mass_is_reported():
    model = Model("nothing", gravity=(0, 0, -9.81))
    model.body("rod", mass=1, com=(1, 0, 0), inertia=(0, 0.1, 0.1))
    model.body("ghost", mass=0, com=(2, 0, 0))
    model.spherical("a", "ground", "rod", point=(0, 0, 0))
    model.spherical("b", "rod", "ghost", point=(2, 0, 0))
    dynamics = Dynamics(model, EVERY_NODE[0], "absolute")
    q, u = np.array([1.0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0]), np.zeros(12)
    with pytest.raises(DalembertError, match="neither mass nor constraint"):
        dynamics.solve(q, u)
