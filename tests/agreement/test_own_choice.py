"""Independent velocities that the user chooses, and a general B: eq. (5.54)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses.simulation import drive
from dalembert.analyses.simulation.choose_integrator import Choice
from dalembert.formulations.independent import Independent
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.integrators import INTEGRATORS


def crank() -> da.Model:
    """A slider-crank in the plane, one freedom."""
    model = da.Model("crank", gravity=(0, -9.81, 0))
    model.body("crank", mass=1, com=(0.15, 0.2, 0), inertia=(0.01,) * 3)
    model.body("rod", mass=2, com=(0.7, 0.2, 0), inertia=(0.05,) * 3)
    model.body("slide", mass=3, com=(1.1, 0, 0), inertia=(0.1,) * 3)
    model.revolute("A", model.ground, "crank", point=(0, 0, 0), axis="z")
    model.revolute("B", "crank", "rod", point=(0.3, 0.4, 0), axis="z")
    model.revolute("C", "rod", "slide", point=(1.1, 0, 0), axis="z", cut=True)
    model.prismatic("D", model.ground, "slide", point=(1.1, 0, 0), axis="x")
    return model


def by_hand(dynamics: da.Dynamics, B: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """u̇ = R z̈ + S c with [A; B]⁻¹ by NumPy."""
    A = np.asarray(dynamics.residuals(0.0, q, u).jacobian)
    A = A[np.linalg.norm(A, axis=1) > 1e-9]  # in the plane
    h = 1e-6
    gamma = sum(s * (np.asarray(dynamics.residuals(0.0, q + s * h * u, u).velocity)) for s in (1, -1)) / (2 * h)
    gamma = gamma[np.linalg.norm(np.asarray(dynamics.residuals(0.0, q, u).jacobian), axis=1) > 1e-9]
    inverse = np.linalg.inv(np.concatenate([A, B]))
    R, Sc = inverse[:, len(A) :], inverse[:, : len(A)] @ -gamma
    M, f = dynamics.mass_matrix(q), -dynamics.bias(q, u)
    return R @ np.linalg.solve(R.T @ M @ R, R.T @ (f - M @ Sc)) + Sc


@pytest.mark.parametrize("name", ["A", "B", "D"])
def test_independent_velocities_by_name(name: str):
    dynamics = da.compile(crank(), formulation=Independent(velocities=(name,)))
    q, u = da.assemble(dynamics, initial_rates={"A": 2.0}).to(dynamics.coordinates)
    B = np.eye(3)[[dynamics.index(name)]]
    np.testing.assert_allclose(dynamics.solve(q, u)[0], by_hand(dynamics, B, q, u), rtol=1e-6)
    chosen = dynamics.context().solver.record.independent
    assert chosen.tolist() == B[0].tolist()


def test_a_choice_gives_way_where_it_is_bad():
    """The slide stands still at the dead points of the crank: a run goes on with others."""
    options = {"initial_rates": {"A": 8.0}, "rtol": 1e-10, "atol": 1e-12}
    run = da.simulate(crank(), 1.0, formulation=Independent(velocities=("D",)), **options)
    reference = da.simulate(crank(), 1.0, formulation="lagrange-multipliers", **options)
    assert run.certificate.trusted
    np.testing.assert_allclose(run.values("position"), reference.values("position"), atol=1e-7)


def test_a_general_basis():
    B = ((1.0, 0.3, -0.2),)
    formulation = Independent(basis="given", B=B)
    dynamics = da.compile(crank(), formulation=formulation)
    q, u = da.assemble(dynamics, initial_rates={"A": 2.0}).to(dynamics.coordinates)
    np.testing.assert_allclose(dynamics.solve(q, u)[0], by_hand(dynamics, np.array(B), q, u), rtol=1e-6)
    assert da.Recipe.from_json(dynamics.recipe.to_json()).formulation == formulation
    run = da.simulate(crank(), 0.3, formulation=formulation, initial_rates={"A": 2.0})
    assert run.certificate.trusted


@pytest.mark.parametrize("basis", ["qr", "svd"])
def test_a_kept_basis_goes_on_until_it_is_stale(basis: str):
    formulation = Independent(basis=basis, keep=True)
    options = {"initial_rates": {"A": 8.0}, "rtol": 1e-10, "atol": 1e-12}
    run, fresh = (
        da.simulate(crank(), 1.0, formulation=kind, **options) for kind in (formulation, Independent(basis=basis))
    )
    np.testing.assert_allclose(run.values("position"), fresh.values("position"), atol=1e-8)
    assert run.certificate.trusted
    # Along that motion: a few choices for a thousand positions, and each of them solves (5.54) with its B.
    dynamics = da.compile(crank(), formulation=formulation)
    context = dynamics.context()
    rate = np.empty(dynamics.nq + dynamics.nv + 1)
    for q, u in zip(run.values("q"), run.values("u"), strict=True):
        assert context.rhs(0.0, np.concatenate([q, u, [0.0]]), rate) == 0
    record = context.solver.record
    assert 1 <= record.choices < 40
    q, u = run.values("q")[-1], run.values("u")[-1]
    np.testing.assert_allclose(
        rate[dynamics.nq : -1], by_hand(dynamics, record.B[: record.p], q, u), rtol=1e-5, atol=1e-5
    )
    # A basis that has come to depend on the constraints is stale.
    before, good = record.choices, rate.copy()
    A = np.asarray(dynamics.residuals(0.0, q, u).jacobian)
    record.B[0] = A[np.argmax(np.linalg.norm(A, axis=1))]
    assert context.rhs(0.0, np.concatenate([q, u, [0.0]]), rate) == 0
    assert record.choices == before + 1
    np.testing.assert_allclose(rate, good, atol=1e-8)


def _in_state(formulation: Independent, run: da.Trajectory, k: int):
    """What is integrated, at output k: the problem, y and ẏ, and B from the numbers behind those that vary."""
    dynamics = da.compile(run.dynamics.model, formulation=formulation)
    x = np.concatenate([run.values("q")[k], run.values("u")[k], [0.0]])
    driver = drive.Driver(dynamics, Choice(INTEGRATORS["dopri8"]()), np.array([0.0, 1.0]), x, {})
    y, rate = driver.memory.y.copy(), np.zeros_like(driver.memory.y)
    assert driver.problem.rhs(0.0, y, rate) == 0
    n, start = dynamics.nv, driver.problem.varying
    p = int(y[start])
    return driver.problem, y, rate, y[start + 1 : start + 1 + n * n].reshape(n, n)[:p]


@pytest.mark.parametrize("basis", ["qr", "svd"])
@pytest.mark.parametrize("state", ["mixed", "independent"])
def test_states_that_hold_a_kept_basis(basis: str, state: str):
    """(5.60): u from B u = ż and the constraints; (5.67): z̈ = B u̇; both with NumPy, and z = B q stays while the loop
    closes."""
    formulation = Independent(basis=basis, keep=True, state=state)
    options = {"initial_rates": {"A": 8.0}, "rtol": 1e-11, "atol": 1e-13}
    run = da.simulate(crank(), 1.0, formulation=formulation, **options)
    expected = da.simulate(crank(), 1.0, formulation="lagrange-multipliers", **options)
    assert run.certificate.trusted
    np.testing.assert_allclose(run.values("position"), expected.values("position"), rtol=0, atol=1e-9)

    k, dynamics = 400, da.compile(crank())
    problem, y, rate, B = _in_state(formulation, run, k)
    q, u, n = run.values("q")[k], run.values("u")[k], dynamics.nv
    assert dynamics.nq == n
    A = np.asarray(dynamics.residuals(0.0, q, u).jacobian)
    np.testing.assert_allclose(B @ B.T, np.eye(1), atol=1e-14)
    np.testing.assert_allclose(A @ B.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(y[n : n + 1], B @ u, atol=1e-13)
    np.testing.assert_allclose(rate[n : n + 1], B @ by_hand(dynamics, B, q, u), rtol=1e-6)
    # Another ż: all velocities are those of (5.60).
    y[n] += 1.0
    if state == "independent":
        y[:n] += 0.02 * B[0] + 0.01 * A[0] / np.linalg.norm(A[0])
    x = np.empty(2 * n + 1)
    assert problem.decode(0.0, y, x) == 0
    there = dynamics.residuals(0.0, x[:n], x[n : 2 * n])
    both = np.concatenate([np.asarray(there.jacobian), B])
    wanted = np.linalg.lstsq(both, np.concatenate([np.zeros(len(A)), y[n : n + 1]]), rcond=1e-10)[0]
    np.testing.assert_allclose(x[n : 2 * n], wanted, atol=1e-10)
    np.testing.assert_allclose(there.position, 0.0, atol=1e-12)
    if state == "independent":
        np.testing.assert_allclose(B @ (x[:n] - q), B @ y[:n], atol=1e-13)


def test_a_kept_basis_needs_fewer_changes_than_entries_of_u(monkeypatch: pytest.MonkeyPatch):
    """As the text expects: the crank turns, and B of the start serves nearly all the way."""
    restarts, run = [], drive.Driver.run
    monkeypatch.setattr(drive.Driver, "run", lambda self: (restarts.append(self.memory), run(self))[1])
    for formulation in (Independent(state="mixed"), Independent(basis="qr", keep=True, state="mixed")):
        options = {"initial_rates": {"A": 8.0}, "integrator": "bdf", "certify": False}
        da.simulate(crank(), 1.0, formulation=formulation, **options)
    entries, kept = (memory.restarts for memory in restarts)
    assert kept < entries and 50 * kept < restarts[1].steps


def test_a_basis_that_depends_on_the_constraints_is_reported():
    dynamics = da.compile(crank())
    q, u = da.assemble(dynamics).to(dynamics.coordinates)
    A = np.asarray(dynamics.residuals(0.0, q, u).jacobian)
    row = A[np.argmax(np.linalg.norm(A, axis=1))]
    singular = da.compile(crank(), formulation=Independent(basis="given", B=(tuple(row),)))
    with pytest.raises(da.DalembertError, match="independent velocities do not determine the others"):
        singular.solve(q, u)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"velocities": ("E",)}, "no velocity is called 'E'; expected some of A, D, B"),
        ({"basis": "given", "B": ((1.0, 2.0),)}, "rows of B must have 3 numbers"),
    ],
)
def test_wrong_choices_are_refused(options: dict, message: str):
    dynamics = da.compile(crank(), formulation=Independent(**options))
    with pytest.raises(da.DalembertError, match=message):
        dynamics.solve([0.0] * 3, [0.0] * 3)


def test_options_that_exclude_each_other():
    with pytest.raises(da.DalembertError, match="belong together"):
        Independent(B=((1.0,),))
    with pytest.raises(da.DalembertError, match="is for basis='boolean'"):
        Independent(basis="qr", velocities=("A",))


# One system, or by the inverse of M


@pytest.mark.parametrize("solve", ["null-space", "saddle", "inverse-mass"])
@pytest.mark.parametrize("coordinates", ["relative", pytest.param("natural", marks=pytest.mark.slow)])
def test_three_ways_to_the_multipliers(solve: str, coordinates: str):
    """u̇ and Aᵀλ of (5.10) and of (5.11), (5.12) against NumPy's least squares on the whole system."""
    model = crank()
    dynamics = da.compile(model, formulation=LagrangeMultipliers(solve), coordinates=coordinates)
    q, u = da.assemble(model, initial_rates={"A": 2.0}).to(dynamics.coordinates)
    if coordinates == "natural" and solve == "inverse-mass":
        M = dynamics.mass_matrix(q)
        if np.linalg.matrix_rank(M) < len(M):
            pytest.skip("natural coordinates of a massless direction")
    du, multipliers = dynamics.solve(q, u)
    plain = da.compile(model, coordinates=coordinates, formulation="projection")
    A, M = np.asarray(plain.residuals(0.0, q, u).jacobian), plain.mass_matrix(q)
    gamma = -A @ plain.solve(q, u)[0]
    whole = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    x = np.linalg.lstsq(whole, np.concatenate([-plain.bias(q, u), -gamma]), rcond=1e-12)[0]
    np.testing.assert_allclose(du, x[: len(M)], atol=1e-8)
    np.testing.assert_allclose(A.T @ multipliers, -A.T @ x[len(M) :], atol=1e-7)


