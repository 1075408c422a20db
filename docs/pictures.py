"""The pictures of the documentation, each made again by one command.

    python docs/pictures.py                      list them, and what each costs
    python docs/pictures.py derive four-bar      make these
    python docs/pictures.py all                  make all; minutes, a quiet machine, and the extra ``bench``

Some are photographs of pages that dalembert writes: they need Chromium. Those of benchmarks show measured times.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Picture(NamedTuple):
    """How a picture is made, and what that takes."""

    make: Callable[[Path], None]
    needs: str


def compare(path: Path) -> None:
    """All formulations of the four-bar side by side, as the command line draws them."""
    _run("-m", "dalembert", "compare", "four-bar", "--duration", "10", "--plot", str(path))


def derive(path: Path) -> None:
    """The page with the equations of the rolling disc."""
    import dalembert as da

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "disc.html"
        da.derive(da.library.rolling_disc(), "kane").to_html(page)
        _photograph(page, path, (900, 1200))


def four_bar(path: Path) -> None:
    """The animation of the four-bar."""
    import dalembert as da

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "four-bar.html"
        da.simulate(da.library.four_bar(), 10.0).animate(page)
        _photograph(page, path, (1280, 720), "#t=1.1")


def belt_drive(path: Path) -> None:
    """The animation of the belt drive."""
    import dalembert as da

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "belt-drive.html"
        da.simulate(da.library.belt_drive(), 2.0).animate(page)
        _photograph(page, path, (1100, 620), "#t=0.8")


def _tutorial(page: str, before: str) -> dict[str, Any]:
    """What the code of a tutorial leaves behind before a heading."""
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8").partition(f"## {before}")[0]
    names: dict[str, Any] = {}
    for block in text.split("```python\n")[1:]:
        exec(block.partition("```")[0], names)  # our own page, as its test runs it
    return names


def _draw(path: Path, panels: list[tuple[str, str, list[tuple[Any, Any, str]]]]) -> None:
    """Curves (x, y, label) side by side, each panel with the labels of its axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(4.4 * len(panels), 3.4), layout="constrained")
    for axis, (along, up, curves) in zip(axes, panels, strict=True):
        for (x, y, label), style in zip(curves, ("-", "--"), strict=False):
            axis.plot(x, y, style, label=label)
        axis.set(xlabel=along, ylabel=up)
        axis.grid(alpha=0.3)
        if any(label for *_, label in curves):
            axis.legend()
    figure.savefig(path, dpi=130)


def cam(path: Path) -> None:
    """Lift and force of the follower that takes off."""
    import numpy as np

    run = _tutorial("cam", "Faster still")["run"]
    t = run.time.values
    lift = [(t, 1e3 * run.output("lift").values, "rod"), (t, 10 * (1 - np.cos(40 * t)), "cam")]
    _draw(path, [("t (s)", "lift (mm)", lift), ("t (s)", "force (N)", [(t, run.reaction("contact").values, "")])])


def stick_slip(path: Path) -> None:
    """The limit cycle of the block on the belt, over time and in its phase plane."""
    run = _tutorial("stick-slip", "The closed form")["run"]
    t, stretch, belt = run.time.values, run.output("stretch").values, run.joint("drum").u.values
    speed = belt + run.joint("slide").u.values
    cycle = ("stretch (m)", "velocity of the block (m/s)", [(stretch, speed, "")])
    _draw(path, [("t (s)", "stretch of the spring (m)", [(t, stretch, "")]), cycle])


def motor_arm(path: Path) -> None:
    """Angle of the arm, and voltage of its controller."""
    run = _tutorial("motor-and-controller", "A computer instead")["run"]
    t = run.time.values
    angle = [(t, run.joint("shoulder").q.values, "arm"), (t, 0 * t - 1.0, "aim")]
    _draw(path, [("t (s)", "angle (rad)", angle), ("t (s)", "voltage (V)", [(t, run.output("voltage").values, "")])])


# Until the companion run has estimated the error.
JUDGED = """new Promise((done) => {
  const look = () => dalembert.live.run().line.startsWith("not checked") ? setTimeout(look, 100) : done(true);
  look();
})"""


