"""Every check of a model fires with the right path, and says nothing about a valid model."""

# ruff: noqa: E501  (tables read best on long lines)
from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import sympy as sp

from dalembert.errors import ModelError, ModelWarning, Problem
from dalembert.model import Model, SubModel
from dalembert.model.document import from_document
from dalembert.model.validate import problems

CUSTOM = {
    "coordinates": 1,
    "position": ["q0", "a*q0**2", 0],
    "equations": ["y", "z", "Ryz", "Rzx", "Rxy"],
    "measure": ["x"],
}
VALID: dict[str, Any] = {
    "name": "all",
    "gravity": [0, 0, "-g"],
    "parameters": {"a": 1.0, "g": 9.81, "zero": 0.0},
    "bodies": [
        {"name": "b0", "mass": "a", "com": [1, 0, 0], "inertia": [0, 1, 1]},
        {"name": "b1", "mass": 1, "inertia": [1, 1, 1, 0.1, 0, 0], "pose": {"rpy": [0, 0, "pi/2"]}},
        {
            "name": "b2",
            "shapes": [{"kind": "box", "size": [1, 1, 1]}, {"kind": "line", "points": ["x", "y"]}],
        },
        {"name": "floating", "mass": 1, "inertia": [1, 1, 1]},
    ],
    "joints": [
        {"name": "hinge", "kind": "revolute", "bodies": ["ground", "b0"], "point": [0, 0, 0], "axis": "z"},
        {
            "name": "ball",
            "kind": "spherical",
            "bodies": ["b0", "b1"],
            "point": [1, 0, 0],
            "reference": [1, 0, 0, 0],
        },
        {
            "name": "slide",
            "kind": "custom",
            "bodies": ["b1", "b2"],
            "point": [0, 0, 0],
            "axis": "z",
            "custom": CUSTOM,
        },
        {
            "name": "rod",
            "kind": "distance",
            "bodies": ["ground", "b2"],
            "point": [0, 0, 0],
            "point_2": [0, 0, 1],
        },
        {
            "name": "loop",
            "kind": "prismatic",
            "bodies": ["ground", "b1"],
            "frame_1": [0, 0, 0],
            "frame_2": [0, 0, "a"],
        },
        {"name": "weld", "kind": "fixed", "bodies": ["b0", "b2"], "cut": True},
    ],
    "constraints": [
        {"name": "gear", "kind": "gear", "joints": ["hinge", "loop"], "ratio": -2},
        {"name": "rack", "kind": "rack", "pinion": "hinge", "rack": "loop", "radius": 0.1},
        {"name": "sum", "kind": "coupler", "terms": {"hinge": 1, "loop": "a"}},
        {"name": "eq", "kind": "equation", "formula": "q(hinge) - x(b0) - t"},
        {
            "name": "knife",
            "kind": "equation",
            "formula": "vx(b0)*sin(q(hinge)) + 2*u(ball, 2) - t",
            "level": "velocity",
        },
        {"name": "motor", "kind": "drive", "joint": "hinge", "motion": "2*pi*t"},
        {"name": "brake", "kind": "equation", "formula": "u(hinge)", "level": "velocity", "active": False},
    ],
    "forces": [
        {
            "name": "k",
            "kind": "spring",
            "bodies": ["ground", "b0"],
            "at": [[0, 0, 0], [0, 0, 1]],
            "stiffness": "a",
        },
        {"name": "kt", "kind": "torsional-spring", "joint": "hinge", "stiffness": 2},
        {
            "name": "f",
            "kind": "force",
            "body": "b0",
            "value": [0, "sin(t)*u(hinge)", "1 if q(loop) < 0 else 0"],
        },
        {"name": "tau", "kind": "torque", "body": "b0", "value": [0, 0, 1], "reaction_on": "ground"},
        {"name": "jf", "kind": "joint-force", "joint": "ball", "index": 2, "value": "u(ball, 1)"},
        {"name": "bush", "kind": "bushing", "bodies": ["b0", "floating"], "point": [0, 0, 0]},
    ],
    "outputs": [{"name": "o", "formula": "q(floating, 6) + wz(ground)", "unit": "m"}],
    "events": [
        {"name": "mark", "when": "t - 1"},
        {"name": "stop", "when": "q(hinge) - a", "direction": "rising", "rates": {"hinge": "-u(hinge)", "ball[2]": 0}},
        {"name": "clutch", "when": "vx(b0)", "set": {"a": "2*a*t"}, "switch": {"motor": False, "brake": True}},
        {"name": "inner", "when": "t - 2", "rates": {"sub.axle": 0, "floating[5]": 1}, "switch": {"sub.lock": False}},
    ],
    "initial": {"hinge": 0.5, "ball": [1, 0, 0, 0], "floating": [1, 0, 0, 0, 0, 0, 1]},
    "initial_rates": {"ball": [0, 0, 1], "sub.axle": 2},
    "submodels": [
        {
            "name": "sub",
            "base": "b0",
            "parameters": {"r": "a/2"},
            "model": {
                "name": "wheel",
                "parameters": {"r": 1.0, "e": 0.5},
                "bodies": [{"name": "rim", "mass": "r"}],
                "constraints": [{"name": "lock", "kind": "equation", "formula": "q(axle)"}],
                "events": [{"name": "hit", "when": "q(axle) - r", "set": {"e": "e/2"}, "switch": {"lock": True}}],
                "joints": [
                    {
                        "name": "axle",
                        "kind": "revolute",
                        "bodies": ["ground", "rim"],
                        "point": [0, 0, 0],
                        "axis": "y",
                    }
                ],
            },
        }
    ],
}

