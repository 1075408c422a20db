"""Closing the loops of many samples at once, as assembly does for one (see ``assemble``).

Every step of Newton's method is one call of compiled code for all samples that still need it. Samples that this way
does not close are left to assembly itself, which also knows how to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.assembly.close_loops import CLOSED, COMPATIBLE, EXACT, NEWTON_STEPS, reference
from dalembert.analyses.assembly.long_ways import LARGEST_MOVE, MOST_STAGES
from dalembert.codegen import compile_function
from dalembert.dynamics import Dynamics
from dalembert.expressions import TIME, evaluate

__all__ = ["WantedStarts", "close_many"]

RCOND = 1e-10


@dataclass(frozen=True)
class WantedStarts:
    """What the caller wants of the starts of all samples.

    Attributes:
        positions, rates: of joints: one row, or one for each sample.
        given: parameters that differ from the model's, one value for each sample.
        table: all parameters of each sample.
    """

    dynamics: Dynamics
    time: float
    positions: dict[str, Any]
    rates: dict[str, Any]
    given: dict[str, np.ndarray]
    table: np.ndarray

    def __len__(self) -> int:
        return len(self.table)


def close_many(wanted: WantedStarts) -> np.ndarray:
    """(q, u) of all samples; NaN where assembly must look itself."""
    dynamics, positions, rates = wanted.dynamics, wanted.positions, wanted.rates
    start = np.full((len(wanted), dynamics.nq + dynamics.nv), np.nan)
    closing = _Closing(dynamics, wanted.time)
    if dynamics.even.everyday and closing.takes([*positions, *rates]):
        with np.errstate(all="ignore"):
            closing.run(positions, rates, wanted.table, start)
    return start


class _Closing:
    def __init__(self, dynamics: Dynamics, time: float):
        self.dynamics, self.time = dynamics, time
        self.slots = dynamics.coordinates.slot_of_joint

    def takes(self, given: list[str]) -> bool:
        """True for trees of plain joints in relative coordinates, where all that is wanted has a coordinate."""
        d, flat = self.dynamics, self.dynamics.flat
        if d.coordinates.name != "relative" or d.is_large or flat.switches or d.coordinates.windings:
            return False
        self.driven = self._driven()
        wanted = [*given, *flat.initial_values, *flat.initial_rates, *self.driven]
        self.plain = [name for name, slot in self.slots.items() if _plain(d, name, slot)]
        return set(self.plain).issuperset(wanted)

    def _driven(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for constraint, _ in self.dynamics.flat.constraints.values():
            if not constraint.eliminates:
                given = {joint: formula for joint, _, formula in constraint.gives()}
                found |= {joint: formula for joint, formula in given.items() if self._single(joint)}
        return found

    def _single(self, joint: str) -> bool:
        return self.dynamics.coordinates.nominal_joint(joint).joint.nq == 1

    def run(self, positions: dict[str, Any], rates: dict[str, Any], table: np.ndarray, start: np.ndarray) -> None:
        """Write the states of all samples that close."""
        d, n = self.dynamics, len(table)
        q, own, own_rates = (np.array(part) for part in self._start()(table))
        q, good = self._led(q, self._places(self._own()), own, table)
        if positions:
            wanted = np.hstack([_rows(value, n) for value in positions.values()])
            q, still = self._led(q, self._places(positions), wanted, table)
            good &= still
        ends = np.cumsum([len(formulas) for formulas in d.flat.initial_rates.values()])[:-1]
        parts = np.split(own_rates, ends, axis=1) if d.flat.initial_rates else []
        keep = {
            name: part
            for name, part in zip(d.flat.initial_rates, parts, strict=True)
            if name not in rates and name not in self.driven
        }
        keep |= {name: _rows(value, n) for name, value in rates.items()}
        u, fits = self._velocities(q, keep, table)
        good &= fits & np.isfinite(q).all(axis=1)
        start[good] = np.hstack([q, u])[good]

    # What the model says

    def _own(self) -> dict[str, Any]:
        """Coordinates that the model and its drives want, as formulas; drives go first."""
        return dict(self.dynamics.flat.initial_values) | {name: (formula,) for name, formula in self.driven.items()}

    def _places(self, names: Iterable[str]) -> list[int]:
        return [i for name in names for i in range(self.slots[name].q.start, self.slots[name].q.stop)]

    def _columns(self, names: Iterable[str]) -> list[int]:
        return [i for name in names for i in range(self.slots[name].u.start, self.slots[name].u.stop)]

    def _start(self) -> Callable[[np.ndarray], Any]:
        """Reference coordinates, wanted ones and wanted velocities, as a compiled function of the parameters."""
        kernels, flat = self.dynamics.kernels, self.dynamics.flat
        mechanism, t = kernels.tree.mechanism, self.time

        def number(formula: Any) -> Any:
            if TIME in getattr(formula, "free_symbols", ()):
                formula = formula.subs(TIME, t)
            symbols = dict(zip(kernels.parameter_names, kernels.symbols["p"][1], strict=True))
            return evaluate(CASADI, formula, lambda atom: symbols[str(getattr(atom, "name", atom))])

        def column(formulas: list[Any]) -> Any:
            return CASADI.to_sx(np.array([number(f) for f in formulas], dtype=object).reshape(-1))

        outputs = {
            "q": CASADI.to_sx(reference(self.dynamics.coordinates, mechanism)),
            "own": column([formula for formulas in self._own().values() for formula in formulas]),
            "rates": column([formula for formulas in flat.initial_rates.values() for formula in formulas]),
        }
        return compile_function("closed_start", {"p": kernels.symbols["p"][0]}, outputs)

    # Newton's method

    def _led(
        self, q: np.ndarray, places: list[int], wanted: np.ndarray, table: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions led to the wanted coordinates in stages, and which of them close."""
        moves = wanted - q[:, places]
        longest = np.abs(moves).max(axis=1, initial=0.0)
        stages = np.maximum(1, np.ceil(np.where(np.isfinite(longest), longest, 0.0) / LARGEST_MOVE)).astype(int)
        first, good = q[:, places].copy(), np.isfinite(longest) & (stages <= MOST_STAGES)
        for stage in range(1, int(stages[good].max(initial=0)) + 1):
            rows = np.flatnonzero(good & (stages >= stage))
            targets = first[rows] + (stage / stages[rows])[:, None] * moves[rows]
            q[rows], closed = self._newton(q[rows], places, targets, table[rows])
            good[rows] = closed
        near = np.abs(q[:, places] - wanted) < 1e-9
        q[:, places] = np.where(near, wanted, q[:, places])
        return q, good

    def _newton(
        self, q: np.ndarray, places: list[int], targets: np.ndarray, table: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        d, kernels = self.dynamics, self.dynamics.kernels
        column_of = dict(zip(self._places(self.plain), self._columns(self.plain), strict=True))
        units = np.eye(d.nv)[[column_of[place] for place in places]]
        size = 1.0 + np.abs(q).max(axis=1, initial=0.0)
        done, going = np.zeros(len(q), dtype=bool), np.arange(len(q))
        previous = np.full(len(q), np.inf)
        for _ in range(NEWTON_STEPS):
            if not len(going):
                break
            seen = kernels.constraint_kernel(self.time, q[going], np.zeros(d.nv), table[going])
            phi = np.asarray(seen.position).reshape(len(going), -1)
            A = np.asarray(seen.jacobian).reshape(len(going), -1, d.nv)[:, : d.holonomic]
            residual = np.hstack([phi, q[going][:, places] - targets[going]])
            error = np.abs(residual).max(axis=1, initial=0.0)
            closed = (error <= EXACT * size[going]) | (
                (error <= CLOSED * size[going]) & (error > 0.1 * previous[going])
            )
            done[going[closed]] = True
            previous[going] = error
            kept = ~closed & np.isfinite(error)
            going, residual, A = going[kept], residual[kept], A[kept]
            if len(going):
                J = np.concatenate([A, np.broadcast_to(units, (len(going), *units.shape))], axis=1)
                du = -_least(J, residual)
                longest = np.abs(du).max(axis=1, initial=1e-300)
                du *= np.minimum(1.0, 2 * LARGEST_MOVE / longest)[:, None]
                q[going] = np.asarray(kernels.move_kernel(q[going], du, table[going])).reshape(len(going), -1)
        return q, done

    def _velocities(
        self, q: np.ndarray, wanted: dict[str, np.ndarray], table: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of least norm that fit, and whether they do."""
        d = self.dynamics
        seen = d.kernels.constraint_kernel(self.time, q, np.zeros(d.nv), table)
        A = np.asarray(seen.jacobian).reshape(len(q), -1, d.nv)
        units = np.eye(d.nv)[self._columns(wanted)]
        b = np.hstack([-np.asarray(seen.velocity).reshape(len(q), -1), *wanted.values()])
        J = np.concatenate([A, np.broadcast_to(units, (len(q), *units.shape))], axis=1)
        finite = np.isfinite(J).all(axis=(1, 2)) & np.isfinite(b).all(axis=1)
        u = np.zeros((len(q), d.nv))
        u[finite] = _least(J[finite], b[finite])
        off = np.abs(np.einsum("sij,sj->si", J, u) - b).max(axis=1, initial=0.0)
        return u, finite & (off <= COMPATIBLE * (1.0 + np.abs(b).max(axis=1, initial=0.0)))


def _plain(dynamics: Dynamics, name: str, slot: Any) -> bool:
    joint = dynamics.coordinates.nominal_joint(name).joint
    return joint.nq == joint.nv == slot.q.stop - slot.q.start == slot.u.stop - slot.u.start


def _rows(value: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(value if value.ndim == 2 else value[None], (n, value.shape[-1]))


def _least(J: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x of least norm that brings J x closest to b, for each sample."""
    return np.einsum("sij,sj->si", np.linalg.pinv(J, rcond=RCOND), b) if J.shape[1] else np.zeros(J.shape[::2])
