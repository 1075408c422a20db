"""Pages that simulate, in a real browser: the numbers of da.simulate, no request, nothing that a name can do."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import dalembert as da
from dalembert import library
from dalembert.expressions import parse
from dalembert.view.page import asset

RENDERER = ("space.js", "solids.js", "renderer.js")

# A mechanism, what is moved by its sliders, and the same for da.simulate; size of its page (kB).
MECHANISMS = {
    "four-bar": ({"p:crank": 0.45, "u:A": 6.5}, {"parameters": {"crank": 0.45}, "initial_rates": {"A": 6.5}}, 200),
    "bicycle": ({"p:speed": 5.2, "p:w": 1.1}, {"parameters": {"speed": 5.2, "w": 1.1}}, 200),
    "stewart-platform": ({"p:travel": 0.11, "p:height": 1.3}, {"parameters": {"travel": 0.11, "height": 1.3}}, 400),
    "spinning-top": ({"p:spin": 110.0, "p:tilt": 0.5}, {"parameters": {"spin": 110.0, "tilt": 0.5}}, 200),
    "snakeboard": ({"p:force": 3.0, "p:length": 0.7}, {"parameters": {"force": 3.0, "length": 0.7}}, 200),
}


def moved(browser, values):
    """The run after some sliders were moved by script."""
    browser.evaluate(f"dalembert.live.set({json.dumps(values)}).then(() => true)")
    return browser.evaluate("dalembert.live.run()")


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_slider_gives_the_numbers_of_python(name, tmp_path, open_browser):
    sliders, options, most = MECHANISMS[name]
    model = library.build(name)
    path = da.simulate(model, 2.0).live(tmp_path / "live.html")
    wanted = da.simulate(model, 2.0, **options)
    library_of_webgl = sum(len(asset("dalembert.view", script).encode()) for script in RENDERER)
    assert path.stat().st_size - library_of_webgl < 1000 * most
    with open_browser() as browser:
        browser.open(path)
        assert browser.evaluate("dalembert.live.ready()")
        before = browser.evaluate("dalembert.live.run()")
        after = moved(browser, sliders)
        assert not browser.requests and not browser.console and not browser.evaluate("dalembert.errors")
    n = len(wanted.values("time"))
    states = np.reshape(after["states"], (n, -1))
    expected = np.hstack([wanted.values("q"), wanted.values("u")])
    assert np.abs(states[:, :-1] - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())
    assert after["trusted"] and wanted.certificate.trusted
    assert np.abs(np.array(before["states"]) - np.array(after["states"])).max() > 1e-3


# What is moved, seconds of motion, and milliseconds that a run of it may take.
SPEED = {
    "cart-pendulum": ("p:cart_mass", (2.0, 2.1), 10.0, 5.0),
    "four-bar": ("p:crank", (0.42, 0.45), 10.0, 25.0),
    "stewart-platform": ("p:travel", (0.1, 0.11), 5.0, 250.0),
}
SECONDS_TO_SEE = 1.5


@pytest.mark.slow
@pytest.mark.parametrize("name", SPEED)
def test_a_run_follows_the_hand(name, tmp_path, open_browser):
    """Time that passes, in the page: the least of many, since the machine may have other work."""
    key, values, duration, most = SPEED[name]
    path = da.simulate(library.build(name), duration, certify=False).live(tmp_path / "live.html")
    seen, taken = [], []
    for _ in range(5):
        with open_browser() as browser:
            browser.open(path)
            browser.evaluate("dalembert.live.ready()")
            seen.append(browser.evaluate("dalembert.live.opened()") / 1000)
            browser.evaluate("dalembert.pause()")
            for k in range(20):
                moved(browser, {key: values[k % 2]})
                taken.append(browser.evaluate("dalembert.live.run()")["milliseconds"])
                if min(taken) <= most:
                    break
        if min(taken) <= most and min(seen) <= SECONDS_TO_SEE:
            break
    assert min(taken) <= most and min(seen) <= SECONDS_TO_SEE, (taken, seen)


@pytest.mark.slow
def test_a_page_says_what_cannot_be_trusted(tmp_path, open_browser):
    """Reset and address; a linkage that cannot be closed; a verdict that stays in sight."""
    run = da.simulate(library.build("four-bar"), 1.0)
    path = run.live(tmp_path / "live.html", parameters={"crank": (0.2, 0.6), "base": (0.8, 1.5)}, initial=["A"])
    with open_browser() as browser:
        browser.open(path, "#t=0.5&p%3Acrank=0.5&no=1&p%3Arocker=nonsense&%E0%A4%A")
        browser.evaluate("dalembert.live.ready()")
        assert browser.evaluate("dalembert.live.values()") == pytest.approx(
            {"p:crank": 0.5, "p:base": 1, "q:A": 0, "u:A": 8}
        )
        assert browser.evaluate("dalembert.time()") == 0.5
        opened = browser.evaluate("dalembert.live.run()")
        assert opened["trusted"] and opened["line"].startswith("trusted: finished at t = 1 s")
        broken = moved(browser, {"p:base": 1.45, "q:A": 3.1})
        assert not broken["trusted"] and broken["line"].startswith("not trusted: with these values")
        assert "cannot be assembled" in browser.evaluate("document.querySelector('.verdict').textContent")
        assert broken["states"] == opened["states"]  # what was seen last stays, pale
        address = browser.evaluate("location.hash")
        assert "p%3Abase=1.45" in address and "q%3AA=3.1" in address
        # A field in which no number stands shows the value again.
        field = "document.querySelector('.slider-field')"
        browser.evaluate(f"{field}.value = '', {field}.dispatchEvent(new Event('change'))")
        assert float(browser.evaluate(f"{field}.value")) == browser.evaluate("dalembert.live.values()")["p:crank"]
        browser.evaluate("document.querySelector('[data-live=reset]').click()")
        browser.evaluate("new Promise((done) => setTimeout(done, 300))")
        moved(browser, {})
        assert browser.evaluate("dalembert.live.run().trusted") and browser.evaluate("location.hash") == ""
        table = browser.evaluate("dalembert.live.csv()")
        assert not browser.console and not browser.evaluate("dalembert.errors")
    lines = table.split("\r\n")
    assert lines[0].startswith('"time (s)","q A"') and len(lines) == 1003
    first = np.array(lines[1].split(","), dtype=float)
    assert np.allclose(first[1:4], run.values("q")[0], atol=1e-12)


HOSTILE = '</script><img src=x onerror="window.stolen=1">\u202e\u2028\''


@pytest.mark.slow
def test_names_do_nothing(tmp_path, open_browser):
    """A hostile name of the model and hostile texts in it stay texts; the policy admits our scripts only."""
    model = da.Model(f"=cmd|{HOSTILE}")
    model.parameters(length=1.0)
    body = model.body("rod", mass=1, com=("length/2", 0, 0), inertia=(0, 0.1, 0.1))
    model.revolute("hinge", model.ground, body, point=(0, 0, 0), axis="y")
    model.output("height", "z(rod)", unit="<b onclick=x>")
    run = da.simulate(model, 0.5)
    path = run.live(tmp_path / "live.html", initial=["hinge"], initial_rates=["hinge"])
    text = path.read_text(encoding="utf-8")
    assert "<img" not in text and text.count("</script>") == 3 and "\u202e" not in text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and "unsafe-inline" not in policy[1] and "'unsafe-eval'" not in policy[1]
    assert "default-src 'none'" in policy[1] and "worker-src blob:" in policy[1]
    with open_browser() as browser:
        browser.open(path, "#p%3Alength=%3Cimg%20src%3Dx%3E&__proto__=1&p%3Alength=1.2")
        browser.evaluate("dalembert.live.ready()")
        moved(browser, {"q:hinge": 0.4})
        assert browser.evaluate("window.stolen") is None and browser.evaluate("document.images.length") == 0
        assert browser.evaluate("document.querySelector('.title').textContent").startswith("=cmd|</script>")
        assert not browser.console and not browser.requests and not browser.evaluate("dalembert.errors")


@pytest.mark.slow
def test_a_body_is_dragged_to_its_start(tmp_path, open_browser):
    """The start follows the pointer; the run from there is that of Python."""
    model = library.build("double-pendulum")
    run = da.simulate(model, 0.5)
    path = run.live(tmp_path / "live.html", initial=["shoulder", "elbow"])
    wanted = run.values("position")[0, 1] + [-0.1, -0.15, 0.0]
    with open_browser() as browser:
        browser.emulate(width=1280, height=800)
        browser.open(path)
        browser.evaluate("dalembert.live.ready()")
        browser.evaluate("dalembert.pause()")
        browser.evaluate(f"dalembert.live.pull('lower', [0, 0, 0], {wanted.tolist()}).then(() => true)")
        browser.evaluate("dalembert.setTime(0)")
        found = browser.evaluate("dalembert.bodyPose('lower')")["position"]
        values, after = browser.evaluate("dalembert.live.values()"), browser.evaluate("dalembert.live.run()")
        # By hand: with a grip the body moves, without it the camera turns.
        for grip in (True, False):
            browser.evaluate(
                f"document.querySelector('[data-live=grab][aria-pressed={str(not grip).lower()}]').click()"
            )
            browser.evaluate("dalembert.setTime(0)")
            before, place = (browser.evaluate(f"dalembert.live.{what}") for what in ("values()", "screen('upper')"))
            browser.drag(tuple(place), (place[0] + 40, place[1] + 25))
            browser.evaluate("dalembert.live.rest()")
            assert (browser.evaluate("dalembert.live.values()") != before) is grip
        assert "q%3Ashoulder" in browser.evaluate("location.hash")
        assert not browser.console and not browser.evaluate("dalembert.errors")
    assert np.abs(found - wanted).max() < 1e-4
    again = da.simulate(model, 0.5, initial={name: values[f"q:{name}"] for name in ("shoulder", "elbow")})
    expected = np.hstack([again.values("q"), again.values("u")])
    states = np.reshape(after["states"], (len(expected), -1))[:, :-1]
    assert np.abs(states - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())


@pytest.mark.slow
def test_buttons_cover_nothing_on_a_phone(tmp_path, open_browser):
    """A ball that goes around is seen below the buttons when it is on top."""
    model = da.Model("wheel of fortune", gravity=(0, 0, 0))
    ball = model.body("ball", mass=1, com=(0, 0, 1), pose=(0, 0, 1), inertia=(0.1, 0.1, 0.1))
    model.revolute("hub", model.ground, ball, point=(0, 0, 0), axis="y")
    model.initial("hub", rate=6.3)
    path = da.simulate(model, 1.0).live(tmp_path / "live.html")
    with open_browser() as browser:
        browser.emulate(width=390, height=844)
        browser.open(path)
        browser.evaluate("dalembert.live.ready()")
        browser.evaluate("dalembert.live.rest()")
        browser.evaluate("dalembert.pause(), dalembert.setTime(0)")
        browser.settle()
        buttons = browser.evaluate("document.querySelector('.toolbar').getBoundingClientRect().bottom")
        assert buttons < browser.evaluate("dalembert.live.screen('ball')")[1] < buttons + 100
        assert not browser.console and not browser.evaluate("dalembert.errors")


# A slider is dragged: some moves, each shown before the next one comes; how many values each run was asked for with.
DRAG = """(async () => {
  const asked = [], send = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...more) {
    asked.push(message.writes.length);
    return send.call(this, message, ...more);
  };
  const slider = document.querySelector(".slider-range"), { body } = document;
  const shown = async () => {
    while (body.classList.contains("running")) await new Promise((done) => setTimeout(done, 1));
  };
  for (const value of [0.41, 0.42, 0.43, 0.44]) {
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
    await shown();
  }
  const during = asked.splice(0), verdict = document.querySelector(".verdict").className;
  slider.dispatchEvent(new Event("change"));
  await dalembert.live.rest();
  return [during, verdict, asked];
})()"""


@pytest.mark.slow
def test_a_run_does_not_wait_for_the_companion_of_the_last_one(tmp_path, open_browser):
    """While a slider is dragged nothing is trusted yet; when it is let go, the run is judged."""
    path = da.simulate(library.build("four-bar"), 1.0).live(tmp_path / "live.html", parameters={"crank": (0.3, 0.5)})
    with open_browser() as browser:
        browser.open(path)
        browser.evaluate("dalembert.live.ready()")
        browser.evaluate("dalembert.live.rest()")
        during, verdict, after = browser.evaluate(DRAG)
        assert during == [1, 1, 1, 1] and "pending" in verdict and "trusted" not in verdict.split()
        assert len(after) == 2 and after[0] == 1 < after[1]  # the last run again, and its companion
        assert browser.evaluate("dalembert.live.run().trusted")
        assert not browser.console and not browser.evaluate("dalembert.errors")


@pytest.mark.slow
def test_the_first_picture_does_not_wait_for_the_first_run(tmp_path, open_browser):
    """A page opens with a glimpse of the motion; inputs have sliders, and what needs Python is named."""
    model = da.Model("cart", gravity=(0, -9.81, 0))
    model.input("push", 1.0, unit="N")
    model.input("shake", "sin(3*t)")
    cart = model.body("cart", mass=2, inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, cart, point=(0, 0, 0), axis="x")
    model.joint_force("motor", "rail", "push + shake")
    path = da.simulate(model, 1.0).live(tmp_path / "live.html")
    wanted = da.simulate(model, 1.0, inputs={"push": 1.4})
    with open_browser() as browser:
        browser.open(path)
        assert browser.evaluate("dalembert.live.opened()") > 0  # drawn when the page was read, before any run
        browser.evaluate("dalembert.live.ready()")
        groups = browser.evaluate("[...document.querySelectorAll('.sliders h3')].map((one) => one.textContent)")
        assert groups[0] == "Inputs"
        after = moved(browser, {"p:push": 1.4})
        told = dict(after["facts"])["needs Python"]
        assert "shake: sin(3*t)" in told and "other bodies, joints and formulas" in told
        browser.evaluate("document.querySelector('[data-live=grab]').click()")
        assert "initial=[joint]" in browser.evaluate("document.querySelector('.live-note').textContent")
        assert not browser.console and not browser.evaluate("dalembert.errors")
    expected = np.hstack([wanted.values("q"), wanted.values("u")])
    states = np.reshape(after["states"], (len(expected), -1))[:, :-1]
    assert np.abs(states - expected).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sliders"), [("four-bar", {"crank": 0.45}), ("bicycle", {"speed": 5.2})])
def test_integrators_of_a_menu_are_those_of_python(name, sliders, tmp_path, open_browser):
    """Chosen by hand, by script or by the address, and each judged by a companion of its own kind."""
    model = library.build(name)
    path = da.simulate(model, 1.0).live(tmp_path / "live.html", integrators=["radau", "tsit5", "rk4", "dopri8"])
    moves = {f"p:{key}": value for key, value in sliders.items()}
    with open_browser() as browser:
        browser.open(path, "#integrator=tsit5&integrator=nonsense")
        browser.evaluate("dalembert.live.ready()")
        chosen = "document.querySelector('.slider-menu')"
        assert browser.evaluate(f"{chosen}.value") == "tsit5"
        assert browser.evaluate(f"[...{chosen}.options].map((one) => one.value)") == [
            "dopri8", "radau", "tsit5", "rk4",
        ]  # fmt: skip
        for method in ("tsit5", "radau", "rk4"):
            after = moved(browser, {**moves, "integrator": method})
            wanted = da.simulate(model, 1.0, integrator=method, parameters=sliders)
            expected = np.hstack([wanted.values("q"), wanted.values("u")])
            states = np.reshape(after["states"], (len(expected), -1))[:, :-1]
            assert np.abs(states - expected).max() < 1e-9 * max(1.0, np.abs(expected).max()), method
            facts = dict(after["facts"])
            assert facts["integrator"] == method
            assert after["trusted"] is wanted.certificate.trusted is True
        assert "integrator=rk4" in browser.evaluate("location.hash")
        browser.evaluate("document.querySelector('[data-live=reset]').click()")
        assert browser.evaluate(f"{chosen}.value") == "dopri8" and browser.evaluate("location.hash") == ""
        assert not browser.console and not browser.requests and not browser.evaluate("dalembert.errors")


# Formulas as they are typed, and what they are; a = 0.3 unless its slider is moved.
MOTIONS = {
    "a*t": lambda t, a: a * t,
    "2": lambda t, a: 2 + 0 * t,
    "0.5*sin(3*t - 0.4) + a": lambda t, a: 0.5 * np.sin(3 * t - 0.4) + a,
    "(1 - cos(2*pi*t))/2 * a**2": lambda t, a: (1 - np.cos(2 * np.pi * t)) / 2 * a**2,
    "exp(-t/2)*sin(5*t)*t": lambda t, a: np.exp(-t / 2) * np.sin(5 * t) * t,
    "10*t**3 - 15*t**4 + 6*t**5": lambda t, a: 10 * t**3 - 15 * t**4 + 6 * t**5,
    "-sin(t)**3 - sqrt(2)*1e-1": lambda t, a: -(np.sin(t) ** 3) - 0.1 * np.sqrt(2),
    "+cosh(.5*t)/2": lambda t, a: np.cosh(t / 2) / 2,
    "cos(-2*t + 1)*sin(a*t)": lambda t, a: np.cos(1 - 2 * t) * np.sin(a * t),
}
REFUSED = {
    "sin(t**2)": "sin of anything but a*t + b needs Python",
    "sqrt(t)": "sqrt of t needs Python",
    "1/t": "a division by something with t needs Python",
    "t**0.5": "powers of t other than 0 to 12 need Python",
    "t**6": "powers above t**5 need Python",
    "sin(t) + sin(2*t) + sin(3*t) + sin(4*t) + sin(5*t)": "more than 4 different frequencies",
    "2*(t + 1": "a bracket is not closed",
    "t^2": "powers are written **",
    "alert(1)": "there is no function alert here",
    "constructor": "there is no parameter constructor",
    "1/0": "it divides by zero",
    "": "the formula is not complete",
}


@pytest.mark.slow
def test_a_motion_is_typed_anew(tmp_path, open_browser):
    """The coordinate that is driven is the formula, to the last digits; what is no motion of the family is refused."""
    model = da.Model("slide", gravity=(0, 0, 0))
    model.parameters(a=0.3)
    body = model.body("slide", mass=1, inertia=(1, 1, 1))
    rail = model.prismatic("rail", model.ground, body, point=(0, 0, 0), axis="x")
    model.drive(rail, "a*t**2", name="motor")
    path = da.simulate(model, 2.0, output_step=0.02).live(tmp_path / "live.html", motions=["motor"])
    with open_browser() as browser:
        browser.open(path, "#f%3Amotor=2*t%20%2B%20a")
        browser.evaluate("dalembert.live.ready()")
        run = browser.evaluate("dalembert.live.run()")
        t = np.array(run["time"])
        assert np.abs(np.reshape(run["states"], (len(t), -1))[:, 0] - (2 * t + 0.3)).max() < 1e-12
        assert "a*t**2" not in dict(run["facts"])["needs Python"]
        for a in (0.3, 0.4):
            for text, formula in MOTIONS.items():
                run = moved(browser, {"f:motor": text, "p:a": a})
                q, u = np.reshape(run["states"], (len(t), -1))[:, :2].T
                assert np.abs(q - formula(t, a)).max() < 1e-11, text
                h = 1e-4  # fourth order: errors of h⁴ and of rounding over h
                rate = (8 * (formula(t + h, a) - formula(t - h, a)) - formula(t + 2 * h, a) + formula(t - 2 * h, a)) / (
                    12 * h
                )
                assert np.abs(u - rate).max() < 1e-9, text
                assert run["trusted"], text
        before = moved(browser, {})
        for text, why in REFUSED.items():
            browser.evaluate(
                f"(() => {{ const field = document.querySelector('.slider-menu'); field.value = {json.dumps(text)};"
                "field.dispatchEvent(new Event('change')); })()"
            )
            assert why in browser.evaluate("document.querySelector('.live-note').textContent"), text
            assert browser.evaluate("document.querySelector('[aria-invalid=true]') !== null")
        assert moved(browser, {})["states"] == before["states"]
        moved(browser, {"f:motor": "2*t"})
        assert browser.evaluate("document.querySelector('.live-note').textContent") == ""
        # A run that ends where it begins is no end of the page, which plays on.
        browser.evaluate("dalembert.play()")
        stopped = moved(browser, {"f:motor": "sin(1e308*t)"})
        assert stopped["line"].startswith("not trusted: stopped at t = 0 s")
        browser.evaluate("new Promise((done) => setTimeout(done, 200))")
        assert browser.evaluate("dalembert.time()") == 0.0
        browser.evaluate("document.querySelector('[data-live=reset]').click()")
        run = moved(browser, {})
        assert np.abs(np.reshape(run["states"], (len(t), -1))[:, 0] - 0.3 * t**2).max() < 1e-12
        assert browser.evaluate("location.hash") == ""
        assert not browser.console and not browser.requests and not browser.evaluate("dalembert.errors")


@pytest.mark.slow
def test_a_linkage_with_another_motor(tmp_path, open_browser):
    """A loop that is driven otherwise, at other parameters: the numbers of Python."""
    model = library.build("crank-rocker")
    path = da.simulate(model, 2.0).live(tmp_path / "live.html", motions=["motor"])
    text = "speed*t + 0.2*sin(3*t)*exp(-0.1*t)"
    other = library.build("crank-rocker")
    at = next(k for k, one in enumerate(other.constraints) if one.name == "motor")
    other.constraints[at] = other.constraints[at].model_copy(update={"motion": parse(text)})
    wanted = da.simulate(other, 2.0, parameters={"speed": 4.5})
    with open_browser() as browser:
        browser.open(path)
        browser.evaluate("dalembert.live.ready()")
        after = moved(browser, {"f:motor": text, "p:speed": 4.5})
        assert not browser.console and not browser.evaluate("dalembert.errors")
    expected = np.hstack([wanted.values("q"), wanted.values("u")])
    states = np.reshape(after["states"], (len(expected), -1))[:, :-1]
    assert np.abs(states - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())
    assert after["trusted"] and wanted.certificate.trusted
