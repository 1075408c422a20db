"""Everything just outside the language is refused with its place, the expression, and what to write instead."""

import functools
import inspect
import linecache
import math
import re
from typing import NamedTuple

import numpy as np
import pytest

from dalembert.errors import CompileError
from dalembert.native import Function, Int, Kernel, Matrix, Outputs, Record, Ref, Vector, native

TABLE = np.array([1.0, 2.0])
NAMES = {"a": 1}
X = np.array([1.0, 2.0, 3.0])
K = np.array([1, 2, 0])
A = np.eye(3)
F = np.array([True, False, True])
Z = np.array([1.0j, 2.0, 3.0])


class Pair(NamedTuple):
    a: float
    b: float


class Part(Record):
    n = Int()


class Whole(Record):
    n = Int()
    v = Vector("n")
    M = Matrix("n", "n")
    part = Ref(Part)
    f = Function(float, Vector)
    kernel = Kernel()


class Two(Outputs):
    a = Vector("n")
    b = Vector("*")


def outsider(x):
    return x


@native
def nothing(x):
    x[0] = 1.0


@native
def one(x):
    return x


@native
def itself(n):
    return 1 if n == 0 else n * itself(n - 1)  # refused


@native
def later(x):
    if x > 1.0:
        return 1.0
    # refused
    x += 1.0


