"""The canonical block equations of a mechanism at one instant, in any algebra.

    q̇ = W(t,q) u + X(t,q)          M(t,q) u̇ + h(t,q,u) = Q + Aᵀλ
    φ(t,q) = 0                      A(t,q) u + b(t,q) = 0     (holonomic, differentiated, and nonholonomic)
    A u̇ + γ(t,q,u) = 0

Everything a formulation needs is a method here; constraints give φ only, their derivatives come from jets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import Jets
from dalembert.constraints import Constraint
from dalembert.coordinates import Kinematics, TreeKinematics
from dalembert.coordinates.moving import TreeMotion, moving, still
from dalembert.elements import Load
from dalembert.equations.block_equations import BlockEquations, Level, Row
from dalembert.equations.cut_rotors import CutRotors
from dalembert.errors import ModelError
from dalembert.joints import Joint
from dalembert.model.data import ContactEvent, Event, FrictionEvent
from dalembert.spatial.so3 import cross
from dalembert.tree.recursions import Eliminated, articulated, forward_dynamics, gravity_base, response

__all__ = ["Equations", "Reactions", "mechanism_of", "not_a_mechanism", "part_of", "residuals"]

# The value of an event that cannot happen now: it never passes through zero, and is no size to compare others with.
ASLEEP = 1e-200

# What slips has come to a halt where it goes the other way by this (m/s or rad/s): what just broke loose has not.
HALT = 1e-12


class Equations:
    """One mechanism at (t, q, u); these are ``BlockEquations``.

    Args:
        tree: coordinates placed in an algebra.
        t, q, u: time, coordinates, velocities, as scalars and arrays of that algebra.
        tau: forces on all velocities, besides those of the model.
    """

    def __init__(self, tree: Kinematics, t: Any, q: np.ndarray, u: np.ndarray, tau: np.ndarray | None = None):
        self.tree, self.al = tree.at(t), tree.al
        self.t, self.q, self.u = t, q, u
        self.flat = tree.coordinates.flat
        self.nv = tree.coordinates.nv
        self.tau = self.al.zeros(self.nv) if tau is None else tau

    # Kinematics

    @cached_property
    def states(self) -> list[Any]:
        """All bodies for u̇ = 0, gravity left out."""
        return self.tree.states(self.q, self.u)

    @cached_property
    def motion(self) -> TreeMotion:
        return still(self.tree, self.t, self.q, self.u, self.states)

    def qdot(self) -> np.ndarray:
        """q̇ of the coordinates, the rates of states, and those of the angles that windings follow."""
        return self._rates(self.state_rates())

    def tangent(self) -> np.ndarray:
        """q̇ where states stay: linear in u, if no motion is given as a function of time."""
        return self._rates(self.al.zeros(len(self.flat.states)))

    def _rates(self, of_states: np.ndarray) -> np.ndarray:
        parts = [self.tree.qdot(self.q, self.u), of_states]
        windings = self.tree.coordinates.windings
        if windings:
            al, jets = Jets(self.al), moving(self.tree, self.t, self.q, self.u, self.al.zeros(self.nv), self.states)
            parts.append(self.al.array([al.parts(jets.joint(w.joint)[0][w.index])[1].item() for w in windings]))
        return self.al.concatenate(parts)

    def state_rates(self) -> np.ndarray:
        """Rates of the model's own states."""
        states = self.flat.states.values()
        return self.al.array([self.motion.within(scope).evaluate(state.rate) for state, scope in states])

    # Constraints

    @cached_property
    def rows(self) -> list[Row]:
        """Who imposes each constraint equation."""
        return [row for _, row in self._residuals]

    @cached_property
    def _residuals(self) -> list[tuple[Any, Row]]:
        """Values of all constraint residuals."""
        return residuals(self.motion) if self._constrained else []

    @property
    def _constrained(self) -> bool:
        return self.tree.coordinates.has_constraints

    def position_residual(self) -> np.ndarray:
        """φ(t, q)."""
        return self.al.array([value for value, row in self._residuals if row.holonomic])

    def _moving(self, u: np.ndarray, du: np.ndarray) -> list[tuple[Any, Row]]:
        """Residuals as jets along the motion with velocities u and rates du."""
        return residuals(moving(self.tree, self.t, self.q, u, du, self.tree.states(self.q, u, du)))

    @cached_property
    def _unaccelerated(self) -> list[tuple[Any, Row]]:
        """Residuals as jets for u̇ = 0."""
        return self._moving(self.u, self.al.zeros(self.nv))

    def velocity_residual(self, u: np.ndarray | None = None) -> np.ndarray:
        """A u + b:  φ̇ for holonomic rows, ψ for nonholonomic ones."""
        found = self._unaccelerated if u is None else self._moving(u, self.al.zeros(self.nv))
        return self.al.array([part_of(value, "v" if row.holonomic else "x") for value, row in found])

    def acceleration_residual(self, du: np.ndarray) -> np.ndarray:
        """A u̇ + γ."""
        return self._accelerations(self._moving(self.u, du))

    def _accelerations(self, found: list[tuple[Any, Row]]) -> np.ndarray:
        """Second derivatives of holonomic residuals, first ones of nonholonomic ones."""
        return self.al.array([part_of(value, "a" if row.holonomic else "v") for value, row in found])

    def acceleration_by_bodies(self) -> tuple[np.ndarray, np.ndarray]:
        """J and c of  A u̇ + γ = J x + c,  x the rates of all twists V_L in link axes, one after the other, then u̇.

        Bodies and tree coordinates count as if they were free of each other.
        """
        al, n = self.al, 6 * len(self.tree.links)

        def residual(x: np.ndarray) -> np.ndarray:
            states = [replace(s, A_L=x[6 * i : 6 * i + 6]) for i, s in enumerate(self.states)]
            return self._accelerations(residuals(moving(self.tree, self.t, self.q, self.u, x[n:], states)))

        c = residual(al.zeros(n + self.nv))
        if not len(c):
            return al.zeros(0, n + self.nv), c
        return al.columns(lambda x: residual(x) - c, n + self.nv), c

    @cached_property
    def velocity_bias(self) -> np.ndarray:
        """b(t, q), which vanishes for constraints without time."""
        if not self._constrained:
            return self.al.zeros(0)
        return self.velocity_residual(self.al.zeros(self.nv))

    @cached_property
    def gamma(self) -> np.ndarray:
        """γ(t, q, u)."""
        if not self._constrained:
            return self.al.zeros(0)
        return self._accelerations(self._unaccelerated)

    @cached_property
    def jacobian(self) -> np.ndarray:
        """A(t, q): what the residual of velocities, which is linear in them, gains with each."""
        b = self.velocity_bias
        if not len(b):
            return self.al.zeros(0, self.nv)
        return self.al.columns(lambda u: self.velocity_residual(u) - b, self.nv)

    # Forces

    @cached_property
    def load(self) -> Load:
        load = Load()
        for force, scope in self.flat.forces.values():
            force.loads(self.motion.within(scope), load)
        for name in self.flat.frictions:
            friction, scope = self.flat.constraints[name]
            friction.load(self.motion.within(scope), load, self.tree.mechanism.parameters[f"{name}.force"])
        return load

    def applied(self, only_work: bool = False, load: Load | None = None) -> tuple[list[np.ndarray], np.ndarray]:
        """Wrenches on links and forces on tree velocities; ``only_work`` leaves conservative ones out.

        They are those of the model unless another load is given.
        """
        al, tree, load = self.al, self.tree, self.load if load is None else load
        wrenches = [al.zeros(6) for _ in tree.links]
        tau = self.tau.copy()

        def add(body: str, wrench: np.ndarray) -> None:
            if body != "ground":
                i = tree.index[body]
                wrenches[i] = wrenches[i] + tree.links[i].X_LB.force(wrench)

        for body, wrench, conservative in load.wrenches:
            if not (conservative and only_work):
                add(body, wrench)
        for joint, force, conservative in load.joint_forces:
            if conservative and only_work:
                continue
            slot = tree.coordinates.slot_of_joint.get(joint)
            if slot is not None:
                tau[slot.u] = tau[slot.u] + force
                continue
            placed = tree.mechanism.joint(joint)
            X, _ = self.motion.relative(placed)
            F = placed.joint.wrench(al, placed.joint.coordinates(al, X), force)
            add(placed.second, placed.X_2S.force(F))
            add(placed.first, -placed.X_1P.force(X.force(F)))
        return wrenches, tau

    def work_forces(self) -> np.ndarray:
        """Forces on all velocities that have no potential."""
        wrenches, tau = self.applied(only_work=True)
        return tau + self.tree.generalized_forces(self.states, wrenches)

    def forces_of(self, load: Load) -> np.ndarray:
        """Forces on all velocities of a load instead of the model's own."""
        wrenches, tau = self.applied(load=load)
        return tau - self.tau + self.tree.generalized_forces(self.states, wrenches)

    def active_forces(self) -> np.ndarray:
        """All forces on velocities, those of gravity and of potentials among them."""
        wrenches, tau = self.applied()
        g = self.tree.mechanism.gravity
        for i, (link, state) in enumerate(zip(self.tree.links, self.states, strict=True)):
            pull = state.X_WL.R.T @ g
            weight = self.al.concatenate([cross(link.inertia.h, pull), link.inertia.mass * pull])
            wrenches[i] = wrenches[i] + weight
        return tau + self.tree.generalized_forces(self.states, wrenches)

    @cached_property
    def gravity(self) -> np.ndarray:
        return gravity_base(self.al, self.tree.mechanism.gravity)

    @cached_property
    def forcing(self) -> np.ndarray:
        """f = Q − h, the right-hand side of M u̇ = f + Aᵀλ."""
        wrenches, tau = self.applied()
        states = self.tree.states(self.q, self.u, base=self.gravity)
        return tau - self.tree.inverse_dynamics(states, wrenches) - self.cut_rotors.forces(None)

    @cached_property
    def momentum_rate(self) -> np.ndarray:
        """∂L/∂q + Q: what changes the momenta p = M u besides constraints; found without M."""
        if self.tree.coordinates.rheonomic:
            # M q̇ is then only a part of the momenta.
            return self.along(self.mass_matrix) @ self.u + self.forcing
        wrenches, tau = self.applied()
        rate = tau + self.tree.momentum_rates(self.states, self.q, self.u, wrenches)
        return self.cut_rotors.momentum_rate(rate)

    def along(self, values: np.ndarray) -> np.ndarray:
        """The time derivative of functions of t and q along the motion; over algebras with symbols."""
        symbols = self.al.concatenate([self.al.vector([self.t]), self.q])
        return self.al.rate(values, symbols, self.al.concatenate([self.al.eye(1)[0], self.qdot()]))

    def inverse(self, du: np.ndarray) -> np.ndarray:
        """Forces on all velocities that produce u̇ without constraints:  τ = M u̇ + h − Q."""
        wrenches, tau = self.applied()
        states = self.tree.states(self.q, self.u, du, self.gravity)
        return self.tree.inverse_dynamics(states, wrenches) - tau + self.cut_rotors.forces(du)

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        return self.cut_rotors.added_to(self.tree.mass_matrix(self.states))

    @cached_property
    def cut_rotors(self) -> CutRotors:
        """Armatures of joints outside the tree."""
        return CutRotors(self)

    def rotors(self) -> list[tuple[Joint, Any, np.ndarray]]:
        """Joints with an armature, the armature, and the joint's velocities."""
        found: list[tuple[Joint, Any, np.ndarray]] = []
        for name in self.flat.joints:
            a, slot = self.tree.mechanism.armature(name), self.tree.coordinates.slot_of_joint.get(name)
            if a is not None:
                placed = self.tree.mechanism.joint(name).joint if slot is None else self.tree.coordinates.joint_at(slot)
                found.append((placed, a, self.motion.joint(name)[1]))
        return found

    @property
    def _branches(self) -> TreeKinematics:
        """The tree of joints, for elimination along its branches."""
        assert isinstance(self.tree, TreeKinematics), f"{self.tree.coordinates.name} coordinates have no tree of joints"
        return self.tree

    def free_acceleration(self) -> np.ndarray:
        """u̇ of the tree without constraints, by articulated bodies."""
        wrenches, tau = self.applied()
        return forward_dynamics(self._branches, self.q, self.u, tau, wrenches, self.gravity)

    @cached_property
    def eliminated(self) -> list[Eliminated]:
        """All tree joints eliminated, from the tips to the ground."""
        wrenches, tau = self.applied()
        return articulated(self._branches, self.states, tau, wrenches)

    def responses(self, forces: np.ndarray) -> np.ndarray:
        """M⁻¹ Qᵀ for rows of Q, by articulated bodies, without armatures of cut joints (see ``CutRotors.rows``)."""
        columns = [response(self._branches, self.states, self.eliminated, Q) for Q in forces]
        return np.stack(columns, axis=1) if columns else self.al.zeros(self.nv, 0)

    # Energy and momentum

    def kinetic_energy(self) -> Any:
        """Of all bodies, and ½ a uᵀu of armatures."""
        return self.cut_rotors.kinetic_energy(self.tree.kinetic_energy(self.states, self.u))

    def potential_energy(self) -> Any:
        """Of gravity and of all conservative forces."""
        g = self.tree.mechanism.gravity
        energy = self.al.constant(0)
        for link, state in zip(self.tree.links, self.states, strict=True):
            energy = energy - g @ (link.inertia.mass * state.X_WL.p + state.X_WL.R @ link.inertia.h)
        for force, scope in self.flat.forces.values():
            energy = energy + force.energy(self.motion.within(scope))
        return energy

    def power(self) -> Any:
        """Power of the forces that have no potential (W).

        If coordinates are given functions of time, what changes T₂ − T₀ + V:  q̇ᵀQ − ∂L/∂t;  see ``carried``.
        """
        if self.tree.coordinates.rheonomic:
            return self.u @ self.work_forces() - self._explicit_rate()
        wrenches, tau = self.applied(only_work=True)
        power = tau @ self.u if self.nv else self.al.constant(0)
        for wrench, state in zip(wrenches, self.states, strict=True):
            power = power + wrench @ state.V_L
        return power

    def _explicit_rate(self) -> Any:
        """∂L/∂t where q and q̇ do not change; over algebras with symbols."""
        instant = self.al.variables(["instant"])
        other = Equations(self.tree, instant[0], self.q, self.u)
        L = self.al.vector([other.kinetic_energy() - other.potential_energy()])
        slope = self.al.jacobian(L, instant)[0]
        return self.al.substitute(slope, instant, self.al.vector([self.t]))[0]

    def carried(self) -> Any:
        """T₁ + 2 T₀, the energy beside T₂ − T₀ that motion has which is a given function of time; with symbols."""
        T = self.kinetic_energy()
        return 2 * T - self.u @ self.al.gradient(T, self.u)

    def momentum(self) -> np.ndarray:
        """Angular (about the world origin) and linear momentum in world axes."""
        total = self.al.zeros(6)
        for link, state in zip(self.tree.links, self.states, strict=True):
            total = total + state.X_WL.force(link.inertia.apply(state.V_L))
        return total

    def mass_center(self) -> np.ndarray:
        """Center of all mass; undefined without mass."""
        mass, moment = self.al.constant(0), self.al.zeros(3)
        for link, state in zip(self.tree.links, self.states, strict=True):
            mass = mass + link.inertia.mass
            moment = moment + link.inertia.mass * state.X_WL.p + state.X_WL.R @ link.inertia.h
        return moment / mass

    def outputs(self) -> np.ndarray:
        """The model's outputs."""
        return self.al.array(
            [self.motion.within(scope).evaluate(output.formula) for output, scope in self.flat.outputs.values()]
        )

    def joint_coordinates(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of any joint of the model."""
        return self.motion.joint(name)

    # Events

    def events(self) -> np.ndarray:
        """Values that rise through zero where an event happens: one for each way in which its formula may pass; then
        functions whose signs choose branches of formulas."""
        values: list[Any] = []
        for event, scope in self.flat.events.values():
            value = _passing(self.motion.within(scope), event)
            values += [sign * value for sign in event.signs]
        values += [self.motion.evaluate(switch) for switch in self.motion.chosen]
        return self.al.array(values)

    def imposed(self) -> tuple[list[Any], list[Any], list[Any]]:
        """What constraints with branches leave: of positions, of velocities; and coordinates with their rates, one
        after the other, that follow from such."""
        flat, gone = self.flat, self.tree.coordinates.eliminated
        own = [row.owner in flat.branching and not row.rigid for row in self.rows]
        places = [value for value, row in self._residuals if row.holonomic and row.owner in flat.branching]
        speeds = [value for value, mine in zip(self.velocity_residual(), own, strict=True) if mine]
        given = [pair[:2] for name in flat.branching if name in gone for pair in flat.constraints[name][0].gives()]
        return places, speeds, [part[i] for joint, i in given for part in self.motion.joint(joint)]

    def event_values(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """New parameters and new velocities of each event, in the order of its ``set`` and its ``rates``."""
        found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for name, (event, scope) in self.flat.events.items():
            motion = self.motion.within(scope)
            parameters, rates = ([motion.evaluate(f) for f in part.values()] for part in (event.set, event.rates))
            found[name] = (self.al.array(parameters), self.al.array(rates))
        return found

    # Reactions

    def reactions(self, du: np.ndarray, multipliers: np.ndarray) -> dict[str, np.ndarray]:
        """Wrench of each joint on its second body: world axes, about the joint's point (n, f)."""
        from dalembert.equations.reactions import REACTIONS

        return REACTIONS[type(self.tree)](self, du, multipliers)


class Reactions:
    """The forces of joints and constraints, as friction asks for them."""

    def __init__(self, equations: Equations, du: np.ndarray, multipliers: np.ndarray):
        self.equations, self.du, self.multipliers = equations, du, multipliers

    @cached_property
    def wrenches(self) -> dict[str, np.ndarray]:
        return self.equations.reactions(self.du, self.multipliers)

    def wrench(self, joint: str) -> np.ndarray:
        e = self.equations
        placed = e.tree.mechanism.joint(joint)
        R, wrench = (e.motion.body(placed.first)[0] @ placed.X_1P).R, self.wrenches[joint]
        return e.al.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])

    def multiplier(self, constraint: str) -> Any:
        rows = zip(self.multipliers, self.equations.rows, strict=True)
        found = next((m for m, row in rows if row.owner == constraint), None)
        if found is None:
            raise ModelError(
                f"constraint {constraint!r} is not solved for in {self.equations.tree.coordinates.name} coordinates, "
                f"so its force has no value.  Fix: coordinates='relative'"
            )
        return found


