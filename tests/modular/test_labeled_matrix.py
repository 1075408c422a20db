"""LabeledMatrix matrices: axioms of the union-sum (check 1), products by label, parts, printing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.algebra.sympy_algebra import SYMPY
from dalembert.errors import DalembertError, ModelError
from dalembert.modular import Label, LabeledMatrix, assemble
from dalembert.view import plot_matrix

NAMES = [Label(("P",) if k % 2 else (), f"v{k}", 1) for k in range(7)]


@st.composite
def matrices(draw: st.DrawFn) -> LabeledMatrix:
    """Matrices of small whole numbers, so that sums are exact in any order."""
    rows = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    columns = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    values = draw(st.lists(st.integers(-8, 8), min_size=len(rows) * len(columns), max_size=len(rows) * len(columns)))
    array = np.array(values, dtype=float).reshape(len(rows), len(columns))
    return LabeledMatrix.from_array(NUMPY, rows, columns, array)


@settings(max_examples=200, deadline=None)
@given(matrices(), matrices(), matrices())
def test_union_sum_is_commutative_and_associative(X: LabeledMatrix, Y: LabeledMatrix, Z: LabeledMatrix) -> None:
    assert assemble(X, Y) == assemble(Y, X)
    assert assemble(assemble(X, Y), Z) == assemble(X, assemble(Y, Z)) == assemble(X, Y, Z)
    assert assemble(X, LabeledMatrix.empty(NUMPY)) == X
    total = assemble(X, Y)
    assert set(total.rows) == {*X.rows, *Y.rows}
    for row in total.rows:
        for column in total.columns:
            assert total.get(row, column) == X.get(row, column) + Y.get(row, column)


@settings(max_examples=100, deadline=None)
@given(matrices(), matrices(), matrices())
def test_products_by_label(X: LabeledMatrix, Y: LabeledMatrix, Z: LabeledMatrix) -> None:
    assert (X @ Y).T == Y.T @ X.T
    assert (X @ Y) @ Z == X @ (Y @ Z)
    for row in X.rows:
        for column in Y.columns:
            expected = sum(X.get(row, k) * Y.get(k, column) for k in NAMES)
            assert (X @ Y).get(row, column) == expected
    assert X @ LabeledMatrix.identity(NUMPY, X.columns) == X


def test_equal_as_maps_and_order_kept() -> None:
    a, b = NAMES[:2]
    one = LabeledMatrix.from_array(NUMPY, [a, b], [a, b], np.array([[1.0, 2.0], [3.0, 4.0]]))
    two = LabeledMatrix.from_array(NUMPY, [b, a], [b, a], np.array([[4.0, 3.0], [2.0, 1.0]]))
    assert one == two
    assert one.rows != two.rows
    assert assemble(two, one).rows == (b, a)
    assert one != two.map(lambda value: value + 1)


def test_parts_by_name() -> None:
    x, y = Label((), "x", 2, 0), Label(("L",), "y", 2, 0)
    M = LabeledMatrix.from_array(SYMPY, [x, y], [x, y], [[sp.Symbol("a"), 0], [0, 2]])
    assert M["x", "x"] == sp.Symbol("a")
    assert M["x.d", "L.y"] == 0
    assert M["y", "y"] == 2  # short where unique
    assert M[["x"], :].shape == (1, 2)
    assert M.to_matrix() == sp.Matrix([[sp.Symbol("a"), 0], [0, 2]])
    assert "L.y.dd" in repr(M)
    assert r"\ddot{y}" in M.latex()
    table = M.map(lambda v: 1.0, NUMPY).to_xarray()
    assert list(table.coords["row"].values) == ["x.dd", "L.y.dd"]
    with pytest.raises(ModelError, match=r"no row is called 'q'; there are x\.dd, L\.y\.dd"):
        M["q", "x"]


def test_algebras_do_not_mix() -> None:
    a = NAMES[0]
    with pytest.raises(DalembertError, match="different algebras"):
        assemble(LabeledMatrix.identity(NUMPY, [a]), LabeledMatrix.identity(SYMPY, [a]))


def test_pictures_of_matrices(tmp_path: Path) -> None:
    S = da.Subsystem("S")
    x, y = S.coordinates("x y")
    S.invariant(x - 2 * y, "twice")
    S.effective_forces({x: -x.dd, y: -y.dd})
    equations = S.equations()
    for k, matrix in enumerate((equations.A, equations.at({}).B, LabeledMatrix.empty(NUMPY))):
        figure = plot_matrix(matrix, tmp_path / f"{k}.png", title="A")
        assert (tmp_path / f"{k}.png").stat().st_size > 1000
        texts = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        assert texts == [str(label) for label in matrix.columns]
    (image,) = plot_matrix(equations.at({}).B).axes[0].get_images()
    assert sorted(np.asarray(image.get_array()).reshape(-1)) == [-2.0, 1.0]


def test_what_deriving_costs_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    S = da.Subsystem("logged")
    x, y = S.coordinates("x y")
    S.invariant(x * y - 1, "product")
    S.effective_forces({x: -x.dd, y: -y.dd})
    with caplog.at_level("DEBUG", logger="dalembert.modular"):
        assert S.equations().f_bar.rows
    steps = [record.getMessage() for record in caplog.records]
    assert [step.partition(" in ")[0] for step in steps] == [
        "subsystem 'logged': variables and invariants",
        "subsystem 'logged': rows of 1 subsystems as a graph", "subsystem 'logged': two consistent states",
        "subsystem 'logged': independent variables of 1 subsystems", "subsystem 'logged': matrices over SymPy",
    ]  # fmt: skip
