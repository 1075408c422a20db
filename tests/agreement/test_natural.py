"""Natural coordinates: what they share, their constant mass matrix, and all that runs in them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from support.cases import CASES, TREES, case
from support.joints import example
from support.states import body_motion, consistent_state, equations_at, reference_coordinates, transfer
from test_agreement_motion import TIME, dynamics_of, state_in

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.coordinates import NaturalCoordinates
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.independent import Independent
from dalembert.fuzz.random_models import tree_model
from dalembert.joints import JOINTS
from dalembert.model import Model, flatten

# Same motion by adaptive methods at rtol 1e-10.
MOTION = 1e-8
TIGHT = {"rtol": 1e-10, "atol": 1e-11}


# The choice of points and vectors


@pytest.mark.parametrize(
    ("kind", "coordinates", "left"),
    [
        ("revolute", 3, 0), ("prismatic", 3, 2), ("cylindrical", 6, 2), ("screw", 6, 3), ("planar", 6, 1),
        ("universal", 9, 1), ("spherical", 9, 0), ("translational", 3, 0), ("fixed", 0, 0), ("free", 12, 0),
        ("point-on-line", 12, 2), ("point-on-plane", 12, 1), ("distance", 12, 1),
    ],
)  # fmt: skip
def test_a_body_on_the_ground(kind, coordinates, left):
    """What the joint shares with the ground is no unknown; some of its equations are then satisfied by themselves."""
    model = tree_model(1, (kind,))
    natural = NaturalCoordinates(flatten(model))
    assert natural.nv == coordinates
    assert sum(len(natural.kept(name)) for name in natural.cut) == left
    e = equations_at(natural, 0.0, reference_coordinates(natural), np.zeros(natural.nv))
    rank = np.linalg.matrix_rank(e.jacobian, tol=1e-8) if len(e.rows) else 0
    assert natural.nv - rank == natural.nominal_joint("j0").joint.nv
    assert rank == len(e.rows)


@pytest.mark.parametrize("name", TREES)
def test_trees_have_no_redundant_equations(name):
    natural = dynamics_of(name, "lagrange-multipliers", "natural")
    q, u = state_in(name, 0, natural.coordinates)
    A = equations_at(natural.coordinates, TIME, q, u).jacobian
    assert np.linalg.matrix_rank(A, tol=1e-8) == len(A)
    assert natural.nv - len(A) == dynamics_of(name, "lagrange-multipliers", "relative").nv


def test_plane_mechanisms_need_points_only():
    natural = NaturalCoordinates(flatten(da.library.four_bar()))
    assert natural.labels()[1] == [f"{point}.origin.{axis}" for point in "BC" for axis in "xyz"]


def test_features_merge_only_where_parameters_cannot_part_them():
    """Two hinges, parallel as drawn: with other values of ``tilt`` they are not."""

    def chain(axis) -> Model:
        model = Model("chain", gravity=(0, -9.81, 0))
        model.parameters(tilt=0.0, length=1.0)
        model.body("a", mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        model.body("b", mass=1, com=(1.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        model.revolute("A", "ground", "a", point=(0, 0, 0), axis="z")
        model.revolute("B", "a", "b", point=("length", 0, 0), axis=axis)
        return model

    tilted, parallel = (NaturalCoordinates(flatten(chain(axis))) for axis in (("tilt", 0, 1), (0, 0, 1)))
    assert (tilted.nv, parallel.nv) == (9, 6)
    values = {"tilt": 0.5, "length": 0.8}
    runs = [
        da.simulate(chain(("tilt", 0, 1)), 0.5, coordinates=kind, parameters=values, **TIGHT)
        for kind in ("relative", "natural")
    ]
    assert runs[1].certificate.trusted
    np.testing.assert_allclose(runs[1].body("b").position, runs[0].body("b").position, atol=MOTION)
    assert np.ptp(runs[0].body("b").position.values[:, 2]) > 1e-2


# The mass matrix


def test_rods_have_the_mass_matrix_of_the_book():
    """A uniform rod between two points: m/3 on each, m/6 between them (García de Jalón and Bayo, sec. 4.2).

    Slider-crank of problem 5/1: m₂ = 1, m₃ = 2, m₄ = 1, L₃ = 2 L₂.
    """
    model = Model("slider-crank")
    pin, end = np.array([0.6, 0.8, 0]), np.array([0.6 + np.sqrt(4 - 0.64), 0, 0])
    for name, mass, a, b in (("crank", 1, np.zeros(3), pin), ("rod", 2, pin, end)):
        d = b - a
        model.body(name, mass=mass, com=tuple((a + b) / 2), inertia=mass / 12 * (d @ d * np.eye(3) - np.outer(d, d)))
    model.body("slider", mass=1, com=tuple(end), inertia=(0.1, 0.1, 0.1))
    model.revolute("A", "ground", "crank", point=(0, 0, 0), axis="z")
    model.revolute("B", "crank", "rod", point=tuple(pin), axis="z")
    model.revolute("C", "rod", "slider", point=tuple(end), axis="z")
    model.prismatic("D", "ground", "slider", point=tuple(end), axis="x")
    dynamics = da.compile(model, coordinates="natural")
    assert [name for name in dynamics.u_names if name.endswith("x")] == ["B.origin.x", "C.origin.x"]
    M = dynamics.mass_matrix(np.zeros(dynamics.nq))
    np.testing.assert_allclose(M, np.kron([[1 / 3 + 2 / 3, 2 / 6], [2 / 6, 2 / 3 + 1]], np.eye(3)), atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_the_mass_matrix_is_constant_and_velocities_exert_no_forces(name):
    natural = NaturalCoordinates(flatten(case(name)))
    rng = np.random.default_rng(0)
    first, second = (
        equations_at(natural, t, rng.normal(size=natural.nq), rng.normal(size=natural.nv)) for t in (0.0, 1.0)
    )
    np.testing.assert_array_equal(first.mass_matrix, second.mass_matrix)
    states = [e.tree.states(e.q, e.u, base=e.gravity) for e in (first, second)]
    none = [np.zeros(6) for _ in natural.bodies]
    inertial = [e.tree.inverse_dynamics(s, none) for e, s in zip((first, second), states, strict=True)]
    np.testing.assert_allclose(*inertial, atol=1e-13 * np.abs(inertial[0]).max(initial=1.0))


@pytest.mark.parametrize("name", ["equations of position and velocity", "driven slider crank"])
def test_inverse_derivatives_are_those_of_inverse(name):
    dynamics = dynamics_of(name, "lagrange-multipliers", "natural")
    q, u = state_in(name, 0, dynamics.coordinates)
    du, n = np.random.default_rng(0).normal(size=dynamics.nv), dynamics.nv
    found = dynamics.inverse_derivatives(q, u, du, t=TIME)

    def differences(at, h: float = 1e-5) -> np.ndarray:
        return np.stack([(at(h * x) - at(-h * x)) / (2 * h) for x in np.eye(n)], axis=1)

    def load(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return dynamics.kernels.inverse_kernel(TIME, q, u, dynamics.parameters(), du)

    windings = np.zeros(dynamics.nq - n)
    by_q = differences(lambda x: load(q + np.concatenate([x, windings]), u))
    by_u = differences(lambda x: load(q, u + x))
    np.testing.assert_allclose(found.dtau_dq, by_q, atol=1e-6 * (1 + np.abs(by_q).max()))
    np.testing.assert_allclose(found.dtau_du, by_u, atol=1e-6 * (1 + np.abs(by_u).max()))
    np.testing.assert_allclose(found.dtau_ddu, dynamics.mass_matrix(q), atol=1e-12)


# What joints have in common


@pytest.mark.parametrize("kind", JOINTS)
def test_common_parts_stay_common_and_others_do_not(kind):
    joint, rng = example(kind), np.random.default_rng(0)
    places = [joint.transform(NUMPY, joint.random(rng)) for _ in range(3)]
    assert len(set(joint.common)) == len(joint.common)
    still = {"origin": all(np.abs(X.p).max() < 1e-14 for X in places)}
    for k, axis in enumerate("xyz"):
        still[axis] = all(np.abs(X.R[:, k] - np.eye(3)[k]).max() < 1e-14 for X in places)
    if kind != "custom":
        assert {part for part, stays in still.items() if stays} == set(joint.common)


# What is refused


def test_formulations_over_trees_refuse_by_name():
    for name in [name for name, kind in FORMULATIONS.items() if "natural" not in kind.supports().coordinates]:
        with pytest.raises(da.ModelError, match=f"'{name}' cannot take natural coordinates"):
            da.compile(da.library.pendulum(), formulation=name, coordinates="natural")
    # A mass that only slides has no equation in natural coordinates, and still is no tree of joints.
    model = Model("slide")
    model.body("mass", mass=1)
    model.translational("slide", "ground", "mass")
    dynamics = da.compile(model, coordinates="natural")
    assert not dynamics.rows
    np.testing.assert_allclose(dynamics.acceleration(np.zeros(3), np.zeros(3)), [0, 0, -9.81], atol=1e-2)
    with pytest.raises(da.ModelError, match="natural coordinates"):
        dynamics.acceleration_derivatives(np.zeros(3), np.zeros(3))


def test_large_models_are_not_sent_to_recursions():
    dynamics = da.compile(da.library.n_pendulum(n=25), coordinates="natural")
    assert dynamics.formulation.name == "lagrange-multipliers"
    assert (dynamics.nv, len(dynamics.rows)) == (75, 50)


# Runs


def machine() -> Model:
    """Springs, a motor, a drive with turns to count, a switch, outputs, a weld and a rotor, in one loop."""
    model = da.library.four_bar()
    model.body("disc", mass=0.3, com=(0.2, 0, 0.1), inertia=(0.01, 0.01, 0.02))
    model.fixed("weld", "crank", "disc")
    model.body("bob", mass=0.2, com=(0.5, 0.5, 0.4), inertia=(0.001, 0.001, 0.001))
    model.spherical("ball", "coupler", "bob", point=(0.5, 0.5, 0.2))
    model.spring("spring", "ground", "bob", at=((0, 1, 0), (0.5, 0.5, 0.4)), stiffness=5, damping=0.2)
    model.torsional_spring("twist", "D", stiffness=0.4, damping=0.05)
    model.joint_force("motor", "A", "2 - 0.1*u(A)")
    model.joints[0] = model.joints[0].model_copy(update={"armature": sp.Float(0.05)})
    model.output("turns", "q(A)/(2*pi)")
    model.output("height", "y(bob) + 0.1*vx(coupler)")
    return model


def test_all_that_a_machine_has_gives_the_same_run(tmp_path):
    relative, natural = (da.simulate(machine(), 1.5, coordinates=kind, **TIGHT) for kind in ("relative", "natural"))
    assert natural.certificate.trusted, natural.certificate
    for field in ("position", "orientation", "joint_coordinates", "joint_velocities", "outputs", "potential", "work"):
        there = natural.data[field]
        if "body" in there.dims:
            there = there.sel(body=relative.data.body)
        np.testing.assert_allclose(there, relative.data[field], atol=1e-6, err_msg=field)
    assert np.abs(relative.output("turns")).max() > 1.0
    # Plane loops leave their out-of-plane reactions open; what hangs on them is unique.
    for name in ("weld", "ball"):
        np.testing.assert_allclose(natural.reaction(name), relative.reaction(name), atol=1e-4, err_msg=name)
    for name in "ABCD":
        force = [run.reaction(name).values[..., -1, :2] for run in (natural, relative)]
        np.testing.assert_allclose(*force, atol=1e-4, err_msg=name)
    natural.save(tmp_path / "run.nc")
    again = da.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(again.q, natural.q)


def test_impacts_are_felt_alike():
    """A pendulum that bounces from a stop."""
    model = da.library.pendulum()
    hinge = model.joints[0].name
    model.event("stop", f"q({hinge})", rates={hinge: f"-0.8*u({hinge})"})
    runs = [
        da.simulate(model, 2.0, coordinates=kind, initial={hinge: 1.0}, **TIGHT) for kind in ("relative", "natural")
    ]
    assert len(runs[0].events) >= 2
    assert [e.name for e in runs[0].events] == [e.name for e in runs[1].events]
    for a, b in zip(*(run.events for run in runs), strict=True):
        assert a.time == pytest.approx(b.time, abs=1e-7)


@pytest.mark.parametrize("integrator", ["radau", "munthe-kaas", "variational", "generalized-alpha"])
def test_implicit_and_geometric_integrators(integrator):
    options = {"integrator": integrator, "output_step": 0.05} | ({} if integrator == "radau" else {"step": 1e-3})
    runs = [da.simulate(da.library.four_bar(), 0.3, coordinates=c, **options) for c in ("relative", "natural")]  # type: ignore[arg-type]
    # Both have the error of the method: second order at 1 ms.
    np.testing.assert_allclose(runs[1].body("coupler").position, runs[0].body("coupler").position, atol=5e-5)
    assert runs[1].time.values[-1] == 0.3


def test_projection_brings_back_points_that_were_moved():
    """Off the constraints the gradients are exact, so Newton's method converges quadratically."""
    dynamics = dynamics_of("three loops", "lagrange-multipliers", "natural")
    q, _ = state_in("three loops", 0, dynamics.coordinates)
    q = q + 1e-3 * np.random.default_rng(0).normal(size=len(q))
    errors = []
    for _ in range(4):
        values = dynamics.residuals(TIME, q, np.zeros(dynamics.nv))
        errors.append(np.abs(values.position).max())
        step = np.linalg.lstsq(values.jacobian[: dynamics.holonomic], -values.position, rcond=1e-9)[0]
        q = dynamics.coordinates.place(NUMPY, dict(dynamics.flat.parameters)).integrate(q, step)
    assert errors[0] > 1e-4
    assert errors[1] < 100 * errors[0] ** 2 and errors[2] < 100 * errors[1] ** 2 + 1e-14


