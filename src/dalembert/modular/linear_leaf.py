"""Leaves whose equations are linear and given as matrices: from a measurement, another program, a linearization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.arguments import public
from dalembert.errors import ModelError, Problem
from dalembert.modular.subsystem import Subsystem
from dalembert.values import NO_NUMBER

__all__ = ["linear"]


@public
def linear(
    name: str,
    coordinates: str,
    mass: Any,
    damping: Any = None,
    stiffness: Any = None,
    *,
    force: Sequence[float] | None = None,
    inputs: Mapping[str, Sequence[float]] | None = None,
) -> Subsystem:
    """A leaf  M ẍ + C ẋ + K x = f + B w  of numbers.

    Args:
        coordinates: names of x, e.g. ``"x y theta"``.
        mass, damping, stiffness: n × n matrices M, C, K, symmetric or not; zero without.
        force: f, what acts at x = 0, e.g. weight: where the whole turns the directions of x, it matters.
        inputs: columns of B by the names of w.
    """
    leaf = Subsystem(name)
    x = [leaf.coordinates(one) for one in coordinates.split()]
    n = len(x)
    M, C, K = (
        _numbers(name, what, np.zeros((n, n)) if given is None else given, (n, n))
        for what, given in (("mass", mass), ("damping", damping), ("stiffness", stiffness))
    )
    total = [sp.Float(value) for value in _numbers(name, "force", [0.0] * n if force is None else force, (n,))]
    for key, column in (inputs or {}).items():
        w = leaf.input(key)
        total = [f + b * w for f, b in zip(total, _numbers(name, f"inputs[{key!r}]", column, (n,)), strict=True)]
    for matrix, motion in ((M, [one.dd for one in x]), (C, [one.d for one in x]), (K, x)):
        total = [
            f - sp.Add(*(a * z for a, z in zip(row, motion, strict=True) if a))
            for f, row in zip(total, matrix, strict=True)
        ]
    leaf.effective_forces(dict(zip(x, total, strict=True)))
    return leaf


def _numbers(name: str, what: str, given: Any, shape: tuple[int, ...]) -> list[Any]:
    try:
        found = np.asarray(given, dtype=float)
    except NO_NUMBER:
        found = np.full(shape, np.nan)
    if found.shape != shape or not np.isfinite(found).all():
        size = " × ".join(map(str, shape))
        raise ModelError(Problem(f"leaf {name!r}: {what} must be {size} finite numbers, got {given!r}"))
    return found.tolist()
