"""LLVM IR of products of sparse matrices: one pair of loops for each width of a tile, and tables."""

from __future__ import annotations

from dalembert.codegen.jit import host
from dalembert.codegen.products import Products

__all__ = ["emit_products"]


def emit_products(products: Products, symbol: str, width: int, first_slot: int) -> str:
    """Write ``symbol.clear(work)``, which zeroes tiles, and ``symbol.products(in, out, work)``.

    Args:
        products: what is computed.
        symbol: name of the kernel.
        width: number of states in a vector.
        first_slot: where the memory of the products begins in the work vector, in slots.
    """
    if not products.calls:
        return ""
    numbers: list[int] = []
    calls = []
    for k, call in enumerate(products.calls):
        calls += [
            f"  %t{k} = getelementptr inbounds i32, ptr @{symbol}.table, i64 {len(numbers)}",
            f"  call void @{symbol}.tiles{call.columns}(ptr %t{k}, ptr %w, ptr {'%out' if call.to_out else '%w'})",
        ]
        numbers += _in_bytes(call.table, 8 * width)
    table = ", ".join(f"i32 {x}" for x in numbers)
    start = f"  %w = getelementptr inbounds double, ptr %work, i64 {first_slot * width}"
    return "\n".join(
        [
            f"@{symbol}.table = internal constant [{len(numbers)} x i32] [{table}]",
            *(_tiles(f"{symbol}.tiles{columns}", columns, width) for columns in {c.columns for c in products.calls}),
            f"define internal void @{symbol}.products(ptr %in, ptr %out, ptr %work) noinline #0 {{",
            start,
            *calls,
            "  ret void",
            "}",
            _clear(symbol, start, products.cleared, width),
        ]
    )


def _in_bytes(table: tuple[int, ...], size: int) -> list[int]:
    """The table with the distances of slots in bytes; counts stay what they are."""
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


def _tiles(symbol: str, columns: int, width: int) -> str:
    """The loops over sums and over terms; the numbers of a tile are written out as vectors.

    Over a batch a vector holds one column of a tile for all states, for one state several columns.
    """
    lanes = width if width > 1 else host().width
    parts = [(first, min(lanes, columns * width - first)) for first in range(0, columns * width, lanes)]
    kinds = [f"<{length} x double>" for _, length in parts]
    zeros, terms, stores = [], [], []
    for k, ((first, length), T) in enumerate(zip(parts, kinds, strict=True)):
        zeros.append(f"  %a{k} = phi {T} [ zeroinitializer, %sum ], [ %b{k}, %term ]")
        factor = "%value"
        if width == 1:
            factor = f"%f{k}"
            terms += [
                f"  %i{k} = insertelement {T} poison, double %value, i32 0",
                f"  {factor} = shufflevector {T} %i{k}, {T} poison, <{length} x i32> zeroinitializer",
            ]
        terms += [
            f"  %p{k} = getelementptr inbounds double, ptr %tile, i64 {first}",
            f"  %x{k} = load {T}, ptr %p{k}, align 8",
            f"  %m{k} = fmul contract {T} {factor}, %x{k}",
            f"  %b{k} = fadd contract {T} %a{k}, %m{k}",
        ]
        stores += [
            f"  %s{k} = phi {T} [ zeroinitializer, %sum ], [ %b{k}, %term ]",
        ]
    ends = []
    for k, ((first, _), T) in enumerate(zip(parts, kinds, strict=True)):
        ends += [
            f"  %q{k} = getelementptr inbounds double, ptr %row, i64 {first}",
            f"  store {T} %s{k}, ptr %q{k}, align 8",
        ]
    newline = "\n"
    return f"""
define internal void @{symbol}(ptr %table, ptr %work, ptr %target) noinline #0 {{
entry:
  %n = load i32, ptr %table, align 4
  %first = getelementptr inbounds i32, ptr %table, i64 1
  br label %sum
sum:
  %left = phi i32 [ %n, %entry ], [ %left1, %store ]
  %t = phi ptr [ %first, %entry ], [ %last, %store ]
  %offset32 = load i32, ptr %t, align 4
  %offset = zext i32 %offset32 to i64
  %row = getelementptr inbounds i8, ptr %target, i64 %offset
  %tc = getelementptr inbounds i32, ptr %t, i64 1
  %count32 = load i32, ptr %tc, align 4
  %count = zext i32 %count32 to i64
  %e0 = getelementptr inbounds i32, ptr %t, i64 2
  %length = shl i64 %count, 1
  %last = getelementptr inbounds i32, ptr %e0, i64 %length
  %any = icmp ne i32 %count32, 0
  br i1 %any, label %term, label %store
term:
  %e = phi ptr [ %e0, %sum ], [ %e1, %term ]
{newline.join(zeros)}
  %entry32 = load i32, ptr %e, align 4
  %entry64 = zext i32 %entry32 to i64
  %pe = getelementptr inbounds i8, ptr %work, i64 %entry64
  %value = load {_kind(width)}, ptr %pe, align 8
  %et = getelementptr inbounds i32, ptr %e, i64 1
  %tile32 = load i32, ptr %et, align 4
  %tile64 = zext i32 %tile32 to i64
  %tile = getelementptr inbounds i8, ptr %work, i64 %tile64
{newline.join(terms)}
  %e1 = getelementptr inbounds i32, ptr %e, i64 2
  %more = icmp ne ptr %e1, %last
  br i1 %more, label %term, label %store
store:
{newline.join(stores)}
{newline.join(ends)}
  %left1 = sub i32 %left, 1
  %again = icmp ne i32 %left1, 0
  br i1 %again, label %sum, label %done
done:
  ret void
}}"""
