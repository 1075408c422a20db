"""Many subsystems: what they cost grows as their number, and a change touches its owners only. Counted, not timed."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.many_subsystems import nest, row

import dalembert as da
from dalembert.modular import compiled_system
from dalembert.modular.compiled_system import CompiledSystem
from dalembert.modular.deriving import deriving
from dalembert.modular.modular_system import ModularSystem
from dalembert.modular.own_rows import COUNTS
from dalembert.modular.witness import bound_together

GROUP = 4


def work(S: da.Subsystem) -> tuple[int, ...]:
    """Entries of all matrices of all subsystems, instructions and outputs of the compiled blocks and invariants."""
    eq = S.equations()
    entries = 0
    for one in eq.casadi.composed.values():
        entries += sum(len(line) for matrix in (one.own.A, one.B, one.C, one.f) for line in matrix.entries.values())
    system = CompiledSystem(eq)
    kernels = system.blocks_kernel, system.invariants_kernel
    return entries, *(kernel.instructions for kernel in kernels), *(kernel.n_out for kernel in kernels)


def test_cost_grows_as_the_number() -> None:
    small, large = work(row(8, "few", GROUP)[0]), work(row(32, "more", GROUP)[0])
    for a, b in zip(small, large, strict=True):
        assert b <= 4.2 * a


def test_only_owners_of_a_change_are_derived_again() -> None:
    root, parts = row(12, "again", GROUP)
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


def test_states_are_looked_for_again_only_where_invariants_bind_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found for one group does not depend on the others, nor on what was derived before."""
    solved: list[set[str]] = []
    near = ModularSystem._near

    def counted(self: ModularSystem, known: Any, rows: Any, *args: Any, **options: Any) -> Any:
        solved.append({label.text.rpartition(".")[0] for label in rows.labels})
        return near(self, known, rows, *args, **options)

    monkeypatch.setattr(ModularSystem, "_near", counted)
    root, parts = row(12, "states", GROUP)
    before = root.equations()
    assert [len(paths) for paths in (before.witnesses and solved)] == [12, 12]
    solved.clear()
    parts[5].effective_forces({parts[5].th: -0.3 * parts[5].th})
    after = root.equations()
    for one, other in zip(before.witnesses, after.witnesses, strict=True):
        assert [other[str(label)] for label in after.state] == pytest.approx([one[str(label)] for label in after.state])
    assert solved == [{"g4.s1"}, {"g4.s1"}]
    solved.clear()
    parts[2].set_parameter("r", 0.4)
    parts[7].guess({parts[7].th: 0.5})
    moved = root.equations().witnesses
    assert solved == [{"g0.s2", "g4.s3"}, {"g0.s2", "g4.s3"}]
    for state in moved:
        assert 0.4 * np.sin(state["g0.s2.th"]) == pytest.approx(np.sin(state["g0.s2.ph"]), abs=1e-10)
        assert 0.3 * np.sin(state["g4.s3.th"]) == pytest.approx(np.sin(state["g4.s3.ph"]), abs=1e-10)


def test_invariants_of_owners_bind_their_parts_together() -> None:
    """Also by what owners give: a part that follows a variable of its owner moves with it."""
    part = da.Subsystem("part")
    u, x = part.input("u"), part.coordinates("x")
    part.invariant(x - u)
    part.effective_forces({x: -x.dd})
    S, T = da.Subsystem("S"), da.Subsystem("T")
    y = S.coordinates("y")
    for name, value in (("a", 2 * y), ("b", sp.Integer(3))):
        S.include(part, name, inputs={"u": value})
    S.effective_forces({y: -y.dd})
    T.include(S, "s")
    T.include(S, "r")
    T.invariant(T.s.y - T.r.a.x)
    eq = T.equations()
    groups = [{".".join(node.path) for node in nodes} for nodes in bound_together(eq.nodes, eq.description)]
    assert groups == [{"s.a", "s", "r.a", "r", ""}, {"s.b"}, {"r.b"}]
    state = eq.witnesses[0]
    assert state["s.a.x"] == pytest.approx(2 * state["s.y"]) and state["r.a.x"] == pytest.approx(2 * state["r.y"])
    assert state["s.y"] == pytest.approx(state["r.a.x"]) and state["r.b.x"] == pytest.approx(3.0)


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
    S, _ = nest(100)
    eq = S.equations()
    assert eq.degrees_of_freedom == 100
    rows = [len(one.B.rows) for one in eq.casadi.composed.values()]
    assert max(rows) == 6
    system = CompiledSystem(eq).kept()
    problem, _ = system.problem(None, ("rhs",))
    state = eq.consistent()
    y, rate = np.array([state[name] for name in system.state]), np.empty(len(system.state))
    assert problem.rhs(0.0, y, rate) == 0
    exact = eq.acceleration(state)
    found = [rate[system.state.index(f"{label.text}.d")] for label in eq.top]
    np.testing.assert_allclose(found, list(exact.values()), rtol=1e-8, atol=1e-8 * np.abs(found).max())


@pytest.mark.parametrize("kind", ["row", "nest"])
def test_the_way_back_by_the_tree_is_the_shortest(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Onto the invariants from a state off them: by the tree what all rows at once give."""
    S = row(8, "back", GROUP)[0] if kind == "row" else nest(8)[0]
    eq = S.equations()
    state = eq.consistent({})
    off = np.array([state[str(label)] for label in eq.state])
    off += 1e-3 * np.random.default_rng(4).normal(size=len(off))
    found = []
    for wide in (4, 10_000):
        monkeypatch.setattr(compiled_system, "WIDE", wide)
        problem, context = CompiledSystem(eq).problem(None, ("rhs",))
        y = off.copy()
        assert problem.retract(0.0, y, np.zeros(4)) == 0
        assert context.by_tree == (wide == 4)
        found.append(y)
    assert np.abs(found[0] - off).max() > 1e-4
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("searches", [True, False])
def test_the_search_for_garbage_goes_on_as_before(searches):
    """A step of deriving leaves Python's collector as it was, also where it fails."""
    was = gc.isenabled()
    try:
        (gc.enable if searches else gc.disable)()
        with deriving("S", "a step"), deriving("S", "a step within it"):
            assert not gc.isenabled()
        assert gc.isenabled() is searches
        with pytest.raises(ZeroDivisionError), deriving("S", "a step that fails"):
            _ = 1 / 0
        assert gc.isenabled() is searches
    finally:
        (gc.enable if was else gc.disable)()