# path to change, new value (None removes it), path that is blamed, words of the message
BLAMED: list[tuple[str, Any, str, str]] = [
    # names
    ("bodies[1].name", "b0", "bodies[1].name", "used twice"),
    ("bodies[3].name", "world", "bodies[3].name", "reserved"),
    ("bodies[3].name", "ground", "bodies[3].name", "reserved"),
    ("bodies[3].name", "body", "bodies[3].name", "reserved"),
    ("bodies[3].name", "hinge", "bodies[3].name", "free joint is taken"),
    ("joints[1].name", "hinge", "joints[1].name", "used twice"),
    ("joints[5].name", "ground", "joints[5].name", "reserved"),
    ("constraints[1].name", "gear", "constraints[1].name", "used twice"),
    ("forces[1].name", "k", "forces[1].name", "used twice"),
    ("bodies[3].name", "sub.rim", "bodies", "same full name"),
    ("name", "a\x1bb", "name", "control characters"),
    ("outputs[0].unit", "\x07", "outputs[0].unit", "control characters"),
    ("parameters.lambda", 1.0, "parameters.lambda", "cannot be used in formulas"),
    ("parameters.t", 1.0, "parameters.t", "taken"),
    ("parameters._x", 1.0, "parameters._x", "cannot be used in formulas"),
    # references between elements
    ("joints[0].bodies[1]", "b00", "joints[0].bodies[1]", "unknown body 'b00'"),
    ("joints[0].bodies[1]", "ground", "joints[0].bodies", "two different bodies"),
    ("joints[0].frame", "bo", "joints[0].frame", "unknown body"),
    ("joints[0].kind", "revolut", "joints[0].kind", "unknown kind 'revolut'"),
    ("constraints[0].joints[0]", "hing", "constraints[0].joints[0]", "unknown joint 'hing'"),
    ("constraints[0].joints[1]", "hinge", "constraints[0].joints", "two different joints"),
    ("constraints[0].joints[1]", "ball", "constraints[0].joints[1]", "quaternion"),
    ("constraints[0].joints[1]", "weld", "constraints[0].joints[1]", "no coordinates"),
    ("constraints[0].ratio", "zero", "constraints[0].ratio", "must not be zero"),
    ("constraints[1].pinion", "x", "constraints[1].pinion", "unknown joint"),
    ("constraints[1].rack", "hinge", "constraints[1].rack", "two different joints"),
    ("constraints[1].radius", 0, "constraints[1].radius", "must not be zero"),
    ("constraints[2].terms", {"nix": 1}, "constraints[2].terms.nix", "unknown joint"),
    ("constraints[2].terms", {"hinge": 0}, "constraints[2].terms", "all coefficients"),
    ("constraints[5].joint", "nix", "constraints[5].joint", "unknown joint"),
    ("constraints[5].index", 1, "constraints[5].index", "has 1 coordinates"),
    ("forces[0].bodies[0]", "nix", "forces[0].bodies[0]", "unknown body"),
    ("forces[0].bodies[0]", "b0", "forces[0].bodies", "two different bodies"),
    ("forces[0].frame", "nix", "forces[0].frame", "unknown body"),
    ("forces[0].length", -1, "forces[0].length", "negative"),
    ("forces[1].joint", "nix", "forces[1].joint", "unknown joint"),
    ("forces[1].index", 1, "forces[1].index", "out of range"),
    ("forces[1].joint", "ball", "forces[1].joint", "quaternion"),
    ("forces[2].body", "nix", "forces[2].body", "unknown body"),
    ("forces[3].reaction_on", "b0", "forces[3].reaction_on", "another body"),
    ("forces[4].index", 3, "forces[4].index", "has 3 velocities"),
    ("forces[5].bodies[1]", "b0", "forces[5].bodies", "two different bodies"),
    # formulas
    ("bodies[0].mass", "aa", "bodies[0].mass", "unknown parameter 'aa'"),
    ("bodies[0].mass", "t", "bodies[0].mass", "depends on time"),
    ("bodies[0].mass", "q(hinge)", "bodies[0].mass", "depends on the motion"),
    ("bodies[0].com[1]", "1/zero", "bodies[0].com[1]", "no finite value for zero = 0"),
    ("bodies[0].com[1]", "log(zero)", "bodies[0].com[1]", "no finite value"),
    ("bodies[0].com[1]", "exp(exp(exp(9)))", "bodies[0].com[1]", "no finite value"),
    ("joints[0].axis", ["t", 0, 1], "joints[0].axis[0]", "depends on time"),
    ("joints[0].point", ["x(b1)", 0, 1], "joints[0].point[0]", "depends on the motion"),
    ("gravity", [0, 0, "gg"], "gravity[2]", "unknown parameter 'gg'"),
    ("initial.hinge", "aa", "initial.hinge", "unknown parameter"),
    ("constraints[3].formula", "u(hinge)", "constraints[3].formula", "may not name velocities"),
    ("constraints[3].formula", "vx(b0)", "constraints[3].formula", "may not name velocities"),
    ("constraints[3].formula", "q(hing)", "constraints[3].formula", "unknown joint 'hing'"),
    ("constraints[3].formula", "q(hinge, 1)", "constraints[3].formula", "has 1 coordinates, index 1 is none"),
    ("constraints[3].formula", "q(weld)", "constraints[3].formula", "has 0 coordinates"),
    ("constraints[3].formula", "x(b9)", "constraints[3].formula", "unknown body 'b9'"),
    ("constraints[3].formula", "hinge", "constraints[3].formula", "unknown parameter 'hinge'"),
    ("constraints[4].formula", "u(hinge)**2", "constraints[4].formula", "linear in velocities"),
    ("constraints[4].formula", "u(hinge)*vx(b0)", "constraints[4].formula", "linear in velocities"),
    ("constraints[4].formula", "abs(u(hinge))", "constraints[4].formula", "linear in velocities"),
    ("constraints[4].formula", "u(ball, 3)", "constraints[4].formula", "has 3 velocities"),
    ("constraints[5].motion", "q(hinge)", "constraints[5].motion", "a drive may name t, inputs and parameters only"),
    ("constraints[5].motion", "log(t)", "constraints[5].motion", "at t = 0"),
    ("forces[0].stiffness", "q(hinge)", "forces[0].stiffness", "only parameters"),
    ("forces[2].value[1]", "u(hinge)/zero", "forces[2].value[1]", "'1/zero' in 'u(hinge)/zero'"),
    ("joints[2].custom.position", ["q1", 0, 0], "joints[2].custom.position[0]", "unknown parameter 'q1'"),
    ("joints[2].custom.position", ["q(hinge)", 0, 0], "joints[2].custom.position[0]", "depends on the motion"),
    ("joints[2].custom.measure", ["q0"], "joints[2].custom.measure[0]", "unknown parameter 'q0'"),
    ("parameters.x", 1.0, "joints[2].custom.measure[0]", "both a parameter"),
    # events
    ("events[1].name", "mark", "events[1].name", "used twice"),
    ("events[0].when", "a", "events[0].when", "never passes through zero"),
    ("events[0].when", 0, "events[0].when", "never passes through zero"),
    ("events[0].when", "q(hing)", "events[0].when", "unknown joint 'hing'"),
    ("events[0].when", "t - aa", "events[0].when", "unknown parameter 'aa'"),
    ("events[0].when", "x(b9)", "events[0].when", "unknown body 'b9'"),
    ("events[0].when", "t/zero", "events[0].when", "no finite value for zero = 0"),
    ("events[2].set", {"aa": 1}, "events[2].set.aa", "unknown parameter 'aa'"),
    ("events[2].set", {"t": 1}, "events[2].set.t", "unknown parameter 't'"),
    ("events[2].set", {"hinge": 1}, "events[2].set.hinge", "unknown parameter 'hinge'"),
    ("events[2].set", {"brake.on": 1}, "events[2].set.brake.on", "unknown parameter 'brake.on'"),
    ("events[2].set", {"sub.r": 1}, "events[2].set.sub.r", "bound to a formula"),
    ("events[2].set.a", "log(zero)", "events[2].set.a", "no finite value"),
    ("events[2].set.a", "u(ball, 3)", "events[2].set.a", "has 3 velocities"),
    ("events[1].rates", {"hing": 0}, "events[1].rates.hing", "unknown joint 'hing'"),
    ("events[1].rates", {"hinge[1]": 0}, "events[1].rates.hinge[1]", "index 1 is out of range; joint 'hinge' has 1 vel"),
    ("events[1].rates", {"ball[3]": 0}, "events[1].rates.ball[3]", "index 3 is out of range; joint 'ball' has 3 vel"),
    ("events[1].rates", {"ball": 0}, "events[1].rates.ball", "has 3 velocities; which one is meant?"),
    ("events[1].rates", {"weld": 0}, "events[1].rates.weld", "has 0 velocities"),
    ("events[1].rates", {"hinge": 0, "hinge[0]": 1}, "events[1].rates.hinge[0]", "given twice"),
    ("events[1].rates.hinge", "uu", "events[1].rates.hinge", "unknown parameter 'uu'"),
    ("events[2].switch", {"mot": True}, "events[2].switch.mot", "unknown constraint 'mot'"),
    ("events[2].switch", {"hinge": True}, "events[2].switch.hinge", "unknown constraint 'hinge'"),
    ("events[3].switch", {"lock": True}, "events[3].switch.lock", "unknown constraint 'lock'"),
    ("submodels[0].model.events[0].set", {"a": 1}, "submodels[0].model.events[0].set.a", "unknown parameter 'a'"),
    ("submodels[0].model.events[0].set", {"r": 1}, "submodels[0].model.events[0].set.r", "bound to a formula"),
    ("submodels[0].model.events[0].switch", {"brake": True}, "submodels[0].model.events[0].switch.brake", "unknown constr"),
    ("constraints[0].name", "sub.lock", "constraints", "same full name"),
    # joints
    ("joints[0].axis", [0, 0, "zero"], "joints[0].axis", "axis must not be zero, got [0, 0, 0]"),
    ("joints[0].axis", None, "joints[0]", "axis is missing"),
    ("joints[0].point", None, "joints[0]", "point is missing"),
    ("joints[0].axis_2", "x", "joints[0].axis_2", "axis_2 is too much"),
    ("joints[0].pitch", 1, "joints[0].pitch", "pitch is too much"),
    ("joints[0].frame_1", [0, 0, 0], "joints[0]", "frame_2 is missing"),
    ("joints[4].point", [0, 0, 0], "joints[4].point", "frame_1 and frame_2 take its place"),
    ("joints[4].frame_2", {"quaternion": [0, 0, 0, 0]}, "joints[4].frame_2.quaternion", "must not be zero"),
    ("joints[4].frame_2", {"rotation": ["x", "y", [0, 0, 2]]}, "joints[4].frame_2.rotation", "not orthonormal"),
    ("joints[4].frame_2", {"rotation": ["x", "y", "-z"]}, "joints[4].frame_2.rotation", "reflection"),
    ("joints[3].point_2", [0, 0, "zero"], "joints[3].point_2", "must differ"),
    ("joints[3].length", -1, "joints[3].length", "must be positive"),
    ("joints[1].reference", [1, 0, 0], "joints[1].reference", "expected 4 coordinates, got 3 values; 3 is the number of its vel"),
    ("joints[1].reference", [0, 0, 0, 0], "joints[1].reference", "must not be zero"),
    ("joints[1].custom", CUSTOM, "joints[1].custom", "custom is too much"),
    ("joints[2].custom", None, "joints[2]", "custom is missing"),
    ("joints[2].custom.equations", ["x"], "joints[2].custom.equations", "expected 5 formulas"),
    ("joints[2].custom.measure", ["x", "y"], "joints[2].custom.measure", "expected 1 formulas"),
    ("initial.nix", 1, "initial.nix", "unknown joint"),
    ("initial.ball", [0, 0, 0], "initial.ball", "expected 4 coordinates, got 3 values; 3 is the number of its velocities"),
    ("initial.ball", [0, 0, 0, 0], "initial.ball", "must not be zero"),
    ("initial_rates.ball", [1, 0, 0, 0], "initial_rates.ball", "4 is the number of its coordinates"),
    # bodies
    ("bodies[0].mass", "-a", "bodies[0].mass", "must not be negative, got -1 kg"),
    ("bodies[0].inertia", [-1, 1, 1], "bodies[0].inertia", "principal moments -1, 1, 1 kg m²"),
    ("bodies[0].frame", "b1", "bodies[0].frame", "'world' or 'body'"),
    ("bodies[1].pose", {"rotation": ["x", "x", "z"]}, "bodies[1].pose.rotation", "not orthonormal"),
    ("bodies[2].shapes[0].size", None, "bodies[2].shapes[0]", "size is missing"),
    ("bodies[2].shapes[0].size", [1, 0, 1], "bodies[2].shapes[0].size", "must be positive"),
    ("bodies[2].shapes[0].radius", 1, "bodies[2].shapes[0].radius", "too much"),
    ("bodies[2].shapes[1].points", ["x"], "bodies[2].shapes[1].points", "two points"),
    ("bodies[2].shapes[0].axis", [0, 0, 0], "bodies[2].shapes[0].axis", "must not be zero"),
    ("bodies[2].shapes[0].frame", "nix", "bodies[2].shapes[0].frame", "unknown body"),
    # sub-models
    ("submodels[0].base", "nix", "submodels[0].base", "unknown body"),
    ("submodels[0].base", "sub.rim", "submodels[0].base", "its own body"),
    ("submodels[0].parameters.rr", 1, "submodels[0].parameters.rr", "has no parameter 'rr'"),
    ("submodels[0].parameters.r", "-a", "submodels[0].model.bodies[0].mass", "negative, got -1"),
    ("submodels[0].parameters.r", "b", "submodels[0].parameters.r", "unknown parameter"),
    ("submodels[0].model.joints[0].axis", [0, 0, 0], "submodels[0].model.joints[0].axis", "must not be zero"),
    ("submodels[0].model.bodies[0].mass", "a", "submodels[0].model.bodies[0].mass", "unknown parameter 'a'"),
    ("submodels[0].pose", {"quaternion": [0, 0, 0, 0]}, "submodels[0].pose.quaternion", "must not be zero"),
]  # fmt: skip

