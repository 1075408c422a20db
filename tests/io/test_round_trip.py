"""What is written is read back the same: formulas, documents, files."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from io_models import CONSTANT_FORMULAS, FLOATS, FORMULAS, everything, same

from dalembert import io
from dalembert.errors import ExpressionError, ModelError
from dalembert.expressions import parse, to_text
from dalembert.joints import JOINTS
from dalembert.model import Model
from dalembert.model.document import from_document, to_document
from dalembert.model.validate import problems

QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150, derandomize=True)


@QUIET
@given(FORMULAS)
def test_parse_of_text_is_identity(text: str):
    try:
        formula = parse(text)
    except ExpressionError:
        assume(False)
    assert parse(to_text(formula)) == formula


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(derandomize=True, deadline=None)
def test_floats_keep_every_bit(value: float):
    model = Model("m")
    model.parameters(p=value)
    model.body("b", mass=abs(value), com=(value, 0, 0))
    again = io.loads(io.dumps(model))
    assert again.parameter_values["p"].hex() == value.hex()
    assert again.bodies == model.bodies


def test_everything_is_valid_and_complete():
    model = everything()
    assert problems(model) == []
    assert {joint.kind for joint in model.joints} == set(JOINTS)


def test_document_of_everything():
    model = everything()
    data = to_document(model)
    assert json.loads(json.dumps(data)) == data  # plain data only
    assert list(data) == [
        "name", "description", "gravity", "parameters", "bodies", "joints", "constraints", "forces",
        "outputs", "events", "initial", "initial_rates", "velocities", "submodels",
    ]  # fmt: skip
    same(from_document(data), model)
    assert to_document(from_document(data)) == data


def test_yaml_of_everything(tmp_path):
    model = everything()
    same(io.loads(io.dumps(model)), model)
    for name in ("model.yaml", "model.YML"):
        io.write(model, tmp_path / name)
        same(io.read(tmp_path / name), model)


def test_equality_is_that_of_documents():
    assert everything() == everything()
    other = everything()
    other.parameters(one_more=1.0)
    assert other != everything()


def test_defaults_are_left_out_and_short_forms_used():
    model = Model("pendulum")
    model.body("rod", mass=1)
    model.revolute("A", "ground", "rod", point=(0, 0, 0), axis="-y", reference=0.5)
    model.initial("A", 0.3)
    assert to_document(model) == {
        "name": "pendulum",
        "bodies": [{"name": "rod", "mass": 1}],
        "joints": [
            {
                "name": "A", "kind": "revolute", "bodies": ["ground", "rod"], "point": [0, 0, 0],
                "axis": "-y", "reference": 0.5,
            }
        ],
        "initial": {"A": 0.3},
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["yes", "1e5", "~", "null", "0x1F", "- a", "a: b", "# no", "", " x ", "é√", "a\nb", ".5", "+1"]
)
def test_texts_that_yaml_might_take_for_something_else(text: str):
    model = Model("m", description=text)
    model.body("b", mass=1)
    model.output("o", "t", unit=text)
    same(io.loads(io.dumps(model)), model)


NAME = st.from_regex(r"[A-Za-z][A-Za-z0-9_ \-]{0,12}", fullmatch=True)


@st.composite
def models(draw) -> Model:
    """A random chain with random numbers, formulas and names."""
    model = Model(draw(NAME), gravity=[draw(FLOATS) for _ in range(3)])
    model.parameters(a=draw(FLOATS), b=1.5)
    names = draw(
        st.lists(NAME.filter(lambda n: n not in ("ground", "world", "body")), min_size=1, max_size=4, unique=True)
    )
    previous = "ground"
    for name in names:
        com = [draw(CONSTANT_FORMULAS) for _ in range(3)]
        model.body(name, mass=abs(draw(FLOATS)), com=com, inertia=(0, "b", draw(st.sampled_from([1.5, "b"]))))
        kind = draw(st.sampled_from(["revolute", "prismatic", "cylindrical", "planar"]))
        axis = draw(st.sampled_from(["x", "-z", (1, 2, 0.1), (0, "b", 1)]))
        model.joint(kind, name, previous, name, point=[draw(FLOATS) for _ in range(3)], axis=axis)
        previous = name
    model.output("o", draw(CONSTANT_FORMULAS))
    return model


@settings(parent=QUIET, max_examples=60)
@given(st.data())
def test_random_models(data):
    try:
        model = data.draw(models())
        model.validate()
    except ModelError:
        assume(False)  # a random formula has no finite value
    same(io.loads(io.dumps(model)), model)
