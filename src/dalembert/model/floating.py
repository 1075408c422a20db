"""Bodies that no chain of joints connects to the ground."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["floating"]


def floating(bodies: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[str]:
    """One body, the first, of each group that is not connected to the ground.

    Args:
        bodies: names, the ground left out.
        edges: pairs of bodies that a joint connects; pairs with unknown names are passed over.
    """
    bodies = list(bodies)
    neighbors: dict[str, list[str]] = {name: [] for name in ["ground", *bodies]}
    for first, second in edges:
        if first in neighbors and second in neighbors:
            neighbors[first].append(second)
            neighbors[second].append(first)
    reached: set[str] = set()
    found: list[str] = []
    for start in ["ground", *bodies]:
        if start in reached:
            continue
        if start != "ground":
            found.append(start)
        todo = [start]
        while todo:
            body = todo.pop()
            if body not in reached:
                reached.add(body)
                todo.extend(neighbors[body])
    return found
