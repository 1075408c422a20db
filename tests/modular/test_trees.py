"""Theorem 2.10 on random trees against a flat null space (check 2), and what a tree must not depend on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.modular import Given, Pivoted
from dalembert.modular.own_rows import COUNTS


def random_tree(rng: np.random.Generator, depth: int, name: str = "N") -> da.Subsystem:
    """Variables of order 1 and linear invariants with numbers of any kind, some rows said twice."""
    S = da.Subsystem(name)
    parts = [random_tree(rng, depth - 1, f"P{k}") for k in range(rng.integers(1, 4))] if depth else []
    for part in parts:
        S.include(part)
    own = [S.quasi_velocity(f"v{k}") for k in range(rng.integers(0 if parts else 2, 4))]
    known = own + [getattr(view, n) for view in S.parts.values() for n in view._part._orders]
    rows = []
    for _ in range(rng.integers(0, max(1, len(known) // 2))):
        taken = rng.choice(len(known), size=min(len(known), 4), replace=False)
        rows.append(sum(float(rng.normal()) * known[k] for k in taken))
    if len(rows) >= 2:
        rows.append(2.0 * rows[0] - 0.5 * rows[1])
    S.invariants(*rows)
    return S


@pytest.mark.parametrize("seed", range(12))
def test_complement_from_those_of_the_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    eq = random_tree(rng, 1 + seed % 4).equations()
    found = eq.at(strategy=Pivoted())
    S = found.S_rows(eq.top).to_array()
    A = np.array([[float(value) for value in line] for line in eq.A.to_array()]).reshape(len(eq.A.rows), len(eq.top))
    flat = scipy.linalg.null_space(A, rcond=1e-11) if len(A) else np.eye(len(eq.top))
    assert S.shape[1] == flat.shape[1] == eq.degrees_of_freedom
    size = max(1.0, np.abs(S).max())
    assert np.abs(A @ S).max(initial=0.0) < 1e-12 * size
    assert np.linalg.matrix_rank(S) == S.shape[1]
    # Same column space: what S has outside the flat null space.
    assert np.abs(S - flat @ (flat.T @ S)).max(initial=0.0) < 1e-12 * size
    symbolic = np.array([[float(v) for v in line] for line in eq.S.to_array()])
    assert np.abs(A @ symbolic).max(initial=0.0) < 1e-11 * max(1.0, np.abs(symbolic).max())


def link(name: str) -> da.Subsystem:
    """A planar bar by its center and angle, with both ends as coordinates."""
    B = da.Subsystem(name)
    m, inertia, g, a = B.parameters(m=1.2, I=0.15, g=9.8, a=0.4)
    x, y, th = B.coordinates("x y th")
    from sympy import cos, sin

    ends = B.coordinates("p.x p.y q.x q.y")
    for sign, (px, py) in ((-1, ends[:2]), (1, ends[2:])):
        B.invariants(px - x - sign * a * cos(th), py - y - sign * a * sin(th))
    B.effective_forces({x: -m * x.dd, y: -m * y.dd - m * g, th: -inertia * th.dd})
    return B


def chain(grouping: str, mark: str = "mark") -> da.Subsystem:
    """A triple pendulum of equal bars, flat or nested; the mark makes its bars unlike all others."""
    bar = link("bar")
    bar.parameters(**{mark: 1.0})
    if grouping == "flat":
        S = da.Subsystem("S")
        for name in "abc":
            S.include(bar, name)
        parts = [S.a, S.b, S.c]
        S.invariants(parts[0].p.x, parts[0].p.y)
        for one, other in itertools.pairwise(parts):
            S.invariants(other.p.x - one.q.x, other.p.y - one.q.y)
        return S
    inner = da.Subsystem("inner")
    inner.include(bar, "b")
    inner.include(bar, "c")
    inner.invariants(inner.c.p.x - inner.b.q.x, inner.c.p.y - inner.b.q.y)
    S = da.Subsystem("S")
    S.include(inner, "tail")
    S.include(bar, "a")
    S.invariants(S.a.p.x, S.a.p.y, S.tail.b.p.x - S.a.q.x, S.tail.b.p.y - S.a.q.y)
    return S


def chain_state(grouping: str) -> dict[str, float]:
    where = {"a": "a", "b": "b", "c": "c"} if grouping == "flat" else {"a": "a", "b": "tail.b", "c": "tail.c"}
    given = {}
    for name, angle, rate in (("a", -1.0, 0.3), ("b", -0.4, -1.1), ("c", 0.7, 0.8)):
        given |= {f"{where[name]}.th": angle, f"{where[name]}.th.d": rate}
    return given


def test_grouping_does_not_matter() -> None:
    found = {}
    for grouping in ("flat", "nested"):
        eq = chain(grouping).equations()
        assert eq.degrees_of_freedom == 3
        state = eq.consistent(chain_state(grouping))
        result = eq.acceleration(state)
        names = ("a", "b", "c") if grouping == "flat" else ("a", "tail.b", "tail.c")
        found[grouping] = [result[eq.label(f"{name}.th")] for name in names]
    assert found["flat"] == pytest.approx(found["nested"], abs=1e-10)
    assert found["flat"] == pytest.approx(triple_pendulum(), abs=1e-10)


def triple_pendulum() -> list[float]:
    """The same by Lagrange's equations in the three angles, written out with dense matrices."""
    m, inertia, g, a = 1.2, 0.15, 9.8, 0.4
    th, w = np.array([-1.0, -0.4, 0.7]), np.array([0.3, -1.1, 0.8])
    reach = np.array([[a, 0, 0], [2 * a, a, 0], [2 * a, 2 * a, a]])  # center i by angle j
    M, k = np.eye(3) * inertia, np.zeros(3)
    for i in range(3):
        J = np.array([-reach[i] * np.sin(th), reach[i] * np.cos(th)])
        bias = np.array([-(reach[i] * np.cos(th) * w**2).sum(), -(reach[i] * np.sin(th) * w**2).sum()])
        M += m * J.T @ J
        k += m * J.T @ bias + J.T @ np.array([0, m * g])
    return list(np.linalg.solve(M, -k))


