"""The mechanisms on which formulations must agree: name → model, built when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from dalembert.analyses.structure.inspect import inspect
from dalembert.fuzz import random_models
from dalembert.fuzz.random_mechanisms import drawn_coordinate
from dalembert.joints import JOINTS
from dalembert.library import four_bar
from dalembert.model import Model

__all__ = [
    "CASES", "LOOPS", "TREES", "case", "driven_four_bar", "flat_parallelogram", "parallelogram", "slider_crank",
    "sprung_four_bar",
]  # fmt: skip

CASES: dict[str, Callable[[], Model]] = {}


def _case(function: Callable[[], Model]) -> Callable[[], Model]:
    CASES[function.__name__.replace("_", " ")] = function
    return function


def _pieces(kinds: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    return [kinds[i : i + size] for i in range(0, len(kinds), size)]


# Trees: every kind of joint once, in pieces of four bodies.
TREES = []
for _i, _kinds in enumerate(_pieces(random_models.HOLONOMIC, 4)):
    _name = f"tree of {', '.join(_kinds)}"
    CASES[_name] = lambda i=_i, kinds=_kinds: random_models.tree_model(100 + i, kinds)
    TREES.append(_name)

# Loops: each kind of joint closes one; seeds are such that the loop leaves some freedom.
LOOPS = []
for _i, _kind in enumerate(kind for kind in random_models.HOLONOMIC if kind != "free"):
    _name = f"loop closed by {_kind}"
    CASES[_name] = lambda i=_i, kind=_kind: random_models.loop_model(
        200 + i, ("revolute", "spherical", "universal"), (kind,)
    )
    LOOPS.append(_name)


@_case
def rolling_disc_and_sphere_with_a_pendulum() -> Model:
    return random_models.tree_model(4, (*random_models.NONHOLONOMIC, "revolute"))


@_case
def three_loops() -> Model:
    return random_models.loop_model(
        7, ("spherical", "universal", "spherical", "cylindrical"), ("distance", "point-on-line", "universal")
    )


@_case
def a_rolling_disc_in_a_loop() -> Model:
    rng = np.random.default_rng(11)
    model = Model("rolling loop", gravity=(0, 0, -9.81))
    random_models.draw_body(model, rng, "b0", np.zeros(3))
    random_models.draw_body(model, rng, "b1", np.ones(3))
    random_models.add_joint(model, rng, "free", "j0", "ground", "b0", np.zeros(3))
    random_models.add_joint(model, rng, "spherical", "j1", "b0", "b1", np.ones(3) / 2)
    random_models.add_joint(model, rng, "rolling-disc", "roll", "ground", "b1", np.ones(3))
    model.joints[-1] = model.joints[-1].model_copy(update={"cut": True})
    random_models.add_forces(model, rng)
    return model


def parallelogram(*cranks: float) -> Model:
    """A bar on vertical cranks of length 1 with spatial hinges: most equations of the closing hinges are redundant."""
    model = Model("parallelogram", gravity=(0, -9.81, 0))
    model.body("bar", mass=2, com=(1, 1, 0), inertia=(0.01, 0.4, 0.4))
    for i, x in enumerate(cranks):
        model.body(f"crank{i}", mass=1.2, com=(x + 0.1, 0.5, 0), inertia=(0.1, 0.02, 0.1))
        model.revolute(f"foot{i}", "ground", f"crank{i}", point=(x, 0, 0), axis="z")
        model.revolute(f"head{i}", f"crank{i}", "bar", point=(x, 1, 0), axis="z")
    model.spring("spring", "ground", "bar", at=((0, 2, 0), (2, 1, 0)), stiffness=30, damping=0.5, length=0.5)
    model.joint_force("motor", "foot0", "2*sin(t)")
    return model


@_case
def planar_parallelogram_with_spatial_hinges() -> Model:
    return parallelogram(0.0, 2.0)


@_case
def driven_slider_crank() -> Model:
    model = slider_crank()
    w = model.parameters(w=2.5)
    model.drive("A", w * model.t + 0.3 * Model.t**2)
    model.force("load", "slider", ("-20 - 3*vx(slider)", 0, 0))
    return model


@_case
def gears_racks_and_couplers() -> Model:
    rng = np.random.default_rng(3)
    model = Model("transmission", gravity=(1, -9, 3))
    random_models.grow(model, rng, ("revolute", "revolute", "prismatic", "screw", "cylindrical"))
    model.gear(
        "gear", "j0", "j1", ratio=1.7, offset=drawn_coordinate(model, "j0") + 1.7 * drawn_coordinate(model, "j1")
    )
    model.rack(
        "rack", "j1", "j2", radius=0.2, offset=drawn_coordinate(model, "j2") - 0.2 * drawn_coordinate(model, "j1")
    )
    offset = drawn_coordinate(model, "j2") + 0.5 * drawn_coordinate(model, "j3") - 2 * drawn_coordinate(model, "j4")
    model.coupler("coupler", {"j2": 1, "j3": 0.5, "j4": -2}, offset=offset)
    random_models.add_forces(model, rng)
    return model


@_case
def equations_of_position_and_velocity() -> Model:
    rng = np.random.default_rng(5)
    model = Model("equations", gravity=(0, 0, -9.81))
    random_models.grow(model, rng, ("spherical", "revolute", "free", "prismatic"))
    p = [np.array([float(x) for x in _place(model, name)]) for name in ("b0", "b2")]
    far = float((p[1] - p[0]) @ (p[1] - p[0]))
    model.constraint(
        "rope", f"(x(b2) - x(b0))**2 + (y(b2) - y(b0))**2 + (z(b2) - z(b0))**2 - {far!r} - 0.1*sin(t - 0.3)"
    )
    model.constraint("skate", "vx(b2)*sin(0.3 + t) - vy(b2)*cos(0.3 + t)", level="velocity")
    model.constraint("governor", "u(j1) + 0.5*wz(b2) - 0.4*cos(2*t) + x(b0)*u(j3)", level="velocity")
    random_models.add_forces(model, rng)
    return model


@_case
def cut_screw_with_a_driven_neighbor() -> Model:
    """A closed screw counts its turns; a drive and a spring ask for angles of closed joints."""
    model = random_models.loop_model(
        21, ("revolute", "spherical", "spherical", "free"), ("screw", "universal"), forces=False
    )
    model.torsional_spring("torsion", "c1", stiffness=2, damping=0.2, angle=0.1, index=1)
    model.drive("j0", f"{drawn_coordinate(model, 'j0')!r} + 0.4*sin(3*(t - 0.3))")
    return model


@_case
def welded_and_massless_parts() -> Model:
    """A massless carrier and a weld, as drawings have them."""
    model = Model("welds", gravity=(0, 0, -9.81))
    model.body("arm", mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    model.body("tip", mass=0.5, com=(1, 0.1, 0), inertia=(0.01, 0.02, 0.02))
    model.body("cross", mass=0, com=(1, 0, 0.2))
    model.body("plate", mass=2, com=(1.2, 0, 0.5), inertia=(0.1, 0.1, 0.15))
    model.revolute("hinge", "ground", "arm", point=(0, 0, 0), axis="y")
    model.fixed("weld", "arm", "tip")
    model.revolute("first", "tip", "cross", point=(1, 0, 0.2), axis="x")
    model.revolute("second", "cross", "plate", point=(1, 0, 0.2), axis="y")
    model.spring("spring", "ground", "plate", at=((0, 0, 2), (1.2, 0, 0.5)), stiffness=10, damping=1)
    return model


def _place(model: Model, body: str):
    from dalembert.model import Mechanism, flatten

    return Mechanism.nominal(flatten(model)).body_pose(body).p


@cache
def case(name: str) -> Model:
    return CASES[name]()


assert {kind for name in TREES for kind in JOINTS if kind in name} >= set(random_models.HOLONOMIC), (
    "every joint appears in a tree"
)


# Not among the cases: mechanisms that several tests change or ask something of.


def slider_crank() -> Model:
    """A slider-crank that nothing drives."""
    model = Model("slider-crank", gravity=(0, -9.81, 0))
    model.body("crank", mass=1, com=(0.25, 0, 0), inertia=(0.001, 0.02, 0.02))
    model.body("rod", mass=0.8, com=(1, 0.3, 0), inertia=(0.001, 0.08, 0.08))
    model.body("slider", mass=1.5, com=(1.5, 0.6, 0), inertia=(0.01, 0.01, 0.01))
    model.revolute("A", "ground", "crank", point=(0, 0, 0), axis="z")
    model.revolute("B", "crank", "rod", point=(0.5, 0, 0), axis="z")
    model.revolute("C", "rod", "slider", point=(1.5, 0.6, 0), axis="z")
    model.prismatic("D", "ground", "slider", point=(1.5, 0.6, 0), axis="x")
    return model


def flat_parallelogram() -> Model:
    """Drawn in the position where it lies flat and A loses rank. Its inertia is the same at all positions."""
    model = Model("flat", gravity=(0, 0, 0))
    for name, com in (("left", (0.5, 0, 0)), ("top", (2, 0, 0)), ("right", (2.5, 0, 0))):
        model.body(name, mass=1, com=com, inertia=(0.1, 0.1, 0.1))
    model.revolute("A", model.ground, "left", point=(0, 0, 0), axis="z")
    model.revolute("B", "left", "top", point=(1, 0, 0), axis="z")
    model.revolute("C", "top", "right", point=(3, 0, 0), axis="z")
    model.revolute("D", model.ground, "right", point=(2, 0, 0), axis="z")
    return model


def driven_four_bar() -> Model:
    model = four_bar()
    model.drive("A", "8*t + 0.2*sin(5*t)")
    return model


def sprung_four_bar() -> Model:
    """The spring asks for the angle of a joint that is no coordinate: at the end of q a number counts its turns."""
    model = four_bar()
    model.torsional_spring("spring", inspect(model).loops[0].cut, stiffness=30, damping=0.2)
    return model
