"""The compiled equations of motion of one model."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from dalembert.arguments import Answering, public
from dalembert.coordinates import CoordinateOptions
from dalembert.dynamics.choose import choose, is_rolled
from dalembert.dynamics.derivatives import Evaluated, constrained_derivatives, parameter_derivatives
from dalembert.dynamics.evaluate import ConstraintLanes, accelerations_along
from dalembert.dynamics.even_units import EvenUnits
from dalembert.dynamics.make_context import make_context, renew_context
from dalembert.dynamics.make_problem import Asked, make_problem
from dalembert.dynamics.mechanism_kernels import MechanismKernels
from dalembert.dynamics.recipe import Recipe
from dalembert.dynamics.rolled import Rolled
from dalembert.dynamics.rub import parameters_along
from dalembert.dynamics.shared_traces import SharedTraces
from dalembert.equations import Equations, Level
from dalembert.errors import DalembertError, InputError, ModelError, unknown
from dalembert.formulations import Formulation
from dalembert.integrators.base import Problem
from dalembert.model import Flat, Model, flatten, model_of
from dalembert.model.model import contents
from dalembert.numerics.alignment import alignment
from dalembert.numerics.context import Context
from dalembert.numerics.linear import ranked_factors
from dalembert.passed_on import PassedOn

__all__ = ["Dynamics", "compile"]


class Bodies(NamedTuple):
    """Where a body is and how it moves, in world axes; arrays have a leading axis for a batch."""

    rotation: np.ndarray
    position: np.ndarray
    angular_velocity: np.ndarray
    velocity: np.ndarray


class Alignment(NamedTuple):
    """How the direction of each velocity stands to the constraints, in the metric of M; both add up to 1.

    Attributes:
        normal: Δ_c, the share across the constraints: those with the largest are the best dependent ones.
        tangent: Δ_T, the share along them: those with the largest are the best independent ones.
    """

    normal: np.ndarray
    tangent: np.ndarray


class Residuals(NamedTuple):
    """What a large model leaves open."""

    position: np.ndarray
    velocity: np.ndarray
    jacobian: Any


Values = dict[str, float] | None  # of parameters, instead of those of the model
_SHARED = SharedTraces()


def _of_kernels(name: str) -> Any:
    """A property that gives what the kernel set has."""
    return property(attrgetter(f"kernels.{name}"), doc=getattr(MechanismKernels, name).__doc__)


_WORDS = {  # of other programs
    **dict.fromkeys(("M", "H", "crba", "inertia_matrix"), "mass_matrix(q)"),
    **dict.fromkeys(("aba", "forward_dynamics", "fd", "rhs"), "acceleration(q, u)"),
    **dict.fromkeys(("rnea", "inverse_dynamics", "id"), "inverse(q, u, du)"),
    **dict.fromkeys(("nle", "coriolis", "nonlinear_effects", "h"), "bias(q, u)"),
    **dict.fromkeys(("jacobian", "frame_jacobian", "body_jacobian", "J"), "point_jacobian(body, point, q)"),
    **dict.fromkeys(("forward_kinematics", "fk", "pose", "poses"), "bodies(q, u)"),
    "simulate": "da.simulate(equations, duration)", "linearize": "da.linearize(model)",
}  # fmt: skip


class Dynamics(Answering):
    """Equations of motion as machine code: state layout, accelerations, multipliers, residuals, energies.

    ``parameters`` of its calls are ``Values``: a dictionary of those that differ from the model's, by name, or None.

    Args:
        model: the mechanism.
        formulation, coordinates: see :func:`compile`, which is the usual way to make one.

    Attributes:
        nq, nv: lengths of q and u.
        q_names, u_names: what their entries are.
        recipe: coordinates and formulation with their options, and why these.
        rows: who imposes each constraint equation, holonomic ones first.
        holonomic: number of those at position level.
        kernels: the machine code, and the trace that it is made from.

    Example:
        dynamics = da.compile(da.library.double_pendulum())
        print(dynamics.q_names, dynamics.mass_matrix([0.3, -0.2]))
    """

    _words = _WORDS

    @public
    def __init__(
        self, model: Model, formulation: str | Formulation = "auto", coordinates: str | CoordinateOptions = "auto"
    ):
        model = model_of(model)
        data = contents(model)
        if not _SHARED.knows(data):
            model.validate()
        self.model = model = model.snapshot()
        self.flat: Flat = flatten(model)
        self.flat.refuse_fmus()
        self.coordinates, self.recipe = choose(self.flat, formulation, coordinates)
        self.formulation = self.recipe.formulation
        self.nq, self.nv = self.coordinates.nq, self.coordinates.nv
        self.q_names, self.u_names = self.coordinates.labels()
        self.kernels = MechanismKernels(self.coordinates, self.formulation)
        how = self.recipe.coordinates, self.kernels.n_branches, is_rolled(self.coordinates)
        self.kernels.made = _SHARED.of(data, *how)
        self.parameter_names, self.rows = self.kernels.parameter_names, self.kernels.rows
        self.holonomic = self.rows.holonomic
        self._no_force = np.zeros(self.nv)
        self._last = threading.local()
        self._check_support()
        self.formulation.check(self.coordinates)

    @classmethod
    @public
    def from_recipe(cls, model: Model, recipe: Recipe) -> Dynamics:
        """The equations that a recipe describes."""
        made = cls(model, recipe.formulation, recipe.coordinates)
        made.recipe = recipe
        return made

    reason = PassedOn[str]("recipe.reason", "Why this formulation and these coordinates.")

    def __reduce__(self) -> Any:
        # Machine code stays behind: the cache of objects gives it again.
        return _again, (self.model, self.recipe, self.held_ranks)

    def __repr__(self) -> str:
        return (
            f"<Dynamics of {self.model.name!r}: {self.formulation.name}, {self.coordinates.name} coordinates, "
            f"{self.nq} coordinates, {self.nv} velocities, {len(self.rows)} constraint equations>"
        )

    def _check_support(self) -> None:
        support = self.formulation.supports()
        refused: list[str] = []
        if self.coordinates.name not in support.coordinates:
            refused.append(f"{self.coordinates.name} coordinates")
        if self.holonomic and not support.closed_loops:
            refused.append(f"position constraints ({', '.join(self.rows.owners(Level.POSITION))})")
        if self.holonomic < len(self.rows) and not support.nonholonomic:
            refused.append(f"nonholonomic constraints ({', '.join(self.rows.owners(Level.VELOCITY))})")
        if self.coordinates.rheonomic and not support.rheonomic:
            refused.append("coordinates that are given functions of time")
        if refused:
            raise ModelError(
                f"formulation {self.formulation.name!r} cannot take {' and '.join(refused)}. "
                f"Fix: formulation='lagrange-multipliers'"
            )

    @cached_property
    def relative(self) -> Dynamics:
        """The same model in relative coordinates, in which assembly works: itself, or made once."""
        if self.coordinates.name == "relative":
            return self
        return Dynamics(self.model, "auto", "relative")

    # What the kernel set has, under the same names

    traced, symbols, tau, variables = map(_of_kernels, ("traced", "symbols", "tau", "variables"))
    even: EvenUnits = _of_kernels("even")
    dynamics_kernel, constraint_kernel, observer = map(
        _of_kernels, ("dynamics_kernel", "constraint_kernel", "observer")
    )

    def equations(self, tau: np.ndarray | None = None) -> Equations:
        """The equations over CasADi symbols anew; without forces other than those of the model unless τ is given."""
        return self.kernels.equations(tau)

    def rolled(self, parameters: Values = None) -> Rolled | None:
        """The rolled recursions of a large tree, or None; kept for the last parameters used."""
        return self.kernels.rolled(parameters)

    measurable = PassedOn[list[str]]("kernels.measurable", "Joints whose coordinates follow from the bodies' poses.")
    is_large = PassedOn[bool]("kernels.is_large", "True if this model runs by rolled recursions.")
    held_ranks = PassedOn[dict[bytes, tuple[int, int]]](
        "rows.held", "Rank of A and of its holonomic rows by parameters, where it is less than it looks (see ``Rows``)."
    )

    # Calls

    def index(self, name: str) -> int:
        """Where a velocity is in u, by its name in ``u_names``; of a joint with several, that of the first."""
        for known in (name, f"{name}[0]") if isinstance(name, str) else ():
            if known in self.u_names:
                return self.u_names.index(known)
        raise unknown("no velocity is called", name, self.u_names, "expected one of")

    def parameters(self, values: dict[str, float] | None = None) -> np.ndarray:
        """The parameter vector, with some values replaced."""
        return self.kernels.parameters(values)

    def acceleration(
        self, q: Any, u: Any, tau: Any = None, *, t: Any = 0.0, parameters: Values = None, out: Any = None
    ) -> np.ndarray:
        """u̇ at one state or at a batch of them (rows of q, u, tau).

        Args:
            tau: forces on all velocities, besides those of the model.
            out: array for the result.
        """
        kernels = self.kernels
        if kernels.evaluation == "explicit" and not (kernels.is_large or kernels.assumes):
            given = self._no_force if tau is None else tau
            if parameters is None and out is None and type(t) is float and t == 0.0:
                single = kernels.single_acceleration(q, u, given)
                if single is not None:
                    return single
            return kernels.acceleration_kernel(t, q, u, self.parameters(parameters), given, out=out)
        du, _ = self.solve(q, u, tau, t=t, parameters=parameters)
        return du if out is None else _into(out, du)

    def solve(
        self, q: Any, u: Any, tau: Any = None, *, t: Any = 0.0, parameters: Values = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """u̇ and the multipliers λ at one state or at a batch of them."""
        context = self.evaluation(parameters)
        q, u = _checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)
        forces = self._no_force if tau is None else _checked("tau", tau, self.nv, self.nq)
        shape, (times, q, u, forces) = _in_rows(t, [q, u, forces])
        states = np.concatenate([q, u, np.zeros((len(times), 1))], axis=1)
        du, multipliers = np.empty((len(times), self.nv)), np.zeros((len(times), len(self.rows)))
        done = accelerations_along(context, times, states, forces, du, multipliers)
        if done < len(times):
            raise DalembertError(f"state {done}: {context.failure()}" if shape else context.failure())
        return du.reshape(*shape, self.nv), multipliers.reshape(*shape, len(self.rows))

    def mass_matrix(self, q: Any, *, t: Any = 0.0, parameters: Values = None, out: Any = None) -> np.ndarray:
        """M(q), for one state or a batch; of t too where coordinates are given functions of time."""
        return self.kernels.mass_kernel(t, q, np.zeros(self.nv), self.parameters(parameters), out=out)

    def inverse(
        self, q: Any, u: Any, du: Any, *, t: Any = 0.0, parameters: Values = None, out: Any = None
    ) -> np.ndarray:
        """Forces on all velocities that produce u̇ of a tree:  τ = M u̇ + h − Q; one state or a batch.

        Mechanisms with constraints are refused: their joints share the load. ``da.inverse_dynamics`` takes them.
        """
        if self.rows:
            owners = ", ".join(self.rows.owners()[:4])
            raise DalembertError(
                f"inverse: {self.model.name!r} has constraints ({owners}), so the forces on its velocities are not "
                f"determined by u, u̇ alone.  Fix: da.inverse_dynamics(model, motion, duration, unknowns=[...]); or "
                f"kernels.inverse_kernel for M u̇ + h − Q of the open tree"
            )
        return self._unconstrained(q, u, du, t=t, parameters=parameters, out=out)

    def _unconstrained(
        self, q: Any, u: Any, du: Any, *, t: Any = 0.0, parameters: Values = None, out: Any = None
    ) -> np.ndarray:
        """M u̇ + h − Q, whatever constraints there are."""
        self.flat.refuse_feedback("inverse", outputs=False)
        rolled = self.kernels.rolled(parameters)
        if rolled is None:
            return self.kernels.inverse_kernel(t, q, u, self.parameters(parameters), du, out=out)
        given = (("q", q, self.nq, self.nv), ("u", u, self.nv, self.nq), ("du", du, self.nv, self.nq))
        shape, rows = _in_rows(t, [_checked(*entry) for entry in given])
        result = rolled.inverse_along(*rows).reshape(*shape, self.nv)
        return result if out is None else _into(out, result)

    def bias(self, q: Any, u: Any, *, t: Any = 0.0, parameters: Values = None, out: Any = None) -> np.ndarray:
        """h − Q: what must be applied to all velocities so that u̇ = 0, without constraints."""
        return self._unconstrained(q, u, self._no_force, t=t, parameters=parameters, out=out)

    def energy(self, q: Any, u: Any, *, t: Any = 0.0, parameters: Values = None) -> Any:
        """Kinetic and potential energy (J)."""
        seen = self.observe(t, q, u, parameters)
        return seen.kinetic, seen.potential

    def mass_center(self, q: Any, *, parameters: Values = None) -> np.ndarray:
        """Center of all mass (m), world axes."""
        return self.kernels.mass_center_kernel(0.0, q, self._no_force, self.parameters(parameters))

    mass_centre = mass_center  # its earlier name

    def point_jacobian(self, body: str, point: Any, q: Any, u: Any = None, *, parameters: Values = None) -> Any:
        """J(q) with the velocity J u of a point of a body in world axes, and its rate J̇ for velocities u.

        Args:
            point: of the body, in the body's own axes from its origin (m).
            u: velocities for the rate; zero if left out.

        Returns:
            fields ``jacobian`` and ``rate``, 3 × nv each (with a leading axis for a batch).
        """
        names = self.coordinates.bodies
        if not isinstance(body, str) or body not in names:
            raise DalembertError(f"unknown body {body!r}; the model has {', '.join(names)}")
        kernel, p = self.kernels.jacobian_kernel(body), self.parameters(parameters)
        return kernel(0.0, q, self._no_force if u is None else u, p, point)

    def acceleration_derivatives(
        self,
        q: Any,
        u: Any,
        tau: Any = None,
        *,
        t: Any = 0.0,
        parameters: Values = None,
        by: Sequence[str] = (),
        out: Any = None,
    ) -> Any:
        """u̇ with ∂u̇/∂q, ∂u̇/∂u, ∂u̇/∂τ and ∂u̇/∂p, at one state or a batch; exact, with loops and rolling too.

        Fields ``du``, ``ddu_dq``, ``ddu_du``, ``ddu_dtau`` and, for parameters, ``ddu_dp``. Derivatives with respect to
        q are along the tangent: nv columns, also where q holds quaternions. With constraints they are those of the
        equations as they stand, for changes of q, u and p in any direction that redundant rows allow;
        ``da.linearize`` gives those on the constraints.

        Args:
            by: names of parameters p, one column each in ``ddu_dp``; q and u are held.
            out: the result of a former call for its arrays, of trees and without ``by`` only.
        """
        self.flat.refuse_feedback("acceleration_derivatives", outputs=False)
        given, names = self._no_force if tau is None else tau, self._own_parameters(by)
        if out is not None and (self.rows or names):
            raise InputError("acceleration_derivatives: out is for trees, and without by.  Fix: leave it out")
        q, u = _checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)
        at = Evaluated(t, q, u, self.parameters(parameters), given)
        if self.rows:
            solved = self.solve(q, u, given, t=t, parameters=parameters)
            return constrained_derivatives(self.kernels, at, solved, names)
        found = self.kernels.derivative_kernel("forward")(*at, out=out)
        return parameter_derivatives(self.kernels, at, found, names) if names else found

    def _own_parameters(self, names: Any) -> tuple[str, ...]:
        """Parameters to differentiate by, one name for one."""
        several = hasattr(names, "__iter__") and not isinstance(names, str)
        asked, known = tuple(names) if several else (names,), self.flat.parameters
        unknown = [name for name in asked if not isinstance(name, str) or name not in known]
        if unknown:
            raise InputError(f"by: unknown parameter {unknown[0]!r}; the model has {', '.join(known) or 'none'}")
        return asked

    def inverse_derivatives(
        self, q: Any, u: Any, du: Any, *, t: Any = 0.0, parameters: Values = None, out: Any = None
    ) -> Any:
        """∂τ/∂q, ∂τ/∂u and ∂τ/∂u̇ = M of ``inverse``: fields ``dtau_dq``, ``dtau_du``, ``dtau_ddu``."""
        return self.kernels.derivative_kernel("inverse")(t, q, u, self.parameters(parameters), du, out=out)

    def bodies(self, q: Any, u: Any = None, *, t: Any = 0.0, parameters: Values = None) -> dict[str, Bodies]:
        """World pose and velocities of every body, at one state or a batch."""
        u = np.zeros(self.nv) if u is None else u
        seen = self.observe(t, q, u, parameters)
        names = self.coordinates.bodies
        pose, twist = np.asarray(seen.pose), np.asarray(seen.twist)
        found: dict[str, Bodies] = {}
        for i, name in enumerate(names):
            X, V = pose[..., 12 * i : 12 * i + 12], twist[..., 6 * i : 6 * i + 6]
            rotation = X[..., :9].reshape(*X.shape[:-1], 3, 3)
            found[name] = Bodies(rotation, X[..., 9:], V[..., :3], V[..., 3:])
        return found

    def observe(self, t: Any, q: Any, u: Any, parameters: Values = None) -> Any:
        """Poses, twists, energies, momentum, joint coordinates and outputs; one state or a batch."""
        rolled = self.kernels.rolled(parameters)
        if rolled is None:
            feedback = self.flat.feedback or self.flat.watched
            return self.kernels.observer(
                t, q, u, self.found(t, q, u, parameters) if feedback else self.parameters(parameters)
            )
        shape, rows = _in_rows(t, [_checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)])
        seen = rolled.observe(*rows)
        if self.flat.outputs:
            seen = seen._replace(outputs=self.kernels.output_kernel(*rows, self.parameters(parameters)))
        return seen._make(field.reshape(shape + field.shape[1:]) for field in seen)

    def found(self, t: Any, q: Any, u: Any, parameters: Values = None) -> np.ndarray:
        """The parameters at one state or a batch; with forces of friction, and with accelerations and reactions where
        formulas name them. NaN from where they cannot be found."""
        values = self.parameters(parameters)
        if not (self.kernels.assumes or self.flat.watched):
            return values
        shape, (times, *parts) = _in_rows(t, [_checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)])
        states = np.concatenate([*parts, np.zeros((len(times), 1))], axis=1)
        found, context = np.full((len(times), len(values)), np.nan), self.evaluation(parameters)
        context.tau[:] = 0.0
        parameters_along(context, times, states, found)
        return found.reshape(*shape, len(values))

    def residuals(self, t: Any, q: Any, u: Any, parameters: Values = None) -> Any:
        """φ, A u + b, A and M; one state or a batch. Large models: A is sparse and of one state only, M is left out."""
        rolled = self.kernels.rolled(parameters)
        if rolled is None:
            return self.kernels.constraint_kernel(t, q, u, self.parameters(parameters))
        shape, rows = _in_rows(t, [_checked("q", q, self.nq, self.nv), _checked("u", u, self.nv, self.nq)])
        position, velocity = (part.reshape(*shape, part.shape[-1]) for part in rolled.residuals(*rows[1:]))
        return Residuals(position, velocity, None if shape else rolled.jacobian(rows[1][0]))

    def alignment(self, q: Any, *, t: float = 0.0, parameters: Values = None) -> Alignment:
        """Δ_c and Δ_T of every velocity at a position, by which dependent and independent coordinates are chosen.

        Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
        Strojarstvo 51 (2009) 597-612, eqs. (67), (68).
        """
        if self.is_large:
            raise DalembertError("alignment: the matrices of large models are not formed")
        q = _checked("q", q, self.nq, self.nv)
        if q.ndim != 1:
            raise DalembertError(f"alignment is of one position, got {q.shape[0]}")
        A = np.ascontiguousarray(self.residuals(t, q, self._no_force, parameters).jacobian)
        rank, _, Q, _, _ = ranked_factors(A)
        normal = alignment(self.mass_matrix(q, t=t, parameters=parameters), Q, rank)
        return Alignment(normal, 1.0 - normal)

    def context(self, parameters: Values = None) -> Context:
        """The record that native code works on, for one run or some evaluations."""
        return make_context(self.kernels, parameters)

    def evaluation(self, parameters: Values) -> Context:
        """A context for single evaluations: that of the last one in this thread, unless something else is asked for, or
        a solver or the loops of a large model remember what they saw."""
        given = self.parameters(parameters)
        if not self.follows_switches and (self.flat.contacts or self.flat.frictions):
            self._refuse_closed(given)
        values = given.tobytes()
        key = (values, self.rows.held.get(values))
        if getattr(self._last, "key", None) != key or (self.kernels.is_large and self.rows):
            last: Context | None = getattr(self._last, "context", None)
            if last is None or not renew_context(self.kernels, last, given):
                self._last.context = self.context(parameters)
            self._last.key = key
        context: Context = self._last.context
        if context.solver is not None and context.solver.record is not context:
            self._last.key = self._last.context = None
        return context

    @property
    def constraint_lanes(self) -> ConstraintLanes | None:
        """The constraint equations of many states at a time, with memory of this thread; None if the kernel takes only
        one."""
        kernel = self.kernels.constraint_kernel
        lanes: ConstraintLanes | None = getattr(self._last, "lanes", None)
        if lanes is None and kernel.has_batch:
            lanes = self._last.lanes = ConstraintLanes(
                width=kernel.width, n_in=kernel.n_in, n_out=kernel.n_out, n_state=self.nq + self.nv,
                holonomic=self.holonomic, rows=len(self.rows), kernel=kernel,
            )  # fmt: skip
        return lanes

    @property
    def follows_switches(self) -> bool:
        """False for a formulation that cannot handle contacts or friction that close or stick during a run."""
        return self.kernels.variables is None and self.formulation.follows_switches

    def _refuse_closed(self, values: np.ndarray) -> None:
        """Raise if a contact is closed, or friction sticks, in a formulation that chose its variables without them."""
        switches = {name: self.flat.switches[name] for name in (*self.flat.contacts, *self.flat.frictions)}
        closed = [name for name, switch in switches.items() if values[self.parameter_names.index(switch)]]
        if closed:
            raise ModelError(
                f"formulation {self.formulation.name!r} uses variables of its own and cannot handle contacts or "
                f"friction that close or stick later ({', '.join(closed)}).  Fix: formulation='lagrange-multipliers'"
            )

    @public
    def problem(
        self,
        parameters: Values = None,
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
        return make_problem(self.kernels, Asked(parameters, needs, start, active))


@public
def compile(
    model: Model, *, formulation: str | Formulation = "auto", coordinates: str | CoordinateOptions = "auto"
) -> Dynamics:
    """The equations of motion of a model as machine code; kernels are made at their first use and cached on disk.

    Args:
        model: the mechanism.
        formulation: how the equations are formed: a name, or an object with its options; ``auto`` takes ``recursive``
            for trees without constraints and for large mechanisms, else ``lagrange-multipliers``.
        coordinates: a name, or ``da.Generalized`` or ``da.Natural`` with options; ``auto`` takes ``relative`` if the
            formulation does.

    Example:
        dynamics = da.compile(da.library.double_pendulum())
        du = dynamics.acceleration([0.3, -0.2], [0.0, 1.0])
    """
    return Dynamics(model, formulation, coordinates)


def _again(model: Model, recipe: Recipe, held_ranks: dict[bytes, tuple[int, int]]) -> Dynamics:
    """Equations that were pickled."""
    made = Dynamics.from_recipe(model, recipe)
    made.rows.held.update(held_ranks)
    return made


def _in_rows(t: Any, arrays: list[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The shape of a batch, and its times and states one after the other."""
    t = _times(t)
    shape = _batch(t.shape, *(array.shape[:-1] for array in arrays))
    count = math.prod(shape)
    rows = [np.broadcast_to(a, (*shape, a.shape[-1])).reshape(count, a.shape[-1]) for a in arrays]
    return shape, [np.ascontiguousarray(one) for one in (np.broadcast_to(t, shape).reshape(count), *rows)]


