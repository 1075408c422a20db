"""Robot files: the root element tells whether XML is URDF or MJCF; what is left out is reported once."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from dalembert.errors import ModelError, Problem, ReadWarning, warn
from dalembert.io.xml_data import Node, clip, parse_xml, read_bytes
from dalembert.model import Model

__all__ = ["SUFFIXES", "loads_robot", "read"]

SUFFIXES = (".urdf", ".xml", ".mjcf")
LONGEST_NOTE = 240  # characters of a note in the warning
# Root element, and where its reader lives; imported when a file is read, so that importing this package stays quick.
_FORMATS = {"robot": ("dalembert.io.urdf", "read_urdf"), "mujoco": ("dalembert.io.mjcf", "read_mjcf")}


def read(path: Path, **options: Any) -> Model:
    """The model of a URDF or MJCF file; see ``read_urdf`` and ``read_mjcf`` for the options.

    Warns:
        ReadWarning: listing what the file says and the model does not hold.
    """
    return _read(parse_xml(read_bytes(path), path.name, path), options)


def loads_robot(text: str, name: str = "<text>", **options: Any) -> Model:
    """The model of a URDF or MJCF text; files beside it cannot be used."""
    return _read(parse_xml(text.encode("utf-8", "surrogatepass"), name), options)


def _read(root: Node, options: dict[str, Any]) -> Model:
    """The model of a document."""
    if root.tag not in _FORMATS:
        message = f"<{clip(root.tag)}> is neither URDF (<robot>) nor MJCF (<mujoco>)"
        raise ModelError(Problem(message, where=root.where))
    module, function = _FORMATS[root.tag]
    reader = getattr(import_module(module), function)
    known = list(inspect.signature(reader).parameters)[1:]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ModelError(Problem(f"unknown option {', '.join(unknown)}", fix=f"one of {', '.join(known)}"))
    model = reader(root, **options)
    if model.notes:
        listed = "\n".join(f"  - {_shortened(note)}" for note in model.notes)
        warn(f"{model.name!r}: not everything in the file is in the model\n{listed}", ReadWarning)
    return model


def _shortened(note: str) -> str:
    """A note as a warning shows it."""
    return note if len(note) <= LONGEST_NOTE else note[:LONGEST_NOTE].rsplit(",", 1)[0] + ", … (all in model.notes)"
