"""What a model is made of: tree, loops, degrees of freedom, redundant constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.rank import Positions, dependent_rows, settled_rank
from dalembert.arguments import public
from dalembert.dynamics import Dynamics
from dalembert.model import Model
from dalembert.state import State
from dalembert.topology import Branch, Graph, Loop, SpanningTree

__all__ = ["Inspection", "inspect"]

MOST_DRAWN = 200  # bodies of the tree that are drawn: the indents of a long chain grow with its square


@dataclass(frozen=True)
class Inspection:
    """The structure of a model at one configuration.

    Attributes:
        tree, loops: spanning tree and fundamental loops.
        equations: number of constraint equations in relative coordinates; those that are off do not count.
        gruebler: degrees of freedom by counting.
        freedom: true number of degrees of freedom (of velocity), by the rank of the constraints here.
        redundant: equations that follow from the others, by name.
        off: constraints that do not act until an event switches them on.
        massless: bodies without mass.
        mass: of all bodies (kg).
        size: edges along x, y, z of the box around joints and centers of mass (m): wrong units show here.
    """

    name: str
    bodies: int
    joints: dict[str, str]
    tree: SpanningTree
    loops: list[Loop]
    equations: int
    nonholonomic: int
    gruebler: int
    freedom: int
    redundant: list[str]
    off: list[str]
    massless: list[str]
    mass: float
    size: tuple[float, float, float]

    def __str__(self) -> str:
        """The spanning tree, the loops, and what is counted."""
        bodies, loops = "body" if self.bodies == 1 else "bodies", "loop" if len(self.loops) == 1 else "loops"
        joints = "joint" if len(self.joints) == 1 else "joints"
        lines = [f"{self.name}: {self.bodies} {bodies}, {len(self.joints)} {joints}, {len(self.loops)} {loops}"]
        lines += self._tree_lines()
        for loop in self.loops:
            path = " – ".join(loop.joints)
            lines.append(f"loop closed by {self.joints[loop.cut]} joint {loop.cut}, from {loop.root}: {path}")
        facts = {
            "degrees of freedom": f"{self.freedom}  (rank of the constraints in this position)",
            "by Grübler's count": str(self.gruebler),
            "constraint equations": f"{self.equations}, of which {self.nonholonomic} nonholonomic",
            "redundant": f"{len(self.redundant)}: {', '.join(self.redundant)}" if self.redundant else "",
            "inactive at start": ", ".join(self.off),
            "without mass": ", ".join(self.massless),
            "mass": f"{self.mass:.4g} kg",
            "size": f"{' × '.join(f'{edge:.3g}' for edge in self.size)} m" if any(self.size) else "",
            "chains": "; ".join(" – ".join(chain) for chain in self.tree.chains()),
            "junctions": ", ".join(self.tree.junctions()),
        }
        wide = max(map(len, facts))
        return "\n".join(lines + [f"{name:<{wide}}  {value}" for name, value in facts.items() if value])

    def _tree_lines(self) -> list[str]:
        """The spanning tree, a body a line, its branches below it."""
        children: dict[str, list[Branch]] = {}
        for branch in self.tree.branches:
            children.setdefault(branch.parent, []).append(branch)
        lines, waiting = ["ground"], [(branch, "") for branch in reversed(children.get("ground", []))]
        while waiting:
            if len(lines) > MOST_DRAWN:
                return [*lines, f"… and {self.bodies - MOST_DRAWN} bodies more"]
            branch, indent = waiting.pop()
            last = branch is children[branch.parent][-1]
            reversed_ = " (reversed)" if branch.reversed else ""
            joint = f"by {self.joints[branch.joint]} joint {branch.joint}{reversed_}"
            lines.append(f"{indent}{'└── ' if last else '├── '}{branch.body}  {joint}")
            below = indent + ("    " if last else "│   ")
            waiting += [(child, below) for child in reversed(children.get(branch.body, []))]
        return lines


@public
def inspect(model: Model, parameters: dict[str, float] | None = None) -> Inspection:
    """Analyze the topology, and the rank of the constraints in the assembled initial configuration.

    Args:
        model: the mechanism.
        parameters: values to use instead of the model's.

    Returns:
        tree, loops, degrees of freedom by rank and by counting, and the redundant equations by name.

    Example:
        found = da.inspect(da.library.four_bar())
        print(found.freedom, found.loops, found.redundant)
    """
    dynamics = Dynamics(model, "lagrange-multipliers", "relative")
    state = assemble_state(dynamics, None, None, parameters, 0.0)
    positions = Positions(dynamics, state)
    acting, off = positions.acting, dynamics.flat.off(parameters)
    A, rank = settled_rank(positions, state.q)[1:]
    graph = Graph(dynamics.flat)
    tree = graph.spanning_tree()
    mechanism = positions.tree.mechanism
    return Inspection(
        name=model.name,
        bodies=len(dynamics.flat.bodies),
        joints={name: data.kind for name, (data, _) in dynamics.flat.joints.items()},
        tree=tree,
        loops=graph.loops(tree),
        equations=len(A),
        nonholonomic=sum(not dynamics.rows[i].holonomic for i in acting),
        gruebler=graph.gruebler(parameters),
        freedom=dynamics.nv - rank,
        redundant=[str(dynamics.rows[acting[i]]) for i in dependent_rows(A, rank)],
        off=[name for name in dynamics.flat.constraints if name in off],
        massless=[body for body in dynamics.flat.bodies if mechanism.inertia(body).mass == 0],
        mass=float(sum(mechanism.inertia(body).mass for body in dynamics.flat.bodies)),
        size=_size(mechanism, state),
    )


def _size(mechanism: Any, state: State) -> tuple[float, float, float]:
    """The box around joints and centers of mass, along the axes of the world."""
    poses = {body: state.body(body)[0] for body in mechanism.flat.bodies}
    places = [pose.apply(mechanism.inertia(body).com) for body, pose in poses.items()]
    for joint in map(mechanism.joint, mechanism.flat.joints):
        places += [poses[joint.first].apply(joint.X_1P.p)] if joint.first in poses else []
        places += [poses[joint.second].apply(joint.X_2S.p)] if joint.second in poses else []
    x, y, z = np.ptp(np.array(places, dtype=float), axis=0)
    return float(x), float(y), float(z)
