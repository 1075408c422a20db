"""A prescribed motion as a trajectory."""

from __future__ import annotations

import numpy as np

from dalembert.analyses.motions.follow import Followed
from dalembert.analyses.simulation.resample import resample
from dalembert.dynamics import Dynamics
from dalembert.integrators.base import Result, Status
from dalembert.state import State
from dalembert.trajectory import Certificate, Trajectory
from dalembert.trajectory.outcome import Outcome
from dalembert.trajectory.record import record

__all__ = ["followed_run"]


def followed_run(
    dynamics: Dynamics,
    times: np.ndarray,
    followed: Followed,
    work: np.ndarray,
    parameters: dict[str, float],
    certificate: Certificate,
    values: np.ndarray | None = None,
) -> Trajectory:
    """The states of a prescribed motion, recorded as those of a simulation.

    Args:
        work: of drives and of forces without potential since the start (J).
        values: all parameters at every instant, where outputs may name reactions.
    """
    states = np.concatenate([followed.q, followed.u, work[:, None]], axis=1)
    result = Result(times, states, Status.FINISHED, times[-1], states[-1], 0, 0, len(times))
    outcome = Outcome(result, [(0, dict(parameters))])
    first = State(float(times[0]), followed.q[0], followed.u[0], dynamics.coordinates, parameters)
    feedback = values is not None and (dynamics.flat.feedback or dynamics.flat.watched)
    seen = dynamics.kernels.observer(times, followed.q, followed.u, values) if feedback else None
    data = record(dynamics, outcome, "prescribed", lambda name: first.joint(name)[0], seen)
    data.attrs |= {"reason": "prescribed motion", "seconds": 0.0}
    return Trajectory(data, certificate, dynamics, resample)
