"""What the tests of misuse call: an object of every public class, and right arguments for each of its methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da

ODD: dict[str, Any] = {
    "None": None, "number": 3, "negative": -1, "nan": float("nan"), "huge": 10**400, "complex": 1j, "word": "x",
    "long word": "x" * 5000, "bytes": b"x", "empty list": [], "empty dictionary": {}, "object": object(),
    "numbers": [1.0, 2.0, 3.0, 4.0, 5.0], "matrix": np.ones((2, 3)), "words": np.array(["a", "b"]),
    "dictionary": {3: object()}, "function": print,
}  # fmt: skip

# Methods whose arguments the package itself makes.
INSIDE = {"LinearModel": {"picked"}, "State": {"to"}, "Equilibria": {"rows"}}


@functools.cache
def _four_bar() -> Any:
    return da.compile(da.library.four_bar())


@functools.cache
def _run() -> Any:
    return da.simulate(_four_bar(), 0.02, output_step=0.01)


# How an object of each class comes about.
MADE: dict[str, Callable[[], Any]] = {
    "Batch": functools.cache(lambda: da.simulate_many(_four_bar(), 0.02, parameters={"density": [1.0, 2.0]})),
    "Comparison": functools.cache(lambda: da.compare(da.library.pendulum(), 0.01, formulations=["lagrange"])),
    "Derivation": functools.cache(lambda: da.derive(da.library.pendulum(), "lagrange")),
    "Equilibria": functools.cache(lambda: da.equilibrium(da.library.pendulum(), starts=4)),
    "Equilibrium": lambda: MADE["Equilibria"]()[0],
    "Inverse": functools.cache(lambda: da.inverse_dynamics(da.library.pendulum(), {"pivot": "t"}, 0.02)),
    "Kinematics": functools.cache(lambda: da.kinematics(da.library.four_bar(), 0.02, {"A": "t"})),
    "LinearChart": functools.cache(lambda: da.linearize_over(da.library.pendulum(), "length", [1.0, 2.0])),
    "LinearModel": functools.cache(lambda: da.linearize(da.library.pendulum(), inputs=["pivot"])),
    "State": functools.cache(lambda: da.assemble(da.library.four_bar())),
    "States": functools.cache(lambda: da.assemble(da.library.four_bar(), {"A": [0.1, 0.2]})),
    "Trajectory": _run,
    "Workspace": functools.cache(lambda: da.workspace(da.library.pendulum(), "bob", {"pivot": (0, 1)})),
}

# Right arguments by class and name, "" for all classes; what has a default may be left out.
RIGHT: dict[str, dict[str, Any]] = {
    "": {
        "name": "A", "path": "file", "sample": 0, "at": 0, "index": 0, "mode": 0, "kind": "revolute", "x": "A",
        "body": "coupler", "output": "B", "joint": "A", "times": [0.0, 0.01], "over": {"length": [1.0, 2.0]},
        "samples": 2, "work": 100, "expression": sp.Symbol("x"), "omega": [1.0], "numerator": "length",
        "denominator": "length", "parameters": {}, "text": "{}", "data": {}, "keep": 0,
        "pair": ("lagrange", "relative"),
    },
    "LinearModel": {"input": "pivot", "output": "pivot", "name": "pivot", "mode": 0},
    "Equilibrium": {"name": "pivot"}, "Inverse": {"name": "pivot"}, "States": {"at": 0}, "State": {"state": "a"},
    "Derivation": {"name": "theta", "path": "file.c"},
}  # fmt: skip


def methods_of(name: str) -> Iterator[tuple[str, inspect.Signature]]:
    """Public methods of a class by name."""
    kind = getattr(da, name)
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
            target = getattr(MADE[name](), method)
            if wrong.kind == wrong.VAR_POSITIONAL:
                return target(*(right(name, p.name) for p in needed), value)
            given = {p.name: right(name, p.name) for p in needed} | {wrong.name: value}
            return target(**given)

        yield wrong.name, call
