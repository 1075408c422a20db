"""Forces of rolled recursions, traced once for each form.

The form of a force is the force with places instead of its numbers and instead of the bodies and joints that it names.
Forces of equal form run by the same kernels, whose inputs are what the places stand for: numbers, time, and the motion
of the bodies and joints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import casadi as ca
import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.algebra import NUMPY, Algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates import TreeKinematics
from dalembert.coordinates.moving import FormulaMotion
from dalembert.elements import Load
from dalembert.elements.base import replace_names
from dalembert.expressions import TIME, number, reference
from dalembert.expressions.symbols import JOINT_QUANTITIES, as_reference
from dalembert.forces import Force
from dalembert.model import Mechanism
from dalembert.model.flatten import Scope
from dalembert.native import Int, Integers, Kernels, Record, Vector
from dalembert.spatial import Pose, RigidInertia
from dalembert.values import TUPLE

__all__ = ["ForceKind", "ForceTable", "RolledForces"]


class ForceTable(Record):
    """All forces, as the native loops read them.

    Attributes:
        n, n_kinds, n_data, n_links: forces, forms, numbers and links of all forces.
        kind, first_number, first_link: of each force; where its part of ``data`` and of ``links`` begins.
        data: numbers of all forces, one after the other.
        links: which links the forces ask about: of each force first those of its bodies, then those of its joints.
        numbers, bodies, joints: of each kind, how many.
        loads, energy: of each kind.
    """

    n, n_kinds, n_data, n_links = 4 * Int()
    kind, first_number, first_link = 3 * Integers("n")
    data = Vector("n_data")
    links = Integers("n_links")
    numbers, bodies, joints = 3 * Integers("n_kinds")
    loads, energy = 2 * Kernels("n_kinds")


class RolledForces:
    """All forces of a tree.

    Attributes:
        kinds: one for each form.
        table: what the native loops read.
        loaded: links on whose bodies forces may act.
    """

    def __init__(self, tree: TreeKinematics):
        self.kinds: list[ForceKind] = []
        self.loaded: set[int] = set()
        numbers: dict[ForceKind, int] = {}
        rows: list[tuple[int, int, int]] = []
        links: list[int] = []
        data: list[Any] = []
        for force, scope in tree.coordinates.flat.forces.values():
            form = _Form.of(force, scope, tree.mechanism)
            kind = _trace(form.force, tuple(_joint_sizes(tree, form.joints)))
            if kind not in numbers:
                numbers[kind] = len(self.kinds)
                self.kinds.append(kind)
            rows.append((numbers[kind], len(data), len(links)))
            bodies = [tree.index[form.real(name)] for name in kind.bodies]
            links += bodies + [_link_of_joint(tree, form.real(name)) for name in kind.joints]
            self.loaded.update(bodies)
            data += [value for query in kind.data for value in query(form)]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
        counts = [(kind.n_data, len(kind.bodies), len(kind.joints)) for kind in self.kinds]
        per_kind = np.array(counts, dtype=np.int64).reshape(-1, 3).T.copy()
        self.table = ForceTable(
            n=len(rows), n_kinds=len(self.kinds), n_data=len(data), n_links=len(links),
            **dict(zip(("kind", "first_number", "first_link"), columns, strict=True)),
            **dict(zip(("numbers", "bodies", "joints"), per_kind, strict=True)),
            data=np.array(data, dtype=float), links=np.array(links, dtype=np.int64),
            loads=[kind.loads for kind in self.kinds], energy=[kind.energy for kind in self.kinds],
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Doubles of memory that any one force needs for what its kernels read and write."""
        return max((kind.size for kind in self.kinds), default=0)


def _link_of_joint(tree: TreeKinematics, joint: str) -> int:
    return tree.index[tree.coordinates.slot_of_joint[joint].body]


def _joint_sizes(tree: TreeKinematics, joints: dict[str, str]) -> list[tuple[str, int, int]]:
    """Places of joints with their numbers of coordinates and of velocities."""
    found = [(place, tree.links[_link_of_joint(tree, name)].joint) for place, name in joints.items()]
    return [(place, joint.nq, joint.nv) for place, joint in found]


# The form of a force


