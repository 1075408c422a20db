"""The schemas of model files and planar files for editors, from the classes that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.constraints import CONSTRAINTS, Constraint
from dalembert.forces import FORCES, Force
from dalembert.joints import JOINTS
from dalembert.model.document import Document
from dalembert.planar.planar_data import CONTACTS, JOINTS_2D
from dalembert.planar.planar_document import PlanarDocument
from dalembert.solids import SOLIDS
from dalembert.values import DICT, LIST

__all__ = ["json_schema", "marked_planar_schema", "marked_schema", "planar_json_schema"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON schema of a model file, for editors that complete and check while one types."""
    return _without_marks(marked_schema())


def marked_schema() -> dict[str, Any]:
    """The schema of pydantic, with what files may say beyond it; ``x-type`` names types for the reference page."""
    schema = Document.model_json_schema()
    definitions = schema["$defs"]
    catalogs: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
        ("constraints", Constraint.__name__, CONSTRAINTS),
        ("forces", Force.__name__, FORCES),
    )
    for section, base, kinds in catalogs:
        del definitions[base]
        for kind in kinds.values():
            own = kind.model_json_schema()
            own.setdefault("required", []).append("kind")
            definitions |= own.pop("$defs", {})
            definitions[kind.__name__] = own
        references = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds.values()]
        schema["properties"][section]["items"] = {"anyOf": references}
    for solid in SOLIDS.values():
        definitions[solid.__name__].setdefault("required", []).append("kind")
    definitions["Body"]["properties"]["solid"]["x-type"] = "solid"
    joint = definitions["JointData"]["properties"]
    for kind in JOINTS.values():
        own = kind.Data.model_json_schema()
        joint |= own["properties"]
        definitions |= {key: part for key, part in own.get("$defs", {}).items() if key not in definitions}
    joint["kind"]["enum"] = list(JOINTS)
    values = joint["reference"]["anyOf"][0]
    joint["reference"]["anyOf"] = [values["items"], *joint["reference"]["anyOf"]]
    vector = definitions["Placement"]["properties"]["position"]
    position = {key: vector[key] for key in ("anyOf", "x-type")}
    placement = definitions["Placement"]
    definitions["Placement"] = {"anyOf": [position, placement], "x-type": "placement", "x-object": placement}
    sub = definitions["SubModel"]
    sub["properties"]["model"] = {"$ref": "#", "description": "the model, in place", "x-type": "model"}
    sub["properties"]["file"] = {"type": "string", "description": "its file instead, relative to this one"}
    sub["required"] = ["name"]
    sub["oneOf"] = [{"required": ["model"]}, {"required": ["file"]}]
    return {"$schema": DRAFT, **schema, "title": "dalembert model"}


def planar_json_schema() -> dict[str, Any]:
    """The JSON schema of a planar file, for editors that complete and check while one types."""
    return _without_marks(marked_planar_schema())


def marked_planar_schema() -> dict[str, Any]:
    """The same with names of types."""
    schema = PlanarDocument.model_json_schema()
    for kind in (*JOINTS_2D.values(), *CONTACTS.values()):
        schema["$defs"][kind.__name__].setdefault("required", []).append("kind")
    return {"$schema": DRAFT, **schema, "title": "dalembert planar mechanism"}


def _without_marks(value: Any) -> Any:
    if isinstance(value, DICT):
        return {key: _without_marks(item) for key, item in value.items() if not str(key).startswith("x-")}
    return [_without_marks(item) for item in value] if isinstance(value, LIST) else value
