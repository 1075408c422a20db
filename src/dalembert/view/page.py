"""One self-contained HTML file from a scene: our viewer and its data, no network."""

from __future__ import annotations

import base64
import hashlib
import html as escaping
import os
import re
from importlib import resources
from pathlib import Path

from dalembert.atomic import check_suffix, write_atomic
from dalembert.errors import ViewError
from dalembert.view.check import check
from dalembert.view.payload import json_text, payload
from dalembert.view.scene import Scene

__all__ = ["asset", "compose", "html", "player", "write_html"]


def html(scene: Scene) -> str:
    """The page as text.

    The content security policy admits only the scripts and the style whose hashes are written here and forbids
    every network access.

    Raises:
        SceneError: the scene is inconsistent (lengths, NaN, unknown bodies, ...); lists every problem.
    """
    check(scene)
    return compose(str(scene.title), payload(scene), [*player(scene), asset("dalembert.view", "start.js")])


def player(scene: Scene) -> list[str]:
    """The scripts that draw a scene."""
    names = ["data.js", "space.js", "solids.js", "renderer.js", "shapes.js"]
    names += ["springs.js"] * bool(scene.springs) + ["belts.js"] * bool(scene.belts)
    return [asset("dalembert.view", name) for name in (*names, "camera.js", "stage.js", "plots.js", "viewer.js")]


def compose(title: str, data: object, scripts: list[str], style: str = "", **more: str) -> str:
    """A page of our player.

    Args:
        data: what the scripts read.
        scripts: one after the other in one function.
        style: besides that of the player.
        more: ``controls`` and ``verdict``, pieces of HTML, and ``policy``, further directives.
    """
    guard, style = asset("dalembert.view", "guard.js"), asset("dalembert.view", "viewer.css") + style
    viewer = '(() => {\n"use strict";\n' + "\n".join(scripts) + "\n})();"
    rules = more.get("policy", "")
    parts = {
        "policy": _policy([guard, viewer], style, "'wasm-unsafe-eval' " if rules else "") + rules,
        "title": escaping.escape(title or "dalembert").encode("ascii", "xmlcharrefreplace").decode("ascii"),
        "style": style,
        "guard": guard,
        "viewer": viewer,
        "data": json_text(data),
        "controls": more.get("controls", ""),
        "verdict": more.get("verdict", ""),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset("dalembert.view", "viewer.html"))


def write_html(scene: Scene, path: str | os.PathLike[str]) -> Path:
    """Write the page of ``scene`` to ``path``, whole or not at all.

    Raises:
        SceneError: the scene is inconsistent; nothing is written.
        ViewError: the path cannot be written.
    """
    check_suffix(path, "animations are written as pages", ".html", ".htm", error=ViewError)
    return write_atomic(path, html(scene), ViewError)


def _policy(scripts: list[str], style: str, more: str = "") -> str:
    """Content security policy that takes these inline scripts and this style, by hash, and nothing else."""
    hashes = " ".join(_source(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {more}{hashes}; style-src {_source(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    """An inline text as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def asset(room: str, name: str) -> str:
    """Text of one of our own files, with the line ends that an HTML parser makes of them."""
    text = _squeezed((resources.files(room) / "assets" / name).read_text(encoding="utf-8").replace("\r\n", "\n"))
    if name.endswith(".js"):
        return _tightened(text)
    # A style sheet needs no blanks beside its signs, and no semicolon before the end of a rule.
    return re.sub(r"(?<=[{:,;}])[ \n]| (?=\{)|;[ \n]*(?=\})", "", text) if name.endswith(".css") else text


def _squeezed(text: str) -> str:
    """Without indentation and without lines that are remarks only: a third of a page would be for nobody to read."""
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not re.match(r"//|/\*.*\*/$", line))


# A text or a pattern; the begin of a template; a remark at the end of a line; a blank or a line end beside a sign that
# needs none, nor a last statement its semicolon. Plus and minus need theirs only beside another one.
_PATTERN = r"/(?![ /*])(?:\\.|\[[^\]]*\]|[^/\n])+/"
_PIECE = re.compile(
    rf"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?<=[(=,] ){_PATTERN}|(?<=\(){_PATTERN})|(`)"""
    r"| // [^\n]*| (?=[=*<>(){}\[\],;:?&|!])|(?<=[=*<>(){}\[\],;:?&|!]) |(?<=[{;,(\[])\n"
    r"|(?<=[\w)\]]) (?=[-+] [\w(\[])|(?<=[\w)\]] [-+]) (?=[\w(\[])|(?<=\})\n(?=\})"
    r"|;(?=\n\})"
)


def _tightened(text: str) -> str:
    """A script without blanks that it does not need; texts and templates stay."""
    parts: list[str] = []
    at = 0
    while found := _PIECE.search(text, at):
        end = _template_end(text, found.start()) if found[2] else found.end()
        parts += [text[at : found.start()], text[found.start() : end] if found[1] or found[2] else ""]
        at = end
    return "".join(parts) + text[at:]


def _template_end(text: str, at: int) -> int:
    """Where a template ends that begins here; there may be others in what it puts in."""
    at, depth = at + 1, 0
    while text[at] != "`" or depth:
        if text[at] == "`":
            at = _template_end(text, at)
            continue
        if text[at] == "\\":
            at += 1
        elif text.startswith("${", at) or (depth and text[at] == "{"):
            depth += 1
            at += text.startswith("${", at)
        elif depth and text[at] == "}":
            depth -= 1
        at += 1
    return at + 1
