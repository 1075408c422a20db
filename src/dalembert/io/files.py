"""Files by their suffix: which reader, which writer, and clear words when there is no file."""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dalembert.arguments import public
from dalembert.errors import ModelError, Problem, did_you_mean
from dalembert.io import robot_files, yaml_files
from dalembert.model import Model
from dalembert.planar import Planar

__all__ = ["READERS", "WRITERS", "read", "register", "write"]

READERS: dict[str, Callable[..., Any]] = {}
WRITERS: dict[str, Callable[[Any, Path], None]] = {}

_PATHS: tuple[type[Any], ...] = (str, os.PathLike)


def register(
    suffix: str,
    reader: Callable[..., Any] | None = None,
    writer: Callable[[Any, Path], None] | None = None,
) -> None:
    """Tell which function reads or writes files with a suffix such as ``.urdf``."""
    if reader is not None:
        READERS[suffix.lower()] = reader
    if writer is not None:
        WRITERS[suffix.lower()] = writer


for _suffix in yaml_files.SUFFIXES:
    register(_suffix, yaml_files.read, yaml_files.write)
for _suffix in robot_files.SUFFIXES:
    register(_suffix, robot_files.read)


@public
def read(path: str | os.PathLike[str], **options: Any) -> Any:
    """The model of a file, or the planar mechanism (``kind: planar``); the suffix says how it is written.

    Args:
        path: a file: ``.yaml``, or URDF or MJCF (``.urdf``, ``.xml``).
        options: of the reader; robot files (URDF, MJCF) have some, see ``dalembert.io.robot_files``, YAML has none.

    Raises:
        ModelError: listing everything that is wrong with the file.

    Warns:
        ReadWarning: what a robot file says and the model does not hold; also in ``model.notes``.

    Example:
        da.write(da.library.four_bar(), "four-bar.yaml")
        model = da.read("four-bar.yaml")
    """
    path = _path(path)
    _check_file(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ModelError(_unknown_suffix(path, READERS, "read"))
    known = list(inspect.signature(reader).parameters.values())[1:]
    unknown = [name for name in options if name not in [part.name for part in known]]
    if unknown and not any(part.kind is part.VAR_KEYWORD for part in known):
        raise ModelError(Problem(f"{path.name!r}: {path.suffix} files are read without option {', '.join(unknown)}"))
    return reader(path, **options)


@public
def write(model: Model | Planar, path: str | os.PathLike[str]) -> None:
    """Write a model or a planar mechanism to a file; the suffix says how.

    Args:
        model: a model or a planar mechanism.
        path: the file, such as ``x.yaml``.

    Example:
        da.write(da.library.slider_crank(), "slider-crank.yaml")
    """
    if not isinstance(model, (Model, Planar)):
        raise ModelError(Problem(f"expected a model to write, got {model!r}", fix="da.write(model, 'model.yaml')"))
    path = _path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ModelError(_unknown_suffix(path, WRITERS, "written"))
    writer(model, path)


def _path(path: Any) -> Path:
    if not isinstance(path, _PATHS):
        raise ModelError(Problem(f"expected the path of a file, got {path!r}", fix="e.g. 'model.yaml'"))
    return Path(path)


def _unknown_suffix(path: Path, known: Iterable[str], done: str) -> Problem:
    names = ", ".join(sorted(known))
    if path.suffix == ".py":
        fix = f"python {path.name} runs it; da.write(model, '{path.stem}.yaml') in it makes a file of its model"
        return Problem(f"{path.name!r}: a program is not a model file", fix=fix)
    return Problem(f"{path.name!r}: files with suffix {path.suffix!r} cannot be {done}", fix=f"one of {names}")


def _check_file(path: Path) -> None:
    """Refuse what is not a plain file, before anything opens it."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise ModelError(Problem(f"no file {str(path)!r}", fix=_nearby(path))) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(Problem(f"cannot read {str(path)!r}: {reason}")) from None
    if stat.S_ISDIR(mode):
        files = _models_in(path)
        fix = f"one of {', '.join(files[:12])}" if files else "give a model file"
        raise ModelError(Problem(f"{str(path)!r} is a folder, not a model file", fix=fix))
    if not stat.S_ISREG(mode):
        raise ModelError(Problem(f"{str(path)!r} is not a plain file"))


def _models_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.suffix.lower() in READERS)
    except OSError:
        return []  # a folder that cannot be listed offers no names


def _nearby(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}"
    files = _models_in(path.parent)
    if question := did_you_mean(path.name, files, 3):
        return question
    return f"model files there: {', '.join(files[:12])}" if files else "there are no model files in that folder"
