"""The plan of an elimination from the leaves of a hierarchy to its root: what each node owns, known in advance.

A node has columns (variables) of its own and children. A row (constraint) belongs to the lowest node whose subtree has
all of its columns; seen from the nodes below it is a row of an ancestor that *touches* them. Columns outside of a
subtree to which the mass matrix couples it are its *border*. See ``tree_elimination`` for what is done with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from dalembert.native import Flags, Int, Integers, Record, native
from dalembert.numerics.node_merging import Node, Structure, children_of, handed_on, merged, structure_of
from dalembert.numerics.sparse import packed

__all__ = ["Node", "Plan", "flat_plan", "plan_of", "room"]


class Plan(Record):
    """A plan. Nodes are numbered so that children come before their parents and a subtree is a range of numbers.

    Attributes:
        n, m, nodes: columns, rows, nodes.  used: rows that have columns.
        column_start, column_index: own columns of each node.
        row_start, row_index: own rows of each node, then rows without columns.  place: where each row is among them.
        child_start, child_index: children of each node.  first: the first node of its subtree.
        touch_start, touch_index: rows of ancestors that touch its subtree; touch_front: where each of them is among
            the parent's own and touching rows.
        border_start, border_index: columns outside of the subtree that M couples with it.
        pair_first, pair_second: nodes whose columns M couples, and each node with itself.
        coupled: whether M couples the parts of a node with each other.
        reals, wholes: memory that was enough until now.
    """

    n, m, used, nodes, n_children, n_touch, n_border, n_pairs, reals, wholes = 10 * Int()
    column_start, row_start, child_start, touch_start, border_start = 5 * Integers("nodes + 1")
    first = Integers("nodes")
    column_index = Integers("n")
    row_index, place = 2 * Integers("m")
    child_index = Integers("n_children")
    touch_index, touch_front = 2 * Integers("n_touch")
    border_index = Integers("n_border")
    pair_first, pair_second = 2 * Integers("n_pairs")
    coupled = Flags("nodes")


def plan_of(
    tree: Sequence[Node],
    rows: Sequence[Collection[int]],
    couplings: Iterable[tuple[int, int]] = (),
    *,
    merge: bool = True,
) -> Plan:
    """The plan of a hierarchy.

    Args:
        tree: its nodes in any order; each column is one node's own.
        rows: columns in which each row of A may have entries.
        couplings: pairs of columns of different nodes between which M may have entries, on either side of the diagonal.
        merge: nodes that are too small to be worth their trouble become parts of their parents.

    Raises:
        ValueError: if a column has no node or two, or if the nodes are no tree.
    """
    nodes, pairs = _ordered(tree), list(couplings)
    if merge:
        nodes = merged(nodes, rows, pairs)
    found = structure_of(nodes, rows)
    children = children_of(nodes)
    fronts = [
        {row: i for i, row in enumerate(own + touch)} for own, touch in zip(found.own, found.touching, strict=True)
    ]
    places = [[fronts[node.parent][row] for row in found.touching[k]] for k, node in enumerate(nodes)]
    owner = found.owner
    borders, joined, coupled = _couplings(nodes, found.first, [(owner[a], owner[b]) for a, b in pairs])
    border_columns = [[c for q in border for c in nodes[q].columns] for border in borders]
    parts: dict[str, np.ndarray] = {}
    for name, lists in (
        ("column", [node.columns for node in nodes]), ("row", found.own), ("child", children),
        ("touch", found.touching), ("border", border_columns),
    ):  # fmt: skip
        parts[f"{name}_start"], parts[f"{name}_index"] = packed(lists)
    reals, wholes = _rooms(nodes, found, children, border_columns)
    used = len(parts["row_index"])
    parts["row_index"] = np.append(parts["row_index"], [i for i, row in enumerate(rows) if not row]).astype(np.int64)
    place = np.empty(len(rows), dtype=np.int64)
    place[parts["row_index"]] = np.arange(len(rows))
    return Plan(
        n=len(owner), m=len(rows), used=used, nodes=len(nodes), n_children=len(parts["child_index"]),
        n_touch=len(parts["touch_index"]), n_border=len(parts["border_index"]), n_pairs=len(joined), reals=reals,
        wholes=wholes, **parts, place=place, first=np.array(found.first, dtype=np.int64),
        touch_front=packed(places)[1], pair_first=np.array([a for a, _ in joined], dtype=np.int64),
        pair_second=np.array([b for _, b in joined], dtype=np.int64), coupled=np.array(coupled, dtype=np.bool_),
    )  # fmt: skip


def flat_plan(n: int, m: int) -> Plan:
    """One node with everything: the null space of the whole."""
    return plan_of([Node(-1, range(n))], [range(n)] * m)


def _ordered(tree: Sequence[Node]) -> list[Node]:
    """Children before their parents, subtrees together, one root."""
    below: dict[int, list[int]] = {}
    for k, node in enumerate(tree):
        below.setdefault(node.parent, []).append(k)
    number: dict[int, int] = {}
    stack = [(root, False) for root in reversed(below.get(-1, []))]
    while stack:
        k, done = stack.pop()
        if done:
            number[k] = len(number)
        else:
            stack.append((k, True))
            stack += [(child, False) for child in reversed(below.get(k, []))]
    if len(number) != len(tree):
        raise ValueError(f"{len(tree) - len(number)} of {len(tree)} nodes do not lead to a root")
    number[-1] = -1
    ordered = sorted(range(len(tree)), key=number.__getitem__)
    nodes = [Node(number[tree[k].parent], list(tree[k].columns)) for k in ordered]
    if len(below.get(-1, [])) != 1:
        root = len(nodes)
        nodes = [Node(root if node.parent < 0 else node.parent, node.columns) for node in nodes] + [Node(-1, [])]
    return nodes


def _couplings(
    nodes: Sequence[Node], first: Sequence[int], couplings: Iterable[tuple[int, int]]
) -> tuple[list[list[int]], list[tuple[int, int]], list[bool]]:
    """Borders by nodes, pairs of coupled nodes, and whether the parts of each node are coupled.

    Elimination couples all nodes of a border, and all nodes of a subtree with all of its border.
    """
    n = len(nodes)
    given = [(a, b) for a, b in couplings if a != b]
    if not given:
        return [[] for _ in nodes], [], [False] * n
    C = np.zeros((n, n), dtype=bool)
    for a, b in given:
        C[a, b] = C[b, a] = True
    part = np.arange(n)
    borders: list[list[int]] = []
    coupled: list[bool] = []
    for k in range(n):
        inside = slice(first[k], k + 1)
        block = C[inside, inside]
        crossing = block & (part[inside, None] != part[None, inside])
        coupled.append(bool(crossing.any()))
        if coupled[-1]:
            block[:] = True
        border = np.flatnonzero(C[inside].any(axis=0))
        border = border[(border < first[k]) | (border > k)]
        C[inside, border] = True
        C[border, inside] = True
        C[np.ix_(border, border)] = True
        borders.append([int(q) for q in border])
        part[inside] = k
    np.fill_diagonal(C, True)
    return borders, [(int(a), int(b)) for a, b in np.argwhere(C)], coupled


def _rooms(
    nodes: Sequence[Node], found: Structure, children: Sequence[Sequence[int]], borders: Sequence[Sequence[int]]
) -> tuple[int, int]:
    """Memory for numbers and for whole numbers, if rows are independent; it grows where they are not."""
    left, reals, wholes = [0] * len(nodes), 64, 64
    for k, node in enumerate(nodes):
        r, a, b = len(found.own[k]), len(found.touching[k]), len(borders[k])
        width = len(node.columns) + sum(left[child] for child in children[k])
        left[k] = handed_on(width, r, a)
        more = room(r, a, b, width)
        reals, wholes = reals + more[0], wholes + more[1]
    return reals, wholes


@native
def room(r: int, a: int, b: int, k: int) -> tuple[int, int]:
    """The most memory that a node takes, numbers and whole numbers: r own rows, a touching ones, a border of b and k
    columns."""
    return 3 * k * k + (r + 2 * a + b + 8) * k, k * k + 8 * k + r + b + 4
