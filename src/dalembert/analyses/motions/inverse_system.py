"""Inverse dynamics of subsystems: theorem 4.3, chosen constraint forces, Coulomb friction on them.

    u = −Cᵀf*   with   C.u = 1                                                                              (4.15)

is the projection of the forces onto the variations that the invariants leave free, solved for the inputs: it is found
here from a basis of these variations at each instant, so that no choice of variables gets singular on the way.

Reference: R. M. M. Orsino, thesis (2016), sec. 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.motions.allocate import Allocation, allocate
from dalembert.analyses.motions.follow import FINER, FINEST, with_halved_steps, with_middles
from dalembert.analyses.motions.friction import Friction, solve_sizes
from dalembert.analyses.motions.inverse_system_result import Quality, Reversal, SystemInverse
from dalembert.analyses.motions.signals import Signals, signal_of
from dalembert.codegen import Kernel, compile_function
from dalembert.errors import DalembertError, ModelError, SimulationError
from dalembert.expressions import TIME, evaluate
from dalembert.modular import ModularEquations, Subsystem
from dalembert.modular.complement import Pivoted
from dalembert.modular.description import Description
from dalembert.modular.labeled_matrix import ONE
from dalembert.modular.labels import Label
from dalembert.modular.prescribed_system import Named, Prescribed, label_key, prescribed, raised
from dalembert.modular.traced import names_in
from dalembert.numerics.allocation import balance_along
from dalembert.numerics.following import CONTRADICTION, FOLLOWED, JUMP, NO_CONVERGENCE, SINGULAR, States, follow_states
from dalembert.values import MAPPING

__all__ = ["inverse_system"]

STANDS = 1e-9  # a velocity below this part of its largest value is zero
MOST_HALVINGS = 10  # of the steps of integrated variables
RANK = 1e-8
START_STEPS, STARTED = 60, 1e-11  # of Newton's method at the first instant; its residual, relative
HIGHEST = 2  # order up to which prescribed functions are differentiated


def inverse_system(
    subsystem: Subsystem,
    motion: Mapping[Any, Any],
    times: np.ndarray,
    *,
    unknowns: Any,
    weights: Mapping[str, float],
    initial: Mapping[str, Any],
    parameters: Mapping[str, float],
) -> SystemInverse:
    """Inputs, chosen constraint forces and friction along a prescribed motion of a subsystem."""
    known = subsystem.equations().inputs
    names, limits = _unknowns(subsystem.name, known, unknowns)
    targets: list[sp.Expr] = []
    values: list[tuple[str, Any]] = []
    inputs: dict[str, Any] = {}
    for key, value in motion.items():
        text = str(getattr(key, "name", key))
        found = [name for name in known if name == text or name.endswith(f".{text}")]
        if len(found) == 1 and not isinstance(key, sp.Expr):
            inputs[found[0]] = value
        else:
            targets.append(subsystem._formula(key))  # pyright: ignore[reportPrivateUsage]
            values.append((text, value))
    if not targets:
        raise DalembertError('no motion is given.  Fix: motion={"s": "0.1*sin(t)"} with a variable or a formula')
    key = ("inverse", subsystem.name, tuple(targets), names, tuple(inputs))
    memo = subsystem.description().memo
    if key not in memo:
        memo[key] = SystemFollower(subsystem, targets, names, tuple(inputs))
    run = _Run(memo[key], subsystem, {**subsystem.parameter_values(), **_numbers(subsystem, parameters)})
    run.titles = dict(zip(memo[key].system.motion, (text for text, _ in values), strict=True))
    run.signals = Signals(
        [signal_of(text, v, (times[0], times[-1])) for text, v in [*values, *inputs.items()]], tuple(run.values)
    )
    return run.solve(times, weights, limits, {str(getattr(k, "name", k)): v for k, v in initial.items()})


def _numbers(subsystem: Subsystem, parameters: Mapping[str, float]) -> dict[str, float]:
    known = subsystem.parameter_values()
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise DalembertError(f"unknown parameters {unknown}; subsystem {subsystem.name!r} has {', '.join(known)}")
    return {name: float(value) for name, value in parameters.items()}


def _unknowns(owner: str, known: Sequence[str], asked: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Full names of the unknown inputs, and their limits."""
    from dalembert.analyses.assembly.prescribe import limits_of

    if asked is None:
        asked = list(known)
    limited = asked if isinstance(asked, MAPPING) else dict.fromkeys([asked] if isinstance(asked, str) else asked)
    names: list[str] = []
    limits: list[tuple[float, float]] = []
    for key, bounds in limited.items():
        text = str(getattr(key, "name", key))
        found = [text] if text in known else [name for name in known if name.endswith(f".{text}")]
        if len(found) != 1:
            said = (
                f"may be any of {', '.join(found)}"
                if found
                else f"is not an input; there are {', '.join(known) or 'none'}"
            )
            raise DalembertError(f"subsystem {owner!r}: unknown {text!r} {said}")
        names.append(found[0])
        limits.append(limits_of(text, bounds) or (-np.inf, np.inf))
    return tuple(names), np.array(limits, dtype=float).reshape(-1, 2)


