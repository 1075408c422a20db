"""The contract of a joint (``joints/base.py``), for every joint of the catalog and its reverse."""

from __future__ import annotations

import numpy as np
import pytest
from support.algebras import ALGEBRAS, flat, run, run_symbolically
from support.joints import EXAMPLES, IDS, QUANTITIES, VALUE, example, quaternions

from dalembert.algebra import NUMPY, Jets
from dalembert.joints import JOINTS, Joint
from dalembert.joints.base import Geometry
from dalembert.spatial import Pose, quaternion, se3, so3

SEEDS = range(4)
# A few dozen operations on numbers of size one.
ROUND_OFF = 1e-13
# Five-point differences: truncation h⁴ ≈ 1e-12 times the fifth derivative (below 1e2), round-off 1e-16/h.
STEP = 1e-3
DIFFERENCE_ERROR = 1e-9
# A singular value below this means that two equations say the same.
FULL_RANK = 1e-3

every_joint = pytest.mark.parametrize(("kind", "turned"), EXAMPLES, ids=IDS)


def states(joint, seeds=SEEDS):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield joint.random(rng), rng.normal(size=joint.nv), rng.normal(size=joint.nv)


def slope(function):
    f = {k: np.asarray(function(k * STEP), dtype=float) for k in (-2, -1, 1, 2)}
    return (f[-2] - 8 * f[-1] + 8 * f[1] - f[2]) / (12 * STEP)


def coordinates_jets(al, joint, q, u, du):
    """q as jets along the motion with velocities u and rates du."""
    jets = Jets(al)
    rate = joint.qdot(al, q, u)
    first = jets.jets(q, rate, al.zeros(joint.nq))
    _, second, _ = jets.parts(joint.qdot(jets, first, jets.jets(u, du, al.zeros(joint.nv))))
    return jets, jets.jets(q, rate, second)


def twist_by_jets(al, joint, q, u, du):
    """V and V̇ of S against P in S axes, from the pose alone:  V̂ = X⁻¹ Ẋ."""
    jets, moving = coordinates_jets(al, joint, q, u, du)
    X = joint.transform(jets, moving)
    (R, R1, R2), (_, p1, p2) = jets.parts(X.R), jets.parts(X.p)
    W, W1 = R.T @ R1, R1.T @ R1 + R.T @ R2
    v, v1 = R.T @ p1, R1.T @ p1 + R.T @ p2
    return np.concatenate([so3.vee(al, W), v]), np.concatenate([so3.vee(al, W1), v1])


def pose_moving(X: Pose, V: np.ndarray) -> tuple[Jets, Pose]:
    """X as jets when it moves with twist V in its own axes."""
    jets = Jets(NUMPY)
    R1, p1 = X.R @ so3.hat(NUMPY, V[:3]), X.R @ V[3:]
    return jets, Pose(jets.jets(X.R, R1, 0 * R1), jets.jets(X.p, p1, 0 * p1))


def twist(joint, q, u):
    return joint.subspace(NUMPY, q) @ u if joint.nv else np.zeros(6)


# 1. transform


