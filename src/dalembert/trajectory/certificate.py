"""The certificate: how far a trajectory can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Certificate", "Check"]


@dataclass(frozen=True)
class Check:
    """One measured quantity against what it may be.

    Attributes:
        value: the largest value along the trajectory.
        limit: what it may be; None if it is only reported.
        unit: of both.
        about: what it means, in a few words.
    """

    name: str
    value: float
    limit: float | None
    unit: str = ""
    about: str = ""

    @property
    def passed(self) -> bool:
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True)
class Certificate:
    """Status, checks and remarks of one trajectory.

    Attributes:
        finished: the run reached its end.
        message: how it ended, in words.
        checks: measured quantities.
        remarks: what was seen on the way: redundant constraints, singular positions, choices made.
        counts: steps, rejections, evaluations.
    """

    finished: bool
    message: str
    checks: tuple[Check, ...] = ()
    remarks: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=lambda: {})

    @property
    def trusted(self) -> bool:
        """True if the run finished and every check passed."""
        return self.finished and all(check.passed for check in self.checks)

    def __getitem__(self, name: str) -> float:
        """The value of a check."""
        for check in self.checks:
            if check.name == name:
                return check.value
        raise KeyError(f"no check {name!r}; there are {', '.join(check.name for check in self.checks)}")

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, value, verdict) of each check, for tables."""
        rows: list[tuple[str, str, str]] = []
        for check in self.checks:
            unit = f" {check.unit}" if check.unit else ""
            verdict = "" if check.limit is None else f"{'ok' if check.passed else 'FAILED'} (≤ {check.limit:.0e})"
            rows.append((check.name, f"{check.value:.2e}{unit}", verdict))
        return rows

    def __str__(self) -> str:
        head = "trusted" if self.trusted else "NOT TRUSTED"
        lines = [f"{head}: {self.message}"]
        lines += [f"  {name:<28} {value:>12}  {verdict}" for name, value, verdict in self.rows()]
        lines += [f"  {remark}" for remark in self.remarks]
        lines.append("  " + ", ".join(f"{count} {name}" for name, count in self.counts.items()))
        return "\n".join(lines)

    __repr__ = __str__
