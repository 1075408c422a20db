"""Native functions of formulations by themselves: on systems made by hand against NumPy, on kernels of small models
against each other; all of them compiled, with checks, and as plain Python."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.cases import driven_four_bar, sprung_four_bar

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.augmented_lagrangian import Augmented, AugmentedLagrangian
from dalembert.formulations.coordinate_partitioning import CoordinatePartitioning
from dalembert.formulations.independent import Independent
from dalembert.formulations.penalty import Penalty
from dalembert.formulations.velocity_transformation import VelocityTransformation
from dalembert.formulations.woronetz import ConstraintRates
from dalembert.native import checking, native, plain
from dalembert.numerics.context import (
    FAILED,
    ILL_CONDITIONED,
    NO_MASS,
    NOT_FINITE,
    OK,
    TOO_STIFF,
    Blocks,
    Context,
    Solution,
    Statistics,
    System,
    check_blocks,
    check_outputs,
    residual_rates,
    stabilized,
)  # fmt: skip
from dalembert.numerics.partition import Choice, chosen_partition, keep_or_choose, split

SOLVERS: dict[str, Formulation] = {
    **{name: cls() for name, cls in FORMULATIONS.items() if not cls.explicit},
    "independent, qr": Independent(basis="qr"),
    "independent, svd": Independent(basis="svd"),
    "velocity-transformation, independent": VelocityTransformation(closing="independent"),
    "velocity-transformation, penalty": VelocityTransformation(closing="penalty"),
}
APPROXIMATE = ("penalty", "velocity-transformation, penalty")
REDUCED = [name for name, f in SOLVERS.items() if f.supports().coordinates == ("generalized",) and hasattr(f, "what")]
INTEGRATED: dict[str, Formulation] = {
    **{name: SOLVERS[name] for name in SOLVERS if name.startswith("canonical") or name in REDUCED},
    "independent, mixed": Independent(state="mixed"),
    "partitioning, independent": CoordinatePartitioning(state="independent"),
}


class Case(SimpleNamespace):
    """M u̇ = f + Aᵀλ,  A u̇ + γ = 0  with  γ = Ȧ u + ḃ,  at a velocity that satisfies the constraints."""

    def system(self, formulation: Formulation) -> System:
        closed, still = np.zeros(2), np.zeros(len(self.A))
        return System(self.M, self.f, self.A, self.gamma, closed, still, self.u, self._own(formulation))

    def _own(self, formulation: Formulation) -> np.ndarray:
        """The blocks that a formulation adds, for w = u."""
        match formulation.name:
            case "woronetz":
                return np.concatenate([self.A_dot.ravel(), self.b_dot])
            case "lagrange":
                return np.concatenate([self.M.ravel(), self.f])
            case "maggi":
                kept = list(range(self.rank))
                W = np.linalg.svd(self.A[kept])[2][self.rank :].T
                C, d = np.vstack([W.T @ self.M, self.A[kept]]), np.concatenate([W.T @ self.f, -self.gamma[kept]])
                return np.concatenate([C.ravel(), d, kept, np.full(len(self.A) - self.rank, -1.0)])
        if formulation.own is None:
            return np.zeros(0)
        nv = len(self.f)
        return np.concatenate(
            [self.M.ravel(), self.f, self.A.ravel(), self.gamma, np.eye(nv).ravel(), np.zeros(nv), [1.0]]
        )

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """u̇, and λ of least norm, by singular values."""
        N, p = np.linalg.svd(self.A)[2][self.rank :].T, -np.linalg.pinv(self.A, rcond=1e-10) @ self.gamma
        du = p + N @ np.linalg.solve(N.T @ self.M @ N, N.T @ (self.f - self.M @ p))
        return du, np.linalg.pinv(self.A.T, rcond=1e-10) @ (self.M @ du - self.f)


def _case(redundant: bool = False, massless: bool = False, seed: int = 0) -> Case:
    rng, nv, rows = np.random.default_rng(seed), 12, 5
    J, A, A_dot = rng.normal(size=(nv, nv)), rng.normal(size=(rows, nv)), rng.normal(size=(rows, nv))
    M, b_dot = J @ J.T + np.eye(nv), rng.normal(size=rows)
    if redundant:
        A[-1], A_dot[-1], b_dot[-1] = (part[0] - 2.0 * part[1] for part in (A, A_dot, b_dot))
    if massless:
        M[-1] = M[:, -1] = 0.0
    u = rng.normal(size=nv)
    return Case(
        M=M, f=rng.normal(size=nv), A=A, A_dot=A_dot, b_dot=b_dot, u=u, gamma=A_dot @ u + b_dot,
        rank=rows - redundant,
    )  # fmt: skip


def _context(nv: int = 12, rows: int = 5, holonomic: int = 2) -> Context:
    statistics = Statistics(smallest_pivot=1.0, lowest_rank=np.inf)
    return Context(nq=nv, nv=nv, rows=rows, holonomic=holonomic, statistics=statistics)


def _solved(formulation: Formulation, case: Case) -> tuple[int, Context, Solution]:
    context = _context(len(case.f), len(case.A))
    solver, out = formulation.bind(context), Solution(np.zeros(len(case.f)), np.zeros(len(case.A)))
    assert solver is not None
    return solver(0.0, case.system(formulation), out), context, out


# Solvers


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("kind", [{}, {"redundant": True}, {"massless": True}], ids=["usual", "redundant", "massless"])
def test_every_route_gives_the_solution_of_numpy(name, kind):
    formulation, case = SOLVERS[name], _case(**kind)
    du, multipliers = case.solution()
    tolerance = 1e-6 if name in APPROXIMATE else 1e-9
    status, context, out = _solved(formulation, case)
    assert status == OK
    np.testing.assert_allclose(out.du, du, rtol=0, atol=tolerance * np.abs(du).max())
    np.testing.assert_allclose(out.multipliers, multipliers, rtol=0, atol=10 * tolerance * np.abs(multipliers).max())
    if isinstance(formulation, Penalty | Augmented | VelocityTransformation) or formulation.own is not None:
        return
    assert context.statistics.highest_rank == case.rank


@pytest.mark.parametrize("name", SOLVERS)
def test_every_route_runs_as_plain_python(name):
    formulation, case = SOLVERS[name], _case(redundant=True)
    _, context, out = _solved(formulation, case)
    with plain():
        status, same, other = _solved(formulation, case)
    assert status == OK
    # K of the penalty has the condition α: rounding grows that much.
    tolerance = 1e-6 if name in APPROXIMATE else 1e-11
    np.testing.assert_allclose(other.du, out.du, rtol=0, atol=tolerance)
    assert same.statistics.highest_rank == context.statistics.highest_rank
    with checking():
        status, _, checked = _solved(formulation, case)
    assert status == OK
    np.testing.assert_array_equal(checked.du, out.du)


def test_penalties_pull_at_violations():
    case = _case()
    e, out = case.system(Penalty()), Solution(np.zeros(12), np.zeros(5))
    e.phi[:], e.rate[:] = [0.01, -0.02], np.arange(5) * 0.01
    for formulation, tolerance in ((Penalty(omega=3.0, mu=0.5), 1e-6), (AugmentedLagrangian(omega=3.0, mu=0.5), 1e-11)):
        solver = formulation.bind(_context())
        assert solver is not None
        assert solver(0.0, e, out) == OK
        wanted = case.gamma + 2 * 3.0 * 0.5 * e.rate
        wanted[:2] += 3.0**2 * e.phi
        du, _ = Case(**vars(case) | {"gamma": wanted}).solution()
        np.testing.assert_allclose(out.du, du, rtol=0, atol=tolerance * np.abs(du).max())


# Reasons


# Maggi's solver only divides, and cannot tell rounding from zero.
@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "maggi"])
def test_every_failure_has_a_true_reason(name):
    """A direction with neither mass nor constraint; a number that is none."""
    formulation, case = SOLVERS[name], _case(massless=True)
    case.A[:, -1] = case.A_dot[:, -1] = 0.0
    status, context, _ = _solved(formulation, case)
    assert (status, context.statistics.failure) == (FAILED, NO_MASS)
    if formulation.own is not None or name == "newton-euler":
        return
    case = _case()
    case.M[3, 3] = np.nan
    status, context, out = _solved(formulation, case)
    assert context.statistics.failure == NOT_FINITE if status == FAILED else np.isnan(out.du).any()


@pytest.mark.parametrize("formulation", [Penalty(alpha=1e25), AugmentedLagrangian(alpha=1e25)], ids=lambda f: f.name)
def test_a_penalty_that_hides_the_masses_says_so(formulation):
    status, context, _ = _solved(formulation, _case())
    assert (status, context.statistics.failure) == (FAILED, TOO_STIFF)


def test_what_only_one_route_cannot_solve_is_its_own_reason():
    """Maggi's matrix has no inverse where a row that it keeps vanishes; the motion is determined all the same."""
    case = _case()
    case.A[0] = 0.0
    status, context, _ = _solved(SOLVERS["maggi"], case)
    assert (status, context.statistics.failure) == (FAILED, ILL_CONDITIONED)


