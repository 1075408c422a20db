"""Certification: measure what a run leaves open, and say in words how it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.analyses.simulation.certify_cables import cable_checks, cable_remarks
from dalembert.analyses.simulation.certify_contacts import CLOSER, contact_checks, contact_remarks
from dalembert.analyses.simulation.certify_events import event_checks
from dalembert.analyses.simulation.seen import Seen, largest
from dalembert.dynamics import Context, Dynamics
from dalembert.elements.base import formulas_in
from dalembert.integrators.base import Result, Status
from dalembert.integrators.runge_kutta import DormandPrince8, Tsitouras5
from dalembert.numerics.context import FAILURES, NO_MASS, NOT_FINITE
from dalembert.numerics.linear import RANK_TOLERANCE
from dalembert.numerics.singular_values import changes_along, singular_values
from dalembert.numerics.solver_steps import null_space
from dalembert.trajectory import Certificate, Check, Estimate
from dalembert.trajectory.outcome import Outcome
from dalembert.trajectory.recorded import Recorded

__all__ = ["CONDITION_LIMIT", "ENDINGS", "REMARKS", "acting_rows", "certify", "ending", "ending_words", "stays_away"]

# What a run may leave open; positions in m or rad, velocities in m/s or rad/s.
ACCELERATION_LIMIT = 1e-6  # or the accuracy, if that is more
CORRECTION_LIMIT = 1e-4  # of velocities in one step, relative: more is a jump; or the accuracy, if that is more
STANDS = 1e-14  # coordinates and velocities of what stands still (m, rad, per s)
INVARIANT_LIMIT = 10.0  # times the accuracy, relative: energy and momentum cannot acquit a motion, but prove it wrong
NORM_LIMIT = 1e-12
OTHER_ANGLES = "better: coordinates=da.Generalized(sequence=…) with other axes, or rotations='quaternions'"
STEEPNESS_LIMIT = 1e6  # of angles near a singularity; rates and their errors grow by it
CONDITION_LIMIT = 1e5
BRANCHES = "a drive whose velocity does not jump; where the position is singular, another start"
MOST_JACOBIANS = 20_000  # at outputs, that are searched for singular positions
LOOKS = (16, 4, 1)  # outputs from one whose singular values are found to the next; fewer where that is not enough
FEW_OUTPUTS = 100  # that may show little of the energy that moves
MANY_OUTPUTS = 500  # that leave no room for a singular position between them which none of them shows
USUAL_ARM = 32.0  # m, and one over it: of larger and smaller mechanisms equations are compared in their own size
NEARLY_SINGULAR = 0.02  # smallest over largest pivot of the constraint Jacobian
FAR = 2.0  # times that: no look at singular values is needed
WATCHED = DormandPrince8, Tsitouras5  # their steps are compared with the equations on the way
MOST_NAMED = 4  # elements, in one remark
CONFLICTING = 1e-6  # of redundant equations: more is worth a remark

# How a time loop ends, in words.
ENDINGS = {
    Status.FINISHED: "finished at t = {end} s",
    Status.STEP_TOO_SMALL: "stopped at t = {end} s: the step became too small. The motion is near a singularity, or "
    "the model is stiff there; try a looser tolerance, integrator='radau', or look at the forces that act then",
    Status.FAILED: "stopped at t = {end} s: {failure}",
    Status.NO_CONVERGENCE: "stopped at t = {end} s: the equations of a step could not be solved; try a smaller step",
    Status.ILL_CONDITIONED: "stopped at t = {end} s: the velocities that the formulation chose are no longer "
    "independent here, and only Python can choose others. Fix: formulation='lagrange-multipliers'",
    Status.NO_HEADWAY: "stopped at t = {end} s: almost no progress ({steps} steps, {rejected} rejected). "
    "Something switches back and forth there, or grows without bound. Fix: a smooth law, such as tanh(u/0.001) instead "
    "of sign(u), or an event that switches",
    Status.TOO_MANY_STEPS: "stopped at t = {end} s: the limit of max_steps was reached; raise it, or loosen rtol",
    Status.STOPPED: "stopped by the user at t = {end} s",
}

# What is remarked on the way, by what was seen.
REMARKS = {
    "redundant": "{missing} of {rows} constraint equations are redundant; reactions are those of least norm",
    "held": "the constraints leave no freedom: nothing can move.  Fix: if something should move, see da.inspect(model)",
    "lost": "the constraints lose rank during the run (from {high} to {low}): a singular position",
    "conflict": "redundant constraints contradict each other by up to {conflict}",
    "jumped": "velocities jumped: the mechanism passed a singular position and left its branch of the motion",
    "near": "the motion came close to a singular position (pivot {pivot}), where it may change to another branch",
    "written": "formulas of {names} have branches (if, abs, sign, min, max) that are not located as events: "
    "a switch within a step is noticed only at outputs. Fix: an event that switches, or a short step",
    "passed": "a singular position was passed between two outputs, where the motion may change to another branch",
}


def certify(
    dynamics: Dynamics, outcome: Outcome, data: Recorded, context: Context, judged: tuple[float, Estimate | None] | None
) -> Certificate:
    """Measure what the trajectory leaves open.

    Args:
        judged: the accuracy that is asked for, and the error that companion runs found; None: nothing is measured.
    """
    result, checks, touched, estimate = outcome.result, list[Check](), list[str](), None
    if judged is not None:
        accuracy, estimate = judged
        seen = Seen(dynamics, outcome, data, stays_away(dynamics, outcome, context))
        checks = [
            *([] if estimate is None else [estimate.check]),
            *_constraint_checks(seen, context, accuracy),
            *_acceleration_checks(seen),
            *_jolt_checks(result.jolts),
            *_energy_checks(data, accuracy if _energy_decides(outcome, data) else None),
            *_norm_checks(dynamics, data),
            *_angle_checks(dynamics, data),
            *_momentum_checks(dynamics, data, accuracy),
            *contact_checks(seen, accuracy),
            *cable_checks(dynamics, data, outcome, accuracy),
            *event_checks(seen),
        ]
        touched = [*contact_remarks(seen), *cable_remarks(seen)]
    counts = {"steps": result.steps, "rejected": result.rejected, "evaluations": result.evaluations}
    # Where a branch makes velocities jump, the position need not be singular.
    told = [one for one in _remarks(dynamics, context, checks, data) if not (result.jolts and one == REMARKS["jumped"])]
    remarks = (*outcome.notes, *touched, *told, *_angle_remarks(dynamics, data))
    message = ending(dynamics, outcome, context)
    return Certificate(outcome.finished, message, tuple(checks), remarks, counts, estimate, judged is not None)


def ending(dynamics: Dynamics, outcome: Outcome, context: Context) -> str:
    """How a run ended, in words."""
    result = outcome.result
    end = f"t = {result.end:.6g} s"
    if outcome.ended_by is not None:
        return f"ended by event {outcome.ended_by!r} at {end}"
    if outcome.trouble is not None:
        return f"stopped at {end}: {outcome.trouble}"
    words = ending_words(result, context.failure() + _tables_left(dynamics, context))
    if result.status in (Status.FINISHED, Status.STOPPED, Status.TOO_MANY_STEPS):
        return words
    involved = suspects(dynamics, outcome, words)
    return f"{words}. {involved}" if involved else words


def ending_words(result: Result, failure: str) -> str:
    """How a time loop ended, in words; ``failure``: why native code gave up, if it did."""
    return ENDINGS[result.status].format(
        end=f"{result.end:.6g}", failure=failure, steps=result.steps, rejected=result.rejected
    )


def suspects(dynamics: Dynamics, outcome: Outcome, words: str = "") -> str:
    """The joints that are most involved where a run had to stop, in words; ``words``: how it ended."""
    result = outcome.result
    said: list[str] = []
    q, u = result.last[: dynamics.nq], result.last[dynamics.nq : dynamics.nq + dynamics.nv]
    parameters = outcome.segments[-1][1]
    A = np.zeros((0, dynamics.nv))
    if dynamics.rows and np.all(np.isfinite(result.last)):
        A = dynamics.residuals(result.end, q, u, parameters).jacobian
        A = A.toarray() if dynamics.is_large else np.asarray(A)
        said += _weak_rows(dynamics, A)
    if FAILURES[NO_MASS] in words and np.all(np.isfinite(q)) and not dynamics.is_large:
        M = np.asarray(dynamics.mass_matrix(q, t=result.end, parameters=parameters))
        return _massless(dynamics, M, A)
    if result.status == Status.NO_HEADWAY:
        jumping = [name for name, (force, _) in dynamics.flat.forces.items() if _jumps(force)]
        said += [f"forces with jumps or kinks: {', '.join(jumping[:4])}"] if jumping else []
    for turn in getattr(dynamics.coordinates, "turns", []):
        if turn.steepness(q) < NEARLY_SINGULAR:
            said.append(f"the angles of joint {turn.joint!r} are close to singular there; {OTHER_ANGLES}")
    if dynamics.nv:
        fastest = int(np.argmax(np.abs(np.nan_to_num(u, nan=np.inf))))
        said.append(f"fastest: {dynamics.u_names[fastest]} ({u[fastest]:.3g})")
    return "; ".join(said)


def _massless(dynamics: Dynamics, M: np.ndarray, A: np.ndarray) -> str:
    """The coordinate that moves most where nothing has mass and nothing constrains, in words."""
    weights = (part / size for part in (M, A.T @ A) if (size := np.abs(part).max(initial=0.0)) > 0)
    _, along = np.linalg.eigh(sum(weights, np.zeros_like(M)))
    return f"It is mostly {dynamics.u_names[int(np.argmax(np.abs(along[:, 0])))]!r}"


def _weak_rows(dynamics: Dynamics, A: np.ndarray) -> list[str]:
    """Constraints whose equations are no numbers, or depend on others, in words."""
    undefined = ~np.isfinite(A).all(axis=1)
    if undefined.any():
        owners = dict.fromkeys(dynamics.rows[int(i)].owner for i in np.flatnonzero(undefined))
        return [f"constraints whose equations are not finite there: {', '.join(list(owners)[:MOST_NAMED])}"]
    left, sizes, _ = np.linalg.svd(A, full_matrices=False)
    weak = sizes < NEARLY_SINGULAR * max(sizes[0], 1e-300)
    if not weak.any():
        return []
    weights = np.abs(left[:, weak]).max(axis=1)
    strong: list[int] = [i for i in np.argsort(-weights).tolist() if weights[i] > 0.3]
    owners = dict.fromkeys(dynamics.rows[i].owner for i in strong)
    return [f"constraints close to dependent there: {', '.join(list(owners)[:MOST_NAMED])}"]


def _jumps(element: Any) -> bool:
    """Whether a formula of an element has a jump or a kink."""
    kinks = (sp.sign, sp.Abs, sp.Piecewise, sp.Min, sp.Max)
    return any(formula.atoms(*kinks) for *_, formula in formulas_in(element))


def _constraint_checks(seen: Seen, context: Context, accuracy: float) -> list[Check]:
    dynamics, outcome, data = seen.dynamics, seen.outcome, seen.data
    if not dynamics.rows:
        return []
    position, velocity = seen.left_open
    accelerations, left = seen.accelerations, context.statistics.largest_conflict
    passed, nearest = False, 1.0 if dynamics.is_large else 0.0
    if not dynamics.is_large:
        left = accelerations.left
        if not seen.away:
            looks = [look_for_singularity(jacobians) for jacobians in seen.jacobians]
            passed, nearest = any(here for here, _ in looks), min(near for _, near in looks)
    checks: list[Check] = []
    if dynamics.holonomic:
        about = "how far loops and drives are from closed: |φ|"
        checks.append(Check("position residual", position, accuracy, "", about, CLOSER))
    limit = accuracy * max(1.0, largest(data["u"]))
    checks.append(Check("velocity residual", velocity, limit, "", "|A u + b|", CLOSER))
    scale = 1.0 + largest(accelerations.du)
    correction = context.statistics.largest_correction
    about = "largest correction of velocities, or positions, by one projection onto the constraints, relative"
    if not outcome.projects:
        limit = max(CORRECTION_LIMIT, accuracy)
        checks.append(Check("velocity correction", correction, limit, "", about, BRANCHES))
    about = "largest over smallest pivot of the constraint Jacobian: beyond the limit the motion may change its branch"
    pivot = context.statistics.smallest_pivot
    if nearest > NEARLY_SINGULAR and len(data["time"]) > MANY_OUTPUTS:
        # The motion keeps away from singular positions; stages off the constraints may not.
        pivot = max(pivot, nearest)
    conditioning = math.inf if passed else 1.0 / max(pivot, 1e-300)
    arm = dynamics.coordinates.usual_arm or 1.0
    if conditioning > CONDITION_LIMIT and not dynamics.is_large and not 1 / USUAL_ARM <= arm <= USUAL_ARM:
        conditioning = min(conditioning, _evened(dynamics, seen.jacobians, pivot))
    checks.append(Check("conditioning", conditioning, CONDITION_LIMIT, "", about, BRANCHES))
    limit, fix = max(ACCELERATION_LIMIT, accuracy), "another formulation, such as 'lagrange-multipliers'"
    checks.append(Check("acceleration residual", left / scale, limit, "", "|A u̇ + γ|", fix))
    return checks


def _acceleration_checks(seen: Seen) -> list[Check]:
    """Forces that depend on what they cause may have no value, or several, at an output; the steps beside it tell
    nothing of that."""
    if not seen.dynamics.kernels.assumes:
        return []
    lost = int(np.sum(~np.isfinite(seen.accelerations.du).all(axis=1)))
    about, fix = "outputs without accelerations: friction jams there, or a force has several values", "less friction"
    return [Check("accelerations", float(lost), 0.0, "", about, fix)] if lost else []


def stays_away(dynamics: Dynamics, outcome: Outcome, context: Context) -> bool:
    """Whether the pivots of A that the run met tell that the motion keeps away from singular positions.

    That is so if they are those of A itself at every stage, and at a thousand places or more of longer steps. Then the
    smallest singular value is not far below the smallest pivot: by the square root of their number or less.
    """
    solver = dynamics.formulation.chosen_solver() if dynamics.kernels.evaluation == "solved" else None
    watched = type(outcome.method) in WATCHED and not outcome.projects and context.inner is None
    if solver is not null_space or not watched or context.scaled:
        return False
    seen = context.statistics
    rank = seen.highest_rank
    if not 0.0 < seen.lowest_rank == rank < math.inf or context.rank not in (0, rank):
        return False
    return seen.smallest_pivot >= FAR * math.sqrt(rank) * NEARLY_SINGULAR


def look_for_singularity(jacobians: np.ndarray) -> tuple[bool, float]:
    """Whether the constraints lose rank between two outputs; and how near they come to it at outputs, as the smallest
    singular value over the largest, 0 if that is not known.

    The smallest singular value then comes down to a corner at zero: the lines through the two outputs before and the
    two after its lowest one meet at zero or below.
    """
    if len(jacobians) < 5 or len(jacobians) > MOST_JACOBIANS:
        return False, 0.0
    s = _nearness(jacobians)
    if not len(s):
        return False, 0.0
    low, nearest = s[2:-2], float(np.nanmin(s))
    corner = (low <= s[1:-3]) & (low <= s[3:-1]) & (low < NEARLY_SINGULAR)
    if not corner.any():
        return False, nearest
    down, up = s[1:-3] - s[:-4], s[4:] - s[3:-1]
    # Left line at θ: s₋₁ + down (θ + 1); right line: s₊₁ + up (θ − 1).
    steep = np.where(up - down > 0, up - down, np.inf)
    theta = (s[1:-3] + down - s[3:-1] + up) / steep
    return bool(np.any(corner & (s[1:-3] + down * (theta + 1) <= 0))), nearest


def _evened(dynamics: Dynamics, pieces: Sequence[np.ndarray], pivot: float) -> float:
    """The conditioning in units in which the mechanism is of size 1, and so are its equations.

    In meters, equations of angles and of lengths of a large or small mechanism look dependent where they are not.

    Args:
        pieces: Jacobians at the outputs.
        pivot: smallest over largest in meters, that was met on the way.
    """
    units, worst = dynamics.coordinates.velocity_units(dynamics.coordinates.usual_arm or 1.0), 1.0
    for jacobians in pieces:
        even = jacobians * units
        rows = np.abs(even).max(axis=(0, 2), initial=0.0)
        even /= np.where(rows > 0, rows, 1.0)[:, None]
        if not np.all(np.isfinite(even)):
            return math.inf
        passed, nearest = look_for_singularity(even)
        if passed:
            return math.inf
        s, _, rank = _smallest(even)
        gain = float(np.min(s / np.maximum(_smallest(jacobians, rank)[0], 1e-300), initial=math.inf))
        away = nearest > NEARLY_SINGULAR and len(even) > MANY_OUTPUTS
        worst = min(worst, max(pivot * gain, nearest if away else 0.0))
    return 1.0 / max(worst, 1e-300)


def _nearness(jacobians: np.ndarray) -> np.ndarray:
    """How near the constraints come to lose rank at each output; NaN where outputs beside it make sure that they stay
    away from it. Empty if there is no rank to lose, or something is not finite.

    No singular value changes by more than the matrix does, in the norm of Frobenius (G. H. Golub, C. F. Van Loan,
    "Matrix Computations", 4th ed., cor. 8.6.2).
    """
    n, rank = len(jacobians), 0
    found, unsure = np.full(n, np.nan), np.ones(n, dtype=bool)
    for each in LOOKS:
        # Each one stands for those around it, the last one for the rest.
        some = np.ascontiguousarray(jacobians[each // 2 :: each])
        stands_for = np.minimum(np.arange(n) // each, len(some) - 1)
        asked = np.flatnonzero(np.bincount(stands_for[unsure])) if len(some) else np.empty(0, dtype=int)
        if not np.all(np.isfinite(some[asked])):
            return np.empty(0)
        s, largest, highest = _smallest(some[asked], rank)
        if rank and highest > rank:  # those before have lost it
            return _smallest(jacobians)[0] if np.all(np.isfinite(jacobians)) else np.empty(0)
        if not highest and not rank:
            continue
        rank = rank or highest
        found[asked * each + each // 2] = s
        change = changes_along(jacobians, some, each)[asked]
        sure = np.zeros(len(some), dtype=bool)
        sure[asked] = s * largest - change > NEARLY_SINGULAR * (largest + change)
        here = unsure & ~sure[stands_for]
        if not here.any():
            break
        unsure = here.copy()
        for k in (1, 2):  # beside a corner too
            unsure[k:] |= here[:-k]
            unsure[:-k] |= here[k:]
    return found if rank else np.empty(0)


def _smallest(jacobians: np.ndarray, rank: int = 0) -> tuple[np.ndarray, np.ndarray, int]:
    """The smallest singular value that is not zero all the time, or that of this rank, over the largest; the largest;
    and the highest rank, 0 if there is none."""
    if not len(jacobians):
        return np.empty(0), np.empty(0), 0
    # Rows without entries add zeros alone.
    sizes = singular_values(jacobians[:, np.any(jacobians, axis=(0, 2))])
    largest = np.maximum(sizes[:, :1], 1e-300) if sizes.size else np.full((len(jacobians), 1), 1e-300)
    highest = int(np.max(np.sum(sizes > RANK_TOLERANCE * largest, axis=1), initial=0))
    rank = rank or highest
    s = sizes[:, rank - 1] if 0 < rank <= sizes.shape[1] else np.zeros(len(jacobians))
    return s / largest[:, 0], largest[:, 0], highest


def _energy_decides(outcome: Outcome, data: Recorded) -> bool:
    """Whether energy may prove a motion wrong: fixed steps do not control the error of the work, and few outputs may
    not show the energy that moves. What was interpolated has no other judge."""
    return outcome.method is None or (outcome.method.adaptive and len(data["time"]) > FEW_OUTPUTS + 1)


def _energy_checks(data: Recorded, accuracy: float | None) -> list[Check]:
    """The energy balance; without an accuracy it is only shown."""
    balance, kinetic = data["balance"], data["kinetic"]
    moved = max(_range(kinetic), _range(data["potential"]), _range(data["work"]), kinetic.max())
    drift = np.abs(balance - balance[0]).max()
    relative = drift / moved if moved > 0 and not _stands(data) else drift
    about, fix = "|Δ(T + V − W)| over the energy that moves", "a tighter rtol, or a drive or force that does not jump"
    limit = None if accuracy is None else INVARIANT_LIMIT * accuracy
    return [Check("energy balance", float(relative), limit, "", about, fix)]


def _range(values: np.ndarray) -> float:
    """As ``np.ptp``, which takes three times as long."""
    return values.max() - values.min()


def _stands(data: Recorded) -> bool:
    """Nothing moves but by rounding: there is no energy to compare with."""
    still = all(largest(u) <= STANDS for u in (data["u"][-1:], data["u"]))  # mostly the last output tells
    return still and bool(np.ptp(data["q"], axis=0).max(initial=0.0) <= STANDS)


def _norm_checks(dynamics: Dynamics, data: Recorded) -> list[Check]:
    lengths = [
        largest(np.sqrt(np.einsum("ti,ti->t", Q, Q)) - 1.0)
        for Q in (data["q"][:, at] for at in dynamics.coordinates.quaternions)
    ]
    return [Check("quaternion norm", max(lengths), NORM_LIMIT, "", "| |Q| − 1 |")] if lengths else []


def _angle_checks(dynamics: Dynamics, data: Recorded) -> list[Check]:
    """How near three angles came to where they do not describe rotations any more."""
    turns = getattr(dynamics.coordinates, "turns", [])
    if not turns or turns[0].described.by_quaternion or not np.any(np.isfinite(data["q"])):
        return []
    nearest = [float(np.nanmin(turn.steepness(data["q"]))) for turn in turns]
    worst = int(np.argmin(nearest))
    of_angle = turns[worst].described.rotations == "angles"
    what = "1/cos or 1/sin of the second angle" if of_angle else "steepness"
    about = f"{what} of joint {turns[worst].joint!r}: the factor by which its rates grow"
    return [Check("steepness of angles", 1 / max(nearest[worst], 1e-300), STEEPNESS_LIMIT, "", about)]


def _angle_remarks(dynamics: Dynamics, data: Recorded) -> list[str]:
    """Joints whose angles came close to singular, or passed through."""
    found: list[str] = []
    for turn in getattr(dynamics.coordinates, "turns", []):
        near, middle = turn.steepness(data["q"]), data["q"][:, turn.at.start + 1]
        step = np.abs(np.diff(middle, prepend=middle[0]))
        if np.any(near < np.maximum(step, NEARLY_SINGULAR)):
            found.append(f"the angles of joint {turn.joint!r} came close to singular; {OTHER_ANGLES}")
    return found


def _momentum_checks(dynamics: Dynamics, data: Recorded, accuracy: float) -> list[Check]:
    """Momenta that must be conserved because nothing outside acts."""
    flat = dynamics.flat
    held = any(
        "ground" in data.bodies and dynamics.coordinates.nominal_joint(name).joint.nv < 6
        for name, (data, _) in flat.joints.items()
    )
    changed = any(event.set or event.rates for event, _ in flat.events.values())
    pulled = False
    for force, _ in flat.forces.values():
        ends = [*force.named("body"), *(body for name in force.named("joint") for body in flat.joints[name][0].bodies)]
        pulled = pulled or not force.balanced or "ground" in ends
    if held or flat.constraints or changed or pulled:
        return []
    gravity = dynamics.coordinates.nominal.gravity
    momentum = data["momentum"]
    linear = momentum[:, 1] - momentum[:1, 1]
    if gravity.any():
        along = gravity / np.linalg.norm(gravity)
        linear = linear - np.outer(linear @ along, along)
    size, limit, about = max(np.abs(momentum[:, 1]).max(), 1.0), INVARIANT_LIMIT * accuracy, "nothing outside acts"
    checks = [Check("linear momentum", float(np.abs(linear).max() / size), limit, "", about, "a tighter rtol")]
    if not gravity.any():
        angular = momentum[:, 0] - momentum[:1, 0]
        size = max(np.abs(momentum[:, 0]).max(), 1.0)
        worst = float(np.abs(angular).max() / size)
        checks.append(Check("angular momentum", worst, limit, "", about, "a tighter rtol"))
    return checks


def _remarks(dynamics: Dynamics, context: Context, checks: Sequence[Check], data: Recorded) -> list[str]:
    seen = context.statistics
    pivot, low, high = seen.smallest_pivot, seen.lowest_rank, seen.highest_rank
    remarks: list[str] = []
    # What stages off the constraints saw is no news where the motion itself keeps away from singular positions.
    conditioning = next((check.value for check in checks if check.name == "conditioning"), math.inf)
    off = pivot < NEARLY_SINGULAR and conditioning < 1.0 / NEARLY_SINGULAR
    if dynamics.rows and np.isfinite(low):
        rows, switched = acting_rows(dynamics, context)
        if high < rows:
            remarks.append(REMARKS["redundant"].format(missing=rows - int(high), rows=rows))
        if low >= dynamics.nv and _stands(data):
            remarks.append(REMARKS["held"])
        if low < high - switched and not off:
            remarks.append(REMARKS["lost"].format(high=int(high), low=int(low)))
        if seen.largest_conflict > CONFLICTING and not off:
            remarks.append(REMARKS["conflict"].format(conflict=f"{seen.largest_conflict:.1e}"))
        if any(c.name == "velocity correction" and not c.passed for c in checks):
            remarks.append(REMARKS["jumped"])
        if pivot < NEARLY_SINGULAR and not off:
            remarks.append(REMARKS["near"].format(pivot=f"{pivot:.1e}"))
        elif any(check.name == "conditioning" and not check.passed for check in checks):
            remarks.append(REMARKS["passed"])
    written = branches_as_written(dynamics)
    if written:
        names = ", ".join(map(repr, written[:MOST_NAMED])) + (" …" if len(written) > MOST_NAMED else "")
        remarks.append(REMARKS["written"].format(names=names))
    return remarks


def _jolt_checks(jolts: int) -> list[Check]:
    """Velocities must not jump, whatever else holds afterwards."""
    about, fix = "jumps of velocities at a change of branch of a formula", "formulas whose rates do not jump"
    return [Check("jolts", float(jolts), 0.0, "", about, fix)] if jolts else []


def branches_as_written(dynamics: Dynamics) -> list[str]:
    """Elements whose formulas have branches that the run does not choose by events: those of models that have too many,
    or that are too large."""
    return [] if dynamics.kernels.n_branches else dynamics.flat.forked


def acting_rows(dynamics: Dynamics, context: Context) -> tuple[int, int]:
    """Number of constraint equations that act all the time, and of those that events switch."""
    flat = dynamics.flat
    if not flat.switches:
        return len(dynamics.rows), 0
    by_events = {name for event, _ in flat.events.values() for name in event.switch}
    off = flat.off(dict(zip(dynamics.parameter_names, context.parameters, strict=True))) | by_events
    acting = sum(row.rigid or row.owner not in off for row in dynamics.rows)
    return acting, sum(row.owner in by_events and not row.rigid for row in dynamics.rows)


def _tables_left(dynamics: Dynamics, context: Context) -> str:
    """Tables that have no values outside their range, where something was not finite."""
    tables = [table for table, _ in dynamics.flat.tables.values() if table.outside == "error"]
    if context.statistics.failure != NOT_FINITE or not tables:
        return ""
    listed = ", ".join(f"table {one.name!r} is given from {one.x[0]:g} to {one.x[-1]:g}" for one in tables)
    return f"; or for an argument outside its table: {listed}"
