"""Derivatives in closed form agree with automatic differentiation, with differences and with Pinocchio."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from support.algebras import run_symbolically

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.coordinates import COORDINATES, Coordinates, TreeKinematics
from dalembert.dynamics import Dynamics
from dalembert.dynamics import derivatives as compiled
from dalembert.dynamics.derivatives import derivative_kernel
from dalembert.errors import DalembertError, ModelError
from dalembert.fuzz.random_models import (
    HOLONOMIC,
    NONHOLONOMIC,
    add_forces,
    add_joint,
    draw_body,
    loop_model,
    tree_model,
    unit,
)
from dalembert.model import Model, flatten
from dalembert.tree.outward import outward
from dalembert.tree.recursions import forward_dynamics, gravity_base, inverse_dynamics, mass_matrix
from dalembert.tree.tree_derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)

# Against automatic differentiation only round-off remains; M⁻¹ multiplies it by the condition of M, up to 1e3 here.
ROUND_OFF = 1e-11
SOLVED = 1e-9
# Five-point differences: truncation h⁴ f⁽⁵⁾/30 with h = 1e-3 and f⁽⁵⁾ up to 1e3 f, round-off 1e-16 f/h.
STEP = 1e-3
DIFFERENCE_ERROR = 1e-9

KINDS = [(kind, turned) for kind in (*HOLONOMIC, *NONHOLONOMIC) for turned in (False, True)]
every_kind = pytest.mark.parametrize(("kind", "turned"), KINDS, ids=lambda x: {True: "reversed", False: ""}.get(x, x))


def with_armature(model: Model, *names: str) -> Model:
    for i, joint in enumerate(model.joints):
        if joint.name in names:
            model.joints[i] = type(joint).model_validate({**dict(joint), "armature": 0.3 + 0.2 * i})
    return model


def around(kind: str, turned: bool) -> Model:
    """A joint of this kind with something before it, beyond it and beside it; another of it on the ground."""
    rng = np.random.default_rng(len(kind) + 100 * turned)
    model = Model(f"around {kind}", gravity=tuple(5 * rng.normal(size=3)))
    tree = [("revolute", "ground", "a"), (kind, "a", "b"), ("universal", "b", "c"), ("prismatic", "a", "d")]
    tree += [(kind, "ground", "e"), ("spherical", "e", "f"), ("revolute", "e", "g")]
    places = {"ground": np.zeros(3)}
    for i, (joint, parent, body) in enumerate(tree):
        places[body] = places[parent] + unit(rng)
        draw_body(model, rng, body, places[body])
        ends = (body, parent) if turned and joint == kind else (parent, body)
        add_joint(model, rng, joint, f"j{i}", *ends, (places[parent] + places[body]) / 2)
    return model


@cache
def placed(kind: str, turned: bool) -> TreeKinematics:
    coordinates = COORDINATES["relative"](flatten(around(kind, turned)))
    return coordinates.place(NUMPY, dict(coordinates.flat.parameters))


def state(coordinates: Coordinates, seed: int = 0) -> tuple[np.ndarray, ...]:
    """q anywhere, u, and a third vector for u̇ or τ."""
    rng = np.random.default_rng(seed)
    q = np.zeros(coordinates.nq)
    for slot in coordinates.slots:
        q[slot.q] = coordinates.joint_at(slot).random(rng)
    return q, *rng.normal(size=(2, coordinates.nv))


def newton_euler(tree: TreeKinematics, q: Any, u: Any, du: Any) -> Any:
    base = gravity_base(tree.al, tree.mechanism.gravity)
    return inverse_dynamics(tree, outward(tree, q, u, du, base), [tree.al.zeros(6) for _ in tree.links])


def articulated(tree: TreeKinematics, q: Any, u: Any, tau: Any) -> Any:
    base = gravity_base(tree.al, tree.mechanism.gravity)
    return forward_dynamics(tree, q, u, tau, [tree.al.zeros(6) for _ in tree.links], base)


def differences(function: Any, n: int) -> np.ndarray:
    """Jacobian at zero of a function of a tangent, by five points."""

    def column(e: np.ndarray) -> np.ndarray:
        f = {k: function(k * STEP * e) for k in (-2, -1, 1, 2)}
        return (f[-2] - 8 * f[-1] + 8 * f[1] - f[2]) / (12 * STEP)

    return np.stack([column(e) for e in np.eye(n)], axis=1)


def automatic(coordinates: Coordinates, recursion: Any, q: Any, u: Any, x: Any) -> list[np.ndarray]:
    """∂/∂q · W, ∂/∂u, ∂/∂x of a recursion by CasADi, with q̇ = W u."""
    tree = coordinates.place(CASADI, dict(coordinates.flat.parameters))
    symbols = [CASADI.symbols(name, len(value)) for name, value in (("q", q), ("u", u), ("x", x))]
    result = CASADI.to_sx(recursion(tree, *(array for _, array in symbols)))
    jacobians = [ca.jacobian(result, symbol) for symbol, _ in symbols]
    qdot = CASADI.concatenate([ln.joint.qdot(CASADI, symbols[0][1][ln.q], symbols[1][1][ln.u]) for ln in tree.links])
    jacobians[0] = jacobians[0] @ ca.jacobian(CASADI.to_sx(qdot), symbols[1][0])
    function = ca.Function("f", [symbol for symbol, _ in symbols], jacobians)
    return [np.array(J) for J in function(q, u, x)]


def close(got: Any, expected: Any, tolerance: float) -> None:
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * np.abs(expected).max(initial=1e-3))


def base_of(tree: TreeKinematics) -> np.ndarray:
    return gravity_base(tree.al, tree.mechanism.gravity)


# Inverse dynamics


@every_kind
def test_inverse_agrees_with_automatic_differentiation(kind, turned):
    tree = placed(kind, turned)
    q, u, du = state(tree.coordinates)
    found = inverse_dynamics_derivatives(tree, q, u, du, base_of(tree))
    for got, expected in zip(found, automatic(tree.coordinates, newton_euler, q, u, du), strict=True):
        close(got, expected, ROUND_OFF)


@every_kind
@pytest.mark.slow
def test_inverse_agrees_with_differences_along_the_tangent(kind, turned):
    tree = placed(kind, turned)
    q, u, du = state(tree.coordinates, 1)
    found = inverse_dynamics_derivatives(tree, q, u, du, base_of(tree))
    n = tree.coordinates.nv
    close(found.dtau_dq, differences(lambda d: newton_euler(tree, tree.integrate(q, d), u, du), n), DIFFERENCE_ERROR)
    close(found.dtau_du, differences(lambda d: newton_euler(tree, q, u + d, du), n), DIFFERENCE_ERROR)
    close(found.dtau_ddu, mass_matrix(tree, outward(tree, q, u)), ROUND_OFF)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_in_every_algebra_of_numbers(seed):
    """NumPy and traced CasADi give what automatic differentiation gives, forward and inverse, with armatures."""
    rng = np.random.default_rng(seed)
    kinds = tuple(rng.permutation([*HOLONOMIC, *NONHOLONOMIC])[:6])
    model = tree_model(seed, kinds, forces=False)
    moving = [joint.name for joint in model.joints if joint.kind != "fixed"]
    coordinates = COORDINATES["relative"](flatten(with_armature(model, *moving[::2])))
    values = dict(coordinates.flat.parameters)
    q, u, x = state(coordinates, seed)
    expected = automatic(coordinates, newton_euler, q, u, x), automatic(coordinates, articulated, q, u, x)
    tree, traced = coordinates.place(NUMPY, values), coordinates.place(CASADI, values)
    symbols = [CASADI.symbols(name, len(value)) for name, value in (("q", q), ("u", u), ("x", x))]
    for derivatives, wanted, first, tolerance in (
        (inverse_dynamics_derivatives, expected[0], 0, ROUND_OFF),
        (forward_dynamics_derivatives, expected[1], 1, SOLVED),
    ):
        numbers = derivatives(tree, q, u, x, base_of(tree))[first:]
        graph = derivatives(traced, *(array for _, array in symbols), base_of(traced))[first:]
        evaluate = ca.Function("f", [symbol for symbol, _ in symbols], [CASADI.to_sx(G) for G in graph])
        for got, column, matrix in zip(numbers, evaluate(q, u, x), wanted, strict=True):
            close(got, matrix, tolerance)
            close(np.array(column).reshape(matrix.shape), matrix, tolerance)


def test_blocks_between_branches_are_exact_zeros():
    tree = placed("spherical", True)
    q, u, du = state(tree.coordinates)
    found = inverse_dynamics_derivatives(tree, q, u, du, base_of(tree))
    slots = {slot.body: slot.u for slot in tree.coordinates.slots}
    for a, b in (("b", "d"), ("c", "d"), ("f", "g"), ("a", "e"), ("c", "g")):
        for matrix in found:
            assert not matrix[slots[a], slots[b]].any()
            assert not matrix[slots[b], slots[a]].any()
    for a, b in (("a", "b"), ("a", "c"), ("a", "d"), ("e", "f"), ("e", "g")):
        for matrix in found:
            assert matrix[slots[a], slots[b]].any()
            assert matrix[slots[b], slots[a]].any()


def test_structural_zeros_never_reach_the_graph():
    coordinates = placed("spherical", True).coordinates
    tree = coordinates.place(CASADI, dict(coordinates.flat.parameters))
    q, u, du = (CASADI.symbols(name, len(value))[1] for name, value in zip("quv", state(coordinates), strict=True))
    found = inverse_dynamics_derivatives(tree, q, u, du, base_of(tree))
    slots = {slot.body: slot.u for slot in tree.coordinates.slots}
    assert all(type(x) is float and x == 0 for matrix in found for x in matrix[slots["c"], slots["d"]].reshape(-1))


def test_readable_mathematics_gives_the_same_numbers():
    """SymPy: a double pendulum with a slide, traced over symbols."""
    model = Model("pendulum", gravity=(0, -9.81, 0))
    model.body("a", mass=2, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    model.body("b", mass=1, com=(1.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("p", "ground", "a", point=(0, 0, 0), axis="z")
    model.cylindrical("s", "a", "b", point=(1, 0, 0), axis="y")
    coordinates = COORDINATES["relative"](flatten(model))
    q, u, du = state(coordinates)

    def derivatives(al, q, u, du):
        tree = coordinates.place(al, {})
        return list(inverse_dynamics_derivatives(tree, q, u, du, base_of(tree)))

    expected = np.concatenate([matrix.reshape(-1) for matrix in derivatives(NUMPY, q, u, du)])
    close(run_symbolically(derivatives, q, u, du), expected, ROUND_OFF)


def test_no_digits_are_lost_far_from_the_origin():
    """A satellite with an arm, at the origin and at the distance of an orbit: the same derivatives."""
    model = Model("satellite")
    model.body("hub", mass=100, com=(0.1, 0, 0), inertia=(20, 30, 25))
    model.body("arm", mass=5, com=(1, 0.2, 0), inertia=(0.1, 1, 1))
    model.free("float", "ground", "hub")
    model.revolute("hinge", "hub", "arm", point=(0.5, 0, 0), axis="z")
    coordinates = COORDINATES["relative"](flatten(model))
    tree = coordinates.place(NUMPY, {})
    q, u, du = state(coordinates)
    far = q.copy()
    far[4:7] += (7e6, -3e6, 1e6)
    near = forward_dynamics_derivatives(tree, q, u, du, base_of(tree))
    for got, expected in zip(forward_dynamics_derivatives(tree, far, u, du, base_of(tree)), near, strict=True):
        close(got, expected, ROUND_OFF)


# Forward dynamics


@every_kind
@pytest.mark.slow
def test_forward_agrees_with_differences_along_the_tangent(kind, turned):
    tree = placed(kind, turned)
    n = tree.coordinates.nv
    q, u, tau = state(tree.coordinates, 2)
    tau = 5 * tau
    found = forward_dynamics_derivatives(tree, q, u, tau, base_of(tree))
    M = mass_matrix(tree, outward(tree, q, u))
    close(found.du, articulated(tree, q, u, tau), SOLVED)
    close(found.ddu_dtau @ M, np.eye(n), SOLVED)
    np.testing.assert_array_equal(found.ddu_dtau, found.ddu_dtau.T)
    # M⁻¹ multiplies what differences lose by its size.
    lost = DIFFERENCE_ERROR * max(1.0, np.linalg.cond(M) / 1e3)
    close(found.ddu_dq, differences(lambda d: articulated(tree, tree.integrate(q, d), u, tau), n), lost)
    close(found.ddu_du, differences(lambda d: articulated(tree, q, u + d, tau), n), lost)


# Compiled


def loaded(seed: int) -> Model:
    """A tree with forces of every kind and armatures, one of them on a floating body."""
    kinds = (("free", "universal", "spherical", "revolute"), ("planar", "custom", "screw", "cylindrical"))[seed]
    model = tree_model(10 + seed, kinds, forces=False)
    add_forces(model, np.random.default_rng(seed))
    return with_armature(model, "j0", "j2")


@pytest.mark.parametrize("large", [False, True], ids=["written out", "by products"])
@pytest.mark.parametrize("seed", range(2))
def test_kernels_differentiate_the_dynamics_with_all_its_forces(seed, large, monkeypatch):
    dynamics = Dynamics(loaded(seed))
    tree = dynamics.coordinates.place(NUMPY, dict(dynamics.flat.parameters))
    p, n, t = dynamics.parameters(), dynamics.nv, 0.4
    q, u, x = state(dynamics.coordinates, seed)
    if not large:
        found = derivative_kernel(dynamics, "inverse")(t, q, u, p, x)
        moved = differences(lambda d: dynamics.inverse(tree.integrate(q, d), u, x, t=t), n)
        close(found.dtau_dq, moved, DIFFERENCE_ERROR)
        close(found.dtau_du, differences(lambda d: dynamics.inverse(q, u + d, x, t=t), n), DIFFERENCE_ERROR)
        close(found.dtau_ddu, dynamics.mass_matrix(q), ROUND_OFF)
    monkeypatch.setattr(compiled, "WRITTEN_OUT", 0 if large else 100)
    kernel = compiled.make_derivatives(dynamics.kernels, "forward")  # anew, not the one that equal models share
    assert bool(kernel._tape.products.calls) == large
    assert list(kernel.outputs) == ["du", "ddu_dq", "ddu_du", "ddu_dtau"]
    found = kernel(t, q, u, p, x)

    def accelerations(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        M, load = dynamics.mass_matrix(q), dynamics.inverse(q, u, np.zeros(n), t=t)
        return np.linalg.solve(M, x - load)

    lost = DIFFERENCE_ERROR * max(1.0, np.linalg.cond(dynamics.mass_matrix(q)) / 1e3)
    close(found.du, accelerations(q, u), SOLVED)
    close(found.ddu_dq, differences(lambda d: accelerations(tree.integrate(q, d), u), n), lost)
    close(found.ddu_du, differences(lambda d: accelerations(q, u + d), n), lost)
    close(found.ddu_dtau, np.linalg.inv(dynamics.mass_matrix(q)), SOLVED)


@pytest.mark.parametrize("large", [False, True], ids=["written out", "by products"])
def test_a_batch_is_its_states_one_by_one(large, monkeypatch):
    dynamics = Dynamics(tree_model(5, ("revolute", "spherical", "prismatic"), forces=False))
    monkeypatch.setattr(compiled, "WRITTEN_OUT", 0 if large else 100)
    kernel, p = compiled.make_derivatives(dynamics.kernels, "forward"), dynamics.parameters()
    states = [state(dynamics.coordinates, seed) for seed in range(131)]
    q, u, tau = (np.array(part) for part in zip(*states, strict=True))
    many = kernel(0.0, q, u, p, tau)
    for i in (0, 63, 64, 130):
        for batch, one in zip(many, kernel(0.0, q[i], u[i], p, tau[i]), strict=True):
            close(batch[i], one, ROUND_OFF)
    still = kernel(0.0, q, u[0], p, tau[0])
    close(still.ddu_dq[0], many.ddu_dq[0], ROUND_OFF)
    if large:
        np.testing.assert_array_equal(many.ddu_dtau, np.swapaxes(many.ddu_dtau, 1, 2))
        out = type(many)(*(np.full_like(part, np.nan) for part in many))
        assert kernel(0.0, q, u, p, tau, out=out) is out
        np.testing.assert_array_equal(out.ddu_dq, many.ddu_dq)


def test_inverse_of_a_loop_counts_the_armature_of_its_cut_joint():
    model = with_armature(loop_model(3, ("spherical", "revolute", "universal"), ("cylindrical",)), "c0", "j1")
    dynamics = Dynamics(model)
    q, u, du = state(dynamics.coordinates)
    tree = dynamics.coordinates.place(NUMPY, dict(dynamics.flat.parameters))
    found = derivative_kernel(dynamics, "inverse")(0.2, q, u, dynamics.parameters(), du)
    n = dynamics.nv

    def load(q: np.ndarray, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        return dynamics.kernels.inverse_kernel(0.2, q, u, dynamics.parameters(), du)

    close(found.dtau_dq, differences(lambda d: load(tree.integrate(q, d), u, du), n), DIFFERENCE_ERROR)
    close(found.dtau_du, differences(lambda d: load(q, u + d, du), n), DIFFERENCE_ERROR)
    close(found.dtau_ddu, differences(lambda d: load(q, u, du + d), n), DIFFERENCE_ERROR)


def test_forward_derivatives_of_constrained_models_are_refused_by_name():
    with pytest.raises(ModelError, match="c0"):
        derivative_kernel(Dynamics(loop_model(3, ("spherical", "revolute", "universal"), ("cylindrical",))), "forward")
    with pytest.raises(DalembertError, match="sideways"):
        derivative_kernel(Dynamics(arm(2)), "sideways")  # type: ignore[arg-type]


# Cost


def arm(n: int, root: str = "revolute", branch: int | None = None) -> Model:
    """A chain of hinges in random directions; a second branch starts at one of its bodies."""
    rng = np.random.default_rng(n)
    model = Model("arm", gravity=(0.3, -0.2, -9.81))
    places, last = {"ground": np.zeros(3)}, "ground"
    for i in range(n):
        if branch is not None and i == n - 2:
            last = f"b{branch}"
        body = f"b{i}"
        places[body] = places[last] + rng.uniform(-0.5, 0.5, 3)
        model.body(body, mass=rng.uniform(1, 2), com=tuple(places[body]), inertia=tuple(rng.uniform(0.3, 0.5, 3)))
        if i == 0 and root == "free":
            model.free("j0", "ground", body)
        else:
            model.revolute(f"j{i}", last, body, point=tuple(places[last]), axis=tuple(unit(rng)))
        last = body
    return model


def test_an_arm_takes_less_than_half_the_instructions_of_automatic_differentiation():
    dynamics = Dynamics(arm(7))
    kernel = derivative_kernel(dynamics, "inverse")
    equations, du = dynamics.equations(), CASADI.symbols("du", 7)
    tau = CASADI.to_sx(equations.inverse(du[1]))
    jacobians = [ca.jacobian(tau, x) for x in (dynamics.symbols["q"][0], dynamics.symbols["u"][0], du[0])]
    plain = ca.Function("f", [*(dynamics.symbols[x][0] for x in "tqup"), du[0]], [*ca.cse(jacobians)])
    assert kernel.instructions < 6000
    assert kernel.instructions < plain.n_instructions() / 2


def test_cost_grows_with_joints_times_depth():
    """Four legs on one body cost about four times one leg, not sixteen times."""

    def legs(n: int) -> int:
        model = Model("legs")
        rng = np.random.default_rng(0)
        model.body("hub", mass=5, com=(0, 0, 0), inertia=(1, 1, 1))
        model.free("float", "ground", "hub")
        for leg in range(n):
            last, at = "hub", unit(rng)
            for i in range(4):
                model.body(f"l{leg}{i}", mass=1, com=tuple(at + 0.3), inertia=(0.1, 0.1, 0.1))
                model.revolute(f"j{leg}{i}", last, f"l{leg}{i}", point=tuple(at), axis=tuple(unit(rng)))
                last, at = f"l{leg}{i}", at + 0.5 * unit(rng)
        kernel = derivative_kernel(Dynamics(model), "inverse")
        return kernel.instructions

    one, two, four = legs(1), legs(2), legs(4)
    assert four - two < 2.05 * (two - one)


# Pinocchio


def to_pinocchio(pin: Any, tree: TreeKinematics) -> Any:
    model = pin.Model()
    model.gravity.linear = np.array(tree.mechanism.gravity, dtype=float)
    for i, link in enumerate(tree.links):
        joint = pin.JointModelFreeFlyer() if link.joint.kind == "free" else pin.JointModelRZ()
        parent = link.parent + 1
        assert model.addJoint(parent, joint, pin.SE3(link.X_PJ.R, link.X_PJ.p), link.body) == i + 1
        m, c = link.inertia.mass, link.inertia.h / link.inertia.mass
        inertia = pin.Inertia(m, c, link.inertia.A + m * pin.skew(c) @ pin.skew(c))
        model.appendBodyToJoint(i + 1, inertia, pin.SE3.Identity())
    return model


@pytest.mark.parametrize(("root", "branch"), [("revolute", None), ("revolute", 2), ("free", None), ("free", 2)])
def test_pinocchio_agrees(root, branch):
    pin = pytest.importorskip("pinocchio")
    dynamics = Dynamics(arm(6, root, branch))
    tree = dynamics.coordinates.place(NUMPY, {})
    model = to_pinocchio(pin, tree)
    data = model.createData()
    q, u, x = state(dynamics.coordinates)
    # Pinocchio: linear before angular, position before quaternion, scalar last.
    order_u, order_q = list(range(dynamics.nv)), list(range(dynamics.nq))
    if root == "free":
        order_u[:6], order_q[:7] = [3, 4, 5, 0, 1, 2], [4, 5, 6, 1, 2, 3, 0]
    pair = np.ix_(order_u, order_u)
    given = model, data, q[order_q], u[order_u], x[order_u]
    inverse = derivative_kernel(dynamics, "inverse")(0.0, q, u, dynamics.parameters(), x)
    for ours, theirs in zip(inverse[:2], pin.computeRNEADerivatives(*given)[:2], strict=True):
        close(ours[pair], theirs, ROUND_OFF)
    forward = derivative_kernel(dynamics, "forward")(0.0, q, u, dynamics.parameters(), x)
    for ours, theirs in zip(forward[1:], pin.computeABADerivatives(*given), strict=True):
        close(ours[pair], theirs, SOLVED)


def test_arrays_can_be_used_again():
    dynamics = da.compile(da.library.n_pendulum(n=4))
    rng = np.random.default_rng(8)
    q, u = rng.normal(size=(2, 6, 4))
    first = dynamics.acceleration_derivatives(q, u)
    again = dynamics.acceleration_derivatives(u, q, out=first)
    fresh = dynamics.acceleration_derivatives(u, q)
    for name in ("du", "ddu_dq", "ddu_du", "ddu_dtau"):
        assert np.shares_memory(getattr(again, name), getattr(first, name))
        np.testing.assert_array_equal(getattr(again, name), getattr(fresh, name))
