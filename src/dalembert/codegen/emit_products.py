"""LLVM IR of products of sparse matrices: a pair of loops for each width of a tile, and tables."""

from __future__ import annotations

from dalembert.codegen.products import Products
from dalembert.native.jit import host

__all__ = ["contraction", "emit_products"]


def contraction(width: int) -> str:
    """The flag of arithmetic that may be contracted: only where several states are computed at once."""
    return " contract" if width > 1 else ""


def emit_products(products: Products, symbol: str, width: int, first_slot: int) -> str:
    """Write ``symbol.clear(in, out, work)``, which zeroes tiles, and ``symbol.products(in, out, work)``.

    Args:
        products: what is computed.
        symbol: name of the kernel.
        width: number of states in a vector.
        first_slot: where the memory of the products begins in the work vector, in slots.
    """
    if not products.calls:
        return ""
    numbers: list[int] = []
    calls: list[str] = []
    for k, call in enumerate(products.calls):
        loops, target = (f"{symbol}.outputs", "%out") if call.to_out else (f"{symbol}.tiles", "%w")
        calls += [
            f"  %t{k} = getelementptr inbounds i32, ptr @{symbol}.table, i64 {len(numbers)}",
            f"  call void @{loops}{len(call.columns)}(ptr %t{k}, ptr %w, ptr {target})",
        ]
        numbers += [*(8 * width * column for column in call.columns), *_in_bytes(call.table, 8 * width)]
    table = ", ".join(f"i32 {x}" for x in numbers)
    start = f"  %w = getelementptr inbounds double, ptr %work, i64 {first_slot * width}"
    return "\n".join(
        [
            f"@{symbol}.table = internal constant [{len(numbers)} x i32] [{table}]",
            *(_loops(symbol, *kind, width) for kind in {(call.to_out, len(call.columns)) for call in products.calls}),
            f"define internal void @{symbol}.products(ptr %in, ptr %out, ptr %work) noinline #0 {{",
            start,
            *calls,
            "  ret void",
            "}",
            _clear(symbol, start, products.cleared, width),
        ]
    )


def _in_bytes(table: tuple[int, ...], size: int) -> list[int]:
    """The table with slots as distances in bytes; counts stay what they are."""
    found, at = [table[0]], 1
    for _ in range(table[0]):
        count = table[at + 1]
        terms = table[at + 2 : at + 2 + 2 * count]
        found += [table[at] * size, count, *(slot * size for slot in terms)]
        at += 2 + 2 * count
    return found


def _kind(width: int) -> str:
    return "double" if width == 1 else f"<{width} x double>"


def _clear(symbol: str, start: str, cleared: range, width: int) -> str:
    return f"""
define internal void @{symbol}.clear(ptr %in, ptr %out, ptr %work) noinline #0 {{
entry:
{start}
  br label %head
head:
  %i = phi i64 [ {cleared.start}, %entry ], [ %i1, %body ]
  %more = icmp slt i64 %i, {cleared.stop}
  br i1 %more, label %body, label %done
body:
  %s = mul i64 %i, {width}
  %p = getelementptr inbounds double, ptr %w, i64 %s
  store {_kind(width)} zeroinitializer, ptr %p, align 8
  %i1 = add i64 %i, 1
  br label %head
done:
  ret void
}}"""


