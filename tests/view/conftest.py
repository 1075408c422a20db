"""Fixtures: a synthetic scene, a real browser, and a report on what a page does in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from headless_browser import Browser, find_chromium

from dalembert.view import Plot, Scene, SceneBody, SceneJoint, SceneSpring, Shape


@pytest.fixture
def two_body_scene() -> Scene:
    """A double pendulum of made-up motion in the xz-plane, every kind of thing drawn once."""
    t = np.linspace(0.0, 4.0, 201)
    angles = (0.9 * np.cos(2 * t), 0.9 * np.cos(2 * t) + 0.7 * np.sin(3 * t))
    zero = np.zeros_like(t)
    quaternions = [np.stack([np.cos(a / 2), zero, -np.sin(a / 2), zero], axis=1) for a in angles]
    downs = [np.stack([np.sin(a), zero, -np.cos(a)], axis=1) for a in angles]
    upper = SceneBody(
        "upper",
        [Shape("box", size=(0.08, 0.05, 1.0)), Shape("sphere", radius=0.07, position=(0, 0, 0.5))],
        0.5 * downs[0],
        quaternions[0],
    )
    lower = SceneBody("lower", [Shape("capsule", radius=0.04, length=0.7)], downs[0] + 0.4 * downs[1], quaternions[1])
    return Scene(
        title="Double pendulum",
        time=t,
        bodies=[upper, lower],
        ground_shapes=[Shape("box", size=(0.5, 0.2, 0.06), position=(0, 0, 0.1))],
        joints=[
            SceneJoint("pivot", "revolute", "ground", (0, 0, 0), (0, 1, 0)),
            SceneJoint("elbow", "revolute", "upper", (0, 0, -0.5), (0, 1, 0)),
        ],
        springs=[SceneSpring("spring", "ground", (0.8, 0, 0.1), "upper", (0, 0, -0.2))],
        plots=[
            Plot("Angles", "angle (rad)", {"upper": angles[0], "lower": angles[1]}),
            Plot("Energy drift", "energy (J)", {"total": 9.81 + 1e-12 * np.sin(5 * t)}),
        ],
        facts={"status": "certified", "energy drift": "1e-12 J"},
        trace=[("lower", (0, 0, -0.4))],
    )


@pytest.fixture(scope="session")
def browsers(tmp_path_factory) -> Iterator[Callable[[bool], Browser]]:
    """Running browsers, with and without WebGL, each started when it is first asked for; skips when there is none."""
    executable = find_chromium()
    if executable is None:
        pytest.skip("no chromium or chrome on PATH, and DALEMBERT_CHROMIUM is not set")
    with ExitStack() as running:
        known: dict[bool, Browser] = {}

        def browser(webgl: bool) -> Browser:
            if webgl in known:
                known[webgl].fresh()
            else:
                profile = tmp_path_factory.mktemp("browser-profile")
                known[webgl] = running.enter_context(Browser(executable, profile, webgl=webgl))
            return known[webgl]

        yield browser


@pytest.fixture
def open_browser(browsers) -> Callable[..., AbstractContextManager[Browser]]:
    """A fresh tab of a browser: ``with open_browser(webgl=True) as browser: ...``."""

    @contextmanager
    def opened(*, webgl: bool = True) -> Iterator[Browser]:
        browser = browsers(webgl)
        yield browser
        browser.leave()

    return opened


@pytest.fixture
def browser_report(open_browser) -> Callable[..., dict]:
    """``browser_report(path, width=1280, height=800, dark=False, picture=None) -> dict``.

    Opens a page made by ``write_html`` in a real browser and tells what it does:

    - ``ready``, ``webgl``, ``title``, ``errors`` (of the page itself), ``console`` (warnings and errors),
      ``requests`` (every address asked for besides the page);
    - ``times``: the two scene times looked at (the start and 37 % of the duration);
    - ``poses``: for each time {body name: {"position": [...], "quaternion": [...]}};
    - ``colors``: number of different colors in the 3D view, without floor and labels, at each time (1 means
      that nothing was drawn);
    - ``changed``: share of the 3D view's pixels that differ between the two times;
    - ``plots``: number of different colors in each plot;
    - ``plays``: whether time runs after ``play()``.

    ``picture`` names a PNG file to write a screenshot of the whole window to.
    """

    def report(path: Path, *, width=1280, height=800, dark=False, picture: Path | None = None) -> dict:
        with open_browser() as browser:
            browser.emulate(width=width, height=height, dark=dark)
            browser.open(path)
            result = _observe(browser)
            if picture is not None:
                browser.evaluate("document.querySelector('.side').scrollTo(0, 0), scrollTo(0, 0)")
                browser.settle()
                Path(picture).write_bytes(browser.screenshot())
            return result

    return report


# While pixels are counted, the view shows bodies, joints, springs and traces on plain white, nothing else.
_SWITCH_FLOOR = """
  document.querySelectorAll("[data-layer=grid], [data-layer=shadows]").forEach((button) => button.click());
"""
_ONLY_BODIES = f"""(() => {{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(".stage {{ background: #fff }} .stage > :not(.view) {{ visibility: hidden }}");
  document.adoptedStyleSheets = [sheet];
  {_SWITCH_FLOOR}
}})()"""
_EVERYTHING = f"""(() => {{
  document.adoptedStyleSheets = [];
  {_SWITCH_FLOOR}
}})()"""


def _colors(picture: np.ndarray) -> int:
    """Number of different colors; each is one number, which sorts faster than three."""
    return len(np.unique(picture @ (65536, 256, 1)))


def _observe(browser: Browser) -> dict:
    """Drive a loaded page through two times and collect what a test may ask."""
    if not browser.evaluate("window.dalembert?.ready ?? false"):
        errors = browser.evaluate("window.dalembert?.errors ?? ['window.dalembert is missing']")
        return {"ready": False, "errors": errors, "console": browser.console, "requests": browser.requests}
    browser.evaluate("dalembert.pause()")
    names, end = browser.evaluate(
        "(() => { const scene = JSON.parse(document.querySelector('#scene-data').textContent);"
        " const slider = document.querySelector('.scrubber');"
        " return [scene.bodies.map(body => body.name), [Number(slider.min), Number(slider.max)]]; })()"
    )
    browser.evaluate(_ONLY_BODIES)
    times = [end[0], end[0] + 0.37 * (end[1] - end[0])]
    poses, pictures = [], []
    for t in times:
        browser.evaluate(f"dalembert.setTime({t!r})")
        browser.settle()
        poses.append({name: browser.evaluate(f"dalembert.bodyPose({json.dumps(name)})") for name in names})
        pictures.append(browser.pixels("canvas.view"))
    browser.evaluate(_EVERYTHING)
    plots = browser.evaluate("document.querySelectorAll('canvas.plot-curves').length")
    result = {
        "times": times,
        "poses": poses,
        "colors": [_colors(picture) for picture in pictures],
        "changed": float(np.mean(np.any(np.abs(pictures[0] - pictures[1]) > 8, axis=2))),
        "plots": [_colors(browser.pixels(f".plot:nth-child({k + 1}) .plot-frame")) for k in range(plots)],
        "title": browser.evaluate("document.querySelector('.title').textContent"),
    }
    before = browser.evaluate("dalembert.play(), dalembert.time()")
    for _ in range(5):
        browser.settle()
    result["plays"] = browser.evaluate("dalembert.time()") != before
    browser.evaluate("dalembert.pause()")
    page = browser.evaluate("({ready: dalembert.ready, webgl: dalembert.webgl, errors: dalembert.errors})")
    return {**result, **page, "console": browser.console, "requests": browser.requests}
