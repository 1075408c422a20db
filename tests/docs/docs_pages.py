"""The pages of the documentation, and what can be run in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DOCS", "ROOT", "Block", "blocks", "pages", "text_without_code"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text and the line of the page on which the text starts."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """Every page, and the README if there is one."""
    found = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
    return [page for page in found if page.exists()]


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page in some languages."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent, language, body = match.groups()
        if language in languages:
            body = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
            found.append(Block(language, body, text.count("\n", 0, match.start(3)) + 1))
    return found


def text_without_code(page: Path) -> str:
    """A page without its fenced blocks and code spans, for whoever looks for links."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", "", text)
