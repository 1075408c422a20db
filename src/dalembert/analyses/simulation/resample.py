"""A trajectory at other times: quintics between the outputs, led back onto the constraints, never across an event."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from dalembert.analyses.simulation.certify import certify
from dalembert.analyses.simulation.motion_sizes import ENOUGH
from dalembert.dynamics import Context, Dynamics
from dalembert.errors import DalembertError, SimulationError
from dalembert.integrators.base import Result, Status
from dalembert.native import native
from dalembert.numerics.context import OK
from dalembert.trajectory import Certificate, Check, Trajectory
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.record import record
from dalembert.trajectory.recorded import Recorded
from dalembert.values import NO_NUMBER, is_positive

__all__ = ["resample"]

MOST_TIMES = 10_000_000
NUDGE = 1e-3  # of a gap between outputs, for the second rates
# Next to an event the motion is integrated from the nearest output, as far as this many evaluations lead.
TOLERANCE, MOST_EVALUATIONS = 1e-10, 20_000


def resample(run: Trajectory, times: Iterable[float] | float | None = None, *, step: float | None = None) -> Trajectory:
    """See ``Trajectory.resample``."""
    wanted = _wanted(run, times, step)
    states = _Between(run).states(wanted)
    result = Result(wanted, states, Status.FINISHED, float(wanted[-1]), states[-1], 0, 0, 0)
    outcome = Outcome(result, _segments(run, wanted), _events(run, wanted), projects=True)
    known = run.data.joint_coordinates
    begin = {
        str(name): float(cast(Any, np.interp(wanted[0], run.time, known.sel(joint_q=name))))
        for name in known.joint_q.values
    }

    def start(name: str) -> np.ndarray:
        return np.array([value for entry, value in begin.items() if entry == name or entry.startswith(f"{name}[")])

    data = record(run.dynamics, outcome, run.attrs["integrator"], start)
    data.attrs["reason"] = run.attrs.get("reason", "")
    _count_turns(run, data)
    # The error of the motion is known from the run; what is interpolated leaves open may be as much.
    judged = (run.certificate.accuracy or ENOUGH, None) if run.certificate.checked else None
    fresh = certify(run.dynamics, outcome, data, run.dynamics.context(outcome.segments[-1][1]), judged)
    return Trajectory(data, _certificate(run, fresh, len(wanted)), run.dynamics, resample)


def _wanted(run: Trajectory, times: Iterable[float] | float | None, step: float | None) -> np.ndarray:
    first, last = float(run.time[0]), float(run.time[-1])
    if (times is None) == (step is None):
        raise DalembertError("resample takes either times or step=…")
    if step is not None:
        if not is_positive(step):
            raise DalembertError(f"step must be a positive number of seconds, got {step!r}")
        count = math.floor((last - first) / step * (1 + 1e-12))
        if count > MOST_TIMES:
            raise DalembertError(f"{count} times asked for, at most {MOST_TIMES} are kept.  Fix: a longer step")
        return np.minimum(first + step * np.arange(count + 1), last)
    try:
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
    except NO_NUMBER:
        raise DalembertError(f"times must be numbers, got {times!r}") from None
    if wanted.ndim != 1 or not len(wanted) or not np.all(np.isfinite(wanted)) or np.any(np.diff(wanted) <= 0):
        raise DalembertError("times must be finite numbers, each larger than the one before")
    outside = wanted[(wanted < first) | (wanted > last)]
    if len(outside):
        raise DalembertError(
            f"the trajectory is known from {first:g} s to {last:g} s, not at t = {outside[0]:g} s"
            f"{f' and {len(outside) - 1} more' if len(outside) > 1 else ''}.  Fix: times within, or a longer simulation"
        )
    return wanted


def _breaks(run: Trajectory) -> list[tuple[float, bool]]:
    """Times at which the motion is not smooth, and whether parameters change there."""
    flat = run.dynamics.flat.events
    acting = [(happened.time, flat[happened.name][0]) for happened in run.events]
    return [(t, bool(e.set or e.switch)) for t, e in acting if not e.stop and e.acts]


def _segments(run: Trajectory, wanted: np.ndarray) -> list[tuple[int, dict[str, float]]]:
    """Parameters from each of the new outputs on; an output at the time of an event shows what was before it."""
    changes = [t for t, changes in _breaks(run) if changes]
    starts = np.searchsorted(wanted, changes, side="right")
    (_, first), *rest = run.segments
    found = [(0, first)]
    for start, (_, values) in zip(starts, rest, strict=False):
        found = [*found, (int(start), values)] if start > 0 else [(0, values)]
    return found


def _events(run: Trajectory, wanted: np.ndarray) -> list[Any]:
    return [event for event in run.events if wanted[0] <= event.time <= wanted[-1]]


@native
def _rates_along(
    c: Context, times: np.ndarray, states: np.ndarray, tiny: np.ndarray, rates: np.ndarray, bends: np.ndarray
) -> int:
    """ẏ and ÿ at many states, ÿ from ẏ a tiny time before and after; returns how many were found before one failed."""
    n = states.shape[1]
    moved, before = np.empty(n), np.empty(n)
    for i in range(times.shape[0]):
        e, y = tiny[i], states[i]
        if c.rhs(times[i], y, rates[i]) != OK:
            return i
        for j in range(n):
            moved[j] = y[j] - e * rates[i, j]
        if c.rhs(times[i] - e, moved, before) != OK:
            return i
        for j in range(n):
            moved[j] = y[j] + e * rates[i, j]
        if c.rhs(times[i] + e, moved, bends[i]) != OK:
            return i
        for j in range(n):
            bends[i, j] = (bends[i, j] - before[j]) / (2.0 * e)
    return times.shape[0]


@native
def _retract_along(c: Context, times: np.ndarray, states: np.ndarray) -> int:
    """All states onto their manifold; returns the number of states done before one failed."""
    scratch = np.empty(states.shape[1])
    for i in range(times.shape[0]):
        if c.retract(times[i], states[i], scratch) != OK:
            return i
    return times.shape[0]


class _Between:
    """The motion between the outputs of a run."""

    def __init__(self, run: Trajectory):
        self.dynamics: Dynamics = run.dynamics
        self.t = np.ascontiguousarray(run.values("time"))
        self.y = np.concatenate([run.values("q"), run.values("u"), run.values("work")[:, None]], axis=1)
        self.breaks = np.array([t for t, _ in _breaks(run)])
        self.pieces = list(pieces(run.segments, len(self.t)))

    def states(self, wanted: np.ndarray) -> np.ndarray:
        """States at times within the run."""
        found = np.empty((len(wanted), self.y.shape[1]))
        if len(self.t) == 1:
            found[:] = self.y[0]
            return found
        k = np.clip(np.searchsorted(self.t, wanted, side="right") - 1, 0, len(self.t) - 2)
        right = wanted == self.t[k + 1]
        known = right | (wanted == self.t[k])
        found[known] = self.y[np.where(right, k + 1, k)[known]]
        # Outputs show what was before an event at their time, so an event at the left end of a gap falls into it.
        first, last = np.searchsorted(self.breaks, self.t[k]), np.searchsorted(self.breaks, self.t[k + 1])
        smooth = ~known & (first == last)
        for at, values in self.pieces:
            self._quintic(wanted, k, smooth & (k >= at.start) & (k < at.stop), values, found)
        for i in np.flatnonzero(~known & (first < last)):
            found[i] = self._beside_event(float(wanted[i]), int(k[i]), self.breaks[first[i] : last[i]])
        return found

    def _quintic(
        self, wanted: np.ndarray, k: np.ndarray, mine: np.ndarray, values: dict[str, float], found: np.ndarray
    ) -> None:
        """The polynomial through states and their first two rates at both ends of a gap."""
        if not mine.any():
            return
        k, t, context = k[mine], wanted[mine], self.dynamics.context(values)
        at = slice(int(k.min()), int(k.max()) + 2)
        knots, gaps = self.t[at], np.diff(self.t[at])
        tiny = NUDGE * np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
        rates, bends = np.full((2, len(knots), self.y.shape[1]), np.nan)
        _rates_along(context, knots, self.y[at], tiny, rates, bends)
        i, h = k - at.start, (self.t[k + 1] - self.t[k])[:, None]
        s = (t - self.t[k])[:, None] / h
        c0, c1, c2 = self.y[k], h * rates[i], h * h * bends[i] / 2
        A, B, C = self.y[k + 1] - c0 - c1 - c2, h * rates[i + 1] - c1 - 2 * c2, h * h * bends[i + 1] - 2 * c2
        c3, c4, c5 = 10 * A - 4 * B + C / 2, -15 * A + 7 * B - C, 6 * A - 3 * B + C / 2
        states = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
        self._onto_manifold(context, t, states)
        found[mine] = states

    def _beside_event(self, t: float, k: int, events: np.ndarray) -> np.ndarray:
        """Between an output and an event: by integration, forward from the output before or backward from the next."""
        if events[0] < t <= events[-1]:
            raise SimulationError(
                f"between the events at {events[0]:.9g} s and {events[-1]:.9g} s no output was recorded, so the "
                "motion at "
                f"t = {t:.9g} s is unknown.  Fix: simulate with a shorter output_step"
            )
        start = k if t <= events[0] else k + 1
        context = self.dynamics.context(next(values for at, values in self.pieces if at.start <= start < at.stop))
        state = _integrate(context, float(self.t[start]), self.y[start], t)[None]
        self._onto_manifold(context, np.array([t]), state)
        return state[0]

    def _onto_manifold(self, context: Context, t: np.ndarray, states: np.ndarray) -> None:
        unknown = np.flatnonzero(~np.isfinite(states).all(axis=1))
        done = int(unknown[0]) if len(unknown) else len(t)
        done = _retract_along(context, t[:done], states[:done])
        if done < len(t):
            raise SimulationError(
                f"the motion at t = {t[done]:.9g} s cannot be found from the outputs beside it.  "
                f"Fix: simulate with a shorter output_step"
            )


def _integrate(context: Context, t: float, y: np.ndarray, end: float) -> np.ndarray:
    """The state at another time, before or after t; not finite if it cannot be reached."""
    from scipy.integrate import DOP853

    rate = np.empty(len(y))

    def f(t: float, y: np.ndarray) -> np.ndarray:
        failed = context.rhs(t, np.ascontiguousarray(y), rate)
        return np.full(len(y), np.nan) if failed else rate.copy()

    solver: Any = cast(Any, DOP853)(f, t, y, end, rtol=TOLERANCE, atol=TOLERANCE)
    while solver.status == "running" and solver.nfev < MOST_EVALUATIONS:
        solver.step()
    return solver.y if solver.status == "finished" else np.full(len(y), np.nan)


def _count_turns(run: Trajectory, data: Recorded) -> None:
    """Angles of joints with as many turns as the run has counted."""
    turn = 2 * np.pi
    labels = [str(label) for label in data["joint_q"]]
    for name in run.dynamics.measurable:
        joint = run.dynamics.coordinates.nominal_joint(name).joint
        for index in joint.angles:
            at = labels.index(name if joint.nq == 1 else f"{name}[{index}]")
            counted = np.interp(data["time"], run.values("time"), run.values("joint_coordinates")[:, at])
            angle = data["joint_coordinates"][:, at]
            angle += turn * np.round((counted - angle) / turn)


def _certificate(run: Trajectory, fresh: Certificate, count: int) -> Certificate:
    """That of the run, with the worse of each check before and after: nothing gains trust by interpolation."""
    before, after = ({check.name: check for check in c.checks} for c in (run.certificate, fresh))
    checks = tuple(_worse(before.get(name), after.get(name)) for name in before | after)
    spoiled = [c.name for c in checks if not c.passed and (c.name not in before or before[c.name].passed)]
    remark = f"resampled: {count} times from {len(run.time)} outputs, by quintics projected onto the constraints"
    if spoiled:
        remark += f"; the outputs lie too far apart for a good {' and '.join(spoiled)}"
    remarks = (*run.certificate.remarks, remark)
    return replace(run.certificate, checks=checks, remarks=remarks)


def _worse(a: Check | None, b: Check | None) -> Check:
    return max((check for check in (a, b) if check is not None), key=lambda check: check.value)
