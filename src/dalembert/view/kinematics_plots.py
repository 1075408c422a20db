"""Kinematics as pictures: rates over time, the mechanism on its way with paths of points, what it can reach.

They read results through their methods, so that this room imports nothing of the analyses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ViewError
from dalembert.view.figures import new_figure, plot_series, title_of
from dalembert.view.run_plots import Instant
from dalembert.view.scene import PALETTE, Plot
from dalembert.view.sticks import Sticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["path_figure", "rates_figure", "workspace_figure"]

MOST_JOINTS = 8
ORDERS = ("Coordinates", "Velocities", "Accelerations", "Jerks")


def rates_figure(found: Any, joints: Sequence[str] | None) -> Figure:
    """Four panels for angles and four for displacements, as far as there are any; a line at each event."""
    given = [] if joints is None else list(joints)
    names = given or [str(name) for name in found.values("joint_u") if "[" not in str(name)][:MOST_JOINTS]
    panels: list[Plot] = []
    for unit in ("rad", "m"):
        own = {name: found.joint(name) for name in names}
        own = {name: parts for name, parts in own.items() if parts.position.attrs.get("units") == unit}
        for order, title in enumerate(ORDERS if own else ()):
            series = {name: parts[order].values for name, parts in own.items()}
            panels.append(Plot(title, next(iter(own.values()))[order].attrs["units"], series))
    if not panels:
        raise ViewError("plot: no joint with one freedom to draw.  Fix: joints=['foot[0]', …]")
    times = [event.time for event in found.events if event.kind != "dead point" or event.joint in names]
    note = "│ dead points and singular positions" if times else ""
    return plot_series(found.time.values, panels, title=found.model.name, marks=times, note=note)


def _panel(width: float, height: float) -> tuple[Figure, Any]:
    figure = new_figure(width, height)
    return figure, figure.subplots()


def path_figure(found: Any, tracks: Mapping[str, tuple[str, np.ndarray]], positions: int, labels: bool) -> Figure:
    """The mechanism at some instants, the first one strong, with the paths of points.

    Args:
        tracks: body and path of each point, by name.
    """
    figure, panel = _panel(6.8, 5.6)
    sticks, count = Sticks(found.dynamics.coordinates), len(found.values("time"))
    for k in np.unique(np.linspace(0, count - 1, max(positions, 1)).astype(int))[1:]:
        sticks.draw(panel, Instant(found.motion, int(k)), color="#c6ccd4", labels=False, joints=False)
    first = Instant(found.motion, 0)
    sticks.draw(panel, first, labels=labels)
    for k, (name, (body, track)) in enumerate(tracks.items()):
        flat = track @ sticks.axes.T
        color = PALETTE[(k + 3) % len(PALETTE)]
        for joint in sticks.around.get(body, []):
            ends = np.array([flat[0], sticks.joint_place(first, joint, body)])
            panel.plot(ends[:, 0], ends[:, 1], color=color, linewidth=1.0, linestyle=":", zorder=4)
        panel.plot(flat[:1, 0], flat[:1, 1], color=color, marker="o", markersize=5, zorder=7)
        panel.plot(flat[:, 0], flat[:, 1], color=color, linewidth=1.6, label=name, zorder=7)
    if tracks:
        legend = panel.legend(frameon=False, fontsize=9, loc="best")
        for text in legend.get_texts():
            text.set_parse_math(False)
    title_of(figure, found.model.name)
    return figure


def workspace_figure(found: Any) -> Figure:
    """Places of the point that can be reached, colored by the distance from singular positions."""
    figure, panel = _panel(6.4, 5.4)
    sticks = Sticks(found.coordinates)
    flat = found.points[found.reachable] @ sticks.axes.T
    if not len(flat):
        raise ViewError("workspace: nothing is reached")
    shown = panel.scatter(flat[:, 0], flat[:, 1], c=found.quality[found.reachable], s=6, cmap="viridis", vmin=0)
    figure.colorbar(shown, ax=panel, label="smallest over largest singular value", shrink=0.8)
    panel.set_aspect("equal", adjustable="datalim")
    panel.set_xlabel("m")
    panel.set_ylabel("m")
    panel.spines[["top", "right"]].set_visible(False)
    title_of(figure, f"{found.coordinates.flat.name}: places of {found.name}")
    return figure
