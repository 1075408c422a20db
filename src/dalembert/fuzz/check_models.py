"""One random state of a model by all ways: what they give every body must be one and the same acceleration."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from dalembert.coordinates import Generalized
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.penalty import PenaltyRows
from dalembert.fuzz.oracle import Oracle
from dalembert.fuzz.physical_states import (
    accelerations_in_world,
    body_motion,
    consistent_state,
    equations_at,
    transfer,
    velocity_sizes,
)
from dalembert.fuzz.random_models import UNIT, Size
from dalembert.fuzz.saddle import solve_constrained
from dalembert.fuzz.ways import PAIRS, draw_way
from dalembert.io import dumps, loads
from dalembert.model import Model
from dalembert.spatial import Pose

__all__ = ["WAYS_AT_ONCE", "Finding", "Judged", "check_model"]

TIME = 0.3  # in the model's unit
# Rounding differs, amplified by the condition of masses and constraints; states beyond that condition tell nothing.
AGREEMENT, WORST_CONDITION = 1e-9, 1e6
# Penalty methods leave a part of the forces open, even extrapolated; energies are differentiated by differences.
APPROXIMATE, DIFFERENCES = 1e-3, 1e-6
WAYS_AT_ONCE = 3
STEPS = (1, 2, 3, 4)
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


@dataclass(frozen=True)
class Finding:
    """What a check did not bear out: its name, and what was seen."""

    check: str
    words: str


@dataclass
class Judged:
    """What came of a case: findings, the largest disagreement, and why nothing could be said."""

    findings: list[Finding] = field(default_factory=lambda: list[Finding]())
    comparisons: int = 0
    worst: float = 0.0
    skipped: str = ""


class _Instant:
    """A model at a consistent state, and the acceleration of its bodies by an independent solution."""

    def __init__(self, model: Model, seed: int, size: Size = UNIT):
        self.model, self.length, self.time, self.t = model, size.length, size.time, TIME * size.time
        self.reference = Dynamics(model, "lagrange-multipliers", "relative")
        flat, rng = self.reference.flat, np.random.default_rng([seed, 5])
        sides: dict[str, int] = {name: flat.constraints[name][0].sides for name in flat.contacts}
        closed = {name: int(rng.integers(1, count + 1)) for name, count in sides.items()}
        self.on = {name: side for name, side in closed.items() if rng.random() < 0.5}
        self.parameters: dict[str, float] = {flat.switches[name]: float(side) for name, side in self.on.items()}
        self.q, self.u = consistent_state(
            self.reference, seed, t=self.t, spread=0.1, size=size, parameters=self.parameters
        )
        own = self.reference.coordinates.own_states
        self.states = {name: float(rng.normal()) for name in own}
        for name, place in own.items():
            self.q[place] = self.states[name]
        self.equations = equations_at(self.reference.coordinates, self.t, self.q, self.u, self.parameters, size)
        joints = {name: self.equations.joint_coordinates(name)[0] for name in self.reference.flat.joints}
        self.turns = {(name, i): value for name, values in joints.items() for i, value in enumerate(values)}
        self.motion: tuple[dict[str, Pose], dict[str, np.ndarray]] = body_motion(
            self.reference.coordinates, self.q, self.u
        )
        self.oracle = Oracle(flat, self.t, *self.motion, joints, size, self.states, self.on)
        self.expected, _, self.redundant = self.oracle.solve()
        self.solved = self.reference.solve(self.q, self.u, t=self.t, parameters=self.parameters)

    @property
    def consistent(self) -> bool:
        """Whether the state satisfies the constraints as well as rounding allows."""
        e, sizes = self.equations, velocity_sizes(self.reference.coordinates, self.q, self.length)
        rows = np.abs(e.jacobian * sizes).max(axis=1, initial=0.0)
        rows = np.where(rows > 0, rows, 1.0)
        fastest = np.abs(self.u / sizes).max(initial=0.0) * self.time
        off = max(
            np.abs(e.position_residual() / rows[: self.reference.holonomic]).max(initial=0.0),
            np.abs(e.velocity_residual() / rows).max(initial=0.0) * self.time,
        )
        return bool(off < 1e-12 * (1.0 + fastest))

    @cached_property
    def units(self) -> np.ndarray:
        """Of the six accelerations of a body."""
        return np.array([1.0] * 3 + [self.length] * 3)

    @cached_property
    def size(self) -> float:
        """Of the accelerations, with those that velocities and gravity stand for."""
        twists = np.array([twist / self.units for twist in self.motion[1].values()])
        unconstrained = np.abs(self.oracle.unconstrained() / self.units).max(initial=0.0)
        return float(max(np.abs(self.expected / self.units).max(), np.abs(twists).max() ** 2, unconstrained))

    def off(self, dynamics: Dynamics, q: np.ndarray, u: np.ndarray, du: np.ndarray) -> float:
        """How far accelerations of bodies are from those of the independent solution, relative to their size."""
        found = accelerations_in_world(dynamics.coordinates, q, u, du, self.t)
        return float(np.abs((found - self.expected) / self.units).max() / self.size)


def check_model(model: Model, seed: int, *, size: Size = UNIT, ways: int = WAYS_AT_ONCE) -> Judged:
    """Compare all ways to the accelerations of a model at a random state.

    Args:
        size: the model's units of length and time.
        ways: how many pairs of formulation and coordinates are drawn.
    """
    judged = Judged()
    try:
        at = _Instant(model, seed, size)
    except DalembertError as error:
        judged.skipped = f"no state: {error}"
        return judged
    if not at.consistent or at.oracle.condition > WORST_CONDITION:
        judged.skipped = "ill-conditioned state" if at.consistent else "no consistent state"
        return judged
    limits = {"power": DIFFERENCES}
    for name, check in _checks(at, np.random.default_rng([seed, 2]), ways):
        limit = limits.get(name, AGREEMENT)
        if name.startswith("way ") and not FORMULATIONS[name.split()[1]].supports().exact:
            limit = APPROXIMATE
        try:
            off = check()
        except DalembertError as error:
            if name.startswith("way "):  # a formulation may refuse in words what it cannot take
                continue
            judged.findings.append(Finding(name, f"{type(error).__name__}: {error}"))
            continue
        judged.comparisons += 1
        judged.worst = max(judged.worst, off / (limit / AGREEMENT))
        if not off <= limit:
            judged.findings.append(Finding(name, f"disagreement {off:.1e} of {limit:.0e} allowed"))
    return judged


def _checks(at: _Instant, rng: np.random.Generator, ways: int) -> Iterator[tuple[str, Callable[[], float]]]:
    yield "native code", lambda: at.off(at.reference, at.q, at.u, at.solved[0])
    yield "plain NumPy", lambda: _plain(at)
    yield "batch", lambda: _batch(at, rng)
    yield "cache", lambda: _again(at)
    yield "copy", lambda: _copied(at)
    yield "Newton-Euler", lambda: _balance(at)
    yield "power", lambda: _power(at)
    yield "inverse", lambda: _inverse(at, rng)
    if at.states:
        yield "states", lambda: _state_rates(at)
    for i in rng.permutation(len(PAIRS))[:ways]:
        name, formulation, coordinates = draw_way(rng, *PAIRS[int(i)])
        yield f"way {name}", partial(_way, at, formulation, coordinates)


def _plain(at: _Instant) -> float:
    """The canonical equations in floats, solved by singular values."""
    e = at.equations
    sizes = velocity_sizes(at.reference.coordinates, at.q, at.length)
    du = solve_constrained(e.mass_matrix, e.jacobian, e.forcing, -e.gamma, sizes)[0]
    return at.off(at.reference, at.q, at.u, du)


def _batch(at: _Instant, rng: np.random.Generator) -> float:
    """The state among others; all must be as if alone."""
    speeds = np.array([1.0, 0.5, -1.0, 0.25])[rng.permutation(4)]
    u = np.outer(speeds, at.u)
    if at.equations.velocity_bias.any():
        u = np.tile(at.u, (4, 1))
    given = at.parameters
    together = at.reference.solve(np.tile(at.q, (4, 1)), u, t=at.t, parameters=given)[0]
    alone = np.array([at.reference.solve(at.q, one, t=at.t, parameters=given)[0] for one in u])
    return float(np.abs(together - alone).max(initial=0.0) / max(np.abs(alone).max(initial=0.0), 1e-300))


def _again(at: _Instant) -> float:
    """Written as YAML, read and derived once more, with machine code from the disk: the same bits."""
    gc.collect()
    return _same(at, Dynamics(loads(dumps(at.model)), "lagrange-multipliers", "relative"))


def _copied(at: _Instant) -> float:
    """Equations that were copied, as they are on their way to another process: the same bits."""
    return _same(at, copy.deepcopy(at.reference))


def _same(at: _Instant, dynamics: Dynamics) -> float:
    """0 if these equations give the same bits, else 1."""
    again = dynamics.solve(at.q, at.u, t=at.t, parameters=at.parameters)
    return 0.0 if all(np.array_equal(a, b) for a, b in zip(again, at.solved, strict=True)) else 1.0


def _balance(at: _Instant) -> float:
    """Forces, reactions and the rate of momentum of every body."""
    du, multipliers = at.solved
    kernels, given = at.reference.kernels, at.reference.parameters(at.parameters)
    wrenches = np.asarray(kernels.reaction_kernel(at.t, at.q, at.u, given, du, multipliers)).reshape(-1, 6)
    reactions = dict(zip(kernels.reaction_names, wrenches, strict=True))
    rest = at.oracle.imbalance(accelerations_in_world(at.reference.coordinates, at.q, at.u, du, at.t), reactions)
    units = np.array([at.length] * 3 + [1.0] * 3)
    acting = [*reactions.values(), *at.oracle.applied()]
    return float(np.abs(rest / units).max() / max(np.abs(wrench / units).max() for wrench in acting))


def _power(at: _Instant) -> float:
    """dE/dt along the motion is the power of forces without potential and of constraints that move."""
    du, multipliers = at.solved
    e, reference = at.equations, at.reference
    tree = e.tree
    wanted = float(e.power()) - float(multipliers @ e.velocity_bias)
    fastest = max(1 / at.time, float(np.abs(at.u).max(initial=0.0)) if at.length == 1 else 0.0)
    h = 1e-2 / max(fastest, np.sqrt(at.size))

    def energy(s: float) -> float:
        q = tree.normalize(tree.integrate(at.q, s * at.u + s * s / 2 * du))
        return float(sum(reference.energy(q, at.u + s * du, t=at.t + s, parameters=at.parameters)))

    def off(h: float) -> float:
        rate = sum(w * (energy(i * h) - energy(-i * h)) for i, w in zip(STEPS, WEIGHTS, strict=True)) / h
        size = max(abs(wanted), abs(rate), (abs(kinetic) + abs(potential)) * np.sqrt(at.size))
        return abs(rate - wanted) / max(size, 1e-300)

    kinetic, potential = reference.energy(at.q, at.u, t=at.t, parameters=at.parameters)
    # Where something begins to touch beside this state, differences want a shorter way.
    return next((found for shorter in (1, 4, 16, 64) if (found := off(h / shorter)) <= DIFFERENCES), off(h))


def _inverse(at: _Instant, rng: np.random.Generator) -> float:
    """M u̇ + h − Q of the acceleration under random forces: these forces and the reactions again."""
    e, reference = at.equations, at.reference
    M = e.mass_matrix
    weights = np.sqrt(np.abs(np.diag(M)))
    tau = weights * rng.normal(size=reference.nv)
    du, multipliers = reference.solve(at.q, at.u, tau, t=at.t, parameters=at.parameters)
    found = reference.kernels.inverse_kernel(at.t, at.q, at.u, reference.parameters(at.parameters), du)
    # Rounding of entries that are zero, times the multipliers of angles, would be forces of a large mechanism.
    carried = np.asarray(reference.residuals(at.t, at.q, at.u, at.parameters).jacobian).T @ multipliers
    wanted = tau + carried
    scale = np.where(weights > 0, weights, 1.0)
    size = max(np.abs(part / scale).max(initial=0.0) for part in (wanted, M @ du, e.forcing, carried))
    return float(np.abs((found - wanted) / scale).max(initial=0.0) / max(size, 1e-300))


def _state_rates(at: _Instant) -> float:
    """Rates of the model's own states, as their formulas say."""
    wanted = np.array([at.oracle.value(state.rate) for state, _ in at.reference.flat.states.values()])
    return float(np.abs(at.equations.state_rates() - wanted).max() / max(np.abs(wanted).max(), 1 / at.time))


def _way(at: _Instant, formulation: str | Formulation, coordinates: str | Generalized) -> float:
    chosen: Any = FORMULATIONS[formulation]() if isinstance(formulation, str) else formulation
    if isinstance(chosen, PenaltyRows):  # Ω is in 1/s: rounding of positions times Ω² is an acceleration
        chosen = replace(cast(Any, chosen), omega=chosen.omega / at.time)
    dynamics = Dynamics(at.model, chosen, coordinates)
    if coordinates == "relative":
        q, u = at.q, at.u
    else:
        q, u = transfer(dynamics.coordinates, *at.motion, at.turns, at.states)
    du, _ = dynamics.solve(q, u, t=at.t, parameters=at.parameters)
    if not chosen.exact:
        # What a penalty α leaves open is as 1/α: with ten times as much it is extrapolated away.
        stiffer: Any = replace(chosen, alpha=10 * chosen.alpha)
        other = Dynamics(at.model, stiffer, coordinates).solve(q, u, t=at.t, parameters=at.parameters)[0]
        du = (10 * other - du) / 9
    return at.off(dynamics, q, u, du)
