"""From raw states to labeled data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.evaluate import accelerations_along
from dalembert.numerics.orientations import is_rotation, orientations_along
from dalembert.trajectory.outcome import Outcome, pieces
from dalembert.trajectory.recorded import AXES, Recorded

__all__ = ["observe_along", "quaternions", "record", "residuals_along", "solve_along", "solve_states"]


def record(
    dynamics: Dynamics,
    outcome: Outcome,
    integrator: str,
    start: Callable[[str], np.ndarray] | None,
    seen: Any = None,
) -> Recorded:
    """All quantities of the motion at the output times.

    Args:
        start: coordinates of a joint at the first time, which tell how many whole turns its angles begin with; None if
            the run began in its own coordinates: then it knows nothing of turns that they do not show.
        seen: what the observer saw, if forward dynamics cannot tell.
    """
    result = outcome.result
    t = result.time
    q, u, work = np.split(result.states, [dynamics.nq, dynamics.nq + dynamics.nv], axis=1)
    seen = observe_along(dynamics, t, q, u, outcome.segments) if seen is None else seen
    n, bodies = len(t), dynamics.coordinates.bodies
    pose = np.asarray(seen.pose).reshape(n, len(bodies), 12)
    twist = np.asarray(seen.twist).reshape(n, len(bodies), 6)
    kinetic, potential, work = np.asarray(seen.kinetic), np.asarray(seen.potential), work[:, 0] + gained(seen)
    joint_q, joint_u, at_q, at_u = _joint_entries(dynamics)
    joints = _continuous(dynamics, t, np.array(seen.joints).reshape(n, -1), start)
    return Recorded(
        t,
        {
            "q": q,
            "u": u,
            "position": pose[..., 9:],
            "orientation": quaternions(pose[..., :9].reshape(n, -1, 3, 3)),
            "angular_velocity": twist[..., :3],
            "linear_velocity": twist[..., 3:],
            "kinetic": kinetic,
            "potential": potential,
            "work": work,
            "balance": kinetic + potential - work,
            "momentum": np.asarray(seen.momentum).reshape(n, 2, 3),
            "joint_coordinates": joints[:, at_q],
            "joint_velocities": joints[:, at_u],
            "outputs": np.asarray(seen.outputs).reshape(n, -1),
        },
        labels={
            "coordinate": dynamics.q_names,
            "velocity": dynamics.u_names,
            "body": bodies,
            "axis": AXES,
            "component": ["w", "x", "y", "z"],
            "moment": ["angular", "linear"],
            "joint_q": joint_q,
            "joint_u": joint_u,
            "output": list(dynamics.flat.outputs),
        },
        attrs={
            "model": dynamics.model.name,
            "formulation": dynamics.formulation.name,
            "coordinate_kind": dynamics.coordinates.name,  # "coordinates" means something else in NetCDF
            "integrator": integrator,
            "parameters": json.dumps(outcome.segments),
            "events": json.dumps([asdict(event) for event in outcome.events]),
        },
    )


def observe_along(
    dynamics: Dynamics, t: np.ndarray, q: np.ndarray, u: np.ndarray, segments: list[tuple[int, dict[str, float]]]
) -> Any:
    """What the observer sees at every output, with the parameters of its time."""
    parts, flat = list(pieces(segments, len(t))), dynamics.flat
    if len(parts) > 1 and not (dynamics.is_large or flat.feedback or flat.watched):
        given = [dynamics.parameters(values) for _, values in parts]
        lengths = [at.stop - at.start for at, _ in parts]
        return dynamics.kernels.observer(t, q, u, np.repeat(given, lengths, axis=0))
    seen = [dynamics.observe(t[at], q[at], u[at], values) for at, values in parts]
    if len(seen) == 1:
        return seen[0]
    return SimpleNamespace(
        **{name: np.concatenate([np.atleast_1d(getattr(part, name)) for part in seen]) for name in seen[0]._fields}
    )


def gained(seen: Any) -> Any:
    """Work that drives did besides what the run counts, where coordinates are given functions of time."""
    carried = np.asarray(getattr(seen, "carried", 0.0))
    return carried - carried[..., :1] if carried.ndim else carried


def _continuous(
    dynamics: Dynamics, t: np.ndarray, joints: np.ndarray, start: Callable[[str], np.ndarray] | None
) -> np.ndarray:
    """Coordinates measured from poses, without jumps: angles count turns, quaternions keep their sign."""
    at = 0
    for name in dynamics.measurable:
        joint = dynamics.coordinates.nominal_joint(name).joint
        q, u = joints[:, at : at + joint.nq], joints[:, at + joint.nq : at + joint.nq + joint.nv]
        at += joint.nq + joint.nv
        if name in dynamics.coordinates.slot_of_joint:
            continue
        first = q[0].copy() if start is None else start(name)
        for index in joint.angles:
            q[:, index] = _unwound(t, q[:, index], u[:, index], first[index])
        for begin in joint.quaternions:
            ball = slice(begin, begin + 4)
            turns = np.sum(np.vstack([first[ball], q[:-1, ball]]) * q[:, ball], axis=1)
            signs = np.cumprod(np.where(turns < 0, -1.0, 1.0))
            q[:, ball] *= signs[:, None]
    return joints


def _unwound(t: np.ndarray, angle: np.ndarray, rate: np.ndarray, first: float) -> np.ndarray:
    """An angle with its turns counted; the rate tells which way it went between two outputs."""
    turn = 2 * np.pi
    expected = np.diff(t) * (rate[1:] + rate[:-1]) / 2
    steps = np.diff(angle)
    steps = steps + turn * np.round((expected - steps) / turn)
    start = float(angle[0])
    begin = start + turn * np.round((first - start) / turn)
    return begin + np.concatenate([[0.0], np.cumsum(steps)])


def _joint_entries(dynamics: Dynamics) -> tuple[list[str], list[str], list[int], list[int]]:
    """Labels of all joints' coordinates and velocities, and where the observer puts them."""
    labels: tuple[list[str], list[str]] = ([], [])
    places: tuple[list[int], list[int]] = ([], [])
    start = 0
    for name in dynamics.measurable:
        joint = dynamics.coordinates.nominal_joint(name).joint
        for k, size in enumerate((joint.nq, joint.nv)):
            labels[k].extend([name] if size == 1 else [f"{name}[{i}]" for i in range(size)])
            places[k].extend(range(start, start + size))
            start += size
    return labels[0], labels[1], places[0], places[1]


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (w, x, y, z) of rotation matrices (times, …, 3, 3), continuous in time.

    Of axes that are not at right angles, where coordinates have left the rotations, those of the nearest ones.
    """
    axes = R.reshape(len(R), -1, 9)
    Q = np.empty((*axes.shape[:2], 4))
    if not orientations_along(axes, Q):
        axes = axes.copy()
        for at in np.ndindex(*axes.shape[:2]):
            if np.all(np.isfinite(axes[at])) and not is_rotation(axes[at]):
                U, _, Vt = np.linalg.svd(axes[at].reshape(3, 3))
                axes[at] = (U @ Vt).ravel()
        orientations_along(axes, Q)
    return Q.reshape(*R.shape[:-2], 4)


def solve_along(
    dynamics: Dynamics, values: Callable[[str], np.ndarray], segments: list[tuple[int, dict[str, float]]]
) -> tuple[np.ndarray, np.ndarray]:
    """u̇ and λ at every output; NaN from where they cannot be found.

    Args:
        values: gives the arrays of the motion by name.
    """
    states = np.concatenate([values("q"), values("u"), values("work")[:, None]], axis=1)
    return solve_states(dynamics, values("time"), states, segments)


def solve_states(
    dynamics: Dynamics, times: np.ndarray, states: np.ndarray, segments: list[tuple[int, dict[str, float]]]
) -> tuple[np.ndarray, np.ndarray]:
    """The same at states (q, u, W)."""
    du, multipliers = np.full((len(states), dynamics.nv), np.nan), np.full((len(states), len(dynamics.rows)), np.nan)
    none = np.zeros((len(states), dynamics.nv))
    for at, parameters in pieces(segments, len(states)):
        context = dynamics.evaluation(parameters)
        accelerations_along(context, times[at], states[at], none[at], du[at], multipliers[at])
    return du, multipliers


def residuals_along(
    dynamics: Dynamics, values: Callable[[str], np.ndarray], segments: list[tuple[int, dict[str, float]]]
) -> tuple[np.ndarray, np.ndarray]:
    """φ and A u + b at every output, one column for each equation.

    Args:
        values: gives the arrays of the motion by name.
    """
    t, q, u = (values(name) for name in ("time", "q", "u"))
    seen = [dynamics.residuals(t[at], q[at], u[at], parameters) for at, parameters in pieces(segments, len(t))]
    position, velocity = ([np.asarray(getattr(part, level)) for part in seen] for level in ("position", "velocity"))
    return np.concatenate(position), np.concatenate(velocity)
