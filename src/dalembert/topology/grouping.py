"""Bodies in groups within groups: sub-models, and inside each of them the branches of the spanning tree.

Elimination along a hierarchy is cheap where a group has few connections with the rest. Sub-models are such groups by
the will of whoever drew them. Inside one, or without any, the spanning tree says what hangs on what: a body and all
that it carries is a group, tied to the rest by one joint and by the loops that leave it. Groups are joined two at a
time, the most connected ones first, so that each step sees a few bodies only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from dalembert.model.flatten import Module

__all__ = ["Group", "grouped"]


class Group(NamedTuple):
    """A group: the number of the group that holds it (−1 for the whole), and the bodies that are in no smaller one."""

    parent: int
    bodies: list[str]


class _Builder:
    """Groups while they are made.

    Attributes:
        parents: the body that carries each body, or the ground.
        links: bodies that each equation connects.
    """

    def __init__(self, parents: Mapping[str, str], links: Sequence[Collection[str]]):
        self.parents, self.links = parents, links
        self.groups: list[list[str]] = []
        self.above: list[int] = []
        self.depth: dict[str, int] = {"ground": 0}
        for body, parent in parents.items():
            self.depth[body] = self.depth[parent] + 1

    def group(self, bodies: Sequence[str], inside: Sequence[int]) -> int:
        """A new group with some bodies and some groups inside."""
        self.groups.append(list(bodies))
        self.above.append(-1)
        for k in inside:
            self.above[k] = len(self.groups) - 1
        return len(self.groups) - 1

    def join(self, parts: Sequence[tuple[int, Collection[str]]]) -> int:
        """One group of several, with their bodies: the first, and always the one that most equations connect with
        those before it."""
        if not parts:
            return self.group([], [])
        joined, rest = parts[0][0], list(range(1, len(parts)))
        where = {body: k for k, (_, bodies) in enumerate(parts) for body in bodies}
        ties: list[dict[int, int]] = [{} for _ in parts]
        for link in self.links if len(parts) > 2 else ():
            met = {where[body] for body in link if body in where}
            for a in met:
                for b in met - {a}:
                    ties[a][b] = ties[a].get(b, 0) + 1
        weight = [ties[0].get(k, 0) for k in range(len(parts))]
        while rest:
            best = max(rest, key=lambda k: (weight[k], -k))
            rest.remove(best)
            for other, count in ties[best].items():
                weight[other] += count
            joined = self.group([], [joined, parts[best][0]])
        return joined

    def module(self, bodies: Sequence[str], inner: Sequence[tuple[int, list[str]]]) -> tuple[int, list[str]]:
        """The group of a module from its own bodies and the groups of the modules in it, each with all its bodies."""
        items: list[tuple[int | None, list[str]]] = [(None, [body]) for body in bodies]
        items += [(group, held) for group, held in inner if held]
        item_of = {body: k for k, (_, held) in enumerate(items) for body in held}
        tops = [min(held, key=self.depth.__getitem__) for _, held in items]
        carried: dict[int, list[int]] = {k: [] for k in range(-1, len(items))}
        for k, top in enumerate(tops):
            carried[item_of.get(self.parents[top], -1)].append(k)
        made: dict[int, tuple[int, list[str]]] = {}
        for k in sorted(range(len(items)), key=lambda k: -self.depth[tops[k]]):
            group, held = items[k]
            on_it = [made[child] for child in carried[k]]
            everything = [*held, *(body for _, more in on_it for body in more)]
            if group is None and on_it:
                group, on_it = self.group(held, [on_it[0][0]]), on_it[1:]
            elif group is None:
                group = self.group(held, [])
            made[k] = (self.join([(group, held), *on_it]), everything)
        everything = [body for _, held in items for body in held]
        return self.join([made[k] for k in carried[-1]]), everything


def grouped(
    modules: Sequence[Module], parents: Mapping[str, str], links: Sequence[Collection[str]] = ()
) -> list[Group]:
    """The groups of a model.

    Args:
        modules: the tree of sub-models, every module before those inside it.
        parents: the body, or the ground, that carries each body in a spanning tree, parents first.
        links: bodies that each equation connects.
    """
    builder = _Builder(parents, links)
    inner: list[list[tuple[int, list[str]]]] = [[] for _ in modules]
    for k in range(len(modules) - 1, -1, -1):
        made = builder.module(modules[k].bodies, inner[k])
        if modules[k].parent >= 0:
            inner[modules[k].parent].insert(0, made)
    return [Group(above, bodies) for above, bodies in zip(builder.above, builder.groups, strict=True)]
