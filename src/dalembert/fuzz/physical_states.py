"""Physical states: bodies' poses and twists, the same for all coordinates; and how to make consistent ones."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.coordinates import Coordinates
from dalembert.dynamics import Dynamics
from dalembert.equations import Equations
from dalembert.errors import DalembertError
from dalembert.fuzz.random_models import UNIT, Size
from dalembert.spatial import Pose, so3

__all__ = [
    "accelerations_in_world", "body_motion", "consistent_state", "equations_at",
    "reference_coordinates", "transfer", "velocity_sizes",
]  # fmt: skip


class _PlainEquations(Equations):
    """In floats A is what accelerations change beside γ: these must be of its size, or A drowns in its rounding."""

    accelerations: np.ndarray

    @cached_property
    def jacobian(self) -> np.ndarray:
        gamma, units = self.gamma, self.accelerations
        if not len(gamma):
            return np.zeros((0, self.nv))
        return self.al.columns(lambda du: self.acceleration_residual(units * du) - gamma, self.nv) / units


def equations_at(
    coordinates: Coordinates,
    t: float,
    q: np.ndarray,
    u: np.ndarray,
    parameters: dict[str, float] | None = None,
    size: Size = UNIT,
) -> Equations:
    """The canonical equations in floats."""
    placed = coordinates.place(NUMPY, {**coordinates.flat.parameters, **(parameters or {})})
    found = _PlainEquations(placed, t, q, u)
    found.accelerations = velocity_sizes(coordinates, q, size.length) / size.time**2
    return found


def reference_coordinates(coordinates: Coordinates) -> np.ndarray:
    """q of the reference configuration: the poses as drawn."""
    return coordinates.drawn()


def transfer(
    coordinates: Coordinates,
    poses: dict[str, Pose],
    twists: dict[str, np.ndarray],
    windings: dict[tuple[str, int], float] | None = None,
    states: dict[str, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Bodies' poses and twists (body axes) as q and u of some coordinates.

    ``windings`` gives the unwound angles of joints by (joint, index), where they are known; ``states`` the values of
    the model's own states.
    """
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    mechanism = tree.mechanism

    def measure(name: str) -> tuple[np.ndarray, np.ndarray]:
        placed = mechanism.joint(name)
        X = (poses[placed.first] @ placed.X_1P).inverse() @ (poses[placed.second] @ placed.X_2S)
        V = placed.X_2S.motion_inverse(twists[placed.second]) - X.motion_inverse(
            placed.X_1P.motion_inverse(twists[placed.first])
        )
        found = placed.joint.coordinates(NUMPY, X)
        return found, placed.joint.rates(NUMPY, found, V)

    def move(name: str) -> tuple[Pose, np.ndarray]:
        return poses[name], twists[name]

    q, u = tree.state(move, measure)
    for winding in coordinates.windings:
        known = (windings or {}).get((winding.joint, winding.index))
        q[winding.q] = q[winding.q] if known is None else known
    for name, place in coordinates.own_states.items():
        q[place] = (states or {}).get(name, q[place])
    return q, u


def body_motion(
    coordinates: Coordinates, q: np.ndarray, u: np.ndarray, t: float = 0.0
) -> tuple[dict[str, Pose], dict[str, np.ndarray]]:
    """World poses and twists (body axes) of all bodies."""
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters)).at(t)
    poses, twists = {"ground": Pose.identity(NUMPY)}, {"ground": np.zeros(6)}
    for link, state in zip(tree.links, tree.states(q, u), strict=True):
        poses[link.body], twists[link.body] = state.X_WB, state.V
    return poses, twists


def accelerations_in_world(
    coordinates: Coordinates, q: np.ndarray, u: np.ndarray, du: np.ndarray, t: float = 0.0
) -> np.ndarray:
    """For each body of the model in order: angular acceleration and acceleration of its origin, world axes."""
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters)).at(t)
    found: dict[str, np.ndarray] = {}
    for link, state in zip(tree.links, tree.states(q, u, du), strict=True):
        R, V, A = state.X_WB.R, state.V, state.A
        found[link.body] = np.concatenate([R @ A[:3], R @ (A[3:] + so3.cross(V[:3], V[3:]))])
    return np.array([found[name] for name in coordinates.flat.bodies])


def _onto_positions(
    dynamics: Dynamics, q: np.ndarray, t: float, sizes: np.ndarray, parameters: dict[str, float] | None
) -> np.ndarray:
    """Newton's method with generous patience, so that over-constrained mechanisms (linear convergence) arrive too.

    Next to the solution of those, what looks like one more independent equation is the distance from it: left out.
    """
    coordinates = dynamics.coordinates
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    for _ in range(60):
        values = dynamics.residuals(t, q, np.zeros(dynamics.nv), parameters)
        A = values.jacobian[: dynamics.holonomic] * sizes
        rows = np.ones(len(A)) if np.all(sizes == 1) else np.abs(A).max(axis=1, initial=1e-300)
        position = values.position / rows
        if np.abs(position).max(initial=0.0) < 1e-13:
            break
        du = np.asarray(np.linalg.lstsq(A / rows[:, None], -position, rcond=1e-6)[0], dtype=float)
        q = tree.normalize(tree.integrate(q, sizes * du * min(1.0, 0.3 / np.abs(du).max())))
    return q


def velocity_sizes(coordinates: Coordinates, q: np.ndarray, length: float) -> np.ndarray:
    """The unit of every velocity for a unit of length: that length where bodies only slide, or where this makes bodies
    that turn too move as others do; else 1."""
    found = np.ones(coordinates.nv)
    for i, u in enumerate(np.eye(coordinates.nv)):
        twists = np.array(list(body_motion(coordinates, q, u)[1].values()))
        turns, slides = np.abs(twists[:, :3]).max(), np.abs(twists[:, 3:]).max() / length
        size = max(turns, slides)
        if turns == 0 or abs(np.log(size * length)) < abs(np.log(size)):
            found[i] = length
    return found


def consistent_state(
    dynamics: Dynamics,
    seed: int,
    *,
    t: float = 0.0,
    spread: float = 0.15,
    size: Size = UNIT,
    parameters: dict[str, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A random state near the reference configuration, projected onto all constraints by the native retraction.

    Args:
        size: units of length and time of the mechanism.

    Raises:
        DalembertError: no state is found.
    """
    rng = np.random.default_rng(seed)
    coordinates = dynamics.coordinates
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    q = reference_coordinates(coordinates)
    sizes = np.ones(coordinates.nv) if size.length == 1 else velocity_sizes(coordinates, q, size.length)
    q = tree.integrate(q, sizes * spread * rng.uniform(-1, 1, coordinates.nv))
    q = _onto_positions(dynamics, q, t, sizes, parameters)
    problem, context = dynamics.problem(parameters=parameters)
    y = np.concatenate([q, sizes * rng.normal(size=coordinates.nv) / size.time, [0.0]])
    if problem.retract(t, y, np.empty_like(y)) != 0:
        raise DalembertError(context.failure())
    return y[: coordinates.nq], y[coordinates.nq : -1]