# Choices


def test_a_choice_is_kept_for_any_number_of_velocities():
    rng, nv, rows = np.random.default_rng(2), 400, 12
    A, gamma = rng.normal(size=(rows, nv)), rng.normal(size=rows)
    choice = Choice(context=_context(nv, rows))
    rank, _, _, _, columns = chosen_partition(choice, A, gamma)
    assert (rank, choice.choices, choice.independent.sum()) == (rows, 1, nv - rows)
    assert set(np.flatnonzero(~choice.independent)) == set(columns[:rank])
    before = choice.independent.copy()
    again, _, _, _, same = chosen_partition(choice, A + 1e-3 * rng.normal(size=A.shape), gamma)
    assert (again, choice.choices) == (rank, 1)
    assert set(same[:rank]) == set(columns[:rank])
    A[:, ~before] = 0.0  # what depended depends no more
    chosen_partition(choice, A, gamma)
    assert choice.choices == 2
    assert choice.independent[~before].all()
    # The same in states.
    independent = np.zeros(nv, dtype=bool)
    assert keep_or_choose(independent, A)
    assert not keep_or_choose(independent, A)
    np.testing.assert_array_equal(independent, choice.independent)
    s = split(independent, A)
    assert s.rank == rows and s.ratio > 0


def test_where_nothing_moves_no_velocity_is_independent():
    A, independent = np.eye(3), np.zeros(3, dtype=bool)
    assert not keep_or_choose(independent, A)
    assert not independent.any()


