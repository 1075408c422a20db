"""MJCF: elements that need no peer to be checked, and what is left out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from io_robots.mjcf_models import MODELS, MUJOCO_CONSTRAINED, mujoco

import dalembert as da
from dalembert.io import dumps, loads, loads_robot
from dalembert.model import Model

ARM = '<body name="a"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>'


def read(text: str, **options) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ReadWarning)
        return loads_robot(text, "m.xml", **options)


def problems(text: str, **options) -> str:
    with pytest.raises(da.ModelError) as error:
        read(text, **options)
    return str(error.value)


@pytest.mark.parametrize("name", [*MODELS, *MUJOCO_CONSTRAINED])
def test_every_model_is_valid_and_round_trips_through_yaml(name):
    model = read({**MODELS, **MUJOCO_CONSTRAINED}[name])
    model.validate()
    assert loads(dumps(model)) == model


def test_several_joints_make_a_chain_of_massless_bodies():
    model = read(MODELS["several joints in one body"])
    masses = {body.name: float(body.mass) for body in model.bodies}
    assert [name for name, mass in masses.items() if mass == 0] == [
        "torso rootx", "torso rootz", "body 2 body 2 joint 1", "body 2 body 2 joint 2",
    ]  # fmt: skip
    kinds = {joint.name: joint.kind for joint in model.joints}
    assert [kinds[name] for name in ("rootx", "rootz", "rooty")] == ["prismatic", "prismatic", "revolute"]
    # As drawn, the coordinate is ref.
    np.testing.assert_allclose(da.assemble(model).joint("rootz")[0], 1.3)


def test_motors_have_a_control_that_is_zero_at_first():
    model = read(mujoco(ARM, tail='<actuator><motor name="my motor" joint="j" gear="10"/></actuator>'))
    assert model.parameter_values == {"ctrl_my_motor": 0.0}
    dynamics = da.compile(model)
    tau = [dynamics.inverse([0.1], [0.2], [0.3], parameters={"ctrl_my_motor": c})[0] for c in (0.0, 2.0)]
    np.testing.assert_allclose(tau[0] - tau[1], 20.0)


def test_equality_of_joints_is_linear_or_a_formula():
    model = read(MUJOCO_CONSTRAINED["joint"])
    assert [constraint.kind for constraint in model.constraints] == ["coupler", "equation"]
    state = da.assemble(model, {"k": 0.4})
    x = 0.4 - 0.2
    np.testing.assert_allclose(state.joint("j")[0], np.pi / 6 + 3 * x, atol=1e-10)
    np.testing.assert_allclose(state.joint("l")[0], 0.5 * x + 2 * x**2 + x**3, atol=1e-10)
    alone = read(mujoco(ARM, tail='<equality><joint joint1="j" polycoef=".2 0 0 0 0"/></equality>'))
    np.testing.assert_allclose(da.assemble(alone).joint("j")[0], 0.2, atol=1e-10)


def test_loops_move_and_stay_closed():
    run = da.simulate(read(MUJOCO_CONSTRAINED["connect"]), 0.5)
    assert run.certificate.trusted


def test_a_weld_with_a_given_pose():
    bodies = "".join(f'<body name="{name}"><freejoint/><geom size=".1"/></body>' for name in "ab")
    weld = '<equality><weld body1="a" body2="b" relpose="1 0 0 1 0 0 0"/></equality>'
    state = da.assemble(read(mujoco(bodies, tail=weld)))
    np.testing.assert_allclose(state.body("b")[0].p - state.body("a")[0].p, [1, 0, 0], atol=1e-9)


def test_keyframes_by_name_and_number():
    keys = '<keyframe><key qpos=".1"/><key name="home" qpos=".2" qvel=".3"/></keyframe>'
    assert [float(x) for x in read(mujoco(ARM, tail=keys)).initial_values["j"]] == [0.1]
    for key in ("home", 1):
        model = read(mujoco(ARM, tail=keys), keyframe=key)
        assert float(model.initial_values["j"][0]) == 0.2
        assert float(model.initial_rates["j"][0]) == 0.3
    assert "there is no keyframe 'none'" in problems(mujoco(ARM, tail=keys), keyframe="none")
    assert "qpos: expected 1 numbers, got 2" in problems(mujoco(ARM, tail='<keyframe><key qpos="1 2"/></keyframe>'))


def test_a_keyframe_off_the_constraints_is_not_used():
    equality = '<equality><joint joint1="j" polycoef=".2 0 0 0 0"/></equality>'
    model = read(mujoco(ARM, tail=f'{equality}<keyframe><key name="k" qpos=".1"/></keyframe>'))
    assert not model.initial_values
    assert any("keyframe not used" in note and "0.1" in note for note in model.notes)


def test_a_keyframe_beside_limits():
    """Rows that are open at the start have a switch of their own."""
    tail = '<keyframe><key name="k" qpos=".1"/></keyframe>'
    model = read(mujoco(ARM.replace('name="j"', 'name="j" range="-90 90"'), tail=tail), limits=True)
    assert [constraint.kind for constraint in model.constraints] == ["limit"]
    assert [*model.initial_values.values()] == [(0.1,)]


def test_sites_and_bodies_without_joints_keep_their_names():
    inside = '<site name="tip" pos="1 2 3"/><body name="r" pos="0 1 0"/>'
    model = read(mujoco(f'<body name="a"><joint name="j"/><geom size=".1"/>{inside}</body>'))
    frames = {shape.name: shape for shape in model.bodies[0].shapes if shape.kind == "frame"}
    assert [float(x) for x in frames["tip"].pose.position] == [1, 2, 3]
    assert [float(x) for x in frames["r"].pose.position] == [0, 1, 0]


def test_materials_and_groups():
    head = '<asset><material name="red" rgba="1 0 0 1"/></asset>'
    body = """<body name="a"><joint/><geom type="box" size="1 2 3" material="red"/><geom size="1" rgba="0 1 0 .5"/>
      <geom type="capsule" size=".1 .2" group="3"/></body><geom type="box" size="1 1 .1" pos="0 0 -1"/>"""
    model = read(mujoco(body, head))
    assert [(s.kind, s.color, s.opacity) for s in model.bodies[0].shapes] == [
        ("box", "#ff0000", 1.0), ("sphere", "#00ff00", 0.5),
    ]  # fmt: skip
    assert [float(x) for x in model.bodies[0].shapes[0].size] == [2, 4, 6]
    assert [shape.kind for shape in model.ground_shapes] == ["box"]


def test_mesh_files(tmp_path):
    (tmp_path / "meshes").mkdir()
    corners, faces = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(1, 3, 2), (1, 2, 4), (2, 3, 4), (1, 4, 3)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a}/1/1 {b} {c}" for a, b, c in faces]
    (tmp_path / "meshes" / "tetra.obj").write_text("\n".join(lines))
    head = '<compiler meshdir="meshes"/><asset><mesh file="tetra.obj" scale="2 2 2"/></asset>'
    file = tmp_path / "m.xml"
    file.write_text(mujoco('<body name="a"><joint name="j"/><geom type="mesh" mesh="tetra" density="6"/></body>', head))
    with pytest.warns(da.ReadWarning):
        model = da.read(file)
    np.testing.assert_allclose(float(model.bodies[0].mass), 8.0)
    np.testing.assert_allclose([float(x) for x in model.bodies[0].com], 0.5)
    assert model.bodies[0].shapes[0].kind == "mesh"


def test_a_mesh_needs_no_mass_where_an_inertial_is_given():
    head = '<asset><mesh name="m" file="nowhere.stl"/></asset>'
    geom, inertial = '<geom type="mesh" mesh="m"/>', '<inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>'
    model = read(mujoco(f'<body name="a"><joint/>{geom}{inertial}</body>', head))
    assert float(model.bodies[0].mass) == 2
    assert any("meshes not found" in note and "nowhere.stl" in note for note in model.notes)
    assert "the mass of this mesh cannot be computed" in problems(mujoco(f'<body name="a"><joint/>{geom}</body>', head))


def test_included_files(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    file = tmp_path / "m.xml"
    file.write_text(mujoco('<include file="parts/arm.xml"/>'))
    with pytest.warns(da.ReadWarning):
        assert [body.name for body in da.read(file).bodies] == ["a"]
    (tmp_path / "outside.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    inner = tmp_path / "parts" / "m.xml"
    for include, words in (
        ("../outside.xml", "lies outside the folder"),
        ("/etc/passwd", "lies outside the folder"),
        ("none.xml", "there is no file 'none.xml'"),
        ("m.xml", "includes itself"),
    ):
        inner.write_text(mujoco(f'<include file="{include}"/>'))
        with pytest.raises(da.ModelError, match=words):
            da.read(inner)


def test_everything_left_out_is_reported_once():
    body = """<light pos="0 0 1"/><geom type="plane" size="1 1 1" name="floor"/>
      <body name="a"><joint name="j" range="-10 10" frictionloss=".3" user="1"/><geom size=".1" friction="2"/>
        <joint name="b" type="ball" stiffness="3"/><camera name="eye"/></body>"""
    tail = """<tendon/><sensor/><contact/>
      <equality><tendon name="t" tendon1="x"/><weld name="off" body1="a" active="false"/></equality>
      <actuator><muscle name="m" joint="j"/><motor name="n" tendon="x"/></actuator>"""
    with pytest.warns(da.ReadWarning) as caught:
        model = loads_robot(mujoco(body, '<option timestep="0.001" viscosity="1"/>', tail))
    assert len(caught) == 1
    for words in (
        "option attributes not read: timestep, viscosity",
        "elements of mujoco not read: tendon, sensor, contact",
        "elements of bodies not read: light, camera",
        "geoms that are not drawn: floor",
        "joint limits are not part of the model; joints: j",
        "joint friction (frictionloss) is not part of the model; joints: j",
        "stiffness of ball and free joints is not part of the model; joints: b",
        "equality constraints not read: tendon 't'",
        "equality constraints that are not active are left out: weld 'off'",
        "actuators not read: m, n",
        "contact between geoms is not part of the model",
    ):
        assert words in model.notes, (words, model.notes)


def test_what_would_change_the_mechanics_is_refused_all_at_once():
    body = """
      <body name="a"><joint name="j" type="screw"/><geom type="mesh" mesh="none"/>
        <composite type="cable"/><freejoint/></body>
      <body name="a"><joint axis="0 0 0"/><geom size="-1"/><geom type="donut"/></body>
      <body name="c"><joint class="none"/><geom size=".1" quat="1 0 0 0" euler="0 0 0"/>
        <geom size=".1" quat="0 0 0 0" shellinertia="true"/></body>"""
    tail = '<equality><connect body1="c" body2="d" anchor="0 0 0"/><joint joint1="x"/></equality>'
    text = problems(mujoco(body, '<compiler coordinate="global" angle="gon"/>', tail))
    for words in (
        "joint 'j': unknown type 'screw'",
        "unknown mesh 'none'",
        "composite is not supported",
        "a free joint must be alone in a body of the world",
        "body 'a': the name is used twice",
        "unknown default class 'none'",
        "give one of quat, euler, not several",
        "quat has no direction",
        "shellinertia is not supported",
        "connect: unknown body 'd'",
        "global coordinates are not supported",
        "angle must be one of degree, radian",
    ):
        assert words in text, words
    assert "m.xml:3" in text
