"""A million seconds with the variational integrator: the energy of a satellite with a hinged boom does not drift.

    python benchmarks/long_run.py [--quick]

Writes ``docs/images/long-run.png``. The orbit has a period of 2π s; both methods take 126 steps to a revolution.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "long-run.png"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the time")
    duration = 1e4 if parser.parse_args().quick else 1e6
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for name, color in (("rk4", "#b0b7c3"), ("variational", "#2563eb")):
        began = time.perf_counter()
        run = da.simulate(da.library.satellite(), duration, integrator=name, step=0.05, output_step=duration / 5000)
        balance = run.data.balance.values
        error = np.abs(balance / balance[0] - 1)
        tenths = [part.max() for part in np.array_split(error, 10)]
        print(f"{name:<12} {time.perf_counter() - began:6.1f} s, {run.certificate.counts['steps']} steps")
        print("             largest relative energy error in each tenth: " + " ".join(f"{x:.2e}" for x in tenths))
        axes.plot(run.time, error, ".", markersize=1.5, color=color, label=name)
    axes.set(
        xlabel="time (s)",
        ylabel="relative energy error",
        title="Satellite with a hinged boom, steps of 0.05 s",
    )
    axes.legend(markerscale=6)
    axes.grid(alpha=0.3)
    figure.savefig(PICTURE, dpi=130)
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
