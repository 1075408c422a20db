"""Modular: complements of sub-models first, then of what they make together, from the leaves to the root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dalembert.coordinates import Coordinates
from dalembert.equations import BlockEquations, Equations
from dalembert.errors import check_known
from dalembert.formulations.base import BlockFormulation, Support
from dalembert.model.flatten import Module
from dalembert.native import Record, Ref, native
from dalembert.numerics.context import ILL_CONDITIONED, OK, Context, Solution, System, watch
from dalembert.numerics.elimination_plan import Node, Plan, flat_plan, plan_of
from dalembert.numerics.solver_steps import null_space, reduced_mass, undetermined
from dalembert.numerics.tree_elimination import solve_hierarchy
from dalembert.topology import Graph
from dalembert.topology.grouping import grouped

__all__ = ["GROUPINGS", "Modular"]

GROUPINGS = ("sub-models", "bodies", "none")


class Hierarchy(Record):
    """What the solver takes first."""

    context = Ref(Context)
    plan = Ref(Plan)


@native
def _solver(o: Hierarchy, t: float, e: System, out: Solution) -> int:
    c = o.context
    if c.rank != 0 or o.plan.nodes == 1:
        # One node: the null space of the whole. So it is where redundant rows are held to what others say (see
        # ``hold_rank``): these may be anywhere, which no plan knows.
        return null_space(c, t, e, out)
    status, rank, ratio, conflict = solve_hierarchy(o.plan, e.M, e.f, e.A, e.gamma, out.du, out.multipliers)
    watch(c, rank, ratio, conflict)
    return OK if status == OK else undetermined(c, e.M, e.A, ILL_CONDITIONED)


@dataclass(frozen=True)
class Modular(BlockFormulation):
    """Every sub-model by itself, then what they make together. At each node of the hierarchy, from the leaves to the
    root,

        R = (1, S₁, S₂, …),   B = A⊕ R,   B C = 0,   S = R C,   M ← Cᵀ M C,   f ← Cᵀ f

    where A⊕ are the constraints that the node adds to those of its children 1, 2, …  Complements C are orthonormal and
    have as many columns as freedoms are left; redundant rows are seen where they belong. Freedoms that no constraint
    further up can touch are solved for at once, so that a node hands on no more than its connections ask for.

    Args:
        grouping: the hierarchy: ``sub-models``, and within each of them the branches of the spanning tree; ``bodies``
            forgets sub-models and takes the spanning tree alone; ``none`` is one node with everything.
        merge: small nodes are joined with their parents, where that is faster; False keeps them all.

    Reference: R. M. M. Orsino, "Recursive modular modelling methodology for lumped-parameter dynamic systems", theorem
    2.10 and section 4.2.
    """

    name: ClassVar[str] = "modular"
    title: ClassVar[str] = "Modular, from sub-models to the whole"
    solver = _solver

    grouping: str = "sub-models"
    merge: bool = True

    def __post_init__(self) -> None:
        check_known(f"{self.name}: unknown grouping", self.grouping, GROUPINGS)

    @classmethod
    def supports(cls) -> Support:
        return replace(super().supports(), coordinates=("relative", "absolute"))

    def plan(self, equations: BlockEquations) -> Plan:
        if self.grouping == "none" or not isinstance(equations, Equations):
            return flat_plan(len(equations.u), len(equations.rows))
        coordinates = equations.tree.coordinates
        rows = [[int(j) for j in np.flatnonzero(row)] for row in _pattern(equations, equations.jacobian)]
        couplings = [(int(i), int(j)) for i, j in np.argwhere(_pattern(equations, equations.mass_matrix)) if i != j]
        return plan_of(_nodes(coordinates, rows, self.grouping), rows, couplings, merge=self.merge)

    def planned(self, context: Context, plan: Record | None) -> Record:
        made = flat_plan(context.nv, context.rows) if plan is None else plan
        return Hierarchy(context=context, plan=made)

    def matrix(self, M: np.ndarray, A: np.ndarray, coordinates: Coordinates) -> np.ndarray:
        return reduced_mass(M, A)


def _pattern(equations: Equations, values: np.ndarray) -> np.ndarray:
    """Where a matrix may have entries."""
    value = equations.al.value
    return np.array([[value(x) != 0 for x in row] for row in values], dtype=bool).reshape(np.shape(values))


def _nodes(coordinates: Coordinates, rows: list[list[int]], grouping: str) -> list[Node]:
    """The hierarchy of columns: those of a body's slot belong to the body."""
    flat = coordinates.flat
    columns = {slot.body: range(slot.u.start, slot.u.stop) for slot in coordinates.slots}
    owner = {column: body for body, own in columns.items() for column in own}
    modules: list[Any] = flat.modules if grouping == "sub-models" else [Module("", -1, list(flat.bodies))]
    parents = {branch.body: branch.parent for branch in Graph(flat).spanning_tree().branches}
    groups = grouped(modules, parents, [{owner[column] for column in row} for row in rows])
    return [Node(group.parent, [c for body in group.bodies for c in columns[body]]) for group in groups]
