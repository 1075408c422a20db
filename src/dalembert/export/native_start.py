"""The start of a run as native code: assembly, as ``analyses.assembly.assemble`` does it, on kernels of one model.

What may be wanted of joints, their coordinates and their velocities, stands in rows; masks tell which rows count: those
of the model's own start, and those that were given. First the model's own start is led along a path from the drawing,
then what was given. Joints that nobody named move as little as the loops allow. All of it is in even units, as there.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import Flag, Int, Integers, Kernel, Matrix, Outputs, Real, Record, Vector, native
from dalembert.numerics.context import Closure
from dalembert.numerics.linear import orthogonal_factors, pseudo_solve
from dalembert.numerics.reflections import largest_size

__all__ = ["CONTRADICTION", "OPEN", "READY", "TOO_FAR", "Start", "assemble_natively"]

# How it ends.
READY, OPEN, CONTRADICTION, TOO_FAR = range(4)

# As in ``analyses.assembly.assemble``, which hands them over where they can differ.
RANK = 1e-10
DUST = 1e-13  # rows this small are rounding


class Drawn(Outputs):
    """What the drawing and the model's formulas say: coordinates as drawn, wanted coordinates and velocities."""

    q = Vector("nq")
    wanted = Vector("n_q")
    rates = Vector("n_v")


class Target(Outputs):
    """How far joints are from what is wanted, and their velocities as rows of a map of u."""

    residual = Vector("n_v")
    rows = Matrix("n_v", "nv")


class Start(Record):
    """What assembly works on.

    Attributes:
        nq, nv, rows, holonomic: sizes of the model in relative coordinates.
        n_q, n_v: rows of coordinates and velocities that can be wanted.
        closed, exact, compatible, largest_move, steps, most_stages, most_lost: limits of ``analyses.assembly``.
        everyday: all units are 1; unit_q, unit_u, unit_rows: even units of coordinates and velocities, and what rows
            of constraints are multiplied by.
        unseen: mask of rows of coordinates of joints that no constraint sees; turns: of rows of velocities, of angles;
            lengths: 1 for velocities that are lengths.
        own, given: masks of rows of velocities whose joints have wanted coordinates: by the model, by the caller.
        own_q, given_q: the same for rows of coordinates.
        own_rates, given_rates: masks of wanted velocities.
        coordinates, rates: what is given.
        place, place_u: entry of q for each row of coordinates, of u for each row of velocities; −1 for joints that
            close loops.
        winding, winding_row: entries of q that count turns; row of coordinates that each follows, or −1.
        drawn, measured, moves, led, targets: kernels, see ``make_start``.
        off_by, off_row: the largest residual where it failed, and its row: constraints first, then what was wanted.
    """

    nq, nv, rows, holonomic, n_parameters, n_q, n_v, n_windings, steps, off_row = 10 * Int()
    most_stages, most_lost = 2 * Int()
    time, closed, exact, compatible, largest_move, off_by = 6 * Real()
    moved, everyday = 2 * Flag()
    unit_q = Vector("nq")
    unit_u = Vector("nv")
    unit_rows = Vector("rows")
    unseen = Integers("n_q")
    turns = Integers("n_v")
    lengths = Integers("nv")
    parameters = Vector("n_parameters")
    own, given = 2 * Integers("n_v")
    own_q, given_q = 2 * Integers("n_q")
    own_rates, given_rates = 2 * Integers("n_v")
    coordinates = Vector("n_q")
    rates = Vector("n_v")
    place = Integers("n_q")
    place_u = Integers("n_v")
    winding, winding_row = 2 * Integers("n_windings")
    constraints, move, drawn, measured, moves, led, targets = 7 * Kernel()


@native
def _any(mask: np.ndarray) -> bool:
    found = False
    for v in mask:
        found = found or v != 0
    return found


