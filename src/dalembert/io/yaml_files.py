"""Models in YAML: text to model and back, with sub-models in files of their own."""

from __future__ import annotations

import io
from pathlib import Path, PureWindowsPath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from dalembert.atomic import write_atomic
from dalembert.errors import ModelError, Problem
from dalembert.io.yaml_data import MAX_BYTES, MAX_NODES, Parsed, decode, parse_yaml, scalar
from dalembert.model import Model
from dalembert.model.document import UNREAD, from_document, to_document
from dalembert.model.model import MAX_SUBMODEL_DEPTH
from dalembert.planar import Planar
from dalembert.planar.planar_document import from_planar_document, is_planar
from dalembert.values import DICT, LIST

__all__ = ["SUFFIXES", "dumps", "loads", "read", "write"]

SUFFIXES = (".yaml", ".yml")
MAX_TOTAL_BYTES = 4 * MAX_BYTES
MAX_SUBMODELS = 1000  # read from files, each counted as often as it is used
LINE_WIDTH = 110


class _TooMuch(ModelError):
    """A bound on the whole model is broken; there is no going on around it."""


def read(path: Path) -> Model | Planar:
    """The model, or the planar mechanism, of a YAML file."""
    try:
        raw = _first_bytes(path)
    except OSError as error:
        raise ModelError(Problem(f"cannot read {str(path)!r}: {error.strerror or error}")) from None
    parsed = parse_yaml(decode(raw, path.name), path.name)
    files = _Files(path.resolve().parent, parsed, len(raw))
    return _build(files.expand(parsed, path.resolve(), (path.resolve(),)))


def loads(text: str, name: str = "<text>") -> Any:
    """The model, or the planar mechanism, of a YAML text; ``name`` stands for the file in errors."""
    parsed = parse_yaml(decode(text.encode("utf-8", "surrogatepass"), name), name)
    return _build(_Files(None, parsed, 0).expand(parsed, None, ()))


