"""Native time loops. A new integrator is one file and one line in ``INTEGRATORS``."""

from dalembert.integrators.base import Integrator, Result, Status
from dalembert.integrators.bdf import BackwardDifferences
from dalembert.integrators.generalized_alpha import GeneralizedAlpha
from dalembert.integrators.moreau_jean import MoreauJean
from dalembert.integrators.munthe_kaas import MuntheKaas
from dalembert.integrators.radau import Radau
from dalembert.integrators.runge_kutta import DormandPrince8, Euler, RungeKutta4, Tsitouras5
from dalembert.integrators.scipy_ivp import SciPy
from dalembert.integrators.variational import Variational

__all__ = ["INTEGRATORS", "Integrator", "Result", "Status"]

INTEGRATORS: dict[str, type[Integrator]] = {
    integrator.name: integrator
    for integrator in (
        DormandPrince8, Tsitouras5, RungeKutta4, Euler, Radau, BackwardDifferences, GeneralizedAlpha, MuntheKaas,
        Variational, MoreauJean, SciPy,
    )
}  # fmt: skip
