"""Rolled recursions as machine code, as machine code with checks, and as plain Python: the same numbers to the bit."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.dynamics.rolled import Rolled, rolled_rhs
from dalembert.dynamics.rolled_closing import closed_approach, closed_retract, closed_rhs
from dalembert.fuzz.random_models import HOLONOMIC, tree_model
from dalembert.native import checking, native, plain
from dalembert.numerics.context import NO_CONVERGENCE, NOT_FINITE, OK, Context, Statistics

MODES = {"machine code": nullcontext, "checked": checking, "plain Python": plain}
ROLLABLE = tuple(kind for kind in HOLONOMIC if kind != "custom")


@native
def wanted(c: Context, positions: bool, du: np.ndarray, seen: np.ndarray) -> int:
    """Loops of large trees only ask whether a way back is wanted."""
    return OK


def _context(dynamics, **fields):
    start = Statistics(smallest_pivot=1.0, lowest_rank=np.inf)
    sizes = {"nq": dynamics.nq, "nv": dynamics.nv, "rows": len(dynamics.rows), "holonomic": dynamics.holonomic}
    context = Context(**sizes, statistics=start, **fields)
    context.projection = wanted.bind(context)
    return context


def _same(found):
    """All modes give what machine code gives."""
    expected = found.pop("machine code")
    for mode, values in found.items():
        for name, value in values.items():
            assert np.array_equal(value, expected[name]), f"{name} in {mode}"


@pytest.mark.parametrize("seed", range(3))
def test_trees_run_alike(seed):
    dynamics = da.compile(tree_model(seed, ROLLABLE), formulation="recursive")
    rng, rolled = np.random.default_rng(seed), Rolled(dynamics.coordinates, dynamics.flat.parameters)
    tree = dynamics.coordinates.place(NUMPY, dynamics.flat.parameters)
    q = tree.integrate(dynamics.coordinates.neutral(), rng.normal(size=dynamics.nv))
    u, tau = rng.normal(size=(2, dynamics.nv))
    found = {}
    for mode, how in MODES.items():
        with how():
            context, rate = _context(dynamics), np.empty(dynamics.nq + dynamics.nv + 1)
            context.tau[:] = tau
            assert rolled_rhs(rolled.bind(context), 0.3, np.concatenate([q, u, [0.0]]), rate) == OK
            seen = rolled.observe(np.array([0.3]), q[None], u[None])
            found[mode] = {"rate": rate, "inverse": rolled.inverse(0.3, q, u, tau), **seen._asdict()}
    _same(found)


@pytest.fixture(scope="module")
def windows():
    dynamics = da.compile(da.library.n_four_bar(n=10), formulation="recursive", coordinates="relative")
    assert dynamics.is_large
    state = assemble_state(dynamics.relative, {"A0": 0.2}, {"A0": -1.0}, None, 0.0)
    return dynamics, np.concatenate([*state.to(dynamics.coordinates), [0.0]])


def test_loops_run_alike(windows):
    dynamics, y = windows
    y = y + 1e-3 * np.random.default_rng(0).normal(size=len(y))
    found = {}
    for mode, how in MODES.items():
        with how():
            context = _context(dynamics, alpha=3.0, beta=4.0)
            r, rate, quality = dynamics.rolled().bind(context), np.empty_like(y), np.ones(1)
            back, near = y.copy(), y.copy()
            assert closed_rhs(r, 0.0, y, rate) == OK
            multipliers = context.multipliers.copy()
            assert closed_retract(r, 0.0, back, quality) == OK
            assert closed_approach(r, 0.0, near) == OK
            open_before, _ = dynamics.rolled().residuals(y[None, : dynamics.nq], y[None, dynamics.nq : -1])
            found[mode] = {
                "rate": rate, "multipliers": multipliers, "back": back, "near": near, "quality": quality,
                "open": open_before, "A": dynamics.rolled().jacobian(y[: dynamics.nq]).toarray(),
                **context.statistics.values(),
            }  # fmt: skip
    expected = found["machine code"]
    assert expected["projections"] == 1 and expected["largest_correction"] > 0.0
    _same(found)
    position, velocity = dynamics.rolled().residuals(back[None, : dynamics.nq], back[None, dynamics.nq : -1])
    assert np.abs(position).max() < 1e-13 < np.abs(open_before).max()
    assert np.abs(velocity).max() < 1e-11


def test_no_way_back_is_wanted(windows):
    dynamics, y = windows
    context, off = _context(dynamics), y + 1e-3
    context.projection = None
    assert closed_retract(dynamics.rolled().bind(context), 0.0, off, np.ones(1)) == OK
    assert np.array_equal(off, y + 1e-3) and context.statistics.projections == 0


def test_failures_say_why(windows):
    dynamics, y = windows
    context = _context(dynamics)
    r, lost = dynamics.rolled().bind(context), y.copy()
    lost[0] = np.nan
    assert closed_rhs(r, 0.0, lost, np.empty_like(y)) != OK
    assert context.statistics.failure == NOT_FINITE
    assert closed_retract(r, 0.0, lost, np.ones(1)) != OK
    assert context.statistics.failure == NO_CONVERGENCE
