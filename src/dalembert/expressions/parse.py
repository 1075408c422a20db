"""A whitelisting reader of formulas: Python's grammar, none of its power.

Only numbers, names, arithmetic, comparisons inside ``a if c else b``, and the functions below are understood; nothing
is evaluated as code, and every quantity that could grow (length, depth, integer powers) is bounded.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any, cast

import sympy as sp
import sympy.core.traversal

from dalembert.errors import ExpressionError
from dalembert.expressions.curves import call
from dalembert.expressions.grids import call_grid
from dalembert.expressions.symbols import (
    COMPONENTS,
    JOINT_ACCELERATION,
    JOINT_QUANTITIES,
    QUANTITIES,
    REACTION,
    TIME,
    parameter,
    reference,
    replaced,
)

__all__ = ["CONSTANTS", "FUNCTIONS", "parse"]

MAX_LENGTH = 10_000
MAX_DEPTH = 60
MAX_BITS = 1024  # of an integer or fraction that a power may produce


def _absolute(of: Any) -> Any:
    """|of|; factors that are absolute values already are not wrapped twice."""
    found: Any = sp.Abs(of)
    doubled = {node: node.args[0] for node in found.atoms(sp.Abs) if isinstance(node.args[0], sp.Abs)}
    return found.xreplace(doubled) if doubled else found


FUNCTIONS: dict[str, tuple[Any, int]] = {
    "sin": (sp.sin, 1), "cos": (sp.cos, 1), "tan": (sp.tan, 1),
    "asin": (sp.asin, 1), "acos": (sp.acos, 1), "atan": (sp.atan, 1), "atan2": (sp.atan2, 2),
    "sinh": (sp.sinh, 1), "cosh": (sp.cosh, 1), "tanh": (sp.tanh, 1),
    "exp": (sp.exp, 1), "log": (sp.log, 1), "sqrt": (sp.sqrt, 1),
    "abs": (_absolute, 1), "sign": (sp.sign, 1), "min": (sp.Min, 2), "max": (sp.Max, 2),
}  # fmt: skip
DISTANCE, ANGLE = "distance", "angle"
CONSTANTS: dict[str, Any] = {"pi": sp.pi, "t": TIME}
_COMPARISONS: dict[type[ast.cmpop], Any] = {ast.Lt: sp.Lt, ast.LtE: sp.Le, ast.Gt: sp.Gt, ast.GtE: sp.Ge}


def parse(text: str, tables: bool = False) -> sp.Expr:
    """A SymPy expression from a formula such as ``"-k*q(knee) + T0*sin(2*pi*t)"``.

    Args:
        tables: an unknown function of one or two arguments is the call of a table; whoever knows them must check it.

    Raises:
        ExpressionError: naming the part that is not understood or not allowed.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"formula of {len(text)} characters; at most {MAX_LENGTH} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of Python, about what is refused below anyway
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = getattr(error, "msg", None) or "too deeply nested"
        reason = "a number of thousands of digits" if "integer string conversion" in reason else reason
        raise ExpressionError(f"cannot read formula {_short(text)}: {reason}{_hint(text)}") from None
    try:
        return _finite(_settled(_Reader(text, tables).read(tree.body, 0)), text)
    except (ArithmeticError, AttributeError, MemoryError, RecursionError, TypeError, ValueError) as error:
        # SymPy computes with numbers while it builds, and each of its functions fails in its own way.
        raise ExpressionError(f"formula {_short(text)} has no real value: {type(error).__name__}") from None


_DEGREES = re.compile(r"(\d+(?:\.\d+)?)\s*(?:°|deg(?:rees?)?\b)")
_COMMA = re.compile(r"^\s*[+-]?(\d+),(\d+)\b")
_IF = re.compile(r"\bif\s*\(")
_UNIT = re.compile(r"^\s*[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\s*(?:[kmµc]?(?:m|g|s|N|Nm|Pa|Hz|rad)|rpm)(?:[/*^ ].*)?$")

