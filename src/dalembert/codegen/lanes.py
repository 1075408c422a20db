"""Moving states between plain arrays and groups of lanes, in machine code.

A plain array holds ``states[state, i]``; a block of groups holds ``block[group, i, lane]`` with
state = group*width + lane. NumPy needs about 4 ns per number for this transposition, compiled code
less than 1 ns.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

from dalembert.codegen.jit import build_object, load_object

__all__ = ["Mover", "mover"]

_MOVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True)
class Mover:
    """Two functions (states, block, size, stride, groups), for full groups of one width.

    ``states`` is the address of the first of ``groups*width`` rows of ``size`` numbers, ``block`` that of the
    field in the first group, ``stride`` the number of doubles from one group to the next; ``size`` and
    ``groups`` are at least 1.

    Attributes:
        pack: states to block.
        unpack: block to states.
        owner: keeps the code alive.
    """

    pack: Any
    unpack: Any
    owner: object


@functools.lru_cache(maxsize=4)
def mover(width: int) -> Mover:
    """The functions for groups of ``width`` states."""
    pack, pack_owner = load_object(build_object(_text(width, pack=True), 1), "move", [])
    unpack, unpack_owner = load_object(build_object(_text(width, pack=False), 1), "move", [])
    return Mover(_MOVE(pack), _MOVE(unpack), (pack_owner, unpack_owner))


def _text(width: int, *, pack: bool) -> str:
    """LLVM IR of two nested loops over groups and elements, with the lanes written out."""
    lines = [
        "define void @move(ptr noalias %states, ptr noalias %block,",
        "                  i64 %size, i64 %stride, i64 %groups) #0 {",
        "entry:",
        "  br label %group",
        "group:",
        "  %g = phi i64 [ 0, %entry ], [ %g1, %last ]",
        f"  %row0 = mul i64 %g, {width}",
        "  %bg = mul i64 %g, %stride",
        "  %b = getelementptr inbounds double, ptr %block, i64 %bg",
    ]
    for lane in range(width):
        lines += [
            f"  %row.{lane} = add i64 %row0, {lane}",
            f"  %start.{lane} = mul i64 %row.{lane}, %size",
            f"  %s.{lane} = getelementptr inbounds double, ptr %states, i64 %start.{lane}",
        ]
    lines += [
        "  br label %element",
        "element:",
        "  %i = phi i64 [ 0, %group ], [ %i1, %element ]",
        f"  %bi = mul i64 %i, {width}",
        "  %e = getelementptr inbounds double, ptr %b, i64 %bi",
    ]
    for lane in range(width):
        source, target = (f"%p.{lane}", f"%q.{lane}") if pack else (f"%q.{lane}", f"%p.{lane}")
        lines += [
            f"  %p.{lane} = getelementptr inbounds double, ptr %s.{lane}, i64 %i",
            f"  %q.{lane} = getelementptr inbounds double, ptr %e, i64 {lane}",
            f"  %x.{lane} = load double, ptr {source}, align 8",
            f"  store double %x.{lane}, ptr {target}, align 8",
        ]
    lines += [
        "  %i1 = add i64 %i, 1",
        "  %more = icmp slt i64 %i1, %size",
        "  br i1 %more, label %element, label %last",
        "last:",
        "  %g1 = add i64 %g, 1",
        "  %again = icmp slt i64 %g1, %groups",
        "  br i1 %again, label %group, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
