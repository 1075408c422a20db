"""Rolled kernels: the recursions of large trees as native loops over links.

Each step of a recursion is traced once for each kind of joint, with the link's constants as inputs, and called in a
loop; so the time to compile does not depend on the number of bodies, and the time to run grows linearly with it.

Every link has a record of doubles. A kernel reads the beginning of a record and writes the fields that follow, so that
nothing is packed or unpacked; between links only twists, accelerations and wrenches are copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, call_kernel_offset, compile_function
from dalembert.coordinates import Coordinates
from dalembert.coordinates.base import Link
from dalembert.coordinates.kinematics import LinkState, step_outward
from dalembert.coordinates.recursions import gravity_base, step_back, step_inward
from dalembert.errors import ModelError
from dalembert.joints import JOINTS, Free, Joint
from dalembert.joints.reversed import Reversed
from dalembert.spatial import ArticulatedInertia, Pose, RigidInertia
from dalembert.spatial.pose import cross_motion

__all__ = ["LAYOUT_COLUMNS", "LINK_COLUMNS", "Rolled", "Seen", "forward", "inverse", "observe"]

# Symmetric 3×3 matrices are stored by their upper half.
_UPPER = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
_N_CONSTANTS = 22  # X_PJ: 12; inertia: 1 + 3 + 6
_N_UP = 27  # what a link adds to its parent: inertia 21, wrench 6


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


@dataclass(frozen=True)
class _Kind:
    """A kind of joint as it is traversed, with the step kernels for it."""

    key: tuple[str, bool]
    nq: int
    nv: int
    fields: _Fields
    kernels: dict[str, Kernel]


class Seen(NamedTuple):
    """The same fields as the unrolled observer."""

    pose: np.ndarray
    twist: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    momentum: np.ndarray
    joints: np.ndarray
    outputs: np.ndarray


class Rolled:
    """Forward and inverse dynamics of a tree by native loops.

    Args:
        coordinates: of a tree without constraints.
        values: parameters.
    """

    def __init__(self, coordinates: Coordinates, values: dict[str, float]):
        self.coordinates = coordinates
        self.tree = coordinates.place(NUMPY, values)
        self.kinds: list[_Kind] = []
        numbers: dict[tuple[str, bool], int] = {}
        rows = []
        for link in self.tree.links:
            key = _key(link.joint)
            if key not in numbers:
                numbers[key] = len(self.kinds)
                self.kinds.append(_trace(key))
            kind = self.kinds[numbers[key]]
            rows.append((numbers[key], link.parent, link.q.start, link.u.start, kind.fields.size))
        table = np.array(rows, dtype=np.int64).reshape(-1, 5)
        starts = np.concatenate([[0], np.cumsum(table[:, 4])])
        # The child that comes last in the tree is the first to add something to its parent: it sets, the others add.
        last_child = {parent: i for i, parent in enumerate(table[:, 1])}
        first = np.array([last_child[parent] == i for i, parent in enumerate(table[:, 1])], dtype=np.int64)
        leaf = np.array([i not in last_child for i in range(len(table))], dtype=np.int64)
        self.links = np.column_stack([table[:, :4], starts[:-1], first, leaf])
        self.record = np.zeros(int(starts[-1]))
        for start, link in zip(starts[:-1], self.tree.links, strict=True):
            constants = _constants(link)
            self.record[start : start + len(constants)] = constants

    @cached_property
    def layout(self) -> np.ndarray:
        """For each kind: sizes, kernel addresses and places of fields, as the loops read them."""
        rows = []
        for kind in self.kinds:
            f, k = kind.fields, kind.kernels
            addresses = [k[name].address for name in ("outward", "inward", "back", "newton", "euler")]
            starts = [f[name].start for name in _PLACES]
            rows.append([kind.nq, kind.nv, *addresses, *starts, k["observe"].address])
        return np.array(rows, dtype=np.int64)

    @cached_property
    def base(self) -> np.ndarray:
        """Acceleration of the ground that stands for gravity."""
        return gravity_base(self.tree.al, self.tree.mechanism.gravity)

    @cached_property
    def work(self) -> np.ndarray:
        return np.zeros(max(1, *(kernel.n_work for kind in self.kinds for kernel in kind.kernels.values())))

    def acceleration(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q̇ and u̇ by articulated bodies."""
        qdot, du = np.empty(self.coordinates.nq), np.empty(self.coordinates.nv)
        forward(self.layout, self.links, self.record, q, u, tau, self.base, qdot, du, self.work)
        return qdot, du

    def inverse(self, q: np.ndarray, u: np.ndarray, du: np.ndarray) -> np.ndarray:
        """τ by recursive Newton-Euler."""
        tau = np.empty(self.coordinates.nv)
        inverse(self.layout, self.links, self.record, q, u, du, self.base, tau, self.work)
        return tau

    def observe(self, q: np.ndarray, u: np.ndarray) -> Seen:
        """Poses, twists, energies and momentum at many states."""
        n, bodies = len(q), len(self.links)
        seen, pose, twist = np.empty((bodies, 28)), np.empty((n, 12 * bodies)), np.empty((n, 6 * bodies))
        sums = np.empty((n, 10))
        for i in range(n):
            observe(self.layout, self.links, self.record, q[i], u[i], seen, self.work)
            pose[i], twist[i], sums[i] = seen[:, :12].reshape(-1), seen[:, 12:18].reshape(-1), seen[:, 18:].sum(axis=0)
        potential = -sums[:, 1:4] @ self.tree.mechanism.gravity
        return Seen(pose, twist, sums[:, 0], potential, sums[:, 4:], self._joints(q, u), np.empty((n, 0)))

    def _joints(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Coordinates and velocities of the joints in the model's order."""
        slots = self.coordinates.slot_of_joint
        names = list(self.coordinates.flat.joints)
        return np.concatenate([part for name in names for part in (q[:, slots[name].q], u[:, slots[name].u])], axis=1)


def _key(joint: Joint) -> tuple[str, bool]:
    turned = isinstance(joint, Reversed)
    inner = joint.joint if isinstance(joint, Reversed) else joint
    if inner.kind == "custom":
        raise ModelError("a custom joint has its own formulas and cannot be part of a rolled kernel")
    return inner.kind, turned


def _constants(link: Link) -> np.ndarray:
    inertia, inner = link.inertia, link.joint.joint if isinstance(link.joint, Reversed) else link.joint
    upper = [inertia.A[i, j] for i, j in _UPPER]
    own = [getattr(inner, name.strip("[]")) for name in inner.parameters]
    poses = [part for X in (link.X_LB, link.X_PJ) for part in (X.R.reshape(-1), X.p)]
    return np.concatenate([*poses, [inertia.mass], inertia.h, upper, own])


# What the loops must find in a record, in the order of the layout's columns.
_PLACES = ("q", "u", "V_P", "X", "V", "I", "p", "tau", "W", "A_P", "du", "A", "qdot",
           "du_in", "A_P_in", "F", "F_up", "tau_out", "newton_out", "X_WP", "X_W", "seen")  # fmt: skip
(_NQ, _NV, _OUTWARD, _INWARD, _BACK, _NEWTON, _EULER, _Q, _U, _VP, _X, _V, _I, _P, _TAU, _W, _AP, _DU, _A, _QDOT,
 _DU_IN, _AP_IN, _F, _F_UP, _TAU_OUT, _NEWTON_OUT, _X_WP, _X_W, _SEEN, _OBSERVE) = range(30)  # fmt: skip
LAYOUT_COLUMNS = 30
LINK_COLUMNS = 7  # kind, parent, places of q, u and the record, first to add to its parent, without children


def _trace(key: tuple[str, bool]) -> _Kind:
    """Trace all steps for one kind of joint."""
    kind, turned = key
    cls = JOINTS[kind]
    names = [name.strip("[]") for name in cls.parameters]
    sample: Any = Free() if kind == "free" else cls(**dict.fromkeys(names, 1.0))
    nq, nv = sample.nq, sample.nv
    fields = _Fields(
        {"du_in": "X", "X_WP": "I"},
        X_LB=12, constants=_N_CONSTANTS + len(names), q=nq, u=nv, tau=nv, V_P=6,
        # forward dynamics; I and p are what the children add
        X=12, V=6, qdot=nq, I=21, p=6, W=6 * nv, e=nv, A_P=6, du=nv, A=6,
        # inverse dynamics
        du_in=nv, A_P_in=6, newton_out=12, F=6, tau_out=nv, F_up=6,
        # what is seen from outside: body pose, twist, kinetic energy, first moment and momentum
        X_WP=12, X_W=12, seen=28,
    )  # fmt: skip
    symbol, record = CASADI.symbols("record", fields.size)
    step = _Steps(record, fields, sample, names, turned)
    outputs = {
        "outward": (step.outward(), "V_P"),
        "inward": (step.inward(), "p"),
        "back": (step.back(), "A_P"),
        "newton": (step.newton(), "A_P_in"),
        "euler": (step.euler(), "F"),
        "observe": (step.observe(), "X_WP"),
    }
    kernels = {}
    for name, (values, last) in outputs.items():
        columns = {key: CASADI.to_sx(value) for key, value in values.items()}
        inputs = {"record": symbol[: fields[last].stop]}
        kernels[name] = compile_function(f"{kind.replace('-', '_')}_{name}", inputs, columns, batch=False)
    return _Kind(key, nq, nv, fields, kernels)


class _Steps:
    """The steps of the recursions over the symbols of one record; their text is that of ``coordinates``."""

    def __init__(self, record: np.ndarray, fields: _Fields, sample: Joint, names: list[str], turned: bool):
        self.record, self.fields = record, fields
        constants = self["constants"]
        own = dict(zip(names, constants[_N_CONSTANTS:], strict=True))
        joint: Joint = type(sample)(**own) if own else sample
        X_PJ = Pose(constants[:9].reshape(3, 3), constants[9:12])
        inertia = RigidInertia(constants[12], constants[13:16], _symmetric(constants[16:22]))
        X_LB = Pose(self["X_LB"][:9].reshape(3, 3), self["X_LB"][9:])
        joint = Reversed(joint) if turned else joint
        self.link = Link("", 0, joint, X_PJ, X_LB, inertia, slice(0, sample.nq), slice(0, sample.nv))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.record[self.fields[name]]

    def outward(self) -> dict[str, Any]:
        al, link = CASADI, self.link
        state = step_outward(al, link, Pose.identity(al), self["V_P"], al.zeros(6), self["q"], self["u"])
        return {
            "X": al.concatenate([state.X_PL.R.reshape(-1), state.X_PL.p]),
            "V": state.V_L,
            "qdot": link.joint.qdot(al, self["q"], self["u"]),
        }

    def _state(self) -> LinkState:
        """What the outward step left in the record; the rest of it is cheaper to compute again than to fetch."""
        al, X, V, joint = CASADI, self["X"], self["V"], self.link.joint
        X_PL = Pose(X[:9].reshape(3, 3), X[9:])
        S = joint.subspace(al, self["q"])
        own = S @ self["u"] if S.shape[1] else al.zeros(6)
        c = joint.bias(al, self["q"], self["u"]) + cross_motion(V, own)
        return LinkState(self.link.X_LB, X_PL, X_PL, S, c, V, al.zeros(6))

    def inward(self) -> dict[str, Any]:
        I, inertia = self["I"], self.link.inertia
        children = ArticulatedInertia(_symmetric(I[:6]), I[6:15].reshape(3, 3), _symmetric(I[15:]))
        total = ArticulatedInertia.from_rigid(CASADI, inertia) + children
        state = self._state()
        (W, e), I_up, p_up = step_inward(CASADI, state, total, inertia.bias(state.V_L) + self["p"], self["tau"])
        return {"W": W, "e": e, "I_up": _flat(I_up), "p_up": p_up}

    def back(self) -> dict[str, Any]:
        W = self["W"].reshape(len(self["e"]), 6)
        du, A = step_back(CASADI, self._state(), (W, self["e"]), self["A_P"])
        return {"du": du, "A": A}

    def newton(self) -> dict[str, Any]:
        """Outward step of inverse dynamics: pose, twist and acceleration, and the wrench the link needs."""
        al, link = CASADI, self.link
        state = step_outward(
            al, link, Pose.identity(al), self["V_P"], self["A_P_in"], self["q"], self["u"], self["du_in"]
        )
        F = link.inertia.apply(state.A_L) + link.inertia.bias(state.V_L)
        return {"VA": al.concatenate([state.V_L, state.A_L]), "F": F}

    def euler(self) -> dict[str, Any]:
        """Inward step of inverse dynamics."""
        al, joint = CASADI, self.link.joint
        X_PL = self.link.X_PJ @ joint.transform(al, self["q"])
        S = joint.subspace(al, self["q"])
        tau = S.T @ self["F"] if S.shape[1] else al.zeros(0)
        return {"tau": tau, "F_up": X_PL.force(self["F"])}

    def observe(self) -> dict[str, Any]:
        """World pose of the link; pose and twist of its body, kinetic energy, first moment and momentum."""
        al, link, X_WP = CASADI, self.link, self["X_WP"]
        parent = Pose(X_WP[:9].reshape(3, 3), X_WP[9:])
        state = step_outward(al, link, parent, self["V_P"], al.zeros(6), self["q"], self["u"])
        X_WL, X_WB, V = state.X_WL, state.X_WB, state.V
        moment = link.inertia.mass * X_WL.p + X_WL.R @ link.inertia.h
        seen = [X_WB.R.reshape(-1), X_WB.p, X_WB.R @ V[:3], X_WB.R @ V[3:]]
        energy = al.array([link.inertia.energy(state.V_L)])
        momentum = X_WL.force(link.inertia.apply(state.V_L))
        return {
            "X_W": al.concatenate([X_WL.R.reshape(-1), X_WL.p]),
            "seen": al.concatenate([*seen, energy, moment, momentum]),
        }


def _symmetric(upper: np.ndarray) -> np.ndarray:
    A = np.empty((3, 3), dtype=object)
    for value, (i, j) in zip(upper, _UPPER, strict=True):
        A[i, j] = A[j, i] = value
    return A


def _flat(inertia: ArticulatedInertia) -> np.ndarray:
    upper = [np.array([M[i, j] for i, j in _UPPER], dtype=object) for M in (inertia.A, inertia.C)]
    return np.concatenate([upper[0], inertia.B.reshape(-1), upper[1]])


@njit(cache=True, nogil=True)
def forward(layout, links, record, q, u, tau, base, qdot, du, work):
    """q̇ and u̇ by three passes over the links."""
    n = links.shape[0]
    for i in range(n):
        kind, parent, at = layout[links[i, 0]], links[i, 1], links[i, 4]
        _put(record, at + kind[_Q], q, links[i, 2], kind[_NQ])
        _put(record, at + kind[_U], u, links[i, 3], kind[_NV])
        _put(record, at + kind[_TAU], tau, links[i, 3], kind[_NV])
        if parent < 0:
            record[at + kind[_VP] : at + kind[_VP] + 6] = 0.0
        else:
            _put(record, at + kind[_VP], record, links[parent, 4] + layout[links[parent, 0]][_V], 6)
        call_kernel_offset(kind[_OUTWARD], record, at, record, at + kind[_X], work)
        if links[i, 6]:
            record[at + kind[_I] : at + kind[_I] + _N_UP] = 0.0
        _put(qdot, links[i, 2], record, at + kind[_QDOT], kind[_NQ])
    up = np.empty(7 * 6 + _N_UP)
    for i in range(n - 1, -1, -1):
        kind, parent, at = layout[links[i, 0]], links[i, 1], links[i, 4]
        call_kernel_offset(kind[_INWARD], record, at, up, 0, work)
        kept = 7 * kind[_NV]
        _put(record, at + kind[_W], up, 0, kept)
        if parent >= 0:
            to = links[parent, 4] + layout[links[parent, 0]][_I]
            if links[i, 5]:
                _put(record, to, up, kept, _N_UP)
            else:
                for j in range(_N_UP):
                    record[to + j] += up[kept + j]
    for i in range(n):
        kind, parent, at = layout[links[i, 0]], links[i, 1], links[i, 4]
        if parent < 0:
            _put(record, at + kind[_AP], base, 0, 6)
        else:
            _put(record, at + kind[_AP], record, links[parent, 4] + layout[links[parent, 0]][_A], 6)
        call_kernel_offset(kind[_BACK], record, at, record, at + kind[_DU], work)
        _put(du, links[i, 3], record, at + kind[_DU], kind[_NV])


@njit(cache=True, nogil=True)
def inverse(layout, links, record, q, u, du, base, tau, work):
    """τ by two passes over the links."""
    n = links.shape[0]
    for i in range(n):
        kind, parent, at = layout[links[i, 0]], links[i, 1], links[i, 4]
        _put(record, at + kind[_Q], q, links[i, 2], kind[_NQ])
        _put(record, at + kind[_U], u, links[i, 3], kind[_NV])
        _put(record, at + kind[_DU_IN], du, links[i, 3], kind[_NV])
        if parent < 0:
            record[at + kind[_VP] : at + kind[_VP] + 6] = 0.0
            _put(record, at + kind[_AP_IN], base, 0, 6)
        else:
            above = links[parent, 4] + layout[links[parent, 0]][_NEWTON_OUT]
            _put(record, at + kind[_VP], record, above, 6)
            _put(record, at + kind[_AP_IN], record, above + 6, 6)
        call_kernel_offset(kind[_NEWTON], record, at, record, at + kind[_NEWTON_OUT], work)
    for i in range(n - 1, -1, -1):
        kind, parent, at = layout[links[i, 0]], links[i, 1], links[i, 4]
        call_kernel_offset(kind[_EULER], record, at, record, at + kind[_TAU_OUT], work)
        _put(tau, links[i, 3], record, at + kind[_TAU_OUT], kind[_NV])
        if parent >= 0:
            to = links[parent, 4] + layout[links[parent, 0]][_F]
            for j in range(6):
                record[to + j] += record[at + kind[_F_UP] + j]


@njit(cache=True, nogil=True)
def observe(layout, links, record, q, u, seen, work):
    """Pose (12) and twist (6) of each body in world axes, kinetic energy, first moment (3) and momentum (6)."""
    for i in range(links.shape[0]):
        kind, parent, at = layout[links[i, 0]], links[i, 1], links[i, 4]
        _put(record, at + kind[_Q], q, links[i, 2], kind[_NQ])
        _put(record, at + kind[_U], u, links[i, 3], kind[_NV])
        to = at + kind[_X_WP]
        if parent < 0:
            record[at + kind[_VP] : at + kind[_VP] + 6] = 0.0
            record[to : to + 12] = 0.0
            record[to] = record[to + 4] = record[to + 8] = 1.0
        else:
            above = layout[links[parent, 0]]
            _put(record, at + kind[_VP], record, links[parent, 4] + above[_V], 6)
            _put(record, to, record, links[parent, 4] + above[_X_W], 12)
        call_kernel_offset(kind[_OUTWARD], record, at, record, at + kind[_X], work)
        call_kernel_offset(kind[_OBSERVE], record, at, record, at + kind[_X_W], work)
        _put(seen[i], 0, record, at + kind[_SEEN], 28)


@njit(cache=True, nogil=True, inline="always")
def _put(target, start, source, begin, count):
    for j in range(count):
        target[start + j] = source[begin + j]
