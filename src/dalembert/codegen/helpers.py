"""Functions that kernels call, in LLVM IR: those of the mathematics library (``native.mathematics``) lane by lane, and
sine and cosine in lanes.

sin and cos follow the classical scheme. With k = round(x 2/π) and r = x - k π/2, |r| ≤ π/4,

    sin r = r + r z S(z),    cos r = 1 - z/2 + z² C(z),    z = r²,

and the quadrant k mod 4 tells which of ± sin r, ± cos r is meant. π/2 = P1 + P2 + P3 with P1 and P2 of
36 bits each, so that k P1 and k P2 are exact for |k| < 2¹⁷ (Cody & Waite, *Software Manual for the
Elementary Functions*, 1980); the rounding of r itself is carried along as a correction c: r - c ≈ x - k π/2
to more than 100 bits. S and C are minimax polynomials (Remez exchange on [0, (π/4)²], weighted for the
relative error of the sine and cosine): the truncation errors are 3.6e-18 and 5.6e-20;
``tests/codegen/test_kernel_sincos.py`` derives the coefficients again and measures the error of the result,
which stays below 1 ulp.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from dalembert.codegen.emit_products import contraction
from dalembert.native.trigonometry import COSINE, REDUCTION, SINE

__all__ = ["COSINE", "REDUCTION", "SINE", "helper_text", "table_text"]

_TWO_ARGUMENTS = frozenset({"pow", "fmod", "remainder", "atan2", "hypot"})

_TWO_OVER_PI = 0.6366197723675814
# Adding 3·2⁵¹ rounds to an integer, whose low bits are then the low bits of the floating-point number.
_ROUNDER = 6755399441055744.0
# |k| < 2¹⁷ holds for |x| ≤ 2¹⁷; larger arguments, infinities and NaN take the way over the library.
_LIMIT = 131072.0


def _declared(used: Iterable[str]) -> list[str]:
    """The C functions that the helpers in ``used`` need."""
    names: set[str] = set()
    for helper in used:
        if helper == "sincos":
            names |= {"sin", "cos"}
        elif not helper.startswith(("llvm.", "find.", "pick.")):
            names.add(helper)
    return sorted(names)


def helper_text(used: Iterable[str], width: int, *, inline_sincos: bool) -> str:
    """Declarations and definitions of the functions that a module uses.

    Args:
        used: names collected by the emitter: C functions, ``"sincos"``, or an intrinsic ``llvm.x/arguments``.
        width: number of lanes; 1 for scalar code.
        inline_sincos: expand sine and cosine at the call.
    """
    used = sorted(used)
    T = "double" if width == 1 else f"<{width} x double>"
    text: list[str] = []
    for name in _declared(used):
        arguments = "double, double" if name in _TWO_ARGUMENTS else "double"
        text.append(f"declare double @dalembert_{name}({arguments}) #1")
    for helper in used:
        if helper.startswith("llvm."):
            intrinsic, count = helper.split("/")
            text.append(f"declare {T} @{intrinsic}({', '.join([T] * int(count))})")
        elif helper in ("sin", "cos", "sincos"):
            text.append(_sincos(helper, width, inline=inline_sincos))
        elif helper.startswith(("find.", "pick.")):
            text.append(_lanewise(helper, width, call=helper))
        else:
            text.append(_lanewise(helper, width))
    if {"sin", "cos", "sincos"} & set(used):
        suffix = "f64" if width == 1 else f"v{width}f64"
        if f"llvm.fabs.{suffix}/1" not in used:
            text.append(f"declare {T} @llvm.fabs.{suffix}({T})")
        if width > 1:
            text.append(f"declare i1 @llvm.vector.reduce.and.v{width}i1(<{width} x i1>)")
        text.append('!0 = !{!"branch_weights", i32 1000000, i32 1}')
    return "\n".join(text)


def _lanewise(name: str, width: int, symbol: str = "", call: str = "") -> str:
    """``h.name``: a function of scalars, the C function of this name unless another is given, applied to each lane."""
    symbol, call = symbol or f"h.{name}", call or f"dalembert_{name}"
    T = "double" if width == 1 else f"<{width} x double>"
    operands = ["x", "y"] if name in _TWO_ARGUMENTS else ["x"]
    arguments = ", ".join(f"{T} %{x}" for x in operands)
    if width == 1:
        return (
            f"define internal double @{symbol}({arguments}) alwaysinline #1 {{\n"
            f"  %r = call double @{call}({arguments})\n  ret double %r\n}}"
        )
    lines = [f"define internal {T} @{symbol}({arguments}) noinline #1 {{"]
    for lane in range(width):
        for x in operands:
            lines.append(f"  %{x}{lane} = extractelement {T} %{x}, i32 {lane}")
        given = ", ".join(f"double %{x}{lane}" for x in operands)
        before = "poison" if lane == 0 else f"%v{lane - 1}"
        lines.append(f"  %r{lane} = call double @{call}({given})")
        lines.append(f"  %v{lane} = insertelement {T} {before}, double %r{lane}, i32 {lane}")
    lines += [f"  ret {T} %v{width - 1}", "}"]
    return "\n".join(lines)


def table_text(used: Iterable[str], tables: Sequence[np.ndarray]) -> str:
    """Rows of numbers, and the functions of a scalar that look in them: ``find.3``, ``pick.3``."""
    text: list[str] = []
    for helper in sorted(name for name in used if name.startswith(("find.", "pick."))):
        kind, _, k = helper.partition(".")
        row, symbol = tables[int(k)], f"@row.{k}.{kind}"
        data = "\\" + row.astype("<f8").tobytes().hex("\\")
        text.append(f'{symbol} = internal constant [{8 * len(row)} x i8] c"{data}", align 8')
        body = _FIND.format(n=len(row), row=symbol) if kind == "find" else _PICK.format(row=symbol)
        text.append(f"define internal double @{helper}(double %x) noinline #1 {{\n{body}}}")
    return "\n".join(text)


# The number of entries that are not above x: between ``low`` and ``high``.
_FIND = """entry:
  br label %halve
