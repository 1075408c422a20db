"""The page in a real browser: it draws, moves, obeys, and asks the network for nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from renamed_scene import renamed

from dalembert.view import Plot, Scene, SceneBody, SceneJoint, Shape, write_html

# The page holds poses in single precision.
SINGLE = 4 * np.finfo(np.float32).eps
# An empty view has one color; a single lit sphere already has more than this.
SHADED = 30


@pytest.fixture
def page(tmp_path, two_body_scene):
    return write_html(two_body_scene, tmp_path / "page.html")


def clean(report):
    return report["ready"] and not (report["errors"] or report["console"] or report["requests"])


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (420, False)])
def test_the_page_draws_and_moves(page, two_body_scene, browser_report, width, dark, tmp_path):
    report = browser_report(page, width=width, dark=dark, picture=tmp_path / "picture.png")
    assert clean(report), report
    assert report["webgl"]
    assert report["title"] == "Double pendulum"
    assert min(report["colors"]) > SHADED
    assert report["changed"] > 0.005
    assert len(report["plots"]) == 2
    assert min(report["plots"]) > 5
    assert report["plays"]
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    for t, poses in zip(report["times"], report["poses"], strict=True):
        for body in two_body_scene.bodies:
            expected = [np.interp(t, two_body_scene.time, body.position[:, k]) for k in range(3)]
            np.testing.assert_allclose(poses[body.name]["position"], expected, atol=SINGLE)


@pytest.mark.slow
def test_every_shape_and_joint_is_drawn(tmp_path, browser_report):
    triangle = [(0, 0, 0), (0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3)]
    shapes = [
        Shape("box", size=(0.2, 0.3, 0.4)),
        Shape("cylinder", radius=0.1, length=0.4),
        Shape("sphere", radius=0.2),
        Shape("capsule", radius=0.1, length=0.3),
        Shape("cone", radius=0.2, length=0.4),
        Shape("torus", radius=0.2, tube=0.05),
        Shape("line", points=[(0, 0, 0), (0.2, 0, 0.2), (0.2, 0, 0.2), (0, 0.2, 0.3)]),
        Shape("plane", size=(0.3, 0.4)),
        Shape("frame", length=0.3),
        Shape("mesh", vertices=triangle, faces=[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], opacity=0.5),
    ]
    time = np.array([0.0, 1.0, 1.0, 2.0])
    bodies = []
    for k, shape in enumerate(shapes):
        position = np.column_stack([np.full(4, 0.6 * k), 0.3 * time, 0 * time])
        bodies.append(SceneBody(f"b{k}", [shape], position, np.tile([1.0, 0, 0, 0], (4, 1))))
    bodies.append(SceneBody("nothing", [], np.zeros((4, 3)), np.tile([1.0, 0, 0, 0], (4, 1))))
    kinds = ["revolute", "cylindrical", "screw", "prismatic", "translational", "spherical"]
    kinds += ["universal", "planar", "fixed", "toString"]
    joints = [SceneJoint(kind, kind, "ground", (0.6 * k, -0.5, 0), (0, 1, 0)) for k, kind in enumerate(kinds)]
    joints.append(SceneJoint("no axis", "spherical", "ground", (0, 0, 0), (0, 0, 0)))
    report = browser_report(write_html(Scene("All", time, bodies, joints=joints), tmp_path / "all.html"))
    assert clean(report), report
    assert min(report["colors"]) > SHADED


@pytest.mark.parametrize("up", ["x", "y", (0.3, -0.2, -1.0)])
def test_a_still_scene_without_plots_is_drawn(up, tmp_path, browser_report):
    body = SceneBody("b", [Shape("sphere", radius=1e-3)], np.full((1, 3), 50.0), np.array([[1.0, 0, 0, 0]]))
    report = browser_report(write_html(Scene("", np.array([3.0]), [body], up=up), tmp_path / "still.html"))
    assert clean(report), report
    assert report["plots"] == []
    assert not report["plays"]
    assert min(report["colors"]) > SHADED


@pytest.mark.slow
def test_awkward_numbers_are_plotted(tmp_path, browser_report):
    t = 1e9 + np.linspace(0, 1e-6, 4000)
    series = {
        "zero": 0 * t,
        "huge": 1e17 * np.sin(np.arange(4000.0)),
        "tiny": 1e-300 * np.arange(4000.0),
        "constant": 0 * t + 7.0,
        "nearly constant": 7.0 + 1e-14 * np.sin(np.arange(4000.0)),
    }
    plots = [Plot(name, "y", {name: values}) for name, values in series.items()]
    report = browser_report(write_html(Scene("s", t, plots=plots), tmp_path / "page.html"), height=1400)
    assert clean(report), report
    assert min(report["plots"]) > 5


def test_hostile_names_run_nothing(tmp_path, two_body_scene, open_browser):
    name = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    scene = renamed(two_body_scene, name)
    with open_browser() as browser:
        browser.open(write_html(scene, tmp_path / "page.html"), "#t=1")
        browser.evaluate("document.querySelector('[data-layer=labels]').click()")
        browser.settle()
        assert browser.evaluate("typeof window.hacked") == "undefined"
        assert browser.evaluate("document.querySelectorAll('img').length") == 0
        for selector in (".title", ".label", ".plot-title", ".plot-unit", ".legend-name", ".facts td"):
            assert browser.evaluate(f"document.querySelector('{selector}').textContent") == name
        assert browser.evaluate("document.title") == name
        assert browser.console == []


def test_the_policy_blocks_network_and_foreign_scripts(page, open_browser):
    with open_browser() as browser:
        browser.open(page, "#t=0")
        sent = browser.evaluate("fetch('http://127.0.0.1:9/').then(() => true, () => false)")
        assert not sent
        browser.evaluate("document.body.append(document.createElement('script'))")
        browser.evaluate("document.body.lastChild.text = 'window.hacked = 1'")
        assert browser.evaluate("typeof window.hacked") == "undefined"
        errors = " ".join(browser.evaluate("dalembert.errors"))
        assert "connect-src" in errors
        assert "script-src" in errors


def test_keys_buttons_and_drags_do_what_they_say(page, two_body_scene, open_browser):
    time = two_body_scene.time
    with open_browser() as browser:
        browser.emulate(width=1280, height=800)
        browser.open(page, "#t=1")

        def now():
            return browser.evaluate("dalembert.time()")

        assert now() == 1.0
        browser.key("ArrowRight", "ArrowRight")
        assert now() == pytest.approx(time[51])
        browser.key("ArrowLeft", "ArrowLeft")
        browser.key("ArrowLeft", "ArrowLeft")
        assert now() == pytest.approx(time[49])
        browser.key(" ", "Space")
        for _ in range(4):
            browser.settle()
        assert now() > time[49]
        browser.key(" ", "Space")
        stopped = now()
        browser.settle()
        assert now() == stopped

        box = browser.evaluate("document.querySelector('.plot-frame').getBoundingClientRect().toJSON()")
        y = box["y"] + box["height"] / 2
        browser.drag((box["x"] + 0.3 * box["width"], y), (box["right"] - 3, y))
        assert now() == pytest.approx(time[-1])

        views = {"start": browser.pixels("canvas.view")}
        browser.drag((300, 500), (420, 460))
        browser.settle()
        views["turned"] = browser.pixels("canvas.view")
        browser.mouse("wheel", 300, 500, deltaX=0, deltaY=400)
        browser.settle()
        views["zoomed"] = browser.pixels("canvas.view")
        browser.evaluate("document.querySelector('[data-layer=grid]').click()")
        browser.settle()
        views["no grid"] = browser.pixels("canvas.view")
        names = list(views)
        for before, after in pairwise(names):
            assert np.mean(views[before] != views[after]) > 0.005, (before, after)
        assert browser.evaluate("dalembert.errors") == []


def test_motion_between_samples_is_interpolated(tmp_path, open_browser):
    half = np.sqrt(0.5)
    # The second quaternion has the other sign: the short way is a quarter turn, not three.
    quaternion = np.array([[1.0, 0, 0, 0], [-half, 0, 0, -half]])
    body = SceneBody("b", [Shape("box", size=(1, 2, 3))], np.array([[0.0, 0, 0], [4, 0, 0]]), quaternion)
    with open_browser() as browser:
        browser.open(write_html(Scene("s", np.array([0.0, 2.0]), [body]), tmp_path / "page.html"), "#t=0.5")
        pose = browser.evaluate("dalembert.bodyPose('b')")
        assert browser.evaluate("dalembert.bodyPose('unknown')") is None
    np.testing.assert_allclose(pose["position"], [1, 0, 0], atol=SINGLE)
    np.testing.assert_allclose(pose["quaternion"], [np.cos(np.pi / 16), 0, 0, np.sin(np.pi / 16)], atol=SINGLE)


def test_without_webgl_the_plots_still_work(page, open_browser):
    with open_browser(webgl=False) as browser:
        browser.emulate(width=1280, height=800)
        browser.open(page, "#t=1")
        browser.settle()
        assert browser.evaluate("dalembert.ready")
        assert not browser.evaluate("dalembert.webgl")
        assert "WebGL" in browser.evaluate("document.querySelector('.stage-message').innerText")
        assert len(np.unique(browser.pixels(".plot-frame").reshape(-1, 3), axis=0)) > 5
        before = browser.evaluate("dalembert.bodyPose('lower')")
        browser.evaluate("dalembert.setTime(2)")
        assert browser.evaluate("dalembert.bodyPose('lower')") != before
        assert browser.evaluate("dalembert.errors") == []


def test_the_camera_follows_what_travels(tmp_path, open_browser):
    """A ball that goes forty times its size is followed: it is as large at the end as at the start, and not a speck."""
    t = np.linspace(0.0, 2.0, 41)
    still = np.tile([1.0, 0, 0, 0], (len(t), 1))
    far = SceneBody("ball", [Shape("sphere", radius=0.5)], np.stack([20 * t, 0 * t, 0 * t], axis=1), still)
    path = write_html(Scene(title="far", time=t, bodies=[far]), tmp_path / "far.html")
    button = "document.querySelector('[data-layer=ride]')"
    with open_browser() as browser:
        browser.emulate(width=900, height=700)
        browser.open(path)
        assert browser.evaluate(f"{button}.hidden || {button}.ariaPressed") == "true"
        browser.key("End", "End")
        browser.settle()
        followed = _covered(browser)
        browser.evaluate(f"{button}.click()")
        browser.settle()
        assert followed > 20 * _covered(browser)


def _covered(browser) -> int:
    """Pixels of the 3D view that are neither the background nor nearly so."""
    pixels = browser.pixels("canvas.view").astype(int)[..., :3].reshape(-1, 3)
    blue = pixels[:, 2] - pixels[:, 0]
    return int(np.sum(np.abs(blue - np.median(blue)) > 40))