# Functions of other programs, and what to write instead.
_FUNCTIONS_ELSEWHERE = {
    **dict.fromkeys(("step", "step5", "heaviside", "smoothstep"),
                    "a smooth step is a table of three or four points, or 0.5*(1 + tanh((t - 1)/0.1)); "
                    "a jump is 0 if t < 1 else 1"),
    **dict.fromkeys(("akispl", "cubspl", "interp", "interp1", "spline"), "data are a table: model.table(name, x, y)"),
    **dict.fromkeys(("where", "ifelse", "piecewise"), "a choice is written  a if t < 1 else b"),
    **dict.fromkeys(("pow", "power"), "powers are written x**n"), "ln": "the natural logarithm is log(x)",
    "rad": "angles are in rad: x*pi/180", "radians": "angles are in rad: x*pi/180",
    **dict.fromkeys(("dx", "dy", "dz"), "coordinates of joints are q(joint), of bodies x(body), y(body), z(body)"),
}  # fmt: skip

# Operators that formulas do not have, as they are written, and what to write instead.
_FOREIGN = {
    "BitXor": ("^", "powers are written **"),
    "Mod": ("%", "a periodic table, or atan2(sin(x), cos(x)) for an angle between -pi and pi"),
    "FloorDiv": ("//", "division is written /"),
    "MatMult": ("@", ""), "BitAnd": ("&", ""), "BitOr": ("|", ""), "LShift": ("<<", ""), "RShift": (">>", ""),
    "Not": ("not", ""), "Invert": ("~", ""),
}  # fmt: skip


def _hint(text: str) -> str:
    """What people write who are used to other notations, in ours."""
    if found := _DEGREES.search(text):
        return f".  Fix: angles are in rad: {found[1]}*pi/180"
    if found := _COMMA.match(text):
        return f".  Fix: a decimal point, {found[1]}.{found[2]}"
    if _IF.search(text):
        return ".  Fix: a choice is written  a if t < 1 else b"
    if _UNIT.match(text):
        return ".  Fix: a number alone, in SI units (m, kg, s, N, rad)"
    return ""


def _settled(expression: sp.Expr) -> sp.Expr:
    """SymPy leaves parts such as Min(0, 1) behind when it factors; building anew evaluates them."""
    for _ in range(5):
        if not expression.has(sp.Min, sp.Max):
            break
        before = expression
        expression = cast(sp.Expr, sympy.core.traversal.bottom_up(expression, _built_anew))
        if expression == before:
            break
    return expression


def _built_anew(node: Any) -> Any:
    return node.func(*node.args) if node.args else node


def _finite(expression: sp.Expr, text: str) -> sp.Expr:
    """The formula, real, with every number a double."""
    if expression.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
        raise ExpressionError(f"formula {_short(text)} has no finite value (division by zero?)")
    if any(part.is_extended_real is False for part in sp.preorder_traversal(expression) if _is_value(part)):
        raise ExpressionError(f"formula {_short(text)} is not real")
    rationals: Any = expression.atoms(sp.Rational)
    if any(max(abs(value.p), value.q).bit_length() > MAX_BITS for value in rationals):
        raise ExpressionError(f"formula {_short(text)}: a number is too large")
    doubles: dict[sp.Float, sp.Float] = {}
    for value in expression.atoms(sp.Float):
        double = float(value)
        if not math.isfinite(double) or double == 0:
            size = "small" if double == 0 else "large"
            raise ExpressionError(f"formula {_short(text)}: a number is too {size}")
        # SymPy's exponents are unbounded, so a product may carry more digits than a subnormal double has.
        if sp.Float(double) != value:
            doubles[value] = sp.Float(double)
    return replaced(expression, doubles) if doubles else expression


def _is_value(part: Any) -> bool:
    return isinstance(part, sp.Expr) and (part.is_number or part.is_extended_real is False)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


