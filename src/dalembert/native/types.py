"""The types of native code: numbers, arrays of them, tuples, records, functions and kernels; and lengths of arrays.

A value of a type is a few numbers in registers, its *parts*: an array is a pointer, its shape and the distance of its
rows; a tuple is what its items are, one after the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.errors import CompileError

__all__ = [
    "BOOL", "COMPLEX", "FLOAT", "INT", "NOTHING", "WHOLE_NUMBERS", "Array", "Closure", "Kernel", "Kernels", "Pointer",
    "Scalar", "Tuple", "Type", "fold_length", "holds_array", "length_tree", "matrix", "parts_of", "vector",
]  # fmt: skip


@dataclass(frozen=True)
class Scalar:
    """A number.

    Attributes:
        register: how LLVM holds it, part by part.
        memory: how it is stored, and in how many bytes.
    """

    name: str
    register: tuple[str, ...]
    memory: str
    size: int

    def __str__(self) -> str:
        return self.name


INT = Scalar("int", ("i64",), "i64", 8)
FLOAT = Scalar("float", ("double",), "double", 8)
BOOL = Scalar("bool", ("i1",), "i8", 1)
COMPLEX = Scalar("complex", ("double", "double"), "[2 x double]", 16)
NOTHING = Scalar("None", (), "", 0)


@dataclass(frozen=True)
class Array:
    """Numbers along one to three axes; ``packed`` if neighbors of the last axis are neighbors in memory."""

    element: Scalar
    rank: int
    packed: bool = True

    def __str__(self) -> str:
        kind = ("vector", "matrix", "array with three axes")[self.rank - 1]
        return f"{kind} of {self.element}" + ("" if self.packed else " with gaps")


@dataclass(frozen=True)
class Tuple:
    """Values side by side; ``cls`` names them if it is a named tuple or the outputs of a kernel."""

    items: tuple[Type, ...]
    cls: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.cls._fields) if self.cls is not None else ()

    def __str__(self) -> str:
        return self.cls.__name__ if self.cls is not None else f"tuple ({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Pointer:
    """A record, by reference."""

    cls: Any

    def __str__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True)
class Closure:
    """A function together with the record that is its first argument."""

    arguments: tuple[Type, ...]
    result: Scalar

    def __str__(self) -> str:
        return f"function ({', '.join(map(str, self.arguments))}) -> {self.result}"


@dataclass(frozen=True)
class Kernel:
    """A compiled expression graph in a field of a record; its value is the address of that field.

    Attributes:
        in_place: it has no memory of its own, and works where its inputs are.
        batch: its version for groups of states.
    """

    in_place: bool = False
    batch: bool = False

    def __str__(self) -> str:
        return "kernel that works in place" if self.in_place else "batch kernel" if self.batch else "kernel"


@dataclass(frozen=True)
class Kernels:
    """Kernels that work in place, in a field of a record: the first of them, and how many."""

    def __str__(self) -> str:
        return "kernels"


Type = Scalar | Array | Tuple | Pointer | Closure | Kernel | Kernels


def vector(element: Scalar = FLOAT) -> Array:
    return Array(element, 1)


def matrix(element: Scalar = FLOAT) -> Array:
    return Array(element, 2)


def parts_of(kind: Type) -> tuple[str, ...]:
    """LLVM types of the parts of a value."""
    match kind:
        case Scalar():
            return kind.register
        case Array():
            # pointer, shape, then the distances of neighbors along each axis, that of a packed last axis left out
            return ("ptr", *["i64"] * (2 * kind.rank - (1 if kind.packed else 0)))
        case Tuple():
            return tuple(part for item in kind.items for part in parts_of(item))
        case Closure():
            return "ptr", "ptr"
        case Kernels():
            return "ptr", "i64"
    return ("ptr",)


def holds_array(kind: Type) -> bool:
    """True if a value of this type may point into an arena."""
    return isinstance(kind, Array) or (isinstance(kind, Tuple) and any(holds_array(item) for item in kind.items))


# Lengths of arrays in records are formulas of other fields, such as ``2*nv + context.rows``. What their operators mean
# for Python's numbers.
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
