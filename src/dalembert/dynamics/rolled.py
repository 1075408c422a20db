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
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.algebra import NUMPY
from dalembert.codegen import call_kernel_offset
from dalembert.coordinates import Coordinates
from dalembert.coordinates.recursions import gravity_base
from dalembert.dynamics.rolled_forces import FORCE_COLUMNS, FORCE_LAYOUT_COLUMNS, RolledForces
from dalembert.dynamics.rolled_links import LAYOUT_COLUMNS, N_UP, SEEN, LinkKey, LinkKind, link_constants, trace_link
from dalembert.numerics.native import float_pointer, integer_pointer

__all__ = ["Program", "Rolled", "Seen", "forward", "inverse", "observe", "program_at"]


class Program(NamedTuple):
    """What the loops run through; it does not change. Numbers of links, which do, are in a record.

    Attributes:
        layout: for each kind of link its sizes, kernel addresses and places of fields (``LinkKind.layout``).
        links: kind, parent, places of q, u and the record, first to add to its parent, without children, on the way
            to a load.
        force_layout, forces, force_links, force_data: ``layout()``, ``table``, ``links`` and ``data`` of
            ``RolledForces``.
    """

    layout: np.ndarray
    links: np.ndarray
    force_layout: np.ndarray
    forces: np.ndarray
    force_links: np.ndarray
    force_data: np.ndarray


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
        coordinates: of a tree without constraints.
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
            key = LinkKey.of(link, i in self.forces.loaded)
            if key not in numbers:
                numbers[key] = len(self.kinds)
                self.kinds.append(trace_link(key))
            rows.append((numbers[key], link.parent, link.q.start, link.u.start, start))
            part, constants = np.zeros(self.kinds[numbers[key]].fields.size), link_constants(link)
            part[: len(constants)] = constants
            parts.append(part)
            start += len(part)
        table = np.array(rows, dtype=np.int64).reshape(-1, 5)
        links = np.column_stack([table, *_kinship(table[:, 1], self.forces.loaded)])
        self.record = np.concatenate(parts)
        self._spare = [self.record]
        layout, forces = np.array([kind.layout() for kind in self.kinds], dtype=np.int64), self.forces
        self.program = Program(layout, links, forces.layout(), forces.table, forces.links, forces.data)
        self.addresses = np.array([(part.ctypes.data, len(part)) for part in self.program], dtype=np.int64)
        self.base = gravity_base(self.tree.al, self.tree.mechanism.gravity)
        kernels = [kernel for kind in self.kinds for kernel in kind.kernels.values()]
        kernels += [kernel for kind in forces.kinds for kernel in (kind.loads, kind.energy)]
        self.n_work = max([1, *(kernel.n_work for kernel in kernels)])

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
        return Seen(pose, twist, sums[:, 0], potential, sums[:, 4:], self._joints(q, u), np.empty((n, 0)))

    def _joints(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Coordinates and velocities of the joints in the model's order."""
        slots = self.coordinates.slot_of_joint
        names = list(self.coordinates.flat.joints)
        return np.concatenate([part for name in names for part in (q[:, slots[name].q], u[:, slots[name].u])], axis=1)


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


# Columns of the tables. Those of ``layout`` are in the order of ``LinkKind.layout``.
_KIND, _PARENT, _AT_Q, _AT_U, _AT, _FIRST, _LEAF, _PLACED = range(8)
_LINK_COLUMNS = 8
(_NQ, _NV, _LOADED,
 _OUTWARD, _PLACE, _INWARD, _BACK, _NEWTON, _EULER, _OBSERVE,
 _Q, _U, _TAU, _F_EXT, _VP, _X, _V, _QDOT, _I, _W, _AP, _DU, _A,
 _DU_IN, _AP_IN, _NEWTON_OUT, _F, _TAU_OUT, _F_UP, _X_WP, _X_W, _X_B, _SEEN) = range(33)  # fmt: skip
_N_DATA, _N_BODIES, _N_JOINTS, _LOADS, _ENERGY = range(5)


@njit(cache=True, nogil=True)
def program_at(address):
    """The program whose ``Rolled.addresses`` are found here."""
    a = carray(integer_pointer(address), (6, 2))
    return Program(
        carray(integer_pointer(a[0, 0]), (a[0, 1], LAYOUT_COLUMNS)),
        carray(integer_pointer(a[1, 0]), (a[1, 1], _LINK_COLUMNS)),
        carray(integer_pointer(a[2, 0]), (a[2, 1], FORCE_LAYOUT_COLUMNS)),
        carray(integer_pointer(a[3, 0]), (a[3, 1], FORCE_COLUMNS)),
        carray(integer_pointer(a[4, 0]), (a[4, 1],)),
        carray(float_pointer(a[5, 0]), (a[5, 1],)),
    )


@njit(cache=True, nogil=True)
def forward(program, record, t, q, u, tau, base, qdot, du, work):
    """q̇ and u̇ by three passes over the links; returns the power of τ and of forces without potential."""
    layout, links = program.layout, program.links
    n = links.shape[0]
    _outward(program, record, q, u, tau, qdot, False, work)
    power = _load(program, record, t, work)
    for i in range(u.shape[0]):
        power += tau[i] * u[i]
    up = np.empty(7 * 6 + N_UP)
    for i in range(n - 1, -1, -1):
        kind, parent, at = layout[links[i, _KIND]], links[i, _PARENT], links[i, _AT]
        if links[i, _LEAF]:
            _clear(record, at + kind[_I], N_UP)
        call_kernel_offset(kind[_INWARD], record, at, up, 0, work)
        kept = 7 * kind[_NV]
        _put(record, at + kind[_W], up, 0, kept)
        if parent >= 0:
            to = links[parent, _AT] + layout[links[parent, _KIND]][_I]
            if links[i, _FIRST]:
                _put(record, to, up, kept, N_UP)
            else:
                _add(record, to, up, kept, N_UP)
    for i in range(n):
        kind, parent, at = layout[links[i, _KIND]], links[i, _PARENT], links[i, _AT]
        if parent < 0:
            _put(record, at + kind[_AP], base, 0, 6)
        else:
            _put(record, at + kind[_AP], record, links[parent, _AT] + layout[links[parent, _KIND]][_A], 6)
        call_kernel_offset(kind[_BACK], record, at, record, at + kind[_DU], work)
        _put(du, links[i, _AT_U], record, at + kind[_DU], kind[_NV])
    return power


@njit(cache=True, nogil=True)
def inverse(program, record, t, q, u, du, base, tau, work):
    """τ by two passes over the links, after one more for the motion that forces ask about."""
    layout, links = program.layout, program.links
    n, forced = links.shape[0], program.forces.shape[0] > 0
    if forced:
        _outward(program, record, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), False, work)
        _load(program, record, t, work)
    for i in range(n):
        kind, parent, at = layout[links[i, _KIND]], links[i, _PARENT], links[i, _AT]
        _put(record, at + kind[_Q], q, links[i, _AT_Q], kind[_NQ])
        _put(record, at + kind[_U], u, links[i, _AT_U], kind[_NV])
        _put(record, at + kind[_DU_IN], du, links[i, _AT_U], kind[_NV])
        if parent < 0:
            _clear(record, at + kind[_VP], 6)
            _put(record, at + kind[_AP_IN], base, 0, 6)
        else:
            above = links[parent, _AT] + layout[links[parent, _KIND]][_NEWTON_OUT]
            _put(record, at + kind[_VP], record, above, 6)
            _put(record, at + kind[_AP_IN], record, above + 6, 6)
        call_kernel_offset(kind[_NEWTON], record, at, record, at + kind[_NEWTON_OUT], work)
    for i in range(n - 1, -1, -1):
        kind, parent, at = layout[links[i, _KIND]], links[i, _PARENT], links[i, _AT]
        call_kernel_offset(kind[_EULER], record, at, record, at + kind[_TAU_OUT], work)
        _put(tau, links[i, _AT_U], record, at + kind[_TAU_OUT], kind[_NV])
        if forced:
            for j in range(kind[_NV]):
                tau[links[i, _AT_U] + j] -= record[at + kind[_TAU] + j]
        if parent >= 0:
            _add(record, links[parent, _AT] + layout[links[parent, _KIND]][_F], record, at + kind[_F_UP], 6)


