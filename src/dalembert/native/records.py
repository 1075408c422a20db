"""Records: blocks of named fields that Python fills and native code reads and writes by the same names.

    class Context(Record):
        nv = Int()
        parameters = Vector("n_parameters")
        jacobian = Matrix("rows", "nv")
        rhs = Function(float, Vector, Vector)     # a native function bound to a record of its own
        dynamics = Kernel()

Every field is one or more slots of 8 bytes, on every target alike, so a record filled here means the same there. The
lengths of an array are formulas of other fields: native code takes them from there, Python checks them.
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import math
import operator
from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np

from dalembert.errors import CompileError
from dalembert.native import types
from dalembert.native.plain_kernels import BatchCalled, Called, InPlace
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, WHOLE_NUMBERS, Scalar, Type, fold_length, length_tree
from dalembert.values import ARRAY

__all__ = [
    "DTYPES", "SLOTS_OF_KERNEL", "BatchKernel", "ComplexMatrix", "Field", "Flag", "Flags", "Function", "Int",
    "IntegerMatrix", "Integers", "Kernel", "Kernels", "Matrix", "Outputs", "Real", "Record", "Ref", "Vector",
    "address_of", "reachable", "type_of",
]  # fmt: skip

T = TypeVar("T")
_WORD, _BYTE, _NUMBERS = np.dtype(np.int64), ctypes.c_char, (float, int, np.floating, np.integer)
DTYPES = {
    FLOAT: np.dtype(np.float64), INT: np.dtype(np.int64), BOOL: np.dtype(np.bool_), COMPLEX: np.dtype(np.complex128),
}  # fmt: skip

# Code, number of inputs, number of outputs; then the kernel's memory or, if it works in place, how much scratch space
# it needs.
SLOTS_OF_KERNEL = 4


def address_of(array: Any) -> int:
    """Where the numbers of an array begin."""
    try:
        return ctypes.addressof(_BYTE.from_buffer(array))  # three times as fast as the general way
    except (TypeError, ValueError, BufferError):
        return array.__array_interface__["data"][0]  # read-only, empty, or with gaps


@cache
def _empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array without entries, which all records may share."""
    return np.zeros(shape, dtype)


class Field(Generic[T]):
    """A field of a record: a descriptor that keeps Python's value and the slots of native code in step."""

    slots: ClassVar[int] = 1
    kind: Type

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}"

    def __rmul__(self, count: int) -> tuple[Self, ...]:
        """As many fields of this kind: ``nq, nv = 2 * Int()``."""
        return tuple(copy(self) for _ in range(count))

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: Any, owner: type) -> T: ...
    def __get__(self, record: Any, owner: type) -> Any:
        if record is None:
            return self
        return record.kept_values[self.name] if isinstance(record, Outputs) else self.read(record)

    def __set__(self, record: Any, value: T) -> None:
        self.write(record, value)

    def read(self, record: Record) -> Any:
        return record.kept_values.get(self.name)

    def write(self, record: Record, value: Any) -> None:
        raise NotImplementedError

    def complete(self, record: Record, shape: tuple[int, ...]) -> None:
        """Make what is missing, of these lengths, and check what depends on other fields."""


class Int(Field[int]):
    """A whole number."""

    kind = INT

    def read(self, record: Record) -> int:
        return record.slot_words.item(record.slot_of[self.name])

    def write(self, record: Record, value: int) -> None:
        try:
            record.slot_words[record.slot_of[self.name]] = operator.index(value)
        except TypeError:
            raise TypeError(f"{type(record).__name__}.{self.name} must be a whole number, got {value!r}") from None


class Flag(Field[bool]):
    """True or False."""

    kind = BOOL

    def read(self, record: Record) -> bool:
        return bool(record.slot_words[record.slot_of[self.name]])

    def write(self, record: Record, value: bool) -> None:
        record.slot_words[record.slot_of[self.name]] = bool(value)


class Real(Field[float]):
    """A floating-point number."""

    kind = FLOAT

    def read(self, record: Record) -> float:
        return record.slot_reals.item(record.slot_of[self.name])

    def write(self, record: Record, value: float) -> None:
        if not isinstance(value, _NUMBERS):
            raise TypeError(f"{type(record).__name__}.{self.name} must be a number, got {value!r}")
        record.slot_reals[record.slot_of[self.name]] = value


