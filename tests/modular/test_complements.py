"""Complements: given, pivoted, SVD, least squares, redundant and contradicting rows (check 20)."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import ModelError
from dalembert.modular import SVD, Pivoted


def rows(*lines: tuple[float, ...]) -> da.Subsystem:
    S = da.Subsystem("S")
    q = [S.quasi_velocity(f"q{k + 1}") for k in range(len(lines[0]))]
    for k, line in enumerate(lines):
        S.invariant(sum(a * x for a, x in zip(line, q, strict=True)), f"row{k + 1}")
    return S


CLASH = ((2, -1, 0), (2.2, -1, 0), (0, 3, -1))


def test_contradicting_rows_are_refused_by_name() -> None:
    S = rows(*CLASH)
    S.independent("q1")
    with pytest.raises(ModelError, match=r"subsystem 'S'.*row1 \(-0\.1\), row2 \(\+0\.1\)") as error:
        S.equations().C  # noqa: B018
    assert "row3" not in str(error.value)


def test_more_independent_variables_than_freedoms_are_told_how_many() -> None:
    S = rows((1, -1, 0), (0, 1, -1))
    S.independent("q1", "q2")
    with pytest.raises(ModelError, match="choose 1 independent variables instead of 2"):
        S.equations().C  # noqa: B018


@pytest.mark.parametrize(("weights", "expected"), [({}, (1, 2.1, 6.3)), ({"row2": 2}, (1, 2.16, 6.48))])
def test_least_squares(weights: dict[str, float], expected: tuple[float, ...]) -> None:
    S = rows(*CLASH)
    S.independent("q1")
    eq = S.equations(incompatible="least-squares", weights=weights)
    assert [float(eq.C[f"q{k}", "q1"]) for k in (1, 2, 3)] == pytest.approx(expected, abs=1e-12)
    assert [eq.at().C[f"q{k}", "q1"] for k in (1, 2, 3)] == pytest.approx(expected, abs=1e-12)
    left = {label.name: value for label, value in eq.residual.items()}
    assert left["row3"] == pytest.approx(0, abs=1e-12)
    assert left["row1"] == pytest.approx(2 - expected[1], abs=1e-12)
    assert [one.state for one in eq.invariants] == ["least-squares", "least-squares", "used"]


def test_least_squares_as_a_choice_of_the_subsystem() -> None:
    S = rows(*CLASH)
    S.complement("least-squares", weights={"row2": 2}, independent=["q1"])
    assert float(S.equations().C["q2", "q1"]) == pytest.approx(2.16)
    with pytest.raises(ModelError, match="positive"):
        S.complement("least-squares", weights={"row2": 0})
    with pytest.raises(ModelError, match="unknown complement 'qr'; expected pivoted, svd, symbolic, least-squares"):
        S.complement("qr")


def test_derivative_of_the_complement() -> None:
    """T1: B = [1+x, −1] has C = (1, 1+x), so its first-order part is (0, 1)."""
    S = da.Subsystem("S")
    x, y = S.coordinates("x y")
    S.invariant((1 + x) * x.d - y.d)
    S.independent(x)
    C = S.equations().C
    assert [sp.diff(C[row, "x"], sp.Symbol("x", real=True)) for row in ("x", "y")] == [0, 1]


def test_redundant_rows_are_named_and_change_nothing() -> None:
    S = rows((1, -1, 0), (0, 1, 2), (1, 0, 2), (3, -2, 2))
    eq = S.equations()
    assert eq.degrees_of_freedom == 1
    assert len(eq.redundant) == 2
    A = np.array(eq.A.to_array(), dtype=float)
    assert np.abs(A @ np.array(eq.S.to_array(), dtype=float)).max() < 1e-14


def test_orthonormal_basis() -> None:
    eq = rows((1, 2, 3, 4), (0, 1, -1, 2)).equations()
    found = eq.at(strategy=SVD())
    C = found.C.to_array()
    assert pytest.approx(np.eye(2), abs=1e-14) == C.T @ C
    assert np.abs(found.B.to_array() @ C).max() < 1e-14
    with pytest.raises(da.DalembertError, match="numbers"):
        eq._choices[()].__class__(SVD(), eq.independent, ()).columns(eq.B)


def test_dependent_choice() -> None:
    S = rows((1, -1, 0))
    S.independent("q1", "q2")
    with pytest.raises(ModelError, match=r"subsystem 'S': the chosen independent variables depend on each other"):
        S.equations().C  # noqa: B018


def test_too_few_independent() -> None:
    S = rows((1, -1, 0))
    S.independent("q1")
    with pytest.raises(
        ModelError, match=r"subsystem 'S' has 2 degrees of freedom at its level, 1 independent"
    ) as error:
        S.equations().C  # noqa: B018
    assert "q3" in str(error.value)


def test_contradicting_positions() -> None:
    S = da.Subsystem("S")
    x, y = S.coordinates("x y")
    S.invariant(x + y - 1, "near")
    S.invariant(x + y - 2, "far")
    S.effective_forces({x: -x.dd, y: -y.dd})
    with pytest.raises(ModelError, match=r"subsystem 'S': no state meets all invariants; left over: .*near at order 0"):
        S.equations().C  # noqa: B018


def test_many_rows_choose_as_few_do() -> None:
    """The sparse elimination of many rows finds the same rank and space as a dense one."""
    rng = np.random.default_rng(3)
    n = 70
    A = np.zeros((60, n))
    for i in range(55):
        A[i, rng.choice(n, 4, replace=False)] = rng.normal(size=4)
    A[55:] = rng.normal(size=(5, 55)) @ A[:55]
    eq = rows(*map(tuple, A.tolist())).equations()
    assert eq.degrees_of_freedom == n - np.linalg.matrix_rank(A)
    S = eq.at(strategy=Pivoted()).S_rows(eq.top).to_array()
    assert np.abs(A @ S).max() < 1e-9 * np.abs(S).max()
