"""Where the panels of a stacked figure go: every text is measured once, not many times as a general layout does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.layout_engine import LayoutEngine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

__all__ = ["StackedLayout"]

_EDGE = 5.0  # around the figure (points)
_GAP = 7.0  # between a panel, or the numbers along it, and what stands beside it
_TICK = 7.0  # length of a tick, and its distance from the number
_LABEL = 16.0  # below a picture (points)
_SHARED = 1.5  # lines for a power of ten that the numbers along an axis share


class StackedLayout(LayoutEngine):
    """Panels of equal size one above the other, legends to their right, labels of all y-axes on one line.

    It measures at every drawing, as matplotlib's own layouts do, so a figure may be changed before it is written.

    Args:
        panels: from top to bottom, with their titles.
        heading: of the whole figure.
        strip, height: pictures side by side below the heading, and how high (points) they and their labels are.
    """

    _adjust_compatible = True
    _colorbar_gridspec = False

    def __init__(
        self,
        panels: Sequence[tuple[Axes, Text]],
        heading: Text | None,
        strip: Sequence[Axes] = (),
        height: float = 0.0,
    ):
        super().__init__()
        self._panels, self._heading, self._strip, self._strip_height = panels, heading, strip, height

    def execute(self, fig: Figure) -> None:
        """Place all panels."""
        point, (width, height) = fig.dpi / 72, fig.bbox.size
        panels = [panel for panel, _ in self._panels]
        edge, gap, tick = _EDGE * point, _GAP * point, _TICK * point
        numbers = tick + max(_widest(panel.get_yticklabels()) for panel in panels)
        left = edge + max(panel.yaxis.label.get_window_extent().width for panel in panels) + gap + numbers
        legends = [legend for legend in (panel.get_legend() for panel in panels) if legend is not None]
        right = width - edge - gap - max((legend.get_window_extent().width for legend in legends), default=0.0)
        above = [_height(title) + gap + self._shared(panel) for panel, title in self._panels]
        last = panels[-1].xaxis
        below = edge + _height(last.label) + gap + max(map(_height, last.get_ticklabels()), default=0.0) + tick
        top = height - edge
        if self._heading is not None:
            self._heading.set_y(top / height)
            top -= _height(self._heading) + gap / 2
        if self._strip:
            high, wide = (self._strip_height - _LABEL - _GAP) * point, (width - 2 * edge) / len(self._strip)
            for k, picture in enumerate(self._strip):
                bounds = (edge + k * wide) / width, (top - high) / height, 0.95 * wide / width, high / height
                picture.set_position(bounds)
            top -= self._strip_height * point
        ticks = (len(panels) - 1) * tick
        each = max(point, (top - sum(above) - ticks - below) / len(panels))
        for panel, space in zip(panels, above, strict=True):
            top -= space + each
            panel.set_position((left / width, top / height, max(point, right - left) / width, each / height))
            panel.yaxis.set_label_coords(-(numbers + gap / 2) / max(point, right - left), 0.5)
            top -= tick

    def _shared(self, panel: Axes) -> float:
        """Room for a power of ten above the axis, where there is one."""
        if not panel.yaxis.get_major_formatter().get_offset():
            return 0.0
        return _SHARED * panel.yaxis.get_offset_text().get_fontsize() * panel.get_figure().dpi / 72  # type: ignore[union-attr]


def _widest(texts: Sequence[Text]) -> float:
    return max((text.get_window_extent().width for text in texts), default=0.0)


def _height(text: Text) -> float:
    return text.get_window_extent().height
