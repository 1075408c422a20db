"""One file and one registry line: what the how-to pages promise, tried with the very files and lines that they show.

The file of a page is written to an empty folder and imported; its registry line is run. Then the new thing must do
all that the built-in ones do: simulate, be drawn, go through YAML and back, and be refused with place and fix
where it is wrong.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert import io
from dalembert.forces import FORCES
from dalembert.formulations import FORMULATIONS
from dalembert.integrators import INTEGRATORS, Integrator
from dalembert.joints import JOINTS
from dalembert.view.payload import payload
from dalembert.view.run_scene import scene

sys.path.insert(0, str(Path(__file__).parent))
from docs_pages import DOCS, blocks

sys.path.insert(0, str(DOCS))
import file_pages

REGISTRIES: dict[str, dict[str, Any]] = {
    "JOINTS": JOINTS,
    "FORCES": FORCES,
    "FORMULATIONS": FORMULATIONS,
    "INTEGRATORS": INTEGRATORS,
}
LINE = re.compile(r"^(JOINTS|FORCES|FORMULATIONS|INTEGRATORS)\[\"([\w-]+)\"\] = (\w+).*$", re.MULTILINE)


@pytest.fixture(autouse=True)
def _registries() -> Iterator[None]:
    """The catalogs are as before when a test ends."""
    before = {name: dict(registry) for name, registry in REGISTRIES.items()}
    yield
    for name, registry in REGISTRIES.items():
        registry.clear()
        registry.update(before[name])


def python_blocks(page: str) -> list[str]:
    return [block.text for block in blocks(DOCS / "how-to" / page, "python")]


def added(page: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of a page: its block is written as a file, without its registry line, which is run afterwards."""
    code = python_blocks(page)
    lines = [match for text in code for match in LINE.finditer(text) if match[2] == name]
    assert len(lines) == 1, "the page shows one registry line"
    (line,) = lines
    (text,) = [text for text in code if re.search(rf"^class {line[3]}\(", text, re.MULTILINE)]
    module = f"added_{name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(LINE.sub("", text), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    kind = getattr(importlib.import_module(module), line[3])
    assert name not in REGISTRIES[line[1]], "the file alone registers nothing"
    exec(line[0], {line[1]: REGISTRIES[line[1]], line[3]: kind})
    return kind


def round_trip(model: da.Model) -> str:
    """The model as text; what is read back is the same."""
    text = io.dumps(model)
    assert io.loads(text) == model
    return text


def refused(text: str) -> Any:
    with pytest.raises(da.ModelError) as error:
        io.loads(text)
    (problem,) = error.value.problems
    assert re.search(r":\d+$", problem.where), "the line of the file"
    return problem


def test_a_joint_of_factors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    added("add-a-joint.md", "gimbal", tmp_path, monkeypatch)
    model = da.Model("top in a gimbal")
    top = model.body("top", mass=0.5, com=(0, 0, 0.1), inertia=(0.001, 0.001, 0.0006))
    joint = model.gimbal("g", model.ground, top, point=(0, 0, 0), axis="z")  # type: ignore[attr-defined]
    assert joint is model.joints[0]
    start: Any = {"initial": {"g": (0, 0.3, 0.2)}, "initial_rates": {"g": (3, 0, 0)}}
    tree, cut = (da.simulate(model, 0.5, coordinates=kind, **start) for kind in ("relative", "absolute"))
    assert tree.certificate.trusted and cut.certificate.trusted
    np.testing.assert_allclose(tree.body("top").position, cut.body("top").position, atol=1e-7)
    drawn = payload(scene(tree))["joints"]
    assert [mark["name"] for mark in drawn] == ["g"] and len(drawn[0]["solids"]) == 2
    json.dumps(drawn)
    text = round_trip(model)
    assert "kind: gimbal" in text
    problem = refused(text.replace("axis: z", "axs: z"))
    assert problem.path == "joints[0].axs" and "unknown field 'axs'" in problem.message and "axis" in problem.fix
    problem = refused(text.replace("axis: z", "frame: world"))
    assert "axis is missing; a gimbal joint needs point, axis" in problem.message
    assert problem.fix == "e.g. axis: [0, 0, 1]"
    assert "gimbal" in io.json_schema()["$defs"]["JointData"]["properties"]["kind"]["enum"]
    assert "| `gimbal` | Three turns" in file_pages.model_files()


