"""Public problems with reference values: what they are, where the numbers come from, and how far these are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from dalembert.analyses.linearization.linearize import linearize
from dalembert.analyses.simulation.simulate import simulate
from dalembert.dynamics import Dynamics
from dalembert.library import LIBRARY
from dalembert.model import Model
from dalembert.trajectory import Trajectory

__all__ = ["PROBLEMS", "PublicProblem", "Way", "reference_data"]

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
ANDREWS_ANGLES = ("O", "F", "B", "G", "A5", "H", "A7")  # β θ γ φ δ Ω ε
ANDREWS_CUTS = ("E3", "E4", "E6")


@cache
def reference_data(name: str) -> Any:
    """A file of reference values, with their source."""
    return json.loads((files("dalembert.bench") / "data" / f"{name}.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Way:
    """One way to solve a problem.

    Attributes:
        options: of ``simulate``.
        meets: error that it must reach; None for the problem's own.
        quick: it is part of the short table.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=lambda: {})
    meets: float | None = None
    quick: bool = True


@dataclass(frozen=True)
class PublicProblem:
    """A problem with a known answer.

    Attributes:
        source: of the reference values.
        solve: the numbers to compare, by the options of a way, and how they were found.
        exact: what they should be.
        meets: error that the exact ways must reach: the digits to which the reference is known, or those that rounding
            and the tolerances leave.
        relative: the error is that of each number, relative to it.
    """

    name: str
    title: str
    source: str
    solve: Callable[[Mapping[str, Any]], tuple[np.ndarray, Trajectory | None]]
    exact: Callable[[], np.ndarray]
    meets: float
    ways: tuple[Way, ...]
    relative: bool = False

    def error(self, found: np.ndarray) -> float:
        """Largest error of the numbers."""
        exact = self.exact()
        off = np.abs(found - exact)
        return float((off / np.abs(exact) if self.relative else off).max())


_compiled: dict[tuple[str, str, str], Dynamics] = {}


def _run(name: str, build: Callable[[], Model], duration: float, step: float, options: Mapping[str, Any]) -> Trajectory:
    """A run; the equations of a problem are compiled once for each formulation and kind of coordinates."""
    how: dict[str, Any] = {"output_step": step, **options}
    key = name, how.pop("formulation", "auto"), how.pop("coordinates", "auto")
    if key not in _compiled:
        _compiled[key] = Dynamics(build(), *key[1:])
    return simulate(_compiled[key], duration, **how)


def _rows(run: Trajectory, times: np.ndarray) -> np.ndarray:
    """Where the outputs at these times are."""
    return np.array([int(np.argmin(np.abs(run.values("time") - t))) for t in times])


# A01: a point mass on a rod of 1 m, released from the horizontal


def _point_pendulum() -> Model:
    model = Model("A01", gravity=(0, -9.81, 0))
    model.body("mass", mass=1, com=(-1, 0, 0), inertia=(0, 0, 0))
    model.revolute("pivot", "ground", "mass", point=(0, 0, 0), axis="z")
    return model


def _pendulum(options: Mapping[str, Any]) -> tuple[np.ndarray, Trajectory]:
    run = _run("pendulum", _point_pendulum, 10.0, 0.1, options)
    at = _rows(run, _pendulum_table()[:, 0])
    return run.values("position")[at, 0, :2], run


def _pendulum_table() -> np.ndarray:
    return np.array(reference_data("closed_forms")["pendulum"]["table"])


# A02: two four-bars in a row, through the position in which all bars lie in one line


def _windows(options: Mapping[str, Any]) -> tuple[np.ndarray, Trajectory]:
    run = _run("windows", lambda: LIBRARY["n-four-bar"](n=2, angle=0.0, speed=1.0), 10.0, 1.0, options)
    return np.stack([run.output("x of B0").values, run.output("y of B0").values], axis=1), run


# A03 and the IVP test set: Andrews' squeezer at 0.03 s


def _andrews(options: Mapping[str, Any]) -> tuple[np.ndarray, Trajectory]:
    run = _run("andrews", LIBRARY["andrews"], 0.03, 0.03, options)
    q = [float(run.joint(name).q[-1]) for name in ANDREWS_ANGLES]
    u = [float(run.joint(name).u[-1]) for name in ANDREWS_ANGLES]
    forces = [run.reaction(name).sel(kind="force").values[-1, :2] for name in ANDREWS_CUTS]
    return np.concatenate([q, u, *forces]), run


