"""Every Python block of the documentation runs: the blocks of a page one after the other, in an empty folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.scripts import run_script

sys.path.insert(0, str(Path(__file__).parent))
from docs_pages import ROOT, blocks, pages

TIMEOUT = 1800  # seconds for one page: only one that hangs takes so long

# Pages that take more than about four seconds with an empty cache.
SLOW = {
    "docs/agreement.md",
    "docs/how-to/assemble.md",
    "docs/how-to/batch.md",
    "docs/how-to/bench.md",
    "docs/how-to/c-code.md",
    "docs/how-to/choosing.md",
    "docs/how-to/compare.md",
    "docs/how-to/equilibrium.md",
    "docs/how-to/fmu.md",
    "docs/how-to/ignorable-coordinates.md",
    "docs/how-to/inverse-dynamics.md",
    "docs/how-to/kinematics.md",
    "docs/how-to/linearize.md",
    "docs/how-to/live.md",
    "docs/how-to/long-runs.md",
    "docs/how-to/parameters.md",
    "docs/how-to/planar.md",
    "docs/how-to/redundancy.md",
    "docs/how-to/rolling.md",
    "docs/how-to/saving.md",
    "docs/how-to/states.md",
    "docs/how-to/sweep.md",
    "docs/reference/api.md",
    "docs/theory/analytical.md",
    "docs/theory/formulations/hamilton.md",
    "docs/theory/formulations/modular.md",
    "docs/tutorials/motor.md",
    "docs/tutorials/rest.md",
}

# Pages that a reader meets first run in a new interpreter, the others in one that has NumPy and the like imported.
FRESH = {"README.md"}


def _script(page: Path) -> str:
    """One program; a failing line has its number on the page."""
    lines: list[str] = []
    for block in blocks(page, "python"):
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.text.splitlines()
    return "\n".join(lines) + "\n"


def _parameters() -> list:
    named = [(str(page.relative_to(ROOT)), page) for page in pages() if blocks(page, "python")]
    return [pytest.param(page, id=name, marks=[pytest.mark.slow] if name in SLOW else []) for name, page in named]


@pytest.mark.parametrize("page", _parameters())
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path):
    script = tmp_path / page.name.replace(".md", ".py")
    script.write_text(_script(page), encoding="utf-8")
    done = run_script(script, tmp_path, timeout=TIMEOUT, fresh=page.name in FRESH)
    assert done.returncode == 0, f"{page.relative_to(ROOT)}\n{done.stderr[-3000:]}"
