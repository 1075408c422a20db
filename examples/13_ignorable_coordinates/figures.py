"""The motions behind the tables: ``python examples/13_ignorable_coordinates/figures.py``.

Generalized coordinates (figures 5, 10 and 15 of the paper that ``tables.py`` names) and snapshots (6, 11, 16) of the
three case studies. The errors of figures 2 to 4, 8, 9, 13 and 14 are drawn by ``tables.py``. By the reduced equations,
with Lagrange's beside them as thin dashes: two ways, one motion.
"""

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cases import CASES, Case

import dalembert as da
from dalembert.view.run_plots import snapshots

DURATION, OUTPUTS = 50.0, 501
SAME = 1e-6  # what two ways may differ by after 50 s, at rtol 1e-10


def motion(case: Case, name: str) -> Any:
    """A run by one of the methods of the paper."""
    method = case.methods[name]
    run = da.simulate(
        case.model, DURATION, formulation=method, coordinates=case.coordinates, rtol=1e-10, atol=1e-12,
        output_step=DURATION / (OUTPUTS - 1), certify=False,
    )  # fmt: skip
    assert run.certificate.finished
    return run


def draw(title: str, case: Case, figure: Any) -> None:
    """Angles, lengths and snapshots of one case."""
    reduced, lagrange = (motion(case, name) for name in ("volterra-reduced", "lagrange"))
    places = [run.data.position.values for run in (reduced, lagrange)]
    assert np.abs(places[0] - places[1]).max() < SAME * np.abs(places[1]).max()
    names = [str(name) for name in reduced.data.coordinate.values]
    q, other, t = reduced.q.values, lagrange.q.values, reduced.time.values
    lengths = [k for k, name in enumerate(names) if name in ("x", "rho") or name.endswith((".x", ".y", ".z"))]
    angles = [k for k in range(len(names)) if k not in lengths]
    strip, curves = figure.subfigures(2, 1, height_ratios=(1, 1.6))
    figure.suptitle(title, fontsize=10, fontweight="bold")
    for ax, unit, entries in zip(curves.subplots(1, 2), ("rad", "m"), (angles, lengths), strict=True):
        for k in entries:
            (line,) = ax.plot(t, q[:, k], lw=1.3, label=names[k])
            ax.plot(t, other[:, k], "--", lw=0.7, color=line.get_color())
        ax.set_xlabel("time (s)")
        ax.set_ylabel(unit)
        ax.legend(fontsize=7)
        ax.grid(alpha=0.3)
    pictures = snapshots(reduced)
    for ax, (label, sketch) in zip(strip.subplots(1, len(pictures)), pictures, strict=True):
        sketch(ax)
        ax.set_title(label, fontsize=8)


def main() -> None:
    """One picture of all three."""
    figure = plt.figure(figsize=(10, 13), layout="constrained")
    for part, (title, case) in zip(figure.subfigures(len(CASES), 1), CASES.items(), strict=True):
        draw(title.split(" (")[0], case, part)
    figure.savefig(Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", ".")) / "figures.png", dpi=100)
    # The boom's satellite keeps the momentum of its start, 2 m/s and 1 m/s along x and y, so the frame flies straight.
    run = motion(CASES["satellite with a boom (table 9)"], "volterra-reduced")
    momentum = run.momentum.linear.values
    assert np.ptp(momentum, axis=0).max() < 1e-11 * np.abs(momentum).max()


if __name__ == "__main__":
    main()
