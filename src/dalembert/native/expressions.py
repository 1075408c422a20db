"""Expressions of native code."""

from __future__ import annotations

import ast
import builtins
import functools
import types as python_types
from typing import Any

import numpy as np

from dalembert.native import library, types
from dalembert.native.arrays import Arrays
from dalembert.native.emit import Value
from dalembert.native.records import SLOTS_OF_KERNEL, ArrayField, Measured, Outputs
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, Array, Kernel, Scalar, Tuple, Type, parts_of

__all__ = ["MISSING", "Expressions", "is_native"]

MISSING = object()


def is_native(thing: Any) -> bool:
    """True for functions made by ``@native``."""
    return hasattr(thing, "python") and hasattr(thing, "key")


class Expressions(Arrays):
    """What a function can compute."""

    globals: dict[str, Any]
    locals: set[str]
    variables: dict[str, tuple[Type, list[tuple[str, str]]]]
    # In checking mode: where it is kept whether a variable that may be read too early has a value.
    unsure: dict[str, str]
    # Variables that stand for constant arrays.
    fixed: set[str]

    def call_native(self, function: Any, args: list[Value]) -> Value:
        """Call another native function."""
        raise NotImplementedError

    # -- names --------------------------------------------------------------------------------------------------------

    def static(self, node: ast.AST) -> Any:
        """The Python object that a name or a dotted name means, if it is no variable; else MISSING."""
        if isinstance(node, ast.Name) and node.id not in self.variables and node.id not in self.locals:
            if node.id in self.globals:
                return self.globals[node.id]
            return getattr(builtins, node.id, MISSING)
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            if owner is not MISSING and isinstance(owner, python_types.ModuleType | type):
                return getattr(owner, node.attr, MISSING)
        return MISSING

    def read(self, name: str) -> Value:
        kind, slots = self.variables[name]
        if name in self.unsure:
            there = self.op(f"load i1, ptr {self.unsure[name]}")
            self.guard(there, f"'{name}' has no value on this way")
        value = Value(kind, [self.op(f"load {part}, ptr {slot}") for part, slot in slots])
        value.fixed = name in self.fixed
        return value

    def expression(self, node: ast.AST) -> Value:
        before, self.node = self.node, node
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            self.fail("this kind of expression is not in the language of native code", _instead(node))
        value = method(node)
        self.node = before
        return value

    def whole(self, node: ast.AST) -> Value:
        """An expression that must be a whole number."""
        return self._as_whole(self.expression(node), node)

    def _as_whole(self, value: Value, node: ast.AST) -> Value:
        if value.kind not in (INT, BOOL):
            self.fail(f"expected a whole number, got {value.kind}", "int(…)", node)
        return self.to(value, INT)

    def on_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node.value)

    def on_Name(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            return self.read(node.id)
        found = self.static(node)
        if found is MISSING:
            self.fail(f"'{node.id}' has no value yet", "assign it before it is used")
        return self.constant(found)

    def on_Tuple(self, node: ast.Tuple) -> Value:
        return self.join([self.expression(item) for item in node.elts])

    # -- attributes ---------------------------------------------------------------------------------------------------

    def on_Attribute(self, node: ast.Attribute) -> Value:
        found = self.static(node)
        if found is not MISSING:
            return self.constant(found)
        return self.attribute(self.expression(node.value), node.attr)

    def attribute(self, value: Value, name: str) -> Value:
        kind = value.kind
        if isinstance(kind, types.Pointer):
            return self.field(value, name)
        if isinstance(kind, Tuple) and name in kind.names:
            return self.split(value)[kind.names.index(name)]
        if isinstance(kind, Array):
            match name:
                case "shape":
                    return self.join([Value(INT, [n]) for n in self.shape(value)])
                case "size":
                    return Value(INT, [self.size(value)])
                case "T":
                    return self.transposed(value)
        if isinstance(kind, Kernel) and name == "outputs":
            return self.kernel_memory(value.parts[0])[-1]
        if kind in (FLOAT, COMPLEX) and name in ("real", "imag"):
            if kind == FLOAT:
                return value if name == "real" else self.real(0.0)
            return Value(FLOAT, [value.parts[0 if name == "real" else 1]])
        known = _attributes(kind)
        self.fail(f"{kind} has no '{name}'", f"one of {', '.join(known)}" if known else "an array or a record")

    def place(self, record: Value, name: str) -> str:
        """Address of a field of a record."""
        cls = record.kind.cls
        if name not in cls.fields:
            self.fail(f"{cls.__name__} has no field '{name}'", f"one of {', '.join(cls.fields)}")
        return self.op(f"getelementptr inbounds i8, ptr {record.parts[0]}, i64 {8 * cls.slot_of[name]}")

    def field(self, record: Value, name: str) -> Value:
        place = self.place(record, name)
        item = record.kind.cls.fields[name]
        kind = item.kind
        match kind:
            case Array():
                data = self.op(f"load ptr, ptr {place}")
                return self.make(kind.element, data, self.lengths(item, record))
            case types.Pointer():
                other = self.op(f"load ptr, ptr {place}")
                if self.checking:
                    self.guard(self.op(f"icmp ne ptr {other}, null"), f"'{name}' is None")
                return Value(kind, [other])
            case types.Closure():
                other = self.op(f"getelementptr inbounds i8, ptr {place}, i64 8")
                return Value(kind, [self.op(f"load ptr, ptr {place}"), self.op(f"load ptr, ptr {other}")])
            case Kernel():
                return Value(kind, [place])
            case types.Kernels():
                return Value(kind, [self.op(f"load ptr, ptr {place}"), *self.lengths(item, record)])
        if kind == BOOL:
            word = self.op(f"load i64, ptr {place}")
            return Value(BOOL, [self.op(f"icmp ne i64 {word}, 0")])
        return Value(kind, [self.op(f"load {kind.memory}, ptr {place}")])

    def kernel_memory(self, field: str) -> tuple[str, str, str, Value]:
        """Code, memory, number of inputs and the outputs of a kernel in a field."""
        places = [self.op(f"getelementptr inbounds i8, ptr {field}, i64 {8 * k}") for k in range(4)]
        code, memory = self.op(f"load ptr, ptr {places[0]}"), self.op(f"load ptr, ptr {places[3]}")
        n_in, n_out = self.op(f"load i64, ptr {places[1]}"), self.op(f"load i64, ptr {places[2]}")
        outputs = self.op(f"getelementptr inbounds double, ptr {memory}, i64 {n_in}")
        return code, memory, n_in, self.make(FLOAT, outputs, [n_out])

    def lengths(self, item: Measured[Any], record: Value, left: str = "") -> list[str]:
        """The lengths of an array from the fields of a record; ``left`` stands for "*"."""

        def value(path: tuple[str, ...]) -> str:
            found = record
            for name in path:
                found = self.attribute(found, name)
            return self.to(found, INT).parts[0]

        def divided(a: str, b: str) -> str:
            return self._divided(ast.FloorDiv(), a, b).parts[0]

        combine = {ast.Add: self.add, ast.Sub: self.sub, ast.Mult: self.mul, ast.FloorDiv: divided}
        return [left if tree is None else types.fold_length(tree, value, str, combine) for tree in item.trees]

    def outputs_of(self, cls: type[Outputs], record: Value, numbers: Value) -> Value:
        """Views into a row of numbers (see ``Outputs.of``)."""
        if not isinstance(record.kind, types.Pointer) or numbers.kind != Array(FLOAT, 1):
            self.fail("this takes a record and a row of numbers", f"{cls.__name__}.of(record, numbers)")
        items: list[Value] = []
        at, size = "0", self.shape(numbers)[0]
        for field in cls.fields.values():
            data = self.op(f"getelementptr inbounds double, ptr {numbers.parts[0]}, i64 {at}")
            if isinstance(field, ArrayField):
                made = self.make(FLOAT, data, self.lengths(field, record, self.sub(size, at)))
                at = self.add(at, self.size(made))
                self._check_room(at, size, cls)
            else:
                at = self.add(at, "1")
                self._check_room(at, size, cls)
                made = self.load(FLOAT, data)
            items.append(made)
        return self.join(items, cls)

    def _check_room(self, at: str, size: str, cls: type) -> None:
        if self.checking:
            self.guard(self.op(f"icmp sle i64 {at}, {size}"), f"too few numbers for {cls.__name__}")

    # -- subscripts ---------------------------------------------------------------------------------------------------

    def on_Subscript(self, node: ast.Subscript) -> Value:
        value = self.expression(node.value)
        if isinstance(value.kind, Tuple):
            return self._item_of_tuple(value, self.whole(node.slice), node.slice)
        if isinstance(value.kind, types.Kernels):
            return self._item_of_kernels(value, self._index(node.slice, value.parts[1]))
        if not self.is_array(value):
            self.fail(f"{value.kind} has no elements", "an array or a tuple")
        place, view, places = self.selected(value, node.slice)
        if places is not None:
            return self.call_native(library.take, [value, places])
        return view if view is not None else self.load(value.kind.element, place)

    def selected(self, a: Value, index: ast.AST) -> tuple[str, Value | None, Value | None]:
        """What an index means: the address of an element, a view, or places given by an array of whole numbers."""
        if a.kind.rank > 1 or isinstance(index, ast.Slice | ast.Tuple):
            return *self.located(a, index), None
        at = self.expression(index)
        if self.is_array(at, 1) and at.kind.element == INT:
            if _has_minus(index):
                n = self.shape(a)[0]

                def from_end(x: Value) -> Value:
                    return Value(INT, [self._from_end(x.parts[0], n)])

                at = self.elementwise(from_end, at)
            if self.checking:
                self.each(self.shape(at), lambda k: self.check_index(self.item(at, k).parts[0], self.shape(a)[0]))
            return "", None, at
        return self.checked_element(a, [self._place_of(at, self.shape(a)[0], index)]), None, None

    def _item_of_tuple(self, value: Value, at: Value, node: ast.AST) -> Value:
        items = self.split(value)
        if at.const is not None:
            if not -len(items) <= at.const < len(items):
                self.fail(f"the tuple has {len(items)} items", f"an index from 0 to {len(items) - 1}")
            place: int = at.const
            return items[place]
        if len(set(value.kind.items)) != 1 or len(items[0].parts) != 1:
            self.fail("the index of a tuple of arrays or of different types must be a constant", "an array")
        where = self._counted_index(at, str(len(items)), node)
        self.check_index(where, str(len(items)))
        found = items[0]
        part = parts_of(found.kind)[0]
        for n, item in enumerate(items[1:], 1):
            here = self.op(f"icmp eq i64 {where}, {n}")
            found = Value(item.kind, [self.op(f"select i1 {here}, {part} {item.parts[0]}, {part} {found.parts[0]}")])
        return found

    def _item_of_kernels(self, kernels: Value, at: str) -> Value:
        first, count = kernels.parts
        bytes_ = self.mul(at, str(8 * SLOTS_OF_KERNEL))
        place = self.op(f"getelementptr inbounds i8, ptr {first}, i64 {bytes_}")
        if self.checking:
            there = self.op(f"icmp ult i64 {at}, {count}")
            self.guard(there, "index outside the kernels")
            none = self.constant(np.zeros(SLOTS_OF_KERNEL, dtype=np.int64)).parts[0]
            place = self.op(f"select i1 {there}, ptr {place}, ptr {none}")
        return Value(Kernel(in_place=True), [place])

    def located(self, a: Value, index: ast.AST) -> tuple[str, Value | None]:
        """What an index means: the address of an element, or a view."""
        items = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        if len(items) > a.kind.rank:
            self.fail(f"{len(items)} indices for {a.kind}", f"{a.kind.rank} at most", index)
        items += [ast.Slice()] * (a.kind.rank - len(items))
        if not any(isinstance(item, ast.Slice) for item in items):
            where = [
                self._place_of(self.expression(item), n, item) for item, n in zip(items, self.shape(a), strict=True)
            ]
            return self.checked_element(a, where), None
        at = "0"
        shape: list[str] = []
        strides: list[str] = []
        for item, n, stride in zip(items, self.shape(a), self.strides(a), strict=True):
            if isinstance(item, ast.Slice):
                low, length = self._span(item, n)
                at = self.add(at, self.mul(low, stride))
                shape.append(length)
                strides.append(stride)
            else:
                x = self._place_of(self.expression(item), n, item)
                self.check_index(x, n)
                at = self.add(at, self.mul(x, stride))
        data = self.op(f"getelementptr inbounds {a.kind.element.memory}, ptr {a.parts[0]}, i64 {at}")
        return data, self.view(a, data, shape, strides)

    def _index(self, node: ast.AST, n: str) -> str:
        return self._counted_index(self.expression(node), n, node)

    def _place_of(self, value: Value, n: str, node: ast.AST) -> str:
        """An index of an array, where a condition would choose all or nothing, in NumPy."""
        if value.kind == BOOL:
            self.fail("the index of an array is a condition", "int(…)", node)
        return self._counted_index(value, n, node)

    def _counted_index(self, value: Value, n: str, node: ast.AST) -> str:
        """An index as a register; constants below zero, and what has a minus sign in front, count from the end."""
        value = self._as_whole(value, node)
        if value.const is not None:
            return value.parts[0] if value.const >= 0 else self.sub(n, str(-value.const))
        return self._from_end(value.parts[0], n) if _has_minus(node) else value.parts[0]

    def _from_end(self, x: str, n: str) -> str:
        negative = self.op(f"icmp slt i64 {x}, 0")
        return self.op(f"select i1 {negative}, i64 {self.add(x, n)}, i64 {x}")

    def _span(self, item: ast.Slice, n: str) -> tuple[str, str]:
        """Start and length of a slice, cut to the array as Python does."""
        if item.step is not None:
            self.fail("a slice with a step", "write the loop", item)
        if item.lower is None and item.upper is None:
            return "0", n
        low = "0" if item.lower is None else self._bound(item.lower, n)
        high = n if item.upper is None else self._bound(item.upper, n)
        length = self.sub(high, low)
        negative = self.op(f"icmp slt i64 {length}, 0")
        return low, self.op(f"select i1 {negative}, i64 0, i64 {length}")

    def _bound(self, node: ast.expr, n: str) -> str:
        value = self.whole(node)
        if value.const is not None and value.const >= 0:
            at = str(value.const)
        elif value.const is not None or _has_minus(node):
            # Only where a minus is written can a bound count from the end.
            at = self._from_end(value.parts[0], n) if value.const is None else self.sub(n, str(-value.const))
            at = self.op(f"select i1 {self.op(f'icmp slt i64 {at}, 0')}, i64 0, i64 {at}")
        else:
            at = value.parts[0]
            if self.checking:
                self.guard(self.op(f"icmp sge i64 {at}, 0"), "a slice from or to a negative number")
        if at == n or at == "0":
            return at
        if self.checking:
            self.guard(self.op(f"icmp sle i64 {at}, {n}"), "a slice that reaches beyond the array")
        return self.op(f"select i1 {self.op(f'icmp slt i64 {at}, {n}')}, i64 {at}, i64 {n}")

    # -- operators ----------------------------------------------------------------------------------------------------

    def on_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self._opposite(self.condition(node.operand))
        value = self.expression(node.operand)
        match node.op:
            case ast.UAdd():
                # A new array, as in NumPy; a number where it was a condition.
                return (
                    self.copy(value) if self.is_array(value) else self.to(value, INT) if value.kind == BOOL else value
                )
            case ast.USub():
                return self.elementwise(self.negative, value) if self.is_array(value) else self.negative(value)
        self.fail("the operator ~ is not in the language of native code", "not, or -1 - n")

    def _opposite(self, condition: Value) -> Value:
        if condition.const is not None:
            return self.constant(not condition.const)
        return Value(BOOL, [self.op(f"xor i1 {condition.parts[0]}, true")])

    def on_BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.expression(node.left), self.expression(node.right)
        return self.binary(node.op, a, b)

    def binary(self, op: ast.operator, a: Value, b: Value) -> Value:
        if isinstance(op, ast.MatMult):
            if not self.is_array(a) or not self.is_array(b):
                self.fail(f"the product @ of {a.kind} and {b.kind}", "both must be arrays")
            return self._product(a, b)
        if self.is_array(a) or self.is_array(b):
            return self.elementwise(functools.partial(self.arithmetic, op), a, b)
        return self.arithmetic(op, a, b)

    def _product(self, a: Value, b: Value) -> Value:
        ranks = a.kind.rank, b.kind.rank
        if ranks not in library.PRODUCTS or {a.kind.element, b.kind.element} - {FLOAT, INT}:
            self.fail(f"the product @ of {a.kind} and {b.kind}", "vectors and matrices of floats, or a loop")
        if FLOAT not in (a.kind.element, b.kind.element):
            self.fail("the product @ of arrays of whole numbers", "a loop")
        if self.checking:
            same = self.op(f"icmp eq i64 {self.shape(a)[-1]}, {self.shape(b)[0]}")
            self.guard(same, "a product of arrays whose lengths do not fit")
        return self.call_native(library.PRODUCTS[ranks], [a, b])

    def complex_quotient(self, *parts: Value) -> Value:
        return self.call_native(library.complex_quotient, list(parts))

    def on_Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) == 1:
            known = self._known_comparison(node)
            if known is not None:
                return known
        left = self.expression(node.left)
        if len(node.ops) == 1:
            return Value(BOOL, [self.compare(node.ops[0], left, self.expression(node.comparators[0]))])
        # What stands behind the first comparison that fails is not evaluated.
        slot, (end,) = self.slot("i1"), self.labels("compared")
        for k, (op, other) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.expression(other)
            found = self.compare(op, left, right)
            self.out(f"store i1 {found}, ptr {slot}")
            if k < len(node.ops) - 1:
                (more,) = self.labels("more")
                self.branch(found, more, end)
                self.start(more)
            left = right
        self.jump(end)
        self.start(end)
        return Value(BOOL, [self.op(f"load i1, ptr {slot}")])

    def _known_comparison(self, node: ast.Compare) -> Value | None:
        """A comparison with None: whether a function or a kernel is there."""
        op, other = node.ops[0], node.comparators[0]
        if not isinstance(op, ast.Is | ast.IsNot) or not isinstance(other, ast.Constant) or other.value is not None:
            return None
        value = self.expression(node.left)
        if not isinstance(value.kind, types.Closure | Kernel):
            self.fail(f"{value.kind} is never None", "ask a function or a kernel of a record")
        there = self.truth(value).parts[0]
        return Value(BOOL, [there if isinstance(op, ast.IsNot) else self.op(f"xor i1 {there}, true")])

    def condition(self, node: ast.expr) -> Value:
        """An expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp):
            return self._junction(node, strict=False)
        return self.truth(self.expression(node))

    def on_BoolOp(self, node: ast.BoolOp) -> Value:
        return self._junction(node, strict=True)

    def _junction(self, node: ast.BoolOp, strict: bool) -> Value:
        """and, or; as a value (``strict``) only between conditions: Python would give one of the operands."""
        slot, (end,) = self.slot("i1"), self.labels("bool")
        for k, item in enumerate(node.values):
            value = self.expression(item) if strict else self.condition(item)
            if strict and value.kind != BOOL:
                self.fail(f"'and' and 'or' between conditions, got {value.kind}", "bool(…), or a if … else b", item)
            value = self.truth(value)
            self.out(f"store i1 {value.parts[0]}, ptr {slot}")
            if k < len(node.values) - 1:
                (more,) = self.labels("more")
                yes, no = (more, end) if isinstance(node.op, ast.And) else (end, more)
                self.branch(value.parts[0], yes, no)
                self.start(more)
        self.jump(end)
        self.start(end)
        return Value(BOOL, [self.op(f"load i1, ptr {slot}")])

    def on_IfExp(self, node: ast.IfExp) -> Value:
        condition = self.condition(node.test)
        if condition.const is not None:
            return self.expression(node.body if condition.const else node.orelse)
        yes, no, end = self.labels("yes", "no", "endif")
        self.branch(condition.parts[0], yes, no)
        self.start(yes)
        a = self.expression(node.body)
        # Both values go to one variable, whose type is known once both are: the first is stored afterwards.
        hole = len(self.lines)
        self.jump(end)
        self.start(no)
        b = self.expression(node.orelse)
        kind = self._common(a, b)
        slots = [(part, self.slot(part)) for part in parts_of(kind)]
        self._keep(slots, self.to(b, kind))
        self.jump(end)
        tail = self.lines[hole:]
        del self.lines[hole:]
        self._keep(slots, self.to(a, kind))
        self.lines += tail
        self.start(end)
        return Value(kind, [self.op(f"load {part}, ptr {slot}") for part, slot in slots])

    def _keep(self, slots: list[tuple[str, str]], value: Value) -> None:
        for (part, slot), given in zip(slots, value.parts, strict=True):
            self.out(f"store {part} {given}, ptr {slot}")

    def _common(self, a: Value, b: Value) -> Type:
        if a.kind == b.kind:
            return a.kind
        if isinstance(a.kind, Scalar) and isinstance(b.kind, Scalar):
            for kind in (COMPLEX, FLOAT, INT):
                if kind in (a.kind, b.kind):
                    return kind
        if isinstance(a.kind, Array) and isinstance(b.kind, Array):
            return b.kind if a.kind == Array(a.kind.element, a.kind.rank) else a.kind
        self.fail(f"both sides of if … else must have one type, got {a.kind} and {b.kind}", "an if statement")


_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    Array: ("shape", "size", "T", "copy()", "reshape(…)", "fill(…)", "max()", "sum()"),
    Kernel: ("outputs",),
}


def _attributes(kind: Type) -> tuple[str, ...]:
    """What a value of a type can be asked for."""
    return kind.names if isinstance(kind, Tuple) else _ATTRIBUTES.get(type(kind), ())


def _has_minus(node: ast.AST) -> bool:
    return any(isinstance(part, ast.USub) for part in ast.walk(node))


def _instead(node: ast.AST) -> str:
    return {
        "List": "a tuple, or an array: np.empty(…)", "ListComp": "a loop that fills an array", "Dict": "a record",
        "Set": "an array of flags", "GeneratorExp": "a loop", "Lambda": "a function decorated with @native",
        "JoinedStr": "numbers only; messages are made in Python", "NamedExpr": "an assignment of its own",
        "Starred": "the items one by one", "Slice": "an index in brackets",
    }.get(type(node).__name__, "see docs/how-to/write-native-code.md")  # fmt: skip
