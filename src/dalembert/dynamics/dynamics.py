"""The compiled equations of motion of one model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates import Generalized
from dalembert.dynamics import native, traces
from dalembert.dynamics.choose import choose, is_rolled
from dalembert.dynamics.context import Context
from dalembert.dynamics.rolled import Rolled
from dalembert.dynamics.single import SingleState
from dalembert.errors import DalembertError, ModelError
from dalembert.formulations import Equations, Formulation
from dalembert.formulations.base import Form, Sizes
from dalembert.formulations.equations import Row
from dalembert.integrators.base import Problem
from dalembert.model import Flat, Model, flatten
from dalembert.spatial.so3 import cross

__all__ = ["Dynamics", "compile"]


class Bodies(NamedTuple):
    """Where a body is and how it moves, in world axes; arrays have a leading axis for a batch."""

    rotation: np.ndarray
    position: np.ndarray
    angular_velocity: np.ndarray
    velocity: np.ndarray


class Residuals(NamedTuple):
    """What a large model leaves open."""

    position: np.ndarray
    velocity: np.ndarray
    jacobian: Any


class Dynamics:
    """Equations of motion as machine code: state layout, accelerations, multipliers, residuals, energies.

    Args:
        model: the mechanism.
        formulation: how the equations are formed; ``auto`` takes ``recursive`` for trees without constraints, else
            ``lagrange-multipliers``; a name, or an object with its options.
        coordinates: ``relative``, ``absolute`` or ``natural``; ``auto`` takes ``relative`` if the formulation does.

    Attributes:
        nq, nv: lengths of q and u.  q_names, u_names: what their entries are.
        rows: who imposes each constraint equation, holonomic ones first.
        reason: why this formulation and these coordinates.
        held_ranks: rank of A and of its holonomic rows by parameters (as bytes), of over-constrained mechanisms whose
            redundant equations look independent where the position is a little off.
    """

    def __init__(self, model: Model, formulation: str | Formulation = "auto", coordinates: str | Generalized = "auto"):
        model.validate()
        self.model = model
        self.flat: Flat = flatten(model)
        self.coordinates, self.formulation, self.reason = choose(self.flat, formulation, coordinates)
        self.nq, self.nv = self.coordinates.nq, self.coordinates.nv
        self.q_names, self.u_names = self.coordinates.labels()
        self.parameter_names = list(self.flat.parameters)
        self.rows: list[Row] = self._find_rows()
        self.holonomic = sum(row.holonomic for row in self.rows)
        self._defaults = np.array(list(self.flat.parameters.values()), dtype=float)
        self._no_force = np.zeros(self.nv)
        self._derivative_kernels: dict[str, Any] = {}
        self._jacobian_kernels: dict[str, Kernel] = {}
        self.held_ranks: dict[bytes, tuple[int, int]] = {}
        self._rolled: tuple[dict[str, float], Rolled] | None = None
        self._check_support()
        self.formulation.check(self.coordinates)

    def __repr__(self) -> str:
        return (
            f"<Dynamics of {self.model.name!r}: {self.formulation.name}, {self.coordinates.name} coordinates, "
            f"{self.nq} coordinates, {self.nv} velocities, {len(self.rows)} constraint equations>"
        )

    def _find_rows(self) -> list[Row]:
        """Who imposes each constraint; nothing is traced where that is known, which matters for large models."""
        if not self.coordinates.has_constraints:
            return []
        if is_rolled(self.coordinates):
            joints = ((name, self.coordinates.nominal_joint(name).joint) for name in self.coordinates.cut)
            return [Row(name, i, True) for name, joint in joints for i in range(6 - joint.nv)]
        return self.equations().rows

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
    def symbols(self) -> dict[str, Any]:
        al = CASADI
        names = {"t": 1, "q": self.nq, "u": self.nv, "p": len(self.parameter_names)}
        return {name: al.symbols(name, size) for name, size in names.items()}

    @cached_property
    def tree(self) -> Any:
        values = self.symbols["p"][1]
        return self.coordinates.place(CASADI, dict(zip(self.parameter_names, values, strict=True)))

    @cached_property
    def tau(self) -> Any:
        return CASADI.symbols("tau", self.nv)

    def equations(self, tau: np.ndarray | None = None) -> Equations:
        """The equations over CasADi symbols."""
        return Equations(self.tree, self.symbols["t"][1][0], self.symbols["q"][1], self.symbols["u"][1], tau)

    def _compile(self, name: str, outputs: dict[str, Any], piece: int | None = None, **more: Any) -> Kernel:
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
        return Sizes(self.nq, self.nv, len(self.rows), self.holonomic, windings, self.coordinates)

    @cached_property
    def form_kernel(self) -> Kernel:
        """q̇, the power of forces without potential, and what the form needs."""
        return self._compile_rates("form", self.formulation.form_blocks)

    def _compile_rates(self, name: str, blocks: Callable[[Equations], dict[str, np.ndarray]]) -> Kernel:
        equations = self.equations(self.tau[1])
        outputs = {"qdot": equations.qdot(), "power": equations.power(), **blocks(equations)}
        return self._compile(name, outputs, tau=self.tau)

    @cached_property
    def extra(self) -> int:
        """How many numbers the formulation's own blocks have, behind the usual ones."""
        if self.formulation.explicit:
            return 0
        nv, rows = self.nv, len(self.rows)
        return self.dynamics_kernel.n_out - self.nq - 1 - nv * nv - nv - rows * nv - 2 * rows - self.holonomic

    @cached_property
    def constraint_kernel(self) -> Kernel:
        """φ, A u + b, A and M: what projection needs."""
        equations = self.equations()
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
        q, du = self.symbols["q"], CASADI.symbols("du", self.nv)
        moved = self.tree.normalise(self.tree.integrate(q[1], du[1]))
        inputs = {"q": q[0], "du": du[0], "p": self.symbols["p"][0]}
        return compile_function("move", inputs, {"q": CASADI.to_sx(moved)})

    @cached_property
    def observer(self) -> Kernel:
        """Poses and twists of bodies (world axes), energies, momentum, joint coordinates and outputs."""
        al, equations = CASADI, self.equations()
        poses, twists = [], []
        for state in equations.states:
            poses.append(al.concatenate([state.X_WB.R.reshape(-1), state.X_WB.p]))
            twists.append(al.concatenate([state.X_WB.R @ state.V[:3], state.X_WB.R @ state.V[3:]]))
        joints = [al.concatenate(list(equations.joint_coordinates(name))) for name in self.measurable]
        carried = {"carried": equations.carried()} if self.coordinates.rheonomic else {}
        return self._compile(
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
        wrenches = self.equations().reactions(du[1], multipliers[1])
        self.reaction_names = list(wrenches)
        return self._compile(
            "reactions", {"wrench": CASADI.concatenate(list(wrenches.values()))}, du=du, multipliers=multipliers
        )

    @cached_property
    def event_kernel(self) -> Kernel:
        """What rises through zero when an event happens."""
        return self._compile("events", {"events": self.equations().events()})

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
    def _acceleration_kernel(self) -> Kernel:
        blocks = self.formulation.blocks(self.equations(self.tau[1]))
        return self._compile("acceleration", {"acceleration": blocks["acceleration"]}, tau=self.tau)

    @cached_property
    def _single_acceleration(self) -> SingleState:
        return SingleState(self._acceleration_kernel, self.nq, self.nv, self._defaults)

    @cached_property
    def _output_kernel(self) -> Kernel:
        return self._compile("outputs", {"outputs": self.equations().outputs()})

    @cached_property
    def _mass_centre_kernel(self) -> Kernel:
        return self._compile("mass_centre", {"mass_centre": self.equations().mass_centre()})

    def _compile_jacobian(self, body: str) -> Kernel:
        """J = ∂v/∂u of a point, and J̇ along q̇."""
        al, equations, at = CASADI, self.equations(), CASADI.symbols("point", 3)

        def velocity(u: np.ndarray) -> np.ndarray:
            X, V = Equations(self.tree, equations.t, equations.q, u).motion.body(body)
            return X.R @ (V[3:] + cross(V[:3], at[1]))

        J = al.columns(velocity, self.nv)
        rate = al.rate(J, equations.q, equations.qdot())
        return self._compile("point_jacobian", {"jacobian": J, "rate": rate}, point=at)

    @cached_property
    def _mass_kernel(self) -> Kernel:
        return self._compile("mass_matrix", {"mass_matrix": self.equations().mass_matrix})

    @cached_property
    def _inverse_kernel(self) -> Kernel:
        equations, du = self.equations(), CASADI.symbols("du", self.nv)
        return self._compile("inverse", {"tau": equations.inverse(du[1])}, du=du)

    @cached_property
    def relative(self) -> Dynamics:
        """The same model in relative coordinates, in which assembly works: itself, or made once."""
        if self.coordinates.name == "relative":
            return self
        return Dynamics(self.model, "auto", "relative")

    @property
    def way(self) -> str:
        """How native code gets u̇ from the formulation's blocks (see ``native``)."""
        if not self.formulation.explicit:
            return "solved"
        return "eliminated" if self.rows else "explicit"

    @cached_property
    def yielding(self) -> int:
        """Rows that the recursive formulation adds for armatures of cut joints."""
        return len(self.equations().rotor_rows()[1]) if self.way == "eliminated" else 0

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

    # Calls

    def parameters(self, values: dict[str, float] | None = None) -> np.ndarray:
        """The parameter vector, with some values replaced."""
        if not values:
            return self._defaults
        unknown = [name for name in values if name not in self.flat.parameters]
        if unknown:
            raise DalembertError(f"unknown parameters {unknown}; the model has {self.parameter_names}")
        return np.array(list({**self.flat.parameters, **values}.values()), dtype=float)

    def acceleration(
        self,
        q: Any,
        u: Any,
        tau: Any = None,
        *,
        t: Any = 0.0,
        parameters: dict[str, float] | None = None,
        out: Any = None,
    ) -> np.ndarray:
        """u̇ at one state or at a batch of them (rows of q, u, tau).

        Args:
            tau: forces on all velocities, besides those of the model.
            out: array for the result.
        """
        if self.way == "explicit" and not self.is_large:
            given = self._no_force if tau is None else tau
            if parameters is None and out is None and type(t) is float and t == 0.0:
                single = self._single_acceleration(q, u, given)
                if single is not None:
                    return single
            return self._acceleration_kernel(t, q, u, self.parameters(parameters), given, out=out)
        du, _ = self.solve(q, u, tau, t=t, parameters=parameters)
        if out is None:
            return du
        out[...] = du
        return out

    def solve(
        self, q: Any, u: Any, tau: Any = None, *, t: Any = 0.0, parameters: dict[str, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """u̇ and the multipliers λ at one state or at a batch of them."""
        context = Context(self, parameters)
        q, u = _checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)
        forces = self._no_force if tau is None else _checked("tau", tau, self.nv, self.nq)
        shape = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], forces.shape[:-1], np.shape(t))
        count = int(np.prod(shape))
        states = np.zeros((count, self.nq + self.nv + 1))
        states[:, : self.nq] = np.broadcast_to(q, (*shape, self.nq)).reshape(count, self.nq)
        states[:, self.nq : -1] = np.broadcast_to(u, (*shape, self.nv)).reshape(count, self.nv)
        times = np.ascontiguousarray(np.broadcast_to(np.asarray(t, dtype=float), shape).reshape(count))
        forces = np.ascontiguousarray(np.broadcast_to(forces, (*shape, self.nv)).reshape(count, self.nv))
        du, multipliers = np.empty((count, self.nv)), np.zeros((count, len(self.rows)))
        done = native.accelerations_along(context.address, times, states, forces, du, multipliers)
        if done < count:
            raise DalembertError(f"state {done}: {context.failure()}" if shape else context.failure())
        return du.reshape(*shape, self.nv), multipliers.reshape(*shape, len(self.rows))

    def mass_matrix(self, q: Any, *, parameters: dict[str, float] | None = None, out: Any = None) -> np.ndarray:
        """M(q), for one state or a batch."""
        return self._mass_kernel(0.0, q, np.zeros(self.nv), self.parameters(parameters), out=out)

    def inverse(
        self, q: Any, u: Any, du: Any, *, t: Any = 0.0, parameters: dict[str, float] | None = None, out: Any = None
    ) -> np.ndarray:
        """Forces on all velocities that produce u̇ without constraints:  τ = M u̇ + h − Q; one state or a batch."""
        rolled = self.rolled(parameters)
        if rolled is None:
            return self._inverse_kernel(t, q, u, self.parameters(parameters), du, out=out)
        given = (("q", q, self.nq, self.nv), ("u", u, self.nv, self.nq), ("du", du, self.nv, self.nq))
        shape, rows = _in_rows(t, [_checked(*entry) for entry in given])
        result = np.empty((*shape, self.nv)) if out is None else out
        result[...] = np.array([rolled.inverse(*state) for state in zip(*rows, strict=True)]).reshape(*shape, self.nv)
        return result

    def bias(
        self, q: Any, u: Any, *, t: Any = 0.0, parameters: dict[str, float] | None = None, out: Any = None
    ) -> np.ndarray:
        """h − Q: what must be applied to all velocities so that u̇ = 0, without constraints."""
        return self.inverse(q, u, self._no_force, t=t, parameters=parameters, out=out)

    def energy(self, q: Any, u: Any, *, t: Any = 0.0, parameters: dict[str, float] | None = None) -> Any:
        """Kinetic and potential energy (J)."""
        seen = self.observe(t, q, u, parameters)
        return seen.kinetic, seen.potential

    def mass_centre(self, q: Any, *, parameters: dict[str, float] | None = None) -> np.ndarray:
        """Centre of all mass (m), world axes."""
        return self._mass_centre_kernel(0.0, q, self._no_force, self.parameters(parameters))

    def point_jacobian(
        self, body: str, point: Any, q: Any, u: Any = None, *, parameters: dict[str, float] | None = None
    ) -> Any:
        """J(q) with the world velocity J u of a point of a body, and its rate J̇ for velocities u.

        Args:
            point: in the body's frame (m).
            u: velocities for the rate; zero if left out.

        Returns:
            fields ``jacobian`` and ``rate``, 3 × nv each (with a leading axis for a batch).
        """
        names = self.coordinates.bodies
        if body not in names:
            raise DalembertError(f"unknown body {body!r}; the model has {', '.join(names)}")
        if body not in self._jacobian_kernels:
            self._jacobian_kernels[body] = self._compile_jacobian(body)
        p = self.parameters(parameters)
        return self._jacobian_kernels[body](0.0, q, self._no_force if u is None else u, p, point)

    def acceleration_derivatives(
        self,
        q: Any,
        u: Any,
        tau: Any = None,
        *,
        t: Any = 0.0,
        parameters: dict[str, float] | None = None,
        out: Any = None,
    ) -> Any:
        """u̇ with ∂u̇/∂q, ∂u̇/∂u and ∂u̇/∂τ of a tree, at one state or a batch.

        Fields ``du``, ``ddu_dq``, ``ddu_du``, ``ddu_dtau``. Derivatives with respect to q are along the tangent: nv
        columns, also where q holds quaternions. ``out`` takes the result of a former call for its arrays.
        """
        given = self._no_force if tau is None else tau
        return self._derivatives("forward")(t, q, u, self.parameters(parameters), given, out=out)

    def inverse_derivatives(
        self, q: Any, u: Any, du: Any, *, t: Any = 0.0, parameters: dict[str, float] | None = None, out: Any = None
    ) -> Any:
        """∂τ/∂q, ∂τ/∂u and ∂τ/∂u̇ = M of ``inverse``: fields ``dtau_dq``, ``dtau_du``, ``dtau_ddu``."""
        return self._derivatives("inverse")(t, q, u, self.parameters(parameters), du, out=out)

    def _derivatives(self, which: Any) -> Any:
        from dalembert.dynamics.derivatives import derivative_kernel

        if which not in self._derivative_kernels:
            self._derivative_kernels[which] = derivative_kernel(self, which)
        return self._derivative_kernels[which]

    def bodies(
        self, q: Any, u: Any = None, *, t: Any = 0.0, parameters: dict[str, float] | None = None
    ) -> dict[str, Bodies]:
        """World pose and velocities of every body, at one state or a batch."""
        u = np.zeros(self.nv) if u is None else u
        seen = self.observe(t, q, u, parameters)
        names = self.coordinates.bodies
        pose, twist = np.asarray(seen.pose), np.asarray(seen.twist)
        found = {}
        for i, name in enumerate(names):
            X, V = pose[..., 12 * i : 12 * i + 12], twist[..., 6 * i : 6 * i + 6]
            rotation = X[..., :9].reshape(*X.shape[:-1], 3, 3)
            found[name] = Bodies(rotation, X[..., 9:], V[..., :3], V[..., 3:])
        return found

    def observe(self, t: Any, q: Any, u: Any, parameters: dict[str, float] | None = None) -> Any:
        """Poses, twists, energies, momentum, joint coordinates and outputs; one state or a batch."""
        rolled = self.rolled(parameters)
        if rolled is None:
            return self.observer(t, q, u, self.parameters(parameters))
        shape, rows = _in_rows(t, [_checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)])
        seen = rolled.observe(*rows)
        if self.flat.outputs:
            seen = seen._replace(outputs=self._output_kernel(*rows, self.parameters(parameters)))
        return seen._make(field.reshape(shape + field.shape[1:]) for field in seen)

    def residuals(self, t: Any, q: Any, u: Any, parameters: dict[str, float] | None = None) -> Any:
        """φ, A u + b, A and M; one state or a batch. Large models: A is sparse and of one state only, M is left out."""
        rolled = self.rolled(parameters)
        if rolled is None:
            return self.constraint_kernel(t, q, u, self.parameters(parameters))
        shape, rows = _in_rows(t, [_checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)])
        position, velocity = (part.reshape(*shape, -1) for part in rolled.residuals(*rows[1:]))
        return Residuals(position, velocity, None if shape else rolled.jacobian(rows[1][0]))

    def problem(
        self,
        parameters: dict[str, float] | None = None,
        needs: tuple[str, ...] = ("rhs", "retract"),
        start: tuple[float, np.ndarray] | None = None,
        active: np.ndarray | None = None,
    ) -> tuple[Problem, Context]:
        """What an integrator takes, and the context that watches over it.

        Args:
            needs: functions that the integrator calls (``Integrator.needs``).
            start: t and y where the run begins; implicit methods keep the constraint rows that are independent there.
            active: the rows to keep instead.
        """
        from dalembert.dynamics.problem import make_problem

        return make_problem(self, parameters, needs, start, active)


