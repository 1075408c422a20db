"""The command line: results for good models, words and exit code 2 for bad ones."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress
from support.effort import effort
from support.pauses import leave_checkpoint

from dalembert import library
from dalembert.cli import app, compare_command, main, run
from dalembert.cli.progress import messages, working

# Bad input is reported "within a second or two"; processor time does not depend on what else the machine does.
MOST_CALLS = 10_000_000  # of functions, first imports included

ROD = "bodies: [{name: rod, mass: 1, com: [1, 0, 0], inertia: [0, 1, 1]}]"
HINGE = "joints: [{name: A, kind: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: z}]"


def call(*arguments: str, monkeypatch, capsys) -> tuple[int, str]:
    """Exit code and everything printed."""
    monkeypatch.setattr(sys, "argv", ["dalembert", *arguments])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    printed = capsys.readouterr()
    return code, printed.out + printed.err


@pytest.fixture
def dalembert(monkeypatch, capsys):
    def run(*arguments: str) -> tuple[int, str]:
        return call(*arguments, monkeypatch=monkeypatch, capsys=capsys)

    return run


def test_run_writes_all_files_and_prints_what_the_readme_shows(dalembert, tmp_path):
    code, text = dalembert("run", "four-bar", "--out", str(tmp_path))
    assert code == 0, text
    assert {path.suffix for path in tmp_path.iterdir()} == {".nc", ".png", ".html"}
    shown = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = shown.split("```\nfour-bar  ")[1].split("```")[0]
    verdict, *lines = shown.strip().splitlines()
    assert verdict in text
    labels = [line.strip().split("  ")[0] for line in lines]
    assert len(labels) == 7 and not [label for label in labels if f"\n  {label}  " not in text]


def test_files_are_named_as_the_model_was_called(dalembert, tmp_path):
    """Not after its title, which is "cart with pendulum"."""
    code, text = dalembert("run", "cart-pendulum", "--duration", "0.1", "--out", str(tmp_path))
    assert code == 0, text
    assert {path.stem for path in tmp_path.iterdir()} == {"cart-pendulum"}


def test_new_then_run(dalembert, tmp_path):
    path = tmp_path / "mine.yaml"
    assert dalembert("new", str(path))[0] == 0
    code, text = dalembert(
        "run", str(path), "--duration", "0.5", "--no-files", "--set", "length=2", "--initial", "hinge=0.1"
    )
    assert code == 0, text
    code, text = dalembert("new", str(path))
    assert code == 2
    assert "exists already" in text


def test_inspect_names_the_redundant_equations(dalembert):
    code, text = dalembert("inspect", "four-bar")
    assert code == 0, text
    for part in ("degrees of freedom    1", "Grübler's count    -2", "redundant", "loop closed by"):
        assert part in text


def test_inspect_tells_redundancy(dalembert):
    code, text = dalembert("inspect", "four-bar", "--redundancy")
    assert code == 0, text
    for part in ("3 of 20 constraint equations", "force along z", "isostatic if", "shared", "unique"):
        assert part in text
    code, text = dalembert("inspect", "parallelogram", "--redundancy", "--initial", "A1=1.5707963267948966")
    assert code == 0 and "this position is singular" in text
    code, text = dalembert("inspect", "parallelogram", "--initial", "A1=1")
    assert code == 2 and "--redundancy" in text


def test_list_names_everything(dalembert):
    code, text = dalembert("list")
    assert code == 0, text
    for part in (
        "four-bar",
        "stewart-platform",
        "revolute",
        "rolling-disc",
        "lagrange-multipliers",
        "absolute",
        "dopri8",
    ):
        assert part in text


BAD = {
    "zero axis": (f"name: m\n{ROD}\n{HINGE}".replace("axis: z", "axis: [0, 0, 0]"), ["axis must not be zero", ":3"]),
    "negative mass": (f"name: m\n{ROD}\n{HINGE}".replace("mass: 1", "mass: -1"), ["mass", "-1"]),
    "impossible inertia": (f"name: m\n{ROD}\n{HINGE}".replace("[0, 1, 1]", "[-1, 1, 1]"), ["inertia", "moments"]),
    "unknown body": (f"name: m\n{ROD}\n{HINGE}".replace("[ground, rod]", "[ground, rob]"), ["rob", "rod"]),
    "duplicate names": (f"name: m\n{ROD}\n{HINGE}".replace("bodies: [{", "bodies: [{name: rod, mass: 2}, {"), ["rod"]),
    "expression": (f"name: m\n{ROD}\n{HINGE}".replace("mass: 1", "mass: \"__import__('os')\""), ["__import__"]),
    "alias bomb": ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nname: m\nbodies: *c\n", ["alias"]),
    "loop that cannot be assembled": (
        f"name: m\n{ROD}\n"
        "joints:\n"
        "- {name: A, kind: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: z}\n"
        "- {name: B, kind: spherical, bodies: [ground, rod], "
        "frame_1: {position: [5, 0, 0]}, frame_2: {position: [0, 0, 0]}}\n",
        ["cannot be assembled", "B stays open"],
    ),
    "several at once": (
        f"name: m\n{ROD}\n{HINGE}".replace("mass: 1", "mass: -1").replace("axis: z", "axis: [0, 0, 0]"),
        ["2 problems", "axis", "mass"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_models_end_in_words_and_code_2(case, dalembert, tmp_path):
    text, expected = BAD[case]
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with effort() as spent:
        code, printed = dalembert("run", str(path), "--no-files")
    assert spent.calls < MOST_CALLS
    assert code == 2, printed
    assert "Traceback" not in printed
    for part in expected:
        assert part in printed, printed


def test_large_file_is_refused_at_once(dalembert, tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text("name: m\n" + "# " + "x" * 10_000_000)
    with effort() as spent:
        code, printed = dalembert("run", str(path))
    assert spent.calls < MOST_CALLS
    assert code == 2
    assert "large.yaml" in printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "four-baa"], "four-bar"),
        (["run", "missing.yaml"], "missing.yaml"),
        (["run", "pendulum", "--duration", "-1"], "duration"),
        (["run", "pendulum", "--duration", "nan"], "duration"),
        (["run", "pendulum", "--formulation", "magic"], "lagrange-multipliers"),
        (["run", "pendulum", "--coordinates", "polar"], "relative"),
        (["run", "pendulum", "--integrator", "magic"], "dopri8"),
        (["run", "pendulum", "--rtol", "0"], "rtol"),
        (["run", "pendulum", "--set", "length"], "name=number"),
        (["run", "pendulum", "--set", "nothing=1"], "nothing"),
        (["run", "pendulum", "--initial", "nothing=1"], "nothing"),
        (["run", "four-bar", "--formulation", "lie-group", "--coordinates", "absolute"], "cannot take"),
        (["run", "pendulum", "--integrator", "rk4", "--rtol", "1e-3"], "fixed step"),
        (["run", "pendulum", "--stabilization", "glue"], "projection, partition"),
        (["run", "four-bar", "--baumgarte", "-1"], "baumgarte must be a positive number"),
        (["run", "four-bar", "--baumgarte", "5", "--stabilization", "none"], "exclude each other"),
        (["run", "four-bar", "--integrator", "rk4", "--stabilization", "ggl"], "radau"),
        (["run", "pendulum", "--step", "inf"], "step must be"),
        (["run", "pendulum", "--output-step", "0"], "output_step must be"),
        (["run", "pendulum", "--checkpoint", "nowhere/c.nc"], "no folder nowhere"),
        (["run", "pendulum", "--checkpoint", "c.nc", "--checkpoint-interval", "nan"], "checkpoint_interval"),
        (["run", "pendulum", "--rtol", "tight"], "--rtol"),
    ],
)
def test_bad_arguments_end_in_words_and_code_2(arguments, expected, dalembert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, printed = dalembert(*arguments)
    assert code == 2, printed
    assert "Traceback" not in printed
    assert expected in printed, printed


def test_a_run_that_fails_says_so_and_keeps_what_it_has(dalembert, tmp_path):
    # √(1 − t) ends at t = 1: the forces are not finite beyond.
    path = tmp_path / "ends.yaml"
    path.write_text(
        f'name: ends\n{ROD}\n{HINGE}\nforces: [{{name: f, kind: joint-force, joint: A, value: "sqrt(1 - t)"}}]\n'
    )
    code, printed = dalembert("run", str(path), "--duration", "2", "--out", str(tmp_path))
    assert code == 1, printed
    assert "NOT TRUSTED" in printed
    assert (tmp_path / "ends.nc").exists()


def test_program_is_installed_and_has_no_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dalembert", "run", "missing.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "missing.yaml" in done.stderr
    assert not list(Path(tmp_path).iterdir())


def test_a_robot_runs_and_its_notes_are_shown(dalembert, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>'
        '<inertia ixx="0.03" iyy="0.03" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    code, printed = dalembert("run", str(path), "--duration", "0.2", "--initial", "hinge=0.3", "--no-files")
    assert code == 0, printed
    assert "limits" in printed and "hinge" in printed
    assert "ReadWarning" not in printed


STOP = "{name: stop, when: q(A) - 3, direction: rising, rates: {A: -u(A)/2}}"


def test_the_result_names_integrator_events_and_remarks(dalembert, tmp_path):
    path = tmp_path / "stop.yaml"
    path.write_text(f"name: stop\ngravity: [0, 0, 0]\n{ROD}\n{HINGE}\nevents: [{STOP}]\n")
    code, printed = dalembert("run", str(path), "--duration", "4", "--rate", "A=1", "--no-files")
    assert code == 0, printed
    assert "dopri8 (smooth motion" in printed
    assert "1: stop at 3 s" in printed
    code, printed = dalembert("run", str(path), "--duration", "4", "--integrator", "rk4", "--step", "0.1", "--no-files")
    assert code == 0, printed
    assert "rk4 (as asked)" in printed
    assert "events" not in printed


@pytest.mark.parametrize("how", [["--stabilization", "partition"], ["--baumgarte", "20", "--no-strict"]])
def test_stabilizations_by_name(how, dalembert):
    arguments = ["--duration", "0.1", "--rtol", "1e-9", "--atol", "1e-11", "--output-step", "0.01", "--no-files"]
    code, printed = dalembert("run", "four-bar", *arguments, *how)
    assert code == 0, printed
    assert "of 5 constraint equations are redundant" in printed


def test_strict_writes_nothing_that_cannot_be_trusted(dalembert, tmp_path):
    arguments = ["run", "pendulum", "--duration", "1", "--integrator", "euler", "--step", "0.1", "--out", str(tmp_path)]
    code, printed = dalembert(*arguments, "--strict")
    assert code == 1, printed
    assert "NOT TRUSTED" in printed and "energy balance" in printed
    assert not list(tmp_path.iterdir())
    assert dalembert(*arguments, "--no-strict")[0] == 1
    assert len(list(tmp_path.iterdir())) == 3


def test_a_run_goes_on_from_its_checkpoint(dalembert, tmp_path, monkeypatch):
    path = tmp_path / "c.nc"

    leave_checkpoint(library.build("four-bar"), 20.0, path)
    code, printed = dalembert("run", "four-bar", "--duration", "20", "--checkpoint", str(path), "--no-files")
    assert code == 0, printed
    assert f"going on from {path}" in printed
    assert "resumed from" in printed and "at t = " in printed
    assert not path.exists()


@contextmanager
def bar_of_a_run():
    """What moves the progress bar of a run, and its task."""
    with run._progress(Console(file=io.StringIO(), force_terminal=True), "model") as update:
        (bar,) = (cell.cell_contents for cell in update.__closure__ if isinstance(cell.cell_contents, Progress))
        (task,) = bar.tasks
        yield update, task


def test_the_bar_starts_where_a_run_resumes():
    with bar_of_a_run() as (update, task):
        update(0.0)
        update(0.6)
        assert task.completed == 0.6 * run.STRETCH
        assert not task.speed
        update(0.7)
        assert task.completed == 0.7 * run.STRETCH


def test_inverse_prints_motors_and_bearings_and_writes_files(dalembert, tmp_path):
    table = tmp_path / "measured.csv"
    table.write_text("time,angle\n" + "\n".join(f"{k / 50},{k / 25}" for k in range(51)), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("a.nc", "a.csv", "a.png", "a.html")]
    written = [part for name in files for part in ("--write", name)]
    code, text = dalembert("inverse", "four-bar", "--motion", f"A=@{table}", "--duration", "1", *written)
    assert code == 0, text
    assert "drive" in text and "joint" in text and "trusted" in text
    assert all(Path(name).stat().st_size > 1000 for name in files)
    code, text = dalembert("inverse", "four-bar", "--motion", "A=2*t", "--unknown", "A=-1:1", "--duration", "1")
    assert code == 1 and "cannot produce this motion" in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--motion", "A"], "expected quantity=formula"),
        (["--motion", "A=@nowhere.csv"], "cannot read nowhere.csv"),
        (["--motion", "A=2*t", "--unknown", "A=x"], "expected a name, name=limit"),
        (["--motion", "Q=2*t"], "unknown 'Q'"),
        (["--motion", "A=2*t", "--write", "a.doc"], "expected a file that ends in"),
        ([], "no motion is given"),
    ],
)
def test_inverse_tells_bad_input(arguments, expected, dalembert):
    code, text = dalembert("inverse", "four-bar", "--duration", "0.1", *arguments)
    assert code == 2 and expected in text


def test_assemble_prints_joints_and_branches(dalembert, tmp_path):
    code, text = dalembert("assemble", "four-bar", "--initial", "A=1", "--rate", "A=2")
    assert code == 0 and "-0.132778656" in text and "velocities" in text
    picture = tmp_path / "branches.png"
    code, text = dalembert("assemble", "four-bar", "--initial", "A=1", "--branches", "--plot", str(picture))
    assert code == 0 and "open" in text and "crossed" in text and "not by proof" in text
    assert picture.stat().st_size > 5000
    code, text = dalembert("assemble", "four-bar", "--lock", "D", "--guess", "B=0.1", "--plot", str(picture))
    assert code == 0 and picture.stat().st_size > 5000
    code, text = dalembert("assemble", "four-bar", "--initial", "A=1", "--initial", "D=2")
    assert code == 2 and "joint C stays open" in text
    code, text = dalembert("assemble", "four-bar", "--initial", "A")
    assert code == 2 and "expected name=number" in text


def test_kinematics_prints_dead_points_and_writes_files(dalembert, tmp_path):
    files = [str(tmp_path / name) for name in ("a.nc", "a.csv", "a.png", "a.html")]
    written = [part for name in files for part in ("--write", name)]
    code, text = dalembert("kinematics", "crank-rocker", "--duration", "1", "--output-step", "0.02", *written)
    assert code == 0 and "dead point at t = 0.0984192908 s, D = -0.158978077" in text and "trusted" in text
    assert all(Path(name).stat().st_size > 1000 for name in files)
    code, text = dalembert("kinematics", "four-bar", "--motion", "A=t", "--duration", "3", "--set", "crank=0.9",
                           "--set", "coupler=0.8")  # fmt: skip
    assert code == 1 and "the motion ends at t = 2.000571" in text
    code, text = dalembert("kinematics", "four-bar", "--duration", "1")
    assert code == 2 and "is not driven" in text
    code, text = dalembert("kinematics", "crank-rocker", "--duration", "0.1", "--write", "a.doc")
    assert code == 2 and "expected a file that ends in" in text


def test_compare_prints_a_table_and_writes_files(dalembert, tmp_path):
    table, picture = tmp_path / "table.csv", tmp_path / "picture.png"
    names = ["--formulations", "lagrange-multipliers,newton-euler", "--coordinates", "relative,absolute"]
    files = ["--csv", str(table), "--plot", str(picture), "--latex", str(tmp_path / "table.tex")]
    code, printed = dalembert("compare", "pendulum", "--duration", "0.2", *names, *files)
    assert code == 0, printed
    for word in ("unknowns", "condition", "newton-euler", "trusted", "dopri8 at rtol 1e-13"):
        assert word in printed
    assert len(table.read_text().splitlines()) == 1 + 3
    assert "\\toprule" in (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert picture.stat().st_size > 20_000


def test_compare_tells_bad_names_and_runs_that_nobody_can_trust(dalembert):
    code, printed = dalembert("compare", "pendulum", "--formulations", "magic")
    assert code == 2 and "unknown formulation 'magic'" in printed
    arguments = ["--duration", "1", "--formulations", "recursive", "--integrator", "euler", "--step", "0.1"]
    code, printed = dalembert("compare", "pendulum", *arguments)
    assert code == 1 and "error" in printed  # energy is told; the error of the motion decides


def test_compare_shows_which_run_is_under_way():
    console = Console(file=io.StringIO(), force_terminal=True)
    with compare_command._progress(console) as update:
        update(2, 5, "penalty, relative")
        (bar,) = (cell.cell_contents for cell in update.__closure__ if isinstance(cell.cell_contents, Progress))
        (task,) = bar.tasks
        assert (task.completed, task.total, task.description) == (2, 5, "penalty, relative")


def test_progress_is_for_terminals_and_for_those_who_want_it():
    shown = io.StringIO()
    with working("thinking", Console(file=shown, force_terminal=True)):
        pass
    assert "thinking" in shown.getvalue()
    shown = io.StringIO()
    with working("thinking", Console(file=shown)):
        pass
    assert not shown.getvalue()
    assert messages().stderr and not messages(quiet=True).is_terminal


def test_the_bar_says_when_the_time_loop_has_begun():
    with bar_of_a_run() as (update, task):
        update(0.0)
        assert task.description == "compiling model"
        update(0.1)
        assert task.description == "simulating model"


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["version"], {"numpy", "sympy", "casadi", "scipy", "llvmlite", "xarray", "matplotlib", "ruamel", "h5py"}),
        (["run", "pendulum", "--duration", "0.1", "--no-files"], {"xarray", "pandas", "matplotlib", "ruamel", "h5py"}),
        (["run", "pendulum", "--duration", "0.1", "--quiet"], {"xarray", "pandas"}),
        (["run", "four-bar", "--duration", "0.1", "--no-files", "--integrator", "bdf"], {"xarray", "scipy"}),
        (["kinematics", "crank-rocker", "--duration", "0.1"], {"xarray", "pandas"}),
    ],
    ids=["version", "run", "files", "implicit", "kinematics"],
)
def test_commands_import_what_they_need(arguments, unneeded, tmp_path):
    code = f"""
