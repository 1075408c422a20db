"""Which constraints are redundant, which reactions are unique, and what would make the mechanism isostatic.

Reactions that hold each other in balance are a state of self-stress:  Aᵀ n = 0.  As many of them are independent as
there are redundant equations. A reaction is unique exactly if no self-stress changes it.

Reference: M. Wojtyra, "Joint reactions in rigid body mechanisms with dependent constraints", Mech. Mach. Theory 44
(2009) 2265-2278.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.rank import Positions, Ranks, dependent_rows, null_rows, ranks
from dalembert.analyses.structure.remedies import Remedy, find_remedies
from dalembert.analyses.structure.stresses import Carriers, SelfStress, localize, subtract
from dalembert.arguments import public, public_methods
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.numerics.linear import OK, solve_constrained
from dalembert.state import HasState, State, state_of
from dalembert.topology import Graph
from dalembert.trajectory.shares import Weights, share, weight_vector

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["COMPONENTS", "Redundancy", "freedoms", "redundancy"]

COMPONENTS = ("torque x", "torque y", "torque z", "force x", "force y", "force z")
CLOSED = 1e-7  # residual (m or rad) with which a state counts as closed
# Of a component of self-stress, against its largest: what is smaller is rounding.
CHANGED = 1e-6


@public_methods
@dataclass(frozen=True)
class Redundancy:
    """What is redundant in a mechanism at one state, and what follows for its reactions.

    Attributes:
        joints: kind by name.
        equations: constraint equations of all joints and constraints, as in absolute coordinates.
        relative_equations: those of cut joints and constraints, as in relative coordinates.
        redundant: how many equations follow from the others at all positions nearby; the same in all coordinates.
        rows: these in relative coordinates, by name.
        freedom: degrees of freedom of velocity here.
        mobility: degrees of freedom of finite motion; less than ``freedom`` in a singular position.
        gruebler: degrees of freedom by counting.
        stresses: independent reactions that hold each other in balance, each among few joints.
        singular_stresses: more of them that are there only in this singular position.
        unique: six components (torque, force; world axes) of each joint, True where the reaction is unique; for a
            constraint one entry for each of its equations.
        carried: components that a joint can exert at all, in this position.
        remedies: changes of joints that leave no redundant equation and the same freedom.
    """

    name: str
    joints: dict[str, str]
    equations: int
    relative_equations: int
    redundant: int
    rows: list[str]
    freedom: int
    mobility: int
    gruebler: int
    stresses: tuple[SelfStress, ...]
    singular_stresses: tuple[SelfStress, ...]
    unique: dict[str, np.ndarray]
    carried: dict[str, np.ndarray]
    remedies: tuple[Remedy, ...]
    state: State = field(repr=False)
    _dynamics: Dynamics = field(repr=False)
    _vectors: np.ndarray = field(repr=False)
    _weights: Weights = field(repr=False)

    @property
    def singular(self) -> bool:
        """True in a position in which the constraints have less rank than nearby."""
        return self.freedom > self.mobility

    @property
    def is_unique(self) -> bool:
        """True if every reaction is unique."""
        return all(bool(np.all(components)) for components in self.unique.values())

    def reactions(self, weights: Weights | None = None) -> dict[str, xr.DataArray]:
        """Wrench of every joint on its second body, as ``Trajectory.reaction``, at this state; multipliers of
        constraints by their name.

        Args:
            weights: by joint or constraint; of all possible reactions those with the least Σ wᵢ |Fᵢ|² are given, in
                which wᵢ is 1 where nothing else is said. A stiff joint has a small weight: it takes more. Two numbers
                weigh torque and force apart.
        """
        import xarray as xr

        weights = self._weights if weights is None else weights
        carriers, plain = Carriers(self._dynamics), self._plain
        vector = share(plain, self._vectors, weight_vector(carriers.joints, carriers.equations, weights))
        found = {
            name: xr.DataArray(
                carriers.wrench(vector, name).reshape(2, 3),
                dims=("kind", "axis"),
                coords={"kind": ["torque", "force"], "axis": ["x", "y", "z"]},
            )
            for name in carriers.joints
        }
        for name in dict.fromkeys(carriers.equations):
            found[name] = xr.DataArray(carriers.multipliers(vector, name), dims="row").squeeze()
        return found

    @cached_property
    def _plain(self) -> np.ndarray:
        """One possible set of reactions: that of least multipliers in relative coordinates."""
        e = _equations(self._dynamics, self.state, self.state.q)
        A = e.jacobian
        du, multipliers = np.zeros(self._dynamics.nv), np.zeros(len(A))
        status, *_ = solve_constrained(e.mass_matrix, e.forcing, A, e.gamma, du, multipliers)
        if status != OK:
            raise DalembertError(
                f"{self.name!r}: a direction has neither mass nor constraint, so its reactions cannot be found"
            )
        return Carriers(self._dynamics).vector(e.reactions(du, multipliers), multipliers)

    def verdict(self) -> list[str]:
        """The findings in sentences."""
        if self.redundant:
            said = [f"{self.redundant} of {self.equations} constraint equations are redundant, at all positions nearby"]
        else:
            said = ["no constraint equation is redundant"]
        if self.singular:
            more = self.freedom - self.mobility
            said.append(
                f"this position is singular: {more} more {'depends' if more == 1 else 'depend'} on the others here; "
                f"{freedoms(self.freedom)} for velocities, {self.mobility} for finite motion"
            )
            if not self.mobility:
                said.append("it can shake, but not move")
        if self.is_unique:
            said.append("all reactions are unique")
        else:
            some = [name for name, components in self.unique.items() if not np.all(components)]
            rest = len(self.unique) - len(some)
            said.append(f"reactions that are not unique: {', '.join(some)}" + ("" if rest else " (all)"))
        return said

    def groups(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """The self-stresses of the same joints together: (joints and constraints, what they carry)."""
        found: dict[tuple[str, ...], list[str]] = {}
        for stress in self.stresses:
            found.setdefault(stress.owners, []).append(stress.words)
        return list(found.items())

    def table(self) -> list[tuple[str, ...]]:
        """One row for each joint: name, kind, and for each component ``unique``, ``shared`` or nothing."""
        words = np.array(["shared", "unique"])
        return [
            (name, kind, *np.where(self.carried[name], words[self.unique[name].astype(int)], "").tolist())
            for name, kind in self.joints.items()
        ]

    def __str__(self) -> str:
        lines = [f"{self.name}: {freedoms(self.mobility)} (Grübler's count: {self.gruebler})"]
        lines += [f"  {sentence}" for sentence in self.verdict()]
        if self.rows:
            lines.append(f"  in relative coordinates: {', '.join(self.rows)}")
        lines += [f"  in balance among {', '.join(owners)}: {'; '.join(words)}" for owners, words in self.groups()]
        lines += [f"  here also, among {', '.join(s.owners)}: {s.words}" for s in self.singular_stresses]
        lines += [f"  isostatic if {remedy}" for remedy in self.remedies]
        rows = [("joint", "kind", *COMPONENTS), *self.table()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines += ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join(lines)

    __repr__ = __str__


@public
def redundancy(
    model: Model,
    state: State | HasState | None = None,
    *,
    parameters: dict[str, float] | None = None,
    weights: Weights | None = None,
) -> Redundancy:
    """Find redundant constraints and the reactions that they leave open.

    Args:
        model: the mechanism.
        state: where to look, from ``assemble``; the initial state if left out.
        parameters: values to use instead of the model's, for the initial state.
        weights: of ``Redundancy.reactions``.

    Raises:
        DalembertError: the state belongs to another model, or leaves loops open.

    Example:
        found = da.redundancy(da.library.four_bar())
        print(found)
    """
    dynamics = Dynamics(model, "lagrange-multipliers", "relative")
    if state is None:
        state = assemble_state(dynamics, None, None, parameters, 0.0)
    else:
        state = state_of(state)
        _check(dynamics, state, parameters)
    carriers = Carriers(dynamics)
    weight_vector(carriers.joints, carriers.equations, weights or {})
    positions = Positions(dynamics, state)
    found = ranks(positions, state.q)
    graph = Graph(dynamics.flat)
    here = _vectors(dynamics, state, positions, found.q, found.rank)
    nearby, vectors = found.q, here
    if found.nearby is not None and found.nearby_rank > found.rank:
        nearby = found.nearby
        vectors = _vectors(dynamics, state, positions, nearby, found.nearby_rank)
    stresses = localize(carriers, vectors, graph)
    stuck = found.nearby is None
    return Redundancy(
        name=model.name,
        joints={name: data.kind for name, (data, _) in dynamics.flat.joints.items()},
        equations=_count(dynamics, positions),
        relative_equations=len(positions.acting),
        redundant=len(positions.acting) - found.nearby_rank,
        rows=_rows(dynamics, positions, found),
        freedom=dynamics.nv - found.rank,
        mobility=dynamics.nv - found.nearby_rank,
        gruebler=graph.gruebler(state.parameters),
        stresses=stresses,
        singular_stresses=() if stuck else localize(carriers, subtract(here, vectors), graph),
        unique=_unique(carriers, here),
        carried={name: _carried(dynamics, state, found.q, name) for name in carriers.joints},
        remedies=find_remedies(carriers, vectors, _equations(dynamics, state, nearby)) if not stuck else (),
        state=State(state.time, found.q, state.u, state.coordinates, state.parameters),
        _dynamics=dynamics,
        _vectors=here,
        _weights=weights or {},
    )


def freedoms(count: int) -> str:
    """A number of degrees of freedom in words."""
    return f"{count} {'degree' if count == 1 else 'degrees'} of freedom"


def _check(dynamics: Dynamics, state: State, parameters: dict[str, float] | None) -> None:
    layout = [(slot.body, slot.joint, slot.q) for slot in dynamics.coordinates.slots]
    if [(slot.body, slot.joint, slot.q) for slot in state.coordinates.slots] != layout:
        raise DalembertError(f"the state belongs to {state.coordinates.flat.name!r}, which has other bodies and joints")
    if parameters and {**state.parameters, **parameters} != state.parameters:
        raise DalembertError("give parameters to da.assemble: those of a state are its own")
    residual = np.abs(dynamics.residuals(state.time, state.q, state.u, state.parameters).position)
    if (residual * dynamics.even.rows[: len(residual)]).max(initial=0.0) > CLOSED:
        row = dynamics.rows[int(np.argmax(residual))]
        raise DalembertError(f"the state leaves {row.owner!r} open by {residual.max():.3g} (m or rad); use da.assemble")


def _equations(dynamics: Dynamics, state: State, q: np.ndarray) -> Equations:
    tree = dynamics.coordinates.place(NUMPY, {**dynamics.flat.parameters, **state.parameters})
    return Equations(tree, state.time, q, state.u)


def _vectors(dynamics: Dynamics, state: State, positions: Positions, q: np.ndarray, rank: int) -> np.ndarray:
    """A basis of the self-stresses: reactions of all joints, then multipliers of constraints; as rows."""
    n = null_rows(positions.jacobian(q), rank)
    carriers = Carriers(dynamics)
    if not len(n):
        return np.zeros((0, carriers.size))
    e, du = _equations(dynamics, state, q), np.zeros(dynamics.nv)
    full = np.zeros((len(n), len(dynamics.rows)))
    full[:, positions.acting] = n * positions.even.rows[positions.acting]
    none = np.zeros(len(dynamics.rows))
    base = carriers.vector(e.reactions(du, none), none)
    vectors = np.array([carriers.vector(e.reactions(du, row), row) - base for row in full])
    # Orthonormal, so that what is small is so against one.
    return np.linalg.svd(vectors, full_matrices=False)[2]


def _unique(carriers: Carriers, vectors: np.ndarray) -> dict[str, np.ndarray]:
    changed = np.abs(vectors).max(axis=0, initial=0.0) > CHANGED
    found = {name: ~carriers.wrench(changed, name) for name in carriers.joints}
    return found | {name: ~carriers.multipliers(changed, name) for name in dict.fromkeys(carriers.equations)}


def _carried(dynamics: Dynamics, state: State, q: np.ndarray, name: str) -> np.ndarray:
    """Components of the reaction that the joint can exert: those of wrenches that do no work on its freedom."""
    e = _equations(dynamics, state, q)
    placed = e.tree.mechanism.joint(name)
    X, _ = e.motion.relative(placed)
    R = (e.motion.body(placed.second)[0] @ placed.X_2S).R
    S = placed.joint.subspace(e.al, e.joint_coordinates(name)[0])
    space = np.linalg.svd(S)[0][:, placed.joint.nv :] if placed.joint.nv else np.eye(6)
    velocity = [np.array(placed.joint.velocity(e.al, X, unit), dtype=float) for unit in np.eye(6)]
    space = np.concatenate([space, np.array(velocity)], axis=1)
    return np.linalg.norm(np.concatenate([R @ space[:3], R @ space[3:]]), axis=1) > CHANGED


def _count(dynamics: Dynamics, positions: Positions) -> int:
    """Equations of all joints, and of the constraints that act."""
    flat, coordinates = dynamics.flat, dynamics.coordinates
    total = sum(6 - coordinates.nominal_joint(name).joint.nv for name in flat.joints)
    owners = [dynamics.rows[i] for i in positions.acting]
    return total + sum(not (row.owner in flat.joints and row.holonomic) for row in owners)


def _rows(dynamics: Dynamics, positions: Positions, found: Ranks) -> list[str]:
    q = found.q if found.nearby is None else found.nearby
    rank = found.rank if found.nearby is None else found.nearby_rank
    return [str(dynamics.rows[positions.acting[i]]) for i in dependent_rows(positions.jacobian(q), rank)]
