"""Files: suffixes, folders, line numbers, sub-models in files of their own."""

# ruff: noqa: E501  (tables read best on long lines)
from __future__ import annotations

import os
import textwrap

import pytest
from support.effort import effort

from dalembert import io
from dalembert.errors import DalembertError, ModelError
from dalembert.io.yaml_data import scalar
from dalembert.model import Model

WHEEL = """\
name: wheel
parameters: {r: 1.0}
bodies:
  - {name: rim, mass: r}
joints:
  - {name: axle, kind: revolute, bodies: [ground, rim], point: [0, 0, 0], axis: y}
"""
CAR = """\
name: car
bodies:
  - {name: chassis, mass: 1}
submodels:
  - {name: left, base: chassis, file: parts/wheel.yaml, parameters: {r: 0.5}}
  - {name: right, base: chassis, file: parts/wheel.yaml}
"""


def failing(function, *arguments):
    with pytest.raises(ModelError) as error:
        function(*arguments)
    return error.value


def places(problems):
    """Line and path of each."""
    return {(problem.where, problem.path) for problem in problems}


@pytest.fixture
def car(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "wheel.yaml").write_text(WHEEL)
    (tmp_path / "car.yaml").write_text(CAR)
    return tmp_path


def test_missing_file_names_its_neighbors(car):
    (problem,) = failing(io.read, car / "cra.yaml").problems
    assert problem.fix == "did you mean car.yaml?"
    assert "no folder" in failing(io.read, car / "nix" / "a.yaml").problems[0].fix


def test_folder_suffix_and_special_files(car):
    assert "is a folder" in str(failing(io.read, car))
    (car / "a.txt").write_text("name: a")
    assert ".urdf, .xml, .yaml, .yml" in str(failing(io.read, car / "a.txt"))
    os.mkfifo(car / "pipe.yaml")
    assert "not a plain file" in str(failing(io.read, car / "pipe.yaml"))
    assert "cannot be written" in str(failing(io.write, Model("m"), car / "a.txt"))
    assert "cannot write" in str(failing(io.write, Model("m"), car / "nix" / "a.yaml"))
    with pytest.raises(DalembertError, match="path must be the path of a file"):
        io.read("a\0.yaml")


def test_registered_readers_are_used(car, monkeypatch):
    monkeypatch.setattr("dalembert.io.files.READERS", dict(io.READERS))
    io.register(".xyz", reader=lambda path: Model(path.stem))
    (car / "one.XYZ").write_text("")
    assert io.read(car / "one.XYZ").name == "one"


def test_every_problem_has_its_line(tmp_path):
    text = textwrap.dedent("""\
        name: robot
        bodies:
          - name: arm
            mass: -1
        joints:
          - name: knee
            kind: revolute
            bodies: [ground, arm]
            point: [0, 0, 0]
            axis: [0, 0, 0]
          - name: hip
            kind: revolute
            bodies: [ground,
                     amr]
            point: [0, 0, 0]
            axes: [0, 0, 1]
        constraints:
          - {name: d, kind: drive, joint: nee, motion: t}
        frces: []
        """)
    (tmp_path / "robot.yaml").write_text(text)
    found = failing(io.read, tmp_path / "robot.yaml").problems
    assert places(found) == {
        ("robot.yaml:4", "bodies[0].mass"),
        ("robot.yaml:10", "joints[0].axis"),
        ("robot.yaml:16", "joints[1].axes"),
        ("robot.yaml:18", "constraints[0].joint"),
        ("robot.yaml:19", "frces"),
    }
    knee = next(p for p in found if p.path == "joints[0].axis")
    assert str(knee) == (
        "joint 'knee': axis must not be zero, got [0, 0, 0].\n    at robot.yaml:10, joints[0].axis\n"
        "    Fix: e.g. axis: [0, 0, 1]"
    )


def test_models_remember_their_lines(car):
    model = io.read(car / "car.yaml")
    assert model.sources["bodies[0]"] == "car.yaml:3"
    assert model.submodels[0].model.sources["joints[0]"] == "parts/wheel.yaml:6"


