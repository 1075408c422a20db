"""Surfaces by their support function: as the rolling joints where those apply, and by their own laws elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da

INERTIA = (0.02, 0.03, 0.04)
TILT = 0.5  # of the disc as drawn


def free(name: str, surface: str, center, axis="z", **more) -> da.Model:
    model = da.Model(name)
    body = model.body("egg", mass=1.5, com=center, inertia=INERTIA, pose=center)
    model.rolling_surface("roll", model.ground, body, center, surface, axis=axis, **more)
    return model


def test_a_sphere_is_the_rolling_sphere():
    r, rates = 0.3, (1.0, 2.0, -3.0, -0.6, 0.2, 0.1)
    ours = free("ours", f"{r}*sqrt(x**2 + y**2 + z**2)", (0, 0, r))
    theirs = da.Model("theirs")
    body = theirs.body("egg", mass=1.5, com=(0, 0, r), inertia=INERTIA, pose=(0, 0, r))
    theirs.rolling_sphere("roll", theirs.ground, body, point=(0, 0, r), axis="z", radius=r)
    w = np.array(rates[:3])
    v = r * np.array([w[1], -w[0], 0.0])
    one = da.simulate(ours, 1.0, initial_rates={"egg": (*w, *v)})
    other = da.simulate(theirs, 1.0, initial_rates={"roll": (*v[:2], *w)})
    assert one.certificate.trusted and other.certificate.trusted
    assert np.allclose(one.body("egg").position, other.body("egg").position, atol=1e-8)
    assert np.allclose(one.body("egg").angular_velocity, other.body("egg").angular_velocity, atol=1e-7)


def test_a_thin_disc_is_the_rolling_disc():
    """Axis y, leaning as drawn: the disc of radius r reaches r √(n² − (n·a)²)."""
    r, a = 0.4, np.array([0.0, np.cos(TILT), np.sin(TILT)])
    center = (0, 0, r * np.cos(TILT))
    along = f"({a[1]}*y + {a[2]}*z)"
    ours = free("ours", f"{r}*sqrt(x**2 + y**2 + z**2 - {along}**2)", center)
    theirs = da.Model("theirs")
    body = theirs.body("egg", mass=1.5, com=center, inertia=INERTIA, pose=center)
    theirs.rolling_disc("roll", theirs.ground, body, point=center, axis="z", axis_2=a, radius=r)
    other = da.simulate(theirs, 1.0, initial_rates={"roll": (2.0, 0.0, 0.3, 0.2, 2.0 / r)})
    start = {"egg": (*other.body("egg").angular_velocity[0].values, *other.body("egg").velocity[0].values)}
    one = da.simulate(ours, 1.0, initial_rates=start)
    assert one.certificate.trusted and other.certificate.trusted
    assert np.allclose(one.body("egg").position, other.body("egg").position, atol=1e-8)


@pytest.mark.parametrize("slips", [False, True])
def test_an_ellipsoid_stands_on_its_plane(slips):
    """The lowest point of the moved ellipsoid, found by its matrix, touches the plane and does not slip."""
    semi, center = np.array([0.3, 0.2, 0.4]), (0.0, 0.0, 0.4)
    model = free("egg", "sqrt((0.3*x)**2 + (0.2*y)**2 + (0.4*z)**2)", center, slips=slips)
    w = np.array([0.7, -0.2, 1.0])
    v = np.zeros(3) if slips else np.cross(w, (0, 0, 0.4))
    run = da.simulate(model, 2.0, initial_rates={"egg": (*w, *v)})
    assert run.certificate.trusted
    body = run.body("egg")
    for i in range(0, len(run.time), 50):
        p, (w0, x, y, z) = body.position[i].values, body.quaternion[i].values
        R = Rotation.from_quat((x, y, z, w0)).as_matrix()
        A = R @ np.diag(semi**2) @ R.T  # height of a supporting plane: √(nᵀ A n)
        low = -A[:, 2] / np.sqrt(A[2, 2])
        assert np.isclose(p[2] + low[2], 0.0, atol=1e-10)
        slip = body.velocity[i].values + np.cross(body.angular_velocity[i].values, low)
        assert np.isclose(slip[2], 0.0, atol=1e-8)
        assert slips or np.allclose(slip, 0.0, atol=1e-8)
    if slips:  # nothing pushes sideways
        assert np.allclose(body.position.values[:, :2], 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("surface", "message"),
    [
        ("0.3*sqrt(x**2 + y**2 + z**2) + 0.1", "not a support function"),
        ("(0.6*(x**2 + y**2) + 0.1*z**2)/sqrt(x**2 + y**2 + z**2)", "not convex"),
        ("log(x)", "no finite value|not a support function"),
        ("0.3*sqrt(x**2 + t**2)", "may name x, y, z"),
    ],
)
def test_surfaces_that_cannot_be(surface, message):
    with pytest.raises(da.ModelError, match=message):
        da.compile(free("bad", surface, (0, 0, 0.3)))


def test_the_normal_is_given_in_numbers():
    with pytest.raises(da.ModelError, match="three numbers"):
        da.compile(free("bad", "0.3*sqrt(x**2 + y**2 + z**2)", (0, 0, 0.3), axis=(0, 0, 0)))