halve:
  %low = phi i64 [ 0, %entry ], [ %newlow, %look ]
  %high = phi i64 [ {n}, %entry ], [ %newhigh, %look ]
  %open = icmp slt i64 %low, %high
  br i1 %open, label %look, label %done
look:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %at = getelementptr inbounds double, ptr {row}, i64 %middle
  %knot = load double, ptr %at, align 8
  %below = fcmp olt double %x, %knot
  %after = add i64 %middle, 1
  %newlow = select i1 %below, i64 %low, i64 %after
  %newhigh = select i1 %below, i64 %middle, i64 %high
  br label %halve
done:
  %r = sitofp i64 %low to double
  ret double %r
"""

_PICK = """  %i = fptosi double %x to i64
  %at = getelementptr inbounds double, ptr {row}, i64 %i
  %r = load double, ptr %at, align 8
  ret double %r
"""


class _Body:
    """Appends IR lines of one function over ``width`` lanes; each method returns the new register."""

    def __init__(self, width: int):
        self.width = width
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.int = "i64" if width == 1 else f"<{width} x i64>"
        self.lines: list[str] = []

    def number(self, value: float) -> str:
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        return self._splat("double", f"0x{bits:016X}")

    def integer(self, value: int) -> str:
        return self._splat("i64", str(value))

    def _splat(self, kind: str, text: str) -> str:
        return text if self.width == 1 else "<" + ", ".join([f"{kind} {text}"] * self.width) + ">"

    def add(self, expression: str) -> str:
        register = f"%r{len(self.lines)}"
        self.lines.append(f"  {register} = {expression}")
        return register

    def arithmetic(self, op: str, x: str, y: str, *, contract: bool = False) -> str:
        flags = contraction(self.width) if contract else ""
        return self.add(f"{op}{flags} {self.type} {x}, {y}")

    def bits(self, op: str, x: str, y: str) -> str:
        return self.add(f"{op} {self.int} {x}, {y}")

    def polynomial(self, coefficients: tuple[float, ...], z: str) -> str:
        """Horner's rule; contraction to fused multiply-add is welcome."""
        p = self.number(coefficients[-1])
        for c in coefficients[-2::-1]:
            p = self.arithmetic("fmul", p, z, contract=True)
            p = self.arithmetic("fadd", p, self.number(c), contract=True)
        return p


def _reduce(body: _Body) -> tuple[str, str, str, str]:
    """r, c, z and the bits of k for the argument %x."""
    t = body.arithmetic("fmul", "%x", body.number(_TWO_OVER_PI))
    t = body.arithmetic("fadd", t, body.number(_ROUNDER))
    k = body.arithmetic("fsub", t, body.number(_ROUNDER))
    quadrant = body.add(f"bitcast {body.type} {t} to {body.int}")
    k1, k2, k3 = (body.arithmetic("fmul", k, body.number(part)) for part in REDUCTION)
    y = body.arithmetic("fsub", "%x", k1)
    r = body.arithmetic("fsub", y, k2)
    # c = r - (x - k π/2): what the subtraction of k P2 rounded away, and k P3.
    c = body.arithmetic("fsub", r, y)
    c = body.arithmetic("fadd", c, k2)
    c = body.arithmetic("fadd", c, k3)
    return r, c, body.arithmetic("fmul", r, r), quadrant


