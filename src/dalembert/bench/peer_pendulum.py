"""A chain of links in the plane for Exudyn, for SymPy and for us: the same numbers first, then times."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.integrators import INTEGRATORS
from dalembert.model import Model

__all__ = ["STEPS", "Pair", "against_exudyn", "against_sympy", "pendulum"]

LENGTH, MASS, INERTIA, GRAVITY = 0.5, 1.0, 0.02, 9.81
STEP, STEPS = 1e-3, 200

# What the peer does, what we do, and what both give.
Pair = tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]]


def pendulum(links: int) -> Model:
    """Links of one size, hung from each other, along x as drawn."""
    model = Model(f"pendulum of {links}", gravity=(0, -GRAVITY, 0))
    parent = "ground"
    for i in range(links):
        middle = ((i + 0.5) * LENGTH, 0, 0)
        model.body(f"b{i}", mass=MASS, com=middle, inertia=(INERTIA, INERTIA, INERTIA))
        model.revolute(f"j{i}", parent, f"b{i}", point=(i * LENGTH, 0, 0), axis="z")
        parent = f"b{i}"
    return model


def _start(links: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return 0.5 * rng.normal(size=links), rng.normal(size=links)


def against_exudyn(links: int) -> Pair:
    """Steps of the classical Runge-Kutta method, minimal coordinates on both sides."""
    exu: Any = import_module("exudyn")
    items: Any = import_module("exudyn.itemInterface")
    q, u = _start(links)
    container = exu.SystemContainer()
    system = container.AddSystem()
    node = system.AddNode(
        items.NodeGenericODE2(
            referenceCoordinates=[0.0] * links, initialCoordinates=list(q), initialCoordinates_t=list(u),
            numberOfODE2Coordinates=links,
        )
    )  # fmt: skip
    system.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node,
            gravity=[0, -GRAVITY, 0],
            jointTypes=[exu.JointType.RevoluteZ] * links,
            linkParents=[i - 1 for i in range(links)],
            jointTransformations=exu.Matrix3DList([np.eye(3)] * links),
            jointOffsets=exu.Vector3DList([[LENGTH if i else 0.0, 0, 0] for i in range(links)]),
            linkInertiasCOM=exu.Matrix3DList([INERTIA * np.eye(3)] * links),
            linkCOMs=exu.Vector3DList([[LENGTH / 2, 0, 0]] * links),
            linkMasses=[MASS] * links,
        )
    )
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = STEPS
    settings.timeIntegration.endTime = STEP * STEPS
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = 1e9

    def theirs() -> np.ndarray:
        system.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)
        return np.array(system.systemData.GetODE2Coordinates())

    dynamics = Dynamics(pendulum(links), "recursive", "relative")
    kind: Any = INTEGRATORS["rk4"]
    method, times = kind(step=STEP), np.array([0.0, STEP * STEPS])
    problem, _ = dynamics.problem()
    start = np.concatenate([q, u, [0.0]])

    def ours() -> np.ndarray:
        return method.run(problem, start, times).states[-1, :links]

    return theirs, ours


def against_sympy(links: int) -> Pair:
    """Accelerations at one state: Kane's equations of ``sympy.physics.mechanics`` as a NumPy function, with common
    subexpressions taken out, and a linear system solved by NumPy; ours by the recursive formulation."""
    sp: Any = import_module("sympy")
    me: Any = import_module("sympy.physics.mechanics")
    angles, speeds = me.dynamicsymbols(f"q:{links}"), me.dynamicsymbols(f"u:{links}")
    world, hung = me.ReferenceFrame("N"), me.Point("O")
    hung.set_vel(world, 0)
    frame, bodies, loads = world, list[Any](), list[Any]()
    for i, (q, u) in enumerate(zip(angles, speeds, strict=True)):
        turned = frame.orientnew(f"A{i}", "Axis", (q, frame.z))
        turned.set_ang_vel(frame, u * frame.z)
        center = hung.locatenew(f"C{i}", LENGTH / 2 * turned.x)
        center.v2pt_theory(hung, world, turned)
        inertia = me.inertia(turned, INERTIA, INERTIA, INERTIA)
        bodies.append(me.RigidBody(f"b{i}", center, turned, MASS, (inertia, center)))
        loads.append((center, -MASS * GRAVITY * world.y))
        end = hung.locatenew(f"P{i}", LENGTH * turned.x)
        end.v2pt_theory(hung, world, turned)
        frame, hung = turned, end
    rates = [u - q.diff() for q, u in zip(angles, speeds, strict=True)]
    method = me.KanesMethod(world, q_ind=angles, u_ind=speeds, kd_eqs=rates)
    method.kanes_equations(bodies, loads)
    equations = sp.lambdify([angles, speeds], [method.mass_matrix, method.forcing], modules="numpy", cse=True)
    q, u = _start(links)
    dynamics, none = Dynamics(pendulum(links), "recursive", "relative"), np.zeros(links)

    def theirs() -> np.ndarray:
        M, f = equations(q, u)
        return np.asarray(np.linalg.solve(M, f), dtype=float).reshape(-1)

    return theirs, lambda: dynamics.acceleration(q, u, none)
