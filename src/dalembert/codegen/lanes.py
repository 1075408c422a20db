"""Moving states between plain arrays and groups of lanes, and running a kernel over them, in machine code.

A plain array holds ``states[state, i]``; a block of groups holds ``block[group, i, lane]`` with
state = group*width + lane. Squares of width × width numbers are transposed in registers: 0.25 ns per number, where
NumPy needs 4 and a loop over single numbers 1.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

from dalembert.codegen.jit import build_object, load_object

__all__ = ["Runner", "runner"]

_RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2, ctypes.c_void_p, *[ctypes.c_int64] * 4)


@dataclass(frozen=True)
class Runner:
    """``run(kernel, inp, out, work, n_in, n_out, fields, packed, all, groups, per_block)`` for one width.

    Block by block: pack the fields that are inputs, call the kernel, unpack those that are outputs.

    kernel: address of the batch version, or for width 1 of the scalar version.
    inp, out, work: addresses of memory for ``per_block`` groups; for width 1 that is one state.
    n_in, n_out: doubles from one group to the next.
    fields: address of triples of 64-bit integers: the address of states, how many numbers one state has in them,
        and where these begin in a group; the first ``packed`` of ``all`` triples are inputs.
    groups: how many full groups there are.

    Attributes:
        run: the function.
        owner: keeps the code alive.
    """

    run: Any
    owner: object


@functools.lru_cache(maxsize=4)
def runner(width: int) -> Runner:
    """The function for groups of ``width`` states."""
    text = "\n".join([_move("pack", width), _move("unpack", width), _loop(width)])
    address, owner = load_object(build_object(text, 1), "run", [])
    return Runner(_RUN(address), owner)


def _loop(width: int) -> str:
    """LLVM IR of the loop over blocks, with a loop over fields before the kernel and another after it."""
    more, count = (", i64", ", i64 %m") if width > 1 else ("", "")

    def fields(move: str, first: str, last: str, block: str, stride: str, before: str, after: str) -> str:
        return f"""
{move}.head:
  %{move}.f = phi i64 [ {first}, %{before} ], [ %{move}.next, %{move}.body ]
  %{move}.more = icmp slt i64 %{move}.f, {last}
  br i1 %{move}.more, label %{move}.body, label %{after}
{move}.body:
  %{move}.at = mul i64 %{move}.f, 3
  %{move}.p0 = getelementptr inbounds i64, ptr %fields, i64 %{move}.at
  %{move}.p1 = getelementptr inbounds i64, ptr %{move}.p0, i64 1
  %{move}.p2 = getelementptr inbounds i64, ptr %{move}.p0, i64 2
  %{move}.all = load ptr, ptr %{move}.p0, align 8
  %{move}.size = load i64, ptr %{move}.p1, align 8
  %{move}.start = load i64, ptr %{move}.p2, align 8
  %{move}.skip = mul i64 %{move}.size, %first
  %{move}.states = getelementptr inbounds double, ptr %{move}.all, i64 %{move}.skip
  %{move}.block = getelementptr inbounds double, ptr {block}, i64 %{move}.start
  call void @{move}(ptr %{move}.states, ptr %{move}.block, i64 %{move}.size, i64 {stride}, i64 %m)
  %{move}.next = add i64 %{move}.f, 1
  br label %{move}.head"""

    return f"""
define void @run(ptr %kernel, ptr %inp, ptr %out, ptr %work, i64 %n_in, i64 %n_out, ptr %fields, i64 %packed,
                 i64 %all, i64 %groups, i64 %per_block) #0 {{
entry:
  br label %head
head:
  %g = phi i64 [ 0, %entry ], [ %g1, %next ]
  %more = icmp slt i64 %g, %groups
  br i1 %more, label %block, label %done
block:
  %left = sub i64 %groups, %g
  %short = icmp slt i64 %left, %per_block
  %m = select i1 %short, i64 %left, i64 %per_block
  %first = mul i64 %g, {width}
  br label %pack.head
{fields("pack", "0", "%packed", "%inp", "%n_in", "block", "call")}
call:
  call void (ptr, ptr, ptr{more}) %kernel(ptr %inp, ptr %out, ptr %work{count})
  br label %unpack.head
{fields("unpack", "%packed", "%all", "%out", "%n_out", "call", "next")}
next:
  %g1 = add i64 %g, %per_block
  br label %head
done:
  ret void
}}"""


def _move(name: str, width: int) -> str:
    """LLVM IR of ``name(states, block, size, stride, groups)`` for one field of full groups.

    Loops over groups and over elements: squares first, then what is left of them with the lanes written out.
    """
    pack = name == "pack"
    lines = [
        f"define internal void @{name}(ptr noalias %states, ptr noalias %block,",
        "                  i64 %size, i64 %stride, i64 %groups) #0 {",
        "entry:",
        f"  %square = and i64 %size, {-width}",
        "  %squares = icmp sgt i64 %square, 0",
        "  %rest = icmp slt i64 %square, %size",
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
        "  br i1 %squares, label %vector, label %scalar",
        "vector:",
        f"  %k = phi i64 [ 0, %group ], [ %k{width}, %vector ]",
        f"  %bk = mul i64 %k, {width}",
        "  %v = getelementptr inbounds double, ptr %b, i64 %bk",
        *_square(width, pack=pack),
        f"  %k{width} = add i64 %k, {width}",
        f"  %onward = icmp slt i64 %k{width}, %square",
        "  br i1 %onward, label %vector, label %scalar",
        "scalar:",
        "  br i1 %rest, label %element, label %last",
        "element:",
        "  %i = phi i64 [ %square, %scalar ], [ %i1, %element ]",
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


def _square(width: int, *, pack: bool) -> list[str]:
    """Load width vectors, transpose them as a matrix, and store width vectors.

    Step s exchanges the upper right and the lower left quarter of every square of 2 s rows.
    """
    T, lines = f"<{width} x double>", []
    for i in range(width):
        lines += [
            f"  %vs.{i} = getelementptr inbounds double, ptr %s.{i}, i64 %k",
            f"  %vb.{i} = getelementptr inbounds double, ptr %v, i64 {i * width}",
            f"  %x0.{i} = load {T}, ptr %v{'s' if pack else 'b'}.{i}, align 8",
        ]
    step, stage = 1, 0
    while step < width:
        for i in range(width):
            upper, lower = i & ~step, i | step
            # Element t of row i: from the same row, or from the partner's other quarter.
            pick = [t if (t & step) == 0 else width + t - step for t in range(width)]
            if i == lower:
                pick = [t + step if (t & step) == 0 else width + t for t in range(width)]
            mask = ", ".join(f"i32 {t}" for t in pick)
            rows = f"{T} %x{stage}.{upper}, {T} %x{stage}.{lower}"
            lines.append(f"  %x{stage + 1}.{i} = shufflevector {rows}, <{width} x i32> <{mask}>")
        step, stage = 2 * step, stage + 1
    target = "b" if pack else "s"
    return lines + [f"  store {T} %x{stage}.{i}, ptr %v{target}.{i}, align 8" for i in range(width)]
