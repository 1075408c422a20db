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
_HOMES = {
    "Model": "dalembert.model",
    "Placement": "dalembert.elements",
    "Planar": "dalembert.planar",
    "Derivation": "dalembert.derivation",
    "Dynamics": "dalembert.dynamics",
    "Generalized": "dalembert.coordinates",
    "Natural": "dalembert.coordinates",
    "Recipe": "dalembert.dynamics",
    "Trajectory": "dalembert.trajectory",
    "Batch": "dalembert.trajectory",
    "Branches": "dalembert.analyses",
    "Certificate": "dalembert.trajectory",
    "Comparison": "dalembert.analyses",
    "Design": "dalembert.analyses",
    "Equilibria": "dalembert.analyses",
    "Equilibrium": "dalembert.analyses",
    "LinearChart": "dalembert.analyses",
    "LinearModel": "dalembert.analyses",
    "Options": "dalembert.analyses",
    "Inverse": "dalembert.analyses",
    "Kinematics": "dalembert.analyses",
    "Samples": "dalembert.analyses",
    "State": "dalembert.state",
    "States": "dalembert.analyses",
    "Subsystem": "dalembert.modular",
    "System": "dalembert.model",
    "Workspace": "dalembert.analyses",
    "assemble": "dalembert.analyses",
    "compare": "dalembert.analyses",
    "compile": "dalembert.dynamics",
    "derive": "dalembert.derivation",
    "eliminate": "dalembert.analyses",
    "equilibrium": "dalembert.analyses",
    "export_c": "dalembert.analyses",
    "export_fmu": "dalembert.analyses",
    "ignorable": "dalembert.analyses",
    "integrable": "dalembert.analyses",
    "inspect": "dalembert.analyses",
    "inverse_dynamics": "dalembert.analyses",
    "kinematics": "dalembert.analyses",
    "linearize": "dalembert.analyses",
    "linearize_over": "dalembert.analyses",
    "redundancy": "dalembert.analyses",
    "simulate": "dalembert.analyses",
    "simulate_many": "dalembert.analyses",
    "workspace": "dalembert.analyses",
    "sweep": "dalembert.analyses",
    "load": "dalembert.analyses",
    "mesh_body": "dalembert.io",
    "read": "dalembert.io",
    "read_table": "dalembert.io",
    "write": "dalembert.io",
    "DalembertError": "dalembert.errors",
    "ExpressionError": "dalembert.errors",
    "ModelError": "dalembert.errors",
    "ModelWarning": "dalembert.errors",
    "ReadWarning": "dalembert.errors",
    "SimulationError": "dalembert.errors",
}

__all__ = [
    "Batch",
    "Branches",
    "Certificate",
    "Comparison",
    "DalembertError",
    "Derivation",
    "Design",
    "Dynamics",
    "Equilibria",
    "Equilibrium",
    "ExpressionError",
    "Generalized",
    "Inverse",
    "Kinematics",
    "LinearChart",
    "LinearModel",
    "Model",
    "ModelError",
    "ModelWarning",
    "Natural",
    "Options",
    "Placement",
    "Planar",
    "ReadWarning",
    "Recipe",
    "Samples",
    "SimulationError",
    "State",
    "States",
    "Subsystem",
    "System",
    "Trajectory",
    "Workspace",
    "assemble",
    "compare",
    "compile",
    "derive",
    "eliminate",
    "equilibrium",
    "export_c",
    "export_fmu",
    "ignorable",
    "inspect",
    "integrable",
    "inverse_dynamics",
    "kinematics",
    "leaves",
    "library",
    "linearize",
    "linearize_over",
    "load",
    "mesh_body",
    "parts",
    "read",
    "read_table",
    "redundancy",
    "simulate",
    "simulate_many",
    "sweep",
    "workspace",
    "write",
]

if TYPE_CHECKING:
    from dalembert import library
    from dalembert.analyses import (
        Branches,
        Comparison,
        Design,
        Equilibria,
        Equilibrium,
        Inverse,
        Kinematics,
        LinearChart,
        LinearModel,
        Options,
        Samples,
        States,
        Workspace,
        assemble,
        compare,
        eliminate,
        equilibrium,
        export_c,
        export_fmu,
        ignorable,
        inspect,
        integrable,
        inverse_dynamics,
        kinematics,
        linearize,
        linearize_over,
        load,
        redundancy,
        simulate,
        simulate_many,
        sweep,
        workspace,
    )
    from dalembert.coordinates import Generalized, Natural
    from dalembert.derivation import Derivation, derive
    from dalembert.dynamics import Dynamics, Recipe, compile
    from dalembert.elements import Placement
    from dalembert.errors import DalembertError, ExpressionError, ModelError, ModelWarning, ReadWarning, SimulationError
    from dalembert.io import mesh_body, read, read_table, write
    from dalembert.model import Model, System
    from dalembert.model import machine_parts as parts
    from dalembert.modular import Subsystem, leaves
    from dalembert.planar import Planar
    from dalembert.state import State
    from dalembert.trajectory import Batch, Certificate, Trajectory


# How a notebook shows a model; what makes the page is imported when one is shown.
use("model", lambda model: import_module("dalembert.analyses.show_model").model_page(model))


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
    raise AttributeError(f"module 'dalembert' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
