"""The public problems: every reference is met, and the report says what was found."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from dalembert.bench import PROBLEMS, Ratio, bench, report, work_precision
from dalembert.bench.peer_pendulum import against_sympy
from dalembert.cli.app import app
from dalembert.errors import DalembertError

EVERY_DAY = ("pendulum", "free-body", "pendulum-3")


@pytest.mark.parametrize("name", [
    name if name in EVERY_DAY else pytest.param(name, marks=pytest.mark.slow) for name in PROBLEMS
])  # fmt: skip
def test_every_reference_is_met(name, monkeypatch):
    monkeypatch.setattr("dalembert.bench.measure.REPEATS", 1)
    rows = bench([name], quick=name in EVERY_DAY)
    assert rows and all(row.met for row in rows), [(row.way, row.error) for row in rows if not row.met]
    assert all(row.verdict in ("trusted", "") for row in rows)


def test_a_miss_is_a_miss(monkeypatch):
    """A table that cannot fail would be worth nothing."""
    from dataclasses import replace

    monkeypatch.setattr("dalembert.bench.measure.REPEATS", 1)
    problem = PROBLEMS["free-body"]
    monkeypatch.setitem(PROBLEMS, "free-body", replace(problem, exact=lambda: problem.exact() + 1e-3))
    rows = bench(["free-body"], quick=True)
    assert not any(row.met for row in rows)
    result = CliRunner().invoke(app, ["bench", "free-body", "--quick"])
    assert result.exit_code == 1 and "missed: free-body" in result.output


def test_the_report_holds_everything(tmp_path, monkeypatch):
    monkeypatch.setattr("dalembert.bench.measure.REPEATS", 1)
    monkeypatch.setattr("dalembert.bench.measure.PRECISION_TOLERANCES", (1e-4, 1e-8))
    rows = bench(["free-body"], quick=True)
    curves = work_precision("free-body", ("dopri8", "tsit5"))
    assert all(curve.errors[1] < curve.errors[0] for curve in curves)
    ratios = [Ratio("Peer <b>", "a task", 2.0, 1.5, 2.5), Ratio("Other", "a task", 0, 0, 0, "not installed")]
    text, page = (path.read_text(encoding="utf-8") for path in report(rows, ratios, curves, tmp_path / "new"))
    assert "| free-body | tsit5 |" in text and "| Other | a task | not installed |" in text
    assert "1.50 … 2.50" in text and PROBLEMS["andrews"].source in text
    assert "Peer &lt;b&gt;" in page and "data:image/png;base64," in page and "http" not in page


def test_bdf_is_as_good_as_that_of_others(monkeypatch):
    """Errors are no larger than with SciPy's BDF, also where rounding is as large as the tolerance."""
    monkeypatch.setattr("dalembert.bench.measure.PRECISION_TOLERANCES", (1e-6, 1e-12))
    ours, theirs = work_precision("andrews", ("bdf", "scipy BDF"))
    assert theirs.integrator == "scipy BDF" and np.all(theirs.errors < 1e5 * theirs.tolerances)
    assert np.all(ours.errors < theirs.errors)


def test_a_run_that_ended_early_has_no_error(tmp_path, monkeypatch):
    """Its last state, compared with what should be at the end, looks like one."""
    from dataclasses import replace

    from dalembert.integrators import DormandPrince8

    monkeypatch.setattr("dalembert.bench.measure.PRECISION_TOLERANCES", (1e-4,))
    monkeypatch.setattr("dalembert.bench.measure.REPEATS", 1)
    problem = PROBLEMS["free-body"]
    short = {"integrator": DormandPrince8(max_steps=3), "certify": False}
    monkeypatch.setitem(PROBLEMS, "free-body", replace(problem, solve=lambda how: problem.solve(short)))
    rows, curves = bench(["free-body"], quick=True), work_precision("free-body", ("dopri8",))
    assert not any(row.met for row in rows) and curves[0].errors[0] == np.inf
    text = report(rows, [], curves, tmp_path)[0].read_text(encoding="utf-8")
    assert "| free-body | dopri8 | 1e-04 | ended early |" in text and "| ended early | ≤ 1e-07 | MISSED |" in text


def test_unknown_problems_and_folders_are_refused(tmp_path):
    with pytest.raises(DalembertError, match="unknown problem 'x'; expected one of pendulum, windows"):
        bench(["x"])
    (tmp_path / "file").write_text("")
    with pytest.raises(DalembertError, match="cannot make the folder"):
        report([], [], [], tmp_path / "file" / "folder")


def test_sympy_is_a_peer():
    """Kane's equations of SymPy and our recursion: the same accelerations."""
    theirs, ours = against_sympy(2)
    np.testing.assert_allclose(theirs(), ours(), rtol=1e-11)