@native
def _least(A: np.ndarray, b: np.ndarray, x: np.ndarray):
    """The x of least norm that brings A x closest to b."""
    x[:] = 0.0
    if A.shape[0] == 0:
        return
    rank, _, Q, R, pivots = orthogonal_factors(A.T.copy(), RANK, DUST)
    if rank > 0:
        pseudo_solve(rank, Q, R, pivots, b, x)


@native
def _row_unit(s: Start, row: np.ndarray) -> float:
    """What a row besides those of the constraints is multiplied by: one over the power of two next to its size."""
    if s.everyday:
        return 1.0
    size = largest_size(row * s.unit_u)
    return 2.0 ** (-math.floor(math.log(size) / math.log(2.0) + 0.5)) if size > 0.0 else 1.0


@native
def _shortest(s: Start, A: np.ndarray, b: np.ndarray, x: np.ndarray):
    """The x of least norm, in even units, that brings A x closest to b."""
    _least(A * s.unit_u, b, x)
    x *= s.unit_u


@native
def _follow_windings(s: Start, q: np.ndarray):
    """Winding coordinates set to the angles that the poses show."""
    if s.n_windings > 0:
        seen = s.measured(s.time, q, s.parameters)
        for i in range(s.n_windings):
            q[s.winding[i]] = seen[s.n_q + i]


@native
def _system(
    s: Start, q: np.ndarray, target: np.ndarray, mask: np.ndarray, residual: np.ndarray, A: np.ndarray, unit: np.ndarray
) -> int:
    """Residuals and Jacobian of the loops and of what is wanted, in even units; returns the number of rows.

    Args:
        unit: gets what each row was multiplied by.
    """
    e = Closure.of(s, s.constraints(s.time, q, np.zeros(s.nv), s.parameters))
    n = s.holonomic
    unit[:n] = s.unit_rows[:n]
    residual[:n] = e.phi
    A[:n] = e.A[:n]
    if s.n_v > 0:
        w = Target.of(s, s.targets(s.time, q, s.parameters, target))
        for i in range(s.n_v):
            if mask[i] != 0:
                residual[n] = w.residual[i]
                A[n] = w.rows[i]
                unit[n] = _row_unit(s, w.rows[i])
                n += 1
    for i in range(n):
        residual[i] *= unit[i]
        A[i] *= unit[i]
    return n


@native
def _newton(s: Start, q: np.ndarray, target: np.ndarray, mask: np.ndarray, reach: float) -> int:
    """The closest q that closes the loops and meets the targets, in place; OPEN if there is none.

    Args:
        reach: how far targets may be off; lengths go up to twice as far in one step, angles no more than usual.
    """
    size, error, n = 1.0 + largest_size(q / s.unit_q), math.inf, s.holonomic + s.n_v
    residual, unit, A = np.empty(n), np.empty(n), np.empty((n, s.nv))
    du, longest_step = np.zeros(s.nv), s.unit_u.copy()
    for k in range(s.nv):
        if s.lengths[k] != 0:
            longest_step[k] *= max(1.0, reach / s.largest_move)
    for _ in range(s.steps):
        n = _system(s, q, target, mask, residual, A, unit)
        previous, error = error, 0.0
        for i in range(n):
            if not np.isfinite(residual[i]):
                s.off_by, s.off_row = math.inf, i
                return OPEN
            if abs(residual[i]) > error:
                error = abs(residual[i])
                s.off_by, s.off_row = error / unit[i], i
        if error <= s.exact * size or (error <= s.closed * size and error > 0.1 * previous):
            return READY
        _shortest(s, A[:n], residual[:n], du)
        longest = largest_size(du / longest_step)
        scale = min(1.0, 2.0 * s.largest_move / longest) if longest > 0.0 else 1.0
        q[:] = s.move(q, -scale * du, s.parameters)[: s.nq]
        _follow_windings(s, q)
    return OPEN


