"""Elimination from the leaves of a hierarchy to its root against dense linear algebra, on random trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from dalembert.native import checking, plain
from dalembert.numerics.context import FAILED, OK
from dalembert.numerics.elimination_plan import Node, Plan, flat_plan, plan_of
from dalembert.numerics.tree_elimination import solve_hierarchy

# Against the condition of the reduced mass, which is at most CONDITION here, and that of A.
AGREE = 1e-9
CONDITION = 1e5


class Case(NamedTuple):
    """A hierarchy with its equations."""

    tree: list[Node]
    rows: list[list[int]]
    couplings: list[tuple[int, int]]
    M: np.ndarray
    f: np.ndarray
    A: np.ndarray
    gamma: np.ndarray

    @property
    def plan(self) -> Plan:
        return plan_of(self.tree, self.rows, self.couplings, merge=False)


def _tree(rng: np.random.Generator, depth: int) -> list[Node]:
    """Some nodes at each depth, some without columns."""
    levels, tree, n = [[-1]], [], 0
    for level in range(depth):
        here = []
        for _ in range(1 if level == 0 else int(rng.integers(1, 4))):
            count = int(rng.integers(0 if level < depth - 1 else 1, 5))
            here.append(len(tree))
            tree.append(Node(int(rng.choice(levels[-1])), range(n, n + count)))
            n += count
        levels.append(here)
    return tree


def _rows(rng: np.random.Generator, n: int) -> tuple[list[list[int]], np.ndarray]:
    """Short rows, and some that depend on them."""
    rows, A = [], np.zeros((0, n))
    for _ in range(int(rng.integers(0, n + 1))):
        columns = sorted({int(c) for c in rng.integers(0, n, size=4)})
        row = np.zeros(n)
        row[columns] = rng.normal(size=len(columns))
        rows, A = [*rows, columns], np.vstack([A, row])
    for _ in range(int(rng.integers(0, 4)) if rows else 0):
        weights = rng.normal(size=len(A)) * (rng.random(len(A)) < 0.4)
        row = weights @ A
        rows, A = [*rows, [int(c) for c in np.flatnonzero(row)]], np.vstack([A, row])
    return rows, A


def random_case(seed: int, depth: int, *, symmetric: bool, coupled: int) -> Case:
    rng = np.random.default_rng(seed)
    tree = _tree(rng, depth)
    n = sum(len(node.columns) for node in tree)
    rows, A = _rows(rng, n)
    M, couplings = np.zeros((n, n)), []
    for node in tree:
        X = rng.normal(size=(len(node.columns), len(node.columns)))
        M[np.ix_(node.columns, node.columns)] = X @ X.T + 0.2 * np.eye(len(X)) if symmetric else X
    for _ in range(coupled):
        i, j = (int(c) for c in rng.integers(0, n, size=2))
        v = np.zeros(n)
        v[i], v[j] = 1.0, 1.0 if i == j else rng.normal()
        M += np.outer(v, v) if symmetric else np.outer(np.eye(n)[i], v)
        couplings.append((i, j))
    return Case(tree, rows, couplings, M, rng.normal(size=n), A, A @ rng.normal(size=n))


def _dense(case: Case) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Rank, u̇, λ of least norm, and the condition of the reduced mass."""
    n, A = len(case.M), np.vstack([case.A, np.zeros((1, len(case.M)))])
    _, sizes, Vt = np.linalg.svd(A)
    rank = int(np.sum(sizes > 1e-9))
    C, A = Vt[rank:].T, case.A
    p = -np.linalg.pinv(A, rcond=1e-10) @ case.gamma if len(A) else np.zeros(n)
    H = C.T @ case.M @ C
    du = p + C @ np.linalg.solve(H, C.T @ (case.f - case.M @ p))
    multipliers = np.linalg.pinv(A.T, rcond=1e-10) @ (case.M @ du - case.f) if len(A) else np.zeros(0)
    smallest = sizes[rank - 1] if rank else 1.0
    return rank, du, multipliers, max(np.linalg.cond(H) if len(H) else 1.0, 1 / smallest)


