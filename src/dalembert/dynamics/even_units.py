"""Units in which the equations of a large or small mechanism are of one size (see ``numerics.scaling``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import NUMPY

if TYPE_CHECKING:
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = ["even_units"]

EVERYDAY = 1024.0  # m, and its inverse: between them meters are as good as any unit
PROBES, SPREAD = 4, 0.1  # positions at which rows are looked at, and how far from the drawing (rad)


def even_units(kernels: MechanismKernels) -> tuple[np.ndarray, np.ndarray] | None:
    """Units of velocities and of constraint rows; None for a mechanism of everyday size."""
    coordinates = kernels.coordinates
    length = coordinates.usual_arm or 1.0
    if 1 / EVERYDAY <= length <= EVERYDAY:
        return None
    units = coordinates.velocity_units(_power(length))
    placed, rng = coordinates.place(NUMPY, dict(coordinates.flat.parameters)), np.random.default_rng(0)
    drawn, largest = coordinates.drawn(), np.zeros(len(kernels.rows))
    values = kernels.parameters(dict.fromkeys(coordinates.flat.switches.values(), 1.0))
    for _ in range(PROBES):
        q = placed.normalize(placed.integrate(drawn, SPREAD * units * rng.uniform(-1, 1, coordinates.nv)))
        A = np.asarray(kernels.constraint_kernel(0.0, q, np.zeros(coordinates.nv), values).jacobian)
        sizes = np.abs(A * units).max(axis=1, initial=0.0)
        largest = np.fmax(largest, np.where(np.isfinite(sizes), sizes, 0.0))
    rows = np.array([1 / _power(size) if size > 0 else 1.0 for size in largest])
    return units, rows


def _power(size: float) -> float:
    """The power of two next to a size."""
    return 2.0 ** round(math.log2(size))