class Measured(Field[T]):
    """A field with lengths, which are formulas of other fields."""

    rank: ClassVar[int] = 1

    def __init__(self, *lengths: str | int):
        if len(lengths) != self.rank:
            raise CompileError(f"{type(self).__name__} takes {self.rank} length(s), got {len(lengths)}")
        self.lengths = tuple(str(length) for length in lengths)
        self.trees = tuple(None if text == "*" else length_tree(text) for text in self.lengths)
        # Most lengths are one field, which is read without a look at the tree.
        self._names = tuple(tree.id if isinstance(tree, ast.Name) else None for tree in self.trees)

    @property
    def mentioned(self) -> set[str]:
        """Fields that the lengths are formulas of; of another record with a dot."""
        nodes = [node for tree in self.trees if tree is not None for node in ast.walk(tree)]
        return {ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}

    def __str__(self) -> str:
        return f"{super().__str__()}[{', '.join(self.lengths)}]"

    def shape(self, record: Any) -> tuple[int, ...]:
        """The lengths in a record; −1 for "*", what is left."""
        return tuple([
            int(getattr(record, name)) if name is not None
            else -1 if tree is None
            else fold_length(tree, lambda path: self._length(record, path), int, WHOLE_NUMBERS)
            for name, tree in zip(self._names, self.trees, strict=True)
        ])  # fmt: skip

    def _length(self, record: Any, path: tuple[str, ...]) -> int:
        """A field of a record, or of one that it refers to."""
        found = record
        for name in path:
            if found is None:
                what = f"{type(record).__name__}.{self.name}[{', '.join(self.lengths)}]"
                raise TypeError(f"{what}: '{path[path.index(name) - 1]}' is missing")
            found = getattr(found, name)
        return int(found)

    def check(self, record: Record, found: tuple[int, ...]) -> None:
        """Raise if these are not the lengths that the other fields say."""
        wanted = self.shape(record)
        if wanted != found and any(want not in (-1, have) for want, have in zip(wanted, found, strict=True)):
            lengths = ", ".join(self.lengths)
            raise TypeError(f"{type(record).__name__}.{self.name}[{lengths}] must be {wanted}, got {found}")


class ArrayField(Measured[np.ndarray]):
    element: ClassVar[Scalar] = FLOAT

    def __init__(self, *lengths: str | int):
        super().__init__(*lengths)
        self.kind, self._dtype = types.Array(self.element, self.rank), DTYPES[self.element]

    def _of(self, record: Record) -> str:
        return f"{type(record).__name__}.{self.name}"

    def write(self, record: Record, value: np.ndarray) -> None:
        if record.kept_values.get(self.name) is value:  # out.du += step, in plain Python
            return
        if isinstance(record, Outputs):
            raise TypeError(f"{self._of(record)} is a view and stays one.  Fix: change its numbers, {self.name}[:] = …")
        if not isinstance(value, ARRAY) or value.dtype != self._dtype or value.ndim != self.rank:
            got = f"{value.dtype} with {value.ndim} axes" if isinstance(value, ARRAY) else type(value).__name__
            raise TypeError(f"{self._of(record)} must be an array of {self._dtype} with {self.rank} axes, got {got}")
        if not value.flags.c_contiguous:
            raise TypeError(f"{self._of(record)} must be an array without gaps.  Fix: np.ascontiguousarray")
        record.kept_values[self.name] = value
        record.slot_words[record.slot_of[self.name]] = address_of(value)

    def complete(self, record: Record, shape: tuple[int, ...]) -> None:
        kept = record.kept_values.get(self.name)
        if kept is not None:
            if kept.shape != shape:
                self.check(record, kept.shape)
            return
        if min(shape) < 0:
            shape = tuple([max(0, n) for n in shape])
            self.check(record, shape)
        made = _empty(shape, self._dtype) if 0 in shape else np.zeros(shape, self._dtype)
        record.kept_values[self.name] = made
        # Nothing is read where there is nothing.
        record.slot_words[record.slot_of[self.name]] = address_of(made) if made.size else 0