@native
def _largest_way(s: Start, q: np.ndarray, way: np.ndarray, mask: np.ndarray) -> tuple[float, int]:
    """The largest move along a way, in even units, and the row of the largest turn that is too far, or −1."""
    largest, most, far = 0.0, s.most_stages * s.largest_move, -1
    units = np.ones(s.n_v)
    if not s.everyday:
        w = Target.of(s, s.targets(s.time, q, s.parameters, s.measured(s.time, q, s.parameters)[: s.n_q]))
        for i in range(s.n_v):
            units[i] = _row_unit(s, w.rows[i])
    for i in range(s.n_v):
        if mask[i] != 0:
            largest = max(largest, abs(way[i]) * units[i])
            if s.turns[i] != 0 and abs(way[i]) > most and (far < 0 or abs(way[i]) > abs(way[far])):
                far = i
    return largest, far


@native
def _lead(s: Start, q: np.ndarray, wanted: np.ndarray, mask: np.ndarray, mask_q: np.ndarray) -> int:
    """q led along a path to what is wanted, in place."""
    status = READY
    if _any(mask):
        begin = s.measured(s.time, q, s.parameters)[: s.n_q].copy()
        aim = begin.copy()
        for i in range(s.n_q):
            if mask_q[i] != 0:
                aim[i] = wanted[i]
        way = s.moves(begin, aim, s.parameters).copy()
        largest, far = _largest_way(s, q, way, mask)
        if largest > s.most_stages * s.largest_move:
            # What no constraint sees has no branch to keep.
            for i in range(s.n_q):
                if s.unseen[i] != 0 and mask_q[i] != 0:
                    q[s.place[i]] = begin[i] = wanted[i]
            way[:] = s.moves(begin, aim, s.parameters)
            largest, far = _largest_way(s, q, way, mask)
            if far >= 0:
                s.off_by, s.off_row = abs(way[far]), s.holonomic
                for i in range(far):
                    s.off_row += 1 if mask[i] != 0 else 0
                return TOO_FAR
        stages, lost = max(1, math.ceil(min(largest / s.largest_move, float(s.most_stages)))), 0
        reach = max(s.largest_move, largest / stages)
        for stage in range(1, stages + 1):
            share = stage / stages
            status = _newton(s, q, s.led(begin, share * way, s.parameters).copy(), mask, reach)
            lost += 1 if status != READY else 0
            if lost > s.most_lost:
                return status
    else:
        status = _newton(s, q, wanted, mask, s.largest_move)
    if status != READY:
        return status
    for i in range(s.n_windings):
        row = s.winding_row[i]
        if row >= 0 and mask_q[row] != 0:
            q[s.winding[i]] = wanted[row]
    for i in range(s.n_q):
        # The path counts turns; the last digits are those that were asked for.
        k = s.place[i]
        if mask_q[i] != 0 and k >= 0 and abs(q[k] - wanted[i]) < 1e-9 * s.unit_q[k]:
            q[k] = wanted[i]
    return READY


@native
def _put(s: Start, q: np.ndarray, wanted: np.ndarray, mask_q: np.ndarray):
    """Wanted coordinates where q has them itself."""
    for i in range(s.n_q):
        if mask_q[i] != 0 and s.place[i] >= 0:
            q[s.place[i]] = wanted[i]


@native
def _positions(s: Start, q: np.ndarray, wanted: np.ndarray) -> int:
    """Closed loops: the model's own start first, from there what was given; else the values themselves."""
    drawn = q.copy()
    status = _lead(s, q, wanted, s.own, s.own_q)
    if status == READY and s.moved:
        status = _lead(s, q, s.coordinates, s.given, s.given_q)
    if status != OPEN:
        return status
    both, both_q, aim = s.own.copy(), s.own_q.copy(), wanted.copy()
    for i in range(s.n_v):
        both[i] = max(both[i], s.given[i])
    for i in range(s.n_q):
        if s.given_q[i] != 0:
            both_q[i], aim[i] = 1, s.coordinates[i]
    q[:] = drawn
    _put(s, q, aim, both_q)
    _follow_windings(s, q)
    by, row = s.off_by, s.off_row
    status = _newton(s, q, aim, both, s.largest_move)
    if status != READY:
        s.off_by, s.off_row = by, row
    return status


