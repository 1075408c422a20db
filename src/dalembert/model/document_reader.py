"""Elements from plain data: what is wrong is kept with its place, and the rest is read all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ValidationError

from dalembert.elements import Record
from dalembert.errors import Problem
from dalembert.model.fields import clip, in_words, inside, kind_of, nearest, refused, steps_of, unknown_kind
from dalembert.model.validate_scope import where_of
from dalembert.values import DICT, LIST

__all__ = ["DocumentReader", "clip", "explain", "kind_of", "path_of"]

MAX_MESSAGE = 300  # characters of a message; what an untrusted file says is quoted in it


class DocumentReader:
    """Reads the elements of a document, section by section, and keeps what is wrong.

    Attributes:
        titles: what an element of each section is called.
        classes: the class of a section with one kind of elements.
        kinds: the classes of other sections, by what ``kind`` says.
        sources: file and line of a path.
        found: what is wrong so far.
    """

    titles: ClassVar[Mapping[str, str]]
    classes: ClassVar[Mapping[str, type[Record]]]
    kinds: ClassVar[Mapping[str, Mapping[str, type[Record]]]]

    def __init__(self, sources: dict[str, str]):
        self.sources = sources
        self.found: list[Problem] = []

    def report(self, path: str, message: str, fix: str = "") -> None:
        message, fix = (
            text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + "..." for text in (message, fix)
        )
        where = where_of(self.sources, path) or self.sources.get("", "")
        self.found.append(Problem(f"{message}.", path, fix, where))

    def items(self, section: str, given: Any, path: str) -> list[Any] | None:
        """What stands in a section; None, and a report, if it is no list."""
        if given is None or isinstance(given, LIST):
            return given or []
        self.report(path, f"{section}: expected a list, got {kind_of(given)}", f"{section}: [{{name: …}}]")
        return None

    def element(self, section: str, item: Any, path: str) -> Any:
        """One element, or None, with everything that is wrong reported."""
        title = self.titles[section]
        if not isinstance(item, DICT):
            self.report(path, f"{title}: expected fields such as name: …, got {kind_of(item)}", "- name: …")
            return None
        if isinstance(item.get("name"), str):
            title += f" {clip(item['name'])!r}"
        kind = self.kind(section, item, path, title)
        if kind is None:
            return None
        try:
            return kind.model_validate(self.prepared(section, dict(item), path))
        except ValidationError as error:
            for part in error.errors():
                self.report_part(kind, item, part, path, title)
        return None

    def prepared(self, section: str, item: dict[str, Any], path: str) -> dict[str, Any]:
        """The fields of an element as its class takes them."""
        return item

    def kind(self, section: str, item: dict[str, Any], path: str, title: str) -> type[Record] | None:
        """The class of an element; None, and a report, if its kind is unknown."""
        if section in self.classes:
            return self.classes[section]
        known, given = self.kinds[section], item.get("kind")
        if isinstance(given, str) and given in known:
            return known[given]
        fix = nearest(given, known)
        if given is None:
            self.report(path, f"{title}: kind is missing", fix)
        else:
            self.report(f"{path}.kind", f"{title}: unknown kind {clip(given)!r}", fix)
        return None

    def report_part(self, kind: type[Record], item: dict[str, Any], part: Any, path: str, title: str) -> None:
        """One complaint of pydantic about an element."""
        if part["type"] == "extra_forbidden" and len(part["loc"]) == 1:
            key = part["loc"][0]
            self.report(f"{path}.{clip(key)}", *refused(kind, title, key, item.get("kind")))
            return
        steps, message, fix = explain(kind, part)
        if part["type"] == "missing":
            outer = path_of(steps_of(part)[0][:-1])
            self.report(f"{path}.{outer}".rstrip("."), f"{title}: {steps} {message}", fix)
        else:
            what = f"{title}: {steps}" if steps else title
            self.report(f"{path}.{steps}".rstrip("."), f"{what}: {message}", fix)


def path_of(steps: Any) -> str:
    """``shapes[0].size`` from ("shapes", 0, "size")."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{clip(step)}" if text else clip(step)
    return text


def explain(kind: type[Record] | None, part: Any) -> tuple[str, str, str]:
    """Path, message and fix of one complaint of pydantic."""
    # pydantic names the branch of a union or the key of a dictionary it tried; a reader of the file does not.
    where, solid = steps_of(part)
    steps = [step for step in where if step != "[key]"]
    message, fix = in_words(part), ""
    if part["type"] == "extra_forbidden":
        message = "unknown field"
        known = inside(kind, steps) if solid is None else solid.model_fields
        fix = nearest(steps[-1], [key for key in known if key != "kind"]) if known else ""
    elif part["type"] == "missing":
        message = "is missing"
        field = None if kind is None else (solid or kind).model_fields.get(str(steps[-1]))
        fix = "" if field is None or not field.description else f"add {steps[-1]}: {field.description}"
    elif part["type"].startswith("union_tag"):
        message, fix = unknown_kind(part)
    return path_of(steps), message, fix