def living(name: str, duration: float, time: float, changed: dict[str, float], phone: bool = False) -> Any:
    """A page that simulates, with some sliders moved and the run before as a ghost."""

    def make(path: Path) -> None:
        sys.path.insert(0, str(ROOT / "tests" / "view"))
        from headless_browser import Browser

        from dalembert import library, simulate

        with tempfile.TemporaryDirectory() as folder, Browser(_browser("a page"), Path(folder) / "profile") as browser:
            page = simulate(library.build(name), duration).live(Path(folder) / "live.html")
            browser.emulate(width=390 if phone else 1080, height=844 if phone else 680)
            browser.open(page)
            browser.evaluate("dalembert.live.ready()")
            browser.evaluate(f"dalembert.live.set({json.dumps(changed)}).then(() => true)")
            browser.evaluate(f"dalembert.pause(), dalembert.setTime({time})")
            browser.evaluate(JUDGED)
            # The camera flies to where all of the motion can be seen.
            browser.evaluate("new Promise((done) => setTimeout(done, 2000))")
            browser.settle()
            path.write_bytes(browser.screenshot())

    return make


def ignorable(name: str) -> Callable[[Path], None]:
    """Errors of four methods (``tables``), or motions (``figures``), from a script of the example."""

    def make(path: Path) -> None:
        script = ROOT / "examples" / "13_ignorable_coordinates" / f"{name}.py"
        with tempfile.TemporaryDirectory() as folder:
            _run(str(script), DALEMBERT_EXAMPLES_OUT=folder)
            shutil.copy(Path(folder) / f"{name}.png", path)

    return make


