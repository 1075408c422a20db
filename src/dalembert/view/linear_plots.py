"""Pictures of linear models: eigenvalues over a parameter, ratios of coordinates, eigenvectors as arrows, responses.

They read charts and modes through their attributes, so that this room imports nothing of the analyses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ViewError
from dalembert.view.figures import MUTED, new_figure, open_frame, title_of
from dalembert.view.scene import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["arrows", "bode", "eigenvalue_chart", "ratio_chart"]

_SHADE = "#029e73"
_ARROW = {"arrowstyle": "-|>", "color": PALETTE[0], "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
MOST_MODES = 24
MOST_STATES = 24


def _figure(width: float, height: float, rows: int = 1) -> tuple[Figure, np.ndarray]:
    figure = new_figure(width, height)
    return figure, figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]


def eigenvalue_chart(chart: Any, unit: str = "", limits: tuple[float, float] | None = None) -> Figure:
    """Real parts as lines, imaginary parts dashed, one color for each mode; where all decay is shaded.

    Args:
        chart: with ``parameter``, ``values`` and ``eigenvalues``.
        unit: of the parameter.
        limits: of the vertical axis.
    """
    figure, (panel,) = _figure(8.0, 5.0)
    x, values = np.asarray(chart.values, dtype=float), np.asarray(chart.eigenvalues)
    if values.shape[1] == 0:
        raise ViewError("no mode but neutral ones to draw")
    # Of a pair of conjugate eigenvalues one is enough.
    shown = [k for k in range(values.shape[1]) if not _is_conjugate(values, k)]
    for color, k in zip(_colors(len(shown)), shown, strict=True):
        panel.plot(x, np.real(values[:, k]), color=color, linewidth=1.6, label=_named(k, values[:, k]))
        imaginary = np.abs(np.imag(values[:, k]))
        panel.plot(x, np.where(imaginary > 0, imaginary, np.nan), color=color, linewidth=1.2, linestyle="--")
    stable = np.all(np.nan_to_num(np.real(values), nan=-1.0) < 0, axis=1)
    _shade(panel, x, stable)
    panel.axhline(0, color=MUTED, linewidth=0.8)
    panel.set_xlim(x[0], x[-1])
    if limits is not None:
        panel.set_ylim(*limits)
    panel.set_xlabel(f"{chart.parameter} ({unit})" if unit else chart.parameter, color=MUTED, parse_math=False)
    panel.set_ylabel("eigenvalues (1/s): real parts —, imaginary parts - -", color=MUTED)
    open_frame(panel)
    panel.legend(frameon=False, fontsize=9, loc="best")
    title_of(figure, chart.models[0].name)
    return figure


def ratio_chart(chart: Any, numerator: str, denominator: str) -> Figure:
    """Magnitude and phase of a quotient of two states in each mode."""
    figure, (upper, lower) = _figure(8.0, 5.6, 2)
    x, values = np.asarray(chart.values, dtype=float), np.asarray(chart.eigenvalues)
    ratio = chart.ratio(numerator, denominator)
    shown = [k for k in range(values.shape[1]) if not _is_conjugate(values, k)]
    for color, k in zip(_colors(len(shown)), shown, strict=True):
        # Of conjugate eigenvalues that with a positive imaginary part tells the phase.
        seen = np.where(np.imag(values[:, k]) >= 0, ratio[:, k], np.nan)
        upper.semilogy(x, np.abs(ratio[:, k]), color=color, linewidth=1.6, label=_named(k, values[:, k]))
        lower.plot(x, np.degrees(_phase(seen)), color=color, linewidth=0, marker=".", markersize=3)
    upper.set_ylabel("magnitude", color=MUTED)
    lower.set_ylabel("phase (°)", color=MUTED)
    lower.set_yticks([-180, -90, 0, 90, 180])
    lower.set_xlabel(chart.parameter, color=MUTED, parse_math=False)
    lower.set_xlim(x[0], x[-1])
    for panel in (upper, lower):
        open_frame(panel)
    upper.legend(frameon=False, fontsize=9, loc="best")
    title_of(figure, f"{numerator} over {denominator}")
    return figure


def arrows(name: str, modes: Sequence[Any], labels: Mapping[str, str]) -> Figure:
    """A table of eigenvectors: rows are coordinates, columns modes, arrows show size and phase.

    Args:
        labels: other names of states.
    """
    shown = [mode for mode in modes if mode.eigenvalue != 0][:MOST_MODES]
    if not shown:
        raise ViewError("no mode but neutral ones to draw")
    names = [state for state in shown[0].states if not state.endswith(".d")][:MOST_STATES]
    figure, (panel,) = _figure(2.2 + 1.25 * len(shown), 1.4 + 0.8 * len(names))
    for column, mode in enumerate(shown):
        vector = np.array([mode.vector[mode.states.index(name)] for name in names])
        largest = vector[np.argmax(np.abs(vector))]
        vector = vector / largest if largest else vector
        for row, entry in enumerate(vector):
            panel.add_patch(_circle(column, row))
            if abs(entry) > 0.02:
                end = (column + 0.42 * entry.real, row - 0.42 * entry.imag)
                panel.annotate("", end, (column, row), arrowprops=_ARROW)
            else:
                panel.plot([column], [row], color=PALETTE[0], marker=".", markersize=4)
    panel.set_xticks(range(len(shown)), [_eigenvalue(mode.eigenvalue) for mode in shown], fontsize=8)
    panel.set_yticks(range(len(names)), [labels.get(name, name) for name in names], fontsize=9, parse_math=False)
    panel.set_xlim(-0.6, len(shown) - 0.4)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.set_aspect("equal")
    panel.tick_params(length=0, colors=MUTED)
    for spine in panel.spines.values():
        spine.set_visible(False)
    title_of(figure, name)
    return figure


def bode(omega: np.ndarray, response: np.ndarray, source: str, result: str) -> Figure:
    """Magnitude (dB) and phase over the angular frequency."""
    figure, (upper, lower) = _figure(8.0, 5.6, 2)
    with np.errstate(divide="ignore"):
        upper.semilogx(omega, 20 * np.log10(np.abs(response)), color=PALETTE[0], linewidth=1.6)
    lower.semilogx(omega, np.degrees(np.unwrap(np.angle(response))), color=PALETTE[0], linewidth=1.6)
    upper.set_ylabel("magnitude (dB)", color=MUTED)
    lower.set_ylabel("phase (°)", color=MUTED)
    lower.set_xlabel("ω (rad/s)", color=MUTED)
    for panel in (upper, lower):
        open_frame(panel)
    title_of(figure, f"{result} per {source}")
    return figure


def _is_conjugate(values: np.ndarray, k: int) -> bool:
    """True if an earlier column has the same eigenvalues, conjugate where they are complex."""
    mine = values[:, k]
    return any(
        np.array_equal(np.isnan(mine), np.isnan(values[:, j]))
        and np.nanmax(np.abs(mine - values[:, j].conj())) < 1e-12 * (1 + np.nanmax(np.abs(mine)))
        and np.nanmax(np.abs(np.imag(mine))) > 0
        for j in range(k)
    )


def _named(mode: int, values: np.ndarray) -> str:
    """The number of a mode, and what it does over the whole chart."""
    oscillates = np.abs(np.nan_to_num(np.imag(values))) > 0
    kind = "oscillates" if oscillates.all() else "oscillates at times" if oscillates.any() else "does not oscillate"
    real = np.real(values)
    real = real[~np.isnan(real)]
    trend = "decays" if np.all(real < 0) else "grows" if np.all(real > 0) else "decays or grows"
    return f"{mode}: {kind}, {trend}"


def _phase(ratio: np.ndarray) -> np.ndarray:
    """Phases in (−π, π], the rounding of real quotients left out."""
    clean = np.where(np.abs(np.imag(ratio)) < 1e-9 * np.abs(np.real(ratio)), np.real(ratio) + 0j, ratio)
    return np.angle(clean)


def _eigenvalue(value: complex) -> str:
    return f"{value.real:.3g}" + (f"\n± {value.imag:.3g}i" if value.imag else "")


def _circle(x: float, y: float) -> Any:
    from matplotlib.patches import Circle

    return Circle((x, y), 0.42, facecolor="none", edgecolor="#d5dae0", linewidth=0.8)


def _colors(count: int) -> list[str]:
    return [PALETTE[k % len(PALETTE)] for k in range(count)]


def _shade(panel: Axes, x: np.ndarray, stable: np.ndarray) -> None:
    """Shade the ranges where everything decays."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], stable, [False]]).astype(int)))
    for k, (first, after) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        panel.axvspan(
            float(x[first]),
            float(x[after - 1]),
            color=_SHADE,
            alpha=0.15,
            linewidth=0,
            label="everything decays" if k == 0 else None,
        )
