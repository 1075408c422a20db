"""An independent solution of the equations of motion: dense, in world axes, plain NumPy.

All bodies are free, with spatial accelerations A (time derivative of the world-frame twist) as unknowns; every joint
forbids what its screws do not allow. Of the package only the model's data and the places of joints are used.

    I A + V ×* I V = F + Cᵀλ,     C A = d

Legend: six-vectors angular first, world axes about the world origin;  s screws of a joint;  N basis of its reactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import sympy as sp
from scipy.spatial.transform import Rotation
from sympy.core.function import AppliedUndef

from dalembert.algebra import NUMPY
from dalembert.expressions import STATE, TIME, references
from dalembert.expressions.symbols import as_reference, reference
from dalembert.fuzz.oracle_elements import FORCE_LAWS, GEOMETRY, derivatives, rolling_slip, with_tables
from dalembert.fuzz.saddle import least_squares, solve_constrained
from dalembert.model import Flat, Mechanism

__all__ = ["MOTIONS", "Oracle"]

# The joints as chains of elementary motions, from the first body to the second: R turn, T slide, H screw about/along an
# axis, O fixed shift along z, B ball, F free, C the parabola of the random models.
MOTIONS = {
    "revolute": "Rz", "prismatic": "Tz", "cylindrical": "Tz Rz", "screw": "Hz", "universal": "Rx Ry", "spherical": "B",
    "planar-translation": "Tx Ty", "schoenflies": "Tx Ty Tz Rz",
    "planar": "Tx Ty Rz", "translational": "Tx Ty Tz", "fixed": "", "free": "F", "point-on-line": "Tz B",
    "point-on-plane": "Tx Ty B", "distance": "Rx Ry O B", "rolling-disc": "Tx Ty Rz Rx O Ry",
    "rolling-sphere": "Tx Ty O B", "custom": "C",
}  # fmt: skip
AXIS = {"x": 0, "y": 1, "z": 2}


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def to_world(R: np.ndarray, p: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A twist or screw of a frame in world axes about the world origin."""
    w = R @ V[:3]
    return np.concatenate([w, R @ V[3:] + np.cross(p, w)])


def bracket(V: np.ndarray, W: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cross(V[:3], W[:3]), np.cross(V[:3], W[3:]) + np.cross(V[3:], W[:3])])


def wrench_at(point: np.ndarray, force: np.ndarray, torque: Any = 0.0) -> np.ndarray:
    return np.concatenate([np.cross(point, force) + torque, force])


def axis_rotation(axis: int, angle: float) -> np.ndarray:
    return Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix()


def quaternion_rotation(Q: np.ndarray) -> np.ndarray:
    return Rotation.from_quat([Q[1], Q[2], Q[3], Q[0]]).as_matrix()


@dataclass
class JointState:
    """Screws of a joint now: relative twist S u, what S u̇ lacks to the relative acceleration, second frame.

    ``unit`` of length is a convention, which decides where forces end and reactions begin: the package's.
    """

    first: str
    second: str
    S: np.ndarray
    u: np.ndarray
    bias: np.ndarray
    R_S: np.ndarray
    p_S: np.ndarray
    kind: str
    unit: float

    def wrench(self, tau: np.ndarray) -> np.ndarray:
        """The wrench on the second body that stands for joint forces: no part of it is a reaction, in axes of S."""
        units = np.array([1.0] * 3 + [1 / self.unit] * 3)
        local = np.stack([units * self.localize(column) for column in self.S.T], axis=1)
        if self.kind == "screw":  # a torque about its axis
            local[3:] = 0.0
        sizes: np.ndarray = np.linalg.norm(local, axis=0)
        even = local / sizes  # turns about far axes are large
        F = units * np.linalg.lstsq(even.T, tau / sizes, rcond=None)[0]
        return wrench_at(self.p_S, self.R_S @ F[3:], self.R_S @ F[:3])

    def localize(self, V: np.ndarray) -> np.ndarray:
        """A world screw in axes of S about its origin; what rounding leaves there is nothing."""
        shift = np.cross(self.p_S, V[:3])
        v = V[3:] - shift
        return np.concatenate(
            [self.R_S.T @ V[:3], self.R_S.T @ np.where(np.abs(v) > 1e-13 * np.abs(shift).max(), v, 0)]
        )

    def rates(self) -> np.ndarray:
        """The matrix that reads u from the relative twist: its rows are the wrenches of unit joint forces."""
        return np.array([self.wrench(e) for e in np.eye(len(self.u))])