class SystemFollower:
    """All that does not depend on values: the system with prescribed motion over CasADi, and its kernels."""

    def __init__(self, subsystem: Subsystem, targets: list[sp.Expr], unknowns: tuple[str, ...], given: tuple[str, ...]):
        self.unknowns, self.given = unknowns, given
        self.system: Prescribed = prescribed(subsystem.description(), targets, frozenset(unknowns))
        values = subsystem.parameter_values()
        self.equations = ModularEquations(subsystem.name, self.system.description, values, {}, None, Pivoted())
        if self.equations.order > HIGHEST:
            raise DalembertError(f"inverse dynamics takes systems of order {HIGHEST}, {subsystem.name!r} has more")
        self.balances: list[tuple[str, Any]] = []
        hidden = self._hidden()
        if hidden:
            self._raise(subsystem, hidden)
        self.traced = self.equations.casadi
        self.state, self.top = self.equations.state, self.equations.top
        self._check()

    def _hidden(self) -> list[Label]:
        """Quasi-velocities that no invariant names, such as currents: they follow from the forces that they exert."""
        named = {column for line in self.equations.casadi.A.entries.values() for column in line}
        order = self.equations.order
        return [label for label in self.equations.top if label.base == order - 1 > 0 and label not in named]

    def _raise(self, subsystem: Subsystem, hidden: list[Label]) -> None:
        """Balances without unknowns determine hidden variables as accelerations do; their rates, as jerks do.

        G(q⟪2⟫, i) = 0,      ∂G/∂q⟨2⟩ q⟨3⟩ + ∂G/∂i di/dt + … = 0
        """
        rows = subsystem.equations().casadi.f_bar
        barred = {*self.unknowns, *map(str, hidden)}
        for row in rows.rows:
            value = rows.get(row, ONE)
            if type(value) is not float and not barred & names_in(value):
                self.balances.append((row.text, value))
        if len(self.balances) != len(hidden) or self.system.sizes or self.system.signs:
            free = ", ".join(label.text for label in self._free(hidden))
            if free:
                raise DalembertError(
                    f"subsystem {subsystem.name!r}: the prescribed motion leaves {free} to dynamics, one for each "
                    f"degree of freedom that it does not determine.  Fix: prescribe them, too; where they are to move "
                    f"freely, da.simulate with the motion as an invariant"
                )
            names = ", ".join(label.text for label in hidden)
            count = f"{len(self.balances)} instead of {len(hidden)} balances of forces without unknowns"
            why = count if len(self.balances) != len(hidden) else "friction, which jumps"
            raise DalembertError(
                f"subsystem {subsystem.name!r}: the prescribed motion does not determine {names}; forces might, but "
                f"there is {why}.  Fix: prescribe them, too, or take other unknowns"
            )
        places: dict[tuple[str, ...], set[str]] = {}
        for label in hidden:
            places.setdefault(label.path, set()).add(label.name)
        description = raised(self.system.description, places)
        self.system = replace(self.system, description=description)
        values = subsystem.parameter_values()
        self.equations = ModularEquations(subsystem.name, description, values, {}, None, Pivoted())

    def _free(self, hidden: list[Label]) -> list[Label]:
        """Variables that the prescribed motion leaves free besides the hidden ones; none where no state is found."""
        try:
            return [label for label in self.equations.independent if label not in hidden]
        except ModelError:
            return []

    @property
    def lower(self) -> list[tuple[str, int, Any]]:
        """Name, order and value of all that is zero below the highest order."""
        found = [(label.text, label.order, value) for label, value in self.traced.lower]
        return found + [(f"balance of {name}", HIGHEST, value) for name, value in self.balances]

    @property
    def driven(self) -> tuple[str, ...]:
        """Inputs with given values: prescribed motion, then given inputs."""
        return (*self.system.motion, *self.given)

    def want(self) -> list[str]:
        """Names of given values and their rates, in the order of ``given``."""
        ends = ("", ".d", ".dd", ".ddd")[: max(self.equations.order, HIGHEST) + 1]
        return [n + end for end in ends for n in self.driven]

    def _symbols(self) -> dict[str, ca.SX]:
        column = self.traced.column
        return {
            "t": column([TIME.name]),
            "y": column([*self.state, *self.top]),
            "given": column(self.want()),
            "p": column(self.equations.parameters),
        }

    def _check(self) -> None:
        """Unknown inputs may not stand in invariants."""
        values = [value for _, value in self.traced.lower]
        values += [value for line in self.traced.A.entries.values() for value in line.values()]
        names = {name for value in values if type(value) is not float for name in names_in(value)}
        clash = sorted(names & {*self.unknowns})
        if clash:
            raise DalembertError(f"{', '.join(clash)} appears in an invariant, so it cannot be found as a force")

    @cached_property
    def kernel(self) -> Kernel:
        """h, its Jacobian, A, b and the rates of the state."""
        traced = self.traced
        h = CASADI.to_sx(np.array([value for _, _, value in self.lower], dtype=object))
        A, rows = traced.A, traced.A.rows
        top = traced.column(self.top)
        more = self._rate(CASADI.to_sx(np.array([value for _, value in self.balances], dtype=object)))
        outputs = {
            "h": h,
            "J": _by_rows(ca.jacobian(h, traced.column(self.state))),
            "A": ca.vertcat(CASADI.to_sx(A.part(rows, self.top).to_array()), _by_rows(ca.jacobian(more, top))),
            "b": ca.vertcat(
                CASADI.to_sx(np.array([traced.b.get(row, ONE) for row in rows], dtype=object)),
                ca.substitute(more, top, ca.DM.zeros(len(self.top))),
            ),
            "rates": CASADI.to_sx(traced.rates),
        }
        return self._compiled("system", outputs)

    def _compiled(self, name: str, outputs: dict[str, ca.SX], **more: ca.SX) -> Kernel:
        """A kernel of what is known; unknown and other inputs are zero."""
        known = {**self._symbols(), **more}
        seen = {s.name() for column in known.values() for s in ca.symvar(column)}
        free = [s for s in ca.symvar(ca.vertcat(*outputs.values())) if s.name() not in seen]
        zero = ca.DM.zeros(len(free))
        if free:
            outputs = {k: ca.substitute(v, ca.vertcat(*free), zero) for k, v in outputs.items()}
        return compile_function(name, known, {k: ca.densify(v) for k, v in outputs.items()}, shapes={"t": ()})

    @property
    def constraints(self) -> list[Any]:
        """Rows that are constraints of the system, not prescribed motion."""
        return [row for row in self.traced.A.rows if label_key(row) not in self.system.added]

    @cached_property
    def force_kernel(self) -> Kernel:
        """A; forces without unknowns, of each unknown and of each size; speeds; sizes as quadratic forms; signs."""
        traced, sizes, signs = self.traced, self.system.sizes, self.system.signs
        total = dict.fromkeys(self.top, 0.0)
        for own in traced.own.values():
            for row in own.forces.rows:
                total[row] = total[row] + own.forces.get(row, ONE)
        f = CASADI.to_sx(np.array([total[label] for label in self.top], dtype=object))
        u, n = traced.column(self.unknowns), traced.column([one.text for one in sizes])
        both = ca.vertcat(u, n)
        B, Bn = ca.jacobian(f, u), ca.jacobian(f, n)
        self._check_linear(B, Bn, both)
        zero = ca.DM.zeros(both.shape[0])
        p = ca.vertcat(*[self._value(one) for one in sizes]) if sizes else ca.SX(0, 1)
        g = ca.jacobian(p, u)
        H = ca.vertcat(*[_by_rows(ca.hessian(p[i], u)[0]) for i in range(len(sizes))]) if sizes else ca.SX(0, 1)
        v = ca.vertcat(*[self._value(one) for one in signs]) if signs else ca.SX(0, 1)
        A = traced.A.part(self.constraints, self.top).to_array()
        outputs = {
            "A": CASADI.to_sx(A),
            "f": ca.substitute(f, both, zero), "B": _by_rows(B), "Bn": _by_rows(Bn), "v": v, "dv": self._rate(v),
            "p": ca.substitute(p, u, ca.DM.zeros(u.shape[0])),
            "g": _by_rows(ca.substitute(g, u, ca.DM.zeros(u.shape[0]))), "H": H,
        }  # fmt: skip
        if any(s.name() in self.unknowns for s in ca.symvar(H)):
            raise DalembertError("a size of unknown forces must be the root of a quadratic form, such as √(Y² + Z²)")
        return self._compiled("unknowns", outputs, signs=traced.column([one.text for one in signs]))

    def _check_linear(self, B: ca.SX, Bn: ca.SX, both: ca.SX) -> None:
        names = {both[i].name() for i in range(both.shape[0])}
        if names & {s.name() for s in ca.symvar(ca.vertcat(ca.vec(B), ca.vec(Bn)))}:
            raise DalembertError(
                f"the unknowns {', '.join(self.unknowns)} do not enter the forces linearly, and not by sizes such as "
                f"√(Y² + Z²) or |Y| alone"
            )

    def _value(self, one: Named) -> ca.SX:
        """A named part of a formula, seen from the root."""
        node = next(node for node in self.equations.nodes if node.path == one.path)
        d: Description = node.description

        def known(symbol: Any) -> Any:
            return self.traced.symbols[symbol.name]

        def lookup(symbol: Any) -> Any:
            seen = node.at_root(symbol.name)
            return evaluate(CASADI, seen, known)

        value = evaluate(CASADI, d.lively(one.value), lookup)
        return CASADI.to_sx(np.array([value], dtype=object))

    def _rate(self, values: ca.SX) -> ca.SX:
        """Time derivatives along the motion, where the variables of the highest order are known."""
        if not values.shape[0]:
            return values
        moving = ca.vertcat(self.traced.column([TIME.name]), self.traced.column(self.state))
        direction = ca.vertcat(ca.SX.ones(1), CASADI.to_sx(self.traced.rates))
        return ca.jtimes(values, moving, direction)


