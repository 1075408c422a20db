"""LLVM IR from a tape: the text of a scalar kernel, or of one whose scalar is a vector of states."""

from __future__ import annotations

import struct
from array import array

from dalembert.codegen.emit_products import contraction, emit_products
from dalembert.codegen.helpers import helper_text, table_text
from dalembert.codegen.plan import Plan
from dalembert.codegen.tape import BINARY, LIBM, Tape

__all__ = ["emit_module", "operation_text"]

# Nothing that assumes finite or reorderable numbers. One state at a time every operation is rounded by itself, so that
# all targets give the same bits; in batches a*b + c may be contracted into one rounding.
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_INTRINSIC = {
    "sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "copysign": "copysign", "fmin": "minnum",
    "fmax": "maxnum",
}  # fmt: skip

# Up to this many evaluations of sin, cos are expanded in place; beyond, the code would grow too much.
_INLINE_SINCOS = 100


def emit_module(tape: Tape, plan: Plan, symbol: str, width: int, *, batch: bool) -> str:
    """Write the IR of a kernel.

    Args:
        tape: the instructions.
        plan: how they are cut into functions.
        symbol: name of the function: ``void symbol(const double* in, double* out, double* work)``, or with
            a fourth argument ``int64 n_groups`` if ``batch``.
        width: number of states in a vector.
        batch: loop over groups of ``width`` states instead of one state.
    """
    emitter = _Emitter(tape, plan, width, inline_sincos=_sincos_count(tape) <= _INLINE_SINCOS)
    pieces = [emitter.piece(p, f"{symbol}.{p}") for p in range(len(plan.pieces))]
    driver = _batch_driver if batch else _single_driver
    main = driver(symbol, tape, plan, width)
    table = emitter.table(symbol)
    loops = emit_products(tape.products, symbol, width, plan.n_work)
    helpers = helper_text(emitter.used, width, inline_sincos=emitter.inline_sincos)
    return "\n".join([table, *pieces, loops, main, table_text(emitter.used, tape.tables), helpers])


def operation_text(op: str, used: set[str]) -> str:
    """One operation of the tape as a function ``op.name`` of two numbers, for one state; ``used`` gathers helpers."""
    operands = Tape(2, ["input", "input", op], array("q", [0, 1, 0]), array("q", [-1, -1, 1]), array("d"), array("q"))
    emitter = _Emitter(operands, Plan([], {}, 0, [], []), 1, inline_sincos=False)
    emitter.name = {0: "%x", 1: "%y"}
    emitter.instruction(2, op, 0, 1 if op in BINARY else -1)
    used |= emitter.used
    head = f"define internal double @op.{op}(double %x, double %y) alwaysinline #0 {{"
    return "\n".join([head, *emitter.lines, "  ret double %v2", "}"])


def _sincos_count(tape: Tape) -> int:
    return len({tape.a[k] for k, op in enumerate(tape.ops) if op in ("sin", "cos")})


_MANY_CONSTANTS = 16  # outputs; more are copied from a table: the compiler tries to merge every store with every other
_ARGS = "ptr noalias readonly %in, ptr noalias %out, ptr noalias %work"
_POINTERS = "ptr %in, ptr %out, ptr %work"


def _parts(symbol: str, tape: Tape, plan: Plan) -> list[str]:
    """The functions of a kernel in the order in which they run."""
    return [f"{symbol}.{p}" for p in range(len(plan.pieces))] + [f"{symbol}.products"] * bool(tape.products.calls)


def _single_driver(symbol: str, tape: Tape, plan: Plan, width: int) -> str:
    parts = [f"{symbol}.clear"] * bool(tape.products.calls) + _parts(symbol, tape, plan)
    calls = [f"  call void @{part}({_POINTERS})" for part in parts]
    return "\n".join([f"define void @{symbol}({_ARGS}) #0 {{", *calls, "  ret void", "}"])


