"""Models and strategies for the tests of files."""

from __future__ import annotations

from typing import Any

import sympy as sp
from hypothesis import strategies as st

from dalembert.elements import Record
from dalembert.joints import JOINTS
from dalembert.model import Model

JOINT_FIELDS: dict[str, dict[str, Any]] = {
    "screw": {"pitch": 0.01},
    "universal": {"axis_2": (0, 1, 0), "axis": "x"},
    "distance": {"point_2": (0.1, 0.2, 1 / 3), "length": "a/2"},
    "rolling-disc": {"axis_2": "y", "radius": "a"},
    "rolling-sphere": {"radius": 0.25},
    "custom": {
        "custom": {
            "coordinates": 2, "position": ("q0", "sin(q1)", 0),
            "equations": ("x", "y", "z", "Rxx"), "measure": ("x", "Rzz"),
        }
    },
}  # fmt: skip


def everything() -> Model:
    """A valid model with every kind of element, every kind of field."""
    model = Model("everything", gravity=("-g", 0, "1/3"), description="one of each: yes, #1 \"quoted\" 'text'")
    a, _, m = model.parameters(a=0.1 + 0.2, g=9.80665, m=1e-300)
    model.parameters(big=1.7976931348623157e308)
    previous: Any = "ground"
    for i, kind in enumerate(JOINTS):
        body = model.body(
            f"body {i}",
            mass=m * (i + 1),
            com=(a / 3, i * 0.1, -1e-17),
            inertia=(1, 1 + a, 1.5) if i % 2 else (1, 1, 1, 0.1, -0.05, a / 100),
            **({"frame": "body", "color": "#00ff7F"} if i % 3 == 0 else {}),
            **({"pose": {"position": (i, 0, a), "quaternion": (1, 0, 0, a)}} if i % 3 == 1 else {}),
        )
        geometry = {
            key.strip("[]"): (0, "a", 1) if key.strip("[]") == "point" else "-z" for key in JOINTS[kind].geometry
        }
        model.joint(kind, kind, previous, body, **{**geometry, **JOINT_FIELDS.get(kind, {})})
        previous = body
    model.fixed("framed", "ground", "body 3", frame_1={"rotation": ("y", "-x", "z")}, frame_2=(0, 0, a), cut=True)
    model.revolute("if", "ground", "body 2", point=(0, 0, 0), axis=(1, 2, 3), frame="body 1", reference="pi/7")
    _add_shapes(model)
    model.gear("gears", "revolute", "screw", ratio=sp.Rational(-7, 3), offset=0.5)
    model.rack("rack", "if", "prismatic", radius="a", offset=1e-3)
    model.coupler("coupler", {"revolute": 1, "if": "-a", "prismatic": 2.5}, offset="a**2")
    model.constraint("eq", 'q(revolute)**2 - x("body 3")*sin(t) + q("rolling-disc", 4)')
    model.constraint("vel", 'a*u(revolute) - vx("body 2")*q("if") + t', level="velocity")
    model.drive("revolute", "2*pi*t if t < 1 else exp(-t)")
    model.drive("cylindrical", "sin(t)**2", index=1, active=False)
    model.explicit("follow", "prismatic", "a*sin(q(revolute)) + t")
    model.velocities(w='u(revolute)*cos(q(revolute)) - vx("body 2") + t')
    _add_forces(model)
    _add_events(model)
    model.output("energy", 'sqrt(q(prismatic)**2 + vx("body 1")**2)', unit="J/√kg")
    model.initial("revolute", 0.1, rate="a")
    model.initial("spherical", (1, 0, 0, "a"), rate=(0, 1e-5, 2))
    wheel = Model("wheel", description="a part")
    wheel.parameters(r=1.0)
    wheel.body("rim", mass="r**2", inertia=(1, 1, 2))
    wheel.revolute("axle", "ground", "rim", point=(0, 0, 0), axis="y")
    wheel.event("turned", "q(axle) - r", rates={"axle": "-u(axle)/2"})
    model.add(wheel, "left", base="body 3", pose=((0, "a", 0), (1, 0, 0, 0)), parameters={"r": "2*a"})
    model.add(wheel, "right")
    return model


def _add_shapes(model: Model) -> None:
    model.shape("body 0", "box", size=(1, "a", 0.5), opacity=0.5, color="#123456")
    model.shape("body 0", "cylinder", radius=1, length="a", axis="-x")
    model.shape("body 0", "sphere", radius="a", frame="body 1")
    model.shape("body 1", "capsule", radius=1, length=2, pose={"position": (1, 2, 3), "rpy": (0, 0, "pi/4")})
    model.shape("body 1", "cone", radius=1, length=2, frame="body")
    model.shape("body 1", "torus", radius=1, tube=0.1)
    model.shape("body 1", "mesh", file="wheel.stl", scale=(1, -1, "a"), name="left wheel")
    model.shape("body 1", "frame", length=0.1)
    model.shape("body 1", "line", points=((0, 0, 0), (1, 0, "a")))


