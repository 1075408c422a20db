"""Statements of native code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dalembert.native import library
from dalembert.native.calls import Calls
from dalembert.native.emit import Value
from dalembert.native.liveness import assigned
from dalembert.native.types import BOOL, FLOAT, INT, NOTHING, Pointer, Tuple, Type, holds_array, parts_of

__all__ = ["RELEASE", "Statements"]

# The line that stands for giving memory back, until it is known whether a function must.
RELEASE = "RELEASE"


class Statements(Calls):
    """What a function can do."""

    tree: ast.FunctionDef
    result: Type | None
    # Variables that may be read before they are assigned; what each loop must keep (see ``liveness``).
    early: set[str]
    wanted: dict[ast.AST, set[str]]
    _loops: list[tuple[str, str]]

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.done:
                return
            self.node = statement
            method = getattr(self, "do_" + type(statement).__name__, None)
            if method is None:
                self.fail("this kind of statement is not in the language of native code", _instead(statement))
            method(statement)

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    # -- assignments --------------------------------------------------------------------------------------------------

    def assign_name(self, name: str, value: Value) -> None:
        if name == "_":
            return
        if value.kind == NOTHING:
            self.fail(f"'{name}' is given the result of a function that returns nothing", "let it return a number")
        if name not in self.variables:
            self.variables[name] = value.kind, [(part, self.slot(part)) for part in parts_of(value.kind)]
            if self.checking and name in self.early:
                self.unsure[name] = self.slot("i1")
                self.allocas.append(f"  store i1 false, ptr {self.unsure[name]}")
        if name in self.unsure:
            self.out(f"store i1 true, ptr {self.unsure[name]}")
        (self.fixed.add if value.fixed else self.fixed.discard)(name)
        kind, slots = self.variables[name]
        if kind == INT and value.kind not in (INT, BOOL):
            self.fail(f"'{name}' began as a whole number and becomes {value.kind}", f"begin with a float: {name} = 0.0")
        if kind != value.kind and not _converts(value.kind, kind):
            self.fail(
                f"'{name}' began as {kind} and becomes {value.kind}", "another name, or .copy() of a view with gaps"
            )
        for (part, slot), given in zip(slots, self.to(value, kind).parts, strict=True):
            self.out(f"store {part} {given}, ptr {slot}")

    def do_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = [self.expression(item) for item in node.value.elts]
            if len(values) != len(target.elts):
                self.fail(f"{len(values)} values for {len(target.elts)} names", "as many of both")
            for item, value in zip(target.elts, values, strict=True):
                self.assign(item, value)
            return
        value = self.expression(node.value)
        for item in node.targets:
            self.assign(item, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value))

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(name):
                self.assign_name(name, value)
            case ast.Tuple(names):
                if not isinstance(value.kind, Tuple) or len(value.kind.items) != len(names):
                    self.fail(f"{len(names)} names for {value.kind}", "as many names as the tuple has items", target)
                for item, part in zip(names, self.split(value), strict=True):
                    self.assign(item, part)
            case ast.Subscript():
                self._assign_elements(target, value)
            case ast.Attribute():
                self._assign_field(target, value)
            case _:
                self.fail("this cannot be assigned to", "a name, an element, a slice or a field", target)

    def _assign_elements(self, target: ast.Subscript, value: Value) -> None:
        a = self._array(target)
        place, view, places = self.selected(a, target.slice)
        if places is not None:
            if not self.is_array(value, 1):
                self.fail(f"{value.kind} goes to many places", "a vector as long as the places, or a loop", target)
            self.same_shape(places, value)
            given = [x if x.fresh else self.apart(a, x, in_order=False) for x in (places, value)]
            self.call_native(library.scatter, [a, *given])
            return
        if view is None:
            self.store(a.kind.element, place, value)
            return
        self.fill(view, value)

    def _array(self, target: ast.Subscript) -> Value:
        a = self.expression(target.value)
        if not self.is_array(a):
            self.fail(f"{a.kind} has no elements to assign to", "an array", target)
        return self.writable(a, target)

    def _assign_field(self, target: ast.Attribute, value: Value) -> None:
        record = self.expression(target.value)
        if not isinstance(record.kind, Pointer):
            self.fail(f"{record.kind} has no fields to assign to", "a record, or another tuple", target)
        place = self.place(record, target.attr)
        kind: Any = record.kind.cls.fields[target.attr].kind
        if kind == BOOL:
            word = self.op(f"zext i1 {self.to(value, BOOL).parts[0]} to i64")
            self.out(f"store i64 {word}, ptr {place}")
        elif kind == INT or getattr(kind, "name", "") == "float":
            self.out(f"store {kind.memory} {self.to(value, kind).parts[0]}, ptr {place}")
        else:
            self.fail(f"'{target.attr}' is {kind}, set by Python only", f"fill it: record.{target.attr}[:] = …", target)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            if target.id not in self.variables:
                self.fail(f"'{target.id}' has no value yet", f"{target.id} = 0.0 before")
            old, value = self.read(target.id), self.expression(node.value)
            if self.is_array(old):
                self.in_place(node.op, self.writable(old, node), value)
            else:
                self.assign_name(target.id, self.arithmetic(node.op, old, value))
        elif isinstance(target, ast.Attribute):
            old, value = self.expression(target), self.expression(node.value)
            if self.is_array(old):
                self.in_place(node.op, old, value)
            else:
                self._assign_field(target, self.arithmetic(node.op, old, value))
        else:
            a = self._array(target)
            place, view, places = self.selected(a, target.slice)
            if places is not None:
                self.fail("many places are changed in place", "a loop", target)
            if view is not None:
                self.in_place(node.op, view, self.expression(node.value))
            else:
                # The element is read before the other side is evaluated, as in Python.
                element = a.kind.element
                old = self.load(element, place)
                self.store(element, place, self.arithmetic(node.op, old, self.expression(node.value)))

    # -- branches and loops -------------------------------------------------------------------------------------------

    def do_If(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        if condition.const is not None:
            self.block(node.body if condition.const else node.orelse)
            return
        then, other, end = self.labels("then", "else", "endif")
        self.branch(condition.parts[0], then, other if node.orelse else end)
        self.start(then)
        self.block(node.body)
        ended = self.done
        self.jump(end)
        if node.orelse:
            self.start(other)
            self.block(node.orelse)
            ended = ended and self.done
            self.jump(end)
        if ended and node.orelse:
            self.done = True
        else:
            self.start(end)

    def do_While(self, node: ast.While) -> None:
        top, go, step, end = self.labels("while", "do", "again", "end")
        self.jump(top)
        self.start(top)
        at, allocates, self.allocates = len(self.lines), self.allocates, False
        condition = self.condition(node.test)
        if self.allocates:
            self._release(at)
        self.allocates = self.allocates or allocates
        endless = condition.const is True
        if endless:
            self.jump(go)
        else:
            self.branch(condition.parts[0], go, end)
        self.start(go)
        self._turn(node, step, end)
        self.jump(top)
        self.start(end)
        if node.orelse:
            self.fail("else of a loop", "a flag", node)
        if endless and not _breaks(node.body):
            self.out("unreachable")
            self.done = True

    def _turn(self, node: ast.While | ast.For, step: str, end: str) -> None:
        """The body of a loop; what it allocates is given back after each turn, unless it may be used later."""
        at, allocates, self.allocates = len(self.lines), self.allocates, False
        self._loops.append((step, end))
        self.block(node.body)
        self._loops.pop()
        self.jump(step)
        self.start(step)
        if self.allocates and not self._kept(node):
            self._release(at)
        self.allocates = self.allocates or allocates

    def _release(self, at: int) -> None:
        """Give back what was allocated since line ``at``."""
        names = [self.new("%m") for _ in range(3)]
        marks: list[str] = []
        for name, offset in zip(names, (0, 8, 16), strict=True):
            slot = self.new("%m")
            marks += [f"  {slot} = getelementptr i8, ptr %arena, i64 {offset}", f"  {name} = load ptr, ptr {slot}"]
        self.lines[at:at] = marks
        self.out(f"call void @release(ptr %arena, {', '.join('ptr ' + name for name in names)})")

    def _kept(self, node: ast.While | ast.For) -> bool:
        """True if an array made in the loop may be used in a later turn, or behind the loop."""
        names = assigned(node.body) & self.wanted[node]
        return any(name in self.variables and holds_array(self.variables[name][0]) for name in names)

    def do_For(self, node: ast.For) -> None:
        source = node.iter
        if node.orelse:
            self.fail("else of a loop", "a flag", node)
        if isinstance(source, ast.Call) and self.static(source.func) is range:
            self._range(node, source)
        elif isinstance(source, ast.Attribute) and source.attr == "flat":
            self._flat(node, self.expression(source.value))
        else:
            a = self.expression(source)
            if isinstance(a.kind, Tuple):
                return self._unrolled(node, self.split(a))
            if not self.is_array(a, 1):
                self.fail(f"a loop over {a.kind}", "for i in range(…)", source)
            n, element = self.shape(a)[0], a.kind.element
            self._counted(node, "0", n, 1, lambda x: self.load(element, self.element(a, [x])))

    def _range(self, node: ast.For, call: ast.Call) -> None:
        self._expect(call, 1, 3)
        args = [self.whole(item) for item in call.args]
        low = args[0].parts[0] if len(args) > 1 else "0"
        high = args[1 if len(args) > 1 else 0].parts[0]
        step = args[2].const if len(args) == 3 else 1
        if not isinstance(step, int) or step == 0:
            self.fail("the step of a range must be a constant that is not zero", "a while loop", call)
        self._counted(node, low, high, step, lambda x: Value(INT, [x]))

    def _flat(self, node: ast.For, a: Value) -> None:
        """All elements of a matrix, row by row."""
        if not self.is_array(a, 2):
            self.fail(".flat belongs to a matrix", "for x in a")
        columns, element = self.shape(a)[1], a.kind.element

        def pick(x: str) -> Value:
            index = [self.op(f"sdiv i64 {x}, {columns}"), self.op(f"srem i64 {x}, {columns}")]
            return self.load(element, self.element(a, index))

        self._counted(node, "0", self.size(a), 1, pick)

    def _unrolled(self, node: ast.For, items: list[Value]) -> None:
        """A loop over the items of a tuple is written out."""
        for item in items:
            self.assign(node.target, item)
            step, end = self.labels("item", "end")
            if any(isinstance(part, ast.Break) for part in _own(node.body)):
                self.fail("break out of a loop over a tuple", "a flag, or an array", node)
            self._loops.append((step, end))
            self.block(node.body)
            self._loops.pop()
            self.jump(step)
            self.start(step)

    def _counted(self, node: ast.For, low: str, high: str, step: int, pick: Callable[[str], Value]) -> None:
        counter = self.slot("i64")
        top, go, again, end = self.labels("for", "do", "step", "end")
        x = self.count(counter, low, high, (top, go, end), down=step < 0)
        self.assign(node.target, pick(x))
        self._turn(node, again, end)
        self.out(f"store i64 {self.op(f'add nsw i64 {x}, {step}')}, ptr {counter}")
        self.jump(top)
        self.start(end)

    def do_Break(self, node: ast.Break) -> None:
        self.jump(self._loops[-1][1])

    def do_Continue(self, node: ast.Continue) -> None:
        self.jump(self._loops[-1][0])

    # -- the end ------------------------------------------------------------------------------------------------------

    def do_Return(self, node: ast.Return) -> None:
        self.give(self.expression(node.value) if node.value is not None else Value(NOTHING, []))

    def give(self, value: Value) -> None:
        """Return a value; memory is given back if none of it is in the value."""
        if self.result is None:
            self.result = value.kind
        elif self.result == INT and value.kind == FLOAT:
            self.fail("the function returned a whole number before, and a float here", "return floats everywhere: 0.0")
        elif value.kind != self.result and NOTHING in (value.kind, self.result):
            self.fail(f"the function returned {self.result} before, and {value.kind} here", "return a value everywhere")
        elif _loses(value.kind, self.result):
            self.fail(f"the function returned a condition before, and {value.kind} here", "return numbers everywhere")
        kind: Any = self.result
        value = self.to(value, kind)
        parts = parts_of(kind)
        self.lines.append(RELEASE)
        if not parts:
            self.out("ret void")
        elif len(parts) == 1:
            self.out(f"ret {parts[0]} {value.parts[0]}")
        else:
            whole, last = "{" + ", ".join(parts) + "}", "undef"
            for k, (part, given) in enumerate(zip(parts, value.parts, strict=True)):
                last = self.op(f"insertvalue {whole} {last}, {part} {given}, {k}")
            self.out(f"ret {whole} {last}")
        self.done = True


def _converts(got: Type, kind: Type) -> bool:
    """True if a variable of this kind may be given such a value."""
    if isinstance(kind, Tuple) and isinstance(got, Tuple):
        pairs = zip(got.items, kind.items, strict=False)
        return len(got.items) == len(kind.items) and all(a == b or _converts(a, b) for a, b in pairs)
    name = getattr(kind, "name", "")
    if name:
        return getattr(got, "name", "?") in {
            "float": ("int", "bool"),
            "int": ("bool",),
            "complex": ("int", "float"),
        }.get(name, ())
    return getattr(kind, "packed", True) is False and getattr(got, "rank", 0) == getattr(kind, "rank", -1)


def _loses(got: Type, kind: Type) -> bool:
    """True if a number would become a condition."""
    if isinstance(kind, Tuple) and isinstance(got, Tuple) and len(got.items) == len(kind.items):
        return any(_loses(a, b) for a, b in zip(got.items, kind.items, strict=True))
    return kind == BOOL and got != BOOL


def _own(body: list[ast.stmt]) -> list[ast.AST]:
    """All nodes of a loop's body but those of loops within it."""
    found: list[ast.AST] = []
    for node in body:
        found.append(node)
        if not isinstance(node, ast.For | ast.While):
            found += _own([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])
    return found


def _breaks(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Break) for node in _own(body))


def _instead(node: ast.stmt) -> str:
    return {
        "Raise": "return a status; the caller in Python raises", "Try": "return a status", "With": "a status",
        "Assert": "return a status", "FunctionDef": "a function of the module, decorated with @native",
        "Global": "a field of a record", "Nonlocal": "a field of a record", "Delete": "memory is given back by itself",
        "Import": "an import at the top of the module", "ImportFrom": "an import at the top of the module",
        "Match": "if … elif … else",
    }.get(type(node).__name__, "see docs/how-to/write-native-code.md")  # fmt: skip