def _batch_driver(symbol: str, tape: Tape, plan: Plan, width: int) -> str:
    """The loop over groups; group g begins at in[g n_in width] and out[g n_out width]."""
    # Zeros between the entries of products stay zero from group to group.
    clear = [f"  call void @{symbol}.clear({_POINTERS})"] * bool(tape.products.calls)
    return "\n".join(
        [
            f"define void @{symbol}({_ARGS}, i64 %n) #0 {{",
            "entry:",
            *clear,
            "  %any = icmp sgt i64 %n, 0",
            "  br i1 %any, label %body, label %done",
            "body:",
            "  %g = phi i64 [ 0, %entry ], [ %next, %body ]",
            f"  %gi = mul i64 %g, {tape.n_in * width}",
            f"  %go = mul i64 %g, {tape.n_out * width}",
            "  %i = getelementptr inbounds double, ptr %in, i64 %gi",
            "  %o = getelementptr inbounds double, ptr %out, i64 %go",
            *(f"  call void @{part}(ptr %i, ptr %o, ptr %work)" for part in _parts(symbol, tape, plan)),
            "  %next = add i64 %g, 1",
            "  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %body, label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )


class _Emitter:
    """Writes the pieces; ``name[v]`` is the text of value v in the piece being written."""

    def __init__(self, tape: Tape, plan: Plan, width: int, *, inline_sincos: bool):
        self.tape = tape
        self.plan = plan
        self.width = width
        self.inline_sincos = inline_sincos
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.bool = "i1" if width == 1 else f"<{width} x i1>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.flags = contraction(width)
        self.used: set[str] = set()
        self.literals = [self._literal(value) for value in tape.constants]
        self.zero = self._literal(0.0)
        self.one = self._literal(1.0)
        self.copied = self._constants()
        self.name: dict[int, str] = {}
        self.truth: dict[int, str] = {}
        self.lines: list[str] = []
        self.stop = 0

    def _literal(self, value: float) -> str:
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        scalar = f"0x{bits:016X}"
        if self.width == 1:
            return scalar
        return "<" + ", ".join([f"double {scalar}"] * self.width) + ">"

    def piece(self, p: int, symbol: str) -> str:
        """One function with the instructions of piece p."""
        self.name, self.truth = {}, {}
        self.stop = self.plan.pieces[p].stop
        # A single piece belongs into its caller; several must stay apart, or cutting was in vain.
        kind = "alwaysinline" if len(self.plan.pieces) == 1 else "noinline"
        self.lines = [f"define internal void @{symbol}({_ARGS}) {kind} #0 {{"]
        ops, a, b = self.tape.ops, self.tape.a, self.tape.b
        if p == 0 and (self.tape.is_sparse or self.copied):
            self._fill(symbol.rpartition(".")[0])
        for k in self.plan.pieces[p]:
            op = ops[k]
            if op != "input" and op != "const" and k not in self.name:
                self.instruction(k, op, a[k], b[k])
                if k in self.plan.slot:
                    self._store("work", self.plan.slot[k], self.name[k])
                if k + 1 in self.name and k + 1 in self.plan.slot:
                    self._store("work", self.plan.slot[k + 1], self.name[k + 1])
        for i, v in self.plan.outputs[p]:
            if i not in self.copied:
                self._store("out", i, self._operand(v))
        for i, v in self.plan.entries[p]:
            self._store("work", self.plan.n_work + i, self._operand(v))
        self.lines += ["  ret void", "}"]
        return "\n".join(self.lines)

    def _constants(self) -> dict[int, float]:
        """Stored outputs that are constants, if there are many."""
        tape = self.tape
        found = {i: tape.constants[tape.a[v]] for i, v in tape.stored if tape.ops[v] == "const"}
        return found if len(found) >= _MANY_CONSTANTS else {}

    def table(self, symbol: str) -> str:
        """Where the constants among the outputs go, and their values."""
        if not self.copied:
            return ""
        n = len(self.copied)
        places = ", ".join(f"i64 {i * self.width}" for i in self.copied)
        bits = (struct.unpack("<Q", struct.pack("<d", value))[0] for value in self.copied.values())
        values = ", ".join(f"double 0x{value:016X}" for value in bits)
        return (
            f"@{symbol}.places = internal constant [{n} x i64] [{places}]\n"
            f"@{symbol}.constants = internal constant [{n} x double] [{values}]"
        )

    def _fill(self, symbol: str) -> None:
        """Loops that zero all outputs and copy constants into them; the pieces then store the others."""
        self.lines += ["entry:", f"  br label %{'clear' if self.tape.is_sparse else 'copy'}"]
        before = "entry"
        if self.tape.is_sparse:
            before = "clear"
            self.lines += [
                "clear:",
                "  %zi = phi i64 [0, %entry], [%zn, %clear]",
                f"  %zo = mul i64 %zi, {self.width}",
                "  %zp = getelementptr inbounds double, ptr %out, i64 %zo",
                f"  store {self.type} {self.zero}, ptr %zp, align 8",
                "  %zn = add i64 %zi, 1",
                f"  %zc = icmp eq i64 %zn, {len(self.tape.results)}",
                f"  br i1 %zc, label %{'copy' if self.copied else 'body'}, label %clear",
            ]
        if self.copied:
            spread, name = self._spread("%kv")
            self.lines += [
                "copy:",
                f"  %ki = phi i64 [0, %{before}], [%kn, %copy]",
                f"  %ka = getelementptr inbounds i64, ptr @{symbol}.places, i64 %ki",
                "  %kp = load i64, ptr %ka, align 8",
                f"  %kb = getelementptr inbounds double, ptr @{symbol}.constants, i64 %ki",
                "  %kv = load double, ptr %kb, align 8",
                *spread,
                "  %ko = getelementptr inbounds double, ptr %out, i64 %kp",
                f"  store {self.type} {name}, ptr %ko, align 8",
                "  %kn = add i64 %ki, 1",
                f"  %kc = icmp eq i64 %kn, {len(self.copied)}",
                "  br i1 %kc, label %body, label %copy",
            ]
        self.lines.append("body:")

    def _spread(self, value: str) -> tuple[list[str], str]:
        """Lines that put a number into all lanes, and its name then."""
        if self.width == 1:
            return [], value
        T = self.type
        lines = [
            f"  %kf = insertelement {T} poison, double {value}, i32 0",
            f"  %kw = shufflevector {T} %kf, {T} poison, <{self.width} x i32> zeroinitializer",
        ]
        return lines, "%kw"

    def _operand(self, v: int) -> str:
        """Text of value v: a register, a literal, or a load from the inputs or the work vector."""
        text = self.name.get(v)
        if text is None:
            op = self.tape.ops[v]
            if op == "const":
                text = self.literals[self.tape.a[v]]
            elif op == "input":
                text = self._load("in", self.tape.a[v], v)
            else:
                text = self._load("work", self.plan.slot[v], v)
            self.name[v] = text
        return text

    def _load(self, base: str, index: int, v: int) -> str:
        offset = index * self.width
        self.lines.append(f"  %p{v} = getelementptr inbounds double, ptr %{base}, i64 {offset}")
        self.lines.append(f"  %v{v} = load {self.type}, ptr %p{v}, align 8")
        return f"%v{v}"

    def _store(self, base: str, index: int, text: str) -> None:
        pointer = f"%s{base}{index}.{len(self.lines)}"
        self.lines.append(f"  {pointer} = getelementptr inbounds double, ptr %{base}, i64 {index * self.width}")
        self.lines.append(f"  store {self.type} {text}, ptr {pointer}, align 8")

    def _truth(self, v: int) -> str:
        """Value v as a condition: true unless zero (NaN is true, as in C)."""
        text = self.truth.get(v)
        if text is None:
            operand = self._operand(v)
            text = self.truth[v] = f"%t{v}"
            self.lines.append(f"  {text} = fcmp une {self.type} {operand}, {self.zero}")
        return text

    def _set_truth(self, k: int, expression: str) -> None:
        """Define value k as 1 or 0 from a condition, and remember the condition."""
        self.truth[k] = f"%c{k}"
        self.lines.append(f"  %c{k} = {expression}")
        self.lines.append(f"  %v{k} = uitofp {self.bool} %c{k} to {self.type}")

    def instruction(self, k: int, op: str, a: int, b: int) -> None:
        """Write instruction k."""
        T, out = self.type, f"%v{k}"
        if op in _ARITHMETIC:
            x, y = self._operand(a), self._operand(b)
            self.lines.append(f"  {out} = {_ARITHMETIC[op]}{self.flags} {T} {x}, {y}")
        elif op == "div":
            self.lines.append(f"  {out} = fdiv {T} {self._operand(a)}, {self._operand(b)}")
        elif op == "sq":
            x = self._operand(a)
            self.lines.append(f"  {out} = fmul{self.flags} {T} {x}, {x}")
        elif op == "neg":
            self.lines.append(f"  {out} = fneg {T} {self._operand(a)}")
        elif op == "twice":
            x = self._operand(a)
            self.lines.append(f"  {out} = fadd{self.flags} {T} {x}, {x}")
        elif op == "inv":
            self.lines.append(f"  {out} = fdiv {T} {self.one}, {self._operand(a)}")
        elif op in ("sin", "cos"):
            self._sine_or_cosine(k, op, a)
        elif op in _COMPARE:
            x, y = self._operand(a), self._operand(b)
            self._set_truth(k, f"fcmp {_COMPARE[op]} {T} {x}, {y}")
        elif op in ("and", "or"):
            x, y = self._truth(a), self._truth(b)
            self._set_truth(k, f"{op} {self.bool} {x}, {y}")
        elif op == "not":
            self._set_truth(k, f"fcmp oeq {T} {self._operand(a)}, {self.zero}")
        elif op == "if_else_zero":
            condition, x = self._truth(a), self._operand(b)
            self.lines.append(f"  {out} = select {self.bool} {condition}, {T} {x}, {T} {self.zero}")
        elif op == "sign":
            self._sign(k, a)
        else:
            self._call(k, op, a, b)
        self.name[k] = out

    def _sign(self, k: int, a: int) -> None:
        """-1, 1, or x itself if x is ±0 or NaN."""
        T, B, x = self.type, self.bool, self._operand(a)
        self.lines.append(f"  %n{k} = fcmp olt {T} {x}, {self.zero}")
        self.lines.append(f"  %g{k} = fcmp ogt {T} {x}, {self.zero}")
        self.lines.append(f"  %u{k} = select {B} %g{k}, {T} {self.one}, {T} {x}")
        self.lines.append(f"  %v{k} = select {B} %n{k}, {T} {self._literal(-1.0)}, {T} %u{k}")

    def _call(self, k: int, op: str, a: int, b: int) -> None:
        T = self.type
        arguments = f"{T} {self._operand(a)}" + (f", {T} {self._operand(b)}" if b >= 0 else "")
        if op in _INTRINSIC:
            function = f"llvm.{_INTRINSIC[op]}.{self.suffix}"
            self.used.add(f"{function}/{1 + (b >= 0)}")
        else:
            name = LIBM.get(op, op).replace(" ", ".")
            function = f"h.{name}"
            self.used.add(name)
        self.lines.append(f"  %v{k} = call {T} @{function}({arguments})")

    def _sine_or_cosine(self, k: int, op: str, a: int) -> None:
        T, x = self.type, self._operand(a)
        tape = self.tape
        other = "cos" if op == "sin" else "sin"
        if k + 1 < self.stop and tape.ops[k + 1] == other and tape.a[k + 1] == a:
            # One argument reduction serves sin and cos of the same angle.
            self.used.add("sincos")
            sine, cosine = (k, k + 1) if op == "sin" else (k + 1, k)
            self.lines.append(f"  %sc{k} = call {{{T}, {T}}} @h.sincos({T} {x})")
            self.lines.append(f"  %v{sine} = extractvalue {{{T}, {T}}} %sc{k}, 0")
            self.lines.append(f"  %v{cosine} = extractvalue {{{T}, {T}}} %sc{k}, 1")
            self.name[k + 1] = f"%v{k + 1}"
        else:
            self.used.add(op)
            self.lines.append(f"  %v{k} = call {T} @h.{op}({T} {x})")