def parts_to_whole(name: str) -> Callable[[Path], None]:
    """The picture of an example of a system that is made of parts."""

    def make(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            _run(str(ROOT / "examples" / "14_parts_to_whole" / f"{name}.py"), DALEMBERT_EXAMPLES_OUT=folder)
            shutil.copy(Path(folder) / f"{name.replace('_', '-')}.png", path)

    return make


def planar_rrr(path: Path) -> None:
    """The 3-RRR mechanism on its way, with the paths of the platform's center and of a pin."""
    import dalembert as da

    w = da.library.three_rrr()
    laws = ("-sin(pi*t/2)", "sin(pi*t/4)", "pi/6*sin(pi*t/4)**4")
    motion = dict(zip(("platform.center.x", "platform.center.y", "platform.angle"), laws, strict=True))
    found = da.inverse_dynamics(w, motion, 16.0)
    w.draw(path, at=found, time=5.3, paths=["platform.center", "coupler1.top"], title="")


def planar_whitworth(path: Path) -> None:
    """The Whitworth mechanism on its quick return."""
    import dalembert as da

    w = da.library.whitworth()
    found = da.inverse_dynamics(w, {"crank.angle": "pi/2*t"}, 4.0)
    w.draw(path, at=found, time=2.3, paths=["rocker.tip", "crank.pin"], ghosts=6, title="")


def branches(path: Path) -> None:
    """The eight branches of a 3-RRR mechanism."""
    import dalembert as da

    pose = {"platform.center.x": 0.3, "platform.center.y": -0.2, "platform.angle": 0.2}
    da.assemble(da.library.three_rrr(), pose, branches="all").draw(path)


def quick_return(path: Path) -> None:
    """Rates of the slider of the Whitworth mechanism."""
    import dalembert as da

    da.kinematics(da.library.whitworth(), 4.0, {"crank.angle": "pi/2*t"}).plot(path, joints="guide")


def coupler_curve(path: Path) -> None:
    """A crank-rocker with the path of a point of its coupler."""
    import dalembert as da

    da.kinematics(da.library.crank_rocker(), 1.0).draw(path, paths=[("coupler", (0.9, 0.9, 0))])


def motor_sizing(path: Path) -> None:
    """The sizing report of the Delta robot."""
    import dalembert as da

    da.inverse_dynamics(da.library.delta_robot(), duration=1.0).sizing().plot(path)


def bicycle_eigenvalues(path: Path) -> None:
    """Eigenvalues of the bicycle over its speed."""
    import numpy as np

    import dalembert as da

    chart = da.linearize_over(da.library.bicycle(lean=0.0), "speed", np.linspace(0, 10, 401))
    chart.plot(path, unit="m/s", limits=(-10, 10))


def bicycle_modes(path: Path) -> None:
    """Modes of the bicycle at 5 m/s as arrows."""
    import dalembert as da

    da.linearize(da.library.bicycle(lean=0.0, speed=5.0)).reduced().plot_modes(path)


def equilibria(path: Path) -> None:
    """The four equilibria of the four-bar."""
    import dalembert as da

    da.equilibrium(da.library.four_bar(), starts=12).plot(path)


def desk_lamp(path: Path) -> None:
    """The desk lamp at rest."""
    import dalembert as da

    da.equilibrium(da.library.desk_lamp()).plot(path)


def tolerances(path: Path) -> None:
    """What tolerances do to a four-bar."""
    with tempfile.TemporaryDirectory() as folder:
        _run(str(ROOT / "examples" / "16_tolerances.py"), DALEMBERT_EXAMPLES_OUT=folder)
        shutil.copy(Path(folder) / "16_tolerances.png", path)


def benchmark(name: str, *arguments: str) -> Callable[[Path], None]:
    """A benchmark that draws; those without arguments know the place of their picture."""
    return lambda path: _run(str(ROOT / "benchmarks" / f"{name}.py"), *(a.format(path=path) for a in arguments))


# Pages that simulate: how long their run is (s), the time shown, and what is changed.
LIVING: dict[str, tuple[float, float, dict[str, float]]] = {
    "four-bar": (10.0, 1.3, {"p:crank": 0.5, "p:coupler": 1.1}),
    "bicycle": (2.0, 0.9, {"p:speed": 3.4, "p:lean": 0.15}),
    "stewart-platform": (4.0, 1.2, {"p:height": 1.35, "p:travel": 0.2}),
    "spinning-top": (3.0, 1.0, {"p:tilt": 0.55}),
    "snakeboard": (3.0, 2.3, {"p:force": 2.5, "p:length": 1.0}),
}

PICTURES = {
    "bicycle-eigenvalues": Picture(bicycle_eigenvalues, "seconds"),
    "bicycle-modes": Picture(bicycle_modes, "seconds"),
    "branches": Picture(branches, "seconds"),
    "compare": Picture(compare, "a minute"),
    "coupler-curve": Picture(coupler_curve, "seconds"),
    "belt-drive": Picture(belt_drive, "seconds"),
    "cam": Picture(cam, "seconds"),
    "desk-lamp": Picture(desk_lamp, "seconds"),
    "derivation": Picture(benchmark("derivation"), "an hour: SymPy derives too"),
    "derive": Picture(derive, "seconds, Chromium"),
    "equilibria": Picture(equilibria, "seconds"),
    "four-bar": Picture(four_bar, "seconds, Chromium"),
    "five-bar": Picture(parts_to_whole("five_bar_with_motors"), "seconds"),
    "friction": Picture(parts_to_whole("friction_in_a_guide"), "seconds"),
    "ignorable": Picture(ignorable("tables"), "minutes"),
    "ignorable-motion": Picture(ignorable("figures"), "seconds"),
    "motor-arm": Picture(motor_arm, "seconds"),
    "motor-sizing": Picture(motor_sizing, "seconds"),
    "long-run": Picture(benchmark("long_run"), "minutes"),
    "planar-rrr": Picture(planar_rrr, "seconds"),
    "planar-whitworth": Picture(planar_whitworth, "seconds"),
    "quick-return": Picture(quick_return, "seconds"),
    "stick-slip": Picture(stick_slip, "seconds"),
    "scaling": Picture(benchmark("kernels", "--scaling", "{path}"), "minutes, extra bench"),
    "tolerances": Picture(tolerances, "seconds"),
    "windows": Picture(benchmark("windows"), "minutes, extra bench"),
}

for _name, _how in LIVING.items():
    PICTURES[f"live-{_name}"] = Picture(living(_name, *_how), "seconds, Chromium")
    PICTURES[f"live-{_name}-phone"] = Picture(living(_name, *_how, phone=True), "seconds, Chromium")


def _run(*command: str, **variables: str) -> None:
    subprocess.run([sys.executable, *command], check=True, env={**os.environ, **variables})


def _browser(page: str) -> str:
    """A browser that photographs pages."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f"no browser found to photograph {page}; looked for {', '.join(BROWSERS)}")
    return found


def _photograph(page: Path, path: Path, size: tuple[int, int], fragment: str = "") -> None:
    """What a browser shows two seconds after it has opened a page; the fragment may say at which time it stands."""
    subprocess.run(
        [
            _browser(page.name), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--use-angle=swiftshader", "--enable-unsafe-swiftshader", f"--window-size={size[0]},{size[1]}",
            "--virtual-time-budget=2000", f"--screenshot={path}", page.as_uri() + fragment,
        ],
        check=True, capture_output=True,
    )  # fmt: skip


def main() -> None:
    """Make the pictures that are named."""
    wanted = list(PICTURES) if sys.argv[1:] == ["all"] else sys.argv[1:]
    unknown = [name for name in wanted if name not in PICTURES]
    if unknown:
        sys.exit(f"unknown picture {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    for name in wanted:
        PICTURES[name].make(IMAGES / f"{name}.png")
        print(f"wrote docs/images/{name}.png")
    if not wanted:
        for name, picture in PICTURES.items():
            print(f"{name:<20} {picture.needs}")


if __name__ == "__main__":
    main()
