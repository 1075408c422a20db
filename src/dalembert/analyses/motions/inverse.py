"""Inverse dynamics: the forces behind a prescribed motion.

    M u̇ + h − Q = B τ + Aᵀλ

with the motion given, the unknown forces τ (drives of joints, named forces, parameters that enter linearly) follow from
the balance along all directions in which the mechanism can move, the reactions from the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.assembly.prescribe import Given, Unknown, given_motion, unknowns_of
from dalembert.analyses.motions.allocate import Allocation, allocate
from dalembert.analyses.motions.inverse_result import Inverse, Solved
from dalembert.analyses.motions.prepare_motion import MotionOptions, PreparedMotion, beginning, instants, key_of
from dalembert.analyses.simulation.options import public_with
from dalembert.codegen import Kernel
from dalembert.dynamics import Dynamics
from dalembert.dynamics.cached import cached_for
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model, model_of
from dalembert.modular import Subsystem
from dalembert.planar import Planar
from dalembert.state import State
from dalembert.values import MAPPING, SEQUENCE, TUPLE, is_positive

__all__ = ["inverse_dynamics"]


@public_with(MotionOptions)
def inverse_dynamics(
    model: Model | Planar | Dynamics | Subsystem,
    motion: Mapping[Any, Any] | None = None,
    duration: float | Sequence[float] | np.ndarray | None = None,
    *,
    unknowns: Sequence[str] | Mapping[Any, Any] | None = None,
    weights: Mapping[str, float] | None = None,
    **options: Unpack[MotionOptions],
) -> Any:
    """The forces that a prescribed motion needs, and the reactions of all joints.

    Args:
        model: the mechanism: a tree or with loops, rolling, redundant constraints, friction in joints. Its drives are
            prescribed motion, too, unless ``motion`` names the same coordinate. Of a planar mechanism quantities such
            as ``"crank.angle"`` are prescribed, and its inputs are the unknowns. Or a ``da.Subsystem``, whose inputs
            are found.
        motion: quantities of the motion and their values over time. A quantity is a joint (``"A"``, ``"ball[1]"``), an
            output, a formula (``"x(slider)"``, also of velocities), or a point ``("body", (x, y, z))`` of a body as
            drawn, with three values. A value is a formula of t and parameters, samples over the whole duration, a pair
            (times, values), or ``da.Samples``; None leaves a component of several free.
        duration: how long (s); or the instants themselves.
        unknowns: joints that are driven, named forces, parameters that enter linearly; by default the joints whose
            coordinates are prescribed. A dictionary gives limits: ``{"A": (-5, 5), "B": 3, "C": None}``.
        weights: with more unknowns than freedoms those with the least Σ wᵢ τᵢ² are taken; 1 where nothing is said.
        initial: joint coordinates (or a state) to begin with: they decide about the branch.
        parameters: values to use instead of the model's.
        output_step: interval of the instants (s); default: a thousandth of the duration.

    Returns:
        the forces by name, the motion, reactions, power, and a certificate.

    Raises:
        DalembertError: the motion does not determine the mechanism, contradicts itself, cannot be reached, or runs into
            a singular position; the message says where and when.

    Example:
        inverse = da.inverse_dynamics(da.library.four_bar(), {"A": "2*pi*t"}, 1.0)
        torque = inverse["A"]  # N m, over time
    """
    times = instants(duration, options.get("output_step"))
    motion, parameters = dict(motion or {}), dict(options.get("parameters") or {})
    initial = beginning(options.get("initial"))
    if isinstance(model, Subsystem):
        from dalembert.analyses.motions.inverse_system import inverse_system

        if isinstance(initial, State):
            raise DalembertError("initial: a subsystem begins at values of its variables, e.g. initial={'theta': 0.3}")
        given: dict[str, Any] = {"unknowns": unknowns, "weights": weights or {}, "initial": initial or {}}
        return inverse_system(model, motion, times, parameters=parameters, **given)
    dynamics = model if isinstance(model, Dynamics) else None
    model = dynamics.model if dynamics is not None else model
    if isinstance(model, Planar):
        unknowns = list(model.inputs) if unknowns is None else unknowns
        model = model.prescribed_model(motion, unknowns)
    model = model_of(model)
    names: Any = unknowns
    names = tuple(names) if isinstance(names, (*MAPPING, *SEQUENCE)) else names
    asked = ("inverse", tuple(map(key_of, motion)), tuple(map(key_of, names)) if isinstance(names, TUPLE) else names)
    prepared = cached_for(model, asked, lambda: Prepared(model, motion, unknowns))
    return prepared.solve(times, motion, unknowns, weights or {}, initial, parameters)


class Prepared(PreparedMotion):
    """All that does not depend on values: the equations without drives, with unknowns as parameters."""

    def __init__(self, model: Model, motion: Mapping[Any, Any], unknowns: Any):
        self.unknowns: list[Unknown] = []
        super().__init__(model, motion, unknowns)
        self.at = [self.dynamics.parameter_names.index(one.parameter) for one in self.unknowns]
        _ = self.force_kernel

    def check_feedback(self) -> None:
        """Formulas may name reactions: they are found together with the unknowns."""

    def find_unknowns(self, given: list[Given], unknowns: Any) -> list[Unknown]:
        self.unknowns = unknowns_of(self.flat, given, unknowns)
        return self.unknowns

    @cached_property
    def force_kernel(self) -> Kernel:
        """r = M u̇ + h − Q without the unknowns, B of each unknown, A, the power of forces without potential, C of each
        friction."""
        k = self.dynamics.kernels
        e, du = k.equations(), CASADI.symbols("du", self.dynamics.nv)
        r = e.inverse(du[1])
        p = k.symbols["p"][1]
        outputs = {"r": r, "B": -CASADI.jacobian(r, p[self.at]), "A": k.traced.jacobian}
        self._check_linear(outputs["B"])
        if self.contacts.frictions:
            outputs["C"] = -CASADI.jacobian(r, p[self.contacts.columns])
        return k.compile("forces", {**outputs, "power": e.power()}, du=du)

    def _check_linear(self, B: np.ndarray) -> None:
        """Unknowns enter linearly, and do not move the mechanism."""
        import casadi as ca

        k = self.dynamics.kernels
        p, forces, closure = k.symbols["p"][0], CASADI.to_sx(B), CASADI.to_sx(k.traced.position_residual())
        for i, one in zip(self.at, self.unknowns, strict=True):
            if ca.depends_on(closure, p[i]):
                raise DalembertError(f"unknown {one.name!r} is a length or an angle of the mechanism, not a force")
            if ca.depends_on(forces, p[i]):
                raise DalembertError(
                    f"unknown {one.name!r} does not enter the equations linearly.  Fix: name a force, or a parameter "
                    f"that multiplies one"
                )

    def solve(
        self, times: np.ndarray, motion: Mapping[Any, Any], unknowns: Any, weights: Mapping[str, float], initial: Any,
        parameters: dict[str, float],
    ) -> Inverse:  # fmt: skip
        """Motion, forces and what is left over."""
        d, given = self.dynamics, given_motion(self.flat, motion)
        self.unknowns = unknowns_of(self.flat, given, unknowns)
        signals = self.signals(given, (times[0], times[-1]))
        followed = self.follower.follow(times, signals, initial, parameters, [one.joint for one in given])
        nothing = {**parameters, **{one.parameter: 0.0 for one in self.unknowns}}
        preferred, balance = (_weights(self.unknowns, weights), _limits(self.unknowns)), dict[str, Any]()

        def found_with(values: np.ndarray) -> Allocation:
            seen = self.force_kernel(times, followed.q, followed.u, values, followed.du)
            A = np.ascontiguousarray(np.asarray(seen.A).reshape(len(times), -1, d.nv))
            found = allocate(A, np.asarray(seen.r), np.ascontiguousarray(seen.B), *preferred)
            values[:, self.at] = found.tau
            balance.update(seen._asdict())
            return found

        found, values, rubbed = self.contacts.settle(times, followed, d.parameters(nothing), found_with)
        checks = self.contacts.checks(times, followed, nothing, forces=True)
        B, power = np.ascontiguousarray(balance["B"]), np.asarray(balance["power"]).reshape(-1)
        pushed = B @ found.tau[:, :, None]
        if rubbed is not None:
            pushed = pushed + np.asarray(balance["C"]).reshape(len(times), d.nv, -1) @ rubbed.forces[:, :, None]
        return Inverse(
            self.model, d, self.unknowns,
            Solved(times, followed, found, B, power, nothing, values, pushed[:, :, 0], rubbed, checks),
        )  # fmt: skip


def _weights(unknowns: list[Unknown], weights: Mapping[str, float]) -> np.ndarray:
    names = [one.name for one in unknowns]
    for name, value in weights.items():
        if name not in names:
            raise unknown("weights: unknown", name, names, "the unknowns are")
        if not is_positive(value):
            raise DalembertError(f"weights: {name!r} must be a positive number, got {value!r}")
    return np.array([float(weights.get(name, 1.0)) for name in names])


def _limits(unknowns: list[Unknown]) -> np.ndarray:
    free = (-np.inf, np.inf)
    return np.array([one.limits or free for one in unknowns], dtype=float).reshape(-1, 2)
