"""Linearization against differences of the nonlinear flow on the constraint manifold, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.analyses.assembly.rank import Positions
from dalembert.bench import reference_data
from dalembert.spatial.so3 import hat
from dalembert.state import State

WHIPPLE = reference_data("whipple_bicycle")

# Central differences of order 8: at this step both truncation and rounding stay below 1e-10.
STEP = 0.02
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
# Differences of a field with rounding 1e-14, relative to its size, divided by the step and amplified by the loops.
TOLERANCE = 1e-8


class Flow:
    """The nonlinear equations in a chart of the manifold: independent coordinates and velocities, nothing else."""

    def __init__(self, model: da.Model, linear: da.LinearModel):
        self.dynamics = da.compile(model, formulation="lagrange-multipliers", coordinates="relative")
        d, state = self.dynamics, linear.reference
        self.positions = Positions(d, State(state.time, state.q, state.u, d.coordinates, state.parameters))
        self.state, self.parameters = state, state.parameters
        self.x = [d.u_names.index(name) for name in linear.states if not name.endswith(".d")]
        self.y = [d.u_names.index(name[:-2]) for name in linear.states if name.endswith(".d")]

    def state_at(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tangent from the reference, q and u on the manifold, with independent entries moved by so much."""
        d, nx = self.dynamics, len(self.x)
        dependent = [i for i in range(d.nv) if i not in self.x]
        xi = np.zeros(d.nv)
        xi[self.x] = offsets[:nx]
        q = self.positions.moved(self.state.q, xi)
        for _ in range(20):
            phi, A = self.positions.residual(q)
            if not len(dependent) or np.abs(phi).max(initial=0.0) < 1e-15:
                break
            J = A[self.positions.holonomic][:, dependent]
            xi[dependent] -= np.linalg.lstsq(J, phi, rcond=1e-8)[0]
            q = self.positions.moved(self.state.q, xi)
        held = [i for i in range(d.nv) if i not in self.y]
        u = np.zeros(d.nv)
        u[self.y] = self.state.u[self.y] + offsets[nx:]
        seen = d.residuals(self.state.time, q, u, self.parameters)
        if held:
            rows = self.positions.acting
            u[held] = np.linalg.lstsq(
                np.asarray(seen.jacobian)[rows][:, held], -np.asarray(seen.velocity)[rows], rcond=1e-8
            )[0]
        return xi, q, u

    def rates(self, offsets: np.ndarray) -> np.ndarray:
        """How the chart's coordinates change; those of balls and free bodies turn with the reference."""
        d = self.dynamics
        xi, q, u = self.state_at(offsets)
        turned = u - self.state.u - self._turning() @ xi
        du = d.acceleration(q, u, t=self.state.time, parameters=self.parameters)
        return np.concatenate([turned[self.x], du[self.y]])

    def _turning(self) -> np.ndarray:
        """ad(u) of the reference for joints with quaternions: a small rotation ξ seen in axes that turn by ω."""
        d, u = self.dynamics, self.state.u
        K = np.zeros((d.nv, d.nv))
        for slot in d.coordinates.slots:
            if slot.q.stop - slot.q.start == slot.u.stop - slot.u.start:
                continue
            free = slot.u.stop - slot.u.start == 6
            at = slice(slot.u.start, slot.u.start + 3) if free else slice(slot.u.stop - 3, slot.u.stop)
            K[at, at] = hat(NUMPY, u[at])
            if free:
                below = slice(slot.u.start + 3, slot.u.stop)
                K[below, below], K[below, at] = hat(NUMPY, u[at]), hat(NUMPY, u[below])
        return K

    def matrix(self) -> np.ndarray:
        n = len(self.x) + len(self.y)
        columns = []
        for k in range(n):
            unit = np.zeros(n)
            unit[k] = STEP
            differences = [c * (self.rates(i * unit) - self.rates(-i * unit)) for i, c in STENCIL.items()]
            columns.append(sum(differences) / STEP)
        return np.array(columns).T


def undriven(name: str) -> da.Model:
    """A mechanism of the library without its drives."""
    model = da.library.build(name)
    model.constraints[:] = [c for c in model.constraints if c.kind != "drive"]
    return model


MODELS = {
    "pendulum": {},
    "double-pendulum": {},
    "cart-pendulum": {},
    "four-bar": {},
    "slider-crank": {},
    "slider-crank-3d": {},
    "spinning-top": {},
    "rolling-disc": {},
    "rolling-sphere": {},
    "snakeboard": {},
    "bicycle": {"parameters": {"speed": 5.0, "lean": 0.02}},
    "stewart-platform": {},
    "satellite": {},
    "andrews": {},
    "parallelogram": {"at": {}},
    "sarrus": {},
    "bennett": {},
}