def _loops(symbol: str, to_out: bool, columns: int, width: int) -> str:
    """The loops over sums and over terms; the numbers of a tile are written out as vectors.

    Over a batch a vector holds one column of a tile for all states, for one state several columns.
    """
    length = width if width > 1 else host().width
    vectors = [(first, min(length, columns * width - first)) for first in range(0, columns * width, length)]
    kinds = [f"<{count} x double>" for _, count in vectors]
    begin: list[str] = []
    step: list[str] = []
    end: list[str] = []
    flags = contraction(width)
    for k, ((first, count), T) in enumerate(zip(vectors, kinds, strict=True)):
        factor = "%value"
        if width == 1:
            factor = f"%f{k}"
            step += [
                f"  %i{k} = insertelement {T} poison, double %value, i32 0",
                f"  {factor} = shufflevector {T} %i{k}, {T} poison, <{count} x i32> zeroinitializer",
            ]
        begin.append(f"  %a{k} = phi {T} [ zeroinitializer, %sum ], [ %b{k}, %term ]")
        step += [
            f"  %p{k} = getelementptr inbounds double, ptr %tile, i64 {first}",
            f"  %x{k} = load {T}, ptr %p{k}, align 8",
            f"  %m{k} = fmul{flags} {T} {factor}, %x{k}",
            f"  %b{k} = fadd{flags} {T} %a{k}, %m{k}",
        ]
        end.append(f"  %s{k} = phi {T} [ zeroinitializer, %sum ], [ %b{k}, %term ]")
    end += _scattered(columns, width, length) if to_out else _stored(vectors, kinds)
    return "\n".join(
        [
            f"define internal void @{symbol}.{'outputs' if to_out else 'tiles'}{columns}"
            "(ptr %table, ptr %work, ptr %target) noinline #0 {",
            f"entry:\n  %pn = getelementptr inbounds i32, ptr %table, i64 {columns}",
            """  %n = load i32, ptr %pn, align 4
  %first = getelementptr inbounds i32, ptr %pn, i64 1
  br label %sum
sum:
  %left = phi i32 [ %n, %entry ], [ %left1, %store ]
  %t = phi ptr [ %first, %entry ], [ %last, %store ]
  %slot32 = load i32, ptr %t, align 4
  %slot = zext i32 %slot32 to i64
  %row = getelementptr inbounds i8, ptr %target, i64 %slot
  %pc = getelementptr inbounds i32, ptr %t, i64 1
  %count32 = load i32, ptr %pc, align 4
  %count = zext i32 %count32 to i64
  %e0 = getelementptr inbounds i32, ptr %t, i64 2
  %length = shl i64 %count, 1
  %last = getelementptr inbounds i32, ptr %e0, i64 %length
  %any = icmp ne i32 %count32, 0
  br i1 %any, label %term, label %store
term:
  %e = phi ptr [ %e0, %sum ], [ %e1, %term ]""",
            *begin,
            "  %entry32 = load i32, ptr %e, align 4",
            "  %entry64 = zext i32 %entry32 to i64",
            "  %pe = getelementptr inbounds i8, ptr %work, i64 %entry64",
            f"  %value = load {_kind(width)}, ptr %pe, align 8",
            """  %et = getelementptr inbounds i32, ptr %e, i64 1
  %tile32 = load i32, ptr %et, align 4
  %tile64 = zext i32 %tile32 to i64
  %tile = getelementptr inbounds i8, ptr %work, i64 %tile64""",
            *step,
            """  %e1 = getelementptr inbounds i32, ptr %e, i64 2
  %more = icmp ne ptr %e1, %last
  br i1 %more, label %term, label %store
store:""",
            *end,
            """  %left1 = sub i32 %left, 1
  %again = icmp ne i32 %left1, 0
  br i1 %again, label %sum, label %done
done:
  ret void
}""",
        ]
    )


def _stored(vectors: list[tuple[int, int]], kinds: list[str]) -> list[str]:
    """Sums side by side."""
    lines: list[str] = []
    for k, ((first, _), T) in enumerate(zip(vectors, kinds, strict=True)):
        lines += [
            f"  %q{k} = getelementptr inbounds double, ptr %row, i64 {first}",
            f"  store {T} %s{k}, ptr %q{k}, align 8",
        ]
    return lines


def _scattered(columns: int, width: int, length: int) -> list[str]:
    """Sums at the places that the table begins with."""
    lines: list[str] = []
    for k in range(columns):
        value = f"%s{k}"
        if width == 1:
            vector, T = k // length, f"<{min(length, columns - k // length * length)} x double>"
            value = f"%y{k}"
            lines.append(f"  {value} = extractelement {T} %s{vector}, i32 {k % length}")
        lines += [
            f"  %po{k} = getelementptr inbounds i32, ptr %table, i64 {k}",
            f"  %o{k}.32 = load i32, ptr %po{k}, align 4",
            f"  %o{k} = zext i32 %o{k}.32 to i64",
            f"  %q{k} = getelementptr inbounds i8, ptr %row, i64 %o{k}",
            f"  store {_kind(width)} {value}, ptr %q{k}, align 8",
        ]
    return lines