class _Forces(NamedTuple):
    """Unknowns at some instants, friction, speeds that the unknowns act on."""

    found: Allocation
    friction: Friction | None
    B: np.ndarray
    seen: Any


class _Run:
    """One call: values of parameters and prescribed functions."""

    signals: Signals
    titles: Mapping[str, str]

    def __init__(self, owner: SystemFollower, subsystem: Subsystem, values: Mapping[str, float | None]):
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise DalembertError(f"subsystem {subsystem.name!r}: no value for {', '.join(missing)}")
        self.owner, self.subsystem = owner, subsystem
        self.values = {name: float(value) for name, value in values.items() if value is not None}
        self.p = np.array([self.values[name] for name in owner.equations.parameters])
        o = owner
        self.record = States(
            states=len(o.state), tops=len(o.top), lower=len(o.lower), rows=len(o.traced.A.rows) + len(o.balances),
            given=len(o.want()), n_parameters=len(self.p), parameters=self.p.copy(), smallest_pivot=1.0,
        )  # fmt: skip
        self.record.set(kernel=o.kernel)

    def wanted(self, times: np.ndarray) -> np.ndarray:
        found = self.signals.at(times, self.values).reshape(len(times), -1)
        if self.owner.equations.order <= HIGHEST:
            return found
        return np.hstack([found, self.signals.third(times, self.values)])

    # The motion

    def begin(self, t: float, guess: Mapping[str, Any], held: set[str]) -> np.ndarray:
        """A consistent state at the first instant, near the guess; values that are held stay, if they can."""
        o = self.owner
        names = [str(label) for label in o.state]
        unknown = [name for name in guess if name not in names]
        if unknown:
            raise DalembertError(f"initial: unknown {', '.join(unknown)}; the state is {', '.join(sorted(names))}")
        near = {name: float(value) for name, value in guess.items()}
        eq = ModularEquations(self.subsystem.name, o.system.description, self.values, near, None, Pivoted())
        want = self.wanted(np.array([t]))[0]
        given = dict(zip(o.want(), want, strict=True))
        fixed = dict.fromkeys(eq.inputs, 0.0)
        fixed |= {name: value for name, value in given.items() if name in {*eq.inputs, *eq.casadi.input_rates}}
        start = eq.values({TIME.name: t, **fixed}, guess=True)
        rest = [start[n] if label.order == 0 or n in near else 0.0 for n, label in zip(names, o.state, strict=True)]
        y = self._by_orders(t, want, np.array(rest), held) if held else None
        y = self._by_orders(t, want, np.array(rest), set()) if y is None else y
        if y is None:
            found = eq.consistent({TIME.name: t, **fixed})
            y = np.array([found[name] for name in names])
        y = np.concatenate([y, np.zeros(len(o.top))])
        J = np.asarray(o.kernel(t, y, want, self.p).J).reshape(-1, len(o.state))
        sizes = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(0)
        rank = int(np.sum(sizes > RANK * max(sizes.max(initial=0.0), 1e-300)))
        self.record.integrates = rank < len(o.state)
        return y

    def _by_orders(self, t: float, want: np.ndarray, start: np.ndarray, held: set[str]) -> np.ndarray | None:
        """Positions first, then velocities: the state closest to the start, or None."""
        o = self.owner
        n, rows = len(o.state), np.array([order for _, order, _ in o.lower])
        y = np.concatenate([start, np.zeros(len(o.top))])
        for order in range(o.equations.order):
            free = np.array([label.order == order and str(label) not in held for label in o.state])
            for _ in range(START_STEPS):
                seen = o.kernel(t, y, want, self.p)
                left = np.asarray(seen.h)[rows == order]
                size = 1.0 + np.abs(y[:n]).max(initial=0.0)
                if not np.all(np.isfinite(left)):
                    return None
                if np.abs(left).max(initial=0.0) <= STARTED * size:
                    break
                J = np.asarray(seen.J).reshape(-1, n)[rows == order][:, free]
                step = np.linalg.lstsq(J, left, rcond=RANK)[0]
                y[:n][free] -= step * min(1.0, 0.5 * size / max(np.abs(step).max(initial=0.0), 1e-300))
            else:
                return None
        return y[:n]

    def along(self, times: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float | None]:
        """All variables at all instants; how much halving the steps changed, where something is integrated."""
        if not self.record.integrates:
            return self.walk(times, y, FINEST), None
        (found,), change = with_halved_steps(lambda fine: (self.walk(fine, y, 0),), times, MOST_HALVINGS)
        return found, change

    def walk(self, times: np.ndarray, y: np.ndarray, finer: int) -> np.ndarray:
        """As ``along``; intervals that are too long for Newton's method are divided."""
        n, done = len(times), 0
        states = np.empty((n, len(self.owner.state) + len(self.owner.top)))
        while True:
            at = with_middles(times[done:]) if self.record.integrates else times[done:]
            states[done] = y
            status, more = follow_states(self.record, times[done:], self.wanted(at), states[done:])
            done += more
            if status == FOLLOWED:
                return states
            if status not in (JUMP, NO_CONVERGENCE) or not finer or not more or done >= n:
                raise self.trouble(status, float(times[min(done, n - 1)]), states[min(done, n - 1)])
            inner = np.linspace(times[done - 1], times[done], FINER + 1)
            y = self.walk(inner, states[done - 1], finer - 1)[-1]

    def trouble(self, status: int, t: float, y: np.ndarray) -> DalembertError:
        o, when = self.owner, f"subsystem {self.subsystem.name!r}: at t = {t:.6g} s"
        seen = o.kernel(t, y, self.wanted(np.array([t]))[0], self.p)
        A = np.asarray(seen.A).reshape(-1, len(o.top))
        if status == SINGULAR and np.all(np.isfinite(A)):
            direction = np.abs(np.linalg.svd(A)[2][-1])
            by_size: list[int] = [i for i in np.argsort(-direction).tolist() if direction[i] > 0.3 * direction.max()]
            loose = [str(o.top[i]) for i in by_size[:4]]
            return SimulationError(
                f"{when} the prescribed motion does not determine {', '.join(loose)}.  Fix: prescribe more (what "
                f"follows from dynamics alone, such as a current, too), or avoid this position (a dead point)"
            )
        h = np.abs(np.asarray(seen.h))
        worst = [f"{o.lower[i][0]} is off by {h[i]:.3g}" for i in np.argsort(-h)[:3] if h[i] > 1e-9]
        what = "contradicts the invariants" if status == CONTRADICTION else "cannot be reached"
        where = self.named("; ".join(worst)) or "the rates do not fit"
        return SimulationError(
            f"{when} the prescribed motion {what}: {where}.  Fix: check amplitude and lengths, or initial= for another "
            f"branch"
        )

    def named(self, text: str) -> str:
        """Names of the user in the place of our own."""
        for name, title in reversed(list(self.titles.items())):
            text = text.replace(name, f"motion of {title}")
        return text

    # The forces

    def signs(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities inside of signs; signs of the motion right after each instant (before, at the last one)."""
        count = len(self.owner.system.signs)
        seen = self.forces_at(times, states, np.ones((len(times), count)))
        v, dv = (np.asarray(x).reshape(len(times), count) for x in (seen.v, seen.dv))
        stands = np.abs(v) <= STANDS * np.maximum(np.abs(v).max(axis=0, initial=0.0), 1e-300)
        later = np.sign(dv)
        later[-1] = -later[-1]
        return v, np.where(stands, later, np.sign(v))

    def forces_at(self, times: np.ndarray, states: np.ndarray, signs: np.ndarray) -> Any:
        return self.owner.force_kernel(times, states, self.wanted(times), self.p, signs)

    def forces(
        self, times: np.ndarray, states: np.ndarray, signs: np.ndarray, weights: np.ndarray, limits: np.ndarray
    ) -> _Forces:
        """Unknowns at all instants."""
        o, T = self.owner, len(times)
        n, m, sizes = len(o.top), len(o.unknowns), len(o.system.sizes)
        seen = self.forces_at(times, states, signs)
        A, B, Bn = (
            np.ascontiguousarray(np.asarray(x).reshape(T, *shape))
            for x, shape in ((seen.A, (-1, n)), (seen.B, (n, m)), (seen.Bn, (n, sizes)))
        )
        r = -np.asarray(seen.f).reshape(T, n)
        found = allocate(A, r, B, weights, limits)
        if not sizes:
            return _Forces(found, None, B, seen)
        if not found.unique.all() or np.isfinite(limits).any():
            raise DalembertError("friction on unknown forces: expected as many unknowns as freedoms, without limits")
        U = np.stack([allocate(A, -Bn[:, :, j], B, weights, limits).tau for j in range(sizes)], axis=2)
        p, g = np.asarray(seen.p).reshape(T, sizes), np.asarray(seen.g).reshape(T, sizes, m)
        friction = solve_sizes(found.tau, U, p, g, np.asarray(seen.H).reshape(T, sizes, m, m))
        tau = found.tau + np.einsum("tij,tj->ti", U, friction.sizes)
        multipliers, left = np.zeros_like(found.multipliers), np.empty_like(found.left)
        rest = r - np.einsum("tij,tj->ti", B, tau) - np.einsum("tij,tj->ti", Bn, friction.sizes)
        balance_along(A, np.nan_to_num(rest), multipliers, left)
        unique = found.unique & (friction.number < 1.0)
        found = Allocation(tau, multipliers, left, found.E, found.e, found.limited, unique)
        return _Forces(found, friction, B, seen)

    def reversals(
        self, motion: tuple[np.ndarray, np.ndarray], v: np.ndarray, signs: np.ndarray, solve: Any
    ) -> list[Any]:
        """Where a velocity inside of a sign changes its own: when, and the unknowns before and after."""
        found: list[Reversal] = []
        for j, one in enumerate(self.owner.system.signs):
            for k, before, after in _crossings(v[:, j]):
                t, state = self._crossing(motion, k, j, v[k : k + 2, j])
                sides = []
                for sign in (before, after):
                    chosen = signs[k : k + 1].copy()
                    chosen[0, j] = sign
                    values = solve(np.array([t]), state, chosen).found.tau[0]
                    sides.append(dict(zip(self.owner.unknowns, map(float, values), strict=True)))
                found.append(Reversal(t, str(one.value), *sides))
        return sorted(found, key=lambda event: event.time)

    def _crossing(
        self, motion: tuple[np.ndarray, np.ndarray], k: int, j: int, v: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Time and variables where a velocity is zero, at an instant or between it and the next."""
        from scipy import optimize

        times, states = motion
        none = np.ones((1, len(self.owner.system.signs)))

        def moved(t: float) -> np.ndarray:
            return self.walk(np.array([times[k], t]), states[k], FINEST)[-1:] if t > times[k] else states[k : k + 1]

        def speed(t: float) -> float:
            return float(np.asarray(self.forces_at(np.array([t]), moved(t), none).v).reshape(-1)[j])

        if v[0] * v[1] >= 0:
            return float(times[k]), states[k : k + 1]
        t = float(cast(Any, optimize).root_scalar(speed, bracket=(times[k], times[k + 1]), xtol=1e-15, rtol=1e-14).root)
        return t, moved(t)

    def solve(
        self, times: np.ndarray, weights: Mapping[str, float], limits: np.ndarray, initial: Mapping[str, Any]
    ) -> SystemInverse:
        o = self.owner
        w = np.array([float(weights.get(name, weights.get(name.rsplit(".", 1)[-1], 1.0))) for name in o.unknowns])
        try:
            y = self.begin(float(times[0]), {**self.subsystem.guesses(), **initial}, set(initial))
        except ModelError as error:
            why = self.named(str(error))
            raise SimulationError(f"the prescribed motion cannot begin: {why}, or initial= near a branch") from None
        states, change = self.along(times, y)
        v, signs = self.signs(times, states)

        def at(t: np.ndarray, x: np.ndarray, s: np.ndarray) -> _Forces:
            return self.forces(t, x, s, w, limits)

        made = at(times, states, signs)
        events = self.reversals((times, states), v, signs, at)
        want = self.wanted(times)
        left = np.abs(np.asarray(o.kernel(times, states, want, self.p).h)).max(initial=0.0)
        quality = Quality(float(left / (1.0 + np.abs(states).max())), self.record.smallest_pivot, change)
        return SystemInverse.made(self.subsystem, o, (times, states, want), made, events, quality, self.values)


def _crossings(v: np.ndarray) -> list[tuple[int, float, float]]:
    """Instants at or after which a velocity changes its sign, and its signs before and after."""
    least = STANDS * max(np.abs(v).max(initial=0.0), 1e-300)
    sign = np.where(np.abs(v) <= least, 0.0, np.sign(v))
    found = [(k, sign[k], sign[k + 1]) for k in range(len(v) - 1) if sign[k] * sign[k + 1] < 0]
    touched = [k for k in range(1, len(v) - 1) if sign[k] == 0 and sign[k - 1] * sign[k + 1] < 0]
    return sorted([*found, *((k, sign[k - 1], sign[k + 1]) for k in touched)])


def _by_rows(matrix: ca.SX) -> ca.SX:
    """Entries row by row, as a dense column."""
    return ca.densify(ca.vec(ca.densify(matrix).T))
