"""Bundled mechanisms: ready to run, short enough to read, and a place to start from.

    model = da.library.four_bar(crank=0.3)      # a function with keyword parameters
    model = da.library.build("four-bar")        # by its name, as the command line does
    da.library.names()                          # what there is

Each mechanism is one file in ``mechanisms/``, imported when it is first used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dalembert.arguments import no_attribute, public
from dalembert.errors import DalembertError, did_you_mean

if TYPE_CHECKING:
    from dalembert.library.mechanisms.andrews import andrews
    from dalembert.library.mechanisms.belt_drive import belt_drive
    from dalembert.library.mechanisms.bennett import bennett
    from dalembert.library.mechanisms.bicycle import bicycle
    from dalembert.library.mechanisms.bouncing_ball import bouncing_ball
    from dalembert.library.mechanisms.bricard import bricard
    from dalembert.library.mechanisms.cam_follower import cam_follower
    from dalembert.library.mechanisms.cart_pendulum import cart_pendulum
    from dalembert.library.mechanisms.clutch import clutch
    from dalembert.library.mechanisms.crank_rocker import crank_rocker
    from dalembert.library.mechanisms.delta_robot import delta_robot
    from dalembert.library.mechanisms.desk_lamp import desk_lamp
    from dalembert.library.mechanisms.double_pendulum import double_pendulum
    from dalembert.library.mechanisms.five_bar import five_bar
    from dalembert.library.mechanisms.four_bar import four_bar
    from dalembert.library.mechanisms.geneva_drive import geneva_drive
    from dalembert.library.mechanisms.hopping_leg import hopping_leg
    from dalembert.library.mechanisms.knife_edge import knife_edge
    from dalembert.library.mechanisms.n_four_bar import n_four_bar
    from dalembert.library.mechanisms.n_pendulum import n_pendulum
    from dalembert.library.mechanisms.parallelogram import parallelogram
    from dalembert.library.mechanisms.pendulum import pendulum
    from dalembert.library.mechanisms.planar_pendulum import planar_pendulum
    from dalembert.library.mechanisms.quarter_car import quarter_car
    from dalembert.library.mechanisms.rocking_block import rocking_block
    from dalembert.library.mechanisms.rolling_disc import rolling_disc
    from dalembert.library.mechanisms.rolling_sphere import rolling_sphere
    from dalembert.library.mechanisms.sarrus import sarrus
    from dalembert.library.mechanisms.satellite import satellite
    from dalembert.library.mechanisms.slider_crank import slider_crank
    from dalembert.library.mechanisms.slider_crank_3d import slider_crank_3d
    from dalembert.library.mechanisms.slider_crank_3d_modular import slider_crank_3d_modular
    from dalembert.library.mechanisms.snakeboard import snakeboard
    from dalembert.library.mechanisms.spinning_top import spinning_top
    from dalembert.library.mechanisms.stewart_platform import stewart_platform
    from dalembert.library.mechanisms.stick_slip import stick_slip
    from dalembert.library.mechanisms.three_rrr import three_rrr
    from dalembert.library.mechanisms.tricycle import tricycle
    from dalembert.library.mechanisms.wheelset import wheelset
    from dalembert.library.mechanisms.whitworth import whitworth
    from dalembert.library.mechanisms.woodpecker import woodpecker
    from dalembert.model import Model

__all__ = [
    "LIBRARY", "PLANAR", "andrews", "belt_drive", "bennett", "bicycle", "bouncing_ball", "bricard", "build",
    "cam_follower", "cart_pendulum", "clutch", "crank_rocker", "delta_robot", "desk_lamp", "double_pendulum",
    "duration", "five_bar", "four_bar", "geneva_drive", "hopping_leg", "knife_edge", "n_four_bar", "n_pendulum",
    "names", "parallelogram", "pendulum", "planar_pendulum", "quarter_car", "rocking_block", "rolling_disc",
    "rolling_sphere", "sarrus", "satellite", "slider_crank", "slider_crank_3d", "slider_crank_3d_modular",
    "snakeboard", "spinning_top", "stewart_platform", "stick_slip", "three_rrr", "tricycle", "wheelset", "whitworth",
    "woodpecker",
]  # fmt: skip


class Entry:
    """A function of the library that is imported when it is first called."""

    def __init__(self, name: str):
        self.name = name
        self.function_name = name.replace("-", "_")

    @property
    def function(self) -> Callable[..., Model]:
        """The function itself, with its signature and documentation."""
        return _public_function(self.function_name)

    @property
    def description(self) -> str:
        """One line for lists: the description of the model."""
        return self.function().description

    def __call__(self, **parameters: Any) -> Model:
        return self.function(**parameters)

    def __repr__(self) -> str:
        return f"<dalembert.library.{self.function_name}>"


@functools.cache
def _public_function(name: str) -> Callable[..., Model]:
    return public(getattr(import_module(f"dalembert.library.mechanisms.{name}"), name))


# In the order in which a person would meet them.
LIBRARY: dict[str, Callable[..., Model]] = {
    name: Entry(name)
    for name in (
        "pendulum", "double-pendulum", "n-pendulum", "cart-pendulum", "four-bar", "crank-rocker", "slider-crank",
        "slider-crank-3d", "spinning-top", "rolling-disc", "rolling-sphere", "knife-edge", "snakeboard", "bicycle",
        "stewart-platform", "delta-robot", "satellite", "andrews", "parallelogram", "desk-lamp", "bouncing-ball",
        "cam-follower", "stick-slip", "rocking-block", "woodpecker", "clutch", "geneva-drive", "belt-drive",
        "hopping-leg", "wheelset", "n-four-bar", "sarrus", "bennett", "bricard", "five-bar", "quarter-car",
    )
}  # fmt: skip


# Planar mechanisms by nodes; whatever takes a model takes them too.
PLANAR: dict[str, Callable[..., Any]] = {name: Entry(name) for name in ("planar-pendulum", "whitworth", "three-rrr")}


# How long a run of them is worth watching (s), where it is not ten seconds.
DURATIONS = {
    "andrews": 0.03, "belt-drive": 2.0, "bouncing-ball": 4.0, "cam-follower": 1.0, "clutch": 3.0, "delta-robot": 2.0,
    "five-bar": 3.0, "geneva-drive": 4.0, "hopping-leg": 4.0, "quarter-car": 2.5, "rocking-block": 4.0,
    "stewart-platform": 5.0, "stick-slip": 20.0, "wheelset": 3.0, "woodpecker": 1.0,
}  # fmt: skip
USUAL_DURATION = 10.0


def duration(name: str) -> float:
    """How long to run a mechanism of the library by default (s)."""
    return DURATIONS.get(str(name).replace("_", "-"), USUAL_DURATION)


def names() -> list[str]:
    """Names of all bundled models; ``PLANAR`` holds the planar mechanisms by nodes."""
    return list(LIBRARY)


def build(name: str, **parameters: Any) -> Any:
    """A bundled mechanism by its name: a model, or one of the planar mechanisms.

    Args:
        name: e.g. ``"four-bar"``; underscores will do for dashes.
        parameters: passed to the function, e.g. ``crank=0.3``.

    Raises:
        DalembertError: there is none of that name; the message names the nearest.
    """
    known: dict[str, Callable[..., Any]] = {**LIBRARY, **PLANAR}
    entry = known.get(str(name).replace("_", "-"))
    if entry is None:
        question = did_you_mean(str(name).replace("_", "-"), known, 3, repr)
        fix = f"{question}  the library has {', '.join(known)}".strip()
        raise DalembertError(f"unknown mechanism {name!r}.  Fix: {fix}")
    return entry(**parameters)


# Mechanisms as trees of subsystems: functions with keyword parameters, too.
SUBSYSTEMS = ("slider_crank_3d_modular", "tricycle")


def __getattr__(name: str) -> Any:
    if name in SUBSYSTEMS:
        return _public_function(name)
    word = name.replace("_", "-")
    entry = LIBRARY.get(word) or PLANAR.get(word)
    if isinstance(entry, Entry) and entry.function_name == name:
        return entry.function
    raise no_attribute("module 'dalembert.library'", name, __all__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
