"""A WebAssembly module from one relocatable object: the part of a linker that one object needs.

Memory, stack pointer and function table, which the object imports, are made. The stack lies below the data and grows
toward address 0, so that a stack that overflows traps instead of overwriting; ``__heap_base`` is the end of the data.
Functions keep their numbers.

Reference: WebAssembly tool conventions, "Linking.md".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.errors import CompileError

__all__ = ["Linked", "link"]

_PAGE = 1 << 16

# Sections of a module.
_CUSTOM, _TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT, _START, _ELEMENT, _CODE, _DATA = range(12)
_ORDER = (_TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT, _ELEMENT, _CODE, _DATA)
_STACK = 1 << 17  # bytes

# Relocations: what is patched, and how it is written.
_TABLE_SLEB, _TABLE_I32, _MEMORY_LEB, _MEMORY_SLEB, _MEMORY_I32 = 1, 2, 3, 4, 5
_UNCHANGED = {0, 6, 7, 20}  # numbers of functions, types, globals and tables stay
_WITH_ADDEND = {3, 4, 5, 8, 9, 11, 14, 15, 16, 17, 22, 23}


@dataclass(frozen=True)
class Linked:
    """A module.

    Attributes:
        data: its bytes.
        table: number of each function in the function table, by name.
        imports: what it still needs.
        heap: end of its data.
    """

    data: bytes
    table: dict[str, int]
    imports: tuple[str, ...]
    heap: int


class _Reader:
    """Numbers and names from bytes."""

    def __init__(self, data: bytes | bytearray, at: int = 0):
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        return self._sevens()[0]

    def signed(self) -> int:
        value, bits = self._sevens()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _sevens(self) -> tuple[int, int]:
        """A number in pieces of seven bits, the lowest first, and how many bits those are."""
        value = bits = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << bits
            bits += 7
            if byte < 128:
                return value, bits

    def bytes(self) -> bytes:
        n = self.unsigned()
        self.at += n
        return bytes(self.data[self.at - n : self.at])

    def name(self) -> str:
        return self.bytes().decode()

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


def _unsigned(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def _signed(n: int) -> bytes:
    out = b""
    while not -64 <= n < 64:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n & 127])


def _five(n: int) -> bytes:
    """A number of 32 bits in five bytes, as relocations leave room for."""
    return bytes([n >> shift & 127 | 128 for shift in (0, 7, 14, 21)]) + bytes([n >> 28 & 127])


def _row(items: list[bytes]) -> bytes:
    return _unsigned(len(items)) + b"".join(items)


def _text(name: str) -> bytes:
    return _unsigned(len(name.encode())) + name.encode()


class _Object:
    """A relocatable object, taken apart."""

    def __init__(self, data: bytes):
        if data[:8] != b"\0asm\1\0\0\0":
            raise CompileError("this is no WebAssembly object")
        self.sections: list[tuple[int, str, bytearray]] = []
        reader = _Reader(data, 8)
        while reader.more:
            number, body = reader.byte(), _Reader(reader.bytes())
            name = body.name() if number == _CUSTOM else ""
            self.sections.append((number, name, bytearray(body.data[body.at :])))
        self.functions: list[tuple[str, bytes]] = []  # imported functions, by name
        self.stack = self.table = False
        self._imports()
        # Of each symbol: what it is, its name, number of its function or (segment, offset), None if it is undefined.
        self.symbols: list[tuple[int, str, int | tuple[int, int] | None]] = []
        self.alignments: list[int] = []
        self._linking()
        self.segments = self.contents()
        self.elements = self._elements()

    def section(self, number: int, name: str = "") -> bytearray | None:
        return next((body for n, label, body in self.sections if n == number and label == name), None)

    def _imports(self) -> None:
        body = self.section(_IMPORT)
        if body is None:
            return
        reader = _Reader(body)
        for _ in range(reader.unsigned()):
            start = reader.at
            reader.name()
            name, kind = reader.name(), reader.byte()
            if kind == 0:
                reader.unsigned()
                self.functions.append((name, bytes(body[start : reader.at])))
            elif kind == 3:
                if name != "__stack_pointer":
                    raise CompileError(f"the object needs an unknown global '{name}'")
                reader.at += 2
                self.stack = True
            else:
                # A table has a type in front of its limits, the memory has none.
                reader.at += kind == 1
                self.table = self.table or kind == 1
                limited = reader.byte()
                reader.unsigned()
                if limited & 1:
                    reader.unsigned()

    def _linking(self) -> None:
        reader = _Reader(self.section(_CUSTOM, "linking") or b"\2")
        reader.unsigned()
        while reader.more:
            kind, part = reader.byte(), _Reader(reader.bytes())
            if kind == 8:
                self.symbols = [self._symbol(part) for _ in range(part.unsigned())]
            elif kind == 5:
                for _ in range(part.unsigned()):
                    part.name()
                    self.alignments.append(1 << part.unsigned())
                    part.unsigned()

    def _symbol(self, part: _Reader) -> tuple[int, str, int | tuple[int, int] | None]:
        kind, flags = part.byte(), part.unsigned()
        undefined, named = flags & 0x10, flags & 0x40
        if kind == 1:
            name, place = part.name(), None
            if not undefined:
                place = part.unsigned(), part.unsigned()
                part.unsigned()
            return kind, name, place
        number = part.unsigned()
        if kind == 3 or (undefined and not named):
            return kind, "", number
        return kind, part.name(), number

    def contents(self) -> list[bytes]:
        """The data segments, as they are now."""
        found: list[bytes] = []
        for reader in self._entries(_DATA):
            if reader.byte() != 0 or reader.byte() != 0x41:
                raise CompileError("a data segment without address")
            reader.signed()
            reader.byte()
            found.append(reader.bytes())
        return found

    def _elements(self) -> list[int]:
        """Functions in the table, which begins with number 1."""
        found: list[int] = []
        for reader in self._entries(_ELEMENT):
            flags = reader.unsigned()
            if flags & 2:
                reader.unsigned()
            if reader.byte() != 0x41 or reader.signed() != 1 + len(found) or reader.byte() != 0x0B:
                raise CompileError("an element segment that is not the first")
            if flags & 2:
                reader.byte()
            found += [reader.unsigned() for _ in range(reader.unsigned())]
        return found

    def _entries(self, section: int) -> Iterator[_Reader]:
        """The reader of a section, once for each of its entries."""
        body = self.section(section)
        if body is not None:
            reader = _Reader(body)
            for _ in range(reader.unsigned()):
                yield reader


def link(data: bytes, exports: list[str]) -> Linked:
    """A module from an object.

    Args:
        data: the object.
        exports: functions that are visible.
    """
    source = _Object(data)
    starts, heap = _places(source)
    numbers = {name: place for kind, name, place in source.symbols if kind == 0 and isinstance(place, int)}
    _relocate(source, starts, heap)
    # Relocations have changed the data, too.
    segments = [
        b"\0\x41" + _signed(start) + b"\x0b" + _unsigned(len(segment)) + segment
        for start, segment in zip(starts, source.contents(), strict=True)
        if any(segment)
    ]
    # The stack pointer is global 0 of the object, if it has one.
    globals_ = [b"\x7f\1\x41" + _signed(_STACK) + b"\x0b"] if source.stack else []
    globals_.append(b"\x7f\0\x41" + _signed(heap) + b"\x0b")
    shown = [_text("memory") + b"\2\0", _text("__heap_base") + b"\3" + _unsigned(len(globals_) - 1)]
    shown += [_text(name) + b"\0" + _unsigned(numbers[name]) for name in exports]
    if source.elements:
        shown.append(_text("table") + b"\1\0")
    size = len(source.elements) + 1
    bodies: dict[int, bytes | bytearray | None] = {
        _TYPE: source.section(_TYPE), _FUNCTION: source.section(_FUNCTION), _CODE: source.section(_CODE),
        _IMPORT: _row([text for _, text in source.functions]) if source.functions else None,
        _TABLE: _row([b"\x70\1" + _unsigned(size) * 2]) if source.table or source.elements else None,
        _MEMORY: _row([b"\0" + _unsigned(-(-heap // _PAGE))]), _GLOBAL: _row(globals_), _EXPORT: _row(shown),
        _ELEMENT: _row([b"\0\x41\1\x0b" + _row([_unsigned(n) for n in source.elements])]) if source.elements else None,
        _DATA: _row(segments) if segments else None,
    }  # fmt: skip
    out = data[:8]
    for number in _ORDER:
        body = bodies.get(number)
        if body:
            out += bytes([number]) + _unsigned(len(body)) + bytes(body)
    places = {number: 1 + k for k, number in enumerate(source.elements)}
    table = {name: places[number] for name, number in numbers.items() if number in places}
    return Linked(out, table, tuple(name for name, _ in source.functions), heap)


def _places(source: _Object) -> tuple[list[int], int]:
    """Where the segments begin, behind the stack, and where they end."""
    starts: list[int] = []
    at = _STACK
    for segment, alignment in zip(source.segments, source.alignments, strict=True):
        at = -(-at // alignment) * alignment
        starts.append(at)
        at += len(segment)
    return starts, -(-at // 64) * 64


def _relocate(source: _Object, starts: list[int], heap: int) -> None:
    """Write addresses and numbers of functions in the table to where they are used."""
    table = {number: 1 + k for k, number in enumerate(source.elements)}

    def address(symbol: int, addend: int) -> int:
        _, name, place = source.symbols[symbol]
        if isinstance(place, tuple):
            return starts[place[0]] + place[1] + addend
        if name != "__heap_base":
            raise CompileError(f"the object refers to '{name}', which nobody defines")
        return heap + addend

    for _, name, body in source.sections:
        if name not in ("reloc.CODE", "reloc.DATA"):
            continue
        reader = _Reader(body)
        target = source.sections[reader.unsigned()][2]
        for _ in range(reader.unsigned()):
            kind, at, symbol = reader.byte(), reader.unsigned(), reader.unsigned()
            addend = reader.signed() if kind in _WITH_ADDEND else 0
            if kind in _UNCHANGED:
                continue
            if kind in (_MEMORY_LEB, _MEMORY_SLEB, _MEMORY_I32):
                value = address(symbol, addend)
            elif kind in (_TABLE_SLEB, _TABLE_I32):
                number = source.symbols[symbol][2]
                assert isinstance(number, int)
                value = table[number]
            else:
                raise CompileError(f"relocation {kind} of WebAssembly is unknown")
            if kind in (_MEMORY_I32, _TABLE_I32):
                struct.pack_into("<I", target, at, value)
            else:
                target[at : at + 5] = _five(value)
