"""Machine code of native functions: units compiled once, kept on disk, linked into this process.

Everything in the cache is named by a digest of all that it depends on (see ``fingerprint``), written whole or not at
all, and verified when it is read; so processes may share it, and a file that is damaged is built again.
"""

from __future__ import annotations

import _thread
import base64
import ctypes
import hashlib
import json
import os
import sys
import threading
import traceback
import zlib
from collections.abc import Iterable
from typing import Any

from dalembert.errors import CompileError
from dalembert.native import arena, library, mathematics
from dalembert.native.cache import read_object, write_object
from dalembert.native.fingerprint import translator_version
from dalembert.native.jit import build_object, host, libc_address, link_objects
from dalembert.native.jit import lock as jit_lock
from dalembert.native.translate import Instance, instance_of, symbol_of, unit_text
from dalembert.native.translate import lock as translate_lock
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, NOTHING, Array, Scalar, Tuple, Type, parts_of

__all__ = ["FAULTS", "Entry", "code_address", "entry", "entry_text", "mathematics_address", "plain_text", "units"]

# Of units whose loops are put into vector registers, and of all others.
_LEVEL_OF_VECTORS, _LEVEL = 2, 1
# Seconds until an interrupt comes again.
_SOON = 0.05
_SCALARS = {kind.name: kind for kind in (INT, FLOAT, BOOL, COMPLEX, NOTHING)}

_lock = threading.RLock()
_addresses: dict[str, int] = {}
_codes: dict[Any, tuple[Type, int]] = {}
_owners: list[Any] = []


# In the order in which they are acquired.
_LOCKS = (_lock, translate_lock, jit_lock)


def _acquire() -> None:
    for lock in _LOCKS:
        lock.acquire()


def _release() -> None:
    for lock in reversed(_LOCKS):
        lock.release()


if hasattr(os, "register_at_fork"):
    # A process that is forked while another thread compiles would wait for that thread, which it does not have.
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)

# In checking mode: what each number of a fault means.
FAULTS: dict[int, str] = {}


class Entry:
    """A function as Python calls it: ``void f(int64* io)``; io: arena, parts of the arguments, parts of the result."""

    def __init__(self, address: int, result: Type):
        self.address, self.result = address, result


def _key(name: str) -> str:
    return hashlib.sha256(f"{name}|{translator_version()}|{host().key()}".encode()).hexdigest()


def code_address(function: Any, kinds: tuple[Type, ...], result: Scalar, checking: bool) -> int:
    """Address of a function for a field of a record; its first parameter is the arena."""
    key = (function, kinds, checking)
    if key not in _codes:
        symbol = symbol_of(function, kinds, checking)
        _codes[key] = _load(symbol, function, kinds, checking), _addresses[symbol]
    found, address = _codes[key]
    if found != result:
        raise CompileError(
            f"native function '{function.python.__name__}' returns {found}, but the field wants {result}"
        )
    return address


def entry(function: Any, kinds: tuple[Type, ...], checking: bool) -> Entry:
    """A function for calls from Python."""
    symbol = symbol_of(function, kinds, checking)
    with _lock:
        result = _load(symbol, function, kinds, checking)
        name = f"{symbol}_entry"
        if name not in _addresses:
            key = _key(name)
            data = read_object(key)
            if data is None:
                data = build_object(entry_text(name, symbol, kinds, result), _LEVEL, lean=True)
                write_object(key, data)
            _link({name: data}, {symbol: _addresses[symbol]})
    return Entry(_addresses[name], result)


# -- units ------------------------------------------------------------------------------------------------------------

# A plan is what an earlier process found out about a function, as data:
#   result    its type
#   units     what it needs: the units that each of these calls
#   rare      the same for each rare function below it
#   texts     IR of what only rare functions need, and whether its loops are put into vector registers; packed
#   faults    in checking mode
_Plan = dict[str, Any]
_results: dict[str, Type] = {}
_rare: dict[str, _Plan] = {}


def _load(symbol: str, function: Any, kinds: tuple[Type, ...], checking: bool) -> Type:
    """Make sure that a function and all it calls are linked, but for rare functions; returns its result type."""
    with _lock:
        if symbol in _results:
            return _results[symbol]
        plan = _read_plan(symbol)
        objects = None if plan is None else _objects(plan["units"], {})
        result = None if plan is None else _decode(plan["result"])
        if plan is None or objects is None or result is None:
            root = instance_of(function, kinds, checking)
            result = root.result
            plan, texts = _make_plan(root)
            objects = _objects(plan["units"], texts)
            write_object(_key("plan " + symbol), json.dumps(plan).encode())
        assert objects is not None
        FAULTS.update({int(number): text for number, text in plan["faults"].items()})
        _rare.update(dict.fromkeys(plan["rare"], plan))
        _link_units(plan["units"], objects)
        _results[symbol] = result
        return result


