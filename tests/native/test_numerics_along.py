"""Native linear algebra over many small matrices, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.numerics import singular_values as rotations
from dalembert.numerics.along import changes_most, largest_along
from dalembert.numerics.orientations import ORTHOGONAL, is_rotation, orientations_along
from dalembert.numerics.singular_values import singular_values
from dalembert.trajectory.record import quaternions


@pytest.mark.checked
@pytest.mark.parametrize(
    ("rows", "columns", "rank"), [(5, 3, 2), (2, 3, 2), (1, 4, 1), (4, 4, 4), (3, 3, 1), (6, 7, 5)]
)
def test_singular_values(rows, columns, rank):
    rng = np.random.default_rng(rows)
    A = rng.normal(size=(50, rows, rank)) @ rng.normal(size=(50, rank, columns))
    A[::7] *= np.logspace(-6, 6, columns)
    A[3], A[4, :, 1:] = 0.0, 0.0
    expected = np.linalg.svd(A, compute_uv=False)
    found = singular_values(A)
    assert np.all(np.abs(found - expected) <= 1e-14 * expected[:, :1])
    assert np.all(np.diff(found, axis=1) <= 0)


def test_small_singular_values_are_accurate():
    """Rotations find them relative to themselves where columns have their own scales."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 3, 3)) * np.array([1.0, 1e-5, 1e-10])
    expected = np.linalg.svd(A * np.array([1.0, 1e5, 1e10]), compute_uv=False)
    found = singular_values(A)
    product = np.prod(expected, axis=1) * 1e-15
    np.testing.assert_allclose(np.prod(found, axis=1), product, rtol=1e-10)  # |det|


def test_none_and_large_ones_go_to_lapack():
    assert singular_values(np.empty((0, 3, 2))).shape == (0, 2)
    assert singular_values(np.empty((4, 0, 2))).shape == (4, 0)
    n = rotations.SMALL + 1
    A = np.random.default_rng(1).normal(size=(5, n, n))
    np.testing.assert_array_equal(singular_values(A), np.linalg.svd(A, compute_uv=False))


def rotation(Q):
    """The matrix of a unit quaternion, written out."""
    w, x, y, z = Q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.checked
def test_orientations():
    """Any rotation, and half turns about each axis, where three of the four columns vanish."""
    rng = np.random.default_rng(2)
    Q = np.vstack([rng.normal(size=(60, 4)), np.eye(4), -np.eye(4)])
    Q /= np.linalg.norm(Q, axis=1)[:, None]
    R = np.array([rotation(each) for each in Q])
    for i, found in enumerate(quaternions(R[None])[0]):
        np.testing.assert_allclose(found * np.sign(found @ Q[i]), Q[i], atol=1e-15)


def test_orientations_are_continuous():
    t = np.linspace(0, 20 * np.pi, 501)
    axis = np.array([1.0, 2.0, -2.0]) / 3
    Q = np.column_stack([np.cos(t / 2), np.sin(t / 2)[:, None] * axis])
    R = np.array([[rotation(each), rotation(each).T] for each in Q])
    found = quaternions(R)
    np.testing.assert_allclose(found[:, 0], Q, atol=1e-14)
    np.testing.assert_allclose(found[:, 1], Q * [1, -1, -1, -1], atol=1e-14)


def test_axes_that_are_bent_count_as_the_nearest_rotation():
    R = np.array([[rotation(np.array([0.6, 0.8, 0, 0]))], [np.eye(3)], [np.eye(3)], [np.full((3, 3), np.nan)]])
    R[1, 0] += 1e-3 * np.random.default_rng(3).normal(size=(3, 3))
    R[2, 0] *= 1 + 1e-6  # a length may be off a little
    assert is_rotation(R[2, 0].ravel()) and not is_rotation(R[1, 0].ravel()) and ORTHOGONAL < 1e-3
    found = quaternions(R)
    U, _, Vt = np.linalg.svd(R[1, 0])
    np.testing.assert_allclose(rotation(found[1, 0]), U @ Vt, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(found[:3, 0], axis=1), 1, atol=1e-15)
    assert np.isnan(found[3]).all()
    assert not orientations_along(R.reshape(4, 1, 9), np.empty((4, 1, 4)))


@pytest.mark.checked
def test_largest_numbers_and_changes_of_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(81, 3)) * (1.0, 1e3, 0.0)
    np.testing.assert_array_equal(largest_along(rows), np.abs(rows).max(axis=0))
    change = np.abs(np.diff(rows[:, :2], axis=0))
    shares = (change / change.max(axis=0)).max(axis=1).reshape(4, 20).argmax(axis=1) + 20 * np.arange(4)
    np.testing.assert_array_equal(changes_most(rows, 4), [*(change.argmax(axis=0) + 1), 0, *(shares + 1)])
    assert changes_most(rows[:1], 4).tolist() == [0] * 7 and largest_along(rows[:0]).tolist() == [0.0] * 3
    rows[5, 1] = np.nan
    assert np.isnan(largest_along(rows)).tolist() == [False, True, False]
