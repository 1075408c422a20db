"""Units in which the equations of a large or small mechanism are of one size (see ``numerics.scaling``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.model.mechanism import unit_of_length

if TYPE_CHECKING:
    from dalembert.dynamics.mechanism_kernels import MechanismKernels

__all__ = ["EvenUnits", "even_units"]

PROBES, SPREAD = 4, 0.1  # positions at which rows are looked at, and how far from the drawing (rad)


@dataclass(frozen=True)
class EvenUnits:
    """Units of coordinates and velocities, and what constraint rows are multiplied by: all 1 at everyday size.

    Attributes:
        length: the unit of lengths (m).
        gaps: the unit of each gap of limits and rigid contacts (see ``Flat.gap_names``).
    """

    length: float
    coordinates: np.ndarray
    velocities: np.ndarray
    rows: np.ndarray
    gaps: np.ndarray

    @property
    def everyday(self) -> bool:
        return self.length == 1.0

    def size(self, q: np.ndarray) -> Any:
        """1 and the largest coordinate of a position, or of each of many."""
        return 1.0 + np.abs(q / self.coordinates).max(axis=-1, initial=0.0)

    def row_units(self, J: np.ndarray) -> np.ndarray:
        """What other rows than those of constraints are multiplied by, given their derivatives."""
        if self.everyday:
            return np.ones(len(J))
        return _inverse_powers(np.abs(J * self.velocities).max(axis=1, initial=0.0))


def even_units(kernels: MechanismKernels, *, everyday: bool = False) -> EvenUnits:
    """Units for the size of a mechanism, or those of everyday size."""
    coordinates = kernels.coordinates
    nq, nv, n = coordinates.nq, coordinates.nv, len(kernels.rows)
    length = 1.0 if everyday else unit_of_length(coordinates.usual_arm)
    if length == 1.0:
        return EvenUnits(1.0, np.ones(nq), np.ones(nv), np.ones(n), np.ones(len(coordinates.flat.gap_names)))
    drawn, units = coordinates.drawn(), coordinates.velocity_units(length)
    placed, rng = coordinates.place(NUMPY, dict(coordinates.flat.parameters)), np.random.default_rng(0)
    largest = np.zeros(n)
    values = kernels.parameters(dict.fromkeys(coordinates.flat.switches.values(), 1.0))
    for _ in range(PROBES if n else 0):
        q = placed.normalize(placed.integrate(drawn, SPREAD * units * rng.uniform(-1, 1, nv)))
        A = np.asarray(kernels.constraint_kernel(0.0, q, np.zeros(nv), values).jacobian)
        sizes = np.abs(A * units).max(axis=1, initial=0.0)
        largest = np.fmax(largest, np.where(np.isfinite(sizes), sizes, 0.0))
    of_q = coordinates.lengths(drawn)[0]
    rows = _inverse_powers(largest)
    gaps = np.array([1 / rows[kernels.rows.of([name])[0]] for name, _ in coordinates.flat.gap_names])
    return EvenUnits(length, np.where(of_q, length, 1.0), units, rows, gaps)


def _inverse_powers(sizes: np.ndarray) -> np.ndarray:
    return np.array([1 / _power(size) if size > 0 else 1.0 for size in sizes])


def _power(size: float) -> float:
    """The power of two next to a size."""
    return 2.0 ** round(math.log2(size))