class Oracle:
    """One mechanism at one instant.

    Args:
        poses, twists: of all bodies, as the package has them (twists in body axes).
        joint_q: unwound coordinates of joints.
        size: units of length and time of the mechanism.
        states: values of the model's own states.
        on: which side of one-sided constraints is closed, 1 or 2.
    """

    def __init__(
        self,
        flat: Flat,
        t: float,
        poses: dict[str, Any],
        twists: dict[str, Any],
        joint_q: dict[str, np.ndarray],
        size: Any = None,
        states: dict[str, float] | None = None,
        on: dict[str, int] | None = None,
    ):
        self.flat, self.t, self.poses, self.joint_q = flat, t, poses, joint_q
        self.states, self.on = states or {}, on or {}
        self.length, self.time = (1.0, 1.0) if size is None else (size.length, size.time)
        self.mechanism = Mechanism(flat, NUMPY, dict(flat.parameters))
        self.index = {name: i for i, name in enumerate(flat.bodies)}
        self.n = len(self.index)
        self.V = {name: to_world(poses[name].R, poses[name].p, twists[name]) for name in poses}
        self.joints = {name: self._joint(name) for name in flat.joints}
        self.rows: list[np.ndarray] = []
        self.rhs: list[float] = []
        self.owners: list[tuple[str, np.ndarray | None]] = []
        self.condition = 1.0
        self.scope: Any = None
        self.pulls: Any = None

    # Kinematics

    def _joint(self, name: str) -> JointState:
        placed: Any = self.mechanism.joint(name)
        data: Any = self.flat.joints[name][0]
        X1, X2 = self.poses[placed.first], self.poses[placed.second]
        R: Any
        p: Any
        R, p = X1.R @ placed.X_1P.R, X1.R @ placed.X_1P.p + X1.p
        R_S, p_S = X2.R @ placed.X_2S.R, X2.R @ placed.X_2S.p + X2.p
        relative = self.V[placed.second] - self.V[placed.first]
        q: list[Any] = list(self.joint_q[name])
        groups: list[list[np.ndarray]] = []
        extra = np.zeros(6)
        for motion in MOTIONS[data.kind].split():
            kind, axis = motion[0], AXIS.get(motion[1:], 2)
            e = np.eye(3)[axis]
            if kind == "R":
                groups.append([to_world(R, p, np.concatenate([e, np.zeros(3)]))])
                R = R @ axis_rotation(axis, q.pop(0))
            elif kind == "T":
                groups.append([to_world(R, p, np.concatenate([np.zeros(3), e]))])
                p = p + R @ e * q.pop(0)
            elif kind == "H":
                h = self.number(data.pitch) / (2 * np.pi)
                groups.append([to_world(R, p, np.concatenate([e, h * e]))])
                angle = q.pop(0)
                p, R = p + h * angle * R @ e, R @ axis_rotation(2, angle)
            elif kind == "O":
                length = data.radius if data.kind.startswith("rolling") else data.length
                size = placed.joint.length if length is None else self.number(length)
                p = p + R @ e * size
            elif kind == "B":
                R = R @ quaternion_rotation(np.array([q.pop(0) for _ in range(4)]))
                groups.append([to_world(R, p, np.concatenate([a, np.zeros(3)])) for a in np.eye(3)])
            elif kind == "F":
                groups.append([to_world(R_S, p_S, a) for a in np.eye(6)])
                q, R, p = [], R_S, p_S
            elif kind == "C":
                x = q.pop(0)
                L = self.length
                groups.append([to_world(R, p, np.array([0, 0, 0.5 / L, 1 + (x / L) ** 2 / 4, x / L / 2, 0]))])
                rate = self._along(np.array(groups[0]).T, relative, p_S).item()
                extra = to_world(R, p, np.array([0, 0, 0, x / L**2 / 2, 0.5 / L, 0])) * rate * rate
                p, R = p + R @ np.array([x, x * x / L / 2, 0]), R @ axis_rotation(2, x / L / 2)
        assert np.abs(R - R_S).max() < 1e-8 and np.abs(p - p_S).max() < 1e-8 * max(1.0, self.length), (
            f"joint {name}: coordinates do not fit the poses"
        )
        S = np.array([s for group in groups for s in group]).reshape(-1, 6).T
        u = self._along(S, relative, p_S) if S.size else np.zeros(0)
        bias, V, at = extra, self.V[placed.first], 0
        for group in groups:
            own = np.array(group).T @ u[at : at + len(group)]
            bias, V, at = bias + bracket(V, own), V + own, at + len(group)
        return JointState(placed.first, placed.second, S, u, bias, R_S, p_S, data.kind, placed.joint.unit)

    def _units_about(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Twists in units of length about a point, so that rows do not mix small numbers with large ones."""
        shift = np.eye(6)
        shift[3:, :3] = -skew(p)
        return np.array([1.0] * 3 + [1 / self.length] * 3), shift

    def _along(self, S: np.ndarray, V: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rates of screws about a point that make up a twist."""
        units, shift = self._units_about(p)
        even = units[:, None] * (shift @ S)
        sizes: np.ndarray = np.linalg.norm(even, axis=0)
        return np.linalg.lstsq(even / sizes, units * (shift @ V), rcond=None)[0] / sizes

    def number(self, formula: Any) -> float:
        values = {symbol: sp.Float(self.flat.parameters[symbol.name]) for symbol in formula.free_symbols}
        return float(with_tables(formula.xreplace(values), self.flat.tables))

    def value(self, formula: Any) -> float:
        """A formula of time, parameters and motion."""
        swap = {reference(r.quantity, r.element, r.index): sp.Float(self._quantity(r)[0]) for r in references(formula)}
        filled = formula.xreplace(swap).xreplace({TIME: sp.Float(self.t)})
        return self.number(filled)

    def _quantity(self, r: Any) -> tuple[Any, Any, np.ndarray, Any]:
        """(value, rate, row, bias) of a named quantity: its highest derivative is  row · A + bias.

        For positions the highest derivative is the second one, for velocities the first; then ``rate`` is not used.
        """
        row = np.zeros(6 * self.n)
        if r.quantity == STATE:
            return self.states[r.element], 0.0, row, 0.0
        if r.quantity in ("q", "u"):
            joint = self.joints[r.element]
            P = joint.rates()[r.index]
            self._add(row, joint.second, P)
            self._add(row, joint.first, -P)
            value = self.joint_q[r.element][r.index] if r.quantity == "q" else joint.u[r.index]
            return value, joint.u[r.index], row, -P @ joint.bias
        X, V, i = self.poses[r.element], self.V[r.element], AXIS[r.quantity[-1]]
        v = V[3:] + np.cross(V[:3], X.p)
        if r.quantity.startswith("w"):
            self._add(row, r.element, np.eye(6)[i])
            return V[i], 0.0, row, 0.0
        self._add(row, r.element, np.concatenate([-skew(X.p)[i], np.eye(3)[i]]))
        bias = np.cross(V[:3], v)[i]
        return (v[i] if r.quantity.startswith("v") else X.p[i]), v[i], row, bias

    def _add(self, row: np.ndarray, body: str, part: np.ndarray) -> None:
        if body != "ground":
            row[6 * self.index[body] : 6 * self.index[body] + 6] += part

    # Constraints

    def _constrain(self, owner: str, row: np.ndarray, value: float, wrench: np.ndarray | None = None) -> None:
        self.rows.append(row)
        self.rhs.append(value)
        self.owners.append((owner, wrench))

    def _joint_rows(self) -> None:
        for name, joint in self.joints.items():
            units, shift = self._units_about(joint.p_S)
            S = units[:, None] * (shift @ joint.S)
            N = np.asarray(scipy.linalg.null_space(S.T), dtype=float) if S.size else np.eye(6)
            for column in (N.T * units) @ shift:
                row = np.zeros(6 * self.n)
                self._add(row, joint.second, column)
                self._add(row, joint.first, -column)
                self._constrain(name, row, float(column @ joint.bias), column)
            if self.flat.joints[name][0].kind.startswith("rolling"):
                self._roll(name, joint)

    def _roll(self, name: str, joint: JointState) -> None:
        """The material point at the contact keeps its velocity in the plane, which is at rest."""
        placed: Any = self.mechanism.joint(name)
        data: Any = self.flat.joints[name][0]
        assert placed.first == "ground"
        r, n, V = self.number(data.radius), placed.X_1P.R[:, 2], self.V[placed.second]
        omega, v = V[:3], V[3:] + np.cross(V[:3], joint.p_S)
        arm, arm_rate = -r * n, np.zeros(3)
        if data.kind == "rolling-disc":
            a = joint.R_S[:, 1]
            da = np.cross(omega, a)
            w, dw = n - (n @ a) * a, -(n @ da) * a - (n @ a) * da
            size = np.linalg.norm(w)
            arm, arm_rate = -r * w / size, -r * (dw / size - w * (w @ dw) / size**3)
        contact = joint.p_S + arm
        drift = np.cross(omega, v) + np.cross(omega, arm_rate)
        for e in placed.X_1P.R[:, :2].T:
            part = np.concatenate([np.cross(contact, e), e])
            row = np.zeros(6 * self.n)
            self._add(row, joint.second, part)
            self._constrain(name, row, -e @ drift, part)

    def _formula_rows(self) -> None:
        formula: Any
        for name, formula, second in self._formulas():
            refs = sorted(references(formula), key=str)
            names = {ref: sp.Dummy(real=True) for ref in refs}
            phi: Any = formula.xreplace({reference(r.quantity, r.element, r.index): names[r] for r in refs})
            known = {ref: self._quantity(ref) for ref in refs}
            at = {names[ref]: known[ref][0] for ref in refs} | {TIME: self.t}

            def number(expression: Any, at: dict[Any, Any] = at) -> float:
                return self.number(expression.xreplace({k: sp.Float(v) for k, v in at.items()}))

            row, rest = np.zeros(6 * self.n), 0.0
            rates = {names[ref]: known[ref][1] for ref in refs} | {TIME: 1.0}
            for ref in refs:
                _, rate, its_row, bias = known[ref]
                slope = number(sp.diff(phi, names[ref]))
                if second or ref.quantity not in ("q", "x", "y", "z"):
                    row, rest = row + slope * its_row, rest + slope * bias
                else:
                    rest += slope * rate
            if second:
                rest += sum(number(sp.diff(phi, a, b)) * rates[a] * rates[b] for a in rates for b in rates)
            else:
                rest += number(sp.diff(phi, TIME))
            self._constrain(name, row, -rest)

    def _formulas(self) -> list[tuple[str, Any, bool]]:
        """All that are active: owner, left-hand side, whether it is one of positions."""
        found: list[tuple[str, Any, bool]] = []
        for name, (constraint, _) in self.flat.constraints.items():
            if not (constraint.active or name in self.on) or constraint.kind in GEOMETRY:
                continue
            if constraint.kind == "explicit":
                given = enumerate(constraint.formulas)
                found += [(name, reference("q", constraint.joint, i) - formula, True) for i, formula in given]
            elif constraint.kind == "belt":
                run = [r * reference("q", joint) for r, joint in zip(constraint.radii, constraint.joints, strict=True)]
                found += [(name, other - run[0], True) for other in run[1:]]
            else:
                found.append((name, *self._as_formula(constraint)))
        return found

    def _as_formula(self, constraint: Any) -> tuple[Any, bool]:
        """The equation, and whether it is one of positions."""

        def q(joint: str, index: int = 0) -> Any:
            return reference("q", joint, index)

        kind = constraint.kind
        if kind == "equation":
            return constraint.formula, constraint.level == "position"
        if kind == "drive":
            return q(constraint.joint, constraint.index) - constraint.motion, True
        if kind == "gear":
            return q(constraint.joints[0]) + constraint.ratio * q(constraint.joints[1]) - constraint.offset, True
        if kind == "rack":
            return q(constraint.rack) - constraint.radius * q(constraint.pinion) - constraint.offset, True
        if kind == "limit":
            upper = self.on[constraint.name] > 1 or constraint.lower is None
            return (constraint.upper - constraint.of if upper else constraint.of - constraint.lower), True
        if kind == "coupler":
            return sum((c * q(joint) for joint, c in constraint.terms.items()), -constraint.offset), True
        raise NotImplementedError(f"the oracle does not know the constraint {kind!r}: teach it in fuzz/oracle.py")

    def _geometry_rows(self) -> None:
        """Constraints that are numbers of the poses, and the slip of surfaces that roll."""
        poses = {name: (X.R, X.p) for name, X in self.poses.items()}
        for name, (constraint, scope) in self.flat.constraints.items():
            if constraint.kind not in GEOMETRY or not (constraint.active or name in self.on):
                continue
            self.scope = scope
            bodies = sorted({body for body in constraint.bodies if body != "ground"})
            g = GEOMETRY[constraint.kind](self, constraint)
            row = np.zeros(6 * self.n)
            for body in bodies:
                units = self._units_at(poses[body][1])
                part = [derivatives(g, self.t, poses, {body: V}, self)[0] for V in units]
                still = derivatives(g, self.t, poses, {}, self)[0]
                self._add(row, body, np.linalg.solve(units, np.array(part) - still))
            V = {body: self.V[body] for body in bodies}
            self._constrain(name, row, -derivatives(g, self.t, poses, V, self)[1])
            if constraint.kind == "rolling-surface" and not constraint.slips:
                self._slip_rows(name, rolling_slip(self, constraint), poses, bodies)

    def _units_at(self, p: np.ndarray) -> np.ndarray:
        """Turns about a point, and shifts by the unit of length, as world twists."""
        turns = [np.concatenate([e, np.cross(p, e)]) for e in np.eye(3)]
        return np.array([*turns, *(np.concatenate([np.zeros(3), self.length * e]) for e in np.eye(3))])

    def _slip_rows(self, name: str, slip: Any, poses: Any, bodies: list[str]) -> None:
        rest = {body: np.zeros(6) for body in self.poses}
        columns: dict[str, np.ndarray] = {}
        for body in bodies:
            units = self._units_at(poses[body][1])
            columns[body] = np.linalg.solve(units, np.array([slip(poses, {**rest, body: V}) for V in units]))
        V = {body: self.V[body] for body in bodies}
        for i in range(2):
            row = np.zeros(6 * self.n)
            for body in bodies:
                self._add(row, body, columns[body][:, i])

            def rate(t: float, moved: Any, i: int = i) -> float:
                return float(slip(moved, self.V)[i])

            self._constrain(name, row, -derivatives(rate, self.t, poses, V, self)[0])

    # Forces

    def applied(self) -> np.ndarray:
        F = np.zeros((self.n, 6))

        def act(body: str, wrench: np.ndarray) -> None:
            if body != "ground":
                F[self.index[body]] += wrench

        def push(body: str, at: np.ndarray, value: np.ndarray) -> None:
            act(body, wrench_at(at, value))

        gravity = np.array([self.number(g) for g in self.flat.gravity])
        for body, i in self.index.items():
            inertia = self.mechanism.inertia(body)
            F[i] += wrench_at(self.poses[body].apply(inertia.com), inertia.mass * gravity)
        for force, scope in self.flat.forces.values():
            self.scope, self.pulls = scope, act
            if force.kind in FORCE_LAWS:
                FORCE_LAWS[force.kind](self, force, push)
            else:
                getattr(self, "_" + force.kind.replace("-", "_"))(force, act)
        return F

    def named(self, formula: Any) -> list[Any]:
        """What of the motion a formula names."""
        return sorted(formula.atoms(AppliedUndef), key=str)

    def quantity(self, atom: Any) -> tuple[Any, Any, np.ndarray, Any]:
        """See ``_quantity``."""
        return self._quantity(as_reference(atom))

    def pull(self, atom: Any, value: Any) -> None:
        """A force along a coordinate of a joint or a position of a body."""
        ref = as_reference(atom)
        if ref.quantity == "q":
            self._motor(ref.element, ref.index, value, self.pulls)
        else:
            self.pulls(ref.element, wrench_at(self.poses[ref.element].p, value * np.eye(3)[AXIS[ref.quantity]]))

    def point(self, body: str, at: Any) -> tuple[np.ndarray, np.ndarray]:
        """Where a point of the drawing is now, and its velocity."""
        reference = self.mechanism.body_pose(body, self.scope)
        local = reference.R.T @ (np.array([self.number(x) for x in at]) - reference.p)
        p = self.poses[body].R @ local + self.poses[body].p
        return p, self.V[body][3:] + np.cross(self.V[body][:3], p)

    def _spring(self, force: Any, act: Any) -> None:
        (p1, v1), (p2, v2) = (self.point(body, at) for body, at in zip(force.bodies, force.at, strict=True))
        d, length = p2 - p1, np.linalg.norm(p2 - p1)
        drawn = [np.array([self.number(x) for x in at]) for at in force.at]
        free = np.linalg.norm(drawn[1] - drawn[0]) if force.length is None else self.value(force.length)
        tension = self.value(force.stiffness) * (length - free) + self.value(force.damping) * (d @ (v2 - v1)) / length
        act(force.bodies[0], wrench_at(p1, tension * d / length))
        act(force.bodies[1], wrench_at(p2, -tension * d / length))

    def _bushing(self, force: Any, act: Any) -> None:
        first, second = force.bodies
        (p1, _), (p2, v2) = self.point(first, force.point), self.point(second, force.point)
        R1, R2 = (self.poses[b].R @ self.mechanism.body_pose(b, self.scope).R.T for b in force.bodies)
        k, c, kr, cr = (
            np.diag([self.value(x) for x in field])
            for field in (force.stiffness, force.damping, force.angular_stiffness, force.angular_damping)
        )
        r = Rotation.from_matrix(R1.T @ R2).as_rotvec()
        theta, K = np.linalg.norm(r), skew(r)
        series = (1 / theta**2 - (1 + np.cos(theta)) / (2 * theta * np.sin(theta))) if theta > 1e-3 else 1 / 12
        # Elastic torque in axes of the second frame: minus the gradient of ½ rᵀ K r,  ṙ = D⁻¹ ω.
        D_inverse = np.eye(3) + K / 2 + series * K @ K
        omega = self.V[second][:3] - self.V[first][:3]
        torque = -R2 @ (D_inverse.T @ (kr @ r)) - R2 @ (cr @ (R2.T @ omega))
        # The velocity of the second frame's origin seen from the first body.
        v = v2 - (self.V[first][3:] + np.cross(self.V[first][:3], p2))
        f = -R1 @ (k @ (R1.T @ (p2 - p1))) - R1 @ (c @ (R1.T @ v))
        act(second, wrench_at(p2, f, torque))
        act(first, -wrench_at(p2, f, torque))

    def _force(self, force: Any, act: Any) -> None:
        value = np.array([self.value(x) for x in force.value])
        value = self.poses[force.body].R @ value if force.axes == "body" else value
        point = self.poses[force.body].p if force.at is None else self.point(force.body, force.at)[0]
        act(force.body, wrench_at(point, value))

    def _torque(self, force: Any, act: Any) -> None:
        value = np.array([self.value(x) for x in force.value])
        value = self.poses[force.body].R @ value if force.axes == "body" else value
        act(force.body, np.concatenate([value, np.zeros(3)]))
        if force.reaction_on is not None:
            act(force.reaction_on, -np.concatenate([value, np.zeros(3)]))

    def _motor(self, name: str, index: int, value: Any, act: Any) -> None:
        joint = self.joints[name]
        F = joint.wrench(value * np.eye(len(joint.u))[index])
        act(joint.second, F)
        act(joint.first, -F)

    def _torsional_spring(self, force: Any, act: Any) -> None:
        q, u = self.joint_q[force.joint][force.index], self.joints[force.joint].u[force.index]
        value = -self.value(force.stiffness) * (q - self.value(force.angle)) - self.value(force.damping) * u
        self._motor(force.joint, force.index, value, act)

    def _joint_force(self, force: Any, act: Any) -> None:
        self._motor(force.joint, force.index, self.value(force.value), act)

    def _potential(self, force: Any, act: Any) -> None:
        for atom in self.named(force.formula):
            self.pull(atom, -self.value(force.formula.diff(atom)))

    # Solution

    def solve(self) -> tuple[np.ndarray, dict[str, np.ndarray], int]:
        """Accelerations (n × 6: angular, of the body's origin; world axes), reactions, redundant equations.

        Reactions: wrench of each joint on its second body about the joint's point, world axes; not unique where
        equations are redundant.
        """
        self._joint_rows()
        self._formula_rows()
        self._geometry_rows()
        F = self.applied()
        M, h = self._inertia()
        C = np.array(self.rows).reshape(-1, 6 * self.n)
        d = np.array(self.rhs)
        units = np.tile([1.0] * 3 + [self.length] * 3, self.n)
        x, multipliers, even, self.condition = solve_constrained(M, C, F.reshape(-1) - h, d, units)
        A = x.reshape(-1, 6)
        found = np.empty_like(A)
        for body, i in self.index.items():
            p, V = self.poses[body].p, self.V[body]
            v = V[3:] + np.cross(V[:3], p)
            found[i] = np.concatenate([A[i, :3], A[i, 3:] + np.cross(A[i, :3], p) + np.cross(V[:3], v)])
        rank = np.linalg.matrix_rank(even, tol=1e-9) if len(C) else 0
        return found, self._reactions(multipliers), len(C) - int(rank)

    def _inertia(self) -> tuple[np.ndarray, np.ndarray]:
        """All inertias in world axes about the world origin, and the gyroscopic wrenches."""
        M, h = np.zeros((6 * self.n, 6 * self.n)), np.zeros(6 * self.n)
        for body, i in self.index.items():
            inertia, X, V = self.mechanism.inertia(body), self.poses[body], self.V[body]
            c, J = skew(X.apply(inertia.com)), X.R @ inertia.central @ X.R.T
            m = inertia.mass
            I = np.block([[J - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
            H, at = I @ V, slice(6 * i, 6 * i + 6)
            M[at, at] = I
            h[at] = np.concatenate([np.cross(V[:3], H[:3]) + np.cross(V[3:], H[3:]), np.cross(V[:3], H[3:])])
        return M, h

    def imbalance(self, accelerations: np.ndarray, reactions: dict[str, np.ndarray]) -> np.ndarray:
        """Rate of momentum of each body less all wrenches on it, of joints and, as far as they can, of constraints."""
        M, h = self._inertia()
        A = np.empty((self.n, 6))
        for body, i in self.index.items():
            p, V, a = self.poses[body].p, self.V[body], accelerations[i]
            v = V[3:] + np.cross(V[:3], p)
            A[i] = np.concatenate([a[:3], a[3:] - np.cross(a[:3], p) - np.cross(V[:3], v)])
        rest = (M @ A.reshape(-1) + h).reshape(-1, 6) - self.applied()
        for name, F in reactions.items():
            joint = self.joints[name]
            on_second = wrench_at(joint.p_S, F[3:], F[:3])
            for body, sign in ((joint.second, 1.0), (joint.first, -1.0)):
                if body != "ground":
                    rest[self.index[body]] -= sign * on_second
        own = [i for i, (_, wrench) in enumerate(self.owners) if wrench is None]
        if own:
            units = np.tile([self.length] * 3 + [1.0] * 3, self.n)
            columns = np.array([self.rows[i] / units for i in own]).T
            columns /= np.abs(columns).max(axis=0)
            flat: Any = rest.reshape(-1) / units
            carried = np.asarray(columns @ np.linalg.lstsq(columns, flat, rcond=1e-11)[0], dtype=float)
            return np.reshape((flat - carried) * units, (-1, 6))
        return rest

    def unconstrained(self) -> np.ndarray:
        """What the forces alone would give every free body that has inertia (n × 6, world axes): the size of terms."""
        M, h = self._inertia()
        net = self.applied().reshape(-1) - h
        found = np.zeros((self.n, 6))
        for i in range(self.n):
            at = slice(6 * i, 6 * i + 6)
            if np.abs(M[at, at]).max() > 0:
                found[i] = least_squares(M[at, at], net[at])[0]
        return found

    def _reactions(self, multipliers: np.ndarray) -> dict[str, np.ndarray]:
        total = {name: np.zeros(6) for name in self.flat.joints}
        for value, (owner, wrench) in zip(multipliers, self.owners, strict=True):
            if wrench is not None:
                total[owner] += value * wrench
        return {
            name: np.concatenate([F[:3] - np.cross(self.joints[name].p_S, F[3:]), F[3:]]) for name, F in total.items()
        }
