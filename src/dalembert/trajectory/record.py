"""From raw states to labelled data and a certificate."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import xarray as xr

from dalembert.algebra import NUMPY
from dalembert.dynamics import Context, Dynamics
from dalembert.dynamics.native import accelerations_along
from dalembert.integrators.base import Status
from dalembert.numerics import layout
from dalembert.numerics.linear import RANK_TOLERANCE
from dalembert.trajectory.certificate import Certificate, Check
from dalembert.trajectory.outcome import Outcome, pieces

__all__ = ["AXES", "certify", "ending", "observe_along", "record", "solve_along"]

AXES = ["x", "y", "z"]

# What a run may leave open; positions in m or rad, velocities in m/s or rad/s.
POSITION_LIMIT = 1e-9
VELOCITY_LIMIT = 1e-9
ACCELERATION_LIMIT = 1e-6
CORRECTION_LIMIT = 1e-4  # of velocities in one step, relative: more is a jump
ENERGY_LIMIT = 1e-6  # of the energy balance, relative to the energy that moves about
NORM_LIMIT = 1e-12
OTHER_ANGLES = "better: coordinates=da.Generalized(sequence=…) with other axes, or rotations='quaternions'"
STEEPNESS_LIMIT = 1e6  # of angles near a singularity; rates and their errors grow by it
CONDITION_LIMIT = 1e5
MOST_JACOBIANS = 20_000  # at outputs, that are searched for singular positions
NEARLY_SINGULAR = 0.02  # smallest over largest pivot of the constraint Jacobian


def record(
    dynamics: Dynamics,
    outcome: Outcome,
    integrator: str,
    start: Callable[[str], np.ndarray],
) -> xr.Dataset:
    """All quantities of the motion at the output times.

    Args:
        start: coordinates of a joint at the first time, which tell how many whole turns its angles begin with.
    """
    result = outcome.result
    t = result.time
    q, u, work = np.split(result.states, [dynamics.nq, dynamics.nq + dynamics.nv], axis=1)
    seen = observe_along(dynamics, t, q, u, outcome.segments)
    n, bodies = len(t), dynamics.coordinates.bodies
    pose = np.asarray(seen.pose).reshape(n, len(bodies), 12)
    twist = np.asarray(seen.twist).reshape(n, len(bodies), 6)
    kinetic, potential, work = np.asarray(seen.kinetic), np.asarray(seen.potential), work[:, 0] + gained(seen)
    joint_q, joint_u, at_q, at_u = _joint_entries(dynamics)
    joints = _continuous(dynamics, t, np.array(seen.joints).reshape(n, -1), start)
    return xr.Dataset(
        {
            "q": (("time", "coordinate"), q),
            "u": (("time", "velocity"), u),
            "position": (("time", "body", "axis"), pose[..., 9:], {"units": "m"}),
            "orientation": (("time", "body", "component"), quaternions(pose[..., :9].reshape(n, -1, 3, 3))),
            "angular_velocity": (("time", "body", "axis"), twist[..., :3], {"units": "rad/s"}),
            "linear_velocity": (("time", "body", "axis"), twist[..., 3:], {"units": "m/s"}),
            "kinetic": ("time", kinetic, {"units": "J"}),
            "potential": ("time", potential, {"units": "J"}),
            "work": ("time", work, {"units": "J"}),
            "balance": ("time", kinetic + potential - work, {"units": "J"}),
            "momentum": (("time", "moment", "axis"), np.asarray(seen.momentum).reshape(n, 2, 3)),
            "joint_coordinates": (("time", "joint_q"), joints[:, at_q]),
            "joint_velocities": (("time", "joint_u"), joints[:, at_u]),
            "outputs": (("time", "output"), np.asarray(seen.outputs).reshape(n, -1)),
        },
        coords={
            "time": ("time", t, {"units": "s"}),
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
    seen = [dynamics.observe(t[at], q[at], u[at], values) for at, values in pieces(segments, len(t))]
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
    dynamics: Dynamics, t: np.ndarray, joints: np.ndarray, start: Callable[[str], np.ndarray]
) -> np.ndarray:
    """Coordinates measured from poses, without jumps: angles count turns, quaternions keep their sign."""
    at = 0
    for name in dynamics.measurable:
        joint = dynamics.coordinates.nominal_joint(name).joint
        q, u = joints[:, at : at + joint.nq], joints[:, at + joint.nq : at + joint.nq + joint.nv]
        at += joint.nq + joint.nv
        if name in dynamics.coordinates.slot_of_joint:
            continue
        first = start(name)
        for index in joint.angles:
            q[:, index] = _unwound(t, q[:, index], u[:, index], first[index])
        if joint.nq > joint.nv:
            ball = slice(0, 4) if joint.kind == "free" else slice(joint.nq - 4, joint.nq)
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
    begin = angle[0] + turn * np.round((first - angle[0]) / turn)
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
    """Unit quaternions (w, x, y, z) of rotation matrices (..., 3, 3), continuous along the first axis."""
    from scipy.spatial.transform import Rotation

    shape = R.shape[:-2]
    Q = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(scalar_first=True).reshape(*shape, 4)
    flips = np.sign(np.sum(Q[1:] * Q[:-1], axis=-1))
    Q[1:] *= np.cumprod(np.where(flips == 0, 1.0, flips), axis=0)[..., None]
    return Q


def solve_along(
    dynamics: Dynamics, data: xr.Dataset, segments: list[tuple[int, dict[str, float]]]
) -> tuple[np.ndarray, np.ndarray]:
    """u̇ and λ at every output; NaN from where they cannot be found."""
    states = np.concatenate([data.q.values, data.u.values, data.work.values[:, None]], axis=1)
    du, multipliers = np.full((len(states), dynamics.nv), np.nan), np.full((len(states), len(dynamics.rows)), np.nan)
    times, none = data.time.values, np.zeros((len(states), dynamics.nv))
    for at, values in pieces(segments, len(states)):
        context = Context(dynamics, values)
        accelerations_along(context.address, times[at], states[at], none[at], du[at], multipliers[at])
    return du, multipliers


def certify(dynamics: Dynamics, outcome: Outcome, data: xr.Dataset, context: Context) -> Certificate:
    """Measure what the trajectory leaves open."""
    result = outcome.result
    solved = solve_along(dynamics, data, outcome.segments)
    checks = [
        *_constraint_checks(dynamics, data, context, outcome, solved),
        *_energy_checks(data),
        *_norm_checks(dynamics, data),
        *_angle_checks(dynamics, data),
    ]
    checks += _momentum_checks(dynamics, data)
    counts = {"steps": result.steps, "rejected": result.rejected, "evaluations": result.evaluations}
    finished = result.status == Status.FINISHED or outcome.ended_by is not None
    if not np.all(np.isfinite(data.q)) or not np.all(np.isfinite(data.u)):
        finished = False
    remarks = (*outcome.notes, *_remarks(dynamics, context, outcome.projects, checks), *_angle_remarks(dynamics, data))
    return Certificate(finished, ending(dynamics, outcome, context), tuple(checks), remarks, counts)


def ending(dynamics: Dynamics, outcome: Outcome, context: Context) -> str:
    """How a run ended, in words."""
    result = outcome.result
    end = f"t = {result.end:.6g} s"
    if outcome.ended_by is not None:
        return f"ended by event {outcome.ended_by!r} at {end}"
    if outcome.trouble is not None:
        return f"stopped at {end}: {outcome.trouble}"
    words = {
        Status.FINISHED: f"finished at {end}",
        Status.STEP_TOO_SMALL: f"stopped at {end}: the step became too small. The motion is near a singularity, or "
        f"the model is stiff there; try a looser tolerance, integrator='radau', or look at the forces that act then",
        Status.FAILED: f"stopped at {end}: {context.failure()}",
        Status.NO_CONVERGENCE: f"stopped at {end}: the equations of a step could not be solved; try a smaller step",
        Status.TOO_MANY_STEPS: f"stopped at {end}: all allowed steps are used up; raise max_steps or loosen rtol",
        Status.STOPPED: f"stopped by the user at {end}",
    }[result.status]
    if result.status in (Status.FINISHED, Status.STOPPED, Status.TOO_MANY_STEPS):
        return words
    involved = suspects(dynamics, outcome)
    return f"{words}. {involved}" if involved else words


def suspects(dynamics: Dynamics, outcome: Outcome) -> str:
    """The joints that are most involved where a run had to stop, in words."""
    result, said = outcome.result, []
    q, u = result.last[: dynamics.nq], result.last[dynamics.nq : dynamics.nq + dynamics.nv]
    parameters = outcome.segments[-1][1]
    if dynamics.rows and np.all(np.isfinite(result.last)):
        A = dynamics.residuals(result.end, q, u, parameters).jacobian
        A = A.toarray() if dynamics.is_large else np.asarray(A)
        left, sizes, _ = np.linalg.svd(A, full_matrices=False)
        weak = sizes < NEARLY_SINGULAR * max(sizes[0], 1e-300)
        if weak.any():
            weights = np.abs(left[:, weak]).max(axis=1)
            owners = dict.fromkeys(dynamics.rows[i].owner for i in np.argsort(-weights) if weights[i] > 0.3)
            said.append(f"constraints close to dependent there: {', '.join(list(owners)[:4])}")
    for turn in getattr(dynamics.coordinates, "turns", []):
        if turn.steepness(q) < NEARLY_SINGULAR:
            said.append(f"the angles of joint {turn.joint!r} are close to singular there; {OTHER_ANGLES}")
    if dynamics.nv:
        fastest = int(np.argmax(np.abs(np.nan_to_num(u, nan=np.inf))))
        said.append(f"fastest: {dynamics.u_names[fastest]} ({u[fastest]:.3g})")
    return "; ".join(said)


def _constraint_checks(
    dynamics: Dynamics, data: xr.Dataset, context: Context, outcome: Outcome, solved: Any
) -> list[Check]:
    if not dynamics.rows:
        return []
    q, u, t = data.q.values, data.u.values, data.time.values
    position, velocity, acceleration, passed = [], [], [], False
    for at, parameters in pieces(outcome.segments, len(t)):
        values = dynamics.residuals(t[at], q[at], u[at], parameters)
        position.append(_largest(values.position))
        velocity.append(_largest(values.velocity))
        if dynamics.is_large:
            acceleration.append(float(context.statistics[layout.LARGEST_CONFLICT]))
            continue
        passed = passed or passes_singularity(np.asarray(values.jacobian))
        blocks = dynamics.dynamics_kernel(t[at], q[at], u[at], dynamics.parameters(parameters), np.zeros(dynamics.nv))
        product = np.einsum("trv,tv->tr", np.asarray(blocks.jacobian), solved[0][at])
        acceleration.append(_largest(product + np.asarray(blocks.gamma)))
    checks = []
    if dynamics.holonomic:
        about = "loops and drives closed: |φ|"
        checks.append(Check("position residual", max(position), POSITION_LIMIT, "", about))
    checks.append(Check("velocity residual", max(velocity), VELOCITY_LIMIT, "", "|A u + b|"))
    scale = 1.0 + _largest(solved[0])
    correction = float(context.statistics[layout.LARGEST_CORRECTION])
    about = "how far velocities were bent back onto the constraints in one step, relative"
    if not outcome.projects:
        checks.append(Check("velocity correction", correction, CORRECTION_LIMIT, "", about))
    about = "largest over smallest pivot of the constraint Jacobian: beyond the limit the motion may change its branch"
    pivot = float(context.statistics[layout.SMALLEST_PIVOT])
    conditioning = math.inf if passed else 1.0 / max(pivot, 1e-300)
    checks.append(Check("conditioning", conditioning, CONDITION_LIMIT, "", about))
    checks.append(Check("acceleration residual", max(acceleration) / scale, ACCELERATION_LIMIT, "", "|A u̇ + γ|"))
    return checks


def passes_singularity(jacobians: np.ndarray) -> bool:
    """True if the constraints lose rank between two outputs.

    The smallest singular value then comes down to a corner at zero: the lines through the two outputs before and the
    two after its lowest one meet at zero or below.
    """
    if len(jacobians) < 5 or len(jacobians) > MOST_JACOBIANS or not np.all(np.isfinite(jacobians)):
        return False
    sizes = np.linalg.svd(jacobians, compute_uv=False)
    sizes = sizes / np.maximum(sizes[:, :1], 1e-300)
    rank = int(np.max(np.sum(sizes > RANK_TOLERANCE, axis=1)))
    if rank == 0:
        return False
    s = sizes[:, rank - 1]
    low = s[2:-2]
    corner = (low <= s[1:-3]) & (low <= s[3:-1]) & (low < NEARLY_SINGULAR)
    down, up = s[1:-3] - s[:-4], s[4:] - s[3:-1]
    # Left line at θ: s₋₁ + down (θ + 1); right line: s₊₁ + up (θ − 1).
    steep = np.where(up - down > 0, up - down, np.inf)
    theta = (s[1:-3] + down - s[3:-1] + up) / steep
    return bool(np.any(corner & (s[1:-3] + down * (theta + 1) <= 0)))


def _energy_checks(data: xr.Dataset) -> list[Check]:
    balance = data.balance.values
    moved = max(
        np.ptp(data.kinetic.values), np.ptp(data.potential.values), np.ptp(data.work.values), data.kinetic.values.max()
    )
    drift = np.abs(balance - balance[0]).max()
    relative = drift / moved if moved > 0 else drift
    return [Check("energy balance", float(relative), ENERGY_LIMIT, "", "|Δ(T + V − W)| over the energy that moves")]


def _norm_checks(dynamics: Dynamics, data: xr.Dataset) -> list[Check]:
    worst, found = 0.0, False
    for slot in dynamics.coordinates.slots:
        joint = dynamics.coordinates.joint_at(slot)
        if joint.nq > joint.nv:
            found = True
            some = data.q.values[:: max(1, len(data.q) // 50), slot.q]
            unit = np.array([joint.normalise(NUMPY, row) for row in some])
            worst = max(worst, _largest(unit - some))
    return [Check("quaternion norm", worst, NORM_LIMIT, "", "| |Q| − 1 |")] if found else []


def _angle_checks(dynamics: Dynamics, data: xr.Dataset) -> list[Check]:
    """How near three angles came to where they do not describe rotations any more."""
    turns = getattr(dynamics.coordinates, "turns", [])
    if not turns or turns[0].described.axes is None or not np.any(np.isfinite(data.q.values)):
        return []
    nearest = [float(np.nanmin(turn.steepness(data.q.values))) for turn in turns]
    worst = int(np.argmin(nearest))
    about = f"1/cos or 1/sin of the second angle of joint {turns[worst].joint!r}, by which its rates grow"
    return [Check("steepness of angles", 1 / max(nearest[worst], 1e-300), STEEPNESS_LIMIT, "", about)]


def _angle_remarks(dynamics: Dynamics, data: xr.Dataset) -> list[str]:
    """Joints whose angles came close to singular, or passed through."""
    found = []
    for turn in getattr(dynamics.coordinates, "turns", []):
        near = turn.steepness(data.q.values)
        step = np.abs(np.diff(data.q.values[:, turn.at.start + 1], prepend=data.q.values[0, turn.at.start + 1]))
        if np.any(near < np.maximum(step, NEARLY_SINGULAR)):
            found.append(f"the angles of joint {turn.joint!r} came close to singular; {OTHER_ANGLES}")
    return found


def _momentum_checks(dynamics: Dynamics, data: xr.Dataset) -> list[Check]:
    """Momenta that must be conserved because nothing outside acts."""
    flat = dynamics.flat
    touches = any("ground" in joint.bodies and joint.kind != "free" for joint, _ in flat.joints.values()) or bool(
        flat.constraints
    )
    touches = touches or any(event.set or event.rates for event, _ in flat.events.values())
    for force, _ in flat.forces.values():
        inner = force.kind in ("torsional-spring", "joint-force") or (
            hasattr(force, "bodies") and "ground" not in force.bodies
        )
        touches = touches or not inner
    if touches:
        return []
    gravity = dynamics.coordinates._nominal.gravity
    momentum = data.momentum.values
    linear = momentum[:, 1] - momentum[:1, 1]
    if gravity.any():
        along = gravity / np.linalg.norm(gravity)
        linear = linear - np.outer(linear @ along, along)
    size = max(np.abs(momentum[:, 1]).max(), 1e-300)
    checks = [
        Check(
            "linear momentum", float(np.abs(linear).max() / max(size, 1.0)), 1e-8, "", "conserved: nothing outside acts"
        )
    ]
    if not gravity.any():
        angular = momentum[:, 0] - momentum[:1, 0]
        size = max(np.abs(momentum[:, 0]).max(), 1.0)
        checks.append(
            Check("angular momentum", float(np.abs(angular).max() / size), 1e-8, "", "conserved: nothing outside acts")
        )
    return checks


def _remarks(dynamics: Dynamics, context: Context, projects: bool, checks: Sequence[Check]) -> list[str]:
    pivot, low, high, conflict, *_, correction = context.statistics
    rows, switched = _acting(dynamics, context)
    remarks = []
    if dynamics.rows and np.isfinite(low):
        if high < rows:
            remarks.append(
                f"{rows - int(high)} of {rows} constraint equations are redundant; reactions are those of least norm"
            )
        if low < high - switched:
            remarks.append(
                f"the constraints lose rank on the way (from {int(high)} to {int(low)}): a singular position"
            )
        if conflict > 1e-6:
            remarks.append(f"redundant constraints contradict each other by up to {conflict:.1e}")
        if correction > CORRECTION_LIMIT and not projects:
            remarks.append(
                "velocities jumped: the mechanism passed a singular position and left its branch of the motion"
            )
        if pivot < NEARLY_SINGULAR:
            remarks.append(
                f"a nearly singular position was met (pivot {pivot:.1e}): there the motion may change its branch"
            )
        elif any(check.name == "conditioning" and not check.passed for check in checks):
            remarks.append("a singular position was passed between two outputs: there the motion may change its branch")
    return remarks


def _acting(dynamics: Dynamics, context: Context) -> tuple[int, int]:
    """Number of constraint equations that act all the time, and of those that events switch."""
    flat = dynamics.flat
    by_events = {name for event, _ in flat.events.values() for name in event.switch}
    off = flat.off(dict(zip(dynamics.parameter_names, context.values, strict=True))) | by_events
    acting = sum(row.rigid or row.owner not in off for row in dynamics.rows)
    return acting, sum(row.owner in by_events and not row.rigid for row in dynamics.rows)


def _largest(values: Any) -> float:
    array = np.abs(np.asarray(values))
    return float(array.max()) if array.size else 0.0
