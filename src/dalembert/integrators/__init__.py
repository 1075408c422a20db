"""Native time loops. A new integrator is one file and one line in ``INTEGRATORS``."""

from dalembert.integrators.base import Integrator, Result, Status
from dalembert.integrators.explicit import DormandPrince5, DormandPrince8, RungeKutta4

__all__ = ["INTEGRATORS", "Integrator", "Result", "Status"]

INTEGRATORS: dict[str, type[Integrator]] = {
    integrator.name: integrator for integrator in (DormandPrince8, DormandPrince5, RungeKutta4)
}
