"""The conventions of the package, one test per line, each with an example that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.states import equations_at, reference_coordinates

from dalembert.algebra import NUMPY
from dalembert.coordinates import COORDINATES
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.joints import JOINTS
from dalembert.model import Model, flatten
from dalembert.spatial import Inertia, Pose, quaternion, se3, so3

G = 9.81
# Everything here is a few operations by hand.
BY_HAND = 1e-12

RIGHT_ANGLE = so3.rotation_z(NUMPY, np.pi / 2)


def hanging_mass(turned: bool = False) -> Model:
    """2 kg below a hinge at the origin that turns about y; the weight acts along −z."""
    model = Model("hanging", gravity=(0, 0, -G))
    model.body("mass", mass=2, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    first, second = ("mass", "ground") if turned else ("ground", "mass")
    model.revolute("hinge", first, second, point=(0, 0, 0), axis="y")
    return model


def at_rest(model: Model, coordinates: str):
    dynamics = Dynamics(model, "lagrange-multipliers", coordinates)
    q = reference_coordinates(dynamics.coordinates)
    return dynamics, q, np.zeros(dynamics.nv)


# SI units


def test_si_units():
    """kg, m, s, N, J: 2 kg fall with 9.81 m/s², weigh 19.62 N and have 19.62 J one meter up."""
    model = Model("fall")
    model.body("mass", mass=2, com=(0, 0, 1), inertia=(1, 1, 1))
    dynamics, q, u = at_rest(model, "relative")
    du, _ = dynamics.solve(q, u)
    np.testing.assert_allclose(du, [0, 0, 0, 0, 0, -G], atol=BY_HAND)
    e = equations_at(dynamics.coordinates, 0.0, q, u)
    np.testing.assert_allclose(e.forcing, [0, 0, 0, 0, 0, -2 * G], atol=BY_HAND)
    assert e.potential_energy() == pytest.approx(2 * G * 1)


def test_angles_are_radians():
    model = hanging_mass()
    dynamics, _, u = at_rest(model, "relative")
    seen = dynamics.observe(0.0, [np.pi / 2], u)
    # A quarter turn about +y carries −z to −x.
    np.testing.assert_allclose(seen.pose.reshape(-1)[9:], [-0.5, 0, 0], atol=BY_HAND)


# X_AB is the pose of B in A; adjacent letters cancel


def test_adjacent_letters_cancel():
    X_AB = Pose(RIGHT_ANGLE, np.array([1.0, 0, 0]))
    X_BC = Pose(np.eye(3), np.array([2.0, 0, 0]))
    X_AC = X_AB @ X_BC
    np.testing.assert_allclose(X_AC.p, [1, 2, 0], atol=BY_HAND)
    point_C = np.array([3.0, 0, 0])
    np.testing.assert_allclose(X_AC.apply(point_C), X_AB.apply(X_BC.apply(point_C)))
    np.testing.assert_allclose(X_AB.apply(np.zeros(3)), X_AB.p)
    np.testing.assert_allclose(X_AB.R[:, 0], [0, 1, 0], atol=BY_HAND)


# Six-vectors angular first


def test_six_vectors_are_angular_first():
    turning = se3.exp(NUMPY, np.array([0, 0, 0.5, 0, 0, 0]))
    sliding = se3.exp(NUMPY, np.array([0, 0, 0, 0, 0, 0.5]))
    np.testing.assert_allclose([turning.p, sliding.p], [[0, 0, 0], [0, 0, 0.5]])
    momentum = Inertia(2.0, np.zeros(3), np.diag([3.0, 4, 5])).apply(np.array([1.0, 0, 0, 0, 1, 0]))
    np.testing.assert_allclose(momentum, [3, 0, 0, 0, 2, 0])
    S = JOINTS["revolute"]().subspace(NUMPY, np.zeros(1))
    np.testing.assert_allclose(S[:, 0], [0, 0, 1, 0, 0, 0])


def test_wrench_is_torque_then_force():
    """A force (0, 1, 0) at (1, 0, 0) has the torque (0, 0, 1) about the origin."""
    F = Pose.translation(NUMPY, np.array([1.0, 0, 0])).force(np.array([0, 0, 0, 0, 1.0, 0]))
    np.testing.assert_allclose(F, [0, 0, 1, 0, 1, 0])


# Quaternions scalar first


def test_quaternions_are_scalar_first():
    np.testing.assert_allclose(quaternion.exp(NUMPY, np.zeros(3)), [1, 0, 0, 0])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(quaternion.to_matrix(NUMPY, np.array([half, 0, 0, half])), RIGHT_ANGLE, atol=BY_HAND)
    for kind in ("spherical", "free"):
        np.testing.assert_allclose(JOINTS[kind]().neutral()[:4], [1, 0, 0, 0])


def test_rotations_follow_the_right_hand():
    np.testing.assert_allclose(RIGHT_ANGLE @ [1, 0, 0], [0, 1, 0], atol=BY_HAND)
    X = JOINTS["revolute"]().transform(NUMPY, np.array([np.pi / 2]))
    np.testing.assert_allclose(X.R, RIGHT_ANGLE, atol=BY_HAND)


def test_roll_pitch_yaw_turn_about_fixed_axes_x_then_y_then_z():
    model = Model("turned")
    model.body("box", pose={"position": (0, 0, 0), "rpy": (np.pi / 2, 0, np.pi / 2)}, mass=1, inertia=(1, 1, 1))
    from dalembert.model import Mechanism

    R = Mechanism.nominal(flatten(model)).body_pose("box").R
    # y → z by the roll, which the yaw leaves; x → y by the yaw.
    np.testing.assert_allclose(R, np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), atol=BY_HAND)


# Coordinates have length nq, velocities and forces nv


def test_nq_and_nv_are_never_mixed():
    model = Model("ball")
    model.body("ball", mass=1, com=(0, 0, -1), inertia=(1, 1, 1))
    model.spherical("socket", "ground", "ball", point=(0, 0, 0))
    dynamics = Dynamics(model)
    assert (dynamics.nq, dynamics.nv) == (4, 3)
    assert len(dynamics.q_names) == 4 and len(dynamics.u_names) == 3
    q = np.array([1.0, 0, 0, 0])
    assert dynamics.mass_matrix(q).shape == (3, 3)
    assert len(dynamics.solve(q, np.zeros(3))[0]) == 3
    for q_wrong, u_wrong in ((np.zeros(3), np.zeros(3)), (q, np.zeros(4))):
        with pytest.raises((DalembertError, ValueError)):
            dynamics.acceleration(q_wrong, u_wrong)
        with pytest.raises((DalembertError, ValueError)):
            dynamics.solve(q_wrong, u_wrong)


# Twists in body axes inside, in world axes at the public surface


def test_twists_are_in_body_axes_inside_and_in_world_axes_outside():
    model = Model("spin")
    model.body("box", mass=1, inertia=(1, 1, 1))
    dynamics = Dynamics(model)
    # Turned by 90° about z; velocities along the body's own x.
    half = np.sqrt(0.5)
    q, u = np.array([half, 0, 0, half, 5, 6, 7.0]), np.array([1.0, 0, 0, 2.0, 0, 0])
    e = equations_at(dynamics.coordinates, 0.0, q, u)
    np.testing.assert_allclose(e.motion.body("box")[1], u, atol=BY_HAND)
    seen = dynamics.observe(0.0, q, u)
    np.testing.assert_allclose(seen.twist.reshape(-1), [0, 1, 0, 0, 2, 0], atol=BY_HAND)
    np.testing.assert_allclose(e.qdot()[4:], [0, 2, 0], atol=BY_HAND)


# M u̇ + h = Q + Aᵀλ


def test_signs_of_the_equations_of_motion_on_a_pendulum():
    """Horizontal pendulum about y: (J + m l²) u̇ = m g l (toward −z, a positive turn from +x); nothing else."""
    model = Model("pendulum", gravity=(0, 0, -G))
    model.body("rod", mass=2, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("hinge", "ground", "rod", point=(0, 0, 0), axis="y")
    model.joint_force("motor", "hinge", 3)
    dynamics, q, u = at_rest(model, "relative")
    e = equations_at(dynamics.coordinates, 0.0, q, u)
    np.testing.assert_allclose(e.mass_matrix, [[0.1 + 2 * 0.25]])
    np.testing.assert_allclose(e.forcing, [2 * G * 0.5 + 3])
    np.testing.assert_allclose(dynamics.solve(q, u)[0], (2 * G * 0.5 + 3) / 0.6)


def test_multipliers_enter_with_a_plus():
    """Hanging at rest, M u̇ = 0 = Q − h + Aᵀλ: constraint forces Aᵀλ carry the weight, upwards."""
    dynamics, q, u = at_rest(hanging_mass(), "absolute")
    du, multipliers = dynamics.solve(q, u)
    e = equations_at(dynamics.coordinates, 0.0, q, u)
    np.testing.assert_allclose(du, 0.0, atol=BY_HAND)
    np.testing.assert_allclose(e.forcing, [0, 0, 0, 0, 0, -2 * G], atol=BY_HAND)
    np.testing.assert_allclose(e.jacobian.T @ multipliers, [0, 0, 0, 0, 0, 2 * G], atol=1e-10)
    np.testing.assert_allclose(e.jacobian @ du + e.gamma, 0.0, atol=BY_HAND)


def test_bias_is_centrifugal():
    """A spinning pendulum in absolute coordinates: γ is the centripetal acceleration, l ω² toward the hinge."""
    dynamics, q, _ = at_rest(hanging_mass(), "absolute")
    w = 3.0
    u = np.array([0, w, 0, -0.5 * w, 0, 0])
    e = equations_at(dynamics.coordinates, 0.0, q, u)
    np.testing.assert_allclose(e.jacobian @ u, 0.0, atol=BY_HAND)
    _, multipliers = dynamics.solve(q, u)
    force = e.jacobian.T @ multipliers
    # In body axes (those of the world here) the hinge pulls with m (g + l ω²) upwards.
    np.testing.assert_allclose(force[3:], [0, 0, 2 * (G + 0.5 * w**2)], atol=1e-10)


# Reactions are what the joint exerts on its second body


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_reactions_act_on_the_second_body(coordinates):
    """On the hanging mass the hinge pulls up with the weight; drawn the other way round, it pulls the ground down."""
    for turned, sign in ((False, 1.0), (True, -1.0)):
        dynamics, q, u = at_rest(hanging_mass(turned), coordinates)
        e = equations_at(dynamics.coordinates, 0.0, q, u)
        wrench = e.reactions(*dynamics.solve(q, u))["hinge"]
        np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, sign * 2 * G], atol=1e-10)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_reactions_are_in_world_axes_about_the_joint(coordinates):
    """A horizontal arm welded to the wall: force m g up, moment m g l about the weld, against the fall."""
    model = Model("cantilever", gravity=(0, 0, -G))
    model.body("arm", mass=2, com=(0.5, 3, 0), inertia=(0.1, 0.1, 0.1), pose=((0.5, 3, 0), (0, 0, 0, 1)))
    model.fixed("weld", "ground", "arm", point=(0, 3, 0))
    dynamics, q, u = at_rest(model, coordinates)
    e = equations_at(dynamics.coordinates, 0.0, q, u)
    wrench = e.reactions(*dynamics.solve(q, u))["weld"]
    # r × (0, 0, m g) with r = (0.5, 0, 0) balances: n = −r × f_weight = (0, −m g l, 0).
    np.testing.assert_allclose(wrench, [0, -2 * G * 0.5, 0, 0, 0, 2 * G], atol=1e-10)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_motor_is_no_reaction(coordinates):
    """A motor that holds a horizontal arm: the hinge carries the force only, the torque is the motor's."""
    model = Model("held", gravity=(0, 0, -G))
    model.body("arm", mass=2, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("hinge", "ground", "arm", point=(0, 0, 0), axis="y")
    model.joint_force("motor", "hinge", -2 * G * 0.5)
    driven = Model("driven", gravity=(0, 0, -G))
    driven.bodies, driven.joints = model.bodies, model.joints
    driven.drive("hinge", 0)
    for case in (model, driven):
        dynamics, q, u = at_rest(case, coordinates)
        e = equations_at(dynamics.coordinates, 0.0, q, u)
        du, multipliers = dynamics.solve(q, u)
        np.testing.assert_allclose(du, 0.0, atol=1e-10)
        np.testing.assert_allclose(e.reactions(du, multipliers)["hinge"], [0, 0, 0, 0, 0, 2 * G], atol=1e-10)
    # The drive's own multiplier is the torque that its motor supplies.
    assert multipliers[-1] == pytest.approx(-2 * G * 0.5)


# Constraints and forces


def test_gear_outer_wheels_turn_against_each_other():
    model = Model("gears", gravity=(0, 0, 0))
    for i in range(2):
        model.body(f"wheel{i}", mass=1, com=(i, 0, 0), inertia=(1, 1, 1))
        model.revolute(f"axle{i}", "ground", f"wheel{i}", point=(i, 0, 0), axis="z")
    model.gear("mesh", "axle0", "axle1", ratio=3)
    model.joint_force("motor", "axle0", 1)
    dynamics, q, u = at_rest(model, "relative")
    du, _ = dynamics.solve(q, u)
    assert du[0] > 0
    assert du[0] == pytest.approx(-3 * du[1])


def test_spring_pulls_when_stretched():
    model = Model("spring", gravity=(0, 0, 0))
    model.body("mass", mass=2, com=(1.5, 0, 0), inertia=(1, 1, 1))
    model.spring("spring", "ground", "mass", at=((0, 0, 0), (1.5, 0, 0)), stiffness=10, length=1)
    dynamics, q, u = at_rest(model, "relative")
    np.testing.assert_allclose(dynamics.solve(q, u)[0][3:], [-2.5, 0, 0], atol=BY_HAND)