def mechanism_of(equations: BlockEquations, formulation: str) -> Equations:
    """The equations of a mechanism, for a formulation that looks at its bodies and joints."""
    if not isinstance(equations, Equations):
        raise not_a_mechanism(formulation)
    return equations


def not_a_mechanism(formulation: str) -> ModelError:
    """What a formulation says that looks at bodies and joints where there are only block equations."""
    return ModelError(
        f"formulation {formulation!r} is for mechanisms of bodies and joints.  Fix: one that takes the equations as "
        f"they are, such as 'lagrange-multipliers'"
    )


def part_of(value: Any, part: str) -> Any:
    """One part of a jet; a plain scalar is constant."""
    return getattr(value, part, value if part == "x" else 0.0)


def residuals(motion: TreeMotion) -> list[tuple[Any, Row]]:
    """All constraint residuals of a motion: rigid bodies, cut joints, constraints, then nonholonomic equations."""
    tree = motion.tree
    found = [
        (value, Row(owner, i, Level.POSITION, rigid=True))
        for owner, values in motion.rigid()
        for i, value in enumerate(values)
    ]
    for name in tree.coordinates.cut:
        placed = tree.mechanism.joint(name)
        X, _ = motion.relative(placed)
        q = motion.joint(name)[0] if placed.joint.measured else None
        values = placed.joint.position(motion.al, X, q) if tree.coordinates.kept(name) else []
        found += [(values[i], Row(name, i, Level.POSITION)) for i in tree.coordinates.kept(name)]
    constraints = tree.coordinates.flat.constraints.items()
    imposed = [(name, *given) for name, given in constraints if name not in tree.coordinates.eliminated]
    for name, constraint, scope in imposed:
        values = _switched(motion, constraint, constraint.position(motion.within(scope)))
        found += [(value, Row(name, i, Level.POSITION)) for i, value in enumerate(values)]
    for name in tree.coordinates.flat.joints:
        placed = tree.mechanism.joint(name)
        if placed.joint.nonholonomic:
            X, V = motion.relative(placed)
            start = len([row for _, row in found if row.owner == name and not row.rigid])
            values = placed.joint.velocity(motion.al, X, V)
            found += [(value, Row(name, start + i, Level.VELOCITY)) for i, value in enumerate(values)]
    for name, constraint, scope in imposed:
        values = _switched(motion, constraint, constraint.velocity(motion.within(scope)))
        found += [(value, Row(name, i, Level.VELOCITY)) for i, value in enumerate(values)]
    return found


