"""The constraint catalog. A new constraint is one file and one line in ``CONSTRAINTS``."""

from dalembert.constraints.base import Constraint
from dalembert.constraints.couplings import Coupler, Gear, Rack
from dalembert.constraints.equation import Drive, Equation
from dalembert.constraints.explicit import Explicit
from dalembert.constraints.rolling_surface import RollingSurface
from dalembert.constraints.transmissions import Belt, Cable

__all__ = [
    "CONSTRAINTS",
    "Belt",
    "Cable",
    "Constraint",
    "Coupler",
    "Drive",
    "Equation",
    "Explicit",
    "Gear",
    "Rack",
    "RollingSurface",
]

CONSTRAINTS: dict[str, type[Constraint]] = {
    constraint.model_fields["kind"].default: constraint
    for constraint in (Coupler, Gear, Rack, Equation, Drive, Explicit, Cable, Belt, RollingSurface)
}