EXTRA_JOINTS = [
    (
        {"kind": "universal", "axis": "x", "axis_2": [1, 1, 0]},
        "axis_2",
        "perpendicular to axis, got 45 degrees",
    ),
    ({"kind": "universal", "axis": "x", "axis_2": [0, 2, 0]}, "", ""),
    (
        {"kind": "rolling-disc", "axis": "z", "axis_2": [0, 0, -3], "radius": 1},
        "axis_2",
        "must not be parallel",
    ),
    ({"kind": "rolling-disc", "axis": "z", "axis_2": [0, 1, 1], "radius": 1}, "", ""),
    ({"kind": "rolling-sphere", "axis": "z", "radius": 0}, "radius", "must be positive"),
    ({"kind": "screw", "axis": "z", "pitch": 0}, "pitch", "must not be zero"),
    ({"kind": "screw", "axis": "z", "pitch": -0.01}, "", ""),
    ({"kind": "screw", "axis": "z"}, None, "pitch is missing"),
    (
        {"kind": "planar", "axis": "z", "reference": [0, 0]},
        "reference",
        "expected 3 coordinates, got 2 values",
    ),
    (
        {"kind": "distance", "point": None, "frame_1": [0, 0, 0], "frame_2": [0, 0, 0]},
        None,
        "length is missing",
    ),
    ({"kind": "distance", "point": None, "frame_1": [0, 0, 0], "frame_2": [0, 0, 0], "length": 1}, "", ""),
]


