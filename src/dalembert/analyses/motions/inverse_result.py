"""The result of inverse dynamics: forces by name, with the motion that they belong to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.analyses.assembly.prescribe import Unknown, output_name
from dalembert.analyses.motions.allocate import Allocation
from dalembert.analyses.motions.follow import Followed
from dalembert.analyses.motions.followed_run import followed_run
from dalembert.analyses.motions.motion_contacts import Rubbed
from dalembert.arguments import public_methods
from dalembert.atomic import write_atomic
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, index_of, unknown
from dalembert.model import Model
from dalembert.netcdf import write_sealed
from dalembert.trajectory import Certificate, Check, Trajectory
from dalembert.trajectory.recorded import AXES
from dalembert.trajectory.time_series import csv_of, labeled
from dalembert.trajectory.trajectory import BodyMotion, JointMotion

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.analyses.motions.sizing import Sizing

__all__ = ["Inverse", "Solved"]

POSITION_LIMIT = 1e-9
VELOCITY_LIMIT = 1e-9
LEFT_LIMIT = 1e-8  # of forces that nobody gives, relative to those that are needed
FORWARD_LIMIT = 1e-6  # of accelerations that the forces produce, relative


class Solved(NamedTuple):
    """Instants, the motion, the forces, their columns B, the power of other forces without potential, parameters with
    the unknowns at zero, all parameters at every instant, what unknowns and friction do to all velocities, friction,
    and checks of what is in the way of the motion."""

    times: np.ndarray
    followed: Followed
    found: Allocation
    B: np.ndarray
    power: np.ndarray
    parameters: dict[str, float]
    values: np.ndarray
    pushed: np.ndarray
    rubbed: Rubbed | None
    checks: list[Check]


def certify_inverse(dynamics: Dynamics, solved: Solved) -> Certificate:
    """What the motion leaves open, what nobody balances, and whether the forces give the motion back."""
    times, followed, found, parameters = solved.times, solved.followed, solved.found, solved.parameters
    checks: list[Check] = []
    if dynamics.rows:
        seen = dynamics.residuals(times, followed.q, followed.u, parameters) if not dynamics.is_large else None
        if seen is not None and dynamics.holonomic:
            checks.append(Check("position residual", _largest(seen.position), POSITION_LIMIT, "", "loops closed: |φ|"))
        if seen is not None:
            checks.append(Check("velocity residual", _largest(seen.velocity), VELOCITY_LIMIT, "", "|A u + b|"))
    checks += followed.checks()
    size = 1.0 + _largest(found.e)
    about = "forces that no unknown can give, relative to those that are needed"
    checks.append(Check("feasibility residual", _largest(found.left) / size, LEFT_LIMIT, "", about))
    checks += [*_forward(dynamics, solved), *solved.checks]
    remarks: list[str] = []
    for name, count in zip(solved.rubbed.names, solved.rubbed.standing, strict=True) if solved.rubbed else ():
        if count:
            remarks.append(f"{name} stands still at {count} instants: friction is taken as at the start of motion")
    if not found.unique.all():
        remarks.append("more unknowns than freedoms: those with the least weighted squares are given")
    if found.limited.any():
        remarks.append(f"limits are reached at {int(found.limited.sum())} of {len(times)} instants")
    feasible = _largest(found.left) / size <= LEFT_LIMIT
    message = "the forces produce the motion" if feasible else "the unknowns cannot produce this motion"
    return Certificate(feasible, message, tuple(checks), tuple(remarks), {"instants": len(times)})


def _forward(dynamics: Dynamics, solved: Solved) -> list[Check]:
    """Accelerations that the forces produce, against those of the motion."""
    followed, found = solved.followed, solved.found
    try:
        if dynamics.flat.feedback:
            du = np.array([_accelerations(dynamics, solved, i) for i in range(len(solved.times))])
        else:
            forces = solved.pushed + found.left
            du, _ = dynamics.solve(followed.q, followed.u, forces, t=solved.times, parameters=solved.parameters)
    except DalembertError:
        return []
    off = _largest(du - followed.du) / (1.0 + _largest(followed.du))
    about = "accelerations by forward dynamics with these forces, against the motion, relative"
    return [Check("forward dynamics", off, FORWARD_LIMIT, "", about)]


def _accelerations(dynamics: Dynamics, solved: Solved, i: int) -> np.ndarray:
    """u̇ at one instant, with unknowns as they are and friction as its signs say; what formulas feel is found anew."""
    values = dict(zip(dynamics.parameter_names, solved.values[i].tolist(), strict=True))
    if solved.rubbed is not None:
        signs = zip(solved.rubbed.names, solved.rubbed.signs[i].tolist(), strict=True)
        values |= {f"{name}.slip": sign for name, sign in signs}
    followed, t = solved.followed, float(solved.times[i])
    return dynamics.solve(followed.q[i], followed.u[i], solved.found.left[i], t=t, parameters=values)[0]


def _largest(values: Any) -> float:
    return float(np.abs(np.asarray(values)).max(initial=0.0))


@public_methods
class Inverse:
    """Forces behind a prescribed motion, and the motion.

    ``inverse["A"]`` is the force (N) or torque (N m) of an unknown over time; joints, bodies, outputs and reactions are
    read as from a trajectory.

    Attributes:
        model: the model as it was given.
        dynamics: the equations that were used: without drives, unknowns as parameters.
        certificate: how far to trust it: residuals, feasibility, and the motion that the forces give back.
        names: of the unknowns.
        unique: True at the instants where no other forces give the same motion.
        limited: True at the instants where a limit is reached.
        balance: E and e of the projected balance E τ = e at every instant, with rows of zeros behind.
        state: q and u at all instants, in the coordinates of ``dynamics``.

    Example:
        inverse = da.inverse_dynamics(da.library.four_bar(), {"A": "2*pi*t"}, 1.0)
        print(inverse.sizing())
    """

    def __init__(self, model: Model, dynamics: Dynamics, unknowns: list[Unknown], solved: Solved):
        self.model, self.dynamics, self.certificate = model, dynamics, certify_inverse(dynamics, solved)
        self.names = [one.name for one in unknowns]
        self._unknowns = unknowns
        self._t, self._followed, self._found, self._rubbed = solved.times, solved.followed, solved.found, solved.rubbed
        self._power, self._parameters, self._values = solved.power, solved.parameters, solved.values
        self.unique, self.limited, self.balance = (
            solved.found.unique,
            solved.found.limited,
            (solved.found.E, solved.found.e),
        )
        self.state = solved.followed.q, solved.followed.u
        self._speeds = np.einsum("tij,ti->tj", solved.B, solved.followed.u)

    def __repr__(self) -> str:
        peaks = np.abs(self._found.tau).max(axis=0)
        forces = ", ".join(f"{name} up to {peak:.4g}" for name, peak in zip(self.names, peaks, strict=True))
        return (
            f"<Inverse dynamics of {self.model.name!r}: {len(self._t)} instants, {self._t[0]:g} … {self._t[-1]:g} s; "
            f"{forces}; {self.certificate.verdict}>"
        )

    # Forces

    def __getitem__(self, name: str) -> xr.DataArray:
        """An unknown over time; else a coordinate of a joint, an output, or a prescribed quantity."""
        if name in self.names:
            return labeled(self._found.tau[:, self.names.index(name)], self._t, self.unit(name))
        for output in (name, output_name(name)):
            if output in self.dynamics.flat.outputs:
                return self.output(output)
        if name.split("[")[0] in self.dynamics.flat.joints:
            entries = [str(entry) for entry in self.motion.data.joint_q.values]
            if name in entries:
                return self.motion.data.joint_coordinates.sel(joint_q=name, drop=True)
        known = ", ".join([*self.names, *self.dynamics.flat.outputs, *self.dynamics.flat.joints])
        raise DalembertError(f"unknown quantity {name!r}; there are {known}")

    def values(self, name: str) -> np.ndarray:
        """Plain arrays over time without labels, which cost more than a short motion: ``time``, and by unknowns
        ``force``, ``speed`` and ``power``."""
        plain = {"time": self._t, "force": self._found.tau, "speed": self._speeds}
        if name not in (*plain, "power"):
            raise unknown("no values", name, [*plain, "power"])
        return plain[name] if name in plain else self._speeds * self._found.tau

    def wrenches(self) -> dict[str, np.ndarray]:
        """What ``reaction`` labels, for each joint: (time, torque or force, axis)."""
        names, wrench = self._wrenches
        return {name: wrench[:, k] for k, name in enumerate(names)}

    def unit(self, name: str) -> str:
        """Unit of an unknown: N m or N, or nothing where it is a parameter."""
        one = self._unknowns[index_of("no unknown", name, self.names)]
        if one.joint is None:
            return ""
        joint, index = self.dynamics.coordinates.nominal_joint(one.joint[0]).joint, one.joint[1]
        turns = index in joint.angles or any(first <= index < first + 3 for first in joint.quaternions)
        return "N m" if turns else "N"

    @property
    def forces(self) -> xr.Dataset:
        """All unknowns over time."""
        import xarray as xr

        return xr.Dataset({name: self[name] for name in self.names})

    @property
    def speeds(self) -> xr.DataArray:
        """Velocity that each unknown acts on: force times speed is power (rad/s, m/s)."""
        return labeled(self._speeds, self._t, unknown=self.names)

    @property
    def power(self) -> xr.DataArray:
        """Power of each unknown (W)."""
        found = self.speeds * self._found.tau
        found.attrs["units"] = "W"
        return found

    @property
    def residual(self) -> xr.DataArray:
        """Forces on all velocities that are needed, but that no unknown can give; zero if the motion is feasible."""
        return labeled(self._found.left, self._t, velocity=self.dynamics.u_names)

    def friction(self, name: str) -> xr.DataArray:
        """Force (N) or torque (N m) of a friction over time, along its velocity."""
        if self._rubbed is None:
            raise unknown("no friction", name, [], "the model has")
        k = index_of("no friction", name, self._rubbed.names, "the model has")
        return labeled(self._rubbed.forces[:, k], self._t)

    # The motion

    @cached_property
    def motion(self) -> Trajectory:
        """The motion as a trajectory."""
        work, parameters = self._work(), self._parameters
        return followed_run(self.dynamics, self._t, self._followed, work, parameters, self.certificate, self._values)

    def _work(self) -> np.ndarray:
        """Work of the unknowns and of other forces without potential since the start (J)."""
        total = self._power + np.sum(self._speeds * self._found.tau, axis=1)
        if len(self._t) < 2:
            return np.zeros(len(self._t))
        import scipy.interpolate

        splines: Any = scipy.interpolate
        degree = min(5, len(self._t) - 1) | 1 if len(self._t) > 2 else 1
        return splines.make_interp_spline(self._t, total, k=min(degree, len(self._t) - 1)).antiderivative()(self._t)

    @property
    def time(self) -> xr.DataArray:
        """Instants (s)."""
        return self.motion.time

    @property
    def accelerations(self) -> xr.DataArray:
        """u̇."""
        return labeled(self._followed.du, self._t, velocity=self.dynamics.u_names)

    def body(self, name: str) -> BodyMotion:
        """Motion of one body."""
        return self.motion.body(name)

    def joint(self, name: str) -> JointMotion:
        """Coordinates and velocities of one joint."""
        return self.motion.joint(name)

    def output(self, name: str) -> xr.DataArray:
        """One of the model's outputs, or a prescribed formula."""
        return self.motion.output(name)

    @property
    def energy(self) -> xr.Dataset:
        """kinetic, potential, work and balance (J)."""
        return self.motion.energy

    # Reactions

    @cached_property
    def _wrenches(self) -> tuple[list[str], np.ndarray]:
        k = self.dynamics.kernels
        f = self._followed
        found = np.asarray(k.reaction_kernel(self._t, f.q, f.u, self._values, f.du, self._found.multipliers))
        return k.reaction_names, found.reshape(len(self._t), len(k.reaction_names), 2, 3)

    def reaction(self, name: str) -> xr.DataArray:
        """Wrench of a joint on its second body: torque and force in world axes, about the joint's point; without what
        drives do along the joint's own freedom."""
        names, wrench = self._wrenches
        return labeled(wrench[:, index_of("no reaction of", name, names)], self._t, kind=["torque", "force"], axis=AXES)

    def reactions(self) -> dict[str, xr.DataArray]:
        """All of ``reaction`` by joint."""
        return {name: self.reaction(name) for name in self._wrenches[0]}

    def sizing(self) -> Sizing:
        """The loads of motors and bearings: peaks, effective values, power, energy, bearing loads."""
        from dalembert.analyses.motions.sizing import Sizing

        return Sizing(self)

    # Pictures and files

    @property
    def data(self) -> xr.Dataset:
        """The motion with ``force``, ``speed`` and ``power`` of the unknowns, ``residual`` and ``reaction``."""
        import xarray as xr

        names, wrench = self._wrenches
        dims = ("time", "unknown")
        more = {
            "force": (dims, self._found.tau), "speed": (dims, self._speeds), "power": (dims, self.power.values),
            "residual": (("time", "velocity"), self._found.left),
            "reaction": (("time", "joint", "kind", "axis"), wrench),
        }  # fmt: skip
        coords = {"unknown": self.names, "joint": names, "kind": ["torque", "force"]}
        return self.motion.data.assign({k: xr.Variable(*v) for k, v in more.items()}).assign_coords(coords)

    def to_csv(self) -> str:
        """Time, unknowns, their power, and all coordinates of joints as a table."""
        joints = [str(entry) for entry in self.motion.values("joint_q")]
        names = ["time", *self.names, *(f"power of {n}" for n in self.names), *(f"q({j})" for j in joints)]
        table = [self._t[:, None], self._found.tau, self.power.values, self.motion.values("joint_coordinates")]
        return csv_of(names, np.concatenate(table, axis=1))

    def save(self, path: str | Path) -> Path:
        """A file of all data: NetCDF (.nc), or a table of forces and coordinates (.csv)."""
        if Path(path).suffix == ".csv":
            return write_atomic(path, self.to_csv().encode(), DalembertError)
        facts = {"certificate": str(self.certificate), "unknowns": json.dumps(self.names)}
        return write_sealed(path, self.data.assign_attrs(facts))

    def plot(self, path: str | Path | None = None, *, quantities: Sequence[str] | str | None = None) -> Any:
        """Forces, power and the motion over time; a matplotlib figure, written to ``path`` if given.

        Args:
            path: a PNG, SVG or PDF file.
            quantities: as for a trajectory, and names of unknowns; default: unknowns, power, joint coordinates.
        """
        from dalembert.view import with_file
        from dalembert.view.inverse_plots import figure

        return with_file(figure(self, quantities), path)

    def animate(self, path: str | Path) -> Path:
        """One self-contained HTML file: the mechanism in 3D, moving, with its forces beside it."""
        from dalembert.view import write_html
        from dalembert.view.inverse_plots import inverse_scene

        return write_html(inverse_scene(self), path)
