"""Moving states between plain arrays and groups of lanes, and running a kernel over them, in machine code.

A plain array holds ``states[state, i]``; a block of groups holds ``block[group, i, lane]`` with
state = group*width + lane. Squares of width × width numbers are transposed in registers: 0.25 ns per number, where
NumPy needs 4 and a loop over single numbers 1.

Large results go past the caches, which otherwise lose the code and the work memory of the kernel to them: derivatives
of 30 joints take 5.8 µs per state instead of 6.8. Such stores must begin at multiples of a vector, so lanes whose
states begin in between (matrices with an odd number of rows) run a few elements ahead of the others.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.native.cache import read_object, write_object
from dalembert.native.jit import build_object, host, load_object

__all__ = ["Runner", "runner", "streamed_rests"]

_RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2, ctypes.c_void_p, *[ctypes.c_int64] * 4)


@dataclass(frozen=True)
class Runner:
    """``run(kernel, inp, out, work, n_in, n_out, fields, packed, all, groups, per_block)`` for one width.

    Block by block: pack the fields that are inputs, call the kernel, unpack those that are outputs.

    kernel: address of the batch version, or for width 1 of the scalar version.
    inp, out, work: addresses of memory for ``per_block`` groups; for width 1 that is one state.
    n_in, n_out: doubles from one group to the next.
    fields: address of rows of four 64-bit integers: the address of states, how many numbers one state has in them,
        where these begin in a group, and the length of a state modulo a vector if they are results that begin at a
        multiple of a vector and are to go past the caches (one of ``streamed_rests``), otherwise −1; the first
        ``packed`` of ``all`` rows are inputs.
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
    moves = [_move("pack", width), _move("unpack", width)]
    for rest in streamed_rests(width):
        moves.append(_move(f"stream{rest}", width, [-lane * rest % width for lane in range(width)]))
    text = "\n".join([*moves, _loop(width), "!1 = !{i32 1}"])
    key = hashlib.sha256(f"{text}|{host().key()}".encode()).hexdigest()
    data = read_object(key)
    if data is None:
        data = build_object(text, 1)
        write_object(key, data)
    address, owner = load_object(data, "run", {})
    return Runner(_RUN(address), owner)


def streamed_rests(width: int) -> list[int]:
    """Lengths of states, modulo a vector, that can go past the caches: those of square matrices."""
    return sorted({n * n % width for n in range(width)}) if width > 1 else []


def _loop(width: int) -> str:
    """LLVM IR of the loop over blocks, with a loop over fields before the kernel and another after it."""
    more, count = (", i64", ", i64 %m") if width > 1 else ("", "")

    def fields(move: str, first: str, last: str, block: str, stride: str, before: str, after: str) -> str:
        streams = streamed_rests(width) if move == "unpack" else []
        cases = " ".join(f"i64 {rest}, label %stream{rest}" for rest in streams)
        arguments = f"ptr %{move}.states, ptr %{move}.block, i64 %{move}.size, i64 {stride}, i64 %m"
        past = "\n".join(
            f"stream{rest}:\n  call void @stream{rest}({arguments})\n  br label %{move}.end" for rest in streams
        )
        return f"""
{move}.head:
  %{move}.f = phi i64 [ {first}, %{before} ], [ %{move}.next, %{move}.end ]
  %{move}.more = icmp slt i64 %{move}.f, {last}
  br i1 %{move}.more, label %{move}.body, label %{after}
{move}.body:
  %{move}.at = shl i64 %{move}.f, 2
  %{move}.p0 = getelementptr inbounds i64, ptr %fields, i64 %{move}.at
  %{move}.p1 = getelementptr inbounds i64, ptr %{move}.p0, i64 1
  %{move}.p2 = getelementptr inbounds i64, ptr %{move}.p0, i64 2
  %{move}.p3 = getelementptr inbounds i64, ptr %{move}.p0, i64 3
  %{move}.all = load ptr, ptr %{move}.p0, align 8
  %{move}.size = load i64, ptr %{move}.p1, align 8
  %{move}.start = load i64, ptr %{move}.p2, align 8
  %{move}.skip = mul i64 %{move}.size, %first
  %{move}.states = getelementptr inbounds double, ptr %{move}.all, i64 %{move}.skip
  %{move}.block = getelementptr inbounds double, ptr {block}, i64 %{move}.start
  %{move}.rest = load i64, ptr %{move}.p3, align 8
  switch i64 %{move}.rest, label %{move}.plain [ {cases} ]
{move}.plain:
  call void @{move}({arguments})
  br label %{move}.end
{past}
{move}.end:
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
  fence seq_cst
  ret void
}}"""