class Vector(ArrayField):
    """Floats in a row."""


class Matrix(ArrayField):
    """Floats in rows and columns."""

    rank = 2


class ComplexMatrix(ArrayField):
    """Complex numbers in rows and columns."""

    element = COMPLEX
    rank = 2


class Integers(ArrayField):
    """Whole numbers in a row."""

    element = INT


class IntegerMatrix(ArrayField):
    """Whole numbers in rows and columns."""

    element = INT
    rank = 2


class Flags(ArrayField):
    """True or False in a row."""

    element = BOOL


class Ref(Field[T]):
    """Another record."""

    def __init__(self, cls: type[T]):
        self.kind = types.Pointer(cls)
        self._cls: Any = cls

    def write(self, record: Record, value: Any) -> None:
        if value is not None and not isinstance(value, self._cls):
            raise TypeError(f"{type(record).__name__}.{self.name} must be a {self._cls.__name__}, got {value!r}")
        record.kept_values[self.name] = value
        record.slot_words[record.slot_of[self.name]] = 0 if value is None else value.address


class Function(Field[Any]):
    """A native function bound to a record (``function.bind(record)``), or None.

    Args:
        arguments: types behind the record: float, int, bool, Vector, Matrix, Integers, Flags, records, outputs.
        result: int (a status, the default), float, bool or None.
    """

    slots = 2

    def __init__(self, *arguments: Any, result: Any = int):
        kind = type_of(result)
        if not isinstance(kind, Scalar):
            raise CompileError(f"a function in a field cannot return {kind}.  Fix: let it fill an array; int, float …")
        self.kind = types.Closure(tuple(type_of(argument) for argument in arguments), kind)

    def write(self, record: Record, value: Any) -> None:
        at = record.slot_of[self.name]
        if value is None:
            record.slot_words[at : at + 2] = 0
        elif not hasattr(value, "code"):
            raise TypeError(
                f"{type(record).__name__}.{self.name} must be a native function bound to a record, got {value!r}.  "
                f"Fix: function.bind(record)"
            )
        else:
            record.slot_words[at], record.slot_words[at + 1] = value.code(self.kind), value.record.address
        record.kept_values[self.name] = value


class _KernelField(Field[Any]):
    """Machine code with memory of its own, or None."""

    def called(self, value: Any) -> tuple[tuple[int, ...], Any]:
        """What the slots hold, and the kernel as plain Python calls it."""
        raise NotImplementedError

    def write(self, record: Record, value: Any) -> None:
        at = record.slot_of[self.name]
        words, called = ((0,) * self.slots, None) if value is None else self.called(value)
        record.slot_words[at : at + self.slots] = words
        record.kept_values[self.name] = called


class Kernel(_KernelField):
    """A compiled expression graph with memory of its own, or None. Called with its inputs in order, numbers or vectors,
    it gives a view of its outputs, which stays valid until it is called again; ``.outputs`` is that view.

    Its memory: inputs, outputs, scratch space.
    """

    slots = SLOTS_OF_KERNEL
    kind = types.Kernel()

    def called(self, value: Any) -> tuple[tuple[int, ...], Any]:
        memory = np.zeros(value.n_in + value.n_out + max(1, value.n_work))
        return (value.address, value.n_in, value.n_out, address_of(memory)), Called(value, memory)


class Kernels(Measured[Any]):
    """Kernels in a row that work in place, any of them None: ``kernels[k].run(inputs, outputs)`` reads the first
    numbers of one vector and writes the first of another, parts of a longer one as a rule. Nothing is copied; several
    threads may run the same kernel. What a kernel reads it must not write to.
    """

    kind = types.Kernels()

    def write(self, record: Record, value: Any) -> None:
        kept = [None if kernel is None else InPlace(kernel) for kernel in value]
        table = np.zeros((len(kept), SLOTS_OF_KERNEL), dtype=_WORD)
        for row, kernel in zip(table, value, strict=True):
            if kernel is not None:
                row[:] = kernel.address, kernel.n_in, kernel.n_out, kernel.n_work
        record.kept_values[self.name] = _Row(kept, table)
        record.slot_words[record.slot_of[self.name]] = table.ctypes.data

    def complete(self, record: Record, shape: tuple[int, ...]) -> None:
        if self.name not in record.kept_values:
            self.write(record, [None] * shape[0])
        self.check(record, (len(record.kept_values[self.name]),))


