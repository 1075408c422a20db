"""What can be done with a derivation: every formalism, numbers, code, pages, errors."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
import textbook
from sympy.printing.numpy import NumPyPrinter

import dalembert as da
from dalembert.derivation import derivable

FORMALISMS = derivable()
MODELS = {"double pendulum": textbook.double_pendulum, "rolling disc": textbook.rolling_disc, "top": textbook.top}
RTOL = 1e-9


def state(derivation, seed=3):
    rng = np.random.default_rng(seed)
    q, w = rng.uniform(0.3, 0.9, len(derivation.coordinates)), rng.normal(size=len(derivation.velocities))
    G = rng.normal(size=len(derivation.constants)) * 0.1
    return q, w, (G if len(G) else None)


def on_constraints(derivation, q, w):
    """Velocities that satisfy the constraints, where the formalism leaves that to us."""
    if not derivation.multipliers or derivation.velocities != derivation.rates:
        return w
    values = dict(zip(derivation.coordinates, q, strict=True)) | derivation.parameters
    A = np.array(derivation.jacobian.subs(values), dtype=float)
    return w - np.linalg.pinv(A) @ A @ w


def numbers(derivation, values):
    """A function that evaluates expressions at values; definitions one after the other."""
    printer = NumPyPrinter({"fully_qualified_modules": False})
    space = {"math": math, **vars(np), **{symbol.name: value for symbol, value in values.items()}}
    known = set(values)
    for equation in derivation.definitions:
        if equation.rhs.free_symbols <= known:
            space[equation.lhs.name] = eval(printer.doprint(equation.rhs), space)
            known.add(equation.lhs)
    return lambda expression: float(eval(printer.doprint(sp.sympify(expression)), space))


CASES = [
    (name, f) for f in FORMALISMS for name in MODELS if name == "double pendulum" or f in ("lagrange", "kane", "routh")
]


@pytest.mark.parametrize(("name", "formulation"), CASES)
def test_expressions_kernel_and_python_agree(name, formulation, tmp_path):
    d = da.derive(MODELS[name](), formulation, method="auto" if name == "double pendulum" else "graph")
    q, w, G = state(d)
    qdot, wdot = d.to_kernel()(0.0, q, w, constants=G)
    # Python
    space: dict = {}
    exec(d.to_python(tmp_path / "made.py"), space)
    given = (0.0, q, w) if G is None else (0.0, q, w, G)
    for mine, other in zip(space["right_hand_side"](*given), (qdot, wdot), strict=True):
        np.testing.assert_allclose(mine, other, rtol=RTOL, atol=1e-10)
    # Mathematics
    values = dict(zip(d.coordinates, q, strict=True)) | dict(zip(d.velocities, w, strict=True)) | d.parameters
    values |= dict(zip([e.lhs for e in d.constants], [] if G is None else G, strict=True)) | {d.time: 0.0}
    rates = {rate: v for rate, v in zip(d.rates, qdot, strict=False) if rate not in d.velocities}
    number = numbers(d, values | dict(zip(d.accelerations, wdot, strict=True)) | rates)
    np.testing.assert_allclose([number(e) for e in d._mathematics.qdot], qdot, rtol=RTOL, atol=1e-10)
    if d.multipliers:
        return
    K, k = (np.array([number(e) for e in m]) for m in (d.mass_matrix, d.forcing))
    np.testing.assert_allclose(np.linalg.solve(K.reshape(len(k), -1), k), wdot, rtol=RTOL, atol=1e-9)
    for equation in d.equations:
        assert abs(number(equation.lhs) - number(equation.rhs)) <= 1e-8 * (1 + np.abs(wdot).max())


@pytest.mark.parametrize("formulation", FORMALISMS)
def test_accelerations_are_those_of_the_dynamics(formulation):
    """q̈ of every formalism is that of recursive elimination."""
    model = textbook.double_pendulum()
    d = da.derive(model, formulation, method="graph")
    rng = np.random.default_rng(5)
    q, u = rng.normal(size=2), rng.normal(size=2)
    number = numbers(d, dict(zip(d.coordinates, q, strict=True)) | dict(zip(d.rates, u, strict=True)) | d.parameters)
    w = np.array([number(v) for v in d._mathematics.given])
    G = [number(e.rhs) for e in d.constants]
    kernel = d.to_kernel()
    qdot, wdot = kernel(0.0, q, w, constants=G or None)
    np.testing.assert_allclose(qdot, u, rtol=1e-12, atol=1e-12)
    # q̈ by a central difference along the motion
    step = 1e-5
    ahead, behind = (kernel(0.0, q + h * qdot, w + h * wdot, constants=G or None)[0] for h in (step, -step))
    reference = da.compile(model, formulation="recursive").acceleration(q, u)
    np.testing.assert_allclose((ahead - behind) / (2 * step), reference, rtol=1e-7, atol=1e-7)


def test_kernel_takes_many_states_and_parameters():
    kernel = da.derive(textbook.pendulum()).to_kernel()
    theta = np.linspace(-1, 1, 7)[:, None]
    qdot, wdot = kernel(0.0, theta, np.zeros((7, 1)), {"l": 2.0})
    np.testing.assert_allclose(wdot, -9.81 / 2 * np.sin(theta), rtol=1e-15)
    assert qdot.shape == (7, 1)
    with pytest.raises(da.DalembertError, match="no parameter is called 'length'"):
        kernel(0.0, [1.0], [0.0], {"length": 2.0})
    reduced = da.derive(textbook.cart_pendulum(), "routh").to_kernel()
    with pytest.raises(da.DalembertError, match="constants"):
        reduced(0.0, [0.0, 1.0], [0.0])


def test_c_code_compiles_and_gives_the_same(tmp_path):
    d = da.derive(textbook.double_pendulum(), "kane")
    source, header = d.to_c(tmp_path)
    assert source.exists() and "right_hand_side" in header.read_text()
    library = tmp_path / "made.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    import ctypes

    function = ctypes.CDLL(str(library)).right_hand_side
    kernel = d.to_kernel()
    q, w, _ = state(d)
    given = np.concatenate([[0.0], q, w, kernel.parameters])
    out, work = np.zeros(4), np.zeros(10_000)
    function(*(ctypes.c_void_p(a.ctypes.data) for a in (given, out, work)))
    np.testing.assert_allclose(out, np.concatenate(kernel(0.0, q, w)), rtol=1e-13)


def test_large_systems_come_as_definitions():
    d = da.derive(da.library.n_pendulum(n=6), "kane")
    assert len(d.definitions) > 50
    assert max(len(e.rhs.atoms(sp.Symbol)) for e in d.definitions) < 16
    entry = d.expanded(d.mass_matrix[5, 5])
    assert entry.free_symbols <= {*d.parameters, *d.coordinates}
    assert "definitions" in repr(d)
    assert d.simplify() is d


def test_graph_and_symbols_agree_in_thirty_digits():
    model = textbook.top()
    d = da.derive(model, "lagrange", method="graph")
    written = da.derive(model, "lagrange", method="symbolic", simplify=False)
    q, w, _ = state(d)
    values = {s: sp.Float(str(v), 30) for s, v in zip([*d.coordinates, *d.velocities], [*q, *w], strict=True)}
    values |= {s: sp.Rational(str(v)) for s, v in d.parameters.items()}
    for mine, other in zip(d.mass_matrix, written.mass_matrix, strict=True):
        assert abs(sp.N((d.expanded(mine) - other).subs(values), 30)) < 1e-15


def test_simplify_shortens_and_keeps():
    d = da.derive(textbook.double_pendulum(), simplify=False)
    short = d.simplify()
    assert sp.count_ops(short.forcing) < sp.count_ops(d.forcing)
    values = {s: 0.3 + 0.1 * k for k, s in enumerate([*d.coordinates, *d.velocities])} | d.parameters
    np.testing.assert_allclose(
        np.array(short.forcing.subs(values), dtype=float), np.array(d.forcing.subs(values), dtype=float), rtol=1e-13
    )


def test_own_symbols():
    d = da.derive(da.library.pendulum(), symbols={"length": "L", "pivot": r"\vartheta"})
    assert r"\ddot{\vartheta}" in d.latex() and "L" in d.latex()


def test_pages(tmp_path):
    d = da.derive(textbook.top(), "hamilton", coordinates=da.Generalized(sequence="zxz"))
    page = d.to_html(tmp_path / "top.html")
    assert (tmp_path / "top.html").read_text(encoding="utf-8") == page
    for text in ("Hamilton", "<math", "Symbols", "Kinematics", "Equations of motion", "(1)"):
        assert text in page
    assert "http:" not in page and "https:" not in page and "<script" not in page
    markdown = d.to_markdown(tmp_path / "top.md")
    assert "## Equations of motion" in markdown and "\\tag{1}" in markdown
    assert d._repr_latex_().startswith("$") and "$$" in d._repr_markdown_()
    assert repr(d) == "<Derivation of 'top': Hamilton's equations, 3 coordinates, 3 velocities, 0 constraints>"
    with pytest.raises(da.DalembertError, match="cannot write"):
        d.to_html(tmp_path / "none" / "top.html")


@pytest.mark.parametrize("formulation", FORMALISMS)
def test_every_formalism_has_its_page(formulation):
    page = da.derive(textbook.pendulum(), formulation).to_html()
    assert page.count("<math") > 8


def test_loops_get_abbreviations():
    d = da.derive(da.library.four_bar())
    assert len(d.constraints) == 2
    assert 0 < len(d.abbreviations) < 5
    zero = dict.fromkeys([*d.coordinates, d.time], 0) | d.parameters
    assert all(abs(float(e.lhs.subs(zero))) < 1e-12 for e in d.constraints)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "recursive"}, "no equations to read"),
        ({"formulation": "newton"}, "unknown formulation 'newton'"),
        ({"formulation": 3}, "must be a name or a Formulation, got 3"),
        ({"coordinates": "absolute"}, "generalized coordinates"),
        ({"coordinates": 3}, "coordinates must be"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"simplify": "much"}, "simplify must be"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(da.DalembertError, match=message):
        da.derive(textbook.pendulum(), **options)


def test_energies_give_equations_as_short_as_kanes():
    """The graphs of Boltzmann-Hamel and Volterra are twice as long as Kane's; they came in hundreds of definitions."""
    disc = da.library.rolling_disc()
    kane, *others = (da.derive(disc, name) for name in ("kane", "boltzmann-hamel", "volterra"))
    for found in others:
        assert not found.definitions
        assert [sp.simplify(a.lhs - b.lhs) for a, b in zip(found.equations, kane.equations, strict=True)] == [0, 0, 0]


def test_long_factors_keep_their_brackets_as_large_as_those_within():
    latex = da.derive(da.library.double_pendulum()).latex()
    assert r"2 \bigl(\left(" in latex and latex.count(r"\bigl(") == latex.count(r"\bigr)") > 0
    assert "bigl" not in da.derive(da.library.cart_pendulum()).latex()


def test_not_a_model():
    with pytest.raises(da.DalembertError, match="expected a model"):
        da.derive("pendulum")  # type: ignore[arg-type]
    with pytest.raises(da.DalembertError, match="no symbol is called"):
        da.derive(textbook.pendulum()).symbol("zeta")


def test_command_line(tmp_path):
    run = [sys.executable, "-m", "dalembert", "derive", "pendulum"]
    page, notes = tmp_path / "p.html", tmp_path / "p.md"
    done = subprocess.run(
        [*run, "--formulation", "kane", "--html", page, "--markdown", notes], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert "θ̈" in done.stdout and "sin(θ)" in done.stdout and page.exists() and notes.exists()
    latex = subprocess.run([*run, "--latex"], capture_output=True, text=True)
    assert r"\ddot{\theta}" in latex.stdout
    wrong = subprocess.run([*run, "--formulation", "magic"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "unknown formulation" in wrong.stderr
