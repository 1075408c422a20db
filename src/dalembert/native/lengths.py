"""Lengths of arrays in records: formulas of other fields, such as ``2*nv + context.rows``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dalembert.errors import CompileError

__all__ = ["WHOLE_NUMBERS", "fold_length", "length_tree"]

# What the operators mean for Python's numbers.
WHOLE_NUMBERS: dict[type, Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}  # fmt: skip


def length_tree(text: str) -> ast.expr:
    """A length, read; refused if it is anything but names, whole numbers and + - * //."""
    tree = ast.parse(text, mode="eval").body
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp | ast.Name | ast.Attribute | ast.Constant | ast.operator | ast.Load):
            raise CompileError(f"length {text!r}: only names of fields, whole numbers, + - * // are allowed")
    return tree


def fold_length(
    tree: ast.expr, field: Callable[[tuple[str, ...]], Any], number: Callable[[int], Any], combine: dict[type, Any]
) -> Any:
    """A length from the fields it names, in whatever represents whole numbers."""
    match tree:
        case ast.Constant(value=int(value)):
            return number(value)
        case ast.BinOp(left, op, right) if type(op) in combine:
            return combine[type(op)](*(fold_length(side, field, number, combine) for side in (left, right)))
    path: list[str] = []
    node: ast.AST = tree
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise CompileError(f"length {ast.unparse(tree)!r} is not understood")
    return field((node.id, *path))