# Forms


@native
def _rhs(c: Context, t: float, y: np.ndarray, dy: np.ndarray) -> int:
    """ẋ by the solver."""
    e, u = Blocks.of(c, c.dynamics(t, y[: c.nq + c.nv], c.parameters, c.tau)), y[c.nq : c.nq + c.nv]
    rate = residual_rates(e.A, e.b, u)
    gamma = stabilized(c, e.gamma, e.phi, rate)
    out = Solution(dy[c.nq : c.nq + c.nv], c.multipliers)
    status = c.solver(t, System(e.M, e.f, e.A, gamma, e.phi, rate, u, e.own), out)
    dy[: c.nq] = e.qdot
    dy[c.nq + c.nv] = e.power - e.b @ c.multipliers
    return status


@native
def _stay(c: Context, t: float, y: np.ndarray, quality: np.ndarray) -> int:
    quality[0] = 1.0
    return 0


def _context_of(dynamics: Dynamics) -> Context:
    parameters = np.array(dynamics.parameters(), dtype=float)
    context = Context(
        nq=dynamics.nq, nv=dynamics.nv, rows=len(dynamics.rows), holonomic=dynamics.holonomic, parameters=parameters,
        n_parameters=len(parameters), n_tail=dynamics.coordinates.tail,
        statistics=Statistics(smallest_pivot=1.0, lowest_rank=np.inf),
    )  # fmt: skip
    context.set(dynamics=dynamics.dynamics_kernel, constraints=dynamics.constraint_kernel)
    if dynamics.variables is not None:
        context.set(**{name: getattr(dynamics.kernels, f"{name}_kernel") for name in dynamics.variables.kernels})
    context.solver = dynamics.formulation.bind(context)
    context.set(rhs=_rhs.bind(context), retract=_stay.bind(context))
    return context


