"""Inertia of the uniform parts, against integrals over random points of the solid."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.library import parts

MASS = 2.0
COUNT = 400_000
SAMPLING = 0.01  # relative error of the sampled integral: a few / √COUNT


def _cylinder(rng, start, end, radius):
    start, end = np.asarray(start, float), np.asarray(end, float)
    axis = (end - start) / np.linalg.norm(end - start)
    across = np.linalg.svd(axis[None])[2][1:]
    r, phi = radius * np.sqrt(rng.random(COUNT)), 2 * np.pi * rng.random(COUNT)
    disc = np.stack([r * np.cos(phi), r * np.sin(phi)], axis=1) @ across
    return start + rng.random((COUNT, 1)) * (end - start) + disc


CASES = {
    "bar": (
        lambda: parts.bar(MASS, (1, 2, 0), (1.5, 0, 0), width=0.1),
        lambda rng: _cylinder(rng, (1, 2, 0), (1.5, 0, 0), 0),
    ),
    "rod": (
        lambda: parts.rod(MASS, (1, 2, 3), (0, 1, 2.5), 0.1),
        lambda rng: _cylinder(rng, (1, 2, 3), (0, 1, 2.5), 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_mass_properties(name):
    make, sample = CASES[name]
    part = make()
    points = sample(np.random.default_rng(1))
    center = points.mean(axis=0)
    d = points - center
    tensor = MASS * (np.eye(3) * np.mean(np.sum(d * d, axis=1)) - d.T @ d / COUNT)
    xx, yy, zz, *products = (float(entry) for entry in part["inertia"])
    xy, xz, yz = products or (0.0, 0.0, 0.0)
    given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    np.testing.assert_allclose([float(x) for x in part["com"]], center, atol=SAMPLING)
    np.testing.assert_allclose(given, tensor, atol=SAMPLING * np.trace(tensor))
    assert part["mass"] == MASS
