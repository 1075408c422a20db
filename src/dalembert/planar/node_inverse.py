"""Inverse dynamics of the node model by Theorem 4.3:  C with C.u = 1,  u = −Cᵀ f*.

Legend:  q coordinates,  w velocities (rates of coordinates, and quasi-velocities),  A w + b = 0 the invariants at
velocity level,  f* the generalized forces without the unknown inputs.

Positions, velocities and accelerations follow from invariants and prescribed quantities at each instant; nothing is
integrated. Reference: thesis, section 4.4, equation (4.15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.errors import DalembertError, SimulationError
from dalembert.expressions import parse
from dalembert.planar.node_model import NodeModel
from dalembert.planar.node_numbers import NodeNumbers, rate_name
from dalembert.planar.planar_names import near_quantities, quantities, symbols_of
from dalembert.planar.planar_poses import at_all_times

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["NodeInverse", "inverse_by_nodes"]

CLOSED = 1e-12  # residual of positions that counts as closed, relative to the size of the mechanism
NEWTON_STEPS = 30
SINGULAR = 1e-9  # smallest singular value of what determines the motion, relative to the largest
JUMP = 0.2  # correction of a predicted position, relative to the size of the mechanism, from which steps are divided
FINEST = 12  # halvings of a step


class NodeInverse:
    """Forces behind a prescribed motion, and the motion, by the node model: ``found["u1"]``, ``found["crank.omega"]``.

    Attributes:
        time: instants (s).
        values: all variables, their rates as ``name.d``, and the unknown inputs, each over time.
        residual: the largest violation of an invariant at position, velocity and acceleration level, over time.
    """

    def __init__(self, planar: Planar, time: np.ndarray, values: dict[str, np.ndarray], residual: np.ndarray):
        self.planar, self.time, self.values, self.residual = planar, time, values, residual

    def __getitem__(self, name: str) -> np.ndarray:
        """A variable of the node model, an input, or any quantity that formulas may name."""
        if name in self.values:
            return self.values[name]
        if name not in quantities(self.planar):
            raise DalembertError(f"unknown quantity {name!r}; there are {', '.join(self.values)}")
        model = NodeModel(self.planar)
        formula = sp.sympify(model.quantity(name), strict=True)
        missing = [symbol.name for symbol in symbols_of(formula) if symbol.name not in self.values]
        if missing:
            raise DalembertError(f"{name!r} needs {missing[0]!r}, which this motion does not give")
        return at_all_times(formula, lambda atom: self.values[atom.name], len(self.time))


def inverse_by_nodes(
    planar: Planar, motion: Mapping[str, Any], times: Any, unknowns: Sequence[str] | None = None
) -> NodeInverse:
    """See ``Planar.inverse_by_nodes``."""
    instants = np.atleast_1d(np.asarray(times, dtype=float))
    if instants.ndim != 1 or not np.all(np.isfinite(instants)) or np.any(np.diff(instants) <= 0):
        raise DalembertError("times: expected instants (s), each later than the one before")
    return _Follower(planar, motion, unknowns).run(instants)


class _Follower:
    def __init__(self, planar: Planar, motion: Mapping[str, Any], unknowns: Sequence[str] | None):
        self.planar, self.model = planar, NodeModel(planar)
        self.unknowns = list(planar.input_laws if unknowns is None else unknowns)
        self._check_unknowns()
        self.prescribed = {f"{name} given": self._law(name, law) for name, law in motion.items()}
        self.numbers = NodeNumbers(self.model, self.unknowns, self.prescribed)
        self.w_names, self.size = self.numbers.w_names, max(self.model.drawn.extent, 1e-9)
        formulas = [*self.numbers.invariants.values(), *self.model.active.values(), *planar.input_laws.values()]
        loose = sorted({s.name for e in formulas for s in symbols_of(e)} & set(self.model.kinematics))
        if loose:
            raise DalembertError(
                f"{loose[0]!r} follows from velocities only, so that it cannot be found instant by instant.  "
                f"Fix: da.inverse_dynamics(mechanism, …), which integrates it"
            )

    def _check_unknowns(self) -> None:
        known = self.model.inputs
        for name in self.unknowns:
            if name not in known:
                fix = f"one of {', '.join(known)}" if known else 'torque="u1" at a joint'
                raise DalembertError(f"unknowns: {name!r} is no input that acts on a joint or velocity.  Fix: {fix}")

    def _law(self, name: str, law: Any) -> sp.Expr:
        levels = quantities(self.planar)
        if name not in levels:
            raise DalembertError(f"motion: unknown quantity {name!r}.  Fix: {near_quantities(name, levels)}")
        formula = parse(law) if isinstance(law, str) else sp.sympify(law, strict=True)
        unknown = [s.name for s in symbols_of(formula) if s.name not in self.planar.parameter_values]
        if unknown:
            raise DalembertError(f"motion of {name!r}: expected a formula of t and parameters, it names {unknown[0]!r}")
        return self.model.prescribed(name, formula)

    # Along the motion

    def run(self, times: np.ndarray) -> NodeInverse:
        found = [self.at(times[0], self.close(times[0], self.numbers.drawn))]
        for start, end in pairwise(times):
            found.append(self.step(start, end, found[-1], FINEST))
        q, w, dw, u, residual = (np.array(column) for column in zip(*found, strict=True))
        own = [i for i, name in enumerate(self.numbers.q_names) if name not in self.model.kinematics]
        values = {self.numbers.q_names[i]: q[:, i] for i in own}
        values |= {name: w[:, i] for i, name in enumerate(self.w_names)}
        values |= {rate_name(name): dw[:, i] for i, name in enumerate(self.w_names)}
        return NodeInverse(self.planar, times, values | {n: u[:, i] for i, n in enumerate(self.unknowns)}, residual)

    def step(self, start: float, end: float, now: Any, finer: int) -> Any:
        """Predicted by velocity, then closed; long steps are divided so that the branch is kept."""
        q, w = now[:2]
        guess = q + (end - start) * np.asarray(self.numbers(start, q, w).rates)
        try:
            closed = self.close(end, guess)
            near = np.abs(closed - guess).max(initial=0.0) <= JUMP * self.size
        except SimulationError:
            if not finer:
                raise
            near = False
        if near or not finer:
            return self.at(end, closed)
        middle = (start + end) / 2
        return self.step(middle, end, self.step(start, middle, now, finer - 1), finer - 1)

    def close(self, t: float, q: np.ndarray) -> np.ndarray:
        """Newton's method with steps of least norm, until residuals are at rounding."""
        off = np.array([np.inf])
        for _ in range(NEWTON_STEPS):
            seen = self.numbers(t, q)
            before, off = np.abs(off).max(initial=0.0), np.asarray(seen.position)
            worst = np.abs(off).max(initial=0.0)
            if worst <= CLOSED * self.size**2 and worst >= before / 4:
                return q
            q = q - np.linalg.lstsq(np.asarray(seen.J), off, rcond=1e-12)[0]
        names = [n for n, value in zip(self.numbers.rows, off, strict=True) if abs(value) > CLOSED * self.size**2]
        if not names:
            return q
        raise SimulationError(f"at t = {t:.6g} s the prescribed motion cannot be reached: {', '.join(names)} stay open")

    def at(self, t: float, q: np.ndarray) -> tuple[np.ndarray, ...]:
        """Velocities, accelerations and unknowns at one instant."""
        seen = self.numbers(t, q)
        A = np.asarray(seen.A)
        _, sizes, right = np.linalg.svd(A)
        if int(np.sum(sizes > SINGULAR * sizes[0])) < A.shape[1]:
            raise self._undetermined(t, A, right)
        w = -np.linalg.lstsq(A, np.asarray(seen.velocity), rcond=None)[0]
        seen = self.numbers(t, q, w)
        dw = -np.linalg.lstsq(A, np.asarray(seen.bias), rcond=None)[0]
        residual = [np.asarray(seen.position), np.asarray(seen.velocity), A @ dw + np.asarray(seen.bias)]
        u = self._unknowns(t, A[: len(self.model.invariants)], np.asarray(seen.active) - np.asarray(seen.M) @ dw)
        return q, w, dw, u, np.array([np.abs(part).max(initial=0.0) for part in residual])

    def _unknowns(self, t: float, A: np.ndarray, f: np.ndarray) -> np.ndarray:
        """u = −Cᵀ f*  with  C.u = 1."""
        variables = self.numbers.variables
        chosen = [variables.index(self.model.inputs[name]) for name in self.unknowns]
        rest = [i for i in range(len(variables)) if i not in chosen]
        rank = np.linalg.matrix_rank(A[:, rest]) if A.size else 0
        freedom = len(variables) - (np.linalg.matrix_rank(A) if A.size else 0)
        if freedom != len(chosen) or rank < len(rest):
            raise DalembertError(
                f"at t = {t:.6g} s {len(chosen)} unknown inputs ({', '.join(self.unknowns)}) do not move the "
                f"mechanism's {freedom} degrees of freedom independently.  Fix: as many inputs as freedoms; "
                f"da.inverse_dynamics(mechanism, …) also shares forces among more"
            )
        C = np.zeros((len(variables), len(chosen)))
        C[chosen] = np.eye(len(chosen))
        C[rest] = -np.linalg.lstsq(A[:, rest], A[:, chosen], rcond=None)[0] if A.size else 0.0
        return -C.T @ f

    def _undetermined(self, t: float, A: np.ndarray, right: np.ndarray) -> DalembertError:
        loose = [self.w_names[i] for i in np.argsort(-np.abs(right[-1]))[:3]]
        given, freedom = len(self.prescribed), A.shape[1] - np.linalg.matrix_rank(A[: len(self.model.invariants)])
        if given < freedom:
            return DalembertError(
                f"the motion does not determine the mechanism: {given} quantities are given for {freedom} degrees of "
                f"freedom; {', '.join(loose)} are free.  Fix: prescribe {freedom - given} more"
            )
        return SimulationError(f"at t = {t:.6g} s the mechanism is in a singular position: {', '.join(loose)} are free")
