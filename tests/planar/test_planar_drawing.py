"""Drawings of planar mechanisms: where things are, at any time; files that are whole; errors in words."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from planar_cases import CASES, four_bar

import dalembert as da
from dalembert.planar import planar_symbols as symbols
from dalembert.planar.planar_poses import poses_at, poses_of


@pytest.mark.parametrize("name", [*CASES, *da.library.PLANAR])
def test_every_mechanism_can_be_drawn(name, tmp_path):
    w = CASES[name]() if name in CASES else da.library.build(name)
    figure = w.draw(tmp_path / "w.svg")
    root = ElementTree.parse(tmp_path / "w.svg").getroot()
    assert root.tag.endswith("svg")
    axes = figure.axes[0]
    shown = {text.get_text() for text in axes.texts}
    assert {body.name for body in w.bodies} <= shown
    # Every node lies inside the picture.
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    now = poses_at(w, None, None)
    for body in w.bodies:
        for node in body.nodes:
            x, y = now.node(f"{body.name}.{node}")
            assert left < x < right and low < y < high


def test_equal_drawings_are_equal_files(tmp_path):
    for name in ("a", "b"):
        four_bar().draw(tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_at_a_state_and_along_a_run(tmp_path):
    w = four_bar()
    run = da.simulate(w, 0.5, output_step=0.1)
    state = da.assemble(w, {"A": 0.3})
    crank = poses_at(w, state, None)
    assert crank.angle("crank") == pytest.approx(0.3)
    np.testing.assert_allclose(crank.node("crank.B"), [-0.4 * np.sin(0.3), 0.4 * np.cos(0.3)], atol=1e-12)
    np.testing.assert_allclose(crank.node("crank.B"), crank.node("coupler.B"), atol=1e-9)
    along = poses_of(w, run)
    assert along is not None and along.count == 6
    np.testing.assert_allclose(along.node("coupler.C")[:, 0], w.values(run, "coupler.C.x"), atol=1e-12)
    # Between two outputs the run is resampled.
    now = poses_at(w, run, 0.25)
    np.testing.assert_allclose(now.node("crank.B"), now.node("coupler.B"), atol=1e-9)
    figure = w.draw(
        tmp_path / "w.png", at=run, time=0.25, paths=["coupler.C", w.bodies[0].nodes and "crank.B"], ghosts=3
    )
    assert (tmp_path / "w.png").read_bytes()[:4] == b"\x89PNG"
    curves = [np.asarray(line.get_xydata()) for line in figure.axes[0].lines]
    assert any(len(c) == 6 and np.allclose(c, along.node("coupler.C")) for c in curves)


def test_of_inverse_dynamics():
    w = da.library.whitworth()
    found = da.inverse_dynamics(w, {"crank.angle": "pi/2*t"}, 1.0, output_step=0.25)
    assert w.draw(at=found, time=0.5, title="half a second").axes
    assert poses_at(w, found.motion, 0.5).angle("crank") == pytest.approx(np.pi / 4)


def test_labels_can_be_left_out():
    assert four_bar().draw(labels=False, title="").axes[0].texts[0].get_text().endswith(" m")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "x.csv"}, "PNG, SVG or PDF, not csv.  Fix: 'x.png'"),
        ({"colour": "red"}, "unknown option 'colour'"),
        ({"time": 1.0}, "time is that of a run"),
        ({"at": {"A": 1}}, "at must be a state or a run, got dict"),
        ({"paths": ["crank.B"]}, "paths of nodes are those of a run"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(da.DalembertError, match=words):
        four_bar().draw(**options)


def test_wrong_nodes_and_times():
    w = four_bar()
    run = da.simulate(w, 0.1, output_step=0.1)
    with pytest.raises(da.DalembertError, match=r"unknown node 'crank.X'.  Fix: one of crank.A, crank.B"):
        w.draw(at=run, paths=["crank.X"])
    with pytest.raises(da.DalembertError, match=r"the run lasts from 0 to 0.1 s, got time 3 s"):
        w.draw(at=run, time=3.0)
    with pytest.raises(da.DalembertError, match=r"unknown quantity 'crank.angel'.*did you mean crank.angle"):
        w.values(run, "crank.angel")


def test_outlines():
    """Area of a rounded hull:  A + r · perimeter + π r²  (Steiner)."""
    points = np.array([(0.0, 0.0), (2.0, 0.0), (1.0, 0.4), (2.0, 1.0), (0.0, 1.0), (0.0, 1.0)])
    x, y = symbols.rounded(points, 0.3).T
    area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    assert area == pytest.approx(2 + 0.3 * 6 + np.pi * 0.09, rel=1e-3)
    assert len(symbols.hull(points)) == 4
    x, y = symbols.capsule(np.zeros(2), np.array([1.0, 0.0]), 0.5).T
    assert abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2 == pytest.approx(1 + np.pi / 4, rel=1e-3)
    coil = symbols.zigzag(np.zeros(2), np.array([1.0, 0.0]), 0.05)
    assert np.all(np.diff(coil[:, 0]) > 0) and np.abs(coil[:, 1]).max() == pytest.approx(0.05)