@native
def _velocities(s: Start, q: np.ndarray, u: np.ndarray, rates: np.ndarray, strict: np.ndarray, soft: np.ndarray) -> int:
    """Velocities of least norm that fit the constraints and the rows of ``strict``, close to those of ``soft``."""
    e = Closure.of(s, s.constraints(s.time, q, np.zeros(s.nv), s.parameters))
    A, b, n = np.empty((s.rows + s.n_v, s.nv)), np.empty(s.rows + s.n_v), s.rows
    unit = np.empty(s.rows + s.n_v)
    unit[:n] = s.unit_rows
    A[:n] = e.A
    b[:n] = -1.0 * e.rate
    desired, missing, m = np.empty((s.n_v, s.nv)), np.empty(s.n_v), 0
    if s.n_v > 0:
        w = Target.of(s, s.targets(s.time, q, s.parameters, s.measured(s.time, q, s.parameters)[: s.n_q]))
        for i in range(s.n_v):
            if strict[i] != 0:
                A[n] = w.rows[i]
                b[n] = rates[i]
                unit[n] = _row_unit(s, w.rows[i])
                n += 1
            elif soft[i] != 0:
                of_row = _row_unit(s, w.rows[i])
                desired[m] = w.rows[i] * of_row
                missing[m] = rates[i] * of_row
                m += 1
    for i in range(n):
        A[i] *= unit[i]
        b[i] *= unit[i]
    _shortest(s, A[:n], b[:n], u)
    if m > 0:
        # Along the directions that A leaves free: x − A⁺ A x, in even units.
        free, even = np.empty((m, s.nv)), A[:n] * s.unit_u
        for i in range(m):
            x, along = np.empty(s.nv), desired[i] * s.unit_u
            _least(even, even @ along, x)
            free[i] = along - x
            missing[i] -= (desired[i] * u).sum()
        more = np.empty(s.nv)
        _least(free, missing[:m], more)
        u += more * s.unit_u
    worst, largest = 0.0, 0.0
    for i in range(n):
        off = abs((A[i] * u).sum() - b[i])
        largest = max(largest, abs(b[i]))
        if off > worst or not np.isfinite(off):
            worst = off
            s.off_by, s.off_row = off / unit[i], i
    return READY if worst <= s.compatible * (1.0 + largest) else CONTRADICTION


@native
def assemble_natively(s: Start, q: np.ndarray, u: np.ndarray) -> int:
    """A state with all loops closed."""
    d = Drawn.of(s, s.drawn(s.time, s.parameters))
    wanted, rates, strict = d.wanted.copy(), d.rates.copy(), s.own_rates.copy()
    q[:] = d.q
    u[:] = 0.0
    if s.rows == 0:
        _put(s, q, wanted, s.own_q)
        _put(s, q, s.coordinates, s.given_q)
        for i in range(s.n_v):
            if s.given_rates[i] != 0:
                u[s.place_u[i]] = s.rates[i]
            elif s.own_rates[i] != 0:
                u[s.place_u[i]] = rates[i]
        return READY
    _follow_windings(s, q)
    status = _positions(s, q, wanted)
    if status != READY:
        return status
    none, conflict = np.zeros(s.n_v, dtype=np.int64), False
    for i in range(s.n_v):
        if s.given_rates[i] != 0:
            rates[i], strict[i] = s.rates[i], 1
            conflict = True
    status = _velocities(s, q, u, rates, strict, none)
    if status != READY and _any(s.own_rates) and (conflict or s.moved):
        status = _velocities(s, q, u, rates, s.given_rates, strict)
    return status
