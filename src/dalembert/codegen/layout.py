"""Named arrays packed into one flat vector: shapes, offsets, and messages when something does not fit."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import CompileError, InputError

__all__ = ["Field", "Layout"]

_FLOAT64 = np.dtype(np.float64)
_RESERVED = ("out", "threads", "check_finite")


@dataclass(frozen=True)
class Field:
    """One named array: elements start, ..., stop - 1 of the flat vector, row by row."""

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @cached_property
    def size(self) -> int:
        """Number of elements."""
        return self.stop - self.start


@dataclass(frozen=True)
class Layout:
    """The inputs, or the outputs, of a kernel in order."""

    fields: tuple[Field, ...]

    @classmethod
    def from_expressions(cls, kernel: str, named: Mapping[str, ca.SX], shapes: Mapping[str, Sequence[int]]) -> Layout:
        """Shapes of SX expressions: a column of length n is an array (n,), anything else a matrix."""
        fields: list[Field] = []
        start = 0
        for name, expression in named.items():
            if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
                raise CompileError(
                    f"kernel '{kernel}': '{name}' cannot name an array.  Fix: use a Python name, e.g. 'q'"
                )
            if name in _RESERVED:
                raise CompileError(f"kernel '{kernel}': '{name}' is an option of the call.  Fix: rename it")
            rows, columns = ca.SX(expression).shape
            shape = tuple(shapes.get(name, (rows,) if columns == 1 else (rows, columns)))
            if math.prod(shape) != rows * columns:
                raise CompileError(
                    f"kernel '{kernel}': shape {shape} of '{name}' must have {rows} x {columns} elements"
                )
            fields.append(Field(name, shape, start, start + rows * columns))
            start += rows * columns
        return cls(tuple(fields))

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return self.fields[-1].stop if self.fields else 0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape."""
        return {field.name: field.shape for field in self.fields}

    def bind(self, kernel: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Sort positional and named arguments into the order of the fields."""
        if not kwargs and len(args) == len(self.fields):
            return list(args)
        names = [field.name for field in self.fields]
        wanted = f"kernel '{kernel}' takes ({', '.join(names)})"
        if len(args) > len(names):
            raise TypeError(f"{wanted}, got {len(args)} positional arguments")
        given = dict(zip(names, args, strict=False))
        twice = [name for name in kwargs if name in given]
        unknown = [name for name in kwargs if name not in names]
        given.update(kwargs)
        missing = [name for name in names if name not in given]
        problems = [
            text + ", ".join(f"'{name}'" for name in found)
            for text, found in (("given twice: ", twice), ("unknown: ", unknown), ("missing: ", missing))
            if found
        ]
        if problems:
            raise TypeError(f"{wanted}; {'; '.join(problems)}")
        return [given[name] for name in names]

    def check(self, kernel: str, field: Field, value: Any) -> np.ndarray:
        """A float64 array of the field's shape, or with one leading dimension more."""
        array = np.asarray(value)
        if array.dtype is not _FLOAT64:
            if array.dtype.kind not in "fiub":
                raise InputError(f"kernel '{kernel}': '{field.name}' must hold real numbers, got dtype {array.dtype}")
            array = array.astype(np.float64)
        if array.shape == field.shape or (array.ndim and array.shape[1:] == field.shape):
            return array
        if array.ndim == 0 and field.size == 1:
            return array.reshape(field.shape)
        raise InputError(self._misfit(kernel, field, array))

    def _misfit(self, kernel: str, field: Field, array: np.ndarray) -> str:
        batch = "(" + ", ".join(["n", *map(str, field.shape)]) + ")"
        text = (
            f"kernel '{kernel}': '{field.name}' must have shape {field.shape}, or {batch} for n states, "
            f"got {array.shape}"
        )
        if array.size == field.size:
            return f"{text}.  Fix: {field.name}.reshape({field.shape})"
        fits = [other.name for other in self.fields if other.shape in (array.shape, array.shape[1:])]
        if fits:
            return f"{text}, which would fit {' or '.join(repr(name) for name in fits)}"
        return text
