"""The gallery: every mechanism of the library as a page that simulates, made when the documentation is built.

    python docs/gallery.py FOLDER              all pages into a folder
    python docs/gallery.py FOLDER four-bar     these

``mkdocs build`` calls ``on_post_build``. Pages are some hundred kilobytes each and follow from the code, so that they
are not kept with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = "gallery"
LONGEST = 40  # formula of a drive that a page offers to change
METHODS = ("tsit5", "rk4")  # in the menus of the pages, besides the method that each run chose
FEW = 6  # velocities up to which there is radau besides: the Jacobian of a large mechanism would double its page


def names() -> list[str]:
    """All mechanisms of the library."""
    from dalembert import library

    return [*library.LIBRARY, *library.PLANAR]


def make(folder: Path, chosen: Sequence[str] | None = None) -> list[Path]:
    """Write the pages."""
    from dalembert import library, simulate

    folder.mkdir(parents=True, exist_ok=True)
    return [
        _page(simulate(library.build(name), library.duration(name)), folder / f"{name}.html")
        for name in (names() if chosen is None else chosen)
    ]


def _page(run: Any, path: Path) -> Path:
    """The page that simulates; of what needs Python, such as rigid contacts, the run that was recorded."""
    from dalembert.export.portable import needs_python

    return (
        run.animate(path)
        if needs_python(run.dynamics.flat)
        else run.live(
            path,
            integrators=(*METHODS, "radau") if run.dynamics.nv <= FEW else METHODS,
            motions=_motions(run.dynamics.model),
        )
    )


def recorded() -> list[str]:
    """Mechanisms whose pages play a run that was recorded, since something in them needs Python."""
    from dalembert import library
    from dalembert.export.portable import needs_python
    from dalembert.model import flatten

    found = {name: library.build(name) for name in names()}
    models = {name: one.to_model() if name in library.PLANAR else one for name, one in found.items()}
    return [name for name, model in models.items() if needs_python(flatten(model))]


def _motions(model: Any) -> list[str]:
    """Drives with formulas that are short enough to be read in a page."""
    return [one.name for one in model.constraints if one.kind == "drive" and len(str(one.motion)) <= LONGEST]


def on_post_build(config: Any, **_: Any) -> None:
    """The pages beside the built documentation."""
    make(Path(config["site_dir"]) / FOLDER)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for page in make(Path(sys.argv[1]), sys.argv[2:] or None):
        print(page)
