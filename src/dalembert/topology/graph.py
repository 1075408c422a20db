"""The system graph: bodies are vertices, joints are edges.

A spanning tree of the joints, rooted at the ground, carries the coordinates; every joint outside it is cut and closes
one fundamental loop.

Reference: D. S. Bae, E. J. Haug, "A recursive formulation for constrained mechanical system dynamics", parts I and II.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.joints import Joint
from dalembert.model import Flat, Mechanism

__all__ = ["Branch", "Graph", "Loop", "SpanningTree"]


@dataclass(frozen=True)
class Branch:
    """One body of the tree and the joint by which it hangs on its parent.

    Attributes:
        reversed: the joint's first body is the child.
    """

    body: str
    parent: str
    joint: str
    reversed: bool


@dataclass(frozen=True)
class Loop:
    """A fundamental loop: the tree joints between the two bodies of a cut joint."""

    cut: str
    root: str
    joints: tuple[str, ...]


@dataclass(frozen=True)
class SpanningTree:
    """Branches in an order in which every parent comes before its children, and the joints that are cut."""

    branches: tuple[Branch, ...]
    cut: tuple[str, ...]

    def parent_of(self) -> dict[str, Branch]:
        return {branch.body: branch for branch in self.branches}

    def children(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {"ground": []}
        for branch in self.branches:
            out[branch.body] = []
            out[branch.parent].append(branch.body)
        return out

    def junctions(self) -> list[str]:
        """Bodies that carry two or more others."""
        return [body for body, below in self.children().items() if len(below) > 1 and body != "ground"]

    def chains(self) -> list[list[str]]:
        """Runs of bodies without a junction between them, each from its root outwards."""
        children = self.children()
        starts = [body for body, below in children.items() if len(below) > 1 or body == "ground"]
        chains: list[list[str]] = []
        for start in starts:
            for body in children[start]:
                chain = [body]
                while len(children[chain[-1]]) == 1:
                    chain.append(children[chain[-1]][0])
                chains.append(chain)
        return chains

    def path_to_ground(self, body: str) -> list[Branch]:
        parents = self.parent_of()
        path: list[Branch] = []
        while body != "ground":
            path.append(parents[body])
            body = parents[body].parent
        return path


class Graph:
    """The bodies and joints of a flat model."""

    def __init__(self, flat: Flat):
        self.flat = flat
        self._mechanism = Mechanism.nominal(flat)

    def joint(self, name: str) -> Joint:
        return self._mechanism.joint(name).joint

    def spanning_tree(self) -> SpanningTree:
        """A breadth-first tree, so that loops are short; where there is a choice, the joint with more freedom is cut.

        Joints marked ``cut`` stay out of the tree; custom joints without equations stay in it.
        """
        flat = self.flat
        usable = {name: data for name, (data, _) in flat.joints.items() if not data.cut}
        cost = {name: self._cost(name) for name in usable}
        edges: dict[str, list[str]] = {name: [] for name in ["ground", *flat.bodies]}
        for name, data in usable.items():
            for body in data.bodies:
                edges[body].append(name)
        branches: list[Branch] = []
        reached, level = {"ground"}, ["ground"]
        while level:
            offers: dict[str, tuple[int, int, Branch]] = {}
            for parent in level:
                for name in edges[parent]:
                    first, second = usable[name].bodies
                    child = second if first == parent else first
                    if child in reached:
                        continue
                    offer = (cost[name], len(offers), Branch(child, parent, name, first != parent))
                    if child not in offers or offer[0] < offers[child][0]:
                        offers[child] = offer
            branches += [branch for _, _, branch in offers.values()]
            level = list(offers)
            reached.update(level)
        used = {branch.joint for branch in branches}
        return SpanningTree(tuple(branches), tuple(name for name in flat.joints if name not in used))

    def _cost(self, name: str) -> int:
        joint = self.joint(name)
        return joint.nv if joint.closes else -1

    def loops(self, tree: SpanningTree) -> list[Loop]:
        """One fundamental loop for each cut joint."""
        loops: list[Loop] = []
        for name in tree.cut:
            first, second = (tree.path_to_ground(body) for body in self.flat.joints[name][0].bodies)
            # What both paths share lies between the loop's root and the ground.
            while first and second and first[-1] == second[-1]:
                first, second = first[:-1], second[:-1]
            path = [*first, *reversed(second)]
            root = first[-1].parent if first else (second[-1].parent if second else self.flat.joints[name][0].bodies[0])
            loops.append(Loop(name, root, tuple(branch.joint for branch in path)))
        return loops

    def gruebler(self, parameters: dict[str, float] | None = None) -> int:
        """Degrees of freedom by counting:  6 · bodies − Σ (equations), as if all equations were independent.

        Constraints that are off, at the parameters' values or at those given, do not count.
        """
        total = 6 * len(self.flat.bodies)
        total -= sum(6 - self.joint(name).nv for name in self.flat.joints)
        off = self.flat.off(parameters)
        acting = [data for name, (data, _) in self.flat.constraints.items() if name not in off]
        return total - sum(len(getattr(data, "formulas", "1")) for data in acting if not _velocity_level(data))


def _velocity_level(constraint: object) -> bool:
    return getattr(constraint, "level", "position") == "velocity"
