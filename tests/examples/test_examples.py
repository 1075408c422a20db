"""Every example runs, keeps its own assertions, and leaves pictures."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from support.scripts import run_script

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
PROBLEMS = sorted((ROOT / "examples").glob("12_equations_by_hand/[0-9]*.py"))
PARTS = sorted((ROOT / "examples").glob("14_parts_to_whole/*.py"))
SLOW = {
    "07_stewart_platform.py",
    "linear_pendulums.py",
    "rr_mechanism.py",
    "tricycle.py",
}  # some seconds of compiling or linearizing
FRESH = {"01_pendulum.py"}  # in a new interpreter; the others in one that has NumPy and the like imported


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, id=path.name, marks=pytest.mark.slow if path.name in SLOW else ()) for path in EXAMPLES],
)
def test_example(example, tmp_path):
    run(example, tmp_path)
    for suffix in (".png", ".html"):
        picture = tmp_path / example.with_suffix(suffix).name
        assert picture.stat().st_size > 10_000


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda path: path.name)
def test_problem(problem, monkeypatch, capsys):
    """Problems check their numbers themselves and print a short result; no files, so they share this process."""
    monkeypatch.syspath_prepend(str(problem.parent))
    runpy.run_path(str(problem))
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    "example", [pytest.param(p, id=p.name, marks=pytest.mark.slow if p.name in SLOW else ()) for p in PARTS]
)
def test_parts(example, tmp_path, monkeypatch, capsys):
    """Systems made of parts check their numbers themselves, print a short result and leave a picture."""
    monkeypatch.setenv("DALEMBERT_EXAMPLES_OUT", str(tmp_path))
    runpy.run_path(str(example))
    assert capsys.readouterr().out.strip()
    assert all(picture.stat().st_size > 10_000 for picture in tmp_path.glob("*.png"))


def run(example: Path, folder: Path) -> str:
    """What a script prints, once it has run to its end."""
    result = run_script(example, folder, timeout=1800, fresh=example.name in FRESH, DALEMBERT_EXAMPLES_OUT=str(folder))
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_examples_are_listed():
    readme = (ROOT / "examples" / "README.md").read_text()
    assert len(EXAMPLES) >= 8 and len(PROBLEMS) == 10 and len(PARTS) >= 3
    assert all(f"`{path.name}`" in readme for path in (*EXAMPLES, *PROBLEMS, *PARTS))
