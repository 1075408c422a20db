"""The certificate: how far a trajectory can be trusted."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.arguments import public_methods
from dalembert.errors import MissingError

__all__ = ["Certificate", "Check", "Estimate"]

WIDTH = 100  # characters of a line of small numbers
ERROR = "error"  # the check that an estimate makes

# Tolerances that are worth trying, and errors that do not tell any more which one is.
FINEST_TOLERANCE, SATURATED = 1e-13, 0.1


def _wrapped(items: list[str]) -> list[str]:
    """Items in lines that break between them, not within them."""
    whole = ", ".join(item.replace(" ", "\N{NO-BREAK SPACE}") for item in items)
    lines = textwrap.wrap(whole, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


@dataclass(frozen=True)
class Check:
    """One measured quantity against what it may be.

    Attributes:
        value: the largest value along the trajectory.
        limit: what it may be; None if it is only reported.
        unit: of both.
        about: what it means, in a few words.
        fix: what to do if it is beyond its limit.
    """

    name: str
    value: float
    limit: float | None
    unit: str = ""
    about: str = ""
    fix: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            object.__setattr__(self, "value", math.nan)  # one and the same, so that checks that are equal compare so

    @property
    def passed(self) -> bool:
        return self.limit is None or self.value <= self.limit

    @property
    def verdict(self) -> str:
        """``ok`` or ``FAILED`` with the limit, or nothing if it is only reported."""
        return "" if self.limit is None else f"{'ok' if self.passed else 'FAILED'} (≤ {self.limit:.0e})"


@dataclass(frozen=True)
class Estimate:
    """The error of a motion, as companion runs show it.

    Attributes:
        error: largest of all outputs and entries of the state, relative to their size; a bound within the means of the
            companion that decided. Infinite if it could not be estimated.
        accuracy: what was asked for.
        growth: by how much a disturbance as small as a tolerance grew; None where the companion shows other errors too.
        horizon: the motion is as accurate as asked up to this time (s).
        by: which companion decided.
        evaluations: of the companions.
        acquitted: the error is within the accuracy.
        note: why it could not be estimated.
        rtol: of the run; None for fixed steps.
        fix: what makes it smaller, where that is not a tolerance or a step.
    """

    error: float
    accuracy: float
    growth: float | None
    horizon: float
    by: str = ""
    evaluations: int = 0
    acquitted: bool = False
    note: str = ""
    rtol: float | None = None
    fix: str = ""

    @property
    def check(self) -> Check:
        """What the certificate shows of it."""
        about = f"of the motion, relative to its size, estimated {self.by}{f': {self.note}' if self.note else ''}"
        return Check(ERROR, self.error, self.accuracy, "", about, "" if self.acquitted else self.fix or self._fix())

    def _fix(self) -> str:
        if not math.isfinite(self.error):
            return "a tighter tolerance, or a look at what happens there"
        if self.rtol is None:
            return "a smaller step=…"
        if self.error > SATURATED:
            return (
                f"use it up to t = {self.horizon:.4g} s; a tighter rtol brings that further, little if the motion is "
                f"chaotic"
            )
        wanted = 10.0 ** math.floor(math.log10(self.rtol * self.accuracy / self.error / 2))
        if wanted >= FINEST_TOLERANCE:
            return f"rtol={wanted:.0e}, or accuracy={self.error * 1.05:.1e} if that is enough"
        return f"use it up to t = {self.horizon:.4g} s; no tolerance reaches that accuracy at the end"


@public_methods
@dataclass(frozen=True)
class Certificate:
    """Status, checks and remarks of one trajectory.

    Attributes:
        finished: the run reached its end.
        message: how it ended, in words.
        checks: measured quantities.
        remarks: what was seen during the run: redundant constraints, singular positions, choices made.
        counts: steps, rejections, evaluations.
        estimate: the error of the motion, by companion runs; None if none were made.
        checked: False if the run was not to be judged (``certify=False``).

    Example:
        certificate = da.simulate(da.library.pendulum(), 2.0).certificate
        print(certificate.trusted, certificate.error, certificate["energy balance"])
    """

    finished: bool
    message: str
    checks: tuple[Check, ...] = ()
    remarks: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=lambda: {})
    estimate: Estimate | None = None
    checked: bool = True

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Certificate:
        """From what ``dataclasses.asdict`` makes of one."""
        missing = {"finished", "message", "checks", "remarks"} - data.keys()
        if missing:
            raise MissingError(f"certificate: {', '.join(sorted(missing))} missing")
        estimate = data.get("estimate")
        parts: dict[str, Any] = {
            "checks": tuple(Check(**check) for check in data["checks"]), "remarks": tuple(data["remarks"]),
            "estimate": None if estimate is None else Estimate(**estimate),
        }  # fmt: skip
        return cls(**{**data, **parts})

    @property
    def trusted(self) -> bool:
        """True if the run finished, was checked, and is as accurate as asked; no check failed."""
        return self.finished and self.checked and all(check.passed for check in self.checks)

    @property
    def verdict(self) -> str:
        """``trusted``, ``NOT TRUSTED``, or ``not checked``."""
        if self.finished and not self.checked:
            return "not checked"
        return "trusted" if self.trusted else "NOT TRUSTED"

    @property
    def error(self) -> float | None:
        """Of the motion, relative to its size; None if it was not estimated."""
        return None if self.estimate is None else self.estimate.error

    @property
    def accuracy(self) -> float | None:
        """Accuracy that was asked for, given or by the tolerance."""
        return None if self.estimate is None else self.estimate.accuracy

    @property
    def horizon(self) -> float | None:
        """The motion is as accurate as asked up to this time (s); None if that was not estimated."""
        return None if self.estimate is None else self.estimate.horizon

    def __getitem__(self, name: str) -> float:
        """The value of a check."""
        for check in self.checks:
            if check.name == name:
                return check.value
        raise MissingError(f"no check {name!r}; there are {', '.join(check.name for check in self.checks)}")

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, value, verdict) of each check, for tables."""
        rows: list[tuple[str, str, str]] = []
        for check in self.checks:
            unit = f" {check.unit}" if check.unit else ""
            rows.append((check.name, f"{check.value:.2e}{unit}", check.verdict))
        return rows

    @property
    def headline(self) -> str:
        """The verdict, how the run ended, and how far it is good if not to the end."""
        estimate, until = self.estimate, ""
        if estimate is not None and not estimate.acquitted:
            until = f"; good until t = {estimate.horizon:.4g} s"
        return f"{self.verdict}: {self.message}{until}"

    def __str__(self) -> str:
        lines = [self.headline]
        for check in self.checks:
            if check.passed and check.name != ERROR:
                continue
            fix = "" if check.passed or not check.fix else f".  Fix: {check.fix}"
            lines.append(f"  {check.name} {check.value:.1e} {check.verdict}: {check.about}{fix}")
        growth = None if self.estimate is None else self.estimate.growth
        if growth is not None and math.isfinite(growth):
            lines.append(f"  small disturbances grew ×{max(growth, 1.0):.2g}")
        passed = [f"{check.name} {check.value:.1e}" for check in self.checks if check.passed and check.name != ERROR]
        lines += _wrapped(passed)
        lines += [f"  {remark}" for remark in self.remarks]
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        evaluations = self.counts.get("evaluations", 0)
        if self.estimate is not None and evaluations:
            counts += f"; the check took {self.estimate.evaluations / evaluations:.0%} more"
        lines.append(f"  {counts}")
        return "\n".join(lines)

    __repr__ = __str__
