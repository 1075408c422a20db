"""``modelDescription.xml`` of FMI 2.0 and 3.0, and ``buildDescription.xml``."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from dalembert.export.fmu_source import Variable

__all__ = ["Described", "build_description", "model_description", "unique_names"]

# Units by powers of kg, m, s; a radian is an angle.
_UNITS: dict[str, dict[str, str]] = {
    "m": {"m": "1"}, "m/s": {"m": "1", "s": "-1"}, "rad": {"rad": "1"}, "rad/s": {"rad": "1", "s": "-1"},
    "J": {"kg": "1", "m": "2", "s": "-2"},
}  # fmt: skip

# (causality, variability, initial) by kind.
_ROLES = {
    "parameter": ("parameter", "tunable", "exact"),
    "input": ("input", "continuous", None),
    "start": ("parameter", "fixed", "exact"),
    "state": ("local", "continuous", "calculated"),
    "rate": ("local", "continuous", "calculated"),
    "indicator": ("local", "continuous", "calculated"),
    "output": ("output", "continuous", "calculated"),
}  # fmt: skip


@dataclass(frozen=True)
class Described:
    """What a description says besides the variables."""

    title: str
    about: str
    identifier: str
    token: str
    stop: float
    tolerance: float
    step: float


def _plain(text: str) -> str:
    """Text that XML can hold, on one line."""
    return re.sub(r"[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u007f-\u009f]", "?", text)


def unique_names(variables: list[Variable]) -> list[str]:
    """Names that XML can hold, each once."""
    found: dict[str, None] = {}
    for k, variable in enumerate(variables):
        name = _plain(variable.name) or "?"
        while name in found or name == "time":
            name = f"{name} #{k + 1}"
        found[name] = None
    return list(found)


def _text(root: ET.Element) -> bytes:
    ET.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="utf-8") + b"\n"


def _root(d: Described, version: int) -> ET.Element:
    token = {2: "guid", 3: "instantiationToken"}[version]
    given = {"fmiVersion": f"{version}.0", "modelName": _plain(d.title), "description": _plain(d.about)}
    given |= {"generationTool": "dalembert", "variableNamingConvention": "flat", token: d.token}
    return ET.Element("fmiModelDescription", given)


def _units(root: ET.Element, variables: list[Variable]) -> None:
    used = [unit for unit in _UNITS if any(v.unit == unit for v in variables)]
    if used:
        definitions = ET.SubElement(root, "UnitDefinitions")
        for unit in used:
            ET.SubElement(ET.SubElement(definitions, "Unit", name=unit), "BaseUnit", _UNITS[unit])


def _experiment(root: ET.Element, d: Described) -> None:
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime=repr(d.stop), tolerance=repr(d.tolerance),
                  stepSize=repr(d.step))  # fmt: skip


def _attributes(v: Variable, name: str, reference: int) -> dict[str, str]:
    causality, variability, initial = _ROLES[v.kind]
    found = {"name": name, "valueReference": str(reference), "causality": causality, "variability": variability,
             "description": _plain(v.about)}  # fmt: skip
    return found | ({"initial": initial} if initial else {})


def _value(v: Variable) -> dict[str, str]:
    start = {"start": repr(v.value)} if v.kind in ("parameter", "input", "start") else {}
    return start | ({"unit": v.unit} if v.unit else {})


def _groups(variables: list[Variable]) -> dict[str, list[int]]:
    """Numbers of the variables by kind."""
    return {kind: [k for k, v in enumerate(variables, 1) if v.kind == kind] for kind in _ROLES}


def model_description(d: Described, variables: list[Variable], version: int) -> bytes:
    """The file; value references are the numbers of the variables from 1 on."""
    return _third(d, variables) if version == 3 else _second(d, variables)


def _third(d: Described, variables: list[Variable]) -> bytes:
    root = _root(d, 3)
    shared = {"modelIdentifier": d.identifier, "canGetAndSetFMUState": "true", "canSerializeFMUState": "true",
              "providesDirectionalDerivatives": "true"}  # fmt: skip
    ET.SubElement(root, "ModelExchange", shared | {"needsCompletedIntegratorStep": "true"})
    ET.SubElement(root, "CoSimulation", shared | {"canHandleVariableCommunicationStepSize": "true"})
    _units(root, variables)
    _experiment(root, d)
    listed = ET.SubElement(root, "ModelVariables")
    ET.SubElement(listed, "Float64", name="time", valueReference="0", causality="independent",
                  variability="continuous", description="time")  # fmt: skip
    groups, names = _groups(variables), unique_names(variables)
    states = groups["state"]
    for k, v in enumerate(variables, 1):
        more = {"derivative": str(states[v.of])} if v.kind == "rate" else {}
        ET.SubElement(listed, "Float64", _attributes(v, names[k - 1], k) | _value(v) | more)
    structure = ET.SubElement(root, "ModelStructure")
    for tag, found in (
        ("Output", groups["output"]), ("ContinuousStateDerivative", groups["rate"]),
        ("InitialUnknown", sorted([*groups["output"], *groups["rate"], *states])),
        ("EventIndicator", groups["indicator"]),
    ):  # fmt: skip
        for k in found:
            ET.SubElement(structure, tag, valueReference=str(k))
    return _text(root)


def _second(d: Described, variables: list[Variable]) -> bytes:
    root = _root(d, 2)
    count = sum(v.kind == "indicator" for v in variables)
    if count:
        root.set("numberOfEventIndicators", str(count))
    for tag, more in (
        ("ModelExchange", {}), ("CoSimulation", {"canHandleVariableCommunicationStepSize": "true"})
    ):  # fmt: skip
        shared = {"modelIdentifier": d.identifier, "canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true",
                  "providesDirectionalDerivative": "true"}  # fmt: skip
        files = ET.SubElement(ET.SubElement(root, tag, shared | more), "SourceFiles")
        ET.SubElement(files, "File", name=f"{d.identifier}.c")
    _units(root, variables)
    _experiment(root, d)
    listed = ET.SubElement(root, "ModelVariables")
    groups, names = _groups(variables), unique_names(variables)
    states = groups["state"]
    for k, v in enumerate(variables, 1):
        scalar = ET.SubElement(listed, "ScalarVariable", _attributes(v, names[k - 1], k))
        ET.SubElement(scalar, "Real", _value(v) | ({"derivative": str(states[v.of])} if v.kind == "rate" else {}))
    structure = ET.SubElement(root, "ModelStructure")
    for tag, found in (
        ("Outputs", groups["output"]), ("Derivatives", groups["rate"]),
        ("InitialUnknowns", sorted([*groups["output"], *groups["rate"], *states])),
    ):  # fmt: skip
        if found:
            part = ET.SubElement(structure, tag)
            for k in found:
                ET.SubElement(part, "Unknown", index=str(k))
    return _text(root)


def build_description(identifier: str) -> bytes:
    """How the source of an FMU 3.0 is compiled."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ET.SubElement(root, "BuildConfiguration", modelIdentifier=identifier)
    files = ET.SubElement(configuration, "SourceFileSet", language="C99")
    ET.SubElement(files, "SourceFile", name=f"{identifier}.c")
    return _text(root)
