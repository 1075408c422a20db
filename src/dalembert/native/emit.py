"""LLVM IR of one native function: lines, registers, labels, and arithmetic on numbers."""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dalembert.errors import CompileError
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, Array, Closure, Kernel, Scalar, Tuple, Type, parts_of
from dalembert.values import ARRAY, BOOLEAN, FLOATING, INTEGER, TUPLE

__all__ = ["Emitter", "Value", "double"]


class Value:
    """A value of native code: its type, its parts in registers, and the number itself where it is known."""

    __slots__ = ("const", "fixed", "fresh", "kind", "parts")

    def __init__(self, kind: Type, parts: list[str] | tuple[str, ...], const: Any = None, fresh: bool = False):
        self.kind: Any = kind
        self.parts = list(parts)
        self.const = const
        # True for an array that was just made, which nothing else refers to.
        self.fresh = fresh
        # True for a constant array and views of it.
        self.fixed = False


def double(x: float) -> str:
    """A floating-point constant, to the bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


_FOLDED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b, ast.BitAnd: lambda a, b: a & b, ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b, ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b,
}  # fmt: skip
_FLOAT_OPERATIONS: dict[type[ast.operator], str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INT_OPERATIONS: dict[type[ast.operator], str] = {
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
_ORDER: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip

# Largest whole power that is written as products.
_LARGEST_POWER = 16


class Emitter:
    """Collects the lines of one function."""

    def __init__(self, name: str, where: Callable[[ast.AST | None], str], checking: bool):
        self.name = name
        self.where = where
        self.checking = checking
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.declared: set[str] = set()
        self.constants: list[str] = []
        self.allocates = False
        self.done = False
        self.node: ast.AST | None = None
        self._count = 0

    # -- lines ----------------------------------------------------------------------------------------------------

    def new(self, prefix: str = "%v") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def out(self, line: str) -> None:
        self.lines.append("  " + line)

    def op(self, text: str) -> str:
        """An instruction with a result."""
        name = self.new()
        self.lines.append(f"  {name} = {text}")
        return name

    def slot(self, kind: str) -> str:
        """Room for a variable."""
        name = self.new("%x")
        self.allocas.append(f"  {name} = alloca {kind}")
        return name

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.done = False

    def jump(self, label: str) -> None:
        if not self.done:
            self.out(f"br label %{label}")
        self.done = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.out(f"br i1 {condition}, label %{yes}, label %{no}")
        self.done = True

    def labels(self, *names: str) -> list[str]:
        return [self.new(name) for name in names]

    def declare(self, line: str) -> None:
        """A function from outside."""
        self.declared.add(line)

    def fail(self, what: str, fix: str = "", node: ast.AST | None = None) -> NoReturn:
        """Refuse an expression or a statement, with its place and what to write instead."""
        place = self.where(node or self.node)
        raise CompileError(f"{place}: {what}." + (f"  Fix: {fix}" if fix else ""))

    # -- numbers --------------------------------------------------------------------------------------------------

    def integer(self, x: int) -> Value:
        return Value(INT, [str(x)], x)

    def real(self, x: float) -> Value:
        return Value(FLOAT, [double(x)], x)

    def constant(self, x: Any) -> Value:
        """A Python constant."""
        if isinstance(x, BOOLEAN):
            return Value(BOOL, ["true" if x else "false"], bool(x))
        if isinstance(x, INTEGER):
            if not -(1 << 63) <= int(x) < 1 << 63:
                self.fail(f"the number {x} does not fit into 64 bits", "a float")
            return self.integer(int(x))
        if isinstance(x, FLOATING):
            return self.real(float(x))
        if isinstance(x, complex):
            return Value(COMPLEX, [double(x.real), double(x.imag)])
        if isinstance(x, TUPLE):
            return self.join([self.constant(item) for item in x])
        if isinstance(x, ARRAY):
            return self._table(x)
        self.fail(
            f"a value of type '{type(x).__name__}' has no place in native code",
            "numbers, tuples of numbers, NumPy arrays of float64, int64, bool or complex128",
        )

    def _table(self, x: np.ndarray) -> Value:
        """A constant array; native code must not write to it."""
        kinds = {"float64": FLOAT, "int64": INT, "bool": BOOL, "complex128": COMPLEX}
        if x.dtype.name not in kinds or x.ndim not in (1, 2, 3):
            self.fail(
                f"a constant array of {x.dtype} with {x.ndim} axes", "one to three axes of float64, int64 or bool"
            )
        element = kinds[x.dtype.name]
        numbers = np.ascontiguousarray(x).ravel()
        stored = element
        if element is COMPLEX:
            numbers, stored = numbers.view(np.float64), FLOAT
        write = double if stored is FLOAT else int
        name = f"@{self.name}.{len(self.constants)}"
        items = ", ".join(f"{stored.memory} {write(item)}" for item in numbers.tolist())
        content = f"[{items}]" if x.size else "zeroinitializer"
        self.constants.append(f"{name} = private constant [{numbers.size} x {stored.memory}] {content}, align 16\n")
        shape = [str(n) for n in x.shape]
        strides = [str(int(np.prod(x.shape[k + 1 :]))) for k in range(x.ndim - 1)]
        made = Value(Array(element, x.ndim), [name, *shape, *strides])
        made.fixed = True
        return made

    def join(self, values: list[Value], cls: Any = None) -> Value:
        return Value(Tuple(tuple(v.kind for v in values), cls), [part for v in values for part in v.parts])

    def split(self, value: Value) -> list[Value]:
        items: list[Value] = []
        at = 0
        for kind in value.kind.items:
            n = len(parts_of(kind))
            items.append(Value(kind, value.parts[at : at + n]))
            at += n
        return items

    def to(self, value: Value, kind: Type) -> Value:
        """The value as another type, where nothing is lost."""
        if value.kind == kind:
            return value
        if isinstance(kind, Scalar) and isinstance(value.kind, Scalar):
            found = self._number(value, kind)
            if found is not None:
                return found
        if isinstance(kind, Tuple) and isinstance(value.kind, Tuple) and len(kind.items) == len(value.kind.items):
            items = [self.to(item, want) for item, want in zip(self.split(value), kind.items, strict=True)]
            return Value(kind, [part for item in items for part in item.parts])
        if isinstance(value.kind, Array) and kind == Array(value.kind.element, value.kind.rank, packed=False):
            return Value(kind, [*value.parts, "1"])
        self.fail(f"expected {kind}, got {value.kind}", self._advice(value.kind, kind))

    @staticmethod
    def _advice(got: Type, wanted: Type) -> str:
        if got == FLOAT and wanted == INT:
            return "begin with a float, e.g. 0.0, or convert with int(…)"
        if isinstance(got, Array) and isinstance(wanted, Array) and got.element == wanted.element:
            return "copy the array with .copy(), or begin with the one that has gaps"
        return "one variable, one type"

    def _number(self, value: Value, kind: Scalar) -> Value | None:
        part = value.parts[0] if value.parts else ""
        if kind == COMPLEX and value.kind in (INT, FLOAT):
            return Value(COMPLEX, [self.to(value, FLOAT).parts[0], double(0.0)])
        if kind == FLOAT and value.kind in (INT, BOOL):
            if value.const is not None:
                return self.real(float(value.const))
            convert = "sitofp i64" if value.kind == INT else "uitofp i1"
            return Value(FLOAT, [self.op(f"{convert} {part} to double")])
        if kind == INT and value.kind == BOOL:
            if value.const is not None:
                return self.integer(int(value.const))
            return Value(INT, [self.op(f"zext i1 {part} to i64")])
        return self.truth(value) if kind == BOOL else None

    def truth(self, value: Value) -> Value:
        """As a condition: numbers that are not zero, functions and kernels that are there."""
        if value.kind == BOOL:
            return value
        if value.const is not None:
            return self.constant(bool(value.const))
        if value.kind == INT:
            return Value(BOOL, [self.op(f"icmp ne i64 {value.parts[0]}, 0")])
        if value.kind == FLOAT:
            return Value(BOOL, [self.op(f"fcmp une double {value.parts[0]}, 0.0")])
        if isinstance(value.kind, Closure | Kernel):
            code = value.parts[0] if isinstance(value.kind, Closure) else self.op(f"load ptr, ptr {value.parts[0]}")
            return Value(BOOL, [self.op(f"icmp ne ptr {code}, null")])
        self.fail(f"{value.kind} is no condition", "compare it with something, or ask for its .size")

    # -- whole numbers as text, for indices -------------------------------------------------------------------------

    def add(self, a: str, b: str) -> str:
        if _is_number(a) and _is_number(b):
            return str(int(a) + int(b))
        return a if b == "0" else b if a == "0" else self.op(f"add nsw i64 {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        if _is_number(a) and _is_number(b):
            return str(int(a) - int(b))
        return a if b == "0" else self.op(f"sub nsw i64 {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        if _is_number(a) and _is_number(b):
            return str(int(a) * int(b))
        if "0" in (a, b):
            return "0"
        return a if b == "1" else b if a == "1" else self.op(f"mul nsw i64 {a}, {b}")

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def negative(self, v: Value) -> Value:
        if v.const is not None:
            return self.constant(-v.const)
        if v.kind in (FLOAT, COMPLEX):
            return Value(v.kind, [self.op(f"fneg double {part}") for part in v.parts])
        return Value(INT, [self.op(f"sub nsw i64 0, {self.to(v, INT).parts[0]}")])

    def arithmetic(self, op: ast.operator, a: Value, b: Value) -> Value:
        """a op b for two numbers."""
        if not isinstance(a.kind, Scalar) or not isinstance(b.kind, Scalar) or not a.parts or not b.parts:
            self.fail(f"no arithmetic between {a.kind} and {b.kind}", "numbers or arrays of numbers")
        if COMPLEX in (a.kind, b.kind):
            return self._complex(op, self.to(a, COMPLEX), self.to(b, COMPLEX))
        if a.kind == BOOL and b.kind == BOOL:
            if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
                return Value(BOOL, [self.op(f"{_INT_OPERATIONS[type(op)]} i1 {a.parts[0]}, {b.parts[0]}")])
            # True + True is 2 in Python and True in NumPy.
            self.fail("arithmetic between two conditions", "make them numbers with int(…), or use and, or, & and |")
        if isinstance(op, ast.LShift | ast.RShift) and b.const is not None and not 0 <= b.const < 64:
            self.fail(f"a shift by {b.const} bits", "0 to 63")
        if a.const is not None and b.const is not None:
            folded = _fold(op, a.const, b.const)
            if folded is not None:
                return self.constant(folded)
        if isinstance(op, ast.Pow):
            return self._power(a, b)
        if isinstance(op, ast.Div) or FLOAT in (a.kind, b.kind):
            return self._floats(op, self.to(a, FLOAT), self.to(b, FLOAT))
        return self._integers(op, self.to(a, INT).parts[0], self.to(b, INT).parts[0])

    def _floats(self, op: ast.operator, a: Value, b: Value) -> Value:
        name = _FLOAT_OPERATIONS.get(type(op))
        if name is None:
            # a // b of floats is not floor(a / b): 1.0 // 0.1 is 9.0.
            fix = "math.floor(a / b)" if isinstance(op, ast.FloorDiv | ast.Mod) else "int(…)"
            self.fail("this operator takes whole numbers only", fix)
        return Value(FLOAT, [self.op(f"{name} double {a.parts[0]}, {b.parts[0]}")])

    def _integers(self, op: ast.operator, a: str, b: str) -> Value:
        match op:
            case ast.Add():
                return Value(INT, [self.add(a, b)])
            case ast.Sub():
                return Value(INT, [self.sub(a, b)])
            case ast.Mult():
                return Value(INT, [self.mul(a, b)])
            case ast.FloorDiv() | ast.Mod():
                return self._divided(op, a, b)
        name = _INT_OPERATIONS.get(type(op))
        if name is None:
            self.fail("this operator is not in the language of native code", "+ - * / // % ** & | ^ << >>")
        return Value(INT, [self.op(f"{name} i64 {a}, {b}")])

    def _divided(self, op: ast.operator, a: str, b: str) -> Value:
        """Division rounds down, as Python's does; by zero it gives zero, as NumPy's does."""
        if not _is_number(b) or b in ("0", "-1"):
            # −2⁶³ / −1 and divisions by zero would end the process.
            zero, flip = self.op(f"icmp eq i64 {b}, 0"), self.op(f"icmp eq i64 {b}, -1")
            if self.checking:
                self.guard(self.op(f"xor i1 {zero}, true"), "division by zero")
            a = self.op(f"select i1 {zero}, i64 0, i64 {a}")
            opposite = self.op(f"sub i64 0, {a}")
            a = self.op(f"select i1 {flip}, i64 {opposite}, i64 {a}")
            b = self.op(f"select i1 {self.op(f'or i1 {zero}, {flip}')}, i64 1, i64 {b}")
        quotient, rest = self.op(f"sdiv i64 {a}, {b}"), self.op(f"srem i64 {a}, {b}")
        left, signs = self.op(f"icmp ne i64 {rest}, 0"), self.op(f"xor i64 {rest}, {b}")
        below = self.op(f"and i1 {left}, {self.op(f'icmp slt i64 {signs}, 0')}")
        if isinstance(op, ast.FloorDiv):
            return Value(INT, [self.op(f"sub i64 {quotient}, {self.op(f'zext i1 {below} to i64')}")])
        return Value(INT, [self.op(f"add i64 {rest}, {self.op(f'select i1 {below}, i64 {b}, i64 0')}")])

    def _power(self, a: Value, b: Value) -> Value:
        n = b.const
        if isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= _LARGEST_POWER:
            if a.kind == BOOL:
                a = self.to(a, INT)
            if n == 0:
                return self.integer(1) if a.kind == INT else self.real(1.0)
            half = self._power(a, self.integer(n // 2)) if n > 1 else a
            if n == 1:
                return a
            square = self.arithmetic(ast.Mult(), half, half)
            return self.arithmetic(ast.Mult(), square, a) if n % 2 else square
        if a.kind != FLOAT and b.kind != FLOAT:
            self.fail("a whole number to a power that is not a small constant", "make one of them a float")
        return self.library("pow", self.to(a, FLOAT), self.to(b, FLOAT))

    def library(self, name: str, *args: Value) -> Value:
        """A function of the mathematics library."""
        raise NotImplementedError

    def guard(self, good: str, what: str) -> None:
        """In checking mode: end the call here unless the condition holds."""
        raise NotImplementedError

    def intrinsic(self, name: str, *args: Value) -> Value:
        """A function that LLVM knows, of floats."""
        kinds = ", ".join(["double"] * len(args))
        self.declare(f"declare double @llvm.{name}.f64({kinds})")
        given = ", ".join(f"double {self.to(arg, FLOAT).parts[0]}" for arg in args)
        return Value(FLOAT, [self.op(f"call double @llvm.{name}.f64({given})")])

    def _complex(self, op: ast.operator, a: Value, b: Value) -> Value:
        (ar, ai), (br, bi) = ([Value(FLOAT, [part]) for part in v.parts] for v in (a, b))

        def do(kind: type, x: Value, y: Value) -> Value:
            return self.arithmetic(kind(), x, y)

        if isinstance(op, ast.Add | ast.Sub):
            return Value(COMPLEX, do(type(op), ar, br).parts + do(type(op), ai, bi).parts)
        if isinstance(op, ast.Mult):
            real = do(ast.Sub, do(ast.Mult, ar, br), do(ast.Mult, ai, bi))
            return Value(COMPLEX, real.parts + do(ast.Add, do(ast.Mult, ar, bi), do(ast.Mult, ai, br)).parts)
        if isinstance(op, ast.Div):
            return Value(COMPLEX, self.complex_quotient(ar, ai, br, bi).parts)
        self.fail("complex numbers know + - * / only", "products, or the parts .real and .imag")

    def complex_quotient(self, *parts: Value) -> Value:
        raise NotImplementedError

    def compare(self, op: ast.cmpop, a: Value, b: Value) -> str:
        """A comparison of two numbers, as a register."""
        if not isinstance(a.kind, Scalar) or not isinstance(b.kind, Scalar):
            self.fail(
                f"{a.kind} cannot be compared with {b.kind}",
                "compare numbers, arrays in a loop; ask if a function is there by its truth",
            )
        order = _ORDER.get(type(op))
        if order is None:
            self.fail("only == != < <= > >= compare in native code", "comparisons of numbers, a loop instead of 'in'")
        if COMPLEX in (a.kind, b.kind):
            a, b = self.to(a, COMPLEX), self.to(b, COMPLEX)
            if order not in ("eq", "ne"):
                self.fail("complex numbers have no order", "compare abs(…), .real or .imag")
            flag, join = ("oeq", "and") if order == "eq" else ("une", "or")
            x, y = (self.op(f"fcmp {flag} double {p}, {q}") for p, q in zip(a.parts, b.parts, strict=True))
            return self.op(f"{join} i1 {x}, {y}")
        if FLOAT in (a.kind, b.kind):
            x, y = self.to(a, FLOAT).parts[0], self.to(b, FLOAT).parts[0]
            return self.op(f"fcmp {'une' if order == 'ne' else 'o' + order} double {x}, {y}")
        x, y = self.to(a, INT).parts[0], self.to(b, INT).parts[0]
        return self.op(f"icmp {order if order in ('eq', 'ne') else 's' + order} i64 {x}, {y}")


def _fold(op: ast.operator, a: Any, b: Any) -> Any:
    """The value of an operation on constants, if Python has one."""
    try:
        found = _FOLDED[type(op)](a, b)
    except (KeyError, ArithmeticError, TypeError, ValueError):
        return None
    return found if isinstance(found, int | float) else None


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()
