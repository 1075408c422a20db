"""What a planar mechanism says and refuses, in Python and in files."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest
from planar_cases import CASES

import dalembert as da
from dalembert import io
from dalembert.planar.planar_document import PlanarDocument


def bar(**fields) -> da.Planar:
    w = da.Planar("bar")
    w.base(O=(0, 0))
    w.body("bar", **{"O": (0, 0), "P": (1, 0), "mass": 1, "inertia": 0.1, **fields})
    return w


# Handles


def test_nodes_bodies_and_joints_are_handles():
    w = bar()
    body = w.bodies[0]
    joint = w.revolute("O", w.base.O, body.O, torque="-0.1*O.omega")
    assert str(body.P) == body.P.name == "bar.P"
    assert [str(s) for s in (body.P.x, body.P.vy, body.angle, joint.omega)] == [
        "bar.P.x",
        "bar.P.vy",
        "bar.angle",
        "O.omega",
    ]
    assert joint.nodes == ("base.O", "bar.O")
    w.constraint("c", body.P.y - body.P.x**2)
    assert str(w.constraints[0].formula) == "-bar.P.x**2 + bar.P.y"
    with pytest.raises(AttributeError, match="body 'bar' has no node 'Q'; it has O, P"):
        _ = body.Q
    with pytest.raises(AttributeError, match="the base has no node 'X'; it has O"):
        _ = w.base.X


def test_a_new_name_as_a_force_is_an_input():
    w = bar(torque="u2")
    w.parameters(k=3.0)
    w.revolute("O", "base.O", "bar.O", torque="u1")
    w.force("push", "bar.P", ("u3", "-k*bar.P.y"))
    assert w.inputs == ("u2", "u1", "u3")
    assert w.to_model().parameter_values == {"k": 3.0, "u1": 0.0, "u2": 0.0, "u3": 0.0}


def test_center_of_mass():
    """Halfway, at a node, or by (γ, ρ):  p₁ + γ d + ρ ẑ × d."""
    for com, place in ((None, (0.5, 0, 0)), ("P", (1, 0, 0)), ((0.25, 0.5), (0.25, 0.5, 0))):
        found = bar(com=com).to_model().bodies[0].com
        assert tuple(map(float, found)) == pytest.approx(place)


def test_copies():
    w = da.library.whitworth()
    w.to_model()
    for other in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w)):
        assert other == w
        other.base(X=(1, 1))
        assert str(other.base.X) == "base.X"
        assert other != w


# Mistakes


def _says(w: da.Planar, *words: str) -> None:
    with pytest.raises(da.ModelError) as caught:
        w.validate()
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.revolute("A", "base.O", "bar.Q"), ["joint 'A': body 'bar' has no node 'Q'", "one of O, P"]),
        (lambda w: w.revolute("A", "base.O", "bra.O"), ["joint 'A': unknown body 'bra'", "did you mean bar?"]),
        (lambda w: w.revolute("A", "base.O", "bar.P"), ["drawn at one place", "base.O at (0, 0)", "bar.P at (1, 0)"]),
        (lambda w: w.revolute("A", "bar.P", "bar.O"), ["must connect two different bodies, got 'bar' twice"]),
        (
            lambda w: (w.revolute("A", "base.O", "bar.O"), w.spring("K", "bar.O", "base.O")),
            ["spring 'K': its nodes are pinned together"],
        ),
        (lambda w: w.spring("K", "bar.P", "bar.O"), ["spring 'K' must connect two different bodies, got 'bar' twice"]),
        (lambda w: w.revolute("bar", "base.O", "bar.O"), ["joint 'bar': the name is used twice, a body has it"]),
        (lambda w: w.revolute("base", "base.O", "bar.O"), ["joint 'base': the name is taken"]),
        (lambda w: w.revolute("A", "base.O", "bar.O", torque="-c*A.omega"), ["torque: unknown name 'c'"]),
        (lambda w: w.revolute("A", "base.O", "bar.O", torque="q(A)"), ["belong to models"]),
        (lambda w: w.prismatic("A", "base", "bar", axis=(0, 0)), ["axis must not be zero"]),
        (lambda w: w.prismatic("A", "bar", "base", axis="x"), ["the base cannot slide"]),
        (lambda w: w.body("b", P=(0, 0), mass=-1), ["body 'b': mass must not be negative, got -1"]),
        (lambda w: w.body("b", P=("a", 0)), ["body 'b': node 'P' may name parameters only, it names a"]),
        (lambda w: w.body("b", P=(0, 0), Q=(0, 0)), ["first two nodes 'P' and 'Q' are drawn at the same place"]),
        (lambda w: w.body("b", P=(0, 0), com="Q"), ["body 'b': com: unknown node 'Q'"]),
        (lambda w: w.body("bar", R=(2, 0)), ["body 'bar': the name is used twice, a body has it"]),
        (lambda w: w.body("b", P=(0, 0), com=(0.5, 0)), ["com as (γ, ρ) needs two nodes"]),
        (lambda w: w.constraint("c", "bar.P.vx"), ["at position level it may not name the velocity 'bar.P.vx'"]),
        (lambda w: w.constraint("c", "bar.omega**2", "velocity"), ["constraint 'c' must be linear in velocities"]),
        (lambda w: w.quasi_velocity("p", "p + bar.omega"), ["quasi-velocity 'p' names itself"]),
        (lambda w: w.quasi_velocity("p", "bar.omega", inertia=-1), ["inertia must not be negative"]),
        (lambda w: w.coordinate("s", "bar.omega*bar.P.vx"), ["coordinate 's': rate must be linear in velocities"]),
        (lambda w: w.rolling_on_line("r", "bar.P", -1), ["a radius must be positive, got -1"]),
        (lambda w: w.rolling_on_disc("r", "bar.O", "base.O", (1, 1)), ["drawn 0 m apart, contact needs 2 m"]),
        (lambda w: w.initial("A", 1), ["initial: unknown joint 'A'"]),
        (lambda w: w.parameters(t=1), ["a parameter cannot be called 't'"]),
        (lambda w: w.output("o", "bar.R.x"), ["output 'o': unknown name 'bar.R.x'"]),
    ],
)  # fmt: skip
def test_mistakes_are_explained(change, words):
    w = bar()
    change(w)
    _says(w, *words)


def test_slots_need_a_direction_and_the_pin_on_it():
    w = bar()
    w.body("pin", c=(0.5, 0.2))
    w.pin_in_slot("slot", "bar", "pin.c")
    _says(w, "joint 'slot': the pin pin.c is drawn 0.2 m beside the line of 'O' and 'P'", "give axis")
    w = bar()
    w.body("block", c=(0.5, 0))
    w.pin_in_slot("slot", "block", "bar.P")
    _says(w, "'block' has one node, which gives the slot no direction")


def test_all_mistakes_at_once_with_their_lines():
    w = bar(mass=-1)
    w.revolute("A", "base.O", "bar.P")
    w.revolute("A", "base.N", "bar.P")
    with pytest.raises(da.ModelError) as caught:
        w.to_model()
    assert len(caught.value.problems) == 3
    assert all("test_planar_description.py:" in problem.where for problem in caught.value.problems)


def test_too_many_initial_values_of_a_loop():
    w = CASES["four-bar"]()
    for joint in "ABCD":
        w.initial(joint, 0.0)
    with pytest.raises(da.ModelError, match="too many joints of one loop have initial values"):
        w.to_model()


@pytest.mark.parametrize("name", ["", "2nd", "a b", "a.b", "lambda", "d", "dd"])
def test_bad_names(name):
    with pytest.raises(da.ModelError, match="name"):
        da.Planar("x").body(name, O=(0, 0))


@pytest.mark.parametrize("node", ["mass", "angle", "omega", "d"])
def test_bad_names_of_nodes(node):
    with pytest.raises(da.ModelError, match=r"cannot be called|derivative"):
        da.Planar("x").body("b", nodes={node: (0, 0)})


def test_motion_that_cannot_be():
    w = da.library.whitworth()
    for motion, words in (
        ({"crank.angel": "t"}, "unknown quantity 'crank.angel'.*did you mean crank.angle"),
        ({"crank.angle": "w*t"}, "unknown w"),
        ({}, "no motion is given"),
        ({"guide.slide": "5*t"}, "cannot be reached"),
    ):
        with pytest.raises(da.DalembertError, match=words):
            da.inverse_dynamics(w, motion, [0.0, 1.0])
    with pytest.raises(da.DalembertError, match="unknown 'u9'"):
        da.inverse_dynamics(w, {"crank.angle": "t"}, [0.0], unknowns=["u9"])
    with pytest.raises(da.ModelError, match=r"unknown quantity 'crank.angel'"):
        w.to_subsystem(quantities=["crank.angel"])
    with pytest.raises(da.ModelError, match=r"unknown name 'A.omga'"):
        w.to_subsystem(independent=["A.omga"])


def test_groups_that_cannot_be():
    w = da.library.whitworth()
    for groups, words in (
        ({"a": ["crank"]}, "slider, coupler, rocker in no group"),
        ({"a": ["crnk"]}, "'crnk' is not a body; did you mean crank"),
        ({"a": ["crank", "crank"]}, "'crank' is in 'a' already"),
        (
            {"a": ["crank"], "b": ["slider", "coupler", "rocker"]},
            "'slot' connects the groups a and b; only passive pins",
        ),
    ):
        with pytest.raises(da.ModelError, match=words):
            w.to_subsystem(groups=groups)


# Files


@pytest.mark.parametrize("name", [*CASES, *da.library.PLANAR])
def test_files_keep_everything(name, tmp_path):
    w = CASES[name]() if name in CASES else da.library.build(name)
    text = io.dumps(w)
    assert text.startswith("kind: planar\n")
    assert io.loads(text) == w
    assert io.dumps(io.loads(text)) == text
    assert io.loads(text).to_model() == w.to_model()
    da.write(w, tmp_path / "w.yaml")
    assert da.read(tmp_path / "w.yaml") == w
    assert json.loads(json.dumps(w.to_data())) == w.to_data()


def test_file_mistakes_have_lines():
    text = (
        "kind: planar\nname: x\nbase: {O: [0, 0]}\nbodies:\n  - name: a\n    nodes: {O: [0, 0], P: [1, z]}\n"
        "    mss: 3\n"
        "joints:\n  - {kind: revolte, name: J, nodes: [base.O, a.O]}\n  - {kind: revolute, name: K, nodes: [base.O]}\n"
        "jonts: []\n"
    )
    with pytest.raises(da.ModelError) as caught:
        io.loads(text, "x.yaml")
    said = str(caught.value)
    for words in (
        "'mss'",
        "x.yaml:7",
        "'revolte'",
        "did you mean revolute?",
        "x.yaml:9",
        "nodes[1] is missing",
        "'jonts'",
    ):
        assert words in said, said


@pytest.mark.parametrize(
    "line",
    [
        "gravity: [0, 0, -9.81]", "name: [1]", "parameters: {a: 1e999}", "parameters: {a: b}", "base: {O: 3}",
        "base: {'O.O': [0, 0]}", "inputs: {u: __import__('os')}", "bodies: {a: 1}", "bodies: [3]", "initial: {A: x}",
        "joints: [{name: A}]", "joints: [{name: A, kind: [1]}]", "contacts: [{kind: rolling, name: r}]",
        "constraints: [{name: c, formula: '().__class__'}]", "outputs: [{name: o, formula: 'open(1)'}]",
    ],
)  # fmt: skip
def test_hostile_files_are_refused_in_words(line):
    text = "kind: planar\nname: x\nbodies:\n  - {name: b, nodes: {O: [0, 0]}, mass: 1}\n"
    key = line.split(":")[0]
    kept = [
        row for row in text.splitlines() if not row.startswith(key) and not (key == "bodies" and row.startswith(" "))
    ]
    with pytest.raises(da.ModelError):
        io.loads("\n".join([*kept, line]) + "\n")


def test_the_schema_is_complete_and_its_example_runs():
    schema = io.planar_json_schema()
    assert set(schema["properties"]) == set(PlanarDocument.model_fields)
    assert "x-type" not in json.dumps(schema)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "planar-files.md").read_text(encoding="utf-8")
    assert "| any |" not in page
    w = io.loads(page.split("```yaml\n")[1].split("```")[0])
    assert io.loads(io.dumps(w)) == w
    assert da.simulate(w, 0.1).certificate.trusted


def test_the_schema_accepts_files_and_refuses_typing_errors():
    jsonschema = pytest.importorskip("jsonschema")
    schema = io.planar_json_schema()
    for name in ("wheels", "own variables", "scotch yoke"):
        jsonschema.validate(CASES[name]().to_data(), schema)
    data = da.library.whitworth().to_data()
    data["bodies"][0]["mas"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_command_line(tmp_path):
    from typer.testing import CliRunner

    from dalembert.cli.app import app

    da.write(da.library.whitworth(), tmp_path / "w.yaml")
    runner = CliRunner()
    done = runner.invoke(
        app, ["run", str(tmp_path / "w.yaml"), "--duration", "0.2", "--rate", "A=1", "--out", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "w.html").stat().st_size > 10_000
    assert "whitworth" in done.output and "trusted" in done.output
    done = runner.invoke(app, ["inspect", "whitworth"])
    assert done.exit_code == 0 and "degrees of freedom" in done.output
    motion = [part for law in ("A1=0.1*t", "A2=0", "A3=0") for part in ("--motion", law)]
    done = runner.invoke(app, ["inverse", "three-rrr", *motion, "--duration", "0.5"])
    assert done.exit_code == 0, done.output


def test_a_base_without_nodes_gets_one():
    w = da.Planar("free")
    w.body("bar", A=(0, 0), B=(1, 0), mass=1)
    w.revolute("A", "base.O", "bar.A")
    with pytest.raises(da.ModelError, match=r"the base has no node 'O'[\s\S]*w.base\(O=\(0, 0\)\)"):
        w.validate()