def _andrews_exact() -> np.ndarray:
    values = np.array([float(x) for x in reference_data("andrews")["values"]])
    return np.concatenate([values[:14], values[21:]])


# The heavy top of Brüls and Cardona at 2 s


def heavy_top() -> Model:
    """The top as it starts."""
    given = reference_data("heavy_top")["definition"]
    model = Model("heavy top", gravity=tuple(given["gravity"]))
    com = tuple(given["com_in_body_from_fixed_point"])
    model.body("top", mass=given["mass"], com=com, inertia=tuple(given["inertia_com_diag"]))
    model.spherical("tip", model.ground, "top", point=(0, 0, 0))
    model.initial("tip", (1, 0, 0, 0), rate=tuple(given["initial_omega_body"]))
    return model


def _top(options: Mapping[str, Any]) -> tuple[np.ndarray, Trajectory]:
    run = _run("heavy-top", heavy_top, 2.0, 0.1, options)
    return run.values("position")[-1, 0], run


# A free body that spins about its middle axis, and chains of point masses


def _wing_nut() -> Model:
    given = reference_data("closed_forms")["free_rigid_body"]["definition"]
    model = Model("wing nut", gravity=(0, 0, 0))
    model.body("nut", mass=1, inertia=tuple(given["J"]))
    model.initial("nut", rate=(*given["omega0_body"], 0, 0, 0))
    return model


def _free_body(options: Mapping[str, Any]) -> tuple[np.ndarray, Trajectory]:
    run = _run("free-body", _wing_nut, 10.0, 0.5, options)
    return run.joint("nut").u.values[_rows(run, _free_table()[:, 0]), :3], run


def _free_table() -> np.ndarray:
    return np.array(reference_data("closed_forms")["free_rigid_body"]["table"])


def _chain_of(n: int) -> Model:
    model, before = Model(f"{n}-pendulum", gravity=(0, -9.81, 0)), "ground"
    for i in range(n):
        body = model.body(f"m{i}", mass=1, com=(i + 1, 0, 0), inertia=(0, 0, 0))
        model.revolute(f"A{i}", before, body, point=(i, 0, 0), axis="z")
        before = body
    return model


def _chain(n: int, options: Mapping[str, Any]) -> tuple[np.ndarray, Trajectory]:
    table = _chain_table(n)
    run = _run(f"pendulum-{n}", lambda: _chain_of(n), float(table[-1, 0]), 0.5, options)
    turned = np.stack([run.joint(f"A{i}").q.values for i in range(n)], axis=1)[_rows(run, table[:, 0])]
    return _on_circle(np.pi / 2 + np.cumsum(turned, axis=1)), run


def _chain_table(n: int) -> np.ndarray:
    key = {2: "double_pendulum"}.get(n, f"n{n}")
    return np.array(reference_data("closed_forms")["n_pendulum"]["cases"][key]["table"])


def _on_circle(angles: np.ndarray) -> np.ndarray:
    """Angles without their turns."""
    return np.stack([np.cos(angles), np.sin(angles)])


# The Whipple bicycle: eigenvalues at ten speeds


def _bicycle(options: Mapping[str, Any]) -> tuple[np.ndarray, None]:
    model = LIBRARY["bicycle"](lean=0.0)
    found: list[np.ndarray] = []
    for entry in reference_data("whipple_bicycle")["eigenvalues"]:
        linear: Any = linearize(model, parameters={"speed": float(entry["v"])})
        found.append(_sorted([value for value in linear.eigenvalues() if value != 0]))
    return np.array(found), None


def _bicycle_exact() -> np.ndarray:
    rows = reference_data("whipple_bicycle")["eigenvalues"]
    return np.array([_sorted([complex(value.replace(" ", "")) for value in row["recomputed"]]) for row in rows])


def _sorted(values: list[complex]) -> np.ndarray:
    return np.array(sorted(values, key=lambda v: (v.real, v.imag)))