def test_names_do_not_matter() -> None:
    one, other = chain("flat"), da.Subsystem("other")
    bar = link("anything")
    for name in ("first", "second", "third"):
        other.include(bar, name)
    p = [other.first, other.second, other.third]
    other.invariants(p[0].p.x, p[0].p.y)
    for a, b in itertools.pairwise(p):
        other.invariants(b.p.x - a.q.x, b.p.y - a.q.y)
    rename = {"a": "first", "b": "second", "c": "third"}
    eq, oq = one.equations(), other.equations()
    given = {f"{rename[key[0]]}{key[1:]}": value for key, value in chain_state("flat").items()}
    A, B = eq.acceleration(eq.consistent(chain_state("flat"))), oq.acceleration(oq.consistent(given))
    for name, new in rename.items():
        assert A[eq.label(f"{name}.th")] == pytest.approx(B[oq.label(f"{new}.th")], abs=1e-11)


def test_a_part_used_twice_is_derived_once_and_a_change_derives_its_owners_only() -> None:
    S = chain("nested", "counted")
    before = dict(COUNTS)
    S.equations().f_bar  # noqa: B018
    first = {key: COUNTS[key] - before[key] for key in COUNTS}
    assert first == {"rows": 2 * 3, "composed": 3}  # bar, inner, S; rows over SymPy and CasADi
    S.equations().f_bar  # noqa: B018
    assert {key: COUNTS[key] - before[key] for key in COUNTS} == first
    extra = da.Subsystem("extra")
    extra.coordinates("s")
    S.include(extra)
    S.equations().f_bar  # noqa: B018
    assert COUNTS["composed"] - before["composed"] == 3 + 2  # the new leaf and S; the others stand
    inner = S._parts["tail"].part
    inner.independent(inner.b.th, inner.c.th, inner.b.p.x, inner.b.p.y)
    S.equations().f_bar  # noqa: B018
    assert COUNTS["composed"] - before["composed"] == 3 + 2 + 2  # inner and S


def test_values_of_parameters_derive_nothing() -> None:
    S = chain("flat")
    eq = S.equations()
    eq.f_bar  # noqa: B018
    before = dict(COUNTS)
    bar = S._parts["a"].part
    bar.set_parameter("m", 3.0)
    again = S.equations()
    assert again is not eq
    assert again.parameters["a.m"] == 3.0
    again.f_bar  # noqa: B018
    assert before == COUNTS


def test_given_columns() -> None:
    eq = chain("flat").equations()
    found = eq.at(eq.consistent(chain_state("flat")), strategy=Pivoted())
    assert len(found.columns) == 3
    assert Given("x").given() == ("x",)


@pytest.mark.parametrize("order", [("same", "other"), ("other", "same")])
def test_parameters_that_an_owner_gives_by_one_symbol(order: tuple[str, str]) -> None:
    """What is one symbol at the first place of a part need not be one at the second."""
    part = da.Subsystem("part")
    a, b = part.parameters(a=1.0, b=2.0)
    x = part.coordinates("x")
    part.effective_forces({x: -a * x.dd - b * x})
    S = da.Subsystem("S")
    k, l = S.parameters(k=3.0, l=5.0)
    for name in order:
        S.include(part, name, parameters={"a": k, "b": k if name == "same" else l})
    eq = S.equations()
    found = eq.acceleration({"same.x": 1.0, "other.x": 1.0})
    assert [found[eq.label(f"{name}.x")] for name in ("same", "other")] == pytest.approx([-1.0, -5 / 3])
