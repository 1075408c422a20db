"""Formulations. A new one is one file and one line in ``FORMULATIONS``."""

from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.base import BlockFormulation, Formulation, Support
from dalembert.formulations.canonical import Canonical
from dalembert.formulations.canonical_augmented import CanonicalAugmented
from dalembert.formulations.canonical_independent import CanonicalIndependent
from dalembert.formulations.coordinate_partitioning import CoordinatePartitioning
from dalembert.formulations.equations import Equations
from dalembert.formulations.gauss import Gauss
from dalembert.formulations.independent import Independent
from dalembert.formulations.jourdain import Jourdain
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.formulations.lie_group import LieGroup
from dalembert.formulations.newton_euler import NewtonEuler
from dalembert.formulations.penalty import Penalty
from dalembert.formulations.projection import Projection
from dalembert.formulations.recursive import Recursive
from dalembert.formulations.udwadia_kalaba import UdwadiaKalaba
from dalembert.formulations.velocity_transformation import VelocityTransformation
from dalembert.formulations.woronetz import Woronetz

__all__ = ["FORMULATIONS", "BlockFormulation", "Equations", "Formulation", "Support"]

FORMULATIONS: dict[str, type[Formulation]] = {
    formulation.name: formulation
    for formulation in (
        LagrangeMultipliers,
        Recursive,
        Projection,
        Penalty,
        AugmentedLagrangian,
        UdwadiaKalaba,
        Gauss,
        Jourdain,
        Independent,
        NewtonEuler,
        CoordinatePartitioning,
        VelocityTransformation,
        LieGroup,
        Woronetz,
        Canonical,
        CanonicalIndependent,
        CanonicalAugmented,
    )
}