SLOW = {"stewart-platform", "andrews", "bennett", "sarrus"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in MODELS])
def test_linearization_is_the_derivative_of_the_flow_on_the_manifold(name):
    model = undriven(name)
    linear = da.linearize(model, **MODELS[name])
    assert len(linear.states) > 0
    expected = Flow(model, linear).matrix()
    scale = 1 + np.abs(expected).max(axis=1, keepdims=True)
    assert np.abs((linear.A - expected) / scale).max() < TOLERANCE


@pytest.mark.parametrize("entry", WHIPPLE["eigenvalues"], ids=lambda entry: f"{entry['v']} m/s")
def test_eigenvalues_of_the_bicycle_have_all_digits(entry):
    """One call. The values recomputed with 40 digits are met to what a double can hold: eigenvalues of a matrix of norm
    ‖A‖ ~ 1e2 ... 1e3 are known to a few ε‖A‖. Published ones are off by up to two units in their last digit."""
    linear = da.linearize(da.library.bicycle(lean=0.0), parameters={"speed": float(entry["v"])})
    found = sorted((v for v in linear.eigenvalues() if v != 0), key=lambda v: (v.real, v.imag))
    exact = sorted((complex(v.replace(" ", "")) for v in entry["recomputed"]), key=lambda v: (v.real, v.imag))
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-15 * np.abs(linear.A).max() + 2e-14)


def test_matrices_of_the_bicycle_have_all_digits():
    published = WHIPPLE["matrices"]["published"]
    second = da.linearize(da.library.bicycle(lean=0.0)).second_order("speed", gravity="g")
    for name in ("M", "C1", "K0", "K2"):
        np.testing.assert_allclose(getattr(second, name), published[name], rtol=1e-13, atol=1e-11)
    assert np.abs(second.C0).max() < 1e-12 and np.abs(second.K1).max() < 1e-11


BY = {
    "double-pendulum": ("upper_length", "lower_mass"),
    "spinning-top": ("height", "mass"),
    "cart-pendulum": ("length",),
    "four-bar": ("crank", "base", "density"),
    "slider-crank-3d": ("rod", "height", "slider_mass"),
    "rolling-disc": ("radius",),
    "rolling-sphere": ("radius", "distance", "slope"),
    "bicycle": ("w", "c", "rF", "mB", "g"),
    "parallelogram": ("length", "platform_mass"),
    "bennett": ("height", "density"),
    "sarrus": ("size", "stiffness"),
    "stewart-platform": ("leg_mass", "platform_radius"),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in BY])
def test_accelerations_follow_parameters_and_the_manifold(name):
    """du̇/dp = ∂u̇/∂q ξ' + ∂u̇/∂u u' + ∂u̇/∂p, where independent entries of the state are held and others close the
    loops: rows that are redundant on the manifold, and contradict each other off it, have exact derivatives too."""
    model = undriven(name)
    linear = da.linearize(model, **MODELS[name])
    flow, start, none = Flow(model, linear), linear.reference, np.zeros(len(linear.states))
    start.u[:] = flow.state_at(np.linspace(0.3, 0.7, len(none)) * (np.arange(len(none)) >= len(flow.x)))[2]
    d, given = flow.dynamics, flow.dynamics.flat.parameters | dict(start.parameters)
    found = d.acceleration_derivatives(start.q, start.u, t=start.time, parameters=start.parameters, by=BY[name])
    for k, parameter in enumerate(BY[name]):
        step = 2e-3 * abs(given[parameter]) or 2e-3

        def at(i: int, parameter: str = parameter, step: float = step) -> tuple[np.ndarray, ...]:
            flow.parameters = {**start.parameters, parameter: given[parameter] + i * step}
            flow.positions = Positions(d, State(start.time, start.q, start.u, d.coordinates, flow.parameters))
            xi, q, u = flow.state_at(none)
            return xi, u, d.acceleration(q, u, t=start.time, parameters=flow.parameters)

        ends = {i: (at(i), at(-i)) for i in STENCIL}
        xi, u, expected = (
            sum(c * (ends[i][0][part] - ends[i][1][part]) for i, c in STENCIL.items()) / step for part in range(3)
        )
        slope = found.ddu_dq @ xi + found.ddu_du @ u + found.ddu_dp[:, k]
        assert np.abs(slope - expected).max() < TOLERANCE * (1 + np.abs(expected).max())
