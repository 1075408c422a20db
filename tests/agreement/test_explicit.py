"""Explicit constraints: equations in most coordinates, eliminated in generalized ones; the mechanics is the same."""

from __future__ import annotations

import numpy as np
import pytest
from support.states import accelerations_in_world

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.coordinates import GeneralizedCoordinates, Relative
from dalembert.equations import Equations
from dalembert.fuzz.random_models import add_forces, add_joint, grow
from dalembert.model import Model, flatten

pytestmark = pytest.mark.checked

# Only round-off differs, amplified by the condition of the constraints.
AGREEMENT = 1e-9
MOTION = 1e-8
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
TIME = 0.3


def random_model(seed: int) -> Model:
    """A tree with every kind of coordinate; three joints follow from others, one through another, one is driven."""
    rng = np.random.default_rng(seed)
    model = Model(f"maps {seed}", gravity=tuple(3 * rng.normal(size=3)))
    c = model.parameters(gain=float(rng.uniform(0.5, 1.5)))
    kinds = ["revolute", "prismatic", "cylindrical", "universal", "screw", "planar", "spherical"]
    rng.shuffle(kinds)
    grow(model, rng, tuple(kinds))
    joint = {kind: f"j{i}" for i, kind in enumerate(kinds)}
    r, p, s = joint["revolute"], joint["prismatic"], joint["screw"]
    model.explicit("slide", p, f"gain*sin(q({r})) + 0.2*q({joint['universal']}, 1)**2 + 0.1*sin(2*t)")
    model.explicit("thread", s, 0.7 * c * model.q(p) - model.q(r))
    x, y, angle = (f"0.3*q({joint['universal']})", f"q({r})*q({joint['universal']}, 1)", "t**2 - gain")
    model.explicit("plate", joint["planar"], (x, y, angle))
    model.drive(joint["cylindrical"], "0.4*cos(t)", index=1)
    add_forces(model, rng)
    for i, data in enumerate(model.joints):
        if i % 2:
            model.joints[i] = data.model_copy(update={"armature": 0.2 + 0 * data.q})
    return model


def closed(seed: int) -> Model:
    """The same with a loop."""
    model, rng = random_model(seed), np.random.default_rng(seed)
    joint = add_joint(model, rng, "distance", "c0", "ground", model.bodies[-1].name, rng.normal(size=3))
    model.joints[-1] = joint.model_copy(update={"cut": True})
    return model


def solved(e: Equations) -> tuple[np.ndarray, np.ndarray]:
    A, n = e.jacobian, e.nv
    K = np.block([[e.mass_matrix, -A.T], [A, np.zeros((len(A), len(A)))]])
    x = np.linalg.solve(K, np.concatenate([e.forcing, -e.gamma]))
    return x[:n], x[n:]


def both(model: Model, seed: int, options: da.Generalized | None = None) -> tuple[Equations, Equations]:
    """One state, explicit constraints satisfied: in generalized and in relative coordinates."""
    flat, rng = flatten(model), np.random.default_rng(seed)
    generalized, relative = GeneralizedCoordinates(flat, options), Relative(flat)
    q, u = 0.5 * rng.normal(size=generalized.nq), rng.normal(size=generalized.nv)
    for turn in generalized.turns:
        if turn.described.by_quaternion:
            q[turn.at] /= np.linalg.norm(q[turn.at])
            u[turn.at] -= q[turn.at] * (q[turn.at] @ u[turn.at])
    mapped = Equations(generalized.place(NUMPY, dict(flat.parameters)), TIME, q, u)
    state = mapped.joint_coordinates
    tree = relative.place(NUMPY, dict(flat.parameters))
    return mapped, Equations(tree, TIME, *tree.state(lambda body: mapped.motion.body(body), state))


@pytest.mark.parametrize("build", [random_model, closed], ids=lambda build: build.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_elimination_changes_nothing(build, seed):
    model = build(seed)
    mapped, plain = both(model, seed)
    coordinates = mapped.tree.coordinates
    assert coordinates.eliminated == {"slide", "thread", "plate", f"{model.constraints[3].joint} drive 1"}
    assert mapped.nv == plain.nv - 6
    assert not {row.owner for row in mapped.rows} & coordinates.eliminated
    np.testing.assert_allclose(plain.position_residual()[len(mapped.rows) :], 0, atol=1e-13)
    np.testing.assert_allclose(plain.velocity_residual()[len(mapped.rows) :], 0, atol=1e-13)
    (du, multipliers), (du_p, multipliers_p) = solved(mapped), solved(plain)
    expected = accelerations_in_world(plain.tree.coordinates, plain.q, plain.u, du_p)
    got = accelerations_in_world(coordinates, mapped.q, mapped.u, du, TIME)
    np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max())
    here, there = mapped.reactions(du, multipliers), plain.reactions(du_p, multipliers_p)
    size = max(np.abs(wrench).max() for wrench in there.values())
    for name, data in ((data.name, data) for data in model.joints):
        if data.kind == "screw":
            continue  # what drives a screw may be split between torque and thrust in more than one way
        np.testing.assert_allclose(here[name], there[name], rtol=0, atol=AGREEMENT * size, err_msg=name)


