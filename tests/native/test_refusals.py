"""Everything just outside the language is refused with its place, the expression, and what to write instead."""

import ast
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


# What a refused line may name.
VALUES = {
    "x": X, "A": np.eye(3), "z": np.array([1.0j, 2.0, 3.0]), "K": np.array([1, 2, 0]),
    "F": np.array([True, False, True]), "k": 2, "f": True, "p": Pair(1.0, 2.0), "w": Whole(),
}  # fmt: skip

# Source of the refused line, each a function of its own; words of the message and of the fix.
LINES = {
    # variables
    "s = 0; s += 0.5": ("'s' began as a whole number and becomes float", "s = 0.0"),
    "s = 1.0; s = x": ("'s' began as float and becomes vector of float", "another name"),
    "s = x; s = A[:, 0]": ("becomes vector of float with gaps", ".copy()"),
    "s = nothing(x)": ("returns nothing", "return a number"),
    "s = missing": ("'missing' has no value yet", "assign it before"),
    "missing += 1.0": ("'missing' has no value yet", "before"),
    "a, b = 1.0, 2.0, 3.0": ("3 values for 2 names", "as many"),
    "a, b = x": ("2 names for vector of float", "as many names"),
    "s = NAMES": ("a value of type 'dict' has no place", "NumPy arrays"),
    "s = 'text'": ("a value of type 'str' has no place", "numbers"),
    "s = None": ("a value of type 'NoneType' has no place", "numbers"),
    "s = 1 << 70": ("a shift by 70 bits", "0 to 63"),
    "s = 9223372036854775808": ("does not fit into 64 bits", "a float"),
    "s[0] = 1.0": ("'s' has no value yet", "assign"),
    "TABLE[0] = 1.0": ("this array is a constant", "copy"),
    "TABLE[1:][0] = 1.0": ("this array is a constant", "copy"),
    "TABLE.fill(1.0)": ("this array is a constant", "copy"),
    "s = TABLE; s[0] = 1.0": ("this array is a constant", "copy"),
    "s = TABLE.reshape(2, 1); s[0] += 1.0": ("this array is a constant", "copy"),
    "s = TABLE[1:]; s += 1.0": ("this array is a constant", "copy"),
    "x[0][0] = 1.0": ("float has no elements", "an array"),
    "(1.0, 2.0)[0] = x": ("has no elements to assign to", "an array"),
    "p.a = 1.0": ("Pair has no fields to assign to", "a record"),
    # statements
    "raise ValueError": ("this kind of statement", "return a status"),
    "assert x[0] > 0": ("this kind of statement", "return a status"),
    "del x": ("this kind of statement", "given back by itself"),
    "import os": ("this kind of statement", "top of the module"),
    "global N": ("this kind of statement", "field of a record"),
    "with x: pass": ("this kind of statement", "a status"),
    "for i in range(0, 3, k): pass": ("the step of a range", "while"),
    "for i in range(): pass": ("1 to 3 arguments expected, got 0", "of them"),
    "for i in range(1, 2, 3, 4): pass": ("1 to 3 arguments expected, got 4", "of them"),
    "for i in range(3, step=2): pass": ("step= is unknown", "leave it out"),
    "for v in A: pass": ("a loop over matrix of float", "range"),
    "for v in 3: pass": ("a loop over int", "range"),
    "for i, v in enumerate(x): pass": ("'enumerate' is unknown", "range(a.shape[0])"),
    "for i, v in zip(x, x): pass": ("'zip' is unknown", "range(a.shape[0])"),
    "for v in x.flat: pass": (".flat belongs to a matrix", "for x in a"),
    # operators
    "s = 1.5 // x[0]": ("takes whole numbers only", "math.floor"),
    "s = x[0] % 2.0": ("takes whole numbers only", "math.floor"),
    "s = x[0] & 1": ("takes whole numbers only", "int("),
    "s = ~k": ("the operator ~", "not"),
    "s = f + f": ("arithmetic between two conditions", "int("),
    "s = F + F": ("arithmetic between two conditions", "int("),
    "s = k or 1": ("'and' and 'or' between conditions, got int", "bool("),
    "s = x and x": ("'and' and 'or' between conditions, got vector", "bool("),
    "s = not x": ("vector of float is no condition", ".size"),
    "s = 1.0 if x else 2.0": ("vector of float is no condition", "compare"),
    "s = x < 0.0": ("cannot be compared", "loop"),
    "s = 1.0 in x": ("cannot be compared", "loop"),
    "s = 1 in (1, 2)": ("cannot be compared", "loop"),
    "s = k is x": ("cannot be compared", "numbers"),
    "s = k is None": ("int is never None", "function or a kernel"),
    "s = z[0] < z[1]": ("complex numbers have no order", "abs("),
    "s = z[0] % 2": ("complex numbers know", "products"),
    "s = k ** k": ("a whole number to a power", "float"),
    "s = x @ 2.0": ("the product @", "arrays"),
    "s = K @ K": ("arrays of whole numbers", "loop"),
    "s = z @ z": ("the product @", "loop"),
    "s = x if k else 1.0": ("must have one type", "an if statement"),
    "s = x + (1.0, 2.0)": ("no arithmetic between", "numbers"),
    "s = -(1.0, 2.0)": ("expected", "one variable, one type"),
    # expressions
    "s = [1.0]": ("this kind of expression", "np.empty"),
    "s = [v for v in x]": ("this kind of expression", "loop"),
    "s = {1: 2}": ("this kind of expression", "a record"),
    "s = {1, 2}": ("this kind of expression", "flags"),
    "s = lambda: 1": ("this kind of expression", "@native"),
    "s = f'{x}'": ("this kind of expression", "numbers only"),
    "s = (t := 1.0)": ("this kind of expression", "assignment"),
    # indices
    "s = x[::2]": ("a slice with a step", "loop"),
    "s = x[0, 1]": ("2 indices for vector", "1 at most"),
    "s = x[0.5]": ("expected a whole number, got float", "int("),
    "s = x[x]": ("expected a whole number, got vector", "int("),
    "s = x[F]": ("expected a whole number, got vector of bool", "int("),
    "s = A[K]": ("expected a whole number, got vector of int", "int("),
    "s = x[None]": ("'NoneType' has no place", "numbers"),
    "s = x[...]": ("'ellipsis' has no place", "numbers"),
    "s = x[f]": ("the index of an array is a condition", "int("),
    "s = A[0, f]": ("the index of an array is a condition", "int("),
    "x[k > 0] = 1.0": ("the index of an array is a condition", "int("),
    "s = A[f]": ("the index of an array is a condition", "int("),
    "x[K] = 1.0": ("float goes to many places", "loop"),
    "x[K] += 1.0": ("many places are changed in place", "loop"),
    "s = (1.0, 2.0)[2]": ("the tuple has 2 items", "0 to 1"),
    "s = (1.0, x)[k]": ("must be a constant", "array"),
    "s = k[0]": ("int has no elements", "an array"),
    "K[0] = 1.5": ("a float goes into an array of whole numbers", "int("),
    "K += 1.5": ("a float goes into an array of whole numbers", "int("),
    "K /= 2": ("a float goes into an array of whole numbers", "int("),
    "x[0] = z[0]": ("expected float, got complex", "one type"),
    "x[:] = A": ("does not fit into", "axes"),
    "x += A": ("does not fit into", "axes"),
    # attributes and methods
    "s = x.ndim": ("has no 'ndim'", "shape"),
    "s = p.c": ("Pair has no 'c'", "a, b"),
    "s = x.mean()": ("has no method 'mean'", "loop"),
    "s = A.sum()": ("has no method 'sum'", "loop"),
    "s = A.max(axis=0)": ("axis= is unknown", "leave it out"),
    "s = x.copy(order='F')": ("order= is unknown", "leave it out"),
    "s = A.T.reshape(-1)": ("an array with gaps cannot be reshaped", "copy"),
    "s = x.reshape(-1, -1)": ("one of them at most -1", "reshape(n, -1)"),
    "s = x.reshape(1, 1, 1, 3)": ("1 to 3 arguments expected, got 4", "of them"),
    "s = x.reshape(())": ("one to three lengths", "reshape(n, -1)"),
    "x.fill(x)": ("an array cannot be filled with vector", "a[:] ="),
    "s = x.reshape(1.5)": ("expected a whole number", "int("),
    # calls
    "s = outsider(1.0)": ("'outsider' is unknown to native code", "@native"),
    "s = NAMES(1.0)": ("is unknown to native code", "@native"),
    "s = print(1.0)": ("'print' is unknown to native code", "plain"),
    "s = sum(x)": ("'sum' is unknown to native code", "a.sum()"),
    "s = np.dot(x, x)": ("'dot' is unknown to native code", "a @ b"),
    "s = np.linalg.norm(x)": ("'norm' is unknown to native code", "sqrt"),
    "s = np.array([1.0])": ("'array' is unknown to native code", "np.empty"),
    "s = round(1.5)": ("'round' is unknown to native code", "floor"),
    "s = range(3)": ("'range' is unknown to native code", "for i in range"),
    "s = one(1.0, 2.0)": ("'one' takes (x), got 2", "one value for each"),
    "s = one(y=2.0)": ("'one' takes (x)", "one value for each"),
    "s = one(*x)": ("the items of vector", "only tuples"),
    "s = x(1)": ("this cannot be called", "@native"),
    "s = max(x)": ("2 or more arguments expected, got 1", "of them"),
    "s = max(x, x)": ("take two or more numbers", "a.max()"),
    "s = max(1.0, 2.0, key=abs)": ("key= is unknown", "leave it out"),
    "s = len(1.0)": ("float has no length", "arrays"),
    "s = int(x)": ("expected int, got vector", "one type"),
    "s = complex(1.0)": ("2 arguments expected, got 1", "2 of them"),
    "s = math.log(8.0, 2.0)": ("1 arguments expected, got 2", "1 of them"),
    "s = math.hypot(1.0, 2.0, 3.0)": ("2 arguments expected, got 3", "2 of them"),
    "s = math.sin(z[0])": ("expected float, got complex", "one type"),
    "s = np.isfinite(x)": ("expected float, got vector", "one type"),
    "s = np.zeros(2.0)": ("one to three whole numbers", "int("),
    "s = np.zeros((1, 2, 3, 4))": ("one to three whole numbers", "rows"),
    "s = np.zeros(2, dtype=np.float32)": ("this dtype is unknown", "np.float64"),
    "s = np.zeros(2, dtype=NAMES)": ("this dtype is unknown", "np.float64"),
    "s = np.full(2, nothing(x))": ("an array cannot be filled with None", "a number"),
    "s = np.zeros(2, order='F')": ("order= is unknown", "leave it out"),
    "s = np.full(2, x)": ("an array cannot be filled with vector", "a number"),
    "s = np.full(2, 0.5, dtype=np.int64)": ("a float goes into an array of whole numbers", "int("),
    "s = np.zeros_like(1.0)": ("expected an array", "np.zeros"),
    "s = np.arange(1, 3)": ("1 arguments expected, got 2", "1 of them"),
    "s = np.arange(2.0)": ("expected a whole number, got float", "int("),
    "s = np.argsort(A)": ("expected a vector of numbers", "a loop"),
    "s = np.tril(x)": ("expected a matrix of numbers", "a loop"),
    "s = np.eye(2, 3)": ("1 arguments expected, got 2", "1 of them"),
    "s = Pair(1.0)": ("Pair is made of a, b", "once"),
    "s = Pair(1.0, 2.0, 3.0)": ("Pair is made of a, b", "once"),
    "s = Pair(1.0, c=2.0)": ("Pair is made of a, b", "once"),
    # records
    "s = w.missing": ("Whole has no field 'missing'", "one of n, v"),
    "w.missing = 1.0": ("Whole has no field 'missing'", "one of n, v"),
    "w.v = x": ("set by Python only", "[:]"),
    "w.part = w.part": ("set by Python only", "fill"),
    "w.n = 0.5": ("expected int, got float", "int("),
    "w.n(1.0)": ("int cannot be called", "Function or Kernel"),
    "w.f(1.0)": ("takes 2 arguments, got 1", "(float, vector of float)"),
    "w.f(1.0, A[:, 0])": ("an array with gaps", "copy"),
    "w.f(1.0, t=x)": ("t= is unknown", "leave it out"),
    "w.f(x, x)": ("expected float, got vector", "one type"),
    "w.kernel(A)": ("matrix of float is given to a kernel", "reshape(-1)"),
    "w.part.v[0] = 1.0": ("Part has no field 'v'", "one of n"),
    "s = Two.of(x, w)": ("a record and a row of numbers", "Two.of(record, numbers)"),
    "s = Two.of(w, K)": ("a record and a row of numbers", "Two.of(record, numbers)"),
    "s = Two.of(w)": ("2 arguments expected, got 1", "2 of them"),
    "if w: pass": ("Whole is no condition", "compare"),
    "s = w == w": ("cannot be compared", "numbers"),
}  # fmt: skip


def names_in(line):
    """The names of ``VALUES`` that a line asks for: the parameters of its function."""
    return sorted({node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)} & VALUES.keys())


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """A module with one function for each line."""
    path = tmp_path_factory.mktemp("refused") / "refused.py"
    text, places = [], []
    for k, line in enumerate(LINES):
        text += [
            "@native",
            f"def f{k}({', '.join(names_in(line))}):",
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


@pytest.mark.parametrize("number", range(len(LINES)), ids=list(LINES))
def test_refused_with_place_expression_and_fix(functions, number):
    path, places, scope = functions
    line, (what, fix) = list(LINES.items())[number]
    with pytest.raises(CompileError) as caught:
        scope[f"f{number}"](*(VALUES[name] for name in names_in(line)))
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
