"""The contract of a joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np

from dalembert.algebra import NUMPY, Algebra, Jets
from dalembert.algebra.dense_solve import solve_spd
from dalembert.elements import Site, Sizes
from dalembert.elements.bearing import Bearing
from dalembert.joints.glyph import DIAMOND, Glyph
from dalembert.joints.joint_data import JointData
from dalembert.spatial import Pose
from dalembert.spatial.pose import cross_motion
from dalembert.spatial.so3 import cross
from dalembert.values import SEQUENCE

__all__ = ["Evaluate", "Geometry", "Joint", "axis_frame", "twist_of_jets"]


@dataclass(frozen=True)
class Geometry:
    """How a joint was drawn in the reference configuration; what was not given is None.

    Attributes:
        point, point_2: points (m).
        axis, axis_2: directions, any length.
        nominal: the same directions as floats, at the parameters' nominal values.
        X_2: pose of the second body.
        reference: coordinates as drawn.
    """

    point: np.ndarray | None
    point_2: np.ndarray | None
    axis: np.ndarray | None
    axis_2: np.ndarray | None
    nominal: dict[str, np.ndarray]
    X_2: Pose
    reference: np.ndarray | None

    @property
    def origin(self) -> np.ndarray:
        """The given point, else the origin of the second body."""
        return self.X_2.p if self.point is None else self.point


class Evaluate(Protocol):
    """The value of a formula of parameters and of some names besides, in an algebra or in jets over it."""

    def __call__(self, formula: Any, al: Algebra | None = None, names: Mapping[str, Any] | None = None) -> Any: ...


def axis_frame(al: Algebra, axis: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """A rotation matrix whose z-column lies along the axis; x lies near the world axis most across it.

    The choice of x is made at the nominal value, so that the formula stays smooth in parameters.
    """
    z = axis / al.sqrt(axis @ axis)
    nearest = int(np.argmax(np.abs(nominal)))
    e = al.eye(3)[(nearest + 1) % 3]
    x = e - (e @ z) * z
    x = x / al.sqrt(x @ x)
    return np.stack([x, cross(z, x), z], axis=1)


class Joint(ABC):
    """How two frames may move against each other.

    The predecessor frame P sits on the first body, the successor frame S on the second; at neutral coordinates they
    coincide (joints with a length excepted). Canonical axes: a joint with one axis has it along z.

    A joint needs its sizes, ``transform``, ``position`` and ``coordinates``. The rest follows from these where the
    velocities are the rates of the coordinates, u = q̇; a closed form, where it is shorter, may take its place. With
    quaternions, derive from ``Product``.

    The contract:
      1. ``transform(q)`` is X_PS.
      2. ``subspace(q) @ u`` is the twist of S against P in S axes; ``bias(q, u)`` is its rate for u̇ = 0.
      3. ``qdot(q, u)`` is the rate of q;  len(q) = nq, len(u) = nv, never mixed.
      4. ``integrate(q, du)`` moves along the tangent du;  ``difference`` undoes it:
         difference(q, integrate(q, du)) = du, up to whole turns.
      5. ``position(X)`` has 6 − nv entries, independent, all zero exactly where X is reached by the joint (locally).
      6. ``coordinates(X)`` returns q with transform(q) = X, angles in (−π, π]; entries in ``angles`` wind.
      7. ``velocity(X, V)`` are the nonholonomic equations, linear in the twist V, in tree and in constraint form alike.

    Attributes:
        kind: the name in model files.
        nq, nv: number of coordinates and of velocities.
        angles: indices of coordinates that are angles, known from a pose only up to whole turns.
        measured: True if ``position`` needs the (unwound) coordinates, as a screw does.
        nonholonomic: number of velocity equations.
        quaternions: where a quaternion begins among the coordinates.
        geometry: which of point, axis, axis_2, point_2 place it; a name in brackets is optional.
        parameters: its own quantities, such as a pitch, fields of ``Data``; a name in brackets is optional.
        measured_from_drawing: those of them that are measured where a drawing is given, needed where frames are.
        common: what P and S share at all coordinates, of ``origin``, ``x``, ``y``, ``z``.
        closes: False if its equations are not known, so that it cannot close a loop.
        measurable: False if its coordinates cannot be found from a pose.
        uniform: True if all joints of this kind have the same formulas, their parameters apart.
        Data: the fields of a model's joint of this kind.
        glyph: the mark by which it is drawn.
        remedy: its rank among the joints that may take the place of one with redundant equations; 0 if it may not.
        axis_is: 'along' its axis, or 'normal to' it, in words for a designer.
        rod: True if it is a rod between two points, which is drawn.
        bearing: how it rubs, if that is known.
        pivots: it turns the body about its point, and leads a body that cannot turn nowhere unless it lies there.
        parallel: it moves a body in all directions and does not turn it: the joint of a particle.
        loaded_across: True if its normal force is that across its axis, else it is all of its force.
        unit: of length (m), where lengths are compared with angles.
    """

    kind: ClassVar[str]
    nq: int
    nv: int
    angles: tuple[int, ...] = ()
    measured: bool = False
    nonholonomic: int = 0
    geometry: ClassVar[tuple[str, ...]] = ("point", "axis")
    parameters: ClassVar[tuple[str, ...]] = ()
    common: tuple[str, ...] = ()
    quaternions: tuple[int, ...] = ()
    closes: bool = True
    measurable: bool = True
    measured_from_drawing: ClassVar[tuple[str, ...]] = ()
    uniform: ClassVar[bool] = True
    Data: ClassVar[type[JointData]] = JointData
    glyph: ClassVar[Glyph] = DIAMOND
    remedy: ClassVar[int] = 0
    axis_is: ClassVar[str] = "along"
    loaded_across: ClassVar[bool] = False
    bearing: ClassVar[Bearing | None] = None
    pivots: ClassVar[bool] = False
    parallel: ClassVar[bool] = False
    rod: ClassVar[bool] = False
    unit: float = 1.0

    @classmethod
    def own_fields(cls) -> list[str]:
        """The fields that its data have besides those of every joint."""
        return [name for name in cls.Data.model_fields if name not in JointData.model_fields]

    @classmethod
    def keywords(cls) -> list[str]:
        """What a call in Python gives by name to place it and to size it."""
        return [*(name.strip("[]") for name in cls.geometry), *cls.own_fields()]

    @classmethod
    def from_call(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of its data from the arguments of a call in Python; one coordinate needs no list."""
        reference = fields.get("reference")
        plain = reference is None or isinstance(reference, SEQUENCE)
        return fields if plain else {**fields, "reference": (reference,)}

    @classmethod
    def check(cls, data: Any, site: Site) -> None:
        """Report what is wrong with the data of this kind, besides what is checked for every joint."""
        return None

    @classmethod
    def sizes(cls, data: JointData | None = None) -> Sizes | None:
        """Number of coordinates and velocities; None if the data leave it open."""
        sample = cls.sample()
        return Sizes(sample.nq, sample.nv, sample.quaternions)

    @classmethod
    @cache
    def sample(cls) -> Joint:
        """A joint of this kind with all its quantities one."""
        return cls(**{name.strip("[]"): 1.0 for name in cls.parameters})

    @classmethod
    def from_data(cls, al: Algebra, drawn: Geometry, data: Any, evaluate: Evaluate) -> Joint:
        """The joint of a model, at the parameters that ``evaluate`` knows."""
        given = {name: getattr(data, name) for name in (part.strip("[]") for part in cls.parameters)}
        return cls.from_geometry(al, drawn, {name: evaluate(v) for name, v in given.items() if v is not None})

    @classmethod
    def from_geometry(cls, al: Algebra, drawn: Geometry, parameters: dict[str, Any]) -> Joint:
        """The joint as drawn, with its own quantities."""
        return cls(**parameters)

    def frames(self, al: Algebra, drawn: Geometry) -> tuple[Pose, Pose]:
        """World poses of P and S in the reference configuration."""
        R = al.eye(3) if drawn.axis is None else axis_frame(al, drawn.axis, drawn.nominal["axis"])
        X = Pose(R, drawn.origin)
        q = al.array(self.neutral()) if drawn.reference is None else self.normalize(al, drawn.reference)
        return X, X @ self.transform(al, q)

    @abstractmethod
    def transform(self, al: Algebra, q: np.ndarray) -> Pose:
        """X_PS(q)."""

    def _moving(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Twist and its rate along q̇ = u, q̈ = 0."""
        jets = Jets(al)
        return twist_of_jets(jets, self.transform(jets, jets.jets(q, u, al.zeros(self.nq))))

    def subspace(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """S(q), 6 × nv."""
        return al.columns(lambda u: self._moving(al, q, u)[0], self.nv)

    def bias(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ṡ(q, u) u, six-vector."""
        return self._moving(al, q, u)[1]

    def subspace_rate(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ṡ(q, u), 6 × nv."""
        # Ṡ(u) w + Ṡ(w) u by the accelerations along u + w, u and w;  Ṡ(u) w − Ṡ(w) u = −(S u) × (S w).
        S, c = self.subspace(al, q), self.bias(al, q, u)
        V = S @ u
        columns: list[np.ndarray] = []
        for w, s in zip(al.eye(self.nv), S.T, strict=True):
            both = self.bias(al, q, u + w) - c - self.bias(al, q, w)
            columns.append((both - cross_motion(V, s)) / 2)
        return np.stack(columns, axis=1) if columns else al.zeros(6, 0)

    @abstractmethod
    def position(self, al: Algebra, X: Pose, q: np.ndarray | None = None) -> list[Any]:
        """φ(X): what must vanish when the joint closes a loop or coordinates are absolute."""

    @abstractmethod
    def coordinates(self, al: Algebra, X: Pose) -> np.ndarray:
        """q with transform(q) = X."""

    def velocity(self, al: Algebra, X: Pose, V: np.ndarray) -> list[Any]:
        """Nonholonomic equations ψ(X, V) = 0."""
        return []

    def qdot(self, al: Algebra, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u

    def integrate(self, al: Algebra, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """q ∘ exp(du): where the constant velocity du leads in unit time."""
        return q + du

    def dexp(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        """D(δ), nv × nv: the velocity of q ∘ exp(δ) is u = D(δ) δ̇."""
        return al.eye(self.nv)

    def dexp_inverse(self, al: Algebra, du: np.ndarray) -> np.ndarray:
        """The inverse of ``dexp``."""
        return al.eye(self.nv)

    def normalize(self, al: Algebra, q: np.ndarray) -> np.ndarray:
        """q with its quaternion, if any, of unit length."""
        return q

    def difference(self, al: Algebra, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return q1 - q0

    def neutral(self) -> np.ndarray:
        """Coordinates at which the frames coincide."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Coordinates away from singularities."""
        return rng.uniform(-1.0, 1.0, self.nq)

    @classmethod
    def mixes(cls) -> bool:
        """Whether a velocity of this kind of joint turns and slides, so that lengths are compared with angles."""
        return _mixes(cls)

    def _dual(self, S: np.ndarray) -> np.ndarray:
        """W S, W = diag(1, 1/L²): wrenches whose products with twists are of one size in the unit of length L."""
        return S if self.unit == 1.0 else np.concatenate([S[:3], S[3:] / self.unit**2])

    def rates(self, al: Algebra, q: np.ndarray, V: np.ndarray) -> np.ndarray:
        """u from the twist of S against P:  u = (SᵀWS)⁻¹ SᵀW V."""
        S = self.subspace(al, q)
        G = self._dual(S)
        return solve_spd(al, S.T @ G, G.T @ V)

    def rotor_rate(self, al: Algebra, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        """What an armature a resists:  a · (this) is the joint force that belongs to the kinetic energy ½ a uᵀu."""
        return du

    @property
    def lead(self) -> Any:
        """How far it advances along its axis as it turns about it (m/rad)."""
        return 0.0

    def wrench(self, al: Algebra, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """A wrench on S (S axes) that does the work of the joint forces τ:  F = W S (SᵀWS)⁻¹ τ,  Sᵀ F = τ.

        What else there is of such wrenches are reactions, so this chooses where forces end and reactions begin. Where
        these are pure forces and torques, it does not depend on the unit of length.
        """
        S = self.subspace(al, q)
        G = self._dual(S)
        return G @ solve_spd(al, S.T @ G, tau)


@cache
def _mixes(kind: type[Joint]) -> bool:
    joint = kind.sample()
    S = np.abs(joint.subspace(NUMPY, joint.random(np.random.default_rng(0))))
    return bool(np.any((S[:3].max(axis=0, initial=0.0) > 0) & (S[3:].max(axis=0, initial=0.0) > 0)))


def twist_of_jets(jets: Jets, X: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Twist and its rate, in body axes, of a pose given as jets:  ω̂ = RᵀṘ,  v = Rᵀṗ."""
    R, R1, R2 = jets.parts(X.R)
    _, p1, p2 = jets.parts(X.p)
    W, W1 = R.T @ R1, R1.T @ R1 + R.T @ R2
    v, v1 = R.T @ p1, R1.T @ p1 + R.T @ p2
    al = jets.base
    twist = al.concatenate([al.array([W[2, 1], W[0, 2], W[1, 0]]), v])
    rate = al.concatenate([al.array([W1[2, 1], W1[0, 2], W1[1, 0]]), v1])
    return twist, rate
