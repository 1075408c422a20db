"""Which variables are wanted later: the memory of a loop's turn is given back if no array made in it is."""

from __future__ import annotations

import ast

__all__ = ["assigned", "wanted_at_loops"]


def wanted_at_loops(function: ast.FunctionDef) -> tuple[set[str], dict[ast.AST, set[str]]]:
    """Variables that may be read before they are assigned; and for each loop those that a turn leaves to the next one,
    or to what stands behind the loop."""
    loops: dict[ast.AST, set[str]] = {}
    return _block(function.body, set(), set(), set(), loops), loops


def assigned(body: list[ast.stmt]) -> set[str]:
    """Variables that statements assign."""
    return {part.id for part in _names(body) if isinstance(part.ctx, ast.Store)}


def _names(nodes: list[ast.stmt]) -> list[ast.Name]:
    return [part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)]


def _read(*nodes: ast.AST | None) -> set[str]:
    parts = [part for node in nodes if node is not None for part in ast.walk(node)]
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


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
            return after | _read(node.value, node.target) | {part.id for part in _names([node])}
    return (after - _whole(node)) | _read(node)


def _loop(node: ast.While | ast.For, after: set[str], loops: dict[ast.AST, set[str]]) -> set[str]:
    head = _read(node.test if isinstance(node, ast.While) else None)
    target = _whole(node.target) if isinstance(node, ast.For) else set[str]()
    wanted = after | head
    while True:
        before = _block(node.body, wanted, after, wanted, loops) - target
        if before <= wanted:
            break
        wanted = wanted | before
    loops[node] = wanted
    return wanted | _read(node.iter if isinstance(node, ast.For) else None)


def _whole(node: ast.AST) -> set[str]:
    """Variables that get a new value."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
