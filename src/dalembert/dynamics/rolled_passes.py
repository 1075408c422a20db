"""Passes of rolled recursions: native loops over the links of a tree, each calling the kernel of one step.

What they run through is a program, which does not change; numbers of links are in a record (see ``rolled_links``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray, njit  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]

from dalembert.codegen import call_kernel_offset
from dalembert.dynamics.rolled_forces import FORCE_COLUMNS, FORCE_LAYOUT_COLUMNS
from dalembert.dynamics.rolled_links import LAYOUT_COLUMNS, N_UP
from dalembert.numerics.native import float_pointer, integer_pointer, put

__all__ = ["Program", "add", "ask", "back_pass", "clear", "inward_pass", "load_pass", "outward_pass", "program_at"]


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


# Columns of the tables. Those of ``layout`` are in the order of ``LinkKind.layout``.
KIND, PARENT, AT_Q, AT_U, AT, FIRST, LEAF, PLACED = range(8)
LINK_COLUMNS = 8
(NQ, NV, LOADED,
 OUTWARD, PLACE, INWARD, BACK, NEWTON, EULER, OBSERVE, YIELD, MOVE,
 Q, U, TAU, F_EXT, VP, X, V, QDOT, I, W, E, AP, DU, A, S, G,
 DU_IN, AP_IN, NEWTON_OUT, F, TAU_OUT, F_UP, X_WP, X_W, X_B, SEEN) = range(38)  # fmt: skip
N_DATA, N_BODIES, N_JOINTS, LOADS, ENERGY = range(5)


@njit(cache=True, nogil=True)
def program_at(address):
    """The program whose ``Rolled.addresses`` are found here."""
    a = carray(integer_pointer(address), (6, 2))
    return Program(
        carray(integer_pointer(a[0, 0]), (a[0, 1], LAYOUT_COLUMNS)),
        carray(integer_pointer(a[1, 0]), (a[1, 1], LINK_COLUMNS)),
        carray(integer_pointer(a[2, 0]), (a[2, 1], FORCE_LAYOUT_COLUMNS)),
        carray(integer_pointer(a[3, 0]), (a[3, 1], FORCE_COLUMNS)),
        carray(integer_pointer(a[4, 0]), (a[4, 1],)),
        carray(float_pointer(a[5, 0]), (a[5, 1],)),
    )


@njit(cache=True, nogil=True)
def outward_pass(program, record, q, u, tau, qdot, everywhere, work):
    """q̇, pose in the parent and twist of each link; of those on the way to a load, or of all, the pose in the world.

    The loads on links are set to τ and no wrench.
    """
    layout, links = program.layout, program.links
    for i in range(links.shape[0]):
        kind, parent, at = layout[links[i, KIND]], links[i, PARENT], links[i, AT]
        put(record, at + kind[Q], q, links[i, AT_Q], kind[NQ])
        put(record, at + kind[U], u, links[i, AT_U], kind[NV])
        put(record, at + kind[TAU], tau, links[i, AT_U], kind[NV])
        if kind[LOADED]:
            clear(record, at + kind[F_EXT], 6)
        if parent < 0:
            clear(record, at + kind[VP], 6)
        else:
            put(record, at + kind[VP], record, links[parent, AT] + layout[links[parent, KIND]][V], 6)
        call_kernel_offset(kind[OUTWARD], record, at, record, at + kind[X], work)
        put(qdot, links[i, AT_Q], record, at + kind[QDOT], kind[NQ])
        if everywhere or links[i, PLACED]:
            to = at + kind[X_WP]
            if parent < 0:
                clear(record, to, 12)
                record[to] = record[to + 4] = record[to + 8] = 1.0
            else:
                put(record, to, record, links[parent, AT] + layout[links[parent, KIND]][X_W], 12)
            call_kernel_offset(kind[PLACE], record, at, record, at + kind[X_W], work)


@njit(cache=True, nogil=True)
def load_pass(program, record, t, work):
    """What forces do to links and their velocities; returns the power of those without potential."""
    layout, links, forces, touched = program.layout, program.links, program.forces, program.force_links
    power = 0.0
    for i in range(forces.shape[0]):
        kind, at = program.force_layout[forces[i, 0]], ask(program, record, i, t)
        call_kernel_offset(kind[LOADS], record, 0, record, at, work)
        for k in range(kind[N_BODIES] + kind[N_JOINTS]):
            link = touched[forces[i, 2] + k]
            of = layout[links[link, KIND]]
            count, to = (6, of[F_EXT]) if k < kind[N_BODIES] else (of[NV], of[TAU])
            add(record, links[link, AT] + to, record, at, count)
            at += count
        power += record[at]
    return power


@njit(cache=True, nogil=True)
def inward_pass(program, record, work):
    """Joints eliminated from the tips to the ground: inertia and bias wrench as parents feel them."""
    layout, links = program.layout, program.links
    up = np.empty(7 * 6 + N_UP + 12 * 6)
    for i in range(links.shape[0] - 1, -1, -1):
        kind, parent, at = layout[links[i, KIND]], links[i, PARENT], links[i, AT]
        if links[i, LEAF]:
            clear(record, at + kind[I], N_UP)
        call_kernel_offset(kind[INWARD], record, at, up, 0, work)
        kept, nv = 7 * kind[NV], kind[NV]
        put(record, at + kind[W], up, 0, kept)
        if kind[YIELD] != 0:
            put(record, at + kind[S], up, kept + N_UP, nv * (6 + nv))
        if parent >= 0:
            to = links[parent, AT] + layout[links[parent, KIND]][I]
            if links[i, FIRST]:
                put(record, to, up, kept, N_UP)
            else:
                add(record, to, up, kept, N_UP)


@njit(cache=True, nogil=True)
def back_pass(program, record, step, base, du, work):
    """u̇ from the ground to the tips, by the kernels of one step: BACK, or YIELD for links at rest."""
    layout, links = program.layout, program.links
    for i in range(links.shape[0]):
        kind, parent, at = layout[links[i, KIND]], links[i, PARENT], links[i, AT]
        if parent < 0:
            put(record, at + kind[AP], base, 0, 6)
        else:
            put(record, at + kind[AP], record, links[parent, AT] + layout[links[parent, KIND]][A], 6)
        call_kernel_offset(kind[step], record, at, record, at + kind[DU], work)
        put(du, links[i, AT_U], record, at + kind[DU], kind[NV])


@njit(cache=True, nogil=True)
def ask(program, record, i, t):
    """Numbers, time and motion as the kernels of a force read them; returns the place for the answer."""
    layout, links, forces, touched = program.layout, program.links, program.forces, program.force_links
    kind = program.force_layout[forces[i, 0]]
    put(record, 0, program.force_data, forces[i, 1], kind[N_DATA])
    record[kind[N_DATA]] = t
    to = kind[N_DATA] + 1
    for k in range(kind[N_BODIES] + kind[N_JOINTS]):
        link = touched[forces[i, 2] + k]
        of = layout[links[link, KIND]]
        # Pose and twist of a body follow each other in its link's record, and so do q and u.
        count, begin = (18, of[X_B]) if k < kind[N_BODIES] else (of[NQ] + of[NV], of[Q])
        put(record, to, record, links[link, AT] + begin, count)
        to += count
    return to


@njit(cache=True, nogil=True, inline="always")
def clear(target, start, count):
    for j in range(count):
        target[start + j] = 0.0


@njit(cache=True, nogil=True, inline="always")
def add(target, start, source, begin, count):
    for j in range(count):
        target[start + j] += source[begin + j]
