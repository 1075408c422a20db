"""What elements know of themselves: what they name, read and touch."""

from __future__ import annotations

from typing import Any

import pytest

import dalembert as da
from dalembert.constraints import CONSTRAINTS
from dalembert.elements.base import formulas_in, names_in
from dalembert.forces import FORCES


def test_names_of_other_elements_are_found_by_their_types():
    model = da.Model("m")
    spring = model.spring("k", "a", "ground", at=((0, 0, 0), (0, 0, 1)), frame="b")
    assert list(names_in(spring)) == [
        ("bodies[0]", "body", "a"),
        ("bodies[1]", "body", "ground"),
        ("frame", "frame", "b"),
    ]
    assert spring.named("body") == ["a", "ground"]
    coupler = model.coupler("c", {"A": 1, "B": "2*a"})
    assert list(names_in(coupler)) == [("terms.A", "joint", "A"), ("terms.B", "joint", "B")]
    assert [(at, key) for at, _, key, _ in formulas_in(coupler)][:2] == [("terms.A", "terms"), ("terms.B", "terms")]


@pytest.mark.parametrize(
    ("add", "joints"),
    [
        (lambda m: m.gear("g", "A", "B", 2), {"A", "B"}),
        (lambda m: m.rack("r", "A", "B", 2), {"A", "B"}),
        (lambda m: m.drive("A", "t"), {"A"}),
        (lambda m: m.constraint("e", "q(A) + q(B, 1)"), {"A", "B"}),
        (lambda m: m.explicit("x", "A", "-q(B)"), {"A", "B"}),
        (lambda m: m.torsional_spring("k", "A"), {"A"}),
        (lambda m: m.force("f", "a", (0, "q(A)", "u(B)")), {"A"}),
        (lambda m: m.potential("v", "q(A)**2"), {"A"}),
        (lambda m: m.event("hit", "q(A)", rates={"B": "-u(B)"}), {"A"}),
        (lambda m: m.output("o", "q(B) + u(A)"), {"B"}),
    ],
)
def test_joints_read(add: Any, joints: set[str]):
    assert add(da.Model("m")).joints_read() == joints


def test_a_force_on_the_free_joint_of_a_floating_body_acts_from_outside():
    model = da.Model("pushed", gravity=(0, 0, 0))
    model.body("b", mass=1, inertia=(1, 1, 1))
    model.joint_force("push", "b", 1.0, index=3)
    certificate = da.simulate(model, 1.0).certificate
    assert certificate.trusted
    assert "linear momentum" not in [check.name for check in certificate.checks]


def test_momentum_is_checked_where_only_bodies_act_on_each_other():
    model = da.Model("pair", gravity=(0, 0, 0))
    for name, x in (("a", 0.0), ("b", 1.0)):
        model.body(name, mass=1, com=(x, 0, 0), inertia=(1, 1, 1))
    model.spring("k", "a", "b", at=((0, 0, 0), (1, 0, 0)), stiffness=3, length=0.5)
    certificate = da.simulate(model, 1.0).certificate
    assert {"linear momentum", "angular momentum"} <= {check.name for check in certificate.checks}
    assert certificate.trusted


def test_every_balanced_force_names_what_it_acts_on():
    for kind in (*FORCES.values(), *CONSTRAINTS.values()):
        assert kind.__doc__
    for force in FORCES.values():
        if force.balanced:
            assert {"bodies", "joint"} & set(force.model_fields)
