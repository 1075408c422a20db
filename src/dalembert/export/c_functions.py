"""C99 from the text of our LLVM code: the instructions that the translator of native code and the kernels emit.

Every function becomes a C function of the same structure, block by block. Local variables whose address stays inside
become C variables, memory is read and written by ``memcpy``, so that no rule of aliasing is bent, and functions in
fields of records are numbers that a ``switch`` calls. Operations are rounded one by one, as C99 does without
contraction; so the numbers are those of the native run.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field

from dalembert.errors import CompileError

__all__ = ["CText", "c_name"]

_TYPES = {"double": "double", "i64": "int64_t", "i32": "int32_t", "i8": "int8_t", "i1": "int", "ptr": "char *",
          "void": "void"}  # fmt: skip
_LOADS = {"double": "load_f64", "i64": "load_i64", "i1": "load_i1", "ptr": "load_ptr", "i8": "load_i8"}
_STORES = {"double": "store_f64", "i64": "store_i64", "i1": "store_i1", "ptr": "store_ptr", "i8": "store_i8"}
_SIZES = {"double": 8, "i64": 8, "i32": 4, "i8": 1, "i1": 1, "ptr": 8}
_ARITHMETIC = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WRAPPING = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>"}
_SIGNED = {"sdiv": "/", "srem": "%", "ashr": ">>"}
_ICMP = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_FCMP = {
    "oeq": "{a} == {b}", "olt": "{a} < {b}", "ole": "{a} <= {b}", "ogt": "{a} > {b}", "oge": "{a} >= {b}",
    "one": "({a} < {b}) || ({a} > {b})", "une": "{a} != {b}", "ueq": "!(({a} < {b}) || ({a} > {b}))",
    "ult": "!({a} >= {b})", "ule": "!({a} > {b})", "ugt": "!({a} <= {b})", "uge": "!({a} < {b})",
    "ord": "({a} == {a}) && ({b} == {b})", "uno": "({a} != {a}) || ({b} != {b})",
}  # fmt: skip
_INTRINSICS = {"llvm.fabs.f64": "fabs", "llvm.sqrt.f64": "sqrt", "llvm.floor.f64": "floor", "llvm.ceil.f64": "ceil",
               "llvm.copysign.f64": "copysign", "llvm.fptosi.sat.i64.f64": "to_i64",
               "llvm.minnum.f64": "fmin", "llvm.maxnum.f64": "fmax"}  # fmt: skip

# What the file itself gives instead of the C library: there is no memory besides that of the program.
PROVIDED = ("dalembert_malloc", "dalembert_free")


def c_name(symbol: str) -> str:
    """A symbol as a C identifier."""
    return re.sub(r"\W", "_", symbol)


def _split(text: str) -> list[str]:
    """Parts between commas that are not within brackets."""
    parts: list[str] = []
    depth, start = 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "{[(<") - (letter in "}])>")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _typed(text: str) -> tuple[str, str]:
    """(type, value) of an operand; attributes of parameters are left out."""
    text = text.strip()
    if text[0] in "{[":
        depth = 0
        for i, letter in enumerate(text):
            depth += (letter in "{[") - (letter in "}]")
            if depth == 0:
                return text[: i + 1], text[i + 1 :].strip().split(" ")[-1]
    kind, *rest = text.split(" ")
    return kind, rest[-1] if rest else ""


_TABLE = re.compile(r"@([\w.]+) = (?:private|internal) (?:unnamed_addr )?constant \[\d+ x (\w+)\] \[(.*)\]")


# A variable on the stack; names; an instruction that reads or writes a variable, besides what it stores.
_ALLOCA = re.compile(r"(%[\w.]+) = alloca (\{.*\}|\[(\d+) x (\w+)\]|\w+)$")
_NAMES = re.compile(r"%[\w.]+")
_ACCESS = re.compile(r"%[\w.]+ = load \S+, ptr %[\w.]+$|store [^%]*(?:%[\w.]+)?, ptr %[\w.]+$")


def _is_access(text: str, kind: str, name: str) -> bool:
    """True for an instruction that reads or writes a variable and does nothing else with its address."""
    stored = text.startswith(f"store {kind} {name},")
    return text.endswith(f", ptr {name}") and _ACCESS.match(text) is not None and not stored


@dataclass
class _Line:
    """An instruction: its result, what it reads, and its statement in C with {0}, {1} … for the values read."""

    result: str
    kind: str
    reads: list[str]
    text: str
    pure: bool = True


@dataclass
class _Function:
    name: str
    result: str
    parameters: list[tuple[str, str]]
    blocks: dict[str, list[str]] = field(default_factory=lambda: {})


class CText:
    """All functions of a program as C.

    Args:
        texts: LLVM code, unit by unit; what occurs twice is the same.
        numbers: numbers of the functions that fields of records refer to, by symbol.
    """

    def __init__(self, texts: list[str], numbers: dict[str, int]):
        self.functions: dict[str, _Function] = {}
        self.tables: dict[str, str] = {}
        self.numbers = numbers
        self.structs: dict[str, str] = {}
        self.signatures: dict[tuple[str, ...], str] = {}
        self._needed: dict[str, None] = {}
        self._struct_texts: list[str] = []
        self._makers = {
            "fneg": self._fneg, "icmp": self._icmp, "fcmp": self._fcmp, "select": self._select, "call": self._call,
            "extractvalue": self._extractvalue, "insertvalue": self._insertvalue, "load": self._load,
            "getelementptr": self._getelementptr, "store": self._store,
        }  # fmt: skip
        for text in texts:
            self._read(text)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, text: str) -> None:
        current: _Function | None = None
        label = "entry"
        for line in text.split("\n"):
            bare = line.split(" ;")[0].strip()
            if line.startswith("define"):
                match = re.match(r"define (?:internal |private )?(.+?) @([\w.]+)\((.*?)\)", line)
                assert match is not None
                parameters = [_typed(part) for part in _split(match[3])]
                current, label = _Function(match[2], match[1].strip(), parameters, {"entry": []}), "entry"
                self.functions.setdefault(match[2], current)
            elif line.startswith("@"):
                match = re.match(
                    r"@([\w.]+) = (?:private|internal) (?:unnamed_addr )?constant "
                    r"\[\d+ x (\w+)\] (?:\[(.*)\]|c\"(.*)\")",
                    line,
                )
                if match is None:
                    raise CompileError(f"C: this constant is unknown: {line[:60]}")
                kind, items = (match[2], _split(match[3])) if match[3] else ("double", _reals_of_bytes(match[4]))
                self.tables.setdefault(match[1], self._table(match[1], kind, items))
            elif line.startswith("}"):
                current = None
            elif current is not None and bare:
                if bare.endswith(":") and " " not in bare:
                    label = bare[:-1]
                    current.blocks.setdefault(label, [])
                else:
                    current.blocks[label].append(re.sub(r", (?:align \d+|!\w+ !\d+)", "", bare))

    def _table(self, name: str, kind: str, items: list[str]) -> str:
        values = ", ".join(self.value(kind, _typed(item)[1]) for item in items)
        return f"static const {_TYPES[kind]} {c_name(name)}[{len(items)}] = {{{values}}};"

    # -- values and types ---------------------------------------------------------------------------------------------

    def c_type(self, kind: str) -> str:
        """A type."""
        if not kind.startswith("{"):
            return _TYPES[kind]
        key = kind.replace(" ", "")
        if key not in self.structs:
            name = f"record{len(self.structs)}"
            fields = " ".join(f"{self.c_type(part)} f{i};" for i, part in enumerate(_split(kind.strip("{}"))))
            self.structs[key] = name
            self._struct_texts.append(f"struct {name} {{ {fields} }};")
        return f"struct {self.structs[key]}"

    def value(self, kind: str, text: str) -> str:
        """A constant or a variable."""
        if text.startswith("%"):
            return f"v_{c_name(text[1:])}"
        if text.startswith("@"):
            return f"(char *)(uintptr_t){c_name(text[1:])}"
        if kind == "double":
            return _real(text)
        if text in ("true", "false"):
            return "1" if text == "true" else "0"
        if text == "null":
            return "NULL"
        if kind == "i64":
            return "INT64_MIN" if text == str(-(1 << 63)) else f"INT64_C({text})"
        return text

    # -- instructions -------------------------------------------------------------------------------------------------

    def instruction(self, line: str) -> _Line:
        """What computes a value, or acts; not what ends a block."""
        match = re.match(r"(?:(%[\w.]+) = )?(?:tail )?(\w+) ?(.*)", line)
        assert match is not None
        result, op, rest = match[1] or "", match[2], match[3]
        if op in self._makers:
            return self._makers[op](result, rest)
        rest = re.sub(r"^(?:(?:nsw|nuw|exact|inbounds|contract|nnan|ninf|nsz) )+", "", rest)
        if op in _ARITHMETIC:
            kind, a, b = self._pair(rest)
            return _Line(result, kind, [a, b], f"{{0}} {_ARITHMETIC[op]} {{1}}")
        if op in _WRAPPING:
            kind, a, b = self._pair(rest)
            if kind == "i1":
                return _Line(result, kind, [a, b], f"({{0}} {_WRAPPING[op]} {{1}}) & 1")
            return _Line(result, kind, [a, b], f"(int64_t)((uint64_t){{0}} {_WRAPPING[op]} (uint64_t){{1}})")
        if op in _SIGNED:
            kind, a, b = self._pair(rest)
            return _Line(result, kind, [a, b], f"{{0}} {_SIGNED[op]} {{1}}")
        if op in ("zext", "sext", "trunc", "sitofp", "uitofp", "bitcast", "fptosi", "ptrtoint", "inttoptr"):
            return self._conversion(op, result, rest)
        raise CompileError(f"C: this instruction is unknown: {line}")

    def _pair(self, rest: str) -> tuple[str, str, str]:
        first, second = _split(rest)
        kind, a = _typed(first)
        return kind, self.value(kind, a), self.value(kind, second)

    def _conversion(self, op: str, result: str, rest: str) -> _Line:
        source, to = rest.split(" to ")
        kind, a = _typed(source)
        value = self.value(kind, a)
        if op == "bitcast":
            return _Line(result, to, [value], "bits_of({0})" if to == "i64" else "real_of({0})")
        if op == "trunc" and to == "i1":
            return _Line(result, to, [value], "(int)({0} & 1)")
        if op == "sext" and kind == "i1":
            return _Line(result, to, [value], "-(int64_t){0}")
        return _Line(result, to, [value], f"({self.c_type(to).strip()}){{0}}")

    def _fneg(self, result: str, rest: str) -> _Line:
        kind, a = _typed(rest)
        return _Line(result, kind, [self.value(kind, a)], "-{0}")

    def _icmp(self, result: str, rest: str) -> _Line:
        how, rest = rest.split(" ", 1)
        kind, a, b = self._pair(rest)
        if how in _ICMP:
            return _Line(result, "i1", [a, b], f"{{0}} {_ICMP[how]} {{1}}")
        cast = "(uintptr_t)" if kind == "ptr" else "(uint64_t)"
        return _Line(result, "i1", [a, b], f"{cast}{{0}} {_UNSIGNED[how]} {cast}{{1}}")

    def _fcmp(self, result: str, rest: str) -> _Line:
        how, rest = rest.split(" ", 1)
        _, a, b = self._pair(rest)
        return _Line(result, "i1", [a, b], _FCMP[how].format(a="{0}", b="{1}"))

    def _select(self, result: str, rest: str) -> _Line:
        (_, c), (kind, a), (_, b) = (_typed(part) for part in _split(rest))
        values = [self.value("i1", c), self.value(kind, a), self.value(kind, b)]
        return _Line(result, kind, values, "{0} ? {1} : {2}")

    def _extractvalue(self, result: str, rest: str) -> _Line:
        first, index = _split(rest)
        kind, a = _typed(first)
        part = _split(kind.strip("{}"))[int(index)]
        return _Line(result, part, [self.value(kind, a)], f"{{0}}.f{index}")

    def _insertvalue(self, result: str, rest: str) -> _Line:
        first, second, index = _split(rest)
        kind, a = _typed(first)
        part, value = _typed(second)
        reads = [self.value(part, value)]
        if a in ("poison", "undef"):
            return _Line(result, kind, reads, f"\0.f{index} = {{0}}")
        return _Line(result, kind, [*reads, self.value(kind, a)], f"\0{{1}}\0.f{index} = {{0}}")

    def _getelementptr(self, result: str, rest: str) -> _Line:
        kind, base, index = _split(re.sub(r"^inbounds ", "", rest))
        size = _SIZES.get(kind)
        array = re.match(r"\[(\d+) x (\w+)\]", kind)
        if size is None and array is None:
            raise CompileError(f"C: this address is unknown: {rest}")
        size = int(array[1]) * _SIZES[array[2]] if array is not None else size
        (_, a), (_, i) = _typed(base), _typed(index)
        return _Line(result, "ptr", [self.value("ptr", a), self.value("i64", i)], f"{{0}} + {size} * {{1}}")

    def _load(self, result: str, rest: str) -> _Line:
        kind, pointer = _split(rest)
        _, a = _typed(pointer)
        return _Line(result, kind, [self.value("ptr", a)], f"{_LOADS[kind]}({{0}})")

    def _store(self, _: str, rest: str) -> _Line:
        (kind, a), (_, p) = (_typed(part) for part in _split(rest))
        values = [self.value("ptr", p), self.value(kind, a)]
        return _Line("", "void", values, f"{_STORES[kind]}({{0}}, {{1}})", pure=False)

    def _call(self, result: str, rest: str) -> _Line:
        match = re.match(r"(\{.*?\}|\w+) ([@%][\w.]+)\((.*)\)", rest)
        if match is None:
            raise CompileError(f"C: this call is unknown: {rest}")
        kind, callee = match[1], match[2]
        operands = [_typed(part) for part in _split(match[3])]
        values = [self.value(*operand) for operand in operands]
        if callee.startswith("%"):
            key = (kind, *(operand for operand, _ in operands))
            name = self.signatures.setdefault(key, f"call{len(self.signatures)}")
            values = [self.value("ptr", callee), *values]
        else:
            name = self._callee(callee[1:], values)
        holes = ", ".join(f"{{{i}}}" for i in range(len(values)))
        pure = name in _INTRINSICS.values()
        return _Line(result, kind, values, f"{name}({holes})", pure)

    def _callee(self, symbol: str, values: list[str]) -> str:
        if symbol in _INTRINSICS:
            return _INTRINSICS[symbol]
        if symbol.startswith("llvm.mem"):
            del values[3:]
            return {"s": "memset_i64", "c": "memcpy_i64", "m": "memmove_i64"}[symbol[8]]
        if symbol == "llvm.trap":
            return "abort"
        if symbol not in PROVIDED:
            self._needed.setdefault(symbol)
        return c_name(symbol)

    # -- functions ----------------------------------------------------------------------------------------------------

    def head(self, function: _Function) -> str:
        """How it is declared."""
        parameters = ", ".join(f"{self.c_type(kind)} {self.value(kind, name)}" for kind, name in function.parameters)
        return f"static {self.c_type(function.result)} {c_name(function.name)}({parameters or 'void'})"

    def function(self, name: str) -> str:
        """One function."""
        return _Body(self, self.functions[name]).text()

    def source(self, roots: list[str]) -> str:
        """Everything that the roots need, in C."""
        self._needed = dict.fromkeys([*roots, *self.numbers])
        done: dict[str, str] = {}
        while len(done) < len(self._needed):
            for name in [name for name in self._needed if name not in done]:
                done[name] = self.function(name)
        heads = [f"{self.head(self.functions[name])};" for name in done]
        dispatchers = [self._dispatcher(key, name) for key, name in self.signatures.items()]
        used = [text for name, text in self.tables.items() if any(c_name(name) in body for body in done.values())]
        return "\n\n".join(
            ["\n".join(self._struct_texts), "\n".join(used), "\n".join(heads), *dispatchers, *done.values()]
        )

    def _dispatcher(self, key: tuple[str, ...], name: str) -> str:
        """Calls a function by its number."""
        result, *kinds = key
        fitting = [
            (number, symbol)
            for symbol, number in self.numbers.items()
            if [self.functions[symbol].result, *(k for k, _ in self.functions[symbol].parameters)] == list(key)
        ]
        parameters = ", ".join(f"{self.c_type(kind)} a{i}" for i, kind in enumerate(kinds))
        values = ", ".join(f"a{i}" for i in range(len(kinds)))
        void = result == "void"
        cases = "\n".join(
            f"    case {number}: {'' if void else 'return '}{c_name(symbol)}({values}); {'return;' if void else ''}"
            for number, symbol in fitting
        )
        unused = "".join(f"(void)a{i}; " for i in range(len(kinds))) if not fitting else ""
        return (
            f"static {self.c_type(result)} {name}(char *number{', ' if kinds else ''}{parameters}) {{\n"
            f"    {unused}switch ((int)(intptr_t)number) {{\n{cases}\n    default: abort();\n    }}\n}}"
        )


class _Body:
    """The body of one function."""

    def __init__(self, program: CText, function: _Function):
        self.program, self.function = program, function
        self.locals: dict[str, str] = {}
        self.rooms: dict[str, int] = {}
        self._find_locals()
        self.phis: dict[str, list[tuple[str, str, str, str]]] = {}
        self.read: set[str] = set()
        self.lines: dict[str, list[_Line]] = {label: [] for label in function.blocks}
        self.ends: dict[str, str] = {}
        for label, texts in function.blocks.items():
            self._block(label, texts)

    def _find_locals(self) -> None:
        """Variables on the stack; those that are only read and written become variables of C."""
        texts = [text for block in self.function.blocks.values() for text in block]
        found = [match for text in texts if (match := _ALLOCA.match(text)) is not None]
        uses: dict[str, list[str]] = {match[1]: [] for match in found}
        for text in texts:
            for name in set(_NAMES.findall(text)) & uses.keys():
                uses[name].append(text)
        for match in found:
            name, kind = match[1], match[2]
            plain = all(text == match[0] or _is_access(text, kind, name) for text in uses[name])
            if kind in _LOADS and plain:
                self.locals[name] = kind
            else:
                size = int(match[3]) * _SIZES[match[4]] if match[3] else _SIZES[kind]
                self.rooms[name] = -(-size // 8)

    def _block(self, label: str, texts: list[str]) -> None:
        p = self.program
        for text in texts:
            match = re.match(r"(%[\w.]+) = (\w+) ?(.*)", text)
            if match and match[2] == "alloca":
                continue
            if match and match[2] == "phi":
                kind, rest = match[3].split(" ", 1)
                for value, source in re.findall(r"\[ ?([^,]+), %([\w.]+) ?\]", rest):
                    self.phis.setdefault(source, []).append((label, match[1], kind, p.value(kind, value.strip())))
                self.lines[label].append(_Line(match[1], kind, [f"p_{c_name(match[1][1:])}"], "{0}", pure=False))
            elif text.startswith(("br ", "ret", "unreachable")):
                self.ends[label] = text
            else:
                self.lines[label].append(self._local(p.instruction(text), text))

    def _local(self, line: _Line, text: str) -> _Line:
        """Reading and writing of a variable of C."""
        match = re.match(r"(?:%[\w.]+ = load \S+, ptr (%[\w.]+)|store .*, ptr (%[\w.]+))$", text)
        name = (match[1] or match[2]) if match else None
        if name is not None and name in self.locals:
            variable = f"l_{c_name(name[1:])}"
            if text.startswith("store"):
                return _Line("", "void", [variable, line.reads[1]], "{0} = {1}", pure=False)
            return _Line(line.result, line.kind, [variable], "{0}")
        return line

    def text(self) -> str:
        """All of it."""
        p, f = self.program, self.function
        self._drop_dead()
        declared: list[str] = []
        for name, kind in self.locals.items():
            if f"l_{c_name(name[1:])}" in self.read:
                declared.append(f"{p.c_type(kind)} l_{c_name(name[1:])} = 0;")
        for name, count in self.rooms.items():
            declared.append(f"double m_{c_name(name[1:])}[{count}];")
            declared.append(f"char *v_{c_name(name[1:])} = (char *)m_{c_name(name[1:])};")
        for lines in self.lines.values():
            for line in lines:
                if line.result:
                    zero = " = {0}" if line.kind.startswith("{") else ""
                    declared.append(f"{p.c_type(line.kind)} v_{c_name(line.result[1:])}{zero};")
        for entries in self.phis.values():
            declared += [f"{p.c_type(kind)} p_{c_name(name[1:])} = 0;" for _, name, kind, _ in entries]
        declared = list(dict.fromkeys(declared))
        targets = set(re.findall(r"label %([\w.]+)", " ".join(self.ends.values())))
        body: list[str] = []
        for label, lines in self.lines.items():
            if label in targets:
                body.append(f"b_{c_name(label)}:;")
            body += [f"    {self._statement(line)}" for line in lines]
            body += [f"    {part}" for part in self._end(label)]
        used = "\n".join(body)
        unused = [name for _, name in f.parameters if not re.search(rf"\b{p.value('ptr', name)}\b", used)]
        void = [f"    (void){p.value('ptr', name)};" for name in unused]
        joined = "\n".join([*(f"    {line}" for line in declared), *void, used])
        return f"{p.head(f)} {{\n{joined}\n}}"

    def _drop_dead(self) -> None:
        """Without values that nobody reads, and without writing to variables that nobody reads."""
        while True:
            read = {name for lines in self.lines.values() for line in lines for name in self._reads(line)}
            read |= {value for entries in self.phis.values() for *_, value in entries}
            for end in self.ends.values():
                read |= {f"v_{c_name(name)}" for name in re.findall(r"%([\w.]+)", end)}
            before = sum(map(len, self.lines.values()))
            for label, lines in self.lines.items():
                self.lines[label] = [line for line in lines if self._lives(line, read)]
            if sum(map(len, self.lines.values())) == before:
                self.read = read
                break
        for lines in self.lines.values():
            for line in lines:
                if line.result and f"v_{c_name(line.result[1:])}" not in read and not line.pure:
                    line.result = ""

    def _reads(self, line: _Line) -> list[str]:
        return line.reads[1:] if line.text == "{0} = {1}" else line.reads

    def _lives(self, line: _Line, read: set[str]) -> bool:
        if line.text == "{0} = {1}":
            return line.reads[0] in read
        return not line.pure or f"v_{c_name(line.result[1:])}" in read

    def _statement(self, line: _Line) -> str:
        name = f"v_{c_name(line.result[1:])}" if line.result else ""
        if "\0" in line.text:
            *whole, part = line.text[1:].split("\0")
            copy = f"{name} = {whole[0].format(*line.reads)}; " if whole else ""
            return f"{copy}{name}{part.format(*line.reads)};"
        text = line.text.format(*line.reads)
        if line.result:
            return f"{name} = {text};"
        return f"(void){text};" if line.kind not in ("void",) and "(" in text else f"{text};"

    def _end(self, label: str) -> list[str]:
        """How a block ends."""
        p, end = self.program, self.ends[label]
        if end.startswith("ret"):
            kind, value = _typed(end[4:])
            return ["return;"] if kind == "void" else [f"return {p.value(kind, value)};"]
        if end.startswith("unreachable"):
            return ["abort();"]
        moves = [f"p_{c_name(name[1:])} = {value};" for _, name, _, value in self.phis.get(label, [])]
        labels = re.findall(r"label %([\w.]+)", end)
        if len(labels) == 1:
            return [*moves, f"goto b_{c_name(labels[0])};"]
        _, condition = _typed(_split(end[3:])[0])
        first, second = (c_name(one) for one in labels)
        return [*moves, f"if ({p.value('i1', condition)}) goto b_{first}; else goto b_{second};"]


def _reals_of_bytes(text: str) -> list[str]:
    """Numbers of a constant that is written as bytes."""
    return [f"double {value!r}" for (value,) in struct.iter_unpack("<d", bytes.fromhex(text.replace("\\", "")))]


def _real(text: str) -> str:
    """A number as C99 writes it exactly."""
    value = struct.unpack(">d", bytes.fromhex(text[2:].rjust(16, "0")))[0] if text.startswith("0x") else float(text)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    short = repr(value)
    return f"({short})" if value < 0 or short.startswith("-") else short
