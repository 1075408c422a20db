"""Why a mechanism cannot be assembled: which loop stays open, by how much at the best fit, and who is in the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.assemble_given import Desired
from dalembert.analyses.assembly.assemble_search import Search
from dalembert.equations import Equations
from dalembert.errors import ModelError, Problem
from dalembert.topology import Graph

__all__ = ["explain"]

SHOWN = 1e-8  # gaps from here on are said (m, rad)
BISECTIONS = 20  # of the way to what is wanted
MOST_TRIED = 6  # given values that are left out in turn, to see whether the rest closes


def explain(search: Search, near: np.ndarray, best: np.ndarray) -> ModelError:
    """The error that says what stays open at the best fit.

    Args:
        near: where to begin.
        best: the position that leaves least.
    """
    name, desired = search.dynamics.flat.name, search.desired
    parts = [*gaps(search, best), *_missed(search, best)]
    text = f"{name!r} cannot be assembled: at the best fit {'; '.join(parts) or 'Newton did not converge'}"
    given = [*desired.joints, *desired.values]
    fix = "check lengths and points of the loop"
    if given:
        fix += f", and whether the wanted coordinates ({', '.join(given)}) can be reached"
        reached = _reached(search, near)
        text += f"; on the way from the beginning it closes up to {reached}" if reached else ""
        freed = _freed(search, near) if len(given) > 1 else []
        if freed:
            fix = f"leave one of them free: {'; '.join(freed)}"
    return ModelError(Problem(text, "initial" if given else "joints", fix))


def gaps(search: Search, q: np.ndarray) -> list[str]:
    """What is open at a position, in words: cut joints with their loop, and other constraints."""
    d, seen = search.dynamics, Equations(search.tree, search.time, q, np.zeros(search.dynamics.nv))
    graph = Graph(d.flat)
    loops = {loop.cut: loop for loop in graph.loops(graph.spanning_tree())}
    residual = np.asarray(seen.position_residual(), dtype=float)
    off: dict[str, float] = {}
    for row, value, unit in zip(d.rows[: d.holonomic], residual, d.even.rows[: d.holonomic], strict=True):
        off.setdefault(row.owner, 0.0)
        if abs(value) * unit > SHOWN:
            off[row.owner] = max(off[row.owner], abs(value))
    said: list[str] = []
    for owner, value in off.items():
        if owner not in search.coordinates.cut:
            said += [f"{owner} is off by {value:.3g} (m or rad)"] if value > 0 else []
            continue
        apart, turned = _gap(search, seen, owner)
        words = [f"{apart:.3g} m apart"] if apart > SHOWN * d.even.length else []
        words += [f"{np.degrees(turned):.3g}° out of line"] if turned > SHOWN else []
        if words:
            loop = "–".join([owner, *loops[owner].joints])
            said.append(f"joint {owner} stays open, {' and '.join(words)} (loop {loop})")
    return said


def _gap(search: Search, seen: Equations, name: str) -> tuple[float, float]:
    """Distance (m) and angle (rad) between the pose of a cut joint and the nearest that it can reach."""
    placed = search.mechanism.joint(name)
    X, _ = seen.motion.relative(placed)
    joint = placed.joint
    if not joint.measurable:
        left = np.asarray(joint.position(NUMPY, X), dtype=float)
        return float(np.linalg.norm(left)), 0.0
    off = joint.transform(NUMPY, joint.coordinates(NUMPY, X)).inverse() @ X
    R, p = np.asarray(off.R, dtype=float), np.asarray(off.p, dtype=float)
    sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.linalg.norm(p)), float(np.arctan2(sine, np.trace(R) - 1.0))


def _missed(search: Search, q: np.ndarray) -> list[str]:
    """Given values of quantities that are not reached."""
    motion = Equations(search.tree, search.time, q, np.zeros(search.dynamics.nv)).motion
    said: list[str] = []
    at, row = 0, search.dynamics.holonomic
    for one in search.quantities:
        wanted = search.values[at : at + one.given]
        at += one.given
        left = np.abs(np.array(one.residual(motion, wanted), dtype=float))
        units, row = search.record.row_unit[row : row + one.rows], row + one.rows
        if (left * units).max(initial=0.0) > SHOWN:
            shown = ", ".join(f"{value:.6g}" for value in wanted)
            said.append(f"{one.name} (wanted {shown}) is off by {left.max():.3g} (m or rad)")
    return said


def _reached(search: Search, near: np.ndarray) -> str:
    """How far the given values can be led from a closed position near the beginning."""
    free = Search(search.dynamics, Desired({}, (), {}), search.parameters, search.time)
    base, _, _ = free.nearest(near)
    if base is None:
        return ""
    motion = Equations(search.tree, search.time, base, np.zeros(search.dynamics.nv)).motion
    joints = {
        name: np.where(np.isfinite(value), motion.joint(name)[0], np.nan)
        for name, value in search.desired.joints.items()
    }
    values = {one.name: np.asarray(one.measure(motion), dtype=float) for one in search.desired.quantities}
    path = Search(search.dynamics, Desired(joints, search.desired.quantities, values), search.parameters, search.time)
    low, high, q = 0.0, 1.0, base
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        wanted = (1 - middle) * base + middle * search.placed(base)
        found, errors = path.lead(base, wanted[None], ((1 - middle) * path.values + middle * search.values)[None])
        if path.is_closed(found[0], float(errors[0])):
            low, q = middle, found[0]
        else:
            high = middle
    if low == 0.0:
        return ""
    motion = Equations(search.tree, search.time, q, np.zeros(search.dynamics.nv)).motion
    said = [f"{name} = {_list(motion.joint(name)[0])}" for name in search.desired.joints]
    said += [f"{one.name} = {_list(one.measure(motion))}" for one in search.desired.quantities]
    return ", ".join(said)


def _list(values: Any) -> str:
    return ", ".join(f"{float(x):.4g}" for x in values)


def _freed(search: Search, near: np.ndarray) -> list[str]:
    """Given values without which the rest closes, and where they come to stand then."""
    said: list[str] = []
    given = [*search.desired.joints, *search.desired.values]
    for name in given[:MOST_TRIED]:
        w = search.desired
        rest = Desired(
            {key: value for key, value in w.joints.items() if key != name},
            tuple(one for one in w.quantities if one.name != name),
            {key: value for key, value in w.values.items() if key != name},
        )
        other = Search(search.dynamics, rest, search.parameters, search.time)
        found, _, _ = other.nearest(other.placed(near))
        if found is None:
            continue
        motion = Equations(other.tree, other.time, found, np.zeros(other.dynamics.nv)).motion
        if name in w.joints:
            value = motion.joint(name)[0]
        else:
            value = next(one for one in w.quantities if one.name == name).measure(motion)
        said.append(f"without {name!r} it closes, with {name} = {_list(value)}")
    return said