# (source of the refused line, arguments, words of the message): each becomes a function of its own.
LINES = [
    # variables
    ("s = 0; s += 0.5", (), "'s' began as a whole number and becomes float", "s = 0.0"),
    ("s = 1.0; s = x", (X,), "'s' began as float and becomes vector of float", "another name"),
    ("s = x; s = A[:, 0]", (X, A), "becomes vector of float with gaps", ".copy()"),
    ("s = nothing(x)", (X,), "returns nothing", "return a number"),
    ("s = missing", (), "'missing' has no value yet", "assign it before"),
    ("missing += 1.0", (), "'missing' has no value yet", "before"),
    ("a, b = 1.0, 2.0, 3.0", (), "3 values for 2 names", "as many"),
    ("a, b = x", (X,), "2 names for vector of float", "as many names"),
    ("s = NAMES", (), "a value of type 'dict' has no place", "NumPy arrays"),
    ("s = 'text'", (), "a value of type 'str' has no place", "numbers"),
    ("s = None", (), "a value of type 'NoneType' has no place", "numbers"),
    ("s = 1 << 70", (), "a shift by 70 bits", "0 to 63"),
    ("s = 9223372036854775808", (), "does not fit into 64 bits", "a float"),
    ("s[0] = 1.0", (), "'s' has no value yet", "assign"),
    ("TABLE[0] = 1.0", (), "this array is a constant", "copy"),
    ("TABLE[1:][0] = 1.0", (), "this array is a constant", "copy"),
    ("TABLE.fill(1.0)", (), "this array is a constant", "copy"),
    ("s = TABLE; s[0] = 1.0", (), "this array is a constant", "copy"),
    ("s = TABLE.reshape(2, 1); s[0] += 1.0", (), "this array is a constant", "copy"),
    ("s = TABLE[1:]; s += 1.0", (), "this array is a constant", "copy"),
    ("x[0][0] = 1.0", (X,), "float has no elements", "an array"),
    ("(1.0, 2.0)[0] = x", (X,), "has no elements to assign to", "an array"),
    ("p.a = 1.0", (Pair(1.0, 2.0),), "Pair has no fields to assign to", "a record"),
    # statements
    ("raise ValueError", (), "this kind of statement", "return a status"),
    ("assert x[0] > 0", (X,), "this kind of statement", "return a status"),
    ("del x", (X,), "this kind of statement", "given back by itself"),
    ("import os", (), "this kind of statement", "top of the module"),
    ("global N", (), "this kind of statement", "field of a record"),
    ("with x: pass", (X,), "this kind of statement", "a status"),
    ("for i in range(0, 3, k): pass", (2,), "the step of a range", "while"),
    ("for i in range(): pass", (), "1 to 3 arguments expected, got 0", "of them"),
    ("for i in range(1, 2, 3, 4): pass", (), "1 to 3 arguments expected, got 4", "of them"),
    ("for i in range(3, step=2): pass", (), "step= is unknown", "leave it out"),
    ("for v in A: pass", (A,), "a loop over matrix of float", "range"),
    ("for v in 3: pass", (), "a loop over int", "range"),
    ("for i, v in enumerate(x): pass", (X,), "'enumerate' is unknown", "range(a.shape[0])"),
    ("for i, v in zip(x, x): pass", (X,), "'zip' is unknown", "range(a.shape[0])"),
    ("for v in x.flat: pass", (X,), ".flat belongs to a matrix", "for x in a"),
    # operators
    ("s = 1.5 // x[0]", (X,), "takes whole numbers only", "math.floor"),
    ("s = x[0] % 2.0", (X,), "takes whole numbers only", "math.floor"),
    ("s = x[0] & 1", (X,), "takes whole numbers only", "int("),
    ("s = ~k", (2,), "the operator ~", "not"),
    ("s = f + f", (True,), "arithmetic between two conditions", "int("),
    ("s = f + f", (F,), "arithmetic between two conditions", "int("),
    ("s = k or 1", (2,), "'and' and 'or' between conditions, got int", "bool("),
    ("s = x and x", (X,), "'and' and 'or' between conditions, got vector", "bool("),
    ("s = not x", (X,), "vector of float is no condition", ".size"),
    ("s = 1.0 if x else 2.0", (X,), "vector of float is no condition", "compare"),
    ("s = x < 0.0", (X,), "cannot be compared", "loop"),
    ("s = 1.0 in x", (X,), "cannot be compared", "loop"),
    ("s = 1 in (1, 2)", (), "cannot be compared", "loop"),
    ("s = k is x", (2, X), "cannot be compared", "numbers"),
    ("s = k is None", (2,), "int is never None", "function or a kernel"),
    ("s = z[0] < z[1]", (Z,), "complex numbers have no order", "abs("),
    ("s = z[0] % 2", (Z,), "complex numbers know", "products"),
    ("s = k ** k", (2,), "a whole number to a power", "float"),
    ("s = x @ 2.0", (X,), "the product @", "arrays"),
    ("s = k @ k", (K,), "arrays of whole numbers", "loop"),
    ("s = z @ z", (Z,), "the product @", "loop"),
    ("s = x if k else 1.0", (X, 1), "must have one type", "an if statement"),
    ("s = x + (1.0, 2.0)", (X,), "no arithmetic between", "numbers"),
    ("s = -(1.0, 2.0)", (), "expected", "one variable, one type"),
    # expressions
    ("s = [1.0]", (), "this kind of expression", "np.empty"),
    ("s = [v for v in x]", (X,), "this kind of expression", "loop"),
    ("s = {1: 2}", (), "this kind of expression", "a record"),
    ("s = {1, 2}", (), "this kind of expression", "flags"),
    ("s = lambda: 1", (), "this kind of expression", "@native"),
    ("s = f'{x}'", (X,), "this kind of expression", "numbers only"),
    ("s = (t := 1.0)", (), "this kind of expression", "assignment"),
    # indices
    ("s = x[::2]", (X,), "a slice with a step", "loop"),
    ("s = x[0, 1]", (X,), "2 indices for vector", "1 at most"),
    ("s = x[0.5]", (X,), "expected a whole number, got float", "int("),
    ("s = x[x]", (X,), "expected a whole number, got vector", "int("),
    ("s = x[f]", (X, F), "expected a whole number, got vector of bool", "int("),
    ("s = A[k]", (A, K), "expected a whole number, got vector of int", "int("),
    ("s = x[None]", (X,), "'NoneType' has no place", "numbers"),
    ("s = x[...]", (X,), "'ellipsis' has no place", "numbers"),
    ("s = x[f]", (X, True), "the index of an array is a condition", "int("),
    ("s = A[0, f]", (A, True), "the index of an array is a condition", "int("),
    ("x[k > 0] = 1.0", (X, 2), "the index of an array is a condition", "int("),
    ("s = A[f]", (A, True), "the index of an array is a condition", "int("),
    ("x[k] = 1.0", (X, K), "float goes to many places", "loop"),
    ("x[k] += 1.0", (X, K), "many places are changed in place", "loop"),
    ("s = (1.0, 2.0)[2]", (), "the tuple has 2 items", "0 to 1"),
    ("s = (1.0, x)[k]", (X, 1), "must be a constant", "array"),
    ("s = k[0]", (2,), "int has no elements", "an array"),
    ("k[0] = 1.5", (K,), "a float goes into an array of whole numbers", "int("),
    ("k += 1.5", (K,), "a float goes into an array of whole numbers", "int("),
    ("k /= 2", (K,), "a float goes into an array of whole numbers", "int("),
    ("x[0] = z[0]", (X, Z), "expected float, got complex", "one type"),
    ("x[:] = A", (X, A), "does not fit into", "axes"),
    ("x += A", (X, A), "does not fit into", "axes"),
    # attributes and methods
    ("s = x.ndim", (X,), "has no 'ndim'", "shape"),
    ("s = p.c", (Pair(1.0, 2.0),), "Pair has no 'c'", "a, b"),
    ("s = x.mean()", (X,), "has no method 'mean'", "loop"),
    ("s = A.sum()", (A,), "has no method 'sum'", "loop"),
    ("s = A.max(axis=0)", (A,), "axis= is unknown", "leave it out"),
    ("s = x.copy(order='F')", (X,), "order= is unknown", "leave it out"),
    ("s = A.T.reshape(-1)", (A,), "an array with gaps cannot be reshaped", "copy"),
    ("s = x.reshape(-1, -1)", (X,), "one of them at most -1", "reshape(n, -1)"),
    ("s = x.reshape(1, 1, 1, 3)", (X,), "1 to 3 arguments expected, got 4", "of them"),
    ("s = x.reshape(())", (X,), "one to three lengths", "reshape(n, -1)"),
    ("x.fill(x)", (X,), "an array cannot be filled with vector", "a[:] ="),
    ("s = x.reshape(1.5)", (X,), "expected a whole number", "int("),
    # calls
    ("s = outsider(1.0)", (), "'outsider' is unknown to native code", "@native"),
    ("s = NAMES(1.0)", (), "is unknown to native code", "@native"),
    ("s = print(1.0)", (), "'print' is unknown to native code", "plain"),
    ("s = sum(x)", (X,), "'sum' is unknown to native code", "a.sum()"),
    ("s = np.dot(x, x)", (X,), "'dot' is unknown to native code", "a @ b"),
    ("s = np.linalg.norm(x)", (X,), "'norm' is unknown to native code", "sqrt"),
    ("s = np.array([1.0])", (), "'array' is unknown to native code", "np.empty"),
    ("s = round(1.5)", (), "'round' is unknown to native code", "floor"),
    ("s = range(3)", (), "'range' is unknown to native code", "for i in range"),
    ("s = one(1.0, 2.0)", (), "'one' takes (x), got 2", "one value for each"),
    ("s = one(y=2.0)", (), "'one' takes (x)", "one value for each"),
    ("s = one(*x)", (X,), "the items of vector", "only tuples"),
    ("s = x(1)", (X,), "this cannot be called", "@native"),
    ("s = max(x)", (X,), "2 or more arguments expected, got 1", "of them"),
    ("s = max(x, x)", (X,), "take two or more numbers", "a.max()"),
    ("s = max(1.0, 2.0, key=abs)", (), "key= is unknown", "leave it out"),
    ("s = len(1.0)", (), "float has no length", "arrays"),
    ("s = int(x)", (X,), "expected int, got vector", "one type"),
    ("s = complex(1.0)", (), "2 arguments expected, got 1", "2 of them"),
    ("s = math.log(8.0, 2.0)", (), "1 arguments expected, got 2", "1 of them"),
    ("s = math.hypot(1.0, 2.0, 3.0)", (), "2 arguments expected, got 3", "2 of them"),
    ("s = math.sin(z[0])", (Z,), "expected float, got complex", "one type"),
    ("s = np.isfinite(x)", (X,), "expected float, got vector", "one type"),
    ("s = np.zeros(2.0)", (), "one to three whole numbers", "int("),
    ("s = np.zeros((1, 2, 3, 4))", (), "one to three whole numbers", "rows"),
    ("s = np.zeros(2, dtype=np.float32)", (), "this dtype is unknown", "np.float64"),
    ("s = np.zeros(2, dtype=NAMES)", (), "this dtype is unknown", "np.float64"),
    ("s = np.full(2, nothing(x))", (X,), "an array cannot be filled with None", "a number"),
    ("s = np.zeros(2, order='F')", (), "order= is unknown", "leave it out"),
    ("s = np.full(2, x)", (X,), "an array cannot be filled with vector", "a number"),
    ("s = np.full(2, 0.5, dtype=np.int64)", (), "a float goes into an array of whole numbers", "int("),
    ("s = np.zeros_like(1.0)", (), "expected an array", "np.zeros"),
    ("s = np.arange(1, 3)", (), "1 arguments expected, got 2", "1 of them"),
    ("s = np.arange(2.0)", (), "expected a whole number, got float", "int("),
    ("s = np.argsort(A)", (A,), "expected a vector of numbers", "a loop"),
    ("s = np.tril(x)", (X,), "expected a matrix of numbers", "a loop"),
    ("s = np.eye(2, 3)", (), "1 arguments expected, got 2", "1 of them"),
    ("s = Pair(1.0)", (), "Pair is made of a, b", "once"),
    ("s = Pair(1.0, 2.0, 3.0)", (), "Pair is made of a, b", "once"),
    ("s = Pair(1.0, c=2.0)", (), "Pair is made of a, b", "once"),
    # records
    ("s = w.missing", (Whole(),), "Whole has no field 'missing'", "one of n, v"),
    ("w.missing = 1.0", (Whole(),), "Whole has no field 'missing'", "one of n, v"),
    ("w.v = x", (Whole(), X), "set by Python only", "[:]"),
    ("w.part = w.part", (Whole(),), "set by Python only", "fill"),
    ("w.n = 0.5", (Whole(),), "expected int, got float", "int("),
    ("w.n(1.0)", (Whole(),), "int cannot be called", "Function or Kernel"),
    ("w.f(1.0)", (Whole(),), "takes 2 arguments, got 1", "(float, vector of float)"),
    ("w.f(1.0, A[:, 0])", (Whole(), A), "an array with gaps", "copy"),
    ("w.f(1.0, t=x)", (Whole(), X), "t= is unknown", "leave it out"),
    ("w.f(x, x)", (Whole(), X), "expected float, got vector", "one type"),
    ("w.kernel(A)", (Whole(), A), "matrix of float is given to a kernel", "reshape(-1)"),
    ("w.part.v[0] = 1.0", (Whole(),), "Part has no field 'v'", "one of n"),
    ("s = Two.of(x, w)", (X, Whole()), "a record and a row of numbers", "Two.of(record, numbers)"),
    ("s = Two.of(w, k)", (Whole(), K), "a record and a row of numbers", "Two.of(record, numbers)"),
    ("s = Two.of(w)", (Whole(),), "2 arguments expected, got 1", "2 of them"),
    ("if w: pass", (Whole(),), "Whole is no condition", "compare"),
    ("s = w == w", (Whole(),), "cannot be compared", "numbers"),
]  # fmt: skip
PARAMETERS = {Pair: "p", Whole: "w", bool: "f", int: "k", float: "x"}


