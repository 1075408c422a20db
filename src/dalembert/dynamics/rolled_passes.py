"""Passes of rolled recursions: native loops over the links of a tree, each calling the kernel of one step.

What they run through is a program, which does not change; numbers of links are in one vector, each link's at its place
(see ``rolled_links``).
"""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.rolled_forces import ForceTable
from dalembert.dynamics.rolled_links import N_UP, LinkKinds
from dalembert.dynamics.rolled_loops import LoopMemory, LoopTable
from dalembert.native import Flag, Flags, Int, Integers, Record, Ref, Vector, native
from dalembert.numerics.context import Context

__all__ = [
    "Program", "RolledContext", "add", "ask", "back_pass", "clear", "driven", "inward_pass", "load_pass",
    "outward_pass", "put",
]  # fmt: skip


class Program(Record):
    """What the loops run through; it does not change.

    Attributes:
        n: links.
        size: of the vector with the numbers of all links.
        looped: true if there are cut joints.
        kind, parent, at_q, at_u, at: of each link; places of its coordinates, velocities and numbers.
        first: it is the first to add to its parent.  leaf: it has no children.  placed: it is on the way to a load.
        kinds: what links of one kind share.
        forces: on all links.
    """

    n, size = 2 * Int()
    looped = Flag()
    kind, parent, at_q, at_u, at = 5 * Integers("n")
    first, leaf, placed = 3 * Flags("n")
    kinds = Ref(LinkKinds)
    forces = Ref(ForceTable)


class RolledContext(Record):
    """What native loops work with, for one user at a time.

    Attributes:
        context: of the run, or None.
        program: shared by all users.
        numbers: memory for one force, then of all links: constants, which stay, and what the steps leave for each
            other.
        base: acceleration of the ground that stands for gravity.
        loops, memory: of the cut joints, or None; the memory is the user's own.
    """

    context = Ref(Context)
    program = Ref(Program)
    loops = Ref(LoopTable)
    memory = Ref(LoopMemory)
    numbers = Vector("program.size")
    base = Vector(6)


@native
def put(target: np.ndarray, start: int, source: np.ndarray, begin: int, count: int):
    for i in range(count):
        target[start + i] = source[begin + i]


@native
def clear(target: np.ndarray, start: int, count: int):
    for i in range(count):
        target[start + i] = 0.0


@native
def add(target: np.ndarray, start: int, source: np.ndarray, begin: int, count: int):
    for i in range(count):
        target[start + i] += source[begin + i]


@native
def outward_pass(r: RolledContext, q: np.ndarray, u: np.ndarray, tau: np.ndarray, qdot: np.ndarray, everywhere: bool):
    """q̇, pose in the parent and twist of each link; of those on the way to a load, or of all, the pose in the world.

    The loads on links are set to τ and no wrench.
    """
    p, of, x = r.program, r.program.kinds, r.numbers
    for i in range(p.n):
        kind, parent, at = p.kind[i], p.parent[i], p.at[i]
        put(x, at + of.q[kind], q, p.at_q[i], of.nq[kind])
        put(x, at + of.u[kind], u, p.at_u[i], of.nv[kind])
        put(x, at + of.tau[kind], tau, p.at_u[i], of.nv[kind])
        if of.loaded[kind]:
            clear(x, at + of.F_ext[kind], 6)
        if parent < 0:
            clear(x, at + of.V_P[kind], 6)
        else:
            put(x, at + of.V_P[kind], x, p.at[parent] + of.V[p.kind[parent]], 6)
        of.outward[kind].run(x[at:], x[at + of.X[kind] :])
        put(qdot, p.at_q[i], x, at + of.qdot[kind], of.nq[kind])
        if everywhere or p.placed[i]:
            to = at + of.X_WP[kind]
            if parent < 0:
                clear(x, to, 12)
                x[to] = x[to + 4] = x[to + 8] = 1.0
            else:
                put(x, to, x, p.at[parent] + of.X_W[p.kind[parent]], 12)
            of.place[kind].run(x[at:], x[at + of.X_W[kind] :])


