"""The schema and the reference page say what the code does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from io_models import everything

from dalembert import io
from dalembert.constraints import CONSTRAINTS
from dalembert.expressions.parse import FUNCTIONS
from dalembert.forces import FORCES
from dalembert.joints import JOINTS
from dalembert.model.document import Document, to_document
from dalembert.model.flatten import flatten
from dalembert.solids import SOLIDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "model-files.md"
EXAMPLE = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]


def test_the_page_names_everything():
    page = PAGE.read_text(encoding="utf-8")
    for name in (*SOLIDS, *JOINTS, *CONSTRAINTS, *FORCES, *Document.model_fields):
        assert f"`{name}`" in page, name
    for name in FUNCTIONS:
        assert f"`{name}(" in page
    for kinds in (SOLIDS, CONSTRAINTS, FORCES):
        for kind in kinds.values():
            assert all(f"`{field}`" in page for field in kind.model_fields)
    assert "| any |" not in page


def test_the_example_of_the_page_loads():
    model = io.loads(EXAMPLE)
    assert set(to_document(model)) == set(Document.model_fields)
    assert io.loads(io.dumps(model)) == model
    assert "wheel.rim" in flatten(model).bodies


def test_the_schema_is_plain_and_complete():
    schema = io.json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert set(schema["properties"]) == set(Document.model_fields)
    assert "x-type" not in json.dumps(schema)
    assert schema["$defs"]["JointData"]["properties"]["kind"]["enum"] == list(JOINTS)


def test_the_schema_accepts_the_example_and_refuses_typing_errors():
    jsonschema = pytest.importorskip("jsonschema")
    schema = io.json_schema()
    data = to_document(io.loads(EXAMPLE))
    jsonschema.validate(data, schema)
    jsonschema.validate(to_document(everything()), schema)
    data["bodies"][0]["mas"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)
