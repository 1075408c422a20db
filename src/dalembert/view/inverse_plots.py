"""Inverse dynamics as pictures: forces over time, the moving mechanism, motors and bearings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.view.figures import new_figure, open_frame, plot_series, titled
from dalembert.view.run_plots import chosen, coordinate_panels
from dalembert.view.run_scene import MOST_FRAMES, scene
from dalembert.view.scene import PALETTE, Plot, Scene

if TYPE_CHECKING:
    from dalembert.analyses.motions.inverse_result import Inverse
    from dalembert.analyses.motions.sizing import Sizing

__all__ = ["figure", "inverse_scene", "sizing_figure"]

MOST_MOTORS = 6  # clouds that are drawn
MOST_BEARINGS = 16


def force_panels(inverse: Inverse) -> list[Plot]:
    """Unknowns by unit, and their power."""
    units: dict[str, dict[str, np.ndarray]] = {}
    for name in inverse.names:
        found = inverse[name]
        units.setdefault(found.attrs.get("units", ""), {})[name] = found.values
    titles = {"N m": "Torques", "N": "Forces"}
    plots = [Plot(titles.get(unit, "Unknowns"), unit, series) for unit, series in units.items()]
    power = inverse.power.values
    return [*plots, Plot("Power", "W", {name: power[:, j] for j, name in enumerate(inverse.names)})]


def figure(inverse: Inverse, quantities: Sequence[str] | str | None = None) -> Any:
    """Stacked plots over time."""
    if quantities is None:
        plots = [*force_panels(inverse), *coordinate_panels(inverse.motion)]
    else:
        plots: list[Plot] = []
        for name in [quantities] if isinstance(quantities, str) else quantities:
            if name in inverse.names:
                plots.append(Plot(name, inverse[name].attrs.get("units", ""), {name: inverse[name].values}))
            else:
                plots += chosen(inverse.motion, name)
    return plot_series(inverse.time.values, plots, title=inverse.model.name)


def inverse_scene(inverse: Inverse) -> Scene:
    """The moving mechanism with its forces beside it."""
    drawn = scene(inverse.motion)
    count = len(inverse.time)
    keep = np.unique(np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int))
    forces = [
        Plot(plot.title, plot.ylabel, {name: values[keep] for name, values in plot.series.items()})
        for plot in force_panels(inverse)
    ]
    return replace(drawn, title=inverse.model.name, plots=[*forces, *drawn.plots])


def sizing_figure(sizing: Sizing) -> Any:
    """Force over speed of every drive with its effective value, power over time, loads of the bearings."""
    inverse = sizing.inverse
    made = new_figure(10.0, 7.0)
    cloud, power, bearings = made.subplot_mosaic([["cloud", "power"], ["cloud", "bearings"]]).values()
    time, motors = inverse.time.values, sizing.motors[:MOST_MOTORS]
    for j, motor in enumerate(motors):
        color, force, speed = PALETTE[j % len(PALETTE)], inverse[motor.name].values, inverse.speeds.values[:, j]
        cloud.plot(speed, force, color=color, linewidth=1.2, label=f"{motor.name}: peak {motor.peak:.3g} {motor.unit}")
        cloud.axhline(np.copysign(motor.effective, force.mean()), color=color, linewidth=0.9, linestyle="--")
        power.plot(time, inverse.power.values[:, j], color=color, linewidth=1.4)
    units = {"N m": ("rad/s", "torque (N m)"), "N": ("m/s", "force (N)")}
    kinds = {motor.unit for motor in motors}
    speed_unit, force_label = units.get(kinds.pop(), ("1/s", "force")) if len(kinds) == 1 else ("rad/s, m/s", "force")
    titled(cloud, "Force over speed; dashed: effective value", f"speed ({speed_unit})", force_label)
    titled(power, "Power", "time (s)", "W")
    loads = sorted(sizing.bearings, key=lambda bearing: -bearing.peak_force)[:MOST_BEARINGS]
    places = np.arange(len(loads))
    bearings.barh(places - 0.2, [b.peak_force for b in loads], height=0.38, color=PALETTE[0], label="peak")
    bearings.barh(places + 0.2, [b.effective_force for b in loads], height=0.38, color=PALETTE[5], label="effective")
    bearings.set_yticks(places, [b.name for b in loads])
    bearings.invert_yaxis()
    titled(bearings, "Forces in the joints", "N", "")
    for panel in (cloud, power, bearings):
        open_frame(panel)
    cloud.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    bearings.legend(frameon=False, fontsize=8, loc="lower right")
    made.suptitle(inverse.model.name, x=0.01, ha="left", fontsize=13, fontweight="bold", parse_math=False)
    return made
