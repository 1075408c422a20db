"""The constraint catalog. A new constraint is one file and one line in ``CONSTRAINTS``."""

from dalembert.constraints.base import Constraint
from dalembert.constraints.couplings import Coupler, Gear, Rack
from dalembert.constraints.equation import Drive, Equation
from dalembert.constraints.explicit import Explicit
from dalembert.constraints.one_sided import Limit, OneSided, RigidContact
from dalembert.constraints.rubbing import ContactFriction, Friction, Rubbing

__all__ = [
    "CONSTRAINTS", "Constraint", "ContactFriction", "Coupler", "Drive", "Equation", "Explicit", "Friction", "Gear",
    "Limit", "OneSided", "Rack", "RigidContact", "Rubbing",
]  # fmt: skip

CONSTRAINTS: dict[str, type[Constraint]] = {
    constraint.model_fields["kind"].default: constraint
    for constraint in (Coupler, Gear, Rack, Equation, Drive, Explicit, Limit, RigidContact, Friction, ContactFriction)
}