def _read_plan(symbol: str) -> _Plan | None:
    data = read_object(_key("plan " + symbol))
    return None if data is None else json.loads(data)


def _make_plan(root: Instance) -> tuple[_Plan, dict[str, tuple[str, bool]]]:
    """The plan of a function, and the IR of all units that it names."""
    everything = units(root)
    rare = [unit for unit in everything.values() if unit.manner == "rare" and unit is not root]
    plan: _Plan = {"result": _encode(root.result), "units": _calls(root), "faults": {}}
    plan["rare"] = {unit.symbol: _calls(unit) for unit in rare}
    for unit in everything.values():
        for member in (unit, *unit.copied().values()):
            plan["faults"] |= {str(number): text for number, text in member.faults.items()}
    texts: dict[str, tuple[str, bool]] = {}
    for name, unit in everything.items():
        vectors = unit.manner == "vectorized"
        texts[name] = unit_text(unit, inlined=not vectors, lazily=True), vectors
    later = {name: text for name, text in texts.items() if name not in plan["units"]}
    plan["texts"] = base64.b64encode(zlib.compress(json.dumps(later).encode(), 1)).decode()
    return plan, texts


def _calls(root: Instance) -> dict[str, list[str]]:
    """A function and the units below it that are linked with it, with the units that each of them calls."""
    return {name: sorted(_not_rare(unit)) for name, unit in units(root, lazily=True).items()}


def _not_rare(unit: Instance) -> dict[str, Instance]:
    return {name: callee for name, callee in unit.linked().items() if callee.manner != "rare"}


def units(root: Instance, lazily: bool = False) -> dict[str, Instance]:
    """A function and all units below it; ``lazily``: but for rare functions."""
    found: dict[str, Instance] = {}
    waiting = [root]
    while waiting:
        unit = waiting.pop()
        if unit.symbol not in found:
            found[unit.symbol] = unit
            waiting += (_not_rare(unit) if lazily else unit.linked()).values()
    return found


def _objects(names: Iterable[str], texts: dict[str, tuple[str, bool]]) -> dict[str, bytes] | None:
    """Objects of those units that are not linked yet, from the cache or compiled; None if neither can be."""
    objects: dict[str, bytes] = {}
    for name in names:
        if name not in _addresses:
            data = read_object(_key(name))
            if data is None:
                if name not in texts:
                    return None
                text, vectors = texts[name]
                data = build_object(text, _LEVEL_OF_VECTORS) if vectors else build_object(text, _LEVEL, lean=True)
                write_object(_key(name), data)
            objects[name] = data
    return objects


def _link_units(calls: dict[str, list[str]], objects: dict[str, bytes]) -> None:
    if "dalembert_grow" not in _addresses:
        _load_runtime()
    imports = {name: _addresses[name] for called in calls.values() for name in called if name in _addresses}
    imports |= {name: _addresses[name] for name in ("dalembert_grow", "dalembert_shrink", "dalembert_find")}
    if objects:
        _link(objects, imports)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
def _find(name: bytes) -> int:
    """Address of a rare function, for native code that is about to call it, and asks again where it gets none.

    Native code cannot be left here. An interrupt comes again when it may have returned; where the first line already
    raises one, ctypes reports it and native code gets none.
    """
    address, interrupted = 0, False
    while address == 0:
        try:
            address = _load_rare(name.decode())
        except KeyboardInterrupt:
            interrupted = True
        except Exception:
            traceback.print_exc()
            os._exit(1)
    if interrupted:
        threading.Timer(_SOON, _thread.interrupt_main).start()
    return address


def _load_rare(symbol: str) -> int:
    with _lock:
        if symbol not in _addresses:
            plan = _rare[symbol]
            objects = _objects(plan["rare"][symbol], json.loads(zlib.decompress(base64.b64decode(plan["texts"]))))
            assert objects is not None
            _link_units(plan["rare"][symbol], objects)
        return _addresses[symbol]


def _load_runtime() -> None:
    key = _key("arena")
    data = read_object(key)
    if data is None:
        data = build_object(arena.GROW, _LEVEL, lean=True)
        write_object(key, data)
    addresses, owner = link_objects(
        [data],
        ["dalembert_grow", "dalembert_shrink"],
        {f"dalembert_{name}": libc_address(name) for name in ("malloc", "free")},
    )
    _addresses.update(addresses)
    _addresses["dalembert_find"] = _address_of(_find)
    _owners.append(owner)