def _add_forces(model: Model) -> None:
    ends = ((0, 0, 0), (1, "a", 0))
    model.spring("spring", "ground", "body 1", at=ends, stiffness="100*a", damping=1, length=0.3, frame="body")
    model.torsional_spring("torsion", "cylindrical", index=1, stiffness=2, damping="a", angle=0.1)
    model.bushing("bushing", "ground", "body 2", point=(0, 0, 1), stiffness=(1, 2, "a"), angular_damping=(1, 1, 1))
    model.force("push", "body 1", value=("sin(t)", "min(q(revolute), max(1, t))", 0), at=(0, 0, 1), axes="body")
    model.torque("twist", "body 1", value=(0, 0, "atan2(q(revolute), u(revolute))"), reaction_on="ground")
    model.joint_force("motor", "planar", value="-abs(u(planar, 2))*sign(u(planar))", index=2)


def _add_events(model: Model) -> None:
    model.event("mark", "t - 1/3")
    model.event("end", 'x("body 3") - 2', direction="falling", stop=True)
    model.event("start", "u(revolute)", direction="rising", set={"a": "2*a + t", "right.r": 0.1}, switch={"vel": False})
    rates = {"revolute": "-0.8*u(revolute)", "spherical[2]": "u(spherical, 1)", "rolling-disc[0]": 0, "left.axle": 1}
    model.event("bounce", 'q("if")**2 - a', rates=rates, switch={"cylindrical drive 1": True, "gears": False})


def same(first: Model, second: Model) -> None:
    """Every element equal, field by field, formulas as SymPy and floats bit by bit."""
    assert (first.name, first.description, first.gravity) == (second.name, second.description, second.gravity)
    assert [(k, v.hex()) for k, v in first.parameter_values.items()] == [
        (k, v.hex()) for k, v in second.parameter_values.items()
    ]
    assert first.initial_values == second.initial_values
    assert first.initial_rates == second.initial_rates
    assert first.quasi_velocities == second.quasi_velocities
    for section in ("bodies", "joints", "constraints", "forces", "outputs", "events", "submodels"):
        ours, theirs = getattr(first, section), getattr(second, section)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _same_record(a, b)


def _same_record(a: Record, b: Record) -> None:
    assert type(a) is type(b)
    for key in type(a).model_fields:
        x, y = getattr(a, key), getattr(b, key)
        if isinstance(x, Model):
            same(x, y)
        else:
            assert x == y, (key, x, y)
            assert sp.srepr(x) == sp.srepr(y) if isinstance(x, sp.Expr) else type(x) is type(y)


# Random formulas

FLOATS = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, min_value=-1e6, max_value=1e6)
NUMBERS = st.one_of(
    st.integers(-1000, 1000).map(str),
    FLOATS.map(lambda value: repr(abs(value) if abs(value) > 1e-6 else 0.5)),
    st.sampled_from(["pi", "1/3", "2.5e-3"]),
)
NAMES = st.sampled_from(["a", "b", "left.k", "lam", "E", "I", "S", "N", "beta", "zeta", "x1"])
MOTION = st.sampled_from(["t", "q(A)", "u(A)", 'q("a b", 2)', "x(tip)", "wz(left.tip)", 'q("if")', "q(S)", "u(Q)"])


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    unary = st.sampled_from(["sin", "cos", "tanh", "exp", "atan", "abs", "sign", "sqrt", "sinh", "log", "asin"])
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda p: f"({p[0]}){p[1]}({p[2]})"),
        st.tuples(unary, inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, st.sampled_from(["2", "-1", "0.5", "1/3", "3", "-0.5"])).map(lambda p: f"({p[0]})**({p[1]})"),
        inner.map(lambda p: f"-({p})"),
        st.tuples(st.sampled_from(["min", "max", "atan2"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        st.tuples(inner, inner, st.sampled_from(["<", "<=", ">", ">="]), inner, inner).map(
            lambda p: f"({p[0]}) if ({p[1]}) {p[2]} ({p[3]}) else ({p[4]})"
        ),
    )


FORMULAS = st.recursive(st.one_of(NUMBERS, NAMES, MOTION), _grow, max_leaves=8)
CONSTANT_FORMULAS = st.recursive(st.one_of(NUMBERS, st.sampled_from(["a", "b"])), _grow, max_leaves=4)
