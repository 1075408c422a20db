"""Still pictures: panels over one time axis, without a display and without global state."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from dalembert.view import PALETTE, Plot, SceneError, ViewError, plot_series, write_png
from dalembert.view.colors import series_colors

T = np.linspace(0.0, 2.0, 101)
PLOTS = [
    Plot("Angles", "angle (rad)", {"crank": np.sin(T), "_rocker $x$": np.cos(T)}),
    Plot("Energy $", "energy (J)", {"total": 9.81 + 1e-12 * T}),
]


def test_panels_share_the_time_and_keep_every_name():
    figure = plot_series(T, PLOTS, title="A $ title")
    first, second = figure.axes
    assert first.get_shared_x_axes().joined(first, second)
    assert first.get_xlim() == (0.0, 2.0)
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["crank", "_rocker $x$"]
    assert first.lines[0].get_color() == PALETTE[0]
    np.testing.assert_array_equal(first.lines[1].get_ydata(), np.cos(T))


def test_a_name_keeps_its_colour_and_no_plot_repeats_one():
    first = Plot("p", "y", {"a": T, "b": T})
    second = Plot("q", "y", {"c": T, "b": T, "a": T})
    many = Plot("r", "y", {str(k): T for k in range(10)})
    one, two, ten = series_colors([first, second, many], {"b": PALETTE[0]})
    assert one == {"a": PALETTE[1], "b": PALETTE[0]}
    assert two == {"a": PALETTE[1], "b": PALETTE[0], "c": PALETTE[2]}
    assert len(set(list(ten.values())[:8])) == 8


def test_the_png_has_curves_in_it(tmp_path):
    path = write_png(plot_series(T, PLOTS), tmp_path / "plots.png")
    colors = np.unique(np.asarray(Image.open(path).convert("RGB")).reshape(-1, 3), axis=0)
    assert [0x00, 0x72, 0xB2] in colors.tolist()


def test_a_single_sample_is_drawn():
    assert plot_series([0.0], [Plot("p", "y", {"a": np.array([1.0])})]).axes


def test_wrong_lengths_and_paths_are_refused(tmp_path):
    with pytest.raises(SceneError, match="got \\(3,\\)"):
        plot_series(T, [Plot("p", "y", {"a": np.ones(3)})])
    with pytest.raises(SceneError, match="at least one"):
        plot_series(T, [])
    with pytest.raises(ViewError, match="no folder"):
        write_png(plot_series(T, PLOTS), tmp_path / "missing" / "plots.png")


def test_importing_the_viewer_does_not_import_matplotlib_or_meshcat():
    code = "import sys, dalembert.view; assert not {'matplotlib', 'meshcat'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
