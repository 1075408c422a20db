"""Every Python block of the documentation runs: the blocks of a page one after the other, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from docs_pages import ROOT, blocks, pages

TIMEOUT = 300  # seconds for one page, compilation on a busy machine included

# Pages that take more than about ten seconds with an empty cache.
SLOW: set[str] = set()


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


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled code is shared between pages, and not with anything else."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("page", _parameters())
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, cache: Path):
    script = tmp_path / page.name.replace(".md", ".py")
    script.write_text(_script(page), encoding="utf-8")
    source = str(ROOT / "src")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")])),
        "DALEMBERT_CACHE_DIR": str(cache),
        "MPLBACKEND": "agg",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", script.name],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{page.relative_to(ROOT)}\n{done.stderr[-3000:]}"