def _switched(motion: TreeMotion, constraint: Constraint, values: list[Any]) -> list[Any]:
    """Residuals of a constraint; those of one that is off are zero."""
    switch = motion.tree.coordinates.flat.switches.get(constraint.name)
    return values if switch is None else constraint.switched(values, motion.tree.mechanism.parameters[switch])


def _passing(motion: TreeMotion, event: Event) -> Any:
    """What passes through zero where an event happens: of a contact its gap while it is open; native code knows the
    multiplier that ends it."""
    flat, values = motion.tree.coordinates.flat, motion.tree.mechanism.parameters
    if isinstance(event, FrictionEvent):
        friction, scope = flat.constraints[event.friction]
        side, on = values[f"{event.friction}.slip"], values[flat.switches[event.friction]]
        # Native code knows what it takes to break loose.
        return (
            (side * friction.passing(motion.within(scope)) + HALT) * (1 - on) + on * ASLEEP
            if event.sticks
            else motion.al.constant(ASLEEP)
        )
    if not isinstance(event, ContactEvent):
        return motion.evaluate(event.when)
    if event.side < 0:
        return motion.al.constant(ASLEEP)
    contact, scope = flat.constraints[event.contact]
    gap = contact.gaps(motion.within(scope))[event.side]
    is_open = contact.is_open(values[flat.switches[event.contact]])
    return gap * is_open + (1 - is_open) * ASLEEP
