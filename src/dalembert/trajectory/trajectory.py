"""The labeled result of a simulation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast, overload

import numpy as np

from dalembert.arguments import Answering, public_methods
from dalembert.dynamics import Dynamics, Recipe
from dalembert.dynamics.outputs import formula_kernel, formula_of_motion
from dalembert.errors import DalembertError, check_known, unknown, warn
from dalembert.netcdf import write_sealed
from dalembert.notebook import Page, frame
from dalembert.state import State
from dalembert.trajectory.certificate import Certificate
from dalembert.trajectory.outcome import Occurrence, pieces
from dalembert.trajectory.record import residuals_along, solve_along
from dalembert.trajectory.recorded import AXES, Recorded
from dalembert.trajectory.shares import Weights, shared_along
from dalembert.trajectory.time_series import TimeSeries, labeled
from dalembert.trajectory.whole import check_whole
from dalembert.values import MISSHAPEN

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.model import Model

__all__ = ["BodyMotion", "JointMotion", "Trajectory", "read_certificate", "run_of", "understood"]

# Names of sliders, or ranges by name.
Ranges = Sequence[str] | Mapping[str, tuple[float, float] | None] | None


class LiveOptions(TypedDict, total=False):
    """What one may change in a page that simulates, see ``Trajectory.live``."""

    parameters: Ranges
    initial: Ranges
    initial_rates: Ranges
    integrators: Sequence[str]
    motions: Sequence[str]


# Files of format 1 have the names of formulation and coordinates, but not their options; those of format 2 no seal.
_FORMAT = 3
# What every run has: notes and arrays.
_ALWAYS = ("model", "formulation", "coordinate_kind", "integrator", "parameters", "events")
_ARRAYS = (
    "q", "u", "position", "orientation", "angular_velocity", "linear_velocity", "kinetic", "potential", "work",
    "momentum", "joint_coordinates", "joint_velocities", "outputs",
)  # fmt: skip

_WORDS = {  # of other programs
    **dict.fromkeys(("view", "show", "play", "visualize", "render", "plot3d"), "animate(path)"),
    **dict.fromkeys(("force", "torque", "wrench", "constraint_force"), "reaction(name)"),
    **dict.fromkeys(("forces", "torques"), "reactions()"), "bodies": "body(name)", "joints": "joint(name)",
    **dict.fromkeys(("position", "positions"), "body(name).position"),
    **dict.fromkeys(("velocity", "velocities"), "body(name).velocity"),
    **dict.fromkeys(("angle", "coordinate", "coordinates"), "joint(name).q"), "speed": "joint(name).u",
    **dict.fromkeys(("to_csv", "to_pandas", "to_dataframe"), "q.to_pandas()"),
    **dict.fromkeys(("t", "times"), "time"), **dict.fromkeys(("export", "write", "to_netcdf"), "save(path)"),
    "evaluate": "output(formula)",
}  # fmt: skip


@public_methods
class Trajectory(Answering, TimeSeries):
    """Motion over time, with a certificate.

    Attributes:
        data: an ``xarray.Dataset``: ``q``, ``u``, body poses and twists (world axes), energies, joints, outputs.
        certificate: how far to trust it.
        dynamics: the equations that were integrated.

    Example:
        run = da.simulate(da.library.four_bar(), 1.0)
        run.body("coupler").position
        run.reaction("D").sel(kind="force")
        run.save("run.nc")
    """

    _words = _WORDS
    _known_as = "the trajectory"

    def __init__(
        self,
        data: xr.Dataset | Recorded,
        certificate: Certificate,
        dynamics: Dynamics,
        resampler: Callable[..., Trajectory],
        writer: Callable[..., Path | Page] | None = None,
    ):
        self._data, self.certificate, self.dynamics = data, certificate, dynamics
        self._resampler = resampler  # the analysis behind ``resample``: it measures and certifies the motion again
        self._writer = writer  # the analysis behind ``live``, of runs that know how they were made

    def __repr__(self) -> str:
        time, attrs = self.values("time"), self.attrs
        return (
            f"<Trajectory of {attrs['model']!r}: {len(time)} times, {time[0]:g} … {time[-1]:g} s; "
            f"{attrs['formulation']}, {attrs['coordinate_kind']} coordinates, "
            f"{attrs['integrator']}; {self.certificate.verdict}>"
        )

    # Reading

    @property
    def data(self) -> xr.Dataset:
        """Labeled arrays of everything that was recorded."""
        # Labeled when first asked for: plain arrays are enough for many.
        if isinstance(self._data, Recorded):
            self._data = self._data.dataset()
        return self._data

    @property
    def attrs(self) -> dict[str, Any]:
        """Properties of the whole run: formulation, integrator, why it was chosen …."""
        return self._data.attrs

    def values(self, name: str) -> np.ndarray:
        """One of the arrays in ``data``, or the labels along a dimension, without more ado."""
        try:
            return np.asarray(self._data[name])
        except KeyError:
            there = ", ".join(str(known) for known in self.data.variables)
            raise DalembertError(f"the trajectory has no array {name!r}; it has {there}") from None

    @property
    def energy(self) -> xr.Dataset:
        """kinetic, potential, work (of forces without potential and of drives) and balance = T + V − W (J)."""
        return self.data[["kinetic", "potential", "work", "balance"]]

    @property
    def work(self) -> xr.DataArray:
        """Work of forces without potential, of drives and of events since the start (J)."""
        return self.data.work

    @property
    def momentum(self) -> xr.Dataset:
        """angular (N m s), about the world's origin, and linear (N s) momentum of all bodies, world axes."""
        found = self.data.momentum.to_dataset(dim="moment")
        for name, unit in (("angular", "N m s"), ("linear", "N s")):
            found[name].attrs["units"] = unit
        return found

    def body(self, name: str) -> BodyMotion:
        """Motion of one body."""
        self._known("body", name)
        return BodyMotion(self.data.sel(body=name, drop=True))

    def joint(self, name: str) -> JointMotion:
        """Coordinates and velocities of one joint."""
        entries = [str(entry) for entry in self.data.joint_q.values]
        mine = [entry for entry in entries if entry == name or entry.startswith(f"{name}[")]
        if not mine:
            names = sorted({entry.split("[")[0] for entry in entries})
            raise unknown("unknown joint", name, names, "the trajectory has")
        rates = [e for e in map(str, self.data.joint_u.values) if e == name or e.startswith(f"{name}[")]
        q, u = self.data.joint_coordinates.sel(joint_q=mine), self.data.joint_velocities.sel(joint_u=rates)
        return JointMotion(
            q.squeeze("joint_q", drop=True) if len(mine) == 1 else q,
            u.squeeze("joint_u", drop=True) if len(rates) == 1 else u,
        )

    def state(self, name: str) -> xr.DataArray:
        """One of the model's own states (``Model.state``)."""
        own = self.dynamics.coordinates.own_states
        check_known("unknown state", name, own, "the model has")
        return self.data.q.isel(coordinate=own[str(name)], drop=True)

    def output(self, name: str) -> xr.DataArray:
        """One of the model's outputs, or any formula of the motion, such as ``"x(slider) - length(coil)"``."""
        if name in map(str, self.values("output")):
            return self.data.outputs.sel(output=name, drop=True)
        kernel = self._formula(name)
        t, q, u, known = *(self.values(key) for key in ("time", "q", "u")), self.dynamics.found
        parts = [
            np.asarray(kernel(t[at], q[at], u[at], known(t[at], q[at], u[at], values)))
            for at, values in pieces(self.segments, len(t))
        ]
        return labeled(np.concatenate(parts).reshape(len(t)), self.time)

    def _formula(self, text: str) -> Any:
        """A formula of the motion as a kernel."""
        states = set(self.dynamics.coordinates.own_states)
        if "(" not in text and not states.intersection(re.findall(r"[\w.]+", text)):
            there = ", ".join(map(str, self.values("output"))) or "none"
            raise DalembertError(
                f"unknown output {text!r}; the trajectory has {there}.  "
                "Fix: one of them, or a formula of the motion, such as 'q(joint)' or 'x(body)'"
            )
        return formula_kernel(self.dynamics, [formula_of_motion(self.dynamics, text)])

    def reaction(self, name: str) -> xr.DataArray:
        """Wrench of a joint on its second body (torque and force in world axes, about the joint's point on that body,
        which a sliding joint carries along), or the multipliers of a constraint or drive: the torque (N m) or force (N)
        that it exerts."""
        if name in self._reactions:
            return self._reactions[name]
        rows = self.dynamics.rows.of([name])
        if name in self.dynamics.coordinates.eliminated:
            raise DalembertError(
                f"no reaction of {name!r}: it is eliminated in generalized coordinates.  Fix: coordinates='relative'"
            )
        if not rows:
            known = ", ".join([*self._reactions, *self.dynamics.rows.owners()])
            raise DalembertError(f"no reaction of {name!r}; known: {known}")
        values = self.multipliers[:, rows].squeeze()
        return values

    def reactions(self, weights: Weights | None = None) -> dict[str, xr.DataArray]:
        """All of ``reaction`` by name; with weights, redundant constraints share what they carry by them.

        Args:
            weights: by joint or constraint, 1 where nothing else is said; of all possible reactions those with the
                least Σ wᵢ |Fᵢ|² are given, over all joints in N and N m. A stiff joint has a small weight: it takes
                more. Two numbers weigh torque and force apart.
        """
        owners = [name for name in self.dynamics.rows.owners() if name in self.dynamics.flat.constraints]
        found = {name: self.reaction(name) for name in [*self._reactions, *owners]}
        if weights is None:
            return found
        shared = shared_along(self, *self.solved, self._reactions, weights)
        return {name: values.copy(data=shared[name].reshape(values.shape)) for name, values in found.items()}

    @cached_property
    def solved(self) -> tuple[np.ndarray, np.ndarray]:
        """u̇ and λ at every output, as plain arrays."""
        return solve_along(self.dynamics, self.values, self.segments)

    @property
    def accelerations(self) -> xr.DataArray:
        """u̇."""
        return labeled(self.solved[0], self.time, velocity=self.data.velocity)

    @property
    def multipliers(self) -> xr.DataArray:
        """λ, one for each constraint equation."""
        return labeled(self.solved[1], self.time, row=[str(row) for row in self.dynamics.rows])

    @cached_property
    def wrenches(self) -> dict[str, np.ndarray]:
        """Torque and force of every joint on its second body at every output, as plain arrays (time, 2, 3)."""
        k, known, (du, multipliers) = self.dynamics.kernels, self.dynamics.found, self.solved
        t, q, u = self.values("time"), self.values("q"), self.values("u")
        found = [
            np.asarray(
                k.reaction_kernel(t[at], q[at], u[at], known(t[at], q[at], u[at], values), du[at], multipliers[at])
            )
            for at, values in pieces(self.segments, len(t))
        ]
        wrench = np.concatenate(found).reshape(len(t), len(k.reaction_names), 2, 3)
        return {name: wrench[:, i] for i, name in enumerate(k.reaction_names)}

    @cached_property
    def _reactions(self) -> dict[str, xr.DataArray]:
        kinds = ["torque", "force"]
        return {name: labeled(wrench, self.time, kind=kinds, axis=AXES) for name, wrench in self.wrenches.items()}

    @property
    def residuals(self) -> dict[str, np.ndarray]:
        """The largest constraint residual at every output: |φ| as ``position`` (m, rad), where constraints are
        holonomic, and |A u + b| as ``velocity`` (m/s, rad/s)."""
        if not self.dynamics.rows:
            return {}
        found = dict(
            zip(("position", "velocity"), residuals_along(self.dynamics, self.values, self.segments), strict=True)
        )
        return {level: np.abs(values).max(axis=1) for level, values in found.items() if values.shape[1]}

    @property
    def segments(self) -> list[tuple[int, dict[str, float]]]:
        """(first output, parameters that differ from the model's) from each change of parameters on."""
        return [(start, values) for start, values in json.loads(self.attrs["parameters"])]

    @property
    def events(self) -> list[Occurrence]:
        """The events that happened, with ``time`` and ``name``."""
        return [Occurrence(**event) for event in json.loads(self.attrs["events"])]

    def _known(self, dimension: str, name: str) -> None:
        check_known(f"unknown {dimension}", name, [str(one) for one in self.values(dimension)], "the trajectory has")

    def at(self, time: float) -> State:
        """Where the mechanism is at a time of the run (s): a state to begin any analysis from.

        Between outputs it is that of ``resample``; where an event acts, what it leads to.
        """
        times, events = self.values("time"), self.dynamics.flat.events
        if time < times[-1] and any(one.time == time and events[one.name][0].acts for one in self.events):
            time = float(np.nextafter(time, np.inf))  # outputs show what was before
        here = np.flatnonzero(times == time)
        run, i = (self, int(here[-1])) if len(here) else (self.resample([time]), 0)
        q, u = run.values("q")[i], run.values("u")[i]
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(u))):
            raise DalembertError(f"the run has values that are not finite at t = {time:g} s")
        values = next(values for first, values in reversed(run.segments) if first <= i)
        relative = self.dynamics.relative.coordinates

        def joint(name: str) -> tuple[np.ndarray, np.ndarray]:  # with all its turns
            found = run.joint(name)
            return np.atleast_1d(found.q.values[i]), np.atleast_1d(found.u.values[i])

        now = State(time, q, u, self.dynamics.coordinates, values)
        return State(time, *now.to(relative, joint), relative, values)

    @cached_property
    def end(self) -> State:
        """The last state, from which any analysis can continue."""
        return self.at(float(self.values("time")[-1]))

    def resample(self, times: Iterable[float] | float | None = None, *, step: float | None = None) -> Trajectory:
        """The motion at other times within the run.

        Between two outputs q, u and the work follow polynomials of degree 5 through values and the first two rates at
        both ends; the states are then led back onto the constraints. Next to an event the motion is integrated from
        the nearest output instead. All other quantities and the certificate are measured again.

        Args:
            times: increasing (s).
            step: instead of times: from the first output on, so far apart (s).
        """
        return self._resampler(self, times, step=step)

    # Pictures and files

    def plot(
        self, path: str | Path | None = None, *, quantities: Sequence[str] | str | None = None, forces: bool = False
    ) -> Any:
        """Curves over time, with a thin line at each event; a matplotlib figure, written to ``path`` if given.

        Args:
            path: a PNG, SVG or PDF file.
            quantities: names of outputs, joints and bodies, formulas such as ``"x(slider)"``, ``energy``,
                ``momentum``, ``residuals``, ``reactions:NAME``; ``output:``, ``joint:`` and ``body:`` in front tell
                equal names apart. Default: the mechanism at some instants, outputs, coordinates of the joints, what
                motors supply, energy and its error, residuals of the constraints.
            forces: the default also shows how large the forces in the joints are.
        """
        from dalembert.view import with_file
        from dalembert.view.run_plots import figure

        return with_file(figure(self, quantities, forces), path)

    def plot_phase(self, x: str, y: str | None = None, path: str | Path | None = None) -> Any:
        """One quantity against another, by default the velocity of a joint against its coordinate.

        Args:
            x, y: joints, outputs, or formulas: ``q(A)``, ``u(A)``, ``x(rod) - x(hook)`` ….
            path: a PNG, SVG or PDF file.
        """
        from dalembert.view import with_file
        from dalembert.view.run_plots import phase

        return with_file(phase(self, x, y), path)

    def animate(self, path: str | Path, *, forces: bool = False) -> Path:
        """One self-contained HTML file: the mechanism in 3D, moving, with plots beside it.

        Args:
            forces: with arrows for what joints and rigid contacts do to their second bodies, which a button shows.
        """
        from dalembert.view import write_html
        from dalembert.view.run_scene import scene

        return write_html(scene(self, forces), path)

    def _repr_html_(self) -> str:
        """The page of ``animate`` in a notebook."""
        from dalembert.view import html
        from dalembert.view.run_scene import scene

        return frame(html(scene(self)))

    @overload
    def live(self, path: str | Path, **options: Unpack[LiveOptions]) -> Path: ...
    @overload
    def live(self, path: None = None, **options: Unpack[LiveOptions]) -> Page: ...
    def live(
        self,
        path: str | Path | None = None,
        *,
        parameters: Ranges = None,
        initial: Ranges = None,
        initial_rates: Ranges = None,
        integrators: Sequence[str] = (),
        motions: Sequence[str] = (),
    ) -> Path | Page:
        """One self-contained HTML file that simulates: the page of ``animate`` with sliders. Equations, solver, time
        loop, assembly and certificate are in it as WebAssembly; it asks for nothing from anywhere.

        Args:
            path: the file; without it the page itself is returned, which a notebook shows.
            parameters: names of parameters that get a slider, or their ranges by name; the first eight by default.
            initial, initial_rates: joints whose coordinates and velocities at the start get sliders, likewise.
            integrators: names of integrators that a menu in the page offers besides that of the run: ``dopri8``,
                ``tsit5``, ``rk4``, ``euler``, ``radau``, each as ``da.simulate(…, integrator=name)`` takes it.
            motions: names of drives, and of inputs that are formulas of time, whose formulas can be typed anew in the
                page: sums and products of t, parameters, and exp, sin and cos of a*t + b.
        """
        if self._writer is None:
            raise DalembertError("this motion was not made by da.simulate, so that it cannot be made again.  "
                                 "Fix: da.simulate(…).live(…)")  # fmt: skip
        return self._writer(self, path, parameters, initial, initial_rates, integrators, motions)

    def save(self, path: str | Path) -> Path:
        """NetCDF with the data, the certificate and the model; ``load`` reads it back."""
        from dalembert.io import dumps

        more = {
            "dalembert_format": _FORMAT,
            "certificate": json.dumps(asdict(self.certificate)),
            "model_file": dumps(self.dynamics.model),
            "recipe": self.dynamics.recipe.to_json(),
        }
        held = self.dynamics.rows.held
        if held:
            more["held_ranks"] = json.dumps([[np.frombuffer(key).tolist(), ranks] for key, ranks in held.items()])
        data = self._data
        if isinstance(data, Recorded):
            return write_sealed(path, replace(data, attrs=data.attrs | more))
        return write_sealed(path, data.assign_attrs(more))


