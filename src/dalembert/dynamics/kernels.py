"""Machine code of equations of motion in one formulation: traced once, compiled when asked for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.dynamics import traces
from dalembert.dynamics.rolled import Rolled
from dalembert.dynamics.shared_traces import Made, made_by_formulation, made_of_blocks, made_once
from dalembert.dynamics.single import SingleState
from dalembert.equations import BlockEquations, Level, Row
from dalembert.errors import DalembertError
from dalembert.formulations import Formulation
from dalembert.formulations.base import Sizes, Variables
from dalembert.model.fields import nearest
from dalembert.native import Record
from dalembert.values import is_finite

__all__ = ["KernelSet", "Rows"]

MOST_PICKED = 100  # selections of parameters whose places are kept


class Rows(Sequence[Row]):
    """Who imposes each constraint equation, holonomic ones first.

    Attributes:
        holonomic: number of those at position level.
        held: rank of A and of its holonomic rows by parameters (as bytes), of over-constrained mechanisms whose
            redundant equations look independent where the position is a little off.
    """

    def __init__(self, rows: Iterable[Row] = ()):
        self._rows = tuple(rows)
        self.holonomic = sum(row.holonomic for row in self._rows)
        self.held: dict[bytes, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, at: int | slice) -> Row | tuple[Row, ...]:
        return self._rows[at]

    def __repr__(self) -> str:
        return f"<{len(self)} constraint equations: {', '.join(map(str, self)) or 'none'}>"

    def owners(self, level: Level | None = None) -> list[str]:
        """Joints, constraints and bodies that impose equations, each once; those at one level, if that is given."""
        return list(dict.fromkeys(row.owner for row in self._rows if level is None or row.level == level))

    def of(self, owners: Iterable[str]) -> list[int]:
        """Numbers of the rows that some owners impose."""
        wanted = set(owners)
        return [i for i, row in enumerate(self._rows) if row.owner in wanted]


class KernelSet(ABC):
    """Symbols, one trace of the equations, and the kernels compiled from it.

    A subclass says what they are the equations of: it gives ``equations`` and ``moved``.

    Attributes:
        nq, nv: lengths of q and u.
        parameter_names, defaults: the parameters and their values.
        tail: how many entries at the end of q are no coordinates: states, then angles that follow the turns of joints.
        event_owners: who each event value belongs to.
        made: the trace and the kernels so far; equations of an equal model may share them.
    """

    own_states: tuple[str, ...] = ()  # names of the model's own states, first in the tail
    n_branches: int = 0  # of formulas: the last parameters choose them, the last events tell when
    n_rough: int = 0  # of these, the last: forces whose laws end there, instead of going on smoothly
    is_large: bool = False  # it runs by rolled recursions

    def __init__(
        self,
        formulation: Formulation,
        sizes: tuple[int, int],
        parameters: Mapping[str, float],
        tail: int = 0,
        event_owners: tuple[str, ...] = (),
    ):
        self.formulation, self.tail, self.event_owners = formulation, tail, event_owners
        self.nq, self.nv = sizes
        self.parameter_names = list(parameters)
        self.defaults = np.array(list(parameters.values()), dtype=float)
        self.made: Made = {}
        # Where the parameters of some selections are: a run asks for the same ones at each of its events.
        self._picked: dict[tuple[str, ...], np.ndarray] = {}

    @cached_property
    def yielding(self) -> int:
        """Rows that the formulation adds for what yields."""
        return 0

    @cached_property
    def contacts(self) -> np.ndarray:
        """One-sided constraints, one in each row: numbers of its switch, its constraint row, and the event that opens
        it."""
        return np.empty((0, 3), dtype=np.int64)

    @cached_property
    def frictions(self) -> np.ndarray:
        """All friction, one in each row: numbers of its switch, first row, count of rows, sign, force, and the event by
        which it slips."""
        return np.empty((0, 6), dtype=np.int64)

    @cached_property
    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the parameters that hold accelerations and reactions: those of forces, and those of outputs."""
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    @property
    def assumes(self) -> bool:
        """True if forces depend on accelerations or reactions that follow from them."""
        return len(self.frictions) + len(self.feedback[0]) > 0

    @made_once
    def imposed(self) -> tuple[list[Any], list[Any], list[Any]]:
        """What constraints with branches leave (see ``Equations.imposed``)."""
        return [], [], []

    # Given by equations with branches.
    imposed_kernel: made_once[Kernel]

    # Given by equations that assume forces or watch them.
    friction_kernel: made_once[Kernel]
    friction_slopes_kernel: made_once[Kernel]
    friction_push_kernel: made_once[Kernel]
    friction_tangent_kernel: made_once[Kernel]
    watched_kernel: made_once[Kernel]

    @cached_property
    def uneven(self) -> bool:
        """Whether equations are solved in SI though the mechanism is not of everyday size."""
        return False

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Units of velocities and of constraint rows in which the equations are solved; None for SI."""
        return None

    @abstractmethod
    def equations(self, tau: np.ndarray | None = None) -> BlockEquations:
        """The equations over CasADi symbols anew; without forces other than those of the model unless τ is given."""

    @abstractmethod
    def moved(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """q moved along a tangent, quaternions normalized."""

    def parameters(self, values: dict[str, float] | None = None) -> np.ndarray:
        """The parameter vector, with some values replaced."""
        if values is None:
            return self.defaults
        if not isinstance(values, Mapping):
            raise DalembertError(f"parameters must be a dictionary of numbers by name, got {values!r}")
        if not values:
            return self.defaults
        names = tuple(values)
        if names not in self._picked:
            unknown = [name for name in values if name not in self.places]
            if unknown:
                fix = f".  Fix: {nearest(unknown[0], self.places)}" if self.places else "; the model has none"
                raise DalembertError(f"unknown parameters {', '.join(map(str, unknown))}{fix}")
            if len(self._picked) >= MOST_PICKED:
                self._picked.clear()
            self._picked[names] = np.array([self.places[name] for name in names], dtype=np.int64)
        given = list(values.values())
        if set(map(type, given)) != {float} or not math.isfinite(sum(given)):
            for name, value in values.items():
                if not is_finite(value):
                    raise DalembertError(f"parameter {name!r} must be a finite number, got {value!r}")
        found = self.defaults.copy()
        found[self._picked[names]] = given
        return found

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each parameter is that may be given: all but those that choose branches of formulas."""
        own = self.parameter_names[: len(self.parameter_names) - self.n_branches]
        return {name: i for i, name in enumerate(own)}

    # Tracing

    @cached_property
    def rows(self) -> Rows:
        """Who imposes each constraint equation, holonomic ones first."""
        return Rows(self.traced.rows)

    @made_once
    def symbols(self) -> dict[str, Any]:
        """t, q, u and p: a CasADi column and the array of its entries, by name."""
        al = CASADI
        names = {"t": 1, "q": self.nq, "u": self.nv, "p": len(self.parameter_names)}
        return {name: al.symbols(name, size) for name, size in names.items()}

    @made_once
    def tau(self) -> Any:
        """Forces on all velocities in addition to those of the model, in the same form."""
        return CASADI.symbols("tau", self.nv)

    @made_once
    def traced(self) -> BlockEquations:
        """The equations that all kernels are made of."""
        return self.equations(self.tau[1])

    def compile(self, name: str, outputs: dict[str, Any], piece: int | None = None, **more: Any) -> Kernel:
        """A kernel of (t, q, u, p) and of what ``more`` names."""
        inputs = {key: symbol for key, (symbol, _) in {**self.symbols, **more}.items()}
        columns = {key: CASADI.to_sparse_sx(value) for key, value in outputs.items()}
        shapes = {"t": (), **{key: np.shape(value) for key, value in outputs.items()}}
        return compile_function(name, inputs, columns, shapes=shapes, piece=piece)

    # Kernels

    @made_of_blocks
    def dynamics_kernel(self) -> Kernel:
        """q̇, the power of forces without potential, and the formulation's blocks."""
        return self._compile_rates("dynamics", self.formulation.blocks)

    @cached_property
    def variables(self) -> Variables | None:
        """The integrated variables, if not (q, u)."""
        return self.formulation.variables(self.sizes)

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.nq, self.nv, len(self.rows), self.rows.holonomic, self.tail)

    @made_by_formulation
    def variables_kernel(self) -> Kernel:
        """q̇, the power of forces without potential, and what the integrated variables need."""
        return self._compile_rates("variables", self.formulation.variables_blocks)

    def _compile_rates(self, name: str, blocks: Callable[[BlockEquations], dict[str, np.ndarray]]) -> Kernel:
        equations = self.traced
        outputs = {"qdot": equations.qdot(), "power": equations.power(), **blocks(equations)}
        return self.compile(name, outputs, tau=self.tau)

    @made_once
    def constraint_kernel(self) -> Kernel:
        """φ, A u + b, A and M: what projection needs."""
        equations = self.traced
        return self.compile(
            "constraints",
            {
                "position": equations.position_residual(),
                "velocity": equations.velocity_residual(),
                "jacobian": equations.jacobian,
                "mass_matrix": equations.mass_matrix,
            },
        )

    @made_once
    def move_kernel(self) -> Kernel:
        """q moved along a tangent, quaternions normalized."""
        q, du = self.symbols["q"], CASADI.symbols("du", self.nv)
        inputs = {"q": q[0], "du": du[0], "p": self.symbols["p"][0]}
        return compile_function("move", inputs, {"q": CASADI.to_sx(self.moved(q[1], du[1]))})

    @made_once
    def observer(self) -> Kernel:
        """Everything that is recorded at an output."""
        return self.compile("observer", self.observed())

    def observed(self) -> dict[str, Any]:
        """Energies and outputs."""
        e = self.traced
        return {"kinetic": e.kinetic_energy(), "potential": e.potential_energy(), "outputs": e.outputs()}

    @made_once
    def event_kernel(self) -> Kernel:
        """What rises through zero when an event happens."""
        return self.compile("events", {"events": self.traced.events()})

    @made_once
    def straight_events(self) -> np.ndarray:
        """1 for each event that t, q and u change along a straight line, else 0."""
        return self.event_kernel.straight(1 + self.nq + self.nv)

    tangent_kernel = made_once(traces.tangent_kernel)

    @made_of_blocks
    def acceleration_kernel(self) -> Kernel:
        """u̇ of an explicit formulation."""
        blocks = self.formulation.blocks(self.traced)
        return self.compile("acceleration", {"acceleration": blocks["acceleration"]}, tau=self.tau)

    @cached_property
    def single_acceleration(self) -> SingleState:
        """The same at one state, at t = 0 and with the model's parameters."""
        return SingleState(self.acceleration_kernel, self.nq, self.nv, self.defaults)

    @made_once
    def output_kernel(self) -> Kernel:
        return self.compile("outputs", {"outputs": self.traced.outputs()})

    @made_once
    def mass_kernel(self) -> Kernel:
        return self.compile("mass_matrix", {"mass_matrix": self.traced.mass_matrix})

    @made_once
    def inverse_kernel(self) -> Kernel:
        equations, du = self.equations(), CASADI.symbols("du", self.nv)
        return self.compile("inverse", {"tau": equations.inverse(du[1])}, du=du)

    @cached_property
    def evaluation(self) -> str:
        """How native code gets u̇ from the formulation's blocks (see ``evaluate``)."""
        if not self.formulation.explicit:
            return "solved"
        return "eliminated" if self.rows else "explicit"

    @cached_property
    def plan(self) -> Record | None:
        """What the formulation's solver knows in advance (see ``Formulation.plan``)."""
        return self.formulation.plan(self.traced) if self.evaluation == "solved" else None

    @property
    def n_states(self) -> int:
        return len(self.own_states)

    @property
    def has_quaternions(self) -> bool:
        return self.nq > self.nv + self.tail

    def rolled(self, parameters: dict[str, float] | None = None) -> Rolled | None:
        """The rolled recursions of a large model, or None."""
        return None