def steps(path: str) -> list[Any]:
    return [int(s) if s.isdigit() else s for s in re.findall(r"[^.\[\]]+", path)]


def changed(path: str, value: Any) -> dict[str, Any]:
    """The valid document with one thing changed."""
    data = copy.deepcopy(VALID)
    *outer, last = steps(path)
    place: Any = data
    for step in outer:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


def found(data: dict[str, Any]) -> list[Problem]:
    try:
        from_document(data)
    except ModelError as error:
        return error.problems
    return []


def test_the_valid_model_is_valid():
    assert found(VALID) == []


@pytest.mark.parametrize(("path", "value", "blamed", "words"), BLAMED, ids=lambda v: str(v)[:40])
def test_check_fires(path: str, value: Any, blamed: str, words: str):
    problems = found(changed(path, value))
    fits = [p for p in problems if p.path == blamed and words in p.message]
    assert fits, "\n".join(map(str, problems)) or "nothing found"
    assert all(p.message.endswith(".") for p in fits)


@pytest.mark.parametrize(("fields", "blamed", "words"), EXTRA_JOINTS, ids=lambda v: str(v)[:40])
def test_check_of_joint_kind(fields: dict[str, Any], blamed: str | None, words: str):
    data = copy.deepcopy(VALID)
    joint = {"name": "extra", "bodies": ["b0", "b1"], "point": [0, 0, 0], **fields}
    data["joints"].append({key: value for key, value in joint.items() if value is not None})
    problems = found(data)
    if blamed == "":
        assert problems == []
        return
    path = "joints[6]" + (f".{blamed}" if blamed else "")
    assert [p for p in problems if p.path == path and words in p.message], problems


