"""One self-contained HTML file that simulates: our player, sliders, and the run as WebAssembly. No network."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dalembert.export.module import Packed, pack
from dalembert.export.native_run import Live, run_live
from dalembert.native import Record
from dalembert.values import DICT, FLOATING, SEQUENCE
from dalembert.view.check import check
from dalembert.view.page import asset, compose, player
from dalembert.view.payload import encode_array, payload
from dalembert.view.scene import Scene

__all__ = ["LiveSlider", "engine_data", "field_address", "live_html"]

_ROOM = "dalembert.export"
GLIMPSE = 7  # samples of the motion for the first picture
_POLICY = "; worker-src blob:"
_DIGITS = bytes.maketrans(b"<>&`", b",./:")


@dataclass(frozen=True)
class LiveSlider:
    """A number that can be changed in the page.

    Attributes:
        key: names it in the address of the page.
        name, unit, about, group: what is shown.
        low, high, value: its range, and where it stands at first.
        joint: coordinates that are given together; None for a parameter.
        address: of the number in the memory of the module.
        masks: addresses that become 1 when it is given.
    """

    key: str
    name: str
    unit: str
    about: str
    group: str
    low: float
    high: float
    value: float
    joint: str | None
    address: int
    masks: tuple[int, ...] = ()


def field_address(packed: Packed, record: Record, name: str) -> int:
    """Where a number of a record lies in the memory of the module."""
    return packed.address(record) + 8 * record.slot_of[name]


def engine_data(live: Live, spare: Sequence[Record] = ()) -> tuple[dict[str, Any], Packed]:
    """What the engine of the page needs, and the module; ``spare``: records that the page may put into the run."""
    packed = pack(run_live, live, kept=spare)
    watch, statistics = live.watch, live.context.statistics
    fields: dict[str, tuple[int, str]] = {}
    for record, names in (
        (live, "written reaction steps rejected evaluations narrow"),
        (statistics, "failure"), (live.start, "off_row"),
    ):  # fmt: skip
        fields |= {name: (field_address(packed, record, name), "i") for name in names.split()}
    for record, names in (
        (live, "end changed"), (live.start, "off_by"),
        (statistics, "smallest_pivot lowest_rank highest_rank largest_conflict largest_correction"),
    ):  # fmt: skip
        fields |= {name: (field_address(packed, record, name), "f") for name in names.split()}
    # Addresses, numbers in each output, or how many there are in all.
    arrays = {
        "time": (packed.address(watch.time), 1, 0), "states": (packed.address(watch.states), live.nx, 0),
        "observed": (packed.address(watch.observed), watch.n_observed, 0),
        "work": (packed.address(watch.work), 1, 0),
        "orientation": (packed.address(watch.orientation), 4 * watch.n_bodies, 0),
        "measured": (packed.address(watch.measured), 0, len(watch.measured)),
        "drawn": (packed.address(live.drawn) if live.n_drawn else 0, 0, live.n_drawn),
    }  # fmt: skip
    event_list, kept = (0, 0), 0
    events: Any = live.events  # None where there are none
    if events is not None:
        fields["count"] = (field_address(packed, events, "count"), "i")
        event_list = packed.address(events.happened), packed.address(events.happened_at)
        kept = events.n_kept
    data = {
        "wasm": _packed_text(packed.wasm), "memory": _packed_text(packed.memory), "base": packed.base,
        "room": packed.room, "io": packed.io, "result": packed.result, "fields": fields, "arrays": arrays,
        "eventList": event_list, "keptEvents": kept, "times": field_address(packed, live, "n_times"),
    }  # fmt: skip
    return data, packed


def live_html(
    scene: Scene,
    sources: Mapping[tuple[int, str], int | str],
    live: dict[str, Any],
    sliders: list[LiveSlider],
    engine: dict[str, Any],
) -> str:
    """The page as text.

    Args:
        scene: what is drawn, with the motion that the page begins with; the page carries a glimpse of it for its first
            picture, all other numbers are left to the engine.
        sources: column of the recorded numbers, ``total`` or ``work``, for each plot (by number) and series.
        live: layout of the recorded numbers, checks and words.
    """
    check(scene)
    glimpse = _glimpse(scene)
    data = payload(glimpse)
    del data["facts"]  # those of the run in the page take their place
    # Sizes that depend on parameters come from the engine; seven digits are more than a screen shows.
    data |= {name: _short(data[name]) for name in ("bodies", "ground", "joints", "springs", "belts", "trace")}
    for k, plot in enumerate(data["plots"]):
        for series in plot["series"]:
            series["source"] = sources[k, series["name"]]
            series["values"] = encode_array(glimpse.plots[k].series[series["name"]], "<f4")
    data["live"] = {**live, "sliders": [asdict(slider) for slider in sliders], "engine": engine}
    scripts = player(scene)
    parts = ("engine.js", "motions.js", "live.js") if "motions" in live else ("engine.js", "live.js")
    scripts += [asset(_ROOM, name) for name in parts]
    verdict = (
        '\n  <button type="button" class="strip verdict pending" title="What the run says of itself">'
        '<span class="verdict-text">computing</span><span class="effort"></span></button>'
    )
    return compose(
        str(scene.title), data, scripts, asset(_ROOM, "live.css"), controls=asset(_ROOM, "controls.html"),
        verdict=verdict, policy=_POLICY,
    )  # fmt: skip


def _glimpse(scene: Scene) -> Scene:
    """A few samples of the motion: what is seen while the module is compiled."""
    at = np.unique(np.linspace(0, len(scene.time) - 1, GLIMPSE).round().astype(int))
    bodies = [replace(body, position=np.asarray(body.position)[at], quaternion=np.asarray(body.quaternion)[at])
              for body in scene.bodies]  # fmt: skip
    plots = [replace(plot, series={name: np.asarray(values)[at] for name, values in plot.series.items()})
             for plot in scene.plots]  # fmt: skip
    return replace(scene, time=np.asarray(scene.time)[at], bodies=bodies, plots=plots)


def _short(value: Any) -> Any:
    """Numbers with seven digits, wherever they are, whole ones without a point."""
    if isinstance(value, FLOATING):
        short = float(f"{value:.7g}")
        return int(short) if short.is_integer() and abs(short) < 1e7 else short
    if isinstance(value, DICT):
        return {name: _short(one) for name, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, SEQUENCE) else value


def _packed_text(data: bytes) -> str:
    """Compressed, in digits of base 85 that neither HTML nor JSON has to escape."""
    return base64.b85encode(gzip.compress(data, 9, mtime=0)).translate(_DIGITS).decode("ascii")