def test_a_state_goes_there_and_back():
    model = tree_model(5, ("universal", "cylindrical", "free"))
    relative = Dynamics(model, "lagrange-multipliers", "relative")
    q, u = consistent_state(relative, 0)
    natural = NaturalCoordinates(flatten(model))
    there = transfer(natural, *body_motion(relative.coordinates, q, u))
    poses, twists = body_motion(natural, *there)
    back = Equations(relative.coordinates.place(NUMPY, dict(relative.flat.parameters)), 0.0, q, u).motion
    for body in model.bodies:
        X, V = back.body(body.name)
        np.testing.assert_allclose(poses[body.name].R, X.R, atol=1e-12)
        np.testing.assert_allclose(poses[body.name].p, X.p, atol=1e-12)
        np.testing.assert_allclose(twists[body.name], V, atol=1e-12)


# Plane mechanisms


@pytest.mark.parametrize(("name", "sizes"), [("four_bar", (4, 3)), ("andrews", (8, 7)), ("cart_pendulum", (6, 4))])
def test_points_of_plane_bodies_have_two_entries(name: str, sizes: tuple[int, int]):
    """The textbook's four-bar: two points, three lengths. What slides stays in space."""
    model = getattr(da.library, name)()
    dynamics = da.compile(model, coordinates=da.Natural(planar=True))
    assert (dynamics.nv, len(dynamics.rows)) == sizes
    run = da.simulate(dynamics, 0.02, rtol=1e-10, atol=1e-12)
    relative = da.simulate(model, 0.02, rtol=1e-11, atol=1e-13, certify=False)
    assert run.certificate.trusted
    for body in model.bodies:
        there, here = (one.body(body.name).position.values for one in (run, relative))
        np.testing.assert_allclose(there, here, atol=1e-9)


