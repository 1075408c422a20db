"""Generalized coordinates: plain numbers, u = q̇, and the same mechanics as in all other coordinates."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import expm
from support.cases import CASES
from support.states import accelerations_in_world, equations_at, transfer
from test_agreement_motion import TIME, dynamics_of, physical_state, truth

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.coordinates import Generalized, GeneralizedCoordinates
from dalembert.equations import Equations
from dalembert.joints.rated import Rated
from dalembert.joints.spherical import Spherical
from dalembert.spatial import Pose, euler, quaternion, so3

# Only round-off differs, amplified by the constraints' condition.
AGREEMENT = 1e-9
# Same motion by adaptive methods at rtol 1e-10.
MOTION = 1e-8
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def in_generalized(name: str, seed: int, *options) -> tuple[GeneralizedCoordinates, np.ndarray, np.ndarray]:
    flat = dynamics_of(name, "lagrange-multipliers", "relative").flat
    coordinates = GeneralizedCoordinates(flat, *options)
    (poses, twists), joints, _ = physical_state(name, seed)
    turns = {(joint, i): value for joint, values in joints.items() for i, value in enumerate(values)}
    return coordinates, *transfer(coordinates, poses, twists, turns)


def accelerations(e: Equations) -> np.ndarray:
    """u̇ of M u̇ = f + Aᵀλ, A u̇ + γ = 0, of least norm where it is not unique."""
    A, n = e.jacobian, e.nv
    K = np.block([[e.mass_matrix, -A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.lstsq(K, np.concatenate([e.forcing, -e.gamma]), rcond=1e-11)[0][:n]


# Sequences and quaternions differ in joints with balls only; the other cases are those of all coordinates.
WITH_BALLS = [
    "tree of universal, spherical, planar, translational", "tree of planar-translation, schoenflies, fixed, free",
    "tree of point-on-line, point-on-plane, distance, custom", "loop closed by universal",
    "rolling disc and sphere with a pendulum", "equations of position and velocity",
]  # fmt: skip
DESCRIPTIONS = [Generalized("quaternions"), *(Generalized(sequence=s) for s in ("xyz", "yzx", "zxz", "xyx"))]


@pytest.mark.parametrize("name", [n if n in WITH_BALLS else pytest.param(n, marks=pytest.mark.slow) for n in CASES])
def test_bodies_accelerate_as_the_oracle_says(name):
    coordinates, q, u = in_generalized(name, 0)
    assert coordinates.nq - len(coordinates.windings) == coordinates.nv
    e = equations_at(coordinates, TIME, q, u)
    np.testing.assert_array_equal(e.tree.qdot(q, u), u)
    expected, _, _ = truth(name, 0)
    got = accelerations_in_world(coordinates, q, u, accelerations(e), TIME)
    np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize("options", DESCRIPTIONS, ids=str)
@pytest.mark.parametrize("name", WITH_BALLS)
def test_every_description_gives_the_same_accelerations(name, options):
    coordinates, q, u = in_generalized(name, 0, options)
    e = equations_at(coordinates, TIME, q, u)
    np.testing.assert_allclose(
        [v for v, row in zip(e.position_residual(), e.rows, strict=False) if row.rigid], 0, atol=1e-14
    )
    expected, _, _ = truth(name, 0)
    got = accelerations_in_world(coordinates, q, u, accelerations(e), TIME)
    np.testing.assert_allclose(got, expected, rtol=0, atol=AGREEMENT * np.abs(expected).max(initial=1.0))
    names, Y, Z = e.tree.quasi_velocities(TIME, q)
    norms = sum(row.rigid for row in e.rows)
    assert len(names) == len(set(names)) == np.linalg.matrix_rank(Y) == coordinates.nv - norms
    assert not np.any(Z)
    assert len({symbol.name for symbol in coordinates.symbols}) == coordinates.nq


@pytest.mark.parametrize("name", WITH_BALLS)
def test_joints_are_what_formulas_call_so(name):
    """q(joint) and u(joint) mean the same in all coordinates; −Q is the rotation Q."""
    coordinates, q, u = in_generalized(name, 1)
    relative, (_, _, (q_r, u_r)) = dynamics_of(name, "lagrange-multipliers", "relative"), physical_state(name, 1)
    here, there = equations_at(coordinates, TIME, q, u), equations_at(relative.coordinates, TIME, q_r, u_r)
    for joint in coordinates.flat.joints:
        (q_1, u_1), (q_2, u_2) = here.joint_coordinates(joint), there.joint_coordinates(joint)
        kind = coordinates.nominal_joint(joint).joint
        np.testing.assert_allclose(kind.difference(NUMPY, q_1, q_2), 0, atol=AGREEMENT, err_msg=joint)
        np.testing.assert_allclose(u_1, u_2, atol=AGREEMENT * np.abs(u_2).max(initial=1.0), err_msg=joint)


def free_body() -> da.Model:
    model = da.Model("free", gravity=(0, 0, -9.81))
    model.body("b", mass=2, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    model.free("f", "ground", "b")
    model.initial("f", (0.9, 0.1, 0.3, 0.2, 1, 2, 3), (0.3, 0.5, -0.2, 1, 2, 3))
    return model


def spherical_pendulum() -> da.Model:
    model = da.Model("spherical pendulum", gravity=(0, 0, -9.81))
    model.body("bob", mass=1.5, com=(0.8, 0, 0), inertia=(0.01, 0.02, 0.03))
    model.spherical("S", "ground", "bob", point=(0, 0, 0))
    model.joint_force("friction", "S", "-0.1*u(S)", index=0)
    model.initial("S", (1, 0, 0.3, 0), (0.5, 0.1, 1.0))
    return model


@pytest.mark.parametrize("build", [free_body, spherical_pendulum], ids=lambda build: build.__name__)
def test_the_same_motion(build):
    model = build()
    one, other = (da.simulate(model, 1.0, coordinates=c, **TIGHT).data for c in ("relative", "generalized"))
    for what in ("position", "orientation", "angular_velocity", "joint_velocities", "balance"):
        np.testing.assert_allclose(other[what].values, one[what].values, rtol=MOTION, atol=MOTION)


@pytest.mark.parametrize("sequence", euler.SEQUENCES)
def test_angles_of_every_sequence(sequence):
    """R = R_i(a) R_j(b) R_k(c), and ω is what the rates of the angles make of it."""
    rng, axes = np.random.default_rng(0), euler.axes_of(sequence)
    joint = Rated(Spherical(), "angles", axes)
    for _ in range(5):
        R = so3.exp(NUMPY, rng.normal(size=3))
        q = joint.coordinates(NUMPY, Pose(R, np.zeros(3)))
        np.testing.assert_allclose(joint.transform(NUMPY, q).R, R, atol=1e-14)
        Q, omega = joint.own(NUMPY, q, u := rng.normal(size=3))
        np.testing.assert_allclose(quaternion.to_matrix(NUMPY, Q), R, atol=1e-14)
        np.testing.assert_allclose((joint.subspace(NUMPY, q) @ u)[:3], omega, atol=1e-14)
        again = joint.of_own(Q, omega)
        np.testing.assert_allclose(np.concatenate(again), np.concatenate([q, u]), atol=1e-12)


@pytest.mark.parametrize("rotations", ["vectors", "cayley", "quaternions"])
def test_numbers_that_are_no_angles(rotations: str):
    """R, ω and their rates are those of the definitions:  exp(r̂),  (1 + ĉ)(1 − ĉ)⁻¹."""
    rng, h = np.random.default_rng(0), 1e-5
    joint = Rated(Spherical(), rotations, (0, 1, 2))
    for _ in range(5):
        r = rng.normal(size=3)
        r *= rng.uniform(0.01, 3.0) / np.linalg.norm(r)
        R = expm(so3.hat(NUMPY, r))
        q = joint.coordinates(NUMPY, Pose(R, np.zeros(3)))
        c = np.tan(np.linalg.norm(r) / 2) * r / np.linalg.norm(r)
        if rotations != "quaternions":
            np.testing.assert_allclose(q, r if rotations == "vectors" else c, rtol=1e-11)
        K = so3.hat(NUMPY, c)
        np.testing.assert_allclose((np.eye(3) + K) @ np.linalg.inv(np.eye(3) - K), R, atol=1e-12)
        np.testing.assert_allclose(joint.transform(NUMPY, q).R, R, atol=1e-12)
        u = rng.normal(size=joint.nv)
        u -= (q @ u) * q if rotations == "quaternions" else 0

        def turning(s: float, q=q, u=u) -> np.ndarray:
            dR = joint.transform(NUMPY, q + (s + h) * u).R - joint.transform(NUMPY, q + (s - h) * u).R
            return so3.vee(NUMPY, joint.transform(NUMPY, q + s * u).R.T @ dR / (2 * h))

        if rotations != "quaternions":
            np.testing.assert_allclose((joint.subspace(NUMPY, q) @ u)[:3], turning(0.0), rtol=1e-6, atol=1e-7)
            slope = (turning(1e-3) - turning(-1e-3)) / 2e-3
            np.testing.assert_allclose(joint.bias(NUMPY, q, u)[:3], slope, rtol=1e-3, atol=1e-3)
        again = joint.of_own(*joint.own(NUMPY, q, u))
        np.testing.assert_allclose(np.concatenate(again), np.concatenate([q, u]), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("formulation", ["recursive", "lagrange", "hamilton", "boltzmann-hamel"])
@pytest.mark.parametrize("rotations", ["vectors", "cayley"])
def test_the_same_motion_by_numbers_that_are_no_angles(rotations: str, formulation: str):
    model = spherical_pendulum()
    coordinates = da.Generalized(rotations=rotations)
    one = da.simulate(model, 0.3, **TIGHT)
    other = da.simulate(model, 0.3, coordinates=coordinates, formulation=formulation, **TIGHT)
    assert other.certificate.trusted, other.certificate
    for what in ("position", "orientation", "angular_velocity"):
        np.testing.assert_allclose(other.data[what].values, one.data[what].values, rtol=MOTION, atol=MOTION)


def test_cayley_parameters_are_infinite_after_half_a_turn():
    model = da.Model("ball", gravity=(0, 0, 0))
    model.body("ball", mass=1, inertia=(1, 2, 3))
    model.spherical("S", "ground", "ball", point=(0, 0, 0))
    cayley = da.Generalized(rotations="cayley")
    with pytest.raises(da.ModelError, match="singular where body 'ball' starts"):
        da.simulate(model, 0.1, coordinates=cayley, initial={"S": (0, 1, 0, 0)})
    run = da.simulate(model, 4.0, coordinates=cayley, initial_rates={"S": (0, 0, 1)})
    assert not run.certificate.trusted and run.certificate["steepness of angles"] > 1e3
    with pytest.raises(da.DalembertError, match="rotation vectors"):
        da.derive(model, "lagrange", coordinates=da.Generalized(rotations="vectors"))


@pytest.mark.parametrize("name", ["lagrange-multipliers", "penalty", "canonical"])
def test_quaternions_move_as_angles_do(name):
    model = spherical_pendulum()
    one = da.simulate(model, 1.0, **TIGHT).data
    run = da.simulate(model, 1.0, formulation=name, coordinates=Generalized("quaternions"), **TIGHT)
    assert run.certificate.trusted
    assert run.dynamics.nq == run.dynamics.nv == 4
    assert [str(row) for row in run.dynamics.rows] == ["bob[0]"]
    np.testing.assert_allclose(run.data.orientation.values, one.orientation.values, atol=2 * MOTION)


def test_recursive_elimination_refuses_quaternions():
    with pytest.raises(da.ModelError, match="joint 'S'"):
        da.compile(spherical_pendulum(), formulation="recursive", coordinates=Generalized("quaternions"))


def test_symbols_say_what_each_number_is():
    model = free_body()
    model.body("arm", mass=1, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.cylindrical("C", "b", "arm", point=(0, 0, 0), axis="z")
    symbols = da.compile(model, coordinates="generalized").coordinates.symbols
    assert [s.name for s in symbols] == ["x", "y", "z_f", "psi", "theta", "phi", "z_C", "angle"]
    assert [s.kind for s in symbols] == ["length"] * 3 + ["angle"] * 3 + ["length", "angle"]
    dynamics = da.compile(model, coordinates=Generalized("quaternions"))
    assert dynamics.u_names == ["f.x", "f.y", "f.z", "f.e0", "f.e1", "f.e2", "f.e3", "C.z", "C.angle"]


def test_quasi_velocities_are_formulas_of_the_rates():
    model = spherical_pendulum()
    model.parameters(k=3.0)
    asked = Generalized(velocities={"spin": "k*wx(bob)*cos(t) + t", "own": "u(S, 1)"})
    coordinates = da.compile(model, coordinates=asked).coordinates
    q, u, t = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.2, 0.7]), 0.4
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    names, Y, Z = tree.quasi_velocities(t, q)
    X, V = Equations(tree, t, q, u).motion.body("bob")
    assert names == ["spin", "own"]
    np.testing.assert_allclose(Y @ u + Z, [3 * (X.R @ V[:3])[0] * np.cos(t) + t, V[1]], atol=1e-14)
    assert tree.quasi_velocities(t, q)[1].shape == (2, 3)


@pytest.mark.parametrize(
    ("velocities", "said"),
    [
        ({"a": "u(S)*u(S, 1)"}, "'a': must be linear in the rates"),
        ({"a": "u(T)"}, "unknown joint 'T'"),
        ({"a": "k*u(S, 5)"}, "no such index"),
        ({"a": "u(S"}, "velocity 'a': cannot read formula"),
    ],
)
def test_wrong_quasi_velocities_are_told(velocities, said):
    with pytest.raises(da.ModelError, match=re.escape(said)):
        da.compile(spherical_pendulum(), coordinates=Generalized(velocities=velocities))


def test_singular_angles_are_told():
    model = da.Model("top", gravity=(0, 0, 0))
    model.body("b", mass=1, com=(0, 0, 0), inertia=(0.1, 0.2, 0.3))
    model.spherical("S", "ground", "b", point=(0, 0, 0))
    with pytest.raises(da.ModelError, match=r"joint 'S': the angles zxz are singular .*'quaternions'"):
        da.simulate(model, 1.0, coordinates=Generalized(sequence="zxz"))
    run = da.simulate(model, 2.0, coordinates="generalized", initial_rates={"S": (0, 1.5, 0)})
    assert any("joint 'S' came close to singular" in remark for remark in run.certificate.remarks)
    run = da.simulate(model, 0.5, coordinates="generalized", initial_rates={"S": (0, 1.5, 0)})
    assert not run.certificate.remarks


def test_options_are_checked():
    with pytest.raises(da.DalembertError, match="rotations must be"):
        Generalized("axes")  # type: ignore[arg-type]
    with pytest.raises(da.DalembertError, match="unknown sequence"):
        Generalized(sequence="zzx")
    assert hash(Generalized(velocities={"a": "u(S)"})) == hash(Generalized(velocities={"a": "u(S)"}))
    result = da.compare(
        spherical_pendulum(), 0.1, formulations="gauss", coordinates=["relative", Generalized("quaternions")]
    )
    assert [(entry.coordinates, entry.status) for entry in result.data] == [
        ("relative", "trusted"), ("generalized (quaternions)", "trusted"),
    ]  # fmt: skip
