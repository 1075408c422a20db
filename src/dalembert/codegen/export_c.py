"""A kernel as stand-alone C99: the same instructions, for a micro-controller or another program."""

from __future__ import annotations

import math
from pathlib import Path

from dalembert.atomic import make_folder, write_atomic
from dalembert.codegen.layout import Layout
from dalembert.codegen.plan import Plan, plan_pieces
from dalembert.codegen.products import Products
from dalembert.codegen.tape import LIBM, Tape

__all__ = ["write_c"]

# Instructions per C function; compilers take long over very long functions.
_PIECE = 2000

_FORM = {
    "add": "{x} + {y}",
    "sub": "{x} - {y}",
    "mul": "{x} * {y}",
    "div": "{x} / {y}",
    "neg": "-{x}",
    "sq": "{x} * {x}",
    "twice": "{x} + {x}",
    "inv": "1.0 / {x}",
    "lt": "(double)({x} < {y})",
    "le": "(double)({x} <= {y})",
    "eq": "(double)({x} == {y})",
    "ne": "(double)({x} != {y})",
    "and": "(double)({x} != 0.0 && {y} != 0.0)",
    "or": "(double)({x} != 0.0 || {y} != 0.0)",
    "not": "(double)({x} == 0.0)",
    "if_else_zero": "{x} != 0.0 ? {y} : 0.0",
    "sign": "{x} < 0.0 ? -1.0 : {x} > 0.0 ? 1.0 : {x}",
}
_PARAMETERS = "const double* in, double* out, double* work"


def write_c(name: str, tape: Tape, layout_in: Layout, layout_out: Layout, path: Path) -> tuple[Path, Path]:
    """Write the C file and its header.

    Args:
        name: name of the function.
        tape: the instructions.
        layout_in: names, shapes and offsets of the inputs, for the header.
        layout_out: the same for the outputs.
        path: a directory, or the path of the C file.
    """
    source = path if path.suffix == ".c" else path / f"{name}.c"
    make_folder(source.parent)
    header = source.with_suffix(".h")
    plan = plan_pieces(tape, _PIECE)
    n_work = plan.n_work + tape.products.n_work
    write_atomic(header, _header(name, n_work, layout_in, layout_out))
    pieces = [_piece(f"{name}_{p}", tape, plan, p) for p in range(len(plan.pieces))]
    calls = [f"  {name}_{p}(in, out, work);" for p in range(len(plan.pieces))]
    if tape.products.calls:
        pieces.append(_products(f"{name}_products", tape.products))
        first = plan.n_work + tape.products.cleared.start
        clear = f"  for (int i = 0; i < {len(tape.products.cleared)}; ++i) work[{first} + i] = 0.0;"
        calls = [clear, *calls, f"  {name}_products(out, work + {plan.n_work});"]
    text = [
        "/* Written by dalembert. */",
        "#include <math.h>",
        f'#include "{header.name}"',
        "",
        *_tables(tape),
        *pieces,
        f"void {name}({_PARAMETERS})",
        "{",
        *calls,
        "}",
    ]
    write_atomic(source, "\n".join(text) + "\n")
    return source, header


def _table_name(op: str) -> str:
    return op.replace(" ", "_")


def _tables(tape: Tape) -> list[str]:
    """Rows of numbers that are looked up, and the functions that do."""
    text: list[str] = []
    for op in sorted({op for op in tape.ops if " " in op}):
        kind, _, k = op.partition(" ")
        row, function = tape.tables[int(k)], _table_name(op)
        numbers = [_literal(float(value)) for value in row]
        lines = [", ".join(numbers[i : i + 8]) for i in range(0, len(numbers), 8)]
        text += [f"static const double {function}_row[] = {{", "  " + ",\n  ".join(lines), "};", ""]
        text.append(f"static double {function}(double x)\n{{")
        if kind == "pick":
            text.append(f"  return {function}_row[(long)x];\n}}\n")
            continue
        text += [
            f"  long low = 0, high = {len(row)};",
            "  while (low < high) {",
            "    const long middle = (low + high) / 2;",
            f"    if (x < {function}_row[middle]) high = middle; else low = middle + 1;",
            "  }",
            "  return (double)low;\n}\n",
        ]
    return text


