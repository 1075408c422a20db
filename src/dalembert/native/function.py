"""``@native``: a Python function that runs as machine code."""

from __future__ import annotations

import array
import contextlib
import ctypes
import functools
import inspect
import os
import struct
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.native import types
from dalembert.native.arena import arena
from dalembert.native.build import FAULTS, code_address, entry
from dalembert.native.jit import libc_address
from dalembert.native.records import DTYPES, Outputs, Record, address_of, type_of
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, NOTHING, Array, Scalar, Tuple, Type, parts_of
from dalembert.values import ARRAY, BOOLEAN, COMPLEX_NUMBER, FLOATING, INTEGER, TUPLE

__all__ = [
    "FUNCTIONS", "Bound", "Native", "checking", "kind_of", "native", "plain", "put", "rare", "taken", "vectorized",
    "whole",
]  # fmt: skip

# All native functions, by module and name.
FUNCTIONS: dict[str, Native] = {}

_REAL, _BITS = struct.Struct("<d"), struct.Struct("<q")
_FREE = libc_address("free")
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_ELEMENTS = {dtype: kind for kind, dtype in DTYPES.items()}
_FLOAT64 = DTYPES[FLOAT]
_PLAIN = {rank: (_FLOAT64.char, rank, True) for rank in (1, 2, 3)}  # what machine code for arrays without gaps is for
_WHOLE: tuple[type[Any], ...] = (*INTEGER, np.bool_)
_TUPLES: tuple[type[Any], ...] = (tuple, Outputs)


class _Mode:
    """How functions run: compiled, with or without checks, or as plain Python."""

    def __init__(self) -> None:
        self.checking = os.environ.get("DALEMBERT_NATIVE_CHECKS", "") not in ("", "0")
        self.run: Callable[[Native, tuple[Any, ...]], Any] | None = None


_mode = _Mode()


@contextlib.contextmanager
def plain(run: Callable[[Native, tuple[Any, ...]], Any] | None = None) -> Generator[None]:
    """Run native functions as plain Python, for debugging; or each by ``run(function, arguments)``."""
    before = _mode.run
    _mode.run = run or (lambda function, args: function.python(*args))
    try:
        yield
    finally:
        _mode.run = before


@contextlib.contextmanager
def checking(wanted: bool = True) -> Generator[None]:
    """Native functions that are made inside check every index, and fill new memory with NaN."""
    before, _mode.checking = _mode.checking, wanted
    try:
        yield
    finally:
        _mode.checking = before


