"""What the tests of misuse call: an object of every public class, and right arguments for each of its methods."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp
from pydantic import BaseModel

import dalembert as da
from dalembert.formulations import FORMULATIONS

ODD: dict[str, Any] = {
    "None": None, "number": 3, "negative": -1, "nan": float("nan"), "huge": 10**400, "complex": 1j, "word": "x",
    "long word": "x" * 5000, "bytes": b"x", "empty list": [], "empty dictionary": {}, "object": object(),
    "numbers": [1.0, 2.0, 3.0, 4.0, 5.0], "matrix": np.ones((2, 3)), "words": np.array(["a", "b"]),
    "dictionary": {3: object()}, "function": print,
}  # fmt: skip

# Methods whose arguments the package itself makes.
INSIDE = {
    "ModularEquations": {"choice"},
    "LabeledMatrix": {"from_array", "get", "identity", "made", "map", "numbers", "part", "renamed", "vector", "empty"},
    "LinearModel": {"picked"}, "State": {"to"}, "Equilibria": {"rows"}, "Placement": {"may_name", "pose"},
    "Options": {"choice", "of", "recorded", "state"},
}  # fmt: skip


# Classes that calls return for the use of the package itself, or of those who extend it.
BELOW = {
    "Context", "Description", "Drawing", "Equations", "Formulation", "Pose", "Problem", "Rolled", "Setup", "Spectrum",
}  # fmt: skip


@functools.cache
def _four_bar() -> Any:
    return da.compile(_model())


@functools.cache
def _run() -> Any:
    return da.simulate(_four_bar(), 0.02, output_step=0.01)


def _planar() -> Any:
    made = da.Planar("crank")
    made.base(O=(0, 0))
    made.body("crank", A=(0, 0), B=(1, 0), mass=1, inertia=0.1)
    made.revolute("A", made.base.O, "crank.A", torque="M")
    return made


def _subsystem() -> Any:
    made = da.Subsystem("S")
    x = made.coordinates("x")
    made.parameters(m=1.0)
    made.effective_forces({x: -x.dd})
    return made


def _spring() -> Any:
    made = da.Subsystem("S")
    x = made.coordinates("x")
    made.effective_forces({x: -x.dd - x})
    return made


@functools.cache
def _model() -> Any:
    return da.library.four_bar()


@functools.cache
def _system() -> Any:
    made = da.System("s")
    made.coordinate("A")
    made.particle("coupler", 1, ("sin(q(A))", "cos(q(A))", 0))
    made.parameters(length=1.0)
    return made


def _rubbing() -> da.Model:
    model = da.library.pendulum()
    model.friction("rub", "pivot", constant=100.0)
    return model


# How an object of each class comes about.
MADE: dict[str, Callable[[], Any]] = {
    "Batch": functools.cache(lambda: da.simulate_many(_four_bar(), 0.02, parameters={"density": [1.0, 2.0]})),
    "Branches": functools.cache(lambda: da.assemble(da.library.four_bar(), {"A": 1.0}, branches="all")),
    "Certificate": lambda: _run().certificate,
    "Comparison": functools.cache(lambda: da.compare(da.library.pendulum(), 0.01, formulations=["lagrange"])),
    "Derivation": functools.cache(lambda: da.derive(da.library.pendulum(), "lagrange")),
    "Design": lambda: da.Design.grid({"length": [1.0, 2.0]}),
    "Dynamics": functools.cache(lambda: da.compile(da.library.pendulum())),
    "Dynamics, loop": _four_bar,
    "Equilibria": functools.cache(lambda: da.equilibrium(da.library.pendulum(), starts=4)),
    "Equilibrium": lambda: MADE["Equilibria"]()[0],
    "Generalized": da.Generalized,
    "Holding": functools.cache(lambda: da.holding(_rubbing())),
    "Inverse": functools.cache(lambda: da.inverse_dynamics(da.library.pendulum(), {"pivot": "t"}, 0.02)),
    "Kinematics": functools.cache(lambda: da.kinematics(da.library.four_bar(), 0.02, {"A": "t"})),
    "LinearChart": functools.cache(lambda: da.linearize_over(da.library.pendulum(), "length", [1.0, 2.0])),
    "LinearModel": functools.cache(lambda: da.linearize(da.library.pendulum(), inputs=["pivot"])),
    "Model": lambda: _model().snapshot(),
    "Natural": da.Natural,
    "Options": da.Options,
    "Placement": da.Placement,
    "Planar": _planar,
    "Recipe": lambda: _four_bar().recipe,
    "Samples": lambda: da.Samples([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]),
    "State": functools.cache(lambda: da.assemble(da.library.four_bar())),
    "States": functools.cache(lambda: da.assemble(da.library.four_bar(), {"A": [0.1, 0.2]})),
    "Subsystem": _subsystem,
    "System": lambda: _system().snapshot(),
    "Trajectory": _run,
    # What these calls return is not made by name.
    "LabeledMatrix": lambda: MADE["ModularEquations"]().A,
    "ModularEquations": lambda: _subsystem().equations(),
    "Page": functools.cache(lambda: _run().live()),
    "Redundancy": functools.cache(lambda: da.redundancy(da.library.four_bar())),
    "Sizing": lambda: MADE["Inverse"]().sizing(),
    "SystemEquilibrium": functools.cache(lambda: da.equilibrium(_spring(), starts=2)[0]),
    "SystemTrajectory": functools.cache(lambda: da.simulate(_spring(), 0.02, output_step=0.01)),
    "Workspace": functools.cache(lambda: da.workspace(da.library.pendulum(), "bob", {"pivot": (0, 1)})),
}

# Classes that users make by a call of the class.
CONSTRUCTED = (
    "Dynamics", "Generalized", "Model", "Natural", "Options", "Placement", "Planar", "Recipe", "Samples", "Subsystem",
    "System",
)  # fmt: skip

BALLS = [{"kind": "sphere", "radius": 1}, {"kind": "sphere", "radius": 1}]

# Right arguments by class and name, "" for all classes; what has a default may be left out.
RIGHT: dict[str, dict[str, Any]] = {
    "": {
        "name": "A", "path": "file", "sample": 0, "at": 0, "index": 0, "mode": 0, "kind": "revolute", "x": "A",
        "body": "coupler", "output": "B", "joint": "A", "times": [0.0, 0.01], "over": {"length": [1.0, 2.0]},
        "samples": 2, "work": 100, "expression": sp.Symbol("x"), "omega": [1.0], "numerator": "length",
        "denominator": "length", "parameters": {}, "text": "{}", "data": {}, "keep": 0,
        "pair": ("lagrange", "relative"), "outputs": 10, "kept": [0], "key": ("x", "x"),
    },
    "LinearModel": {"input": "pivot", "output": "pivot", "name": "pivot", "mode": 0},
    "Equilibrium": {"name": "pivot"}, "Inverse": {"name": "pivot"}, "State": {"state": "a"},
    "Derivation": {"name": "theta", "path": "file.c"}, "Certificate": {"name": "error"},
    "SystemEquilibrium": {"name": "x"}, "SystemTrajectory": {"name": "x"},
    "Dynamics": {
        "model": da.library.pendulum(), "q": np.zeros(1), "u": np.zeros(1), "du": np.zeros(1), "t": 0.0, "body": "bob",
        "point": (0, 0, 0), "name": "pivot", "recipe": da.Recipe("relative", FORMULATIONS["lagrange"]()),
    },
    "Dynamics, loop": {"q": np.full(3, 0.5), "u": np.zeros(3), "du": np.zeros(3), "t": 0.0, "point": (0, 0, 0)},
    "Model": {
        "name": "new", "first": "crank", "second": "coupler", "value": 1.0, "formula": "t", "when": "t - 1", "of": "A",
        "rate": "t", "x": [0, 1, 2, 3], "y": [0, 1, 2, 3], "mass": 1, "position": (0, 0, 0), "at": (0, 0, 0),
        "motion": "t", "file": "a.fmu", "step": 0.1, "size": (1, 1, 1), "pose": (0, 0, 0), "section": "forces",
        "radius": 1, "axis": "z", "surfaces": BALLS, "ratio": 2, "joints": ("A", "B"), "radii": (1, 2),
        "start": (0, 0, 0), "end": (1, 0, 0), "center": (0, 0, 0), "model": da.library.pendulum(),
    },
    "Planar": {
        "name": "new", "first": "base.O", "second": "crank.A", "value": (1.0, 0), "formula": "t", "axis": "x",
        "rate": "crank.omega", "node": "crank.B", "center": "crank.B", "radius": 1, "slot": "base", "pin": "crank.B",
        "radii": (1, 2), "motion": {"A": "t"}, "section": "forces",
    },
    "Recipe": {"coordinates": "relative", "formulation": FORMULATIONS["lagrange"]()},
    "Samples": {"times": [0.0, 1.0, 2.0, 3.0], "values": [0.0, 1.0, 2.0, 3.0], "t": np.array([1.0])},
    "Subsystem": {
        "name": "new", "names": "y", "expression": "x", "energy": "x.d**2/2", "function": "x.dd**2/2", "when": "x",
        "forces": {"x": 1}, "identities": {"x": "x"}, "values": {"x": 1.0}, "value": 2.0, "strategy": "pivoted",
    },
}  # fmt: skip
RIGHT["System"] = RIGHT["Model"] | {"coordinate": "A", "first": "A", "second": "coupler"}


def class_of(name: str) -> Any:
    """The class of an entry of ``MADE``."""
    return getattr(da, name.split(",")[0], None) or type(MADE[name]())


def public_classes() -> set[str]:
    """Names of all classes that users have objects of: those of the package, and those that its calls return, if they
    have methods to misuse."""
    own = {name: getattr(da, name) for name in da.__all__ if isinstance(getattr(da, name), type)}
    own = {name: kind for name, kind in own.items() if not issubclass(kind, Exception)}
    calls = [getattr(da, name) for name in da.__all__ if inspect.isfunction(getattr(da, name))]
    for kind in own.values():
        calls += [member for key, member in inspect.getmembers(kind, inspect.isroutine) if not key.startswith("_")]
    found = set(own)
    for call in map(inspect.unwrap, calls):
        said = str(getattr(call, "__annotations__", {}).get("return", ""))
        for word in re.findall(r"(?<![\w.])[A-Z]\w*", said):
            kind = getattr(call, "__globals__", {}).get(word) or _loaded(word)
            if isinstance(kind, type) and kind.__module__.startswith("dalembert") and not issubclass(kind, BaseModel):
                methods = [m for key, m in inspect.getmembers(kind, inspect.isfunction) if not key.startswith("_")]
                found |= {word} if any(len(inspect.signature(m).parameters) > 1 for m in methods) else set()
    return found - BELOW


def _loaded(word: str) -> Any:
    """A class that a module imports for its annotations only."""
    for name, module in list(sys.modules.items()):
        if name.startswith("dalembert.") and isinstance(vars(module).get(word), type):
            return vars(module)[word]
    return None


def methods_of(name: str) -> Iterator[tuple[str, inspect.Signature]]:
    """Public methods of a class by name."""
    kind = class_of(name)
    if name in CONSTRUCTED:
        yield "__init__", inspect.signature(kind)
    for key in dir(kind):
        member = inspect.getattr_static(kind, key)
        if (key.startswith("_") and key != "__getitem__") or key in INSIDE.get(name, ()) or isinstance(member, type):
            continue
        found = getattr(kind, key)
        if not inspect.isroutine(found) or not (found.__module__ or "").startswith("dalembert"):
            continue
        signature = inspect.signature(found)
        own = [p for p in signature.parameters.values() if p.name != "self"]
        yield key, signature.replace(parameters=own)


def right(name: str, key: str) -> Any:
    """A right value of an argument, by class."""
    return RIGHT.get(name, {}).get(key, RIGHT[""].get(key))


def calls(name: str, method: str, signature: inspect.Signature) -> Iterator[tuple[str, Any]]:
    """Every argument of a method in turn, with a call that gives it a value while the others are right."""
    listed = list(signature.parameters.values())
    needed = [p for p in listed if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for wrong in listed:
        if wrong.kind == wrong.VAR_KEYWORD:
            continue

        def call(value: Any, wrong: inspect.Parameter = wrong) -> Any:
            target = class_of(name) if method == "__init__" else getattr(MADE[name](), method)
            if wrong.kind == wrong.VAR_POSITIONAL:
                return target(*(right(name, p.name) for p in needed), value)
            given = {p.name: right(name, p.name) for p in needed} | {wrong.name: value}
            return target(**given)

        yield wrong.name, call
