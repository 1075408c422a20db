"""The same mechanism described in other frames, and inside other models, moves the same."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

SAME = 1e-8  # m; two runs of the default integrator on equal equations
INERTIA = (0.01, 0.1, 0.1)


def in_world() -> da.Model:
    model = da.Model("arm")
    k = model.parameters(k=7.0)
    upper = model.body("upper", mass=2, com=(0.5, 0, 0), inertia=INERTIA)
    lower = model.body("lower", mass=1, com=(1.5, 0, 0.1), inertia=INERTIA)
    model.revolute("shoulder", model.ground, upper, point=(0, 0, 0), axis="y")
    model.revolute("elbow", upper, lower, point=(1, 0, 0), axis=(0, 1, 1))
    model.spring("spring", model.ground, lower, at=((0, 0, 1), (1.5, 0, 0.1)), stiffness=k, length=0.5)
    model.torsional_spring("brake", "elbow", stiffness=1, damping=0.2)
    model.output("tip", "z(lower)")
    return model


def in_bodies() -> da.Model:
    """Everything in the frames of the bodies."""
    turn = {"rpy": (0.3, -0.2, 0.5)}
    R = np.array(da.Placement(position=(0, 0, 0), **turn).pose(_numpy(), float).R)
    model = da.Model("arm")
    k = model.parameters(k=7.0)
    I = np.diag(INERTIA)
    upper = model.body("upper", mass=2, com=(0, 0, 0), inertia=I, pose=(0.5, 0, 0), frame="body")
    lower = model.body(
        "lower",
        mass=1,
        com=(0, 0, 0),
        inertia=_symmetric(R.T @ I @ R),
        pose={"position": (1.5, 0, 0.1), **turn},
        frame="body",
    )
    model.revolute("shoulder", model.ground, upper, point=(-0.5, 0, 0), axis="y", frame="upper")
    model.revolute("elbow", upper, lower, point=R.T @ (-0.5, 0, -0.1), axis=R.T @ (0, 1, 1), frame="lower")
    model.spring("spring", model.ground, lower, at=((0, 0, 1), (0, 0, 0)), stiffness=k, length=0.5, frame="body")
    model.torsional_spring("brake", "elbow", stiffness=1, damping=0.2)
    model.output("tip", "z(lower)")
    return model


def with_joint_frames() -> da.Model:
    """Joints by one frame on each body; axes of both along z."""
    model = in_world()
    about_y = {"rotation": ((0, 1, 0), (0, 0, 1), (1, 0, 0))}
    model.joints[0] = _checked(
        model,
        "shoulder",
        ("ground", "upper"),
        {"position": (0, 0, 0), **about_y},
        {"position": (-0.5, 0, 0), **about_y},
    )
    return model


def _checked(model, name, bodies, frame_1, frame_2):
    other = da.Model("other")
    return other.joint("revolute", name, *bodies, frame_1=frame_1, frame_2=frame_2)


def _numpy():
    from dalembert.algebra import NUMPY

    return NUMPY


def _symmetric(A):
    return (A + A.T) / 2


@pytest.fixture(scope="module")
def reference():
    return da.simulate(in_world(), 1.0)


@pytest.mark.parametrize("build", [in_bodies, with_joint_frames])
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_other_frames_same_motion(build, coordinates, reference):
    run = da.simulate(build(), 1.0, coordinates=coordinates)
    assert run.certificate.trusted
    for body in ("upper", "lower"):
        np.testing.assert_allclose(run.body(body).position, reference.body(body).position, atol=SAME)
    np.testing.assert_allclose(run.output("tip"), reference.output("tip"), atol=SAME)
    np.testing.assert_allclose(run.energy.potential, reference.energy.potential, atol=1e-6)


def test_a_sub_model_moves_as_on_its_own(reference):
    whole = da.Model("whole", gravity=(0, 9.81, 0))
    whole.parameters(stiff=7.0)
    # Turned by −90° about x: the arm's z, against gravity, is −y of the whole.
    whole.add(in_world(), "left", pose={"position": (3, 1, 2), "rpy": ("pi/2", 0, 0)}, parameters={"k": "stiff"})
    whole.add(in_world(), "right", pose={"position": (-3, 0, 0), "rpy": ("pi/2", 0, 0)})
    run = da.simulate(whole, 1.0)
    assert run.certificate.trusted
    assert set(run.dynamics.flat.parameters) == {"stiff", "right.k"}
    x, y, z = (reference.body("lower").position.sel(axis=axis) for axis in "xyz")
    for name, (a, b, c) in (("left", (3, 1, 2)), ("right", (-3, 0, 0))):
        moved = run.body(f"{name}.lower").position
        np.testing.assert_allclose(moved.sel(axis="x"), a + x, atol=SAME)
        np.testing.assert_allclose(moved.sel(axis="y"), b - z, atol=SAME)
        np.testing.assert_allclose(moved.sel(axis="z"), c + y, atol=SAME)
    assert "left.tip" in run.data.output.values


def test_a_sub_model_rides_on_a_body():
    """An arm on a cart equals the same arm drawn together with the cart."""

    def cart(model):
        body = model.body("cart", mass=5, com=(0, 0, 0), inertia=(1, 1, 1))
        model.prismatic("rail", model.ground, body, point=(0, 0, 0), axis="x")
        return body

    arm = da.Model("arm")
    rod = arm.body("rod", mass=1, com=(0.5, 0, 0), inertia=INERTIA)
    arm.revolute("pin", arm.ground, rod, point=(0, 0, 0), axis="y")
    split = da.Model("split")
    split.add(arm, "arm", base=cart(split), pose=(0.2, 0, 0.3))
    whole = da.Model("whole")
    on = cart(whole)
    rod = whole.body("rod", mass=1, com=(0.7, 0, 0.3), inertia=INERTIA)
    whole.revolute("pin", on, rod, point=(0.2, 0, 0.3), axis="y")
    one, two = da.simulate(split, 1.0), da.simulate(whole, 1.0)
    np.testing.assert_allclose(one.body("arm.rod").position, two.body("rod").position, atol=SAME)
    np.testing.assert_allclose(one.joint("rail").q, two.joint("rail").q, atol=SAME)
