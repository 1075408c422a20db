"""The kernels of a mechanism of bodies and joints."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel
from dalembert.coordinates import Coordinates
from dalembert.dynamics import traces
from dalembert.dynamics.assembly import Quantity, closing_kernel
from dalembert.dynamics.choose import is_rolled
from dalembert.dynamics.derivatives import make_derivatives
from dalembert.dynamics.even_units import EvenUnits, even_units
from dalembert.dynamics.kernels import KernelSet, Rows
from dalembert.dynamics.perturb import Perturbations
from dalembert.dynamics.rolled import Rolled
from dalembert.dynamics.shared_traces import made_for, made_once
from dalembert.equations import Equations, Level, Row
from dalembert.equations.touches import gaps, slips, touches
from dalembert.formulations import Formulation
from dalembert.formulations.base import Sizes
from dalembert.formulations.shared.analytical import AnalyticalFormulation
from dalembert.spatial.so3 import cross

__all__ = ["MechanismKernels"]


class MechanismKernels(KernelSet):
    """What block equations have, and what bodies and joints have besides."""

    def __init__(self, coordinates: Coordinates, formulation: Formulation):
        flat = coordinates.flat
        self.coordinates, self.flat = coordinates, flat
        sizes, tail = (coordinates.nq, coordinates.nv), coordinates.tail
        self.is_large = formulation.rolled and is_rolled(coordinates)
        branches = {} if self.is_large else dict.fromkeys(flat.branches, 0.0)
        owners = (*flat.event_owners, *branches)
        super().__init__(formulation, sizes, {**flat.parameters, **branches}, tail, owners)
        self.n_branches = len(branches)
        self.n_rough = sum(force.n_switches for force, _ in flat.forces.values()) if branches else 0
        self.own_states = tuple(coordinates.own_states)
        self._rolled: tuple[dict[str, float], Rolled] | None = None

    @made_once
    def traced(self) -> Equations:
        """The equations over CasADi symbols, with forces τ in addition to those of the model: one object for all
        kernels, so that shared parts are traced once.
        """
        return self.equations(self.tau[1])

    @cached_property
    def rows(self) -> Rows:
        return Rows(self._find_rows())

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray] | None:
        plain = not self.rows or self.even.everyday or isinstance(self.formulation, AnalyticalFormulation)
        return None if plain else (self.even.velocities, self.even.rows)

    @cached_property
    def uneven(self) -> bool:
        return isinstance(self.formulation, AnalyticalFormulation) and not self.even.everyday

    @cached_property
    def even(self) -> EvenUnits:
        """Units for the size of the mechanism; large models are taken as everyday ones."""
        return even_units(self, everyday=self.is_large or is_rolled(self.coordinates))

    @cached_property
    def contacts(self) -> np.ndarray:
        places = [
            (
                self.parameter_names.index(self.flat.switches[name]),
                *self.rows.of([name]),
                self.event_owners.index(event),
            )
            for name in self.flat.contacts
            for event in [f"{name} open"]
        ]
        return np.array(places, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def frictions(self) -> np.ndarray:
        place, found = self.parameter_names.index, list[tuple[int, ...]]()
        for name in self.flat.frictions:
            rows, event = self.rows.of([name]), self.event_owners.index(f"{name} slips")
            switch, slip, force = (place(key) for key in (self.flat.switches[name], f"{name}.slip", f"{name}.force"))
            found.append((switch, rows[0], len(rows), slip, force, event))
        return np.array(found, dtype=np.int64).reshape(-1, 6)

    @made_once
    def imposed(self) -> tuple[list[Any], list[Any], list[Any]]:
        """What constraints with branches leave (see ``Equations.imposed``)."""
        return self.traced.imposed() if self.n_branches and self.flat.branching else ([], [], [])

    @made_once
    def imposed_kernel(self) -> Kernel:
        """The same as ``Problem.imposed`` wants it."""
        places, speeds, given = self.imposed
        return self.compile("imposed", {"left": CASADI.array([*places, *given[::2], *speeds, *given[1::2]])})

    @made_once
    def touch_kernel(self) -> Kernel:
        """Gaps, slips and what they depend on (see ``equations.touches``), with M, f, A and γ."""
        e = self.traced
        blocks = {"mass_matrix": e.mass_matrix, "forcing": e.forcing, "jacobian": e.jacobian, "gamma": e.gamma}
        blocks["velocity_bias"] = e.velocity_bias
        return self.compile("touch", {**touches(e), **blocks}, tau=self.tau)

    @made_once
    def gap_kernel(self) -> Kernel:
        """All gaps."""
        return self.compile("gaps", {"gaps": CASADI.array(gaps(self.equations()))})

    @made_once
    def slip_kernel(self) -> Kernel:
        """The velocities of all friction, in each of its directions."""
        return self.compile("slips", {"slips": CASADI.array(slips(self.equations()))})

    @property
    def friction_gaps(self) -> list[int | None]:
        """The gap of each friction, or None of one in a joint."""
        place = {name: i for i, (name, _) in enumerate(self.flat.gap_names)}
        return [place.get(self.flat.constraints[name][0].touches) for name in self.flat.frictions]

    @cached_property
    def feedback(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the parameters that hold accelerations and reactions: those of forces, and those of outputs."""
        place = self.parameter_names.index
        feedback, watched = ([place(name) for name in names] for names in (self.flat.feedback, self.flat.watched))
        return np.array(feedback, dtype=np.int64), np.array(watched, dtype=np.int64)

    friction_kernel = made_once(traces.friction_kernel)
    friction_slopes_kernel = made_once(traces.friction_slopes_kernel)
    friction_push_kernel = made_once(traces.friction_push_kernel)
    friction_tangent_kernel = made_once(traces.friction_tangent_kernel)
    watched_kernel = made_once(traces.watched_kernel)

    def _find_rows(self) -> list[Row]:
        """Who imposes each constraint; nothing is traced where that is known, which matters for large models."""
        if not self.coordinates.has_constraints:
            return []
        if is_rolled(self.coordinates):
            joints = ((name, self.coordinates.nominal_joint(name).joint) for name in self.coordinates.cut)
            return [Row(name, i, Level.POSITION) for name, joint in joints for i in range(6 - joint.nv)]
        return self.traced.rows

    @made_once
    def tree(self) -> Any:
        """The coordinates placed over the symbols of the parameters."""
        values = self.symbols["p"][1]
        return self.coordinates.place(CASADI, dict(zip(self.parameter_names, values, strict=True)))

    def equations(self, tau: np.ndarray | None = None) -> Equations:
        return Equations(self.tree, self.symbols["t"][1][0], self.symbols["q"][1], self.symbols["u"][1], tau)

    def moved(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return self.tree.normalize(self.tree.integrate(q, du))

    @property
    def sizes(self) -> Sizes:
        return super().sizes._replace(coordinates=self.coordinates)

    @cached_property
    def yielding(self) -> int:
        """Rows that the recursive formulation adds for armatures of cut joints."""
        return len(self.traced.cut_rotors.rows()[1]) if self.evaluation == "eliminated" else 0

    # Bodies and joints

    def observed(self) -> dict[str, Any]:
        """Poses and twists of bodies (world axes), energies, momentum, joint coordinates and outputs."""
        al, equations = CASADI, self.traced
        poses: list[np.ndarray] = []
        twists: list[np.ndarray] = []
        for state in equations.states:
            poses.append(al.concatenate([state.X_WB.R.reshape(-1), state.X_WB.p]))
            twists.append(al.concatenate([state.X_WB.R @ state.V[:3], state.X_WB.R @ state.V[3:]]))
        joints = [al.concatenate(list(equations.joint_coordinates(name))) for name in self.measurable]
        carried = {"carried": equations.carried()} if self.coordinates.rheonomic else {}
        return {
            **carried,
            "pose": al.concatenate(poses),
            "twist": al.concatenate(twists),
            **super().observed(),
            "momentum": equations.momentum(),
            "joints": al.concatenate(joints),
        }

    @cached_property
    def measurable(self) -> list[str]:
        """Joints whose coordinates can be found from the bodies' poses."""
        return [
            name
            for name in self.flat.joints
            if self.coordinates.nominal_joint(name).joint.measurable or name in self.coordinates.slot_of_joint
        ]

    @made_once
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

    @made_once
    def mass_center_kernel(self) -> Kernel:
        return self.compile("mass_center", {"mass_center": self.traced.mass_center()})

    def jacobian_kernel(self, body: str) -> Kernel:
        """J = ∂v/∂u of a point of a body, and J̇ along q̇."""
        return made_for(self, ("point_jacobian", body), lambda: self._make_jacobian(body))

    def _make_jacobian(self, body: str) -> Kernel:
        al, equations, at = CASADI, self.traced, CASADI.symbols("point", 3)

        def velocity(u: np.ndarray) -> np.ndarray:
            X, V = Equations(self.tree, equations.t, equations.q, u).motion.body(body)
            return X.R @ (V[3:] + cross(V[:3], at[1]))

        J = al.columns(velocity, self.nv)
        rate = al.rate(J, equations.q, equations.qdot())
        return self.compile("point_jacobian", {"jacobian": J, "rate": rate}, point=at)

    def closing_kernel(self, quantities: tuple[Quantity, ...]) -> Kernel:
        """Residuals of the position with given values of some quantities (see ``assembly``)."""
        return made_for(self, ("closing", *(one.key for one in quantities)), lambda: closing_kernel(self, quantities))

    def derivative_kernel(self, which: Any) -> Kernel:
        """Derivatives of ``forward`` or ``inverse`` dynamics (see ``derivatives``)."""
        return made_for(self, ("derivatives", which), lambda: make_derivatives(self, which))

    def parameter_kernel(self, names: tuple[str, ...]) -> Kernel:
        """Derivatives of the residuals by some parameters (see ``traces``)."""
        return made_for(self, ("parameters", *names), lambda: traces.parameter_kernel(self, names))

    @cached_property
    def perturbations(self) -> Perturbations:
        """Derivatives at single states, without machine code."""
        return Perturbations(self)

    # Steps along the group of all joints

    exponential_kernel = made_once(traces.exponential_kernel)
    discrete_kernel = made_once(traces.discrete_kernel)

    # Large models

    def rolled(self, parameters: dict[str, float] | None = None) -> Rolled | None:
        """The rolled recursions of a large tree, or None; kept for the last parameters used."""
        if not self.is_large:
            return None
        values = {**self.flat.parameters, **(parameters or {})}
        if self._rolled is None or self._rolled[0] != values:
            self._rolled = (values, Rolled(self.coordinates, values))
        return self._rolled[1]