@pytest.mark.parametrize("name", INTEGRATED)
@pytest.mark.parametrize(
    "make", [da.library.four_bar, driven_four_bar, sprung_four_bar, da.library.spinning_top], ids=lambda f: f.__name__
)
@pytest.mark.slow
def test_forms_lead_there_and_back_and_move_alike(make, name):
    """decode ∘ encode = 1;  ẏ through decode is ẋ, by differences."""
    model, formulation = make(), INTEGRATED[name]
    dynamics = Dynamics(model, formulation, "generalized" if name in REDUCED else "relative")
    context, variables = _context_of(dynamics), dynamics.variables
    assert variables is not None
    q, u = da.assemble(model).to(dynamics.coordinates)
    x, t, h, n = np.concatenate([q, u, [0.3]]), 0.0, 1e-5, dynamics.nq + dynamics.nv + 1
    y, back, dy, dx = np.zeros(variables.size), np.empty(n), np.empty(variables.size), np.empty(n)
    functions = variables.bind(context)
    assert functions.encode(t, x, y) in (OK, -1)
    assert functions.decode(t, y, back) == OK
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-10)
    assert functions.rhs(t, y, dy) == OK
    assert not dy[variables.varying :].any()
    assert context.rhs(t, x, dx) == OK
    ends = np.empty((2, n))
    for end, sign in zip(ends, (-1.0, 1.0), strict=True):
        assert functions.decode(t + sign * h, y + sign * h * dy, end) == OK
    moved = (ends[1] - ends[0]) / (2 * h)
    np.testing.assert_allclose(moved, dx, rtol=0, atol=1e-5 * (1 + np.abs(dx).max()))
    kept, quality, J = y.copy(), np.zeros(1), np.empty((variables.size, variables.size))
    assert functions.retract(t, y, quality) in (OK, -1)
    assert quality[0] == 1.0
    assert functions.jacobian(t, kept, J) == OK
    assert not J[:, variables.varying :].any()
    with plain():
        other = np.empty(variables.size)
        assert functions.rhs(t, kept, other) == OK
    np.testing.assert_allclose(other, dy, rtol=0, atol=1e-9 * (1 + np.abs(dy).max()))
    with checking():
        assert variables.bind(_context_of(dynamics)).rhs(t, kept, other) == OK
    np.testing.assert_array_equal(other, dy)


def test_kernels_must_give_what_native_code_takes_apart():
    context = _context(3, 2, 1)
    usual = {"qdot": (3,), "power": (), "m": (3, 3), "f": (3,), "a": (2, 3), "gamma": (2,), "b": (2,), "phi": (1,)}
    own = {"jacobian_rate": (2, 3), "b_rate": (2,)}
    check_blocks(SimpleNamespace(name="dynamics", outputs=usual | own), ConstraintRates, context)
    check_blocks(SimpleNamespace(name="dynamics", outputs=usual), None, context)
    for wrong in (usual, usual | {"b_rate": (2,), "jacobian_rate": (2, 3)}, usual | own | {"f": (2,)}, {"qdot": (3,)}):
        with pytest.raises(TypeError, match="kernel 'dynamics' gives qdot"):
            check_blocks(SimpleNamespace(name="dynamics", outputs=wrong), ConstraintRates, context)
    check_outputs(SimpleNamespace(name="form", outputs=own), ConstraintRates, context)
    with pytest.raises(TypeError, match=r"gives jacobian_rate\[6\], and native code takes it for .*b_rate"):
        check_outputs(SimpleNamespace(name="form", outputs={"jacobian_rate": (2, 3)}), ConstraintRates, context)
