"""The structure of a hierarchy, which rows belong where, and which nodes are worth to be nodes.

A small node costs more to look after than its elimination saves. Costs are estimates in nanoseconds; only where nodes
begin and end depends on them, nothing of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

__all__ = ["Node", "Structure", "children_of", "handed_on", "merged", "structure_of"]


class Node(NamedTuple):
    """A node of a hierarchy: the number of its parent (−1 for a root) and the columns that are its own."""

    parent: int
    columns: Sequence[int]


class Structure(NamedTuple):
    """What follows from a hierarchy in order and from its rows.

    Attributes:
        owner: the node of each column.  first: the first node of each subtree.
        own: rows of each node.  touching: rows of its ancestors that touch its subtree.
    """

    owner: list[int]
    first: list[int]
    own: list[list[int]]
    touching: list[list[int]]


def structure_of(nodes: Sequence[Node], rows: Sequence[Collection[int]]) -> Structure:
    """Every row in the lowest node whose subtree has all its columns; rows without columns are nowhere."""
    owner, first = _owners(nodes), _first_nodes(nodes)
    own: list[list[int]] = [[] for _ in nodes]
    touching: list[list[int]] = [[] for _ in nodes]
    for row, columns in enumerate(rows):
        if not columns:
            continue
        owners = {owner[c] for c in columns}
        home, lowest = max(owners), min(owners)
        while first[home] > lowest:
            home = nodes[home].parent
        own[home].append(row)
        touched: set[int] = set()
        for node in owners:
            while node != home and node not in touched:
                touched.add(node)
                node = nodes[node].parent
        for node in touched:
            touching[node].append(row)
    return Structure(owner, first, own, touching)


def handed_on(width: int, rows: int, touching: int) -> int:
    """How many columns a node of some width leaves to its parent, if its rows are independent."""
    return min(max(0, width - rows), touching)


def _cost(width: int, rows: int, touching: int, border: int) -> float:
    """Of the elimination at one node."""
    rank = min(rows, width)
    free = width - rank
    inner = max(0, free - touching)
    reduction = PER_ENTRY * (rows + touching) * width + PER_PRODUCT * free * width * width
    return PER_NODE + reduction + PER_PRODUCT * (inner * (free + border) ** 2 + 4 * border * width)


# Nanoseconds: of a node by itself, of an entry of its rows, of a multiplication in its mass matrix.
PER_NODE, PER_ENTRY, PER_PRODUCT = 1500.0, 7.0, 0.6


def merged(nodes: Sequence[Node], rows: Sequence[Collection[int]], couplings: Sequence[tuple[int, int]]) -> list[Node]:
    """The hierarchy without nodes that cost more than they save; one node if the whole is so small."""
    found = structure_of(nodes, rows)
    borders = _border_sizes(nodes, found, couplings)
    width, count = [len(node.columns) for node in nodes], [len(own) for own in found.own]
    touch = [len(touching) for touching in found.touching]
    children = children_of(nodes)
    kept = [True] * len(nodes)
    for k in range(len(nodes)):
        # Widths of children are complete here, those of nodes that were dissolved into them included.
        width[k] += sum(handed_on(width[child], count[child], touch[child]) for child in children[k])
        for child in children[k]:
            left = handed_on(width[child], count[child], touch[child])
            together = width[k] - left + width[child]
            alone = _cost(width[k], count[k], touch[k], borders[k])
            alone += _cost(width[child], count[child], touch[child], borders[child])
            if _cost(together, count[k] + count[child], touch[k], borders[k]) <= alone:
                kept[child] = False
                width[k], count[k] = together, count[k] + count[child]
    total = sum(_cost(width[k], count[k], touch[k], borders[k]) for k in range(len(nodes)) if kept[k])
    # One node hands nothing on and looks after nobody.
    if _cost(len(found.owner), sum(map(len, found.own)), 0, 0) - 2 * PER_NODE <= total:
        return [Node(-1, range(len(found.owner)))]
    return _dissolved(nodes, kept)


def _border_sizes(nodes: Sequence[Node], found: Structure, couplings: Sequence[tuple[int, int]]) -> list[int]:
    """Columns outside of each subtree that M couples with it."""
    beyond: list[set[int]] = [set() for _ in nodes]
    for pair in couplings:
        for inner, outer in (pair, pair[::-1]):
            k, other = found.owner[inner], found.owner[outer]
            while k >= 0 and not found.first[k] <= other <= k:
                beyond[k].add(outer)
                k = nodes[k].parent
    return [len(columns) for columns in beyond]


def _dissolved(nodes: Sequence[Node], kept: Sequence[bool]) -> list[Node]:
    """Columns and children of nodes that are not kept go to their parents."""
    columns, parent = [list(node.columns) for node in nodes], [node.parent for node in nodes]
    for k in range(len(nodes)):
        if not kept[k]:
            columns[parent[k]] += columns[k]
    for k in range(len(nodes) - 1, -1, -1):
        if parent[k] >= 0 and not kept[parent[k]]:
            parent[k] = parent[parent[k]]
    left = [k for k in range(len(nodes)) if kept[k]]
    number = {k: i for i, k in enumerate(left)} | {-1: -1}
    return [Node(number[parent[k]], sorted(columns[k])) for k in left]


def _owners(nodes: Sequence[Node]) -> list[int]:
    """The node of each column."""
    listed = [(c, k) for k, node in enumerate(nodes) for c in node.columns]
    if sorted(c for c, _ in listed) != list(range(len(listed))):
        raise ValueError(f"each of {len(listed)} columns must be one node's own, got {sorted(c for c, _ in listed)}")
    return [k for _, k in sorted(listed)]


def children_of(nodes: Sequence[Node]) -> list[list[int]]:
    """The children of each node."""
    children: list[list[int]] = [[] for _ in nodes]
    for k, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(k)
    return children


def _first_nodes(nodes: Sequence[Node]) -> list[int]:
    first = list(range(len(nodes)))
    for k, node in enumerate(nodes):
        if node.parent >= 0:
            first[node.parent] = min(first[node.parent], first[k])
    return first
