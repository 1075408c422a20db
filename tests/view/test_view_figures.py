"""Still pictures: panels over one time axis, without a display and without global state."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import dalembert as da
from dalembert.view import PALETTE, Plot, SceneError, ViewError, plot_series, write_figure
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


def test_a_name_keeps_its_color_and_no_plot_repeats_one():
    first = Plot("p", "y", {"a": T, "b": T})
    second = Plot("q", "y", {"c": T, "b": T, "a": T})
    many = Plot("r", "y", {str(k): T for k in range(10)})
    one, two, ten = series_colors([first, second, many], {"b": PALETTE[0]})
    assert one == {"a": PALETTE[1], "b": PALETTE[0]}
    assert two == {"a": PALETTE[1], "b": PALETTE[0], "c": PALETTE[2]}
    assert len(set(list(ten.values())[:8])) == 8


def test_the_png_has_curves_in_it(tmp_path):
    path = write_figure(plot_series(T, PLOTS), tmp_path / "plots.png")
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
        write_figure(plot_series(T, PLOTS), tmp_path / "missing" / "plots.png")


def test_importing_the_viewer_does_not_import_matplotlib():
    code = "import sys, dalembert.view; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_in_a_figure_covers_anything_else():
    plots = [
        *PLOTS,
        Plot("Small", "moment (N m)", {"a much longer name than the others": 1e-9 * np.sin(T)}),
        Plot("Residuals", "largest", {"position": 10.0 ** (-16 + 3 * T)}, log=True),
    ]
    figure = plot_series(T, plots, title="Title")
    figure.canvas.draw()
    boxes = [panel.get_tightbbox() for panel in figure.axes]
    for upper, lower in itertools.pairwise(boxes):
        assert lower.y1 < upper.y0
    heading = figure.texts[0].get_window_extent()
    assert boxes[0].y1 < heading.y0 and heading.y1 <= figure.bbox.y1
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and figure.bbox.y0 <= box.y0
    widths = {round(panel.bbox.width, 6) for panel in figure.axes}
    heights = {round(panel.bbox.height, 6) for panel in figure.axes}
    assert len(widths) == len(heights) == 1
    for panel in figure.axes:
        label, numbers = panel.yaxis.label.get_window_extent(), panel.get_yticklabels()
        seen = [text for text in numbers if panel.bbox.y0 <= text.get_window_extent().y0 <= panel.bbox.y1]
        assert seen and all(label.x1 < text.get_window_extent().x0 for text in seen)
    left_edges = {round(panel.yaxis.label.get_window_extent().x1, 3) for panel in figure.axes}
    assert len(left_edges) == 1, "labels of all axes stand on one line"
    assert "10⁻¹⁵" in [text.get_text() for text in figure.axes[-1].get_yticklabels()]


def test_a_figure_may_change_before_it_is_written(tmp_path):
    figure = plot_series(T, PLOTS)
    figure.canvas.draw()
    narrow = figure.axes[0].bbox.width
    figure.axes[0].get_legend().get_texts()[0].set_text("a name that takes much more room than before")
    write_figure(figure, tmp_path / "plots.png")
    assert figure.axes[0].bbox.width < narrow


@pytest.mark.parametrize(
    ("name", "starts"), [("a", b"\x89PNG"), ("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_pictures_are_what_their_names_say(name, starts, tmp_path):
    """And equal figures give equal files."""
    first, second = (write_figure(plot_series(T, PLOTS), tmp_path / f"{k}{name}").read_bytes() for k in range(2))
    assert first.startswith(starts)
    assert first == second


def test_a_name_that_promises_another_format_is_refused(tmp_path):
    run = da.simulate(da.library.pendulum(), 0.1)
    for write, name, fix in ((run.plot, "run.csv", "'run.png'"), (run.save, "run.csv", "'run.nc'"),
                             (run.animate, "run.gif", "'run.html'")):  # fmt: skip
        with pytest.raises(da.DalembertError, match=f"not {name[-3:]}.  Fix: {fix}"):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())