@njit(cache=True, nogil=True)
def observe(program, record, t, q, u, seen, work):
    """Pose (12) and twist (6) of each body in world axes, kinetic energy, first moment (3) and momentum (6).

    Returns the potential energy of forces.
    """
    _outward(program, record, q, u, np.zeros(u.shape[0]), np.empty(q.shape[0]), True, work)
    for i in range(program.links.shape[0]):
        kind, at = program.layout[program.links[i, _KIND]], program.links[i, _AT]
        call_kernel_offset(kind[_OBSERVE], record, at, record, at + kind[_SEEN], work)
        _put(seen[i], 0, record, at + kind[_X_B], 12)
        _put(seen[i], 12, record, at + kind[_SEEN], SEEN - 12)
    energy = 0.0
    for i in range(program.forces.shape[0]):
        at = _ask(program, record, i, t)
        kind = program.force_layout[program.forces[i, 0]]
        call_kernel_offset(kind[_ENERGY], record, 0, record, at, work)
        energy += record[at]
    return energy


@njit(cache=True, nogil=True)
def _outward(program, record, q, u, tau, qdot, everywhere, work):
    """q̇, pose in the parent and twist of each link; of those on the way to a load, or of all, the pose in the world.

    The loads on links are set to τ and no wrench.
    """
    layout, links = program.layout, program.links
    for i in range(links.shape[0]):
        kind, parent, at = layout[links[i, _KIND]], links[i, _PARENT], links[i, _AT]
        _put(record, at + kind[_Q], q, links[i, _AT_Q], kind[_NQ])
        _put(record, at + kind[_U], u, links[i, _AT_U], kind[_NV])
        _put(record, at + kind[_TAU], tau, links[i, _AT_U], kind[_NV])
        if kind[_LOADED]:
            _clear(record, at + kind[_F_EXT], 6)
        if parent < 0:
            _clear(record, at + kind[_VP], 6)
        else:
            _put(record, at + kind[_VP], record, links[parent, _AT] + layout[links[parent, _KIND]][_V], 6)
        call_kernel_offset(kind[_OUTWARD], record, at, record, at + kind[_X], work)
        _put(qdot, links[i, _AT_Q], record, at + kind[_QDOT], kind[_NQ])
        if everywhere or links[i, _PLACED]:
            to = at + kind[_X_WP]
            if parent < 0:
                _clear(record, to, 12)
                record[to] = record[to + 4] = record[to + 8] = 1.0
            else:
                _put(record, to, record, links[parent, _AT] + layout[links[parent, _KIND]][_X_W], 12)
            call_kernel_offset(kind[_PLACE], record, at, record, at + kind[_X_W], work)