def run_of(
    path: Path,
    data: xr.Dataset,
    sealed: bool,
    resampler: Callable[..., Trajectory],
    writer: Callable[..., Path | Page] | None = None,
) -> Trajectory:
    """The trajectory of a file, with the equations that were integrated: all options are as they were.

    Args:
        sealed: the content is as it was written.
        resampler, writer: the analyses behind ``resample`` and ``live``.
    """
    with understood(path):
        version = data.attrs.pop("dalembert_format", None)
        if version not in (1, 2, _FORMAT):
            raise DalembertError(f"{path} was not written by this version of dalembert")
        if version == _FORMAT and not sealed:
            raise DalembertError(
                f"{path} was changed by another program since it was written; its numbers cannot be trusted.  "
                "Fix: simulate again, or read it with xarray.load_dataset"
            )
        return _run(path, version, data, resampler, writer)


def _run(
    path: Path,
    version: int,
    data: xr.Dataset,
    resampler: Callable[..., Trajectory],
    writer: Callable[..., Path | Page] | None,
) -> Trajectory:
    from dalembert.io import loads

    certificate = read_certificate(data)
    model = loads(data.attrs.pop("model_file"), name=path.name)
    if version == 1:
        return Trajectory(data, certificate, _by_names(path, model, data), resampler, writer)
    try:
        dynamics = Dynamics.from_recipe(model, Recipe.from_json(data.attrs.pop("recipe", "")))
    except DalembertError as error:
        raise DalembertError(f"{path}: {error}") from None
    for values, (rank, holonomic) in json.loads(data.attrs.pop("held_ranks", "[]")):
        dynamics.rows.held[np.array(values, dtype=float).tobytes()] = (int(rank), int(holonomic))
    for dimension, names in (("coordinate", dynamics.q_names), ("velocity", dynamics.u_names)):
        if [str(name) for name in data[dimension].values] != names:
            raise ValueError(f"its {dimension} names are not those of its model")
    check_whole(data, _ALWAYS, _ARRAYS)
    return Trajectory(data, certificate, dynamics, resampler, writer)


