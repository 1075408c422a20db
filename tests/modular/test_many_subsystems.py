"""Many subsystems: what they cost grows as their number, and a change touches its owners only. Counted, not timed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.modular.compiled_system import CompiledSystem, compiled
from dalembert.modular.own_rows import COUNTS

GROUP = 4


def slider_crank(mark: str) -> da.Subsystem:
    S = da.Subsystem("S")
    m, inertia, r, l, _ = S.parameters(m=1.0, I=0.1, r=0.3, l=1.0, **{mark: 0})
    th, ph, x = S.coordinates("th ph x")
    S.invariants(r * cos(th) + l * cos(ph) - x, r * sin(th) - l * sin(ph))
    S.effective_forces({x: -m * x.dd, th: -inertia * th.dd, ph: -0.1 * inertia * ph.dd})
    S.guess({th: 0.6, ph: 0.17, x: 1.23})
    return S


def row(n: int, mark: str) -> tuple[da.Subsystem, list[da.Subsystem]]:
    """n different slider-cranks in groups, each tied to the next."""
    parts = [slider_crank(f"{mark}{k}") for k in range(n)]
    root = da.Subsystem("row")
    k = root.parameters(k=10.0)
    groups = []
    for g in range(0, n, GROUP):
        group = da.Subsystem(f"group{g}")
        stiffness = group.parameters(k=10.0)
        views = [group.include(part, f"s{i}") for i, part in enumerate(parts[g : g + GROUP])]
        for a, b in pairwise(views):
            group.effective_forces({a.th: -stiffness * (a.th - b.th), b.th: -stiffness * (b.th - a.th)})
        groups.append(root.include(group, f"g{g}", parameters={"k": k}))
    return root, parts


def nest(n: int) -> da.Subsystem:
    """A chain of n links: each holds the next."""
    link = da.Subsystem("link")
    m, inertia, _a = link.parameters(m=1.0, I=0.1, a=1.0)
    x, y, th = link.coordinates("x y th")
    link.effective_forces({x: -m * x.dd, y: -m * y.dd - 9.8 * m, th: -inertia * th.dd})
    inner: Any = None
    for k in reversed(range(n)):
        S = da.Subsystem(f"n{k}")
        px, py = S.coordinates("p.x p.y")
        p = S.include(link, "l")
        S.invariants(p.x - px - p.a / 2 * cos(p.th), p.y - py - p.a / 2 * sin(p.th))
        if inner is not None:
            q = S.include(inner, "rest")
            S.invariants(q.p.x - px - p.a * cos(p.th), q.p.y - py - p.a * sin(p.th))
        S.guess({p.th: -1.0})
        inner = S
    inner.invariants(inner.p.x, inner.p.y)
    return inner


def work(S: da.Subsystem) -> tuple[int, int, int]:
    """Entries of all matrices of all subsystems, instructions and stores of the compiled blocks."""
    eq = S.equations()
    entries = 0
    for one in eq.casadi.composed.values():
        entries += sum(len(line) for matrix in (one.own.A, one.B, one.C, one.f) for line in matrix.entries.values())
    kernel = CompiledSystem(eq).blocks_kernel
    return entries, kernel.instructions, len(kernel._tape.stored)


def test_cost_grows_as_the_number() -> None:
    small, large = work(row(8, "few")[0]), work(row(32, "more")[0])
    for a, b in zip(small, large, strict=True):
        assert b <= 4.2 * a


def test_only_owners_of_a_change_are_derived_again() -> None:
    root, parts = row(12, "again")
    before = root.equations()
    graphs, f_bar = before.casadi.composed, before.f_bar
    counts = dict(COUNTS)
    changed = parts[5]
    changed.effective_forces({changed.th: -0.3 * changed.th})
    after = root.equations()
    assert after is not before and after.f_bar is not f_bar
    fresh = {path for path, one in after.casadi.composed.items() if one is not graphs[path]}
    assert fresh == {(), ("g4",), ("g4", "s1")}
    assert COUNTS["composed"] - counts["composed"] == 3
    assert after.f_bar["g4.s1.th"] != f_bar["g4.s1.th"] and after.f_bar["g0.s1.th"] == f_bar["g0.s1.th"]


def test_parameters_that_change_a_choice_are_looked_at_again() -> None:
    """Where a coefficient vanishes, another variable is independent: kept choices rest on values."""
    leaf = da.Subsystem("leaf")
    a = leaf.parameters(a=1.0)
    x, y = leaf.coordinates("x y")
    leaf.effective_forces({x: -x.dd, y: -y.dd})
    leaf.invariant(a * x + (1 - a) * y)
    S = da.Subsystem("S")
    S.include(leaf)
    assert [str(label) for label in S.equations().independent] == ["leaf.y.dd"]
    leaf.set_parameter("a", 0.0)
    assert [str(label) for label in S.equations().independent] == ["leaf.x.dd"]


@pytest.mark.slow
def test_a_hundred_deep() -> None:
    S = nest(100)
    eq = S.equations()
    assert eq.degrees_of_freedom == 100
    rows = [len(one.B.rows) for one in eq.casadi.composed.values()]
    assert max(rows) == 6
    system = compiled(eq)
    problem, _ = system.problem(None, ("rhs",))
    state = eq.consistent()
    y, rate = np.array([state[name] for name in system.state]), np.empty(len(system.state))
    assert problem.rhs(0.0, y, rate) == 0
    exact = eq.acceleration(state)
    found = [rate[system.state.index(f"{label.text}.d")] for label in eq.top]
    np.testing.assert_allclose(found, list(exact.values()), rtol=1e-8, atol=1e-8 * np.abs(found).max())