@pytest.mark.parametrize(
    "shape",
    [
        {"kind": "sphere"}, {"kind": "cylinder", "radius": 1}, {"kind": "capsule", "length": 1}, {"kind": "cone"},
        {"kind": "torus", "radius": 1}, {"kind": "line"}, {"kind": "box"}, {"kind": "sphere", "radius": -1},
        {"kind": "mesh"}, {"kind": "frame"}, {"kind": "mesh", "file": "a.stl", "scale": [1, 0, 1]},
        {"kind": "sphere", "radius": 1, "axis": "x", "pose": {"rpy": [0, 0, 1]}},
    ],
)  # fmt: skip
def test_shapes_without_their_sizes(shape: dict[str, Any]):
    problems = found(changed("bodies[2].shapes", [shape]))
    assert problems
    assert all(p.path.startswith("bodies[2].shapes[0]") for p in problems)


def test_suggestions_name_what_is_near_and_what_is_known():
    (problem,) = found(changed("joints[0].bodies[1]", "b00"))[:1]
    assert problem.fix.startswith("did you mean 'b0'? known: b0, b1")
    (problem,) = found(changed("constraints[3].formula", "hinge"))
    assert problem.fix == "did you mean q(hinge)?"


def test_everything_is_collected():
    data = changed("bodies[0].mass", -1)
    data["joints"][0]["axis"] = [0, 0, 0]
    data["forces"][1]["joint"] = "nix"
    data["submodels"][0]["model"]["joints"][0]["axis"] = [0, 0, 0]
    paths = [p.path for p in found(data)]
    assert paths == [
        "bodies[0].mass",
        "joints[0].axis",
        "forces[1].joint",
        "submodels[0].model.joints[0].axis",
    ]