@njit(cache=True, nogil=True)
def _load(program, record, t, work):
    """What forces do to links and their velocities; returns the power of those without potential."""
    layout, links, forces, touched = program.layout, program.links, program.forces, program.force_links
    power = 0.0
    for i in range(forces.shape[0]):
        kind, at = program.force_layout[forces[i, 0]], _ask(program, record, i, t)
        call_kernel_offset(kind[_LOADS], record, 0, record, at, work)
        for k in range(kind[_N_BODIES] + kind[_N_JOINTS]):
            link = touched[forces[i, 2] + k]
            of = layout[links[link, _KIND]]
            count, to = (6, of[_F_EXT]) if k < kind[_N_BODIES] else (of[_NV], of[_TAU])
            _add(record, links[link, _AT] + to, record, at, count)
            at += count
        power += record[at]
    return power


@njit(cache=True, nogil=True)
def _ask(program, record, i, t):
    """Numbers, time and motion as the kernels of a force read them; returns the place for the answer."""
    layout, links, forces, touched = program.layout, program.links, program.forces, program.force_links
    kind = program.force_layout[forces[i, 0]]
    _put(record, 0, program.force_data, forces[i, 1], kind[_N_DATA])
    record[kind[_N_DATA]] = t
    to = kind[_N_DATA] + 1
    for k in range(kind[_N_BODIES] + kind[_N_JOINTS]):
        link = touched[forces[i, 2] + k]
        of = layout[links[link, _KIND]]
        # Pose and twist of a body follow each other in its link's record, and so do q and u.
        count, begin = (18, of[_X_B]) if k < kind[_N_BODIES] else (of[_NQ] + of[_NV], of[_Q])
        _put(record, to, record, links[link, _AT] + begin, count)
        to += count
    return to


@njit(cache=True, nogil=True, inline="always")
def _clear(target, start, count):
    for j in range(count):
        target[start + j] = 0.0


@njit(cache=True, nogil=True, inline="always")
def _put(target, start, source, begin, count):
    for j in range(count):
        target[start + j] = source[begin + j]


@njit(cache=True, nogil=True, inline="always")
def _add(target, start, source, begin, count):
    for j in range(count):
        target[start + j] += source[begin + j]
