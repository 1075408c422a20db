"""Fuzzing: random models, runs and hostile files, one after the other; what fails is made smaller and kept."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalembert.atomic import make_folder, write_atomic
from dalembert.errors import DalembertError
from dalembert.fuzz.case import KINDS, Case, smaller_cases
from dalembert.fuzz.check_models import Finding, Judged
from dalembert.fuzz.fuzz_worker import Worker

__all__ = ["Fuzzed", "fuzz", "replay"]

# Of the time: files are quick, the others take seconds each.
SHARES = {"models": 0.3, "runs": 0.2, "files": 0.25, "exports": 0.15, "planar": 0.05, "systems": 0.05}
REDUCING = 60.0  # s that a failing case is made smaller for
MOST_TRIES = 300
_FORMAT = 1


@dataclass
class Fuzzed:
    """What was tried and what was found.

    Attributes:
        cases, comparisons: how many, by kind.
        worst: largest disagreement, relative, of what agrees.
        skipped: why cases told nothing, and how often.
        findings: with the files that replay them.
    """

    cases: Counter[str] = field(default_factory=lambda: Counter[str]())
    comparisons: Counter[str] = field(default_factory=lambda: Counter[str]())
    worst: float = 0.0
    skipped: Counter[str] = field(default_factory=lambda: Counter[str]())
    findings: list[tuple[Finding, Path | None]] = field(default_factory=lambda: list[tuple[Finding, Path | None]]())

    def __str__(self) -> str:
        done = ", ".join(f"{self.cases[kind]} {kind} ({self.comparisons[kind]} comparisons)" for kind in self.cases)
        lines = [f"{done}; largest disagreement {self.worst:.0e}; {len(self.findings) or 'no'} findings"]
        for finding, path in self.findings:
            lines.append(f"  {finding.check}: {finding.words.strip()}")
            if path is not None:
                lines.append(f"    dalembert bench --replay {path}")
        return "\n".join(lines)


def fuzz(
    seconds: float = 0.0,
    seed: int = 0,
    *,
    kinds: Sequence[str] = KINDS,
    folder: str | Path | None = None,
    cases: dict[str, int] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Fuzzed:
    """Try random cases for some time; the same seed gives the same cases in the same order.

    Args:
        seconds: for how long.
        kinds: of ``KINDS``.
        folder: where failing cases are written to; default: nowhere.
        cases: how many of each kind, instead of a time.
        progress: told what comes next.
    """
    unknown = set(kinds) - set(KINDS)
    if unknown or not kinds:
        raise DalembertError(f"fuzz takes {', '.join(KINDS)}, got {', '.join(sorted(unknown)) or 'nothing'}")
    if not seconds > 0 and not cases:
        raise DalembertError(f"fuzz needs a positive number of seconds, got {seconds!r}")
    found, worker, spent = Fuzzed(), Worker(), dict.fromkeys(kinds, 0.0)
    wanted = cases or {}
    try:
        while cases is not None or sum(spent.values()) < seconds:
            left = [kind for kind in kinds if cases is None or found.cases[kind] < wanted.get(kind, 0)]
            if not left:
                break
            kind = min(left, key=lambda one: spent[one] / SHARES[one])
            number = seed * 1_000_000 + found.cases[kind]
            if progress is not None:
                progress(f"{kind} {number}: {sum(found.cases.values())} cases, {len(found.findings)} findings")
            began = time.monotonic()
            case, judged = worker.run((kind, number))
            _count(found, kind, judged)
            known = {finding.check for finding, _ in found.findings}
            for finding in judged.findings:
                if finding.check in known:
                    found.findings.append((finding, None))
                    continue
                known.add(finding.check)
                least = _reduced(worker, case, finding)
                found.findings.append((finding, _keep(folder, least, finding)))
            spent[kind] += time.monotonic() - began
    finally:
        worker.close()
    return found


def _count(found: Fuzzed, kind: str, judged: Judged) -> None:
    found.cases[kind] += 1
    found.comparisons[kind] += judged.comparisons
    found.worst = max(found.worst, 0.0 if judged.findings else judged.worst)
    if judged.skipped:
        found.skipped[judged.skipped.split("\n")[0][:80]] += 1


def _reduced(worker: Worker, case: Case, finding: Finding) -> Case:
    """The smallest case found that shows the same, by leaving out one thing after the other."""
    if "model" not in case and "content" not in case:
        return case
    end, tries, smaller = time.monotonic() + REDUCING, 0, True
    while smaller:
        smaller = False
        for one in smaller_cases(case):
            tries += 1
            if time.monotonic() > end or tries > MOST_TRIES:
                return case
            _, judged = worker.run(one)
            if any(other.check == finding.check for other in judged.findings):
                case, smaller = one, True
                break
    return case


def _keep(folder: str | Path | None, case: Case, finding: Finding) -> Path | None:
    if folder is None:
        return None
    make_folder(Path(folder))
    name = "".join(letter if letter.isalnum() else "-" for letter in finding.check)[:40]
    path = Path(folder) / f"{case['kind']}-{case['seed']}-{name}.json"
    text = json.dumps({"dalembert_fuzz": _FORMAT, "finding": [finding.check, finding.words], "case": case}, indent=1)
    write_atomic(path, text.encode())
    return path


def replay(path: str | Path) -> Judged:
    """Try a case that was kept.

    Raises:
        DalembertError: there is no such file, or it is no case.
    """
    try:
        data: Any = json.loads(Path(path).read_bytes())
        case: Case = data["case"]
        wanted = {"files": ("format", "number", "content"), "models": ("model", "length")}
        wanted |= dict.fromkeys(("runs", "exports"), ("model", "options"))
        wanted |= dict.fromkeys(("planar", "systems"), ("model",))
        drawn = set(case) == {"kind", "seed"} and case["kind"] in wanted  # it did not get so far as to be drawn
        if data["dalembert_fuzz"] != _FORMAT or not (drawn or all(name in case for name in wanted[case["kind"]])):
            raise KeyError
    except OSError as error:
        raise DalembertError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise DalembertError(f"{path} is no case of dalembert bench --fuzz") from None
    worker = Worker()
    try:
        return worker.run((case["kind"], int(case["seed"])) if drawn else case)[1]
    finally:
        worker.close()