def test_another_way_is_refused():
    with pytest.raises(da.DalembertError, match="unknown option 'lu'"):
        LagrangeMultipliers("lu")


# Constraints that do work


def test_non_ideal_constraints_of_udwadia_and_kalaba():
    """The third term of the fundamental equation, written out with NumPy, is what a force of the model adds."""
    ideal, rough = crank(), crank()
    rough.joint_force("friction", "D", "-0.7*tanh(u(D)/0.1)")
    rough.joint_force("drag", "A", "-0.2*u(A)")
    kind = {"formulation": "udwadia-kalaba", "coordinates": "relative"}
    smooth, dynamics = da.compile(ideal, **kind), da.compile(rough, **kind)
    q, u = da.assemble(ideal, initial_rates={"A": 2.0}).to(dynamics.coordinates)
    C = np.zeros(3)
    C[dynamics.index("D")] = -0.7 * np.tanh(u[dynamics.index("D")] / 0.1)
    C[dynamics.index("A")] = -0.2 * u[dynamics.index("A")]
    M, A = smooth.mass_matrix(q), np.asarray(smooth.residuals(0.0, q, u).jacobian)
    values, V = np.linalg.eigh(M)
    root = V @ np.diag(values**-0.5) @ V.T
    B = A @ root
    third = root @ (np.eye(3) - np.linalg.pinv(B, rcond=1e-9) @ B) @ root @ C
    np.testing.assert_allclose(dynamics.solve(q, u)[0], smooth.solve(q, u)[0] + third, atol=1e-9)
    assert np.abs(third).max() > 0.01


# How directions stand to the constraints


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_alignment_with_the_constraints(coordinates: str):
    """Δ_c and Δ_T of (67), (68): lengths of projections in the metric M, by NumPy."""
    dynamics = da.compile(crank(), coordinates=coordinates)
    q, u = da.assemble(crank()).to(dynamics.coordinates)
    M, A = dynamics.mass_matrix(q), np.asarray(dynamics.residuals(0.0, q, u).jacobian)
    across = np.linalg.solve(M, A.T) @ np.linalg.pinv(A @ np.linalg.solve(M, A.T), rcond=1e-10) @ A
    along = np.eye(len(M)) - across
    found = dynamics.alignment(q)
    np.testing.assert_allclose(found.normal, np.diag(across.T @ M @ across) / np.diag(M), atol=1e-8)
    np.testing.assert_allclose(found.tangent, np.diag(along.T @ M @ along) / np.diag(M), atol=1e-8)


def test_a_free_tree_is_tangent():
    dynamics = da.compile(da.library.double_pendulum())
    assert dynamics.alignment([0.1, 0.2]).tangent.tolist() == [1.0, 1.0]
