"""CasADi SX scalars: an expression graph with automatic differentiation, to be compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import casadi as ca
import numpy as np

from dalembert.algebra.base import FUNCTIONS, Algebra
from dalembert.algebra.numpy_algebra import NUMPY
from dalembert.codegen import lookup
from dalembert.values import NUMBER

__all__ = ["CASADI", "CasadiAlgebra", "Traced", "sx_symbol"]


_binary: Any = ca.SX.binary  # an order of magnitude cheaper than the overloaded operators
_unary: Any = ca.SX.unary
sx_symbol: Any = cast(Any, ca.SX).sym
_ADD, _SUB, _MUL, _DIV, _NEG = ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG


@lru_cache(maxsize=65536)
def _constant(value: float) -> ca.SX:
    return ca.SX(value)


def _folding(op: int, neutral: int, opposite: int | None = None) -> Callable[[Traced, Any], Any]:
    """The operator that leaves what stands on its left as it is if the neutral element stands on its right.

    Args:
        opposite: what is done instead with the negative of what stands on the right, as x + (−y) = x − y; CasADi
            would do the same, of two nodes.
    """

    def apply(self: Traced, other: Any) -> Any:
        if type(other) is Traced:
            if opposite is not None and other.op == _NEG and (y := other.a) is not None:  # another thread may build it
                return Traced(None, opposite, self, y)
            return Traced(None, op, self, other)
        if not isinstance(other, NUMBER):
            return NotImplemented
        return self if other == neutral else Traced(None, op, self, float(other))

    return apply


class Traced:
    """One CasADi SX scalar as an element of a NumPy array.

    Constants stay Python floats and are folded here (0·x = 0, 1·x = x, 0 + x = x), so that the zeros of mechanics
    cost nothing and never reach the graph. The SX is made when it is asked for: of what mechanics computes on the way,
    more than half is needed by nobody, and a node here costs a fifth of one there.
    """

    __slots__ = ("a", "b", "made", "op")

    def __init__(self, made: ca.SX | None, op: int = 0, a: Any = None, b: Any = None):
        self.made, self.op, self.a, self.b = made, op, a, b

    @property
    def sx(self) -> ca.SX:
        """The scalar in CasADi's graph."""
        return _build(self) if self.made is None else self.made

    __add__ = __radd__ = _folding(_ADD, 0, _SUB)
    __sub__ = _folding(_SUB, 0, _ADD)
    __truediv__ = _folding(_DIV, 1)

    def __rsub__(self, other: Any) -> Any:
        if not isinstance(other, NUMBER):
            return NotImplemented
        return -self if other == 0 else Traced(None, _SUB, float(other), self)

    def __mul__(self, other: Any) -> Any:
        if type(other) is Traced:
            return Traced(None, _MUL, self, other)
        if not isinstance(other, NUMBER):
            return NotImplemented
        if other == 0:
            return 0.0
        if other == 1:
            return self
        return -self if other == -1 else Traced(None, _MUL, float(other), self)

    __rmul__ = __mul__

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, NUMBER):
            return NotImplemented
        return 0.0 if other == 0 else Traced(None, _DIV, float(other), self)

    def __pow__(self, exponent: Any) -> Any:
        return CASADI.power(self, exponent)

    def __neg__(self) -> Traced:
        if self.op == _NEG and (x := self.a) is not None:
            return x
        return Traced(None, _NEG, self)

    def __repr__(self) -> str:
        return f"Traced({self.sx})"


def _build(root: Traced) -> ca.SX:
    """The SX of a scalar and of all below it, operands first; graphs are deeper than Python's stack."""
    x: Any = None
    y: Any = None
    waiting = [root]
    while waiting:
        node = waiting[-1]
        a, b = node.a, node.b  # read before ``made``: another thread may just build it
        if node.made is not None:
            waiting.pop()
            continue
        if type(a) is not Traced:
            x = _constant(a)
        elif (x := a.made) is None:
            waiting.append(a)
        if b is None:
            y = None
        elif type(b) is not Traced:
            y = _constant(b)
        elif (y := b.made) is None:
            waiting.append(b)
        if waiting[-1] is node:
            node.made = _unary(node.op, x) if b is None else _binary(node.op, x, y)
            node.a = node.b = None
            waiting.pop()
    assert root.made is not None
    return root.made


def _sx(value: Any) -> ca.SX:
    """The SX of a traced scalar or a number; a TypeError names anything else."""
    value = _operand(value)
    return value.sx if type(value) is Traced else _constant(value)


def _operand(value: Any) -> Any:
    """A traced scalar, or a number as float; a TypeError names anything else."""
    if type(value) is Traced:
        return value
    if isinstance(value, NUMBER):
        return float(value)
    raise TypeError(f"a traced scalar meets {type(value).__name__!r}; expected a number or a traced scalar")


def _element(sx: Any) -> Any:
    """An SX scalar as an array element: a float if it is constant."""
    return float(sx) if sx.is_constant() else Traced(sx)


