"""Inverse dynamics of the node model by Theorem 4.3:  C with C.u = 1,  u = −Cᵀ f*.

Legend:  q coordinates,  w velocities (rates of coordinates, and quasi-velocities),  A w + b = 0 the invariants at velocity
level,  P the same for the prescribed quantities,  f* the generalized forces without the unknown inputs.

Positions, velocities and accelerations follow from invariants and prescribed quantities at each instant; nothing is
integrated. Reference: thesis, section 4.4, equation (4.15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.errors import DalembertError, SimulationError
from dalembert.expressions import TIME, evaluate, parse
from dalembert.planar.node_model import NodeModel
from dalembert.planar.planar_names import quantities, symbols_of

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["NodeInverse", "inverse_by_nodes"]

CLOSED = 1e-13  # residual of positions where Newton's method stops, relative to the size of the mechanism
NEWTON_STEPS = 30
SINGULAR = 1e-9  # smallest singular value of what determines the motion, relative to the largest
JUMP = 0.2  # correction of a predicted position, relative to the size of the mechanism, from which steps are divided
FINEST = 12  # halvings of a step


class NodeInverse:
    """Forces behind a prescribed motion, and the motion, by the node model: ``inverse["u1"]``, ``inverse["crank.omega"]``.

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
        return _along(formula, self.values, len(self.time))