_TREE = (
    Way("recursive, dopri8", TIGHT),
    Way("lagrange-multipliers, absolute", {"formulation": "lagrange-multipliers", "coordinates": "absolute", **TIGHT}),
    Way("natural coordinates", {"coordinates": "natural", **TIGHT}),
    Way("radau", {"integrator": "radau", **TIGHT}, quick=False),
    Way("lagrange, generalized", {"formulation": "lagrange", "coordinates": "generalized", **TIGHT}, quick=False),
    Way("hamilton, generalized", {"formulation": "hamilton", "coordinates": "generalized", **TIGHT}, quick=False),
)

PROBLEMS: dict[str, PublicProblem] = {
    problem.name: problem
    for problem in (
        PublicProblem(
            "pendulum", "IFToMM A01: planar pendulum, 10 s", "closed form in Jacobi's elliptic functions",
            _pendulum, lambda: _pendulum_table()[:, 1:3], 1e-9,
            (*_TREE, Way("generalized-alpha", {"integrator": "generalized-alpha", "step": 1e-3}, 1e-3, quick=False)),
        ),
        PublicProblem(
            "windows", "IFToMM A02: two four-bars in a row through singular positions, 10 s",
            "closed form in Jacobi's elliptic functions", _windows,
            lambda: np.array(reference_data("windows")["by_windows"]["2"])[:, 1:], 5e-10,
            tuple(
                Way(f"{name}, stages", {"formulation": name, "stabilization": "stages", "rtol": 2e-12, "atol": 1e-13})
                for name in ("lagrange-multipliers", "recursive")
            ),
        ),
        PublicProblem(
            "andrews", "IVP test set: Andrews' squeezer at 0.03 s, angles, rates and reactions",
            "recomputed in quadruple precision; the published values differ by up to 1.4e-9", _andrews, _andrews_exact,
            1e-8,
            (
                Way("auto", {"rtol": 1e-13, "atol": 1e-14}),
                Way("udwadia-kalaba", {"formulation": "udwadia-kalaba", "rtol": 1e-13, "atol": 1e-14}),
                Way("canonical", {"formulation": "canonical", "rtol": 1e-13, "atol": 1e-14}),
                Way("radau", {"integrator": "radau", **TIGHT}),
                Way("radau, GGL", {"stabilization": "ggl", **TIGHT}, quick=False),
                Way("projection", {"formulation": "projection", "rtol": 1e-13, "atol": 1e-14}, quick=False),
            ),
            relative=True,
        ),
        PublicProblem(
            "heavy-top", "Heavy top of Brüls, Cardona and Arnold (2012) at 2 s",
            "quadruple precision, and energies and momenta in closed form", _top,
            lambda: np.array([float(x) for x in reference_data("heavy_top")["final"][:3]]), 1e-9,
            (
                Way("recursive, dopri8", TIGHT),
                Way("absolute", {"coordinates": "absolute", **TIGHT}),
                Way("munthe-kaas", {"integrator": "munthe-kaas", "step": 2e-5}),
                Way("generalized-alpha", {"integrator": "generalized-alpha", "step": 2e-5}, 1e-3, quick=False),
            ),
        ),
        PublicProblem(
            "free-body", "Free rigid body, spin about the middle axis, 10 s",
            "closed form in Jacobi's elliptic functions; errors grow 2000-fold with each flip", _free_body,
            lambda: _free_table()[:, 1:], 1e-7,
            (Way("recursive, dopri8", TIGHT), Way("tsit5", {"integrator": "tsit5", **TIGHT})),
        ),
        *(
            PublicProblem(
                f"pendulum-{n}", f"Chain of {n} point masses from the horizontal, before chaos",
                "quadruple precision, and an independent code", lambda options, n=n: _chain(n, options),
                lambda n=n: _on_circle(_chain_table(n)[:, 1 : n + 1]), 1e-8, _TREE[:2],
            )
            for n in (2, 3, 5, 10)
        ),
        PublicProblem(
            "bicycle", "Whipple's bicycle: eigenvalues at 0 … 10 m/s, from the nonlinear model",
            "Meijaard, Papadopoulos, Ruina, Schwab (2007), recomputed with 40 digits", _bicycle, _bicycle_exact, 1e-11,
            (Way("linearize"),),
        ),
    )
}  # fmt: skip