def test_structure_and_mechanics_in_one_go_without_blaming_twice():
    data = changed("bodies[0].mas", 1)  # b0 cannot be built, but its name is known
    data["joints"][1]["axis"] = "x"
    data["joints"][5]["bodies"] = ["b1", "nix"]
    assert [p.path for p in found(data)] == ["bodies[0].mas", "joints[1].axis", "joints[5].bodies[1]"]


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("nme", "x", "nme"), ("name", 3, "name"), ("bodies", 3, "bodies"), ("bodies[1]", 3, "bodies[1]"),
        ("bodies[0].com", [1, 2], "bodies[0].com"), ("bodies[0].mass", True, "bodies[0].mass"),
        ("bodies[0].mass", "2*", "bodies[0].mass"), ("bodies[0].color", "red", "bodies[0].color"),
        ("bodies[0].pose", [1, 2], "bodies[0].pose"), ("bodies[0].name", "a b!", "bodies[0].name"),
        ("bodies[2].shapes[0].kind", "cube", "bodies[2].shapes[0].kind"),
        ("bodies[2].shapes[0].sizes", 1, "bodies[2].shapes[0].sizes"),
        ("joints[0].bodies", ["ground"], "joints[0].bodies"), ("joints[0].name", None, "joints[0]"),
        ("constraints[0].kind", "gears", "constraints[0].kind"), ("constraints[0].kind", None, "constraints[0]"),
        ("constraints[0].ratio", None, "constraints[0]"), ("forces[1].index", -1, "forces[1].index"),
        ("forces[2].axes", "own", "forces[2].axes"), ("parameters.a", "2*g", "parameters.a"),
        ("parameters.a", 10**400, "parameters.a"), ("parameters", [1], "parameters"), ("gravity", 9.81, "gravity"),
        ("initial.hinge", [[1]], "initial.hinge[0]"), ("initial", 3, "initial"),
        ("events", 3, "events"), ("events[0].when", None, "events[0]"), ("events[0].when", "2*", "events[0].when"),
        ("events[0].direction", "up", "events[0].direction"), ("events[0].then", 1, "events[0].then"),
        ("events[0].stop", "perhaps", "events[0].stop"), ("events[0].set", ["a"], "events[0].set"),
        ("events[0].set", {"": 1}, "events[0].set"), ("events[0].set", {"a": "9**9**9"}, "events[0].set.a"),
        ("events[0].rates", {"a!": 1}, "events[0].rates.a!"), ("events[0].rates", {"A[-1]": 1}, "events[0].rates.A[-1]"),
        ("events[0].rates", {"A[x]": 1}, "events[0].rates.A[x]"), ("events[0].rates", {"A[]": 1}, "events[0].rates.A[]"),
        ("events[0].rates", {"hinge": [1]}, "events[0].rates.hinge"),
        ("events[0].switch", {"motor": "maybe"}, "events[0].switch.motor"),
        ("events[0].switch", ["motor"], "events[0].switch"), ("constraints[5].active", 2, "constraints[5].active"),
        ("submodels[0].model", 3, "submodels[0].model"), ("submodels[0].model", None, "submodels[0]"),
        ("submodels[0].model.bodies[0].mas", 3, "submodels[0].model.bodies[0].mas"),
    ],
)  # fmt: skip
def test_structure(path: str, value: Any, blamed: str):
    problems = found(changed(path, value))
    assert problems[0].path == blamed, problems