def _address_of(callback: Any) -> int:
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return address


def _link(objects: dict[str, bytes], imports: dict[str, int]) -> None:
    addresses, owner = link_objects(list(objects.values()), list(objects), imports)
    _addresses.update(addresses)
    _owners.append(owner)


def mathematics_address(name: str) -> int:
    """Address of a function of the mathematics library for kernels: ``double f(double)``, or of two doubles."""
    python = mathematics.FUNCTIONS[name]
    function, kinds = library.own(python), (FLOAT,) * python.__code__.co_argcount
    with _lock:
        symbol = symbol_of(function, kinds, False)
        _load(symbol, function, kinds, False)
        plain = f"{symbol}_plain"
        if plain not in _addresses:
            key = _key(plain)
            data = read_object(key)
            if data is None:
                data = build_object(plain_text(plain, symbol, len(kinds)), _LEVEL, lean=True)
                write_object(key, data)
            _link({plain: data}, {symbol: _addresses[symbol]})
    return _addresses[plain]


def plain_text(name: str, symbol: str, n: int) -> str:
    """IR of a function of the mathematics library as kernels call it: without an arena, which it does not need."""
    kinds, given = ", ".join(["double"] * n), ", ".join(f"double %x{k}" for k in range(n))
    return (
        f"declare double @{symbol}(ptr, {kinds})\n"
        f"define double @{name}({given}) #1 {{\n"
        f"  %r = call double @{symbol}(ptr null, {given})\n  ret double %r\n}}\n"
    )


# -- calls from Python ------------------------------------------------------------------------------------------------


def entry_text(name: str, symbol: str, kinds: tuple[Type, ...], result: Type) -> str:
    """IR that takes arguments from, and puts results into, slots of 8 bytes."""
    lines, given, at = ["  %arena = load ptr, ptr %io"], ["ptr %arena"], 1
    for part in (part for kind in kinds for part in parts_of(kind)):
        lines.append(f"  %p{at} = getelementptr i8, ptr %io, i64 {8 * at}")
        if part == "i1":
            lines += [f"  %w{at} = load i64, ptr %p{at}", f"  %q{at} = trunc i64 %w{at} to i1"]
        else:
            lines.append(f"  %q{at} = load {part}, ptr %p{at}")
        given.append(f"{part} %q{at}")
        at += 1
    parts = parts_of(result)
    whole = "void" if not parts else parts[0] if len(parts) == 1 else "{" + ", ".join(parts) + "}"
    call = f"call {whole} @{symbol}({', '.join(given)})"
    lines.append(f"  %r = {call}" if parts else f"  {call}")
    for k, part in enumerate(parts):
        value = "%r"
        if len(parts) > 1:
            value = f"%r{k}"
            lines.append(f"  {value} = extractvalue {whole} %r, {k}")
        lines.append(f"  %s{k} = getelementptr i8, ptr %io, i64 {8 * (at + k)}")
        if part == "i1":
            lines += [f"  %z{k} = zext i1 {value} to i64", f"  store i64 %z{k}, ptr %s{k}"]
        else:
            lines.append(f"  store {part} {value}, ptr %s{k}")
    signature = ", ".join(text.split()[0] for text in given)
    body = "\n".join([*lines, "  ret void"])
    return f"declare {whole} @{symbol}({signature})\ndefine void @{name}(ptr %io) #0 {{\n{body}\n}}\n"


def _encode(kind: Type) -> Any:
    """A result type as data."""
    if isinstance(kind, Scalar):
        return kind.name
    if isinstance(kind, Array):
        return {"element": kind.element.name, "rank": kind.rank, "packed": kind.packed}
    if isinstance(kind, Tuple):
        cls = f"{kind.cls.__module__}:{kind.cls.__qualname__}" if kind.cls is not None else ""
        return {"items": [_encode(item) for item in kind.items], "class": cls, "fields": kind.names}
    raise CompileError(
        f"a native function that Python calls cannot return {kind}.  Fix: numbers, arrays, tuples of them"
    )


def _decode(data: Any) -> Any:
    """The type; None if it names a class that cannot be found among the modules that are there."""
    if isinstance(data, str):
        return _SCALARS[data]
    if "rank" in data:
        return Array(_SCALARS[data["element"]], data["rank"], data["packed"])
    cls: Any = None
    if data["class"]:
        module, _, name = data["class"].partition(":")
        cls = sys.modules.get(module)
        for part in name.split("."):
            cls = getattr(cls, part, None)
        if cls is None or list(getattr(cls, "_fields", ())) != data["fields"]:
            return None
    items = [_decode(item) for item in data["items"]]
    return None if None in items else Tuple(tuple(items), cls)