def _solved(plan: Plan, case: Case) -> tuple[Any, np.ndarray, np.ndarray]:
    du, multipliers = np.full(len(case.M), np.nan), np.full(len(case.A), np.nan)
    return solve_hierarchy(plan, case.M, case.f, case.A, case.gamma, du, multipliers), du, multipliers


def _assert_solved(plan: Plan, case: Case, rank: int, du: np.ndarray, multipliers: np.ndarray) -> None:
    (status, found, ratio, conflict), x, forces = _solved(plan, case)
    assert (status, found) == (OK, rank)
    assert 0 < ratio <= 1 + 1e-12
    assert conflict < 1e-9
    scale = 1 + np.abs(du).max() + np.abs(multipliers).max(initial=0.0)
    np.testing.assert_allclose(x, du, rtol=0, atol=AGREE * scale)
    np.testing.assert_allclose(forces, multipliers, rtol=0, atol=AGREE * scale)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("coupled", [0, 3])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_hierarchy_gives_what_dense_algebra_gives(depth, coupled, symmetric):
    done = 0
    for seed in range(40):
        case = random_case(1000 * depth + seed, depth, symmetric=symmetric, coupled=coupled)
        *expected, condition = _dense(case)
        if condition > CONDITION:
            continue
        done += 1
        _assert_solved(case.plan, case, *expected)
        _assert_solved(flat_plan(len(case.M), len(case.A)), case, *expected)
        _assert_solved(plan_of(case.tree, case.rows, case.couplings), case, *expected)
    assert done > 25


