"""Frobenius' test against constraints whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def plane(formula: str, more: str | None = None) -> da.Model:
    """Three coordinates with velocity constraints."""
    model = da.System("plane", gravity=(0, 0, 0))
    for name in ("x", "y", "z"):
        model.coordinate(name, kind="length")
    model.particle("p", mass=1, position=("q(x)", "q(y)", "q(z)"))
    model.constraint("given", formula, level="velocity")
    if more:
        model.constraint("more", more, level="velocity")
    return model


@pytest.mark.parametrize(
    ("formula", "holonomic"),
    [
        ("u(x)", True),  # x = const
        ("q(x)*u(x) + q(y)*u(y) + q(z)*u(z)", True),  # a sphere
        ("q(y)*u(x) - q(x)*u(y)", True),  # a half-plane through z, by an integrating factor
        ("u(z) - q(y)*u(x)", False),  # the contact form
        ("u(y) - t*u(x)", False),  # a slope that turns with time
        ("u(y) - cos(t)", True),
        ("(2 + sin(t)*q(z))*u(x)", True),  # a factor of time and place
        ("q(y)*u(x) + (q(z) - q(x))*u(y) - q(y)*u(z)", True),  # y² d((x − z)/y), by an integrating factor
    ],
)
def test_pfaffian_forms(formula: str, holonomic: bool):
    found = da.integrable(plane(formula), "given")
    assert bool(found) is holonomic, str(found)
    assert ("is holonomic" in str(found)) is holonomic


def test_two_forms_may_be_integrable_together():
    """dz = y dx cannot be integrated; with dy = 0 it can: z = y x + const."""
    model = plane("u(z) - q(y)*u(x)", "u(y)")
    assert da.integrable(model, "given")
    assert not da.integrable(model, "given", alone=True)
    assert da.integrable(model, "given").together == ["more"]


def test_the_object_of_nonholonomy_of_the_contact_form():
    """d(dz − y dx) = dx ∧ dy: on the allowed directions (1, 0, y)/√(1 + y²) and (0, 1, 0) that is 1/√(1 + y²)."""
    found = da.integrable(plane("u(z) - q(y)*u(x)"), "given")
    _, q = found.position
    y = q[found.coordinates.index("y")]
    form = np.sqrt(1 + y**2)  # its length, by which the row was divided
    assert np.abs(found.object_of_nonholonomy).max() == pytest.approx(1 / np.sqrt(1 + y**2) / form, rel=1e-9)
    A = np.array([-y, 0, 1, 0])
    np.testing.assert_allclose(A @ found.directions, 0, atol=1e-12)


def test_mechanisms():
    assert not da.integrable(da.library.knife_edge(), "blade")
    assert not da.integrable(da.library.rolling_disc(), "contact")
    loop = da.library.four_bar()
    cut = da.compile(loop).rows.owners()[0]
    assert da.integrable(loop, cut)


def test_a_wheel_that_rolls_along_a_rail_is_holonomic():
    model = da.Model("wheel")
    model.body("axle", mass=1, com=(0, 0, 0.3), inertia=(1, 1, 1))
    model.body("wheel", mass=1, com=(0, 0, 0.3), inertia=(1, 1, 1))
    model.prismatic("rail", model.ground, "axle", point=(0, 0, 0.3), axis="x")
    model.revolute("turn", "axle", "wheel", point=(0, 0, 0.3), axis="y")
    model.constraint("roll", "u(rail) - 0.3*u(turn)", level="velocity")
    assert da.integrable(model, "roll")
    with pytest.raises(da.DalembertError, match=r"imposed by 'rolls'; did you mean roll\? there are roll"):
        da.integrable(model, "rolls")
