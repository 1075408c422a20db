"""The page that walks through the thesis line by line names tests, examples and calls that exist."""

from __future__ import annotations

import re
from pathlib import Path

import dalembert as da

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory" / "modular-coverage.md").read_text()


def test_every_test_on_the_page_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 100
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / "tests" / file).read_text()]
    assert not missing


def test_every_capability_and_check_has_a_row() -> None:
    assert re.findall(r"^\| (C\d+) \|", PAGE, re.M) == [f"C{k}" for k in range(1, 27)]
    assert re.findall(r"^\| (\d+) \|", PAGE, re.M) == [str(k) for k in range(1, 25)]


def test_examples_and_library_models_on_the_page_exist() -> None:
    folder = ROOT / "examples" / "14_parts_to_whole"
    scripts = set(re.findall(r"`(\w+\.py)`", PAGE))
    assert {path.name for path in folder.glob("*.py")} == scripts
    for name in re.findall(r"`da\.library\.(\w+)\(\)`", PAGE):
        assert hasattr(da.library, name)