class CasadiAlgebra(Algebra):
    """Arrays whose elements are floats (constants) or :class:`Traced` scalars."""

    name = "casadi"

    def constant(self, value: float) -> float:
        return float(value)

    def atan2(self, y: Any, x: Any) -> Any:
        return Traced(None, ca.OP_ATAN2, _operand(y), _operand(x))

    def power(self, base: Any, exponent: Any) -> Any:
        if type(exponent) is not Traced and float(exponent).is_integer() and 0 <= exponent <= 3:
            # Small integer powers are products: cheaper, and exact for negative bases.
            result: Any = 1.0
            for _ in range(int(exponent)):
                result = result * base
            return result
        return Traced(_sx(base) ** _sx(exponent))

    def minimum(self, a: Any, b: Any) -> Any:
        return Traced(None, ca.OP_FMIN, _operand(a), _operand(b))

    def maximum(self, a: Any, b: Any) -> Any:
        return Traced(None, ca.OP_FMAX, _operand(a), _operand(b))

    def less(self, a: Any, b: Any) -> Any:
        return Traced(None, ca.OP_LT, _operand(a), _operand(b))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return Traced(ca.if_else(_sx(condition), _sx(a), _sx(b)))

    def find(self, x: Any, knots: np.ndarray) -> Any:
        value = self.value(x)
        return NUMPY.find(value, knots) if value is not None else Traced(lookup.find(_sx(x), knots))

    def pick(self, index: Any, values: np.ndarray) -> Any:
        value = self.value(index)
        return NUMPY.pick(value, values) if value is not None else Traced(lookup.pick(_sx(index), values))

    def columns(self, linear: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
        """The matrix of a linear (or affine) map of n-vectors, by automatic differentiation of one trace."""
        _, x = self.symbols("x", n)
        return self.jacobian(linear(x), x)

    def symbol(self, name: str) -> Traced:
        return Traced(sx_symbol(name))

    def jacobian(self, values: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        out = self.zeros(len(values), len(symbols))
        for i, j, entry in self.derivatives(values, symbols):
            out[i, j] = entry
        return out

    def derivatives(self, values: np.ndarray, symbols: np.ndarray) -> list[tuple[int, int, Any]]:
        """The entries of a Jacobian that are no structural zeros: row, column, value; column by column."""
        J = ca.jacobian(self.to_sx(values), self.to_sx(symbols))
        rows, columns = J.sparsity().get_triplet()
        entries = cast(list[Any], J.nonzeros())
        return [(i, j, _element(entry)) for i, j, entry in zip(rows, columns, entries, strict=True)]

    def rate(self, values: np.ndarray, symbols: np.ndarray, direction: np.ndarray) -> np.ndarray:
        along = ca.jtimes(self.to_sx(values), self.to_sx(symbols), self.to_sx(direction))
        return self.from_sx(along, *np.shape(values))

    def substitute(self, values: np.ndarray, symbols: np.ndarray, replacements: np.ndarray) -> np.ndarray:
        changed = ca.substitute(self.to_sx(values), self.to_sx(symbols), self.to_sx(replacements))
        return self.from_sx(changed, *np.shape(values))

    def value(self, scalar: Any) -> float | None:
        return None if type(scalar) is Traced else float(scalar)

    def symbols(self, name: str, *shape: int) -> tuple[ca.SX, np.ndarray]:
        """A CasADi symbol (a column, row-major) and the array of scalars that stands for it."""
        symbol = sx_symbol(name, int(np.prod(shape)))
        return symbol, self.from_sx(symbol, *shape)

    def from_sx(self, column: ca.SX, *shape: int) -> np.ndarray:
        """The array of this shape from a CasADi column, row-major."""
        out = np.empty(column.shape[0], dtype=object)
        elements: Any = (column if column.is_dense() else ca.densify(column)).elements()
        for i, element in enumerate(elements):
            out[i] = _element(element)
        return out.reshape(shape)

    def to_sx(self, values: Any) -> ca.SX:
        """A CasADi column with the elements of an array (or of one scalar), row-major."""
        flat = np.asarray(values, dtype=object).reshape(-1)
        if not len(flat):
            return ca.SX(0, 1)
        return ca.vertcat(*[
            x.made if type(x) is Traced and x.made is not None else _sx(x) for x in flat.tolist()
        ])  # fmt: skip

    def to_sparse_sx(self, values: Any) -> ca.SX:
        """The same with zeros that are structural: nothing is stored for them."""
        flat = np.asarray(values, dtype=object).reshape(-1)
        kept = [i for i, x in enumerate(flat) if type(x) is Traced or x != 0 or math.copysign(1.0, x) < 0]
        column = ca.SX(ca.Sparsity(len(flat), 1, [0, len(kept)], kept))
        return ca.SX(column.sparsity(), ca.vertcat(*[_sx(flat[i]) for i in kept])) if kept else column


def _lift(name: str) -> Any:
    """A CasADi function of one scalar, as a method."""
    op = getattr(ca, "OP_" + {"absolute": "FABS"}.get(name, name.upper()))

    def lifted(x: Any) -> Traced:
        return Traced(None, op, _operand(x))

    return staticmethod(lifted)


for _name in FUNCTIONS:
    setattr(CasadiAlgebra, _name, _lift(_name))

CASADI = CasadiAlgebra()
