"""From a Python function and the types of its arguments to LLVM IR.

A variable has the type of its first value; a function is translated once for each tuple of argument types. Short
functions are copied into those that call them, where LLVM may inline them; each longer one is a unit of its own, which
is compiled once and linked with whatever calls it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import linecache
import threading
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from dalembert.errors import CompileError
from dalembert.native import arena, library, mathematics
from dalembert.native.arrays import FAULTY
from dalembert.native.emit import Value
from dalembert.native.fingerprint import fingerprint, kind_text, plain_constants
from dalembert.native.liveness import wanted_at_loops
from dalembert.native.statements import RELEASE, Statements
from dalembert.native.types import NOTHING, Pointer, Type, holds_array, parts_of

__all__ = ["Instance", "instance_of", "symbol_of", "unit_text"]

# Functions of more lines than this are units of their own.
_LONG = 60

lock = threading.RLock()
_instances: dict[tuple[Any, tuple[Type, ...], bool], Instance | None] = {}


@dataclass
class Instance:
    """A function translated for certain types.

    Attributes:
        symbol: its name in machine code, made from all that it depends on.
        signature: LLVM types of its parameters, the arena first.
        text: its IR behind ``define``.
        callees: instances that it calls.
        faults: in checking mode, what each number of a fault means.
        inlined: short, and copied into its callers.
        manner: ``vectorized``: its loops are put into vector registers; ``whole``: all that it calls is part of it;
            ``rare``: most processes never call it.
    """

    symbol: str
    kinds: tuple[Type, ...]
    result: Type = NOTHING
    signature: tuple[str, ...] = ()
    text: str = ""
    constants: list[str] = field(default_factory=list[str])
    declared: set[str] = field(default_factory=set[str])
    callees: dict[str, Instance] = field(default_factory=lambda: {})
    faults: dict[int, str] = field(default_factory=dict[int, str])
    inlined: bool = False
    manner: str = ""

    @property
    def returns(self) -> str:
        parts = parts_of(self.result)
        return "void" if not parts else parts[0] if len(parts) == 1 else "{" + ", ".join(parts) + "}"

    def copied(self) -> dict[str, Instance]:
        """Functions that become part of this unit, by symbol: the short ones; or all, if it is whole."""
        found: dict[str, Instance] = {}
        waiting: list[Instance] = [self]
        while waiting:
            for callee in waiting.pop().callees.values():
                if (callee.inlined or (self.manner == "whole" and not callee.manner)) and callee.symbol not in found:
                    found[callee.symbol] = callee
                    waiting.append(callee)
        return found

    def linked(self) -> dict[str, Instance]:
        """Other units that this one calls."""
        members = self.copied()
        called = {c.symbol: c for member in (self, *members.values()) for c in member.callees.values()}
        return {symbol: callee for symbol, callee in called.items() if symbol not in members}


def instance_of(function: Any, kinds: tuple[Type, ...], checking: bool, caller: _Translator | None = None) -> Instance:
    """The translation of a function for certain types; made at the first call."""
    kinds = declared(function, kinds)
    with lock:
        key = (function, kinds, checking)
        if key not in _instances:
            _instances[key] = None
            try:
                _instances[key] = _Translator(function, kinds, checking).instance
            except BaseException:
                del _instances[key]
                raise
        found = _instances[key]
    if found is None:
        assert caller is not None
        caller.fail(f"native function '{function.python.__name__}' calls itself", "a loop")
    return found


def declared(function: Any, kinds: tuple[Type, ...]) -> tuple[Type, ...]:
    """Types of arguments as a function sees them: a record derived from the class that its parameter names is one of
    that class; so what all derived records share is compiled once."""
    python, found = function.python, list(kinds)
    for k, name in enumerate(python.__code__.co_varnames[: len(kinds)]):
        kind, wanted = kinds[k], python.__annotations__.get(name)
        if isinstance(kind, Pointer) and wanted is not None:
            cls = python.__globals__.get(wanted) if isinstance(wanted, str) else wanted
            if isinstance(cls, type) and cls is not kind.cls and issubclass(kind.cls, cls):
                found[k] = Pointer(cls)
    return tuple(found)


def symbol_of(function: Any, kinds: tuple[Type, ...], checking: bool) -> str:
    """The name in machine code of a function for certain types."""
    kinds = declared(function, kinds)
    text = f"{fingerprint(function, checking)}|{'|'.join(map(kind_text, kinds))}|{checking}|{function.manner}"
    return f"n{hashlib.sha256(text.encode()).hexdigest()[:24]}"


class _Source:
    """The text of a function and where it stands."""

    def __init__(self, function: Any):
        python = function.python
        self.name = python.__name__
        if hasattr(python, "__wrapped__"):
            raise CompileError(
                f"native function '{self.name}': another decorator has changed it.  Fix: @native next to its def"
            )
        try:
            lines, before = inspect.findsource(python)
            self.file = inspect.getsourcefile(python) or "?"
        except (OSError, TypeError) as error:
            raise CompileError(
                f"native function '{self.name}': its source text is not available ({error}).  Fix: define it in a file"
            ) from error
        self.first = before + 1
        tree, place = _first_statement(lines[before:]), f"{self.file}:{self.first}: native function '{self.name}'"
        if not isinstance(tree, ast.FunctionDef):
            raise CompileError(f"{place}: it must be a plain function.  Fix: def")
        if not _is_text_of(tree, python.__code__):
            raise CompileError(f"{place}: its file was edited after it was imported.  Fix: start Python again")
        self.tree = tree

    def where(self, node: ast.AST | None) -> str:
        line = self.first + getattr(node, "lineno", 1) - 1
        text = "" if node is None else _unparsed(node)
        return f"{self.file}:{line}: native function '{self.name}': `{text}`"


def _first_statement(lines: list[str]) -> ast.stmt | None:
    """The statement at the top of some lines: it ends before a line that is indented no more than the first one, if
    what is above that line can be read by itself."""
    margin = len(lines[0]) - len(lines[0].lstrip())
    for k, line in enumerate(lines[1:], 1):
        rest = line.lstrip()
        if rest and len(line) - len(rest) <= margin and rest[0] not in "#)]}":
            tree = _parsed("".join(lines[:k]))
            if tree is not None:
                return tree
    return _parsed("".join(lines))


def _parsed(text: str) -> ast.stmt | None:
    """The first statement of a text, which may be indented, with comments left of it; None if it is no statement."""
    indented = text[:1].isspace()
    try:
        (block,) = ast.parse("if True:\n" + text if indented else text).body
    except (SyntaxError, ValueError):
        return None
    return ast.increment_lineno(block.body[0], -1) if isinstance(block, ast.If) and indented else block


def _is_text_of(tree: ast.FunctionDef, code: CodeType) -> bool:
    """True if its file still gives this code. What is compiled goes to the cache under the name of the code."""
    try:
        made = _codes("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return True  # a part of a text in another language
    if any(item.co_firstlineno == code.co_firstlineno and _essence(item) == _essence(code) for item in made):
        return True
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree))  # pytest rewrites them; they are refused


@functools.lru_cache(maxsize=8)
def _codes(text: str) -> list[CodeType]:
    """All functions in the text of a module, and all else that is a code."""
    found: list[CodeType] = []
    waiting = [compile(text, "", "exec", dont_inherit=True)]
    while waiting:
        found.append(waiting.pop())
        waiting += [item for item in found[-1].co_consts if isinstance(item, CodeType)]
    return found


def _essence(code: CodeType) -> tuple[Any, ...]:
    content = code.co_code, repr(plain_constants(code)), code.co_names, code.co_varnames, code.co_freevars
    return code.co_qualname, code.co_firstlineno, *content


def _unparsed(node: ast.AST) -> str:
    """The first line of a piece of code."""
    if isinstance(node, ast.FunctionDef):
        return f"def {node.name}({ast.unparse(node.args)})"
    return ast.unparse(node).splitlines()[0][:100]


class _Translator(Statements):
    """Translates one function."""

    def __init__(self, function: Any, kinds: tuple[Type, ...], checking: bool):
        symbol = symbol_of(function, kinds, checking)
        source = _Source(function)
        super().__init__(symbol, source.where, checking)
        self.instance = Instance(symbol, kinds, manner=function.manner)
        self.tree, self.result, self._loops, self.variables, self.unsure = source.tree, None, [], {}, {}
        self.fixed = set()
        python = function.python
        self.early, self.wanted = wanted_at_loops(source.tree)
        self.early -= set(python.__code__.co_varnames[: len(kinds)])
        self.locals = set(python.__code__.co_varnames)
        self.globals = dict(python.__globals__)
        for name, cell in zip(python.__code__.co_freevars, python.__closure__ or (), strict=True):
            self.globals[name] = cell.cell_contents
        names = [arg.arg for arg in source.tree.args.args]
        given = source.tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
            self.fail(
                "native functions take no *args, **kwargs, keyword-only or positional-only arguments",
                "plain parameters",
                self.tree,
            )
        if len(names) != len(kinds):
            self.fail(f"{len(kinds)} arguments are given", f"{len(names)}, one for each parameter", self.tree)
        parameters, at = ["ptr %arena"], 0
        for name, kind in zip(names, kinds, strict=True):
            parts = parts_of(kind)
            parameters += [f"{part} %a{at + k}" for k, part in enumerate(parts)]
            self.assign_name(name, Value(kind, [f"%a{at + k}" for k in range(len(parts))]))
            at += len(parts)
        self.block(source.tree.body)
        if not self.done:
            self.give(Value(NOTHING, []))
        self._finish(parameters)

    def _finish(self, parameters: list[str]) -> None:
        made = self.instance
        made.result = self.result or NOTHING
        keeps = holds_array(made.result) or not self.allocates
        names = ("%m_cursor", "%m_limit", "%m_chunk")
        marks: list[str] = []
        if not keeps:
            for name, offset in zip(names, (0, 8, 16), strict=True):
                marks += [
                    f"  {name}_at = getelementptr i8, ptr %arena, i64 {offset}",
                    f"  {name} = load ptr, ptr {name}_at",
                ]
        release = f"  call void @release(ptr %arena, {', '.join('ptr ' + name for name in names)})"
        body = [release if line == RELEASE else line for line in self.lines if line != RELEASE or not keeps]
        if self.checking and any(f"%{FAULTY}" in line for line in body):
            nothing = "void" if made.returns == "void" else f"{made.returns} zeroinitializer"
            body += [f"{FAULTY}:", f"  ret {nothing}"]
        whole = [*self.allocas, *marks, *body]
        made.inlined = len(whole) <= _LONG and not made.manner
        made.signature = tuple(parameter.split()[0] for parameter in parameters)
        made.text = f"@{made.symbol}({', '.join(parameters)}) #0 {{\nentry:\n" + "\n".join(whole) + "\n}\n"
        made.constants, made.declared = self.constants, self.declared

    def call_native(self, function: Any, args: list[Value]) -> Value:
        callee = instance_of(function, tuple(arg.kind for arg in args), self.checking, self)
        self.instance.callees[callee.symbol] = callee
        given = ["ptr %arena"]
        given += [f"{p} {x}" for arg in args for p, x in zip(parts_of(arg.kind), arg.parts, strict=True)]
        if holds_array(callee.result):
            self.allocates = True
        parts = parts_of(callee.result)
        text = f"call {callee.returns} @{callee.symbol}({', '.join(given)})"
        if not parts:
            self.out(text)
            self.pass_on()
            return Value(NOTHING, [])
        result = self.op(text)
        self.pass_on()
        if len(parts) == 1:
            return Value(callee.result, [result])
        items = [self.op(f"extractvalue {callee.returns} {result}, {k}") for k in range(len(parts))]
        return Value(callee.result, items)

    def library(self, name: str, *args: Value) -> Value:
        return self.call_native(library.own(mathematics.FUNCTIONS[name]), list(args))

    def fault(self, what: str) -> int:
        message = f"{self.where(self.node)}: {what}"
        number = int(hashlib.sha256(message.encode()).hexdigest()[:15], 16)
        self.instance.faults[number] = message
        return number


def unit_text(instance: Instance, inlined: bool = False, lazily: bool = False) -> str:
    """The IR of a unit: a function, copies of the short ones it calls, and declarations of the others.

    Args:
        inlined: the copies become part of what calls them; else LLVM decides.
        lazily: rare functions are looked for at their first call.
    """
    members = list(instance.copied().values())
    text = [f"define {instance.returns} {instance.text}"]
    for member in members:
        made = member.text.replace(" #0 {", " alwaysinline #0 {", 1) if inlined else member.text
        text.append(f"define internal {member.returns} {made}")
    everything = [instance, *members]
    lines = {line for member in everything for line in member.declared}
    for other in instance.linked().values():
        if lazily and other.manner == "rare":
            lines.add(_FIND)
            text.append(_stub(other))
        else:
            lines.add(f"declare {other.returns} @{other.symbol}({', '.join(other.signature)})")
    head = [constant for member in everything for constant in member.constants]
    body = "\n".join(text)
    if "@allocate(" in body:
        head.append(arena.ALLOCATE)
    if "@release(" in body:
        head.append(arena.RELEASE)
    return "\n".join([*head, *sorted(lines), body])


_FIND = "declare ptr @dalembert_find(ptr)"


def _stub(rare: Instance) -> str:
    """What is called in place of a rare function: it asks for the address once."""
    name, kinds = rare.symbol, rare.signature
    given = ", ".join(f"{kind} %a{k}" for k, kind in enumerate(kinds))
    call = f"call {rare.returns} %code({given})"
    end = f"  {call}\n  ret void" if rare.returns == "void" else f"  %result = {call}\n  ret {rare.returns} %result"
    return f"""@{name}.code = internal global ptr null
@{name}.name = internal constant [{len(name) + 1} x i8] c"{name}\\00"
define internal {rare.returns} @{name}({given}) noinline #0 {{
  br label %look
look:
  %code = load atomic ptr, ptr @{name}.code acquire, align 8
  %known = icmp ne ptr %code, null
  br i1 %known, label %go, label %find
find:
  %found = call ptr @dalembert_find(ptr @{name}.name)
  store atomic ptr %found, ptr @{name}.code release, align 8
  br label %look
go:
{end}
}}"""
