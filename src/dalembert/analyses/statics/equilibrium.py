"""Where a mechanism rests, and how it moves steadily: equilibria of constrained systems, with their stability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.assembly.check_values import names_of
from dalembert.analyses.linearization.linear_model import LinearModel
from dalembert.analyses.linearization.linearize import linearize
from dalembert.analyses.linearization.minimal_state import divide
from dalembert.analyses.simulation.give_inputs import refuse_states
from dalembert.analyses.statics.equilibrium_balance import BALANCED, Balance, Candidate, Roles, eliminated, null_space
from dalembert.analyses.statics.equilibrium_contacts import ContactBalance
from dalembert.analyses.statics.equilibrium_result import Equilibria, Equilibrium, has_zero
from dalembert.analyses.statics.equilibrium_system import system_equilibrium
from dalembert.arguments import public
from dalembert.coordinates import Generalized
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.dynamics.gaps import refuse_friction
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.modular import Subsystem
from dalembert.planar import Planar
from dalembert.state import HasState, State, check_joints, state_of
from dalembert.values import is_finite

__all__ = ["equilibrium"]

SAME = 1e-5  # of poses (m, or entries of rotations) and velocities: one equilibrium and not two
CYCLIC = 1e-9  # of derivatives by a coordinate on which nothing depends
PROBES = 3
RESTING = 1e-8  # velocities (rad/s, m/s) that drives may have of a mechanism at rest
MOST_STARTS = 100_000
GOLDEN = (math.sqrt(5) - 1) / 2


@public
def equilibrium(
    model: Model | Planar | Dynamics | Subsystem,
    guess: State | HasState | Mapping[str, Any] | None = None,
    *,
    starts: int = 1,
    steady: Mapping[str, float | None] | None = None,
    hold: Sequence[str] = (),
    unknowns: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    coordinates: str | Generalized = "relative",
    seed: int = 0,
) -> Equilibria[Any]:
    """Positions in which all forces balance, or steady motions, each with its stability.

    From the guess the mechanism first goes downhill, as with much friction, and then by Newton's method to where
    nothing is left. Every further start is a random position, from which both ways are tried: the second one finds
    unstable equilibria too. Limits and rigid contacts push or are open; those that push are closed in the result.

    Args:
        model: the mechanism (a planar one as ``to_model`` makes it), its compiled equations, or a subsystem. Of a
            subsystem the nearest equilibrium is found by Newton's method, stable or not; ``unknowns`` are inputs.
        guess: a state, or joint coordinates by name, and velocities with ``.d`` behind it; default: the model's own
            start. Loops are closed by assembly. ``A[1]`` names one coordinate of a joint.
        starts: how many starts; the first is the guess.
        steady: of steady motions: velocities that are constant, by name, with their values; None for one that is to be
            found. All others are zero, but for those of coordinates on which nothing depends, such as the path of a
            wheel: they are carried along. Of a subsystem, variables of order 0 move along.
        hold: coordinates that keep the values of the guess.
        unknowns: parameters that are to be found, as many as coordinates are held: which spring keeps the lamp here?
        parameters: values to use instead of the model's.
        coordinates: in which the velocities of a steady motion are constant; ``da.Generalized(sequence="zxz")`` has
            angles for balls.
        seed: of the random starts.

    Returns:
        the different equilibria that were found, by increasing potential energy; steady motions by the first velocity
        that was to be found.

    Raises:
        DalembertError: none was found; the message says what is left unbalanced.

    Example:
        found = da.equilibrium(da.library.double_pendulum(), starts=16)
        print(found[0].kind, found[0].joint("elbow"))
    """
    for name, value, low, high in (("starts", starts, 1, MOST_STARTS), ("seed", seed, 0, 2**128)):
        if not low <= value <= high:
            raise DalembertError(f"equilibrium: {name} must be a number from {low} to {high}, got {value!r}")
    guess = state_of(guess)
    if isinstance(model, Subsystem):
        if isinstance(guess, State):
            raise DalembertError('equilibrium: a subsystem takes no State.  Fix: guess={"theta": 0.3}')
        given = dict(guess or {})
        return system_equilibrium(model, given, starts, (hold, unknowns, dict(parameters or {})), seed, steady)
    dynamics = _equations(model, coordinates)
    refuse_states("equilibrium", dynamics.flat, "da.simulate until it rests, or da.linearize at a state of it")
    says = "where it rests depends on how it got there: da.holding(model, at) says whether it stays; or "
    refuse_friction(dynamics, dict(parameters or {}), says)
    dynamics.flat.refuse_feedback("equilibrium", outputs=False)
    search = _Search(
        dynamics, _start(dynamics, guess, dict(parameters or {})), steady, names_of(hold), names_of(unknowns)
    )
    return search.run(starts, np.random.default_rng(seed))


def _equations(model: Any, coordinates: str | Generalized) -> Dynamics:
    if isinstance(model, Planar):
        model = model.to_model()
    if isinstance(model, Dynamics):
        return model if model.coordinates.name in ("relative", "generalized") else model.relative
    if not isinstance(model, Model):
        what = type(model).__name__
        raise DalembertError(
            f"equilibrium takes a model, a planar mechanism, compiled equations or a subsystem, got a {what}"
        )
    if isinstance(coordinates, str) and coordinates not in ("relative", "generalized"):
        raise DalembertError(f"equilibrium: coordinates must be 'relative' or da.Generalized(…), got {coordinates!r}")
    return cached_dynamics(model, "auto", coordinates)


def _start(dynamics: Dynamics, guess: Any, parameters: dict[str, float]) -> State:
    """The guess as a state in the coordinates of the equations."""
    dynamics.parameters(parameters)
    if isinstance(guess, State):
        check_joints("guess", guess, dynamics.flat)
        values = {**guess.parameters, **parameters}
        q, u = guess.to(dynamics.coordinates)
        return State(guess.time, q, u, dynamics.coordinates, values)
    given: dict[str, Any] = dict(guess or {})
    single = {name: given.pop(name) for name in list(given) if _component(dynamics, name)}
    rates = {name.removesuffix(".d"): given.pop(name) for name in list(given) if name.endswith(".d")}
    state = assemble_state(dynamics.relative, given, rates, parameters, 0.0)
    q, u = state.to(dynamics.coordinates)
    for name, value in single.items():
        if not is_finite(value):
            raise DalembertError(f"guess: {name!r} must be a finite number, got {value!r}")
        if name.endswith(".d"):
            u[dynamics.u_names.index(name.removesuffix(".d"))] = value
        else:
            q[dynamics.q_names.index(name)] = value
    return State(state.time, q, u, dynamics.coordinates, parameters)


def _component(dynamics: Dynamics, name: str) -> bool:
    """True for one coordinate or velocity of a joint that has several."""
    plain = name.removesuffix(".d")
    return plain not in dynamics.flat.joints and plain in (
        dynamics.u_names if name.endswith(".d") else dynamics.q_names
    )


def _numbers(dynamics: Dynamics, what: str, names: Sequence[str]) -> list[int]:
    """Velocities by name; a joint with several stands for all of them."""
    found: list[int] = []
    slots = dynamics.coordinates.slot_of_joint
    for name in names:
        if name in dynamics.u_names:
            found.append(dynamics.u_names.index(name))
        elif name in slots and dynamics.coordinates.name == "relative":
            found += range(slots[name].u.start, slots[name].u.stop)
        else:
            more = "; it is closed by the others" if name in dynamics.flat.joints else ""
            raise DalembertError(f"{what}: no coordinate {name!r}{more}.  Fix: one of {', '.join(dynamics.u_names)}")
    return found


@dataclass
class _Search:
    """One question, and what was found."""

    dynamics: Dynamics
    start: State
    steady: Mapping[str, float | None] | None
    hold: tuple[str, ...]
    unknowns: tuple[str, ...]
    found: list[tuple[Candidate, np.ndarray]] = field(default_factory=lambda: [])

    def __post_init__(self) -> None:
        d = self.dynamics
        unknown = [name for name in self.unknowns if name not in d.parameter_names]
        if unknown:
            known = ", ".join(d.parameter_names) or "none"
            raise DalembertError(f"unknowns: no parameter {unknown[0]!r}; the model has {known}")
        self.held = _numbers(d, "hold", self.hold)
        self.p = d.parameters(self.start.parameters)
        self.rates, self.cyclic = self._rates(), self._cyclic()
        self.contacts = ContactBalance(d, self.start, self._roles())
        self.balance = self.contacts.of(self.p)
        if self.steady is None:
            self._check_drives()

    # What is unknown

    def _rates(self) -> dict[int, float | None]:
        found: dict[int, float | None] = {}
        for name, value in (self.steady or {}).items():
            (number,) = _numbers(self.dynamics, "steady", [name])[:1] or (0,)
            if len(_numbers(self.dynamics, "steady", [name])) > 1:
                raise DalembertError(f"steady: joint {name!r} has several velocities.  Fix: {name}[0], …")
            found[number] = None if value is None else float(value)
        return found

    def _roles(self) -> Roles:
        """Velocities lie in the span of those that are named and of directions along which nothing changes."""
        d = self.dynamics
        free = [i for i in range(d.nv) if i not in self.held]
        if self.steady is None:
            return Roles.resting(d.nv, free, self.unknowns)
        named, given = list(self.rates), [i for i, value in self.rates.items() if value is not None]
        units = np.eye(d.nv)
        S = self.cyclic
        every = _span(np.hstack([S, units[:, named]]))
        wanted = np.array([self.rates[i] for i in given], dtype=float)
        self.given = every @ np.linalg.lstsq(every[given], wanted, rcond=None)[0] if given else np.zeros(d.nv)
        rates = every @ null_space(every[given]) if given else every
        # What the constraints carry along may accelerate: along directions that they determine.
        loose = S @ null_space(S[named]) if named else S
        _, s, Vt = np.linalg.svd(self._rows() @ loose)
        carried = loose @ Vt[: int(np.sum(s > CYCLIC * max(1.0, s.max(initial=0.0))))].T
        moves = [i for i in free if i not in self.rates]
        return Roles(tuple(moves), rates, carried, self.unknowns, moving=True)

    def _probe(self) -> Balance:
        return Balance(self.dynamics, self.start, Roles.resting(self.dynamics.nv, ()))

    def _rows(self) -> np.ndarray:
        """A at the guess, rows that act."""
        seen = self._probe()
        return seen.tangent(seen.candidate(self.start.q, self.start.u, self.p))["A"][seen.acting]

    def _cyclic(self) -> np.ndarray:
        """Directions, as columns, along which nothing changes: neither forces nor constraints."""
        d, rng, seen = self.dynamics, np.random.default_rng(1), self._probe()
        rows: list[np.ndarray] = []
        for _ in range(PROBES):
            q = seen.shifted(self.start.q, rng.normal(size=d.nv))
            u, du, multipliers = rng.normal(size=d.nv), rng.normal(size=d.nv), rng.normal(size=len(d.rows))
            T = seen.tangent(Candidate(q, u, du, multipliers, self.p))
            for key in ("r_q", "v_q", "g_q", "phi_q"):
                J = T[key] @ T["W"]
                rows.append(J / max(np.abs(J).max(initial=0.0), 1e-300))
        _, s, Vt = np.linalg.svd(np.concatenate(rows))
        basis = Vt[int(np.sum(s > CYCLIC * s.max(initial=1.0))) :]
        return _span(_simple(basis).T)

    def _check_drives(self) -> None:
        """Drives that move leave nothing at rest."""
        b = self.balance
        v = b.tangent(b.candidate(self.start.q, np.zeros(self.dynamics.nv), self.p))["v"]
        moving = [i for i in b.acting if abs(v[i]) > RESTING]
        if moving:
            owner = self.dynamics.rows[moving[0]].owner
            raise DalembertError(
                f"equilibrium: {owner!r} moves by {-v[moving[0]]:.6g} per second, so nothing rests.  "
                "Fix: steady={joint: None} for a steady motion, or a drive that stands still"
            )

    # Starts

    def run(self, starts: int, rng: np.random.Generator) -> Equilibria[Equilibrium]:
        """All starts; the solutions that differ."""
        best: tuple[float, Candidate] | None = None
        used = 0
        for number in range(starts):
            at = self._first() if number == 0 else self._random(rng, number)
            if at is None:
                continue
            used += 1
            ways = [False]
            if self.steady is None and not self.unknowns:
                # Both ways lead to the same place from most positions; a single guess is asked for what is below it.
                ways = [True, False][: 1 if starts == 1 else 2]
            for downhill in ways:
                found, left = self.contacts.find(at, downhill)
                if best is None or left < best[0]:
                    best = left, found
                if left <= BALANCED:
                    self._keep(found)
        if not self.found:
            assert best is not None
            raise DalembertError(self._unbalanced(best[1], used))
        results = self._results()
        steady = [one for one in results if one.linear is None or not one.linear.kind.startswith("no equilibrium")]
        if not steady and results[0].linear is not None:
            raise DalembertError(
                f"equilibrium: the motion of {self.dynamics.model.name!r} is not steady: {results[0].linear.kind}.  "
                "Fix: name other velocities in steady=, those that stay constant"
            )
        return Equilibria(self.dynamics.model.name, steady, starts)

    def _first(self) -> Candidate:
        return self.balance.candidate(self.start.q, self._velocities(self.start.u), self.p)

    def _velocities(self, u: np.ndarray) -> np.ndarray:
        """The nearest that are allowed."""
        if self.steady is None:
            return np.zeros(self.dynamics.nv)
        B = self.balance.roles.rates
        return self.given + B @ (B.T @ (u - self.given))

    def _random(self, rng: np.random.Generator, number: int) -> Candidate | None:
        """A random position of what may move, loops closed, with random velocities where they are to be found."""
        positions = self.balance.positions
        for _ in range(20):
            q = self._scattered(rng)
            closed = positions.settle(q) if positions.holonomic else q
            if closed is not None:
                break
        else:
            return None
        u = self._velocities(self.start.u)
        for k, i in enumerate([i for i, value in self.rates.items() if value is None]):
            # Evenly over three decades and both directions, whatever the number of starts.
            u[i] = (-1.0) ** number * 10.0 ** (-1 + 3 * ((number * GOLDEN + k * GOLDEN**2) % 1.0))
        u = self._velocities(u)
        p = self.p.copy()
        columns = [self.dynamics.parameter_names.index(name) for name in self.unknowns]
        p[columns] *= rng.uniform(0.2, 3.0, len(columns))
        return self.balance.candidate(closed, u, p)

    def _scattered(self, rng: np.random.Generator) -> np.ndarray:
        d, q = self.dynamics, self.start.q.copy()
        moves = self.balance.roles.moves
        if d.coordinates.name != "relative":
            return self.balance.shifted(q, np.where(np.isin(np.arange(d.nv), moves), rng.uniform(-3, 3, d.nv), 0.0))
        xi = np.zeros(d.nv)
        for slot in d.coordinates.slots:
            if slot.joint is None:
                continue
            joint = d.coordinates.nominal_joint(slot.joint).joint
            for index, i in enumerate(range(slot.u.start, slot.u.stop)):
                if i in moves:
                    reach = math.pi if joint.nq != joint.nv or index in joint.angles else 1.0
                    xi[i] = rng.uniform(-reach, reach)
        return self.balance.shifted(q, xi - self.cyclic @ (self.cyclic.T @ xi))

    def _keep(self, at: Candidate) -> None:
        """Unless it was found before: the same poses, velocities, parameters and energy."""
        seen = self.dynamics.kernels.observer(self.balance.time, at.q, at.u, at.p)
        potential = float(np.asarray(seen.potential))
        speeds = at.u[list(self.rates)]
        mark = np.concatenate([np.asarray(seen.pose).ravel(), speeds, at.p, [potential]])
        size = 1.0 + np.abs(mark)
        if not any(np.abs((mark - other) / size).max() < SAME for _, other in self.found):
            self.found.append((at, mark))

    # Results

    def _results(self) -> list[Equilibrium]:
        free = [i for i, value in self.rates.items() if value is None]
        order = sorted(self.found, key=lambda one: float(one[0].u[free[0]]) if free else float(one[1][-1]))
        return [self._result(at, float(mark[-1])) for at, mark in order]

    def _result(self, at: Candidate, potential: float) -> Equilibrium:
        state = self.contacts.state(at, self.unknowns)
        linear, trouble = self._linear(state, at)
        neutral = tuple(self._neutral(at))
        if linear is not None and not has_zero(linear.eigenvalues()):
            neutral = ()  # soft beside stiff springs, not neutral
        return Equilibrium(
            self.dynamics, state, linear, trouble, neutral, self.steady is not None, potential, at.multipliers, at.du,
            self.contacts.pushes(at),
        )  # fmt: skip

    def _neutral(self, at: Candidate) -> list[tuple[str, ...]]:
        """Neutral directions; unknown parameters and what is held do not count, nor where a steady motion is."""
        whole = replace(self.balance.roles, parameters=())
        if self.steady is None:
            whole = replace(whole, moves=tuple(range(self.dynamics.nv)))
        aside = self.cyclic if self.steady is not None else None
        return Balance(self.dynamics, self.contacts.state(at, self.unknowns), whole).neutral(at, aside)

    def _linear(self, state: State, at: Candidate) -> tuple[LinearModel | None, str]:
        """Small motions next to it; velocities that are constant are its states."""
        d, states = self.dynamics, ()
        pushes = self.contacts.pushes(at)
        idle = [name for name, push in pushes.items() if push <= self.contacts.least_push(at, self.contacts.of(at.p))]
        if idle:
            return None, f"{idle[0]!r} touches without a force: motions to one side differ from those to the other"
        if self.steady is not None:
            A = self.balance.tangent(at)["A"]
            n = self.balance.holonomic
            carried = np.abs(self.balance.roles.carried).max(axis=1, initial=0.0) > CYCLIC
            kept = np.flatnonzero(~carried).tolist()
            part = divide(A, n, [i for i in self.balance.acting if i not in n], (kept, kept))
            states = tuple(d.u_names[i] for i in part.positions)
            states += tuple(f"{d.u_names[i]}.d" for i in part.velocities)
        try:
            return linearize(d, state, states=states), ""
        except DalembertError as error:
            return None, str(error)

    def _unbalanced(self, best: Candidate, used: int) -> str:
        """Why there is no equilibrium, in words: what nothing balances at the best position that was found."""
        d = self.dynamics
        forces, gaps, rates = self.contacts.of(best.p).unbalanced(best)
        kind = "steady motion" if self.steady is not None else "equilibrium"
        lines = [f"equilibrium: no {kind} of {d.model.name!r} found from {used} start{'s' * (used != 1)}."]
        worst = np.argsort(-np.abs(forces))[:3]
        size = float(np.abs(forces).max(initial=0.0))
        parts = [
            f"{d.u_names[i]!r} by {forces[i]:.6g} {_unit(d, i)}"
            for i in worst
            if abs(forces[i]) > 1e-6 * max(size, 1e-9)
        ]
        if parts:
            lines.append(f"  At the best position nothing balances {', '.join(parts)}.")
        for values, what in ((gaps, "is open by"), (rates, "moves by")):
            i = int(np.argmax(np.abs(values))) if len(values) else 0
            if len(values) and abs(values[i]) > BALANCED:
                lines.append(f"  {d.rows[i].owner!r} {what} {abs(values[i]):.3g}.")
        lines += [f"  {gap.owner!r} is {-gap.value:.3g} beyond its limit." for gap in self.contacts.entered(best)[:1]]
        fix = "another guess, more starts=, or a spring, damper or drive that holds it"
        if self.steady is not None:
            fix = "another guess, more starts=, other velocities in steady=, or None for one that is to be found"
        elif len(self.hold) > len(self.unknowns):
            fix = "what is held needs a force: a parameter that gives it in unknowns=, or a drive instead of hold="
        lines.append(f"  Fix: {fix}")
        return "\n".join(lines)


def _span(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns' span; units stay units."""
    kept: list[np.ndarray] = []
    for column in columns.T:
        rest = column
        for _ in range(2):
            for other in kept:
                rest = rest - (other @ rest) * other
        length = float(np.linalg.norm(rest))
        if length > CYCLIC * max(1.0, float(np.linalg.norm(column))):
            kept.append(rest / length)
    return np.array(kept).reshape(len(kept), len(columns)).T


def _simple(rows: np.ndarray) -> np.ndarray:
    """The same span with as many zeros as elimination gives, and no rounding."""
    _, done = eliminated(rows, 0.0)
    return np.where(np.abs(done) > CYCLIC, done, 0.0)


def _unit(dynamics: Dynamics, index: int) -> str:
    """Of the force on a velocity."""
    for slot in dynamics.coordinates.slots:
        if slot.joint is not None and slot.u.start <= index < slot.u.stop:
            joint = dynamics.coordinates.nominal_joint(slot.joint).joint
            if joint.nq == joint.nv:
                return "N m" if index - slot.u.start in joint.angles else "N"
            subspace = joint.subspace(NUMPY, joint.neutral()) if hasattr(joint, "subspace") else None
            if subspace is not None:
                return "N m" if np.abs(subspace[:3, index - slot.u.start]).max() > 0 else "N"
    return "N m or N"
