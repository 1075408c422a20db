"""The constraint catalog. A new constraint is one file and one line in ``CONSTRAINTS``."""

from dalembert.constraints.balance import Balance
from dalembert.constraints.base import Constraint
from dalembert.constraints.contact_friction import ContactFriction
from dalembert.constraints.couplings import Coupler, Gear, Rack
from dalembert.constraints.dry_friction import DryFriction
from dalembert.constraints.equation import Drive, Equation
from dalembert.constraints.explicit import Explicit
from dalembert.constraints.joint_friction import Friction
from dalembert.constraints.one_sided import Limit, OneSided, RigidContact
from dalembert.constraints.rolling_surface import RollingSurface
from dalembert.constraints.transmissions import Belt, Cable

__all__ = [
    "CONSTRAINTS",
    "Balance",
    "Belt",
    "Cable",
    "Constraint",
    "ContactFriction",
    "Coupler",
    "Drive",
    "DryFriction",
    "Equation",
    "Explicit",
    "Friction",
    "Gear",
    "Limit",
    "OneSided",
    "Rack",
    "RigidContact",
    "RollingSurface",
]  # fmt: skip

CONSTRAINTS: dict[str, type[Constraint]] = {
    constraint.model_fields["kind"].default: constraint
    for constraint in (
        Coupler, Gear, Rack, Equation, Drive, Explicit, Cable, Belt, RollingSurface, Limit, RigidContact, Friction,
        ContactFriction, Balance,
    )
}  # fmt: skip