class _Row(tuple[Any, ...]):
    """Kernels as plain Python finds them, and their slots."""

    table: np.ndarray

    def __new__(cls, kernels: list[InPlace | None], table: np.ndarray) -> Self:
        made = super().__new__(cls, kernels)
        made.table = table
        return made


class BatchKernel(_KernelField):
    """The version of a kernel for groups of ``kernel.width`` states, with scratch space of its own, or None.

    Called as  kernel(inp, out, groups)  it fills ``out[group, i*width + lane]`` from ``inp[group, i*width + lane]``.

    Slots: code, numbers of inputs and of outputs in a group, scratch space.
    """

    slots = SLOTS_OF_KERNEL
    kind = types.Kernel(batch=True)

    def called(self, value: Any) -> tuple[tuple[int, ...], Any]:
        work = np.zeros(max(1, value.n_work_batch))
        each = value.n_in * value.width, value.n_out * value.width
        return (value.batch_address, *each, work.ctypes.data), BatchCalled(value, work)


class Record:
    """A block of named fields. Arrays that are not given are made, zero, with the lengths that the other fields say."""

    fields: ClassVar[dict[str, Field[Any]]] = {}
    slot_of: ClassVar[dict[str, int]] = {}
    _size: ClassVar[int] = 0
    _measured: ClassVar[tuple[Measured[Any], ...]] = ()
    # Slots that lengths are formulas of, if they are all of this record, and the lengths that were found so far: many
    # records are made of a few sizes.
    _measuring: ClassVar[tuple[int, ...] | None] = ()
    _shapes: ClassVar[dict[tuple[int, ...], list[tuple[int, ...]]]] = {}

    def __init_subclass__(cls) -> None:
        cls.fields = {**cls.fields, **{name: item for name, item in vars(cls).items() if isinstance(item, Field)}}
        cls._measured = tuple(item for item in cls.fields.values() if isinstance(item, Measured))
        cls.slot_of, at = {}, 0
        for name, item in cls.fields.items():
            cls.slot_of[name] = at
            at += item.slots
        cls._size = at
        mentioned = {name for item in cls._measured for name in item.mentioned}
        own = all(isinstance(cls.fields.get(name), Int) for name in mentioned)
        cls._measuring, cls._shapes = tuple(cls.slot_of[name] for name in sorted(mentioned)) if own else None, {}
        bases: tuple[Any, ...] = cls.__bases__
        for base in bases:
            for name, slot in getattr(base, "slot_of", {}).items():
                if cls.slot_of.get(name) != slot or cls.fields[name].kind != base.fields[name].kind:
                    raise CompileError(
                        f"{cls.__name__} has the field '{name}' of {base.__name__} elsewhere or as something else.  "
                        "Fix: one base, whose fields stay as they are"
                    )

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"{type(self).__name__} holds addresses and is neither copied nor pickled.  "
            "Fix: a record of its own with set(), values() and restore()"
        )

    def __init__(self, **values: Any):
        self.slot_words = np.zeros(max(1, self._size), dtype=_WORD)
        self.slot_reals = self.slot_words.view(np.float64)
        self.address = address_of(self.slot_words)
        self.kept_values: dict[str, Any] = {}
        self.set(**values)
        self.complete()

    def set(self, **values: Any) -> None:
        """Fields by name."""
        for name, value in values.items():
            item = self.fields.get(name)
            if item is None:
                raise TypeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self.fields)}")
            item.write(self, value)

    def complete(self) -> None:
        """Make the arrays that are missing, and check the lengths of all."""
        if self._measuring is None:
            for item in self._measured:
                item.complete(self, item.shape(self))
            return
        lengths = tuple([self.slot_words.item(slot) for slot in self._measuring])
        shapes = self._shapes.get(lengths)
        if shapes is None:
            shapes = self._shapes[lengths] = [item.shape(self) for item in self._measured]
        for item, shape in zip(self._measured, shapes, strict=True):
            item.complete(self, shape)

    def values(self) -> dict[str, Any]:
        """Numbers and arrays by name, copied: all of a record that can be written to a file."""
        out: dict[str, Any] = {}
        for name, item in self.fields.items():
            if isinstance(item, ArrayField) or isinstance(item.kind, Scalar):
                out[name] = copy(getattr(self, name))
        return out

    def check(self) -> None:
        """Raise if an array of this record, or of those it refers to, has not the lengths that other fields say."""
        for record in reachable(self):
            for name, item in record.fields.items():
                if isinstance(item, ArrayField):
                    item.check(record, record.kept_values[name].shape)

    def restore(self, values: dict[str, Any]) -> None:
        """Numbers and arrays from ``values``, in place."""
        for name, value in values.items():
            if isinstance(self.fields[name], ArrayField):
                getattr(self, name)[...] = value
            else:
                setattr(self, name, value)

    @classmethod
    def signature(cls) -> str:
        """All that the machine code of a function with this record depends on."""
        text = "; ".join(f"{cls.slot_of[name]} {item}" for name, item in cls.fields.items())
        return f"{cls.__qualname__}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def reachable(*records: Record) -> list[Record]:
    """Records, and all those that they and their functions refer to, each once."""
    seen, found = set(map(id, records)), list(records)
    for record in found:  # which grows
        for name, item in record.fields.items():
            kept = record.kept_values.get(name)
            kept = getattr(kept, "record", None) if isinstance(item, Function) else kept
            if isinstance(kept, Record) and id(kept) not in seen:
                seen.add(id(kept))
                found.append(kept)
    return found


