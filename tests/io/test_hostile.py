"""Untrusted files: every one ends in a ModelError, soon, and none runs code."""

# ruff: noqa: E501  (tables read best on long lines)
from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from io_models import everything
from support.effort import effort

from dalembert import io
from dalembert.errors import ExpressionError, ModelError
from dalembert.expressions import parse, to_text
from dalembert.model import Mechanism, Model, flatten
from dalembert.model.document import from_document, to_document

LIMIT = 8_000_000  # calls of functions; most take thousands, deep nesting half of it
HEAD = "name: m\nbodies:\n  - {name: b, mass: 1}\n"


def body(field: str) -> str:
    return f"name: m\nbodies:\n  - {{name: b, {field}}}\n"


HOSTILE = {
    "empty": "",
    "only a comment": "# nothing\n",
    "null": "~",
    "a list": "- 1\n- 2\n",
    "a number": "3",
    "alias bomb": "a: &a [x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(24)),
    "alias to itself": "a: &a [*a]",
    "merge key": HEAD + "x: &x {a: 1}\ny: {<<: {a: 1}}\n",
    "python object": "!!python/object/apply:os.system ['echo hacked']",
    "python name": body("mass: !!python/name:os.system"),
    "own tag": body("mass: !eval 1+1"),
    "tag on a mapping": "!!python/dict {name: m}",
    "set": "!!set {a, b}",
    "binary": body("mass: !!binary aGFja2Vk"),
    "omap": "!!omap [a: 1]",
    "several documents": HEAD + "---\n" + HEAD,
    "duplicate key": HEAD + "name: n\n",
    "duplicate field": body("mass: 1, mass: 2"),
    "number as key": HEAD + "1: 2\n",
    "list as key": "? [a, b]\n: 1\n",
    "deep flow": "[" * 5000,
    "deep block": "".join(" " * i + "a:\n" for i in range(300)),
    "deep sequence": "- " * 3000 + "1",
    "deep in a field": body("mass: " + "[" * 40 + "1" + "]" * 40),
    "deep sub-models": "name: m\nsubmodels: " + "[{name: s, model: {name: m, submodels: " * 15 + "[]" + "}}]" * 15,
    "huge int": body("mass: " + "9" * 5000),
    "large int": body("mass: " + "9" * 400),
    "huge int as parameter": "name: m\nparameters: {a: " + "9" * 309 + "0}\nbodies: [{name: b, mass: 1}]",
    "huge float": body("mass: 1e999"),
    "huge hex": body("mass: 0x" + "f" * 5000),
    "infinity": body("mass: .inf"),
    "nan": body("mass: .nan"),
    "import": body("mass: \"__import__('os').system('echo hacked')\""),
    "dunder": body("mass: \"().__class__.__bases__[0]\""),
    "power tower": body("mass: 9**9**9"),
    "power tower of floats": body("mass: 9.9**9.9**9.9"),
    "exponential tower": body("mass: exp(exp(exp(exp(exp(9)))))"),
    "compared towers": body("mass: 1 if exp(exp(exp(exp(9)))) < exp(exp(exp(exp(8)))) else 1/0"),
    "lambda": body("mass: \"(lambda: 1)()\""),
    "long formula": body("mass: " + "1+" * 200_000 + "1"),
    "nested formula": body("mass: " + "(" * 4000 + "1" + ")" * 4000),
    "nested calls": body("mass: " + "sin(" * 900 + "1" + ")" * 900),
    "many minus signs": body("mass: " + "-" * 9000 + "1x"),
    "null byte": body('mass: "1\\0"'),
    "escape character": 'name: "a\\x1b[31m"\nbodies: [{name: b, mass: 1}]',
    "half a character": 'name: "a\\ud800"\nbodies: [{name: b, mass: 1}]',
    "raw control characters": "name: a\x07\x1b\n",
    "long name": "name: m\nbodies: [{name: " + "a" * 100_000 + ", mass: 1}]",
    "long model name": "name: " + "a" * 100_000 + "\nbodies: [{name: b, mass: 1}]",
    "long key": HEAD + '"' + "k" * 1_000_00 + '": 1\n',
    "line noise": "}{][:*&!|>%@`",
    "unclosed": "name: [1, 2\nbodies: {",
    "tabs": "name: m\n\tbodies: 3\n",
    "bad escape": 'name: "\\U00110000"',
    "bad directive": "%YAML 99.99\n---\nname: m\n",
    "tag directive": "%TAG ! tag:yaml.org,2002:python/\n---\n!name:os.system\n",
    "quoted for ever": 'name: "' + "a" * 200_000,
    "many anchors": "".join(f"a{i}: &a{i} 1\n" for i in range(3000)),
    "many unknown fields": HEAD + "".join(f"a{i}: 1\n" for i in range(3000)),
    "tower in an event": HEAD + "events: [{name: e, when: 9**9**9}]\n",
    "tower set by an event": HEAD + "parameters: {a: 1}\nevents: [{name: e, when: t, set: {a: exp(exp(exp(9)))}}]\n",
    "code in an event": HEAD + "events: [{name: e, when: \"__import__('os').system('echo hacked')\"}]\n",
    "code as a name": HEAD + "events: [{name: e, when: t, set: {\"__import__('os').system('echo hacked')\": 1}}]\n",
    "escape character as a name": HEAD + 'events: [{name: e, when: t, set: {"a\\x1b[31m": 1}}]\n',
    "huge index": HEAD + "events: [{name: e, when: t, rates: {'b[99999999999999999999]': 1}}]\n",
    "long name in an event": HEAD + "events: [{name: e, when: t, switch: {" + "a" * 100_000 + ": true}}]\n",
    "many unknown names in events": HEAD + "events:\n" + "".join(f"  - {{name: e{i}, when: t, set: {{a{i}: 1}}, rates: {{b{i}: 1}}, switch: {{c{i}: true}}}}\n" for i in range(300)),
    "many unknown bodies": HEAD + "joints:\n" + "".join(f"  - {{name: j{i}, kind: revolute, bodies: [a{i}, b]}}\n" for i in range(300)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text(name: str, capfd):
    with pytest.raises(ModelError) as error, effort() as spent:
        io.loads(HOSTILE[name], "bad.yaml")
    assert spent.calls < LIMIT
    assert error.value.problems
    assert all(len(p.message) < 1000 and len(p.path) < 1000 for p in error.value.problems)
    assert "\x1b" not in str(error.value)
    assert "hacked" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\xff\xfe" * 50, "not UTF-8"),
        (bytes(range(256)) * 10, "not UTF-8"),
        ("name: é".encode("latin-1"), "not UTF-8"),
        ("name: m".encode("utf-16"), "not UTF-8"),
        (b"\0" * 1000, "not YAML"),
        (b"name: m\n" + b"# padding\n" * 1_000_000, "too large"),
        (b"[" * 10_000_000, "too large"),
    ],
    ids=["binary", "all bytes", "latin-1", "utf-16", "zeros", "10 MB", "10 MB nested"],
)
def test_hostile_file(tmp_path, raw: bytes, words: str):
    path = tmp_path / "bad.yaml"
    path.write_bytes(raw)
    with pytest.raises(ModelError, match=words), effort() as spent:
        io.read(path)
    assert spent.calls < LIMIT / 10