def test_python_models_say_which_line_made_the_element():
    model = Model("m")
    body = model.body("b", mass=1)
    model.revolute("knee", "ground", body, point=(0, 0, 0), axis=(0, 0, 0))
    with pytest.raises(ModelError) as error:
        model.validate()
    (problem,) = error.value.problems
    assert problem.message == "joint 'knee': axis must not be zero, got [0, 0, 0]."
    assert (problem.path, problem.fix) == ("joints[0].axis", "e.g. axis: [0, 0, 1]")
    assert re.fullmatch(r"test_validation\.py:\d+", problem.where)


def test_empty_model():
    assert [p.path for p in problems(Model("m"))] == ["bodies"]


def test_a_model_that_contains_itself():
    model, other = Model("m"), Model("other")
    model.body("b", mass=1)
    other.body("b", mass=1)
    model.add(other, "other")
    other.submodels.append(SubModel(name="back", model=model))
    (problem,) = problems(model)
    assert problem.path == "submodels[0].model.submodels[0].model"
    assert "'m' → 'other' → 'm'" in problem.message
    with pytest.raises(ModelError):
        model.to_data()


def test_what_is_no_model():
    model = Model("m")
    model.body("b", mass=1)
    with pytest.raises(ModelError, match="expected a model, got int"):
        model.add(3, "three")  # type: ignore[arg-type]