class _Reader:
    """Walks the syntax tree; each method reads one kind of node."""

    def __init__(self, text: str, tables: bool = False):
        self.text, self.tables = text, tables

    def fail(self, reason: str) -> ExpressionError:
        return ExpressionError(f"formula {_short(self.text)}: {reason}{_hint(self.text)}")

    def read(self, node: ast.AST, depth: int) -> sp.Expr:
        if depth > MAX_DEPTH:
            raise self.fail(f"nested deeper than {MAX_DEPTH} levels")
        method = getattr(self, f"read_{type(node).__name__}", None)
        if method is None:
            fix = ".  Fix: 'a if condition else b'" if isinstance(node, ast.Compare | ast.BoolOp) else ""
            raise self.fail(f"{_describe(node)} is not allowed in a formula{fix}")
        return method(node, depth + 1)

    def read_Constant(self, node: ast.Constant, depth: int) -> sp.Expr:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(f"{value!r} is not a number")
        if isinstance(value, int):
            if value.bit_length() > MAX_BITS:
                raise self.fail("a number is too large")
            return sp.Integer(value)
        if value in (float("inf"), float("-inf")):
            raise self.fail("a number is too large")
        return sp.Float(value) if value else sp.Integer(0)

    def read_Name(self, node: ast.Name, depth: int) -> sp.Expr:
        if node.id in CONSTANTS:
            return CONSTANTS[node.id]
        if node.id.startswith("_"):
            raise self.fail(f"name {node.id!r} is not allowed")
        return parameter(node.id)

    def read_Attribute(self, node: ast.Attribute, depth: int) -> sp.Expr:
        return parameter(self.dotted(node))

    def dotted(self, node: ast.AST) -> str:
        """The name of an element: ``knee``, ``left.knee`` or ``"any text"``."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name) and not node.id.startswith("_"):
            return node.id
        if isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
            return f"{self.dotted(node.value)}.{node.attr}"
        raise self.fail(f"{_describe(node)} is not the name of an element")

    def read_UnaryOp(self, node: ast.UnaryOp, depth: int) -> sp.Expr:
        operand = self.read(node.operand, depth)
        if isinstance(node.op, ast.USub):
            return -operand
        if isinstance(node.op, ast.UAdd):
            return operand
        raise self.refused(node.op)

    def read_BinOp(self, node: ast.BinOp, depth: int) -> sp.Expr:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return self.sum(node, depth)
        a, b = self.read(node.left, depth), self.read(node.right, depth)
        if isinstance(node.op, ast.Mult):
            return a * b
        if isinstance(node.op, ast.Div):
            return a / b
        if isinstance(node.op, ast.Pow):
            return self.power(a, b)
        raise self.refused(node.op)

    def refused(self, op: ast.operator | ast.unaryop) -> ExpressionError:
        sign, fix = _FOREIGN[type(op).__name__]
        return self.fail(f"operator {sign} is not allowed{'.  Fix: ' if fix else ''}{fix}")

    def sum(self, node: ast.AST, depth: int) -> sp.Expr:
        """A long sum leans to the left; its length is no nesting, and one addition of all terms is fast."""
        terms: list[Any] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            term = self.read(node.right, depth)
            terms.append(term if isinstance(node.op, ast.Add) else -term)
            node = node.left
        terms.append(self.read(node, depth))
        return sp.Add(*terms[::-1])

    def power(self, a: Any, b: Any) -> sp.Expr:
        # SymPy computes numeric powers at once, so their size is bounded before it may.
        if b.is_number and abs(float(b)) > MAX_BITS:
            raise self.fail(f"exponent {b} is too large")
        if a.is_Rational and b.is_Rational:
            bits = max(abs(a.p).bit_length(), a.q.bit_length())
            if bits * max(abs(float(b)), 1.0) > MAX_BITS or b.q > MAX_BITS:
                raise self.fail("a power is too large")
        return a**b

    def read_Call(self, node: ast.Call, depth: int) -> sp.Expr:
        plain = isinstance(node.func, ast.Name) or (self.tables and isinstance(node.func, ast.Attribute))
        if not plain or node.keywords:
            raise self.fail(f"{_describe(node)} is not allowed in a formula")
        name = self.dotted(node.func)
        if name == ANGLE and len(node.args) > 1:
            return self.angle(node)
        if name in QUANTITIES:
            return self.reference(name, node)
        if name == DISTANCE:
            return self.distance(node)
        if name not in FUNCTIONS and self.tables and 1 <= len(node.args) <= 2:
            at = [self.read(argument, depth) for argument in node.args]
            return call(parameter(name), at[0]) if len(at) == 1 else call_grid(parameter(name), *at)
        if name not in FUNCTIONS:
            known = ", ".join([*FUNCTIONS, DISTANCE, *QUANTITIES])
            meant = _FUNCTIONS_ELSEWHERE.get(name.lower(), "")
            raise self.fail(f"unknown function {name!r}; {meant or f'known: {known}'}")
        function, arity = FUNCTIONS[name]
        if len(node.args) != arity:
            raise self.fail(f"{name}() takes {arity} argument{'s' * (arity > 1)}, got {len(node.args)}")
        return function(*(self.read(argument, depth) for argument in node.args))

    def reference(self, quantity: str, node: ast.Call) -> sp.Expr:
        if quantity == REACTION:
            return self.reaction(node)
        most = 2 if quantity in (*JOINT_QUANTITIES, JOINT_ACCELERATION) else 1
        if not 1 <= len(node.args) <= most:
            raise self.fail(f"{quantity}() takes the name of an element" + (" and an index" if most == 2 else ""))
        index = 0
        if len(node.args) == 2:
            given = node.args[1]
            if not (isinstance(given, ast.Constant) and type(given.value) is int and 0 <= given.value < 7):
                raise self.fail(f"the index of {quantity}() must be a whole number from 0 to 6")
            index = given.value
        return reference(quantity, self.dotted(node.args[0]), index)

    def reaction(self, node: ast.Call) -> sp.Expr:
        """A component of what a joint does to its second body."""
        given = node.args[1] if len(node.args) == 2 else None
        if not (isinstance(given, ast.Constant) and given.value in COMPONENTS):
            example = f'{REACTION}(A, "normal")'
            raise self.fail(f"{REACTION}() takes a joint and one of {', '.join(COMPONENTS)}, e.g. {example}")
        return reference(REACTION, self.dotted(node.args[0]), COMPONENTS.index(cast(str, given.value)))

    def distance(self, node: ast.Call) -> sp.Expr:
        """The distance of two points or origins of bodies, written out."""
        if len(node.args) != 2:
            raise self.fail(f"{DISTANCE}() takes the names of two points or bodies")
        first, second = (self.dotted(argument) for argument in node.args)
        parts = [reference(axis, second) - reference(axis, first) for axis in "xyz"]
        return sp.sqrt(sp.Add(*[part**2 for part in parts]))

    def angle(self, node: ast.Call) -> sp.Expr:
        """The angle from 0 to π of two directions, written out: at the second of three points, or of axes of bodies."""
        if len(node.args) == 3:
            first, corner, last = (self.dotted(argument) for argument in node.args)
            a, b = ([reference(i, end) - reference(i, corner) for i in "xyz"] for end in (first, last))
        else:
            axes = [argument.value if isinstance(argument, ast.Constant) else None for argument in node.args[1::2]]
            if len(node.args) != 4 or any(axis not in ("x", "y", "z") for axis in axes):
                example = f'{ANGLE}(A, B, C) at the second of three points, or {ANGLE}(body, "x", other, "z") of axes'
                raise self.fail(f"{ANGLE}() takes {example}")
            names = [self.dotted(argument) for argument in node.args[::2]]
            a, b = ([reference(f"R{i}{k}", name) for i in "xyz"] for k, name in zip(axes, names, strict=True))
        across = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
        along = sp.Add(*[one * other for one, other in zip(a, b, strict=True)])
        return sp.atan2(sp.sqrt(sp.Add(*[part**2 for part in across])), along)

    def read_IfExp(self, node: ast.IfExp, depth: int) -> sp.Expr:
        test = node.test
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _COMPARISONS):
            raise self.fail("the condition of 'a if c else b' must be one comparison with <, <=, > or >=")
        left, right = self.read(test.left, depth), self.read(test.comparators[0], depth)
        if left.has(sp.Piecewise) or right.has(sp.Piecewise):
            # SymPy would turn it into logic that has no counterpart in the other algebras.
            raise self.fail("a condition may not contain another 'a if c else b'")
        if any(side.is_number and not side.evalf().is_extended_real for side in (left, right)):
            # SymPy would look for its order without an end.
            raise self.fail("a condition compares a number that is not real")
        condition = _COMPARISONS[type(test.ops[0])](left, right)
        return cast(
            sp.Expr, sp.Piecewise((self.read(node.body, depth), condition), (self.read(node.orelse, depth), True))
        )


def _describe(node: ast.AST) -> str:
    try:
        return repr(_short(ast.unparse(node))[1:-1])
    except (RecursionError, ValueError, AttributeError):
        return type(node).__name__