def test_any_grouping_gives_the_same():
    rng = np.random.default_rng(5)
    for seed in range(20):
        case = random_case(seed, 4, symmetric=True, coupled=2)
        *expected, condition = _dense(case)
        if condition > CONDITION:
            continue
        n = len(case.M)
        every = [(i, j) for i in range(n) for j in range(i) if case.M[i, j] != 0]
        single = [Node(-1, [int(c)]) for c in rng.permutation(n)]
        chain = [Node(k - 1, [int(c)]) for k, c in enumerate(rng.permutation(n))]
        pairs = [Node(-1, [])] + [Node(k // 2, [int(c)]) for k, c in enumerate(rng.permutation(n))]
        for tree in (single, chain, pairs):
            _assert_solved(plan_of(tree, case.rows, every, merge=False), case, *expected)


@pytest.mark.parametrize("coupled", [0, 3])
def test_compiled_checked_and_plain_agree(coupled):
    for seed in range(6):
        case = random_case(seed, 3, symmetric=bool(seed % 2), coupled=coupled)
        _, du, multipliers = _solved(case.plan, case)
        with plain():
            _, same, forces = _solved(case.plan, case)
        scale = 1 + np.abs(du).max()
        np.testing.assert_allclose(same, du, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(
            forces, multipliers, rtol=0, atol=1e-9 * (scale + np.abs(multipliers).max(initial=0))
        )
        with checking():
            _, same, forces = _solved(case.plan, case)
        np.testing.assert_array_equal(same, du)
        np.testing.assert_array_equal(forces, multipliers)


def _pair(M: list[list[float]]) -> Case:
    """Two nodes with one column each, a third above them; no rows."""
    matrix = np.array(M)
    tree = [Node(-1, [2]), Node(0, [0]), Node(0, [1])]
    couplings = [(i, j) for i in range(3) for j in range(3) if matrix[i, j] != 0]
    return Case(tree, [], couplings, matrix, np.array([1.0, 2.0, 3.0]), np.zeros((0, 3)), np.zeros(0))


def test_what_has_no_pivot_at_a_node_waits_for_its_parent():
    """Neither leaf can be solved by itself; together they can."""
    case = _pair([[0.0, 2.0, 0.0], [4.0, 0.0, 1.0], [0.0, 0.0, 5.0]])
    (status, *_), du, _ = _solved(case.plan, case)
    assert status == OK
    np.testing.assert_allclose(du, np.linalg.solve(case.M, case.f), rtol=1e-14)


def test_a_direction_without_mass_and_constraint_fails():
    case = _pair([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    (status, *_), _, _ = _solved(case.plan, case)
    assert status == FAILED
    case.M[0, 0] = np.nan
    (status, *_), _, _ = _solved(case.plan, case)
    assert status == FAILED


def test_rows_that_contradict_each_other_are_seen():
    case = random_case(2, 3, symmetric=True, coupled=0)
    A = np.vstack([case.A, case.A[:1]])
    case = case._replace(A=A, gamma=np.append(case.gamma, case.gamma[0] + 0.1), rows=[*case.rows, case.rows[0]])
    (status, _, _, conflict), _, _ = _solved(case.plan, case)
    assert status == OK and conflict > 1e-3


def test_memory_grows_where_rows_say_less_than_they_promised():
    """All rows of leaves vanish: everything is handed on, which nobody expected."""
    tree = [Node(-1, [])] + [Node(0, range(4 * k, 4 * k + 4)) for k in range(10)]
    rows = [list(range(4 * k, 4 * k + 4)) for k in range(10) for _ in range(4)] + [list(range(40))] * 40
    rng = np.random.default_rng(0)
    A = np.zeros((80, 40))
    A[40:50] = rng.normal(size=(10, 40))
    case = Case(tree, rows, [], np.eye(40), rng.normal(size=40), A, A @ rng.normal(size=40))
    plan = case.plan
    before = plan.reals
    *expected, _ = _dense(case)
    _assert_solved(plan, case, *expected)
    assert plan.reals > before
    _assert_solved(plan, case, *expected)


def test_rows_belong_to_the_lowest_node_that_sees_all_their_columns():
    #        0
    #      1   2
    #    3  4
    tree = [Node(-1, [0]), Node(0, [1]), Node(0, [2]), Node(1, [3]), Node(1, [4])]
    rows = [[3], [4], [3, 4], [1, 3], [2, 4], [0], [], [2]]
    plan = plan_of(tree, rows, merge=False)
    home = {int(row): k for k in range(plan.nodes) for row in plan.row_index[plan.row_start[k] : plan.row_start[k + 1]]}
    where = {
        int(c): k for k in range(plan.nodes) for c in plan.column_index[plan.column_start[k] : plan.column_start[k + 1]]
    }
    assert home == {row: where[c] for row, c in enumerate((3, 4, 1, 1, 0, 0, None, 2)) if c is not None}
    assert list(plan.row_index[plan.used :]) == [6]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([Node(-1, [0]), Node(0, [0])], "each of 2 columns must be one node's own"),
        ([Node(-1, [0]), Node(0, [2])], "each of 2 columns must be one node's own"),
        ([Node(-1, [0]), Node(2, [1]), Node(1, [2])], "2 of 3 nodes do not lead to a root"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tree, message):
    with pytest.raises(ValueError, match=message):
        plan_of(tree, [])


def _chain(n: int) -> tuple[list[Node], list[list[int]]]:
    """Six columns to a node, five rows between neighbors."""
    tree = [Node(k - 1, range(6 * k, 6 * k + 6)) for k in range(n)]
    return tree, [[*range(6 * k, 6 * k + 12)] for k in range(n - 1) for _ in range(5)]


def test_the_cost_follows_the_nodes():
    """A chain of many small nodes hands on no more than its rows ask for: memory grows as the chain does."""
    few, many = (plan_of(*_chain(n)).reals for n in (50, 200))
    assert 3.5 * few < many < 4.5 * few


def test_nodes_that_are_not_worth_it_are_merged():
    tree, rows = _chain(3)
    assert plan_of(tree, rows, merge=False).nodes == 3
    assert plan_of(tree, rows).nodes == 1
    tree, rows = _chain(60)
    assert 6 < plan_of(tree, rows).nodes < 60