def _times(t: Any) -> np.ndarray:
    """One time, or those of a batch."""
    times = np.asarray(t)
    if times.dtype.kind not in "fiub":
        raise InputError(f"t must hold real numbers, got dtype {times.dtype}")
    return np.asarray(times, dtype=float)


def _batch(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a batch: that of all arguments together."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(
            f"t, q, u and forces must hold as many states, or one, got the shapes {', '.join(map(str, shapes))}"
        ) from None


def _into(out: Any, values: np.ndarray) -> Any:
    """Fill an array of the caller."""
    shape, kind = np.shape(out), getattr(out, "dtype", None)
    if shape != values.shape or kind != values.dtype:
        got = type(out).__name__ if kind is None else f"{kind} {shape}"
        raise InputError(f"out must be an array of doubles {values.shape}, got {got}.  Fix: np.empty({values.shape})")
    out[...] = values
    return out


def _checked(name: str, values: Any, n: int, other: int) -> np.ndarray:
    """Contiguous floats with n entries in the last axis; a wrong length says what was probably meant."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold real numbers, got dtype {array.dtype}")
    array = np.ascontiguousarray(array, dtype=float)
    if array.ndim == 0 or array.shape[-1] != n:
        hint = " (that is the length of the other of q and u)" if array.ndim and array.shape[-1] == other else ""
        raise InputError(f"{name} must have {n} entries in its last axis, got shape {array.shape}{hint}")
    return array
