"""The plan of an elimination from the leaves of a hierarchy to its root: what each node owns, known in advance.

A node has columns (variables) of its own and children. A row (constraint) belongs to the lowest node whose subtree has
all of its columns; seen from the nodes below it is a row of an ancestor that *touches* them. Columns outside of a
subtree to which the mass matrix couples it are its *border*. See ``tree_elimination`` for what is done with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.native import Flags, Int, Integers, Record, native
from dalembert.numerics.sparse import packed

__all__ = ["Node", "Plan", "flat_plan", "plan_of", "room"]


class Node(NamedTuple):
    """A node of a hierarchy: the number of its parent (−1 for a root) and the columns that are its own."""

    parent: int
    columns: Sequence[int]


class Plan(Record):
    """A plan. Nodes are numbered so that children come before their parents and a subtree is a range of numbers.

    Attributes:
        n, m, nodes: columns, rows, nodes.
        column_start, column_index: own columns of each node.
        row_start, row_index: own rows of each node.  place: where each row is among them.
        child_start, child_index: children of each node.  first: the first node of its subtree.
        touch_start, touch_index: rows of ancestors that touch its subtree; touch_front: where each of them is among
            the parent's own and touching rows.
        border_start, border_index: columns outside of the subtree that M couples with it.
        pair_first, pair_second: nodes whose columns M couples, and each node with itself.
        coupled: whether M couples the parts of a node with each other.
        reals, wholes: memory that was enough until now.
    """

    n = Int()
    m = Int()
    nodes = Int()
    n_children = Int()
    n_touch = Int()
    n_border = Int()
    n_pairs = Int()
    reals = Int()
    wholes = Int()
    column_start = Integers("nodes + 1")
    column_index = Integers("n")
    row_start = Integers("nodes + 1")
    row_index = Integers("m")
    place = Integers("m")
    child_start = Integers("nodes + 1")
    child_index = Integers("n_children")
    first = Integers("nodes")
    touch_start = Integers("nodes + 1")
    touch_index = Integers("n_touch")
    touch_front = Integers("n_touch")
    border_start = Integers("nodes + 1")
    border_index = Integers("n_border")
    pair_first = Integers("n_pairs")
    pair_second = Integers("n_pairs")
    coupled = Flags("nodes")


def plan_of(tree: Sequence[Node], rows: Sequence[Collection[int]], couplings: Iterable[tuple[int, int]] = ()) -> Plan:
    """The plan of a hierarchy.

    Args:
        tree: its nodes in any order; each column is one node's own.
        rows: columns in which each row of A may have entries.
        couplings: pairs of columns of different nodes between which M may have entries, on either side of the diagonal.

    Raises:
        ValueError: if a column has no node or two, or if the nodes are no tree.
    """
    nodes = _simplified(_ordered(tree), rows)
    owner = _owners(nodes)
    first = _first_nodes(nodes)
    homes = [_home(nodes, first, {owner[c] for c in columns}) for columns in rows]
    own_rows: list[list[int]] = [[] for _ in nodes]
    touching: list[list[int]] = [[] for _ in nodes]
    for row, (home, columns) in enumerate(zip(homes, rows, strict=True)):
        own_rows[home].append(row)
        touched = set()
        for node in {owner[c] for c in columns}:
            while node != home and node not in touched:
                touched.add(node)
                node = nodes[node].parent
        for node in touched:
            touching[node].append(row)
    children: list[list[int]] = [[] for _ in nodes]
    for k, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(k)
    fronts = [{row: i for i, row in enumerate(own + touch)} for own, touch in zip(own_rows, touching, strict=True)]
    places = [[fronts[node.parent][row] for row in touching[k]] for k, node in enumerate(nodes)]
    borders, pairs, coupled = _couplings(nodes, first, [(owner[a], owner[b]) for a, b in couplings])
    border_columns = [[c for q in border for c in nodes[q].columns] for border in borders]
    parts = {}
    for name, lists in (
        ("column", [node.columns for node in nodes]), ("row", own_rows), ("child", children), ("touch", touching),
        ("border", border_columns),
    ):  # fmt: skip
        parts[f"{name}_start"], parts[f"{name}_index"] = packed(lists)
    reals, wholes = _rooms(nodes, own_rows, touching, children, border_columns)
    place = np.empty(len(rows), dtype=np.int64)
    place[parts["row_index"]] = np.arange(len(rows))
    return Plan(
        n=len(owner), m=len(rows), nodes=len(nodes), n_children=len(parts["child_index"]),
        n_touch=len(parts["touch_index"]), n_border=len(parts["border_index"]), n_pairs=len(pairs), reals=reals,
        wholes=wholes, **parts, place=place, first=np.array(first, dtype=np.int64), touch_front=packed(places)[1],
        pair_first=np.array([a for a, _ in pairs], dtype=np.int64),
        pair_second=np.array([b for _, b in pairs], dtype=np.int64), coupled=np.array(coupled, dtype=np.bool_),
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


def _owners(nodes: Sequence[Node]) -> list[int]:
    """The node of each column."""
    listed = [(c, k) for k, node in enumerate(nodes) for c in node.columns]
    if sorted(c for c, _ in listed) != list(range(len(listed))):
        raise ValueError(f"each of {len(listed)} columns must be one node's own, got {sorted(c for c, _ in listed)}")
    return [k for _, k in sorted(listed)]


def _first_nodes(nodes: Sequence[Node]) -> list[int]:
    first = list(range(len(nodes)))
    for k, node in enumerate(nodes):
        if node.parent >= 0:
            first[node.parent] = min(first[node.parent], first[k])
    return first


def _home(nodes: Sequence[Node], first: Sequence[int], owners: set[int]) -> int:
    """The lowest node whose subtree holds all owners; the root if there are none."""
    home, lowest = (max(owners), min(owners)) if owners else (len(nodes) - 1, 0)
    while first[home] > lowest and nodes[home].parent >= 0:
        home = nodes[home].parent
    return home


def _simplified(nodes: list[Node], rows: Sequence[Collection[int]]) -> list[Node]:
    """Nodes at which nothing can be eliminated become parts of their parents: those without rows that are touched by at
    least as many rows as they have columns."""
    owner, first = _owners(nodes), _first_nodes(nodes)
    busy, touches = [False] * len(nodes), [0] * len(nodes)
    for columns in rows:
        owners = {owner[c] for c in columns}
        home = _home(nodes, first, owners)
        busy[home] = True
        touched = set()
        for node in owners:
            while node != home and node not in touched:
                touched.add(node)
                node = nodes[node].parent
        for node in touched:
            touches[node] += 1
    width, columns = [0] * len(nodes), [list(node.columns) for node in nodes]
    parent, kept = [node.parent for node in nodes], [True] * len(nodes)
    for k, node in enumerate(nodes):
        width[k] += len(node.columns)
        if node.parent < 0:
            continue
        kept[k] = busy[k] or touches[k] < width[k]
        width[node.parent] += min(width[k], touches[k]) if kept[k] else width[k]
    for k in range(len(nodes)):
        if not kept[k]:
            columns[parent[k]] += columns[k]
    for k in range(len(nodes)):
        while parent[k] >= 0 and not kept[parent[k]]:
            parent[k] = parent[parent[k]]
    left = [k for k in range(len(nodes)) if kept[k]]
    number = {k: i for i, k in enumerate(left)} | {-1: -1}
    return [Node(number[parent[k]], sorted(columns[k])) for k in left]


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
    borders, coupled = [], []
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
    nodes: Sequence[Node],
    rows: Sequence[Sequence[int]],
    touching: Sequence[Sequence[int]],
    children: Sequence[Sequence[int]],
    borders: Sequence[Sequence[int]],
) -> tuple[int, int]:
    """Memory for numbers and for whole numbers, if rows are independent; it grows where they are not."""
    left, reals, wholes = [0] * len(nodes), 64, 64
    for k, node in enumerate(nodes):
        r, a, b = len(rows[k]), len(touching[k]), len(borders[k])
        width = len(node.columns) + sum(left[child] for child in children[k])
        left[k] = min(max(0, width - r), a) if a else 0
        more = room(r, a, b, width)
        reals, wholes = reals + more[0], wholes + more[1]
    return reals, wholes


@native
def room(r: int, a: int, b: int, k: int):
    """The most memory that a node takes, numbers and whole numbers: r own rows, a touching ones, a border of b and k
    columns."""
    return 3 * k * k + (r + 2 * a + b + 8) * k, k * k + 8 * k + r + b + 4
