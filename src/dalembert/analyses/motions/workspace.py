"""Workspace: where a point can go while the drives run through their ranges."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analyses.assembly.assemble import Assembler, Start
from dalembert.analyses.assembly.assemble_given import read_desired
from dalembert.analyses.assembly.assemble_search import Search
from dalembert.analyses.assembly.prescribe import working_model
from dalembert.analyses.motions.motion_contacts import MotionContacts
from dalembert.arguments import public, public_methods
from dalembert.coordinates import Coordinates
from dalembert.dynamics import Dynamics
from dalembert.dynamics.assembly import CLOSED
from dalembert.dynamics.cached import cached_for
from dalembert.dynamics.gaps import closed_gaps
from dalembert.errors import DalembertError, check_known
from dalembert.model import Model, model_of
from dalembert.numerics.reflections import independent_rows
from dalembert.planar import Planar
from dalembert.values import NO_NUMBER, SEQUENCE

__all__ = ["Workspace", "workspace"]

SAMPLES = 41  # of each range
MOST_SAMPLES = 200_000


@public_methods
@dataclass(frozen=True)
class Workspace:
    """Places of a point for all combinations of the drives' values.

    Attributes:
        name: of the point.
        values: of the drives, one column each, by ``drives``.
        points: places (m), NaN where the loops do not close.
        reachable: True where they do, on the branch of the beginning.
        quality: smallest over largest singular value of constraints and drives: 0 at singular positions.
    """

    name: str
    drives: tuple[str, ...]
    values: np.ndarray
    points: np.ndarray
    reachable: np.ndarray
    quality: np.ndarray
    coordinates: Coordinates

    def __repr__(self) -> str:
        n = len(self.values)
        return f"<Workspace of {self.name}: {int(self.reachable.sum())} of {n} positions of {', '.join(self.drives)}>"

    def plot(self, path: str | Path | None = None) -> Any:
        """The places that are reached; a matplotlib figure, written to ``path`` if given."""
        from dalembert.view import with_file
        from dalembert.view.kinematics_plots import workspace_figure

        return with_file(workspace_figure(self), path)


@public
def workspace(
    model: Model | Planar | Dynamics,
    point: Any,
    ranges: Mapping[str, Sequence[float]],
    *,
    samples: int = SAMPLES,
    initial: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
) -> Workspace:
    """Where a point can go while joints run through their ranges, on the branch of the initial position and within
    all limits and rigid contacts.

    Args:
        model: the mechanism.
        point: ``(body, (x, y, z))`` as drawn, or a body for its origin.
        ranges: least and largest coordinate of each driven joint (rad, m).
        samples: of each range.
        initial: joint coordinates to begin with: they decide about the branch.
        parameters: values to use instead of the model's.

    Raises:
        DalembertError: freedoms are left open, or a name is not known.

    Example:
        ranges = {name: (-0.4, 0.4) for name in ("A1", "A2", "A3")}
        reach = da.workspace(da.library.three_rrr(), "platform", ranges, samples=5)
    """
    if samples < 1:
        raise DalembertError(f"workspace: samples must be a positive integer, got {samples!r}")
    made = model.model if isinstance(model, Dynamics) else model_of(model)
    dynamics = cached_for(made, ("workspace",), lambda: Dynamics(working_model(made, [], []), "auto", "relative"))
    body, at = _point(point)
    check_known("workspace: unknown body", body, dynamics.flat.bodies, "there are")
    if not ranges or samples ** len(ranges) > MOST_SAMPLES:
        raise DalembertError(
            f"workspace: {samples}^{len(ranges)} positions asked for, expected 1 … {MOST_SAMPLES}.  Fix: fewer samples"
        )
    axes = [_range(dynamics, name, bounds, samples) for name, bounds in ranges.items()]
    values = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    near = {**(initial or {})}
    base = Assembler(dynamics, dict(parameters or {}), 0.0, Start(near, native=True)).run().q
    found = _reach(dynamics, base, list(ranges), values, dict(parameters or {}))
    local = np.zeros(3)
    if at is not None:
        X = dynamics.coordinates.nominal.body_pose(body)
        local = np.asarray(X.inverse().apply(np.asarray(at, dtype=float)), dtype=float)
    q, reachable, quality = found
    seen = dynamics.bodies(q, parameters=dict(parameters or {}))[body]
    points = seen.position + seen.rotation @ local
    name = body if at is None else f"{body} at ({', '.join(f'{float(x):g}' for x in at)})"
    points[~reachable] = np.nan
    return Workspace(name, tuple(ranges), values, points, reachable, quality, dynamics.coordinates)


def _point(point: Any) -> tuple[Any, Any]:
    """Body and place."""
    body, at = point if isinstance(point, SEQUENCE) and len(point) == 2 else (point, None)
    body = getattr(body, "name", body)
    if not isinstance(body, str) or (at is not None and np.shape(at) != (3,)):
        raise DalembertError(f"workspace: point must be a body, or (body, (x, y, z)), got {reprlib.repr(point)}")
    return body, at


def _range(dynamics: Dynamics, name: str, bounds: Sequence[float], samples: int) -> np.ndarray:
    joints = dynamics.flat.joints
    if name not in joints or name not in dynamics.coordinates.slot_of_joint:
        known = ", ".join(dynamics.coordinates.slot_of_joint)
        raise DalembertError(f"workspace: {name!r} is not a joint that can be driven; there are {known}")
    if dynamics.coordinates.nominal_joint(name).joint.nq != 1:
        raise DalembertError(f"workspace: joint {name!r} has more than one coordinate")
    try:
        low, high = map(float, bounds)
    except NO_NUMBER:
        low, high = np.nan, np.nan
    if not low < high:
        raise DalembertError(f"workspace: range of {name!r} must be (least, largest), got {bounds!r}")
    return np.linspace(low, high, samples)


def _reach(
    dynamics: Dynamics, base: np.ndarray, names: list[str], values: np.ndarray, parameters: dict[str, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions led from one to all combinations; which of them close; and how far from singular they are."""
    slots = [dynamics.coordinates.slot_of_joint[name] for name in names]
    now = {name: float(base[slot.q][0]) for name, slot in zip(names, slots, strict=True)}
    search = Search(dynamics, read_desired(dynamics.coordinates, now, "ranges"), parameters, 0.0)
    freedoms, loose = search.freedoms(base)
    if freedoms:
        raise DalembertError(
            f"workspace: {freedoms} more freedoms of {dynamics.flat.name!r} must be led; {', '.join(loose)} can still "
            f"move"
        )
    wanted = np.tile(base, (len(values), 1))
    for k, slot in enumerate(slots):
        wanted[:, slot.q.start] = values[:, k]
    q, errors = search.lead(base, wanted, np.zeros((len(values), 0)))
    reachable = errors <= CLOSED * dynamics.even.size(q)
    contacts = MotionContacts(dynamics)
    if contacts.gaps:
        times, still = np.zeros(len(q)), np.zeros((len(q), dynamics.nv))
        reachable &= (contacts.gaps_at(times, q, still, parameters) >= -closed_gaps(dynamics)).all(axis=1)
    J = search.jacobians(q)
    if not J.shape[1] or not J.shape[2]:
        return q, reachable, np.where(reachable, 1.0, np.nan)
    # Beyond a singular position the loops are closed in another way.
    own = search.jacobian(base)
    rows = independent_rows(own, own.shape[1])
    reachable &= np.linalg.slogdet(J[:, rows])[0] == np.linalg.slogdet(own[rows])[0]
    sizes = np.linalg.svd(J, compute_uv=False)
    quality = sizes[:, -1] / np.maximum(sizes[:, 0], 1e-300)
    return q, reachable, np.where(reachable, quality, np.nan)