def _along(formula: sp.Expr, values: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    from dalembert.algebra import NUMPY

    rows = [
        evaluate(NUMPY, formula, lambda atom, k=k: values[atom.name][k])  # type: ignore[union-attr]
        for k in range(count)
    ]
    return np.array(rows, dtype=float)


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
        self.prescribed = {name: self._law(name, law) for name, law in motion.items()}
        model = self.model
        self.own = [name for name in model.coordinates if name not in model.kinematics]
        self.w_names = [*(f"{name}.d" for name in self.own), *model.velocities]
        used = {s.name for e in (*model.invariants.values(), *self.prescribed.values()) for s in symbols_of(e)}
        loose = sorted(used & set(model.kinematics))
        if loose:
            raise DalembertError(
                f"{loose[0]!r} follows from velocities only, so that positions cannot be found instant by instant.  "
                f"Fix: da.inverse_dynamics(mechanism, …), which integrates it"
            )
        self.levels = {name: _is_fast(e, self.w_names) for name, e in self.rows.items()}

    def _check_unknowns(self) -> None:
        known = self.model.inputs
        for name in self.unknowns:
            if name not in known:
                fix = f"one of {', '.join(known)}" if known else 'torque="u1" at a joint'
                raise DalembertError(f"unknowns: {name!r} is no input that acts on a joint or velocity.  Fix: {fix}")

    def _law(self, name: str, law: Any) -> sp.Expr:
        levels = quantities(self.planar)
        if name not in levels:
            near = [one for one in levels if one.partition(".")[0] == str(name).partition(".")[0]] or list(levels)
            raise DalembertError(f"motion: unknown quantity {name!r}.  Fix: one of {', '.join(near[:20])}")
        formula = parse(law) if isinstance(law, str) else sp.sympify(law, strict=True)
        unknown = [s.name for s in symbols_of(formula) if s.name not in self.planar.parameter_values]
        if unknown:
            raise DalembertError(f"motion of {name!r}: expected a formula of t and parameters, it names {unknown[0]!r}")
        return self.model.prescribed(name, formula)

    @property
    def rows(self) -> dict[str, sp.Expr]:
        """All invariants: the mechanism's and, last, those that are prescribed."""
        return {**self.model.invariants, **{f"{name} given": e for name, e in self.prescribed.items()}}

    @cached_property
    def kernel(self) -> Kernel:
        """Residuals of all rows at position level (zero for those of velocities), A, b, Ȧ w + ḃ, f*, and M = −∂f/∂ẇ."""
        al, model = CASADI, self.model
        t, q = al.symbols("t", 1), al.symbols("q", len(self.own))
        w, p = al.symbols("w", len(self.w_names)), al.symbols("p", len(self.planar.parameter_values))
        dw = al.symbols("dw", len(self.w_names))
        names = {TIME.name: t[1][0], **dict(zip(self.own, q[1], strict=True))}
        names |= dict(zip(self.w_names, w[1], strict=True))
        names |= dict(zip(self.planar.parameter_values, p[1], strict=True))
        names |= {_next(name): value for name, value in zip(self.w_names, dw[1], strict=True)}

        def value(formula: sp.Expr) -> Any:
            laws = {sp.Symbol(k, real=True): sp.Integer(0) for k in self.unknowns}
            others = {k: v for k, v in self.planar.input_laws.items() if k not in self.unknowns}
            laws |= {sp.Symbol(k, real=True): model.formula(v) for k, v in others.items()}
            return evaluate(al, formula.xreplace(laws), lambda atom: names[atom.name])  # type: ignore[union-attr]

        rates = al.array([names[f"{name}.d"] for name in self.own])
        moving = np.concatenate([t[1], q[1]])
        along = al.concatenate([al.array([al.constant(1)]), rates])
        held = [(value(e), self.levels[name]) for name, e in self.rows.items()]
        position = al.array([al.constant(0) if fast else e for e, fast in held])
        velocity = al.array([e if fast else al.rate(al.array([e]), moving, along)[0] for e, fast in held])
        A = al.jacobian(velocity, w[1])
        bias = al.rate(velocity, moving, along)
        inertia, active = self._forces(value)
        outputs = {
            "position": position, "J": al.jacobian(position, q[1]), "velocity": velocity, "A": A, "bias": bias,
            "active": active, "M": -al.jacobian(inertia, dw[1]),
        }  # fmt: skip
        dense = {key: al.to_sx(array) for key, array in outputs.items()}
        import casadi as ca

        columns = {"t": t[0], "q": q[0], "w": w[0], "p": p[0]}
        shapes = {"t": (), **{key: array.shape for key, array in outputs.items()}}
        return compile_function(
            "node_inverse", columns, {k: ca.densify(v) for k, v in dense.items()}, batch=False, shapes=shapes
        )

    def _forces(self, value: Any) -> tuple[np.ndarray, np.ndarray]:
        zero = sp.Integer(0)
        variables = [*self.own, *self.model.velocities]
        return tuple(  # type: ignore[return-value]
            CASADI.array([value(sp.sympify(table.get(name, zero), strict=True)) for name in variables])
            for table in (self.model.inertia, self.model.active)
        )

    # Along the motion

    def run(self, times: np.ndarray) -> NodeInverse:
        p = np.array(list(self.planar.parameter_values.values()))
        self.p, self.size = p, max(self.model.drawn.extent, 1e-9)
        q = np.array([self.model.drawn.value(self.model.coordinates[name]) for name in self.own])
        q = self.close(times[0], q, None)
        found = [self.at(times[0], q)]
        for start, end in zip(times, times[1:], strict=False):
            found.append(self.step(start, end, found[-1], FINEST))
        table = [np.array(column) for column in zip(*found, strict=True)]
        q, w, dw, u, residual = table
        values = {name: q[:, i] for i, name in enumerate(self.own)}
        values |= {name: w[:, i] for i, name in enumerate(self.w_names)}
        values |= {_next(name): dw[:, i] for i, name in enumerate(self.w_names)}
        return NodeInverse(self.planar, times, values | {n: u[:, i] for i, n in enumerate(self.unknowns)}, residual)

    def step(self, start: float, end: float, now: Any, finer: int) -> Any:
        """Predicted by velocity and acceleration, then closed; long steps are divided so that the branch is kept."""
        q, w, dw = now[:3]
        n, h = len(self.own), end - start
        guess = q + h * w[:n] + h * h / 2 * dw[:n]
        try:
            closed = self.close(end, guess, q)
        except SimulationError:
            closed = None
        if closed is None or np.abs(closed - guess).max(initial=0.0) > JUMP * self.size:
            if not finer:
                raise SimulationError(f"at t = {end:.6g} s the prescribed motion cannot be reached")
            middle = (start + end) / 2
            return self.step(middle, end, self.step(start, middle, now, finer - 1), finer - 1)
        return self.at(end, closed)

    def close(self, t: float, q: np.ndarray, _: Any) -> np.ndarray:
        """Newton's method with steps of least norm."""
        zero = np.zeros(len(self.w_names))
        for _k in range(NEWTON_STEPS):
            seen = self.kernel(t, q, zero, self.p)
            off = np.asarray(seen.position)
            if np.abs(off).max(initial=0.0) <= CLOSED * self.size**2:
                return q
            q = q - np.linalg.lstsq(np.asarray(seen.J), off, rcond=1e-12)[0]
            if not np.all(np.isfinite(q)):
                break
        names = [name for name, value in zip(self.rows, off, strict=True) if abs(value) > CLOSED * self.size**2]
        if np.abs(off).max() <= 1e3 * CLOSED * self.size**2:
            return q
        raise SimulationError(f"at t = {t:.6g} s the prescribed motion cannot be reached: {', '.join(names)} stay open")

    def at(self, t: float, q: np.ndarray) -> tuple[np.ndarray, ...]:
        """Velocities, accelerations and unknowns at one instant."""
        zero = np.zeros(len(self.w_names))
        seen = self.kernel(t, q, zero, self.p)
        A = np.asarray(seen.A)
        left, sizes, right = np.linalg.svd(A)
        rank = int(np.sum(sizes > SINGULAR * max(sizes[0], 1e-300)))
        if rank < A.shape[1]:
            raise self._undetermined(t, A, right)
        w = -np.linalg.lstsq(A, np.asarray(seen.velocity), rcond=None)[0]
        seen = self.kernel(t, q, w, self.p)
        dw = -np.linalg.lstsq(A, np.asarray(seen.bias), rcond=None)[0]
        residual = [np.asarray(seen.position), np.asarray(seen.velocity), A @ dw + np.asarray(seen.bias)]
        u = self._unknowns(t, A[: len(self.model.invariants)], np.asarray(seen.active) - np.asarray(seen.M) @ dw)
        return q, w, dw, u, np.array([np.abs(part).max(initial=0.0) for part in residual])

    def _unknowns(self, t: float, A: np.ndarray, f: np.ndarray) -> np.ndarray:
        """u = −Cᵀ f*  with  C.u = 1."""
        variables = [name.removesuffix(".d") for name in self.w_names]
        chosen = [variables.index(self.model.inputs[name]) for name in self.unknowns]
        rest = [i for i in range(len(variables)) if i not in chosen]
        rank = np.linalg.matrix_rank(A[:, rest]) if A.size else 0
        freedom = len(variables) - (np.linalg.matrix_rank(A) if A.size else 0)
        if freedom != len(chosen) or rank < len(rest):
            raise DalembertError(
                f"at t = {t:.6g} s {len(chosen)} unknown inputs ({', '.join(self.unknowns)}) do not move the "
                f"mechanism's {freedom} degrees of freedom independently.  Fix: as many independent inputs as freedoms; "
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


def _next(name: str) -> str:
    """The name of the rate of a velocity."""
    return f"{name}d" if name.endswith(".d") else f"{name}.d"


def _is_fast(formula: sp.Expr, velocities: list[str]) -> bool:
    return any(symbol.name in velocities for symbol in symbols_of(formula))
