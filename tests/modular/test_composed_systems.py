"""Systems composed of parts, against equations written by hand."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp
from scipy import integrate

import dalembert as da
from dalembert.analyses.linearization.spectrum import spectrum

M, I, BACK, FRONT = 1.5, 0.2, 0.5, 0.6  # of every cart: mass, inertia, from its middle to the hitches
SAME = 1e-9


def train(n: int) -> da.Subsystem:
    """A cart on a blade that pulls a train of n − 1 carts: a train within a train."""
    cart = da.Subsystem("cart")
    m, inertia = cart.parameters(m=M, I=I)
    x, y, th = cart.coordinates("x y th")
    cart.effective_forces({x: -m * x.dd, y: -m * y.dd, th: -inertia * th.dd})
    cart.invariant(-x.d * sp.sin(th) + y.d * sp.cos(th), "blade")
    if n == 1:
        return cart
    whole = da.Subsystem("train")
    head, tail = whole.include(cart, "head"), whole.include(train(n - 1), "tail")
    next_one = tail if n == 2 else tail.head
    whole.invariant(next_one.x + FRONT * sp.cos(next_one.th) - head.x + BACK * sp.cos(head.th), "along")
    whole.invariant(next_one.y + FRONT * sp.sin(next_one.th) - head.y + BACK * sp.sin(head.th), "across")
    return whole


def names(n: int) -> list[str]:
    return ["tail." * k + ("head." if k < n - 1 else "") for k in range(n)]


def straight(n: int) -> dict[str, float]:
    start = {f"{name}{q}": 0.0 for name in names(n) for q in ("x", "y", "th", "y.d", "th.d")}
    return start | {f"{name}x": -(BACK + FRONT) * k for k, name in enumerate(names(n))} | {
        f"{name}x.d": 1.0 for name in names(n)
    }  # fmt: skip


def multipliers(n: int) -> Any:
    """d/dt of all coordinates and rates of a train, M u̇ = Q + Aᵀλ, A u̇ = γ."""
    q: Any = sp.symbols(f"q:{3 * n}")
    u: Any = sp.symbols(f"u:{3 * n}")
    rows: list[Any] = [-u[i] * sp.sin(q[i + 2]) + u[i + 1] * sp.cos(q[i + 2]) for i in range(0, 3 * n, 3)]
    for i, (k, turn) in itertools.product(range(0, 3 * n - 3, 3), enumerate((sp.cos, sp.sin))):
        hitch = q[i + 3 + k] + FRONT * turn(q[i + 5]) - q[i + k] + BACK * turn(q[i + 2])
        terms: list[Any] = [sp.diff(hitch, a) * b for a, b in zip(q, u, strict=True)]
        rows.append(sum(terms))
    matrix: Any = cast(Any, sp).Matrix
    A, bend = matrix(rows).jacobian(u), matrix(rows).jacobian(q) * matrix(u)
    lambdify: Any = cast(Any, sp).lambdify
    rows_at, bend_at, mass = lambdify([q], A), lambdify([q, u], bend), np.diag([M, M, I] * n)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        place, speed = y[: 3 * n], y[3 * n :]
        J = rows_at(place)
        push, turn = 2 * np.sin(t), 0.3 * np.cos(2 * t)
        forces = np.zeros(3 * n)
        forces[:3] = push * np.cos(place[2]), push * np.sin(place[2]), turn
        K = np.block([[mass, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.concatenate([
            speed, np.linalg.solve(K, np.concatenate([forces, -np.ravel(bend_at(place, speed))]))[: 3 * n]
        ])  # fmt: skip

    return rates


def test_a_train_of_carts_on_blades_moves_as_by_multipliers() -> None:
    n, angles = 4, (0.3, 0.1, -0.2, 0.15)
    whole = train(n)
    head = whole.head
    force, torque = whole.input("F"), whole.input("tau")
    whole.effective_forces({head.x: force * sp.cos(head.th), head.y: force * sp.sin(head.th), head.th: torque})
    equations = whole.equations()
    assert (equations.degrees_of_freedom, equations.constraint_order, equations.redundant) == (2, 1, ())
    place = np.zeros(2)
    start: dict[str, float] = {"head.x.d": np.cos(0.3), "head.th.d": 0.5}
    for k, (name, angle) in enumerate(zip(names(n), angles, strict=True)):
        if k:
            before = angles[k - 1]
            place = place - BACK * np.array([np.cos(before), np.sin(before)])
            place = place - FRONT * np.array([np.cos(angle), np.sin(angle)])
        start |= {f"{name}x": place[0], f"{name}y": place[1], f"{name}th": angle}
    inputs = {"F": "2*sin(t)", "tau": "0.3*cos(2*t)"}
    run = da.simulate(whole, 3.0, initial=start, inputs=inputs, rtol=1e-11, atol=1e-12)
    assert run.certificate.trusted
    every = [f"{name}{q}" for name in names(n) for q in ("x", "y", "th")]
    y = np.array([float(run[f"{name}{end}"][0]) for end in ("", ".d") for name in every])
    found = cast(Any, integrate).solve_ivp(multipliers(n), (0, 3), y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose([float(run[name][-1]) for name in every], found[: 3 * n], rtol=0, atol=SAME)


@pytest.mark.parametrize("n", [2, 4, 6])
def test_what_nothing_holds_back_in_a_train_has_exact_zeros(n: int) -> None:
    """Place along, speed, and across: place, angle and rate of turning hang on each other, a zero of three at once."""
    linear = da.linearize(train(n), straight(n))
    values = linear.eigenvalues()
    assert np.sum(values == 0) == 5 and np.all(np.delete(values.real, values == 0) < -0.1)
    assert not any(mode.eigenvalue.real > 0 for mode in linear.modes())


def test_zeros_are_exact_however_defective_and_nothing_else_is_zero() -> None:
    rng = np.random.default_rng(3)
    basis = rng.normal(size=(7, 7))
    wanted = np.array([-1.0, -2.0, -3e-6])
    jordan = np.diag([0.0, 0.0, 0.0, 0.0, *wanted]) + np.diag([1.0, 1.0, 1.0, 0, 0, 0], 1)
    values: Any = spectrum(basis @ jordan @ np.linalg.inv(basis)).values
    assert np.sum(values == 0) == 4
    np.testing.assert_allclose(np.sort(values[values != 0].real), np.sort(wanted), rtol=1e-7)
    stiff = np.array([[-1e6, 1.0], [1.0, -1e-5]])  # det 9 > 0
    np.testing.assert_allclose(spectrum(stiff).values, [-1e6, -9e-6], rtol=1e-4)
    graded = np.array([[-1e6, 1e6], [1e-6, -2e-6]])  # the same in other units
    np.testing.assert_allclose(spectrum(graded).values, [-1e6, -1e-6], rtol=1e-4)


def test_a_loudspeaker_is_three_linear_equations() -> None:
    """L di/dt = u − R i − Bl ẋ,  m ẍ = Bl i − c ẋ − k x: a coil that is no mechanical part, and a cone of matrices."""
    coil = da.Subsystem("coil")
    inductance, resistance = coil.parameters(L=1e-3, R=6.0)
    current = coil.quasi_velocity("i")
    voltage, induced = coil.input("u"), coil.input("emf")
    coil.effective_forces({current: voltage - inductance * current.d - resistance * current - induced})
    speaker = da.Subsystem("speaker")
    cone, product = speaker.include(da.leaves.linear("cone", "x", [[0.02]], [[1.2]], [[900.0]])), 7.0
    wound = speaker.include(coil, inputs={"emf": product * cone.x.d})
    speaker.effective_forces({cone.x: product * wound.i})
    A = np.array([[0, 1, 0], [-900 / 0.02, -1.2 / 0.02, 7 / 0.02], [0, -7 / 1e-3, -6 / 1e-3]])
    linear = da.linearize(speaker)
    order = [linear.states.index(name) for name in ("cone.x", "cone.x.d", "coil.i")]
    np.testing.assert_allclose(linear.A[np.ix_(order, order)], A, rtol=1e-14)
    run = da.simulate(speaker, 0.1, inputs={"coil.u": "5*sin(300*t)"}, rtol=1e-10, atol=1e-13)
    assert run.certificate.trusted
    # The closed form: forced oscillation and what dies away.
    gain = np.linalg.solve(300j * np.eye(3) - A, np.array([0, 0, 5 / 1e-3]))
    values, vectors = np.linalg.eig(A)
    away = vectors @ (np.exp(values * 0.1) * np.linalg.solve(vectors, -gain.imag))
    exact = (gain * np.exp(300j * 0.1)).imag + away.real
    found = [float(run[name][-1]) for name in ("cone.x", "cone.x.d", "coil.i")]
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-10)


def test_what_a_swinging_load_leaves_to_dynamics_is_named() -> None:
    crane = da.Subsystem("crane")
    trolley = crane.include(da.leaves.particle("trolley", axes="x", m=3.0))
    load = crane.include(da.leaves.particle("load", "-y", axes="xy", m=2.0))
    motor = crane.include(da.leaves.dc_motor("motor"))
    crane.invariant((load.x - trolley.x) ** 2 + load.y**2 - 1, "rope")
    crane.invariant(trolley.x.d - 0.05 * motor.omega, "gear")
    crane.guess({load.y: -1.0})
    with pytest.raises(da.DalembertError, match=r"motion leaves load\.[xy] to dynamics"):
        da.inverse_dynamics(crane, {"trolley.x": "0.2*sin(t)**2"}, 1.0, unknowns=["motor.voltage"])


def test_a_force_on_a_part_that_no_invariant_binds() -> None:
    """Consistent states were looked for in groups that invariants bind; it was in none of them."""
    S = da.Subsystem("S")
    a, b = (S.include(da.leaves.particle(name, "-y", axes="xy", g=9.81)) for name in "ab")
    S.invariant(a.x**2 + a.y**2 - 1)
    S.effective_forces({b.x: -3 * (b.x - a.x), a.x: 3 * (b.x - a.x)})
    # Velocities that are not given are zero: they were numbers that are nothing special.
    found = S.equations().acceleration({"a.x": 0.6, "a.y": -0.8, "b.x": 1.0})
    along = 3 * 0.4 * 0.8 - 9.81 * 0.6  # on the circle, at rest: a = (F · t) t with t = (0.8, 0.6)
    assert [float(value) for value in found.values()] == pytest.approx([along * 0.8, along * 0.6, -1.2, -9.81])
