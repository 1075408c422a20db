"""Derivatives of small formulas over CasADi, before their graph is built.

CasADi differentiates a graph by making a function of it first, which costs more than a formula of a few terms is worth.
A formula whose scalars are still waiting to be built (see ``Traced``) is walked here instead: forward, operands first.
Where that does not work (a graph that is built, or large, or an operation without a rule here), ``operands_first`` is
None and CasADi does it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca

from dalembert.algebra.casadi_algebra import CASADI, Traced

__all__ = ["Steps", "formula_gradients", "formula_rates", "formula_without", "operands_first"]

MOST = 3000  # scalars in a graph that is walked here
_SUMS = {ca.OP_ADD: 1.0, ca.OP_SUB: -1.0}
_BINARY = {*_SUMS, ca.OP_MUL, ca.OP_DIV}
_UNARY: dict[int, Callable[[Any, Any], Any]] = {
    ca.OP_NEG: lambda _x, _y: -1.0,
    ca.OP_SIN: lambda x, _y: CASADI.cos(x),
    ca.OP_COS: lambda x, _y: -CASADI.sin(x),
    ca.OP_SQRT: lambda _x, y: 0.5 / y,
    ca.OP_EXP: lambda _x, y: y,
}


def operands_first(values: Sequence[Any], leaves: Mapping[int, Any]) -> list[Traced] | None:
    """All scalars that are not leaves, each after its operands; None where the graph cannot be walked."""
    order: list[Traced] = []
    done: set[int] = set(leaves)
    waiting: list[Any] = [value for value in values if type(value) is Traced]
    while waiting:
        node = waiting[-1]
        if id(node) in done:
            waiting.pop()
            continue
        a, b = node.a, node.b
        if node.made is not None or len(order) > MOST or node.op not in (_UNARY if b is None else _BINARY):
            return None
        if node.op == ca.OP_DIV and type(b) is float and b == 0.0:
            return None
        ready = True
        if type(a) is Traced and id(a) not in done:
            waiting.append(a)
            ready = False
        if type(b) is Traced and id(b) not in done:
            waiting.append(b)
            ready = False
        if ready:
            done.add(id(node))
            order.append(node)
            waiting.pop()
    return order


def _partials(node: Traced) -> tuple[tuple[Any, Any], ...]:
    """Operands of a scalar, and its derivatives by them."""
    a, b, op = node.a, node.b, node.op
    if b is None:
        return ((a, _UNARY[op](a, node)),)
    if op in _SUMS:
        return ((a, 1.0), (b, _SUMS[op]))
    if op == ca.OP_MUL:
        return ((a, b), (b, a))
    return ((a, 1.0 / b), (b, -(node / b) if type(b) is Traced else 0.0))


def formula_rates(values: Sequence[Any], speeds: Mapping[int, Any], order: Sequence[Traced]) -> list[Any]:
    """Derivatives of scalars along the speeds of symbols.

    Args:
        speeds: by ``id`` of the symbol, as far as it moves;  order: of ``operands_first``.
    """
    rate: dict[int, Any] = dict(speeds)
    for node in order:
        total: Any = 0.0
        for operand, partial in _partials(node):
            speed = rate.get(id(operand)) if type(operand) is Traced else None
            if speed is not None:
                total = total + partial * speed
        if type(total) is Traced or total != 0.0:
            rate[id(node)] = total
    return [rate.get(id(value), 0.0) if type(value) is Traced else 0.0 for value in values]


def formula_gradients(values: Sequence[Any], names: Mapping[int, str], order: Sequence[Traced]) -> list[dict[str, Any]]:
    """Derivatives of scalars by symbols, by name, those that are not zero as they stand.

    Args:
        names: of the symbols, by ``id``;  order: of ``operands_first``.
    """
    gradient: dict[int, dict[str, Any]] = {key: {name: 1.0} for key, name in names.items()}
    for node in order:
        total: dict[str, Any] = {}
        for operand, partial in _partials(node):
            for name, value in (gradient.get(id(operand)) or {}).items() if type(operand) is Traced else ():
                term = partial * value
                total[name] = total[name] + term if name in total else term
        if total:
            gradient[id(node)] = total
    found = (gradient.get(id(value)) or {} if type(value) is Traced else {} for value in values)
    return [{name: x for name, x in one.items() if type(x) is Traced or x != 0.0} for one in found]


def formula_without(values: Sequence[Any], zeros: set[int], order: Sequence[Traced]) -> list[Any]:
    """Scalars where symbols, given by ``id``, are zero; ``order``: of ``operands_first``."""
    new: dict[int, Any] = dict.fromkeys(zeros, 0.0)
    for node in order:
        a, b = (new.get(id(x), x) if type(x) is Traced else x for x in (node.a, node.b))
        if a is not node.a or b is not node.b:
            new[id(node)] = _SCALARS[node.op](a, b)
    return [new.get(id(value), value) if type(value) is Traced else value for value in values]


def _quotient(a: Any, b: Any) -> Any:
    return Traced(None, ca.OP_DIV, a, b) if type(b) is float and b == 0.0 else a / b


def _function(op: int) -> Callable[[Any, Any], Any]:
    return lambda a, _b: Traced(None, op, a)


_SCALARS: dict[int, Callable[[Any, Any], Any]] = {
    **{op: _function(op) for op in _UNARY},
    ca.OP_ADD: operator.add,
    ca.OP_SUB: operator.sub,
    ca.OP_MUL: operator.mul,
    ca.OP_DIV: _quotient,
    ca.OP_NEG: lambda a, _b: -a,
}
_NUMBERS: dict[int, Callable[[Any, Any], float]] = {
    **_SCALARS,
    ca.OP_DIV: operator.truediv,
    ca.OP_SIN: lambda a, _b: math.sin(a),
    ca.OP_COS: lambda a, _b: math.cos(a),
    ca.OP_SQRT: lambda a, _b: math.sqrt(a),
    ca.OP_EXP: lambda a, _b: math.exp(a),
}


class Steps:
    """Scalars of a small graph as steps from its leaves, taken again from other leaves: numbers or scalars.

    Args:
        leaves: all symbols in it;  order: of ``operands_first``, for these values, or more, and these leaves.
    """

    def __init__(self, values: Sequence[Any], leaves: Sequence[Traced], order: Sequence[Traced]):
        used = {id(value) for value in values if type(value) is Traced}
        for node in reversed(order):
            if id(node) in used:
                used.update((id(node.a), id(node.b)))
        needed = [node for node in order if id(node) in used]
        self._constants: list[float] = [
            x for node in needed for x in (node.a, node.b) if x is not None and type(x) is not Traced
        ]
        self._constants += [value for value in values if type(value) is not Traced]
        place = {id(x): k for k, x in enumerate((*leaves, *needed), len(self._constants))}
        constant = iter(range(len(self._constants)))

        def slot(x: Any) -> int:
            return 0 if x is None else place[id(x)] if type(x) is Traced else next(constant)

        self._steps = [(node.op, slot(node.a), slot(node.b)) for node in needed]
        self._out = [slot(value) for value in values]

    def scalars(self, leaves: Sequence[Any]) -> list[Any]:
        """The values for scalars, or numbers, in the place of the leaves."""
        return self._taken(leaves, _SCALARS)

    def numbers(self, leaves: Sequence[float]) -> list[float] | None:
        """The values at numbers; None where Python knows none, as of 1/0."""
        try:
            return self._taken(leaves, _NUMBERS)
        except (ArithmeticError, ValueError):
            return None

    def _taken(self, leaves: Sequence[Any], operations: Mapping[int, Callable[[Any, Any], Any]]) -> list[Any]:
        memory = [*self._constants, *leaves]
        for op, i, j in self._steps:
            memory.append(operations[op](memory[i], memory[j]))
        return [memory[k] for k in self._out]
