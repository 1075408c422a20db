"""The steps of rolled recursions for one link, traced once for each kind of link.

Every link has a record of doubles. A kernel reads the beginning of a record and writes the fields that follow, so that
nothing is packed or unpacked; between links only poses, twists, accelerations and wrenches are copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.dense_solve import solve_spd
from dalembert.codegen import Kernel, compile_function
from dalembert.coordinates.base import Link
from dalembert.errors import ModelError
from dalembert.joints import JOINTS, Joint
from dalembert.joints.reversed import Reversed
from dalembert.native import Flags, Int, Integers, Kernels, Record
from dalembert.spatial import ArticulatedInertia, Pose, RigidInertia
from dalembert.spatial.pose import cross_motion
from dalembert.tree.outward import LinkState, step_outward
from dalembert.tree.recursions import Eliminated, step_back, step_inward

__all__ = ["N_UP", "SEEN", "LinkKey", "LinkKind", "LinkKinds", "link_constants", "trace_link"]

# Symmetric 3×3 matrices are stored by their upper half.
_UPPER = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
_N_CONSTANTS = 22  # X_PJ: 12; inertia: 1 + 3 + 6
N_UP = 27  # what a link adds to its parent: inertia 21, wrench 6
SEEN = 28  # what is seen of a body: pose 12, twist 6, kinetic energy, first moment 3, momentum 6


class LinkKey(NamedTuple):
    """What links share that run by the same kernels: joint, its direction, whether it has an armature and loads, and
    whether the mechanism has loops.
    """

    joint: str
    turned: bool
    rotor: bool
    loaded: bool
    looped: bool

    @classmethod
    def of(cls, link: Link, loaded: bool, looped: bool) -> LinkKey:
        turned = isinstance(link.joint, Reversed)
        inner = link.joint.joint if isinstance(link.joint, Reversed) else link.joint
        if not inner.uniform:
            raise ModelError("a custom joint has its own formulas and cannot be part of a rolled kernel")
        return cls(inner.kind, turned, link.armature is not None, loaded, looped)


class _Fields:
    """Names and places of the fields of a record, one after the other.

    What serves another purpose may take the place of fields that are not in use then: ``instead_of`` names, for the
    first field of such a group, the field whose place the group takes.
    """

    def __init__(self, instead_of: dict[str, str], **sizes: int):
        self.at: dict[str, slice] = {}
        end = self.size = 0
        for name, size in sizes.items():
            if name in instead_of:
                end = self.at[instead_of[name]].start
            self.at[name] = slice(end, end + size)
            end += size
            self.size = max(self.size, end)

    def __getitem__(self, name: str) -> slice:
        return self.at[name]

    def size_of(self, name: str) -> int:
        return self.at[name].stop - self.at[name].start


@dataclass(frozen=True)
class LinkKind:
    """The records of a kind of link, and the kernels of its steps."""

    fields: _Fields
    kernels: dict[str, Kernel]


class LinkKinds(Record):
    """What the native loops find for each kind of link: sizes, kernels, and where its fields are in a link's numbers
    (see ``trace_link``)."""

    n = Int()
    nq, nv = 2 * Integers("n")
    loaded = Flags("n")
    outward, place, inward, back, newton, euler, observe, yields, move = 9 * Kernels("n")
    q, u, tau, F_ext, V_P = 5 * Integers("n")
    X, V, qdot, I, W, e, A_P, du, A, S, G = 11 * Integers("n")
    du_in, A_P_in, newton_out, F, tau_out, F_up = 6 * Integers("n")
    X_WP, X_W, X_B, seen = 4 * Integers("n")

    @classmethod
    def of(cls, kinds: list[LinkKind]) -> LinkKinds:
        def each(values: list[int]) -> np.ndarray:
            return np.array(values, dtype=np.int64)

        sizes = {name: each([kind.fields.size_of(part) for kind in kinds]) for name, part in (("nq", "q"), ("nv", "u"))}
        loaded = np.array([kind.fields.size_of("F_ext") > 0 for kind in kinds], dtype=bool)
        places: dict[str, Any] = {}
        for name, field in cls.fields.items():
            if isinstance(field, Kernels):
                places[name] = [kind.kernels.get(name) for kind in kinds]
            elif isinstance(field, Integers) and name not in sizes:
                places[name] = each([kind.fields[name].start for kind in kinds])
        return cls(n=len(kinds), loaded=loaded, **sizes, **places)


def link_constants(link: Link) -> np.ndarray:
    """What the record of a link begins with."""
    inertia, inner = link.inertia, link.joint.joint if isinstance(link.joint, Reversed) else link.joint
    upper = [inertia.A[i, j] for i, j in _UPPER]
    own = [getattr(inner, name.strip("[]")) for name in inner.parameters]
    poses = [part for X in (link.X_LB, link.X_PJ) for part in (X.R.reshape(-1), X.p)]
    rotor = [] if link.armature is None else [link.armature]
    return np.concatenate([*poses, [inertia.mass], inertia.h, upper, own, rotor])


@lru_cache(maxsize=256)
def trace_link(key: LinkKey) -> LinkKind:
    """Trace all steps for one kind of link."""
    cls = JOINTS[key.joint]
    names = [name.strip("[]") for name in cls.parameters]
    sample: Any = cls.sample()
    nq, nv = sample.nq, sample.nv
    fields = _Fields(
        {"du_in": "X", "X_WP": "I"},
        X_LB=12, constants=_N_CONSTANTS + len(names) + key.rotor, q=nq, u=nv, tau=nv, F_ext=6 * key.loaded, V_P=6,
        # forward dynamics; I and p are what the children add
        X=12, V=6, qdot=nq, I=21, p=6, W=6 * nv, e=nv, A_P=6, du=nv, A=6,
        # what loops ask for: subspace and D⁻¹
        S=6 * nv * key.looped, G=nv * nv * key.looped,
        # inverse dynamics
        du_in=nv, A_P_in=6, newton_out=12, F=6, tau_out=nv, F_up=6,
        # what forces ask for: world pose of the link and of its body, twist of the body in its own axes
        X_WP=12, X_W=12, X_B=12, V_B=6,
        # and what is seen from outside besides: twist in world axes, kinetic energy, first moment and momentum
        seen=SEEN - 12,
    )  # fmt: skip
    symbol, record = CASADI.symbols("record", fields.size)
    step = _Steps(record, fields, sample, names, key)
    outputs = {
        "outward": (step.outward(), "V_P"),
        "place": (step.place(), "X_WP"),
        "inward": (step.inward(), "p"),
        "back": (step.back(), "A_P"),
        "newton": (step.newton(), "A_P_in"),
        "euler": (step.euler(), "F"),
        "observe": (step.observe(), "V_B"),
    }
    if key.looped:
        outputs |= {"yields": (step.yields(), "A_P"), "move": (step.move(), "du")}
    kernels: dict[str, Kernel] = {}
    for name, (values, last) in outputs.items():
        columns = {key: CASADI.to_sx(value) for key, value in values.items()}
        inputs = {"record": symbol[: fields[last].stop]}
        kernels[name] = compile_function(f"{key.joint.replace('-', '_')}_{name}", inputs, columns, batch=False)
    return LinkKind(fields, kernels)


class _Steps:
    """The steps of the recursions over the symbols of one record; their text is that of ``coordinates``."""

    def __init__(self, record: np.ndarray, fields: _Fields, sample: Joint, names: list[str], key: LinkKey):
        self.record, self.fields = record, fields
        constants = self["constants"]
        own = dict(zip(names, constants[_N_CONSTANTS : _N_CONSTANTS + len(names)], strict=True))
        joint: Joint = type(sample)(**own) if own else sample
        X_PJ = Pose(constants[:9].reshape(3, 3), constants[9:12])
        inertia = RigidInertia(constants[12], constants[13:16], _symmetric(constants[16:22]))
        joint = Reversed(joint) if key.turned else joint
        armature = constants[-1] if key.rotor else None
        self.looped = key.looped
        q, u = slice(0, sample.nq), slice(0, sample.nv)
        self.link = Link("", 0, joint, X_PJ, self._pose("X_LB"), inertia, q, u, armature)
        # The wrench of forces on the link, in link axes.
        self.applied = self.link.X_LB.force(self["F_ext"]) if key.loaded else CASADI.zeros(6)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.record[self.fields[name]]

    def _pose(self, name: str) -> Pose:
        return Pose(self[name][:9].reshape(3, 3), self[name][9:])

    def outward(self) -> dict[str, Any]:
        al, link = CASADI, self.link
        state = step_outward(al, link, Pose.identity(al), self["V_P"], al.zeros(6), self["q"], self["u"])
        return {"X": _numbers(state.X_PL), "V": state.V_L, "qdot": link.joint.qdot(al, self["q"], self["u"])}

    def place(self) -> dict[str, Any]:
        """World pose of the link and of its body, and the body's twist."""
        X_WL, X_LB = self._pose("X_WP") @ self._pose("X"), self.link.X_LB
        return {"X_W": _numbers(X_WL), "X_B": _numbers(X_WL @ X_LB), "V_B": X_LB.motion_inverse(self["V"])}

    def _state(self) -> LinkState:
        """What the outward step left in the record; the rest of it is cheaper to compute again than to fetch."""
        al, link, X_PL, V = CASADI, self.link, self._pose("X"), self["V"]
        S = link.joint.subspace(al, self["q"])
        own = S @ self["u"] if S.shape[1] else al.zeros(6)
        c = link.joint.bias(al, self["q"], self["u"]) + cross_motion(V, own)
        rotor = self._rotor(al.zeros(link.joint.nv))
        return LinkState(link.X_LB, X_PL, X_PL, S, c, V, al.zeros(6), link.armature, rotor)

    def _rotor(self, du: np.ndarray) -> np.ndarray | None:
        """The joint force that the armature takes."""
        link = self.link
        return None if link.armature is None else link.armature * link.joint.rotor_rate(CASADI, self["u"], du)

    def inward(self) -> dict[str, Any]:
        I, inertia = self["I"], self.link.inertia
        children = ArticulatedInertia(_symmetric(I[:6]), I[6:15].reshape(3, 3), _symmetric(I[15:]))
        total = ArticulatedInertia.from_rigid(CASADI, inertia) + children
        state = self._state()
        p = inertia.bias(state.V_L) + self["p"] - self.applied
        joint, I_up, p_up = step_inward(CASADI, state, total, p, self["tau"])
        found = {"W": joint.W, "e": joint.e, "I_up": _flat(I_up), "p_up": p_up}
        if self.looped:
            found |= {"S": state.S, "G": solve_spd(CASADI, joint.D, CASADI.eye(len(joint.e)))}
        return found

    def back(self) -> dict[str, Any]:
        return self._back(self._state())

    def yields(self) -> dict[str, Any]:
        """As ``back``, for a link at rest."""
        return self._back(self._state().at_rest(CASADI))

    def _back(self, state: LinkState) -> dict[str, Any]:
        e, none = self["e"], CASADI.zeros(0)
        joint = Eliminated(none, none, self["W"].reshape(len(e), 6), e)
        du, A = step_back(state, joint, self["A_P"])
        return {"du": du, "A": A}

    def move(self) -> dict[str, Any]:
        """q moved along du."""
        joint = self.link.joint
        return {"q": joint.normalize(CASADI, joint.integrate(CASADI, self["q"], self["du"]))}

    def newton(self) -> dict[str, Any]:
        """Outward step of inverse dynamics: pose, twist and acceleration, and the wrench the link needs."""
        al, link = CASADI, self.link
        state = step_outward(
            al, link, Pose.identity(al), self["V_P"], self["A_P_in"], self["q"], self["u"], self["du_in"]
        )
        F = link.inertia.apply(state.A_L) + link.inertia.bias(state.V_L) - self.applied
        return {"VA": al.concatenate([state.V_L, state.A_L]), "F": F}

    def euler(self) -> dict[str, Any]:
        """Inward step of inverse dynamics; forces on the joint's velocities are not taken off yet."""
        al, joint = CASADI, self.link.joint
        X_PL = self.link.X_PJ @ joint.transform(al, self["q"])
        S = joint.subspace(al, self["q"])
        tau = S.T @ self["F"] if S.shape[1] else al.zeros(0)
        rotor = self._rotor(self["du_in"])
        return {"tau": tau if rotor is None else tau + rotor, "F_up": X_PL.force(self["F"])}

    def observe(self) -> dict[str, Any]:
        """Twist of the body in world axes, kinetic energy, first moment and momentum."""
        al, link, X_WL, R, V, V_B = CASADI, self.link, self._pose("X_W"), self._pose("X_B").R, self["V"], self["V_B"]
        energy = link.inertia.energy(V)
        if link.armature is not None:
            energy = energy + link.armature * (self["u"] @ self["u"]) / 2
        moment = link.inertia.mass * X_WL.p + X_WL.R @ link.inertia.h
        momentum = X_WL.force(link.inertia.apply(V))
        return {"seen": al.concatenate([R @ V_B[:3], R @ V_B[3:], al.array([energy]), moment, momentum])}


def _numbers(X: Pose) -> np.ndarray:
    return np.concatenate([X.R.reshape(-1), X.p])


def _symmetric(upper: np.ndarray) -> np.ndarray:
    A = np.empty((3, 3), dtype=object)
    for value, (i, j) in zip(upper, _UPPER, strict=True):
        A[i, j] = A[j, i] = value
    return A


def _flat(inertia: ArticulatedInertia) -> np.ndarray:
    upper = [np.array([M[i, j] for i, j in _UPPER], dtype=object) for M in (inertia.A, inertia.C)]
    return np.concatenate([upper[0], inertia.B.reshape(-1), upper[1]])