def _first_bytes(path: Path) -> bytes:
    """Not more of a file than tells that it is too large."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _build(parsed: Parsed) -> Model | Planar:
    """Structure, mechanics and YAML: what is wrong with each, in one error."""
    found = list(parsed.problems)
    build = from_planar_document if is_planar(parsed.data) else from_document
    try:
        model = build(parsed.data, parsed.lines)
    except ModelError as error:
        raise ModelError(found + error.problems) from None
    if found:
        raise ModelError(found)
    return model


class _Files:
    """Puts sub-models that are given as ``file:`` in their place.

    Args:
        root: folder of the outermost file, which no other file may lie outside of; None for a text.
        top: the outermost document.
        size: its bytes.
    """

    def __init__(self, root: Path | None, top: Parsed, size: int):
        self.root, self.top = root, top
        self.bytes, self.nodes, self.count = size, top.nodes, 0
        self.known: dict[Path, Parsed] = {}

    def expand(self, parsed: Parsed, file: Path | None, line: tuple[Path, ...]) -> Parsed:
        """The document with every sub-model in its place."""
        result = Parsed(parsed.data, dict(parsed.lines), parsed.nodes, list(parsed.problems))
        result.data = self._model(parsed.data, "", result, file, line)
        return result

    def _model(self, data: Any, at: str, result: Parsed, file: Path | None, line: tuple[Path, ...]) -> Any:
        subs: Any = data.get("submodels") if isinstance(data, DICT) else None
        if not isinstance(subs, LIST):
            return data
        filled = [self._sub(sub, f"{at}submodels[{i}]", result, file, line) for i, sub in enumerate(subs)]
        return {**data, "submodels": filled}

    def _sub(self, sub: Any, path: str, result: Parsed, file: Path | None, line: tuple[Path, ...]) -> Any:
        if not isinstance(sub, DICT):
            return sub
        if "file" not in sub:
            inner = self._model(sub.get("model"), f"{path}.model.", result, file, line)
            return {**sub, "model": inner} if "model" in sub else sub
        where = result.lines.get(f"{path}.file", "")
        try:
            if "model" in sub:
                raise ModelError(Problem("give file or model, not both.", f"{path}.file", "remove one of them", where))
            target, parsed = self._open(sub["file"], f"{path}.file", where, file, line)
            inside = self.expand(parsed, target, (*line, target))
        except _TooMuch:
            raise
        except ModelError as error:
            result.problems += error.problems
            return {key: value for key, value in sub.items() if key != "file"} | {"model": UNREAD}
        for key, place in inside.lines.items():
            result.lines[f"{path}.model.{key}" if key else f"{path}.model"] = place
        result.problems += [
            Problem(part.message, f"{path}.model.{part.path}".rstrip("."), part.fix, part.where)
            for part in inside.problems
        ]
        return {key: value for key, value in sub.items() if key != "file"} | {"model": inside.data}

    def _open(
        self, given: Any, path: str, where: str, file: Path | None, line: tuple[Path, ...]
    ) -> tuple[Path, Parsed]:
        def refuse(message: str, fix: str = "") -> ModelError:
            return ModelError(Problem(f"{message}.", path, fix, where))

        if not isinstance(given, str) or not given:
            raise refuse("file must be the name of a model file", "file: wheel.yaml")
        if self.root is None or file is None:
            raise refuse("file cannot be used in a text that has no folder", "give the sub-model in place, as model: …")
        name = given if len(given) <= 80 else given[:77] + "..."
        if Path(given).is_absolute() or PureWindowsPath(given).drive or given.startswith(("/", "\\", "~")):
            raise refuse(f"file {name!r} must be relative to this file", "file: wheel.yaml")
        try:
            target = (file.parent / given).resolve()
            inside, exists = target.is_relative_to(self.root), target.is_file()
        except (OSError, RuntimeError, ValueError):
            raise refuse(f"file {name!r} cannot be opened") from None
        if not inside:
            raise refuse(f"file {name!r} lies outside the folder of the model", "put it next to the model")
        if target.suffix.lower() not in SUFFIXES:
            raise refuse(f"file {name!r} must be a YAML file", "file: wheel.yaml")
        if not exists:
            raise refuse(f"there is no file {name!r} next to the model", "check the name")
        if target in line:
            names = " → ".join(part.name for part in [*line[line.index(target) :], target])
            raise refuse(f"the model contains itself: {names}", "use two different files")
        if len(line) > MAX_SUBMODEL_DEPTH:
            raise _TooMuch(refuse(f"sub-models nested deeper than {MAX_SUBMODEL_DEPTH}").problems)
        parsed = self._parse(target, refuse)
        self.nodes += parsed.nodes
        self.count += 1
        if self.nodes > MAX_NODES or self.count > MAX_SUBMODELS:
            what = f"{MAX_NODES} values" if self.nodes > MAX_NODES else f"{MAX_SUBMODELS} sub-models"
            raise _TooMuch(refuse(f"more than {what} in all files", "build large models in Python").problems)
        return target, parsed

    def _parse(self, target: Path, refuse: Any) -> Parsed:
        if target not in self.known:
            assert self.root is not None
            try:
                raw = _first_bytes(target)
            except OSError as error:
                raise refuse(f"cannot read {target.name!r}: {error.strerror or error}") from None
            self.bytes += len(raw)
            if self.bytes > MAX_TOTAL_BYTES:
                raise _TooMuch(refuse(f"all files hold more than {MAX_TOTAL_BYTES // 1_000_000} MB").problems)
            name = target.relative_to(self.root).as_posix()
            self.known[target] = parse_yaml(decode(raw, name), name)
        return self.known[target]


# Text


def write(model: Model | Planar, path: Path) -> None:
    """Write a model or a planar mechanism as YAML."""
    write_atomic(path, dumps(model), ModelError)


def dumps(model: Model | Planar) -> str:
    """The model or planar mechanism as YAML text, which ``loads`` reads back to an equal model."""
    yaml = YAML(typ="rt", pure=True)
    yaml.width = LINE_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.allow_unicode = True
    out = io.StringIO()
    yaml.dump(_styled(to_document(model) if isinstance(model, Model) else model.to_data()), out)
    return out.getvalue()


def _styled(value: Any) -> Any:
    """Lists of numbers on one line, texts quoted where they would be read as something else."""
    if isinstance(value, DICT):
        return CommentedMap((_styled(key), _styled(item)) for key, item in value.items())
    if isinstance(value, LIST):
        items = CommentedSeq(_styled(item) for item in value)
        if not _holds_mapping(value):
            items.fa.set_flow_style()
        return items
    if isinstance(value, str):
        return value if _is_plain(value) else DoubleQuotedScalarString(value)
    return value


def _holds_mapping(value: Any) -> bool:
    return isinstance(value, DICT) or (isinstance(value, LIST) and any(map(_holds_mapping, value)))


def _is_plain(text: str) -> bool:
    try:
        return isinstance(scalar(text), str) and text.isprintable()
    except ValueError:
        return False
