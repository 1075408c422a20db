"""How models, runs and pages show themselves in a notebook: a page of ours in a frame, without a server or a widget."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, ViewError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["HEIGHT", "Page", "frame", "shown", "use"]

HEIGHT = 560  # of a frame (px)

# Given by the package itself: what makes the page of a model. A model knows nothing of pages.
_makers: dict[str, Callable[[Any], str]] = {}


def frame(page: str, height: int = HEIGHT) -> str:
    """A whole page as a piece of another one: a frame of its own origin, which can reach neither the notebook nor the
    network."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{int(height)}px;border:1px solid #8884;border-radius:6px"></iframe>'
    )


class Page:
    """A page that shows itself in a notebook; ``save`` writes it.

    Attributes:
        html: the whole page.
    """

    def __init__(self, html: str, title: str):
        self.html, self.title = html, title

    def save(self, path: str | Path) -> Path:
        """Write it to a file."""
        # Not needed to show it, and ``import dalembert`` comes along here.
        from dalembert.atomic import check_suffix, write_atomic

        check_suffix(path, "pages are written as HTML", ".html", ".htm", error=ViewError)
        return write_atomic(path, self.html, ViewError)

    def __repr__(self) -> str:
        return f"<Page {self.title!r}: {len(self.html.encode()) / 1e3:.0f} kB of HTML>"

    def _repr_html_(self) -> str:
        return frame(self.html)


def use(kind: str, maker: Callable[[Any], str]) -> None:
    """Let objects of a kind be shown by the page that ``maker`` makes."""
    _makers[kind] = maker


def shown(kind: str, thing: Any) -> str:
    """An object as a notebook shows it: its page, or its text and the reason why it has none."""
    try:
        return frame(_makers[kind](thing))
    except DalembertError as error:
        return f"<pre>{html.escape(repr(thing) + chr(10) + str(error))}</pre>"
