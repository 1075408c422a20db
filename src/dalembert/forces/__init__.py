"""The force catalog. A new force is one file and one line in ``FORCES``."""

from dalembert.forces.base import Force
from dalembert.forces.bushing import Bushing
from dalembert.forces.given import JointForce, PointForce, Torque
from dalembert.forces.moving_frame import MovingFrame
from dalembert.forces.one_sided_springs import Contact, OneSidedSpring, Stop
from dalembert.forces.potential import Potential
from dalembert.forces.spring import Spring, TorsionalSpring
from dalembert.forces.strut import Strut
from dalembert.forces.torsion import Torsion

__all__ = [
    "FORCES", "Bushing", "Contact", "Force", "JointForce", "MovingFrame", "OneSidedSpring", "PointForce", "Potential",
    "Spring", "Stop", "Strut", "Torque", "Torsion", "TorsionalSpring",
]  # fmt: skip

FORCES: dict[str, type[Force]] = {
    force.model_fields["kind"].default: force
    for force in (
        Spring, Strut, TorsionalSpring, Bushing, PointForce, Torque, JointForce, Potential, MovingFrame, Stop, Contact,
        Torsion,
    )
}  # fmt: skip
