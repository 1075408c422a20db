"""URDF: every element of the format, in small files written by hand."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.coordinates import Relative
from dalembert.equations import Equations
from dalembert.io import dumps, loads, loads_robot
from dalembert.model import Mechanism, Model, flatten

SAME = 1e-12
ROD = '<inertial><origin xyz="0 0 0.5"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


def robot(*parts: str) -> str:
    return '<robot name="r" xmlns:drake="http://drake.mit.edu">\n' + "\n".join(parts) + "\n</robot>"


def link(name: str, inside: str = ROD) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "", tag: str = "joint") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<{tag} name="{name}" type="{kind}">{ends}{inside}</{tag}>'


def read(text: str, **options) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ReadWarning)
        return loads_robot(text, "r.urdf", **options)


def pose_at(model: Model, body: str, **q) -> tuple[np.ndarray, np.ndarray]:
    """World pose of a body at joint coordinates."""
    coordinates = Relative(flatten(model))
    at = coordinates.neutral()
    for slot in coordinates.slots:
        if slot.joint in q:
            at[slot.q] = q[slot.joint]
    tree = coordinates.place(NUMPY, model.parameter_values)
    X = Equations(tree, 0.0, at, np.zeros(coordinates.nv)).motion.body(body)[0]
    return X.R, X.p


def problems(text: str, **options) -> str:
    with pytest.raises(da.ModelError) as error:
        read(text, **options)
    return str(error.value)


def rotation(axis, angle: float) -> np.ndarray:
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


# Links and joints


def test_origins_axes_and_signs_of_joints():
    origin = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    X = rotation((0, 0, 1), 0.3) @ rotation((0, 1, 0), 0.2) @ rotation((1, 0, 0), 0.1)
    axes = {"default": ((1, 0, 0), ""), "given": ((-1, 2, 0.5), '<axis xyz="-1 2 0.5"/>')}
    for axis, element in axes.values():
        for kind in ("revolute", "continuous"):
            model = read(robot(link("a"), link("b"), joint("j", kind, "a", "b", origin + element)))
            R, p = pose_at(model, "b", j=0.7)
            np.testing.assert_allclose(R, X @ rotation(axis, 0.7), atol=SAME)
            np.testing.assert_allclose(p, [1, 2, 3], atol=SAME)
        model = read(robot(link("a"), link("b"), joint("j", "prismatic", "a", "b", origin + element)))
        R, p = pose_at(model, "b", j=0.7)
        np.testing.assert_allclose(R, X, atol=SAME)
        np.testing.assert_allclose(p, np.array([1, 2, 3]) + X @ np.array(axis) / np.linalg.norm(axis) * 0.7, atol=SAME)


def test_planar_and_floating_joints():
    model = read(robot(link("a"), link("b"), joint("j", "planar", "a", "b", '<axis xyz="0 0 1"/>')))
    R, p = pose_at(model, "b", j=(0.1, 0.2, 0.3))
    np.testing.assert_allclose(R, rotation((0, 0, 1), 0.3), atol=SAME)
    np.testing.assert_allclose(p, [0.1, 0.2, 0], atol=SAME)
    model = read(robot(link("a"), link("b"), joint("j", "floating", "a", "b", '<origin xyz="1 0 0"/>')))
    assert model.joints[0].kind == "free"
    np.testing.assert_allclose(pose_at(model, "b", j=(1, 0, 0, 0, 1, 2, 3))[1], [2, 2, 3], atol=SAME)


def test_the_body_frame_is_the_link_frame_and_inertia_is_turned():
    inertial = """<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>
        <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>"""
    model = read(robot(link("a"), link("b", inertial), joint("j", "revolute", "a", "b")))
    inertia = Mechanism.nominal(flatten(model)).inertia("b")
    R = rotation((0, 0, 1), np.pi / 2)
    given = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    np.testing.assert_allclose(inertia.central, R @ given @ R.T, atol=SAME)
    np.testing.assert_allclose(inertia.com, [1, 2, 3], atol=SAME)
    assert inertia.mass == 2
    assert model.bodies[0].frame == "body"
    # Quarter turns are exact, so that compiled code can leave the zeros out.
    assert float(model.bodies[0].inertia[0]) == 2.0


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_fixed_joints_merge_without_a_change_of_dynamics(base):
    text = robot(
        link("a"), link("b"), link("c"), link("d"), link("e", ""),
        joint("ab", "revolute", "a", "b", '<axis xyz="0 1 0"/><origin xyz="1 0 0"/>'),
        joint("bc", "fixed", "b", "c", '<origin xyz="0 1 0" rpy="0.3 0.2 0.1"/>'),
        joint("cd", "revolute", "c", "d", '<axis xyz="0 0 1"/><origin xyz="0 0 1"/>'),
        joint("ce", "fixed", "c", "e", '<origin xyz="0 0 2"/>'),
    )  # fmt: skip
    M = []
    for merge in (True, False):
        model = read(text, merge_fixed=merge, base=base)
        coordinates = Relative(flatten(model))
        q = coordinates.place(NUMPY, {}).integrate(coordinates.neutral(), 0.3 * np.ones(coordinates.nv))
        equations = Equations(coordinates.place(NUMPY, {}), 0.0, q, np.ones(coordinates.nv))
        M.append((equations.mass_matrix, equations.forcing))
    np.testing.assert_allclose(M[0][0], M[1][0], atol=SAME)
    np.testing.assert_allclose(M[0][1], M[1][1], atol=1e-10)
    merged = read(text, base=base)
    names = ["b", "d"] if base == "fixed" else ["a", "b", "d"]
    assert [body.name for body in merged.bodies] == names
    shapes = {shape.name: shape for body in merged.bodies for shape in body.shapes}
    assert {"c", "e"} <= set(shapes)
    assert all(shape.opacity == 0 for shape in shapes.values())
    assert [joint.name for joint in merged.joints] == (["ab", "cd"] if base == "fixed" else ["root_joint", "ab", "cd"])
    loads(dumps(merged))


def test_a_root_called_world_is_the_ground():
    text = robot(link("world", ""), link("b"), joint("j", "revolute", "world", "b"))
    assert [body.name for body in read(text).bodies] == ["b"]
    model = read(text, merge_fixed=False)
    assert [body.name for body in model.bodies] == ["world_link", "b"]
    assert any("world → world_link" in note for note in model.notes)


def test_names_that_a_model_cannot_have_are_changed_and_told():
    model = read(robot(link("base"), link("1/arm#2"), joint("j/1", "revolute", "base", "1/arm#2")))
    assert (model.bodies[0].name, model.joints[0].name) == ("_1_arm_2", "j_1")
    assert any("1/arm#2 → _1_arm_2" in note for note in model.notes)
    model.validate()


# Forces and constraints


def test_damping_becomes_a_force_and_friction_is_reported():
    dynamics = '<dynamics damping="0.7" friction="0.1"/>'
    model = read(robot(link("a"), link("b"), joint("j", "revolute", "a", "b", dynamics)))
    forces = [(force.kind, force.joint, float(force.damping)) for force in model.forces]
    assert forces == [("torsional-spring", "j", 0.7)]
    assert any("friction" in note and "j" in note for note in model.notes)
    quiet = read(robot(link("a"), link("b"), joint("j", "revolute", "a", "b", '<dynamics damping="0" friction="0"/>')))
    assert not quiet.forces
    assert not quiet.notes


def test_a_mimic_joint_follows():
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "revolute", "a", "b"),
        joint("k", "prismatic", "b", "c", '<mimic joint="j" multiplier="-2" offset="0.3"/>'),
    )  # fmt: skip
    state = da.assemble(read(text), {"j": 0.4})
    np.testing.assert_allclose(state.joint("k")[0], -2 * 0.4 + 0.3, atol=1e-10)


def test_transmissions_give_the_reflected_inertia_of_the_rotor():
    actuator = '<actuator name="m"><drake:gear_ratio value="10"/><drake:rotor_inertia value="0.02"/></actuator>'
    transmission = f'<transmission name="t"><type>x</type><joint name="j"/>{actuator}</transmission>'
    model = read(robot(link("a"), link("b"), joint("j", "revolute", "a", "b"), transmission))
    assert float(model.joints[0].armature) == pytest.approx(2.0)


# Extensions


@pytest.mark.parametrize(
    ("kind", "ours", "forces", "more"),
    [
        ("ball", "spherical", 0, ""),
        ("universal", "universal", 2, '<dynamics damping="0.1"/>'),
        ("planar", "planar", 3, '<dynamics damping="0.1 0.2 0.3"/>'),
        ("screw", "screw", 0, '<axis xyz="0 0 1"/><drake:screw_thread_pitch value="0.05"/>'),
    ],
)
def test_joints_of_drake(kind, ours, forces, more):
    model = read(robot(link("a"), link("b"), joint("j", kind, "a", "b", more, "drake:joint")))
    assert model.joints[0].kind == ours
    assert len(model.forces) == forces
    if kind == "screw":
        np.testing.assert_allclose(pose_at(model, "b", j=2 * np.pi)[1], [0, 0, 0.05], atol=SAME)


FOUR_BAR = (
    link("base"), link("crank"), link("coupler"), link("rocker"),
    joint("A", "continuous", "base", "crank", '<axis xyz="0 1 0"/>'),
    joint("B", "continuous", "crank", "coupler", '<axis xyz="0 1 0"/><origin xyz="0 0 1"/>'),
    joint("D", "continuous", "base", "rocker", '<axis xyz="0 1 0"/><origin xyz="2 0 0"/>'),
)  # fmt: skip


@pytest.mark.parametrize(
    "loop",
    [
        """<loop_joint name="C" type="continuous"><link1 link="coupler" xyz="2 0 0" rpy="0 0 0"/>
           <link2 link="rocker" xyz="0 0 1" rpy="0 0 0"/><axis xyz="0 1 0"/></loop_joint>""",
        """<loop_joint name="C" type="spherical"><link1 link="coupler" xyz="2 0 0" rpy="0 0 0"/>
           <link2 link="rocker" xyz="0 0 1" rpy="0 0 0"/></loop_joint>""",
        """<drake:ball_constraint>
           <drake:ball_constraint_body_A name="coupler"/><drake:ball_constraint_body_B name="rocker"/>
           <drake:ball_constraint_p_AP value="2 0 0"/><drake:ball_constraint_p_BQ value="0 0 1"/>
           </drake:ball_constraint>""",
    ],
    ids=["loop_joint", "loop_joint spherical", "drake:ball_constraint"],
)
def test_loops_are_closed(loop):
    model = read(robot(*FOUR_BAR, loop))
    state = da.assemble(model, {"A": 0.3})
    # A parallelogram: the rocker follows the crank.
    np.testing.assert_allclose(state.joint("D")[0], 0.3, atol=1e-9)
    assert model.joints[-1].cut
    assert da.inspect(model).freedom == 1


def test_what_would_change_the_mechanics_is_refused():
    gazebo = '<gazebo><joint name="C" type="revolute"><parent>coupler</parent><child>rocker</child></joint></gazebo>'
    bushing = "<drake:linear_bushing_rpy/>"
    text = problems(robot(*FOUR_BAR, gazebo, bushing))
    assert "gazebo joint 'C': closes a loop" in text
    assert "drake:linear_bushing_rpy is not supported" in text


# What is left out


def test_everything_left_out_is_reported_once():
    limits = '<limit lower="-1" upper="1" effort="3" velocity="2"/><safety_controller k_velocity="1"/>'
    text = robot(
        link("a", ROD + '<collision><geometry><sphere radius="1"/></geometry></collision>'), link("b"), link("c", ""),
        joint("j", "revolute", "a", "b", limits), joint("k", "revolute", "b", "c", limits),
        '<gazebo reference="a"><mu1>1</mu1></gazebo>', '<transmission name="t"/>', "<ros2_control/>",
    )  # fmt: skip
    with pytest.warns(da.ReadWarning) as caught:
        model = loads_robot(text)
    assert len(caught) == 1
    for words in (
        "joint limits (position, velocity, effort) are not part of the model; joints: j, k",
        "safety_controller is not part of the model; joints: j, k",
        "collision geometry is not part of the model; links: a",
        "elements of gazebo not read: mu1",
        "transmissions are not part of the model: t",
        "elements of robot not read: ros2_control",
        "links without inertial, taken as massless: c",
    ):
        assert words in model.notes, words
        assert words in str(caught[0].message)
    assert loads(dumps(model)) == model
    assert not hasattr(model.to_data(), "notes")


def test_notes_hold_all_names_and_the_warning_the_first():
    links = "".join(link(f"link_number_{i}", "") for i in range(50))
    joints = "".join(joint(f"j{i}", "revolute", "link_number_0", f"link_number_{i}") for i in range(1, 50))
    with pytest.warns(da.ReadWarning) as caught:
        model = loads_robot(robot(links, joints))
    assert "link_number_49" in model.notes[0]
    assert "link_number_1, link_number_2" in str(caught[0].message)
    assert "… (all in model.notes)" in str(caught[0].message)
    assert caught[0].filename == __file__


# Drawing


def write_stl(path: Path) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4")
    record = np.zeros(3, "<f4").tobytes() + corners.tobytes() + b"\0\0"
    path.write_bytes(b"solid but binary".ljust(80) + struct.pack("<I", 1) + record)


def visual(geometry: str, more: str = "") -> str:
    return f"<visual>{more}<geometry>{geometry}</geometry></visual>"


def test_visuals_and_colors(tmp_path):
    folder = tmp_path / "my robot" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "my robot" / "meshes").mkdir()
    write_stl(tmp_path / "my robot" / "meshes" / "arm.stl")
    (tmp_path / "my robot" / "meshes" / "arm.dae").write_text("<COLLADA/>")
    drawn = "".join(
        [
            visual('<box size="1 2 3"/>', '<origin xyz="1 0 0"/><material name="red"/>'),
            visual('<cylinder radius="1" length="2"/>', '<material name=""><color rgba="0 1 0 0.5"/></material>'),
            visual('<sphere radius="1"/>'),
            visual('<mesh filename="package://my robot/meshes/arm.stl" scale="2 2 2"/>'),
            visual('<mesh filename="package://my robot/meshes/arm.dae"/>'),
            visual('<mesh filename="../meshes/arm.stl"/>'),
            visual('<mesh filename="package://nowhere/arm.stl"/>'),
            visual('<box size="0 1 1"/>'),
        ]
    )
    material = '<material name="red"><color rgba="1 0 0 1"/></material>'
    file = folder / "r.urdf"
    file.write_text(robot(material, link("a"), link("b", ROD + drawn), joint("j", "revolute", "a", "b")))
    with pytest.warns(da.ReadWarning, match="meshes not found"):
        model = da.read(file)
    shapes = model.bodies[0].shapes
    assert [shape.kind for shape in shapes] == ["box", "cylinder", "sphere", "mesh", "mesh", "mesh"]
    assert (shapes[0].color, shapes[0].opacity, shapes[1].color, shapes[1].opacity) == ("#ff0000", 1, "#00ff00", 0.5)
    assert any("arm.dae" in note for note in model.notes)
    assert any("visuals without a size: box of b" in note for note in model.notes)
    assert loads(dumps(model)) == model
    run = da.simulate(model, 0.01)
    from dalembert.view.run_scene import scene

    meshes = [shape for shape in scene(run).bodies[0].shapes if shape.kind == "mesh"]
    # The Collada file cannot be drawn; it is left out of the picture and nothing else.
    assert len(meshes) == 2
    np.testing.assert_allclose(np.ptp(np.asarray(meshes[0].vertices), axis=0), [2, 2, 0])


def test_package_dirs(tmp_path):
    (tmp_path / "packages" / "p").mkdir(parents=True)
    write_stl(tmp_path / "packages" / "p" / "a.stl")
    (tmp_path / "r").mkdir()
    file = tmp_path / "r" / "r.urdf"
    inside = ROD + visual('<mesh filename="package://p/a.stl"/>')
    file.write_text(robot(link("a"), link("b", inside), joint("j", "revolute", "a", "b")))
    with pytest.warns(da.ReadWarning, match="not found"):
        assert not da.read(file).bodies[0].shapes
    for given in (tmp_path / "packages", [str(tmp_path / "packages" / "p")]):
        model = da.read(file, package_dirs=given)
        assert len(model.bodies[0].shapes) == 1
        assert not model.notes


def test_inertias_that_no_body_has():
    bad = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="5"/></inertial>'
    text = robot(link("a"), link("b", bad), joint("j", "revolute", "a", "b"))
    with pytest.warns(da.ModelWarning, match="no rigid body has this inertia"):
        assert [float(x) for x in read(text).bodies[0].inertia][:3] == [1, 1, 5]
    model = read(text, repair_inertia=True)
    np.testing.assert_allclose([float(x) for x in model.bodies[0].inertia], [1, 1, 2], atol=1e-12)
    assert any("repaired" in note and "b" in note for note in model.notes)


def test_a_robot_simulates():
    text = robot(
        link("a"), link("b"), link("c"),
        joint("j", "continuous", "a", "b", '<axis xyz="0 1 0"/>'),
        joint("k", "continuous", "b", "c", '<axis xyz="0 1 0"/><origin xyz="0 0 1"/><dynamics damping="0.1"/>'),
    )  # fmt: skip
    run = da.simulate(read(text), 1.0, initial={"j": 0.5})
    assert run.certificate.trusted
