"""The compiled equations of motion of one model."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates import COORDINATES, Coordinates
from dalembert.dynamics import native
from dalembert.errors import DalembertError, ModelError
from dalembert.formulations import FORMULATIONS, Equations, Formulation
from dalembert.formulations.equations import Row
from dalembert.integrators.base import Problem
from dalembert.model import Flat, Model, flatten

__all__ = ["Context", "Dynamics", "compile"]


class Dynamics:
    """Equations of motion as machine code: state layout, accelerations, multipliers, residuals, energies.

    Args:
        model: the mechanism.
        formulation: how the equations are formed; ``auto`` takes ``recursive`` for trees without constraints, else
            ``lagrange-multipliers``.
        coordinates: ``relative`` or ``absolute``; ``auto`` takes ``relative``.

    Attributes:
        nq, nv: lengths of q and u.  q_names, u_names: what their entries are.
        rows: who imposes each constraint equation, holonomic ones first.
        reason: why this formulation and these coordinates.
    """

    def __init__(self, model: Model, formulation: str = "auto", coordinates: str = "auto"):
        model.validate()
        self.model = model
        self.flat: Flat = flatten(model)
        self.coordinates, self.formulation, self.reason = _choose(self.flat, formulation, coordinates)
        self.nq, self.nv = self.coordinates.nq, self.coordinates.nv
        self.q_names, self.u_names = self.coordinates.labels()
        self.parameter_names = list(self.flat.parameters)
        self.rows: list[Row] = self._equations().rows
        self.holonomic = sum(row.holonomic for row in self.rows)
        self._check_support()

    def __repr__(self) -> str:
        return (
            f"<Dynamics of {self.model.name!r}: {self.formulation.name}, {self.coordinates.name} coordinates, "
            f"{self.nq} coordinates, {self.nv} velocities, {len(self.rows)} constraint equations>"
        )

    def _check_support(self) -> None:
        support = self.formulation.supports()
        refused = []
        if self.coordinates.name not in support.coordinates:
            refused.append(f"{self.coordinates.name} coordinates")
        if self.holonomic and not support.closed_loops:
            refused.append(f"position constraints ({', '.join(_owners(self.rows, True))})")
        if self.holonomic < len(self.rows) and not support.nonholonomic:
            refused.append(f"nonholonomic constraints ({', '.join(_owners(self.rows, False))})")
        if refused:
            raise ModelError(
                f"formulation {self.formulation.name!r} cannot take {' and '.join(refused)}. "
                f"Fix: formulation='lagrange-multipliers'"
            )

    # Tracing

    @cached_property
    def _symbols(self) -> dict[str, Any]:
        al = CASADI
        names = {"t": 1, "q": self.nq, "u": self.nv, "p": len(self.parameter_names)}
        return {name: al.symbols(name, size) for name, size in names.items()}

    @cached_property
    def _tree(self) -> Any:
        values = self._symbols["p"][1]
        return self.coordinates.place(CASADI, dict(zip(self.parameter_names, values, strict=True)))

    def _equations(self) -> Equations:
        """The equations over CasADi symbols."""
        return Equations(self._tree, self._symbols["t"][1][0], self._symbols["q"][1], self._symbols["u"][1])

    def _compile(self, name: str, outputs: dict[str, Any], **more: Any) -> Kernel:
        inputs = {key: symbol for key, (symbol, _) in {**self._symbols, **more}.items()}
        columns = {key: CASADI.to_sx(value) for key, value in outputs.items()}
        shapes = {"t": (), **{key: np.shape(value) for key, value in outputs.items()}}
        return compile_function(name, inputs, columns, shapes=shapes)

    # Kernels

    @cached_property
    def dynamics_kernel(self) -> Kernel:
        """q̇, the power of forces without potential, and the formulation's blocks."""
        equations = self._equations()
        outputs = {"qdot": equations.qdot(), "power": equations.power(), **self.formulation.blocks(equations)}
        return self._compile("dynamics", outputs)

    @cached_property
    def constraint_kernel(self) -> Kernel:
        """φ, A u + b, A and M: what projection needs."""
        equations = self._equations()
        return self._compile(
            "constraints",
            {
                "position": equations.position_residual(),
                "velocity": equations.velocity_residual(),
                "jacobian": equations.jacobian,
                "mass_matrix": equations.mass_matrix,
            },
        )

    @cached_property
    def move_kernel(self) -> Kernel:
        """q moved along a tangent, quaternions normalised."""
        q, du = self._symbols["q"], CASADI.symbols("du", self.nv)
        moved = self._tree.normalise(self._tree.integrate(q[1], du[1]))
        inputs = {"q": q[0], "du": du[0], "p": self._symbols["p"][0]}
        return compile_function("move", inputs, {"q": CASADI.to_sx(moved)})

    @cached_property
    def observer(self) -> Kernel:
        """Poses and twists of bodies (world axes), energies, momentum, joint coordinates and outputs."""
        al, equations = CASADI, self._equations()
        poses, twists = [], []
        for state in equations.states:
            poses.append(al.concatenate([state.X_WB.R.reshape(-1), state.X_WB.p]))
            twists.append(al.concatenate([state.X_WB.R @ state.V[:3], state.X_WB.R @ state.V[3:]]))
        joints = [al.concatenate(list(equations.joint_coordinates(name))) for name in self.measurable]
        return self._compile(
            "observer",
            {
                "pose": al.concatenate(poses),
                "twist": al.concatenate(twists),
                "kinetic": equations.kinetic_energy(),
                "potential": equations.potential_energy(),
                "momentum": equations.momentum(),
                "joints": al.concatenate(joints),
                "outputs": equations.outputs(),
            },
        )

    @cached_property
    def measurable(self) -> list[str]:
        """Joints whose coordinates can be told from the bodies' poses."""
        return [
            name
            for name, (data, _) in self.flat.joints.items()
            if data.custom is None or data.custom.measure is not None or name in self.coordinates.slot_of_joint
        ]

    @cached_property
    def reaction_kernel(self) -> Kernel:
        """Wrench of every joint on its second body, world axes, about the joint's point."""
        du, multipliers = CASADI.symbols("du", self.nv), CASADI.symbols("multipliers", len(self.rows))
        wrenches = self._equations().reactions(du[1], multipliers[1])
        self.reaction_names = list(wrenches)
        return self._compile(
            "reactions", {"wrench": CASADI.concatenate(list(wrenches.values()))}, du=du, multipliers=multipliers
        )

    @cached_property
    def _mass_kernel(self) -> Kernel:
        return self._compile("mass_matrix", {"mass_matrix": self._equations().mass_matrix})

    @cached_property
    def _inverse_kernel(self) -> Kernel:
        equations, du = self._equations(), CASADI.symbols("du", self.nv)
        return self._compile("inverse", {"tau": equations.inverse(du[1])}, du=du)

    # Calls

    def parameters(self, values: dict[str, float] | None = None) -> np.ndarray:
        """The parameter vector, with some values replaced."""
        unknown = [name for name in values or {} if name not in self.flat.parameters]
        if unknown:
            raise DalembertError(f"unknown parameters {unknown}; the model has {self.parameter_names}")
        return np.array(list({**self.flat.parameters, **(values or {})}.values()), dtype=float)

    def acceleration(
        self, q: Any, u: Any, t: float = 0.0, parameters: dict[str, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """u̇ and λ at one state."""
        context = Context(self, parameters)
        y = np.concatenate([_checked("q", q, self.nq), _checked("u", u, self.nv), [0.0]])
        qdot, du, multipliers = np.empty(self.nq), np.empty(self.nv), np.zeros(len(self.rows))
        status, _ = native.accelerations(context.address, float(t), y, qdot, du, multipliers)
        if status != 0:
            raise DalembertError(context.failure())
        return du, multipliers

    def mass_matrix(self, q: Any, parameters: dict[str, float] | None = None) -> np.ndarray:
        """M(q), for one state or a batch."""
        return self._mass_kernel(0.0, q, np.zeros(self.nv), self.parameters(parameters))

    def inverse(self, q: Any, u: Any, du: Any, t: float = 0.0, parameters: dict[str, float] | None = None) -> np.ndarray:
        """Forces on all velocities that produce u̇ without constraints:  τ = M u̇ + h − Q; one state or a batch."""
        return self._inverse_kernel(t, q, u, self.parameters(parameters), du)

    def observe(self, t: Any, q: Any, u: Any, parameters: dict[str, float] | None = None) -> Any:
        """Poses, twists, energies, momentum, joint coordinates and outputs; one state or a batch."""
        return self.observer(t, q, u, self.parameters(parameters))

    def residuals(self, t: Any, q: Any, u: Any, parameters: dict[str, float] | None = None) -> Any:
        """φ, A u + b, A and M; one state or a batch."""
        return self.constraint_kernel(t, q, u, self.parameters(parameters))

    def problem(self, parameters: dict[str, float] | None = None) -> tuple[Problem, Context]:
        """What an integrator takes, and the context that watches over it."""
        context = Context(self, parameters)
        rhs, retract = _native()
        return Problem(rhs.address, retract.address, context.address, (context, self)), context


def compile(model: Model, *, formulation: str = "auto", coordinates: str = "auto") -> Dynamics:
    """The equations of motion of a model as machine code; kernels are made at their first use and cached on disk."""
    return Dynamics(model, formulation, coordinates)


class Context:
    """The block of numbers that native functions read: addresses, sizes, parameters, scratch space, statistics."""

    def __init__(self, dynamics: Dynamics, parameters: dict[str, float] | None = None):
        kernels = (dynamics.dynamics_kernel, dynamics.constraint_kernel, dynamics.move_kernel)
        n_in, n_out = max(k.n_in for k in kernels), max(k.n_out for k in kernels)
        n_work = max(1, *(k.n_work for k in kernels))
        self.values = dynamics.parameters(parameters)
        self.statistics = np.array([1.0, np.inf, 0.0, 0.0, 0.0, 0.0])
        self._work = np.zeros(n_in + n_out + n_work)
        self._block = np.zeros(native.CONTEXT_SIZE, dtype=np.int64)
        entries = {
            native.DYNAMICS: kernels[0].address, native.CONSTRAINTS: kernels[1].address, native.MOVE: kernels[2].address,
            native.NQ: dynamics.nq, native.NV: dynamics.nv, native.ROWS: len(dynamics.rows),
            native.HOLONOMIC: dynamics.holonomic, native.NP: len(self.values),
            native.EXPLICIT: int(dynamics.formulation.explicit), native.PARAMETERS: self.values.ctypes.data,
            native.STATS: self.statistics.ctypes.data, native.WORK: self._work.ctypes.data,
            native.N_INPUT: n_in, native.N_OUTPUT: n_out, native.N_WORK: n_work,
        }  # fmt: skip
        for index, value in entries.items():
            self._block[index] = value
        self._owner = kernels

    @property
    def address(self) -> int:
        return self._block.ctypes.data

    def failure(self) -> str:
        """Why the native code gave up, in words."""
        return {
            native.NO_MASS: "some direction of motion has neither mass nor constraint: give every free body mass and "
            "inertia, or constrain it",
            native.NOT_FINITE: "the accelerations are not finite: look for a division by zero or a root of a negative "
            "number in the formulas, or for a coordinate singularity",
            native.NO_CONVERGENCE: "the position constraints could not be satisfied: the mechanism came apart or reached a "
            "position where it locks",
        }.get(int(self.statistics[native.FAILURE]), "the native code gave up without a reason")


@lru_cache(maxsize=1)
def _native() -> tuple[Any, Any]:
    return native.native_rhs(), native.native_retract()


def _choose(flat: Flat, formulation: str, coordinates: str) -> tuple[Coordinates, Formulation, str]:
    """Coordinates and formulation by name; ``auto`` looks at the topology."""
    _known("coordinates", coordinates, COORDINATES)
    _known("formulation", formulation, FORMULATIONS)
    chosen = COORDINATES["relative" if coordinates == "auto" else coordinates](flat)
    constrained = bool(chosen.cut or flat.constraints) or any(
        chosen.nominal_joint(name).joint.nonholonomic for name in flat.joints
    )
    if formulation != "auto":
        return chosen, FORMULATIONS[formulation](), "as asked"
    if constrained or chosen.name != "relative":
        why = f"{len(chosen.cut)} closed joints" if chosen.cut else "constraints between joints"
        return chosen, FORMULATIONS["lagrange-multipliers"](), f"{why}: all constraints are solved for together"
    return chosen, FORMULATIONS["recursive"](), "a tree without constraints: elimination in linear time"


def _known(what: str, name: str, registry: dict[str, Any]) -> None:
    if name != "auto" and name not in registry:
        raise DalembertError(f"unknown {what} {name!r}; expected 'auto' or one of {', '.join(sorted(registry))}")


def _owners(rows: list[Row], holonomic: bool) -> list[str]:
    return list(dict.fromkeys(row.owner for row in rows if row.holonomic == holonomic))


def _checked(name: str, values: Any, n: int) -> np.ndarray:
    array = np.asarray(values, dtype=float).reshape(-1)
    if len(array) != n:
        raise DalembertError(f"{name} must have length {n}, got {len(array)}")
    return array
