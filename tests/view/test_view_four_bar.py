"""The page that ``dalembert run four-bar`` writes, in a real browser."""

from __future__ import annotations

import pytest

import dalembert as da


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return da.simulate(da.library.four_bar(), 2.0).animate(tmp_path_factory.mktemp("page") / "four-bar.html")


def test_four_bar_draws_and_moves(page, browser_report):
    report = browser_report(page)
    assert report["ready"]
    assert report["errors"] == []
    assert report["console"] == []
    assert report["requests"] == []
    assert report["changed"]
    first, last = report["poses"][0], report["poses"][-1]
    for body in ("crank", "coupler", "rocker"):
        assert first[body] != last[body]
