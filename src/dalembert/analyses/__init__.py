"""What one does with a model: assemble, simulate, compare, inspect, inverse dynamics, equilibria, sweeps."""

from dalembert.analyses.assemble_branches import Branches
from dalembert.analyses.assemble_many import States
from dalembert.analyses.assemble_model import assemble
from dalembert.analyses.compare import Comparison, Entry, compare
from dalembert.analyses.eliminated import eliminate
from dalembert.analyses.equilibrium import equilibrium
from dalembert.analyses.equilibrium_result import Equilibria, Equilibrium
from dalembert.analyses.export_fmu import export_fmu
from dalembert.analyses.export_program import export_c
from dalembert.analyses.ignorable import ignorable
from dalembert.analyses.inspect import Inspection, inspect
from dalembert.analyses.integrable import Integrability, integrable
from dalembert.analyses.inverse import inverse_dynamics
from dalembert.analyses.inverse_result import Inverse
from dalembert.analyses.kinematics import kinematics
from dalembert.analyses.kinematics_result import Kinematics
from dalembert.analyses.linear_chart import LinearChart
from dalembert.analyses.linear_model import LinearModel
from dalembert.analyses.linearize import linearize, linearize_over
from dalembert.analyses.many import simulate_many
from dalembert.analyses.options import Options
from dalembert.analyses.redundancy import Redundancy, redundancy
from dalembert.analyses.saved import load
from dalembert.analyses.signals import Samples
from dalembert.analyses.simulate import simulate
from dalembert.analyses.sizing import Sizing
from dalembert.analyses.sweep import sweep
from dalembert.analyses.sweep_design import Design
from dalembert.analyses.workspace import Workspace, workspace

__all__ = [
    "Branches",
    "Comparison",
    "Design",
    "Entry",
    "Equilibria",
    "Equilibrium",
    "Inspection",
    "Integrability",
    "Inverse",
    "Kinematics",
    "LinearChart",
    "LinearModel",
    "Options",
    "Redundancy",
    "Samples",
    "Sizing",
    "States",
    "Workspace",
    "assemble",
    "compare",
    "eliminate",
    "equilibrium",
    "export_c",
    "export_fmu",
    "ignorable",
    "inspect",
    "integrable",
    "inverse_dynamics",
    "kinematics",
    "linearize",
    "linearize_over",
    "load",
    "redundancy",
    "simulate",
    "simulate_many",
    "sweep",
    "workspace",
]
