"""Planar mechanisms at one state: by nodes, as a model in joint coordinates, and by groups of bodies."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.fuzz.check_models import AGREEMENT, WORST_CONDITION, Finding, Judged
from dalembert.fuzz.physical_states import accelerations_in_world, body_motion, consistent_state, reference_coordinates
from dalembert.io import dumps, loads
from dalembert.modular.subsystem import Subsystem
from dalembert.planar import Planar
from dalembert.planar.planar_geometry import Drawn
from dalembert.spatial import so3
from dalembert.state import State

__all__ = ["check_planar"]

TIME = 0.3


def check_planar(planar: Planar, seed: int) -> Judged:
    """Compare what both formulations say of a mechanism at a random state."""
    judged = Judged()
    dynamics = Dynamics(planar.to_model(), "lagrange-multipliers", "relative")
    try:
        q, u = consistent_state(dynamics, seed, t=TIME)
    except DalembertError as error:
        judged.skipped = f"no state: {error}"
        return judged
    du = dynamics.solve(q, u, t=TIME)[0]
    left = dynamics.residuals(TIME, q, u)
    A = np.asarray(left.jacobian)
    sizes = np.linalg.svd(A, compute_uv=False) if len(A) else np.ones(1)
    if sizes[0] > WORST_CONDITION * sizes[-1] or len(A) >= dynamics.nv:
        judged.skipped = "ill-conditioned state" if len(A) < dynamics.nv else "no freedom"
        return judged
    expected = _accelerations(planar, dynamics, q, u, du)
    values = planar.node_values(State(TIME, q, u, dynamics.relative.coordinates, {}))
    _compare(judged, "nodes", planar.to_subsystem(), {**values, "t": TIME}, expected)
    again = loads(dumps(planar))
    judged.comparisons += 1
    if again != planar:
        judged.findings.append(Finding("file", "a planar mechanism that was written and read is another one"))
    return judged


def _accelerations(
    planar: Planar, dynamics: Dynamics, q: np.ndarray, u: np.ndarray, du: np.ndarray
) -> dict[str, float]:
    """Of all nodes and angles, by the name of the variable."""
    d, found = dynamics.coordinates, dict[str, float]()
    drawn = body_motion(d, reference_coordinates(d), np.zeros(d.nv))[0]
    poses, twists = body_motion(d, q, u, TIME)
    moved = dict(zip(d.flat.bodies, accelerations_in_world(d, q, u, du, TIME), strict=True))
    place_of = Drawn(planar).point
    for body in planar.bodies:
        X, X_0, a = poses[body.name], drawn[body.name], moved[body.name]
        spin = X.R @ twists[body.name][:3]
        found[f"{body.name}.omega.d"] = float(a[2])
        for node in body.nodes:
            there = np.array([*place_of(f"{body.name}.{node}"), 0.0])
            r = X.R @ X_0.R.T @ (there - X_0.p)
            one = a[3:] + so3.cross(a[:3], r) + so3.cross(spin, so3.cross(spin, r))
            found |= {f"{body.name}.{node}.{axis}.dd": float(one[k]) for k, axis in enumerate("xy")}
    return found


def _compare(
    judged: Judged, name: str, system: Subsystem, values: dict[str, float], expected: dict[str, float]
) -> None:
    try:
        found = system.equations().acceleration(values)
    except DalembertError as error:
        judged.findings.append(Finding(name, str(error)))
        return
    judged.comparisons += 1
    size = max(map(abs, expected.values()))
    seen = {str(label): value for label, value in found.items()}
    off = max(abs(seen[key] - value) for key, value in expected.items() if key in seen) / size
    judged.worst = max(judged.worst, float(off))
    if not off <= AGREEMENT:
        judged.findings.append(Finding(name, f"disagreement {off:.1e} of {AGREEMENT:.0e} allowed"))