import atexit, sys
atexit.register(lambda: print("LOADED", *sys.modules))
sys.argv = ["dalembert", *{arguments!r}]
from dalembert.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    loaded = {name.split(".")[0] for name in line.split()[1:]}
    assert "dalembert" in loaded
    assert not loaded & unneeded


def test_linearize_shows_modes_and_where_stability_changes(dalembert, tmp_path):
    code, text = dalembert(
        "linearize", "bicycle", "--set", "lean=0", "--set", "speed=5", "--csv", str(tmp_path / "a.csv")
    )
    assert code == 0 and "steady motion" in text and "-14.07838969" in text
    assert (tmp_path / "a.csv").read_text().startswith(",rear contact[0]")
    code, text = dalembert(
        "linearize", "bicycle", "--set", "lean=0", "--over", "speed=0:10:21", "--plot", str(tmp_path / "a.png")
    )
    assert code == 0 and "4.2923825363" in text and (tmp_path / "a.png").is_file()
    code, text = dalembert("linearize", "bicycle", "--over", "speed=3")
    assert code == 2 and "expected name=first:last" in text


def test_a_command_ends_without_a_search_for_garbage():
    """At the end of a process Python looks at all objects, unless they are set aside; the last handler runs first."""
    code = (
        "import atexit, gc, sys; sys.argv = ['dalembert', 'version']; from dalembert.cli import main;"
        "atexit.register(lambda: print('set aside', gc.get_freeze_count())); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split("set aside")[1]) > 1000


def test_what_runs_away_is_drawn_as_far_as_it_can_be(dalembert, tmp_path):
    """u̇ = −k u² ends in a finite time; energies of 1e27 J are left out of the pictures."""
    path = tmp_path / "away.yaml"
    path.write_text(
        f"name: away\ngravity: [0, 0, 0]\n{ROD}\n{HINGE}\ninitial_rates: {{A: -10}}\n"
        "forces: [{name: f, kind: joint-force, joint: A, value: -0.5*u(A)**2}]\n"
    )
    code, printed = dalembert("run", str(path), "--duration", "2", "--out", str(tmp_path))
    assert code == 1, printed
    assert "NOT TRUSTED" in printed
    assert (tmp_path / "away.png").exists() and (tmp_path / "away.html").exists()
    assert "too large to draw: kinetic, total, work put in" in (tmp_path / "away.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "four-bar"), "dalembert run"),
        (("run", "four-bar", "--t-end", "3"), "--duration"),
        (("run", "four-bar", "--dt=0.1"), "--step or --output-step"),
        (("run", "four-bar", "--set", "crnk=0.3"), "Fix: did you mean crank?"),
    ],
)
def test_words_of_other_programs_are_answered_with_ours(dalembert, arguments, said):
    code, text = dalembert(*arguments)
    assert code == 2 and said in text


def test_words_of_other_programs_are_not_ours():
    import typer

    commands = typer.main.get_command(app.app).commands
    assert not set(app.COMMANDS) & set(commands) and set(app.COMMANDS.values()) <= set(commands)
    options = {name for command in commands.values() for option in command.params for name in option.opts}
    assert not set(app.OPTIONS) & options
    assert {name for names in app.OPTIONS.values() for name in names.split(" or ")} <= options


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_said():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dalembert", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.strip() == "DalembertError: the output cannot be written: No space left on device"
