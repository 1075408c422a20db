"""Inputs of a linear model, by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.perturb import Perturbations, Point
from dalembert.errors import DalembertError
from dalembert.expressions import reference
from dalembert.values import TUPLE

__all__ = ["Port", "find_inputs"]

_COMPONENT = re.compile(r"^(?P<name>.*)\[(?P<index>\d+)\]$")
_KINDS = ("joint", "constraint", "force", "parameter")

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Port:
    """One input.

    Attributes:
        kind: what it acts on.  name, index: the element, and which component of it.
        label: what it is called in the linear model.
    """

    kind: str
    name: str
    index: int
    label: str

    @property
    def parameter(self) -> bool:
        """True for a parameter, which may change more than forces."""
        return self.kind == "parameter"

    def column(self, perturb: Perturbations, at: Point, T: dict[str, np.ndarray]) -> Columns:
        """What one unit of it adds to the residuals r, g, v, φ, and to q̇, as far as that is rates of states."""
        none = np.zeros(len(T["g"])), np.zeros(len(T["v"])), np.zeros(len(T["phi"])), np.zeros(len(T["qdot"]))
        if self.kind == "parameter":
            by = perturb.by_parameters((self.name,), at)
            return by["r_p"][:, 0], by["g_p"][:, 0], by["v_p"][:, 0], by["phi_p"][:, 0], by["qdot_p"][:, 0]
        if self.kind == "joint":
            # A force f on a joint has the power f u_J.
            rate = reference("u", self.name, self.index)
            return (-perturb.formulas({"rate": rate}, (), at)["y_u"][0], *none)
        if self.kind == "constraint":
            return (-T["A"][perturb.kernels.rows.of([self.name])[self.index]], *none)
        return (-perturb.unit_force(self.name, self.index, at), *none)

    def feedback(self, perturb: Perturbations, at: Point) -> np.ndarray:
        """What one unit of it adds to the accelerations and reactions that formulas name, at the same u̇ and λ."""
        if self.kind == "parameter":
            return perturb.feedback((self.name,), at)["h_p"][:, 0]
        if self.kind == "constraint":
            return perturb.feedback((), at)["h_m"][:, perturb.kernels.rows.of([self.name])[self.index]]
        joint, force = (self.name, None) if self.kind == "joint" else (None, self.name)
        return perturb.feedback_by_force(joint, force, self.index, at)


def find_inputs(dynamics: Dynamics, names: Sequence[str], release: Sequence[str]) -> list[Port]:
    """Inputs by name: joints, released constraints, forces with a value, parameters."""
    flat = dynamics.flat
    sizes: dict[str, dict[str, int]] = {
        "joint": {name: dynamics.coordinates.nominal_joint(name).joint.nv for name in flat.joints},
        "constraint": {name: len(dynamics.rows.of([name])) for name in release},
        "force": {name: _components(force) for name, (force, _) in flat.forces.items()},
        "parameter": dict.fromkeys(flat.parameters, 1),
    }
    found: list[Port] = []
    for text in names:
        kind, name, index = _named(text, sizes)
        size = sizes[kind][name]
        if size == 0:
            raise DalembertError(
                f"inputs: {kind} {name!r} has no value that could change.  "
                "Fix: make one of its numbers a parameter, and name that"
            )
        if index is not None and index >= size:
            raise DalembertError(f"inputs: {text!r}: {kind} {name!r} has {size} components, counted from 0")
        every = range(size) if index is None else (index,)
        found += [Port(kind, name, i, name if size == 1 else f"{name}[{i}]") for i in every]
    return found


def _components(force: Any) -> int:
    """How many numbers the value of a force has; none for springs and potentials."""
    value = getattr(force, "value", None)
    return 0 if value is None else len(value) if isinstance(value, TUPLE) else 1


def _named(text: str, sizes: dict[str, dict[str, int]]) -> tuple[str, str, int | None]:
    """Kind, name and component that a text means."""
    kinds, rest = list(_KINDS), text
    head, colon, tail = text.partition(":")
    if colon and head in _KINDS:
        kinds, rest = [head], tail
    match = _COMPONENT.match(rest)
    for name, index in ((rest, None), (match["name"], int(match["index"])) if match else (rest, None)):
        for kind in kinds:
            if name in sizes[kind]:
                return kind, name, index
    known = "; ".join(f"{kind}s {', '.join(sizes[kind])}" for kind in kinds if sizes[kind])
    raise DalembertError(f"inputs: unknown {text!r}; the model has {known}")