def test_submodels_in_files(car):
    model = io.read(car / "car.yaml")
    assert [sub.model.name for sub in model.submodels] == ["wheel", "wheel"]
    assert io.loads(io.dumps(model)) == model


def test_problems_in_a_submodel_file(car):
    (car / "parts" / "wheel.yaml").write_text(
        WHEEL.replace("axis: y", "axis: [0, 0, 0]").replace("rim, mass: r", "rim, mas: r")
    )
    assert places(failing(io.read, car / "car.yaml").problems) == {
        ("parts/wheel.yaml:4", "submodels[0].model.bodies[0].mas"),
        ("parts/wheel.yaml:4", "submodels[1].model.bodies[0].mas"),
        ("parts/wheel.yaml:6", "submodels[0].model.joints[0].axis"),
        ("parts/wheel.yaml:6", "submodels[1].model.joints[0].axis"),
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("../../etc/passwd", "outside the folder"),
        ("/etc/passwd", "must be relative"),
        ("parts/../../secret.yaml", "outside the folder"),
        ("link.yaml", "outside the folder"),
        ("C:\\\\secret.yaml", "must be relative"),
        ("~/secret.yaml", "must be relative"),
        ("parts", "must be a YAML file"),
        ("nix.yaml", "no file 'nix.yaml'"),
        ("car.yaml", "contains itself: car.yaml → car.yaml"),
        ("parts/loop.yaml", "contains itself: car.yaml → loop.yaml → car.yaml"),
        ("", "must be the name"),
        ("x" * 5000 + ".yaml", "xxx"),
    ],
)
def test_submodel_files_that_are_refused(car, given: str, words: str):
    secret = car.parent / f"{car.name}-secret.yaml"
    secret.write_text(WHEEL)
    (car / "link.yaml").symlink_to(secret)
    (car / "parts" / "loop.yaml").write_text("name: loop\nsubmodels:\n  - {name: car, file: ../car.yaml}\n")
    (car / "car.yaml").write_text(
        f'name: car\nbodies:\n  - {{name: b, mass: 1}}\nsubmodels:\n  - {{name: s, file: "{given}"}}\n'
    )
    (problem,) = failing(io.read, car / "car.yaml").problems
    assert words in problem.message
    assert problem.where
    assert "passwd" not in problem.message or "root:" not in problem.message


def test_file_and_model_exclude_each_other_and_texts_have_no_folder(car):
    text = CAR.replace("parts/wheel.yaml, parameters: {r: 0.5}", "parts/wheel.yaml, model: {name: w}")
    (car / "car.yaml").write_text(text)
    assert "not both" in str(failing(io.read, car / "car.yaml"))
    assert "no folder" in str(failing(io.loads, CAR))


@pytest.mark.parametrize("depth", [8, 30])
def test_a_tree_of_files_cannot_explode(tmp_path, depth: int):
    for level in range(depth):
        subs = "".join(f"  - {{name: s{i}, file: m{level + 1}.yaml}}\n" for i in range(3))
        (tmp_path / f"m{level}.yaml").write_text(f"name: m\nbodies: [{{name: b, mass: 1}}]\nsubmodels:\n{subs}")
    (tmp_path / f"m{depth}.yaml").write_text(WHEEL)
    with effort() as spent:
        (problem,) = failing(io.read, tmp_path / "m0.yaml").problems
    assert ("nested deeper" if depth == 30 else "more than 1000 sub-models") in problem.message
    assert spent.calls < 10_000_000  # each of a thousand files has its own


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("on", "on"), ("true", True), ("FALSE", False), ("~", None), ("", None), ("007", 7), ("0o17", 15),
        ("0x1f", 31), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("-1", -1), ("1_000", "1_000"), ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"), ("a", "a"),
    ],
)  # fmt: skip
def test_scalars_of_yaml_1_2(text: str, value: object):
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_empty_sections_are_fine():
    assert io.loads("name: a\nbodies:\n  - name: b\nforces:\ninitial:\n").bodies[0].name == "b"
