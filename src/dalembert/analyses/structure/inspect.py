"""What a model is made of: tree, loops, degrees of freedom, redundant constraints."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.rank import Positions, dependent_rows, settled_rank
from dalembert.dynamics import Dynamics
from dalembert.model import Model
from dalembert.topology import Graph, Loop, SpanningTree

__all__ = ["Inspection", "inspect"]


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


def inspect(model: Model, parameters: dict[str, float] | None = None) -> Inspection:
    """Analyze the topology, and the rank of the constraints in the assembled initial configuration."""
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
    )
