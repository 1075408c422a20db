"""What a run leaves open, as native code: everything that is recorded, and the numbers of its certificate.

The same quantities as ``trajectory.record`` and ``analyses.simulation.certify`` find, for programs that run without
Python.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.dynamics.evaluate import largest_coupled
from dalembert.native import Flag, Int, Integers, Kernel, Matrix, Real, Record, Ref, Vector, native
from dalembert.numerics.context import OK, Closure, Context
from dalembert.numerics.linear import RANK_TOLERANCE
from dalembert.numerics.orientations import orientations_along
from dalembert.numerics.singular_values import sizes_of_rows

__all__ = ["MEASURED", "Watch", "finish", "watch_outputs"]

# The numbers of a certificate, in the order of ``Watch.measured``, by the names of its checks.
MEASURED = (
    "position residual", "velocity residual", "velocity correction", "conditioning", "acceleration residual",
    "energy balance", "quaternion norm", "linear momentum", "angular momentum",
)  # fmt: skip
POSITION, VELOCITY, CORRECTION, CONDITIONING, ACCELERATION, ENERGY, NORM, LINEAR, ANGULAR = range(len(MEASURED))

# How often the norm of quaternions is looked at.
SAMPLES = 50


class Watch(Record):
    """What is recorded of a run, and where it stands.

    Attributes:
        n_rows: outputs there is room for.
        nq, nv, rows, holonomic: sizes of the model.
        n_observed, n_bodies, n_coupled: outputs of the observer, bodies, rows of A in the dynamics kernel.
        at_…: where quantities begin among the outputs of the observer and of the dynamics kernel.
        n_angles, angle, angle_rate: angles known only up to whole turns, and their velocities, by entry.
        n_balls, ball: quaternions of joints whose sign is open, by entry.
        nearly: a singular value below this, relative to the largest, is looked at.
        heavy: gravity acts, along ``down``.
        counted: turns begin with those of ``first_angle``, signs of quaternions with those of ``first_ball``.
        time, states, observed, work: what is known at the outputs; ``orientation``: quaternions of the bodies.
        sizes, longest: the smallest singular value of A, relative, and the largest one, at the outputs that were
            looked at; NaN elsewhere.
        scale: the largest acceleration; passed: a singular position was passed.
        measured: the numbers of the certificate, see ``MEASURED``.
    """

    n_rows, nq, nv, rows, holonomic, n_observed, n_bodies, n_coupled, at_kinetic, at_potential = 10 * Int()
    at_carried, at_pose, at_momentum, at_coupled, at_gamma, n_angles, n_balls, rank = 8 * Int()
    nearly, scale = 2 * Real()
    heavy, passed, turning, counted = 4 * Flag()
    down = Vector(3)
    angle, angle_rate = 2 * Integers("n_angles")
    ball = Integers("n_balls")
    first_angle = Vector("n_angles")
    first_ball = Matrix("n_balls", 4)
    observer = Kernel()
    context = Ref(Context)
    time, work, sizes, longest = 4 * Vector("n_rows")
    states = Matrix("n_rows", "nq + nv + 1")
    observed = Matrix("n_rows", "n_observed")
    orientation = Vector("4 * n_rows * n_bodies")
    residuals = Matrix("n_rows", 2)
    measured = Vector(len(MEASURED))


@native
def _worse(w: Watch, which: int, value: float):
    """The larger of both; what is not finite counts as worst."""
    if not value <= w.measured[which]:
        w.measured[which] = value if np.isfinite(value) else math.inf


@native
def _closure(w: Watch, i: int) -> Closure:
    c = w.context
    return Closure.of(c, c.constraints(w.time[i], w.states[i, : c.nq + c.nv], c.parameters))


@native
def _size(w: Watch, i: int) -> float:
    """The smallest singular value of A at an output, of those that are not rounding, relative to the largest."""
    if w.sizes[i] == w.sizes[i]:
        return w.sizes[i]
    A = _closure(w, i).A
    flat = A.shape[0] <= A.shape[1]
    n, m = (A.shape[0], A.shape[1]) if flat else (A.shape[1], A.shape[0])
    V, sizes = np.empty((n, m)), np.empty(n)
    for r in range(n):
        for k in range(m):
            V[r, k] = A[r, k] if flat else A[k, r]
    sizes_of_rows(V, sizes)
    largest, rank = max(sizes[0], 1e-300), 0
    for r in range(n):
        if sizes[r] > RANK_TOLERANCE * largest:
            rank += 1
    w.rank = max(w.rank, rank)
    w.longest[i], w.sizes[i] = largest, sizes[w.rank - 1] / largest if w.rank > 0 else math.inf
    return w.sizes[i]


@native
def _corner(w: Watch, i: int) -> bool:
    """True if the singular value comes down to zero at an output: the lines through its neighbors meet below zero."""
    s = _size(w, i)
    if not s < w.nearly:
        return False
    left2, left, right, right2 = _size(w, i - 2), _size(w, i - 1), _size(w, i + 1), _size(w, i + 2)
    if s > left or s > right:
        return False
    down, up = left - left2, right2 - right
    if up - down <= 0.0:
        return left + down <= 0.0
    theta = (left + down - right + up) / (up - down)
    return left + down * (theta + 1.0) <= 0.0


@native
def _passes_singularity(w: Watch, first: int, last: int) -> bool:
    """True if the constraints lose rank between two outputs.

    Singular values change by no more than the norm of what A changes by; so most outputs need not be looked at.
    """
    if last - first < 5:
        return False
    seen, size = _closure(w, first).A.copy(), _size(w, first)
    largest = w.longest[first]
    for i in range(first + 2, last - 2):
        A, distance = _closure(w, i).A, 0.0
        for r in range(A.shape[0]):
            for k in range(A.shape[1]):
                distance += (A[r, k] - seen[r, k]) ** 2
        distance = math.sqrt(distance)
        if size * largest - distance > w.nearly * (largest + distance):
            continue
        if _corner(w, i):
            return True
        seen[:, :] = _closure(w, i).A
        size = _size(w, i)
        largest = w.longest[i]
    return False


@native
def _accelerations(w: Watch, i: int, rate: np.ndarray):
    """|A u̇ + γ| at an output."""
    c, y = w.context, w.states[i]
    c.tau[:] = 0.0
    if c.rhs(w.time[i], y, rate) != OK:
        w.measured[ACCELERATION] = math.inf
        return
    du = rate[c.nq : c.nq + c.nv]
    for x in du:
        w.scale = max(w.scale, abs(x))
    e = c.dynamics(w.time[i], y[: c.nq + c.nv], c.parameters, c.tau)
    _worse(w, ACCELERATION, largest_coupled(e, du, w.at_coupled, w.at_gamma, w.n_coupled))


@native
def watch_outputs(w: Watch, first: int, last: int):
    """Record outputs and measure what they leave open, with the parameters of their time."""
    c, rate = w.context, np.zeros(w.nq + w.nv + 1)
    for i in range(first, last):
        w.observed[i] = w.observer(w.time[i], w.states[i, : w.nq + w.nv], c.parameters)
        w.work[i] = w.states[i, w.nq + w.nv]
        if w.at_carried >= 0:
            w.work[i] += w.observed[i, w.at_carried] - w.observed[0, w.at_carried]
        w.sizes[i] = math.nan
        if w.rows == 0:
            continue
        e, position, velocity = _closure(w, i), 0.0, 0.0
        for x in e.phi:
            position = max(position, abs(x))
            _worse(w, POSITION, abs(x))
        for x in e.rate:
            velocity = max(velocity, abs(x))
            _worse(w, VELOCITY, abs(x))
        w.residuals[i, 0] = position
        w.residuals[i, 1] = velocity
        _accelerations(w, i, rate)
    if w.rows > 0 and not w.passed:
        w.passed = _passes_singularity(w, first, last)


@native
def _unwind(w: Watch, n: int):
    """Angles that are known from poses, with their turns counted; quaternions keep their sign."""
    turn = 2.0 * math.pi
    for k in range(w.n_angles):
        at, rate = w.angle[k], w.angle_rate[k]
        before = w.first_angle[k] if w.counted else w.observed[0, at]
        for i in range(n):
            expected = before
            if i > 0:
                expected += (w.time[i] - w.time[i - 1]) * (w.observed[i, rate] + w.observed[i - 1, rate]) / 2.0
            x = w.observed[i, at]
            before = x + turn * math.floor((expected - x) / turn + 0.5)
            w.observed[i, at] = before
    for k in range(w.n_balls):
        ball = w.ball[k]
        sign = w.first_ball[k].copy() if w.counted else w.observed[0, ball : ball + 4].copy()
        for i in range(n):
            product = 0.0
            for j in range(4):
                product += sign[j] * w.observed[i, ball + j]
            for j in range(4):
                if product < 0.0:
                    w.observed[i, ball + j] *= -1.0
                sign[j] = w.observed[i, ball + j]


@native
def _energies(w: Watch, n: int):
    """|Δ(T + V − W)| over the energy that moves."""
    T, V = w.observed[:n, w.at_kinetic], w.observed[:n, w.at_potential]
    low, high, drift, begin = np.full(3, math.inf), np.full(3, -math.inf), 0.0, T[0] + V[0] - w.work[0]
    for i in range(n):
        low[0], high[0] = min(low[0], T[i]), max(high[0], T[i])
        low[1], high[1] = min(low[1], V[i]), max(high[1], V[i])
        low[2], high[2] = min(low[2], w.work[i]), max(high[2], w.work[i])
        off = abs(T[i] + V[i] - w.work[i] - begin)
        if not off <= drift:
            drift = off if np.isfinite(off) else math.inf
    moved = max(high[0], max(high[0] - low[0], max(high[1] - low[1], high[2] - low[2])))
    w.measured[ENERGY] = drift / moved if moved > 0.0 else drift


@native
def _momenta(w: Watch, n: int):
    """Changes of momenta that nothing outside changes."""
    at, size, turn, change = w.at_momentum, 1.0, 1.0, np.empty(3)
    for i in range(n):
        for k in range(3):
            turn = max(turn, abs(w.observed[i, at + k]))
            size = max(size, abs(w.observed[i, at + 3 + k]))
    for i in range(n):
        fall = 0.0
        for k in range(3):
            change[k] = w.observed[i, at + 3 + k] - w.observed[0, at + 3 + k]
            fall += change[k] * w.down[k]
            _worse(w, ANGULAR, abs(w.observed[i, at + k] - w.observed[0, at + k]) / turn)
        for k in range(3):
            _worse(w, LINEAR, abs(change[k] - (fall * w.down[k] if w.heavy else 0.0)) / size)


@native
def _norms(w: Watch, n: int):
    """How far quaternions are from unit length."""
    c, still = w.context, np.zeros(w.nv)
    if not w.turning:
        return
    i = 0
    while i < n:
        unit = c.move(w.states[i, : w.nq], still, c.parameters)
        for k in range(w.nq):
            _worse(w, NORM, abs(unit[k] - w.states[i, k]))
        i += max(1, n // SAMPLES)


@native
def finish(w: Watch, context: Context, n: int):
    """What is known when a run has ended after n outputs; ``context``: of the run."""
    s = context.statistics
    w.measured[CORRECTION] = s.largest_correction
    w.measured[CONDITIONING] = math.inf if w.passed else 1.0 / max(s.smallest_pivot, 1e-300)
    w.measured[ACCELERATION] /= 1.0 + w.scale
    _energies(w, n)
    _momenta(w, n)
    _norms(w, n)
    _unwind(w, n)
    if w.n_bodies > 0:
        poses = np.empty((n, w.n_bodies, 9))
        for i in range(n):
            for b in range(w.n_bodies):
                for k in range(9):
                    poses[i, b, k] = w.observed[i, w.at_pose + 12 * b + k]
        orientations_along(poses, w.orientation[: 4 * n * w.n_bodies].reshape(n, w.n_bodies, 4))