@dataclass
class _Form:
    """The form of one force, and what its places stand for.

    Attributes:
        force: with places as names and numbers.
        numbers: value of each number's place, by its name.
        bodies, joints: name of the body or joint of each place.
    """

    force: Any
    scope: Scope
    mechanism: Mechanism
    numbers: dict[str, float] = field(default_factory=lambda: {})
    bodies: dict[str, str] = field(default_factory=lambda: {})
    joints: dict[str, str] = field(default_factory=lambda: {})

    @classmethod
    def of(cls, force: Force, scope: Scope, mechanism: Mechanism) -> _Form:
        form = cls(None, scope, mechanism)
        names = {"body": form._body, "joint": form._joint, "frame": form._frame}
        # A part that is missing, such as the damper of a spring, is part of the form: it costs nothing.
        missing = {key: value for key, value in force if _is_zero(value)}
        form.force = replace_names(force, form._formula, names).model_copy(update={"name": "", **missing})
        return form

    def real(self, place: str) -> str:
        """The body or joint that a place stands for."""
        return self.bodies.get(place) or self.joints.get(place) or place

    def number(self, formula: sp.Expr) -> float:
        """The value of a formula of numbers' places."""
        return number(formula, self.numbers)

    def local(self, body: str, X: Pose, frame: str) -> Pose:
        """A pose given in a frame, in the axes of a body."""
        return self.mechanism.local(self.real(body), X, self.real(frame), self.scope)

    # Names begin with a character that no name in a model has.

    def _body(self, name: str) -> str:
        return name if name == "ground" else _place(self.bodies, name, "#body")

    def _joint(self, name: str) -> str:
        return _place(self.joints, name, "#joint")

    def _frame(self, name: str) -> str:
        return name if name in ("world", "body") else self._body(name)

    def _number(self, constant: sp.Expr) -> sp.Symbol:
        place = sp.Symbol(f"#{len(self.numbers)}", real=True)
        self.numbers[place.name] = float(self.mechanism.evaluate(constant))
        return place

    def _formula(self, node: Any) -> Any:
        """A formula with places instead of its largest parts that do not change, and instead of names."""
        if isinstance(node, AppliedUndef):
            ref = as_reference(node)
            rename = self._joint if ref.quantity in JOINT_QUANTITIES else self._body
            return reference(ref.quantity, rename(ref.element), ref.index)
        if _is_constant(node):
            return self._number(node)
        if not node.args or node == TIME:
            return node
        if node.is_Pow and node.exp.is_number:
            # A square stays a square.
            return self._formula(node.base) ** node.exp
        constants = [part for part in node.args if _is_constant(part)] if node.is_Add or node.is_Mul else []
        if not constants:
            return node.func(*map(self._formula, node.args))
        rest = [self._formula(part) for part in node.args if not _is_constant(part)]
        return node.func(self._number(node.func(*constants)), *rest)


def _place(places: dict[str, str], name: str, kind: str) -> str:
    """The place of a name: the one it has, or a new one."""
    for place, taken in places.items():
        if taken == name:
            return place
    place = f"{kind}{len(places)}"
    places[place] = name
    return place


def _is_constant(node: Any) -> bool:
    """True for formulas of numbers and parameters only; not for conditions and other parts without a value."""
    return isinstance(node, sp.Expr) and (node.is_number or not (TIME in node.free_symbols or node.has(AppliedUndef)))


def _is_zero(value: Any) -> bool:
    """True for a number zero, and for a vector of nothing else."""
    return (
        all(map(_is_zero, value)) if isinstance(value, TUPLE) else isinstance(value, sp.Expr) and cast(bool, value == 0)
    )


# Tracing

_Query = Callable[[_Form], np.ndarray]


@dataclass(frozen=True, eq=False)
class ForceKind:
    """Forces of one form.

    Attributes:
        data: how the first inputs follow from the model: n_data numbers.
        bodies, joints: after the time, inputs are pose (12) and twist (6) of each of these places, or coordinates and
            velocities. The outputs are a wrench on each of the bodies, forces on each of the joints, and the power.
        size: number of inputs and outputs together.
    """

    data: list[_Query]
    n_data: int
    bodies: list[str]
    joints: list[str]
    size: int
    loads: Kernel
    energy: Kernel


