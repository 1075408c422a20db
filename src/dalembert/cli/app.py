"""Commands of the ``dalembert`` program. Bad input ends with a message and exit code 2, never with a traceback."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from dalembert.cli.run_options import InitialOption, ParameterOption, Several, pairs, repeated, run_options
from dalembert.errors import DalembertError

__all__ = ["app", "main"]

app = typer.Typer(
    name="dalembert",
    help="Multibody dynamics: one model, every formulation, native speed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# What other programs call commands and options.
COMMANDS = {
    **dict.fromkeys(("simulate", "animate", "plot", "view", "show", "solve"), "run"), "check": "inspect",
    "info": "inspect", "init": "new", "fmu": "export", "library": "list", "equations": "derive", "modes": "linearize",
    "demo": "run", **dict.fromkeys(("models", "examples"), "list"), "batch": "sweep",
}  # fmt: skip
OPTIONS = {
    **dict.fromkeys(("--t-end", "--tend", "--tmax", "--end"), "--duration"),
    **dict.fromkeys(("--dt", "--time-step", "--timestep"), "--step or --output-step"),
    "--solver": "--integrator",
    **dict.fromkeys(("--parameter", "--parameters", "--param", "--params"), "--set"),
    **dict.fromkeys(("--output-dir", "--folder", "--dir"), "--out"), "--rates": "--rate", "--tol": "--rtol",
}  # fmt: skip
BAD_INPUT = 2
NOT_TRUSTED = 1
# Most of what a command makes is gone without garbage collection, or stays: it need not look often, and not at the end,
# where that would take a quarter of the time of a short command.
SELDOM = (300_000, 20, 20)

ModelArgument = Annotated[
    str, typer.Argument(help="A model file (.yaml, .urdf, .xml) or the name of a bundled model (see 'list').")
]
DurationOption = Annotated[
    float | None, typer.Option(help="How long to simulate (s); default 10, or what suits a bundled model.")
]
NamesOption = Annotated[str, typer.Option(help="Names separated by commas, or 'all'.")]
OutputStepOption = Annotated[
    float | None, typer.Option(help="Output interval (s); default: a thousandth of the duration.")
]
RateOption = Annotated[Several, repeated("Velocity of a joint, as joint=number")]
PictureOption = Annotated[Path | None, typer.Option(help="File for the picture (.png).")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")]


def main() -> None:
    """Run the program; errors that we raise on purpose are shown in words."""
    _known_words(sys.argv[1:])
    gc.set_threshold(*SELDOM)
    atexit.register(gc.freeze)
    every = app.registered_commands
    app.registered_commands = _wanted(every, sys.argv[1:2])
    try:
        app(standalone_mode=True)
    except DalembertError as error:
        from rich.console import Console

        Console(stderr=True, soft_wrap=True, highlight=False).print(
            f"{type(error).__name__}: {error}", style="red", markup=False
        )
        sys.exit(BAD_INPUT)
    except OSError as error:  # files are written by calls of ours, which raise our errors: what is left is the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what has not been written yet does not fail once more
        print(f"DalembertError: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    finally:
        app.registered_commands = every


def _known_words(given: list[str]) -> None:
    """End with a word of ours where a command or an option has that of another program."""
    command = given[0] if given else ""
    if command in COMMANDS:
        _end(f"no command {command!r}; it is: dalembert {COMMANDS[command]}")
    for option in (one.partition("=")[0] for one in given):
        if option in OPTIONS:
            _end(f"no option {option}; it is {OPTIONS[option]}")


def _end(message: str) -> NoReturn:
    typer.secho(message, fg="red", err=True)
    sys.exit(BAD_INPUT)


def _wanted(commands: list[Any], asked: list[str]) -> list[Any]:
    """Commands besides the one that is asked for need not be built; but a program with a single command
    would want no name for it."""
    names = [command.name or getattr(command.callback, "__name__", "") for command in commands]
    if not asked or asked[0] not in names:
        return commands
    return [command for name, command in zip(names, commands, strict=True) if name in (asked[0], "list", "version")]


def _duration(model: str, given: float | None) -> float:
    """What was asked for, or what suits the model."""
    from dalembert import library

    return library.duration(model) if given is None else given


def _judge(trusted: bool) -> None:
    """End with an exit code of its own where a result cannot be trusted."""
    if not trusted:
        raise typer.Exit(NOT_TRUSTED)


@app.command()
@run_options("formulation", "coordinates")
def run(
    model: ModelArgument,
    options: dict[str, Any],
    duration: DurationOption = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File to save the run to from time to time; after a crash the same call resumes from it."),
    ] = None,
    checkpoint_interval: Annotated[float, typer.Option(help="Wall time between two checkpoints (s).")] = 30.0,
    strict: Annotated[bool, typer.Option(help="Write no files if the result cannot be trusted.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("."),
    html: Annotated[Path | None, typer.Option(help="File of the animation; default: NAME.html in the folder.")] = None,
    files: Annotated[bool, typer.Option(help="Write NAME.nc, NAME.png and NAME.html.")] = True,
    quiet: QuietOption = False,
) -> None:
    """Simulate a model; write the data (.nc), plots (.png) and a 3D animation (.html)."""
    from dalembert.cli.run import run_model

    options |= {"checkpoint": checkpoint, "checkpoint_interval": checkpoint_interval}
    _judge(run_model(model, _duration(model, duration), options, out, html, files, strict, quiet))


@app.command()
@run_options("formulation", "coordinates")
def live(
    model: ModelArgument,
    options: dict[str, Any],
    duration: DurationOption = None,
    slider: Annotated[Several, repeated("Parameter with a slider, as name or name=low:high")] = None,
    start: Annotated[
        Several, repeated("Joint with a slider for its initial coordinate, as joint or joint=low:high")
    ] = None,
    start_rate: Annotated[
        Several, repeated("Joint with a slider for its initial velocity, as joint or joint=low:high")
    ] = None,
    menu: Annotated[Several, repeated("Integrator that the page offers in a menu, such as radau")] = None,
    motion: Annotated[Several, repeated("Drive whose formula can be changed in the page")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File of the page, or its folder; default: NAME-live.html in this folder.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write one HTML file that simulates: sliders, animation, plots and certificate, without network or server."""
    from dalembert.cli.live_command import live_model

    sliders = {"parameters": slider, "initial": start, "initial_rates": start_rate}
    _judge(live_model(model, _duration(model, duration), options, sliders, (menu or [], motion or []), out, quiet))