@native
def load_pass(r: RolledContext, t: float) -> float:
    """What forces do to links and their velocities; returns the power of those without potential."""
    p, of, forces, x = r.program, r.program.kinds, r.program.forces, r.numbers
    power = 0.0
    for i in range(forces.n):
        form, at = forces.kind[i], ask(r, i, t)
        forces.loads[form].run(x, x[at:])
        for k in range(forces.bodies[form] + forces.joints[form]):
            link = forces.links[forces.first_link[i] + k]
            kind = p.kind[link]
            count, to = (6, of.F_ext[kind]) if k < forces.bodies[form] else (of.nv[kind], of.tau[kind])
            add(x, p.at[link] + to, x, at, count)
            at += count
        power += float(x[at])
    return power


@native
def driven(r: RolledContext, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray, qdot: np.ndarray) -> float:
    """Where links are, how they move and what loads them; returns the power of τ and of forces without potential."""
    outward_pass(r, q, u, tau, qdot, False)
    power = load_pass(r, t)
    for i in range(u.shape[0]):
        power += tau[i] * u[i]
    return power


@native
def inward_pass(r: RolledContext):
    """Joints eliminated from the tips to the ground: inertia and bias wrench as parents feel them."""
    p, of, x = r.program, r.program.kinds, r.numbers
    up = np.empty(7 * 6 + N_UP + 12 * 6)
    for i in range(p.n - 1, -1, -1):
        kind, parent, at = p.kind[i], p.parent[i], p.at[i]
        if p.leaf[i]:
            clear(x, at + of.I[kind], N_UP)
        of.inward[kind].run(x[at:], up)
        nv = of.nv[kind]
        kept = 7 * nv
        put(x, at + of.W[kind], up, 0, kept)
        if p.looped:
            put(x, at + of.S[kind], up, kept + N_UP, nv * (6 + nv))
        if parent >= 0:
            to = p.at[parent] + of.I[p.kind[parent]]
            if p.first[i]:
                put(x, to, up, kept, N_UP)
            else:
                add(x, to, up, kept, N_UP)


@native
def back_pass(r: RolledContext, resting: bool, base: np.ndarray, du: np.ndarray):
    """u̇ from the ground to the tips; of links at rest, what they yield."""
    p, of, x = r.program, r.program.kinds, r.numbers
    for i in range(p.n):
        kind, parent, at = p.kind[i], p.parent[i], p.at[i]
        if parent < 0:
            put(x, at + of.A_P[kind], base, 0, 6)
        else:
            put(x, at + of.A_P[kind], x, p.at[parent] + of.A[p.kind[parent]], 6)
        if resting:
            of.yields[kind].run(x[at:], x[at + of.du[kind] :])
        else:
            of.back[kind].run(x[at:], x[at + of.du[kind] :])
        put(du, p.at_u[i], x, at + of.du[kind], of.nv[kind])


@native
def ask(r: RolledContext, i: int, t: float) -> int:
    """Numbers, time and motion as the kernels of a force read them; returns the place for the answer."""
    p, of, forces, x = r.program, r.program.kinds, r.program.forces, r.numbers
    form = forces.kind[i]
    put(x, 0, forces.data, forces.first_number[i], forces.numbers[form])
    x[forces.numbers[form]] = t
    to = int(forces.numbers[form]) + 1
    for k in range(forces.bodies[form] + forces.joints[form]):
        link = forces.links[forces.first_link[i] + k]
        kind = p.kind[link]
        # Pose and twist of a body follow each other in its link's numbers, and so do q and u.
        count, begin = (18, of.X_B[kind]) if k < forces.bodies[form] else (of.nq[kind] + of.nv[kind], of.q[kind])
        put(x, to, x, p.at[link] + begin, count)
        to += int(count)
    return to
