"""Generated pages are fresh, links lead somewhere, equations have one number each, models load."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from docs_pages import DOCS, ROOT, blocks, pages, text_without_code

from dalembert import io

PAGES = pages()


def _id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _script(name: str):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_not_stale():
    expected = _script("generate").expected()
    assert len(expected) >= 4
    stale = [path for path, text in expected.items() if (DOCS / path).read_text(encoding="utf-8") != text]
    assert not stale, "run: python docs/generate.py"


def test_every_picture_is_made_by_a_script_and_shown():
    pictures = {path.stem for path in (DOCS / "images").iterdir()}
    assert pictures == set(_script("pictures").PICTURES)
    shown = {
        Path(target).stem for page in PAGES for target in re.findall(r"images/([\w-]+\.png)", page.read_text("utf-8"))
    }
    assert shown == pictures


def test_every_formulation_has_a_page_with_all_that_a_reader_asks():
    from dalembert.formulations import FORMULATIONS

    for name in FORMULATIONS:
        page = DOCS / "theory" / "formulations" / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
        wanted = ["Equations", "When to use it", "Limits", "Call and options", "Example", "References"]
        assert [section for section in sections if section in wanted] == wanted, name
        assert "**The idea.**" in text.split("## ")[0], name
        assert "```python" in text.split("## Example")[1], name


def test_every_element_is_explained_where_a_reader_looks():
    from dalembert.constraints import CONSTRAINTS
    from dalembert.coordinates import COORDINATES
    from dalembert.forces import FORCES
    from dalembert.integrators import INTEGRATORS
    from dalembert.joints import JOINTS
    from dalembert.solids import SOLIDS

    def missing(page: str, names) -> list[str]:
        text = (DOCS / page).read_text(encoding="utf-8")
        return [name for name in names if f"`{name}`" not in text]

    assert not missing("how-to/joints.md", [name.replace("-", "_") for name in JOINTS])
    assert not missing("how-to/choosing.md", [*INTEGRATORS, *COORDINATES])
    for page, names in _script("generate").GUIDES.items():
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        assert not [name for name in names.split() if not re.search(rf"\b{name.replace('-', '[-_]')}\b", text)], page
    linked = " ".join(_script("generate").GUIDES.values()).split()
    assert sorted(linked) == sorted([*COORDINATES, *INTEGRATORS, *SOLIDS, *CONSTRAINTS, *FORCES])


FROM_FILES = {"mesh_body", "read_grid", "read_table"}  # their examples need a file: how-to pages run them


def test_every_public_call_explains_its_arguments_and_has_an_example():
    import dalembert as da

    calls = {name: getattr(da, name) for name in da.__all__ if inspect.isroutine(getattr(da, name))}
    assert len(calls) > 20
    for name, call in calls.items():
        text = inspect.getdoc(call) or ""
        explained = " ".join(re.findall(r"^    ([\w, ]+): ", text, re.MULTILINE)).replace(",", "").split()
        silent = [one for one in inspect.signature(call).parameters if one not in explained]
        assert not silent, f"da.{name} does not say what {silent} are"
        assert f"da.{name}(" in text, f"da.{name} has no example"
    written = "\n".join(block.text for block in blocks(DOCS / "reference" / "api.md", "python"))
    assert not [name for name in calls if f"da.{name}(" not in written and name not in FROM_FILES]


_UNITS = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}


def _number(words: str) -> int | None:
    """``twenty-six`` as 26; None if it is no number."""
    head, _, unit = words.lower().partition("-")
    if head in _TENS and (not unit or unit in _UNITS[:9]):
        return _TENS[head] + (_UNITS.index(unit) + 1 if unit else 0)
    return _UNITS.index(words.lower()) + 1 if words.lower() in _UNITS else None


def _counted(name: str, thing: str) -> list[int]:
    """What a page says about how many of something there are."""
    text = re.sub(r"[*\[]|\s+", lambda m: " " if m[0].isspace() else "", (ROOT / name).read_text(encoding="utf-8"))
    words = re.findall(rf"([A-Za-z]+(?:-[a-z]+)?) {thing}", text)
    return [number for number in map(_number, words) if number is not None]


def test_counts_on_the_front_pages_are_those_of_the_registries():
    from dalembert.formulations import FORMULATIONS
    from dalembert.joints import JOINTS
    from dalembert.library import LIBRARY

    assert _number("twenty-two") == 22 and _number("Nineteen") == 19 and _number("many") is None
    for page in ("README.md", "docs/index.md"):
        assert _counted(page, "formulations") == [len(FORMULATIONS)], page
        assert _counted(page, "bundled mechanisms") == [len(LIBRARY)], page
    assert _counted("CHANGELOG.md", "kinds of joints") == [len(JOINTS)]
    assert _counted("CHANGELOG.md", "bundled mechanisms") == [len(LIBRARY)]


def test_modules_of_the_measured_walk_exist():
    page = (DOCS / "contributing" / "architecture.md").read_text(encoding="utf-8")
    walk = page.split("<!-- measured: walk -->")[1].split("<!-- end -->")[0]
    steps = re.findall(r"^\| `(\w+)\.(\w+)", walk, re.MULTILINE)
    rooms = re.findall(r"\*\*([\w.]+)\*\*([\w, ]*)", walk)
    entered = [(room, file) for room, files in rooms for file in files.strip().split(", ")]
    assert len(steps) > 5 and len(entered) > 20
    for room, file in {*steps, *entered}:
        place = ROOT / "src" / "dalembert" / room.replace(".", "/") / file
        there = place.with_suffix(".py").exists() or (place / "__init__.py").exists()
        assert there, f"{room}.{file}: run python docs/walk.py"


def _slug(heading: str) -> str:
    """The anchor that MkDocs gives a heading."""
    text = re.sub(r"[^\w\s-]", "", re.sub(r"[`*]", "", heading)).strip().lower()
    return re.sub(r"[\s-]+", "-", text)


def _anchors(page: Path) -> set[str]:
    return {_slug(heading) for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_links_resolve(page: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_without_code(page)):
        if re.match(r"[a-z]+://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path).resolve()
        assert file.exists(), f"{target} does not exist"
        assert not anchor or anchor in _anchors(file), f"{target}: no such heading"


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", text))
    assert listed == {str(page.relative_to(DOCS)) for page in PAGES if page.is_relative_to(DOCS)}


@pytest.mark.parametrize("page", [p for p in PAGES if "theory" in p.parts], ids=_id)
def test_equations_are_numbered_once_and_in_order(page: Path):
    number = re.match(r"# (F?\d+)\. ", page.read_text(encoding="utf-8"))
    assert number, "a theory page has a number"
    found = re.findall(r"  \((F?\d+)\.(\d+)\)$", "\n".join(b.text for b in blocks(page, "text")), re.MULTILINE)
    assert [chapter for chapter, _ in found] == [number[1]] * len(found)
    assert [int(index) for _, index in found] == list(range(1, len(found) + 1))


def test_theory_pages_have_different_numbers():
    numbers = [page.read_text(encoding="utf-8").split(".", 1)[0] for page in PAGES if "theory" in page.parts]
    assert len(set(numbers)) == len(numbers)


def test_cited_equations_exist():
    known, cited = set(), []
    for page in PAGES:
        if "theory" in page.parts:
            code = "\n".join(block.text for block in blocks(page, "text"))
            known |= set(re.findall(r"  \((F?\d+\.\d+)\)$", code, re.MULTILINE))
        cited += [(page, number) for number in re.findall(r"\((F?\d+\.\d+)\)", text_without_code(page))]
    assert known
    assert cited
    missing = [(_id(page), number) for page, number in cited if number not in known]
    assert not missing


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "yaml")], ids=_id)
def test_models_in_yaml_load(page: Path):
    for block in blocks(page, "yaml"):
        model = io.loads(block.text, name=f"{_id(page)} (block at line {block.line})")
        model.validate()
        assert io.loads(io.dumps(model)) == model


def test_no_page_needs_the_network_to_be_read():
    """No scripts, fonts or pictures from elsewhere; links for the reader are fine."""
    for page in PAGES:
        text = text_without_code(page)
        assert not re.search(r"<script|!\[[^\]]*\]\(https?:|@import", text), _id(page)
    assert "font: false" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