@app.command()
@run_options("formulation", "coordinates")
def export(
    model: ModelArgument,
    options: dict[str, Any],
    duration: Annotated[
        float | None,
        typer.Option(help="Length of the run that main.c repeats (s), default 1; of an FMU's experiment, default 10."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the C files, or the file of an FMU (x.fmu).")] = Path("."),
    name: Annotated[str | None, typer.Option(help="Prefix of the C files and functions.")] = None,
    fmi: Annotated[int, typer.Option(help="Version of FMI: 3 or 2.")] = 3,
    platform: Annotated[
        Several,
        typer.Option(help="Platform of an FMU, such as linux-x86-64, or all; repeat for more. Default: this one."),
    ] = None,
    input: Annotated[Several, repeated("Parameter that becomes an input of the FMU")] = None,
    processor: Annotated[Several, repeated("Microcontroller to write machine code for, such as cortex-m4")] = None,
    quiet: QuietOption = False,
) -> None:
    """Write a model as stand-alone C99 without allocation, or as an FMU for other simulators."""
    from dalembert.cli.live_command import export_model

    platforms = "all" if platform == ["all"] else platform
    unit = {"name": name, "fmi": fmi, "platforms": platforms, "inputs": input, "processors": processor}
    export_model(model, duration, options, out, unit, quiet)


@app.command()
@run_options()
def compare(
    model: ModelArgument,
    options: dict[str, Any],
    duration: DurationOption = None,
    formulations: NamesOption = "all",
    coordinates: NamesOption = "all",
    repeats: Annotated[int, typer.Option(help="How many timed runs of each; the shortest time counts.")] = 1,
    csv: Annotated[Path | None, typer.Option(help="File for all numbers.")] = None,
    latex: Annotated[Path | None, typer.Option(help="File for the table, in LaTeX (.tex).")] = None,
    plot: PictureOption = None,
    quiet: QuietOption = False,
) -> None:
    """Run a model in every formulation and in all coordinates; show sizes, times, errors and condition numbers."""
    from dalembert.cli.compare_command import compare_model

    options |= {"formulations": names(formulations), "coordinates": names(coordinates), "repeats": repeats}
    files = {"csv": csv, "latex": latex, "plot": plot}
    _judge(compare_model(model, _duration(model, duration), options, files, quiet))


@app.command()
def assemble(
    model: ModelArgument,
    initial: Annotated[Several, repeated("Coordinate of a joint, or value of an output, as name=number")] = None,
    rate: RateOption = None,
    guess: Annotated[Several, repeated("Where the search begins: coordinate of a joint, as joint=number")] = None,
    lock: Annotated[Several, repeated("Joint or body that stays where it is")] = None,
    branches: Annotated[bool, typer.Option("--branches", help="Find every way in which the loops close.")] = False,
    set_: ParameterOption = None,
    time: Annotated[float, typer.Option(help="Time at which drives are evaluated (s).")] = 0.0,
    plot: PictureOption = None,
) -> None:
    """Close the loops of a model; show coordinates and velocities of all joints, or all branches."""
    from dalembert.cli.motion_commands import assemble_model

    options: dict[str, Any] = {
        "initial": pairs("--initial", initial), "initial_rates": pairs("--rate", rate), "locked": lock or [],
        "guess": pairs("--guess", guess) or None, "parameters": pairs("--set", set_), "time": time,
    }  # fmt: skip
    assemble_model(model, options=options, branches=branches, plot=plot)


@app.command()
def kinematics(
    model: ModelArgument,
    motion: Annotated[Several, repeated("What is driven, as quantity=formula of t, or quantity=@table.csv")] = None,
    duration: DurationOption = None,
    output_step: OutputStepOption = None,
    initial: InitialOption = None,
    set_: ParameterOption = None,
    write: Annotated[
        list[Path] | None,
        typer.Option(help="File to write: .nc or .csv (numbers), .png (plots), .html (animation); repeat for more."),
    ] = None,
) -> None:
    """Move a model by its drives, without forces; show dead points, singular positions and changes of branch."""
    from dalembert.cli.motion_commands import kinematics_of_model

    options: dict[str, Any] = {
        "output_step": output_step, "initial": pairs("--initial", initial), "parameters": pairs("--set", set_),
    }  # fmt: skip
    seconds = _duration(model, duration)
    _judge(kinematics_of_model(model, motion=motion or [], duration=seconds, options=options, files=write or []))


@app.command()
def derive(
    model: ModelArgument,
    formulation: Annotated[str, typer.Option(help="Formalism, e.g. lagrange, hamilton, kane.")] = "lagrange",
    sequence: Annotated[
        str | None, typer.Option(help="Axes of the three angles of ball joints and free bodies, e.g. zxz.")
    ] = None,
    simplify: Annotated[bool, typer.Option(help="Simplify the equations of small systems.")] = True,
    method: Annotated[
        str, typer.Option(help="'symbolic' writes expressions out, 'graph' names shared parts, or 'auto'.")
    ] = "auto",
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    html: Annotated[Path | None, typer.Option(help="File for a page with typeset equations.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="File for a page of Markdown.")] = None,
    python: Annotated[Path | None, typer.Option(help="File for a Python function.")] = None,
    c: Annotated[Path | None, typer.Option("--c", help="File for a C function.")] = None,
) -> None:
    """Derive the equations of motion; print them, or write them typeset, as Markdown or as code."""
    from dalembert.cli.derive import derive_model

    derive_model(
        model,
        formulation=formulation,
        options={"simplify": "auto" if simplify else False, "method": method},
        sequence=sequence,
        latex=latex,
        files={"html": html, "markdown": markdown, "python": python, "c": c},
    )


@app.command()
def inverse(
    model: ModelArgument,
    motion: Annotated[Several, repeated("What is prescribed, as quantity=formula of t, or quantity=@table.csv")] = None,
    unknown: Annotated[Several, repeated("Driven joint, force or parameter; with limits as A=5 or A=-2:5")] = None,
    duration: DurationOption = None,
    output_step: OutputStepOption = None,
    smoothing: Annotated[float | None, typer.Option(help="Standard deviation of the noise in tables.")] = None,
    set_: ParameterOption = None,
    initial: InitialOption = None,
    write: Annotated[
        list[Path] | None,
        typer.Option(
            help="File to write: .nc, .csv (numbers), .png (sizing report), .html (animation); repeat for more."
        ),
    ] = None,
) -> None:
    """Find the forces behind a prescribed motion; show what motors must supply and bearings must carry."""
    from dalembert.cli.inverse_command import inverse_model

    trusted = inverse_model(
        model,
        motion=motion or [],
        unknowns=unknown or [],
        duration=_duration(model, duration),
        options={
            "output_step": output_step, "parameters": pairs("--set", set_), "initial": pairs("--initial", initial),
        },
        files=write or [],
        smoothing=smoothing,
    )  # fmt: skip
    _judge(trusted)


@app.command()
def inspect(
    model: ModelArgument,
    set_: ParameterOption = None,
    redundancy: Annotated[
        bool, typer.Option("--redundancy", help="Report what is redundant, which reactions are unique, and a remedy.")
    ] = False,
    initial: Annotated[Several, repeated("With --redundancy: coordinate of a joint, as joint=number")] = None,
) -> None:
    """Show the tree, the loops, the degrees of freedom and the redundant constraints of a model."""
    from dalembert.cli.show import show_inspection, show_redundancy

    if initial and not redundancy:
        raise DalembertError("--initial: inspect takes it together with --redundancy")
    if redundancy:
        show_redundancy(model, pairs("--set", set_), pairs("--initial", initial))
    else:
        show_inspection(model, pairs("--set", set_))


@app.command()
def linearize(
    model: ModelArgument,
    set_: ParameterOption = None,
    initial: Annotated[Several, repeated("Coordinate of a joint, as joint=number")] = None,
    rate: RateOption = None,
    input_: Annotated[Several, repeated("Input of the linear model: a joint, force or parameter", "--input")] = None,
    output: Annotated[Several, repeated("Output of the linear model: an output, joint or formula")] = None,
    release: Annotated[Several, repeated("Constraint or drive that is released")] = None,
    over: Annotated[str | None, typer.Option(help="A parameter and its range, as name=first:last:count.")] = None,
    plot: PictureOption = None,
    csv: Annotated[Path | None, typer.Option(help="File for the matrices, or with --over for the eigenvalues.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Linearize a model about its start; show eigenvalues, modes and what takes part in them."""
    from dalembert.cli.linearize_command import linearize_model

    at = pairs("--initial", initial) | {f"{joint}.d": value for joint, value in pairs("--rate", rate).items()}
    options = {"at": at, "parameters": pairs("--set", set_), "inputs": input_ or [], "outputs": output}
    linearize_model(model, options=options | {"release": release or []}, over=over, plot=plot, csv=csv, quiet=quiet)


@app.command()
def equilibrium(
    model: ModelArgument,
    set_: ParameterOption = None,
    initial: Annotated[Several, repeated("Guess of a joint's coordinate, as joint=number")] = None,
    starts: Annotated[int, typer.Option(help="How many positions to start from: the guess, and random ones.")] = 1,
    steady: Annotated[
        Several,
        typer.Option(help="Constant velocity of a steady motion, as name=number, or a name alone to find it; repeat."),
    ] = None,
    hold: Annotated[Several, repeated("Coordinate that keeps the value of the guess")] = None,
    unknown: Annotated[Several, repeated("Parameter that is to be found")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random positions.")] = 0,
    plot: PictureOption = None,
    csv: Annotated[Path | None, typer.Option(help="File for all coordinates.")] = None,
    quiet: QuietOption = False,
) -> None:
    """Find where a model rests, or how it moves steadily, and whether that is stable."""
    from dalembert.cli.equilibrium_command import equilibrium_model, steady_pairs

    options: dict[str, Any] = {
        "guess": pairs("--initial", initial), "parameters": pairs("--set", set_), "starts": starts,
        "steady": steady_pairs(steady), "hold": hold or [], "unknowns": unknown or [], "seed": seed,
    }  # fmt: skip
    equilibrium_model(model, options, plot, csv, quiet)


@app.command()
@run_options("formulation", "coordinates")
def sweep(
    model: ModelArgument,
    options: dict[str, Any],
    duration: DurationOption = None,
    over: Annotated[
        Several,
        typer.Option(
            help="What varies: name=first:last:count or name=a,b,c; random: name=low:high, name=normal:mean:deviation."
        ),
    ] = None,
    how: Annotated[str, typer.Option(help="How the values are combined: grid, lists, latin or random.")] = "grid",
    samples: Annotated[int | None, typer.Option(help="How many samples, with --how latin or random.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    output: Annotated[Several, repeated("What is kept: an output, joint or formula, or e.g. 'max: A.d'")] = None,
    threads: Annotated[int | None, typer.Option(help="How many threads; default: one for each processor.")] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder to save finished samples in; after a crash the same call resumes from it."),
    ] = None,
    write: Annotated[
        list[Path] | None,
        typer.Option(help="File to write: .nc (all), .csv (a line for each sample), .png (picture); repeat for more."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Run a model for many values of parameters and initial states."""
    from dalembert.cli.sweep_command import sweep_model

    options |= {"outputs": output, "threads": threads, "store": store}
    design = over or [], how, samples, seed
    _judge(sweep_model(model, _duration(model, duration), design, options, write or [], quiet))


@app.command()
def bench(
    problem: Annotated[
        list[str] | None, typer.Argument(help="Names of problems, e.g. andrews; default: all.", metavar="[PROBLEM]...")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only the short table.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Folder for bench.md and bench.html, or with --fuzz for failed cases.")
    ] = None,
    fuzz: Annotated[
        float | None, typer.Option(help="Try random models, runs and hostile files instead, for this many seconds.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="With --fuzz: only models, runs, files, exports, planar or systems.")
    ] = None,
    seed: Annotated[int, typer.Option(help="With --fuzz: seed of the random cases.", min=0)] = 0,
    replay: Annotated[Path | None, typer.Option(help="File of a failed case, to try it again.")] = None,
) -> None:
    """Solve public problems with known answers; show the error, the processor time, and peers that are installed."""
    from dalembert.cli.bench_command import run_bench, run_fuzz, run_replay

    if replay is not None:
        good = run_replay(replay)
    elif fuzz is not None:
        good = run_fuzz(fuzz, seed, only, report)
    else:
        good = run_bench(problem, quick, report)
    if not good:
        raise typer.Exit(1)


@app.command("list")
def list_() -> None:
    """List bundled models, joints, formulations, coordinates and integrators."""
    from dalembert.cli.show import show_catalog

    show_catalog()


@app.command()
def new(path: Annotated[Path, typer.Argument(help="The file to write, e.g. my-mechanism.yaml.")]) -> None:
    """Write a small model file to start from."""
    from dalembert.cli.show import write_starter

    write_starter(path)


@app.command()
def version() -> None:
    """Show the version."""
    from dalembert import __version__

    typer.echo(f"dalembert {__version__}")


def names(given: str) -> str | list[str]:
    """``a,b`` as a list; ``all`` as it is."""
    return given if given == "all" else [name.strip() for name in given.split(",") if name.strip()]
