"""Natural coordinates: which points and unit vectors describe the mechanism.

Bodies welded together are one *cluster*. A joint makes the two clusters it connects share the parts that its frames
have in common (``Joint.common``): a revolute joint a point and a unit vector, a spherical joint a point, a prismatic
joint three vectors. Such a shared part, or one that a cluster needs of its own, is a *feature*. Features of the ground
are constants. Of every cluster one point and three directions (unit vectors, or the way to other points) make a basis:
its pose is linear in them. Where one direction is an axis z of the ground, as in all plane mechanisms, the third one is
z × d of the second and costs nothing. The choice is made once, in floats at the nominal parameters; where the features
lie on the bodies stays a formula of the parameters.

Reference: J. García de Jalón, E. Bayo, "Kinematic and Dynamic Simulation of Multibody Systems", Springer 1994, sec. 2.2
and ch. 4; docs/theory/natural-coordinates.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any, ClassVar

import numpy as np

from dalembert.algebra import NUMPY, Algebra, Jets
from dalembert.arguments import public_class
from dalembert.coordinates.base import Coordinates, Slot
from dalembert.coordinates.natural_kinematics import NaturalKinematics
from dalembert.errors import DalembertError
from dalembert.joints import Joint
from dalembert.model import Flat, Mechanism
from dalembert.spatial import Pose
from dalembert.tree.outward import pose_jets

__all__ = ["Cluster", "Feature", "Natural", "NaturalCoordinates", "Weld"]

# A direction joins a basis if it stands out of the others by at least this sine …
STEEP = 0.3
# … and, between two points, if it is not shorter than this fraction of the cluster.
SHORT = 0.1
# Features that coincide this well, also with other values of the parameters, are one.
SAME = 1e-9


@dataclass(frozen=True)
class Weld:
    """How a body of a cluster is fixed to another one of it that comes before."""

    body: str
    parent: str
    joint: str
    reversed: bool


@dataclass
class Feature:
    """A point or a unit vector that belongs to one or several clusters.

    Attributes:
        on: where it lies on each of its clusters: (joint, is its second frame, part of the frame), or three numbers.
        joints: those whose frames share it.
        home: the cluster that knows it first, 0 for the ground.
        at: its entries in q; None if it follows from the pose of its home.
        level: the world axis along which its entry is a constant and no unknown; None if there is none.
    """

    name: str
    is_point: bool
    on: dict[int, Any]
    joints: list[str] = field(default_factory=lambda: [])
    home: int | None = None
    at: slice | None = None
    level: int | None = None

    @property
    def axes(self) -> list[int]:
        """World axes along which it has entries in q."""
        return [axis for axis in range(3) if axis != self.level]


@dataclass
class Cluster:
    """Bodies welded together.

    Attributes:
        bodies: the first one carries the frame of the cluster.
        basis: a point and two or three features that give directions.
        turn: (a, b) if the third direction is d_a × d_b, with d_a fixed to the ground.
        lengths: of the other directions, nominal; 1 for unit vectors.
        pairs: directions i, j whose product d_i · d_j is held constant by an equation.
        fits: features known before and not in the basis, held in place by equations.
        level: the world axis across which it moves, if it is a plane body.
    """

    bodies: list[str]
    welds: list[Weld] = field(default_factory=lambda: [])
    basis: list[int] = field(default_factory=lambda: [])
    turn: tuple[int, int] | None = None
    lengths: list[float] = field(default_factory=lambda: [])
    pairs: list[tuple[int, int]] = field(default_factory=lambda: [])
    fits: list[int] = field(default_factory=lambda: [])
    level: int | None = None


@public_class
@dataclass(frozen=True)
class Natural:
    """Natural coordinates with options.

    Args:
        planar: points of bodies that move across x, y or z have two entries instead of three, and no equations along
            that axis. Reactions across the plane are then not determined, and refused.

    Example:
        dynamics = da.compile(da.library.four_bar(), coordinates=da.Natural(planar=True))
        assert dynamics.nv == 4  # two points in the plane
    """

    planar: bool = False
    name: ClassVar[str] = "natural"

    def __str__(self) -> str:
        return "natural (planar)" if self.planar else self.name


class NaturalCoordinates(Coordinates):
    """Points and unit vectors of the bodies, shared at the joints. The mass matrix is constant, q̇ = u, and what keeps
    bodies rigid is quadratic.
    """

    name = "natural"

    def __init__(self, flat: Flat, options: Natural | None = None):
        self.options = options or Natural()
        super().__init__(flat)

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        self.clusters = self._clusters()
        self._cluster_of = {body: i for i, cluster in enumerate(self.clusters) for body in cluster.bodies}
        self._size = 0
        self.features = self._shared()
        for i in range(1, len(self.clusters)):
            self._choose_basis(i)
        cut = tuple(name for name in self.flat.joints if self.nominal_joint(name).joint.nv < 6)
        self._kept = {name: self._equations_left(name) for name in cut}
        return [], cut

    def _sizes(self) -> tuple[int, int]:
        return self._size, self._size

    @property
    def bodies(self) -> list[str]:
        return list(self.flat.bodies)

    @property
    def is_constrained(self) -> bool:
        return any(cluster.pairs or cluster.fits for cluster in self.clusters) or any(self._kept.values())

    def kept(self, joint: str) -> Sequence[int]:
        return self._kept[joint]

    def _place(self, al: Algebra, parameters: dict[str, Any]) -> NaturalKinematics:
        return NaturalKinematics(self, self._mechanism(al, parameters))

    def velocity_units(self, length: float) -> np.ndarray:
        units = np.ones(self.nv)
        for feature in self.features:
            if feature.at is not None and feature.is_point:
                units[feature.at] = length
        return units

    def labels(self) -> tuple[list[str], list[str]]:
        found = {f.at.start: f for f in self.features if f.at is not None}
        names = [f"{found[start].name}.{'xyz'[axis]}" for start in sorted(found) for axis in found[start].axes]
        return names + self.tail_labels(), names

    # Clusters

    def _clusters(self) -> list[Cluster]:
        """Welded bodies together, those nearest to the ground first."""
        welds: dict[str, list[Weld]] = {body: [] for body in ["ground", *self.flat.bodies]}
        for name in self.flat.joints:
            placed = self.nominal_joint(name)
            if len(placed.joint.common) == 4:
                welds[placed.first].append(Weld(placed.second, placed.first, name, False))
                welds[placed.second].append(Weld(placed.first, placed.second, name, True))
        clusters: list[Cluster] = []
        seen: set[str] = set()
        for start in self._from_the_ground():
            if start in seen:
                continue
            cluster = Cluster([start])
            seen.add(start)
            for body in cluster.bodies:
                for weld in welds[body]:
                    if weld.body not in seen:
                        seen.add(weld.body)
                        cluster.bodies.append(weld.body)
                        cluster.welds.append(weld)
            clusters.append(cluster)
        return clusters

    def _from_the_ground(self) -> list[str]:
        near: dict[str, list[str]] = {body: [] for body in ["ground", *self.flat.bodies]}
        for data, _ in self.flat.joints.values():
            first, second = data.bodies
            near[first].append(second)
            near[second].append(first)
        order, seen = ["ground"], {"ground"}
        for body in order:
            new = [other for other in dict.fromkeys(near[body]) if other not in seen]
            order += new
            seen.update(new)
        return order + [body for body in self.flat.bodies if body not in seen]

    # Features

    def _shared(self) -> list[Feature]:
        """What joints make clusters share; what coincides on some cluster is one feature."""
        found: list[Feature] = []
        for name in self.flat.joints:
            placed = self.nominal_joint(name)
            first, second = self._cluster_of[placed.first], self._cluster_of[placed.second]
            if first != second:
                for part in placed.joint.common:
                    on = {first: (name, False, part), second: (name, True, part)}
                    found.append(Feature(f"{name}.{part}", part == "origin", on, [name]))
        places = [self._places(found, mechanism) for mechanism in self._samples()]
        group = list(range(len(found)))
        for i in range(len(self.clusters)):
            mine = [k for k, f in enumerate(found) if i in f.on]
            for a, b in combinations(mine, 2):
                if found[a].is_point != found[b].is_point or group[a] == group[b]:
                    continue
                if all(_same(at[a][i], at[b][i], found[a].is_point) for at in places):
                    group = [group[a] if g == group[b] else g for g in group]
        members: dict[int, list[Feature]] = {}
        for f, g in zip(found, group, strict=True):
            members.setdefault(g, []).append(f)
        return [_merged(together) for together in members.values()]

    def _samples(self) -> list[Mechanism]:
        """The mechanism at its nominal parameters, and at others near them."""
        rng, samples = np.random.default_rng(0), [self.nominal]
        for _ in range(2 if self.flat.parameters else 0):
            values = {
                name: value * (1 + 0.05 * rng.uniform(-1, 1)) + (0.0 if value else 0.01 * rng.uniform(-1, 1))
                for name, value in self.flat.parameters.items()
            }
            samples.append(Mechanism(self.flat, NUMPY, values))
        return samples

    def _places(self, features: list[Feature], mechanism: Mechanism) -> list[dict[int, np.ndarray]]:
        """Where features lie on their clusters; nowhere if the mechanism cannot be drawn with these parameters."""
        try:
            frames = self.frames(mechanism)
            return [{i: local(mechanism, frames, spot) for i, spot in f.on.items()} for f in features]
        except DalembertError:
            return [dict.fromkeys(f.on, np.full(3, np.nan)) for f in features]

    def frames(self, mechanism: Mechanism) -> dict[str, Pose]:
        """X_CB: where each body lies in the frame of its cluster."""
        found: dict[str, Pose] = {}
        for cluster in self.clusters:
            found[cluster.bodies[0]] = Pose.identity(mechanism.al)
            for weld in cluster.welds:
                placed = mechanism.joint(weld.joint)
                X = placed.X_1P @ placed.X_2S.inverse()
                found[weld.body] = found[weld.parent] @ (X.inverse() if weld.reversed else X)
        return found

    @cached_property
    def _nominal_frames(self) -> dict[str, Pose]:
        return self.frames(self.nominal)

    # Bases

    def _choose_basis(self, i: int) -> None:
        """What is known already comes first, then what other clusters will share, then vectors of its own."""
        cluster, frames = self.clusters[i], self._nominal_frames
        mine = [k for k, f in enumerate(self.features) if i in f.on]
        mine.sort(key=lambda k: (self.features[k].home is None, self.features[k].home != 0))
        at = {k: local(self.nominal, frames, self.features[k].on[i]) for k in mine}
        known = [k for k in mine if self.features[k].home is not None]
        points = [k for k in mine if self.features[k].is_point]
        centers, size = self._extent(cluster, frames, [at[k] for k in points])
        origin = points[0] if points else self._own(i, "origin", True, centers[0], at)
        cluster.basis = [origin]
        others = sorted((k for k in mine if k != origin), key=lambda k: (k not in known, self.features[k].is_point))
        self._choose_directions(i, others, at, size)
        cluster.fits = [k for k in known if k not in cluster.basis and not self._held(i, k)]
        cluster.level = self._level(i) if self.options.planar else None
        self._settle(i, mine)
        pairs = combinations_with_replacement(range(len(cluster.basis) - 1), 2)
        cluster.pairs = [pair for pair in pairs if not self._implied(i, pair) and not self._leveled(i, pair)]

    def _choose_directions(self, i: int, others: list[int], at: dict[int, np.ndarray], size: float) -> None:
        """The first of the other features that stand out of each other, then vectors of its own: three directions, or
        two if one of them is fixed to the ground."""
        cluster = self.clusters[i]
        directions: list[np.ndarray] = []
        fixed: int | None = None
        for k in others:
            if len(directions) == (3 if fixed is None else 2):
                break
            feature = self.features[k]
            d = at[k] - at[cluster.basis[0]] if feature.is_point else at[k]
            length = float(np.linalg.norm(d))
            is_short = feature.is_point and length <= SHORT * size
            if is_short or np.linalg.norm(_across(d / length, directions)) < STEEP:
                continue
            if fixed is None and feature.home == 0 and not feature.is_point:
                fixed = len(directions)
            directions.append(d / length)
            cluster.basis.append(k)
            cluster.lengths.append(length)
        for name, d in zip("uvw", _complement(directions, 3 if fixed is None else 2), strict=False):
            cluster.basis.append(self._own(i, name, False, d, at))
            cluster.lengths.append(1.0)
        if fixed is not None:
            cluster.turn = (fixed, 1 - fixed)

    def _settle(self, i: int, mine: list[int]) -> None:
        """Features that no cluster knew before have their home here; those of the basis get entries in q."""
        cluster = self.clusters[i]
        for k in cluster.basis:
            feature = self.features[k]
            if feature.home is None:
                feature.home, feature.level = i, cluster.level
                feature.at = slice(self._size, self._size + len(feature.axes))
                self._size += len(feature.axes)
        for k in mine:
            if self.features[k].home is None:
                self.features[k].home = i

    def _own(self, i: int, name: str, is_point: bool, place: np.ndarray, at: dict[int, np.ndarray]) -> int:
        label = f"{self.clusters[i].bodies[0]}.{name}"
        self.features.append(Feature(label, is_point, {i: tuple(float(x) for x in place)}))
        at[len(self.features) - 1] = place
        return len(self.features) - 1

    def _extent(
        self, cluster: Cluster, frames: dict[str, Pose], points: list[np.ndarray]
    ) -> tuple[list[np.ndarray], float]:
        """Centers of mass of its bodies, and how far points and mass reach out from the first of them."""
        inertias = [self.nominal.inertia(body).moved(frames[body]) for body in cluster.bodies]
        centers = [inertia.com for inertia in inertias]
        reach = [np.linalg.norm(p - centers[0]) for p in [*points, *centers]]
        reach += [np.sqrt(np.trace(x.central) / x.mass) for x in inertias if x.mass > 0]
        return centers, float(max(reach))

    # Plane bodies

    def _level(self, i: int) -> int | None:
        """The world axis across which a cluster moves: one of its directions, while its point stays at one height."""
        cluster = self.clusters[i]
        if cluster.turn is None:
            return None
        places = [local(at, self.frames(at), self._axis_of(cluster).on[0]) for at in self._samples()]
        axis = int(np.argmax(np.abs(places[0])))
        if any(abs(abs(place[axis]) - 1) > SAME for place in places):
            return None
        return axis if self.is_level(cluster.basis[0], axis) else None

    def _axis_of(self, cluster: Cluster) -> Feature:
        assert cluster.turn is not None
        return self.features[cluster.basis[1 + cluster.turn[0]]]

    def is_level(self, k: int, axis: int | None) -> bool:
        """True if the entry of a feature along an axis is a constant."""
        home = self.features[k].home
        return axis is not None and home is not None and (home == 0 or self.clusters[home].level == axis)

    def height(self, k: int, axis: int, places: list[dict[int, np.ndarray]], home: int | None = None) -> Any:
        """The constant entry of a feature along an axis, as its home has it, or another plane cluster."""
        feature = self.features[k]
        home = feature.home if home is None else home
        assert home is not None
        if home == 0:
            return places[k][0][axis]
        cluster = self.clusters[home]
        assert cluster.turn is not None
        origin, along = cluster.basis[0], cluster.basis[1 + cluster.turn[0]]
        upward = np.sign(self.nominal_direction(along)[axis])
        if not feature.is_point:
            return upward * (places[k][home] @ places[along][home])
        rise = (places[k][home] - places[origin][home]) @ places[along][home]
        return self.height(origin, axis, places) + upward * rise

    def nominal_direction(self, k: int) -> np.ndarray:
        """A vector of the ground."""
        return local(self.nominal, self._nominal_frames, self.features[k].on[0])

    def fits_level(self, i: int, k: int) -> bool:
        """True if a feature has the height on a plane cluster that it has anyway, for all parameters."""
        axis = self.clusters[i].level
        if axis is None or not self.is_level(k, axis):
            return False
        for at in self._samples():
            places = self._places(self.features, at)
            own, known = self.height(k, axis, places, i), self.height(k, axis, places)
            if not abs(own - known) <= SAME * max(1.0, abs(known)):
                return False
        return True

    def _leveled(self, i: int, pair: tuple[int, int]) -> bool:
        """True if two directions keep their product because one is the axis across which the cluster moves."""
        turn = self.clusters[i].turn
        if self.clusters[i].level is None or turn is None or turn[0] not in pair:
            return False
        other = pair[1] if pair[0] == turn[0] else pair[0]
        return self.fits_level(i, self.clusters[i].basis[1 + other])

    def _implied(self, i: int, pair: tuple[int, int]) -> bool:
        """True if all that two directions consist of belongs to an earlier cluster too, or to the ground."""
        basis = self.clusters[i].basis
        return self._together(i, [basis[1 + d] for d in pair])

    def _held(self, i: int, k: int) -> bool:
        """True if a feature and all that determines its place on a cluster belong to an earlier cluster too."""
        origin, *others = self.clusters[i].basis
        return self._together(i, [k, *others, origin] if self.features[k].is_point else [k, *others])

    def _together(self, i: int, involved: list[int]) -> bool:
        features = [self.features[k] for k in involved]
        if any(f.is_point for f in features):
            features.append(self.features[self.clusters[i].basis[0]])
        shared = set[int].intersection(*(set(f.on) for f in features))
        return min(shared) < i

    def placed_features(self, mechanism: Mechanism) -> list[dict[int, np.ndarray]]:
        """Where each feature lies on each of its clusters."""
        frames = self.frames(mechanism)
        return [{i: local(mechanism, frames, spot) for i, spot in f.on.items()} for f in self.features]

    @cached_property
    def nominal_features(self) -> list[dict[int, np.ndarray]]:
        return self.placed_features(self.nominal)

    # Joints

    def shares(self, feature: Feature) -> np.ndarray:
        """How forces on a feature of the clusters other than its home pass through the joints that share it.

        With N the incidence of joints (+1 for the second body) on clusters,  N f = g;  where joints form a loop, f is
        of least norm.
        """
        nodes = [i for i in feature.on if i != feature.home]
        N = np.zeros((len(nodes), len(feature.joints)))
        for column, name in enumerate(feature.joints):
            placed = self.nominal_joint(name)
            for body, sign in ((placed.second, 1.0), (placed.first, -1.0)):
                if self._cluster_of[body] in nodes:
                    N[nodes.index(self._cluster_of[body]), column] = sign
        inverse = np.linalg.pinv(N)
        return np.where(np.abs(inverse) > 1e-12, inverse, 0.0)

    def _equations_left(self, name: str) -> Sequence[int]:
        """The equations of a joint that do not follow from what its bodies share."""
        placed = self.nominal_joint(name)
        if self._cluster_of[placed.first] == self._cluster_of[placed.second]:
            return ()
        return _independent_of_common(placed.joint)


def local(mechanism: Mechanism, frames: dict[str, Pose], spot: Any) -> np.ndarray:
    """A feature in the frame of a cluster."""
    if isinstance(spot[0], float):
        return mechanism.al.array(list(spot))
    name, is_second, part = spot
    placed = mechanism.joint(name)
    X = frames[placed.second] @ placed.X_2S if is_second else frames[placed.first] @ placed.X_1P
    return X.p if part == "origin" else X.R[:, "xyz".index(part)]


def _merged(features: list[Feature]) -> Feature:
    """Features that coincide as one, placed where the first of them is."""
    on = {i: spot for f in reversed(features) for i, spot in f.on.items()}
    joints = [name for f in features for name in f.joints]
    return Feature(features[0].name, features[0].is_point, on, joints, 0 if 0 in on else None)


def _same(a: np.ndarray, b: np.ndarray, are_points: bool) -> bool:
    size = max(np.abs(a).max(), np.abs(b).max(), 1e-3) if are_points else 1.0
    return bool(np.abs(a - b).max() <= SAME * size)


def _across(d: np.ndarray, directions: list[np.ndarray]) -> np.ndarray:
    """The part of d that no combination of the directions gives."""
    if not directions:
        return d
    Q = np.linalg.qr(np.array(directions).T)[0]
    return d - Q @ (Q.T @ d)


def _complement(directions: list[np.ndarray], count: int) -> list[np.ndarray]:
    """Unit vectors across the directions, so many together."""
    own: list[np.ndarray] = []
    while len(directions) + len(own) < count:
        rests = [_across(e, [*directions, *own]) for e in np.eye(3)]
        best = max(rests, key=lambda rest: float(np.linalg.norm(rest).round(6)))
        own.append(best / np.linalg.norm(best))
    return own


def _independent_of_common(joint: Joint) -> Sequence[int]:
    """Rows of ``position`` whose gradients, at some place, are no combination of those of the common parts."""
    if not joint.common:
        return range(6 - joint.nv)
    jets, X = Jets(NUMPY), joint.transform(NUMPY, joint.random(np.random.default_rng(0)))

    def rates(A: np.ndarray) -> np.ndarray:
        moved = pose_jets(jets, X, np.zeros(6), A)
        common = [moved.p if part == "origin" else moved.R[:, "xyz".index(part)] for part in joint.common]
        q = joint.coordinates(jets, moved) if joint.measured else None
        return jets.parts(np.concatenate([*common, np.array(joint.position(jets, moved, q), dtype=object)]))[2]

    gradients = NUMPY.columns(rates, 6)
    start = 3 * len(joint.common)
    kept: list[int] = []
    rank = np.linalg.matrix_rank(gradients[:start], tol=1e-8)
    for k in range(6 - joint.nv):
        chosen = np.concatenate([gradients[:start], gradients[[start + n for n in (*kept, k)]]])
        if np.linalg.matrix_rank(chosen, tol=1e-8) > rank:
            rank, kept = rank + 1, [*kept, k]
    return kept