def read_certificate(data: xr.Dataset) -> Certificate:
    """The certificate in the notes of a file, which are taken away."""
    fields = json.loads(data.attrs.pop("certificate"))
    if not isinstance(fields, dict):
        raise ValueError("its certificate is not a dictionary")
    certificate = Certificate.from_data(cast(dict[str, Any], fields))
    str(certificate)  # fails where values are of another kind than they should be
    return certificate


@contextmanager
def understood(path: str | Path) -> Generator[None]:
    """What cannot be understood in a file is reported in one message."""
    try:
        yield
    except MISSHAPEN as error:
        found = f"{type(error).__name__}: {error}"
        message = f"{path} is damaged, or was not written by dalembert ({found}).  Fix: simulate again"
        raise DalembertError(message) from None


def _by_names(path: Path, model: Model, data: xr.Dataset) -> Dynamics:
    """The equations of a file that keeps no options: those with the defaults, unless the file contradicts them."""
    dynamics = Dynamics(model, data.attrs["formulation"], data.attrs["coordinate_kind"])
    for dimension, names in (("coordinate", dynamics.q_names), ("velocity", dynamics.u_names)):
        if list(data[dimension].values) != names:
            raise DalembertError(
                f"{path} was written by an earlier version, which did not keep the options of its "
                f"{dynamics.coordinates.name} coordinates, and these were not the defaults.  Fix: simulate again"
            )
    if fields(dynamics.formulation):
        warn(
            f"{path} was written by an earlier version, which did not keep the options of formulation "
            f"{dynamics.formulation.name!r}; accelerations and reactions are computed with the defaults"
        )
    return dynamics


class BodyMotion:
    """Motion of one body over time, in world axes.

    Attributes:
        position: of the body's origin (m).
        quaternion: its orientation (w, x, y, z).
        velocity: of the body's origin (m/s).
        angular_velocity: (rad/s).
    """

    def __init__(self, data: xr.Dataset):
        self.position, self.quaternion = data["position"], data["orientation"]
        self.velocity, self.angular_velocity = data["linear_velocity"], data["angular_velocity"]

    def __repr__(self) -> str:
        times = self.position.sizes["time"]
        return f"<Motion of a body at {times} times: position, quaternion, velocity, angular_velocity>"


class JointMotion:
    """Coordinates ``q`` and velocities ``u`` of one joint over time."""

    def __init__(self, q: xr.DataArray, u: xr.DataArray):
        self.q, self.u = q, u

    def __repr__(self) -> str:
        return f"<Motion of a joint at {self.q.sizes['time']} times: coordinates q, velocities u>"
