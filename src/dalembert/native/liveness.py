"""Which variables are wanted later: the memory of a loop's turn is given back if no array made in it is."""

from __future__ import annotations

import ast
import functools
from typing import cast

__all__ = ["assigned", "wanted_at_loops"]


def wanted_at_loops(function: ast.FunctionDef) -> tuple[set[str], dict[ast.AST, set[str]]]:
    """Variables that may be read before they are assigned; and for each loop those that a turn leaves to the next one,
    or to what stands behind the loop."""
    loops: dict[ast.AST, set[str]] = {}
    return _block(function.body, set(), set(), set(), loops), loops


def assigned(body: list[ast.stmt]) -> set[str]:
    """Variables that statements assign."""
    return {name for node in body for name in _names(node)[1]}


@functools.lru_cache(maxsize=1 << 10)
def _names(node: ast.AST) -> tuple[set[str], set[str]]:
    """Variables that a piece of code reads, and those that get a new value. Loops within loops ask again and again."""
    read, stored = set[str](), set[str]()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            (stored if isinstance(part.ctx, ast.Store) else read).add(part.id)
            continue
        for name in part._fields:
            value = getattr(part, name)
            if isinstance(value, ast.AST):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [item for item in cast(list[object], value) if isinstance(item, ast.AST)]
    return read, stored


def _read(*nodes: ast.AST | None) -> set[str]:
    return {name for node in nodes if node is not None for name in _names(node)[0]}


def _block(
    body: list[ast.stmt], after: set[str], on_break: set[str], on_continue: set[str], loops: dict[ast.AST, set[str]]
) -> set[str]:
    """Variables wanted before some statements, from those wanted behind them."""
    for statement in reversed(body):
        after = _statement(statement, after, on_break, on_continue, loops)
    return after


def _statement(
    node: ast.stmt, after: set[str], on_break: set[str], on_continue: set[str], loops: dict[ast.AST, set[str]]
) -> set[str]:
    match node:
        case ast.Return():
            return _read(node.value)
        case ast.Break():
            return on_break
        case ast.Continue():
            return on_continue
        case ast.If():
            sides = [_block(side, after, on_break, on_continue, loops) for side in (node.body, node.orelse)]
            return sides[0] | sides[1] | _read(node.test)
        case ast.While() | ast.For():
            return _loop(node, after, loops)
        case ast.AnnAssign(value=None):
            return after
        case ast.AugAssign():
            # The variable is read, too.
            return after.union(*_names(node))
    read, stored = _names(node)
    return (after - stored) | read


def _loop(node: ast.While | ast.For, after: set[str], loops: dict[ast.AST, set[str]]) -> set[str]:
    head = _read(node.test if isinstance(node, ast.While) else None)
    target = _names(node.target)[1] if isinstance(node, ast.For) else set[str]()
    wanted = after | head
    while True:
        before = _block(node.body, wanted, after, wanted, loops) - target
        if before <= wanted:
            break
        wanted = wanted | before
    loops[node] = wanted
    return wanted | _read(node.iter if isinstance(node, ast.For) else None)
