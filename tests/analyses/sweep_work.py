"""Functions that sweeps send to workers: they must be found by their names there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def peak(run: Any) -> float:
    """The largest kinetic energy."""
    return float(run.energy.kinetic.max())


def square(subject: Any, values: dict[str, float]) -> dict[str, Any]:
    """Of a number; odd ones fail."""
    x = values["x"]
    if x % 2 == 1:
        raise ValueError(f"{x:g} is odd")
    return {"square": x**2, "powers": np.array([x, x**2, x**3])}


def deadly(subject: Any, values: dict[str, float]) -> float:
    """Kills its worker, the first time that a folder's mark is missing."""
    mark = Path(str(subject)) / "killed"
    if values["x"] == 5.0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * values["x"]


def slow(subject: Any, values: dict[str, float]) -> float:
    """Takes a while, and leaves a mark of itself."""
    with open(Path(str(subject)) / "calls", "a", encoding="utf-8") as file:
        file.write(f"{values['x']:g}\n")
    time.sleep(0.02)
    return values["x"] + 1