def test_a_plane_mechanism_at_several_heights_about_another_axis():
    """Bars across y, one above the other, with a length and a height as parameters; in world axes x and z."""

    def bars(second: float) -> da.Model:
        model = da.Model("bars", gravity=(0, 0, -9.81))
        h, l = model.parameters(h=0.1, l=0.5)
        for name, com in (("a", (0.2, 0.0, 0)), ("b", (0.5, 0.1, 0.2)), ("c", (0.8, 0.2, 0))):
            model.body(name, mass=1, com=com, inertia=(0.02, 0.01, 0.02))
        model.revolute("A", model.ground, "a", point=(0, 0, 0), axis="y")
        model.revolute("B", "a", "b", point=(l, h, 0.1), axis="y")
        model.revolute("C", "b", "c", point=(0.8, h + 0.1, 0.3), axis=(0, -1, 0))
        model.revolute("D", model.ground, "c", point=(1, second, 0), axis="y")
        return model

    dynamics = da.compile(bars(0.4), coordinates=da.Natural(planar=True))
    assert dynamics.u_names == ["B.origin.x", "B.origin.z", "C.origin.x", "C.origin.z"]
    options = {"parameters": {"h": 0.3, "l": 0.45}, "rtol": 1e-10, "atol": 1e-12, "output_step": 0.05}
    run, relative = (da.simulate(one, 0.5, **options) for one in (dynamics, bars(0.4)))
    assert run.certificate.trusted
    for body in "abc":
        np.testing.assert_allclose(run.body(body).position, relative.body(body).position, atol=1e-8)
    with pytest.raises(da.ModelError, match="reactions are not determined"):
        run.reaction("A")


@pytest.mark.parametrize("formulation", ["mixed", "independent", "canonical-independent"])
def test_fixed_steps_keep_their_order_through_dead_points_of_coordinates(formulation: str):
    """A point of a crank has a dead point in x and in y; independent coordinates are chosen anew well before."""
    how = Independent(state=formulation) if formulation in ("mixed", "independent") else formulation
    model = da.library.four_bar()
    exact = da.simulate(model, 2.0, output_step=0.02, certify=False, rtol=1e-11, atol=1e-13)
    errors: list[float] = []
    for step in (0.005, 0.0025):
        run = da.simulate(
            model, 2.0, formulation=how, coordinates="natural", integrator="rk4", step=step, output_step=0.02,
            certify=False,
        )  # fmt: skip
        errors.append(float(abs(run.body("coupler").position - exact.body("coupler").position).max()))
    assert errors[0] < 2e-3 and errors[1] < errors[0] / 8