def test_too_deep_and_too_many():
    inner = Model("leaf")
    inner.body("b", mass=1)
    for level in range(25):
        outer = Model(f"level{level}")
        outer.add(inner, "a")
        inner = outer
    assert any("nested deeper" in p.message for p in problems(inner))


def test_duplicate_submodels_are_reported_once():
    model, wheel = Model("m"), Model("wheel")
    wheel.body("rim", mass=1)
    model.add(wheel, "left")
    model.add(wheel, "left")
    assert [p.path for p in problems(model)] == ["submodels[1].name"]


def test_sympy_from_python_that_no_formula_can_say():
    for formula in (
        sp.Function("f")(sp.Symbol("a", real=True)),
        sp.erf(sp.Symbol("a", real=True)),
        sp.oo,
        sp.I,
    ):
        model = Model("m")
        model.parameters(a=1.0)
        model.body("b", mass=formula)
        assert [p.path for p in problems(model)] == ["bodies[0].mass"], formula
    model = Model("m")
    a = model.parameters(a=1.0)
    model.body("b", mass=sp.Piecewise((1, sp.And(a > 0, a < 2)), (2, True)))
    assert "one comparison" in problems(model)[0].message
    deep = a
    for _ in range(3000):
        deep = sp.sin(deep, evaluate=False)
    model = Model("m")
    model.parameters(a=1.0)
    model.body("b", mass=deep)
    assert [p.path for p in problems(model)] == ["bodies[0].mass"]


def test_thin_rods_and_massless_bodies_are_allowed():
    model = Model("m")
    model.body("rod", mass=1, inertia=(0, 0.083, 0.083))
    model.body("tilted rod", mass=1, inertia=(0.5, 0.5, 1, -0.5, 0, 0))
    model.body("nothing")
    assert problems(model) == []


def test_a_long_list_of_problems_is_cut_in_the_message_only():
    problems = [Problem(f"problem {i}") for i in range(1000)]
    error = ModelError(problems)
    assert error.problems == problems and str(error).startswith("1000 problems\nproblem 0\n")
    assert str(error).endswith("problem 19\n… and 980 more")


def test_gravity_in_millimeters_is_noticed():
    for size, unit in ((9810, "mm"), (980.665, "cm")):
        model = Model("m", gravity=(0, -size, 0))
        model.body("b", mass=1)
        with pytest.warns(ModelWarning, match=f"in {unit}/s²"):
            assert problems(model) == []
    jupiter = Model("m", gravity=(0, 0, -24.79))
    jupiter.body("b", mass=1)
    assert problems(jupiter) == []
