"""Values of the variables of the node model: as drawn, in a state, or at a time of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dalembert.algebra import NUMPY
from dalembert.expressions import TIME, evaluate
from dalembert.expressions.symbols import Reference
from dalembert.planar.node_subsystem import node_models
from dalembert.planar.planar_poses import instant, is_state, values_along
from dalembert.planar.planar_tree import PlanarTree

if TYPE_CHECKING:
    from dalembert.planar.planar_mechanism import Planar

__all__ = ["node_values"]

_RATES = {"x": "vx", "y": "vy", "slide": "speed", "angle": "omega"}


def node_values(
    planar: Planar, at: Any, time: float | None, groups: Mapping[str, Iterable[Any]] | None
) -> dict[str, float]:
    """See ``Planar.node_values``."""
    names, drawn = dict[str, str](), dict[str, float]()
    for group, model in node_models(planar, groups).items():
        before = f"{group}." if group else ""
        names |= {f"{before}{name}": name for name in (*model.coordinates, *model.velocities)}
        rates = [name for name in model.coordinates if name not in model.kinematics]
        names |= {f"{before}{name}.d": _rate_quantity(name) for name in rates}
        drawn |= {f"{before}{name}": model.drawn.value(value) for name, value in model.coordinates.items()}
    if at is None:
        return {**dict.fromkeys(names, 0.0), **drawn}
    if is_state(at):
        tree = PlanarTree(planar)
        return {name: _in_state(tree, quantity, at) for name, quantity in names.items()}
    one = at.resample([instant("node_values", at, time)])
    return {name: float(values_along(planar, one, quantity)[0]) for name, quantity in names.items()}


def _rate_quantity(coordinate: str) -> str:
    owner, _, key = coordinate.rpartition(".")
    return f"{owner}.{_RATES[key]}" if owner else f"{coordinate}.rate"


def _in_state(tree: PlanarTree, quantity: str, state: Any) -> float:
    values = tree.planar.parameter_values | state.parameters

    def lookup(atom: Any) -> Any:
        if isinstance(atom, Reference):
            return float(state.joint(atom.element)[atom.quantity == "u"][atom.index])
        return state.time if atom == TIME else values[atom.name]

    return float(evaluate(NUMPY, tree.quantity(quantity), lookup))