def _move(name: str, width: int, shifts: Sequence[int] | None = None) -> str:
    """LLVM IR of ``name(states, block, size, stride, groups)`` for one field of full groups.

    Loops over groups and over elements: squares first, then what is left of them with the lanes written out.

    Args:
        name: ``pack`` goes from states to block, any other back.
        width: number of lanes.
        shifts: for each lane the elements before the first that is at a multiple of a vector; from there on results go
            past the caches. None: no multiples are known, and results stay in the caches.
    """
    pack, reach = name == "pack", max(shifts or [0])
    lines = [
        f"define internal void @{name}(ptr noalias %states, ptr noalias %block,",
        "                  i64 %size, i64 %stride, i64 %groups) #0 {",
        "entry:",
        f"  %usable = sub i64 %size, {reach}",
        f"  %square = and i64 %usable, {-width}",
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
    for i in range(reach):
        lines += _lanes(f"head{i}", width, str(i), str(i * width), pack=pack)
    lines += [
        "  br i1 %squares, label %vector, label %scalar",
        "vector:",
        "  %k = phi i64 [ 0, %group ], [ %k1, %vector ]",
        f"  %bk = mul i64 %k, {width}",
        "  %v = getelementptr inbounds double, ptr %b, i64 %bk",
        *_square(width, shifts, pack=pack),
        f"  %k1 = add i64 %k, {width}",
        "  %onward = icmp slt i64 %k1, %square",
        "  br i1 %onward, label %vector, label %scalar",
        "scalar:",
        "  br i1 %rest, label %element, label %last",
        "element:",
        "  %i = phi i64 [ %square, %scalar ], [ %i1, %element ]",
        f"  %bi = mul i64 %i, {width}",
        *_lanes("tail", width, "%i", "%bi", pack=pack),
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


def _lanes(label: str, width: int, element: str, at: str, *, pack: bool) -> list[str]:
    """Move one element of all lanes; ``at`` is its place in the block."""
    lines = [f"  %{label} = getelementptr inbounds double, ptr %b, i64 {at}"]
    for lane in range(width):
        state, group = f"%{label}.s.{lane}", f"%{label}.b.{lane}"
        source, target = (state, group) if pack else (group, state)
        lines += [
            f"  {state} = getelementptr inbounds double, ptr %s.{lane}, i64 {element}",
            f"  {group} = getelementptr inbounds double, ptr %{label}, i64 {lane}",
            f"  %{label}.x.{lane} = load double, ptr {source}, align 8",
            f"  store double %{label}.x.{lane}, ptr {target}, align 8",
        ]
    return lines


def _square(width: int, shifts: Sequence[int] | None, *, pack: bool) -> list[str]:
    """Load vectors, transpose them as a square matrix, and store width vectors.

    Lanes that begin later take their numbers from later vectors. Then step s exchanges the upper right and the lower
    left quarter of every square of 2 s rows.
    """
    T = f"<{width} x double>"
    lines: list[str] = []
    for i in range(width):
        shift = shifts[i] if shifts else 0
        lines += [
            f"  %ks.{i} = add i64 %k, {shift}",
            f"  %vs.{i} = getelementptr inbounds double, ptr %s.{i}, i64 %ks.{i}",
        ]
    for i in range(width + max(shifts or [0])):
        source = f"%vs.{i}" if pack else f"%vb.{i}"
        lines += [
            f"  %vb.{i} = getelementptr inbounds double, ptr %v, i64 {i * width}",
            f"  %load.{i} = load {T}, ptr {source}, align 8",
        ]
    rows = [f"%load.{i}" for i in range(width)]
    for lane, shift in enumerate(shifts or []):
        if shift:
            mask = ", ".join(f"i32 {width + t if t == lane else t}" for t in range(width))
            for i, row in enumerate(rows):
                rows[i] = f"%skew.{lane}.{i}"
                pair = f"{T} {row}, {T} %load.{i + shift}"
                lines.append(f"  {rows[i]} = shufflevector {pair}, <{width} x i32> <{mask}>")
    step = 1
    while step < width:
        before, rows = rows, [f"%step{step}.{i}" for i in range(width)]
        for i in range(width):
            # Element t of row i: from the same row, or from the partner's other quarter.
            upper, lower = before[i & ~step], before[i | step]
            pick = [t if (t & step) == 0 else width + t - step for t in range(width)]
            if i & step:
                pick = [t + step if (t & step) == 0 else width + t for t in range(width)]
            mask = ", ".join(f"i32 {t}" for t in pick)
            lines.append(f"  {rows[i]} = shufflevector {T} {upper}, {T} {lower}, <{width} x i32> <{mask}>")
        step *= 2
    target = "%vb" if pack else "%vs"
    how = "align 8" if shifts is None else f"align {8 * width}, !nontemporal !1"
    return lines + [f"  store {T} {row}, ptr {target}.{i}, {how}" for i, row in enumerate(rows)]
