"""Names as symbols, and expressions as a textbook prints them."""

from __future__ import annotations

import pytest
import sympy as sp

import dalembert as da
from dalembert.derivation.names import NameBook, typeset
from dalembert.derivation.typeset_document import Document, Formula, Heading, Table, Text, aligned, math
from dalembert.derivation.typesetter import Typesetter, width
from dalembert.derivation.units import parameter_units, unit_text
from dalembert.model import flatten


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("m", "m"),
        ("l1", "l_{1}"),
        ("theta_1", r"\theta_{1}"),
        ("theta1", r"\theta_{1}"),
        ("omega0", r"\omega_{0}"),
        ("I_xx", "I_{xx}"),
        ("upper_mass", r"m_{\mathrm{upper}}"),
        ("mass", "m"),
        ("thickness", "b"),
        ("k_spring", r"k_{\mathrm{spring}}"),
    ],
)
def test_parameters(name, latex):
    assert typeset(name).latex() == latex


@pytest.mark.parametrize(
    ("name", "symbols", "latex"),
    [
        ("theta", ["theta", "thetadot", "thetaddot"], [r"\theta", r"\dot{\theta}", r"\ddot{\theta}"]),
        (
            "theta_1",
            ["theta_1", "thetadot_1", "thetaddot_1"],
            [r"\theta_{1}", r"\dot{\theta}_{1}", r"\ddot{\theta}_{1}"],
        ),
        ("x", ["x", "xdot", "xddot"], ["x", r"\dot{x}", r"\ddot{x}"]),
        (
            "upper arm",
            ["q_upper_arm", "qdot_upper_arm", "qddot_upper_arm"],
            [f"{q}_{{\\mathrm{{upper}}\\,\\mathrm{{arm}}}}" for q in ("q", r"\dot{q}", r"\ddot{q}")],
        ),
    ],
)
def test_coordinates_with_rates(name, symbols, latex):
    book = NameBook()
    found = book.coordinate(name)
    assert [s.name for s in found] == symbols
    assert [book.latex[s] for s in found] == latex


def test_sympy_prints_rates_alike():
    """Names of rates are those that SymPy itself sets with dots."""
    _, rate, second = NameBook().coordinate("theta_1")
    assert sp.latex(rate) == r"\dot{\theta}_{1}"
    assert sp.latex(second) == r"\ddot{\theta}_{1}"


def test_a_parameter_and_a_joint_of_the_same_name():
    book = NameBook()
    parameter = book.parameter("theta")
    coordinate, *_ = book.coordinate("theta")
    assert parameter != coordinate
    assert book.latex[parameter] != book.latex[coordinate]
    assert book.parameter("t") != book.time


def test_no_two_symbols_look_alike():
    book = NameBook()
    names = ["m", "mass", "l1", "l_1", "upper mass", "upper_mass", "t"]
    found = [book.parameter(name) for name in names] + list(book.coordinate("m")) + list(book.coordinate("x_1"))
    assert len(set(found)) == len(found)
    assert len({book.latex[s] for s in found}) == len(found)


def test_own_letters():
    book = NameBook({"upper_length": "l_1"})
    assert book.latex[book.parameter("upper_length")] == "l_1"


def test_the_order_of_a_textbook():
    book = NameBook()
    m1, m2, l, g = (book.parameter(n, positive=True) for n in ("m1", "m2", "l", "g"))
    q, qd, qdd = book.coordinate("theta")
    setter = Typesetter(book.latex, [q], [qd], [qdd])
    assert setter.text(m1 * g * l * sp.sin(q)) == r"m_{1} g l \sin \theta"
    assert setter.text(g * sp.sin(q) * (m1 + m2) + l * qdd) == (
        r"l \ddot{\theta} + \left(m_{1} + m_{2}\right) g \sin \theta"
    )
    assert setter.text(m1 * l**2 * qd**2 / 2) == r"\frac{1}{2} m_{1} l^{2} \dot{\theta}^{2}"
    assert setter.text(qd**2 / (2 * m1 * sp.sin(q) ** 2)) == r"\frac{\dot{\theta}^{2}}{2 m_{1} \sin^{2} \theta}"
    assert setter.text(-l * qd) == r"-l \dot{\theta}"
    assert setter.text(sp.Float(9.81) * m1) == "9.81 m_{1}"