def test_quaternions_stay_while_others_are_eliminated():
    mapped, plain = both(random_model(0), 0, da.Generalized("quaternions"))
    assert [row.rigid for row in mapped.rows] == [True]
    assert mapped.nv == plain.nv - 5
    np.testing.assert_allclose(mapped.position_residual(), 0, atol=1e-14)
    A, (du_p, _) = mapped.jacobian, solved(plain)
    K = np.block([[mapped.mass_matrix, -A.T], [A, np.zeros((1, 1))]])
    du = np.linalg.solve(K, np.concatenate([mapped.forcing, -mapped.gamma]))[:-1]
    expected = accelerations_in_world(plain.tree.coordinates, plain.q, plain.u, du_p)
    got = accelerations_in_world(mapped.tree.coordinates, mapped.q, mapped.u, du, TIME)
    np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max())
    names, Y, Z = mapped.tree.quasi_velocities(TIME, mapped.q)
    assert len(names) == np.linalg.matrix_rank(Y) == mapped.nv - 1
    assert not np.any(Z)


@pytest.mark.parametrize("seed", range(2))
def test_kinetic_energy_has_three_parts(seed):
    """T = ½ q̇ᵀM q̇ + q̇ᵀN + T₀, the same number as in relative coordinates."""
    mapped, plain = both(random_model(seed), seed)
    assert mapped.kinetic_energy() == pytest.approx(plain.kinetic_energy(), rel=1e-12)

    def T(u):
        return float(Equations(mapped.tree, TIME, mapped.q, u).kinetic_energy())

    u, zero = mapped.u, np.zeros(mapped.nv)
    assert (T(u) + T(-u)) / 2 - T(zero) == pytest.approx(u @ mapped.mass_matrix @ u / 2, rel=1e-12)
    assert T(zero) > 1e-3


def double_pendulum(absolute: bool) -> Model:
    """Two rods; with ``absolute`` by the angles against the vertical."""
    model = Model("double pendulum", gravity=(0, -9.81, 0))
    model.body("a", mass=1, com=(0, -0.5, 0), inertia=(0.1, 0.01, 0.1))
    model.body("b", mass=2, com=(0, -1.5, 0), inertia=(0.2, 0.01, 0.2))
    model.revolute("A", "ground", "a", point=(0, 0, 0), axis="z")
    model.revolute("B", "a", "b", point=(0, -1, 0), axis="z", armature=0.3)
    model.torsional_spring("spring", "B", stiffness=3, damping=0.2)
    if absolute:
        model.body("sign")
        model.revolute("theta", "ground", "sign", point=(0, 0, 0), axis="z")
        model.explicit("map", "B", "q(theta) - q(A)")
    return model


@pytest.mark.parametrize("formulation", ["lagrange-multipliers", "canonical"])
def test_double_pendulum_by_absolute_angles(formulation):
    start = {"initial": {"A": 0.4, "B": 0.3}, "initial_rates": {"A": 0.5, "B": 0.0}}
    expected = da.simulate(double_pendulum(False), 2.0, **start, **TIGHT)
    run = da.simulate(double_pendulum(True), 2.0, formulation=formulation, coordinates="generalized", **start, **TIGHT)
    assert run.certificate.trusted
    assert run.dynamics.q_names == ["A", "theta"]
    assert not run.dynamics.rows
    for body in ("a", "b"):
        there = expected.data.position.sel(body=body).values
        np.testing.assert_allclose(run.data.position.sel(body=body).values, there, atol=MOTION)
    np.testing.assert_allclose(run.q.values[:, 1], run.joint("A").q + run.joint("B").q, atol=1e-12)


@pytest.mark.parametrize("formulation", ["lagrange-multipliers", "canonical", "lagrange", "hamilton", "kane"])
def test_drives_are_eliminated(formulation):
    """The work of the motor is the same whether its torque is a multiplier or never appears."""
    model = double_pendulum(True)
    model.drive("A", "0.4 + 0.5*t + 0.3*sin(t)**2")
    expected = da.simulate(model, 2.0, initial={"B": 0.3}, **TIGHT)
    run = da.simulate(model, 2.0, formulation=formulation, coordinates="generalized", initial={"B": 0.3}, **TIGHT)
    assert run.certificate.trusted
    assert run.dynamics.q_names == ["theta"]
    with pytest.raises(da.DalembertError, match="it is eliminated in generalized coordinates"):
        run.reaction("A drive")
    for what in ("position", "joint_velocities", "work"):
        np.testing.assert_allclose(run.data[what].values, expected.data[what].values, atol=2 * MOTION, err_msg=what)
    many = da.simulate_many(model, 0.5, initial={"B": np.array([0.1, 0.3])}, coordinates="generalized", rtol=1e-9)
    assert many.drift.max() < 1e-7


