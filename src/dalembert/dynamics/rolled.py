"""Rolled kernels: the recursions of large trees as native loops over links and forces.

Each step of a recursion is traced once for each kind of link, and each force once for each form that forces have, with
their constants as inputs, and called in a loop; so the time to compile does not depend on the number of bodies, and the
time to run grows linearly with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.coordinates import Coordinates
from dalembert.dynamics.rolled_closing import residuals_along, sparse_rows
from dalembert.dynamics.rolled_forces import RolledForces
from dalembert.dynamics.rolled_links import SEEN, LinkKey, LinkKind, LinkKinds, link_constants, trace_link
from dalembert.dynamics.rolled_loops import LoopMemory, Loops
from dalembert.dynamics.rolled_passes import (
    Program,
    RolledContext,
    add,
    ask,
    back_pass,
    clear,
    driven,
    inward_pass,
    load_pass,
    outward_pass,
    put,
)
from dalembert.native import native
from dalembert.numerics.context import Context, finite
from dalembert.tree.recursions import gravity_base

__all__ = ["Rolled", "Seen", "forward", "inverse", "inverse_along", "observe", "observe_along", "rolled_rhs"]


class Seen(NamedTuple):
    """The same fields as the unrolled observer."""

    pose: np.ndarray
    twist: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    momentum: np.ndarray
    joints: np.ndarray
    outputs: np.ndarray


class Rolled:
    """Forward and inverse dynamics of a tree by native loops. Several threads may use it at once.

    Args:
        coordinates: of a tree, with no constraints but cut joints.
        values: parameters.

    Attributes:
        program: what the loops run through.
        base: acceleration of the ground that stands for gravity.
    """

    def __init__(self, coordinates: Coordinates, values: dict[str, float]):
        self.coordinates = coordinates
        self.tree = coordinates.place(NUMPY, values)
        self.forces = RolledForces(self.tree)
        self.kinds: list[LinkKind] = []
        numbers: dict[LinkKey, int] = {}
        start = self.forces.size
        rows: list[tuple[int, ...]] = []
        parts = [np.zeros(start)]
        for i, link in enumerate(self.tree.links):
            key = LinkKey.of(link, i in self.forces.loaded, bool(coordinates.cut))
            if key not in numbers:
                numbers[key] = len(self.kinds)
                self.kinds.append(trace_link(key))
            rows.append((numbers[key], link.parent, link.q.start, link.u.start, start))
            part, constants = np.zeros(self.kinds[numbers[key]].fields.size), link_constants(link)
            part[: len(constants)] = constants
            parts.append(part)
            start += len(part)
        columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy()
        self.loops = Loops(self.tree) if coordinates.cut else None
        watched = self.forces.loaded | (self.loops.links if self.loops is not None else set[int]())
        self.program = Program(
            n=len(rows), size=start, looped=self.loops is not None, kinds=LinkKinds.of(self.kinds),
            forces=self.forces.table, **dict(zip(("kind", "parent", "at_q", "at_u", "at"), columns, strict=True)),
            **_kinship(columns[1], watched),
        )  # fmt: skip
        self.base = gravity_base(self.tree.al, self.tree.mechanism.gravity)
        self._first = self._work_on(np.concatenate(parts))
        self._spare = [self._first]

    def _work_on(self, numbers: np.ndarray) -> RolledContext:
        table = None if self.loops is None else self.loops.table
        memory = None if table is None else LoopMemory(table=table)
        return RolledContext(program=self.program, loops=table, memory=memory, numbers=numbers, base=self.base)

    def _take(self) -> RolledContext:
        """Memory that nobody uses; a copy if all is in use, for the constants in it stay."""
        try:
            return self._spare.pop()
        except IndexError:
            return self._work_on(self._first.numbers.copy())

    def bind(self, context: Context | None) -> RolledContext:
        """What ``rolled_rhs`` and its like work with: memory for one user alone, as long as it is kept."""
        taken = self._take()
        made = RolledContext(
            context=context, program=taken.program, loops=taken.loops, memory=taken.memory, numbers=taken.numbers,
            base=taken.base,
        )  # fmt: skip
        weakref.finalize(made, self._spare.append, taken)
        return made

    @contextmanager
    def _borrowed(self) -> Generator[RolledContext]:
        taken = self._take()
        try:
            yield taken
        finally:
            self._spare.append(taken)

    def acceleration(
        self, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """q̇ and u̇ by articulated bodies, and the power of τ and of forces without potential."""
        qdot, du = np.empty(self.coordinates.nq), np.empty(self.coordinates.nv)
        with self._borrowed() as r:
            power = forward(r, float(t), q, u, tau, qdot, du)
        return qdot, du, power

    def inverse(self, t: float, q: np.ndarray, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        """τ by recursive Newton-Euler."""
        return self.inverse_along(np.array([t], dtype=float), q[None], u[None], du[None])[0]

    def inverse_along(self, t: np.ndarray, q: np.ndarray, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        """τ at many states."""
        tau = np.empty((len(q), self.coordinates.nv))
        with self._borrowed() as r:
            inverse_along(r, np.ascontiguousarray(t, dtype=float), q, u, du, tau)
        return tau

    def residuals(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ and A u of all cut joints, at many states."""
        assert self.loops is not None
        position, velocity = (np.empty((len(q), self.loops.rows)) for _ in range(2))
        with self._borrowed() as r:
            residuals_along(r, q, u, position, velocity)
        return position, velocity

    def jacobian(self, q: np.ndarray) -> Any:
        """A of all cut joints at one position."""
        assert self.loops is not None
        table, nv = self.loops.table, self.coordinates.nv
        count = int(np.sum(np.repeat(table.equations, table.steps) * table.step_nv))
        rows, columns, entries = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
        with self._borrowed() as r:
            sparse_rows(r, q, np.zeros(nv), rows, columns, entries)
        from scipy.sparse import csr_array

        return csr_array((entries, (rows, columns)), shape=(self.loops.rows, nv))

    def observe(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> Seen:
        """Poses, twists, energies and momentum at many states."""
        n, bodies = len(q), len(self.tree.links)
        pose, twist = np.empty((n, 12 * bodies)), np.empty((n, 6 * bodies))
        sums, potential = np.empty((n, 10)), np.empty(n)
        with self._borrowed() as r:
            observe_along(r, np.ascontiguousarray(t, dtype=float), q, u, pose, twist, sums, potential)
        potential -= sums[:, 1:4] @ self.tree.mechanism.gravity.astype(float)
        return Seen(pose, twist, sums[:, 0], potential, sums[:, 4:], self._joints(q, u, pose, twist), np.empty((n, 0)))

    def _joints(self, q: np.ndarray, u: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """Coordinates and velocities of the joints in the model's order."""
        slots, n = self.coordinates.slot_of_joint, len(q)
        parts: list[np.ndarray] = []
        for name in self.coordinates.flat.joints:
            if name in slots:
                parts += [q[:, slots[name].q], u[:, slots[name].u]]
            elif self.loops is not None and name in self.coordinates.cut:
                parts += self.loops.measured(name, pose.reshape(n, -1, 12), twist.reshape(n, -1, 6))
        return np.concatenate(parts, axis=1)


def _kinship(parents: np.ndarray, loaded: set[int]) -> dict[str, np.ndarray]:
    """For each link: whether it is the first to add to its parent, has no children, is on the way to a load."""
    # The child that comes last in the tree is the first to add something to its parent: it sets, the others add.
    last_child = {parent: i for i, parent in enumerate(parents)}
    on_the_way = set(loaded)
    for i in reversed(range(len(parents))):
        if i in on_the_way:
            on_the_way.add(int(parents[i]))
    flags = {
        "first": [last_child[parent] == i for i, parent in enumerate(parents)],
        "leaf": [i not in last_child for i in range(len(parents))],
        "placed": [i in on_the_way for i in range(len(parents))],
    }
    return {name: np.array(values, dtype=bool) for name, values in flags.items()}


@native
def forward(
    r: RolledContext, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray, qdot: np.ndarray, du: np.ndarray
) -> float:
    """q̇ and u̇ by three passes over the links; returns the power of τ and of forces without potential."""
    power = driven(r, t, q, u, tau, qdot)
    inward_pass(r)
    back_pass(r, False, r.base, du)
    return power


@native
def rolled_rhs(r: RolledContext, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """ẏ of a large tree."""
    c = r.context
    nq, nv = c.nq, c.nv
    dy[nq + nv] = forward(r, t, y[:nq], y[nq : nq + nv], c.tau, dy[:nq], dy[nq : nq + nv])
    return finite(c, dy)


@native
def inverse(r: RolledContext, t: float, q: np.ndarray, u: np.ndarray, du: np.ndarray, tau: np.ndarray):
    """τ by two passes over the links, after one more for the motion that forces ask about."""
    p, of, x = r.program, r.program.kinds, r.numbers
    forced = p.forces.n > 0
    if forced:
        outward_pass(r, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), False)
        load_pass(r, t)
    for i in range(p.n):
        kind, parent, at = p.kind[i], p.parent[i], p.at[i]
        put(x, at + of.q[kind], q, p.at_q[i], of.nq[kind])
        put(x, at + of.u[kind], u, p.at_u[i], of.nv[kind])
        put(x, at + of.du_in[kind], du, p.at_u[i], of.nv[kind])
        if parent < 0:
            clear(x, at + of.V_P[kind], 6)
            put(x, at + of.A_P_in[kind], r.base, 0, 6)
        else:
            above = p.at[parent] + of.newton_out[p.kind[parent]]
            put(x, at + of.V_P[kind], x, above, 6)
            put(x, at + of.A_P_in[kind], x, above + 6, 6)
        of.newton[kind].run(x[at:], x[at + of.newton_out[kind] :])
    for i in range(p.n - 1, -1, -1):
        kind, parent, at = p.kind[i], p.parent[i], p.at[i]
        of.euler[kind].run(x[at:], x[at + of.tau_out[kind] :])
        put(tau, p.at_u[i], x, at + of.tau_out[kind], of.nv[kind])
        if forced:
            for j in range(of.nv[kind]):
                tau[p.at_u[i] + j] -= x[at + of.tau[kind] + j]
        if parent >= 0:
            add(x, p.at[parent] + of.F[p.kind[parent]], x, at + of.F_up[kind], 6)


@native
def inverse_along(r: RolledContext, t: np.ndarray, q: np.ndarray, u: np.ndarray, du: np.ndarray, tau: np.ndarray):
    """τ at many states."""
    for i in range(t.shape[0]):
        inverse(r, t[i], q[i], u[i], du[i], tau[i])


@native
def observe(r: RolledContext, t: float, q: np.ndarray, u: np.ndarray, seen: np.ndarray) -> float:
    """Pose (12) and twist (6) of each body in world axes, kinetic energy, first moment (3) and momentum (6).

    Returns the potential energy of forces.
    """
    p, of, x, forces = r.program, r.program.kinds, r.numbers, r.program.forces
    outward_pass(r, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), True)
    for i in range(p.n):
        kind, at = p.kind[i], p.at[i]
        of.observe[kind].run(x[at:], x[at + of.seen[kind] :])
        put(seen[i], 0, x, at + of.X_B[kind], 12)
        put(seen[i], 12, x, at + of.seen[kind], SEEN - 12)
    energy = 0.0
    for i in range(forces.n):
        at = ask(r, i, t)
        forces.energy[forces.kind[i]].run(x, x[at:])
        energy += float(x[at])
    return energy


@native
def observe_along(
    r: RolledContext, t: np.ndarray, q: np.ndarray, u: np.ndarray,
    pose: np.ndarray, twist: np.ndarray, sums: np.ndarray, potential: np.ndarray,
):  # fmt: skip
    """Poses and twists of all bodies at many states; kinetic energy, first moment and momentum of all together."""
    seen = np.empty((r.program.n, SEEN))
    sums[:] = 0.0
    for i in range(t.shape[0]):
        potential[i] = observe(r, t[i], q[i], u[i], seen)
        for k in range(r.program.n):
            pose[i, 12 * k : 12 * k + 12] = seen[k, :12]
            twist[i, 6 * k : 6 * k + 6] = seen[k, 12:18]
            sums[i] += seen[k, 18:]
