"""Whatever gives the canonical blocks stands where a mechanism stands: here a particle that is no mechanism of ours."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.analyses.simulation.drive import Driver
from dalembert.dynamics import KernelSet
from dalembert.dynamics.make_problem import Asked, make_problem
from dalembert.equations import BlockEquations, Level, Row
from dalembert.formulations import FORMULATIONS
from dalembert.integrators import INTEGRATORS, Status

GRAVITY, LENGTH, ANGLE, DURATION = 9.81, 0.7, 1.2, 1.5


class Particle:
    """A particle in a plane, on a circle of radius r."""

    def __init__(self, t: Any, q: np.ndarray, u: np.ndarray, p: np.ndarray, tau: np.ndarray):
        self.t, self.q, self.u, self.tau = t, q, u, tau
        self.mass, self.radius = p

    def qdot(self) -> np.ndarray:
        return self.u

    @cached_property
    def rows(self) -> list[Row]:
        return [Row("circle", 0, Level.POSITION)]

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        return self.mass * CASADI.eye(2)

    @cached_property
    def forcing(self) -> np.ndarray:
        return CASADI.array([0.0, -self.mass * GRAVITY]) + self.tau

    @cached_property
    def momentum_rate(self) -> np.ndarray:
        return self.forcing

    def inverse(self, du: np.ndarray) -> np.ndarray:
        return self.mass_matrix @ du - self.forcing

    def along(self, values: np.ndarray) -> np.ndarray:
        return CASADI.rate(values, self.q, self.qdot())

    @cached_property
    def jacobian(self) -> np.ndarray:
        return 2 * self.q[None, :]

    @cached_property
    def gamma(self) -> np.ndarray:
        return CASADI.array([2 * (self.u @ self.u)])

    @cached_property
    def velocity_bias(self) -> np.ndarray:
        return CASADI.zeros(1)

    def position_residual(self) -> np.ndarray:
        return CASADI.array([self.q @ self.q - self.radius * self.radius])

    def velocity_residual(self) -> np.ndarray:
        return self.jacobian @ self.u

    def acceleration_residual(self, du: np.ndarray) -> np.ndarray:
        return self.jacobian @ du + self.gamma

    def kinetic_energy(self) -> Any:
        return self.mass * (self.u @ self.u) / 2

    def potential_energy(self) -> Any:
        return self.mass * GRAVITY * self.q[1]

    def power(self) -> Any:
        return self.tau @ self.u

    def outputs(self) -> np.ndarray:
        return CASADI.array([self.q[0]])

    def events(self) -> np.ndarray:
        return CASADI.array([self.q[0]])


class ParticleKernels(KernelSet):
    """Machine code of a particle."""

    def __init__(self, formulation: str, event_owners: tuple[str, ...] = ()):
        super().__init__(
            FORMULATIONS[formulation](), (2, 2), {"mass": 2.0, "radius": LENGTH}, event_owners=event_owners
        )

    def equations(self, tau: np.ndarray | None = None) -> BlockEquations:
        t, q, u, p = (self.symbols[name][1] for name in "tqup")
        return Particle(t[0], q, u, p, CASADI.zeros(2) if tau is None else tau)

    def moved(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return q + du

    def problem(self, *given: Any) -> Any:
        return make_problem(self, Asked(*given))


START = np.array([LENGTH * np.sin(ANGLE), -LENGTH * np.cos(ANGLE), 0.0, 0.0, 0.0])


def exact() -> np.ndarray:
    """By the angle."""
    found = solve_ivp(
        lambda t, y: [y[1], -GRAVITY / LENGTH * np.sin(y[0])], (0, DURATION), [ANGLE, 0.0],
        method="DOP853", rtol=1e-12, atol=1e-12,
    ).y[:, -1]  # fmt: skip
    return LENGTH * np.array([np.sin(found[0]), -np.cos(found[0])])


def test_equations_of_a_mechanism_are_block_equations():
    """The protocol has no member that a mechanism's equations lack."""
    members = {name for name in vars(BlockEquations) if not name.startswith("_")} | set(BlockEquations.__annotations__)
    assert {"mass_matrix", "forcing", "jacobian", "gamma", "velocity_bias", "position_residual", "rows"} <= members
    for made in (da.compile(da.library.pendulum()).equations(), ParticleKernels("gauss").equations()):
        assert all(hasattr(type(made), name) or hasattr(made, name) for name in members)


@pytest.mark.parametrize(
    "formulation",
    [
        "lagrange-multipliers", "projection", "udwadia-kalaba", "gauss", "jourdain", "independent", "woronetz",
        "augmented-lagrangian", "coordinate-partitioning", "canonical", "canonical-independent",
    ],
)  # fmt: skip
def test_formulations_take_them(formulation):
    kernels = ParticleKernels(formulation)
    driver = Driver(
        kernels, Choice(INTEGRATORS["dopri8"](rtol=1e-10, atol=1e-12)), np.array([0.0, DURATION]), START, {}
    )  # type: ignore[arg-type]
    end = driver.run().result
    assert end.status == Status.FINISHED
    np.testing.assert_allclose(end.last[:2], exact(), rtol=0, atol=1e-8)


def test_implicit_methods_events_and_energies_take_them():
    kernels = ParticleKernels("lagrange-multipliers", ("lowest point",))
    _, context = kernels.problem({}, ("rhs", "retract", "jacobian"), (0.0, START), None)
    assert context.n_events == 1
    seen = kernels.observer(0.0, START[:2], START[2:4], kernels.defaults)
    assert seen.potential == pytest.approx(2.0 * GRAVITY * START[1])
    assert seen.outputs == pytest.approx(START[:1])
    plain = ParticleKernels("lagrange-multipliers")
    choice = Choice(INTEGRATORS["radau"](rtol=1e-9, atol=1e-11))
    driver = Driver(plain, choice, np.array([0.0, DURATION]), START, {})  # type: ignore[arg-type]
    np.testing.assert_allclose(driver.run().result.last[:2], exact(), rtol=0, atol=1e-7)


@pytest.mark.parametrize("formulation", ["recursive", "lie-group", "velocity-transformation", "lagrange", "kane"])
def test_formulations_that_look_at_bodies_say_so(formulation):
    with pytest.raises(da.ModelError, match=f"{formulation}.* is for mechanisms of bodies and joints"):
        _ = ParticleKernels(formulation).problem({}, ("rhs", "retract"), None, None)


def test_integrators_that_move_along_joints_say_so():
    with pytest.raises(da.ModelError, match="moves along the joints"):
        ParticleKernels("lagrange-multipliers").problem({}, INTEGRATORS["munthe-kaas"].needs, None, None)