def test_an_empty_file_is_named(tmp_path):
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ModelError, match=r"got nothing\.\n    at empty\.yaml:1"):
        io.read(tmp_path / "empty.yaml")


def test_number_of_values_is_bounded(monkeypatch):
    monkeypatch.setattr("dalembert.io.yaml_data.MAX_NODES", 1000)
    with pytest.raises(ModelError, match="more than 1000 values"):
        io.loads("a: [" + "1, " * 2000 + "1]")


def test_messages_name_the_cause():
    for name, words in {
        "alias bomb": "aliases such as",
        "merge key": "merge keys",
        "python object": "the tag",
        "several documents": "several documents",
        "duplicate key": "given twice",
        "empty": "got nothing",
        "deep flow": "nested deeper than 50",
        "nan": "finite number",
        "power tower": "too large",
        "escape character": "control characters",
    }.items():
        with pytest.raises(ModelError, match=words):
            io.loads(HOSTILE[name])


FORMULA_BOMBS = [
    "9**9**9", "(9**9)**(9**9)", "10**1000", "2**(2**20)", "1e300**9.5", "tan(tan(tan(exp(1e300))))", "1/0", "0**(-1)",
    "log(0)", "sqrt(-1)", "1 if sqrt(-1) < 2 else 3", "sqrt(t if 1 >= sqrt(exp(asin(2.5))) else pi)",
    "max(sqrt(-1), 2)", "atan(tan(exp(exp(9))))", "abs(sin(exp(exp(exp(9)))))",
    "__import__('os')", "open('/etc/passwd')", "x.__class__", "[1]", "{}", "f'{1}'", "a := 1", "lambda: 1", "1j", "'a'", "True",
    "a @ b", "a // b", "a % b", "a and b", "not a", "a == b", "sin()", "sin(1, 2)", "sin(x=1)", "sin(*a)", "q()", "q(1)",
    "q(a, 99)", "q(a, -1)", "q(_a)", "_a", "a._b", "a[0]", "1 if a else 2", "1 if a < b < c else 2", "9" * 5000, "1e999",
    "", " ", "\0", "a\nb", "(" * 300, "-" * 5000 + "1", "sin(" * 200 + "1" + ")" * 200, "+".join("1" * 6000), "*".join(["10**300"] * 60),
    "sqrt(" * 80 + "x" + ")" * 80, "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULA_BOMBS, ids=lambda text: repr(text)[:30])
def test_formula_bombs(text: str):
    with pytest.raises(ExpressionError), effort() as spent:
        parse(text)
    assert spent.calls < LIMIT / 10


QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@settings(parent=QUIET, max_examples=300)
@given(st.text(alphabet="abxyqt0123456789.+-*/()<> ,ifelsn\"'[]", max_size=40))
def test_random_text_as_formula(text: str):
    """It is a formula, whose text means the same again, or it is refused."""
    try:
        formula = parse(text)
    except ExpressionError:
        formula = sp.Integer(0)
    assert isinstance(formula, sp.Basic) and parse(to_text(formula)) == formula


@settings(parent=QUIET, max_examples=300)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="abc:-?[]{}&*!|>'\"%@`# \n\t,~<0.", max_size=60)))
def test_random_text_as_file(text: str):
    with pytest.raises(ModelError):
        io.loads(text)