def _header(name: str, n_work: int, layout_in: Layout, layout_out: Layout) -> str:
    guard = f"{name.upper()}_H"
    lines = ["/* Written by dalembert. */", f"#ifndef {guard}", f"#define {guard}", ""]
    for kind, layout in (("in", layout_in), ("out", layout_out)):
        lines.append(f"/* {kind}: elements in row-major order */")
        for f in layout.fields:
            shape = " x ".join(map(str, f.shape)) or "scalar"
            lines.append(f"/*   {kind}[{f.start}], {f.size} elements: {f.name} ({shape}) */")
        lines.append(f"#define {name.upper()}_N_{kind.upper()} {layout.size}")
    lines += [
        f"#define {name.upper()}_N_WORK {n_work}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "/* work: N_WORK doubles of scratch memory; the three arrays must not overlap. */",
        f"void {name}({_PARAMETERS});",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
    ]
    return "\n".join(lines) + "\n"


def _literal(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    if value == int(value) and abs(value) < 1e6 and math.copysign(1.0, value) > 0:
        return repr(value)
    return f"({value.hex()})" if math.copysign(1.0, value) < 0 else value.hex()


def _piece(symbol: str, tape: Tape, plan: Plan, p: int) -> str:
    """One static function with the instructions of piece p."""
    here = plan.pieces[p]

    def operand(v: int) -> str:
        if tape.ops[v] == "const":
            return _literal(tape.constants[tape.a[v]])
        if tape.ops[v] == "input":
            return f"in[{tape.a[v]}]"
        return f"v{v}" if v in here else f"work[{plan.slot[v]}]"

    used = {v for _, v in (*plan.outputs[p], *plan.entries[p])} | set(plan.slot)
    used.update(v for k in here if tape.ops[k] not in ("input", "const") for v in (tape.a[k], tape.b[k]))
    lines = [f"static void {symbol}({_PARAMETERS})", "{"]
    if p == 0 and tape.is_sparse:
        lines.append(f"  for (int i = 0; i < {len(tape.results)}; ++i) out[i] = 0.0;")
    for k in here:
        op = tape.ops[k]
        if op in ("input", "const") or k not in used:
            continue
        x = operand(tape.a[k])
        y = operand(tape.b[k]) if tape.b[k] >= 0 else ""
        if " " in op:
            right = f"{_table_name(op)}({x})"
        elif op in _FORM:
            right = _FORM[op].format(x=x, y=y)
        else:
            right = f"{LIBM.get(op, op)}({x}{', ' + y if y else ''})"
        lines.append(f"  const double v{k} = {right};")
        if k in plan.slot:
            lines.append(f"  work[{plan.slot[k]}] = v{k};")
    lines += [f"  out[{i}] = {operand(v)};" for i, v in plan.outputs[p]]
    lines += [f"  work[{plan.n_work + i}] = {operand(v)};" for i, v in plan.entries[p]]
    lines += ["  (void)in; (void)out; (void)work;", "}", ""]
    return "\n".join(lines)


def _products(symbol: str, products: Products) -> str:
    """The tables, and the loops over calls, sums, terms and columns; a call begins with its number of columns."""
    numbers: list[int] = []
    for call in products.calls:
        numbers += [len(call.columns), int(call.to_out), *call.columns, *call.table]
    rows = [", ".join(map(str, numbers[i : i + 24])) for i in range(0, len(numbers), 24)]
    return "\n".join(
        [
            f"static const int {symbol}_table[] = {{",
            "  " + ",\n  ".join(rows),
            "};",
            "",
            f"static void {symbol}(double* out, double* work)",
            "{",
            f"  const int* t = {symbol}_table;",
            f"  for (int call = 0; call < {len(products.calls)}; ++call) {{",
            "    const int n = t[0];",
            "    double* target = t[1] ? out : work;",
            "    const int* column = t + 2;",
            "    int sums = column[n];",
            "    t = column + n + 1;",
            "    for (; sums > 0; --sums) {",
            "      double* row = target + t[0];",
            "      const int terms = t[1];",
            "      t += 2;",
            "      for (int j = 0; j < n; ++j) {",
            "        double sum = 0.0;",
            "        for (int k = 0; k < terms; ++k) sum += work[t[2 * k]] * work[t[2 * k + 1] + j];",
            "        row[column[j]] = sum;",
            "      }",
            "      t += 2 * terms;",
            "    }",
            "  }",
            "}",
            "",
        ]
    )
