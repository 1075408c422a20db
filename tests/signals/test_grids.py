"""Functions of two variables on a grid: against polynomials and SciPy, in every algebra, through files, as terrain."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import RectBivariateSpline

import dalembert as da
from dalembert.algebra import NUMPY, Jets
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import compile_function
from dalembert.errors import InputError
from dalembert.expressions import Grid, evaluate, parameter
from dalembert.expressions.grids import call_grid
from dalembert.io import dumps, loads

X, Y = np.linspace(-1.2, 1.2, 9), np.array([-1.5, -1.0, -0.2, 0.1, 0.9, 1.4, 2.0])
GRID = np.meshgrid(X, Y, indexing="ij")
PLACES = np.random.default_rng(0).uniform(-1.1, 1.1, size=(20, 2))
x, y = sp.symbols("x y", real=True)


def test_a_cubic_grid_repeats_polynomials_of_third_degree():
    formula = 0.4 * x**3 - 0.3 * x * y**2 + x**2 * y + y**3 / 5 - 1
    grid = Grid.of("h", X, Y, sp.lambdify((x, y), formula)(*GRID), "cubic", "hold")
    for m, n in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 2)]:
        wanted = sp.lambdify((x, y), sp.diff(formula, x, m, y, n))
        for p, q in PLACES:
            assert float(grid.value(NUMPY, p, q, (m, n))) == pytest.approx(float(wanted(p, q)), abs=1e-12)


def test_a_cubic_grid_is_the_spline_of_scipy():
    """Both take not-a-knot ends in both directions, so they are the same tensor product of splines."""
    z = np.sin(2 * GRID[0]) * np.cos(GRID[1]) + 0.2 * GRID[0] * GRID[1]
    grid, spline = Grid.of("h", X, Y, z, "cubic", "hold"), RectBivariateSpline(X, Y, z)
    for p, q in PLACES:
        for m, n in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0)]:
            assert float(grid.value(NUMPY, p, q, (m, n))) == pytest.approx(
                float(spline(p, q, dx=m, dy=n)[0, 0]), abs=1e-11
            )


def test_all_algebras_agree_and_derivatives_are_exact():
    z = np.sin(2 * GRID[0]) * np.cos(GRID[1])
    grid = Grid.of("h", X, Y, z, "cubic", "extrapolate")
    formula = call_grid(grid, x * y, x + y)
    column, symbols = CASADI.symbols("x", 2)
    names = {parameter("x"): 0, parameter("y"): 1}
    traced = [evaluate(CASADI, part, lambda s: symbols[names[s]]) for part in (formula, formula.diff(x))]
    kernel = compile_function("f", {"x": column}, {"y": CASADI.to_sx(traced)})
    jets = Jets(NUMPY)
    for p, q in PLACES:
        here = np.array([p, q])
        value = evaluate(NUMPY, formula, lambda s, here=here: here[names[s]])
        slope = float(grid.value(NUMPY, p * q, p + q, (1, 0)) * q + grid.value(NUMPY, p * q, p + q, (0, 1)))
        seen = np.ravel(kernel(here))
        assert seen == pytest.approx([value, slope], abs=1e-13)
        moving = jets.jets(here, np.array([1.0, 0.0]), np.zeros(2))
        assert float(evaluate(jets, formula, lambda s, m=moving: m[names[s]]).v) == pytest.approx(slope, abs=1e-12)


def test_rules_outside_the_range():
    z = GRID[0] + 2 * GRID[1]
    hold, on, error = (Grid.of("h", X, Y, z, "cubic", outside) for outside in ("hold", "extrapolate", "error"))
    assert float(hold.value(NUMPY, 5.0, 0.5)) == pytest.approx(1.2 + 1.0)
    assert float(on.value(NUMPY, 5.0, 9.0)) == pytest.approx(5.0 + 18.0)
    assert np.isnan(float(error.value(NUMPY, 0.0, 9.0)))


def bowl(height: str) -> da.Model:
    """A ball of radius 0.1 that rolls without friction in a bowl."""
    model = da.Model("bowl")
    ball = model.body("ball", mass=1.0)
    model.joint("translational", "ball", model.ground, ball, point=(0, 0, 0))
    bowl = 0.25 * GRID[0] ** 2 + 0.25 * GRID[1] ** 2 + 0.1 * GRID[0] * GRID[1]
    model.table("bowl", X, Y, bowl)
    ground = {"kind": "terrain", "axis": "z", "start": "x", "height": height}
    model.rigid_contact("floor", model.ground, ball, surfaces=(ground, {"kind": "sphere", "radius": 0.1}))
    model.initial("ball", value=(0.5, 0.2, 0.25), rate=(0, 0.5, 0))
    return model


@pytest.mark.slow
def test_a_bowl_on_a_grid_is_that_of_the_formula():
    model = bowl("bowl(x, y)")
    assert loads(dumps(model)) == model
    runs = [da.simulate(m, 0.7, rtol=1e-9) for m in (model, bowl("x**2/4 + y**2/4 + x*y/10"))]
    assert all(run.certificate.trusted for run in runs)
    ends = [run.joint("ball").q[-1].values for run in runs]
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": [0, 2, 1]}, r"x must rise from point to point, but x\[2\] does not"),
        ({"y": [0, 0]}, r"y\[1\] does not: 0 comes twice"),
        ({"z": [[1, 2], [3, 4]]}, "expected z in 3 rows, one for each x, of 2 numbers"),
        ({"z": [[1, 2], [3, 4], [5, 6, 7]]}, "got 3 rows of 2 or 3"),
        ({"z": [[1, 2], [3, float("nan")], [5, 6]]}, r"z\[1\]\[1\] = nan"),
        ({"z": [1, 2, 3]}, "expected rows of numbers"),
        ({"kind": "periodic"}, "a grid does not repeat"),
    ],
)
def test_messages_about_grids(change, words):
    given = {"x": [0, 1, 2], "y": [0, 1], "z": [[1, 2], [3, 4], [5, 6]], **change}
    with pytest.raises(da.ModelError, match=words):
        da.Model("m").table("hill", **given)


@pytest.mark.parametrize(
    ("call", "words"), [("bowl(x)", "takes 2 arguments, got 1"), ("dish(x, y)", "unknown function")]
)
def test_messages_about_calls(call, words):
    with pytest.raises(da.ModelError, match=words):
        bowl(call).validate()


def test_a_table_of_one_variable_takes_one():
    model = bowl("road(x, y)")
    model.table("road", [0, 1, 2], [0, 1, 0])
    with pytest.raises(da.ModelError, match="takes 1 argument, got 2"):
        model.validate()


def test_grids_from_files(tmp_path):
    (tmp_path / "hill.csv").write_text(";0;0,5;1\n0;1;2;3\n10;4;5;6\n", encoding="utf-8")
    assert da.read_grid(tmp_path / "hill.csv") == {"x": (0, 10), "y": (0, 0.5, 1), "z": ((1, 2, 3), (4, 5, 6))}
    head = "ncols 3\nnrows 2\nxllcorner 99.5\nyllcorner 49.5\ncellsize 1\nNODATA_value -9999\n"
    (tmp_path / "map.asc").write_text(head + "1 2 3\n4 5 6\n", encoding="utf-8")
    # The last row is the southernmost: z[i][j] is at x[i] and y[j].
    wanted = {"x": (100, 101, 102), "y": (50, 51), "z": ((4, 1), (5, 2), (6, 3))}
    assert da.read_grid(tmp_path / "map.asc") == wanted
    for text, words in [
        (head + "1 2 3\n", "nrows = 2 rows"),
        (head + "1 2 3\n4 5\n", "expected 3 numbers, got 2"),
        (head + "1 2 3\n4 -9999 6\n", "no height in column 1"),
        ("ncols 3\nnrows 1\n1 2 3\n", "the head of a map needs"),
        ("y 0 1\n0 1 2\n", "two lines and two columns"),
        ("y 0 1\n0 1 2\n1 a 2\n", "expected a finite number, got 'a'"),
    ]:
        (tmp_path / "wrong.asc").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=words):
            da.read_grid(tmp_path / "wrong.asc")


@pytest.mark.parametrize(
    ("head", "cell"), [("1e12", "0"), ("2.5", "1"), ("2", "0")], ids=["columns", "half a column", "no size"]
)
def test_maps_without_cells_are_refused_at_once(tmp_path, head, cell):
    """A head of 10¹² columns and no rows asked for all memory."""
    rows = "0\n" if head == "1e12" else "2\n"
    text = f"ncols {head}\nnrows {rows}xllcorner 0\nyllcorner 0\ncellsize {cell}\n" + "1 2\n3 4\n" * (rows == "2\n")
    (tmp_path / "map.asc").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="two columns and two rows"):
        da.read_grid(tmp_path / "map.asc")


def test_a_cell_without_an_end_gets_words(tmp_path):
    (tmp_path / "long.csv").write_text('x,y\n"' + "1" * 200_000 + '",2\n', encoding="utf-8")
    for read in (da.read_table, da.read_grid):
        with pytest.raises(InputError, match="is not a table"):
            read(tmp_path / "long.csv")


def test_models_that_do_not_use_tables_and_surfaces_pay_nothing():
    """The same instructions, whether a model has a table that nothing calls or not."""

    plain, more = da.library.four_bar(), da.library.four_bar()
    more.table("hill", X, Y, GRID[0])
    sizes = [da.compile(model).kernels.dynamics_kernel.instructions for model in (plain, more)]
    assert sizes[0] == sizes[1] > 50