class _FormMotion(FormulaMotion):
    """The motion that a form asks about, over symbols; it remembers what was asked. Implements ``elements.Motion``."""

    al: Algebra = CASADI

    def __init__(self, sizes: dict[str, tuple[int, int]]):
        self.sizes = sizes
        self.data: dict[Hashable, tuple[_Query, ca.SX, np.ndarray]] = {}
        self.bodies: dict[str, tuple[ca.SX, np.ndarray]] = {}
        self.joints: dict[str, tuple[ca.SX, np.ndarray]] = {}
        self.time, (self.t,) = CASADI.symbols("t", 1)

    def _datum(self, key: Hashable, count: int, query: _Query) -> np.ndarray:
        """Symbols for numbers that follow from the model alone."""
        if key not in self.data:
            self.data[key] = (query, *CASADI.symbols("data", count))
        return self.data[key][2]

    def parameter(self, symbol: sp.Symbol) -> Any:
        return self._datum(symbol, 1, lambda form: np.array([form.number(symbol)]))[0]

    def body(self, name: str) -> tuple[Pose, np.ndarray]:
        if name == "ground":
            return Pose.identity(self.al), self.al.zeros(6)
        if name not in self.bodies:
            self.bodies[name] = CASADI.symbols(name, 18)
        values = self.bodies[name][1]
        return Pose(values[:9].reshape(3, 3), values[9:12]), values[12:]

    def joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        nq, nv = self.sizes[name]
        if name not in self.joints:
            self.joints[name] = CASADI.symbols(name, nq + nv)
        values = self.joints[name][1]
        return values[:nq], values[nq:]

    def lead(self, joint: str) -> Any:
        """Only friction asks for it, and is no force."""
        raise NotImplementedError

    def inertia(self, body: str) -> RigidInertia:
        def query(form: _Form) -> np.ndarray:
            inertia = form.mechanism.inertia(form.real(body)).about_origin(NUMPY)
            return np.concatenate([[inertia.mass], inertia.h, inertia.A.reshape(-1)])

        mass, *rest = self._datum(("inertia", body), 13, query)
        return RigidInertia(mass, np.array(rest[:3]), np.array(rest[3:]).reshape(3, 3))

    def reference(self, body: str) -> Pose:
        def query(form: _Form) -> np.ndarray:
            X = form.mechanism.body_pose(form.real(body))
            return np.concatenate([X.R.reshape(-1), X.p])

        values = self._datum(("reference", body), 12, query)
        return Pose(values[:9].reshape(3, 3), values[9:])

    def local_point(self, body: str, point: tuple[sp.Expr, ...], frame: str = "world") -> np.ndarray:
        def query(form: _Form) -> np.ndarray:
            drawn = Pose.translation(NUMPY, NUMPY.array([form.number(component) for component in point]))
            return form.local(body, drawn, frame).p

        return self._datum(("point", body, point, frame), 3, query)

    def local_axes(self, body: str, frame: str = "world") -> np.ndarray:
        def query(form: _Form) -> np.ndarray:
            return form.local(body, Pose.identity(NUMPY), frame).R.reshape(-1)

        return self._datum(("axes", body, frame), 9, query).reshape(3, 3)


@lru_cache(maxsize=1024)
def _trace(form: Force, sizes: tuple[tuple[str, int, int], ...]) -> ForceKind:
    """The kernels of a form, for joints of these numbers of coordinates and velocities."""
    motion, load = _FormMotion({place: (nq, nv) for place, nq, nv in sizes}), Load()
    form.loads(motion, load)
    energy = form.energy(motion)
    loads = CASADI.to_sx(_sum(motion, load))
    data = list(motion.data.values())
    moving = [*motion.bodies.values(), *motion.joints.values()]
    inputs = ca.vertcat(*(symbol for _, symbol, _ in data), motion.time, *(symbol for symbol, _ in moving))
    n_data = sum(len(values) for _, _, values in data)
    name = form.kind.replace("-", "_")
    return ForceKind(
        [query for query, _, _ in data],
        n_data,
        list(motion.bodies),
        list(motion.joints),
        inputs.shape[0] + loads.shape[0],
        compile_function(f"{name}_loads", {"inputs": inputs}, {"loads": loads}, batch=False),
        compile_function(f"{name}_energy", {"inputs": inputs}, {"energy": CASADI.to_sx(energy)}, batch=False),
    )


def _sum(motion: _FormMotion, load: Load) -> np.ndarray:
    """The wrench on each body, the force on each joint, and the power of what has no potential."""
    al = motion.al
    total: dict[str, np.ndarray] = {}
    power: Any = al.constant(0)
    parts = [(name, wrench, motion.body(name)[1], conservative) for name, wrench, conservative in load.wrenches]
    parts += [(name, force, motion.joint(name)[1], conservative) for name, force, conservative in load.joint_forces]
    for name, force, velocity, conservative in parts:
        total[name] = total[name] + force if name in total else force
        if not conservative:
            power = power + force @ velocity
    wrenches = [total.get(name, al.zeros(6)) for name in motion.bodies]
    forces = [total.get(name, al.zeros(len(motion.joint(name)[1]))) for name in motion.joints]
    return al.concatenate([*wrenches, *forces, al.array([power])])
