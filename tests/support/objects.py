"""Symbols of object files: ELF, Mach-O and COFF, as much as tests need."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["Symbols", "read_symbols"]


@dataclass(frozen=True)
class Symbols:
    """What an object defines and what it needs, without the underscore of macOS; its format and processor."""

    format: str
    machine: int
    defined: frozenset[str]
    undefined: frozenset[str]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def read_symbols(data: bytes) -> Symbols:
    if data[:4] == b"\x7fELF":
        return _elf(data)
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return _macho(data)
    return _coff(data)


def _elf(data: bytes) -> Symbols:
    machine, start, (size, count) = *struct.unpack_from("<18xH20xQ", data), struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * k) for k in range(count)]
    defined, undefined = set(), set()
    for _, kind, _, _, at, length, names, *_ in sections:
        if kind == 2:
            for place in range(at, at + length, 24):
                name, info, _, section = struct.unpack_from("<IBBH", data, place)
                if info >> 4 and name:
                    (defined if section else undefined).add(_text(data, sections[names][4] + name))
    return Symbols("ELF", machine, frozenset(defined), frozenset(undefined))


def _macho(data: bytes) -> Symbols:
    machine, commands = struct.unpack_from("<4xI8xI", data)
    at, defined, undefined = 32, set(), set()
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 2:
            symbols, count, names = struct.unpack_from("<8xIII", data, at)
            for k in range(count):
                name, flags = struct.unpack_from("<IB", data, symbols + 16 * k)
                if flags & 1:
                    found = _text(data, names + name)
                    assert found.startswith("_"), found
                    (undefined if flags & 0x0E == 0 else defined).add(found[1:])
        at += size
    return Symbols("Mach-O", machine, frozenset(defined), frozenset(undefined))


def _coff(data: bytes) -> Symbols:
    machine, at, count = struct.unpack_from("<H6xII", data)
    names, k, defined, undefined = at + 18 * count, 0, set(), set()
    while k < count:
        short, value, section, storage, extra = struct.unpack_from("<8sIh2xBB", data, at + 18 * k)
        if storage == 2:
            zero, offset = struct.unpack("<II", short)
            name = _text(data, names + offset) if zero == 0 else short.rstrip(b"\0").decode()
            (defined if section else undefined).add(name)
            assert section or value == 0, name
        k += 1 + extra
    return Symbols("COFF", machine, frozenset(defined), frozenset(undefined))
