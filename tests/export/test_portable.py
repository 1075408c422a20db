"""What runs without Python: every kind of element that is declared makes the run of da.simulate; others are refused."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import Field

import dalembert as da
from dalembert.analyses.simulation.live import make_living
from dalembert.analyses.simulation.make_device import make_device
from dalembert.constraints import CONSTRAINTS
from dalembert.export import native_device, portable
from dalembert.export.native_device import serve
from dalembert.export.native_run import run_live
from dalembert.export.portable import PORTABLE, PORTABLE_JOINTS, PORTABLE_QUANTITIES, refuse_what_needs_python
from dalembert.expressions import reference
from dalembert.forces import FORCES, Spring
from dalembert.fuzz.random_models import tree_model
from dalembert.joints import JOINTS
from dalembert.model import flatten
from dalembert.model.model import SECTIONS


def two_sliders() -> da.Model:
    """Two masses on rails along x and z, a wheel, and something to name in formulas."""
    model = da.Model("parts")
    model.parameters(k=40.0)
    for name, axis, at in (("A", "x", (0, 0, 0)), ("B", "z", (0, 0.5, 0))):
        body = model.body(f"mass {name}", mass=1.0, com=at, inertia=(0.1, 0.1, 0.1))
        model.prismatic(name, model.ground, body, point=at, axis=axis)
    wheel = model.body("wheel", mass=2.0, com=(0, 1, 0), inertia=(0.2, 0.3, 0.2))
    model.revolute("W", model.ground, wheel, point=(0, 1, 0), axis="y")
    model.initial("A", 0.1, rate=1.0)
    return model


def disc_on_a_floor() -> da.Model:
    model = da.Model("egg")
    model.body("egg", mass=1.0, com=(0, 0, 0.4), inertia=(0.04, 0.05, 0.026), pose=(0, 0, 0.4))
    return model


def _egg(m):
    egg = "sqrt((0.3*x)**2 + (0.2*y)**2 + (0.4*z)**2)"
    m.rolling_surface("floor", m.ground, "egg", center=(0, 0, 0.4), surface=egg)


ENDS = ((0, 0, 0), (0, 0.5, 0))
BALLS = [{"kind": "plane", "at": (0.4, 0, 0), "axis": "-x"}, {"kind": "sphere", "at": (0, 0, 0), "radius": 0.1}]
# Everything that a model can have beside joints, by its kind; the options of the run.
ELEMENTS = {
    "coupler": (lambda m: m.coupler("c", {"A": 1, "W": -0.2}, offset=0.1), {}),
    "gear": (lambda m: m.gear("g", "A", "B", ratio=2), {"initial_rates": {}}),
    "rack": (lambda m: m.rack("r", "W", "A", radius=0.2, offset=0.1), {}),
    "equation": (lambda m: m.constraint("e", "q(A)**2 + (q(B) + 1)**2 - 1.01"), {}),
    "drive": (lambda m: m.drive("W", "0.3*sin(2*t)"), {}),
    "explicit": (lambda m: m.explicit("x", "B", "0.5*q(A)**2"), {}),
    "cable": (
        lambda m: m.cable("rope", ["mass A", m.ground, "mass B"], at=[(0, 0, 0), (0.6, 0.2, 0.4), (0, 0.5, 0)]), {},
    ),
    "belt": (lambda m: m.belt("belt", ["W", "V"], radii=[0.1, 0.2]), {}),
    "rolling-surface": (_egg, {"initial_rates": {"egg": (0.5, 0.2, 1.0, 0.08, -0.2, 0.0)}}),
    "spring": (lambda m: m.spring("s", "mass A", "mass B", stiffness="k", damping=1, length=0.3, at=ENDS), {}),
    "strut": (
        lambda m: m.strut("s", m.ground, "mass A", at=((-1, 0, 0), (0, 0, 0)), push="-20*max(length - 1.1, 0)"), {},
    ),
    "torsional-spring": (lambda m: m.torsional_spring("s", "W", stiffness=2.0, angle=0.4), {}),
    "bushing": (
        lambda m: m.bushing("b", m.ground, "mass A", point=(0, 0, 0), stiffness=(30, 1, 1), damping=(1, 1, 1)), {},
    ),
    "force": (lambda m: m.force("f", "mass B", ("sin(t)", 0, "12*x(wheel) + 9.81")), {}),
    "torque": (lambda m: m.torque("t", "wheel", (0, "1 - 0.1*u(W)", 0)), {}),
    "joint-force": (lambda m: m.joint_force("j", "B", "9.81 - k*q(B) + abs(u(B))"), {}),
    "potential": (lambda m: m.potential("p", "k*(x(wheel) + q(A) - 0.1)**4"), {}),
    "moving-frame": (lambda m: m.moving_frame("earth", rotation=(0.1, 0.2, 0.3)), {}),
    "stop": (lambda m: m.stop("wall", "q(A)", upper=0.3, stiffness=1e3, dissipation=0.2), {}),
    "contact": (lambda m: m.contact("hit", m.ground, "mass A", surfaces=BALLS, stiffness=1e4, friction=0.2), {}),
    "state": (lambda m: (m.state("i", rate="1 - 3*i - u(W)"), m.joint_force("j", "W", "2*i")), {}),
    "input": (lambda m: (m.input("push", "sin(3*t)"), m.joint_force("j", "W", "push")), {}),
    "table": (lambda m: (m.table("law", x=[0, 0.5, 2], y=[1, 2, 0]), m.joint_force("j", "W", "law(t)")), {}),
    "event": (lambda m: m.event("reached", "q(A) - 0.3", set={"k": "2*k"}), {}),
}  # fmt: skip
QUICK = ("state",)  # the others are in the slow suite
NEED_PYTHON = {
    "limit": (lambda m: m.limit("wall", "q(A)", upper=0.3), "limit 'wall'.*stop instead of limit"),
    "rigid-contact": (
        lambda m: m.rigid_contact("hit", m.ground, "mass A", surfaces=BALLS), "rigid-contact 'hit'.*contact instead",
    ),
    "friction": (lambda m: m.friction("rub", "A", coefficient=0.3), "friction 'rub'.*a smooth law"),
    "contact-friction": (
        lambda m: (m.rigid_contact("hit", m.ground, "mass A", surfaces=BALLS),
                   m.contact_friction("rub", "hit", coefficient=0.3, along="y")), "contact-friction 'rub'",
    ),
    "torsion": (lambda m: m.torsion("twist", m.ground, "mass A", axis="z", torque="-angle"), "torsion 'twist'"),
    "balance": (
        lambda m: (m.massless_point("tip", (0, 0, 1), axis="z"),
                   m.spring("hang", m.ground, "tip", at=((0, 0, 2), (0, 0, 1)), stiffness=10)), "balance 'tip balance'",
    ),
}  # fmt: skip


def same_run(model: da.Model, duration: float = 0.4, **options) -> None:
    """The run of da.simulate, as a whole, and step by step as an FMU makes it, both ways."""
    run = da.simulate(model, duration, output_step=0.05, certify=False, **options)
    live = make_living(run, []).live
    run_live(live)
    n, states = len(run.values("time")), np.hstack([run.values("q"), run.values("u")])
    assert live.written == n
    assert np.abs(live.states[:n, :-1] - states).max() < 1e-9 * max(1.0, np.abs(states).max())
    assert np.ptp(states, axis=0).max() > 1e-3
    device = make_device(run).device
    assert serve(device, native_device.BEGIN) == 0
    for t in run.values("time")[1:]:
        device.target = t
        assert serve(device, native_device.STEP) == 0
    assert np.abs(device.x[:-1] - states[-1]).max() < 1e-7 * max(1.0, np.abs(states).max())
    device = make_device(run).device
    device.exchange = True
    assert serve(device, native_device.BEGIN) == 0 and serve(device, native_device.RATES) == 0
    assert np.abs(device.x[:-1] - states[0]).max() < 1e-9 and np.all(np.isfinite(device.rates))


def test_every_kind_is_shown_or_refused():
    """A new kind must be shown to run without Python, or be refused: nothing is left open."""
    kinds = {*CONSTRAINTS, *FORCES}
    assert kinds <= {*ELEMENTS, *NEED_PYTHON} and not {*ELEMENTS} & {*NEED_PYTHON}
    declared = {kind for kind, cls in {**CONSTRAINTS, **FORCES}.items() if cls in PORTABLE}
    assert declared == kinds & {*ELEMENTS}
    assert set(portable.SECTIONS) == {*SECTIONS} - {"submodels"}  # which are written out


def test_declared_fields_exist():
    for kind, fields in PORTABLE.items():
        assert fields - {"kind", "name"} <= set(kind.model_fields), kind


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in ELEMENTS]
)
def test_a_declared_element_makes_the_run_of_simulate(kind):
    add, options = ELEMENTS[kind]
    model = disc_on_a_floor() if kind == "rolling-surface" else two_sliders()
    if kind == "belt":
        body = model.body("second", mass=1, com=(1, 1, 0), inertia=(0.1, 0.2, 0.1))
        model.revolute("V", model.ground, body, point=(1, 1, 0), axis="y")
        model.initial("V", rate=2.0)
    add(model)
    same_run(model, **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(PORTABLE_JOINTS - {"fixed", "rolling-disc", "rolling-sphere", "custom"}))
def test_a_declared_joint_makes_the_run_of_simulate(kind):
    assert kind in JOINTS
    same_run(tree_model(3, (kind,)), 0.2)


@pytest.mark.parametrize("kind", NEED_PYTHON)
def test_what_is_not_declared_is_refused_by_name(kind, tmp_path):
    add, words = NEED_PYTHON[kind]
    model = two_sliders()
    add(model)
    run = da.simulate(model, 0.1, certify=False)
    for leave in (
        lambda: run.live(tmp_path / "x.html"),
        lambda: da.export_c(model, tmp_path, 0.1),
        lambda: da.export_fmu(model, tmp_path / "x.fmu", 0.1, platforms=[]),
    ):
        with pytest.raises(da.DalembertError, match=words):
            leave()
    assert not list(tmp_path.iterdir())


class NewSpring(Spring):
    """An element that somebody adds tomorrow, derived from one that is declared."""


class OldSpringWithMore(Spring):
    """One that is declared, and has a field more since."""

    wear: float = Field(0.0)


def test_what_is_new_is_refused_until_it_is_declared(monkeypatch):
    model = two_sliders()
    spring = model.spring("s", "mass A", "mass B", stiffness="k", damping=1, length=0.3, at=ENDS)
    flat = flatten(model)
    refuse_what_needs_python(flat)

    def refused(element, words):
        flat.forces["s"] = (element, flat.forces["s"][1])
        with pytest.raises(da.DalembertError, match=words):
            refuse_what_needs_python(flat)

    data = {name: getattr(spring, name) for name in type(spring).model_fields}
    refused(NewSpring(**data), "needed for spring 's'")
    monkeypatch.setitem(PORTABLE, OldSpringWithMore, PORTABLE[Spring])
    refused(OldSpringWithMore(**data, wear=0.3), "'wear' of spring 's'")
    flat.forces["s"] = (OldSpringWithMore(**data), flat.forces["s"][1])
    refuse_what_needs_python(flat)  # as it is by default
    told = reference("reaction", "A")
    refused(spring.model_copy(update={"damping": told}), r"reaction\(\) in 'damping' of spring 's'")
    assert "reaction" not in PORTABLE_QUANTITIES
