"""Formulations. A new one is one file and one line in ``FORMULATIONS``."""

from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.base import BlockFormulation, Formulation, Support
from dalembert.formulations.boltzmann_hamel import BoltzmannHamel
from dalembert.formulations.canonical import Canonical
from dalembert.formulations.canonical_augmented import CanonicalAugmented
from dalembert.formulations.canonical_independent import CanonicalIndependent
from dalembert.formulations.coordinate_partitioning import CoordinatePartitioning
from dalembert.formulations.gauss import Gauss
from dalembert.formulations.gibbs_appell import GibbsAppell
from dalembert.formulations.hamilton import Hamilton
from dalembert.formulations.independent import Independent
from dalembert.formulations.jourdain import Jourdain
from dalembert.formulations.kane import Kane
from dalembert.formulations.lagrange import Lagrange
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.formulations.lie_group import LieGroup
from dalembert.formulations.maggi import Maggi
from dalembert.formulations.modular import Modular
from dalembert.formulations.newton_euler import NewtonEuler
from dalembert.formulations.penalty import Penalty
from dalembert.formulations.projection import Projection
from dalembert.formulations.recursive import Recursive
from dalembert.formulations.routh import Routh
from dalembert.formulations.udwadia_kalaba import UdwadiaKalaba
from dalembert.formulations.velocity_transformation import VelocityTransformation
from dalembert.formulations.volterra import Volterra
from dalembert.formulations.volterra_reduced import VolterraReduced
from dalembert.formulations.woronetz import Woronetz

__all__ = ["FORMULATIONS", "BlockFormulation", "Formulation", "Support"]

FORMULATIONS: dict[str, type[Formulation]] = {
    formulation.name: formulation
    for formulation in (
        LagrangeMultipliers, Recursive, Projection, Penalty, AugmentedLagrangian, UdwadiaKalaba, Gauss, Jourdain,
        Independent, NewtonEuler, CoordinatePartitioning, VelocityTransformation, Modular, LieGroup, Woronetz,
        Canonical, CanonicalIndependent, CanonicalAugmented, Lagrange, Hamilton, Routh, Maggi, Kane, GibbsAppell,
        BoltzmannHamel, Volterra, VolterraReduced,
    )
}  # fmt: skip