def test_events_and_implicit_methods_run_on_eliminated_coordinates():
    model = double_pendulum(True)
    model.event("stop", "q(B) - 0.4", direction="rising", rates={"B": "-0.5*u(B)"})
    start = {"initial": {"A": 0.4, "B": 0.3}, "initial_rates": {"A": 0.0, "B": 2.0}}
    runs = [da.simulate(model, 1.0, coordinates=c, **start, **TIGHT) for c in ("relative", "generalized")]
    assert len(runs[0].events) == len(runs[1].events) > 0
    implicit = da.simulate(model, 1.0, coordinates="generalized", integrator="radau", rtol=1e-9, atol=1e-10, **start)
    for run in (runs[1], implicit):
        np.testing.assert_allclose(run.data.position.values[-1], runs[0].data.position.values[-1], atol=1e-6)


# What is refused


def chain(*maps: tuple[str, str, str]) -> Model:
    model = Model("chain", gravity=(0, -9.81, 0))
    for i, name in enumerate("ABC"):
        model.body(name.lower(), mass=1, com=(i + 0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        model.revolute(name, "ground" if i == 0 else "abc"[i - 1], name.lower(), point=(i, 0, 0), axis="z")
    for name, joint, formula in maps:
        model.explicit(name, joint, formula)
    return model


def test_circles_are_named():
    model = chain(("one", "B", "2*q(C)"), ("two", "C", "q(B) + q(A)"))
    with pytest.raises(da.ModelError, match="depend on each other in a circle: 'one' → 'two' → 'one'"):
        da.compile(model, coordinates="generalized")


def test_a_coordinate_is_given_once():
    with pytest.raises(da.ModelError, match="constraint 'two': joint 'B' is given by constraint 'one' too"):
        da.compile(chain(("one", "B", "q(A)"), ("two", "B", "-q(A)")), coordinates="generalized")


def test_closed_joints_say_nothing():
    model = chain(("one", "B", "q(D)"))
    model.revolute("D", "ground", "c", point=(2.5, 1, 0), axis="z", cut=True)
    with pytest.raises(da.ModelError, match="refers to joint 'D', which closes a loop"):
        da.compile(model, coordinates="generalized")
    model = chain(("one", "D", "q(A)"))
    model.revolute("D", "ground", "c", point=(2.5, 1, 0), axis="z", cut=True)
    with pytest.raises(da.ModelError, match="joint 'D' cannot be given, because it closes a loop"):
        da.compile(model, coordinates="generalized")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("q(B)", "cannot follow from its own coordinates"),
        ("u(A)", "an explicit constraint may name t, parameters and joint coordinates"),
        ("q(E)", "unknown joint 'E'"),
        (("q(A)", "q(C)"), "expected 1 formulas for joint 'B', got 2"),
    ],
)
def test_what_formulas_may_say(formula, said):
    model = chain()
    model.explicit("map", "B", formula)
    with pytest.raises(da.ModelError, match=said):
        model.validate()


def test_balls_cannot_be_given():
    model = chain()
    model.body("d", mass=1, com=(3.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.spherical("S", "c", "d", point=(3, 0, 0))
    model.explicit("map", "S", "q(A)")
    with pytest.raises(da.ModelError, match="part of a quaternion"):
        model.validate()


def test_recursive_elimination_refuses_maps():
    with pytest.raises(da.ModelError, match=r"cannot take joints that follow from others \(one\)"):
        da.compile(chain(("one", "B", "q(A)")), formulation="recursive", coordinates="generalized")


def test_a_drive_that_can_be_off_stays_an_equation():
    model = chain()
    model.drive("A", "t", active=False)
    assert [str(row) for row in da.compile(model, coordinates="generalized").rows] == ["A drive[0]"]


def test_fully_driven_mechanisms_keep_their_equations():
    model = Model("crank", gravity=(0, -9.81, 0))
    model.body("a", mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    model.revolute("A", "ground", "a", point=(0, 0, 0), axis="z")
    model.drive("A", "t**2")
    run = da.simulate(model, 1.0, coordinates="generalized")
    assert run.certificate.trusted
    assert run.dynamics.nv == len(run.dynamics.rows) == 1