def name_of(value):
    """x, A, k, f, z … by what a value is."""
    if isinstance(value, np.ndarray):
        return {"f": "x", "i": "k", "b": "f", "c": "z"}[value.dtype.kind] if value.ndim == 1 else "A"
    return PARAMETERS[type(value)]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """A module with one function for each line."""
    path = tmp_path_factory.mktemp("refused") / "refused.py"
    text, places = [], []
    for k, (line, args, *_) in enumerate(LINES):
        text += [
            "@native",
            f"def f{k}({', '.join(name_of(arg) for arg in args)}):",
            '    """Refused."""',
            f"    {line}",
            "",
            "",
        ]
        places.append(len(text) - 2)
    path.write_text("\n".join(text))
    scope = dict(globals())
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return path, places, scope


@pytest.mark.parametrize("number", range(len(LINES)), ids=[case[0] for case in LINES])
def test_refused_with_place_expression_and_fix(functions, number):
    path, places, scope = functions
    line, args, what, fix = LINES[number]
    with pytest.raises(CompileError) as caught:
        scope[f"f{number}"](*args)
    message = str(caught.value)
    assert message.startswith(f"{path}:{places[number]}: native function 'f{number}': `"), message
    assert what in message.partition("Fix:")[0], message
    assert fix in message.partition("Fix:")[2], message
    # The expression is a part of the line.
    expression = re.search(r"`(.*?)`:", message).group(1)
    plain = "".join(line.split()).replace('"', "'").replace("(", "").replace(")", "")
    assert "".join(expression.split()).rstrip(":").replace("(", "").replace(")", "") in plain, message


