"""Displays of notebooks: pages of ours in frames, whatever the names in a model are."""

from __future__ import annotations

import html
import re

import pytest

import dalembert as da
from dalembert import library
from dalembert.notebook import Page, frame

HOSTILE = "\"></iframe><img src=x onerror='stolen=1'>&amp;"


def test_frames_hold_any_page():
    shown = frame(HOSTILE)
    assert "<img" not in shown and shown.count("<iframe") == shown.count("</iframe>") == 1
    found = re.search(r'srcdoc="([^"]*)"', shown)
    assert found is not None and html.unescape(found[1]) == HOSTILE
    assert 'sandbox="allow-scripts allow-downloads"' in shown  # and no allow-same-origin


def test_models_and_runs_show_themselves(tmp_path):
    model = library.build("pendulum")
    run = da.simulate(model, 0.1)
    for shown in (model._repr_html_(), run._repr_html_()):
        assert shown.startswith("<iframe") and "pendulum" in shown
    assert run._repr_html_() == frame(run.animate(tmp_path / "x.html").read_text(encoding="utf-8"))
    empty = da.Model(HOSTILE)._repr_html_()
    assert empty.startswith("<pre>") and "has no bodies" in empty and "<img" not in empty


@pytest.mark.slow
def test_a_living_page_runs_in_a_frame(tmp_path, open_browser):
    page = da.simulate(library.build("pendulum"), 1.0).live()
    assert isinstance(page, Page) and "kB of HTML" in repr(page)
    assert page.save(tmp_path / "x.html").read_text(encoding="utf-8") == page.html
    # Without the sandbox the test can look inside; the page itself does not know the difference.
    outer = tmp_path / "outer.html"
    outer.write_text(f"<!doctype html>{page._repr_html_().replace('sandbox=', 'data-was=')}", encoding="utf-8")
    with open_browser() as browser:
        browser.open(outer)
        assert browser.evaluate("frames[0].dalembert.live.ready()")
        browser.evaluate("frames[0].dalembert.live.set({'p:length': 0.8}).then(() => true)")
        assert browser.evaluate("frames[0].dalembert.live.run().trusted")
        assert not browser.evaluate("frames[0].dalembert.errors") and not browser.requests