def _kernel_values(body: _Body) -> tuple[str, str, str]:
    """sin(r - c), cos(r - c) and the quadrant bits."""
    r, c, z, quadrant = _reduce(body)
    # sin(r - c) = r - (c - r z S); this order also keeps sin(-0) = -0.
    s = body.arithmetic("fmul", body.arithmetic("fmul", r, z), body.polynomial(SINE, z), contract=True)
    sine = body.arithmetic("fsub", r, body.arithmetic("fsub", c, s, contract=True))
    # cos(r - c) = 1 - z/2 + z² C + c r; w is 1 - z/2 rounded, (1 - w) - z/2 its rounding error.
    half = body.arithmetic("fmul", z, body.number(0.5))
    w = body.arithmetic("fsub", body.number(1.0), half)
    rest = body.arithmetic("fsub", body.arithmetic("fsub", body.number(1.0), w), half)
    tail = body.arithmetic("fmul", body.arithmetic("fmul", z, z), body.polynomial(COSINE, z), contract=True)
    tail = body.arithmetic("fadd", tail, body.arithmetic("fmul", c, r, contract=True), contract=True)
    cosine = body.arithmetic("fadd", w, body.arithmetic("fadd", rest, tail))
    return sine, cosine, quadrant


def _select_quadrant(body: _Body, sine: str, cosine: str, quadrant: str, name: str) -> str:
    """sin x = (sin r, cos r, -sin r, -cos r)[k mod 4] and cos x = the same with k + 1."""
    one = body.integer(1)
    if name == "cos":
        quadrant = body.bits("add", quadrant, one)
    odd = body.add(f"trunc {body.int} {quadrant} to {'i1' if body.width == 1 else f'<{body.width} x i1>'}")
    kind = "i1" if body.width == 1 else f"<{body.width} x i1>"
    value = body.add(f"select {kind} {odd}, {body.type} {cosine}, {body.type} {sine}")
    sign = body.bits("and", body.bits("shl", quadrant, body.integer(62)), body.integer(-(2**63)))
    value = body.add(f"bitcast {body.type} {value} to {body.int}")
    return body.add(f"bitcast {body.int} {body.bits('xor', value, sign)} to {body.type}")


def _sincos(helper: str, width: int, *, inline: bool) -> str:
    """``h.sin``, ``h.cos`` or ``h.sincos`` with the way over the library for arguments that are not small."""
    body = _Body(width)
    T = body.type
    names = ("sin", "cos") if helper == "sincos" else (helper,)
    result = f"{{{T}, {T}}}" if helper == "sincos" else T
    suffix = "f64" if width == 1 else f"v{width}f64"

    sine, cosine, quadrant = _kernel_values(body)
    near = [_select_quadrant(body, sine, cosine, quadrant, name) for name in names]
    kind = "i1" if width == 1 else f"<{width} x i1>"
    magnitude = body.add(f"call {T} @llvm.fabs.{suffix}({T} %x)")
    small = body.add(f"fcmp ole {T} {magnitude}, {body.number(_LIMIT)}")
    all_small = small
    if width > 1:
        all_small = body.add(f"call i1 @llvm.vector.reduce.and.v{width}i1({kind} {small})")
    body.lines.append(f"  br i1 {all_small}, label %join, label %far, !prof !0")
    body.lines.append("far:")
    # Lane by lane: a state's result must not depend on its neighbors in the group.
    libm = [body.add(f"call {T} @h.far.{helper}.{name}({T} %x)") for name in names]
    far = [body.add(f"select {kind} {small}, {T} {n}, {T} {f}") for n, f in zip(near, libm, strict=True)]
    body.lines.append("  br label %join")
    body.lines.append("join:")
    values = [body.add(f"phi {T} [ {n}, %entry ], [ {f}, %far ]") for n, f in zip(near, far, strict=True)]
    out = values[0]
    if helper == "sincos":
        pair = body.add(f"insertvalue {result} poison, {T} {values[0]}, 0")
        out = body.add(f"insertvalue {result} {pair}, {T} {values[1]}, 1")
    head = f"define internal {result} @h.{helper}({T} %x) {'alwaysinline' if inline else 'noinline'} #1 {{"
    fars = [_lanewise(name, width, f"h.far.{helper}.{name}") for name in names]
    return "\n".join([*fars, head, "entry:", *body.lines, f"  ret {result} {out}", "}"])