def line_of(function):
    source, first = inspect.getsourcelines(function.python)
    return first + next(k for k, text in enumerate(source) if "refused" in text)


def test_recursion():
    with pytest.raises(CompileError, match=r"'itself' calls itself.*Fix: a loop") as caught:
        itself(3)
    assert f"{__file__}:{line_of(itself)}: " in str(caught.value)


def test_a_way_without_result():
    with pytest.raises(
        CompileError, match=r"returned float before, and None here.*Fix: return a value everywhere"
    ) as caught:
        later(0.5)
    assert f"{__file__}:{line_of(later) + 1}: " in str(caught.value)


@native
def mixed(n):
    if n > 0:
        return 1
    return 0.5  # refused


@native
def condition_first(n):
    if n > 0:
        return True
    return 2  # refused


@native
def condition_in_a_tuple(n):
    if n > 0:
        return 1.0, True
    return 1.0, 2  # refused


@pytest.mark.parametrize("function", [mixed, condition_first, condition_in_a_tuple])
def test_results_of_different_types(function):
    with pytest.raises(CompileError, match=r"before, and (a |tuple .*)?(float|int)\)? here.*Fix: return") as caught:
        function(1)
    assert f"{__file__}:{line_of(function)}: " in str(caught.value)


@native
def in_a_helper(x):
    return helper_with_fault(x) + 1.0


