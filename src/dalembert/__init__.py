"""dalembert: multibody dynamics. One model, every formulation, native speed.

import dalembert as da

model = da.library.four_bar()
run = da.simulate(model, 10.0)
print(run.certificate)
run.animate("four-bar.html")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dalembert.notebook import use

__version__ = "0.1.0"

# Where each public name lives; modules are imported when a name is first used, so that importing this one is instant.
_ROOMS = {
    "analyses.assembly.assemble_branches": "Branches",
    "analyses.assembly.assemble_many": "States",
    "analyses.assembly.assemble_model": "assemble",
    "analyses.comparison.compare": "Comparison compare",
    "analyses.linearization.linear_chart": "LinearChart",
    "analyses.linearization.linear_model": "LinearModel",
    "analyses.linearization.linearize": "linearize linearize_over",
    "analyses.motions.inverse": "inverse_dynamics",
    "analyses.motions.inverse_result": "Inverse",
    "analyses.motions.kinematics": "kinematics",
    "analyses.motions.kinematics_result": "Kinematics",
    "analyses.motions.signals": "Samples",
    "analyses.motions.workspace": "Workspace workspace",
    "analyses.saved": "load",
    "analyses.simulation.export_fmu": "export_fmu",
    "analyses.simulation.export_program": "export_c",
    "analyses.simulation.many": "simulate_many",
    "analyses.simulation.options": "Options",
    "analyses.simulation.simulate": "simulate",
    "analyses.statics.equilibrium": "equilibrium",
    "analyses.statics.equilibrium_result": "Equilibria Equilibrium",
    "analyses.statics.holding": "Holding holding",
    "analyses.structure.eliminated": "eliminate",
    "analyses.structure.ignorable": "ignorable",
    "analyses.structure.inspect": "inspect",
    "analyses.structure.integrable": "integrable",
    "analyses.structure.redundancy": "redundancy",
    "analyses.sweeps.sweep": "sweep",
    "analyses.sweeps.sweep_design": "Design",
    "coordinates": "Generalized Natural",
    "derivation": "Derivation derive",
    "dynamics": "Dynamics Recipe compile",
    "elements": "Placement",
    "errors": "DalembertError ExpressionError ModelError ModelWarning ReadWarning SimulationError",
    "io": "mesh_body read read_grid read_table write",
    "model": "Model System",
    "modular": "Subsystem",
    "planar": "Planar",
    "state": "State",
    "trajectory": "Batch Certificate Trajectory",
}
_WORDS = {  # of other programs
    **dict.fromkeys(("run", "solve", "integrate", "Simulation", "Simulator"), "simulate"),
    **dict.fromkeys(
        ("plot", "animate", "show", "view", "visualize"), "da.simulate(model, …).plot(path) or .animate(path)"
    ),
    **dict.fromkeys(("MultibodyPlant", "MbsSystem", "Mechanism", "ChSystemNSC"), "Model"),
    **dict.fromkeys(("load_model", "load_urdf", "load_mjcf", "from_xml", "read_urdf", "read_mjcf"), "read"),
    "save": "write",
    "modes": "linearize",
    "eigenvalues": "linearize",
    "static": "equilibrium",
    "statics": "equilibrium",
}
_HOMES = {name: f"dalembert.{home}" for home, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "Batch", "Branches", "Certificate", "Comparison", "DalembertError", "Derivation", "Design", "Dynamics",
    "Equilibria", "Equilibrium", "ExpressionError", "Generalized", "Holding", "Inverse", "Kinematics", "LinearChart",
    "LinearModel", "Model", "ModelError", "ModelWarning", "Natural", "Options", "Placement", "Planar", "ReadWarning",
    "Recipe", "Samples", "SimulationError", "State", "States", "Subsystem", "System", "Trajectory", "Workspace",
    "assemble", "compare", "compile", "derive", "eliminate", "equilibrium", "export_c", "export_fmu", "holding",
    "ignorable", "inspect", "integrable", "inverse_dynamics", "kinematics", "leaves", "library", "linearize",
    "linearize_over", "load", "mesh_body", "parts", "read", "read_grid", "read_table", "redundancy", "simulate",
    "simulate_many", "sweep", "workspace", "write",
]  # fmt: skip

if TYPE_CHECKING:
    from dalembert import library
    from dalembert.analyses.assembly.assemble_branches import Branches
    from dalembert.analyses.assembly.assemble_many import States
    from dalembert.analyses.assembly.assemble_model import assemble
    from dalembert.analyses.comparison.compare import Comparison, compare
    from dalembert.analyses.linearization.linear_chart import LinearChart
    from dalembert.analyses.linearization.linear_model import LinearModel
    from dalembert.analyses.linearization.linearize import linearize, linearize_over
    from dalembert.analyses.motions.inverse import inverse_dynamics
    from dalembert.analyses.motions.inverse_result import Inverse
    from dalembert.analyses.motions.kinematics import kinematics
    from dalembert.analyses.motions.kinematics_result import Kinematics
    from dalembert.analyses.motions.signals import Samples
    from dalembert.analyses.motions.workspace import Workspace, workspace
    from dalembert.analyses.saved import load
    from dalembert.analyses.simulation.export_fmu import export_fmu
    from dalembert.analyses.simulation.export_program import export_c
    from dalembert.analyses.simulation.many import simulate_many
    from dalembert.analyses.simulation.options import Options
    from dalembert.analyses.simulation.simulate import simulate
    from dalembert.analyses.statics.equilibrium import equilibrium
    from dalembert.analyses.statics.equilibrium_result import Equilibria, Equilibrium
    from dalembert.analyses.statics.holding import Holding, holding
    from dalembert.analyses.structure.eliminated import eliminate
    from dalembert.analyses.structure.ignorable import ignorable
    from dalembert.analyses.structure.inspect import inspect
    from dalembert.analyses.structure.integrable import integrable
    from dalembert.analyses.structure.redundancy import redundancy
    from dalembert.analyses.sweeps.sweep import sweep
    from dalembert.analyses.sweeps.sweep_design import Design
    from dalembert.coordinates import Generalized, Natural
    from dalembert.derivation import Derivation, derive
    from dalembert.dynamics import Dynamics, Recipe, compile
    from dalembert.elements import Placement
    from dalembert.errors import DalembertError, ExpressionError, ModelError, ModelWarning, ReadWarning, SimulationError
    from dalembert.io import mesh_body, read, read_grid, read_table, write
    from dalembert.model import Model, System
    from dalembert.model import machine_parts as parts
    from dalembert.modular import Subsystem, leaves
    from dalembert.planar import Planar
    from dalembert.state import State
    from dalembert.trajectory import Batch, Certificate, Trajectory


# How a notebook shows a model; what makes the page is imported when one is shown.
use("model", lambda model: import_module("dalembert.analyses.simulation.show_model").model_page(model))


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name == "library":
        return import_module("dalembert.library")
    if name == "leaves":
        return import_module("dalembert.modular.leaves")
    if name == "parts":
        return import_module("dalembert.model.machine_parts")
    raise import_module("dalembert.arguments").no_attribute("module 'dalembert'", name, __all__, _WORDS)


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