def test_pieces_join_to_the_same_formula():
    book = NameBook()
    names = [book.parameter(f"a{k}") for k in range(30)]
    x = book.parameter("x")
    setter = Typesetter(book.latex)
    pieces = setter.pieces(x * sp.Add(*names) + x**2, limit=20)
    assert len(pieces) == 31
    assert max(map(width, pieces)) <= 24
    assert "\\\\" in aligned(pieces, 40)
    assert aligned(["a", "+ b"]) == "a + b"


def test_a_page_needs_no_network_and_no_script():
    page = Document(
        "<Model>", "a & b", [Heading("One"), Text("where $x < y$"), Formula(["x", "+ y"]), Table(["a"], [["$z$"]])]
    )
    text = page.to_html()
    assert "&lt;Model&gt;" in text and "a &amp; b" in text
    assert "<math" in text and "(1)" in text
    assert "http:" not in text and "https:" not in text and "<script" not in text
    assert "$$\nx + y \\tag{1}\n$$" in page.to_markdown()


def test_words_stay_together_in_mathml():
    assert "<mtext>hinge</mtext>" in math(r"q_{\mathrm{hinge}}")


def test_words_get_letters_and_units():
    """θ and s carry the names of joints, m and l those of parameters that are masses and lengths."""
    d = da.derive(da.library.four_bar(), method="graph")
    assert [str(q) for q in d.coordinates] == ["theta_A", "theta_D", "theta_B"]
    latex = d.setup.book.latex
    assert latex[d.symbol("crank")] == r"l_{\mathrm{crank}}" and latex[d.symbol("density")] == r"\rho"
    page = d.to_markdown()
    assert r"| $\rho$ | 2 | kg/m | density |" in page
    assert r"| $\theta_{A}$ |  | rad | angle of joint A |" in page
    assert r"| $g$ | 9.81 | m/s² | acceleration of free fall |" in page


def test_no_name_is_explained_by_itself():
    page = da.derive(da.library.rolling_disc(), "hamilton", method="graph").to_markdown()
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| $")]
    assert all(cells[0].strip("$") != cells[-1] for cells in lines)
    assert len({cells[0] for cells in lines}) == len(lines)
    assert r"| $p_{\theta}$ |  | kg m²/s | momentum of angle of joint contact |" in page
    assert page.count("multipliers of the constraints") == 1


@pytest.mark.parametrize(
    ("dimension", "text"),
    [((1, 2, -2), "kg m²/s²"), ((0, 0, -1), "1/s"), ((0, 1, 0), "m"), ((1, -1, -2), "kg/(m s²)"), ((0, 0, 0), "")],
)
def test_units_in_words(dimension, text):
    assert unit_text(dimension) == text


def test_a_number_may_hide_a_unit():
    """0.09 m as a moment of inertia does not make m a moment of inertia, and 7850 V no mass of V."""
    model = da.Model("hidden")
    m, V = model.parameters(m=2.0, V=1e-3)
    a = model.body("a", mass=m, inertia=(0.09 * m, 0.09 * m, 0.09 * m))
    b = model.body("b", mass=7850 * V, inertia=(1, 1, 1))
    model.revolute("first", model.ground, a, point=(0, 0, 0), axis="z")
    model.revolute("second", a, b, point=(0, 0, 0), axis="z")
    assert parameter_units(flatten(model)) == {"m": "kg"}


def test_lambda_in_the_spelling_that_python_allows():
    assert typeset("lamda").latex() == r"\lambda" and typeset("lamda_1").latex() == r"\lambda_{1}"


def test_the_reduced_equations_of_a_top_are_written_out():
    """The equation of nutation, as a textbook has it, in coordinates of one's own: no z₁, z₂."""
    top = da.System("top", gravity=(0, 0, -9.81))
    psi, theta, phi = (top.coordinate(name, reference=0.5) for name in ("psi", "theta", "phi"))
    m, l, A, C = top.parameters(m=1.0, l=0.3, A=0.1, C=0.02)
    x, y = l * sp.sin(theta.q) * sp.sin(psi.q), -l * sp.sin(theta.q) * sp.cos(psi.q)
    turns = [("z", psi.q), ("x", theta.q), ("z", phi.q)]
    top.body("top", m, (A, A, C), position=(x, y, l * sp.cos(theta.q)), rotation=turns)
    found = da.derive(top, "routh")
    assert not found.definitions and len(found.equations) == 1
    assert r"\left(A + m l^{2}\right) \ddot{\theta}" in found.latex()
