"""``dalembert live`` and ``export``: a mechanism that leaves Python, as a page that simulates, as C or as an FMU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from dalembert.cli.progress import messages, working
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError

__all__ = ["export_model", "live_model"]


def live_model(
    name: str,
    duration: float,
    options: dict[str, Any],
    sliders: dict[str, list[str] | None],
    more: tuple[list[str], list[str]],
    path: Path | None,
    quiet: bool = False,
) -> bool:
    """Simulate once, write the page, print where it is; True if the certificate of the run is good.

    Args:
        more: integrators in a menu of the page, and motions that can be typed anew there.
    """
    aside, ranges = messages(quiet), {what: _ranges(what, given) for what, given in sliders.items()}
    with working(f"simulating {escape(name)}", aside):
        from dalembert.analyses.simulation.simulate import simulate

        model = get_model(name)
        run = simulate(model, duration, **options)
    stem = Path(name).stem if Path(name).suffix else model.name.replace(" ", "-")
    path = Path() if path is None else path
    path = path / f"{stem}-live.html" if path.is_dir() else path
    with working(f"compiling {escape(name)} for the page", aside):
        run.live(path, integrators=more[0], motions=more[1], **ranges)
    style = "green" if run.certificate.trusted else "bold red"
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{escape(run.dynamics.model.name)}[/]  [{style}]{escape(run.certificate.headline)}[/]")
    for check in run.certificate.checks:
        if not check.passed:
            fix = f".  Fix: {check.fix}" if check.fix else ""
            console.print(f"  {check.name} {check.value:.1e} {check.verdict}{fix}", markup=False)
    console.print(f"  wrote {path}  ({path.stat().st_size / 1e3:.0f} kB)", style="dim", markup=False)
    return run.certificate.trusted


def export_model(
    name: str, duration: float | None, options: dict[str, Any], out: Path, unit: dict[str, Any], quiet: bool = False
) -> None:
    """Write C, or an FMU where the file is one, print where it is.

    Args:
        duration: of the run that is stored; None: as each kind has it.
        unit: ``name`` and ``processors`` for C; ``fmi``, ``platforms`` and ``inputs`` for an FMU.
    """
    long = {} if duration is None else {"duration": duration}
    with working(f"translating {escape(name)}", messages(quiet)):
        from dalembert.analyses.simulation.export_fmu import export_fmu
        from dalembert.analyses.simulation.export_program import export_c

        if out.suffix == ".fmu":
            files = [export_fmu(get_model(name), out, version=unit["fmi"], platforms=unit["platforms"],
                                inputs=unit["inputs"] or (), **long, **options)]  # fmt: skip
        else:
            files = export_c(get_model(name), out, name=unit["name"], processors=unit["processors"] or (), **long,
                             **options)  # fmt: skip
    console = Console(highlight=False, soft_wrap=True)
    for path in files:
        console.print(f"  wrote {path}  ({path.stat().st_size / 1e3:.0f} kB)", style="dim", markup=False)


def _ranges(what: str, given: list[str] | None) -> dict[str, tuple[float, float] | None] | None:
    """``name`` or ``name=low:high``; None if nothing was asked for."""
    if not given:
        return None
    found: dict[str, tuple[float, float] | None] = {}
    for text in given:
        name, equals, ends = text.partition("=")
        low, _, high = ends.partition(":")
        try:
            found[name.strip()] = (float(low), float(high)) if equals else None
        except ValueError:
            raise DalembertError(f"{what} {text!r}: expected name or name=low:high, e.g. length=0.5:2") from None
    return found
