"""Variables y that are integrated instead of x = (q, u, W), and what all of them share as native functions.

They are written as native functions of a record of their own, derived from ``VariablesRecord``:

    def rhs(o: OwnRecord, t: float, y, dy) -> int        ẏ from y
    def decode(o: OwnRecord, t: float, y, x) -> int      x from y
    def encode(o: OwnRecord, t: float, x, y) -> int      y from x, in place, so that it may keep what it remembers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.native import Bound, Function, Int, Native, Outputs, Record, Ref, Vector, native
from dalembert.numerics.context import OK, Closure, Context, check_outputs
from dalembert.numerics.linear import hold_rank

__all__ = [
    "BoundVariables", "Mixed", "Motion", "Variables", "VariablesRecord", "constraints_at",
    "held_constraints_at",
]  # fmt: skip

# Steps of differences, of variables of size one.
NUDGE = 1.5e-8
CENTRAL_NUDGE = 6e-6


class Motion(Outputs):
    """x, or ẋ: coordinates, velocities and the work W of forces without potential."""

    q = Vector("nq")
    u = Vector("nv")
    work = Vector(1)


class VariablesRecord(Record):
    """What the functions of these variables read: the context, the length of y, and how many of its entries vary."""

    context = Ref(Context)
    size, varying = 2 * Int()

    @classmethod
    def of(cls, variables: Variables, context: Context) -> VariablesRecord:
        """The record for one context."""
        return cls(context=context, size=variables.size, varying=variables.varying, **variables.options)


class VariablesFunctions(Record):
    """What the shared functions call."""

    context = Ref(Context)
    size, varying = 2 * Int()
    rhs, decode, encode = 3 * Function(float, Vector, Vector)


class MixedFunctions(Record):
    """What the Jacobian of a differential-algebraic form calls: F, and the length of z."""

    size = Int()
    dae = Function(float, Vector, Vector)


@dataclass(frozen=True)
class Mixed:
    """A differential-algebraic form of the same variables:  B ż = F(t, z),  z = (y, algebraic variables).

    Attributes:
        name: as users call it.  index: of the algebraic variables.
        dae: F.  start: (t, z): algebraic variables that fit y.
        encode: y from x, in place of that of the variables.
    """

    name: str
    index: int
    dae: Native
    start: Native
    encode: Native


class BoundVariables(NamedTuple):
    """The functions of these variables for one context; each is compiled where a field of a record takes it.

    Attributes:
        rhs: (t, y, ẏ).  decode: (t, y, x).  encode: (t, x, y).
        retract: (t, y, quality): y back onto its manifold, in place.
        events: (t, y, g).  jacobian: (t, y, J), size × size.
    """

    rhs: Bound
    decode: Bound
    encode: Bound
    retract: Bound
    events: Bound
    jacobian: Bound


@dataclass(frozen=True)
class Variables:
    """Variables y that are integrated instead of x. All that must be remembered between two steps is in y.

    Attributes:
        what: the variables, in words.
        size: length of y.  varying: how many of its first entries vary within a step; the others are remembered.
        rhs: ẏ from y.
        decode: x from y. It may leave what ``encode`` needs in the multipliers of the context.
        encode: y from x, in place, so that it may keep what it remembers; RESTART if y means something else from now
            on.
        retract: y back onto its manifold, in place; None to decode, retract and encode.
        record: what these functions take first.  options: further fields of it.
        kernels: what it needs, of ``variables`` (see ``Formulation.variables_blocks``) and ``exponential``.
        blocks: how the functions take apart what the kernel ``variables`` gives, with lengths from the record.
        mixed: a differential-algebraic form of the same variables; None if there is none.
    """

    what: str
    size: int
    varying: int
    rhs: Native
    decode: Native
    encode: Native
    retract: Native | None = None
    record: type[VariablesRecord] = VariablesRecord
    options: Mapping[str, Any] = field(default_factory=lambda: {})
    kernels: tuple[str, ...] = ("variables",)
    blocks: type[Outputs] | None = None
    mixed: Mixed | None = None

    def bind_mixed(self, context: Context) -> dict[str, Any]:
        """The differential-algebraic form for a context, by the names of the fields of a problem."""
        assert self.mixed is not None
        own, whole = self.record.of(self, context), self.size + context.nv + context.n_active
        dae = self.mixed.dae.bind(own)
        slope = _mixed_jacobian.bind(MixedFunctions(size=whole, dae=dae))
        start = self.mixed.start.bind(own)
        return {
            "dae": dae, "dae_jacobian": slope, "dae_start": start, "dae_index": self.mixed.index, "dae_size": whole,
        }  # fmt: skip

    def bind(self, context: Context) -> BoundVariables:
        """The functions for a context, whose kernels and solver are set."""
        own = self.record.of(self, context)
        if self.blocks is not None:
            check_outputs(context.variables.kernel, self.blocks, own)
        rhs, decode, encode = (function.bind(own) for function in (self.rhs, self.decode, self.encode))
        shared = VariablesFunctions(
            context=context, size=self.size, varying=self.varying, rhs=rhs, decode=decode, encode=encode
        )
        retract = _retract.bind(shared) if self.retract is None else self.retract.bind(own)
        return BoundVariables(rhs, decode, encode, retract, _events.bind(shared), _jacobian.bind(shared))


@native
def constraints_at(c: Context, t: float, q: np.ndarray) -> Closure:
    """φ, b (as A u + b at rest), A and M at a position; valid until constraints are evaluated again."""
    return Closure.of(c, c.constraints(t, q, np.zeros(c.nv), c.parameters))


@native
def held_constraints_at(c: Context, t: float, q: np.ndarray) -> Closure:
    """The same with A, and b, of the rank that is known: a stage off the constraints sees no more than they say."""
    e = constraints_at(c, t, q)
    if c.rank != 0:
        sides = e.rate.copy().reshape(-1, 1)
        hold_rank(e.A, c.rank, sides)
        e.rate[:] = sides.reshape(-1)
    return e


@native
def _decoded(f: VariablesFunctions, t: float, y: np.ndarray) -> tuple[int, np.ndarray]:
    """Whether y has an x, and x."""
    x = np.empty(f.context.nq + f.context.nv + 1)
    return f.decode(t, y, x), x


@native
def _retract(f: VariablesFunctions, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    """y back onto its manifold, by way of x."""
    status, x = _decoded(f, t, y)
    if status == OK:
        status = f.context.retract(t, x, quality)
    if status != OK:
        return status
    return f.encode(t, x, y)


@native
def _events(f: VariablesFunctions, t: float, y: np.ndarray, g: np.ndarray) -> int:
    c = f.context
    status, x = _decoded(f, t, y)
    if status == OK:
        g[: c.n_events] = c.event(t, x[: c.nq + c.nv], c.parameters)
    return status


@native
def _jacobian(f: VariablesFunctions, t: float, y: np.ndarray, J: np.ndarray) -> int:
    """∂ẏ/∂y by differences, for all of y: its varying part and what it remembers."""
    moved, rate, other = y[: f.size].copy(), np.empty(f.size), np.empty(f.size)
    J[:] = 0.0
    status = f.rhs(t, moved, rate)
    if status != OK:
        return status
    for j in range(f.varying):
        kept = moved[j]
        moved[j] = kept + NUDGE * max(1.0, abs(kept))
        step = moved[j] - kept
        status = f.rhs(t, moved, other)
        if status != OK:
            return status
        moved[j] = kept
        for i in range(f.size):
            J[i, j] = (other[i] - rate[i]) / step
    return OK


@native
def _mixed_jacobian(f: MixedFunctions, t: float, z: np.ndarray, J: np.ndarray) -> int:
    """∂F/∂z by differences to both sides: what is linear, such as multipliers, comes out to rounding."""
    moved, rate, other = z[: f.size].copy(), np.empty(f.size), np.empty(f.size)
    for j in range(f.size):
        kept = moved[j]
        reach = CENTRAL_NUDGE * max(1.0, abs(kept))
        moved[j] = kept + reach
        status = f.dae(t, moved, other)
        if status != OK:
            return status
        moved[j] = kept - reach
        status = f.dae(t, moved, rate)
        if status != OK:
            return status
        moved[j] = kept
        for i in range(f.size):
            J[i, j] = (other[i] - rate[i]) / (2.0 * reach)
    return OK