@native
def helper_with_fault(x):
    return x.median()  # refused


def test_the_place_is_that_of_the_function_called():
    with pytest.raises(CompileError) as caught:
        in_a_helper(X)
    assert f"{__file__}:{line_of(helper_with_fault)}: native function 'helper_with_fault'" in str(caught.value)


def test_no_source():
    scope = {"native": native}
    exec("@native\ndef typed(x):\n    return x\n", scope)
    with pytest.raises(CompileError, match=r"source text is not available.*Fix: define it in a file"):
        scope["typed"](1.0)


def test_parameters_must_be_plain():
    @native
    def packed(*args):
        return 1

    with pytest.raises(CompileError, match=r"`def packed.\*args.`: native functions take no .*Fix: plain parameters"):
        packed(1.0)

    @native
    def placed(x, /):
        return x

    with pytest.raises(CompileError, match=r"`def placed.x, /.`: native functions take no .*Fix: plain parameters"):
        placed(1.0)


FUNCTIONS = {
    "twice": native(lambda x: 2.0 * x),
}  # fmt: skip


def test_a_lambda():
    with pytest.raises(CompileError, match=r"test_refusals.py:\d+: native function '<lambda>': .*Fix: def"):
        FUNCTIONS["twice"](1.0)


def test_another_decorator():
    """Only the text of the function itself would be compiled."""

    def twice(function):
        return functools.wraps(function)(lambda x: 2.0 * function(x))

    @native
    @twice
    def decorated(x):
        return x

    with pytest.raises(CompileError, match=r"'decorated': another decorator .*Fix: @native next to its def"):
        decorated(1.0)


def test_a_file_that_was_edited_after_its_import(tmp_path):
    """What its functions were is known, what they do is not; and the cache is shared with others."""
    path, scope = tmp_path / "edited.py", {"native": native}
    text = "@native\ndef f(x):\n    return x + 1.0\n"
    path.write_text(text)
    exec(compile(text, str(path), "exec"), scope)
    path.write_text(text.replace("1.0", "2.0"))
    with pytest.raises(CompileError, match=r"edited.py:1: native function 'f': its file was edited .*Fix: start"):
        scope["f"](1.0)
    path.write_text(text.replace("+", "-"))
    linecache.checkcache()
    with pytest.raises(CompileError, match="edited"):
        scope["f"](1.0)
    path.write_text(text)
    linecache.checkcache()
    assert scope["f"](1.0) == 2.0


def test_returned_records():
    @native
    def inner(w):
        return w.part

    with pytest.raises(CompileError, match=r"cannot return Part.*Fix: numbers"):
        inner(Whole(part=Part()))


def test_shadowed_constants_have_no_value_yet():
    @native
    def early(x):
        y = math.pi * TABLE[0]  # noqa: F823
        TABLE = x  # noqa: F841
        return y

    with pytest.raises(CompileError, match="'TABLE' has no value yet"):
        early(X)
