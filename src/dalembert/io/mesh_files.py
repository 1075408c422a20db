"""Where the meshes of a robot file lie. A mesh that cannot be found is noted; it never stops a model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dalembert.io.report import Report
from dalembert.io.xml_data import Node
from dalembert.view.meshes import SUFFIXES

__all__ = ["MeshFiles"]

_SCHEMES = ("package://", "model://")


class MeshFiles:
    """Finds mesh files.

    Args:
        file: the robot file.
        package_dirs: folders in which packages lie, or packages themselves.
    """

    def __init__(self, file: Path | None, package_dirs: Any, report: Report):
        given = [package_dirs] if isinstance(package_dirs, (str, Path)) else list(package_dirs)
        self.report = report
        self.folder = None if file is None else file.resolve().parent
        self.around = [] if self.folder is None else [self.folder, *self.folder.parents]
        self.packages = [Path(folder) for folder in given]

    def find(self, node: Node, uri: str, folder: str = "") -> str | None:
        """The path of a mesh, or None after a note.

        Args:
            folder: where the file says that meshes lie, beside itself.
        """
        name = uri.rsplit("/", 1)[-1]
        path = next((path for path in self._candidates(uri, folder) if _exists(path)), None)
        if path is None:
            self.report.note("meshes not found (give package_dirs)", name or node.where)
            return None
        if path.suffix.lower() not in SUFFIXES:
            self.report.note(f"meshes that cannot be drawn (only {', '.join(SUFFIXES)})", name)
        return str(path)

    def _candidates(self, uri: str, folder: str) -> Iterable[Path]:
        scheme = next((scheme for scheme in _SCHEMES if uri.startswith(scheme)), None)
        if scheme is None:
            path = Path(unquote(uri.removeprefix("file://")))
            if self.folder is not None or path.is_absolute():
                yield (self.folder or Path()) / folder / path
            return
        package, _, rest = unquote(uri.removeprefix(scheme)).partition("/")
        for place in (*self.packages, *self.around):
            yield place / package / rest
            if place.name == package:
                yield place / rest


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