def test_a_joint_by_its_pose_with_a_quantity_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    added("add-a-joint.md", "guide", tmp_path, monkeypatch)
    model = da.Model("slide", gravity=(0, -9.81, 0))
    c = model.parameters(c=2.0)
    model.body("bead", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.guide("x", model.ground, "bead", point=(0, 0, 0), axis="z", curvature=c)  # type: ignore[attr-defined]
    assert "curvature" in inspect.signature(model.guide).parameters  # type: ignore[attr-defined]
    for coordinates in ("relative", "absolute", "natural", "generalized"):
        run = da.simulate(model, 0.5, coordinates=coordinates, initial={"x": 0.5}, output_step=0.1)
        assert run.certificate.trusted, coordinates
        x, y, _ = run.body("bead").position.values.T
        np.testing.assert_allclose(y, x**2, atol=1e-8)
    assert len(payload(scene(run))["joints"][0]["solids"]) == 1
    text = round_trip(model)
    assert "curvature: c" in text
    problem = refused(text.replace("curvature: c", "curvature: 0"))
    assert (problem.path, problem.fix) == ("joints[0].curvature", "kind: prismatic")
    assert problem.message == "joint 'x': curvature must not be zero, got 0."
    problem = refused(text.replace("kind: guide", "kind: revolute"))
    assert problem.message == "joint 'x': curvature is too much; a revolute joint has none."
    problem = refused(text.replace("curvature: c", "frame: world"))
    assert problem.fix == "e.g. curvature: 2"
    assert "`curvature`" in file_pages.model_files()


def test_a_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kind = added("add-a-force.md", "attraction", tmp_path, monkeypatch)
    pair = da.Model("pair", gravity=(0, 0, 0))
    for name, x in (("a", -1.0), ("b", 1.0)):
        pair.body(name, mass=1, com=(x, 0, 0), inertia=(0.1, 0.1, 0.1))
    assert type(pair.attraction("pull", "a", "b", 4.0)) is kind  # type: ignore[attr-defined]
    # A circle of radius 1 about the center: v² = F = 4/2².
    rates = {"a": (0, 0, 0, 0, -1, 0), "b": (0, 0, 0, 0, 1, 0)}
    run = da.simulate(pair, 2 * np.pi, initial_rates=rates)
    assert run.certificate.trusted
    assert "linear momentum" in [check.name for check in run.certificate.checks]
    np.testing.assert_allclose(run.body("b").position[-1], (1, 0, 0), atol=1e-6)
    (coil,) = payload(scene(run))["springs"]
    assert [(end["body"], end["point"]) for end in coil["ends"]] == [("a", [0, 0, 0]), ("b", [0, 0, 0])]
    text = round_trip(pair)
    problem = refused(text.replace("strength: 4", "strength: -4"))
    assert (problem.path, problem.fix) == ("forces[0].strength", "strength: 1")
    assert problem.message == "force 'pull': strength must not be negative, got -4."
    problem = refused(text + "    strenth: 4\n")
    assert problem.message == "force 'pull': unknown field 'strenth'." and "did you mean strength?" in problem.fix
    problem = refused(re.sub(r"bodies: \[a, b\]", "bodies: [a, c]", text))
    assert (
        problem.path == "forces[0].bodies[1]" and "unknown body 'c'" in problem.message and "known: a, b" in problem.fix
    )
    assert "Attraction" in io.json_schema()["$defs"]
    assert "### attraction" in file_pages.model_files()
    outer = da.Model("outer", gravity=(0, 0, 0))
    outer.add(pair, "inner")
    assert da.simulate(outer, 0.1, initial_rates={f"inner.{k}": v for k, v in rates.items()}).certificate.trusted


def test_a_formulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    added("add-a-formulation.md", "dense-tree", tmp_path, monkeypatch)
    agrees(da.library.n_pendulum(n=3), "dense-tree")
    with pytest.raises(da.DalembertError, match="dense-tree"):
        da.compile(da.library.four_bar(), formulation="dense-tree")


def test_a_formulation_with_a_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Its block goes on with what the page has imported before, and with a model after the registry line.
    (text,) = [text for text in python_blocks("add-a-formulation.md") if "class Kkt(" in text]
    head = "from typing import ClassVar\n\nimport numpy as np\n\n" + text.split("FORMULATIONS[")[0]
    (tmp_path / "added_kkt.py").write_text(head, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    FORMULATIONS["kkt"] = importlib.import_module("added_kkt").Kkt
    agrees(da.library.slider_crank_3d(), "kkt")


def agrees(model: da.Model, name: str) -> None:
    """The formulation moves a model as the usual one does."""
    run, usual = (da.simulate(model, 0.5, formulation=given, output_step=0.1) for given in (name, "auto"))
    assert run.certificate.trusted and run.attrs["formulation"] == name
    body = model.bodies[-1].name
    np.testing.assert_allclose(run.body(body).position, usual.body(body).position, atol=1e-6)


def test_an_integrator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code = python_blocks("add-an-integrator.md")
    text = next(text for text in code if re.search(r"^class \w+\(.*\):$", text, re.MULTILINE))
    (tmp_path / "added_integrator.py").write_text(LINE.sub("", text), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("added_integrator")
    own = [kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__]
    (kind,) = [kind for kind in own if issubclass(kind, Integrator)]
    INTEGRATORS[kind.name] = kind
    model = da.library.pendulum()
    joint = model.joints[0].name
    exact = da.simulate(model, 0.5, output_step=0.1).joint(joint).q
    run = da.simulate(model, 0.5, output_step=0.1, integrator=kind.name)
    assert run.attrs["integrator"].startswith(kind.name)
    np.testing.assert_allclose(run.joint(joint).q, exact, atol=1e-5)