class Outputs:
    """Views into a row of numbers, one field after the other, with lengths from a record.

    class Closure(Outputs):
        phi = Vector("holonomic")
        A = Matrix("rows", "nv")

    ``Closure.of(record, numbers)`` takes it apart; the last field may have the length "*", what is left.
    """

    fields: ClassVar[dict[str, Any]] = {}
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = {**cls.fields, **{name: item for name, item in vars(cls).items() if isinstance(item, Field)}}
        cls._fields = tuple(cls.fields)

    def __init__(self, *values: Any):
        if len(values) != len(self._fields):
            raise TypeError(f"{type(self).__name__} takes {len(self._fields)} values, got {len(values)}")
        self.kept_values = dict(zip(self._fields, values, strict=True))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.kept_values.values())

    @classmethod
    def of(cls, record: Any, numbers: np.ndarray) -> Self:
        """Take a row of numbers apart."""
        values: list[Any] = []
        at = 0
        for item in cls.fields.values():
            if isinstance(item, ArrayField):
                shape = item.shape(record)
                shape = (len(numbers) - at,) if -1 in shape else shape
                count = math.prod(shape)
                values.append(numbers[at : at + count].reshape(shape))
            else:
                count = 1
                values.append(float(numbers[at]))
            at += count
        return cls(*values)

    @classmethod
    def sizes(cls, record: Any) -> dict[str, int]:
        """How many numbers each field takes."""
        items = cls.fields.items()
        return {name: math.prod(item.shape(record)) if isinstance(item, ArrayField) else 1 for name, item in items}

    @classmethod
    def size(cls, record: Any) -> int:
        """How many numbers all fields take."""
        return sum(cls.sizes(record).values())

    def __set_name__(self, owner: type, name: str) -> None:
        raise TypeError(f"outputs such as {type(self).__name__} are values, not fields")


def type_of(spec: Any) -> Any:
    """The native type that a Python type, a kind of field, or a class of records stands for."""
    if spec is None:
        return types.NOTHING
    known = {int: INT, float: FLOAT, bool: BOOL, Vector: types.vector(), Matrix: types.matrix()}
    known |= {Integers: types.vector(INT), IntegerMatrix: types.matrix(INT), Flags: types.vector(BOOL)}
    if spec in known:
        return known[spec]
    if isinstance(spec, type) and issubclass(spec, Record):
        return types.Pointer(spec)
    if isinstance(spec, type) and issubclass(spec, Outputs):
        return types.Tuple(tuple(item.kind for item in spec.fields.values()), spec)
    raise CompileError(f"{spec!r} is no type of native code.  Fix: int, float, bool, Vector, Matrix, a record …")