class Native:
    """A function in the language of native code.

    Called from Python it runs as machine code, compiled for the types of its arguments at the first call, or read from
    the cache. ``python`` is the function itself; ``bind(record)`` makes what fields of records hold.
    """

    def __init__(self, function: Callable[..., Any], manner: str = ""):
        self.python, self.manner = function, manner
        self.key = f"{function.__module__}.{function.__qualname__}"
        self._count = function.__code__.co_argcount
        self._entries: dict[Any, tuple[Any, Any, int]] = {}
        self._codes: dict[Any, tuple[types.Closure, int]] = {}
        functools.update_wrapper(self, function)
        FUNCTIONS[self.key] = self

    def __repr__(self) -> str:
        return f"<native {self.key}>"

    def __reduce__(self) -> str:
        return self.python.__qualname__

    def bind(self, record: Record) -> Bound:
        """The function with its first argument."""
        return Bound(self, record)

    def address_for(self, owner: type[Record], kind: types.Closure) -> int:
        """Address for a field of this kind, bound to records of this class."""
        key = owner, id(kind), _mode.checking  # what is kept with it stays alive, and so does its id
        if key not in self._codes:
            made = code_address(self, (types.Pointer(owner), *kind.arguments), kind.result, _mode.checking)
            self._codes[key] = kind, made
        return self._codes[key][1]

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or len(args) != self._count:
            args = self._bound(args, named)
        if _mode.run is not None:
            return _mode.run(self, args)
        return self.compiled(*args)

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order, with defaults."""
        bound = inspect.signature(self.python).bind(*args, **named)
        bound.apply_defaults()
        return bound.args

    def compiled(self, *args: Any) -> Any:
        """Run the machine code."""
        return self._prepared(args)()

    def prepare(self, *args: Any) -> Callable[[], Any]:
        """A call that can be repeated for a microsecond, by the thread that prepared it: arrays and records are looked
        at anew each time, numbers stay as they are."""
        if len(args) != self._count:
            args = self._bound(args, {})
        if _mode.run is not None:
            return functools.partial(_mode.run, self, args)
        return self._prepared(args)

    def _prepared(self, args: tuple[Any, ...]) -> Prepared:
        slots: list[int] = [arena.address]
        key: list[Any] = [_mode.checking]
        for arg in args:
            put(self.key, arg, slots, key)
            if _mode.checking and isinstance(arg, Record):
                arg.check()
        found = self._entries.get(tuple(key))
        if found is None:
            made = entry(self, tuple([kind_of(arg) for arg in args]), _mode.checking)
            found = self._entries[tuple(key)] = _ENTRY(made.address), made.result, len(parts_of(made.result))
        return Prepared(found, slots, args)


class Prepared:
    """Machine code with its arguments."""

    def __init__(self, entry: tuple[Any, Any, int], slots: list[int], args: tuple[Any, ...]):
        self._call, self._result, results = entry
        self._at, self._args = len(slots), args
        self._io = array.array("q", slots + [0] * results)
        self._address = self._io.buffer_info()[0]

    def __call__(self) -> Any:
        self._call(self._address)
        try:
            if arena.fault:
                raise CompileError(FAULTS.get(arena.fault, "a native function went wrong"))
            if self._result is INT:
                return self._io[self._at]
            return taken(self._result, self._io, self._at)[0]
        finally:
            arena.reset(_FREE)


def native(function: Callable[..., Any]) -> Native:
    """Decorator: the function is compiled at its first use (see docs/how-to/write-native-code.md)."""
    return Native(function)


def vectorized(function: Callable[..., Any]) -> Native:
    """Decorator: ``native`` for loops over long arrays, which are unrolled and put into vector registers; slower for
    short ones, and takes longer to compile."""
    return Native(function, "vectorized")


def whole(function: Callable[..., Any]) -> Native:
    """Decorator: ``native`` for what is called very often with little to do: all that it calls becomes part of its
    machine code, so that no time is lost between them. It takes longer to compile."""
    return Native(function, "whole")


def rare(function: Callable[..., Any]) -> Native:
    """Decorator: ``native`` for what most runs never come to: compiled when native code calls it for the first time."""
    return Native(function, "rare")


class Bound:
    """A native function with the record that is its first argument."""

    def __init__(self, function: Native, record: Record):
        self.function, self.record = function, record

    def __call__(self, *args: Any) -> Any:
        return self.function(self.record, *args)

    def code(self, kind: types.Closure) -> int:
        """Address for a field of this kind."""
        return self.function.address_for(type(self.record), kind)


# -- arguments and results --------------------------------------------------------------------------------------------


def put(name: str, value: Any, slots: list[int], key: list[Any]) -> None:
    """The slots of an argument, and what the choice of machine code depends on."""
    if isinstance(value, ARRAY):
        if value.dtype is _FLOAT64 and value.flags.carray and value.ndim in _PLAIN:
            # Nearly all arrays are like this; strides follow from the shape, and nothing is left to check.
            shape = value.shape
            slots.append(address_of(value))
            slots += shape
            if len(shape) > 1:
                slots += shape[1:] if len(shape) == 2 else (shape[1] * shape[2], shape[2])
            key += _PLAIN[len(shape)]
            return
        dtype, shape, strides = value.dtype, value.shape, value.strides
        if dtype not in _ELEMENTS or not 1 <= len(shape) <= 3:
            raise TypeError(
                f"{name}: arrays must have one to three axes of float64, int64, bool or complex128, "
                f"got {dtype} with {len(shape)}"
            )
        size, start = dtype.itemsize, address_of(value)
        if start % dtype.alignment or any([stride % size for stride in strides]):  # noqa: C419 (faster)
            raise TypeError(f"{name}: the elements of an array must be aligned.  Fix: np.ascontiguousarray")
        packed = is_packed(value)
        slots.append(start)
        slots += shape
        slots += [stride // size for stride in (strides[:-1] if packed else strides)]
        key += (dtype.char, len(shape), packed)
    elif isinstance(value, FLOATING):
        slots.append(_BITS.unpack(_REAL.pack(value))[0])
        key.append(float)
    elif isinstance(value, Record):
        slots.append(value.address)
        key.append(type(value))
    elif isinstance(value, _WHOLE):
        slots.append(int(value))
        key.append(bool if isinstance(value, BOOLEAN) else int)
    elif isinstance(value, _TUPLES):
        key += (type(value), "(")
        for item in value:
            put(name, item, slots, key)
        key.append(")")
    elif isinstance(value, COMPLEX_NUMBER):
        slots += [_BITS.unpack(_REAL.pack(part))[0] for part in (value.real, value.imag)]
        key.append(complex)
    else:
        raise TypeError(f"{name}: native code takes numbers, arrays, tuples and records, got {type(value).__name__}")


def is_packed(value: np.ndarray) -> bool:
    return value.shape[-1] <= 1 or value.strides[-1] == value.itemsize or not value.size


def kind_of(value: Any) -> Type:
    """The type of an argument that ``put`` takes."""
    if isinstance(value, ARRAY):
        return Array(_ELEMENTS[value.dtype], value.ndim, is_packed(value))
    if isinstance(value, Record):
        return types.Pointer(type(value))
    if isinstance(value, Outputs):
        return type_of(type(value))
    if isinstance(value, TUPLE):
        return Tuple(tuple(kind_of(item) for item in value), type(value) if hasattr(value, "_fields") else None)
    if isinstance(value, BOOLEAN):
        return BOOL
    if isinstance(value, INTEGER):
        return INT
    return COMPLEX if isinstance(value, COMPLEX_NUMBER) else FLOAT


def _real(bits: int) -> float:
    return _REAL.unpack(_BITS.pack(bits))[0]


def _own_memory(start: int, size: int) -> Any:
    """Bytes of this process."""
    return (ctypes.c_char * size).from_address(start)


def taken(kind: Any, io: Any, at: int, memory: Callable[[int, int], Any] = _own_memory) -> tuple[Any, int]:
    """A result from its slots, and where the next one begins; arrays are copied out of the arena in ``memory``."""
    if isinstance(kind, Scalar):
        if kind == FLOAT:
            return _real(io[at]), at + 1
        if kind == NOTHING:
            return None, at
        if kind == COMPLEX:
            return complex(_real(io[at]), _real(io[at + 1])), at + 2
        return (bool if kind == BOOL else int)(io[at]), at + 1
    if isinstance(kind, Tuple):
        items: list[Any] = []
        for item in kind.items:
            value, at = taken(item, io, at, memory)
            items.append(value)
        return (kind.cls(*items) if kind.cls is not None else tuple(items)), at
    n = len(parts_of(kind))
    shape = tuple(io[at + 1 : at + 1 + kind.rank])
    strides = [*io[at + 1 + kind.rank : at + n]] + ([1] if kind.packed else [])
    dtype = DTYPES[kind.element]
    if 0 in shape:
        return np.zeros(shape, dtype), at + n
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    before, count = -sum(min(0, x) for x in reach), 1 + sum(abs(x) for x in reach)
    start = io[at] - before * dtype.itemsize
    numbers = np.frombuffer(memory(start, count * dtype.itemsize), dtype=dtype)
    steps = [stride * dtype.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(numbers[before:], shape, steps).copy(), at + n