@every_joint
def test_transform_is_a_pose(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        X = joint.transform(NUMPY, q)
        np.testing.assert_allclose(X.R @ X.R.T, np.eye(3), atol=ROUND_OFF)
        assert np.linalg.det(X.R) == pytest.approx(1.0)


@every_joint
def test_frames_coincide_at_neutral(kind, turned):
    joint = example(kind, turned)
    assert joint.neutral().shape == (joint.nq,)
    X = joint.transform(NUMPY, joint.neutral())
    np.testing.assert_allclose(X.R, np.eye(3), atol=ROUND_OFF)
    # Joints with a length stand off by it, along z.
    offset = {"distance": "length", "rolling-disc": "radius", "rolling-sphere": "radius"}.get(kind)
    expected = np.array([0, 0, QUANTITIES[offset]]) if offset else np.zeros(3)
    np.testing.assert_allclose(X.p, -expected if turned else expected, atol=ROUND_OFF)


# 2. subspace and bias


@every_joint
def test_subspace_and_bias_are_derivatives_of_the_transform(kind, turned):
    joint = example(kind, turned)
    for q, u, du in states(joint):
        V, A = twist_by_jets(NUMPY, joint, q, u, du)
        S = joint.subspace(NUMPY, q)
        assert S.shape == (6, joint.nv)
        np.testing.assert_allclose(twist(joint, q, u), V, atol=100 * ROUND_OFF)
        np.testing.assert_allclose(twist(joint, q, du) + joint.bias(NUMPY, q, u), A, atol=100 * ROUND_OFF)


@every_joint
def test_subspace_and_bias_by_finite_differences(kind, turned):
    joint = example(kind, turned)
    for q, u, _ in states(joint):
        X = joint.transform(NUMPY, q)
        W = X.R.T @ slope(lambda h: joint.transform(NUMPY, joint.integrate(NUMPY, q, h * u)).R)
        v = X.R.T @ slope(lambda h: joint.transform(NUMPY, joint.integrate(NUMPY, q, h * u)).p)
        np.testing.assert_allclose(twist(joint, q, u), np.concatenate([so3.vee(NUMPY, W), v]), atol=DIFFERENCE_ERROR)
        rate = slope(lambda h: twist(joint, joint.integrate(NUMPY, q, h * u), u))
        np.testing.assert_allclose(joint.bias(NUMPY, q, u), rate, atol=DIFFERENCE_ERROR)
        S_dot = joint.subspace_rate(NUMPY, q, u)
        assert S_dot.shape == (6, joint.nv)
        rates = slope(lambda h: joint.subspace(NUMPY, joint.integrate(NUMPY, q, h * u)))
        np.testing.assert_allclose(S_dot, rates, atol=DIFFERENCE_ERROR)
        np.testing.assert_allclose(S_dot @ u, joint.bias(NUMPY, q, u), atol=100 * ROUND_OFF)


@every_joint
def test_velocities_are_independent(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        assert np.linalg.svd(joint.subspace(NUMPY, q), compute_uv=False).min(initial=1.0) > FULL_RANK


# 3. qdot and 4. integrate, difference


@every_joint
def test_qdot_is_the_derivative_of_integrate(kind, turned):
    joint = example(kind, turned)
    for q, u, _ in states(joint):
        assert q.shape == (joint.nq,)
        qdot = joint.qdot(NUMPY, q, u)
        assert qdot.shape == (joint.nq,)
        np.testing.assert_allclose(slope(lambda h: joint.integrate(NUMPY, q, h * u)), qdot, atol=DIFFERENCE_ERROR)


@every_joint
def test_difference_undoes_integrate(kind, turned):
    joint = example(kind, turned)
    for q, u, _ in states(joint):
        u = u * min(1.0, 2.5 / max(np.linalg.norm(u), 1.0))  # less than half a turn
        moved = joint.integrate(NUMPY, q, u)
        assert moved.shape == (joint.nq,)
        np.testing.assert_allclose(joint.difference(NUMPY, q, moved), u, atol=100 * ROUND_OFF)
        np.testing.assert_allclose(joint.difference(NUMPY, q, q), np.zeros(joint.nv), atol=ROUND_OFF)


@every_joint
def test_integrate_undoes_difference(kind, turned):
    joint = example(kind, turned)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        q0, q1 = joint.random(rng), joint.random(rng)
        reached = joint.transform(NUMPY, joint.integrate(NUMPY, q0, joint.difference(NUMPY, q0, q1)))
        wanted = joint.transform(NUMPY, q1)
        np.testing.assert_allclose(flat(reached), flat(wanted), atol=100 * ROUND_OFF)


@every_joint
def test_normalize_makes_unit_quaternions_and_nothing_else(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        np.testing.assert_allclose(joint.normalize(NUMPY, q), q, atol=ROUND_OFF)
        long = q.copy()
        for at in quaternions(joint):
            long[at] *= 1.5
        np.testing.assert_allclose(joint.normalize(NUMPY, long), q, atol=ROUND_OFF)


# 5. position


@every_joint
def test_position_vanishes_on_the_motion(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        X = joint.transform(NUMPY, q)
        residual = joint.position(NUMPY, X, q)
        assert len(residual) == 6 - joint.nv
        np.testing.assert_allclose(np.array(residual, dtype=float), 0.0, atol=ROUND_OFF)
        if kind != "screw":
            np.testing.assert_allclose(np.array(joint.position(NUMPY, X), dtype=float), 0.0, atol=ROUND_OFF)


def position_gradient(joint, q) -> np.ndarray:
    """Rows ∂φ/∂V: how the equations react to each twist of S against P."""
    X = joint.transform(NUMPY, q)
    columns = []
    for V in np.eye(6):
        jets, moving = pose_moving(X, V)
        given = joint.coordinates(jets, moving) if joint.measured else None
        columns.append(jets.parts(np.array(joint.position(jets, moving, given), dtype=object))[1])
    return np.stack(columns, axis=1).astype(float).reshape(6 - joint.nv, 6)


@every_joint
def test_position_forbids_exactly_what_the_subspace_does_not_allow(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        G, S = position_gradient(joint, q), joint.subspace(NUMPY, q)
        np.testing.assert_allclose(G @ S, 0.0, atol=100 * ROUND_OFF)
        if G.size:
            assert np.linalg.svd(G, compute_uv=False).min() > FULL_RANK


@every_joint
def test_position_gradient_by_finite_differences(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint, range(2)):
        X, G = joint.transform(NUMPY, q), position_gradient(joint, q)
        for column, V in zip(G.T, np.eye(6), strict=True):
            by_difference = slope(lambda h: [float(x) for x in joint.position(NUMPY, X @ se3.exp(NUMPY, h * V))])
            np.testing.assert_allclose(column, by_difference, atol=DIFFERENCE_ERROR)


# 6. coordinates


@every_joint
def test_coordinates_undo_the_transform(kind, turned):
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        X = joint.transform(NUMPY, q)
        found = joint.coordinates(NUMPY, X)
        assert found.shape == (joint.nq,)
        for at in quaternions(joint):
            assert found[at][0] >= -ROUND_OFF
            found[at] *= np.sign(found[at] @ q[at])
        np.testing.assert_allclose(found, q, atol=100 * ROUND_OFF)


@every_joint
def test_angles_wind(kind, turned):
    """A whole turn more shows in no pose (a screw's advance apart), and coordinates come back in (−π, π]."""
    joint = example(kind, turned)
    for q, _, _ in states(joint):
        X = joint.transform(NUMPY, q)
        for i in joint.angles:
            wound = q.copy()
            wound[i] += 2 * np.pi
            Y = joint.transform(NUMPY, wound)
            np.testing.assert_allclose(Y.R, X.R, atol=10 * ROUND_OFF)
            if not joint.measured:
                np.testing.assert_allclose(Y.p, X.p, atol=10 * ROUND_OFF)
                found = joint.coordinates(NUMPY, Y)
                assert abs(found[i]) <= np.pi
    others = (
        set(range(joint.nq)) - set(joint.angles) - {i for at in quaternions(joint) for i in range(at.start, at.stop)}
    )
    q = joint.random(np.random.default_rng(0))
    for i in others - {0 if kind == "custom" else -1}:
        moved = q.copy()
        moved[i] += 2 * np.pi
        assert np.abs(joint.transform(NUMPY, moved).p - joint.transform(NUMPY, q).p).max() > 1.0


# 7. velocity


@every_joint
def test_velocity_equations_are_linear(kind, turned):
    joint = example(kind, turned)
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = joint.transform(NUMPY, joint.random(rng))
        V, W = rng.normal(size=6), rng.normal(size=6)

        def equations(V, X=X):
            return np.array(joint.velocity(NUMPY, X, V), dtype=float)

        assert len(equations(V)) == joint.nonholonomic
        np.testing.assert_allclose(equations(2 * V - 3 * W), 2 * equations(V) - 3 * equations(W), atol=10 * ROUND_OFF)
        np.testing.assert_allclose(equations(0 * V), 0.0, atol=ROUND_OFF)
        if joint.nonholonomic:
            rows = np.stack([equations(e) for e in np.eye(6)], axis=1) @ joint.subspace(
                NUMPY, joint.coordinates(NUMPY, X)
            )
            assert np.linalg.svd(rows, compute_uv=False).min() > FULL_RANK


@pytest.mark.parametrize("kind", ["rolling-disc", "rolling-sphere"])
def test_no_slip_means_that_the_lowest_material_point_rests(kind):
    """The point of S that is lowest above the plane has the velocity that the equations report."""
    joint = example(kind)
    radius = QUANTITIES["radius"]
    for q, u, _ in states(joint):
        X = joint.transform(NUMPY, q)
        if kind == "rolling-disc":
            # Lowest point of the circle  x = r cos s, z = r sin s  in S axes, by its definition.
            s = np.arctan2(-X.R[2, 2], -X.R[2, 0])
            point = radius * np.array([np.cos(s), 0.0, np.sin(s)])
        else:
            point = X.R.T @ np.array([0, 0, -radius])
        assert X.apply(point)[2] == pytest.approx(0.0, abs=ROUND_OFF)
        velocity = slope(lambda h: joint.transform(NUMPY, joint.integrate(NUMPY, q, h * u)).apply(point))
        got = np.array(joint.velocity(NUMPY, X, twist(joint, q, u)), dtype=float)
        np.testing.assert_allclose(got, velocity[:2], atol=DIFFERENCE_ERROR)


# 8. rates and 9. wrench


@every_joint
def test_rates_read_the_velocities_from_the_twist(kind, turned):
    joint = example(kind, turned)
    for q, u, _ in states(joint):
        np.testing.assert_allclose(joint.rates(NUMPY, q, twist(joint, q, u)), u, atol=1e3 * ROUND_OFF)


@every_joint
def test_wrench_does_the_work_of_the_joint_forces(kind, turned):
    joint = example(kind, turned)
    for q, u, tau in states(joint):
        F = joint.wrench(NUMPY, q, tau)
        assert F.shape == (6,)
        np.testing.assert_allclose(F @ twist(joint, q, u), tau @ u, atol=1e3 * ROUND_OFF)


@pytest.mark.parametrize("kind", JOINTS)
def test_wrench_is_the_same_seen_from_both_sides(kind):
    """A motor does not care which body was named first:  the wrench on P is minus the one on S."""
    joint, turned = example(kind), example(kind, True)
    for q, _, tau in states(joint):
        X = joint.transform(NUMPY, q)
        np.testing.assert_allclose(
            turned.wrench(NUMPY, q, tau), -X.force(joint.wrench(NUMPY, q, tau)), atol=1e3 * ROUND_OFF
        )


@pytest.mark.parametrize("kind", JOINTS)
def test_reversed_moves_the_other_way(kind):
    joint, turned = example(kind), example(kind, True)
    assert (turned.nq, turned.nv, turned.angles, turned.nonholonomic) == (
        joint.nq,
        joint.nv,
        joint.angles,
        joint.nonholonomic,
    )
    for q, u, _ in states(joint):
        X, Y = joint.transform(NUMPY, q), turned.transform(NUMPY, q)
        np.testing.assert_allclose(flat(X @ Y), flat(Pose.identity(NUMPY)), atol=ROUND_OFF)
        V = twist(joint, q, u)
        np.testing.assert_allclose(twist(turned, q, u), -X.motion(V), atol=ROUND_OFF)
        if joint.nonholonomic:
            np.testing.assert_allclose(
                np.array(turned.velocity(NUMPY, Y, twist(turned, q, u)), dtype=float),
                np.array(joint.velocity(NUMPY, X, V), dtype=float),
                atol=10 * ROUND_OFF,
            )


# In every algebra


def everything(joint, measure=True):
    def function(al, q, u, q1):
        X = joint.transform(al, q)
        S = joint.subspace(al, q)
        V = S @ u if joint.nv else al.zeros(6)
        found = joint.coordinates(al, X)
        parts = [
            X, S, joint.bias(al, q, u), joint.qdot(al, q, u), joint.integrate(al, q, u), joint.difference(al, q, q1),
            joint.normalize(al, q), joint.position(al, X, q), joint.velocity(al, X, V), joint.rates(al, q, V),
            joint.wrench(al, q, u),
        ]  # fmt: skip
        return [*parts, found] if measure else parts

    return function


@every_joint
@pytest.mark.parametrize("algebra", [name for name in ALGEBRAS if name != "numpy"])
def test_every_algebra_gives_the_same_numbers(kind, turned, algebra):
    joint = example(kind, turned)
    rng = np.random.default_rng(0)
    q, u, q1 = joint.random(rng), rng.normal(size=joint.nv), joint.random(rng)
    function = everything(joint)
    np.testing.assert_allclose(
        run(algebra, function, q, u, q1), run("numpy", function, q, u, q1), rtol=1e3 * ROUND_OFF, atol=1e3 * ROUND_OFF
    )


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if not example(kind).quaternions])
def test_closed_forms_are_what_the_pose_gives(kind):
    """Twist, bias and rate of the subspace as a joint has them that only knows its pose."""
    joint = example(kind)
    for q, u, _ in states(joint):
        for closed, by_jets in (
            (joint.subspace(NUMPY, q), Joint.subspace(joint, NUMPY, q)),
            (joint.bias(NUMPY, q, u), Joint.bias(joint, NUMPY, q, u)),
            (joint.subspace_rate(NUMPY, q, u), Joint.subspace_rate(joint, NUMPY, q, u)),
        ):
            np.testing.assert_allclose(closed, by_jets, atol=1e3 * ROUND_OFF)


@pytest.mark.parametrize("kind", JOINTS)
def test_quaternions_begin_where_a_joint_says(kind):
    """They have length one after normalization, and nothing else is changed by it."""
    joint = example(kind)
    q = 2.0 * joint.random(np.random.default_rng(2))
    inside = [range(start, start + 4) for start in joint.quaternions]
    unit = joint.normalize(NUMPY, q)
    assert joint.nq - joint.nv == len(inside)
    np.testing.assert_allclose([np.linalg.norm(unit[list(part)]) for part in inside], 1.0, rtol=1e-12)
    others = [i for i in range(joint.nq) if not any(i in part for part in inside)]
    np.testing.assert_array_equal(unit[others], q[others])


@pytest.mark.parametrize("kind", JOINTS)
def test_symbols_give_the_same_numbers(kind):
    """As a person reads it: traced over SymPy symbols, numbers filled in afterwards."""
    joint = example(kind)
    rng = np.random.default_rng(1)
    q, u = joint.random(rng), rng.normal(size=joint.nv)

    def function(al, q, u):
        X = joint.transform(al, q)
        return [X, joint.subspace(al, q), joint.bias(al, q, u), joint.qdot(al, q, u), joint.position(al, X, q)]

    np.testing.assert_allclose(run_symbolically(function, q, u), run("numpy", function, q, u), atol=100 * ROUND_OFF)


# As drawn


def drawn(al, rng, reference=None) -> Geometry:
    axis = rng.normal(size=3)
    across = np.cross(axis, rng.normal(size=3))
    vectors = {"point": rng.normal(size=3), "point_2": rng.normal(size=3), "axis": axis, "axis_2": across}
    X_2 = se3.exp(NUMPY, rng.normal(size=6))
    return Geometry(
        **{key: al.array(value) for key, value in vectors.items()},
        nominal=vectors,
        X_2=Pose(al.array(X_2.R), al.array(X_2.p)),
        reference=None if reference is None else al.array(reference),
    )


def from_drawing(al, kind, given):
    cls = JOINTS[kind]
    if kind == "custom":
        return example(kind)
    quantities = {name: QUANTITIES.get(name, VALUE) for name in (part.strip("[]") for part in cls.parameters)}
    quantities.pop("length", None)
    return cls.from_geometry(al, given, quantities)


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_joint_lies_where_it_is_drawn(kind, seed):
    given = drawn(NUMPY, np.random.default_rng(seed))
    joint = from_drawing(NUMPY, kind, given)
    P, S = joint.frames(NUMPY, given)
    for X in (P, S):
        np.testing.assert_allclose(X.R @ X.R.T, np.eye(3), atol=ROUND_OFF)
        assert np.linalg.det(X.R) == pytest.approx(1.0)
    # The reference configuration is one of the joint's motion.
    q = joint.coordinates(NUMPY, P.inverse() @ S)
    np.testing.assert_allclose(flat(P @ joint.transform(NUMPY, q)), flat(S), atol=100 * ROUND_OFF)
    np.testing.assert_allclose(np.array(joint.position(NUMPY, P.inverse() @ S, q), dtype=float), 0, atol=10 * ROUND_OFF)
    axis, across = (v / np.linalg.norm(v) for v in (given.axis, given.axis_2))
    if kind == "free":
        np.testing.assert_allclose(flat(S), flat(given.X_2))
        return
    if kind == "distance":
        np.testing.assert_allclose([P.p, S.p], [given.point, given.point_2], atol=ROUND_OFF)
        return
    np.testing.assert_allclose(S.p, given.point, atol=ROUND_OFF)
    if kind.startswith("rolling"):
        np.testing.assert_allclose(P.R[:, 2], axis, atol=ROUND_OFF)
        height = (given.point - P.p) @ axis
        lowest = QUANTITIES["radius"] * (np.linalg.norm(np.cross(axis, across)) if kind == "rolling-disc" else 1.0)
        assert height == pytest.approx(lowest)
        if kind == "rolling-disc":
            np.testing.assert_allclose(S.R[:, 1], across, atol=ROUND_OFF)
        return
    np.testing.assert_allclose(P.p, given.point, atol=ROUND_OFF)
    if kind == "universal":
        np.testing.assert_allclose([P.R[:, 0], S.R[:, 1]], [axis, across], atol=ROUND_OFF)
    elif "axis" in JOINTS[kind].geometry:
        np.testing.assert_allclose(P.R[:, 2], axis, atol=ROUND_OFF)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "screw", "universal", "spherical", "planar",
                                  "translational", "free", "point-on-line", "point-on-plane", "custom"])  # fmt: skip
def test_reference_coordinates_are_those_of_the_drawing(kind):
    rng = np.random.default_rng(0)
    joint = example(kind)
    q = joint.random(rng)
    given = drawn(NUMPY, rng, q)
    joint = from_drawing(NUMPY, kind, given)
    P, S = joint.frames(NUMPY, given)
    np.testing.assert_allclose(flat(P.inverse() @ S), flat(joint.transform(NUMPY, q)), atol=100 * ROUND_OFF)


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "custom"])
@pytest.mark.parametrize("algebra", ["sympy", "casadi"])
def test_drawing_in_every_algebra(kind, algebra):
    def place(al, scale):
        given = drawn(al, np.random.default_rng(3))
        joint = from_drawing(al, kind, given)
        return [list(joint.frames(al, given)), scale]

    np.testing.assert_allclose(run(algebra, place, 1.0), run("numpy", place, 1.0), atol=10 * ROUND_OFF)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (1, 1, 1), (-1, 1e-9, 0)])
def test_any_axis_has_a_frame(axis):
    from dalembert.joints.base import axis_frame

    R = axis_frame(NUMPY, np.array(axis, dtype=float), np.array(axis, dtype=float))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=ROUND_OFF)
    assert np.linalg.det(R) == pytest.approx(1)
    np.testing.assert_allclose(R[:, 2], np.array(axis) / np.linalg.norm(axis), atol=ROUND_OFF)


def test_random_quaternions_are_unit():
    for kind in JOINTS:
        joint = example(kind)
        for q, _, _ in states(joint):
            for at in quaternions(joint):
                assert q[at] @ q[at] == pytest.approx(1.0)
                assert quaternion.normalize(NUMPY, q[at]) == pytest.approx(q[at])
