"""The methods of a model come from the catalogs; what editors know of them is what they do."""

from __future__ import annotations

import ast
import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from dalembert.constraints import CONSTRAINTS, Equation
from dalembert.forces import FORCES
from dalembert.joints import JOINTS
from dalembert.model import methods as module

STUB = Path(module.__file__).with_suffix(".pyi")


def test_every_kind_has_its_method():
    for kind in (*JOINTS, *(CONSTRAINTS.keys() - {"equation"}), *FORCES):
        assert callable(getattr(da.Model, kind.replace("-", "_"))), kind
    assert da.Model("m").constraint("c", "q(A)").kind == Equation.model_fields["kind"].default


def test_the_stub_is_not_stale():
    """Every method is in the stub with its arguments, their order, kinds and defaults, and its result; and no other."""
    classes = [node for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    groups = {f"Unpack[{one.name}]": {ast.unparse(field.target) for field in one.body} for one in classes[:-1]}
    written = {node.name: node for node in classes[-1].body if isinstance(node, ast.FunctionDef)}
    made = dict(module.methods())
    assert list(written) == list(made), "run: python docs/generate.py"
    for name, function in made.items():
        node, signature = written[name], inspect.signature(function)
        positional = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        shared = groups[ast.unparse(node.args.kwarg.annotation)] if node.args.kwarg else set()
        assert shared <= set(signature.parameters), name
        keywords = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY and p.name not in shared]
        assert [arg.arg for arg in node.args.args] == [p.name for p in positional], name
        assert [arg.arg for arg in node.args.kwonlyargs] == [p.name for p in keywords], name
        defaults = [None if value is None else ast.literal_eval(value) for value in node.args.kw_defaults]
        assert defaults == [None if p.default is p.empty else p.default for p in keywords], name
        assert ast.unparse(node.returns) == signature.return_annotation, name  # type: ignore[arg-type]


def test_positions_and_names_of_arguments_mean_the_same():
    by_position, by_name = da.Model("m"), da.Model("m")
    by_position.spring("k", "a", "b", ((0, 0, 0), (1, 0, 0)), stiffness=2)
    by_name.spring(name="k", first="a", second="b", at=((0, 0, 0), (1, 0, 0)), stiffness=2)
    by_position.gear("g", "A", "B", 2)
    by_name.gear(name="g", first="A", second="B", ratio=2)
    by_position.constraint("c", "u(A)", "velocity")
    by_name.constraint(name="c", formula="u(A)", level="velocity")
    by_position.drive("A", "t")
    by_name.drive(joint="A", motion="t", name="A drive")
    assert by_position.forces == by_name.forces and by_position.constraints == by_name.constraints


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda m: m.spring("k", "a", "b", 1, 2),
            r"spring\(\) takes 4 positional arguments \(name, first, second, at\), got 5",
        ),
        (lambda m: m.torque("t", "a", body="b"), r"torque\(\) got two values for 'body'"),
    ],
)
def test_too_many_arguments(call: Any, words: str):
    with pytest.raises(TypeError, match=words):
        call(da.Model("m"))


@pytest.mark.parametrize(
    ("call", "words", "fix"),
    [
        (
            lambda m: m.spring("k", "a", "b", stifness=1, at=("x", "y")),
            "force 'k': unknown field 'stifness'",
            "stiffness",
        ),
        (lambda m: m.spring("k", "a", "b"), "force 'k': at: is missing", ""),
        (
            lambda m: m.revolute("j", "a", "b", pitch=1),
            "joint 'j': pitch is too much; a revolute joint has none",
            "pitch",
        ),
        (lambda m: m.revolute("j", "a", "b", axs="z"), "joint 'j': unknown field 'axs'", "did you mean axis?"),
    ],
)
def test_what_no_element_has_is_said_at_the_caller(call: Any, words: str, fix: str):
    with pytest.raises(da.ModelError) as error:
        call(da.Model("m"))
    (problem,) = error.value.problems
    assert words in problem.message and fix in problem.fix
    assert problem.where.startswith("test_methods.py:")


def test_an_unknown_method_names_the_nearest():
    with pytest.raises(AttributeError, match="'Model' object has no attribute 'revolut'; did you mean revolute"):
        da.Model("m").revolut("A", "a", "b")  # type: ignore[attr-defined]


def test_models_with_joints_of_every_kind_can_be_pickled():
    model = da.Model("m")
    model.screw("s", "ground", "a", point=(0, 0, 0), axis="z", pitch=0.1)
    model.custom("c", "ground", "b", point=(0, 0, 0), position=("q0", 0, 0), reference=0.5)
    again = pickle.loads(pickle.dumps(model))
    assert again == model and again.joints[0].pitch == model.joints[0].pitch  # type: ignore[attr-defined]
    assert model.joints[1].custom.position[0].name == "q0"  # type: ignore[attr-defined]


def test_an_unknown_field_within_a_field_lists_those_that_are_there():
    model = da.Model("m")
    model.body("ball", mass=1)
    with pytest.raises(da.ModelError, match=r"surfaces\.0\.normal: unknown field(.|\n)*one of at, axis"):
        model.rigid_contact("c", "ground", "ball", [{"kind": "plane", "normal": "z"}, {"kind": "point"}])
