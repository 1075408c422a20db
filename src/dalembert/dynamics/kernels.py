"""All machine code of one model in one formulation: traced once, compiled when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.dynamics import traces
from dalembert.dynamics.choose import is_rolled
from dalembert.dynamics.constraint_rows import Rows
from dalembert.dynamics.derivatives import make_derivatives
from dalembert.dynamics.rolled import Rolled
from dalembert.dynamics.single import SingleState
from dalembert.equations import Equations, Level, Row
from dalembert.errors import DalembertError
from dalembert.formulations import Formulation
from dalembert.formulations.base import Form, Sizes
from dalembert.kinematics import Coordinates
from dalembert.native import Record
from dalembert.spatial.so3 import cross

__all__ = ["KernelSet"]


class KernelSet:
    """Symbols, one trace of the equations, and the kernels compiled from it.

    Attributes:
        nq, nv: lengths of q and u.
        parameter_names, defaults: the parameters of the model and their values.
        rows: who imposes each constraint equation, holonomic ones first.
    """

    def __init__(self, coordinates: Coordinates, formulation: Formulation):
        self.coordinates, self.formulation, self.flat = coordinates, formulation, coordinates.flat
        self.nq, self.nv = coordinates.nq, coordinates.nv
        self.parameter_names = list(self.flat.parameters)
        self.defaults = np.array(list(self.flat.parameters.values()), dtype=float)
        self._derivatives: dict[str, Kernel] = {}
        self._jacobians: dict[str, Kernel] = {}
        self._rolled: tuple[dict[str, float], Rolled] | None = None
        self.rows = Rows(self._find_rows())

    def _find_rows(self) -> list[Row]:
        """Who imposes each constraint; nothing is traced where that is known, which matters for large models."""
        if not self.coordinates.has_constraints:
            return []
        if is_rolled(self.coordinates):
            joints = ((name, self.coordinates.nominal_joint(name).joint) for name in self.coordinates.cut)
            return [Row(name, i, Level.POSITION) for name, joint in joints for i in range(6 - joint.nv)]
        return self.traced.rows

    def parameters(self, values: dict[str, float] | None = None) -> np.ndarray:
        """The parameter vector, with some values replaced."""
        if not values:
            return self.defaults
        unknown = [name for name in values if name not in self.flat.parameters]
        if unknown:
            raise DalembertError(f"unknown parameters {unknown}; the model has {self.parameter_names}")
        return np.array(list({**self.flat.parameters, **values}.values()), dtype=float)

    # Tracing

    @cached_property
    def symbols(self) -> dict[str, Any]:
        """t, q, u and p: a CasADi column and the array of its entries, by name."""
        al = CASADI
        names = {"t": 1, "q": self.nq, "u": self.nv, "p": len(self.parameter_names)}
        return {name: al.symbols(name, size) for name, size in names.items()}

    @cached_property
    def tree(self) -> Any:
        """The coordinates placed over the symbols of the parameters."""
        values = self.symbols["p"][1]
        return self.coordinates.place(CASADI, dict(zip(self.parameter_names, values, strict=True)))

    @cached_property
    def tau(self) -> Any:
        """Forces on all velocities besides those of the model, in the same form."""
        return CASADI.symbols("tau", self.nv)

    @cached_property
    def traced(self) -> Equations:
        """The equations over CasADi symbols, with forces τ besides those of the model: one object for all kernels, so
        that what they share is traced once.
        """
        return self.equations(self.tau[1])

    def equations(self, tau: np.ndarray | None = None) -> Equations:
        """The equations over CasADi symbols anew; without forces besides those of the model unless τ is given."""
        return Equations(self.tree, self.symbols["t"][1][0], self.symbols["q"][1], self.symbols["u"][1], tau)

    def compile(self, name: str, outputs: dict[str, Any], piece: int | None = None, **more: Any) -> Kernel:
        """A kernel of (t, q, u, p) and of what ``more`` names."""
        inputs = {key: symbol for key, (symbol, _) in {**self.symbols, **more}.items()}
        columns = {key: CASADI.to_sx(value) for key, value in outputs.items()}
        shapes = {"t": (), **{key: np.shape(value) for key, value in outputs.items()}}
        return compile_function(name, inputs, columns, shapes=shapes, piece=piece)

    # Kernels

    @cached_property
    def dynamics_kernel(self) -> Kernel:
        """q̇, the power of forces without potential, and the formulation's blocks."""
        return self._compile_rates("dynamics", self.formulation.blocks)

    @cached_property
    def form(self) -> Form | None:
        """What is integrated, if it is not (q, u)."""
        return self.formulation.form(self.sizes)

    @property
    def sizes(self) -> Sizes:
        windings = len(self.coordinates.windings)
        return Sizes(self.nq, self.nv, len(self.rows), self.rows.holonomic, windings, self.coordinates)

    @cached_property
    def form_kernel(self) -> Kernel:
        """q̇, the power of forces without potential, and what the form needs."""
        return self._compile_rates("form", self.formulation.form_blocks)

    def _compile_rates(self, name: str, blocks: Callable[[Equations], dict[str, np.ndarray]]) -> Kernel:
        equations = self.traced
        outputs = {"qdot": equations.qdot(), "power": equations.power(), **blocks(equations)}
        return self.compile(name, outputs, tau=self.tau)

    @cached_property
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

    @cached_property
    def move_kernel(self) -> Kernel:
        """q moved along a tangent, quaternions normalized."""
        q, du = self.symbols["q"], CASADI.symbols("du", self.nv)
        moved = self.tree.normalize(self.tree.integrate(q[1], du[1]))
        inputs = {"q": q[0], "du": du[0], "p": self.symbols["p"][0]}
        return compile_function("move", inputs, {"q": CASADI.to_sx(moved)})

    @cached_property
    def observer(self) -> Kernel:
        """Poses and twists of bodies (world axes), energies, momentum, joint coordinates and outputs."""
        al, equations = CASADI, self.traced
        poses, twists = [], []
        for state in equations.states:
            poses.append(al.concatenate([state.X_WB.R.reshape(-1), state.X_WB.p]))
            twists.append(al.concatenate([state.X_WB.R @ state.V[:3], state.X_WB.R @ state.V[3:]]))
        joints = [al.concatenate(list(equations.joint_coordinates(name))) for name in self.measurable]
        carried = {"carried": equations.carried()} if self.coordinates.rheonomic else {}
        return self.compile(
            "observer",
            {
                **carried,
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
        """Joints whose coordinates can be found from the bodies' poses."""
        return [
            name
            for name in self.flat.joints
            if self.coordinates.nominal_joint(name).joint.measurable or name in self.coordinates.slot_of_joint
        ]

    @cached_property
    def _reactions(self) -> tuple[list[str], Kernel]:
        du, multipliers = CASADI.symbols("du", self.nv), CASADI.symbols("multipliers", len(self.rows))
        wrenches = self.equations().reactions(du[1], multipliers[1])
        outputs = {"wrench": CASADI.concatenate(list(wrenches.values()))}
        return list(wrenches), self.compile("reactions", outputs, du=du, multipliers=multipliers)

    @property
    def reaction_names(self) -> list[str]:
        """Joints in the order of ``reaction_kernel``."""
        return self._reactions[0]

    @property
    def reaction_kernel(self) -> Kernel:
        """Wrench of every joint on its second body, world axes, about the joint's point."""
        return self._reactions[1]

    @cached_property
    def event_kernel(self) -> Kernel:
        """What rises through zero when an event happens."""
        return self.compile("events", {"events": self.traced.events()})

    @cached_property
    def tangent_kernel(self) -> Kernel:
        return traces.tangent_kernel(self)

    @cached_property
    def exponential_kernel(self) -> Kernel:
        return traces.exponential_kernel(self)

    @cached_property
    def discrete_kernel(self) -> Kernel:
        return traces.discrete_kernel(self)

    @cached_property
    def acceleration_kernel(self) -> Kernel:
        """u̇ of an explicit formulation."""
        blocks = self.formulation.blocks(self.traced)
        return self.compile("acceleration", {"acceleration": blocks["acceleration"]}, tau=self.tau)

    @cached_property
    def single_acceleration(self) -> SingleState:
        """The same at one state, at t = 0 and with the model's parameters."""
        return SingleState(self.acceleration_kernel, self.nq, self.nv, self.defaults)

    @cached_property
    def output_kernel(self) -> Kernel:
        return self.compile("outputs", {"outputs": self.traced.outputs()})

    @cached_property
    def mass_centre_kernel(self) -> Kernel:
        return self.compile("mass_centre", {"mass_centre": self.traced.mass_centre()})

    def jacobian_kernel(self, body: str) -> Kernel:
        """J = ∂v/∂u of a point of a body, and J̇ along q̇."""
        if body in self._jacobians:
            return self._jacobians[body]
        al, equations, at = CASADI, self.traced, CASADI.symbols("point", 3)

        def velocity(u: np.ndarray) -> np.ndarray:
            X, V = Equations(self.tree, equations.t, equations.q, u).motion.body(body)
            return X.R @ (V[3:] + cross(V[:3], at[1]))

        J = al.columns(velocity, self.nv)
        rate = al.rate(J, equations.q, equations.qdot())
        self._jacobians[body] = self.compile("point_jacobian", {"jacobian": J, "rate": rate}, point=at)
        return self._jacobians[body]

    def derivative_kernel(self, which: Any) -> Kernel:
        """Derivatives of ``forward`` or ``inverse`` dynamics (see ``derivatives``)."""
        if which not in self._derivatives:
            self._derivatives[which] = make_derivatives(self, which)
        return self._derivatives[which]

    @cached_property
    def mass_kernel(self) -> Kernel:
        return self.compile("mass_matrix", {"mass_matrix": self.traced.mass_matrix})

    @cached_property
    def inverse_kernel(self) -> Kernel:
        equations, du = self.equations(), CASADI.symbols("du", self.nv)
        return self.compile("inverse", {"tau": equations.inverse(du[1])}, du=du)

    @cached_property
    def way(self) -> str:
        """How native code gets u̇ from the formulation's blocks (see ``evaluate``)."""
        if not self.formulation.explicit:
            return "solved"
        return "eliminated" if self.rows else "explicit"

    @cached_property
    def plan(self) -> Record | None:
        """What the formulation's solver knows in advance (see ``Formulation.plan``)."""
        return self.formulation.plan(self.traced) if self.way == "solved" else None

    @cached_property
    def yielding(self) -> int:
        """Rows that the recursive formulation adds for armatures of cut joints."""
        return len(self.traced.rotor_rows()[1]) if self.way == "eliminated" else 0

    # Large trees

    @property
    def has_quaternions(self) -> bool:
        return self.nq > self.nv + len(self.coordinates.windings)

    @cached_property
    def is_large(self) -> bool:
        """True if this model runs by rolled recursions."""
        return self.formulation.name == "recursive" and is_rolled(self.coordinates)

    def rolled(self, parameters: dict[str, float] | None = None) -> Rolled | None:
        """The rolled recursions of a large tree, or None; kept for the last parameters used."""
        if not self.is_large:
            return None
        values = {**self.flat.parameters, **(parameters or {})}
        if self._rolled is None or self._rolled[0] != values:
            self._rolled = (values, Rolled(self.coordinates, values))
        return self._rolled[1]
