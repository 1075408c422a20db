"""Kinematics: the motion of a mechanism whose freedoms are all driven, without any force.

Positions, velocities and accelerations follow from constraints and drives instant by instant (``dynamics.prescribed``);
one more derivative of the same equations gives jerks, and their columns what a unit of each drive moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.assemble_given import Desired
from dalembert.analyses.assembly.assemble_search import Search
from dalembert.analyses.assembly.prescribe import given_motion
from dalembert.analyses.motions.follow import Followed, Following
from dalembert.analyses.motions.followed_run import followed_run
from dalembert.analyses.motions.kinematics_events import BEYOND, END, Found, Watch, find_events
from dalembert.analyses.motions.kinematics_result import Kinematics, Rates
from dalembert.analyses.motions.prepare_motion import MotionOptions, PreparedMotion, beginning, instants, key_of
from dalembert.analyses.simulation.options import public_with
from dalembert.codegen import Kernel
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.dynamics.cached import cached_for
from dalembert.dynamics.motion_rates import jerk_kernel, rates_kernel, solve_along
from dalembert.errors import DalembertError, SimulationError
from dalembert.model import Model, flatten, model_of
from dalembert.planar import Planar
from dalembert.trajectory import Certificate, Check

__all__ = ["kinematics"]

POSITION_LIMIT = 1e-9
VELOCITY_LIMIT = 1e-9


@public_with(MotionOptions)
def kinematics(
    model: Model | Planar | Dynamics,
    duration: float | Sequence[float] | np.ndarray | None = None,
    motion: Mapping[Any, Any] | None = None,
    **options: Unpack[MotionOptions],
) -> Kinematics:
    """The motion of a mechanism whose freedoms are all driven: positions, velocities, accelerations, jerks.

    Args:
        model: the mechanism; its drives are prescribed motion.
        duration: how long (s); or the instants themselves.
        motion: more prescribed quantities, or others than the model's drives: joints, outputs, formulas such as
            ``"x(slider)"``, points, quantities of a planar mechanism, each with a formula of t, samples, or
            ``da.Samples``.
        initial: joint coordinates to begin with, or a state: they decide about the branch.
        parameters: values to use instead of the model's.
        output_step: interval of the instants (s); default: a thousandth of the duration.

    Returns:
        the motion with its rates, dead points, singular positions and changes of branch with time and joint,
        transmission ratios and angles, and paths of points. Where the drives lead out of reach, the motion ends
        there: ``certificate`` says why.

    Raises:
        DalembertError: a freedom is not driven, or drives contradict each other; the message names them.

    Example:
        motion = da.kinematics(da.library.four_bar(), 1.0, {"A": "2*pi*t"})
        motion.joint("D").acceleration
    """
    times = instants(duration, options.get("output_step"))
    given, parameters = dict(motion or {}), dict(options.get("parameters") or {})
    initial = beginning(options.get("initial"))
    planar = model if isinstance(model, Planar) else None
    if isinstance(model, Dynamics):
        model = model.model
    if isinstance(model, Planar):
        model = model.prescribed_model(given, ())
    made = model_of(model)
    if not given and not any(constraint.gives() for constraint, _ in flatten(made).constraints.values()):
        raise _undriven(made, parameters)
    prepared = cached_for(made, ("kinematics", tuple(map(key_of, given))), lambda: Prepared(made, given))
    return prepared.run(times, given, initial, parameters, planar)


class Prepared(PreparedMotion):
    """All that does not depend on values, with kernels for higher rates."""

    @cached_property
    def jerk_kernel(self) -> Kernel:
        return jerk_kernel(self.dynamics.kernels, self.follower.targets)

    @cached_property
    def rates_kernel(self) -> Kernel:
        return rates_kernel(self.dynamics.kernels)

    def run(
        self,
        times: np.ndarray,
        motion: Mapping[Any, Any],
        initial: Any,
        parameters: dict[str, float],
        planar: Planar | None,
    ) -> Kinematics:
        """Follow the motion, then look at it."""
        given = given_motion(self.flat, motion)
        signals = self.signals(given, (times[0], times[-1]))
        following = Following(self.follower, signals, parameters)
        y = following.begin(times[0], initial, [one.joint for one in given])
        followed, ended = self._along(following, times, y)
        times = times[: len(followed.q)] if ended is None else _with_end(times, followed, ended)
        rates = self._rates(times, followed, following, parameters)
        names = [one.name for one in given]
        work = self._work(times, followed, parameters)
        run = followed_run(self.dynamics, times, followed, work, parameters, Certificate(True, ""))
        watch = Watch(
            self.dynamics, following, times, followed, rates, names, run,
            lambda t, y: self._joint_map(t, y, parameters), self.contacts,
        )  # fmt: skip
        events = find_events(watch, ended)
        touched = self.contacts.checks(times, followed, parameters, forces=False)
        run.certificate = _certificate(self.dynamics, times, followed, parameters, events, touched)
        drives = {one.name: one.joint[0] if one.joint is not None else None for one in given}
        return Kinematics(self.model, run, rates, tuple(events), drives, planar)

    # The motion, as far as it goes

    def _along(self, following: Following, times: np.ndarray, y: np.ndarray) -> tuple[Followed, Found | None]:
        """All states; or those up to where the drives lead out of reach, with the last that can be reached."""
        try:
            return following.along(times, y), None
        except SimulationError as error:
            done = len(following.reached)
            if done < 2 or following.record.integrates:
                raise
            states = following.reached
            low, high, last, words = float(times[done - 1]), float(times[done]), states[-1], str(error)
            # A walk needs an instant to begin with; each half of the interval is tried in turn.
            while high - low > 1e-12 * (1.0 + abs(high)):
                middle = (low + high) / 2
                try:
                    last = following.walk(np.array([low, middle]), last, 2)[0][-1]
                    low = middle
                except SimulationError:
                    high = middle
            walked, du = following.walk(times[:done], states[0], 3)
            ends, end = following.walk(np.array([times[done - 1], low]), walked[-1], 2)
            if low > times[done - 1]:
                walked, du = np.vstack([walked, ends[-1:]]), np.vstack([du, end[-1:]])
            return following.result(walked, du, None), Found(low, "limit", "", float("nan"), words)

    # Rates

    def _rates(
        self, times: np.ndarray, followed: Followed, following: Following, parameters: dict[str, float]
    ) -> Rates:
        """Jerks, what each drive moves, and rates of joints, bodies and outputs."""
        d, p, n = self.dynamics, self.dynamics.parameters(parameters), len(times)
        q, u, du = followed.q, followed.u, followed.du
        seen = self.jerk_kernel(times, q, u, p, du)
        J = np.ascontiguousarray(np.asarray(seen.jacobian).reshape(n, -1, d.nv))
        third = following.third(times)
        columns = following.columns()
        sides = np.zeros((n, 1 + len(columns), J.shape[1]))
        sides[:, 0] = np.asarray(seen.bias).reshape(n, -1) - third
        for k, row in enumerate(columns):
            sides[:, 1 + k, row] = -1.0
        found = np.empty((n, 1 + len(columns), d.nv))
        solve_along(J, sides, found)
        jerks, unit = found[:, 0], found[:, 1:]
        more = self.rates_kernel(times, q, u, p, du, np.ascontiguousarray(jerks))
        return Rates.of(d, more, du, jerks, unit, J)

    def _joint_map(self, t: float, y: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
        """Velocities of all joints by unit velocities, at one state."""
        d, none = self.dynamics, np.zeros(self.dynamics.nv)
        seen = self.rates_kernel(t, y[: d.nq], y[d.nq :], d.parameters(parameters), none, none)
        return np.asarray(seen.joint_map).reshape(-1, d.nv)

    def _work(self, times: np.ndarray, followed: Followed, parameters: dict[str, float]) -> np.ndarray:
        """Work of drives and of forces without potential: by the theorem of energy, what T + V has gained (J)."""
        seen = self.dynamics.observe(times, followed.q, followed.u, parameters)
        energy = np.asarray(seen.kinetic).reshape(-1) + np.asarray(seen.potential).reshape(-1)
        return energy - energy[0]


def _undriven(model: Model, parameters: dict[str, float]) -> DalembertError:
    """Who can move though nothing is driven."""
    dynamics = cached_dynamics(model, "auto", "relative")
    state = assemble_state(dynamics, None, None, parameters, 0.0)
    loose = dynamics.u_names
    if not dynamics.is_large:
        _, loose = Search(dynamics, Desired({}, (), {}), parameters, 0.0).freedoms(state.q)
    one = loose[0] if loose else "A"
    return DalembertError(
        f"{model.name!r} is not driven: {', '.join(loose) or 'nothing'} can move, and the model has no drive.  "
        f"Fix: motion={{{one!r}: '2*pi*t'}}, or model.drive(…)"
    )


def _with_end(times: np.ndarray, followed: Followed, ended: Found) -> np.ndarray:
    """Instants up to the last that is reached, which is not among those that were asked for."""
    count = len(followed.q)
    before = times[times < ended.time][: count - 1] if count > 1 else times[:1]
    return np.append(before, ended.time) if len(before) < count else times[:count]


def _certificate(
    dynamics: Dynamics,
    times: np.ndarray,
    followed: Followed,
    parameters: dict[str, float],
    events: list[Found],
    touched: list[Check],
) -> Certificate:
    """What the motion leaves open or enters, and how near to a singular position it comes."""
    checks: list[Check] = []
    ended = next((event for event in events if event.kind == END), None)
    if dynamics.rows:
        seen = dynamics.residuals(times, followed.q, followed.u, parameters)
        for name, values, limit in (
            ("position residual", seen.position, POSITION_LIMIT),
            ("velocity residual", seen.velocity, VELOCITY_LIMIT),
        ):
            size = 1.0 + float(np.abs(followed.u if name.startswith("v") else followed.q).max(initial=0.0))
            largest = float(np.abs(np.asarray(values)).max(initial=0.0)) / size
            checks.append(Check(name, largest, limit, "", "what the loops leave open, relative"))
    checks += [*followed.checks(), *touched]
    remarks = tuple(str(event) for event in events if event.kind in ("singular", "change of branch", BEYOND))
    message = "the drives lead the mechanism all the way" if ended is None else str(ended)
    return Certificate(ended is None, message, tuple(checks), remarks, {"instants": len(times)})
