"""One self-contained HTML file from a scene: our viewer, its data and three.js, no network."""

from __future__ import annotations

import base64
import hashlib
import html as escaping
import importlib.util
import os
import re
from functools import cache
from importlib import resources
from pathlib import Path

from dalembert.atomic import write_atomic
from dalembert.errors import ViewError
from dalembert.view.check import check
from dalembert.view.payload import json_text, payload
from dalembert.view.scene import Scene

__all__ = ["html", "write_html"]

_SCRIPTS = ("data.js", "shapes.js", "camera.js", "stage.js", "plots.js", "viewer.js")
_LIBRARY = "viewer/dist/main.min.js"
_LICENSES = "viewer/dist/main.min.js.THIRD_PARTY_LICENSES.json"


def html(scene: Scene) -> str:
    """The page as text.

    The content security policy admits only the scripts whose hashes are written here and forbids every
    network access.

    Raises:
        SceneError: the scene is inconsistent (lengths, NaN, unknown bodies, ...); lists every problem.
        ViewError: the installed meshcat does not contain three.js.
    """
    check(scene)
    guard = _asset("guard.js")
    library = _library(_LIBRARY)
    viewer = '(() => {\n"use strict";\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();"
    title = escaping.escape(str(scene.title) or "dalembert")
    parts = {
        "policy": _policy(guard, library, viewer),
        "title": title.encode("ascii", "xmlcharrefreplace").decode("ascii"),
        "style": _asset("viewer.css"),
        "guard": guard,
        "library": library,
        "viewer": viewer,
        "data": json_text(payload(scene)),
        "licenses": json_text(_library(_LICENSES)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("viewer.html"))


def write_html(scene: Scene, path: str | os.PathLike[str]) -> Path:
    """Write the page of ``scene`` to ``path``, whole or not at all.

    Raises:
        SceneError: the scene is inconsistent; nothing is written.
        ViewError: the path cannot be written.
    """
    return write_atomic(path, html(scene), ViewError)


def _policy(*scripts: str) -> str:
    """Content security policy that runs these inline scripts, by hash, and nothing else.

    Styles stay inline because the library adds a style element of its own.
    """
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _asset(name: str) -> str:
    """Text of one of our own files, with the line ends that an HTML parser makes of them."""
    text = (resources.files("dalembert.view") / "assets" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


@cache
def _library(name: str) -> str:
    """Text of a file that the meshcat distribution ships; meshcat itself is not imported."""
    spec = importlib.util.find_spec("meshcat")
    folders = [] if spec is None else spec.submodule_search_locations or []
    for folder in folders:
        file = Path(folder) / name
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace("\r\n", "\n")
            if re.search(r"</script|<!--", text, re.IGNORECASE):
                raise ViewError(f"{file} cannot be put inline: it contains a script end tag or a comment start")
            return text
    raise ViewError(f"three.js not found: meshcat/{name} is missing.  Fix: pip install --force-reinstall meshcat")