def compile(
    model: Model, *, formulation: str | Formulation = "auto", coordinates: str | Generalized = "auto"
) -> Dynamics:
    """The equations of motion of a model as machine code; kernels are made at their first use and cached on disk."""
    return Dynamics(model, formulation, coordinates)


def _owners(rows: list[Row], holonomic: bool) -> list[str]:
    return list(dict.fromkeys(row.owner for row in rows if row.holonomic == holonomic))


def _in_rows(t: Any, arrays: list[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The shape of a batch, and its times and states one after the other."""
    shape = np.broadcast_shapes(np.shape(t), *(array.shape[:-1] for array in arrays))
    times = np.broadcast_to(np.asarray(t, dtype=float), shape).reshape(-1)
    return shape, [times, *(np.broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, a.shape[-1]) for a in arrays)]


def _checked(name: str, values: Any, n: int, other: int) -> np.ndarray:
    """Contiguous floats with n entries in the last axis; a wrong length says what was probably meant."""
    array = np.ascontiguousarray(values, dtype=float)
    if array.ndim == 0 or array.shape[-1] != n:
        hint = " (that is the length of the other of q and u)" if array.ndim and array.shape[-1] == other else ""
        raise DalembertError(f"{name} must have {n} entries in its last axis, got shape {array.shape}{hint}")
    return array
