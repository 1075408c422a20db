"""Linear models of parts that enter the linearization of the whole as numbers, and eigenvalues against parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos, sin
from test_linear import motor_and_load, pendulum, ring_and_disc, slider_crank, slope, two_masses, whipple

import dalembert as da
from dalembert.errors import DalembertError, ModelError

CASES: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "two masses": (two_masses, {"alpha": 0.6, "beta": -0.3, "alpha.d": 1.0, "beta.d": 2.0}, ["a", "b"]),
    "motor": (motor_and_load, {"load.angle": 0.7, "load.angle.d": 2.0, "motor.i": 0.3}, ["motor"]),
    "slider-crank": (slider_crank, {"crank.th": 0.7, "crank.omega": 1.5}, ["rod"]),
    "ring and disc": (ring_and_disc, {"theta": 0.9, "theta.d": 0.8, "disc.omega": -2.0}, ["ring", "disc"]),
    "bicycle, frame": (whipple, {"A.x.d": 4.0, "A.z": -0.3}, ["A"]),
    "bicycle, turning": (whipple, {"A.x.d": 4.0, "A.phi": 0.1, "A.delta": -0.05, "A.phi.d": 0.2, "A.delta.d": 0.3,
                                   "A.x": 0.0, "A.y": 0.0, "A.psi": 0.1}, ["A.B", "R", "F"]),
}  # fmt: skip


def part_of(system: da.Subsystem, path: str) -> da.Subsystem:
    for step in path.split("."):
        system = system._parts[step].part
    return system


def known_parts(system: da.Subsystem, whole: Any, paths: list[str]) -> dict[str, Any]:
    """Linear models of parts, at the reference that they have in the whole."""
    values = whole.source.system.values
    found: dict[str, Any] = {}
    for path in paths:
        part = part_of(system, path)
        at = {str(label): float(values[f"{path}.{label}"]) for label in part.equations().state}
        found[path] = da.linearize(part, at)
    return found


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if "turning" in n else []) for n in CASES])
def test_known_parts_give_what_linearizing_everything_gives(name: str) -> None:
    make, at, paths = CASES[name]
    system = make()
    whole = da.linearize(system, at)
    known = known_parts(system, whole, paths)
    found = da.linearize(system, at, known=known)
    assert found.states == whole.states and found.inputs == whole.inputs and found.kind == whole.kind
    for letter in "ABCD":
        expected = getattr(whole, letter)
        scale = 1 + np.abs(expected).max(initial=0.0)
        assert np.abs(getattr(found, letter) - expected).max(initial=0.0) < 1e-11 * scale


def test_the_equations_of_known_parts_are_not_asked_for() -> None:
    """A part with the same variables and no equations at all serves."""
    system, at = two_masses(), {"alpha": 0.6, "beta": -0.3}
    whole = da.linearize(system, at)
    known = known_parts(system, whole, ["a"])
    bare, empty = two_masses(), da.Subsystem("a")
    empty.parameters(m=1.5, g=9.8)
    empty.coordinates("x y")
    bare._parts["a"].part = empty
    bare._version += 1
    assert np.abs(da.linearize(bare, at).A - whole.A).max() > 1  # without mass and weight at the first rod
    found = da.linearize(bare, at, known=known)
    np.testing.assert_allclose(found.A, whole.A, rtol=0, atol=1e-12)


def test_known_parts_that_do_not_fit_are_refused() -> None:
    system, at = two_masses(), {"alpha": 0.6, "beta": -0.3}
    known = known_parts(system, da.linearize(system, at), ["a"])
    with pytest.raises(ModelError, match=r"(?s)does not meet its invariants; left over: c1 .*linearize known parts"):
        da.linearize(system, {"alpha": 0.2, "beta": -0.3}, known=known)
    with pytest.raises(ModelError, match=r"'a' is known for a\.x\.d = 0, here 1"):
        da.linearize(system, {**at, "a.x.d": 1.0, "a.y.d": -np.tan(0.6)}, known=known)
    with pytest.raises(ModelError, match=r"known for a\.m = 1\.5, here 2"):
        da.linearize(system, at, parameters={"a.m": 2.0}, known=known)
    with pytest.raises(DalembertError, match="has no part 'c'; it has a, b"):
        da.linearize(system, at, known={"c": known["a"]})
    with pytest.raises(DalembertError, match=r"what da\.linearize\(subsystem\) gave"):
        da.linearize(system, at, known={"a": da.linearize(da.library.pendulum())})
    with pytest.raises(DalembertError, match="for subsystems"):
        da.linearize(da.library.pendulum(), known=known)
    with pytest.raises(DalembertError, match="belongs to 'a', which is known"):
        da.linearize(system, at, known=known).sensitivity("a.m")


def test_a_leaf_from_matrices_is_the_leaf_it_was_made_of() -> None:
    """The upper mass of the double pendulum by its matrices, weight among them: the same linear model."""
    whole = da.linearize(two_masses(), {"alpha": 0.0, "beta": 0.0})
    S = two_masses()
    S._parts["a"].part = da.leaves.linear("a", "x y", 1.5 * np.eye(2), force=(0.0, 1.5 * 9.8))
    S._version += 1
    np.testing.assert_allclose(da.linearize(S, {"alpha": 0.0, "beta": 0.0}).A, whole.A, atol=1e-12)
    leaf = da.leaves.linear("L", "a b", [[2, 1], [0, 3]], [[0.1, 0], [0, 0]], [[5, -1], [-1, 4]], inputs={"w": (0, 6)})
    linear = da.linearize(leaf)
    M, K = np.array([[2, 1], [0, 3.0]]), np.array([[5, -1], [-1, 4.0]])
    np.testing.assert_allclose(linear.A[2:, :2], -np.linalg.solve(M, K), atol=1e-12)
    np.testing.assert_allclose(linear.B[2:, 0], np.linalg.solve(M, [0, 6]), atol=1e-12)
    with pytest.raises(ModelError, match="leaf 'L': stiffness must be 2 × 2 finite numbers"):
        da.leaves.linear("L", "a b", np.eye(2), stiffness=[1, 2])


# Along a run


def test_along_a_run() -> None:
    """About a reference motion, also one with time in its invariants: at every output what the state there gives."""
    S = da.Subsystem("S")
    a, b = S.coordinates("a b")
    S.effective_forces({a: -a.dd - sin(a) + b.d, b: -b.dd})
    S.invariant("b - 0.2*sin(3*t)*a")
    run = da.simulate(S, 0.8, initial={"a": 0.5}, output_step=0.2)
    chart = da.linearize(S, run)
    assert [model.states for model in chart.models] == [("a", "a.d")] * 5
    t, x = run.values("time")[3], 0.2 * np.sin(3 * run.values("time")[3])
    rate = 0.6 * np.cos(3 * t)
    # (1 + x²) ä = −sin a + (1 − 2 x rate) … written out: b = x(t) a, virtual work along (1, x).
    A, v, mass = run.values("a")[3], run.values("a.d")[3], 1 + x**2
    acceleration = -1.8 * np.sin(3 * t)
    right = -np.sin(A) + x * v + rate * A - x * (2 * rate * v + acceleration * A)
    assert run.values("a.dd")[3] == pytest.approx(right / mass, abs=1e-9)
    expected = [(-np.cos(A) + rate - x * acceleration) / mass, (x - 2 * x * rate) / mass]
    assert chart.models[3].A[1] == pytest.approx(expected, abs=1e-9)
    with pytest.raises(DalembertError, match=r"the run of 'S' has no"):
        da.linearize(two_masses(), run)
    with pytest.raises(DalembertError, match="with that subsystem"):
        da.linearize(da.library.pendulum(), run)


# Eigenvalues against parameters

SLOPES: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "two masses": (two_masses, {"alpha": 0.0, "beta": 0.0, "a.x": 0.0, "b.x": 0.0}, ["l", "a.m", "b.g"]),
    "motor": (motor_and_load, {"load.angle": 0.0, "motor.i": 0.0}, ["load.J"]),
    "slider-crank": (slider_crank, {"crank.th": 0.7, "crank.omega": 1.5}, ["k", "r", "rod.m"]),
    "pendulum": (lambda: pendulum(2), {"y": 0.9, "z": 0.5, "y.d": 0.3, "z.d": -0.7}, ["r", "g"]),
    "ring and disc": (ring_and_disc, {"theta": 0.9, "theta.d": 0.8, "disc.omega": -2.0}, ["disc.m", "ring.r"]),
    "bicycle": (whipple, {"A.x.d": "v", "A.z": -0.3}, ["v", "A.B.m"]),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n == "bicycle" else []) for n in SLOPES])
def test_slopes_of_matrices_are_exact(name: str) -> None:
    make, at, parameters = SLOPES[name]
    system = make()
    if name == "pendulum":
        system.guess({"x": 1.7})
    linear = da.linearize(system, at)
    for parameter in parameters:
        now = linear.source.parameters[parameter]
        expected = slope(lambda h, p=parameter, v=now: linear.again({p: v * (1 + h)}).A, 0.003) / now
        found = linear.source.slope(parameter)
        assert np.abs(found).max() > 0
        assert np.abs(found - expected).max() < 3e-9 * (1 + np.abs(expected).max())
        assert set(linear.sensitivity(parameter)) == {parameter}


def test_frequency_of_a_pendulum_against_its_length() -> None:
    """ω = √(g/l):  ∂ω/∂l = −ω/2l,  ∂ω/∂g = ω/2g."""
    P = da.Subsystem("P")
    m, g, l = P.parameters(m=2.0, g=9.8, l=0.8)
    a = P.coordinates("a")
    P.effective_forces({a: -m * l**2 * a.dd - m * g * l * sin(a) * cos(0)})
    linear = da.linearize(P)
    found = linear.sensitivity("l", "g", "m")
    omega = np.sqrt(9.8 / 0.8)
    assert np.abs(found["l"].imag) == pytest.approx([omega / 1.6] * 2, rel=1e-12)
    assert np.abs(found["g"].imag) == pytest.approx([omega / 19.6] * 2, rel=1e-12)
    assert np.abs(found["m"]) == pytest.approx([0, 0], abs=1e-12)


def test_slopes_by_least_squares_are_exact() -> None:
    """Rows that contradict each other by 5 %: the complement moves with the parameter, too."""
    S = da.Subsystem("S")
    c, k = S.parameters(c=2.1, k=3.0)
    x, y = S.coordinates("x y")
    S.effective_forces({x: -x.dd - k * x, y: -y.dd - 2 * y})
    S.invariants(c * x - y, 2.2 * x - y)
    S.independent(x)
    linear = da.linearize(S, incompatible="least-squares")
    expected = slope(lambda h: linear.again({"c": 2.1 + h}).A, 0.003)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(linear.source.slope("c"), expected, atol=1e-10)
    with pytest.raises(DalembertError, match="unknown parameter 'z'; subsystem 'S' has c, k"):
        linear.sensitivity("z")
