"""Motor sizing: what drives and bearings must stand along a motion, as a table and as a picture."""

from __future__ import annotations

import csv
import io as text_io
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.arguments import public_methods
from dalembert.atomic import write_atomic
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.analyses.motions.inverse_result import Inverse

__all__ = ["Bearing", "Motor", "Sizing"]

ROUNDING = 1e-9  # forces and powers below this are shown as zero


@dataclass(frozen=True)
class Motor:
    """What one drive must give.

    Attributes:
        unit: of force; speeds are in rad/s where it is N m, in m/s where it is N.
        peak, effective: largest size, and root mean square over time (N m, N).
        speed: largest size.
        power: largest power given;  braking: largest power taken back (W).
        mean_power: over the motion (W).
        worst: when the peak occurs (s).
    """

    name: str
    unit: str
    peak: float
    effective: float
    speed: float
    power: float
    braking: float
    mean_power: float
    worst: float


@dataclass(frozen=True)
class Bearing:
    """What one joint must carry: peak and effective force (N) and moment (N m)."""

    name: str
    peak_force: float
    effective_force: float
    peak_moment: float
    effective_moment: float


@public_methods
class Sizing:
    """The report of a motion.

    Attributes:
        inverse: the forces and the motion.
    """

    def __init__(self, inverse: Inverse):
        self.inverse = inverse

    @cached_property
    def motors(self) -> list[Motor]:
        """One for each unknown."""
        found: list[Motor] = []
        inverse = self.inverse
        t = inverse.values("time")
        for j, name in enumerate(inverse.names):
            force, speed, power = (inverse.values(what)[:, j] for what in ("force", "speed", "power"))
            found.append(
                Motor(
                    name, inverse.unit(name), float(np.abs(force).max()), _effective(t, force),
                    float(np.abs(speed).max()), float(max(power.max(), 0.0)), float(max(-power.min(), 0.0)),
                    _mean(t, power), float(t[np.argmax(np.abs(force))]),
                )
            )  # fmt: skip
        return found

    @cached_property
    def bearings(self) -> list[Bearing]:
        """One for each joint."""
        found: list[Bearing] = []
        t = self.inverse.values("time")
        for name, wrench in self.inverse.wrenches().items():
            moment, force = (np.linalg.norm(wrench[:, k], axis=1) for k in (0, 1))
            numbers = (force.max(), _effective(t, force), moment.max(), _effective(t, moment))
            found.append(Bearing(name, *map(float, numbers)))
        return found

    def rows(self) -> tuple[list[list[str]], list[list[str]]]:
        """Both tables as texts, headings first."""
        motors = [["drive", "peak", "at (s)", "effective", "unit", "speed", "power (W)", "braking (W)", "mean (W)"]]
        for m in self.motors:
            numbers = (m.speed, m.power, m.braking, m.mean_power)
            motors.append([m.name, _text(m.peak), f"{m.worst:.3g}", _text(m.effective), m.unit, *map(_text, numbers)])
        bearings = [["joint", "force (N)", "effective", "moment (N m)", "effective"]]
        for b in self.bearings:
            numbers = (b.peak_force, b.effective_force, b.peak_moment, b.effective_moment)
            bearings.append([b.name, *map(_text, numbers)])
        return motors, bearings

    def __str__(self) -> str:
        lines: list[str] = []
        for table in self.rows():
            widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
            for row in table:
                cells = [row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))]
                lines.append("  ".join(cells).rstrip())
            lines.append("")
        return "\n".join(lines[:-1])

    __repr__ = __str__

    def to_csv(self) -> str:
        """Both tables, with all digits."""
        out = text_io.StringIO()
        for table in (self.motors, self.bearings):
            if table:
                writer = csv.DictWriter(out, list(asdict(table[0])), lineterminator="\n")
                writer.writeheader()
                writer.writerows([asdict(row) for row in table])
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """The tables as a file (.csv)."""
        return write_atomic(path, self.to_csv().encode(), DalembertError)

    def plot(self, path: str | Path | None = None) -> Any:
        """Force over speed of every drive, power over time, loads of the bearings; written to ``path`` if given."""
        from dalembert.view import with_file
        from dalembert.view.inverse_plots import sizing_figure

        return with_file(sizing_figure(self), path)


def _text(number: float) -> str:
    """Four digits; what is rounding is zero."""
    return f"{number:.4g}" if abs(number) > ROUNDING else "0"


def _mean(t: np.ndarray, values: np.ndarray) -> float:
    """Mean over time, by the trapezoidal rule."""
    return float(np.trapezoid(values, t) / (t[-1] - t[0])) if len(t) > 1 else float(values[0])


def _effective(t: np.ndarray, values: np.ndarray) -> float:
    return float(np.sqrt(_mean(t, values**2)))
