"""Rolled kernels: the recursions of large trees as native loops over links and forces.

Each step of a recursion is traced once for each kind of link, and each force once for each form that forces have, with
their constants as inputs, and called in a loop; so the time to compile does not depend on the number of bodies, and the
time to run grows linearly with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from dalembert.algebra import NUMPY
from dalembert.codegen import call_kernel_offset
from dalembert.coordinates import Coordinates
from dalembert.coordinates.recursions import gravity_base
from dalembert.dynamics.rolled_closing import memory_of, residuals, sparse_rows
from dalembert.dynamics.rolled_forces import RolledForces
from dalembert.dynamics.rolled_links import SEEN, LinkKey, LinkKind, link_constants, trace_link
from dalembert.dynamics.rolled_loops import Loops
from dalembert.dynamics.rolled_passes import (
    AP_IN,
    AT,
    AT_Q,
    AT_U,
    BACK,
    DU_IN,
    ENERGY,
    EULER,
    F_UP,
    KIND,
    NEWTON,
    NEWTON_OUT,
    NQ,
    NV,
    OBSERVE,
    PARENT,
    TAU,
    TAU_OUT,
    VP,
    X_B,
    F,
    Program,
    Q,
    U,
    add,
    ask,
    back_pass,
    clear,
    inward_pass,
    load_pass,
    outward_pass,
)  # fmt: skip
from dalembert.dynamics.rolled_passes import SEEN as SEEN_PLACE
from dalembert.numerics.native import put

__all__ = ["Rolled", "Seen", "forward", "inverse", "observe"]


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
        record: memory for one force, then numbers of all links: constants, which stay, and what the steps leave for
            each other. It may be in use: see ``lend``.
        program, addresses: what the loops run through, and where ``program_at`` finds it.
        base: acceleration of the ground that stands for gravity.
        n_work: doubles of work memory that the kernels need.
    """

    def __init__(self, coordinates: Coordinates, values: dict[str, float]):
        self.coordinates = coordinates
        self.tree = coordinates.place(NUMPY, values)
        self.forces = RolledForces(self.tree)
        self.kinds: list[LinkKind] = []
        numbers: dict[LinkKey, int] = {}
        start = self.forces.size
        rows, parts = [], [np.zeros(start)]
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
        table = np.array(rows, dtype=np.int64).reshape(-1, 5)
        self.loops = Loops(self.tree) if coordinates.cut else None
        watched = self.forces.loaded | (self.loops.links if self.loops is not None else set())
        links = np.column_stack([table, *_kinship(table[:, 1], watched)])
        self.record = np.concatenate(parts)
        self._spare = [self.record]
        layout, forces = np.array([kind.layout() for kind in self.kinds], dtype=np.int64), self.forces
        self.program = Program(layout, links, forces.layout(), forces.table, forces.links, forces.data)
        self.addresses = np.array([(part.ctypes.data, len(part)) for part in self.program], dtype=np.int64)
        self.base = gravity_base(self.tree.al, self.tree.mechanism.gravity)
        kernels = [kernel for kind in self.kinds for kernel in kind.kernels.values()]
        kernels += [kernel for kind in forces.kinds for kernel in (kind.loads, kind.energy)]
        self.n_work = max([1, *(kernel.n_work for kernel in kernels), self.loops.n_work if self.loops else 0])

    def _take(self) -> np.ndarray:
        """A record that nobody uses; a copy if all are in use, for the constants in them stay."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.record.copy()

    def lend(self, borrower: object) -> np.ndarray:
        """A record for a borrower alone, as long as it lives."""
        record = self._take()
        weakref.finalize(borrower, self._spare.append, record)
        return record

    @contextmanager
    def _memory(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """A record and work memory."""
        record = self._take()
        try:
            yield record, np.empty(self.n_work)
        finally:
            self._spare.append(record)

    def acceleration(
        self, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """q̇ and u̇ by articulated bodies, and the power of τ and of forces without potential."""
        qdot, du = np.empty(self.coordinates.nq), np.empty(self.coordinates.nv)
        with self._memory() as (record, work):
            power = forward(self.program, record, t, q, u, tau, self.base, qdot, du, work)
        return qdot, du, power

    def inverse(self, t: float, q: np.ndarray, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        """τ by recursive Newton-Euler."""
        tau = np.empty(self.coordinates.nv)
        with self._memory() as (record, work):
            inverse(self.program, record, t, q, u, du, self.base, tau, work)
        return tau

    def residuals(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ and A u of all cut joints, at many states."""
        assert self.loops is not None
        position, velocity = (np.empty((len(q), self.loops.rows)) for _ in range(2))
        memory = memory_of(self.loops)
        with self._memory() as (record, work):
            for i in range(len(q)):
                residuals(self.program, self.loops.table, record, memory, q[i], u[i], position[i], velocity[i], work)
        return position, velocity

    def jacobian(self, q: np.ndarray) -> csr_array:
        """A of all cut joints at one position."""
        assert self.loops is not None
        table, nv = self.loops.table, self.coordinates.nv
        count = int(np.sum(np.repeat(table.cuts[:, 1], table.cuts[:, 8]) * table.ways[:, 3]))
        rows, columns, entries = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
        with self._memory() as (record, work):
            sparse_rows(
                self.program, table, record, memory_of(self.loops), q, np.zeros(nv), rows, columns, entries, work
            )
        return csr_array((entries, (rows, columns)), shape=(self.loops.rows, nv))

    def observe(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> Seen:
        """Poses, twists, energies and momentum at many states."""
        n, bodies = len(q), len(self.tree.links)
        seen, pose, twist = np.empty((bodies, SEEN)), np.empty((n, 12 * bodies)), np.empty((n, 6 * bodies))
        sums, potential = np.empty((n, 10)), np.empty(n)
        with self._memory() as (record, work):
            for i in range(n):
                potential[i] = observe(self.program, record, t[i], q[i], u[i], seen, work)
                pose[i], twist[i] = seen[:, :12].reshape(-1), seen[:, 12:18].reshape(-1)
                sums[i] = seen[:, 18:].sum(axis=0)
        potential -= sums[:, 1:4] @ self.tree.mechanism.gravity.astype(float)
        return Seen(pose, twist, sums[:, 0], potential, sums[:, 4:], self._joints(q, u, pose, twist), np.empty((n, 0)))

    def _joints(self, q: np.ndarray, u: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """Coordinates and velocities of the joints in the model's order."""
        slots, n, parts = self.coordinates.slot_of_joint, len(q), []
        for name in self.coordinates.flat.joints:
            if name in slots:
                parts += [q[:, slots[name].q], u[:, slots[name].u]]
            elif self.loops is not None and name in self.coordinates.cut:
                parts += self.loops.measured(name, pose.reshape(n, -1, 12), twist.reshape(n, -1, 6))
        return np.concatenate(parts, axis=1)


def _kinship(parents: np.ndarray, loaded: set[int]) -> list[np.ndarray]:
    """For each link: whether it is the first to add to its parent, has no children, is on the way to a load."""
    # The child that comes last in the tree is the first to add something to its parent: it sets, the others add.
    last_child = {parent: i for i, parent in enumerate(parents)}
    on_the_way = set(loaded)
    for i in reversed(range(len(parents))):
        if i in on_the_way:
            on_the_way.add(int(parents[i]))
    first = [last_child[parent] == i for i, parent in enumerate(parents)]
    leaf = [i not in last_child for i in range(len(parents))]
    return [np.array(flags, dtype=np.int64) for flags in (first, leaf, [i in on_the_way for i in range(len(parents))])]


@njit(cache=True, nogil=True)
def forward(program, record, t, q, u, tau, base, qdot, du, work):
    """q̇ and u̇ by three passes over the links; returns the power of τ and of forces without potential."""
    outward_pass(program, record, q, u, tau, qdot, False, work)
    power = load_pass(program, record, t, work)
    for i in range(u.shape[0]):
        power += tau[i] * u[i]
    inward_pass(program, record, work)
    back_pass(program, record, BACK, base, du, work)
    return power


@njit(cache=True, nogil=True)
def inverse(program, record, t, q, u, du, base, tau, work):
    """τ by two passes over the links, after one more for the motion that forces ask about."""
    layout, links = program.layout, program.links
    n, forced = links.shape[0], program.forces.shape[0] > 0
    if forced:
        outward_pass(program, record, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), False, work)
        load_pass(program, record, t, work)
    for i in range(n):
        kind, parent, at = layout[links[i, KIND]], links[i, PARENT], links[i, AT]
        put(record, at + kind[Q], q, links[i, AT_Q], kind[NQ])
        put(record, at + kind[U], u, links[i, AT_U], kind[NV])
        put(record, at + kind[DU_IN], du, links[i, AT_U], kind[NV])
        if parent < 0:
            clear(record, at + kind[VP], 6)
            put(record, at + kind[AP_IN], base, 0, 6)
        else:
            above = links[parent, AT] + layout[links[parent, KIND]][NEWTON_OUT]
            put(record, at + kind[VP], record, above, 6)
            put(record, at + kind[AP_IN], record, above + 6, 6)
        call_kernel_offset(kind[NEWTON], record, at, record, at + kind[NEWTON_OUT], work)
    for i in range(n - 1, -1, -1):
        kind, parent, at = layout[links[i, KIND]], links[i, PARENT], links[i, AT]
        call_kernel_offset(kind[EULER], record, at, record, at + kind[TAU_OUT], work)
        put(tau, links[i, AT_U], record, at + kind[TAU_OUT], kind[NV])
        if forced:
            for j in range(kind[NV]):
                tau[links[i, AT_U] + j] -= record[at + kind[TAU] + j]
        if parent >= 0:
            add(record, links[parent, AT] + layout[links[parent, KIND]][F], record, at + kind[F_UP], 6)


@njit(cache=True, nogil=True)
def observe(program, record, t, q, u, seen, work):
    """Pose (12) and twist (6) of each body in world axes, kinetic energy, first moment (3) and momentum (6).

    Returns the potential energy of forces.
    """
    outward_pass(program, record, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), True, work)
    for i in range(program.links.shape[0]):
        kind, at = program.layout[program.links[i, KIND]], program.links[i, AT]
        call_kernel_offset(kind[OBSERVE], record, at, record, at + kind[SEEN_PLACE], work)
        put(seen[i], 0, record, at + kind[X_B], 12)
        put(seen[i], 12, record, at + kind[SEEN_PLACE], SEEN - 12)
    energy = 0.0
    for i in range(program.forces.shape[0]):
        at = ask(program, record, i, t)
        kind = program.force_layout[program.forces[i, 0]]
        call_kernel_offset(kind[ENERGY], record, 0, record, at, work)
        energy += record[at]
    return energy