JUNK = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 10), st.integers(), st.floats(), st.text(max_size=5),
        st.sampled_from(["a", "q(revolute)", "ground", "world", "x", "revolute", "1/0", "body 1", 10**400, "t", "nan"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)  # fmt: skip
EVERYTHING = to_document(everything())


def place_all(model: Model) -> None:
    """What validation lets pass can be put in place: finite frames and inertias."""
    flat = flatten(model)
    mechanism = Mechanism.nominal(flat)
    for name in flat.joints:
        placed = mechanism.joint(name)
        for X in (placed.X_1P, placed.X_2S):
            assert np.isfinite(X.R).all()
            assert np.isfinite(X.p).all()
    for name in flat.bodies:
        assert np.isfinite(mechanism.inertia(name).mass)


def test_everything_can_be_put_in_place():
    place_all(everything())


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []
    return [(data, key) for key in keys] + [place for key in keys for place in places(data[key])]


@settings(parent=QUIET, max_examples=80)
@given(st.data())
def test_junk_anywhere_in_a_document(data):
    document = copy.deepcopy(EVERYTHING)
    for _ in range(data.draw(st.integers(1, 3))):
        options = places(document)
        container, key = options[data.draw(st.integers(0, len(options) - 1))]
        container[key] = data.draw(JUNK)
    try:
        model = from_document(document)
    except ModelError:
        return
    place_all(model)
