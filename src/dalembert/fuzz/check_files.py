"""Read a hostile file as a user would, and do what one does with what was read: only our own errors may come of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalembert.analyses.saved import load
from dalembert.analyses.simulation.simulate import simulate
from dalembert.analyses.structure.inspect import inspect
from dalembert.errors import DalembertError
from dalembert.expressions import parse, to_text
from dalembert.fuzz.check_models import Finding, Judged
from dalembert.fuzz.seed_files import resume
from dalembert.io import dumps, loads, read, read_grid, read_table
from dalembert.model import Mechanism, Model, flatten
from dalembert.planar import Planar

__all__ = ["check_file"]

LONGEST_MESSAGE = 30_000
MOST_BODIES, BLINK = 8, 0.01  # of models that are run, and for how long (s)


def check_file(kind: str, content: bytes, number: int) -> Judged:
    """Read it; a ``DalembertError`` is a right answer, everything else is not."""
    judged = Judged(comparisons=1)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            READERS[kind](Path(folder), content, number, judged)
        except DalembertError as error:
            judged.skipped = "refused"
            if len(str(error)) > LONGEST_MESSAGE:
                judged.findings.append(Finding("message", f"{len(str(error))} characters"))
    return judged


def _model(folder: Path, content: bytes, suffix: str, judged: Judged) -> None:
    path = folder / f"hostile{suffix}"
    path.write_bytes(content)
    model: Any = read(path)
    if not isinstance(model, (Model, Planar)):
        return
    if dumps(loads(dumps(model))) != dumps(model):
        judged.findings.append(Finding("round trip", "a model written and read again is another one"))
    if isinstance(model, Planar):
        model = model.to_model()
    flat = flatten(model)
    mechanism = Mechanism.nominal(flat)
    for name in flat.joints:
        placed = mechanism.joint(name)
        for X in (placed.X_1P, placed.X_2S):
            if not (np.isfinite(X.R).all() and np.isfinite(X.p).all()):
                judged.findings.append(Finding("finite", f"the frame of joint {name!r} is not finite"))
    str(inspect(model))
    if len(flat.bodies) <= MOST_BODIES:
        str(simulate(model, BLINK, output_step=BLINK / 2, rtol=1e-4).certificate)


def _loaded(folder: Path, content: bytes) -> Any:
    """A result that says what it is."""
    path = folder / "hostile.nc"
    path.write_bytes(content)
    run: Any = load(path)
    str(run.certificate)
    repr(run)
    return run


def _result(folder: Path, content: bytes, number: int, judged: Judged) -> None:
    run = _loaded(folder, content)
    for name in ("time", "q", "u"):
        run.values(name)
    str((run.events, run.segments))
    run.save(folder / "again.nc")


def _table(folder: Path, content: bytes, number: int, judged: Judged) -> None:
    path, refused = folder / "hostile.csv", 0
    path.write_bytes(content)
    readers: tuple[Callable[[Path], Any], ...] = (read_table, read_grid)
    for reader in readers:
        try:
            given: Any = reader(path)
            Model("table").table("law", **given, kind="linear")
        except DalembertError as error:
            refused += 1
            if refused == len(readers):
                raise DalembertError(str(error)) from None


def _system(folder: Path, content: bytes, number: int, judged: Judged) -> None:
    run = _loaded(folder, content)
    for name in run.names:
        run[name]
    list(run.events)
    run.save(folder / "again.nc")


def _checkpoint(folder: Path, content: bytes, number: int, judged: Judged) -> None:
    path = folder / "hostile.checkpoint"
    path.write_bytes(content)
    str(resume(number % 4, path).certificate)


def _formula(folder: Path, content: bytes, number: int, judged: Judged) -> None:
    text = content.decode(errors="replace")
    formula = parse(text)
    if parse(to_text(formula)) != formula:
        judged.findings.append(Finding("round trip", f"{to_text(formula)!r} is read as another formula"))


READERS: dict[str, Callable[[Path, bytes, int, Judged], None]] = {
    "yaml": lambda folder, content, number, judged: _model(folder, content, ".yaml", judged),
    "urdf": lambda folder, content, number, judged: _model(folder, content, ".urdf", judged),
    "mjcf": lambda folder, content, number, judged: _model(folder, content, ".xml", judged),
    "planar": lambda folder, content, number, judged: _model(folder, content, ".yaml", judged),
    "table": _table,
    "system": _system,
    "formula": _formula,
    "result": _result,
    "checkpoint": _checkpoint,
}
